/* SPDX-License-Identifier: MIT */
/*
 * Statistics of frames: wall, CPU, GPU and wait times, the time in a zone, a counter's values, how
 * many allocations were told of. What a member means is said with it where it could be taken
 * otherwise; what cannot be told is null, with the reason.
 */
#include "api.h"
#include "api_range.h"
#include "counter_series.h"
#include "frame_stats.h"
#include "near.h"
#include "statistics.h"
#include "util.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define METRICS_MAX 16
#define BOUNDS_MAX  16

enum metric_kind {
	METRIC_WALL,
	METRIC_CPU,
	METRIC_GPU,
	METRIC_WAIT,
	METRIC_ZONE,
	METRIC_GPU_ZONE,
	METRIC_PATH,
	METRIC_GPU_PATH,
	METRIC_COUNTER,
	METRIC_ALLOCATIONS
};

struct metric {
	enum metric_kind kind;
	const char *text; /* as asked */
	const char *name; /* of the zone or counter */
	uint8_t unit;	  /* of the counter */
	frame_samples samples;
	size_t unknown;	    /* counted frames that have no value */
	size_t frames_with; /* zones: that have any */
};

struct stats_request {
	struct metric metrics[METRICS_MAX];
	size_t metric_count;
	double bounds_ms[BOUNDS_MAX], bounds[BOUNDS_MAX]; /* of times; of counters */
	size_t bound_ms_count, bound_count;
	unsigned flags;			    /* enum counted_flags */
	bool values;			    /* those of each frame, too */
	const char *path[ROUTE_PARAMS_MAX]; /* of METRIC_PATH */
	size_t path_count;
};

static void request_deinit(struct stats_request *s)
{
	size_t i;

	for (i = 0; i < s->metric_count; i++)
		VEC_FREE(&s->metrics[i].samples);
}

/* --- parameters -------------------------------------------------------------------------- */

static const struct {
	const char *text;
	enum metric_kind kind;
	bool named;
} kinds[] = {
	{"wall", METRIC_WALL, false},	    {"cpu", METRIC_CPU, false},
	{"gpu", METRIC_GPU, false},	    {"wait", METRIC_WAIT, false},
	{"zone:", METRIC_ZONE, true},	    {"gpu_zone:", METRIC_GPU_ZONE, true},
	{"counter:", METRIC_COUNTER, true}, {"allocations", METRIC_ALLOCATIONS, false},
	{"path", METRIC_PATH, false},	    {"gpu_path", METRIC_GPU_PATH, false},
};

static bool parse_metric(const char *text, struct metric *metric)
{
	size_t i, n;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		n = strlen(kinds[i].text);
		if (kinds[i].named ? strncmp(text, kinds[i].text, n) != 0 || !text[n]
				   : strcmp(text, kinds[i].text) != 0)
			continue;
		*metric = (struct metric){.kind = kinds[i].kind, .text = text, .name = text + n};
		return true;
	}
	return false;
}

static bool parse_metrics(const struct api_request *q, struct api_answer *a,
			  struct stats_request *s)
{
	static const char *const allowed[] = {"wall",
					      "cpu",
					      "gpu",
					      "wait",
					      "zone:NAME",
					      "gpu_zone:NAME",
					      "counter:NAME",
					      "allocations",
					      "path",
					      "gpu_path",
					      "at most 16 of them",
					      NULL};
	unsigned i;

	for (i = 0; i < q->route.count; i++) {
		const struct route_param *p = &q->route.params[i];

		if (strcmp(p->name, "metric") != 0)
			continue;
		if (s->metric_count == METRICS_MAX ||
		    !parse_metric(p->value, &s->metrics[s->metric_count])) {
			api_fail_parameter(a, "metric", p->value, allowed);
			return false;
		}
		s->metric_count++;
	}
	if (s->metric_count == 0)
		parse_metric("wall", &s->metrics[s->metric_count++]);
	return true;
}

static bool is_path(const struct metric *m)
{
	return m->kind == METRIC_PATH || m->kind == METRIC_GPU_PATH;
}

