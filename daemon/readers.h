/* SPDX-License-Identifier: MIT */
/*
 * Database readers to borrow: a reader serves one thread at a time, and a request needs one for a
 * moment. As many exist as were ever in use at once. Any thread.
 */
#ifndef FPROF_DAEMON_READERS_H
#define FPROF_DAEMON_READERS_H

#include "history.h"

struct readers;

int readers_new(struct store *store, struct readers **ret_readers);
void readers_free(struct readers *readers); /* all must be back; NULL is fine */

/* 0, or -errno of opening one. Give it back with readers_put. */
int readers_take(struct readers *readers, struct history **ret_history);
void readers_put(struct readers *readers, struct history *history); /* NULL is fine */

#endif
