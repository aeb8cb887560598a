/* SPDX-License-Identifier: MIT */
/*
 * The thread wakes while a game is there, POLL_NS after a reading that found much and ever less
 * often after others, down to POLL_RARELY_NS, in which the helper's 4 MiB take 700,000 events a
 * second: reads the buffer, reads both clocks, and only then converts: all that was read is older
 * than the newest pair of clocks. Every FLUSH_NS what gathered goes to the store as one chunk a
 * thread.
 *
 * Callers of add and remove touch the list of sessions under the lock, and nothing else; a session
 * that is removed is only marked, and freed by the thread after a last reading.
 *
 * A helper that is gone is noticed at the next flush: what is in the buffer is read, from there on
 * nothing is known, and another helper is asked for (retry.h). One that does not answer is gone at
 * once, with what its buffer has since the last reading. While one that was there is missed,
 * or ended as it was asked, the store is told that nobody listens. Some time after the last game
 * the helper is let go, and with it what it has in the kernel: there it costs each switch of
 * everybody.
 */
#include "sched_trace.h"

#include "clock_pairs.h"
#include "log.h"
#include "probe_client.h"
#include "retry.h"
#include "sched_process.h"
#include "util.h"

#include <errno.h>
#include <pthread.h>

#define POLL_NS	       (10 * NS_PER_MS)
#define POLL_RARELY_NS (80 * NS_PER_MS)
#define FLUSH_NS       UINT64_C(250000000)
#define IDLE_NS	       (10 * NS_PER_S) /* without a game, before the helper is let go */
#define EVENTS	       1024u
#define CLOCK_KINDS    4u

struct traced {
	uint64_t id;
	bool gone;  /* the callers' word, under the lock */
	bool ended; /* the same, as the thread knows it */
	bool added;
	uint64_t heard_from; /* CLOCK_MONOTONIC; 0: the kernel does not tell of it */
	enum fprof_clock_kind clock;
	double hz;
	uint64_t start_ticks;
	struct sched_process process;
};

struct sched_trace {
	struct store *store;
	struct status *status;
	pthread_t thread;
	bool running;
	/* under the lock */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stop;
	VEC(struct traced *) sessions;
	struct sched_trace_health health;
	/* the thread's */
	struct probe_client client;
	struct probe_ring ring;
	bool open;
	bool deaf; /* a helper has ended, and there is no other yet */
	struct retry retry;
	uint64_t flushed_at;
	uint64_t idle_at;   /* when there was a game last */
	uint64_t ring_lost; /* of this helper's buffer */
	uint64_t heard_to;  /* CLOCK_MONOTONIC; all events before have been read */
	uint64_t pace_ns;   /* until the next reading */
	struct sched_trace_health now;
	struct clock_pairs pairs[CLOCK_KINDS]; /* by enum fprof_clock_kind; hz 0: not needed */
	struct probe_event *events;
	VEC(struct traced *) mine; /* the sessions, as of this round */
};

static void say_idle(struct sched_trace *s)
{
	status_source(s->status, "scheduler", SOURCE_OFF, "no game is there", NULL);
}

/* ---- the helper ---- */

static void helper_close(struct sched_trace *s)
{
	size_t i;

	probe_ring_unmap(&s->ring);
	probe_client_close(&s->client);
	s->open = false;
	for (i = 0; i < s->mine.count; i++) {
		s->mine.at[i]->added = false;
		s->mine.at[i]->heard_from = 0;
	}
}

static void helper_open(struct sched_trace *s)
{
	int r;

	if (s->open || !retry_is_due(&s->retry, clock_ns(CLOCK_MONOTONIC)))
		return;
	r = probe_client_open(&s->client, &s->ring);
	if (r < 0) {
		retry_later(&s->retry, clock_ns(CLOCK_MONOTONIC));
		s->deaf |= r == -ECONNRESET || r == -ETIMEDOUT;
		status_source(s->status, "scheduler", SOURCE_UNAVAILABLE, s->client.reason,
			      s->client.fix);
		return;
	}
	retry_serves(&s->retry, clock_ns(CLOCK_MONOTONIC));
	s->open = true;
	s->deaf = false;
	s->pace_ns = POLL_NS;
	s->ring_lost = probe_ring_lost(&s->ring);
	status_source(s->status, "scheduler", SOURCE_ON, NULL, NULL);
}

/* Whether there can be a helper is known before a game needs one: it is tried once, and goes as
 * soon as there is nothing to do. Whatever else needs one cannot be for the same reason. */
