/* SPDX-License-Identifier: MIT */
/*
 * What sampled stacks of a range come to: by function, and as a tree of who called whom.
 *
 * A stack that does not reach where its thread began is *broken*: its innermost function is right,
 * whoever called the outermost is not known. That happens where code keeps no frame pointer; the
 * module in which it ended is blamed.
 */
#ifndef FPROF_DAEMON_STACK_SUMS_H
#define FPROF_DAEMON_STACK_SUMS_H

#include "history_stacks.h"

#include <stdbool.h>
#include <stdint.h>

#define STACK_NODES_MAX (1u << 20)
#define STACK_NONE	UINT32_MAX

/* A place in the code, as far as it is known. */
struct stack_function {
	uint32_t module;		     /* of the sums; STACK_NONE: in the kernel */
	const struct history_symbol *symbol; /* NULL: not known where it begins */
	uint64_t self, total;		     /* samples */
	uint64_t stamp;			     /* the last stack that had it */
};

struct stack_module_sums {
	const struct history_module *module; /* NULL: code that is not mapped */
	uint64_t self;			     /* samples */
	uint64_t total;			     /* samples with a frame in it */
	uint64_t broken;		     /* of them: the stack ended in it */
	uint64_t stamp;
};

enum stack_node_kind { STACK_NODE_THREAD, STACK_NODE_BROKEN, STACK_NODE_FUNCTION };

struct stack_node {
	enum stack_node_kind kind;
	uint32_t parent; /* STACK_NONE: of a thread */
	uint32_t what;	 /* a function's or a thread's index; of BROKEN 0 */
	uint32_t next;	 /* in its slot of the hash */
	uint64_t self, total;
};

struct stack_thread_sums {
	int32_t tid;
	char name[STACK_NAME_MAX + 1];
	uint64_t samples;
};

struct stack_sums {
	const struct history_code *code;
	int64_t t0, t1;
	bool (*wants)(const void *userdata, int32_t tid); /* NULL: all threads */
	const void *userdata;
	uint64_t samples, in_kernel, too_deep, broken, lost;
	uint64_t period_ns; /* of the last sample; 0: there is none */
	bool periods;	    /* there were several */
	VEC(struct stack_function) functions;
	VEC(struct stack_module_sums) modules;
	VEC(struct stack_thread_sums) threads;
	VEC(struct stack_node) nodes; /* parents first */
	/* the inside */
	uint32_t *slots;     /* of nodes, by parent and what they are */
	uint32_t *by_symbol; /* functions, by the code's symbols */
	struct stack_chunk_state *chunk;
	uint64_t stamp, period_next;
	uint32_t kernel;
};

/* code must outlive it. wants may be set after it. */
int stack_sums_init(struct stack_sums *sums, const struct history_code *code, int64_t t0,
		    int64_t t1);
void stack_sums_deinit(struct stack_sums *sums); /* all zeros is fine */
/* Takes one chunk after the other, by history_stacks_each. -E2BIG: too many paths. */
struct stacks_visitor stack_sums_visitor(struct stack_sums *sums);
/* After the last chunk. */
int stack_sums_finish(struct stack_sums *sums);

/* Wilson's interval of a share of k in n samples, at 95 %: E. B. Wilson, Probable inference, the
 * law of succession, and statistical inference, JASA 22 (1927), 209-212. Samples are taken to be
 * independent. n 0: zeros. */
struct stack_share {
	double share, low, high;
};
struct stack_share stack_share(uint64_t k, uint64_t n);

#endif
