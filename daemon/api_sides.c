/* SPDX-License-Identifier: MIT */
/*
 * A number is a session, whatever captures are called. What is none is tried as a whole first: a
 * capture may have a comma in its name. Captures of a name are runs in the order in which they were
 * made.
 */
#include "api_sides.h"

#include "aggregate.h"
#include "captures.h"
#include "run_metrics.h"
#include "util.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_SHOWN 64u

void side_parts_free(side_parts_vec *parts)
{
	size_t i;

	for (i = 0; i < parts->count; i++)
		free(parts->at[i].text);
	VEC_FREE(parts);
}

int side_parts_add(side_parts_vec *parts, const struct side_part *part, const char *text,
		   size_t bytes)
{
	struct side_part copy = *part;

	copy.text = strndup(text, bytes);
	if (!copy.text)
		return -ENOMEM;
	if (VEC_PUSH(parts, copy) < 0) {
		free(copy.text);
		return -ENOMEM;
	}
	return 0;
}

/* All captures called name, as parts like model. Returns how many, or -ENOMEM. */
static int add_named(const captures_vec *captures, const char *name, size_t bytes,
		     const struct side_part *model, side_parts_vec *parts)
{
	int found = 0;
	size_t i;

	for (i = captures->count; i > 0; i--) {
		const struct capture *c = &captures->at[i - 1];
		struct side_part part = *model;

		if (!c->name || strlen(c->name) != bytes || memcmp(c->name, name, bytes) != 0)
			continue;
		part.session = c->session;
		if (side_parts_add(parts, &part, name, bytes) < 0)
			return -ENOMEM;
		found++;
	}
	return found;
}

/* The frames at the end of text, ":FROM-TO": true, and *ret_bytes is what stands before. */
static bool take_frames(const char *text, size_t *bytes, struct side_part *part)
{
	char digits[48], *dash;
	size_t at = *bytes;

	while (at > 0 && text[at - 1] != ':')
		at--;
	if (at < 2 || *bytes - at >= sizeof(digits))
		return false;
	memcpy(digits, text + at, *bytes - at);
	digits[*bytes - at] = '\0';
	dash = strchr(digits, '-');
	if (!dash)
		return false;
	*dash++ = '\0';
	if (route_number(digits, 1, INT64_MAX, &part->from) < 0 ||
	    route_number(dash, part->from, INT64_MAX, &part->to) < 0)
		return false;
	*bytes = at - 1;
	return true;
}

/* One element: how many parts it came to; 0: nobody is called so. */
static int add_element(const captures_vec *captures, const char *text, size_t bytes,
		       side_parts_vec *parts)
{
	struct side_part part = {0};
	char session[24];
	size_t rest = bytes;
	int r;

	if (!take_frames(text, &rest, &part))
		part.from = part.to = 0;
	if (rest < sizeof(session)) {
		memcpy(session, text, rest);
		session[rest] = '\0';
		if (route_session(session, &part.session) == 0)
			return side_parts_add(parts, &part, text, bytes) < 0 ? -ENOMEM : 1;
	}
	r = rest == bytes ? 0 : add_named(captures, text, rest, &part, parts);
	part = (struct side_part){0};
	return r != 0 ? r : add_named(captures, text, bytes, &part, parts);
}

static bool listed(const char *const *names, size_t count, const char *name)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

static void fail_unknown(struct api_answer *a, const char *parameter, const char *text,
			 size_t bytes, const captures_vec *captures)
{
	const char *names[NAMES_SHOWN + 2];
	struct api_problem problem = {404, "not-found", "There is no such thing", parameter, names};
	size_t i, n = 0;

	for (i = 0; i < captures->count && n < NAMES_SHOWN; i++)
		if (captures->at[i].name && !listed(names, n, captures->at[i].name))
			names[n++] = captures->at[i].name;
	names[n++] = "a session's number, or current; with :FROM-TO for some of its frames";
	names[n] = NULL;
	api_fail(a, &problem, "Nothing is called %.*s; allowed lists the names there are",
		 (int)MIN(bytes, 200u), text);
}

static void fail_memory(struct api_answer *a)
{
	api_fail_history(a, -ENOMEM, "list of runs");
}

