/* SPDX-License-Identifier: MIT */
/*
 * A game whose frames spend three quarters of their time in one function and a quarter in another,
 * by the CPU's clock. Ends with a
 * signal, or in FRAMES frames, and says how the time was divided: "heavy NS light NS".
 *
 *   shares FRAMES
 */
#include <fprof.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define QUANTUM_NS UINT64_C(1000000)

static volatile sig_atomic_t stop;
static volatile uint64_t work;

static void on_signal(int number)
{
	(void)number;
	stop = 1;
}

static inline __attribute__((always_inline)) uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Some microseconds without a call. */
static inline __attribute__((always_inline)) void turn(void)
{
	int i;

	for (i = 0; i < 20000; i++)
		work = work * 6364136223846793005u + 1;
}

__attribute__((noinline)) uint64_t heavy_part(uint64_t ns)
{
	uint64_t begin = cpu_ns(), now;

	do {
		turn();
		now = cpu_ns();
	} while (now - begin < ns);
	return now - begin;
}

__attribute__((noinline)) uint64_t light_part(uint64_t ns)
{
	uint64_t begin = cpu_ns(), now;

	do {
		turn();
		now = cpu_ns();
	} while (now - begin < ns);
	return now - begin;
}

__attribute__((noinline)) void one_frame(uint64_t *heavy, uint64_t *light)
{
	*heavy += heavy_part(3 * QUANTUM_NS);
	*light += light_part(QUANTUM_NS);
}

int main(int argc, char **argv)
{
	unsigned long frames = argc > 1 ? strtoul(argv[1], NULL, 10) : 0, n;
	uint64_t heavy = 0, light = 0;

	signal(SIGTERM, on_signal);
	for (n = 0; !stop && (frames == 0 || n < frames); n++) {
		one_frame(&heavy, &light);
		fprof_frame_mark();
	}
	printf("heavy %llu light %llu\n", (unsigned long long)heavy, (unsigned long long)light);
	return 0;
}
