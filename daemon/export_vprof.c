// SPDX-License-Identifier: MIT
/*
 * A range as a recording of VProf. A session of sums is written as it was read, frame by frame. Of
 * any other the zones are added up by path: threads and GPU queues are the nodes below the root,
 * whose time is the frame's; categories are budget groups. The format goes frame by frame while a
 * visit goes track by track, so the sums of some frames are kept at a time.
 *
 * A zone counts once in each frame that it touches, with the time that it has there; a GPU zone in
 * the frame that it belongs to. What the format cannot hold is counted for the report: times are
 * rounded to units of 4 us, calls end at 65,535.
 */
#include "aggregate.h"
#include "chunk.h"
#include "export.h"
#include "vprof.h"
#include "vprof_tree.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <xxhash.h>

#define FRAMES_AT_A_TIME 16
#define GROUPS_MAX	 1024
#define TRACK_TEXT	 160

static void put_bytes(void *userdata, const void *bytes, size_t count)
{
	export_bytes(userdata, bytes, count);
}

/* ---- Sessions of sums ---- */

struct sums_export {
	struct vprof_out out;
	struct vprof_tree tree;
	size_t groups, rows; /* written */
	bool header;
};

static int add_nodes(struct sums_export *e, const struct aggregate *a)
{
	size_t i;
	int r = 0;

	for (i = e->tree.nodes.count; i < a->nodes.count && r == 0; i++) {
		const struct aggregate_node *node = &a->nodes.at[i];

		r = vprof_tree_add(&e->tree, node->parent, node->name, node->group, node->tool_id);
	}
	return r;
}

/* Groups that came up to the frame, and known ones whose flags are others. */
static void write_groups(struct sums_export *e, const struct aggregate *a, uint64_t frame)
{
	for (; e->groups < a->groups.count && a->groups.at[e->groups].frame <= frame; e->groups++) {
		const struct aggregate_group *group = &a->groups.at[e->groups];

		if (e->groups >= VPROF_GROUPS_KNOWN ||
		    group->flags != vprof_known_groups[e->groups].flags)
			vprof_write_group(&e->out, group->name, group->flags);
	}
}

static int write_sums(void *userdata, const struct aggregate *a, const struct aggregate_frame *f)
{
	struct sums_export *e = userdata;
	int r = add_nodes(e, a);

	if (r < 0)
		return r;
	if (!e->header)
		vprof_write_header(&e->out, a->nodes.at[0].tool_id);
	e->header = true;
	vprof_write_frame(&e->out, f->tick);
	write_groups(e, a, f->frame);
	for (e->rows = MAX(e->rows, 1u); e->rows < f->rows; e->rows++) {
		const struct aggregate_row *row = &a->rows.at[e->rows];

		e->tree.nodes.at[row->node].id = row->tool_id;
		e->tree.nodes.at[row->node].group = row->group;
		vprof_tree_link(&e->tree, row->node);
	}
	r = vprof_tree_write(&e->tree, &e->out);
	vprof_write_timings(&e->out);
	e->out.put(e->out.userdata, f->timings, f->bytes);
	vprof_write_frame_end(&e->out);
	return r;
}

static int export_sums(const struct export_order *order, struct export_out *out)
{
	struct sums_export e = {.out = {put_bytes, out}};
	struct aggregate *a;
	int r = aggregate_open(order->history, order->range->session, &a);

	if (r < 0)
		return r;
	r = aggregate_visit(order->history, a, order->range->first, order->range->last, write_sums,
			    &e);
	if (r == 0 && !e.header)
		vprof_write_header(&e.out, a->nodes.at[0].tool_id);
	vprof_tree_deinit(&e.tree);
	aggregate_free(a);
	return r;
}

/* ---- Sessions of events ---- */

struct cell {
	int64_t ns;
	uint64_t calls;
};

