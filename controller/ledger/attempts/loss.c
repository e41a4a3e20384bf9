/* SPDX-License-Identifier: GPL-2.0-or-later */
/* loss.c - ends an attempt by the decision of the controller, because its node is lost or lost the
 * job, and queues the job again where it asked for that. See nodes/lost.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "common/wire/json/load.h"
#include "common/wire/wire.h"
#include "controller/ledger/attempts/charge.h"
#include "controller/ledger/nodes/lost.h"
#include "controller/ledger/steps/steps.h"
#include "controller/ledger/jobs/texts.h"
#include "controller/ledger/sql.h"

void store_set_max_requeues(struct store *s, int64_t n)
{
	s->max_requeues = n;
}

/* The request, as JSON, asks to be queued again when its node is lost. */
static bool is_asked_for(const char *request)
{
	_cleanup_json_ json_t *j = wire_load(request, 0, NULL);

	return json_is_true(json_object_get(j, "requeue"));
}

enum loss_column { LOSS_REQUEST, LOSS_N_LOST };

/* Counts the attempts that were lost before this one, and adds it. No row: the attempt is not the job's
 * present one, or the job was cancelled for another reason than a lost node. */
int store_may_requeue(struct store *s, const struct store_loss *l, char text[static 128],
		      struct err *err)
{
	int64_t n_lost;
	struct db_row *st;
	bool asks;
	int r = db_query_first(
		s->db, err, &st,
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
					  " AND (j.want <> " SQL_DESIRED_CANCEL
					  " OR b.verdict_kind = " SQL_END_NODE_LOST ")",
		"ii", l->job, (int64_t)l->attempt);

	text[0] = '\0';
	if (r <= 0)
		return r;
	asks = is_asked_for(store_text(st, LOSS_REQUEST));
	n_lost = db_int(st, LOSS_N_LOST) + 1;
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
			   ", node = NULL, want = " SQL_DESIRED_RUN ","
			   " want_reason = NULL, gave_way_to = 0, owner_suspended_ns = 0,"
			   " started_ns = 0, start_by_ns = 0,"
			   " ended_ns = 0, end = NULL WHERE job = ?1",
			   "i", l->job);
	return r < 0 ? r : store_event(s, &e, err);
}

/* `how`: the loss, or the verdict of the part that had failed before. */
static int write_loss(struct store *s, const struct store_loss *l, const struct job_end *how,
		      struct err *err)
{
	_cleanup_json_ json_t *doc = wire_encode_end(how);
	_cleanup_free_ char *end = doc ? wire_format(doc) : NULL;
	int r = end ? 0 : err_set(err, -ENOMEM, "out of memory");

	store_announce_job(s, l->job);
	if (r >= 0)
		r = db_run(s->db, err,
			   "UPDATE attempts SET closed = " SQL_STORE_LOST
			   ", state = " SQL_JOB_ENDED ", ended_ns = ?3,"
			   " end = ?4, end_kind = ?5 WHERE job = ?1 AND attempt = ?2",
			   "iiiti", l->job, (int64_t)l->attempt, l->now_ns, end,
			   (int64_t)how->kind);
	if (r >= 0)
		r = db_run(s->db, err,
			   "UPDATE jobs SET state = " SQL_JOB_ENDED ", ended_ns = ?3, end = ?4"
			   " WHERE job = ?1 AND attempt = ?2",
			   "iiit", l->job, (int64_t)l->attempt, l->now_ns, end);
	return r;
}

int store_end_lost(struct store *s, const struct store_loss *l, struct err *err)
{
	const struct report key = { .job = l->job, .attempt = l->attempt };
	const struct store_event e = { l->now_ns, l->job, l->node, "node-lost", l->text };
	struct job_end lost;
	struct store_known k = { 0 };
	bool again = false;
	char more[128];
	int r = store_known_load(s, &key, &k, err);

	if (r == 0)
		return err_set(err, -ENOENT, "no attempt %lld.%d", (long long)l->job,
			       l->attempt);
	if (r > 0)
		r = store_may_requeue(s, l, more, err);
	if (r < 0)
		return r;
	again = r > 0;
	store_loss_end(l, more, &lost);
	r = write_loss(s, l, k.verdict.kind ? &k.verdict : &lost, err);
	if (r >= 0 && k.is_several)
		r = store_part_write_loss(s, l, &lost, err);
	if (r >= 0)
		r = store_charge_count_job(s, &k, STORE_MARK_ENDED,
					   store_charge_end_day(s, &k, l->now_ns), err);
	if (r >= 0)
		r = store_event(s, &e, err);
	if (r >= 0 && again)
		r = store_requeue(s, l, err);
	if (r >= 0)
		r = store_steps_close(s, l->job, l->now_ns, err);
	return r < 0 ? r : again ? STORE_REQUEUED : 0;
}
