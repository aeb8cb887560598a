// SPDX-License-Identifier: MIT
/*
 * fprofd: puts the modules together and takes them apart.
 *
 * Started in the order of the data's flow backwards (store, drain, socket, HTTP), so that whoever
 * is ready finds the next one ready, and stopped forwards: no new games, the last sweep, no new
 * readers, the last commit. The loop owns signals (signalfd), the watchdog's timer and the game
 * socket.
 *
 * Exit status: 0 ended in order, 1 failed, 2 bad option, 77 not permitted, 78 bad configuration.
 */
#include "attach.h"
#include "config.h"
#include "config_file.h"
#include "directories.h"
#include "displays.h"
#include "drain.h"
#include "http.h"
#include "leftovers.h"
#include "listen.h"
#include "log.h"
#include "loop.h"
#include "notify.h"
#include "pmu.h"
#include "query.h"
#include "spikes.h"
#include "status.h"
#include "store.h"
#include "util.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>

enum { EXIT_NOT_PERMITTED = 77 };

struct app {
	int argc;
	char **argv;
	struct config config;	/* what the modules were made with */
	struct config reloaded; /* the newest; what can change at run time is taken from it */
	struct loop *loop;
	struct status *status;
	struct trigger_book *triggers;
	struct store *store;
	struct captures *captures;
	struct drain *drain;
	struct pmu_events pmu;
	struct sampler *sampler;
	struct sched_trace *sched_trace;
	struct stack_trace *stack_trace;
	struct loop_calls *calls;
	struct listen *listen;
	struct attach *attach;
	pthread_mutex_t http_lock; /* the store thread reads http */
	struct http *http;
	pthread_mutex_t spikes_lock; /* the store thread reads spikes */
	struct spikes *spikes;
	int history_note; /* leftovers_hold */
	int signals;
	struct loop_source *signal_source, *watchdog;
};

static int exit_status(int error)
{
	return error == -EACCES || error == -EPERM ? EXIT_NOT_PERMITTED : EXIT_FAILURE;
}

static void notify(const char *state)
{
	int r = notify_send(state);

	if (r < 0)
		log_warning("the service manager cannot be told: %s, ignoring it", strerror(-r));
}

/* A game costs two descriptors, a waiting connection two: take what the hard limit allows. */
static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == limit.rlim_max)
		return;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		log_warning("the limit of open files cannot be raised: %s, ignoring it",
			    strerror(errno));
}

static void set_displays(const struct config *config, struct status *status)
{
	struct displays displays;
	char set[256];
	const char *fix = set;

	config_command(config, "display_hz = 60", true, set, sizeof(set));
	displays_read(config->display_hz, DISPLAYS_CARDS, &displays);
	if (displays.denied)
		fix = "sudo usermod -aG video \"$USER\"";
	else if (displays.count > 0)
		fix = NULL;
	status_source(status, "displays", displays.count > 0 ? SOURCE_ON : SOURCE_UNAVAILABLE,
		      displays.why_not, fix);
}

/* What can change at run time: see listen_set_config. */
static void say_unchangeable(void *userdata, const char *key)
{
	static const char *const changeable[] = {"max_sessions", "memory_mib", "ring_kib",
						 "display_hz"};
	size_t i;

	(void)userdata;
	for (i = 0; i < ARRAY_SIZE(changeable); i++)
		if (strcmp(key, changeable[i]) == 0)
			return;
	log_warning("%s has changed: that needs a restart, ignoring it", key);
}

static void notify_reloading(void)
{
	char state[64];

	snprintf(state, sizeof(state), "RELOADING=1\nMONOTONIC_USEC=%llu",
		 (unsigned long long)clock_ns(CLOCK_MONOTONIC) / 1000);
	notify(state);
}

/* All or nothing: a file with a mistake changes nothing. */
static void reload(struct app *app)
{
	struct config config;
	int ignored;

	notify_reloading();
	if (config_load(app->argc, app->argv, &config, &ignored) == 0) {
		config_compare(&app->config, &config, say_unchangeable, NULL);
		config_free(&app->reloaded);
		app->reloaded = config;
		listen_set_config(app->listen, &app->reloaded);
		set_displays(&app->reloaded, app->status);
		log_info("reloaded: max_sessions = %u, memory_mib = %u, ring_kib = %u",
			 config.max_sessions, config.memory_mib, config.ring_kib);
	} else {
		log_error("the configuration stays as it was");
	}
	notify("READY=1");
}

static void on_signal(void *userdata, int fd, unsigned events)
{
	struct app *app = userdata;
	struct signalfd_siginfo info;

	(void)events;
	while (read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGHUP) {
			reload(app);
			continue;
		}
		log_info("stopping: SIG%s", sigabbrev_np((int)info.ssi_signo));
		loop_stop(app->loop);
	}
}

static void on_watchdog(void *userdata)
{
	(void)userdata;
	notify("WATCHDOG=1");
}