struct zones_export {
	const struct range *range; /* all of it */
	struct vprof_out out;
	struct vprof_tree tree;
	VEC(struct cell) cells; /* by node, then by frame of those at a time */
	size_t first, count;	/* these frames, as indexes into range->frames */
	uint32_t *names;	/* by marker: the lowest marker of the same name */
	uint32_t *groups;	/* by marker; VPROF_NONE: not asked for yet */
	size_t markers;
	const char *group_names[GROUPS_MAX]; /* behind the known ones */
	size_t group_count, groups_written;
	uint32_t *slots; /* nodes by parent and name, 0: free */
	size_t slot_count, slots_used;
	VEC(char *) track_names;
	VEC(uint32_t) track_nodes; /* by index of the track, VPROF_NONE: none yet */
	uint32_t track;		   /* the node of the track that is visited */
	uint32_t stack[CHUNK_DEPTH_MAX + 1];
	bool *seen; /* by node, in one frame */
	size_t seen_capacity;
	uint64_t times, rounded, cut, calls_cut, left_out;
};

static int intern_names(struct zones_export *e)
{
	size_t i;

	e->markers = e->range->markers.count;
	e->groups = calloc(e->markers + 1, sizeof(*e->groups));
	if (!e->groups)
		return -ENOMEM;
	for (i = 0; i < e->markers; i++)
		e->groups[i] = VPROF_NONE;
	return range_first_named(e->range, &e->names);
}

static uint32_t find_group(struct zones_export *e, const char *name)
{
	size_t i;

	for (i = 0; i < VPROF_GROUPS_KNOWN; i++)
		if (strcmp(vprof_known_groups[i].name, name) == 0)
			return (uint32_t)i;
	for (i = 0; i < e->group_count; i++)
		if (strcmp(e->group_names[i], name) == 0)
			return (uint32_t)i + VPROF_GROUPS_KNOWN;
	if (e->group_count == GROUPS_MAX)
		return 0;
	e->group_names[e->group_count++] = name;
	return (uint32_t)i + VPROF_GROUPS_KNOWN;
}

static uint32_t group_of(struct zones_export *e, uint32_t marker)
{
	const char *category;

	if (marker >= e->markers)
		return 0;
	category = e->range->markers.at[marker].category;
	if (e->groups[marker] == VPROF_NONE)
		e->groups[marker] = category && *category ? find_group(e, category) : 0;
	return e->groups[marker];
}

static int new_node(struct zones_export *e, uint32_t parent, const char *name, uint32_t group,
		    uint32_t *ret_node)
{
	size_t node = e->tree.nodes.count;
	int r = vprof_tree_add(&e->tree, parent, name, group, (int32_t)node);

	if (r == 0)
		r = VEC_RESERVE(&e->cells, FRAMES_AT_A_TIME);
	if (r < 0)
		return r;
	memset(e->cells.at + e->cells.count, 0, FRAMES_AT_A_TIME * sizeof(struct cell));
	e->cells.count += FRAMES_AT_A_TIME;
	*ret_node = (uint32_t)node;
	return 0;
}

/* The node's slot, or the free one where it would be. Names are told apart by their address. */
static uint32_t *slot_of(const struct zones_export *e, uint32_t parent, const char *name)
{
	uint64_t key[] = {parent, (uintptr_t)name};
	size_t mask = e->slot_count - 1, i = XXH3_64bits(key, sizeof(key)) & mask;

	for (; e->slots[i]; i = (i + 1) & mask) {
		const struct vprof_tree_node *node = &e->tree.nodes.at[e->slots[i]];

		if (node->parent == parent && node->name == name)
			break;
	}
	return &e->slots[i];
}

static int grow_slots(struct zones_export *e)
{
	uint32_t *old = e->slots;
	size_t count = e->slot_count, i;

	if (e->slots_used * 2 < count)
		return 0;
	e->slots = calloc(count ? count * 2 : 256, sizeof(*e->slots));
	if (!e->slots) {
		e->slots = old;
		return -ENOMEM;
	}
	e->slot_count = count ? count * 2 : 256;
	for (i = 0; i < count; i++)
		if (old[i])
			*slot_of(e, e->tree.nodes.at[old[i]].parent,
				 e->tree.nodes.at[old[i]].name) = old[i];
	free(old);
	return 0;
}

