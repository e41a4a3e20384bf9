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
#define NAME_MAX_BYTES 64 /* of a connection, with the 0 */

struct pg_lead {
	PGconn *conn;
	char *where, *me, *place;
	int64_t lease_ns, epoch; /* epoch 0: does not lead */
	bool has_lock;
	/* The row as it was last seen, and since when it stands still. */
	int64_t seen_epoch, seen_beat, still_since_ns;
	char who[256];
};

/* ---- asking ---- */

static int fail(struct pg_lead *l, PGresult *result, struct err *err)
{
	const char *said = pq.PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
	int r;

	if (!said)
		said = pq.PQerrorMessage(l->conn);
	r = err_set(err, -EIO, "who leads the ledger: %.*s", (int)strcspn(said, "\n"), said);
	pq.PQclear(result);
	return r;
}

struct ask {
	const char *sql;
	const char *const *values;
	int n_values;
};

/* The first column of the first row as a number, 0 without rows; *ret_row (may be NULL) is the
 * result. Returns how many rows there were, or were changed. */
static int ask(struct pg_lead *l, struct ask a, PGresult **ret, struct err *err)
{
	PGresult *result =
		pq.PQexecParams(l->conn, a.sql, a.n_values, NULL, a.values, NULL, NULL, 0);
	ExecStatusType status = pq.PQresultStatus(result);
	int n;

	if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
		return fail(l, result, err);
	n = status == PGRES_TUPLES_OK ? pq.PQntuples(result) : atoi(pq.PQcmdTuples(result));
	if (ret)
		*ret = result;
	else
		pq.PQclear(result);
	return n;
}

static int tell(struct pg_lead *l, const char *sql, struct err *err)
{
	PGresult *result = pq.PQexec(l->conn, sql);
	ExecStatusType status = pq.PQresultStatus(result);

	if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
		return fail(l, result, err);
	pq.PQclear(result);
	return 0;
}

static int64_t number(PGresult *result, int column)
{
	return strtoll(pq.PQgetvalue(result, 0, column), NULL, 10);
}

/* ---- the connection ---- */

static const char name_sql[] = "SELECT set_config('application_name', 'reeve-lead-' ||"
			       " hashtext(current_schema()) || '-' || $1, false)";