static bool resolve(struct api_answer *a, const char *parameter, const char *text,
		    const captures_vec *captures, side_parts_vec *parts)
{
	static const char *const allowed[] = {"SESSION, SESSION:FROM-TO or a capture's name; "
					      "several are joined by commas",
					      "at most 256 runs", NULL};
	struct side_part whole = {0};
	const char *next;
	size_t bytes;
	int r = 0;

	if (strchr(text, ','))
		r = add_named(captures, text, strlen(text), &whole, parts);
	for (; r == 0; text = next) {
		bytes = strcspn(text, ",");
		next = text + bytes + 1;
		if (bytes == 0)
			break;
		r = add_element(captures, text, bytes, parts);
		if (r == 0) {
			fail_unknown(a, parameter, text, bytes, captures);
			return false;
		}
		if (r < 0 || parts->count > SIDE_PARTS_MAX || text[bytes] == '\0')
			break;
		r = 0;
	}
	if (r < 0)
		fail_memory(a);
	else if (r == 0 || parts->count > SIDE_PARTS_MAX)
		api_fail_parameter(a, parameter, text, allowed);
	return r > 0 && parts->count <= SIDE_PARTS_MAX;
}

bool api_side_resolve(const struct api *api, const struct api_request *q, struct api_answer *a,
		      const char *parameter, const char *text, side_parts_vec *ret_parts)
{
	__attribute__((cleanup(captures_vec_free))) captures_vec captures = {0};
	int r = captures_list(api->context->captures, q->uid, &captures);

	if (r < 0) {
		api_fail_history(a, r, "list of captures");
		return false;
	}
	return resolve(a, parameter, text, &captures, ret_parts);
}

static bool open_range(struct api_answer *a, const struct side_part *part, const char *stream,
		       struct api_part *p)
{
	struct range_query query = {.stream = stream,
				    .from = MAX(part->from, 1u),
				    .to = part->to ? part->to : INT64_MAX,
				    .last = part->last};
	int r = range_open(p->reader.history, p->session.row.id, &query, &p->range);

	if (r == 0)
		r = aggregate_is(p->reader.history, p->session.row.id);
	if (r < 0) {
		api_fail_history(a, r, "range of frames");
		return false;
	}
	p->aggregate = r > 0;
	p->missing = part->last ? 0 : run_frames_missing(&p->range, part->from, part->to);
	return true;
}

bool api_part_open(const struct api *api, const struct api_request *q, struct api_answer *a,
		   const struct side_part *part, const char *stream, struct api_part *ret_part)
{
	char id[24] = "current";

	memset(ret_part, 0, sizeof(*ret_part));
	if (part->session)
		snprintf(id, sizeof(id), "%llu", (unsigned long long)part->session);
	if (api_open_session_text(api, q, id, "session", a, &ret_part->reader,
				  &ret_part->session) &&
	    open_range(a, part, stream, ret_part))
		return true;
	api_part_close(ret_part);
	return false;
}

void api_part_close(struct api_part *part)
{
	range_close(&part->range);
	history_session_deinit(&part->session);
	api_reader_release(&part->reader);
	memset(part, 0, sizeof(*part));
}

struct run_identity api_part_identity(const struct api_part *part)
{
	const struct session_row *row = &part->session.row;

	return (struct run_identity){row->start_utc_ns, row->process_start, row->pid};
}

bool run_identity_same(const struct run_identity *a, const struct run_identity *b)
{
	return a->start_utc_ns == b->start_utc_ns && a->process_start == b->process_start &&
	       a->pid == b->pid;
}

int api_part_once(struct api_answer *a, const char *parameter, const struct side_part *asked,
		  const struct api_part *part, side_spans_vec *spans)
{
	static const char *const allowed[] = {"parts whose frames do not overlap", NULL};
	const struct api_problem twice = {400, "bad-parameter",
					  "A parameter has a value that is not allowed", parameter,
					  allowed};
	struct side_span span = {api_part_identity(part), part->range.first, part->range.last};
	size_t i;

	for (i = 0; i < spans->count; i++) {
		const struct side_span *one = &spans->at[i];

		if (!run_identity_same(&one->identity, &span.identity) || one->last < span.first ||
		    span.last < one->first)
			continue;
		if (one->first <= span.first && span.last <= one->last)
			return 0;
		api_fail(a, &twice,
			 "%.64s has frames %llu to %llu, and those from %llu to %llu were named "
			 "before",
			 asked->text, (unsigned long long)span.first, (unsigned long long)span.last,
			 (unsigned long long)one->first, (unsigned long long)one->last);
		return -EEXIST;
	}
	return VEC_PUSH(spans, span) < 0 ? -ENOMEM : 1;
}
