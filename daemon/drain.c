/* SPDX-License-Identifier: MIT */
/*
 * The drain thread and its queue of commands.
 *
 * The mutex guards the commands, `stop` and the published health; all else is the thread's own. A
 * command is run between two sweeps, in the order in which they came. Rows of all sessions gather
 * in one batch, which is submitted every COMMIT_NS while a consumer looks on, else every
 * COMMIT_UNWATCHED_NS, or when it is large, or when a session ends. With the longest pause between
 * two sweeps that is how much a daemon that is killed loses.
 *
 * Pace: the sleep between sweeps is set so that the ring that filled fastest would be an eighth
 * full at the next one, and doubles at most. When the store's queue is full the rings are left
 * alone: they are the buffer, and what they lose is counted.
 */
#include "drain.h"

#include "clock_watch.h"
#include "live.h"
#include "log.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#define MILLION		    UINT64_C(1000000)
#define GRACE_NS	    50000u
#define MEASURE_NS	    (50 * MILLION)
#define PACE_MIN_NS	    MILLION
#define PACE_BUSY_NS	    (25 * MILLION)  /* at most, while events come */
#define PACE_QUIET_NS	    (250 * MILLION) /* at most */
#define PACE_FULL_NS	    (5 * MILLION)   /* while the store's queue is full */
#define PACE_PERMILLE	    125		    /* how full the fullest ring should get */
#define COMMIT_NS	    (100 * MILLION)
#define COMMIT_UNWATCHED_NS (200 * MILLION) /* larger transactions cost less */
#define BATCH_BYTES	    (4u * 1024 * 1024)
#define SWEEP_NS	    UINT64_C(20000000) /* of one session: what is left waits, others do not */
#define CLEAR_NS	    (10 * NS_PER_S)
#define LAST_SWEEPS	    64u /* at the end, while a session is behind */
#define CLEARS		    64u /* whose results are kept for who waits for them */

enum command_kind {
	COMMAND_OPEN,
	COMMAND_MEMORY,
	COMMAND_BYE,
	COMMAND_GONE,
	COMMAND_CLEAR,
};

struct command {
	struct command *next;
	enum command_kind kind;
	uint64_t session;
	struct session_row *row;
	struct control *control;
	struct store_resume *resume;
	struct memory *memory;
	bool crashed;
	char *reason;
	uint64_t ticket; /* of a clear */
};

struct drain {
	/* immutable */
	struct trigger_book *triggers; /* NULL: nothing is watched */
	struct store *store;
	struct control_set *controls;
	uint32_t max_counters;
	struct sampler *sampler;	 /* NULL: none */
	struct sched_trace *sched_trace; /* the same */
	struct stack_trace *stack_trace; /* the same */
	pthread_t thread;
	/* under the mutex */
	pthread_mutex_t mutex;
	pthread_cond_t wake;
	pthread_cond_t cleared;
	uint64_t clears, clears_done;
	int clear_results[CLEARS]; /* by ticket */
	struct command *commands, **commands_end;
	bool stop;
	struct drain_health health;
	/* the thread's */
	VEC(struct live *) sessions;
	VEC(struct session_row) opened; /* since the last commit; without strings */
	VEC(struct stream_row) given;	/* streams with a thread, since then; without strings */
	struct batch *batch;
	struct clock_watch clock;
	uint64_t pace_ns, committed_ns, queued_bytes;
	bool watched;
	uint64_t triggers_seen; /* the book's generation */
	struct drain_health now;
};

static void row_free(struct session_row *row)
{
	if (!row)
		return;
	session_row_deinit(row);
	free(row);
}

static void command_free(struct command *c)
{
	if (!c)
		return;
	row_free(c->row);
	control_free(c->control);
	store_resume_free(c->resume);
	memory_free(c->memory);
	free(c->reason);
	free(c);
}

static size_t find(const struct drain *d, uint64_t session)
{
	size_t i = 0;

	while (i < d->sessions.count && d->sessions.at[i]->id != session)
		i++;
	return i;
}

