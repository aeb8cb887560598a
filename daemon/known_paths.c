// SPDX-License-Identifier: MIT
/*
 * Names are rows; what stands below what is only in the events. The search walks the events of the
 * threads that have the path's first name, and keeps how many names of the path are open below each
 * other; the deepest that it came to is where the first unknown name would have to stand, and all
 * zones seen there are its neighbours.
 */
#include "known_paths.h"

#include "history_impl.h"
#include "range.h"
#include "rows.h"
#include "sql.h"

#include <errno.h>
#include <string.h>

#define FRAMES	  600
#define STEPS_MAX 100000u /* of cutting a text */
#define FOUND	  (-ECANCELED)

struct known_paths {
	struct history *h;
	uint64_t session;
	history_tracks_vec tracks;
	VEC(struct marker_row) markers;
	VEC(const char *) categories; /* into markers */
};

static bool is_zone(const struct marker_row *m)
{
	return m->kind <= FPROF_MARKER_WAIT_CAP && m->name;
}

static int add_category(struct known_paths *known, const char *category)
{
	if (!category || !*category || known_paths_category(known, category))
		return 0;
	return VEC_PUSH(&known->categories, category);
}

static int read_markers(struct known_paths *known)
{
	int64_t id = (int64_t)known->session;
	sqlite3_stmt *stmt = history_ask(known->h, HISTORY_MARKERS, &id, 1);
	struct marker_row marker;
	int r;

	while ((r = rows_marker_next(stmt, &marker)) == 1) {
		r = VEC_PUSH(&known->markers, marker);
		if (r < 0)
			marker_row_deinit(&marker);
		else
			r = add_category(known, marker.category);
		if (r < 0)
			break;
	}
	sqlite3_reset(stmt);
	return MIN(r, 0);
}

int known_paths_open(struct history *h, uint64_t session, struct known_paths **ret_known)
{
	struct known_paths *known = calloc(1, sizeof(*known));
	int r;

	if (!known)
		return -ENOMEM;
	known->h = h;
	known->session = session;
	r = history_tracks(h, session, &known->tracks);
	if (r == 0)
		r = read_markers(known);
	if (r < 0) {
		known_paths_close(known);
		return r;
	}
	*ret_known = known;
	return 0;
}

void known_paths_close(struct known_paths *known)
{
	size_t i;

	if (!known)
		return;
	for (i = 0; i < known->tracks.count; i++)
		free(known->tracks.at[i].name);
	for (i = 0; i < known->markers.count; i++)
		marker_row_deinit(&known->markers.at[i]);
	VEC_FREE(&known->tracks);
	VEC_FREE(&known->markers);
	VEC_FREE(&known->categories);
	free(known);
}

static bool is_named(const struct track_row *track, const char *name)
{
	return track->kind != TRACK_GPU_QUEUE && track->name && !strcmp(track->name, name);
}

bool known_paths_thread(const struct known_paths *known, const char *name)
{
	size_t i;

	for (i = 0; i < known->tracks.count; i++)
		if (is_named(&known->tracks.at[i], name))
			return true;
	return false;
}

bool known_paths_zone(const struct known_paths *known, const char *name)
{
	size_t i;

	for (i = 0; i < known->markers.count; i++)
		if (is_zone(&known->markers.at[i]) && !strcmp(known->markers.at[i].name, name))
			return true;
	return false;
}

bool known_paths_category(const struct known_paths *known, const char *name)
{
	size_t i;

	for (i = 0; i < known->categories.count; i++)
		if (!strcmp(known->categories.at[i], name))
			return true;
	return false;
}

const char *known_paths_category_at(const struct known_paths *known, size_t i)
{
	return i < known->categories.count ? known->categories.at[i] : NULL;
}

void known_paths_near_category(const struct known_paths *known, const char *name,
			       struct near *ret_near)
{
	size_t i;

	*ret_near = (struct near){0};
	for (i = 0; i < known->categories.count; i++)
		near_offer(ret_near, name, known->categories.at[i]);
}

/* ---- what stands below what ---- */

struct search {
	const struct known_paths *known;
	const struct detail_path *path;
	const struct range *range;
	struct known_place *place;
	size_t open;   /* zones of the path that are open, one below the other */
	bool *offered; /* by marker: it is among the neighbours */
};

/* A name of the range's own, that outlives it: the known one that is equal. */
static const char *lasting(const struct search *s, uint32_t marker)
{
	size_t i;

	for (i = 0; i < s->known->markers.count; i++)
		if (s->known->markers.at[i].marker == marker)
			return s->known->markers.at[i].name;
	return NULL;
}

static int on_track(void *userdata, size_t index, const struct track_row *track)
{
	struct search *s = userdata;

	(void)index;
	s->open = 0;
	return is_named(track, s->path->names[0]) ? 0 : 1;
}

static void offer(struct search *s, uint32_t marker)
{
	if (s->offered[marker])
		return;
	s->offered[marker] = true;
	near_offer(&s->place->near, s->path->names[s->place->depth], lasting(s, marker));
}

