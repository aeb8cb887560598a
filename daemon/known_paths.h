/* SPDX-License-Identifier: MIT */
/*
 * What a session is known to have: threads and fibers by name, zones and categories by name, and,
 * in what its history still holds, which zones stand below which. For those who name a path.
 */
#ifndef FPROF_DAEMON_KNOWN_PATHS_H
#define FPROF_DAEMON_KNOWN_PATHS_H

#include "detail_set.h"
#include "history.h"
#include "near.h"

#include <stdbool.h>
#include <stdint.h>

struct known_paths;

/* Borrows h until known_paths_close. 0 or -errno. */
int known_paths_open(struct history *h, uint64_t session, struct known_paths **ret_known);
void known_paths_close(struct known_paths *known); /* NULL is fine */

bool known_paths_thread(const struct known_paths *known, const char *name);
bool known_paths_zone(const struct known_paths *known, const char *name);
bool known_paths_category(const struct known_paths *known, const char *name);
/* Category i, in no order; NULL behind the last. */
const char *known_paths_category_at(const struct known_paths *known, size_t i);
void known_paths_near_category(const struct known_paths *known, const char *name,
			       struct near *ret_near);

struct known_place {
	size_t depth;	  /* so many names of the path are there, one below the other */
	bool seen;	  /* the history holds zones of its thread */
	struct near near; /* to the first name that is not, among those that stand in its place */
};
/* Reads the history; may take some tenths of a second. 0 or -errno. */
int known_paths_find(struct known_paths *known, const struct detail_path *path,
		     struct known_place *ret_place);

/*
 * A path as one text, with slashes between the names. Names may hold slashes, too: the text is cut
 * so that each part is a known name. -EEXIST: there is more than one way to do that; -E2BIG: too
 * many names. Where there is none it is cut at every slash. *ret_copy: what the names point into.
 */
int known_paths_split(const struct known_paths *known, const char *text,
		      struct detail_path *ret_path, char **ret_copy);

#endif
