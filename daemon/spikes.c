// SPDX-License-Identifier: MIT
/*
 * The store's thread tells of what was committed: firings become open spikes or make one longer,
 * frames and ends of sessions move them on. The spikes' thread writes a note of each (so that the
 * next daemon can finish it), waits until one is whole, and saves it. While none is open it sleeps
 * without a timeout.
 *
 * A spike is saved when its last frame and all GPU results of its frames are there; when its
 * session has ended; when no frame came for STALL_NS, or nothing is whole after WHOLE_NS; and
 * early, when the frames that it began with are about to be evicted (the store holds them while it
 * can, see store_evict.c). What it lacks then is told in its reason. Which frames are there is what
 * was told of, not what the history has: a firing in the newest frame is told of a moment later
 * than it is stored, and makes the spike longer.
 *
 * The order of a save: capture, then the note goes. A daemon that dies between the two leaves a
 * capture and a note, and the next one saves the spike once more rather than not at all.
 */
#include "spikes_impl.h"

#include "gpu.h"
#include "log.h"
#include "store_notes.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#define STALL_NS   (10 * NS_PER_S)
#define GPU_NS	   (2 * NS_PER_S)
#define WHOLE_NS   (300 * NS_PER_S)
#define RETRY_NS   (2 * NS_PER_S)
#define TRIES	   5u
#define LOOK_NS	   (NS_PER_S / 10) /* while a spike is open */
#define MARGIN	   30u		   /* frames that may be evicted while a save begins */
#define NEAR	   10u /* frames before a spike that are worth more than those after it */
#define OPEN_MAX   64u /* spikes at once; more are failures */
#define FAILED_MAX 32u /* that are remembered */
#define KEY_PREFIX "spike/"
#define LENGTH_MAX TRIGGER_FRAMES_MAX /* frames by which one may grow */

void open_spike_free(struct open_spike *spike)
{
	size_t i;

	if (!spike)
		return;
	for (i = 0; i < spike->fired.count; i++)
		free(spike->fired.at[i]);
	VEC_FREE(&spike->fired);
	free(spike->game);
	free(spike);
}

void spike_deinit(struct spike *spike)
{
	free(spike->label);
	free(spike->reason);
	free(spike->why);
}

void spikes_vec_free(spikes_vec *spikes)
{
	size_t i;

	for (i = 0; i < spikes->count; i++)
		spike_deinit(&spikes->at[i]);
	VEC_FREE(spikes);
}

/* ---- what is committed ---- */

static int add_firing(struct open_spike *s, const struct spike_row *row)
{
	char *text;

	if (s->fired.count == SPIKES_FIRED_MAX) {
		s->more++;
		return 0;
	}
	text = strdup(row->reason_json);
	if (text && VEC_PUSH(&s->fired, text) == 0)
		return 0;
	free(text);
	return -ENOMEM;
}

/* The open spike that a firing makes longer; NULL: it is one of its own. */
static struct open_spike *find_window(struct spikes *spikes, const struct spike_row *row)
{
	size_t i;

	for (i = 0; i < spikes->open.count && !row->end; i++) {
		struct open_spike *s = spikes->open.at[i];

		if (s->session == row->session && !s->busy && !s->failed && !s->end &&
		    row->frame >= s->first && row->frame <= s->last &&
		    row->last < s->frame + LENGTH_MAX)
			return s;
	}
	return NULL;
}

static int open_new(struct spikes *spikes, const struct spike_row *row, struct open_spike **ret)
{
	struct open_spike *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	*s = (struct open_spike){
		.number = spikes->next_number++,
		.session = row->session,
		.frame = row->frame,
		.first = row->first,
		.last = row->last,
		.keep = row->keep,
		.end = row->end,
		.crashed = row->crashed,
		.newest = row->frame,
		.uid = HISTORY_ANY_UID,
		.since_ns = clock_ns(CLOCK_MONOTONIC),
	};
	s->moved_ns = s->since_ns;
	if (add_firing(s, row) < 0 || VEC_PUSH(&spikes->open, s) < 0) {
		open_spike_free(s);
		return -ENOMEM;
	}
	*ret = s;
	return 0;
}

static void take_row(struct spikes *spikes, const struct spike_row *row)
{
	struct open_spike *s = find_window(spikes, row);
	int r = 0;

	if (s)
		r = add_firing(s, row);
	else if (spikes->open.count >= OPEN_MAX)
		r = -EBUSY;
	else
		r = open_new(spikes, row, &s);
	if (r < 0) {
		log_error("session %llu: a spike at frame %llu is lost: %s",
			  (unsigned long long)row->session, (unsigned long long)row->frame,
			  r == -EBUSY ? "too many are open" : strerror(-r));
		return;
	}
	s->last = MAX(s->last, row->last);
	s->first = MIN(s->first, row->first);
	s->keep = MAX(s->keep, row->keep);
	s->freeze = s->freeze || row->freeze;
	s->dirty = true;
	s->whole_ns = 0;
}

