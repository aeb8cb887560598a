/* SPDX-License-Identifier: MIT */
/*
 * What the functions of one sampled game are called. Each is asked for once, when it is first
 * sampled, of a child that reads the game's files (fprof-symbols): so names are there after the
 * game is gone, and a file that kills its reader costs its own names. One thread, which never
 * waits.
 */
#ifndef FPROF_DAEMON_STACK_NAMES_H
#define FPROF_DAEMON_STACK_NAMES_H

#include "batch.h"
#include "symbols/protocol.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define STACK_NAMES_MAX	 65536u /* functions of a game */
#define STACK_WANTED_MAX 4096u	/* of a file, that wait to be asked for */

struct stack_range {
	uint64_t lo, hi;
};

enum stack_file_state {
	STACK_FILE_NEW = 0, /* to be opened */
	STACK_FILE_SENT,    /* the child has it and has not said what it is */
	STACK_FILE_READY,
	STACK_FILE_NONE, /* no names can be had */
};

/* A file: its row in the store, and what is known of it. */
struct stack_file {
	struct stack_module_row row; /* path owned */
	uint64_t offset;	     /* where it was first sampled */
	enum stack_file_state state;
	/* Held until the child has it: the file may be deleted, and the game end. -1: none */
	int fd;
	bool changed;		       /* the store has an older row, or none */
	bool split;		       /* its symbols were looked for in another file, too */
	VEC(struct stack_range) known; /* by lo */
	VEC(uint64_t) wanted;
};

struct stack_names {
	/* Opens file i for reading: a descriptor or -errno. */
	int (*open)(void *userdata, size_t file);
	void *userdata;
	VEC(struct stack_file) files;
	int fd; /* to the child, -1: none */
	pid_t pid;
	unsigned children; /* that were started */
	size_t count;	   /* of functions */
	/* What the child was asked, and when; waits 0: nothing */
	size_t asked;
	uint32_t waits;
	uint64_t asked_at;
	VEC(struct stack_symbol_row) symbols; /* for the next flush */
};
void stack_names_init(struct stack_names *names, int (*open)(void *userdata, size_t file),
		      void *userdata);
void stack_names_deinit(struct stack_names *names);

/* Another file; takes over the path. has_file: there is one, which is opened unless many wait for
 * the child. Its index, or -ENOMEM, -ENOSPC. */
long stack_names_add(struct stack_names *names, uint64_t module, char *path, uint64_t offset,
		     bool has_file);
/* The function at an offset of a file is wanted. */
void stack_names_want(struct stack_names *names, size_t file, uint64_t offset);
/* Takes what the child answered and asks it for more. True: it is to be called again, soon. */
bool stack_names_work(struct stack_names *names);
/* What is new goes into the batch; what finds no memory stays. */
void stack_names_flush(struct stack_names *names, uint64_t session, struct batch *batch);

#endif
