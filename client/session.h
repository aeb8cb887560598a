/* SPDX-License-Identifier: MIT */
/*
 * The process's session: the memory that the daemon reads, and what the library keeps beside it.
 *
 * Everything hangs off one private mapping. Its first page survives a fork; the rest is
 * MADV_WIPEONFORK, so a child, however it was made, finds no session and makes its own.
 */
#ifndef FPROF_CLIENT_SESSION_H
#define FPROF_CLIENT_SESSION_H

#include "alloc_track.h"
#include "connection.h"
#include "detail.h"
#include "fd.h"

#include "fprof/clock_source.h"
#include "fprof/writer.h"

#include <stdbool.h>
#include <stdint.h>

#define SESSION_HASH_SIZE (2 * FPROF_MARKERS_DEFAULT)
#define SESSION_ORIGINS	  3 /* indexed by enum fprof_origin */

/* A writer's mode. Changed by its own thread only, while it holds the writer. */
enum writer_mode {
	WRITER_NONE = 0, /* no thread's: never registered, ended, or a child's view of its parent */
	WRITER_INLINE = 1, /* ready is 1 but for the time of a write */
	WRITER_SLOW = 2,   /* recording, with a clock that only the slow path reads */
	WRITER_IDLE = 3,   /* not recording: the slow path looks whether that has changed */
};

/* What a forked child needs of its parent's session. */
struct session_kin {
	void *memory;
	uint64_t bytes;
	struct owned_fd memfd;
	struct owned_fd socket;
};

/* Who marks a stream (the main one: for an origin), and how often it did. */
struct session_marks {
	uint64_t count;
	uint64_t owner;	 /* thread_who's; 0: the next one that marks */
	uint32_t breaks; /* the session's, at its last mark */
	uint32_t pad;
};

struct session {
	struct session_kin kin;
	uint8_t pad_page[4096 - sizeof(struct session_kin)];

	/* wiped in a child from here on */
	uint32_t alive; /* 0: this is a child's view */
	enum fprof_clock_kind clock;
	uint8_t *memory;
	struct fprof_memory_header *head;
	struct fprof_slot *slots;
	struct fprof_marker_entry *markers;
	uint8_t *strings;
	uint64_t *rings;

	uint32_t recording;	/* may threads write? */
	uint32_t breaks;	/* how often that changed, its beginning apart */
	uint32_t closed;	/* what every writer's `closed` is to be */
	uint32_t paused;	/* fprof_recording(false) */
	uint32_t marked;	/* the process has marked a frame: gates close when not recording */
	uint32_t announce;	/* a daemon came: say again what it cannot know */
	uint32_t serials;	/* threads so far */
	uint32_t told;		/* enum fprof_record_state, as the rings last said */
	uint64_t changed_ticks; /* clock before link.ordered last followed the control page */
	struct session_marks marks[SESSION_ORIGINS];
	struct link link;
	struct alloc_track allocs;

	uint32_t spare_marker; /* an id that was claimed and not used, 0: none */
	uint32_t new_names;    /* dynamic names this second */
	uint64_t new_names_second;
	uint32_t all_new_names;
	uint32_t reclaim_second;

	struct detail detail;

	uint32_t claimed[FPROF_SLOTS_DEFAULT]; /* 1: a thread's */
	struct fprof_writer writers[FPROF_SLOTS_DEFAULT] __attribute__((aligned(128)));
	uint32_t hash[SESSION_HASH_SIZE];			      /* marker ids, 0: free */
	struct session_marks stream_marks[FPROF_MARKERS_DEFAULT + 1]; /* by marker id */
};

/*
 * The live session, made if need be; NULL when that failed (it is tried again after a second).
 * Any thread, any context.
 */
struct session *session_get(void);
/* The same, but never makes one. */
struct session *session_peek(void);

static inline void session_refuse(struct session *s, enum fprof_refused kind)
{
	FPROF_ADD_RELAXED(&s->head->refused[kind], UINT64_C(1));
}

/*
 * Looks after the connection; at most the first caller does, others return at once. What the
 * daemon orders is taken over at a boundary: a frame's, or any time in a process without marks.
 */
void session_poll(struct session *s, bool at_mark);
/* Works out s->recording and the gates from the link, the pause and the marks. */
void session_gates(struct session *s);
/* Sets w's gate to what it is to be, whoever changes that meanwhile. */
void session_gate_writer(struct session *s, struct fprof_writer *w);

/* Seconds since boot, cheap: a rate limiter's clock. */
uint32_t session_second(void);

#endif
