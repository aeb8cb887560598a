// SPDX-License-Identifier: MIT
/* SQL never begins with a brace, JSON with members does: that tells them apart. */
#include "query_body.h"

#include "util.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <string.h>

#define WHY 160

static void put_json(json_t **json)
{
	json_decref(*json);
}
#define _cleanup_jansson_ __attribute__((cleanup(put_json)))

static bool is_plain(const json_t *value)
{
	return value && !json_is_object(value) && !json_is_array(value);
}

static bool are_plain(const json_t *params)
{
	const char *name;
	json_t *value;
	size_t i;

	if (json_is_array(params)) {
		json_array_foreach(params, i, value)
		{
			if (!is_plain(value))
				return false;
		}
		return true;
	}
	json_object_foreach((json_t *)params, name, value)
	{
		if (!is_plain(value))
			return false;
	}
	return json_is_object(params);
}

int query_body_check_params(const char *text)
{
	json_error_t error;
	_cleanup_jansson_ json_t *params = json_loads(text, JSON_REJECT_DUPLICATES, &error);

	if (!params && json_error_code(&error) == json_error_out_of_memory)
		return -ENOMEM;
	return params && are_plain(params) ? 0 : -EBADMSG;
}

static int take_members(json_t *root, char **ret_sql, char **ret_params, char *why)
{
	json_t *sql = json_object_get(root, "sql"), *params = json_object_get(root, "params");
	const char *name;
	json_t *value;

	json_object_foreach(root, name, value)
	{
		if (value == sql || value == params)
			continue;
		snprintf(why, WHY, "the body has a member \"%.40s\"; sql and params are known",
			 name);
		return -EBADMSG;
	}
	if (!json_is_string(sql)) {
		snprintf(why, WHY, "the body has no text \"sql\"");
		return -EBADMSG;
	}
	if (params && !are_plain(params)) {
		snprintf(
			why, WHY,
			"\"params\" is an array or an object of null, booleans, numbers and texts");
		return -EBADMSG;
	}
	*ret_params = params ? json_dumps(params, JSON_COMPACT) : NULL;
	*ret_sql = strdup(json_string_value(sql));
	if (*ret_sql && (!params || *ret_params))
		return 0;
	free(*ret_sql);
	free(*ret_params);
	return -ENOMEM;
}

static int parse_json(const char *body, size_t bytes, char **ret_sql, char **ret_params, char *why)
{
	json_error_t error;
	_cleanup_jansson_ json_t *root = json_loadb(body, bytes, JSON_REJECT_DUPLICATES, &error);

	if (root)
		return take_members(root, ret_sql, ret_params, why);
	snprintf(why, WHY, "the body is no JSON: line %d, column %d: %.80s", error.line,
		 error.column, error.text);
	return json_error_code(&error) == json_error_out_of_memory ? -ENOMEM : -EBADMSG;
}

int query_body_parse(const char *body, size_t bytes, char **ret_sql, char **ret_params, char *why)
{
	_cleanup_jansson_ json_t *text = NULL;
	size_t blank = 0;

	while (blank < bytes && isspace((unsigned char)body[blank]))
		blank++;
	if (blank < bytes && body[blank] == '{')
		return parse_json(body, bytes, ret_sql, ret_params, why);
	text = json_stringn(body, bytes);
	if (!text || memchr(body, '\0', bytes)) {
		snprintf(why, WHY, "the body is no text in UTF-8");
		return -EBADMSG;
	}
	*ret_params = NULL;
	*ret_sql = strndup(body, bytes);
	return *ret_sql ? 0 : -ENOMEM;
}