/* The child of parent that stands for the marker; VPROF_NONE: there are too many nodes. */
static int child_of(struct zones_export *e, uint32_t parent, uint32_t marker, uint32_t *ret_node)
{
	uint32_t name = marker < e->markers ? e->names[marker] : marker;
	const char *text = export_name(e->range, name);
	uint32_t *slot;
	int r = grow_slots(e);

	if (r < 0)
		return r;
	slot = slot_of(e, parent, text);
	*ret_node = *slot;
	if (*slot)
		return 0;
	*ret_node = VPROF_NONE;
	if (e->tree.nodes.count >= VPROF_NODES_MAX)
		return 0;
	r = new_node(e, parent, text, group_of(e, marker), ret_node);
	if (r < 0)
		return r;
	*slot = *ret_node;
	e->slots_used++;
	return 0;
}

static bool track_name_taken(const struct zones_export *e, const char *name)
{
	size_t i;

	for (i = 0; i < e->track_names.count; i++)
		if (strcmp(e->track_names.at[i], name) == 0)
			return true;
	return false;
}

/* A name that no other track has. */
static char *name_track(const struct zones_export *e, const struct track_row *track)
{
	static const char *const kinds[] = {"thread", "fiber", "GPU queue"};
	char text[TRACK_TEXT], both[TRACK_TEXT + 32];
	unsigned n;

	if (track->name && track->name[0])
		snprintf(text, sizeof(text), "%.*s", TRACK_TEXT - 1, track->name);
	else
		snprintf(text, sizeof(text), "%s %" PRIu32,
			 kinds[MIN((unsigned)track->kind, ARRAY_SIZE(kinds) - 1)], track->track);
	snprintf(both, sizeof(both), "%s", text);
	for (n = 2; track_name_taken(e, both); n++)
		snprintf(both, sizeof(both), "%s #%u", text, n);
	return strdup(both);
}

static int visit_track(void *userdata, size_t index, const struct track_row *track)
{
	struct zones_export *e = userdata;
	char *name;
	int r = 0;

	while (r == 0 && e->track_nodes.count <= index)
		r = VEC_PUSH(&e->track_nodes, VPROF_NONE);
	if (r == 0 && e->track_nodes.at[index] == VPROF_NONE) {
		name = name_track(e, track);
		if (!name || VEC_PUSH(&e->track_names, name) < 0) {
			free(name);
			return -ENOMEM;
		}
		r = new_node(e, 0, name, 0, &e->track_nodes.at[index]);
	}
	if (r < 0)
		return r;
	e->track = e->track_nodes.at[index];
	return 0;
}

/* Adds to a node's cell of a frame. The node of a track has one call. */
static void add_to_cell(struct zones_export *e, uint32_t node, size_t frame, int64_t ns)
{
	struct cell *cell = &e->cells.at[(size_t)node * FRAMES_AT_A_TIME + (frame - e->first)];

	cell->ns += ns;
	cell->calls = node == e->track ? 1 : cell->calls + 1;
}

static int enter(struct zones_export *e, uint32_t marker, uint32_t depth)
{
	uint32_t parent = depth == 0 ? e->track : e->stack[depth - 1];

	e->stack[depth] = VPROF_NONE;
	return parent == VPROF_NONE ? 0 : child_of(e, parent, marker, &e->stack[depth]);
}

static int visit_begin(void *userdata, uint32_t marker, int64_t t, uint32_t depth)
{
	(void)t;
	return depth > CHUNK_DEPTH_MAX ? -EBADMSG : enter(userdata, marker, depth);
}

