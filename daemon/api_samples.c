// SPDX-License-Identifier: MIT
/*
 * Where the threads of a session were over a range of frames, as samples of their stacks say: by
 * function, or as a tree from where each thread began. Shares are of the samples in the answer,
 * each with the interval in which it lies at 95 %.
 *
 * A stack that ends where no thread begins says nothing of who called its outermost function: in
 * the tree it hangs on a node of its own, and the module that it ended in is named.
 */
#include "aggregate.h"
#include "api.h"
#include "api_range.h"
#include "stack_sums.h"
#include "stack_trace.h"
#include "util.h"

#include <errno.h>
#include <string.h>

#define ROWS_DEFAULT 1000
#define ROWS_MAX     100000
/* Of the stacks with a frame in a module, those that ended in it: from here on it is said. */
#define BROKEN_SHARE 0.02
#define BROKEN_LEAST 10

enum { VIEW_FLAT, VIEW_TREE };
static const char *const views[] = {"flat", "tree", NULL};

struct samples {
	struct json *j;
	struct api_range *r;
	struct history_code code;
	struct stack_sums sums;
	int view;
	uint64_t limit, left_out;
};

static void samples_deinit(struct samples *s)
{
	stack_sums_deinit(&s->sums);
	history_code_free(&s->code);
}

static bool wants(const void *userdata, int32_t tid)
{
	const struct api_range *r = userdata;
	size_t i;

	for (i = 0; i < r->range.tracks.count; i++)
		if (!r->skip[i] && r->range.tracks.at[i].kind == TRACK_THREAD &&
		    r->range.tracks.at[i].tid == tid)
			return true;
	return false;
}

static int sum_up(struct samples *s)
{
	const struct range *range = &s->r->range;
	struct stacks_visitor visitor;
	int r = history_code(s->r->reader.history, range->session, &s->code);

	if (r == 0)
		r = stack_sums_init(&s->sums, &s->code, range->t0, range->t1);
	if (r < 0)
		return r;
	s->sums.userdata = s->r;
	s->sums.wants = s->r->skip ? wants : NULL;
	visitor = stack_sums_visitor(&s->sums);
	r = history_stacks_each(s->r->reader.history, range->session, range->t0, range->t1,
				&visitor);
	return r < 0 ? r : stack_sums_finish(&s->sums);
}

/* ---- rows ---- */

static void json_share(struct json *j, const char *what, uint64_t k, uint64_t n)
{
	const struct stack_share share = stack_share(k, n);
	char key[32];

	json_member_uint(j, what, k);
	snprintf(key, sizeof(key), "%s_share", what);
	json_member_double(j, key, share.share);
	snprintf(key, sizeof(key), "%s_low", what);
	json_member_double(j, key, share.low);
	snprintf(key, sizeof(key), "%s_high", what);
	json_member_double(j, key, share.high);
}

static const char *path_of(const struct stack_sums *sums, uint32_t module)
{
	const struct history_module *m =
		module == STACK_NONE ? NULL : sums->modules.at[module].module;

	return m ? m->path : NULL;
}

static void json_function(struct json *j, const struct stack_sums *sums,
			  const struct stack_function *f)
{
	bool kernel = f->module == STACK_NONE;

	json_member_string(j, "kind", kernel ? "kernel" : "function");
	json_member_string(j, "name", f->symbol ? f->symbol->name : NULL);
	json_member_bool(j, "known", f->symbol && f->symbol->name);
	json_member_string(j, "module", path_of(sums, f->module));
	json_key(j, "address");
	if (f->symbol)
		json_uint(j, f->symbol->lo);
	else
		json_null(j);
}

static void json_numbers(struct json *j, uint64_t self, uint64_t total, uint64_t samples)
{
	json_share(j, "self", self, samples);
	json_share(j, "total", total, samples);
}

static int by_self(const void *a, const void *b)
{
	const struct stack_function *x = a, *y = b;

	if (x->self != y->self)
		return x->self < y->self ? 1 : -1;
	return (x->total < y->total) - (x->total > y->total);
}

static void json_functions(struct samples *s)
{
	struct stack_sums *sums = &s->sums;
	struct json *j = s->j;
	uint64_t rows = 0;
	size_t i;

	if (sums->functions.count > 0)
		qsort(sums->functions.at, sums->functions.count, sizeof(*sums->functions.at),
		      by_self);
	json_key(j, "functions");
	json_array_begin(j);
	for (i = 0; i < sums->functions.count; i++) {
		const struct stack_function *f = &sums->functions.at[i];

		if (f->total == 0)
			continue;
		if (rows++ >= s->limit) {
			s->left_out++;
			continue;
		}
		json_object_begin(j);
		json_function(j, sums, f);
		json_numbers(j, f->self, f->total, sums->samples);
		json_object_end(j);
	}
	json_array_end(j);
}

/* ---- the tree ---- */

