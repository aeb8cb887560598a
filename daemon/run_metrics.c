/* SPDX-License-Identifier: MIT */
/*
 * The metrics by themselves: their names, and what they make of samples. What the samples are is
 * read in run_measure.c.
 *
 * A name is read from its end, since a zone's or counter's name may hold dots: first the longest
 * statistic that fits, then for zones which of their times.
 */
#include "run_metrics.h"

#include "statistics.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const run_metric_forms[] = {
	"frame.STAT",
	"cpu.STAT",
	"gpu.STAT",
	"wait.STAT",
	"zone:NAME.total.STAT",
	"zone:NAME.self.STAT",
	"zone:NAME.calls.STAT",
	"counter:NAME.STAT",
	"where STAT is p50, p90, p95, p99, p99.9 (any pN), mean, sd, max, jitter",
	"frame.slow_share",
	NULL};

static bool ends_with(const char *text, size_t length, const char *suffix, size_t *ret_rest)
{
	size_t bytes = strlen(suffix);

	if (length < bytes || memcmp(text + length - bytes, suffix, bytes) != 0)
		return false;
	*ret_rest = length - bytes;
	return true;
}

/* A percentile at the end, as in ".p99.9": its digits, and a dot within them. */
static bool take_percentile(const char *text, size_t *length, double *ret_percentile)
{
	size_t i = *length;
	char digits[16];

	while (i > 0 && ((text[i - 1] >= '0' && text[i - 1] <= '9') || text[i - 1] == '.'))
		i--;
	if (i < 2 || text[i - 1] != 'p' || text[i - 2] != '.' || *length == i ||
	    *length - i >= sizeof(digits))
		return false;
	memcpy(digits, text + i, *length - i);
	digits[*length - i] = '\0';
	if (digits[0] == '.' || strchr(digits, '.') != strrchr(digits, '.'))
		return false;
	*ret_percentile = strtod(digits, NULL);
	*length = i - 2;
	return *ret_percentile > 0 && *ret_percentile < 100;
}

static bool take_statistic(const char *text, size_t *length, struct run_metric *m)
{
	static const struct {
		const char *suffix;
		enum run_statistic statistic;
	} names[] = {{".mean", RUN_MEAN},
		     {".sd", RUN_SD},
		     {".max", RUN_MAX},
		     {".jitter", RUN_JITTER},
		     {".slow_share", RUN_SLOW_SHARE}};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		if (!ends_with(text, *length, names[i].suffix, length))
			continue;
		m->statistic = names[i].statistic;
		return true;
	}
	m->statistic = RUN_PERCENTILE;
	return take_percentile(text, length, &m->percentile);
}

static int take_name(const char *text, size_t length, struct run_metric *m)
{
	if (!length || length >= sizeof(m->name))
		return -EINVAL;
	memcpy(m->name, text, length);
	m->name[length] = '\0';
	return 0;
}

static int take_zone(const char *text, size_t length, struct run_metric *m)
{
	m->source = RUN_ZONE_TOTAL;
	if (ends_with(text, length, ".self", &length))
		m->source = RUN_ZONE_SELF;
	else if (ends_with(text, length, ".calls", &length))
		m->source = RUN_ZONE_CALLS;
	else
		ends_with(text, length, ".total", &length);
	return take_name(text, length, m);
}

static int take_source(const char *text, size_t length, struct run_metric *m)
{
	static const char *const names[] = {
		[RUN_FRAME] = "frame", [RUN_CPU] = "cpu", [RUN_GPU] = "gpu", [RUN_WAIT] = "wait"};
	size_t i;

	if (length > 5 && memcmp(text, "zone:", 5) == 0)
		return take_zone(text + 5, length - 5, m);
	if (length > 8 && memcmp(text, "counter:", 8) == 0) {
		m->source = RUN_COUNTER;
		return take_name(text + 8, length - 8, m);
	}
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		if (strlen(names[i]) != length || memcmp(text, names[i], length) != 0)
			continue;
		m->source = (enum run_source)i;
		return 0;
	}
	return -EINVAL;
}

int run_metric_parse(const char *text, double slow_ms, struct run_metric *ret_metric)
{
	struct run_metric m = {.slow_ns = slow_ms * 1e6};
	size_t length = strlen(text);

	if (!take_statistic(text, &length, &m) || take_source(text, length, &m) < 0 ||
	    (m.statistic == RUN_SLOW_SHARE && m.source != RUN_FRAME))
		return -EINVAL;
	*ret_metric = m;
	return 0;
}

bool run_metric_is_time(const struct run_metric *metric)
{
	return metric->source != RUN_COUNTER && metric->source != RUN_ZONE_CALLS &&
	       metric->statistic != RUN_SLOW_SHARE;
}

bool run_metric_of_events(const struct run_metric *metric)
{
	return metric->source >= RUN_ZONE_TOTAL;
}

size_t run_metric_needs(const struct run_metric *metric)
{
	if (metric->statistic != RUN_PERCENTILE)
		return RUN_LEAST;
	return MAX(RUN_LEAST, statistics_percentile_needs(metric->percentile));
}

int run_series_add(struct run_series *series, const struct run_metric *metric, uint64_t frame,
		   double value)
{
	bool follows = series->frame && frame == series->frame + 1;
	double sample = metric->statistic == RUN_JITTER ? fabs(value - series->value) : value;

	series->frame = frame;
	series->value = value;
	if (metric->statistic == RUN_JITTER && !follows)
		return 0;
	return VEC_PUSH(&series->samples, sample);
}

static double largest(const double *samples, size_t count)
{
	double most = samples[0];
	size_t i;

	for (i = 1; i < count; i++)
		most = MAX(most, samples[i]);
	return most;
}

static double slow_share(const double *samples, size_t count, double slow_ns)
{
	double all = 0, slow = 0;
	size_t i;

	for (i = 0; i < count; i++) {
		all += samples[i];
		slow += samples[i] > slow_ns ? samples[i] : 0;
	}
	return all > 0 ? slow / all : 0;
}

double run_metric_of(double *samples, size_t count, const void *metric)
{
	const struct run_metric *m = metric;

	switch (m->statistic) {
	case RUN_MEAN:
	case RUN_JITTER:
		return statistics_mean(samples, count);
	case RUN_SD:
		return statistics_sd(samples, count);
	case RUN_MAX:
		return largest(samples, count);
	case RUN_SLOW_SHARE:
		return slow_share(samples, count, m->slow_ns);
	case RUN_PERCENTILE:
		break;
	}
	statistics_sort(samples, count);
	return statistics_percentile(samples, count, m->percentile);
}
