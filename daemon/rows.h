/* SPDX-License-Identifier: MIT */
/*
 * Rows of batch.h as they come out of the database: the columns to select and how to read them,
 * used by history readers and by the look for sessions to resume. The rows own their strings.
 */
#ifndef FPROF_DAEMON_ROWS_H
#define FPROF_DAEMON_ROWS_H

#include "batch.h"
#include "sql.h"

#define ROWS_SESSION                                                                            \
	"s.id, s.pid, s.ns_pid, s.uid, s.process_start, s.image_id, s.boot_id, s.name, s.exe, " \
	"s.build_id, s.facts, s.clock_kind, s.clock_hz, s.clock_mult, s.clock_shift, "          \
	"s.start_ticks, s.start_utc_ns, s.abi_major, s.abi_minor, s.library_version, t.state"
#define ROWS_SESSION_FROM "sessions s JOIN session_totals t ON t.session = s.id"
void rows_session(struct sql_row *r, struct session_row *ret);

#define ROWS_UPDATE                                                                              \
	"t.session, t.state, t.end_reason, t.end_ns, t.end_unknown, t.threads_active, "          \
	"t.frames_total, t.produced, t.received, t.stored, t.overwritten, t.dropped_reentrant, " \
	"t.discarded_malformed, t.discarded_time, t.discarded_quota, t.discarded_hook_mark, "    \
	"t.discarded_not_recording, t.discarded_foreign_mark, t.unbalanced_ends, t.stray_ends, " \
	"t.truncated_zones, t.too_deep_zones, t.foreign_marks, t.times_backwards, "              \
	"t.late_events, t.gpu_dropped, t.counters_refused, t.clock_steps, t.heads_backwards, "   \
	"t.gpu_missing, "                                                                        \
	"t.refused_threads, t.refused_markers, t.refused_names, t.refused_truncated, "           \
	"t.refused_events, t.refused_arguments, t.refused_6, t.refused_7, "                      \
	"t.ring_fill_permille, t.fault, t.recording, t.recording_in_force, t.detail"
void rows_update(struct sql_row *r, struct session_update_row *ret);

#define ROWS_MARKER \
	"session, marker, kind, level, unit, dynamic, line, colour, name, category, file"
void rows_marker(struct sql_row *r, struct marker_row *ret);
/* Steps to the next one: 1: *ret_marker, the caller's to deinit; 0: the end; -errno. */
int rows_marker_next(sqlite3_stmt *stmt, struct marker_row *ret_marker);

#define ROWS_TRACK \
	"session, track, kind, tid, name, begin_ticks, end_ticks, ns_per_tick, valid_bits"
void rows_track(struct sql_row *r, struct track_row *ret);

#define ROWS_STREAM "session, stream, name, track"
void rows_stream(struct sql_row *r, struct stream_row *ret);

#define ROWS_FRAME                                                                           \
	"session, stream, frame, engine_id, t0, t1, begin_ns, end_ns, cpu_ns, wait_gpu_ns, " \
	"wait_present_ns, wait_cap_ns, events, lost_events, flags, track"
void rows_frame(struct sql_row *r, struct frame_row *ret);

#define ROWS_COUNTER "session, stream, frame, marker, incomplete, value"
void rows_counter(struct sql_row *r, struct frame_counter_row *ret);

#define ROWS_SPAN                                                                                \
	"session, frame, track, marker, submission, view, fence, begin_ns, end_ns, calibrated, " \
	"raw_begin, raw_end"
void rows_span(struct sql_row *r, struct gpu_span_row *ret);

#define ROWS_GPU "session, frame, track, span_ns, busy_ns, spans, missing, final"
void rows_gpu(struct sql_row *r, struct frame_gpu_row *ret);

#define ROWS_GAP "session, t1, track, lane, t0, events"
void rows_gap(struct sql_row *r, struct gap_row *ret);

#define ROWS_MEMORY "session, lane, memory_id, origin, bytes"
void rows_memory(struct sql_row *r, struct memory_row *ret);

#define ROWS_LEDGER                                                                               \
	"session, lane, slot, tail, base_ticks, serial, track, fiber_track, fiber, fiber_seq, "   \
	"produced, received, stored, overwritten, discarded_malformed, discarded_time, "          \
	"discarded_quota, discarded_hook_mark, discarded_not_recording, discarded_foreign_mark, " \
	"fill_permille, stack"
void rows_ledger(struct sql_row *r, struct ledger_row *ret);

#endif
