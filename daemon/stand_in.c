/* SPDX-License-Identifier: MIT */
/*
 * A memfd like a client's, with one writer of each ring in the daemon instead of in the threads
 * themselves. Rings are small: a frame has three events.
 *
 * Marks and orders go as in the client: the main stream belongs to the first thread that presents,
 * until that ends; marks of others are foreign. An order takes effect at a mark of the owner, and
 * is told right before it. While nothing is recorded, marks are counted and not written.
 */
#include "stand_in.h"

#include "probe/functions.h"
#include "shm/clock_source.h"
#include "shm/make.h"
#include "shm/writer.h"
#include "util.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#define SLOTS	   256u
#define RING_WORDS 8192u
#define STRINGS	   4096u
#define CATEGORY   "fprof.hook" /* as the preload hook's zones of the same functions */
#define NO_NUMBER  UINT64_MAX
#define NOBODY	   UINT32_MAX

struct thread {
	struct fprof_writer writer;
	int32_t tid; /* 0: the slot is free */
	unsigned function;
	bool inside;   /* a present */
	bool written;  /* ... whose begin was recorded */
	uint64_t last; /* ticks of its ring's newest event */
};

struct stand_in {
	uint8_t *base;
	int fd;
	struct fprof_memory_header *head;
	uint32_t serials;
	uint32_t owner; /* of the main stream: a slot */
	uint64_t marks;
	enum fprof_record_state told, ordered;
	uint64_t ordered_ticks;
	struct thread threads[SLOTS];
};

static void fill_header(struct fprof_memory_header *h, enum fprof_clock_kind clock)
{
	uint64_t ids[2];

	h->slot_count = SLOTS;
	h->marker_capacity = PRESENT_FUNCTIONS;
	h->strings_bytes = STRINGS;
	h->ring_words = RING_WORDS;
	fprof_memory_lay_out(h);
	h->clock_kind = clock;
	h->origin = FPROF_ORIGIN_ATTACHED;
	h->start_ticks = fprof_clock_read(clock);
	h->start_utc_ns = clock_ns(CLOCK_REALTIME);
	if (getrandom(ids, sizeof(ids), 0) != sizeof(ids))
		ids[0] = ids[1] = h->start_ticks;
	h->memory_id = ids[0];
	h->image_id = ids[1];
}

