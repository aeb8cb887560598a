/* SPDX-License-Identifier: MIT */
/*
 * What the routes answer. A handler gets a parsed request and the caller's scope, and fills an
 * answer; it knows nothing of sockets. Handlers run on the server's threads, several at once.
 */
#ifndef FPROF_DAEMON_API_H
#define FPROF_DAEMON_API_H

#include "assets.h"
#include "history.h"
#include "http.h"
#include "json.h"
#include "readers.h"
#include "route.h"
#include "stream.h"

#include <stdbool.h>
#include <stdint.h>

#define API_VERSION	   "v1"
#define API_FRAMES_DEFAULT 600
#define API_FRAMES_MAX	   3600
#define API_ZONES_DEFAULT  20000
#define API_ZONES_MAX	   200000

/* What all handlers share. Immutable but for what the pointers lead to. */
struct api {
	const struct http_context *context;
	struct readers *readers;
	struct stream_hub *hub;
	struct queries *queries;
	struct feed *feed;
	uint64_t started_ns;  /* CLOCK_MONOTONIC */
	double event_cost_ns; /* own_event_cost_ns */
	uint16_t port;	      /* the TCP port listened on */
};

struct api_request {
	struct route_request route;
	uint32_t uid;	    /* whose sessions the caller may see; HISTORY_ANY_UID: all */
	const char *accept; /* the header, NULL: none */
	/* ROUTE_BODY: NUL-terminated (it may hold others), "" when there is none. */
	const char *body;
	size_t body_bytes;
	int upload_fd; /* ROUTE_UPLOAD: the body as an unlinked file, at its start; else -1 */
};
/* What the daemon did for everyone tells of others' games: may the caller see it? */
static inline bool api_sees_all(const struct api_request *q)
{
	return q->uid == HISTORY_ANY_UID;
}

struct api_answer {
	unsigned status;
	const char *type; /* media type, static */
	struct json body;
	const struct asset *asset; /* instead of body */
	int fd;		/* instead of body, above 0: a file that is sent from its start; owned */
	char lost[256]; /* what a file could not hold: the header Fprof-Lost; "": nothing */
	char filename[128]; /* of what a browser would save; "": none */
	char allow[48];	    /* of 405 */
	bool keeps;	    /* what is answered will not change soon: worth an ETag */
};
void api_answer_deinit(struct api_answer *a);

typedef void (*api_handler)(const struct api *api, const struct api_request *q,
			    struct api_answer *a);

