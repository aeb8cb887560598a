// SPDX-License-Identifier: MIT
/*
 * Putting a configuration together: defaults, file, options, then the paths that depend on them.
 *
 * A file's mistake is told as file:line (exit 78), an option's by its name (exit 2). Nothing
 * is made on disk here: see directories.h.
 *
 * The rolling history belongs on tmpfs, since an always-on recorder would wear out an SSD. Where
 * the runtime directory is not tmpfs it goes to /dev/shm, under a directory of this user that
 * nobody else can have prepared; a name made from the runtime directory keeps two daemons apart.
 */
#include "config.h"
#include "config_file.h"

#include "log.h"
#include "shm/layout.h"
#include "util.h"

#include <errno.h>
#include <getopt.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/un.h>
#include <sys/vfs.h>

enum { EXIT_USAGE = 2, EXIT_CONFIG = 78 };

/* Paths of sockets, the longest that the kernel takes. */
#define DEFAULT_FILE	    "/fprofd/fprofd.conf" /* below the directory of configurations */
#define SYSTEM_FILE	    "/etc/fprofd/fprofd.conf"
#define SOCKET_PATH_MAX	    (sizeof(((struct sockaddr_un *)0)->sun_path) - 1)
#define SESSION_MIB_DEFAULT 128u

static const char usage[] =
	"Usage: fprofd [OPTION]...\n"
	"Record the frames of games and answer for them over HTTP.\n\n"
	"  --http ADDR:PORT     where the dashboard and the API listen (127.0.0.1:7600)\n"
	"  --socket PATH        socket that games connect to (RUNTIME_DIR/fprofd.sock)\n"
	"  --runtime-dir DIR    sockets and the rolling history ($XDG_RUNTIME_DIR/fprofd)\n"
	"  --state-dir DIR      what is kept for good ($XDG_STATE_HOME/fprofd)\n"
	"  --config FILE        read this file instead of the default ones\n"
	"  --verbose            say more\n"
	"  --version            print the version and exit\n"
	"  --help               print this and exit\n\n"
	"Default files: $XDG_CONFIG_HOME/fprofd/fprofd.conf, else /etc/fprofd/fprofd.conf.\n"
	"Exit status: 0 ended in order, 1 failed, 2 bad option, 77 not permitted,\n"
	"78 bad configuration.\n";

/* A hitch stands out by itself and against what is usual; 60 fps lose three frames in it. */
static const char triggers[] = "[{\"on\": \"frame\", \"times_median\": 3, \"floor_ms\": 50}, "
			       "{\"on\": \"exit_without_goodbye\"}]";

struct options {
	const char *http, *socket, *runtime_dir, *state_dir, *config;
	bool verbose;
};

