/* SPDX-License-Identifier: MIT */
/*
 * The partition walks along two sorted lists, what the scheduler did and the wait zones, and cuts
 * at every change of either. Points are turned into ns, never lengths, so the parts add up exactly.
 *
 * The order of the questions matters. Is the GPU saturated? Then it is the ceiling, however the CPU
 * passed its time. Else: had the frame slack, a wait for the limiter or the display that evens
 * frames out, and was about as long as usual? Then it was paced. Else the largest part held it.
 *
 * A block inside the present may be the display's, a limiter's or the GPU's. It is the display's
 * only where the usual frame takes as long as so many refreshes of one; else it is a limiter's
 * where the kernel says that the thread slept, or where the GPU is known not to be the ceiling.
 */
#include "verdict.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *const verdict_part_names[PARTS] = {"cpu",	  "spin",  "runnable",	   "gpu",
					       "present", "cap",   "lock",	   "io",
					       "memory",  "other", "unattributed", "unknown"};
const char *const verdict_bound_names[BOUNDS] = {"unknown",   "gpu",  "display", "cap",	  "cpu",
						 "scheduler", "lock", "io",	 "memory"};

const char *const verdict_events_names[EVENTS_STATES] = {"complete", "lost", "partial", "gone"};

/* ---- the partition ---- */

static enum verdict_part of_zone(enum fprof_marker_kind kind)
{
	return kind == FPROF_MARKER_WAIT_GPU	   ? PART_GPU
	       : kind == FPROF_MARKER_WAIT_PRESENT ? PART_PRESENT
						   : PART_CAP;
}

static enum verdict_part of_reason(enum wait_reason reason)
{
	static const enum verdict_part parts[WAIT_REASONS] = {
		[WAIT_OTHER] = PART_OTHER,   [WAIT_LOCK] = PART_LOCK,	 [WAIT_SLEEP] = PART_CAP,
		[WAIT_READ] = PART_IO,	     [WAIT_WRITE] = PART_IO,	 [WAIT_DISK] = PART_IO,
		[WAIT_MEMORY] = PART_MEMORY, [WAIT_POLL] = PART_OTHER,	 [WAIT_SOCKET] = PART_IO,
		[WAIT_GPU] = PART_GPU,	     [WAIT_STOPPED] = PART_OTHER};

	return parts[reason];
}

enum evidence { BY_ZONE, BY_KERNEL, BY_BOTH, BY_DENIED };

/* May who waits in such a zone do it in this way? A driver may wait for what it wants by a lock, a
 * socket or a sleep; a limiter sleeps, or polls for its moment. Nobody waits for the GPU, a display
 * or a moment by reading files, for memory or stopped. */
static bool agrees(enum fprof_marker_kind kind, enum wait_reason reason)
{
	switch (reason) {
	case WAIT_READ:
	case WAIT_WRITE:
	case WAIT_DISK:
	case WAIT_MEMORY:
	case WAIT_STOPPED: /* by nothing that it asked for */
		return false;
	case WAIT_LOCK:
	case WAIT_SOCKET:
	case WAIT_GPU:
		return kind != FPROF_MARKER_WAIT_CAP;
	default:
		return true;
	}
}

/* One stretch in which nothing changes. sched NULL: the kernel was not asked. all_zones: there are
 * no waits but those. */
static enum verdict_part classify(const struct sched_interval *sched,
				  const struct wait_segment *wait, bool all_zones,
				  enum evidence *ret_evidence)
{
	bool known = sched && sched->state != SCHED_STATE_UNKNOWN;

