/* SPDX-License-Identifier: MIT */
/* Values of the configuration from text: one table of keys with their ranges, for file and options.
 */
#ifndef FPROF_DAEMON_CONFIG_FILE_H
#define FPROF_DAEMON_CONFIG_FILE_H

#include "config.h"

/* Where a value came from, for messages: a file and its line, or an option (line 0). */
struct config_where {
	const char *name;
	unsigned line;
};

/*
 * Sets one key. 0; -ENOENT: no such key; -EINVAL: not a value of it, -ENOMEM: both said in the log
 * with where, and with what is allowed.
 */
int config_set(struct config *config, const char *key, const char *value,
	       const struct config_where *where);
/* Calls fn with the name of each key whose values differ. Both are from config_load. */
typedef void (*config_key_fn)(void *userdata, const char *key);
void config_compare(const struct config *a, const struct config *b, config_key_fn fn,
		    void *userdata);
/*
 * Reads `key = value` lines. # begins a comment at the start of a line or after a blank. Unknown
 * keys are warned about. 0; -ENOENT: no such file (not said); or what was said in the log.
 */
int config_read_file(struct config *config, const char *path);

#endif
