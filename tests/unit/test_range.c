/* SPDX-License-Identifier: MIT */
/* What a visit of a range tells, of chunks made by hand. */
#include "store_fixture.h"

#include "daemon/range.h"
#include "shm/word.h"

/* Frames [0, 100), [100, 200), [200, 300) of session 1. */
static struct batch *three_frames(void)
{
	struct batch *b = first_batch(1, 1);

	add_frame(b, 1, 0, 1, 0, 100);
	add_frame(b, 1, 0, 2, 100, 200);
	add_frame(b, 1, 0, 3, 200, 300);
	return b;
}

/* What a visit said, as text: a line for each call. */
struct told {
	char text[8192];
	size_t length;
	size_t skip;	   /* tracks from this index on are skipped; 0: none */
	int stop_at_begin; /* answered to the first begin */
};

#define TELL(t, ...)    \
	((t)->length += \
	 (size_t)snprintf((t)->text + (t)->length, sizeof((t)->text) - (t)->length, __VA_ARGS__))

static int on_track(void *userdata, size_t index, const struct track_row *track)
{
	struct told *t = userdata;

	TELL(t, "track %s\n", track->name ? track->name : "?");
	return t->skip > 0 && index >= t->skip ? 1 : 0;
}

static int on_begin(void *userdata, uint32_t marker, int64_t at, uint32_t depth)
{
	struct told *t = userdata;

	TELL(t, "%*sbegin %u @%ld\n", (int)depth, "", marker, (long)at);
	return t->stop_at_begin;
}

static int on_end(void *userdata, const struct range_zone *z)
{
	static const char letters[] = "betou";
	struct told *t = userdata;
	unsigned i;

	TELL(t, "%*send %u %ld-%ld", (int)z->depth, "", z->marker, (long)z->begin, (long)z->end);
	if (z->full_begin != z->begin || z->full_end != z->end)
		TELL(t, " of %ld-%ld", (long)z->full_begin,
		     z->full_end == INT64_MAX ? -1 : (long)z->full_end);
	if (z->children)
		TELL(t, " children %ld", (long)z->children);
	if (z->flags)
		TELL(t, " ");
	for (i = 0; i < 5; i++)
		if (z->flags & 1u << i)
			TELL(t, "%c", letters[i]);
	if (z->text)
		TELL(t, " '%s'", z->text);
	if (z->has_value)
		TELL(t, " =%ld", (long)z->value.i);
	TELL(t, "\n");
	return 0;
}

static int on_event(void *userdata, const struct range_event *e)
{
	static const char *const kinds[] = {"instant", "message", "counter", "mark"};
	struct told *t = userdata;

	TELL(t, "%s %u @%ld", kinds[e->kind], e->marker, (long)e->t);
	if (e->kind == RANGE_MESSAGE)
		TELL(t, " '%s' #%06x", e->text, e->colour);
	if (e->kind == RANGE_COUNTER || e->kind == RANGE_MARK)
		TELL(t, " %s%ld", e->adds ? "+" : "", (long)e->value.i);
	TELL(t, "\n");
	return 0;
}

static int on_gap(void *userdata, const struct gap_row *gap)
{
	struct told *t = userdata;

	TELL(t, "gap %ld-%ld of %lu\n", (long)gap->t0, (long)gap->t1, (unsigned long)gap->events);
	return 0;
}

static int on_gpu(void *userdata, const struct range_gpu_zone *z)
{
	struct told *t = userdata;

	TELL(t, "%*sgpu %u %ld-%ld\n", (int)z->depth, "", z->span.marker, (long)z->span.begin_ns,
	     (long)z->span.end_ns);
	return 0;
}

typedef VEC(struct range_step) steps_vec;

static int step_begins(void *userdata, uint32_t marker, int64_t t, uint32_t depth)
{
	(void)depth;
	PUSH((steps_vec *)userdata, ((struct range_step){t, marker}));
	return 0;
}

static int step_ends(void *userdata, const struct range_zone *z)
{
	PUSH((steps_vec *)userdata, ((struct range_step){z->end, RANGE_LEFT}));
	return 0;
}

static int on_steps(void *userdata, const struct range_step *steps, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		PUSH((steps_vec *)userdata, steps[i]);
	return 0;
}

