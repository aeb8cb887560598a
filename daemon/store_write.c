/* SPDX-License-Identifier: MIT */
/*
 * One statement and one function for each kind of row. Rows replace what has the same key: the
 * drain sends a row again when something of it changed. Rows of a session that the history does not
 * have (it was evicted) are refused, so that nothing is stored that no session's eviction would
 * find again.
 *
 * Ids of chunks and GPU spans rise for ever, also when the highest were deleted: what has a higher
 * one than zone_totals goes to is not in them yet.
 */
#include "store_write.h"

#include "chunk.h"
#include "shm/layout.h"
#include "sql.h"
#include "util.h"

#include <errno.h>
#include <string.h>

#define SAMPLES_KEPT_NS INT64_C(600000000000) /* 10 minutes, the oldest go */

enum statement {
	ST_SESSION,
	ST_TOTALS_NEW,
	ST_TOTALS,
	ST_TOTALS_OWN,
	ST_MEMORY,
	ST_MARKER,
	ST_TRACK,
	ST_STREAM,
	ST_INFO,
	ST_CHUNK,
	ST_CHUNK_ID,
	ST_CHUNK_DELETE,
	ST_GAP,
	ST_FRAME,
	ST_COUNTER,
	ST_SPAN,
	ST_SPAN_ID,
	ST_GPU,
	ST_SAMPLED,
	ST_SAMPLE,
	ST_SAMPLES_TRIM,
	ST_RAN,
	ST_RAN_TRIM,
	ST_SCHED,
	ST_STACK,
	ST_STACK_MODULE,
	ST_STACK_SYMBOL,
	ST_LEDGER,
	STATEMENTS
};

