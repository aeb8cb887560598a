/* SPDX-License-Identifier: MIT */
/* The event stream's clients: filters, bounds, catching up. The past is a stand-in; time plays no
 * part. */
#include "daemon/history.h"
#include "daemon/stream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The past: frames first..last, two of them at a time. During the call, `meanwhile` more appear. */
static struct {
	uint64_t first, last, meanwhile;
	struct stream_hub *hub;
} past;

static void publish(struct stream_hub *hub, enum stream_kind kind, uint64_t session, uint32_t uid,
		    uint64_t frame, const char *text)
{
	const struct stream_event event = {kind, session, uid, frame, text, strlen(text)};

	stream_publish(hub, &event);
}

static int replay(void *userdata, uint64_t session, uint64_t after, struct json *out,
		  uint64_t *ret_last, uint64_t *ret_missed)
{
	uint64_t end = past.last;
	int n;

	(void)userdata;
	(void)session;
	if (past.meanwhile) {
		past.meanwhile--;
		past.last++;
		publish(past.hub, STREAM_FRAME, 1, 0, past.last, "never queued;");
	}
	if (after + 1 < past.first) {
		*ret_missed = past.first - after - 1;
		after = past.first - 1;
	}
	for (n = 0; n < 2 && after < end; n++)
		json_printf(out, "p%llu;", (unsigned long long)++after);
	*ret_last = after;
	return 0;
}

struct reader {
	struct stream_hub *hub;
	struct stream_client *client;
	unsigned sleeps, wakes;
	bool gone;
	char text[1 << 20];
	size_t count;
};

static void on_sleep(void *userdata)
{
	((struct reader *)userdata)->sleeps++;
}

static void on_wake(void *userdata)
{
	((struct reader *)userdata)->wakes++;
}

static bool is_gone(void *userdata)
{
	return ((struct reader *)userdata)->gone;
}

static struct reader *open_reader(struct stream_hub *hub, struct stream_filter filter)
{
	struct reader *r = calloc(1, sizeof(*r));
	const struct stream_sleeper sleeper = {on_sleep, on_wake, is_gone, r};
	char greeting[64];
	ssize_t n;

	r->hub = hub;
	assert_int_equal(stream_client_new(hub, &filter, &sleeper, &r->client), 0);
	n = stream_client_read(r->client, greeting, sizeof(greeting));
	assert_true(n > 0);
	assert_memory_equal(greeting, "retry:", 6);
	return r;
}

static void close_reader(struct reader *r)
{
	stream_client_free(r->client);
	free(r);
}

/* Reads, step bytes at a time, until there is nothing more. */
static const char *read_all(struct reader *r, size_t step)
{
	ssize_t n;

	r->count = 0;
	while ((n = stream_client_read(r->client, r->text + r->count, step)) > 0)
		r->count += (size_t)n;
	assert_int_equal(n, 0);
	r->text[r->count] = '\0';
	return r->text;
}

static struct stream_hub *new_hub(void)
{
	struct stream_hub *hub;

	memset(&past, 0, sizeof(past));
	past.first = 1;
	assert_int_equal(stream_hub_new(replay, NULL, &hub), 0);
	past.hub = hub;
	return hub;
}

static const struct stream_filter everything = {.uid = HISTORY_ANY_UID};

static void events_come_once_and_in_order(void **state)
{
	struct stream_hub *hub = new_hub();
	struct reader *r = open_reader(hub, everything);

	(void)state;
	assert_string_equal(read_all(r, 100), "");
	publish(hub, STREAM_FRAME, 1, 0, 1, "one;");
	publish(hub, STREAM_GPU, 1, 0, 0, "two;");
	publish(hub, STREAM_SESSION, 2, 0, 0, "three;");
	assert_string_equal(read_all(r, 3), "one;two;three;");
	assert_string_equal(read_all(r, 100), "");
	close_reader(r);
	stream_hub_free(hub);
}

static void sleep_and_wake_alternate(void **state)
{
	struct stream_hub *hub = new_hub();
	struct reader *r = open_reader(hub, everything);

	(void)state;
	publish(hub, STREAM_FRAME, 1, 0, 1, "one;");
	assert_int_equal(r->wakes, 0);
	read_all(r, 100);
	assert_int_equal(r->sleeps, 1);
	publish(hub, STREAM_FRAME, 1, 0, 2, "two;");
	publish(hub, STREAM_FRAME, 1, 0, 3, "three;");
	assert_int_equal(r->wakes, 1);
	close_reader(r);
	stream_hub_free(hub);
}

static void a_user_hears_only_its_own(void **state)
{
	struct stream_hub *hub = new_hub();
	struct reader *mine = open_reader(hub, (struct stream_filter){.uid = 1000});
	struct reader *one =
		open_reader(hub, (struct stream_filter){.uid = HISTORY_ANY_UID, .session = 2});

	(void)state;
	publish(hub, STREAM_FRAME, 1, 1000, 1, "mine;");
	publish(hub, STREAM_FRAME, 2, 1001, 1, "theirs;");
	publish(hub, STREAM_SESSION, 2, 1001, 0, "ended;");
	assert_string_equal(read_all(mine, 100), "mine;");
	assert_string_equal(read_all(one, 100), "theirs;ended;");
	close_reader(mine);
	close_reader(one);
	stream_hub_free(hub);
}

