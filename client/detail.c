// SPDX-License-Identifier: MIT
/*
 * The page is copied at a frame boundary into the copy that nobody reads, then the generation
 * moves on. Threads notice a new generation at their next event that is not written inline, and
 * begin anew: zones that are open then have names that nobody noted, and stand for any name in a
 * path until they end. So does what a fiber has open when it comes to a thread.
 *
 * A zone's path is looked at only where its own name is the last one of some rule; what is known of
 * a marker's names is kept by id. A thread that is interrupted between two changes may decide one
 * zone by a mix of two copies: all counts are bounded, nothing else can come of it.
 *
 * w->closed is what the innermost rule says. Whoever changes the gates of a session overwrites it:
 * a thread that finds that they are others than it began with begins anew, too.
 */
#include "detail.h"

#include "fprof.h"
#include "session.h"

#include <string.h>

enum { FLAG_NODE = 1, FLAG_MASKED = 2 };

#define SEQ_NONE 1u /* odd: of no page at rest */

static void copy_page(struct fprof_detail *to, const struct fprof_detail *from)
{
	const uint64_t *in = (const uint64_t *)from;
	uint64_t *out = (uint64_t *)to;
	size_t i;

	for (i = 0; i < sizeof(*to) / sizeof(*out); i++)
		FPROF_STORE_RELAXED(&out[i], FPROF_LOAD_RELAXED(&in[i]));
}

/* A page is another process's word. */
static void bound(struct fprof_detail *d)
{
	uint32_t i;

	if (d->rule_count > FPROF_DETAIL_RULES_MAX)
		d->rule_count = FPROF_DETAIL_RULES_MAX;
	if (d->mask_count > FPROF_DETAIL_MASKS_MAX)
		d->mask_count = FPROF_DETAIL_MASKS_MAX;
	for (i = 0; i < d->rule_count; i++) {
		struct fprof_detail_rule *rule = &d->rules[i];

		if (rule->count > FPROF_DETAIL_PATH_MAX)
			rule->count = 0;
		if (rule->gate < 1 || rule->gate > FPROF_LEVELS)
			rule->gate = FPROF_LEVELS;
	}
}

void detail_forget(struct detail *d)
{
	d->seq = SEQ_NONE;
}

/* The page of an older daemon has no levels: that is none. */
void detail_read(struct session *s, const struct fprof_control *page, uint32_t bytes)
{
	bool has = bytes >= FPROF_CONTROL_BYTES_DETAIL;
	const struct fprof_detail *from =
		(const struct fprof_detail *)((const uint8_t *)page + FPROF_CONTROL_BYTES);
	struct detail *d = &s->detail;
	struct fprof_detail *to = &d->copies[(d->generation + 1) % 2];
	uint32_t seq = has ? FPROF_LOAD_ACQUIRE(&from->seq) : 0;

	if (seq == d->seq || seq % 2)
		return;
	if (has) {
		copy_page(to, from);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (FPROF_LOAD_RELAXED(&from->seq) != seq)
			return;
		bound(to);
	} else {
		to->rule_count = to->mask_count = 0;
	}
	d->seq = seq;
	FPROF_STORE_RELEASE(&d->generation, d->generation + 1);
	FPROF_STORE_RELAXED(&d->active, (uint32_t)(to->rule_count || to->mask_count));
}

static const struct fprof_detail *copy_of(const struct session *s, uint32_t generation)
{
	return &s->detail.copies[generation % 2];
}

static const struct fprof_marker_entry *entry_of(const struct session *s, uint32_t id)
{
	return &s->markers[id - 1];
}

static uint64_t name_hash(struct session *s, uint32_t id)
{
	struct detail_marker *m = &s->detail.markers[id];
	uint64_t hash = FPROF_LOAD_RELAXED(&m->hash);

	if (hash)
		return hash;
	hash = fprof_name_hash(s->strings + entry_of(s, id)->name_offset,
			       entry_of(s, id)->name_bytes);
	FPROF_STORE_RELAXED(&m->hash, hash);
	return hash;
}

static bool is_masked(const struct session *s, const struct fprof_detail *d, uint32_t id)
{
	const struct fprof_marker_entry *e = entry_of(s, id);
	uint64_t hash;
	uint32_t i;

	if (!e->category_bytes || !d->mask_count)
		return false;
	hash = fprof_name_hash(s->strings + e->category_offset, e->category_bytes);
	for (i = 0; i < d->mask_count; i++)
		if (d->masks[i] == hash)
			return true;
	return false;
}

static bool ends_a_rule(const struct fprof_detail *d, uint64_t hash)
{
	uint32_t i;

	for (i = 0; i < d->rule_count; i++)
		if (d->rules[i].count > 1 && d->rules[i].names[d->rules[i].count - 1] == hash)
			return true;
	return false;
}

static uint32_t flags_of(struct session *s, uint32_t generation, uint32_t id)
{
	struct detail_marker *m = &s->detail.markers[id];
	const struct fprof_detail *d = copy_of(s, generation);
	uint32_t flags = 0;

	if (FPROF_LIKELY(FPROF_LOAD_ACQUIRE(&m->generation) == generation))
		return FPROF_LOAD_RELAXED(&m->flags);
	if (ends_a_rule(d, name_hash(s, id)))
		flags |= FLAG_NODE;
	if (is_masked(s, d, id))
		flags |= FLAG_MASKED;
	FPROF_STORE_RELAXED(&m->flags, flags);
	FPROF_STORE_RELEASE(&m->generation, generation);
	return flags;
}

