/* SPDX-License-Identifier: MIT */
/*
 * The store thread must not wait for readers, so a commit leaves only numbers here: which frames of
 * which session are new, which older ones got GPU results, whether a session began or ended. The
 * feed thread reads these rows back and publishes them, as the same JSON that the frames' endpoint
 * gives; so what a client hears is always committed. While no one listens, nothing is noted.
 */
#include "feed.h"

#include "log.h"
#include "util.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#define LOOK_MS	      1000 /* whether who listens is still there */
#define KEEPALIVE_MS  15000
#define AGAIN_MS      100 /* after a history that could not be read */
#define REPLAY_FRAMES 128 /* read at once for a client that catches up */

/* What is new of a session. Ranges are empty when from is 0. */
struct news {
	uint64_t session;
	uint64_t from, to;	   /* frames */
	uint64_t gpu_from, gpu_to; /* frames that got GPU rows */
	bool state;		   /* began, or ended */
	bool record;		   /* its recording was stopped, resumed or frozen */
	uint64_t lost;		   /* events, since it was last told */
	uint64_t lost_total;
};

/* How many lost events of a session were noted. */
struct losses {
	uint64_t session, events;
};

struct feed {
	const struct api *api;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stop;
	bool again;			/* news were put back: not at once again */
	uint64_t look_ns, keepalive_ns; /* when it is time to; the thread's own */
	VEC(struct news) news;		/* a session once */
	VEC(struct losses) losses;	/* of live sessions that had any */
};

static struct news *news_of(struct feed *feed, uint64_t session)
{
	size_t i;

	for (i = 0; i < feed->news.count; i++)
		if (feed->news.at[i].session == session)
			return &feed->news.at[i];
	if (VEC_PUSH(&feed->news, (struct news){.session = session}) < 0)
		return NULL;
	return &feed->news.at[feed->news.count - 1];
}

static void widen(uint64_t *from, uint64_t *to, uint64_t frame)
{
	if (!*from || frame < *from)
		*from = frame;
	if (frame > *to)
		*to = frame;
}

static void note_frames(struct feed *feed, const struct batch *batch)
{
	struct news *n;
	size_t i;

	for (i = 0; i < batch->frames.count; i++) {
		const struct frame_row *r = &batch->frames.at[i];

		if (r->stream == 0 && (n = news_of(feed, r->session)))
			widen(&n->from, &n->to, r->frame);
	}
	for (i = 0; i < batch->frame_gpus.count; i++) {
		const struct frame_gpu_row *r = &batch->frame_gpus.at[i];

		n = news_of(feed, r->session);
		if (n)
			widen(&n->gpu_from, &n->gpu_to, r->frame);
	}
}

static void note_states(struct feed *feed, const struct batch *batch)
{
	struct news *n;
	size_t i;

	for (i = 0; i < batch->sessions.count; i++) {
		n = news_of(feed, batch->sessions.at[i].id);
		if (n)
			n->state = true;
	}
	for (i = 0; i < batch->updates.count; i++) {
		const struct session_update_row *u = &batch->updates.at[i];

		if (u->state != SESSION_LIVE && (n = news_of(feed, u->id)))
			n->state = true;
		if (u->record_news && (n = news_of(feed, u->id)))
			n->record = true;
	}
}

static struct losses *losses_of(struct feed *feed, uint64_t session)
{
	size_t i;

	for (i = 0; i < feed->losses.count; i++)
		if (feed->losses.at[i].session == session)
			return &feed->losses.at[i];
	if (VEC_PUSH(&feed->losses, (struct losses){.session = session}) < 0)
		return NULL;
	return &feed->losses.at[feed->losses.count - 1];
}

static void note_losses(struct feed *feed, const struct batch *batch)
{
	size_t i;

	for (i = 0; i < batch->updates.count; i++) {
		const struct session_update_row *u = &batch->updates.at[i];
		uint64_t lost = api_lost_events(u);
		struct losses *known = lost > 0 ? losses_of(feed, u->id) : NULL;
		struct news *n;

		if (known && lost > known->events && (n = news_of(feed, u->id))) {
			n->lost += lost - known->events;
			n->lost_total = known->events = lost;
		}
		if (known && u->state != SESSION_LIVE)
			*known = feed->losses.at[--feed->losses.count];
	}
}

