/* SPDX-License-Identifier: MIT */
/*
 * A batch owns its arrays and every string and blob that its rows point to. It belongs to one
 * thread at a time: the drain fills it, the store writes and frees it.
 */
#include "batch.h"

#include <stdlib.h>
#include <string.h>

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
	free(row->detail);
}

void marker_row_deinit(struct marker_row *row)
{
	free(row->name);
	free(row->category);
	free(row->file);
}

static void free_stacks(struct batch *batch)
{
	size_t i;

	for (i = 0; i < batch->stacks.count; i++)
		free(batch->stacks.at[i].data);
	for (i = 0; i < batch->stack_modules.count; i++)
		free(batch->stack_modules.at[i].path);
	for (i = 0; i < batch->stack_symbols.count; i++)
		free(batch->stack_symbols.at[i].name);
	VEC_FREE(&batch->stacks);
	VEC_FREE(&batch->stack_modules);
	VEC_FREE(&batch->stack_symbols);
}

void batch_free(struct batch *batch)
{
	size_t i;

	if (!batch)
		return;
	free_names(batch);
	free_stacks(batch);
	for (i = 0; i < batch->chunks.count; i++)
		free(batch->chunks.at[i].data);
	for (i = 0; i < batch->scheds.count; i++)
		free(batch->scheds.at[i].data);
	VEC_FREE(&batch->scheds);
	for (i = 0; i < batch->ledgers.count; i++)
		free(batch->ledgers.at[i].stack);
	for (i = 0; i < batch->spikes.count; i++)
		free(batch->spikes.at[i].reason_json);
	for (i = 0; i < batch->suppressed.count; i++)
		free(batch->suppressed.at[i].trigger_json);
	VEC_FREE(&batch->sessions);
	VEC_FREE(&batch->memories);
	VEC_FREE(&batch->markers);
	VEC_FREE(&batch->tracks);
	VEC_FREE(&batch->streams);
	VEC_FREE(&batch->infos);
	VEC_FREE(&batch->chunks);
	VEC_FREE(&batch->zone_counts);
	VEC_FREE(&batch->gaps);
	VEC_FREE(&batch->frames);
	VEC_FREE(&batch->frame_counters);
	VEC_FREE(&batch->gpu_spans);
	VEC_FREE(&batch->frame_gpus);
	VEC_FREE(&batch->sampled);
	VEC_FREE(&batch->samples);
	VEC_FREE(&batch->rans);
	VEC_FREE(&batch->ledgers);
	VEC_FREE(&batch->updates);
	VEC_FREE(&batch->clears);
	VEC_FREE(&batch->spikes);
	VEC_FREE(&batch->suppressed);
	free(batch);
}

static uint64_t text_bytes(const char *text)
{
	return text ? strlen(text) + 1 : 0;
}

static uint64_t session_text_bytes(const struct session_row *row)
{
	return text_bytes(row->boot_id) + text_bytes(row->name) + text_bytes(row->exe) +
	       text_bytes(row->build_id) + text_bytes(row->facts_json);
}

/* Of the rows since the last time. */
static uint64_t weigh_names(const struct batch *b, struct batch_weighed *w)
{
	uint64_t bytes = 0;

	for (; w->sessions < b->sessions.count; w->sessions++)
		bytes += session_text_bytes(&b->sessions.at[w->sessions]);
	for (; w->markers < b->markers.count; w->markers++)
		bytes += text_bytes(b->markers.at[w->markers].name) +
			 text_bytes(b->markers.at[w->markers].category) +
			 text_bytes(b->markers.at[w->markers].file);
	for (; w->tracks < b->tracks.count; w->tracks++)
		bytes += text_bytes(b->tracks.at[w->tracks].name);
	for (; w->streams < b->streams.count; w->streams++)
		bytes += text_bytes(b->streams.at[w->streams].name);
	return bytes;
}

static uint64_t weigh_others(const struct batch *b, struct batch_weighed *w)
{
	uint64_t bytes = 0;

	for (; w->infos < b->infos.count; w->infos++)
		bytes += text_bytes(b->infos.at[w->infos].key) +
			 text_bytes(b->infos.at[w->infos].value);
	for (; w->stack_modules < b->stack_modules.count; w->stack_modules++)
		bytes += text_bytes(b->stack_modules.at[w->stack_modules].path);
	for (; w->stack_symbols < b->stack_symbols.count; w->stack_symbols++)
		bytes += text_bytes(b->stack_symbols.at[w->stack_symbols].name);
	for (; w->ledgers < b->ledgers.count; w->ledgers++)
		bytes += b->ledgers.at[w->ledgers].stack_bytes;
	for (; w->updates < b->updates.count; w->updates++)
		bytes += text_bytes(b->updates.at[w->updates].end_reason) +
			 text_bytes(b->updates.at[w->updates].fault) +
			 text_bytes(b->updates.at[w->updates].detail);
	for (; w->spikes < b->spikes.count; w->spikes++)
		bytes += text_bytes(b->spikes.at[w->spikes].reason_json);
	for (; w->suppressed < b->suppressed.count; w->suppressed++)
		bytes += text_bytes(b->suppressed.at[w->suppressed].trigger_json);
	return bytes;
}

#define ROWS_BYTES(v) ((uint64_t)(v).count * sizeof(*(v).at))

uint64_t batch_weight(struct batch *b)
{
	b->weighed.bytes += weigh_names(b, &b->weighed) + weigh_others(b, &b->weighed);
	return b->bytes + b->weighed.bytes + ROWS_BYTES(b->sessions) + ROWS_BYTES(b->memories) +
	       ROWS_BYTES(b->markers) + ROWS_BYTES(b->tracks) + ROWS_BYTES(b->streams) +
	       ROWS_BYTES(b->infos) + ROWS_BYTES(b->chunks) + ROWS_BYTES(b->zone_counts) +
	       ROWS_BYTES(b->gaps) + ROWS_BYTES(b->frames) + ROWS_BYTES(b->frame_counters) +
	       ROWS_BYTES(b->gpu_spans) + ROWS_BYTES(b->frame_gpus) + ROWS_BYTES(b->sampled) +
	       ROWS_BYTES(b->samples) + ROWS_BYTES(b->rans) + ROWS_BYTES(b->stacks) +
	       ROWS_BYTES(b->stack_modules) + ROWS_BYTES(b->stack_symbols) + ROWS_BYTES(b->scheds) +
	       ROWS_BYTES(b->ledgers) + ROWS_BYTES(b->updates) + ROWS_BYTES(b->clears) +
	       ROWS_BYTES(b->spikes) + ROWS_BYTES(b->suppressed);
}
