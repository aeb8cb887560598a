// SPDX-License-Identifier: MIT
/*
 * Reading and judging. A trigger as JSON is an object of known members; which ones it may have
 * depends on `on`. The table of kinds below says so, the table of members says what each may be:
 * nothing else knows a member's name or range. A list is taken whole or not at all, and what is
 * wrong is told by the entry and the member.
 */
#include "trigger.h"

#include "util.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#define LIST_BYTES (256u * 1024u)

enum member {
	MEMBER_ON,
	MEMBER_OF,
	MEMBER_NAME,
	MEMBER_CONTAINS,
	MEMBER_LABEL,
	MEMBER_ABOVE_MS,
	MEMBER_ABOVE,
	MEMBER_TIMES,
	MEMBER_FLOOR_MS,
	MEMBER_FLOOR,
	MEMBER_NUMBER,
	MEMBER_WARM_UP,
	MEMBER_BEFORE,
	MEMBER_AFTER,
	MEMBER_COOL_DOWN,
	MEMBER_KEEP,
	MEMBER_FREEZE,
	MEMBERS
};

#define BIT(member) (1u << (member))
#define COMMON                                                                         \
	(BIT(MEMBER_ON) | BIT(MEMBER_LABEL) | BIT(MEMBER_BEFORE) | BIT(MEMBER_AFTER) | \
	 BIT(MEMBER_KEEP) | BIT(MEMBER_FREEZE) | BIT(MEMBER_COOL_DOWN))
#define TIMED                                                                      \
	(COMMON | BIT(MEMBER_WARM_UP) | BIT(MEMBER_ABOVE_MS) | BIT(MEMBER_TIMES) | \
	 BIT(MEMBER_FLOOR_MS))

static const char *const on_names[TRIGGER_KINDS + 1] = {
	[TRIGGER_FRAME] = "frame",
	[TRIGGER_CPU] = "cpu",
	[TRIGGER_GPU] = "gpu",
	[TRIGGER_WAIT] = "wait",
	[TRIGGER_ZONE] = "zone",
	[TRIGGER_COUNTER] = "counter",
	[TRIGGER_MESSAGE] = "message",
	[TRIGGER_APPEARANCE] = "first_appearance",
	[TRIGGER_NUMBER] = "frame_number",
	[TRIGGER_LOSS] = "lost_data",
	[TRIGGER_EXIT] = "exit_without_goodbye",
};

/* What each kind may have, must have, and of which it needs one. */
static const struct kind {
	unsigned members, needs, one_of;
	uint32_t warm_up;
} kinds[TRIGGER_KINDS] = {
	[TRIGGER_FRAME] = {TIMED, 0, BIT(MEMBER_ABOVE_MS) | BIT(MEMBER_TIMES), TRIGGER_WARM_UP},
	[TRIGGER_CPU] = {TIMED, 0, BIT(MEMBER_ABOVE_MS) | BIT(MEMBER_TIMES), TRIGGER_WARM_UP},
	[TRIGGER_GPU] = {TIMED, 0, BIT(MEMBER_ABOVE_MS) | BIT(MEMBER_TIMES), TRIGGER_WARM_UP},
	[TRIGGER_WAIT] = {TIMED | BIT(MEMBER_OF), 0, BIT(MEMBER_ABOVE_MS) | BIT(MEMBER_TIMES),
			  TRIGGER_WARM_UP},
	[TRIGGER_ZONE] = {TIMED | BIT(MEMBER_OF) | BIT(MEMBER_NAME), BIT(MEMBER_NAME),
			  BIT(MEMBER_ABOVE_MS) | BIT(MEMBER_TIMES), TRIGGER_WARM_UP},
	[TRIGGER_COUNTER] = {COMMON | BIT(MEMBER_WARM_UP) | BIT(MEMBER_NAME) | BIT(MEMBER_ABOVE) |
				     BIT(MEMBER_TIMES) | BIT(MEMBER_FLOOR),
			     BIT(MEMBER_NAME), BIT(MEMBER_ABOVE) | BIT(MEMBER_TIMES),
			     TRIGGER_WARM_UP},
	[TRIGGER_MESSAGE] = {COMMON | BIT(MEMBER_WARM_UP) | BIT(MEMBER_NAME) | BIT(MEMBER_CONTAINS),
			     0, 0, 0},
	[TRIGGER_APPEARANCE] = {COMMON | BIT(MEMBER_WARM_UP) | BIT(MEMBER_NAME), 0, 0,
				TRIGGER_WARM_UP},
	[TRIGGER_NUMBER] = {COMMON | BIT(MEMBER_NUMBER), BIT(MEMBER_NUMBER), 0, 0},
	[TRIGGER_LOSS] = {COMMON | BIT(MEMBER_WARM_UP) | BIT(MEMBER_ABOVE), 0, 0, 0},
	[TRIGGER_EXIT] = {COMMON &
				  ~(BIT(MEMBER_AFTER) | BIT(MEMBER_FREEZE) | BIT(MEMBER_COOL_DOWN)),
			  0, 0, 0},
};

