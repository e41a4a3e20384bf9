/* SPDX-License-Identifier: GPL-2.0-or-later */
/* part.c - reads and writes one part of an attempt on several nodes: as its node's list shows it, as
 * its reports change it, and how it ends. Part 0 is shown by the attempt's own row. See
 * attempts/part.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/utf8.h"
#include "common/wire/json/load.h"
#include "common/wire/wire.h"
#include "controller/ledger/attempts/part.h"
#include "controller/ledger/jobs/slurm.h"
#include "controller/ledger/nodes/given/given_kept.h"
#include "controller/ledger/steps/steps.h"
#include "controller/ledger/sql.h"

/* ---- what one node has of an attempt ---- */

/* The columns of both halves of the SELECT in store_place_find(). */
enum place_column { PLACE_PART, PLACE_STATE, PLACE_CLOSED, PLACE_IS_SEVERAL };

int store_place_find(struct store *s, const struct store_at *at, struct store_place *ret,
		     struct err *err)
{
	struct db_row *st;
	int r = db_query_first(s->db, err, &st,
			       "SELECT 0, state, closed, CASE WHEN hosts = '' THEN 0 ELSE 1 END"
			       " FROM attempts WHERE job = ?1 AND attempt = ?2 AND node = ?3"
			       " UNION ALL SELECT part, state, closed, 1 FROM parts"
			       " WHERE job = ?1 AND attempt = ?2 AND node = ?3 AND part > 0",
			       "iit", at->job, (int64_t)at->attempt, at->node);

	if (r <= 0)
		return r;
	*ret = (struct store_place){ .part = (int32_t)db_int(st, PLACE_PART),
				     .state = (enum job_state)(int)db_int(st, PLACE_STATE),
				     .closed = (enum store_closed)(int)db_int(st, PLACE_CLOSED),
				     .is_several = db_int(st, PLACE_IS_SEVERAL) != 0 };
	db_done(st);
	return 1;
}

/* The job's state is that of part 0. Rows that show it already are not written again. */
static int show_first(struct store *s, const struct store_at *at, const struct store_place *p,
		      enum job_state state, struct err *err)
{
	int r = db_run(s->db, err,
		       "UPDATE attempts SET shown = 1, missing_ns = 0, state = ?3"
		       " WHERE job = ?1 AND attempt = ?2 AND"
		       " (shown = 0 OR missing_ns <> 0 OR state <> ?3)",
		       "iii", at->job, (int64_t)at->attempt, (int64_t)state);

	store_announce_job(s, at->job);
	if (r < 0 || p->state == state)
		return r;
	return db_run(s->db, err, "UPDATE jobs SET state = ?3 WHERE job = ?1 AND attempt = ?2",
		      "iii", at->job, (int64_t)at->attempt, (int64_t)state);
}

int store_place_show(struct store *s, const struct store_at *at, const struct store_place *p,
		     enum job_state state, struct err *err)
{
	if (p->part == 0)
		return show_first(s, at, p, state, err);
	store_announce_job(s, at->job);
	return db_run(s->db, err,
		      "UPDATE parts SET shown = 1, missing_ns = 0, state = ?4"
		      " WHERE job = ?1 AND attempt = ?2 AND part = ?3 AND"
		      " (shown = 0 OR missing_ns <> 0 OR state <> ?4)",
		      "iiii", at->job, (int64_t)at->attempt, (int64_t)p->part, (int64_t)state);
}

int store_place_miss(struct store *s, const struct store_at *at, const struct store_place *p,
		     int64_t since_ns, struct err *err)
{
	store_forget_given_job(s, at->job);
	if (p->part == 0)
		return db_run(s->db, err,
			      "UPDATE attempts SET missing_ns = ?3"
			      " WHERE job = ?1 AND attempt = ?2 AND missing_ns <> ?3",
			      "iii", at->job, (int64_t)at->attempt, since_ns);
	return db_run(s->db, err,
		      "UPDATE parts SET missing_ns = ?4 WHERE job = ?1 AND attempt = ?2"
		      " AND part = ?3 AND missing_ns <> ?4",
		      "iiii", at->job, (int64_t)at->attempt, (int64_t)p->part, since_ns);
}