static void helper_try(struct sched_trace *s)
{
	static const char *const others[] = {"attach", "stacks"};
	size_t i;

	helper_open(s);
	for (i = 0; i < ARRAY_SIZE(others) && !s->open; i++)
		status_source(s->status, others[i], SOURCE_UNAVAILABLE, s->client.reason,
			      s->client.fix);
}

/* From here on nothing is known of anybody, until the next event. */
static void note_lost(struct sched_trace *s)
{
	size_t i;

	for (i = 0; i < s->mine.count; i++)
		sched_process_lost(&s->mine.at[i]->process);
}

static void helper_lost(struct sched_trace *s)
{
	const char *reason = probe_client_lost(&s->client);

	log_warning("scheduler: %s", reason);
	status_source(s->status, "scheduler", SOURCE_UNAVAILABLE, reason,
		      probe_client_log(&s->client));
	note_lost(s);
	s->now.interruptions++;
	retry_later(&s->retry, clock_ns(CLOCK_MONOTONIC));
	s->deaf = true;
	helper_close(s);
}

static void helper_add(struct sched_trace *s, struct traced *t)
{
	int r = probe_client_add(&s->client, t->process.pid);

	t->added = true; /* once is enough: a refusal stays one */
	t->heard_from = r < 0 ? 0 : clock_ns(CLOCK_MONOTONIC);
	if (r < 0 && !probe_client_is_alive(&s->client)) {
		helper_lost(s);
	} else if (r < 0 && r != -ESRCH) {
		status_source(s->status, "scheduler", SOURCE_DEGRADED, s->client.reason,
			      s->client.fix);
	}
}

/* ---- events ---- */

static struct traced *session_of(const struct sched_trace *s, uint32_t tgid)
{
	size_t i;

	for (i = 0; i < s->mine.count; i++)
		if ((uint32_t)s->mine.at[i]->process.pid == tgid)
			return s->mine.at[i];
	return NULL;
}

static void take_event(struct sched_trace *s, const struct probe_event *e)
{
	struct traced *t = session_of(s, e->tgid);
	uint64_t ticks;
	int r;

	if (!t)
		return;
	r = clock_pairs_ticks(&s->pairs[t->clock], e->ns, &ticks);
	if (r == 0)
		r = sched_process_take(&t->process, e, (int64_t)(ticks - t->start_ticks));
	s->now.dropped += r < 0;
}

/* No time before it can be converted any more: what was heard since the last flush is given up. */
static void note_step(struct sched_trace *s)
{
	size_t i;

	note_lost(s);
	for (i = 0; i < s->mine.count; i++)
		if (s->mine.at[i]->heard_from)
			s->mine.at[i]->heard_from = clock_ns(CLOCK_MONOTONIC);
}

static void take_pairs(struct sched_trace *s)
{
	uint64_t steps;
	size_t i;

	for (i = 0; i < CLOCK_KINDS; i++) {
		steps = s->pairs[i].steps;
		if (s->pairs[i].hz > 0.0)
			clock_pairs_take(&s->pairs[i]);
		if (s->pairs[i].steps != steps)
			note_step(s);
	}
}

/* ---- to the store ---- */

/* That the kernel was listened to, and since when: a row of thread 0. Without it a state that goes
 * on could not be told from one whose end nobody heard. */
static void flush_heard(struct sched_trace *s, struct traced *t, struct batch *batch)
{
	const struct clock_pairs *pairs = &s->pairs[t->clock];
	struct sched_row row = {.session = t->id};
	uint64_t from, to;

	if (t->heard_from == 0 || s->heard_to <= t->heard_from ||
	    clock_pairs_ticks(pairs, t->heard_from, &from) < 0 ||
	    clock_pairs_ticks(pairs, s->heard_to, &to) < 0)
		return;
	row.t0 = (int64_t)(from - t->start_ticks);
	row.t1 = (int64_t)(to - t->start_ticks);
	if (VEC_PUSH(&batch->scheds, row) == 0)
		t->heard_from = s->heard_to;
}

/* That nobody listens though the kernel was asked: a stretch without length. */
static void flush_unheard(const struct traced *t, struct batch *batch)
{
	int64_t now = (int64_t)(fprof_clock_read(t->clock) - t->start_ticks);
	struct sched_row row = {.session = t->id, .t0 = now, .t1 = now};

	(void)VEC_PUSH(&batch->scheds, row); /* the next one says the same */
}

