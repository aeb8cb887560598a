// SPDX-License-Identifier: MIT
/*
 * The thread wakes every POLL_NS while a game is sampled: reads the buffer, reads both clocks, and
 * only then converts: all that was read is older than the newest pair of clocks. Every FLUSH_NS
 * what gathered goes to the store, one chunk a game.
 *
 * Callers touch the list of sessions, their orders and what is told of them under the lock, and
 * nothing else; a session that is removed is only marked, and freed by the thread after a last
 * reading. An order is settled by the thread, which whoever gave it waits for: it stands from then
 * on, or the one before it does still.
 *
 * A helper that is gone is noticed at the next flush, one that does not answer at once. What stands
 * is tried again as soon as another one can be had (retry.h), and so is the configuration's order,
 * which nobody waits for.
 */
#include "stack_trace.h"

#include "clock_pairs.h"
#include "probe_client.h"
#include "retry.h"
#include "stack_process.h"
#include "util.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#define POLL_NS	    (10 * NS_PER_MS)
#define FLUSH_NS    UINT64_C(250000000)
#define PATIENCE_NS (15 * NS_PER_S)
#define CLOCK_KINDS 4u
#define NAMES_NS    (5 * NS_PER_S) /* for the last names of a game that has ended */

struct sampled {
	uint64_t id;
	/* under the lock */
	bool gone;
	uint32_t wanted;	   /* hz */
	uint32_t standing;	   /* what holds where wanted is refused; set by the thread */
	bool settled;		   /* as wanted, or refused */
	struct stack_order order;  /* how it is */
	struct stack_order answer; /* to the last order */
	/* the thread's */
	bool ended;
	uint32_t hz; /* in force; where it is not standing's, that is tried when it is due */
	uint64_t period_ns, taken, lost;
	bool unnamed;	/* there are functions whose names are still to come */
	uint64_t until; /* CLOCK_MONOTONIC: how long its names are waited for once it has ended */
	enum fprof_clock_kind clock;
	double clock_hz;
	uint64_t start_ticks;
	struct stack_process process;
};

struct stack_trace {
	struct store *store;
	struct status *status;
	uint32_t first_hz; /* of new sessions */
	pthread_t thread;
	bool running;
	/* under the lock */
	pthread_mutex_t lock;
	pthread_cond_t wake, settled;
	bool stop;
	VEC(struct sampled *) sessions;
	struct stack_trace_health health;
	/* the thread's */
	struct probe_client client;
	struct probe_ring ring;
	bool open;
	struct retry retry;
	bool busy; /* names are waited for */
	uint64_t flushed_at, ring_lost;
	struct stack_trace_health now;
	struct clock_pairs pairs[CLOCK_KINDS]; /* by enum fprof_clock_kind; hz 0: not needed */
	VEC(struct sampled *) mine;	       /* the sessions, as of this round */
};

static int open_mapped(void *userdata, int32_t pid, const struct mapped_place *place)
{
	struct stack_trace *s = userdata;
	int fd = -1, r = s->open ? probe_client_file(&s->client, pid, place, &fd) : -ENOTCONN;

	return r < 0 ? r : fd;
}

static void sampled_free(struct sampled *s)
{
	stack_process_deinit(&s->process);
	free(s);
}

/* ---- the helper ---- */

static const char off_reason[] = "no session is sampled: it is off by default (sampling = yes in "
				 "fprofd.conf: every game that comes is)";
static const char off_fix[] = "fprof sampling on";

static void say_off(struct stack_trace *s)
{
	status_source(s->status, "stacks", SOURCE_OFF, off_reason, off_fix);
}

static size_t sampled_now(const struct stack_trace *s)
{
	size_t i, n = 0;

	for (i = 0; i < s->mine.count; i++)
		n += s->mine.at[i]->hz > 0;
	return n;
}

static void helper_close(struct stack_trace *s)
{
	size_t i;

	probe_ring_unmap(&s->ring);
	probe_client_close(&s->client);
	s->open = false;
	for (i = 0; i < s->mine.count; i++)
		s->mine.at[i]->hz = 0;
}

static int helper_open(struct stack_trace *s)
{
	int r;

	if (s->open)
		return 0;
	r = probe_client_open(&s->client, &s->ring);
	if (r < 0)
		return r;
	retry_serves(&s->retry, clock_ns(CLOCK_MONOTONIC));
	s->open = true;
	s->ring_lost = probe_ring_lost(&s->ring);
	return 0;
}

/* A rate that no loop of whole milliseconds keeps step with: the period is a little longer. */
static uint64_t period_of(uint32_t hz)
{
	uint64_t period = NS_PER_S / hz;

	return period + period / 509;
}