void api_status(const struct api *api, const struct api_request *q, struct api_answer *a);
void api_sessions(const struct api *api, const struct api_request *q, struct api_answer *a);
void api_session(const struct api *api, const struct api_request *q, struct api_answer *a);
void api_frames(const struct api *api, const struct api_request *q, struct api_answer *a);
void api_frame(const struct api *api, const struct api_request *q, struct api_answer *a);
void api_zones(const struct api *api, const struct api_request *q, struct api_answer *a);
void api_stats(const struct api *api, const struct api_request *q, struct api_answer *a);
void api_timeline(const struct api *api, const struct api_request *q, struct api_answer *a);
void api_threads(const struct api *api, const struct api_request *q, struct api_answer *a);
void api_streams(const struct api *api, const struct api_request *q, struct api_answer *a);
void api_counters(const struct api *api, const struct api_request *q, struct api_answer *a);
void api_counter(const struct api *api, const struct api_request *q, struct api_answer *a);
void api_recording(const struct api *api, const struct api_request *q, struct api_answer *a);
void api_recording_set(const struct api *api, const struct api_request *q, struct api_answer *a);
void api_samples(const struct api *api, const struct api_request *q, struct api_answer *a);
void api_sampling(const struct api *api, const struct api_request *q, struct api_answer *a);
void api_sampling_set(const struct api *api, const struct api_request *q, struct api_answer *a);
void api_clear(const struct api *api, const struct api_request *q, struct api_answer *a);
void api_detail(const struct api *api, const struct api_request *q, struct api_answer *a);
void api_detail_set(const struct api *api, const struct api_request *q, struct api_answer *a);
void api_attachments(const struct api *api, const struct api_request *q, struct api_answer *a);
void api_attach(const struct api *api, const struct api_request *q, struct api_answer *a);
void api_detach(const struct api *api, const struct api_request *q, struct api_answer *a);
void api_consumer_take(const struct api *api, const struct api_request *q, struct api_answer *a);
void api_consumer_renew(const struct api *api, const struct api_request *q, struct api_answer *a);
void api_consumer_release(const struct api *api, const struct api_request *q, struct api_answer *a);
void api_diff(const struct api *api, const struct api_request *q, struct api_answer *a);
void api_check(const struct api *api, const struct api_request *q, struct api_answer *a);
void api_captures(const struct api *api, const struct api_request *q, struct api_answer *a);
void api_capture_save(const struct api *api, const struct api_request *q, struct api_answer *a);
void api_export(const struct api *api, const struct api_request *q, struct api_answer *a);
void api_import(const struct api *api, const struct api_request *q, struct api_answer *a);
void api_capture_upload(const struct api *api, const struct api_request *q, struct api_answer *a);
void api_capture(const struct api *api, const struct api_request *q, struct api_answer *a);
void api_capture_edit(const struct api *api, const struct api_request *q, struct api_answer *a);
void api_capture_delete(const struct api *api, const struct api_request *q, struct api_answer *a);
void api_capture_file(const struct api *api, const struct api_request *q, struct api_answer *a);
void api_triggers(const struct api *api, const struct api_request *q, struct api_answer *a);
void api_triggers_put(const struct api *api, const struct api_request *q, struct api_answer *a);
void api_spikes(const struct api *api, const struct api_request *q, struct api_answer *a);
void api_session_spikes(const struct api *api, const struct api_request *q, struct api_answer *a);
void api_snapshot(const struct api *api, const struct api_request *q, struct api_answer *a);
void api_query(const struct api *api, const struct api_request *q, struct api_answer *a);
void api_verdicts(const struct api *api, const struct api_request *q, struct api_answer *a);
void api_critical_path(const struct api *api, const struct api_request *q, struct api_answer *a);
void api_critical_paths(const struct api *api, const struct api_request *q, struct api_answer *a);
void api_schedule(const struct api *api, const struct api_request *q, struct api_answer *a);
void api_asset(const struct api *api, const struct api_request *q, struct api_answer *a);
void api_health(const struct api *api, const struct api_request *q, struct api_answer *a);
void api_ready(const struct api *api, const struct api_request *q, struct api_answer *a);
void api_metrics(const struct api *api, const struct api_request *q, struct api_answer *a);

/* Finds the route's handler; NULL for ROUTE_STREAM, which is none. */
api_handler api_handler_of(enum route_id id);

