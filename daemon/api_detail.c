// SPDX-License-Identifier: MIT
/*
 * Levels of detail by path, and masked categories. Every reading says apart what sits on a node
 * (`own`) and what holds there (`in_force`), and from which node that comes.
 *
 * A path is there when the history shows it. Where a level above it, or the lack of any events of
 * its thread, may be why it is not shown, its names alone have to be known.
 */
#include "api_body.h"
#include "control_set.h"
#include "known_paths.h"

#include <errno.h>
#include <string.h>

/* One request: the session, what it is known to have, what is ordered of it. */
struct detail_request {
	const struct api *api;
	const struct api_request *q;
	struct api_answer *a;
	struct history_session session;
	struct api_reader reader;
	struct known_paths *known;
	struct detail_set detail;
	bool live;
	struct detail_path path;
	char *copy; /* that path's names may point into */
	bool has_path;
};

static void request_release(struct detail_request *d)
{
	known_paths_close(d->known);
	detail_set_deinit(&d->detail);
	history_session_deinit(&d->session);
	api_reader_release(&d->reader);
	free(d->copy);
}
#define _cleanup_request_ __attribute__((cleanup(request_release)))

/* What is ordered now; of a session that has ended, what was last. */
static int read_detail(struct detail_request *d)
{
	int r;

	detail_set_deinit(&d->detail);
	r = control_set_detail(drain_controls(d->api->context->drain), d->session.row.id,
			       &d->detail);
	d->live = r == 0;
	return r == -ENOENT ? detail_set_parse(d->session.update.detail, &d->detail) : r;
}

static bool request_open(struct detail_request *d)
{
	int r;

	if (!api_open_session(d->api, d->q, d->a, &d->reader, &d->session))
		return false;
	r = read_detail(d);
	if (r == 0)
		r = known_paths_open(d->reader.history, d->session.row.id, &d->known);
	if (r < 0)
		api_fail_history(d->a, r, "session");
	return r == 0;
}

/* ---- answers ---- */

static void json_path(struct json *j, const char *key, const char *const *names, size_t count)
{
	size_t i;

	json_key(j, key);
	json_array_begin(j);
	for (i = 0; i < count; i++)
		json_string(j, names[i]);
	json_array_end(j);
}

static void json_level(struct json *j, const char *key, int level)
{
	json_key(j, key);
	if (level == DETAIL_CLEAR)
		json_null(j);
	else
		json_int(j, level);
}

static void json_node(struct json *j, const struct detail_set *set, const struct detail_path *path)
{
	struct detail_reading reading;

	detail_set_read(set, path, &reading);
	json_object_begin(j);
	json_path(j, "path", path->names, path->count);
	json_level(j, "own", reading.own);
	json_level(j, "in_force", reading.in_force);
	if (reading.from) {
		json_path(j, "from", (const char *const *)reading.from->names, reading.from->count);
	} else {
		json_key(j, "from");
		json_null(j);
	}
	json_object_end(j);
}

static void json_nodes(struct json *j, const struct detail_set *set)
{
	struct detail_path path;
	size_t i;

	json_key(j, "levels");
	json_array_begin(j);
	for (i = 0; i < set->nodes.count; i++) {
		path.count = set->nodes.at[i].count;
		memcpy(path.names, set->nodes.at[i].names, path.count * sizeof(*path.names));
		json_node(j, set, &path);
	}
	json_array_end(j);
}

static void json_category(struct json *j, const char *name, bool masked)
{
	json_object_begin(j);
	json_member_string(j, "category", name);
	json_member_bool(j, "masked", masked);
	json_object_end(j);
}

/* Those that the session has, and masked ones that it does not (any more). */
static void json_categories(struct json *j, const struct detail_request *d)
{
	const char *name;
	size_t i;

	json_key(j, "categories");
	json_array_begin(j);
	for (i = 0; (name = known_paths_category_at(d->known, i)); i++)
		json_category(j, name, detail_set_is_masked(&d->detail, name));
	for (i = 0; i < d->detail.masks.count; i++)
		if (!known_paths_category(d->known, d->detail.masks.at[i]))
			json_category(j, d->detail.masks.at[i], true);
	json_array_end(j);
}

