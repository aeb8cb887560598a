// SPDX-License-Identifier: MIT
/*
 * .vprof, little-endian:
 *
 *   i32 version (1), i32 id of the root, then frames to the end of the file:
 *   u8 0, i32 tick
 *   any number of  u8 2, name NUL, i32 flags                           a budget group
 *             and  u8 1, i32 parent, name NUL, i32 group, i32 id       a node
 *   u8 3, then for each node of the whole tree: u8 calls (255: a u16 follows),
 *         u16 units of 4 us (0xffff: a u32 follows; some 64-bit builds: a u64)
 *   u8 4
 *
 * A group's id is its place in the list, which begins with the known ones. A new node stands before
 * its siblings. A group that is named again keeps its place and gains the flags; a child that is
 * named again is the same node, which has the new id and group from then on. Only how many nodes
 * there are decides where timings end, so the reader keeps no order.
 *
 * Everything in the file may be wrong: a fault ends the reading, and the frames before it stand.
 * Frames whose end is not there do not count, though what they brought stays in the reader's
 * tables, behind what the last whole frame knows of (its groups, rows and nodes).
 */
#include "vprof.h"

#include "json.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include <xxhash.h>

#define VERSION	    1
#define TIMING_MAX  (3 + 2 + VPROF_LONG_LONG) /* bytes of one node */
#define INDEX_FIRST 64

enum token { TOKEN_FRAME = 0, TOKEN_NODE = 1, TOKEN_GROUP = 2, TOKEN_TIMINGS = 3, TOKEN_END = 4 };

const struct vprof_known_group vprof_known_groups[VPROF_GROUPS_KNOWN] = {
	{"Unaccounted", 6},
	{"World Rendering", 1},
	{"Displacement_Rendering", 1},
	{"Game", 6},
	{"Player", 6},
	{"NPCs", 6},
	{"Server Animation", 6},
	{"Client_Animation", 1},
	{"Physics", 6},
	{"Static_Prop_Rendering", 1},
	{"Other_Model_Rendering", 1},
	{"Fast Path Model Rendering", 1},
	{"Light_Cache", 1},
	{"Brush_Model_Rendering", 1},
	{"Shadow_Rendering", 1},
	{"Detail_Prop_Rendering", 1},
	{"Particle/Effect_Rendering", 1},
	{"Ropes", 1},
	{"Dynamic_Light_Rendering", 1},
	{"Networking", 6},
	{"Sound", 6},
	{"VGUI", 6},
	{"FileSystem", 6},
	{"Prediction", 1},
	{"Interpolation", 1},
	{"Swap_Buffers", 1},
	{"Occlusion", 1},
	{"Overlays", 1},
	{"Tools", 5},
	{"Texture_Cache", 1},
	{"Replay", 2},
};

/* ---- Faults ---- */

__attribute__((format(printf, 3, 4))) static int fault(struct vprof_reader *r, size_t offset,
						       const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(r->fault.text, sizeof(r->fault.text), format, arguments);
	va_end(arguments);
	r->fault.offset = offset;
	r->faulty = true;
	return -EBADMSG;
}

static int truncated(struct vprof_reader *r)
{
	r->fault.truncated = true;
	return fault(r, r->bytes,
		     "truncated: the last frame is incomplete; the frames before it are whole");
}

/* ---- Indexes: open addressing over a table; entries are never removed, stale ones do not match
 * ---- */

typedef bool (*index_match_fn)(const struct vprof_reader *r, uint32_t entry, const void *key);

static uint64_t hash_name(const struct vprof_reader *r, uint32_t parent, const char *name)
{
	return XXH3_64bits_withSeed(name, strlen(name), r->seed ^ parent);
}

static uint64_t hash_id(const struct vprof_reader *r, int32_t id)
{
	return XXH3_64bits_withSeed(&id, sizeof(id), r->seed);
}

/* The slot of the entry, or the free one where it would be. */
static uint32_t *index_slot(const struct vprof_reader *r, const struct vprof_index *index,
			    uint64_t hash, index_match_fn match, const void *key)
{
	size_t mask = index->count - 1, i;

	for (i = hash & mask; index->slots[i]; i = (i + 1) & mask)
		if (match(r, index->slots[i] - 1, key))
			break;
	return &index->slots[i];
}