static void a_slow_client_is_bounded_and_told(void **state)
{
	struct stream_hub *hub = new_hub();
	struct reader *slow = open_reader(hub, everything), *fast = open_reader(hub, everything);
	const char *text, *dropped;
	char event[1001], want[64];
	unsigned i, kept = 0, sent = 400;

	(void)state;
	memset(event, 'x', 1000);
	event[1000] = '\0';
	for (i = 0; i < sent; i++) {
		publish(hub, STREAM_FRAME, 1, 0, i + 1, event);
		assert_int_equal(strlen(read_all(fast, 5000)), 1000);
	}
	text = read_all(slow, 5000);
	dropped = strstr(text, "event: dropped\n");
	assert_non_null(dropped);
	kept = (unsigned)((dropped - text) / 1000);
	assert_int_equal(kept, STREAM_QUEUE_BYTES / 1000);
	snprintf(want, sizeof(want), "data: {\"missed\":%u,\"reason\":\"slow\"}\n\n", sent - kept);
	assert_non_null(strstr(dropped, want));
	publish(hub, STREAM_FRAME, 1, 0, sent + 1, "again;");
	assert_string_equal(read_all(slow, 100), "again;");
	close_reader(slow);
	close_reader(fast);
	stream_hub_free(hub);
}

static void a_client_goes_on_where_it_stopped(void **state)
{
	struct stream_hub *hub = new_hub();
	struct reader *r;

	(void)state;
	past.last = 7;
	r = open_reader(hub, (struct stream_filter){.uid = HISTORY_ANY_UID,
						    .resume = true,
						    .resume_session = 1,
						    .resume_frame = 4});
	assert_string_equal(read_all(r, 100), "p5;p6;p7;");
	publish(hub, STREAM_FRAME, 1, 0, 7, "seven again;");
	publish(hub, STREAM_FRAME, 1, 0, 8, "eight;");
	assert_string_equal(read_all(r, 100), "eight;");
	close_reader(r);
	stream_hub_free(hub);
}

/* Frames that are published while the past is being read come from the past, once. */
static void nothing_falls_between_past_and_present(void **state)
{
	struct stream_hub *hub = new_hub();
	struct reader *r;

	(void)state;
	past.last = 2;
	past.meanwhile = 4;
	r = open_reader(hub, (struct stream_filter){.uid = HISTORY_ANY_UID,
						    .resume = true,
						    .resume_session = 1,
						    .resume_frame = 0});
	assert_string_equal(read_all(r, 100), "p1;p2;p3;p4;p5;p6;");
	publish(hub, STREAM_FRAME, 1, 0, 7, "seven;");
	assert_string_equal(read_all(r, 100), "seven;");
	close_reader(r);
	stream_hub_free(hub);
}

static void what_left_the_history_is_counted(void **state)
{
	struct stream_hub *hub = new_hub();
	struct reader *r;

	(void)state;
	past.first = 10;
	past.last = 11;
	r = open_reader(hub, (struct stream_filter){.uid = HISTORY_ANY_UID,
						    .resume = true,
						    .resume_session = 1,
						    .resume_frame = 4});
	assert_string_equal(read_all(r, 1000),
			    "event: dropped\ndata: {\"missed\":5,\"reason\":\"evicted\"}\n\n"
			    "p10;p11;");
	close_reader(r);
	stream_hub_free(hub);
}

/* What a full queue has no room to say is added to what it says later. */
static void missed_frames_of_a_slow_client_add_up(void **state)
{
	struct stream_hub *hub = new_hub();
	struct reader *r = open_reader(hub, everything);
	char event[1001];
	unsigned i;

	(void)state;
	stream_miss(hub, 1, 0, 7);
	assert_string_equal(read_all(r, 100),
			    "event: dropped\ndata: {\"missed\":7,\"reason\":\"evicted\"}\n\n");
	memset(event, 'x', 1000);
	event[1000] = '\0';
	for (i = 0; i < STREAM_QUEUE_BYTES / 1000 + 5; i++)
		publish(hub, STREAM_FRAME, 1, 0, i + 1, event);
	stream_miss(hub, 1, 0, 100);
	assert_non_null(strstr(read_all(r, 5000), "data: {\"missed\":105,\"reason\":\"slow\"}\n"));
	close_reader(r);
	stream_hub_free(hub);
}

