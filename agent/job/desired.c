/* SPDX-License-Identifier: GPL-2.0-or-later */
/* desired.c - carry out what the controller wants of the jobs of this node; see job/desired.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agent/admit/pids.h"
#include "agent/job/phase/end.h"
#include "agent/job/handshake/hosts.h"
#include "agent/job/phase/limit.h"
#include "agent/job/desired.h"
#include "agent/job/output.h"
#include "agent/job/save.h"
#include "agent/job/phase/recover.h"
#include "agent/job/signed.h"
#include "agent/job/phase/attach.h"
#include "agent/job/phase/kill.h"
#include "agent/step/steps.h"
#include "common/log.h"
#include "common/wire/wire.h"

/* The first end stays: a cancel after a limit does not change the reason. */
static void latch_cancel(struct job *j, const char *why)
{
	if (j->s.end.kind != END_NONE)
		return;
	if (!why || !*why)
		why = "by order";
	job_latch_end(j, END_CANCELLED, why);
	log_job(LOG_INFO, j->s.job, "cancel", "%s", why);
}

static int64_t default_pids(const struct node *n, const struct job *j)
{
	struct pids_share share = { .job_max = n->conf->pids_max,
				    .capacity = n->capacity.pids,
				    .ncpus = j->s.request.res.ncpus,
				    .node_ncpus = n->capacity.ncpus };

	return pids_of_job(&share);
}

/* Fills the request of the new job and checks it: well formed, room in the spool, signed by its user.
 * JOB_SIGNED_NO: the job must not start, err says why. < 0: not known yet. */
static int check_new(struct node *n, struct job *j, const struct sync_order *o,
		     struct signed_start *ret, struct err *err)
{
	*ret = (struct signed_start){ .is_signed = false };
	if (o->bad) {
		err_set(err, 0, "the request cannot be read: %.200s", o->bad);
		return JOB_SIGNED_NO;
	}
	if (request_copy(o->request, &j->s.request, err) < 0 ||
	    request_check_given(&j->s.request, err) < 0 ||
	    job_hosts_check(&j->s.request.part, err) < 0)
		return JOB_SIGNED_NO;
	if (spool_is_full(n->spool)) {
		err_set(err, 0,
			"node %s takes no new jobs: its spool of unsent reports is full",
			n->conf->node);
		return JOB_SIGNED_NO;
	}
	/* What is to be cancelled is not started. */
	return o->want == DESIRED_CANCEL ? 0 : job_signed_check(n, o, ret, err);
}

/* Every attempt that the controller names gets a row and a final report, also one that must not
 * start: it goes straight to FINAL with the reason. Only where the answer is not known yet (memory,
 * munged) nothing is made, and the repeated order tries again. */
static void start_new(struct node *n, const struct sync_order *o)
{
	struct err err = { "out of memory" };
	struct signed_start start;
	struct job *j;
	int r;

	if (!o->request && !o->bad)
		return; /* the next answer brings the request: our list does not show the job */
	if (n->n_jobs >= WIRE_SYNC_JOBS_MAX)
		return; /* no room in the list: the order comes again when others are gone */
	/* The ledger was restored from a backup of when it ran: its report says how it ended. */
	r = spool_repeat(n->spool, o->job, o->attempt, &err);
	if (r == 0)
		r = job_save_is_forgotten(n, (struct manager_id){ o->job, o->attempt }, &err);
	if (r != 0) {
		if (r < 0)
			log_job(LOG_ERR, o->job, "order", "cannot be taken, trying again: %s",
				err.text);
		uplink_kick(n->uplink);
		return;
	}
	j = job_new(n, o->job, o->attempt);
	if (!j)
		return;
	r = check_new(n, j, o, &start, &err);
	if (r == JOB_SIGNED_NO)
		job_fail(j, "%.250s", err.text);
	if (!j->s.request.res.pids) /* before the request is saved: that is done once */
		j->s.request.res.pids = default_pids(n, j);
	if (o->want == DESIRED_CANCEL)
		latch_cancel(j, o->reason);
	j->order = o->want;
	if (start.is_signed) {
		j->start = malloc(sizeof(*j->start));
		if (j->start)
			*j->start = start;
		else
			r = -ENOMEM;
	}
	if (r < 0) { /* nothing was saved: the order comes again */
		log_job(LOG_ERR, o->job, "order", "cannot be taken, trying again: %s",
			err.text);
		job_free(j);
		return;
	}
	uplink_list_grew(n->uplink);
	job_enter_phase(j, j->s.end.kind == END_NONE ? PHASE_PREPARE : PHASE_FINAL);
}

/* Idempotent: an order that the job follows already changes nothing, and nothing follows a cancel. A
 * repeated "run" wakes a job that waits for cores. */
static void on_want(void *ctx, const struct sync_order *o)
{
	struct node *n = ctx;
	struct job *j = job_find(n, o->job, o->attempt);
	enum job_desired order = o->want;

	if (!j) {
		start_new(n, o);
		return;
	}
	if (job_has_ended(j) || j->order == DESIRED_CANCEL)
		return;
	if (j->order == order && !(order == DESIRED_RUN && j->is_told_to_wait))
		return;
	j->order = order;
	if (order == DESIRED_CANCEL)
		latch_cancel(j, o->reason);
	job_act_after(j, 0);
}

/* The controller has committed the final report: the job can be forgotten. Before REPORT it is about an
 * earlier report. */
static void on_settled(void *ctx, int64_t id, int32_t attempt)
{
	struct job *j = job_find(ctx, id, attempt);

	if (j && j->phase == PHASE_REPORT)
		job_settle(ctx, j);
}

/* Its reports are out of the spool already, and the controller wants no further one: kill the job and
 * forget it. */
static void on_refused(void *ctx, int64_t id, int32_t attempt, const char *why)
{
	struct node *n = ctx;
	struct job *j = job_find(n, id, attempt);

	if (!j && !job_recover_refuse(n, (struct manager_id){ id, attempt }))
		return;
	log_job(LOG_WARNING, id, "refused", "refused by the controller: %s", why);
	if (!j)
		return;
	if (j->phase == PHASE_REPORT) {
		job_settle(n, j);
		return;
	}
	latch_cancel(j, why);
	if (!job_has_ended(j)) {
		job_kill_now(j);
		job_act_after(j, 0);
	}
}

static void on_output_ack(void *ctx, const struct sync_output_ack *ack)
{
	struct job *j = job_find(ctx, ack->job, ack->attempt);

	if (ack->step)
		steps_output_acked(ctx, ack);
	else if (j)
		job_output_acked(j, ack->stream, ack->offset);
}

static void on_step(void *ctx, const struct sync_step_order *o)
{
	steps_order(ctx, o);
}

static void on_step_ack(void *ctx, struct sync_step_id id)
{
	steps_ack(ctx, id);
}

const struct sync_handlers job_desired_handlers = {
	.on_want = on_want,
	.on_settled = on_settled,
	.on_refused = on_refused,
	.on_output_ack = on_output_ack,
	.on_step = on_step,
	.on_step_ack = on_step_ack,
};
