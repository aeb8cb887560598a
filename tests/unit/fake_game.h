/* SPDX-License-Identifier: MIT */
/*
 * A game made by hand: memories with rings written by shm/writer.h at times that the test chooses,
 * and a live session that reads them into one batch. Ticks are ns since the session's start.
 */
#ifndef FPROF_TESTS_FAKE_GAME_H
#define FPROF_TESTS_FAKE_GAME_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/live.h"
#include "shm/atomic.h"
#include "shm/writer.h"

#include <string.h>
#include <sys/mman.h>

#define FAKE_START   UINT64_C(1000000)
#define FAKE_SLOTS   16u
#define FAKE_MARKERS 256u
#define FAKE_STRINGS 16384u

struct fake_memory {
	struct memory *memory; /* the session's, once added */
	uint8_t *base;
	struct fprof_memory_header *head;
	uint32_t markers, strings;
};

struct fake_thread {
	struct fake_memory *m;
	struct fprof_writer w;
	uint64_t marks;
};

static inline struct fprof_slot *fake_slot(struct fake_memory *m, uint32_t slot)
{
	return (struct fprof_slot *)(m->base + m->head->slots_offset) + slot;
}

static inline void fake_layout(struct fprof_memory_header *h, uint32_t ring_words)
{
	h->abi_major = FPROF_ABI_MAJOR;
	h->header_bytes = sizeof(*h);
	h->slot_count = FAKE_SLOTS;
	h->slot_bytes = sizeof(struct fprof_slot);
	h->slots_offset = 4096;
	h->marker_capacity = FAKE_MARKERS;
	h->marker_bytes = sizeof(struct fprof_marker_entry);
	h->markers_offset = h->slots_offset + FAKE_SLOTS * sizeof(struct fprof_slot);
	h->strings_offset = h->markers_offset + FAKE_MARKERS * sizeof(struct fprof_marker_entry);
	h->strings_bytes = FAKE_STRINGS;
	h->ring_words = ring_words;
	h->rings_offset = (h->strings_offset + FAKE_STRINGS + 4095) & ~UINT64_C(4095);
	h->total_bytes = h->rings_offset + (uint64_t)FAKE_SLOTS * ring_words * 8;
	h->clock_kind = FPROF_CLOCK_MONOTONIC;
	h->start_ticks = FAKE_START;
}

/* A memory with its struct memory, to be given to a session once. */
static inline void fake_memory_new(struct fake_memory *m, uint32_t ring_words,
				   enum fprof_origin origin)
{
	struct fprof_memory_header head = {0};
	static uint64_t next_id = 77;

