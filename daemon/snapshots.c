/* SPDX-License-Identifier: MIT */
/*
 * The last seconds are counted back from the end of the last frame, not from now: a game that
 * stands still has no frames to compare, and one that has ended may be snapped too.
 */
#include "snapshots.h"

#include "route.h"

#include <errno.h>
#include <string.h>

bool snapshot_name_ok(const char *name)
{
	size_t bytes = strlen(name);
	uint64_t session;

	return bytes > 0 && bytes <= SNAPSHOT_NAME_MAX && !strpbrk(name, ",:") &&
	       route_session(name, &session) < 0;
}

int snapshot_last(struct history *h, const struct history_session *session, double seconds,
		  uint64_t *ret_first, uint64_t *ret_last)
{
	__attribute__((cleanup(history_frames_deinit))) struct history_frames frames = {0};
	const struct history_frame *f;
	size_t first;
	int64_t since;
	int r;

	if (!session->first_retained)
		return -ENOENT;
	r = history_frames(h, session->row.id, NULL, session->first_retained, session->last_frame,
			   &frames);
	if (r < 0)
		return r;
	if (frames.frames.count == 0)
		return -ENOENT;
	f = frames.frames.at;
	first = frames.frames.count - 1;
	since = f[first].row.end_ns - (int64_t)(seconds * 1e9);
	while (first > 0 && f[first - 1].row.end_ns > since)
		first--;
	*ret_first = f[first].row.frame;
	*ret_last = f[frames.frames.count - 1].row.frame;
	return 0;
}

int snapshot_save(struct captures *captures, const char *name, uint64_t session, uint64_t first,
		  uint64_t last, uint32_t uid, uint64_t *ret_capture)
{
	struct capture_order order = {.session = session,
				      .first = first,
				      .last = last,
				      .kind = CAPTURE_SNAPSHOT,
				      .name = name};

	return captures_save(captures, &order, uid, ret_capture);
}
