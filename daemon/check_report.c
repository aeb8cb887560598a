/* SPDX-License-Identifier: MIT */
/*
 * Both forms say the same: a sentence for people, made here once, and the numbers behind it. Times
 * are ns inside and ms in what is written, as they are in the parameters.
 */
#include "check_report.h"

#include "api_range.h"
#include "util.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SENTENCE_MAX 512u
#define PACED_SHARE  0.1 /* of frames that wait for a cap, and are worth a note */

void check_runs_free(check_runs_vec *runs)
{
	size_t i, k;

	for (i = 0; i < runs->count; i++) {
		free(runs->at[i].label);
		for (k = 0; k < CHECK_CONDITIONS_MAX; k++)
			run_series_deinit(&runs->at[i].series[k]);
	}
	VEC_FREE(runs);
}

static bool is_time(const struct check_result *r)
{
	return run_metric_is_time(&r->ask->metric);
}

static double shown(const struct check_result *r, double value)
{
	return is_time(r) ? value / 1e6 : value;
}

static const char *unit_of(const struct check_result *r)
{
	return is_time(r) ? " ms" : "";
}

/* A run for which the metric has no number, of either side. */
static const struct check_run *run_without(const struct check_result *r)
{
	const check_runs_vec *sides[] = {r->runs, r->baseline};
	const double *values[] = {r->run_values, r->baseline_values};
	size_t i, k;

	for (k = 0; k < 2; k++)
		for (i = 0; sides[k] && i < sides[k]->count; i++)
			if (isnan(values[k][i]))
				return &sides[k]->at[i];
	return NULL;
}

static void say_too_few_frames(const struct check_result *r, char *s)
{
	const struct check_run *run = run_without(r);

	if (!run)
		snprintf(s, SENTENCE_MAX, "there are no runs");
	else if (run->frames.counted < run_metric_needs(&r->ask->metric))
		snprintf(s, SENTENCE_MAX, "%s needs %zu frames, run %.64s has %" PRIu64,
			 r->ask->text, run_metric_needs(&r->ask->metric), run->label,
			 run->frames.counted);
	else
		snprintf(s, SENTENCE_MAX,
			 "%s needs %zu samples, run %.64s has %zu in %" PRIu64 " frames",
			 r->ask->text, run_metric_needs(&r->ask->metric), run->label,
			 run->series[r->index].samples.count, run->frames.counted);
}

/* The first run, of either side, of which frames have no events any more. NULL: there is none. */
static const struct check_run *run_gone(const struct check_result *r)
{
	const check_runs_vec *sides[] = {r->runs, r->baseline};
	size_t i, k;

	for (k = 0; k < 2; k++)
		for (i = 0; sides[k] && i < sides[k]->count; i++)
			if (sides[k]->at[i].frames.evicted > 0)
				return &sides[k]->at[i];
	return NULL;
}

static void say_gone(const struct check_result *r, char *s)
{
	const struct check_run *run = run_gone(r);
	size_t n = (size_t)snprintf(s, SENTENCE_MAX,
				    "the events of %" PRIu64 " of %" PRIu64
				    " frames of run %.64s have left the history, and so have their "
				    "zones and counters: ",
				    run->frames.evicted, run->frames.counted, run->label);

	if (!run->kept_first) {
		snprintf(s + n, SENTENCE_MAX - n, "no frame has its own any more");
		return;
	}
	n += (size_t)snprintf(s + n, SENTENCE_MAX - n,
			      "frames %" PRIu64 " to %" PRIu64 " have theirs, which as a run are "
			      "%" PRIu64 ":%" PRIu64 "-%" PRIu64,
			      run->kept_first, run->kept_last, run->session, run->kept_first,
			      run->kept_last);
	if (run->kept_newest)
		snprintf(s + n, SENTENCE_MAX - n, ", and the last %" PRIu64,
			 run->kept_last - run->kept_first + 1);
}

static void say_lost(const struct check_result *r, char *s)
{
	const check_runs_vec *sides[] = {r->runs, r->baseline};
	uint64_t events = 0, missing = 0, several = 0;
	size_t i, k;

	for (k = 0; k < 2; k++) {
		for (i = 0; sides[k] && i < sides[k]->count; i++) {
			const struct run_frames *f = &sides[k]->at[i].frames;

			events = count_add(events, f->lost_events);
			missing = count_add(missing, f->missing);
			several = count_add(several, f->marks_lost);
		}
	}
	snprintf(s, SENTENCE_MAX,
		 "of these frames %" PRIu64 " events were lost, %" PRIu64 " frames are missing, "
		 "and %" PRIu64 " stand for several",
		 events, missing, several);
}

