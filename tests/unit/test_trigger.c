// SPDX-License-Identifier: MIT
/* Triggers: lists that are taken and lists that are not, and each kind, firing and not. */
#include "failing_vec.h"
#include "fake_game.h"

#include "daemon/json.h"
#include "daemon/trigger.h"
#include "daemon/trigger_watch.h"

#include <errno.h>
#include <malloc.h>
#include <math.h>

#define MS UINT64_C(1000000)

struct world {
	struct fake_memory m;
	struct fake_thread main, other;
	struct live *s;
	uint32_t zone, inner, wait_gpu, wait_cap, counter, category;
	uint64_t now;
};

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	fake_memory_new(&w->m, FPROF_RING_WORDS_MIN, FPROF_ORIGIN_GAME);
	w->zone = fake_marker(&w->m, FPROF_MARKER_ZONE, "zone");
	w->inner = fake_marker(&w->m, FPROF_MARKER_ZONE, "inner");
	w->wait_gpu = fake_marker(&w->m, FPROF_MARKER_WAIT_GPU, "fence");
	w->wait_cap = fake_marker(&w->m, FPROF_MARKER_WAIT_CAP, "cap");
	w->counter = fake_marker(&w->m, FPROF_MARKER_COUNTER, "calls");
	w->category = fake_marker(&w->m, FPROF_MARKER_MESSAGE, "loading");
	w->s = fake_session(&w->m, 1);
	fake_thread_begin(&w->main, &w->m, 1, 100, 1, "main", 10);
	fake_thread_begin(&w->other, &w->m, 0, 101, 2, "other", 20);
	w->now = MS;
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	fake_session_free(w->s);
	fake_memory_deinit(&w->m);
	free(w);
	return 0;
}

static struct trigger_list *parse(const char *text)
{
	struct trigger_problem problem;
	struct trigger_list *list = NULL;

	assert_int_equal(trigger_list_parse(text, strlen(text), 8, &list, &problem), 0);
	return list;
}

/* What the session is watched for from now on. ' stands for ". */
static void watch(struct world *w, const char *text)
{
	char json[4096], *c;

	snprintf(json, sizeof(json), "%s", text);
	for (c = json; *c; c++)
		if (*c == '\'')
			*c = '"';
	assert_int_equal(trigger_watch_set(w->s, parse(json)), 0);
}

/* The frame ends after so many ms more. */
static void mark(struct world *w, uint64_t ms)
{
	w->now += ms * MS;
	fake_mark(&w->main, w->now);
	fake_sweep(w->s, w->now + 1000);
}

static void marks(struct world *w, unsigned count, uint64_t ms)
{
	while (count-- > 0)
		mark(w, ms);
}

static void zone_for(struct world *w, struct fake_thread *t, uint32_t marker, uint64_t ms)
{
	fake_begin(t, marker, w->now);
	w->now += ms * MS;
	fake_end(t, marker, w->now);
}

static size_t fired(const struct world *w)
{
	return w->s->batch->spikes.count;
}

static const struct spike_row *spike(const struct world *w, size_t i)
{
	assert_true(i < fired(w));
	return &w->s->batch->spikes.at[i];
}

#define assert_reason(w, i, text) assert_non_null(strstr(spike((w), (i))->reason_json, (text)))

/* ---- lists ---- */

static void what_is_left_out_is_filled_in(void **state)
{
	struct trigger_list *list = parse("[{\"on\": \"frame\", \"above_ms\": 33.5}, "
					  "{\"on\": \"exit_without_goodbye\"}, "
					  "{\"on\": \"message\"}]");
	const struct trigger *t = list->at;

	(void)state;
	assert_int_equal(list->count, 3);
	assert_string_equal(t->label, "frame above 33.5 ms");
	assert_true(t->above > 33.49 && t->above < 33.51);
	assert_int_equal(t->warm_up, 60);
	assert_int_equal(t->before, 60);
	assert_int_equal(t->after, 30);
	assert_int_equal(t->keep, 8);
	assert_true(t->cool_down_ns == 10000 * MS);
	assert_false(t->freeze);
	assert_int_equal(t[1].before, 600);
	assert_int_equal(t[1].after, 0);
	assert_int_equal(t[2].warm_up, 0);
	trigger_list_unref(list);
}