static const char *const texts[STATEMENTS] = {
	[ST_SESSION] = "INSERT OR REPLACE INTO sessions (id, pid, ns_pid, uid, process_start, "
		       "image_id, boot_id, name, exe, build_id, facts, clock_kind, clock_hz, "
		       "clock_mult, clock_shift, start_ticks, start_utc_ns, abi_major, abi_minor, "
		       "library_version) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
	[ST_TOTALS_NEW] = "INSERT OR IGNORE INTO session_totals (session, state, "
			  "zones_counted_to) VALUES (?,?,0)",
	[ST_TOTALS] =
		"UPDATE session_totals SET state=?, end_reason=?, end_ns=?, end_unknown=?, "
		"threads_active=?, "
		"frames_total=?, produced=?, received=?, stored=?, overwritten=?, "
		"dropped_reentrant=?, discarded_malformed=?, discarded_time=?, discarded_quota=?, "
		"discarded_hook_mark=?, discarded_not_recording=?, discarded_foreign_mark=?, "
		"unbalanced_ends=?, "
		"stray_ends=?, truncated_zones=?, too_deep_zones=?, foreign_marks=?, "
		"times_backwards=?, late_events=?, gpu_dropped=?, counters_refused=?, "
		"clock_steps=?, heads_backwards=?, gpu_missing=?, refused_threads=?, "
		"refused_markers=?, "
		"refused_names=?, refused_truncated=?, refused_events=?, refused_arguments=?, "
		"refused_6=?, refused_7=?, ring_fill_permille=?, fault=?, recording=?, "
		"recording_in_force=?, detail=coalesce(?, detail) WHERE session=?",
	[ST_TOTALS_OWN] = "UPDATE session_totals SET threads_seen=?, next_track=?, chunk_bytes=?, "
			  "evicted_before_ticks=?, zones_counted_to=?, spans_counted_to=?, "
			  "zones_uncounted=? WHERE session=?",
	[ST_MEMORY] = "INSERT OR REPLACE INTO memories (session, lane, memory_id, origin, bytes) "
		      "VALUES (?,?,?,?,?)",
	[ST_MARKER] =
		"INSERT OR REPLACE INTO markers (session, marker, kind, level, unit, dynamic, "
		"line, colour, name, category, file) VALUES (?,?,?,?,?,?,?,?,?,?,?)",
	[ST_TRACK] = "INSERT OR REPLACE INTO tracks (session, track, kind, tid, name, begin_ticks, "
		     "end_ticks, ns_per_tick, valid_bits) VALUES (?,?,?,?,?,?,?,?,?)",
	[ST_STREAM] = "INSERT INTO streams (session, stream, name, track) VALUES (?,?,?,?) "
		      "ON CONFLICT DO UPDATE SET name=excluded.name, track=excluded.track",
	[ST_INFO] = "INSERT OR REPLACE INTO infos (session, key, value) VALUES (?,?,?)",
	[ST_CHUNK] = "INSERT INTO chunks (session, track, lane, t0, t1, events, depth_in, late, "
		     "raw_bytes, data) VALUES (?,?,?,?,?,?,?,?,?,?)",
	[ST_CHUNK_ID] = "UPDATE chunks SET id=?2 WHERE id=?1",
	[ST_CHUNK_DELETE] = "DELETE FROM chunks WHERE id=?",
	[ST_GAP] = "INSERT OR REPLACE INTO gaps (session, t1, track, lane, t0, events) "
		   "VALUES (?,?,?,?,?,?)",
	[ST_FRAME] = "INSERT OR REPLACE INTO frames (session, stream, frame, engine_id, t0, t1, "
		     "begin_ns, end_ns, cpu_ns, wait_gpu_ns, wait_present_ns, wait_cap_ns, events, "
		     "lost_events, flags, track) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
	[ST_COUNTER] = "INSERT OR REPLACE INTO frame_counters (session, stream, frame, marker, "
		       "incomplete, value) VALUES (?,?,?,?,?,?)",
	[ST_SPAN] = "INSERT INTO gpu_spans (session, frame, track, marker, submission, view, "
		    "fence, begin_ns, end_ns, calibrated, raw_begin, raw_end) "
		    "VALUES (?,?,?,?,?,?,?,?,?,?,?,?)",
	[ST_SPAN_ID] = "UPDATE gpu_spans SET id=?2 WHERE id=?1",
	[ST_GPU] = "INSERT OR REPLACE INTO frame_gpus (session, frame, track, span_ns, busy_ns, "
		   "spans, missing, final) VALUES (?,?,?,?,?,?,?,?)",
	[ST_SAMPLED] = "INSERT OR REPLACE INTO sampled (session, counter, name, module, source, "
		       "unit, cumulative) VALUES (?,?,?,?,?,?,?)",
	[ST_SAMPLE] = "INSERT OR REPLACE INTO samples (session, ns, counter, value) "
		      "VALUES (?,?,?,?)",
	[ST_SAMPLES_TRIM] = "DELETE FROM samples WHERE session=? AND ns<?",
	[ST_RAN] = "INSERT OR REPLACE INTO thread_ran (session, tid, ns, ran_ns) VALUES (?,?,?,?)",
	[ST_RAN_TRIM] = "DELETE FROM thread_ran WHERE session=? AND tid=? AND ns<?",
	[ST_SCHED] = "INSERT INTO sched_chunks (session, tid, t0, t1, records, data) "
		     "VALUES (?,?,?,?,?,?)",
	[ST_STACK] = "INSERT INTO stack_chunks (session, t0, t1, samples, data) "
		     "VALUES (?,?,?,?,?)",
	[ST_STACK_MODULE] = "INSERT OR REPLACE INTO stack_modules (session, module, path, "
			    "build_id, symbols, reason) VALUES (?,?,?,?,?,?)",
	[ST_STACK_SYMBOL] = "INSERT OR REPLACE INTO stack_symbols (session, module, lo, hi, name) "
			    "VALUES (?,?,?,?,?)",
	[ST_LEDGER] = "INSERT OR REPLACE INTO ledger (session, lane, slot, tail, base_ticks, "
		      "serial, track, fiber_track, fiber, fiber_seq, produced, received, stored, "
		      "overwritten, discarded_malformed, discarded_time, discarded_quota, "
		      "discarded_hook_mark, discarded_not_recording, discarded_foreign_mark, "
		      "fill_permille, stack) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
};

struct row_writer {
	struct stored_sessions *sessions;
	struct stored_session *last; /* found last: rows of one session come together */
	sqlite3_stmt *statements[STATEMENTS];
	sqlite3 *db;
	int64_t newest_chunk, newest_span; /* ids */
	uint8_t *packed;
	size_t packed_capacity;
	const struct batch *batch;   /* that is written */
	struct write_totals *totals; /* of it */
};

