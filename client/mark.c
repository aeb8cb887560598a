// SPDX-License-Identifier: MIT
/*
 * Frame marks: the places where the library looks around, and where what the daemon orders takes
 * effect: at those of the main stream by its owner, or at any while that has none.
 *
 * A mark at which recording begins or ceases stands behind a RECORD word that says so; it is
 * written while either side of it is recorded. Marks are counted whether or not
 * they are recorded, so a frame has the same number for the game and for the daemon.
 *
 * A stream belongs to the first thread, or fiber, that marks it (the main one: for each origin
 * apart) until that thread ends. Marks of others carry the owner's count as it is and say that they
 * are foreign: the daemon shows how many there were. A mark says too whether recording was off
 * within the frame that it ends.
 */
#include "fprof.h"
#include "marker.h"
#include "origin.h"
#include "session.h"
#include "thread.h"

#define NO_NUMBER UINT64_MAX

struct mark {
	uint32_t stream; /* marker, 0: main */
	enum fprof_origin origin;
	struct session_marks *own; /* the stream's; NULL: it belongs to somebody else */
	uint64_t count;
	uint64_t number; /* the engine's */
};

/* enum fprof_mark_flag of m. */
static uint64_t mark_flags(const struct session *s, const struct mark *m)
{
	if (!m->own)
		return FPROF_MARK_FOREIGN;
	return FPROF_LOAD_RELAXED(&m->own->breaks) != FPROF_LOAD_RELAXED(&s->breaks)
		       ? FPROF_MARK_PAUSED
		       : 0;
}

static void mark_put(struct session *s, const struct mark *m, uint64_t flags, bool boundary)
{
	unsigned count = flags ? 5 : 4;
	uint64_t words[5] = {FPROF_EXT_TOP(FPROF_EXT_MARK, count),
			     m->stream | (uint64_t)m->origin << 32, m->count, m->number, flags};
	/* the last one is written when the gates are closed already */
	struct fprof_writer *w =
		FPROF_LOAD_RELAXED(&s->recording) ? thread_hold_recording(s) : thread_hold(s);

	if (!w)
		return;
	if (boundary)
		thread_tell(s, w, true);
	thread_put(s, w, words, count);
	thread_release(w);
}

/* From one state in which nothing is recorded to another. */
static void tell_alone(struct session *s)
{
	struct fprof_writer *w;

	if (FPROF_LOAD_RELAXED(&s->told) == FPROF_LOAD_RELAXED(&s->link.ordered))
		return;
	w = thread_hold(s);
	if (!w)
		return;
	thread_tell(s, w, false);
	thread_release(w);
}

/* Do the daemon's orders take effect at m? */
static bool is_boundary(const struct session *s, const struct mark *m)
{
	if (m->stream == 0 && m->own)
		return true;
	return !FPROF_LOAD_RELAXED(&s->marks[FPROF_ORIGIN_GAME].owner) &&
	       !FPROF_LOAD_RELAXED(&s->marks[FPROF_ORIGIN_HOOK].owner);
}

static void first_mark(struct session *s)
{
	if (FPROF_LOAD_RELAXED(&s->marked))
		return;
	__atomic_store_n(&s->marked, 1u, __ATOMIC_SEQ_CST);
	session_gates(s);
}

static void mark_write(struct session *s, const struct mark *m)
{
	bool before = FPROF_LOAD_RELAXED(&s->recording);
	bool boundary = is_boundary(s, m);
	uint64_t flags = mark_flags(s, m);

	session_poll(s, boundary);
	first_mark(s);
	if (!before)
		flags = mark_flags(s, m);
	if (before || FPROF_LOAD_RELAXED(&s->recording))
		mark_put(s, m, flags, boundary);
	else if (boundary)
		tell_alone(s);
	if (m->own)
		FPROF_STORE_RELAXED(&m->own->breaks, FPROF_LOAD_RELAXED(&s->breaks));
}

/* Counts a mark of the calling thread, if the stream is its own. */
static void mark_count(struct session *s, struct session_marks *marks, struct mark *m)
{
	uint64_t who = thread_who(thread_writer(s));
	uint64_t owner = FPROF_LOAD_RELAXED(&marks->owner);

	if (!owner && who &&
	    __atomic_compare_exchange_n(&marks->owner, &owner, who, false, __ATOMIC_RELAXED,
					__ATOMIC_RELAXED))
		owner = who;
	m->own = owner == who ? marks : NULL;
	if (m->own)
		m->count = FPROF_ADD_RELAXED(&marks->count, UINT64_C(1)) + 1;
	else
		m->count = FPROF_LOAD_RELAXED(&marks->count);
}

static void mark_main(enum fprof_origin origin, uint64_t number)
{
	struct session *s = session_get();
	struct mark m = {.origin = origin, .number = number};

	if (!s)
		return;
	mark_count(s, &s->marks[origin], &m);
	mark_write(s, &m);
}

void client_mark(enum fprof_origin origin)
{
	mark_main(origin, NO_NUMBER);
}

void fprof_frame_mark(void)
{
	mark_main(FPROF_ORIGIN_GAME, NO_NUMBER);
}

void fprof_frame_mark_id(uint64_t number)
{
	mark_main(FPROF_ORIGIN_GAME, number);
}

static void mark_stream(struct session *s, uint32_t stream)
{
	struct mark m = {.stream = stream, .origin = FPROF_ORIGIN_GAME, .number = NO_NUMBER};

	if (!stream)
		return;
	mark_count(s, &s->stream_marks[stream], &m);
	if (m.own)
		thread_owns_stream(stream);
	mark_write(s, &m);
}

void fprof_frame_mark_named(const char *stream)
{
	struct session *s = session_get();

	if (!s)
		return;
	if (stream && !*stream)
		stream = NULL; /* counted like it */
	mark_stream(s, marker_id_of_name(s, FPROF_MARKER_STREAM, stream));
}

void fprof_mark_stream_slow(struct fprof_marker *stream)
{
	struct session *s = session_get();

	if (s)
		mark_stream(s, fprof_word_id(marker_top(s, stream)));
}

bool client_has_marked(void)
{
	const struct session *s = session_peek();

	return s && FPROF_LOAD_RELAXED(&s->marked);
}

bool client_marks_here(void)
{
	const struct session *s = session_peek();
	uint64_t who = thread_who(fprof_tls.writer);

	if (!s || !who)
		return false;
	return who == FPROF_LOAD_RELAXED(&s->marks[FPROF_ORIGIN_GAME].owner) ||
	       who == FPROF_LOAD_RELAXED(&s->marks[FPROF_ORIGIN_HOOK].owner);
}

uint64_t fprof_frame_number(void)
{
	const struct session *s = session_peek();
	uint64_t game, hook;

	if (!s)
		return 1;
	game = FPROF_LOAD_RELAXED(&s->marks[FPROF_ORIGIN_GAME].count);
	hook = FPROF_LOAD_RELAXED(&s->marks[FPROF_ORIGIN_HOOK].count);
	return (game ? game : hook) + 1;
}
