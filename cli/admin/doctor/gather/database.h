/* SPDX-License-Identifier: GPL-2.0-or-later */
/* database - opens a database without changing it: a file of SQLite read-only, a PostgreSQL server as the controller's user. */
#pragma once
#include "cli/admin/doctor/judge/ledger.h"

/* ret->check and place are the caller's. PRAGMA quick_check is given up after `limit_s`. */
void gather_database(int limit_s, struct judge_database *ret);
/* `where`: postgresql://...; `user`: whom the controller runs as, with whose rights and ~/.pgpass root connects. */
void gather_postgres(const char *where, const char *user, struct judge_postgres *ret);
