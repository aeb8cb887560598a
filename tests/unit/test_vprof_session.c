/* SPDX-License-Identifier: MIT */
/* Recordings of VProf as sessions: imported, read, written again; and other sessions written so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/aggregate.h"
#include "daemon/export.h"
#include "daemon/import.h"
#include "daemon/sql.h"
#include "daemon/util.h"
#include "daemon/vprof.h"
#include "shm/layout.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define CASES "tests/cases/vprof/"

struct bytes {
	uint8_t *at;
	size_t count;
};

/* A session in a capture file of its own. */
struct world {
	char directory[64];
	struct import_result result;
	struct history *history;
	struct history_session session;
	bool open;
};

static int remove_entry(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static void world_init(struct world *w)
{
	const char *tmp = getenv("TMPDIR");

	memset(w, 0, sizeof(*w));
	snprintf(w->directory, sizeof(w->directory), "%s/vprof-XXXXXX", tmp ? tmp : "/tmp");
	assert_non_null(mkdtemp(w->directory));
}

static void world_deinit(struct world *w)
{
	if (w->open)
		history_session_deinit(&w->session);
	history_close(w->history);
	capture_deinit(&w->result.capture);
	assert_int_equal(nftw(w->directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static void world_open(struct world *w)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/%s", w->directory, w->result.capture.file);
	assert_int_equal(history_open_file(path, &w->history), 0);
	assert_int_equal(history_session(w->history, IMPORT_SESSION, HISTORY_ANY_UID, &w->session),
			 0);
	w->open = true;
}

static int file_of(const uint8_t *data, size_t bytes)
{
	int fd = memfd_create("vprof", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, bytes), bytes);
	return fd;
}

static int import(struct world *w, const uint8_t *data, size_t bytes)
{
	struct import_order order = {.directory = w->directory, .name = "test", .uid = 5};
	int r;

	order.fd = file_of(data, bytes);
	r = import_vprof(&order, &w->result);
	close(order.fd);
	return r;
}

static void import_and_open(struct world *w, const struct bytes *b)
{
	world_init(w);
	assert_int_equal(import(w, b->at, b->count), 0);
	assert_true(w->result.capture.aggregate);
	world_open(w);
}

static struct bytes read_case(const char *name)
{
	char path[128];
	struct bytes b = {0};
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), CASES "%s.vprof", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	b.count = (size_t)st.st_size;
	b.at = malloc(b.count + 1);
	assert_int_equal(read(fd, b.at, b.count), b.count);
	close(fd);
	return b;
}

static struct bytes export(struct world *w, uint64_t from, uint64_t to,
			   struct export_report *report)
{
	struct range_query query = {.from = from, .to = to};
	struct range range;
	struct export_order order = {.history = w->history, .range = &range};
	struct bytes b = {0};
	struct stat st;
	int fd = memfd_create("export", MFD_CLOEXEC);

	assert_int_equal(range_open(w->history, IMPORT_SESSION, &query, &range), 0);
	assert_int_equal(export_run(EXPORT_VPROF, &order, fd, report), 0);
	range_close(&range);
	assert_int_equal(fstat(fd, &st), 0);
	b.count = (size_t)st.st_size;
	b.at = malloc(b.count + 1);
	assert_int_equal(pread(fd, b.at, b.count, 0), b.count);
	close(fd);
	return b;
}

static struct bytes export_again(const struct bytes *b)
{
	struct export_report report;
	struct bytes again;
	struct world w;

	import_and_open(&w, b);
	again = export(&w, w.session.first_frame, w.session.last_frame, &report);
	assert_string_equal(report.lost, "");
	world_deinit(&w);
	return again;
}

static void assert_same(const struct bytes *a, const struct bytes *b)
{
	assert_int_equal(a->count, b->count);
	assert_memory_equal(a->at, b->at, a->count);
}

/* ---- Import ---- */

/* The sums of one tick against the case's page. */
static void compare_tick(struct history *h, struct aggregate *a, const json_t *want)
{
	const json_t *nodes = json_object_get(want, "nodes");
	uint64_t tick = (uint64_t)json_integer_value(json_object_get(want, "tick"));
	const char *path[AGGREGATE_DEPTH_MAX];
	struct aggregate_sums sums;
	size_t i, k, depth;

	assert_int_equal(aggregate_add_up(h, a, tick, tick, &sums), 0);
	assert_int_equal(sums.frames, 1);
	assert_int_equal(a->linked, json_object_size(nodes));
	for (i = 0; i < a->linked; i++) {
		const struct aggregate_sum *sum = &sums.by_node[a->order[i]];
		char text[256] = "";
		const json_t *node;

		depth = aggregate_path(a, a->order[i], path);
		for (k = 0; k < depth; k++) {
			strcat(text, k ? "/" : "");
			strcat(text, path[k]);
		}
		node = json_object_get(nodes, text);
		assert_non_null(node);
		assert_int_equal(sum->calls, json_integer_value(json_object_get(node, "calls")));
		assert_int_equal(sum->total_ns,
				 json_integer_value(json_object_get(node, "us")) * 1000);
		assert_string_equal(aggregate_group_name(a, a->order[i]),
				    json_string_value(json_object_get(node, "group")));
	}
	free(sums.by_node);
}

static void compare_case(const char *name)
{
	struct bytes b = read_case(name);
	struct aggregate *a;
	char path[128];
	json_t *want;
	const json_t *frame;
	struct world w;
	size_t i;

	snprintf(path, sizeof(path), CASES "%s.expected.json", name);
	want = json_load_file(path, 0, NULL);
	import_and_open(&w, &b);
	assert_int_equal(aggregate_is(w.history, IMPORT_SESSION), 1);
	assert_int_equal(aggregate_open(w.history, IMPORT_SESSION, &a), 0);
	json_array_foreach(json_object_get(want, "frames"), i, frame)
		compare_tick(w.history, a, frame);
	assert_int_equal(w.session.update.frames_total, i);
	assert_int_equal(w.result.report.frames, i);
	assert_int_equal(w.result.report.any, json_object_get(want, "error") != NULL);
	if (w.result.report.any)
		assert_string_equal(w.result.report.first_what,
				    json_string_value(json_object_get(want, "error")));
	aggregate_free(a);
	world_deinit(&w);
	json_decref(want);
	free(b.at);
}

static void ticks_are_frames_with_their_nodes(void **state)
{
	(void)state;
	compare_case("plain");
	compare_case("growing");
}

static void what_is_before_a_cut_is_imported(void **state)
{
	(void)state;
	compare_case("truncated");
}

static void a_file_of_which_nothing_can_be_read_is_refused(void **state)
{
	struct bytes b = read_case("badversion");
	struct world w;

	(void)state;
	world_init(&w);
	assert_int_equal(import(&w, b.at, b.count), -EBADMSG);
	assert_non_null(strstr(w.result.why, "unsupported version 2"));
	assert_int_equal(import(&w, b.at, 0), -EBADMSG);
	world_deinit(&w); /* and nothing is left in the directory but it */
	free(b.at);
}

static void a_recording_of_no_frames_is_an_empty_session(void **state)
{
	static const uint8_t header[8] = {1};
	struct aggregate_sums sums;
	struct aggregate *a;
	struct world w;

	(void)state;
	world_init(&w);
	assert_int_equal(import(&w, header, sizeof(header)), 0);
	world_open(&w);
	assert_int_equal(aggregate_open(w.history, IMPORT_SESSION, &a), 0);
	assert_int_equal(aggregate_add_up(w.history, a, 1, UINT64_MAX, &sums), 0);
	assert_int_equal(sums.frames, 0);
	free(sums.by_node);
	aggregate_free(a);
	world_deinit(&w);
}

/* ---- Recordings that are made here ---- */

static uint64_t seed;

static uint32_t draw(uint32_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed % below);
}