static bool batch_is_empty(const struct batch *b)
{
	return b->sessions.count + b->memories.count + b->markers.count + b->tracks.count +
		       b->streams.count + b->infos.count + b->chunks.count + b->gaps.count +
		       b->frames.count + b->frame_counters.count + b->gpu_spans.count +
		       b->frame_gpus.count + b->ledgers.count + b->updates.count +
		       b->clears.count ==
	       0;
}

/* A session that could not be set up is told to the reader of the database. */
static void put_fault(struct drain *d, uint64_t session, int error)
{
	struct session_update_row row = {.id = session,
					 .end_ns = -1,
					 .record = FPROF_STATE_RECORDING,
					 .record_in_force = FPROF_STATE_RECORDING};

	log_error("session %llu: cannot record: %s", (unsigned long long)session, strerror(-error));
	row.fault = strdup(strerror(-error));
	if (VEC_PUSH(&d->batch->updates, row) < 0)
		free(row.fault);
}

/* Their rows come after the session's. */
static void tell_watchers(struct drain *d)
{
	size_t i;

	for (i = 0; i < d->opened.count; i++) {
		if (d->sampler)
			sampler_add(d->sampler, &d->opened.at[i]);
		if (d->sched_trace)
			sched_trace_add(d->sched_trace, &d->opened.at[i]);
		if (d->stack_trace)
			stack_trace_add(d->stack_trace, &d->opened.at[i],
					control_set_sampling_hz(d->controls, d->opened.at[i].id));
	}
	d->opened.count = 0;
	for (i = 0; i < d->given.count && d->sampler; i++)
		sampler_mark(d->sampler, d->given.at[i].session, d->given.at[i].tid,
			     d->given.at[i].stream == 0);
	d->given.count = 0;
}

/* Which threads mark frames: without memory they are not known, and then there is one check less.
 */
static void note_given(struct drain *d)
{
	size_t i;

	for (i = 0; i < d->batch->streams.count; i++) {
		struct stream_row row = d->batch->streams.at[i];

		row.name = NULL;
		if (row.tid > 0)
			(void)VEC_PUSH(&d->given, row);
	}
}

/* Takes over what the session's triggers are now. */
static void watch(struct drain *d, struct live *s)
{
	struct trigger_list *list = d->triggers ? trigger_book_get(d->triggers, s->id) : NULL;

	if (!list || list == trigger_watch_list(s->watch)) {
		trigger_list_unref(list);
	} else if (trigger_watch_set(s, list) < 0) {
		log_error("session %llu: out of memory: its triggers are not watched",
			  (unsigned long long)s->id);
		trigger_list_unref(list);
	}
}

static void watch_all(struct drain *d)
{
	uint64_t generation = d->triggers ? trigger_book_generation(d->triggers) : 0;
	size_t i;

	if (generation == d->triggers_seen)
		return;
	d->triggers_seen = generation;
	for (i = 0; i < d->sessions.count; i++)
		watch(d, d->sessions.at[i]);
}

static void run_open(struct drain *d, struct command *c)
{
	struct session_row numbers = *c->row;
	struct live *s = NULL;
	int r = VEC_RESERVE(&d->sessions, 1);
	bool resumed = c->resume;

	if (r == 0 && !resumed)
		r = VEC_RESERVE(&d->batch->sessions, 1);
	if (r == 0) {
		r = live_new(c->row, c->control, c->resume, d->max_counters, d->batch, &s);
		c->control = NULL;
		c->resume = NULL;
	}
	if (r == 0) {
		d->sessions.at[d->sessions.count++] = s;
		s->controls = d->controls;
		watch(d, s);
	}
	if (!resumed && d->batch->sessions.count < d->batch->sessions.capacity) {
		d->batch->sessions.at[d->batch->sessions.count++] = *c->row;
		free(c->row);
		c->row = NULL;
	} else if (!resumed) {
		store_session_not_coming(d->store);
	}
	numbers.boot_id = numbers.name = numbers.exe = numbers.build_id = numbers.facts_json = NULL;
	if (r == 0 && VEC_PUSH(&d->opened, numbers) < 0)
		log_warning("session %llu: out of memory: it is not sampled",
			    (unsigned long long)c->session);
	if (r < 0)
		put_fault(d, c->session, r);
	d->committed_ns = 0; /* it is to be found at once */
	d->pace_ns = PACE_MIN_NS;
}

