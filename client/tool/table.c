// SPDX-License-Identifier: MIT
/*
 * Tables: cells are collected, then printed with each column as wide as its widest cell. Widths
 * count characters of UTF-8, not bytes. One thread.
 */
#include "table.h"

#include <stdarg.h>
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

	if (!table) {
		tool_no_memory();
		return NULL;
	}
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
	char *copy;

	if (table->count == table->capacity && !table_grow(table))
		return;
	copy = text ? strdup(text) : NULL;
	tool_clean(copy);
	table->cells[table->count++] = copy;
}

void table_printf(struct table *table, const char *format, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list arguments;

	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		text = NULL;
	va_end(arguments);
	table_cell(table, text);
}

void table_number(struct table *table, const json_t *value, double divisor, int decimals)
{
	if (json_is_number(value))
		table_printf(table, "%.*f", decimals, json_number_value(value) / divisor);
	else
		table_cell(table, "-");
}

static void member(struct table *table, const json_t *value, const char *key)
{
	size_t length = strlen(key);

	if (length > 3 && strcmp(key + length - 3, "_ns") == 0)
		table_number(table, value, 1e6, 3);
	else if (json_is_integer(value))
		table_printf(table, "%lld", json_integer_value(value));
	else if (json_is_boolean(value))
		table_cell(table, json_is_true(value) ? "yes" : "no");
	else
		table_cell(table, json_is_string(value) ? json_string_value(value) : "-");
}

void table_row(struct table *table, const json_t *json, ...)
{
	const char *key;
	va_list keys;

	va_start(keys, json);
	while ((key = va_arg(keys, const char *)))
		member(table, json_object_get(json, key), key);
	va_end(keys);
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

int table_list(const char *const *heads, const json_t *rows,
	       void (*row)(struct table *table, const json_t *json))
{
	_cleanup_table_ struct table *table = table_new(heads);
	const json_t *one;
	size_t i;

	if (!table)
		return TOOL_FAILED;
	json_array_foreach(rows, i, one) row(table, one);
	table_print(table);
	return TOOL_OK;
}
