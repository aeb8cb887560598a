/* SPDX-License-Identifier: MIT */
/*
 * What the tests of captures share: a session with everything in it, and the comparison of what two
 * readers answer of it.
 */
#ifndef FPROF_TESTS_CAPTURES_FIXTURE_H
#define FPROF_TESTS_CAPTURES_FIXTURE_H

#include "store_fixture.h"

#include "daemon/capture_check.h"
#include "daemon/captures.h"

#include <fcntl.h>

struct world {
	struct fixture f;
	struct captures *captures;
	char directory[128];
};

static UNUSED void world_open(struct world *w)
{
	fixture_open(&w->f);
	/* The sessions of these tests have small numbers of their own. */
	while (store_next_session_id(w->f.store) < 100)
		;
	w->f.config.captures_mib = 64;
	assert_int_equal(captures_new(&w->f.config, w->f.store, &w->captures), 0);
}

static UNUSED void world_close(struct world *w)
{
	captures_free(w->captures);
	w->captures = NULL;
	fixture_close(&w->f);
}

static UNUSED struct world *world_new(void)
{
	struct world *w = must(calloc(1, sizeof(*w)));

	fixture_init(&w->f);
	snprintf(w->directory, sizeof(w->directory), "%s/captures", w->f.state_dir);
	world_open(w);
	return w;
}

static UNUSED void world_free(struct world *w)
{
	world_close(w);
	fixture_deinit(&w->f);
	free(w);
}

static UNUSED void submit(struct world *w, struct batch *b)
{
	fixture_submit(&w->f, b);
}

#define FRAME_TICKS 1000

/* Session 1: three tracks and a GPU queue, a stream of its own, names in two scripts. Track 2 is
 * silent for most of the time with a zone open, track 3 has one chunk at the very begin. */
static UNUSED struct batch *rich_names(void)
{
	struct batch *b = first_batch(1, 1);

	add_track(b, 1, 2, "日本語のスレッド");
	add_track(b, 1, 3, "early");
	PUSH(&b->tracks, (struct track_row){.session = 1,
					    .track = 4,
					    .kind = TRACK_GPU_QUEUE,
					    .name = must(strdup("graphics")),
					    .end_ticks = INT64_MAX,
					    .ns_per_tick = 1.5,
					    .valid_bits = 36});
	add_stream(b, 1, 1, "physics");
	add_marker(b, 1, 5, "draw_calls");
	b->markers.at[4].kind = 5;
	PUSH(&b->infos, (struct info_row){1, must(strdup("map")), must(strdup("köln"))});
	PUSH(&b->memories, (struct memory_row){1, 77, 0, 1, 4096});
	return b;
}

static UNUSED void rich_frame(struct batch *b, uint64_t n)
{
	int64_t t = (int64_t)n * FRAME_TICKS;
	struct maker *m = maker_new(1, 1, 0, t);

	if (n % 3 == 0)
		make_carried(m, 3, t - 1500);
	make_begin(m, t + 10, 1);
	make_begin(m, t + 20, 2);
	make_text(m, t + 25, "naïve");
	make_end(m, t + 500);
	make_message(m, t + 600, 4, 0xff0000, "schön");
	make_end(m, t + 990);
	make_chunk(m, b)->late = n % 7 == 0;
	add_frame(b, 1, 0, n, t, t + FRAME_TICKS);
	b->frames.at[b->frames.count - 1].events = 7;
	if (n % 2 == 0)
		add_frame(b, 1, 1, n / 2, t - FRAME_TICKS / 2, t + 3 * FRAME_TICKS / 2);
	PUSH(&b->frame_counters, (struct frame_counter_row){.session = 1,
							    .frame = n,
							    .marker = 5,
							    .is_double = n % 2,
							    .value.i = (int64_t)n});
	PUSH(&b->gpu_spans, (struct gpu_span_row){.session = 1,
						  .frame = n,
						  .track = 4,
						  .marker = 3,
						  .submission = n,
						  .begin_ns = t,
						  .end_ns = t + 300,
						  .calibrated = true});
	PUSH(&b->frame_gpus, (struct frame_gpu_row){1, n, 4, 300, 280, 1, n % 5 == 0, n % 11 != 0});
	if (n % 9 == 0)
		PUSH(&b->gaps, (struct gap_row){1, 1, 0, t + 100, t + 200, n});
}

