// SPDX-License-Identifier: MIT
/*
 * Most samples of a moment share most of their frames: a chunk has each once, below its caller, and
 * a sample is three small numbers. A game chooses its addresses: the hash that finds a frame again
 * is seeded.
 */
#include "stack_log.h"

#include "chunk_build.h"
#include "util.h"

#include <errno.h>
#include <string.h>

#define RECORD_BYTES_MAX 96u

void stack_log_init(struct stack_log *log)
{
	memset(log, 0, sizeof(*log));
	log->seed = util_seed();
}

void stack_log_deinit(struct stack_log *log)
{
	free(log->data);
	free(log->slots);
	VEC_FREE(&log->threads);
	VEC_FREE(&log->modules);
	VEC_FREE(&log->frames);
	memset(log, 0, sizeof(*log));
}

/* ---- writing ---- */

static int make_room(struct stack_log *log, size_t bytes)
{
	return vec_reserve_((void **)&log->data, &log->capacity, log->bytes + bytes, 1);
}

static int begin(struct stack_log *log, int64_t t)
{
	int r = make_room(log, RECORD_BYTES_MAX);

	if (r == 0 && log->bytes == 0) {
		log->t0 = log->last = MAX(t, log->last);
		log->data[log->bytes++] = STACK_LOG_VERSION;
		log->period = 0;
	}
	return r;
}

static void end(struct stack_log *log, const uint8_t *p)
{
	log->bytes = (size_t)(p - log->data);
}

static int put_value(struct stack_log *log, enum stack_kind kind, uint64_t value)
{
	uint8_t *p;

	if (make_room(log, RECORD_BYTES_MAX) < 0)
		return -ENOMEM;
	p = log->data + log->bytes;
	*p++ = (uint8_t)kind;
	end(log, chunk_put_varint(p, value));
	return 0;
}

/* The number of a thread. */
static int put_thread(struct stack_log *log, const struct stack_sample *s, uint32_t *ret)
{
	size_t i, n = s->thread ? strnlen(s->thread, STACK_NAME_MAX) : 0;
	uint8_t *p;

	for (i = 0; i < log->threads.count; i++) {
		if (log->threads.at[i] == s->tid) {
			*ret = (uint32_t)i + 1;
			return 0;
		}
	}
	if (log->threads.count == STACK_THREADS_MAX)
		return -ENOSPC;
	if (make_room(log, RECORD_BYTES_MAX) < 0 || VEC_PUSH(&log->threads, s->tid) < 0)
		return -ENOMEM;
	p = log->data + log->bytes;
	*p++ = STACK_THREAD;
	p = chunk_put_varint(p, (uint32_t)s->tid);
	*p++ = (uint8_t)n;
	memcpy(p, s->thread ? s->thread : "", n);
	end(log, p + n);
	*ret = (uint32_t)log->threads.count;
	return 0;
}

static int put_module(struct stack_log *log, uint64_t module, uint32_t *ret)
{
	size_t i;

	*ret = 0;
	if (module == 0)
		return 0;
	for (i = log->modules.count; i-- > 0;) {
		if (log->modules.at[i] == module) {
			*ret = (uint32_t)i + 1;
			return 0;
		}
	}
	if (log->modules.count == STACK_MODULES_MAX)
		return -ENOSPC;
	if (put_value(log, STACK_MODULE, module) < 0 || VEC_PUSH(&log->modules, module) < 0)
		return -ENOMEM;
	*ret = (uint32_t)log->modules.count;
	return 0;
}

static size_t hash(const struct stack_log *log, const struct stack_frame *f)
{
	uint64_t h = (log->seed ^ f->offset) * UINT64_C(0x9e3779b97f4a7c15);

	h = (h ^ (h >> 29) ^ ((uint64_t)f->module << 32 | f->caller)) *
	    UINT64_C(0xbf58476d1ce4e5b9);
	return (size_t)((h ^ h >> 32) % log->slot_count);
}

/* Where the frame's number is, or would be. */
static uint32_t *slot_of(const struct stack_log *log, const struct stack_frame *f)
{
	size_t at = hash(log, f);
	const struct stack_frame *other;

	while (log->slots[at]) {
		other = &log->frames.at[log->slots[at] - 1];
		if (other->caller == f->caller && other->module == f->module &&
		    other->offset == f->offset)
			break;
		at = at + 1 == log->slot_count ? 0 : at + 1;
	}
	return &log->slots[at];
}

