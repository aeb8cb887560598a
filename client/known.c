// SPDX-License-Identifier: MIT
/*
 * GPU queues, session infos and whether the game is loading are facts, not events: a daemon that
 * comes late must learn them.
 * They are kept here, for the process (a forked child has them too), written to the ring when
 * they are made and again whenever a daemon has welcomed us.
 *
 * Each place is changed and read by one thread at a time, which claims it by compare-and-swap;
 * whoever finds it claimed goes on without it (the announcer) or refuses, counted (the game). A
 * claim that a fork cut off stays claimed: that fact is missing in the child.
 */
#include "known.h"

#include "fprof.h"
#include "marker.h"
#include "thread.h"

#include <string.h>

#define QUEUES	    64u
#define QUEUE_BYTES 128u
#define INFOS	    32u
#define KEY_BYTES   64u
#define VALUE_BYTES 960u

enum place_state { PLACE_FREE = 0, PLACE_BUSY = 1, PLACE_FULL = 2 };

struct queue {
	uint32_t state; /* enum place_state */
	uint32_t valid_bits;
	double ns_per_tick;
	char name[QUEUE_BYTES];
};

struct info {
	uint32_t state; /* enum place_state */
	uint16_t key_bytes, value_bytes;
	char key[KEY_BYTES];
	char value[VALUE_BYTES];
};

static struct queue queues[QUEUES];
static struct info infos[INFOS];