static void answer(struct detail_request *d)
{
	static const struct detail_path root = {.count = 0};
	struct detail_reading all;
	struct json *j = &d->a->body;

	detail_set_read(&d->detail, &root, &all);
	json_object_begin(j);
	json_member_uint(j, "session", d->session.row.id);
	json_member_bool(j, "live", d->live);
	json_member_int(j, "default", all.in_force);
	json_nodes(j, &d->detail);
	json_categories(j, d);
	json_key(j, "node");
	if (d->has_path)
		json_node(j, &d->detail, &d->path);
	else
		json_null(j);
	json_object_end(j);
}

/* ---- paths ---- */

static void fail_path(struct detail_request *d, const struct known_place *place)
{
	const struct api_problem problem = {404, "unknown-path",
					    "There is no such path in the session", "path",
					    place->near.names};
	char where[256] = "";
	size_t i, used = 0;

	for (i = 0; i < place->depth && used < sizeof(where); i++)
		used += (size_t)snprintf(where + used, sizeof(where) - used, "%s\"%.40s\"",
					 i ? " > " : "", d->path.names[i]);
	if (place->depth == 0)
		api_fail(d->a, &problem, "There is no thread or fiber \"%.100s\"",
			 d->path.names[0]);
	else
		api_fail(d->a, &problem, "There is no zone \"%.100s\" below %s",
			 d->path.names[place->depth], where);
}

static bool names_known(const struct detail_request *d)
{
	size_t i;

	for (i = 0; i < d->path.count; i++)
		if (!(i ? known_paths_zone(d->known, d->path.names[i])
			: known_paths_thread(d->known, d->path.names[i])))
			return false;
	return true;
}

/* May the path be there, though the history does not show it? */
static bool may_be_hidden(const struct detail_request *d, const struct known_place *place)
{
	struct detail_path above = d->path;
	struct detail_reading reading;
	bool hidden = !place->seen || d->detail.masks.count > 0;

	while (!hidden && above.count > 0) {
		above.count--;
		detail_set_read(&d->detail, &above, &reading);
		hidden = reading.in_force < FPROF_LEVEL_INNER;
	}
	return hidden && names_known(d);
}

/* Is there such a path? A node that has a level of its own is, whatever the history shows. */
static bool check_path(struct detail_request *d)
{
	struct detail_reading reading;
	struct known_place place;
	int r;

	detail_set_read(&d->detail, &d->path, &reading);
	if (d->path.count == 0 || reading.own != DETAIL_CLEAR)
		return true;
	r = known_paths_find(d->known, &d->path, &place);
	if (r < 0) {
		api_fail_history(d->a, r, "path");
		return false;
	}
	if (place.depth == d->path.count || may_be_hidden(d, &place))
		return true;
	fail_path(d, &place);
	return false;
}

static const char *const path_allowed[] = {
	"an array of at most 32 names, the thread's first",
	"these names with / between them, where that is unambiguous", NULL};

static bool split_path(struct detail_request *d, const char *text)
{
	static const struct api_problem ambiguous = {
		400, "ambiguous-path", "The path can be read in more than one way", "path", NULL};
	int r = known_paths_split(d->known, text, &d->path, &d->copy);

	if (r == -EEXIST)
		api_fail(d->a, &ambiguous, "Names of this session hold slashes: send an array");
	else if (r == -E2BIG)
		api_fail_member(d->a, "path", path_allowed);
	else if (r < 0)
		api_fail_history(d->a, r, "path");
	return r == 0;
}

/* ---- the routes ---- */

static bool take_query_path(struct detail_request *d)
{
	const struct route_request *route = &d->q->route;
	unsigned i;

	d->has_path = route->count > 0;
	if (route->count == 1)
		return split_path(d, route->params[0].value) && check_path(d);
	if (route->count > DETAIL_PATH_MAX) {
		api_fail_parameter(d->a, "path", "...", path_allowed);
		return false;
	}
	for (i = 0; i < route->count; i++)
		d->path.names[d->path.count++] = route->params[i].value;
	return !d->has_path || check_path(d);
}

void api_detail(const struct api *api, const struct api_request *q, struct api_answer *a)
{
	_cleanup_request_ struct detail_request d = {.api = api, .q = q, .a = a};

	if (request_open(&d) && take_query_path(&d))
		answer(&d);
}

static bool take_body_path(struct detail_request *d, const struct body *body)
{
	const char *text = body_text(body, "path");
	long count;

	d->has_path = true;
	if (text)
		return split_path(d, text);
	count = body_texts(body, "path", d->path.names, DETAIL_PATH_MAX);
	if (count < 0) {
		api_fail_member(d->a, "path", path_allowed);
		return false;
	}
	d->path.count = (size_t)count;
	return true;
}

