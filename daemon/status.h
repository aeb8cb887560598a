/* SPDX-License-Identifier: MIT */
/*
 * What /api/v1/status says that is no row of the database: sources and their states, refused
 * clients. A small table under a mutex; any thread.
 */
#ifndef FPROF_DAEMON_STATUS_H
#define FPROF_DAEMON_STATUS_H

#include <stdint.h>

enum source_state { SOURCE_ON = 0, SOURCE_OFF = 1, SOURCE_DEGRADED = 2, SOURCE_UNAVAILABLE = 3 };

struct status_source {
	char name[32]; /* "rings", "history", "state", "loop", "gpu", "scheduler", ... */
	enum source_state state;
	char reason[192]; /* "" when on */
	char fix[320];	  /* the command that turns it on, or "" */
};

/* A client that was turned away. */
struct status_refusal {
	int32_t pid;
	int64_t utc_ns;
	uint16_t abi_major, abi_minor; /* the client's; 0.0 when it did not say */
	char reason[128];
};

#define STATUS_SOURCES_MAX  24
#define STATUS_REFUSALS_MAX 32

struct status;

struct status *status_new(void); /* NULL: no memory */
void status_free(struct status *status);
/* Sets or replaces the source called name; reason and fix may be NULL. */
void status_source(struct status *status, const char *name, enum source_state state,
		   const char *reason, const char *fix);
/* The same, unless something was said of it before. */
void status_source_first(struct status *status, const char *name, enum source_state state,
			 const char *reason, const char *fix);
/* From now on the source called name waits for an answer: while it has done so for longer than a
 * second it is degraded, for this reason (a literal, as fix is). NULL: it waits no more. */
void status_awaits(struct status *status, const char *name, const char *reason, const char *fix);
/* Remembers the newest STATUS_REFUSALS_MAX; counts all. */
void status_refuse(struct status *status, const struct status_refusal *refusal);

struct status_snapshot {
	struct status_source sources[STATUS_SOURCES_MAX];
	uint32_t source_count;
	struct status_refusal refusals[STATUS_REFUSALS_MAX]; /* newest first */
	uint32_t refusal_count;
	uint64_t refusals_total;
};
void status_snapshot(struct status *status, struct status_snapshot *ret_snapshot);

#endif