enum form { FORM_ON, FORM_OF, FORM_TEXT, FORM_REAL, FORM_WHOLE, FORM_BOOL };

static const struct {
	const char *name;
	enum form form;
	double min, max;
} members[MEMBERS] = {
	[MEMBER_ON] = {"on", FORM_ON, 0, 0},
	[MEMBER_OF] = {"of", FORM_OF, 0, 0},
	[MEMBER_NAME] = {"name", FORM_TEXT, 1, TRIGGER_NAME_MAX},
	[MEMBER_CONTAINS] = {"contains", FORM_TEXT, 1, TRIGGER_NAME_MAX},
	[MEMBER_LABEL] = {"label", FORM_TEXT, 1, TRIGGER_NAME_MAX},
	[MEMBER_ABOVE_MS] = {"above_ms", FORM_REAL, 0, 3600000},
	[MEMBER_ABOVE] = {"above", FORM_REAL, -1e300, 1e300},
	[MEMBER_TIMES] = {"times_median", FORM_REAL, 1, 1000},
	[MEMBER_FLOOR_MS] = {"floor_ms", FORM_REAL, 0, 3600000},
	[MEMBER_FLOOR] = {"floor", FORM_REAL, -1e300, 1e300},
	[MEMBER_NUMBER] = {"number", FORM_WHOLE, 1, 9007199254740991},
	[MEMBER_WARM_UP] = {"warm_up", FORM_WHOLE, 0, 1000000},
	[MEMBER_BEFORE] = {"before", FORM_WHOLE, 0, TRIGGER_FRAMES_MAX},
	[MEMBER_AFTER] = {"after", FORM_WHOLE, 0, TRIGGER_FRAMES_MAX},
	[MEMBER_COOL_DOWN] = {"cool_down_ms", FORM_WHOLE, 0, 86400000},
	[MEMBER_KEEP] = {"keep", FORM_WHOLE, 1, TRIGGER_KEEP_MAX},
	[MEMBER_FREEZE] = {"freeze", FORM_BOOL, 0, 0},
};

const char *const trigger_of_names[] = {"total", "self",    "call", "all",
					"gpu",	 "present", "cap",  NULL};
static const char *const zone_of[] = {"total", "self", "call", NULL};
static const char *const wait_of[] = {"all", "gpu", "present", "cap", NULL};
static const char *const booleans[] = {"true", "false", NULL};