static void what_is_written_can_be_read(void **state)
{
	static const char text[] =
		"[{\"on\":\"zone\",\"of\":\"call\",\"name\":\"a\\u00e9\",\"above_ms\":0.1},"
		"{\"on\":\"wait\",\"of\":\"gpu\",\"times_median\":2.5,\"floor_ms\":3,\"freeze\":"
		"true},"
		"{\"on\":\"counter\",\"name\":\"c\",\"above\":-1e20,\"times_median\":2,\"floor\":-"
		"5},"
		"{\"on\":\"message\",\"contains\":\"x\",\"name\":\"y\",\"label\":\"z\"},"
		"{\"on\":\"first_appearance\"},{\"on\":\"frame_number\",\"number\":"
		"9007199254740991},"
		"{\"on\":\"lost_data\",\"above\":7},{\"on\":\"exit_without_goodbye\",\"keep\":1}]";
	struct trigger_list *list = parse(text), *again;
	struct json first = {0}, second = {0};

	(void)state;
	trigger_list_json(list, &first);
	json_bytes(&first, "", 1);
	again = parse(first.at);
	trigger_list_json(again, &second);
	json_bytes(&second, "", 1);
	assert_string_equal(first.at, second.at);
	json_free(&first);
	json_free(&second);
	trigger_list_unref(list);
	trigger_list_unref(again);
}

static void a_label_is_cut_between_characters(void **state)
{
	char text[1200], name[600] = "";
	struct trigger_list *list;
	size_t i;

	(void)state;
	for (i = 0; i < 127; i++)
		strcat(name, "\xc3\xa9");
	snprintf(text, sizeof(text), "[{\"on\":\"zone\",\"name\":\"%s\",\"above_ms\":1}]", name);
	list = parse(text);
	assert_in_range(strlen(list->at[0].label), TRIGGER_NAME_MAX - 1, TRIGGER_NAME_MAX);
	assert_true(json_utf8_bytes((const unsigned char *)list->at[0].label +
					    strlen(list->at[0].label) - 2,
				    2) == 2);
	trigger_list_unref(list);
}

static void a_mistake_is_told_by_entry_and_member(void **state)
{
	static const struct {
		const char *text, *where, *why;
	} wrong[] = {
		{"", "", "JSON"},
		{"[", "", "JSON"},
		{"{}", "", "array"},
		{"null", "", "JSON"},
		{"[[]]", "[0]", "object"},
		{"[{}]", "[0].on", "missing"},
		{"[{\"on\":1}]", "[0].on", "not known"},
		{"[{\"on\":\"frame\",\"on\":\"frame\",\"above_ms\":1}]", "", "JSON"},
		{"[{\"on\":\"frame\",\"above_ms\":1},{\"on\":\"cpu\"}]", "[1]", "above_ms"},
		{"[{\"on\":\"frame\",\"above_ms\":null}]", "[0].above_ms", "from 0 to 3600000"},
		{"[{\"on\":\"frame\",\"above_ms\":3600001}]", "[0].above_ms", "from 0"},
		{"[{\"on\":\"frame\",\"above_ms\":1e999}]", "", "JSON"},
		{"[{\"on\":\"frame\",\"times_median\":0.5}]", "[0].times_median", "from 1"},
		{"[{\"on\":\"frame\",\"above_ms\":1,\"warm_up\":-1}]", "[0].warm_up", "whole"},
		{"[{\"on\":\"frame\",\"above_ms\":1,\"before\":3601}]", "[0].before", "3600"},
		{"[{\"on\":\"frame\",\"above_ms\":1,\"keep\":true}]", "[0].keep", "whole"},
		{"[{\"on\":\"frame\",\"above_ms\":1,\"freeze\":0}]", "[0].freeze", "boolean"},
		{"[{\"on\":\"frame\",\"above_ms\":1,\"x\":0}]", "[0].x", "no member"},
		{"[{\"on\":\"frame\",\"above_ms\":1,\"floor_ms\":1}]", "[0].times_median", "floor"},
		{"[{\"on\":\"counter\",\"above\":1}]", "[0].name", "needs it"},
		{"[{\"on\":\"counter\",\"name\":\"\",\"above\":1}]", "[0].name", "1 to 255"},
		{"[{\"on\":\"counter\",\"name\":\"a\\u0000b\",\"above\":1}]", "[0].name", "NUL"},
		{"[{\"on\":\"wait\",\"of\":\"self\",\"above_ms\":1}]", "[0].of", "allowed"},
		{"[{\"on\":\"frame_number\"}]", "[0].number", "needs it"},
		{"[{\"on\":\"frame_number\",\"number\":0}]", "[0].number", "from 1"},
		{"[{\"on\":\"exit_without_goodbye\",\"freeze\":true}]", "[0].freeze", "no member"},
	};
	struct trigger_problem p;
	struct trigger_list *list;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(
			trigger_list_parse(wrong[i].text, strlen(wrong[i].text), 8, &list, &p),
			-EINVAL);
		assert_string_equal(p.where, wrong[i].where);
		assert_non_null(strstr(p.why, wrong[i].why));
	}
}

