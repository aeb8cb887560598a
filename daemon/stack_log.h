/* SPDX-License-Identifier: MIT */
/*
 * Sampled stacks of a session over some time, as they are stored: a chunk of records,
 * self-contained, and its reading back. Times are ticks of the session's clock since its start.
 * Pure.
 *
 * Form, varints (LEB128) unless said: u8 version (1), then records of a u8 kind and arguments, each
 * with the next number of its kind, from 1 on. THREAD: tid (the game's), u8 length, name. MODULE:
 * its id in stack_modules. FRAME: the frame that called it (0: nobody is known), module, offset.
 * SAMPLE: ticks since the one before (the first: since t0), thread, innermost frame (0: none), u8
 * flags. PERIOD: ns between the samples that follow, of one CPU. LOST: samples, of all that were
 * sampled.
 *
 * The offset is one in the module's file, or an address where it has none. That of a caller is of
 * the last byte of its call, so that it lies in the function that called, even where that does not
 * go on.
 */
#ifndef FPROF_DAEMON_STACK_LOG_H
#define FPROF_DAEMON_STACK_LOG_H

#include "vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STACK_LOG_VERSION 1
#define STACK_FRAMES_MAX  (1u << 16) /* of a chunk */
#define STACK_THREADS_MAX 4096u
#define STACK_MODULES_MAX 4096u
#define STACK_DEPTH_MAX	  128u
#define STACK_NAME_MAX	  63u

enum stack_kind {
	STACK_THREAD = 1,
	STACK_MODULE,
	STACK_FRAME,
	STACK_SAMPLE,
	STACK_PERIOD,
	STACK_LOST,
};

enum stack_flags {
	STACK_IN_KERNEL = 1 << 0, /* in a system call or a fault that the innermost frame made */
	STACK_TOO_DEEP = 1 << 1,  /* it has more frames than were walked */
};

/* Where a frame is. */
struct stack_place {
	uint64_t module; /* its id; 0: in no code that is mapped */
	uint64_t offset;
};

struct stack_frame {
	uint32_t caller, module; /* numbers; 0: none */
	uint64_t offset;
};

/* Writing: one a session. */
struct stack_log {
	uint8_t *data;
	size_t bytes, capacity;
	int64_t t0, last;
	uint32_t samples;
	uint64_t period, seed;
	VEC(int32_t) threads;
	VEC(uint64_t) modules;
	VEC(struct stack_frame) frames;
	uint32_t *slots; /* a hash of frames, by what they are; their numbers, 0: free */
	size_t slot_count;
};
void stack_log_init(struct stack_log *log);
void stack_log_deinit(struct stack_log *log);

struct stack_sample {
	int64_t t; /* one that runs backwards is taken as equal */
	int32_t tid;
	const char *thread; /* its name, where the chunk has not named it yet */
	uint64_t period;
	uint32_t flags;
	const struct stack_place *places; /* innermost first */
	size_t count;			  /* up to STACK_DEPTH_MAX */
};
/* 0; -ENOMEM; -ENOSPC: the chunk is full, take it first. */
int stack_log_put(struct stack_log *log, const struct stack_sample *sample);
int stack_log_lost(struct stack_log *log, int64_t t, uint64_t count);

struct stack_chunk {
	uint8_t *data; /* malloc'ed; NULL: nothing was put */
	size_t bytes;
	int64_t t0, t1;
	uint32_t samples;
};
void stack_log_take(struct stack_log *log, struct stack_chunk *ret_chunk);

/* Reading. Bytes may be anything. */
struct stack_record {
	enum stack_kind kind;
	int64_t t;		  /* SAMPLE; of the others: of the sample before */
	int32_t tid;		  /* THREAD */
	const char *name;	  /* THREAD; not terminated */
	uint8_t name_bytes;	  /* the same */
	uint64_t value;		  /* MODULE: its id; PERIOD, LOST */
	struct stack_frame frame; /* FRAME; its numbers were all given before */
	uint32_t thread;	  /* SAMPLE: a number */
	uint32_t innermost;	  /* SAMPLE: a frame's number, 0: none */
	uint32_t flags;		  /* SAMPLE */
};
struct stack_reader {
	const uint8_t *at, *end;
	int64_t last;
	uint32_t threads, modules, frames;
};
int stack_reader_init(struct stack_reader *r, const void *data, size_t bytes, int64_t t0);
/* 1: the next record; 0: the end; -EBADMSG. */
int stack_reader_next(struct stack_reader *r, struct stack_record *ret_record);

#endif
