/* SPDX-License-Identifier: MIT */
/*
 * Triggers: what makes a frame a spike. A list of them as JSON, checked whole and immutable from
 * then on, and the question whether a value is one. Pure; any thread.
 */
#ifndef FPROF_DAEMON_TRIGGER_H
#define FPROF_DAEMON_TRIGGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json;

#define TRIGGERS_MAX	   64u
#define TRIGGER_NAME_MAX   255u	 /* bytes of a name, a text, a label */
#define TRIGGER_FRAMES_MAX 3600u /* kept before or after */
#define TRIGGER_KEEP_MAX   1000u
#define TRIGGER_WARM_UP	   60u /* frames */
#define TRIGGER_BEFORE	   60u
#define TRIGGER_AFTER	   30u
#define TRIGGER_COOL_DOWN  10000 /* ms */
#define TRIGGER_CRASH	   600u	 /* frames before the end of a game */

enum trigger_on {
	TRIGGER_FRAME,
	TRIGGER_CPU,
	TRIGGER_GPU,  /* the longest queue's span */
	TRIGGER_WAIT, /* of the marking thread */
	TRIGGER_ZONE,
	TRIGGER_COUNTER,
	TRIGGER_MESSAGE,
	TRIGGER_APPEARANCE,
	TRIGGER_NUMBER,
	TRIGGER_LOSS,
	TRIGGER_EXIT, /* without a goodbye */
	TRIGGER_KINDS
};

/* Which figure of a zone or of the waits. */
enum trigger_of {
	TRIGGER_TOTAL, /* of a frame, over all threads, recursion once */
	TRIGGER_SELF,
	TRIGGER_CALL, /* one call, in the frame that it ends in */
	TRIGGER_WAIT_ALL,
	TRIGGER_WAIT_GPU,
	TRIGGER_WAIT_PRESENT,
	TRIGGER_WAIT_CAP,
};

struct trigger {
	enum trigger_on on;
	enum trigger_of of;
	char *name;	/* zone, counter, message's category, what appears; NULL: any */
	char *contains; /* message; NULL: any */
	char *label;	/* made up where none was given */
	/* Times in ms, counters as they are. above NaN, times 0: not asked for. */
	double above, times, floor;
	uint64_t number;
	uint32_t warm_up, before, after, keep;
	uint64_t cool_down_ns;
	bool freeze;
};

/* Shared, counted. */
struct trigger_list {
	unsigned references;
	size_t count;
	struct trigger at[];
};

/* What is wrong with a list. */
struct trigger_problem {
	char where[96]; /* "[2].above_ms", "" for the whole */
	char why[320];
	const char *const *allowed; /* NULL-terminated; NULL: why says it */
};

/* A JSON array. keep: where an entry does not say. 0; -EINVAL: *ret_problem says why; -ENOMEM. */
int trigger_list_parse(const char *text, size_t bytes, uint32_t keep,
		       struct trigger_list **ret_list, struct trigger_problem *ret_problem);
struct trigger_list *trigger_list_ref(struct trigger_list *list);
void trigger_list_unref(struct trigger_list *list); /* NULL is fine */

/* The list, or one entry, with all that was left out filled in. What this writes can be parsed. */
void trigger_list_json(const struct trigger_list *list, struct json *out);
void trigger_json(const struct trigger *trigger, struct json *out);

/* The JSON's words. */
const char *trigger_on_name(enum trigger_on on);
extern const char *const trigger_of_names[]; /* by enum trigger_of; NULL-terminated */
/* Is its value a time, in ms? */
bool trigger_is_time(const struct trigger *trigger);

struct trigger_verdict {
	double threshold; /* that was passed, or the lowest that was not */
	bool fires;
};
/* Is value beyond what it allows? Either bound is enough. median NaN: not known yet. */
struct trigger_verdict trigger_judge(const struct trigger *trigger, double value, double median);

#endif