/* Steps are the begins and ends. Returns how many. */
static size_t assert_steps(struct fixture *f, const struct range *range)
{
	steps_vec one = {0}, many = {0};
	const struct range_visitor one_by_one = {
		.userdata = &one, .begin = step_begins, .end = step_ends};
	const struct range_visitor at_once = {.userdata = &many, .steps = on_steps};
	size_t count, i;

	assert_int_equal(range_visit(f->history, range, &one_by_one), 0);
	assert_int_equal(range_visit(f->history, range, &at_once), 0);
	assert_int_equal(many.count, one.count);
	for (i = 0; i < one.count; i++) {
		assert_int_equal(many.at[i].t, one.at[i].t);
		assert_int_equal(many.at[i].marker, one.at[i].marker);
	}
	count = one.count;
	VEC_FREE(&one);
	VEC_FREE(&many);
	return count;
}

static int visit(struct fixture *f, uint64_t from, uint64_t to, struct told *t)
{
	const struct range_query query = {.from = from, .to = to};
	const struct range_visitor visitor = {.userdata = t,
					      .track = on_track,
					      .begin = on_begin,
					      .end = on_end,
					      .event = on_event,
					      .gap = on_gap,
					      .gpu = on_gpu};
	struct range range;
	int r;

	assert_int_equal(range_open(f->history, 1, &query, &range), 0);
	r = range_visit(f->history, &range, &visitor);
	assert_steps(f, &range);
	range_close(&range);
	return r;
}

static void assert_told(struct fixture *f, uint64_t from, uint64_t to, const char *expected)
{
	struct told t = {0};

	assert_int_equal(visit(f, from, to, &t), 0);
	assert_string_equal(t.text, expected);
}

static void zones_nest_and_sum_their_children(void **state)
{
	struct fixture *f = *state;
	struct batch *b = three_frames();
	struct maker *m = maker_new(1, 1, 0, 110);

	make_begin(m, 110, 1);
	make_begin(m, 120, 2);
	make_begin(m, 130, 3);
	make_end(m, 140);
	make_end(m, 150);
	make_with(m, 150, CHUNK_NEXT, 3); /* ends 1, begins 3 */
	make_end(m, 160);
	make_chunk(m, b);
	fixture_submit(f, b);
	assert_told(f, 2, 2,
		    "track main\n"
		    "begin 1 @110\n"
		    " begin 2 @120\n"
		    "  begin 3 @130\n"
		    "  end 3 130-140\n"
		    " end 2 120-150 children 10\n"
		    "end 1 110-150 children 30\n"
		    "begin 3 @150\n"
		    "end 3 150-160\n");
	assert_told(f, 1, 1, "track main\n");
	assert_told(f, 3, 3, "track main\n");
}

static void what_reaches_in_is_clipped(void **state)
{
	struct fixture *f = *state;
	struct batch *b = three_frames();
	struct maker *m = maker_new(1, 1, 0, 50);

	make_begin(m, 50, 1);
	make_begin(m, 60, 2);
	make_end(m, 70); /* over before frame 2 */
	make_begin(m, 80, 3);
	make_end(m, 100); /* over as it begins */
	make_begin(m, 100, 4);
	make_end(m, 120);
	make_begin(m, 190, 2);
	make_chunk(m, b);
	m = maker_new(1, 1, 0, 200);
	make_carried(m, 1, 50);
	make_carried(m, 2, 190);
	make_end(m, 210);
	make_end(m, 250);
	make_chunk(m, b);
	fixture_submit(f, b);
	assert_told(f, 2, 2,
		    "track main\n"
		    "begin 1 @100\n"
		    " begin 4 @100\n"
		    " end 4 100-120\n"
		    " begin 2 @190\n"
		    " end 2 190-200 of 190--1 e\n"
		    "end 1 100-200 of 50--1 children 30 be\n");
	assert_told(f, 1, 3,
		    "track main\n"
		    "begin 1 @50\n"
		    " begin 2 @60\n"
		    " end 2 60-70\n"
		    " begin 3 @80\n"
		    " end 3 80-100\n"
		    " begin 4 @100\n"
		    " end 4 100-120\n"
		    " begin 2 @190\n"
		    " end 2 190-210\n"
		    "end 1 50-250 children 70\n");
}

