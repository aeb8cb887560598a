// SPDX-License-Identifier: MIT
/* ends return|exit|quick|exec: ends in some way while eight threads record as fast as they can. */
#include <fprof.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint32_t running;

static void *record_for_ever(void *unused)
{
	FPROF_ADD_RELAXED(&running, 1u);
	for (;;) {
		FPROF_ZONE("for ever");
		FPROF_COUNTER_ADD_I64("count", FPROF_UNIT_COUNT, 1);
	}
	return unused;
}

__attribute__((destructor)) static void late(void)
{
	FPROF_ZONE("destructor");
	fprof_frame_mark();
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "return";
	pthread_t thread;
	int i;

	if (!strcmp(how, "done"))
		return 7;
	for (i = 0; i < 8; i++)
		if (pthread_create(&thread, NULL, record_for_ever, NULL))
			return 1;
	while (FPROF_LOAD_ACQUIRE(&running) < 8)
		usleep(1000);
	fprof_frame_mark();
	if (!strcmp(how, "exit"))
		exit(7);
	if (!strcmp(how, "quick"))
		_exit(7);
	if (!strcmp(how, "exec"))
		execl(argv[0], argv[0], "done", (char *)NULL);
	return 7;
}
