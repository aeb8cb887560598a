// SPDX-License-Identifier: MIT
/* The optimal string alignment distance, three rows at a time. No state; any thread. */
#include "near.h"

#include "util.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#define WHOLE 2u /* what a change costs; one of case alone costs half */

static unsigned replacing(char a, char b)
{
	if (a == b)
		return 0;
	return tolower((unsigned char)a) == tolower((unsigned char)b) ? WHOLE / 2 : WHOLE;
}

unsigned near_distance(const char *a, const char *b)
{
	unsigned rows[3][NEAR_NAME_MAX + 1];
	size_t n = strnlen(a, NEAR_NAME_MAX), m = strnlen(b, NEAR_NAME_MAX), i, j;

	for (j = 0; j <= m; j++)
		rows[0][j] = (unsigned)j * WHOLE;
	for (i = 1; i <= n; i++) {
		unsigned *row = rows[i % 3], *above = rows[(i + 2) % 3],
			 *before = rows[(i + 1) % 3];

		row[0] = (unsigned)i * WHOLE;
		for (j = 1; j <= m; j++) {
			unsigned best = above[j - 1] + replacing(a[i - 1], b[j - 1]);

			best = MIN(best, above[j] + WHOLE);
			best = MIN(best, row[j - 1] + WHOLE);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				best = MIN(best, before[j - 2] + WHOLE);
			row[j] = best;
		}
	}
	return rows[n % 3][m];
}

static bool has(const struct near *near, const char *name)
{
	size_t i;

	for (i = 0; i < near->count; i++)
		if (!strcmp(near->names[i], name))
			return true;
	return false;
}

void near_offer(struct near *near, const char *word, const char *candidate)
{
	unsigned distance;
	size_t at;

	if (!candidate || has(near, candidate))
		return;
	distance = near_distance(word, candidate);
	at = near->count;
	if (at == NEAR_MAX && near->distances[at - 1] <= distance)
		return;
	if (at == NEAR_MAX)
		at--;
	else
		near->count++;
	for (; at > 0 && near->distances[at - 1] > distance; at--) {
		near->names[at] = near->names[at - 1];
		near->distances[at] = near->distances[at - 1];
	}
	near->names[at] = candidate;
	near->distances[at] = distance;
	near->names[near->count] = NULL;
}