	memset(m, 0, sizeof(*m));
	fake_layout(&head, ring_words);
	head.origin = origin;
	head.memory_id = next_id++;
	m->base = mmap(NULL, head.total_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	assert_true(m->base != MAP_FAILED);
	m->head = (struct fprof_memory_header *)m->base;
	*m->head = head;
	m->head->magic = FPROF_MEMORY_MAGIC;
}

/* What memory_open makes of it. With keep the test goes on using the mapping after the session. */
static inline struct memory *fake_memory_open(struct fake_memory *m)
{
	struct memory *memory = calloc(1, sizeof(*memory));
	uint8_t *alias;

	assert_non_null(memory);
	alias = mremap(m->base, 0, m->head->total_bytes, MREMAP_MAYMOVE);
	assert_true(alias != MAP_FAILED);
	assert_int_equal(memory_view_init(alias, m->head->total_bytes, &memory->view, NULL), 0);
	memory->memory_id = m->head->memory_id;
	memory->origin = m->head->origin;
	return memory;
}

static inline void fake_memory_deinit(struct fake_memory *m)
{
	munmap(m->base, m->head->total_bytes);
}

static inline uint32_t fake_marker(struct fake_memory *m, enum fprof_marker_kind kind,
				   const char *name)
{
	struct fprof_marker_entry *e =
		(struct fprof_marker_entry *)(m->base + m->head->markers_offset) + m->markers;
	size_t bytes = strlen(name);

	assert_true(m->markers < FAKE_MARKERS && m->strings + bytes <= FAKE_STRINGS);
	memcpy(m->base + m->head->strings_offset + m->strings, name, bytes);
	e->kind = (uint8_t)kind;
	e->name_offset = m->strings;
	e->name_bytes = (uint16_t)bytes;
	e->ready = 1;
	m->strings += (uint32_t)bytes;
	return ++m->markers;
}

static inline void fake_put(struct fake_thread *t, const uint64_t *words, unsigned count,
			    uint64_t time)
{
	fprof_writer_put(&t->w, words, count, FAKE_START + time);
}

static inline void fake_single(struct fake_thread *t, enum fprof_word_kind kind, uint32_t id,
			       uint64_t time, int step)
{
	uint64_t word = FPROF_WORD_TOP(kind, id) | ((FAKE_START + time) & FPROF_TIME_MASK);

	fake_put(t, &word, 1, time);
	t->w.depth += (uint32_t)step;
}

static inline void fake_ext(struct fake_thread *t, enum fprof_ext_kind kind, uint64_t *words,
			    unsigned count, uint64_t time)
{
	words[0] = FPROF_EXT_TOP(kind, count) | ((FAKE_START + time) & FPROF_TIME_MASK);
	fake_put(t, words, count, time);
}

/* A thread takes a slot; call it again with the same fake_thread for the slot's next owner. */
static inline void fake_thread_begin(struct fake_thread *t, struct fake_memory *m, uint32_t slot,
				     int32_t tid, uint32_t serial, const char *name, uint64_t time)
{
	struct fprof_slot *s = fake_slot(m, slot);
	uint64_t words[3 + (FPROF_THREAD_NAME_MAX + 1) / 8] = {0};
	size_t name_words = (strlen(name) + 7) / 8;

	if (!t->w.slot) {
		t->m = m;
		t->w.slot = s;
		t->w.ring = (uint64_t *)(m->base + m->head->rings_offset) +
			    (size_t)slot * m->head->ring_words;
		t->w.mask = m->head->ring_words - 1;
		if (m->head->slots_used <= slot)
			m->head->slots_used = slot + 1;
	}
	t->w.serial = serial;
	t->w.depth = 0;
	s->state = FPROF_SLOT_LIVE;
	s->tid = tid;
	s->serial = serial;
	s->start_ticks = FAKE_START + time;
	strcpy((char *)s->name, name);
	s->named = 0;
	words[1] = (uint32_t)tid | (uint64_t)serial << 32;
	words[2] = FAKE_START + time;
	memcpy(&words[3], name, strlen(name));
	fake_ext(t, FPROF_EXT_THREAD, words, 3 + (unsigned)name_words, time);
}

/* The game names the slot's thread. */
static inline void fake_thread_name(struct fake_thread *t, const char *name, uint64_t time)
{
	uint64_t words[2 + (FPROF_THREAD_NAME_MAX + 1) / 8] = {0};

	words[1] = strlen(name);
	memcpy(&words[2], name, strlen(name));
	fake_ext(t, FPROF_EXT_THREAD_NAME, words, 2 + (unsigned)(strlen(name) + 7) / 8, time);
	strcpy((char *)t->w.slot->name, name);
	t->w.slot->named = 1;
}

static inline void fake_thread_end(struct fake_thread *t, uint64_t time)
{
	uint64_t words[1];

	fake_ext(t, FPROF_EXT_THREAD_END, words, 1, time);
	t->w.slot->state = FPROF_SLOT_DEAD;
}

static inline void fake_begin(struct fake_thread *t, uint32_t marker, uint64_t time)
{
	fake_single(t, FPROF_WORD_BEGIN, marker, time, 1);
}

static inline void fake_end(struct fake_thread *t, uint32_t marker, uint64_t time)
{
	fake_single(t, FPROF_WORD_END, marker, time, t->w.depth > 0 ? -1 : 0);
}

static inline void fake_next(struct fake_thread *t, uint32_t marker, uint64_t time)
{
	fake_single(t, FPROF_WORD_NEXT, marker, time, 0);
}

static inline void fake_mark_by(struct fake_thread *t, uint32_t stream, enum fprof_origin origin,
				uint64_t sequence, uint64_t engine, uint64_t time)
{
	uint64_t words[4] = {0, stream | (uint64_t)origin << 32, sequence, engine};

	fake_ext(t, FPROF_EXT_MARK, words, 4, time);
}

static inline void fake_mark(struct fake_thread *t, uint64_t time)
{
	fake_mark_by(t, 0, (enum fprof_origin)t->m->head->origin, ++t->marks, UINT64_MAX, time);
}

static inline void fake_fiber(struct fake_thread *t, uint64_t fiber, uint64_t sequence,
			      uint32_t name, uint64_t time)
{
	uint64_t words[4] = {0, fiber, sequence, name};

	fake_ext(t, FPROF_EXT_FIBER, words, 4, time);
	t->w.fiber = fiber;
	t->w.fiber_seq = sequence;
}

static inline void fake_counter(struct fake_thread *t, uint32_t marker, enum fprof_counter_op op,
				enum fprof_value_type type, uint64_t bits, uint64_t time)
{
	uint64_t words[3] = {0, marker | (uint64_t)op << 32 | (uint64_t)type << 40, bits};

