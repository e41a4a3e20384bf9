/* pg_impl - the connection and its statements; shared by pg_*.c only. */
#pragma once
#include "common/db/db_impl.h"
#include "controller/postgres/pq.h"

/* The advisory lock of a ledger's writers: "reev" */
#define PG_LOCK "(1919247734, hashtext(current_schema()))"

struct pg_statement;

struct pg {
	struct db db;
	PGconn *conn;
	struct pg_statement **statements;
	size_t n_statements, size;
	int64_t changes;
	int generation; /* of the connection: what was prepared before is gone */
	bool has_lock;
	size_t n_sent; /* statements in the pipeline whose answers were not read */
	char place[256];
};

static inline struct pg *pg_of(struct db *d)
{
	return (struct pg *)d;
}

/* The statement of this text, bound; pg_rows.c. */
int pg_query(struct db *d, const char *sql, const struct db_values *values, struct db_row **ret,
	     struct err *err);
/* It is read through a cursor. */
void pg_scan(struct db_row *row);
const char *pg_name(const struct db_row *row); /* that it is prepared by */
/* Sent, its answer not waited for; pg_rows.c. */
int pg_send(struct db_row *row, struct err *err);
/* Before anything else is said to the server: reads the answers of what was sent. The first
 * error of them, after which the transaction has failed. */
int pg_settle(struct pg *p, struct err *err);
#define PG_SENT_MAX 512
/* In a pipeline; pg_pipeline.c. */
int pg_run_int_rows(struct db *d, const char *sql, const struct db_int_rows *rows,
		    int64_t *ret_changed, struct err *err);
int pg_step(struct db_row *row, struct err *err);
void pg_done(struct db_row *row);
int64_t pg_get_int(const struct db_row *row, int column);
const char *pg_get_text(const struct db_row *row, int column);
const void *pg_get_blob(const struct db_row *row, int column, size_t *ret_size);
bool pg_is_null(const struct db_row *row, int column);
void pg_forget(struct pg *p); /* frees all statements */

/* After connecting: the settings of the session. */
int pg_set_up(struct pg *p, struct err *err);
/* In a pipeline: the answer of one statement; and whatever is left up to the pipeline's end. */
int pg_take_answer(struct pg *p, int64_t *ret_changed, struct err *err);
void pg_pass_over(struct pg *p);
/* Errors of a result (NULL: of the connection), cleared. */
int pg_fail(struct pg *p, PGresult *result, const char *what, struct err *err);
/* Text without parameters, result ignored. */
int pg_exec(struct pg *p, const char *sql, struct err *err);
/* Outside of a transaction: makes a lost connection again. */
int pg_revive(struct pg *p, struct err *err);
