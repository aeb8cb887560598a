/* SPDX-License-Identifier: MIT */
/*
 * A .vprof recording of a stranger: read at both widths, and what could be read written and read
 * again, which must give the same.
 */
#include "daemon/vprof.h"
#include "daemon/vprof_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct written {
	uint8_t *bytes;
	size_t count, capacity;
};

static void put(void *userdata, const void *bytes, size_t count)
{
	struct written *w = userdata;

	if (w->count + count > w->capacity) {
		w->capacity = 2 * (w->count + count);
		w->bytes = realloc(w->bytes, w->capacity);
		if (!w->bytes)
			abort();
	}
	memcpy(w->bytes + w->count, bytes, count);
	w->count += count;
}

/* All of the file's frames, each behind what came with it. */
static void rewrite(struct vprof_reader *r, struct written *w)
{
	const struct vprof_out out = {put, w};
	struct vprof_tree tree = {0};
	size_t groups = VPROF_GROUPS_KNOWN, rows = 1, i;
	struct vprof_frame f;

	vprof_write_header(&out, r->rows.at[0].id);
	while (vprof_reader_next(r, &f) == 1) {
		vprof_write_frame(&out, f.tick);
		for (; groups < f.groups; groups++)
			vprof_write_group(&out, r->groups.at[groups].name,
					  r->groups.at[groups].flags);
		for (i = tree.nodes.count; i < f.nodes; i++)
			if (vprof_tree_add(&tree, r->nodes.at[i].parent, r->nodes.at[i].name,
					   r->nodes.at[i].group, r->nodes.at[i].id) < 0)
				abort();
		for (; rows < f.rows; rows++) {
			tree.nodes.at[r->rows.at[rows].node].id = r->rows.at[rows].id;
			vprof_tree_link(&tree, r->rows.at[rows].node);
		}
		if (vprof_tree_write(&tree, &out) < 0 || tree.order.count != f.nodes)
			abort();
		vprof_write_timings(&out);
		put(w, f.timings, f.bytes);
		vprof_write_frame_end(&out);
	}
	vprof_tree_deinit(&tree);
}

static void read_again(const struct vprof_reader *first, const struct written *w)
{
	struct vprof_reader r;
	struct vprof_frame f;

	if (vprof_reader_init(&r, w->bytes, w->count, VPROF_SHORT_LONG) < 0)
		abort();
	while (vprof_reader_next(&r, &f) == 1)
		;
	if (r.faulty || r.frames != first->frames)
		abort();
	vprof_reader_deinit(&r);
}

/* Ids that several nodes have are nobody's to tell apart: such a file is not written again. */
static bool ids_are_unique(const struct vprof_reader *r)
{
	size_t i, k;

	if (r->rows.count > 500)
		return false;
	for (i = 0; i < r->rows.count; i++)
		for (k = 0; k < i; k++)
			if (r->rows.at[i].id == r->rows.at[k].id)
				return false;
	return true;
}

static void check(const uint8_t *data, size_t size, unsigned long_bytes)
{
	struct vprof_reader r, again;
	struct written w = {0};
	struct vprof_frame f;

	if (vprof_reader_init(&r, data, size, long_bytes) == 0) {
		while (vprof_reader_next(&r, &f) == 1)
			;
		if (vprof_reader_init(&again, data, size, long_bytes) < 0)
			abort();
		if (ids_are_unique(&r)) {
			rewrite(&again, &w);
			read_again(&again, &w);
		}
		vprof_reader_deinit(&again);
		free(w.bytes);
	}
	vprof_reader_deinit(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct vprof_survey survey;

	check(data, size, VPROF_SHORT_LONG);
	check(data, size, VPROF_LONG_LONG);
	if (vprof_survey(data, size, &survey) < 0)
		abort();
	return 0;
}
