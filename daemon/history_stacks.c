// SPDX-License-Identifier: MIT
/* Chunks are read in one transaction, one after the other; names of functions in another. */
#include "history_stacks.h"

#include "chunk.h"
#include "history_impl.h"
#include "util.h"

#include <errno.h>

#define MODULES                                                                                 \
	"SELECT module, path, build_id, symbols, reason FROM stack_modules WHERE session = ?1 " \
	"ORDER BY module"
#define SYMBOLS                                                                       \
	"SELECT module, lo, hi, name FROM stack_symbols WHERE session = ?1 ORDER BY " \
	"module, lo"
#define CHUNKS                                                                                    \
	"SELECT t0, data, samples FROM stack_chunks WHERE session = ?1 AND t1 >= ?2 AND t0 < ?3 " \
	"ORDER BY t1, id"

/* ---- code ---- */

static void module_free(struct history_module *m)
{
	free(m->path);
	free(m->build_id);
	free(m->symbols);
	free(m->reason);
}

void history_code_free(struct history_code *code)
{
	size_t i;

	for (i = 0; i < code->modules.count; i++)
		module_free(&code->modules.at[i]);
	for (i = 0; i < code->symbols.count; i++)
		free(code->symbols.at[i].name);
	VEC_FREE(&code->modules);
	VEC_FREE(&code->symbols);
}

static int read_modules(struct history *h, const int64_t *session, struct history_code *code)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	int r = sql_ask(h->db, MODULES, session, 1, &stmt);

	while (r == 0 && (r = sql_step(stmt)) == 1) {
		struct sql_row row = sql_row(stmt);
		struct history_module m = {.id = row_uint(&row)};

		m.path = row_text(&row);
		m.build_id = row_text(&row);
		m.symbols = row_text(&row);
		m.reason = row_text(&row);
		r = row.error;
		if (r == 0)
			r = VEC_PUSH(&code->modules, m);
		if (r < 0)
			module_free(&m);
	}
	return r;
}

static int read_symbols(struct history *h, const int64_t *session, struct history_code *code)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	int r = sql_ask(h->db, SYMBOLS, session, 1, &stmt);

	while (r == 0 && (r = sql_step(stmt)) == 1) {
		struct sql_row row = sql_row(stmt);
		struct history_symbol s = {.module = row_uint(&row)};

		s.lo = row_uint(&row);
		s.hi = row_uint(&row);
		s.name = row_text(&row);
		r = row.error;
		if (r == 0)
			r = VEC_PUSH(&code->symbols, s);
		if (r < 0)
			free(s.name);
	}
	return r;
}

int history_code(struct history *h, uint64_t session, struct history_code *ret_code)
{
	const int64_t key[] = {(int64_t)session};
	int r = history_begin(h);

	*ret_code = (struct history_code){0};
	if (r < 0)
		return r;
	r = read_modules(h, key, ret_code);
	if (r == 0)
		r = read_symbols(h, key, ret_code);
	r = history_end(h, r);
	if (r < 0)
		history_code_free(ret_code);
	return r;
}

const struct history_module *history_code_module(const struct history_code *code, uint64_t id)
{
	size_t low = 0, high = code->modules.count, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (code->modules.at[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < code->modules.count && code->modules.at[low].id == id ? &code->modules.at[low]
									   : NULL;
}

/* The last one that begins at or before it, if it reaches so far. */
const struct history_symbol *history_code_symbol(const struct history_code *code, uint64_t module,
						 uint64_t offset)
{
	size_t low = 0, high = code->symbols.count, middle;
	const struct history_symbol *s;

	while (low < high) {
		middle = low + (high - low) / 2;
		s = &code->symbols.at[middle];
		if (s->module < module || (s->module == module && s->lo <= offset))
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return NULL;
	s = &code->symbols.at[low - 1];
	return s->module == module && offset < s->hi ? s : NULL;
}

/* ---- stacks ---- */

/* *samples: how many are still to come. */
static int visit_chunk(const void *data, size_t bytes, int64_t t0,
		       const struct stacks_visitor *visitor, uint64_t *samples)
{
	struct stack_record record;
	struct stack_reader reader;
	int r = stack_reader_init(&reader, data, bytes, t0);

	if (r == 0)
		r = visitor->chunk(visitor->userdata);
	while (r == 0 && (r = stack_reader_next(&reader, &record)) == 1) {
		*samples -= record.kind == STACK_SAMPLE && *samples > 0;
		r = visitor->record(visitor->userdata, &record);
	}
	return r;
}

/* from: the range's begin. */
static int visit_row(sqlite3_stmt *stmt, int64_t from, const struct stacks_visitor *visitor)
{
	int64_t t0 = sqlite3_column_int64(stmt, 0);
	uint64_t samples = (uint32_t)sqlite3_column_int64(stmt, 2);
	_cleanup_free_ uint8_t *raw = NULL;
	struct stack_record lost = {.kind = STACK_LOST, .t = MAX(t0, from)};
	size_t bytes;
	int r = chunk_unpack(sqlite3_column_blob(stmt, 1), (size_t)sqlite3_column_bytes(stmt, 1),
			     &raw, &bytes);

	if (r == 0)
		r = visit_chunk(raw, bytes, t0, visitor, &samples);
	lost.value = samples;
	return r == -EBADMSG ? visitor->record(visitor->userdata, &lost) : r;
}

static int visit_rows(struct history *h, const int64_t *key, const struct stacks_visitor *visitor)
{
	_cleanup_stmt_ sqlite3_stmt *stmt = NULL;
	int r = sql_ask(h->db, CHUNKS, key, 3, &stmt);

	while (r == 0 && (r = sql_step(stmt)) == 1)
		r = visit_row(stmt, key[1], visitor);
	return r;
}

int history_stacks_each(struct history *h, uint64_t session, int64_t t0, int64_t t1,
			const struct stacks_visitor *visitor)
{
	const int64_t key[] = {(int64_t)session, t0, t1};
	int r = history_begin(h);

	return r < 0 ? r : history_end(h, visit_rows(h, key, visitor));
}
