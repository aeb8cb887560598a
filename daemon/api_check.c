/* SPDX-License-Identifier: MIT */
/*
 * The regression gate: 200 only for pass, 417 for fail, 409 for inconclusive, so that curl --fail
 * is enough of a client. What is asked is in check_request.h, how it is decided in check.h.
 *
 * Each side is read once, with the metrics of all conditions; a name that several conditions have
 * as their baseline is one side.
 */
#include "api.h"

#include "api_range.h"
#include "api_sides.h"
#include "bootstrap.h"
#include "check.h"
#include "check_report.h"
#include "check_request.h"
#include "shm/layout.h"
#include "util.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_SHOWN 50u

/* One side: the runs behind a text. */
struct side {
	const char *text; /* NULL: the runs that are checked */
	side_parts_vec parts;
	check_runs_vec runs;
	VEC(struct run_identity) identities; /* by run */
	side_spans_vec spans;
};

struct work {
	const struct api *api;
	const struct api_request *q;
	struct api_answer *a;
	struct check_request request;
	struct side sides[CHECK_CONDITIONS_MAX + 1]; /* the runs first */
	size_t side_count;
	struct run_metric metrics[CHECK_CONDITIONS_MAX];
	struct check_result results[CHECK_CONDITIONS_MAX];
	enum check_verdict verdict; /* of them all */
};

static void work_free(struct work **work)
{
	struct work *w = *work;
	size_t i;

	if (!w)
		return;
	for (i = 0; i < w->side_count; i++) {
		side_parts_free(&w->sides[i].parts);
		check_runs_free(&w->sides[i].runs);
		VEC_FREE(&w->sides[i].identities);
		VEC_FREE(&w->sides[i].spans);
	}
	for (i = 0; i < w->request.count; i++) {
		free(w->results[i].run_values);
		free(w->results[i].baseline_values);
	}
	free(w);
}

static bool fail_memory(struct work *w)
{
	api_fail_history(w->a, -ENOMEM, "list of runs");
	return false;
}

/* The run that an open part belongs to: one that is there, or a new one. NULL: no memory. */
static struct check_run *run_of(struct side *side, const struct side_part *part,
				const struct api_part *open)
{
	struct run_identity identity = api_part_identity(open);
	struct check_run run = {.session = open->session.row.id,
				.first = open->range.first,
				.last = open->range.last};
	size_t i;

	for (i = 0; i < side->runs.count; i++)
		if (run_identity_same(&side->identities.at[i], &identity))
			return &side->runs.at[i];
	if (VEC_PUSH(&side->identities, identity) < 0)
		return NULL;
	run.label = strdup(part->text);
	if (!run.label || VEC_PUSH(&side->runs, run) < 0) {
		free(run.label);
		return NULL;
	}
	return &side->runs.at[side->runs.count - 1];
}

static bool wants_zones(const struct work *w)
{
	size_t i;

	for (i = 0; i < w->request.count; i++)
		if (w->metrics[i].source >= RUN_ZONE_TOTAL &&
		    w->metrics[i].source <= RUN_ZONE_CALLS)
			return true;
	return false;
}

/* Of a run's first part that lacks events: the frames that have theirs. */
static void note_kept(struct check_run *run, const struct side_part *part,
		      const struct range *range)
{
	size_t kept = range->kept_from;

	run->kept_first =
		kept < range->frames.frames.count ? range->frames.frames.at[kept].row.frame : 0;
	run->kept_last = range->last;
	run->kept_newest = part->to == 0;
}

static bool read_part(struct work *w, struct side *side, const struct side_part *part)
{
	__attribute__((cleanup(api_part_close))) struct api_part open;
	struct check_run *run;
	int r;

	if (!api_part_open(w->api, w->q, w->a, part, w->request.stream, &open))
		return false;
	if (open.aggregate && wants_zones(w)) {
		api_fail_aggregate(w->a);
		return false;
	}
	r = api_part_once(w->a, side->text ? "baseline" : "runs", part, &open, &side->spans);
	if (r == 0 || r == -EEXIST)
		return r == 0;
	run = r < 0 ? NULL : run_of(side, part, &open);
	if (!run)
		return fail_memory(w);
	run->frames.missing = count_add(run->frames.missing, open.missing);
	if (open.range.kept_from > 0 && run->frames.evicted == 0)
		note_kept(run, part, &open.range);
	r = run_measure(open.reader.history, &open.range, w->metrics, w->request.count,
			&run->frames, run->series);
	if (r < 0)
		api_fail_history(w->a, r, "range of frames");
	return r == 0;
}