static void put(void *userdata, const void *bytes, size_t count)
{
	fwrite(bytes, 1, count, userdata);
}

struct made_node {
	char name[13];
	int32_t id;
	int parent;
};

/* A tree that grows in any order, with groups and nodes that come again. */
static struct bytes make_recording(uint64_t with, int frames, int first_tick)
{
	struct made_node nodes[200] = {{"", 77, -1}};
	struct vprof_out out = {put, NULL};
	struct bytes b = {0};
	char *data = NULL;
	int count = 1, groups = VPROF_GROUPS_KNOWN, next_id = 100, i, k;

	seed = with * UINT64_C(0x9e3779b97f4a7c15) + 1;
	out.userdata = open_memstream(&data, &b.count);
	vprof_write_header(&out, 77);
	for (i = 0; i < frames; i++) {
		vprof_write_frame(&out, first_tick + i * 3);
		for (k = (int)draw(4); k > 0; k--) {
			char name[32];

			snprintf(name, sizeof(name), "group %d", groups);
			vprof_write_group(&out, draw(3) ? name : "Physics", 1u << draw(4));
			if (draw(2)) /* again */
				vprof_write_group(&out, name, 4);
			else
				vprof_write_group(&out, name, 4);
			groups++;
		}
		for (k = (int)draw(6); k > 0 && count < 200; k--) {
			int parent = (int)draw((uint32_t)count), at = count;

			if (draw(4) == 0 && count > 1) { /* one that there is, with another id */
				at = 1 + (int)draw((uint32_t)count - 1);
				parent = nodes[at].parent;
			} else {
				snprintf(nodes[at].name, sizeof(nodes[at].name), "n%d", at);
				nodes[at].parent = parent;
				count++;
			}
			nodes[at].id = next_id++;
			vprof_write_node(&out, nodes[parent].id, nodes[at].name,
					 draw((uint32_t)groups), nodes[at].id);
		}
		vprof_write_timings(&out);
		for (k = 0; k < count; k++)
			vprof_write_timing(&out, draw(10) ? draw(300) : draw(65536),
					   draw(10) ? draw(70000) : draw(UINT32_MAX));
		vprof_write_frame_end(&out);
	}
	fclose(out.userdata);
	b.at = (uint8_t *)data;
	return b;
}

