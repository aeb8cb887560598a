// SPDX-License-Identifier: MIT
/*
 * A game that knows nothing of us: it says "ready" and does what it is told on its standard input,
 * a line an order, answering "done" to each:
 *
 *   render N      N presents that call others, three deep
 *   swap N        N presents by the innermost of these, which jumps to another of its name
 *   inside N      N presents by a function of its own, eglSwapBuffers
 *   left N        the same, each left by longjmp
 *   driver N      N presents by the driver that is named as its argument
 *   failed N      presents that say that they showed nothing
 *   mark N        N marks by libfprof, which is loaded for it from $LIBFPROF
 *   thread NAME N a thread of that name presents N times and ends
 *   helped N      N presents, each after 5 ms that the thread "solver" computes meanwhile
 *   exec          runs itself anew
 */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

void SDL_RenderPresent(void *renderer);
int SDL_UpdateWindowSurface(void *window);
void glXSwapBuffers(void *display, unsigned long drawable);
unsigned eglSwapBuffers(void *display, void *surface);

static void (*next)(void *display, unsigned long drawable);
static jmp_buf out;
static volatile int leave;

/* In front of the library's. */
void __attribute__((noinline)) glXSwapBuffers(void *display, unsigned long drawable)
{
	next(display, drawable);
}

unsigned __attribute__((noinline)) eglSwapBuffers(void *display, void *surface)
{
	(void)display;
	(void)surface;
	usleep(1000);
	if (leave)
		longjmp(out, 1);
	return 1;
}

static void render(void)
{
	SDL_RenderPresent(NULL);
}

static void swap(void)
{
	glXSwapBuffers(NULL, 1);
}

static void __attribute__((noinline)) present(void)
{
	if (setjmp(out) == 0)
		eglSwapBuffers(NULL, NULL);
}

static void inside(void)
{
	leave = 0;
	present();
}

static void left(void)
{
	leave = 1;
	present();
}

typedef void *(*lookup_fn)(void *, const char *);
static int (*driver_present)(void *queue, const void *info);

/* As the Vulkan loader does. */
static void load_driver(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	lookup_fn instance =
		library ? (lookup_fn)dlsym(library, "vk_icdGetInstanceProcAddr") : NULL;
	lookup_fn device = instance ? (lookup_fn)instance(NULL, "vkGetDeviceProcAddr") : NULL;

	if (device)
		driver_present = (int (*)(void *, const void *))device(NULL, "vkQueuePresentKHR");
}

static void driver(void)
{
	driver_present(NULL, "info");
}

static void mark(void)
{
	void *library = dlopen(getenv("LIBFPROF"), RTLD_NOW | RTLD_LOCAL);
	void (*frame_mark)(void) =
		library ? (void (*)(void))dlsym(library, "fprof_frame_mark") : NULL;

	if (frame_mark)
		frame_mark();
}

static void failed(void)
{
	SDL_UpdateWindowSurface(NULL);
}

struct job {
	const char *name;
	int count;
};

static void *work(void *userdata)
{
	const struct job *job = userdata;
	int i;

	prctl(PR_SET_NAME, job->name);
	for (i = 0; i < job->count; i++)
		render();
	return NULL;
}

static void run_thread(const char *name, int count)
{
	struct job job = {name, count};
	pthread_t thread;

	if (pthread_create(&thread, NULL, work, &job) == 0)
		pthread_join(thread, NULL);
}

static sem_t asked, solved;

static void *solve(void *userdata)
{
	struct timespec t;
	long since;

	(void)userdata;
	prctl(PR_SET_NAME, "solver");
	for (;;) {
		while (sem_wait(&asked) != 0)
			;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
		since = t.tv_sec * 1000 + t.tv_nsec / 1000000;
		while (t.tv_sec * 1000 + t.tv_nsec / 1000000 < since + 5)
			clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
		sem_post(&solved);
	}
	return NULL;
}

/* The first one begins the thread. */
static void helped(void)
{
	static pthread_t solver;

	if (!solver) {
		sem_init(&asked, 0, 0);
		sem_init(&solved, 0, 0);
		if (pthread_create(&solver, NULL, solve, NULL) != 0)
			return;
	}
	sem_post(&asked);
	while (sem_wait(&solved) != 0)
		;
	render();
}

static const struct {
	const char *name;
	void (*present)(void);
} orders[] = {{"render", render}, {"swap", swap}, {"inside", inside}, {"left", left},
	      {"driver", driver}, {"mark", mark}, {"failed", failed}, {"helped", helped}};

int main(int argc, char **argv)
{
	char line[256], word[32], name[32];
	int count, i;
	size_t k;

	if (argc > 1)
		load_driver(argv[1]);
	next = (void (*)(void *, unsigned long))dlsym(RTLD_NEXT, "glXSwapBuffers");
	setvbuf(stdin, NULL, _IONBF, 0);
	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("ready");
	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "thread %31s %d", name, &count) == 2)
			run_thread(name, count);
		else if (strcmp(line, "exec\n") == 0)
			execv("/proc/self/exe", argv);
		else if (sscanf(line, "%31s %d", word, &count) == 2)
			for (k = 0; k < sizeof(orders) / sizeof(orders[0]); k++)
				for (i = 0; strcmp(word, orders[k].name) == 0 && i < count; i++)
					orders[k].present();
		puts("done");
	}
	return 0;
}
