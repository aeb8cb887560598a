/* SPDX-License-Identifier: MIT */
/*
 * What the daemon was told: defaults, then the config file, then the command line. Immutable after
 * config_load; a reload makes a new one (all or nothing). See docs/fprofd.conf for the keys.
 */
#ifndef FPROF_DAEMON_CONFIG_H
#define FPROF_DAEMON_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct config {
	char *http_address; /* "127.0.0.1" */
	uint16_t http_port; /* 7600; 0: any free one */
	char *socket_path;  /* <runtime_dir>/fprofd.sock */
	char *runtime_dir;  /* $XDG_RUNTIME_DIR/fprofd, /run/fprofd as root without one */
	char *state_dir;   /* $XDG_STATE_HOME/fprofd, ~/.local/state/fprofd, /var/lib/fprofd as root
			    */
	char *history_dir; /* runtime_dir when it is tmpfs, else /dev/shm/fprofd-<uid>/<hash of it>
			    */
	char *history_why; /* NULL, or why history_dir is not runtime_dir */
	char *config_file; /* the file read, NULL: none */
	unsigned history_frames;      /* 600; 10..100000 */
	unsigned history_mib;	      /* 128 per daemon; 8..16384 */
	unsigned history_session_mib; /* 128 per session; 8..16384, history_mib at most */
	unsigned ring_kib;	      /* 1024; a power of two, 16..65536: see docs/fprofd.conf */
	unsigned max_counters;	      /* 4096 per session; 1..65536 */
	unsigned sample_ms;	      /* 1000: between samples of a game; 0..60000, 0: off */
	unsigned max_sessions;	      /* 64 live at once; 1..1024 */
	unsigned memory_mib;	      /* 1024: largest session memory accepted; 1..65536 */
	unsigned captures_mib;	      /* 2048 of all captures together; 16..1048576 */
	bool on_demand;		      /* record only what a consumer holds */
	unsigned spikes_keep;	      /* 8 of one trigger and game; 1..1000 */
	char *triggers;		      /* of sessions that were given none: JSON, see trigger.h */
	bool scheduler;	      /* yes: trace games' threads in the kernel, where that is possible */
	bool pmu;	      /* no: read hardware counters of every game */
	bool sampling;	      /* no: sample the stacks of every game from its start on */
	unsigned sampling_hz; /* 4000 a second of each CPU; 10..10000 */
	char *display_hz;     /* NULL: the displays are asked; else their rates, see displays.h */
	unsigned query_seconds; /* 5 that a query of SQL may take; 1..60 */
	bool verbose;
};

/*
 * Fills ret_config from argv and the config file. Returns 0, 1 when --help or --version was
 * answered (exit 0), -EINVAL after saying on stderr what is wrong (file and line, or option) (exit
 * 2 for options, 78 for files: *ret_exit). Free with config_free.
 */
int config_load(int argc, char **argv, struct config *ret_config, int *ret_exit);
void config_free(struct config *config);
/* The command that puts settings ("key = value", several with a literal \n between them) into the
 * file that was read, or else would be, and has them heeded: by SIGHUP where they change at run
 * time. */
void config_command(const struct config *config, const char *settings, bool at_run_time,
		    char *ret_command, size_t size);

#endif
