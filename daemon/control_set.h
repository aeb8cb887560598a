/* SPDX-License-Identifier: MIT */
/*
 * What others may change of a live session: its record state, its levels of detail, and how often
 * its stacks are sampled, which is kept here, for a daemon that resumes it, and obeyed elsewhere.
 * The orders of all live sessions under one mutex, each beside the control page that its clients
 * read. Any thread; nothing here blocks.
 *
 * An order is not yet a fact: clients take it over at their next frame boundary, and the drain,
 * which reads that in their rings, says so by control_set_in_force.
 */
#ifndef FPROF_DAEMON_CONTROL_SET_H
#define FPROF_DAEMON_CONTROL_SET_H

#include "batch.h"
#include "consumers.h"
#include "detail_set.h"
#include "memory.h"

#include <stdbool.h>
#include <stdint.h>

struct control_set;

/* on_demand: sessions are recorded only while a consumer holds them. */
int control_set_new(bool on_demand, struct control_set **ret_set);
void control_set_free(struct control_set *set); /* NULL is fine */
struct consumers *control_set_consumers(struct control_set *set);

/*
 * A session begins, or goes on as an earlier daemon left it (last; NULL: it begins): its orders
 * are in the page afterwards, which no client has seen yet. control_free ends it. tells: its
 * clients say when they take an order over. 0 or -ENOMEM.
 */
int control_set_add(struct control_set *set, struct control *control, uint64_t session,
		    uint32_t uid, bool tells, const struct session_update_row *last);
/* Takes control out of its set, unmaps it and frees it. NULL is fine. */
void control_free(struct control *control);

/* What is ordered and what holds. */
struct control_view {
	enum fprof_record_state ordered;
	enum fprof_record_state in_force;
	uint64_t frame; /* of the main stream that in_force begins with; 0: the session's first */
	bool on_demand;
	bool waits; /* ordered to record, but no consumer holds it */
	unsigned consumers;
	bool allocations; /* are asked for */
};
/* 0 or -ENOENT: no such live session. */
int control_set_view(struct control_set *set, uint64_t session, struct control_view *ret_view);

/* Orders a state: 0, -ENOENT, -EINVAL: a session that is stopped cannot be frozen. */
int control_set_record(struct control_set *set, uint64_t session, enum fprof_record_state state);
/* After a clear a session that was frozen is stopped. */
void control_set_cleared(struct control_set *set, uint64_t session);
/* The clients' state, from this frame on. */
void control_set_in_force(struct control_set *set, uint64_t session, enum fprof_record_state state,
			  uint64_t frame);
/* Brings the pages in line with who holds what; the drain's, at each sweep. Returns how many hold
 * live sessions, those that hold several once for each. */
unsigned control_set_update(struct control_set *set);
/* What an update row says of it; its detail where that has another version than *version, which
 * then is that. Leaves row as it is when the session is not here. */
void control_set_fill(struct control_set *set, uint64_t session, struct session_update_row *row,
		      uint64_t *version);

/* A copy of what is wanted of it, the caller's to deinit: 0, -ENOENT, -ENOMEM. */
int control_set_detail(struct control_set *set, uint64_t session, struct detail_set *ret_detail);
/* As detail_set_level and detail_set_mask, in force at the next frame boundary. And -ENOENT. */
int control_set_level(struct control_set *set, uint64_t session, const struct detail_path *path,
		      int level);
/* Are allocations to be told of? The clients take it over at their next frame boundary. */
int control_set_allocations(struct control_set *set, uint64_t session, bool tracked);
int control_set_mask(struct control_set *set, uint64_t session, const char *category, bool masked);
/* How often its stacks are to be sampled; 0: not at all. 0 or -ENOENT. */
int control_set_sampling(struct control_set *set, uint64_t session, uint32_t hz);
/* That, -1: nothing was ordered, or there is no such session. */
int control_set_sampling_hz(struct control_set *set, uint64_t session);

#endif