void feed_committed(struct feed *feed, const struct batch *batch)
{
	if (!stream_hub_clients(feed->api->hub))
		return;
	pthread_mutex_lock(&feed->lock);
	note_states(feed, batch);
	note_frames(feed, batch);
	note_losses(feed, batch);
	if (feed->news.count)
		pthread_cond_signal(&feed->wake);
	pthread_mutex_unlock(&feed->lock);
}

void feed_wake(struct feed *feed)
{
	pthread_mutex_lock(&feed->lock);
	pthread_cond_signal(&feed->wake);
	pthread_mutex_unlock(&feed->lock);
}

static void publish(struct feed *feed, struct stream_event *event, const struct json *text)
{
	event->text = text->at;
	event->bytes = text->count;
	if (!text->failed)
		stream_publish(feed->api->hub, event);
}

/* An event of a session without a number of its own: its data is written between the two. */
static void tell_begin(struct json *text, const char *name)
{
	stream_format_begin(text, name);
	stream_format_data(text);
}

static void tell_end(struct feed *feed, enum stream_kind kind, uint64_t session, uint32_t uid,
		     struct json *text)
{
	struct stream_event event = {.kind = kind, .session = session, .uid = uid};

	stream_format_end(text);
	publish(feed, &event, text);
	json_free(text);
}

static void format_frame(struct json *out, const char *name, uint64_t session,
			 const struct history_frames *frames, size_t i, bool with_id)
{
	stream_format_begin(out, name);
	if (with_id)
		stream_format_id(out, session, frames->frames.at[i].row.frame);
	stream_format_data(out);
	api_json_frame(out, session, frames, i);
	stream_format_end(out);
}

static bool has_gpu(const struct history_frames *frames, uint64_t frame)
{
	size_t i;

	for (i = 0; i < frames->gpus.count; i++)
		if (frames->gpus.at[i].frame == frame)
			return true;
	return false;
}

/* Publishes frames from..to of a session: all as new ones, or those with GPU results as
 * completions. */
static int tell_frames(struct feed *feed, struct history *h, const struct news *n, uint32_t uid,
		       enum stream_kind kind, uint64_t from, uint64_t to)
{
	__attribute__((cleanup(history_frames_deinit))) struct history_frames frames = {0};
	struct stream_event event = {.kind = kind, .session = n->session, .uid = uid};
	struct json text = {0};
	size_t i;
	int rc = history_frames(h, n->session, NULL, from, to, &frames);

	if (rc < 0)
		return rc;
	if (kind == STREAM_FRAME && frames.frames.count < to - from + 1)
		stream_miss(feed->api->hub, n->session, uid, to - from + 1 - frames.frames.count);
	for (i = 0; i < frames.frames.count; i++) {
		event.frame = frames.frames.at[i].row.frame;
		if (kind == STREAM_GPU && !has_gpu(&frames, event.frame))
			continue;
		text.count = 0;
		format_frame(&text, kind == STREAM_GPU ? "gpu" : "frame", n->session, &frames, i,
			     kind == STREAM_FRAME);
		publish(feed, &event, &text);
	}
	json_free(&text);
	return 0;
}

static void tell_session(struct feed *feed, struct history *h, const struct history_session *s)
{
	history_streams_vec streams = {0};
	struct json text = {0};
	size_t i;

	history_streams(h, s->row.id, &streams);
	tell_begin(&text, "session");
	api_json_session(&text, feed->api, s, &streams);
	tell_end(feed, STREAM_SESSION, s->row.id, s->row.uid, &text);
	for (i = 0; i < streams.count; i++)
		free(streams.at[i].name);
	VEC_FREE(&streams);
}

