/* SPDX-License-Identifier: MIT */
/*
 * Parameters are collected into a draft, one for all conditions and then one for each; a draft
 * becomes a condition when it ends, since whether max_ms or max fits depends on the metric, which
 * may come first.
 */
#include "check_request.h"

#include "check.h"
#include "util.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const share_forms[] = {"5%", "0.05, which is the same", "at most 100%, or 1",
					  NULL};
static const char *const number_forms[] = {"a number, 0 or more", NULL};
static const char *const bound_forms[] = {"max_ms (of a time) or max (of anything else)",
					  "baseline=NAME, with tolerance and floor_ms or floor",
					  NULL};
static const char *const time_forms[] = {"max_ms and floor_ms, since it is a time", NULL};
static const char *const other_forms[] = {"max and floor, since it is no time", NULL};
static const char *const count_forms[] = {"at most 16 conditions", NULL};
static const char *const yes_forms[] = {"yes", "no", NULL};
static const char *const frame_forms[] = {"a frame's number, from 1", "last or from and to", NULL};
static const char *const last_forms[] = {"1..1000000", "not together with from or to", NULL};

struct draft {
	const char *metric, *baseline, *max, *max_ms, *tolerance, *floor, *floor_ms, *slow_ms;
};

static int wrong(struct check_wrong *w, const char *parameter, const char *value,
		 const char *const *allowed)
{
	*w = (struct check_wrong){parameter, value ? value : "", allowed};
	return -EINVAL;
}

/* A number of 0 or more; *ret_percent: it ends in a percent sign. */
static int parse_number(const char *text, double *ret_number, bool *ret_percent)
{
	char *end;
	double number = strtod(text, &end);

	if (end == text || !isfinite(number) || number < 0 || strpbrk(text, "xXnN "))
		return -EINVAL;
	if (ret_percent && *end == '%') {
		*ret_percent = true;
		end++;
	}
	*ret_number = number;
	return *end ? -EINVAL : 0;
}

/* The same of milliseconds, that can be counted in ns. */
static int parse_ms(const char *text, double *ret_ms)
{
	int r = parse_number(text, ret_ms, NULL);

	return r == 0 && !isfinite(*ret_ms * 1e6) ? -EINVAL : r;
}

static int parse_tolerance(const char *text, double *ret_share, struct check_wrong *w)
{
	bool percent = false;
	double number;

	if (!text) {
		*ret_share = CHECK_TOLERANCE;
		return 0;
	}
	if (parse_number(text, &number, &percent) < 0)
		return wrong(w, "tolerance", text, share_forms);
	number = percent ? number / 100 : number;
	if (number > 1)
		return wrong(w, "tolerance", text, share_forms);
	*ret_share = number;
	return 0;
}

/* A number in the metric's unit, under one of two names. */
static int parse_quantity(const struct check_ask *ask, const char *plain, const char *ms,
			  const char *plain_name, const char *ms_name, double *ret_number,
			  struct check_wrong *w)
{
	bool is_time = run_metric_is_time(&ask->metric), percent = false;
	bool is_share = ask->metric.statistic == RUN_SLOW_SHARE;
	const char *text = is_time ? ms : plain;

	if (is_time && plain)
		return wrong(w, plain_name, plain, time_forms);
	if (!is_time && ms)
		return wrong(w, ms_name, ms, other_forms);
	if (!text)
		return -ENOENT;
	if (is_time ? parse_ms(text, ret_number) < 0
		    : parse_number(text, ret_number, is_share ? &percent : NULL) < 0)
		return wrong(w, is_time ? ms_name : plain_name, text,
			     is_share ? share_forms : number_forms);
	*ret_number *= is_time ? 1e6 : percent ? 0.01 : 1;
	return 0;
}

static int finish_comparison(const struct draft *d, struct check_ask *ask, struct check_wrong *w)
{
	int r = parse_tolerance(d->tolerance, &ask->tolerance, w);

	if (r < 0)
		return r;
	if (!*d->baseline)
		return wrong(w, "baseline", d->baseline, bound_forms);
	ask->baseline = d->baseline;
	r = parse_quantity(ask, d->floor, d->floor_ms, "floor", "floor_ms", &ask->floor, w);
	if (r != -ENOENT)
		return r;
	ask->floor = run_metric_is_time(&ask->metric) ? CHECK_FLOOR_MS * 1e6 : 0;
	return 0;
}

