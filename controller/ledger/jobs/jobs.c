/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobs.c - sets desired states and priorities, allocates jobs to nodes, lists the queue, and marks nodes
 * as lost. See store.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/wire/wire.h"
#include "controller/ledger/archive/archive.h"
#include "controller/ledger/attempts/gpus.h"
#include "controller/ledger/attempts/part.h"
#include "controller/ledger/jobs/credential.h"
#include "controller/ledger/nodes/given/given_kept.h"
#include "controller/ledger/nodes/record.h"
#include "controller/ledger/store_sqlite.h"
#include "controller/ledger/attempts/suspended.h"
#include "controller/ledger/usage/terms.h"
#include "controller/ledger/sql.h"

#define ALLOCATIONS_TOGETHER 1000

struct job_now {
	enum job_state state;
	enum job_desired want;
	bool is_array;
	char node[REQUEST_NAME_MAX];
	int64_t preempted_by;
	bool is_falling; /* its verdict is a lost node: it may be queued again when it has ended */
};

/* clang-format off */
#define NOW_COLUMNS(X) \
	X(NOW_STATE,        "state") \
	X(NOW_WANT,         ", want") \
	X(NOW_NODE,         ", node") \
	X(NOW_WITHHELD,     ", withheld") \
	X(NOW_PREEMPTED_BY,  ", gave_way_to") \
	X(NOW_VERDICT_KIND, ", (SELECT verdict_kind FROM attempts a WHERE a.job = jobs.job AND" \
		" a.attempt = jobs.attempt)")
/* clang-format on */
enum { NOW_COLUMNS(SQL_NAME) };
#define NOW_SELECT "SELECT " NOW_COLUMNS(SQL_COLUMN)

static int load_now(struct store *s, int64_t job, struct job_now *ret, struct err *err)
{
	struct db_row *st;
	int r = db_query_first(s->db, err, &st, NOW_SELECT " FROM jobs WHERE job = ?1", "i",
			       job);

	if (r < 0)
		return r;
	if (r == 0)
		return store_no_job(s, job, err);
	ret->state = (enum job_state)(int)db_int(st, NOW_STATE);
	ret->want = (enum job_desired)(int)db_int(st, NOW_WANT);
	snprintf(ret->node, sizeof(ret->node), "%s", store_text(st, NOW_NODE));
	ret->is_array = (db_int(st, NOW_WITHHELD) & STORE_IS_ARRAY) != 0;
	ret->preempted_by = db_int(st, NOW_PREEMPTED_BY);
	ret->is_falling = db_int(st, NOW_VERDICT_KIND) == END_NODE_LOST;
	db_done(st);
	return 0;
}

static int cancel_queued(struct store *s, const struct store_desired_change *w, struct err *err)
{
	const struct store_end end = { END_CANCELLED, w->reason, w->now_ns };
	_cleanup_free_ char *text = NULL;
	int r = store_end_encode(&end, &text, err);

	if (r >= 0)
		r = db_run(s->db, err,
			   "UPDATE jobs SET state = " SQL_JOB_ENDED
			   ", ended_ns = ?2, want = " SQL_DESIRED_CANCEL ","
			   " want_reason = ?3, end = ?4 WHERE job = ?1",
			   "iitt", w->job, w->now_ns, w->reason, text);
	return r < 0 ? r : store_credential_drop(s, w->job, err);
}

/* After a cancel by a user the verdict of a lost node must not queue the job again: it is deleted. */
static int write_desired(struct store *s, const struct store_desired_change *w,
			 const struct job_now *now, struct err *err)
{
	static const char *const names[] = { "resume", "suspend", "cancel" };
	struct store_event e = { w->now_ns, w->job, NULL, names[w->want],
				 w->reason ? w->reason : "" };
	int r;

	store_announce_job(s, w->job);
	if (now->is_array)
		r = store_array_set_desired(s, w, err);
	else if (now->state == JOB_QUEUED)
		r = cancel_queued(s, w, err);
	else
		r = db_run(s->db, err,
			   "UPDATE jobs SET owner_suspended_ns = " STORE_OWNER_SUSPENDED ","
			   " want = ?2, want_reason = ?3, gave_way_to = ?4"
			   " WHERE job = ?1",
			   "iitiii", w->job, (int64_t)w->want, w->reason, w->preempted_by,
			   (int64_t)w->by_owner, w->now_ns);
	if (r >= 0 && now->is_falling)
		r = db_run(s->db, err,
			   "UPDATE attempts SET verdict = NULL, verdict_kind = " SQL_END_NONE
			   " WHERE job = ?1"
			   " AND attempt = (SELECT attempt FROM jobs WHERE job = ?1)",
			   "i", w->job);
	return r < 0 ? r : store_event(s, &e, err);
}

/* The queue resumes the jobs that it suspended; users and operators resume those that they did. */
static int check_suspender(const struct store_desired_change *w, const struct job_now *now)
{
	bool is_suspended = now->want == DESIRED_SUSPEND;

	if (w->by_queue)
		return is_suspended == (w->want == DESIRED_RUN) &&
				       (!is_suspended || now->preempted_by)
			       ? 0
			       : STORE_TOO_LATE;
	return w->want == DESIRED_RUN && is_suspended && now->preempted_by ? STORE_PREEMPTED
									   : 0;
}