/* The names of path=, which go with the metrics of that name. */
static bool parse_path(const struct api_request *q, struct api_answer *a, struct stats_request *s)
{
	static const char *const needed[] = {"names of zones, outermost first", NULL};
	static const char *const meant[] = {"with metric=path or metric=gpu_path", NULL};
	bool wanted = false;
	size_t i;

	for (i = 0; i < q->route.count; i++)
		if (strcmp(q->route.params[i].name, "path") == 0)
			s->path[s->path_count++] = q->route.params[i].value;
	for (i = 0; i < s->metric_count; i++)
		wanted |= is_path(&s->metrics[i]);
	if (wanted == (s->path_count > 0))
		return true;
	api_fail_parameter(a, "path", wanted ? "" : s->path[0], wanted ? needed : meant);
	return false;
}

/* Numbers with commas between them. */
static bool parse_bounds(const char *text, double *bounds, size_t *count)
{
	char *end;

	for (;; text = end + 1) {
		double v = strtod(text, &end);

		if (end == text || !isfinite(v) || *count == BOUNDS_MAX)
			return false;
		bounds[(*count)++] = v;
		if (*end != ',')
			return *end == '\0';
	}
}

static bool parse_over(const struct api_request *q, struct api_answer *a, const char *name,
		       double *bounds, size_t *count)
{
	static const char *const allowed[] = {"numbers, with commas between them, at most 16",
					      NULL};
	unsigned i;

	for (i = 0; i < q->route.count; i++) {
		const struct route_param *p = &q->route.params[i];

		if (strcmp(p->name, name) != 0 || parse_bounds(p->value, bounds, count))
			continue;
		api_fail_parameter(a, name, p->value, allowed);
		return false;
	}
	return true;
}

static bool parse_request(const struct api_request *q, struct api_answer *a,
			  struct stats_request *s)
{
	static const char *const values[] = {"no", "yes", NULL};
	int each = api_parse_choice(q, a, "values", values, 0);

	s->values = each == 1;
	if (each < 0 || !api_parse_counted(q, a, &s->flags) || !parse_metrics(q, a, s) ||
	    !parse_path(q, a, s) ||
	    !parse_over(q, a, "over_ms", s->bounds_ms, &s->bound_ms_count) ||
	    !parse_over(q, a, "over", s->bounds, &s->bound_count))
		return false;
	if (s->bound_ms_count > 0)
		return true;
	s->bounds_ms[s->bound_ms_count++] = 16.7;
	s->bounds_ms[s->bound_ms_count++] = 33.3;
	return true;
}

/* --- samples ----------------------------------------------------------------------------- */

static double value_of_frame(const struct history_frame *f, enum metric_kind kind)
{
	int64_t v;

	switch (kind) {
	case METRIC_CPU:
		v = f->row.cpu_ns;
		break;
	case METRIC_GPU:
		v = f->gpu_ns;
		break;
	case METRIC_WAIT:
		v = frame_row_wait_ns(&f->row);
		break;
	default:
		v = f->row.end_ns - f->row.begin_ns;
		break;
	}
	return v == NS_UNKNOWN ? NAN : (double)v;
}

static int take_sample(struct metric *m, const struct frame_row *row, double value)
{
	const struct frame_sample sample = {row->frame, value,
					    (double)(row->end_ns - row->begin_ns)};

	if (!isnan(value))
		return VEC_PUSH(&m->samples, sample);
	m->unknown++;
	return 0;
}

static int sample_frames(struct metric *m, const struct counted *counted)
{
	size_t i;
	int r = 0;

	for (i = 0; i < counted->frames.count && r == 0; i++) {
		const struct history_frame *f =
			&counted->range->frames.frames.at[counted->frames.at[i].index];

		r = take_sample(m, &f->row, value_of_frame(f, m->kind));
	}
	return r;
}

/* The marker of a counter, 0: there is none. */
static uint32_t find_counter(const struct range *range, struct metric *m)
{
	size_t i;

	for (i = 1; i < range->markers.count; i++) {
		const struct marker_row *row = &range->markers.at[i];

		if (!row->name || row->kind != FPROF_MARKER_COUNTER ||
		    strcmp(row->name, m->name) != 0)
			continue;
		m->unit = row->unit;
		return (uint32_t)i;
	}
	return 0;
}

