/* SPDX-License-Identifier: MIT */
/* Readers go on while the store writes, evicts, and moves the history to memory and back: each
 * frame that they are told of has exactly its zones, or is evicted, and no read fails. */
#include "store_fixture.h"

#include "daemon/log.h"

#include <pthread.h>

#define READERS 3
#define ZONES	40

struct reader {
	struct fixture *f;
	pthread_t thread;
	bool *stop;
	unsigned long reads, bad, errors;
};

/* The newest, and the oldest that still has its events. */
static void read_frame(struct reader *reader, struct history *history, uint64_t frame)
{
	struct history_frame_detail d;
	int r = history_frame_detail(history, 1, NULL, frame, 0, &d);

	reader->reads++;
	if (r < 0) {
		reader->errors += r != -ENOENT;
		return;
	}
	if (!(d.frame.row.flags & FRAME_EVENTS_EVICTED))
		reader->bad += d.zones.count != ZONES || d.gaps.count > 0 || d.truncated;
	history_frame_detail_deinit(&d);
}

static void *read_on(void *userdata)
{
	struct reader *reader = userdata;
	struct history_session session;
	struct history *history;

	if (history_open(reader->f->store, &history) < 0)
		abort();
	while (!__atomic_load_n(reader->stop, __ATOMIC_RELAXED)) {
		int r = history_session(history, 0, HISTORY_ANY_UID, &session);

		reader->errors += r < 0 && r != -ENOENT;
		if (r < 0)
			continue;
		if (session.last_frame > 0) {
			read_frame(reader, history, session.last_frame);
			read_frame(reader, history,
				   session.last_frame - session.frames_retained + 1);
		}
		history_session_deinit(&session);
	}
	history_close(history);
	return NULL;
}

static struct batch *frame_of(uint64_t n)
{
	struct batch *b = must(batch_new());
	int64_t t = (int64_t)n * 10000;

	add_zones(b, 1, 1, t, t + 10000, ZONES);
	add_frame(b, 1, 0, n, t, t + 10000);
	return b;
}

static void record(struct fixture *f, uint64_t from, uint64_t to)
{
	uint64_t n;

	for (n = from; n <= to; n++) {
		store_submit(f->store, frame_of(n));
		if (n % 3 == 0)
			store_flush(f->store);
	}
	store_flush(f->store);
}

static enum store_place place_of(struct fixture *f)
{
	struct store_health health;

	store_health(f->store, &health);
	return health.history;
}

static void readers_see_whole_frames(void **state)
{
	struct reader readers[READERS] = {0};
	struct fixture f;
	bool stop = false;
	FILE *file;
	size_t i;

	(void)state;
	fixture_init(&f);
	f.config.history_frames = 50;
	file = must(fopen(f.history_dir, "w")); /* in memory at first */
	fclose(file);
	fixture_open(&f);
	store_submit(f.store, first_batch(1, 1));
	for (i = 0; i < READERS; i++) {
		readers[i].f = &f;
		readers[i].stop = &stop;
		assert_int_equal(pthread_create(&readers[i].thread, NULL, read_on, &readers[i]), 0);
	}
	record(&f, 1, 300);
	assert_int_equal(place_of(&f), STORE_IN_MEMORY);
	assert_int_equal(unlink(f.history_dir), 0);
	store_retry(f.store);
	record(&f, 301, 600);
	assert_int_equal(place_of(&f), STORE_ON_DISK);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (i = 0; i < READERS; i++) {
		assert_int_equal(pthread_join(readers[i].thread, NULL), 0);
		assert_int_equal(readers[i].errors, 0);
		assert_int_equal(readers[i].bad, 0);
		assert_true(readers[i].reads > 0);
	}
	assert_sound(f.history_db);
	fixture_deinit(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(readers_see_whole_frames),
	};

	log_set_level(LOG_LEVEL_ERROR);
	return cmocka_run_group_tests_name("store_readers", tests, NULL, NULL);
}
