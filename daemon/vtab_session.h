/* SPDX-License-Identifier: MIT */
/*
 * What the events of a session mean: its clock, tracks, markers and frames, read once by whatever
 * decodes its chunks. One thread at a time.
 */
#ifndef FPROF_DAEMON_VTAB_SESSION_H
#define FPROF_DAEMON_VTAB_SESSION_H

#include "shm/clock_source.h"
#include "util.h"
#include "vtab_sqlite.h"

#include <stdint.h>

struct vtab_track {
	uint32_t track;
	char *name; /* NULL: none */
};
struct vtab_marker {
	char *name; /* NULL: there is no such marker */
	char *category, *file;
	uint32_t line;
};
/* A stretch of time: a frame of the main stream, or between or behind frames (frame 0). */
struct vtab_segment {
	int64_t t0, t1; /* ticks: [t0, t1) */
	uint64_t frame;
};
/* One memory's part of a track. */
struct vtab_part {
	uint32_t track, lane;
};

struct vtab_session {
	int64_t id; /* 0: not loaded */
	struct fprof_clock_rate rate;
	uint64_t base;
	int64_t end;			   /* ticks; all that is shown lies before it */
	VEC(struct vtab_track) tracks;	   /* by id */
	VEC(struct vtab_marker) markers;   /* markers.at[id] */
	VEC(struct vtab_segment) segments; /* by time, touching */
	VEC(struct vtab_part) parts;	   /* that have events; by track, lane */
};

/* Replaces what was loaded, unless it is this session. SQLITE_OK also for a session that is not
 * there: it has no parts. */
int vtab_session_load(sqlite3 *db, int64_t id, struct vtab_session *session);
void vtab_session_deinit(struct vtab_session *session);

/* The sessions that may be seen, within bounds, from the lowest id up. */
struct vtab_source;
int vtab_session_after(const struct vtab_source *source, int64_t after, int64_t last,
		       int64_t *ret_id);

int64_t vtab_session_ns(const struct vtab_session *session, int64_t ticks);
/* The first tick whose ns is ns or more. */
int64_t vtab_session_ticks(const struct vtab_session *session, int64_t ns);
/* NULL: not known. */
const struct vtab_track *vtab_session_track(const struct vtab_session *session, uint32_t track);
const struct vtab_marker *vtab_session_marker(const struct vtab_session *session, uint32_t marker);
/* The segment in which t lies; hint: where to look first. Before the first: SIZE_MAX. */
size_t vtab_session_segment(const struct vtab_session *session, int64_t t, size_t hint);

#endif
