/* SPDX-License-Identifier: GPL-2.0-or-later */
/* db.c - the calls of db.h that are the same for every database: reading the values that a statement
 * is bound to, transactions with their guard and listener, rows gathered for one table, and reading one row. What differs is
 * behind struct db_ops (db_impl.h). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/db/db_impl.h"
#include "common/err.h"

struct db *db_close(struct db *d)
{
	if (d)
		d->ops->close(d);
	return NULL;
}

int db_cache(struct db *d, int64_t bytes, struct err *err)
{
	return d->ops->cache ? d->ops->cache(d, bytes, err) : 0;
}

int db_set_schema(struct db *d, int version, struct err *err)
{
	return d->ops->set_schema(d, version, err);
}

int db_forget_statistics(struct db *d, struct err *err)
{
	return d->ops->forget_statistics ? d->ops->forget_statistics(d, err) : 0;
}

/* What was asked for is not forgotten where it fails: is_lazy stays, and wants_lazy does not. */
int db_lazy(struct db *d, bool is_lazy, struct err *err)
{
	int r = 0;

	d->wants_lazy = is_lazy;
	if (d->ops->lazy && d->is_lazy != is_lazy)
		r = d->ops->lazy(d, is_lazy, err);
	if (r >= 0)
		d->is_lazy = is_lazy;
	return r;
}

void db_guard(struct db *d, db_guard_fn fn, void *ctx)
{
	d->guard = fn;
	d->guard_ctx = ctx;
}

void db_before_commit(struct db *d, db_guard_fn fn, void *ctx)
{
	d->before_commit = fn;
	d->commit_ctx = ctx;
}

void db_on_end(struct db *d, db_end_fn fn, void *ctx)
{
	d->on_end = fn;
	d->end_ctx = ctx;
}

bool db_is_begun(const struct db *d)
{
	return d->is_begun;
}

/* Calls the listener once for a transaction that was begun; not for a rollback without one. */
static void end_transaction(struct db *d, enum db_end how)
{
	bool was_begun = d->is_begun;

	d->is_begun = false;
	if (was_begun && d->on_end)
		d->on_end(d->end_ctx, how);
}

int db_begin(struct db *d, struct err *err)
{
	int r = d->is_lazy && !d->wants_lazy ? db_lazy(d, false, err) : 0;

	if (r >= 0)
		r = d->ops->begin(d, err);
	if (r < 0)
		return r;
	/* One that was still marked as begun ended with its connection, before this begin. */
	end_transaction(d, DB_ROLLED_BACK);
	d->is_begun = true;
	if (!d->guard)
		return 0;
	r = d->guard(d->guard_ctx, err);
	if (r < 0)
		db_rollback(d);
	return r < 0 ? r : 0;
}

int db_commit(struct db *d, struct err *err)
{
	int r = d->before_commit ? d->before_commit(d->commit_ctx, err) : 0;

	if (r < 0) {
		db_rollback(d);
		return r;
	}
	r = d->ops->commit(d, err);
	end_transaction(d, r < 0 ? DB_UNKNOWN : DB_COMMITTED);
	return r;
}

void db_rollback(struct db *d)
{
	d->ops->rollback(d);
	end_transaction(d, DB_ROLLED_BACK);
}

int db_end(struct db *d, int result, struct err *err)
{
	int r;

	if (result < 0) {
		db_rollback(d);
		return result;
	}
	r = db_commit(d, err);
	return r < 0 ? r : result;
}

struct arguments {
	const char *sql, *format;
	va_list ap;
};

/* Returns how many values there are. A text is measured here; neither it nor a blob is copied. */
static int read_values(struct arguments *from, struct db_value v[static DB_VALUES_MAX],
		       struct err *err)
{
	const char *format = from->format;
	int n = 0;

	for (; *format && n < DB_VALUES_MAX; format++, n++)
		switch (*format) {
		case 'i':
			v[n] = (struct db_value){ .kind = DB_INT,
						  .number = va_arg(from->ap, int64_t) };
			break;
		case 't':
			v[n] = (struct db_value){ .kind = DB_TEXT,
						  .data = va_arg(from->ap, const char *) };
			v[n].size = v[n].data ? strlen(v[n].data) : 0;
			break;
		case 'b':
			v[n] = (struct db_value){ .kind = DB_BLOB,
						  .data = va_arg(from->ap, const void *) };
			v[n].size = va_arg(from->ap, size_t);
			break;
		default:
			return err_set(err, -EINVAL, "'%c' is no kind of value", *format);
		}
	return *format ? err_set(err, -EINVAL, "more than %d values", DB_VALUES_MAX) : n;
}

static int query_values(struct db *d, struct arguments *from, struct db_row **ret,
			struct err *err)
{
	struct db_value v[DB_VALUES_MAX];
	int n = read_values(from, v, err);

