/* SPDX-License-Identifier: MIT */
/* .vprof recordings: what a right reader gets from them, and what becomes of wrong ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/vprof.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#define CASES	 "tests/cases/vprof/"
#define PATH_MAX 512

/* ---- Recordings made here ---- */

struct made {
	char *data;
	size_t bytes;
	FILE *f;
	struct vprof_out out;
};

static void put(void *userdata, const void *bytes, size_t count)
{
	fwrite(bytes, 1, count, userdata);
}

static void made_begin(struct made *m)
{
	m->f = open_memstream(&m->data, &m->bytes);
	assert_non_null(m->f);
	m->out = (struct vprof_out){put, m->f};
	vprof_write_header(&m->out, 0);
}

static void made_end(struct made *m)
{
	assert_int_equal(fclose(m->f), 0);
}

/* One frame of the root and what is added to it; each node gets its calls and units. */
static void made_frame(struct made *m, size_t nodes, uint32_t calls, uint32_t units)
{
	size_t i;

	vprof_write_timings(&m->out);
	for (i = 0; i < nodes; i++)
		vprof_write_timing(&m->out, calls, units);
	vprof_write_frame_end(&m->out);
}

static void open_made(const struct made *m, unsigned long_bytes, struct vprof_reader *ret_reader)
{
	assert_int_equal(
		vprof_reader_init(ret_reader, (const uint8_t *)m->data, m->bytes, long_bytes), 0);
}

/* ---- The cases ---- */

static uint8_t *read_case(const char *name, size_t *ret_bytes)
{
	char path[PATH_MAX];
	uint8_t *data;
	FILE *f;
	long bytes;

	snprintf(path, sizeof(path), CASES "%s.vprof", name);
	f = fopen(path, "rb");
	assert_non_null(f);
	fseek(f, 0, SEEK_END);
	bytes = ftell(f);
	rewind(f);
	data = malloc((size_t)bytes);
	assert_non_null(data);
	assert_int_equal(fread(data, 1, (size_t)bytes, f), bytes);
	fclose(f);
	*ret_bytes = (size_t)bytes;
	return data;
}

static json_t *read_expected(const char *name)
{
	char path[PATH_MAX];
	json_t *json;

	snprintf(path, sizeof(path), CASES "%s.expected.json", name);
	json = json_load_file(path, 0, NULL);
	assert_non_null(json);
	return json;
}

/* The nodes below one in the order of the timings: the newest sibling first. */
static void walk(const struct vprof_reader *r, const struct vprof_frame *f, uint32_t node,
		 const char *path, const uint8_t **at, const json_t *nodes, size_t *count)
{
	const json_t *want = json_object_get(nodes, path);
	char below[PATH_MAX];
	uint32_t i;

	assert_non_null(want);
	assert_int_equal(vprof_take_calls(at), json_integer_value(json_object_get(want, "calls")));
	assert_int_equal(vprof_take_units(at) * 4, json_integer_value(json_object_get(want, "us")));
	assert_string_equal(r->groups.at[r->nodes.at[node].group].name,
			    json_string_value(json_object_get(want, "group")));
	++*count;
	for (i = (uint32_t)f->nodes; i-- > 1;) {
		if (r->nodes.at[i].parent != node)
			continue;
		snprintf(below, sizeof(below), "%s%s%s", path, *path ? "/" : "",
			 r->nodes.at[i].name);
		walk(r, f, i, below, at, nodes, count);
	}
}

static void compare_frame(const struct vprof_reader *r, const struct vprof_frame *f,
			  const json_t *want)
{
	const json_t *nodes = json_object_get(want, "nodes");
	const uint8_t *at = f->timings;
	size_t count = 0;

	assert_int_equal(f->tick, json_integer_value(json_object_get(want, "tick")));
	walk(r, f, 0, "", &at, nodes, &count);
	assert_int_equal(count, json_object_size(nodes));
	assert_ptr_equal(at, f->timings + f->bytes);
}

static void compare_case(const char *name)
{
	json_t *want = read_expected(name);
	const json_t *frames = json_object_get(want, "frames");
	const char *error = json_string_value(json_object_get(want, "error"));
	struct vprof_reader r;
	struct vprof_frame f;
	size_t bytes, i = 0;
	uint8_t *data = read_case(name, &bytes);
	int e = vprof_reader_init(&r, data, bytes, VPROF_SHORT_LONG);

	for (; e == 0 && vprof_reader_next(&r, &f) == 1; i++)
		compare_frame(&r, &f, json_array_get(frames, i));
	assert_int_equal(i, json_array_size(frames));
	assert_int_equal(r.faulty, error != NULL);
	if (error)
		assert_string_equal(r.fault.text, error);
	vprof_reader_deinit(&r);
	free(data);
	json_decref(want);
}

