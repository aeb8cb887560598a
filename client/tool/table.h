/* SPDX-License-Identifier: MIT */
/* Aligned text tables on stdout. */
#ifndef FPROF_TOOL_TABLE_H
#define FPROF_TOOL_TABLE_H

#include "tool.h"

#include <jansson.h>
#include <stddef.h>

#define TABLE_COLUMNS_MAX 20

struct table;

/* heads: column titles, NULL at the end; a title that starts with '<' is a column aligned to the
 * left. */
struct table *table_new(const char *const *heads); /* NULL: no memory, said */
void table_free(struct table *table);

/* Appends a cell to the current row, copied; a row ends with its last column. NULL, and where there
 * is no memory: empty. Control characters become '?', so that a name cannot write to the terminal.
 */
void table_cell(struct table *table, const char *text);
void table_printf(struct table *table, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Divided, and with so many decimals; "-" for what is no number. */
void table_number(struct table *table, const json_t *value, double divisor, int decimals);
/* A cell for each member (NULL ends them): text and integers as they are, but for nanoseconds
 * ("wall_ns"), which are milliseconds; yes and no; "-" for null and what is missing. */
void table_row(struct table *table, const json_t *json, ...) __attribute__((sentinel));
void table_print(const struct table *table);

/* Prints all rows, each by what row appends for it. An exit code. */
int table_list(const char *const *heads, const json_t *rows,
	       void (*row)(struct table *table, const json_t *json));

void table_freep(struct table **table);
#define _cleanup_table_ __attribute__((cleanup(table_freep)))

#endif
