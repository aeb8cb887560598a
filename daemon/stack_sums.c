// SPDX-License-Identifier: MIT
/*
 * Samples of a chunk that are of one thread and one innermost frame are counted together, so that a
 * stack is followed once however often it was seen.
 *
 * Code from libc begins threads and calls main, and is itself built without frame pointers: its
 * frame is the last one that a walk finds. So a stack is whole where it ends in libc or in the
 * dynamic loader, called by nobody but calling others, or in a function of a name that begins
 * threads.
 */
#include "stack_sums.h"

#include "util.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define SLOTS (1u << 16)
#define Z_95  1.959963984540054

/* A sample. */
struct seen {
	uint32_t thread, innermost, flags;
};

struct chunk_thread {
	int32_t tid;
	char name[STACK_NAME_MAX + 1];
	uint32_t index; /* into sums->threads; STACK_NONE: not there yet */
};

struct chunk_frame {
	uint32_t caller;
	uint32_t function; /* into sums->functions */
};

/* What a chunk's numbers mean. */
struct stack_chunk_state {
	VEC(struct chunk_thread) threads;
	VEC(uint32_t) modules; /* into sums->modules */
	VEC(struct chunk_frame) frames;
	VEC(struct seen) seen;
};

int stack_sums_init(struct stack_sums *sums, const struct history_code *code, int64_t t0,
		    int64_t t1)
{
	*sums = (struct stack_sums){.code = code, .t0 = t0, .t1 = t1, .kernel = STACK_NONE};
	sums->slots = malloc(SLOTS * sizeof(*sums->slots));
	sums->by_symbol = malloc((code->symbols.count + 1) * sizeof(*sums->by_symbol));
	sums->chunk = calloc(1, sizeof(*sums->chunk));
	if (!sums->slots || !sums->by_symbol || !sums->chunk) {
		stack_sums_deinit(sums);
		return -ENOMEM;
	}
	memset(sums->slots, 0xff, SLOTS * sizeof(*sums->slots));
	memset(sums->by_symbol, 0xff, code->symbols.count * sizeof(*sums->by_symbol));
	return 0;
}

void stack_sums_deinit(struct stack_sums *sums)
{
	struct stack_chunk_state *c = sums->chunk;

	if (c) {
		VEC_FREE(&c->threads);
		VEC_FREE(&c->modules);
		VEC_FREE(&c->frames);
		VEC_FREE(&c->seen);
	}
	free(c);
	free(sums->slots);
	free(sums->by_symbol);
	VEC_FREE(&sums->functions);
	VEC_FREE(&sums->modules);
	VEC_FREE(&sums->threads);
	VEC_FREE(&sums->nodes);
	*sums = (struct stack_sums){0};
}

/* ---- what numbers mean ---- */

static int function_new(struct stack_sums *s, uint32_t module, const struct history_symbol *symbol,
			uint32_t *ret)
{
	const struct stack_function new = {.module = module, .symbol = symbol};

	if (VEC_PUSH(&s->functions, new) < 0)
		return -ENOMEM;
	*ret = (uint32_t)s->functions.count - 1;
	return 0;
}

static int module_of(struct stack_sums *s, uint64_t id, uint32_t *ret)
{
	const struct history_module *module = id ? history_code_module(s->code, id) : NULL;
	const struct stack_module_sums new = {.module = module};
	size_t i;

	for (i = 0; i < s->modules.count; i++) {
		if (s->modules.at[i].module == module) {
			*ret = (uint32_t)i;
			return 0;
		}
	}
	if (VEC_PUSH(&s->modules, new) < 0)
		return -ENOMEM;
	*ret = (uint32_t)s->modules.count - 1;
	return 0;
}

/* All code of a module of which nothing is known is one. */
static int unknown_of(struct stack_sums *s, uint32_t module, uint32_t *ret)
{
	size_t i;

	for (i = 0; i < s->functions.count; i++) {
		if (s->functions.at[i].module == module && !s->functions.at[i].symbol) {
			*ret = (uint32_t)i;
			return 0;
		}
	}
	return function_new(s, module, NULL, ret);
}

static int function_of(struct stack_sums *s, uint32_t module, uint64_t offset, uint32_t *ret)
{
	const struct history_module *m = s->modules.at[module].module;
	const struct history_symbol *symbol =
		m ? history_code_symbol(s->code, m->id, offset) : NULL;
	uint32_t *known;
	int r;

	if (!symbol)
		return unknown_of(s, module, ret);
	known = &s->by_symbol[symbol - s->code->symbols.at];
	if (*known == STACK_NONE) {
		r = function_new(s, module, symbol, known);
		if (r < 0)
			return r;
	}
	*ret = *known;
	return 0;
}

static int thread_of(struct stack_sums *s, struct chunk_thread *thread)
{
	struct stack_thread_sums new = {.tid = thread->tid};
	size_t i;

	if (thread->index != STACK_NONE)
		return 0;
	for (i = 0; i < s->threads.count && s->threads.at[i].tid != thread->tid; i++)
		;
	if (i == s->threads.count) {
		memcpy(new.name, thread->name, sizeof(new.name));
		if (VEC_PUSH(&s->threads, new) < 0)
			return -ENOMEM;
	}
	thread->index = (uint32_t)i;
	return 0;
}