int store_parts_run(struct store *s, const struct store_at *at, struct err *err)
{
	int r = db_has_row(s->db, err,
			   "SELECT 1 FROM parts WHERE job = ?1 AND attempt = ?2 AND part > 0"
			   " AND state < " SQL_JOB_RUNNING " LIMIT 1",
			   "ii", at->job, (int64_t)at->attempt);

	return r < 0 ? r : r == 0;
}

/* ---- reports ---- */

int store_usage_decode(const char *text, struct usage *ret, struct err *err)
{
	_cleanup_json_ json_t *doc = NULL;

	if (!*text || wire_parse_usage(text, ret) == 0)
		return 0;
	doc = wire_load(text, 0, NULL);
	if (!doc)
		return err_set(err, -EBADMSG, "usage in the ledger is not readable");
	return wire_decode_usage(doc, "usage", ret, err) < 0 ? -EBADMSG : 0;
}

/* clang-format off */
#define PART_COLUMNS(X) \
	X(PART_PART,         "part") \
	X(PART_STATE,        ", state") \
	X(PART_CLOSED,       ", closed") \
	X(PART_SEQ,          ", seq") \
	X(PART_AT_NS,        ", at_ns") \
	X(PART_STARTED_NS,   ", started_ns") \
	X(PART_ENDED_NS,     ", ended_ns") \
	X(PART_RUNNING_NS,   ", running_ns") \
	X(PART_SUSPENDED_NS, ", suspended_ns") \
	X(PART_USAGE,        ", usage")
/* clang-format on */
enum { PART_COLUMNS(SQL_NAME) };
#define PART_SELECT "SELECT " PART_COLUMNS(SQL_COLUMN)

int store_part_load(struct store *s, const struct report *key, const char *node,
		    struct store_part_known *ret, struct err *err)
{
	struct db_row *st;
	int r = db_query_first(s->db, err, &st,
			       PART_SELECT " FROM parts"
					   " WHERE job = ?1 AND attempt = ?2 AND node = ?3",
			       "iit", key->job, (int64_t)key->attempt, node);

	if (r <= 0)
		return r;
	*ret = (struct store_part_known){ .job = key->job,
					  .attempt = key->attempt,
					  .part = (int32_t)db_int(st, PART_PART),
					  .state = (enum job_state)(int)db_int(st, PART_STATE),
					  .closed = (enum store_closed)(int)db_int(st,
										   PART_CLOSED),
					  .seq = db_int(st, PART_SEQ),
					  .at_ns = db_int(st, PART_AT_NS),
					  .started_ns = db_int(st, PART_STARTED_NS),
					  .ended_ns = db_int(st, PART_ENDED_NS),
					  .running_ns = db_int(st, PART_RUNNING_NS),
					  .suspended_ns = db_int(st, PART_SUSPENDED_NS) };
	snprintf(ret->node, sizeof(ret->node), "%s", node);
	r = store_usage_decode(store_text(st, PART_USAGE), &ret->usage, err);
	db_done(st);
	return r < 0 ? r : 1;
}

int store_part_sum(struct store *s, const struct store_part_known *p, struct usage *ret,
		   struct err *err)
{
	struct db_row *st;
	int r = db_query(s->db, err, &st,
			 "SELECT usage FROM parts WHERE job = ?1 AND attempt = ?2"
			 " AND part <> ?3 AND usage IS NOT NULL",
			 "iii", p->job, (int64_t)p->attempt, (int64_t)p->part);

	*ret = (struct usage){ 0 };
	while (r >= 0 && (r = db_step(s->db, st, err)) > 0) {
		struct usage one = { 0 };

		r = store_usage_decode(store_text(st, 0), &one, err);
		if (r < 0)
			db_done(st);
		else
			usage_add(ret, &one);
	}
	if (r >= 0)
		usage_add(ret, &p->usage);
	return r;
}

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* A part that the controller has ended keeps that state until its final report. Time only grows. */
static void merge_report(struct store_part_known *p, const struct report *rep)
{
	if (p->closed == STORE_OPEN || rep->state == JOB_ENDED)
		p->state = rep->state;
	p->seq = rep->seq;
	p->at_ns = rep->at_ns;
	if (rep->started_ns)
		p->started_ns = rep->started_ns;
	if (rep->ended_ns)
		p->ended_ns = rep->ended_ns;
	p->running_ns = later(p->running_ns, rep->running_ns);
	p->suspended_ns = later(p->suspended_ns, rep->suspended_ns);
	if (rep->state == JOB_ENDED)
		p->closed = STORE_FINAL;
}

