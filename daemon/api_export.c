/* SPDX-License-Identifier: MIT */
/* A range of a session as a file for other tools: written to a temporary file, then sent. */
#include "api_capture.h"

#include "api_range.h"
#include "captures.h"
#include "export.h"
#include "util.h"

#include <errno.h>
#include <string.h>

/* The spikes that were taken from the session, or the one that it is. */
static int find_spikes(const struct api *api, const struct api_request *q, uint64_t session,
		       captures_vec *spikes)
{
	captures_vec all = {0};
	size_t i;
	int rc = captures_list(api->context->captures, q->uid, &all);

	for (i = 0; rc == 0 && i < all.count; i++) {
		struct capture *c = &all.at[i];

		if (c->kind != CAPTURE_SPIKE || !c->reason_json ||
		    (c->source_session != session && c->session != session))
			continue;
		rc = VEC_PUSH(spikes, *c);
		if (rc == 0)
			memset(c, 0, sizeof(*c));
	}
	captures_vec_free(&all);
	return rc;
}

static void fail(struct api_answer *a, int error)
{
	if (error == -ENOSPC || error == -EDQUOT || error == -EFBIG)
		api_fail_capture(a, -ENOSPC);
	else
		api_fail_range(a, error);
}

/* What the game's rings had no room for. */
static void say_unrecorded(struct api_answer *a, const struct range *range)
{
	struct run_frames lost = {0};
	size_t i;

	for (i = 0; i < range->frames.frames.count; i++)
		run_frames_lose(&lost, &range->frames.frames.at[i].row, false);
	if (lost.lost_events > 0)
		api_say_lost(a, "%llu events of %llu frames were lost as they were recorded",
			     (unsigned long long)lost.lost_events, (unsigned long long)lost.lossy);
}

static void write_export(const struct api *api, const struct api_request *q,
			 const struct api_range *r, enum export_format format, struct api_answer *a)
{
	__attribute__((cleanup(captures_vec_free))) captures_vec spikes = {0};
	_cleanup_close_ int fd = util_temporary(api->context->config->state_dir);
	struct export_report report = {0};
	char ending[64];
	int rc = fd < 0 ? fd : find_spikes(api, q, r->range.session, &spikes);

	if (rc == 0) {
		const struct export_order order = {.history = r->reader.history,
						   .range = &r->range,
						   .captures = spikes.at,
						   .capture_count = spikes.count};

		rc = export_run(format, &order, fd, &report);
	}
	if (rc < 0) {
		fail(a, rc);
		return;
	}
	a->fd = util_take_fd(&fd);
	a->status = 200;
	a->type = export_media_type(format);
	snprintf(a->lost, sizeof(a->lost), "%s", report.lost);
	say_unrecorded(a, &r->range);
	api_say_evicted(a, route_value(&q->route, "from") ? r->query.from : 0,
			route_value(&q->route, "to") ? r->query.to : 0, r->range.first,
			r->range.last, r->range.kept_from);
	snprintf(ending, sizeof(ending), "-%llu-%llu.%s", (unsigned long long)r->range.first,
		 (unsigned long long)r->range.last, export_extension(format));
	api_name_file(a, r->range.row.name ? r->range.row.name : "session", ending);
}

void api_export(const struct api *api, const struct api_request *q, struct api_answer *a)
{
	_cleanup_range_ struct api_range r = {0};
	int format = api_parse_choice(q, a, "format", export_format_names, EXPORT_CHROME);

	if (format < 0 || !api_range_open(api, q, a, &r))
		return;
	if (r.aggregate && format != EXPORT_VPROF)
		api_fail_aggregate(a);
	else
		write_export(api, q, &r, (enum export_format)format, a);
}
