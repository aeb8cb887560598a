// SPDX-License-Identifier: MIT
/*
 * `fprof query`: SQL over what was recorded, answered as a table, CSV or JSON. The daemon runs it;
 * numbers among the parameters are handed on as numbers, all else as text.
 */
#include "ask.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SQL_BYTES_MAX (1024u * 1024u)

struct query {
	const char *sql;
	bool csv;
	char **params;
	int param_count;
};

/* The first word is the SQL, those after it are its parameters: behind -- whatever they look like.
 * argv keeps them. */
static int take_words(struct query *q, struct ask *ask, int argc, char **argv)
{
	const struct ask_option own[] = {{"--csv", NULL, &q->csv}, {NULL, NULL, NULL}};
	bool options = true;
	int i;

	q->params = argv;
	for (i = 1; i < argc; i++) {
		char *argument = argv[i];
		int taken = options ? ask_take(ask, "limit", own, argc, argv, &i) : 0;

		if (taken < 0)
			return TOOL_USAGE;
		if (taken > 0)
			continue;
		if (options && strcmp(argument, "--") == 0)
			options = false;
		else if (options && argument[0] == '-' && argument[1] == '-' && argument[2] != ' ')
			return tool_usage("query does not know '%s'; parameters that begin with -- "
					  "come behind a --",
					  argument);
		else if (!q->sql)
			q->sql = argument;
		else
			q->params[q->param_count++] = argument;
	}
	return TOOL_OK;
}

/* SQL is no number: then it is the session, and the next word is the SQL. */
static int take_front_session(struct query *q, struct ask *ask)
{
	char *words[] = {NULL, (char *)q->sql, NULL};
	int count = 2, r = ask_front_session(ask, &count, words);

	if (r == TOOL_OK && count == 1) {
		q->sql = *q->params++;
		q->param_count--;
	}
	return r;
}

static int parse(struct query *q, struct ask *ask, int argc, char **argv)
{
	int r = take_words(q, ask, argc, argv);

	if (r == TOOL_OK && q->param_count > 0)
		r = take_front_session(q, ask);
	if (r == TOOL_OK && ask->session)
		r = ask_add(ask, "session", ask->session);
	if (r == TOOL_OK && !q->sql)
		return tool_usage("query takes SQL, or - to read it");
	return r == TOOL_OK ? ask_add(ask, "format", "json") : r;
}

static int read_input(char **ret_sql)
{
	char *text = malloc(SQL_BYTES_MAX + 1);
	size_t bytes;

	if (!text)
		return tool_no_memory();
	bytes = fread(text, 1, SQL_BYTES_MAX + 1, stdin);
	if (ferror(stdin) || bytes > SQL_BYTES_MAX) {
		tool_say(bytes > SQL_BYTES_MAX ? "the SQL is longer than 1 MiB"
					       : "the SQL cannot be read");
		free(text);
		return TOOL_FAILED;
	}
	text[bytes] = '\0';
	*ret_sql = text;
	return TOOL_OK;
}

/* A number as it is written, true, false, null; else a text. */
static json_t *param_of(const char *text)
{
	json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);

	if (value && !json_is_string(value) && !json_is_array(value) && !json_is_object(value))
		return value;
	json_decref(value);
	return json_string(text);
}

static json_t *body_of(const struct query *q, const char *sql)
{
	json_t *params = json_array();
	int i;

	for (i = 0; i < q->param_count; i++)
		json_array_append_new(params, param_of(q->params[i]));
	return json_pack("{s:s, s:o}", "sql", sql, "params", params);
}

/* A value as text; what it needs is in buf or in the value. */
static const char *text_of(const json_t *value, char *buf, size_t size)
{
	if (json_is_string(value))
		return json_string_value(value);
	if (json_is_integer(value))
		snprintf(buf, size, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	else if (json_is_real(value))
		snprintf(buf, size, "%.15g", json_real_value(value));
	else
		buf[0] = '\0';
	return buf;
}

static void print_csv_field(const char *text, bool is_text)
{
	if (!is_text || (text[0] && !strpbrk(text, "\",\r\n"))) {
		fputs(text, stdout);
		return;
	}
	putchar('"');
	for (; *text; text++) {
		if (*text == '"')
			putchar('"');
		putchar(*text);
	}
	putchar('"');
}

static void print_csv_row(const json_t *row)
{
	const json_t *value;
	char buf[64];
	size_t i;

	json_array_foreach(row, i, value)
	{
		if (i > 0)
			putchar(',');
		if (json_is_real(value)) {
			snprintf(buf, sizeof(buf), "%.17g", json_real_value(value));
			print_csv_field(buf, false);
			continue;
		}
		print_csv_field(text_of(value, buf, sizeof(buf)), json_is_string(value));
	}
	fputs("\r\n", stdout);
}

static void print_csv(const json_t *columns, const json_t *rows)
{
	const json_t *row;
	size_t i;

	print_csv_row(columns);
	json_array_foreach(rows, i, row)
	{
		print_csv_row(row);
	}
}

/* Does any row have a text there? Then the column is aligned to the left. */
static bool has_text(const json_t *rows, size_t column)
{
	const json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		if (json_is_string(json_array_get(row, column)))
			return true;
	}
	return false;
}

