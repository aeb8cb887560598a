/* SPDX-License-Identifier: MIT */
/*
 * Reading the runs. Paths are shared by all runs of both sides and found by their parent and name;
 * each run has a list of cells for each path, by frame. Ends come in order, so a cell is nearly
 * always the last one or the next; only a second thread of the same name goes back.
 *
 * A zone's time is split over its frames. What a zone takes is taken off the self time of the one
 * around it, cell by cell.
 */
#include "compare.h"

#include "frame_parts.h"
#include "shm/layout.h"

#include <errno.h>
#include <string.h>

#define NOWHERE UINT32_MAX

const char *const compare_part_names[COMPARE_PARTS] = {"wall",	       "cpu",	   "wait_gpu",
						       "wait_present", "wait_cap", "gpu"};

int compare_new(struct compare **ret_compare)
{
	struct compare *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->slot_count = 65536; /* more than twice COMPARE_PATHS_MAX: a probe ends soon */
	c->slots = malloc(c->slot_count * sizeof(*c->slots));
	if (!c->slots) {
		free(c);
		return -ENOMEM;
	}
	memset(c->slots, 0xff, c->slot_count * sizeof(*c->slots));
	*ret_compare = c;
	return 0;
}

static void run_deinit(struct compare_run *run)
{
	size_t i;

	for (i = 0; i < COMPARE_PARTS; i++)
		run_series_deinit(&run->parts[i]);
	for (i = 0; i < run->cells.count; i++)
		VEC_FREE(&run->cells.at[i]);
	VEC_FREE(&run->cells);
}

void compare_free(struct compare *compare)
{
	size_t i, side;

	if (!compare)
		return;
	for (i = 0; i < compare->paths.count; i++)
		free(compare->paths.at[i].name);
	VEC_FREE(&compare->paths);
	for (side = 0; side < 2; side++) {
		for (i = 0; i < compare->sides[side].count; i++)
			run_deinit(&compare->sides[side].at[i]);
		VEC_FREE(&compare->sides[side]);
	}
	free(compare->slots);
	free(compare);
}

int compare_add_run(struct compare *compare, unsigned side)
{
	struct compare_run run = {0};

	if (VEC_PUSH(&compare->sides[side], run) < 0)
		return -ENOMEM;
	return (int)compare->sides[side].count - 1;
}

static uint64_t hash_of(const char *name)
{
	return fprof_name_hash(name, strlen(name));
}

/* The path's index, made where it is new; NOWHERE: there are too many, or no memory. */
static uint32_t path_of(struct compare *c, uint32_t parent, const char *name, uint64_t hash)
{
	uint64_t at = (hash ^ parent) * UINT64_C(0x9e3779b97f4a7c15) >> 32;
	struct compare_path path = {.parent = parent};

	for (;; at++) {
		uint32_t *slot = &c->slots[at % c->slot_count];

		if (*slot != NOWHERE) {
			const struct compare_path *p = &c->paths.at[*slot];

			if (p->parent == parent && strcmp(p->name, name) == 0)
				return *slot;
			continue;
		}
		if (c->paths.count >= COMPARE_PATHS_MAX)
			return NOWHERE;
		path.name = strdup(name);
		if (!path.name || VEC_PUSH(&c->paths, path) < 0) {
			free(path.name);
			return NOWHERE;
		}
		return *slot = (uint32_t)c->paths.count - 1;
	}
}

struct open_path {
	uint32_t path;
	size_t frame; /* index into the range's */
};

struct reader {
	struct compare *compare;
	struct compare_run *run;
	const struct range *range;
	uint32_t *counted; /* by frame of the range: its number among those counted */
	uint64_t *hashes;  /* by marker */
	uint32_t thread;   /* path of the track */
	VEC(struct open_path) stack;
	VEC(uint32_t) gpu; /* paths by depth */
};

static void reader_deinit(struct reader *r)
{
	free(r->counted);
	free(r->hashes);
	VEC_FREE(&r->stack);
	VEC_FREE(&r->gpu);
}

static compare_cells_vec *cells_of(struct compare_run *run, uint32_t path)
{
	if (path >= run->cells.count) {
		size_t more = path + 1 - run->cells.count;

		if (VEC_RESERVE(&run->cells, more) < 0)
			return NULL;
		memset(run->cells.at + run->cells.count, 0, more * sizeof(*run->cells.at));
		run->cells.count = path + 1;
	}
	return &run->cells.at[path];
}

