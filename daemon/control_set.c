// SPDX-License-Identifier: MIT
/*
 * A control page has two writers: this module under its mutex, and the drain, which writes nothing
 * but the heartbeat. The page is unmapped only by control_free, under the same mutex.
 *
 * The state in the page is the one that was ordered, but stopped instead of recording while nobody
 * holds the session in on-demand mode.
 */
#include "control_set.h"

#include "history.h"
#include "shm/atomic.h"
#include "util.h"

#include <errno.h>
#include <pthread.h>

struct entry {
	uint64_t session;
	uint32_t uid;
	bool tells;
	struct control *control;
	enum fprof_record_state ordered, in_force;
	uint64_t frame;
	unsigned consumers;
	struct detail_set detail;
	uint64_t detail_version; /* from 1 */
};

struct control_set {
	bool on_demand;
	struct consumers *consumers;
	pthread_mutex_t lock; /* of all that follows, and of the pages */
	VEC(struct entry) all;
};

int control_set_new(bool on_demand, struct control_set **ret_set)
{
	struct control_set *set = calloc(1, sizeof(*set));
	int r;

	if (!set)
		return -ENOMEM;
	r = consumers_new(&set->consumers);
	if (r < 0) {
		free(set);
		return r;
	}
	set->on_demand = on_demand;
	pthread_mutex_init(&set->lock, NULL);
	*ret_set = set;
	return 0;
}

void control_set_free(struct control_set *set)
{
	if (!set)
		return;
	consumers_free(set->consumers);
	pthread_mutex_destroy(&set->lock);
	VEC_FREE(&set->all);
	free(set);
}

struct consumers *control_set_consumers(struct control_set *set)
{
	return set->consumers;
}

/* The lock is held, in all that follows but the public ones. */
static struct entry *find(struct control_set *set, uint64_t session)
{
	size_t i;

	for (i = 0; i < set->all.count; i++)
		if (set->all.at[i].session == session)
			return &set->all.at[i];
	return NULL;
}

static bool waits(const struct control_set *set, const struct entry *e)
{
	return set->on_demand && e->ordered == FPROF_STATE_RECORDING && e->consumers == 0;
}

static void publish(const struct control_set *set, struct entry *e)
{
	enum fprof_record_state state = waits(set, e) ? FPROF_STATE_STOPPED : e->ordered;
	struct fprof_control *page = e->control->page;

	if (FPROF_LOAD_RELAXED(&page->record_state) == (uint32_t)state)
		return;
	FPROF_STORE_RELAXED(&page->record_state, (uint32_t)state);
	FPROF_STORE_RELEASE(&page->generation, page->generation + 1);
	if (!e->tells)
		e->in_force = state;
}

static void publish_detail(struct entry *e)
{
	struct fprof_control *page = e->control->page;
	uint32_t gate;

	e->detail_version++;
	detail_set_publish(&e->detail,
			   (struct fprof_detail *)(void *)((uint8_t *)page + FPROF_CONTROL_BYTES),
			   &gate);
	FPROF_STORE_RELAXED(&page->gate, gate);
	FPROF_STORE_RELAXED(&page->flags,
			    e->detail.allocations ? (uint32_t)FPROF_CONTROL_ALLOCATIONS : 0u);
	FPROF_STORE_RELEASE(&page->generation, page->generation + 1);
}

static void count_consumers(struct control_set *set, struct entry *e, uint64_t now)
{
	e->consumers = consumers_of(set->consumers, e->session, e->uid, now);
}

int control_set_add(struct control_set *set, struct control *control, uint64_t session,
		    uint32_t uid, bool tells, const struct session_update_row *last)
{
	struct entry e = {
		.session = session,
		.uid = uid,
		.tells = tells,
		.control = control,
		.ordered = last ? last->record : FPROF_STATE_RECORDING,
		.in_force = last ? last->record_in_force : FPROF_STATE_RECORDING,
	};
	int r = detail_set_parse(last ? last->detail : NULL, &e.detail);

	if (r < 0)
		return r;
	pthread_mutex_lock(&set->lock);
	count_consumers(set, &e, clock_ns(CLOCK_MONOTONIC));
	r = VEC_PUSH(&set->all, e);
	if (r == 0) {
		control->set = set;
		publish(set, &set->all.at[set->all.count - 1]);
		if (e.detail.nodes.count + e.detail.masks.count > 0 || e.detail.allocations)
			publish_detail(&set->all.at[set->all.count - 1]);
	}
	pthread_mutex_unlock(&set->lock);
	if (r < 0)
		detail_set_deinit(&e.detail);
	return r;
}

static void forget(struct control_set *set, const struct control *control)
{
	size_t i;

	pthread_mutex_lock(&set->lock);
	for (i = 0; i < set->all.count; i++)
		if (set->all.at[i].control == control) {
			detail_set_deinit(&set->all.at[i].detail);
			set->all.at[i] = set->all.at[--set->all.count];
			break;
		}
	pthread_mutex_unlock(&set->lock);
}

void control_free(struct control *control)
{
	if (!control)
		return;
	if (control->set)
		forget(control->set, control);
	control_deinit(control);
	free(control);
}

