/* SPDX-License-Identifier: MIT */
/* Asking the daemon: one connection to its HTTP API, over its Unix socket or TCP. */
#ifndef FPROF_TOOL_API_H
#define FPROF_TOOL_API_H

#include "tool.h"

#include <jansson.h>
#include <stdio.h>

struct api;

/*
 * Finds the daemon. Returns TOOL_OK and *ret_api (api_free), or the exit code after saying why:
 * TOOL_UNAVAILABLE where no daemon's socket answers, TOOL_CONFIG for a token file that cannot be
 * read.
 */
int api_new(const struct tool_options *options, struct api **ret_api);
void api_free(struct api *api); /* NULL is fine */

/*
 * Sends method ("GET", "PUT", ...) to path ("/api/v1/...") with a JSON body (NULL: none; not taken
 * over). Returns TOOL_OK and *ret_json (may be NULL), a new reference; or says why not (the
 * daemon's problem+json is quoted) and returns TOOL_USAGE where it was asked wrongly, TOOL_FAILED
 * where the daemon refused, TOOL_UNAVAILABLE where it did not answer.
 */
int api_send(struct api *api, const char *method, const char *path, const json_t *body,
	     json_t **ret_json);
/* GETs path without a word. */
int api_get_quiet(struct api *api, const char *path, json_t **ret_json);

/* GETs path into an open file. As api_send; what the file could not hold is said. The request may
 * take as long as bytes come. */
int api_download(struct api *api, const char *path, FILE *to);
/* POSTs a whole file to path. As api_send. */
int api_upload(struct api *api, const char *path, FILE *from, json_t **ret_json);

/* The daemon that games of this environment find, for questions that may take 300 ms; NULL where
 * none answers. Without a word. */
struct api *api_new_brief(void);

/* Does anybody accept games where one of this environment would connect: a daemon, or a service
 * manager that starts it then? Without a word. */
bool api_daemon_waits(void);

/* text with all but unreserved characters percent-encoded, malloc()ed; NULL: no memory. */
char *api_escape(const char *text);

/* An array's texts in one, malloc()ed; NULL: no memory. */
char *api_join(const json_t *texts, const char *between);

/* The directory whose http.sock was found, "" with --url. Valid as long as api. */
const char *api_directory(const struct api *api);
/* --url's address, "" over a Unix socket. Valid as long as api. */
const char *api_url(const struct api *api);

void api_freep(struct api **api);
void api_json_freep(json_t **json);
#define _cleanup_api_  __attribute__((cleanup(api_freep)))
#define _cleanup_json_ __attribute__((cleanup(api_json_freep)))

#endif
