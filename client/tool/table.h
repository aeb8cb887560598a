/* SPDX-License-Identifier: MIT */
/* Aligned text tables on stdout. */
#ifndef FPROF_TOOL_TABLE_H
#define FPROF_TOOL_TABLE_H

#include <jansson.h>
#include <stddef.h>

#define TABLE_COLUMNS_MAX 16

struct table;

/* heads: column titles, NULL at the end; a title that starts with '<' is a column aligned to the
 * left. */
struct table *table_new(const char *const *heads); /* NULL: no memory */
void table_free(struct table *table);

/* Appends a cell to the current row, copied; a row ends with its last column. Where there is no
 * memory the cell is empty. Control characters become '?', so that a name cannot write to the
 * terminal. */
void table_cell(struct table *table, const char *text);
/* Integers as they are, null and what is missing as "-". */
void table_integer(struct table *table, const json_t *value);
/* Nanoseconds as milliseconds with three decimals; null and what is missing as "-". */
void table_ms(struct table *table, const json_t *value);
void table_print(const struct table *table);

void table_freep(struct table **table);
#define _cleanup_table_ __attribute__((cleanup(table_freep)))

#endif
