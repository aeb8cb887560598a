// SPDX-License-Identifier: MIT
/* Open spikes: what makes one longer and what is another, when it is saved, what is kept, what the
 * next daemon makes of a note, and what becomes of one that cannot be saved. */
#include "captures_fixture.h"

#include "daemon/log.h"
#include "daemon/spikes_impl.h"
#include "daemon/store_notes.h"

#define REASON "{\"trigger\":{\"on\":\"frame\",\"label\":\"frame above 33 ms\"},\"value_ms\":40}"

struct told {
	struct world *w;
	struct trigger_book *book;
	struct spikes *spikes;
	pthread_mutex_t lock;
	pthread_cond_t news;
	unsigned open, saved, failed;
	uint64_t capture;
	char why[SPIKES_WHY];
};

static void on_spike(void *userdata, const struct spike *spike)
{
	struct told *t = userdata;

	pthread_mutex_lock(&t->lock);
	t->open += spike->state == SPIKE_OPEN;
	t->saved += spike->state == SPIKE_SAVED;
	t->failed += spike->state == SPIKE_FAILED;
	if (spike->state == SPIKE_SAVED)
		t->capture = spike->capture;
	if (spike->state == SPIKE_FAILED)
		snprintf(t->why, sizeof(t->why), "%s", spike->why);
	pthread_cond_broadcast(&t->news);
	pthread_mutex_unlock(&t->lock);
}

/* Until as many are saved, or have failed. */
static void wait_for(struct told *t, const unsigned *count, unsigned want)
{
	pthread_mutex_lock(&t->lock);
	while (*count < want)
		pthread_cond_wait(&t->news, &t->lock);
	pthread_mutex_unlock(&t->lock);
}

static void start(struct told *t)
{
	struct spikes_context context = {
		.store = t->w->f.store, .captures = t->w->captures, .frames = 600};

	assert_int_equal(trigger_book_new(&t->w->f.config, t->w->f.store, &t->book), 0);
	context.triggers = t->book;
	assert_int_equal(spikes_new(&context, on_spike, t, &t->spikes), 0);
}

static void stop(struct told *t)
{
	spikes_free(t->spikes);
	trigger_book_free(t->book);
	t->spikes = NULL;
}

static int setup(void **state)
{
	struct told *t = must(calloc(1, sizeof(*t)));
	static char none[] = "[]";

	pthread_mutex_init(&t->lock, NULL);
	pthread_cond_init(&t->news, NULL);
	log_set_level(LOG_LEVEL_ERROR);
	t->w = world_new();
	while (store_next_session_id(t->w->f.store) < 10) /* those of the sessions made by hand */
		;
	t->w->f.config.triggers = none;
	t->w->f.config.spikes_keep = 8;
	start(t);
	*state = t;
	return 0;
}

static int teardown(void **state)
{
	struct told *t = *state;

	if (t->spikes)
		stop(t);
	world_free(t->w);
	free(t);
	return 0;
}

static struct batch *frames_of(uint64_t session, uint64_t first, uint64_t last)
{
	struct batch *b = first == 1 ? first_batch(session, 1) : must(batch_new());
	uint64_t i;

	for (i = first; i <= last; i++)
		add_frame(b, session, 0, i, FRAME_TICKS * ((int64_t)i - 1),
			  FRAME_TICKS * (int64_t)i);
	return b;
}

static struct batch *frames(uint64_t first, uint64_t last)
{
	return frames_of(1, first, last);
}

static void fire_in(struct batch *b, uint64_t session, uint64_t frame, uint64_t before,
		    uint64_t after, uint32_t keep)
{
	PUSH(&b->spikes, (struct spike_row){.session = session,
					    .frame = frame,
					    .first = frame - before,
					    .last = frame + after,
					    .keep = keep,
					    .reason_json = must(strdup(REASON))});
}

static void fire(struct batch *b, uint64_t frame, uint64_t before, uint64_t after, uint32_t keep)
{
	fire_in(b, 1, frame, before, after, keep);
}

