/* SPDX-License-Identifier: MIT */
/*
 * Counters: what the game publishes, once a frame, beside what is sampled from outside, about once
 * a second. A sampled one has the time of its reading and its age; of one that grows there is the
 * rate between the last two readings, and never a share of a frame.
 */
#include "api.h"

#include "api_range.h"
#include "counter_names.h"
#include "counter_series.h"
#include "history_sampled.h"
#include "shm/clock_source.h"
#include "util.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* What both kinds are asked for. */
struct counters_answer {
	history_published_vec game;
	history_sampled_vec sampled;
	bool live;
	int64_t now_ns; /* of the session's clock, while it is live */
	/* Where the values over time are asked for, too: */
	struct history *history; /* NULL: they are not */
	uint64_t session, last;	 /* so many frames back */
	size_t values_left;	 /* counters that may still have theirs */
};

/* Of more counters the values over time are null in the list. */
#define VALUES_MAX 256

static bool wants_values(struct counters_answer *c, struct json *j)
{
	if (c->history && c->values_left > 0) {
		c->values_left--;
		return true;
	}
	if (c->history) {
		json_key(j, "values");
		json_null(j);
	}
	return false;
}

static void counters_deinit(struct counters_answer *c)
{
	history_published_free(&c->game);
	history_sampled_free(&c->sampled);
}

static int read_counters(struct history *h, uint64_t session, struct counters_answer *c)
{
	int r = history_published(h, session, &c->game);

	return r < 0 ? r : history_sampled(h, session, &c->sampled);
}

static int64_t now_of(const struct session_row *r)
{
	const struct fprof_clock_rate rate = {r->clock_mult, r->clock_shift, r->clock_hz};

	return fprof_clock_ns(&rate, r->start_ticks,
			      fprof_clock_read((enum fprof_clock_kind)r->clock_kind));
}

/* --- over time --------------------------------------------------------------------------- */

/* A pair, or an object whose members are named. */
static void json_point(struct json *j, bool pairs, const char *at, int64_t where, double value)
{
	if (pairs) {
		json_array_begin(j);
		json_int(j, where);
		json_double(j, value);
		json_array_end(j);
		return;
	}
	json_object_begin(j);
	json_member_int(j, at, where);
	json_member_double(j, "value", value);
	json_object_end(j);
}

static int json_game_values(struct json *j, struct history *h, uint64_t session,
			    const struct history_published *c, uint64_t last, bool pairs)
{
	uint64_t to = c->value.frame, from = to > last ? to - last + 1 : 1;
	counter_series_vec series = {0};
	size_t i;
	int r = counter_series_read(h, session, 0, c->value.marker, from, to, &series);

	json_key(j, "values");
	json_array_begin(j);
	for (i = 0; i < series.count; i++)
		json_point(j, pairs, "frame", (int64_t)series.at[i].frame, series.at[i].value);
	json_array_end(j);
	VEC_FREE(&series);
	return r;
}

static int json_sampled_values(struct json *j, struct history *h, uint64_t session,
			       const struct history_sampled *c, bool pairs)
{
	history_samples_vec samples = {0};
	size_t i;
	int r = history_samples(h, session, c->counter, &samples);

	json_key(j, "values");
	json_array_begin(j);
	for (i = 0; i < samples.count; i++)
		json_point(j, pairs, "sampled_at_ns", samples.at[i].ns,
			   (double)samples.at[i].value);
	json_array_end(j);
	VEC_FREE(&samples);
	return r;
}

/* --- the list ----------------------------------------------------------------------------- */

static void json_value(struct json *j, const struct frame_counter_row *v)
{
	json_key(j, "value");
	if (v->is_double)
		json_double(j, v->value.d);
	else
		json_int(j, v->value.i);
}

