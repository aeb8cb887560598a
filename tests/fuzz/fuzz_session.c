/* SPDX-License-Identifier: MIT */
/*
 * A session's memory, written by somebody who means harm, through the daemon's whole reading side:
 * view, slots, markers, rings, frames, chunks, counters, GPU spans.
 *
 * It starts as a sound memory with two threads and an event of every kind. The input is a list of
 * changes to it, { u16 offset / 8 (scaled), u8 length | sweep flag, bytes }: each overwrites some
 * bytes, and where the flag is set the daemon sweeps before the next. The memory ends at a page
 * that cannot be read.
 */
#include "daemon/live.h"
#include "daemon/log.h"
#include "shm/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE	      4096u
#define SLOTS	      2u
#define MARKERS	      16u
#define STRINGS	      1024u
#define SLOTS_AT      1024u
#define MARKERS_AT    2048u
#define STRINGS_AT    3072u
#define RINGS_AT      PAGE
#define RING_BYTES    (FPROF_RING_WORDS_MIN * 8u)
#define MEMORY_BYTES  (RINGS_AT + SLOTS * RING_BYTES)
#define START_TICKS   1000000u
#define SWEEP_FLAG    0x80u
#define CHANGE_HEADER 3u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static _Alignas(64) uint8_t template[MEMORY_BYTES];

struct shape {
	struct fprof_memory_header *header;
	struct fprof_slot *slots;
	struct fprof_marker_entry *markers;
	uint8_t *strings;
};

static void make_header(struct fprof_memory_header *h)
{
	*h = (struct fprof_memory_header){
		.magic = FPROF_MEMORY_MAGIC,
		.abi_major = FPROF_ABI_MAJOR,
		.header_bytes = sizeof(*h),
		.total_bytes = MEMORY_BYTES,
		.slot_count = SLOTS,
		.slot_bytes = sizeof(struct fprof_slot),
		.slots_offset = SLOTS_AT,
		.marker_capacity = MARKERS,
		.marker_bytes = sizeof(struct fprof_marker_entry),
		.markers_offset = MARKERS_AT,
		.strings_offset = STRINGS_AT,
		.strings_bytes = STRINGS,
		.ring_words = FPROF_RING_WORDS_MIN,
		.rings_offset = RINGS_AT,
		.clock_kind = FPROF_CLOCK_MONOTONIC,
		.origin = FPROF_ORIGIN_GAME,
		.start_ticks = START_TICKS,
		.pid = 1,
		.memory_id = 7,
		.slots_used = SLOTS,
		.markers_used = FPROF_MARKER_KINDS,
		.strings_used = 16 * FPROF_MARKER_KINDS,
	};
}

/* One marker of each kind: marker i + 1 is of kind i. */
static void make_markers(struct shape *shape)
{
	uint32_t i;

	for (i = 0; i < FPROF_MARKER_KINDS; i++) {
		shape->markers[i] = (struct fprof_marker_entry){
			.ready = 1,
			.kind = (uint8_t)i,
			.name_offset = 16 * i,
			.name_bytes = 8,
			.category_offset = 16 * i,
			.category_bytes = 4,
			.line = i,
		};
		memset(shape->strings + 16 * (size_t)i, 'a' + (int)i, 16);
	}
}

static void put(struct fprof_writer *w, uint64_t now, enum fprof_ext_kind kind, unsigned count,
		const uint64_t *payload)
{
	uint64_t words[16];

	words[0] = FPROF_EXT_TOP(kind, count + 1) | (now & FPROF_TIME_MASK);
	memcpy(words + 1, payload, count * sizeof(*payload));
	fprof_writer_put(w, words, count + 1, now);
}

static void put_word(struct fprof_writer *w, uint64_t now, enum fprof_word_kind kind, uint32_t id)
{
	uint64_t word = FPROF_WORD_TOP(kind, id) | (now & FPROF_TIME_MASK);

	fprof_writer_put(w, &word, 1, now);
}