/* Stored first, then told, as the store does it. */
static void commit(struct told *t, struct batch *b)
{
	struct batch told = {0};
	size_t i;

	for (i = 0; i < b->spikes.count; i++) {
		struct spike_row row = b->spikes.at[i];

		row.reason_json = must(strdup(row.reason_json));
		PUSH(&told.spikes, row);
	}
	for (i = 0; i < b->frames.count; i++)
		PUSH(&told.frames, b->frames.at[i]);
	for (i = 0; i < b->updates.count; i++) {
		struct session_update_row row = b->updates.at[i];

		row.end_reason = row.fault = NULL;
		PUSH(&told.updates, row);
	}
	submit(t->w, b);
	spikes_committed(t->spikes, &told);
	for (i = 0; i < told.spikes.count; i++)
		free(told.spikes.at[i].reason_json);
	VEC_FREE(&told.spikes);
	VEC_FREE(&told.frames);
	VEC_FREE(&told.updates);
}

static void expect_capture(struct told *t, uint64_t session, uint64_t first, uint64_t last,
			   const char *reason)
{
	struct capture c = {0};

	assert_int_equal(captures_find(t->w->captures, session, HISTORY_ANY_UID, &c), 0);
	assert_int_equal(c.kind, CAPTURE_SPIKE);
	assert_int_equal(c.first_frame, first);
	assert_int_equal(c.last_frame, last);
	assert_non_null(strstr(c.reason_json, reason));
	capture_deinit(&c);
}

static void a_spike_waits_for_its_last_frame(void **state)
{
	struct told *t = *state;
	struct batch *b = frames(1, 100);

	fire(b, 100, 10, 5, 8);
	commit(t, b);
	wait_for(t, &t->open, 1);
	commit(t, frames(101, 104));
	assert_int_equal(t->saved, 0); /* it cannot be: 105 is not there */
	commit(t, frames(105, 110));
	wait_for(t, &t->saved, 1);
	expect_capture(t, t->capture, 90, 105, "\"value_ms\":40");
}

static void a_firing_in_the_window_makes_it_longer(void **state)
{
	struct told *t = *state;
	struct batch *b = frames(1, 100);

	fire(b, 100, 10, 5, 8);
	fire(b, 105, 10, 5, 8);
	commit(t, b);
	b = frames(101, 110);
	fire(b, 110, 10, 5, 8);
	commit(t, b);
	commit(t, frames(111, 120));
	wait_for(t, &t->saved, 1);
	expect_capture(t, t->capture, 90, 115, "\"more\":0");
	assert_int_equal(t->open, 1);
}

/* Between the two a look at it sees the frames, but not yet what fired in them. */
static void frames_that_are_stored_but_not_told_of_do_not_end_a_spike(void **state)
{
	struct told *t = *state;
	struct batch *b = frames(1, 100);
	struct capture c = {0};

	fire(b, 100, 10, 5, 8);
	commit(t, b);
	b = frames_of(2, 1, 100);
	fire_in(b, 2, 100, 10, 5, 8);
	commit(t, b);
	wait_for(t, &t->open, 2);
	submit(t->w, frames(101, 110));
	commit(t, frames_of(2, 101, 110));
	wait_for(t, &t->saved, 1); /* the first spike has been looked at, just before */
	assert_int_equal(captures_find(t->w->captures, t->capture, HISTORY_ANY_UID, &c), 0);
	assert_int_equal(c.source_session, 2);
	capture_deinit(&c);
	b = must(batch_new());
	fire(b, 104, 10, 5, 8);
	add_frame(b, 1, 0, 111, FRAME_TICKS * 110, FRAME_TICKS * 111);
	commit(t, b);
	wait_for(t, &t->saved, 2);
	expect_capture(t, t->capture, 90, 109, "\"more\":0");
}

