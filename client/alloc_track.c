// SPDX-License-Identifier: MIT
/*
 * Two places count: fprof_alloc(), in this library's thread-local words, and libfprof-alloc.so in
 * its own, where it is preloaded. The reference to it is weak: without it there is none.
 *
 * What a thread has told of is thread-local too. When tracking is switched on, or recording after a
 * pause, it begins with what has been counted by then: earlier allocations are nobody's.
 */
#include "alloc_track.h"

#include "fprof.h"
#include "session.h"
#include "thread.h"

#include <stdlib.h>
#include <string.h>

__thread struct fprof_alloc_counts fprof_alloc_tls __attribute__((tls_model("initial-exec")));

#pragma weak fprof_alloc_hook_counts

static __thread struct {
	struct fprof_alloc_counts counts;
	uint32_t generation;
} told __attribute__((tls_model("initial-exec")));

void alloc_track_init(struct alloc_track *t)
{
	const char *asked = getenv("FPROF_ALLOC");

	t->generation = 1;
	if (asked && !strcmp(asked, "1"))
		alloc_track_want(t, ALLOC_BY_GAME, true);
}

void alloc_track_anew(struct alloc_track *t)
{
	FPROF_ADD_RELAXED(&t->generation, 1u);
}

void alloc_track_want(struct alloc_track *t, uint32_t bit, bool wanted)
{
	uint32_t was = FPROF_LOAD_RELAXED(&t->wanted);

	if (wanted && !was)
		alloc_track_anew(t);
	if (wanted)
		__atomic_fetch_or(&t->wanted, bit, __ATOMIC_RELAXED);
	else
		__atomic_fetch_and(&t->wanted, ~bit, __ATOMIC_RELAXED);
}

static struct fprof_alloc_counts counted(void)
{
	struct fprof_alloc_counts sum = fprof_alloc_tls;

	if (fprof_alloc_hook_counts) {
		sum.bytes += fprof_alloc_hook_counts()->bytes;
		sum.count += fprof_alloc_hook_counts()->count;
	}
	return sum;
}

void alloc_track_put(struct session *s, struct fprof_writer *w)
{
	struct fprof_alloc_counts now = counted(), before = told.counts;
	uint32_t generation = FPROF_LOAD_RELAXED(&s->allocs.generation);
	uint64_t words[3] = {FPROF_EXT_TOP(FPROF_EXT_ALLOC, 3)};

	told.counts = now;
	if (told.generation != generation) {
		told.generation = generation;
		return;
	}
	if (now.count == before.count)
		return;
	words[1] = now.bytes - before.bytes;
	words[2] = now.count - before.count;
	thread_put(s, w, words, 3);
}
