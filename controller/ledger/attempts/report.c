/* SPDX-License-Identifier: GPL-2.0-or-later */
/* report.c - one report into the attempt, the job and the rollups, inside the caller's transaction:
 * load what is known, decide (known, refused, new), merge the cumulative figures, charge them,
 * write the attempt, the job, and the days. See store.h.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "common/time_units.h"
#include "common/wire/wire.h"
#include "controller/ledger/attempts/charge.h"
#include "controller/ledger/attempts/bound/elapsed.h"
#include "controller/ledger/attempts/report_rows.h"
#include "controller/ledger/attempts/walltime.h"
#include "controller/ledger/nodes/given/given_kept.h"
#include "controller/ledger/restored.h"
#include "controller/ledger/sql.h"

static int write_attempt(struct store *s, const struct store_known *k,
			 const struct store_report_case *c, const struct tally *now,
			 struct err *err)
{
	const struct report *rep = c->report;
	const struct job_end *how = store_known_end(k, rep);
	bool has_ended = rep->state == JOB_ENDED;
	_cleanup_json_ json_t *end_doc = has_ended ? wire_encode_end(how) : NULL;
	_cleanup_free_ char *usage = wire_format_usage(&k->usage);
	_cleanup_free_ char *end = end_doc ? wire_format(end_doc) : NULL;

	if (!usage || (has_ended && !end))
		return err_set(err, -ENOMEM, "out of memory");
	if (c->rows)
		return store_report_rows_attempt(c, k, now, TAKE_PTR(usage), err);
	return db_run_later(
		s->db, err,
		"UPDATE attempts SET seq = ?3, at_ns = ?4, state = ?5,"
		" shown = CASE WHEN ?20 <> 0 THEN shown ELSE 1 END,"
		" missing_ns = 0, started_ns = ?6, ended_ns = ?7, running_ns = ?8,"
		" suspended_ns = ?9, charge_requested_ms = ?10, charge_used_ms = ?11,"
		" cpus = CASE WHEN ?20 <> 0 THEN cpus ELSE ?12 END,"
		" note = CASE WHEN ?20 <> 0 THEN note ELSE ?13 END, usage = ?14,"
		" closed = CASE WHEN ?15 = 0 THEN closed"
		" WHEN ?20 <> 0 THEN " SQL_STORE_LOST " ELSE " SQL_STORE_FINAL " END,"
		" end = CASE WHEN ?15 <> 0 THEN ?16 ELSE end END,"
		" end_kind = CASE WHEN ?15 <> 0 THEN ?17 ELSE end_kind END,"
		" exit_status = CASE WHEN ?15 <> 0 THEN ?18 ELSE exit_status END,"
		" signal = CASE WHEN ?15 <> 0 THEN ?19 ELSE signal END"
		" WHERE job = ?1 AND attempt = ?2",
		"iiiiiiiiiii"
		"tttitiiii",
		rep->job, (int64_t)rep->attempt, rep->seq, rep->at_ns, (int64_t)k->state,
		k->started_ns, k->ended_ns, now->running_ns, now->suspended_ns,
		now->charge_requested_ms, now->charge_used_ms, rep->cpus, rep->note, usage,
		(int64_t)has_ended, end, (int64_t)how->kind, (int64_t)how->exit_status,
		(int64_t)how->signal, (int64_t)c->is_followed);
}

/* The job's row mirrors its present attempt; a late report of an earlier one does not change it. Nor does one of a job that runs on, which
 * most reports are: the row is large, and would be written again each time. */
