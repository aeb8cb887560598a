// SPDX-License-Identifier: MIT
/* A libEGL that wraps the system's, as translation layers do: same name, fetched at the first call.
 */
#include "check.h"
#include "fake.h"

#include <dlfcn.h>

typedef unsigned (*swap_fn)(void *display, void *surface);

FAKE_API unsigned wrapper_calls;
FAKE_API unsigned eglSwapBuffers(void *display, void *surface);

unsigned eglSwapBuffers(void *display, void *surface)
{
	static swap_fn real;

	if (!real) {
		union {
			void *pointer;
			swap_fn function;
		} u;
		Dl_info self;
		char path[4096];
		void *handle;

		CHECK(dladdr(&wrapper_calls, &self));
		snprintf(path, sizeof(path), "%.*s/libfakegl.so",
			 (int)(strrchr(self.dli_fname, '/') - self.dli_fname), self.dli_fname);
		handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		CHECK(handle);
		u.pointer = dlsym(handle, "eglSwapBuffers");
		real = u.function;
	}
	wrapper_calls++;
	return real(display, surface);
}