/* An event of every kind, among zones. */
static void put_all(struct fprof_writer *w, uint64_t now, uint64_t frame)
{
	const uint64_t gpu = FPROF_MARKER_GPU + 1;

	put_word(w, now, FPROF_WORD_BEGIN, 1);
	put_word(w, now + 1, FPROF_WORD_BEGIN, FPROF_MARKER_WAIT_GPU + 1);
	put(w, now + 2, FPROF_EXT_TEXT, 2, (uint64_t[]){5, 0x6f6c6c6568});
	put(w, now + 2, FPROF_EXT_VALUE, 2, (uint64_t[]){FPROF_VALUE_I64, 42});
	put_word(w, now + 3, FPROF_WORD_END, FPROF_MARKER_WAIT_GPU + 1);
	put_word(w, now + 4, FPROF_WORD_NEXT, 1);
	put_word(w, now + 4, FPROF_WORD_INSTANT, FPROF_MARKER_INSTANT + 1);
	put(w, now + 5, FPROF_EXT_COUNTER, 2, (uint64_t[]){FPROF_MARKER_COUNTER + 1, frame});
	put(w, now + 5, FPROF_EXT_MESSAGE, 3, (uint64_t[]){UINT64_C(5) << 32, 0xff, 0x6f6c6c6568});
	put(w, now + 6, FPROF_EXT_FIBER, 3,
	    (uint64_t[]){frame % 2, frame / 2, FPROF_MARKER_FIBER + 1});
	put(w, now + 7, FPROF_EXT_GPU_QUEUE, 3,
	    (uint64_t[]){1 | UINT64_C(36) << 32, 0x3ff0000000000000, gpu});
	put(w, now + 7, FPROF_EXT_GPU_CALIBRATION, 3, (uint64_t[]){1, now, now});
	put(w, now + 8, FPROF_EXT_GPU_SUBMIT, 3, (uint64_t[]){1, frame, frame});
	put(w, now + 8, FPROF_EXT_GPU_SPAN, 7,
	    (uint64_t[]){1 | gpu << 32, now, now + 5, frame, frame, 0, 0});
	put(w, now + 8, FPROF_EXT_GPU_DROPPED, 3, (uint64_t[]){1, frame, 1});
	put(w, now + 8, FPROF_EXT_INFO, 3, (uint64_t[]){3 | UINT64_C(3) << 32, 0x79656b, 0x6c6176});
	put_word(w, now + 9, FPROF_WORD_END, 1);
	put(w, now + 9, FPROF_EXT_MARK, 3,
	    (uint64_t[]){(uint64_t)FPROF_ORIGIN_GAME << 32, frame, frame});
	put(w, now + 9, FPROF_EXT_MARK, 3,
	    (uint64_t[]){(FPROF_MARKER_STREAM + 1) | (uint64_t)FPROF_ORIGIN_GAME << 32, frame,
			 ~UINT64_C(0)});
}

static void make_thread(struct shape *shape, uint32_t i)
{
	struct fprof_writer w = {
		.ring = (uint64_t *)(void *)(template + RINGS_AT + (size_t)i * RING_BYTES),
		.mask = FPROF_RING_WORDS_MIN - 1,
		.slot = &shape->slots[i],
		.serial = i + 1,
	};
	uint64_t frame;

	*w.slot = (struct fprof_slot){.state = FPROF_SLOT_LIVE,
				      .tid = 100 + (int32_t)i,
				      .serial = i + 1,
				      .start_ticks = START_TICKS,
				      .begin_pos = FPROF_HEADER_WORDS,
				      .name = "thread"};
	put(&w, START_TICKS, FPROF_EXT_THREAD, 3,
	    (uint64_t[]){(100 + i) | (uint64_t)(i + 1) << 32, START_TICKS, 0x646165726874});
	for (frame = 1; frame <= 12; frame++)
		put_all(&w, START_TICKS + frame * 1000, frame);
	put(&w, START_TICKS + 20000, FPROF_EXT_THREAD_NAME, 2, (uint64_t[]){3, 0x77656e});
	put(&w, START_TICKS + 20001, FPROF_EXT_THREAD_END, 0, (uint64_t[]){0});
}

