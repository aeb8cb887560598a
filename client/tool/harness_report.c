// SPDX-License-Identifier: MIT
/*
 * The report of a measured run, JSON: docs/guide/run-report.md describes it, and its version is
 * raised when what is there changes its meaning. Numbers that were not measured are null, with the
 * reason where there is more than one.
 */
#include "answer.h"
#include "harness.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define REPORT_FORMAT  "fprof-run"
#define REPORT_VERSION 1
#define ROWS_AT_ONCE   10000

static json_t *number_or_null(int64_t n)
{
	return n == HARNESS_UNKNOWN ? json_null() : json_integer(n);
}

/* ---- Frames ---- */

static const struct column {
	const char *name;
	size_t offset;
} columns[] = {
	{"frame", offsetof(struct harness_frame, number)},
	{"wall_ns", offsetof(struct harness_frame, wall_ns)},
	{"cpu_ns", offsetof(struct harness_frame, cpu_ns)},
	{"gpu_ns", offsetof(struct harness_frame, gpu_ns)},
	{"lost_events", offsetof(struct harness_frame, lost_events)},
};

static int64_t cell(const struct harness_frame *frame, const struct column *column)
{
	return *(const int64_t *)(const void *)((const char *)frame + column->offset);
}

static int by_size(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* The smallest of sorted that at least p percent of all are not above; null where so few samples
 * do not reach it. */
static json_t *percentile(const int64_t *sorted, size_t count, double p)
{
	size_t rank = (size_t)ceil(p / 100 * (double)count);

	if (count == 0 || (double)count < ceil(100 / (100 - p)))
		return json_null();
	return json_integer(sorted[rank > 0 ? rank - 1 : 0]);
}

static json_t *statistics_of(const struct harness_frames *f, const struct column *column)
{
	_cleanup_free_ int64_t *sorted = calloc((size_t)f->count + 1, sizeof(*sorted));
	size_t count = 0;
	double sum = 0;
	long i;

	if (!sorted)
		return NULL;
	for (i = 0; i < f->count; i++) {
		int64_t n = cell(&f->at[i], column);

		if (n == HARNESS_UNKNOWN)
			continue;
		sorted[count++] = n;
		sum += (double)n;
	}
	if (count == 0)
		return json_null();
	qsort(sorted, count, sizeof(*sorted), by_size);
	return json_pack("{s:I, s:f, s:I, s:o, s:o, s:o, s:o, s:I}", "samples", (json_int_t)count,
			 "mean", sum / (double)count, "min", (json_int_t)sorted[0], "p50",
			 percentile(sorted, count, 50), "p90", percentile(sorted, count, 90), "p95",
			 percentile(sorted, count, 95), "p99", percentile(sorted, count, 99), "max",
			 (json_int_t)sorted[count - 1]);
}

static json_t *frames_json(const struct harness_frames *f)
{
	json_t *json = json_object(), *statistics = json_object();
	size_t i;
	long k;

	json_object_set_new(json, "count", json_integer(f->count));
	for (i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		json_t *column = json_array();

		for (k = 0; k < f->count; k++)
			json_array_append_new(column, number_or_null(cell(&f->at[k], &columns[i])));
		json_object_set_new(json, columns[i].name, column);
	}
	for (i = 1; i < 4; i++) /* the times */
		json_object_set_new(statistics, columns[i].name, statistics_of(f, &columns[i]));
	json_object_set_new(json, "statistics", statistics);
	return json;
}

/* ---- Zones ---- */

static json_t *no_zones(const char *reason)
{
	return json_pack("{s:b, s:n, s:n, s:s, s:[]}", "complete", false, "range", "lost_events",
			 "reason", reason, "table");
}

/* Pages of one table of zones, joined; NULL with *ret_reason. */
static json_t *read_table(struct api *api, const struct harness_report *report, const char *per,
			  const char **ret_reason)
{
	const struct harness_frames *f = report->frames;
	json_t *table = NULL, *rows;
	char path[256];
	size_t had = 0;
	int r;

	for (;;) {
		_cleanup_json_ json_t *page = NULL;

		snprintf(path, sizeof(path),
			 "/api/v1/sessions/%" PRId64 "/zones?view=tree&per=%s&from=%" PRId64
			 "&to=%" PRId64 "&limit=%d&offset=%zu",
			 report->session, per, f->at[0].number, f->at[f->count - 1].number,
			 ROWS_AT_ONCE, had);
		r = api_get_quiet(api, path, &page);
		if (r != TOOL_OK) {
			*ret_reason = r == TOOL_FAILED ? "the daemon refused to tell of zones"
						       : "the daemon does not answer";
			json_decref(table);
			return NULL;
		}
		rows = json_object_get(page, "zones");
		if (!table)
			table = json_incref(page);
		else
			json_array_extend(json_object_get(table, "zones"), rows);
		had += json_array_size(rows);
		if (json_array_size(rows) == 0 || (json_int_t)had >= answer_integer(page, "count"))
			return table;
	}
}

static void copy(json_t *to, const char *as, const json_t *from, const char *key)
{
	json_t *value = json_object_get(from, key);

	json_object_set_new(to, as, value ? json_incref(value) : json_null());
}

/* Both tables have the same rows in the same order: they are of the same range, by the same total.
 */
static json_t *zone_json(const json_t *call, const json_t *frame)
{
	static const char *const same[] = {"thread",   "thread_name", "gpu",	"path",
					   "name",     "category",    "calls",	"frames",
					   "total_ns", "self_ns",     "p50_ns", "p99_ns"};
	bool matches =
		json_equal(json_object_get(call, "path"), json_object_get(frame, "path")) &&
		json_equal(json_object_get(call, "thread"), json_object_get(frame, "thread"));
	json_t *json = json_object();
	size_t i;

	for (i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		copy(json, same[i], call, same[i]);
	copy(json, "frame_p50_ns", matches ? frame : NULL, "p50_ns");
	copy(json, "frame_p99_ns", matches ? frame : NULL, "p99_ns");
	return json;
}

/* Frames of the table's range that are not in it. */
static int64_t evicted_of(const json_t *table)
{
	return answer_integer(json_object_get(json_object_get(table, "range"), "left_out"),
			      "evicted");
}

static json_t *zones_json(struct api *api, const struct harness_report *report)
{
	_cleanup_json_ json_t *calls = NULL, *frames = NULL;
	const char *reason = NULL;
	json_t *json, *table, *row;
	int64_t evicted;
	size_t i;

	if (!report->session || report->frames->count == 0)
		return no_zones("no frame was measured");
	calls = read_table(api, report, "call", &reason);
	frames = calls ? read_table(api, report, "frame", &reason) : NULL;
	if (!frames)
		return no_zones(reason);
	json = json_object();
	evicted = evicted_of(calls);
	json_object_set_new(json, "complete", json_boolean(evicted == 0));
	copy(json, "range", calls, "range");
	copy(json, "lost_events", calls, "lost_events");
	json_object_set_new(json, "reason",
			    evicted ? json_sprintf("the events of %" PRId64
						   " frames had left the history (history_frames, "
						   "history_mib)",
						   evicted)
				    : json_null());
	table = json_array();
	json_array_foreach(json_object_get(calls, "zones"), i, row)
	{
		json_array_append_new(
			table, zone_json(row, json_array_get(json_object_get(frames, "zones"), i)));
	}
	json_object_set_new(json, "table", table);
	return json;
}

/* ---- The rest ---- */

static json_t *end_json(const struct harness_end *end)
{
	return json_pack("{s:s, s:o, s:o, s:b}", "by", end->by_us ? "fprof" : "itself", "status",
			 end->exited ? json_integer(end->status) : json_null(), "signal",
			 end->exited ? json_null() : json_integer(end->status), "killed",
			 end->killed);
}

/* Why not all frames are there, NULL: they are. */
static json_t *reason_json(const struct harness_report *report)
{
	const struct harness_end *end = report->end;

	if (report->frames->count == report->order->frames)
		return json_null();
	if (end->interrupted)
		return json_string("fprof was told to stop");
	if (report->unanswered)
		return json_string("the daemon stopped answering");
	if (!report->session)
		return json_string("the daemon saw nothing of the game");
	if (!end->by_us && !end->exited)
		return json_sprintf("the game was killed by signal %d (%s)", end->status,
				    strsignal(end->status));
	if (report->frames->next <= 1)
		return json_string("the game ended and had marked no frame");
	return json_sprintf("the game ended with status %d before that", end->status);
}

static json_t *left_out_json(const struct harness_frames *f)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "startup", (json_int_t)f->startup,
			 "loading", (json_int_t)f->loading, "paused", (json_int_t)f->paused,
			 "skipped", (json_int_t)f->skipped, "after", (json_int_t)f->after,
			 "missing", (json_int_t)f->missing);
}

