/* SPDX-License-Identifier: MIT */
/*
 * A row stands for a group of nodes of the tree: for one of them, for all of a name, or for all
 * around or inside a name. Nodes are put in the order of their groups, each group is measured, the
 * rows are sorted, and those that are wanted are answered. A GPU queue's zones are never in a row
 * with a thread's, whatever they are called.
 */
#include "zone_table.h"

#include "util.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* A node that counts, and the key of its group. */
struct member {
	uint64_t key;
	uint32_t node;
};
typedef VEC(struct member) members_vec;

bool zone_name_fits(const char *pattern, const char *text)
{
	const char *star = NULL, *from = NULL;

	while (*text) {
		if (*pattern == '*') {
			star = pattern++;
			from = text;
		} else if (*pattern == '?' || *pattern == *text) {
			pattern++;
			text++;
		} else if (star) {
			pattern = star + 1;
			text = ++from;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

bool zone_fits(const struct range *range, uint32_t marker, const char *pattern,
	       const char *category)
{
	const struct marker_row *row = range_marker(range, marker);
	char unknown[32];

	if (category && (!row || !row->category || strcmp(row->category, category) != 0))
		return false;
	return !pattern ||
	       zone_name_fits(pattern, range_name(range, marker, unknown, sizeof(unknown)));
}

/* --- groups ------------------------------------------------------------------------------ */

static const struct zone_node *node_of(const struct zone_tree *tree, uint32_t node)
{
	return &tree->nodes.at[node];
}

static uint64_t key_of_name(uint32_t marker, bool gpu)
{
	return (uint64_t)marker << 1 | gpu;
}

/* The marker that stands for a name, ZONE_NODE_NONE: nobody is called so. */
static uint32_t find_name(const struct zone_tree *tree, const char *name)
{
	size_t id;

	for (id = 1; id < tree->range->markers.count; id++)
		if (tree->range->markers.at[id].name &&
		    strcmp(tree->range->markers.at[id].name, name) == 0)
			return zone_tree_canonical(tree, (uint32_t)id);
	return ZONE_NODE_NONE;
}

/* Does the node count, and in which group? */
static bool group_of(const struct zone_tree *tree, enum zone_view view, uint32_t whose,
		     uint32_t node, uint64_t *ret_key)
{
	const struct zone_node *n = node_of(tree, node), *above = node_of(tree, n->parent);

	if (n->calls == 0 && view != ZONE_VIEW_TREE && !tree->sums)
		return false;
	switch (view) {
	case ZONE_VIEW_TREE:
		*ret_key = node;
		return true;
	case ZONE_VIEW_FLAT:
		*ret_key = key_of_name(n->marker, n->gpu);
		return true;
	case ZONE_VIEW_CALLERS:
		*ret_key = key_of_name(
			above->parent == ZONE_NODE_NONE ? ZONE_NODE_NONE : above->marker, n->gpu);
		return n->marker == whose;
	case ZONE_VIEW_CALLEES:
		*ret_key = key_of_name(n->marker, n->gpu);
		return above->parent != ZONE_NODE_NONE && above->marker == whose;
	}
	return false;
}

static int by_key(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (x->node > y->node) - (x->node < y->node);
}

static int find_members(const struct zone_tree *tree, const struct zone_table_query *query,
			members_vec *members)
{
	bool of_name = query->view == ZONE_VIEW_CALLERS || query->view == ZONE_VIEW_CALLEES;
	uint32_t whose = of_name && query->name ? find_name(tree, query->name) : ZONE_NODE_NONE;
	size_t i;

	for (i = tree->range->tracks.count; i < tree->nodes.count; i++) {
		struct member member = {.node = (uint32_t)i};

		if (group_of(tree, query->view, whose, member.node, &member.key) &&
		    VEC_PUSH(members, member) < 0)
			return -ENOMEM;
	}
	if (members->count > 1 && query->view != ZONE_VIEW_TREE)
		qsort(members->at, members->count, sizeof(*members->at), by_key);
	return of_name && whose == ZONE_NODE_NONE ? -ENOENT : 0;
}

/* --- rows -------------------------------------------------------------------------------- */

static uint32_t count_tracks(const struct zone_tree *tree, const uint32_t *nodes, size_t count)
{
	uint32_t tracks = 0;
	size_t i;

	/* Nodes come by id, and so by track. */
	for (i = 0; i < count; i++)
		tracks += i == 0 ||
			  node_of(tree, nodes[i])->track != node_of(tree, nodes[i - 1])->track;
	return tracks;
}

static int make_row(struct zone_measure *m, const struct zone_table_query *query,
		    const uint32_t *nodes, size_t count, zone_rows *rows)
{
	const struct zone_node *first = node_of(m->tree, nodes[0]);
	struct zone_row row = {.node = nodes[0], .marker = first->marker, .gpu = first->gpu};
	int r;

	if (query->view == ZONE_VIEW_CALLERS) {
		const struct zone_node *above = node_of(m->tree, first->parent);

		row.marker = above->parent == ZONE_NODE_NONE ? ZONE_NODE_NONE : above->marker;
	}
	row.tracks = count_tracks(m->tree, nodes, count);
	r = zone_measure_nodes(m, nodes, count, &row.n);
	return r < 0 ? r : VEC_PUSH(rows, row);
}

static int make_rows(struct zone_measure *m, const struct zone_table_query *query,
		     const members_vec *members, zone_rows *rows)
{
	VEC(uint32_t) nodes = {0};
	size_t i;
	int r = 0;

	for (i = 0; i < members->count && r == 0; i++) {
		r = VEC_PUSH(&nodes, members->at[i].node);
		if (r == 0 &&
		    (i + 1 == members->count || members->at[i + 1].key != members->at[i].key)) {
			r = make_row(m, query, nodes.at, nodes.count, rows);
			nodes.count = 0;
		}
	}
	VEC_FREE(&nodes);
	return r;
}

/* --- order ------------------------------------------------------------------------------- */

static double sort_value(const struct zone_row *row, enum zone_sort sort)
{
	const struct zone_numbers *n = &row->n;

	switch (sort) {
	case ZONE_SORT_SELF:
		return (double)n->self_ns;
	case ZONE_SORT_CALLS:
		return (double)n->calls;
	case ZONE_SORT_AVG:
		return n->avg_ns;
	case ZONE_SORT_MIN:
		return (double)n->min_ns;
	case ZONE_SORT_MAX:
		return (double)n->max_ns;
	case ZONE_SORT_P50:
		return (double)n->p50_ns;
	case ZONE_SORT_P95:
		return (double)n->p95_ns;
	case ZONE_SORT_P99:
		return (double)n->p99_ns;
	case ZONE_SORT_FRAMES:
		return (double)n->frames;
	default:
		return (double)n->total_ns;
	}
}

struct order {
	const struct zone_tree *tree;
	const struct zone_row *rows;
	enum zone_sort sort;
	bool ascending;
};

static int compare_names(const struct order *o, const struct zone_row *x, const struct zone_row *y)
{
	char a[32], b[32];
	const char *name_x = x->marker == ZONE_NODE_NONE
				     ? ""
				     : range_name(o->tree->range, x->marker, a, sizeof(a));
	const char *name_y = y->marker == ZONE_NODE_NONE
				     ? ""
				     : range_name(o->tree->range, y->marker, b, sizeof(b));

	return strcmp(name_x, name_y);
}

/* Of indexes into rows. What is equal keeps the order in which it was found. */
static int compare(const void *a, const void *b, void *userdata)
{
	const struct order *o = userdata;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct zone_row *x = &o->rows[i], *y = &o->rows[k];
	double u = sort_value(x, o->sort), v = sort_value(y, o->sort);
	int r = o->sort == ZONE_SORT_NAME ? compare_names(o, x, y) : (u > v) - (u < v);

	if (r == 0)
		return (i > k) - (i < k);
	return o->ascending ? r : -r;
}

static bool is_wanted(const struct zone_tree *tree, const struct zone_table_query *query,
		      const struct zone_row *row)
{
	bool of_name = query->view == ZONE_VIEW_CALLERS || query->view == ZONE_VIEW_CALLEES;

	if (row->n.calls == 0 && !tree->sums)
		return false;
	return zone_fits(tree->range, row->marker, of_name ? NULL : query->name, query->category);
}

/* The rows at the indexes in order, as far as they are wanted. */
static int take_in_order(const struct order *o, const struct zone_table_query *query,
			 const uint32_t *order, size_t count, zone_rows *ret_rows)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (is_wanted(o->tree, query, &o->rows[order[i]]) &&
		    VEC_PUSH(ret_rows, o->rows[order[i]]) < 0)
			return -ENOMEM;
	return 0;
}

/* Sorting a tree: the children of each node on their own, then depth first. */
struct flattening {
	struct order *order;
	uint32_t *row_of; /* by node */
	uint32_t *result;
	size_t count;
	VEC(uint32_t) pending; /* nodes, the next one last */
};

static int push_children(struct flattening *f, uint32_t node)
{
	const struct zone_tree *tree = f->order->tree;
	size_t from = f->pending.count, count, i;
	_cleanup_free_ uint32_t *children = NULL;
	uint32_t child;

	for (child = node_of(tree, node)->first_child; child != ZONE_NODE_NONE;
	     child = node_of(tree, child)->next_sibling)
		if (VEC_PUSH(&f->pending, child) < 0)
			return -ENOMEM;
	count = f->pending.count - from;
	if (count < 2)
		return 0;
	children = malloc(count * sizeof(*children));
	if (!children)
		return -ENOMEM;
	for (i = 0; i < count; i++)
		children[i] = f->row_of[f->pending.at[from + i]];
	qsort_r(children, count, sizeof(*children), compare, f->order);
	for (i = 0; i < count; i++)
		f->pending.at[from + count - 1 - i] = f->order->rows[children[i]].node;
	return 0;
}

static int flatten(struct flattening *f)
{
	size_t track = f->order->tree->range->tracks.count;
	int r = 0;

	while (track-- > 0 && r == 0)
		r = VEC_PUSH(&f->pending, (uint32_t)track);
	while (f->pending.count > 0 && r == 0) {
		uint32_t node = f->pending.at[--f->pending.count];

		if (node >= f->order->tree->range->tracks.count)
			f->result[f->count++] = f->row_of[node];
		r = push_children(f, node);
	}
	VEC_FREE(&f->pending);
	return r;
}

/* Every node has a row here, also those that were not called: their children may have been. */
static int sort_tree(struct order *o, const struct zone_table_query *query, const zone_rows *rows,
		     zone_rows *ret_rows)
{
	const struct zone_tree *tree = o->tree;
	_cleanup_free_ uint32_t *row_of = calloc(tree->nodes.count + 1, sizeof(*row_of));
	_cleanup_free_ uint32_t *result = calloc(tree->nodes.count + 1, sizeof(*result));
	struct flattening f = {.order = o, .row_of = row_of, .result = result};
	size_t i;
	int r;

	if (!row_of || !result)
		return -ENOMEM;
	for (i = 0; i < rows->count; i++)
		row_of[rows->at[i].node] = (uint32_t)i;
	r = flatten(&f);
	return r < 0 ? r : take_in_order(o, query, result, f.count, ret_rows);
}

static int sort_list(struct order *o, const struct zone_table_query *query, const zone_rows *rows,
		     zone_rows *ret_rows)
{
	_cleanup_free_ uint32_t *order = calloc(rows->count + 1, sizeof(*order));
	size_t i;

	if (!order)
		return -ENOMEM;
	for (i = 0; i < rows->count; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, rows->count, sizeof(*order), compare, o);
	return take_in_order(o, query, order, rows->count, ret_rows);
}

int zone_table_make(const struct zone_tree *tree, const struct zone_table_query *query,
		    zone_rows *ret_rows)
{
	struct zone_measure m;
	members_vec members = {0};
	zone_rows rows = {0}, sorted = {0};
	struct order order = {.tree = tree, .sort = query->sort, .ascending = query->ascending};
	int r = zone_measure_init(&m, tree, query->per_frame);

	if (r == 0)
		r = find_members(tree, query, &members);
	if (r == 0)
		r = make_rows(&m, query, &members, &rows);
	order.rows = rows.at;
	if (r == 0)
		r = query->view == ZONE_VIEW_TREE ? sort_tree(&order, query, &rows, &sorted)
						  : sort_list(&order, query, &rows, &sorted);
	zone_measure_deinit(&m);
	VEC_FREE(&members);
	VEC_FREE(&rows);
	if (r < 0) {
		VEC_FREE(&sorted);
		return r;
	}
	*ret_rows = sorted;
	return 0;
}
