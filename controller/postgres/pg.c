/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pg.c - opens a ledger in PostgreSQL, begins and ends its transactions under the writers' lock, and
 * brings its schema up to date. See pg.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/postgres/dialect.h"
#include "controller/postgres/pg.h"
#include "controller/postgres/pg_impl.h"

bool pg_is_place(const char *where)
{
	return strncmp(where, "postgresql://", 13) == 0 ||
	       strncmp(where, "postgres://", 11) == 0;
}

/* The server releases the lock of a session by itself when the connection is gone. */
static void release_lock(struct pg *p)
{
	if (p->has_lock && pq.PQstatus(p->conn) == CONNECTION_OK)
		pg_exec(p, "SELECT pg_advisory_unlock" PG_LOCK, NULL);
	p->has_lock = false;
}

static int begin_transaction(struct db *d, struct err *err)
{
	struct pg *p = pg_of(d);
	int r = pg_revive(p, err);

	if (r < 0)
		return r;
	/* Before BEGIN: the snapshot is taken by the first statement in the transaction, and has to
	 * be one of after the wait for the lock. */
	r = pg_take_lock(p, err);
	if (r < 0)
		return r;
	p->has_lock = true;
	/* What is written in a transaction is found by keys: planning again for each value took a quarter of the server's time. */
	r = pg_exec(p,
		    "BEGIN ISOLATION LEVEL REPEATABLE READ;"
		    "SET LOCAL plan_cache_mode = force_generic_plan",
		    err);
	if (r < 0)
		release_lock(p);
	return r;
}

static void rollback_transaction(struct db *d)
{
	struct pg *p = pg_of(d);

	/* First the rows that are arriving: while they do, nothing else can be sent. */
	for (size_t i = 0; i < p->n_statements; i++)
		pg_done((struct db_row *)p->statements[i]);
	pg_settle(p, NULL);
	pg_forget_asked(d);
	if (pq.PQtransactionStatus(p->conn) != PQTRANS_IDLE)
		pg_exec(p, "ROLLBACK", NULL);
	release_lock(p);
}

/* PostgreSQL answers the COMMIT of a failed transaction with a ROLLBACK that is no error: so the
 * state is checked first. */
static int commit_transaction(struct db *d, struct err *err)
{
	struct pg *p = pg_of(d);
	int r = pg_settle(p, err);

	pg_forget_asked(d);
	if (r >= 0 && pq.PQtransactionStatus(p->conn) != PQTRANS_INTRANS)
		r = err_set(err, -EIO, "database %s: the transaction had failed", p->place);
	if (r >= 0)
		r = pg_exec(p, "COMMIT", err);
	if (r < 0)
		rollback_transaction(d);
	release_lock(p);
	return r;
}

/* 0 where nothing was inserted in this session. */
static int64_t last_id(struct db *d)
{
	PGresult *result = pg_settle(pg_of(d), NULL) < 0
				   ? NULL
				   : pq.PQexec(pg_of(d)->conn, "SELECT lastval()");
	int64_t id = pq.PQresultStatus(result) == PGRES_TUPLES_OK
			     ? strtoll(pq.PQgetvalue(result, 0, 0), NULL, 10)
			     : 0;

	pq.PQclear(result);
	return id;
}

static int64_t count_changes(struct db *d)
{
	return pg_of(d)->changes;
}

static const char *database_place(const struct db *d)
{
	return ((const struct pg *)d)->place;
}

static void close_database(struct db *d)
{
	struct pg *p = pg_of(d);

	pg_forget(p);
	pg_array_forget(p);
	pg_miss_asked(p->sent + p->n_read, p->n_sent - p->n_read);
	pg_forget_asked(d);
	pq.PQfinish(p->conn);
	free(p);
}

static int set_schema(struct db *d, int version, struct err *err)
{
	char sql[64];

	snprintf(sql, sizeof(sql), "UPDATE reeve_schema SET version = %d", version);
	return pg_exec(pg_of(d), sql, err);
}

static int send_later(struct db_row *row, struct err *err)
{
	return pg_send(row, NULL, err);
}