/* Where both readers are at a frame, each node's path must be there with the same numbers. */
static void compare_frames(const struct vprof_reader *a, const struct vprof_frame *x,
			   const struct vprof_reader *b, const struct vprof_frame *y)
{
	size_t i;

	assert_int_equal(x->tick, y->tick);
	assert_int_equal(x->nodes, y->nodes);
	/* The order of the tree decides which numbers are whose: it must be the same. */
	assert_int_equal(x->bytes, y->bytes);
	assert_memory_equal(x->timings, y->timings, x->bytes);
	for (i = 1; i < x->nodes; i++) {
		const struct vprof_node *n = &a->nodes.at[i];
		size_t k;

		for (k = 1; k < y->nodes && strcmp(b->nodes.at[k].name, n->name) != 0; k++)
			;
		assert_true(k < y->nodes);
		assert_string_equal(b->nodes.at[b->nodes.at[k].parent].name,
				    a->nodes.at[n->parent].name);
		assert_int_equal(b->nodes.at[k].id, n->id);
		assert_string_equal(b->groups.at[b->nodes.at[k].group].name,
				    a->groups.at[n->group].name);
	}
}

static void compare_recordings(const struct bytes *a, const struct bytes *b)
{
	struct vprof_reader x, y;
	struct vprof_frame f, g;
	int r;

	assert_int_equal(vprof_reader_init(&x, a->at, a->count, VPROF_SHORT_LONG), 0);
	assert_int_equal(vprof_reader_init(&y, b->at, b->count, VPROF_SHORT_LONG), 0);
	do {
		r = vprof_reader_next(&x, &f);
		assert_int_equal(vprof_reader_next(&y, &g), r);
		if (r)
			compare_frames(&x, &f, &y, &g);
	} while (r);
	assert_false(x.faulty || y.faulty);
	vprof_reader_deinit(&x);
	vprof_reader_deinit(&y);
}

/* ---- Export ---- */

