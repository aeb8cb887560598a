/* SPDX-License-Identifier: MIT */
/*
 * The runs that a comparison or a check names in a parameter:
 *
 *   SESSION             a session's or capture's number, or `current`
 *   SESSION:FROM-TO     frames of it
 *   NAME, NAME:FROM-TO  captures of that name, snapshots among them; each is a run
 *
 * several of them joined by commas. What comes from one start of a game is one run, however often
 * it is named: its frames are alike. Any thread.
 */
#ifndef FPROF_DAEMON_API_SIDES_H
#define FPROF_DAEMON_API_SIDES_H

#include "api.h"
#include "range.h"

#define SIDE_PARTS_MAX 256u

struct side_part {
	uint64_t session;	 /* 0: current */
	uint64_t from, to, last; /* frames; last > 0: the last so many; else 0: an open end */
	char *text;		 /* as it was asked for */
};
typedef VEC(struct side_part) side_parts_vec;
void side_parts_free(side_parts_vec *parts);

/* One part by itself, which parts then own. 0 or -ENOMEM. */
int side_parts_add(side_parts_vec *parts, const struct side_part *part, const char *text,
		   size_t bytes);

/* Finds what text names. False after filling the answer: 404 with the names that there are, 400. */
bool api_side_resolve(const struct api *api, const struct api_request *q, struct api_answer *a,
		      const char *parameter, const char *text, side_parts_vec *ret_parts);

/* An open part: its session, and the range of its frames. */
struct api_part {
	struct api_reader reader;
	struct history_session session;
	struct range range;
	bool aggregate;	  /* it holds sums, no events */
	uint64_t missing; /* frames asked for by number, and between them, that are not there */
};
/* stream NULL: main. False after filling the answer. api_part_close when true. */
bool api_part_open(const struct api *api, const struct api_request *q, struct api_answer *a,
		   const struct side_part *part, const char *stream, struct api_part *ret_part);
void api_part_close(struct api_part *part);

/* Who a run was: the same for captures of it, wherever they were taken. */
struct run_identity {
	uint64_t start_utc_ns, process_start;
	int32_t pid;
};
struct run_identity api_part_identity(const struct api_part *part);
bool run_identity_same(const struct run_identity *a, const struct run_identity *b);

/* The frames that one side has so far: none is counted twice, however often it is named. */
struct side_span {
	struct run_identity identity;
	uint64_t first, last;
};
typedef VEC(struct side_span) side_spans_vec;
/* 1: the part's frames are new, and taken; 0: all of them were there. -EEXIST after filling the
 * answer (400): some were. -ENOMEM. */
int api_part_once(struct api_answer *a, const char *parameter, const struct side_part *asked,
		  const struct api_part *part, side_spans_vec *spans);

#endif