/* ---- samples ---- */

static struct sampled *session_of(const struct stack_trace *s, uint32_t tgid)
{
	size_t i;

	for (i = 0; i < s->mine.count; i++)
		if ((uint32_t)s->mine.at[i]->process.pid == tgid)
			return s->mine.at[i];
	return NULL;
}

static int session_ticks(const struct stack_trace *s, const struct sampled *g, uint64_t ns,
			 int64_t *ret)
{
	uint64_t ticks;
	int r = clock_pairs_ticks(&s->pairs[g->clock], ns, &ticks);

	if (r == 0)
		*ret = (int64_t)(ticks - g->start_ticks);
	return r;
}

static void submit(struct stack_trace *s, struct batch *batch)
{
	if (batch->stacks.count + batch->stack_modules.count + batch->stack_symbols.count > 0)
		store_submit(s->store, batch);
	else
		batch_free(batch);
}

static void flush(struct stack_trace *s)
{
	struct batch *batch = batch_new();
	size_t i;

	s->flushed_at = clock_ns(CLOCK_MONOTONIC);
	if (!batch)
		return;
	for (i = 0; i < s->mine.count; i++)
		stack_process_flush(&s->mine.at[i]->process, s->mine.at[i]->id, batch);
	submit(s, batch);
}

static void take(struct stack_trace *s, const struct probe_stack *stack, size_t bytes)
{
	struct sampled *g = session_of(s, stack->tgid);
	int64_t t = 0;
	int r;

	if (!g || g->period_ns == 0)
		return;
	r = session_ticks(s, g, stack->ns, &t);
	if (r == 0)
		r = stack_process_take(&g->process, stack, bytes, t, g->period_ns);
	if (r == -ENOSPC) {
		flush(s);
		r = stack_process_take(&g->process, stack, bytes, t, g->period_ns);
	}
	g->taken += r == 0;
	s->now.samples += r == 0;
	s->now.dropped += r < 0;
}

static void take_pairs(struct stack_trace *s)
{
	size_t i;

	for (i = 0; i < CLOCK_KINDS; i++)
		if (s->pairs[i].hz > 0.0)
			clock_pairs_take(&s->pairs[i]);
}

/* The kernel does not say whose they were. */
static void note_lost(struct stack_trace *s, uint64_t now)
{
	uint64_t lost = probe_ring_lost(&s->ring), count = lost - s->ring_lost;
	struct sampled *g;
	int64_t t;
	size_t i;

	s->ring_lost = lost;
	s->now.lost += count;
	for (i = 0; i < s->mine.count && count > 0; i++) {
		g = s->mine.at[i];
		if (g->hz && session_ticks(s, g, now, &t) == 0) {
			g->lost += count;
			stack_process_lost(&g->process, t, count);
		}
	}
}

/* The clocks are read after the buffer's end is: what came before that is older. */
static void read_samples(struct stack_trace *s)
{
	struct probe_stack stack;
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	size_t bytes;

	take_pairs(s);
	while ((bytes = probe_ring_take(&s->ring, &stack, sizeof(stack))) > 0) {
		if (bytes < offsetof(struct probe_stack, ips))
			continue;
		if (stack.ns > now) {
			now = clock_ns(CLOCK_MONOTONIC);
			take_pairs(s);
		}
		take(s, &stack, bytes);
	}
	note_lost(s, now);
}

/* Those that were sampled are to be again: by another helper. */
static void helper_lost(struct stack_trace *s)
{
	const char *reason = probe_client_lost(&s->client), *fix = probe_client_log(&s->client);
	size_t i;

	read_samples(s);
	s->now.interruptions++;
	retry_later(&s->retry, clock_ns(CLOCK_MONOTONIC));
	status_source(s->status, "stacks", SOURCE_UNAVAILABLE, reason, fix);
	pthread_mutex_lock(&s->lock);
	for (i = 0; i < s->mine.count; i++) {
		struct sampled *g = s->mine.at[i];

		if (!g->hz)
			continue;
		g->order.hz = 0;
		snprintf(g->order.reason, sizeof(g->order.reason), "%s", reason);
		snprintf(g->order.fix, sizeof(g->order.fix), "%s", fix);
	}
	pthread_mutex_unlock(&s->lock);
	helper_close(s);
}

/* ---- orders ---- */

