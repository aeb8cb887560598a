// SPDX-License-Identifier: MIT
/*
 * The table is insert-only: entries and strings in the shared memory, an open-addressing hash of
 * ids in the session's own.
 *
 * Inserting: claim an id and string bytes, fill the entry, then put the id into the first free
 * place of the hash by compare-and-swap, with release. Who loses that compares with the winner's
 * entry, which is complete, and gives the id back. Nobody waits for anybody, so a signal handler
 * may intern in the middle of an interning, and a thread killed there costs one id. The daemon
 * sees an entry once `ready` is set, which the winner does, and everybody else who finds it
 * unset.
 *
 * A marker whose entry is filled but not in the hash is never ready: no two ready entries are
 * equal.
 *
 * The hash has twice as many places as there are ids, so a probe always ends.
 */
#include "marker.h"

#include <string.h>

#define NEW_NAMES_BURST	     8192u /* over the life of the session, free of the limit */
#define NEW_NAMES_PER_SECOND 4096u

/* A marker's content, strings measured and cut. */
struct content {
	struct fprof_marker_entry entry; /* all but ready and the offsets */
	const char *name, *category, *file;
	uint32_t hash;
};

static uint32_t hash_bytes(uint32_t hash, const void *bytes, size_t n)
{
	const uint8_t *b = bytes;

	while (n--)
		hash = (hash ^ *b++) * 16777619u; /* FNV-1a */
	return hash;
}

static uint16_t cut_length(struct session *s, const char *text)
{
	size_t n = text ? strnlen(text, FPROF_NAME_MAX + 1) : 0;

	if (n > FPROF_NAME_MAX) {
		session_refuse(s, FPROF_REFUSED_TRUNCATED);
		n = FPROF_NAME_MAX;
	}
	return (uint16_t)n;
}

static void content_hash(struct content *c)
{
	uint32_t h = 2166136261u;
	uint32_t numbers[3] = {(uint32_t)c->entry.kind | (uint32_t)c->entry.level << 8 |
				       (uint32_t)c->entry.unit << 16 |
				       (uint32_t)c->entry.dynamic << 24,
			       c->entry.line, c->entry.colour};

	h = hash_bytes(h, c->name, c->entry.name_bytes);
	h = hash_bytes(h, numbers, sizeof(numbers));
	h = hash_bytes(h, c->category, c->entry.category_bytes);
	c->hash = hash_bytes(h, c->file, c->entry.file_bytes);
}

/* Counters, streams and the like are what they are called, wherever in the source they are used. */
static bool known_by_name(uint8_t kind)
{
	return kind == FPROF_MARKER_COUNTER || kind == FPROF_MARKER_STREAM ||
	       kind == FPROF_MARKER_FIBER || kind == FPROF_MARKER_GPU;
}

static void content_init(struct session *s, struct content *c, const struct fprof_marker *m,
			 const char *name, bool dynamic)
{
	const struct fprof_marker plain = {.name = m->name, .kind = m->kind, .unit = m->unit};

	if (known_by_name(m->kind)) {
		m = &plain;
		dynamic = false;
	}
	memset(c, 0, sizeof(*c));
	c->name = name;
	c->category = m->category;
	c->file = m->file;
	c->entry.kind = m->kind;
	c->entry.level = m->level;
	c->entry.unit = m->unit;
	c->entry.dynamic = dynamic;
	c->entry.line = m->line;
	c->entry.colour = m->colour & 0xffffff;
	c->entry.name_bytes = cut_length(s, name);
	c->entry.category_bytes = cut_length(s, m->category);
	c->entry.file_bytes = cut_length(s, m->file);
	content_hash(c);
}

/* Ids start at 1. */
static struct fprof_marker_entry *entry_of(const struct session *s, uint32_t id)
{
	return &s->markers[id - 1];
}

static bool bytes_equal(const struct session *s, uint32_t offset, const char *text, size_t n)
{
	return n == 0 || !memcmp(s->strings + offset, text, n);
}