static void move_on(struct spikes *spikes, const struct batch *batch)
{
	size_t i, j;

	for (i = 0; i < spikes->open.count; i++) {
		struct open_spike *s = spikes->open.at[i];

		for (j = batch->frames.count; j > 0; j--) {
			const struct frame_row *row = &batch->frames.at[j - 1];

			if (row->session != s->session || row->stream != 0)
				continue;
			s->newest = MAX(s->newest, row->frame);
			s->moved_ns = clock_ns(CLOCK_MONOTONIC);
			break;
		}
		for (j = 0; j < batch->updates.count; j++)
			s->ended = s->ended || (batch->updates.at[j].id == s->session &&
						batch->updates.at[j].state != SESSION_LIVE);
	}
}

void spikes_committed(struct spikes *spikes, const struct batch *batch)
{
	size_t i;

	pthread_mutex_lock(&spikes->lock);
	for (i = 0; i < batch->spikes.count; i++)
		take_row(spikes, &batch->spikes.at[i]);
	spikes_unsaid_take(spikes, batch);
	if (spikes->open.count > 0)
		move_on(spikes, batch);
	for (i = 0; i < batch->updates.count; i++)
		spikes->ended = spikes->ended || batch->updates.at[i].state != SESSION_LIVE;
	if (spikes->open.count > 0 || spikes->ended) {
		spikes->news = true;
		pthread_cond_signal(&spikes->wake);
	}
	pthread_mutex_unlock(&spikes->lock);
}

/* ---- notes and news ---- */

static void note_key(const struct open_spike *s, char *key, size_t size)
{
	snprintf(key, size, KEY_PREFIX "%020llu", (unsigned long long)s->number);
}

/* With the lock held; it is given up while the disk is written. */
static void write_note(struct spikes *spikes, struct open_spike *s)
{
	_cleanup_free_ char *text = spikes_note_text(s);
	char key[48];
	int r;

	note_key(s, key, sizeof(key));
	s->dirty = false;
	pthread_mutex_unlock(&spikes->lock);
	r = text ? store_note_put(spikes->context.store, key, text) : -ENOMEM;
	if (r < 0)
		log_warning("session %llu: a spike would not outlive fprofd: %s, ignoring it",
			    (unsigned long long)s->session, strerror(-r));
	pthread_mutex_lock(&spikes->lock);
}

/* found: NULL before it is saved */
static int describe(const struct open_spike *s, const struct spike_found *found, struct spike *ret)
{
	*ret = (struct spike){
		.state = s->failed ? SPIKE_FAILED : SPIKE_OPEN,
		.session = s->session,
		.frame = s->frame,
		.first = s->first,
		.last = s->last,
		.uid = s->uid,
		.end = s->end,
		.crashed = s->crashed,
		.label = spikes_label(s),
		.reason = spikes_reason(s, found),
		.why = s->failed ? strdup(s->why) : NULL,
	};
	if (ret->label && ret->reason && (ret->why || !s->failed))
		return 0;
	spike_deinit(ret);
	return -ENOMEM;
}

static void tell(struct spikes *spikes, const struct open_spike *s, enum spike_state state,
		 const struct spike_found *found, uint64_t capture)
{
	struct spike spike;

	if (!spikes->told || s->uid == HISTORY_ANY_UID || describe(s, found, &spike) < 0)
		return;
	spike.state = state;
	spike.capture = capture;
	spikes->told(spikes->userdata, &spike);
	spike_deinit(&spike);
}

/* ---- is it whole? ---- */

/* What the history says of a spike; asked without the lock. */
struct sight {
	uint64_t session, first, last; /* asked */
	int error;		       /* -ENOENT: its session is gone */
	uint32_t uid;
	bool ended, gpu_pending;
	uint64_t newest, edge; /* frames: the last one, the first one with events */
	char *game;	       /* NULL: not known */
};

