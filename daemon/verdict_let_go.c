/* SPDX-License-Identifier: MIT */
/*
 * The moments are sorted by thread and time, and one visit of those threads' zones passes by all of
 * them. Where nobody let go of anything nothing is read.
 */
#include "verdict_let_go.h"

#include "util.h"

#include <errno.h>
#include <string.h>

struct moment {
	uint32_t track; /* index into range->tracks */
	int64_t t;
	struct verdict_who *who;
	bool lost; /* nobody knows what was open then */
};

struct reading {
	const struct range *range;
	VEC(struct moment) moments;
	size_t at, end; /* of the track that is visited: the next one, and behind its last */
	VEC(uint32_t) open;
};

static int by_time(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	if (x->track != y->track)
		return x->track < y->track ? -1 : 1;
	return (x->t > y->t) - (x->t < y->t);
}

static int add_moments(struct reading *r, verdicts_vec *verdicts)
{
	size_t i;
	int rc = 0;

	for (i = 0; i < verdicts->count && rc == 0; i++) {
		struct verdict_who *who = &verdicts->at[i].let_go;

		if (who->ns <= 0 || !who->track)
			continue;
		rc = VEC_PUSH(&r->moments,
			      ((struct moment){(uint32_t)(who->track - r->range->tracks.at),
					       who->as.t0, who, false}));
	}
	if (r->moments.count > 1)
		qsort(r->moments.at, r->moments.count, sizeof(*r->moments.at), by_time);
	return rc;
}

static const char *innermost(const struct reading *r)
{
	const struct marker_row *marker =
		r->open.count > 0 ? range_marker(r->range, r->open.at[r->open.count - 1]) : NULL;

	return marker ? marker->name : NULL;
}

/* Nothing changes before t: what is open at t itself a later step says. */
static void pass(struct reading *r, int64_t t)
{
	for (; r->at < r->end && r->moments.at[r->at].t < t; r->at++)
		if (!r->moments.at[r->at].lost)
			r->moments.at[r->at].who->zone = innermost(r);
}

static int on_track(void *userdata, size_t index, const struct track_row *track)
{
	struct reading *r = userdata;

	(void)track;
	pass(r, INT64_MAX);
	r->open.count = 0;
	while (r->end < r->moments.count && r->moments.at[r->end].track < index)
		r->end++;
	r->at = r->end;
	while (r->end < r->moments.count && r->moments.at[r->end].track == index)
		r->end++;
	return r->at == r->end;
}

static int on_gap(void *userdata, const struct gap_row *gap)
{
	struct reading *r = userdata;
	size_t i;

	for (i = r->at; i < r->end; i++)
		if (r->moments.at[i].t >= gap->t0 && r->moments.at[i].t <= gap->t1)
			r->moments.at[i].lost = true;
	return 0;
}

static int on_steps(void *userdata, const struct range_step *steps, size_t count)
{
	struct reading *r = userdata;
	size_t i;

	for (i = 0; i < count; i++) {
		pass(r, steps[i].t);
		if (steps[i].marker != RANGE_LEFT) {
			if (VEC_PUSH(&r->open, steps[i].marker) < 0)
				return -ENOMEM;
		} else if (r->open.count > 0) {
			r->open.count--;
		}
	}
	return 0;
}

int verdict_let_go_zones(struct history *h, const struct range *range, verdicts_vec *verdicts)
{
	struct reading r = {.range = range};
	const struct range_visitor visitor = {.userdata = &r,
					      .no_texts = true,
					      .track = on_track,
					      .steps = on_steps,
					      .gap = on_gap};
	int rc = add_moments(&r, verdicts);

	if (rc == 0 && r.moments.count > 0)
		rc = range_visit(h, range, &visitor);
	if (rc == 0)
		pass(&r, INT64_MAX);
	VEC_FREE(&r.moments);
	VEC_FREE(&r.open);
	return rc;
}