static void run_memory(struct drain *d, struct command *c)
{
	size_t i = find(d, c->session);
	int r = i < d->sessions.count ? live_add_memory(d->sessions.at[i], c->memory) : -ENOENT;

	if (r < 0)
		log_warning("session %llu: ignoring a memory: %s", (unsigned long long)c->session,
			    r == -EINVAL ? "its clock is another one than the session's"
					 : strerror(-r));
	else
		c->memory = NULL;
	d->pace_ns = PACE_MIN_NS;
}

/* ---- sweeps and batches ---- */

/* Hands over what has gathered; sessions' states are brought up to it first. -ENOMEM: later. */
static int commit(struct drain *d)
{
	struct batch *next;
	size_t i;

	d->committed_ns = clock_ns(CLOCK_MONOTONIC);
	for (i = 0; i < d->sessions.count; i++)
		live_flush(d->sessions.at[i]);
	if (batch_is_empty(d->batch)) {
		tell_watchers(d);
		return 0;
	}
	next = batch_new();
	if (!next) {
		log_error("out of memory: a commit is put off");
		return -ENOMEM;
	}
	note_given(d);
	d->queued_bytes = store_submit(d->store, d->batch);
	d->batch = next;
	tell_watchers(d);
	for (i = 0; i < d->sessions.count; i++)
		d->sessions.at[i]->batch = next;
	return 0;
}

static void report_fault(const struct live *s, int before)
{
	if (s->fault < 0 && before == 0)
		log_error("session %llu: recording is given up: %s", (unsigned long long)s->id,
			  strerror(-s->fault));
}

static void sweep_session(struct drain *d, struct live *s, struct live_sweep *sweep)
{
	int before = s->fault;

	sweep->now = fprof_clock_read(s->clock_kind);
	sweep->grace = (uint64_t)(s->rate.hz * GRACE_NS / 1e9);
	if (sweep->last)
		sweep->grace = 0;
	sweep->budget_ns = SWEEP_NS;
	live_sweep(s, sweep);
	report_fault(s, before);
	d->now.events += sweep->events;
}

static void run_bye(struct drain *d, const struct command *c)
{
	size_t i = find(d, c->session);

	if (i < d->sessions.count)
		d->sessions.at[i]->bye = true;
}

/* What is left in its rings is read at the next sweeps, as fast as the store takes it. */
static void run_gone(struct drain *d, struct command *c)
{
	size_t i = find(d, c->session);
	struct live *s;

	if (i == d->sessions.count)
		return;
	s = d->sessions.at[i];
	s->gone = true;
	s->crashed = c->crashed;
	s->end_reason = c->reason;
	c->reason = NULL;
}

/* The watchers are not told of it any more. */
static void forget_opened(struct drain *d, uint64_t session)
{
	size_t i, kept = 0;

	for (i = 0; i < d->opened.count; i++)
		if (d->opened.at[i].id != session)
			d->opened.at[kept++] = d->opened.at[i];
	d->opened.count = kept;
}

/* Its process is gone and its rings are empty. */
static void end_session(struct drain *d, size_t i)
{
	struct live *s = d->sessions.at[i];

	forget_opened(d, s->id);
	if (d->sampler)
		sampler_remove(d->sampler, s->id);
	if (d->sched_trace)
		sched_trace_remove(d->sched_trace, s->id);
	if (d->stack_trace)
		stack_trace_remove(d->stack_trace, s->id);
	live_end(s, s->crashed ? SESSION_CRASHED : SESSION_ENDED);
	d->sessions.at[i] = d->sessions.at[--d->sessions.count];
	live_free(s);
	commit(d);
}