static void tell_record(struct feed *feed, const struct history_session *s)
{
	struct json text = {0};

	tell_begin(&text, "state");
	api_json_recording(&text, feed->api, s);
	tell_end(feed, STREAM_STATE, s->row.id, s->row.uid, &text);
}

static void tell_loss(struct feed *feed, const struct news *n, uint32_t uid)
{
	struct json text = {0};

	tell_begin(&text, "loss");
	json_object_begin(&text);
	json_member_uint(&text, "session", n->session);
	json_member_uint(&text, "lost_events", n->lost_total);
	json_member_uint(&text, "new", n->lost);
	json_object_end(&text);
	tell_end(feed, STREAM_LOSS, n->session, uid, &text);
}

void feed_spike(struct feed *feed, const struct spike *spike)
{
	struct json text = {0};

	tell_begin(&text, "spike");
	api_json_spike(&text, spike);
	tell_end(feed, STREAM_SPIKE, spike->session, spike->uid, &text);
}

/* Tells all of n and takes from it what was told. 0 or -errno: the rest is still to be told. */
static int tell(struct feed *feed, struct history *h, struct news *n)
{
	__attribute__((cleanup(history_session_deinit))) struct history_session s = {0};
	int rc = history_session(h, n->session, HISTORY_ANY_UID, &s);

	if (rc < 0)
		return rc;
	if (n->state && s.update.state == SESSION_LIVE) {
		tell_session(feed, h, &s);
		n->state = false;
	}
	if (n->from) {
		rc = tell_frames(feed, h, n, s.row.uid, STREAM_FRAME, n->from, n->to);
		if (rc < 0)
			return rc;
		if (n->gpu_to >= n->from)
			n->gpu_to = n->from - 1; /* these were just sent with what they have */
		n->from = 0;
	}
	if (n->gpu_from && n->gpu_from <= n->gpu_to) {
		rc = tell_frames(feed, h, n, s.row.uid, STREAM_GPU, n->gpu_from, n->gpu_to);
		if (rc < 0)
			return rc;
	}
	if (n->record)
		tell_record(feed, &s);
	if (n->lost)
		tell_loss(feed, n, s.row.uid);
	if (n->state)
		tell_session(feed, h, &s);
	return 0;
}

/* What could not be read is put back, for the next round. */
static void put_back(struct feed *feed, const struct news *rest)
{
	struct news *n;

	pthread_mutex_lock(&feed->lock);
	n = news_of(feed, rest->session);
	if (n && rest->from) {
		widen(&n->from, &n->to, rest->from);
		widen(&n->from, &n->to, rest->to);
	}
	if (n && rest->gpu_from && rest->gpu_from <= rest->gpu_to) {
		widen(&n->gpu_from, &n->gpu_to, rest->gpu_from);
		widen(&n->gpu_from, &n->gpu_to, rest->gpu_to);
	}
	if (n)
		n->state |= rest->state;
	if (n)
		n->record |= rest->record;
	if (n && rest->lost) {
		n->lost += rest->lost;
		n->lost_total = MAX(n->lost_total, rest->lost_total);
	}
	feed->again = true;
	pthread_mutex_unlock(&feed->lock);
}

static void tell_all(struct feed *feed, struct news *news, size_t count)
{
	_cleanup_reader_ struct api_reader reader = {0};
	size_t i;
	int rc = readers_take(feed->api->readers, &reader.history);

	if (!rc)
		reader.readers = feed->api->readers;
	for (i = 0; i < count; i++) {
		if (reader.readers)
			rc = tell(feed, reader.history, &news[i]);
		if (rc == -ENOENT && news[i].from) /* whose it was is gone with it */
			stream_miss(feed->api->hub, news[i].session, HISTORY_ANY_UID,
				    news[i].to - news[i].from + 1);
		if (rc == 0 || rc == -ENOENT)
			continue;
		log_warning("the event stream cannot read the history, trying again: %s",
			    strerror(-rc));
		put_back(feed, &news[i]);
	}
}

