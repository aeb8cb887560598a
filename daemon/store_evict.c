/* SPDX-License-Identifier: MIT */
/*
 * Eviction moves one point per session forward: evicted_before. Events that end before it go, with
 * the counters, GPU spans and gaps of the frames that began before it; frames keep their rows for
 * EVICT_FRAME_ROWS more. Readers tell evicted frames by streams.events_from, the first frame that
 * began at or after that point. The point is the begin of the oldest frame that keeps its events,
 * or, when bytes are short, the end of as many of the oldest chunks as it takes.
 *
 * The newest chunk of a track that has been silent since stays while the track lives
 * (session->kept): a zone may be open in it that touches every frame up to now. It goes when the
 * track speaks again, and when bytes are short and nothing else is left.
 *
 * Of what goes zone_totals keeps what it came to. When a chunk is about to go that its rows do not
 * have, they are brought up to now, so that it is done once for as many frames as the history
 * holds.
 *
 * Freed pages are used again; the file never shrinks and never grows past its budget.
 */
#include "store_evict.h"

#include "sql.h"
#include "util.h"

#include <errno.h>

#define SWEEP_EVERY 64 /* evictions between looks for tracks of threads that are long gone */
/* Lead words that are not counted yet: a reader counts them in some 20 ms. */
#define UNMARKED_MAX 4000000u

enum statement {
	ST_PAGES,
	ST_FREE,
	ST_PAGE_SIZE,
	ST_FRAME_T0,
	ST_OLDEST,
	ST_CHUNKS,
	ST_NEWER,
	ST_ALIVE,
	ST_CHUNKS_DELETE,
	ST_FIRST_FROM,
	ST_STREAM_FROM,
	ST_COUNTERS_DELETE,
	ST_SPAN_UNMARKED,
	ST_SPANS_DELETE,
	ST_GAPS_DELETE,
	ST_SCHED_DELETE,
	ST_STACKS_DELETE,
	ST_FRAMES_DELETE,
	ST_GPUS_DELETE,
	ST_TRACKS_DELETE,
	STATEMENTS
};

static const char *const texts[STATEMENTS] = {
	[ST_PAGES] = "PRAGMA page_count",
	[ST_FREE] = "PRAGMA freelist_count",
	[ST_PAGE_SIZE] = "PRAGMA page_size",
	[ST_FRAME_T0] = "SELECT t0 FROM frames WHERE session=? AND stream=0 AND frame>=? "
			"ORDER BY frame LIMIT 1",
	[ST_OLDEST] = "SELECT t1, length(data) FROM chunks WHERE session=? AND t1>=? "
		      "ORDER BY t1",
	[ST_CHUNKS] = "SELECT id, t1, track, lane, length(data) FROM chunks "
		      "WHERE session=? AND t1>=? AND t1<? ORDER BY t1",
	[ST_NEWER] = "SELECT 1 FROM chunks WHERE session=? AND track=? AND lane=? "
		     "AND (t1, id) > (?, ?) LIMIT 1",
	[ST_ALIVE] = "SELECT end_ticks IS NULL FROM tracks WHERE session=? AND track=?",
	[ST_CHUNKS_DELETE] = "DELETE FROM chunks WHERE id BETWEEN ? AND ?",
	[ST_FIRST_FROM] = "SELECT frame FROM frames WHERE session=? AND stream=? AND frame>=? "
			  "AND t0>=? ORDER BY frame LIMIT 1",
	[ST_STREAM_FROM] = "UPDATE streams SET events_from=? WHERE session=? AND stream=?",
	[ST_COUNTERS_DELETE] = "DELETE FROM frame_counters WHERE session=? AND stream=? "
			       "AND frame<?",
	[ST_SPAN_UNMARKED] = "SELECT 1 FROM gpu_spans WHERE session=? AND frame<? AND +id>? "
			     "LIMIT 1",
	[ST_SPANS_DELETE] = "DELETE FROM gpu_spans WHERE session=? AND frame<?",
	[ST_SCHED_DELETE] = "DELETE FROM sched_chunks WHERE session=? AND t1<?",
	[ST_STACKS_DELETE] = "DELETE FROM stack_chunks WHERE session=? AND t1<?",
	[ST_GAPS_DELETE] = "DELETE FROM gaps WHERE session=? AND t1<?",
	[ST_FRAMES_DELETE] = "DELETE FROM frames WHERE session=? AND stream=? AND frame<=?",
	[ST_GPUS_DELETE] = "DELETE FROM frame_gpus WHERE session=? AND frame<=?",
	[ST_TRACKS_DELETE] =
		"DELETE FROM tracks WHERE session=?1 AND end_ticks<?2 AND track NOT IN "
		"(SELECT track FROM streams WHERE session=?1)",
};

