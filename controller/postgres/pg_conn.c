/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pg_conn.c - the connection to the server: statements without parameters, the answers of
 * statements that were sent ahead, and making a lost connection again. See pg_impl.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/postgres/pg_impl.h"

#define REQUEST_EACH 8 /* statements of a pipeline: then the server is to send its answers */

int pg_exec(struct pg *p, const char *sql, struct err *err)
{
	ExecStatusType status;
	PGresult *result;
	int r = pg_settle(p, err);

	if (r < 0)
		return r;
	result = pq.PQexec(p->conn, sql);
	status = pq.PQresultStatus(result);
	if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
		return pg_fail(p, result, sql, err);
	pq.PQclear(result);
	return 0;
}

int pg_take_answer(struct pg *p, int64_t *ret_changed, struct err *err)
{
	PGresult *result = pq.PQgetResult(p->conn);

	if (pq.PQresultStatus(result) != PGRES_COMMAND_OK)
		return pg_fail(p, result, "adding rows", err);
	*ret_changed = strtoll(pq.PQcmdTuples(result), NULL, 10);
	pq.PQclear(result);
	/* A NULL ends the results of each statement. */
	pq.PQclear(pq.PQgetResult(p->conn));
	return 0;
}

void pg_pass_over(struct pg *p)
{
	bool is_end = false, was_null = false;

	/* Two NULLs without a result between them: the server has nothing more to send. */
	while (!is_end) {
		PGresult *result = pq.PQgetResult(p->conn);

		is_end = pq.PQresultStatus(result) == PGRES_PIPELINE_SYNC ||
			 (!result && was_null) || pq.PQstatus(p->conn) != CONNECTION_OK;
		was_null = !result;
		pq.PQclear(result);
	}
}

/* ---- statements sent ahead ---- */

/* libpq keeps statements until it has 64 KiB of them, and the server answers until it has 8: each shall work while the other does. A failure is
 * known when the answers are read. */
static void request_answers(struct pg *p)
{
	if (p->n_requested == p->n_sent)
		return;
	p->n_requested = p->n_sent;
	pq.PQsendFlushRequest(p->conn);
	pq.PQflush(p->conn);
}

void pg_note_sent(struct pg *p, struct pg_asked *asked)
{
	p->sent[p->n_sent++] = asked;
	if (p->n_sent - p->n_requested >= REQUEST_EACH)
		request_answers(p);
}

/* Reads one answer. */
static int read_answer(struct pg *p, struct err *err)
{
	struct pg_asked *asked = p->sent[p->n_read++];
	int64_t changed;

	return asked ? pg_receive_asked(p, asked, err) : pg_take_answer(p, &changed, err);
}

/* Leaves the pipeline, whose answers were read, or are lost after an error `r`. */
static int end_pipeline(struct pg *p, int r, struct err *err)
{
	pg_miss_asked(p->sent + p->n_read, p->n_sent - p->n_read);
	p->n_sent = p->n_read = p->n_requested = 0;
	pg_pass_over(p);
	if (!pq.PQexitPipelineMode(p->conn) && r >= 0)
		r = pg_fail(p, NULL, "ending a pipeline", err);
	if (r < 0)
		pg_forget_asked(&p->db);
	return r;
}

/* Answers are read until that of this query, or so many of them, have arrived; those behind stay. */
static int read_some(struct pg *p, const struct pg_asked *until, size_t n, struct err *err)
{
	int r = 0;

	request_answers(p);
	while ((until ? !pg_has_arrived(until) : p->n_read < n) && r >= 0)
		r = read_answer(p, err);
	if (r >= 0)
		return r;
	pq.PQpipelineSync(p->conn);
	return end_pipeline(p, r, err);
}

/* Half of them: the server works on the others meanwhile. */
static int make_room(struct pg *p, struct err *err)
{
	int r = read_some(p, NULL, PG_SENT_MAX / 2, err);

	if (r < 0)
		return r;
	p->n_sent -= p->n_read;
	p->n_requested -= p->n_read;
	memmove(p->sent, p->sent + p->n_read, p->n_sent * sizeof(*p->sent));
	p->n_read = 0;
	return 0;
}

/* The connection is in pipeline mode while n_sent is not 0: pg_settle() leaves it. */
int pg_enter_pipeline(struct pg *p, struct err *err)
{
	int r = p->n_sent == PG_SENT_MAX ? make_room(p, err) : 0;

	if (r >= 0 && !p->n_sent && !pq.PQenterPipelineMode(p->conn))
		r = pg_fail(p, NULL, "beginning a pipeline", err);
	return r;
}

int pg_settle(struct pg *p, struct err *err)
{
	int r = 0;

	if (p->is_streaming)
		return err_set(err, -EBUSY,
			       "database %s: a statement between the rows of another one",
			       p->place);
	if (!p->n_sent)
		return 0;
	if (!pq.PQpipelineSync(p->conn))
		r = pg_fail(p, NULL, "sending statements", err);
	while (p->n_read < p->n_sent && r >= 0)
		r = read_answer(p, err);
	return end_pipeline(p, r, err);
}

int pg_await(struct pg *p, const struct pg_asked *a, struct err *err)
{
	return read_some(p, a, 0, err);
}

/* ---- the connection ---- */

int pg_set_up(struct pg *p, struct err *err)
{
	p->generation++;
	p->has_lock = false;
	pg_miss_asked(p->sent + p->n_read, p->n_sent - p->n_read);
	p->n_sent = p->n_read = p->n_requested = 0;
	pg_forget_asked(&p->db);
	p->is_streaming = false;
	return pg_exec(
		p,
		"SET synchronous_commit = on; SET lock_timeout = '5s';"
		/* Every query is short: to start workers takes longer than it saves. */
		"SET max_parallel_workers_per_gather = 0; SET jit = off;"
		"SET client_encoding = 'UTF8'; SET client_min_messages = warning;" PG_NOTICE_LOST_CLIENT,
		err);
}

int pg_take_lock(struct pg *p, struct err *err)
{
	int r = pg_exec(p, "SELECT pg_advisory_lock" PG_LOCK, err);

	return r != -EBUSY
		       ? r
		       : err_set(err, r,
				 "database %s: another process writes this ledger: stop it, "
				 "or wait until it has ended",
				 p->place);
}

int pg_revive(struct pg *p, struct err *err)
{
	if (pq.PQstatus(p->conn) == CONNECTION_OK)
		return 0;
	if (p->has_lock) /* in a transaction, which is lost with the connection */
		return err_set(err, -EIO, "database %s: the connection was lost", p->place);
	pq.PQreset(p->conn);
	if (pq.PQstatus(p->conn) != CONNECTION_OK)
		return err_set(err, -EIO, "database %s: %.*s", p->place,
			       pg_first_line(pq.PQerrorMessage(p->conn)),
			       pq.PQerrorMessage(p->conn));
	return pg_set_up(p, err);
}
