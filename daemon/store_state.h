/* SPDX-License-Identifier: MIT */
/*
 * fprofd.db, the durable database of the state directory. So far it holds the counter of session
 * ids. Any thread; its connection is under its lock.
 */
#ifndef FPROF_DAEMON_STORE_STATE_H
#define FPROF_DAEMON_STORE_STATE_H

#include "store_db.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

struct store_state {
	pthread_mutex_t lock;
	sqlite3 *db;
	char dir[DB_PATH_MAX - 64], path[DB_PATH_MAX - 32];
	uint64_t next_id, reserved; /* ids below reserved may be given without a write */
	bool ok;
	char reason[320]; /* why not, or what happened to the old one */
};

/* newest_id: of the history. Failing to open is no error: ok and reason say so. -ENAMETOOLONG. */
int store_state_init(struct store_state *state, const char *dir, uint64_t newest_id);
void store_state_deinit(struct store_state *state);
uint64_t store_state_next_id(struct store_state *state);
/* Tries again what failed. */
void store_state_retry(struct store_state *state);
bool store_state_health(struct store_state *state, char *ret_reason, size_t size);

#endif