static int visit_end(void *userdata, const struct range_zone *zone)
{
	struct zones_export *e = userdata;
	uint32_t node = zone->depth > CHUNK_DEPTH_MAX ? VPROF_NONE : e->stack[zone->depth];
	const struct history_frame *frames = e->range->frames.frames.at;
	size_t i;

	if (node == VPROF_NONE) {
		e->left_out++;
		return 0;
	}
	/* Ends come in order of time, begins do not: those of outer zones are earlier. */
	for (i = e->first; i < e->first + e->count && frames[i].row.t1 <= zone->begin; i++)
		;
	for (; i < e->first + e->count && frames[i].row.t0 <= zone->end; i++) {
		int64_t begin = MAX(zone->begin, frames[i].row.t0);
		int64_t end = MIN(zone->end, frames[i].row.t1), ns;

		if (end == frames[i].row.t0 && zone->begin < end)
			break; /* it ended where this frame begins */
		ns = range_ns(e->range, end) - range_ns(e->range, begin);
		add_to_cell(e, node, i, ns);
		if (zone->depth == 0)
			add_to_cell(e, e->track, i, ns);
	}
	return 0;
}

static int visit_gpu(void *userdata, const struct range_gpu_zone *zone)
{
	struct zones_export *e = userdata;
	const struct history_frame *frames = e->range->frames.frames.at;
	int64_t ns = zone->span.end_ns - zone->span.begin_ns;
	size_t i;
	int r = zone->depth > CHUNK_DEPTH_MAX ? -EBADMSG : enter(e, zone->span.marker, zone->depth);

	if (r < 0)
		return r;
	for (i = e->first; i < e->first + e->count && frames[i].row.frame != zone->span.frame; i++)
		;
	if (e->stack[zone->depth] == VPROF_NONE || i == e->first + e->count) {
		e->left_out++;
		return 0;
	}
	add_to_cell(e, e->stack[zone->depth], i, ns);
	if (zone->depth == 0)
		add_to_cell(e, e->track, i, ns);
	return 0;
}

/* ---- Writing frames ---- */

/* Links the nodes that have something in the frame, and those above them. */
static int link_nodes(struct zones_export *e, size_t k)
{
	size_t nodes = e->tree.nodes.count, i;

	if (nodes > e->seen_capacity) {
		free(e->seen);
		e->seen = calloc(nodes * 2, sizeof(*e->seen));
		e->seen_capacity = e->seen ? nodes * 2 : 0;
		if (!e->seen)
			return -ENOMEM;
	}
	memset(e->seen, 0, nodes);
	for (i = nodes; i-- > 1;) {
		if (e->cells.at[i * FRAMES_AT_A_TIME + k].calls)
			e->seen[i] = true;
		if (e->seen[i])
			e->seen[e->tree.nodes.at[i].parent] = true;
	}
	for (i = 1; i < nodes; i++)
		if (e->seen[i] && !e->tree.nodes.at[i].linked)
			vprof_tree_link(&e->tree, (uint32_t)i);
	return 0;
}

static void write_timing(struct zones_export *e, uint64_t calls, int64_t ns)
{
	uint64_t units = (uint64_t)MAX(ns, 0);

	e->times++;
	if (units % VPROF_UNIT_NS)
		e->rounded++;
	units = (units + VPROF_UNIT_NS / 2) / VPROF_UNIT_NS;
	if (calls > VPROF_CALLS_MAX) {
		e->cut++;
		e->calls_cut += calls - VPROF_CALLS_MAX;
	}
	vprof_write_timing(&e->out, (uint32_t)MIN(calls, VPROF_CALLS_MAX),
			   (uint32_t)MIN(units, UINT32_MAX));
}

static int write_frame(struct zones_export *e, size_t k)
{
	const struct frame_row *row = &e->range->frames.frames.at[e->first + k].row;
	size_t i;
	int r = link_nodes(e, k);

	if (r < 0)
		return r;
	vprof_write_frame(&e->out, (int32_t)MIN(row->frame, INT32_MAX));
	for (; e->groups_written < e->group_count; e->groups_written++)
		vprof_write_group(&e->out, e->group_names[e->groups_written], VPROF_GROUP_OTHER);
	r = vprof_tree_write(&e->tree, &e->out);
	if (r < 0)
		return r;
	vprof_write_timings(&e->out);
	write_timing(e, 1, row->end_ns - row->begin_ns);
	for (i = 1; i < e->tree.order.count; i++) {
		const struct cell *cell =
			&e->cells.at[(size_t)e->tree.order.at[i] * FRAMES_AT_A_TIME + k];

		write_timing(e, cell->calls, cell->ns);
	}
	vprof_write_frame_end(&e->out);
	return 0;
}

