// SPDX-License-Identifier: MIT
/*
 * The reading side of sessions of sums. The tree's tables are read whole, the frames' blocks one
 * after the other, each call in a transaction of its own. What is read may have come from an
 * uploaded file: every number in it is checked before it is used.
 *
 * The tree grows with the frames, and where a frame's values belong depends on how it was then: a
 * visit starts from the root alone and links each node when its frame has come.
 */
#include "aggregate.h"

#include "chunk.h"
#include "history_impl.h"

#include <errno.h>
#include <string.h>

const char aggregate_reason[] =
	"The session was imported from a recording that holds only how often and how long each "
	"node ran in each frame, not when: it has tables (view=tree, view=flat), but no timeline "
	"and no single calls";

static int ask(struct history *h, const char *sql, uint64_t session, sqlite3_stmt **ret_stmt)
{
	int r = sql_prepare(h->db, sql, ret_stmt);

	if (r == 0)
		sqlite3_bind_int64(*ret_stmt, 1, (int64_t)session);
	return r;
}

int aggregate_is(struct history *h, uint64_t session)
{
	int r = history_begin(h);
	sqlite3_stmt *stmt = NULL;

	if (r < 0)
		return r;
	r = ask(h, "SELECT 1 FROM aggregate_nodes WHERE session = ? LIMIT 1", session, &stmt);
	if (r == 0)
		r = sql_step(stmt);
	sqlite3_finalize(stmt);
	return history_end(h, r);
}

/* ---- The tree ---- */

static char *column_name(sqlite3_stmt *stmt, int column)
{
	const char *text = (const char *)sqlite3_column_text(stmt, column);

	return text && strlen(text) <= AGGREGATE_TEXT_MAX ? strdup(text) : NULL;
}

static bool column_u32(sqlite3_stmt *stmt, int column, uint32_t limit, uint32_t *ret_value)
{
	int64_t value = sqlite3_column_int64(stmt, column);

	*ret_value = (uint32_t)value;
	return value >= 0 && value < limit;
}

/* group_id, frame, flags, name */
static int take_group(struct aggregate *a, sqlite3_stmt *stmt)
{
	struct aggregate_group group = {.frame = (uint64_t)sqlite3_column_int64(stmt, 1),
					.flags = (uint32_t)sqlite3_column_int64(stmt, 2)};

	if (sqlite3_column_int64(stmt, 0) != (int64_t)a->groups.count ||
	    a->groups.count >= VPROF_GROUPS_MAX)
		return -EBADMSG;
	group.name = column_name(stmt, 3);
	if (!group.name)
		return -EBADMSG;
	if (VEC_PUSH(&a->groups, group) < 0) {
		free(group.name);
		return -ENOMEM;
	}
	return 0;
}

/* A node's first row. */
static int take_new_node(struct aggregate *a, sqlite3_stmt *stmt, const struct aggregate_row *row)
{
	struct aggregate_node node = {.parent = AGGREGATE_NONE,
				      .group = row->group,
				      .tool_id = row->tool_id,
				      .first_child = AGGREGATE_NONE,
				      .next_sibling = AGGREGATE_NONE};
	bool root = a->nodes.count == 0;

	if (root != (sqlite3_column_type(stmt, 3) == SQLITE_NULL))
		return -EBADMSG;
	if (!root) {
		if (!column_u32(stmt, 3, (uint32_t)a->nodes.count, &node.parent))
			return -EBADMSG;
		node.depth = a->nodes.at[node.parent].depth + 1;
	}
	if (node.depth > AGGREGATE_DEPTH_MAX || a->nodes.count >= VPROF_NODES_MAX)
		return -EBADMSG;
	node.name = column_name(stmt, 6);
	if (!node.name)
		return -EBADMSG;
	if (VEC_PUSH(&a->nodes, node) < 0) {
		free(node.name);
		return -ENOMEM;
	}
	return 0;
}

/* seq, node, frame, parent, tool_id, group_id, name */
static int take_row(struct aggregate *a, sqlite3_stmt *stmt)
{
	struct aggregate_row row = {.frame = (uint64_t)sqlite3_column_int64(stmt, 2),
				    .tool_id = (int32_t)sqlite3_column_int64(stmt, 4)};
	int r = 0;

	if (sqlite3_column_int64(stmt, 0) != (int64_t)a->rows.count ||
	    a->rows.count >= VPROF_ROWS_MAX ||
	    !column_u32(stmt, 1, (uint32_t)a->nodes.count + 1, &row.node) ||
	    !column_u32(stmt, 5, (uint32_t)a->groups.count, &row.group) ||
	    (a->rows.count > 0 && row.frame < a->rows.at[a->rows.count - 1].frame))
		return -EBADMSG;
	if (row.node == a->nodes.count)
		r = take_new_node(a, stmt, &row);
	if (r < 0)
		return r;
	return VEC_PUSH(&a->rows, row);
}