static int json_game(struct json *j, const struct history_published *c, struct counters_answer *all)
{
	int r = 0;

	json_object_begin(j);
	json_member_string(j, "name", c->marker.name);
	json_member_string(j, "origin", "game");
	json_member_string(j, "source", "fprof counter");
	json_member_string(j, "unit", api_unit_name(c->marker.unit));
	json_value(j, &c->value);
	json_member_uint(j, "frame", c->value.frame);
	json_member_bool(j, "incomplete", c->value.incomplete);
	if (wants_values(all, j))
		r = json_game_values(j, all->history, all->session, c, all->last, true);
	json_object_end(j);
	return r;
}

static void json_rate(struct json *j, const struct history_sampled *s)
{
	bool known = s->cumulative && s->count == 2 && s->newest[0].ns > s->newest[1].ns &&
		     s->newest[0].value >= s->newest[1].value;
	int64_t ns = known ? s->newest[0].ns - s->newest[1].ns : 0;

	json_member_double(
		j, "per_second",
		known ? (double)(s->newest[0].value - s->newest[1].value) * 1e9 / (double)ns : NAN);
	api_json_ns(j, "over_ns", known ? ns : NS_UNKNOWN);
}

static int json_sampled(struct json *j, const struct history_sampled *s, struct counters_answer *c)
{
	int r = 0;

	json_object_begin(j);
	json_member_string(j, "name", s->name);
	json_member_string(j, "origin", "sampled");
	json_member_string(j, "source", s->source);
	json_member_string(j, "unit", api_unit_name(s->unit));
	json_member_bool(j, "cumulative", s->cumulative);
	json_member_int(j, "value", s->newest[0].value);
	json_member_int(j, "sampled_at_ns", s->newest[0].ns);
	api_json_ns(j, "age_ns", c->live ? MAX(c->now_ns - s->newest[0].ns, 0) : NS_UNKNOWN);
	json_rate(j, s);
	if (wants_values(c, j))
		r = json_sampled_values(j, c->history, c->session, s, true);
	json_object_end(j);
	return r;
}

static const char *module_of(const struct history_published *c)
{
	return counter_module(c->marker.name, c->marker.category);
}

static bool has_any(const struct counters_answer *c, const char *module)
{
	size_t i;

	for (i = 0; i < c->game.count; i++)
		if (!strcmp(module_of(&c->game.at[i]), module))
			return true;
	for (i = 0; i < c->sampled.count; i++)
		if (!strcmp(c->sampled.at[i].module, module) && c->sampled.at[i].count > 0)
			return true;
	return false;
}

static int json_module(struct json *j, struct counters_answer *c, const char *module)
{
	size_t i;
	int r = 0;

	json_object_begin(j);
	json_member_string(j, "module", module);
	json_key(j, "counters");
	json_array_begin(j);
	for (i = 0; i < c->game.count && r == 0; i++)
		if (!strcmp(module_of(&c->game.at[i]), module))
			r = json_game(j, &c->game.at[i], c);
	for (i = 0; i < c->sampled.count && r == 0; i++)
		if (!strcmp(c->sampled.at[i].module, module) && c->sampled.at[i].count > 0)
			r = json_sampled(j, &c->sampled.at[i], c);
	json_array_end(j);
	json_object_end(j);
	return r;
}

/* What the readings cost, of all sessions together. */
static void json_sampling(struct json *j, const struct api *api)
{
	struct sampler_health h;

	sampler_health(api->context->sampler, &h);
	json_key(j, "sampling");
	json_object_begin(j);
	json_member_string(j, "state", h.interval_ms ? "on" : "off");
	json_member_uint(j, "interval_ms", h.interval_ms);
	json_key(j, "cost_ns_per_sample");
	if (h.rounds > 0)
		json_uint(j, h.cost_ns / h.rounds);
	else
		json_null(j);
	json_member_uint(j, "refused", h.refused);
	json_object_end(j);
}