static void import_of_export_is_the_identity(void **state)
{
	struct bytes plain = read_case("plain"), growing = read_case("growing");
	struct bytes again = export_again(&plain);
	size_t i;

	(void)state;
	assert_same(&plain, &again);
	free(again.at);
	free(plain.at);
	again = export_again(&growing); /* its nodes are in another order */
	compare_recordings(&growing, &again);
	free(again.at);
	free(growing.at);
	for (i = 0; i < 40; i++) {
		/* ticks that rise from 1, and ones that begin below it */
		struct bytes b = make_recording(i, 1 + (int)i * 2, i % 2 ? -3 : 5);
		struct bytes once = export_again(&b), twice = export_again(&once);

		compare_recordings(&b, &once);
		assert_same(&once, &twice);
		free(twice.at);
		free(once.at);
		free(b.at);
	}
}

static void a_part_of_a_recording_stands_alone(void **state)
{
	struct bytes b = make_recording(7, 60, 1), part;
	struct vprof_reader whole, some;
	struct export_report report;
	struct vprof_frame f, g;
	struct world w;

	(void)state;
	import_and_open(&w, &b);
	part = export(&w, 1 + 3 * 20, 1 + 3 * 40, &report);
	assert_int_equal(vprof_reader_init(&whole, b.at, b.count, VPROF_SHORT_LONG), 0);
	assert_int_equal(vprof_reader_init(&some, part.at, part.count, VPROF_SHORT_LONG), 0);
	while (vprof_reader_next(&whole, &f) == 1) {
		if (f.tick < 61 || f.tick > 121)
			continue;
		assert_int_equal(vprof_reader_next(&some, &g), 1);
		compare_frames(&whole, &f, &some, &g);
	}
	assert_int_equal(vprof_reader_next(&some, &g), 0);
	assert_false(some.faulty);
	vprof_reader_deinit(&whole);
	vprof_reader_deinit(&some);
	world_deinit(&w);
	free(part.at);
	free(b.at);
}

/* Self times of a tree add up to the root's. */
static void self_times_sum_to_the_root(void **state)
{
	struct bytes b = make_recording(3, 50, 1);
	struct aggregate_sums sums;
	struct aggregate *a;
	int64_t self = 0;
	struct world w;
	size_t i;

	(void)state;
	import_and_open(&w, &b);
	assert_int_equal(aggregate_open(w.history, IMPORT_SESSION, &a), 0);
	assert_int_equal(aggregate_add_up(w.history, a, 20, 120, &sums), 0);
	for (i = 0; i < a->linked; i++)
		self += sums.by_node[a->order[i]].self_ns;
	assert_int_equal(self, sums.by_node[0].total_ns);
	assert_true(sums.frames > 30 && a->linked > 10);
	free(sums.by_node);
	aggregate_free(a);
	world_deinit(&w);
	free(b.at);
}

/* ---- Sessions of events ---- */

static uint32_t marker(struct import_writer *w, const char *name, const char *category)
{
	uint32_t id;

	assert_int_equal(import_marker(w, FPROF_MARKER_ZONE, name, category, &id), 0);
	return id;
}

static void zone(struct import_lane *lane, uint32_t id, int64_t begin, int64_t end)
{
	assert_int_equal(import_begin(lane, begin, id), 0);
	assert_int_equal(import_end(lane, end), 0);
}

static void add_frame(struct import_writer *w, uint64_t number, int64_t t0, int64_t t1)
{
	struct frame_row row;

	import_frame_init(&row, number, t0, t1);
	assert_int_equal(import_frame(w, &row), 0);
}

/* Three frames of 1 ms: a zone over a boundary, one that is called 70,000 times, two threads of
 * one name. */
