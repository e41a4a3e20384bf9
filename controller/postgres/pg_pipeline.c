/* pg_pipeline.c - one statement for many rows, without waiting for each answer; see pg_impl.h.
 *
 * A round trip a row took most of the time of an import. Rows that are inserted where they are
 * not there yet, as nearly all are, go as arrays in a single statement; when fewer came in than
 * were sent that is taken back, and each is sent on its own to learn which.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/postgres/dialect.h"
#include "controller/postgres/pg_impl.h"

#define COLUMNS_MAX 40
#define TYPE_INT8 20
#define TYPE_INT8_ARRAY 1016
#define ARRAY_HEAD 20
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

static int run_some(struct pg *p, const char *name, const struct db_int_rows *rows,
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

static char *put32(char *to, uint32_t n)
{
	n = htobe32(n);
	return (char *)memcpy(to, &n, sizeof(n)) + sizeof(n);
}

/* A column as int8[], in PostgreSQL's binary form. Returns its size. */
static int put_array(char *to, const struct db_int_rows *rows, size_t column)
{
	char *p = put32(to, 1);

	p = put32(p, 1); /* some may be NULL */
	p = put32(p, TYPE_INT8);
	p = put32(p, (uint32_t)rows->n_rows);
	p = put32(p, 1); /* counted from */
	for (size_t i = 0; i < rows->n_rows; i++) {
		int64_t v = rows->values[i * rows->n_columns + column];
		uint64_t number = htobe64((uint64_t)v);

		p = put32(p, v == rows->null ? (uint32_t)-1 : (uint32_t)sizeof(number));
		if (v != rows->null)
			p = (char *)memcpy(p, &number, sizeof(number)) + sizeof(number);
	}
	return (int)(p - to);
}

/* "INSERT INTO t VALUES($1, $2) ON CONFLICT DO NOTHING", the parameters in order, taken from
 * arrays instead. *ret NULL: it is another statement. */
static int make_sql(const char *sql, size_t n_columns, char **ret, struct err *err)
{
	static const char values[] = " VALUES(", rest[] = ") ON CONFLICT DO NOTHING";
	char given[COLUMNS_MAX * 8], arrays[COLUMNS_MAX * 16];
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

static int send_arrays(struct pg *p, const char *sql, const struct db_int_rows *rows,
		       size_t *ret_n, struct err *err)
{
	size_t room = ARRAY_HEAD + rows->n_rows * 12;
	_cleanup_free_ char *buf = malloc(room * rows->n_columns);
	int sizes[COLUMNS_MAX], are_binary[COLUMNS_MAX];
	const char *data[COLUMNS_MAX];
	Oid types[COLUMNS_MAX];
	PGresult *result;

	if (!buf)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < rows->n_columns; i++) {
		data[i] = buf + i * room;
		sizes[i] = put_array(buf + i * room, rows, i);
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

/* 1: all of them came in; 0: not all, and none is in. */
static int run_as_one(struct pg *p, const char *sql, const struct db_int_rows *rows,
		      struct err *err)
{
	size_t n = 0;
	int r = pg_exec(p, "SAVEPOINT reeve_rows", err);

	if (r >= 0)
		r = send_arrays(p, sql, rows, &n, err);
	if (r >= 0 && n < rows->n_rows)
		r = pg_exec(p, "ROLLBACK TO reeve_rows", err);
	if (r >= 0)
		r = pg_exec(p, "RELEASE reeve_rows", err);
	return r < 0 ? r : n == rows->n_rows;
}

/* As run_as_one(); 0 also where the statement is of another kind. */
static int try_as_one(struct pg *p, const char *sql, const struct db_int_rows *rows,
		      int64_t *ret_changed, struct err *err)
{
	_cleanup_free_ char *here = NULL, *arrays = NULL;
	int r = dialect_query(sql, &here);

	if (r < 0)
		return err_set(err, -EINVAL, "cannot be said to PostgreSQL: %s", sql);
	r = make_sql(here, rows->n_columns, &arrays, err);
	if (r >= 0 && arrays)
		r = run_as_one(p, arrays, rows, err);
	for (size_t i = 0; i < rows->n_rows && r > 0; i++)
		ret_changed[i] = 1;
	return r;
}

/* ---- both ---- */

static int run_one_by_one(struct db *d, const char *sql, const struct db_int_rows *rows,
			  int64_t *ret_changed, struct err *err)
{
	struct db_value none[COLUMNS_MAX] = { 0 };
	struct db_row *row;
	int r = 0;

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

int pg_run_int_rows(struct db *d, const char *sql, const struct db_int_rows *rows,
		    int64_t *ret_changed, struct err *err)
{
	int r;

	if (rows->n_columns > COLUMNS_MAX)
		return err_set(err, -EINVAL, "more than %d values", COLUMNS_MAX);
	if (rows->n_rows == 0)
		return 0;
	r = pg_settle(pg_of(d), err);
	if (r >= 0)
		r = try_as_one(pg_of(d), sql, rows, ret_changed, err);
	return r == 0 ? run_one_by_one(d, sql, rows, ret_changed, err) : r < 0 ? r : 0;
}
