// SPDX-License-Identifier: MIT
/*
 * A stack is walked by the kernel along frame pointers. Where code was built without them, what it
 * took for one may be any number: a caller that lies in no mapped code ends the stack. It may also
 * be a library that was mapped a moment ago: then the maps are read again, but not for every such
 * number.
 */
#include "stack_process.h"

#include "process.h"
#include "util.h"

#include <errno.h>
#include <string.h>

#define MODULES_MAX   1024u
#define THREADS_MAX   STACK_THREADS_MAX
#define REREAD_NS     (100 * NS_PER_MS) /* for where a thread is */
#define REREAD_ANY_NS NS_PER_S		/* for what was taken for a caller */

int stack_process_init(struct stack_process *process, int32_t pid)
{
	*process = (struct stack_process){.pid = pid, .maps_fd = -1};
	stack_log_init(&process->log);
	process->cache = calloc(STACK_CACHE, sizeof(*process->cache));
	return process->cache ? 0 : -ENOMEM;
}

void stack_process_deinit(struct stack_process *process)
{
	size_t i;

	stack_process_maps(process, -1);
	mappings_deinit(&process->maps);
	for (i = 0; i < process->modules.count; i++)
		free(process->modules.at[i].path);
	VEC_FREE(&process->modules);
	VEC_FREE(&process->threads);
	stack_log_deinit(&process->log);
	free(process->cache);
	process->cache = NULL;
}

void stack_process_maps(struct stack_process *process, int fd)
{
	if (process->maps_fd >= 0)
		close(process->maps_fd);
	process->maps_fd = fd;
	process->maps_read = 0;
}

/* ---- where an address is ---- */

/* The same file is the same module in every daemon's time. */
static uint64_t module_id(const struct mapping *m)
{
	const uint64_t words[] = {m->place.major, m->place.minor, m->place.inode};
	uint64_t h = UINT64_C(0xcbf29ce484222325);
	const char *c;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(words); i++)
		h = (h ^ words[i]) * UINT64_C(0x100000001b3);
	for (c = m->path; *c; c++)
		h = (h ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
	return MAX(h >> 1, UINT64_C(1));
}

static bool is_known(const struct stack_process *p, uint64_t id)
{
	size_t i;

	for (i = 0; i < p->modules.count; i++)
		if (p->modules.at[i].id == id)
			return true;
	return false;
}

static int know_module(struct stack_process *p, const struct mapping *m, uint64_t offset,
		       uint64_t *ret_id)
{
	struct stack_module module = {.id = module_id(m), .place = m->place};

	*ret_id = module.id;
	if (is_known(p, module.id))
		return 0;
	*ret_id = 0;
	if (p->modules.count == MODULES_MAX)
		return 0;
	module.place.offset = offset;
	module.path = strdup(*m->path ? m->path : "[anonymous]");
	if (!module.path || VEC_PUSH(&p->modules, module) < 0) {
		free(module.path);
		return -ENOMEM;
	}
	*ret_id = module.id;
	return 0;
}

/* Not found is fine: the maps as they were stay. */
static void read_maps(struct stack_process *p, uint64_t after_ns)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	if (p->maps_fd < 0 || (p->maps_read && now - p->maps_read < after_ns))
		return;
	p->maps_read = now;
	if (mappings_read(&p->maps, p->maps_fd) == 0)
		memset(p->cache, 0, STACK_CACHE * sizeof(*p->cache));
}

static int look_up(struct stack_process *p, uint64_t address, bool innermost,
		   struct stack_place *ret_place)
{
	const struct mapping *m = mappings_find(&p->maps, address);
	struct stack_place place = {0, address};

	if (!m) {
		read_maps(p, innermost ? REREAD_NS : REREAD_ANY_NS);
		m = mappings_find(&p->maps, address);
	}
	*ret_place = place;
	if (!m)
		return 0;
	if (m->place.inode)
		place.offset = address - m->start + m->place.offset;
	*ret_place = place;
	return know_module(p, m, place.offset, &ret_place->module);
}

static int find(struct stack_process *p, uint64_t address, bool innermost,
		struct stack_place *ret_place)
{
	struct stack_cached *c = &p->cache[(address ^ address >> 12) % STACK_CACHE];
	int r;