static int problem(struct trigger_problem *p, size_t entry, const char *member,
		   const char *const *allowed, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

static int problem(struct trigger_problem *p, size_t entry, const char *member,
		   const char *const *allowed, const char *format, ...)
{
	va_list ap;

	snprintf(p->where, sizeof(p->where), "[%zu]%s%.64s", entry, member ? "." : "",
		 member ? member : "");
	p->allowed = allowed;
	va_start(ap, format);
	vsnprintf(p->why, sizeof(p->why), format, ap);
	va_end(ap);
	return -EINVAL;
}

static size_t find_name(const char *const *names, const char *name)
{
	size_t i = 0;

	while (names[i] && strcmp(names[i], name) != 0)
		i++;
	return i;
}

const char *trigger_on_name(enum trigger_on on)
{
	return on_names[on];
}

bool trigger_is_time(const struct trigger *trigger)
{
	return trigger->on <= TRIGGER_ZONE;
}

/* ---- reading ---- */

static int take_of(struct trigger *t, size_t entry, const json_t *value, struct trigger_problem *p)
{
	const char *const *allowed = t->on == TRIGGER_ZONE ? zone_of : wait_of;
	const char *name = json_string_value(value);

	if (!name || !allowed[find_name(allowed, name)])
		return problem(p, entry, "of", allowed, "must be one of those that are allowed");
	t->of = (enum trigger_of)find_name(trigger_of_names, name);
	return 0;
}

static int take_text(char **text, enum member m, size_t entry, const json_t *value,
		     struct trigger_problem *p)
{
	size_t bytes = json_string_length(value), i;
	const char *at = json_string_value(value);

	if (!at || bytes < 1 || bytes > TRIGGER_NAME_MAX)
		return problem(p, entry, members[m].name, NULL, "must be a text of 1 to %u bytes",
			       TRIGGER_NAME_MAX);
	for (i = 0; i < bytes; i++)
		if (at[i] == '\0')
			return problem(p, entry, members[m].name, NULL, "must have no NUL in it");
	*text = strdup(at);
	return *text ? 0 : -ENOMEM;
}

static int take_number(double *number, enum member m, size_t entry, const json_t *value,
		       struct trigger_problem *p)
{
	bool whole = members[m].form == FORM_WHOLE;

	if (!(whole ? json_is_integer(value) : json_is_number(value)) ||
	    json_number_value(value) < members[m].min || json_number_value(value) > members[m].max)
		return problem(p, entry, members[m].name, NULL, "must be a %s from %.16g to %.16g",
			       whole ? "whole number" : "number", members[m].min, members[m].max);
	*number = json_number_value(value) + 0.0; /* -0 is 0: JSON has one of them as an integer */
	return 0;
}

static void set_number(struct trigger *t, enum member m, double v)
{
	switch (m) {
	case MEMBER_ABOVE_MS:
	case MEMBER_ABOVE:
		t->above = v;
		break;
	case MEMBER_TIMES:
		t->times = v;
		break;
	case MEMBER_FLOOR_MS:
	case MEMBER_FLOOR:
		t->floor = v;
		break;
	case MEMBER_NUMBER:
		t->number = (uint64_t)v;
		break;
	case MEMBER_WARM_UP:
		t->warm_up = (uint32_t)v;
		break;
	case MEMBER_BEFORE:
		t->before = (uint32_t)v;
		break;
	case MEMBER_AFTER:
		t->after = (uint32_t)v;
		break;
	case MEMBER_COOL_DOWN:
		t->cool_down_ns = (uint64_t)v * NS_PER_MS;
		break;
	default:
		t->keep = (uint32_t)v;
		break;
	}
}

static int take_member(struct trigger *t, enum member m, size_t entry, const json_t *value,
		       struct trigger_problem *p)
{
	double number = 0;
	int r;

	switch (members[m].form) {
	case FORM_ON:
		return 0;
	case FORM_OF:
		return take_of(t, entry, value, p);
	case FORM_TEXT:
		return take_text(m == MEMBER_NAME	? &t->name
				 : m == MEMBER_CONTAINS ? &t->contains
							: &t->label,
				 m, entry, value, p);
	case FORM_BOOL:
		if (!json_is_boolean(value))
			return problem(p, entry, members[m].name, booleans, "must be a boolean");
		t->freeze = json_is_true(value);
		return 0;
	default:
		r = take_number(&number, m, entry, value, p);
		if (r == 0)
			set_number(t, m, number);
		return r;
	}
}

static int take_on(struct trigger *t, size_t entry, const json_t *object, struct trigger_problem *p)
{
	const json_t *on = json_object_get(object, "on");
	const char *name = json_string_value(on);
	size_t kind = name ? find_name(on_names, name) : TRIGGER_KINDS;

	if (kind == TRIGGER_KINDS)
		return problem(p, entry, "on", on_names, on ? "is not known" : "is missing");
	t->on = (enum trigger_on)kind;
	return 0;
}

static void set_defaults(struct trigger *t, uint32_t keep)
{
	t->of = t->on == TRIGGER_WAIT ? TRIGGER_WAIT_ALL : TRIGGER_TOTAL;
	t->above = t->on == TRIGGER_LOSS ? 0 : (double)NAN;
	t->warm_up = kinds[t->on].warm_up;
	t->before = t->on == TRIGGER_EXIT ? TRIGGER_CRASH : TRIGGER_BEFORE;
	t->after = t->on == TRIGGER_EXIT ? 0 : TRIGGER_AFTER;
	t->cool_down_ns = t->on == TRIGGER_EXIT ? 0 : TRIGGER_COOL_DOWN * NS_PER_MS;
	t->keep = keep;
}

static unsigned find_member(const char *name)
{
	unsigned m = 0;

	while (m < MEMBERS && strcmp(members[m].name, name) != 0)
		m++;
	return m;
}

/* The names of a set of members, for a sentence. */
static void list_members(unsigned set, char *text, size_t size)
{
	size_t used = 0;
	unsigned m;

	text[0] = '\0';
	for (m = 0; m < MEMBERS; m++)
		if (set & BIT(m) && used < size)
			used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "",
						 members[m].name);
}

