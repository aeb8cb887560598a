/* SPDX-License-Identifier: MIT */
/* Counters by subject, and the names that games are asked to use for what most of them count. */
#ifndef FPROF_DAEMON_COUNTER_NAMES_H
#define FPROF_DAEMON_COUNTER_NAMES_H

/* In the order in which they are shown; NULL-terminated. The last one takes what fits nowhere. */
extern const char *const counter_modules[];

/* The module of a game's counter: its category where that is one, else what its name is known for,
 * else "game". category may be NULL. */
const char *counter_module(const char *name, const char *category);

#endif
