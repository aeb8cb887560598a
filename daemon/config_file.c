// SPDX-License-Identifier: MIT
/*
 * The keys of the configuration. The table below is the one place that knows a key's name, its
 * member of struct config and its range; docs/fprofd.conf repeats it for people.
 */
#include "config_file.h"

#include "displays.h"
#include "log.h"
#include "trigger.h"
#include "util.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

#define LINES_MAX 10000u

static const struct number_key {
	const char *name;
	size_t offset;
	unsigned min, max;
	bool power_of_two;
} number_keys[] = {
	{"history_frames", offsetof(struct config, history_frames), 10, 100000, false},
	{"history_mib", offsetof(struct config, history_mib), 8, 16384, false},
	{"history_session_mib", offsetof(struct config, history_session_mib), 8, 16384, false},
	{"ring_kib", offsetof(struct config, ring_kib), 16, 65536, true},
	{"max_counters", offsetof(struct config, max_counters), 1, 65536, false},
	{"sample_ms", offsetof(struct config, sample_ms), 0, 60000, false},
	{"sampling_hz", offsetof(struct config, sampling_hz), 10, 10000, false},
	{"query_seconds", offsetof(struct config, query_seconds), 1, 60, false},
	{"max_sessions", offsetof(struct config, max_sessions), 1, 1024, false},
	{"memory_mib", offsetof(struct config, memory_mib), 1, 65536, false},
	{"captures_mib", offsetof(struct config, captures_mib), 16, 1048576, false},
	{"spikes_keep", offsetof(struct config, spikes_keep), 1, TRIGGER_KEEP_MAX, false},
};

static const struct path_key {
	const char *name;
	size_t offset;
} path_keys[] = {
	{"socket", offsetof(struct config, socket_path)},
	{"runtime_dir", offsetof(struct config, runtime_dir)},
	{"state_dir", offsetof(struct config, state_dir)},
};

static const struct flag_key {
	const char *name;
	size_t offset;
} flag_keys[] = {
	{"scheduler", offsetof(struct config, scheduler)},
	{"pmu", offsetof(struct config, pmu)},
	{"sampling", offsetof(struct config, sampling)},
	{"on_demand", offsetof(struct config, on_demand)},
};

static int bad_value(const struct config_where *where, const char *key, const char *value,
		     const char *allowed)
{
	if (where->line)
		log_error("%s:%u: %s = %s: must be %s", where->name, where->line, key, value,
			  allowed);
	else
		log_error("%s %s: must be %s", where->name, value, allowed);
	return -EINVAL;
}

static int set_number(struct config *config, const struct number_key *key, const char *value,
		      const struct config_where *where)
{
	unsigned *member = (unsigned *)(void *)((char *)config + key->offset);
	unsigned long long v = 0;
	char allowed[64], *end = NULL;

	errno = 0;
	if (isdigit((unsigned char)value[0]))
		v = strtoull(value, &end, 10);
	if (!end || *end || errno || v < key->min || v > key->max ||
	    (key->power_of_two && (v & (v - 1)))) {
		snprintf(allowed, sizeof(allowed), "a %s from %u to %u",
			 key->power_of_two ? "power of two" : "whole number", key->min, key->max);
		return bad_value(where, key->name, value, allowed);
	}
	*member = (unsigned)v;
	return 0;
}

static int set_flag(struct config *config, const struct flag_key *key, const char *value,
		    const struct config_where *where)
{
	if (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0)
		return bad_value(where, key->name, value, "yes or no");
	*(bool *)((char *)config + key->offset) = strcmp(value, "yes") == 0;
	return 0;
}

static int set_string(char **member, const char *value)
{
	char *copy = strdup(value);

	if (!copy) {
		log_error("out of memory");
		return -ENOMEM;
	}
	free(*member);
	*member = copy;
	return 0;
}

static int set_path(struct config *config, const struct path_key *key, const char *value,
		    const struct config_where *where)
{
	char **member = (char **)(void *)((char *)config + key->offset);

	if (value[0] != '/')
		return bad_value(where, key->name, value, "an absolute path");
	return set_string(member, value);
}

/* "127.0.0.1:7600", "[::1]:7600", "localhost:0" */
static int set_http(struct config *config, const char *value, const struct config_where *where)
{
	static const char allowed[] = "ADDRESS:PORT with a numeric address (127.0.0.1, [::1]) or "
				      "localhost, and a port from 0 to 65535";
	const char *colon = strrchr(value, ':');
	size_t n = colon ? (size_t)(colon - value) : 0;
	unsigned char binary[sizeof(struct in6_addr)];
	char address[64], *end;
	unsigned long port;
	int family = AF_INET;

	if (n == 0 || n >= sizeof(address) || !isdigit((unsigned char)colon[1]))
		return bad_value(where, "http", value, allowed);
	errno = 0;
	port = strtoul(colon + 1, &end, 10);
	if (*end || errno || port > UINT16_MAX)
		return bad_value(where, "http", value, allowed);
	snprintf(address, sizeof(address), "%.*s", (int)n, value);
	if (address[0] == '[' && address[n - 1] == ']') {
		memmove(address, address + 1, n - 2);
		address[n - 2] = '\0';
		family = AF_INET6;
	} else if (strcmp(address, "localhost") == 0) {
		strcpy(address, "127.0.0.1");
	}
	if (inet_pton(family, address, binary) != 1)
		return bad_value(where, "http", value, allowed);
	config->http_port = (uint16_t)port;
	return set_string(&config->http_address, address);
}