struct name_key {
	uint32_t parent;
	const char *name;
};

static bool match_name(const struct vprof_reader *r, uint32_t node, const void *key)
{
	const struct name_key *k = key;

	return r->nodes.at[node].parent == k->parent &&
	       strcmp(r->nodes.at[node].name, k->name) == 0;
}

static bool match_id(const struct vprof_reader *r, uint32_t node, const void *key)
{
	return r->nodes.at[node].id == *(const int32_t *)key;
}

static bool match_group(const struct vprof_reader *r, uint32_t group, const void *key)
{
	return strcmp(r->groups.at[group].name, key) == 0;
}

static bool match_none(const struct vprof_reader *r, uint32_t entry, const void *key)
{
	(void)r;
	(void)entry;
	(void)key;
	return false;
}

static uint64_t hash_entry(const struct vprof_reader *r, const struct vprof_index *index,
			   uint32_t entry)
{
	if (index == &r->by_id)
		return hash_id(r, r->nodes.at[entry].id);
	if (index == &r->by_group)
		return hash_name(r, 0, r->groups.at[entry].name);
	return hash_name(r, r->nodes.at[entry].parent, r->nodes.at[entry].name);
}

/* Makes room for one more; what does not match any more is left behind. */
static int index_reserve(struct vprof_reader *r, struct vprof_index *index)
{
	struct vprof_index larger = {.count = index->count ? index->count * 2 : INDEX_FIRST};
	size_t i;

	if (index->used * 2 < index->count)
		return 0;
	larger.slots = calloc(larger.count, sizeof(*larger.slots));
	if (!larger.slots)
		return -ENOMEM;
	for (i = 0; i < index->count; i++) {
		uint32_t entry = index->slots[i];

		if (!entry || (index == &r->by_id &&
			       *index_slot(r, index, hash_id(r, r->nodes.at[entry - 1].id),
					   match_id, &r->nodes.at[entry - 1].id) != entry))
			continue;
		*index_slot(r, &larger, hash_entry(r, index, entry - 1), match_none, NULL) = entry;
		larger.used++;
	}
	free(index->slots);
	*index = larger;
	return 0;
}

static int index_put(struct vprof_reader *r, struct vprof_index *index, uint32_t entry,
		     index_match_fn match, const void *key)
{
	uint32_t *slot;
	int error = index_reserve(r, index);

	if (error < 0)
		return error;
	slot = index_slot(r, index, hash_entry(r, index, entry), match, key);
	if (!*slot)
		index->used++;
	*slot = entry + 1;
	return 0;
}

static uint32_t index_find(const struct vprof_reader *r, const struct vprof_index *index,
			   uint64_t hash, index_match_fn match, const void *key)
{
	return index->count ? *index_slot(r, index, hash, match, key) - 1 : VPROF_NONE;
}

/* ---- Bytes ---- */

