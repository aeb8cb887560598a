/* SPDX-License-Identifier: MIT */
/*
 * From triggers that fired to captures: waits for a spike's after-frames and its late GPU data,
 * saves it, keeps as many as its trigger says, freezes the recording where it is asked to. A thread
 * of its own, which sleeps while no spike is open.
 */
#ifndef FPROF_DAEMON_SPIKES_H
#define FPROF_DAEMON_SPIKES_H

#include "batch.h"
#include "captures.h"
#include "drain.h"
#include "store.h"
#include "trigger_book.h"

struct spikes;

struct spikes_context {
	struct store *store;
	struct captures *captures;
	struct drain *drain; /* NULL: nothing can be frozen */
	struct trigger_book *triggers;
	uint64_t frames; /* that the history keeps of a session */
};

enum spike_state { SPIKE_OPEN, SPIKE_SAVED, SPIKE_FAILED };

/* A spike that is not saved yet, or could not be. */
struct spike {
	enum spike_state state;
	uint64_t session;	     /* that it happened in */
	uint64_t capture;	     /* once it is saved */
	uint64_t frame, first, last; /* the first that fired; the window */
	uint32_t uid;
	bool end, crashed;
	char *label;  /* of the first trigger that fired */
	char *reason; /* JSON: an object, as the capture has it */
	char *why;    /* FAILED */
};
void spike_deinit(struct spike *spike);
typedef VEC(struct spike) spikes_vec;
void spikes_vec_free(spikes_vec *spikes);

/* Firings of one trigger that its rest kept back, and no spike has told of since. */
struct spike_unsaid {
	uint64_t session;
	uint64_t count, first, last; /* frames */
	char *trigger;		     /* JSON: an object */
};
typedef VEC(struct spike_unsaid) spikes_unsaid_vec;
void spikes_unsaid_vec_free(spikes_unsaid_vec *unsaid);

/* Hears of each spike that opens, is saved, or fails. On the spikes' thread; must not block. */
typedef void (*spikes_told_fn)(void *userdata, const struct spike *spike);

/* Takes on what an earlier daemon left open. 0 or -errno. */
int spikes_new(const struct spikes_context *context, spikes_told_fn told, void *userdata,
	       struct spikes **ret_spikes);
/* What is open is saved as far as it is there, and left to the next daemon. NULL is fine. */
void spikes_free(struct spikes *spikes);

/* What a committed batch brought: on the store's thread, which is not held up. */
void spikes_committed(struct spikes *spikes, const struct batch *batch);

/* Those of uid that are open or failed, oldest first. 0 or -ENOMEM. */
int spikes_list(struct spikes *spikes, uint32_t uid, spikes_vec *ret_spikes);
/* Those of uid, oldest first, of live sessions and of the last ones that ended. 0 or -ENOMEM. */
int spikes_unsaid(struct spikes *spikes, uint32_t uid, spikes_unsaid_vec *ret_unsaid);

#endif