static void lists_are_bounded(void **state)
{
	struct trigger_problem p;
	struct trigger_list *list;
	char text[4096] = "[{\"on\":\"lost_data\"}";
	size_t i, n;
	char *large = malloc(300000);

	(void)state;
	for (i = 1; i < TRIGGERS_MAX; i++)
		strcat(text, ",{\"on\":\"lost_data\"}");
	n = strlen(text);
	strcpy(text + n, "]");
	list = parse(text);
	assert_int_equal(list->count, TRIGGERS_MAX);
	trigger_list_unref(list);
	strcpy(text + n, ",{\"on\":\"lost_data\"}]");
	assert_int_equal(trigger_list_parse(text, strlen(text), 8, &list, &p), -EINVAL);
	memset(large, ' ', 300000);
	assert_int_equal(trigger_list_parse(large, 300000, 8, &list, &p), -EINVAL);
	free(large);
}

static void either_bound_is_enough(void **state)
{
	struct trigger t = {.on = TRIGGER_FRAME, .above = 30, .times = 3, .floor = 20};

	(void)state;
	assert_false(trigger_judge(&t, 30, NAN).fires); /* above, not at */
	assert_true(trigger_judge(&t, 30.1, NAN).fires);
	assert_false(trigger_judge(&t, 20, 1).fires); /* the floor holds */
	assert_true(trigger_judge(&t, 20.1, 1).fires);
	assert_false(trigger_judge(&t, 24, 8).fires);
	assert_true(trigger_judge(&t, 24.1, 8).fires);
	assert_true(trigger_judge(&t, 30.1, 100).fires);
	assert_true(trigger_judge(&t, 24.1, 8).threshold > 23.9);
	t.above = NAN;
	assert_false(trigger_judge(&t, 1e9, NAN).fires); /* no median yet */
}

/* ---- each kind ---- */

static void a_frame_above_its_bound_fires(void **state)
{
	struct world *w = *state;

	watch(w, "[{'on':'frame','above_ms':30,'warm_up':2,'before':5,'after':3,'keep':4}]");
	marks(w, 9, 20);
	mark(w, 31);
	assert_int_equal(fired(w), 1);
	assert_int_equal(spike(w, 0)->frame, 10);
	assert_int_equal(spike(w, 0)->first, 5);
	assert_int_equal(spike(w, 0)->last, 13);
	assert_int_equal(spike(w, 0)->keep, 4);
	assert_false(spike(w, 0)->end);
	assert_reason(w, 0, "\"value_ms\":31,\"threshold_ms\":30");
	assert_reason(w, 0, "\"label\":\"frame above 30 ms\"");
}

static void a_frame_below_its_bound_does_not_fire(void **state)
{
	struct world *w = *state;

	watch(w, "[{'on':'frame','above_ms':30,'warm_up':2}]");
	marks(w, 20, 30);
	assert_int_equal(fired(w), 0);
}

static void frames_of_the_warm_up_do_not_fire(void **state)
{
	struct world *w = *state;

	watch(w, "[{'on':'frame','above_ms':30,'warm_up':10}]");
	marks(w, 10, 100);
	assert_int_equal(fired(w), 0);
	mark(w, 100);
	assert_int_equal(fired(w), 1);
	assert_int_equal(spike(w, 0)->frame, 11);
	assert_int_equal(spike(w, 0)->first, 1);
}

static void a_frame_above_the_median_fires(void **state)
{
	struct world *w = *state;

	watch(w, "[{'on':'frame','times_median':3,'floor_ms':40,'warm_up':1}]");
	marks(w, 40, 10);
	mark(w, 39); /* three times the median, but below the floor */
	assert_int_equal(fired(w), 0);
	mark(w, 41);
	assert_int_equal(fired(w), 1);
	assert_reason(w, 0, "\"value_ms\":41,\"threshold_ms\":40,\"median_ms\":10");
}