/* alive: so is the helper, after the last reading. */
static void flush(struct sched_trace *s, bool alive)
{
	struct batch *batch = batch_new();
	size_t i;

	s->flushed_at = clock_ns(CLOCK_MONOTONIC);
	if (!batch)
		return;
	for (i = 0; i < s->mine.count; i++) {
		s->now.missed += s->mine.at[i]->process.missed;
		s->mine.at[i]->process.missed = 0;
		sched_process_flush(&s->mine.at[i]->process, s->mine.at[i]->id, batch);
		if (alive)
			flush_heard(s, s->mine.at[i], batch);
		else if (s->deaf && !s->mine.at[i]->ended)
			flush_unheard(s->mine.at[i], batch);
	}
	if (batch->scheds.count > 0)
		store_submit(s->store, batch);
	else
		batch_free(batch);
}

static void traced_free(struct traced *t)
{
	sched_process_deinit(&t->process);
	free(t);
}

/* ---- rounds ---- */

/* A game may make and end more threads in a moment than are held. */
static bool is_full(const struct sched_trace *s)
{
	size_t i;

	for (i = 0; i < s->mine.count; i++)
		if (sched_process_is_full(&s->mine.at[i]->process))
			return true;
	return false;
}

static void read_events(struct sched_trace *s)
{
	uint64_t lost, now = clock_ns(CLOCK_MONOTONIC);
	size_t n, i;

	s->pace_ns = MIN(s->pace_ns * 2, POLL_RARELY_NS);
	do {
		n = probe_ring_read(&s->ring, s->events, EVENTS);
		take_pairs(s);
		for (i = 0; i < n; i++)
			take_event(s, &s->events[i]);
		s->now.events += n;
		if (is_full(s))
			flush(s, false);
		if (n == EVENTS)
			s->pace_ns = POLL_NS;
	} while (n == EVENTS);
	lost = probe_ring_lost(&s->ring);
	if (lost != s->ring_lost)
		note_lost(s);
	s->now.lost += lost - s->ring_lost;
	s->ring_lost = lost;
	s->heard_to = now;
}

/* Brings the thread's list up to the callers'. Those that are gone leave the callers' here and are
 * the thread's alone. Called with the lock held. */
static void take_over(struct sched_trace *s)
{
	size_t i, kept = 0;

	if (VEC_RESERVE(&s->mine, s->sessions.count) < 0)
		return;
	for (i = 0; i < s->sessions.count; i++) {
		struct traced *t = s->sessions.at[i];
		size_t k;

		for (k = 0; k < s->mine.count && s->mine.at[k] != t; k++)
			;
		if (k == s->mine.count) {
			s->mine.at[s->mine.count++] = t;
			/* Its first pair comes before the first event. */
			clock_pairs_need(&s->pairs[t->clock], t->clock, t->hz);
		}
		t->ended = t->gone;
		if (!t->gone)
			s->sessions.at[kept++] = t;
	}
	s->sessions.count = kept;
}

static void helper_forget(struct sched_trace *s, struct traced *t)
{
	if (s->open && t->added && probe_client_remove(&s->client, t->process.pid) < 0 &&
	    !probe_client_is_alive(&s->client))
		helper_lost(s);
}

static void drop_gone(struct sched_trace *s)
{
	size_t i, kept = 0;

	for (i = 0; i < s->mine.count; i++)
		if (s->mine.at[i]->ended)
			helper_forget(s, s->mine.at[i]);
	for (i = 0; i < s->mine.count; i++) {
		if (s->mine.at[i]->ended)
			traced_free(s->mine.at[i]);
		else
			s->mine.at[kept++] = s->mine.at[i];
	}
	s->mine.count = kept;
}

static bool any_gone(const struct sched_trace *s)
{
	size_t i;

	for (i = 0; i < s->mine.count; i++)
		if (s->mine.at[i]->ended)
			return true;
	return false;
}

static void run_round(struct sched_trace *s)
{
	bool gone = any_gone(s);
	size_t i;

	s->idle_at = clock_ns(CLOCK_MONOTONIC);
	helper_open(s);
	for (i = 0; i < s->mine.count && s->open; i++)
		if (!s->mine.at[i]->added && !s->mine.at[i]->ended)
			helper_add(s, s->mine.at[i]);
	if (s->open)
		read_events(s);
	if (gone || clock_ns(CLOCK_MONOTONIC) - s->flushed_at >= FLUSH_NS) {
		if (s->open && !probe_client_is_alive(&s->client))
			helper_lost(s);
		flush(s, s->open);
	}
	if (gone)
		drop_gone(s);
}

/* A round without games. */
static void rest(struct sched_trace *s)
{
	if (!s->open || clock_ns(CLOCK_MONOTONIC) - s->idle_at < IDLE_NS)
		return;
	helper_close(s);
	say_idle(s);
}