static int sample(struct stack_trace *s, struct sampled *g, uint32_t hz)
{
	uint64_t period_ns = period_of(hz);
	int fd = -1, r = probe_client_sample(&s->client, g->process.pid, period_ns, &fd);

	if (r < 0)
		return r;
	stack_process_maps(&g->process, fd);
	g->period_ns = period_ns;
	g->hz = hz;
	status_source(s->status, "stacks", SOURCE_ON, NULL, NULL);
	return 0;
}

/* What came until then is read. */
static int stop(struct stack_trace *s, struct sampled *g)
{
	int r = probe_client_remove(&s->client, g->process.pid);

	read_samples(s);
	g->hz = 0;
	return r;
}

static int begin(struct stack_trace *s, struct sampled *g, uint32_t hz)
{
	uint32_t before = g->hz;
	int r = helper_open(s);

	if (r == 0 && before)
		r = stop(s, g);
	if (r == 0)
		r = sample(s, g, hz);
	if (r < 0 && before)
		(void)sample(s, g, before); /* else it is tried again, as it stands */
	return r;
}

static bool any_stands(const struct stack_trace *s)
{
	size_t i;

	for (i = 0; i < s->mine.count; i++)
		if (s->mine.at[i]->standing)
			return true;
	return false;
}

static void end(struct stack_trace *s, struct sampled *g)
{
	if (!g->hz && !g->standing)
		return;
	if (g->hz) {
		if (stop(s, g) < 0 && !probe_client_is_alive(&s->client))
			helper_lost(s);
		flush(s);
	}
	pthread_mutex_lock(&s->lock);
	g->standing = 0;
	pthread_mutex_unlock(&s->lock);
	if (!any_stands(s)) {
		helper_close(s);
		say_off(s);
	}
}

static void note_refused(struct stack_trace *s, const struct sampled *g)
{
	if (s->open && !probe_client_is_alive(&s->client)) {
		helper_lost(s);
		return;
	}
	if (g->hz)
		return;
	retry_later(&s->retry, clock_ns(CLOCK_MONOTONIC));
	status_source(s->status, "stacks", sampled_now(s) ? SOURCE_DEGRADED : SOURCE_UNAVAILABLE,
		      s->client.reason, s->client.fix);
	if (sampled_now(s) == 0)
		helper_close(s);
}

/* What became of an order. */
static void settle(struct stack_trace *s, struct sampled *g, uint32_t hz, int error)
{
	pthread_mutex_lock(&s->lock);
	g->order.hz = g->hz;
	g->order.taken = g->taken;
	g->order.lost = g->lost;
	snprintf(g->order.reason, sizeof(g->order.reason), "%s", error ? s->client.reason : "");
	snprintf(g->order.fix, sizeof(g->order.fix), "%s", error ? s->client.fix : "");
	if (!g->settled)
		g->answer = g->order;
	if (g->hz)
		g->order.reason[0] = g->order.fix[0] = '\0';
	if (g->wanted == hz) {
		if (error)
			g->wanted = g->standing;
		else
			g->standing = hz;
		g->settled = true;
	}
	pthread_cond_broadcast(&s->settled);
	pthread_mutex_unlock(&s->lock);
}

static void obey(struct stack_trace *s, struct sampled *g)
{
	bool due = retry_is_due(&s->retry, clock_ns(CLOCK_MONOTONIC)), settled;
	uint32_t hz;
	int r = 0;

	pthread_mutex_lock(&s->lock);
	hz = g->ended ? 0 : g->wanted;
	settled = g->settled;
	pthread_mutex_unlock(&s->lock);
	if (settled && !g->ended && (hz == g->hz || !due))
		return;
	if (hz == 0)
		end(s, g);
	else if (hz != g->hz)
		r = begin(s, g, hz);
	if (r < 0)
		note_refused(s, g);
	settle(s, g, hz, r);
}

/* ---- rounds ---- */

/* Brings the thread's list up to the callers'. Those that are gone leave the callers' here and are
 * the thread's alone. Called with the lock held. */
static void take_over(struct stack_trace *s)
{
	size_t i, k, kept = 0;

	if (VEC_RESERVE(&s->mine, s->sessions.count) < 0)
		return;
	for (i = 0; i < s->sessions.count; i++) {
		struct sampled *g = s->sessions.at[i];

		for (k = 0; k < s->mine.count && s->mine.at[k] != g; k++)
			;
		if (k == s->mine.count)
			s->mine.at[s->mine.count++] = g;
		if (g->wanted)
			/* Its first pair comes before the first event. */
			clock_pairs_need(&s->pairs[g->clock], g->clock, g->clock_hz);
		g->ended = g->gone;
		s->health.finishing += g->gone;
		if (!g->gone)
			s->sessions.at[kept++] = g;
	}
	s->sessions.count = kept;
}