static int check_needs(const struct trigger *t, unsigned given, size_t entry,
		       struct trigger_problem *p)
{
	const struct kind *kind = &kinds[t->on];
	char names[256];

	if ((given & kind->needs) != kind->needs) {
		list_members(kind->needs & ~given, names, sizeof(names));
		return problem(p, entry, names, NULL, "is missing: '%s' needs it", on_names[t->on]);
	}
	if (kind->one_of && !(given & kind->one_of)) {
		list_members(kind->one_of, names, sizeof(names));
		return problem(p, entry, NULL, NULL, "'%s' needs one of %s", on_names[t->on],
			       names);
	}
	if (given & (BIT(MEMBER_FLOOR) | BIT(MEMBER_FLOOR_MS)) && !(given & BIT(MEMBER_TIMES)))
		return problem(p, entry, "times_median", NULL, "is missing: a floor is its");
	return 0;
}

/* Cuts text to what a label may have, between characters. */
static void cut_label(char *text)
{
	size_t n = strlen(text);

	if (n <= TRIGGER_NAME_MAX)
		return;
	n = TRIGGER_NAME_MAX;
	while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80)
		n--;
	text[n] = '\0';
}

/* "frame above 33 ms or above 3 times the median" */
static int make_label(struct trigger *t)
{
	static const char *const of[] = {"",	 " (self)",  " (one call)", "",
					 " gpu", " present", " cap"};
	char text[TRIGGER_NAME_MAX * 3], bound[128] = "";
	const char *unit = trigger_is_time(t) ? " ms" : "";
	int n = 0;

	if (!isnan(t->above) && t->on != TRIGGER_LOSS)
		n = snprintf(bound, sizeof(bound), " above %.6g%s", t->above, unit);
	if (t->times > 0)
		snprintf(bound + n, sizeof(bound) - (size_t)n, "%s above %.6g times the median",
			 n ? " or" : "", t->times);
	if (t->on == TRIGGER_NUMBER)
		snprintf(bound, sizeof(bound), " %llu", (unsigned long long)t->number);
	snprintf(text, sizeof(text), "%s%s%s%s%s%s%s", on_names[t->on], of[t->of],
		 t->name ? " " : "", t->name ? t->name : "", t->contains ? " with " : "",
		 t->contains ? t->contains : "", bound);
	cut_label(text);
	t->label = strdup(text);
	return t->label ? 0 : -ENOMEM;
}