/* A range of these frames only. It owns nothing. */
static struct range slice(const struct range *range, size_t first, size_t count)
{
	const struct history_frame *frames = range->frames.frames.at;
	struct range part = *range;

	part.frames.frames.at += first;
	part.frames.frames.count = count;
	part.first = frames[first].row.frame;
	part.last = frames[first + count - 1].row.frame;
	part.t0 = frames[first].row.t0;
	part.t1 = frames[first + count - 1].row.t1;
	part.begin_ns = frames[first].row.begin_ns;
	part.end_ns = frames[first + count - 1].row.end_ns;
	part.kept_from = range->kept_from > first ? MIN(range->kept_from - first, count) : 0;
	part.events_t0 = MIN(MAX(range->events_t0, part.t0), part.t1);
	part.evicted = part.kept_from > 0;
	return part;
}

static int write_some(struct zones_export *e, const struct export_order *order)
{
	const struct range_visitor visitor = {.userdata = e,
					      .no_texts = true,
					      .track = visit_track,
					      .begin = visit_begin,
					      .end = visit_end,
					      .gpu = visit_gpu};
	struct range part = slice(e->range, e->first, e->count);
	size_t k;
	int r = range_visit(order->history, &part, &visitor);

	for (k = 0; k < e->count && r == 0; k++)
		r = write_frame(e, k);
	memset(e->cells.at, 0, e->cells.count * sizeof(*e->cells.at));
	return r;
}

static int write_whole(struct zones_export *e, const struct export_order *order)
{
	size_t frames = e->range->frames.frames.count;
	uint32_t root;
	int r = intern_names(e);

	if (r == 0)
		r = new_node(e, VPROF_NONE, "", 0, &root);
	if (r == 0)
		vprof_write_header(&e->out, 0);
	for (; r == 0 && e->first < frames; e->first += e->count) {
		e->count = MIN((size_t)FRAMES_AT_A_TIME, frames - e->first);
		r = write_some(e, order);
	}
	return r;
}

static void describe(const struct zones_export *e, struct export_report *report)
{
	int length = snprintf(report->lost, sizeof(report->lost),
			      "times are in units of 4 us: %" PRIu64 " of %" PRIu64
			      " were rounded, by at most 2 us each",
			      e->rounded, e->times);

	if (e->cut)
		length +=
			snprintf(report->lost + length, sizeof(report->lost) - (size_t)length,
				 "; %" PRIu64 " counts were above 65535 and lost %" PRIu64 " calls",
				 e->cut, e->calls_cut);
	if (e->left_out && (size_t)length < sizeof(report->lost))
		snprintf(report->lost + length, sizeof(report->lost) - (size_t)length,
			 "; %" PRIu64 " zones are left out, there are more than %u paths",
			 e->left_out, VPROF_NODES_MAX);
}

static void deinit(struct zones_export *e)
{
	size_t i;

	for (i = 0; i < e->track_names.count; i++)
		free(e->track_names.at[i]);
	VEC_FREE(&e->track_names);
	VEC_FREE(&e->track_nodes);
	VEC_FREE(&e->cells);
	vprof_tree_deinit(&e->tree);
	free(e->names);
	free(e->groups);
	free(e->slots);
	free(e->seen);
	free(e);
}

static int export_zones(const struct export_order *order, struct export_out *out,
			struct export_report *report)
{
	struct zones_export *e = calloc(1, sizeof(*e));
	int r;

	if (!e)
		return -ENOMEM;
	e->range = order->range;
	e->out = (struct vprof_out){put_bytes, out};
	r = write_whole(e, order);
	if (r == 0)
		describe(e, report);
	deinit(e);
	return r;
}

int export_vprof(const struct export_order *order, struct export_out *out,
		 struct export_report *report)
{
	int sums = aggregate_is(order->history, order->range->session);

	report->lost[0] = '\0';
	if (sums < 0)
		return sums;
	return sums ? export_sums(order, out) : export_zones(order, out, report);
}
