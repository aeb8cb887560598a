// SPDX-License-Identifier: MIT
/* A fake SDL2 whose presents call each other by their exported names, down to glXSwapBuffers. */
#include "fake.h"

#include <stddef.h>
#include <time.h>

FAKE_API struct fake_log fake_sdl_log;

void glXSwapBuffers(void *display, unsigned long drawable);
void (*glXGetProcAddressARB(const char *name))(void);

FAKE_API void SDL_GL_SwapWindow(void *window);
FAKE_API void SDL_RenderPresent(void *renderer);
FAKE_API int SDL_UpdateWindowSurface(void *window);
FAKE_API void SDL_Delay(uint32_t ms);
FAKE_API void *SDL_GL_GetProcAddress(const char *name);

void SDL_GL_SwapWindow(void *window)
{
	fake_sdl_log.swaps++;
	glXSwapBuffers(window, 5);
}

void SDL_RenderPresent(void *renderer)
{
	fake_sdl_log.presents++;
	SDL_GL_SwapWindow(renderer);
}

int SDL_UpdateWindowSurface(void *window)
{
	fake_sdl_log.presents++;
	return window ? 0 : -1;
}

void SDL_Delay(uint32_t ms)
{
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};

	nanosleep(&t, NULL);
}

void *SDL_GL_GetProcAddress(const char *name)
{
	union {
		void (*function)(void);
		void *pointer;
	} u = {.function = glXGetProcAddressARB(name)};

	return u.pointer;
}
