/* SPDX-License-Identifier: MIT */
/*
 * The thread wakes every POLL_NS while a game is there: reads the buffer, reads both clocks, and
 * only then converts: all that was read is older than the newest pair of clocks. Every FLUSH_NS
 * what gathered goes to the store as one chunk a thread.
 *
 * Callers of add and remove touch the list of sessions under the lock, and nothing else; a session
 * that is removed is only marked, and freed by the thread after a last reading.
 *
 * Threads are known by their tid in the initial pid namespace; they are stored with the game's own,
 * which is how rings name them. A thread that is gone before it was looked up keeps the number that
 * the kernel gave it.
 */
#include "sched_trace.h"

#include "clock_pairs.h"
#include "log.h"
#include "probe_client.h"
#include "procfs.h"
#include "sched_log.h"
#include "util.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#define POLL_NS	    (10 * NS_PER_MS)
#define FLUSH_NS    UINT64_C(250000000)
#define EVENTS	    1024u
#define THREADS_MAX 4096u /* of one session */
#define FDS_MAX	    256u
#define FD_KNOWN_NS UINT64_C(1000000000) /* what a descriptor is, is asked again after it */
#define RETRY_NS    UINT64_C(30000000000)
#define CLOCK_KINDS 4u

struct traced_thread {
	uint32_t tid;	  /* the kernel's */
	int32_t game_tid; /* the game's */
	bool gone;
	struct sched_log log;
};

/* What a descriptor of a game was when it was last asked. */
struct known_fd {
	int32_t fd;
	enum fd_class class;
	uint64_t at;
};

struct traced {
	uint64_t id;
	int32_t pid;
	bool gone;  /* the callers' word, under the lock */
	bool ended; /* the same, as the thread knows it */
	bool added;
	enum fprof_clock_kind clock;
	uint64_t start_ticks;
	VEC(struct traced_thread *) threads;
	struct known_fd fds[FDS_MAX];
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
	uint64_t retry_at, flushed_at, lost, events_read;
	struct clock_pairs pairs[CLOCK_KINDS]; /* by enum fprof_clock_kind; hz 0: not needed */
	struct probe_event *events;
	VEC(struct traced *) mine; /* the sessions, as of this round */
};

/* ---- the helper ---- */

static void helper_close(struct sched_trace *s)
{
	size_t i;

	probe_ring_unmap(&s->ring);
	probe_client_close(&s->client);
	s->open = false;
	for (i = 0; i < s->mine.count; i++)
		s->mine.at[i]->added = false;
}

static void helper_open(struct sched_trace *s)
{
	int r;

	if (s->open || clock_ns(CLOCK_MONOTONIC) < s->retry_at)
		return;
	r = probe_client_open(&s->client, &s->ring);
	if (r < 0) {
		s->retry_at = clock_ns(CLOCK_MONOTONIC) + RETRY_NS;
		status_source(s->status, "scheduler", SOURCE_UNAVAILABLE, s->client.reason,
			      s->client.fix);
		return;
	}
	s->open = true;
	s->lost = probe_ring_lost(&s->ring);
	status_source(s->status, "scheduler", SOURCE_ON, NULL, NULL);
}

static void helper_add(struct sched_trace *s, struct traced *t)
{
	int r = probe_client_add(&s->client, t->pid);

	t->added = true; /* once is enough: a refusal stays one */
	if (r == -ECONNRESET || r == -ETIMEDOUT) {
		status_source(s->status, "scheduler", SOURCE_UNAVAILABLE, "fprof-probe has ended",
			      "look at its log");
		helper_close(s);
	} else if (r < 0 && r != -ESRCH) {
		status_source(s->status, "scheduler", SOURCE_DEGRADED, s->client.reason,
			      s->client.fix);
	}
}

/* ---- a game's threads ---- */

/* The number that the game itself has for a thread. */
static int32_t game_tid(int32_t pid, uint32_t tid)
{
	char text[4096], value[64], *last;

	if (procfs_read(text, sizeof(text), "/proc/%d/task/%u/status", pid, tid) < 0 ||
	    procfs_field(text, "NSpid", value, sizeof(value)) < 0)
		return (int32_t)tid;
	last = strrchr(value, '\t');
	return atoi(last ? last + 1 : value);
}

static struct traced_thread *thread_of(struct traced *t, uint32_t tid)
{
	struct traced_thread *thread;
	size_t i;

	for (i = t->threads.count; i-- > 0;)
		if (t->threads.at[i]->tid == tid && !t->threads.at[i]->gone)
			return t->threads.at[i];
	if (t->threads.count == THREADS_MAX || VEC_RESERVE(&t->threads, 1) < 0)
		return NULL;
	thread = calloc(1, sizeof(*thread));
	if (!thread)
		return NULL;
	thread->tid = tid;
	thread->game_tid = game_tid(t->pid, tid);
	sched_log_init(&thread->log);
	t->threads.at[t->threads.count++] = thread;
	return thread;
}

