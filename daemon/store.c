/* SPDX-License-Identifier: MIT */
/*
 * The queue, the store thread, and what others may ask of them. The thread takes all batches that
 * are queued (up to GROUP_BYTES) into one transaction, and begins one at most every
 * COMMIT_INTERVAL_NS: a commit costs about 150 us whatever is in it. It sleeps without a timeout
 * while there is nothing to write and nothing to try again.
 *
 * A transaction that fails is rolled back and tried again after store_history_recover did something
 * about the reason: no batch is lost unless there is neither disk nor memory for it, and then it is
 * counted.
 */
#include "store.h"

#include "log.h"
#include "sql.h"
#include "store_impl.h"
#include "util.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>

#define GROUP_BYTES	   (4u * 1024u * 1024u)
#define COMMIT_INTERVAL_NS 80000000
#define RETRY_NS	   UINT64_C(5000000000)
#define COMMIT_TRIES	   5

/* Takes the oldest batches out of the queue, as a list. The lock is held. */
static struct batch *take_group(struct store *s)
{
	struct batch *first = s->first, *b = first;
	uint64_t bytes = b->weight;

	while (b->next && bytes + b->next->weight <= GROUP_BYTES) {
		b = b->next;
		bytes += b->weight;
	}
	s->first = b->next;
	if (!s->first)
		s->last = NULL;
	b->next = NULL;
	return first;
}

static void count_lost(struct store *s, const struct batch *group)
{
	const struct batch *b;
	size_t i;

	for (b = group; b; b = b->next) {
		s->health.batches_failed++;
		for (i = 0; i < b->chunks.count; i++)
			s->health.events_dropped += b->chunks.at[i].events;
	}
}

static int commit_group(struct store *s, const struct batch *group)
{
	int tries, r;

	for (tries = 0; tries < COMMIT_TRIES; tries++) {
		r = store_history_commit(&s->history, group, NULL);
		if (r == 0)
			return 0;
		r = store_history_recover(&s->history, r);
		if (r < 0)
			return r;
	}
	return -ENOMEM;
}

/* What the thread knows, for store_health. */
static void publish_health(struct store *s, uint64_t commit_ns)
{
	struct store_history *h = &s->history;

	pthread_mutex_lock(&s->lock);
	s->health.commits += commit_ns > 0;
	s->health.commit_ns_total += commit_ns;
	s->health.used_bytes = h->used_bytes;
	s->health.raw_bytes = h->written.raw_bytes;
	s->health.stored_bytes = h->written.stored_bytes;
	s->health.evicted_frames = h->evicted.frames;
	s->health.evicted_chunks = h->evicted.chunks;
	s->health.wal_rotations = h->rotations;
	pthread_mutex_unlock(&s->lock);
}

static void finish_group(struct store *s, struct batch *group, int error)
{
	uint64_t bytes = 0, count = 0, sessions = 0;
	struct batch *next;

	for (; group; group = next) {
		next = group->next;
		if (error == 0 && s->committed)
			s->committed(s->userdata, group);
		bytes += group->weight;
		sessions += group->sessions.count;
		count++;
		batch_free(group);
	}
	pthread_mutex_lock(&s->lock);
	s->queued_bytes -= bytes;
	s->finished += count;
	s->sessions_coming -= MIN(s->sessions_coming, sessions);
	pthread_cond_broadcast(&s->done);
	pthread_mutex_unlock(&s->lock);
}

static void write_group(struct store *s, struct batch *group)
{
	uint64_t begin = clock_ns(CLOCK_MONOTONIC);
	uint64_t refused = s->history.written.rows_refused;
	uint64_t events = s->history.written.events_refused;
	int r = commit_group(s, group);

	if (r < 0) {
		log_error("history: rows were lost: %s", strerror(-r));
		pthread_mutex_lock(&s->lock);
		count_lost(s, group);
		pthread_mutex_unlock(&s->lock);
	} else {
		store_history_maintain(&s->history);
	}
	if (s->history.written.rows_refused != refused) {
		log_debug("history: ignoring rows that mean nothing or whose session is gone");
		pthread_mutex_lock(&s->lock);
		s->health.events_dropped += s->history.written.events_refused - events;
		pthread_mutex_unlock(&s->lock);
	}
	publish_health(s, clock_ns(CLOCK_MONOTONIC) - begin);
	finish_group(s, group, r);
}

