/* SPDX-License-Identifier: GPL-2.0-or-later */
/* dialect - translates the SQL of the ledger, which is written for SQLite, for PostgreSQL.
 *
 * Pure: texts in, texts out. What the ledger's SQL keeps to, so that both databases understand it:
 * - parameters are ?1 ... ?40; keywords are in capitals, names in small letters;
 * - ON CONFLICT DO UPDATE names its columns, and the old value by its table: t.n + excluded.n;
 * - rows are inserted with named columns where one of them is numbered by the database;
 * - a number out of a JSON text is  column ->> '$.name';
 * - CROSS JOIN ... ON, which tells SQLite the order, is a plain JOIN;
 * - no scalar MAX() or MIN(), no IS with a value, no PRAGMA, no sums of truth values.
 */
#pragma once

/* Translates a statement. *ret is malloc()ed. -ENOMEM; -EINVAL: a parameter that is no ?N, a text
 * without an end. */
int dialect_query(const char *sql, char **ret);
/* Translates CREATE, ALTER and DROP; statements that move rows of an older schema (INSERT, UPDATE,
 * DELETE) are left out: see pg.h. */
int dialect_schema(const char *sql, char **ret);
