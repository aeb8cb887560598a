/* SPDX-License-Identifier: MIT */
/*
 * One rule a line: what a row must not be. Readers compute with what passes: points in time and
 * lengths far below where sums overflow, texts that are texts, trees whose parents come first.
 * Numbers that only name something (a kind, a flag) may be any that fit: readers show what they
 * know.
 */
#include "capture_rows.h"

#include "batch.h"
#include "capture_check.h"
#include "json.h"
#include "sql.h"
#include "util.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Any two of them have a difference: 73 years of ns. */
#define POINT(x)   x " NOT BETWEEN -2305843009213693952 AND 2305843009213693952"
#define NUMBER(x)  x " NOT BETWEEN 0 AND 9223372036854775807"
#define SMALL(x)   x " NOT BETWEEN 0 AND 4294967295"
#define INT32(x)   x " NOT BETWEEN -2147483648 AND 2147483647"
#define FRAME(x)   x " NOT BETWEEN 1 AND 9007199254740991"
#define LENGTH(x)  "(" x " IS NOT NULL AND " POINT(x) ")"
#define TEXT(x, n) "(NOT is_text(" x ") OR length(" x ") > " #n ")"
#define OTHER(x)   x " <> (SELECT id FROM sessions)"

_Static_assert(MARKER_ID_MAX == 1048576, "the rule of markers has the number");

static const struct rule {
	const char *table, *bad, *what;
} rules[] = {
	{"sessions",
	 "id < 1 OR " SMALL("uid") " OR " SMALL("clock_kind") " OR " SMALL(
		 "abi_major") " OR " INT32("pid") " OR " INT32("ns_pid"),
	 "its numbers"},
	{"sessions",
	 "clock_shift NOT BETWEEN 0 AND 63 OR clock_mult < 1 OR NOT (clock_hz > 0 AND "
	 "clock_hz < 1e12)",
	 "its clock"},
	{"sessions",
	 TEXT("boot_id",
	      256) " OR " TEXT("name", 4096) " OR " TEXT("exe", 8192) " OR " TEXT("build_id", 256),
	 "its names"},
	{"sessions",
	 TEXT("facts", 1048576) " OR (facts IS NOT NULL AND (NOT json_valid(facts) OR "
				"json_type(facts) <> 'object'))",
	 "its facts"},
	{"session_totals", OTHER("session") " OR state NOT BETWEEN 0 AND 2", "its state"},
	{"session_totals",
	 LENGTH("end_ns") " OR " LENGTH("evicted_before_ticks") " OR " NUMBER(
		 "frames_total") " OR " NUMBER("received") " OR " SMALL("threads_seen"),
	 "its numbers"},
	{"session_totals", TEXT("end_reason", 65536) " OR " TEXT("fault", 65536), "its reasons"},
	{"memories", OTHER("session") " OR " SMALL("lane"), "its numbers"},
	{"markers",
	 OTHER("session") " OR marker NOT BETWEEN 0 AND 1048576 OR " SMALL("kind") " OR " SMALL(
		 "line") " OR " SMALL("colour"),
	 "its numbers"},
	{"markers", TEXT("name", 65536) " OR " TEXT("category", 65536) " OR " TEXT("file", 65536),
	 "its texts"},
	{"tracks",
	 OTHER("session") " OR " SMALL("track") " OR kind NOT BETWEEN 0 AND 2 OR " INT32("tid"),
	 "its numbers"},
	{"tracks",
	 "ns_per_tick NOT BETWEEN 0 AND 1.7976931348623157e308 OR valid_bits NOT BETWEEN 0 "
	 "AND 64",
	 "its clock"},
	{"tracks", TEXT("name", 65536), "its name"},
	{"tracks", POINT("begin_ticks") " OR " LENGTH("end_ticks"), "its time"},
	{"streams", OTHER("session") " OR " SMALL("stream") " OR " NUMBER("events_from"),
	 "its numbers"},
	{"streams", TEXT("name", 65536), "its name"},
	{"infos", OTHER("session") " OR " TEXT("key", 65536) " OR " TEXT("value", 1048576),
	 "its texts"},
	{"chunks",
	 OTHER("session") " OR " SMALL("track") " OR " SMALL("lane") " OR " SMALL(
		 "events") " OR depth_in NOT BETWEEN 0 AND 512 "
			   "OR " SMALL("late") " OR "
					       "length(data) > "
					       "17825792",
	 "its numbers"},
	{"chunks", POINT("t0") " OR " POINT("t1") " OR t1 < t0", "its time"},
	{"zone_totals",
	 OTHER("session") " OR node NOT BETWEEN 1 AND (SELECT count(*) FROM zone_totals) "
			  "OR "
			  "ifnull(parent, 1) NOT BETWEEN 1 AND node OR parent = node "
			  "OR " SMALL("marker") " OR kind NOT BETWEEN 0 AND 2",
	 "its place in the tree"},
	{"zone_totals",
	 NUMBER("calls") " OR " NUMBER("total_ns") " OR " NUMBER("max_ns") " OR " POINT(
		 "max_begin_ns") " OR (max_frame IS NOT NULL AND " FRAME("max_frame") ")",
	 "its numbers"},
	{"zone_totals", TEXT("name", 65536), "its name"},
	{"gaps", OTHER("session") " OR " SMALL("track") " OR " NUMBER("events"), "its numbers"},
	{"gaps", POINT("t0") " OR " POINT("t1"), "its time"},
	{"frames",
	 OTHER("session") " OR " FRAME("frame") " OR " SMALL("stream") " OR " NUMBER(
		 "events") " OR " NUMBER("lost_events") " OR " SMALL("flags") " OR " SMALL("track"),
	 "its numbers"},
	{"frames",
	 POINT("t0") " OR " POINT("t1") " OR t1 < t0 OR " POINT("begin_ns") " OR " POINT(
		 "end_ns") " OR end_ns < begin_ns",
	 "its time"},
	{"frames",
	 LENGTH("cpu_ns") " OR " LENGTH("wait_gpu_ns") " OR " LENGTH(
		 "wait_present_ns") " OR " LENGTH("wait_cap_ns"),
	 "its lengths"},
	{"frame_counters",
	 OTHER("session") " OR " FRAME("frame") " OR " SMALL(
		 "marker") " OR typeof(value) NOT IN ('integer', 'real')",
	 "its value"},
	{"gpu_spans", OTHER("session") " OR " SMALL("track") " OR " SMALL("marker"), "its numbers"},
	{"gpu_spans", POINT("begin_ns") " OR " POINT("end_ns") " OR end_ns < begin_ns", "its time"},
	{"frame_gpus", OTHER("session") " OR " LENGTH("span_ns") " OR " LENGTH("busy_ns"),
	 "its lengths"},
	{"sched_chunks",
	 OTHER("session") " OR " INT32("tid") " OR " SMALL("records") " OR " POINT(
		 "t0") " OR " POINT("t1") " OR t1 < t0 OR length(data) > 17825792",
	 "its numbers"},
	{"stack_chunks",
	 OTHER("session") " OR " SMALL("samples") " OR " POINT("t0") " OR " POINT(
		 "t1") " OR t1 < t0 OR length(data) > 17825792",
	 "its numbers"},
	{"stack_modules",
	 OTHER("session") " OR " TEXT("path", 4096) " OR " TEXT("build_id", 64) " OR " TEXT(
		 "symbols", 64) " OR " TEXT("reason", 1024),
	 "its texts"},
	{"stack_symbols", OTHER("session") " OR " NUMBER("lo") " OR hi <= lo", "its numbers"},
	{"stack_symbols", TEXT("name", 1024), "its name"},
	{"sampled",
	 OTHER("session") " OR " SMALL("counter") " OR " SMALL("unit") " OR " TEXT(
		 "name", 1024) " OR " TEXT("module", 1024) " OR " TEXT("source", 1024),
	 "its texts or numbers"},
	{"thread_ran",
	 OTHER("session") " OR " INT32("tid") " OR " POINT("ns") " OR ran_ns < 0 OR " POINT(
		 "ran_ns"),
	 "its numbers"},
	{"frames_around",
	 OTHER("session") " OR " SMALL("stream") " OR " FRAME("frame") " OR " SMALL("track"),
	 "its numbers"},
	{"frames_around",
	 POINT("begin_ns") " OR " POINT("end_ns") " OR end_ns < begin_ns OR cpu_ns < 0 OR " LENGTH(
		 "cpu_ns"),
	 "its time"},
	{"samples", OTHER("session") " OR " SMALL("counter") " OR " POINT("ns"), "its numbers"},
	{"aggregate_groups",
	 OTHER("session") " OR " SMALL("group_id") " OR " NUMBER("frame") " OR " TEXT("name", 1023),
	 "its name or numbers"},
	{"aggregate_nodes",
	 OTHER("session") " OR " NUMBER("seq") " OR " SMALL("node") " OR " NUMBER(
		 "frame") " OR " TEXT("name", 1023) " OR ifnull(parent, -1) NOT BETWEEN -1 "
						    "AND node - 1 "
						    "OR (parent IS NULL) <> (node = 0)",
	 "its place in the tree"},
	{"aggregate_frames",
	 OTHER("session") " OR " FRAME("first_frame") " OR last_frame < first_frame "
						      "OR length(data) > 17825792",
	 "its numbers"},
};

