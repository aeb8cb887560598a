// SPDX-License-Identifier: MIT
/*
 * A mode says how many pixels a second it sends and how many there are in a picture, blanks
 * included. Of each card the CRTCs that are on are asked: two ioctls that need no more than that
 * the device can be opened. Whoever opens a card first may become its master: it is given up at
 * once, as a compositor that starts at this moment would do without.
 *
 * Which display a game is on is not known: its pace is compared with all of them. A display of a
 * variable rate has its mode's as the highest.
 */
#include "displays.h"

#include "util.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libdrm/drm.h>
#include <math.h>
#include <string.h>
#include <sys/ioctl.h>

#define HZ_MIN	  20.0
#define HZ_MAX	  1000.0
#define CRTCS_MAX 32u
#define OF_MAX	  12u /* the largest denominator of a share of frames */

static bool add(struct displays *d, double hz)
{
	size_t i;

	if (!(hz >= HZ_MIN && hz <= HZ_MAX))
		return false;
	for (i = 0; i < d->count; i++)
		if (fabs(d->hz[i] - hz) < 0.005)
			return true;
	if (d->count == DISPLAYS_MAX)
		return false;
	d->hz[d->count++] = hz;
	return true;
}

int displays_parse(const char *text, struct displays *ret_displays)
{
	struct displays d = {.configured = true};
	char *end;
	size_t n;

	do {
		text += strspn(text, " \t");
		n = strspn(text, "0123456789."); /* strtod takes "nan" and "0x40" as well */
		if (n == 0 || n > 12 || !add(&d, strtod(text, &end)) || end != text + n)
			return -EINVAL;
		end += strspn(end, " \t");
		text = end + 1;
	} while (*end == ',');
	if (*end)
		return -EINVAL;
	*ret_displays = d;
	return 0;
}

void displays_format(const struct displays *displays, char *text, size_t size)
{
	size_t i, n = 0;

	text[0] = '\0';
	for (i = 0; i < displays->count && n < size; i++)
		n += (size_t)snprintf(text + n, size - n, i > 0 ? ", %.6g" : "%.6g",
				      displays->hz[i]);
}

/* ---- DRM ---- */

static double hz_of(const struct drm_mode_modeinfo *mode)
{
	double pixels = (double)mode->htotal * mode->vtotal;

	if (mode->flags & DRM_MODE_FLAG_INTERLACE)
		pixels /= 2;
	if (mode->flags & DRM_MODE_FLAG_DBLSCAN)
		pixels *= 2;
	if (mode->vscan > 1)
		pixels *= mode->vscan;
	return pixels > 0 ? mode->clock * 1000.0 / pixels : 0;
}

static void read_card(int fd, struct displays *d)
{
	uint32_t ids[CRTCS_MAX] = {0}, i;
	struct drm_mode_card_res card = {.crtc_id_ptr = (uintptr_t)ids, .count_crtcs = CRTCS_MAX};

	if (ioctl(fd, DRM_IOCTL_MODE_GETRESOURCES, &card) < 0)
		return;
	/* with more of them than that none was told */
	for (i = 0; card.count_crtcs <= CRTCS_MAX && i < card.count_crtcs; i++) {
		struct drm_mode_crtc crtc = {.crtc_id = ids[i]};

		if (ioctl(fd, DRM_IOCTL_MODE_GETCRTC, &crtc) == 0 && crtc.mode_valid)
			add(d, hz_of(&crtc.mode));
	}
}

static void why_not(struct displays *d, unsigned cards, int error, const char *path)
{
	if (cards == 0) {
		snprintf(d->why_not, sizeof(d->why_not),
			 "no DRM device is to be seen: there is none, or it is hidden from us "
			 "(PrivateDevices=yes, a container)");
	} else if (error == 0) {
		snprintf(d->why_not, sizeof(d->why_not), "no display is on");
	} else {
		snprintf(d->why_not, sizeof(d->why_not), "%.64s cannot be opened: %s", path,
			 strerror(error));
		d->denied = error == EACCES || error == EPERM;
	}
}

static void read_cards(const char *directory, struct displays *d)
{
	DIR *dir = opendir(directory);
	const struct dirent *entry;
	char path[128] = "", failed[128] = "";
	unsigned cards = 0;
	int fd, error = 0;

	while (dir && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, "card", 4) != 0)
			continue;
		cards++;
		snprintf(path, sizeof(path), "%.60s/%.60s", directory, entry->d_name);
		fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
		if (fd < 0) {
			error = errno;
			memcpy(failed, path, sizeof(failed));
			continue;
		}
		ioctl(fd, DRM_IOCTL_DROP_MASTER, 0);
		read_card(fd, d);
		close(fd);
	}
	if (dir)
		closedir(dir);
	if (d->count == 0)
		why_not(d, cards, error, failed);
}

void displays_read(const char *configured, const char *directory, struct displays *ret_displays)
{
	*ret_displays = (struct displays){0};
	if (!configured || displays_parse(configured, ret_displays) < 0)
		read_cards(directory, ret_displays);
}

/* ---- the pace of frames ---- */

/* The fraction of the smallest denominator that is near. */
static void to_fraction(double share, struct display_fit *fit)
{
	unsigned of;

	for (of = 2; of <= OF_MAX; of++) {
		double unseen = round(share * of);

		if (unseen < 1 || fabs(unseen / of - share) > DISPLAYS_NEAR / 2)
			continue;
		fit->unseen = (unsigned)unseen;
		fit->of = of;
		return;
	}
	fit->unseen = (unsigned)round(share * 100);
	fit->of = 100;
}

struct display_fit displays_fit(const struct displays *displays, int64_t usual_ns)
{
	struct display_fit fit = {.cadence_hz = usual_ns > 0 ? 1e9 / (double)usual_ns : 0};
	double best = DISPLAYS_NEAR, off, hz;
	unsigned n;
	size_t i;

	for (i = 0; i < displays->count && fit.cadence_hz > 0; i++) {
		hz = displays->hz[i];
		if (fit.refreshes == 0)
			fit.display_hz = MAX(fit.display_hz, hz);
		for (n = 1; n <= DISPLAYS_REFRESHES_MAX; n++) {
			off = fabs(fit.cadence_hz * n / hz - 1);
			if (off >= best)
				continue;
			best = off;
			fit.display_hz = hz;
			fit.refreshes = n;
		}
	}
	if (fit.refreshes == 0 && fit.display_hz > 0 && fit.cadence_hz > fit.display_hz)
		to_fraction(1 - fit.display_hz / fit.cadence_hz, &fit);
	return fit;
}
