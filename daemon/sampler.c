/* SPDX-License-Identifier: MIT */
/*
 * Callers of add and remove touch the list under the lock. A round takes the sessions one after the
 * other: the thread owns what it reads a session with (struct usage), so a session that is removed
 * meanwhile is only marked, and freed by the thread.
 *
 * A session's counters have numbers that follow from their names: after a restart of the daemon
 * each goes on under its own, whichever appears first. Names go with each round: a history that was
 * begun anew has them again a second later.
 *
 * Readings of what threads ran are kept until there are a few, or a round: the store's work is by
 * the batch.
 */
#include "sampler.h"

#include "log.h"
#include "shm/clock_source.h"
#include "shm/layout.h"
#include "usage.h"
#include "util.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#define COUNTERS_MAX	64u /* of one session */
#define NUMBER_MAX	0x3fffffffu
#define INTERVAL_MIN_MS 100u
#define READ_NS		(40 * NS_PER_MS)
#define READ_AT_ONCE	5u		/* readings of a session go to the store together */
#define READ_WITHIN_NS	INT64_C(200000) /* else nobody knows when in between it was read */

struct sampled_session {
	uint64_t id;
	bool gone;
	int32_t marking[USAGE_MARKING_MAX]; /* tids, under the lock */
	uint32_t marking_count;
	struct usage usage;
	struct batch *readings; /* not yet the store's; NULL: none */
	uint32_t reading_count;
	enum fprof_clock_kind clock;
	struct fprof_clock_rate rate;
	uint64_t start_ticks;
	uint32_t count;
	char names[COUNTERS_MAX][USAGE_NAME_MAX];
	uint32_t numbers[COUNTERS_MAX];
};

struct sampler {
	struct store *store;
	pthread_t thread;
	bool running; /* the thread was made */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stop;
	VEC(struct sampled_session *) sessions;
	struct sampler_health health;
};

/* A round over one session. */
struct round {
	struct sampled_session *session;
	struct batch *batch;
	int64_t ns;
};

/* 0: there is no room, or another one has the number. */
static uint32_t number_of(struct sampled_session *s, const char *name)
{
	uint32_t number = (uint32_t)fprof_name_hash(name, strlen(name)) & NUMBER_MAX, i;

	for (i = 0; i < s->count; i++) {
		if (!strcmp(s->names[i], name))
			return s->numbers[i];
		if (s->numbers[i] == number)
			return 0;
	}
	if (s->count == COUNTERS_MAX || number == 0)
		return 0;
	snprintf(s->names[s->count], USAGE_NAME_MAX, "%s", name);
	s->numbers[s->count++] = number;
	return number;
}

static int note(void *userdata, const struct usage_value *v)
{
	struct round *round = userdata;
	uint32_t counter = number_of(round->session, v->name);
	struct sampled_row sampled = {.session = round->session->id,
				      .counter = counter,
				      .module = v->module,
				      .source = v->source,
				      .unit = v->unit,
				      .cumulative = v->cumulative};

	if (counter == 0)
		return -ENOSPC;
	snprintf(sampled.name, sizeof(sampled.name), "%s", v->name);
	if (VEC_PUSH(&round->batch->sampled, sampled) < 0)
		return -ENOMEM;
	return VEC_PUSH(&round->batch->samples,
			((struct sample_row){round->session->id, counter, round->ns, v->value}));
}

static int64_t session_ns(const struct sampled_session *s)
{
	int64_t ns = fprof_clock_ns(&s->rate, s->start_ticks, fprof_clock_read(s->clock));

	return MAX(ns, INT64_C(0));
}

static int sample(struct sampler *sampler, struct sampled_session *s, uint64_t cpu_mhz)
{
	struct round round = {s, batch_new(), session_ns(s)};
	int r = round.batch ? usage_read(&s->usage, cpu_mhz, note, &round) : -ENOMEM;

	if (round.batch && round.batch->samples.count > 0 && r != -ESRCH)
		store_submit(sampler->store, round.batch);
	else
		batch_free(round.batch);
	return r;
}

/* ---- what threads ran ---- */

static void submit_readings(struct sampler *sampler, struct sampled_session *s)
{
	if (s->readings)
		store_submit(sampler->store, s->readings);
	s->readings = NULL;
	s->reading_count = 0;
}

static int read_ran(struct sampled_session *s, const struct usage_marking *thread)
{
	struct ran_row row = {.session = s->id, .tid = thread->tid, .ns = session_ns(s)};
	int r = usage_ran(&s->usage, thread, &row.ran_ns);
	int64_t took = session_ns(s) - row.ns;

	if (r < 0 || took > READ_WITHIN_NS)
		return 0;
	row.ns += took / 2;
	return VEC_PUSH(&s->readings->rans, row);
}

static int read_threads(struct sampler *sampler, struct sampled_session *s)
{
	uint32_t i;
	int r = 0;

	if (s->usage.marking_count == 0)
		return 0;
	if (!s->readings)
		s->readings = batch_new();
	if (!s->readings)
		return -ENOMEM;
	for (i = 0; i < s->usage.marking_count && r == 0; i++)
		r = read_ran(s, &s->usage.marking[i]);
	if (++s->reading_count >= READ_AT_ONCE)
		submit_readings(sampler, s);
	return r;
}

/* ---- rounds ---- */

static void session_free(struct sampled_session *s)
{
	batch_free(s->readings);
	usage_deinit(&s->usage);
	free(s);
}

/* One of the sessions, under the lock; those that are gone are freed. NULL: i is past the last. */
static struct sampled_session *session_at(struct sampler *sampler, size_t i)
{
	while (i < sampler->sessions.count && sampler->sessions.at[i]->gone) {
		submit_readings(sampler, sampler->sessions.at[i]);
		session_free(sampler->sessions.at[i]);
		sampler->sessions.at[i] = sampler->sessions.at[--sampler->sessions.count];
	}
	return i < sampler->sessions.count ? sampler->sessions.at[i] : NULL;
}