static int find_newest(struct row_writer *w)
{
	int r = sql_int(w->db,
			"SELECT max(ifnull((SELECT max(id) FROM chunks), 0), "
			"ifnull((SELECT max(zones_counted_to) FROM session_totals), 0))",
			&w->newest_chunk);

	if (r >= 0)
		r = sql_int(w->db,
			    "SELECT max(ifnull((SELECT max(id) FROM gpu_spans), 0), "
			    "ifnull((SELECT max(spans_counted_to) FROM session_totals), 0))",
			    &w->newest_span);
	return MIN(r, 0);
}

int row_writer_new(sqlite3 *db, struct stored_sessions *sessions, struct row_writer **ret_writer)
{
	struct row_writer *w = calloc(1, sizeof(*w));
	size_t i;
	int r;

	if (!w)
		return -ENOMEM;
	w->db = db;
	w->sessions = sessions;
	r = find_newest(w);
	for (i = 0; i < STATEMENTS && r == 0; i++)
		r = sql_prepare(db, texts[i], &w->statements[i]);
	if (r < 0) {
		row_writer_free(w);
		return r;
	}
	*ret_writer = w;
	return 0;
}

void row_writer_free(struct row_writer *writer)
{
	size_t i;

	if (!writer)
		return;
	for (i = 0; i < STATEMENTS; i++)
		sqlite3_finalize(writer->statements[i]);
	free(writer->packed);
	free(writer);
}

/* The session of a row, touched; NULL: not in the history. */
static struct stored_session *session_of(struct row_writer *w, uint64_t id)
{
	if (!w->last || w->last->id != id)
		w->last = stored_session_find(w->sessions, id);
	if (w->last)
		w->last->touched = true;
	return w->last;
}

static struct sql_binder binder(struct row_writer *w, enum statement which)
{
	return sql_bind(w->statements[which]);
}

static int write_session(struct row_writer *w, const struct session_row *row)
{
	struct sql_binder b = binder(w, ST_SESSION);
	int r;

	bind_uint(&b, row->id);
	bind_int(&b, row->pid);
	bind_int(&b, row->ns_pid);
	bind_uint(&b, row->uid);
	bind_uint(&b, row->process_start);
	bind_uint(&b, row->image_id);
	bind_text(&b, row->boot_id);
	bind_text(&b, row->name);
	bind_text(&b, row->exe);
	bind_text(&b, row->build_id);
	bind_text(&b, row->facts_json);
	bind_uint(&b, row->clock_kind);
	bind_real(&b, row->clock_hz);
	bind_uint(&b, row->clock_mult);
	bind_uint(&b, row->clock_shift);
	bind_uint(&b, row->start_ticks);
	bind_uint(&b, row->start_utc_ns);
	bind_uint(&b, row->abi_major);
	bind_uint(&b, row->abi_minor);
	bind_uint(&b, row->library_version);
	r = sql_run(&b);
	if (r < 0)
		return r;
	b = binder(w, ST_TOTALS_NEW);
	bind_uint(&b, row->id);
	bind_int(&b, row->state);
	return sql_run(&b);
}

static int write_new_session(struct row_writer *w, const struct session_row *row)
{
	struct stored_session *session = stored_session_get(w->sessions, row->id);
	int r = session ? 0 : -ENOMEM;

	if (r == 0)
		r = stored_session_keep_row(session, row);
	if (r == 0)
		r = write_session(w, row);
	if (r == 0) {
		session->touched = true;
		session->state = row->state;
		w->last = session;
	}
	return r;
}

int row_writer_restore(struct row_writer *writer, struct stored_session *session)
{
	session->touched = true;
	return write_session(writer, &session->row);
}

static void bind_counts(struct sql_binder *b, const uint64_t *counts, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		bind_uint(b, counts[i]);
}

