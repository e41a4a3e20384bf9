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

#define TYPE_INT8_ARRAY 1016
#define ARRAY_HEAD_SIZE 20
#define ARRAY_ELEMENT_SIZE 12 /* at most: a length and a number */

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

static char *write_uint32(char *to, uint32_t n)
{
	n = htobe32(n);
	return (char *)memcpy(to, &n, sizeof(n)) + sizeof(n);
}

/* Writes a column as int8[] in PostgreSQL's binary form (array_send()): a head of five numbers, then
 * for each element its size, -1 for NULL, and the number. Returns the size in bytes. */
static int write_array(char *to, const struct db_int_rows *rows, size_t column)
{
	char *p = write_uint32(to, 1); /* dimensions */

	p = write_uint32(p, 1); /* some elements may be NULL */
	p = write_uint32(p, PG_TYPE_INT8);
	p = write_uint32(p, (uint32_t)rows->n_rows);
	p = write_uint32(p, 1); /* the index of the first element */
	for (size_t i = 0; i < rows->n_rows; i++) {
		int64_t v = rows->values[i * rows->n_columns + column];
		uint64_t number = htobe64((uint64_t)v);

		p = write_uint32(p, v == rows->null ? (uint32_t)-1 : (uint32_t)sizeof(number));
		if (v != rows->null)
			p = (char *)memcpy(p, &number, sizeof(number)) + sizeof(number);
	}
	return (int)(p - to);
}

/* Makes "INSERT INTO t VALUES($1, $2) ON CONFLICT DO NOTHING", with the parameters in order, read
 * from arrays: "... SELECT * FROM unnest($1::bigint[], $2::bigint[]) ON CONFLICT DO NOTHING". *ret is
 * malloc()ed; NULL: the statement has another form. */
static int make_array_sql(const char *sql, size_t n_columns, char **ret, struct err *err)
{
	static const char values[] = " VALUES(", rest[] = ") ON CONFLICT DO NOTHING";
	char given[DB_VALUES_MAX * 8], arrays[DB_VALUES_MAX * 16];
	const char *at = strstr(sql, values);
	int n_given = 0, n_arrays = 0;

	*ret = NULL;
	for (size_t i = 0; i < n_columns; i++) {
		n_given += sprintf(given + n_given, "%s$%zu", i ? ", " : "", i + 1);
		n_arrays +=
			sprintf(arrays + n_arrays, "%s$%zu::bigint[]", i ? ", " : "", i + 1);
	}
	if (strncmp(sql, "INSERT INTO ", 12) != 0 || !at ||
	    strncmp(at + strlen(values), given, (size_t)n_given) != 0 ||
	    strcmp(at + strlen(values) + n_given, rest) != 0)
		return 0;
	if (asprintf(ret, "%.*s SELECT * FROM unnest(%s%s", (int)(at - sql), sql, arrays,
		     rest) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

/* *ret_n: how many rows were inserted. */
static int insert_arrays(struct pg *p, const char *sql, const struct db_int_rows *rows,
			 size_t *ret_n, struct err *err)
{
	size_t room = ARRAY_HEAD_SIZE + rows->n_rows * ARRAY_ELEMENT_SIZE;
	_cleanup_free_ char *buf = malloc(room * rows->n_columns);
	int sizes[DB_VALUES_MAX], are_binary[DB_VALUES_MAX];
	const char *data[DB_VALUES_MAX];
	Oid types[DB_VALUES_MAX];
	PGresult *result;

	if (!buf)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < rows->n_columns; i++) {
		data[i] = buf + i * room;
		sizes[i] = write_array(buf + i * room, rows, i);
		are_binary[i] = 1;
		types[i] = TYPE_INT8_ARRAY;
	}
	result = pq.PQexecParams(p->conn, sql, (int)rows->n_columns, types, data, sizes,
				 are_binary, 0);
	if (pq.PQresultStatus(result) != PGRES_COMMAND_OK)
		return pg_fail(p, result, sql, err);
	*ret_n = (size_t)strtoll(pq.PQcmdTuples(result), NULL, 10);
	pq.PQclear(result);
	return 0;
}

/* 1: all rows were inserted; 0: some were there before, and nothing is changed. */
static int insert_together(struct pg *p, const char *sql, const struct db_int_rows *rows,
			   struct err *err)
{
	size_t n = 0;
	int r = pg_exec(p, "SAVEPOINT reeve_rows", err);

	if (r >= 0)
		r = insert_arrays(p, sql, rows, &n, err);
	if (r >= 0 && n < rows->n_rows)
		r = pg_exec(p, "ROLLBACK TO reeve_rows", err);
	if (r >= 0)
		r = pg_exec(p, "RELEASE reeve_rows", err);
	return r < 0 ? r : n == rows->n_rows;
}

/* As insert_together(); 0 also where the statement has another form. */
static int try_together(struct pg *p, const char *sql, const struct db_int_rows *rows,
			int64_t *ret_changed, struct err *err)
{
	_cleanup_free_ char *here = NULL, *arrays = NULL;
	int r = pg_translate(sql, &here, err);

	if (r >= 0)
		r = make_array_sql(here, rows->n_columns, &arrays, err);
	if (r >= 0 && arrays)
		r = insert_together(p, arrays, rows, err);
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