/* Is there nothing more to come of it? */
static bool is_done(struct sampled *g)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	if (!g->ended)
		return false;
	if (g->until == 0)
		g->until = now + NAMES_NS;
	return !g->unnamed || now > g->until;
}

/* Nobody finds a game finished before what it left can be read. */
static void drop_gone(struct stack_trace *s)
{
	size_t i, kept = 0;
	bool stored = false;

	for (i = 0; i < s->mine.count; i++) {
		if (!is_done(s->mine.at[i])) {
			s->mine.at[kept++] = s->mine.at[i];
			continue;
		}
		if (s->mine.at[i]->taken > 0 && !stored)
			store_flush(s->store);
		stored |= s->mine.at[i]->taken > 0;
		sampled_free(s->mine.at[i]);
	}
	s->mine.count = kept;
}

/* Functions get their names, as far as they can now. */
static void work_on_names(struct stack_trace *s)
{
	size_t i;

	s->busy = false;
	for (i = 0; i < s->mine.count; i++) {
		s->mine.at[i]->unnamed = stack_process_work(&s->mine.at[i]->process);
		s->busy |= s->mine.at[i]->unnamed;
	}
}

static bool any_gone(const struct stack_trace *s)
{
	size_t i;

	for (i = 0; i < s->mine.count; i++)
		if (s->mine.at[i]->ended)
			return true;
	return false;
}

static void run_round(struct stack_trace *s)
{
	bool gone = any_gone(s), due = clock_ns(CLOCK_MONOTONIC) - s->flushed_at >= FLUSH_NS;
	size_t i;
	bool was_busy;

	if (s->open)
		read_samples(s);
	for (i = 0; i < s->mine.count; i++)
		obey(s, s->mine.at[i]);
	was_busy = s->busy;
	work_on_names(s);
	if (gone || due || (was_busy && !s->busy)) {
		if (s->open && !probe_client_is_alive(&s->client))
			helper_lost(s);
		flush(s);
	}
	if (gone)
		drop_gone(s);
}

static void publish(struct stack_trace *s)
{
	size_t i;

	s->now.cost_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	s->now.sessions = (uint32_t)sampled_now(s);
	s->now.finishing = 0;
	for (i = 0; i < s->mine.count; i++) {
		s->now.finishing += s->mine.at[i]->ended;
		s->mine.at[i]->order.taken = s->mine.at[i]->taken;
		s->mine.at[i]->order.lost = s->mine.at[i]->lost;
	}
	s->health = s->now;
}

/* Is there something that nobody has done yet? With the lock held. */
static bool has_news(const struct stack_trace *s)
{
	size_t i;

	for (i = 0; i < s->sessions.count; i++)
		if (s->sessions.at[i]->gone || !s->sessions.at[i]->settled)
			return true;
	return false;
}

static bool any_again(const struct stack_trace *s)
{
	size_t i;

	for (i = 0; i < s->mine.count; i++)
		if (s->mine.at[i]->standing != s->mine.at[i]->hz)
			return true;
	return false;
}

static void sleep_on(struct stack_trace *s)
{
	bool reads = s->open || s->busy;
	struct timespec until = clock_after(reads ? POLL_NS : RETRY_MIN_NS);

	if (reads || any_again(s))
		pthread_cond_timedwait(&s->wake, &s->lock, &until);
	else
		while (!s->stop && !has_news(s))
			pthread_cond_wait(&s->wake, &s->lock);
}

