/* SPDX-License-Identifier: MIT */
/*
 * Which levels of detail are wanted of a session, by path, which categories are not, whether
 * allocations are to be told of, and how often its stacks are sampled. A path is a list of names: a
 * thread's (or fiber's), then those of zones, outermost first; none: the session's default. A level
 * sits on a node and governs what is below it, down to where another one sits. No locks: whoever
 * has one sees to it.
 */
#ifndef FPROF_DAEMON_DETAIL_SET_H
#define FPROF_DAEMON_DETAIL_SET_H

#include "shm/layout.h"
#include "util.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DETAIL_NODES_MAX FPROF_DETAIL_RULES_MAX
#define DETAIL_MASKS_MAX FPROF_DETAIL_MASKS_MAX
#define DETAIL_PATH_MAX	 FPROF_DETAIL_PATH_MAX
#define DETAIL_CLEAR	 (-1)

struct detail_path {
	const char *names[DETAIL_PATH_MAX];
	size_t count;
};

struct detail_node {
	char **names;
	size_t count;
	int level;
};

struct detail_set {
	VEC(struct detail_node) nodes;
	VEC(char *) masks;
	bool allocations;
	bool has_sampling;    /* it was ordered: */
	uint32_t sampling_hz; /* 0: not to be sampled */
};
void detail_set_deinit(struct detail_set *set);
int detail_set_copy(const struct detail_set *from, struct detail_set *ret_copy);

/* Puts level (0..2) on a node, or takes its own away (DETAIL_CLEAR). 0, -ENOSPC: there are
 * DETAIL_NODES_MAX, -ENOMEM. */
int detail_set_level(struct detail_set *set, const struct detail_path *path, int level);
/* 0, -ENOSPC, -ENOMEM. */
int detail_set_mask(struct detail_set *set, const char *category, bool masked);
bool detail_set_is_masked(const struct detail_set *set, const char *category);

struct detail_reading {
	int own;			/* the node's own level, DETAIL_CLEAR: none */
	int in_force;			/* what governs below it */
	const struct detail_node *from; /* that in_force comes from; NULL: the default of all */
};
void detail_set_read(const struct detail_set *set, const struct detail_path *path,
		     struct detail_reading *ret_reading);

/* Writes it into the detail area of a control page, and *ret_gate: the session's. */
void detail_set_publish(const struct detail_set *set, struct fprof_detail *page,
			uint32_t *ret_gate);

/* As JSON: {"levels": [{"path": [...], "level": n}], "masks": [...], "allocations": bool,
 * "sampling_hz": n, absent: nothing was ordered}; malloc'ed, NULL: no memory. */
char *detail_set_text(const struct detail_set *set);
/* What detail_set_text made, out of a database: what makes no sense is left out. -ENOMEM. */
int detail_set_parse(const char *text, struct detail_set *ret_set);

#endif
