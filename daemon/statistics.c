/* SPDX-License-Identifier: MIT */
/*
 * Sums are compensated (Neumaier), since a session's frames are many small numbers; the spread is
 * taken in a second pass around the mean, which does not cancel. Ranks are found with a little
 * slack against p's own rounding: 99.9 percent of 1,000 samples are 999 of them, not 999.0000001.
 *
 * Sorting is by radix over the bits of the doubles, 11 at a time, and a digit that all samples
 * share is skipped: whole nanoseconds have few that differ. Few samples, and any when there is no
 * memory for the second half, go through qsort.
 *
 * Random numbers are Blackman and Vigna's xoshiro256** (2018), bounded by Lemire's method (2019).
 */
#include "statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RADIX_BITS   11u
#define RADIX_SIZE   (1u << RADIX_BITS)
#define RADIX_DIGITS 6u	 /* of 11 bits in 64 */
#define RADIX_LEAST  512 /* samples, below which qsort is as fast */
#define RANK_SLACK   1e-14

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Unsigned numbers that sort as the doubles do. */
static uint64_t key_of(double sample)
{
	uint64_t bits;

	memcpy(&bits, &sample, sizeof(bits));
	return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

static double sample_of(uint64_t key)
{
	uint64_t bits = key >> 63 ? key & ~(UINT64_C(1) << 63) : ~key;
	double sample;

	memcpy(&sample, &bits, sizeof(sample));
	return sample;
}

/* Turns counts into the places where each digit begins; false when all samples have the same. */
static bool places_of(size_t *counts, size_t count)
{
	size_t at = 0, i;

	for (i = 0; i < RADIX_SIZE; i++) {
		size_t n = counts[i];

		if (n == count)
			return false;
		counts[i] = at;
		at += n;
	}
	return true;
}

/* Sorts count keys at a; b is as large. Returns the one that holds the result. */
static uint64_t *radix_sort(uint64_t *a, uint64_t *b, size_t count, size_t *counts)
{
	unsigned digit;
	size_t i;

	for (digit = 0; digit < RADIX_DIGITS; digit++) {
		size_t *places = counts + (size_t)digit * RADIX_SIZE;
		unsigned shift = digit * RADIX_BITS;
		uint64_t *swap = a;

		if (!places_of(places, count))
			continue;
		for (i = 0; i < count; i++)
			b[places[a[i] >> shift & (RADIX_SIZE - 1)]++] = a[i];
		a = b;
		b = swap;
	}
	return a;
}

/* False: no memory, nothing was done. */
static bool sort_by_radix(double *samples, size_t count)
{
	size_t *counts = calloc((size_t)RADIX_DIGITS * RADIX_SIZE, sizeof(*counts));
	uint64_t *keys = malloc(2 * count * sizeof(*keys)), *sorted;
	unsigned digit;
	size_t i;

	if (!counts || !keys) {
		free(counts);
		free(keys);
		return false;
	}
	for (i = 0; i < count; i++) {
		keys[i] = key_of(samples[i]);
		for (digit = 0; digit < RADIX_DIGITS; digit++)
			counts[digit * RADIX_SIZE +
			       (keys[i] >> digit * RADIX_BITS & (RADIX_SIZE - 1))]++;
	}
	sorted = radix_sort(keys, keys + count, count, counts);
	for (i = 0; i < count; i++)
		samples[i] = sample_of(sorted[i]);
	free(counts);
	free(keys);
	return true;
}

void statistics_sort(double *samples, size_t count)
{
	if (count < RADIX_LEAST || count > SIZE_MAX / 16 || !sort_by_radix(samples, count))
		qsort(samples, count, sizeof(*samples), compare);
}

double statistics_percentile(const double *sorted, size_t count, double p)
{
	double rank = ceil(p * (double)count / 100 * (1 - RANK_SLACK));

	if (rank < 1)
		return sorted[0];
	return sorted[rank < (double)count ? (size_t)rank - 1 : count - 1];
}

double statistics_median(double *samples, size_t count)
{
	statistics_sort(samples, count);
	return count > 0 ? statistics_percentile(samples, count, 50) : 0;
}

size_t statistics_percentile_needs(double p)
{
	double needs;

	if (p >= 100)
		return 1;
	/* 100 - 99.9 has lost the digits of 99.9's rounding: more slack than a rank. */
	needs = ceil(100 / (100 - p) * (1 - 1e-12));
	return needs < (double)(SIZE_MAX / 2) ? (size_t)needs : SIZE_MAX;
}

double statistics_mean(const double *samples, size_t count)
{
	double sum = 0, lost = 0;
	size_t i;

	if (!count)
		return 0;
	for (i = 0; i < count; i++) {
		double x = samples[i], next = sum + x;

		lost += fabs(sum) >= fabs(x) ? (sum - next) + x : (x - next) + sum;
		sum = next;
	}
	return (sum + lost) / (double)count;
}

double statistics_sd(const double *samples, size_t count)
{
	double mean = statistics_mean(samples, count), sum = 0;
	size_t i;

	if (count < 2)
		return 0;
	for (i = 0; i < count; i++)
		sum += (samples[i] - mean) * (samples[i] - mean);
	return sqrt(sum / (double)(count - 1));
}

void statistics_seed(struct statistics_random *random, uint64_t seed)
{
	size_t i;

	for (i = 0; i < 4; i++) {
		uint64_t z = seed += UINT64_C(0x9e3779b97f4a7c15);

		z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
		z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
		random->state[i] = z ^ z >> 31;
	}
}

static uint64_t rotate(uint64_t x, unsigned by)
{
	return x << by | x >> (64 - by);
}

uint64_t statistics_next(struct statistics_random *random)
{
	uint64_t *s = random->state, result = rotate(s[1] * 5, 7) * 9, t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotate(s[3], 45);
	return result;
}

uint64_t statistics_below(struct statistics_random *random, uint64_t below)
{
	__extension__ typedef unsigned __int128 wide;
	wide product = (wide)statistics_next(random) * below;

	if ((uint64_t)product < below) {
		uint64_t least = -below % below;

		while ((uint64_t)product < least)
			product = (wide)statistics_next(random) * below;
	}
	return (uint64_t)(product >> 64);
}
