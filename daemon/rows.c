/* SPDX-License-Identifier: MIT */
/* Each function reads the columns of its ROWS_ list in that order. No state; any thread. */
#include "rows.h"

#include "shm/layout.h"

#include <errno.h>
#include <string.h>

void rows_session(struct sql_row *r, struct session_row *ret)
{
	ret->id = row_uint(r);
	ret->pid = (int32_t)row_int(r);
	ret->ns_pid = (int32_t)row_int(r);
	ret->uid = row_u32(r);
	ret->process_start = row_uint(r);
	ret->image_id = row_uint(r);
	ret->boot_id = row_text(r);
	ret->name = row_text(r);
	ret->exe = row_text(r);
	ret->build_id = row_text(r);
	ret->facts_json = row_text(r);
	ret->clock_kind = row_u32(r);
	ret->clock_hz = row_real(r);
	ret->clock_mult = row_uint(r);
	ret->clock_shift = row_u32(r);
	ret->start_ticks = row_uint(r);
	ret->start_utc_ns = row_uint(r);
	ret->abi_major = (uint16_t)row_int(r);
	ret->abi_minor = (uint16_t)row_int(r);
	ret->library_version = row_u32(r);
	ret->state = (enum session_state)row_int(r);
}

static void read_counts(struct sql_row *r, uint64_t *counts, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		counts[i] = row_uint(r);
}

static uint32_t record_state(uint32_t state)
{
	return state <= FPROF_STATE_FROZEN ? state : FPROF_STATE_STOPPED;
}

void rows_update(struct sql_row *r, struct session_update_row *ret)
{
	ret->id = row_uint(r);
	ret->state = (enum session_state)row_int(r);
	ret->end_reason = row_text(r);
	ret->end_ns = row_int_or(r, -1);
	ret->end_unknown = row_int(r) != 0;
	ret->threads_active = row_u32(r);
	ret->frames_total = row_uint(r);
	ret->produced = row_uint(r);
	ret->received = row_uint(r);
	ret->stored = row_uint(r);
	ret->overwritten = row_uint(r);
	ret->dropped_reentrant = row_uint(r);
	read_counts(r, ret->discarded, DISCARD_REASONS);
	read_counts(r, ret->repaired, REPAIR_KINDS);
	read_counts(r, ret->refused, 8);
	ret->ring_fill_max_permille = row_u32(r);
	ret->fault = row_text(r);
	ret->record = record_state(row_u32(r));
	ret->record_in_force = record_state(row_u32(r));
	ret->detail = row_text(r);
}

void rows_marker(struct sql_row *r, struct marker_row *ret)
{
	ret->session = row_uint(r);
	ret->marker = row_u32(r);
	ret->kind = (uint8_t)row_int(r);
	ret->level = (uint8_t)row_int(r);
	ret->unit = (uint8_t)row_int(r);
	ret->dynamic = (uint8_t)row_int(r);
	ret->line = row_u32(r);
	ret->colour = row_u32(r);
	ret->name = row_text(r);
	ret->category = row_text(r);
	ret->file = row_text(r);
}

int rows_marker_next(sqlite3_stmt *stmt, struct marker_row *ret_marker)
{
	struct marker_row marker;
	struct sql_row row;
	int r = sql_step(stmt);

	if (r != 1)
		return r;
	row = sql_row(stmt);
	rows_marker(&row, &marker);
	if (row.error < 0) {
		marker_row_deinit(&marker);
		return row.error;
	}
	*ret_marker = marker;
	return 1;
}

void rows_track(struct sql_row *r, struct track_row *ret)
{
	ret->session = row_uint(r);
	ret->track = row_u32(r);
	ret->kind = (enum track_kind)row_int(r);
	ret->tid = (int32_t)row_int(r);
	ret->name = row_text(r);
	ret->begin_ticks = row_int(r);
	ret->end_ticks = row_int_or(r, INT64_MAX);
	ret->ns_per_tick = row_real(r);
	ret->valid_bits = row_u32(r);
}

void rows_stream(struct sql_row *r, struct stream_row *ret)
{
	ret->session = row_uint(r);
	ret->stream = row_u32(r);
	ret->name = row_text(r);
	ret->track = row_u32(r);
}

