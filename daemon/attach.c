/* SPDX-License-Identifier: MIT */
/*
 * Two locks. `asking` is held by whoever talks to the helper or makes, ends and frees attachments,
 * for seconds if need be. `lock` guards the list, the kernel's buffer and what is written from it;
 * it is taken inside the other, never for long: the loop takes it when a game has ended, to read
 * its last events before its session ends.
 *
 * An attachment that has to go is marked under `lock`; whoever holds `asking` next frees it. With
 * the last one the helper's connection is closed: then nothing of ours is in the kernel.
 *
 * The kernel's events come up to a round late. They are converted between two pairs of clocks, as
 * those of the scheduler are (sched_trace.c).
 */
#include "attach.h"

#include "clock_pairs.h"
#include "control_set.h"
#include "game.h"
#include "history.h"
#include "log.h"
#include "peer.h"
#include "probe/functions.h"
#include "probe_client.h"
#include "process.h"
#include "stand_in.h"
#include "vulkan_driver.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#define ROUND_NS    (10 * NS_PER_MS)
#define SCAN_NS	    NS_PER_S /* between two looks at a game's threads */
#define EVENTS	    512u
#define DRIVERS_MAX 8

struct watched {
	uint32_t tid; /* the kernel's */
	int32_t game_tid;
	bool refused;  /* there was no slot for it, and that was counted */
	uint64_t scan; /* that saw it last */
};

struct attachment {
	uint64_t session; /* 0: not yet */
	struct peer peer;
	uint32_t functions;
	const char *unseen;
	struct stand_in *memory;
	VEC(struct watched) threads;
	uint64_t scans, lost;
	const char *detach; /* it has to go, for this reason; NULL: it stays */
	bool ended;	    /* its session has ended */
};

struct attach {
	struct drain *drain;
	struct games *games;
	struct loop_calls *calls;
	struct status *status;
	pthread_t thread;
	bool running;
	pthread_mutex_t asking; /* of the next ones */
	struct probe_client client;
	bool open;
	pthread_mutex_t lock; /* of all that follows */
	pthread_cond_t wake;
	bool stop;
	VEC(struct attachment *) all;
	struct probe_ring ring;
	uint64_t ring_lost;
	struct clock_pairs pairs;
	uint64_t round_ticks; /* the clock at the round before */
	uint64_t scanned_ns;
	struct probe_event events[EVENTS];
};

static int fail(struct attach_failure *f, int error, const char *reason, const char *fix)
{
	snprintf(f->reason, sizeof(f->reason), "%s", reason);
	snprintf(f->fix, sizeof(f->fix), "%s", fix);
	return error;
}

/* ---- what the kernel tells; under the lock ---- */

static struct watched *watched_of(struct attachment *t, uint32_t tid)
{
	size_t i;

	for (i = t->threads.count; i-- > 0;)
		if (t->threads.at[i].tid == tid)
			return &t->threads.at[i];
	return NULL;
}

/* Makes a thread known, under the name that it has now. */
static struct watched *watch(struct attachment *t, uint32_t tid, const char *name, uint64_t ticks)
{
	struct watched *w = watched_of(t, tid);
	struct process_thread thread;
	bool there = process_thread(t->peer.pid, (int32_t)tid, &thread) == 0;

	if (!w) {
		if (VEC_RESERVE(&t->threads, 1) < 0)
			return NULL;
		w = &t->threads.at[t->threads.count++];
		*w = (struct watched){.tid = tid, .game_tid = there ? thread.ns_tid : (int32_t)tid};
	}
	w->scan = t->scans;
	if (there || name)
		w->refused = stand_in_thread(t->memory, w->game_tid, there ? thread.name : name,
					     ticks, !w->refused) < 0;
	return w;
}

static bool was_shown(const struct probe_event *e)
{
	enum present_success success = present_functions[e->arg0].success;

	if (success == PRESENT_NOT_NEGATIVE)
		return (int32_t)e->arg1 >= 0;
	return success == PRESENT_ALWAYS || (uint32_t)e->arg1 != 0;
}