/* 0; 1: answered; -EINVAL: said. */
static int parse_options(int argc, char **argv, struct options *ret)
{
	static const struct option table[] = {
		{"http", required_argument, NULL, 'a'},
		{"socket", required_argument, NULL, 's'},
		{"runtime-dir", required_argument, NULL, 'r'},
		{"state-dir", required_argument, NULL, 'd'},
		{"config", required_argument, NULL, 'c'},
		{"verbose", no_argument, NULL, 'v'},
		{"version", no_argument, NULL, 'V'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	int c;

	optind = 0;
	while ((c = getopt_long(argc, argv, "hv", table, NULL)) >= 0) {
		switch (c) {
		case 'a':
			ret->http = optarg;
			break;
		case 's':
			ret->socket = optarg;
			break;
		case 'r':
			ret->runtime_dir = optarg;
			break;
		case 'd':
			ret->state_dir = optarg;
			break;
		case 'c':
			ret->config = optarg;
			break;
		case 'v':
			ret->verbose = true;
			break;
		case 'V':
			puts("fprofd " FPROF_VERSION);
			return 1;
		case 'h':
			fputs(usage, stdout);
			return 1;
		default:
			fputs("fprofd: --help lists the options\n", stderr);
			return -EINVAL;
		}
	}
	if (optind < argc) {
		fprintf(stderr, "fprofd: %s: no arguments are taken; --help lists the options\n",
			argv[optind]);
		return -EINVAL;
	}
	return 0;
}

static int format_path(char **ret, const char *a, const char *b)
{
	char *path;

	if (asprintf(&path, "%s%s", a, b) < 0) {
		log_error("out of memory");
		return -ENOMEM;
	}
	free(*ret);
	*ret = path;
	return 0;
}

/* An option's path may be relative to where the daemon was started. */
static int option_path(struct config *config, const char *key, const char *value,
		       const char *option)
{
	struct config_where where = {.name = option};
	_cleanup_free_ char *cwd = NULL, *path = NULL;

	if (!value)
		return 0;
	if (!value[0]) {
		log_error("%s: must be a path", option);
		return -EINVAL;
	}
	if (value[0] == '/')
		return config_set(config, key, value, &where);
	cwd = getcwd(NULL, 0);
	if (!cwd || asprintf(&path, "%s/%s", cwd, value) < 0) {
		log_error("%s: the working directory is not known", option);
		return -EINVAL;
	}
	return config_set(config, key, path, &where);
}

static int apply_options(struct config *config, const struct options *options)
{
	struct config_where where = {.name = "--http"};
	int r = 0;

	if (options->http)
		r = config_set(config, "http", options->http, &where);
	if (r == 0)
		r = option_path(config, "socket", options->socket, "--socket");
	if (r == 0)
		r = option_path(config, "runtime_dir", options->runtime_dir, "--runtime-dir");
	if (r == 0)
		r = option_path(config, "state_dir", options->state_dir, "--state-dir");
	config->verbose = options->verbose;
	return r;
}

static const char *environment(const char *name)
{
	const char *value = getenv(name);

	return value && value[0] ? value : NULL;
}

/* $XDG_CONFIG_HOME, or ~/.config; NULL: neither is known. */
static int home_path(char **ret, const char *xdg, const char *below_home, const char *tail)
{
	_cleanup_free_ char *base = NULL;
	int r;

	if (environment(xdg))
		return format_path(ret, environment(xdg), tail);
	if (!environment("HOME"))
		return -ENOENT;
	r = format_path(&base, environment("HOME"), below_home);
	return r < 0 ? r : format_path(ret, base, tail);
}

static int read_default_file(struct config *config)
{
	_cleanup_free_ char *path = NULL;
	int r = home_path(&path, "XDG_CONFIG_HOME", "/.config", DEFAULT_FILE);

	if (r == 0) {
		r = config_read_file(config, path);
		if (r == 0)
			return format_path(&config->config_file, path, "");
	}
	if (r != -ENOENT)
		return r;
	r = config_read_file(config, SYSTEM_FILE);
	if (r == 0)
		return format_path(&config->config_file, SYSTEM_FILE, "");
	return r == -ENOENT ? 0 : r;
}

void config_command(const struct config *config, const char *settings, bool at_run_time,
		    char *ret_command, size_t size)
{
	bool root = geteuid() == 0, user = !root && environment("XDG_RUNTIME_DIR");
	_cleanup_free_ char *own = NULL;
	const char *file = config->config_file;
	char make[160] = "", again[64];

	if (!file && user && home_path(&own, "XDG_CONFIG_HOME", "/.config", DEFAULT_FILE) == 0)
		file = own;
	if (!file)
		file = SYSTEM_FILE;
	if (!config->config_file)
		snprintf(make, sizeof(make), "mkdir -p %.*s && ", (int)(strrchr(file, '/') - file),
			 file);
	if (at_run_time)
		snprintf(again, sizeof(again), "kill -HUP %d", (int)getpid());
	else
		snprintf(again, sizeof(again), "systemctl%s restart fprofd", user ? " --user" : "");
	snprintf(ret_command, size, "%s%sprintf '%s\\n' >> %s && %s%s",
		 root || user ? "" : "sudo sh -c \"", make, settings, file, again,
		 root || user ? "" : "\"");
}

static int read_file(struct config *config, const char *named)
{
	int r;

	if (!named)
		return read_default_file(config);
	r = config_read_file(config, named);
	if (r == -ENOENT)
		log_error("%s: no such file", named);
	return r < 0 ? r : format_path(&config->config_file, named, "");
}

/* systemd names the directories it made; several are separated by colons. */
static int directory_from_systemd(char **ret, const char *variable)
{
	const char *value = environment(variable);

	if (!value)
		return -ENOENT;
	free(*ret);
	*ret = strndup(value, strcspn(value, ":"));
	return *ret ? 0 : -ENOMEM;
}

static int choose_runtime_dir(struct config *config)
{
	int r = directory_from_systemd(&config->runtime_dir, "RUNTIME_DIRECTORY");

	if (r != -ENOENT)
		return r;
	if (environment("XDG_RUNTIME_DIR"))
		return format_path(&config->runtime_dir, environment("XDG_RUNTIME_DIR"), "/fprofd");
	if (geteuid() == 0)
		return format_path(&config->runtime_dir, "/run/fprofd", "");
	log_error("no runtime directory: XDG_RUNTIME_DIR is not set; give --runtime-dir DIR");
	return -ENOENT;
}

static int choose_state_dir(struct config *config)
{
	int r = directory_from_systemd(&config->state_dir, "STATE_DIRECTORY");

	if (r != -ENOENT)
		return r;
	if (geteuid() == 0 && !environment("XDG_STATE_HOME"))
		return format_path(&config->state_dir, "/var/lib/fprofd", "");
	r = home_path(&config->state_dir, "XDG_STATE_HOME", "/.local/state", "/fprofd");
	if (r == -ENOENT)
		log_error("no state directory: neither XDG_STATE_HOME nor HOME is set; give "
			  "--state-dir DIR");
	return r;
}

/* Is path on tmpfs, or will it be once it is made? */
static bool on_tmpfs(const char *path)
{
	_cleanup_free_ char *copy = strdup(path);
	struct statfs fs;
	char *slash;

	if (!copy)
		return false;
	while (statfs(copy, &fs) < 0) {
		slash = strrchr(copy, '/');
		if (!slash || errno != ENOENT)
			return false;
		slash[slash == copy ? 1 : 0] = '\0';
		if (slash == copy && statfs(copy, &fs) < 0)
			return false;
	}
	return fs.f_type == TMPFS_MAGIC;
}

static int choose_history_dir(struct config *config)
{
	char tail[64];
	int r;

	if (on_tmpfs(config->runtime_dir))
		return format_path(&config->history_dir, config->runtime_dir, "");
	if (!on_tmpfs("/dev/shm")) {
		r = format_path(&config->history_dir, config->runtime_dir, "");
		return r < 0 ? r
			     : format_path(&config->history_why, config->runtime_dir,
					   " is not tmpfs, and neither is /dev/shm: the rolling "
					   "history is written to a disk");
	}
	snprintf(tail, sizeof(tail), "%u/%016llx", geteuid(),
		 (unsigned long long)fprof_name_hash(config->runtime_dir,
						     strlen(config->runtime_dir)));
	r = format_path(&config->history_dir, "/dev/shm/fprofd-", tail);
	return r < 0 ? r
		     : format_path(&config->history_why, config->runtime_dir,
				   " is not tmpfs: the rolling history is in /dev/shm");
}

static int choose_paths(struct config *config)
{
	int r = 0;

	if (!config->runtime_dir)
		r = choose_runtime_dir(config);
	if (r == 0 && !config->state_dir)
		r = choose_state_dir(config);
	if (r == 0 && !config->socket_path)
		r = format_path(&config->socket_path, config->runtime_dir, "/fprofd.sock");
	if (r == 0 && strlen(config->socket_path) > SOCKET_PATH_MAX) {
		log_error("the socket's path is too long: %zu bytes, %zu are the most: %s",
			  strlen(config->socket_path), SOCKET_PATH_MAX, config->socket_path);
		r = -ENAMETOOLONG;
	}
	return r < 0 ? r : choose_history_dir(config);
}

static void set_defaults(struct config *config)
{
	*config = (struct config){
		.http_address = strdup("127.0.0.1"),
		.http_port = 7600,
		.history_frames = 600,
		.history_mib = 128,
		.ring_kib = 1024,
		.max_counters = 4096,
		.sample_ms = 1000,
		.scheduler = true,
		.sampling_hz = 4000,
		.max_sessions = 64,
		.spikes_keep = 8,
		.triggers = strdup(triggers),
		.memory_mib = 1024,
		.query_seconds = 5,
		.captures_mib = 2048,
	};
}

/* One session's share, where it is given, is no more than all have together. */
static void bound_session_share(struct config *config)
{
	if (config->history_session_mib > config->history_mib)
		log_warning("history_session_mib is %u, more than history_mib, using %u",
			    config->history_session_mib, config->history_mib);
	if (!config->history_session_mib)
		config->history_session_mib = SESSION_MIB_DEFAULT;
	config->history_session_mib = MIN(config->history_session_mib, config->history_mib);
}

int config_load(int argc, char **argv, struct config *ret_config, int *ret_exit)
{
	struct options options = {0};
	struct config config;
	int r = parse_options(argc, argv, &options);

	if (r != 0) {
		*ret_exit = r < 0 ? EXIT_USAGE : 0;
		return r;
	}
	set_defaults(&config);
	*ret_exit = EXIT_CONFIG;
	r = config.http_address && config.triggers ? read_file(&config, options.config) : -ENOMEM;
	if (r == 0) {
		*ret_exit = EXIT_USAGE;
		r = apply_options(&config, &options);
	}
	if (r == 0) {
		*ret_exit = options.socket || options.runtime_dir ? EXIT_USAGE : EXIT_CONFIG;
		r = choose_paths(&config);
	}
	if (r < 0) {
		config_free(&config);
		return -EINVAL;
	}
	bound_session_share(&config);
	*ret_exit = 0;
	*ret_config = config;
	return 0;
}

void config_free(struct config *config)
{
	free(config->http_address);
	free(config->socket_path);
	free(config->runtime_dir);
	free(config->state_dir);
	free(config->history_dir);
	free(config->history_why);
	free(config->config_file);
	free(config->triggers);
	free(config->display_hz);
	*config = (struct config){0};
}