static void *run(void *userdata)
{
	struct stack_trace *s = userdata;

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

static int start(struct stack_trace *s)
{
	int r;

	pthread_mutex_init(&s->lock, NULL);
	r = cond_init_monotonic(&s->wake);
	if (r == 0)
		r = cond_init_monotonic(&s->settled);
	if (r < 0)
		return r;
	status_source_first(s->status, "stacks", SOURCE_OFF, off_reason, off_fix);
	r = pthread_create(&s->thread, NULL, run, s);
	s->running = r == 0;
	return -r;
}

int stack_trace_new(const struct config *config, struct store *store, struct status *status,
		    struct stack_trace **ret_trace)
{
	struct stack_trace *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->store = store;
	s->status = status;
	s->first_hz = config->sampling ? config->sampling_hz : 0;
	probe_client_init(&s->client, PROBE_STACKS, status, "stacks");
	r = start(s);
	if (r < 0) {
		stack_trace_free(s);
		return r;
	}
	*ret_trace = s;
	return 0;
}

void stack_trace_stop(struct stack_trace *trace)
{
	if (!trace)
		return;
	pthread_mutex_lock(&trace->lock);
	trace->stop = true;
	pthread_cond_signal(&trace->wake);
	pthread_cond_broadcast(&trace->settled);
	pthread_mutex_unlock(&trace->lock);
	probe_client_cancel(&trace->client);
}

void stack_trace_free(struct stack_trace *trace)
{
	size_t i;

	if (!trace)
		return;
	stack_trace_stop(trace);
	if (trace->running)
		pthread_join(trace->thread, NULL);
	take_over(trace);
	if (trace->mine.count > 0)
		flush(trace);
	helper_close(trace);
	probe_client_deinit(&trace->client);
	for (i = 0; i < trace->mine.count; i++)
		sampled_free(trace->mine.at[i]);
	VEC_FREE(&trace->mine);
	VEC_FREE(&trace->sessions);
	pthread_cond_destroy(&trace->wake);
	pthread_cond_destroy(&trace->settled);
	pthread_mutex_destroy(&trace->lock);
	free(trace);
}

void stack_trace_add(struct stack_trace *trace, const struct session_row *row, int ordered_hz)
{
	struct sampled *g = calloc(1, sizeof(*g));

	if (!g || stack_process_init(&g->process, row->pid, open_mapped, trace) < 0) {
		free(g);
		return;
	}
	g->id = row->id;
	g->start_ticks = row->start_ticks;
	g->clock = (enum fprof_clock_kind)MIN(row->clock_kind, CLOCK_KINDS - 1);
	g->clock_hz = row->clock_hz;
	g->wanted = ordered_hz < 0 ? trace->first_hz : (uint32_t)ordered_hz;
	g->standing = g->wanted;
	g->settled = g->wanted == 0;
	pthread_mutex_lock(&trace->lock);
	if (VEC_PUSH(&trace->sessions, g) < 0)
		sampled_free(g);
	else
		pthread_cond_signal(&trace->wake);
	pthread_mutex_unlock(&trace->lock);
}

/* With the lock held. */
static struct sampled *find(const struct stack_trace *trace, uint64_t session)
{
	size_t i;

	for (i = 0; i < trace->sessions.count; i++)
		if (trace->sessions.at[i]->id == session && !trace->sessions.at[i]->gone)
			return trace->sessions.at[i];
	return NULL;
}

void stack_trace_remove(struct stack_trace *trace, uint64_t session)
{
	struct sampled *g;

	pthread_mutex_lock(&trace->lock);
	g = find(trace, session);
	if (g)
		g->gone = true;
	pthread_cond_signal(&trace->wake);
	pthread_cond_broadcast(&trace->settled);
	pthread_mutex_unlock(&trace->lock);
}

int stack_trace_order(struct stack_trace *trace, uint64_t session, uint32_t hz,
		      struct stack_order *ret_order)
{
	struct timespec until = clock_after(PATIENCE_NS);
	struct sampled *g;
	int r = 0;

	pthread_mutex_lock(&trace->lock);
	g = find(trace, session);
	if (g) {
		g->wanted = hz;
		g->settled = false;
		pthread_cond_signal(&trace->wake);
	}
	while ((g = find(trace, session)) && !g->settled && !trace->stop && r == 0)
		r = -pthread_cond_timedwait(&trace->settled, &trace->lock, &until);
	if (g && g->settled) {
		*ret_order = g->answer;
		r = *g->answer.reason ? -EOPNOTSUPP : 0;
	} else if (g) {
		g->wanted = g->standing;
		*ret_order = g->order;
		snprintf(ret_order->reason, sizeof(ret_order->reason), "%s",
			 trace->stop ? "fprofd is ending" : "fprof-probe takes too long");
		ret_order->fix[0] = '\0';
		r = -EOPNOTSUPP;
	}
	pthread_mutex_unlock(&trace->lock);
	return g ? r : -ENOENT;
}

int stack_trace_ordered(struct stack_trace *trace, uint64_t session, struct stack_order *ret_order)
{
	const struct sampled *g;

	pthread_mutex_lock(&trace->lock);
	g = find(trace, session);
	if (g)
		*ret_order = g->order;
	pthread_mutex_unlock(&trace->lock);
	return g ? 0 : -ENOENT;
}

void stack_trace_health(struct stack_trace *trace, struct stack_trace_health *ret_health)
{
	size_t i;

	pthread_mutex_lock(&trace->lock);
	*ret_health = trace->health;
	for (i = 0; i < trace->sessions.count; i++)
		ret_health->finishing += trace->sessions.at[i]->gone;
	pthread_mutex_unlock(&trace->lock);
}
