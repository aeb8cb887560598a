// SPDX-License-Identifier: MIT
/*
 * Tables that are a query over the source: of its columns those that are used are read, and
 * comparisons with numbers are handed on to it, so that its own indexes serve.
 */
#include "vtab_impl.h"

#include <string.h>

struct table {
	sqlite3_vtab base;
	const struct vtab_rows *rows;
	int columns;
	char **names;
};

struct cursor {
	sqlite3_vtab_cursor base;
	sqlite3_stmt *stmt;
	char *taken; /* what stmt was prepared for */
	bool done;
	int64_t rowid;
};

static int rows_disconnect(sqlite3_vtab *base)
{
	struct table *table = (struct table *)base;
	int i;

	for (i = 0; table->names && i < table->columns; i++)
		sqlite3_free(table->names[i]);
	sqlite3_free(table->names);
	sqlite3_free(table);
	return SQLITE_OK;
}

/* The columns, as they are declared where the query takes them from. */
static char *declare(struct table *table, sqlite3_stmt *stmt)
{
	sqlite3_str *text = sqlite3_str_new(NULL);
	int i;

	sqlite3_str_appendall(text, "CREATE TABLE x(");
	for (i = 0; i < table->columns; i++) {
		const char *type = sqlite3_column_decltype(stmt, i);
		const char *name = sqlite3_column_name(stmt, i);

		table->names[i] = sqlite3_mprintf("%s", name ? name : "");
		sqlite3_str_appendf(text, "%s\"%w\" %s", i ? ", " : "", name ? name : "",
				    type ? type : "");
	}
	sqlite3_str_appendall(text, ")");
	return sqlite3_str_finish(text);
}

static int declare_table(sqlite3 *db, struct table *table)
{
	sqlite3_stmt *stmt = NULL;
	char *declaration;
	int rc = sqlite3_prepare_v2(table->rows->source.db, table->rows->select, -1, &stmt, NULL);

	if (rc != SQLITE_OK)
		return rc;
	table->columns = sqlite3_column_count(stmt);
	table->names = sqlite3_malloc64(sizeof(*table->names) * (size_t)table->columns);
	if (!table->names) {
		sqlite3_finalize(stmt);
		return SQLITE_NOMEM;
	}
	memset(table->names, 0, sizeof(*table->names) * (size_t)table->columns);
	declaration = declare(table, stmt);
	rc = declaration ? sqlite3_declare_vtab(db, declaration) : SQLITE_NOMEM;
	sqlite3_free(declaration);
	sqlite3_finalize(stmt);
	return rc;
}

static int rows_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
			sqlite3_vtab **ret_table, char **ret_error)
{
	struct table *table = sqlite3_malloc(sizeof(*table));
	int rc;

	(void)argc;
	(void)argv;
	if (!table)
		return SQLITE_NOMEM;
	memset(table, 0, sizeof(*table));
	table->rows = aux;
	rc = declare_table(db, table);
	if (rc != SQLITE_OK) {
		*ret_error = sqlite3_mprintf("the history cannot be read: %s",
					     sqlite3_errmsg(table->rows->source.db));
		rows_disconnect(&table->base);
		return rc;
	}
	*ret_table = &table->base;
	return SQLITE_OK;
}

static const char *operator_of(unsigned char op)
{
	switch (op) {
	case SQLITE_INDEX_CONSTRAINT_EQ:
		return "=";
	case SQLITE_INDEX_CONSTRAINT_GT:
		return ">";
	case SQLITE_INDEX_CONSTRAINT_GE:
		return ">=";
	case SQLITE_INDEX_CONSTRAINT_LT:
		return "<";
	case SQLITE_INDEX_CONSTRAINT_LE:
		return "<=";
	default:
		return NULL;
	}
}

/* What a key finds: few rows. Others narrow a little. */
static double narrowing(const char *name, unsigned char op)
{
	if (op != SQLITE_INDEX_CONSTRAINT_EQ)
		return 3;
	if (strcmp(name, "frame") == 0 || strcmp(name, "id") == 0)
		return 600;
	return strcmp(name, "marker") == 0 ? 100 : 2;
}

static void select_columns(sqlite3_str *sql, const struct table *table, uint64_t used)
{
	int i;

	for (i = 0; i < table->columns; i++) {
		bool is_used = used >> MIN(i, 63) & 1;

		sqlite3_str_appendf(sql, is_used ? "%s\"%w\"" : "%sNULL", i ? ", " : "",
				    table->names[i]);
	}
}

