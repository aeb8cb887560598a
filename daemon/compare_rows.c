/* SPDX-License-Identifier: MIT */
/*
 * What the sides come to. Paths are ranked by the size of their difference first, which is cheap,
 * and intervals are made from the largest on, until there are as many that moved as are wanted.
 */
#include "compare.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum what { WHAT_TOTAL, WHAT_SELF, WHAT_CALLS };

static double of_cell(const struct compare_cell *cell, enum what what)
{
	if (what == WHAT_CALLS)
		return cell->calls;
	return what == WHAT_TOTAL ? cell->total_ns : cell->self_ns;
}

/* A frame's mean of a run. */
static double mean_of_run(const struct compare_run *run, uint32_t path, enum what what)
{
	double sum = 0;
	size_t i;

	if (path >= run->cells.count || run->counted == 0)
		return 0;
	for (i = 0; i < run->cells.at[path].count; i++)
		sum += of_cell(&run->cells.at[path].at[i], what);
	return sum / run->counted;
}

static double mean_of_side(const struct compare *c, unsigned side, uint32_t path, enum what what)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < c->sides[side].count; i++)
		sum += mean_of_run(&c->sides[side].at[i], path, what);
	return c->sides[side].count ? sum / (double)c->sides[side].count : 0;
}

static bool is_there(const struct compare *c, unsigned side, uint32_t path)
{
	size_t i;

	for (i = 0; i < c->sides[side].count; i++) {
		const struct compare_run *run = &c->sides[side].at[i];

		if (path < run->cells.count && run->cells.at[path].count > 0)
			return true;
	}
	return false;
}

/* The samples of a side's runs, one after the other. */
struct dense {
	double *all;
	const double **samples;
	size_t *counts;
	struct bootstrap_side side;
};

static void dense_deinit(struct dense *d)
{
	free(d->all);
	free(d->samples);
	free(d->counts);
}

static int dense_make(const struct compare *c, unsigned side, struct dense *d)
{
	size_t runs = c->sides[side].count, i, all = 0;

	for (i = 0; i < runs; i++)
		all += c->sides[side].at[i].counted;
	d->all = calloc(all + 1, sizeof(*d->all));
	d->samples = calloc(runs + 1, sizeof(*d->samples));
	d->counts = calloc(runs + 1, sizeof(*d->counts));
	if (!d->all || !d->samples || !d->counts)
		return -ENOMEM;
	for (i = 0, all = 0; i < runs; i++) {
		d->samples[i] = d->all + all;
		d->counts[i] = c->sides[side].at[i].counted;
		all += d->counts[i];
	}
	d->side = (struct bootstrap_side){d->samples, d->counts, runs};
	return 0;
}

static void dense_fill(const struct compare *c, unsigned side, uint32_t path, enum what what,
		       struct dense *d)
{
	double *at = d->all;
	size_t i, k;

	for (i = 0; i < c->sides[side].count; i++) {
		const struct compare_run *run = &c->sides[side].at[i];

		memset(at, 0, run->counted * sizeof(*at));
		if (path < run->cells.count)
			for (k = 0; k < run->cells.at[path].count; k++)
				at[run->cells.at[path].at[k].frame] =
					of_cell(&run->cells.at[path].at[k], what);
		at += run->counted;
	}
}

/* The interval of a path's difference; a run that is too short leaves it without one. */
static int interval_of(const struct compare *c, uint32_t path, enum what what, struct dense *dense,
		       struct compare_number *number)
{
	int r;

	dense_fill(c, 0, path, what, &dense[0]);
	dense_fill(c, 1, path, what, &dense[1]);
	r = bootstrap_difference(&dense[0].side, &dense[1].side, COMPARE_CONFIDENCE,
				 &number->interval);
	number->has_interval = r == 0;
	return r == -ERANGE ? 0 : r;
}

static bool holds_zero(const struct compare_number *n)
{
	return n->has_interval && n->interval.low <= 0 && n->interval.high >= 0;
}

struct ranked {
	struct compare_row row;
	double size;
};

static int by_size(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->size != y->size)
		return x->size > y->size ? -1 : 1;
	return (x->row.path > y->row.path) - (x->row.path < y->row.path);
}

static struct ranked rank(const struct compare *c, uint32_t path, bool by_total)
{
	bool a = is_there(c, 0, path), b = is_there(c, 1, path);
	struct ranked r = {.row = {.path = path}};
	const struct compare_number *n = by_total ? &r.row.total : &r.row.self;

	r.row.change = a && b ? COMPARE_MOVED : a ? COMPARE_VANISHED : COMPARE_APPEARED;
	r.row.total.a = mean_of_side(c, 0, path, WHAT_TOTAL);
	r.row.total.b = mean_of_side(c, 1, path, WHAT_TOTAL);
	r.row.self.a = mean_of_side(c, 0, path, WHAT_SELF);
	r.row.self.b = mean_of_side(c, 1, path, WHAT_SELF);
	r.row.calls_a = mean_of_side(c, 0, path, WHAT_CALLS);
	r.row.calls_b = mean_of_side(c, 1, path, WHAT_CALLS);
	r.size = fabs(n->b - n->a);
	if (r.row.change != COMPARE_MOVED)
		r.size = r.row.total.a + r.row.total.b;
	return r;
}