	fake_ext(t, FPROF_EXT_COUNTER, words, 3, time);
}

/* Lead words that this ring's writers have written. */
static inline uint64_t fake_produced(const struct fake_thread *t)
{
	return t->w.slot->head - t->w.non_events;
}

/* ---- the session ---- */

static inline struct session_row fake_row(void)
{
	struct session_row row = {
		.id = 5,
		.clock_kind = FPROF_CLOCK_MONOTONIC,
		.start_ticks = FAKE_START,
	};
	struct fprof_clock_rate rate;

	fprof_clock_rate_set(&rate, 1e9);
	row.clock_hz = rate.hz;
	row.clock_mult = rate.mult;
	row.clock_shift = rate.shift;
	return row;
}

static inline struct live *fake_session(struct fake_memory *m, size_t count)
{
	struct session_row row = fake_row();
	struct batch *batch = batch_new();
	struct live *s;
	size_t i;

	assert_non_null(batch);
	assert_int_equal(live_new(&row, NULL, NULL, 4096, batch, &s), 0);
	for (i = 0; i < count; i++)
		assert_int_equal(live_add_memory(s, fake_memory_open(&m[i])), 0);
	return s;
}

static inline void fake_session_free(struct live *s)
{
	struct batch *batch = s->batch;

	live_free(s);
	batch_free(batch);
}

/* One sweep at time now that reads everything up to it. */
static inline void fake_sweep(struct live *s, uint64_t now)
{
	struct live_sweep sweep = {.now = FAKE_START + now};

	do
		assert_int_equal(live_sweep(s, &sweep), 0);
	while (sweep.behind);
}

static inline void fake_last_sweep(struct live *s, uint64_t now)
{
	struct live_sweep sweep = {.now = FAKE_START + now, .last = true};

	do
		assert_int_equal(live_sweep(s, &sweep), 0);
	while (sweep.behind);
}

static inline struct ring *fake_ring(struct live *s, uint32_t lane, uint32_t slot)
{
	return s->lanes[lane]->rings.at[slot];
}

/* received = stored + discarded; and with all that was written read, produced = received +
 * overwritten. */
static inline void fake_balance(const struct ring *ring, const struct fake_thread *t)
{
	assert_int_equal(ring->received, ring->stored + ring_discarded(ring));
	assert_int_equal(ring->received + ring->overwritten, fake_produced(t));
}

/* The id of a track in the batch by its name (the newest row counts), or 0. */
static inline uint32_t fake_track(const struct batch *b, const char *name)
{
	size_t i;

	for (i = b->tracks.count; i > 0; i--)
		if (b->tracks.at[i - 1].name && !strcmp(b->tracks.at[i - 1].name, name))
			return b->tracks.at[i - 1].track;
	return 0;
}

static inline const char *fake_marker_name(const struct batch *b, uint32_t marker)
{
	size_t i;

	for (i = 0; i < b->markers.count; i++)
		if (b->markers.at[i].marker == marker)
			return b->markers.at[i].name;
	return "?";
}

/*
 * The chunks of a track and lane as text, in order: "|" begins a chunk ("~" a late one), then
 * carried zones as "^name", then per event: +name begin, - end, >name next, !name instant, x<n>
 * truncated, u:name unbalanced, s:name stray, M mark, T0/T1 thread begin and end, F fiber, L leave,
 * #name counter, "text", v value, m:text message, ? other. With times, "@t" follows each.
 */
static inline void fake_text(const struct batch *b, uint32_t track, uint32_t lane, bool times,
			     char *out, size_t size)
{
	static struct chunk_reader r;
	struct chunk_event e;
	size_t i, used = 0;
	uint32_t j;

#define SAY(...) (used += (size_t)snprintf(out + used, size - used, __VA_ARGS__))
	out[0] = '\0';
	for (i = 0; i < b->chunks.count; i++) {
		const struct chunk_row *c = &b->chunks.at[i];

		if (c->track != track || c->lane != lane)
			continue;
		assert_int_equal(chunk_reader_init(&r, c->data, c->bytes, c->t0), 0);
		assert_int_equal(r.depth_in, c->depth_in);
		SAY("%s", c->late ? "~" : "|");
		for (j = 0; j < r.depth_in; j++)
			SAY("^%s", fake_marker_name(b, r.carried[j].marker));
		while (chunk_reader_next(&r, &e) == 1) {
			switch (e.code) {
			case CHUNK_BEGIN:
				SAY("+%s", fake_marker_name(b, e.marker));
				break;
			case CHUNK_END:
				SAY("-");
				break;
			case CHUNK_NEXT:
				SAY(">%s", fake_marker_name(b, e.marker));
				break;
			case CHUNK_INSTANT:
				SAY("!%s", fake_marker_name(b, e.marker));
				break;
			case CHUNK_TRUNCATE:
				SAY("x%u", (unsigned)e.value.u);
				break;
			case CHUNK_UNBALANCED_END:
				SAY("u:%s", fake_marker_name(b, e.marker));
				break;
			case CHUNK_STRAY_END:
				SAY("s:%s", fake_marker_name(b, e.marker));
				break;
			case CHUNK_MARK:
				SAY("M");
				break;
			case CHUNK_THREAD_BEGIN:
				SAY("T0");
				break;
			case CHUNK_THREAD_END:
				SAY("T1");
				break;
			case CHUNK_FIBER_ENTER:
				SAY("F");
				break;
			case CHUNK_FIBER_LEAVE:
				SAY("L");
				break;
			case CHUNK_COUNTER:
				SAY("#%s", fake_marker_name(b, e.marker));
				break;
			case CHUNK_TEXT:
				SAY("\"%.*s\"", (int)e.byte_count, (const char *)e.bytes);
				break;
			case CHUNK_VALUE:
				SAY("v");
				break;
			case CHUNK_MESSAGE:
				SAY("m:%.*s", (int)e.byte_count, (const char *)e.bytes);
				break;
			case CHUNK_OTHER:
				SAY("?");
				break;
			}
			if (times)
				SAY("@%d ", (int)e.t);
		}
		assert_int_equal(e.t, c->t1);
	}
#undef SAY
}

#define assert_chunks(batch, track, lane, expected)                               \
	do {                                                                      \
		static char text_[65536];                                         \
		fake_text((batch), (track), (lane), false, text_, sizeof(text_)); \
		assert_string_equal(text_, (expected));                           \
	} while (0)

#endif
