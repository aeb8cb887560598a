/* SPDX-License-Identifier: MIT */
/*
 * Callers of add and remove touch the list under the lock. A round takes the sessions one after the
 * other: the thread owns what it reads a session with (struct usage), so a session that is removed
 * meanwhile is only marked, and freed by the thread.
 *
 * A session's counters have numbers that follow from their names: after a restart of the daemon
 * each goes on under its own, whichever appears first. Names go with each round: a history that was
 * begun anew has them again a second later.
 */
#include "sampler.h"

#include "log.h"
#include "pmu.h"
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
#define READ_MAIN_NS	INT64_C(30000000)
#define READ_OTHERS_NS	INT64_C(500000000)
#define READ_WITHIN_NS	INT64_C(200000) /* else nobody knows when in between it was read */

struct sampled_session {
	uint64_t id;
	/* under the lock: */
	bool gone;
	struct usage_marking marking[USAGE_MARKING_MAX];
	uint32_t marking_count;
	int32_t main_tid;	    /* who marks the main stream's frames */
	int64_t main_ns, others_ns; /* when they are to be read again */
	/* the thread's: */
	struct usage usage;
	struct pmu pmu;
	enum fprof_clock_kind clock;
	struct fprof_clock_rate rate;
	uint64_t start_ticks;
	uint32_t count;
	char names[COUNTERS_MAX][USAGE_NAME_MAX];
	uint32_t numbers[COUNTERS_MAX];
};

struct sampler {
	struct store *store;
	const struct pmu_events *pmu; /* NULL: none are read */
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

/* Under the lock, as all of this. */
static int read_ran(struct sampled_session *s, struct usage_marking *thread, struct batch *batch)
{
	struct ran_row row = {.session = s->id, .tid = thread->tid, .ns = session_ns(s)};
	int r = usage_ran(s->usage.proc, s->usage.pid, thread, &row.ran_ns);
	int64_t took = session_ns(s) - row.ns;

	if (r < 0 || took > READ_WITHIN_NS)
		return 0;
	row.ns += took / 2;
	return VEC_PUSH(&batch->rans, row);
}

static int read_session(struct sampled_session *s, struct batch *batch)
{
	int64_t now = session_ns(s);
	bool others = now >= s->others_ns;
	uint32_t i;
	int r = 0;

	if (now < s->main_ns)
		return 0;
	s->main_ns = now + READ_MAIN_NS;
	if (others)
		s->others_ns = now + READ_OTHERS_NS;
	for (i = 0; i < s->marking_count && r == 0; i++)
		if (others || s->marking[i].tid == s->main_tid)
			r = read_ran(s, &s->marking[i], batch);
	return r;
}

void sampler_read_marking(struct sampler *sampler, struct batch *batch)
{
	size_t i;

	pthread_mutex_lock(&sampler->lock);
	for (i = 0; i < sampler->sessions.count; i++)
		if (!sampler->sessions.at[i]->gone &&
		    read_session(sampler->sessions.at[i], batch) < 0)
			sampler->health.refused++;
	pthread_mutex_unlock(&sampler->lock);
}

/* Whom usage_read is to look for, and whom it found. */
static void share_marking(struct sampled_session *s)
{
	int32_t tids[USAGE_MARKING_MAX];
	uint32_t i, k;

	for (i = 0; i < s->marking_count; i++) {
		tids[i] = s->marking[i].tid;
		for (k = 0; k < s->usage.marking_count; k++)
			if (s->usage.marking[k].tid == tids[i] && s->marking[i].host_tid == 0)
				s->marking[i].host_tid = s->usage.marking[k].host_tid;
	}
	usage_set_marking(&s->usage, tids, s->marking_count);
}

/* ---- rounds ---- */

static void session_free(struct sampled_session *s)
{
	uint32_t i;

	for (i = 0; i < s->marking_count; i++)
		usage_marking_close(&s->marking[i]);
	usage_deinit(&s->usage);
	pmu_deinit(&s->pmu);
	free(s);
}

/* One of the sessions, under the lock; those that are gone are freed. NULL: i is past the last. */
static struct sampled_session *session_at(struct sampler *sampler, size_t i)
{
	while (i < sampler->sessions.count && sampler->sessions.at[i]->gone) {
		session_free(sampler->sessions.at[i]);
		sampler->sessions.at[i] = sampler->sessions.at[--sampler->sessions.count];
	}
	return i < sampler->sessions.count ? sampler->sessions.at[i] : NULL;
}

/* Called and left with the lock held. */
static void run_round(struct sampler *sampler)
{
	struct sampled_session *s;
	uint64_t cpu_mhz = 0;
	size_t i;
	int r;

	for (i = 0; !sampler->stop && (s = session_at(sampler, i)); i++) {
		share_marking(s);
		pthread_mutex_unlock(&sampler->lock);
		if (i == 0)
			cpu_mhz = usage_frequency("/sys");
		r = sample(sampler, s, cpu_mhz);
		pthread_mutex_lock(&sampler->lock);
		sampler->health.rounds++;
		sampler->health.refused += r < 0 && r != -ESRCH;
		sampler->health.cost_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	}
}

static void *run(void *userdata)
{
	struct sampler *sampler = userdata;
	struct timespec next;
	int r;

	pthread_mutex_lock(&sampler->lock);
	while (!sampler->stop) {
		run_round(sampler);
		next = clock_after(sampler->health.interval_ms * NS_PER_MS);
		r = 0;
		while (!sampler->stop && r != ETIMEDOUT)
			r = sampler->sessions.count == 0
				    ? pthread_cond_wait(&sampler->wake, &sampler->lock)
				    : pthread_cond_timedwait(&sampler->wake, &sampler->lock, &next);
	}
	pthread_mutex_unlock(&sampler->lock);
	return NULL;
}

int sampler_new(const struct config *config, const struct pmu_events *pmu, struct store *store,
		struct sampler **ret_sampler)
{
	struct sampler *s = calloc(1, sizeof(*s));
	pthread_condattr_t monotonic;
	int r;

	if (!s)
		return -ENOMEM;
	s->store = store;
	s->pmu = pmu;
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
		pmu_init(&s->pmu, sampler->pmu);
		s->usage.pmu = sampler->pmu ? &s->pmu : NULL;
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
		if (s->marking[i].tid == tid)
			return;
	if (s->marking_count == USAGE_MARKING_MAX) {
		usage_marking_close(&s->marking[0]);
		memmove(s->marking, s->marking + 1, --s->marking_count * sizeof(*s->marking));
	}
	s->marking[s->marking_count++] = (struct usage_marking){
		.tid = tid, .host_tid = usage_host_tid(s->usage.proc, s->usage.pid, tid)};
}

void sampler_mark(struct sampler *sampler, uint64_t session, int32_t tid, bool main)
{
	size_t i;

	pthread_mutex_lock(&sampler->lock);
	for (i = 0; i < sampler->sessions.count; i++) {
		if (sampler->sessions.at[i]->id != session)
			continue;
		add_marking(sampler->sessions.at[i], tid);
		if (main)
			sampler->sessions.at[i]->main_tid = tid;
	}
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
