/* SPDX-License-Identifier: MIT */
/* What held frames back: a word, the partition that it rests on, and the numbers compared. */
#include "api.h"
#include "api_range.h"
#include "api_sched.h"
#include "util.h"
#include "verdict_range.h"

#include <errno.h>

static void json_parts(struct json *j, const int64_t *ns, const struct verdict_evidence *evidence)
{
	int part;

	json_key(j, "parts");
	json_array_begin(j);
	for (part = 0; part < PARTS; part++) {
		if (ns[part] == 0)
			continue;
		json_object_begin(j);
		json_member_string(j, "part", verdict_part_names[part]);
		json_member_int(j, "ns", ns[part]);
		json_key(j, "evidence_ns");
		json_object_begin(j);
		json_member_int(j, "zone", evidence[part].zone_ns);
		json_member_int(j, "kernel", evidence[part].kernel_ns);
		json_member_int(j, "both", evidence[part].both_ns);
		json_member_int(j, "denied", evidence[part].denied_ns);
		json_object_end(j);
		json_object_end(j);
	}
	json_array_end(j);
}

static void json_ran(struct json *j, const struct verdict_ran *ran)
{
	json_key(j, "schedstat");
	if (ran->window_ns <= 0) {
		json_null(j);
		return;
	}
	json_object_begin(j);
	json_member_int(j, "window_ns", ran->window_ns);
	json_member_int(j, "ran_ns", ran->ran_ns);
	json_member_int(j, "cpu_by_elimination_ns", ran->cpu_ns);
	json_member_int(j, "slack_ns", ran->slack_ns);
	json_key(j, "frame_not_run");
	json_object_begin(j);
	json_member_int(j, "least_ns", ran->least_ns);
	json_member_int(j, "taken_ns", ran->not_run_ns);
	json_object_end(j);
	json_object_end(j);
}

/* zone: theirs is told, too. */
static void json_who(struct json *j, const char *key, const struct verdict_who *who, bool zone)
{
	json_key(j, key);
	if (who->ns == 0) {
		json_null(j);
		return;
	}
	json_object_begin(j);
	api_json_sched_who(j, &who->as, who->pid, who->track);
	json_member_int(j, "ns", who->ns);
	if (zone)
		json_member_string(j, "zone", who->zone);
	json_object_end(j);
}

/* How much frames around vary, and where the rules draw their lines. */
static void json_spread(struct json *j, const struct verdict_spread *spread)
{
	json_key(j, "spread");
	json_object_begin(j);
	json_member_uint(j, "frames", spread->frames);
	json_member_int(j, "wall_ns", spread->wall_ns);
	json_member_int(j, "work_ns", spread->work_ns);
	json_member_double(j, "evens_out_below", VERDICT_EVENS);
	json_object_end(j);
	json_member_double(j, "gpu_saturated_from", VERDICT_GPU_SATURATED);
	json_member_double(j, "hitch_from", VERDICT_HITCH);
	json_member_double(j, "slack_from", VERDICT_SLACK);
}

static void json_verdict_members(struct json *j, const struct verdict *v, bool counted)
{
	json_member_uint(j, "frame", v->frame);
	json_member_bool(j, "counted", counted);
	json_member_int(j, "wall_ns", v->wall_ns);
	json_member_string(j, "bound_by", verdict_bound_names[v->bound]);
	json_member_double(j, "confidence", v->confidence);
	json_member_string(j, "sentence", v->sentence);
	json_member_bool(j, "kernel", v->kernel);
	json_member_int(j, "unheard_ns", v->unheard_ns);
	json_member_string(j, "events", verdict_events_names[v->events]);
	json_key(j, "zone");
	if (v->zone) {
		json_object_begin(j);
		json_member_string(j, "name", v->zone);
		json_member_int(j, "self_ns", v->zone_ns);
		json_object_end(j);
	} else {
		json_null(j);
	}
	json_parts(j, v->ns, v->evidence);
	json_who(j, "lock_let_go_by", &v->let_go, true);
	json_who(j, "cpu_had_by", &v->had_cpu, false);
	json_key(j, "compared");
	json_object_begin(j);
	api_json_ns(j, "gpu_busy_ns", v->gpu_busy_ns);
	json_member_int(j, "usual_wall_ns", v->usual_ns);
	json_spread(j, &v->spread);
	json_ran(j, &v->ran);
	json_object_end(j);
}

static void json_hz(struct json *j, const char *key, double hz)
{
	if (hz > 0)
		json_member_double(j, key, hz);
	else
		json_member_string(j, key, NULL);
}