static void zones_of_no_length_at_a_boundary_belong_to_what_begins(void **state)
{
	struct fixture *f = *state;
	struct batch *b = three_frames();
	struct maker *m = maker_new(1, 1, 0, 50);

	make_begin(m, 50, 1);
	make_begin(m, 100, 2);
	make_end(m, 100);
	make_end(m, 100);
	make_begin(m, 150, 3);
	make_end(m, 200);
	make_begin(m, 200, 4);
	make_end(m, 200);
	make_chunk(m, b);
	fixture_submit(f, b);
	assert_told(f, 2, 2,
		    "track main\n"
		    "begin 1 @100\n"
		    " begin 2 @100\n"
		    " end 2 100-100\n"
		    "end 1 100-100 of 50-100 b\n"
		    "begin 3 @150\n"
		    "end 3 150-200\n");
}

/* A track that says nothing in the range. */
static void a_silent_track_is_open_throughout(void **state)
{
	struct fixture *f = *state;
	struct batch *b = three_frames();
	struct maker *m = maker_new(1, 2, 0, 20);

	add_track(b, 1, 2, "loader");
	make_begin(m, 20, 2);
	make_chunk(m, b);
	fixture_submit(f, b);
	assert_told(f, 2, 2,
		    "track main\n"
		    "track loader\n"
		    "begin 2 @100\n"
		    "end 2 100-200 of 20--1 beo\n");

	b = must(batch_new());
	m = maker_new(1, 2, 0, 290);
	make_carried(m, 2, 20);
	make_end(m, 290);
	make_chunk(m, b);
	fixture_submit(f, b);
	assert_told(f, 2, 2,
		    "track main\n"
		    "track loader\n"
		    "begin 2 @100\n"
		    "end 2 100-200 of 20--1 be\n");
}

static void lanes_are_merged_by_time(void **state)
{
	struct fixture *f = *state;
	struct batch *b = three_frames();
	struct maker *game = maker_new(1, 1, 0, 110), *hook = maker_new(1, 1, 1, 90);

	make_begin(game, 110, 1);
	make_begin(game, 120, 2);
	make_end(game, 180);
	make_end(game, 190);
	make_begin(hook, 90, 4);
	make_end(hook, 95);
	make_begin(hook, 130, 3); /* within the game's 2 */
	make_begin(hook, 140, 4);
	make_end(hook, 150);
	make_end(hook, 180); /* with it */
	make_chunk(game, b);
	make_chunk(hook, b);
	fixture_submit(f, b);
	assert_told(f, 2, 2,
		    "track main\n"
		    "begin 1 @110\n"
		    " begin 2 @120\n"
		    "  begin 3 @130\n"
		    "   begin 4 @140\n"
		    "   end 4 140-150\n"
		    "  end 3 130-180 children 10\n"
		    " end 2 120-180 children 50\n"
		    "end 1 110-190 children 60\n");
}

static void zones_of_lanes_that_cross_are_cut(void **state)
{
	struct fixture *f = *state;
	struct batch *b = three_frames();
	struct maker *game = maker_new(1, 1, 0, 110), *hook = maker_new(1, 1, 1, 120);

	make_begin(game, 110, 1);
	make_end(game, 150);
	make_begin(hook, 120, 2);
	make_begin(hook, 130, 3);
	make_end(hook, 160);
	make_begin(hook, 165, 4);
	make_end(hook, 170);
	make_end(hook, 180);
	make_chunk(game, b);
	make_chunk(hook, b);
	fixture_submit(f, b);
	assert_told(f, 2, 2,
		    "track main\n"
		    "begin 1 @110\n"
		    " begin 2 @120\n"
		    "  begin 3 @130\n"
		    "  end 3 130-150 t\n"
		    " end 2 120-150 children 20 t\n"
		    "end 1 110-150 children 30\n"
		    "begin 4 @165\n"
		    "end 4 165-170\n");
}

static void loss_between_chunks_truncates(void **state)
{
	struct fixture *f = *state;
	struct batch *b = three_frames();
	struct maker *m = maker_new(1, 1, 0, 110);

	make_begin(m, 110, 1);
	make_begin(m, 120, 2);
	make_chunk(m, b);
	m = maker_new(1, 1, 0, 160);
	make_carried(m, 1, 110);
	make_carried(m, 3, 140);
	make_end(m, 170);
	make_end(m, 180);
	make_chunk(m, b);
	PUSH(&b->gaps, (struct gap_row){1, 1, 0, 120, 160, 9});
	fixture_submit(f, b);
	assert_told(f, 2, 2,
		    "track main\n"
		    "gap 120-160 of 9\n"
		    "begin 1 @110\n"
		    " begin 2 @120\n"
		    " end 2 120-120 t\n"
		    " begin 3 @140\n"
		    " end 3 140-170\n"
		    "end 1 110-180 children 30\n");
}