int store_set_desired(struct store *s, const struct store_desired_change *w,
		      char ret_node[REQUEST_NAME_MAX], struct err *err)
{
	struct job_now now;
	int r = load_now(s, w->job, &now, err);

	if (r < 0)
		return r;
	/* A job that a user or operator cancels is not queued again. */
	now.is_falling &= now.want == DESIRED_CANCEL && w->want == DESIRED_CANCEL;
	if (now.state == JOB_ENDED || (now.want == DESIRED_CANCEL && !now.is_falling))
		return STORE_TOO_LATE;
	if (now.state == JOB_QUEUED && w->want != DESIRED_CANCEL && !now.is_array)
		return STORE_NOT_RUNNING;
	r = check_suspender(w, &now);
	if (r != 0)
		return r;
	r = db_begin(s->db, err);
	if (r < 0)
		return r;
	r = db_end(s->db, write_desired(s, w, &now, err), err);
	if (r < 0)
		return r;
	strcpy(ret_node, now.node);
	return 0;
}

int store_set_priority(struct store *s, const struct store_priority_change *w, struct err *err)
{
	struct store_event e = { w->now_ns, w->job, NULL, "weigh", w->author };
	int r = db_begin(s->db, err);
	struct job_now now;

	if (r < 0)
		return r;
	r = load_now(s, w->job, &now, err);
	if (r >= 0 && now.state != JOB_QUEUED)
		r = STORE_TOO_LATE;
	if (r == 0)
		r = db_run(s->db, err,
			   "UPDATE jobs SET nice = CASE WHEN ?2 <> 0 THEN ?3 ELSE nice END,"
			   " site = CASE WHEN ?4 <> 0 THEN ?5 ELSE site END WHERE job = ?1",
			   "iiiii", w->job, (int64_t)w->has_nice, w->nice, (int64_t)w->has_site,
			   w->site);
	store_announce_job(s, w->job);
	if (r == 0 && now.is_array)
		r = store_announce_tasks(s, w->job, err);
	/* The tasks of an array that have a row, too; those without copy it when they are expanded. */
	if (r == 0 && now.is_array)
		r = db_run(
			s->db, err,
			"UPDATE jobs SET nice = CASE WHEN ?2 <> 0 THEN ?3 ELSE nice END,"
			" site = CASE WHEN ?4 <> 0 THEN ?5 ELSE site END"
			" WHERE array_job = ?1 AND array_job > 0 AND state = " SQL_JOB_QUEUED,
			"iiiii", w->job, (int64_t)w->has_nice, w->nice, (int64_t)w->has_site,
			w->site);
	if (r == 0)
		r = store_event(s, &e, err);
	if (r != 0) {
		db_rollback(s->db);
		return r;
	}
	return db_commit(s->db, err);
}

int store_has_queued(struct store *s, const char *cluster, struct err *err)
{
	struct db_row *st;
	bool has = false;
	int r = db_query(s->db, err, &st,
			 "SELECT 1 FROM jobs"
			 " WHERE state = " SQL_JOB_QUEUED " AND state < " SQL_JOB_ENDED
			 " AND cluster = ?1 AND withheld = 0 LIMIT 1",
			 "t", cluster);

	if (r < 0)
		return r;
	while ((r = db_step(s->db, st, err)) > 0)
		has = true;
	return r < 0 ? r : has;
}

/* ---- allocating ---- */

enum of_some_column { OF_SOME_JOB, OF_SOME_STATE, OF_SOME_ATTEMPT };

/* Sets the number of each job's last attempt, 0: it had none. At most STORE_SOME jobs. -ESTALE: one is not queued any more, and nothing may be committed. */
static int check_queued(struct store *s, const struct store_these *jobs, size_t first,
			int64_t *attempts, struct err *err)
{
	/* By their numbers alone: with a condition on the state PostgreSQL reads all queued jobs. */
	static const char sql[] = "SELECT job, state, attempt FROM jobs"
				  " WHERE job IN (" STORE_SOME_PARAMETERS ")";
	size_t n = jobs->n - first < STORE_SOME ? jobs->n - first : STORE_SOME;
	int64_t buf[STORE_SOME];
	struct db_row *st;
	struct db_ints v;
	int r = db_query_ints(s->db, sql, store_some(jobs, first, buf, &v), &st, err);

	while (r >= 0 && (r = db_step(s->db, st, err)) > 0)
		for (size_t i = 0; i < n; i++)
			if (buf[i] == db_int(st, OF_SOME_JOB) &&
			    db_int(st, OF_SOME_STATE) == JOB_QUEUED)
				attempts[first + i] = db_int(st, OF_SOME_ATTEMPT);
	for (size_t i = 0; i < n && r >= 0; i++)
		if (attempts[first + i] < 0)
			r = err_set(err, -ESTALE, "job %lld is not queued", (long long)buf[i]);
	return r;
}

