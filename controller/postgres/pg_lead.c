/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pg_lead.c - lock, lease and epoch of the leading controller. See pg_lead.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "common/clock.h"
#include "common/err.h"
#include "controller/postgres/pg_impl.h"
#include "controller/postgres/pg_lead.h"

#define LEAD_CLASS "1919247735" /* one more than that of PG_LOCK */
#define LEAD_LOCK "(" LEAD_CLASS ", hashtext(current_schema()))"
#define NAME_MAX_BYTES 64 /* of an application_name: PostgreSQL's NAMEDATALEN, with the 0 */

struct pg_lead {
	PGconn *conn;
	char *where, *me, *place;
	int64_t lease_ns, epoch; /* epoch 0: does not lead */
	bool has_lock;		 /* LEAD_LOCK is this session's */
	/* The row as it was last read, and since when it has not changed: CLOCK_MONOTONIC, 0: it was
	 * not read yet. */
	int64_t seen_epoch, seen_beat, still_since_ns;
	char who[256];
};

/* ---- statements ---- */

/* Clears the result. */
static int set_lead_error(struct pg_lead *l, PGresult *result, struct err *err)
{
	const char *said = pq.PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
	int r;

	if (!said)
		said = pq.PQerrorMessage(l->conn);
	r = err_set(err, -EIO, "who leads the ledger: %.*s", (int)strcspn(said, "\n"), said);
	pq.PQclear(result);
	return r;
}

struct lead_query {
	const char *sql;
	const char *const *values;
	int n_values;
};

/* Returns how many rows there were, or were changed. *ret (NULL: not wanted) is the result, to be
 * cleared after success. */
static int query_lead(struct pg_lead *l, struct lead_query a, PGresult **ret, struct err *err)
{
	PGresult *result =
		pq.PQexecParams(l->conn, a.sql, a.n_values, NULL, a.values, NULL, NULL, 0);
	ExecStatusType status = pq.PQresultStatus(result);
	int n;

	if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
		return set_lead_error(l, result, err);
	n = status == PGRES_TUPLES_OK ? pq.PQntuples(result) : atoi(pq.PQcmdTuples(result));
	if (ret)
		*ret = result;
	else
		pq.PQclear(result);
	return n;
}

/* One statement or several, without parameters; rows are dropped. */
static int exec_lead(struct pg_lead *l, const char *sql, struct err *err)
{
	PGresult *result = pq.PQexec(l->conn, sql);
	ExecStatusType status = pq.PQresultStatus(result);

	if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
		return set_lead_error(l, result, err);
	pq.PQclear(result);
	return 0;
}

/* Of the first row. */
static int64_t column_number(PGresult *result, int column)
{
	return strtoll(pq.PQgetvalue(result, 0, column), NULL, 10);
}

/* ---- the connection ---- */

static const char name_sql[] = "SELECT set_config('application_name', 'reeve-lead-' ||"
			       " hashtext(current_schema()) || '-' || $1, false)";

/* Names the connection after its epoch, and makes l->place of the same name. */
static int set_epoch_name(struct pg_lead *l, struct err *err)
{
	char epoch[24];
	const char *values[] = { epoch };
	PGresult *result;
	int r;

	snprintf(epoch, sizeof(epoch), "%" PRId64, l->epoch);
	r = query_lead(l, (struct lead_query){ name_sql, values, 1 }, &result, err);
	if (r < 0)
		return r;
	free(l->place);
	r = asprintf(&l->place, "%s%capplication_name=%.*s", l->where,
		     strchr(l->where, '?') ? '&' : '?', NAME_MAX_BYTES,
		     pq.PQgetvalue(result, 0, 0));
	pq.PQclear(result);
	if (r >= 0)
		return 0;
	l->place = NULL;
	return err_set(err, -ENOMEM, "out of memory");
}

/* The first controller makes the table. It is no part of the ledger's schema: a controller may bring
 * that up to date only after it leads, which needs this table. */
