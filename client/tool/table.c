// SPDX-License-Identifier: MIT
/*
 * Tables: cells are collected, then printed with each column as wide as its widest cell. Widths
 * count characters of UTF-8, not bytes. One thread.
 */
#include "table.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct table {
	const char *const *heads;
	size_t columns;
	char **cells;
	size_t count, capacity;
};

struct table *table_new(const char *const *heads)
{
	struct table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	table->heads = heads;
	while (table->columns < TABLE_COLUMNS_MAX && heads[table->columns])
		table->columns++;
	return table;
}

void table_free(struct table *table)
{
	size_t i;

	if (!table)
		return;
	for (i = 0; i < table->count; i++)
		free(table->cells[i]);
	free(table->cells);
	free(table);
}

void table_freep(struct table **table)
{
	table_free(*table);
}

static bool table_grow(struct table *table)
{
	size_t capacity = table->capacity ? 2 * table->capacity : 256;
	char **cells = realloc(table->cells, capacity * sizeof(*cells));

	if (!cells)
		return false;
	table->cells = cells;
	table->capacity = capacity;
	return true;
}

void table_cell(struct table *table, const char *text)
{
	char *copy, *c;

	if (table->count == table->capacity && !table_grow(table))
		return;
	copy = strdup(text);
	for (c = copy; c && *c; c++) {
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	}
	table->cells[table->count++] = copy;
}

void table_integer(struct table *table, const json_t *value)
{
	char text[32];

	if (!json_is_integer(value)) {
		table_cell(table, "-");
		return;
	}
	snprintf(text, sizeof(text), "%lld", (long long)json_integer_value(value));
	table_cell(table, text);
}

void table_ms(struct table *table, const json_t *value)
{
	char text[48];

	if (!json_is_number(value)) {
		table_cell(table, "-");
		return;
	}
	snprintf(text, sizeof(text), "%.3f", json_number_value(value) / 1e6);
	table_cell(table, text);
}

static size_t width_of(const char *text)
{
	size_t width = 0;

	for (; *text; text++)
		width += ((unsigned char)*text & 0xc0) != 0x80;
	return width;
}

static const char *table_text(const struct table *table, size_t index)
{
	return index < table->count && table->cells[index] ? table->cells[index] : "";
}

static void print_cell(const char *text, size_t width, bool left, bool last)
{
	size_t own = width_of(text);
	int pad = own < width ? (int)(width - own) : 0;

	if (left)
		printf("%s%*s", text, last ? 0 : pad, "");
	else
		printf("%*s%s", pad, "", text);
	fputs(last ? "\n" : "  ", stdout);
}

void table_print(const struct table *table)
{
	size_t widths[TABLE_COLUMNS_MAX] = {0}, column, i;

	for (column = 0; column < table->columns; column++) {
		const char *head = table->heads[column];

		widths[column] = width_of(head + (head[0] == '<'));
		for (i = column; i < table->count; i += table->columns) {
			size_t width = width_of(table_text(table, i));

			if (width > widths[column])
				widths[column] = width;
		}
	}
	for (column = 0; column < table->columns; column++) {
		const char *head = table->heads[column];

		print_cell(head + (head[0] == '<'), widths[column], head[0] == '<',
			   column + 1 == table->columns);
	}
	for (i = 0, column = 0; i < table->count; i++) {
		print_cell(table_text(table, i), widths[column], table->heads[column][0] == '<',
			   column + 1 == table->columns);
		column = column + 1 < table->columns ? column + 1 : 0;
	}
}
