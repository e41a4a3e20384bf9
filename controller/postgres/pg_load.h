/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pg_load - fills the tables of a ledger in PostgreSQL in bulk (COPY), and reads them back.
 *
 * A session of its own beside struct db: it runs SQL of PostgreSQL itself, which is not translated
 * (dialect.h). From pg_load_open() to pg_load_close() it has the lock of the ledger's writers: no
 * controller and no other command writes there meanwhile. Commits are asynchronous until
 * pg_load_exec("SET synchronous_commit = on"): a commit after that makes all earlier ones durable.
 */
#pragma once
#include <stddef.h>
#include "common/cleanup.h"

struct err;
struct pg_load;

/* -EBUSY: another process writes this ledger at the moment; else as pg_open(). */
int pg_load_open(const char *place, struct pg_load **ret, struct err *err);
struct pg_load *pg_load_close(struct pg_load *l);
DEFINE_CLEANUP(struct pg_load *, pg_load_close)
/* "NAME on HOST, schema S", for messages; never a password. */
const char *pg_load_place(const struct pg_load *l);

/* One statement or several, without parameters; rows are dropped. */
int pg_load_exec(struct pg_load *l, const char *sql, struct err *err);
/* Calls fn for each row of the answer, with its columns as text (NULL: NULL). All of the answer is in
 * this process: for short ones. */
typedef int (*pg_load_row_fn)(void *ctx, const char *const *columns, struct err *err);
int pg_load_rows(struct pg_load *l, const char *sql, pg_load_row_fn fn, void *ctx,
		 struct err *err);
/* The first column of the first row, malloc()ed. 1; 0: there is no row, or it is NULL. */
int pg_load_text(struct pg_load *l, const char *sql, char **ret, struct err *err);

/* "COPY ... FROM STDIN": begin, any number of puts of whole lines in COPY's text format, end. */
int pg_load_begin_copy(struct pg_load *l, const char *sql, struct err *err);
int pg_load_put(struct pg_load *l, const char *lines, size_t size, struct err *err);
int pg_load_end_copy(struct pg_load *l, struct err *err);

/* "COPY ... TO STDOUT": begin, then next until it returns 0. 1: *ret_line is a line of *ret_size bytes,
 * its newline included, good until the next call. */
int pg_load_begin_read(struct pg_load *l, const char *sql, struct err *err);
int pg_load_next(struct pg_load *l, const char **ret_line, size_t *ret_size, struct err *err);