/* Are there GPU results to come for its frames? Those of older ones are final. */
static bool gpu_pending(struct spikes *spikes, const struct sight *sight)
{
	uint64_t last_final = sight->newest - MIN(sight->newest, (uint64_t)GPU_FRAMES_PENDING);
	struct history_frames frames = {0};
	bool pending = false;
	size_t i;

	if (history_frames(spikes->history, sight->session, NULL, MAX(sight->first, last_final + 1),
			   sight->last, &frames) < 0)
		return false;
	for (i = 0; i < frames.frames.count; i++)
		pending = pending || frames.frames.at[i].row.flags & FRAME_GPU_PENDING;
	history_frames_deinit(&frames);
	return pending;
}

static void look(struct spikes *spikes, struct sight *sight)
{
	struct history_session session = {0};

	sight->error = history_session(spikes->history, sight->session, HISTORY_ANY_UID, &session);
	if (sight->error < 0)
		return;
	sight->uid = session.row.uid;
	sight->ended = session.update.state != SESSION_LIVE;
	sight->newest = session.last_frame;
	sight->edge = session.first_retained;
	sight->game = session.row.name ? strdup(session.row.name) : NULL;
	history_session_deinit(&session);
	if (sight->newest >= sight->last)
		sight->gpu_pending = gpu_pending(spikes, sight);
}

/* Are the frames that it begins with about to be evicted? Where these were never all there, those
 * near it count. The store holds them back while there are bytes for them, but where there are
 * fewer frames than it keeps, there are not. */
static bool in_danger(const struct spikes *spikes, struct open_spike *s, uint64_t edge)
{
	bool short_of_bytes =
		s->newest + 1 - MIN(edge, s->newest) + MARGIN < spikes->context.frames;
	uint64_t step, need;

	if (s->edge == 0)
		s->there = s->edge = edge;
	step = MARGIN + 2 * (edge - MIN(edge, s->edge));
	s->edge = edge;
	need = s->there <= s->first ? s->first : s->frame - MIN(s->frame, (uint64_t)NEAR);
	return edge > 1 && (edge > need || (short_of_bytes && edge + step > need));
}

/* Is there no more to be waited for? */
static bool is_whole(const struct spikes *spikes, struct open_spike *s, const struct sight *sight)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);

	if (sight->error < 0 || s->ended || s->end || in_danger(spikes, s, sight->edge))
		return true;
	if (s->newest < s->last)
		return now - s->moved_ns > STALL_NS || now - s->since_ns > WHOLE_NS;
	if (s->whole_ns == 0)
		s->whole_ns = now;
	if (sight->last != s->last || sight->newest < s->last)
		return false; /* it has grown since */
	return now - s->whole_ns > GPU_NS || !sight->gpu_pending;
}

/* ---- finishing ---- */

static void freeze(struct spikes *spikes, const struct open_spike *s)
{
	int r;

	if (!s->freeze || !spikes->context.drain)
		return;
	r = drain_session_record(spikes->context.drain, s->session, FPROF_STATE_FROZEN);
	if (r < 0 && r != -ENOENT)
		log_warning("session %llu: ignoring that it cannot be frozen: %s",
			    (unsigned long long)s->session, strerror(-r));
}

static const char *failure(int error)
{
	switch (error) {
	case -ENOENT:
		return "its frames are not there any more";
	case -ENOSPC:
	case -EDQUOT:
		return "there is no room for it";
	case -EROFS:
		return "the state directory cannot be written";
	default:
		return strerror(-error);
	}
}

/* Takes the spike out of the list and forgets its note. The lock is held. */
static void close_spike(struct spikes *spikes, struct open_spike *s)
{
	char key[48];
	size_t i;

	for (i = 0; spikes->open.at[i] != s; i++)
		;
	memmove(&spikes->open.at[i], &spikes->open.at[i + 1],
		(spikes->open.count - i - 1) * sizeof(struct open_spike *));
	spikes->open.count--;
	note_key(s, key, sizeof(key));
	pthread_mutex_unlock(&spikes->lock);
	if (store_note_put(spikes->context.store, key, NULL) < 0)
		log_warning("session %llu: ignoring that the note of a spike stays",
			    (unsigned long long)s->session);
	open_spike_free(s);
	pthread_mutex_lock(&spikes->lock);
}

static void drop_old_failures(struct spikes *spikes)
{
	size_t i, failed = 0;

	for (i = spikes->open.count; i > 0; i--)
		if (spikes->open.at[i - 1]->failed && ++failed > FAILED_MAX) {
			close_spike(spikes, spikes->open.at[i - 1]);
			return;
		}
}

/* It stays in the list, with why. The lock is held. */
static void fail(struct spikes *spikes, struct open_spike *s, int error)
{
	s->failed = true;
	snprintf(s->why, sizeof(s->why), "%s", failure(error));
	log_warning("session %llu: the spike at frame %llu could not be saved: %s",
		    (unsigned long long)s->session, (unsigned long long)s->frame, s->why);
	write_note(spikes, s);
	tell(spikes, s, SPIKE_FAILED, NULL, 0);
	s->busy = false;
	drop_old_failures(spikes);
}

