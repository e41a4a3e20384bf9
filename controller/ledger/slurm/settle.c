/* SPDX-License-Identifier: GPL-2.0-or-later */
/* settle.c - makes the rows of a job and its attempt, and writes Slurm's figures of it as a report, in the same way as an agent's
 * (attempts/report.c): one place charges, counts and ends. See settle.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/wire/wire.h"
#include "controller/ledger/slurm/settle.h"
#include "controller/ledger/sql.h"

#define EARLY_WAIT_NS                                                                          \
	(15 * S_NS) /* other nodes of the job may report why it ended: store_part_0_waits() */
#define NO_NODE "unknown" /* of an attempt whose node Slurm does not name */

static bool has_ended(const struct slurm_batch_job *row)
{
	return row->state > SLURM_BATCH_SUSPENDED;
}

/* ---- notes ---- */

/* Once for each job and text. */
static int add_note(struct settle *t, const struct rows_attempt *a, const char *text,
		    struct err *err)
{
	const struct store_event e = { t->from->now_ns, a->job, NULL, "slurm", text };
	int r = *text ? db_has_row(t->s->db, err,
				   "SELECT 1 FROM events WHERE job = ?1 AND what = 'slurm'"
				   " AND text = ?2 LIMIT 1",
				   "it", a->job, text)
		      : 1;

	return r == 0 ? store_event(t->s, &e, err) : r < 0 ? r : 0;
}

static int note_kinds(struct settle *t, const struct rows_attempt *a, struct err *err)
{
	char texts[RULE_KINDS_MAX][RULE_NOTE_MAX];
	size_t n = rule_kinds(&a->row, texts);
	int r = 0;

	for (size_t i = 0; i < n && r >= 0; i++)
		r = add_note(t, a, texts[i], err);
	return r;
}

/* ---- the job and its attempt ---- */

static enum job_state state_of(const struct slurm_batch_job *row)
{
	return row->state == SLURM_BATCH_SUSPENDED ? JOB_SUSPENDED : JOB_RUNNING;
}

/* The row in the form in which an agent describes a job. nodes is 1: the row's amounts are those of all nodes
 * already. */
static void describe_row(const struct rows_attempt *a, const struct rule_times *times,
			 struct sync_slurm_job *ret)
{
	const struct slurm_batch_job *row = &a->row;

	*ret = (struct sync_slurm_job){ .job = rule_local_id(row),
					.attempt = a->attempt,
					.uid = row->uid < 0 ? UINT16_MAX - 1 : row->uid,
					.ncpus = row->ncpus ? row->ncpus : 1,
					.mem_bytes = row->mem_bytes,
					.nodes = 1,
					.started_ns = times->start_ns ? times->start_ns
								      : row->submit_s * S_NS };
	snprintf(ret->user, sizeof(ret->user), "%s", row->user);
	snprintf(ret->account, sizeof(ret->account), "%s", row->account);
	snprintf(ret->queue, sizeof(ret->queue), "%s", row->queue);
	snprintf(ret->name, sizeof(ret->name), "%s", row->name);
}

/* 1: the last job on record under the local id came from another cluster of the federation. */
static int is_anothers(struct settle *t, const struct rows_attempt *a, struct err *err)
{
	int64_t job = 0;
	int r = store_slurm_find(t->s, t->origin, rule_local_id(&a->row), &job, err);

	if (r <= 0)
		return r;
	return db_has_row(t->s->db, err,
			  "SELECT 1 FROM slurm_attempts WHERE job = ?1 AND id <> ?2 LIMIT 1",
			  "ii", job, a->row.job);
}

