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
#include "daemon/import.h"
#include "daemon/sql.h"
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

static int import_fd(struct stored *s, int fd, const char *frames)
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
	snprintf(path, sizeof(path), "%s/%s", s->dir, s->result.file);
	assert_int_equal(sqlite3_open_v2(path, &s->db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	decode_all(s);
	return 0;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_cases),
	};

	(void)given;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
