// SPDX-License-Identifier: MIT
/* Games that link to their graphics library. */
#include "check.h"
#include "fake.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

extern struct fake_log fake_gl_log, fake_sdl_log;
extern int fake_egl_result;

void glXSwapBuffers(void *display, unsigned long drawable);
void glFinish(void);
unsigned glClientWaitSync(void *sync, unsigned flags, uint64_t timeout);
unsigned eglSwapBuffers(void *display, void *surface);
unsigned eglSwapBuffersWithDamageKHR(void *display, void *surface, const int *rects, int count);
void SDL_GL_SwapWindow(void *window);
void SDL_RenderPresent(void *renderer);
int SDL_UpdateWindowSurface(void *window);
void SDL_Delay(uint32_t ms);

static char object; /* something to point at */

static void nested(void)
{
	int i;

	for (i = 0; i < 5; i++)
		SDL_RenderPresent(&object);
	CHECK(fake_sdl_log.presents == 5);
	CHECK(fake_sdl_log.swaps == 5);
	CHECK(fake_gl_log.swaps == 5);
}

static void arguments_and_errno(void)
{
	errno = 0;
	glXSwapBuffers(&object, 0x123456789abcul);
	CHECK(errno == 77);
	CHECK(fake_gl_log.arguments[0] == (uint64_t)(uintptr_t)&object);
	CHECK(fake_gl_log.arguments[1] == 0x123456789abcul);
	CHECK(eglSwapBuffersWithDamageKHR(&object, &object, (int *)&object, -3) == 1);
	CHECK(fake_gl_log.arguments[2] == (uint64_t)(uintptr_t)&object);
	CHECK((int64_t)fake_gl_log.arguments[3] == -3);
}

static void failed_presents(void)
{
	CHECK(SDL_UpdateWindowSurface(NULL) == -1);
	fake_egl_result = 0;
	CHECK(eglSwapBuffers(&object, &object) == 0);
	CHECK(SDL_UpdateWindowSurface(&object) == 0);
	fake_egl_result = 1;
	CHECK(eglSwapBuffers(&object, &object) == 1);
}

static void *present_thread(void *unused)
{
	struct timespec t = {0, 1000};
	int i;

	(void)unused;
	for (i = 0; i < 7; i++) {
		SDL_GL_SwapWindow(&object);
		CHECK(nanosleep(&t, NULL) == 0);
	}
	return NULL;
}

static void off_thread(void)
{
	struct timespec t = {0, 1000};
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, present_thread, NULL) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
	CHECK(nanosleep(&t, NULL) == 0); /* this thread has marked nothing */
}

static void sleeps(void)
{
	struct timespec t = {0, 1000}, bad = {0, -1};

	CHECK(nanosleep(&t, NULL) == 0); /* nothing marked yet */
	SDL_GL_SwapWindow(&object);
	CHECK(nanosleep(&t, NULL) == 0);
	errno = 0;
	CHECK(nanosleep(&bad, NULL) == -1);
	CHECK(errno == EINVAL);
	errno = 5;
	CHECK(clock_nanosleep(CLOCK_MONOTONIC, 0, &bad, NULL) == EINVAL);
	CHECK(errno == 5);
	CHECK(usleep(1) == 0);
	SDL_Delay(1);
	SDL_GL_SwapWindow(&object);
}

static void gpu_waits(void)
{
	glFinish(); /* before any frame: programs that only compute are not recorded */
	SDL_GL_SwapWindow(&object);
	glFinish();
	CHECK(glClientWaitSync(&object, 1, UINT64_C(0xfedcba9876543210)) == 0x911a);
	CHECK(fake_gl_log.arguments[0] == (uint64_t)(uintptr_t)&object);
	CHECK(fake_gl_log.arguments[1] == 1);
	CHECK(fake_gl_log.arguments[2] == UINT64_C(0xfedcba9876543210));
	CHECK(fake_gl_log.finishes == 2);
}

static sigjmp_buf jump;

static void on_alarm(int number)
{
	(void)number;
	siglongjmp(jump, 1);
}

static void longjmp_out_of_sleep(void)
{
	struct itimerval timer = {.it_value = {0, 1000}};
	struct timespec t = {3600, 0};

	SDL_GL_SwapWindow(&object);
	signal(SIGALRM, on_alarm);
	if (sigsetjmp(jump, 1) == 0) {
		CHECK(setitimer(ITIMER_REAL, &timer, NULL) == 0);
		nanosleep(&t, NULL);
		CHECK(0);
	}
	SDL_GL_SwapWindow(&object);
	SDL_GL_SwapWindow(&object);
}

static void not_a_game(void)
{
	struct timespec t = {0, 1000};

	CHECK(nanosleep(&t, NULL) == 0);
	glFinish();
	SDL_Delay(1);
}

int main(int argc, char **argv)
{
	static const struct test_case cases[] = {
		{"nested", nested},
		{"arguments_and_errno", arguments_and_errno},
		{"failed_presents", failed_presents},
		{"off_thread", off_thread},
		{"sleeps", sleeps},
		{"gpu_waits", gpu_waits},
		{"longjmp_out_of_sleep", longjmp_out_of_sleep},
		{"not_a_game", not_a_game},
	};

	return run_case(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
