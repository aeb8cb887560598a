/* SPDX-License-Identifier: MIT */
/*
 * Frames and what readers add to their rows: the GPU's figures, which come later than the row, and
 * the flags that change after it was written (evicted, late events, GPU pending or incomplete).
 */
#include "history.h"

#include "history_impl.h"
#include "rows.h"
#include "util.h"

#include <errno.h>
#include <string.h>

void history_frames_deinit(struct history_frames *frames)
{
	VEC_FREE(&frames->frames);
	VEC_FREE(&frames->gpus);
	memset(frames, 0, sizeof(*frames));
}

static int read_rows(struct history *h, const int64_t *range, int64_t evicted_before,
		     struct history_frames *frames)
{
	sqlite3_stmt *stmt = history_ask(h, HISTORY_FRAMES, range, 4);
	struct history_frame *f;
	int r;

	while ((r = sql_step(stmt)) == 1) {
		struct sql_row row = sql_row(stmt);

		if (VEC_RESERVE(&frames->frames, 1) < 0)
			return -ENOMEM;
		f = &frames->frames.at[frames->frames.count++];
		memset(f, 0, sizeof(*f));
		rows_frame(&row, &f->row);
		f->gpu_ns = NS_UNKNOWN;
		if (f->row.t0 < evicted_before)
			f->row.flags |= FRAME_EVENTS_EVICTED;
	}
	return r;
}

/* What a queue's row means for its frame. The frame's own row may say pending from when it was
 * closed. */
static void apply_gpu(struct history_frame *f, const struct frame_gpu_row *gpu, bool first)
{
	if (first)
		f->row.flags &= ~(uint32_t)(FRAME_GPU_PENDING | FRAME_GPU_INCOMPLETE);
	if (!gpu->final)
		f->row.flags |= FRAME_GPU_PENDING;
	else if (gpu->missing > 0)
		f->row.flags |= FRAME_GPU_INCOMPLETE;
	f->gpu_ns = MAX(f->gpu_ns, gpu->span_ns);
}

/* Rows come by frame, as the frames do. A frame of which results are missing has no figure. */
static int read_gpus(struct history *h, uint64_t session, struct history_frames *frames)
{
	size_t count = frames->frames.count, at = 0;
	struct history_frame *f = frames->frames.at;
	int64_t range[] = {(int64_t)session, (int64_t)f[0].row.frame,
			   (int64_t)f[count - 1].row.frame};
	sqlite3_stmt *stmt = history_ask(h, HISTORY_GPUS, range, 3);
	uint64_t last = 0;
	int r;

	while ((r = sql_step(stmt)) == 1) {
		struct sql_row row = sql_row(stmt);
		struct history_frame_gpu gpu;

		rows_gpu(&row, &gpu.gpu);
		gpu.frame = gpu.gpu.frame;
		if (VEC_PUSH(&frames->gpus, gpu) < 0)
			return -ENOMEM;
		while (at < count && f[at].row.frame < gpu.frame)
			at++;
		if (at < count && f[at].row.frame == gpu.frame)
			apply_gpu(&f[at], &gpu.gpu, gpu.frame != last);
		last = gpu.frame;
	}
	for (at = 0; at < count; at++)
		if (f[at].row.flags & (FRAME_GPU_PENDING | FRAME_GPU_INCOMPLETE))
			f[at].gpu_ns = NS_UNKNOWN;
	return r;
}