static void repairs_are_flagged(void **state)
{
	struct fixture *f = *state;
	struct batch *b = three_frames();
	struct maker *m = maker_new(1, 1, 0, 110);

	make_begin(m, 110, 1);
	make_begin(m, 120, 2);
	make_begin(m, 130, 3);
	make_with(m, 140, CHUNK_UNBALANCED_END, 2);
	make_with(m, 145, CHUNK_STRAY_END, 3);
	make_begin(m, 150, 4);
	make_with(m, 160, CHUNK_TRUNCATE, 7);
	make_end(m, 170);
	make_chunk(m, b);
	fixture_submit(f, b);
	assert_told(f, 2, 2,
		    "track main\n"
		    "begin 1 @110\n"
		    " begin 2 @120\n"
		    "  begin 3 @130\n"
		    "  end 3 130-140 t\n"
		    " end 2 120-140 children 10 u\n"
		    " begin 4 @150\n"
		    " end 4 150-160 t\n"
		    "end 1 110-160 children 30 t\n");
}

static void texts_values_and_events_are_told(void **state)
{
	struct fixture *f = *state;
	struct batch *b = three_frames();
	struct maker *m = maker_new(1, 1, 0, 90);

	make_message(m, 90, 4, 0, "before");
	make_begin(m, 100, 1);
	make_text(m, 110, "first");
	make_text(m, 111, "level \xff");
	make_event(m, 112, CHUNK_VALUE);
	chunk_build_varint(&m->builder, FPROF_VALUE_I64);
	chunk_build_varint(&m->builder, chunk_zigzag(-5));
	make_message(m, 120, 4, 0xff8000, "spawn");
	make_with(m, 130, CHUNK_INSTANT, 3);
	make_with(m, 140, CHUNK_COUNTER, 2);
	chunk_build_varint(&m->builder, FPROF_COUNTER_ADD | FPROF_VALUE_I64 << 1);
	chunk_build_varint(&m->builder, chunk_zigzag(12));
	make_event(m, 150, CHUNK_MARK);
	chunk_build_varint(&m->builder, 7);
	chunk_build_varint(&m->builder, 1);
	chunk_build_varint(&m->builder, 1);
	chunk_build_varint(&m->builder, 43);
	make_end(m, 160);
	make_message(m, 200, 4, 0, "after");
	make_chunk(m, b);
	fixture_submit(f, b);
	assert_told(f, 2, 2,
		    "track main\n"
		    "begin 1 @100\n"
		    "message 4 @120 'spawn' #ff8000\n"
		    "instant 3 @130\n"
		    "counter 2 @140 +12\n"
		    "mark 7 @150 42\n"
		    "end 1 100-160 'level \xef\xbf\xbd' =-5\n");
}

static void a_damaged_chunk_is_a_gap(void **state)
{
	struct fixture *f = *state;
	struct batch *b = three_frames();
	struct maker *m = maker_new(1, 1, 0, 110);
	struct chunk_row *chunk;
	char sql[128];

	make_begin(m, 110, 1);
	make_chunk(m, b);
	m = maker_new(1, 1, 0, 130);
	make_carried(m, 1, 110);
	make_begin(m, 130, 2);
	make_end(m, 140);
	chunk = make_chunk(m, b);
	snprintf(sql, sizeof(sql), "UPDATE chunks SET data = x'00' WHERE t0 = %ld RETURNING 1",
		 (long)chunk->t0);
	m = maker_new(1, 1, 0, 150);
	make_carried(m, 1, 110);
	make_end(m, 160);
	make_chunk(m, b);
	fixture_submit(f, b);
	assert_int_equal(ask(f->history_db, sql), 1);
	assert_told(f, 2, 2,
		    "track main\n"
		    "begin 1 @110\n"
		    "gap 130-140 of 2\n"
		    "end 1 110-160\n");
}

static void add_span(struct batch *b, uint64_t frame, uint32_t marker, int64_t begin, int64_t end)
{
	PUSH(&b->gpu_spans, (struct gpu_span_row){.session = 1,
						  .frame = frame,
						  .track = 3,
						  .marker = marker,
						  .submission = 1,
						  .begin_ns = begin,
						  .end_ns = end,
						  .calibrated = true});
}

