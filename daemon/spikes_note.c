// SPDX-License-Identifier: MIT
/*
 * A spike as text: its note in fprofd.db, by which the next daemon finishes it, and the reason that
 * people read. A note was written by a daemon, but perhaps by another version or another hand: what
 * makes no sense is refused.
 */
#include "spikes_impl.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

static void json_freep(json_t **json)
{
	json_decref(*json);
}
#define _cleanup_json_ __attribute__((cleanup(json_freep)))

/* The objects of all firings; NULL: no memory. */
static json_t *fired_array(const struct open_spike *spike)
{
	json_t *array = json_array();
	size_t i;

	for (i = 0; array && i < spike->fired.count; i++)
		if (json_array_append_new(array, json_loads(spike->fired.at[i], 0, NULL)) < 0) {
			json_decref(array);
			return NULL;
		}
	return array;
}

static char *dump(const json_t *json)
{
	return json ? json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(15)) : NULL;
}

char *spikes_note_text(const struct open_spike *s)
{
	_cleanup_json_ json_t *json =
		json_pack("{s:I, s:I, s:I, s:I, s:i, s:b, s:b, s:b, s:I, s:I, s:s, s:b, s:o}",
			  "session", (json_int_t)s->session, "frame", (json_int_t)s->frame, "first",
			  (json_int_t)s->first, "last", (json_int_t)s->last, "keep", (int)s->keep,
			  "freeze", s->freeze, "end", s->end, "crashed", s->crashed, "more",
			  (json_int_t)s->more, "interim", (json_int_t)s->interim, "why", s->why,
			  "failed", s->failed, "fired", fired_array(s));

	if (json && s->uid != HISTORY_ANY_UID)
		json_object_set_new(json, "uid", json_integer(s->uid));
	return dump(json);
}

static bool take_fired(struct open_spike *s, json_t *array)
{
	size_t i;

	if (!json_is_array(array) || json_array_size(array) > SPIKES_FIRED_MAX)
		return false;
	for (i = 0; i < json_array_size(array); i++) {
		json_t *one = json_array_get(array, i);
		char *text = json_is_object(one) ? dump(one) : NULL;

		if (!text || VEC_PUSH(&s->fired, text) < 0) {
			free(text);
			return false;
		}
	}
	return s->fired.count > 0;
}

int spikes_note_parse(const char *text, struct open_spike **ret_spike)
{
	_cleanup_json_ json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	json_int_t session = 0, frame = 0, first = 0, last = 0, keep = 0, more = 0, interim = 0,
		   uid = HISTORY_ANY_UID;
	int freeze = 0, end = 0, crashed = 0, failed = 0;
	struct open_spike *s = calloc(1, sizeof(*s));
	const char *why = "";
	json_t *fired = NULL;

	if (!s)
		return -ENOMEM;
	if (!json ||
	    json_unpack(json,
			"{s:I, s:I, s:I, s:I, s:I, s:b, s:b, s:b, s:I, s:I, s:s, s:b, s:o, s?I}",
			"session", &session, "frame", &frame, "first", &first, "last", &last,
			"keep", &keep, "freeze", &freeze, "end", &end, "crashed", &crashed, "more",
			&more, "interim", &interim, "why", &why, "failed", &failed, "fired", &fired,
			"uid", &uid) < 0 ||
	    session < 1 || frame < 0 || first < 0 || last < 0 || last - first > 1000000 ||
	    keep < 1 || keep > TRIGGER_KEEP_MAX || more < 0 || interim < 0 || uid < 0 ||
	    uid > UINT32_MAX || !take_fired(s, fired)) {
		open_spike_free(s);
		return -EBADMSG;
	}
	s->session = (uint64_t)session;
	s->frame = (uint64_t)frame;
	s->first = (uint64_t)first;
	s->last = (uint64_t)last;
	s->keep = (uint32_t)keep;
	s->more = (uint64_t)more;
	s->interim = (uint64_t)interim;
	s->uid = (uint32_t)uid;
	s->freeze = freeze;
	s->end = end;
	s->crashed = crashed;
	s->failed = failed;
	snprintf(s->why, sizeof(s->why), "%s", why);
	*ret_spike = s;
	return 0;
}

char *spikes_label(const struct open_spike *spike)
{
	_cleanup_json_ json_t *first = json_loads(spike->fired.at[0], 0, NULL);
	const char *label =
		json_string_value(json_object_get(json_object_get(first, "trigger"), "label"));

	return strdup(label ? label : "");
}

static void set_found(json_t *json, const struct spike_found *found)
{
	if (found->worst > 0)
		json_object_set_new(json, "worst",
				    json_pack("{s:I, s:f}", "frame", (json_int_t)found->worst,
					      "wall_ms", (double)found->worst_ns / NS_PER_MS));
	if (found->why[0])
		json_object_set_new(json, "missing",
				    json_pack("{s:I, s:I, s:s}", "before",
					      (json_int_t)found->missing_before, "after",
					      (json_int_t)found->missing_after, "why", found->why));
}

char *spikes_reason(const struct open_spike *spike, const struct spike_found *found)
{
	_cleanup_free_ char *label = spikes_label(spike);
	_cleanup_json_ json_t *json = NULL;

	if (!label)
		return NULL;
	json = json_pack("{s:s, s:s?, s:I, s:I, s:o}", "label", label, "game", spike->game, "frame",
			 (json_int_t)spike->frame, "more", (json_int_t)spike->more, "fired",
			 fired_array(spike));
	if (json && found)
		set_found(json, found);
	return dump(json);
}

void spikes_reason_names(const char *reason, char **ret_label, char **ret_game)
{
	_cleanup_json_ json_t *json = reason ? json_loads(reason, 0, NULL) : NULL;
	const char *label = json_string_value(json_object_get(json, "label"));
	const char *game = json_string_value(json_object_get(json, "game"));

	*ret_label = label ? strdup(label) : NULL;
	*ret_game = game ? strdup(game) : NULL;
}