/* A chunk that is about to go. */
struct candidate {
	int64_t id, t1;
	uint32_t track, lane;
	uint64_t bytes;
};

struct evictor {
	sqlite3 *db;
	struct stored_sessions *sessions;
	sqlite3_stmt *statements[STATEMENTS];
	VEC(struct candidate) candidates;
	VEC(int64_t) going; /* ids of those that do go */
};

int evictor_new(sqlite3 *db, struct stored_sessions *sessions, struct evictor **ret_evictor)
{
	struct evictor *e = calloc(1, sizeof(*e));
	size_t i;
	int r;

	if (!e)
		return -ENOMEM;
	e->db = db;
	e->sessions = sessions;
	for (i = 0; i < STATEMENTS; i++) {
		r = sql_prepare(db, texts[i], &e->statements[i]);
		if (r < 0) {
			evictor_free(e);
			return r;
		}
	}
	*ret_evictor = e;
	return 0;
}

void evictor_free(struct evictor *evictor)
{
	size_t i;

	if (!evictor)
		return;
	for (i = 0; i < STATEMENTS; i++)
		sqlite3_finalize(evictor->statements[i]);
	VEC_FREE(&evictor->candidates);
	VEC_FREE(&evictor->going);
	free(evictor);
}

int evictor_used(struct evictor *evictor, uint64_t *ret_bytes)
{
	int64_t pages = 0, unused = 0, size = 0;
	int r = sql_int_of(evictor->statements[ST_PAGES], &pages);

	if (r >= 0)
		r = sql_int_of(evictor->statements[ST_FREE], &unused);
	if (r >= 0)
		r = sql_int_of(evictor->statements[ST_PAGE_SIZE], &size);
	if (r < 0)
		return r;
	*ret_bytes = (uint64_t)((pages - unused) * size);
	return 0;
}

/* Runs a statement whose parameters are all integers. */
static int run_ints(struct evictor *e, enum statement which, const int64_t *values, size_t count)
{
	struct sql_binder b = sql_bind(e->statements[which]);
	size_t i;

	for (i = 0; i < count; i++)
		bind_int(&b, values[i]);
	return sql_run(&b);
}

/* The same for one that answers an integer: 1, 0 (no row), -errno. */
static int ask_ints(struct evictor *e, enum statement which, const int64_t *values, size_t count,
		    int64_t *ret_value)
{
	struct sql_binder b = sql_bind(e->statements[which]);
	size_t i;

	for (i = 0; i < count; i++)
		bind_int(&b, values[i]);
	return sql_int_of(b.stmt, ret_value);
}

static int find_candidates(struct evictor *e, const struct stored_session *s, int64_t before)
{
	_cleanup_reset_ sqlite3_stmt *stmt = e->statements[ST_CHUNKS];
	struct sql_binder b = sql_bind(stmt);
	int r;

	bind_uint(&b, s->id);
	bind_int(&b, s->scan_from);
	bind_int(&b, before);
	e->candidates.count = 0;
	while ((r = sql_step(stmt)) == 1) {
		struct sql_row row = sql_row(stmt);
		struct candidate c;

		c.id = row_int(&row);
		c.t1 = row_int(&row);
		c.track = row_u32(&row);
		c.lane = row_u32(&row);
		c.bytes = row_uint(&row);
		if (VEC_PUSH(&e->candidates, c) < 0)
			return -ENOMEM;
	}
	return r;
}

/* Brings the rows of zone_totals up to now; from then on the writer counts what it stores. Of
 * chunks that nobody counted those that end at from or later. */
static int count_zones(struct evictor *e, struct stored_session *s, int64_t from)
{
	int r = 0;

	s->touched = true;
	if (!s->totals) {
		s->totals = calloc(1, sizeof(*s->totals));
		if (!s->totals)
			return -ENOMEM;
		r = zone_totals_open(e->db, s->id, &s->mark, from, s->totals);
	}
	if (r == 0)
		r = zone_totals_write(e->db, s->id, s->totals);
	if (r < 0)
		return r;
	s->mark = s->totals->mark;
	s->unmarked_events = 0;
	return 0;
}

