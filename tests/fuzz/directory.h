/* SPDX-License-Identifier: MIT */
/*
 * A directory for the files of a fuzzer. It is never left in order (libFuzzer ends by _exit, a find
 * by a signal), so it is in TMPDIR, which fuzz.sh and replay.sh make for each run and remove.
 */
#ifndef FPROF_TESTS_FUZZ_DIRECTORY_H
#define FPROF_TESTS_FUZZ_DIRECTORY_H

#include <stdio.h>
#include <stdlib.h>

static inline void make_directory(char *directory, size_t size)
{
	const char *place = getenv("TMPDIR");
	int n = snprintf(directory, size, "%s/fprof-fuzz-XXXXXX", place ? place : "/tmp");

	if (n < 0 || (size_t)n >= size || !mkdtemp(directory))
		abort();
}

#endif
