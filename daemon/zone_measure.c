/* SPDX-License-Identifier: MIT */
/*
 * Percentiles are nearest-rank, as statistics.h has them, but of millions of whole numbers: a rank
 * is found by its leading bits. One pass counts the values by their top bits, and only those that
 * share a rank's are looked at further, so that three percentiles cost some four passes and no
 * sort.
 */
#include "zone_measure.h"

#include "statistics.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define DIGIT_BITS \
	11u /* of many values; of few, where clearing the counts would cost most, fewer */
#define FEW_BITS 7u
#define FEW	 4096
#define DIGITS	 (1u << DIGIT_BITS)
#define SORTED	 24 /* so few are sorted */

int zone_measure_init(struct zone_measure *m, const struct zone_tree *tree, bool per_frame)
{
	size_t frames = tree->counted.frames.count;

	memset(m, 0, sizeof(*m));
	m->tree = tree;
	m->per_frame = per_frame;
	m->stamps = calloc(frames + 1, sizeof(*m->stamps));
	m->totals = calloc(frames + 1, sizeof(*m->totals));
	if (m->stamps && m->totals)
		return 0;
	zone_measure_deinit(m);
	return -ENOMEM;
}

void zone_measure_deinit(struct zone_measure *m)
{
	free(m->stamps);
	free(m->totals);
	VEC_FREE(&m->frames);
	VEC_FREE(&m->values);
	VEC_FREE(&m->scratch);
	VEC_FREE(&m->slow);
	memset(m, 0, sizeof(*m));
}

/* --- selecting --------------------------------------------------------------------------- */

static void sort_few(uint64_t *v, size_t count)
{
	size_t i, k;

	for (i = 1; i < count; i++) {
		uint64_t moved = v[i];

		for (k = i; k > 0 && v[k - 1] > moved; k--)
			v[k] = v[k - 1];
		v[k] = moved;
	}
}

/* The digit in which rank (from 0) lies; *rank becomes that within it. */
static uint32_t find_digit(const uint32_t *counts, size_t *rank)
{
	uint32_t digit = 0;

	while (*rank >= counts[digit])
		*rank -= counts[digit++];
	return digit;
}

static unsigned bits_of(uint64_t v)
{
	return v ? 64 - (unsigned)__builtin_clzll(v) : 0;
}

static size_t keep_digit(const uint64_t *from, size_t count, unsigned shift, uint64_t digit,
			 uint64_t *to)
{
	size_t kept = 0, i;

	for (i = 0; i < count; i++) {
		to[kept] = from[i];
		kept += from[i] >> shift == digit;
	}
	return kept;
}

static unsigned digit_bits(size_t count)
{
	return count < FEW ? FEW_BITS : DIGIT_BITS;
}

static void count_digits(const uint64_t *v, size_t count, unsigned shift, unsigned bits,
			 uint32_t *counts)
{
	uint64_t mask = (UINT64_C(1) << bits) - 1;
	size_t i;

	memset(counts, 0, sizeof(*counts) << bits);
	for (i = 0; i < count; i++)
		counts[v[i] >> shift & mask]++;
}

/* rank, from 0, of values that share all bits from shift on; they are in v, which is ours. */
static uint64_t select_within(uint64_t *v, size_t count, unsigned shift, size_t rank)
{
	uint32_t counts[DIGITS];

	while (count > SORTED && shift > 0) {
		unsigned bits = digit_bits(count);
		uint64_t digit;

		shift -= MIN(shift, bits);
		count_digits(v, count, shift, bits, counts);
		digit = find_digit(counts, &rank);
		digit |= v[0] >> shift & ~((UINT64_C(1) << bits) - 1);
		count = keep_digit(v, count, shift, digit, v);
	}
	if (shift > 0)
		sort_few(v, count);
	return shift > 0 ? v[rank] : v[0];
}

void zone_select(const uint64_t *values, size_t count, uint64_t *scratch, const size_t *ranks,
		 size_t rank_count, uint64_t *ret)
{
	uint32_t counts[DIGITS];
	uint64_t all = 0;
	unsigned bits = digit_bits(count), used, shift;
	size_t i;

	for (i = 0; i < count; i++)
		all |= values[i];
	used = bits_of(all);
	shift = used > bits ? used - bits : 0;
	count_digits(values, count, shift, bits, counts);
	for (i = 0; i < rank_count; i++) {
		size_t rank = ranks[i] - 1, kept;
		uint64_t digit = find_digit(counts, &rank);

		kept = keep_digit(values, count, shift, digit, scratch);
		ret[i] = shift > 0 ? select_within(scratch, kept, shift, rank) : digit;
	}
}

/* --- a row ------------------------------------------------------------------------------- */

static int touch(struct zone_measure *m, size_t frame)
{
	if (m->stamps[frame] == m->row)
		return 0;
	m->stamps[frame] = m->row;
	m->totals[frame] = 0;
	return VEC_PUSH(&m->frames, frame);
}

