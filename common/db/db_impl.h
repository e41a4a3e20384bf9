/* SPDX-License-Identifier: GPL-2.0-or-later */
/* db_impl - what a database implementation provides; only implementations include it. */
#pragma once
#include <stdarg.h>
#include "common/db/db.h"

/* A value to be bound. Texts and blobs are the caller's. */
enum db_kind { DB_NULL, DB_INT, DB_TEXT, DB_BLOB };
struct db_value {
	enum db_kind kind; /* of the parameter: a NULL text has data NULL */
	int64_t number;
	const void *data;
	size_t size;
};
#define DB_VALUES_MAX 40 /* of one statement */
struct db_values {
	const struct db_value *v;
	size_t n; /* at most DB_VALUES_MAX */
};

/* Rows with the same columns, one after the other. */
struct db_table {
	const struct db_value *v;
	size_t n_rows, n_columns;
	bool are_new; /* as of struct db_rows */
};

/* As db.h says of the function of the same name. */
struct db_ops {
	void (*close)(struct db *d);
	int (*cache)(struct db *d, int64_t bytes, struct err *err); /* NULL: has none */
	int (*lazy)(struct db *d, bool is_lazy,
		    struct err *err); /* NULL: every commit is synced */
	int (*forget_statistics)(struct db *d,
				 struct err *err); /* NULL: the server needs them */
	int (*set_schema)(struct db *d, int version, struct err *err);
	int (*begin)(struct db *d, struct err *err);
	int (*commit)(struct db *d, struct err *err);
	void (*rollback)(struct db *d);
	/* Prepared and kept by the address of `sql`; bound; not yet run. */
	int (*query)(struct db *d, const char *sql, const struct db_values *values,
		     struct db_row **ret, struct err *err);
	void (*scan)(struct db_row *row);   /* NULL: every answer is read row by row */
	void (*stream)(struct db_row *row); /* NULL: every answer is read row by row */
	/* Runs the statement without waiting; NULL: it is run at once. */
	int (*send)(struct db_row *row, struct err *err);
	/* NULL: every query is run when it is made. */
	int (*ask)(struct db *d, const char *sql, const struct db_values *values,
		   struct err *err);
	void (*forget_asked)(struct db *d);
	/* NULL: one after the other. */
	int (*run_int_rows)(struct db *d, const char *sql, const struct db_int_rows *rows,
			    int64_t *ret_changed, struct err *err);
	/* NULL: one after the other. */
	int (*add_rows)(struct db *d, const char *sql, const struct db_table *rows,
			struct err *err);
	int (*step)(struct db_row *row, struct err *err);
	void (*done)(struct db_row *row);
	int64_t (*get_int)(const struct db_row *row, int column);
	const char *(*get_text)(const struct db_row *row, int column);
	const void *(*get_blob)(const struct db_row *row, int column, size_t *ret_size);
	bool (*is_null)(const struct db_row *row, int column);
	int64_t (*last_id)(struct db *d);
	int64_t (*changes)(struct db *d);
	const char *(*place)(const struct db *d);
};

/* The first member of the implementation's own structs. */
struct db {
	const struct db_ops *ops;
	db_guard_fn guard; /* NULL: none */
	void *guard_ctx;
	db_guard_fn before_commit; /* NULL: none */
	void *commit_ctx;
	db_end_fn on_end; /* NULL: none */
	void *end_ctx;
	bool is_lazy, wants_lazy; /* commits are not synced; and shall not be */
	bool is_begun;		  /* between db_begin() and the end of its transaction */
};
struct db_row {
	struct db *db;
};