/* Is something to be tried again now and then? */
static bool is_degraded(struct store *s)
{
	char reason[2];

	return s->history.place.where == STORE_IN_MEMORY ||
	       !store_state_health(&s->state, reason, sizeof(reason));
}

static void try_again(struct store *s)
{
	int r = store_history_return(&s->history);

	if (r < 0)
		log_debug("history: stays in memory: %s", strerror(-r));
	store_state_retry(&s->state);
	publish_health(s, 0);
}

/* Waits on cond until a moment of CLOCK_MONOTONIC. The lock is held. */
static void wait_until(struct store *s, uint64_t ns)
{
	struct timespec ts = clock_timespec(ns);

	pthread_cond_timedwait(&s->work, &s->lock, &ts);
}

/* Waits for work. The lock is held. Returns false when it is time to end. */
static bool wait_for_work(struct store *s, bool degraded, uint64_t not_before, uint64_t retry_at)
{
	for (;;) {
		bool enough = s->hurry || s->stop || s->queued_bytes >= GROUP_BYTES;

		if (s->retries != s->retries_done ||
		    (degraded && clock_ns(CLOCK_MONOTONIC) >= retry_at))
			return true;
		if (s->first && (enough || clock_ns(CLOCK_MONOTONIC) >= not_before))
			return true;
		if (!s->first && s->stop)
			return false;
		if (s->first)
			wait_until(s, not_before);
		else if (degraded)
			wait_until(s, retry_at);
		else
			pthread_cond_wait(&s->work, &s->lock);
	}
}

