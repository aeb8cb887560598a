// SPDX-License-Identifier: MIT
/*
 * `fprof frame`: one frame's numbers, and for each thread the zones that took its time. The API
 * answers single zones; times by place are summed up here. Self time is what a zone spent outside
 * its children. In the total of a place a zone below another one of the same place does not count,
 * so that recursion is not counted twice.
 */
#include "answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOP 5

/* All zones of one name and place on one thread. */
struct place {
	const char *name, *wait, *file;
	json_int_t line;
	double self_ns, total_ns;
	json_int_t calls;
};

struct places {
	struct place *at;
	size_t count;
};

static bool is_of(const struct place *place, const json_t *zone)
{
	const char *name = json_string_value(json_object_get(zone, "name"));
	const char *file = json_string_value(json_object_get(zone, "file"));

	return json_integer_value(json_object_get(zone, "line")) == place->line &&
	       strcmp(name ? name : "", place->name) == 0 &&
	       strcmp(file ? file : "", place->file) == 0;
}

/* at has room for one more. */
static size_t place_of(struct places *places, const json_t *zone)
{
	const char *name = json_string_value(json_object_get(zone, "name"));
	const char *file = json_string_value(json_object_get(zone, "file"));
	size_t i;

	for (i = 0; i < places->count; i++) {
		if (is_of(&places->at[i], zone))
			return i;
	}
	places->at[places->count] = (struct place){
		.name = name ? name : "",
		.wait = json_string_value(json_object_get(zone, "wait")),
		.file = file ? file : "",
		.line = json_integer_value(json_object_get(zone, "line")),
	};
	return places->count++;
}

/* The zone that contains zone i; -1: none. Parents come before their children. */
static json_int_t parent_of(const json_t *zones, json_int_t i)
{
	const json_t *parent = json_object_get(json_array_get(zones, (size_t)i), "parent");

	return json_is_integer(parent) && json_integer_value(parent) < i
		       ? json_integer_value(parent)
		       : -1;
}

static bool is_recursive(const json_t *zones, const size_t *owner, json_int_t i)
{
	json_int_t above;

	for (above = parent_of(zones, i); above >= 0; above = parent_of(zones, above)) {
		if (owner[above] == owner[i])
			return true;
	}
	return false;
}

/* owner: for each zone its place. */
static void add_times(struct places *places, const json_t *zones, const size_t *owner)
{
	const json_t *zone;
	size_t i;

	json_array_foreach(zones, i, zone)
	{
		double ns = json_number_value(json_object_get(zone, "duration_ns"));
		json_int_t parent = parent_of(zones, (json_int_t)i);
		struct place *place = &places->at[owner[i]];

		place->calls++;
		place->self_ns += ns;
		if (parent >= 0)
			places->at[owner[parent]].self_ns -= ns;
		if (!is_recursive(zones, owner, (json_int_t)i))
			place->total_ns += ns;
	}
}

static int by_self(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return (x->self_ns < y->self_ns) - (x->self_ns > y->self_ns);
}

static void ms_cell(struct table *table, double ns)
{
	char text[48];

	snprintf(text, sizeof(text), "%.3f", ns / 1e6);
	table_cell(table, text);
}

static void place_cells(struct table *table, const char *thread, const struct place *place)
{
	_cleanup_free_ char *name = NULL, *where = NULL;
	json_t *calls = json_integer(place->calls);

	if (asprintf(&name, "%s%s%s%s", place->name, place->wait ? " (wait: " : "",
		     place->wait ? place->wait : "", place->wait ? ")" : "") < 0)
		name = NULL;
	if (asprintf(&where, place->line ? "%s:%lld" : "%s", place->file[0] ? place->file : "-",
		     (long long)place->line) < 0)
		where = NULL;
	table_cell(table, thread);
	table_cell(table, name ? name : "");
	table_cell(table, where ? where : "");
	ms_cell(table, place->self_ns);
	ms_cell(table, place->total_ns);
	table_integer(table, calls);
	json_decref(calls);
}

