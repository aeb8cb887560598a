// SPDX-License-Identifier: MIT
/*
 * A recording of VProf as a session of sums (aggregate.h). The timings of a frame are stored as
 * they are, so reading is about a copy. How wide long times are and whether ticks can number the
 * frames is guessed at first: as the format has them, and yes. Where a file turns out to be
 * otherwise, what was made of it is thrown away, it is looked through for both and read again.
 *
 * A tick is a frame and has the tick's number, where ticks rise from 1 or more on; else frames are
 * numbered from 1, and the answer says so. Frames lie end to end, each as long as its root's time.
 * What follows a fault in the file is not read; the answer and the session name it.
 */
#include "aggregate.h"
#include "chunk.h"
#include "import.h"
#include "sql.h"
#include "vprof.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define TRACK_NAME "VProf"
#define LONGEST_NS (INT64_C(1) << 62)

struct vprof_import {
	struct import_writer *writer;
	uint64_t session;
	struct vprof_survey survey;
	bool guessed; /* the survey */
	struct vprof_reader reader;
	sqlite3_stmt *add_node, *add_group, *add_block;
	VEC(uint64_t) group_frames; /* that each group came with */
	size_t rows;		    /* stored */
	uint8_t *block, *packed;    /* frames to be packed together */
	size_t block_bytes, block_capacity, packed_capacity;
	uint64_t block_first, number; /* frames: the block's first, the newest */
	int64_t ns;		      /* end of the newest frame */
};

static int prepare(struct vprof_import *v)
{
	sqlite3 *db = import_writer_db(v->writer);
	int r = sql_prepare(db,
			    "INSERT INTO aggregate_nodes (session, seq, node, frame, parent, "
			    "tool_id, group_id, name) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
			    &v->add_node);

	if (r == 0)
		r = sql_prepare(db,
				"INSERT INTO aggregate_groups (session, group_id, frame, flags, "
				"name) VALUES (?, ?, ?, ?, ?)",
				&v->add_group);
	if (r == 0)
		r = sql_prepare(db,
				"INSERT INTO aggregate_frames (session, first_frame, last_frame, "
				"data) VALUES (?, ?, ?, ?)",
				&v->add_block);
	return r;
}

/* Before the file is closed. */
static void finalize(struct vprof_import *v)
{
	sqlite3_finalize(v->add_node);
	sqlite3_finalize(v->add_group);
	sqlite3_finalize(v->add_block);
}

static void deinit(struct vprof_import *v)
{
	vprof_reader_deinit(&v->reader);
	VEC_FREE(&v->group_frames);
	free(v->block);
	free(v->packed);
	import_writer_free(v->writer);
	memset(v, 0, sizeof(*v));
}

static int store_row(struct vprof_import *v, size_t seq)
{
	const struct vprof_row *row = &v->reader.rows.at[seq];
	const struct vprof_node *node = &v->reader.nodes.at[row->node];
	struct sql_binder b = sql_bind(v->add_node);

	bind_uint(&b, v->session);
	bind_uint(&b, seq);
	bind_uint(&b, row->node);
	bind_uint(&b, seq == 0 ? 0 : v->number);
	bind_int_or_null(&b, node->parent, VPROF_NONE);
	bind_int(&b, row->id);
	bind_uint(&b, row->group);
	bind_text(&b, node->name);
	return sql_run(&b);
}

static int store_group(struct vprof_import *v, size_t id)
{
	const struct vprof_group *group = &v->reader.groups.at[id];
	struct sql_binder b = sql_bind(v->add_group);

	bind_uint(&b, v->session);
	bind_uint(&b, id);
	bind_uint(&b, id < v->group_frames.count ? v->group_frames.at[id] : 0);
	bind_uint(&b, group->flags);
	bind_text(&b, group->name);
	return sql_run(&b);
}

/* Packs what the block holds. */
static int store_block(struct vprof_import *v)
{
	struct sql_binder b = sql_bind(v->add_block);
	size_t bound = chunk_pack_bound(v->block_bytes);
	long bytes;

	if (v->block_bytes == 0)
		return 0;
	if (bound > v->packed_capacity) {
		free(v->packed);
		v->packed = malloc(bound);
		v->packed_capacity = v->packed ? bound : 0;
	}
	if (!v->packed)
		return -ENOMEM;
	bytes = chunk_pack(v->packed, v->packed_capacity, v->block, v->block_bytes);
	if (bytes < 0)
		return (int)bytes;
	bind_uint(&b, v->session);
	bind_uint(&b, v->block_first);
	bind_uint(&b, v->number);
	bind_blob(&b, v->packed, (size_t)bytes);
	v->block_bytes = 0;
	return sql_run(&b);
}