static int write_job(struct store *s, const struct store_known *k,
		     const struct store_report_case *c, struct err *err)
{
	const struct report *rep = c->report;

	if (k->job_attempt != rep->attempt ||
	    (k->state != JOB_ENDED && k->job_state == k->state &&
	     k->job_started_ns == k->started_ns && k->job_ended_ns == k->ended_ns))
		return 0;
	if (c->rows)
		return store_report_rows_job(c, k, err);
	return db_run_later(s->db, err,
			    "UPDATE jobs SET state = ?2, started_ns = ?3, ended_ns = ?4,"
			    " end = CASE WHEN ?2 = " SQL_JOB_ENDED " THEN"
			    "  (SELECT end FROM attempts WHERE job = ?1 AND attempt = ?5)"
			    " ELSE end END WHERE job = ?1",
			    "iiiii", rep->job, (int64_t)k->state, k->started_ns, k->ended_ns,
			    (int64_t)rep->attempt);
}

static int note_change(struct store *s, const struct store_report_case *c,
		       const struct store_known *k, struct err *err)
{
	const struct report *rep = c->report;
	char line[REASON_TEXT_MAX] = "";
	struct store_event e = { c->now_ns, rep->job, c->node, job_state_name(rep->state),
				 line };

	if (rep->state == JOB_ENDED)
		reason_format_line(store_known_end(k, rep), line, sizeof(line));
	else
		e.text = "";
	return store_report_event(s, c, &e, err);
}

static int refuse_report(struct store_report_case *c, const char *why)
{
	c->refusal =
		(struct sync_refusal){ .job = c->report->job, .attempt = c->report->attempt };
	snprintf(c->refusal.why, sizeof(c->refusal.why), "%s", why);
	return STORE_REPORT_REFUSED;
}

/* The node itself reports that it lost the job, by a reboot: the same as a loss that the controller
 * found. */
static int requeue_lost(struct store *s, const struct store_report_case *c,
			const struct store_known *k, struct err *err)
{
	const struct report *rep = c->report;
	const struct store_loss l = {
		.job = rep->job, .attempt = rep->attempt, .now_ns = c->now_ns, .node = c->node
	};
	char text[128];
	int r = rep->state == JOB_ENDED && store_known_end(k, rep)->kind == END_NODE_LOST
			? store_may_requeue(s, &l, text, err)
			: 0;

	return r > 0 ? store_requeue(s, &l, err) : r;
}

static void set_changed(struct store_report_case *c, const struct store_known *k)
{
	c->is_new = true;
	c->part = k->is_several ? k->part.part : -1;
	c->job_state = k->state;
	c->gpu_idle_ns =
		usage_has(&k->usage, &k->usage.gpu_idle_ns) ? k->usage.gpu_idle_ns : -1;
}

#define SAME_PACE_NS (S_NS / 20)
#define ANNOUNCED_EACH 16

/* The job runs on as the queue computes it from its last report and the clock. Most reports are such, and if each were announced the queue would
 * read thousands of jobs again in each cycle. One in ANNOUNCED_EACH is, so that small differences do not add up; of jobs that began together a part at a time. To be
 * asked before *k changes. */
static bool runs_on(const struct store_known *k, const struct report *rep,
		    const struct tally_span *span)
{
	int64_t gained_ns = span->after.running_ns - span->before.running_ns,
		late_ns = rep->at_ns - k->at_ns - gained_ns;

	return k->closed == STORE_OPEN && k->state == JOB_RUNNING &&
	       rep->state == JOB_RUNNING && !k->is_several && k->at_ns && k->started_ns &&
	       k->job_attempt == rep->attempt && k->job_state == JOB_RUNNING &&
	       span->after.suspended_ns == span->before.suspended_ns &&
	       late_ns > -SAME_PACE_NS && late_ns < SAME_PACE_NS &&
	       (rep->seq % ANNOUNCED_EACH + rep->job % ANNOUNCED_EACH) % ANNOUNCED_EACH;
}

/* An open attempt on a single node starts, changes its state or runs on: what that writes is gathered with that of others. */
static bool is_of_rows(const struct store_known *k, const struct store_report_case *c)
{
	const struct report *rep = c->report;

	return !c->is_followed && rep != &c->believed && k->closed == STORE_OPEN &&
	       !k->is_several && rep->state != JOB_ENDED && !rep->ended_ns;
}

