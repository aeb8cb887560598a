/* SPDX-License-Identifier: MIT */
/*
 * Reading a memory that another process writes.
 *
 * The layout is checked once, on a copy of the header; from then on only sizes of that copy are
 * used, so every address computed here lies inside the mapping whatever the writer does later.
 * Contents are loaded word by word with relaxed atomics into the caller's memory and looked at
 * there.
 *
 * What a ring's reader may believe: a store to the ring that the reader has seen belongs to a block
 * whose beginning was published before (the writer's release fence at every block; the acquire
 * fence below). So with a head h read after the copy, no word of a block behind h /
 * FPROF_BLOCK_WORDS can have been stored, and what lies more than a ring behind the end of that
 * block may be torn.
 *
 * Nothing here has state of its own: any thread may read any view.
 */
#include "reader.h"

#include "atomic.h"

#include <errno.h>
#include <string.h>

#define PAGE_BYTES	4096u
#define ENTRY_BYTES_MAX 4096u
#define OWNER_TRIES	64
#define COPY_TRIES	4
#define HEAD_MAX	(UINT64_C(1) << 62) /* no ring gets there: 3,000 years at 50 M events a second */

/* Copies bytes (a multiple of 8) from shared memory at an address that is a multiple of 8. */
static void copy_words(void *dst, const void *src, size_t bytes)
{
	const uint64_t *from = src;
	unsigned char *to = dst;
	size_t i;

	for (i = 0; i < bytes / 8; i++) {
		uint64_t word = FPROF_LOAD_RELAXED(&from[i]);

		memcpy(to + i * 8, &word, 8);
	}
}

/* Does [offset, offset + count * each) lie behind the header and inside the memory? */
static bool area_fits(const struct fprof_memory_header *h, uint64_t offset, uint64_t count,
		      uint64_t each)
{
	return offset % 8 == 0 && offset >= h->header_bytes && offset <= h->total_bytes &&
	       count * each <= h->total_bytes - offset;
}

static const char *check_counts(const struct fprof_memory_header *h)
{
	if (h->header_bytes < sizeof(*h) || h->header_bytes > PAGE_BYTES * 16)
		return "the header's size is absurd";
	if (h->slot_count < 1 || h->slot_count > FPROF_SLOTS_MAX)
		return "the number of thread slots is out of range";
	if (h->slot_bytes < sizeof(struct fprof_slot) || h->slot_bytes > ENTRY_BYTES_MAX ||
	    h->slot_bytes % 8)
		return "the size of a thread slot is absurd";
	if (h->marker_capacity < 1 || h->marker_capacity > FPROF_MARKERS_MAX)
		return "the size of the marker table is out of range";
	if (h->marker_bytes < sizeof(struct fprof_marker_entry) ||
	    h->marker_bytes > ENTRY_BYTES_MAX || h->marker_bytes % 8)
		return "the size of a marker entry is absurd";
	if (h->strings_bytes > FPROF_STRINGS_MAX)
		return "the strings area is too large";
	if (h->ring_words < FPROF_RING_WORDS_MIN || h->ring_words > FPROF_RING_WORDS_MAX ||
	    (h->ring_words & (h->ring_words - 1)))
		return "the size of a ring is out of range or no power of two";
	if (h->clock_kind < FPROF_CLOCK_TSC || h->clock_kind > FPROF_CLOCK_MONOTONIC)
		return "the clock is of an unknown kind";
	if (h->origin < FPROF_ORIGIN_GAME || h->origin > FPROF_ORIGIN_ATTACHED)
		return "the origin is unknown";
	return NULL;
}

static const char *check_areas(const struct fprof_memory_header *h)
{
	if (!area_fits(h, h->slots_offset, h->slot_count, h->slot_bytes))
		return "the thread slots lie outside the memory";
	if (!area_fits(h, h->markers_offset, h->marker_capacity, h->marker_bytes))
		return "the marker table lies outside the memory";
	if (!area_fits(h, h->strings_offset, 1, h->strings_bytes))
		return "the strings lie outside the memory";
	if (h->rings_offset % PAGE_BYTES ||
	    !area_fits(h, h->rings_offset, h->slot_count, (uint64_t)h->ring_words * 8))
		return "the rings lie outside the memory";
	return NULL;
}

static int check_identity(const struct fprof_memory_header *h, const char **ret_why)
{
	if (h->magic != FPROF_MEMORY_MAGIC) {
		*ret_why = "this is no fprof memory, or it was never finished";
		return -EPROTO;
	}
	if (h->abi_major != FPROF_ABI_MAJOR) {
		*ret_why = "the library's layout has another major version than the daemon's";
		return -EPROTO;
	}
	return 0;
}

