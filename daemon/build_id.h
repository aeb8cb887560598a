/* SPDX-License-Identifier: MIT */
/* The GNU build id of an ELF file. */
#ifndef FPROF_DAEMON_BUILD_ID_H
#define FPROF_DAEMON_BUILD_ID_H

#include <stddef.h>

/* Reads it from an open file as lower-case hex. 0; -ENOENT: the file has none; -ENOEXEC: no 64-bit
 * ELF file of this byte order; -EIO. Safe for any bytes. */
int build_id_read(int fd, char *ret_hex, size_t size);

#endif