static void make_template(void)
{
	struct shape shape = {
		.header = (void *)template,
		.slots = (void *)(template + SLOTS_AT),
		.markers = (void *)(template + MARKERS_AT),
		.strings = template + STRINGS_AT,
	};
	uint32_t i;

	make_header(shape.header);
	make_markers(&shape);
	for (i = 0; i < SLOTS; i++)
		make_thread(&shape, i);
}

static void sweep(struct live *live, uint64_t now, bool last)
{
	struct live_sweep how = {.now = now, .grace = 10, .last = last};

	if (live->fault)
		return;
	if (live_sweep(live, &how) == 0)
		live_flush(live);
}

/* The ledger holds whatever the game wrote. */
static void check_ledgers(const struct batch *batch)
{
	size_t i;
	unsigned k;

	for (i = 0; i < batch->ledgers.count; i++) {
		const struct ledger_row *row = &batch->ledgers.at[i];
		uint64_t discarded = 0;

		for (k = 0; k < DISCARD_REASONS; k++)
			discarded += row->discarded[k];
		if (row->produced != row->received + row->overwritten ||
		    row->received != row->stored + discarded)
			abort();
	}
}

static void play(struct live *live, uint8_t *memory, const uint8_t *data, size_t size)
{
	uint64_t now = START_TICKS + 5000;

	while (size >= CHANGE_HEADER) {
		size_t at = ((size_t)data[0] | (size_t)data[1] << 8) * 8 % MEMORY_BYTES;
		size_t length = data[2] & (SWEEP_FLAG - 1);
		bool then_sweep = data[2] & SWEEP_FLAG;

		data += CHANGE_HEADER;
		size -= CHANGE_HEADER;
		length = MIN(length, MIN(size, MEMORY_BYTES - at));
		memcpy(memory + at, data, length);
		data += length;
		size -= length;
		if (then_sweep) {
			now += 5000;
			sweep(live, now, false);
		}
	}
	sweep(live, now + 100000, true);
}

static uint8_t *map_memory(void)
{
	uint8_t *at = mmap(NULL, MEMORY_BYTES + PAGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED || mprotect(at + MEMORY_BYTES, PAGE, PROT_NONE) < 0)
		abort();
	memcpy(at, template, MEMORY_BYTES);
	return at;
}

static void run(uint8_t *at, struct memory *memory, const uint8_t *data, size_t size)
{
	struct session_row row = {.id = 1,
				  .clock_kind = FPROF_CLOCK_MONOTONIC,
				  .clock_hz = 1e9,
				  .clock_mult = 1,
				  .start_ticks = START_TICKS};
	struct batch *batch = batch_new();
	struct live *live;

	if (!batch || live_new(&row, NULL, NULL, 64, batch, &live) < 0)
		abort();
	if (live_add_memory(live, memory) == 0)
		play(live, at, data, size);
	else
		memory_free(memory);
	if (!live->fault)
		live_end(live, SESSION_ENDED);
	check_ledgers(batch);
	live_free(live);
	batch_free(batch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct memory *memory = calloc(1, sizeof(*memory));
	const char *why;
	uint8_t *at;

	if (!memory)
		abort();
	if (!template[0])
		make_template();
	log_set_level(LOG_LEVEL_ERROR);
	at = map_memory();
	/* A first change of length 0 says: the next applies before the memory is checked. */
	if (size >= CHANGE_HEADER && data[0] == 0 && data[1] == 0 && data[2] == 0) {
		size_t length = MIN(size - CHANGE_HEADER, sizeof(struct fprof_memory_header));

		memcpy(at, data + CHANGE_HEADER, length);
		data += CHANGE_HEADER + length;
		size -= CHANGE_HEADER + length;
	}
	if (memory_view_init(at, MEMORY_BYTES, &memory->view, &why) == 0) {
		memory->origin = memory->view.head.origin;
		memory->memory_id = memory->view.head.memory_id;
		run(at, memory, data, size);
		munmap(at + MEMORY_BYTES, PAGE);
	} else {
		free(memory);
		munmap(at, MEMORY_BYTES + PAGE);
	}
	return 0;
}
