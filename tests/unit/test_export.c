/* SPDX-License-Identifier: MIT */
/*
 * Exports: what goes out as Chrome trace JSON comes back the same, whatever was recorded; numbers
 * are printed exactly; what the other formats hold is what was recorded.
 */
#include "store_fixture.h"

#include "daemon/export.h"
#include "daemon/import.h"
#include "daemon/range.h"
#include "shm/layout.h"

#include <fcntl.h>
#include <jansson.h>

#define FRAMES	  4
#define FRAME_NS  1000
#define MARKERS	  5
#define DEPTH_MAX 7

static uint64_t seed;

static uint64_t draw(uint64_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % below;
}

/* A capture file with a reader of it. */
struct source {
	char dir[64];
	struct history *history;
	struct range range;
};

static void source_dir(struct source *s)
{
	const char *place = getenv("TMPDIR");

	memset(s, 0, sizeof(*s));
	snprintf(s->dir, sizeof(s->dir), "%.32s/fprof-export-XXXXXX", place ? place : "/tmp");
	must(mkdtemp(s->dir));
}

static void source_open(struct source *s, const char *file)
{
	const struct range_query all = {.from = 1, .to = 100};
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", s->dir, file);
	assert_int_equal(history_open_file(path, &s->history), 0);
	assert_int_equal(range_open(s->history, IMPORT_SESSION, &all, &s->range), 0);
}