static void take_event(struct attach *a, struct attachment *t, const struct probe_event *e)
{
	struct watched *w;
	uint64_t ticks;

	if (clock_pairs_ticks(&a->pairs, e->ns, &ticks) < 0) {
		stand_in_lost(t->memory, 1);
		return;
	}
	if (e->kind == PROBE_EXEC) {
		t->detach = "exec";
		return;
	}
	w = watched_of(t, e->tid);
	if (!w)
		w = watch(t, e->tid, e->other_comm, ticks);
	if (!w || e->arg0 >= PRESENT_FUNCTIONS)
		stand_in_lost(t->memory, 1);
	else if (e->kind == PROBE_PRESENT_IN)
		stand_in_enter(t->memory, w->game_tid, (unsigned)e->arg0, ticks);
	else if (e->kind == PROBE_PRESENT_OUT)
		stand_in_leave(t->memory, w->game_tid, was_shown(e), ticks);
}

static struct attachment *attachment_of(const struct attach *a, uint32_t tgid)
{
	size_t i;

	for (i = 0; i < a->all.count; i++)
		if ((uint32_t)a->all.at[i]->peer.pid == tgid && !a->all.at[i]->detach &&
		    !a->all.at[i]->ended)
			return a->all.at[i];
	return NULL;
}

static void note_lost(struct attach *a)
{
	uint64_t lost = probe_ring_lost(&a->ring), i;

	for (i = 0; lost != a->ring_lost && i < a->all.count; i++) {
		stand_in_lost(a->all.at[i]->memory, lost - a->ring_lost);
		a->all.at[i]->lost += lost - a->ring_lost;
	}
	a->ring_lost = lost;
}

static void read_events(struct attach *a)
{
	struct attachment *t;
	size_t n, i;

	if (!a->ring.bytes)
		return;
	do {
		n = probe_ring_read(&a->ring, a->events, EVENTS);
		clock_pairs_take(&a->pairs);
		for (i = 0; i < n; i++) {
			t = attachment_of(a, a->events[i].tgid);
			if (t)
				take_event(a, t, &a->events[i]);
		}
	} while (n == EVENTS);
	note_lost(a);
}

/* ---- rounds; under the lock ---- */

static void end_missing(struct attachment *t, uint64_t ticks)
{
	size_t i, kept = 0;

	for (i = 0; i < t->threads.count; i++) {
		if (t->threads.at[i].scan == t->scans)
			t->threads.at[kept++] = t->threads.at[i];
		else
			stand_in_thread_end(t->memory, t->threads.at[i].game_tid, ticks);
	}
	t->threads.count = kept;
}

/* Its threads, as they are: those that are new, renamed, gone. What is not read yet of them is
 * younger than the round before. */
static void scan_threads(const struct attach *a, struct attachment *t, uint64_t now)
{
	const struct dirent *entry;
	char path[32];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", t->peer.pid);
	dir = opendir(path);
	if (!dir)
		return;
	t->scans++;
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			watch(t, (uint32_t)atoi(entry->d_name), NULL, a->round_ticks);
	closedir(dir);
	end_missing(t, now);
}

static void take_order(struct attach *a, struct attachment *t, uint64_t now)
{
	struct control_view view;

	if (control_set_view(drain_controls(a->drain), t->session, &view) == 0)
		stand_in_order(t->memory, view.waits ? FPROF_STATE_STOPPED : view.ordered, now);
}

static void run_round(struct attach *a)
{
	uint64_t now = fprof_clock_read(a->pairs.kind);
	bool scan = clock_ns(CLOCK_MONOTONIC) - a->scanned_ns >= SCAN_NS;
	size_t i;

	read_events(a);
	for (i = 0; i < a->all.count; i++) {
		take_order(a, a->all.at[i], now);
		if (scan)
			scan_threads(a, a->all.at[i], now);
	}
	if (scan)
		a->scanned_ns = clock_ns(CLOCK_MONOTONIC);
	a->round_ticks = now;
}