	*ret_evidence = known && wait ? BY_BOTH : known ? BY_KERNEL : BY_ZONE;
	if (!known)
		return wait ? of_zone(wait->kind) : sched || !all_zones ? PART_UNKNOWN : PART_CPU;
	switch (sched->state) {
	case SCHED_STATE_RUNNING:
		return wait ? PART_SPIN : PART_CPU;
	case SCHED_STATE_RUNNABLE:
		*ret_evidence = BY_KERNEL;
		return PART_RUNNABLE;
	case SCHED_STATE_BLOCKED:
		if (wait && !agrees(wait->kind, sched->reason))
			*ret_evidence = BY_DENIED;
		return wait ? of_zone(wait->kind) : of_reason(sched->reason);
	default:
		return PART_UNKNOWN;
	}
}

static void add(struct verdict *v, enum verdict_part part, enum evidence evidence, int64_t ns)
{
	struct verdict_evidence *e = &v->evidence[part];

	v->ns[part] += ns;
	*(evidence == BY_ZONE	  ? &e->zone_ns
	  : evidence == BY_KERNEL ? &e->kernel_ns
	  : evidence == BY_BOTH	  ? &e->both_ns
				  : &e->denied_ns) += ns;
}

static enum wait_reason most_of(const int64_t *ns)
{
	enum wait_reason r, most = WAIT_OTHER;

	for (r = 0; r < WAIT_REASONS; r++)
		if (ns[r] > ns[most])
			most = r;
	return most;
}

void verdict_partition(struct verdict *v, const struct range *range, int64_t t0, int64_t t1,
		       struct verdict_cursor *cursor)
{
	const sched_intervals_vec *sched = cursor->sched;
	const wait_segments_vec *waits = cursor->waits;
	size_t si = cursor->next_sched, wi = cursor->next_wait;
	struct verdict_people let_go = {0}, had_cpu = {0};
	const struct sched_interval *who;
	bool all_zones = v->events == EVENTS_COMPLETE || v->events == EVENTS_LOST;
	int64_t t = t0, next, from_ns = range_ns(range, t0), to_ns, heard_ns = 0;
	int64_t denied_ns[WAIT_REASONS] = {0};
	enum evidence evidence;
	enum verdict_part part;

	v->wall_ns = range_ns(range, t1) - from_ns;
	while (t < t1) {
		const struct sched_interval *s;
		const struct wait_segment *w;

		while (si < sched->count && sched->at[si].t1 <= t)
			si++;
		while (wi < waits->count && waits->at[wi].t1 <= t)
			wi++;
		s = si < sched->count && sched->at[si].t0 <= t ? &sched->at[si] : NULL;
		w = wi < waits->count && waits->at[wi].t0 <= t ? &waits->at[wi] : NULL;
		next = t1;
		if (si < sched->count)
			next = MIN(next, s ? s->t1 : sched->at[si].t0);
		if (wi < waits->count)
			next = MIN(next, w ? w->t1 : waits->at[wi].t0);
		part = classify(s, w, all_zones, &evidence);
		to_ns = range_ns(range, next);
		add(v, part, evidence, to_ns - from_ns);
		if (evidence != BY_ZONE)
			heard_ns += to_ns - from_ns;
		if (evidence == BY_DENIED)
			denied_ns[s->reason] += to_ns - from_ns;
		if (part == PART_PRESENT && evidence == BY_BOTH && s->reason == WAIT_SLEEP)
			v->slept_ns += to_ns - from_ns;
		who = part == PART_LOCK || part == PART_RUNNABLE
			      ? verdict_who_of(s, sched->at + sched->count)
			      : NULL;
		if (who)
			verdict_people_add(part == PART_LOCK ? &let_go : &had_cpu,
					   &(struct verdict_who){.as = *who,
								 .ns = to_ns - from_ns,
								 .longest_ns = to_ns - from_ns});
		if (part == PART_OTHER && s->reason == WAIT_STOPPED)
			v->stopped_ns += to_ns - from_ns;
		if (part == PART_UNKNOWN && s)
			v->unheard_ns += to_ns - from_ns;
		if (part == PART_SPIN)
			v->spun_ns[of_zone(w->kind)] += to_ns - from_ns;
		from_ns = to_ns;
		t = next;
	}
	cursor->next_sched = si;
	cursor->next_wait = wi;
	v->denied_by = most_of(denied_ns);
	v->let_go = verdict_people_most(&let_go);
	v->had_cpu = verdict_people_most(&had_cpu);
	v->kernel = sched->count > 0 && (v->wall_ns - heard_ns) * 20 <= v->wall_ns;
}