static int write_update(struct row_writer *w, const struct session_update_row *row)
{
	struct sql_binder b = binder(w, ST_TOTALS);
	struct stored_session *session = session_of(w, row->id);

	session->state = row->state;
	session->frozen = row->state == SESSION_LIVE && row->record == FPROF_STATE_FROZEN;
	if (session->has_row)
		session->row.state = row->state;
	bind_int(&b, row->state);
	bind_text(&b, row->end_reason);
	bind_int_or_null(&b, row->end_ns, -1);
	bind_int(&b, row->end_unknown);
	bind_uint(&b, row->threads_active);
	bind_uint(&b, row->frames_total);
	bind_uint(&b, row->produced);
	bind_uint(&b, row->received);
	bind_uint(&b, row->stored);
	bind_uint(&b, row->overwritten);
	bind_uint(&b, row->dropped_reentrant);
	bind_counts(&b, row->discarded, DISCARD_REASONS);
	bind_counts(&b, row->repaired, REPAIR_KINDS);
	bind_counts(&b, row->refused, ARRAY_SIZE(row->refused));
	bind_uint(&b, row->ring_fill_max_permille);
	bind_text(&b, row->fault);
	bind_uint(&b, row->record);
	bind_uint(&b, row->record_in_force);
	bind_text(&b, row->detail);
	bind_uint(&b, row->id);
	return sql_run(&b);
}

static int write_memory(struct row_writer *w, const struct memory_row *row)
{
	struct sql_binder b = binder(w, ST_MEMORY);

	bind_uint(&b, row->session);
	bind_uint(&b, row->lane);
	bind_uint(&b, row->memory_id);
	bind_uint(&b, row->origin);
	bind_uint(&b, row->bytes);
	return sql_run(&b);
}

static int write_marker(struct row_writer *w, const struct marker_row *row)
{
	struct sql_binder b = binder(w, ST_MARKER);

	bind_uint(&b, row->session);
	bind_uint(&b, row->marker);
	bind_uint(&b, row->kind);
	bind_uint(&b, row->level);
	bind_uint(&b, row->unit);
	bind_uint(&b, row->dynamic);
	bind_uint(&b, row->line);
	bind_uint(&b, row->colour);
	bind_text(&b, row->name);
	bind_text(&b, row->category);
	bind_text(&b, row->file);
	return sql_run(&b);
}

static int write_track(struct row_writer *w, const struct track_row *row)
{
	struct sql_binder b = binder(w, ST_TRACK);
	struct stored_session *session = session_of(w, row->session);
	int r = 0;

	if (row->track >= session->next_track) {
		session->next_track = row->track + 1;
		session->threads_seen += row->kind == TRACK_THREAD;
	}
	if (session->totals)
		r = zone_totals_track(session->totals, row);
	if (r < 0)
		return r;
	bind_uint(&b, row->session);
	bind_uint(&b, row->track);
	bind_int(&b, row->kind);
	bind_int(&b, row->tid);
	bind_text(&b, row->name);
	bind_int(&b, row->begin_ticks);
	bind_int_or_null(&b, row->end_ticks, INT64_MAX);
	bind_real(&b, row->ns_per_tick);
	bind_uint(&b, row->valid_bits);
	return sql_run(&b);
}

static int insert_stream(struct row_writer *w, const struct stream_row *row)
{
	struct sql_binder b = binder(w, ST_STREAM);

	bind_uint(&b, row->session);
	bind_uint(&b, row->stream);
	bind_text(&b, row->name);
	bind_uint(&b, row->track);
	return sql_run(&b);
}

static int write_stream(struct row_writer *w, const struct stream_row *row)
{
	struct stored_session *session = session_of(w, row->session);

	return stored_session_stream(session, row->stream) ? insert_stream(w, row) : -ENOMEM;
}

static int write_info(struct row_writer *w, const struct info_row *row)
{
	struct sql_binder b = binder(w, ST_INFO);

	bind_uint(&b, row->session);
	bind_text(&b, row->key);
	bind_text(&b, row->value);
	return sql_run(&b);
}

/* A track that speaks again carries its open zones in its new chunk: the old one may go. */
static int drop_kept(struct row_writer *w, struct stored_session *session, uint32_t track,
		     uint32_t lane)
{
	struct sql_binder b = binder(w, ST_CHUNK_DELETE);
	size_t i;
	int r;

	for (i = 0; i < session->kept.count; i++)
		if (session->kept.at[i].track == track && session->kept.at[i].lane == lane)
			break;
	if (i == session->kept.count)
		return 0;
	bind_int(&b, session->kept.at[i].id);
	r = sql_run(&b);
	if (r < 0)
		return r;
	session->chunk_bytes -= MIN(session->chunk_bytes, session->kept.at[i].bytes);
	session->kept.at[i] = session->kept.at[--session->kept.count];
	return 0;
}