static void a_plain_recording_is_read(void **state)
{
	(void)state;
	compare_case("plain");
}

static void a_tree_that_grows_is_read(void **state)
{
	(void)state;
	compare_case("growing");
}

static void frames_before_a_cut_are_read(void **state)
{
	(void)state;
	compare_case("truncated");
}

static void another_version_is_refused(void **state)
{
	(void)state;
	compare_case("badversion");
}

/* However short a recording is cut, its whole frames are there, and the cut is told. */
static void every_cut_is_told(void **state)
{
	size_t bytes, cut, frames = 0;
	uint8_t *data = read_case("growing", &bytes);

	(void)state;
	for (cut = 8; cut < bytes; cut++) {
		uint8_t *part = malloc(cut); /* so that reading on is found out */
		struct vprof_reader r;
		struct vprof_frame f;
		size_t n = 0;

		memcpy(part, data, cut);
		assert_int_equal(vprof_reader_init(&r, part, cut, VPROF_SHORT_LONG), 0);
		while (vprof_reader_next(&r, &f) == 1)
			n++;
		assert_in_range(n, frames, frames + 1);
		frames = n;
		assert_int_equal(r.faulty, cut > 8 && !(data[cut - 1] == 4 && data[cut] == 0 &&
							r.at == cut && !r.fault.truncated));
		assert_true(!r.faulty || (r.fault.truncated && r.fault.offset == cut));
		vprof_reader_deinit(&r);
		free(part);
	}
	assert_int_equal(frames, 2);
	free(data);
}

/* ---- Names that come again ---- */

static void a_group_named_again_keeps_its_place(void **state)
{
	struct vprof_reader r;
	struct vprof_frame f;
	struct made m;

	(void)state;
	made_begin(&m);
	vprof_write_frame(&m.out, 1);
	vprof_write_group(&m.out, "Mod", 1);
	vprof_write_group(&m.out, "Physics", 32768);
	vprof_write_group(&m.out, "Mod", 2);
	vprof_write_group(&m.out, "Other", 4);
	vprof_write_node(&m.out, 0, "a", 31, 1);
	vprof_write_node(&m.out, 0, "b", 32, 2);
	made_frame(&m, 3, 1, 1);
	made_end(&m);
	open_made(&m, VPROF_SHORT_LONG, &r);
	assert_int_equal(vprof_reader_next(&r, &f), 1);
	assert_int_equal(f.groups, 33);
	assert_string_equal(r.groups.at[31].name, "Mod");
	assert_int_equal(r.groups.at[31].flags, 3);
	assert_int_equal(r.groups.at[8].flags, 6 | 32768);
	assert_string_equal(r.groups.at[r.nodes.at[2].group].name, "Other");
	vprof_reader_deinit(&r);
	free(m.data);
}

static void a_child_named_again_has_the_new_id(void **state)
{
	struct vprof_reader r;
	struct vprof_frame f;
	struct made m;

	(void)state;
	made_begin(&m);
	vprof_write_frame(&m.out, 1);
	vprof_write_node(&m.out, 0, "a", 3, 1);
	made_frame(&m, 2, 1, 1);
	vprof_write_frame(&m.out, 2);
	vprof_write_node(&m.out, 0, "a", 8, 9);
	vprof_write_node(&m.out, 9, "below", 3, 10);
	made_frame(&m, 3, 1, 1);
	vprof_write_frame(&m.out, 3);
	vprof_write_node(&m.out, 1, "orphan", 3, 11);
	made_frame(&m, 4, 1, 1);
	made_end(&m);
	open_made(&m, VPROF_SHORT_LONG, &r);
	assert_int_equal(vprof_reader_next(&r, &f), 1);
	assert_int_equal(vprof_reader_next(&r, &f), 1);
	assert_int_equal(f.nodes, 3);
	assert_int_equal(f.rows, 4); /* the root's is the first */
	assert_int_equal(r.nodes.at[1].id, 9);
	assert_int_equal(r.nodes.at[1].group, 8);
	assert_int_equal(r.nodes.at[2].parent, 1);
	/* nobody has the old id any more */
	assert_int_equal(vprof_reader_next(&r, &f), 0);
	assert_non_null(strstr(r.fault.text, "a parent 1 that there is not"));
	vprof_reader_deinit(&r);
	free(m.data);
}

