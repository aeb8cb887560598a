/* SPDX-License-Identifier: MIT */
/*
 * What becomes of a Chrome trace besides its zones: the session's row, tracks, markers, frames,
 * counters at the ends of frames, GPU spans.
 */
#ifndef FPROF_DAEMON_IMPORT_CHROME_SESSION_H
#define FPROF_DAEMON_IMPORT_CHROME_SESSION_H

#include "import_chrome.h"

struct chrome_counter {
	uint32_t marker; /* 0: none yet */
	size_t frame;	 /* the next whose value is not written */
	bool known, is_double;
	union {
		int64_t i;
		double d;
	} value;
};

struct chrome_queue_frame {
	int64_t begin, end, busy_end, busy;
	uint32_t spans;
};

struct chrome_session {
	struct chrome *c;
	struct import_writer *w;
	int64_t base;	  /* the absolute time of the session's start */
	uint32_t *tracks; /* by thread, 0: none */
	VEC(struct frame_row) frames;
	struct chrome_counter counter;
	uint32_t queue; /* the track whose spans come, 0: none */
	VEC(struct chrome_queue_frame) queue_frames;
	int error; /* of making markers */
};

int chrome_session_init(struct chrome_session *s, struct chrome *c, struct import_writer *w);
void chrome_session_deinit(struct chrome_session *s);
/* The track of a lane of a thread: that of the first was made already. */
int chrome_session_lane(struct chrome_session *s, uint32_t thread, uint32_t lane,
			uint32_t *ret_track);
/* The session's id of a record's marker. */
uint32_t chrome_session_marker(struct chrome_session *s, uint32_t marker);
/* An event happened at an absolute time; cheap with the last answer as hint. */
void chrome_session_count(struct chrome_session *s, int64_t ts, size_t *hint);
/* A GPU zone: thread by thread, by time. */
int chrome_session_span(struct chrome_session *s, const struct import_record *record);
/* A counter's value: counter by counter, by time. */
int chrome_session_value(struct chrome_session *s, const struct import_record *record);
/* After the last event: what is still to be written. */
int chrome_session_finish(struct chrome_session *s);

#endif