static bool read_side(struct work *w, struct side *side)
{
	size_t i;

	for (i = 0; i < side->parts.count; i++)
		if (!read_part(w, side, &side->parts.at[i]))
			return false;
	return true;
}

/* The session of the path, or what `runs` names. */
static bool resolve_runs(struct work *w)
{
	static const char *const allowed[] = {"current", "a session's number, from 1", NULL};
	const struct check_request *request = &w->request;
	struct side *side = &w->sides[w->side_count++];
	struct side_part part = {.from = request->from, .to = request->to, .last = request->last};
	const char *id = w->q->route.id;

	if (!id && request->runs)
		return api_side_resolve(w->api, w->q, w->a, "runs", request->runs, &side->parts);
	if (id && route_session(id, &part.session) < 0) {
		api_fail_parameter(w->a, "id", id, allowed);
		return false;
	}
	id = id ? id : "current";
	return side_parts_add(&side->parts, &part, id, strlen(id)) == 0 || fail_memory(w);
}

static struct side *side_of(struct work *w, const char *text)
{
	size_t i;

	for (i = 1; i < w->side_count; i++)
		if (!strcmp(w->sides[i].text, text))
			return &w->sides[i];
	return NULL;
}

static bool resolve_baseline(struct work *w, const char *text)
{
	struct side *side;

	if (side_of(w, text))
		return true;
	side = &w->sides[w->side_count++];
	side->text = text;
	return api_side_resolve(w->api, w->q, w->a, "baseline", text, &side->parts);
}

/* Names of the kind that a metric asks for, of the first part: what could have been meant. */
static void fail_name(struct work *w, const struct run_metric *metric)
{
	const char *names[NAMES_SHOWN + 1];
	struct api_problem problem = {404, "not-found", "There is no such thing", "metric", names};
	bool counters = metric->source == RUN_COUNTER;
	struct api_part open;
	size_t i, n = 0;

	if (!api_part_open(w->api, w->q, w->a, &w->sides[0].parts.at[0], w->request.stream, &open))
		return;
	for (i = 0; i < open.range.markers.count && n < NAMES_SHOWN; i++) {
		const struct marker_row *m = &open.range.markers.at[i];

		if (m->name && (m->kind == FPROF_MARKER_COUNTER) == counters)
			names[n++] = m->name;
	}
	names[n] = NULL;
	api_fail(w->a, &problem, "No run has a %s called %.200s", counters ? "counter" : "zone",
		 metric->name);
	api_part_close(&open);
}

static bool has_name(const check_runs_vec *runs, size_t index)
{
	size_t i;

	for (i = 0; i < runs->count; i++)
		if (runs->at[i].series[index].found)
			return true;
	return false;
}

static bool check_names(struct work *w)
{
	size_t i;

	for (i = 0; i < w->request.count; i++) {
		const struct check_ask *ask = &w->request.asks[i];
		const struct side *base = ask->baseline ? side_of(w, ask->baseline) : NULL;

		if (!ask->metric.name[0] || has_name(&w->sides[0].runs, i) ||
		    (base && has_name(&base->runs, i)))
			continue;
		fail_name(w, &ask->metric);
		return false;
	}
	return true;
}

/* A number a run, NaN where it has none: then the condition gets none of them. -ENOMEM or 0. */
static int numbers_of(const struct check_result *r, const check_runs_vec *runs, double **ret_values,
		      size_t *ret_count)
{
	const struct run_metric *metric = &r->ask->metric;
	double *values = calloc(runs->count + 1, sizeof(*values));
	size_t i, n = 0;

	*ret_values = values;
	if (!values)
		return -ENOMEM;
	for (i = 0; i < runs->count; i++) {
		const struct run_series *s = &runs->at[i].series[r->index];
		_cleanup_free_ double *copy = NULL;

		values[i] = NAN;
		if (s->samples.count < run_metric_needs(metric))
			continue;
		copy = malloc(s->samples.count * sizeof(*copy));
		if (!copy)
			return -ENOMEM;
		memcpy(copy, s->samples.at, s->samples.count * sizeof(*copy));
		values[i] = run_metric_of(copy, s->samples.count, metric);
		n++;
	}
	*ret_count = n == runs->count ? n : 0;
	return 0;
}

/* Of the only run of a bound. The largest frame is a fact that has none. */
static int interval_of(struct check_result *r)
{
	const struct run_series *s = &r->runs->at[0].series[r->index];
	struct check_condition *c = &r->condition;
	int rc;

	if (r->runs->count != 1 || c->compares || r->ask->metric.statistic == RUN_MAX)
		return 0;
	rc = bootstrap_run(s->samples.at, s->samples.count, run_metric_of, &r->ask->metric,
			   BOOTSTRAP_CONFIDENCE, &c->interval);
	c->has_interval = rc == 0;
	return rc == -ERANGE ? 0 : rc;
}

