/* SPDX-License-Identifier: MIT */
/* The store's inside, shared by store.c, store_resume.c and store_notes.c only. */
#ifndef FPROF_DAEMON_STORE_IMPL_H
#define FPROF_DAEMON_STORE_IMPL_H

#include "store.h"
#include "store_history.h"
#include "store_state.h"

#include <pthread.h>

struct store {
	struct store_history history; /* the store thread's, but for its place */
	struct store_state state;
	store_committed_fn committed;
	void *userdata;
	pthread_t thread;

	pthread_mutex_t lock; /* of all that follows */
	pthread_cond_t work, done;
	struct batch *first, *last;
	uint64_t queued_bytes;
	uint64_t submitted, finished; /* batches so far */
	uint64_t sessions_coming;     /* whose rows are not committed */
	bool stop, hurry;	      /* hurry: somebody waits */
	uint64_t retries, retries_done;
	struct store_health health; /* as of the last commit */
	VEC(uint64_t) stale;	    /* sessions that an earlier daemon left live */
};

#endif