static int finish(const struct draft *d, struct check_request *request, struct check_wrong *w)
{
	double slow_ms = RUN_SLOW_MS;
	struct check_ask *ask;
	int r;

	if (request->count == CHECK_CONDITIONS_MAX)
		return wrong(w, "metric", d->metric, count_forms);
	ask = &request->asks[request->count];
	ask->text = d->metric ? d->metric : CHECK_METRIC;
	if (d->slow_ms && parse_ms(d->slow_ms, &slow_ms) < 0)
		return wrong(w, "slow_ms", d->slow_ms, number_forms);
	if (run_metric_parse(ask->text, slow_ms, &ask->metric) < 0)
		return wrong(w, "metric", ask->text, run_metric_forms);
	if (d->baseline && (d->max || d->max_ms))
		return wrong(w, "baseline", d->baseline, bound_forms);
	if (d->baseline) {
		r = finish_comparison(d, ask, w);
	} else {
		r = parse_quantity(ask, d->max, d->max_ms, "max", "max_ms", &ask->max, w);
		if (r == -ENOENT)
			return wrong(w, "metric", ask->text, bound_forms);
	}
	if (r == 0)
		request->count++;
	return r;
}

/* Where a draft keeps a parameter; NULL: it is none of a condition. */
static const char **place_of(struct draft *d, const char *name)
{
	const struct {
		const char *name;
		const char **place;
	} places[] = {{"baseline", &d->baseline}, {"max", &d->max},
		      {"max_ms", &d->max_ms},	  {"tolerance", &d->tolerance},
		      {"floor", &d->floor},	  {"floor_ms", &d->floor_ms},
		      {"slow_ms", &d->slow_ms}};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(places); i++)
		if (!strcmp(places[i].name, name))
			return places[i].place;
	return NULL;
}

static int parse_frames(struct check_request *request, const struct route_param *p,
			struct check_wrong *w)
{
	uint64_t *at = !strcmp(p->name, "from") ? &request->from : &request->to;

	if (!strcmp(p->name, "last")) {
		if (route_number(p->value, 1, 1000000, &request->last) < 0)
			return wrong(w, p->name, p->value, last_forms);
		return 0;
	}
	if (route_number(p->value, 1, INT64_MAX, at) < 0)
		return wrong(w, p->name, p->value, frame_forms);
	return 0;
}

/* What a condition says itself goes before what was said for all: a bound before a baseline. */
static int place(struct draft *d, const struct draft *common, const struct route_param *p,
		 struct check_wrong *w)
{
	static const char *const once[] = {"once a condition", NULL};
	struct draft all = *common;
	const char **at = place_of(d, p->name);

	if (*at && (d == common || *at != *place_of(&all, p->name)))
		return wrong(w, p->name, p->value, once);
	*at = p->value;
	if (d == common)
		return 0;
	if (!strncmp(p->name, "max", 3) && d->baseline == common->baseline)
		d->baseline = NULL;
	if (!strcmp(p->name, "baseline") && d->max == common->max && d->max_ms == common->max_ms)
		d->max = d->max_ms = NULL;
	return 0;
}

/* A parameter of the whole request. */
static int parse_common(struct check_request *request, const struct route_param *p,
			struct check_wrong *w)
{
	if (!strcmp(p->name, "runs")) {
		request->runs = p->value;
	} else if (!strcmp(p->name, "stream")) {
		request->stream = p->value;
	} else if (!strcmp(p->name, "allow_loss")) {
		request->allow_loss = !strcmp(p->value, "yes");
		if (!request->allow_loss && strcmp(p->value, "no") != 0)
			return wrong(w, p->name, p->value, yes_forms);
	} else {
		return parse_frames(request, p, w);
	}
	return 0;
}

static int check_frames(const struct check_request *request, struct check_wrong *w)
{
	if (request->last && (request->from || request->to))
		return wrong(w, "last", "", last_forms);
	if (request->to && request->to < request->from)
		return wrong(w, "to", "", frame_forms);
	return 0;
}

int check_request_parse(const struct route_request *route, struct check_request *ret_request,
			struct check_wrong *ret_wrong)
{
	struct draft common = {0}, draft;
	bool begun = false;
	unsigned i;
	int r = 0;

	memset(ret_request, 0, sizeof(*ret_request));
	for (i = 0; r == 0 && i < route->count; i++) {
		const struct route_param *p = &route->params[i];
		struct draft *d = begun ? &draft : &common;

		if (!strcmp(p->name, "metric")) {
			r = begun ? finish(&draft, ret_request, ret_wrong) : 0;
			draft = common;
			draft.metric = p->value;
			begun = true;
		} else if (place_of(d, p->name)) {
			r = place(d, &common, p, ret_wrong);
		} else {
			r = parse_common(ret_request, p, ret_wrong);
		}
	}
	if (r == 0)
		r = finish(begun ? &draft : &common, ret_request, ret_wrong);
	return r == 0 ? check_frames(ret_request, ret_wrong) : r;
}
