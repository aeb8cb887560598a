/* SPDX-License-Identifier: MIT */
/*
 * A batch owns its arrays and every string and blob that its rows point to. It belongs to one
 * thread at a time: the drain fills it, the store writes and frees it.
 */
#include "batch.h"

#include <stdlib.h>

struct batch *batch_new(void)
{
	return calloc(1, sizeof(struct batch));
}

static void free_names(struct batch *batch)
{
	size_t i;

	for (i = 0; i < batch->sessions.count; i++)
		session_row_deinit(&batch->sessions.at[i]);
	for (i = 0; i < batch->updates.count; i++)
		session_update_row_deinit(&batch->updates.at[i]);
	for (i = 0; i < batch->markers.count; i++)
		marker_row_deinit(&batch->markers.at[i]);
	for (i = 0; i < batch->tracks.count; i++)
		free(batch->tracks.at[i].name);
	for (i = 0; i < batch->streams.count; i++)
		free(batch->streams.at[i].name);
	for (i = 0; i < batch->infos.count; i++) {
		free(batch->infos.at[i].key);
		free(batch->infos.at[i].value);
	}
}

void session_row_deinit(struct session_row *row)
{
	free(row->boot_id);
	free(row->name);
	free(row->exe);
	free(row->build_id);
	free(row->facts_json);
}

void session_update_row_deinit(struct session_update_row *row)
{
	free(row->end_reason);
	free(row->fault);
}

void marker_row_deinit(struct marker_row *row)
{
	free(row->name);
	free(row->category);
	free(row->file);
}

void batch_free(struct batch *batch)
{
	size_t i;

	if (!batch)
		return;
	free_names(batch);
	for (i = 0; i < batch->chunks.count; i++)
		free(batch->chunks.at[i].data);
	for (i = 0; i < batch->ledgers.count; i++)
		free(batch->ledgers.at[i].stack);
	VEC_FREE(&batch->sessions);
	VEC_FREE(&batch->memories);
	VEC_FREE(&batch->markers);
	VEC_FREE(&batch->tracks);
	VEC_FREE(&batch->streams);
	VEC_FREE(&batch->infos);
	VEC_FREE(&batch->chunks);
	VEC_FREE(&batch->gaps);
	VEC_FREE(&batch->frames);
	VEC_FREE(&batch->frame_counters);
	VEC_FREE(&batch->gpu_spans);
	VEC_FREE(&batch->frame_gpus);
	VEC_FREE(&batch->ledgers);
	VEC_FREE(&batch->updates);
	free(batch);
}