/*
 * What was recorded so far is in the rows before the one that clears it, or in those of earlier
 * batches.
 */
static void run_clear(struct drain *d, struct command *c)
{
	size_t i = find(d, c->session);
	int r = -ENOENT;

	if (i < d->sessions.count) {
		commit(d);
		r = live_clear(d->sessions.at[i]);
		if (r < 0)
			log_error("session %llu: out of memory: its history is not cleared",
				  (unsigned long long)c->session);
		else
			control_set_cleared(d->controls, c->session);
		if (commit(d) < 0)
			r = -ENOMEM;
	}
	pthread_mutex_lock(&d->mutex);
	d->clears_done = c->ticket;
	d->clear_results[c->ticket % CLEARS] = r;
	pthread_cond_broadcast(&d->cleared);
	pthread_mutex_unlock(&d->mutex);
}

static void run_commands(struct drain *d, struct command *c)
{
	struct command *next;

	for (; c; c = next) {
		next = c->next;
		if (c->kind == COMMAND_OPEN)
			run_open(d, c);
		else if (c->kind == COMMAND_MEMORY)
			run_memory(d, c);
		else if (c->kind == COMMAND_BYE)
			run_bye(d, c);
		else if (c->kind == COMMAND_GONE)
			run_gone(d, c);
		else if (c->kind == COMMAND_CLEAR)
			run_clear(d, c);
		command_free(c);
	}
}

static void watch_clock(struct drain *d)
{
	uint64_t from, to;
	size_t i;

	if (!clock_watch_check(&d->clock, &from, &to))
		return;
	log_warning("the clock stepped (suspend or migration); frames across it are flagged");
	for (i = 0; i < d->sessions.count; i++)
		if (d->sessions.at[i]->clock_kind == d->clock.kind)
			live_clock_step(d->sessions.at[i], from, to);
}

/* The next sleep: from how full rings became during the last one. */
static void set_pace(struct drain *d, uint32_t fill_permille, bool events, bool behind)
{
	uint64_t pace = d->pace_ns * 2;

	if (fill_permille > 0)
		pace = MIN(pace, d->pace_ns * PACE_PERMILLE / fill_permille);
	pace = MIN(pace, events ? PACE_BUSY_NS : PACE_QUIET_NS);
	d->pace_ns = MAX(pace, PACE_MIN_NS);
	if (behind)
		d->pace_ns = 0;
}

static bool queue_is_full(struct drain *d)
{
	struct store_health health;

	if (d->queued_bytes <= STORE_QUEUE_BYTES)
		return false;
	store_health(d->store, &health);
	d->queued_bytes = health.queued_bytes;
	return d->queued_bytes > STORE_QUEUE_BYTES;
}

static void sweep_all(struct drain *d)
{
	struct live_sweep sweep = {0};
	bool events = false, behind = false;
	uint32_t fill = 0;
	size_t i;

	if (d->sessions.count == 0)
		return;
	d->watched = control_set_update(d->controls) > 0;
	if (queue_is_full(d)) {
		for (i = 0; i < d->sessions.count; i++)
			live_heartbeat(d->sessions.at[i]);
		d->pace_ns = PACE_FULL_NS;
		return;
	}
	watch_clock(d);
	watch_all(d);
	for (i = d->sessions.count; i > 0; i--) {
		struct live *s = d->sessions.at[i - 1];

		sweep.last = s->gone;
		sweep_session(d, s, &sweep);
		fill = MAX(fill, sweep.fill_permille);
		events = events || sweep.events > 0;
		behind = behind || sweep.behind;
		if (s->gone && (!sweep.behind || s->fault < 0))
			end_session(d, i - 1);
	}
	d->now.sweeps++;
	set_pace(d, fill, events, behind);
}