static int read_all(struct history *h, struct aggregate *a, const char *sql,
		    int (*take)(struct aggregate *, sqlite3_stmt *))
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	int r = ask(h, sql, a->session, &stmt);

	while (r == 0 && (r = sql_step(stmt)) > 0)
		r = take(a, stmt);
	return r;
}

static int read_tree(struct history *h, struct aggregate *a)
{
	int r = read_all(h, a,
			 "SELECT group_id, frame, flags, name FROM aggregate_groups "
			 "WHERE session = ? ORDER BY group_id",
			 take_group);

	if (r == 0)
		r = read_all(h, a,
			     "SELECT seq, node, frame, parent, tool_id, group_id, name "
			     "FROM aggregate_nodes WHERE session = ? ORDER BY seq",
			     take_row);
	return r == 0 && a->nodes.count == 0 ? -ENOENT : r;
}

/* Only the root is linked. */
static void unlink_all(struct aggregate *a)
{
	size_t i;

	for (i = 0; i < a->nodes.count; i++)
		a->nodes.at[i].first_child = a->nodes.at[i].next_sibling = AGGREGATE_NONE;
	a->applied = 1;
	a->linked = 1;
	a->order[0] = 0;
}

int aggregate_open(struct history *h, uint64_t session, struct aggregate **ret_aggregate)
{
	struct aggregate *a = calloc(1, sizeof(*a));
	int r;

	if (!a)
		return -ENOMEM;
	a->session = session;
	r = history_begin(h);
	if (r == 0) {
		int error = read_tree(h, a);

		r = history_end(h, error);
		if (error == -EBADMSG)
			r = -EBADMSG;
	}
	if (r == 0) {
		a->order = calloc(a->nodes.count, sizeof(*a->order));
		r = a->order ? 0 : -ENOMEM;
	}
	if (r < 0) {
		aggregate_free(a);
		return r;
	}
	unlink_all(a);
	*ret_aggregate = a;
	return 0;
}

void aggregate_free(struct aggregate *a)
{
	size_t i;

	if (!a)
		return;
	for (i = 0; i < a->groups.count; i++)
		free(a->groups.at[i].name);
	for (i = 0; i < a->nodes.count; i++)
		free(a->nodes.at[i].name);
	VEC_FREE(&a->groups);
	VEC_FREE(&a->nodes);
	VEC_FREE(&a->rows);
	free(a->order);
	free(a);
}

/* The node that comes after this one in a walk through the linked ones, AGGREGATE_NONE: none. */
static uint32_t next_of(const struct aggregate *a, uint32_t node)
{
	if (a->nodes.at[node].first_child != AGGREGATE_NONE)
		return a->nodes.at[node].first_child;
	while (node != AGGREGATE_NONE && a->nodes.at[node].next_sibling == AGGREGATE_NONE)
		node = a->nodes.at[node].parent;
	return node == AGGREGATE_NONE ? node : a->nodes.at[node].next_sibling;
}

/* Links what has come up to a frame. */
static void link_up_to(struct aggregate *a, uint64_t frame)
{
	size_t before = a->linked, i = 0;
	uint32_t at;

	for (; a->applied < a->rows.count && a->rows.at[a->applied].frame <= frame; a->applied++) {
		const struct aggregate_row *row = &a->rows.at[a->applied];
		struct aggregate_node *node = &a->nodes.at[row->node];

		node->group = row->group;
		node->tool_id = row->tool_id;
		if (row->node < a->linked)
			continue;
		node->next_sibling = a->nodes.at[node->parent].first_child;
		a->nodes.at[node->parent].first_child = row->node;
		a->linked++;
	}
	if (a->linked == before)
		return;
	for (at = 0; at != AGGREGATE_NONE; at = next_of(a, at))
		a->order[i++] = at;
}

/* ---- The frames ---- */

struct visit {
	struct aggregate *a;
	uint64_t from, to, last; /* last: frame that was read */
	bool past;		 /* of to */
	struct aggregate_value *values;
	aggregate_frame_fn fn;
	void *userdata;
};

