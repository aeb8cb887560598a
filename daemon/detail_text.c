// SPDX-License-Identifier: MIT
/* The JSON of a detail_set, as a session's row keeps it. */
#include "detail_set.h"

#include "stack_trace.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

static json_t *text_of(const char *s)
{
	return json_stringn(s, strlen(s));
}

static json_t *node_json(const struct detail_node *node)
{
	json_t *path = json_array();
	size_t i;

	for (i = 0; path && i < node->count; i++)
		if (json_array_append_new(path, text_of(node->names[i])) < 0) {
			json_decref(path);
			return NULL;
		}
	return path ? json_pack("{s:o, s:i}", "path", path, "level", node->level) : NULL;
}

char *detail_set_text(const struct detail_set *set)
{
	json_t *levels = json_array(), *masks = json_array(), *root;
	bool ok = levels && masks;
	char *text;
	size_t i;

	for (i = 0; ok && i < set->nodes.count; i++)
		ok = json_array_append_new(levels, node_json(&set->nodes.at[i])) == 0;
	for (i = 0; ok && i < set->masks.count; i++)
		ok = json_array_append_new(masks, text_of(set->masks.at[i])) == 0;
	root = ok ? json_pack("{s:O, s:O, s:b}", "levels", levels, "masks", masks, "allocations",
			      set->allocations)
		  : NULL;
	if (root && set->has_sampling &&
	    json_object_set_new(root, "sampling_hz", json_integer(set->sampling_hz)) < 0) {
		json_decref(root);
		root = NULL;
	}
	text = root ? json_dumps(root, JSON_COMPACT) : NULL;
	json_decref(root);
	json_decref(levels);
	json_decref(masks);
	return text;
}

/* False: it is none. */
static bool take_path(const json_t *array, struct detail_path *path)
{
	size_t i;

	path->count = json_array_size(array);
	if (!json_is_array(array) || path->count > DETAIL_PATH_MAX)
		return false;
	for (i = 0; i < path->count; i++) {
		path->names[i] = json_string_value(json_array_get(array, i));
		if (!path->names[i])
			return false;
	}
	return true;
}

static int take_level(struct detail_set *set, const json_t *v)
{
	const json_t *level = json_object_get(v, "level");
	json_int_t n = json_integer_value(level);
	struct detail_path path;
	int r;

	if (!json_is_integer(level) || n < 0 || n >= FPROF_LEVELS ||
	    !take_path(json_object_get(v, "path"), &path))
		return 0;
	r = detail_set_level(set, &path, (int)n);
	return r == -ENOMEM ? r : 0;
}

static int take_mask(struct detail_set *set, const json_t *v)
{
	const char *category = json_string_value(v);
	int r = category ? detail_set_mask(set, category, true) : 0;

	return r == -ENOMEM ? r : 0;
}

int detail_set_parse(const char *text, struct detail_set *ret_set)
{
	json_t *root = text ? json_loads(text, 0, NULL) : NULL;
	const json_t *levels = json_object_get(root, "levels");
	const json_t *masks = json_object_get(root, "masks");
	const json_t *sampling = json_object_get(root, "sampling_hz");
	json_int_t hz = json_integer_value(sampling);
	size_t i;
	int r = 0;

	*ret_set = (struct detail_set){
		.allocations = json_is_true(json_object_get(root, "allocations")),
		.has_sampling = json_is_integer(sampling) && hz >= 0 && hz <= SAMPLING_HZ_MAX,
	};
	ret_set->sampling_hz = ret_set->has_sampling ? (uint32_t)hz : 0;
	for (i = 0; i < json_array_size(levels) && r == 0; i++)
		r = take_level(ret_set, json_array_get(levels, i));
	for (i = 0; i < json_array_size(masks) && r == 0; i++)
		r = take_mask(ret_set, json_array_get(masks, i));
	json_decref(root);
	if (r < 0)
		detail_set_deinit(ret_set);
	return r;
}
