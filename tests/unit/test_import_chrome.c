/* SPDX-License-Identifier: MIT */
/*
 * Chrome trace JSON: every case of tests/cases/chrome, and what a file may be besides. What was
 * stored is read from the capture's rows themselves, so that no reader of ours hides a fault.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/capture_file.h"
#include "daemon/chunk.h"
#include "daemon/import_chrome.h"
#include "daemon/sql.h"
#include "daemon/trace_json.h"
#include "daemon/util.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <jansson.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>

#define CASES "tests/cases/chrome"

/* ---- What was stored ------------------------------------------------------------------------- */

struct zone {
	char process[64], thread[64], name[96];
	int64_t begin, end;
	unsigned depth;
	uint32_t flags;
	uint32_t track;
};
typedef VEC(struct zone) zone_vec;

struct stored {
	char dir[64];
	struct import_result result;
	sqlite3 *db;
	zone_vec zones;
	int64_t base;
};

static void *must(void *p)
{
	assert_non_null(p);
	return p;
}

static int remove_entry(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static void stored_deinit(struct stored *s)
{
	sqlite3_close(s->db);
	VEC_FREE(&s->zones);
	capture_deinit(&s->result.capture);
	nftw(s->dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static int64_t ask(struct stored *s, const char *sql)
{
	int64_t value = INT64_MIN;

	assert_true(sql_int(s->db, sql, &value) >= 0);
	return value;
}

/* The one text that sql answers; "" when there is none. */
static void ask_text(struct stored *s, char *text, size_t size, const char *format, ...)
{
	sqlite3_stmt *stmt;
	va_list arguments;
	char *sql;

	va_start(arguments, format);
	sql = must(sqlite3_vmprintf(format, arguments));
	va_end(arguments);
	text[0] = '\0';
	assert_int_equal(sqlite3_prepare_v2(s->db, sql, -1, &stmt, NULL), SQLITE_OK);
	if (sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_text(stmt, 0))
		snprintf(text, size, "%s", (const char *)sqlite3_column_text(stmt, 0));
	sqlite3_finalize(stmt);
	sqlite3_free(sql);
}

static void push_zone(struct stored *s, uint32_t track, uint32_t marker, int64_t begin)
{
	struct zone zone = {.begin = begin, .end = INT64_MAX, .track = track};

	ask_text(s, zone.process, sizeof(zone.process),
		 "SELECT value FROM infos WHERE key = 'import.process.%u'", track);
	ask_text(s, zone.thread, sizeof(zone.thread),
		 "SELECT value FROM infos WHERE key = 'import.thread.%u'", track);
	ask_text(s, zone.name, sizeof(zone.name), "SELECT name FROM markers WHERE marker = %u",
		 marker);
	assert_int_equal(VEC_PUSH(&s->zones, zone), 0);
}

struct decode {
	size_t open[CHUNK_DEPTH_MAX];
	uint32_t depth, track;
};

static void decode_event(struct stored *s, struct decode *d, const struct chunk_event *e)
{
	uint64_t i;

	switch (e->code) {
	case CHUNK_BEGIN:
		assert_true(d->depth < CHUNK_DEPTH_MAX);
		d->open[d->depth++] = s->zones.count;
		push_zone(s, d->track, e->marker, e->t);
		break;
	case CHUNK_END:
		assert_true(d->depth > 0);
		s->zones.at[d->open[--d->depth]].end = e->t;
		break;
	case CHUNK_TRUNCATE:
		for (i = 0; i < e->value.u; i++) {
			assert_true(d->depth > 0);
			s->zones.at[d->open[--d->depth]].end = e->t;
			s->zones.at[d->open[d->depth]].flags |= ZONE_TRUNCATED;
		}
		break;
	case CHUNK_VALUE:
		assert_int_equal(e->type, CHUNK_VALUE_FLAGS);
		assert_true(d->depth > 0);
		s->zones.at[d->open[d->depth - 1]].flags |= (uint32_t)e->value.i;
		break;
	default:
		break;
	}
}

static void decode_chunk(struct stored *s, struct decode *d, sqlite3_stmt *stmt)
{
	struct chunk_reader *reader = must(malloc(sizeof(*reader)));
	uint32_t track = (uint32_t)sqlite3_column_int(stmt, 0);
	struct chunk_event e;
	uint8_t *raw;
	size_t bytes;
	int r;

	if (track != d->track)
		d->depth = 0;
	d->track = track;
	assert_int_equal(chunk_unpack(sqlite3_column_blob(stmt, 2),
				      (size_t)sqlite3_column_bytes(stmt, 2), &raw, &bytes),
			 0);
	assert_int_equal(chunk_reader_init(reader, raw, bytes, sqlite3_column_int64(stmt, 1)), 0);
	assert_int_equal(reader->depth_in, d->depth);
	while ((r = chunk_reader_next(reader, &e)) == 1)
		decode_event(s, d, &e);
	assert_int_equal(r, 0);
	free(raw);
	free(reader);
}

/* By process, thread and time; longer first, what overlaps last: the order in which depth shows. */
static int by_place(const void *a, const void *b)
{
	const struct zone *x = a, *y = b;
	int r = strcmp(x->process, y->process);

	if (r == 0)
		r = strcmp(x->thread, y->thread);
	if (r == 0 && x->begin != y->begin)
		r = x->begin < y->begin ? -1 : 1;
	if (r == 0)
		r = (int)(x->flags & ZONE_OVERLAP) - (int)(y->flags & ZONE_OVERLAP);
	if (r == 0 && x->end != y->end)
		r = x->end > y->end ? -1 : 1;
	return r != 0 ? r : (x > y) - (x < y);
}

/* The depth that a zone's start gave it. */
static void set_depths(zone_vec *zones)
{
	const struct zone *open[256];
	size_t i;
	unsigned depth = 0;

	if (zones->count > 0)
		qsort(zones->at, zones->count, sizeof(*zones->at), by_place);
	for (i = 0; i < zones->count; i++) {
		struct zone *z = &zones->at[i];

		if (i > 0 && (strcmp(z->process, z[-1].process) != 0 ||
			      strcmp(z->thread, z[-1].thread) != 0))
			depth = 0;
		while (depth > 0 && open[depth - 1]->end <= z->begin)
			depth--;
		z->depth = depth;
		assert_true(depth < ARRAY_SIZE(open));
		open[depth++] = z;
	}
}

static void decode_all(struct stored *s)
{
	struct decode *d = must(calloc(1, sizeof(*d)));
	sqlite3_stmt *stmt;

	assert_int_equal(sqlite3_prepare_v2(s->db,
					    "SELECT track, t0, data FROM chunks ORDER BY track, id",
					    -1, &stmt, NULL),
			 SQLITE_OK);
	while (sqlite3_step(stmt) == SQLITE_ROW)
		decode_chunk(s, d, stmt);
	sqlite3_finalize(stmt);
	free(d);
	set_depths(&s->zones);
	s->base = ask(s, "SELECT facts ->> '$.import.start_ns' FROM sessions");
}

/* ---- Importing ------------------------------------------------------------------------------- */

static int import_open(struct stored *s, int fd, const char *frames)
{
	struct import_order order = {.fd = fd, .uid = 1, .frames = frames};
	const char *place = getenv("TMPDIR");
	char path[256];
	int r;

	memset(s, 0, sizeof(*s));
	snprintf(s->dir, sizeof(s->dir), "%.32s/fprof-chrome-XXXXXX", place ? place : "/tmp");
	order.directory = must(mkdtemp(s->dir));
	r = import_chrome(&order, &s->result);
	close(fd);
	if (r < 0)
		return r;
	snprintf(path, sizeof(path), "%s/%s", s->dir, s->result.capture.file);
	assert_int_equal(sqlite3_open_v2(path, &s->db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	return 0;
}

static int import_fd(struct stored *s, int fd, const char *frames)
{
	int r = import_open(s, fd, frames);

	if (r == 0)
		decode_all(s);
	return r;
}

/* Without a look at each zone. */
static int import_fd_only(struct stored *s, int fd)
{
	return import_open(s, fd, NULL);
}

static int given_bytes(struct stored *s, const void *data, size_t bytes, const char *frames)
{
	FILE *f = must(tmpfile());
	int fd;

	assert_int_equal(fwrite(data, 1, bytes, f), bytes);
	assert_int_equal(fflush(f), 0);
	fd = dup(fileno(f));
	fclose(f);
	return import_fd(s, fd, frames);
}

static int given(struct stored *s, const char *text, const char *frames)
{
	return given_bytes(s, text, strlen(text), frames);
}

static uint64_t count_of(const struct stored *s, const char *name)
{
	const struct import_count *c = s->result.report.counts;
	size_t i;

	for (i = 0; i < IMPORT_COUNTS_MAX && c[i].name; i++)
		if (!strcmp(c[i].name, name))
			return c[i].count;
	return 0;
}

static size_t counts(const struct stored *s)
{
	size_t n = 0;

	while (n < IMPORT_COUNTS_MAX && s->result.report.counts[n].name)
		n++;
	return n;
}

/* ---- The cases ------------------------------------------------------------------------------- */

static uint32_t flags_of(const json_t *names)
{
	const json_t *name;
	uint32_t flags = 0;
	size_t i;

	json_array_foreach(names, i, name)
	{
		if (!strcmp(json_string_value(name), "truncated"))
			flags |= ZONE_TRUNCATED;
		else if (!strcmp(json_string_value(name), "unclosed"))
			flags |= ZONE_UNCLOSED;
		else if (!strcmp(json_string_value(name), "overlap"))
			flags |= ZONE_OVERLAP;
		else
			fail_msg("the case knows a flag %s", json_string_value(name));
	}
	return flags;
}

static void check_zones(const struct stored *s, const json_t *expected)
{
	const json_t *zone;
	size_t i;

	assert_int_equal(s->zones.count, json_array_size(expected));
	json_array_foreach(expected, i, zone)
	{
		const struct zone *z = &s->zones.at[i];

		assert_string_equal(z->process, json_string_value(json_array_get(zone, 0)));
		assert_string_equal(z->thread, json_string_value(json_array_get(zone, 1)));
		assert_int_equal(z->begin + s->base, json_integer_value(json_array_get(zone, 2)));
		assert_int_equal(z->end - z->begin, json_integer_value(json_array_get(zone, 3)));
		assert_string_equal(z->name, json_string_value(json_array_get(zone, 4)));
		assert_int_equal(z->depth, json_integer_value(json_array_get(zone, 5)));
		assert_int_equal(z->flags, flags_of(json_array_get(zone, 6)));
	}
}

static void check_counts(const struct stored *s, json_t *expected)
{
	const char *name;
	json_t *count;

	assert_int_equal(counts(s), json_object_size(expected));
	json_object_foreach(expected, name, count)
		assert_int_equal(count_of(s, name), json_integer_value(count));
}

static void check_case(const char *name)
{
	char path[512];
	struct stored s;
	json_t *expected, *first;
	int fd;

	snprintf(path, sizeof(path), CASES "/%s.json", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(import_fd(&s, fd, NULL), 0);
	snprintf(path, sizeof(path), CASES "/%s.expected.json", name);
	expected = must(json_load_file(path, 0, NULL));
	check_zones(&s, json_object_get(expected, "zones"));
	check_counts(&s, json_object_get(expected, "counts"));
	first = json_object_get(expected, "first");
	assert_int_equal(s.result.report.any, !json_is_null(first));
	if (s.result.report.any)
		assert_int_equal(s.result.report.first_event, json_integer_value(first));
	json_decref(expected);
	stored_deinit(&s);
}

/* Every file there is; the name of the one that fails is printed first. */
static void all_cases(void **state)
{
	DIR *dir = must(opendir(CASES));
	struct dirent *entry;
	unsigned checked = 0;

	(void)state;
	while ((entry = readdir(dir))) {
		char name[256];
		size_t bytes = strlen(entry->d_name);

		if (bytes < 5 || strcmp(entry->d_name + bytes - 5, ".json") != 0 ||
		    strstr(entry->d_name, ".expected."))
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)bytes - 5, entry->d_name);
		print_message("# %s\n", name);
		check_case(name);
		checked++;
	}
	closedir(dir);
	assert_int_equal(checked, 14);
}

/* ---- By rule --------------------------------------------------------------------------------- */

static const struct zone *zone_of(const struct stored *s, const char *name)
{
	size_t i;

	for (i = 0; i < s->zones.count; i++)
		if (!strcmp(s->zones.at[i].name, name))
			return &s->zones.at[i];
	fail_msg("there is no zone %s", name);
	return NULL;
}

static void check_zone(const struct stored *s, const char *name, int64_t begin, int64_t end,
		       unsigned depth, uint32_t flags)
{
	const struct zone *z = zone_of(s, name);

	assert_int_equal(z->begin + s->base, begin);
	assert_int_equal(z->end + s->base, end);
	assert_int_equal(z->depth, depth);
	assert_int_equal(z->flags, flags);
}

static void times_are_decimals_not_doubles(void **state)
{
	static const struct {
		const char *text;
		int64_t ns;
	} good[] = {
		{"0", 0},
		{"1", 1000},
		{"1.5", 1500},
		{"1.0005", 1000},
		{"1.0015", 1002},
		{"1.00050000000000000000000000000000000000000001", 1001},
		{"0.0004999999999999999999999999999999999999999", 0},
		{"1700000000000000.001", 1700000000000000001},
		{"-3.25", -3250},
		{"1.5e3", 1500000},
		{"15E-1", 1500},
		{"1e-40", 0},
		{"4611686018427387.904", INT64_C(1) << 62},
		{" 7 ", 7000},
		{"+2", 2000},
		{".5", 500},
	};
	static const char *const bad[] = {
		"",	"-",	    ".",   "1a",      "1.2.3",
		"NaN",	"Infinity", "1e",  "0x10",    "4611686018427387.905",
		"1e30", "--1",	    "1 2", "1e99999", "null"};
	int64_t ns;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(good); i++) {
		assert_true(trace_json_us(good[i].text, strlen(good[i].text), &ns));
		assert_int_equal(ns, good[i].ns);
	}
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(trace_json_us(bad[i], strlen(bad[i]), &ns));
}

static void names_keep_what_can_be_kept(void **state)
{
	static const char text[] =
		"[{\"ph\":\"X\",\"ts\":0,\"dur\":1,\"name\":\"a\\n\\\"\\\\\x01\"},"
		"{\"ph\":\"X\",\"ts\":2,\"dur\":1,\"name\":\"b\\ud800x\"},"
		"{\"ph\":\"X\",\"ts\":4,\"dur\":1,\"name\":\"c\xff\"},"
		"{\"ph\":\"X\",\"ts\":6,\"dur\":1,\"name\":\"d\\ud83d\\ude00\"}]";
	struct stored s;

	(void)state;
	assert_int_equal(given(&s, text, NULL), 0);
	assert_int_equal(s.zones.count, 4);
	zone_of(&s, "a\n\"\\\x01");
	zone_of(&s, "b\xef\xbf\xbdx");
	zone_of(&s, "c\xef\xbf\xbd");
	zone_of(&s, "d\xf0\x9f\x98\x80");
	assert_int_equal(count_of(&s, "bad_utf8"), 2);
	assert_int_equal(s.result.report.first_event, 1);
	stored_deinit(&s);
}

/* A pair is no shorter for the complete zones that begin in it. */
static void an_end_closes_pairs_only(void **state)
{
	struct stored s;

	(void)state;
	assert_int_equal(given(&s,
			       "[{\"ph\":\"B\",\"ts\":0,\"name\":\"a\"},"
			       "{\"ph\":\"X\",\"ts\":1,\"dur\":9,\"name\":\"x\"},"
			       "{\"ph\":\"X\",\"ts\":2,\"dur\":2,\"name\":\"y\"},"
			       "{\"ph\":\"E\",\"ts\":5},"
			       "{\"ph\":\"X\",\"ts\":6,\"dur\":1,\"name\":\"z\"}]",
			       NULL),
			 0);
	check_zone(&s, "a", 0, 5000, 0, 0);
	check_zone(&s, "x", 1000, 10000, 1, ZONE_OVERLAP);
	check_zone(&s, "y", 2000, 4000, 2, 0);
	check_zone(&s, "z", 6000, 7000, 2, 0);
	assert_int_equal(counts(&s), 1);
	assert_int_equal(count_of(&s, "overlap"), 1);
	stored_deinit(&s);
}

static void complete_zones_of_one_start_begin_longest_first(void **state)
{
	struct stored s;

	(void)state;
	assert_int_equal(given(&s,
			       "[{\"ph\":\"X\",\"ts\":0,\"dur\":1,\"name\":\"c\"},"
			       "{\"ph\":\"X\",\"ts\":0,\"dur\":3,\"name\":\"a\"},"
			       "{\"ph\":\"X\",\"ts\":0,\"dur\":2,\"name\":\"b\"}]",
			       NULL),
			 0);
	check_zone(&s, "a", 0, 3000, 0, 0);
	check_zone(&s, "b", 0, 2000, 1, 0);
	check_zone(&s, "c", 0, 1000, 2, 0);
	assert_int_equal(counts(&s), 0);
	stored_deinit(&s);
}

static void garbage_in_an_event_costs_that_event(void **state)
{
	struct stored s;

	(void)state;
	assert_int_equal(
		given(&s,
		      "[{\"ph\":\"X\",\"ts\":0,\"dur\":1,\"name\":\"a\"}, 7, [1,[2]], \"s\","
		      "{\"ph\" \"X\", \"args\": {\"}\": [\"]\"]}},"
		      "{1: 2},"
		      "{\"ph\":\"X\",\"ts\":5,\"dur\":1,\"name\":\"b\"}]",
		      NULL),
		0);
	assert_int_equal(s.zones.count, 2);
	assert_int_equal(count_of(&s, "malformed"), 5);
	assert_int_equal(s.result.report.events, 7);
	assert_int_equal(s.result.report.first_event, 1);
	stored_deinit(&s);
}

static void members_may_come_in_any_order(void **state)
{
	struct stored s;

	(void)state;
	assert_int_equal(
		given(&s,
		      "\xef\xbb\xbf "
		      "{\"x\":[{\"y\":[]}],\"traceEvents\":[{\"args\":{\"name\":\"T\"},"
		      "\"tid\":3,\"name\":\"thread_name\",\"ph\":\"M\"},"
		      "{\"args\":{\"deep\":{\"er\":[[{}]]}},\"dur\":\"1\",\"name\":\"a\",\"ts\":2,"
		      "\"tid\":\"3\",\"ph\":\"X\"}],\"z\":null}",
		      NULL),
		0);
	assert_string_equal(zone_of(&s, "a")->thread, "T");
	assert_string_equal(zone_of(&s, "a")->process, "0");
	assert_int_equal(counts(&s), 0);
	stored_deinit(&s);
}

static void what_is_known_but_not_kept_is_said(void **state)
{
	struct stored s;
	size_t i;
	uint64_t ignored = 0;

	(void)state;
	assert_int_equal(
		given(&s,
		      "[{\"ph\":\"b\",\"ts\":0,\"id\":1},{\"ph\":\"n\",\"ts\":0},{\"ph\":\"e\","
		      "\"ts\":1},"
		      "{\"ph\":\"s\",\"ts\":0},{\"ph\":\"t\",\"ts\":0},{\"ph\":\"f\",\"ts\":0},"
		      "{\"ph\":\"N\",\"ts\":0},{\"ph\":\"O\",\"ts\":0},{\"ph\":\"D\",\"ts\":0},"
		      "{\"ph\":\"P\",\"ts\":0},{\"ph\":\"I\",\"ts\":0,\"name\":\"i\"},"
		      "{\"ph\":\"Q\",\"ts\":0}]",
		      NULL),
		0);
	for (i = 0; s.result.report.ignored[i].name; i++)
		ignored += s.result.report.ignored[i].count;
	assert_int_equal(ignored, 10);
	assert_int_equal(counts(&s), 1);
	assert_int_equal(count_of(&s, "unknown_phase"), 1);
	stored_deinit(&s);
}

static void counters_hold_their_values_at_the_ends_of_frames(void **state)
{
	struct stored s;

	(void)state;
	assert_int_equal(
		given(&s,
		      "[{\"ph\":\"X\",\"ts\":0,\"dur\":9,\"name\":\"f\"},"
		      "{\"ph\":\"X\",\"ts\":10,\"dur\":9,\"name\":\"f\"},"
		      "{\"ph\":\"X\",\"ts\":20,\"dur\":9,\"name\":\"f\"},"
		      "{\"ph\":\"C\",\"ts\":15,\"tid\":2,\"name\":\"one\",\"args\":{\"v\":7}},"
		      "{\"ph\":\"C\",\"ts\":3,\"tid\":1,\"name\":\"one\",\"args\":{\"v\":5}},"
		      "{\"ph\":\"C\",\"ts\":4,\"name\":\"two\",\"args\":{\"a\":1,\"b\":2.5}},"
		      "{\"ph\":\"C\",\"ts\":5,\"name\":\"none\",\"args\":{\"a\":\"x\"}}]",
		      "zone:f"),
		0);
	assert_int_equal(ask(&s, "SELECT count(*) FROM frames"), 3);
	assert_int_equal(ask(&s, "SELECT value FROM frame_counters JOIN markers USING (marker) "
				 "WHERE name = 'one' AND frame = 1"),
			 5);
	assert_int_equal(ask(&s, "SELECT value FROM frame_counters JOIN markers USING (marker) "
				 "WHERE name = 'one' AND frame = 3"),
			 7);
	assert_int_equal(ask(&s, "SELECT value FROM frame_counters JOIN markers USING (marker) "
				 "WHERE name = 'two.a' AND frame = 2"),
			 1);
	assert_int_equal(ask(&s,
			     "SELECT value = 2.5 FROM frame_counters JOIN markers USING (marker) "
			     "WHERE name = 'two.b' AND frame = 3"),
			 1);
	assert_int_equal(count_of(&s, "bad_value"), 1);
	stored_deinit(&s);
}

static void nothing_to_be_found_is_refused_with_the_byte(void **state)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{"", "byte 0: '[' or '{' was expected"},
		{"  nonsense", "byte 2: '[' or '{' was expected"},
		{"{\"a\":[1,2]}", "byte 10: \"traceEvents\" and an array were expected"},
		{"[,, ]", "byte 5: an event, '{', was expected"},
		{"{\"traceEvents\":[]}", "byte 18: an event, '{', was expected"},
	};
	struct stored s;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(given(&s, cases[i].text, NULL), -EBADMSG);
		assert_string_equal(s.result.why, cases[i].why);
		assert_null(s.result.capture.file);
		stored_deinit(&s);
	}
}

