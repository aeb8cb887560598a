// SPDX-License-Identifier: MIT
/*
 * Of a frame that lies only partly between two readings so much counts as of its time does.
 *
 * A frame of which nothing is known adds nothing: then more of the others may have been cpu than
 * they had, and nobody is accused. So what is found to be too much is too much.
 *
 * Readings tell nothing where the thread had much time between them outside of the frames, in which
 * it may have run, nor of so little that they may miss as much.
 */
#include "verdict_ran.h"

#include "usage.h"

#include <stdio.h>
#include <string.h>

#define COVERED_LEAST 0.9

void verdict_readings_deinit(struct verdict_readings *readings)
{
	VEC_FREE(&readings->samples);
	VEC_FREE(&readings->frames);
}

static int find_counter(struct history *h, uint64_t session, int32_t tid, uint32_t *ret_counter)
{
	__attribute__((cleanup(history_sampled_free))) history_sampled_vec sampled = {0};
	int r = history_sampled(h, session, &sampled);
	char name[USAGE_NAME_MAX];
	size_t i;

	snprintf(name, sizeof(name), USAGE_RAN, tid);
	for (i = 0; r == 0 && i < sampled.count; i++)
		if (strcmp(sampled.at[i].name, name) == 0)
			*ret_counter = sampled.at[i].counter;
	return r;
}

/* The newest that is not after t; count where there is none. */
static size_t before(const history_samples_vec *samples, int64_t t)
{
	size_t low = 0, high = samples->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (samples->at[middle].ns <= t)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 ? low - 1 : samples->count;
}

/* The oldest that is not before t; count where there is none. */
static size_t after(const history_samples_vec *samples, int64_t t)
{
	size_t i = before(samples, t - 1);

	return i < samples->count ? i + 1 : 0;
}

int verdict_readings_read(struct history *h, const struct range *range, int32_t tid,
			  struct verdict_readings *ret_readings)
{
	struct verdict_readings r = {0};
	uint32_t counter = 0;
	size_t from, to;
	int rc = find_counter(h, range->session, tid, &counter);

	if (rc == 0 && counter > 0)
		rc = history_samples(h, range->session, counter, &r.samples);
	if (rc == 0 && r.samples.count > 1) {
		from = before(&r.samples, range->begin_ns);
		to = after(&r.samples, range->end_ns);
		rc = history_cpu(h, range->session, range->stream,
				 r.samples.at[from < r.samples.count ? from : 0].ns,
				 r.samples.at[MIN(to, r.samples.count - 1)].ns, &r.frames);
	}
	if (rc < 0) {
		verdict_readings_deinit(&r);
		return rc;
	}
	*ret_readings = r;
	return 0;
}

/* Of the frames from..to: cpu by elimination; *ret_covered: of any kind. */
static int64_t cpu_between(const history_cpu_vec *frames, int64_t from, int64_t to,
			   int64_t *ret_covered)
{
	int64_t sum = 0, begin, end;
	size_t i;

	*ret_covered = 0;
	for (i = 0; i < frames->count && frames->at[i].begin_ns < to; i++) {
		const struct history_cpu *f = &frames->at[i];

		begin = MAX(f->begin_ns, from);
		end = MIN(f->end_ns, to);
		if (end <= begin)
			continue;
		*ret_covered += end - begin;
		sum += (int64_t)((double)f->cpu_ns * (double)(end - begin) /
				 (double)(f->end_ns - f->begin_ns));
	}
	return sum;
}

struct verdict_ran verdict_ran_between(const struct verdict_readings *readings, int64_t begin_ns,
				       int64_t end_ns)
{
	const history_samples_vec *s = &readings->samples;
	size_t from = before(s, begin_ns), to = after(s, end_ns);
	struct verdict_ran ran;
	int64_t covered;

	if (from >= s->count || to >= s->count || to <= from || s->at[to].value < s->at[from].value)
		return (struct verdict_ran){0};
	ran.window_ns = s->at[to].ns - s->at[from].ns;
	ran.ran_ns = (s->at[to].value - s->at[from].value) * (int64_t)NS_PER_MS;
	ran.cpu_ns = cpu_between(&readings->frames, s->at[from].ns, s->at[to].ns, &covered);
	if ((double)covered < COVERED_LEAST * (double)ran.window_ns ||
	    ran.cpu_ns <= VERDICT_RAN_SLACK_NS)
		return (struct verdict_ran){0};
	return ran;
}