/* Where the cell of a frame is, or would be. */
static size_t place_of(const compare_cells_vec *cells, uint32_t frame)
{
	size_t low = 0, high = cells->count;

	if (high > 0 && cells->at[high - 1].frame <= frame)
		return cells->at[high - 1].frame == frame ? high - 1 : high;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (cells->at[middle].frame < frame)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int add(struct reader *r, uint32_t path, uint32_t frame, const struct compare_cell *more)
{
	compare_cells_vec *cells = path == NOWHERE ? NULL : cells_of(r->run, path);
	struct compare_cell *cell;
	size_t at;

	if (path == NOWHERE || frame == NOWHERE)
		return 0;
	if (!cells || VEC_RESERVE(cells, 1) < 0)
		return -ENOMEM;
	at = place_of(cells, frame);
	cell = &cells->at[at];
	if (at == cells->count || cell->frame != frame) {
		memmove(cell + 1, cell, (cells->count - at) * sizeof(*cell));
		*cell = (struct compare_cell){.frame = frame};
		cells->count++;
	}
	cell->calls += more->calls;
	cell->total_ns += more->total_ns;
	cell->self_ns += more->self_ns;
	return 0;
}

static int on_track(void *userdata, size_t index, const struct track_row *track)
{
	struct reader *r = userdata;
	const char *name = track->name ? track->name : "thread";

	(void)index;
	r->stack.count = 0;
	r->gpu.count = 0;
	r->thread = path_of(r->compare, NOWHERE, name, hash_of(name));
	return 0;
}

static uint32_t child_of(struct reader *r, uint32_t parent, uint32_t marker)
{
	const struct range *range = r->range;

	if (parent == NOWHERE || marker >= range->markers.count || !range->markers.at[marker].name)
		return NOWHERE;
	return path_of(r->compare, parent, range->markers.at[marker].name, r->hashes[marker]);
}

static int on_begin(void *userdata, uint32_t marker, int64_t t, uint32_t depth)
{
	struct reader *r = userdata;
	const struct open_path *outer = r->stack.count ? &r->stack.at[r->stack.count - 1] : NULL;
	size_t hint = outer ? outer->frame : 0, frame = range_frame_at(r->range, t, hint);
	struct open_path open = {child_of(r, outer ? outer->path : r->thread, marker),
				 frame == SIZE_MAX ? hint : frame};

	(void)depth;
	r->compare->left_out += open.path == NOWHERE;
	return VEC_PUSH(&r->stack, open);
}

static int on_end(void *userdata, const struct range_zone *zone)
{
	struct reader *r = userdata;
	struct frame_parts parts = {r->range, 0, zone->begin, zone->end};
	struct compare_cell call = {.calls = 1};
	struct frame_part part;
	struct open_path open;
	uint32_t outer;
	int rc = 0;

	if (r->stack.count == 0)
		return -EBADMSG;
	open = r->stack.at[--r->stack.count];
	outer = r->stack.count ? r->stack.at[r->stack.count - 1].path : NOWHERE;
	parts.frame = open.frame;
	if (!(zone->flags & ZONE_CLIPPED_BEGIN))
		rc = add(r, open.path, r->counted[open.frame], &call);
	while (rc == 0 && frame_parts_next(&parts, &part)) {
		struct compare_cell own = {.total_ns = (double)part.ns, .self_ns = (double)part.ns};
		struct compare_cell taken = {.self_ns = -(double)part.ns};

		rc = add(r, open.path, r->counted[part.frame], &own);
		if (rc == 0)
			rc = add(r, outer, r->counted[part.frame], &taken);
	}
	return rc;
}

static int on_gpu(void *userdata, const struct range_gpu_zone *zone)
{
	struct reader *r = userdata;
	double ns = (double)(zone->span.end_ns - zone->span.begin_ns);
	size_t depth = MIN(zone->depth, r->gpu.count);
	size_t index = range_frame_numbered(r->range, zone->span.frame);
	uint32_t outer = depth ? r->gpu.at[depth - 1] : NOWHERE;
	struct compare_cell own = {.calls = 1, .total_ns = ns, .self_ns = ns};
	struct compare_cell taken = {.self_ns = -ns};
	uint32_t path = child_of(r, depth ? outer : r->thread, zone->span.marker);
	int rc;

	r->compare->left_out += path == NOWHERE;
	r->gpu.count = depth;
	rc = VEC_PUSH(&r->gpu, path);
	if (rc < 0 || index == SIZE_MAX)
		return rc;
	rc = add(r, path, r->counted[index], &own);
	return rc == 0 ? add(r, outer, r->counted[index], &taken) : rc;
}

static int add_parts(struct compare_run *run, const struct history_frame *f)
{
	const int64_t values[COMPARE_PARTS] = {
		[COMPARE_WALL] = f->row.end_ns - f->row.begin_ns,
		[COMPARE_CPU] = f->row.cpu_ns,
		[COMPARE_WAIT_GPU] = f->row.wait_gpu_ns,
		[COMPARE_WAIT_PRESENT] = f->row.wait_present_ns,
		[COMPARE_WAIT_CAP] = f->row.wait_cap_ns,
		[COMPARE_GPU] = f->gpu_ns,
	};
	size_t i;

	for (i = 0; i < COMPARE_PARTS; i++) {
		if (values[i] == NS_UNKNOWN)
			continue;
		if (VEC_PUSH(&run->parts[i].samples, (double)values[i]) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Which frames count: those of play whose events are here. */
static int choose_frames(struct reader *r)
{
	const struct range *range = r->range;
	size_t count = range->frames.frames.count, i;

	for (i = 0; i < count; i++) {
		const struct history_frame *f = &range->frames.frames.at[i];

		r->counted[i] = NOWHERE;
		if (i < range->kept_from) {
			r->run->frames.evicted++;
			continue;
		}
		if (!run_frames_take(&r->run->frames, &f->row))
			continue;
		r->counted[i] = r->run->counted++;
		if (add_parts(r->run, f) < 0)
			return -ENOMEM;
	}
	return 0;
}

int compare_read(struct compare *compare, unsigned side, size_t run, struct history *h,
		 const struct range *range)
{
	__attribute__((cleanup(reader_deinit))) struct reader r = {
		.compare = compare, .run = &compare->sides[side].at[run], .range = range};
	struct range_visitor visitor = {.userdata = &r,
					.no_texts = true,
					.track = on_track,
					.begin = on_begin,
					.end = on_end,
					.gpu = on_gpu};
	size_t i;
	int rc;

	r.counted = calloc(range->frames.frames.count + 1, sizeof(*r.counted));
	r.hashes = calloc(range->markers.count + 1, sizeof(*r.hashes));
	if (!r.counted || !r.hashes)
		return -ENOMEM;
	for (i = 0; i < range->markers.count; i++)
		r.hashes[i] = range->markers.at[i].name ? hash_of(range->markers.at[i].name) : 0;
	rc = choose_frames(&r);
	return rc == 0 ? range_visit(h, range, &visitor) : rc;
}