/* Called and left with the lock held. whole: the counters, too. */
static void run_round(struct sampler *sampler, bool whole)
{
	struct sampled_session *s;
	uint64_t cpu_mhz = 0;
	size_t i;
	int r;

	for (i = 0; !sampler->stop && (s = session_at(sampler, i)); i++) {
		usage_set_marking(&s->usage, s->marking, s->marking_count);
		pthread_mutex_unlock(&sampler->lock);
		if (i == 0 && whole)
			cpu_mhz = usage_frequency("/sys");
		r = read_threads(sampler, s);
		if (r == 0 && whole)
			r = sample(sampler, s, cpu_mhz);
		pthread_mutex_lock(&sampler->lock);
		sampler->health.rounds += whole;
		sampler->health.refused += r < 0 && r != -ESRCH;
		sampler->health.cost_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	}
}

static void *run(void *userdata)
{
	struct sampler *sampler = userdata;
	uint64_t now, round = 0; /* when the next whole one is due */
	struct timespec next;
	int r;

	pthread_mutex_lock(&sampler->lock);
	while (!sampler->stop) {
		now = clock_ns(CLOCK_MONOTONIC);
		run_round(sampler, now >= round);
		if (now >= round)
			round = now + sampler->health.interval_ms * NS_PER_MS;
		next = clock_after(READ_NS);
		r = 0;
		while (!sampler->stop && r != ETIMEDOUT)
			r = sampler->sessions.count == 0
				    ? pthread_cond_wait(&sampler->wake, &sampler->lock)
				    : pthread_cond_timedwait(&sampler->wake, &sampler->lock, &next);
	}
	pthread_mutex_unlock(&sampler->lock);
	return NULL;
}

int sampler_new(const struct config *config, struct store *store, struct sampler **ret_sampler)
{
	struct sampler *s = calloc(1, sizeof(*s));
	pthread_condattr_t monotonic;
	int r;

	if (!s)
		return -ENOMEM;
	s->store = store;
	s->health.interval_ms = config->sample_ms ? MAX(config->sample_ms, INTERVAL_MIN_MS) : 0;
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&s->wake, &monotonic);
	pthread_condattr_destroy(&monotonic);
	r = config->sample_ms ? pthread_create(&s->thread, NULL, run, s) : 0;
	s->running = config->sample_ms && r == 0;
	if (r != 0) {
		sampler_free(s);
		return -r;
	}
	*ret_sampler = s;
	return 0;
}

void sampler_free(struct sampler *sampler)
{
	size_t i;

	if (!sampler)
		return;
	pthread_mutex_lock(&sampler->lock);
	sampler->stop = true;
	pthread_cond_signal(&sampler->wake);
	pthread_mutex_unlock(&sampler->lock);
	if (sampler->running)
		pthread_join(sampler->thread, NULL);
	for (i = 0; i < sampler->sessions.count; i++)
		session_free(sampler->sessions.at[i]);
	VEC_FREE(&sampler->sessions);
	pthread_cond_destroy(&sampler->wake);
	pthread_mutex_destroy(&sampler->lock);
	free(sampler);
}

void sampler_add(struct sampler *sampler, const struct session_row *row)
{
	struct sampled_session *s;

	if (!sampler->running)
		return;
	s = calloc(1, sizeof(*s));
	if (s) {
		s->id = row->id;
		s->clock = (enum fprof_clock_kind)row->clock_kind;
		s->rate.hz = row->clock_hz;
		s->rate.mult = row->clock_mult;
		s->rate.shift = row->clock_shift;
		s->start_ticks = row->start_ticks;
		usage_init(&s->usage, row->pid, row->process_start);
	}
	pthread_mutex_lock(&sampler->lock);
	if (!s || VEC_PUSH(&sampler->sessions, s) < 0) {
		sampler->health.refused++;
		free(s);
	} else {
		pthread_cond_signal(&sampler->wake);
	}
	pthread_mutex_unlock(&sampler->lock);
}

/* Of very many the oldest go: they mark no more. */
static void add_marking(struct sampled_session *s, int32_t tid)
{
	uint32_t i;

	for (i = 0; i < s->marking_count; i++)
		if (s->marking[i] == tid)
			return;
	if (s->marking_count == USAGE_MARKING_MAX)
		memmove(s->marking, s->marking + 1, --s->marking_count * sizeof(*s->marking));
	s->marking[s->marking_count++] = tid;
}

void sampler_mark(struct sampler *sampler, uint64_t session, int32_t tid)
{
	size_t i;

	pthread_mutex_lock(&sampler->lock);
	for (i = 0; i < sampler->sessions.count; i++)
		if (sampler->sessions.at[i]->id == session)
			add_marking(sampler->sessions.at[i], tid);
	pthread_mutex_unlock(&sampler->lock);
}

void sampler_remove(struct sampler *sampler, uint64_t session)
{
	size_t i;

	pthread_mutex_lock(&sampler->lock);
	for (i = 0; i < sampler->sessions.count; i++)
		if (sampler->sessions.at[i]->id == session)
			sampler->sessions.at[i]->gone = true;
	pthread_mutex_unlock(&sampler->lock);
}

void sampler_health(struct sampler *sampler, struct sampler_health *ret_health)
{
	size_t i;

	pthread_mutex_lock(&sampler->lock);
	*ret_health = sampler->health;
	for (i = 0; i < sampler->sessions.count; i++)
		ret_health->sessions += !sampler->sessions.at[i]->gone;
	pthread_mutex_unlock(&sampler->lock);
}