/* ---- making and ending; under `asking` ---- */

static void attachment_free(struct attachment *t)
{
	stand_in_free(t->memory);
	peer_deinit(&t->peer);
	VEC_FREE(&t->threads);
	free(t);
}

static void say_state(struct attach *a, enum source_state state, const char *reason,
		      const char *fix)
{
	status_source(a->status, "attach", state, reason, fix);
}

static void close_helper(struct attach *a)
{
	pthread_mutex_lock(&a->lock);
	probe_ring_unmap(&a->ring);
	pthread_mutex_unlock(&a->lock);
	probe_client_close(&a->client);
	a->open = false;
}

static int open_helper(struct attach *a, struct attach_failure *f)
{
	struct drain_health health;
	struct probe_ring ring;
	int r;

	if (a->open)
		return 0;
	r = probe_client_open(&a->client, &ring);
	if (r < 0) {
		say_state(a, SOURCE_UNAVAILABLE, a->client.reason, a->client.fix);
		return fail(f, -EOPNOTSUPP, a->client.reason, a->client.fix);
	}
	drain_health(a->drain, &health);
	a->open = true;
	pthread_mutex_lock(&a->lock);
	a->ring = ring;
	a->ring_lost = probe_ring_lost(&ring);
	clock_pairs_init(&a->pairs, (enum fprof_clock_kind)health.clock_kind, health.clock_hz);
	clock_pairs_take(&a->pairs);
	a->round_ticks = fprof_clock_read(a->pairs.kind);
	pthread_mutex_unlock(&a->lock);
	return 0;
}

struct detach_call {
	struct games *games;
	uint64_t session;
	const char *reason;
};

static int detach_on_loop(void *userdata)
{
	struct detach_call *c = userdata;

	games_detach(c->games, c->session, c->reason);
	return 0;
}

/* Ends one that is out of the list already; what it still had to say is in its memory. */
static void end_session(struct attach *a, const struct attachment *t)
{
	struct detach_call call = {a->games, t->session, t->detach};

	if (!t->ended && t->session && loop_call(a->calls, detach_on_loop, &call) == -ESHUTDOWN)
		detach_on_loop(&call); /* we are the loop's thread, or it has ended */
}

static struct attachment *take_finished(struct attach *a)
{
	struct attachment *t = NULL;
	size_t i;

	pthread_mutex_lock(&a->lock);
	for (i = 0; i < a->all.count && !t; i++)
		if (a->all.at[i]->detach || a->all.at[i]->ended)
			t = a->all.at[i];
	if (t)
		memmove(&a->all.at[i - 1], &a->all.at[i],
			(--a->all.count - (i - 1)) * sizeof(struct attachment *));
	pthread_mutex_unlock(&a->lock);
	return t;
}

/* Ends and frees what is marked so. */
static void reap(struct attach *a)
{
	struct attachment *t;

	while ((t = take_finished(a))) {
		if (a->open)
			probe_client_remove(&a->client, t->peer.pid);
		end_session(a, t);
		attachment_free(t);
	}
	if (a->open && a->all.count == 0) {
		close_helper(a);
		say_state(a, SOURCE_OFF, "nothing is attached", "fprof attach PID");
	}
}

static void mark_all(struct attach *a, const char *reason)
{
	size_t i;

	pthread_mutex_lock(&a->lock);
	read_events(a);
	for (i = 0; i < a->all.count; i++)
		a->all.at[i]->detach = reason;
	pthread_mutex_unlock(&a->lock);
}

/* The helper is gone, and what it had in the kernel. */
static void check_helper(struct attach *a)
{
	const char *reason = probe_client_lost(&a->client);

	if (!a->open || probe_client_is_alive(&a->client))
		return;
	mark_all(a, reason);
	reap(a);
	say_state(a, SOURCE_UNAVAILABLE, reason, probe_client_log(&a->client));
}

