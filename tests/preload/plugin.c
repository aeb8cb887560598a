// SPDX-License-Identifier: MIT
/* An engine's renderer as a plugin that links to SDL. */
#include "check.h"
#include "fake.h"

extern struct fake_log fake_gl_log;
void SDL_RenderPresent(void *renderer);

FAKE_API void plugin_frame(void);
FAKE_API void plugin_check(void);

void plugin_frame(void)
{
	SDL_RenderPresent(&fake_gl_log);
}

void plugin_check(void)
{
	CHECK(fake_gl_log.swaps == 4);
}