/* So many that the tables of names grow; and the same name below different parents. */
static void many_nodes_are_told_apart(void **state)
{
	enum { PARENTS = 40, CHILDREN = 50 };
	struct vprof_reader r;
	struct vprof_frame f;
	struct made m;
	char name[16];
	int i, k;

	(void)state;
	made_begin(&m);
	vprof_write_frame(&m.out, 1);
	for (i = 1; i <= PARENTS; i++) {
		snprintf(name, sizeof(name), "p%d", i);
		vprof_write_node(&m.out, 0, name, 0, i * 1000);
		for (k = 1; k <= CHILDREN; k++) {
			snprintf(name, sizeof(name), "c%d", k);
			vprof_write_node(&m.out, i * 1000, name, 0, i * 1000 + k);
		}
	}
	for (i = 1; i <= PARENTS; i++) /* again, with ids of their own */
		for (k = 1; k <= CHILDREN; k++) {
			snprintf(name, sizeof(name), "c%d", k);
			vprof_write_node(&m.out, i * 1000, name, 1, -(i * 1000 + k));
		}
	made_frame(&m, 1 + PARENTS * (1 + CHILDREN), 300, 70000);
	made_end(&m);
	open_made(&m, VPROF_SHORT_LONG, &r);
	assert_int_equal(vprof_reader_next(&r, &f), 1);
	assert_int_equal(f.nodes, 1 + PARENTS * (1 + CHILDREN));
	assert_int_equal(f.rows, 1 + PARENTS * (1 + 2 * CHILDREN));
	assert_int_equal(f.bytes, f.nodes * 9);
	assert_int_equal(r.nodes.at[PARENTS * (1 + CHILDREN)].id, -(PARENTS * 1000 + CHILDREN));
	assert_int_equal(vprof_reader_next(&r, &f), 0);
	assert_false(r.faulty);
	vprof_reader_deinit(&r);
	free(m.data);
}

static void names_are_utf8_or_windows_1252(void **state)
{
	struct vprof_reader r;
	struct vprof_frame f;
	struct made m;

	(void)state;
	made_begin(&m);
	vprof_write_frame(&m.out, 1);
	vprof_write_node(&m.out, 0, "gr\xc3\xbc\xc3\x9f", 0, 1);
	vprof_write_node(&m.out, 0, "gr\xfc\xdf \x80\x81", 0, 2);
	vprof_write_node(&m.out, 0, "gr\xfc\xdf", 0, 3); /* the first again, in other bytes */
	made_frame(&m, 3, 1, 1);
	made_end(&m);
	open_made(&m, VPROF_SHORT_LONG, &r);
	assert_int_equal(vprof_reader_next(&r, &f), 1);
	assert_int_equal(f.nodes, 3);
	assert_string_equal(r.nodes.at[1].name, "gr\xc3\xbc\xc3\x9f");
	assert_int_equal(r.nodes.at[1].id, 3);
	assert_string_equal(r.nodes.at[2].name, "gr\xc3\xbc\xc3\x9f \xe2\x82\xac\xc2\x81");
	assert_int_equal(r.recoded, 2);
	vprof_reader_deinit(&r);
	free(m.data);
}

/* ---- Widths ---- */

/* Frames with one node whose time is long, in so many bytes. */
static void make_long(struct made *m, unsigned long_bytes, uint32_t units, uint32_t high)
{
	int i;

	made_begin(m);
	for (i = 1; i <= 5; i++) {
		vprof_write_frame(&m->out, i);
		if (i == 1)
			vprof_write_node(&m->out, 0, "a", 0, 1);
		vprof_write_timings(&m->out);
		vprof_write_timing(&m->out, 1, units);
		if (long_bytes == VPROF_LONG_LONG)
			fwrite(&high, 1, 4, m->f);
		vprof_write_timing(&m->out, 2, 7);
		vprof_write_frame_end(&m->out);
	}
	made_end(m);
}

static unsigned width_of(const struct made *m, bool *ret_told)
{
	struct vprof_survey survey;

	assert_int_equal(vprof_survey((const uint8_t *)m->data, m->bytes, &survey), 0);
	*ret_told = survey.told;
	return survey.long_bytes;
}

