/* SPDX-License-Identifier: MIT */
/*
 * Events of a file of any size in order of thread and time: sorted in memory by runs of
 * IMPORT_RUN_RECORDS, which go to an unlinked file when there is more than one of them, and merged
 * when they are read. Texts and other things of no fixed size go to a second such file. One thread
 * at a time.
 */
#ifndef FPROF_DAEMON_IMPORT_SORT_H
#define FPROF_DAEMON_IMPORT_SORT_H

#include "util.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IMPORT_RUN_RECORDS (256u * 1024u)

struct import_record {
	uint32_t thread; /* the first key */
	uint32_t marker;
	int64_t ts;	     /* the second */
	uint16_t tie, depth; /* the third, and what goes with it */
	uint8_t kind, flags; /* whatever they mean to the importer */
	uint64_t event;	     /* its number in the file: the last key */
	uint64_t byte;	     /* where it stands */
	union {
		int64_t dur, i;
		double d;
	} value;
	uint64_t extra; /* of import_extras, 0: none */
};

struct import_run;
struct import_sort {
	const char *directory;
	int fd; /* -1: nothing was spilled */
	struct import_record *records;
	size_t count;	  /* of the run in memory */
	uint64_t spilled; /* records in the file */
	VEC(struct import_run) runs;
	VEC(uint32_t) heap; /* of runs, the next record's on top */
	size_t at;	    /* without runs: the next of records */
};
int import_sort_init(struct import_sort *s, const char *directory);
void import_sort_deinit(struct import_sort *s);
int import_sort_add(struct import_sort *s, const struct import_record *record);
/* After the last one, and again to read all of them once more. */
int import_sort_rewind(struct import_sort *s);
/* 1: *ret_record is the next, valid until the next call; 0: there is none; -errno. */
int import_sort_next(struct import_sort *s, const struct import_record **ret_record);

#define IMPORT_EXTRA_MAX 8192u
struct import_extras {
	const char *directory;
	int fd;
	uint64_t bytes; /* in the file */
	char *tail;	/* not written yet */
	size_t tail_bytes;
	char *window; /* of the file */
	uint64_t window_at;
	size_t window_bytes;
};
void import_extras_init(struct import_extras *x, const char *directory);
void import_extras_deinit(struct import_extras *x);
/* bytes: at most IMPORT_EXTRA_MAX. 0 or -errno; *ret_extra is never 0. */
int import_extras_put(struct import_extras *x, const void *data, size_t bytes, uint64_t *ret_extra);
/* Valid until the next call of either. */
int import_extras_get(struct import_extras *x, uint64_t extra, const void **ret_data,
		      size_t *ret_bytes);

#endif