static int make_table(struct pg_lead *l, struct err *err)
{
	PGresult *result;
	int r = query_lead(
		l, (struct lead_query){ "SELECT to_regclass('reeve_lead') IS NULL", NULL, 0 },
		&result, err);
	bool is_missing = r > 0 && pq.PQgetvalue(result, 0, 0)[0] == 't';

	if (r < 0)
		return r;
	pq.PQclear(result);
	if (!is_missing)
		return 0;
	return exec_lead(l,
			 "SELECT pg_advisory_xact_lock" PG_LOCK ";"
			 "CREATE TABLE IF NOT EXISTS reeve_lead(epoch BIGINT NOT NULL,"
			 " beat BIGINT NOT NULL, who TEXT NOT NULL);"
			 "INSERT INTO reeve_lead SELECT 0, 0, ''"
			 " WHERE NOT EXISTS(SELECT FROM reeve_lead)",
			 err);
}

/* A new connection: none of the old session's locks is left. A leader gets its name again. */
static int set_up_session(struct pg_lead *l, struct err *err)
{
	int r;

	l->has_lock = false;
	if (pq.PQstatus(l->conn) != CONNECTION_OK) {
		const char *said = pq.PQerrorMessage(l->conn);

		return err_set(err, -ECONNREFUSED, "open the ledger: %.*s",
			       (int)strcspn(said, "\n"), said);
	}
	r = exec_lead(l,
		      "SET lock_timeout = '5s'; SET synchronous_commit = on;"
		      "SET client_min_messages = warning;" PG_NOTICE_LOST_CLIENT,
		      err);
	/* A migration that runs has the writers' lock, so this comes before anything that takes it. */
	if (r >= 0)
		r = pg_check_filled(l->conn, err);
	if (r >= 0)
		r = make_table(l, err);
	if (r >= 0 && l->epoch)
		r = set_epoch_name(l, err);
	return r;
}

static int reset_connection(struct pg_lead *l, struct err *err)
{
	if (pq.PQstatus(l->conn) == CONNECTION_OK)
		return 0;
	pq.PQreset(l->conn);
	return set_up_session(l, err);
}

