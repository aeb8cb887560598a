// SPDX-License-Identifier: MIT
/* A game's own library that stands in front of SDL, as overlays do. */
#include "check.h"
#include "fake.h"

#include <dlfcn.h>

FAKE_API unsigned shim_calls;
FAKE_API void SDL_GL_SwapWindow(void *window);

void SDL_GL_SwapWindow(void *window)
{
	union {
		void *pointer;
		void (*function)(void *);
	} u = {.pointer = dlsym(RTLD_NEXT, "SDL_GL_SwapWindow")};

	CHECK(u.pointer);
	shim_calls++;
	u.function(window);
}