static void source_close(struct source *s)
{
	range_close(&s->range);
	history_close(s->history);
	nftw(s->dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* ---- Recordings at random -------------------------------------------------------------------- */

struct making {
	struct import_writer *w;
	uint32_t zones[MARKERS], instant, counter, half, category, gpu;
};

static void make_markers(struct making *m)
{
	static const char *const names[MARKERS] = {"a", "b\"\\\n", "c;d", "\xc3\xa9", "frame"};
	struct marker_row row = {.kind = FPROF_MARKER_WAIT_CAP, .line = 7, .colour = 0x123456};
	size_t i;

	for (i = 0; i < MARKERS - 1; i++)
		assert_int_equal(import_marker(m->w, FPROF_MARKER_ZONE, names[i],
					       i % 2 ? "cat" : NULL, &m->zones[i]),
				 0);
	row.name = (char *)(uintptr_t)names[i];
	row.file = (char *)(uintptr_t) "x.c";
	assert_int_equal(import_marker_row(m->w, &row, &m->zones[i]), 0);
	assert_int_equal(import_marker(m->w, FPROF_MARKER_INSTANT, "at", NULL, &m->instant), 0);
	assert_int_equal(import_marker(m->w, FPROF_MARKER_COUNTER, "n", NULL, &m->counter), 0);
	assert_int_equal(import_marker(m->w, FPROF_MARKER_COUNTER, "half", NULL, &m->half), 0);
	assert_int_equal(import_marker(m->w, FPROF_MARKER_MESSAGE, "log", NULL, &m->category), 0);
	assert_int_equal(import_marker(m->w, FPROF_MARKER_GPU, "pass", NULL, &m->gpu), 0);
}

static void make_zone_note(struct import_lane *lane, int64_t t)
{
	switch (draw(8)) {
	case 0:
		assert_int_equal(import_text(lane, t, "te\"xt\n", 6), 0);
		break;
	case 1:
		assert_int_equal(import_value_int(lane, t, INT64_MIN + (int64_t)draw(3)), 0);
		break;
	case 2:
		assert_int_equal(import_value_double(lane, t, (double)draw(1000) / 7), 0);
		break;
	case 3:
		assert_int_equal(import_flags(lane, t, ZONE_TRUNCATED), 0);
		break;
	default:
		break;
	}
}

static void make_point(struct making *m, struct import_lane *lane, int64_t t)
{
	switch (draw(4)) {
	case 0:
		assert_int_equal(import_instant(lane, t, m->instant), 0);
		break;
	case 1:
		assert_int_equal(import_message(lane, t, draw(2) ? m->category : 0, 0xff00ff,
						"hello \xe2\x82\xac", 9),
				 0);
		break;
	case 2:
		assert_int_equal(import_set_int(lane, t, m->counter, (int64_t)draw(1000) - 500), 0);
		break;
	default:
		assert_int_equal(import_set_double(lane, t, m->half, 0.5 + (double)draw(9)), 0);
	}
}

/* Events of which many share their time: the worst that there is for what goes by time. */
static void make_track(struct making *m, enum track_kind kind, const char *name)
{
	struct import_lane *lane;
	int64_t t = (int64_t)draw(5);
	uint32_t track;

	assert_int_equal(import_track(m->w, kind, 40, name, &track), 0);
	assert_int_equal(import_lane_new(m->w, track, 0, &lane), 0);
	while (t < FRAMES * FRAME_NS - 1) {
		uint64_t what = draw(10);

		if (what < 4 && import_lane_depth(lane) < DEPTH_MAX) {
			assert_int_equal(import_begin(lane, t, m->zones[draw(MARKERS)]), 0);
			make_zone_note(lane, t);
		} else if (what < 8 && import_lane_depth(lane) > 0) {
			assert_int_equal(import_end(lane, t), 0);
		} else {
			make_point(m, lane, t);
		}
		if (draw(2))
			t += (int64_t)draw(draw(10) ? 4 : 90);
	}
	while (import_lane_depth(lane) > 0)
		assert_int_equal(import_end(lane, FRAMES * FRAME_NS - 1), 0);
	assert_int_equal(import_lane_finish(lane), 0);
	import_lane_free(lane);
}

static void make_queue(struct making *m)
{
	struct gpu_span_row span = {.marker = m->gpu, .calibrated = true};
	uint64_t i;

	assert_int_equal(import_track(m->w, TRACK_GPU_QUEUE, 0, "queue", &span.track), 0);
	for (i = 0; i < 10; i++) {
		span.frame = 1 + i % FRAMES;
		span.submission = i / 2;
		span.fence = UINT64_MAX - i;
		span.begin_ns = (int64_t)(i * 300);
		span.end_ns = span.begin_ns + (int64_t)draw(400);
		span.raw_begin = draw(1 << 30);
		span.raw_end = span.raw_begin + 5;
		assert_int_equal(import_gpu_span(m->w, &span), 0);
	}
}

static void make_frames(struct making *m)
{
	struct frame_row row;
	uint64_t i;

	for (i = 1; i <= FRAMES; i++) {
		import_frame_init(&row, i, (int64_t)(i - 1) * FRAME_NS, (int64_t)i * FRAME_NS);
		row.engine_id = (int64_t)i * 10;
		row.cpu_ns = i == 2 ? NS_UNKNOWN : 5;
		row.wait_cap_ns = 7;
		row.events = i;
		row.flags = i == 1 ? FRAME_STARTUP : 0;
		assert_int_equal(import_frame(m->w, &row), 0);
	}
}

static void make_recording(struct source *s, uint64_t round)
{
	struct import_order order = {.directory = s->dir};
	struct import_result result = {0};
	struct making m = {0};

	seed = round * 7919;
	assert_int_equal(import_writer_new(&order, &m.w), 0);
	assert_int_equal(
		import_session(m.w, "random \"game\"", 0, UINT64_C(1790000000000000000), NULL), 0);
	make_markers(&m);
	make_track(&m, TRACK_THREAD, "main");
	make_track(&m, TRACK_THREAD, NULL);
	make_track(&m, TRACK_FIBER, "fi;ber");
	make_queue(&m);
	make_frames(&m);
	assert_int_equal(import_writer_finish(m.w, FRAMES * FRAME_NS, &result), 0);
	import_writer_free(m.w);
	source_open(s, result.capture.file);
	capture_deinit(&result.capture);
}

/* ---- What there is ----------------------------------------------------------------------------
 */

/* Zones and other events as lines. At one time only zones have an order among themselves. */
struct lines {
	FILE *zones, *points;
	char *zone_text, *point_text;
	size_t zone_bytes, point_bytes;
	const struct range *range;
};

static int line_track(void *userdata, size_t index, const struct track_row *t)
{
	struct lines *l = userdata;

	fprintf(l->zones, "track %zu %d %s %d\n", index, t->kind, t->name ? t->name : "-", t->tid);
	fprintf(l->points, "track %zu\n", index);
	return 0;
}

static int line_begin(void *userdata, uint32_t marker, int64_t t, uint32_t depth)
{
	struct lines *l = userdata;

	fprintf(l->zones, "%lld begin %u %s\n", (long long)range_ns(l->range, t), depth,
		export_name(l->range, marker));
	return 0;
}

static int line_end(void *userdata, const struct range_zone *z)
{
	struct lines *l = userdata;
	const struct marker_row *m = must((void *)(uintptr_t)range_marker(l->range, z->marker));

	fprintf(l->zones, "%lld end %u %s %d %s %u %x %s %d", (long long)range_ns(l->range, z->end),
		z->depth, m->name, m->kind, m->category ? m->category : "-", m->line, z->flags,
		z->text ? z->text : "-", z->has_value);
	if (z->has_value && z->value_is_double)
		fprintf(l->zones, " %a", z->value.d);
	else if (z->has_value)
		fprintf(l->zones, " %lld", (long long)z->value.i);
	fputc('\n', l->zones);
	return 0;
}

static int line_event(void *userdata, const struct range_event *e)
{
	struct lines *l = userdata;

	fprintf(l->points, "%lld %d %s %s %x %lld\n", (long long)range_ns(l->range, e->t), e->kind,
		e->marker ? export_name(l->range, e->marker) : "-", e->text ? e->text : "-",
		e->colour, (long long)e->value.i);
	return 0;
}

static int line_gpu(void *userdata, const struct range_gpu_zone *z)
{
	struct lines *l = userdata;
	const struct gpu_span_row *s = &z->span;

	fprintf(l->zones, "gpu %u %lld %lld %llu %llu %u %llu %llu %llu %d\n", z->depth,
		(long long)s->begin_ns, (long long)s->end_ns, (unsigned long long)s->frame,
		(unsigned long long)s->submission, s->view, (unsigned long long)s->fence,
		(unsigned long long)s->raw_begin, (unsigned long long)s->raw_end, s->calibrated);
	return 0;
}

static void read_lines(struct source *s, struct lines *l)
{
	const struct range_visitor visitor = {
		.userdata = l,
		.track = line_track,
		.begin = line_begin,
		.end = line_end,
		.event = line_event,
		.gpu = line_gpu,
	};
	size_t i;

	l->range = &s->range;
	l->zones = must(open_memstream(&l->zone_text, &l->zone_bytes));
	l->points = must(open_memstream(&l->point_text, &l->point_bytes));
	for (i = 0; i < s->range.frames.frames.count; i++) {
		const struct frame_row *f = &s->range.frames.frames.at[i].row;

		fprintf(l->zones, "frame %llu %lld %lld %lld %lld %lld %llu %x\n",
			(unsigned long long)f->frame, (long long)f->begin_ns, (long long)f->end_ns,
			(long long)f->engine_id, (long long)f->cpu_ns, (long long)f->wait_cap_ns,
			(unsigned long long)f->events, f->flags);
	}
	assert_int_equal(range_visit(s->history, &s->range, &visitor), 0);
	fclose(l->zones);
	fclose(l->points);
}

static void lines_deinit(struct lines *l)
{
	free(l->zone_text);
	free(l->point_text);
}

/* ---- Exporting --------------------------------------------------------------------------------
 */

static int export_to(struct source *s, enum export_format format)
{
	const struct export_order order = {.history = s->history, .range = &s->range};
	struct export_report report;
	FILE *f = must(tmpfile());
	int fd = dup(fileno(f));

	fclose(f);
	assert_int_equal(export_run(format, &order, fd, &report), 0);
	assert_string_equal(report.lost, "");
	return fd;
}

static char *export_string_of(struct source *s, enum export_format format)
{
	int fd = export_to(s, format);
	off_t bytes = lseek(fd, 0, SEEK_END);
	char *text = must(calloc(1, (size_t)bytes + 1));

	assert_int_equal(pread(fd, text, (size_t)bytes, 0), bytes);
	close(fd);
	return text;
}

/* What comes back of an export. */
static void bring_back(struct source *from, struct source *ret)
{
	struct import_order order = {.fd = export_to(from, EXPORT_CHROME)};
	struct import_result result = {0};

	source_dir(ret);
	order.directory = ret->dir;
	assert_int_equal(import_chrome(&order, &result), 0);
	close(order.fd);
	assert_null(result.report.counts[0].name);
	assert_string_equal(result.report.frames_from, "fprof");
	source_open(ret, result.capture.file);
	capture_deinit(&result.capture);
}

static void importing_an_export_is_the_identity(void **state)
{
	uint64_t round;

	(void)state;
	for (round = 1; round <= 30; round++) {
		struct source there, back;
		struct lines a = {0}, b = {0};

		source_dir(&there);
		make_recording(&there, round);
		bring_back(&there, &back);
		read_lines(&there, &a);
		read_lines(&back, &b);
		assert_string_equal(a.zone_text, b.zone_text);
		assert_string_equal(a.point_text, b.point_text);
		assert_true(a.zone_bytes > 2000);
		lines_deinit(&a);
		lines_deinit(&b);
		source_close(&there);
		source_close(&back);
	}
}

static void chrome_json_is_json(void **state)
{
	struct source s;
	char *text;
	json_t *json, *events, *event;
	json_error_t error;
	size_t i, zones = 0;

	(void)state;
	source_dir(&s);
	make_recording(&s, 5);
	text = export_string_of(&s, EXPORT_CHROME);
	json = json_loads(text, 0, &error);
	if (!json)
		fail_msg("line %d: %s", error.line, error.text);
	events = json_object_get(json, "traceEvents");
	json_array_foreach(events, i, event)
	{
		assert_non_null(json_string_value(json_object_get(event, "name")));
		zones += !strcmp(json_string_value(json_object_get(event, "ph")), "X");
	}
	assert_true(zones > 100);
	json_decref(json);
	free(text);
	source_close(&s);
}

static void numbers_are_printed_exactly(void **state)
{
	static const struct {
		int64_t ns;
		const char *us;
	} cases[] = {
		{0, "0.000"},
		{1, "0.001"},
		{999, "0.999"},
		{1000, "1.000"},
		{-1, "-0.001"},
		{-1500, "-1.500"},
		{INT64_C(1700000000000000691), "1700000000000000.691"},
		{INT64_MAX, "9223372036854775.807"},
		{INT64_MIN, "-9223372036854775.808"},
	};
	char text[32];
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		*export_put_us(text, cases[i].ns) = '\0';
		assert_string_equal(text, cases[i].us);
	}
	*export_put_int(text, INT64_MIN) = '\0';
	assert_string_equal(text, "-9223372036854775808");
}

/* The ns of all lines of folded stacks below a track: what the track's outermost zones last. */
static void folded_stacks_add_up(void **state)
{
	struct source s;
	char *text, *line, *rest = NULL;
	long long sum = 0, outer = 0, value;
	struct lines l = {0};

	(void)state;
	source_dir(&s);
	make_recording(&s, 9);
	text = export_string_of(&s, EXPORT_FOLDED);
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char *space = must(strrchr(line, ' '));

		assert_null(strchr(line, '\r'));
		value = strtoll(space + 1, NULL, 10);
		assert_true(value > 0);
		if (!strncmp(line, "main;", 5))
			sum += value;
		assert_null(strstr(line, "fi;ber"));
	}
	read_lines(&s, &l);
	rest = NULL;
	for (line = strtok_r(l.zone_text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		if (!strncmp(line, "track 1 ", 8))
			break;
		if (strstr(line, " begin 0 "))
			outer -= strtoll(line, NULL, 10);
		else if (strstr(line, " end 0 "))
			outer += strtoll(line, NULL, 10);
	}
	assert_true(outer > 0);
	assert_int_equal(sum, outer);
	lines_deinit(&l);
	free(text);
	source_close(&s);
}

static void a_full_disk_is_an_error(void **state)
{
	struct source s;
	struct export_report report;
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC), format;

	(void)state;
	assert_true(full >= 0);
	source_dir(&s);
	make_recording(&s, 3);
	for (format = 0; format < EXPORT_FORMATS; format++) {
		const struct export_order order = {.history = s.history, .range = &s.range};

		if (format != EXPORT_VPROF)
			assert_int_equal(
				export_run((enum export_format)format, &order, full, &report),
				-ENOSPC);
	}
	close(full);
	source_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(importing_an_export_is_the_identity),
		cmocka_unit_test(chrome_json_is_json),
		cmocka_unit_test(numbers_are_printed_exactly),
		cmocka_unit_test(folded_stacks_add_up),
		cmocka_unit_test(a_full_disk_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
