/* SPDX-License-Identifier: MIT */
/*
 * What a Chrome trace names again and again, by number: markers by kind, name and category, threads
 * by process and id, processes by id. Each has a hash; what is beyond a limit is one marker, no
 * thread or no process.
 */
#include "import_chrome_read.h"

#include "shm/layout.h"

#include <errno.h>
#include <string.h>

/* A seed that no file knows: nobody can make names that meet. */
static uint32_t hash3(const struct chrome *c, uint32_t a, uint32_t b, uint32_t d)
{
	uint64_t h = (c->seed ^ a) * UINT64_C(0x9e3779b97f4a7c15);

	h = (h ^ h >> 32 ^ b) * UINT64_C(0xff51afd7ed558ccd);
	h = (h ^ h >> 32 ^ d) * UINT64_C(0xc4ceb9fe1a85ec53);
	return (uint32_t)(h >> 32);
}

/* Room for one more. */
static int index_reserve(struct chrome_index *x)
{
	uint32_t size = x->slots ? (x->mask + 1) * 2 : 64, i, at;
	struct chrome_slot *slots;

	if (x->slots && x->count * 2 < x->mask)
		return 0;
	slots = calloc(size, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (i = 0; x->slots && i <= x->mask; i++) {
		if (!x->slots[i].number)
			continue;
		for (at = x->slots[i].hash & (size - 1); slots[at].number;)
			at = (at + 1) & (size - 1);
		slots[at] = x->slots[i];
	}
	free(x->slots);
	x->slots = slots;
	x->mask = size - 1;
	return 0;
}

/* The next number with this hash; *at is the hash at first. 0: none, and *at is where a new one
 * goes. */
static uint32_t index_next(const struct chrome_index *x, uint32_t hash, uint32_t *at)
{
	const struct chrome_slot *slot;

	for (slot = &x->slots[*at & x->mask]; slot->number; slot = &x->slots[*at & x->mask]) {
		if (slot->hash == hash) {
			++*at;
			return slot->number;
		}
		++*at;
	}
	return 0;
}

static uint32_t index_put(struct chrome_index *x, uint32_t at, uint32_t hash, size_t number)
{
	x->slots[at & x->mask] = (struct chrome_slot){hash, (uint32_t)number};
	x->count++;
	return (uint32_t)number;
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

uint32_t chrome_marker_of(struct chrome *c, uint8_t kind, uint32_t name, uint32_t category)
{
	struct chrome_marker marker = {.kind = kind,
				       .key = kind,
				       .name = name,
				       .category = category,
				       .level = FPROF_LEVEL_PHASE,
				       .dynamic = 1};
	uint32_t hash = hash3(c, kind, name, category), at = hash, number;

	if (index_reserve(&c->marker_index) < 0)
		return 0;
	while ((number = index_next(&c->marker_index, hash, &at))) {
		const struct chrome_marker *m = &c->markers.at[number - 1];

		if (m->key == kind && m->name == name && m->category == category)
			return number;
	}
	if (c->markers.count == MARKER_ID_MAX) {
		import_report_add(c->report, "too_many_names", c->events - 1,
				  trace_json_offset(&c->json), "there is no room for more names");
		return c->other_marker;
	}
	find_candidate(c, &marker);
	if (VEC_PUSH(&c->markers, marker) < 0)
		return 0;
	return index_put(&c->marker_index, at, hash, c->markers.count);
}

uint32_t chrome_string_of(struct chrome_reader *r, const char *text, size_t bytes)
{
	uint32_t number = import_strings_put(&r->c->strings, text, bytes);

	if (number)
		return number;
	import_report_add(r->c->report, "too_many_names", r->e.number, r->e.at,
			  "there is no room for more names");
	return r->c->markers.at[r->c->other_marker - 1].name;
}

int64_t chrome_process_of(struct chrome *c, uint32_t pid)
{
	uint32_t hash = hash3(c, pid, 0, 0), at = hash, number;
	int r = index_reserve(&c->process_index);

	if (r < 0)
		return r;
	while ((number = index_next(&c->process_index, hash, &at)))
		if (c->processes.at[number - 1].pid == pid)
			return number;
	if (c->processes.count == CHROME_PROCESSES_MAX)
		return 0;
	r = VEC_PUSH(&c->processes, ((struct chrome_process){pid, 0}));
	return r < 0 ? (int64_t)r : index_put(&c->process_index, at, hash, c->processes.count);
}

int64_t chrome_thread_of(struct chrome *c, uint32_t pid, uint32_t tid)
{
	struct chrome_thread thread = {.pid = pid,
				       .tid = tid,
				       .row = {.end_ticks = INT64_MAX, .ns_per_tick = 1},
				       .order = INT64_MAX};
	uint32_t hash = hash3(c, pid, tid, 1), at = hash, number;
	int64_t r = index_reserve(&c->thread_index);

	if (r < 0)
		return r;
	while ((number = index_next(&c->thread_index, hash, &at))) {
		const struct chrome_thread *t = &c->threads.at[number - 1];

		if (t->pid == pid && t->tid == tid)
			return number;
	}
	if (c->threads.count == CHROME_THREADS_MAX)
		return 0;
	r = chrome_process_of(c, pid);
	if (r >= 0)
		r = VEC_PUSH(&c->threads, thread);
	return r < 0 ? r : index_put(&c->thread_index, at, hash, c->threads.count);
}