static enum fd_class fd_class_now(struct traced *t, int32_t fd)
{
	struct known_fd *known = &t->fds[(uint32_t)fd % FDS_MAX];
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	char target[64];

	if (known->fd == fd && known->at && now - known->at < FD_KNOWN_NS)
		return known->class;
	known->fd = fd;
	known->at = now;
	known->class = FD_UNKNOWN;
	if (procfs_link(target, sizeof(target), "/proc/%d/fd/%d", t->pid, fd) > 0)
		known->class = fd_class_of(target);
	return known->class;
}

/* ---- events ---- */

static struct sched_who who_of(const struct probe_event *e)
{
	struct sched_who who = {0};

	if (e->flags & PROBE_OTHER_IDLE)
		return who;
	who.tid = e->other_tid;
	who.tgid = e->other_tgid;
	memcpy(who.comm, e->other_comm, sizeof(who.comm));
	return who;
}

static void record_out(struct traced *t, const struct traced_thread *thread,
		       const struct probe_event *e, struct sched_record *r)
{
	enum fd_class class = FD_UNKNOWN;

	if (e->flags & PROBE_PREEMPTED) {
		r->kind = SCHED_PREEMPT;
		r->who = who_of(e);
		return;
	}
	r->kind = SCHED_BLOCK;
	r->syscall = e->syscall;
	r->uninterruptible = (e->state & 2) != 0;
	if (e->flags & PROBE_COMPAT) {
		r->reason = WAIT_OTHER;
		return;
	}
	if (wait_is_restart(e->syscall)) {
		r->reason = thread->log.now.reason;
		return;
	}
	if (wait_wants_fd(e->syscall) && e->arg0 <= INT32_MAX)
		class = fd_class_now(t, (int32_t)e->arg0);
	r->reason = wait_reason_of(e->syscall, class);
}

static void record_wake(const struct probe_event *e, struct sched_record *r)
{
	r->kind = SCHED_WAKE;
	if (e->flags & PROBE_INTERRUPT)
		r->flags |= SCHED_BY_INTERRUPT;
	else
		r->who = who_of(e);
	if (e->flags & PROBE_KERNEL_THREAD)
		r->flags |= SCHED_BY_KERNEL_THREAD;
}

static struct traced *session_of(const struct sched_trace *s, uint32_t tgid)
{
	size_t i;

	for (i = 0; i < s->mine.count; i++)
		if ((uint32_t)s->mine.at[i]->pid == tgid)
			return s->mine.at[i];
	return NULL;
}

static void take_event(struct sched_trace *s, const struct probe_event *e)
{
	struct traced *t = session_of(s, e->tgid);
	struct traced_thread *thread = t ? thread_of(t, e->tid) : NULL;
	struct sched_record r = {0};
	uint64_t ticks;

	if (!thread || clock_pairs_ticks(&s->pairs[t->clock], e->ns, &ticks) < 0)
		return;
	r.t = (int64_t)(ticks - t->start_ticks);
	r.cpu = e->cpu;
	if (e->kind == PROBE_IN) {
		r.kind = SCHED_RUN;
	} else if (e->kind == PROBE_OUT) {
		record_out(t, thread, e, &r);
	} else if (e->kind == PROBE_WAKING) {
		record_wake(e, &r);
	} else {
		r.kind = SCHED_EXIT;
		thread->gone = true;
	}
	if (sched_log_put(&thread->log, &r) < 0)
		log_debug("scheduler: ignoring an event: out of memory");
}

/* From here on nothing is known of anybody, until the next event. */
static void note_lost(struct sched_trace *s)
{
	struct sched_record r = {.kind = SCHED_LOST};
	size_t i, k;

	for (i = 0; i < s->mine.count; i++)
		for (k = 0; k < s->mine.at[i]->threads.count; k++) {
			struct traced_thread *thread = s->mine.at[i]->threads.at[k];

			r.t = thread->log.last;
			sched_log_put(&thread->log, &r);
		}
}

static void take_pairs(struct sched_trace *s)
{
	size_t i;

	for (i = 0; i < CLOCK_KINDS; i++)
		if (s->pairs[i].hz > 0.0)
			clock_pairs_take(&s->pairs[i]);
}

static void read_events(struct sched_trace *s)
{
	uint64_t lost;
	size_t n, i;

	do {
		n = probe_ring_read(&s->ring, s->events, EVENTS);
		take_pairs(s);
		for (i = 0; i < n; i++)
			take_event(s, &s->events[i]);
		s->events_read += n;
	} while (n == EVENTS);
	lost = probe_ring_lost(&s->ring);
	if (lost != s->lost)
		note_lost(s);
	s->lost = lost;
}

