// SPDX-License-Identifier: MIT
/* Games that load their graphics library, or fetch its functions by name. argv[2] is where the
 * fakes lie. */
#include "check.h"
#include "fake.h"

#include <dlfcn.h>
#include <stdint.h>

typedef void (*fn)(void);
typedef fn (*lookup1_fn)(const char *name);
typedef fn (*lookup2_fn)(void *handle, const char *name);
typedef void (*swap_fn)(void *, unsigned long);
typedef unsigned (*egl_swap_fn)(void *, void *);
typedef int (*present_fn)(void *, const void *);
typedef int (*acquire_fn)(void *, uint64_t, uint64_t, uint64_t, uint64_t, uint32_t *);
typedef int (*fences_fn)(void *, uint32_t, const void *, uint32_t, uint64_t);
typedef int (*semaphores_fn)(void *, const void *, uint64_t);

static const char *directory;

static void *load(const char *file, int mode)
{
	char path[4096];
	void *handle;

	snprintf(path, sizeof(path), "%s/%s", directory, file);
	handle = dlopen(path, RTLD_NOW | mode);
	if (!handle)
		fprintf(stderr, "%s\n", dlerror());
	CHECK(handle);
	return handle;
}

/* As careful games do it: an error that is left over counts as a failure. */
static fn fetch(void *handle, const char *name)
{
	union {
		void *pointer;
		fn function;
	} u;

	dlerror();
	u.pointer = dlsym(handle, name);
	CHECK(!dlerror());
	CHECK(u.pointer);
	return u.function;
}

static void dlsym_local(void)
{
	void *gl = load("libfakegl.so", RTLD_LOCAL);
	struct fake_log *log = dlsym(gl, "fake_gl_log");
	swap_fn swap = (swap_fn)fetch(gl, "glXSwapBuffers");
	int i;

	for (i = 0; i < 3; i++)
		swap(&directory, 9);
	CHECK(log && log->swaps == 3);
	CHECK(log->arguments[1] == 9);
	CHECK(fetch(gl, "glXSwapBuffers") == (fn)swap);
}

static void dlsym_absent(void)
{
	void *gl = load("libfakegl.so", RTLD_LOCAL);

	dlerror();
	CHECK(!dlsym(gl, "vkQueuePresentKHR"));
	CHECK(dlerror());
	CHECK(!dlsym(RTLD_DEFAULT, "vkQueuePresentKHR"));
	CHECK(dlerror());
	/* loaded, but not for everybody */
	CHECK(!dlsym(RTLD_DEFAULT, "glXSwapBuffers"));
	CHECK(dlerror());
	CHECK(!dlsym(dlopen(NULL, RTLD_NOW), "vkGetInstanceProcAddr"));
	CHECK(dlerror());
	CHECK(!dlsym(gl, "no_such_function"));
	CHECK(strstr(dlerror(), "no_such_function"));
	CHECK(dlsym(RTLD_NEXT, "malloc"));
	CHECK(dlsym(RTLD_DEFAULT, "malloc"));
	CHECK(!dlsym(RTLD_NEXT, "vkQueuePresentKHR"));
	CHECK(dlerror());
}

static void dlsym_global(void)
{
	void *gl = load("libfakegl.so", RTLD_GLOBAL);
	struct fake_log *log = dlsym(gl, "fake_gl_log");

	((swap_fn)fetch(RTLD_DEFAULT, "glXSwapBuffers"))(&directory, 1);
	((swap_fn)fetch(dlopen(NULL, RTLD_NOW), "glXSwapBuffers"))(&directory, 1);
	CHECK(log && log->swaps == 2);
}

/* A plugin that links to SDL is loaded for itself alone: nothing of it is visible to the hook. */
static void linked_plugin_local(void)
{
	void *plugin = load("libplugin.so", RTLD_LOCAL);
	fn frame = fetch(plugin, "plugin_frame");
	int i;

	for (i = 0; i < 4; i++)
		frame();
	((fn)fetch(plugin, "plugin_check"))();
}

static void get_proc_address(void)
{
	void *sdl = load("libfakesdl.so", RTLD_LOCAL);
	struct fake_log *log = dlsym(sdl, "fake_gl_log");
	lookup1_fn sdl_get = (lookup1_fn)fetch(sdl, "SDL_GL_GetProcAddress");
	lookup1_fn glx_get = (lookup1_fn)fetch(sdl, "glXGetProcAddress");
	lookup1_fn arb_get = (lookup1_fn)fetch(sdl, "glXGetProcAddressARB");
	lookup1_fn egl_get = (lookup1_fn)fetch(sdl, "eglGetProcAddress");

	((swap_fn)sdl_get("glXSwapBuffers"))(&directory, 1);
	((swap_fn)glx_get("glXSwapBuffers"))(&directory, 1);
	((swap_fn)arb_get("glXSwapBuffers"))(&directory, 1);
	CHECK(((egl_swap_fn)egl_get("eglSwapBuffers"))(&directory, &directory) == 1);
	CHECK(log && log->swaps == 4);
	sdl_get("glFinish")();
	CHECK(log->finishes == 1);
	CHECK(!sdl_get("glNothing"));
}

/* A library that has the name of what it wraps, and fetches that by the same name. */
static void wrapper_of_same_name(void)
{
	void *wrapper = load("libwrapgl.so", RTLD_LOCAL);
	egl_swap_fn swap = (egl_swap_fn)fetch(wrapper, "eglSwapBuffers");
	const unsigned *calls = dlsym(wrapper, "wrapper_calls");
	int i;

	for (i = 0; i < 6; i++)
		CHECK(swap(&directory, &directory) == 1);
	CHECK(calls && *calls == 6);
}

