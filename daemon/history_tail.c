/* SPDX-License-Identifier: MIT */
/*
 * The unfinished tail of a stream: the time after its last frame, which no mark has ended. It has
 * no row, so what a row would say is made here from the chunks.
 *
 * A game that makes no marks is all tail. What is read of it is bounded by time and by events. Each
 * chunk says what was open at its start, so that the zones open at the end are known however long
 * ago they began.
 */
#include "history.h"

#include "history_impl.h"
#include "util.h"

#include <errno.h>
#include <string.h>

int history_read_clock(struct history *h, uint64_t session, struct history_clock *ret_clock)
{
	int64_t id = (int64_t)session;
	sqlite3_stmt *stmt = history_ask(h, HISTORY_CLOCK, &id, 1);
	struct sql_row row = sql_row(stmt);
	int r = sql_step(stmt);

	if (r == 1) {
		ret_clock->rate.mult = row_uint(&row);
		ret_clock->rate.shift = row_u32(&row);
		ret_clock->base = row_uint(&row);
	}
	sqlite3_reset(stmt);
	if (r == 1 && (ret_clock->rate.mult == 0 || ret_clock->rate.shift > 63))
		return -EBADMSG;
	return r == 0 ? -ENOENT : MIN(r, 0);
}

int64_t history_ns(const struct history_clock *clock, int64_t ticks)
{
	return fprof_clock_ns(&clock->rate, clock->base, clock->base + (uint64_t)ticks);
}

/* Where the last frame ended, its number and its thread; without one the session's begin. */
static int read_last(struct history *h, uint64_t session, uint32_t stream, struct frame_row *last)
{
	struct history_frames frames = {0};
	int64_t key[] = {(int64_t)session, stream}, number = 0, track = 0;
	int r = history_ask_int(h, HISTORY_LAST, key, 2, &number);

	if (r >= 0)
		r = history_ask_int(h, HISTORY_MARKING, key, 2, &track);
	last->track = (uint32_t)track;
	if (r < 0 || number == 0)
		return MIN(r, 0);
	r = history_read_frames(h, session, stream, (uint64_t)number, (uint64_t)number, INT64_MIN,
				&frames);
	if (r == 0 && frames.frames.count > 0)
		*last = frames.frames.at[0].row;
	history_frames_deinit(&frames);
	return r;
}

/* From the last frame's end to the newest event, but no longer than HISTORY_TAIL_NS. */
static int read_bounds(struct history *h, const struct history_clock *clock, struct frame_row *row,
		       bool *ret_cut)
{
	int64_t id = (int64_t)row->session, newest, longest;
	int r = history_ask_int(h, HISTORY_NEWEST, &id, 1, &newest);

	row->t1 = row->t0;
	if (r <= 0)
		return r;
	longest = (int64_t)fprof_clock_ticks(&clock->rate, 0, HISTORY_TAIL_NS);
	row->t1 = MAX(row->t0, MIN(newest, INT64_MAX - 1) + 1); /* the newest event is in it */
	*ret_cut = row->t0 < row->t1 - longest;
	if (*ret_cut)
		row->t0 = row->t1 - longest;
	return 0;
}

static void skip_evicted(struct frame_row *row, int64_t evicted_before)
{
	if (row->t0 >= evicted_before)
		return;
	row->flags |= FRAME_EVENTS_EVICTED;
	row->t0 = evicted_before;
	row->t1 = MAX(row->t1, row->t0);
}

/* Its events are those of the chunks that reach into it: no more than HISTORY_TAIL_EVENTS. */
static int count_events(struct history *h, struct frame_row *row, bool *cut)
{
	int64_t key[] = {(int64_t)row->session, row->t0};
	sqlite3_stmt *stmt = history_ask(h, HISTORY_SINCE, key, 2);
	int r;

	while ((r = sql_step(stmt)) == 1) {
		struct sql_row chunk = sql_row(stmt);
		int64_t t1 = row_int(&chunk);
		uint64_t events = row_uint(&chunk);

		if (row->events > 0 && row->events + events > HISTORY_TAIL_EVENTS) {
			*cut = true;
			row->t0 = t1;
			break;
		}
		row->events += events;
	}
	sqlite3_reset(stmt);
	return MIN(r, 0);
}

static int count_lost(struct history *h, struct frame_row *row)
{
	int64_t key[] = {(int64_t)row->session, row->t0, row->t1}, lost = 0;
	int r = history_ask_int(h, HISTORY_LOST, key, 3, &lost);

	row->lost_events = (uint64_t)lost;
	if (lost > 0)
		row->flags |= FRAME_LOST_EVENTS;
	return MIN(r, 0);
}

int history_read_tail(struct history *h, uint64_t session, const char *stream,
		      const struct history_clock *clock, struct history_tail *ret_tail)
{
	struct frame_row last = {0}, *row = &ret_tail->frame.row;
	int64_t evicted_before;
	uint32_t id;
	int r = history_find_stream(h, session, stream, &id, &evicted_before);

	if (r == 0)
		r = read_last(h, session, id, &last);
	if (r < 0)
		return r;
	memset(ret_tail, 0, sizeof(*ret_tail));
	ret_tail->number = last.frame + 1;
	ret_tail->frame.gpu_ns = NS_UNKNOWN;
	*row = (struct frame_row){
		.session = session,
		.stream = id,
		.engine_id = -1,
		.t0 = last.t1,
		.cpu_ns = NS_UNKNOWN,
		.wait_gpu_ns = NS_UNKNOWN,
		.wait_present_ns = NS_UNKNOWN,
		.wait_cap_ns = NS_UNKNOWN,
		.flags = FRAME_UNFINISHED | (last.frame == 0 ? FRAME_STARTUP : 0),
		.track = last.track,
	};
	r = read_bounds(h, clock, row, &ret_tail->cut);
	if (r == 0 && row->t1 > row->t0)
		r = count_events(h, row, &ret_tail->cut);
	if (r < 0)
		return r;
	skip_evicted(row, evicted_before);
	row->begin_ns = history_ns(clock, row->t0);
	row->end_ns = history_ns(clock, row->t1);
	return count_lost(h, row);
}
