/* SPDX-License-Identifier: MIT */
/*
 * The SQL that a body brings: as it is, or in {"sql": ..., "params": [...]}. Pure; any bytes.
 */
#ifndef FPROF_DAEMON_QUERY_BODY_H
#define FPROF_DAEMON_QUERY_BODY_H

#include <stddef.h>

/*
 * 0: *ret_sql and *ret_params (JSON; NULL: none) are the caller's to free. -EBADMSG: neither, why
 * (160 bytes) says what is wrong; -ENOMEM.
 */
int query_body_parse(const char *body, size_t bytes, char **ret_sql, char **ret_params, char *why);
/* Is it a JSON array or object of null, booleans, numbers and texts? 0, -EBADMSG, -ENOMEM. */
int query_body_check_params(const char *text);

#endif