/* Before any thread is made, so that all of them inherit the mask. */
static int open_signals(struct app *app)
{
	sigset_t set;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -errno;
	app->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return app->signals < 0 ? -errno : 0;
}

static int start_loop(struct app *app)
{
	uint64_t watchdog_ns = notify_watchdog_ns();
	const char *kind, *reason;
	int r = loop_new(&app->loop);

	if (r < 0) {
		log_error("neither io_uring nor epoll can be used: %s", strerror(-r));
		return r;
	}
	kind = loop_kind(app->loop, &reason);
	status_source(app->status, "loop", reason ? SOURCE_DEGRADED : SOURCE_ON, reason, NULL);
	if (reason)
		log_info("waiting by %s: %s", kind, reason);
	r = loop_add_fd(app->loop, app->signals, on_signal, app, &app->signal_source);
	if (r == 0 && watchdog_ns)
		r = loop_add_timer(app->loop, MAX(watchdog_ns / 2, 1u), on_watchdog, app,
				   &app->watchdog);
	return r;
}

static void set_pmu(const struct config *config, struct pmu_events *pmu, struct status *status)
{
	bool is_wanted = config->pmu && config->sample_ms > 0;
	char set[256];

	config_command(config, config->sample_ms > 0 ? "pmu = yes" : "pmu = yes\\nsample_ms = 1000",
		       false, set, sizeof(set));
	pmu_tell(status, pmu_find("/sys", pmu), is_wanted ? NULL : set);
	if (!is_wanted)
		pmu->count = 0;
}

static void set_sources(const struct config *config, struct pmu_events *pmu, struct status *status)
{
	status_source(status, "rings", SOURCE_ON, NULL, NULL);
	status_source(status, "gpu", SOURCE_ON, NULL, NULL);
	set_pmu(config, pmu, status);
	set_displays(config, status);
}

static int start_socket(struct app *app)
{
	int fd = notify_listen_fd();

	if (fd < 0 && fd != -ENOENT)
		return fd;
	return listen_new(app->loop, &app->config, app->store, app->drain, app->status,
			  fd < 0 ? -1 : fd, &app->listen);
}

/* On the store thread. Holding a lock keeps what it guards alive through the call; never both: the
 * spikes' thread takes that of http inside its own. */
static void on_committed(void *userdata, const struct batch *batch)
{
	struct app *app = userdata;

	pthread_mutex_lock(&app->spikes_lock);
	if (app->spikes)
		spikes_committed(app->spikes, batch);
	pthread_mutex_unlock(&app->spikes_lock);
	pthread_mutex_lock(&app->http_lock);
	if (app->http)
		http_committed(&app->http, batch);
	pthread_mutex_unlock(&app->http_lock);
}

/* On the spikes' thread. */
static void on_spike(void *userdata, const struct spike *spike)
{
	struct app *app = userdata;

	pthread_mutex_lock(&app->http_lock);
	if (app->http)
		http_spike(app->http, spike);
	pthread_mutex_unlock(&app->http_lock);
}

static void set_spikes(struct app *app, struct spikes *spikes)
{
	pthread_mutex_lock(&app->spikes_lock);
	app->spikes = spikes;
	pthread_mutex_unlock(&app->spikes_lock);
}

/* Before any session is opened: the drain watches it from its first frame on. */
static int start_spikes(struct app *app)
{
	struct spikes_context context = {
		.store = app->store,
		.captures = app->captures,
		.drain = app->drain,
		.frames = app->config.history_frames,
	};
	struct spikes *spikes;
	int r = trigger_book_new(&app->config, app->store, &app->triggers);

	if (r < 0)
		return r;
	context.triggers = app->triggers;
	drain_set_triggers(app->drain, app->triggers);
	r = spikes_new(&context, on_spike, app, &spikes);
	if (r == 0)
		set_spikes(app, spikes);
	return r;
}

/* What fired last is committed first, so that it is noted. */
static void stop_spikes(struct app *app)
{
	struct spikes *spikes = app->spikes;

	if (app->store)
		store_flush(app->store);
	set_spikes(app, NULL);
	spikes_free(spikes);
}

static void set_http(struct app *app, struct http *http)
{
	pthread_mutex_lock(&app->http_lock);
	app->http = http;
	pthread_mutex_unlock(&app->http_lock);
}

static int start_http(struct app *app)
{
	struct http_context context = {
		.config = &app->config,
		.triggers = app->triggers,
		.spikes = app->spikes,
		.store = app->store,
		.captures = app->captures,
		.drain = app->drain,
		.sampler = app->sampler,
		.sched_trace = app->sched_trace,
		.stack_trace = app->stack_trace,
		.attach = app->attach,
		.status = app->status,
	};
	struct http *http;
	int r;

	context.loop_kind = loop_kind(app->loop, &context.loop_reason);
	r = http_new(&context, &http);
	if (r < 0)
		return r;
	set_http(app, http);
	return 0;
}