/* Shares a call out over the frames that it touches. GPU calls belong to one. */
static int share_out(struct zone_measure *m, const struct zone_node *node, int64_t begin,
		     int64_t duration, size_t *frame)
{
	struct counted_parts parts = {&m->tree->counted, begin, begin + duration, *frame, false};
	int64_t ns;
	int r = 0;

	if (node->gpu) {
		*frame = counted_find(parts.counted, begin, *frame);
		r = touch(m, *frame);
		m->totals[*frame] += duration;
		return r;
	}
	while (r == 0 && counted_part_next(&parts, &ns)) {
		r = touch(m, parts.frame);
		m->totals[parts.frame] += ns;
	}
	*frame = parts.frame;
	return r;
}

/* The longest call of a row so far. */
struct longest {
	int64_t begin;
	uint64_t duration;
	bool any;
};

/* A frame: [from, to) of counted time. */
struct frame_span {
	size_t frame;
	int64_t from, to;
};

static void span_of(const struct counted *counted, size_t frame, struct frame_span *span)
{
	*span = (struct frame_span){frame, counted->frames.at[frame].begin_ns,
				    counted_end(counted, frame)};
}

/* Is all of a call in the frame of the call before it, or in the next one? So are most. */
static inline bool is_near(const struct counted *counted, int64_t begin, int64_t duration,
			   struct frame_span *span)
{
	if (begin >= span->to && span->frame + 1 < counted->frames.count)
		span_of(counted, span->frame + 1, span);
	return begin >= span->from && begin < span->to && begin + duration <= span->to;
}

static int take_node(struct zone_measure *m, const struct zone_node *node, struct longest *longest)
{
	const struct counted *counted = &m->tree->counted;
	struct zone_samples samples = zone_samples(node);
	struct frame_span span = {0, INT64_MAX, INT64_MAX};
	int64_t begin, duration, counts;
	int r = 0;

	if (VEC_RESERVE(&m->values, node->calls) < 0)
		return -ENOMEM;
	while (r == 0 && zone_samples_next(&samples, &begin, &duration)) {
		m->values.at[m->values.count++] = (uint64_t)duration;
		if (!longest->any || (uint64_t)duration > longest->duration)
			*longest = (struct longest){begin, (uint64_t)duration, true};
		counts = node->nested ? 0 : duration;
		if (is_near(counted, begin, counts, &span)) {
			r = touch(m, span.frame);
			m->totals[span.frame] += counts;
			continue;
		}
		r = share_out(m, node, begin, counts, &span.frame);
		span_of(counted, span.frame, &span);
	}
	return r;
}

static uint64_t frame_number(const struct zone_measure *m, size_t frame)
{
	const struct counted *counted = &m->tree->counted;

	return counted->range->frames.frames.at[counted->frames.at[frame].index].row.frame;
}

/* Frame totals take the place of calls. */
static int take_frames(struct zone_measure *m, struct zone_numbers *n)
{
	uint64_t most = 0;
	size_t i;

	m->values.count = 0;
	if (VEC_RESERVE(&m->values, m->frames.count) < 0)
		return -ENOMEM;
	for (i = 0; i < m->frames.count; i++) {
		uint64_t total = (uint64_t)m->totals[m->frames.at[i]];

		m->values.at[m->values.count++] = total;
		if (i == 0 || total > most) {
			most = total;
			n->max_frame = frame_number(m, m->frames.at[i]);
		}
	}
	return 0;
}

static void find_extremes(const struct zone_measure *m, struct zone_numbers *n)
{
	uint64_t least = UINT64_MAX, most = 0, sum = 0;
	size_t i;

	for (i = 0; i < m->values.count; i++) {
		least = MIN(least, m->values.at[i]);
		most = MAX(most, m->values.at[i]);
		sum += m->values.at[i];
	}
	n->samples = m->values.count;
	n->min_ns = (int64_t)least;
	n->max_ns = (int64_t)most;
	n->avg_ns = (double)sum / (double)m->values.count;
}

static int find_percentiles(struct zone_measure *m, struct zone_numbers *n)
{
	static const unsigned percents[] = {50, 95, 99};
	int64_t *const rets[] = {&n->p50_ns, &n->p95_ns, &n->p99_ns};
	size_t count = m->values.count, ranks[3], wanted = 0, i;
	uint64_t found[3];

	n->p50_ns = n->p95_ns = n->p99_ns = NS_UNKNOWN;
	while (wanted < 3 && count >= statistics_percentile_needs(percents[wanted])) {
		ranks[wanted] = (percents[wanted] * count + 99) / 100;
		wanted++;
	}
	if (VEC_RESERVE(&m->scratch, count) < 0)
		return -ENOMEM;
	zone_select(m->values.at, count, m->scratch.at, ranks, wanted, found);
	for (i = 0; i < wanted; i++)
		*rets[i] = (int64_t)found[i];
	return 0;
}

