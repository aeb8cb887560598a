// SPDX-License-Identifier: MIT
/*
 * Triggers as JSON. Written out, a trigger has all that it was given and all that was filled in, so
 * that a person who reads the reason of a spike sees what the machine saw. (A file of its own: the
 * names of json.h are jansson's too.)
 */
#include "json.h"
#include "trigger.h"
#include "util.h"

#include <math.h>

static void json_bounds(const struct trigger *t, struct json *out)
{
	bool time = trigger_is_time(t);

	if (!isnan(t->above))
		json_member_double(out, time ? "above_ms" : "above", t->above);
	if (t->times > 0) {
		json_member_double(out, "times_median", t->times);
		json_member_double(out, time ? "floor_ms" : "floor", t->floor);
	}
}

void trigger_json(const struct trigger *t, struct json *out)
{
	bool at_end = t->on == TRIGGER_EXIT;

	json_object_begin(out);
	json_member_string(out, "on", trigger_on_name(t->on));
	if (t->on == TRIGGER_ZONE || t->on == TRIGGER_WAIT)
		json_member_string(out, "of", trigger_of_names[t->of]);
	if (t->name)
		json_member_string(out, "name", t->name);
	if (t->contains)
		json_member_string(out, "contains", t->contains);
	json_member_string(out, "label", t->label);
	json_bounds(t, out);
	if (t->on == TRIGGER_NUMBER)
		json_member_uint(out, "number", t->number);
	if (t->on != TRIGGER_NUMBER && !at_end)
		json_member_uint(out, "warm_up", t->warm_up);
	json_member_uint(out, "before", t->before);
	if (!at_end) {
		json_member_uint(out, "after", t->after);
		json_member_uint(out, "cool_down_ms", t->cool_down_ns / NS_PER_MS);
		json_member_bool(out, "freeze", t->freeze);
	}
	json_member_uint(out, "keep", t->keep);
	json_object_end(out);
}

void trigger_list_json(const struct trigger_list *list, struct json *out)
{
	size_t i;

	json_array_begin(out);
	for (i = 0; i < list->count; i++)
		trigger_json(&list->at[i], out);
	json_array_end(out);
}
