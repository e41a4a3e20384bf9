/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sqlite.c - ledgers in a file, for what works without a controller; see lazy.h. */
#include <sqlite3.h>
#include "cli/lazy/lazy.h"

static struct lazy library = { .file = "libsqlite3.so.0", .package = "libsqlite3-0" };

/* clang-format off */
LAZY(int, sqlite3_backup_finish, (sqlite3_backup*a), (a))
LAZY(sqlite3_backup *, sqlite3_backup_init, (sqlite3*a, const char *b, sqlite3*c, const char *d), (a, b, c, d))
LAZY(int, sqlite3_backup_pagecount, (sqlite3_backup*a), (a))
LAZY(int, sqlite3_backup_remaining, (sqlite3_backup*a), (a))
LAZY(int, sqlite3_backup_step, (sqlite3_backup*a, int b), (a, b))
LAZY(int, sqlite3_bind_blob64, (sqlite3_stmt*a, int b, const void*c, sqlite3_uint64 d, void(*e)(void*)), (a, b, c, d, e))
LAZY(int, sqlite3_bind_int64, (sqlite3_stmt*a, int b, sqlite3_int64 c), (a, b, c))
LAZY(int, sqlite3_bind_null, (sqlite3_stmt*a, int b), (a, b))
LAZY(int, sqlite3_bind_parameter_count, (sqlite3_stmt*a), (a))
LAZY(int, sqlite3_bind_text64, (sqlite3_stmt*a, int b, const char*c, sqlite3_uint64 d, void(*e)(void*), unsigned char f), (a, b, c, d, e, f))
LAZY(int, sqlite3_busy_timeout, (sqlite3*a, int b), (a, b))
LAZY(sqlite3_int64, sqlite3_changes64, (sqlite3*a), (a))
LAZY(int, sqlite3_clear_bindings, (sqlite3_stmt*a), (a))
LAZY(int, sqlite3_close, (sqlite3*a), (a))
LAZY(const void *, sqlite3_column_blob, (sqlite3_stmt*a, int b), (a, b))
LAZY(int, sqlite3_column_bytes, (sqlite3_stmt*a, int b), (a, b))
LAZY(sqlite3_int64, sqlite3_column_int64, (sqlite3_stmt*a, int b), (a, b))
LAZY(const unsigned char *, sqlite3_column_text, (sqlite3_stmt*a, int b), (a, b))
LAZY(int, sqlite3_column_type, (sqlite3_stmt*a, int b), (a, b))
LAZY(sqlite3_filename, sqlite3_db_filename, (sqlite3 *a, const char *b), (a, b))
LAZY(const char *, sqlite3_errmsg, (sqlite3*a), (a))
LAZY(const char *, sqlite3_errstr, (int a), (a))
LAZY(int, sqlite3_exec, (sqlite3*a, const char *b, int (*c)(void*,int,char**,char**), void *d, char **e), (a, b, c, d, e))
LAZY(int, sqlite3_extended_errcode, (sqlite3 *a), (a))
LAZY(int, sqlite3_extended_result_codes, (sqlite3*a, int b), (a, b))
LAZY(int, sqlite3_finalize, (sqlite3_stmt *a), (a))
LAZY(int, sqlite3_get_autocommit, (sqlite3*a), (a))
LAZY(sqlite3_int64, sqlite3_last_insert_rowid, (sqlite3*a), (a))
LAZY(int, sqlite3_open_v2, (const char *a, sqlite3 **b, int c, const char *d), (a, b, c, d))
LAZY(int, sqlite3_prepare_v2, (sqlite3 *a, const char *b, int c, sqlite3_stmt **d, const char **e), (a, b, c, d, e))
LAZY(int, sqlite3_prepare_v3, (sqlite3 *a, const char *b, int c, unsigned int d, sqlite3_stmt **e, const char **f), (a, b, c, d, e, f))
LAZY(void, sqlite3_progress_handler, (sqlite3 *a, int b, int (*c)(void*), void *d), (a, b, c, d))
LAZY(int, sqlite3_reset, (sqlite3_stmt *a), (a))
LAZY(int, sqlite3_step, (sqlite3_stmt*a), (a))