/* The displays, and how the frames' pace fits them. */
static void json_display(struct json *j, const struct displays *displays,
			 const struct display_fit *fit)
{
	size_t i;

	json_key(j, "display");
	json_object_begin(j);
	json_member_string(j, "source",
			   displays->count == 0	  ? NULL
			   : displays->configured ? "configured"
						  : "drm");
	json_key(j, "rates_hz");
	json_array_begin(j);
	for (i = 0; i < displays->count; i++)
		json_double(j, displays->hz[i]);
	json_array_end(j);
	json_hz(j, "cadence_hz", fit->cadence_hz);
	json_hz(j, "compared_hz", fit->display_hz);
	json_member_double(j, "fits_within", DISPLAYS_NEAR);
	json_member_uint(j, "refreshes_per_frame", fit->refreshes);
	json_member_uint(j, "never_shown", fit->unseen);
	json_member_uint(j, "never_shown_of", fit->of);
	json_object_end(j);
}

static void json_sum_compared(struct json *j, const struct verdict_sum *s)
{
	json_key(j, "compared");
	json_object_begin(j);
	api_json_ns(j, "gpu_busy_ns", s->gpu_busy_ns);
	json_member_uint(j, "gpu_frames", s->gpu_frames);
	json_member_int(j, "gpu_frames_wall_ns", s->gpu_wall_ns);
	json_member_int(j, "usual_wall_ns", s->usual_ns);
	json_spread(j, &s->spread);
	json_object_end(j);
}

static void json_sum(struct json *j, const struct displays *displays, const struct verdict_sum *s)
{
	struct verdict_who who;
	int b;

	json_member_uint(j, "frames_judged", s->frames);
	json_member_int(j, "wall_ns", s->wall_ns);
	json_member_string(j, "bound_by", verdict_bound_names[s->bound]);
	json_member_double(j, "confidence", s->confidence);
	json_member_string(j, "sentence", s->sentence);
	json_parts(j, s->ns, s->evidence);
	who = verdict_people_most(&s->let_go);
	json_who(j, "lock_let_go_by", &who, true);
	who = verdict_people_most(&s->had_cpu);
	json_who(j, "cpu_had_by", &who, false);
	json_key(j, "bounds");
	json_array_begin(j);
	for (b = 0; b < BOUNDS; b++) {
		if (s->bound_frames[b] == 0)
			continue;
		json_object_begin(j);
		json_member_string(j, "bound_by", verdict_bound_names[b]);
		json_member_uint(j, "frames", s->bound_frames[b]);
		json_member_int(j, "wall_ns", s->bound_ns[b]);
		json_object_end(j);
	}
	json_array_end(j);
	json_sum_compared(j, s);
	json_display(j, displays, &s->fit);
}

static void verdicts_free(verdicts_vec *verdicts)
{
	VEC_FREE(verdicts);
}

void api_verdicts(const struct api *api, const struct api_request *q, struct api_answer *a)
{
	__attribute__((cleanup(verdicts_free))) verdicts_vec verdicts = {0};
	__attribute__((cleanup(counted_deinit))) struct counted counted = {0};
	_cleanup_range_ struct api_range r = {0};
	struct json *j = &a->body;
	struct displays displays;
	struct run_frames lost = {0};
	struct verdict_sum sum;
	unsigned flags;
	size_t i;
	int rc;

	if (!api_parse_counted(q, a, &flags) || !api_range_open(api, q, a, &r))
		return;
	if (r.aggregate) {
		api_fail_aggregate(a);
		return;
	}
	verdict_displays(&r.range, &displays);
	rc = verdict_range(r.reader.history, &r.range, &displays, &verdicts);
	if (rc == 0)
		rc = counted_init(&counted, &r.range, flags);
	if (rc == 0)
		rc = verdict_sum(&verdicts, &counted, &displays, &sum);
	if (rc < 0) {
		api_fail_range(a, rc);
		return;
	}
	json_object_begin(j);
	api_json_range_members(j, &r.range, r.query.stream, &counted);
	for (i = 0; i < verdicts.count; i++)
		lost.evicted += verdicts.at[i].events == EVENTS_GONE && !counted.out[i];
	api_count_lost(q, &r, &counted, &lost);
	api_json_lost(j, &lost);
	json_sum(j, &displays, &sum);
	json_key(j, "frames");
	json_array_begin(j);
	for (i = 0; i < verdicts.count; i++) {
		json_object_begin(j);
		json_verdict_members(j, &verdicts.at[i], !counted.out[i]);
		json_object_end(j);
	}
	json_array_end(j);
	json_object_end(j);
	a->keeps = r.session.update.state != SESSION_LIVE;
}
