/* SPDX-License-Identifier: MIT */
/*
 * The first pass over a Chrome trace, by its parts: import_chrome.c finds events,
 * import_chrome_events.c makes records of them, import_chrome_notes.c reads what they nest,
 * import_chrome_names.c numbers names, markers and threads.
 */
#ifndef FPROF_DAEMON_IMPORT_CHROME_READ_H
#define FPROF_DAEMON_IMPORT_CHROME_READ_H

#include "import_chrome.h"
#include "shm/word.h"

#define CHROME_ARGS_MAX (64u * 1024u) /* bytes of an event's args that are looked at */
#define CHROME_NOTE_MAX 16384u

enum number_state { NUMBER_ABSENT, NUMBER_BAD, NUMBER_GOOD };

struct chrome_event {
	uint64_t number, at; /* from 0; byte offset */
	bool any;	     /* has a member */
	bool malformed, bad_utf8, truncated;
	char phase; /* '\0': none, '\1': longer than a character */
	uint32_t name, category, pid, tid;
	enum number_state ts_state, dur_state;
	int64_t ts, dur;
	size_t args_bytes, note_bytes; /* 0: none; more than is kept: too long */
};

struct chrome_reader {
	struct chrome *c;
	struct chrome_event e;
	char *args, *note;
	uint32_t zero;				  /* the string "0" */
	uint32_t last_pid, last_tid, last_thread; /* of the last event; 0: none */
};

/* ---- Names ---- */

/* The number of a marker, from 1; 0: no memory. */
uint32_t chrome_marker_of(struct chrome *c, uint8_t kind, uint32_t name, uint32_t category);
/* The string of a text; what there is no room for is counted, and called by another name. */
uint32_t chrome_string_of(struct chrome_reader *r, const char *text, size_t bytes);
/* The process's number, from 1. 0: there are too many; -errno. */
int64_t chrome_process_of(struct chrome *c, uint32_t pid);
/* The thread's number, from 1. 0: there are too many; -errno. */
int64_t chrome_thread_of(struct chrome *c, uint32_t pid, uint32_t tid);

/* ---- What events nest ---- */

/* Calls fn for each member of the object in text: its key and the first token of its value, behind
 * which the tokenizer stands; what fn leaves of an object or array is skipped. */
struct chrome_member {
	struct chrome_reader *r;
	struct trace_json *json;
	struct trace_json_token key, value;
	void *userdata;
};
typedef int (*chrome_member_fn)(struct chrome_member *m);
int chrome_each_member(struct chrome_reader *r, const char *text, size_t bytes, chrome_member_fn fn,
		       void *userdata);

static inline bool chrome_is_scalar(const struct trace_json_token *t)
{
	return t->kind == TRACE_JSON_TEXT || t->kind == TRACE_JSON_WORD;
}
/* 1: an integer, 2: a fraction, 0: no number. */
int chrome_parse_number(const struct trace_json_token *t, int64_t *ret_i, double *ret_d);
uint64_t chrome_parse_uint(const struct trace_json_token *t); /* 0: it is none */
int64_t chrome_parse_int(const struct trace_json_token *t);   /* the same */

/* What our own export says of an event. */
struct chrome_said {
	struct chrome_note zone;
	char text[FPROF_TEXT_MAX * 3];
	bool tied, has_span, is_message;
	uint16_t tie, depth;
	struct chrome_span span;
	uint32_t category; /* of a message: a string */
	uint64_t colour;
};
int chrome_read_note(struct chrome_reader *r, struct chrome_said *ret_note);
/* An event of phase M. */
int chrome_put_metadata(struct chrome_reader *r);
/* A frame of our own export: args say all of it. 1: it was one. */
int chrome_put_own_frame(struct chrome_reader *r);

/* ---- Events ---- */

/* Takes in the event that was read, or counts why not. -errno: the import fails. */
int chrome_put_event(struct chrome_reader *r);

#endif