/* ---- to the store ---- */

static int flush_thread(struct traced *t, struct traced_thread *thread, struct batch *batch)
{
	struct sched_chunk chunk;
	struct sched_row row;

	if (thread->log.records == 0)
		return 0;
	if (VEC_RESERVE(&batch->scheds, 1) < 0)
		return -ENOMEM;
	sched_log_take(&thread->log, &chunk);
	row = (struct sched_row){.session = t->id,
				 .tid = thread->game_tid,
				 .t0 = chunk.t0,
				 .t1 = chunk.t1,
				 .records = chunk.records,
				 .data = chunk.data,
				 .bytes = (uint32_t)chunk.bytes};
	batch->scheds.at[batch->scheds.count++] = row;
	batch->bytes += row.bytes;
	return 0;
}

static void thread_free(struct traced_thread *thread)
{
	sched_log_deinit(&thread->log);
	free(thread);
}

static void flush_session(struct traced *t, struct batch *batch)
{
	size_t i, kept = 0;

	for (i = 0; i < t->threads.count; i++) {
		struct traced_thread *thread = t->threads.at[i];

		if (flush_thread(t, thread, batch) == 0 && thread->gone)
			thread_free(thread);
		else
			t->threads.at[kept++] = thread;
	}
	t->threads.count = kept;
}

static void flush(struct sched_trace *s)
{
	struct batch *batch = batch_new();
	size_t i;

	s->flushed_at = clock_ns(CLOCK_MONOTONIC);
	if (!batch)
		return;
	for (i = 0; i < s->mine.count; i++)
		flush_session(s->mine.at[i], batch);
	if (batch->scheds.count > 0)
		store_submit(s->store, batch);
	else
		batch_free(batch);
}

static void traced_free(struct traced *t)
{
	size_t i;

	for (i = 0; i < t->threads.count; i++)
		thread_free(t->threads.at[i]);
	VEC_FREE(&t->threads);
	free(t);
}

/* ---- rounds ---- */

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
		if (k == s->mine.count)
			s->mine.at[s->mine.count++] = t;
		t->ended = t->gone;
		if (!t->gone)
			s->sessions.at[kept++] = t;
	}
	s->sessions.count = kept;
}

static void drop_gone(struct sched_trace *s)
{
	size_t i, kept = 0;

	for (i = 0; i < s->mine.count; i++) {
		struct traced *t = s->mine.at[i];

		if (!t->ended) {
			s->mine.at[kept++] = t;
			continue;
		}
		if (s->open && t->added)
			probe_client_remove(&s->client, t->pid);
		traced_free(t);
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

	helper_open(s);
	for (i = 0; i < s->mine.count && s->open; i++)
		if (!s->mine.at[i]->added && !s->mine.at[i]->ended)
			helper_add(s, s->mine.at[i]);
	if (s->open)
		read_events(s);
	if (gone || clock_ns(CLOCK_MONOTONIC) - s->flushed_at >= FLUSH_NS)
		flush(s);
	if (gone)
		drop_gone(s);
}

static void publish(struct sched_trace *s)
{
	size_t i;

	s->health.events = s->events_read;
	s->health.lost = s->lost;
	s->health.cost_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	for (i = 0; i < CLOCK_KINDS; i++)
		s->health.clock_error_ns = MAX(s->health.clock_error_ns, s->pairs[i].error_ns);
}

/* How long to sleep: forever without games, long where there is nothing to read. */
static int sleep_on(struct sched_trace *s)
{
	struct timespec until = clock_after(s->open ? POLL_NS : NS_PER_S);

	if (s->mine.count == 0 && s->sessions.count == 0)
		return pthread_cond_wait(&s->wake, &s->lock);
	return pthread_cond_timedwait(&s->wake, &s->lock, &until);
}

static void *run(void *userdata)
{
	struct sched_trace *s = userdata;

	pthread_mutex_lock(&s->lock);
	while (!s->stop) {
		take_over(s);
		pthread_mutex_unlock(&s->lock);
		if (s->mine.count > 0)
			run_round(s);
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
	status_source(s->status, "scheduler", SOURCE_OFF, "no game is there", NULL);
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
	probe_client_init(&s->client);
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
	if (trace->running)
		pthread_join(trace->thread, NULL);
	take_over(trace);
	if (trace->mine.count > 0)
		flush(trace);
	helper_close(trace);
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
	t->pid = row->pid;
	t->start_ticks = row->start_ticks;
	t->clock = (enum fprof_clock_kind)MIN(row->clock_kind, CLOCK_KINDS - 1);
	pthread_mutex_lock(&trace->lock);
	if (trace->pairs[t->clock].hz == 0.0)
		clock_pairs_init(&trace->pairs[t->clock], t->clock, row->clock_hz);
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
