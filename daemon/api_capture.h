/* SPDX-License-Identifier: MIT */
/*
 * What is the same wherever captures are made: saved, uploaded, imported, exported, taken as
 * snapshots.
 */
#ifndef FPROF_DAEMON_API_CAPTURE_H
#define FPROF_DAEMON_API_CAPTURE_H

#include "api.h"

#define API_NAME_BYTES_MAX 256

/* What a name may be, for api_fail_*. */
extern const char *const api_capture_names[];

/* For a negative errno of captures.h: 404, 507 captures-full and no-space, 503. */
void api_fail_capture(struct api_answer *a, int error);
/* The parameter name, NULL where it is not given. False after filling the answer. */
bool api_capture_name(const struct api_request *q, struct api_answer *a, const char **ret_name);
/* Whose a file that comes in becomes: the caller's, the daemon's if the caller may see all. */
uint32_t api_capture_owner(const struct api_request *q);
/* What a browser saves the answer as: whole characters of name, as many as there is room for,
 * without what no path can have, and the ending. */
void api_name_file(struct api_answer *a, const char *name, const char *ending);

/* Another thing that the answer lacks: in the header Fprof-Lost, after what is there. */
__attribute__((format(printf, 2, 3))) void api_say_lost(struct api_answer *a, const char *format,
							...);
/* Frames from `from` to `to` were asked for (0: no end was named), first to last are there, and of
 * evicted ones among them there are no events any more: says so in the header Fprof-Lost. */
void api_say_evicted(struct api_answer *a, uint64_t from, uint64_t to, uint64_t first,
		     uint64_t last, uint64_t evicted);
/* The same of a capture that was just made of frames `from` to `to`. */
void api_say_saved(const struct api *api, const struct api_request *q, uint64_t capture,
		   uint64_t from, uint64_t to, struct api_answer *a);

#endif
