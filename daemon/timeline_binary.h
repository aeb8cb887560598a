/* SPDX-License-Identifier: MIT */
/*
 * A timeline as typed arrays, little-endian, for a browser to draw from as it is:
 *
 *    0  char[4]  "FPTL"
 *    4  u32      version, 1
 *    8  u32      n, the number of items
 *   12  u32      bytes of the description
 *   16  u32[7]   where begin, duration, busy, marker, count, depth and flags are, in bytes from the
 *                start of the answer, each a multiple of 8
 *   44  u32      where the description is: JSON in UTF-8, no NUL
 *
 *   begin f64[n], duration f64[n]: ns from the session's start, exact
 *   busy f64[n]: ns, of the zones that the item stands for
 *   marker u32[n]: index into the description's markers
 *   count u32[n]: zones that it stands for; above 1 it is a sliver
 *   depth u16[n], flags u16[n]: a bit for each of the description's flags
 *
 * Items are by track as the description's threads say (first, zones), then by begin, parents first.
 */
#ifndef FPROF_DAEMON_TIMELINE_BINARY_H
#define FPROF_DAEMON_TIMELINE_BINARY_H

#include "json.h"
#include "timeline.h"

#define TIMELINE_BINARY_VERSION 1
#define TIMELINE_BINARY_HEADER	48

/* markers: by marker id, its index in the description. description: finished. Sets out->failed
 * where there is no memory. */
void timeline_binary(const struct timeline *timeline, const uint32_t *markers, size_t marker_count,
		     const struct json *description, struct json *out);

#endif
