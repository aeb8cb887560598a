// SPDX-License-Identifier: MIT
/*
 * fprof_sqlite.so: `.load fprof_sqlite` gives the sqlite3 shell, on a history or a capture, the
 * tables zones, events, counters and gpu_zones. Nothing is written into the database.
 */
#include "daemon/vtab.h"
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT1

__attribute__((visibility("default"))) int
sqlite3_fprofsqlite_init(sqlite3 *db, char **ret_error, const sqlite3_api_routines *api);

int sqlite3_fprofsqlite_init(sqlite3 *db, char **ret_error, const sqlite3_api_routines *api)
{
	struct vtab_source source = {.db = db, .uid = VTAB_ANY_UID};

	(void)ret_error;
	SQLITE_EXTENSION_INIT2(api);
	return vtab_register(db, &source);
}
