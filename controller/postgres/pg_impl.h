/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pg_impl - the connection and its statements; shared by the files of this folder only.
 *
 * pg_fail.c has errors, pg_conn.c the connection, pg_rows.c statements with values and their rows,
 * pg_stream.c rows that are read while they arrive, pg_pipeline.c statements for many rows, pg_array.c
 * such as one statement, pg_asked.c queries that are sent ahead, pg_answers.c their answers, pg_copy.c rows that are added to a table as a stream, pg_filled.c what must be known first, pg.c transactions
 * and the schema.
 */
#pragma once
#include "common/db/db_impl.h"
#include "controller/postgres/pq.h"

/* The advisory lock of a ledger's writers: a class, "reev" as a number, and the ledger's schema. */
#define PG_LOCK "(1919247734, hashtext(current_schema()))"

/* A server ends the statement of a client that was killed, and gives its locks back, within a second, not when the statement is done:
 * an index of a large ledger takes minutes. Servers before 14, or on systems that cannot tell, do not know the setting. */
#define PG_NOTICE_LOST_CLIENT                                                                  \
	"DO $$ BEGIN PERFORM set_config('client_connection_check_interval', '1s', false);"     \
	" EXCEPTION WHEN OTHERS THEN NULL; END $$"

struct pg_statement;
struct pg_asked;
struct pg_arrays;

/* Statements in a pipeline at a time. */
#define PG_SENT_MAX 512

struct pg {
	struct db db; /* first: a struct db * is one of these */
	PGconn *conn;
	struct pg_statement **statements;
	size_t n_statements, size;
	int64_t changes; /* rows that the last statement changed */
	/* Of the connection: grows when it is made again. A statement that was prepared in an earlier
	 * one is unknown to the server and is prepared again. */
	int generation;
	bool has_lock;	    /* PG_LOCK is ours, from before BEGIN until after the end */
	size_t n_sent;	    /* statements in the pipeline; 0: the connection is in none */
	size_t n_read;	    /* whose answers were read */
	size_t n_requested; /* whose answers the server is to send at once */
	struct pg_asked *sent[PG_SENT_MAX]; /* what each of them is; NULL: no query */
	struct pg_asked *asked;		    /* queries sent ahead, which have not been run */
	struct pg_arrays *arrays;	    /* statements that were prepared for arrays */
	bool is_streaming; /* rows of a COPY are arriving: no other statement may run */
	char place[256];   /* for messages: "NAME on HOST, schema S" */
};

static inline struct pg *pg_of(struct db *d)
{
	return (struct pg *)d;
}

/* pg_type.oid */
#define PG_TYPE_BYTEA 17
#define PG_TYPE_INT8 20
#define PG_TYPE_TEXT 25

/* ---- pg_rows.c: as the members of struct db_ops of these names (db_impl.h) ---- */

int pg_query(struct db *d, const char *sql, const struct db_values *values, struct db_row **ret,
	     struct err *err);
/* The answer will be read through a cursor, some thousand rows at a time. */
void pg_scan(struct db_row *row);
/* The answer will be read while it arrives: pg_stream.c. */
void pg_stream(struct db_row *row);
const char *pg_name(const struct db_row *row); /* the server's name of the prepared statement */
/* Sends the bound statement in a pipeline. Its answer is read by pg_settle(), and kept in *asked unless that is NULL. */
int pg_send(struct db_row *row, struct pg_asked *asked, struct err *err);
int pg_step(struct db_row *row, struct err *err);
void pg_done(struct db_row *row);
int64_t pg_get_int(const struct db_row *row, int column);
const char *pg_get_text(const struct db_row *row, int column);
const void *pg_get_blob(const struct db_row *row, int column, size_t *ret_size);
bool pg_is_null(const struct db_row *row, int column);
void pg_forget(struct pg *p); /* frees all statements */
/* dialect_query() with a message. *ret is malloc()ed. */
int pg_translate(const char *sql, char **ret, struct err *err);

/* ---- pg_stream.c ---- */

struct pg_stream {
	bool is_open;	/* the connection has more rows of it */
	char *line;	/* the current row, cut into columns; libpq's */
	char **columns; /* point into line; NULL: the value is NULL */
	size_t n_columns;
};
/* Runs a translated SELECT. After an error too the caller needs pg_stream_done(). */
int pg_stream_begin(struct pg *p, struct pg_stream *s, const char *sql,
		    const struct db_values *values, struct err *err);
/* 1: a row; 0: that was all of them, and the server said so; < 0: some or all are missing. */
int pg_stream_next(struct pg *p, struct pg_stream *s, struct err *err);
/* Reads and drops the rows that are left. */
void pg_stream_done(struct pg *p, struct pg_stream *s);

/* ---- pg_pipeline.c ---- */

/* db_ops.run_int_rows, in the transaction under way. */
int pg_run_int_rows(struct db *d, const char *sql, const struct db_int_rows *rows,
		    int64_t *ret_changed, struct err *err);

