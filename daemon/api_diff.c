/* SPDX-License-Identifier: MIT */
/*
 * What differs between two sides of runs: the frames' budget, the zones that moved, and what is
 * only on one side. The work is compare.h's; this reads the runs and says it.
 */
#include "api.h"

#include "api_range.h"
#include "api_sides.h"
#include "body.h"
#include "check_report.h"
#include "compare.h"
#include "util.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIMIT_DEFAULT 50u
#define LIMIT_MAX     1000u
#define FLOOR_MS      0.01

/* What could explain a difference beside the build. */
enum fact {
	FACT_GAME,
	FACT_BUILD,
	FACT_MACHINE,
	FACT_KERNEL,
	FACT_DRIVER,
	FACT_POWER,
	FACT_RECORDING,
	FACTS
};
static const char *const fact_names[FACTS] = {"game",	"build", "machine",  "kernel",
					      "driver", "power", "recording"};

struct diff_run {
	char *label;
	uint64_t session, first, last;
	struct run_identity identity;
	char *facts[FACTS]; /* NULL: not known */
};

struct diff {
	const struct api *api;
	const struct api_request *q;
	struct api_answer *a;
	struct compare *compare;
	const char *texts[2];
	side_parts_vec parts[2];
	VEC(struct diff_run) runs[2];
	side_spans_vec spans[2];
	struct compare_options options;
};

static void run_free(struct diff_run *run)
{
	size_t i;

	free(run->label);
	for (i = 0; i < FACTS; i++)
		free(run->facts[i]);
}

static void diff_deinit(struct diff *d)
{
	size_t side, i;

	compare_free(d->compare);
	for (side = 0; side < 2; side++) {
		side_parts_free(&d->parts[side]);
		for (i = 0; i < d->runs[side].count; i++)
			run_free(&d->runs[side].at[i]);
		VEC_FREE(&d->runs[side]);
		VEC_FREE(&d->spans[side]);
	}
}

/* A member of the facts as text, behind what is in text already. */
static void append_fact(char *text, size_t size, const struct body *facts, const char *key)
{
	size_t at = strlen(text);
	const char *between = at ? ", " : "";

	if (body_kind(facts, key) == BODY_TEXT)
		snprintf(text + at, size - at, "%s%s", between, body_text(facts, key));
	else if (body_kind(facts, key) == BODY_INTEGER)
		snprintf(text + at, size - at, "%s%" PRId64 " %s", between,
			 body_integer(facts, key), key);
}

static const char *recording_of(const struct history_session *s)
{
	if (s->attached)
		return "attached to, which sees presents only";
	return s->hooked ? "under `fprof run`, whose hook adds zones of sleeps and presents"
			 : "without `fprof run`";
}

static void read_facts(struct diff_run *run, const struct history_session *s)
{
	const struct session_row *row = &s->row;
	static const struct {
		enum fact fact;
		const char *key;
	} keys[] = {{FACT_MACHINE, "cpu"}, {FACT_MACHINE, "cpus"},	{FACT_KERNEL, "kernel"},
		    {FACT_MACHINE, "gpu"}, {FACT_DRIVER, "gpu_driver"}, {FACT_POWER, "governor"},
		    {FACT_POWER, "turbo"}, {FACT_POWER, "affinity"}};
	char texts[FACTS][512] = {{0}};
	struct body *facts = NULL;
	int line, column;
	size_t i;

	if (row->facts_json &&
	    body_parse(row->facts_json, strlen(row->facts_json), &facts, &line, &column) == 0) {
		for (i = 0; i < ARRAY_SIZE(keys); i++)
			append_fact(texts[keys[i].fact], sizeof(texts[0]), facts, keys[i].key);
		body_free(facts);
	}
	snprintf(texts[FACT_GAME], sizeof(texts[0]), "%s", row->name ? row->name : "");
	snprintf(texts[FACT_RECORDING], sizeof(texts[0]), "%s", recording_of(s));
	snprintf(texts[FACT_BUILD], sizeof(texts[0]), "%s", row->build_id ? row->build_id : "");
	for (i = 0; i < FACTS; i++)
		run->facts[i] = texts[i][0] ? strdup(texts[i]) : NULL;
}

