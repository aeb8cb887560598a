// SPDX-License-Identifier: MIT
/*
 * Unwrapped ticks are 64 bits and wrap themselves only in theory, so all differences are taken
 * modulo 2^64 and read as signed. A raw value stands for all values that agree in the valid bits;
 * which one is meant follows from a time near it: for a pair its own, for a span that of its
 * submission. With 32 bits of 1 ns that decides as long as the time is off by less than 2.1 s.
 */
#include "gpu_clock.h"

#include <errno.h>
#include <math.h>
#include <string.h>

int gpu_clock_init(struct gpu_clock *clock, double ns_per_tick, uint32_t valid_bits)
{
	if (!isfinite(ns_per_tick) || ns_per_tick <= 0 || valid_bits < 1 || valid_bits > 64)
		return -EINVAL;
	*clock = (struct gpu_clock){
		.ns_per_tick = ns_per_tick,
		.mask = valid_bits == 64 ? UINT64_MAX : (UINT64_C(1) << valid_bits) - 1,
	};
	return 0;
}

/* Times are cut to this range, so that a difference of two never overflows: 73 years. */
#define NS_LIMIT (INT64_C(1) << 61)

static int64_t bound(int64_t ns)
{
	if (ns > NS_LIMIT)
		return NS_LIMIT;
	return ns < -NS_LIMIT ? -NS_LIMIT : ns;
}

static int64_t round_to_int64(long double v)
{
	if (!(v < (long double)NS_LIMIT))
		return NS_LIMIT;
	return v > -(long double)NS_LIMIT ? llroundl(v) : -NS_LIMIT;
}

int64_t gpu_clock_duration_ns(const struct gpu_clock *clock, int64_t ticks)
{
	return round_to_int64((long double)ticks * clock->ns_per_tick);
}

int64_t gpu_clock_distance(const struct gpu_clock *clock, uint64_t from, uint64_t to)
{
	uint64_t d = (to - from) & clock->mask, half = clock->mask / 2 + 1;

	return d >= half ? (int64_t)(d - clock->mask - 1) : (int64_t)d;
}

uint64_t gpu_clock_ticks_between(const struct gpu_clock *clock, uint64_t begin, uint64_t end)
{
	int64_t d = gpu_clock_distance(clock, begin, end);

	return d < 0 ? UINT64_MAX : (uint64_t)d;
}

/* The pair whose time is nearest to ns. */
static const struct gpu_clock_pair *nearest_in_time(const struct gpu_clock *clock, int64_t ns)
{
	size_t i = clock->count - 1;

	while (i > 0 && clock->pairs[i].ns > ns)
		i--;
	if (i + 1 < clock->count && clock->pairs[i + 1].ns - ns < ns - clock->pairs[i].ns)
		i++;
	return &clock->pairs[i];
}

uint64_t gpu_clock_unwrap(const struct gpu_clock *clock, uint64_t raw, int64_t ns_near)
{
	const struct gpu_clock_pair *pair = nearest_in_time(clock, bound(ns_near));
	long double elapsed = (long double)(bound(ns_near) - pair->ns) / clock->ns_per_tick;
	uint64_t expected = pair->ticks + (uint64_t)round_to_int64(elapsed);

	return expected + (uint64_t)gpu_clock_distance(clock, expected, raw);
}

void gpu_clock_add(struct gpu_clock *clock, uint64_t raw, int64_t ns)
{
	struct gpu_clock_pair pair = {.ticks = raw & clock->mask, .ns = ns};
	const struct gpu_clock_pair *last;

	if (clock->count > 0) {
		pair.ticks = gpu_clock_unwrap(clock, raw, ns);
		last = &clock->pairs[clock->count - 1];
		if (pair.ns < last->ns)
			return; /* from a slower thread: the newer one is better */
		if (pair.ns == last->ns)
			clock->count--;
		else if ((int64_t)(pair.ticks - last->ticks) <= 0)
			clock->count = 0;
	}
	if (clock->count == GPU_CLOCK_PAIRS) {
		memmove(&clock->pairs[0], &clock->pairs[1],
			(GPU_CLOCK_PAIRS - 1) * sizeof(clock->pairs[0]));
		clock->count--;
	}
	clock->pairs[clock->count++] = pair;
}

static int64_t interpolate(const struct gpu_clock_pair *a, const struct gpu_clock_pair *b,
			   uint64_t ticks)
{
	long double part = (long double)(ticks - a->ticks) / (long double)(b->ticks - a->ticks);

	return a->ns + round_to_int64(part * (long double)(b->ns - a->ns));
}

int64_t gpu_clock_ns(const struct gpu_clock *clock, uint64_t ticks)
{
	const struct gpu_clock_pair *pairs = clock->pairs;
	const struct gpu_clock_pair *outside;
	size_t i;

	for (i = clock->count; i > 0 && (int64_t)(ticks - pairs[i - 1].ticks) < 0; i--)
		;
	if (i > 0 && i < clock->count)
		return interpolate(&pairs[i - 1], &pairs[i], ticks);
	outside = i == 0 ? &pairs[0] : &pairs[clock->count - 1];
	return outside->ns + gpu_clock_duration_ns(clock, (int64_t)(ticks - outside->ticks));
}
