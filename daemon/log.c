// SPDX-License-Identifier: MIT
/*
 * One line, one write: lines of several threads do not mix. Control characters become '?', so that
 * a name that a game chose cannot forge a line. The level is read without a lock.
 */
#include "log.h"

#include "shm/atomic.h"
#include "util.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

static int max_level = LOG_LEVEL_INFO;
static bool to_journal;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* systemd sets JOURNAL_STREAM to "device:inode" of the stream; stderr may have been redirected
 * since. */
static void find_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat st;

	to_journal = stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
		     fstat(STDERR_FILENO, &st) == 0 && st.st_dev == device && st.st_ino == inode;
}

void log_set_level(enum log_level level)
{
	FPROF_STORE_RELAXED(&max_level, (int)level);
}

void log_line(enum log_level level, const char *format, ...)
{
	int saved = errno;
	char line[1024];
	size_t n;
	va_list ap;

	if ((int)level > FPROF_LOAD_RELAXED(&max_level))
		return;
	pthread_once(&once, find_journal);
	if (to_journal)
		n = (size_t)snprintf(line, sizeof(line), "<%d>", (int)level);
	else
		n = (size_t)snprintf(line, sizeof(line), "fprofd: ");
	va_start(ap, format);
	errno = saved;
	vsnprintf(line + n, sizeof(line) - n - 1, format, ap);
	va_end(ap);
	for (; line[n]; n++)
		if ((unsigned char)line[n] < ' ')
			line[n] = '?';
	line[n++] = '\n';
	if (write(STDERR_FILENO, line, n) < 0)
		errno = saved; /* nobody to tell */
	errno = saved;
}