static void say_too_few_runs(const struct check_result *r, size_t comparisons, char *s)
{
	snprintf(s, SENTENCE_MAX,
		 "%zu runs against %zu cannot show a regression: with %zu %s it takes %zu a side "
		 "(frames of one run are alike); max_ms or max needs one run",
		 r->condition.run_count, r->condition.baseline_count, comparisons,
		 comparisons == 1 ? "comparison" : "comparisons", check_runs_needed(comparisons));
}

static void say_bound(const struct check_result *r, char *s)
{
	const struct check_condition *c = &r->condition;

	if (c->reason == CHECK_SPREAD)
		snprintf(s, SENTENCE_MAX,
			 "%s is %.6g%s, and its interval of %.6g to %.6g%s holds the bound "
			 "%.6g%s; more %s narrow it",
			 r->ask->text, shown(r, c->value), unit_of(r), shown(r, c->interval.low),
			 shown(r, c->interval.high), unit_of(r), shown(r, c->max), unit_of(r),
			 c->run_count == 1 ? "frames" : "runs");
	else
		snprintf(s, SENTENCE_MAX, "%s is %.6g%s, %s the bound %.6g%s", r->ask->text,
			 shown(r, c->value), unit_of(r),
			 c->verdict == CHECK_FAIL ? "above" : "within", shown(r, c->max),
			 unit_of(r));
}

static void say_comparison(const struct check_result *r, char *s)
{
	static const char *const ends[] = {
		"that is not above", "that is above",
		"the spread of the runs is too large to tell whether that is above"};
	const struct check_condition *c = &r->condition;
	size_t n = (size_t)snprintf(
		s, SENTENCE_MAX,
		"%s is %.6g%s, the baseline's %.6g%s: %+.4g%s; %s the allowance of %.4g%s",
		r->ask->text, shown(r, c->value), unit_of(r), shown(r, c->baseline_value),
		unit_of(r), shown(r, c->effect), unit_of(r), ends[c->verdict],
		shown(r, c->allowance), unit_of(r));

	if (c->verdict == CHECK_INCONCLUSIVE && c->has_effect_interval && n < SENTENCE_MAX)
		snprintf(s + n, SENTENCE_MAX - n,
			 ": the interval is %+.4g to %+.4g%s; more runs a side than these %zu and "
			 "%zu narrow it",
			 shown(r, c->effect_interval.low), shown(r, c->effect_interval.high),
			 unit_of(r), c->run_count, c->baseline_count);
}

/* What slow is. And a frame that waits for a cap or the display is not longer for what takes some
 * of that wait. */
static void say_note(const struct check_result *r, char *s)
{
	const check_runs_vec *sides[] = {r->runs, r->baseline};
	double wall = 0, paced = 0;
	size_t i, k;

	*s = '\0';
	if (r->ask->metric.statistic == RUN_SLOW_SHARE) {
		snprintf(s, SENTENCE_MAX, "frames longer than %.4g ms are slow (slow_ms)",
			 r->ask->metric.slow_ns / NS_PER_MS);
		return;
	}
	for (k = 0; k < 2; k++) {
		for (i = 0; sides[k] && i < sides[k]->count; i++) {
			wall += sides[k]->at[i].frames.wall_ns;
			paced += sides[k]->at[i].frames.paced_ns;
		}
	}
	if (r->condition.compares && r->condition.verdict != CHECK_FAIL &&
	    r->ask->metric.source == RUN_FRAME && paced > PACED_SHARE * wall)
		snprintf(s, SENTENCE_MAX,
			 "%.0f%% of the frames' time is waiting for the cap or the display, which "
			 "hides what became slower: compare cpu.p50, too",
			 100 * paced / wall);
}

static void say(const struct check_result *r, size_t comparisons, char *s)
{
	switch (r->condition.reason) {
	case CHECK_TOO_FEW_FRAMES:
		say_too_few_frames(r, s);
		break;
	case CHECK_LOST:
		say_lost(r, s);
		break;
	case CHECK_GONE:
		say_gone(r, s);
		break;
	case CHECK_TOO_FEW_RUNS:
		say_too_few_runs(r, comparisons, s);
		break;
	default:
		if (r->condition.compares)
			say_comparison(r, s);
		else
			say_bound(r, s);
	}
}

static size_t comparisons_of(const struct check_result *results, size_t count)
{
	size_t i, n = 0;

	for (i = 0; i < count; i++)
		n += results[i].condition.compares;
	return n;
}

static void json_interval(struct json *j, const char *key, const struct check_result *r, bool has,
			  const struct interval *interval)
{
	json_key(j, key);
	if (!has) {
		json_null(j);
		return;
	}
	json_object_begin(j);
	json_member_double(j, "low", shown(r, interval->low));
	json_member_double(j, "high", shown(r, interval->high));
	json_object_end(j);
}