/* RFC 9457. allowed: what would have been right, NULL-terminated, or NULL. */
struct api_problem {
	unsigned status;
	const char *type;  /* "bad-parameter": stable, becomes /problems/bad-parameter */
	const char *title; /* the same for all problems of the type */
	const char *parameter;
	const char *const *allowed;
};
/* Replaces whatever the answer held. */
void api_fail(struct api_answer *a, const struct api_problem *problem, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* 400 for a parameter of the query or the path. */
void api_fail_parameter(struct api_answer *a, const char *parameter, const char *value,
			const char *const *allowed);
/* 400 for a last frame below the first one, or too far behind it: at most most of them (0: as many
 * as there are). */
void api_fail_frames(struct api_answer *a, uint64_t from, uint64_t to, uint64_t most);
/* For a negative errno of route_parse. */
void api_fail_route(struct api_answer *a, const struct route_request *route, int error);
/* For a negative errno of history.h: what was looked for, one thing: "frame", "range of frames". */
void api_fail_history(struct api_answer *a, int error, const char *what);
/* 503; what: a sentence. */
void api_fail_memory(struct api_answer *a, const char *what);

/* A borrowed reader that goes back by itself: of the history, or of a capture. */
struct api_reader {
	struct readers *readers;
	struct captures *captures;
	uint64_t capture;
	struct history *history;
};
void api_reader_release(struct api_reader *reader);
#define _cleanup_reader_ __attribute__((cleanup(api_reader_release)))

/*
 * Borrows a reader and finds the session that the path names, recorded or a capture, as far as the
 * caller may see it.
 * Returns false after filling the answer with what is wrong. ret_session is the caller's to deinit
 * when true.
 */
bool api_open_session(const struct api *api, const struct api_request *q, struct api_answer *a,
		      struct api_reader *ret_reader, struct history_session *ret_session);

/* The same for a session's text ("current", "17") that is no part of the path; parameter: its name
 * in a problem. */
bool api_open_session_text(const struct api *api, const struct api_request *q, const char *text,
			   const char *parameter, struct api_answer *a,
			   struct api_reader *ret_reader, struct history_session *ret_session);

/* Borrows a reader and lists the sessions of uid. 0 or -errno. */
int api_list_sessions(const struct api *api, uint32_t uid, struct api_reader *ret_reader,
		      history_sessions_vec *ret_sessions);

/* Requests wait so long for what will be stored in a moment. */
#define API_WAIT_NS (2 * NS_PER_S)
/* A moment later a session of anybody, instead of what session held: 0, -ENOENT, -EIO, then it is
 * empty. */
int api_look_again(struct history *h, uint64_t id, struct history_session *session);

/* Pieces of JSON that more than one answer has. */
void api_json_session(struct json *j, const struct api *api, const struct history_session *s,
		      const history_streams_vec *streams);
/* A member of the first and the last of some frames; first 0: null. */
void api_json_range(struct json *j, const char *key, uint64_t first, uint64_t last);
/* The members that say which frames there are. */
void api_json_retained(struct json *j, const struct history_session *s);
/* "stopped", "recording", "frozen" */
const char *api_record_name(uint32_t state);
/* Whether a session records, as an object. */
void api_json_recording(struct json *j, const struct api *api, const struct history_session *s);
/* What recording costs the game: a member, null before the first frame. */
void api_json_own_cost(struct json *j, const struct api *api, const struct session_update_row *u);
/* The members of a frame (the tail has no number), without its braces. gpus: those of this frame.
 */
void api_json_frame_members(struct json *j, const struct history_frame *f,
			    const struct frame_gpu_row *gpus, size_t gpu_count);
/* The members of a track (thread, fiber, GPU queue) of session r. */
void api_json_track_members(struct json *j, const struct session_row *r, const struct track_row *t);
/* The member path of a node of a tree: the names below its track. */
struct zone_tree;
void api_json_zone_path(struct json *j, const struct zone_tree *tree, uint32_t node);
/* The number of the frame that a path names; kind: of route_frame. 0, -ENOENT, -errno. */
int api_find_frame(struct history *h, uint64_t session, const char *stream,
		   enum route_frame_kind kind, uint64_t *frame);
/* The member flags of a zone: the names of enum zone_flags. */
void api_json_zone_flags(struct json *j, uint32_t flags);
/* What a zone of a marker of this kind waits for; NULL: it is no wait zone. */
const char *api_wait_name(uint8_t kind);
/* A time of session r in ns from its start; INT64_MAX: null. */
void api_json_ticks(struct json *j, const char *key, const struct session_row *r, int64_t ticks);
/* Frame i of frames, as an object; session 0: without its session. */
void api_json_frame(struct json *j, uint64_t session, const struct history_frames *frames,
		    size_t i);
void api_json_ns(struct json *j, const char *key, int64_t ns);	     /* NS_UNKNOWN: null */
void api_json_utc(struct json *j, const char *key, uint64_t utc_ns); /* RFC 3339, 0: null */
/* A spike that is not saved yet, was just saved, or could not be. */
void api_json_spike(struct json *j, const struct spike *s);
/* What sessions add up to. */
struct api_totals {
	uint64_t sessions, live, recording, threads_active, frames;
	uint64_t received, lost, overwritten, reentrant, discarded, refused, malformed_scopes;
	uint64_t gpu_dropped, gpu_missing;
	uint64_t not_recording, hook_marks; /* of discarded */
	uint64_t truncated_zones;	    /* of malformed_scopes */
};
/* Of the sessions of uid: 0 or -errno, then zeros. */
int api_totals_read(const struct api *api, uint32_t uid, struct api_totals *ret_totals);

const char *api_clock_name(uint32_t kind);
const char *api_unit_name(uint8_t unit);
const char *api_state_name(enum session_state state);
/* "recorded", or of a capture, by history_session's capture_kind. */
const char *api_kind_name(int capture_kind);
/* Events of a session that were never received: overwritten in their ring, recorded by a signal
 * handler inside another write, or by threads that had no ring. */
uint64_t api_lost_events(const struct session_update_row *u);

/* Names, by number, for what is counted. */
extern const char *const api_discard_names[DISCARD_REASONS];
extern const char *const api_repair_names[REPAIR_KINDS];
extern const char *const api_refused_names[8];

#endif
