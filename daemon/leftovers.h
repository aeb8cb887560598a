/* SPDX-License-Identifier: MIT */
/* Histories outside their runtime directory, and those of them that nobody will use again. */
#ifndef FPROF_DAEMON_LEFTOVERS_H
#define FPROF_DAEMON_LEFTOVERS_H

/*
 * Makes history_dir, whose parent is there, notes in it that it belongs to runtime_dir, and holds
 * it: for as long as *ret_fd is open, nobody's leftovers_remove takes it away. 0 or -errno.
 */
int leftovers_hold(const char *history_dir, const char *runtime_dir, int *ret_fd);

/*
 * Removes the directories beside history_dir whose note names a runtime directory that is not there
 * any more, and that no daemon holds. Returns how many. What cannot be understood stays.
 */
unsigned leftovers_remove(const char *history_dir);

#endif