static void commit_when_due(struct drain *d)
{
	uint64_t after = d->watched ? COMMIT_NS : COMMIT_UNWATCHED_NS;

	if (d->sampler)
		sampler_read_marking(d->sampler, d->batch);
	if (batch_weight(d->batch) >= BATCH_BYTES ||
	    clock_ns(CLOCK_MONOTONIC) - d->committed_ns >= after)
		commit(d);
}

static void publish(struct drain *d)
{
	d->now.sessions = (uint32_t)d->sessions.count;
	d->now.busy_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	d->now.pace_ns = d->pace_ns;
	d->now.clock_steps = d->clock.steps;
	pthread_mutex_lock(&d->mutex);
	d->health = d->now;
	pthread_mutex_unlock(&d->mutex);
}

/* Sleeps until there is something to do. Returns the commands; *ret_stop. */
static struct command *wait_for_work(struct drain *d, bool *ret_stop)
{
	struct timespec until = clock_after(d->pace_ns);
	struct command *commands;

	pthread_mutex_lock(&d->mutex);
	while (!d->commands && !d->stop) {
		if (d->sessions.count == 0)
			pthread_cond_wait(&d->wake, &d->mutex);
		else if (d->pace_ns == 0 ||
			 pthread_cond_timedwait(&d->wake, &d->mutex, &until) == ETIMEDOUT)
			break;
	}
	commands = d->commands;
	d->commands = NULL;
	d->commands_end = &d->commands;
	*ret_stop = d->stop;
	pthread_mutex_unlock(&d->mutex);
	return commands;
}

static void *drain_thread(void *userdata)
{
	struct drain *d = userdata;
	unsigned last_sweeps = 0;
	bool stop = false;

	pthread_setname_np(pthread_self(), "drain");
	while (!stop) {
		run_commands(d, wait_for_work(d, &stop));
		do {
			sweep_all(d);
			if (stop)
				commit(d);
			else
				commit_when_due(d);
		} while (stop && d->pace_ns == 0 && ++last_sweeps < LAST_SWEEPS);
		publish(d);
	}
	return NULL;
}

/* ---- called by other threads ---- */

static int init_sync(struct drain *d)
{
	int r = cond_init_monotonic(&d->wake);

	if (r == 0)
		r = cond_init_monotonic(&d->cleared);
	return r < 0 ? r : -pthread_mutex_init(&d->mutex, NULL);
}

int drain_new(const struct config *config, struct store *store, struct drain **ret_drain)
{
	enum fprof_clock_kind kind = fprof_clock_choose();
	struct fprof_clock_rate rate;
	struct drain *d = calloc(1, sizeof(*d));
	int r = -ENOMEM;

	if (!d)
		return -ENOMEM;
	d->store = store;
	d->max_counters = config->max_counters;
	d->commands_end = &d->commands;
	d->pace_ns = PACE_MIN_NS;
	d->batch = batch_new();
	if (!d->batch)
		goto fail;
	r = control_set_new(config->on_demand, &d->controls);
	if (r < 0)
		goto fail;
	fprof_clock_measure(kind, MEASURE_NS, &rate);
	clock_watch_init(&d->clock, kind, &rate);
	d->now.clock_kind = kind;
	d->now.clock_hz = rate.hz;
	d->health = d->now;
	r = init_sync(d);
	if (r == 0)
		r = -pthread_create(&d->thread, NULL, drain_thread, d);
	if (r < 0)
		goto fail;
	*ret_drain = d;
	return 0;
fail:
	control_set_free(d->controls);
	batch_free(d->batch);
	free(d);
	return r;
}

void drain_stop(struct drain *drain)
{
	size_t i;

	if (!drain || drain->stop)
		return;
	pthread_mutex_lock(&drain->mutex);
	drain->stop = true;
	pthread_cond_signal(&drain->wake);
	pthread_cond_broadcast(&drain->cleared);
	pthread_mutex_unlock(&drain->mutex);
	pthread_join(drain->thread, NULL);
	for (i = 0; i < drain->sessions.count; i++)
		live_free(drain->sessions.at[i]);
	VEC_FREE(&drain->sessions);
}

