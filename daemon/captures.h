/* SPDX-License-Identifier: MIT */
/*
 * The captures that are kept: .fprof files in <state_dir>/captures, one a session, listed in
 * fprofd.db (table captures). Spikes, crashes, saved ranges, uploads and imports are all captures;
 * each is a session of its own, with an id of its own, in every endpoint. Any thread.
 */
#ifndef FPROF_DAEMON_CAPTURES_H
#define FPROF_DAEMON_CAPTURES_H

#include "config.h"
#include "history.h"
#include "status.h"
#include "store.h"

#include <sqlite3.h>
#include <stdint.h>

struct captures;

enum capture_kind {
	CAPTURE_SAVED = 0,
	CAPTURE_SPIKE = 1,
	CAPTURE_CRASH = 2,
	CAPTURE_UPLOADED = 3,
	CAPTURE_IMPORTED = 4, /* another tool's */
	CAPTURE_SNAPSHOT = 5,
};

struct capture {
	uint64_t session;	 /* its id, as a session and as a capture */
	uint64_t source_session; /* it was taken from, 0: none here */
	enum capture_kind kind;
	uint32_t uid;	   /* its owner */
	char *name;	   /* given by who made it, UTF-8; never a path */
	char *note;	   /* NULL: none */
	char *reason_json; /* of spikes and crashes: why, with the numbers (an object); NULL: none
			    */
	char *file;	   /* within the captures directory */
	uint64_t created_utc_ns;
	uint64_t first_frame, last_frame, bytes;
	bool aggregate; /* has no times of single calls: timeline and calls answer 409 */
};
void capture_deinit(struct capture *capture);
typedef VEC(struct capture) captures_vec;
void captures_vec_free(captures_vec *captures);

int captures_new(const struct config *config, struct store *store, struct captures **ret_captures);
void captures_free(struct captures *captures); /* NULL is fine */
/* Whose sources' states are saved with what is recorded here; before any other thread. */
void captures_set_status(struct captures *captures, struct status *status);

/* Newest first, of uid (HISTORY_ANY_UID: all). */
int captures_list(struct captures *captures, uint32_t uid, captures_vec *ret_captures);
/* 0 or -ENOENT. */
int captures_find(struct captures *captures, uint64_t session, uint32_t uid,
		  struct capture *ret_capture);
/* name, note: NULL leaves it as it is. */
int captures_edit(struct captures *captures, uint64_t session, const char *name, const char *note);
int captures_delete(struct captures *captures, uint64_t session);
/* The states of the sources when it was saved, a JSON array, free() it; NULL: none are known. */
int captures_sources(struct captures *captures, const struct capture *capture, char **ret_json);
/* What all together may take. */
uint64_t captures_limit_bytes(const struct captures *captures);
/* A capture's file to be given out, at its start, with the name and note that it has by now: an fd
 * or -errno. */
int captures_open_file(struct captures *captures, const struct capture *capture);

/* What is to be saved: frames first..last of the main stream of a session (recorded or a capture
 * itself), and with tail what follows the last one. */
struct capture_order {
	uint64_t session, first, last;
	bool tail;
	enum capture_kind kind;
	const char *name, *note, *reason_json; /* NULL: none */
};
/*
 * Saves while recording goes on. The calling thread does the work (some 100 ms); *ret_session is
 * the capture. -ENOENT: no such session (of uid; HISTORY_ANY_UID: whosever it is, who then owns the
 * capture too) or no such frames; -EDQUOT: captures take all that they may; -ENOSPC, -EROFS, -EIO:
 * nothing was kept and the source is as it was.
 */
int captures_save(struct captures *captures, const struct capture_order *order, uint32_t uid,
		  uint64_t *ret_session);

/*
 * For who makes a file itself: of a session with an id of captures_next_id, in captures_directory()
 * under the name of captures_file_name, with its meta, finished by capture_file_finish.
 *
 * Makes the directory, so that files can be made in it.
 */
int captures_prepare(struct captures *captures);
/* Is there room for bytes more? 0, -EDQUOT, -errno. */
int captures_check_room(struct captures *captures, uint64_t bytes);
const char *captures_directory(const struct captures *captures);
/* The path of a capture's file. */
void captures_path(const struct captures *captures, const char *file, char *path, size_t size);
uint64_t captures_next_id(struct captures *captures);
void captures_file_name(uint64_t session, char *name, size_t size);
/* Writes what a capture says of itself into its file: keys of meta that begin with "capture.".
 * end_ticks: nothing after it is shown; INT64_MAX: no bound. */
int captures_write_meta(sqlite3 *db, const struct capture *capture, int64_t end_ticks);
/* Lists a file that is in its place, whose size it sets, or removes it: 0, -EDQUOT, -errno. */
int captures_enter_or_remove(struct captures *captures, struct capture *capture);

/*
 * Takes in an uploaded .fprof from an open file: checked whole (format, schema version, checksums,
 * no triggers, no views, no foreign tables, sizes) before anything of it is used; then its rows
 * are written into a file of our own. name NULL: that which it has. 0; -EBADMSG or -ENOTSUP (of a
 * newer version) with the reason in why (CAPTURE_WHY bytes); -EDQUOT, -ENOSPC, -errno.
 */
int captures_upload(struct captures *captures, int fd, const char *name, uint32_t uid,
		    uint64_t *ret_session, char *why);

/* A reader of a capture's file, for history_*: *ret_history is the caller's to history_close. In
 * it the session has the capture's id. -ENOENT: no such capture of uid; -EBADMSG: its file is
 * damaged (said in the log); -errno. */
int captures_open(struct captures *captures, uint64_t session, uint32_t uid,
		  struct history **ret_history);
/* The same for one that is listed, without a look at its rows' checksums: for its session's row. */
int captures_peek(struct captures *captures, const struct capture *capture,
		  struct history **ret_history);
/* As captures_open, of some that are kept open: it goes back with captures_put. */
int captures_take(struct captures *captures, uint64_t session, uint32_t uid,
		  struct history **ret_history);
void captures_put(struct captures *captures, uint64_t session, struct history *history);

#endif
