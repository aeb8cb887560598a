/* SPDX-License-Identifier: MIT */
/* Rates of displays: as they are configured, as DRM tells them (a made one), and how frames fit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/displays.h"
#include "daemon/util.h"

#include <errno.h>
#include <libdrm/drm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The modes of the made card's CRTCs; clock 0: it is off. */
static struct drm_mode_modeinfo modes[3];
static bool has_modes;

/* Instead of libc's: files of these tests are cards. */
int ioctl(int fd, unsigned long request, ...)
{
	struct drm_mode_card_res *card;
	struct drm_mode_crtc *crtc;
	va_list args;
	void *arg;
	uint32_t i;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	switch (request) {
	case DRM_IOCTL_DROP_MASTER:
		return 0;
	case DRM_IOCTL_MODE_GETRESOURCES:
		card = arg;
		for (i = 0; i < 3 && i < card->count_crtcs; i++)
			((uint32_t *)(uintptr_t)card->crtc_id_ptr)[i] = 40 + i;
		card->count_crtcs = 3;
		return has_modes ? 0 : -1;
	case DRM_IOCTL_MODE_GETCRTC:
		crtc = arg;
		crtc->mode = modes[crtc->crtc_id - 40];
		crtc->mode_valid = crtc->mode.clock > 0;
		return 0;
	default:
		return (int)syscall(SYS_ioctl, fd, request, arg);
	}
}

static void texts_are_rates_or_refused(void **state)
{
	static const char *const good[] = {"60", "143.98, 60", "20,1000", " 59.94 , 144 "};
	static const char *const bad[] = {"",	  "abc",   "19.9",   "1001", "60;70",
					  "0x40", "60 70", "-60",    "nan",  "inf",
					  "1e2x", ",",	   "60,,70", "20, ", "60 Hz"};
	char many[256] = "20";
	struct displays d;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(good); i++)
		assert_int_equal(displays_parse(good[i], &d), 0);
	assert_int_equal(d.count, 2);
	assert_true(d.configured && d.hz[0] == 59.94 && d.hz[1] == 144);
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(displays_parse(bad[i], &d), -EINVAL);
	for (i = 1; i < DISPLAYS_MAX; i++)
		snprintf(many + strlen(many), sizeof(many) - strlen(many), ",%zu", 20 + i);
	assert_int_equal(displays_parse(many, &d), 0);
	assert_int_equal(d.count, DISPLAYS_MAX);
	strcat(many, ",900");
	assert_int_equal(displays_parse(many, &d), -EINVAL);
}

static void what_is_written_reads_back(void **state)
{
	struct displays d, back;
	char text[256];

	(void)state;
	assert_int_equal(displays_parse("143.98, 60", &d), 0);
	displays_format(&d, text, sizeof(text));
	assert_string_equal(text, "143.98, 60");
	assert_int_equal(displays_parse(text, &back), 0);
	assert_memory_equal(d.hz, back.hz, sizeof(d.hz));
	displays_format(&(struct displays){0}, text, sizeof(text));
	assert_string_equal(text, "");
}

static int setup(void **state)
{
	char *dir = strdup("/tmp/fprof-displays-XXXXXX");

	has_modes = true;
	memset(modes, 0, sizeof(modes));
	*state = dir;
	return dir && mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/card0", (char *)*state);
	unlink(path);
	rmdir(*state);
	free(*state);
	return 0;
}

/* A card, or a link to nowhere, which cannot be opened. */
static void make_card(const char *dir, bool opens)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/card0", dir);
	if (!opens) {
		assert_int_equal(symlink("/nowhere", path), 0);
		return;
	}
	f = fopen(path, "w");
	assert_non_null(f);
	fclose(f);
}

static void set_mode(unsigned i, uint32_t khz, uint16_t htotal, uint16_t vtotal, uint32_t flags)
{
	modes[i].clock = khz;
	modes[i].htotal = htotal;
	modes[i].vtotal = vtotal;
	modes[i].flags = flags;
}