/* The query to run, with ?3... for the values of xFilter; it is handed over as idxStr. */
static int rows_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	const struct table *table = (const struct table *)base;
	sqlite3_str *sql = sqlite3_str_new(NULL);
	double rows = 3000;
	int i, count = 0;

	sqlite3_str_appendall(sql, "SELECT ");
	select_columns(sql, table, info->colUsed);
	sqlite3_str_appendf(sql, " FROM (%s) WHERE 1", table->rows->select);
	for (i = 0; i < info->nConstraint; i++) {
		int column = info->aConstraint[i].iColumn;
		const char *op = operator_of(info->aConstraint[i].op);

		if (!info->aConstraint[i].usable || column < 0 || column >= table->columns || !op)
			continue;
		info->aConstraintUsage[i].argvIndex = ++count;
		sqlite3_str_appendf(sql, " AND \"%w\" %s ?%d", table->names[column], op, count + 2);
		rows /= narrowing(table->names[column], info->aConstraint[i].op);
	}
	info->idxStr = sqlite3_str_finish(sql);
	info->needToFreeIdxStr = 1;
	info->estimatedRows = (sqlite3_int64)(rows < 1 ? 1 : rows);
	info->estimatedCost = 10 + rows;
	return info->idxStr ? SQLITE_OK : SQLITE_NOMEM;
}

static int rows_open(sqlite3_vtab *table, sqlite3_vtab_cursor **ret_cursor)
{
	struct cursor *c = calloc(1, sizeof(*c));

	(void)table;
	if (!c)
		return SQLITE_NOMEM;
	*ret_cursor = &c->base;
	return SQLITE_OK;
}

static int rows_close(sqlite3_vtab_cursor *cursor)
{
	struct cursor *c = (struct cursor *)cursor;

	sqlite3_finalize(c->stmt);
	free(c->taken);
	free(c);
	return SQLITE_OK;
}

static int rows_next(sqlite3_vtab_cursor *cursor)
{
	struct cursor *c = (struct cursor *)cursor;
	const struct table *table = (const struct table *)cursor->pVtab;
	int rc = sqlite3_step(c->stmt);

	c->rowid++;
	c->done = rc != SQLITE_ROW;
	if (rc == SQLITE_ROW || rc == SQLITE_DONE)
		return SQLITE_OK;
	return vtab_fail(cursor->pVtab, table->rows->source.db, rc);
}

/* The statement for sql, the one of the scan before where that was the same. */
static int prepare(struct cursor *c, const struct table *table, const char *sql)
{
	if (c->taken && strcmp(c->taken, sql) == 0)
		return sqlite3_reset(c->stmt);
	sqlite3_finalize(c->stmt);
	c->stmt = NULL;
	free(c->taken);
	c->taken = strdup(sql);
	if (!c->taken)
		return SQLITE_NOMEM;
	return sqlite3_prepare_v2(table->rows->source.db, sql, -1, &c->stmt, NULL);
}

static int rows_filter(sqlite3_vtab_cursor *cursor, int number, const char *sql, int argc,
		       sqlite3_value **argv)
{
	struct cursor *c = (struct cursor *)cursor;
	const struct table *table = (const struct table *)cursor->pVtab;
	int i, rc = prepare(c, table, sql);

	(void)number;
	if (rc == SQLITE_OK)
		rc = sqlite3_bind_int64(c->stmt, 1, table->rows->source.uid);
	if (rc == SQLITE_OK)
		rc = sqlite3_bind_int64(c->stmt, 2, table->rows->source.session);
	for (i = 0; i < argc && rc == SQLITE_OK; i++)
		rc = sqlite3_bind_value(c->stmt, i + 3, argv[i]);
	if (rc != SQLITE_OK)
		return vtab_fail(cursor->pVtab, table->rows->source.db, rc);
	c->rowid = 0;
	return rows_next(cursor);
}

static int rows_eof(sqlite3_vtab_cursor *cursor)
{
	return ((struct cursor *)cursor)->done;
}

static int rows_column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int column)
{
	sqlite3_result_value(context,
			     sqlite3_column_value(((struct cursor *)cursor)->stmt, column));
	return SQLITE_OK;
}

static int rows_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *ret_rowid)
{
	*ret_rowid = ((struct cursor *)cursor)->rowid;
	return SQLITE_OK;
}

const sqlite3_module vtab_rows_module = {
	.iVersion = 1,
	.xConnect = rows_connect,
	.xBestIndex = rows_best_index,
	.xDisconnect = rows_disconnect,
	.xOpen = rows_open,
	.xClose = rows_close,
	.xFilter = rows_filter,
	.xNext = rows_next,
	.xEof = rows_eof,
	.xColumn = rows_column,
	.xRowid = rows_rowid,
};
