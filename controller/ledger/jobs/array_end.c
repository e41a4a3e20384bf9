/* SPDX-License-Identifier: GPL-2.0-or-later */
/* array_end.c - sets the desired state of arrays with their tasks, counts tasks that end, and ends the
 * array after the last. See jobs/array.h. */
#include <errno.h>
#include <stdio.h>
#include "common/err.h"
#include "common/wire/wire.h"
#include "controller/ledger/jobs/array.h"
#include "controller/ledger/jobs/credential.h"
#include "controller/ledger/store_sqlite.h"
#include "controller/ledger/attempts/suspended.h"
#include "controller/ledger/sql.h"

int store_end_encode(const struct store_end *e, char **ret, struct err *err)
{
	struct job_end end = { .kind = e->kind, .exit_status = -1 };
	_cleanup_json_ json_t *doc = NULL;

	end.reason.at_ns = e->at_ns;
	end.reason.requested = end.reason.reached = -1;
	snprintf(end.reason.text, sizeof(end.reason.text), "%s", e->text ? e->text : "");
	doc = wire_encode_end(&end);
	*ret = doc ? wire_format(doc) : NULL;
	return *ret ? 0 : err_set(err, -ENOMEM, "out of memory");
}

int store_array_drop(struct store *s, int64_t job, struct err *err)
{
	return db_run(s->db, err,
		      "UPDATE arrays SET waiting = '', n_dropped = n_dropped + n_waiting,"
		      " n_waiting = 0 WHERE job = ?1",
		      "i", job);
}

int store_array_nodes(struct store *s, int64_t job, store_node_name_fn fn, void *ctx,
		      struct err *err)
{
	struct db_row *st;
	int r = db_query(s->db, err, &st,
			 "SELECT node FROM jobs WHERE array_job = ?1 AND array_job > 0"
			 " AND state > " SQL_JOB_QUEUED " AND state < " SQL_JOB_ENDED
			 " AND node IS NOT NULL"
			 " UNION SELECT p.node FROM jobs j JOIN parts p ON p.job = j.job"
			 " AND p.closed = " SQL_STORE_OPEN
			 " WHERE j.array_job = ?1 AND j.array_job > 0"
			 " AND j.state > " SQL_JOB_QUEUED " AND j.state < " SQL_JOB_ENDED,
			 "i", job);

	while (r >= 0 && (r = db_step(s->db, st, err)) > 0)
		fn(ctx, store_text(st, 0));
	return r;
}

/* ---- the end ---- */

struct closing {
	int64_t n, n_dropped, n_ended, n_well;
	bool is_cancelled;
	char reason[128];
};

/* clang-format off */
#define CLOSING_COLUMNS(X) \
	X(CLOSING_N,           "r.n") \
	X(CLOSING_N_DROPPED,   ", r.n_dropped") \
	X(CLOSING_N_ENDED,     ", r.n_ended") \
	X(CLOSING_N_WELL,      ", r.n_well") \
	X(CLOSING_WANT,        ", p.want") \
	X(CLOSING_WANT_REASON, ", p.want_reason")
/* clang-format on */
enum { CLOSING_COLUMNS(SQL_NAME) };
#define CLOSING_SELECT "SELECT " CLOSING_COLUMNS(SQL_COLUMN)

/* 1: all tasks have ended or were dropped. */
static int load_closing(struct store *s, int64_t job, struct closing *ret, struct err *err)
{
	struct db_row *st;
	int r = db_query_first(s->db, err, &st,
			       CLOSING_SELECT " FROM arrays r JOIN jobs p ON p.job = r.job"
					      " WHERE r.job = ?1 AND r.is_open = 1",
			       "i", job);

	if (r <= 0)
		return r;
	*ret = (struct closing){ .n = db_int(st, CLOSING_N),
				 .n_dropped = db_int(st, CLOSING_N_DROPPED),
				 .n_ended = db_int(st, CLOSING_N_ENDED),
				 .n_well = db_int(st, CLOSING_N_WELL),
				 .is_cancelled = db_int(st, CLOSING_WANT) == DESIRED_CANCEL };
	snprintf(ret->reason, sizeof(ret->reason), "%s", store_text(st, CLOSING_WANT_REASON));
	db_done(st);
	return ret->n_dropped + ret->n_ended == ret->n;
}

/* Like a job that exited: with 0 where all tasks ended well, else with 1. */
static int encode_end(const struct closing *c, int64_t now_ns, char **ret, struct err *err)
{
	struct job_end end = { .kind = c->is_cancelled ? END_CANCELLED : END_EXITED,
			       .exit_status = c->is_cancelled ? -1 : c->n_well != c->n };
	_cleanup_json_ json_t *doc = NULL;

	end.reason.at_ns = now_ns;
	end.reason.requested = end.reason.reached = -1;
	if (c->is_cancelled)
		snprintf(end.reason.text, sizeof(end.reason.text), "%s", c->reason);
	else
		snprintf(end.reason.text, sizeof(end.reason.text),
			 "%lld of %lld elements ended well", (long long)c->n_well,
			 (long long)c->n);
	doc = wire_encode_end(&end);
	*ret = doc ? wire_format(doc) : NULL;
	return *ret ? 0 : err_set(err, -ENOMEM, "out of memory");
}