static uint32_t get_u32(const uint8_t *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static void take_values(struct visit *v, const uint8_t *p)
{
	const struct aggregate *a = v->a;
	size_t i;

	for (i = 0; i < a->linked; i++) {
		uint32_t node = a->order[i], parent = a->nodes.at[node].parent;
		struct aggregate_value *value = &v->values[node];

		value->calls = vprof_take_calls(&p);
		value->total_ns = (int64_t)vprof_take_units(&p) * VPROF_UNIT_NS;
		value->self_ns = value->total_ns;
		if (parent != AGGREGATE_NONE)
			v->values[parent].self_ns -= value->total_ns;
	}
}

/* Takes the frame at p: its end, NULL with *ret_error. */
static const uint8_t *visit_frame(struct visit *v, const uint8_t *p, const uint8_t *end,
				  int *ret_error)
{
	struct aggregate_frame frame;
	const uint8_t *after;
	uint64_t long_times;
	uint32_t nodes;

	*ret_error = -EBADMSG;
	if (end - p < AGGREGATE_FRAME_HEADER)
		return NULL;
	frame = (struct aggregate_frame){.frame = get_u32(p),
					 .tick = (int32_t)get_u32(p + 4),
					 .timings = p + AGGREGATE_FRAME_HEADER};
	nodes = get_u32(p + 8);
	if (frame.frame <= v->last)
		return NULL;
	v->last = frame.frame;
	v->past = frame.frame > v->to;
	if (v->past) {
		*ret_error = 0;
		return NULL;
	}
	link_up_to(v->a, frame.frame);
	if (nodes != v->a->linked)
		return NULL;
	after = vprof_pass_timings(frame.timings, end, nodes, VPROF_SHORT_LONG, &long_times);
	if (!after)
		return NULL;
	*ret_error = 0;
	if (frame.frame < v->from)
		return after;
	take_values(v, frame.timings);
	frame.nodes = nodes;
	frame.values = v->values;
	frame.rows = v->a->applied;
	frame.bytes = (size_t)(after - frame.timings);
	*ret_error = v->fn(v->userdata, v->a, &frame);
	return *ret_error < 0 ? NULL : after;
}

static int visit_block(struct visit *v, sqlite3_stmt *stmt)
{
	_cleanup_free_ uint8_t *raw = NULL;
	const void *data = sqlite3_column_blob(stmt, 0);
	const uint8_t *p, *end;
	size_t bytes;
	int r = data ? chunk_unpack(data, (size_t)sqlite3_column_bytes(stmt, 0), &raw, &bytes)
		     : -EBADMSG;

	if (r < 0)
		return r;
	for (p = raw, end = raw + bytes; p && p < end;)
		p = visit_frame(v, p, end, &r);
	return r;
}

static int visit_blocks(struct history *h, struct visit *v)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	int r = ask(h,
		    "SELECT data FROM aggregate_frames WHERE session = ?1 AND last_frame >= ?2 "
		    "AND first_frame <= ?3 ORDER BY first_frame",
		    v->a->session, &stmt);

	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 2, (int64_t)MIN(v->from, INT64_MAX));
	sqlite3_bind_int64(stmt, 3, (int64_t)MIN(v->to, INT64_MAX));
	while (r == 0 && !v->past && (r = sql_step(stmt)) > 0)
		r = visit_block(v, stmt);
	return r;
}

int aggregate_visit(struct history *h, struct aggregate *a, uint64_t from, uint64_t to,
		    aggregate_frame_fn fn, void *userdata)
{
	_cleanup_free_ struct aggregate_value *values = calloc(a->nodes.count, sizeof(*values));
	struct visit v = {
		.a = a, .from = from, .to = to, .values = values, .fn = fn, .userdata = userdata};
	int r = values ? history_begin(h) : -ENOMEM, error;

	if (r < 0)
		return r;
	unlink_all(a);
	error = visit_blocks(h, &v);
	r = history_end(h, MIN(error, 0));
	return error < 0 ? error : r;
}

/* ---- Sums ---- */

/* Stays at the limit: a file may say anything. */
static int64_t add(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? (a < 0 ? INT64_MIN : INT64_MAX) : sum;
}

static int add_frame(void *userdata, const struct aggregate *a, const struct aggregate_frame *frame)
{
	struct aggregate_sums *sums = userdata;
	size_t i;

	sums->first = sums->frames ? sums->first : frame->frame;
	sums->last = frame->frame;
	sums->frames++;
	for (i = 0; i < frame->nodes; i++) {
		const struct aggregate_value *value = &frame->values[a->order[i]];
		struct aggregate_sum *sum = &sums->by_node[a->order[i]];

		sum->calls += value->calls;
		sum->total_ns = add(sum->total_ns, value->total_ns);
		sum->self_ns = add(sum->self_ns, value->self_ns);
		if (!value->calls && !value->total_ns)
			continue;
		if (!sum->frames++ || value->total_ns < sum->min_frame_ns)
			sum->min_frame_ns = value->total_ns;
		sum->max_frame_ns = MAX(sum->max_frame_ns, value->total_ns);
	}
	return 0;
}

int aggregate_add_up(struct history *h, struct aggregate *a, uint64_t from, uint64_t to,
		     struct aggregate_sums *ret_sums)
{
	struct aggregate_sums sums = {.by_node = calloc(a->nodes.count, sizeof(*sums.by_node))};
	int r = sums.by_node ? aggregate_visit(h, a, from, to, add_frame, &sums) : -ENOMEM;

	if (r < 0) {
		free(sums.by_node);
		return r;
	}
	*ret_sums = sums;
	return 0;
}

size_t aggregate_path(const struct aggregate *a, uint32_t node, const char **path)
{
	size_t depth = a->nodes.at[node].depth, i;

	for (i = depth; i > 0; i--) {
		path[i - 1] = a->nodes.at[node].name;
		node = a->nodes.at[node].parent;
	}
	return depth;
}

const char *aggregate_group_name(const struct aggregate *a, uint32_t node)
{
	return a->groups.at[a->nodes.at[node].group].name;
}