/* Returns the bytes in w->packed, or -ENOMEM. */
static long pack(struct row_writer *w, const struct chunk_row *row)
{
	size_t bound = chunk_pack_bound(row->bytes);
	uint8_t *grown;

	if (bound > w->packed_capacity) {
		grown = realloc(w->packed, bound);
		if (!grown)
			return -ENOMEM;
		w->packed = grown;
		w->packed_capacity = bound;
	}
	return chunk_pack(w->packed, w->packed_capacity, row->data, row->bytes);
}

/* The id of the row that was inserted last. SQLite gives the highest one again once its row is
 * gone: such a row gets the next. */
static int take_id(struct row_writer *w, enum statement change, int64_t *newest)
{
	int64_t id = sqlite3_last_insert_rowid(w->db);
	struct sql_binder b;

	if (id > *newest) {
		*newest = id;
		return 0;
	}
	b = binder(w, change);
	bind_int(&b, id);
	bind_int(&b, ++*newest);
	return sql_run(&b);
}

static int count_chunk(struct row_writer *w, const struct stored_session *session,
		       const struct chunk_row *row)
{
	struct zone_totals_chunk chunk = {.id = w->newest_chunk,
					  .t0 = row->t0,
					  .track = row->track,
					  .events = row->events,
					  .raw = row->data,
					  .bytes = row->bytes};

	if (row->counted && row->counts > 0) {
		chunk.counts = &w->batch->zone_counts.at[row->counts_from];
		chunk.count = row->counts;
	}
	return session->totals ? zone_totals_chunk(session->totals, &chunk) : 0;
}

static int write_chunk(struct row_writer *w, const struct chunk_row *row)
{
	struct sql_binder b = binder(w, ST_CHUNK);
	struct stored_session *session = session_of(w, row->session);
	long bytes = pack(w, row);
	int r;

	if (bytes < 0)
		return (int)bytes;
	r = drop_kept(w, session, row->track, row->lane);
	if (r < 0)
		return r;
	bind_uint(&b, row->session);
	bind_uint(&b, row->track);
	bind_uint(&b, row->lane);
	bind_int(&b, row->t0);
	bind_int(&b, row->t1);
	bind_uint(&b, row->events);
	bind_uint(&b, row->depth_in);
	bind_uint(&b, row->late);
	bind_uint(&b, row->bytes);
	bind_blob(&b, w->packed, (size_t)bytes);
	r = sql_run(&b);
	if (r == 0)
		r = take_id(w, ST_CHUNK_ID, &w->newest_chunk);
	if (r == 0)
		r = stored_session_note_chunk(session, row->track, row->lane, w->newest_chunk);
	if (r == 0)
		r = count_chunk(w, session, row);
	if (r < 0)
		return r;
	session->chunk_bytes += (uint64_t)bytes;
	session->unmarked_events += row->events;
	session->scan_from = MIN(session->scan_from, row->t1);
	session->newest_t1 = MAX(session->newest_t1, row->t1);
	w->totals->raw_bytes += row->bytes;
	w->totals->stored_bytes += (uint64_t)bytes;
	return 0;
}

static int write_gap(struct row_writer *w, const struct gap_row *row)
{
	struct sql_binder b = binder(w, ST_GAP);

	bind_uint(&b, row->session);
	bind_int(&b, row->t1);
	bind_uint(&b, row->track);
	bind_uint(&b, row->lane);
	bind_int(&b, row->t0);
	bind_uint(&b, row->events);
	return sql_run(&b);
}

/* A frame of a stream that nobody introduced gets one with a made name. */
static int know_stream(struct row_writer *w, const struct frame_row *row)
{
	struct stored_session *session = session_of(w, row->session);
	size_t known = session->streams.count;
	struct stored_stream *stream = stored_session_stream(session, row->stream);
	char name[32] = "main";

	if (!stream)
		return -ENOMEM;
	if (row->frame >= stream->last_frame) {
		stream->last_frame = row->frame;
		stream->last_t1 = row->t1;
	}
	if (session->streams.count == known)
		return 0;
	if (row->stream != 0)
		snprintf(name, sizeof(name), "stream %u", row->stream);
	return insert_stream(w, &(struct stream_row){.session = row->session,
						     .stream = row->stream,
						     .name = name,
						     .track = row->track});
}

