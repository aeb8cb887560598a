/* SPDX-License-Identifier: MIT */
/* What a client test reads back: the rings and markers of this process's own session. */
#ifndef FPROF_TESTS_CLIENT_RING_H
#define FPROF_TESTS_CLIENT_RING_H

#include "client/session.h"
#include "fprof/atomic.h"
#include "shm/reader.h"

#include <stdlib.h>
#include <string.h>

/* The events of one slot's ring, PAD and HEADER left out. */
struct ring_events {
	uint64_t *words; /* copies of all words of the events */
	size_t *lead;	 /* index of each event's lead word */
	size_t count;
	size_t word_count;
	uint64_t headers;
};

static inline struct memory_view own_view(void)
{
	struct session *s = session_peek();
	struct memory_view view;

	if (!s || memory_view_init(s->memory, s->kin.bytes, &view, NULL) < 0)
		abort();
	return view;
}

/* Everything that slot's ring still holds. Caller frees with ring_events_free. */
static inline struct ring_events ring_events_read(const struct memory_view *view, uint32_t slot)
{
	uint64_t head = memory_slot_head(view, slot);
	uint64_t from = head > view->head.ring_words ? head - view->head.ring_words : 0;
	const uint64_t *ring = (const uint64_t *)(view->base + view->head.rings_offset) +
			       (uint64_t)slot * view->head.ring_words;
	struct ring_events e = {0};
	uint64_t pos;

	from = (from + FPROF_BLOCK_WORDS - 1) & ~(uint64_t)(FPROF_BLOCK_WORDS - 1);
	e.words = calloc(head - from + 1, sizeof(*e.words));
	e.lead = calloc(head - from + 1, sizeof(*e.lead));
	for (pos = from; pos < head;) {
		uint64_t word = FPROF_LOAD_RELAXED(&ring[pos & (view->head.ring_words - 1)]);
		uint32_t n = 1, i;

		if (fprof_word_kind(word) == FPROF_WORD_EXT)
			n = fprof_word_ext_words(word);
		if (n == 0)
			abort();
		if (fprof_word_kind(word) == FPROF_WORD_EXT &&
		    fprof_word_ext_kind(word) == FPROF_EXT_HEADER) {
			e.headers++;
		} else if (fprof_word_kind(word) != FPROF_WORD_PAD) {
			e.lead[e.count++] = e.word_count;
			for (i = 0; i < n; i++)
				e.words[e.word_count++] = FPROF_LOAD_RELAXED(
					&ring[(pos + i) & (view->head.ring_words - 1)]);
		}
		pos += n;
	}
	return e;
}

static inline void ring_events_free(struct ring_events *e)
{
	free(e->words);
	free(e->lead);
}

static inline uint64_t event_word(const struct ring_events *e, size_t i, size_t word)
{
	return e->words[e->lead[i] + word];
}

static inline uint32_t event_kind(const struct ring_events *e, size_t i)
{
	return fprof_word_kind(event_word(e, i, 0));
}

/* The subkind of an extended event, 0 of any other. */
static inline uint32_t event_ext(const struct ring_events *e, size_t i)
{
	uint64_t word = event_word(e, i, 0);

	return fprof_word_kind(word) == FPROF_WORD_EXT ? fprof_word_ext_kind(word) : 0;
}

static inline const char *marker_name(const struct memory_view *view, uint32_t id)
{
	static struct marker_copy copy;

	return memory_marker(view, id, &copy) == 0 ? copy.name : "?";
}

/*
 * The single-word events of a slot as text: `a(` begins, `a)` ends, `a|` is a NEXT to a, `a!` an
 * instant, `#` any extended event but THREAD.
 */
static inline void ring_text(const struct memory_view *view, uint32_t slot, char *text, size_t size)
{
	static const char mark[] = "?()|!";
	struct ring_events e = ring_events_read(view, slot);
	size_t i, at = 0;

	text[0] = '\0';
	for (i = 0; i < e.count && at + 64 < size; i++) {
		if (event_ext(&e, i) == FPROF_EXT_THREAD)
			continue;
		if (event_ext(&e, i))
			text[at++] = '#';
		else
			at += (size_t)snprintf(
				text + at, size - at, "%s%c",
				marker_name(view, fprof_word_id(event_word(&e, i, 0))),
				mark[event_kind(&e, i) % 5]);
		text[at] = '\0';
	}
	ring_events_free(&e);
}

/* The slot of the calling thread. */
static inline uint32_t own_slot(void)
{
	return fprof_tls.writer->index;
}

#endif