	return n < 0 ? n
		     : d->ops->query(d, from->sql, &(struct db_values){ v, (size_t)n }, ret,
				     err);
}

int db_query(struct db *d, struct err *err, struct db_row **ret, const char *sql,
	     const char *format, ...)
{
	struct arguments from = { .sql = sql, .format = format };
	int r;

	va_start(from.ap, format);
	r = query_values(d, &from, ret, err);
	va_end(from.ap);
	return r;
}

void db_scan(struct db_row *row)
{
	if (row->db->ops->scan)
		row->db->ops->scan(row);
}

void db_stream(struct db_row *row)
{
	if (row->db->ops->stream)
		row->db->ops->stream(row);
}

/* Rows that a statement returns (RETURNING) are read and dropped. */
static int step_to_end(struct db *d, struct db_row *row, struct err *err)
{
	int r;

	do
		r = db_step(d, row, err);
	while (r > 0);
	return r;
}

static int query_first(struct db *d, struct arguments *from, struct db_row **ret,
		       struct err *err)
{
	int r = query_values(d, from, ret, err);

	return r < 0 ? r : db_step(d, *ret, err);
}

int db_query_first(struct db *d, struct err *err, struct db_row **ret, const char *sql,
		   const char *format, ...)
{
	struct arguments from = { .sql = sql, .format = format };
	int r;

	va_start(from.ap, format);
	r = query_first(d, &from, ret, err);
	va_end(from.ap);
	return r;
}

int db_query_int(struct db *d, struct err *err, int64_t *ret, const char *sql,
		 const char *format, ...)
{
	struct arguments from = { .sql = sql, .format = format };
	struct db_row *row;
	int r;

	va_start(from.ap, format);
	r = query_first(d, &from, &row, err);
	va_end(from.ap);
	if (r <= 0)
		return r;
	*ret = db_int(row, 0);
	db_done(row);
	return 1;
}

int db_has_row(struct db *d, struct err *err, const char *sql, const char *format, ...)
{
	struct arguments from = { .sql = sql, .format = format };
	struct db_row *row;
	int r;

	va_start(from.ap, format);
	r = query_first(d, &from, &row, err);
	va_end(from.ap);
	if (r > 0)
		db_done(row);
	return r;
}

int db_run(struct db *d, struct err *err, const char *sql, const char *format, ...)
{
	struct arguments from = { .sql = sql, .format = format };
	struct db_row *row;
	int r;

	va_start(from.ap, format);
	r = query_values(d, &from, &row, err);
	va_end(from.ap);
	return r < 0 ? r : step_to_end(d, row, err);
}

/* Sends the bound statement where the answer can wait, else runs it. */
static int run_later(struct db *d, struct db_row *row, struct err *err)
{
	return d->ops->send && d->is_begun ? d->ops->send(row, err) : step_to_end(d, row, err);
}

int db_run_later(struct db *d, struct err *err, const char *sql, const char *format, ...)
{
	struct arguments from = { .sql = sql, .format = format };
	struct db_row *row;
	int r;

	va_start(from.ap, format);
	r = query_values(d, &from, &row, err);
	va_end(from.ap);
	if (r < 0)
		return r;
	return run_later(d, row, err);
}

/* ---- asked ahead ---- */

int db_ask(struct db *d, struct err *err, const char *sql, const char *format, ...)
{
	struct arguments from = { .sql = sql, .format = format };
	struct db_value v[DB_VALUES_MAX];
	int n;

	if (!d->ops->ask)
		return 0;
	va_start(from.ap, format);
	n = read_values(&from, v, err);
	va_end(from.ap);
	return n < 0 ? n : d->ops->ask(d, sql, &(struct db_values){ v, (size_t)n }, err);
}

void db_forget_asked(struct db *d)
{
	if (d->ops->forget_asked)
		d->ops->forget_asked(d);
}

/* ---- many values ---- */

static size_t bind_ints(const struct db_ints *ints, struct db_value v[static DB_VALUES_MAX])
{
	for (size_t i = 0; i < ints->n; i++)
		v[i] = (struct db_value){ .kind = ints->values[i] == ints->null ? DB_NULL
										: DB_INT,
					  .number = ints->values[i] };
	return ints->n;
}

int db_query_ints(struct db *d, const char *sql, const struct db_ints *ints,
		  struct db_row **ret, struct err *err)
{
	struct db_value v[DB_VALUES_MAX];
	size_t n;

	if (ints->n > DB_VALUES_MAX)
		return err_set(err, -EINVAL, "more than %d values", DB_VALUES_MAX);
	n = bind_ints(ints, v);
	return d->ops->query(d, sql, &(struct db_values){ v, n }, ret, err);
}