static void a_firing_behind_the_window_is_another_spike(void **state)
{
	struct told *t = *state;
	struct batch *b = frames(1, 120);

	fire(b, 100, 10, 5, 8);
	fire(b, 106, 10, 5, 8);
	commit(t, b);
	wait_for(t, &t->saved, 2);
	assert_int_equal(t->open, 2);
}

static void the_end_of_the_session_saves_it(void **state)
{
	struct told *t = *state;
	struct batch *b = frames(1, 100);

	fire(b, 100, 10, 500, 8);
	commit(t, b);
	b = must(batch_new());
	PUSH(&b->updates,
	     (struct session_update_row){.id = 1, .state = SESSION_ENDED, .end_ns = 100000});
	commit(t, b);
	wait_for(t, &t->saved, 1);
	expect_capture(t, t->capture, 90, 100, "\"after\":500,\"why\":\"the session ended\"");
}

static void more_than_are_kept_go(void **state)
{
	struct told *t = *state;
	captures_vec all = {0};
	struct batch *b = frames(1, 400);
	uint64_t i;

	for (i = 0; i < 4; i++)
		fire(b, 50 * (i + 1), 5, 5, 3);
	commit(t, b);
	wait_for(t, &t->saved, 4);
	stop(t);
	assert_int_equal(captures_list(t->w->captures, HISTORY_ANY_UID, &all), 0);
	assert_int_equal(all.count, 3);
	for (i = 0; i < all.count; i++)
		assert_int_equal(all.at[i].first_frame, 50 * (4 - i) - 5);
	captures_vec_free(&all);
}

/* The first one waits for the GPU. */
static void the_oldest_goes_even_when_it_is_saved_last(void **state)
{
	struct told *t = *state;
	captures_vec all = {0};
	struct batch *b = frames(1, 102);

	b->frames.at[99].flags |= FRAME_GPU_PENDING;
	fire(b, 100, 0, 0, 1);
	fire(b, 102, 0, 0, 1);
	commit(t, b);
	wait_for(t, &t->saved, 1);
	expect_capture(t, t->capture, 102, 102, REASON + 1);
	b = must(batch_new());
	PUSH(&b->updates,
	     (struct session_update_row){.id = 1, .state = SESSION_ENDED, .end_ns = 102000});
	commit(t, b);
	wait_for(t, &t->saved, 2);
	stop(t);
	assert_int_equal(captures_list(t->w->captures, HISTORY_ANY_UID, &all), 0);
	assert_int_equal(all.count, 1);
	assert_int_equal(all.at[0].first_frame, 102);
	captures_vec_free(&all);
}

static void what_is_open_is_finished_by_the_next_daemon(void **state)
{
	struct told *t = *state;
	struct batch *b = frames(1, 100);
	captures_vec all = {0};

	fire(b, 100, 10, 20, 8);
	commit(t, b);
	wait_for(t, &t->open, 1);
	stop(t);
	start(t);
	commit(t, frames(101, 130));
	wait_for(t, &t->saved, 1);
	expect_capture(t, t->capture, 90, 120, REASON + 1);
	assert_int_equal(captures_list(t->w->captures, HISTORY_ANY_UID, &all), 0);
	assert_int_equal(all.count, 1); /* that of the first daemon's stop has gone */
	captures_vec_free(&all);
}

static void put_note(struct told *t, const char *text)
{
	stop(t);
	assert_int_equal(store_note_put(t->w->f.store, "spike/00000000000000000007", text), 0);
	start(t);
}

static int count_notes(void *userdata, const char *key, const char *text)
{
	(void)key;
	(void)text;
	++*(unsigned *)userdata;
	return 0;
}

static unsigned notes_of(struct told *t, const char *prefix)
{
	unsigned count = 0;

	assert_int_equal(store_notes_read(t->w->f.store, prefix, count_notes, &count), 0);
	return count;
}

#define NOTE(frame, uid)                                                             \
	"{\"session\":9,\"frame\":" frame ",\"first\":40,\"last\":130,\"keep\":8,"   \
	"\"freeze\":false,\"end\":false,\"crashed\":false,\"more\":0,\"interim\":0," \
	"\"why\":\"\",\"failed\":false,\"fired\":[" REASON "]" uid "}"