static int sample_counter(struct history *h, struct metric *m, const struct counted *counted)
{
	const struct range *range = counted->range;
	uint32_t marker = find_counter(range, m);
	counter_series_vec series = {0};
	size_t at = 0, i;
	int r = marker ? counter_series_read(h, range->session, range->stream, marker, range->first,
					     range->last, &series)
		       : -ENOENT;

	for (i = 0; i < counted->frames.count && r == 0; i++) {
		const struct frame_row *row =
			&range->frames.frames.at[counted->frames.at[i].index].row;

		while (at < series.count && series.at[at].frame < row->frame)
			at++;
		r = take_sample(m, row,
				at < series.count && series.at[at].frame == row->frame
					? series.at[at].value
					: NAN);
	}
	VEC_FREE(&series);
	return r;
}

static bool is_zone(const struct metric *m)
{
	return m->kind == METRIC_ZONE || m->kind == METRIC_GPU_ZONE;
}

/* Of all metrics that are about zones, at once. -ENOENT: *ret_unknown is not known. */
static int sample_zones(struct api_range *r, struct stats_request *s, struct counted *events,
			size_t unknown, const struct metric **ret_unknown)
{
	struct frame_stats_zone zones[METRICS_MAX] = {{0}};
	struct metric *of[METRICS_MAX];
	size_t count = 0, i;
	int rc = 0;

	for (i = 0; i < s->metric_count; i++) {
		struct metric *m = &s->metrics[i];

		if (!is_zone(m))
			continue;
		zones[count].name = m->name;
		zones[count].gpu = m->kind == METRIC_GPU_ZONE;
		of[count++] = m;
	}
	if (count > 0)
		rc = frame_stats_zones(r->reader.history, events, r->skip, zones, count);
	for (i = 0; i < count; i++) {
		of[i]->samples = zones[i].samples;
		of[i]->frames_with = zones[i].frames;
		of[i]->unknown = unknown;
		if (rc == 0 && !zones[i].found) {
			*ret_unknown = of[i];
			rc = -ENOENT;
		}
	}
	return rc;
}

static bool reads_events(const struct metric *m)
{
	return is_zone(m) || is_path(m) || m->kind == METRIC_ALLOCATIONS;
}

static int sample_allocations(struct api_range *r, struct metric *m, struct counted *events,
			      size_t frames)
{
	int rc = frame_stats_allocations(r->reader.history, events, r->skip, &m->samples);

	m->unknown = frames - m->samples.count;
	return rc;
}

static int sample_path(struct api_range *r, const struct stats_request *s, struct metric *m,
		       const struct counted *events, size_t frames)
{
	const struct frame_stats_path path = {s->path, s->path_count, m->kind == METRIC_GPU_PATH};

	m->unknown = frames - events->frames.count;
	return frame_stats_path(r->reader.history, events, r->skip, s->flags, &path, &m->samples,
				&m->frames_with);
}

static int sample(struct api_range *r, struct stats_request *s, struct counted *rows,
		  struct counted *events, const struct metric **ret_unknown)
{
	size_t i;
	int rc = sample_zones(r, s, events, rows->frames.count - events->frames.count, ret_unknown);

	for (i = 0; rc == 0 && i < s->metric_count; i++) {
		struct metric *m = &s->metrics[i];

		if (m->kind == METRIC_COUNTER) {
			*ret_unknown = m;
			rc = sample_counter(r->reader.history, m, rows);
		} else if (m->kind == METRIC_ALLOCATIONS) {
			rc = sample_allocations(r, m, events, rows->frames.count);
		} else if (is_path(m)) {
			*ret_unknown = m;
			rc = sample_path(r, s, m, events, rows->frames.count);
		} else if (!is_zone(m)) {
			rc = sample_frames(m, rows);
		}
	}
	return rc;
}

/* --- JSON -------------------------------------------------------------------------------- */

static bool is_time(const struct metric *m)
{
	return m->kind != METRIC_COUNTER && m->kind != METRIC_ALLOCATIONS;
}

/* A member whose name says its unit. */
static void json_value(struct json *j, const struct metric *m, const char *key, double v)
{
	char name[32];

	snprintf(name, sizeof(name), "%s%s", key, is_time(m) ? "_ns" : "");
	json_member_double(j, name, v);
}

static void percentile_name(char *buf, size_t size, const struct metric *m, size_t i)
{
	snprintf(buf, size, "p%g%s", frame_stats_percents[i], is_time(m) ? "_ns" : "");
}

static void json_percentiles(struct json *j, const struct metric *m, const struct frame_stats *s)
{
	char name[32];
	size_t i;

	for (i = 0; i < FRAME_STATS_PERCENTILES; i++) {
		percentile_name(name, sizeof(name), m, i);
		json_member_double(j, name, s->percentiles[i]);
	}
}

