/* SPDX-License-Identifier: MIT */
/* The note of an open spike, as another daemon or another hand may have left it: what is taken is
 * bounded, and is written as it was read. */
#include "daemon/spikes_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
	if (!condition)
		abort();
}

static void check(const struct open_spike *s)
{
	const struct spike_found found = {.missing_before = 1, .worst = 2, .why = "missing"};
	char *reason = spikes_reason(s, &found), *label, *game;

	require(s->fired.count >= 1 && s->fired.count <= SPIKES_FIRED_MAX);
	require(s->session > 0 && s->last <= s->first + 1000000);
	require(s->keep >= 1 && s->keep <= TRIGGER_KEEP_MAX);
	require(reason != NULL);
	spikes_reason_names(reason, &label, &game);
	require(label != NULL);
	free(reason);
	free(label);
	free(game);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct open_spike *s = NULL, *again = NULL;
	char *text = malloc(size + 1), *written, *second;
	int r;

	require(text != NULL);
	memcpy(text, data, size);
	text[size] = '\0';
	r = spikes_note_parse(text, &s);
	spikes_reason_names(text, &written, &second);
	free(written);
	free(second);
	free(text);
	if (r < 0) {
		require(r == -EBADMSG);
		return 0;
	}
	check(s);
	written = spikes_note_text(s);
	require(written && spikes_note_parse(written, &again) == 0);
	second = spikes_note_text(again);
	require(second && strcmp(written, second) == 0);
	free(written);
	free(second);
	open_spike_free(s);
	open_spike_free(again);
	return 0;
}