/* What is on the tracks that are mostly silent. */
static UNUSED void rich_silence(struct batch *b, uint64_t frames)
{
	struct maker *m = maker_new(1, 2, 0, 1200);

	make_begin(m, 1200, 2);
	make_chunk(m, b);
	m = maker_new(1, 2, 0, (int64_t)(frames + 1) * FRAME_TICKS);
	make_carried(m, 2, 1200);
	make_end(m, (int64_t)(frames + 1) * FRAME_TICKS);
	make_chunk(m, b);
	m = maker_new(1, 3, 1, 100);
	make_begin(m, 100, 1);
	make_chunk(m, b);
}

/* A whole session of so many frames, live. */
static UNUSED void add_rich(struct world *w, uint64_t frames)
{
	struct batch *b = rich_names();
	struct session_update_row update = {.id = 1,
					    .state = SESSION_LIVE,
					    .end_ns = -1,
					    .threads_active = 3,
					    .frames_total = frames,
					    .produced = 1000,
					    .received = 900,
					    .stored = 890,
					    .overwritten = 100,
					    .ring_fill_max_permille = 42};
	uint64_t n;

	update.discarded[DISCARD_QUOTA] = 10;
	update.repaired[REPAIR_LATE_EVENT] = 3;
	rich_silence(b, frames);
	for (n = 1; n <= frames; n++)
		rich_frame(b, n);
	PUSH(&b->updates, update);
	submit(w, b);
}

static UNUSED void assert_same_text(const char *a, const char *b)
{
	if (!a || !b)
		assert_ptr_equal(a, b);
	else
		assert_string_equal(a, b);
}

static UNUSED void assert_same_frame(const struct history_frame *a, const struct history_frame *b)
{
	assert_int_equal(a->row.frame, b->row.frame);
	assert_int_equal(a->row.engine_id, b->row.engine_id);
	assert_int_equal(a->row.t0, b->row.t0);
	assert_int_equal(a->row.t1, b->row.t1);
	assert_int_equal(a->row.begin_ns, b->row.begin_ns);
	assert_int_equal(a->row.end_ns, b->row.end_ns);
	assert_int_equal(a->row.cpu_ns, b->row.cpu_ns);
	assert_int_equal(a->row.wait_gpu_ns, b->row.wait_gpu_ns);
	assert_int_equal(a->row.events, b->row.events);
	assert_int_equal(a->row.lost_events, b->row.lost_events);
	assert_int_equal(a->row.flags, b->row.flags);
	assert_int_equal(a->row.track, b->row.track);
	assert_int_equal(a->gpu_ns, b->gpu_ns);
	assert_int_equal(a->late_events, b->late_events);
	assert_int_equal(a->truncated, b->truncated);
}

static UNUSED void assert_same_zone(const struct history_zone *a, const struct history_zone *b)
{
	assert_int_equal(a->track, b->track);
	assert_int_equal(a->marker, b->marker);
	assert_int_equal(a->begin_ns, b->begin_ns);
	assert_int_equal(a->end_ns, b->end_ns);
	assert_int_equal(a->full_begin_ns, b->full_begin_ns);
	assert_int_equal(a->depth, b->depth);
	assert_int_equal(a->parent, b->parent);
	assert_int_equal(a->flags, b->flags);
	assert_same_text(a->text, b->text);
}

