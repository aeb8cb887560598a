// SPDX-License-Identifier: MIT
/*
 * These files are made at the moment of reading and have no size: one buffer, read until it is full
 * or the file ends.
 */
#include "procfs.h"

#include "util.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>

long procfs_read(char *buf, size_t size, const char *format, ...)
{
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX];
	size_t count = 0;
	ssize_t n;
	va_list ap;

	va_start(ap, format);
	vsnprintf(path, sizeof(path), format, ap);
	va_end(ap);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	while (count < size - 1) {
		n = read(fd, buf + count, size - 1 - count);
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		count += (size_t)n;
	}
	while (count > 0 && buf[count - 1] == '\n')
		count--;
	buf[count] = '\0';
	return (long)count;
}

long procfs_link(char *buf, size_t size, const char *format, ...)
{
	char path[PATH_MAX];
	ssize_t n;
	va_list ap;

	va_start(ap, format);
	vsnprintf(path, sizeof(path), format, ap);
	va_end(ap);
	n = readlink(path, buf, size);
	if (n < 0)
		return -errno;
	if ((size_t)n == size)
		return -ENAMETOOLONG;
	buf[n] = '\0';
	return n;
}

int procfs_field(const char *text, const char *key, char *buf, size_t size)
{
	size_t key_bytes = strlen(key), n;
	const char *line, *value;

	for (line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, key_bytes) != 0)
			continue;
		value = line + key_bytes;
		value += strspn(value, " \t");
		if (*value++ != ':')
			continue;
		value += strspn(value, " \t");
		n = strcspn(value, "\n");
		while (n > 0 && isspace((unsigned char)value[n - 1]))
			n--;
		snprintf(buf, size, "%.*s", (int)n, value);
		return 0;
	}
	return -ENOENT;
}

const char *procfs_stat_field(const char *text, unsigned n)
{
	const char *p = strrchr(text, ')');
	unsigned i;

	for (i = 2; p && i < n; i++) {
		p = strchr(p, ' ');
		if (p)
			p++;
	}
	return p;
}
