/* SPDX-License-Identifier: MIT */
/* From request lines to routes and parameters. */
#include "daemon/route.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct route_request r;

static void paths_lead_to_their_route(void **state)
{
	static const struct {
		const char *uri;
		enum route_id id;
		const char *session, *frame;
	} cases[] = {
		{"/api/v1/status", ROUTE_STATUS, NULL, NULL},
		{"/api/v1/sessions", ROUTE_SESSIONS, NULL, NULL},
		{"/api/v1/sessions/12", ROUTE_SESSION, "12", NULL},
		{"/api/v1/sessions/current/frames", ROUTE_FRAMES, "current", NULL},
		{"/api/v1/sessions/12/frames/slowest", ROUTE_FRAME, "12", "slowest"},
		{"/api/v1/sessions/%63urrent", ROUTE_SESSION, "current", NULL},
		{"/api/v1/stream", ROUTE_STREAM, NULL, NULL},
		{"/", ROUTE_ASSET, NULL, NULL},
		{"/api/v1/sessions/", ROUTE_ASSET, NULL, NULL},
		{"/api/v1/sessions/1/frames/2/3", ROUTE_ASSET, NULL, NULL},
		{"/api/v1/statusx", ROUTE_ASSET, NULL, NULL},
		{"/app.js?v=1&v=2", ROUTE_ASSET, NULL, NULL},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(route_parse("GET", cases[i].uri, &r), 0);
		assert_int_equal(r.route->id, cases[i].id);
		assert_int_equal(r.id != NULL, cases[i].session != NULL);
		assert_int_equal(r.frame != NULL, cases[i].frame != NULL);
		if (r.id)
			assert_string_equal(r.id, cases[i].session);
		if (r.frame)
			assert_string_equal(r.frame, cases[i].frame);
	}
}

static void parameters_are_decoded(void **state)
{
	(void)state;
	assert_int_equal(
		route_parse("GET", "/api/v1/sessions/1/frames?stream=a%20b%2Fc+d&last=5&", &r), 0);
	assert_string_equal(route_value(&r, "stream"), "a b/c d");
	assert_string_equal(route_value(&r, "last"), "5");
	assert_null(route_value(&r, "from"));
	assert_int_equal(route_parse("GET", "/api/v1/sessions/1/frames?last", &r), 0);
	assert_string_equal(route_value(&r, "last"), "");
	assert_int_equal(route_parse("GET", "/api/v1/check?tolerance=5%&runs=a%25", &r), 0);
	assert_string_equal(route_value(&r, "tolerance"), "5%");
	assert_string_equal(route_value(&r, "runs"), "a%");
	assert_int_equal(route_parse("GET", "/api/v1/check?tolerance=5%2&runs=a", &r), -EINVAL);
}

static void bad_addresses_are_refused(void **state)
{
	static const struct {
		const char *uri;
		int rc;
		const char *bad;
	} cases[] = {
		{"", -EINVAL, NULL},
		{"x", -EINVAL, NULL},
		{"/%", -EINVAL, NULL},
		{"/%4", -EINVAL, NULL},
		{"/%zz", -EINVAL, NULL},
		{"/a%00b", -EINVAL, NULL},
		{"/api%2Fv1/status", -EINVAL, NULL},
		{"/\xff", -EINVAL, NULL},
		{"/%c0%af", -EINVAL, NULL},
		{"/api/v1/sessions?last=%ff", -EINVAL, NULL},
		{"/api/v1/sessions?nope=1", -ENOKEY, "nope"},
		{"/api/v1/sessions?last=1&last=2", -EEXIST, "last"},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(route_parse("GET", cases[i].uri, &r), cases[i].rc);
		if (cases[i].bad)
			assert_string_equal(r.bad, cases[i].bad);
	}
}

static void a_query_has_a_limit(void **state)
{
	char uri[64 + 4 * (ROUTE_PARAMS_MAX + 1)] = "/api/v1/status?";
	int i;

	(void)state;
	for (i = 0; i <= ROUTE_PARAMS_MAX; i++)
		sprintf(uri + strlen(uri), "p%02d&", i);
	assert_int_equal(route_parse("GET", uri, &r), -E2BIG);
}

