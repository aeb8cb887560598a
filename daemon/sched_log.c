/* SPDX-License-Identifier: MIT */
/*
 * One function says what a record does to a state; writer and reader both use it, so that a chunk's
 * first state is what the chunk before ended with.
 */
#include "sched_log.h"

#include "chunk_build.h"

#include <errno.h>
#include <string.h>

#define RECORD_BYTES_MAX 64u

/* A wait for a lock that a timer ended was one for its time to pass: nobody let go. */
static enum wait_reason waited_for(const struct sched_interval *now, const struct sched_record *r)
{
	if (now->state == SCHED_STATE_BLOCKED && now->reason == WAIT_LOCK &&
	    wait_may_be_timed(now->syscall) && r->kind == SCHED_WAKE &&
	    r->flags & SCHED_BY_INTERRUPT)
		return WAIT_SLEEP;
	return now->reason;
}

/* The state that follows r; an interval that does not change is the same one going on. */
static struct sched_interval follow(const struct sched_interval *now, const struct sched_record *r)
{
	struct sched_interval next = {.t0 = r->t, .t1 = INT64_MAX};

	switch (r->kind) {
	case SCHED_RUN:
		next.state = SCHED_STATE_RUNNING;
		next.cpu = r->cpu;
		next.who = r->who;
		return next;
	case SCHED_PREEMPT:
		next.state = SCHED_STATE_RUNNABLE;
		next.preempted = true;
		next.who = r->who;
		return next;
	case SCHED_BLOCK:
		next.state = SCHED_STATE_BLOCKED;
		next.reason = r->reason;
		next.syscall = r->syscall;
		next.uninterruptible = r->uninterruptible;
		return next;
	case SCHED_WAKE:
		/* a thread that is not waiting may be woken all the same: that changes nothing */
		if (now->state != SCHED_STATE_BLOCKED && now->state != SCHED_STATE_UNKNOWN)
			return *now;
		next.state = SCHED_STATE_RUNNABLE;
		next.reason = waited_for(now, r);
		next.wake_flags = r->flags;
		next.who = r->who;
		return next;
	case SCHED_EXIT:
		next.state = SCHED_STATE_GONE;
		return next;
	default:
		next.state = SCHED_STATE_UNKNOWN;
		return next;
	}
}

/* ---- writing ---- */

void sched_log_init(struct sched_log *log)
{
	memset(log, 0, sizeof(*log));
	log->now.t1 = INT64_MAX;
}

void sched_log_deinit(struct sched_log *log)
{
	free(log->data);
	log->data = NULL;
}

static int make_room(struct sched_log *log, size_t bytes)
{
	return vec_reserve_((void **)&log->data, &log->capacity, log->bytes + bytes, 1);
}

static uint8_t *put_who(struct sched_log *log, uint8_t *p, const struct sched_who *who)
{
	size_t n = strnlen(who->comm, sizeof(who->comm));
	uint32_t i, known = MIN(log->people_count, SCHED_PEOPLE_MAX);

	if (who->tid == 0 && n == 0)
		return chunk_put_varint(p, 0);
	for (i = 0; i < known; i++)
		if (log->people[i].tid == who->tid && log->people[i].tgid == who->tgid &&
		    !strncmp(log->people[i].comm, who->comm, sizeof(who->comm)))
			return chunk_put_varint(p, i + 1);
	log->people[log->people_count++ % SCHED_PEOPLE_MAX] = *who;
	p = chunk_put_varint(p, SCHED_PEOPLE_MAX + 1);
	p = chunk_put_varint(p, who->tid);
	p = chunk_put_varint(p, who->tgid);
	*p++ = (uint8_t)n;
	memcpy(p, who->comm, n);
	return p + n;
}

