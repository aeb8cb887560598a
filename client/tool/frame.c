// SPDX-License-Identifier: MIT
/*
 * `fprof frame`: one frame's numbers, and for each thread the zones that took its time. The API
 * answers single zones; times by place are summed up here. Self time is what a zone spent outside
 * its children. In the total of a place a zone below another one of the same place does not count,
 * so that recursion is not counted twice.
 */
#include "ask.h"

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

static void place_cells(struct table *table, const char *thread, const struct place *place)
{
	bool waits = place->wait;

	table_cell(table, thread);
	table_printf(table, "%s%s%s%s", place->name, waits ? " (wait: " : "",
		     waits ? place->wait : "", waits ? ")" : "");
	if (place->line)
		table_printf(table, "%s:%lld", place->file[0] ? place->file : "-", place->line);
	else
		table_cell(table, place->file[0] ? place->file : "-");
	table_printf(table, "%.3f", place->self_ns / 1e6);
	table_printf(table, "%.3f", place->total_ns / 1e6);
	table_printf(table, "%lld", place->calls);
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

static int print_zones(const json_t *frame)
{
	static const char *const heads[] = {"<thread",	"<zone", "<where", "self ms",
					    "total ms", "calls", NULL};
	_cleanup_table_ struct table *table = table_new(heads);
	const json_t *threads = json_object_get(frame, "threads"), *thread;
	size_t i, zones = 0;

	if (!table)
		return TOOL_FAILED;
	json_array_foreach(threads, i, thread)
	{
		zones += json_array_size(json_object_get(thread, "zones"));
		thread_cells(table, thread);
	}
	putchar('\n');
	if (zones > 0)
		table_print(table);
	else if (answer_has_flag(frame, "events_evicted"))
		puts("its events have left the history to make room for newer ones");
	else
		puts("no zone was recorded in it");
	if (json_is_true(json_object_get(frame, "truncated")))
		puts("the deepest zones are left out: there are too many for one answer");
	return TOOL_OK;
}

/* What it was chosen from. */
static void print_slowest(const json_t *of)
{
	if (!of)
		return;
	printf("the slowest of frames %lld to %lld, whose events are kept",
	       answer_integer(of, "first"), answer_integer(of, "last"));
	if (answer_integer(of, "older") > 0)
		printf("; %lld older ones are not looked at: frames --sort wall has them",
		       answer_integer(of, "older"));
	putchar('\n');
}

static int print(const json_t *frame)
{
	_cleanup_json_ json_t *row = json_pack("[O]", frame);
	int r = answer_print_frames(row);

	if (r == TOOL_OK)
		r = print_zones(frame);
	print_slowest(json_object_get(frame, "slowest_of"));
	return r;
}

static int check_frame(const char *text)
{
	if (strcmp(text, "slowest") == 0 || strcmp(text, "latest") == 0)
		return TOOL_OK;
	if (text[0] && text[0] != '0' && strspn(text, "0123456789") == strlen(text))
		return TOOL_OK;
	return tool_usage("frame takes a frame's number, 'slowest' or 'latest', not '%s'", text);
}

int tool_frame(const struct tool_options *options, int argc, char **argv)
{
	_cleanup_free_ char *what = NULL;
	_cleanup_ask_ struct ask ask = {0};
	const char *frame;
	int r = ask_options(&ask, "stream", NULL, &argc, argv);

	if (r != TOOL_OK)
		return r;
	if (argc < 2)
		return tool_usage("frame takes a frame's number, 'slowest' or 'latest'");
	frame = argv[--argc];
	r = check_frame(frame);
	if (r == TOOL_OK)
		r = ask_parse(&ask, "", NULL, argc, argv);
	if (r != TOOL_OK)
		return r;
	if (asprintf(&what, "frames/%s", frame) < 0) {
		what = NULL;
		return TOOL_FAILED;
	}
	return answer_ask(options, "GET", ask_path(&ask, what), NULL, print);
}
