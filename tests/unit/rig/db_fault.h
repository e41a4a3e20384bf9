/* SPDX-License-Identifier: GPL-2.0-or-later */
/* db_fault - let the n-th write of SQLite fail, as a full or broken disk would. */
#pragma once
#include <errno.h>
#include <sqlite3.h>
#include <unistd.h>

static int db_fault_left; /* writes until the fault; 0: none comes */
static int db_fault_errno = ENOSPC;

static int db_fault_now(void)
{
	if (!db_fault_left || --db_fault_left)
		return 0;
	errno = db_fault_errno;
	return 1;
}

static ssize_t db_fault_write(int fd, const void *buf, size_t n)
{
	return db_fault_now() ? -1 : write(fd, buf, n);
}

static ssize_t db_fault_pwrite(int fd, const void *buf, size_t n, off_t at)
{
	return db_fault_now() ? -1 : pwrite(fd, buf, n, at);
}

/* Returns 0 when SQLite really calls these. */
static int db_fault_install(void)
{
	sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
	int ok = 0;

	ok += vfs->xSetSystemCall(vfs, "write", (sqlite3_syscall_ptr)db_fault_write) ==
	      SQLITE_OK;
	ok += vfs->xSetSystemCall(vfs, "pwrite", (sqlite3_syscall_ptr)db_fault_pwrite) ==
	      SQLITE_OK;
	ok += vfs->xSetSystemCall(vfs, "pwrite64", (sqlite3_syscall_ptr)db_fault_pwrite) ==
	      SQLITE_OK;
	return ok ? 0 : -1;
}