static int parse_trigger(struct trigger *t, size_t entry, json_t *object, uint32_t keep,
			 struct trigger_problem *p)
{
	unsigned given = 0, m;
	const char *key;
	json_t *value;
	char names[320];
	int r;

	if (!json_is_object(object))
		return problem(p, entry, NULL, NULL, "must be an object");
	r = take_on(t, entry, object, p);
	if (r < 0)
		return r;
	set_defaults(t, keep);
	json_object_foreach(object, key, value)
	{
		m = find_member(key);
		if (m == MEMBERS || !(kinds[t->on].members & BIT(m))) {
			list_members(kinds[t->on].members, names, sizeof(names));
			return problem(p, entry, key, NULL, "is no member of '%s', which has %s",
				       on_names[t->on], names);
		}
		given |= BIT(m);
		r = take_member(t, (enum member)m, entry, value, p);
		if (r < 0)
			return r;
	}
	r = check_needs(t, given, entry, p);
	return r < 0 || t->label ? r : make_label(t);
}

static int parse_list(json_t *array, uint32_t keep, struct trigger_list **ret_list,
		      struct trigger_problem *p)
{
	size_t count = json_array_size(array), i;
	struct trigger_list *list;
	int r = 0;

	if (!json_is_array(array) || count > TRIGGERS_MAX) {
		snprintf(p->why, sizeof(p->why), "must be an array of at most %u triggers",
			 TRIGGERS_MAX);
		return -EINVAL;
	}
	list = calloc(1, sizeof(*list) + count * sizeof(list->at[0]));
	if (!list)
		return -ENOMEM;
	list->references = 1;
	list->count = count;
	for (i = 0; i < count && r == 0; i++)
		r = parse_trigger(&list->at[i], i, json_array_get(array, i), keep, p);
	if (r < 0) {
		trigger_list_unref(list);
		return r;
	}
	*ret_list = list;
	return 0;
}

int trigger_list_parse(const char *text, size_t bytes, uint32_t keep,
		       struct trigger_list **ret_list, struct trigger_problem *ret_problem)
{
	json_error_t error;
	json_t *array = NULL;
	int r;

	*ret_problem = (struct trigger_problem){0};
	if (bytes <= LIST_BYTES)
		array = json_loadb(text, bytes, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
	else
		snprintf(error.text, sizeof(error.text), "more than %u bytes", LIST_BYTES);
	if (!array) {
		snprintf(ret_problem->why, sizeof(ret_problem->why), "is no JSON: %.200s",
			 error.text);
		return -EINVAL;
	}
	r = parse_list(array, keep, ret_list, ret_problem);
	json_decref(array);
	return r;
}

struct trigger_list *trigger_list_ref(struct trigger_list *list)
{
	if (list)
		__atomic_add_fetch(&list->references, 1, __ATOMIC_RELAXED);
	return list;
}

void trigger_list_unref(struct trigger_list *list)
{
	size_t i;

	if (!list || __atomic_sub_fetch(&list->references, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	for (i = 0; i < list->count; i++) {
		free(list->at[i].name);
		free(list->at[i].contains);
		free(list->at[i].label);
	}
	free(list);
}

/* ---- judging ---- */

struct trigger_verdict trigger_judge(const struct trigger *t, double value, double median)
{
	struct trigger_verdict v = {.threshold = NAN};
	double relative = (double)NAN;

	if (t->times > 0 && !isnan(median))
		relative = MAX(t->times * median, t->floor);
	if (!isnan(t->above) && value > t->above)
		v = (struct trigger_verdict){t->above, true};
	else if (!isnan(relative) && value > relative)
		v = (struct trigger_verdict){relative, true};
	else
		v.threshold = fmin(t->above, relative);
	return v;
}
