/* SPDX-License-Identifier: MIT */
/*
 * What the scheduler did with one thread, as it is stored: a chunk of records, self-contained, and
 * its reading back as intervals that touch. Times are ticks of the session's clock since its start.
 * Pure.
 *
 * Form, varints (LEB128) unless said: u8 version (2); the state before the first record (below) and
 * since how many ticks before t0; then records: ticks since the one before (the first: since t0),
 * u8 kind, arguments. RUN: cpu, who (version 1: cpu). PREEMPT: who. BLOCK: u8 wait_reason, syscall
 * + 1, u8 uninterruptible. WAKE: u8 flags, who. LOST, EXIT: none. who: 0 nobody is known; 1 + an
 * index into those named in this chunk; or 1 + SCHED_PEOPLE_MAX, which names one: tid, tgid, u8
 * length, comm. The next one named takes the next place, round and round. (Version 1: the next free
 * index names one; when there is none, everybody else is nobody.)
 */
#ifndef FPROF_DAEMON_SCHED_LOG_H
#define FPROF_DAEMON_SCHED_LOG_H

#include "util.h"
#include "wait_reason.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCHED_LOG_VERSION 2
#define SCHED_PEOPLE_MAX  64u /* that a chunk knows at a time */

enum sched_kind {
	SCHED_RUN = 1,
	SCHED_PREEMPT,
	SCHED_BLOCK,
	SCHED_WAKE,
	SCHED_LOST, /* events were lost: the state is not known */
	SCHED_EXIT,
};

enum sched_state {
	SCHED_STATE_UNKNOWN = 0,
	SCHED_STATE_RUNNING,
	SCHED_STATE_RUNNABLE, /* preempted, or woken and not yet running */
	SCHED_STATE_BLOCKED,
	SCHED_STATE_GONE,
	SCHED_STATES
};

enum sched_wake_flags { SCHED_BY_INTERRUPT = 1, SCHED_BY_KERNEL_THREAD = 2 };

struct sched_who {
	uint32_t tid, tgid;
	char comm[16]; /* no zero at its end where it is 16 long; tid 0 and empty: nobody */
};

/* A stretch in one state. */
struct sched_interval {
	int64_t t0, t1; /* ticks; t1 INT64_MAX: it goes on */
	enum sched_state state;
	uint32_t cpu;		 /* RUNNING */
	enum wait_reason reason; /* BLOCKED, and RUNNABLE after it: what it had waited for */
	int32_t syscall;	 /* BLOCKED */
	bool uninterruptible;	 /* BLOCKED */
	bool preempted;		 /* RUNNABLE: it could have gone on; else it was woken */
	uint32_t wake_flags;	 /* RUNNABLE */
	/* RUNNABLE: who preempted or woke it; RUNNING: who had the CPU before, if it waited for it
	 */
	struct sched_who who;
};

/* Writing: one a thread. */
struct sched_log {
	uint8_t *data;
	size_t bytes, capacity;
	int64_t t0, last;
	uint32_t records;
	struct sched_who people[SCHED_PEOPLE_MAX];
	uint32_t people_count;	   /* named so far */
	struct sched_interval now; /* the state after the last record, and since when */
};
void sched_log_init(struct sched_log *log);
void sched_log_deinit(struct sched_log *log);

struct sched_record {
	enum sched_kind kind;
	int64_t t;
	uint32_t cpu;
	enum wait_reason reason;
	int32_t syscall;
	bool uninterruptible;
	uint32_t flags; /* enum sched_wake_flags */
	struct sched_who who;
};
/* Times that run backwards are taken as equal. 0 or -ENOMEM. */
int sched_log_put(struct sched_log *log, const struct sched_record *record);
/* What was put since the last time: malloc'ed. The next chunk goes on from there. */
struct sched_chunk {
	uint8_t *data;
	size_t bytes;
	int64_t t0, t1;
	uint32_t records;
};
void sched_log_take(struct sched_log *log, struct sched_chunk *ret_chunk);

/* Reading. Bytes may be anything. */
struct sched_reader {
	const uint8_t *at, *end;
	int64_t last;
	struct sched_interval now;
	struct sched_who people[SCHED_PEOPLE_MAX];
	uint32_t people_count;
	uint8_t version;
	bool done;
};
int sched_reader_init(struct sched_reader *r, const void *data, size_t bytes, int64_t t0);
/* 1: the next interval; the last one of a chunk goes on (t1 INT64_MAX), and the next chunk begins
 * with the same state. 0: the end. -EBADMSG. */
int sched_reader_next(struct sched_reader *r, struct sched_interval *ret_interval);

#endif
