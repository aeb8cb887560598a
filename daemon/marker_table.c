/* SPDX-License-Identifier: MIT */
/*
 * An open-addressing hash over the markers' content. Nothing is ever removed: the number of markers
 * and of their strings' bytes is bounded.
 */
#include "marker_table.h"

#include <errno.h>
#include <string.h>

#include <xxhash.h>

#define SLOTS_MIN 256u

void marker_table_deinit(struct marker_table *t)
{
	size_t i;

	for (i = 0; i < t->markers.count; i++)
		free(t->markers.at[i].strings);
	VEC_FREE(&t->markers);
	free(t->slots);
	t->slots = NULL;
	t->slot_count = 0;
}

/* All that same compares, and with a seed that no client knows: nobody can make markers that meet.
 */
static uint32_t hash_of(const struct marker *m, const struct marker_copy *copy, uint64_t seed)
{
	uint32_t fixed[] = {m->kind,   m->level,      m->unit,		 m->dynamic,   m->line,
			    m->colour, m->name_bytes, m->category_bytes, m->file_bytes};
	uint64_t h = XXH3_64bits_withSeed(fixed, sizeof(fixed), seed);

	h = XXH3_64bits_withSeed(copy->name, m->name_bytes, h);
	h = XXH3_64bits_withSeed(copy->category, m->category_bytes, h);
	return (uint32_t)XXH3_64bits_withSeed(copy->file, m->file_bytes, h);
}

static void describe(const struct marker_copy *copy, uint64_t seed, struct marker *m)
{
	memset(m, 0, sizeof(*m));
	m->kind = copy->kind;
	m->level = copy->level;
	m->unit = copy->unit;
	m->dynamic = copy->dynamic;
	m->line = copy->line;
	m->colour = copy->colour;
	m->counter = MARKER_NO_COUNTER;
	m->name_bytes = (uint32_t)strlen(copy->name);
	m->category_bytes = (uint32_t)strlen(copy->category);
	m->file_bytes = (uint32_t)strlen(copy->file);
	m->hash = hash_of(m, copy, seed);
}

static const char *category_of(const struct marker *m)
{
	return m->strings + m->name_bytes + 1;
}

static const char *file_of(const struct marker *m)
{
	return category_of(m) + m->category_bytes + 1;
}

static bool same(const struct marker *a, const struct marker *m, const struct marker_copy *copy)
{
	return a->hash == m->hash && a->kind == m->kind && a->level == m->level &&
	       a->unit == m->unit && a->dynamic == m->dynamic && a->line == m->line &&
	       a->colour == m->colour && a->name_bytes == m->name_bytes &&
	       a->category_bytes == m->category_bytes && a->file_bytes == m->file_bytes &&
	       !strcmp(a->strings, copy->name) && !strcmp(category_of(a), copy->category) &&
	       !strcmp(file_of(a), copy->file);
}

static size_t strings_of(const struct marker *m)
{
	return (size_t)m->name_bytes + m->category_bytes + m->file_bytes;
}

static int keep_strings(struct marker *m, const struct marker_copy *copy)
{
	m->strings = malloc((size_t)m->name_bytes + m->category_bytes + m->file_bytes + 3);
	if (!m->strings)
		return -ENOMEM;
	memcpy(m->strings, copy->name, m->name_bytes + 1);
	memcpy(m->strings + m->name_bytes + 1, copy->category, m->category_bytes + 1);
	memcpy(m->strings + m->name_bytes + m->category_bytes + 2, copy->file, m->file_bytes + 1);
	return 0;
}

static uint32_t *slot_for(uint32_t *slots, uint32_t count, uint32_t hash)
{
	uint32_t i = hash & (count - 1);

	while (slots[i])
		i = (i + 1) & (count - 1);
	return &slots[i];
}

static int grow(struct marker_table *t)
{
	uint32_t count = MAX(t->slot_count * 2, SLOTS_MIN), i;
	uint32_t *slots = calloc(count, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (i = 0; i < t->markers.count; i++)
		*slot_for(slots, count, t->markers.at[i].hash) = i + 1;
	free(t->slots);
	t->slots = slots;
	t->slot_count = count;
	return 0;
}

static uint32_t find(const struct marker_table *t, const struct marker *m,
		     const struct marker_copy *copy)
{
	uint32_t i;

	if (t->slot_count == 0)
		return 0;
	for (i = m->hash & (t->slot_count - 1); t->slots[i]; i = (i + 1) & (t->slot_count - 1))
		if (same(&t->markers.at[t->slots[i] - 1], m, copy))
			return t->slots[i];
	return 0;
}

int marker_table_intern(struct marker_table *t, const struct marker_copy *copy, uint32_t *ret_id,
			bool *ret_new)
{
	struct marker m;
	uint32_t id;
	int r;

	if (t->seed == 0)
		t->seed = util_seed();
	describe(copy, t->seed, &m);
	id = find(t, &m, copy);
	*ret_new = id == 0;
	if (id > 0) {
		*ret_id = id;
		return 0;
	}
	if (t->markers.count == MARKER_ID_MAX ||
	    t->string_bytes + strings_of(&m) > MARKER_TABLE_BYTES)
		return -ENOSPC;
	if ((t->markers.count + 1) * 2 > t->slot_count) {
		r = grow(t);
		if (r < 0)
			return r;
	}
	r = VEC_RESERVE(&t->markers, 1);
	if (r == 0)
		r = keep_strings(&m, copy);
	if (r < 0)
		return r;
	t->markers.at[t->markers.count++] = m;
	id = (uint32_t)t->markers.count;
	*slot_for(t->slots, t->slot_count, m.hash) = id;
	t->kinds_seen |= 1u << m.kind;
	t->string_bytes += strings_of(&m);
	*ret_id = id;
	return 0;
}

static int dup_unless_empty(const char *s, char **ret)
{
	*ret = s[0] ? strdup(s) : NULL;
	return s[0] && !*ret ? -ENOMEM : 0;
}

int marker_table_row(const struct marker_table *t, uint64_t session, uint32_t id,
		     struct marker_row *ret_row)
{
	const struct marker *m = &t->markers.at[id - 1];
	struct marker_row row = {
		.session = session,
		.marker = id,
		.kind = m->kind,
		.level = m->level,
		.unit = m->unit,
		.dynamic = m->dynamic,
		.line = m->line,
		.colour = m->colour,
		.name = strdup(m->strings),
	};

	if (!row.name || dup_unless_empty(category_of(m), &row.category) < 0 ||
	    dup_unless_empty(file_of(m), &row.file) < 0) {
		free(row.name);
		free(row.category);
		return -ENOMEM;
	}
	*ret_row = row;
	return 0;
}
