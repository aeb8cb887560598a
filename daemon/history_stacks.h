/* SPDX-License-Identifier: MIT */
/* Sampled stacks, as the history has them. */
#ifndef FPROF_DAEMON_HISTORY_STACKS_H
#define FPROF_DAEMON_HISTORY_STACKS_H

#include "history.h"
#include "stack_log.h"

/* What a session's stacks are in, by id. */
struct history_module {
	uint64_t id;
	char *path, *build_id, *symbols, *reason; /* as in stack_modules; NULL: none */
};
/* A function of one, lo <= offset < hi, by module and lo. */
struct history_symbol {
	uint64_t module, lo, hi;
	char *name; /* NULL: none is known */
};
struct history_code {
	VEC(struct history_module) modules;
	VEC(struct history_symbol) symbols;
};
int history_code(struct history *h, uint64_t session, struct history_code *ret_code);
void history_code_free(struct history_code *code); /* all zeros is fine */
/* NULL: it is not known. */
const struct history_module *history_code_module(const struct history_code *code, uint64_t id);
const struct history_symbol *history_code_symbol(const struct history_code *code, uint64_t module,
						 uint64_t offset);

struct stacks_visitor {
	void *userdata;
	int (*chunk)(void *userdata); /* one begins: numbers are its own */
	int (*record)(void *userdata, const struct stack_record *record);
};
/* The chunks that touch [t0, t1) in ticks, in order, each wholly: a visitor looks at the times.
 * What a damaged one does not tell any more is a STACK_LOST. Negative returns end it. */
int history_stacks_each(struct history *h, uint64_t session, int64_t t0, int64_t t1,
			const struct stacks_visitor *visitor);

#endif