/* ---- the thread ---- */

static void sleep_on(struct attach *a)
{
	struct timespec until;

	if (a->all.count == 0) {
		pthread_cond_wait(&a->wake, &a->lock);
		return;
	}
	until = clock_after(ROUND_NS);
	pthread_cond_timedwait(&a->wake, &a->lock, &until);
}

static bool any_finished(const struct attach *a)
{
	size_t i;

	for (i = 0; i < a->all.count; i++)
		if (a->all.at[i]->detach || a->all.at[i]->ended)
			return true;
	return false;
}

static void *run(void *userdata)
{
	struct attach *a = userdata;
	bool finished;

	pthread_setname_np(pthread_self(), "attach");
	pthread_mutex_lock(&a->lock);
	while (!a->stop) {
		run_round(a);
		finished = any_finished(a) || !probe_client_is_alive(&a->client);
		if (finished && a->all.count > 0) {
			pthread_mutex_unlock(&a->lock);
			pthread_mutex_lock(&a->asking);
			check_helper(a);
			reap(a);
			pthread_mutex_unlock(&a->asking);
			pthread_mutex_lock(&a->lock);
		}
		if (!a->stop)
			sleep_on(a);
	}
	pthread_mutex_unlock(&a->lock);
	return NULL;
}

/* ---- what the loop tells ---- */

static struct attachment *find(const struct attach *a, uint64_t session)
{
	size_t i;

	for (i = 0; i < a->all.count; i++)
		if (a->all.at[i]->session == session)
			return a->all.at[i];
	return NULL;
}

static void on_last_words(void *userdata, uint64_t session)
{
	struct attach *a = userdata;

	(void)session;
	pthread_mutex_lock(&a->lock);
	read_events(a);
	pthread_mutex_unlock(&a->lock);
}

static void on_ended(void *userdata, uint64_t session)
{
	struct attach *a = userdata;
	struct attachment *t;

	pthread_mutex_lock(&a->lock);
	t = find(a, session);
	if (t)
		t->ended = true;
	pthread_cond_signal(&a->wake);
	pthread_mutex_unlock(&a->lock);
}

/* ---- for others ---- */

int attach_new(struct drain *drain, struct listen *listen, struct loop_calls *calls,
	       struct status *status, struct attach **ret_attach)
{
	struct attach *a = calloc(1, sizeof(*a));
	struct games_attached told = {on_last_words, on_ended, a};
	int r;

	if (!a)
		return -ENOMEM;
	a->drain = drain;
	a->games = listen_games(listen);
	a->calls = calls;
	a->status = status;
	probe_client_init(&a->client, PROBE_PRESENT, status, "attach");
	pthread_mutex_init(&a->asking, NULL);
	pthread_mutex_init(&a->lock, NULL);
	cond_init_monotonic(&a->wake);
	status_source_first(status, "attach", SOURCE_OFF, "nothing is attached",
			    "fprof attach PID");
	r = -pthread_create(&a->thread, NULL, run, a);
	a->running = r == 0;
	if (r < 0) {
		attach_free(a);
		return r;
	}
	games_set_attached(a->games, &told);
	*ret_attach = a;
	return 0;
}

void attach_stop(struct attach *attach)
{
	if (!attach || !attach->running)
		return;
	pthread_mutex_lock(&attach->lock);
	attach->stop = true;
	pthread_cond_signal(&attach->wake);
	pthread_mutex_unlock(&attach->lock);
	probe_client_cancel(&attach->client);
	pthread_join(attach->thread, NULL);
	attach->running = false;
	pthread_mutex_lock(&attach->asking);
	mark_all(attach, "fprofd has ended");
	reap(attach);
	pthread_mutex_unlock(&attach->asking);
}

