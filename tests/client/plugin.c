// SPDX-License-Identifier: MIT
/* A plugin with markers, loaded and unloaded by dlclose.c. */
#include <fprof.h>

fprof_scope plugin_work(int keep_open);

fprof_scope plugin_work(int keep_open)
{
	FPROF_ZONE_MARKER(left_open, "plugin.open", NULL, 0, FPROF_LEVEL_PHASE);
	FPROF_ZONE("plugin.zone");
	FPROF_COUNTER_ADD_I64("plugin.counter", FPROF_UNIT_COUNT, 1);
	FPROF_INSTANT("plugin.instant");
	return keep_open ? fprof_zone_begin(&left_open) : 0;
}