/* is_text(x): NULL, or UTF-8 without a NUL. */
static void is_text(sqlite3_context *context, int count, sqlite3_value **values)
{
	const unsigned char *text;
	size_t bytes, n, at;

	(void)count;
	if (sqlite3_value_type(values[0]) == SQLITE_NULL) {
		sqlite3_result_int(context, 1);
		return;
	}
	text = sqlite3_value_text(values[0]);
	bytes = (size_t)sqlite3_value_bytes(values[0]);
	for (at = 0; text && at < bytes; at += n) {
		n = text[at] ? json_utf8_bytes(text + at, bytes - at) : 0;
		if (n == 0)
			break;
	}
	sqlite3_result_int(context, text && at == bytes);
}

static int check_rule(sqlite3 *db, const struct rule *rule, char *why)
{
	int64_t bad = 0;
	char *sql = sqlite3_mprintf("SELECT EXISTS (SELECT 1 FROM main.%s WHERE %s)", rule->table,
				    rule->bad);
	int r = sql ? sql_int(db, sql, &bad) : -ENOMEM;

	sqlite3_free(sql);
	if (r < 0 || !bad)
		return MIN(r, 0);
	snprintf(why, CAPTURE_WHY, "a row of table %s means nothing: %s", rule->table, rule->what);
	return -EBADMSG;
}

int capture_rows_check(sqlite3 *db, char *why)
{
	size_t i;
	int r = sql_errno(sqlite3_create_function(
		db, "is_text", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL, is_text, NULL, NULL));

	for (i = 0; i < ARRAY_SIZE(rules) && r == 0; i++)
		r = check_rule(db, &rules[i], why);
	return r;
}