static void a_chosen_name_that_is_not_there_is_said(void **state)
{
	struct stored s;

	(void)state;
	assert_int_equal(given(&s, "[{\"ph\":\"X\",\"ts\":0,\"dur\":1,\"name\":\"a\"}]", "zone:b"),
			 -ENOENT);
	assert_string_equal(s.result.why, "no zone named \"b\" is in the file");
	stored_deinit(&s);
}

static void nesting_beyond_the_limit_is_counted(void **state)
{
	struct stored s;
	FILE *f = must(tmpfile());
	int i;

	(void)state;
	fputc('[', f);
	for (i = 0; i < 40000; i++)
		fprintf(f, "{\"ph\":\"B\",\"ts\":%d,\"name\":\"z\"},\n", i);
	for (i = 0; i < 40000; i++)
		fprintf(f, "{\"ph\":\"E\",\"ts\":%d},\n", 40000 + i);
	fflush(f);
	assert_int_equal(import_fd_only(&s, dup(fileno(f))), 0);
	fclose(f);
	assert_int_equal(count_of(&s, "too_deep") + s.result.report.zones, 40000);
	assert_true(s.result.report.zones >= CHUNK_DEPTH_MAX);
	assert_int_equal(counts(&s), 1);
	stored_deinit(&s);
}

