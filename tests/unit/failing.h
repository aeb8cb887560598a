/* SPDX-License-Identifier: MIT */
/*
 * Makes SQLite's Nth allocation or Nth file write fail: once, or from then on. failing_install
 * comes before any other use of SQLite in the program.
 */
#ifndef FPROF_TESTS_FAILING_H
#define FPROF_TESTS_FAILING_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum failing_what { FAILING_NOTHING, FAILING_ALLOCATIONS, FAILING_WRITES };

static struct {
	sqlite3_mem_methods memory;
	sqlite3_vfs *vfs, shim;
	int what;     /* enum failing_what */
	long left;    /* successes before the failure */
	bool forever; /* not once */
	int error;    /* of a write */
	long failed;  /* so far */
} failing;

/* Is this the one? Any thread. */
static bool failing_now(enum failing_what what)
{
	long left;

	if (__atomic_load_n(&failing.what, __ATOMIC_ACQUIRE) != (int)what)
		return false;
	left = __atomic_fetch_sub(&failing.left, 1, __ATOMIC_RELAXED);
	if (left > 0 || (left < 0 && !failing.forever))
		return false;
	__atomic_fetch_add(&failing.failed, 1, __ATOMIC_RELAXED);
	return true;
}

static void failing_arm(enum failing_what what, long after, bool forever, int error)
{
	failing.left = after;
	failing.forever = forever;
	failing.error = error;
	failing.failed = 0;
	__atomic_store_n(&failing.what, (int)what, __ATOMIC_RELEASE);
}

/* How many failed since it was armed. */
static long failing_disarm(void)
{
	__atomic_store_n(&failing.what, FAILING_NOTHING, __ATOMIC_RELEASE);
	return __atomic_load_n(&failing.failed, __ATOMIC_RELAXED);
}

static void *failing_malloc(int bytes)
{
	return failing_now(FAILING_ALLOCATIONS) ? NULL : failing.memory.xMalloc(bytes);
}

static void *failing_realloc(void *p, int bytes)
{
	return failing_now(FAILING_ALLOCATIONS) ? NULL : failing.memory.xRealloc(p, bytes);
}

struct failing_file {
	sqlite3_file base;
	sqlite3_io_methods methods;
	sqlite3_file *real; /* right behind */
};

static sqlite3_file *failing_real(sqlite3_file *file)
{
	return ((struct failing_file *)file)->real;
}

static int failing_close(sqlite3_file *file)
{
	return failing_real(file)->pMethods->xClose(failing_real(file));
}

static int failing_read(sqlite3_file *file, void *p, int bytes, sqlite3_int64 at)
{
	return failing_real(file)->pMethods->xRead(failing_real(file), p, bytes, at);
}

static int failing_write(sqlite3_file *file, const void *p, int bytes, sqlite3_int64 at)
{
	if (failing_now(FAILING_WRITES))
		return failing.error;
	return failing_real(file)->pMethods->xWrite(failing_real(file), p, bytes, at);
}

static int failing_truncate(sqlite3_file *file, sqlite3_int64 bytes)
{
	if (failing_now(FAILING_WRITES))
		return failing.error;
	return failing_real(file)->pMethods->xTruncate(failing_real(file), bytes);
}

static int failing_sync(sqlite3_file *file, int flags)
{
	return failing_real(file)->pMethods->xSync(failing_real(file), flags);
}

static int failing_size(sqlite3_file *file, sqlite3_int64 *bytes)
{
	return failing_real(file)->pMethods->xFileSize(failing_real(file), bytes);
}

static int failing_lock(sqlite3_file *file, int lock)
{
	return failing_real(file)->pMethods->xLock(failing_real(file), lock);
}

static int failing_unlock(sqlite3_file *file, int lock)
{
	return failing_real(file)->pMethods->xUnlock(failing_real(file), lock);
}

static int failing_reserved(sqlite3_file *file, int *ret)
{
	return failing_real(file)->pMethods->xCheckReservedLock(failing_real(file), ret);
}

static int failing_control(sqlite3_file *file, int op, void *arg)
{
	return failing_real(file)->pMethods->xFileControl(failing_real(file), op, arg);
}

static int failing_sector(sqlite3_file *file)
{
	return failing_real(file)->pMethods->xSectorSize(failing_real(file));
}

static int failing_device(sqlite3_file *file)
{
	return failing_real(file)->pMethods->xDeviceCharacteristics(failing_real(file));
}

static int failing_shm_map(sqlite3_file *file, int page, int bytes, int extend, void volatile **ret)
{
	if (extend && failing_now(FAILING_WRITES))
		return SQLITE_IOERR_SHMSIZE;
	return failing_real(file)->pMethods->xShmMap(failing_real(file), page, bytes, extend, ret);
}

static int failing_shm_lock(sqlite3_file *file, int at, int n, int flags)
{
	return failing_real(file)->pMethods->xShmLock(failing_real(file), at, n, flags);
}

static void failing_shm_barrier(sqlite3_file *file)
{
	failing_real(file)->pMethods->xShmBarrier(failing_real(file));
}

static int failing_shm_unmap(sqlite3_file *file, int remove)
{
	return failing_real(file)->pMethods->xShmUnmap(failing_real(file), remove);
}

static int failing_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
			int *ret_flags)
{
	struct failing_file *f = (struct failing_file *)file;
	int rc;

	(void)vfs;
	memset(f, 0, sizeof(*f));
	f->real = (sqlite3_file *)(f + 1);
	rc = failing.vfs->xOpen(failing.vfs, name, f->real, flags, ret_flags);
	if (rc != SQLITE_OK)
		return rc;
	f->methods = (sqlite3_io_methods){
		2,
		failing_close,
		failing_read,
		failing_write,
		failing_truncate,
		failing_sync,
		failing_size,
		failing_lock,
		failing_unlock,
		failing_reserved,
		failing_control,
		failing_sector,
		failing_device,
		failing_shm_map,
		failing_shm_lock,
		failing_shm_barrier,
		failing_shm_unmap,
		NULL,
		NULL,
	};
	file->pMethods = &f->methods;
	return SQLITE_OK;
}

static void failing_install(void)
{
	sqlite3_mem_methods mine;

	sqlite3_config(SQLITE_CONFIG_GETMALLOC, &failing.memory);
	mine = failing.memory;
	mine.xMalloc = failing_malloc;
	mine.xRealloc = failing_realloc;
	sqlite3_config(SQLITE_CONFIG_MALLOC, &mine);
	sqlite3_initialize();
	failing.vfs = sqlite3_vfs_find(NULL);
	failing.shim = *failing.vfs;
	failing.shim.zName = "failing";
	failing.shim.szOsFile += (int)sizeof(struct failing_file);
	failing.shim.xOpen = failing_open;
	failing.shim.pNext = NULL;
	sqlite3_vfs_register(&failing.shim, 1);
}

#endif
