/* SPDX-License-Identifier: MIT */
/*
 * Folded stacks, one line a path: "thread;zone;zone 1234", the ns that were spent in the last of
 * them and in none of its children. What flame graph tools read.
 *
 * A tree of all paths is kept, by parent and name: at most PATHS_MAX of them. Zones beyond count
 * for their callers, and the report says how many. In names ';' becomes ',' and control characters
 * become spaces, since the format has no escapes.
 */
#include "chunk.h"
#include "export.h"
#include "util.h"

#include <errno.h>
#include <stdio.h>

#define PATHS_MAX (1u << 20)
#define OPEN_MAX  (CHUNK_DEPTH_MAX * 2u)
#define NONE	  UINT32_MAX

struct path {
	uint32_t parent, marker; /* parent NONE: a track, marker is its index */
	int64_t self;
};

struct open_path {
	uint32_t path;
	int64_t begin, end, children;
};

struct folded {
	const struct range *range;
	struct export_out *out;
	VEC(struct path) paths;
	uint32_t *slots;
	uint32_t mask;
	struct open_path open[OPEN_MAX + 1]; /* the track's own path lies below all */
	uint32_t depth;
	uint64_t refused;
};

static uint32_t hash_path(uint32_t parent, uint32_t marker)
{
	uint64_t h = ((uint64_t)parent << 32 | marker) * UINT64_C(0x9e3779b97f4a7c15);

	return (uint32_t)(h >> 32);
}

static int grow(struct folded *f)
{
	uint32_t size = f->slots ? (f->mask + 1) * 2 : 1024, i, at;
	uint32_t *slots;

	if (f->slots && f->paths.count * 2 < f->mask)
		return 0;
	slots = calloc(size, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(f->slots);
	f->slots = slots;
	f->mask = size - 1;
	for (i = 0; i < f->paths.count; i++) {
		at = hash_path(f->paths.at[i].parent, f->paths.at[i].marker) & f->mask;
		while (slots[at])
			at = (at + 1) & f->mask;
		slots[at] = i + 1;
	}
	return 0;
}

/* The path of marker below parent in *ret; the parent itself where there is no more room. */
static int find_path(struct folded *f, uint32_t parent, uint32_t marker, uint32_t *ret)
{
	struct path path = {parent, marker, 0};
	uint32_t at;
	int r = grow(f);

	if (r < 0)
		return r;
	at = hash_path(parent, marker) & f->mask;
	for (; f->slots[at]; at = (at + 1) & f->mask) {
		const struct path *p = &f->paths.at[f->slots[at] - 1];

		if (p->parent == parent && p->marker == marker) {
			*ret = f->slots[at] - 1;
			return 0;
		}
	}
	if (f->paths.count >= PATHS_MAX && parent != NONE) {
		f->refused++;
		*ret = parent;
		return 0;
	}
	if (VEC_PUSH(&f->paths, path) < 0)
		return -ENOMEM;
	*ret = (uint32_t)f->paths.count - 1;
	f->slots[at] = *ret + 1;
	return 0;
}

static void close_innermost(struct folded *f, int64_t end)
{
	struct open_path *o = &f->open[f->depth--];
	int64_t total = MAX(end - o->begin, 0);

	f->paths.at[o->path].self += MAX(total - o->children, 0);
	f->open[f->depth].children += total;
}

static int open_path(struct folded *f, uint32_t marker, int64_t begin, int64_t end)
{
	uint32_t path;
	int r;

	if (f->depth == OPEN_MAX)
		return -E2BIG;
	r = find_path(f, f->open[f->depth].path, marker, &path);
	if (r == 0)
		f->open[++f->depth] = (struct open_path){path, begin, end, 0};
	return r;
}

/* Spans have no end of their own in a visit. */
static void close_spans(struct folded *f, uint32_t depth)
{
	while (f->depth > depth)
		close_innermost(f, f->open[f->depth].end);
}

static int folded_track(void *userdata, size_t index, const struct track_row *track)
{
	struct folded *f = userdata;

	(void)track;
	close_spans(f, 0);
	f->open[0] = (struct open_path){0};
	return find_path(f, NONE, (uint32_t)index, &f->open[0].path);
}

static int folded_begin(void *userdata, uint32_t marker, int64_t t, uint32_t depth)
{
	struct folded *f = userdata;

	(void)depth;
	return open_path(f, marker, range_ns(f->range, t), 0);
}

static int folded_end(void *userdata, const struct range_zone *zone)
{
	struct folded *f = userdata;

	close_innermost(f, range_ns(f->range, zone->end));
	return 0;
}

static int folded_gpu(void *userdata, const struct range_gpu_zone *zone)
{
	struct folded *f = userdata;

	close_spans(f, MIN(zone->depth, f->depth));
	return open_path(f, zone->span.marker, zone->span.begin_ns, zone->span.end_ns);
}

static void put_name(struct folded *f, const char *name)
{
	const char *from = name;

	for (; *name; name++) {
		bool control = (unsigned char)*name < 0x20 || *name == 0x7f;

		if (!control && *name != ';')
			continue;
		export_bytes(f->out, from, (size_t)(name - from));
		export_text(f->out, control ? " " : ",");
		from = name + 1;
	}
	export_text(f->out, from);
}

static void put_track(struct folded *f, uint32_t index)
{
	const struct track_row *t = &f->range->tracks.at[index];
	char number[32];

	snprintf(number, sizeof(number), "track %u", t->track);
	put_name(f, t->name && *t->name ? t->name : number);
}

static void put_path(struct folded *f, uint32_t index)
{
	uint32_t up[OPEN_MAX + 2], count = 0;

	for (; index != NONE && count < ARRAY_SIZE(up); index = f->paths.at[index].parent)
		up[count++] = index;
	while (count > 0) {
		const struct path *p = &f->paths.at[up[--count]];

		if (p->parent == NONE)
			put_track(f, p->marker);
		else
			put_name(f, export_name(f->range, p->marker));
		if (count > 0)
			export_text(f->out, ";");
	}
}

static int write_whole(struct folded *f, const struct export_order *order)
{
	const struct range_visitor visitor = {
		.userdata = f,
		.no_texts = true,
		.track = folded_track,
		.begin = folded_begin,
		.end = folded_end,
		.gpu = folded_gpu,
	};
	uint32_t i;
	int r = range_visit(order->history, order->range, &visitor);

	close_spans(f, 0);
	for (i = 0; i < f->paths.count && r == 0; i++) {
		if (f->paths.at[i].self <= 0)
			continue;
		put_path(f, i);
		export_text(f->out, " ");
		export_int(f->out, f->paths.at[i].self);
		export_text(f->out, "\n");
		r = f->out->error;
	}
	return r;
}

int export_folded(const struct export_order *order, struct export_out *out,
		  struct export_report *report)
{
	struct folded *f = calloc(1, sizeof(*f));
	int r;

	if (!f)
		return -ENOMEM;
	f->range = order->range;
	f->out = out;
	r = write_whole(f, order);
	if (f->refused > 0)
		snprintf(report->lost, sizeof(report->lost),
			 "%llu zones on paths beyond the first %u count for their callers",
			 (unsigned long long)f->refused, PATHS_MAX);
	VEC_FREE(&f->paths);
	free(f->slots);
	free(f);
	return r;
}