int db_ask_ints(struct db *d, const char *sql, const struct db_ints *ints, struct err *err)
{
	struct db_value v[DB_VALUES_MAX];
	size_t n;

	if (!d->ops->ask)
		return 0;
	if (ints->n > DB_VALUES_MAX)
		return err_set(err, -EINVAL, "more than %d values", DB_VALUES_MAX);
	n = bind_ints(ints, v);
	return d->ops->ask(d, sql, &(struct db_values){ v, n }, err);
}

int db_query_texts(struct db *d, const char *sql, const struct db_texts *texts,
		   struct db_row **ret, struct err *err)
{
	struct db_value v[DB_VALUES_MAX];

	if (texts->n > DB_VALUES_MAX)
		return err_set(err, -EINVAL, "more than %d values", DB_VALUES_MAX);
	for (size_t i = 0; i < texts->n; i++)
		v[i] = (struct db_value){ .kind = DB_TEXT,
					  .data = texts->v[i],
					  .size = strlen(texts->v[i]) };
	return d->ops->query(d, sql, &(struct db_values){ v, texts->n }, ret, err);
}

int db_run_ints(struct db *d, const char *sql, const struct db_ints *ints, struct err *err)
{
	struct db_row *row;
	int r = db_query_ints(d, sql, ints, &row, err);

	return r < 0 ? r : step_to_end(d, row, err);
}

int db_run_ints_later(struct db *d, const char *sql, const struct db_ints *ints,
		      struct err *err)
{
	struct db_row *row;
	int r = db_query_ints(d, sql, ints, &row, err);

	return r < 0 ? r : run_later(d, row, err);
}

int db_run_int_rows(struct db *d, const char *sql, const struct db_int_rows *rows,
		    int64_t *ret_changed, struct err *err)
{
	int r = 0;

	if (d->ops->run_int_rows)
		return d->ops->run_int_rows(d, sql, rows, ret_changed, err);
	for (size_t i = 0; i < rows->n_rows && r >= 0; i++) {
		const struct db_ints one = { rows->values + i * rows->n_columns,
					     rows->n_columns, rows->null };

		r = db_run_ints(d, sql, &one, err);
		if (r >= 0)
			ret_changed[i] = db_changes(d);
	}
	return r;
}

/* ---- many rows of one table ---- */

static int make_room(struct db_rows *r, size_t n_columns, struct err *err)
{
	size_t room = r->room ? 2 * r->room : 64;
	struct db_value *p;

	if (r->n < r->room)
		return 0;
	p = reallocarray(r->values, room * n_columns, sizeof(*p));
	if (!p)
		return err_set(err, -ENOMEM, "out of memory");
	r->values = p;
	r->room = room;
	return 0;
}

int db_rows_add(struct db_rows *r, struct err *err, ...)
{
	struct arguments from = { .sql = r->sql, .format = r->format };
	size_t n_columns = strlen(r->format);
	struct db_value v[DB_VALUES_MAX];
	int n;

	va_start(from.ap, err);
	n = read_values(&from, v, err);
	va_end(from.ap);
	if (n >= 0)
		n = make_room(r, n_columns, err);
	if (n < 0)
		return n;
	memcpy(r->values + r->n++ * n_columns, v, n_columns * sizeof(*v));
	return 0;
}

/* One after the other, where the database has no better way. */
static int add_one_by_one(struct db *d, const char *sql, const struct db_table *t,
			  struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < t->n_rows && r >= 0; i++) {
		const struct db_values one = { t->v + i * t->n_columns, t->n_columns };
		struct db_row *row;

		r = d->ops->query(d, sql, &one, &row, err);
		if (r >= 0)
			r = step_to_end(d, row, err);
	}
	return r;
}

int db_rows_write(struct db *d, struct db_rows *r, struct err *err)
{
	const struct db_table t = { r->values, r->n, strlen(r->format), r->are_new };

	r->n = 0;
	if (!t.n_rows)
		return 0;
	return (d->ops->add_rows ? d->ops->add_rows : add_one_by_one)(d, r->sql, &t, err);
}

void db_rows_done(struct db_rows *r)
{
	free(r->values);
	r->values = NULL;
	r->n = r->room = 0;
}

int db_step(struct db *d, struct db_row *row, struct err *err)
{
	return d->ops->step(row, err);
}

void db_done(struct db_row *row)
{
	row->db->ops->done(row);
}

int64_t db_int(const struct db_row *row, int column)
{
	return row->db->ops->get_int(row, column);
}

const char *db_text(const struct db_row *row, int column)
{
	return row->db->ops->get_text(row, column);
}

const void *db_blob(const struct db_row *row, int column, size_t *ret_size)
{
	return row->db->ops->get_blob(row, column, ret_size);
}

bool db_is_null(const struct db_row *row, int column)
{
	return row->db->ops->is_null(row, column);
}

int64_t db_last_id(struct db *d)
{
	return d->ops->last_id(d);
}

int64_t db_changes(struct db *d)
{
	return d->ops->changes(d);
}

const char *db_place(const struct db *d)
{
	return d->ops->place(d);
}