static void vulkan_two_devices(void)
{
	void *vulkan = load("libfakevulkan.so", RTLD_LOCAL);
	struct fake_log *log = dlsym(vulkan, "fake_vulkan_log");
	static int tables[2];
	struct fake_handle handles[2] = {{&tables[0], 0}, {&tables[1], 1}};
	lookup2_fn instance_get, device_get;
	present_fn presents[2], generic;
	int i;

	instance_get = (lookup2_fn)fetch(vulkan, "vkGetInstanceProcAddr");
	device_get = (lookup2_fn)instance_get(NULL, "vkGetDeviceProcAddr");
	CHECK(device_get);
	generic = (present_fn)instance_get(NULL, "vkQueuePresentKHR");
	for (i = 0; i < 2; i++)
		presents[i] = (present_fn)device_get(&handles[i], "vkQueuePresentKHR");
	for (i = 0; i < 10; i++) {
		CHECK(presents[i % 2](&handles[i % 2], NULL) == 0);
		CHECK(generic(&handles[i % 2], NULL) == 0);
	}
	/* what goes to the wrong driver must go there with us, too */
	CHECK(presents[0](&handles[1], NULL) == -13);
	CHECK(log && log[0].presents == 10 && log[1].presents == 10);
	CHECK(!device_get(&handles[0], "vkNothing"));
	CHECK(!device_get(&handles[0], "vkWaitSemaphoresKHR"));
}

static void vulkan_results(void)
{
	void *vulkan = load("libfakevulkan.so", RTLD_LOCAL);
	struct fake_log *log = dlsym(vulkan, "fake_vulkan_log");
	int *result = dlsym(vulkan, "fake_vulkan_result");
	struct fake_handle handle = {NULL, 0};
	present_fn present = (present_fn)fetch(vulkan, "vkQueuePresentKHR");
	acquire_fn acquire = (acquire_fn)fetch(vulkan, "vkAcquireNextImageKHR");
	fences_fn fences = (fences_fn)fetch(vulkan, "vkWaitForFences");
	uint32_t index = 0;

	CHECK(log && result);
	CHECK(present(&handle, NULL) == 0);
	*result = 1000001003; /* VK_SUBOPTIMAL_KHR: shown */
	CHECK(present(&handle, NULL) == 1000001003);
	*result = -1000001004; /* VK_ERROR_OUT_OF_DATE_KHR: not shown */
	CHECK(present(&handle, NULL) == -1000001004);
	CHECK(acquire(&handle, 11, UINT64_MAX, 13, 14, &index) == 0);
	CHECK(index == 3);
	CHECK(log->arguments[1] == 11 && log->arguments[2] == UINT64_MAX);
	CHECK(log->arguments[3] == 13 && log->arguments[4] == 14);
	CHECK(fences(&handle, 2, &index, 1, UINT64_MAX - 1) == 2);
	CHECK(log->arguments[1] == 2 && log->arguments[4] == UINT64_MAX - 1);
}

/* By name from the library, from the loader for a device, and as the extension that it was. */
static void vulkan_semaphores(void)
{
	void *vulkan = load("libfakevulkan.so", RTLD_LOCAL);
	struct fake_log *log = dlsym(vulkan, "fake_vulkan_log");
	struct fake_handle handle = {NULL, 0};
	present_fn present = (present_fn)fetch(vulkan, "vkQueuePresentKHR");
	lookup2_fn get = (lookup2_fn)fetch(vulkan, "vkGetDeviceProcAddr");
	semaphores_fn waits[] = {
		(semaphores_fn)fetch(vulkan, "vkWaitSemaphores"),
		(semaphores_fn)get(&handle, "vkWaitSemaphores"),
		(semaphores_fn)fetch(vulkan, "vkWaitSemaphoresKHR"),
	};
	unsigned i;

	CHECK(log);
	CHECK(present(&handle, NULL) == 0);
	for (i = 0; i < 3; i++) {
		CHECK(waits[i](&handle, &waits[i], UINT64_MAX - i) == 2);
		CHECK(log->semaphores == i + 1);
		CHECK(log->arguments[1] == (uint64_t)(uintptr_t)&waits[i]);
		CHECK(log->arguments[2] == UINT64_MAX - i);
	}
}

/* 160 functions of one name, more than the hook can stand in front of: the rest works, unseen. */
static void more_than_the_pool(void)
{
	void *gl = load("libfakegl.so", RTLD_LOCAL);
	lookup1_fn get = (lookup1_fn)fetch(gl, "eglGetProcAddress");
	egl_swap_fn swap;
	unsigned count = 0;

	while ((swap = (egl_swap_fn)get("eglSwapBuffersWithDamageEXT")) != NULL) {
		count++;
		CHECK(swap(&directory, &directory) == count);
	}
	CHECK(count == 160);
}

int main(int argc, char **argv)
{
	static const struct test_case cases[] = {
		{"dlsym_local", dlsym_local},
		{"dlsym_absent", dlsym_absent},
		{"dlsym_global", dlsym_global},
		{"linked_plugin_local", linked_plugin_local},
		{"get_proc_address", get_proc_address},
		{"wrapper_of_same_name", wrapper_of_same_name},
		{"vulkan_two_devices", vulkan_two_devices},
		{"vulkan_results", vulkan_results},
		{"vulkan_semaphores", vulkan_semaphores},
		{"more_than_the_pool", more_than_the_pool},
	};

	directory = argc > 2 ? argv[2] : ".";
	return run_case(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}