static void json_reasons(struct json *j, const struct metric *m, const struct frame_stats *s)
{
	char name[32];
	size_t i;

	json_key(j, "reasons");
	json_object_begin(j);
	if (s->count < 1)
		api_json_needs(j, "mean", 1, s->count, "frames");
	if (s->count < 2)
		api_json_needs(j, "sd", 2, s->count, "frames");
	for (i = 0; i < FRAME_STATS_PERCENTILES; i++) {
		size_t needs = statistics_percentile_needs(frame_stats_percents[i]);

		percentile_name(name, sizeof(name), m, i);
		if (s->count < needs)
			api_json_needs(j, name, needs, s->count, "frames");
	}
	if (s->steps < 1)
		api_json_needs(j, "jitter", 2, s->count, "frames in a row");
	if (is_time(m) && s->count < FRAME_STATS_LOW_NEEDS)
		api_json_needs(j, "one_percent_low", FRAME_STATS_LOW_NEEDS, s->count, "frames");
	json_object_end(j);
}

static void json_jitter(struct json *j, const struct metric *m, const struct frame_stats *s)
{
	json_key(j, "jitter");
	json_object_begin(j);
	json_value(j, m, "mean", s->jitter);
	json_value(j, m, "max", s->jitter_max);
	json_member_uint(j, "steps", s->steps);
	json_member_string(j, "definition",
			   "the absolute change from a frame to the next one, where both count");
	json_object_end(j);
}

static void json_low(struct json *j, const struct frame_stats *s)
{
	json_key(j, "one_percent_low");
	json_object_begin(j);
	json_member_double(j, "mean_ns", s->low);
	json_member_double(j, "per_second", s->low > 0 ? 1e9 / s->low : NAN);
	json_member_uint(j, "frames", s->low_frames);
	json_member_string(j, "definition",
			   "the mean of the worst 1% of the frames, their number rounded up; "
			   "per_second is one second by it");
	json_object_end(j);
}

static void json_run(struct json *j, const struct frame_stats_over *over)
{
	json_key(j, "longest_run");
	if (over->run_frames == 0) {
		json_null(j);
		return;
	}
	json_object_begin(j);
	json_member_uint(j, "frames", over->run_frames);
	json_member_uint(j, "from", over->run_from);
	json_member_uint(j, "to", over->run_to);
	json_member_int(j, "time_ns", (int64_t)over->run_time_ns);
	json_object_end(j);
}

static void json_over(struct json *j, const struct metric *m, const struct stats_request *s)
{
	const double *bounds = is_time(m) ? s->bounds_ms : s->bounds;
	size_t count = is_time(m) ? s->bound_ms_count : s->bound_count, i;
	struct frame_stats_over over;

	json_key(j, "over");
	json_array_begin(j);
	for (i = 0; i < count; i++) {
		frame_stats_over(&m->samples, bounds[i] * (is_time(m) ? (double)NS_PER_MS : 1),
				 &over);
		json_object_begin(j);
		json_member_double(j, is_time(m) ? "ms" : "value", bounds[i]);
		json_member_uint(j, "frames", over.frames);
		json_member_int(j, "time_ns", (int64_t)over.time_ns);
		json_member_double(j, "time_share", over.share);
		json_member_double(j, "frame_share",
				   m->samples.count ? (double)over.frames / (double)m->samples.count
						    : NAN);
		json_run(j, &over);
		json_object_end(j);
	}
	json_array_end(j);
}

/* A pair for each frame that has a value: its number and the value. */
static void json_values(struct json *j, const struct metric *m)
{
	size_t i;

	json_key(j, "values");
	json_array_begin(j);
	for (i = 0; i < m->samples.count; i++) {
		json_array_begin(j);
		json_uint(j, m->samples.at[i].frame);
		json_double(j, m->samples.at[i].value);
		json_array_end(j);
	}
	json_array_end(j);
}