static int set_triggers(struct config *config, const char *value, const struct config_where *where)
{
	struct trigger_problem problem;
	struct trigger_list *list;
	char allowed[sizeof(problem.where) + sizeof(problem.why) + 64];
	int r = trigger_list_parse(value, strlen(value), config->spikes_keep, &list, &problem);

	if (r == -EINVAL) {
		snprintf(allowed, sizeof(allowed), "a JSON array of triggers: %s %s", problem.where,
			 problem.why);
		return bad_value(where, "triggers", value, allowed);
	}
	if (r < 0)
		return r;
	trigger_list_unref(list);
	return set_string(&config->triggers, value);
}

static int set_displays(struct config *config, const char *value, const struct config_where *where)
{
	struct displays displays;

	if (displays_parse(value, &displays) < 0)
		return bad_value(where, "display_hz", value, DISPLAYS_ALLOWED);
	return set_string(&config->display_hz, value);
}

int config_set(struct config *config, const char *key, const char *value,
	       const struct config_where *where)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(number_keys); i++)
		if (strcmp(key, number_keys[i].name) == 0)
			return set_number(config, &number_keys[i], value, where);
	for (i = 0; i < ARRAY_SIZE(path_keys); i++)
		if (strcmp(key, path_keys[i].name) == 0)
			return set_path(config, &path_keys[i], value, where);
	for (i = 0; i < ARRAY_SIZE(flag_keys); i++)
		if (strcmp(key, flag_keys[i].name) == 0)
			return set_flag(config, &flag_keys[i], value, where);
	if (strcmp(key, "http") == 0)
		return set_http(config, value, where);
	if (strcmp(key, "triggers") == 0)
		return set_triggers(config, value, where);
	if (strcmp(key, "display_hz") == 0)
		return set_displays(config, value, where);
	return -ENOENT;
}

void config_compare(const struct config *a, const struct config *b, config_key_fn fn,
		    void *userdata)
{
	const char *x = (const char *)a, *y = (const char *)b;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(number_keys); i++)
		if (memcmp(x + number_keys[i].offset, y + number_keys[i].offset,
			   sizeof(unsigned)) != 0)
			fn(userdata, number_keys[i].name);
	for (i = 0; i < ARRAY_SIZE(path_keys); i++)
		if (strcmp(*(char *const *)(const void *)(x + path_keys[i].offset),
			   *(char *const *)(const void *)(y + path_keys[i].offset)) != 0)
			fn(userdata, path_keys[i].name);
	for (i = 0; i < ARRAY_SIZE(flag_keys); i++)
		if (*(const bool *)(x + flag_keys[i].offset) !=
		    *(const bool *)(y + flag_keys[i].offset))
			fn(userdata, flag_keys[i].name);
	if (strcmp(a->http_address, b->http_address) != 0 || a->http_port != b->http_port)
		fn(userdata, "http");
	if (strcmp(a->triggers, b->triggers) != 0)
		fn(userdata, "triggers");
	if (strcmp(a->display_hz ? a->display_hz : "", b->display_hz ? b->display_hz : "") != 0)
		fn(userdata, "display_hz");
}

static char *trim(char *s)
{
	size_t n;

	while (isspace((unsigned char)*s))
		s++;
	for (n = strlen(s); n > 0 && isspace((unsigned char)s[n - 1]); n--)
		s[n - 1] = '\0';
	return s;
}

static void cut_comment(char *line)
{
	char *c;

	for (c = line; *c; c++) {
		if (*c == '#' && (c == line || isspace((unsigned char)c[-1]))) {
			*c = '\0';
			return;
		}
	}
}

static int read_line(struct config *config, char *line, const struct config_where *where)
{
	char *equals, *key;
	int r;

	cut_comment(line);
	line = trim(line);
	if (!line[0])
		return 0;
	equals = strchr(line, '=');
	if (!equals) {
		log_error("%s:%u: \"%s\": must be key = value", where->name, where->line, line);
		return -EINVAL;
	}
	*equals = '\0';
	key = trim(line);
	r = config_set(config, key, trim(equals + 1), where);
	if (r != -ENOENT)
		return r;
	log_warning("%s:%u: unknown key \"%s\", ignoring it", where->name, where->line, key);
	return 0;
}

int config_read_file(struct config *config, const char *path)
{
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	_cleanup_free_ char *line = NULL;
	struct config_where where = {.name = path};
	size_t size = 0;
	int r = 0;

	if (!f) {
		r = -errno;
		if (r != -ENOENT && r != -ENOTDIR)
			log_error("%s: %s", path, strerror(-r));
		return r == -ENOTDIR ? -ENOENT : r;
	}
	while (r == 0 && getline(&line, &size, f) >= 0) {
		if (++where.line > LINES_MAX) {
			log_error("%s: longer than %u lines", path, LINES_MAX);
			return -EINVAL;
		}
		r = read_line(config, line, &where);
	}
	if (r == 0 && ferror(f)) {
		log_error("%s: cannot be read", path);
		r = -EIO;
	}
	return r;
}