/* ---- Against a second reader ------------------------------------------------------------------
 */

static uint64_t seed;

static uint64_t draw(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % below;
}

/* An event of a made-up trace, and the zone that it becomes. */
struct made {
	char phase;
	int64_t ts, end;
	unsigned name;
	uint32_t flags;
	size_t number;
	bool open;
};

static int by_ts(const void *a, const void *b)
{
	const struct made *x = a, *y = b;

	if (x->ts != y->ts)
		return x->ts < y->ts ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

static int by_length(const void *a, const void *b)
{
	const struct made *x = a, *y = b;

	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

/* Puts X's of one time in order, in their places. */
static void order_ties(struct made *m, size_t count)
{
	struct made x[64];
	size_t from, to, i, n;

	for (from = 0; from < count; from = to) {
		for (to = from, n = 0; to < count && m[to].ts == m[from].ts; to++)
			if (m[to].phase == 'X')
				x[n++] = m[to];
		qsort(x, n, sizeof(*x), by_length);
		for (i = from, n = 0; i < to; i++)
			if (m[i].phase == 'X')
				m[i] = x[n++];
	}
}

/* The rules as they are written, without a thought of speed: pairs first, then depths. */
static void end_pairs(struct made *m, size_t count, int64_t last)
{
	size_t i, k, inner;

	for (i = 0; i < count; i++) {
		if (m[i].phase == 'B') {
			m[i].open = true;
			m[i].end = last;
		}
		if (m[i].phase != 'E')
			continue;
		for (k = i; k-- > 0;)
			if (m[k].phase == 'B' && m[k].open &&
			    (!m[i].name || m[k].name == m[i].name))
				break;
		if (k == SIZE_MAX)
			continue;
		for (inner = k; inner < i; inner++) {
			if (m[inner].phase != 'B' || !m[inner].open)
				continue;
			m[inner].open = false;
			m[inner].end = m[i].ts;
			if (inner > k)
				m[inner].flags |= ZONE_TRUNCATED;
		}
	}
	for (i = 0; i < count; i++)
		if (m[i].phase == 'B' && m[i].open)
			m[i].flags |= ZONE_UNCLOSED;
}

static void set_overlaps(struct made *m, size_t count)
{
	size_t stack[256], depth = 0, i;

	for (i = 0; i < count; i++) {
		if (m[i].phase == 'E')
			continue;
		while (depth > 0 && m[stack[depth - 1]].end <= m[i].ts)
			depth--;
		if (depth > 0 && m[stack[depth - 1]].end < m[i].end)
			m[i].flags |= ZONE_OVERLAP;
		stack[depth++] = i;
	}
}

#define MADE 48

/* Pairs have times of their own; complete zones may share theirs. */
static size_t make_trace(struct made *m)
{
	size_t count = 4 + draw(MADE - 4), i;

	memset(m, 0, count * sizeof(*m));
	for (i = 0; i < count; i++) {
		uint64_t kind = draw(4);

		m[i].phase = kind == 0 ? 'B' : kind == 1 ? 'E' : 'X';
		m[i].number = i;
		m[i].ts = kind < 2 ? (int64_t)(i * 4 + 1) : (int64_t)(draw(count) * 4);
		m[i].end = m[i].ts + (int64_t)draw(60);
		m[i].name = (unsigned)(kind == 1 && draw(2) ? 0 : 1 + draw(3));
	}
	for (i = count; i > 1; i--) { /* the file has them in any order */
		struct made *other = &m[draw(i)], kept = m[i - 1];

		m[i - 1] = *other;
		*other = kept;
	}
	for (i = 0; i < count; i++)
		m[i].number = i;
	return count;
}

static void print_trace(FILE *f, const struct made *m, size_t count)
{
	size_t i;

	fputc('[', f);
	for (i = 0; i < count; i++) {
		fprintf(f, "{\"ph\":\"%c\",\"ts\":0.%03d", m[i].phase, (int)m[i].ts);
		if (m[i].phase == 'X')
			fprintf(f, ",\"dur\":0.%03d", (int)(m[i].end - m[i].ts));
		if (m[i].name)
			fprintf(f, ",\"name\":\"z%u\"", m[i].name);
		fputs("},", f);
	}
	fflush(f);
}

static int by_extent(const void *a, const void *b)
{
	const struct zone *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	if (x->end != y->end)
		return x->end < y->end ? -1 : 1;
	if (x->flags != y->flags)
		return x->flags < y->flags ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* What the rules make of the events, as zones. */
static void expect(struct made *m, size_t count, zone_vec *ret_zones)
{
	int64_t last = 0;
	size_t i;

	for (i = 0; i < count; i++)
		last = MAX(last, m[i].phase == 'X' ? m[i].end : m[i].ts);
	qsort(m, count, sizeof(*m), by_ts);
	order_ties(m, count);
	end_pairs(m, count, last);
	set_overlaps(m, count);
	for (i = 0; i < count; i++) {
		struct zone z = {.begin = m[i].ts, .end = m[i].end, .flags = m[i].flags};

		snprintf(z.name, sizeof(z.name), "z%u", m[i].name);
		if (m[i].phase != 'E')
			assert_int_equal(VEC_PUSH(ret_zones, z), 0);
	}
}

static void random_traces_are_read_as_the_rules_say(void **state)
{
	struct made m[MADE];
	int round;

	(void)state;
	for (round = 1; round <= 40; round++) {
		zone_vec expected = {0};
		struct stored s;
		size_t count, i;
		FILE *f = must(tmpfile());

		seed = (uint64_t)round * 7919;
		count = make_trace(m);
		print_trace(f, m, count);
		assert_int_equal(import_fd(&s, dup(fileno(f)), NULL), 0);
		fclose(f);
		expect(m, count, &expected);
		if (expected.count > 0)
			qsort(expected.at, expected.count, sizeof(*expected.at), by_extent);
		for (i = 0; i < s.zones.count; i++) {
			s.zones.at[i].begin += s.base;
			s.zones.at[i].end += s.base;
		}
		if (s.zones.count > 0)
			qsort(s.zones.at, s.zones.count, sizeof(*s.zones.at), by_extent);
		assert_int_equal(s.zones.count, expected.count);
		for (i = 0; i < expected.count; i++)
			if (by_extent(&expected.at[i], &s.zones.at[i]) != 0)
				fail_msg("round %d: %s %lld..%lld %x, not %s %lld..%lld %x", round,
					 s.zones.at[i].name, (long long)s.zones.at[i].begin,
					 (long long)s.zones.at[i].end, s.zones.at[i].flags,
					 expected.at[i].name, (long long)expected.at[i].begin,
					 (long long)expected.at[i].end, expected.at[i].flags);
		VEC_FREE(&expected);
		stored_deinit(&s);
	}
}

/* More records than a run holds, in the worst order: newest first, thread by turns. */
static void what_does_not_fit_in_memory_is_sorted_in_runs(void **state)
{
	const int zones = 600000;
	FILE *f = must(tmpfile());
	struct stored s;
	int i;

	(void)state;
	fputc('[', f);
	for (i = zones; i > 0; i--)
		fprintf(f, "{\"ph\":\"X\",\"tid\":%d,\"ts\":%d,\"dur\":1,\"name\":\"z\"},\n", i % 3,
			i);
	fflush(f);
	assert_int_equal(import_fd_only(&s, dup(fileno(f))), 0);
	fclose(f);
	assert_int_equal(counts(&s), 0);
	assert_int_equal(s.result.report.zones, zones);
	assert_int_equal(ask(&s, "SELECT sum(events) FROM chunks"), 2 * zones);
	assert_int_equal(ask(&s, "SELECT count(DISTINCT track) FROM chunks"), 3);
	/* chunks of a track follow one another in time */
	assert_int_equal(ask(&s, "SELECT count(*) FROM (SELECT t0 < lag(t1) OVER (PARTITION BY "
				 "track ORDER BY id) AS back FROM chunks) WHERE back"),
			 0);
	stored_deinit(&s);
}

/* A name for each of more processes and threads than are kept. The first stay findable. */
static void processes_and_threads_beyond_the_limit_are_counted(void **state)
{
	const int named = 20000, kept = CHROME_PROCESSES_MAX;
	FILE *f = must(tmpfile());
	struct stored s;
	int i;

	(void)state;
	fputc('[', f);
	for (i = 0; i < named; i++)
		fprintf(f,
			"{\"ph\":\"M\",\"pid\":\"p%d\",\"name\":\"process_name\","
			"\"args\":{\"name\":\"process %d\"}},\n"
			"{\"ph\":\"M\",\"pid\":\"p%d\",\"name\":\"thread_name\","
			"\"args\":{\"name\":\"thread %d\"}},\n",
			i, i, i, i);
	fprintf(f,
		"{\"ph\":\"X\",\"pid\":\"p0\",\"ts\":1,\"dur\":1,\"name\":\"z\"},"
		"{\"ph\":\"X\",\"pid\":\"p%d\",\"ts\":1,\"dur\":1,\"name\":\"z\"}]",
		kept - 1);
	fflush(f);
	assert_int_equal(import_fd_only(&s, dup(fileno(f))), 0);
	fclose(f);
	assert_int_equal(count_of(&s, "too_many_processes"), named - kept);
	assert_int_equal(count_of(&s, "too_many_threads"), named - kept);
	assert_int_equal(ask(&s, "SELECT count(*) FROM tracks"), 2);
	assert_int_equal(ask(&s, "SELECT count(*) FROM tracks WHERE name IN "
				 "('process 0 / thread 0', 'process 16383 / thread 16383')"),
			 2);
	stored_deinit(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_cases),
		cmocka_unit_test(times_are_decimals_not_doubles),
		cmocka_unit_test(names_keep_what_can_be_kept),
		cmocka_unit_test(an_end_closes_pairs_only),
		cmocka_unit_test(complete_zones_of_one_start_begin_longest_first),
		cmocka_unit_test(garbage_in_an_event_costs_that_event),
		cmocka_unit_test(members_may_come_in_any_order),
		cmocka_unit_test(what_is_known_but_not_kept_is_said),
		cmocka_unit_test(counters_hold_their_values_at_the_ends_of_frames),
		cmocka_unit_test(nothing_to_be_found_is_refused_with_the_byte),
		cmocka_unit_test(a_chosen_name_that_is_not_there_is_said),
		cmocka_unit_test(nesting_beyond_the_limit_is_counted),
		cmocka_unit_test(random_traces_are_read_as_the_rules_say),
		cmocka_unit_test(what_does_not_fit_in_memory_is_sorted_in_runs),
		cmocka_unit_test(processes_and_threads_beyond_the_limit_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