static bool content_equal(const struct session *s, const struct content *c, uint32_t id)
{
	const struct fprof_marker_entry *a = entry_of(s, id), *b = &c->entry;

	return a->kind == b->kind && a->level == b->level && a->unit == b->unit &&
	       a->dynamic == b->dynamic && a->line == b->line && a->colour == b->colour &&
	       a->name_bytes == b->name_bytes && a->category_bytes == b->category_bytes &&
	       a->file_bytes == b->file_bytes &&
	       bytes_equal(s, a->name_offset, c->name, a->name_bytes) &&
	       bytes_equal(s, a->category_offset, c->category, a->category_bytes) &&
	       bytes_equal(s, a->file_offset, c->file, a->file_bytes);
}

static uint32_t found(struct session *s, uint32_t id)
{
	if (!FPROF_LOAD_RELAXED(&entry_of(s, id)->ready))
		FPROF_STORE_RELEASE(&entry_of(s, id)->ready, 1u);
	return id;
}

/* Where c stands, or the free place where it would: *ret_place. Returns the id, 0: it is not there.
 */
static uint32_t lookup(struct session *s, const struct content *c, uint32_t *ret_place)
{
	uint32_t at = c->hash & (SESSION_HASH_SIZE - 1);
	uint32_t id;

	while ((id = FPROF_LOAD_ACQUIRE(&s->hash[at])) != 0) {
		if (content_equal(s, c, id))
			return found(s, id);
		at = (at + 1) & (SESSION_HASH_SIZE - 1);
	}
	*ret_place = at;
	return 0;
}

