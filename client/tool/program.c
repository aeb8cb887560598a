// SPDX-License-Identifier: MIT
/* The kernel's and the dynamic linker's rules, as far as they decide whether LD_PRELOAD works. */
#include "program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#else
#error "x86-64 or arm64"
#endif

#define SCRIPT_LINE_MAX 256 /* as in the kernel */

static int try_file(const char *path)
{
	struct stat info;

	if (stat(path, &info) < 0)
		return -ENOENT;
	return S_ISREG(info.st_mode) && access(path, X_OK) == 0 ? 0 : -EACCES;
}

int program_find(const char *name, char *ret_path, size_t size)
{
	const char *path = getenv("PATH");
	bool denied = false;

	if (strchr(name, '/') || name[0] == '\0') {
		if ((size_t)snprintf(ret_path, size, "%s", name) >= size)
			return -ENAMETOOLONG;
		return try_file(ret_path);
	}
	if (!path)
		path = "/bin:/usr/bin";
	for (;;) {
		size_t length = strcspn(path, ":");
		int written = snprintf(ret_path, size, "%.*s/%s", length ? (int)length : 1,
				       length ? path : ".", name);

		if (written >= 0 && (size_t)written < size) {
			int r = try_file(ret_path);

			if (r == 0)
				return 0;
			denied = denied || r == -EACCES;
		}
		if (path[length] == '\0')
			return denied ? -EACCES : -ENOENT;
		path += length + 1;
	}
}

static bool is_privileged(const char *path)
{
	struct stat info;

	if (stat(path, &info) < 0)
		return false;
	if ((info.st_mode & S_ISUID) && info.st_uid != getuid())
		return true;
	if ((info.st_mode & S_ISGID) && info.st_gid != getgid())
		return true;
	return getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0;
}

static bool has_interpreter(int fd, const Elf64_Ehdr *header)
{
	Elf64_Phdr segment;
	unsigned i;

	if (header->e_phentsize != sizeof(segment))
		return false;
	for (i = 0; i < header->e_phnum; i++) {
		off_t offset = (off_t)(header->e_phoff + i * sizeof(segment));

		if (pread(fd, &segment, sizeof(segment), offset) != (ssize_t)sizeof(segment))
			return false;
		if (segment.p_type == PT_INTERP)
			return true;
	}
	return false;
}

static enum program_kind inspect_elf(int fd, const char *path, const Elf64_Ehdr *header)
{
	/* e_machine lies at the same place in both classes */
	if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_machine != OWN_MACHINE)
		return PROGRAM_FOREIGN;
	if (is_privileged(path))
		return PROGRAM_PRIVILEGED;
	return has_interpreter(fd, header) ? PROGRAM_OK : PROGRAM_STATIC;
}

/* The interpreter in "#! /bin/sh -e", cut out in place; NULL: the line names none. */
static char *script_interpreter(char *line)
{
	char *start = line + 2 + strspn(line + 2, " \t");

	start[strcspn(start, " \t\r\n")] = '\0';
	return start[0] ? start : NULL;
}

static enum program_kind inspect_file(const char *path, bool script_allowed)
{
	union {
		Elf64_Ehdr elf;
		char line[SCRIPT_LINE_MAX];
	} head = {.line = ""};
	enum program_kind kind = PROGRAM_UNKNOWN;
	char *interpreter = NULL;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (fd < 0)
		return PROGRAM_UNKNOWN;
	got = pread(fd, &head, sizeof(head) - 1, 0);
	if (got >= (ssize_t)sizeof(Elf32_Ehdr) && memcmp(head.line, ELFMAG, SELFMAG) == 0)
		kind = inspect_elf(fd, path, &head.elf);
	else if (got > 2 && script_allowed && memcmp(head.line, "#!", 2) == 0)
		interpreter = script_interpreter(head.line);
	close(fd);
	return interpreter ? inspect_file(interpreter, false) : kind;
}

enum program_kind program_inspect(const char *path)
{
	return inspect_file(path, true);
}