static int by_time(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static int find_slow(struct zone_measure *m, const uint32_t *nodes, size_t count,
		     struct zone_numbers *n)
{
	int64_t begin, duration;
	size_t i;

	m->slow.count = 0;
	for (i = 0; i < count; i++) {
		struct zone_samples samples = zone_samples(&m->tree->nodes.at[nodes[i]]);

		while (zone_samples_next(&samples, &begin, &duration))
			if (duration > n->slow_above_ns && VEC_PUSH(&m->slow, begin) < 0)
				return -ENOMEM;
	}
	n->slow_calls = m->slow.count;
	if (count > 1 && m->slow.count > 1)
		qsort(m->slow.at, m->slow.count, sizeof(*m->slow.at), by_time);
	return 0;
}

/* Mean and spread of the gaps, in one pass (Welford). */
static void measure_gaps(const struct zone_measure *m, struct zone_numbers *n)
{
	double mean = 0, squares = 0;
	size_t i;

	if (m->slow.count < ZONE_SLOW_LEAST)
		return;
	for (i = 1; i < m->slow.count; i++) {
		double gap = (double)(m->slow.at[i] - m->slow.at[i - 1]), off = gap - mean;

		mean += off / (double)i;
		squares += off * (gap - mean);
	}
	n->slow_gap_mean_ns = mean;
	n->slow_gap_sd_ns = sqrt(squares / (double)(m->slow.count - 2));
}

static void add_sums(const struct zone_node *node, struct zone_numbers *n)
{
	static const struct zone_kernel_ns none;

	n->calls += node->calls;
	n->self_ns += node->self_ns;
	n->own_alloc_bytes += node->own_alloc_bytes;
	n->own_alloc_count += node->own_alloc_count;
	n->scheduled |= node->scheduled;
	zone_kernel_add(&n->own_kernel, &none, &node->own_kernel);
	if (node->nested)
		return;
	zone_kernel_add(&n->kernel, &none, &node->kernel);
	n->total_ns += node->total_ns;
	n->alloc_bytes += node->alloc_bytes;
	n->alloc_count += node->alloc_count;
}

/* Slow calls are told by the median of calls, which values has unless frames took their place. */
static int measure_calls(struct zone_measure *m, const uint32_t *nodes, size_t count,
			 struct zone_numbers *n)
{
	int r;

	find_extremes(m, n);
	r = find_percentiles(m, n);
	if (r < 0 || n->p50_ns == NS_UNKNOWN)
		return r;
	n->slow_above_ns = ZONE_SLOW_MEDIANS * n->p50_ns;
	if (n->max_ns <= n->slow_above_ns)
		return 0;
	r = find_slow(m, nodes, count, n);
	if (r == 0)
		measure_gaps(m, n);
	return r;
}

/* There is no telling calls apart, nor the frames of several nodes. */
static void measure_sums(const struct zone_measure *m, const uint32_t *nodes, size_t count,
			 struct zone_numbers *n)
{
	const struct zone_node *first = &m->tree->nodes.at[nodes[0]];
	uint64_t by;
	size_t i;

	for (i = 0; i < count; i++) {
		add_sums(&m->tree->nodes.at[nodes[i]], n);
		n->frames = MAX(n->frames, m->tree->nodes.at[nodes[i]].sum_frames);
	}
	if (count == 1) /* a node's own row has what the tool measured, within its name or not */
		n->total_ns = first->total_ns;
	n->min_ns = n->max_ns = n->p50_ns = n->p95_ns = n->p99_ns = NS_UNKNOWN;
	if (m->per_frame && count == 1 && first->sum_frames > 0) {
		n->min_ns = first->min_frame_ns;
		n->max_ns = first->max_frame_ns;
	}
	by = m->per_frame ? n->frames : n->calls;
	n->avg_ns = by > 0 ? (double)n->total_ns / (double)by : NAN;
}

int zone_measure_nodes(struct zone_measure *m, const uint32_t *nodes, size_t count,
		       struct zone_numbers *ret_numbers)
{
	struct zone_numbers *n = ret_numbers;
	struct longest longest = {0};
	size_t i;
	int r = 0;

	memset(n, 0, sizeof(*n));
	n->slow_above_ns = NS_UNKNOWN;
	n->slow_gap_mean_ns = n->slow_gap_sd_ns = NAN;
	if (m->tree->sums) {
		measure_sums(m, nodes, count, n);
		return 0;
	}
	m->row++;
	m->frames.count = m->values.count = 0;
	for (i = 0; i < count && r == 0; i++) {
		add_sums(&m->tree->nodes.at[nodes[i]], n);
		r = take_node(m, &m->tree->nodes.at[nodes[i]], &longest);
	}
	if (r < 0 || m->values.count == 0)
		return r;
	n->frames = m->frames.count;
	n->max_frame = frame_number(m, counted_find(&m->tree->counted, longest.begin, SIZE_MAX));
	r = measure_calls(m, nodes, count, n);
	if (r == 0 && m->per_frame) {
		r = take_frames(m, n);
		find_extremes(m, n);
	}
	return r < 0 || !m->per_frame ? r : find_percentiles(m, n);
}