static uint8_t *put_arguments(struct sched_log *log, uint8_t *p, const struct sched_record *r)
{
	switch (r->kind) {
	case SCHED_RUN:
		return put_who(log, chunk_put_varint(p, r->cpu), &r->who);
	case SCHED_PREEMPT:
		return put_who(log, p, &r->who);
	case SCHED_BLOCK:
		*p++ = (uint8_t)r->reason;
		p = chunk_put_varint(p, (uint64_t)((int64_t)r->syscall + 1));
		*p++ = r->uninterruptible;
		return p;
	case SCHED_WAKE:
		*p++ = (uint8_t)r->flags;
		return put_who(log, p, &r->who);
	default:
		return p;
	}
}

/* A chunk's state before its first record, as records: one that leads to it. */
static uint8_t *put_state(struct sched_log *log, uint8_t *p)
{
	const struct sched_interval *s = &log->now;
	const struct sched_record as = {
		.kind = s->state == SCHED_STATE_RUNNING	  ? SCHED_RUN
			: s->state == SCHED_STATE_BLOCKED ? SCHED_BLOCK
			: s->state == SCHED_STATE_GONE	  ? SCHED_EXIT
			: s->state == SCHED_STATE_RUNNABLE
				? (s->preempted ? SCHED_PREEMPT : SCHED_WAKE)
				: SCHED_LOST,
		.cpu = s->cpu,
		.reason = s->reason,
		.syscall = s->syscall,
		.uninterruptible = s->uninterruptible,
		.flags = s->wake_flags,
		.who = s->who};

	*p++ = SCHED_LOG_VERSION;
	*p++ = (uint8_t)as.kind;
	*p++ = (uint8_t)s->reason;
	p = put_arguments(log, p, &as);
	return chunk_put_varint(p, (uint64_t)MAX(log->t0 - s->t0, INT64_C(0)));
}

int sched_log_put(struct sched_log *log, const struct sched_record *record)
{
	struct sched_record r = *record;
	struct sched_interval next;
	uint8_t *p;

	if (make_room(log, 2 * RECORD_BYTES_MAX) < 0)
		return -ENOMEM;
	p = log->data + log->bytes;
	if (log->bytes == 0) {
		log->t0 = log->last = MAX(r.t, log->last);
		p = put_state(log, p);
	}
	r.t = MAX(r.t, log->last);
	p = chunk_put_varint(p, (uint64_t)(r.t - log->last));
	*p++ = (uint8_t)r.kind;
	p = put_arguments(log, p, &r);
	next = follow(&log->now, &r);
	log->now = next;
	log->last = r.t;
	log->records++;
	log->bytes = (size_t)(p - log->data);
	return 0;
}

void sched_log_take(struct sched_log *log, struct sched_chunk *ret_chunk)
{
	*ret_chunk = (struct sched_chunk){log->data, log->bytes, log->t0, log->last, log->records};
	log->data = NULL;
	log->bytes = log->capacity = 0;
	log->records = 0;
	log->people_count = 0;
}

/* ---- reading ---- */

static int get(struct sched_reader *r, uint64_t *ret)
{
	return chunk_get_varint(&r->at, r->end, ret) ? 0 : -EBADMSG;
}

static int get_byte(struct sched_reader *r, uint8_t *ret)
{
	if (r->at == r->end)
		return -EBADMSG;
	*ret = *r->at++;
	return 0;
}

static int get_u32(struct sched_reader *r, uint32_t *ret)
{
	uint64_t v = 0;
	int rc = get(r, &v);

	if (rc == 0 && v > UINT32_MAX)
		return -EBADMSG;
	*ret = (uint32_t)v;
	return rc;
}

static int get_person(struct sched_reader *r, struct sched_who *who)
{
	uint8_t n = 0;

	*who = (struct sched_who){0};
	if (get_u32(r, &who->tid) < 0 || get_u32(r, &who->tgid) < 0 || get_byte(r, &n) < 0 ||
	    n > sizeof(who->comm) || (size_t)(r->end - r->at) < n)
		return -EBADMSG;
	memcpy(who->comm, r->at, n);
	r->at += n;
	return 0;
}

