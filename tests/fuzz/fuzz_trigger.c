/* SPDX-License-Identifier: MIT */
/* A list of triggers: what is taken lies in its ranges, and what is written of it reads the same;
 * what is not taken says why. */
#include "daemon/json.h"
#include "daemon/trigger.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
	if (!condition)
		abort();
}

static void check_ranges(const struct trigger *t)
{
	require(t->on < TRIGGER_KINDS && t->label && strlen(t->label) <= TRIGGER_NAME_MAX);
	require(t->keep >= 1 && t->keep <= TRIGGER_KEEP_MAX);
	require(t->before <= TRIGGER_FRAMES_MAX && t->after <= TRIGGER_FRAMES_MAX);
	require(t->times >= 0 && t->times <= 1000 && isfinite(t->floor));
	require(isnan(t->above) || isfinite(t->above));
	require(t->on != TRIGGER_ZONE || t->name);
	trigger_judge(t, 1, NAN);
	trigger_judge(t, 1e300, 1e300);
}

static char *written(const struct trigger_list *list)
{
	struct json j = {0};

	trigger_list_json(list, &j);
	json_bytes(&j, "", 1);
	require(!j.failed);
	return j.at;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trigger_list *list = NULL, *again = NULL;
	struct trigger_problem problem;
	char *text, *second;
	size_t i;
	int r = trigger_list_parse((const char *)data, size, 8, &list, &problem);

	if (r < 0) {
		require(r == -EINVAL && problem.why[0]);
		return 0;
	}
	require(list->count <= TRIGGERS_MAX);
	for (i = 0; i < list->count; i++)
		check_ranges(&list->at[i]);
	text = written(list);
	require(trigger_list_parse(text, strlen(text), 8, &again, &problem) == 0);
	second = written(again);
	require(strcmp(text, second) == 0);
	free(text);
	free(second);
	trigger_list_unref(list);
	trigger_list_unref(again);
	return 0;
}
