/* SPDX-License-Identifier: MIT */
/* The functions of an ELF file, by where they lie in it. The file may hold anything. */
#ifndef FPROF_SYMBOLS_TABLE_H
#define FPROF_SYMBOLS_TABLE_H

#include "protocol.h"

#include <stddef.h>
#include <stdint.h>

struct symbol_table;

/* Takes over the descriptor. 0; -ENOEXEC: it is no ELF file; -ENOMEM. A file without symbols has a
 * table that knows no names. */
int symbol_table_new(int fd, struct symbol_table **ret_table);
void symbol_table_free(struct symbol_table *table); /* NULL is fine */
/* Symbols that were split off into another file, whose descriptor it takes over: 0; -ESTALE: it is
 * of another build; -ENODATA: it has none. */
int symbol_table_add(struct symbol_table *table, int fd);

enum symbols_source symbol_table_source(const struct symbol_table *table);
const char *symbol_table_build_id(const struct symbol_table *table); /* hex; "": none */

/* What a byte of the file is in: lo <= offset < hi. The name is the symbol's own, and lives as long
 * as the table; NULL: none covers it, and lo and hi are as far as that is so, or those of a
 * function that only unwind tables know. */
struct symbol {
	uint64_t lo, hi;
	const char *name;
};
void symbol_table_find(const struct symbol_table *table, uint64_t offset,
		       struct symbol *ret_symbol);

#endif