static const struct db_ops pg_ops = {
	.close = close_database,
	.set_schema = set_schema,
	.begin = begin_transaction,
	.commit = commit_transaction,
	.rollback = rollback_transaction,
	.query = pg_query,
	.scan = pg_scan,
	.stream = pg_stream,
	.send = send_later,
	.ask = pg_ask,
	.forget_asked = pg_forget_asked,
	.run_int_rows = pg_run_int_rows,
	.add_rows = pg_add_rows,
	.step = pg_step,
	.done = pg_done,
	.get_int = pg_get_int,
	.get_text = pg_get_text,
	.get_blob = pg_get_blob,
	.is_null = pg_is_null,
	.last_id = last_id,
	.changes = count_changes,
	.place = database_place,
};

/* ---- the schema ---- */

/* In the transaction of all migrations: in PostgreSQL CREATE and ALTER are rolled back too. */
static int apply_migration(struct pg *p, const char *sql, int version, struct err *err)
{
	_cleanup_free_ char *translated = NULL;
	int r = dialect_schema(sql, &translated);

	if (r < 0)
		return err_set(err, r, "schema version %d cannot be translated for PostgreSQL",
			       version);
	/* A migration that only moves rows of older schemas is empty here. */
	if (translated[strspn(translated, " ;\n")])
		r = pg_exec(p, translated, err);
	if (r < 0)
		return err_prefix(err, r, "making schema version %d", version);
	return set_schema(&p->db, version, err);
}

/* Version 0: a new ledger. */
static int read_schema_version(struct pg *p, int *ret, struct err *err)
{
	static const char make[] =
		"CREATE TABLE IF NOT EXISTS reeve_schema(version INTEGER NOT NULL);"
		"INSERT INTO reeve_schema SELECT 0 WHERE NOT EXISTS(SELECT FROM reeve_schema)";
	PGresult *result;
	int r = pg_exec(p, make, err);

	if (r < 0)
		return r;
	result = pq.PQexec(p->conn, "SELECT version FROM reeve_schema");
	if (pq.PQresultStatus(result) != PGRES_TUPLES_OK || pq.PQntuples(result) != 1)
		return pg_fail(p, result, "reading the schema version", err);
	*ret = atoi(pq.PQgetvalue(result, 0, 0));
	pq.PQclear(result);
	return 0;
}

static int apply_migrations(struct pg *p, const char *const *migrations, struct err *err)
{
	int have = 0, known = 0, r;

	while (migrations[known])
		known++;
	/* First without the writers' lock: a migration that runs has it, for minutes while it makes an index. */
	r = pg_check_filled(p->conn, err);
	if (r >= 0)
		r = begin_transaction(&p->db, err);
	if (r < 0)
		return r;
	r = pg_check_filled(p->conn, err);
	if (r >= 0)
		r = read_schema_version(p, &have, err);
	if (r >= 0 && have > known)
		r = err_set(
			err, -EPROTO,
			"database %s has schema version %d; this program knows up to %d: use "
			"the newer program, or its reeve admin downgrade, or a backup of before "
			"the upgrade",
			p->place, have, known);
	for (; r >= 0 && have < known; have++)
		r = apply_migration(p, migrations[have], have + 1, err);
	if (r < 0) {
		rollback_transaction(&p->db);
		return r;
	}
	return commit_transaction(&p->db, err);
}

int pg_open(const char *where, const char *const *migrations, struct db **ret, struct err *err)
{
	_cleanup_(db_closep) struct db *db = NULL;
	struct pg *p;
	int r = pq_load(err);

	if (r < 0)
		return r;
	p = calloc(1, sizeof(*p));
	if (!p)
		return err_set(err, -ENOMEM, "out of memory");
	p->db.ops = &pg_ops;
	db = &p->db;
	strcpy(p->place, "PostgreSQL");
	p->conn = pq.PQconnectdb(where);
	if (!p->conn)
		return err_set(err, -ENOMEM, "out of memory");
	if (pq.PQstatus(p->conn) != CONNECTION_OK)
		return err_set(err, -ECONNREFUSED, "open the ledger: %.*s",
			       (int)strcspn(pq.PQerrorMessage(p->conn), "\n"),
			       pq.PQerrorMessage(p->conn));
	pg_place(p->conn, p->place, sizeof(p->place));
	r = pg_set_up(p, err);
	if (r >= 0)
		r = apply_migrations(p, migrations, err);
	if (r >= 0)
		*ret = TAKE_PTR(db);
	return r;
}