/* ---- the tree ---- */

static int node_of(struct stack_sums *s, const struct stack_node *key, uint32_t *ret)
{
	uint64_t h = ((uint64_t)key->parent << 32 | key->what) * UINT64_C(0x9e3779b97f4a7c15);
	uint32_t *slot = &s->slots[(h >> 40 ^ key->kind) % SLOTS], i;
	struct stack_node new = *key;

	for (i = *slot; i != STACK_NONE; i = s->nodes.at[i].next) {
		const struct stack_node *n = &s->nodes.at[i];

		if (n->parent == key->parent && n->what == key->what && n->kind == key->kind) {
			*ret = i;
			return 0;
		}
	}
	if (s->nodes.count == STACK_NODES_MAX)
		return -E2BIG;
	new.next = *slot;
	if (VEC_PUSH(&s->nodes, new) < 0)
		return -ENOMEM;
	*ret = *slot = (uint32_t)s->nodes.count - 1;
	return 0;
}

static int descend(struct stack_sums *s, uint32_t *node, enum stack_node_kind kind, uint32_t what,
		   uint64_t count)
{
	const struct stack_node key = {.kind = kind, .parent = *node, .what = what};
	int r = node_of(s, &key, node);

	if (r == 0)
		s->nodes.at[*node].total += count;
	return r;
}

/* ---- stacks ---- */

static bool begins_threads(const struct history_symbol *symbol)
{
	static const char *const names[] = {"_start",
					    "start_thread",
					    "clone",
					    "__clone",
					    "clone3",
					    "__clone3",
					    "__libc_start_main",
					    "__libc_start_call_main",
					    "thread_start"};
	size_t i;

	for (i = 0; symbol && symbol->name && i < ARRAY_SIZE(names); i++)
		if (strcmp(symbol->name, names[i]) == 0)
			return true;
	return false;
}