/* A capture that an earlier daemon made when it stopped is worth as much as what is there now, or
 * less. */
static int settle_interim(struct spikes *spikes, const struct open_spike *s, int r,
			  uint64_t *capture)
{
	if (s->interim == 0)
		return r;
	if (r == -ENOENT) {
		*capture = s->interim;
		return 0;
	}
	if (r == 0 && captures_delete(spikes->context.captures, s->interim) < 0)
		log_warning("capture %llu: ignoring that it cannot be deleted",
			    (unsigned long long)s->interim);
	return r;
}

/* Saves a spike. The lock is held, and given up meanwhile. */
static void finish(struct spikes *spikes, struct open_spike *s)
{
	struct spike_found found;
	uint64_t capture = 0;
	int r;

	s->busy = true;
	pthread_mutex_unlock(&spikes->lock);
	if (s->tries == 0)
		freeze(spikes, s);
	r = spikes_save(spikes, s, &found, &capture);
	r = settle_interim(spikes, s, r, &capture);
	if (r == 0) {
		log_info("session %llu: the spike at frame %llu is capture %llu",
			 (unsigned long long)s->session, (unsigned long long)s->frame,
			 (unsigned long long)capture);
		tell(spikes, s, SPIKE_SAVED, &found, capture);
	}
	pthread_mutex_lock(&spikes->lock);
	if (r == 0) {
		close_spike(spikes, s);
	} else if (r == -ENOENT || ++s->tries >= TRIES) {
		fail(spikes, s, r);
	} else {
		s->retry_ns = clock_ns(CLOCK_MONOTONIC) + RETRY_NS;
		s->busy = false;
	}
}

/* One look at one spike. The lock is held, and given up meanwhile; s may be gone afterwards. */
static void attend(struct spikes *spikes, struct open_spike *s)
{
	struct sight sight = {.session = s->session, .first = s->first, .last = s->last};

	if (clock_ns(CLOCK_MONOTONIC) < s->retry_ns)
		return;
	pthread_mutex_unlock(&spikes->lock);
	look(spikes, &sight);
	pthread_mutex_lock(&spikes->lock);
	if (sight.error == 0) {
		s->uid = sight.uid;
		if (s->taken_on) {
			s->ended = s->ended || sight.ended;
			s->newest = MAX(s->newest, sight.newest);
		}
		if (!s->game) {
			s->game = sight.game;
			sight.game = NULL;
		}
	}
	free(sight.game);
	if (sight.error == 0 && !s->told) {
		s->told = s->dirty = true;
		tell(spikes, s, SPIKE_OPEN, NULL, 0);
	}
	if (s->dirty)
		write_note(spikes, s);
	if (!s->dirty && is_whole(spikes, s, &sight))
		finish(spikes, s);
}

/* ---- the thread ---- */

/* Now and then: when a session has ended. */
static void prune_triggers(struct spikes *spikes)
{
	if (!spikes->ended)
		return;
	spikes->ended = false;
	pthread_mutex_unlock(&spikes->lock);
	trigger_book_prune(spikes->context.triggers, spikes->history);
	pthread_mutex_lock(&spikes->lock);
}

static void attend_all(struct spikes *spikes)
{
	size_t i, before;

	for (i = 0; i < spikes->open.count;) {
		if (spikes->open.at[i]->failed) {
			i++;
			continue;
		}
		before = spikes->open.count;
		attend(spikes, spikes->open.at[i]);
		i += spikes->open.count >= before;
	}
}

static bool any_open(const struct spikes *spikes)
{
	size_t i;

	for (i = 0; i < spikes->open.count; i++)
		if (!spikes->open.at[i]->failed)
			return true;
	return false;
}

static void wait_for_news(struct spikes *spikes)
{
	struct timespec until = clock_after(LOOK_NS);

	if (spikes->news || spikes->stop)
		return;
	if (any_open(spikes))
		pthread_cond_timedwait(&spikes->wake, &spikes->lock, &until);
	else
		pthread_cond_wait(&spikes->wake, &spikes->lock);
}

/* What is open is saved as far as it is there: after a reboot the history is gone. */
static void save_interim(struct spikes *spikes)
{
	struct spike_found found;
	uint64_t capture;
	size_t i;

	spikes->stopping = true;
	for (i = 0; i < spikes->open.count; i++) {
		struct open_spike *s = spikes->open.at[i];

		if (s->failed)
			continue;
		if (spikes_save(spikes, s, &found, &capture) == 0) {
			if (s->interim)
				captures_delete(spikes->context.captures, s->interim);
			s->interim = capture;
		}
		write_note(spikes, s);
	}
}

