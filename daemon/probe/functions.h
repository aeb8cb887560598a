/* SPDX-License-Identifier: MIT */
/* The functions that show a frame: those that the preload hook stands in front of, too. */
#ifndef FPROF_PROBE_FUNCTIONS_H
#define FPROF_PROBE_FUNCTIONS_H

/* Which results say that a frame was shown. */
enum present_success {
	PRESENT_ALWAYS,
	PRESENT_NOT_NEGATIVE, /* int: Vulkan's results, SDL's status */
	PRESENT_NOT_ZERO,     /* EGLBoolean */
};

struct present_function {
	const char *name;
	enum present_success success;
};

#define PRESENT_FUNCTIONS 8
static const struct present_function present_functions[PRESENT_FUNCTIONS] = {
	{"SDL_GL_SwapWindow", PRESENT_ALWAYS},
	{"SDL_RenderPresent", PRESENT_ALWAYS},
	{"SDL_UpdateWindowSurface", PRESENT_NOT_NEGATIVE},
	{"glXSwapBuffers", PRESENT_ALWAYS},
	{"eglSwapBuffers", PRESENT_NOT_ZERO},
	{"eglSwapBuffersWithDamageKHR", PRESENT_NOT_ZERO},
	{"eglSwapBuffersWithDamageEXT", PRESENT_NOT_ZERO},
	{"vkQueuePresentKHR", PRESENT_NOT_NEGATIVE},
};
#define PRESENT_VULKAN 7 /* vkQueuePresentKHR */

#endif