static json_t *bounds_json(struct api *api)
{
	_cleanup_json_ json_t *status = NULL;
	json_t *json = json_object(), *config;

	(void)api_get_quiet(api, "/api/v1/status", &status);
	config = json_object_get(status, "config");
	copy(json, "history_frames", config, "history_frames");
	copy(json, "history_mib", config, "history_mib");
	copy(json, "history_session_mib", config, "history_session_mib");
	copy(json, "ring_kib", config, "ring_kib");
	return json;
}

static json_t *command_json(char *const *command)
{
	json_t *json = json_array();

	for (; *command; command++)
		if (json_array_append_new(json, json_string(*command)) < 0)
			json_array_append_new(json, json_null()); /* no UTF-8 */
	return json;
}

static json_t *session_json(struct api *api, const struct harness_report *report)
{
	json_t *session = NULL;
	char path[96];

	snprintf(path, sizeof(path), "/api/v1/sessions/%" PRId64, report->session);
	if (!report->session || api_get_quiet(api, path, &session) != TOOL_OK)
		return json_null();
	return session;
}

static json_t *utc_json(const struct timespec *t)
{
	char text[40];
	struct tm tm;

	gmtime_r(&t->tv_sec, &tm);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	return json_string(text);
}

/* A line a member. */
static int write_members(json_t *json, FILE *to)
{
	const char *key, *before = "{\n";
	json_t *value;

	json_object_foreach(json, key, value)
	{
		fprintf(to, "%s\"%s\": ", before, key);
		if (json_dumpf(value, to, JSON_ENCODE_ANY) < 0)
			return TOOL_FAILED;
		before = ",\n";
	}
	return fputs("\n}\n", to) == EOF ? TOOL_FAILED : TOOL_OK;
}

