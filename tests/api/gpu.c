/* SPDX-License-Identifier: MIT */
/*
 * A game whose GPU results come when it is told to: frame 1's two frames late, one of frame 2's two
 * never. A line on stdin says go on.
 */
#include <fprof.h>
#include <stdio.h>

static void deliver(uint32_t queue, uint64_t frame, uint64_t submission, uint64_t begin,
		    uint64_t end)
{
	struct fprof_gpu_result result = {
		.name = "pass",
		.queue = queue,
		.begin = begin,
		.end = end,
		.frame = frame,
		.submission = submission,
	};

	fprof_gpu_span(&result);
}

int main(void)
{
	uint32_t queue = fprof_gpu_queue("graphics", 1.0, 64);
	int i;

	fprof_gpu_calibrate(queue, 1000, fprof_ticks());
	fprof_gpu_submit(queue, 0, 1, fprof_frame_number());
	fprof_frame_mark();
	fprof_gpu_submit(queue, 0, 2, fprof_frame_number());
	fprof_gpu_submit(queue, 0, 3, fprof_frame_number());
	fprof_frame_mark();
	if (getchar() != '\n')
		return 1;
	deliver(queue, 1, 1, 2000, 52000);
	deliver(queue, 2, 2, 60000, 90000);
	for (i = 0; i < 12; i++)
		fprof_frame_mark();
	return getchar() != '\n';
}