	if (c->address == address && c->place.module) {
		*ret_place = c->place;
		return 0;
	}
	r = look_up(p, address, innermost, ret_place);
	if (r == 0 && ret_place->module)
		*c = (struct stack_cached){address, *ret_place};
	return r;
}

/* ---- samples ---- */

/* A thread that is gone before it was looked up keeps the number that the kernel gave it. */
static int thread_of(struct stack_process *p, uint32_t tid, const struct stack_thread **ret)
{
	struct stack_thread new = {.tid = tid, .game_tid = (int32_t)tid};
	struct process_thread facts;
	size_t i;

	for (i = 0; i < p->threads.count; i++) {
		if (p->threads.at[i].tid == tid) {
			*ret = &p->threads.at[i];
			return 0;
		}
	}
	if (process_thread(p->pid, (int32_t)tid, &facts) == 0) {
		new.game_tid = facts.ns_tid;
		snprintf(new.name, sizeof(new.name), "%.*s", (int)sizeof(new.name) - 1, facts.name);
	}
	if (p->threads.count == THREADS_MAX)
		p->threads.count = 0; /* numbers come again: those that still run are found anew */
	if (VEC_PUSH(&p->threads, new) < 0)
		return -ENOMEM;
	*ret = &p->threads.at[p->threads.count - 1];
	return 0;
}

/* Up to the first caller that is in no code. */
static int take_places(struct stack_process *p, const struct probe_stack *stack, size_t count,
		       struct stack_place *places, size_t *ret_count)
{
	size_t i;
	int r = 0;

	*ret_count = 0;
	for (i = 0; i < count && r == 0; i++) {
		r = find(p, stack->ips[i] - (i > 0), i == 0, &places[i]);
		if (r == 0 && i > 0 && places[i].module == 0 && p->maps_fd >= 0)
			break;
		*ret_count = i + 1;
	}
	return r;
}

int stack_process_take(struct stack_process *process, const struct probe_stack *stack, size_t bytes,
		       int64_t t, uint64_t period_ns)
{
	struct stack_place places[PROBE_STACK_MAX];
	struct stack_sample sample = {.t = t, .period = period_ns, .places = places};
	const struct stack_thread *thread;
	size_t head = offsetof(struct probe_stack, ips), count;
	int r;

	if (bytes < head || bytes > sizeof(*stack))
		return -EBADMSG;
	count = (bytes - head) / sizeof(stack->ips[0]);
	r = thread_of(process, stack->tid, &thread);
	if (r == 0)
		r = take_places(process, stack, count, places, &sample.count);
	if (r < 0)
		return r;
	sample.tid = thread->game_tid;
	sample.thread = thread->name;
	if (stack->flags & PROBE_IN_KERNEL)
		sample.flags |= STACK_IN_KERNEL;
	if (sample.count == PROBE_STACK_MAX)
		sample.flags |= STACK_TOO_DEEP;
	return stack_log_put(&process->log, &sample);
}

int stack_process_lost(struct stack_process *process, int64_t t, uint64_t count)
{
	return stack_log_lost(&process->log, t, count);
}

/* ---- to the store ---- */

static int flush_module(const struct stack_module *m, uint64_t session, struct batch *batch)
{
	struct stack_module_row row = {.session = session, .module = m->id};

	row.path = strdup(m->path);
	if (row.path && VEC_PUSH(&batch->stack_modules, row) == 0)
		return 0;
	free(row.path);
	return -ENOMEM;
}

void stack_process_flush(struct stack_process *process, uint64_t session, struct batch *batch)
{
	struct stack_chunk chunk;
	struct stack_row row;

	while (process->modules_told < process->modules.count &&
	       flush_module(&process->modules.at[process->modules_told], session, batch) == 0)
		process->modules_told++;
	if (VEC_RESERVE(&batch->stacks, 1) < 0)
		return;
	stack_log_take(&process->log, &chunk);
	if (!chunk.data)
		return;
	row = (struct stack_row){.session = session,
				 .t0 = chunk.t0,
				 .t1 = chunk.t1,
				 .samples = chunk.samples,
				 .data = chunk.data,
				 .bytes = (uint32_t)chunk.bytes};
	batch->stacks.at[batch->stacks.count++] = row;
	batch->bytes += row.bytes;
}