static void publish(struct sched_trace *s)
{
	size_t i;

	s->now.cost_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	for (i = 0; i < CLOCK_KINDS; i++)
		s->now.clock_error_ns = MAX(s->now.clock_error_ns, s->pairs[i].error_ns);
	s->health = s->now;
}

/* How long to sleep: forever without games and helper, long where there is nothing to read or tell.
 */
static int sleep_on(struct sched_trace *s)
{
	struct timespec until = clock_after(s->open ? s->pace_ns : s->deaf ? FLUSH_NS : NS_PER_S);

	if (s->mine.count == 0 && s->sessions.count == 0) {
		if (!s->open)
			return pthread_cond_wait(&s->wake, &s->lock);
		until = clock_after(IDLE_NS);
	}
	return pthread_cond_timedwait(&s->wake, &s->lock, &until);
}

static void *run(void *userdata)
{
	struct sched_trace *s = userdata;

	helper_try(s);
	pthread_mutex_lock(&s->lock);
	while (!s->stop) {
		take_over(s);
		pthread_mutex_unlock(&s->lock);
		if (s->mine.count > 0)
			run_round(s);
		else
			rest(s);
		pthread_mutex_lock(&s->lock);
		publish(s);
		if (!s->stop)
			sleep_on(s);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* ---- for others ---- */

static int start(struct sched_trace *s, const struct config *config)
{
	int r;

	pthread_mutex_init(&s->lock, NULL);
	r = cond_init_monotonic(&s->wake);
	if (r < 0)
		return r;
	if (!config->scheduler) {
		status_source(s->status, "scheduler", SOURCE_OFF,
			      "switched off by the configuration",
			      "scheduler = yes in fprofd.conf");
		return 0;
	}
	say_idle(s);
	s->events = malloc(EVENTS * sizeof(*s->events));
	if (!s->events)
		return -ENOMEM;
	r = pthread_create(&s->thread, NULL, run, s);
	s->running = r == 0;
	return -r;
}

int sched_trace_new(const struct config *config, struct store *store, struct status *status,
		    struct sched_trace **ret_trace)
{
	struct sched_trace *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->store = store;
	s->status = status;
	probe_client_init(&s->client, PROBE_SCHED, status, "scheduler");
	r = start(s, config);
	if (r < 0) {
		sched_trace_free(s);
		return r;
	}
	*ret_trace = s;
	return 0;
}

void sched_trace_free(struct sched_trace *trace)
{
	size_t i;

	if (!trace)
		return;
	pthread_mutex_lock(&trace->lock);
	trace->stop = true;
	pthread_cond_signal(&trace->wake);
	pthread_mutex_unlock(&trace->lock);
	probe_client_cancel(&trace->client);
	if (trace->running)
		pthread_join(trace->thread, NULL);
	take_over(trace);
	if (trace->mine.count > 0)
		flush(trace, false);
	helper_close(trace);
	probe_client_deinit(&trace->client);
	for (i = 0; i < trace->mine.count; i++)
		traced_free(trace->mine.at[i]);
	VEC_FREE(&trace->mine);
	VEC_FREE(&trace->sessions);
	free(trace->events);
	pthread_cond_destroy(&trace->wake);
	pthread_mutex_destroy(&trace->lock);
	free(trace);
}

void sched_trace_add(struct sched_trace *trace, const struct session_row *row)
{
	struct traced *t = trace->running ? calloc(1, sizeof(*t)) : NULL;

	if (!t)
		return;
	t->id = row->id;
	t->process.pid = row->pid;
	t->start_ticks = row->start_ticks;
	t->clock = (enum fprof_clock_kind)MIN(row->clock_kind, CLOCK_KINDS - 1);
	t->hz = row->clock_hz;
	pthread_mutex_lock(&trace->lock);
	if (VEC_PUSH(&trace->sessions, t) < 0)
		free(t);
	else
		pthread_cond_signal(&trace->wake);
	pthread_mutex_unlock(&trace->lock);
}

void sched_trace_remove(struct sched_trace *trace, uint64_t session)
{
	size_t i;

	pthread_mutex_lock(&trace->lock);
	for (i = 0; i < trace->sessions.count; i++)
		if (trace->sessions.at[i]->id == session)
			trace->sessions.at[i]->gone = true;
	pthread_cond_signal(&trace->wake);
	pthread_mutex_unlock(&trace->lock);
}

void sched_trace_health(struct sched_trace *trace, struct sched_trace_health *ret_health)
{
	size_t i;

	pthread_mutex_lock(&trace->lock);
	*ret_health = trace->health;
	for (i = 0; i < trace->sessions.count; i++)
		ret_health->sessions += !trace->sessions.at[i]->gone;
	pthread_mutex_unlock(&trace->lock);
}