/* A history outside of the runtime directory outlives it, until a daemon clears it away. */
static void hold_history(struct app *app)
{
	const struct config *config = &app->config;
	int r;

	if (strcmp(config->history_dir, config->runtime_dir) == 0)
		return;
	r = leftovers_hold(config->history_dir, config->runtime_dir, &app->history_note);
	if (r < 0)
		log_warning("%s: cannot be noted as ours: %s, ignoring it", config->history_dir,
			    strerror(-r));
	leftovers_remove(config->history_dir);
}

static int start(struct app *app)
{
	int r = directories_make(&app->config);

	if (r == 0)
		hold_history(app);
	if (r == 0)
		r = open_signals(app);
	if (r < 0)
		return r;
	app->status = status_new();
	if (!app->status)
		return -ENOMEM;
	set_sources(&app->config, &app->pmu, app->status);
	r = start_loop(app);
	if (r == 0)
		r = store_new(&app->config, on_committed, app, &app->store);
	if (r == 0)
		r = captures_new(&app->config, app->store, &app->captures);
	if (r == 0)
		captures_set_status(app->captures, app->status);
	if (r == 0)
		r = drain_new(&app->config, app->store, &app->drain);
	if (r == 0)
		r = start_spikes(app);
	if (r == 0)
		r = sampler_new(&app->config, app->pmu.count > 0 ? &app->pmu : NULL, app->store,
				&app->sampler);
	if (r == 0)
		r = sched_trace_new(&app->config, app->store, app->status, &app->sched_trace);
	if (r == 0)
		r = stack_trace_new(&app->config, app->store, app->status, &app->stack_trace);
	if (r == 0)
		drain_set_watchers(app->drain, app->sampler, app->sched_trace, app->stack_trace);
	if (r == 0)
		r = start_socket(app);
	if (r == 0)
		r = loop_calls_new(app->loop, &app->calls);
	if (r == 0)
		r = attach_new(app->drain, app->listen, app->calls, app->status, &app->attach);
	return r < 0 ? r : start_http(app);
}

static void say_ready(const struct app *app)
{
	const struct config *config = &app->config;
	bool v6 = strchr(config->http_address, ':') != NULL;
	char state[512], url[128];

	snprintf(url, sizeof(url), v6 ? "http://[%s]:%u/" : "http://%s:%u/", config->http_address,
		 http_port(app->http));
	fprintf(stderr, "fprofd " FPROF_VERSION ": %s, games at %s, history in %s, %s\n", url,
		config->socket_path, config->history_dir, loop_kind(app->loop, NULL));
	snprintf(state, sizeof(state), "READY=1\nSTATUS=%s", url);
	notify(state);
}

static void stop(struct app *app)
{
	struct http *http = app->http;

	loop_calls_stop(app->calls);
	attach_stop(app->attach);
	listen_free(app->listen);
	drain_stop(app->drain);
	stack_trace_stop(app->stack_trace);
	set_http(app, NULL);
	http_free(http);
	sampler_free(app->sampler);
	sched_trace_free(app->sched_trace);
	stack_trace_free(app->stack_trace);
	stop_spikes(app);
	attach_free(app->attach);
	loop_calls_free(app->calls);
	drain_free(app->drain);
	trigger_book_free(app->triggers);
	captures_free(app->captures);
	store_free(app->store);
	if (app->loop) {
		loop_remove(app->loop, app->watchdog);
		loop_remove(app->loop, app->signal_source);
		loop_free(app->loop);
	}
	status_free(app->status);
	if (app->signals >= 0)
		close(app->signals);
	if (app->history_note >= 0)
		close(app->history_note);
	config_free(&app->reloaded);
	config_free(&app->config);
}

/*
 * Answers and chunks come and go by the megabyte: without this, most of an answer's time is the
 * kernel's, for pages given back and taken again. Few arenas, so that what is kept stays small.
 */
static void keep_memory(void)
{
	mallopt(M_MMAP_THRESHOLD, 4 << 20);
	mallopt(M_TRIM_THRESHOLD, 4 << 20);
	mallopt(M_ARENA_MAX, 4);
}

int main(int argc, char **argv)
{
	struct app app = {.argc = argc, .argv = argv, .signals = -1, .history_note = -1};
	int status, r;

	if (argc == 2 && !strcmp(argv[1], QUERY_CHILD))
		return query_child_main();
	r = config_load(argc, argv, &app.config, &status);

	if (r != 0)
		return status;
	if (app.config.verbose)
		log_set_level(LOG_LEVEL_DEBUG);
	umask(0077);
	keep_memory();
	raise_descriptor_limit();
	r = start(&app);
	if (r == 0) {
		say_ready(&app);
		r = loop_run(app.loop);
		notify("STOPPING=1");
	}
	if (r < 0)
		log_error("giving up: %s", strerror(-r));
	stop(&app);
	return r < 0 ? exit_status(r) : EXIT_SUCCESS;
}