int memory_view_init(const void *base, uint64_t bytes, struct memory_view *ret_view,
		     const char **ret_why)
{
	struct fprof_memory_header head;
	const char *why = NULL;
	int r = 0;

	if (bytes < sizeof(head)) {
		why = "the memory is smaller than its header";
		r = -EINVAL;
		goto out;
	}
	head.magic = FPROF_LOAD_ACQUIRE((const uint64_t *)base);
	copy_words(&head, base, sizeof(head));
	r = check_identity(&head, &why);
	if (r < 0)
		goto out;
	why = head.total_bytes == bytes ? check_counts(&head)
					: "the memory has another size than "
					  "its header says";
	if (!why)
		why = check_areas(&head);
	if (why) {
		r = -EINVAL;
		goto out;
	}
	ret_view->base = base;
	ret_view->bytes = bytes;
	ret_view->head = head;
out:
	if (ret_why && r < 0)
		*ret_why = why;
	return r;
}

static const struct fprof_memory_header *live_header(const struct memory_view *view)
{
	return (const struct fprof_memory_header *)view->base;
}

uint32_t memory_slots_used(const struct memory_view *view)
{
	uint32_t used = FPROF_LOAD_ACQUIRE(&live_header(view)->slots_used);

	return used < view->head.slot_count ? used : view->head.slot_count;
}

uint64_t memory_refused(const struct memory_view *view, enum fprof_refused kind)
{
	if ((unsigned)kind >= FPROF_REFUSED_KINDS)
		return 0;
	return FPROF_LOAD_RELAXED(&live_header(view)->refused[kind]);
}

static const struct fprof_slot *slot_at(const struct memory_view *view, uint32_t slot)
{
	if (slot >= view->head.slot_count)
		slot = 0;
	return (const struct fprof_slot *)(view->base + view->head.slots_offset +
					   (uint64_t)slot * view->head.slot_bytes);
}

int memory_slot_owner(const struct memory_view *view, uint32_t slot, struct slot_owner *ret_owner)
{
	const struct fprof_slot *s = slot_at(view, slot);
	struct fprof_slot copy;
	int tries;

	for (tries = 0; tries < OWNER_TRIES; tries++) {
		uint32_t seq = FPROF_LOAD_ACQUIRE(&s->seq);

		if (seq & 1)
			continue;
		copy_words(&copy.seq, &s->seq, sizeof(copy) - offsetof(struct fprof_slot, seq));
		FPROF_FENCE_ACQUIRE();
		if (FPROF_LOAD_RELAXED(&s->seq) == seq && copy.seq == seq)
			break;
	}
	if (tries == OWNER_TRIES)
		return -EAGAIN;
	ret_owner->state = copy.state;
	ret_owner->tid = copy.tid;
	ret_owner->serial = copy.serial;
	ret_owner->start_ticks = copy.start_ticks;
	ret_owner->begin_pos = copy.begin_pos;
	ret_owner->populate_ns = copy.populate_ns;
	memcpy(ret_owner->name, copy.name, sizeof(ret_owner->name));
	ret_owner->name[sizeof(ret_owner->name) - 1] = '\0';
	ret_owner->named = copy.named;
	return 0;
}

uint64_t memory_slot_head(const struct memory_view *view, uint32_t slot)
{
	return FPROF_LOAD_ACQUIRE(&slot_at(view, slot)->head);
}

uint64_t memory_slot_dropped(const struct memory_view *view, uint32_t slot)
{
	const struct fprof_slot *s = slot_at(view, slot);

	return FPROF_LOAD_RELAXED(&s->dropped_reentrant) + FPROF_LOAD_RELAXED(&s->dropped_other);
}

/* Copies one string of the strings area, byte by byte: strings are not aligned. */
static int copy_string(const struct memory_view *view, uint32_t offset, uint32_t bytes, char *dst)
{
	const uint8_t *src = view->base + view->head.strings_offset;
	char raw[FPROF_NAME_MAX];
	uint32_t i;

	if (bytes > FPROF_NAME_MAX || offset > view->head.strings_bytes ||
	    bytes > view->head.strings_bytes - offset)
		return -EINVAL;
	for (i = 0; i < bytes; i++)
		raw[i] = (char)FPROF_LOAD_RELAXED(&src[offset + i]);
	utf8_copy(dst, FPROF_NAME_MAX + 1, raw, bytes);
	return 0;
}