void verdict_partition_row(struct verdict *v, const struct frame_row *row)
{
	const struct {
		enum verdict_part part;
		int64_t ns;
	} known[] = {{PART_GPU, row->wait_gpu_ns},
		     {PART_PRESENT, row->wait_present_ns},
		     {PART_CAP, row->wait_cap_ns},
		     {PART_CPU, row->cpu_ns}};
	int64_t left;
	size_t i;

	v->wall_ns = left = row->end_ns - row->begin_ns;
	for (i = 0; i < ARRAY_SIZE(known); i++) {
		int64_t ns = MIN(MAX(known[i].ns, INT64_C(0)), left);

		add(v, known[i].part, BY_ZONE, ns);
		left -= ns;
	}
	add(v, PART_UNKNOWN, BY_ZONE, left);
}

void verdict_check_cpu(struct verdict *v)
{
	bool unread = v->ran.window_ns <= 0 && v->ran.unread;
	int64_t all = v->evidence[PART_CPU].zone_ns;
	int64_t excess = unread ? all : MIN(v->ran.not_run_ns, all);

	if ((v->ran.window_ns <= 0 && !unread) || excess <= 0)
		return;
	v->ns[PART_CPU] -= excess;
	v->evidence[PART_CPU].zone_ns -= excess;
	add(v, unread ? PART_UNKNOWN : PART_UNATTRIBUTED, unread ? BY_ZONE : BY_KERNEL, excess);
}

/* ---- the word ---- */

static double ms(int64_t ns)
{
	return (double)ns / 1e6;
}

static double share(const struct verdict *v, int64_t ns)
{
	return v->wall_ns > 0 ? (double)ns / (double)v->wall_ns : 0.0;
}

static void say(struct verdict *v, enum verdict_bound bound, double confidence, const char *format,
		...) __attribute__((format(printf, 4, 5)));

static void say(struct verdict *v, enum verdict_bound bound, double confidence, const char *format,
		...)
{
	va_list args;

	v->bound = bound;
	v->confidence = confidence < 0.0 ? 0.0 : confidence > 1.0 ? 1.0 : confidence;
	va_start(args, format);
	vsnprintf(v->sentence, sizeof(v->sentence), format, args);
	va_end(args);
}

/* What each word rests on when a frame was held by its largest part. */
static int64_t held_by(const struct verdict *v, enum verdict_bound bound)
{
	switch (bound) {
	case BOUND_GPU:
		return v->ns[PART_GPU] + v->spun_ns[PART_GPU];
	case BOUND_DISPLAY:
		return v->ns[PART_PRESENT] + v->spun_ns[PART_PRESENT];
	case BOUND_CAP:
		return v->ns[PART_CAP] + v->spun_ns[PART_CAP];
	case BOUND_CPU:
		return v->ns[PART_CPU];
	case BOUND_SCHEDULER:
		return v->ns[PART_RUNNABLE];
	case BOUND_LOCK:
		return v->ns[PART_LOCK];
	case BOUND_IO:
		return v->ns[PART_IO];
	case BOUND_MEMORY:
		return v->ns[PART_MEMORY];
	default:
		return v->ns[PART_UNKNOWN] + v->ns[PART_OTHER] + v->ns[PART_UNATTRIBUTED];
	}
}

static bool is_hitch(const struct verdict *v)
{
	return v->usual_ns > 0 && (double)v->wall_ns > VERDICT_HITCH * (double)v->usual_ns;
}

static int64_t slack_of(const struct verdict *v)
{
	return held_by(v, BOUND_CAP) + held_by(v, BOUND_DISPLAY);
}

