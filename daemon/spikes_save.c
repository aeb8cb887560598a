// SPDX-License-Identifier: MIT
/*
 * One spike into a capture: what of its window is there, what is missing and why, and what its
 * trigger then keeps too much. On the spikes' thread.
 */
#include "spikes_impl.h"

#include "log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void find_missing(const struct open_spike *spike, const struct history_session *s, bool stop,
			 struct spike_found *f)
{
	uint64_t last = s->last_frame;
	bool ended = s->update.state != SESSION_LIVE;

	f->first = MAX(spike->first, s->first_retained);
	f->last = MIN(spike->last, last);
	if (s->first_retained == 0 || f->last < f->first)
		f->first = f->last = 0;
	f->missing_before = f->first > spike->first ? f->first - spike->first : 0;
	f->missing_after = spike->last > f->last ? spike->last - f->last : 0;
	if (f->first == 0)
		f->missing_before = spike->frame >= spike->first && !spike->end
					    ? spike->frame - spike->first + 1
					    : 0;
	snprintf(f->why, sizeof(f->why), "%s%s%s",
		 f->missing_before ? "events were evicted before they could be saved" : "",
		 f->missing_before && f->missing_after ? "; " : "",
		 !f->missing_after ? ""
		 : ended	   ? "the session ended"
		 : stop		   ? "fprofd was stopped"
				   : "no more frames came in time");
}

/* Of the frames in which the game played. */
static void find_worst(struct spikes *spikes, const struct open_spike *spike, struct spike_found *f)
{
	struct history_frames frames = {0};
	size_t i;

	if (f->first == 0 ||
	    history_frames(spikes->history, spike->session, NULL, f->first, f->last, &frames) < 0)
		return;
	for (i = 0; i < frames.frames.count; i++) {
		const struct frame_row *row = &frames.frames.at[i].row;
		int64_t wall_ns = row->end_ns - row->begin_ns;

		if (row->flags & FRAME_PAUSED || wall_ns <= f->worst_ns)
			continue;
		f->worst = row->frame;
		f->worst_ns = wall_ns;
	}
	history_frames_deinit(&frames);
}

static int look(struct spikes *spikes, const struct open_spike *spike,
		struct spike_found *ret_found)
{
	struct history_session s = {0};
	int r = history_session(spikes->history, spike->session, HISTORY_ANY_UID, &s);

	if (r < 0)
		return r;
	find_missing(spike, &s, spikes->stopping, ret_found);
	history_session_deinit(&s);
	find_worst(spikes, spike, ret_found);
	return ret_found->first == 0 && !spike->end ? -ENOENT : 0;
}

static int save(struct spikes *spikes, const struct open_spike *spike, const struct spike_found *f,
		uint64_t *ret_capture)
{
	_cleanup_free_ char *label = spikes_label(spike);
	_cleanup_free_ char *reason = NULL;
	_cleanup_free_ char *name = NULL;
	struct capture_order order = {
		.session = spike->session,
		.first = f->first,
		.last = f->last,
		.tail = spike->end,
		.kind = spike->end ? CAPTURE_CRASH : CAPTURE_SPIKE,
	};

	reason = spikes_reason(spike, f);
	if (!label || !reason ||
	    asprintf(&name, "%s, frame %llu: %s", spike->game ? spike->game : "?",
		     (unsigned long long)spike->frame, label) < 0) {
		name = NULL;
		return -ENOMEM;
	}
	order.name = name;
	order.reason_json = reason;
	return captures_save(spikes->context.captures, &order, spike->uid, ret_capture);
}

/* Is it a spike of this game and label? */
static bool is_alike(const struct capture *capture, const char *label, const char *game)
{
	_cleanup_free_ char *its_label = NULL;
	_cleanup_free_ char *its_game = NULL;

	if (capture->kind != CAPTURE_SPIKE && capture->kind != CAPTURE_CRASH)
		return false;
	spikes_reason_names(capture->reason_json, &its_label, &its_game);
	return its_label && its_game && strcmp(its_label, label) == 0 &&
	       strcmp(its_game, game) == 0;
}

/* The later happened first: what was saved later may have happened before. */
static int by_frame(const void *a, const void *b)
{
	const struct capture *x = a, *y = b;

	if (x->source_session != y->source_session)
		return x->source_session < y->source_session ? 1 : -1;
	if (x->last_frame != y->last_frame)
		return x->last_frame < y->last_frame ? 1 : -1;
	return (x->session < y->session) - (x->session > y->session);
}

/* The newest are kept, as many as the trigger says. */
static void delete_oldest(struct spikes *spikes, const struct open_spike *spike)
{
	_cleanup_free_ char *label = spikes_label(spike);
	captures_vec all = {0};
	uint32_t kept = 0;
	size_t i;
	int r, failed = captures_list(spikes->context.captures, spike->uid, &all);

	if (all.count > 0)
		qsort(all.at, all.count, sizeof(*all.at), by_frame);
	for (i = 0; label && i < all.count; i++) {
		const struct capture *c = &all.at[i];

		if (!is_alike(c, label, spike->game ? spike->game : "") || kept++ < spike->keep)
			continue;
		r = captures_delete(spikes->context.captures, c->session);
		if (r == 0)
			log_debug("capture %llu goes: %u spikes of this trigger are kept",
				  (unsigned long long)c->session, spike->keep);
		else if (r != -ENOENT) /* somebody else was faster */
			failed = r;
	}
	if (failed < 0)
		log_warning("session %llu: old spikes cannot be deleted, ignoring it: %s",
			    (unsigned long long)spike->session, strerror(-failed));
	captures_vec_free(&all);
}

int spikes_save(struct spikes *spikes, const struct open_spike *spike,
		struct spike_found *ret_found, uint64_t *ret_capture)
{
	int r;

	*ret_found = (struct spike_found){0};
	r = look(spikes, spike, ret_found);

	if (r == 0 && spike->uid == HISTORY_ANY_UID)
		return -EAGAIN;

	if (r == 0)
		r = save(spikes, spike, ret_found, ret_capture);
	if (r < 0)
		return r;
	delete_oldest(spikes, spike);
	return 0;
}