int memory_marker(const struct memory_view *view, uint32_t id, struct marker_copy *ret_marker)
{
	const struct fprof_marker_entry *shared;
	struct fprof_marker_entry e;
	int r;

	if (id < 1 || id > view->head.marker_capacity)
		return -ENOENT;
	shared = (const struct fprof_marker_entry *)(view->base + view->head.markers_offset +
						     (uint64_t)(id - 1) * view->head.marker_bytes);
	if (FPROF_LOAD_ACQUIRE(&shared->ready) != 1)
		return -ENOENT;
	copy_words(&e, shared, sizeof(e));
	if (e.kind >= FPROF_MARKER_KINDS)
		return -EINVAL;
	r = copy_string(view, e.name_offset, e.name_bytes, ret_marker->name);
	if (r == 0)
		r = copy_string(view, e.category_offset, e.category_bytes, ret_marker->category);
	if (r == 0)
		r = copy_string(view, e.file_offset, e.file_bytes, ret_marker->file);
	if (r < 0)
		return r;
	ret_marker->kind = e.kind;
	ret_marker->level = e.level;
	ret_marker->unit = e.unit;
	ret_marker->dynamic = e.dynamic;
	ret_marker->line = e.line;
	ret_marker->colour = e.colour;
	return 0;
}

/* How many bytes of continuation a lead byte asks for, and the range of the first of them. */
static int utf8_lead(uint8_t c, uint8_t *ret_low, uint8_t *ret_high)
{
	*ret_low = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
	*ret_high = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
	if (c >= 0xc2 && c <= 0xdf)
		return 1;
	if (c >= 0xe0 && c <= 0xef)
		return 2;
	if (c >= 0xf0 && c <= 0xf4)
		return 3;
	return -1;
}

/* Bytes of the valid character at s, or 0. NUL is not a character here: C strings end at it. */
static size_t utf8_valid(const uint8_t *s, size_t bytes)
{
	uint8_t low, high;
	int more, i;

	if (s[0] != 0 && s[0] < 0x80)
		return 1;
	more = utf8_lead(s[0], &low, &high);
	if (more < 0 || (size_t)more >= bytes || s[1] < low || s[1] > high)
		return 0;
	for (i = 2; i <= more; i++)
		if (s[i] < 0x80 || s[i] > 0xbf)
			return 0;
	return (size_t)more + 1;
}

bool utf8_copy(char *dst, size_t size, const void *src, size_t bytes)
{
	const uint8_t *s = src;
	bool changed = false;
	size_t used = 0;

	if (size == 0)
		return bytes > 0;
	while (bytes > 0) {
		size_t take = utf8_valid(s, bytes);
		const void *from = take ? (const void *)s : "\xef\xbf\xbd";
		size_t put = take ? take : 3;

		if (used + put > size - 1) {
			changed = true;
			break;
		}
		memcpy(dst + used, from, put);
		changed = changed || take == 0;
		used += put;
		s += take ? take : 1;
		bytes -= take ? take : 1;
	}
	dst[used] = '\0';
	return changed;
}

void ring_reader_init(struct ring_reader *r, const struct memory_view *view, uint32_t slot,
		      uint64_t tail)
{
	if (slot >= view->head.slot_count)
		slot = 0;
	r->words = (const uint64_t *)(view->base + view->head.rings_offset +
				      (uint64_t)slot * view->head.ring_words * 8);
	r->head = &slot_at(view, slot)->head;
	r->mask = view->head.ring_words - 1;
	r->tail = tail;
}

/* The first position that cannot have been overwritten by a writer that has published head. */
static uint64_t first_intact(const struct ring_reader *r, uint64_t head)
{
	uint64_t end = (head / FPROF_BLOCK_WORDS + 1) * FPROF_BLOCK_WORDS;

	return end > r->mask + 1 ? end - (r->mask + 1) : 0;
}

enum ring_status ring_reader_copy(const struct ring_reader *r, uint64_t *buf, size_t max,
				  uint64_t *ret_pos, size_t *ret_count)
{
	uint64_t head = FPROF_LOAD_ACQUIRE(r->head), from = r->tail, intact, count, i;
	int tries;

	*ret_pos = from;
	*ret_count = 0;
	if (head < r->tail || head > HEAD_MAX)
		return RING_BACKWARDS;
	for (tries = 0; tries < COPY_TRIES; tries++) {
		intact = first_intact(r, head);
		from = from > intact ? from : intact;
		count = head - from < max ? head - from : max;
		for (i = 0; i < count; i++)
			buf[i] = FPROF_LOAD_RELAXED(&r->words[(from + i) & r->mask]);
		FPROF_FENCE_ACQUIRE();
		head = FPROF_LOAD_ACQUIRE(r->head);
		if (head < from || head > HEAD_MAX)
			return RING_BACKWARDS;
		intact = first_intact(r, head);
		if (intact < from + count || count == 0)
			break;
	}
	if (tries == COPY_TRIES)
		count = 0;
	if (intact > from && count > 0) {
		memmove(buf, buf + (intact - from), (from + count - intact) * sizeof(*buf));
		count -= intact - from;
	}
	if (intact > from)
		from = intact;
	*ret_pos = from;
	*ret_count = count;
	return from > r->tail ? RING_LAPPED : RING_OK;
}
