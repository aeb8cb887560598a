/* SPDX-License-Identifier: MIT */
/* Bodies of requests, as handlers want them: parsed, or answered with what is wrong. */
#ifndef FPROF_DAEMON_API_BODY_H
#define FPROF_DAEMON_API_BODY_H

#include "api.h"
#include "body.h"

/* The request's body, whose members are among known (NULL-terminated). False after filling the
 * answer with what is wrong. */
bool api_body(const struct api_request *q, struct api_answer *a, const char *const *known,
	      struct body **ret_body);
static inline void api_body_release(struct body **body)
{
	body_free(*body);
}
#define _cleanup_body_ __attribute__((cleanup(api_body_release)))

/* The member session as the text that api_open_session_text takes: "current" where it is absent.
 * False after filling the answer. */
#define API_SESSION_TEXT 24
bool api_body_session(const struct body *body, struct api_answer *a, char text[API_SESSION_TEXT]);
/* 409: what has ended cannot be controlled. */
void api_fail_not_live(struct api_answer *a, uint64_t session);
/* 400 for a member of the body. */
void api_fail_member(struct api_answer *a, const char *member, const char *const *allowed);

#endif