static bool any_lost(const check_runs_vec *runs)
{
	size_t i;

	for (i = 0; i < runs->count; i++)
		if (run_frames_lost(&runs->at[i].frames))
			return true;
	return false;
}

static bool any_gone(const check_runs_vec *runs)
{
	size_t i;

	for (i = 0; i < runs->count; i++)
		if (runs->at[i].frames.evicted > 0)
			return true;
	return false;
}

static bool any_same(const struct side *a, const struct side *b)
{
	size_t i, k;

	for (i = 0; i < a->identities.count; i++)
		for (k = 0; k < b->identities.count; k++)
			if (run_identity_same(&a->identities.at[i], &b->identities.at[k]))
				return true;
	return false;
}

static int prepare(struct work *w, size_t index)
{
	struct check_result *r = &w->results[index];
	const struct check_ask *ask = &w->request.asks[index];
	const struct side *runs = &w->sides[0],
			  *base = ask->baseline ? side_of(w, ask->baseline) : NULL;
	struct check_condition *c = &r->condition;
	int rc;

	*r = (struct check_result){.ask = ask, .index = index, .runs = &runs->runs};
	*c = (struct check_condition){.compares = base != NULL,
				      .max = ask->max,
				      .tolerance = ask->tolerance,
				      .floor = ask->floor,
				      .lost = any_lost(&runs->runs),
				      .gone = any_gone(&runs->runs)};
	rc = numbers_of(r, &runs->runs, &r->run_values, &c->run_count);
	c->runs = r->run_values;
	c->unmeasured = c->run_count < runs->runs.count;
	if (rc == 0 && base) {
		r->baseline = &base->runs;
		r->mixed = any_same(runs, base);
		c->lost |= any_lost(&base->runs);
		c->gone |= any_gone(&base->runs);
		rc = numbers_of(r, &base->runs, &r->baseline_values, &c->baseline_count);
		c->baseline = r->baseline_values;
		c->unmeasured |= c->baseline_count < base->runs.count;
	}
	c->lost &= !w->request.allow_loss;
	c->gone &= run_metric_of_events(&ask->metric);
	return rc == 0 ? interval_of(r) : rc;
}

static bool decide(struct work *w)
{
	struct check_condition conditions[CHECK_CONDITIONS_MAX];
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < w->request.count; i++) {
		r = prepare(w, i);
		conditions[i] = w->results[i].condition;
	}
	if (r == 0)
		r = check_decide(conditions, w->request.count);
	if (r < 0)
		return fail_memory(w);
	for (i = 0; i < w->request.count; i++)
		w->results[i].condition = conditions[i];
	w->verdict = check_overall(conditions, w->request.count);
	return true;
}

static bool wants_xml(const char *accept)
{
	return accept && (strstr(accept, "application/xml") || strstr(accept, "junit+xml") ||
			  strstr(accept, "text/xml"));
}

static void answer(struct work *w)
{
	static const unsigned statuses[] = {
		[CHECK_PASS] = 200, [CHECK_FAIL] = 417, [CHECK_INCONCLUSIVE] = 409};
	struct api_answer *a = w->a;

	a->status = statuses[w->verdict];
	if (wants_xml(w->q->accept)) {
		a->type = "application/xml";
		check_report_junit(&a->body, w->results, w->request.count);
	} else {
		check_report_json(&a->body, w->results, w->request.count, &w->request, w->verdict);
	}
}

static bool resolve(struct work *w)
{
	size_t i;

	if (!resolve_runs(w))
		return false;
	for (i = 0; i < w->request.count; i++)
		if (w->request.asks[i].baseline &&
		    !resolve_baseline(w, w->request.asks[i].baseline))
			return false;
	return true;
}

void api_check(const struct api *api, const struct api_request *q, struct api_answer *a)
{
	__attribute__((cleanup(work_free))) struct work *w = calloc(1, sizeof(*w));
	struct check_wrong wrong;
	size_t i;

	if (!w) {
		api_fail_history(a, -ENOMEM, "list of runs");
		return;
	}
	w->api = api;
	w->q = q;
	w->a = a;
	if (check_request_parse(&q->route, &w->request, &wrong) < 0) {
		api_fail_parameter(a, wrong.parameter, wrong.value, wrong.allowed);
		return;
	}
	for (i = 0; i < w->request.count; i++)
		w->metrics[i] = w->request.asks[i].metric;
	if (!resolve(w))
		return;
	for (i = 0; i < w->side_count; i++)
		if (!read_side(w, &w->sides[i]))
			return;
	if (check_names(w) && decide(w))
		answer(w);
}