static void the_width_of_long_times_is_found(void **state)
{
	struct made m;
	bool told;

	(void)state;
	make_long(&m, VPROF_SHORT_LONG, 100000, 0);
	assert_int_equal(width_of(&m, &told), 4);
	assert_true(told);
	free(m.data);
	make_long(&m, VPROF_LONG_LONG, 100000, 0);
	assert_int_equal(width_of(&m, &told), 8);
	assert_true(told);
	m.bytes -= 3; /* cut in the last frame: no width makes it whole, 8 reads more of it */
	assert_int_equal(width_of(&m, &told), 8);
	assert_false(told);
	free(m.data);
	make_long(&m, VPROF_SHORT_LONG, 5, 0);
	assert_int_equal(width_of(&m, &told), 4);
	assert_false(told);
	free(m.data);
}

/* Both widths make a whole recording of it, with other values: the format's is taken. */
static void a_recording_that_fits_both_widths_is_of_4(void **state)
{
	static const uint8_t timings[] = {
		1, 0xff, 0xff, 9, 0, 0, 0,		  /* the root, 9 units, at 4 ... */
		0, 0,	 0,    0, 1, 2, 0xff, 1, 0, 3, 0, /* ... and at 8, up to the fourth 0 */
		1, 0xff, 0xff, 1, 0, 0, 0,    4};
	struct vprof_survey survey;
	struct vprof_reader r;
	struct vprof_frame f;
	struct made m;
	unsigned at;
	char name[2] = "a";

	(void)state;
	made_begin(&m);
	vprof_write_frame(&m.out, 1);
	for (; *name <= 'd'; ++*name)
		vprof_write_node(&m.out, 0, name, 0, *name);
	vprof_write_timings(&m.out);
	fwrite(timings, 1, sizeof(timings), m.f);
	made_end(&m);
	for (at = VPROF_SHORT_LONG; at <= VPROF_LONG_LONG; at += 4) {
		open_made(&m, at, &r);
		assert_int_equal(vprof_reader_next(&r, &f), 1);
		assert_int_equal(vprof_reader_next(&r, &f), 0);
		assert_false(r.faulty);
		vprof_reader_deinit(&r);
	}
	assert_int_equal(vprof_survey((const uint8_t *)m.data, m.bytes, &survey), 0);
	assert_int_equal(survey.long_bytes, 4);
	assert_false(survey.told);
	assert_true(survey.ticks_rise);
	free(m.data);
}

static void times_of_8_bytes_are_read(void **state)
{
	struct vprof_reader r;
	struct vprof_frame f;
	struct made m;
	const uint8_t *at;
	int i;

	(void)state;
	make_long(&m, VPROF_LONG_LONG, 0xfffffffe, 0);
	open_made(&m, VPROF_LONG_LONG, &r);
	for (i = 1; i <= 5; i++) {
		assert_int_equal(vprof_reader_next(&r, &f), 1);
		assert_int_equal(f.root_units, 0xfffffffe);
		at = f.timings;
		assert_int_equal(vprof_take_calls(&at), 1);
		assert_int_equal(vprof_take_units(&at), 0xfffffffe);
		assert_int_equal(vprof_take_calls(&at), 2);
		assert_int_equal(vprof_take_units(&at), 7);
		assert_ptr_equal(at, f.timings + f.bytes);
	}
	assert_int_equal(vprof_reader_next(&r, &f), 0);
	assert_false(r.faulty);
	vprof_reader_deinit(&r);
	free(m.data);
	make_long(&m, VPROF_LONG_LONG, 5000000, 1);
	open_made(&m, VPROF_LONG_LONG, &r);
	assert_int_equal(vprof_reader_next(&r, &f), 0);
	assert_non_null(strstr(r.fault.text, "longer than 2^32 units"));
	vprof_reader_deinit(&r);
	free(m.data);
}

static void ticks_that_rise_are_told(void **state)
{
	static const int32_t ticks[][3] = {
		{1, 2, 9}, {0, 1, 2}, {5, 5, 6}, {7, 6, 8}, {-3, -2, -1}};
	struct vprof_survey survey;
	struct made m;
	size_t i, k;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(ticks); i++) {
		made_begin(&m);
		for (k = 0; k < 3; k++) {
			vprof_write_frame(&m.out, ticks[i][k]);
			made_frame(&m, 1, 1, 1);
		}
		made_end(&m);
		assert_int_equal(vprof_survey((const uint8_t *)m.data, m.bytes, &survey), 0);
		assert_int_equal(survey.frames, 3);
		assert_int_equal(survey.ticks_rise, i == 0);
		free(m.data);
	}
}

