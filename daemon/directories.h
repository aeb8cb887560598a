/* SPDX-License-Identifier: MIT */
/* Making the directories that the configuration names. */
#ifndef FPROF_DAEMON_DIRECTORIES_H
#define FPROF_DAEMON_DIRECTORIES_H

#include "config.h"

/*
 * Makes runtime_dir (open to other users when the daemon is root: games of all users connect) in a
 * directory that is there, state_dir with its parents, and history_dir (0700). The socket's
 * directory must be there when it is another one. A state_dir that cannot be made is ignored here:
 * the store says what follows. Where history_dir is not safely ours, config->history_dir becomes
 * runtime_dir, and history_why says so. 0, or -errno after saying so in the log.
 */
int directories_make(struct config *config);

#endif