/* The run that an open part belongs to, of its side: its index, or -ENOMEM. */
static int run_of(struct diff *d, unsigned side, const struct side_part *part,
		  const struct api_part *open)
{
	struct diff_run run = {.session = open->session.row.id,
			       .first = open->range.first,
			       .last = open->range.last,
			       .identity = api_part_identity(open)};
	size_t i;

	for (i = 0; i < d->runs[side].count; i++)
		if (run_identity_same(&d->runs[side].at[i].identity, &run.identity))
			return (int)i;
	run.label = strdup(part->text);
	if (!run.label)
		return -ENOMEM;
	read_facts(&run, &open->session);
	if (VEC_PUSH(&d->runs[side], run) < 0) {
		run_free(&run);
		return -ENOMEM;
	}
	return compare_add_run(d->compare, side);
}

static bool read_part(struct diff *d, unsigned side, const struct side_part *part)
{
	__attribute__((cleanup(api_part_close))) struct api_part open;
	const char *stream = route_value(&d->q->route, "stream");
	int run, r;

	if (!api_part_open(d->api, d->q, d->a, part, stream, &open))
		return false;
	if (open.aggregate) {
		api_fail_aggregate(d->a);
		return false;
	}
	r = api_part_once(d->a, side ? "b" : "a", part, &open, &d->spans[side]);
	if (r == 0 || r == -EEXIST)
		return r == 0;
	run = r < 0 ? r : run_of(d, side, part, &open);
	r = run < 0 ? run
		    : compare_read(d->compare, side, (size_t)run, open.reader.history, &open.range);
	if (r < 0) {
		api_fail_history(d->a, r, "range of frames");
		return false;
	}
	d->compare->sides[side].at[run].frames.missing += open.missing;
	return true;
}

static bool read_side(struct diff *d, unsigned side)
{
	static const struct api_problem empty = {409, "no-frames", "There are no frames to compare",
						 NULL, NULL};
	size_t i;

	for (i = 0; i < d->parts[side].count; i++)
		if (!read_part(d, side, &d->parts[side].at[i]))
			return false;
	for (i = 0; i < d->runs[side].count; i++) {
		if (d->compare->sides[side].at[i].counted > 0)
			continue;
		api_fail(d->a, &empty, "%.200s has no frame of play whose events are still there",
			 d->runs[side].at[i].label);
		return false;
	}
	return true;
}

static void json_interval(struct json *j, const struct compare_number *n)
{
	json_key(j, "interval_ns");
	if (!n->has_interval) {
		json_null(j);
		return;
	}
	json_object_begin(j);
	json_member_double(j, "low", n->interval.low);
	json_member_double(j, "high", n->interval.high);
	json_object_end(j);
}

static void json_number_members(struct json *j, const struct compare_number *n)
{
	json_member_double(j, "a_ns", n->a);
	json_member_double(j, "b_ns", n->b);
	json_member_double(j, "delta_ns", n->b - n->a);
	json_interval(j, n);
}

static void json_runs(struct json *j, const struct diff *d, unsigned side)
{
	size_t i;

	json_key(j, side ? "b" : "a");
	json_object_begin(j);
	json_member_string(j, "text", d->texts[side]);
	json_key(j, "runs");
	json_array_begin(j);
	for (i = 0; i < d->runs[side].count; i++) {
		const struct diff_run *run = &d->runs[side].at[i];

		check_report_run(j, run->label, run->session, run->first, run->last,
				 &d->compare->sides[side].at[i].frames);
	}
	json_array_end(j);
	json_object_end(j);
}