static void queues_have_the_zones_of_their_frames(void **state)
{
	struct fixture *f = *state;
	struct batch *b = three_frames();

	PUSH(&b->tracks, (struct track_row){.session = 1,
					    .track = 3,
					    .kind = TRACK_GPU_QUEUE,
					    .name = must(strdup("graphics")),
					    .end_ticks = INT64_MAX});
	add_span(b, 2, 2, 230, 250);
	add_span(b, 2, 1, 220, 260); /* around it */
	add_span(b, 2, 3, 255, 270); /* reaches out of it */
	add_span(b, 3, 4, 300, 310);
	fixture_submit(f, b);
	assert_told(f, 2, 2,
		    "track main\n"
		    "track graphics\n"
		    "gpu 1 220-260\n"
		    " gpu 2 230-250\n"
		    "gpu 3 255-270\n");
}

static void a_visitor_may_skip_and_stop(void **state)
{
	struct fixture *f = *state;
	struct batch *b = three_frames();
	struct maker *m = maker_new(1, 1, 0, 110), *other = maker_new(1, 2, 0, 110);
	struct told t = {.skip = 1};

	add_track(b, 1, 2, "loader");
	make_begin(m, 110, 1);
	make_begin(m, 120, 2);
	make_chunk(m, b);
	make_begin(other, 110, 3);
	make_chunk(other, b);
	fixture_submit(f, b);
	assert_int_equal(visit(f, 2, 2, &t), 0);
	assert_null(strstr(t.text, "begin 3"));
	assert_non_null(strstr(t.text, "begin 2"));

	/* Its reason comes back as it is, and the reader goes on to be of use. */
	t = (struct told){.stop_at_begin = -EBADMSG};
	assert_int_equal(visit(f, 2, 2, &t), -EBADMSG);
	assert_string_equal(t.text, "track main\nbegin 1 @110\n");
	t = (struct told){0};
	assert_int_equal(visit(f, 2, 2, &t), 0);
}

static void ranges_are_found(void **state)
{
	struct fixture *f = *state;
	struct batch *b = three_frames();
	struct range_query query = {.last = 2};
	struct range range;

	add_track(b, 1, 2, "worker");
	PUSH(&b->streams,
	     (struct stream_row){
		     .session = 1, .stream = 5, .name = must(strdup("tick")), .track = 2});
	add_frame(b, 1, 5, 1, 50, 250);
	fixture_submit(f, b);
	assert_int_equal(range_open(f->history, 1, &query, &range), 0);
	assert_int_equal(range.first, 2);
	assert_int_equal(range.last, 3);
	assert_int_equal(range.t0, 100);
	assert_int_equal(range.t1, 300);
	assert_false(range.evicted);
	assert_int_equal(range.frames.frames.count, 2);
	assert_string_equal(range_marker(&range, 3)->name, "render");
	assert_null(range_marker(&range, 5));
	assert_null(range_marker(&range, UINT32_MAX));
	assert_int_equal(range_frame_at(&range, 100, 0), 0);
	assert_int_equal(range_frame_at(&range, 199, 1), 0);
	assert_int_equal(range_frame_at(&range, 200, 0), 1);
	assert_int_equal(range_frame_at(&range, 299, SIZE_MAX), 1);
	assert_true(range_frame_at(&range, 99, 0) == SIZE_MAX);
	assert_true(range_frame_at(&range, 300, 1) == SIZE_MAX);
	range_close(&range);

	query = (struct range_query){.stream = "tick", .from = 1, .to = 9};
	assert_int_equal(range_open(f->history, 1, &query, &range), 0);
	assert_int_equal(range.first, 1);
	assert_int_equal(range.last, 1);
	assert_int_equal(range.t0, 50);
	range_close(&range);

	query = (struct range_query){.from = 4, .to = 9};
	assert_int_equal(range_open(f->history, 1, &query, &range), -ENOENT);
	query = (struct range_query){.stream = "none", .last = 1};
	assert_int_equal(range_open(f->history, 1, &query, &range), -ENOENT);
	query = (struct range_query){.last = 1};
	assert_int_equal(range_open(f->history, 2, &query, &range), -ENOENT);
}