static int write_frame(struct row_writer *w, const struct frame_row *row)
{
	struct sql_binder b = binder(w, ST_FRAME);
	int r = know_stream(w, row);

	if (r < 0)
		return r;
	bind_uint(&b, row->session);
	bind_uint(&b, row->stream);
	bind_uint(&b, row->frame);
	bind_int_or_null(&b, row->engine_id, -1);
	bind_int(&b, row->t0);
	bind_int(&b, row->t1);
	bind_int(&b, row->begin_ns);
	bind_int(&b, row->end_ns);
	bind_int_or_null(&b, row->cpu_ns, NS_UNKNOWN);
	bind_int_or_null(&b, row->wait_gpu_ns, NS_UNKNOWN);
	bind_int_or_null(&b, row->wait_present_ns, NS_UNKNOWN);
	bind_int_or_null(&b, row->wait_cap_ns, NS_UNKNOWN);
	bind_uint(&b, row->events);
	bind_uint(&b, row->lost_events);
	bind_uint(&b, row->flags);
	bind_uint(&b, row->track);
	return sql_run(&b);
}

static int write_counter(struct row_writer *w, const struct frame_counter_row *row)
{
	struct sql_binder b = binder(w, ST_COUNTER);

	bind_uint(&b, row->session);
	bind_uint(&b, row->stream);
	bind_uint(&b, row->frame);
	bind_uint(&b, row->marker);
	bind_int(&b, row->incomplete);
	if (row->is_double)
		bind_real(&b, row->value.d);
	else
		bind_int(&b, row->value.i);
	return sql_run(&b);
}

static int count_span(struct row_writer *w, const struct stored_session *session,
		      const struct gpu_span_row *row)
{
	const struct zone_totals_span span = {.id = w->newest_span,
					      .begin_ns = row->begin_ns,
					      .end_ns = row->end_ns,
					      .track = row->track,
					      .marker = row->marker,
					      .frame = row->frame};

	return session->totals ? zone_totals_span(session->totals, &span) : 0;
}

static int write_span(struct row_writer *w, const struct gpu_span_row *row)
{
	struct sql_binder b = binder(w, ST_SPAN);
	int r;

	bind_uint(&b, row->session);
	bind_uint(&b, row->frame);
	bind_uint(&b, row->track);
	bind_uint(&b, row->marker);
	bind_uint(&b, row->submission);
	bind_uint(&b, row->view);
	bind_uint(&b, row->fence);
	bind_int(&b, row->begin_ns);
	bind_int(&b, row->end_ns);
	bind_int(&b, row->calibrated);
	bind_uint(&b, row->raw_begin);
	bind_uint(&b, row->raw_end);
	r = sql_run(&b);
	if (r == 0)
		r = take_id(w, ST_SPAN_ID, &w->newest_span);
	return r < 0 ? r : count_span(w, session_of(w, row->session), row);
}

static int write_gpu(struct row_writer *w, const struct frame_gpu_row *row)
{
	struct sql_binder b = binder(w, ST_GPU);

	bind_uint(&b, row->session);
	bind_uint(&b, row->frame);
	bind_uint(&b, row->track);
	bind_int_or_null(&b, row->span_ns, NS_UNKNOWN);
	bind_int_or_null(&b, row->busy_ns, NS_UNKNOWN);
	bind_uint(&b, row->spans);
	bind_uint(&b, row->missing);
	bind_int(&b, row->final);
	return sql_run(&b);
}

static int write_sampled(struct row_writer *w, const struct sampled_row *row)
{
	struct sql_binder b = binder(w, ST_SAMPLED);

	bind_uint(&b, row->session);
	bind_uint(&b, row->counter);
	bind_text(&b, row->name);
	bind_text(&b, row->module);
	bind_text(&b, row->source);
	bind_uint(&b, row->unit);
	bind_int(&b, row->cumulative);
	return sql_run(&b);
}

static int write_sample(struct row_writer *w, const struct sample_row *row)
{
	struct sql_binder b = binder(w, ST_SAMPLE);

	bind_uint(&b, row->session);
	bind_int(&b, row->ns);
	bind_uint(&b, row->counter);
	bind_int(&b, row->value);
	return sql_run(&b);
}