void attach_free(struct attach *attach)
{
	if (!attach)
		return;
	attach_stop(attach);
	probe_client_deinit(&attach->client);
	VEC_FREE(&attach->all);
	pthread_cond_destroy(&attach->wake);
	pthread_mutex_destroy(&attach->lock);
	pthread_mutex_destroy(&attach->asking);
	free(attach);
}

static void view_of(const struct attachment *t, struct attach_view *ret_view)
{
	*ret_view = (struct attach_view){
		.session = t->session,
		.pid = t->peer.pid,
		.uid = t->peer.uid,
		.functions = t->functions,
		.unseen = t->unseen,
		.frames = stand_in_frames(t->memory),
		.lost = t->lost,
	};
}

/* A call of games_session_of or games_attach. */
struct begin_call {
	struct attach *attach;
	struct attachment *attachment;
	struct peer peer; /* handed over to the game */
	uint64_t session;
	const char *why;
};

static int look_on_loop(void *userdata)
{
	struct begin_call *c = userdata;

	c->session = games_session_of(c->attach->games, &c->peer);
	return c->session ? -EEXIST : 0;
}

static int begin_on_loop(void *userdata)
{
	struct begin_call *c = userdata;
	struct fprof_msg_hello hello;
	int r;

	stand_in_hello(c->attachment->memory, &hello);
	r = games_attach(c->attach->games, &c->peer, &hello, stand_in_fd(c->attachment->memory),
			 &c->session, &c->why);
	pthread_mutex_lock(&c->attach->lock);
	c->attachment->session = r == 0 ? c->session : 0;
	pthread_mutex_unlock(&c->attach->lock);
	return r;
}

static int on_loop(struct attach *a, struct attachment *t, loop_call_fn fn,
		   struct attach_failure *f)
{
	struct begin_call call = {.attach = a, .attachment = t, .why = "fprofd is ending"};
	int r = peer_open(t->peer.pid, t->peer.start, &call.peer);

	if (r < 0)
		return fail(f, -ESRCH, "there is no such process", "");
	r = loop_call(a->calls, fn, &call);
	peer_deinit(&call.peer);
	f->session = call.session;
	if (r == -EEXIST)
		return fail(f, r, "the process is recorded already", "");
	return r < 0 ? fail(f, r, call.why, "") : 0;
}

/* What the API says where there is no function is more than the helper knows. */
static int fail_asked(const struct attach *a, int error, struct attach_failure *f)
{
	if (error == -ENOENT && a->client.unread > 0)
		return fail(f, error,
			    "some files that it maps cannot be read: they were replaced since it "
			    "began, or may not be read",
			    "");
	if (error == -ENOENT)
		return fail(f, error, "", "");
	return fail(f, error == -ECONNRESET || error == -ETIMEDOUT ? -EOPNOTSUPP : error,
		    a->client.reason, a->client.fix);
}

/* A game has the driver's function from the driver itself, without a name that could be found. */
static int add_drivers(struct attach *a, struct attachment *t)
{
	struct vulkan_place places[DRIVERS_MAX];
	size_t n, i, added = 0;

	n = vulkan_driver_find(t->peer.pid, t->peer.uid, places, DRIVERS_MAX, &t->unseen);
	for (i = 0; i < n; i++)
		added += probe_client_point(&a->client, t->peer.pid, &places[i]) == 0;
	if (added > 0) {
		t->unseen = NULL;
		t->functions |= 1u << PRESENT_VULKAN;
	} else if (n > 0) {
		t->unseen =
			"the Vulkan driver's vkQueuePresentKHR is in no file that the game maps";
	}
	return t->functions ? 0 : -ENOENT;
}

/* Puts the probes in and begins the session. What comes in between is in the memory already. */
static int begin(struct attach *a, struct attachment *t, struct attach_failure *f)
{
	int r = probe_client_add(&a->client, t->peer.pid);

	t->functions = a->client.found & ~PROBE_FOUND_DRIVER;
	if (r < 0)
		return fail_asked(a, r, f);
	if (a->client.found & PROBE_FOUND_DRIVER && add_drivers(a, t) < 0)
		return fail(f, -ENOENT, t->unseen, "");
	pthread_mutex_lock(&a->lock);
	scan_threads(a, t, a->round_ticks);
	pthread_mutex_unlock(&a->lock);
	return on_loop(a, t, begin_on_loop, f);
}