static enum verdict_bound largest(const struct verdict *v, enum verdict_bound except)
{
	enum verdict_bound best = BOUND_UNKNOWN, b;

	for (b = BOUND_GPU; b < BOUNDS; b++)
		if (b != except && held_by(v, b) > held_by(v, best))
			best = b;
	return best;
}

static const char *words_of(enum verdict_bound bound)
{
	static const char *const words[BOUNDS] = {
		"nobody can say what the frame's thread waited for",
		"the frame's thread waited for the GPU",
		"the frame's thread waited for the present",
		"the frame's thread slept, as a frame limiter does",
		"the frame's thread was computing",
		"the frame's thread could have run and did not get a CPU",
		"the frame's thread waited for a lock",
		"the frame's thread waited for input or output",
		"the frame's thread waited for memory"};

	return words[bound];
}

/* Sure, as far as the part stands out; less so when it is there by elimination only. */
static double sureness(const struct verdict *v, enum verdict_bound bound)
{
	double most = share(v, held_by(v, bound)), second = share(v, held_by(v, largest(v, bound)));
	double sure = 0.5 + (most - second) / 2;

	return v->kernel || bound == BOUND_GPU || bound == BOUND_DISPLAY || bound == BOUND_CAP
		       ? sure
		       : sure * (v->ran.window_ns > 0 ? VERDICT_ELIMINATION : VERDICT_UNCHECKED);
}

