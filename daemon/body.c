// SPDX-License-Identifier: MIT
/* Texts that hold a NUL are refused by the parser, so that none is cut short. No state; any thread.
 */
#include "body.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

struct body {
	json_t *root;
};

int body_parse(const char *text, size_t bytes, struct body **ret_body, int *ret_line,
	       int *ret_column)
{
	json_error_t error = {0};
	json_t *root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &error);
	struct body *body;

	if (!root) {
		*ret_line = error.line;
		*ret_column = error.column;
		return json_error_code(&error) == json_error_out_of_memory ? -ENOMEM : -EBADMSG;
	}
	body = json_is_object(root) ? malloc(sizeof(*body)) : NULL;
	if (!body) {
		int r = json_is_object(root) ? -ENOMEM : -EINVAL;

		json_decref(root);
		return r;
	}
	body->root = root;
	*ret_body = body;
	return 0;
}

void body_free(struct body *body)
{
	if (!body)
		return;
	json_decref(body->root);
	free(body);
}

static bool among(const char *name, const char *const *known)
{
	for (; *known; known++)
		if (!strcmp(name, *known))
			return true;
	return false;
}

const char *body_unknown(const struct body *body, const char *const *known)
{
	const char *name;
	json_t *value;

	json_object_foreach(body->root, name, value)
	{
		if (!among(name, known))
			return name;
	}
	return NULL;
}

enum body_kind body_kind(const struct body *body, const char *name)
{
	const json_t *v = json_object_get(body->root, name);

	if (!v)
		return BODY_ABSENT;
	switch (json_typeof(v)) {
	case JSON_OBJECT:
		return BODY_OBJECT;
	case JSON_ARRAY:
		return BODY_ARRAY;
	case JSON_STRING:
		return BODY_TEXT;
	case JSON_INTEGER:
		return BODY_INTEGER;
	case JSON_REAL:
		return BODY_REAL;
	case JSON_NULL:
		return BODY_NULL;
	default:
		return BODY_BOOL;
	}
}

const char *body_text(const struct body *body, const char *name)
{
	return json_string_value(json_object_get(body->root, name));
}

int64_t body_integer(const struct body *body, const char *name)
{
	return json_integer_value(json_object_get(body->root, name));
}

double body_number(const struct body *body, const char *name)
{
	return json_number_value(json_object_get(body->root, name));
}

bool body_bool(const struct body *body, const char *name)
{
	return json_is_true(json_object_get(body->root, name));
}

long body_texts(const struct body *body, const char *name, const char **ret, size_t max)
{
	const json_t *array = json_object_get(body->root, name);
	size_t i, count = json_array_size(array);

	if (!json_is_array(array))
		return -EINVAL;
	if (count > max)
		return -E2BIG;
	for (i = 0; i < count; i++) {
		ret[i] = json_string_value(json_array_get(array, i));
		if (!ret[i])
			return -EINVAL;
	}
	return (long)count;
}