/* The report moves figures, and nothing else. To be asked before *k changes. */
static bool is_plain(const struct store_known *k, const struct report *rep)
{
	return rep->state == k->state && (!rep->started_ns || rep->started_ns == k->started_ns);
}

static int accept_report(struct store *s, struct store_report_case *c, struct store_known *k,
			 const struct tally_span *span, struct err *err)
{
	const struct report *rep = c->report;
	enum job_state was = k->state;
	int r;

	if (!is_of_rows(k, c))
		c->rows = NULL;
	k->days.slices = c->rows ? &c->rows->slices : NULL;
	r = store_charge_write_days(s, k, c, span, err);
	c->is_plain = is_plain(k, rep);
	if (c->rows && c->is_plain)
		store_given_kept_show(s, rep->job, rep->attempt);
	else
		store_forget_given_job(s, rep->job);
	if (!runs_on(k, rep, span))
		store_announce_figures(s, rep->job);
	if (r >= 0)
		r = store_charge_write_interval(s, k, c, span, err);
	if (r < 0)
		return r;
	/* The controller has ended it: only the node's final report changes that. */
	if (k->closed == 0 || rep->state == JOB_ENDED)
		k->state = rep->state;
	if (rep->started_ns)
		k->started_ns = rep->started_ns;
	if (rep->ended_ns)
		k->ended_ns = rep->ended_ns;
	r = write_attempt(s, k, c, &span->after, err);
	if (r >= 0)
		r = write_job(s, k, c, err);
	if (r >= 0 && k->state != was)
		r = note_change(s, c, k, err);
	if (r >= 0)
		r = store_walltime_note(s, c, k, span, err);
	if (r >= 0 && k->is_several)
		r = store_part_take(s, &k->part, rep, err);
	if (r >= 0)
		r = requeue_lost(s, c, k, err);
	if (r < 0)
		return r;
	c->affects_others = k->is_several && rep->state == JOB_ENDED;
	set_changed(c, k);
	c->has_freed = k->state != was && k->state != JOB_STARTING;
	return STORE_REPORT_ACK;
}

/* What a part other than 0 used counts for the attempt unless that is void, also when the report comes
 * after the attempt's end. */
static int add_part(struct store *s, struct store_report_case *c, struct store_known *k,
		    const struct tally_span *span, struct err *err)
{
	_cleanup_free_ char *usage = wire_format_usage(&k->usage);
	int r = usage ? store_charge_write(s, k, span, err)
		      : err_set(err, -ENOMEM, "out of memory");

	if (r < 0)
		return r;
	return db_run(s->db, err,
		      "UPDATE attempts SET usage = ?3, charge_requested_ms = ?4,"
		      " charge_used_ms = ?5 WHERE job = ?1 AND attempt = ?2",
		      "iitii", c->report->job, (int64_t)c->report->attempt, usage,
		      span->after.charge_requested_ms, span->after.charge_used_ms);
}

static int accept_part(struct store *s, struct store_report_case *c, struct store_known *k,
		       const struct tally_span *span, struct err *err)
{
	const struct report *rep = c->report;
	const struct store_part_end end = { { rep->job, rep->attempt, c->node },
					    c->now_ns,
					    &rep->end };
	enum job_state was = k->part.state;
	int r = k->closed == STORE_VOID ? 0 : add_part(s, c, k, span, err);

	if (r >= 0)
		r = store_part_take(s, &k->part, rep, err);
	if (r >= 0 && k->part.state != was && rep->state == JOB_ENDED)
		r = store_part_ended(s, &end, err);
	else if (r >= 0 && k->part.state != was && rep->state == JOB_RUNNING)
		r = store_parts_run(s, &end.at, err);
	if (r < 0)
		return r;
	c->affects_others = r > 0;
	set_changed(c, k);
	c->has_freed = k->part.state != was && k->part.state != JOB_STARTING;
	return STORE_REPORT_ACK;
}