static void the_median_follows_the_frames(void **state)
{
	struct world *w = *state;
	size_t before;

	watch(w, "[{'on':'frame','times_median':2,'warm_up':1}]");
	marks(w, TRIGGER_MEDIAN_MIN, 10); /* of which one is warm-up */
	mark(w, 100);			  /* one too few before it */
	assert_int_equal(fired(w), 0);
	marks(w, TRIGGER_MEDIAN_FRAMES, 40); /* a slower game, once the median has seen it */
	before = fired(w);
	assert_true(before > 0); /* it was not so at once */
	marks(w, 5, 79);
	assert_int_equal(fired(w), before);
}

static void a_frame_that_was_paused_says_nothing(void **state)
{
	uint64_t words[5] = {0, (uint64_t)FPROF_ORIGIN_GAME << 32, 0, UINT64_MAX,
			     FPROF_MARK_PAUSED};
	struct world *w = *state;

	watch(w, "[{'on':'frame','above_ms':30,'warm_up':1}]");
	marks(w, 5, 10);
	w->now += 1000 * MS;
	words[2] = ++w->main.marks;
	fake_ext(&w->main, FPROF_EXT_MARK, words, 5, w->now);
	fake_sweep(w->s, w->now + 1000);
	marks(w, 5, 10);
	assert_int_equal(fired(w), 0);
}

static void cpu_time_leaves_waits_out(void **state)
{
	struct world *w = *state;

	watch(w, "[{'on':'cpu','above_ms':20,'warm_up':1}]");
	marks(w, 3, 10);
	zone_for(w, &w->main, w->wait_gpu, 100);
	mark(w, 20);
	assert_int_equal(fired(w), 0);
	mark(w, 21);
	assert_int_equal(fired(w), 1);
	assert_reason(w, 0, "\"value_ms\":21,");
}

static void a_wait_fires_by_its_kind(void **state)
{
	struct world *w = *state;

	watch(w, "[{'on':'wait','of':'gpu','above_ms':20,'warm_up':1},"
		 "{'on':'wait','of':'present','above_ms':0,'warm_up':1},"
		 "{'on':'wait','above_ms':30,'warm_up':1}]");
	marks(w, 3, 10);
	zone_for(w, &w->main, w->wait_cap, 25);
	mark(w, 1); /* 25 ms of cap */
	assert_int_equal(fired(w), 0);
	zone_for(w, &w->main, w->wait_gpu, 21);
	mark(w, 1);
	assert_int_equal(fired(w), 1);
	assert_reason(w, 0, "\"of\":\"gpu\"");
	assert_reason(w, 0, "\"value_ms\":21,");
	zone_for(w, &w->main, w->wait_gpu, 15);
	zone_for(w, &w->main, w->wait_cap, 16);
	mark(w, 1);
	assert_int_equal(fired(w), 2);
	assert_reason(w, 1, "\"of\":\"all\"");
	assert_reason(w, 1, "\"value_ms\":31,");
}

static void a_zone_fires_by_its_total_over_threads(void **state)
{
	struct world *w = *state;
	uint64_t begin;

	watch(w, "[{'on':'zone','name':'zone','above_ms':10,'warm_up':1}]");
	marks(w, 3, 1);
	zone_for(w, &w->main, w->zone, 6);
	zone_for(w, &w->main, w->inner, 50);
	mark(w, 1);
	assert_int_equal(fired(w), 0);
	begin = w->now;
	zone_for(w, &w->main, w->zone, 6);
	fake_begin(&w->other, w->zone, begin);
	fake_end(&w->other, w->zone, begin + 5 * MS);
	mark(w, 1);
	assert_int_equal(fired(w), 1);
	assert_reason(w, 0, "\"value_ms\":11,");
}

static void recursion_counts_once_and_self_leaves_children_out(void **state)
{
	struct world *w = *state;

	watch(w, "[{'on':'zone','name':'zone','above_ms':20,'warm_up':1},"
		 "{'on':'zone','of':'self','name':'zone','above_ms':14,'warm_up':1}]");
	marks(w, 3, 1);
	fake_begin(&w->main, w->zone, w->now);
	w->now += 5 * MS;
	zone_for(w, &w->main, w->zone, 5);
	zone_for(w, &w->main, w->inner, 6);
	w->now += 4 * MS;
	fake_end(&w->main, w->zone, w->now);
	mark(w, 1);
	assert_int_equal(fired(w), 0); /* total 20, self 14 */
	fake_begin(&w->main, w->zone, w->now);
	w->now += 15 * MS;
	zone_for(w, &w->main, w->inner, 4);
	fake_end(&w->main, w->zone, w->now);
	mark(w, 1);
	assert_int_equal(fired(w), 1);
	assert_reason(w, 0, "\"of\":\"self\"");
	assert_reason(w, 0, "\"value_ms\":15,");
}

