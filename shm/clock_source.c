// SPDX-License-Identifier: MIT
/*
 * Which clock, how fast it runs, and ticks to ns and back.
 *
 * A time point is converted by one multiplication in 128 bits and a shift, rounding towards minus
 * infinity. So the conversion is monotone, points that are equal in ticks are equal in ns, and
 * intervals that touch in the one touch in the other. The multiplier has at least 52 significant
 * bits: over 104 days (2^53 ns) rounding it moves a point by less than 2 ns.
 *
 * No state but the choice, which is the same on every call: any thread may call anything here.
 */
#include "clock_source.h"

#include "atomic.h"
#include "clock.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 uwide;

#define NS_PER_S 1000000000u

static uint64_t clock_posix(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static enum fprof_clock_kind clock_probe(void)
{
	const char *forced = secure_getenv("FPROF_CLOCK");

	if (forced && !strcmp(forced, "monotonic"))
		return FPROF_CLOCK_MONOTONIC;
#if defined(__x86_64__)
	unsigned a, b, c, d;

	/* Bit 8: the counter runs at one rate in all power states. Hypervisors pass it through
	 * where they keep the promise. */
	if (__get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8))
		return FPROF_CLOCK_TSC;
	return FPROF_CLOCK_MONOTONIC;
#elif defined(__aarch64__)
	return FPROF_CLOCK_CNTVCT;
#else
	return FPROF_CLOCK_MONOTONIC;
#endif
}

enum fprof_clock_kind fprof_clock_choose(void)
{
	static uint32_t chosen; /* CPUID exits to the hypervisor: asked once */
	uint32_t kind = FPROF_LOAD_RELAXED(&chosen);

	if (!kind) {
		kind = clock_probe();
		FPROF_STORE_RELAXED(&chosen, kind);
	}
	return (enum fprof_clock_kind)kind;
}

uint64_t fprof_clock_read(enum fprof_clock_kind kind)
{
	return kind == FPROF_CLOCK_MONOTONIC ? clock_posix(CLOCK_MONOTONIC) : fprof_counter();
}

void fprof_clock_rate_set(struct fprof_clock_rate *rate, double hz)
{
	long double per_tick = (long double)NS_PER_S / (long double)hz;

	rate->hz = hz;
	rate->shift = 0;
	while (rate->shift < 62 && per_tick < 4611686018427387904.0L) {
		per_tick *= 2;
		rate->shift++;
	}
	rate->mult = (uint64_t)(per_tick + 0.5L);
}

struct pair {
	uint64_t ticks, ns;
};

/* The counter and MONOTONIC_RAW at one moment: the narrowest of five readings. */
static struct pair clock_pair(enum fprof_clock_kind kind)
{
	struct pair best = {0, 0};
	uint64_t width = UINT64_MAX;
	int i;

	for (i = 0; i < 5; i++) {
		uint64_t before = fprof_clock_read(kind);
		uint64_t ns = clock_posix(CLOCK_MONOTONIC_RAW);
		uint64_t after = fprof_clock_read(kind);

		if (after - before < width) {
			width = after - before;
			best.ticks = before + width / 2;
			best.ns = ns;
		}
	}
	return best;
}

void fprof_clock_measure(enum fprof_clock_kind kind, uint64_t window_ns,
			 struct fprof_clock_rate *ret_rate)
{
	struct timespec left = {.tv_sec = (time_t)(window_ns / NS_PER_S),
				.tv_nsec = (long)(window_ns % NS_PER_S)};
	struct pair from, to;

	if (kind == FPROF_CLOCK_MONOTONIC) {
		fprof_clock_rate_set(ret_rate, NS_PER_S);
		return;
	}
	from = clock_pair(kind);
	do {
		while (nanosleep(&left, &left))
			;
		to = clock_pair(kind);
		left.tv_sec = 0;
		left.tv_nsec = 1000000;
	} while (to.ns <= from.ns || to.ticks <= from.ticks);
	fprof_clock_rate_set(ret_rate, (double)((long double)(to.ticks - from.ticks) * NS_PER_S /
						(long double)(to.ns - from.ns)));
}

int64_t fprof_clock_ns(const struct fprof_clock_rate *rate, uint64_t base, uint64_t ticks)
{
	/* An arithmetic shift: rounds down on both sides of base. */
	wide ns = (wide)(int64_t)(ticks - base) * (wide)rate->mult >> rate->shift;

	if (ns > INT64_MAX)
		return INT64_MAX;
	return ns < INT64_MIN ? INT64_MIN : (int64_t)ns;
}

uint64_t fprof_clock_ticks(const struct fprof_clock_rate *rate, uint64_t base, int64_t ns)
{
	/* The smallest t with floor(t * mult / 2^shift) >= ns is ceil(ns * 2^shift / mult). */
	uwide magnitude = ns < 0 ? -(uwide)ns : (uwide)ns;
	uwide scaled = magnitude << rate->shift;
	uwide ticks = scaled / rate->mult;

	if (ns >= 0 && scaled % rate->mult)
		ticks++;
	return ns < 0 ? base - (uint64_t)ticks : base + (uint64_t)ticks;
}