/* Of each fact the first run that differs from the first of a. */
static void json_warnings(struct json *j, const struct diff *d)
{
	const struct diff_run *base = &d->runs[0].at[0];
	size_t fact, side, i;

	json_key(j, "warnings");
	json_array_begin(j);
	for (fact = 0; fact < FACTS; fact++) {
		const struct diff_run *other = NULL;

		for (side = 0; side < 2; side++)
			for (i = 0; !other && i < d->runs[side].count; i++) {
				const struct diff_run *run = &d->runs[side].at[i];
				const char *x = base->facts[fact], *y = run->facts[fact];

				if (strcmp(x ? x : "", y ? y : "") != 0)
					other = run;
			}
		if (!other)
			continue;
		json_object_begin(j);
		json_member_string(j, "differs", fact_names[fact]);
		json_member_string(j, "a", base->facts[fact]);
		json_member_string(j, "other", other->facts[fact]);
		json_member_string(j, "run", other->label);
		json_object_end(j);
	}
	json_array_end(j);
}

/* What is not in the numbers, run by run. */
static void json_lost(struct json *j, const struct diff *d)
{
	size_t side, i;

	json_key(j, "lost");
	json_array_begin(j);
	for (side = 0; side < 2; side++)
		for (i = 0; i < d->runs[side].count; i++) {
			const struct run_frames *f = &d->compare->sides[side].at[i].frames;

			if (!run_frames_lost(f) && f->evicted == 0)
				continue;
			json_object_begin(j);
			json_member_string(j, "side", side ? "b" : "a");
			json_member_string(j, "run", d->runs[side].at[i].label);
			api_json_lost_members(j, f);
			json_object_end(j);
		}
	json_array_end(j);
}

static void json_moved(struct json *j, const struct compare_number *n)
{
	json_key(j, "moved");
	if (n->has_interval)
		json_bool(j, n->interval.low > 0 || n->interval.high < 0);
	else
		json_null(j);
}

static int json_budget(struct json *j, const struct diff *d)
{
	size_t part;
	int r = 0;

	json_key(j, "budget");
	json_array_begin(j);
	for (part = 0; r == 0 && part < COMPARE_PARTS; part++) {
		struct compare_number n = {0};

		if (!compare_part_of(d->compare, (enum compare_part)part, &n, &r))
			continue;
		json_object_begin(j);
		json_member_string(j, "part", compare_part_names[part]);
		json_number_members(j, &n);
		json_moved(j, &n);
		json_object_end(j);
	}
	json_array_end(j);
	return r;
}

/* A path as its thread and the names below. */
static void json_path(struct json *j, const struct compare *c, uint32_t path)
{
	VEC(uint32_t) names = {0};

	for (; c->paths.at[path].parent != UINT32_MAX; path = c->paths.at[path].parent)
		if (VEC_PUSH(&names, path) < 0)
			j->failed = true;
	json_member_string(j, "thread", c->paths.at[path].name);
	json_key(j, "path");
	json_array_begin(j);
	while (names.count > 0)
		json_string(j, c->paths.at[names.at[--names.count]].name);
	json_array_end(j);
	VEC_FREE(&names);
}

static void json_row(struct json *j, const struct compare *c, const struct compare_row *row)
{
	json_object_begin(j);
	json_path(j, c, row->path);
	json_key(j, "total");
	json_object_begin(j);
	json_number_members(j, &row->total);
	json_object_end(j);
	json_key(j, "self");
	json_object_begin(j);
	json_number_members(j, &row->self);
	json_object_end(j);
	json_member_double(j, "a_calls", row->calls_a);
	json_member_double(j, "b_calls", row->calls_b);
	json_object_end(j);
}

static void json_rows(struct json *j, const char *key, const struct compare *c,
		      const struct compare_row *rows, size_t count)
{
	size_t i;

	json_key(j, key);
	json_array_begin(j);
	for (i = 0; i < count; i++)
		json_row(j, c, &rows[i]);
	json_array_end(j);
}

