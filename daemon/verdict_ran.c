// SPDX-License-Identifier: MIT
/*
 * Two questions. What do the readings right before and after a frame say of it alone? It ran no
 * longer than its thread did between them. And what do the frames around, up to VERDICT_AROUND of
 * them or half a second on each side, have together that was not run? A reading is off by a few ms,
 * which is much beside one frame, and nothing beside sixty.
 *
 * What they have too much, beyond what is sure of each, is put to those that have more cpu by
 * elimination than their neighbours, as far as they have it: a frame that waited unseen is
 * longer for it. The rest is everybody's, in proportion.
 *
 * A frame of which nothing is known adds nothing, and of one that lies only partly between the
 * readings only that counts which cannot have been in its waits. So what is found to be too much is
 * too much. Nothing is found where the thread had much time outside of the frames, in which it may
 * have run.
 */
#include "verdict_ran.h"

#include "body.h"
#include "statistics.h"
#include "util.h"

#include <errno.h>
#include <string.h>

#define NEAR_NS	      INT64_C(500000000)
#define COVERED_LEAST 0.9

/* ---- readings ---- */

/* The newest that is not after t; count where there is none. */
static size_t before(const history_rans_vec *rans, int64_t t)
{
	size_t low = 0, high = rans->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (rans->at[middle].ns <= t)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 ? low - 1 : rans->count;
}

/* The oldest that is not before t; count where there is none. */
static size_t after(const history_rans_vec *rans, int64_t t)
{
	size_t i = before(rans, t - 1);

	return i < rans->count ? i + 1 : 0;
}

/* Between two readings. */
struct window {
	size_t from, to;
};

static bool is_window(const history_rans_vec *rans, struct window w)
{
	return w.from < rans->count && w.to < rans->count && w.from < w.to &&
	       rans->at[w.from].ran_ns <= rans->at[w.to].ran_ns;
}

static int64_t length_of(const history_rans_vec *rans, struct window w)
{
	return rans->at[w.to].ns - rans->at[w.from].ns;
}

static int64_t ran_in(const history_rans_vec *rans, struct window w)
{
	return rans->at[w.to].ran_ns - rans->at[w.from].ran_ns;
}

static struct window narrow_window(const history_rans_vec *rans, const struct history_near *f)
{
	return (struct window){before(rans, f->begin_ns), after(rans, f->end_ns)};
}

static struct window wide_window(const history_rans_vec *rans, const history_nears_vec *frames,
				 size_t i)
{
	const struct history_near *f = &frames->at[i];
	const struct history_near *first = &frames->at[i - MIN(i, (size_t)VERDICT_AROUND)];
	const struct history_near *last = &frames->at[MIN(i + VERDICT_AROUND, frames->count - 1)];
	struct window narrow = narrow_window(rans, f), wide;

	if (!is_window(rans, narrow))
		return narrow;
	wide.from = after(rans, MAX(first->begin_ns, f->begin_ns - NEAR_NS));
	wide.to = before(rans, MIN(last->end_ns, f->end_ns + NEAR_NS));
	wide.from = MIN(wide.from, narrow.from);
	wide.to = wide.to < rans->count ? MAX(wide.to, narrow.to) : narrow.to;
	return wide;
}

/* ---- frames between them ---- */

static bool is_known(const struct ran_thread *thread, const struct history_near *f)
{
	return f->track == thread->track && f->cpu_ns != NS_UNKNOWN && f->cpu_ns > 0;
}

/* What of a frame lies between: how long, and how much cpu by elimination that is at least. */
static int64_t part_of(const struct history_near *f, int64_t from_ns, int64_t to_ns,
		       int64_t *ret_cpu)
{
	int64_t wall = f->end_ns - f->begin_ns;
	int64_t part = MIN(f->end_ns, to_ns) - MAX(f->begin_ns, from_ns);

	*ret_cpu = MAX(part - (wall - f->cpu_ns), INT64_C(0));
	return MAX(part, INT64_C(0));
}