static void json_thread_id(struct json *j, const struct range *range, int32_t tid)
{
	size_t i;

	json_key(j, "thread");
	for (i = 0; i < range->tracks.count; i++) {
		if (range->tracks.at[i].kind == TRACK_THREAD && range->tracks.at[i].tid == tid) {
			json_uint(j, range->tracks.at[i].track);
			return;
		}
	}
	json_null(j);
}

static void json_node(struct samples *s, const struct stack_node *n, int64_t parent, unsigned depth)
{
	const struct stack_sums *sums = &s->sums;
	struct json *j = s->j;

	json_object_begin(j);
	json_key(j, "parent");
	if (parent >= 0)
		json_int(j, parent);
	else
		json_null(j);
	json_member_uint(j, "depth", depth);
	if (n->kind == STACK_NODE_FUNCTION) {
		json_function(j, sums, &sums->functions.at[n->what]);
	} else {
		json_member_string(j, "kind", n->kind == STACK_NODE_THREAD ? "thread" : "broken");
		json_member_string(j, "name",
				   n->kind == STACK_NODE_THREAD ? sums->threads.at[n->what].name
								: NULL);
		json_member_bool(j, "known", n->kind == STACK_NODE_THREAD);
		json_member_string(j, "module", NULL);
		json_member_string(j, "address", NULL);
	}
	json_numbers(j, n->self, n->total, sums->samples);
	json_object_end(j);
}

/* A node and where it is in the answer. */
struct place {
	uint64_t total;
	uint32_t node, parent;
	int64_t row; /* its parent's */
	unsigned depth;
};

static int by_parent(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	return (x->node > y->node) - (x->node < y->node);
}

/* How many samples a node needs to be among so many: parents have as many as their children. */
static uint64_t threshold(const struct stack_sums *sums, uint64_t limit)
{
	uint64_t counts[64] = {0}, n = 0;
	size_t i, bit = ARRAY_SIZE(counts);

	for (i = 0; i < sums->nodes.count; i++)
		counts[63 - __builtin_clzll(sums->nodes.at[i].total | 1)]++;
	while (bit > 0 && n + counts[bit - 1] <= limit)
		n += counts[--bit];
	return bit > 0 ? UINT64_C(1) << bit : 0;
}

/* The children of a node: from first to below last of places, which are sorted by parent. */
static void children_of(const struct place *places, size_t count, uint32_t parent, size_t *first,
			size_t *last)
{
	size_t low = 0, high = count, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (places[middle].parent < parent)
			low = middle + 1;
		else
			high = middle;
	}
	*first = low;
	for (*last = low; *last < count && places[*last].parent == parent; ++*last)
		;
}

/* Front to back, those with the most samples first; stack has room for all of them. */
static void json_nodes(struct samples *s, struct place *places, size_t count, size_t *stack)
{
	size_t i, first, last, depth = 0;
	int64_t row = 0;

	children_of(places, count, STACK_NONE, &first, &last);
	for (i = last; i-- > first; places[i].row = -1)
		stack[depth++] = i;
	while (depth > 0) {
		const struct place *p = &places[stack[--depth]];

		json_node(s, &s->sums.nodes.at[p->node], p->row, p->depth);
		children_of(places, count, p->node, &first, &last);
		for (i = last; i-- > first; stack[depth++] = i) {
			places[i].row = row;
			places[i].depth = p->depth + 1;
		}
		row++;
	}
}

static int json_tree(struct samples *s)
{
	const struct stack_sums *sums = &s->sums;
	const uint64_t least = threshold(sums, s->limit);
	_cleanup_free_ struct place *places = calloc(sums->nodes.count + 1, sizeof(*places));
	_cleanup_free_ size_t *stack = calloc(sums->nodes.count + 1, sizeof(*stack));
	size_t i, count = 0;

	if (!places || !stack)
		return -ENOMEM;
	for (i = 0; i < sums->nodes.count; i++) {
		const struct stack_node *n = &sums->nodes.at[i];

		if (n->total >= least)
			places[count++] = (struct place){
				.total = n->total, .node = (uint32_t)i, .parent = n->parent};
	}
	s->left_out = sums->nodes.count - count;
	if (count > 0)
		qsort(places, count, sizeof(*places), by_parent);
	json_key(s->j, "nodes");
	json_array_begin(s->j);
	json_nodes(s, places, count, stack);
	json_array_end(s->j);
	return 0;
}

/* ---- what it rests on ---- */

static void json_threads(struct samples *s)
{
	const struct stack_sums *sums = &s->sums;
	struct json *j = s->j;
	size_t i;

	json_key(j, "threads");
	json_array_begin(j);
	for (i = 0; i < sums->threads.count; i++) {
		const struct stack_thread_sums *t = &sums->threads.at[i];

		json_object_begin(j);
		json_thread_id(j, &s->r->range, t->tid);
		json_member_string(j, "thread_name", *t->name ? t->name : NULL);
		json_member_int(j, "tid", t->tid);
		json_share(j, "samples", t->samples, sums->samples);
		json_object_end(j);
	}
	json_array_end(j);
}