static void a_zone_is_shared_out_over_the_frames_that_it_touches(void **state)
{
	struct world *w = *state;

	watch(w, "[{'on':'zone','name':'zone','above_ms':9,'warm_up':1,'cool_down_ms':0,'after':0},"
		 "{'on':'zone','of':'call','name':'zone','above_ms':20,'warm_up':1}]");
	marks(w, 3, 1);
	w->now += 5 * MS;
	fake_begin(&w->other, w->zone, w->now); /* open over frames in which it says nothing */
	mark(w, 5);
	assert_int_equal(fired(w), 0);
	mark(w, 10);
	assert_int_equal(fired(w), 1);
	assert_int_equal(spike(w, 0)->frame, 5);
	assert_reason(w, 0, "\"value_ms\":10,");
	mark(w, 8);
	assert_int_equal(fired(w), 1);
	w->now += 3 * MS;
	fake_end(&w->other, w->zone, w->now);
	mark(w, 8);
	assert_int_equal(fired(w), 2);
	assert_reason(w, 1, "\"of\":\"call\"");
	assert_reason(w, 1, "\"value_ms\":26,");
}

static void several_frames_in_one_sweep_keep_their_own_times(void **state)
{
	struct world *w = *state;
	unsigned i;

	watch(w,
	      "[{'on':'zone','name':'zone','above_ms':5,'warm_up':1,'cool_down_ms':0,'after':0}]");
	marks(w, 2, 1);
	for (i = 0; i < 10; i++) {
		zone_for(w, &w->main, w->zone, i == 6 ? 6 : 4);
		w->now += MS;
		fake_mark(&w->main, w->now);
	}
	fake_sweep(w->s, w->now + 1000);
	assert_int_equal(fired(w), 1);
	assert_int_equal(spike(w, 0)->frame, 9);
	assert_reason(w, 0, "\"value_ms\":6,");
}

static void a_counter_fires_by_its_value_at_the_end_of_a_frame(void **state)
{
	struct world *w = *state;

	watch(w, "[{'on':'counter','name':'calls','above':100,'warm_up':1},"
		 "{'on':'counter','name':'other','above':0,'warm_up':1}]");
	marks(w, 3, 1);
	fake_counter(&w->main, w->counter, FPROF_COUNTER_SET, FPROF_VALUE_I64, 500, w->now);
	fake_counter(&w->main, w->counter, FPROF_COUNTER_SET, FPROF_VALUE_I64, 100, w->now + 1);
	mark(w, 1);
	assert_int_equal(fired(w), 0);
	fake_counter(&w->main, w->counter, FPROF_COUNTER_SET, FPROF_VALUE_I64, 101, w->now);
	mark(w, 1);
	assert_int_equal(fired(w), 1);
	assert_reason(w, 0, "\"value\":101,\"threshold\":100");
}

static void say(struct world *w, uint32_t category, const char *text)
{
	uint64_t words[3 + 8] = {0, category | (uint64_t)strlen(text) << 32};

	memcpy(&words[3], text, strlen(text));
	fake_ext(&w->main, FPROF_EXT_MESSAGE, words, 3 + (unsigned)(strlen(text) + 7) / 8, w->now);
}

static void a_message_fires_by_category_and_text(void **state)
{
	struct world *w = *state;

	watch(w, "[{'on':'message','name':'loading','contains':'level'}]");
	mark(w, 1);
	say(w, w->category, "loading a sound");
	say(w, 0, "a level without a category");
	mark(w, 1);
	assert_int_equal(fired(w), 0);
	say(w, w->category, "loading level 3");
	mark(w, 1);
	assert_int_equal(fired(w), 1);
	assert_reason(w, 0, "\"text\":\"loading level 3\"");
}

