/* SPDX-License-Identifier: MIT */
/* Interning markers: by content, once per session, without locks. */
#ifndef FPROF_CLIENT_MARKER_H
#define FPROF_CLIENT_MARKER_H

#include "fprof.h"
#include "session.h"

#include <stdint.h>

/*
 * The lead word top of m's events, interning it where this was not done yet. It is m->top from here
 * on, where m was masked too: it is masked no more, or was not looked at yet. 0: refused, and
 * counted. Any context.
 */
uint64_t marker_top(struct session *s, struct fprof_marker *m);
/* The top for site with a name of the moment. Same returns. */
uint64_t marker_top_dynamic(struct session *s, const struct fprof_marker *site, const char *name);
/* The id of a dynamic marker that is nothing but a name. 0: refused, and counted. */
uint32_t marker_id_of_name(struct session *s, enum fprof_marker_kind kind, const char *name);

/* Takes over the markers of a parent's memory, ids as they are; s is not yet shared. */
void marker_inherit(struct session *s, const void *memory);

#endif