static void thread_cells(struct table *table, const json_t *thread)
{
	const json_t *zones = json_object_get(thread, "zones"), *zone;
	size_t count = json_array_size(zones), i;
	_cleanup_free_ size_t *owner = calloc(count + 1, sizeof(*owner));
	_cleanup_free_ struct place *at = calloc(count + 1, sizeof(*at));
	struct places places = {at, 0};

	if (!owner || !at)
		return;
	json_array_foreach(zones, i, zone)
	{
		owner[i] = place_of(&places, zone);
	}
	add_times(&places, zones, owner);
	qsort(at, places.count, sizeof(*at), by_self);
	for (i = 0; i < places.count && i < TOP; i++)
		place_cells(table, answer_text(thread, "name"), &at[i]);
}

static bool has_flag(const json_t *frame, const char *name)
{
	const json_t *flag;
	size_t i;

	json_array_foreach(json_object_get(frame, "flags"), i, flag)
	{
		if (json_string_value(flag) && strcmp(json_string_value(flag), name) == 0)
			return true;
	}
	return false;
}

static void print_zones(const json_t *frame)
{
	static const char *const heads[] = {"<thread",	"<zone", "<where", "self ms",
					    "total ms", "calls", NULL};
	_cleanup_table_ struct table *table = table_new(heads);
	const json_t *threads = json_object_get(frame, "threads"), *thread;
	size_t i, zones = 0;

	if (!table)
		return;
	json_array_foreach(threads, i, thread)
	{
		zones += json_array_size(json_object_get(thread, "zones"));
		thread_cells(table, thread);
	}
	putchar('\n');
	if (zones > 0)
		table_print(table);
	else if (has_flag(frame, "events_evicted"))
		puts("its events have left the history to make room for newer ones");
	else
		puts("no zone was recorded in it");
	if (json_is_true(json_object_get(frame, "truncated")))
		puts("the deepest zones are left out: there are too many for one answer");
}

struct frame_query {
	const char *session, *frame, *stream;
};

static int check_frame(const char *text)
{
	if (strcmp(text, "slowest") == 0 || strcmp(text, "latest") == 0)
		return TOOL_OK;
	if (text[0] && text[0] != '0' && strspn(text, "0123456789") == strlen(text))
		return TOOL_OK;
	return tool_usage("frame takes a frame's number, 'slowest' or 'latest', not '%s'", text);
}

static int parse(struct frame_query *query, int argc, char **argv)
{
	int i, r;

	*query = (struct frame_query){.session = NULL};
	for (i = 1; i < argc; i++) {
		const char *argument = argv[i];
		int taken = tool_option(argc, argv, &i, "--stream", &query->stream);

		if (taken < 0)
			return tool_usage("%s needs a value", argument);
		if (taken > 0)
			continue;
		if (argument[0] == '-' || query->session)
			return tool_usage("frame does not know '%s'", argument);
		query->session = query->frame;
		query->frame = argument;
	}
	if (!query->frame)
		return tool_usage("frame takes a frame's number, 'slowest' or 'latest'");
	r = check_frame(query->frame);
	if (!query->session)
		query->session = "current";
	return r == TOOL_OK ? answer_check_session(query->session) : r;
}

int tool_frame(const struct tool_options *options, int argc, char **argv)
{
	_cleanup_json_ json_t *frame = NULL, *row = NULL;
	_cleanup_free_ char *path = NULL, *stream = NULL;
	struct frame_query query;
	int r = parse(&query, argc, argv);

	if (r != TOOL_OK)
		return r;
	stream = api_escape(query.stream ? query.stream : "");
	if (!stream || asprintf(&path, "/api/v1/sessions/%s/frames/%s%s%s", query.session,
				query.frame, query.stream ? "?stream=" : "", stream) < 0)
		return TOOL_FAILED;
	r = answer_get(options, path, &frame);
	if (r != TOOL_OK)
		return r;
	if (options->json)
		return answer_print(frame);
	row = json_pack("[O]", frame);
	answer_print_frames(row);
	print_zones(frame);
	return TOOL_OK;
}