static void a_first_appearance_fires_once(void **state)
{
	struct world *w = *state;

	watch(w,
	      "[{'on':'first_appearance','warm_up':3,'cool_down_ms':0,'after':0},"
	      "{'on':'first_appearance','name':'inner','warm_up':0,'cool_down_ms':0,'after':0}]");
	zone_for(w, &w->main, w->zone, 1); /* in the warm-up */
	marks(w, 4, 1);
	assert_int_equal(fired(w), 0);
	zone_for(w, &w->main, w->zone, 1);
	mark(w, 1);
	assert_int_equal(fired(w), 0);
	zone_for(w, &w->main, w->inner, 1);
	mark(w, 1);
	assert_int_equal(fired(w), 2);
	assert_reason(w, 0, "\"text\":\"inner\"");
	zone_for(w, &w->main, w->inner, 1);
	mark(w, 1);
	assert_int_equal(fired(w), 2);
}

static void what_was_there_before_the_trigger_does_not_appear(void **state)
{
	struct world *w = *state;

	zone_for(w, &w->main, w->zone, 1);
	mark(w, 1);
	watch(w, "[{'on':'first_appearance','warm_up':0}]");
	zone_for(w, &w->main, w->zone, 1);
	mark(w, 1);
	assert_int_equal(fired(w), 0);
}

static void a_frame_number_fires_once(void **state)
{
	struct world *w = *state;

	watch(w, "[{'on':'frame_number','number':5}]");
	marks(w, 4, 1);
	assert_int_equal(fired(w), 0);
	marks(w, 3, 1);
	assert_int_equal(fired(w), 1);
	assert_int_equal(spike(w, 0)->frame, 5);
	watch(w, "[{'on':'frame_number','number':6}]"); /* is over */
	marks(w, 3, 1);
	assert_int_equal(fired(w), 1);
}

static void lost_data_fires(void **state)
{
	struct world *w = *state;
	unsigned i;

	watch(w, "[{'on':'lost_data','cool_down_ms':0,'after':0},"
		 "{'on':'lost_data','above':1000000}]");
	marks(w, 3, 1);
	assert_int_equal(fired(w), 0);
	for (i = 0; i < FPROF_RING_WORDS_MIN; i++)
		zone_for(w, &w->other, w->zone, 0);
	w->now += MS;
	mark(w, 1);
	assert_int_equal(fired(w), 1);
	assert_int_equal(spike(w, 0)->frame, 4);
	assert_reason(w, 0, "\"value\":");
}

static void gpu_words(struct world *w, uint64_t frame, uint64_t ms)
{
	uint64_t submit[4] = {0, 1, frame, frame};
	uint64_t span[8] = {0, 1, frame * 1000 * MS, frame * 1000 * MS + ms * MS, frame, frame,
			    0, 0};

	fake_ext(&w->main, FPROF_EXT_GPU_SUBMIT, submit, 4, w->now);
	fake_ext(&w->main, FPROF_EXT_GPU_SPAN, span, 8, w->now);
}

static void a_gpu_time_fires_when_it_is_final(void **state)
{
	struct world *w = *state;
	double one = 1;
	uint64_t queue[4] = {0, 1 | UINT64_C(64) << 32, 0, 0}, frame;

	memcpy(&queue[2], &one, 8);
	watch(w, "[{'on':'gpu','above_ms':10,'warm_up':1}]");
	fake_ext(&w->main, FPROF_EXT_GPU_QUEUE, queue, 4, w->now);
	for (frame = 1; frame < 6; frame++) {
		if (frame != 5)
			gpu_words(w, frame, 10);
		mark(w, 1);
		assert_int_equal(live_flush(w->s), 0);
	}
	assert_int_equal(fired(w), 0);
	mark(w, 1);
	gpu_words(w, 5, 11); /* comes a frame late */
	fake_sweep(w->s, w->now + 1000);
	assert_int_equal(live_flush(w->s), 0);
	assert_int_equal(fired(w), 1);
	assert_int_equal(spike(w, 0)->frame, 5);
	assert_reason(w, 0, "\"value_ms\":11,");
}

static void end(struct world *w, bool bye, bool crashed, const char *reason)
{
	watch(w, "[{'on':'exit_without_goodbye','before':4}]");
	marks(w, 10, 1);
	w->s->bye = bye;
	w->s->crashed = crashed;
	w->s->end_reason = strdup(reason);
	assert_int_equal(live_end(w->s, crashed ? SESSION_CRASHED : SESSION_ENDED), 0);
}