/* Events before evicted_before_ticks are gone: a visit begins with the first whole frame. */
static void evicted_frames_are_not_visited(void **state)
{
	struct fixture *f = *state;
	struct batch *b = three_frames();
	struct maker *m = maker_new(1, 1, 0, 210);
	const struct range_query query = {.last = 3};
	struct range range;

	make_carried(m, 1, 90);
	make_end(m, 220);
	make_chunk(m, b);
	fixture_submit(f, b);
	ask(f->history_db, "UPDATE session_totals SET evicted_before_ticks = 150 RETURNING 1");
	assert_int_equal(range_open(f->history, 1, &query, &range), 0);
	assert_true(range.evicted);
	assert_int_equal(range.kept_from, 2);
	assert_int_equal(range.events_t0, 200);
	range_close(&range);
	assert_told(f, 1, 3, "track main\nbegin 1 @200\nend 1 200-220 of 90-220 b\n");
}

/* --- a range of one frame is what the frame's detail says, whatever was recorded ------------ */

struct checked {
	const struct history_frame_detail *detail;
	size_t zones;
};

static int count_zone(void *userdata, const struct range_zone *z)
{
	struct checked *c = userdata;
	size_t i;

	for (i = 0; i < c->detail->zones.count; i++) {
		const struct history_zone *d = &c->detail->zones.at[i];

		if (d->marker == z->marker && d->begin_ns == z->begin && d->end_ns == z->end &&
		    d->depth == z->depth && d->flags == z->flags &&
		    d->full_begin_ns == z->full_begin)
			break;
	}
	assert_true(i < c->detail->zones.count);
	c->zones++;
	return 0;
}

/* Through 20 frames of 50 ticks. */
static const struct walk short_walk = {.events = 400, .step = 6, .cut = 10};

static void a_frame_is_the_same_either_way(void **state)
{
	struct fixture *f = *state;
	struct batch *b = first_batch(1, 1);
	uint32_t seed = 1;
	size_t zones = 0;
	uint64_t n;

	add_track(b, 1, 2, "other");
	for (n = 1; n <= 20; n++)
		add_frame(b, 1, 0, n, (int64_t)(n - 1) * 50, (int64_t)n * 50);
	add_walk(b, 1, 0, &short_walk, &seed);
	add_walk(b, 2, 0, &short_walk, &seed);
	fixture_submit(f, b);
	for (n = 1; n <= 20; n++) {
		const struct range_query query = {.from = n, .to = n};
		struct history_frame_detail detail;
		struct checked c = {.detail = &detail};
		const struct range_visitor visitor = {.userdata = &c, .end = count_zone};
		struct range range;

		assert_int_equal(history_frame_detail(f->history, 1, NULL, n, 0, &detail), 0);
		assert_int_equal(range_open(f->history, 1, &query, &range), 0);
		assert_int_equal(range_visit(f->history, &range, &visitor), 0);
		assert_int_equal(c.zones, detail.zones.count);
		zones += c.zones;
		range_close(&range);
		history_frame_detail_deinit(&detail);
	}
	assert_true(zones > 100);
}

/* On a thread of one memory and on one of two, whatever the chunks' length. */
static void steps_are_begins_and_ends(void **state)
{
	static const struct walk walks[] = {{.events = 2000, .step = 2, .cut = 300},
					    {.events = 2000, .step = 2, .cut = 10},
					    {.events = 2000, .step = 2, .cut = 1000}};
	struct fixture *f = *state;
	struct batch *b = first_batch(1, 1);
	uint32_t seed = 3;
	size_t steps = 0;
	uint64_t n;

	add_track(b, 1, 2, "other");
	add_track(b, 1, 3, "third");
	for (n = 1; n <= 20; n++)
		add_frame(b, 1, 0, n, (int64_t)(n - 1) * 50, (int64_t)n * 50);
	add_walk(b, 1, 0, &walks[0], &seed);
	add_walk(b, 2, 0, &walks[0], &seed);
	add_walk(b, 2, 1, &walks[1], &seed);
	add_walk(b, 3, 0, &walks[2], &seed);
	fixture_submit(f, b);
	for (n = 1; n <= 20; n++) {
		const struct range_query query = {.from = n, .to = MIN(20, n + n % 7)};
		struct range range;

		assert_int_equal(range_open(f->history, 1, &query, &range), 0);
		steps += assert_steps(f, &range);
		range_close(&range);
	}
	assert_true(steps > 10000);
}

/* Behind all frames: only what lies well before a chunk's end is read in runs. */
static void make_beyond(struct maker *m)
{
	unsigned i;

	for (i = 0; i < 40; i++) {
		make_begin(m, 301, 1);
		make_end(m, 301);
	}
}