/* 1: k is the attempt, and on several nodes k->part what this node has of it; 0: it has nothing. */
static int load_its_part(struct store *s, const struct store_report_case *c,
			 struct store_known *k, struct err *err)
{
	int r = 1;

	if (c->loaded)
		*k = *c->loaded;
	else
		r = store_known_load(s, c->report, k, err);
	if (r > 0 && k->is_several)
		return store_part_load(s, c->report, c->node, &k->part, err);
	return r > 0 ? strcmp(k->node, c->node) == 0 : r;
}

/* The report can add nothing. Of an attempt that the controller ended only a final report counts: one
 * that still runs is refused by the node's list. */
static bool is_over(const struct store_known *k, const struct store_report_case *c)
{
	const struct report *rep = c->report;
	int64_t closed = k->part.part ? (int64_t)k->part.closed : k->closed;
	int64_t seq = k->is_several ? k->part.seq : k->seq;

	if (closed == STORE_FINAL || closed == STORE_VOID ||
	    (rep->seq <= seq && !c->is_followed))
		return true;
	return closed == STORE_LOST && rep->state != JOB_ENDED;
}

static int64_t newest_seq(const struct store_known *k, const struct report *rep)
{
	int64_t seq = k->is_several ? k->part.seq : k->seq;

	return seq > rep->seq ? seq : rep->seq;
}

/* 1: it is not acknowledged, so that the node sends it again: store_part_0_waits(). */
static int is_early(struct store *s, struct store_report_case *c, const struct store_known *k,
		    struct err *err)
{
	const struct report *rep = c->report;
	const struct store_part_end f = { { rep->job, rep->attempt, c->node },
					  c->now_ns,
					  &rep->end };
	int r = k->is_several && k->part.part == 0 && rep->state == JOB_ENDED
			? store_part_0_waits(s, &f, err)
			: 0;

	c->affects_others = r == STORE_WAITS_FROM_NOW;
	return r < 0 ? r : r > 0;
}

static int find_its_part(struct store *s, const struct store_report_case *c,
			 struct store_known *k, struct err *err)
{
	const struct store_at at = { c->report->job, c->report->attempt, c->node };
	int r = load_its_part(s, c, k, err);

	if (r == 0 && c->may_adopt)
		r = store_restored_adopt(s, &at, c->now_ns, err);
	else
		return r;
	return r > 0 ? load_its_part(s, c, k, err) : r;
}

int store_report(struct store *s, struct store_report_case *c, struct err *err)
{
	const struct report *rep = c->report;
	struct err why = { "its figures" };
	struct store_known k = { 0 };
	struct tally_span span;
	int r = find_its_part(s, c, &k, err);

	if (r < 0)
		return r;
	if (r == 0)
		return refuse_report(c, "this job was never given to this node");
	if (rep->state == JOB_QUEUED)
		return refuse_report(
			c, "a job that was dispatched to a node cannot be queued there");
	if (c->is_followed) {
		c->believed = *rep;
		c->believed.seq = newest_seq(&k, rep);
		c->report = rep = &c->believed;
	}
	c->ack = (struct sync_ack){ rep->job, newest_seq(&k, rep), rep->attempt };
	if (is_over(&k, c))
		return STORE_REPORT_ACK;
	r = is_early(s, c, &k, err);
	if (r != 0)
		return r < 0 ? r : STORE_REPORT_EARLY;
	r = store_elapsed_clamp(s, c, k.given_ns, err);
	if (r >= 0)
		r = store_elapsed_slurm(s, c, k.given_ns, err);
	if (r < 0)
		return r;
	span = store_charge_span(&k, c);
	r = store_charge_delta(s, &k, c->report, &span, &why);
	if (r == -ERANGE || r == -EINVAL)
		return refuse_report(c, "its figures are beyond what can be charged");
	if (r < 0)
		return err_set(err, r, "job %lld: charge: %s", (long long)rep->job, why.text);
	return (k.part.part ? accept_part : accept_report)(s, c, &k, &span, err);
}