/* Waits for news, or until it is time to look who listens. With the lock held. */
static void wait_for_news(struct feed *feed)
{
	struct timespec until = clock_after((feed->again ? AGAIN_MS : LOOK_MS) * NS_PER_MS);

	while (!feed->stop && (feed->again || !feed->news.count)) {
		if (!stream_hub_clients(feed->api->hub)) {
			feed->again = false;
			pthread_cond_wait(&feed->wake, &feed->lock);
			until = clock_after(LOOK_MS * NS_PER_MS);
		} else if (pthread_cond_timedwait(&feed->wake, &feed->lock, &until) == ETIMEDOUT) {
			break;
		}
	}
	feed->again = false;
}

static void look(struct feed *feed)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	bool keepalive = now >= feed->keepalive_ns;

	if (now < feed->look_ns)
		return;
	stream_look(feed->api->hub, keepalive);
	feed->look_ns = now + LOOK_MS * NS_PER_MS;
	if (keepalive)
		feed->keepalive_ns = now + KEEPALIVE_MS * NS_PER_MS;
}

static void *run(void *userdata)
{
	struct feed *feed = userdata;

	pthread_mutex_lock(&feed->lock);
	while (!feed->stop) {
		struct news *news;
		size_t count;

		wait_for_news(feed);
		news = feed->news.at;
		count = feed->news.count;
		feed->news.at = NULL;
		feed->news.count = feed->news.capacity = 0;
		pthread_mutex_unlock(&feed->lock);
		if (count)
			tell_all(feed, news, count);
		look(feed);
		free(news);
		pthread_mutex_lock(&feed->lock);
	}
	pthread_mutex_unlock(&feed->lock);
	return NULL;
}

int feed_new(const struct api *api, struct feed **ret_feed)
{
	struct feed *feed = calloc(1, sizeof(*feed));
	int rc;

	if (!feed)
		return -ENOMEM;
	feed->api = api;
	pthread_mutex_init(&feed->lock, NULL);
	cond_init_monotonic(&feed->wake);
	rc = pthread_create(&feed->thread, NULL, run, feed);
	if (rc) {
		free(feed);
		return -rc;
	}
	pthread_setname_np(feed->thread, "feed");
	*ret_feed = feed;
	return 0;
}

void feed_free(struct feed *feed)
{
	if (!feed)
		return;
	pthread_mutex_lock(&feed->lock);
	feed->stop = true;
	pthread_cond_signal(&feed->wake);
	pthread_mutex_unlock(&feed->lock);
	pthread_join(feed->thread, NULL);
	pthread_cond_destroy(&feed->wake);
	pthread_mutex_destroy(&feed->lock);
	VEC_FREE(&feed->news);
	VEC_FREE(&feed->losses);
	free(feed);
}

int feed_replay(void *userdata, uint64_t session, uint64_t after, struct json *out,
		uint64_t *ret_last, uint64_t *ret_missed)
{
	__attribute__((cleanup(history_frames_deinit))) struct history_frames frames = {0};
	const struct api *api = userdata;
	_cleanup_reader_ struct api_reader reader = {0};
	size_t i;
	int rc = readers_take(api->readers, &reader.history);

	if (rc < 0)
		return rc;
	reader.readers = api->readers;
	rc = history_frames(reader.history, session, NULL, after + 1, after + REPLAY_FRAMES,
			    &frames);
	if (rc == 0 && !frames.frames.count && frames.first_row > after) {
		*ret_missed = frames.first_row - after - 1;
		after = frames.first_row - 1;
		history_frames_deinit(&frames);
		memset(&frames, 0, sizeof(frames));
		rc = history_frames(reader.history, session, NULL, after + 1, after + REPLAY_FRAMES,
				    &frames);
	}
	if (rc < 0)
		return rc;
	for (i = 0; i < frames.frames.count; i++) {
		*ret_missed += frames.frames.at[i].row.frame - after - 1;
		after = frames.frames.at[i].row.frame;
		format_frame(out, "frame", session, &frames, i, true);
	}
	*ret_last = after;
	return 0;
}
