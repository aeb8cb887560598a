/* SPDX-License-Identifier: MIT */
/*
 * Who wants sessions recorded: tokens with a lease, and open event streams. In on-demand mode a
 * session is recorded while one of them holds it. Times are CLOCK_MONOTONIC in ns. Any thread.
 */
#ifndef FPROF_DAEMON_CONSUMERS_H
#define FPROF_DAEMON_CONSUMERS_H

#include <stdbool.h>
#include <stdint.h>

#define CONSUMERS_MAX	     256
#define CONSUMERS_UID	     64 /* of one user who may not see everything */
#define CONSUMER_TOKEN_CHARS 32
#define CONSUMER_LEASE_MAX_S 3600u

struct consumers;

struct consumer {
	char token[CONSUMER_TOKEN_CHARS + 1]; /* "": an event stream */
	uint64_t session;		      /* 0: all that uid may see */
	uint32_t uid;			      /* HISTORY_ANY_UID: all */
	uint64_t until_ns;		      /* UINT64_MAX: until it is closed */
};

int consumers_new(struct consumers **ret_consumers);
void consumers_free(struct consumers *consumers); /* NULL is fine */

/* A new token for lease_s seconds: 0, -EUSERS (too many are held), -ENOMEM, -EIO. */
int consumers_take(struct consumers *consumers, uint64_t session, uint32_t uid, unsigned lease_s,
		   uint64_t now_ns, struct consumer *ret_consumer);
/* From now on for lease_s more: 0 or -ENOENT (no such token of this user, or it ran out). */
int consumers_renew(struct consumers *consumers, const char *token, uint32_t uid, unsigned lease_s,
		    uint64_t now_ns, struct consumer *ret_consumer);
int consumers_release(struct consumers *consumers, const char *token, uint32_t uid,
		      uint64_t now_ns);

/* An event stream of one session, or of all (0). Returns what consumers_stream_end takes; 0: no
 * memory, then it holds nothing. */
uint64_t consumers_stream_begin(struct consumers *consumers, uint64_t session, uint32_t uid);
void consumers_stream_end(struct consumers *consumers, uint64_t stream);

/* How many hold a session of this owner now. Forgets those whose lease ran out. */
unsigned consumers_of(struct consumers *consumers, uint64_t session, uint32_t owner,
		      uint64_t now_ns);

#endif
