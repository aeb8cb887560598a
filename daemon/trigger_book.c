// SPDX-License-Identifier: MIT
/*
 * Lists are immutable and counted: who asks gets one to keep, and a new one takes its place in the
 * book. The drain looks at the generation at each sweep and takes over what has changed.
 */
#include "trigger_book.h"

#include "json.h"
#include "log.h"
#include "store_notes.h"
#include "util.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#define KEY_PREFIX "triggers/"

struct entry {
	uint64_t session;
	struct trigger_list *list;
};

struct trigger_book {
	struct store *store;
	uint32_t keep;
	struct trigger_list *standard;
	pthread_mutex_t lock; /* of all that follows */
	VEC(struct entry) entries;
	uint64_t generation; /* written under the lock, read by anyone */
};

static struct entry *find(struct trigger_book *book, uint64_t session)
{
	size_t i;

	for (i = 0; i < book->entries.count; i++)
		if (book->entries.at[i].session == session)
			return &book->entries.at[i];
	return NULL;
}

static void note_key(uint64_t session, char *key, size_t size)
{
	snprintf(key, size, KEY_PREFIX "%llu", (unsigned long long)session);
}

/* A list that an earlier daemon noted. One that this daemon does not understand is left out. */
static int on_note(void *userdata, const char *key, const char *text)
{
	struct trigger_book *book = userdata;
	struct trigger_problem problem;
	struct entry e = {.session = strtoull(key + strlen(KEY_PREFIX), NULL, 10)};
	int r = trigger_list_parse(text, strlen(text), book->keep, &e.list, &problem);

	if (r == -EINVAL) {
		log_warning("session %llu: ignoring its triggers: %s %s",
			    (unsigned long long)e.session, problem.where, problem.why);
		return 0;
	}
	if (r == 0)
		r = VEC_PUSH(&book->entries, e);
	if (r < 0)
		trigger_list_unref(e.list);
	return r;
}

/* What earlier daemons left. */
static void prune(struct trigger_book *book)
{
	struct history *history;

	if (book->entries.count == 0 || history_open(book->store, &history) < 0)
		return;
	trigger_book_prune(book, history);
	history_close(history);
}

int trigger_book_new(const struct config *config, struct store *store,
		     struct trigger_book **ret_book)
{
	struct trigger_book *book = calloc(1, sizeof(*book));
	struct trigger_problem problem;
	int r;

	if (!book)
		return -ENOMEM;
	book->store = store;
	book->keep = config->spikes_keep;
	pthread_mutex_init(&book->lock, NULL);
	r = trigger_list_parse(config->triggers, strlen(config->triggers), book->keep,
			       &book->standard, &problem);
	if (r == 0)
		r = store_notes_read(store, KEY_PREFIX, on_note, book);
	if (r == 0)
		prune(book);
	if (r == -ENOMEM || r == -EINVAL) {
		trigger_book_free(book);
		return r;
	}
	*ret_book = book;
	return 0;
}

void trigger_book_free(struct trigger_book *book)
{
	size_t i;

	if (!book)
		return;
	for (i = 0; i < book->entries.count; i++)
		trigger_list_unref(book->entries.at[i].list);
	VEC_FREE(&book->entries);
	trigger_list_unref(book->standard);
	pthread_mutex_destroy(&book->lock);
	free(book);
}

struct trigger_list *trigger_book_get(struct trigger_book *book, uint64_t session)
{
	struct trigger_list *list;
	struct entry *e;

	pthread_mutex_lock(&book->lock);
	e = find(book, session);
	list = trigger_list_ref(e ? e->list : book->standard);
	pthread_mutex_unlock(&book->lock);
	return list;
}

static int note_list(struct trigger_book *book, uint64_t session, const struct trigger_list *list)
{
	_cleanup_free_ char *text = NULL;
	struct json j = {0};
	char key[48];

	note_key(session, key, sizeof(key));
	trigger_list_json(list, &j);
	text = json_text(&j);
	return text ? store_note_put(book->store, key, text) : -ENOMEM;
}

int trigger_book_set(struct trigger_book *book, uint64_t session, struct trigger_list *list)
{
	struct entry *e;
	int r = 0;

	pthread_mutex_lock(&book->lock);
	e = find(book, session);
	if (!e) {
		r = VEC_PUSH(&book->entries, ((struct entry){.session = session}));
		e = r == 0 ? &book->entries.at[book->entries.count - 1] : NULL;
	}
	if (e) {
		trigger_list_unref(e->list);
		e->list = trigger_list_ref(list);
		__atomic_store_n(&book->generation, book->generation + 1, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&book->lock);
	return r < 0 ? r : note_list(book, session, list);
}

static void forget(struct trigger_book *book, uint64_t session)
{
	bool had = false;
	struct entry *e;
	char key[48];

	pthread_mutex_lock(&book->lock);
	e = find(book, session);
	if (e) {
		had = true;
		trigger_list_unref(e->list);
		*e = book->entries.at[--book->entries.count];
	}
	pthread_mutex_unlock(&book->lock);
	note_key(session, key, sizeof(key));
	if (had && store_note_put(book->store, key, NULL) < 0)
		log_warning("session %llu: ignoring that its triggers stay noted",
			    (unsigned long long)session);
}

/* One that is not in the history; 0: all are. */
static uint64_t find_gone(struct trigger_book *book, struct history *history, size_t *from)
{
	struct history_session session;
	uint64_t id;
	int r;

	for (;; ++*from) {
		pthread_mutex_lock(&book->lock);
		id = *from < book->entries.count ? book->entries.at[*from].session : 0;
		pthread_mutex_unlock(&book->lock);
		if (id == 0)
			return 0;
		r = history_session(history, id, HISTORY_ANY_UID, &session);
		if (r == -ENOENT)
			return id;
		if (r == 0)
			history_session_deinit(&session);
	}
}

void trigger_book_prune(struct trigger_book *book, struct history *history)
{
	uint64_t session;
	size_t from = 0;

	while ((session = find_gone(book, history, &from)) > 0)
		forget(book, session);
}

uint64_t trigger_book_generation(const struct trigger_book *book)
{
	return __atomic_load_n(&book->generation, __ATOMIC_ACQUIRE);
}