static int check_all_queued(struct store *s, const struct store_allocation *allocations,
			    size_t n, int64_t *attempts, struct err *err)
{
	_cleanup_free_ int64_t *numbers = calloc(n + 1, sizeof(*numbers));
	const struct store_these jobs = { .jobs = numbers, .n = n };
	int r = numbers ? 0 : err_set(err, -ENOMEM, "out of memory");

	for (size_t i = 0; i < n && r >= 0; i++) {
		numbers[i] = allocations[i].job;
		attempts[i] = -1;
	}
	for (size_t at = 0; at < n && r >= 0; at += STORE_SOME)
		r = check_queued(s, &jobs, at, attempts, err);
	return r;
}

/* What allocations write. Rows together are three statements for a server; one by one they were three for each job. */
struct allocation_rows {
	struct db_rows jobs, attempts, events;
};

static struct allocation_rows allocation_rows(void)
{
	return (struct allocation_rows){
		.jobs = { .sql = "UPDATE jobs SET state = " SQL_JOB_STARTING ", node = ?2,"
				 " attempt = ?3 WHERE job = ?1 AND state = " SQL_JOB_QUEUED,
			  .format = "iti" },
		.attempts = { .sql = "INSERT INTO attempts(job, attempt, node, given_ns, state)"
				     " VALUES(?1, ?2, ?3, ?4, ?5)",
			      .format = "iitii" },
		.events = store_event_rows(),
	};
}

static void allocation_rows_done(struct allocation_rows *w)
{
	db_rows_done(&w->jobs);
	db_rows_done(&w->attempts);
	db_rows_done(&w->events);
}

static int add_allocation(struct allocation_rows *w, const struct store_allocation *g,
			  int64_t attempt, int64_t now_ns, struct err *err)
{
	const struct store_event e = { now_ns, g->job, g->node, "give", "" };
	int r = db_rows_add(&w->jobs, err, g->job, g->node, attempt);

	if (r >= 0)
		r = db_rows_add(&w->attempts, err, g->job, attempt, g->node, now_ns,
				(int64_t)JOB_STARTING);
	return r < 0 ? r : store_event_add(&w->events, &e, err);
}

static int write_allocations(struct store *s, struct allocation_rows *w, struct err *err)
{
	int r = db_rows_write(s->db, &w->jobs, err);

	if (r >= 0)
		r = db_rows_write(s->db, &w->attempts, err);
	return r < 0 ? r : db_rows_write(s->db, &w->events, err);
}

static int allocate_all(struct store *s, const struct store_allocation *allocations, size_t n,
			int64_t now_ns, struct err *err)
{
	_cleanup_(allocation_rows_done) struct allocation_rows rows = allocation_rows();
	_cleanup_free_ int64_t *attempts = calloc(n + 1, sizeof(*attempts));
	int r = attempts ? 0 : err_set(err, -ENOMEM, "out of memory");

	if (r >= 0)
		r = check_all_queued(s, allocations, n, attempts, err);
	for (size_t i = 0; i < n && r >= 0; i++) {
		store_announce_job(s, allocations[i].job);
		store_forget_given(s, allocations[i].node);
		r = add_allocation(&rows, &allocations[i], attempts[i] + 1, now_ns, err);
		if (r >= 0 && rows.jobs.n == ALLOCATIONS_TOGETHER)
			r = write_allocations(s, &rows, err);
	}
	if (r >= 0)
		r = write_allocations(s, &rows, err);
	for (size_t i = 0; i < n && r >= 0; i++) {
		if (allocations[i].n_parts > 1)
			r = store_parts_allocate(s, &allocations[i], err);
		if (r >= 0 && allocations[i].node_cores)
			r = store_terms_settle(s, allocations[i].job, allocations[i].node_cores,
					       err);
	}
	return r;
}

int store_allocate(struct store *s, const struct store_allocation *allocations, size_t n,
		   int64_t now_ns, struct err *err)
{
	int r = db_begin(s->db, err);

	return r < 0 ? r : db_end(s->db, allocate_all(s, allocations, n, now_ns, err), err);
}

int store_mark_lost_nodes(struct store *s, int64_t before_ns, int64_t now_ns, struct err *err)
{
	int r = db_begin(s->db, err), n;

	if (r < 0)
		return r;
	r = db_run(s->db, err,
		   "INSERT INTO events(at_ns, node, what, text) SELECT ?2, node, 'lost', ''"
		   " FROM nodes WHERE lost = 0 AND last_ns < ?1",
		   "ii", before_ns, now_ns);
	if (r >= 0)
		r = store_node_record_lost(s, before_ns, now_ns, err);
	if (r >= 0)
		r = db_run(s->db, err,
			   "UPDATE nodes SET lost = 1 WHERE lost = 0 AND last_ns < ?1", "i",
			   before_ns);
	n = (int)db_changes(s->db);
	if (n > 0)
		store_announce_nodes(s);
	return db_end(s->db, r < 0 ? r : n, err);
}