static bool place_take(uint32_t *state, uint32_t from)
{
	return __atomic_compare_exchange_n(state, &from, (uint32_t)PLACE_BUSY, false,
					   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static void place_give(uint32_t *state, enum place_state to)
{
	FPROF_STORE_RELEASE(state, (uint32_t)to);
}

/* Copies text, cut to size - 1 bytes, which is counted. Returns how many bytes. */
static size_t text_copy(struct session *s, char *to, size_t size, const char *text)
{
	size_t n = strnlen(text, size);

	if (n == size) {
		session_refuse(s, FPROF_REFUSED_TRUNCATED);
		n--;
	}
	memcpy(to, text, n);
	memset(to + n, 0, size - n);
	return n;
}

/* ---- GPU queues ---- */

static void queue_put(struct session *s, struct fprof_writer *w, uint32_t i, uint32_t marker)
{
	const struct queue *q = &queues[i];
	uint64_t words[4] = {FPROF_EXT_TOP(FPROF_EXT_GPU_QUEUE, 4),
			     (i + 1) | (uint64_t)q->valid_bits << 32,
			     fprof_f64_bits(q->ns_per_tick), marker};

	thread_put(s, w, words, 4);
}

/* Takes the place that the name has, or a free one; QUEUES: there is none now. */
static uint32_t queue_take(const char *name)
{
	uint32_t i;

	for (i = 0; i < QUEUES; i++) {
		if (place_take(&queues[i].state, PLACE_FULL)) {
			if (!strcmp(queues[i].name, name))
				return i;
			place_give(&queues[i].state, PLACE_FULL);
		} else if (place_take(&queues[i].state, PLACE_FREE)) {
			return i;
		}
	}
	return QUEUES;
}

uint32_t fprof_gpu_queue(const char *name, double ns_per_tick, unsigned valid_bits)
{
	struct session *s = session_get();
	struct fprof_writer *w;
	char cut[QUEUE_BYTES];
	uint32_t i = QUEUES, marker;

	if (!s)
		return 0;
	/* the comparisons are false for NaN */
	if (name && ns_per_tick > 0 && ns_per_tick < 1e18 && valid_bits >= 1 && valid_bits <= 64) {
		text_copy(s, cut, sizeof(cut), name);
		i = queue_take(cut);
	}
	if (i == QUEUES) {
		session_refuse(s, FPROF_REFUSED_ARGUMENTS);
		return 0;
	}
	memcpy(queues[i].name, cut, sizeof(cut));
	queues[i].ns_per_tick = ns_per_tick;
	queues[i].valid_bits = valid_bits;
	marker = marker_id_of_name(s, FPROF_MARKER_GPU, cut);
	w = thread_hold_recording(s);
	if (w) {
		queue_put(s, w, i, marker);
		thread_release(w);
	}
	place_give(&queues[i].state, PLACE_FULL);
	return i + 1;
}

/* Is it a queue that fprof_gpu_queue() returned? */
static bool queue_known(struct session *s, uint32_t queue)
{
	if (queue >= 1 && queue <= QUEUES &&
	    FPROF_LOAD_RELAXED(&queues[queue - 1].state) != PLACE_FREE)
		return true;
	session_refuse(s, FPROF_REFUSED_ARGUMENTS);
	return false;
}

static void gpu_put(struct session *s, uint64_t *words, unsigned count)
{
	struct fprof_writer *w = thread_hold_recording(s);

	if (!w)
		return;
	if (FPROF_LOAD_RELAXED(&w->closed) < FPROF_LEVELS)
		thread_put(s, w, words, count);
	thread_release(w);
}

void fprof_gpu_calibrate(uint32_t queue, uint64_t gpu_ticks, uint64_t cpu_ticks)
{
	struct session *s = session_get();
	uint64_t words[4] = {FPROF_EXT_TOP(FPROF_EXT_GPU_CALIBRATION, 4), queue, gpu_ticks,
			     cpu_ticks};

	if (s && queue_known(s, queue))
		gpu_put(s, words, 4);
}

void fprof_gpu_submit(uint32_t queue, uint32_t view, uint64_t submission, uint64_t frame)
{
	struct session *s = session_get();
	uint64_t words[4] = {FPROF_EXT_TOP(FPROF_EXT_GPU_SUBMIT, 4), queue | (uint64_t)view << 32,
			     submission, frame};

	if (s && queue_known(s, queue))
		gpu_put(s, words, 4);
}

void fprof_gpu_dropped(uint32_t queue, uint64_t frame, uint64_t count)
{
	struct session *s = session_get();
	uint64_t words[4] = {FPROF_EXT_TOP(FPROF_EXT_GPU_DROPPED, 4), queue, frame, count};

	if (s && queue_known(s, queue))
		gpu_put(s, words, 4);
}

void fprof_gpu_span_slow(const struct fprof_gpu_result *span)
{
	struct session *s = session_get();
	uint64_t words[8] = {FPROF_EXT_TOP(FPROF_EXT_GPU_SPAN, 8)};
	uint32_t marker;

	if (!s || !FPROF_LOAD_RELAXED(&s->recording))
		return;
	if (!span) {
		session_refuse(s, FPROF_REFUSED_ARGUMENTS);
		return;
	}
	if (!queue_known(s, span->queue))
		return;
	marker = span->marker ? fprof_word_id(marker_top(s, span->marker))
			      : marker_id_of_name(s, FPROF_MARKER_GPU, span->name);
	if (!marker)
		return;
	words[1] = span->queue | (uint64_t)marker << 32;
	words[2] = span->begin;
	words[3] = span->end;
	words[4] = span->frame;
	words[5] = span->submission;
	words[6] = span->view;
	words[7] = span->fence;
	gpu_put(s, words, 8);
}

/* ---- infos ---- */

static void info_put(struct session *s, struct fprof_writer *w, const struct info *info)
{
	uint64_t words[2 + (KEY_BYTES + VALUE_BYTES) / 8];
	size_t n = (size_t)info->key_bytes + info->value_bytes;
	unsigned count = 2 + (unsigned)((n + 7) / 8);

	memset(words, 0, sizeof(words));
	words[0] = FPROF_EXT_TOP(FPROF_EXT_INFO, count);
	words[1] = info->key_bytes | (uint64_t)info->value_bytes << 32;
	memcpy(words + 2, info->key, info->key_bytes);
	memcpy((uint8_t *)(words + 2) + info->key_bytes, info->value, info->value_bytes);
	thread_put(s, w, words, count);
}

/* Takes the place of the key, or a free one; NULL: there is none now. */
static struct info *info_take(const char *key)
{
	struct info *info;

	for (info = infos; info < infos + INFOS; info++) {
		if (place_take(&info->state, PLACE_FULL)) {
			if (!strcmp(info->key, key))
				return info;
			place_give(&info->state, PLACE_FULL);
		} else if (place_take(&info->state, PLACE_FREE)) {
			return info;
		}
	}
	return NULL;
}

void fprof_session_info(const char *key, const char *value)
{
	struct session *s = session_get();
	struct fprof_writer *w;
	char cut[KEY_BYTES];
	struct info *info = NULL;
	size_t n = 0;

	if (!s)
		return;
	if (key && *key && value) {
		n = text_copy(s, cut, sizeof(cut), key);
		info = info_take(cut);
	}
	if (!info) {
		session_refuse(s, FPROF_REFUSED_ARGUMENTS);
		return;
	}
	memcpy(info->key, cut, sizeof(cut));
	info->key_bytes = (uint16_t)n;
	info->value_bytes = (uint16_t)text_copy(s, info->value, sizeof(info->value), value);
	w = thread_hold_recording(s);
	if (w) {
		info_put(s, w, info);
		thread_release(w);
	}
	place_give(&info->state, PLACE_FULL);
}

/* ---- loading ---- */

/* 0: the game never said; else 1 + whether it is loading. */
static uint32_t loading;

static void loading_put(struct session *s, struct fprof_writer *w)
{
	uint32_t said = FPROF_LOAD_RELAXED(&loading), before = 0;

	/* What is said meanwhile on another thread may stand before this in time. */
	while (said != before) {
		uint64_t words[2] = {FPROF_EXT_TOP(FPROF_EXT_LOADING, 2), said - 1};

		thread_put(s, w, words, 2);
		before = said;
		said = FPROF_LOAD_RELAXED(&loading);
	}
}

void fprof_loading(bool on)
{
	struct session *s = session_get();
	struct fprof_writer *w;

	FPROF_STORE_RELAXED(&loading, on ? 2u : 1u);
	if (!s)
		return;
	w = thread_hold_recording(s);
	if (w) {
		loading_put(s, w);
		thread_release(w);
	} else {
		FPROF_STORE_RELAXED(&s->announce, 1u);
	}
}

/* ---- telling it again ---- */

void known_announce(struct session *s, struct fprof_writer *w)
{
	uint32_t i;

	if (!__atomic_exchange_n(&s->announce, 0u, __ATOMIC_RELAXED))
		return;
	for (i = 0; i < QUEUES; i++) {
		if (!place_take(&queues[i].state, PLACE_FULL))
			continue;
		queue_put(s, w, i, marker_id_of_name(s, FPROF_MARKER_GPU, queues[i].name));
		place_give(&queues[i].state, PLACE_FULL);
	}
	for (i = 0; i < INFOS; i++) {
		if (!place_take(&infos[i].state, PLACE_FULL))
			continue;
		info_put(s, w, &infos[i]);
		place_give(&infos[i].state, PLACE_FULL);
	}
	if (FPROF_LOAD_RELAXED(&loading))
		loading_put(s, w);
}