/* Without a usable name of a node the attempt lies on NO_NODE; a job that never started gets no attempt. */
struct store_slurm_case settle_case(const struct settle *t, const struct rows_attempt *a,
				    const struct rule_times *times, struct sync_slurm_job *told)
{
	describe_row(a, times, told);
	return (struct store_slurm_case){ .told = told,
					  .cluster = t->batch->cluster,
					  .node = request_is_name(a->row.node) ? a->row.node
									       : NO_NODE,
					  .state = state_of(&a->row),
					  .has_ended = has_ended(&a->row),
					  .origin = t->origin,
					  .now_ns = t->from->now_ns,
					  .how = &t->how,
					  .row = &a->row,
					  .is_unstarted = times->start_ns == 0 };
}

static int make_job(struct settle *t, struct rows_attempt *a, const struct rule_times *times,
		    struct err *err)
{
	struct sync_slurm_job told;
	struct store_slurm_case c = settle_case(t, a, times, &told);
	int r = is_anothers(t, a, err);

	c.is_another = r > 0 || a->is_another;
	return r < 0 ? r : store_slurm_adopt(t->s, &c, &a->job, err);
}

/* ---- what an agent knows ---- */

enum agent_column {
	AGENT_SEQ,
	AGENT_SHOWN,
	AGENT_CLOSED,
	AGENT_STARTED_NS,
	AGENT_LAST_NS,
	AGENT_NODE,
};

/* *ret_node: the attempt's. 0: there is no such attempt. */
static int load_known(struct settle *t, const struct rows_attempt *a, struct rule_known *ret,
		      char ret_node[static REQUEST_NAME_MAX], struct err *err)
{
	struct db_row *st;
	int r = db_query_first(t->s->db, err, &st,
			       "SELECT a.seq, a.shown, a.closed, a.started_ns,"
			       " COALESCE(n.last_ns, 0), a.node"
			       " FROM attempts a LEFT JOIN nodes n ON n.node = a.node"
			       " WHERE a.job = ?1 AND a.attempt = ?2",
			       "ii", a->job, (int64_t)a->attempt);

	if (r <= 0)
		return r;
	*ret = (struct rule_known){
		.has_agent_report = db_int(st, AGENT_SEQ) > 0 || db_int(st, AGENT_SHOWN) > 0,
		.is_final = db_int(st, AGENT_CLOSED) == STORE_FINAL ||
			    db_int(st, AGENT_CLOSED) == STORE_VOID,
		.is_agent_there = db_int(st, AGENT_LAST_NS) > t->from->now_ns - t->from->lost_ns
	};
	if (db_int(st, AGENT_SEQ) > 0)
		ret->agent_start_ns = db_int(st, AGENT_STARTED_NS);
	snprintf(ret_node, REQUEST_NAME_MAX, "%s", store_text(st, AGENT_NODE));
	db_done(st);
	return 1;
}

/* ---- writing ---- */

/* The deltas go to the share tree after the commit. A report that changed no running time has none. */
int settle_keep_delta(struct settle *t, const struct sync_usage_delta *d, struct err *err)
{
	struct sync_result *c = t->changes;

	if (!d->running_ns)
		return 0;
	if (c->n_deltas == t->deltas_room) {
		size_t room = t->deltas_room ? 2 * t->deltas_room : 64;
		struct sync_usage_delta *p = realloc(c->deltas, room * sizeof(*p));

		if (!p)
			return err_set(err, -ENOMEM, "out of memory");
		c->deltas = p;
		t->deltas_room = room;
	}
	c->deltas[c->n_deltas++] = *d;
	return 0;
}

struct report settle_report(const struct rows_attempt *a, const struct rule_times *times)
{
	struct report rep = { .job = a->job,
			      .attempt = a->attempt,
			      .at_ns = times->until_ns,
			      .state = times->end_ns ? JOB_ENDED : state_of(&a->row),
			      .started_ns = times->start_ns,
			      .ended_ns = times->end_ns,
			      .running_ns = times->running_ns,
			      .suspended_ns = times->suspended_ns };

	if (times->end_ns)
		rep.end = rule_end(&a->row, times);
	return rep;
}

