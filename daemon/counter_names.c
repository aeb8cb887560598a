/* SPDX-License-Identifier: MIT */
/* One table; docs/guide/counters.md is tested against it. */
#include "counter_names.h"

#include "shm/layout.h"
#include "util.h"

#include <string.h>

const char *const counter_modules[] = {"cpu",	 "gpu",	    "rendering", "memory", "managed",
				       "assets", "physics", "audio",	 "game",   NULL};

/* Sorted by module. */
static const struct {
	const char *name, *module;
	uint8_t unit; /* enum fprof_unit */
	const char *meaning;
} names[] = {
	{"jobs_run", "cpu", FPROF_UNIT_COUNT, "jobs that workers finished"},
	{"jobs_waiting", "cpu", FPROF_UNIT_COUNT, "jobs in queues"},
	{"gpu_time", "gpu", FPROF_UNIT_MS, "GPU time of the frame, by the engine's own queries"},
	{"vram_used_bytes", "gpu", FPROF_UNIT_BYTES, "GPU memory that the engine allocated"},
	{"vram_budget_bytes", "gpu", FPROF_UNIT_BYTES, "GPU memory that the driver grants"},
	{"draw_calls", "rendering", FPROF_UNIT_COUNT, "draw calls submitted"},
	{"dispatches", "rendering", FPROF_UNIT_COUNT, "compute dispatches submitted"},
	{"triangles", "rendering", FPROF_UNIT_COUNT, "triangles submitted"},
	{"instances", "rendering", FPROF_UNIT_COUNT, "instances drawn"},
	{"pipeline_changes", "rendering", FPROF_UNIT_COUNT, "pipelines or shaders bound"},
	{"pipelines_compiled", "rendering", FPROF_UNIT_COUNT, "pipelines or shaders compiled"},
	{"render_targets", "rendering", FPROF_UNIT_COUNT, "render target changes"},
	{"uploaded_bytes", "rendering", FPROF_UNIT_BYTES, "bytes copied to the GPU"},
	{"visible_objects", "rendering", FPROF_UNIT_COUNT, "objects left after culling"},
	{"culled_objects", "rendering", FPROF_UNIT_COUNT, "objects that culling removed"},
	{"heap_used_bytes", "memory", FPROF_UNIT_BYTES, "bytes allocated and not freed"},
	{"allocations", "memory", FPROF_UNIT_COUNT, "allocations made"},
	{"allocated_bytes", "memory", FPROF_UNIT_BYTES, "bytes allocated"},
	{"gc_heap_bytes", "managed", FPROF_UNIT_BYTES, "size of the managed heap"},
	{"gc_collections", "managed", FPROF_UNIT_COUNT, "garbage collections"},
	{"gc_pause", "managed", FPROF_UNIT_MS, "time that collections stopped threads"},
	{"loaded_assets", "assets", FPROF_UNIT_COUNT, "assets in memory"},
	{"streamed_bytes", "assets", FPROF_UNIT_BYTES, "bytes that streaming read"},
	{"streaming_queue", "assets", FPROF_UNIT_COUNT, "requests that wait for streaming"},
	{"bodies", "physics", FPROF_UNIT_COUNT, "bodies in the world"},
	{"active_bodies", "physics", FPROF_UNIT_COUNT, "bodies that are awake"},
	{"contacts", "physics", FPROF_UNIT_COUNT, "contacts solved"},
	{"physics_steps", "physics", FPROF_UNIT_COUNT, "simulation steps"},
	{"voices", "audio", FPROF_UNIT_COUNT, "voices playing"},
	{"audio_load", "audio", FPROF_UNIT_PERCENT, "share of its period that mixing took"},
	{"audio_underruns", "audio", FPROF_UNIT_COUNT, "periods that were not filled in time"},
	{"entities", "game", FPROF_UNIT_COUNT, "entities or actors alive"},
	{"network_in_bytes", "game", FPROF_UNIT_BYTES, "bytes received"},
	{"network_out_bytes", "game", FPROF_UNIT_BYTES, "bytes sent"},
};

const char *counter_module(const char *name, const char *category)
{
	const char *const *m;
	size_t i;

	for (m = counter_modules; category && *m; m++)
		if (!strcmp(*m, category))
			return *m;
	for (i = 0; name && i < ARRAY_SIZE(names); i++)
		if (!strcmp(names[i].name, name))
			return names[i].module;
	return "game";
}
