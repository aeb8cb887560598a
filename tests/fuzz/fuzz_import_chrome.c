/* SPDX-License-Identifier: MIT */
/* Chrome trace JSON from anybody: the whole way into a capture file, whose rows are then read. */
#include "daemon/captures.h"
#include "daemon/import.h"
#include "daemon/util.h"
#include "directory.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char directory[128];

/* What was made is a sound database whose zones the report counts. */
static void check(const char *path)
{
	sqlite3 *db;
	sqlite3_stmt *stmt;

	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &stmt, NULL) != SQLITE_OK ||
	    sqlite3_step(stmt) != SQLITE_ROW ||
	    strcmp((const char *)sqlite3_column_text(stmt, 0), "ok") != 0)
		abort();
	sqlite3_finalize(stmt);
	sqlite3_close(db);
}

/* The first byte chooses where frames come from. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const frames[] = {NULL, "zone:a", "instant:a", "auto"};
	struct import_result result = {0};
	struct import_order order = {0};
	char path[256];
	int fd = memfd_create("trace", MFD_CLOEXEC);

	if (!directory[0])
		make_directory(directory, sizeof(directory));
	if (fd < 0 || size == 0 || pwrite(fd, data + 1, size - 1, 0) != (ssize_t)size - 1) {
		close(fd);
		return 0;
	}
	order.fd = fd;
	order.directory = directory;
	order.frames = frames[data[0] % ARRAY_SIZE(frames)];
	if (import_chrome(&order, &result) == 0) {
		snprintf(path, sizeof(path), "%s/%s", directory, result.capture.file);
		check(path);
		unlink(path);
	} else if (result.capture.file) {
		abort(); /* a file that failed is not left behind */
	}
	capture_deinit(&result.capture);
	close(fd);
	return 0;
}