/* *ret is malloc()ed JSON. */
static int encode_end(const struct job_end *end, char **ret, struct err *err)
{
	_cleanup_json_ json_t *doc = wire_encode_end(end);

	*ret = doc ? wire_format(doc) : NULL;
	return *ret ? 0 : err_set(err, -ENOMEM, "out of memory");
}

int store_part_take(struct store *s, struct store_part_known *p, const struct report *rep,
		    struct err *err)
{
	_cleanup_json_ json_t *doc = wire_encode_usage(&p->usage);
	_cleanup_free_ char *usage = doc ? wire_format(doc) : NULL, *end = NULL;
	int r = usage ? 0 : err_set(err, -ENOMEM, "out of memory");

	merge_report(p, rep);
	store_announce_job(s, p->job);
	if (r >= 0 && rep->state == JOB_ENDED)
		r = encode_end(&rep->end, &end, err);
	if (r < 0)
		return r;
	return db_run(s->db, err,
		      "UPDATE parts SET seq = ?4, at_ns = ?5, state = ?6, shown = 1,"
		      " missing_ns = 0, started_ns = ?7, ended_ns = ?8, running_ns = ?9,"
		      " suspended_ns = ?10, cpus = ?11, note = ?12, usage = ?13, closed = ?14,"
		      " end = COALESCE(?15, end)"
		      " WHERE job = ?1 AND attempt = ?2 AND part = ?3",
		      "iiiiii"
		      "iiii"
		      "tttit",
		      p->job, (int64_t)p->attempt, (int64_t)p->part, p->seq, p->at_ns,
		      (int64_t)p->state, p->started_ns, p->ended_ns, p->running_ns,
		      p->suspended_ns, rep->cpus, rep->note, usage, (int64_t)p->closed, end);
}

/* ---- ends ---- */

/* 1: the attempt is the job's present one, is open, and no part of it has failed before. */
static int is_attempt_open(struct store *s, const struct store_at *at, struct err *err)
{
	return db_has_row(s->db, err,
			  "SELECT 1 FROM attempts a JOIN jobs j ON j.job = a.job"
			  " AND j.attempt = a.attempt WHERE a.job = ?1 AND a.attempt = ?2"
			  " AND a.closed = " SQL_STORE_OPEN
			  " AND a.verdict_kind = " SQL_END_NONE
			  " AND j.want <> " SQL_DESIRED_CANCEL,
			  "ii", at->job, (int64_t)at->attempt);
}

/* The end of the first part that failed becomes the attempt's verdict, and the job is to be
 * cancelled. */
static int write_verdict(struct store *s, const struct store_part_end *f,
			 const struct job_end *end, const char *why, struct err *err)
{
	_cleanup_free_ char *text = NULL;
	int r = encode_end(end, &text, err);

	store_announce_job(s, f->at.job);
	if (r >= 0)
		r = db_run(s->db, err,
			   "UPDATE attempts SET verdict = ?3, verdict_kind = ?4"
			   " WHERE job = ?1 AND attempt = ?2",
			   "iiti", f->at.job, (int64_t)f->at.attempt, text, (int64_t)end->kind);
	if (r >= 0)
		r = db_run(s->db, err,
			   "UPDATE jobs SET want = " SQL_DESIRED_CANCEL
			   ", want_reason = ?2, gave_way_to = 0"
			   " WHERE job = ?1",
			   "it", f->at.job, why);
	return r;
}

int store_part_ended(struct store *s, const struct store_part_end *f, struct err *err)
{
	char line[REASON_TEXT_MAX], why[SYNC_TEXT_MAX];
	const struct store_event e = { f->now_ns, f->at.job, f->at.node, "part-ended", line };
	struct job_end end = *f->end;
	int r;

	reason_format_line(&end, line, sizeof(line));
	r = store_event(s, &e, err);
	if (r >= 0 && store_is_slurm(f->at.job) && end.kind != END_LIMIT)
		return 0; /* Slurm ends its parts with the job, in no order, or decides what a lost one means */
	if (r >= 0 && end.kind != END_CANCELLED)
		r = is_attempt_open(s, &f->at, err);
	else if (r >= 0)
		return 0;
	if (r <= 0)
		return r;
	/* It is the part's exit status; that of the job's command is not known. */
	if (end.kind == END_EXITED)
		end.exit_status = -1;
	if (!*end.reason.host)
		snprintf(end.reason.host, sizeof(end.reason.host), "%s", f->at.node);
	utf8_format(why, sizeof(why), "the job's part on node %s: %.*s", f->at.node, 160, line);
	r = write_verdict(s, f, &end, why, err);
	return r < 0 ? r : 1;
}

