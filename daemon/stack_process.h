/* SPDX-License-Identifier: MIT */
/*
 * One sampled game: where its addresses lie, its threads, the log of its stacks, and what its code
 * is called. One thread.
 */
#ifndef FPROF_DAEMON_STACK_PROCESS_H
#define FPROF_DAEMON_STACK_PROCESS_H

#include "batch.h"
#include "mappings.h"
#include "probe/event.h"
#include "stack_log.h"
#include "stack_names.h"

#include <stdbool.h>
#include <stdint.h>

#define STACK_CACHE 4096u

struct stack_thread {
	uint32_t tid;	  /* the kernel's */
	int32_t game_tid; /* the game's */
	char name[STACK_NAME_MAX + 1];
};

/* An address that was looked up lately. */
struct stack_cached {
	uint64_t address;
	struct stack_place place;
};

struct stack_process {
	int32_t pid;
	int maps_fd; /* -1: what it maps cannot be seen */
	struct mappings maps;
	uint64_t maps_read; /* CLOCK_MONOTONIC; 0: not yet */
	struct stack_names names;
	VEC(struct mapped_place) places; /* of the files of names */
	/* Opens what the process maps there: a descriptor or -errno. */
	int (*open)(void *userdata, int32_t pid, const struct mapped_place *place);
	void *userdata;
	VEC(struct stack_thread) threads;
	struct stack_cached *cache;
	struct stack_log log;
};
int stack_process_init(struct stack_process *process, int32_t pid,
		       int (*open)(void *userdata, int32_t pid, const struct mapped_place *place),
		       void *userdata);
void stack_process_deinit(struct stack_process *process);

/* Takes over the descriptor of its maps; -1: none can be had. */
void stack_process_maps(struct stack_process *process, int fd);
/* A sample at t ticks since the session's start; bytes: of the record. 0; -ENOMEM; -EBADMSG;
 * -ENOSPC: flush, and try again. */
int stack_process_take(struct stack_process *process, const struct probe_stack *stack, size_t bytes,
		       int64_t t, uint64_t period_ns);
int stack_process_lost(struct stack_process *process, int64_t t, uint64_t count);
/* Functions get their names. True: it is to be called again, soon. */
bool stack_process_work(struct stack_process *process);
/* What its log has, and what became known of its files, goes into the batch; what finds no memory
 * stays. */
void stack_process_flush(struct stack_process *process, uint64_t session, struct batch *batch);

#endif