/* Written as an agent's report is. */
static int write_report(struct settle *t, const struct rows_attempt *a,
			const struct rule_times *times, const char *node, struct err *err)
{
	const struct report rep = settle_report(a, times);
	struct store_report_case c = {
		.report = &rep, .node = node, .now_ns = t->from->now_ns, .is_followed = true
	};
	int r;

	r = store_report(t->s, &c, err);
	/* One row must not keep the others from being stored. */
	if (r == STORE_REPORT_REFUSED)
		return add_note(t, a, c.refusal.why, err);
	if (r == STORE_REPORT_EARLY)
		return rows_set_due(t->s, a, t->from->now_ns + EARLY_WAIT_NS, err);
	return r < 0 ? r : settle_keep_delta(t, &c.gain, err);
}

/* A job that was cancelled before it ran, or whose next attempt was. */
static int end_unstarted(struct settle *t, const struct rows_attempt *a,
			 const struct rule_times *times, struct err *err)
{
	const struct job_end end = rule_end(&a->row, times);
	_cleanup_json_ json_t *doc = wire_encode_end(&end);
	_cleanup_free_ char *text = doc ? wire_format(doc) : NULL;

	if (!text)
		return err_set(err, -ENOMEM, "out of memory");
	store_announce_job(t->s, a->job);
	return db_run(t->s->db, err,
		      "UPDATE jobs SET state = " SQL_JOB_ENDED ", ended_ns = ?3, end = ?4"
		      " WHERE job = ?1 AND attempt < ?2",
		      "iiit", a->job, (int64_t)a->attempt, times->end_ns, text);
}

static int write_attempt(struct settle *t, const struct rows_attempt *a,
			 const struct rule_times *times, struct err *err)
{
	struct rule_decision d;
	struct rule_known known;
	char node[REQUEST_NAME_MAX];
	int r = load_known(t, a, &known, node, err);

	if (r == 0)
		return add_note(t, a,
				"Slurm says that it started after it was cancelled before its "
				"start: it is charged nothing",
				err);
	if (r < 0)
		return r;
	d = rule_decide(times, &known, t->from->now_ns);
	if (d.action == RULE_WAIT)
		return rows_set_due(t->s, a, d.until_ns, err);
	if (d.action == RULE_WRITE)
		r = write_report(t, a, &d.times, node, err);
	return r < 0 || !a->due_ns ? r : rows_set_due(t->s, a, 0, err);
}

static int write_all(struct settle *t, const struct rows_attempt *a,
		     const struct rule_times *times, struct err *err)
{
	if (times->start_ns)
		return write_attempt(t, a, times, err);
	return times->end_ns ? end_unstarted(t, a, times, err) : 0;
}

int settle_new(struct settle *t, struct rows_attempt *a, struct err *err)
{
	char note[RULE_NOTE_MAX];
	const struct rule_times times =
		rule_mend(&a->row, t->batch->at_s, t->from->now_ns, note);
	int r = a->job ? 0 : make_job(t, a, &times, err);

	if (r >= 0)
		r = rows_save(t->s, a, err);
	if (r >= 0)
		r = note_kinds(t, a, err);
	if (r >= 0)
		r = add_note(t, a, note, err);
	return r < 0 ? r : write_all(t, a, &times, err);
}

/* Of one that runs, what slurmctld said last still holds: it is charged up to then. */
int settle_due(struct settle *t, struct rows_attempt *a, struct err *err)
{
	char note[RULE_NOTE_MAX];
	const struct rule_times times = rule_mend(&a->row, a->at_s, t->from->now_ns, note);

	return write_all(t, a, &times, err);
}

int settle_forgotten(struct settle *t, struct rows_attempt *a, struct err *err)
{
	a->row.state = SLURM_BATCH_UNKNOWN;
	a->row.end_s = a->at_s;
	t->n_changed++;
	return settle_new(t, a, err);
}