void rows_frame(struct sql_row *r, struct frame_row *ret)
{
	ret->session = row_uint(r);
	ret->stream = row_u32(r);
	ret->frame = row_uint(r);
	ret->engine_id = row_int_or(r, -1);
	ret->t0 = row_int(r);
	ret->t1 = row_int(r);
	ret->begin_ns = row_int(r);
	ret->end_ns = row_int(r);
	ret->cpu_ns = row_int_or(r, NS_UNKNOWN);
	ret->wait_gpu_ns = row_int_or(r, NS_UNKNOWN);
	ret->wait_present_ns = row_int_or(r, NS_UNKNOWN);
	ret->wait_cap_ns = row_int_or(r, NS_UNKNOWN);
	ret->events = row_uint(r);
	ret->lost_events = row_uint(r);
	ret->flags = row_u32(r);
	ret->track = row_u32(r);
}

void rows_counter(struct sql_row *r, struct frame_counter_row *ret)
{
	ret->session = row_uint(r);
	ret->stream = row_u32(r);
	ret->frame = row_uint(r);
	ret->marker = row_u32(r);
	ret->incomplete = row_int(r) != 0;
	ret->is_double = sqlite3_column_type(r->stmt, r->at) == SQLITE_FLOAT;
	if (ret->is_double)
		ret->value.d = row_real(r);
	else
		ret->value.i = row_int(r);
}

void rows_span(struct sql_row *r, struct gpu_span_row *ret)
{
	ret->session = row_uint(r);
	ret->frame = row_uint(r);
	ret->track = row_u32(r);
	ret->marker = row_u32(r);
	ret->submission = row_uint(r);
	ret->view = row_u32(r);
	ret->fence = row_uint(r);
	ret->begin_ns = row_int(r);
	ret->end_ns = row_int(r);
	ret->calibrated = row_int(r) != 0;
	ret->raw_begin = row_uint(r);
	ret->raw_end = row_uint(r);
}

void rows_gpu(struct sql_row *r, struct frame_gpu_row *ret)
{
	ret->session = row_uint(r);
	ret->frame = row_uint(r);
	ret->track = row_u32(r);
	ret->span_ns = row_int_or(r, NS_UNKNOWN);
	ret->busy_ns = row_int_or(r, NS_UNKNOWN);
	ret->spans = row_u32(r);
	ret->missing = row_u32(r);
	ret->final = row_int(r) != 0;
}

void rows_gap(struct sql_row *r, struct gap_row *ret)
{
	ret->session = row_uint(r);
	ret->t1 = row_int(r);
	ret->track = row_u32(r);
	ret->lane = row_u32(r);
	ret->t0 = row_int(r);
	ret->events = row_uint(r);
}

void rows_memory(struct sql_row *r, struct memory_row *ret)
{
	ret->session = row_uint(r);
	ret->lane = row_u32(r);
	ret->memory_id = row_uint(r);
	ret->origin = row_u32(r);
	ret->bytes = row_uint(r);
}

void rows_ledger(struct sql_row *r, struct ledger_row *ret)
{
	const void *stack;

	ret->session = row_uint(r);
	ret->lane = row_u32(r);
	ret->slot = row_u32(r);
	ret->tail = row_uint(r);
	ret->base_ticks = row_uint(r);
	ret->serial = row_u32(r);
	ret->track = row_u32(r);
	ret->fiber_track = row_u32(r);
	ret->fiber = row_uint(r);
	ret->fiber_seq = row_uint(r);
	ret->produced = row_uint(r);
	ret->received = row_uint(r);
	ret->stored = row_uint(r);
	ret->overwritten = row_uint(r);
	read_counts(r, ret->discarded, DISCARD_REASONS);
	ret->fill_permille = row_u32(r);
	stack = sqlite3_column_blob(r->stmt, r->at);
	ret->stack_bytes = (uint32_t)sqlite3_column_bytes(r->stmt, r->at++);
	ret->stack = NULL;
	if (ret->stack_bytes == 0)
		return;
	ret->stack = stack ? malloc(ret->stack_bytes) : NULL;
	if (ret->stack)
		memcpy(ret->stack, stack, ret->stack_bytes);
	else
		r->error = -ENOMEM;
}