/* It ended by itself with a failure. */
static bool is_bad(const struct job_end *end)
{
	return end->kind == END_SIGNALED || (end->kind == END_EXITED && end->exit_status != 0);
}

/* The verdict counts where part 0 was cancelled because of the failed part, or failed by itself after
 * Reeve killed another part, which it missed. */
const struct job_end *store_part_judge(const struct job_end *first,
				       const struct job_end *verdict)
{
	bool is_ours = verdict->kind == END_LIMIT || verdict->kind == END_FAILED ||
		       verdict->kind == END_NODE_LOST;
	bool is_effect = first->kind == END_CANCELLED || (is_ours && is_bad(first));

	return is_effect && verdict->kind != END_NONE ? verdict : first;
}

/* 1: other parts have not ended, and no verdict explains the end of part 0 yet; *ret_since: since
 * when it waits, 0: not yet. */
static int load_wait(struct store *s, const struct store_at *at, int64_t *ret_since,
		     struct err *err)
{
	return db_query_int(
		s->db, err, ret_since,
		"SELECT a.held_ns FROM attempts a JOIN jobs j ON j.job = a.job"
		" AND j.attempt = a.attempt WHERE a.job = ?1 AND a.attempt = ?2"
		" AND a.closed = " SQL_STORE_OPEN " AND a.verdict_kind = " SQL_END_NONE
		" AND j.want <> " SQL_DESIRED_CANCEL
		" AND EXISTS(SELECT 1 FROM parts p WHERE p.job = a.job"
		" AND p.attempt = a.attempt AND p.part > 0 AND p.closed = " SQL_STORE_OPEN ")",
		"ii", at->job, (int64_t)at->attempt);
}

int store_part_0_waits(struct store *s, const struct store_part_end *f, struct err *err)
{
	int64_t since_ns = 0;
	int r = is_bad(f->end) ? load_wait(s, &f->at, &since_ns, err) : 0;

	if (r <= 0)
		return r;
	if (since_ns && llabs(f->now_ns - since_ns) >= STORE_FIRST_WAIT_NS)
		return 0;
	if (since_ns)
		return STORE_WAITS;
	store_forget_given_job(s, f->at.job);
	r = db_run(s->db, err,
		   "UPDATE attempts SET held_ns = ?3 WHERE job = ?1 AND attempt = ?2", "iii",
		   f->at.job, (int64_t)f->at.attempt, f->now_ns);
	return r < 0 ? r : STORE_WAITS_FROM_NOW;
}

void store_loss_end(const struct store_loss *l, const char *more, struct job_end *ret)
{
	*ret = (struct job_end){ .kind = END_NODE_LOST, .exit_status = -1 };
	ret->reason.requested = ret->reason.reached = -1;
	ret->reason.at_ns = l->now_ns;
	snprintf(ret->reason.host, sizeof(ret->reason.host), "%s", l->node);
	utf8_format(ret->reason.text, sizeof(ret->reason.text), "%.120s%s", l->text, more);
}

int store_part_write_loss(struct store *s, const struct store_loss *l,
			  const struct job_end *end, struct err *err)
{
	_cleanup_free_ char *text = NULL;
	int r = encode_end(end, &text, err);

	store_announce_job(s, l->job);
	return r < 0 ? r
		     : db_run(s->db, err,
			      "UPDATE parts SET closed = " SQL_STORE_LOST
			      ", state = " SQL_JOB_ENDED ", ended_ns = ?4, end = ?5"
			      " WHERE job = ?1 AND attempt = ?2 AND part = ?3",
			      "iiiit", l->job, (int64_t)l->attempt, (int64_t)l->part, l->now_ns,
			      text);
}

int store_part_lose(struct store *s, const struct store_loss *l, struct err *err)
{
	struct job_end end;
	const struct store_part_end f = { { l->job, l->attempt, l->node }, l->now_ns, &end };
	int r;

	store_loss_end(l, "", &end);
	r = store_part_write_loss(s, l, &end, err);
	if (r >= 0)
		r = store_steps_close(s, l->job, l->now_ns, err);
	return r < 0 ? r : store_part_ended(s, &f, err);
}
