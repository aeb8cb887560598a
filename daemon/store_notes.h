/* SPDX-License-Identifier: MIT */
/*
 * Small texts under a key that outlive the daemon: rows of meta in fprofd.db. Written through to
 * the disk. Any thread.
 */
#ifndef FPROF_DAEMON_STORE_NOTES_H
#define FPROF_DAEMON_STORE_NOTES_H

#include "store.h"

/* text NULL: removes it. 0, or -errno where fprofd.db takes nothing: nothing was written. */
int store_note_put(struct store *store, const char *key, const char *text);

/* Calls fn for each note whose key begins with prefix, in the order of the keys; fn may not call
 * back. Its negative return ends that and is the result. 0 or -errno. */
typedef int (*store_note_fn)(void *userdata, const char *key, const char *text);
int store_notes_read(struct store *store, const char *prefix, store_note_fn fn, void *userdata);

#endif