static uint8_t *put_u32(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)v;
	p[1] = (uint8_t)(v >> 8);
	p[2] = (uint8_t)(v >> 16);
	p[3] = (uint8_t)(v >> 24);
	return p + 4;
}

static int add_to_block(struct vprof_import *v, const struct vprof_frame *f)
{
	size_t need = v->block_bytes + AGGREGATE_FRAME_HEADER + f->bytes;
	uint8_t *p;

	if (need > v->block_capacity) {
		size_t capacity = MAX(need, (size_t)AGGREGATE_BLOCK_BYTES * 2);

		p = realloc(v->block, capacity);
		if (!p)
			return -ENOMEM;
		v->block = p;
		v->block_capacity = capacity;
	}
	if (v->block_bytes == 0)
		v->block_first = v->number;
	p = put_u32(v->block + v->block_bytes, (uint32_t)v->number);
	p = put_u32(p, (uint32_t)f->tick);
	p = put_u32(p, (uint32_t)f->nodes);
	memcpy(p, f->timings, f->bytes);
	v->block_bytes = need;
	return need >= AGGREGATE_BLOCK_BYTES ? store_block(v) : 0;
}

static int add_frame_row(struct vprof_import *v, const struct vprof_frame *f)
{
	struct frame_row row;
	int64_t end = v->ns + (int64_t)f->root_units * VPROF_UNIT_NS;

	import_frame_init(&row, v->number, v->ns, end);
	row.engine_id = f->tick >= 0 ? f->tick : -1;
	v->ns = end;
	return import_frame(v->writer, &row);
}

static int add_frame(struct vprof_import *v, const struct vprof_frame *f)
{
	size_t i;
	int r = 0;

	v->number = v->survey.ticks_rise ? (uint64_t)f->tick : v->number + 1;
	for (; r == 0 && v->rows < f->rows; v->rows++)
		r = store_row(v, v->rows);
	for (i = v->group_frames.count; r == 0 && i < f->groups; i++)
		r = VEC_PUSH(&v->group_frames, i < VPROF_GROUPS_KNOWN ? 0 : v->number);
	if (r == 0)
		r = add_to_block(v, f);
	return r < 0 ? r : add_frame_row(v, f);
}

/* Reads all frames up to the end or to what cannot be read. -EAGAIN: the guess was wrong. */
static int add_frames(struct vprof_import *v, struct import_report *report)
{
	struct vprof_frame f;
	int r;

	while ((r = vprof_reader_next(&v->reader, &f)) > 0) {
		if (v->guessed && (f.tick < 1 || (uint64_t)f.tick <= v->number))
			return -EAGAIN;
		r = add_frame(v, &f);
		if (r < 0)
			return r;
		if (v->ns > LONGEST_NS) {
			import_report_add(report, "too_long", v->reader.frames, v->reader.at,
					  "the frames add up to more than 146 years; the rest is "
					  "left out");
			return 0;
		}
	}
	return r == 0 && v->guessed && v->reader.faulty ? -EAGAIN : r;
}

/* The guess was right: could long times have been wider all the same? */
static int confirm(struct vprof_import *v)
{
	int whole = 1;

	v->survey.long_times = v->reader.long_times;
	if (v->survey.long_times > 0)
		whole = vprof_is_whole(v->reader.data, v->reader.bytes, VPROF_LONG_LONG);
	v->survey.told = whole == 0;
	return MIN(whole, 0);
}

static int add_rest(struct vprof_import *v)
{
	size_t groups = MAX(v->group_frames.count, (size_t)VPROF_GROUPS_KNOWN), i;
	int r = v->rows == 0 ? store_row(v, v->rows++) : 0; /* the root of no frames at all */

	for (i = 0; i < groups && r == 0; i++)
		r = store_group(v, i);
	return r < 0 ? r : store_block(v);
}

static int begin_session(struct vprof_import *v, const struct import_order *order)
{
	uint32_t track;
	int r = import_session(v->writer, order->name ? order->name : "vprof", order->uid, 0, NULL);

	if (r == 0)
		r = import_track(v->writer, TRACK_THREAD, 0, TRACK_NAME, &track);
	if (r == 0)
		r = import_info(v->writer, "import.format", "vprof");
	if (r == 0)
		r = import_info(v->writer, "vprof.long_time_bytes",
				v->survey.long_bytes == VPROF_LONG_LONG ? "8" : "4");
	return r;
}