static void json_metric(struct json *j, const struct metric *m, const struct stats_request *q,
			const struct frame_stats *s)
{
	json_object_begin(j);
	json_member_string(j, "metric", m->text);
	json_member_string(j, "unit", is_time(m) ? "ns" : api_unit_name(m->unit));
	json_member_uint(j, "frames", s->count);
	json_member_uint(j, "unknown", m->unknown);
	if (is_zone(m) || is_path(m))
		json_member_uint(j, "frames_with", m->frames_with);
	json_member_int(j, "wall_ns", (int64_t)s->wall_ns);
	json_value(j, m, "mean", s->mean);
	json_value(j, m, "sd", s->sd);
	json_value(j, m, "min", s->least);
	json_percentiles(j, m, s);
	json_value(j, m, "worst", s->worst);
	json_key(j, "worst_frame");
	if (s->count)
		json_uint(j, s->worst_frame);
	else
		json_null(j);
	json_jitter(j, m, s);
	if (is_time(m))
		json_low(j, s);
	json_over(j, m, q);
	if (q->values)
		json_values(j, m);
	json_reasons(j, m, s);
	json_object_end(j);
}

/* --- the request ------------------------------------------------------------------------- */

/* And which of those that there are come nearest. */
static void fail_name(struct api_answer *a, const struct range *range, const struct metric *m)
{
	static const struct api_problem no_path = {404, "not-found", "There is no such thing",
						   "path", NULL};
	const char *kind = m->kind == METRIC_COUNTER ? "counter" : "zone";
	struct near near = {0};
	struct api_problem problem = {404, "not-found", "There is no such thing", "metric",
				      near.names};
	size_t i;

	if (is_path(m)) {
		api_fail(a, &no_path, "The session has no zone of one of the path's names");
		return;
	}
	for (i = 1; i < range->markers.count; i++) {
		const struct marker_row *row = &range->markers.at[i];
		bool counter = row->kind == FPROF_MARKER_COUNTER;

		if (row->name && counter == (m->kind == METRIC_COUNTER))
			near_offer(&near, m->name, row->name);
	}
	if (near.count > 0)
		api_fail(a, &problem, "The session has no %s called %.64s; allowed has the nearest",
			 kind, m->name);
	else
		api_fail(a, &problem, "The session has no %s at all", kind);
}

static bool sample_all(struct api_range *r, struct stats_request *s, struct counted *rows,
		       struct counted *events, struct api_answer *a)
{
	const struct metric *unknown = NULL;
	size_t i;
	int rc;

	for (i = 0; i < s->metric_count; i++) {
		if (!r->aggregate || !reads_events(&s->metrics[i]))
			continue;
		api_fail_aggregate(a);
		return false;
	}
	rc = sample(r, s, rows, events, &unknown);
	if (rc == -ENOENT && unknown)
		fail_name(a, &r->range, unknown);
	else if (rc < 0)
		api_fail_range(a, rc);
	return rc == 0;
}

static int json_stats(struct json *j, const struct api_range *r, const struct stats_request *s,
		      const struct counted *rows, const struct run_frames *lost)
{
	size_t i;
	int rc = 0;

	json_object_begin(j);
	api_json_range_members(j, &r->range, r->query.stream, rows);
	api_json_lost(j, lost);
	json_key(j, "metrics");
	json_array_begin(j);
	for (i = 0; i < s->metric_count && rc == 0; i++) {
		struct frame_stats stats;

		rc = frame_stats_make(&s->metrics[i].samples, &stats);
		if (rc == 0)
			json_metric(j, &s->metrics[i], s, &stats);
	}
	json_array_end(j);
	json_object_end(j);
	return rc;
}

void api_stats(const struct api *api, const struct api_request *q, struct api_answer *a)
{
	_cleanup_range_ struct api_range r = {0};
	__attribute__((cleanup(request_deinit))) struct stats_request s = {0};
	__attribute__((cleanup(counted_deinit))) struct counted rows = {0}, events = {0};
	struct run_frames lost = {0};
	int rc;

	if (!parse_request(q, a, &s) || !api_range_open(api, q, a, &r))
		return;
	a->keeps = r.session.update.state != SESSION_LIVE;
	rc = counted_init(&rows, &r.range, s.flags);
	if (rc == 0)
		rc = counted_init(&events, &r.range, s.flags | COUNTED_EVENTS);
	if (rc < 0) {
		api_fail_range(a, rc);
		return;
	}
	if (!sample_all(&r, &s, &rows, &events, a))
		return;
	lost.evicted = events.evicted;
	api_count_lost(q, &r, &rows, &lost);
	rc = json_stats(&a->body, &r, &s, &rows, &lost);
	if (rc < 0)
		api_fail_range(a, rc);
}
