/* SPDX-License-Identifier: MIT */
/* The JSON writer: what comes out is valid whatever goes in. Read back with a parser that is not
 * ours (SQLite's). */
#include "daemon/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

static void assert_text(struct json *j, const char *want)
{
	assert_false(j->failed);
	assert_int_equal(j->count, strlen(want));
	assert_memory_equal(j->at, want, strlen(want));
	json_free(j);
}

static void commas_stand_between_values_only(void **state)
{
	struct json j = {0};

	(void)state;
	json_object_begin(&j);
	json_member_int(&j, "a", 1);
	json_key(&j, "b");
	json_array_begin(&j);
	json_array_begin(&j);
	json_array_end(&j);
	json_object_begin(&j);
	json_object_end(&j);
	json_null(&j);
	json_array_end(&j);
	json_member_bool(&j, "c", true);
	json_object_end(&j);
	assert_text(&j, "{\"a\":1,\"b\":[[],{},null],\"c\":true}");
}

static void integers_are_exact(void **state)
{
	struct json j = {0};

	(void)state;
	json_array_begin(&j);
	json_int(&j, INT64_MIN);
	json_int(&j, INT64_MAX);
	json_uint(&j, UINT64_MAX);
	json_int(&j, 9007199254740993);
	json_int(&j, 0);
	json_int(&j, -1);
	json_array_end(&j);
	assert_text(&j, "[-9223372036854775808,9223372036854775807,18446744073709551615,"
			"9007199254740993,0,-1]");
}

static void doubles_read_back_equal(void **state)
{
	const double values[] = {0.1, 1.0 / 3, 1e308, 5e-324, -2.5, 2095987654.321, 1e21};
	struct json j = {0};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		j.count = 0;
		j.comma = false;
		json_double(&j, values[i]);
		json_bytes(&j, "", 1);
		assert_true(strtod(j.at, NULL) == values[i]);
	}
	json_free(&j);
}

static void what_is_no_number_is_null(void **state)
{
	struct json j = {0};

	(void)state;
	json_array_begin(&j);
	json_double(&j, NAN);
	json_double(&j, INFINITY);
	json_double(&j, -INFINITY);
	json_string(&j, NULL);
	json_array_end(&j);
	assert_text(&j, "[null,null,null,null]");
}

static void strings_are_escaped(void **state)
{
	struct json j = {0};

	(void)state;
	json_string(&j, "q\" b\\ n\n t\t c\x01 d\x7f u\xc3\xa9 e\xf0\x9f\x8e\xae");
	assert_text(&j, "\"q\\\" b\\\\ n\\n t\\t c\\u0001 d\x7f u\xc3\xa9 e\xf0\x9f\x8e\xae\"");
	json_string_n(&j, "a\0b", 3);
	assert_text(&j, "\"a\\u0000b\"");
}

static void keys_of_strangers_are_escaped(void **state)
{
	struct json j = {0};

	(void)state;
	json_object_begin(&j);
	json_key_string(&j, "a\"\xff");
	json_int(&j, 1);
	json_key_string(&j, "b");
	json_int(&j, 2);
	json_object_end(&j);
	assert_text(&j, "{\"a\\\"\xef\xbf\xbd\":1,\"b\":2}");
}

static void invalid_utf8_becomes_replacement(void **state)
{
	static const struct {
		const char *in, *out;
	} cases[] = {
		{"\xff", "\"\xef\xbf\xbd\""},
		{"\x80x", "\"\xef\xbf\xbdx\""},
		{"\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\""},		      /* overlong slash */
		{"\xc3", "\"\xef\xbf\xbd\""},				      /* cut */
		{"\xe2\x82", "\"\xef\xbf\xbd\xef\xbf\xbd\""},		      /* cut */
		{"\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""}, /* surrogate */
		{"\xf4\x90\x80\x80",
		 "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""}, /* beyond 10FFFF */
		{"\xf4\x8f\xbf\xbf", "\"\xf4\x8f\xbf\xbf\""},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct json j = {0};

		json_string(&j, cases[i].in);
		assert_text(&j, cases[i].out);
	}
}

/* Every string of two bytes: a parser that is not ours reads all of it. */
static void any_two_bytes_parse(void **state)
{
	struct json j = {0};
	sqlite3_stmt *query;
	sqlite3 *db;
	int a, b;

	(void)state;
	json_array_begin(&j);
	for (a = 0; a < 256; a++) {
		for (b = 0; b < 256; b++) {
			char bytes[2] = {(char)a, (char)b};

			json_string_n(&j, bytes, 2);
		}
	}
	json_array_end(&j);
	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, "SELECT json_valid(?1), json_array_length(?1)", -1,
					    &query, NULL),
			 SQLITE_OK);
	sqlite3_bind_text(query, 1, j.at, (int)j.count, SQLITE_STATIC);
	assert_int_equal(sqlite3_step(query), SQLITE_ROW);
	assert_int_equal(sqlite3_column_int(query, 0), 1);
	assert_int_equal(sqlite3_column_int(query, 1), 65536);
	sqlite3_finalize(query);
	sqlite3_close(db);
	json_free(&j);
}

static void growth_keeps_what_was_written(void **state)
{
	struct json j = {0};
	size_t i;

	(void)state;
	json_array_begin(&j);
	for (i = 0; i < 100000; i++)
		json_string(&j, "0123456789");
	json_array_end(&j);
	assert_false(j.failed);
	assert_int_equal(j.count, 1 + 100000 * 13);
	for (i = 0; i < 100000; i++)
		assert_memory_equal(j.at + 1 + i * 13, "\"0123456789\"", 12);
	json_free(&j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commas_stand_between_values_only),
		cmocka_unit_test(integers_are_exact),
		cmocka_unit_test(doubles_read_back_equal),
		cmocka_unit_test(what_is_no_number_is_null),
		cmocka_unit_test(strings_are_escaped),
		cmocka_unit_test(keys_of_strangers_are_escaped),
		cmocka_unit_test(invalid_utf8_becomes_replacement),
		cmocka_unit_test(any_two_bytes_parse),
		cmocka_unit_test(growth_keeps_what_was_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
