/* SPDX-License-Identifier: MIT */
/*
 * What the kernel told of a thread and sampled stacks, as they stand in a file that anybody may
 * have written. Whatever the bytes are, what is read keeps what the headers promise.
 */
#include "daemon/sched_log.h"
#include "daemon/stack_log.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void promise(bool kept)
{
	if (!kept)
		abort();
}

/* Intervals touch, and are of a state and a reason that there are. */
static void read_schedule(const uint8_t *data, size_t size)
{
	struct sched_reader reader;
	struct sched_interval one;
	int64_t last = INT64_MIN;

	if (sched_reader_init(&reader, data, size, 0) < 0)
		return;
	while (sched_reader_next(&reader, &one) == 1) {
		promise(one.t0 <= one.t1);
		promise(last == INT64_MIN || one.t0 == last);
		promise(one.state < SCHED_STATES && one.reason < WAIT_REASONS);
		last = one.t1;
	}
}

/* Numbers were all given before, and a name lies in the bytes. */
static void read_stacks(const uint8_t *data, size_t size)
{
	uint32_t threads = 0, modules = 0, frames = 0;
	struct stack_reader reader;
	struct stack_record one;
	int64_t last = 0;

	if (stack_reader_init(&reader, data, size, 0) < 0)
		return;
	while (stack_reader_next(&reader, &one) == 1) {
		promise(one.t >= last);
		last = one.t;
		if (one.kind == STACK_THREAD) {
			threads++;
			promise((const uint8_t *)one.name >= data &&
				(const uint8_t *)one.name + one.name_bytes <= data + size);
		} else if (one.kind == STACK_MODULE) {
			modules++;
		} else if (one.kind == STACK_FRAME) {
			promise(one.frame.caller <= frames && one.frame.module <= modules);
			frames++;
		} else if (one.kind == STACK_SAMPLE) {
			promise(one.thread <= threads && one.innermost <= frames);
		}
		promise(threads <= STACK_THREADS_MAX && modules <= STACK_MODULES_MAX &&
			frames <= STACK_FRAMES_MAX);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	read_schedule(data, size);
	read_stacks(data, size);
	return 0;
}