static void json_counts(struct json *j, const struct diff *d, const struct compare_rows *rows)
{
	json_key(j, "counts");
	json_object_begin(j);
	json_member_uint(j, "moved", rows->moved_all);
	json_member_uint(j, "appeared", rows->appeared_all);
	json_member_uint(j, "vanished", rows->vanished_all);
	json_member_uint(j, "same", rows->same);
	json_member_uint(j, "below_floor", rows->below_floor);
	json_member_uint(j, "not_tried", rows->not_tried);
	json_member_uint(j, "zones_of_too_many_paths", d->compare->left_out);
	json_object_end(j);
}

static void answer(struct diff *d)
{
	__attribute__((cleanup(compare_rows_deinit))) struct compare_rows rows = {0};
	const char *stream = route_value(&d->q->route, "stream");
	struct json *j = &d->a->body;
	int r = compare_rows(d->compare, &d->options, &rows);

	if (r == 0) {
		json_object_begin(j);
		json_runs(j, d, 0);
		json_runs(j, d, 1);
		json_member_string(j, "stream", stream ? stream : "main");
		json_warnings(j, d);
		json_lost(j, d);
		r = json_budget(j, d);
	}
	if (r < 0) {
		api_fail_history(d->a, r, "range of frames");
		return;
	}
	json_rows(j, "moved", d->compare, rows.moved.at, rows.moved.count);
	json_rows(j, "appeared", d->compare, rows.appeared.at, rows.appeared.count);
	json_rows(j, "vanished", d->compare, rows.vanished.at, rows.vanished.count);
	json_counts(j, d, &rows);
	json_member_string(j, "by", d->options.by_total ? "total" : "self");
	json_member_double(j, "floor_ms", d->options.floor_ns / 1e6);
	json_member_double(j, "confidence", COMPARE_CONFIDENCE);
	json_key(j, "intervals");
	if (d->runs[0].count > 1 || d->runs[1].count > 1)
		json_string(j, "runs, and blocks of frames within each");
	else
		json_string(j, "blocks of frames");
	json_object_end(j);
}

static bool parse_options(struct diff *d)
{
	static const char *const bys[] = {"self", "total", NULL};
	static const char *const floors[] = {"a number, 0 or more", NULL};
	const char *floor_ms = route_value(&d->q->route, "floor_ms");
	int by = api_parse_choice(d->q, d->a, "by", bys, 0);
	double ms = FLOOR_MS;
	uint64_t limit;
	char *end;

	if (by < 0 || !api_parse_number(d->q, d->a, "limit", 1, LIMIT_MAX, LIMIT_DEFAULT, &limit))
		return false;
	if (floor_ms) {
		ms = strtod(floor_ms, &end);
		if (end == floor_ms || *end || !isfinite(ms * 1e6) || ms < 0) {
			api_fail_parameter(d->a, "floor_ms", floor_ms, floors);
			return false;
		}
	}
	d->options =
		(struct compare_options){.by_total = by == 1, .floor_ns = ms * 1e6, .limit = limit};
	return true;
}

static bool resolve(struct diff *d, unsigned side)
{
	static const char *const allowed[] = {"SESSION, SESSION:FROM-TO or a capture's name", NULL};
	const char *parameter = side ? "b" : "a";

	d->texts[side] = route_value(&d->q->route, parameter);
	if (!d->texts[side] || !*d->texts[side]) {
		api_fail_parameter(d->a, parameter, "", allowed);
		return false;
	}
	return api_side_resolve(d->api, d->q, d->a, parameter, d->texts[side], &d->parts[side]);
}

void api_diff(const struct api *api, const struct api_request *q, struct api_answer *a)
{
	__attribute__((cleanup(diff_deinit))) struct diff d = {.api = api, .q = q, .a = a};

	if (!parse_options(&d) || !resolve(&d, 0) || !resolve(&d, 1))
		return;
	if (compare_new(&d.compare) < 0) {
		api_fail_history(a, -ENOMEM, "range of frames");
		return;
	}
	if (read_side(&d, 0) && read_side(&d, 1))
		answer(&d);
}