/* Stacks end in it more often than a walk that meets a prologue explains. */
static bool lacks_frame_pointers(const struct stack_module_sums *m)
{
	return m->module && m->broken >= BROKEN_LEAST &&
	       (double)m->broken >= BROKEN_SHARE * (double)m->total;
}

static void json_module(struct json *j, const struct stack_module_sums *m, uint64_t samples)
{
	const struct history_module *module = m->module;
	bool lacks = lacks_frame_pointers(m);
	char fix[256];
	const char *slash;

	json_object_begin(j);
	json_member_string(j, "module", module ? module->path : NULL);
	json_member_string(j, "build_id", module ? module->build_id : NULL);
	json_member_string(j, "symbols", module ? module->symbols : NULL);
	json_member_string(j, "reason", module ? module->reason : NULL);
	json_numbers(j, m->self, m->total, samples);
	json_member_uint(j, "broken", m->broken);
	json_member_string(j, "frame_pointers", lacks ? "missing" : m->module ? "seen" : NULL);
	slash = lacks ? strrchr(module->path, '/') : NULL;
	if (slash)
		snprintf(fix, sizeof(fix), "build %.100s with -fno-omit-frame-pointer", slash + 1);
	/* nobody builds what the kernel maps, or what a program made as it ran */
	json_member_string(j, "fix", slash ? fix : NULL);
	json_object_end(j);
}

static void json_modules(struct samples *s)
{
	size_t i;

	json_key(s->j, "modules");
	json_array_begin(s->j);
	for (i = 0; i < s->sums.modules.count; i++)
		if (s->sums.modules.at[i].total > 0)
			json_module(s->j, &s->sums.modules.at[i], s->sums.samples);
	json_array_end(s->j);
}

/* Why there are none. */
static void json_reason(const struct api *api, struct samples *s)
{
	struct stack_order order = {0};
	bool live =
		stack_trace_ordered(api->context->stack_trace, s->r->range.session, &order) == 0;
	const char *reason = NULL, *fix = NULL;
	char on[64];

	if (s->sums.samples == 0 && *order.reason) {
		reason = order.reason;
		fix = *order.fix ? order.fix : NULL;
	} else if (s->sums.samples == 0 && order.hz == 0) {
		reason = "stacks are not sampled unless that is ordered";
		snprintf(on, sizeof(on), "fprof sampling on --session %llu",
			 (unsigned long long)s->r->range.session);
		fix = live ? on : "sampling = yes in fprofd.conf, for games to come";
	} else if (s->sums.samples == 0) {
		reason = "none of these threads ran when a sample was taken";
	}
	json_member_string(s->j, "reason", reason);
	json_member_string(s->j, "fix", fix);
}

static void json_head(const struct api *api, struct samples *s)
{
	const struct range *range = &s->r->range;
	const struct stack_sums *sums = &s->sums;
	struct json *j = s->j;

	json_member_uint(j, "session", range->session);
	json_member_string(j, "stream", s->r->query.stream ? s->r->query.stream : "main");
	json_member_uint(j, "from", range->first);
	json_member_uint(j, "to", range->last);
	json_member_int(j, "begin_ns", range->begin_ns);
	json_member_int(j, "end_ns", range->end_ns);
	json_member_string(j, "view", views[s->view]);
	json_key(j, "period_ns");
	if (sums->period_ns && !sums->periods)
		json_uint(j, sums->period_ns);
	else
		json_null(j);
	json_member_uint(j, "samples", sums->samples);
	json_member_uint(j, "in_kernel", sums->in_kernel);
	json_member_uint(j, "broken", sums->broken);
	json_member_uint(j, "too_deep", sums->too_deep);
	json_member_uint(j, "lost", sums->lost);
	json_reason(api, s);
	json_threads(s);
	json_modules(s);
}

void api_samples(const struct api *api, const struct api_request *q, struct api_answer *a)
{
	_cleanup_range_ struct api_range r = {0};
	__attribute__((cleanup(samples_deinit))) struct samples s = {.j = &a->body, .r = &r};
	int rc;

	s.view = api_parse_choice(q, a, "view", views, VIEW_FLAT);
	if (s.view < 0 || !api_parse_number(q, a, "limit", 1, ROWS_MAX, ROWS_DEFAULT, &s.limit) ||
	    !api_range_open(api, q, a, &r))
		return;
	if (r.aggregate) {
		api_fail_aggregate(a);
		return;
	}
	rc = sum_up(&s);
	if (rc == 0) {
		json_object_begin(s.j);
		json_head(api, &s);
		if (s.view == VIEW_TREE)
			rc = json_tree(&s);
		else
			json_functions(&s);
		json_member_uint(s.j, "left_out", s.left_out);
		json_object_end(s.j);
	}
	if (rc < 0)
		api_fail_range(a, rc);
	a->keeps = r.session.update.state != SESSION_LIVE;
}
