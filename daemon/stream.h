/* SPDX-License-Identifier: MIT */
/*
 * Server-sent events: who listens, and what each has still to be sent. Knows nothing of HTTP nor of
 * the database: text comes in by stream_publish, goes out by stream_client_read. Any thread.
 *
 * A client that reads too slowly loses the newest events, never delays anyone, and is told how many
 * it missed.
 */
#ifndef FPROF_DAEMON_STREAM_H
#define FPROF_DAEMON_STREAM_H

#include "json.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define STREAM_CLIENTS_MAX 32
#define STREAM_CLIENTS_UID 16		  /* of one user who may not see everything */
#define STREAM_QUEUE_BYTES (256u * 1024u) /* of events waiting for one client */

struct stream_hub;
struct stream_client;

/*
 * Reads a client's past: appends events of the frames after `after`, oldest first, as many as it
 * likes, and sets *ret_last to the last of them (after: there are none) and *ret_missed to how many
 * before them are gone. Called without locks held, on the thread that reads for the client.
 */
typedef int (*stream_replay_fn)(void *userdata, uint64_t session, uint64_t after, struct json *out,
				uint64_t *ret_last, uint64_t *ret_missed);

int stream_hub_new(stream_replay_fn replay, void *userdata, struct stream_hub **ret_hub);
/* From now on every client reads the end; those asleep are woken. */
void stream_hub_close(struct stream_hub *hub);
void stream_hub_free(struct stream_hub *hub); /* no client may be left; NULL is fine */
unsigned stream_hub_clients(const struct stream_hub *hub);

/* What a client wants and may see. */
struct stream_filter {
	uint32_t uid;	  /* HISTORY_ANY_UID: all */
	uint64_t session; /* 0: all of them */
	bool resume;	  /* go on behind this event, with what is still there */
	uint64_t resume_session, resume_frame;
};
/* All are called with the hub's lock held: sleep when there is nothing to read, wake when there is
 * again. They alternate. */
struct stream_sleeper {
	void (*sleep)(void *userdata);
	void (*wake)(void *userdata);
	bool (*gone)(void *userdata); /* has the peer hung up? */
	void *userdata;
};
/* 0, -ENOMEM, -EUSERS: STREAM_CLIENTS_MAX, or STREAM_CLIENTS_UID of this user, are there
 * already, -ESHUTDOWN. */
int stream_client_new(struct stream_hub *hub, const struct stream_filter *filter,
		      const struct stream_sleeper *sleeper, struct stream_client **ret_client);
void stream_client_free(struct stream_client *client); /* NULL is fine */
/* Up to max bytes; 0: nothing now, sleep was called; -ESHUTDOWN: the end. */
ssize_t stream_client_read(struct stream_client *client, char *buf, size_t max);

enum stream_kind {
	STREAM_FRAME,
	STREAM_GPU,
	STREAM_SESSION,
	STREAM_STATE,
	STREAM_SPIKE,
	STREAM_LOSS,
};
struct stream_event {
	enum stream_kind kind;
	uint64_t session;
	uint32_t uid;	  /* the session's owner */
	uint64_t frame;	  /* STREAM_FRAME only */
	const char *text; /* a whole event, as stream_format made it */
	size_t bytes;
};
void stream_publish(struct stream_hub *hub, const struct stream_event *event);
/* Frames of a session left the history before they could be read for publishing. */
void stream_miss(struct stream_hub *hub, uint64_t session, uint32_t uid, uint64_t count);
/* Clients that sleep and have hung up read the end. keepalive: a comment for every client that has
 * nothing queued, so that a connection is noticed whose other machine is gone. */
void stream_look(struct stream_hub *hub, bool keepalive);

/* Appends the frame of an event around its data, which the caller writes in between. */
void stream_format_begin(struct json *out, const char *name);
void stream_format_id(struct json *out, uint64_t session, uint64_t frame);
void stream_format_data(struct json *out);
void stream_format_end(struct json *out);

#endif