/* At most half of them are taken. */
static int grow(struct stack_log *log)
{
	size_t i, count = log->slot_count ? 2 * log->slot_count : 1024;
	uint32_t *slots;

	if (log->slot_count >= 2 * (log->frames.count + 1))
		return 0;
	slots = calloc(count, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(log->slots);
	log->slots = slots;
	log->slot_count = count;
	for (i = 0; i < log->frames.count; i++)
		*slot_of(log, &log->frames.at[i]) = (uint32_t)i + 1;
	return 0;
}

static int put_frame(struct stack_log *log, uint32_t caller, const struct stack_place *place,
		     uint32_t *ret)
{
	struct stack_frame f = {.caller = caller, .offset = place->offset};
	uint32_t *slot;
	uint8_t *p;
	int r = put_module(log, place->module, &f.module);

	if (r == 0)
		r = grow(log);
	if (r < 0)
		return r;
	slot = slot_of(log, &f);
	if (!*slot) {
		if (log->frames.count == STACK_FRAMES_MAX)
			return -ENOSPC;
		if (make_room(log, RECORD_BYTES_MAX) < 0 || VEC_PUSH(&log->frames, f) < 0)
			return -ENOMEM;
		*slot = (uint32_t)log->frames.count;
		p = log->data + log->bytes;
		*p++ = STACK_FRAME;
		p = chunk_put_varint(p, f.caller);
		p = chunk_put_varint(p, f.module);
		end(log, chunk_put_varint(p, f.offset));
	}
	*ret = *slot;
	return 0;
}

int stack_log_put(struct stack_log *log, const struct stack_sample *sample)
{
	uint32_t thread = 0, frame = 0;
	int64_t t = MAX(sample->t, log->last);
	size_t i = MIN(sample->count, STACK_DEPTH_MAX);
	uint8_t *p;
	int r = begin(log, t);

	if (r == 0 && sample->period != log->period) {
		r = put_value(log, STACK_PERIOD, sample->period);
		log->period = sample->period;
	}
	if (r == 0)
		r = put_thread(log, sample, &thread);
	while (r == 0 && i-- > 0)
		r = put_frame(log, frame, &sample->places[i], &frame);
	if (r == 0)
		r = make_room(log, RECORD_BYTES_MAX);
	if (r < 0)
		return r;
	p = log->data + log->bytes;
	*p++ = STACK_SAMPLE;
	p = chunk_put_varint(p, (uint64_t)(t - log->last));
	p = chunk_put_varint(p, thread);
	p = chunk_put_varint(p, frame);
	*p++ = (uint8_t)sample->flags;
	end(log, p);
	log->last = t;
	log->samples++;
	return 0;
}

int stack_log_lost(struct stack_log *log, int64_t t, uint64_t count)
{
	int r = begin(log, t);

	return r < 0 ? r : put_value(log, STACK_LOST, count);
}

void stack_log_take(struct stack_log *log, struct stack_chunk *ret_chunk)
{
	*ret_chunk = (struct stack_chunk){log->bytes ? log->data : NULL, log->bytes, log->t0,
					  log->last, log->samples};
	if (log->bytes) {
		log->data = NULL;
		log->capacity = 0;
	}
	log->bytes = 0;
	log->samples = 0;
	log->threads.count = log->modules.count = log->frames.count = 0;
	if (log->slots)
		memset(log->slots, 0, log->slot_count * sizeof(*log->slots));
}

/* ---- reading ---- */

static int get(struct stack_reader *r, uint64_t *ret)
{
	return chunk_get_varint(&r->at, r->end, ret) ? 0 : -EBADMSG;
}

/* A number up to max. */
static int get_up_to(struct stack_reader *r, uint32_t max, uint32_t *ret)
{
	uint64_t v = 0;

	if (get(r, &v) < 0 || v > max)
		return -EBADMSG;
	*ret = (uint32_t)v;
	return 0;
}

static int get_byte(struct stack_reader *r, uint8_t *ret)
{
	if (r->at == r->end)
		return -EBADMSG;
	*ret = *r->at++;
	return 0;
}

static int get_thread(struct stack_reader *r, struct stack_record *record)
{
	uint32_t tid = 0;

	if (get_up_to(r, INT32_MAX, &tid) < 0 || get_byte(r, &record->name_bytes) < 0 ||
	    record->name_bytes > STACK_NAME_MAX || r->end - r->at < record->name_bytes ||
	    r->threads == STACK_THREADS_MAX)
		return -EBADMSG;
	record->tid = (int32_t)tid;
	record->name = (const char *)r->at;
	r->at += record->name_bytes;
	r->threads++;
	return 0;
}

static int get_frame(struct stack_reader *r, struct stack_record *record)
{
	if (get_up_to(r, r->frames, &record->frame.caller) < 0 ||
	    get_up_to(r, r->modules, &record->frame.module) < 0 ||
	    get(r, &record->frame.offset) < 0 || r->frames == STACK_FRAMES_MAX)
		return -EBADMSG;
	r->frames++;
	return 0;
}

static int get_sample(struct stack_reader *r, struct stack_record *record)
{
	uint64_t delta = 0;
	uint8_t flags = 0;

	if (get(r, &delta) < 0 || delta > INT64_MAX / 4 ||
	    __builtin_add_overflow(r->last, (int64_t)delta, &r->last) ||
	    get_up_to(r, r->threads, &record->thread) < 0 || record->thread == 0 ||
	    get_up_to(r, r->frames, &record->innermost) < 0 || get_byte(r, &flags) < 0)
		return -EBADMSG;
	record->flags = flags;
	return 0;
}

static int get_module(struct stack_reader *r, struct stack_record *record)
{
	if (get(r, &record->value) < 0 || r->modules == STACK_MODULES_MAX)
		return -EBADMSG;
	r->modules++;
	return 0;
}

static int get_record(struct stack_reader *r, struct stack_record *record)
{
	switch (record->kind) {
	case STACK_THREAD:
		return get_thread(r, record);
	case STACK_MODULE:
		return get_module(r, record);
	case STACK_FRAME:
		return get_frame(r, record);
	case STACK_SAMPLE:
		return get_sample(r, record);
	case STACK_PERIOD:
	case STACK_LOST:
		return get(r, &record->value);
	default:
		return -EBADMSG;
	}
}

int stack_reader_init(struct stack_reader *r, const void *data, size_t bytes, int64_t t0)
{
	uint8_t version = 0;

	*r = (struct stack_reader){.at = data, .end = (const uint8_t *)data + bytes, .last = t0};
	return get_byte(r, &version) < 0 || version != STACK_LOG_VERSION ? -EBADMSG : 0;
}

int stack_reader_next(struct stack_reader *r, struct stack_record *ret_record)
{
	struct stack_record record = {0};
	uint8_t kind = 0;

	if (r->at == r->end)
		return 0;
	if (get_byte(r, &kind) < 0)
		return -EBADMSG;
	record.kind = (enum stack_kind)kind;
	if (get_record(r, &record) < 0)
		return -EBADMSG;
	record.t = r->last;
	*ret_record = record;
	return 1;
}
