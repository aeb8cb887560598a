/* SPDX-License-Identifier: MIT */
/* Reading small text files of /proc and /sys. Any thread. */
#ifndef FPROF_DAEMON_PROCFS_H
#define FPROF_DAEMON_PROCFS_H

#include <stddef.h>

/* The file's first size - 1 bytes, NUL-terminated, trailing newline removed. Bytes read, or -errno.
 * The path is made by printf. */
long procfs_read(char *buf, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* A link's target, NUL-terminated. Bytes, or -errno (-ENAMETOOLONG when it does not fit). */
long procfs_link(char *buf, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The value of a "Key: value" line in text, without blanks around it, copied into buf. 0 or
 * -ENOENT. */
int procfs_field(const char *text, const char *key, char *buf, size_t size);
/* Field n of the text of a stat file (1: pid, 2: name), from the third on: the name may hold
 * anything. NULL: there are fewer. */
const char *procfs_stat_field(const char *text, unsigned n);

#endif