static void json_number(struct json *j, const char *key, const struct check_result *r, bool has,
			double value)
{
	json_member_double(j, key, has ? shown(r, value) : NAN);
}

static void json_runs(struct json *j, const char *key, const struct check_result *r,
		      const check_runs_vec *runs, const double *values)
{
	size_t i;

	json_key(j, key);
	json_array_begin(j);
	for (i = 0; runs && i < runs->count; i++) {
		json_object_begin(j);
		json_member_string(j, "run", runs->at[i].label);
		json_number(j, "value", r, true, values[i]);
		json_member_uint(j, "samples", runs->at[i].series[r->index].samples.count);
		json_object_end(j);
	}
	json_array_end(j);
}

static void json_test(struct json *j, const struct check_condition *c)
{
	json_key(j, "test");
	if (!c->tested) {
		json_null(j);
		return;
	}
	json_object_begin(j);
	json_member_double(j, "p", c->p);
	json_member_double(j, "p_holm", c->p_holm);
	json_member_double(j, "p_within", c->p_within);
	json_member_double(j, "p_smallest", c->smallest_p);
	json_member_uint(j, "arrangements", c->arrangements);
	json_member_bool(j, "exact", c->exact);
	json_object_end(j);
}

/* The parameters that would let it be checked, where there are such. */
static void json_try(struct json *j, const struct check_result *r,
		     const struct check_request *request)
{
	const struct check_run *run = run_gone(r);
	bool gone = r->condition.reason == CHECK_GONE && !request->runs && run == &r->runs->at[0] &&
		    run->kept_first > 0;

	json_key(j, "try");
	if (r->condition.reason != CHECK_LOST && !gone) {
		json_null(j);
		return;
	}
	json_object_begin(j);
	if (r->condition.reason == CHECK_LOST) {
		json_member_string(j, "allow_loss", "yes");
	} else if (run->kept_newest) {
		json_member_uint(j, "last", run->kept_last - run->kept_first + 1);
	} else {
		json_member_uint(j, "from", run->kept_first);
		json_member_uint(j, "to", run->kept_last);
	}
	json_object_end(j);
}

static void json_condition(struct json *j, const struct check_result *r, size_t comparisons,
			   const struct check_request *request)
{
	const struct check_condition *c = &r->condition;
	bool has = c->run_count > 0 && !c->unmeasured, both = has && c->baseline_count > 0;
	char sentence[SENTENCE_MAX];

	say(r, comparisons, sentence);
	json_object_begin(j);
	json_member_string(j, "metric", r->ask->text);
	json_member_string(j, "unit", is_time(r) ? "ms" : NULL);
	json_member_string(j, "verdict", check_verdict_name(c->verdict));
	json_member_string(j, "reason", check_reason_name(c->reason));
	json_member_string(j, "detail", sentence);
	say_note(r, sentence);
	json_member_string(j, "note", *sentence ? sentence : NULL);
	json_try(j, r, request);
	json_number(j, "value", r, has, c->value);
	json_interval(j, "interval", r, c->has_interval, &c->interval);
	json_number(j, "max", r, !c->compares, c->max);
	json_member_string(j, "baseline", r->ask->baseline);
	json_number(j, "baseline_value", r, both, c->baseline_value);
	json_number(j, "effect", r, both, c->effect);
	json_interval(j, "effect_interval", r, c->has_effect_interval, &c->effect_interval);
	json_member_double(j, "tolerance", c->compares ? c->tolerance : NAN);
	json_number(j, "floor", r, c->compares, c->floor);
	json_number(j, "allowance", r, both, c->allowance);
	json_test(j, c);
	json_runs(j, "runs", r, r->runs, r->run_values);
	json_runs(j, "baseline_runs", r, r->baseline, r->baseline_values);
	json_member_bool(j, "same_run_on_both_sides", r->mixed);
	json_object_end(j);
}

void check_report_run(struct json *j, const char *label, uint64_t session, uint64_t first,
		      uint64_t last, const struct run_frames *f)
{
	json_object_begin(j);
	json_member_string(j, "run", label);
	json_member_uint(j, "session", session);
	json_member_uint(j, "first", first);
	json_member_uint(j, "last", last);
	json_member_uint(j, "frames", f->counted);
	json_key(j, "left_out");
	json_object_begin(j);
	api_json_left_out(j, &f->left_out);
	json_object_end(j);
	json_member_uint(j, "missing_frames", f->missing);
	json_member_uint(j, "frames_that_stand_for_several", f->marks_lost);
	json_member_uint(j, "lost_events", f->lost_events);
	json_member_uint(j, "frames_with_lost_events", f->lossy);
	json_member_uint(j, "frames_without_events", f->evicted);
	json_object_end(j);
}

