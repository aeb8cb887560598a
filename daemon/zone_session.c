/* SPDX-License-Identifier: MIT */
/* Paths are added up by name: a table's names are those of the range, so that is where they go. */
#include "zone_session.h"

#include "history.h"
#include "util.h"
#include "zone_totals.h"

#include <errno.h>
#include <string.h>

/* A root is wanted when a track of its name is. Threads whose tracks are gone are in all of them
 * only. */
static bool is_wanted(const struct range *range, const bool *skip, const struct zone_total *root)
{
	size_t i;

	for (i = 0; skip && i < range->tracks.count; i++) {
		const struct track_row *track = &range->tracks.at[i];
		const char *name = track->name ? track->name : "";

		if (!skip[i] && track->kind == root->kind &&
		    strcmp(name, root->name ? root->name : "") == 0)
			return true;
	}
	return !skip;
}

/* Is one of the zones around it called the same? */
static bool is_nested(const struct zone_tree *tree, const struct zone_totals *totals,
		      const struct zone_total *n)
{
	uint32_t name = zone_tree_canonical(tree, n->marker);
	const struct zone_total *above = &totals->nodes.at[n->parent];

	for (; above->parent != PATH_NONE; above = &totals->nodes.at[above->parent])
		if (zone_tree_canonical(tree, above->marker) == name)
			return true;
	return false;
}

static void add(struct zone_session_numbers *to, const struct zone_total *n, bool nested)
{
	if (n->max_ns > to->max_ns || to->calls == 0) {
		to->max_ns = n->max_ns;
		to->max_frame = n->max_frame;
	}
	to->calls = count_add(to->calls, n->calls);
	to->total_ns = count_add(to->total_ns, nested ? 0 : n->total_ns);
}

static int add_up(struct zone_session *s, const struct zone_tree *tree, const bool *skip,
		  const struct zone_totals *totals)
{
	_cleanup_free_ bool *wanted = calloc(totals->nodes.count, sizeof(*wanted));
	size_t i;

	if (!wanted)
		return -ENOMEM;
	/* parents come first */
	for (i = 1; i < totals->nodes.count; i++) {
		const struct zone_total *n = &totals->nodes.at[i];
		uint32_t name = zone_tree_canonical(tree, n->marker);

		wanted[i] = n->parent == PATH_NONE ? is_wanted(tree->range, skip, n)
						   : wanted[n->parent];
		if (n->parent != PATH_NONE && wanted[i] && n->calls > 0 && name < s->count)
			add(&s->names[n->kind == TRACK_GPU_QUEUE][name], n,
			    is_nested(tree, totals, n));
	}
	s->uncounted = totals->mark.uncounted;
	s->known = true;
	return 0;
}

int zone_session_read(struct history *h, const struct zone_tree *tree, const bool *skip,
		      struct zone_session *ret_session)
{
	struct zone_session *s = ret_session;
	struct zone_totals totals;
	int r;

	*s = (struct zone_session){0};
	if (tree->sums)
		return 0;
	r = history_zone_totals(h, tree->range->session, &totals);
	if (r < 0)
		return r == -ENODATA ? 0 : r;
	s->count = tree->range->markers.count;
	s->names[0] = calloc(s->count + 1, sizeof(*s->names[0]));
	s->names[1] = calloc(s->count + 1, sizeof(*s->names[1]));
	r = s->names[0] && s->names[1] ? add_up(s, tree, skip, &totals) : -ENOMEM;
	zone_totals_deinit(&totals);
	if (r < 0)
		zone_session_deinit(s);
	return r;
}

void zone_session_deinit(struct zone_session *session)
{
	free(session->names[0]);
	free(session->names[1]);
	*session = (struct zone_session){0};
}

const struct zone_session_numbers *zone_session_of(const struct zone_session *session,
						   uint32_t marker, bool gpu)
{
	return marker < session->count ? &session->names[gpu][marker] : &session->none;
}