static void *spikes_thread(void *userdata)
{
	struct spikes *spikes = userdata;

	pthread_mutex_lock(&spikes->lock);
	while (!spikes->stop) {
		spikes->news = false;
		prune_triggers(spikes);
		spikes_unsaid_note(spikes, false);
		attend_all(spikes);
		wait_for_news(spikes);
	}
	attend_all(spikes);
	save_interim(spikes);
	spikes_unsaid_note(spikes, true);
	pthread_mutex_unlock(&spikes->lock);
	return NULL;
}

/* ---- called by others ---- */

static int on_note(void *userdata, const char *key, const char *text)
{
	struct spikes *spikes = userdata;
	struct open_spike *s = NULL;
	int r = spikes_note_parse(text, &s);

	if (r == -EBADMSG) {
		log_warning("ignoring the note %s of a spike, which makes no sense", key);
		return 0;
	}
	if (r < 0)
		return r;
	s->number = strtoull(key + strlen(KEY_PREFIX), NULL, 10);
	s->since_ns = s->moved_ns = clock_ns(CLOCK_MONOTONIC);
	s->taken_on = true;
	s->told = s->failed;
	spikes->next_number = MAX(spikes->next_number, s->number + 1);
	r = VEC_PUSH(&spikes->open, s);
	if (r < 0)
		open_spike_free(s);
	return r;
}

static int init_sync(struct spikes *spikes)
{
	int r = cond_init_monotonic(&spikes->wake);

	return r < 0 ? r : -pthread_mutex_init(&spikes->lock, NULL);
}

int spikes_new(const struct spikes_context *context, spikes_told_fn told, void *userdata,
	       struct spikes **ret_spikes)
{
	struct spikes *spikes = calloc(1, sizeof(*spikes));
	int r;

	if (!spikes)
		return -ENOMEM;
	spikes->context = *context;
	spikes->told = told;
	spikes->userdata = userdata;
	spikes->next_number = 1;
	r = init_sync(spikes);
	if (r < 0) {
		free(spikes);
		return r;
	}
	r = history_open(context->store, &spikes->history);
	if (r == 0) {
		r = store_notes_read(context->store, KEY_PREFIX, on_note, spikes);
		r = r == -ENOMEM ? r : 0; /* without fprofd.db spikes live as long as the daemon */
	}
	if (r == 0)
		r = spikes_unsaid_read(spikes);
	if (r == 0)
		r = -pthread_create(&spikes->thread, NULL, spikes_thread, spikes);
	if (r < 0) {
		spikes_free(spikes);
		return r;
	}
	pthread_setname_np(spikes->thread, "spikes");
	spikes->started = true;
	*ret_spikes = spikes;
	return 0;
}

void spikes_free(struct spikes *spikes)
{
	size_t i;

	if (!spikes)
		return;
	if (spikes->started) {
		pthread_mutex_lock(&spikes->lock);
		spikes->stop = true;
		pthread_cond_signal(&spikes->wake);
		pthread_mutex_unlock(&spikes->lock);
		pthread_join(spikes->thread, NULL);
	}
	for (i = 0; i < spikes->open.count; i++)
		open_spike_free(spikes->open.at[i]);
	VEC_FREE(&spikes->open);
	spikes_unsaid_deinit(spikes);
	history_close(spikes->history);
	pthread_cond_destroy(&spikes->wake);
	pthread_mutex_destroy(&spikes->lock);
	free(spikes);
}

int spikes_list(struct spikes *spikes, uint32_t uid, spikes_vec *ret_spikes)
{
	spikes_vec list = {0};
	struct spike spike;
	size_t i;
	int r = 0;

	pthread_mutex_lock(&spikes->lock);
	for (i = 0; i < spikes->open.count && r == 0; i++) {
		const struct open_spike *s = spikes->open.at[i];

		if (s->uid == HISTORY_ANY_UID || (uid != HISTORY_ANY_UID && uid != s->uid))
			continue;
		r = describe(s, NULL, &spike);
		if (r == 0 && VEC_PUSH(&list, spike) < 0) {
			spike_deinit(&spike);
			r = -ENOMEM;
		}
	}
	pthread_mutex_unlock(&spikes->lock);
	if (r < 0) {
		spikes_vec_free(&list);
		return r;
	}
	*ret_spikes = list;
	return 0;
}