int control_set_view(struct control_set *set, uint64_t session, struct control_view *ret_view)
{
	struct entry *e;

	pthread_mutex_lock(&set->lock);
	e = find(set, session);
	if (e) {
		count_consumers(set, e, clock_ns(CLOCK_MONOTONIC));
		publish(set, e);
		*ret_view = (struct control_view){
			.ordered = e->ordered,
			.in_force = e->in_force,
			.frame = e->frame,
			.on_demand = set->on_demand,
			.waits = waits(set, e),
			.consumers = e->consumers,
			.allocations = e->detail.allocations,
		};
	}
	pthread_mutex_unlock(&set->lock);
	return e ? 0 : -ENOENT;
}

int control_set_record(struct control_set *set, uint64_t session, enum fprof_record_state state)
{
	struct entry *e;
	int r = 0;

	pthread_mutex_lock(&set->lock);
	e = find(set, session);
	if (!e)
		r = -ENOENT;
	else if (e->ordered == FPROF_STATE_STOPPED && state == FPROF_STATE_FROZEN)
		r = -EINVAL;
	else
		e->ordered = state;
	if (r == 0)
		publish(set, e);
	pthread_mutex_unlock(&set->lock);
	return r;
}

void control_set_cleared(struct control_set *set, uint64_t session)
{
	struct entry *e;

	pthread_mutex_lock(&set->lock);
	e = find(set, session);
	if (e && e->ordered == FPROF_STATE_FROZEN) {
		e->ordered = FPROF_STATE_STOPPED;
		publish(set, e);
	}
	pthread_mutex_unlock(&set->lock);
}

void control_set_in_force(struct control_set *set, uint64_t session, enum fprof_record_state state,
			  uint64_t frame)
{
	struct entry *e;

	pthread_mutex_lock(&set->lock);
	e = find(set, session);
	if (e) {
		e->in_force = state;
		e->frame = frame;
	}
	pthread_mutex_unlock(&set->lock);
}

unsigned control_set_update(struct control_set *set)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	unsigned consumers = 0;
	size_t i;

	pthread_mutex_lock(&set->lock);
	for (i = 0; i < set->all.count; i++) {
		struct entry *e = &set->all.at[i];

		count_consumers(set, e, now);
		consumers += e->consumers;
		if (set->on_demand)
			publish(set, e);
	}
	pthread_mutex_unlock(&set->lock);
	return consumers;
}

int control_set_detail(struct control_set *set, uint64_t session, struct detail_set *ret_detail)
{
	const struct entry *e;
	int r = -ENOENT;

	pthread_mutex_lock(&set->lock);
	e = find(set, session);
	if (e)
		r = detail_set_copy(&e->detail, ret_detail);
	pthread_mutex_unlock(&set->lock);
	return r;
}

int control_set_level(struct control_set *set, uint64_t session, const struct detail_path *path,
		      int level)
{
	struct entry *e;
	int r = -ENOENT;

	pthread_mutex_lock(&set->lock);
	e = find(set, session);
	if (e)
		r = detail_set_level(&e->detail, path, level);
	if (r == 0)
		publish_detail(e);
	pthread_mutex_unlock(&set->lock);
	return r;
}

int control_set_allocations(struct control_set *set, uint64_t session, bool tracked)
{
	struct entry *e;

	pthread_mutex_lock(&set->lock);
	e = find(set, session);
	if (e) {
		e->detail.allocations = tracked;
		publish_detail(e);
	}
	pthread_mutex_unlock(&set->lock);
	return e ? 0 : -ENOENT;
}

int control_set_sampling(struct control_set *set, uint64_t session, uint32_t hz)
{
	struct entry *e;

	pthread_mutex_lock(&set->lock);
	e = find(set, session);
	if (e) {
		e->detail.has_sampling = true;
		e->detail.sampling_hz = hz;
		e->detail_version++; /* no client has to know */
	}
	pthread_mutex_unlock(&set->lock);
	return e ? 0 : -ENOENT;
}

int control_set_sampling_hz(struct control_set *set, uint64_t session)
{
	const struct entry *e;
	int hz = -1;

	pthread_mutex_lock(&set->lock);
	e = find(set, session);
	if (e && e->detail.has_sampling)
		hz = (int)e->detail.sampling_hz;
	pthread_mutex_unlock(&set->lock);
	return hz;
}

int control_set_mask(struct control_set *set, uint64_t session, const char *category, bool masked)
{
	struct entry *e;
	int r = -ENOENT;

	pthread_mutex_lock(&set->lock);
	e = find(set, session);
	if (e)
		r = detail_set_mask(&e->detail, category, masked);
	if (r == 0)
		publish_detail(e);
	pthread_mutex_unlock(&set->lock);
	return r;
}

void control_set_fill(struct control_set *set, uint64_t session, struct session_update_row *row,
		      uint64_t *version)
{
	const struct entry *e;

	pthread_mutex_lock(&set->lock);
	e = find(set, session);
	if (e) {
		row->record = e->ordered;
		row->record_in_force = e->in_force;
		if (e->detail_version != *version)
			row->detail = detail_set_text(&e->detail);
		if (row->detail)
			*version = e->detail_version;
	}
	pthread_mutex_unlock(&set->lock);
}