static void json_frames(struct json *j, const struct check_run *run)
{
	check_report_run(j, run->label, run->session, run->first, run->last, &run->frames);
}

/* Runs of either side, once each. */
static void json_all_runs(struct json *j, const struct check_result *results, size_t count)
{
	size_t i, k;

	json_key(j, "runs");
	json_array_begin(j);
	for (i = 0; count > 0 && i < results[0].runs->count; i++)
		json_frames(j, &results[0].runs->at[i]);
	json_array_end(j);
	json_key(j, "baselines");
	json_array_begin(j);
	for (k = 0; k < count; k++) {
		bool seen = !results[k].baseline;

		for (i = 0; i < k; i++)
			seen |= results[i].baseline == results[k].baseline;
		for (i = 0; !seen && i < results[k].baseline->count; i++)
			json_frames(j, &results[k].baseline->at[i]);
	}
	json_array_end(j);
}

void check_report_json(struct json *j, const struct check_result *results, size_t count,
		       const struct check_request *request, enum check_verdict verdict)
{
	size_t comparisons = comparisons_of(results, count), i;

	json_object_begin(j);
	json_member_string(j, "verdict", check_verdict_name(verdict));
	json_key(j, "conditions");
	json_array_begin(j);
	for (i = 0; i < count; i++)
		json_condition(j, &results[i], comparisons, request);
	json_array_end(j);
	json_all_runs(j, results, count);
	json_member_string(j, "stream", request->stream ? request->stream : "main");
	json_member_bool(j, "allow_loss", request->allow_loss);
	json_member_double(j, "alpha", CHECK_ALPHA);
	json_member_double(j, "alpha_pass", CHECK_ALPHA_PASS);
	json_member_double(j, "confidence", BOOTSTRAP_CONFIDENCE);
	json_key(j, "runs_needed");
	if (comparisons)
		json_uint(j, check_runs_needed(comparisons));
	else
		json_null(j);
	json_object_end(j);
}

/* What XML 1.0 allows in an attribute. */
static void xml_text(struct json *j, const char *text)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t left = strlen(text), n;

	for (; left > 0; p += n, left -= n) {
		n = json_utf8_bytes(p, left);
		if (n == 0 || (n == 1 && *p < 0x20 && *p != '\t' && *p != '\n') ||
		    (n == 3 && p[0] == 0xef && p[1] == 0xbf && p[2] >= 0xbe)) {
			json_printf(j, "\xef\xbf\xbd");
			n = MAX(n, 1u);
		} else if (n == 1 && strchr("<>&\"'\t\n", *p)) {
			json_printf(j, "&#%u;", *p);
		} else {
			json_bytes(j, p, n);
		}
	}
}

static void junit_case(struct json *j, const struct check_result *r, size_t comparisons)
{
	const struct check_condition *c = &r->condition;
	const char *element = c->verdict == CHECK_FAIL ? "failure" : "error";
	char sentence[SENTENCE_MAX];

	say(r, comparisons, sentence);
	json_printf(j, "    <testcase classname=\"fprof.check\" name=\"");
	xml_text(j, r->ask->text);
	if (r->ask->baseline) {
		json_printf(j, " against ");
		xml_text(j, r->ask->baseline);
	} else {
		json_printf(j, " at most %.6g%s", shown(r, c->max), unit_of(r));
	}
	json_printf(j, "\">\n");
	if (c->verdict != CHECK_PASS) {
		json_printf(j, "      <%s type=\"%s\" message=\"", element,
			    check_reason_name(c->reason));
		xml_text(j, sentence);
		json_printf(j, "\"/>\n");
	}
	json_printf(j, "      <system-out>");
	xml_text(j, sentence);
	json_printf(j, "</system-out>\n    </testcase>\n");
}

void check_report_junit(struct json *j, const struct check_result *results, size_t count)
{
	size_t comparisons = comparisons_of(results, count), fails = 0, errors = 0, i;

	for (i = 0; i < count; i++) {
		fails += results[i].condition.verdict == CHECK_FAIL;
		errors += results[i].condition.verdict == CHECK_INCONCLUSIVE;
	}
	json_printf(j, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
	json_printf(j,
		    "<testsuites>\n  <testsuite name=\"fprof check\" tests=\"%zu\" "
		    "failures=\"%zu\" errors=\"%zu\" skipped=\"0\">\n",
		    count, fails, errors);
	for (i = 0; i < count; i++)
		junit_case(j, &results[i], comparisons);
	json_printf(j, "  </testsuite>\n</testsuites>\n");
}
