// SPDX-License-Identifier: MIT
/*
 * A snapshot under a mutex: setters change it in place, readers copy it whole. Refusals are a shift
 * register, newest first: they are rare, or the sender is hostile and 4 KiB of memmove is cheap.
 */
#include "status.h"

#include "util.h"

#include <pthread.h>
#include <string.h>

#define ANSWER_NS NS_PER_S /* an answer that does not come is told of after that */

struct awaited {
	uint64_t since;		  /* CLOCK_MONOTONIC */
	const char *reason, *fix; /* NULL: nothing is waited for */
};

struct status {
	pthread_mutex_t lock;
	struct status_snapshot now;
	struct awaited awaited[STATUS_SOURCES_MAX]; /* by the sources of the snapshot */
};

struct status *status_new(void)
{
	struct status *status = calloc(1, sizeof(*status));

	if (status)
		pthread_mutex_init(&status->lock, NULL);
	return status;
}

void status_free(struct status *status)
{
	if (!status)
		return;
	pthread_mutex_destroy(&status->lock);
	free(status);
}

/* The source called name, a new one when there is none; NULL: the table is full. */
static struct status_source *source_get(struct status_snapshot *now, const char *name)
{
	struct status_source *source;
	uint32_t i;

	for (i = 0; i < now->source_count; i++)
		if (strncmp(now->sources[i].name, name, sizeof(now->sources[i].name) - 1) == 0)
			return &now->sources[i];
	if (now->source_count == STATUS_SOURCES_MAX)
		return NULL;
	source = &now->sources[now->source_count++];
	snprintf(source->name, sizeof(source->name), "%s", name);
	return source;
}

static void source_set(struct status_source *source, enum source_state state, const char *reason,
		       const char *fix)
{
	source->state = state;
	snprintf(source->reason, sizeof(source->reason), "%s", reason ? reason : "");
	snprintf(source->fix, sizeof(source->fix), "%s", fix ? fix : "");
}

void status_source(struct status *status, const char *name, enum source_state state,
		   const char *reason, const char *fix)
{
	struct status_source *source;

	pthread_mutex_lock(&status->lock);
	source = source_get(&status->now, name);
	if (source)
		source_set(source, state, reason, fix);
	pthread_mutex_unlock(&status->lock);
}

void status_source_first(struct status *status, const char *name, enum source_state state,
			 const char *reason, const char *fix)
{
	uint32_t before;
	struct status_source *source;

	pthread_mutex_lock(&status->lock);
	before = status->now.source_count;
	source = source_get(&status->now, name);
	if (source && status->now.source_count > before)
		source_set(source, state, reason, fix);
	pthread_mutex_unlock(&status->lock);
}

void status_awaits(struct status *status, const char *name, const char *reason, const char *fix)
{
	const struct status_source *source;

	pthread_mutex_lock(&status->lock);
	source = source_get(&status->now, name);
	if (source)
		status->awaited[source - status->now.sources] =
			(struct awaited){clock_ns(CLOCK_MONOTONIC), reason, fix};
	pthread_mutex_unlock(&status->lock);
}

void status_refuse(struct status *status, const struct status_refusal *refusal)
{
	struct status_snapshot *now = &status->now;

	pthread_mutex_lock(&status->lock);
	memmove(&now->refusals[1], &now->refusals[0], sizeof(now->refusals) - sizeof(*refusal));
	now->refusals[0] = *refusal;
	now->refusals[0].reason[sizeof(refusal->reason) - 1] = '\0';
	if (now->refusal_count < STATUS_REFUSALS_MAX)
		now->refusal_count++;
	now->refusals_total++;
	pthread_mutex_unlock(&status->lock);
}

void status_snapshot(struct status *status, struct status_snapshot *ret_snapshot)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	const struct awaited *w;
	uint32_t i;

	pthread_mutex_lock(&status->lock);
	*ret_snapshot = status->now;
	for (i = 0; i < status->now.source_count; i++) {
		w = &status->awaited[i];
		if (w->reason && now >= w->since + ANSWER_NS)
			source_set(&ret_snapshot->sources[i], SOURCE_DEGRADED, w->reason, w->fix);
	}
	pthread_mutex_unlock(&status->lock);
}