static int on_begin(void *userdata, uint32_t marker, int64_t t, uint32_t depth)
{
	struct search *s = userdata;
	const char *name =
		marker < s->range->markers.count ? s->range->markers.at[marker].name : NULL;

	(void)t;
	s->place->seen = true;
	if (!name || depth != s->open)
		return 0;
	if (strcmp(name, s->path->names[1 + s->open]) != 0) {
		if (s->open + 1 == s->place->depth)
			offer(s, marker);
		return 0;
	}
	s->open++;
	if (s->open + 1 > s->place->depth) {
		s->place->depth = s->open + 1;
		s->place->near = (struct near){0};
		memset(s->offered, 0, s->range->markers.count * sizeof(*s->offered));
	}
	return s->open + 1 == s->path->count ? FOUND : 0;
}

static int on_end(void *userdata, const struct range_zone *zone)
{
	struct search *s = userdata;

	s->open = MIN(s->open, (size_t)zone->depth);
	return 0;
}

static int walk(struct known_paths *known, const struct detail_path *path,
		const struct range *range, struct known_place *place)
{
	struct search search = {.known = known, .path = path, .range = range, .place = place};
	const struct range_visitor visitor = {.userdata = &search,
					      .no_texts = true,
					      .track = on_track,
					      .begin = on_begin,
					      .end = on_end};
	int r = -ENOMEM;

	search.offered = calloc(range->markers.count + 1, sizeof(*search.offered));
	if (search.offered)
		r = range_visit(known->h, range, &visitor);
	free(search.offered);
	return r == FOUND ? 0 : r;
}

static void offer_all(const struct known_paths *known, const struct detail_path *path,
		      struct known_place *place)
{
	const char *word = path->names[place->depth];
	size_t i;

	for (i = 0; place->depth == 0 && i < known->tracks.count; i++)
		if (known->tracks.at[i].kind != TRACK_GPU_QUEUE)
			near_offer(&place->near, word, known->tracks.at[i].name);
	for (i = 0; place->depth > 0 && i < known->markers.count; i++)
		if (is_zone(&known->markers.at[i]))
			near_offer(&place->near, word, known->markers.at[i].name);
}

int known_paths_find(struct known_paths *known, const struct detail_path *path,
		     struct known_place *ret_place)
{
	const struct range_query query = {.last = FRAMES};
	struct range range = {0};
	int r = 0;

	*ret_place = (struct known_place){0};
	if (path->count == 0)
		return 0;
	ret_place->depth = known_paths_thread(known, path->names[0]) ? 1 : 0;
	if (ret_place->depth == 1 && path->count > 1) {
		r = range_open(known->h, known->session, &query, &range);
		if (r == 0)
			r = walk(known, path, &range, ret_place);
		range_close(&range);
	}
	if (r == -ENOENT) /* no frames */
		r = 0;
	if (r == 0 && ret_place->depth < path->count && ret_place->near.count == 0)
		offer_all(known, path, ret_place);
	return r;
}

/* ---- a path as one text ---- */

struct cut {
	const struct known_paths *known;
	char *text;
	size_t starts[DETAIL_PATH_MAX], count; /* of the parts so far */
	size_t found[DETAIL_PATH_MAX], found_count;
	unsigned ways, steps;
};

static bool is_known(const struct cut *c, const char *name)
{
	return c->count == 0 ? known_paths_thread(c->known, name)
			     : known_paths_zone(c->known, name);
}

/* Tries all ways to cut what begins at from. */
static void cut_from(struct cut *c, size_t from)
{
	char *end = c->text + from;
	char was;

	while (c->count < DETAIL_PATH_MAX && c->ways < 2 && c->steps++ < STEPS_MAX) {
		end += strcspn(end, "/");
		was = *end;
		*end = '\0';
		if (is_known(c, c->text + from)) {
			c->starts[c->count++] = from;
			if (was) {
				*end = was;
				cut_from(c, (size_t)(end - c->text) + 1);
				*end = '\0';
			} else if (c->ways++ == 0) {
				memcpy(c->found, c->starts, sizeof(c->found));
				c->found_count = c->count;
			}
			c->count--;
		}
		*end = was;
		if (!was)
			break;
		end++;
	}
}

static int cut_everywhere(struct cut *c)
{
	size_t at = 0;

	for (;;) {
		if (c->found_count == DETAIL_PATH_MAX)
			return -E2BIG;
		c->found[c->found_count++] = at;
		at += strcspn(c->text + at, "/");
		if (!c->text[at])
			return 0;
		at++;
	}
}

int known_paths_split(const struct known_paths *known, const char *text,
		      struct detail_path *ret_path, char **ret_copy)
{
	struct cut cut = {.known = known, .text = strdup(text)};
	size_t i;
	int r = 0;

	if (!cut.text)
		return -ENOMEM;
	cut_from(&cut, 0);
	if (cut.ways > 1)
		r = -EEXIST;
	else if (cut.ways == 0)
		r = cut_everywhere(&cut);
	if (r < 0) {
		free(cut.text);
		return r;
	}
	ret_path->count = cut.found_count;
	for (i = 0; i < cut.found_count; i++) {
		ret_path->names[i] = cut.text + cut.found[i];
		if (cut.found[i] > 0)
			cut.text[cut.found[i] - 1] = '\0';
	}
	*ret_copy = cut.text;
	return 0;
}
