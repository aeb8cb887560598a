/* SPDX-License-Identifier: MIT */
/* What is sampled from outside, of this process, by one daemon and by the next. */
#include "store_fixture.h"

#include "daemon/history_sampled.h"
#include "daemon/sampler.h"

#include <pthread.h>
#include <semaphore.h>

/* Two rounds: the second one has begun after the call. Meanwhile threads are read. */
static void wait_for_rounds(struct sampler *sampler, struct batch *batch)
{
	struct sampler_health health;
	uint64_t from;

	sampler_health(sampler, &health);
	from = health.rounds;
	while (health.rounds < from + 2) {
		usleep(1000);
		sampler_read_marking(sampler, batch);
		sampler_health(sampler, &health);
	}
}

static bool was_read(const struct batch *batch, int32_t tid)
{
	size_t i;

	for (i = 0; i < batch->rans.count; i++)
		if (batch->rans.at[i].tid == tid)
			return true;
	return false;
}

/* Threads are read in turn, and a reading that took long is left out. */
static void wait_for_reading(struct sampler *sampler, struct batch *batch, int32_t tid)
{
	uint32_t tries;

	for (tries = 0; !was_read(batch, tid); tries++) {
		assert_true(tries < 10000);
		usleep(1000);
		sampler_read_marking(sampler, batch);
	}
}

/* Samples the session while it is told of two threads that mark frames, one after the other. */
static void sample(struct fixture *f, int32_t first, int32_t second)
{
	const struct session_row row = {
		.id = 1, .pid = getpid(), .clock_kind = 1, .clock_hz = 1e9, .clock_mult = 1};
	struct batch *batch = must(batch_new());
	struct sampler *sampler;

	f->config.sample_ms = 100;
	assert_int_equal(sampler_new(&f->config, NULL, f->store, &sampler), 0);
	sampler_add(sampler, &row);
	sampler_mark(sampler, 1, first, true);
	wait_for_rounds(sampler, batch);
	sampler_mark(sampler, 1, second, false);
	wait_for_rounds(sampler, batch);
	wait_for_reading(sampler, batch, second);
	sampler_free(sampler);
	store_submit(f->store, batch);
	store_flush(f->store);
}

static uint32_t number_of(struct fixture *f, const char *name, size_t *ret_count)
{
	history_sampled_vec sampled;
	uint32_t number = 0;
	size_t i;

	assert_int_equal(history_sampled(f->history, 1, &sampled), 0);
	*ret_count = sampled.count;
	for (i = 0; i < sampled.count; i++) {
		if (strcmp(sampled.at[i].name, name) != 0)
			continue;
		assert_int_equal(number, 0); /* one row a name */
		number = sampled.at[i].counter;
	}
	history_sampled_free(&sampled);
	assert_int_not_equal(number, 0);
	return number;
}

struct other {
	int32_t tid;
	sem_t begun, may_end;
};

static void *be_there(void *userdata)
{
	struct other *other = userdata;

	other->tid = gettid();
	sem_post(&other->begun);
	sem_wait(&other->may_end);
	return NULL;
}

static void counters_keep_their_numbers_over_a_restart(void **state)
{
	static const char *const names[] = {"cpu_time", "threads", "resident_bytes"};
	struct fixture *f = *state;
	uint32_t before[3];
	size_t i, count, again;

	fixture_submit(f, first_batch(1, 1));
	sample(f, getpid(), getpid());
	for (i = 0; i < 3; i++)
		before[i] = number_of(f, names[i], &count);
	sample(f, getpid(), getpid());
	for (i = 0; i < 3; i++)
		assert_int_equal(number_of(f, names[i], &again), before[i]);
	assert_int_equal(again, count);
}

/* How long each ran is read, and what it ran in between is the difference. */
static void threads_that_mark_frames_are_read_often(void **state)
{
	struct fixture *f = *state;
	history_rans_vec rans;
	struct other other;
	pthread_t thread;
	int64_t last = 0;
	size_t i;

	sem_init(&other.begun, 0, 0);
	sem_init(&other.may_end, 0, 0);
	assert_int_equal(pthread_create(&thread, NULL, be_there, &other), 0);
	sem_wait(&other.begun);
	fixture_submit(f, first_batch(1, 1));
	sample(f, getpid(), other.tid);
	assert_int_equal(history_ran(f->history, 1, getpid(), 0, INT64_MAX, &rans), 0);
	assert_true(rans.count >= 2); /* in three rounds of 100 ms */
	for (i = 0; i < rans.count; i++) {
		assert_true(rans.at[i].ran_ns >= last);
		assert_true(i == 0 || rans.at[i].ns > rans.at[i - 1].ns);
		last = rans.at[i].ran_ns;
	}
	assert_true(last > 0);
	VEC_FREE(&rans);
	assert_int_equal(history_ran(f->history, 1, other.tid, 0, INT64_MAX, &rans), 0);
	assert_true(rans.count > 0);
	VEC_FREE(&rans);
	sem_post(&other.may_end);
	pthread_join(thread, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(counters_keep_their_numbers_over_a_restart,
						fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(threads_that_mark_frames_are_read_often,
						fixture_setup, fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