void api_counters(const struct api *api, const struct api_request *q, struct api_answer *a)
{
	__attribute__((cleanup(history_session_deinit))) struct history_session s = {0};
	__attribute__((cleanup(counters_deinit))) struct counters_answer c = {0};
	_cleanup_reader_ struct api_reader reader = {0};
	static const char *const choices[] = {"no", "yes", NULL};
	const char *const *module;
	struct json *j = &a->body;
	int values = api_parse_choice(q, a, "values", choices, 0), r;

	if (values < 0 ||
	    !api_parse_number(q, a, "last", 1, API_FRAMES_MAX, API_FRAMES_DEFAULT, &c.last) ||
	    !api_open_session(api, q, a, &reader, &s))
		return;
	r = read_counters(reader.history, s.row.id, &c);
	if (r < 0) {
		api_fail_history(a, r, "session");
		return;
	}
	c.live = s.update.state == SESSION_LIVE;
	c.now_ns = c.live ? now_of(&s.row) : 0;
	c.history = values ? reader.history : NULL;
	c.session = s.row.id;
	c.values_left = VALUES_MAX;
	json_object_begin(j);
	json_member_uint(j, "session", s.row.id);
	json_key(j, "modules");
	json_array_begin(j);
	for (module = counter_modules; *module && r == 0; module++)
		if (has_any(&c, *module))
			r = json_module(j, &c, *module);
	json_array_end(j);
	json_sampling(j, api);
	json_object_end(j);
	if (r < 0)
		api_fail_history(a, r, "session");
}

/* ---- one of them over time ---- */

static void fail_unknown(struct api_answer *a, const struct counters_answer *c, const char *name)
{
	const char *known[64];
	const struct api_problem problem = {404, "not-found", "There is no such thing", "name",
					    known};
	size_t i, n = 0;

	for (i = 0; i < c->game.count && n < ARRAY_SIZE(known) - 1; i++)
		known[n++] = c->game.at[i].marker.name;
	for (i = 0; i < c->sampled.count && n < ARRAY_SIZE(known) - 1; i++)
		known[n++] = c->sampled.at[i].name;
	known[n] = NULL;
	api_fail(a, &problem, "There is no counter %.64s in this session", name);
}

static int json_game_series(struct json *j, struct history *h, uint64_t session,
			    const struct history_published *c, uint64_t last)
{
	json_member_string(j, "origin", "game");
	json_member_string(j, "unit", api_unit_name(c->marker.unit));
	return json_game_values(j, h, session, c, last, false);
}

static int json_sampled_series(struct json *j, struct history *h, uint64_t session,
			       const struct history_sampled *c)
{
	json_member_string(j, "origin", "sampled");
	json_member_string(j, "unit", api_unit_name(c->unit));
	json_member_bool(j, "cumulative", c->cumulative);
	return json_sampled_values(j, h, session, c, false);
}

static int json_series(struct json *j, struct history *h, const struct history_session *s,
		       const struct counters_answer *c, const char *name, uint64_t last)
{
	size_t i;

	for (i = 0; i < c->game.count; i++)
		if (!strcmp(c->game.at[i].marker.name ? c->game.at[i].marker.name : "", name))
			return json_game_series(j, h, s->row.id, &c->game.at[i], last);
	for (i = 0; i < c->sampled.count; i++)
		if (!strcmp(c->sampled.at[i].name, name))
			return json_sampled_series(j, h, s->row.id, &c->sampled.at[i]);
	return -ENOENT;
}

void api_counter(const struct api *api, const struct api_request *q, struct api_answer *a)
{
	__attribute__((cleanup(history_session_deinit))) struct history_session s = {0};
	__attribute__((cleanup(counters_deinit))) struct counters_answer c = {0};
	_cleanup_reader_ struct api_reader reader = {0};
	uint64_t count;
	struct json *j = &a->body;
	int r;

	if (!api_parse_number(q, a, "last", 1, API_FRAMES_MAX, API_FRAMES_DEFAULT, &count) ||
	    !api_open_session(api, q, a, &reader, &s))
		return;
	r = read_counters(reader.history, s.row.id, &c);
	json_object_begin(j);
	json_member_uint(j, "session", s.row.id);
	json_member_string(j, "name", q->route.name);
	if (r == 0)
		r = json_series(j, reader.history, &s, &c, q->route.name, count);
	json_object_end(j);
	if (r == -ENOENT)
		fail_unknown(a, &c, q->route.name);
	else if (r < 0)
		api_fail_history(a, r, "session");
}