/* Adds n to *counter unless that goes past limit. Returns whether it did. */
static bool claim(uint32_t *counter, uint32_t n, uint32_t limit, uint32_t *ret_from)
{
	uint32_t from = FPROF_LOAD_RELAXED(counter);

	do {
		if (n > limit - from)
			return false;
	} while (!__atomic_compare_exchange_n(counter, &from, from + n, true, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	*ret_from = from;
	return true;
}

/* An id of nobody's, 0: there is none. */
static uint32_t id_claim(struct session *s)
{
	uint32_t id = __atomic_exchange_n(&s->spare_marker, 0u, __ATOMIC_ACQUIRE);

	if (id)
		return id;
	return claim(&s->head->markers_used, 1, s->head->marker_capacity, &id) ? id + 1 : 0;
}

static void id_return(struct session *s, uint32_t id)
{
	FPROF_STORE_RELEASE(&s->spare_marker, id); /* what was written to its entry is done with */
}

static void put_string(struct session *s, uint32_t *at, const char *text, size_t n)
{
	if (n)
		memcpy(s->strings + *at, text, n);
	*at += (uint32_t)n;
}

static bool entry_fill(struct session *s, const struct content *c, uint32_t id)
{
	struct fprof_marker_entry *e = entry_of(s, id);
	size_t bytes = (size_t)c->entry.name_bytes + c->entry.category_bytes + c->entry.file_bytes;
	uint32_t at;

	if (!claim(&s->head->strings_used, (uint32_t)bytes, s->head->strings_bytes, &at))
		return false;
	*e = c->entry;
	e->name_offset = at;
	put_string(s, &at, c->name, e->name_bytes);
	e->category_offset = at;
	put_string(s, &at, c->category, e->category_bytes);
	e->file_offset = at;
	put_string(s, &at, c->file, e->file_bytes);
	return true;
}

/* Puts a filled entry into the hash, from a free place on. Returns its id, or that of its equal. */
static uint32_t insert(struct session *s, const struct content *c, uint32_t place, uint32_t id)
{
	for (;;) {
		uint32_t seen = 0;

		if (__atomic_compare_exchange_n(&s->hash[place], &seen, id, false, __ATOMIC_RELEASE,
						__ATOMIC_ACQUIRE))
			return found(s, id);
		if (content_equal(s, c, seen)) {
			id_return(s, id);
			return found(s, seen);
		}
		place = (place + 1) & (SESSION_HASH_SIZE - 1);
	}
}

/* May one more dynamic name be made? */
static bool name_allowed(struct session *s)
{
	uint64_t second = session_second();
	uint64_t seen = FPROF_LOAD_RELAXED(&s->new_names_second);

	if (FPROF_LOAD_RELAXED(&s->all_new_names) < NEW_NAMES_BURST) {
		FPROF_ADD_RELAXED(&s->all_new_names, 1u);
		return true;
	}
	if (seen != second &&
	    __atomic_compare_exchange_n(&s->new_names_second, &seen, second, false,
					__ATOMIC_RELAXED, __ATOMIC_RELAXED))
		FPROF_STORE_RELAXED(&s->new_names, 0u);
	return FPROF_ADD_RELAXED(&s->new_names, 1u) < NEW_NAMES_PER_SECOND;
}

static uint32_t intern(struct session *s, const struct content *c)
{
	uint32_t place = 0;
	uint32_t id = lookup(s, c, &place);

	if (id)
		return id;
	if (c->entry.dynamic && !name_allowed(s)) {
		session_refuse(s, FPROF_REFUSED_NAMES);
		return 0;
	}
	id = id_claim(s);
	if (id && !entry_fill(s, c, id)) {
		id_return(s, id);
		id = 0;
	}
	if (!id) {
		session_refuse(s, FPROF_REFUSED_MARKERS);
		return 0;
	}
	return insert(s, c, place, id);
}

static bool sound(const struct fprof_marker *m)
{
	return m->kind < FPROF_MARKER_KINDS && m->level < FPROF_LEVELS && m->unit < FPROF_UNITS;
}

static uint64_t top_of(uint8_t kind, uint32_t id)
{
	if (!id)
		return 0;
	return FPROF_WORD_TOP(kind == FPROF_MARKER_INSTANT ? FPROF_WORD_INSTANT : FPROF_WORD_BEGIN,
			      id);
}

uint64_t marker_top(struct session *s, struct fprof_marker *m)
{
	struct content c;
	uint64_t top;

	if (!m || !m->name || !sound(m)) {
		session_refuse(s, FPROF_REFUSED_ARGUMENTS);
		return 0;
	}
	top = FPROF_LOAD_RELAXED(&m->top);
	if (fprof_top_known(top))
		return top;
	if (top) {
		top = top_of(m->kind, fprof_word_id(top));
	} else {
		content_init(s, &c, m, m->name, false);
		top = top_of(m->kind, intern(s, &c));
	}
	if (top)
		FPROF_STORE_RELAXED(&m->top, top);
	return top;
}

uint64_t marker_top_dynamic(struct session *s, const struct fprof_marker *site, const char *name)
{
	struct content c;

	if (!site || !name || !sound(site)) {
		session_refuse(s, FPROF_REFUSED_ARGUMENTS);
		return 0;
	}
	content_init(s, &c, site, name, true);
	return top_of(site->kind, intern(s, &c));
}

uint32_t marker_id_of_name(struct session *s, enum fprof_marker_kind kind, const char *name)
{
	const struct fprof_marker site = {.kind = (uint8_t)kind};

	return fprof_word_id(marker_top_dynamic(s, &site, name));
}

/* The copy is of this process's own making, before the fork: it is sound. */
static void content_of_entry(const struct session *s, uint32_t id, struct content *ret_content)
{
	const char *strings = (const char *)s->strings;

	ret_content->entry = *entry_of(s, id);
	ret_content->name = strings + ret_content->entry.name_offset;
	ret_content->category = strings + ret_content->entry.category_offset;
	ret_content->file = strings + ret_content->entry.file_offset;
	content_hash(ret_content);
}

void marker_inherit(struct session *s, const void *memory)
{
	const struct fprof_memory_header *h = memory;
	const struct fprof_marker_entry *from;
	uint32_t used, i;

	if (!memory)
		return;
	used = FPROF_LOAD_ACQUIRE(&h->markers_used);
	from = (const void *)((const uint8_t *)memory + h->markers_offset);
	for (i = 0; i < used; i++) {
		struct content c;
		uint32_t place;

		if (!FPROF_LOAD_ACQUIRE(&from[i].ready))
			continue;
		s->markers[i] = from[i];
		memcpy(s->strings + from[i].name_offset,
		       (const uint8_t *)memory + h->strings_offset + from[i].name_offset,
		       (size_t)from[i].name_bytes + from[i].category_bytes + from[i].file_bytes);
		content_of_entry(s, i + 1, &c);
		if (!lookup(s, &c, &place))
			insert(s, &c, place, i + 1);
	}
	s->head->markers_used = used;
	s->head->strings_used = FPROF_LOAD_RELAXED(&h->strings_used);
}