/* ---- Faults ---- */

static void expect_fault(struct made *m, const char *text)
{
	struct vprof_reader r;
	struct vprof_frame f;

	made_end(m);
	open_made(m, VPROF_SHORT_LONG, &r);
	assert_int_equal(vprof_reader_next(&r, &f), 0);
	assert_true(r.faulty);
	assert_non_null(strstr(r.fault.text, text));
	assert_int_equal(vprof_reader_next(&r, &f), 0);
	vprof_reader_deinit(&r);
	free(m->data);
}

static void what_cannot_be_is_named(void **state)
{
	static char long_name[VPROF_NAME_MAX + 2];
	struct made m;
	int i;

	(void)state;
	made_begin(&m);
	putc(7, m.f);
	expect_fault(&m, "a token 7 where a frame");
	made_begin(&m);
	vprof_write_frame(&m.out, 1);
	putc(5, m.f);
	expect_fault(&m, "a token 5 where a group, a node or timings");
	made_begin(&m);
	vprof_write_frame(&m.out, 1);
	vprof_write_timings(&m.out);
	vprof_write_timing(&m.out, 1, 1);
	putc(3, m.f);
	expect_fault(&m, "a token 3 where a frame's end");
	made_begin(&m);
	vprof_write_frame(&m.out, 1);
	vprof_write_node(&m.out, 4, "a", 0, 1);
	expect_fault(&m, "a parent 4 that there is not");
	made_begin(&m);
	vprof_write_frame(&m.out, 1);
	vprof_write_node(&m.out, 0, "a", 31, 1);
	expect_fault(&m, "a budget group 31 that there is not");
	made_begin(&m);
	vprof_write_frame(&m.out, 1);
	vprof_write_node(&m.out, 0, "a", UINT32_MAX, 1);
	expect_fault(&m, "a budget group -1 that there is not");
	memset(long_name, 'x', sizeof(long_name) - 1);
	made_begin(&m);
	vprof_write_frame(&m.out, 1);
	vprof_write_group(&m.out, long_name, 0);
	expect_fault(&m, "longer than 3072 bytes");
	memset(long_name, '\xe4', VPROF_NAME_MAX / 2 + 1); /* longer in UTF-8 */
	long_name[VPROF_NAME_MAX / 2 + 1] = '\0';
	made_begin(&m);
	vprof_write_frame(&m.out, 1);
	vprof_write_group(&m.out, long_name, 0);
	expect_fault(&m, "longer than 3072 bytes");
	made_begin(&m);
	vprof_write_frame(&m.out, 1);
	for (i = 0; i <= VPROF_DEPTH_MAX; i++)
		vprof_write_node(&m.out, i, "a", 0, i + 1);
	expect_fault(&m, "nested deeper than 1024");
}

static void a_file_without_a_header_is_refused(void **state)
{
	static const uint8_t bytes[7] = {1};
	struct vprof_reader r;
	size_t n;

	(void)state;
	for (n = 0; n <= sizeof(bytes); n++) {
		assert_int_equal(vprof_reader_init(&r, bytes, n, VPROF_SHORT_LONG), -EBADMSG);
		assert_non_null(strstr(r.fault.text, "shorter than a header"));
		vprof_reader_deinit(&r);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plain_recording_is_read),
		cmocka_unit_test(a_tree_that_grows_is_read),
		cmocka_unit_test(frames_before_a_cut_are_read),
		cmocka_unit_test(another_version_is_refused),
		cmocka_unit_test(every_cut_is_told),
		cmocka_unit_test(a_group_named_again_keeps_its_place),
		cmocka_unit_test(a_child_named_again_has_the_new_id),
		cmocka_unit_test(many_nodes_are_told_apart),
		cmocka_unit_test(names_are_utf8_or_windows_1252),
		cmocka_unit_test(the_width_of_long_times_is_found),
		cmocka_unit_test(a_recording_that_fits_both_widths_is_of_4),
		cmocka_unit_test(times_of_8_bytes_are_read),
		cmocka_unit_test(ticks_that_rise_are_told),
		cmocka_unit_test(what_cannot_be_is_named),
		cmocka_unit_test(a_file_without_a_header_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