/* A zone of one memory ends in the midst of one of another, which then has an end to come that is
 * nobody's; a chunk begins before the one before it ended. */
static void steps_follow_the_visit(void **state)
{
	struct fixture *f = *state;
	struct batch *b = three_frames();
	struct maker *m = maker_new(1, 1, 0, 110), *other = maker_new(1, 1, 1, 115);

	make_begin(m, 110, 1);
	make_begin(m, 112, 2);
	make_end(m, 120);
	make_chunk(m, b);
	make_begin(other, 115, 3);
	make_begin(other, 130, 4);
	make_end(other, 140);
	make_end(other, 150); /* was cut */
	make_beyond(other);
	make_chunk(other, b);
	add_track(b, 1, 2, "other");
	m = maker_new(1, 2, 0, 205);
	make_begin(m, 205, 2);
	make_end(m, 230);
	make_chunk(m, b);
	m = maker_new(1, 2, 0, 210);
	make_begin(m, 210, 3);
	make_begin(m, 211, 4);
	make_end(m, 212);
	make_end(m, 240);
	make_beyond(m);
	make_chunk(m, b);
	fixture_submit(f, b);
	assert_told(f, 2, 2,
		    "track main\n"
		    "begin 1 @110\n"
		    " begin 2 @112\n"
		    "  begin 3 @115\n"
		    "  end 3 115-120 t\n"
		    " end 2 112-120 children 5\n"
		    " begin 4 @130\n"
		    " end 4 130-140\n"
		    "end 1 110-200 of 110--1 children 18 eo\n"
		    "track other\n");
	assert_told(f, 3, 3,
		    "track main\n"
		    "begin 1 @200\n"
		    "end 1 200-300 of 110--1 beo\n"
		    "track other\n"
		    "begin 2 @205\n"
		    "end 2 205-230\n"
		    "begin 3 @230\n"
		    " begin 4 @230\n"
		    " end 4 230-230 of 211-230\n"
		    "end 3 230-240 of 210-240\n");
}

/* --- what is left out on the way -------------------------------------------------------- */

struct seen {
	VEC(struct range_zone) zones; /* of marker 2 */
	size_t others;
	uint64_t lost;
};

static int see_gap(void *userdata, const struct gap_row *gap)
{
	struct seen *s = userdata;

	s->lost += gap->events;
	return 0;
}

static int see_zone(void *userdata, const struct range_zone *z)
{
	struct seen *s = userdata;

	if (z->marker == 2)
		PUSH(&s->zones, *z);
	else
		s->others++;
	return 0;
}

static void see(struct fixture *f, const struct range *range, const uint32_t *only,
		struct seen *seen)
{
	const struct range_visitor visitor = {
		.userdata = seen, .only = only, .end = see_zone, .gap = see_gap};

	*seen = (struct seen){0};
	assert_int_equal(range_visit(f->history, range, &visitor), 0);
}

/* Those that are wanted are the same, on a thread of one memory and on one of two. */
static void zones_that_nobody_wants_may_be_left_out(void **state)
{
	static const uint32_t only[] = {0, 0, 1, 0, 0};
	const struct range_query query = {.from = 3, .to = 18};
	struct fixture *f = *state;
	struct batch *b = first_batch(1, 1);
	struct seen all, some;
	struct range range;
	uint32_t seed = 7;
	uint64_t n;
	size_t i;

	add_track(b, 1, 2, "other");
	for (n = 1; n <= 20; n++)
		add_frame(b, 1, 0, n, (int64_t)(n - 1) * 50, (int64_t)n * 50);
	add_walk(b, 1, 0, &short_walk, &seed);
	add_walk(b, 2, 0, &short_walk, &seed);
	add_walk(b, 2, 1, &short_walk, &seed);
	fixture_submit(f, b);
	assert_int_equal(range_open(f->history, 1, &query, &range), 0);
	assert_int_equal(range.markers.count, ARRAY_SIZE(only));
	see(f, &range, NULL, &all);
	see(f, &range, only, &some);
	assert_true(all.zones.count > 50);
	assert_true(some.others < all.others);
	assert_int_equal(some.zones.count, all.zones.count);
	for (i = 0; i < all.zones.count; i++) {
		const struct range_zone *x = &all.zones.at[i], *y = &some.zones.at[i];

		assert_int_equal(x->begin, y->begin);
		assert_int_equal(x->end, y->end);
		assert_int_equal(x->full_begin, y->full_begin);
		assert_int_equal(x->full_end, y->full_end);
		assert_int_equal(x->flags, y->flags);
	}
	VEC_FREE(&all.zones);
	VEC_FREE(&some.zones);
	range_close(&range);
}