int harness_report_write(struct api *api, const struct harness_report *report, FILE *to,
			 bool *ret_complete, int64_t *ret_evicted)
{
	_cleanup_json_ json_t *json = json_object();
	const struct harness_order *order = report->order;
	json_t *session = session_json(api, report), *zones = zones_json(api, report);

	*ret_evicted = evicted_of(zones);
	*ret_complete = report->frames->count == order->frames;
	json_object_set_new(json, "format", json_string(REPORT_FORMAT));
	json_object_set_new(json, "version", json_integer(REPORT_VERSION));
	json_object_set_new(json, "fprof_version", json_string(FPROF_VERSION));
	json_object_set_new(json, "complete", json_boolean(*ret_complete));
	json_object_set_new(json, "reason", reason_json(report));
	json_object_set_new(json, "command", command_json(order->command));
	json_object_set_new(json, "started_utc", utc_json(&report->started));
	json_object_set_new(json, "asked",
			    json_pack("{s:I, s:I}", "frames", (json_int_t)order->frames, "skip",
				      (json_int_t)order->skip));
	json_object_set_new(json, "end", end_json(report->end));
	json_object_set_new(json, "frames", frames_json(report->frames));
	json_object_set_new(json, "left_out", left_out_json(report->frames));
	json_object_set_new(json, "zones", zones);
	copy(json, "lost_events", session, "lost_events");
	copy(json, "losses", session, "losses");
	json_object_set_new(json, "bounds", bounds_json(api));
	json_object_set_new(json, "session", session);
	return write_members(json, to);
}