static bool get_i32(struct vprof_reader *r, int32_t *ret)
{
	const uint8_t *p = r->data + r->at;

	if (r->bytes - r->at < 4)
		return false;
	*ret = (int32_t)((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
			 (uint32_t)p[3] << 24);
	r->at += 4;
	return true;
}

/* Windows-1252, 0x80 to 0x9f; what it leaves undefined stays the control character. */
static const uint16_t windows_1252[32] = {
	0x20ac, 0x81,	0x201a, 0x192,	0x201e, 0x2026, 0x2020, 0x2021, 0x2c6,	0x2030, 0x160,
	0x2039, 0x152,	0x8d,	0x17d,	0x8f,	0x90,	0x2018, 0x2019, 0x201c, 0x201d, 0x2022,
	0x2013, 0x2014, 0x2dc,	0x2122, 0x161,	0x203a, 0x153,	0x9d,	0x17e,	0x178};

static char *put_utf8(char *to, uint32_t c)
{
	if (c < 0x80) {
		*to++ = (char)c;
	} else if (c < 0x800) {
		*to++ = (char)(0xc0 | c >> 6);
		*to++ = (char)(0x80 | (c & 0x3f));
	} else {
		*to++ = (char)(0xe0 | c >> 12);
		*to++ = (char)(0x80 | (c >> 6 & 0x3f));
		*to++ = (char)(0x80 | (c & 0x3f));
	}
	return to;
}

static bool is_utf8(const uint8_t *s, size_t bytes)
{
	size_t i, n;

	for (i = 0; i < bytes; i += n) {
		n = json_utf8_bytes(s + i, bytes - i);
		if (n == 0)
			return false;
	}
	return true;
}

struct name {
	char text[VPROF_NAME_MAX + 4];
};

/* Reads a name: 0, or -EBADMSG. */
static int get_name(struct vprof_reader *r, struct name *ret_name)
{
	const uint8_t *s = r->data + r->at;
	size_t left = r->bytes - r->at,
	       bytes = strnlen((const char *)s, MIN(left, VPROF_NAME_MAX + 1));
	char *to = ret_name->text;
	size_t i;

	if (bytes > VPROF_NAME_MAX)
		return fault(r, r->at, "a name is longer than %d bytes", VPROF_NAME_MAX);
	if (bytes == left)
		return truncated(r);
	r->at += bytes + 1;
	if (is_utf8(s, bytes)) {
		memcpy(to, s, bytes + 1);
		return 0;
	}
	r->recoded++;
	for (i = 0; i < bytes && to - ret_name->text <= VPROF_NAME_MAX; i++)
		to = put_utf8(to, s[i] >= 0x80 && s[i] < 0xa0 ? windows_1252[s[i] - 0x80] : s[i]);
	if (to - ret_name->text > VPROF_NAME_MAX)
		return fault(r, r->at, "a name is longer than %d bytes", VPROF_NAME_MAX);
	*to = '\0';
	return 0;
}

/* ---- Groups and nodes ---- */

static int add_group(struct vprof_reader *r, const char *name, uint32_t flags)
{
	uint32_t found = index_find(r, &r->by_group, hash_name(r, 0, name), match_group, name);
	struct vprof_group group = {.flags = flags, .frames = r->frames};

	if (found != VPROF_NONE) {
		r->groups.at[found].flags |= flags;
		return 0;
	}
	if (r->groups.count >= VPROF_GROUPS_MAX)
		return fault(r, r->at, "there are more than %u budget groups", VPROF_GROUPS_MAX);
	group.name = strdup(name);
	if (!group.name || VEC_PUSH(&r->groups, group) < 0) {
		free(group.name);
		return -ENOMEM;
	}
	return index_put(r, &r->by_group, (uint32_t)r->groups.count - 1, match_group, name);
}

static int read_group(struct vprof_reader *r)
{
	struct name name;
	int32_t flags;
	int error = get_name(r, &name);

	if (error < 0)
		return error;
	if (!get_i32(r, &flags))
		return truncated(r);
	return add_group(r, name.text, (uint32_t)flags);
}

static int push_node(struct vprof_reader *r, const struct vprof_node *from)
{
	struct vprof_node node = *from;

	if (r->nodes.count >= VPROF_NODES_MAX)
		return fault(r, r->at, "there are more than %u nodes", VPROF_NODES_MAX);
	if (node.depth > VPROF_DEPTH_MAX)
		return fault(r, r->at, "nodes are nested deeper than %d", VPROF_DEPTH_MAX);
	node.name = strdup(from->name);
	if (!node.name || VEC_PUSH(&r->nodes, node) < 0) {
		free(node.name);
		return -ENOMEM;
	}
	return 0;
}

/* Adds the node, or finds the one of that name and gives it the id and the group. */
static int add_node(struct vprof_reader *r, const struct vprof_node *given)
{
	struct name_key key = {given->parent, given->name};
	uint32_t node =
		index_find(r, &r->by_name, hash_name(r, key.parent, key.name), match_name, &key);
	struct vprof_row row = {.group = given->group, .id = given->id};
	int error;

	if (r->rows.count >= VPROF_ROWS_MAX)
		return fault(r, r->at, "nodes are named more than %u times", VPROF_ROWS_MAX);
	if (node == VPROF_NONE) {
		node = (uint32_t)r->nodes.count;
		error = push_node(r, given);
		if (error == 0)
			error = index_put(r, &r->by_name, node, match_name, &key);
		if (error < 0)
			return error;
	}
	r->nodes.at[node].id = given->id;
	r->nodes.at[node].group = given->group;
	row.node = node;
	if (VEC_PUSH(&r->rows, row) < 0)
		return -ENOMEM;
	return index_put(r, &r->by_id, node, match_id, &given->id);
}

static int read_node(struct vprof_reader *r)
{
	size_t offset = r->at;
	int32_t parent_id, group;
	struct vprof_node node = {0};
	struct name name;
	int error;

	if (!get_i32(r, &parent_id))
		return truncated(r);
	error = get_name(r, &name);
	if (error < 0)
		return error;
	if (!get_i32(r, &group) || !get_i32(r, &node.id))
		return truncated(r);
	node.parent = index_find(r, &r->by_id, hash_id(r, parent_id), match_id, &parent_id);
	if (node.parent == VPROF_NONE)
		return fault(r, offset, "a node has a parent %d that there is not", parent_id);
	if (group < 0 || (size_t)group >= r->groups.count)
		return fault(r, offset, "a node has a budget group %d that there is not", group);
	node.depth = r->nodes.at[node.parent].depth + 1;
	node.group = (uint32_t)group;
	node.name = name.text;
	return add_node(r, &node);
}

/* ---- Frames ---- */

/* Passes over the timings of all nodes without looking where each may end: all of them have room.
 * Returns where they end. */
static const uint8_t *pass_timings(const struct vprof_reader *r, const uint8_t *p, size_t nodes,
				   uint64_t *ret_long_times)
{
	uint64_t long_times = 0;
	size_t i;

	for (i = 0; i < nodes; i++) {
		/* A branch that is nearly always the same: the next one need not wait for it. */
		if (__builtin_expect(p[0] != 255 && (p[1] & p[2]) != 255, 1)) {
			p += 3;
			continue;
		}
		p += *p == 255 ? 5 : 3;
		if ((p[-2] & p[-1]) == 255) {
			p += r->long_bytes;
			long_times++;
		}
	}
	*ret_long_times = long_times;
	return p;
}

const uint8_t *vprof_pass_timings(const uint8_t *p, const uint8_t *end, size_t nodes,
				  unsigned long_bytes, uint64_t *ret_long_times)
{
	uint64_t long_times = 0;
	size_t i, need;

	for (i = 0; i < nodes; i++) {
		if (p == end)
			return NULL;
		need = *p == 255 ? 5 : 3;
		if ((size_t)(end - p) < need)
			return NULL;
		p += need;
		if (p[-2] == 0xff && p[-1] == 0xff) {
			if ((size_t)(end - p) < long_bytes)
				return NULL;
			p += long_bytes;
			long_times++;
		}
	}
	*ret_long_times = long_times;
	return p;
}

/* Copies timings with times of 8 bytes as ones of 4: 0; -ENOMEM; -ERANGE: one does not fit. */
static int narrow(struct vprof_reader *r, struct vprof_frame *f)
{
	const uint8_t *p = f->timings;
	uint8_t *to;
	size_t i, take;

	if (f->bytes > r->narrowed_capacity) {
		free(r->narrowed);
		r->narrowed = malloc(f->bytes);
		r->narrowed_capacity = r->narrowed ? f->bytes : 0;
		if (!r->narrowed)
			return -ENOMEM;
	}
	to = r->narrowed;
	for (i = 0; i < f->nodes; i++) {
		take = *p == 255 ? 5 : 3;
		if (p[take - 2] == 0xff && p[take - 1] == 0xff) {
			static const uint8_t zeros[VPROF_LONG_LONG - VPROF_SHORT_LONG];

			if (memcmp(p + take + VPROF_SHORT_LONG, zeros, sizeof(zeros)) != 0)
				return -ERANGE;
			memcpy(to, p, take + VPROF_SHORT_LONG);
			to += take + VPROF_SHORT_LONG;
			p += take + VPROF_LONG_LONG;
		} else {
			memcpy(to, p, take);
			to += take;
			p += take;
		}
	}
	f->timings = r->narrowed;
	f->bytes = (size_t)(to - r->narrowed);
	return 0;
}

static int read_timings(struct vprof_reader *r, struct vprof_frame *f)
{
	const uint8_t *begin = r->data + r->at, *end;
	uint64_t long_times = 0;
	int error = 0;

	f->nodes = r->nodes.count;
	if ((r->bytes - r->at) / TIMING_MAX >= f->nodes)
		end = pass_timings(r, begin, f->nodes, &long_times);
	else
		end = vprof_pass_timings(begin, r->data + r->bytes, f->nodes, r->long_bytes,
					 &long_times);
	if (!end)
		return truncated(r);
	f->timings = begin;
	f->bytes = (size_t)(end - begin);
	if (long_times && r->long_bytes == VPROF_LONG_LONG)
		error = narrow(r, f);
	if (error == -ERANGE)
		return fault(r, r->at, "a time is longer than 2^32 units of 4 us");
	if (error < 0)
		return error;
	r->at = (size_t)(end - r->data);
	r->long_times += long_times;
	begin = f->timings;
	vprof_take_calls(&begin);
	f->root_units = vprof_take_units(&begin);
	return 0;
}

/* All tokens of a frame behind its tick. */
static int read_tokens(struct vprof_reader *r, struct vprof_frame *f)
{
	int error = 0;

	while (error == 0) {
		if (r->at == r->bytes)
			return truncated(r);
		switch (r->data[r->at++]) {
		case TOKEN_GROUP:
			error = read_group(r);
			break;
		case TOKEN_NODE:
			error = read_node(r);
			break;
		case TOKEN_TIMINGS:
			return read_timings(r, f);
		default:
			return fault(r, r->at - 1,
				     "there is a token %u where a group, a node or timings are "
				     "expected",
				     r->data[r->at - 1]);
		}
	}
	return error;
}

static int read_frame(struct vprof_reader *r, struct vprof_frame *f)
{
	int error;

	if (r->data[r->at] != TOKEN_FRAME)
		return fault(r, r->at, "there is a token %u where a frame is expected",
			     r->data[r->at]);
	r->at++;
	if (!get_i32(r, &f->tick))
		return truncated(r);
	error = read_tokens(r, f);
	if (error < 0)
		return error;
	if (r->at == r->bytes)
		return truncated(r);
	if (r->data[r->at] != TOKEN_END)
		return fault(r, r->at, "there is a token %u where a frame's end is expected",
			     r->data[r->at]);
	r->at++;
	return 0;
}

int vprof_reader_next(struct vprof_reader *r, struct vprof_frame *ret_frame)
{
	struct vprof_frame frame = {0};
	int error;

	if (r->faulty || r->at == r->bytes)
		return 0;
	error = read_frame(r, &frame);
	if (error == -EBADMSG)
		return 0;
	if (error < 0)
		return error;
	frame.groups = r->groups.count;
	frame.rows = r->rows.count;
	r->frames++;
	*ret_frame = frame;
	return 1;
}

static int init_tables(struct vprof_reader *r, int32_t root_id)
{
	static char root_name[] = "";
	struct vprof_node root = {.parent = VPROF_NONE, .id = root_id, .name = root_name};
	int error = 0;
	size_t i;

	for (i = 0; i < VPROF_GROUPS_KNOWN && error == 0; i++)
		error = add_group(r, vprof_known_groups[i].name, vprof_known_groups[i].flags);
	return error < 0 ? error : add_node(r, &root);
}

int vprof_reader_init(struct vprof_reader *r, const uint8_t *data, size_t bytes,
		      unsigned long_bytes)
{
	int32_t version, root_id;

	*r = (struct vprof_reader){
		.data = data, .bytes = bytes, .long_bytes = long_bytes, .seed = util_seed()};
	if (!get_i32(r, &version) || !get_i32(r, &root_id))
		return fault(r, bytes, "the file is shorter than a header");
	if (version != VERSION)
		return fault(r, 0, "unsupported version %d", version);
	return init_tables(r, root_id);
}

void vprof_reader_deinit(struct vprof_reader *r)
{
	size_t i;

	for (i = 0; i < r->groups.count; i++)
		free(r->groups.at[i].name);
	for (i = 0; i < r->nodes.count; i++)
		free(r->nodes.at[i].name);
	VEC_FREE(&r->groups);
	VEC_FREE(&r->nodes);
	VEC_FREE(&r->rows);
	free(r->by_id.slots);
	free(r->by_name.slots);
	free(r->by_group.slots);
	free(r->narrowed);
}

/* ---- The survey ---- */

static int survey_at(const uint8_t *data, size_t bytes, unsigned long_bytes,
		     struct vprof_survey *ret_survey, bool *ret_whole)
{
	struct vprof_survey survey = {.long_bytes = long_bytes, .ticks_rise = true};
	struct vprof_reader r;
	struct vprof_frame frame;
	int32_t last = 0;
	int error = vprof_reader_init(&r, data, bytes, long_bytes);

	while (error == 0 && (error = vprof_reader_next(&r, &frame)) > 0) {
		survey.ticks_rise = survey.ticks_rise && frame.tick > last;
		last = frame.tick;
		error = 0;
	}
	survey.frames = r.frames;
	survey.long_times = r.long_times;
	*ret_survey = survey;
	*ret_whole = !r.faulty;
	vprof_reader_deinit(&r);
	return error == -EBADMSG ? 0 : error;
}

int vprof_is_whole(const uint8_t *data, size_t bytes, unsigned long_bytes)
{
	struct vprof_survey survey;
	bool whole;
	int error = survey_at(data, bytes, long_bytes, &survey, &whole);

	return error < 0 ? error : whole;
}

int vprof_survey(const uint8_t *data, size_t bytes, struct vprof_survey *ret_survey)
{
	struct vprof_survey narrowed, wide;
	bool whole, wide_whole;
	int error = survey_at(data, bytes, VPROF_SHORT_LONG, &narrowed, &whole);

	if (error < 0)
		return error;
	*ret_survey = narrowed;
	if (whole && !narrowed.long_times)
		return 0;
	error = survey_at(data, bytes, VPROF_LONG_LONG, &wide, &wide_whole);
	if (error < 0)
		return error;
	if (!whole && (wide_whole || wide.frames > narrowed.frames))
		*ret_survey = wide;
	ret_survey->told = whole != wide_whole;
	return 0;
}

/* ---- Writing ---- */

static uint8_t *add_u16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)v;
	p[1] = (uint8_t)(v >> 8);
	return p + 2;
}

