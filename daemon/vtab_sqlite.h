/* SPDX-License-Identifier: MIT */
/* SQLite as the daemon links it, or as a loadable extension (FPROF_EXTENSION) is handed it. */
#ifndef FPROF_DAEMON_VTAB_SQLITE_H
#define FPROF_DAEMON_VTAB_SQLITE_H

#ifdef FPROF_EXTENSION
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT3
#else
#include <sqlite3.h>
#endif

#endif