size_t history_frames_after(const struct history_frames *frames, int64_t t)
{
	size_t low = 0, high = frames->frames.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (frames->frames.at[middle].row.t1 <= t)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* A chunk with late events counts for every frame that it overlaps: which one each event is from is
 * only known when it is decoded. */
static int read_late(struct history *h, uint64_t session, struct history_frames *frames)
{
	struct history_frame *f = frames->frames.at;
	size_t count = frames->frames.count, i;
	int64_t range[] = {(int64_t)session, f[0].row.t0, f[count - 1].row.t1};
	sqlite3_stmt *stmt = history_ask(h, HISTORY_LATE, range, 3);
	int r;

	while ((r = sql_step(stmt)) == 1) {
		struct sql_row row = sql_row(stmt);
		int64_t t0 = row_int(&row), t1 = row_int(&row);
		uint32_t late = row_u32(&row);

		for (i = history_frames_after(frames, t0); i < count && f[i].row.t0 <= t1; i++) {
			f[i].late_events += late;
			f[i].row.flags |= FRAME_LATE_EVENTS;
		}
	}
	return r;
}

/* Rows whose frame has results to come say so until a GPU row tells more; a named stream has none.
 */
int history_read_frames(struct history *h, uint64_t session, uint32_t stream, uint64_t from,
			uint64_t to, int64_t evicted_before, struct history_frames *ret_frames)
{
	int64_t range[] = {(int64_t)session, stream, (int64_t)MIN(from, (uint64_t)INT64_MAX),
			   (int64_t)MIN(to, (uint64_t)INT64_MAX)};
	int r = read_rows(h, range, evicted_before, ret_frames);

	if (r == 0 && ret_frames->frames.count > 0 && stream == 0)
		r = read_gpus(h, session, ret_frames);
	if (r == 0 && ret_frames->frames.count > 0)
		r = read_late(h, session, ret_frames);
	return r;
}

static int read_ends(struct history *h, uint64_t session, uint32_t stream,
		     struct history_frames *frames)
{
	int64_t key[] = {(int64_t)session, stream}, first = 0, last = 0;
	int r = history_ask_int(h, HISTORY_FIRST, key, 2, &first);

	if (r >= 0)
		r = history_ask_int(h, HISTORY_LAST, key, 2, &last);
	frames->first_row = (uint64_t)first;
	frames->last_row = (uint64_t)last;
	return r < 0 ? r : 0;
}

/* count > 0: the last count; else from..to. */
static int read_frames(struct history *h, uint64_t session, const char *name, uint64_t from,
		       uint64_t to, uint64_t count, struct history_frames *ret_frames)
{
	struct history_frames frames = {0};
	int64_t evicted_before;
	uint32_t stream;
	int r = history_begin(h);

	if (r < 0)
		return r;
	r = history_find_stream(h, session, name, &stream, &evicted_before);
	if (r == 0)
		r = read_ends(h, session, stream, &frames);
	if (count > 0) {
		to = frames.last_row;
		from = to - MIN(to, count) + 1;
	}
	if (r == 0)
		r = history_read_frames(h, session, stream, from, to, evicted_before, &frames);
	r = history_end(h, r);
	if (r < 0) {
		history_frames_deinit(&frames);
		return r;
	}
	*ret_frames = frames;
	return 0;
}

int history_frames(struct history *h, uint64_t session, const char *stream, uint64_t from,
		   uint64_t to, struct history_frames *ret_frames)
{
	return read_frames(h, session, stream, from, to, 0, ret_frames);
}

int history_frames_last(struct history *h, uint64_t session, const char *stream, uint64_t count,
			struct history_frames *ret_frames)
{
	if (count == 0)
		return read_frames(h, session, stream, 1, 0, 0, ret_frames);
	return read_frames(h, session, stream, 0, 0, count, ret_frames);
}

int history_slowest(struct history *h, uint64_t session, const char *stream, uint64_t *ret_frame)
{
	int64_t key[] = {(int64_t)session, 0, FRAME_STARTUP | FRAME_PAUSED | FRAME_LOADING,
			 INT64_MIN};
	int64_t evicted_before, frame = 0;
	uint32_t id;
	int r = history_begin(h);

	if (r < 0)
		return r;
	r = history_find_stream(h, session, stream, &id, &evicted_before);
	if (r == 0) {
		key[1] = id;
		key[3] = evicted_before;
		r = history_ask_int(h, HISTORY_SLOWEST, key, 4, &frame);
		r = r == 0 ? -ENOENT : MIN(r, 0);
	}
	r = history_end(h, r);
	if (r == 0)
		*ret_frame = (uint64_t)frame;
	return r;
}

static int read_near(struct history *h, const int64_t *values, history_nears_vec *frames)
{
	static const char text[] =
		"SELECT frame, begin_ns, end_ns, cpu_ns, track FROM frames "
		"WHERE session = ?1 AND stream = ?2 AND frame BETWEEN ?3 AND ?4 UNION ALL "
		"SELECT frame, begin_ns, end_ns, cpu_ns, track FROM frames_around "
		"WHERE session = ?1 AND stream = ?2 AND frame BETWEEN ?3 AND ?4 ORDER BY frame";
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	int r = sql_ask(h->db, text, values, 4, &stmt);

	while (r == 0 && (r = sql_step(stmt)) == 1) {
		struct sql_row row = sql_row(stmt);
		struct history_near f = {.frame = row_uint(&row)};

		f.begin_ns = row_int(&row);
		f.end_ns = row_int(&row);
		f.cpu_ns = row_int_or(&row, NS_UNKNOWN);
		f.track = row_u32(&row);
		r = VEC_PUSH(frames, f);
	}
	return r;
}

int history_near(struct history *h, uint64_t session, uint32_t stream, uint64_t first,
		 uint64_t last, history_nears_vec *ret_frames)
{
	const int64_t values[] = {(int64_t)session, stream, (int64_t)first - HISTORY_AROUND,
				  (int64_t)last + HISTORY_AROUND};
	history_nears_vec frames = {0};
	int r = history_begin(h);

	if (r < 0)
		return r;
	r = history_end(h, read_near(h, values, &frames));
	if (r < 0) {
		VEC_FREE(&frames);
		return r;
	}
	*ret_frames = frames;
	return 0;
}

static int read_ran(struct history *h, const int64_t *values, history_rans_vec *rans)
{
	static const char text[] =
		"SELECT ns, ran_ns FROM thread_ran WHERE session = ?1 AND tid = ?2 AND ns BETWEEN "
		"ifnull((SELECT max(ns) FROM thread_ran WHERE session = ?1 AND tid = ?2 "
		"AND ns <= ?3), ?3) AND "
		"ifnull((SELECT min(ns) FROM thread_ran WHERE session = ?1 AND tid = ?2 "
		"AND ns >= ?4), ?4) ORDER BY ns";
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	int r = sql_ask(h->db, text, values, 4, &stmt);

	while (r == 0 && (r = sql_step(stmt)) == 1) {
		struct sql_row row = sql_row(stmt);
		struct history_ran one = {.ns = row_int(&row)};

		one.ran_ns = row_int(&row);
		r = VEC_PUSH(rans, one);
	}
	return r;
}

int history_ran(struct history *h, uint64_t session, int32_t tid, int64_t from_ns, int64_t to_ns,
		history_rans_vec *ret_rans)
{
	const int64_t values[] = {(int64_t)session, tid, from_ns, to_ns};
	history_rans_vec rans = {0};
	int r = history_begin(h);

	if (r < 0)
		return r;
	r = history_end(h, read_ran(h, values, &rans));
	if (r < 0) {
		VEC_FREE(&rans);
		return r;
	}
	*ret_rans = rans;
	return 0;
}