static uint8_t *add_u32(uint8_t *p, uint32_t v)
{
	return add_u16(add_u16(p, v), v >> 16);
}

static void put_token(const struct vprof_out *out, enum token token)
{
	uint8_t byte = (uint8_t)token;

	out->put(out->userdata, &byte, 1);
}

static void put_u32(const struct vprof_out *out, uint32_t v)
{
	uint8_t bytes[4];

	add_u32(bytes, v);
	out->put(out->userdata, bytes, sizeof(bytes));
}

static void put_name(const struct vprof_out *out, const char *name)
{
	out->put(out->userdata, name, strlen(name) + 1);
}

void vprof_write_header(const struct vprof_out *out, int32_t root_id)
{
	put_u32(out, VERSION);
	put_u32(out, (uint32_t)root_id);
}

void vprof_write_frame(const struct vprof_out *out, int32_t tick)
{
	put_token(out, TOKEN_FRAME);
	put_u32(out, (uint32_t)tick);
}

void vprof_write_group(const struct vprof_out *out, const char *name, uint32_t flags)
{
	put_token(out, TOKEN_GROUP);
	put_name(out, name);
	put_u32(out, flags);
}

void vprof_write_node(const struct vprof_out *out, int32_t parent_id, const char *name,
		      uint32_t group, int32_t id)
{
	put_token(out, TOKEN_NODE);
	put_u32(out, (uint32_t)parent_id);
	put_name(out, name);
	put_u32(out, group);
	put_u32(out, (uint32_t)id);
}

void vprof_write_timings(const struct vprof_out *out)
{
	put_token(out, TOKEN_TIMINGS);
}

void vprof_write_timing(const struct vprof_out *out, uint32_t calls, uint32_t units)
{
	uint8_t bytes[TIMING_MAX], *p = bytes;

	*p++ = (uint8_t)MIN(calls, 255u);
	if (calls >= 255)
		p = add_u16(p, MIN(calls, VPROF_CALLS_MAX));
	p = add_u16(p, MIN(units, 0xffffu));
	if (units >= 0xffff)
		p = add_u32(p, units);
	out->put(out->userdata, bytes, (size_t)(p - bytes));
}

void vprof_write_frame_end(const struct vprof_out *out)
{
	put_token(out, TOKEN_END);
}
