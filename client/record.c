// SPDX-License-Identifier: MIT
/*
 * The slow halves: a thread's first event, a marker's first use, a clock that is no counter, and
 * the events of more than one word.
 *
 * The order is always: is there a session, is it recording, intern, hold the writer, write.
 * Interning goes before holding, so that a signal handler that comes in between loses nothing.
 *
 * A begin that was not written returns 0, and then nothing is written for its end. An end is
 * written whether or not the session is recording by now, since its begin was.
 */
#include "fprof.h"
#include "marker.h"
#include "session.h"
#include "thread.h"

#include <string.h>

/* A thread's first event passed the gate of nobody's writer. */
static bool wanted(const struct fprof_writer *w, uint32_t level)
{
	return FPROF_LOAD_RELAXED(&w->closed) + level < FPROF_LEVELS;
}

/* Is the calling thread recording events of level? Registers it, and looks for the daemon. */
static bool recording(struct session *s, uint32_t level)
{
	struct fprof_writer *w = thread_hold_recording(s);
	bool yes;

	if (!w)
		return false;
	yes = wanted(w, level);
	thread_release(w);
	return yes;
}

static struct session *session_recording(uint32_t level)
{
	struct session *s = session_get();

	return s && recording(s, level) ? s : NULL;
}

/* A marker that is masked says so in its top from here on; NULL: top is a name of the moment. */
static fprof_scope begin(struct session *s, uint64_t top, uint32_t level,
			 struct fprof_marker *marker)
{
	struct fprof_writer *w = top ? thread_hold_recording(s) : NULL;
	uint32_t depth;
	uint64_t word = top;

	if (!w)
		return 0;
	if (detail_active(&s->detail) && !detail_begin(s, w, fprof_word_id(top), level)) {
		if (marker && detail_masked(s, w, fprof_word_id(top)))
			FPROF_STORE_RELAXED(&marker->top,
					    detail_masked_top(s, w, fprof_word_id(top)));
		thread_release(w);
		return 0;
	}
	if (alloc_track_active(&s->allocs))
		alloc_track_put(s, w);
	depth = w->depth;
	w->depth = depth + 1;
	thread_put(s, w, &word, 1);
	thread_release(w);
	return top | depth;
}

fprof_scope fprof_begin_slow(struct fprof_marker *marker)
{
	struct session *s = session_recording(marker->level);

	return s ? begin(s, marker_top(s, marker), marker->level, marker) : 0;
}

fprof_scope fprof_begin_dynamic_slow(struct fprof_marker *site, const char *name)
{
	struct session *s = session_recording(site->level);

	return s ? begin(s, marker_top_dynamic(s, site, name), site->level, NULL) : 0;
}

void fprof_end_slow(fprof_scope scope)
{
	struct session *s = session_peek();
	struct fprof_writer *w;
	uint64_t word = fprof_scope_top(scope) + FPROF_TOP_KIND_STEP;

	/* In a child the begin stands in the parent's memory. After a thread's end its zones are
	 * closed. */
	if (!s || fprof_tls.writer->mode == WRITER_NONE)
		return;
	w = thread_hold(s);
	if (!w)
		return;
	if (alloc_track_active(&s->allocs))
		alloc_track_put(s, w);
	thread_put(s, w, &word, 1);
	if (w->depth > fprof_scope_depth(scope))
		w->depth = fprof_scope_depth(scope);
	if (detail_active(&s->detail))
		detail_end(s, w);
	thread_release(w);
}

/* Both ends of it where one word will not do. */
static fprof_scope end_and_begin(fprof_scope scope, struct fprof_marker *marker)
{
	fprof_zone_end(scope);
	return fprof_zone_begin(marker);
}

fprof_scope fprof_next_slow(fprof_scope scope, struct fprof_marker *marker)
{
	struct session *s = scope ? session_recording(marker->level) : NULL;
	uint64_t top = s && !detail_active(&s->detail) ? marker_top(s, marker) : 0;
	struct fprof_writer *w;
	uint64_t word = top + 2 * FPROF_TOP_KIND_STEP;

	if (!top)
		return end_and_begin(scope, marker);
	w = thread_hold_recording(s);
	if (!w)
		return scope;
	if (w->depth != fprof_scope_depth(scope) + 1) {
		thread_release(w);
		return end_and_begin(scope, marker);
	}
	if (alloc_track_active(&s->allocs))
		alloc_track_put(s, w);
	thread_put(s, w, &word, 1);
	thread_release(w);
	return top | fprof_scope_depth(scope);
}

void fprof_instant_slow(struct fprof_marker *marker)
{
	struct session *s = session_recording(marker->level);
	uint64_t word = s ? marker_top(s, marker) : 0;
	struct fprof_writer *w;

	if (!word)
		return;
	if (fprof_word_kind(word) != FPROF_WORD_INSTANT) {
		session_refuse(s, FPROF_REFUSED_ARGUMENTS);
		return;
	}
	w = thread_hold_recording(s);
	if (!w)
		return;
	if (!detail_active(&s->detail) || !detail_masked(s, w, fprof_word_id(word)))
		thread_put(s, w, &word, 1);
	thread_release(w);
}

