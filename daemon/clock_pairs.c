/* SPDX-License-Identifier: MIT */
/*
 * The error of a conversion has two parts: half the width of a pair's reading, and how far the rate
 * changed between pairs. Of the latter there is a bound. A rate that changes by s at the part x of
 * an interval of length T makes the line across it miss x(1 - x)sT; the pair at its end lies
 * (1 - x)sT off the line of the two before it, and the next one x sT: half the larger of these is
 * enough.
 *
 * A pair that is much further off than any slew brings comes after a step of one of the clocks
 * alone: a suspend (the ticks went on, or began anew), a migration. Between the pair before and
 * this one no line tells anything: with it all begins anew.
 */
#include "clock_pairs.h"

#include "util.h"

#include <errno.h>

#define READINGS 5
#define CLOSE_NS 2000000u
#define STEP_NS	 1e6  /* and this part of the time between: */
#define STEP	 1e-3 /* twice what NTP slews by */

void clock_pairs_init(struct clock_pairs *p, enum fprof_clock_kind kind, double hz)
{
	*p = (struct clock_pairs){.kind = kind, .hz = hz};
}

static const struct clock_pair *pair_at(const struct clock_pairs *p, size_t i)
{
	return &p->at[(p->first + i) % CLOCK_PAIRS];
}

/* Between a and b, or on their line: differences are signed, as mono may lie before a. */
static uint64_t on_line(const struct clock_pair *a, const struct clock_pair *b, uint64_t mono)
{
	double rate = (double)(b->ticks - a->ticks) / (double)(b->mono - a->mono);
	double ns = (double)(int64_t)(mono - a->mono);

	return a->ticks + (uint64_t)(int64_t)(ns * rate);
}

/* How far it lies off the line of the two before it, in ns. */
static double off_line(const struct clock_pairs *p, const struct clock_pair *pair)
{
	const struct clock_pair *b = p->count > 0 ? pair_at(p, p->count - 1) : NULL;
	uint64_t expected;
	double off;

	if (!b)
		return 0;
	expected = p->count >= 2
			   ? on_line(pair_at(p, p->count - 2), b, pair->mono)
			   : b->ticks + (uint64_t)((double)(pair->mono - b->mono) * p->hz / 1e9);
	off = (double)(int64_t)(expected - pair->ticks) * 1e9 / p->hz;
	return off < 0 ? -off : off;
}

static bool is_step(const struct clock_pairs *p, const struct clock_pair *pair, double off)
{
	return p->count > 0 &&
	       off > STEP_NS + STEP * (double)(pair->mono - pair_at(p, p->count - 1)->mono);
}

static void judge(struct clock_pairs *p, const struct clock_pair *pair)
{
	double off = off_line(p, pair), error = (double)pair->width / 2 * 1e9 / p->hz;

	if (is_step(p, pair, off)) {
		p->steps++;
		p->count = 0;
	} else if (p->count >= 2) {
		error += off / 2;
	}
	p->error_ns = MAX(p->error_ns, (uint64_t)error);
}

/* Two pairs that lie close together tell nothing of the rate: the newest gives way to the next. */
static bool is_close(const struct clock_pairs *p)
{
	return p->count >= 2 &&
	       pair_at(p, p->count - 1)->mono - pair_at(p, p->count - 2)->mono < CLOSE_NS;
}

void clock_pairs_put(struct clock_pairs *p, const struct clock_pair *pair)
{
	if (p->count > 0 && pair->mono <= pair_at(p, p->count - 1)->mono)
		return;
	if (is_close(p))
		p->count--;
	judge(p, pair);
	if (p->count == CLOCK_PAIRS) {
		p->first = (p->first + 1) % CLOCK_PAIRS;
		p->count--;
	}
	p->at[(p->first + p->count++) % CLOCK_PAIRS] = *pair;
}

void clock_pairs_take(struct clock_pairs *p)
{
	struct clock_pair best = {.width = UINT64_MAX};
	uint64_t before, mono, after;
	int i;

	for (i = 0; i < READINGS; i++) {
		before = fprof_clock_read(p->kind);
		mono = clock_ns(CLOCK_MONOTONIC);
		after = fprof_clock_read(p->kind);
		if (after - before >= best.width)
			continue;
		best.mono = mono;
		best.ticks = before + (after - before) / 2;
		best.width = after - before;
	}
	clock_pairs_put(p, &best);
}

void clock_pairs_need(struct clock_pairs *p, enum fprof_clock_kind kind, double hz)
{
	if (p->hz > 0.0 || hz <= 0.0)
		return;
	clock_pairs_init(p, kind, hz);
	clock_pairs_take(p);
}

int clock_pairs_ticks(const struct clock_pairs *p, uint64_t mono, uint64_t *ret_ticks)
{
	size_t i;

	if (p->count < 2 || mono > pair_at(p, p->count - 1)->mono)
		return -ERANGE;
	if (p->steps > 0 && mono < pair_at(p, 0)->mono)
		return -ERANGE;
	for (i = p->count - 2; i > 0 && pair_at(p, i)->mono > mono; i--)
		;
	*ret_ticks = on_line(pair_at(p, i), pair_at(p, i + 1), mono);
	return 0;
}
