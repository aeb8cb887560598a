/* SPDX-License-Identifier: MIT */
/*
 * A request's body: a JSON object, taken apart once. (Where its values are looked at json.h cannot
 * be included: both it and jansson have names of the same spelling.)
 */
#ifndef FPROF_DAEMON_BODY_H
#define FPROF_DAEMON_BODY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct body;

enum body_kind {
	BODY_ABSENT = 0,
	BODY_NULL,
	BODY_BOOL,
	BODY_INTEGER,
	BODY_REAL,
	BODY_TEXT,
	BODY_ARRAY,
	BODY_OBJECT,
};

/* 0; -EBADMSG: no JSON, *ret_line and *ret_column say where; -EINVAL: no object; -ENOMEM. */
int body_parse(const char *text, size_t bytes, struct body **ret_body, int *ret_line,
	       int *ret_column);
void body_free(struct body *body); /* NULL is fine */

/* A member that is none of known (NULL-terminated), or NULL. Lives as long as the body. */
const char *body_unknown(const struct body *body, const char *const *known);
enum body_kind body_kind(const struct body *body, const char *name);
/* The value of a member that is of that kind; else NULL, 0 and false. */
const char *body_text(const struct body *body, const char *name);
int64_t body_integer(const struct body *body, const char *name);
/* Of a whole number or a real one. */
double body_number(const struct body *body, const char *name);
bool body_bool(const struct body *body, const char *name);
/* An array's texts into ret, max at most: how many, or -EINVAL (no array, or not of texts), -E2BIG
 * (more than max). */
long body_texts(const struct body *body, const char *name, const char **ret, size_t max);

#endif