static void *store_thread(void *userdata)
{
	struct store *s = userdata;
	uint64_t not_before = 0, retry_at = clock_ns(CLOCK_MONOTONIC) + RETRY_NS;
	struct batch *group;
	uint64_t retries;
	bool again;

	prctl(PR_SET_NAME, "fprofd-store");
	pthread_mutex_lock(&s->lock);
	while (wait_for_work(s, is_degraded(s), not_before, retry_at)) {
		retries = s->retries;
		again = retries != s->retries_done || clock_ns(CLOCK_MONOTONIC) >= retry_at;
		group = s->first ? take_group(s) : NULL;
		pthread_mutex_unlock(&s->lock);
		not_before = clock_ns(CLOCK_MONOTONIC) + COMMIT_INTERVAL_NS;
		if (group)
			write_group(s, group);
		if (again) {
			try_again(s);
			retry_at = clock_ns(CLOCK_MONOTONIC) + RETRY_NS;
		}
		pthread_mutex_lock(&s->lock);
		s->hurry = s->hurry && s->first;
		s->retries_done = retries;
		pthread_cond_broadcast(&s->done);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

static int note_stale(struct store *s)
{
	size_t i;

	for (i = 0; i < s->history.sessions.all.count; i++)
		if (s->history.sessions.all.at[i]->state == SESSION_LIVE &&
		    VEC_PUSH(&s->stale, s->history.sessions.all.at[i]->id) < 0)
			return -ENOMEM;
	return 0;
}

static uint64_t newest_id(const struct store *s)
{
	size_t count = s->history.sessions.all.count;

	return count > 0 ? s->history.sessions.all.at[count - 1]->id : 0;
}

static int start(struct store *s)
{
	int r = note_stale(s);

	if (r == 0)
		r = cond_init_monotonic(&s->work);
	if (r == 0)
		r = cond_init_monotonic(&s->done);
	if (r < 0)
		return r;
	pthread_mutex_init(&s->lock, NULL);
	store_history_maintain(&s->history);
	publish_health(s, 0);
	return -pthread_create(&s->thread, NULL, store_thread, s);
}

int store_new(const struct config *config, store_committed_fn fn, void *userdata,
	      struct store **ret_store)
{
	_cleanup_free_ struct store *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->committed = fn;
	s->userdata = userdata;
	r = store_history_init(&s->history, config);
	if (r < 0) {
		log_error("history: %s: %s", config->history_dir, strerror(-r));
		return r;
	}
	r = store_state_init(&s->state, config->state_dir, newest_id(s));
	if (r == 0)
		r = start(s);
	if (r < 0) {
		log_error("store: %s", strerror(-r));
		VEC_FREE(&s->stale);
		store_history_deinit(&s->history);
		return r;
	}
	*ret_store = s;
	s = NULL;
	return 0;
}

void store_free(struct store *store)
{
	if (!store)
		return;
	pthread_mutex_lock(&store->lock);
	store->stop = true;
	pthread_cond_signal(&store->work);
	pthread_mutex_unlock(&store->lock);
	pthread_join(store->thread, NULL);
	store_history_deinit(&store->history);
	store_state_deinit(&store->state);
	VEC_FREE(&store->stale);
	pthread_cond_destroy(&store->work);
	pthread_cond_destroy(&store->done);
	pthread_mutex_destroy(&store->lock);
	free(store);
}

uint64_t store_submit(struct store *store, struct batch *batch)
{
	uint64_t queued;

	batch->weight = batch_weight(batch);
	batch->next = NULL;
	pthread_mutex_lock(&store->lock);
	if (store->last)
		store->last->next = batch;
	else
		store->first = batch;
	store->last = batch;
	store->submitted++;
	store->hurry |= batch->sessions.count > 0; /* whoever asks for one at once is to find it */
	store->queued_bytes += batch->weight;
	queued = store->queued_bytes;
	pthread_cond_signal(&store->work);
	pthread_mutex_unlock(&store->lock);
	return queued;
}

void store_session_coming(struct store *store)
{
	pthread_mutex_lock(&store->lock);
	store->sessions_coming++;
	pthread_mutex_unlock(&store->lock);
}

void store_session_not_coming(struct store *store)
{
	pthread_mutex_lock(&store->lock);
	store->sessions_coming -= store->sessions_coming > 0;
	pthread_cond_broadcast(&store->done);
	pthread_mutex_unlock(&store->lock);
}

void store_await_sessions(struct store *store, uint64_t until_ns)
{
	const struct timespec until = clock_timespec(until_ns);
	int r = 0;

	pthread_mutex_lock(&store->lock);
	while (r == 0 && store->sessions_coming > 0)
		r = pthread_cond_timedwait(&store->done, &store->lock, &until);
	pthread_mutex_unlock(&store->lock);
}

void store_flush(struct store *store)
{
	uint64_t target, retries;

	pthread_mutex_lock(&store->lock);
	target = store->submitted;
	retries = store->retries;
	while (store->finished < target || store->retries_done < retries) {
		store->hurry = true;
		pthread_cond_signal(&store->work);
		pthread_cond_wait(&store->done, &store->lock);
	}
	pthread_mutex_unlock(&store->lock);
}

void store_retry(struct store *store)
{
	pthread_mutex_lock(&store->lock);
	store->retries++;
	pthread_cond_signal(&store->work);
	pthread_mutex_unlock(&store->lock);
}

uint64_t store_next_session_id(struct store *store)
{
	return store_state_next_id(&store->state);
}

void store_health(struct store *store, struct store_health *ret_health)
{
	struct store_history *h = &store->history;

	pthread_mutex_lock(&store->lock);
	*ret_health = store->health;
	ret_health->queued_bytes = store->queued_bytes;
	pthread_mutex_unlock(&store->lock);
	ret_health->budget_bytes = h->budget_bytes;
	pthread_mutex_lock(&h->lock);
	ret_health->history = h->place.where;
	snprintf(ret_health->history_reason, sizeof(ret_health->history_reason), "%s",
		 h->place.reason);
	pthread_mutex_unlock(&h->lock);
	ret_health->state_ok = store_state_health(&store->state, ret_health->state_reason,
						  sizeof(ret_health->state_reason));
}

uint64_t store_location(struct store *store, char *path, size_t size, bool *ret_is_uri)
{
	struct store_history *h = &store->history;
	uint64_t generation;

	pthread_mutex_lock(&h->lock);
	snprintf(path, size, "%s", h->place.path);
	*ret_is_uri = h->place.is_uri;
	generation = h->place.generation;
	pthread_mutex_unlock(&h->lock);
	return generation;
}

void store_read_lock(struct store *store)
{
	pthread_rwlock_rdlock(&store->history.use);
}

void store_read_unlock(struct store *store)
{
	pthread_rwlock_unlock(&store->history.use);
}