static void modes_that_are_set_are_read(void **state)
{
	struct displays d;
	char text[256];

	make_card(*state, true);
	set_mode(0, 148500, 2200, 1125, 0);
	set_mode(2, 74250, 2200, 1125, DRM_MODE_FLAG_INTERLACE);
	displays_read(NULL, *state, &d);
	displays_format(&d, text, sizeof(text));
	assert_string_equal(text, "60"); /* both are 60 Hz, the third CRTC is off */
	assert_false(d.configured);
	set_mode(1, 586586, 2720, 1498, 0);
	displays_read(NULL, *state, &d);
	assert_int_equal(d.count, 2);
	assert_true(d.hz[1] > 143.9 && d.hz[1] < 144);
	displays_read("75", *state, &d);
	assert_int_equal(d.count, 1);
	assert_true(d.configured && d.hz[0] == 75);
}

static void without_rates_it_is_said_why(void **state)
{
	struct displays d;

	displays_read(NULL, "/nowhere", &d);
	assert_int_equal(d.count, 0);
	assert_string_equal(d.why_not,
			    "no DRM device is to be seen: there is none, or it is hidden "
			    "from us (PrivateDevices=yes, a container)");
	assert_false(d.denied);
	make_card(*state, false);
	displays_read(NULL, *state, &d);
	assert_non_null(strstr(d.why_not, "/card0 cannot be opened: No such file"));
	assert_false(d.denied);
	teardown(state);
	setup(state);
	make_card(*state, true);
	displays_read(NULL, *state, &d);
	assert_string_equal(d.why_not, "no display is on");
	has_modes = false;
	displays_read(NULL, *state, &d);
	assert_string_equal(d.why_not, "no display is on");
}

static void the_pace_of_frames_fits_or_not(void **state)
{
	static const struct {
		const char *displays;
		double fps, display;
		unsigned refreshes, unseen, of;
	} rows[] = {
		{"60", 60, 60, 1, 0, 0},	{"60", 59.94, 60, 1, 0, 0},
		{"60", 30, 60, 2, 0, 0},	{"60", 15, 60, 4, 0, 0},
		{"60", 12, 60, 0, 0, 0},	{"144", 97, 144, 0, 0, 0},
		{"144", 240, 144, 0, 2, 5},	{"60", 120, 60, 0, 1, 2},
		{"60", 240, 60, 0, 3, 4},	{"144, 60", 60, 60, 1, 0, 0},
		{"60, 144", 72, 144, 2, 0, 0},	{"60, 144", 240, 144, 0, 2, 5},
		{"60", 61, 60, 1, 0, 0},	{"60", 62, 60, 0, 3, 100},
		{"59.94, 60", 60, 60, 1, 0, 0},
	};
	struct display_fit fit;
	struct displays d;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(displays_parse(rows[i].displays, &d), 0);
		fit = displays_fit(&d, (int64_t)(1e9 / rows[i].fps));
		print_message("%g fps on %s\n", rows[i].fps, rows[i].displays);
		assert_true(fit.display_hz == rows[i].display);
		assert_int_equal(fit.refreshes, rows[i].refreshes);
		assert_int_equal(fit.unseen, rows[i].unseen);
		assert_int_equal(fit.of, rows[i].of);
	}
	fit = displays_fit(&(struct displays){0}, 16666667);
	assert_true(fit.display_hz == 0 && fit.refreshes == 0 && fit.unseen == 0);
	fit = displays_fit(&d, 0);
	assert_true(fit.cadence_hz == 0 && fit.refreshes == 0 && fit.unseen == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_are_rates_or_refused),
		cmocka_unit_test(what_is_written_reads_back),
		cmocka_unit_test_setup_teardown(modes_that_are_set_are_read, setup, teardown),
		cmocka_unit_test_setup_teardown(without_rates_it_is_said_why, setup, teardown),
		cmocka_unit_test(the_pace_of_frames_fits_or_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