/* The first that ends after t. */
static size_t first_after(const history_nears_vec *frames, int64_t t)
{
	size_t low = 0, high = frames->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (frames->at[middle].end_ns <= t)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int ran_thread_bound(struct ran_thread *thread, const history_nears_vec *frames, int64_t slack_ns)
{
	const history_rans_vec *rans = &thread->rans;
	size_t i;

	if (VEC_RESERVE(&thread->least_ns, frames->count + 1) < 0)
		return -ENOMEM;
	for (i = 0; i < frames->count; i++) {
		const struct history_near *f = &frames->at[i];
		int64_t *least = &thread->least_ns.at[thread->least_ns.count++];
		struct window w = narrow_window(rans, f);

		*least = 0;
		if (is_known(thread, f) && is_window(rans, w))
			*least = MAX(f->cpu_ns - ran_in(rans, w) - slack_ns, INT64_C(0));
	}
	return 0;
}

/* ---- a frame and its neighbours ---- */

/* What lies between two readings, and how what is too much of it is put to the frames. */
struct share {
	uint64_t covered, cpu; /* ns; at most INT64_MAX */
	int64_t usual;
	double least, outliers, rest; /* sums of what each of them may have */
};

/* What a frame may have beyond what is sure, as one that stands out and else; scaled to its part.
 */
static void rooms_of(const struct history_near *f, int64_t least, int64_t cpu, int64_t usual,
		     double *ret_outlier, double *ret_rest)
{
	double scale = (double)cpu / (double)f->cpu_ns;
	double room = scale * (double)(f->cpu_ns - least);
	double stands_out = scale * (double)(f->cpu_ns - usual - least);

	*ret_outlier = MIN(MAX(stands_out, 0.0), room);
	*ret_rest = room - *ret_outlier;
}

static int64_t usual_cpu(const struct ran_thread *thread, const history_nears_vec *frames,
			 size_t first, size_t last)
{
	double cpu[2 * VERDICT_AROUND + 1];
	size_t i, count = 0;

	for (i = first; i < last && count < ARRAY_SIZE(cpu); i++)
		if (is_known(thread, &frames->at[i]))
			cpu[count++] = (double)frames->at[i].cpu_ns;
	return (int64_t)statistics_median(cpu, count);
}

static struct share share_of(const struct ran_thread *thread, const history_nears_vec *frames,
			     struct window w)
{
	int64_t from = thread->rans.at[w.from].ns, to = thread->rans.at[w.to].ns, cpu;
	size_t first = first_after(frames, from), last = first, i;
	struct share s = {0};

	while (last < frames->count && frames->at[last].begin_ns < to)
		last++;
	s.usual = usual_cpu(thread, frames, first, last);
	for (i = first; i < last; i++) {
		const struct history_near *f = &frames->at[i];
		double outlier, rest;

		if (!is_known(thread, f))
			continue;
		s.covered = count_add(s.covered, (uint64_t)part_of(f, from, to, &cpu));
		s.cpu = count_add(s.cpu, (uint64_t)cpu);
		rooms_of(f, thread->least_ns.at[i], cpu, s.usual, &outlier, &rest);
		s.least += (double)cpu / (double)f->cpu_ns * (double)thread->least_ns.at[i];
		s.outliers += outlier;
		s.rest += rest;
	}
	return s;
}

/* What frame i did not run, of what all between the readings did not: it lies there as a whole. */
static int64_t not_run(const struct ran_thread *thread, const struct history_near *f, size_t i,
		       const struct share *s, int64_t excess)
{
	int64_t least = thread->least_ns.at[i];
	double left = (double)excess - s->least, outlier, rest, more = 0;

	rooms_of(f, least, f->cpu_ns, s->usual, &outlier, &rest);
	if (left > 0 && s->outliers > 0)
		more += outlier * MIN(1.0, left / s->outliers);
	left -= s->outliers;
	if (left > 0 && s->rest > 0)
		more += rest * MIN(1.0, left / s->rest);
	return MIN(least + (int64_t)more, f->cpu_ns);
}

struct verdict_ran ran_thread_frame(const struct ran_thread *thread,
				    const history_nears_vec *frames, int64_t slack_ns, size_t i)
{
	const history_rans_vec *rans = &thread->rans;
	const struct history_near *f = &frames->at[i];
	struct window windows[] = {wide_window(rans, frames, i), narrow_window(rans, f)};
	struct verdict_ran ran = {0};
	size_t k;

	for (k = 0; k < ARRAY_SIZE(windows) && is_known(thread, f); k++) {
		struct share s;

		if (!is_window(rans, windows[k]))
			continue;
		s = share_of(thread, frames, windows[k]);
		ran.window_ns = length_of(rans, windows[k]);
		ran.ran_ns = ran_in(rans, windows[k]);
		ran.cpu_ns = (int64_t)s.cpu;
		ran.slack_ns = slack_ns;
		ran.least_ns = thread->least_ns.at[i];
		ran.not_run_ns = not_run(thread, f, i, &s, ran.cpu_ns - ran.ran_ns - slack_ns);
		if ((double)s.covered >= COVERED_LEAST * (double)ran.window_ns)
			return ran;
	}
	return (struct verdict_ran){.unread = rans->count > 0};
}

/* ---- the history's ---- */

static void thread_deinit(struct ran_thread *thread)
{
	VEC_FREE(&thread->rans);
	VEC_FREE(&thread->least_ns);
}

void verdict_rans_deinit(struct verdict_rans *rans)
{
	size_t i;

	for (i = 0; i < rans->threads.count; i++)
		thread_deinit(&rans->threads.at[i]);
	VEC_FREE(&rans->threads);
	VEC_FREE(&rans->near);
}

static const struct ran_thread *thread_of(const struct verdict_rans *rans, uint32_t track)
{
	size_t i;

	for (i = 0; i < rans->threads.count; i++)
		if (rans->threads.at[i].track == track)
			return &rans->threads.at[i];
	return NULL;
}

static int32_t tid_of(const struct range *range, uint32_t track)
{
	size_t i;

	for (i = 0; i < range->tracks.count; i++)
		if (range->tracks.at[i].track == track && range->tracks.at[i].kind == TRACK_THREAD)
			return range->tracks.at[i].tid;
	return 0;
}

/* One that was never read is among them, too: it is not looked for again. */
static int read_thread(struct history *h, const struct range *range, uint32_t track,
		       struct verdict_rans *rans)
{
	const history_nears_vec *near = &rans->near;
	struct ran_thread thread = {.track = track};
	int32_t tid = tid_of(range, track);
	int r = tid == 0 ? 0
			 : history_ran(h, range->session, tid, near->at[0].begin_ns,
				       near->at[near->count - 1].end_ns, &thread.rans);

	if (r == 0)
		r = ran_thread_bound(&thread, near, rans->slack_ns);
	if (r == 0)
		r = VEC_PUSH(&rans->threads, thread);
	if (r < 0)
		thread_deinit(&thread);
	return r;
}

static int64_t slack_of(const struct range *range)
{
	const char *facts = range->row.facts_json;
	int64_t slack = VERDICT_RAN_SLACK_NS;
	struct body *body = NULL;
	int line, column;

	if (!facts || body_parse(facts, strlen(facts), &body, &line, &column) < 0)
		return slack;
	if (body_kind(body, "tick_ns") == BODY_INTEGER && body_integer(body, "tick_ns") > 0)
		slack = MIN(2 * MIN(body_integer(body, "tick_ns"), slack), slack);
	body_free(body);
	return slack;
}

int verdict_rans_read(struct history *h, const struct range *range, struct verdict_rans *ret_rans)
{
	struct verdict_rans rans = {.slack_ns = slack_of(range)};
	int r = history_near(h, range->session, range->stream, range->first, range->last,
			     &rans.near);
	size_t i;

	for (i = 0; r == 0 && i < rans.near.count; i++)
		if (!thread_of(&rans, rans.near.at[i].track))
			r = read_thread(h, range, rans.near.at[i].track, &rans);
	if (r < 0) {
		verdict_rans_deinit(&rans);
		return r;
	}
	*ret_rans = rans;
	return 0;
}

size_t verdict_rans_find(const struct verdict_rans *rans, uint64_t frame)
{
	size_t low = 0, high = rans->near.count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (rans->near.at[middle].frame < frame)
			low = middle + 1;
		else
			high = middle;
	}
	return low < rans->near.count && rans->near.at[low].frame == frame ? low : rans->near.count;
}

