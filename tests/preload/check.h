/* SPDX-License-Identifier: MIT */
/* What the programs under the hook check of themselves; the script checks what was recorded of
 * them. */
#ifndef FPROF_TESTS_CHECK_H
#define FPROF_TESTS_CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(x)                                                                        \
	do {                                                                            \
		if (!(x)) {                                                             \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #x); \
			exit(1);                                                        \
		}                                                                       \
	} while (0)

struct test_case {
	const char *name;
	void (*run)(void);
};

/* Runs the case that argv names. */
static inline int run_case(const struct test_case *cases, size_t count, int argc, char **argv)
{
	size_t i;

	for (i = 0; i < count && argc > 1; i++) {
		if (strcmp(cases[i].name, argv[1]) == 0) {
			cases[i].run();
			return 0;
		}
	}
	fprintf(stderr, "%s: which case?\n", argv[0]);
	return 2;
}

#endif