static void a_crash_fires(void **state)
{
	struct world *w = *state;

	end(w, false, true, "killed by signal 11 (SIGSEGV)");
	assert_int_equal(fired(w), 1);
	assert_true(spike(w, 0)->end);
	assert_true(spike(w, 0)->crashed);
	assert_int_equal(spike(w, 0)->first, 7);
	assert_int_equal(spike(w, 0)->last, 10);
	assert_reason(w, 0, "\"text\":\"killed by signal 11 (SIGSEGV)\"");
}

static void an_exit_without_a_goodbye_fires(void **state)
{
	struct world *w = *state;

	end(w, false, false, "exit status 3, without a goodbye");
	assert_int_equal(fired(w), 1);
	assert_false(spike(w, 0)->crashed);
}

static void an_end_in_order_does_not_fire(void **state)
{
	struct world *w = *state;

	end(w, true, false, "exit");
	assert_int_equal(fired(w), 0);
}

static void a_game_that_was_told_to_end_does_not_fire(void **state)
{
	struct world *w = *state;

	end(w, false, false, "killed by signal 15 (SIGTERM), without a goodbye");
	assert_int_equal(fired(w), 0);
}

/* ---- windows ---- */

static void what_fires_in_the_after_frames_fires_again(void **state)
{
	struct world *w = *state;

	watch(w, "[{'on':'frame','above_ms':10,'warm_up':1,'after':5,'cool_down_ms':1000000}]");
	marks(w, 9, 1);
	mark(w, 11); /* 10 */
	marks(w, 4, 1);
	mark(w, 11); /* 15: the last of its after-frames */
	marks(w, 5, 1);
	mark(w, 11); /* 21 */
	assert_int_equal(fired(w), 2);
	assert_int_equal(spike(w, 1)->frame, 15);
	assert_int_equal(spike(w, 1)->last, 20);
}

static void a_trigger_rests_and_tells_what_it_did_not_say(void **state)
{
	struct world *w = *state;

	watch(w, "[{'on':'frame','above_ms':10,'warm_up':1,'after':2,'cool_down_ms':1000}]");
	marks(w, 5, 1);
	mark(w, 11);
	marks(w, 2, 1); /* it rests from here on */
	marks(w, 3, 11);
	assert_int_equal(fired(w), 1);
	marks(w, 965, 1);
	mark(w, 11); /* 1009 ms after: it was two frames too early */
	assert_int_equal(fired(w), 2);
	assert_reason(w, 1, "\"suppressed_before\":3");
}

/* Whoever asks is told of it before the trigger speaks again, and if it never does. */
static void what_a_resting_trigger_did_not_say_is_told(void **state)
{
	struct world *w = *state;
	const struct suppressed_row *row;

	watch(w, "[{'on':'cpu','above_ms':9999}, "
		 "{'on':'frame','above_ms':10,'warm_up':1,'after':2,'cool_down_ms':1000}]");
	marks(w, 5, 1);
	mark(w, 11);
	marks(w, 2, 1);
	assert_int_equal(live_flush(w->s), 0);
	assert_int_equal(w->s->batch->suppressed.count, 0);
	marks(w, 3, 11); /* 9 to 11 */
	assert_int_equal(live_flush(w->s), 0);
	assert_int_equal(live_flush(w->s), 0); /* nothing new */
	assert_int_equal(w->s->batch->suppressed.count, 1);
	row = &w->s->batch->suppressed.at[0];
	assert_int_equal(row->number, 1);
	assert_int_equal(row->count, 3);
	assert_int_equal(row->first, 9);
	assert_int_equal(row->last, 11);
	assert_non_null(strstr(row->trigger_json, "\"above_ms\":10"));
	marks(w, 1000, 1);
	mark(w, 11); /* it speaks */
	assert_int_equal(fired(w), 2);
	assert_int_equal(live_flush(w->s), 0);
	assert_int_equal(w->s->batch->suppressed.count, 2);
	assert_int_equal(w->s->batch->suppressed.at[1].count, 0);
	watch(w, "[{'on':'frame','above_ms':10,'warm_up':1}]");
	assert_int_equal(w->s->triggers_watched, 3); /* numbers do not come again */
}