static int get_who(struct sched_reader *r, struct sched_who *who)
{
	uint32_t i = 0, place = r->people_count % SCHED_PEOPLE_MAX;

	*who = (struct sched_who){0};
	if (get_u32(r, &i) < 0)
		return -EBADMSG;
	if (i == 0)
		return 0;
	if (i == (r->version == 1 ? r->people_count : SCHED_PEOPLE_MAX) + 1) {
		if (get_person(r, &r->people[place]) < 0)
			return -EBADMSG;
		r->people_count++;
		i = place + 1;
	}
	if (i > MIN(r->people_count, SCHED_PEOPLE_MAX))
		return -EBADMSG;
	*who = r->people[i - 1];
	return 0;
}

static int get_block(struct sched_reader *r, struct sched_record *record)
{
	uint8_t reason = 0, deep = 0;
	uint64_t syscall = 0;

	if (get_byte(r, &reason) < 0 || reason >= WAIT_REASONS || get(r, &syscall) < 0 ||
	    syscall > INT32_MAX || get_byte(r, &deep) < 0)
		return -EBADMSG;
	record->reason = (enum wait_reason)reason;
	record->syscall = (int32_t)syscall - 1;
	record->uninterruptible = deep != 0;
	return 0;
}

static int get_arguments(struct sched_reader *r, struct sched_record *record)
{
	uint8_t flags = 0;

	switch (record->kind) {
	case SCHED_RUN:
		if (get_u32(r, &record->cpu) < 0)
			return -EBADMSG;
		return r->version == 1 ? 0 : get_who(r, &record->who);
	case SCHED_PREEMPT:
		return get_who(r, &record->who);
	case SCHED_BLOCK:
		return get_block(r, record);
	case SCHED_WAKE:
		if (get_byte(r, &flags) < 0)
			return -EBADMSG;
		record->flags = flags;
		return get_who(r, &record->who);
	case SCHED_LOST:
	case SCHED_EXIT:
		return 0;
	default:
		return -EBADMSG;
	}
}

int sched_reader_init(struct sched_reader *r, const void *data, size_t bytes, int64_t t0)
{
	static const struct sched_interval unknown = {.t1 = INT64_MAX};
	struct sched_record as = {0};
	uint8_t kind = 0, reason = 0;
	uint64_t before = 0;

	memset(r, 0, sizeof(*r));
	r->at = data;
	r->end = r->at + bytes;
	r->last = t0;
	if (get_byte(r, &r->version) < 0 || r->version == 0 || r->version > SCHED_LOG_VERSION ||
	    get_byte(r, &kind) < 0 || get_byte(r, &reason) < 0 || reason >= WAIT_REASONS)
		return -EBADMSG;
	as.kind = (enum sched_kind)kind;
	if (get_arguments(r, &as) < 0 || get(r, &before) < 0 || before > INT64_MAX / 2)
		return -EBADMSG;
	as.t = t0 - (int64_t)before;
	r->now = follow(&unknown, &as);
	r->now.reason = (enum wait_reason)reason;
	return 0;
}

static int get_record(struct sched_reader *r, struct sched_record *record)
{
	uint64_t delta = 0;
	uint8_t kind = 0;

	*record = (struct sched_record){0};
	if (get(r, &delta) < 0 || delta > INT64_MAX / 4 || get_byte(r, &kind) < 0)
		return -EBADMSG;
	if (__builtin_add_overflow(r->last, (int64_t)delta, &r->last))
		return -EBADMSG;
	record->t = r->last;
	record->kind = (enum sched_kind)kind;
	return get_arguments(r, record);
}

int sched_reader_next(struct sched_reader *r, struct sched_interval *ret_interval)
{
	struct sched_record record;
	struct sched_interval before;

	while (r->at < r->end) {
		if (get_record(r, &record) < 0)
			return -EBADMSG;
		before = r->now;
		r->now = follow(&before, &record);
		if (r->now.t0 == before.t0 && r->now.state == before.state)
			continue; /* nothing changed */
		before.t1 = r->now.t0;
		before.reason = waited_for(&before, &record);
		*ret_interval = before;
		return 1;
	}
	if (r->done)
		return 0;
	r->done = true;
	*ret_interval = r->now;
	return 1;
}