static int map(struct stand_in *s, const struct fprof_memory_header *h)
{
	s->fd = memfd_create("fprof-attached", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (s->fd < 0 || ftruncate(s->fd, (off_t)h->total_bytes) < 0)
		return -errno;
	s->base = mmap(NULL, h->total_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
	if (s->base == MAP_FAILED) {
		s->base = NULL;
		return -errno;
	}
	if (fcntl(s->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return -errno;
	s->head = (struct fprof_memory_header *)(void *)s->base;
	memcpy(s->head, h, sizeof(*h));
	return 0;
}

static uint32_t put_string(struct stand_in *s, const char *text)
{
	uint32_t at = s->head->strings_used;

	memcpy(s->base + s->head->strings_offset + at, text, strlen(text));
	s->head->strings_used += (uint32_t)strlen(text);
	return at;
}

/* Function i is marker i + 1. */
static void fill_markers(struct stand_in *s)
{
	struct fprof_marker_entry *entries = (void *)(s->base + s->head->markers_offset);
	uint32_t category = put_string(s, CATEGORY);
	unsigned i;

	for (i = 0; i < PRESENT_FUNCTIONS; i++) {
		const char *name = present_functions[i].name;

		entries[i] = (struct fprof_marker_entry){
			.ready = 1,
			.kind = FPROF_MARKER_WAIT_PRESENT,
			.level = FPROF_LEVEL_LANDMARK,
			.name_offset = put_string(s, name),
			.name_bytes = (uint16_t)strlen(name),
			.category_offset = category,
			.category_bytes = sizeof(CATEGORY) - 1,
		};
	}
	s->head->markers_used = PRESENT_FUNCTIONS;
}

int stand_in_new(enum fprof_clock_kind clock, struct stand_in **ret_stand_in)
{
	struct stand_in *s = calloc(1, sizeof(*s));
	struct fprof_memory_header h = {0};
	int r;

	if (!s)
		return -ENOMEM;
	s->owner = NOBODY;
	s->told = s->ordered = FPROF_STATE_RECORDING;
	fill_header(&h, clock);
	r = map(s, &h);
	if (r < 0) {
		stand_in_free(s);
		return r;
	}
	fill_markers(s);
	FPROF_STORE_RELEASE(&s->head->magic, FPROF_MEMORY_MAGIC);
	*ret_stand_in = s;
	return 0;
}

void stand_in_free(struct stand_in *s)
{
	if (!s)
		return;
	if (s->base)
		munmap(s->base, s->head->total_bytes);
	if (s->fd >= 0)
		close(s->fd);
	free(s);
}

int stand_in_fd(const struct stand_in *s)
{
	return s->fd;
}

void stand_in_hello(const struct stand_in *s, struct fprof_msg_hello *ret_hello)
{
	*ret_hello = (struct fprof_msg_hello){
		.magic = FPROF_SOCKET_MAGIC,
		.type = FPROF_MSG_HELLO,
		.bytes = sizeof(*ret_hello),
		.abi_major = FPROF_ABI_MAJOR,
		.abi_minor = FPROF_ABI_MINOR,
		.origin = FPROF_ORIGIN_ATTACHED,
		.memory_id = s->head->memory_id,
		.image_id = s->head->image_id,
		.memory_bytes = s->head->total_bytes,
	};
}

static void refuse(struct stand_in *s, enum fprof_refused kind, uint64_t count)
{
	FPROF_ADD_RELAXED(&s->head->refused[kind], count);
}

/* ---- threads ---- */

static struct thread *find(struct stand_in *s, int32_t tid)
{
	uint32_t i;

	for (i = 0; i < s->head->slots_used; i++)
		if (s->threads[i].tid == tid)
			return &s->threads[i];
	return NULL;
}

/* words[0] is without its time. What the kernel told late does not run backwards. */
static void put(struct thread *t, uint64_t *words, unsigned count, uint64_t ticks)
{
	t->last = MAX(t->last, ticks);
	words[0] |= t->last & FPROF_TIME_MASK;
	fprof_writer_put(&t->writer, words, count, t->last);
}

static struct fprof_slot *slot_of(struct stand_in *s, uint32_t i)
{
	return (struct fprof_slot *)(void *)(s->base + s->head->slots_offset) + i;
}

/* Header block, THREAD word, owner, in this order, as the client does. */
static void introduce(struct stand_in *s, uint32_t i, const char *name, uint64_t ticks)
{
	struct fprof_writer *w = &s->threads[i].writer;
	uint64_t words[FPROF_THREAD_WORDS_MAX], pos;
	unsigned count;

	w->slot = slot_of(s, i);
	w->ring = (uint64_t *)(void *)(s->base + s->head->rings_offset) + (size_t)i * RING_WORDS;
	w->mask = RING_WORDS - 1;
	w->serial = ++s->serials;
	w->depth = 0;
	ticks = MAX(MAX(ticks, s->head->start_ticks), s->threads[i].last);
	count = fprof_thread_words(words, s->threads[i].tid, w->serial, ticks, name);
	if (w->slot->head + count > w->limit)
		fprof_writer_next_block(w, ticks);
	pos = w->slot->head;
	put(&s->threads[i], words, count, ticks);
	fprof_slot_own(w->slot, s->threads[i].tid, w->serial, ticks, pos, name);
	if (i >= s->head->slots_used)
		FPROF_STORE_RELEASE(&s->head->slots_used, i + 1);
}

static void rename_thread(struct thread *t, const char *name, uint64_t ticks)
{
	uint64_t words[2 + (FPROF_THREAD_NAME_MAX + 7) / 8] = {0};
	size_t n = strlen(name);
	unsigned count = 2 + (unsigned)(n + 7) / 8;

	if (strcmp((const char *)t->writer.slot->name, name) == 0)
		return;
	words[0] = FPROF_EXT_TOP(FPROF_EXT_THREAD_NAME, count);
	words[1] = n;
	memcpy(words + 2, name, n);
	put(t, words, count, ticks);
	fprof_slot_own_begin(t->writer.slot);
	fprof_slot_name(t->writer.slot, name, n, true);
	fprof_slot_own_end(t->writer.slot);
}

int stand_in_thread(struct stand_in *s, int32_t tid, const char *name, uint64_t ticks, bool count)
{
	struct thread *t = find(s, tid);
	char cut[FPROF_THREAD_NAME_MAX + 1];
	uint32_t i;

	snprintf(cut, sizeof(cut), "%s", name);
	if (t) {
		rename_thread(t, cut, ticks);
		return 0;
	}
	for (i = 0; i < SLOTS && s->threads[i].tid; i++)
		;
	if (i == SLOTS) {
		refuse(s, FPROF_REFUSED_THREADS, count);
		return -ENOSPC;
	}
	s->threads[i].tid = tid;
	s->threads[i].inside = false;
	introduce(s, i, cut, ticks);
	return 0;
}

void stand_in_thread_end(struct stand_in *s, int32_t tid, uint64_t ticks)
{
	uint64_t word = FPROF_EXT_TOP(FPROF_EXT_THREAD_END, 1);
	struct thread *t = find(s, tid);

	if (!t)
		return;
	put(t, &word, 1, ticks);
	fprof_slot_own_begin(t->writer.slot);
	FPROF_STORE_RELAXED(&t->writer.slot->state, (uint32_t)FPROF_SLOT_DEAD);
	fprof_slot_own_end(t->writer.slot);
	if (s->owner == (uint32_t)(t - s->threads))
		s->owner = NOBODY;
	t->tid = 0;
}

/* ---- presents ---- */

static bool is_recording(const struct stand_in *s)
{
	return s->told == FPROF_STATE_RECORDING;
}

static void end_zone(struct thread *t, uint64_t ticks)
{
	uint64_t word = FPROF_WORD_TOP(FPROF_WORD_END, t->function + 1);

	if (t->inside && t->written) {
		put(t, &word, 1, ticks);
		t->writer.depth--;
	}
	t->inside = false;
}

void stand_in_enter(struct stand_in *s, int32_t tid, unsigned function, uint64_t ticks)
{
	uint64_t word = FPROF_WORD_TOP(FPROF_WORD_BEGIN, function + 1);
	struct thread *t = find(s, tid);

	if (!t || function >= PRESENT_FUNCTIONS) {
		refuse(s, FPROF_REFUSED_EVENTS, 1);
		return;
	}
	end_zone(t, ticks); /* left by longjmp */
	t->function = function;
	t->inside = true;
	t->written = is_recording(s);
	if (!t->written)
		return;
	t->writer.depth++;
	put(t, &word, 1, ticks);
}

/* Says what was ordered, if that is new; a mark follows. */
static void tell(struct stand_in *s, struct thread *t, uint64_t ticks)
{
	uint64_t words[3] = {FPROF_EXT_TOP(FPROF_EXT_RECORD, 3), s->ordered | FPROF_RECORD_AT_MARK,
			     s->ordered_ticks};

	if (s->told == s->ordered)
		return;
	s->told = s->ordered;
	put(t, words, 3, ticks);
}

static void mark(struct stand_in *s, struct thread *t, uint64_t ticks)
{
	uint32_t slot = (uint32_t)(t - s->threads);
	bool before = is_recording(s), own;
	uint64_t flags = 0;

	if (s->owner == NOBODY)
		s->owner = slot;
	own = s->owner == slot;
	if (!own)
		flags = FPROF_MARK_FOREIGN;
	else if (!before)
		flags = FPROF_MARK_PAUSED;
	s->marks += own;
	if (own)
		tell(s, t, ticks);
	if (before || is_recording(s)) {
		uint64_t words[5] = {FPROF_EXT_TOP(FPROF_EXT_MARK, flags ? 5 : 4),
				     (uint64_t)FPROF_ORIGIN_HOOK << 32, s->marks, NO_NUMBER, flags};

		put(t, words, flags ? 5 : 4, ticks);
	}
}

void stand_in_leave(struct stand_in *s, int32_t tid, bool shown, uint64_t ticks)
{
	struct thread *t = find(s, tid);

	if (!t) {
		refuse(s, FPROF_REFUSED_EVENTS, 1);
		return;
	}
	end_zone(t, ticks);
	if (shown)
		mark(s, t, ticks);
}

void stand_in_order(struct stand_in *s, enum fprof_record_state state, uint64_t ticks)
{
	if (s->ordered == state)
		return;
	s->ordered = state;
	s->ordered_ticks = ticks;
}

void stand_in_lost(struct stand_in *s, uint64_t events)
{
	refuse(s, FPROF_REFUSED_EVENTS, events);
}

uint64_t stand_in_frames(const struct stand_in *s)
{
	return s->marks;
}
