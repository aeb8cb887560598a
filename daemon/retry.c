/* SPDX-License-Identifier: MIT */
/* What ends over and over again soon after it began is a failure like one that never began. */
#include "retry.h"

#include "util.h"

bool retry_is_due(const struct retry *retry, uint64_t now)
{
	return now >= retry->at;
}

void retry_serves(struct retry *retry, uint64_t now)
{
	retry->served = now;
}

void retry_later(struct retry *retry, uint64_t now)
{
	bool served = retry->served && now - retry->served >= RETRY_MAX_NS;

	retry->wait_ns =
		served ? RETRY_MIN_NS : MIN(MAX(2 * retry->wait_ns, RETRY_MIN_NS), RETRY_MAX_NS);
	retry->at = now + retry->wait_ns;
	retry->served = 0;
}