static void another_method_is_told_which_there_are(void **state)
{
	(void)state;
	assert_int_equal(route_parse("PUT", "/api/v1/status", &r), -EOPNOTSUPP);
	assert_int_equal(r.methods, 1u << ROUTE_GET);
	assert_int_equal(route_parse("POST", "/nothing", &r), -EOPNOTSUPP);
	assert_int_equal(r.methods, 1u << ROUTE_GET);
	assert_int_equal(route_parse("HEAD", "/api/v1/status", &r), 0);
	assert_int_equal(r.route->id, ROUTE_STATUS);
}

static void the_address_has_a_limit(void **state)
{
	char uri[ROUTE_URI_MAX + 2];

	(void)state;
	memset(uri, 'a', sizeof(uri));
	uri[0] = '/';
	uri[ROUTE_URI_MAX + 1] = '\0';
	assert_int_equal(route_parse("GET", uri, &r), -ENAMETOOLONG);
	uri[ROUTE_URI_MAX] = '\0';
	assert_int_equal(route_parse("GET", uri, &r), 0);
}

static void numbers_are_decimal_and_bounded(void **state)
{
	uint64_t v;

	(void)state;
	assert_int_equal(route_number("3600", 1, 3600, &v), 0);
	assert_int_equal(v, 3600);
	assert_int_equal(route_number("3601", 1, 3600, &v), -EINVAL);
	assert_int_equal(route_number("0", 1, 3600, &v), -EINVAL);
	assert_int_equal(route_number("", 0, 10, &v), -EINVAL);
	assert_int_equal(route_number("-1", 0, 10, &v), -EINVAL);
	assert_int_equal(route_number(" 1", 0, 10, &v), -EINVAL);
	assert_int_equal(route_number("0x1", 0, 10, &v), -EINVAL);
	assert_int_equal(route_number("18446744073709551615", 0, UINT64_MAX, &v), 0);
	assert_true(v == UINT64_MAX);
	assert_int_equal(route_number("18446744073709551616", 0, UINT64_MAX, &v), -EINVAL);
	assert_int_equal(route_number("99999999999999999999999", 0, UINT64_MAX, &v), -EINVAL);
}

static void names_of_sessions_and_frames(void **state)
{
	enum route_frame_kind kind;
	uint64_t v;

	(void)state;
	assert_int_equal(route_session("current", &v), 0);
	assert_int_equal(v, 0);
	assert_int_equal(route_session("0", &v), -EINVAL);
	assert_int_equal(route_session("Current", &v), -EINVAL);
	assert_int_equal(route_frame("slowest", &kind, &v), 0);
	assert_int_equal(kind, ROUTE_FRAME_SLOWEST);
	assert_int_equal(route_frame("latest", &kind, &v), 0);
	assert_int_equal(kind, ROUTE_FRAME_LATEST);
	assert_int_equal(route_frame("tail", &kind, &v), 0);
	assert_int_equal(kind, ROUTE_FRAME_TAIL);
	assert_int_equal(route_frame("17", &kind, &v), 0);
	assert_int_equal(kind, ROUTE_FRAME_NUMBER);
	assert_int_equal(v, 17);
	assert_int_equal(route_frame("fastest", &kind, &v), -EINVAL);
}

static void event_ids(void **state)
{
	uint64_t session, frame;

	(void)state;
	assert_int_equal(route_event_id("3:1281", &session, &frame), 0);
	assert_int_equal(session, 3);
	assert_int_equal(frame, 1281);
	assert_int_equal(route_event_id("3:0", &session, &frame), 0);
	assert_int_equal(route_event_id("3", &session, &frame), -EINVAL);
	assert_int_equal(route_event_id(":1", &session, &frame), -EINVAL);
	assert_int_equal(route_event_id("3:", &session, &frame), -EINVAL);
	assert_int_equal(route_event_id("0:1", &session, &frame), -EINVAL);
	assert_int_equal(route_event_id("3:1:2", &session, &frame), -EINVAL);
	assert_int_equal(route_event_id("111111111111111111111111111:1", &session, &frame),
			 -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_lead_to_their_route),
		cmocka_unit_test(parameters_are_decoded),
		cmocka_unit_test(bad_addresses_are_refused),
		cmocka_unit_test(a_query_has_a_limit),
		cmocka_unit_test(another_method_is_told_which_there_are),
		cmocka_unit_test(the_address_has_a_limit),
		cmocka_unit_test(numbers_are_decimal_and_bounded),
		cmocka_unit_test(names_of_sessions_and_frames),
		cmocka_unit_test(event_ids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
