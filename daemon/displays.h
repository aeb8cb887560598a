/* SPDX-License-Identifier: MIT */
/*
 * How often the displays of this machine show a picture: by the modes that are set now (DRM), or as
 * configured, which counts instead. And how the pace of frames fits that. Any thread.
 */
#ifndef FPROF_DAEMON_DISPLAYS_H
#define FPROF_DAEMON_DISPLAYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DISPLAYS_CARDS	 "/dev/dri"
#define DISPLAYS_MAX	 16
#define DISPLAYS_ALLOWED "rates in Hz from 20 to 1000, at most 16, separated by commas"

struct displays {
	double hz[DISPLAYS_MAX];
	size_t count; /* 0: none is known, and why_not says why */
	bool configured;
	bool denied; /* to this user */
	char why_not[160];
};

/* "144" or "143.98, 60". 0, -EINVAL: not DISPLAYS_ALLOWED. */
int displays_parse(const char *text, struct displays *ret_displays);
/* The same back, for `text` of 256 bytes at least; "" where none is known. */
void displays_format(const struct displays *displays, char *text, size_t size);
/* configured: as above, NULL: none is; else the modes of the cards below directory
 * (DISPLAYS_CARDS). */
void displays_read(const char *configured, const char *directory, struct displays *ret_displays);

/* So far may the pace of frames be off a display's. */
#define DISPLAYS_NEAR 0.02
/* A display may show each frame so many times, when frames wait for it. */
#define DISPLAYS_REFRESHES_MAX 4u

struct display_fit {
	double cadence_hz;  /* of the frames; 0: not known */
	double display_hz;  /* the one that it fits, else the fastest; 0: none is known */
	unsigned refreshes; /* of that display a frame; 0: the pace fits none */
	/* More frames than pictures: so many of so many are never shown; 0: as far as can be told
	 * all are. */
	unsigned unseen, of;
};
/* usual_ns: what a frame usually takes. */
struct display_fit displays_fit(const struct displays *displays, int64_t usual_ns);

#endif