static void a_spike_whose_session_is_gone_fails_and_is_remembered(void **state)
{
	struct told *t = *state;
	spikes_vec list = {0};

	put_note(t, NOTE("100", ",\"uid\":1001"));
	wait_for(t, &t->failed, 1);
	assert_string_equal(t->why, "its frames are not there any more");
	stop(t);
	start(t);
	assert_int_equal(spikes_list(t->spikes, 1001, &list), 0);
	assert_int_equal(list.count, 1);
	assert_int_equal(list.at[0].state, SPIKE_FAILED);
	assert_int_equal(list.at[0].session, 9);
	spikes_vec_free(&list);
	assert_int_equal(spikes_list(t->spikes, 1002, &list), 0); /* another's */
	assert_int_equal(list.count, 0);
	assert_int_equal(t->failed, 1); /* it is not told again */
}

static void a_note_that_makes_no_sense_is_ignored(void **state)
{
	static const char *const wrong[] = {"", "{}", "[]", "x", NOTE("-1", ""), NOTE("\"1\"", "")};
	struct told *t = *state;
	spikes_vec list = {0};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct open_spike *s = NULL;

		put_note(t, wrong[i]);
		assert_int_equal(spikes_note_parse(wrong[i], &s), -EBADMSG);
		assert_int_equal(spikes_list(t->spikes, HISTORY_ANY_UID, &list), 0);
		assert_int_equal(list.count, 0);
	}
}

static void a_note_goes_with_its_spike(void **state)
{
	struct told *t = *state;
	struct batch *b = frames(1, 100);

	fire(b, 100, 10, 5, 8);
	commit(t, b);
	wait_for(t, &t->open, 1);
	commit(t, frames(101, 110));
	wait_for(t, &t->saved, 1);
	stop(t);
	assert_int_equal(notes_of(t, "spike/"), 0);
}

static void set_triggers(struct told *t, uint64_t session)
{
	static const char text[] = "[{\"on\":\"frame_number\",\"number\":7}]";
	struct trigger_problem problem;
	struct trigger_list *list;

	assert_int_equal(trigger_list_parse(text, strlen(text), 8, &list, &problem), 0);
	assert_int_equal(trigger_book_set(t->book, session, list), 0);
	trigger_list_unref(list);
}

static size_t triggers_of(struct told *t, uint64_t session)
{
	struct trigger_list *list = trigger_book_get(t->book, session);
	size_t count = list->count;

	trigger_list_unref(list);
	return count;
}

static void triggers_outlive_the_daemon_and_the_session(void **state)
{
	struct told *t = *state;
	struct batch *end = frames(2, 2);

	commit(t, frames(1, 1));
	set_triggers(t, 1);
	stop(t);
	start(t);
	assert_int_equal(triggers_of(t, 1), 1);
	PUSH(&end->updates, (struct session_update_row){.id = 1, .state = SESSION_ENDED});
	commit(t, end);
	stop(t);
	start(t);
	assert_int_equal(triggers_of(t, 1), 1);
}

/* The history of another boot: a number that comes again is another session's. */
static void triggers_of_a_session_that_is_gone_are_forgotten(void **state)
{
	struct told *t = *state;

	commit(t, frames(1, 1));
	set_triggers(t, 1);
	set_triggers(t, 7);
	assert_int_equal(triggers_of(t, 7), 1);
	stop(t);
	start(t);
	assert_int_equal(triggers_of(t, 1), 1);
	assert_int_equal(triggers_of(t, 7), 0); /* the configuration's */
	assert_int_equal(notes_of(t, "triggers/"), 1);
}