static void a_full_queue_still_takes_the_end(void **state)
{
	struct stream_hub *hub = new_hub();
	struct reader *r = open_reader(hub, everything);
	char event[1001];
	unsigned i;

	(void)state;
	memset(event, 'x', 1000);
	event[1000] = '\0';
	for (i = 0; i < STREAM_QUEUE_BYTES / 1000 + 5; i++)
		publish(hub, STREAM_FRAME, 1, 0, i + 1, event);
	publish(hub, STREAM_SESSION, 1, 0, 0, "the end;");
	assert_non_null(strstr(read_all(r, 5000), "the end;event: dropped\n"));
	/* But it is bounded, too. */
	for (i = 0; i < 3 * STREAM_QUEUE_BYTES / 1000; i++)
		publish(hub, STREAM_SESSION, 1, 0, 0, event);
	read_all(r, 5000);
	assert_true(r->count < 2 * STREAM_QUEUE_BYTES + 1000);
	close_reader(r);
	stream_hub_free(hub);
}

static void clients_have_a_limit(void **state)
{
	struct stream_hub *hub = new_hub();
	const struct stream_sleeper sleeper = {on_sleep, on_wake, is_gone, NULL};
	struct reader *readers[STREAM_CLIENTS_MAX];
	struct stream_client *more;
	unsigned i;

	(void)state;
	for (i = 0; i < STREAM_CLIENTS_MAX; i++)
		readers[i] = open_reader(hub, everything);
	assert_int_equal(stream_hub_clients(hub), STREAM_CLIENTS_MAX);
	assert_int_equal(stream_client_new(hub, &everything, &sleeper, &more), -EUSERS);
	close_reader(readers[0]);
	readers[0] = open_reader(hub, everything);
	for (i = 0; i < STREAM_CLIENTS_MAX; i++)
		close_reader(readers[i]);
	assert_int_equal(stream_hub_clients(hub), 0);
	stream_hub_free(hub);
}

static void one_user_leaves_places_to_others(void **state)
{
	struct stream_hub *hub = new_hub();
	const struct stream_sleeper sleeper = {on_sleep, on_wake, is_gone, NULL};
	const struct stream_filter theirs = {.uid = 1000}, others = {.uid = 1001};
	struct reader *readers[STREAM_CLIENTS_UID], *other, *owner;
	struct stream_client *more;
	unsigned i;

	(void)state;
	for (i = 0; i < STREAM_CLIENTS_UID; i++)
		readers[i] = open_reader(hub, theirs);
	assert_int_equal(stream_client_new(hub, &theirs, &sleeper, &more), -EUSERS);
	other = open_reader(hub, others);
	owner = open_reader(hub, everything);
	for (i = 0; i < STREAM_CLIENTS_UID; i++)
		close_reader(readers[i]);
	close_reader(other);
	close_reader(owner);
	stream_hub_free(hub);
}

static void a_closed_hub_ends_everyone(void **state)
{
	struct stream_hub *hub = new_hub();
	const struct stream_sleeper sleeper = {on_sleep, on_wake, is_gone, NULL};
	struct reader *r = open_reader(hub, everything);
	struct stream_client *more;
	char c;

	(void)state;
	read_all(r, 100);
	stream_hub_close(hub);
	assert_int_equal(r->wakes, 1);
	assert_int_equal(stream_client_read(r->client, &c, 1), -ESHUTDOWN);
	assert_int_equal(stream_client_new(hub, &everything, &sleeper, &more), -ESHUTDOWN);
	close_reader(r);
	stream_hub_free(hub);
}

static void silence_is_filled(void **state)
{
	struct stream_hub *hub = new_hub();
	struct reader *r = open_reader(hub, everything);

	(void)state;
	read_all(r, 100);
	stream_look(hub, false);
	assert_int_equal(r->wakes, 0);
	stream_look(hub, true);
	assert_int_equal(r->wakes, 1);
	assert_string_equal(read_all(r, 100), ":\n\n");
	close_reader(r);
	stream_hub_free(hub);
}

static void who_has_hung_up_is_let_go(void **state)
{
	struct stream_hub *hub = new_hub();
	struct reader *left = open_reader(hub, everything), *there = open_reader(hub, everything);
	char c;

	(void)state;
	read_all(left, 100);
	read_all(there, 100);
	left->gone = true;
	stream_look(hub, false);
	assert_int_equal(left->wakes, 1);
	assert_int_equal(there->wakes, 0);
	assert_int_equal(stream_client_read(left->client, &c, 1), -ESHUTDOWN);
	close_reader(left);
	close_reader(there);
	stream_hub_free(hub);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_come_once_and_in_order),
		cmocka_unit_test(sleep_and_wake_alternate),
		cmocka_unit_test(a_user_hears_only_its_own),
		cmocka_unit_test(a_slow_client_is_bounded_and_told),
		cmocka_unit_test(a_client_goes_on_where_it_stopped),
		cmocka_unit_test(nothing_falls_between_past_and_present),
		cmocka_unit_test(what_left_the_history_is_counted),
		cmocka_unit_test(missed_frames_of_a_slow_client_add_up),
		cmocka_unit_test(a_full_queue_still_takes_the_end),
		cmocka_unit_test(clients_have_a_limit),
		cmocka_unit_test(one_user_leaves_places_to_others),
		cmocka_unit_test(a_closed_hub_ends_everyone),
		cmocka_unit_test(silence_is_filled),
		cmocka_unit_test(who_has_hung_up_is_let_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
