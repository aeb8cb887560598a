/* SPDX-License-Identifier: MIT */
/*
 * Tables of zones: rows of a tree, of names, or of the callers and callees of a name, filtered and
 * sorted. One thread at a time.
 */
#ifndef FPROF_DAEMON_ZONE_TABLE_H
#define FPROF_DAEMON_ZONE_TABLE_H

#include "zone_measure.h"
#include "zone_tree.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum zone_view {
	ZONE_VIEW_TREE,	   /* a row for each path, depth first, siblings sorted */
	ZONE_VIEW_FLAT,	   /* a row for each name */
	ZONE_VIEW_CALLERS, /* for the calls of a name: a row for each zone around them */
	ZONE_VIEW_CALLEES, /* a row for each zone right inside them */
};

enum zone_sort {
	ZONE_SORT_TOTAL,
	ZONE_SORT_SELF,
	ZONE_SORT_CALLS,
	ZONE_SORT_AVG,
	ZONE_SORT_MIN,
	ZONE_SORT_MAX,
	ZONE_SORT_P50,
	ZONE_SORT_P95,
	ZONE_SORT_P99,
	ZONE_SORT_FRAMES,
	ZONE_SORT_NAME
};

struct zone_row {
	uint32_t node;	 /* TREE: it; else the first of its */
	uint32_t marker; /* the first of its name; ZONE_NODE_NONE: called by nothing */
	bool gpu;
	uint32_t tracks; /* on how many it is */
	struct zone_numbers n;
};

struct zone_table_query {
	enum zone_view view;
	enum zone_sort sort;
	bool ascending, per_frame;
	const char *name;     /* rows whose name fits: `*` and `?` as in a shell; of CALLERS and
				 CALLEES: whose, exactly; NULL: all */
	const char *category; /* rows of this category; NULL: all */
};

typedef VEC(struct zone_row) zone_rows;
/* 0; -ENOMEM; -ENOENT: CALLERS, CALLEES: there is no such name in the range. */
int zone_table_make(const struct zone_tree *tree, const struct zone_table_query *query,
		    zone_rows *ret_rows);
/* Does text fit the pattern of a name filter? */
bool zone_name_fits(const char *pattern, const char *text);
/* Does the zone fit both filters? A NULL lets all through. */
bool zone_fits(const struct range *range, uint32_t marker, const char *pattern,
	       const char *category);

#endif