/* What a trigger of session 1 did not say, as its newest row has it. */
static void leave_unsaid(struct told *t, uint32_t number, uint64_t count, bool ended)
{
	struct batch b = {0};

	PUSH(&b.suppressed,
	     (struct suppressed_row){.session = 1,
				     .uid = 1000,
				     .number = number,
				     .count = count,
				     .first = 10,
				     .last = 10 + count,
				     .trigger_json = must(strdup("{\"on\":\"frame\"}"))});
	if (ended)
		PUSH(&b.updates, (struct session_update_row){.id = 1, .state = SESSION_ENDED});
	spikes_committed(t->spikes, &b);
	free(b.suppressed.at[0].trigger_json);
	VEC_FREE(&b.suppressed);
	VEC_FREE(&b.updates);
}

/* How many are listed, and of the newest its count. */
static size_t unsaid(struct told *t, uint32_t uid, uint64_t *ret_count)
{
	spikes_unsaid_vec list = {0};
	size_t count;

	assert_int_equal(spikes_unsaid(t->spikes, uid, &list), 0);
	count = list.count;
	if (count > 0) {
		assert_string_equal(list.at[count - 1].trigger, "{\"on\":\"frame\"}");
		assert_int_equal(list.at[count - 1].first, 10);
		*ret_count = list.at[count - 1].count;
	}
	spikes_unsaid_vec_free(&list);
	return count;
}

static void what_was_not_said_is_told_until_a_spike_does(void **state)
{
	struct told *t = *state;
	uint64_t count = 0;

	leave_unsaid(t, 0, 1, false);
	leave_unsaid(t, 1, 5, false);
	leave_unsaid(t, 1, 6, false);
	assert_int_equal(unsaid(t, 1000, &count), 2);
	assert_int_equal(count, 6);
	assert_int_equal(unsaid(t, 1001, &count), 0);
	assert_int_equal(unsaid(t, HISTORY_ANY_UID, &count), 2);
	leave_unsaid(t, 1, 0, false);
	assert_int_equal(unsaid(t, 1000, &count), 1);
	assert_int_equal(count, 1);
}

static void what_was_never_said_outlives_the_daemon(void **state)
{
	struct told *t = *state;
	uint64_t count = 0;

	leave_unsaid(t, 3, 4, true);
	stop(t);
	start(t);
	assert_int_equal(unsaid(t, 1000, &count), 1);
	assert_int_equal(count, 4);
	leave_unsaid(t, 3, 9, false); /* another one's by now */
	assert_int_equal(unsaid(t, 1000, &count), 2);
}

static void what_was_not_said_is_bounded(void **state)
{
	struct told *t = *state;
	uint64_t count = 0;
	uint32_t i;

	for (i = 0; i < UNSAID_MAX + 10; i++)
		leave_unsaid(t, i, i + 1, true);
	assert_int_equal(unsaid(t, 1000, &count), UNSAID_MAX);
	assert_int_equal(count, UNSAID_MAX + 10);
	stop(t);
	assert_int_equal(notes_of(t, "unsaid/"), UNSAID_MAX);
	start(t);
	assert_int_equal(unsaid(t, 1000, &count), UNSAID_MAX);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_spike_waits_for_its_last_frame),
		T(a_firing_in_the_window_makes_it_longer),
		T(frames_that_are_stored_but_not_told_of_do_not_end_a_spike),
		T(a_firing_behind_the_window_is_another_spike),
		T(the_end_of_the_session_saves_it),
		T(more_than_are_kept_go),
		T(the_oldest_goes_even_when_it_is_saved_last),
		T(what_is_open_is_finished_by_the_next_daemon),
		T(a_spike_whose_session_is_gone_fails_and_is_remembered),
		T(a_note_that_makes_no_sense_is_ignored),
		T(a_note_goes_with_its_spike),
		T(triggers_outlive_the_daemon_and_the_session),
		T(triggers_of_a_session_that_is_gone_are_forgotten),
		T(what_was_not_said_is_told_until_a_spike_does),
		T(what_was_never_said_outlives_the_daemon),
		T(what_was_not_said_is_bounded),
	};

	return cmocka_run_group_tests_name("spikes", tests, NULL, NULL);
}
