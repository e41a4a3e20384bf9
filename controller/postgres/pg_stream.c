/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pg_stream.c - reads the rows of a large answer while the server makes them: COPY (SELECT ...) TO
 * STDOUT. See pg_impl.h.
 *
 * libpq keeps the answer of a SELECT until its last row has come, in memory of its own. COPY passes
 * one line per row, and the caller decodes a row while the server makes the next ones: four times
 * less cpu time here for 100,000 rows of the queue (docs/performance.md).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/postgres/pg_impl.h"

/* ---- the statement: COPY takes no parameters, so that the values are written into it ---- */

static int write_text(struct pg *p, FILE *to, const struct db_value *v, struct err *err)
{
	char *literal;

	if (!v->data) {
		fputs("NULL::text", to);
		return 0;
	}
	/* Doubles quotes and backslashes by the connection's own settings. */
	literal = pq.PQescapeLiteral(p->conn, v->data, v->size);
	if (!literal)
		return pg_fail(p, NULL, "a text of a statement", err);
	fprintf(to, "%s::text", literal);
	pq.PQfreemem(literal);
	return 0;
}

static int write_value(struct pg *p, FILE *to, const struct db_value *v, struct err *err)
{
	if (v->kind == DB_TEXT)
		return write_text(p, to, v, err);
	if (v->kind != DB_INT)
		return err_set(err, -EINVAL, "a streamed statement takes numbers and texts");
	fprintf(to, "'%lld'::bigint", (long long)v->number);
	return 0;
}

/* Writes `sql` with the values in the place of $1, $2 ... outside of quoted texts and names. */
static int write_statement(struct pg *p, FILE *to, const char *sql,
			   const struct db_values *values, struct err *err)
{
	char quote = 0;
	int r = 0;

	while (*sql && r >= 0) {
		char *end;
		size_t n;

		if (*sql != '$' || quote) {
			if (*sql == quote)
				quote = 0;
			else if (!quote && (*sql == '\'' || *sql == '"'))
				quote = *sql;
			fputc(*sql++, to);
			continue;
		}
		n = strtoul(sql + 1, &end, 10);
		if (n < 1 || n > values->n)
			return err_set(err, -EINVAL, "a statement has no value $%zu", n);
		r = write_value(p, to, &values->v[n - 1], err);
		sql = end;
	}
	return r;
}

static int make_copy(struct pg *p, const char *sql, const struct db_values *values, char **ret,
		     struct err *err)
{
	size_t size;
	FILE *to = open_memstream(ret, &size);
	int r;

	if (!to)
		return err_set(err, -ENOMEM, "out of memory");
	fputs("COPY (", to);
	r = write_statement(p, to, sql, values, err);
	fputs(") TO STDOUT", to);
	if (fclose(to) != 0 && r >= 0)
		r = err_set(err, -ENOMEM, "out of memory");
	return r;
}

/* ---- rows ---- */

/* Ends a text in COPY's escapes in place; NULL for \N. */
static char *unescape(char *text)
{
	static const char letters[] = "bfnrtv", bytes[] = "\b\f\n\r\t\v";
	char *from = strchr(text, '\\'), *to = from;

	if (strcmp(text, "\\N") == 0)
		return NULL;
	for (; from && *from; from++, to++) {
		const char *letter;

		*to = *from;
		if (*from != '\\' || !from[1])
			continue;
		letter = strchr(letters, *++from);
		*to = letter ? bytes[letter - letters] : *from;
	}
	if (to)
		*to = '\0';
	return text;
}

/* Cuts a line, which ends with a newline, into its columns. */
static int split_line(struct pg *p, struct pg_stream *s, size_t size, struct err *err)
{
	bool has_escapes = memchr(s->line, '\\', size) != NULL;
	char *at = s->line, *last = s->line + size - 1;
	size_t n = 0;

	*last = '\t';
	while (at <= last && n < s->n_columns) {
		char *end = memchr(at, '\t', (size_t)(last - at) + 1);

		*end = '\0';
		s->columns[n++] = has_escapes ? unescape(at) : at;
		at = end + 1;
	}
	if (n == s->n_columns && at > last)
		return 1;
	return err_set(err, -EBADMSG, "database %s: a row has other columns than its statement",
		       p->place);
}

static void drop_line(struct pg_stream *s)
{
	pq.PQfreemem(s->line);
	s->line = NULL;
}

/* Reads the result behind the last row, which says whether all rows came, and the NULL behind it.
 * Where libpq had no memory for a row, the result says that COPY goes on: the next PQexec() drops
 * the rest. */
static int end_stream(struct pg *p, struct err *err)
{
	PGresult *result = pq.PQgetResult(p->conn);
	bool is_copying = pq.PQresultStatus(result) == PGRES_COPY_OUT;
	int r = 0;

	p->is_streaming = false;
	if (pq.PQresultStatus(result) != PGRES_COMMAND_OK)
		r = pg_fail(p, result, "reading rows", err);
	else
		pq.PQclear(result);
	if (!is_copying)
		pq.PQclear(pq.PQgetResult(p->conn));
	return r;
}

int pg_stream_begin(struct pg *p, struct pg_stream *s, const char *sql,
		    const struct db_values *values, struct err *err)
{
	_cleanup_free_ char *copy = NULL;
	PGresult *result;
	int r = pg_settle(p, err);

	if (r >= 0)
		r = make_copy(p, sql, values, &copy, err);
	if (r < 0)
		return r;
	result = pq.PQexec(p->conn, copy);
	if (pq.PQresultStatus(result) != PGRES_COPY_OUT)
		return pg_fail(p, result, sql, err);
	p->is_streaming = s->is_open = true;
	s->n_columns = (size_t)pq.PQnfields(result);
	pq.PQclear(result);
	s->columns = calloc(s->n_columns, sizeof(*s->columns));
	return s->columns ? 0 : err_set(err, -ENOMEM, "out of memory");
}

int pg_stream_next(struct pg *p, struct pg_stream *s, struct err *err)
{
	int size;

	drop_line(s);
	size = pq.PQgetCopyData(p->conn, &s->line, false);
	if (size > 0)
		return split_line(p, s, (size_t)size, err);
	s->is_open = false;
	return end_stream(p, err);
}

void pg_stream_done(struct pg *p, struct pg_stream *s)
{
	drop_line(s);
	if (s->is_open) {
		while (pq.PQgetCopyData(p->conn, &s->line, false) > 0)
			drop_line(s);
		end_stream(p, NULL);
	}
	free(s->columns);
	*s = (struct pg_stream){ 0 };
}