/* Before the candidates go. */
static int count_candidates(struct evictor *e, struct stored_session *s)
{
	size_t i;

	for (i = 0; i < e->candidates.count && s->mark.chunks != ZONE_TOTALS_UNKNOWN; i++)
		if (e->candidates.at[i].id > s->mark.chunks)
			return count_zones(e, s, INT64_MIN);
	return 0;
}

/* Is it the newest chunk of a track that lives? 1, 0, -errno. */
static int must_stay(struct evictor *e, const struct stored_session *s, const struct candidate *c)
{
	int64_t newer[] = {(int64_t)s->id, c->track, c->lane, c->t1, c->id}, ignored, alive = 0;
	int r;

	if (stored_session_has_newer(s, c->track, c->lane, c->id))
		return 0;
	r = ask_ints(e, ST_NEWER, newer, ARRAY_SIZE(newer), &ignored);
	if (r < 0 || r == 1)
		return r < 0 ? r : 0;
	r = ask_ints(e, ST_ALIVE, newer, 2, &alive);
	return r < 0 ? r : r == 1 && alive;
}

static bool is_kept(const struct stored_session *s, int64_t id)
{
	size_t i;

	for (i = 0; i < s->kept.count; i++)
		if (s->kept.at[i].id == id)
			return true;
	return false;
}

static void count_gone(struct stored_session *s, uint64_t bytes, struct evict_totals *totals)
{
	s->chunk_bytes -= MIN(s->chunk_bytes, bytes);
	totals->chunks++;
}

static int evict_candidate(struct evictor *e, struct stored_session *s, const struct candidate *c,
			   struct evict_totals *totals)
{
	int r = must_stay(e, s, c);

	if (r < 0)
		return r;
	if (r == 0) {
		stored_session_forget_chunk(s, c->track, c->lane, c->id);
		count_gone(s, c->bytes, totals);
		return VEC_PUSH(&e->going, c->id);
	}
	if (is_kept(s, c->id))
		return 0;
	return VEC_PUSH(&s->kept, ((struct kept_chunk){c->id, c->track, c->lane, c->bytes}));
}

