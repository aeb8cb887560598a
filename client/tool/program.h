/* SPDX-License-Identifier: MIT */
/* Looking at a program before running it: can it be recorded by a preloaded library? */
#ifndef FPROF_TOOL_PROGRAM_H
#define FPROF_TOOL_PROGRAM_H

#include <stddef.h>

enum program_kind {
	PROGRAM_OK,
	PROGRAM_FOREIGN,    /* 32 bits, or another machine: our library cannot be loaded into it */
	PROGRAM_STATIC,	    /* has no dynamic linker: it loads no library */
	PROGRAM_PRIVILEGED, /* setuid, setgid or with capabilities: the linker ignores LD_PRELOAD */
	PROGRAM_UNKNOWN,    /* no ELF file and no script, or not readable: the kernel will say */
};

/*
 * The file that execvp() would run for name, by $PATH. Returns 0 and the path, or -ENOENT, or
 * -EACCES where only files that cannot be executed were found, or -ENAMETOOLONG.
 */
int program_find(const char *name, char *ret_path, size_t size);

/* What the file at path is; of a script, what its interpreter is. */
enum program_kind program_inspect(const char *path);

#endif