static void make_events(struct world *world)
{
	struct import_order order = {.directory = world->directory, .name = "events"};
	struct import_lane *lane;
	struct import_writer *w;
	uint32_t track, outer, inner, many;
	int i;

	assert_int_equal(import_writer_new(&order, &w), 0);
	assert_int_equal(import_session(w, "events", 5, 0, NULL), 0);
	outer = marker(w, "outer", "Physics");
	inner = marker(w, "inner", "mine");
	many = marker(w, "many", NULL);
	assert_int_equal(import_track(w, TRACK_THREAD, 1, "worker", &track), 0);
	assert_int_equal(import_lane_new(w, track, 0, &lane), 0);
	assert_int_equal(import_begin(lane, 100000, outer), 0);
	zone(lane, inner, 200000, 300002);
	zone(lane, inner, 950000, 1100000);
	assert_int_equal(import_end(lane, 1500000), 0);
	for (i = 0; i < 70000; i++)
		zone(lane, many, 2000000 + i * 10, 2000000 + i * 10 + 8);
	assert_int_equal(import_lane_finish(lane), 0);
	import_lane_free(lane);
	assert_int_equal(import_track(w, TRACK_THREAD, 2, "worker", &track), 0);
	assert_int_equal(import_lane_new(w, track, 0, &lane), 0);
	zone(lane, outer, 2500000, 2600000);
	assert_int_equal(import_lane_finish(lane), 0);
	import_lane_free(lane);
	for (i = 0; i < 3; i++)
		add_frame(w, (uint64_t)i + 1, i * INT64_C(1000000), (i + 1) * INT64_C(1000000));
	assert_int_equal(import_writer_finish(w, 3000000, &world->result), 0);
	import_writer_free(w);
	world_open(world);
}

/* path: names below the root, each with a / before it. */
static uint32_t find_node(const struct vprof_reader *r, const char *path)
{
	char text[256];
	size_t i;

	for (i = 1; i < r->nodes.count; i++) {
		uint32_t at = (uint32_t)i;

		for (text[0] = '\0'; at; at = r->nodes.at[at].parent) {
			char below[256];

			snprintf(below, sizeof(below), "%s", text);
			snprintf(text, sizeof(text), "/%.60s%.180s", r->nodes.at[at].name, below);
		}
		if (strcmp(text, path) == 0)
			return (uint32_t)i;
	}
	return VPROF_NONE;
}

/* Numbers of the frame by node, from the order of the tree. */
static const uint8_t *take(const struct vprof_reader *r, const struct vprof_frame *f, uint32_t node,
			   const uint8_t *at, uint32_t (*numbers)[2])
{
	size_t i;

	numbers[node][0] = vprof_take_calls(&at);
	numbers[node][1] = vprof_take_units(&at);
	for (i = f->nodes; i-- > 1;)
		if (r->nodes.at[i].parent == node)
			at = take(r, f, (uint32_t)i, at, numbers);
	return at;
}

static void expect_node(const struct vprof_reader *r, uint32_t (*numbers)[2], const char *path,
			uint32_t calls, uint32_t units, const char *group)
{
	uint32_t node = find_node(r, path);

	assert_int_not_equal(node, VPROF_NONE);
	assert_int_equal(numbers[node][0], calls);
	assert_int_equal(numbers[node][1], units);
	assert_string_equal(r->groups.at[r->nodes.at[node].group].name, group);
}

static void zones_are_added_up_by_path_and_frame(void **state)
{
	struct export_report report;
	uint32_t numbers[16][2];
	struct vprof_reader r;
	struct vprof_frame f;
	struct bytes b;
	struct world w;

	(void)state;
	world_init(&w);
	make_events(&w);
	assert_int_equal(aggregate_is(w.history, IMPORT_SESSION), 0);
	b = export(&w, 1, 3, &report);
	assert_int_equal(vprof_reader_init(&r, b.at, b.count, VPROF_SHORT_LONG), 0);

	assert_int_equal(vprof_reader_next(&r, &f), 1);
	assert_int_equal(f.tick, 1);
	assert_int_equal(f.nodes, 4); /* what comes later is not there yet */
	take(&r, &f, 0, f.timings, numbers);
	assert_int_equal(numbers[0][0], 1);
	assert_int_equal(numbers[0][1], 250);
	expect_node(&r, numbers, "/worker", 1, 225, "Unaccounted");
	expect_node(&r, numbers, "/worker/outer", 1, 225, "Physics");
	expect_node(&r, numbers, "/worker/outer/inner", 2, 38, "mine"); /* 150,002 ns */

	assert_int_equal(vprof_reader_next(&r, &f), 1);
	take(&r, &f, 0, f.timings, numbers);
	expect_node(&r, numbers, "/worker/outer", 1, 125, "Physics");
	expect_node(&r, numbers, "/worker/outer/inner", 1, 25, "mine");

	assert_int_equal(vprof_reader_next(&r, &f), 1);
	take(&r, &f, 0, f.timings, numbers);
	expect_node(&r, numbers, "/worker/outer", 0, 0, "Physics");
	expect_node(&r, numbers, "/worker/many", 65535, 140, "Unaccounted");
	expect_node(&r, numbers, "/worker #2/outer", 1, 25, "Physics");
	assert_int_equal(vprof_reader_next(&r, &f), 0);
	assert_false(r.faulty);
	assert_non_null(strstr(report.lost, "units of 4 us: 1 of "));
	assert_non_null(strstr(report.lost, "1 counts were above 65535 and lost 4465 calls"));
	vprof_reader_deinit(&r);
	world_deinit(&w);
	free(b.at);
}