/* Adds to the sentence. */
static void say_more(struct verdict *v, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void say_more(struct verdict *v, const char *format, ...)
{
	size_t at = strlen(v->sentence);
	va_list args;

	va_start(args, format);
	vsnprintf(v->sentence + at, sizeof(v->sentence) - at, format, args);
	va_end(args);
}

/* Whose a block inside the present is. */
static enum verdict_bound of_present(const struct verdict *v)
{
	if (v->fit.refreshes > 0)
		return BOUND_DISPLAY;
	if (2 * v->slept_ns > held_by(v, BOUND_DISPLAY) || v->gpu_busy_ns != NS_UNKNOWN)
		return BOUND_CAP;
	return BOUND_UNKNOWN;
}

/* How the usual frames' pace and the displays go together, as far as it matters. */
static void say_pace(struct verdict *v, bool present)
{
	const struct display_fit *fit = &v->fit;

	if (present && fit->display_hz <= 0)
		say_more(v, " No display's refresh rate is known.");
	else if (present && fit->refreshes == 1)
		say_more(v, " A display shows %.4g Hz.", fit->display_hz);
	else if (present && fit->refreshes > 1)
		say_more(v, " A display shows %.4g Hz, each frame %u times.", fit->display_hz,
			 fit->refreshes);
	else if (fit->unseen > 0)
		say_more(v,
			 " The game is paced at %.4g Hz on a %.4g Hz display: %u of %u frames are "
			 "never shown.",
			 fit->cadence_hz, fit->display_hz, fit->unseen, fit->of);
	else if (present)
		say_more(v, " The game is paced at %.4g Hz, which fits no display's %.4g Hz.",
			 fit->cadence_hz, fit->display_hz);
}

/* What was told by elimination, and whether that could be checked. */
static void say_elimination(struct verdict *v)
{
	if (v->bound == BOUND_CPU && 2 * v->evidence[PART_CPU].zone_ns > v->ns[PART_CPU])
		say_more(v, ", by elimination%s", v->ran.window_ns > 0 ? "" : ", unchecked");
	else if (v->bound == BOUND_UNKNOWN && v->ran.unread)
		say_more(v, ", or whether it ran: that was not read");
	else if (v->bound == BOUND_UNKNOWN && v->ns[PART_UNATTRIBUTED] > 0)
		say_more(v, "; of %.0f ms that it may have run it ran %.0f ms (schedstat)",
			 ms(v->ran.cpu_ns), ms(v->ran.ran_ns));
}

/* Whom it waited for. */
static void say_who(struct verdict *v)
{
	const struct verdict_who *who = v->bound == BOUND_LOCK	      ? &v->let_go
					: v->bound == BOUND_SCHEDULER ? &v->had_cpu
								      : NULL;
	char name[128];

	if (!who || who->ns == 0)
		return;
	verdict_who_words(who, name, sizeof(name));
	say_more(v,
		 v->bound == BOUND_LOCK ? "; %.2f ms until %s let go of it"
					: "; for %.2f ms %s had it",
		 ms(who->ns), name);
	if (v->bound == BOUND_LOCK && who->zone)
		say_more(v, " in %.80s", who->zone);
}

/* A wait that would pace frames, and does not pace these. */
static void say_slack(struct verdict *v, enum verdict_bound part)
{
	int64_t slack = slack_of(v);

	if (v->bound != BOUND_UNKNOWN && part != BOUND_CAP && part != BOUND_DISPLAY &&
	    share(v, slack) >= VERDICT_SLACK && !is_hitch(v))
		say_more(v,
			 " The %.2f ms that it waited as for a limiter or the display even nothing "
			 "out.",
			 ms(slack));
}

static void judge_largest(struct verdict *v)
{
	enum verdict_bound part = largest(v, BOUNDS), bound = part;
	int64_t ns = held_by(v, part);

	if (part == BOUND_DISPLAY)
		bound = of_present(v);
	say(v, bound, bound == BOUND_UNKNOWN ? 0.0 : sureness(v, part),
	    "For %.2f of %.2f ms (%.0f%%) %s", ms(ns), ms(v->wall_ns), 100 * share(v, ns),
	    part == BOUND_UNKNOWN && 2 * v->stopped_ns > ns
		    ? "the frame's thread was stopped, by a signal, a debugger or a freezer"
		    : words_of(part));
	say_elimination(v);
	if (bound == BOUND_CPU && v->zone)
		say_more(v, "; %.2f ms passed in %.80s", ms(v->zone_ns), v->zone);
	say_who(v);
	say_more(v, ".");
	say_slack(v, part);
	say_pace(v, part == BOUND_DISPLAY);
}

static void say_usual(struct verdict *v)
{
	double off = v->usual_ns > 0 ? (double)v->wall_ns / (double)v->usual_ns - 1 : 0;
	const char *how = off > VERDICT_USUAL	 ? "longer than"
			  : off < -VERDICT_USUAL ? "shorter than"
						 : "as";

	if (v->usual_ns > 0)
		say_more(v, ", %s usual (%.2f ms)", how, ms(v->usual_ns));
}

static const char *denied_words(enum wait_reason reason)
{
	switch (reason) {
	case WAIT_LOCK:
		return "a lock";
	case WAIT_MEMORY:
		return "memory";
	case WAIT_GPU:
		return "the GPU";
	case WAIT_STOPPED:
		return "whoever had stopped it";
	default:
		return "input or output";
	}
}

static int64_t denied(const struct verdict *v)
{
	int64_t ns = 0;
	int part;

	for (part = 0; part < PARTS; part++)
		ns += v->evidence[part].denied_ns;
	return ns;
}

/* What was missing to judge by, and what contradicts. */
static void doubt(struct verdict *v)
{
	static const char *const why[EVENTS_STATES] = {
		"", " Events of its time were lost.", " Not all of its thread was recorded.",
		" Its events are gone, only its row is left."};

	if (share(v, v->unheard_ns) > VERDICT_UNHEARD) {
		v->confidence *= 1 - share(v, v->unheard_ns);
		say_more(v, " The evidence is incomplete: %.2f ms of the kernel's were not heard.",
			 ms(v->unheard_ns));
	}
	if (share(v, denied(v)) > VERDICT_DENIED) {
		v->confidence *= 1 - share(v, denied(v));
		say_more(v,
			 " The kernel denies %.2f ms of its wait zones: most of that it waited for "
			 "%s.",
			 ms(denied(v)), denied_words(v->denied_by));
	}
	if (v->events == EVENTS_COMPLETE)
		return;
	v->confidence *= VERDICT_DOUBT;
	say_more(v, "%s", why[v->events]);
}

static const char *pacer(enum verdict_bound bound, bool cap)
{
	return cap			? "for the frame limiter"
	       : bound == BOUND_DISPLAY ? "for the display"
	       : bound == BOUND_CAP	? "in the present for a limiter"
					: "in the present";
}

enum pace verdict_evens(const struct verdict_spread *spread, int64_t usual_ns)
{
	bool steady = (double)spread->wall_ns <= VERDICT_STEADY * (double)usual_ns;

	if (spread->frames < VERDICT_EVENS_LEAST ||
	    (double)spread->wall_ns <= VERDICT_EVENS * (double)spread->work_ns)
		return PACE_SURE;
	return steady ? PACE_LIKELY : PACE_NONE;
}

/* Is the slack of a frame that is as long as usual there to even frames out? A wait that takes the
 * same time whatever the work did holds no frame back but by itself. What the work of the frames
 * around did only zones tell: a sleep that is not in one is work to their rows. */
static enum pace pace_of(const struct verdict *v, int64_t slack)
{
	int64_t unmarked = v->evidence[PART_CAP].kernel_ns + v->evidence[PART_PRESENT].kernel_ns;
	bool fits = v->fit.refreshes != 0;
	enum pace pace = verdict_evens(&v->spread, v->usual_ns);

	if (slack >= held_by(v, largest(v, BOUNDS)) || fits)
		return PACE_SURE;
	if (pace == PACE_LIKELY && 2 * unmarked <= slack && share(v, slack) < VERDICT_SLACK_LARGE)
		return PACE_NONE;
	return pace;
}

/* A limiter and a display pace a frame by what they make it wait. */
static bool judge_paced(struct verdict *v)
{
	int64_t slack = slack_of(v);
	bool cap = held_by(v, BOUND_CAP) >= held_by(v, BOUND_DISPLAY);
	enum verdict_bound bound = cap ? BOUND_CAP : of_present(v);
	double sure = MIN(1.0, 0.6 + 2 * share(v, slack));
	enum pace pace;

	if (share(v, slack) < VERDICT_SLACK || is_hitch(v))
		return false;
	pace = pace_of(v, slack);
	if (pace == PACE_NONE)
		return false;
	/* that of a display without the GPU's word, that of a limiter in the present anyway */
	if (!cap && (bound == BOUND_CAP || v->gpu_busy_ns == NS_UNKNOWN))
		sure *= VERDICT_LIKELY;
	if (pace == PACE_LIKELY)
		sure *= VERDICT_LIKELY;
	say(v, bound, bound == BOUND_UNKNOWN ? 0.0 : sure,
	    "It was done after %.2f ms and waited %.2f ms %s; the frame took %.2f ms",
	    ms(v->wall_ns - slack), ms(slack), pacer(bound, cap), ms(v->wall_ns));
	say_usual(v);
	say_more(v, ".");
	say_pace(v, !cap);
	return true;
}

void verdict_judge(struct verdict *v)
{
	double busy = v->gpu_busy_ns == NS_UNKNOWN ? 0.0 : share(v, v->gpu_busy_ns);

	if (v->wall_ns <= 0) {
		say(v, BOUND_UNKNOWN, 0.0, "The frame took no time.");
	} else if (busy >= VERDICT_GPU_SATURATED) {
		say(v, BOUND_GPU, MIN(1.0, busy),
		    "The GPU was busy for %.2f of %.2f ms (%.0f%%, saturated from %.0f%% on).",
		    ms(v->gpu_busy_ns), ms(v->wall_ns), 100 * busy, 100 * VERDICT_GPU_SATURATED);
	} else {
		if (share(v, v->ns[PART_UNKNOWN]) > 0.5 || !judge_paced(v))
			judge_largest(v);
		doubt(v);
	}
}