/* ---- pg_array.c ---- */

/* Makes "INSERT INTO t VALUES($1, $2) ...", with the parameters in order, read from arrays: "INSERT INTO t SELECT * FROM
 * unnest($1::bigint[], $2::text[]) ...", and "UPDATE t SET a = $1 WHERE b = $2": "UPDATE t SET a = v.c1 FROM unnest(...) AS v(c1, c2)
 * WHERE b = v.c2". *ret is malloc()ed; NULL: the statement has another form. */
int pg_array_sql(const char *sql, const struct db_table *t, char **ret, struct err *err);
/* Runs it. A column has numbers, texts or blobs; *ret_n: how many rows were inserted or changed. */
int pg_array_run(struct pg *p, const char *sql, const struct db_table *t, size_t *ret_n,
		 struct err *err);
/* `sql` is the ledger's, for one row: prepares it for arrays, once, and sends it in the pipeline. A column always has the same kind of
 * value. -EINVAL: the statement has another form. */
int pg_array_send(struct db *d, const char *sql, const struct db_table *t, struct err *err);
void pg_array_forget(struct pg *p);

/* ---- pg_asked.c ---- */

/* db_ops.ask */
int pg_ask(struct db *d, const char *sql, const struct db_values *values, struct err *err);

/* ---- pg_answers.c ---- */

/* The values are copied. NULL: out of memory. */
struct pg_asked *pg_new_asked(const char *sql, const struct db_values *values);
void pg_free_asked(struct pg_asked *a);
/* It was sent: its answer will be kept. */
void pg_add_asked(struct pg *p, struct pg_asked *a);
/* NULL: this query was not sent ahead. */
struct pg_asked *pg_find_asked(const struct pg *p, const char *sql,
			       const struct db_values *values);
bool pg_has_arrived(const struct pg_asked *a);
/* Frees *a; its answer, which has arrived, is the caller's. NULL: it is lost. */
PGresult *pg_take_asked(struct pg *p, struct pg_asked *a);
/* db_ops.forget_asked */
void pg_forget_asked(struct db *d);
/* In a pipeline: reads the answer of a query. */
int pg_receive_asked(struct pg *p, struct pg_asked *a, struct err *err);
/* The answers of these statements will not come. */
void pg_miss_asked(struct pg_asked *const *sent, size_t n);

/* ---- pg_copy.c ---- */

/* db_ops.add_rows, in the transaction under way. */
int pg_add_rows(struct db *d, const char *sql, const struct db_table *rows, struct err *err);

/* ---- pg_fail.c ---- */

/* Sets *err from a result (NULL: from the connection) and clears the result. Returns the -errno of
 * its SQLSTATE. */
int pg_fail(struct pg *p, PGresult *result, const char *what, struct err *err);
/* The length of the first line: libpq's messages have a line for the error and more for its context. */
int pg_first_line(const char *text);

/* ---- pg_conn.c ---- */

/* Before a statement is sent in the pipeline, and after: it is a query that was asked ahead, or NULL. */
int pg_enter_pipeline(struct pg *p, struct err *err);
void pg_note_sent(struct pg *p, struct pg_asked *asked);
/* Reads the answers of the statements that were sent in the pipeline, before anything else is sent to the
 * server. Returns the first error among them, after which the transaction has failed. -EBUSY: the
 * rows of a stream are being read. */
int pg_settle(struct pg *p, struct err *err);
/* Reads answers until that of this query has arrived, and leaves those behind it. After an error as pg_settle(). */
int pg_await(struct pg *p, const struct pg_asked *a, struct err *err);
/* Takes PG_LOCK for the session. Waits up to lock_timeout; -EBUSY: another writer has it. */
int pg_take_lock(struct pg *p, struct err *err);
/* Sets up a new session, and begins a new generation of prepared statements. */
int pg_set_up(struct pg *p, struct err *err);
/* In a pipeline: reads the answer of one statement, which has to be a command without rows. */
int pg_take_answer(struct pg *p, int64_t *ret_changed, struct err *err);
/* Reads and drops what is left, up to the pipeline's end or the connection's. */
void pg_pass_over(struct pg *p);
/* Runs SQL without parameters, one statement or several; rows are dropped. */
int pg_exec(struct pg *p, const char *sql, struct err *err);
/* Outside of a transaction: makes a lost connection again. In one: -EIO, because the transaction was
 * lost with the connection. */
int pg_revive(struct pg *p, struct err *err);

/* ---- pg_filled.c: of a connection that is not a struct pg, too ---- */

/* "NAME on HOST, schema S" */
void pg_place(PGconn *conn, char *ret, size_t size);
/* A ledger that `reeve admin migrate` has begun to fill (ledger/migrate) is not used before all of it is there and was compared: -EBUSY.
 * Waits for no lock of a writer. */
int pg_check_filled(PGconn *conn, struct err *err);
