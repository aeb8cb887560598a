/* SPDX-License-Identifier: MIT */
/*
 * What a Chrome trace names again and again, by number: markers by kind, name and category, threads
 * by process and id. Each has a hash; what is beyond a limit is one marker or no thread.
 */
#include "import_chrome_read.h"

#include "shm/layout.h"

#include <errno.h>
#include <string.h>

#define MARKERS_MAX (1u << 20)

static uint32_t hash3(uint32_t a, uint32_t b, uint32_t d)
{
	uint64_t h = (uint64_t)a * UINT64_C(0x9e3779b97f4a7c15);

	h = (h ^ b) * UINT64_C(0xff51afd7ed558ccd);
	h = (h ^ h >> 32 ^ d) * UINT64_C(0xc4ceb9fe1a85ec53);
	return (uint32_t)(h >> 32);
}

static void find_candidate(struct chrome *c, struct chrome_marker *m)
{
	const char *name = import_strings_at(&c->strings, m->name);
	bool zone = m->kind != FPROF_MARKER_INSTANT;
	size_t i;

	if (m->kind != FPROF_MARKER_INSTANT && m->kind > FPROF_MARKER_WAIT_CAP)
		return;
	for (i = 0; i < c->source_count && !m->candidate; i++) {
		const struct chrome_source *s = &c->sources[i];

		if (s->zone == zone &&
		    (s->prefix ? !strncmp(name, s->name, strlen(s->name)) : !strcmp(name, s->name)))
			m->candidate = (uint32_t)i + 1;
	}
}

static int grow_markers(struct chrome *c)
{
	uint32_t size = c->marker_slots ? (c->marker_mask + 1) * 2 : 512, i, at;
	uint32_t *slots;

	if (c->marker_slots && c->markers.count * 2 < c->marker_mask)
		return 0;
	slots = calloc(size, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(c->marker_slots);
	c->marker_slots = slots;
	c->marker_mask = size - 1;
	for (i = 0; i < c->markers.count; i++) {
		const struct chrome_marker *m = &c->markers.at[i];

		at = hash3(m->key, m->name, m->category) & c->marker_mask;
		while (slots[at])
			at = (at + 1) & c->marker_mask;
		slots[at] = i + 1;
	}
	return 0;
}

/* The number of a marker, from 1; 0: no memory. */
uint32_t chrome_marker_of(struct chrome *c, uint8_t kind, uint32_t name, uint32_t category)
{
	struct chrome_marker marker = {.kind = kind,
				       .key = kind,
				       .name = name,
				       .category = category,
				       .level = FPROF_LEVEL_PHASE,
				       .dynamic = 1};
	uint32_t at;

	if (grow_markers(c) < 0)
		return 0;
	at = hash3(kind, name, category) & c->marker_mask;
	for (; c->marker_slots[at]; at = (at + 1) & c->marker_mask) {
		const struct chrome_marker *m = &c->markers.at[c->marker_slots[at] - 1];

		if (m->key == kind && m->name == name && m->category == category)
			return c->marker_slots[at];
	}
	if (c->markers.count == MARKERS_MAX) {
		import_report_add(c->report, "too_many_names", c->events - 1,
				  trace_json_offset(&c->json), "there is no room for more names");
		return c->other_marker;
	}
	find_candidate(c, &marker);
	if (VEC_PUSH(&c->markers, marker) < 0)
		return 0;
	c->marker_slots[at] = (uint32_t)c->markers.count;
	return c->marker_slots[at];
}

/* The string of a text; what there is no room for is counted, and called by another name. */
uint32_t chrome_string_of(struct chrome_reader *r, const char *text, size_t bytes)
{
	uint32_t number = import_strings_put(&r->c->strings, text, bytes);

	if (number)
		return number;
	import_report_add(r->c->report, "too_many_names", r->e.number, r->e.at,
			  "there is no room for more names");
	return r->c->markers.at[r->c->other_marker - 1].name;
}

static int grow_threads(struct chrome *c)
{
	uint32_t size = c->thread_slots ? (c->thread_mask + 1) * 2 : 64, i, at;
	uint32_t *slots;

	if (c->thread_slots && c->threads.count * 2 < c->thread_mask)
		return 0;
	slots = calloc(size, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(c->thread_slots);
	c->thread_slots = slots;
	c->thread_mask = size - 1;
	for (i = 0; i < c->threads.count; i++) {
		const struct chrome_thread *t = &c->threads.at[i];

		at = hash3(t->pid, t->tid, 0) & c->thread_mask;
		while (slots[at])
			at = (at + 1) & c->thread_mask;
		slots[at] = i + 1;
	}
	return 0;
}

int chrome_add_process(struct chrome *c, uint32_t pid)
{
	size_t i;

	for (i = 0; i < c->processes.count; i++)
		if (c->processes.at[i].pid == pid)
			return 0;
	return VEC_PUSH(&c->processes, ((struct chrome_process){pid, 0}));
}

/* The thread's number, from 1. 0: there are too many; -errno. */
int64_t chrome_thread_of(struct chrome *c, uint32_t pid, uint32_t tid)
{
	struct chrome_thread thread = {.pid = pid,
				       .tid = tid,
				       .row = {.end_ticks = INT64_MAX, .ns_per_tick = 1},
				       .order = INT64_MAX};
	uint32_t at;
	int r = grow_threads(c);

	if (r < 0)
		return r;
	at = hash3(pid, tid, 0) & c->thread_mask;
	for (; c->thread_slots[at]; at = (at + 1) & c->thread_mask) {
		const struct chrome_thread *t = &c->threads.at[c->thread_slots[at] - 1];

		if (t->pid == pid && t->tid == tid)
			return c->thread_slots[at];
	}
	if (c->threads.count == CHROME_THREADS_MAX)
		return 0;
	r = chrome_add_process(c, pid);
	if (r == 0)
		r = VEC_PUSH(&c->threads, thread);
	if (r < 0)
		return r;
	c->thread_slots[at] = (uint32_t)c->threads.count;
	return c->thread_slots[at];
}