void drain_free(struct drain *drain)
{
	if (!drain)
		return;
	drain_stop(drain);
	VEC_FREE(&drain->opened);
	VEC_FREE(&drain->given);
	batch_free(drain->batch);
	control_set_free(drain->controls);
	pthread_cond_destroy(&drain->wake);
	pthread_cond_destroy(&drain->cleared);
	pthread_mutex_destroy(&drain->mutex);
	free(drain);
}

void drain_set_watchers(struct drain *drain, struct sampler *sampler, struct sched_trace *trace,
			struct stack_trace *stacks)
{
	drain->sampler = sampler;
	drain->sched_trace = trace;
	drain->stack_trace = stacks;
}

static int queue(struct drain *d, struct command *fields)
{
	struct command *c = malloc(sizeof(*c));

	if (!c)
		return -ENOMEM;
	*c = *fields;
	c->next = NULL;
	pthread_mutex_lock(&d->mutex);
	if (c->kind == COMMAND_CLEAR)
		c->ticket = fields->ticket = ++d->clears;
	*d->commands_end = c;
	d->commands_end = &c->next;
	pthread_cond_signal(&d->wake);
	pthread_mutex_unlock(&d->mutex);
	return 0;
}

void drain_set_triggers(struct drain *drain, struct trigger_book *book)
{
	drain->triggers = book;
}

int drain_session_open(struct drain *drain, struct session_row *row, struct control *control,
		       struct store_resume *resume)
{
	struct command c = {
		.kind = COMMAND_OPEN,
		.session = row->id,
		.row = row,
		.control = control,
		.resume = resume,
	};
	int r = queue(drain, &c);

	if (r < 0) {
		row_free(row);
		control_free(control);
		store_resume_free(resume);
	}
	return r;
}

int drain_memory_add(struct drain *drain, uint64_t session, struct memory *memory)
{
	struct command c = {.kind = COMMAND_MEMORY, .session = session, .memory = memory};
	int r = queue(drain, &c);

	if (r < 0)
		memory_free(memory);
	return r;
}

int drain_session_bye(struct drain *drain, uint64_t session)
{
	struct command c = {.kind = COMMAND_BYE, .session = session};

	return queue(drain, &c);
}

int drain_session_gone(struct drain *drain, uint64_t session, bool crashed, const char *reason)
{
	struct command c = {.kind = COMMAND_GONE, .session = session, .crashed = crashed};
	int r;

	c.reason = strdup(reason ? reason : "");
	r = c.reason ? queue(drain, &c) : -ENOMEM;
	if (r < 0)
		free(c.reason);
	return r;
}

struct control_set *drain_controls(struct drain *drain)
{
	return drain->controls;
}

int drain_session_record(struct drain *drain, uint64_t session, enum fprof_record_state state)
{
	return control_set_record(drain->controls, session, state);
}

static int wait_cleared(struct drain *d, uint64_t ticket)
{
	struct timespec until = clock_after(CLEAR_NS);
	int r = 0;

	pthread_mutex_lock(&d->mutex);
	while (r == 0 && d->clears_done < ticket && !d->stop)
		r = pthread_cond_timedwait(&d->cleared, &d->mutex, &until);
	r = d->clears_done >= ticket ? d->clear_results[ticket % CLEARS] : -ETIMEDOUT;
	pthread_mutex_unlock(&d->mutex);
	return r;
}

int drain_session_clear(struct drain *drain, uint64_t session)
{
	struct command c = {.kind = COMMAND_CLEAR, .session = session};
	struct control_view view;
	int r = control_set_view(drain->controls, session, &view);

	if (r == 0)
		r = queue(drain, &c);
	return r < 0 ? r : wait_cleared(drain, c.ticket);
}

void drain_health(struct drain *drain, struct drain_health *ret_health)
{
	pthread_mutex_lock(&drain->mutex);
	*ret_health = drain->health;
	pthread_mutex_unlock(&drain->mutex);
}