static int by_id(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* What goes was stored together, so there are few gaps between the ids: a statement for each
 * stretch of them opens its cursors once, not for each chunk. */
static int delete_going(struct evictor *e)
{
	size_t i, count = e->going.count;
	int64_t stretch[2];
	int r = 0;

	if (count > 0)
		qsort(e->going.at, count, sizeof(*e->going.at), by_id);
	for (i = 0; i < count && r == 0; i++) {
		stretch[0] = e->going.at[i];
		while (i + 1 < count && e->going.at[i + 1] == e->going.at[i] + 1)
			i++;
		stretch[1] = e->going.at[i];
		r = run_ints(e, ST_CHUNKS_DELETE, stretch, 2);
	}
	return r;
}

static int evict_chunks(struct evictor *e, struct stored_session *s, int64_t before,
			struct evict_totals *totals)
{
	int r = find_candidates(e, s, before);
	size_t i;

	if (r == 0)
		r = count_candidates(e, s);
	e->going.count = 0;
	for (i = 0; i < e->candidates.count && r == 0; i++)
		r = evict_candidate(e, s, &e->candidates.at[i], totals);
	if (r == 0)
		r = delete_going(e);
	if (r == 0)
		s->scan_from = before;
	return r;
}

/* Moves a stream's first frame with events on. */
static int advance_stream(struct evictor *e, struct stored_session *s, struct stored_stream *stream,
			  struct evict_totals *totals)
{
	int64_t ask[] = {(int64_t)s->id, stream->stream, (int64_t)stream->events_from,
			 s->evicted_before};
	int64_t first = 0;
	int r = ask_ints(e, ST_FIRST_FROM, ask, ARRAY_SIZE(ask), &first);

	if (r < 0)
		return r;
	if (r == 0)
		first = (int64_t)stream->last_frame + 1;
	if ((uint64_t)first > stream->events_from) {
		int64_t set[] = {first, (int64_t)s->id, stream->stream};

		if (stream->stream == 0)
			totals->frames += (uint64_t)first - stream->events_from;
		stream->events_from = (uint64_t)first;
		r = run_ints(e, ST_STREAM_FROM, set, ARRAY_SIZE(set));
		if (r < 0)
			return r;
	}
	return run_ints(e, ST_COUNTERS_DELETE,
			(int64_t[]){(int64_t)s->id, stream->stream, (int64_t)stream->events_from},
			3);
}

static int evict_spans(struct evictor *e, struct stored_session *s, uint64_t before)
{
	int64_t ask[] = {(int64_t)s->id, (int64_t)before, s->mark.spans}, found;
	int r = 0;

	if (s->mark.chunks != ZONE_TOTALS_UNKNOWN)
		r = ask_ints(e, ST_SPAN_UNMARKED, ask, ARRAY_SIZE(ask), &found);
	if (r == 1)
		r = count_zones(e, s, INT64_MIN);
	return r < 0 ? r : run_ints(e, ST_SPANS_DELETE, ask, 2);
}

/* What belongs to frames whose events went. */
static int evict_details(struct evictor *e, struct stored_session *s, struct evict_totals *totals)
{
	struct stored_stream *main_stream = stored_session_stream(s, 0);
	int64_t id = (int64_t)s->id;
	size_t i;
	int r = main_stream ? 0 : -ENOMEM;

	for (i = 0; i < s->streams.count && r == 0; i++)
		r = advance_stream(e, s, &s->streams.at[i], totals);
	if (r == 0) {
		main_stream = stored_session_stream(s, 0);
		r = evict_spans(e, s, main_stream->events_from);
	}
	if (r == 0)
		r = run_ints(e, ST_SCHED_DELETE, (int64_t[]){id, s->evicted_before}, 2);
	if (r == 0)
		r = run_ints(e, ST_STACKS_DELETE, (int64_t[]){id, s->evicted_before}, 2);
	if (r == 0)
		r = run_ints(e, ST_GAPS_DELETE, (int64_t[]){id, s->evicted_before}, 2);
	if (r == 0 && s->evictions++ % SWEEP_EVERY == 0)
		r = run_ints(e, ST_TRACKS_DELETE, (int64_t[]){id, s->evicted_before}, 2);
	return r;
}

static int evict_before(struct evictor *e, struct stored_session *s, int64_t before,
			struct evict_totals *totals)
{
	int r;

	s->touched = true;
	s->evicted_before = MAX(s->evicted_before, before);
	r = evict_chunks(e, s, s->evicted_before, totals);
	return r < 0 ? r : evict_details(e, s, totals);
}

/* Rows of frames that are too old by themselves. */
static int evict_frame_rows(struct evictor *e, struct stored_session *s, uint64_t keep)
{
	size_t i;
	int r = 0;

	for (i = 0; i < s->streams.count && r == 0; i++) {
		const struct stored_stream *stream = &s->streams.at[i];
		int64_t last = (int64_t)(stream->last_frame - MIN(stream->last_frame, keep));
		int64_t id = (int64_t)s->id;

		if (last < 1)
			continue;
		r = run_ints(e, ST_FRAMES_DELETE, (int64_t[]){id, stream->stream, last}, 3);
		if (r == 0 && stream->stream == 0)
			r = run_ints(e, ST_GPUS_DELETE, (int64_t[]){id, last}, 2);
	}
	return r;
}

/* A spike that is not saved yet needs its frames longer than others last: for a bounded time, and
 * while there are bytes for them. first: the first to be kept without it. */
static uint64_t spare_held(struct stored_session *s, uint64_t last, uint64_t first)
{
	if (s->held_to == 0)
		return first;
	if (last > s->held_to + EVICT_HELD_FRAMES || last > s->held_from + EVICT_FRAME_ROWS) {
		s->held_to = 0;
		return first;
	}
	return MIN(first, s->held_from);
}

/* Leaves as many frames of the main stream, of which the last one is there or about to come. */
static int evict_frames(struct evictor *e, struct stored_session *s, uint64_t last, uint64_t frames,
			struct evict_totals *totals)
{
	struct stored_stream *main_stream = stored_session_stream(s, 0);
	int64_t ask[2], t0;
	uint64_t first;
	int r;

	if (!main_stream)
		return -ENOMEM;
	last = MAX(last, main_stream->last_frame);
	if (last < frames)
		return 0;
	first = spare_held(s, last, last - frames + 1);
	if (first <= main_stream->events_from)
		return 0;
	ask[0] = (int64_t)s->id;
	ask[1] = (int64_t)first;
	r = ask_ints(e, ST_FRAME_T0, ask, 2, &t0);
	if (r <= 0)
		return r;
	return evict_before(e, s, t0, totals);
}

int evictor_make_way(struct evictor *evictor, const struct evict_limits *limits, uint64_t session,
		     uint64_t last, struct evict_totals *totals)
{
	struct stored_session *s = stored_session_find(evictor->sessions, session);

	return s ? evict_frames(evictor, s, last, limits->frames, totals) : 0;
}

/* Rows of frames that have no events any more. */
static int clear_frame_rows(struct evictor *e, const struct stored_session *s)
{
	size_t i;
	int r = 0;

	for (i = 0; i < s->streams.count && r == 0; i++) {
		int64_t last = (int64_t)s->streams.at[i].events_from - 1;
		int64_t id = (int64_t)s->id, stream = s->streams.at[i].stream;

		r = run_ints(e, ST_FRAMES_DELETE, (int64_t[]){id, stream, last}, 3);
		if (r == 0 && stream == 0)
			r = run_ints(e, ST_GPUS_DELETE, (int64_t[]){id, last}, 2);
	}
	return r;
}

int evictor_clear(struct evictor *evictor, uint64_t session, int64_t before,
		  struct evict_totals *totals)
{
	struct stored_session *s = stored_session_find(evictor->sessions, session);
	int r;

	if (!s)
		return 0;
	r = evict_before(evictor, s, before, totals);
	if (r == 0)
		r = zone_totals_clear(evictor->db, s->id);
	if (r == 0) {
		stored_session_uncount(s);
		s->mark = (struct zone_totals_mark){0};
		r = count_zones(evictor, s, before);
	}
	return r < 0 ? r : clear_frame_rows(evictor, s);
}

/* Kept chunks go when nothing else is left. Returns 1 when there were any, 0, -errno. */
static int evict_kept(struct evictor *e, struct stored_session *s, struct evict_totals *totals)
{
	int r = 0, any = s->kept.count > 0;

	while (s->kept.count > 0 && r == 0) {
		const struct kept_chunk *kept = &s->kept.at[--s->kept.count];

		count_gone(s, kept->bytes, totals);
		r = run_ints(e, ST_CHUNKS_DELETE, (int64_t[]){kept->id, kept->id}, 2);
	}
	s->touched = true;
	return r < 0 ? r : any;
}

/* Evicts the oldest chunks of a session that come to bytes. 1: something went; 0: nothing is
 * left; -errno. */
static int evict_bytes(struct evictor *e, struct stored_session *s, uint64_t bytes,
		       struct evict_totals *totals)
{
	struct sql_binder b = sql_bind(e->statements[ST_OLDEST]);
	int64_t before = INT64_MIN;
	uint64_t found = 0, had = s->chunk_bytes;
	int r = 0;

	bind_uint(&b, s->id);
	bind_int(&b, s->scan_from);
	while (found < bytes && (r = sql_step(b.stmt)) == 1) {
		struct sql_row row = sql_row(b.stmt);

		before = row_int(&row);
		before += before < INT64_MAX;
		found += row_uint(&row);
	}
	sqlite3_reset(b.stmt);
	if (r >= 0 && found > 0)
		r = evict_before(e, s, before, totals);
	if (r < 0)
		return r;
	return s->chunk_bytes < had ? 1 : evict_kept(e, s, totals);
}

static const char *const session_tables[] = {
	"sessions",	  "session_totals", "memories",	    "markers",	     "tracks",
	"streams",	  "infos",	    "chunks",	    "gaps",	     "frames",
	"frame_counters", "gpu_spans",	    "frame_gpus",   "sampled",	     "samples",
	"thread_ran",	  "sched_chunks",   "stack_chunks", "stack_modules", "stack_symbols",
	"ledger",	  "zone_totals"};

static int evict_session(struct evictor *e, uint64_t id, struct evict_totals *totals)
{
	char sql[96];
	size_t i;
	int r = 0;

	for (i = 0; i < ARRAY_SIZE(session_tables) && r == 0; i++) {
		snprintf(sql, sizeof(sql), "DELETE FROM %s WHERE %s=%lld", session_tables[i],
			 i == 0 ? "id" : "session", (long long)id);
		r = sql_exec(e->db, sql);
	}
	if (r < 0)
		return r;
	stored_session_forget(e->sessions, id);
	totals->sessions++;
	return 0;
}

static bool has_frames(const struct stored_session *s)
{
	size_t i;

	for (i = 0; i < s->streams.count; i++)
		if (s->streams.at[i].last_frame > 0)
			return true;
	return false;
}

static size_t ended_of(const struct evictor *e, uint32_t uid)
{
	size_t i, count = 0;

	for (i = 0; i < e->sessions->all.count; i++)
		count += e->sessions->all.at[i]->state != SESSION_LIVE &&
			 e->sessions->all.at[i]->uid == uid;
	return count;
}

/* The ended session to go next: of the user with the most of them, so that nobody's short games
 * push another's out; those without a frame first, then the oldest. */
static struct stored_session *next_ended(const struct evictor *e, size_t *ret_count)
{
	struct stored_session *found = NULL;
	size_t i, count, most = 0;

	*ret_count = 0;
	for (i = 0; i < e->sessions->all.count; i++) {
		struct stored_session *s = e->sessions->all.at[i];

		if (s->state == SESSION_LIVE)
			continue;
		++*ret_count;
		count = ended_of(e, s->uid);
		if (found &&
		    (count < most || (count == most && (has_frames(s) || !has_frames(found)))))
			continue;
		found = s;
		most = count;
	}
	return found;
}

/* The session with the most events; one that is frozen only where no other has any. */
static struct stored_session *largest(const struct evictor *e)
{
	struct stored_session *found = NULL, *s;
	size_t i;

	for (i = 0; i < e->sessions->all.count; i++) {
		s = e->sessions->all.at[i];
		if (s->chunk_bytes == 0)
			continue;
		if (!found || (found->frozen && !s->frozen) ||
		    (found->frozen == s->frozen && s->chunk_bytes > found->chunk_bytes))
			found = s;
	}
	return found;
}

/* One step towards room for bytes: 1, 0 (nothing is left to evict), -errno. */
static int evict_some(struct evictor *e, uint64_t bytes, struct evict_totals *totals)
{
	size_t ended, sessions = e->sessions->all.count;
	struct stored_session *victim = next_ended(e, &ended);
	int r;

	if (victim && sessions > 1) {
		r = evict_session(e, victim->id, totals);
		return r < 0 ? r : 1;
	}
	victim = largest(e);
	return victim ? evict_bytes(e, victim, bytes, totals) : 0;
}

int evictor_make_room(struct evictor *evictor, const struct evict_limits *limits, uint64_t incoming,
		      struct evict_totals *totals)
{
	uint64_t used, want;
	int r;

	for (;;) {
		r = evictor_used(evictor, &used);
		if (r < 0 || used + incoming <= limits->pages_bytes)
			return r;
		want = used + incoming - limits->pages_bytes;
		r = evict_some(evictor, want, totals);
		if (r <= 0)
			return r;
	}
}

int evictor_trim(struct evictor *evictor, const struct evict_limits *limits,
		 struct evict_totals *totals)
{
	uint64_t rows = MAX(limits->frames, (uint64_t)EVICT_FRAME_ROWS);
	struct stored_session *s;
	size_t i, ended;
	int r = 0;

	for (i = 0; i < evictor->sessions->all.count && r == 0; i++) {
		s = evictor->sessions->all.at[i];
		if (!s->touched)
			continue;
		r = evict_frames(evictor, s, 0, limits->frames, totals);
		if (r == 0 && s->unmarked_events > UNMARKED_MAX &&
		    s->mark.chunks != ZONE_TOTALS_UNKNOWN)
			r = count_zones(evictor, s, INT64_MIN);
		while (r >= 0 && s->chunk_bytes > limits->session_bytes) {
			r = evict_bytes(evictor, s, s->chunk_bytes - limits->session_bytes, totals);
			if (r == 0)
				break;
		}
		if (r >= 0)
			r = evict_frame_rows(evictor, s, rows);
	}
	while (r == 0 && (s = next_ended(evictor, &ended)) && ended > EVICT_ENDED_SESSIONS)
		r = evict_session(evictor, s->id, totals);
	return r < 0 ? r : evictor_make_room(evictor, limits, 0, totals);
}