/* Samples of one session, which come in a batch of their own, and the end of its old ones. */
static int write_samples(struct row_writer *w, const struct batch *b)
{
	struct sql_binder trim = binder(w, ST_SAMPLES_TRIM);
	size_t i;
	int r = 0;

	if (b->samples.count == 0 || !session_of(w, b->samples.at[0].session))
		return 0;
	for (i = 0; i < b->samples.count && r == 0; i++)
		r = write_sample(w, &b->samples.at[i]);
	if (r < 0)
		return r;
	bind_uint(&trim, b->samples.at[0].session);
	bind_int(&trim, b->samples.at[0].ns - SAMPLES_KEPT_NS);
	return sql_run(&trim);
}

/* A thread's reading, and the end of its old ones. */
static int write_ran(struct row_writer *w, const struct ran_row *row)
{
	struct sql_binder b = binder(w, ST_RAN), trim;
	int r;

	if (!session_of(w, row->session))
		return 0;
	bind_uint(&b, row->session);
	bind_int(&b, row->tid);
	bind_int(&b, row->ns);
	bind_int(&b, row->ran_ns);
	r = sql_run(&b);
	if (r < 0)
		return r;
	trim = binder(w, ST_RAN_TRIM);
	bind_uint(&trim, row->session);
	bind_int(&trim, row->tid);
	bind_int(&trim, row->ns - SAMPLES_KEPT_NS);
	return sql_run(&trim);
}

static int write_sched(struct row_writer *w, const struct sched_row *row)
{
	const struct chunk_row as = {.data = row->data, .bytes = row->bytes};
	struct sql_binder b = binder(w, ST_SCHED);
	long bytes = pack(w, &as);

	if (bytes < 0)
		return (int)bytes;
	bind_uint(&b, row->session);
	bind_int(&b, row->tid);
	bind_int(&b, row->t0);
	bind_int(&b, row->t1);
	bind_uint(&b, row->records);
	bind_blob(&b, w->packed, (size_t)bytes);
	return sql_run(&b);
}

static int write_stack(struct row_writer *w, const struct stack_row *row)
{
	const struct chunk_row as = {.data = row->data, .bytes = row->bytes};
	struct sql_binder b = binder(w, ST_STACK);
	long bytes = pack(w, &as);

	if (bytes < 0)
		return (int)bytes;
	bind_uint(&b, row->session);
	bind_int(&b, row->t0);
	bind_int(&b, row->t1);
	bind_uint(&b, row->samples);
	bind_blob(&b, w->packed, (size_t)bytes);
	return sql_run(&b);
}

static int write_stack_module(struct row_writer *w, const struct stack_module_row *row)
{
	struct sql_binder b = binder(w, ST_STACK_MODULE);

	bind_uint(&b, row->session);
	bind_uint(&b, row->module);
	bind_text(&b, row->path);
	bind_text(&b, *row->build_id ? row->build_id : NULL);
	bind_text(&b, row->symbols);
	bind_text(&b, *row->reason ? row->reason : NULL);
	return sql_run(&b);
}

static int write_stack_symbol(struct row_writer *w, const struct stack_symbol_row *row)
{
	struct sql_binder b = binder(w, ST_STACK_SYMBOL);

	bind_uint(&b, row->session);
	bind_uint(&b, row->module);
	bind_uint(&b, row->lo);
	bind_uint(&b, row->hi);
	bind_text(&b, row->name);
	return sql_run(&b);
}

static int write_ledger(struct row_writer *w, const struct ledger_row *row)
{
	struct sql_binder b = binder(w, ST_LEDGER);

	bind_uint(&b, row->session);
	bind_uint(&b, row->lane);
	bind_uint(&b, row->slot);
	bind_uint(&b, row->tail);
	bind_uint(&b, row->base_ticks);
	bind_uint(&b, row->serial);
	bind_uint(&b, row->track);
	bind_uint(&b, row->fiber_track);
	bind_uint(&b, row->fiber);
	bind_uint(&b, row->fiber_seq);
	bind_uint(&b, row->produced);
	bind_uint(&b, row->received);
	bind_uint(&b, row->stored);
	bind_uint(&b, row->overwritten);
	bind_counts(&b, row->discarded, DISCARD_REASONS);
	bind_uint(&b, row->fill_permille);
	bind_blob(&b, row->stack, row->stack_bytes);
	return sql_run(&b);
}

