/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fail_vfs.c - wraps SQLite's default VFS and makes its n-th change fail; see fail_vfs.h. */
#include <sqlite3.h>
#include <string.h>
#include "tests/unit/rig/fail_vfs.h"

struct file {
	sqlite3_file base;
	sqlite3_file *real;
};

static sqlite3_vfs *real_vfs, vfs;
static int left, has_failed, code;

static int should_fail(void)
{
	if (left == 0 || (left > 0 && --left > 0))
		return 0;
	left = -1;
	has_failed = 1;
	return 1;
}

#define REAL(f) (((struct file *)(f))->real)
#define CALL(f, method, ...) REAL(f)->pMethods->method(REAL(f), ##__VA_ARGS__)

static int f_close(sqlite3_file *f)
{
	return REAL(f)->pMethods ? CALL(f, xClose) : SQLITE_OK;
}
static int f_read(sqlite3_file *f, void *p, int n, sqlite3_int64 at)
{
	return CALL(f, xRead, p, n, at);
}
static int f_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
	return should_fail() ? code : CALL(f, xWrite, p, n, at);
}
static int f_truncate(sqlite3_file *f, sqlite3_int64 n)
{
	return should_fail() ? SQLITE_IOERR_TRUNCATE : CALL(f, xTruncate, n);
}
static int f_sync(sqlite3_file *f, int flags)
{
	return should_fail() ? SQLITE_IOERR_FSYNC : CALL(f, xSync, flags);
}
static int f_size(sqlite3_file *f, sqlite3_int64 *n)
{
	return CALL(f, xFileSize, n);
}
static int f_lock(sqlite3_file *f, int how)
{
	return CALL(f, xLock, how);
}
static int f_unlock(sqlite3_file *f, int how)
{
	return CALL(f, xUnlock, how);
}
static int f_reserved(sqlite3_file *f, int *ret)
{
	return CALL(f, xCheckReservedLock, ret);
}
static int f_control(sqlite3_file *f, int op, void *arg)
{
	return CALL(f, xFileControl, op, arg);
}
static int f_sector(sqlite3_file *f)
{
	return CALL(f, xSectorSize);
}
static int f_device(sqlite3_file *f)
{
	return CALL(f, xDeviceCharacteristics);
}
static int f_shm_map(sqlite3_file *f, int page, int size, int extend, void volatile **ret)
{
	return CALL(f, xShmMap, page, size, extend, ret);
}
static int f_shm_lock(sqlite3_file *f, int offset, int n, int flags)
{
	return CALL(f, xShmLock, offset, n, flags);
}
static void f_shm_barrier(sqlite3_file *f)
{
	CALL(f, xShmBarrier);
}
static int f_shm_unmap(sqlite3_file *f, int delete)
{
	return CALL(f, xShmUnmap, delete);
}

static const sqlite3_io_methods methods = {
	.iVersion = 2,
	.xClose = f_close,
	.xRead = f_read,
	.xWrite = f_write,
	.xTruncate = f_truncate,
	.xSync = f_sync,
	.xFileSize = f_size,
	.xLock = f_lock,
	.xUnlock = f_unlock,
	.xCheckReservedLock = f_reserved,
	.xFileControl = f_control,
	.xSectorSize = f_sector,
	.xDeviceCharacteristics = f_device,
	.xShmMap = f_shm_map,
	.xShmLock = f_shm_lock,
	.xShmBarrier = f_shm_barrier,
	.xShmUnmap = f_shm_unmap,
};

static int v_open(sqlite3_vfs *v, const char *name, sqlite3_file *file, int flags, int *ret)
{
	struct file *f = (struct file *)file;
	int rc;

	(void)v;
	f->real = (sqlite3_file *)(f + 1);
	rc = real_vfs->xOpen(real_vfs, name, f->real, flags, ret);
	f->base.pMethods = f->real->pMethods ? &methods : NULL;
	return rc;
}

void fail_vfs_install(void)
{
	if (real_vfs)
		return;
	real_vfs = sqlite3_vfs_find(NULL);
	vfs = *real_vfs;
	vfs.zName = "fail";
	vfs.szOsFile = (int)sizeof(struct file) + real_vfs->szOsFile;
	vfs.xOpen = v_open;
	sqlite3_vfs_register(&vfs, 1);
}

void fail_vfs_at(int n)
{
	left = n;
	has_failed = 0;
	code = n % 2 ? SQLITE_FULL : SQLITE_IOERR_WRITE;
}

int fail_vfs_off(void)
{
	left = 0;
	return has_failed;
}