/* The name that says which epoch a connection works for. */
static int take_name(struct pg_lead *l, struct err *err)
{
	char epoch[24];
	const char *values[] = { epoch };
	PGresult *result;
	int r;

	snprintf(epoch, sizeof(epoch), "%" PRId64, l->epoch);
	r = ask(l, (struct ask){ name_sql, values, 1 }, &result, err);
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

/* The table is made once, by the first controller; it is no part of the ledger's schema, because it
 * is there before any controller may bring that up to date. */
static int make_table(struct pg_lead *l, struct err *err)
{
	PGresult *result;
	int r = ask(l, (struct ask){ "SELECT to_regclass('reeve_lead') IS NULL", NULL, 0 },
		    &result, err);
	bool is_missing = r > 0 && pq.PQgetvalue(result, 0, 0)[0] == 't';

	if (r < 0)
		return r;
	pq.PQclear(result);
	if (!is_missing)
		return 0;
	return tell(l,
		    "SELECT pg_advisory_xact_lock" PG_LOCK ";"
		    "CREATE TABLE IF NOT EXISTS reeve_lead(epoch BIGINT NOT NULL,"
		    " beat BIGINT NOT NULL, who TEXT NOT NULL);"
		    "INSERT INTO reeve_lead SELECT 0, 0, ''"
		    " WHERE NOT EXISTS(SELECT FROM reeve_lead)",
		    err);
}

static int set_up(struct pg_lead *l, struct err *err)
{
	int r;

	l->has_lock = false;
	if (pq.PQstatus(l->conn) != CONNECTION_OK) {
		const char *said = pq.PQerrorMessage(l->conn);

		return err_set(err, -ECONNREFUSED, "open the ledger: %.*s",
			       (int)strcspn(said, "\n"), said);
	}
	r = tell(l,
		 "SET lock_timeout = '5s'; SET synchronous_commit = on;"
		 "SET client_min_messages = warning",
		 err);
	if (r >= 0)
		r = make_table(l, err);
	if (r >= 0 && l->epoch)
		r = take_name(l, err);
	return r;
}

static int revive(struct pg_lead *l, struct err *err)
{
	if (pq.PQstatus(l->conn) == CONNECTION_OK)
		return 0;
	pq.PQreset(l->conn);
	return set_up(l, err);
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
	r = set_up(l, err);
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

/* Notes the row, and since when it has not changed. */
static int look(struct pg_lead *l, struct err *err)
{
	PGresult *result;
	int64_t epoch, beat;
	int r = ask(l, (struct ask){ "SELECT epoch, beat, who FROM reeve_lead", NULL, 0 },
		    &result, err);

	if (r < 0)
		return r;
	if (r != 1) {
		pq.PQclear(result);
		return err_set(err, -EBADMSG, "reeve_lead has %d rows; it has to have one", r);
	}
	epoch = number(result, 0);
	beat = number(result, 1);
	snprintf(l->who, sizeof(l->who), "%s", pq.PQgetvalue(result, 0, 2));
	pq.PQclear(result);
	if (!l->still_since_ns || epoch != l->seen_epoch || beat != l->seen_beat)
		l->still_since_ns = clock_ns(CLOCK_MONOTONIC);
	l->seen_epoch = epoch;
	l->seen_beat = beat;
	return 0;
}

static int try_lock(struct pg_lead *l, struct err *err)
{
	PGresult *result;
	int r;

	if (l->has_lock)
		return 1;
	r = ask(l, (struct ask){ "SELECT pg_try_advisory_lock" LEAD_LOCK, NULL, 0 }, &result,
		err);
	if (r < 0)
		return r;
	l->has_lock = pq.PQgetvalue(result, 0, 0)[0] == 't';
	pq.PQclear(result);
	return l->has_lock;
}

/* Connections that work for another epoch than ours, or hold the leader's lock without being
 * us: ended, and with them what they had begun. */
static const char evict_sql[] =
	"SELECT pg_terminate_backend(pid, 5000) FROM ("
	"SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
	" AND application_name LIKE 'reeve-lead-' || hashtext(current_schema()) || '-%'"
	" AND application_name <> current_setting('application_name')"
	" UNION SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted"
	" AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
	" AND classid = " LEAD_CLASS " AND objsubid = 2"
	" AND objid::bigint = hashtext(current_schema())::bigint & 4294967295"
	") other WHERE pid <> pg_backend_pid()";

static int evict(struct pg_lead *l, struct err *err)
{
	int r = ask(l, (struct ask){ evict_sql, NULL, 0 }, NULL, err);

	return r < 0 ? r : 0;
}

/* A new epoch, under the writers' lock: a controller that wrote before has finished or never will. */
static int begin_epoch(struct pg_lead *l, struct err *err)
{
	const char *values[] = { l->me };
	PGresult *result;
	int r = tell(l, "BEGIN; SELECT pg_advisory_xact_lock" PG_LOCK, err);

	if (r >= 0)
		r = ask(l,
			(struct ask){ "UPDATE reeve_lead SET epoch = epoch + 1, beat = 0,"
				      " who = $1 RETURNING epoch",
				      values, 1 },
			&result, err);
	if (r >= 0) {
		l->epoch = r > 0 ? number(result, 0) : 0;
		pq.PQclear(result);
		r = tell(l, "COMMIT", err);
	}
	if (r < 0) {
		l->epoch = 0;
		tell(l, "ROLLBACK", NULL);
	}
	return r;
}

static int take_over(struct pg_lead *l, struct err *err)
{
	int r = evict(l, err);

	if (r >= 0)
		r = begin_epoch(l, err);
	if (r >= 0)
		r = take_name(l, err);
	if (r >= 0)
		return 1;
	l->epoch = 0;
	if (tell(l, "SELECT pg_advisory_unlock" LEAD_LOCK, NULL) >= 0)
		l->has_lock = false;
	return r;
}

int pg_lead_try(struct pg_lead *l, struct err *err)
{
	int r = revive(l, err);

	if (r >= 0)
		r = look(l, err);
	if (r >= 0)
		r = try_lock(l, err);
	if (r > 0)
		return take_over(l, err);
	if (r < 0 || clock_ns(CLOCK_MONOTONIC) - l->still_since_ns < l->lease_ns)
		return r;
	/* Its lock is free when its connection is over: at the next try. */
	return evict(l, err);
}

/* 1: moved on; 0: the epoch is another's. */
static int beat(struct pg_lead *l, struct err *err)
{
	char epoch[24];
	const char *values[] = { epoch };
	int r = revive(l, err);

	snprintf(epoch, sizeof(epoch), "%" PRId64, l->epoch);
	return r < 0 ? r
		     : ask(l,
			   (struct ask){
				   "UPDATE reeve_lead SET beat = beat + 1 WHERE epoch = $1",
				   values, 1 },
			   NULL, err);
}

int pg_lead_keep(struct pg_lead *l, struct err *err)
{
	int r = beat(l, err);

	/* That a connection is gone is seen when it is used; a new one knows. */
	if (r < 0 && pq.PQstatus(l->conn) != CONNECTION_OK)
		r = beat(l, err);
	if (r == 0) {
		l->epoch = 0;
		(void)look(l, NULL);
		return 0;
	}
	if (r < 0)
		return r;
	/* After a connection that was lost the lock may still be that one's. */
	r = try_lock(l, err);
	if (r >= 0)
		r = evict(l, err);
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