/* More than are listed at once, with one zone around all. */
static void a_lane_of_many_chunks_is_read_to_its_end(void **state)
{
	enum { CHUNKS = 200 };
	const struct range_query query = {.from = 1, .to = 2};
	struct fixture *f = *state;
	struct batch *b = first_batch(1, 1);
	struct maker *m;
	struct seen seen;
	struct range range;
	int64_t i;

	add_frame(b, 1, 0, 1, 0, CHUNKS * 10);
	add_frame(b, 1, 0, 2, CHUNKS * 10, CHUNKS * 20);
	for (i = 0; i < CHUNKS; i++) {
		m = maker_new(1, 1, 0, i * 20);
		if (i == 0)
			make_begin(m, 0, 1);
		else
			make_carried(m, 1, 0);
		make_begin(m, i * 20 + 5, 2);
		make_end(m, i * 20 + 6 + i % 10);
		if (i == CHUNKS - 1)
			make_end(m, i * 20 + 19);
		make_chunk(m, b);
	}
	fixture_submit(f, b);
	assert_int_equal(range_open(f->history, 1, &query, &range), 0);
	see(f, &range, NULL, &seen);
	assert_int_equal(seen.zones.count, CHUNKS);
	assert_int_equal(seen.others, 1);
	for (i = 0; i < CHUNKS; i++) {
		assert_int_equal(seen.zones.at[i].begin, i * 20 + 5);
		assert_int_equal(seen.zones.at[i].depth, 1);
	}
	VEC_FREE(&seen.zones);
	range_close(&range);
}

/* The rest of a chunk that has more zones in each other than can be is a gap; what follows is read
 * again. */
static void zones_too_deep_are_a_gap(void **state)
{
	struct fixture *f = *state;
	struct batch *b = three_frames();
	struct maker *m = maker_new(1, 1, 0, 110);
	const struct range_query query = {.from = 2, .to = 2};
	struct range range;
	struct seen seen;
	unsigned i;

	for (i = 0; i < CHUNK_DEPTH_MAX + 100; i++)
		make_begin(m, 110 + i / 100, 1);
	make_chunk(m, b);
	m = maker_new(1, 1, 0, 150);
	make_begin(m, 150, 2);
	make_end(m, 160);
	make_chunk(m, b);
	fixture_submit(f, b);
	assert_int_equal(range_open(f->history, 1, &query, &range), 0);
	see(f, &range, NULL, &seen);
	assert_int_equal(seen.lost, CHUNK_DEPTH_MAX + 100);
	assert_int_equal(seen.others, CHUNK_DEPTH_MAX);
	assert_int_equal(seen.zones.count, 1);
	assert_int_equal(seen.zones.at[0].begin, 150);
	assert_int_equal(seen.zones.at[0].depth, 0);
	assert_steps(f, &range);
	VEC_FREE(&seen.zones);
	range_close(&range);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
	const struct CMUnitTest tests[] = {
		TEST(zones_nest_and_sum_their_children),
		TEST(what_reaches_in_is_clipped),
		TEST(zones_of_no_length_at_a_boundary_belong_to_what_begins),
		TEST(a_silent_track_is_open_throughout),
		TEST(lanes_are_merged_by_time),
		TEST(zones_of_lanes_that_cross_are_cut),
		TEST(loss_between_chunks_truncates),
		TEST(repairs_are_flagged),
		TEST(texts_values_and_events_are_told),
		TEST(a_damaged_chunk_is_a_gap),
		TEST(queues_have_the_zones_of_their_frames),
		TEST(a_visitor_may_skip_and_stop),
		TEST(ranges_are_found),
		TEST(evicted_frames_are_not_visited),
		TEST(a_frame_is_the_same_either_way),
		TEST(steps_are_begins_and_ends),
		TEST(steps_follow_the_visit),
		TEST(zones_that_nobody_wants_may_be_left_out),
		TEST(a_lane_of_many_chunks_is_read_to_its_end),
		TEST(zones_too_deep_are_a_gap),
	};
#undef TEST

	return cmocka_run_group_tests_name("range", tests, NULL, NULL);
}
