// SPDX-License-Identifier: MIT
/*
 * What a resting trigger would have said is told with its next spike. Until there is one, and when
 * there never is, it is told here: the newest counts of each trigger, live, and of the last
 * UNSAID_MAX triggers whose sessions have ended, which are noted in fprofd.db like open spikes.
 */
#include "spikes_impl.h"

#include "log.h"
#include "store_notes.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#define KEY_PREFIX "unsaid/"

static void note_key(uint64_t note, char *key, size_t size)
{
	snprintf(key, size, KEY_PREFIX "%020llu", (unsigned long long)note);
}

static void drop(struct spikes *spikes, size_t i)
{
	struct unsaid *u = &spikes->unsaid.at[i];

	if (u->note && VEC_PUSH(&spikes->unsaid_gone, u->note) < 0)
		log_warning("out of memory, ignoring that a note stays");
	free(u->row.trigger_json);
	spikes->unsaid.count--;
	memmove(u, u + 1, (spikes->unsaid.count - i) * sizeof(*u));
}

static int add(struct spikes *spikes, const struct unsaid *u)
{
	if (spikes->unsaid.count == UNSAID_MAX)
		drop(spikes, 0);
	return VEC_PUSH(&spikes->unsaid, *u);
}

static size_t find(const struct spikes *spikes, const struct suppressed_row *row)
{
	size_t i = 0;

	while (i < spikes->unsaid.count && (spikes->unsaid.at[i].row.session != row->session ||
					    spikes->unsaid.at[i].row.number != row->number))
		i++;
	return i;
}

static void take(struct spikes *spikes, const struct suppressed_row *row)
{
	struct unsaid u = {.row = *row};
	size_t i = find(spikes, row);

	if (row->count == 0) {
		if (i < spikes->unsaid.count)
			drop(spikes, i);
		return;
	}
	if (i < spikes->unsaid.count) {
		spikes->unsaid.at[i].row.count = row->count;
		spikes->unsaid.at[i].row.first = row->first;
		spikes->unsaid.at[i].row.last = row->last;
		return;
	}
	u.row.trigger_json = strdup(row->trigger_json);
	if (!u.row.trigger_json || add(spikes, &u) < 0) {
		log_warning("session %llu: out of memory, ignoring what a trigger did not say",
			    (unsigned long long)row->session);
		free(u.row.trigger_json);
	}
}

void spikes_unsaid_take(struct spikes *spikes, const struct batch *batch)
{
	size_t i, k;

	for (i = 0; i < batch->suppressed.count; i++)
		take(spikes, &batch->suppressed.at[i]);
	for (i = 0; i < batch->updates.count; i++)
		for (k = 0; k < spikes->unsaid.count; k++)
			if (batch->updates.at[i].state != SESSION_LIVE &&
			    spikes->unsaid.at[k].row.session == batch->updates.at[i].id)
				spikes->unsaid.at[k].dirty = true;
}

/* ---- notes ---- */

static char *note_text(const struct suppressed_row *row)
{
	json_t *json = json_pack("{s:I, s:I, s:I, s:I, s:I, s:s}", "session",
				 (json_int_t)row->session, "uid", (json_int_t)row->uid, "count",
				 (json_int_t)row->count, "first", (json_int_t)row->first, "last",
				 (json_int_t)row->last, "trigger", row->trigger_json);
	char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;

	json_decref(json);
	return text;
}

static void put(struct spikes *spikes, uint64_t note, const char *text)
{
	char key[48];
	int r;

	note_key(note, key, sizeof(key));
	pthread_mutex_unlock(&spikes->lock);
	r = store_note_put(spikes->context.store, key, text);
	if (r < 0)
		log_warning("ignoring that a note of what triggers did not say cannot be %s: %s",
			    text ? "written" : "removed", strerror(-r));
	pthread_mutex_lock(&spikes->lock);
}

