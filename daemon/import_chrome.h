/* SPDX-License-Identifier: MIT */
/*
 * What the parts of the Chrome importer share: import_chrome.c reads the file, event by event, and
 * fills this; import_chrome_zones.c makes a session of it.
 */
#ifndef FPROF_DAEMON_IMPORT_CHROME_H
#define FPROF_DAEMON_IMPORT_CHROME_H

#include "import.h"
#include "import_sort.h"
#include "import_strings.h"
#include "trace_json.h"

#define CHROME_THREADS_MAX   16384u
#define CHROME_PROCESSES_MAX 16384u
#define CHROME_FRAMES_MAX    1000000u

/* import_record.kind. BEGIN and END are a pair, COMPLETE is all of a zone. */
enum chrome_kind {
	CHROME_BEGIN,
	CHROME_END, /* marker: the string of its name, 0: none */
	CHROME_COMPLETE,
	CHROME_INSTANT,
	CHROME_MESSAGE, /* extra: its text; value.i: colour */
	CHROME_COUNTER,
	CHROME_GPU, /* extra: struct chrome_span */
};
/* import_record.flags */
enum chrome_record_flags {
	CHROME_TIED = 1 << 0,	/* depth is what our own export says of a zone */
	CHROME_DOUBLE = 1 << 1, /* a counter's value */
};

/* What our own export adds to a zone, as an extra; text follows. */
struct chrome_note {
	uint32_t flags; /* enum zone_flags */
	bool has_value, value_is_double;
	union {
		int64_t i;
		double d;
	} value;
	bool has_text;
	uint16_t text_bytes;
};
/* Of a GPU zone of our own. */
struct chrome_span {
	uint64_t frame, submission, view, fence, raw_begin, raw_end;
	bool calibrated;
};

struct chrome_marker {
	uint8_t kind; /* enum fprof_marker_kind */
	uint8_t key;  /* the same, but FPROF_MARKER_ZONE for waits: events do not tell them apart */
	uint8_t unit, level, dynamic;
	uint32_t name, category, file; /* strings */
	uint32_t line, colour;
	uint32_t candidate; /* index into the frame sources + 1, 0: none */
	bool is_double;	    /* of a counter: some value was */
	uint32_t id;	    /* in the session, 0: not made yet */
};

struct chrome_thread {
	uint32_t pid, tid, name; /* strings; name 0: none given */
	bool begins, completes;	 /* has such events */
	bool used;		 /* has anything to show */
	struct track_row row;	 /* as our own export says: all but name and numbers */
	int64_t order;		 /* thread_sort_index */
};

struct chrome_process {
	uint32_t pid, name;
};

/* Numbers from 1 by what they stand for: open addressing. */
struct chrome_slot {
	uint32_t hash, number; /* number 0: free */
};
struct chrome_index {
	struct chrome_slot *slots;
	uint32_t mask, count;
};

/* A frame as our own export says it. */
struct chrome_frame {
	struct frame_row row; /* t0, t1: absolute */
};

struct chrome_boundary {
	uint32_t thread;
	int64_t begin, end; /* absolute; end of a B: its begin */
};

/* Where frames may come from: a name that somebody chose or that tools are known to use. */
struct chrome_source {
	const char *name;
	bool zone, prefix, chosen;
	VEC(struct chrome_boundary) at;
};

struct chrome {
	const struct import_order *order;
	struct import_result *result;
	struct import_report *report; /* result's */
	struct trace_json json;
	struct import_strings strings;
	struct import_sort sort;
	struct import_extras extras;

	VEC(struct chrome_marker) markers; /* records' marker - 1 */
	struct chrome_index marker_index;
	VEC(struct chrome_thread) threads;
	struct chrome_index thread_index;
	VEC(struct chrome_process) processes;
	struct chrome_index process_index;
	uint64_t seed;			 /* of the hashes */
	VEC(struct chrome_frame) frames; /* our own export's */
	struct chrome_source *sources;
	size_t source_count;
	size_t boundaries; /* in all sources */

	uint64_t events; /* seen so far */
	bool any_time;
	int64_t first, last;   /* times of all events, ends of zones included; absolute */
	uint64_t begins;       /* CHROME_BEGIN records of all */
	uint32_t other_marker; /* stands in for names that there is no room for */

	/* Our own export's head. */
	bool own;
	char name[IMPORT_NAME_MAX + 1];
	uint64_t start_utc_ns;
	int64_t main_thread; /* its tid; -1: not said */
};

struct chrome_session;
/* All zones, instants, messages and counters, in order. */
int chrome_zones(struct chrome *c, struct import_writer *w, struct chrome_session *session);

/* Makes the session: all but the adopting. 0 or -errno, with result->why. */
int import_chrome_write(struct chrome *c);

/* A sentence for result->why; returns error. */
int import_chrome_fail(struct chrome *c, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
