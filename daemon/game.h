/* SPDX-License-Identifier: MIT */
/*
 * The live games: one record a process, from its first hello to its death. Knows which session and
 * which memories a process has, makes them, and tells the drain. Runs on the loop.
 */
#ifndef FPROF_DAEMON_GAME_H
#define FPROF_DAEMON_GAME_H

#include "config.h"
#include "drain.h"
#include "loop.h"
#include "peer.h"
#include "store.h"

#include <stdbool.h>

struct game;
struct games;

/* Called when a game's process has ended, before its end is judged: read what its sockets still
 * hold. */
typedef void (*games_last_words_fn)(void *userdata, struct game *game);
/* Called when a game is about to be freed: forget it. */
typedef void (*games_gone_fn)(void *userdata, struct game *game);

/* An attached game's session has ended, or its game's process has: read what is known of it. */
typedef void (*games_attached_fn)(void *userdata, uint64_t session);

struct games_callbacks {
	games_last_words_fn last_words;
	games_gone_fn gone;
	void *userdata;
};

/* What becomes of sessions that games_attach began. */
struct games_attached {
	games_attached_fn last_words; /* the process has ended; the session is about to */
	games_attached_fn ended;      /* the session has ended, unless by games_detach */
	void *userdata;
};

int games_new(struct loop *loop, const struct config *config, struct store *store,
	      struct drain *drain, bool any_uid, const struct games_callbacks *callbacks,
	      struct games **ret_games);
/*
 * Takes on the sessions that an earlier daemon left live. Those whose process is there are ended
 * when it goes, unless it says hello again; those whose process is gone at games_end_gone, before
 * which the socket is to be read: its hello may have been its last word.
 */
void games_take_on(struct games *games);
void games_end_gone(struct games *games);
/* Forgets all; their sessions stay live for the next daemon. NULL is fine. */
void games_free(struct games *games);
/* Limits of a new configuration, which must live as long as games. */
void games_set_config(struct games *games, const struct config *config);

/*
 * A well-formed hello of this process with its memory's descriptor (-1: none came). Takes
 * peer->pidfd over on success (peer->pidfd is then -1); memory_fd stays the caller's. 0, or -errno
 * with *ret_why in English.
 */
int games_hello(struct games *games, struct peer *peer, const struct fprof_msg_hello *hello,
		int memory_fd, struct game **ret_game, const char **ret_why);
/*
 * The same for a memory that the daemon writes itself, for a process that is not recorded: its
 * session is *ret_session. -EEXIST: it is recorded, as *ret_session.
 */
int games_attach(struct games *games, struct peer *peer, const struct fprof_msg_hello *hello,
		 int memory_fd, uint64_t *ret_session, const char **ret_why);
/* Ends such a session; unknown ones are fine. reason: copied. */
void games_detach(struct games *games, uint64_t session, const char *reason);
/* Who is told of them; before the first. */
void games_set_attached(struct games *games, const struct games_attached *attached);
/* The session of a process that is recorded, 0: it is not. */
uint64_t games_session_of(const struct games *games, const struct peer *peer);
int32_t game_pid(const struct game *game);
uint64_t game_session(const struct game *game);
int game_control_fd(const struct game *game);
/* Is there a pidfd that will tell its end? */
bool game_is_watched(const struct game *game);
void game_bye(struct games *games, struct game *game);
/* A connection of the game was closed: ends a game whose process cannot be watched. May free it. */
void game_hung_up(struct games *games, struct game *game);

#endif
