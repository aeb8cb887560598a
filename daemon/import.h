/* SPDX-License-Identifier: MIT */
/*
 * Bringing other tools' files in: each becomes a capture, a session of its own. What the importers
 * of all formats share: the answer's counts, and the writer that makes rows of zones, counters and
 * frames (batch.h) and puts them into a new capture file. One thread an import.
 *
 * All times are ns from the session's start: an imported session's clock has one tick a ns.
 */
#ifndef FPROF_DAEMON_IMPORT_H
#define FPROF_DAEMON_IMPORT_H

#include "batch.h"
#include "captures.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

enum import_format { IMPORT_AUTO, IMPORT_CHROME, IMPORT_VPROF, IMPORT_FORMATS };
extern const char *const import_format_names[IMPORT_FORMATS + 1]; /* NULL-terminated */

/* What was repaired or refused, by name, and the first offender. */
#define IMPORT_COUNTS_MAX 32
struct import_count {
	const char *name; /* static */
	uint64_t count;
};
struct import_report {
	struct import_count counts[IMPORT_COUNTS_MAX];
	struct import_count ignored[IMPORT_COUNTS_MAX]; /* understood, but nothing to store */
	bool any;					/* the three below mean something */
	uint64_t first_event;				/* the number in the file, from 0 */
	uint64_t first_byte;				/* where it begins */
	char first_what[160];
	uint64_t events, zones, frames, bytes; /* of the file; zones and frames stored */
	char frames_from[96];		       /* where frames came from, in words */
	char note[160];			       /* what else is to be said; "": nothing */
};
/* Counts one under name (static). byte: where the event begins. The first offender is the one with
 * the lowest event number, whenever it is found out. */
void import_report_add(struct import_report *report, const char *name, uint64_t event,
		       uint64_t byte, const char *format, ...)
	__attribute__((format(printf, 5, 6)));
void import_report_ignore(struct import_report *report, const char *name);

struct import_order {
	int fd;		       /* the whole file, seekable; read by pread */
	const char *directory; /* where the capture is made, and spill files */
	const char *name;      /* the session's; NULL: what the file says */
	const char *frames;    /* zone:NAME, instant:NAME, auto; NULL: auto */
	uint32_t uid;
	uint64_t session; /* the id to be given, of captures_next_id; 0: IMPORT_SESSION */
};

/* What an importer made: a finished capture file in order->directory. */
struct import_result {
	struct import_report report;
	struct capture capture; /* name, file, frames and so on: owned, capture_deinit */
	char why[256];		/* on failure: a sentence, with the byte offset */
};

/* One format's importer. 0; -EBADMSG: not such a file; -EFBIG: over a limit; -ENOSPC, -EIO, ... */
typedef int (*import_fn)(const struct import_order *order, struct import_result *result);
int import_chrome(const struct import_order *order, struct import_result *result);
int import_vprof(const struct import_order *order, struct import_result *result);

/* Imports the file and lists what became of it: 0 and the session's id. IMPORT_AUTO: by the first
 * bytes. */
int import_run(struct captures *captures, enum import_format format,
	       const struct import_order *order, struct import_result *result,
	       uint64_t *ret_session);

/* ---- Writing ------------------------------------------------------------------------------- */

#define IMPORT_SESSION	1u    /* the session's id within the file, if nothing else is said */
#define IMPORT_NAME_MAX 1024u /* bytes of a name; longer ones are cut */

struct import_writer;
struct import_lane;

/* Of the order: directory and session. */
int import_writer_new(const struct import_order *order, struct import_writer **ret_writer);
void import_writer_free(struct import_writer *w); /* removes what was not finished; NULL is fine */

/* The file's connection, for what there are no rows for here. What is prepared on it is finalized
 * before the end. */
sqlite3 *import_writer_db(struct import_writer *w);

/* First of all. name: UTF-8; start_utc_ns 0: not known; facts_json: an object or NULL. */
int import_session(struct import_writer *w, const char *name, uint32_t uid, uint64_t start_utc_ns,
		   const char *facts_json);
int import_info(struct import_writer *w, const char *key, const char *value);
/* A new marker (enum fprof_marker_kind; category NULL: none) and its id. -ENOSPC: there are too
 * many. */
int import_marker(struct import_writer *w, uint8_t kind, const char *name, const char *category,
		  uint32_t *ret_marker);
/* The same with all that a marker has; the strings are copied. */
int import_marker_row(struct import_writer *w, const struct marker_row *row, uint32_t *ret_marker);
/* A new track; its id counts from 1. The first is the main stream's unless import_main says. */
int import_track(struct import_writer *w, enum track_kind kind, int32_t tid, const char *name,
		 uint32_t *ret_track);
/* The same with all that a track has; the name is copied. */
int import_track_row(struct import_writer *w, const struct track_row *row, uint32_t *ret_track);
void import_main(struct import_writer *w, uint32_t track); /* the track of the main stream */

/*
 * The events of a lane of a track, in order of time. Lanes of a track overlap: zones nest within a
 * lane only. What is open when a lane is freed stays open.
 */
int import_lane_new(struct import_writer *w, uint32_t track, uint32_t lane,
		    struct import_lane **ret_lane);
int import_lane_finish(struct import_lane *lane); /* the rest goes out */
void import_lane_free(struct import_lane *lane);  /* NULL is fine */
uint32_t import_lane_depth(const struct import_lane *lane);
int import_begin(struct import_lane *lane, int64_t t, uint32_t marker); /* -E2BIG: too deep */
int import_end(struct import_lane *lane, int64_t t);
int import_truncate(struct import_lane *lane, int64_t t, uint32_t count);
int import_instant(struct import_lane *lane, int64_t t, uint32_t marker);
int import_message(struct import_lane *lane, int64_t t, uint32_t marker, uint32_t colour,
		   const char *text, size_t bytes);
int import_set_int(struct import_lane *lane, int64_t t, uint32_t marker, int64_t value);
int import_set_double(struct import_lane *lane, int64_t t, uint32_t marker, double value);
/* Of the innermost open zone. */
int import_text(struct import_lane *lane, int64_t t, const char *text, size_t bytes);
int import_value_int(struct import_lane *lane, int64_t t, int64_t value);
int import_value_double(struct import_lane *lane, int64_t t, double value);
int import_flags(struct import_lane *lane, int64_t t, uint32_t flags); /* enum zone_flags */

/* Rows; session is filled in. */
int import_frame(struct import_writer *w, const struct frame_row *row);
int import_frame_counter(struct import_writer *w, const struct frame_counter_row *row);
int import_gpu_span(struct import_writer *w, const struct gpu_span_row *row);
int import_frame_gpu(struct import_writer *w, const struct frame_gpu_row *row);

/* A row to fill: all unknown. */
void import_frame_init(struct frame_row *row, uint64_t number, int64_t t0, int64_t t1);

/* Ends the session at end_ns, checksums and syncs: the file is result->capture's. */
int import_writer_finish(struct import_writer *w, int64_t end_ns, struct import_result *result);

#endif
