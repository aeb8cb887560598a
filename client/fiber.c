// SPDX-License-Identifier: MIT
/*
 * A fiber's state travels in the game's struct fprof_fiber; the thread's own depth waits in its
 * writer meanwhile. Each FIBER word that enters a fiber carries the number of its segments
 * before, counted where it is written, so that the daemon orders segments without asking the
 * clock.
 *
 * A writer keeps a pointer to the fiber that it runs (client[2]): the game's structure lives at
 * least until the fiber is left.
 */
#include "fiber.h"

#include "fprof.h"
#include "marker.h"
#include "thread.h"

static struct fprof_fiber *running(const struct fprof_writer *w)
{
	return (struct fprof_fiber *)(uintptr_t)w->client[2];
}

static void fiber_word(struct session *s, struct fprof_writer *w, uint64_t id, uint64_t seq,
		       uint32_t marker)
{
	uint64_t words[4] = {FPROF_EXT_TOP(FPROF_EXT_FIBER, 4), id, seq, marker};

	thread_put(s, w, words, 4);
}

void fiber_announce(struct session *s, struct fprof_writer *w)
{
	struct fprof_fiber *f = running(w);

	w->fiber_seq = f->seq++;
	fiber_word(s, w, w->fiber, w->fiber_seq, f->marker);
}

/* Puts what the writer knows of the fiber that it runs back into it. */
static void fiber_put_away(struct fprof_writer *w)
{
	struct fprof_fiber *f = running(w);

	if (f)
		f->depth = w->depth;
	else
		w->thread_depth = w->depth;
	w->client[2] = 0;
	w->fiber = 0;
	w->fiber_seq = 0;
	w->depth = w->thread_depth;
}

void fprof_fiber_enter(struct fprof_fiber *fiber)
{
	struct session *s = session_get();
	struct fprof_writer *w;

	if (!s)
		return;
	if (!fiber || !fiber->id) {
		session_refuse(s, FPROF_REFUSED_ARGUMENTS);
		return;
	}
	if (!fiber->marker && fiber->name)
		fiber->marker = marker_id_of_name(s, FPROF_MARKER_FIBER, fiber->name);
	w = thread_hold(s);
	if (!w)
		return;
	fiber_put_away(w);
	w->client[2] = (uintptr_t)fiber;
	w->fiber = fiber->id;
	w->depth = fiber->depth;
	detail_renamed(s, w);
	if (w->mode != WRITER_IDLE)
		fiber_announce(s, w);
	thread_release(w);
}

void fprof_fiber_leave(void)
{
	struct session *s = session_peek();
	struct fprof_writer *w = fprof_tls.writer;

	if (!s || w->mode == WRITER_NONE || !w->fiber)
		return;
	w = thread_hold(s);
	if (!w)
		return;
	fiber_put_away(w);
	detail_renamed(s, w);
	if (w->mode != WRITER_IDLE)
		fiber_word(s, w, 0, 0, 0);
	thread_release(w);
}