static void frames_that_were_cleared_are_not_asked_for(void **state)
{
	struct world *w = *state;

	watch(w, "[{'on':'frame','above_ms':10,'warm_up':1,'before':60}, "
		 "{'on':'exit_without_goodbye'}]");
	marks(w, 50, 1);
	assert_int_equal(live_clear(w->s), 0);
	mark(w, 11);
	assert_int_equal(spike(w, 0)->frame, 51);
	assert_int_equal(spike(w, 0)->first, 51);
	assert_int_equal(trigger_watch_exit(w->s), 0);
	assert_int_equal(spike(w, 1)->first, 51);
	assert_int_equal(spike(w, 1)->last, 51);
	assert_int_equal(live_clear(w->s), 0);
	assert_int_equal(trigger_watch_exit(w->s), 0);
	assert_int_equal(spike(w, 2)->first, 0); /* no frame, what came after the last one */
	assert_int_equal(spike(w, 2)->last, 0);
}

static void a_window_does_not_grow_for_ever(void **state)
{
	struct world *w = *state;
	size_t rows;

	watch(w, "[{'on':'frame','above_ms':1,'warm_up':1,'after':10,'cool_down_ms':3600000}]");
	marks(w, TRIGGER_EXTEND_MAX + 100, 2);
	rows = fired(w);
	assert_int_equal(rows, TRIGGER_EXTEND_MAX);
	marks(w, 100, 2);
	assert_int_equal(fired(w), rows);
}

static void an_empty_list_watches_nothing(void **state)
{
	struct world *w = *state;

	watch(w, "[{'on':'frame','above_ms':1,'warm_up':0}]");
	watch(w, "[]");
	assert_null(w->s->watch);
	marks(w, 5, 10);
	assert_int_equal(fired(w), 0);
}

/* With a median for one trigger, and nothing for the markers of the other. */
static void a_list_that_finds_no_memory_leaves_nothing_behind(void **state)
{
	struct trigger_list *list = parse("[{\"on\": \"frame\", \"times_median\": 3}, "
					  "{\"on\": \"zone\", \"name\": \"a\", \"above_ms\": 1}]");
	struct world *w = *state;
	size_t used = mallinfo2().uordblks; /* a sanitizer has its own, and says so itself */

	vec_grows_left = 0;
	assert_int_equal(trigger_watch_set(w->s, list), -ENOMEM);
	vec_grows_left = -1;
	assert_int_equal(mallinfo2().uordblks, used);
	assert_null(w->s->watch);
	assert_int_equal(list->references, 1);
	trigger_list_unref(list);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_left_out_is_filled_in),
		cmocka_unit_test(what_is_written_can_be_read),
		cmocka_unit_test(a_label_is_cut_between_characters),
		cmocka_unit_test(a_mistake_is_told_by_entry_and_member),
		cmocka_unit_test(lists_are_bounded),
		cmocka_unit_test(either_bound_is_enough),
		T(a_frame_above_its_bound_fires),
		T(a_frame_below_its_bound_does_not_fire),
		T(frames_of_the_warm_up_do_not_fire),
		T(a_frame_above_the_median_fires),
		T(the_median_follows_the_frames),
		T(a_frame_that_was_paused_says_nothing),
		T(cpu_time_leaves_waits_out),
		T(a_wait_fires_by_its_kind),
		T(a_zone_fires_by_its_total_over_threads),
		T(recursion_counts_once_and_self_leaves_children_out),
		T(a_zone_is_shared_out_over_the_frames_that_it_touches),
		T(several_frames_in_one_sweep_keep_their_own_times),
		T(a_counter_fires_by_its_value_at_the_end_of_a_frame),
		T(a_message_fires_by_category_and_text),
		T(a_first_appearance_fires_once),
		T(what_was_there_before_the_trigger_does_not_appear),
		T(a_frame_number_fires_once),
		T(lost_data_fires),
		T(a_gpu_time_fires_when_it_is_final),
		T(a_crash_fires),
		T(an_exit_without_a_goodbye_fires),
		T(an_end_in_order_does_not_fire),
		T(a_game_that_was_told_to_end_does_not_fire),
		T(what_fires_in_the_after_frames_fires_again),
		T(a_trigger_rests_and_tells_what_it_did_not_say),
		T(what_a_resting_trigger_did_not_say_is_told),
		T(frames_that_were_cleared_are_not_asked_for),
		T(a_window_does_not_grow_for_ever),
		T(an_empty_list_watches_nothing),
		T(a_list_that_finds_no_memory_leaves_nothing_behind),
	};

	return cmocka_run_group_tests_name("trigger", tests, NULL, NULL);
}