/* Of a row of the first, both numbers get their interval. */
static int judge(const struct compare *c, const struct compare_options *o, struct ranked *ranked,
		 struct dense *dense, struct compare_rows *rows)
{
	struct compare_row *row = &ranked->row;
	struct compare_number *first = o->by_total ? &row->total : &row->self;
	struct compare_number *second = o->by_total ? &row->self : &row->total;
	int r = interval_of(c, row->path, o->by_total ? WHAT_TOTAL : WHAT_SELF, dense, first);

	if (r < 0)
		return r;
	rows->intervals |= first->has_interval;
	if (holds_zero(first)) {
		rows->same++;
		return 0;
	}
	rows->moved_all++;
	r = interval_of(c, row->path, o->by_total ? WHAT_SELF : WHAT_TOTAL, dense, second);
	return r == 0 ? VEC_PUSH(&rows->moved, *row) : r;
}

static int take(const struct compare *c, const struct compare_options *o, struct ranked *ranked,
		struct dense *dense, size_t *tried, struct compare_rows *rows)
{
	switch (ranked->row.change) {
	case COMPARE_APPEARED:
		if (rows->appeared_all++ < o->limit)
			return VEC_PUSH(&rows->appeared, ranked->row);
		return 0;
	case COMPARE_VANISHED:
		if (rows->vanished_all++ < o->limit)
			return VEC_PUSH(&rows->vanished, ranked->row);
		return 0;
	default:
		break;
	}
	if (ranked->size < o->floor_ns || ranked->size == 0) {
		rows->below_floor++;
	} else if (*tried >= COMPARE_TRIED_MAX || rows->moved.count >= o->limit) {
		rows->not_tried++;
	} else {
		(*tried)++;
		return judge(c, o, ranked, dense, rows);
	}
	return 0;
}

static void dense_free(struct dense (*dense)[2])
{
	dense_deinit(&(*dense)[0]);
	dense_deinit(&(*dense)[1]);
}

int compare_rows(const struct compare *compare, const struct compare_options *options,
		 struct compare_rows *ret_rows)
{
	__attribute__((cleanup(dense_free))) struct dense dense[2] = {{0}};
	_cleanup_free_ struct ranked *ranked = calloc(compare->paths.count + 1, sizeof(*ranked));
	size_t i, n = 0, tried = 0;
	int r;

	if (!ranked)
		return -ENOMEM;
	for (i = 0; i < compare->paths.count; i++)
		if (is_there(compare, 0, (uint32_t)i) || is_there(compare, 1, (uint32_t)i))
			ranked[n++] = rank(compare, (uint32_t)i, options->by_total);
	qsort(ranked, n, sizeof(*ranked), by_size);
	r = dense_make(compare, 0, &dense[0]);
	if (r == 0)
		r = dense_make(compare, 1, &dense[1]);
	for (i = 0; r == 0 && i < n; i++)
		r = take(compare, options, &ranked[i], dense, &tried, ret_rows);
	return r;
}

void compare_rows_deinit(struct compare_rows *rows)
{
	VEC_FREE(&rows->moved);
	VEC_FREE(&rows->appeared);
	VEC_FREE(&rows->vanished);
}

/* The mean over a side's runs of their means; false: a run has no such samples. */
static bool part_of_side(const struct compare *c, unsigned side, enum compare_part part,
			 double *ret_mean)
{
	double sum = 0;
	size_t i, k;

	for (i = 0; i < c->sides[side].count; i++) {
		const struct run_series *s = &c->sides[side].at[i].parts[part];
		double all = 0;

		if (s->samples.count == 0)
			return false;
		for (k = 0; k < s->samples.count; k++)
			all += s->samples.at[k];
		sum += all / (double)s->samples.count;
	}
	*ret_mean = c->sides[side].count ? sum / (double)c->sides[side].count : 0;
	return c->sides[side].count > 0;
}

static int part_side(const struct compare *c, unsigned side, enum compare_part part,
		     struct dense *d)
{
	size_t i;
	int r = dense_make(c, side, d);

	for (i = 0; r == 0 && i < c->sides[side].count; i++) {
		const struct run_series *s = &c->sides[side].at[i].parts[part];

		d->samples[i] = s->samples.at;
		d->counts[i] = s->samples.count;
	}
	return r;
}

bool compare_part_of(const struct compare *compare, enum compare_part part,
		     struct compare_number *ret_number, int *ret_error)
{
	__attribute__((cleanup(dense_free))) struct dense dense[2] = {{0}};
	struct compare_number n = {0};
	int r;

	*ret_error = 0;
	if (!part_of_side(compare, 0, part, &n.a) || !part_of_side(compare, 1, part, &n.b))
		return false;
	r = part_side(compare, 0, part, &dense[0]);
	if (r == 0)
		r = part_side(compare, 1, part, &dense[1]);
	if (r == 0)
		r = bootstrap_difference(&dense[0].side, &dense[1].side, COMPARE_CONFIDENCE,
					 &n.interval);
	n.has_interval = r == 0;
	*ret_error = r == -ERANGE ? 0 : r;
	*ret_number = n;
	return *ret_error == 0;
}