int store_array_close(struct store *s, int64_t job, int64_t now_ns, struct err *err)
{
	struct store_event e = { now_ns, job, NULL, "ended", "" };
	_cleanup_free_ char *end = NULL;
	struct closing c;
	int r = load_closing(s, job, &c, err);

	if (r <= 0)
		return r;
	r = encode_end(&c, now_ns, &end, err);
	if (r >= 0)
		r = db_run(s->db, err, "UPDATE arrays SET is_open = 0 WHERE job = ?1", "i",
			   job);
	if (r >= 0)
		r = db_run(s->db, err,
			   "UPDATE jobs SET state = " SQL_JOB_ENDED ", ended_ns = ?2, end = ?3"
			   " WHERE job = ?1 AND state < " SQL_JOB_ENDED,
			   "iit", job, now_ns, end);
	if (r >= 0)
		r = store_credential_drop(s, job, err);
	if (r >= 0)
		r = store_event(s, &e, err);
	return r < 0 ? r : 1;
}

int store_array_count(struct store *s, const struct store_element *e, struct err *err)
{
	int r = db_run(s->db, err,
		       "UPDATE jobs SET withheld = withheld | " SQL_STORE_COUNTED
		       " WHERE job = ?1 AND state = " SQL_JOB_ENDED
		       " AND (withheld & " SQL_STORE_COUNTED ") = 0",
		       "i", e->job);

	if (r < 0 || db_changes(s->db) == 0)
		return r;
	r = db_run(s->db, err,
		   "UPDATE arrays SET n_ended = n_ended + 1, n_well = n_well + ?2"
		   " WHERE job = ?1",
		   "ii", e->array, (int64_t)e->is_well);
	return r < 0 ? r : store_array_close(s, e->array, e->now_ns, err);
}

/* ---- desired states ---- */

/* Queued tasks end now, each with an event. */
static int cancel_elements(struct store *s, const struct store_desired_change *w,
			   struct err *err)
{
	const struct store_end e = { END_CANCELLED, w->reason, w->now_ns };
	_cleanup_free_ char *end = NULL;
	int r = store_end_encode(&e, &end, err);

	if (r >= 0)
		r = store_announce_tasks(s, w->job, err);
	if (r >= 0)
		r = db_run(
			s->db, err,
			"INSERT INTO events(at_ns, job, what, text) SELECT ?2, job, 'cancel',"
			" ?3 FROM jobs WHERE array_job = ?1 AND array_job > 0 AND state = " SQL_JOB_QUEUED,
			"iit", w->job, w->now_ns, w->reason);
	if (r >= 0)
		r = db_run(s->db, err,
			   "UPDATE jobs SET state = " SQL_JOB_ENDED
			   ", ended_ns = ?2, want = " SQL_DESIRED_CANCEL ","
			   " want_reason = ?3, end = ?4 WHERE array_job = ?1 AND array_job > 0 "
			   "AND state = " SQL_JOB_QUEUED,
			   "iitt", w->job, w->now_ns, w->reason, end);
	return r < 0 ? r : store_array_drop(s, w->job, err);
}

int store_array_set_desired(struct store *s, const struct store_desired_change *w,
			    struct err *err)
{
	int r = w->want == DESIRED_CANCEL ? cancel_elements(s, w, err)
					  : store_announce_tasks(s, w->job, err);

	if (r >= 0)
		r = db_run(s->db, err,
			   "UPDATE jobs SET owner_suspended_ns = " STORE_OWNER_SUSPENDED ","
			   " want = ?2, want_reason = ?3, gave_way_to = ?4"
			   " WHERE array_job = ?1 AND array_job > 0 AND state > " SQL_JOB_QUEUED
			   " AND state < " SQL_JOB_ENDED " AND want <> " SQL_DESIRED_CANCEL
			   " AND (?2 <> " SQL_DESIRED_RUN " OR gave_way_to = 0)",
			   "iitiii", w->job, (int64_t)w->want, w->reason, INT64_C(0),
			   (int64_t)w->by_owner, w->now_ns);
	if (r >= 0)
		r = db_run(s->db, err,
			   "UPDATE jobs SET want = ?2, want_reason = ?3 WHERE job = ?1", "iit",
			   w->job, (int64_t)w->want, w->reason);
	return r < 0 ? r : store_array_close(s, w->job, w->now_ns, err);
}
