/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pg_pipeline.c - runs one statement for many rows of integers. See pg_impl.h.
 *
 * A round trip for each row took most of the time of an import. An INSERT ... ON CONFLICT DO NOTHING
 * is sent once, with an array for each column: nearly all rows of an import are new. When the server
 * inserted fewer rows than were sent, it does not say which; then that statement is rolled back to a
 * savepoint, and the rows are sent one by one in a pipeline, which answers for each. Other statements
 * go through the pipeline at once.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/postgres/pg_impl.h"

/* libpq's result: 1, or 0 on failure. */
static int send_row(struct pg *p, const char *name, const struct db_int_rows *rows, size_t at)
{
	const int64_t *v = rows->values + at * rows->n_columns;
	uint64_t numbers[DB_VALUES_MAX];
	const char *data[DB_VALUES_MAX];
	int sizes[DB_VALUES_MAX], are_binary[DB_VALUES_MAX];

	for (size_t i = 0; i < rows->n_columns; i++) {
		numbers[i] = htobe64((uint64_t)v[i]);
		data[i] = v[i] == rows->null ? NULL : (const char *)&numbers[i];
		sizes[i] = sizeof(numbers[i]);
		are_binary[i] = 1;
	}
	return pq.PQsendQueryPrepared(p->conn, name, (int)rows->n_columns, data, sizes,
				      are_binary, 0);
}

static int send_rows(struct pg *p, const char *name, const struct db_int_rows *rows,
		     struct err *err)
{
	bool is_sent = true;

	for (size_t i = 0; i < rows->n_rows && is_sent; i++)
		is_sent = send_row(p, name, rows, i);
	if (is_sent && pq.PQpipelineSync(p->conn))
		return 0;
	return pg_fail(p, NULL, "sending rows", err);
}

/* Sends all rows before it reads the first answer: at most PG_SENT_MAX rows, so that the answers fit
 * into the socket's buffers and the server does not stop to wait for a reader. */
static int run_pipeline(struct pg *p, const char *name, const struct db_int_rows *rows,
			int64_t *ret_changed, struct err *err)
{
	int r;

	if (!pq.PQenterPipelineMode(p->conn))
		return pg_fail(p, NULL, "beginning a pipeline", err);
	r = send_rows(p, name, rows, err);
	for (size_t i = 0; i < rows->n_rows && r >= 0; i++)
		r = pg_take_answer(p, &ret_changed[i], err);
	pg_pass_over(p);
	if (!pq.PQexitPipelineMode(p->conn) && r >= 0)
		r = pg_fail(p, NULL, "ending a pipeline", err);
	return r;
}

/* ---- as arrays ---- */

/* *ret: the same rows as values; malloc()ed. */
static int make_table(const struct db_int_rows *rows, struct db_value **ret, struct err *err)
{
	size_t n = rows->n_rows * rows->n_columns;
	struct db_value *v = calloc(n, sizeof(*v));

	if (!v)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++)
		v[i] = (struct db_value){ .kind = rows->values[i] == rows->null ? DB_NULL
										: DB_INT,
					  .number = rows->values[i] };
	*ret = v;
	return 0;
}

/* 1: all rows were inserted; 0: some were there before, and nothing is changed. */
static int insert_together(struct pg *p, const char *sql, const struct db_table *rows,
			   struct err *err)
{
	size_t n = 0;
	int r = pg_exec(p, "SAVEPOINT reeve_rows", err);

	if (r >= 0)
		r = pg_array_run(p, sql, rows, &n, err);
	if (r >= 0 && n < rows->n_rows)
		r = pg_exec(p, "ROLLBACK TO reeve_rows", err);
	if (r >= 0)
		r = pg_exec(p, "RELEASE reeve_rows", err);
	return r < 0 ? r : n == rows->n_rows;
}

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), n_end = strlen(end);

	return n >= n_end && strcmp(text + n - n_end, end) == 0;
}

/* As insert_together(); 0 also where the statement has another form. */
static int try_together(struct pg *p, const char *sql, const struct db_int_rows *rows,
			int64_t *ret_changed, struct err *err)
{
	static const char rest[] = ") ON CONFLICT DO NOTHING";
	_cleanup_free_ char *here = NULL, *arrays = NULL;
	_cleanup_free_ struct db_value *values = NULL;
	struct db_table table;
	int r = pg_translate(sql, &here, err);

	if (r < 0 || !ends_with(here, rest))
		return r;
	r = make_table(rows, &values, err);
	table = (struct db_table){ values, rows->n_rows, rows->n_columns, false };
	if (r >= 0)
		r = pg_array_sql(here, &table, &arrays, err);
	if (r >= 0 && arrays)
		r = insert_together(p, arrays, &table, err);
	for (size_t i = 0; i < rows->n_rows && r > 0; i++)
		ret_changed[i] = 1;
	return r;
}

/* ---- one by one ---- */

static int run_one_by_one(struct db *d, const char *sql, const struct db_int_rows *rows,
			  int64_t *ret_changed, struct err *err)
{
	struct db_value none[DB_VALUES_MAX] = { 0 };
	struct db_row *row;
	int r = 0;

	for (size_t i = 0; i < rows->n_columns; i++)
		none[i].kind = DB_INT;
	/* Prepares the statement without running it; the values only tell the types. */
	r = pg_query(d, sql, &(struct db_values){ none, rows->n_columns }, &row, err);
	for (size_t at = 0; at < rows->n_rows && r >= 0; at += PG_SENT_MAX) {
		size_t left = rows->n_rows - at;
		const struct db_int_rows some = { rows->values + at * rows->n_columns,
						  left < PG_SENT_MAX ? left : PG_SENT_MAX,
						  rows->n_columns, rows->null };

		r = run_pipeline(pg_of(d), pg_name(row), &some, ret_changed + at, err);
	}
	return r;
}

int pg_run_int_rows(struct db *d, const char *sql, const struct db_int_rows *rows,
		    int64_t *ret_changed, struct err *err)
{
	int r;

	if (rows->n_columns > DB_VALUES_MAX)
		return err_set(err, -EINVAL, "more than %d values", DB_VALUES_MAX);
	if (rows->n_rows == 0)
		return 0;
	r = pg_settle(pg_of(d), err);
	if (r >= 0)
		r = try_together(pg_of(d), sql, rows, ret_changed, err);
	return r == 0 ? run_one_by_one(d, sql, rows, ret_changed, err) : r < 0 ? r : 0;
}
