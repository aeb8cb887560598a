/* SPDX-License-Identifier: MIT */
/* What the drain counts of zones is what their chunks say, path by path and in the same order. */
#include "fake_game.h"

#include "daemon/sql.h"
#include "daemon/store_db.h"
#include "daemon/zone_counter.h"
#include "daemon/zone_totals.h"

enum { MARKERS = 12 };

struct world {
	struct fake_memory m;
	struct fake_thread t;
	struct live *s;
	uint32_t markers[MARKERS];
	sqlite3 *db;
	struct zone_totals counted, read; /* what was counted; what chunks say */
	size_t chunks;			  /* of the batch, that both have */
	unsigned with_counts;
};

static uint64_t seed = 4711;

static uint64_t draw(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static int setup(void **state)
{
	const struct zone_totals_mark mark = {0};
	struct world *w = calloc(1, sizeof(*w));
	char name[16];
	unsigned i;

	assert_non_null(w);
	fake_memory_new(&w->m, FPROF_RING_WORDS_MIN, FPROF_ORIGIN_GAME);
	for (i = 0; i < MARKERS; i++) {
		snprintf(name, sizeof(name), "zone %u", i);
		w->markers[i] = fake_marker(
			&w->m, i == 0 ? FPROF_MARKER_WAIT_GPU : FPROF_MARKER_ZONE, name);
	}
	w->s = fake_session(&w->m, 1);
	fake_thread_begin(&w->t, &w->m, 0, 100, 1, "t0", 1);
	assert_int_equal(db_open("file:/test-zone-counter?vfs=memdb", DB_MEMORY, false, &w->db), 0);
	assert_int_equal(sql_exec(w->db, "INSERT INTO sessions VALUES (1, 1, 1, 0, 0, 0, NULL, "
					 "NULL, NULL, NULL, NULL, 1, 1e9, 1, 0, 0, 0, 1, 0, 0);"
					 "INSERT INTO session_totals (session, zones_counted_to) "
					 "VALUES (1, 0)"),
			 0);
	assert_int_equal(zone_totals_open(w->db, 1, &mark, INT64_MIN, &w->counted), 0);
	assert_int_equal(zone_totals_open(w->db, 1, &mark, INT64_MIN, &w->read), 0);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	zone_totals_deinit(&w->counted);
	zone_totals_deinit(&w->read);
	sqlite3_close(w->db);
	fake_session_free(w->s);
	fake_memory_deinit(&w->m);
	free(w);
	return 0;
}

static void compare(const struct world *w)
{
	size_t i;

	assert_int_equal(w->counted.nodes.count, w->read.nodes.count);
	assert_int_equal(w->counted.mark.uncounted, w->read.mark.uncounted);
	for (i = 0; i < w->read.nodes.count; i++) {
		assert_int_equal(w->counted.nodes.at[i].parent, w->read.nodes.at[i].parent);
		assert_int_equal(w->counted.nodes.at[i].marker, w->read.nodes.at[i].marker);
		assert_memory_equal(&w->counted.sums.at[i], &w->read.sums.at[i],
				    sizeof(struct zone_sum));
	}
}

/* Sweeps, and takes the new chunks both ways. */
static void finish(struct world *w, uint64_t now)
{
	const struct batch *b = w->s->batch;

	fake_sweep(w->s, now);
	assert_int_equal(live_flush(w->s), 0);
	for (; w->chunks < b->chunks.count; w->chunks++) {
		const struct chunk_row *row = &b->chunks.at[w->chunks];
		struct zone_totals_chunk chunk = {.id = (int64_t)w->chunks + 1,
						  .t0 = row->t0,
						  .track = row->track,
						  .events = row->events,
						  .raw = row->data,
						  .bytes = row->bytes};

		assert_int_equal(zone_totals_chunk(&w->read, &chunk), 0);
		if (row->counted && row->counts > 0) {
			assert_in_range(row->counts_from + row->counts, 1, b->zone_counts.count);
			chunk.counts = &b->zone_counts.at[row->counts_from];
			chunk.count = row->counts;
			w->with_counts++;
		}
		assert_int_equal(zone_totals_chunk(&w->counted, &chunk), 0);
	}
	compare(w);
}

/* Mostly what is in order; ends of other zones, and of none, too. */
static void random_event(struct world *w, uint32_t *open, unsigned *depth, uint64_t t)
{
	uint32_t marker = w->markers[(*depth + draw() % 3) % MARKERS];
	unsigned what = draw() % 100, above = *depth;

	if (what < 2) {
		fake_end(&w->t, marker, t);
		while (above > 0 && open[above - 1] != marker)
			above--;
		*depth = above > 0 ? above - 1 : *depth;
	} else if (what < 50 && *depth < 4) {
		fake_begin(&w->t, marker, t);
		open[(*depth)++] = marker;
	} else if (what < 60 && *depth > 0) {
		fake_next(&w->t, marker, t);
		open[*depth - 1] = marker;
	} else if (*depth > 0) {
		fake_end(&w->t, open[--*depth], t);
	}
}

static void counts_are_what_the_chunks_say(void **state)
{
	struct world *w = *state;
	uint32_t open[32];
	unsigned depth = 0, round, i;
	uint64_t t = 10;

	w->s->count_from = 20; /* with zones open by then */
	for (round = 0; round < 300; round++) {
		/* some rounds are too much for the ring: what is open is closed */
		unsigned events = (unsigned)(draw() % (round % 50 == 49 ? 20000 : 1500));

		for (i = 0; i < events; i++) {
			t += draw() % 5;
			random_event(w, open, &depth, t);
			if (draw() % 300 == 0)
				fake_mark(&w->t, ++t);
		}
		finish(w, ++t);
	}
	assert_true(w->with_counts > 100);
	assert_true(w->s->repaired[REPAIR_TRUNCATED_ZONE] > 0);
	assert_true(w->s->repaired[REPAIR_UNBALANCED_END] > 0);
	assert_true(fake_ring(w->s, 0, 0)->overwritten > 0);
}

/* Of too many paths chunks are read, as before. */
static void too_many_paths_are_left_to_the_store(void **state)
{
	struct world *w = *state;
	uint32_t path[5], depth, i, n;
	uint64_t t = 10;

	w->s->count_from = 0;
	for (n = 0; n < 5000; n++) {
		for (depth = 0, i = n; depth < 5; depth++, i /= 11) {
			path[depth] = w->markers[1 + i % 11];
			fake_begin(&w->t, path[depth], t++);
		}
		while (depth > 0)
			fake_end(&w->t, path[--depth], t++);
		if (n % 100 == 0) {
			fake_mark(&w->t, ++t);
			finish(w, ++t);
		}
	}
	finish(w, ++t);
	assert_true(w->with_counts > 0);
	assert_true(w->s->tracks.parts->uncounted);
	assert_int_equal(w->s->tracks.counters, 0);
	assert_int_equal(w->s->repaired[REPAIR_UNBALANCED_END], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(counts_are_what_the_chunks_say, setup, teardown),
		cmocka_unit_test_setup_teardown(too_many_paths_are_left_to_the_store, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
