/* SPDX-License-Identifier: MIT */
/*
 * Numbers in, verdicts out; see check.h for the rules. The conditions are tested first and judged
 * together afterwards, since Holm's correction needs the p of all of them. A condition that could
 * not be tested has no p and is not in the family.
 */
#include "check.h"

#include "permutation.h"
#include "statistics.h"
#include "util.h"

#include <errno.h>

const char *check_verdict_name(enum check_verdict verdict)
{
	static const char *const names[] = {"pass", "fail", "inconclusive"};

	return names[verdict];
}

const char *check_reason_name(enum check_reason reason)
{
	static const char *const names[] = {"within",	   "above",	   "too_few_frames", "lost",
					    "events_gone", "too_few_runs", "spread"};

	return names[reason];
}

size_t check_runs_needed(size_t comparisons)
{
	size_t n = permutation_runs_needed(CHECK_ALPHA / (double)MAX(comparisons, 1u));

	return MAX(n, CHECK_RUNS_LEAST);
}

static void say(struct check_condition *c, enum check_verdict verdict, enum check_reason reason)
{
	c->verdict = verdict;
	c->reason = reason;
}

/* Fills what can be said without a test; false when that is the verdict too. */
static bool measure(struct check_condition *c)
{
	c->value = statistics_mean(c->runs, c->run_count);
	c->baseline_value = statistics_mean(c->baseline, c->baseline_count);
	if (c->compares) {
		c->effect = c->value - c->baseline_value;
		c->allowance = MAX(c->tolerance * c->baseline_value, c->floor);
	}
	if (c->lost)
		say(c, CHECK_INCONCLUSIVE, CHECK_LOST);
	else if (c->gone)
		say(c, CHECK_INCONCLUSIVE, CHECK_GONE);
	else if (c->unmeasured || !c->run_count || (c->compares && !c->baseline_count))
		say(c, CHECK_INCONCLUSIVE, CHECK_TOO_FEW_FRAMES);
	else
		return true;
	return false;
}

static int decide_bound(struct check_condition *c)
{
	bool one = c->run_count == 1;

	if (!one) {
		int r = bootstrap_runs(c->runs, c->run_count, BOOTSTRAP_CONFIDENCE, &c->interval);

		if (r < 0)
			return r;
		c->has_interval = true;
	}
	if (c->value > c->max && (one || c->interval.low > c->max))
		say(c, CHECK_FAIL, CHECK_ABOVE);
	else if (c->value <= c->max && (!c->has_interval || c->interval.high <= c->max))
		say(c, CHECK_PASS, CHECK_WITHIN);
	else
		say(c, CHECK_INCONCLUSIVE, CHECK_SPREAD);
	return 0;
}

static bool all_alike(const struct check_condition *c)
{
	size_t i;

	for (i = 0; i < c->run_count; i++)
		if (c->runs[i] != c->baseline[0])
			return false;
	for (i = 0; i < c->baseline_count; i++)
		if (c->baseline[i] != c->baseline[0])
			return false;
	return true;
}

/* p_within: of the runs being smaller than the baseline once the allowance is taken off. */
static int test_within(struct check_condition *c)
{
	_cleanup_free_ double *less = malloc(c->run_count * sizeof(*less));
	struct permutation test;
	size_t i;
	int r;

	if (!less)
		return -ENOMEM;
	for (i = 0; i < c->run_count; i++)
		less[i] = c->runs[i] - c->allowance;
	r = permutation_test(less, c->run_count, c->baseline, c->baseline_count, &test);
	if (r < 0)
		return r;
	/* Counters of two builds may be the same in every run: then nothing is left to show. */
	c->p_within = all_alike(c) ? 0 : test.p;
	return 0;
}

static int interval_of_effect(struct check_condition *c)
{
	int r = bootstrap_runs_difference(c->baseline, c->baseline_count, c->runs, c->run_count,
					  BOOTSTRAP_CONFIDENCE, &c->effect_interval);

	c->has_effect_interval = r == 0;
	return r == -ERANGE ? 0 : r;
}

static int test(struct check_condition *c)
{
	struct permutation larger;
	int r = interval_of_effect(c);

	if (r < 0)
		return r;
	c->smallest_p = permutation_smallest(c->baseline_count, c->run_count);
	if (MIN(c->run_count, c->baseline_count) < CHECK_RUNS_LEAST) {
		say(c, CHECK_INCONCLUSIVE, CHECK_TOO_FEW_RUNS);
		return 0;
	}
	r = permutation_test(c->baseline, c->baseline_count, c->runs, c->run_count, &larger);
	if (r == 0)
		r = test_within(c);
	if (r < 0)
		return r;
	c->tested = true;
	c->p = larger.p;
	c->arrangements = larger.arrangements;
	c->exact = larger.exact;
	return 0;
}

static void judge(struct check_condition *c, size_t comparisons)
{
	bool above = c->effect > c->allowance;

	if (above && c->p_holm <= CHECK_ALPHA)
		say(c, CHECK_FAIL, CHECK_ABOVE);
	else if (!above && c->p_within <= CHECK_ALPHA_PASS)
		say(c, CHECK_PASS, CHECK_WITHIN);
	else if (above && c->smallest_p * (double)comparisons > CHECK_ALPHA)
		say(c, CHECK_INCONCLUSIVE, CHECK_TOO_FEW_RUNS);
	else
		say(c, CHECK_INCONCLUSIVE, CHECK_SPREAD);
}

static int judge_all(struct check_condition *conditions, size_t count)
{
	_cleanup_free_ double *p = calloc(count + 1, sizeof(*p));
	size_t i, n = 0, k = 0;
	int r;

	if (!p)
		return -ENOMEM;
	for (i = 0; i < count; i++)
		if (conditions[i].tested)
			p[n++] = conditions[i].p;
	r = permutation_holm(p, n, p);
	if (r < 0)
		return r;
	for (i = 0; i < count; i++) {
		if (!conditions[i].tested)
			continue;
		conditions[i].p_holm = p[k++];
		judge(&conditions[i], n);
	}
	return 0;
}

int check_decide(struct check_condition *conditions, size_t count)
{
	size_t i;
	int r;

	for (i = 0; i < count; i++) {
		struct check_condition *c = &conditions[i];

		c->tested = false;
		if (!measure(c))
			continue;
		r = c->compares ? test(c) : decide_bound(c);
		if (r < 0)
			return r;
	}
	return judge_all(conditions, count);
}

enum check_verdict check_overall(const struct check_condition *conditions, size_t count)
{
	enum check_verdict verdict = CHECK_PASS;
	size_t i;

	for (i = 0; i < count; i++) {
		if (conditions[i].verdict == CHECK_FAIL)
			return CHECK_FAIL;
		if (conditions[i].verdict == CHECK_INCONCLUSIVE)
			verdict = CHECK_INCONCLUSIVE;
	}
	return verdict;
}