/* After a row of events lead words: what the schema refuses costs this row, not the batch. */
static int row_done(struct row_writer *w, int r, uint64_t events)
{
	if (r != -EINVAL)
		return r;
	w->totals->rows_refused++;
	w->totals->events_refused += events;
	return 0;
}

/* Writes all rows of one member of a batch with fn; lost: the lead words in row i. */
#define WRITE_ROWS(w, rows, fn, id, lost)                                                      \
	for (i = 0; i < (rows).count && r == 0; i++)                                           \
	r = row_done((w), session_of((w), (rows).at[i].id) ? fn((w), &(rows).at[i]) : -EINVAL, \
		     (lost))

static int write_names(struct row_writer *w, const struct batch *b)
{
	size_t i;
	int r = 0;

	for (i = 0; i < b->sessions.count && r == 0; i++)
		r = row_done(w, write_new_session(w, &b->sessions.at[i]), 0);
	WRITE_ROWS(w, b->memories, write_memory, session, 0);
	WRITE_ROWS(w, b->markers, write_marker, session, 0);
	WRITE_ROWS(w, b->tracks, write_track, session, 0);
	WRITE_ROWS(w, b->streams, write_stream, session, 0);
	WRITE_ROWS(w, b->infos, write_info, session, 0);
	return r;
}

static int write_events(struct row_writer *w, const struct batch *b)
{
	size_t i;
	int r = 0;

	WRITE_ROWS(w, b->chunks, write_chunk, session, b->chunks.at[i].events);
	WRITE_ROWS(w, b->gaps, write_gap, session, 0);
	WRITE_ROWS(w, b->frames, write_frame, session, 0);
	WRITE_ROWS(w, b->frame_counters, write_counter, session, 0);
	WRITE_ROWS(w, b->gpu_spans, write_span, session, 0);
	WRITE_ROWS(w, b->frame_gpus, write_gpu, session, 0);
	WRITE_ROWS(w, b->sampled, write_sampled, session, 0);
	WRITE_ROWS(w, b->rans, write_ran, session, 0);
	WRITE_ROWS(w, b->scheds, write_sched, session, 0);
	WRITE_ROWS(w, b->stacks, write_stack, session, 0);
	WRITE_ROWS(w, b->stack_modules, write_stack_module, session, 0);
	WRITE_ROWS(w, b->stack_symbols, write_stack_symbol, session, 0);
	return r == 0 ? write_samples(w, b) : r;
}

/* Eviction is to leave the frames of a spike alone until it is saved. */
static void hold_frames(struct row_writer *w, const struct spike_row *row)
{
	struct stored_session *s = session_of(w, row->session);

	if (!s || row->end)
		return;
	s->held_from = s->held_to ? MIN(s->held_from, row->first) : row->first;
	s->held_to = MAX(s->held_to, row->last);
}

int row_writer_batch(struct row_writer *writer, const struct batch *batch,
		     struct write_totals *totals)
{
	struct row_writer *w = writer;
	const struct batch *b = batch;
	size_t i;
	int r;

	w->batch = b;
	w->totals = totals;
	w->last = NULL;
	r = write_names(w, b);
	if (r == 0)
		r = write_events(w, b);
	WRITE_ROWS(w, b->ledgers, write_ledger, session, 0);
	WRITE_ROWS(w, b->updates, write_update, id, 0);
	for (i = 0; i < b->spikes.count && r == 0; i++)
		hold_frames(w, &b->spikes.at[i]);
	return r;
}

int row_writer_sessions(struct row_writer *writer)
{
	size_t i;
	int r = 0;

	for (i = 0; i < writer->sessions->all.count && r == 0; i++) {
		struct stored_session *s = writer->sessions->all.at[i];
		struct sql_binder b = binder(writer, ST_TOTALS_OWN);

		if (!s->touched)
			continue;
		bind_uint(&b, s->threads_seen);
		bind_uint(&b, s->next_track);
		bind_uint(&b, s->chunk_bytes);
		bind_int_or_null(&b, s->evicted_before, INT64_MIN);
		bind_int_or_null(&b, s->mark.chunks, ZONE_TOTALS_UNKNOWN);
		bind_int(&b, s->mark.spans);
		bind_uint(&b, s->mark.uncounted);
		bind_uint(&b, s->id);
		r = sql_run(&b);
	}
	return r;
}