static int attachment_new(struct attach *a, int32_t pid, struct attach_failure *f,
			  struct attachment **ret)
{
	struct attachment *t = calloc(1, sizeof(*t));
	struct process_stat stat;
	int r;

	if (!t)
		return fail(f, -ENOMEM, "fprofd is out of memory", "");
	t->peer.pidfd = -1;
	r = process_stat(pid, &stat);
	if (r == 0)
		r = peer_open(pid, stat.start, &t->peer);
	if (r < 0)
		r = fail(f, -ESRCH, "there is no such process", "");
	if (r == 0)
		r = on_loop(a, t, look_on_loop, f);
	if (r < 0) {
		attachment_free(t);
		return r;
	}
	*ret = t;
	return 0;
}

static int add(struct attach *a, struct attachment *t, struct attach_failure *f)
{
	int r = open_helper(a, f);

	if (r < 0)
		return r;
	if (stand_in_new(a->pairs.kind, &t->memory) < 0)
		return fail(f, -ENOMEM, "fprofd is out of memory", "");
	pthread_mutex_lock(&a->lock);
	r = VEC_PUSH(&a->all, t);
	pthread_cond_signal(&a->wake);
	pthread_mutex_unlock(&a->lock);
	if (r < 0)
		return fail(f, r, "fprofd is out of memory", "");
	r = begin(a, t, f);
	if (r == 0)
		return 0;
	pthread_mutex_lock(&a->lock);
	a->all.count--; /* nobody else adds */
	pthread_mutex_unlock(&a->lock);
	probe_client_remove(&a->client, t->peer.pid);
	return r;
}

int attach_add(struct attach *attach, int32_t pid, struct attach_view *ret_view,
	       struct attach_failure *ret_failure)
{
	struct attachment *t = NULL;
	int r;

	*ret_failure = (struct attach_failure){0};
	pthread_mutex_lock(&attach->asking);
	check_helper(attach);
	reap(attach);
	r = attachment_new(attach, pid, ret_failure, &t);
	if (r == 0)
		r = add(attach, t, ret_failure);
	if (r == 0) {
		say_state(attach, SOURCE_ON, NULL, NULL);
		pthread_mutex_lock(&attach->lock);
		view_of(t, ret_view);
		pthread_mutex_unlock(&attach->lock);
	} else if (t) {
		attachment_free(t);
	}
	if (r < 0)
		reap(attach); /* closes the helper where nothing is attached */
	pthread_mutex_unlock(&attach->asking);
	return r;
}

int attach_remove(struct attach *attach, uint64_t session, uint32_t uid)
{
	struct attachment *t;
	int r = -ENOENT;

	pthread_mutex_lock(&attach->asking);
	pthread_mutex_lock(&attach->lock);
	t = find(attach, session);
	if (t && (uid == HISTORY_ANY_UID || uid == t->peer.uid)) {
		read_events(attach);
		t->detach = "detached";
		r = 0;
	}
	pthread_mutex_unlock(&attach->lock);
	reap(attach);
	pthread_mutex_unlock(&attach->asking);
	return r;
}

int attach_list(struct attach *attach, uint32_t uid, attach_views *ret_views)
{
	size_t i;
	int r;

	pthread_mutex_lock(&attach->lock);
	r = VEC_RESERVE(ret_views, attach->all.count);
	for (i = 0; i < attach->all.count && r == 0; i++) {
		const struct attachment *t = attach->all.at[i];

		if (t->session && (uid == HISTORY_ANY_UID || uid == t->peer.uid))
			view_of(t, &ret_views->at[ret_views->count++]);
	}
	pthread_mutex_unlock(&attach->lock);
	return r;
}