/* ---- a thread ---- */

static struct detail_thread *thread_of(struct session *s, const struct fprof_writer *w)
{
	return &s->detail.threads[w->index];
}

static uint64_t thread_hash(struct session *s, const struct fprof_writer *w)
{
	const struct fprof_fiber *f = (const struct fprof_fiber *)(uintptr_t)w->client[2];
	const uint8_t *name = w->slot->name;

	if (!f)
		return fprof_name_hash(name, strnlen((const char *)name, FPROF_THREAD_NAME_MAX));
	return f->marker ? name_hash(s, f->marker) : 0;
}

/* What holds where no zone is open. */
static uint32_t outermost(struct session *s, const struct fprof_detail *d,
			  const struct detail_thread *t)
{
	uint32_t closed = FPROF_LOAD_RELAXED(&s->closed), i;

	if (closed >= FPROF_LEVELS)
		return closed;
	for (i = 0; i < d->rule_count; i++)
		if (d->rules[i].count == 1 && d->rules[i].names[0] == t->hash)
			return FPROF_LEVELS - d->rules[i].gate;
	return closed;
}

/* The inline path leaves out what generation masks (0: nothing), unless there is a newer one:
 * whoever brought that has cleared w->masks, maybe before. */
static void masks_set(const struct session *s, struct fprof_writer *w, uint32_t generation)
{
	__atomic_store_n(&w->masks, generation, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&s->detail.generation, __ATOMIC_SEQ_CST) != generation)
		FPROF_STORE_RELAXED(&w->masks, 0u);
}

/* Begins anew under generation, with zones that are open and have no names. */
static void thread_begin(struct session *s, struct fprof_writer *w, uint32_t generation)
{
	const struct fprof_detail *d = copy_of(s, generation);
	struct detail_thread *t = thread_of(s, w);
	uint32_t closed, depth;

	t->generation = generation;
	t->gates = FPROF_LOAD_RELAXED(&s->closed);
	t->hash = thread_hash(s, w);
	closed = outermost(s, d, t);
	for (depth = 0; depth < w->depth && depth < FPROF_DETAIL_PATH_MAX; depth++)
		t->zones[depth] = (struct detail_zone){0, closed};
	FPROF_STORE_RELAXED(&w->closed, closed);
	masks_set(s, w, d->mask_count ? generation : 0);
}

/* Brings w's thread up to the newest generation. True: it began anew. */
static bool thread_update(struct session *s, struct fprof_writer *w)
{
	uint32_t generation = FPROF_LOAD_ACQUIRE(&s->detail.generation);
	const struct detail_thread *t = thread_of(s, w);

	if (FPROF_LIKELY(t->generation == generation && t->gates == FPROF_LOAD_RELAXED(&s->closed)))
		return false;
	thread_begin(s, w, generation);
	return true;
}

void detail_renamed(struct session *s, struct fprof_writer *w)
{
	if (detail_active(&s->detail))
		thread_begin(s, w, FPROF_LOAD_ACQUIRE(&s->detail.generation));
}

static bool matches(struct session *s, const struct detail_thread *t,
		    const struct fprof_detail_rule *rule, uint32_t depth)
{
	uint32_t i;

	if (rule->count != depth + 2 || rule->names[0] != t->hash)
		return false;
	for (i = 0; i <= depth; i++)
		if (t->zones[i].id && name_hash(s, t->zones[i].id) != rule->names[i + 1])
			return false;
	return true;
}

bool detail_begin(struct session *s, struct fprof_writer *w, uint32_t id, uint32_t level)
{
	struct detail_thread *t = thread_of(s, w);
	const struct fprof_detail *d;
	uint32_t flags, closed, depth = w->depth, i;

	thread_update(s, w);
	d = copy_of(s, t->generation);
	flags = flags_of(s, t->generation, id);
	closed = FPROF_LOAD_RELAXED(&w->closed);
	if (flags & FLAG_MASKED || closed + level >= FPROF_LEVELS)
		return false;
	if (depth >= FPROF_DETAIL_PATH_MAX - 1)
		return true;
	t->zones[depth] = (struct detail_zone){id, closed};
	if (!(flags & FLAG_NODE))
		return true;
	for (i = 0; i < d->rule_count; i++)
		if (matches(s, t, &d->rules[i], depth))
			FPROF_STORE_RELAXED(&w->closed, FPROF_LEVELS - d->rules[i].gate);
	return true;
}

void detail_end(struct session *s, struct fprof_writer *w)
{
	const struct detail_thread *t = thread_of(s, w);

	if (!thread_update(s, w) && w->depth < FPROF_DETAIL_PATH_MAX - 1)
		FPROF_STORE_RELAXED(&w->closed, t->zones[w->depth].closed);
}

bool detail_masked(struct session *s, struct fprof_writer *w, uint32_t id)
{
	uint32_t generation;

	thread_update(s, w);
	generation = thread_of(s, w)->generation;
	return flags_of(s, generation, id) & FLAG_MASKED;
}

uint64_t detail_masked_top(struct session *s, struct fprof_writer *w, uint32_t id)
{
	uint32_t generation = thread_of(s, w)->generation;

	masks_set(s, w, generation);
	return FPROF_WORD_TOP(0, id) | generation;
}