static UNUSED void assert_same_others(const struct history_frame_detail *a,
				      const struct history_frame_detail *b)
{
	size_t i;

	assert_int_equal(a->messages.count, b->messages.count);
	for (i = 0; i < a->messages.count; i++) {
		assert_int_equal(a->messages.at[i].ns, b->messages.at[i].ns);
		assert_same_text(a->messages.at[i].text, b->messages.at[i].text);
	}
	assert_int_equal(a->open.count, b->open.count);
	for (i = 0; i < a->open.count; i++) {
		assert_int_equal(a->open.at[i].marker, b->open.at[i].marker);
		assert_int_equal(a->open.at[i].begin_ns, b->open.at[i].begin_ns);
	}
	assert_int_equal(a->counters.count, b->counters.count);
	for (i = 0; i < a->counters.count; i++) {
		assert_int_equal(a->counters.at[i].marker, b->counters.at[i].marker);
		assert_int_equal(a->counters.at[i].is_double, b->counters.at[i].is_double);
		assert_int_equal(a->counters.at[i].value.i, b->counters.at[i].value.i);
	}
	assert_int_equal(a->gpu_spans.count, b->gpu_spans.count);
	for (i = 0; i < a->gpu_spans.count; i++)
		assert_int_equal(a->gpu_spans.at[i].end_ns, b->gpu_spans.at[i].end_ns);
	assert_int_equal(a->gpus.count, b->gpus.count);
	for (i = 0; i < a->gpus.count; i++)
		assert_int_equal(a->gpus.at[i].busy_ns, b->gpus.at[i].busy_ns);
	assert_int_equal(a->gaps.count, b->gaps.count);
	for (i = 0; i < a->gaps.count; i++)
		assert_int_equal(a->gaps.at[i].events, b->gaps.at[i].events);
	assert_int_equal(a->markers.count, b->markers.count);
	for (i = 0; i < a->markers.count; i++)
		assert_same_text(a->markers.at[i].name, b->markers.at[i].name);
}

static UNUSED void assert_same_detail(const struct history_frame_detail *a,
				      const struct history_frame_detail *b)
{
	size_t i;

	assert_same_frame(&a->frame, &b->frame);
	assert_int_equal(a->truncated, b->truncated);
	assert_int_equal(a->tracks.count, b->tracks.count);
	for (i = 0; i < a->tracks.count; i++) {
		assert_int_equal(a->tracks.at[i].track, b->tracks.at[i].track);
		assert_same_text(a->tracks.at[i].name, b->tracks.at[i].name);
	}
	assert_int_equal(a->zones.count, b->zones.count);
	for (i = 0; i < a->zones.count; i++)
		assert_same_zone(&a->zones.at[i], &b->zones.at[i]);
	assert_same_others(a, b);
}

/* Frames from..to of session a in x are those of session b in y, with all that is in them. */
static UNUSED void assert_same_frames(struct history *x, uint64_t a, struct history *y, uint64_t b,
				      uint64_t from, uint64_t to)
{
	struct history_frame_detail dx, dy;
	struct history_frames fx, fy;
	uint64_t n;
	size_t i;

	assert_int_equal(history_frames(x, a, NULL, from, to, &fx), 0);
	assert_int_equal(history_frames(y, b, NULL, from, to, &fy), 0);
	assert_int_equal(fx.frames.count, to - from + 1);
	assert_int_equal(fy.frames.count, fx.frames.count);
	for (i = 0; i < fx.frames.count; i++)
		assert_same_frame(&fx.frames.at[i], &fy.frames.at[i]);
	for (n = from; n <= to; n++) {
		assert_int_equal(history_frame_detail(x, a, NULL, n, 0, &dx), 0);
		assert_int_equal(history_frame_detail(y, b, NULL, n, 0, &dy), 0);
		assert_same_detail(&dx, &dy);
		history_frame_detail_deinit(&dx);
		history_frame_detail_deinit(&dy);
	}
	history_frames_deinit(&fx);
	history_frames_deinit(&fy);
}

/* Uploads a file: what captures_upload returns. */
static UNUSED int upload(struct world *w, const char *path, uint64_t *ret_id, char *why)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), r;

	assert_true(fd >= 0);
	r = captures_upload(w->captures, fd, NULL, 1001, ret_id, why);
	close(fd);
	return r;
}

static UNUSED void file_of(struct world *w, uint64_t id, char *path, size_t size)
{
	struct capture c;

	assert_int_equal(captures_find(w->captures, id, HISTORY_ANY_UID, &c), 0);
	snprintf(path, size, "%s/%s", w->directory, c.file);
	capture_deinit(&c);
}

static UNUSED uint64_t save(struct world *w, uint64_t first, uint64_t last)
{
	struct capture_order order = {.session = 1, .first = first, .last = last};
	uint64_t id = 0;

	assert_int_equal(captures_save(w->captures, &order, HISTORY_ANY_UID, &id), 0);
	assert_true(id > 0);
	return id;
}

#endif
