/* SPDX-License-Identifier: MIT */
/*
 * Which triggers each session has: what it was given, kept in fprofd.db until it ends, or the
 * default of the configuration. Any thread.
 */
#ifndef FPROF_DAEMON_TRIGGER_BOOK_H
#define FPROF_DAEMON_TRIGGER_BOOK_H

#include "config.h"
#include "history.h"
#include "store.h"
#include "trigger.h"

struct trigger_book;

/* Forgets the lists of sessions that are not in the history. 0 or -errno (the configuration was
 * checked: -ENOMEM). */
int trigger_book_new(const struct config *config, struct store *store,
		     struct trigger_book **ret_book);
void trigger_book_free(struct trigger_book *book); /* NULL is fine */

/* The caller's to unref. */
struct trigger_list *trigger_book_get(struct trigger_book *book, uint64_t session);
/* 0; -ENOMEM: it is as it was; another -errno: it holds, but will not outlive this daemon. The
 * caller keeps its count. */
int trigger_book_set(struct trigger_book *book, uint64_t session, struct trigger_list *list);
/* Forgets the lists of sessions that the history has no more. */
void trigger_book_prune(struct trigger_book *book, struct history *history);
/* Changes whenever a list does. */
uint64_t trigger_book_generation(const struct trigger_book *book);

#endif
