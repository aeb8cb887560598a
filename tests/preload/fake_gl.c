// SPDX-License-Identifier: MIT
/* A fake libGL and libEGL in one. */
#include "fake.h"

#include <errno.h>
#include <string.h>

FAKE_API struct fake_log fake_gl_log;
FAKE_API int fake_egl_result = 1; /* what eglSwapBuffers answers */

FAKE_API void glXSwapBuffers(void *display, unsigned long drawable);
FAKE_API void glFinish(void);
FAKE_API unsigned glClientWaitSync(void *sync, unsigned flags, uint64_t timeout);
FAKE_API unsigned eglSwapBuffers(void *display, void *surface);
FAKE_API unsigned eglSwapBuffersWithDamageKHR(void *display, void *surface, const int *rects,
					      int count);
FAKE_API void (*glXGetProcAddressARB(const char *name))(void);
FAKE_API void (*glXGetProcAddress(const char *name))(void);
FAKE_API void (*eglGetProcAddress(const char *name))(void);

void glXSwapBuffers(void *display, unsigned long drawable)
{
	fake_gl_log.swaps++;
	fake_gl_log.arguments[0] = (uint64_t)(uintptr_t)display;
	fake_gl_log.arguments[1] = drawable;
	errno = 77;
}

void glFinish(void)
{
	fake_gl_log.finishes++;
}

unsigned glClientWaitSync(void *sync, unsigned flags, uint64_t timeout)
{
	fake_gl_log.fences++;
	fake_gl_log.arguments[0] = (uint64_t)(uintptr_t)sync;
	fake_gl_log.arguments[1] = flags;
	fake_gl_log.arguments[2] = timeout;
	return 0x911a; /* GL_ALREADY_SIGNALED */
}

unsigned eglSwapBuffers(void *display, void *surface)
{
	(void)display;
	(void)surface;
	fake_gl_log.swaps++;
	return (unsigned)fake_egl_result;
}

unsigned eglSwapBuffersWithDamageKHR(void *display, void *surface, const int *rects, int count)
{
	fake_gl_log.arguments[2] = (uint64_t)(uintptr_t)rects;
	fake_gl_log.arguments[3] = (uint64_t)(int64_t)count;
	return eglSwapBuffers(display, surface);
}

/* More presents than the hook has thunks: each answers with its own number. */
#define MANY(n)                                                \
	static unsigned many_##n(void *display, void *surface) \
	{                                                      \
		(void)display;                                 \
		(void)surface;                                 \
		return 0x##n + 1;                              \
	}
#define MANY_NAME(n) many_##n,
/* clang-format off */
#define MANY_ROW(M, r) \
	M(r##0) M(r##1) M(r##2) M(r##3) M(r##4) M(r##5) M(r##6) M(r##7) \
	M(r##8) M(r##9) M(r##a) M(r##b) M(r##c) M(r##d) M(r##e) M(r##f)
#define MANY_ROWS(M) \
	MANY_ROW(M, 0) MANY_ROW(M, 1) MANY_ROW(M, 2) MANY_ROW(M, 3) MANY_ROW(M, 4) \
	MANY_ROW(M, 5) MANY_ROW(M, 6) MANY_ROW(M, 7) MANY_ROW(M, 8) MANY_ROW(M, 9)
/* clang-format on */

MANY_ROWS(MANY)
static unsigned (*const many[])(void *, void *) = {MANY_ROWS(MANY_NAME)};

void (*glXGetProcAddressARB(const char *name))(void)
{
	if (strcmp(name, "glXSwapBuffers") == 0)
		return (void (*)(void))glXSwapBuffers;
	if (strcmp(name, "glFinish") == 0)
		return glFinish;
	return NULL;
}

void (*glXGetProcAddress(const char *name))(void)
{
	return glXGetProcAddressARB(name);
}

void (*eglGetProcAddress(const char *name))(void)
{
	static unsigned given;

	if (strcmp(name, "eglSwapBuffersWithDamageEXT") == 0 &&
	    given < sizeof(many) / sizeof(many[0]))
		return (void (*)(void))many[given++];
	return strcmp(name, "eglSwapBuffers") == 0 ? (void (*)(void))eglSwapBuffers : NULL;
}