static const char *width_reason(const struct vprof_survey *survey)
{
	if (survey->told)
		return "only so is the file well-formed";
	if (survey->long_times == 0)
		return "no time needed them";
	return survey->long_bytes == VPROF_LONG_LONG ? "so more of the file can be read"
						     : "as the format has them";
}

/* What the answer says of how the file was read. */
static void describe(const struct vprof_import *v, struct import_report *report)
{
	const struct vprof_reader *r = &v->reader;
	int length;

	report->events = r->frames;
	report->zones = v->rows;
	report->bytes = r->at;
	snprintf(report->frames_from, sizeof(report->frames_from), "ticks, %s",
		 v->survey.ticks_rise ? "which number them"
				      : "numbered from 1: they do not rise from 1 or more on");
	length = snprintf(report->note, sizeof(report->note), "long times are of %u bytes: %s",
			  v->survey.long_bytes, width_reason(&v->survey));
	if (r->recoded)
		snprintf(report->note + length, sizeof(report->note) - (size_t)length,
			 "; names that are no UTF-8 are read as Windows-1252: %" PRIu64,
			 r->recoded);
	if (r->faulty)
		import_report_add(report, r->fault.truncated ? "truncated" : "malformed", r->frames,
				  r->fault.offset, "%s", r->fault.text);
}

/* Opens the reader. -EBADMSG with why: nothing of the file can be read. */
static int open_recording(struct vprof_import *v, const uint8_t *data, size_t bytes, char *why,
			  size_t size)
{
	struct vprof_frame f;
	int r = vprof_reader_init(&v->reader, data, bytes, v->survey.long_bytes);

	if (r == 0 && !v->guessed && v->survey.frames == 0) {
		r = vprof_reader_next(&v->reader, &f);
		if (v->reader.faulty)
			r = -EBADMSG;
	}
	if (r == -EBADMSG)
		snprintf(why, size, "%s (at byte %" PRIu64 ")", v->reader.fault.text,
			 v->reader.fault.offset);
	return r;
}

static int add_session(struct vprof_import *v, const struct import_order *order,
		       struct import_report *report)
{
	int r = import_writer_new(order, &v->writer);

	v->session = MAX(order->session, (uint64_t)IMPORT_SESSION);
	if (r == 0)
		r = prepare(v);
	if (r == 0)
		r = begin_session(v, order);
	if (r == 0)
		r = add_frames(v, report);
	if (r == 0 && v->guessed)
		r = confirm(v);
	if (r == 0)
		r = add_rest(v);
	if (r == 0)
		describe(v, report);
	if (r == 0 && v->reader.faulty)
		r = import_info(v->writer, "import.fault", v->reader.fault.text);
	return r;
}

/* One reading of the file, as the survey says. */
static int import_once(struct vprof_import *v, const uint8_t *data, size_t bytes,
		       const struct import_order *order, struct import_result *result)
{
	int r = open_recording(v, data, bytes, result->why, sizeof(result->why));

	if (r == 0)
		r = add_session(v, order, &result->report);
	finalize(v);
	if (r < 0)
		return r;
	result->capture.aggregate = true;
	return import_writer_finish(v->writer, v->ns, result);
}

static int import_bytes(const uint8_t *data, size_t bytes, const struct import_order *order,
			struct import_result *result)
{
	struct vprof_import v = {.survey = {VPROF_SHORT_LONG, .ticks_rise = true}, .guessed = true};
	int r = import_once(&v, data, bytes, order, result);

	deinit(&v);
	if (r != -EAGAIN)
		return r;
	r = vprof_survey(data, bytes, &v.survey);
	if (r == 0)
		r = import_once(&v, data, bytes, order, result);
	deinit(&v);
	return r;
}

int import_vprof(const struct import_order *order, struct import_result *result)
{
	struct stat st;
	static uint8_t nothing[1];
	uint8_t *data = nothing;
	size_t bytes;
	int r;

	if (fstat(order->fd, &st) < 0)
		return -errno;
	bytes = (size_t)st.st_size;
	if (bytes > 0) {
		data = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, order->fd, 0);
		if (data == MAP_FAILED)
			return -errno;
		madvise(data, bytes, MADV_SEQUENTIAL);
	}
	r = import_bytes(data, bytes, order, result);
	if (bytes > 0)
		munmap(data, bytes);
	return r;
}