static bool take_body_level(struct detail_request *d, const struct body *body, int *ret_level)
{
	static const char *const allowed[] = {"0", "1", "2", "null", NULL};
	enum body_kind kind = body_kind(body, "level");
	int64_t level = body_integer(body, "level");

	if (kind == BODY_NULL) {
		*ret_level = DETAIL_CLEAR;
		return true;
	}
	if (kind != BODY_INTEGER || level < 0 || level >= FPROF_LEVELS) {
		api_fail_member(d->a, "level", allowed);
		return false;
	}
	*ret_level = (int)level;
	return true;
}

static void order_failed(struct detail_request *d, int error)
{
	static const struct api_problem full = {
		409, "too-many-levels", "Too many nodes have levels of their own", NULL, NULL};

	if (error == -ENOSPC)
		api_fail(d->a, &full, "At most %u nodes may, and %u categories may be masked",
			 DETAIL_NODES_MAX, DETAIL_MASKS_MAX);
	else if (error == -ENOENT)
		api_fail_not_live(d->a, d->session.row.id);
	else
		api_fail_history(d->a, error, "session");
}

/* 0, or -errno and the answer is filled. */
static int order_level(struct detail_request *d, const struct body *body)
{
	int level = DETAIL_CLEAR, r;

	if (!take_body_path(d, body) || !take_body_level(d, body, &level))
		return -EINVAL;
	if (!d->live) {
		order_failed(d, -ENOENT);
		return -ENOENT;
	}
	if (!check_path(d))
		return -EINVAL;
	r = control_set_level(drain_controls(d->api->context->drain), d->session.row.id, &d->path,
			      level);
	if (r < 0)
		order_failed(d, r);
	return r;
}

static bool check_category(struct detail_request *d, const char *name)
{
	struct near near;
	const struct api_problem problem = {404, "unknown-category",
					    "There is no such category in the session", "category",
					    near.names};

	if (known_paths_category(d->known, name) || detail_set_is_masked(&d->detail, name))
		return true;
	known_paths_near_category(d->known, name, &near);
	api_fail(d->a, &problem, "There is no category \"%.100s\"", name);
	return false;
}

static int order_mask(struct detail_request *d, const struct body *body)
{
	static const char *const texts[] = {"a category's name", NULL};
	static const char *const flags[] = {"true", "false", NULL};
	const char *name = body_text(body, "category");
	int r;

	if (!name || !*name) {
		api_fail_member(d->a, "category", texts);
		return -EINVAL;
	}
	if (body_kind(body, "masked") != BODY_BOOL) {
		api_fail_member(d->a, "masked", flags);
		return -EINVAL;
	}
	if (!d->live) {
		order_failed(d, -ENOENT);
		return -ENOENT;
	}
	if (!check_category(d, name))
		return -EINVAL;
	r = control_set_mask(drain_controls(d->api->context->drain), d->session.row.id, name,
			     body_bool(body, "masked"));
	if (r < 0)
		order_failed(d, r);
	return r;
}

/* Either of the two forms. */
static int order(struct detail_request *d, const struct body *body)
{
	static const struct api_problem both = {400, "bad-body",
						"The body is not what it should be", NULL, NULL};
	bool path = body_kind(body, "path") != BODY_ABSENT;
	bool level = body_kind(body, "level") != BODY_ABSENT;
	bool category = body_kind(body, "category") != BODY_ABSENT;
	bool masked = body_kind(body, "masked") != BODY_ABSENT;

	if (path && level && !category && !masked)
		return order_level(d, body);
	if (category && masked && !path && !level)
		return order_mask(d, body);
	api_fail(d->a, &both, "The body has either path and level, or category and masked");
	return -EINVAL;
}

void api_detail_set(const struct api *api, const struct api_request *q, struct api_answer *a)
{
	static const char *const known[] = {"path", "level", "category", "masked", NULL};
	_cleanup_request_ struct detail_request d = {.api = api, .q = q, .a = a};
	_cleanup_body_ struct body *body = NULL;
	int r;

	if (!request_open(&d) || !api_body(q, a, known, &body) || order(&d, body) < 0)
		return;
	r = read_detail(&d);
	if (r < 0)
		api_fail_history(a, r, "session");
	else
		answer(&d);
}
