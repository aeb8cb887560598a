// SPDX-License-Identifier: MIT
/*
 * A row is built whole before it is added to what goes out, so that an answer is cut between rows.
 *
 * CSV is that of RFC 4180: a header, CRLF, quotes where they are needed; NULL is an empty field, an
 * empty text a quoted one. Blobs are hexadecimal text in both.
 */
#include "query_write.h"

#include "json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FLUSH_BYTES (256u * 1024u)

struct query_writer {
	enum query_format format;
	uint64_t rows_max, bytes_max;
	uint64_t rows, bytes; /* so far; bytes of the rows */
	struct json row, out;
};

struct query_writer *query_writer_new(enum query_format format, uint64_t rows_max,
				      uint64_t bytes_max)
{
	struct query_writer *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->format = format;
	w->rows_max = rows_max;
	w->bytes_max = bytes_max;
	return w;
}

static int flush(struct query_writer *w)
{
	const char *at = w->out.at;
	size_t left = w->out.count;

	if (w->out.failed)
		return -ENOMEM;
	while (left > 0) {
		ssize_t n = write(STDOUT_FILENO, at, left);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		left -= (size_t)n;
	}
	w->out.count = 0;
	return 0;
}

static void csv_text(struct json *j, const char *text, size_t bytes)
{
	size_t i;

	if (bytes > 0 && !memchr(text, '"', bytes) && !memchr(text, ',', bytes) &&
	    !memchr(text, '\n', bytes) && !memchr(text, '\r', bytes)) {
		json_bytes(j, text, bytes);
		return;
	}
	json_bytes(j, "\"", 1);
	for (i = 0; i < bytes; i++)
		json_bytes(j, text[i] == '"' ? "\"\"" : text + i, text[i] == '"' ? 2 : 1);
	json_bytes(j, "\"", 1);
}

static void hex(struct json *j, const uint8_t *bytes, size_t count)
{
	static const char digits[] = "0123456789abcdef";
	size_t i;

	for (i = 0; i < count; i++) {
		char pair[2] = {digits[bytes[i] >> 4], digits[bytes[i] & 15]};

		json_bytes(j, pair, 2);
	}
}

static void csv_value(struct json *j, sqlite3_stmt *stmt, int i)
{
	switch (sqlite3_column_type(stmt, i)) {
	case SQLITE_INTEGER:
		json_printf(j, "%lld", sqlite3_column_int64(stmt, i));
		break;
	case SQLITE_FLOAT:
		json_printf(j, "%.17g", sqlite3_column_double(stmt, i));
		break;
	case SQLITE_TEXT:
		csv_text(j, (const char *)sqlite3_column_text(stmt, i),
			 (size_t)sqlite3_column_bytes(stmt, i));
		break;
	case SQLITE_BLOB:
		hex(j, sqlite3_column_blob(stmt, i), (size_t)sqlite3_column_bytes(stmt, i));
		break;
	default:
		break;
	}
}

static void json_value(struct json *j, sqlite3_stmt *stmt, int i)
{
	switch (sqlite3_column_type(stmt, i)) {
	case SQLITE_INTEGER:
		json_int(j, sqlite3_column_int64(stmt, i));
		break;
	case SQLITE_FLOAT:
		json_double(j, sqlite3_column_double(stmt, i));
		break;
	case SQLITE_TEXT:
		json_string_n(j, (const char *)sqlite3_column_text(stmt, i),
			      (size_t)sqlite3_column_bytes(stmt, i));
		break;
	case SQLITE_BLOB:
		json_bytes(j, j->comma ? ",\"" : "\"", j->comma ? 2 : 1);
		hex(j, sqlite3_column_blob(stmt, i), (size_t)sqlite3_column_bytes(stmt, i));
		json_bytes(j, "\"", 1);
		j->comma = true;
		break;
	default:
		json_null(j);
	}
}

static void build_row(struct query_writer *w, sqlite3_stmt *stmt)
{
	int i, columns = sqlite3_column_count(stmt);
	struct json *j = &w->row;

	j->count = 0;
	j->comma = false;
	if (w->format == QUERY_JSON)
		json_array_begin(j);
	for (i = 0; i < columns; i++) {
		if (w->format == QUERY_CSV && i > 0)
			json_bytes(j, ",", 1);
		if (w->format == QUERY_CSV)
			csv_value(j, stmt, i);
		else
			json_value(j, stmt, i);
	}
	if (w->format == QUERY_JSON)
		json_array_end(j);
	else
		json_bytes(j, "\r\n", 2);
}

void query_write_begin(struct query_writer *w, sqlite3_stmt *stmt)
{
	int i, columns = sqlite3_column_count(stmt);
	struct json *j = &w->out;

	if (w->format == QUERY_CSV) {
		for (i = 0; i < columns; i++) {
			const char *name = sqlite3_column_name(stmt, i);

			json_bytes(j, ",", i > 0);
			csv_text(j, name ? name : "", name ? strlen(name) : 0);
		}
		json_bytes(j, "\r\n", 2);
		return;
	}
	json_object_begin(j);
	json_key(j, "columns");
	json_array_begin(j);
	for (i = 0; i < columns; i++)
		json_string(j, sqlite3_column_name(stmt, i));
	json_array_end(j);
	json_key(j, "rows");
	json_array_begin(j);
}

int query_write_row(struct query_writer *w, sqlite3_stmt *stmt)
{
	int r;

	if (w->rows == w->rows_max)
		return 0;
	build_row(w, stmt);
	if (w->row.failed)
		return -ENOMEM;
	if (w->bytes + w->row.count > w->bytes_max)
		return 0;
	if (w->format == QUERY_JSON && w->rows > 0)
		json_bytes(&w->out, ",", 1);
	json_bytes(&w->out, w->row.at, w->row.count);
	w->rows++;
	w->bytes += w->row.count;
	r = w->out.count > FLUSH_BYTES ? flush(w) : 0;
	return r < 0 ? r : 1;
}

int query_write_end(struct query_writer *w, bool truncated, double elapsed_ms)
{
	struct json *j = &w->out;

	if (w->format == QUERY_JSON) {
		json_array_end(j);
		json_member_bool(j, "truncated", truncated);
		json_member_double(j, "elapsed_ms", elapsed_ms);
		json_object_end(j);
	}
	return flush(w);
}