/* Titles of columns, and what is to be freed of them. */
struct titles {
	const char *heads[TABLE_COLUMNS_MAX + 1];
	char *names[TABLE_COLUMNS_MAX];
};

static void titles_deinit(struct titles *t)
{
	size_t i;

	for (i = 0; i < TABLE_COLUMNS_MAX; i++)
		free(t->names[i]);
}

static int titles_init(struct titles *t, const json_t *columns, const json_t *rows)
{
	size_t i;

	for (i = 0; i < json_array_size(columns); i++) {
		const char *name = json_string_value(json_array_get(columns, i));

		if (asprintf(&t->names[i], "%s%s", has_text(rows, i) ? "<" : "", name ? name : "") <
		    0) {
			t->names[i] = NULL;
			return TOOL_FAILED;
		}
		t->heads[i] = t->names[i];
	}
	return TOOL_OK;
}

static int print_table(const json_t *columns, const json_t *rows)
{
	__attribute__((cleanup(titles_deinit))) struct titles titles = {0};
	_cleanup_table_ struct table *table = NULL;
	const json_t *row, *value;
	size_t i, k;
	char buf[64];

	if (titles_init(&titles, columns, rows) != TOOL_OK)
		return tool_no_memory();
	table = table_new(titles.heads);
	if (!table)
		return TOOL_FAILED;
	json_array_foreach(rows, i, row)
	{
		json_array_foreach(row, k, value)
		{
			table_cell(table,
				   json_is_null(value) ? "-" : text_of(value, buf, sizeof(buf)));
		}
	}
	table_print(table);
	return TOOL_OK;
}

/* More columns than a table has: a line for each value. */
static void print_lines(const json_t *columns, const json_t *rows)
{
	const json_t *row, *value;
	size_t i, k;
	char buf[64];

	json_array_foreach(rows, i, row)
	{
		if (i > 0)
			putchar('\n');
		json_array_foreach(row, k, value)
		{
			printf("%s: %s\n", json_string_value(json_array_get(columns, k)),
			       json_is_null(value) ? "-" : text_of(value, buf, sizeof(buf)));
		}
	}
}

static int print(const struct tool_options *options, const struct query *q, json_t *answer)
{
	const json_t *columns = json_object_get(answer, "columns");
	const json_t *rows = json_object_get(answer, "rows");
	bool cut = json_is_true(json_object_get(answer, "truncated"));
	int r = TOOL_OK;

	if (!options->json && !q->csv)
		answer_clean(answer);
	if (options->json)
		r = answer_print(answer);
	else if (q->csv)
		print_csv(columns, rows);
	else if (json_array_size(columns) <= TABLE_COLUMNS_MAX)
		r = print_table(columns, rows);
	else
		print_lines(columns, rows);
	if (cut)
		tool_say("these are the first %zu rows; --limit takes more", json_array_size(rows));
	if (fflush(stdout) != 0)
		r = TOOL_FAILED;
	return cut && q->csv ? TOOL_FAILED : r;
}

int tool_query(const struct tool_options *options, int argc, char **argv)
{
	_cleanup_json_ json_t *body = NULL, *answer = NULL;
	_cleanup_free_ char *input = NULL, *path = NULL;
	_cleanup_ask_ struct ask ask = {0};
	struct query q = {0};
	int r = parse(&q, &ask, argc, argv);

	if (r == TOOL_OK && q.csv && options->json)
		r = tool_usage("--csv and --json exclude each other");
	if (r == TOOL_OK && strcmp(q.sql, "-") == 0)
		r = read_input(&input);
	if (r != TOOL_OK)
		return r;
	body = body_of(&q, input ? input : q.sql);
	if (!body)
		return tool_usage("SQL and parameters are texts in UTF-8");
	path = ask_address(&ask, "/api/v1/query");
	r = path ? answer_send(options, "POST", path, body, &answer) : TOOL_FAILED;
	return r == TOOL_OK ? print(options, &q, answer) : r;
}