struct verdict_ran verdict_ran_of(const struct verdict_rans *rans, size_t i)
{
	const struct ran_thread *thread =
		i < rans->near.count ? thread_of(rans, rans->near.at[i].track) : NULL;

	return thread ? ran_thread_frame(thread, &rans->near, rans->slack_ns, i)
		      : (struct verdict_ran){0};
}

static int64_t middle_half(const double *sorted, size_t count)
{
	return count > 0 ? (int64_t)(statistics_percentile(sorted, count, 75) -
				     statistics_percentile(sorted, count, 25))
			 : 0;
}

void verdict_ran_usual(const struct verdict_rans *rans, size_t i, int64_t *ret_usual_ns,
		       struct verdict_spread *ret_spread)
{
	double walls[2 * VERDICT_AROUND + 1], works[2 * VERDICT_AROUND + 1];
	size_t k = i - MIN(i, (size_t)VERDICT_AROUND), count = 0, known = 0;

	for (; k < rans->near.count && k <= i + VERDICT_AROUND; k++) {
		const struct history_near *near = &rans->near.at[k];

		walls[count++] = (double)(near->end_ns - near->begin_ns);
		if (near->cpu_ns != NS_UNKNOWN)
			works[known++] = (double)near->cpu_ns;
	}
	*ret_usual_ns = (int64_t)statistics_median(walls, count);
	statistics_sort(works, known);
	*ret_spread = (struct verdict_spread){.frames = (unsigned)known,
					      .wall_ns = middle_half(walls, count),
					      .work_ns = middle_half(works, known)};
}