/* Writes an event of several words, where the session is recording. */
static void put(struct session *s, uint64_t *words, unsigned count)
{
	struct fprof_writer *w = thread_hold_recording(s);

	if (!w)
		return;
	thread_put(s, w, words, count);
	thread_release(w);
}

/* How many bytes of text to take: whole characters of UTF-8, at most FPROF_TEXT_MAX bytes. */
static size_t text_length(struct session *s, const char *text)
{
	size_t n = strnlen(text, FPROF_TEXT_MAX + 1);
	size_t cut = FPROF_TEXT_MAX;

	if (n <= FPROF_TEXT_MAX)
		return n;
	session_refuse(s, FPROF_REFUSED_TRUNCATED);
	while (cut > FPROF_TEXT_MAX - 3 && ((uint8_t)text[cut] & 0xc0) == 0x80)
		cut--;
	return cut;
}

/* Puts n bytes behind head words, and the lead word in front. Returns how many words there are. */
static unsigned pack(uint64_t *words, unsigned head, enum fprof_ext_kind kind, const char *text,
		     size_t n)
{
	unsigned count = head + (unsigned)((n + 7) / 8);

	if (n)
		words[count - 1] = 0;
	words[0] = FPROF_EXT_TOP(kind, count);
	memcpy(words + head, text, n);
	return count;
}

/* Is scope the innermost open zone of this thread? Its texts and values go to that one. */
static bool innermost(struct session *s, fprof_scope scope)
{
	if (fprof_tls.writer->depth == fprof_scope_depth(scope) + 1)
		return true;
	session_refuse(s, FPROF_REFUSED_ARGUMENTS);
	return false;
}

void fprof_zone_text_slow(fprof_scope scope, const char *text)
{
	struct session *s = session_peek();
	uint64_t words[2 + FPROF_TEXT_MAX / 8];
	size_t n;

	if (!s || !innermost(s, scope))
		return;
	if (!text) {
		session_refuse(s, FPROF_REFUSED_ARGUMENTS);
		return;
	}
	n = text_length(s, text);
	words[1] = n;
	put(s, words, pack(words, 2, FPROF_EXT_TEXT, text, n));
}

void fprof_zone_value_slow(fprof_scope scope, unsigned type, uint64_t bits)
{
	struct session *s = session_peek();
	uint64_t words[3] = {FPROF_EXT_TOP(FPROF_EXT_VALUE, 3), type, bits};

	if (s && innermost(s, scope))
		put(s, words, 3);
}

void fprof_counter_slow(struct fprof_marker *marker, unsigned op, unsigned type, uint64_t bits)
{
	struct session *s = session_recording(FPROF_LEVEL_LANDMARK);
	uint64_t top = s ? marker_top(s, marker) : 0;
	uint64_t words[3] = {FPROF_EXT_TOP(FPROF_EXT_COUNTER, 3), 0, bits};

	if (!top)
		return;
	if (marker->kind != FPROF_MARKER_COUNTER) {
		session_refuse(s, FPROF_REFUSED_ARGUMENTS);
		return;
	}
	words[1] = fprof_word_id(top) | (uint64_t)op << 32 | (uint64_t)type << 40;
	put(s, words, 3);
}

void fprof_message(const char *text)
{
	fprof_message_ex(NULL, 0, text);
}

void fprof_message_ex(const char *category, uint32_t colour, const char *text)
{
	struct session *s = session_recording(FPROF_LEVEL_LANDMARK);
	uint64_t words[3 + FPROF_TEXT_MAX / 8];
	uint32_t id = 0;
	size_t n;

	if (!s)
		return;
	if (!text) {
		session_refuse(s, FPROF_REFUSED_ARGUMENTS);
		return;
	}
	if (category)
		id = marker_id_of_name(s, FPROF_MARKER_MESSAGE, category);
	n = text_length(s, text);
	words[1] = id | (uint64_t)n << 32;
	words[2] = colour & 0xffffff;
	put(s, words, pack(words, 3, FPROF_EXT_MESSAGE, text, n));
}

void fprof_thread_name(const char *name)
{
	struct session *s = session_get();
	struct fprof_writer *w;
	size_t n;

	if (!s)
		return;
	if (!name) {
		session_refuse(s, FPROF_REFUSED_ARGUMENTS);
		return;
	}
	n = strnlen(name, FPROF_THREAD_NAME_MAX + 1);
	if (n > FPROF_THREAD_NAME_MAX) {
		session_refuse(s, FPROF_REFUSED_TRUNCATED);
		n = FPROF_THREAD_NAME_MAX;
	}
	w = thread_hold(s);
	if (!w)
		return;
	thread_rename(s, w, name, n);
	thread_release(w);
}

uint64_t fprof_ticks(void)
{
	return fprof_clock_read(fprof_clock_choose());
}

const char *fprof_version(void)
{
	return FPROF_VERSION_TEXT;
}
