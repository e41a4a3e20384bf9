/* requeue.c - whether a job whose node was lost is queued again. See nodes/lost.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "common/wire/wire.h"
#include "controller/ledger/nodes/lost.h"
#include "controller/ledger/jobs/texts.h"
#include "controller/ledger/sql.h"

void store_set_max_requeues(struct store *s, int64_t n)
{
	s->max_requeues = n;
}

static bool is_asked_for(const char *request)
{
	_cleanup_json_ json_t *j = json_loads(request, 0, NULL);

	return json_is_true(json_object_get(j, "requeue"));
}

/* The attempt in question is not among those that count as lost yet. */
int store_may_requeue(struct store *s, const struct store_loss *l, char text[static 128],
		      struct err *err)
{
	int64_t n_lost;
	struct db_row *st;
	bool asks;
	int r = db_query(s->db, err, &st,
			 "SELECT CASE WHEN j.array_job > 0 THEN"
			 " (SELECT " STORE_REQUEST(
				 "p") " FROM jobs p WHERE p.job = j.array_job)"
				      " ELSE " STORE_REQUEST(
					      "j") " END, (SELECT COUNT(*) FROM attempts a"
						   " WHERE a.job = ?1 AND a.attempt <> ?2 AND "
						   "a.end_kind = " SQL_END_NODE_LOST ")"
						   " FROM jobs j JOIN attempts b ON b.job = "
						   "j.job AND b.attempt = j.attempt"
						   " WHERE j.job = ?1 AND j.attempt = ?2"
						   " AND (j.want <> " SQL_STORE_CANCEL
						   " OR b.verdict_kind = " SQL_END_NODE_LOST
						   ")",
			 "ii", l->job, (int64_t)l->attempt);

	text[0] = '\0';
	if (r >= 0)
		r = db_step(s->db, st, err);
	if (r <= 0)
		return r;
	asks = is_asked_for(store_text(st, 0));
	n_lost = db_int(st, 1) + 1;
	db_done(st);
	if (!asks)
		return 0;
	if (n_lost <= s->max_requeues) {
		snprintf(text, 128, "; the job is queued again");
		return 1;
	}
	snprintf(text, 128,
		 "; the job is not queued again, it lost %lld nodes: MaxRequeues is %lld",
		 (long long)n_lost, (long long)s->max_requeues);
	return 0;
}

int store_requeue(struct store *s, const struct store_loss *l, struct err *err)
{
	const struct store_event e = { l->now_ns, l->job, l->node, "requeue", "" };
	int r = db_run(s->db, err,
		       "UPDATE attempts SET closed = " SQL_STORE_VOID
		       " WHERE job = ?1 AND attempt = ?2",
		       "ii", l->job, (int64_t)l->attempt);

	store_announce_job(s, l->job);
	if (r >= 0)
		r = db_run(s->db, err,
			   "UPDATE jobs SET state = " SQL_JOB_QUEUED
			   ", node = NULL, want = " SQL_STORE_RUN ","
			   " want_reason = NULL, gave_way_to = 0, owner_suspended_ns = 0,"
			   " started_ns = 0,"
			   " ended_ns = 0, end = NULL WHERE job = ?1",
			   "i", l->job);
	return r < 0 ? r : store_event(s, &e, err);
}