/* libc.so.6, libc-2.31.so, libpthread.so.0, ld-linux-x86-64.so.2, ld-musl-... */
static bool is_libc(const struct history_module *module)
{
	static const char *const names[] = {"libc.", "libc-", "libpthread", "ld-linux", "ld-musl"};
	const char *name = module ? strrchr(module->path, '/') : NULL;
	size_t i;

	for (i = 0; name && i < ARRAY_SIZE(names); i++)
		if (strncmp(name + 1, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

/* functions: innermost first. */
static bool is_whole(const struct stack_sums *s, const uint32_t *functions, size_t count)
{
	const struct stack_function *outermost;
	size_t i;

	if (count == 0)
		return false;
	outermost = &s->functions.at[functions[count - 1]];
	if (begins_threads(outermost->symbol))
		return true;
	if (!is_libc(s->modules.at[outermost->module].module))
		return false;
	for (i = 0; i < count; i++)
		if (s->functions.at[functions[i]].module != outermost->module)
			return true;
	return false;
}

static void count_frames(struct stack_sums *s, const uint32_t *functions, size_t count, uint64_t n)
{
	struct stack_module_sums *m;
	struct stack_function *f;
	size_t i;

	s->stamp++;
	for (i = 0; i < count; i++) {
		f = &s->functions.at[functions[i]];
		if (f->stamp != s->stamp)
			f->total += n;
		f->stamp = s->stamp;
		if (f->module == STACK_NONE)
			continue;
		m = &s->modules.at[f->module];
		if (m->stamp != s->stamp)
			m->total += n;
		m->stamp = s->stamp;
	}
}

/* Where the thread was: in the kernel, or in its innermost function. */
static void count_self(struct stack_sums *s, const uint32_t *functions, size_t count,
		       bool in_kernel, uint64_t n)
{
	if (in_kernel)
		s->functions.at[s->kernel].self += n;
	else if (count > 0)
		s->functions.at[functions[0]].self += n;
	if (count > 0)
		s->modules.at[s->functions.at[functions[0]].module].self += n;
	if (in_kernel)
		s->functions.at[s->kernel].total += n;
}

static int count_path(struct stack_sums *s, const struct seen *seen, const uint32_t *functions,
		      size_t count, uint64_t n)
{
	struct chunk_thread *thread = &s->chunk->threads.at[seen->thread - 1];
	bool deep = seen->flags & STACK_TOO_DEEP;
	bool broken = deep || !is_whole(s, functions, count);
	uint32_t node = STACK_NONE;
	size_t i = count;
	int r = thread_of(s, thread);

	if (r == 0)
		r = descend(s, &node, STACK_NODE_THREAD, thread->index, n);
	if (r == 0 && broken)
		r = descend(s, &node, STACK_NODE_BROKEN, 0, n);
	while (r == 0 && i-- > 0)
		r = descend(s, &node, STACK_NODE_FUNCTION, functions[i], n);
	if (r == 0 && seen->flags & STACK_IN_KERNEL)
		r = descend(s, &node, STACK_NODE_FUNCTION, s->kernel, n);
	if (r < 0)
		return r;
	s->nodes.at[node].self += n;
	s->threads.at[thread->index].samples += n;
	s->too_deep += deep ? n : 0;
	s->broken += broken && !deep ? n : 0;
	if (broken && !deep && count > 0)
		s->modules.at[s->functions.at[functions[count - 1]].module].broken += n;
	return 0;
}

static int count_alike(struct stack_sums *s, const struct seen *seen, uint64_t n)
{
	uint32_t functions[STACK_DEPTH_MAX], at = seen->innermost;
	bool in_kernel = seen->flags & STACK_IN_KERNEL;
	size_t count = 0;

	if (s->kernel == STACK_NONE && function_new(s, STACK_NONE, NULL, &s->kernel) < 0)
		return -ENOMEM;
	for (; at && count < STACK_DEPTH_MAX; at = s->chunk->frames.at[at - 1].caller)
		functions[count++] = s->chunk->frames.at[at - 1].function;
	s->samples += n;
	s->in_kernel += in_kernel ? n : 0;
	count_frames(s, functions, count, n);
	count_self(s, functions, count, in_kernel, n);
	return count_path(s, seen, functions, count, n);
}

static int by_stack(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->innermost != y->innermost)
		return x->innermost < y->innermost ? -1 : 1;
	return (x->flags > y->flags) - (x->flags < y->flags);
}

int stack_sums_finish(struct stack_sums *sums)
{
	struct stack_chunk_state *c = sums->chunk;
	size_t i = 0, k;
	int r = 0;

	if (c->seen.count > 0)
		qsort(c->seen.at, c->seen.count, sizeof(*c->seen.at), by_stack);
	for (; i < c->seen.count && r == 0; i = k) {
		for (k = i + 1; k < c->seen.count && by_stack(&c->seen.at[i], &c->seen.at[k]) == 0;
		     k++)
			;
		r = count_alike(sums, &c->seen.at[i], k - i);
	}
	c->threads.count = c->modules.count = c->frames.count = c->seen.count = 0;
	return r;
}

/* ---- records ---- */

static int take_chunk(void *userdata)
{
	return stack_sums_finish(userdata);
}

static int take_thread(struct stack_chunk_state *c, const struct stack_record *record)
{
	struct chunk_thread thread = {.tid = record->tid, .index = STACK_NONE};

	memcpy(thread.name, record->name, record->name_bytes);
	return VEC_PUSH(&c->threads, thread);
}

static int take_module(struct stack_sums *s, uint64_t id)
{
	uint32_t module = 0;
	int r = module_of(s, id, &module);

	return r < 0 ? r : VEC_PUSH(&s->chunk->modules, module);
}

static int take_frame(struct stack_sums *s, const struct stack_frame *f)
{
	struct chunk_frame frame = {.caller = f->caller};
	uint32_t module = 0;
	int r = 0;

	if (f->module)
		module = s->chunk->modules.at[f->module - 1];
	else
		r = module_of(s, 0, &module);
	if (r == 0)
		r = function_of(s, module, f->offset, &frame.function);
	return r < 0 ? r : VEC_PUSH(&s->chunk->frames, frame);
}

static int take_sample(struct stack_sums *s, const struct stack_record *record)
{
	const struct seen seen = {record->thread, record->innermost, record->flags};

	if (record->t < s->t0 || record->t >= s->t1 ||
	    (s->wants && !s->wants(s->userdata, s->chunk->threads.at[seen.thread - 1].tid)))
		return 0;
	s->periods |= s->period_ns && s->period_ns != s->period_next;
	s->period_ns = s->period_next;
	return VEC_PUSH(&s->chunk->seen, seen);
}

static int take_record(void *userdata, const struct stack_record *record)
{
	struct stack_sums *s = userdata;

	switch (record->kind) {
	case STACK_THREAD:
		return take_thread(s->chunk, record);
	case STACK_MODULE:
		return take_module(s, record->value);
	case STACK_FRAME:
		return take_frame(s, &record->frame);
	case STACK_SAMPLE:
		return take_sample(s, record);
	case STACK_PERIOD:
		s->period_next = record->value;
		return 0;
	case STACK_LOST:
		if (record->t >= s->t0 && record->t < s->t1)
			s->lost += record->value;
		return 0;
	}
	return 0;
}

struct stacks_visitor stack_sums_visitor(struct stack_sums *sums)
{
	return (struct stacks_visitor){sums, take_chunk, take_record};
}

struct stack_share stack_share(uint64_t k, uint64_t n)
{
	const double z2 = Z_95 * Z_95, count = (double)n;
	double p, middle, half;

	if (n == 0)
		return (struct stack_share){0};
	p = (double)k / count;
	middle = (p + z2 / (2 * count)) / (1 + z2 / count);
	half = Z_95 / (1 + z2 / count) * sqrt(p * (1 - p) / count + z2 / (4 * count * count));
	return (struct stack_share){p, k == 0 ? 0.0 : MAX(middle - half, 0.0),
				    k == n ? 1.0 : MIN(middle + half, 1.0)};
}