int pg_lead_open(const struct pg_lead_config *c, struct pg_lead **ret, struct err *err)
{
	_cleanup_(pg_lead_closep) struct pg_lead *l = NULL;
	int r = pq_load(err);

	if (r < 0)
		return r;
	l = calloc(1, sizeof(*l));
	if (l) {
		l->where = strdup(c->place);
		l->me = strdup(c->me);
		l->conn = pq.PQconnectdb(c->place);
	}
	if (!l || !l->where || !l->me || !l->conn)
		return err_set(err, -ENOMEM, "out of memory");
	l->lease_ns = c->lease_ns;
	r = set_up_session(l, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(l);
	return 0;
}

struct pg_lead *pg_lead_close(struct pg_lead *l)
{
	if (!l)
		return NULL;
	if (l->conn)
		pq.PQfinish(l->conn);
	free(l->where);
	free(l->me);
	free(l->place);
	free(l);
	return NULL;
}

/* ---- who leads ---- */

/* Reads the row, and notes since when it has not changed. */
static int read_lead_row(struct pg_lead *l, struct err *err)
{
	PGresult *result;
	int64_t epoch, beat;
	int r = query_lead(
		l, (struct lead_query){ "SELECT epoch, beat, who FROM reeve_lead", NULL, 0 },
		&result, err);

	if (r < 0)
		return r;
	if (r != 1) {
		pq.PQclear(result);
		return err_set(err, -EBADMSG, "reeve_lead has %d rows; it has to have one", r);
	}
	epoch = column_number(result, 0);
	beat = column_number(result, 1);
	snprintf(l->who, sizeof(l->who), "%s", pq.PQgetvalue(result, 0, 2));
	pq.PQclear(result);
	if (!l->still_since_ns || epoch != l->seen_epoch || beat != l->seen_beat)
		l->still_since_ns = clock_ns(CLOCK_MONOTONIC);
	l->seen_epoch = epoch;
	l->seen_beat = beat;
	return 0;
}

/* 1: this session has LEAD_LOCK; 0: another has. */
static int try_lock(struct pg_lead *l, struct err *err)
{
	PGresult *result;
	int r;

	if (l->has_lock)
		return 1;
	r = query_lead(l,
		       (struct lead_query){ "SELECT pg_try_advisory_lock" LEAD_LOCK, NULL, 0 },
		       &result, err);
	if (r < 0)
		return r;
	l->has_lock = pq.PQgetvalue(result, 0, 0)[0] == 't';
	pq.PQclear(result);
	return l->has_lock;
}

/* Ends the connections that work for another epoch than ours, or have the leader's lock and are not
 * ours; the server rolls their transactions back. objsubid 2: a lock of two 32-bit keys. Waits up to
 * 5 s for each. */
static const char end_others_sql[] =
	"SELECT pg_terminate_backend(pid, 5000) FROM ("
	"SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
	" AND application_name LIKE 'reeve-lead-' || hashtext(current_schema()) || '-%'"
	" AND application_name <> current_setting('application_name')"
	" UNION SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted"
	" AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
	" AND classid = " LEAD_CLASS " AND objsubid = 2"
	" AND objid::bigint = hashtext(current_schema())::bigint & 4294967295"
	") other WHERE pid <> pg_backend_pid()";

static int end_other_leaders(struct pg_lead *l, struct err *err)
{
	int r = query_lead(l, (struct lead_query){ end_others_sql, NULL, 0 }, NULL, err);

	return r < 0 ? r : 0;
}

/* Counts the epoch up under the writers' lock: a transaction of the former leader has ended before,
 * or reads the new epoch and is refused. */
static int begin_epoch(struct pg_lead *l, struct err *err)
{
	const char *values[] = { l->me };
	PGresult *result;
	int r = exec_lead(l, "BEGIN; SELECT pg_advisory_xact_lock" PG_LOCK, err);

	if (r >= 0)
		r = query_lead(l,
			       (struct lead_query){
				       "UPDATE reeve_lead SET epoch = epoch + 1, beat = 0,"
				       " who = $1 RETURNING epoch",
				       values, 1 },
			       &result, err);
	if (r >= 0) {
		l->epoch = r > 0 ? column_number(result, 0) : 0;
		pq.PQclear(result);
		r = exec_lead(l, "COMMIT", err);
	}
	if (r < 0) {
		l->epoch = 0;
		exec_lead(l, "ROLLBACK", NULL);
	}
	return r;
}

/* With LEAD_LOCK. 1: leads. On failure the lock is released for another to try. */
static int take_over(struct pg_lead *l, struct err *err)
{
	int r = end_other_leaders(l, err);

	if (r >= 0)
		r = begin_epoch(l, err);
	if (r >= 0)
		r = set_epoch_name(l, err);
	if (r >= 0)
		return 1;
	l->epoch = 0;
	if (exec_lead(l, "SELECT pg_advisory_unlock" LEAD_LOCK, NULL) >= 0)
		l->has_lock = false;
	return r;
}

int pg_lead_try(struct pg_lead *l, struct err *err)
{
	int r = reset_connection(l, err);

	if (r >= 0)
		r = read_lead_row(l, err);
	if (r >= 0)
		r = try_lock(l, err);
	if (r > 0)
		return take_over(l, err);
	if (r < 0 || clock_ns(CLOCK_MONOTONIC) - l->still_since_ns < l->lease_ns)
		return r;
	/* The leader's beat has not changed for the lease. Its lock is free when its connection has
	 * ended: the next try gets it. */
	return end_other_leaders(l, err);
}

/* 1: the beat was counted up; 0: the row has another epoch. */
static int advance_beat(struct pg_lead *l, struct err *err)
{
	char epoch[24];
	const char *values[] = { epoch };
	int r = reset_connection(l, err);

	snprintf(epoch, sizeof(epoch), "%" PRId64, l->epoch);
	return r < 0 ? r
		     : query_lead(
			       l,
			       (struct lead_query){
				       "UPDATE reeve_lead SET beat = beat + 1 WHERE epoch = $1",
				       values, 1 },
			       NULL, err);
}

int pg_lead_keep(struct pg_lead *l, struct err *err)
{
	int r = advance_beat(l, err);

	/* A lost connection is noticed when it is used: once more with a new one. */
	if (r < 0 && pq.PQstatus(l->conn) != CONNECTION_OK)
		r = advance_beat(l, err);
	if (r == 0) {
		l->epoch = 0;
		(void)read_lead_row(l, NULL);
		return 0;
	}
	if (r < 0)
		return r;
	/* After a lost connection the server may still count the lock as that session's: then that
	 * session is ended, and the lock is tried again at the next call. */
	r = try_lock(l, err);
	if (r >= 0)
		r = end_other_leaders(l, err);
	return r < 0 ? r : 1;
}

int64_t pg_lead_epoch(const struct pg_lead *l)
{
	return l->epoch;
}

const char *pg_lead_who(const struct pg_lead *l)
{
	return l->who;
}

const char *pg_lead_place(const struct pg_lead *l)
{
	return l->place;
}