/* ---- Damaged sessions ---- */

/* The file that a stranger uploads may say anything; it passed no check here. */
static void damage(struct world *w, const char *sql)
{
	char path[160];
	sqlite3 *db;

	snprintf(path, sizeof(path), "%s/%s", w->directory, w->result.capture.file);
	history_session_deinit(&w->session);
	history_close(w->history);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sql_exec(db, sql) < 0)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	world_open(w);
}

static int read_all(struct world *w)
{
	struct aggregate_sums sums;
	struct aggregate *a;
	int r = aggregate_open(w->history, IMPORT_SESSION, &a);

	if (r < 0)
		return r;
	r = aggregate_add_up(w->history, a, 0, UINT64_MAX, &sums);
	if (r == 0)
		free(sums.by_node);
	aggregate_free(a);
	return r;
}

static void damage_is_found_out(void **state)
{
	static const char *const wrongs[] = {
		"UPDATE aggregate_nodes SET parent = 9 WHERE seq = 1",
		"UPDATE aggregate_nodes SET parent = node WHERE seq = 2",
		"UPDATE aggregate_nodes SET parent = -1 WHERE seq = 2",
		"UPDATE aggregate_nodes SET parent = NULL WHERE seq = 1",
		"UPDATE aggregate_nodes SET node = 7 WHERE seq = 1",
		"UPDATE aggregate_nodes SET node = -1 WHERE seq = 1",
		"UPDATE aggregate_nodes SET group_id = 31 WHERE seq = 1",
		"UPDATE aggregate_nodes SET frame = 9999 WHERE seq = 1",
		"UPDATE aggregate_nodes SET name = printf('%.5000c', 'x') WHERE seq = 1",
		"DELETE FROM aggregate_nodes WHERE seq = 1",
		"DELETE FROM aggregate_nodes WHERE seq = 3",
		"DELETE FROM aggregate_groups WHERE group_id = 4",
		"DELETE FROM aggregate_groups",
		"UPDATE aggregate_frames SET data = x'00'",
		"UPDATE aggregate_frames SET data = x''",
		"UPDATE aggregate_frames SET data = CAST(substr(data, 1, length(data) - 1) AS "
		"BLOB)",
		"UPDATE aggregate_frames SET data = CAST(data || x'00' AS BLOB)",
	};
	struct bytes b = read_case("plain");
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(wrongs); i++) {
		struct world w;

		import_and_open(&w, &b);
		assert_int_equal(read_all(&w), 0);
		damage(&w, wrongs[i]);
		assert_int_equal(read_all(&w), -EBADMSG);
		world_deinit(&w);
	}
	free(b.at);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(ticks_are_frames_with_their_nodes),
		cmocka_unit_test(what_is_before_a_cut_is_imported),
		cmocka_unit_test(a_file_of_which_nothing_can_be_read_is_refused),
		cmocka_unit_test(a_recording_of_no_frames_is_an_empty_session),
		cmocka_unit_test(import_of_export_is_the_identity),
		cmocka_unit_test(a_part_of_a_recording_stands_alone),
		cmocka_unit_test(self_times_sum_to_the_root),
		cmocka_unit_test(zones_are_added_up_by_path_and_frame),
		cmocka_unit_test(damage_is_found_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
