/* pg_pipeline.c - one statement for many rows, without waiting for each answer; see pg_impl.h.
 *
 * A round trip a row took most of the time of an import.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/pg/pg_impl.h"

#define COLUMNS_MAX 40
#define AT_ONCE 512 /* rows under way: their answers fit into the buffers of a socket */

static int send_row(struct pg *p, const char *name, const struct db_int_rows *rows, size_t at)
{
	const int64_t *v = rows->values + at * rows->n_columns;
	uint64_t numbers[COLUMNS_MAX];
	const char *data[COLUMNS_MAX];
	int sizes[COLUMNS_MAX], are_binary[COLUMNS_MAX];

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

/* The answer of one statement, which ends with a NULL. */
static int take_answer(struct pg *p, int64_t *ret_changed, struct err *err)
{
	PGresult *result = pq.PQgetResult(p->conn);

	if (pq.PQresultStatus(result) != PGRES_COMMAND_OK)
		return pg_fail(p, result, "adding rows", err);
	*ret_changed = strtoll(pq.PQcmdTuples(result), NULL, 10);
	pq.PQclear(result);
	pq.PQclear(pq.PQgetResult(p->conn));
	return 0;
}

/* What is left up to the end of the pipeline, or of the connection. */
static void pass_over(struct pg *p)
{
	bool is_end = false, was_null = false;

	while (!is_end) {
		PGresult *result = pq.PQgetResult(p->conn);

		is_end = pq.PQresultStatus(result) == PGRES_PIPELINE_SYNC ||
			 (!result && was_null) || pq.PQstatus(p->conn) != CONNECTION_OK;
		was_null = !result;
		pq.PQclear(result);
	}
}

static int run_some(struct pg *p, const char *name, const struct db_int_rows *rows,
		    int64_t *ret_changed, struct err *err)
{
	int r;

	if (!pq.PQenterPipelineMode(p->conn))
		return pg_fail(p, NULL, "beginning a pipeline", err);
	r = send_rows(p, name, rows, err);
	for (size_t i = 0; i < rows->n_rows && r >= 0; i++)
		r = take_answer(p, &ret_changed[i], err);
	pass_over(p);
	if (!pq.PQexitPipelineMode(p->conn) && r >= 0)
		r = pg_fail(p, NULL, "ending a pipeline", err);
	return r;
}

int pg_run_int_rows(struct db *d, const char *sql, const struct db_int_rows *rows,
		    int64_t *ret_changed, struct err *err)
{
	struct db_value none[COLUMNS_MAX] = { 0 };
	struct db_row *row;
	int r = 0;

	if (rows->n_columns > COLUMNS_MAX)
		return err_set(err, -EINVAL, "more than %d values", COLUMNS_MAX);
	for (size_t i = 0; i < rows->n_columns; i++)
		none[i].kind = DB_INT;
	/* Prepares it. */
	r = pg_query(d, sql, &(struct db_values){ none, rows->n_columns }, &row, err);
	for (size_t at = 0; at < rows->n_rows && r >= 0; at += AT_ONCE) {
		size_t left = rows->n_rows - at;
		const struct db_int_rows some = { rows->values + at * rows->n_columns,
						  left < AT_ONCE ? left : AT_ONCE,
						  rows->n_columns, rows->null };

		r = run_some(pg_of(d), pg_name(row), &some, ret_changed + at, err);
	}
	return r;
}
