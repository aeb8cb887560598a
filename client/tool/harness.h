/* SPDX-License-Identifier: MIT */
/*
 * `fprof run --frames`: runs a game for a number of frames, ends it and writes what they came to.
 * harness.c runs, harness_frames.c collects, harness_report.c writes.
 */
#ifndef FPROF_TOOL_HARNESS_H
#define FPROF_TOOL_HARNESS_H

#include "api.h"
#include "tool.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#define HARNESS_FRAMES_MAX 1000000
#define HARNESS_UNKNOWN	   INT64_MIN

struct harness_order {
	long frames, skip;
	const char *export; /* the file to write; NULL: these options were not given */
	const char *path;   /* the program */
	char **command;
};

/* A frame that is measured. */
struct harness_frame {
	int64_t number, wall_ns, cpu_ns, gpu_ns; /* or HARNESS_UNKNOWN */
	int64_t lost_events;
};

/* What the game's main stream had so far. */
struct harness_frames {
	struct harness_frame *at;
	long count, wanted;
	long startup, loading, paused, skipped, after; /* not measured */
	long skip;				       /* still to be skipped */
	int64_t missing; /* frames in or before these of which no row came */
	int64_t next;	 /* number of the next row */
};
void harness_frames_deinit(struct harness_frames *f);
/* Takes rows of the session that came since. An exit code. */
int harness_frames_read(struct api *api, int64_t session, struct harness_frames *f);
/* Reads those that are measured again: what came late (GPU) is in them now. */
void harness_frames_refresh(struct api *api, int64_t session, struct harness_frames *f);

/* How the game ended. */
struct harness_end {
	bool by_us;	  /* after the last frame, or because we were told to stop */
	bool killed;	  /* it did not end on SIGTERM */
	bool exited;	  /* else by a signal */
	int status;	  /* of either */
	bool interrupted; /* we were told to stop */
};

struct harness_report {
	const struct harness_order *order;
	const struct harness_frames *frames;
	const struct harness_end *end;
	int64_t session; /* 0: the daemon never saw the game */
	bool unanswered; /* the daemon was lost on the way */
	struct timespec started;
};
/* Writes the report: an exit code; *ret_complete: all frames are there; *ret_evicted: how many of
 * them are not in the table of zones, as their events had left the history. */
int harness_report_write(struct api *api, const struct harness_report *report, FILE *to,
			 bool *ret_complete, int64_t *ret_evicted);

/* Runs all of it: an exit code. */
int harness_run(const struct tool_options *options, const struct harness_order *order);

#endif