void spikes_unsaid_note(struct spikes *spikes, bool all)
{
	size_t i;

	while (spikes->unsaid_gone.count > 0)
		put(spikes, spikes->unsaid_gone.at[--spikes->unsaid_gone.count], NULL);
	for (i = 0; i < spikes->unsaid.count; i++) {
		struct unsaid *u = &spikes->unsaid.at[i];
		char *text;

		if (!u->dirty && !(all && u->row.number != UNSAID_OLD))
			continue;
		u->dirty = false;
		u->note = u->note ? u->note : spikes->next_number++;
		text = note_text(&u->row);
		if (text)
			put(spikes, u->note, text); /* u may be elsewhere now */
		free(text);
	}
}

static int parse(const char *text, struct unsaid *ret)
{
	json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, NULL), *trigger;
	json_int_t session = 0, uid = -1, count = 0, first = 0, last = 0;
	const char *trigger_text = "";
	int r = -EBADMSG;

	if (json &&
	    json_unpack(json, "{s:I, s:I, s:I, s:I, s:I, s:s}", "session", &session, "uid", &uid,
			"count", &count, "first", &first, "last", &last, "trigger",
			&trigger_text) == 0 &&
	    session > 0 && uid >= 0 && uid <= UINT32_MAX && count > 0 && first >= 0 &&
	    last >= first && (trigger = json_loads(trigger_text, 0, NULL))) {
		*ret = (struct unsaid){.row = {(uint64_t)session, (uint32_t)uid, UNSAID_OLD,
					       (uint64_t)count, (uint64_t)first, (uint64_t)last,
					       json_dumps(trigger, JSON_COMPACT)}};
		r = ret->row.trigger_json ? 0 : -ENOMEM;
		json_decref(trigger);
	}
	json_decref(json);
	return r;
}

static int on_note(void *userdata, const char *key, const char *text)
{
	struct spikes *spikes = userdata;
	struct unsaid u;
	int r = parse(text, &u);

	if (r == -EBADMSG) {
		log_warning("ignoring the note %s, which makes no sense", key);
		return 0;
	}
	if (r < 0)
		return r;
	u.note = strtoull(key + strlen(KEY_PREFIX), NULL, 10);
	spikes->next_number = MAX(spikes->next_number, u.note + 1);
	r = add(spikes, &u);
	if (r < 0)
		free(u.row.trigger_json);
	return r;
}

int spikes_unsaid_read(struct spikes *spikes)
{
	int r = store_notes_read(spikes->context.store, KEY_PREFIX, on_note, spikes);

	return r == -ENOMEM ? r : 0;
}

void spikes_unsaid_deinit(struct spikes *spikes)
{
	size_t i;

	for (i = 0; i < spikes->unsaid.count; i++)
		free(spikes->unsaid.at[i].row.trigger_json);
	VEC_FREE(&spikes->unsaid);
	VEC_FREE(&spikes->unsaid_gone);
}

/* ---- telling ---- */

void spikes_unsaid_vec_free(spikes_unsaid_vec *unsaid)
{
	size_t i;

	for (i = 0; i < unsaid->count; i++)
		free(unsaid->at[i].trigger);
	VEC_FREE(unsaid);
}

int spikes_unsaid(struct spikes *spikes, uint32_t uid, spikes_unsaid_vec *ret_unsaid)
{
	spikes_unsaid_vec list = {0};
	size_t i;
	int r = 0;

	pthread_mutex_lock(&spikes->lock);
	for (i = 0; i < spikes->unsaid.count && r == 0; i++) {
		const struct suppressed_row *row = &spikes->unsaid.at[i].row;
		struct spike_unsaid one = {row->session, row->count, row->first, row->last, NULL};

		if (uid != HISTORY_ANY_UID && uid != row->uid)
			continue;
		one.trigger = strdup(row->trigger_json);
		r = one.trigger ? VEC_PUSH(&list, one) : -ENOMEM;
		if (r < 0)
			free(one.trigger);
	}
	pthread_mutex_unlock(&spikes->lock);
	if (r < 0) {
		spikes_unsaid_vec_free(&list);
		return r;
	}
	*ret_unsaid = list;
	return 0;
}
