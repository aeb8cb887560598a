/* SPDX-License-Identifier: MIT */
/* Names that are near to one that is not known, for answers that say what was perhaps meant. */
#ifndef FPROF_DAEMON_NEAR_H
#define FPROF_DAEMON_NEAR_H

#include <stddef.h>

#define NEAR_MAX      5	  /* names that are told */
#define NEAR_NAME_MAX 128 /* bytes of a name that are compared */

/* How many insertions, deletions, replacements and swaps of neighbours make b of a, in bytes: twice
 * that number, as a replacement that changes nothing but case counts half. */
unsigned near_distance(const char *a, const char *b);

struct near {
	const char *names[NEAR_MAX + 1]; /* nearest first, NULL-terminated; the candidates' own */
	unsigned distances[NEAR_MAX];
	size_t count;
};
/* Offers one candidate for word. One that was offered before, and NULL, change nothing. */
void near_offer(struct near *near, const char *word, const char *candidate);

#endif
