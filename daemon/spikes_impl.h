/* SPDX-License-Identifier: MIT */
/* The inside of the spikes, shared by spikes*.c only. */
#ifndef FPROF_DAEMON_SPIKES_IMPL_H
#define FPROF_DAEMON_SPIKES_IMPL_H

#include "spikes.h"
#include "util.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define SPIKES_FIRED_MAX 16u /* firings of one spike that are told in full */
#define SPIKES_WHY	 192

/* A spike that is not saved. Under the spikes' lock, but while it is busy: then the thread's. */
struct open_spike {
	uint64_t number; /* of its note */
	uint64_t session;
	uint64_t frame, first, last;
	uint32_t keep;
	bool freeze, end, crashed;
	VEC(char *) fired; /* JSON objects, in the order in which they fired */
	uint64_t more;	   /* firings beyond */
	uint64_t interim;  /* a capture of what was there when an earlier daemon stopped; 0: none */
	uint32_t uid;	   /* HISTORY_ANY_UID: not looked up yet */
	char *game;	   /* NULL: the same */

	bool ended;	   /* its session has */
	bool taken_on;	   /* from an earlier daemon's note */
	uint64_t newest;   /* frame of its session that was told of as stored */
	uint64_t there;	   /* the first frame whose events were there when it fired */
	uint64_t edge;	   /* ... when it was last looked at; 0: not yet */
	uint64_t since_ns; /* it fired, or was taken on */
	uint64_t moved_ns; /* the newest frame came */
	uint64_t whole_ns; /* the last frame came; 0: not yet */
	uint64_t retry_ns; /* a save has failed: not before */
	unsigned tries;
	bool dirty;  /* its note is old */
	bool told;   /* that it opened */
	bool busy;   /* is being saved: grows no more */
	bool failed; /* why says so; it stays to be told of */
	char why[SPIKES_WHY];
};

/* A suppressed_row, noted once its session has ended. */
struct unsaid {
	struct suppressed_row row; /* number UNSAID_OLD: an earlier daemon's, which ended */
	uint64_t note;		   /* number of its note; 0: none */
	bool dirty;		   /* to be noted */
};
#define UNSAID_OLD UINT32_MAX
#define UNSAID_MAX 256u

struct spikes {
	struct spikes_context context;
	spikes_told_fn told;
	void *userdata;
	struct history *history; /* the thread's, and what follows */
	bool stopping;
	pthread_t thread;
	bool started;
	pthread_mutex_t lock; /* of all that follows */
	pthread_cond_t wake;
	VEC(struct open_spike *) open; /* oldest first; failed ones too */
	VEC(struct unsaid) unsaid;     /* oldest first */
	VEC(uint64_t) unsaid_gone;     /* notes that are to go */
	uint64_t next_number;
	bool news, stop;
	bool ended; /* a session has: triggers of older ones may be forgotten */
};

void open_spike_free(struct open_spike *spike); /* NULL is fine */

/* What is there of a spike's window, as it was asked for. */
struct spike_found {
	uint64_t first, last; /* 0: no frame */
	uint64_t missing_before, missing_after;
	uint64_t worst; /* the longest of its frames; 0: none is known */
	int64_t worst_ns;
	char why[SPIKES_WHY]; /* "": nothing is missing */
};

/* ---- notes: spikes_note.c ---- */

/* The spike as its note has it, malloc'ed; NULL: no memory. */
char *spikes_note_text(const struct open_spike *spike);
/* A note read back: 0, -EBADMSG, -ENOMEM. */
int spikes_note_parse(const char *text, struct open_spike **ret_spike);
/* What a capture, an event and a list say of why: a JSON object, malloc'ed. found: NULL before it
 * is saved. */
char *spikes_reason(const struct open_spike *spike, const struct spike_found *found);
/* The label of the first trigger that fired; "" when it has none. malloc'ed. */
char *spikes_label(const struct open_spike *spike);
/* The same of a capture's reason, and its game. May be NULL. */
void spikes_reason_names(const char *reason, char **ret_label, char **ret_game);

/* ---- what resting triggers did not say: spikes_unsaid.c. The lock is held. ---- */

void spikes_unsaid_take(struct spikes *spikes, const struct batch *batch);
/* On the thread, giving the lock up meanwhile: notes of those whose session has ended; all: of all.
 */
void spikes_unsaid_note(struct spikes *spikes, bool all);
/* What earlier daemons noted. 0 or -ENOMEM. */
int spikes_unsaid_read(struct spikes *spikes);
void spikes_unsaid_deinit(struct spikes *spikes);

/* ---- saving: spikes_save.c ---- */

/*
 * Saves what is there of the spike, whose owner is known. 0; -ENOENT: nothing is; other errors can
 * be tried again. Deletes what its trigger keeps too much.
 */
int spikes_save(struct spikes *spikes, const struct open_spike *spike,
		struct spike_found *ret_found, uint64_t *ret_capture);

#endif
