/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sync.c - carries out an answer in a fixed order: what the spool may forget, then what was
 * settled, output that arrived, refusals, desired states of jobs, and steps. */
#include <errno.h>
#include <stdlib.h>
#include "agent/report/sync.h"
#include "common/err.h"
#include "common/wire/wire.h"

struct apply {
	struct sync_answer answer;
	struct spool *spool;
	const struct sync_handlers *handlers;
	void *ctx;
	const struct sync_ack **settled; /* attempts whose final report was acknowledged */
	size_t n_settled;
};

/* ---- the spool ---- */

static int apply_acks(struct apply *a)
{
	int r = 0;

	for (size_t i = 0; i < a->answer.n_acks && r >= 0; i++) {
		const struct sync_ack *ack = &a->answer.acks[i];

		r = spool_ack(a->spool, ack->job, ack->attempt, ack->seq, NULL);
		if (r == SPOOL_FINAL)
			a->settled[a->n_settled++] = ack;
	}
	return r < 0 ? r : 0;
}

static int forget_refused(struct apply *a)
{
	int r = 0;

	for (size_t i = 0; i < a->answer.n_refusals && r >= 0; i++)
		r = spool_forget(a->spool, a->answer.refusals[i].job,
				 a->answer.refusals[i].attempt, NULL);
	return r;
}

/* As one commit; where the store refuses that, one by one, which the spool then remembers in memory. */
static int apply_refusals(struct apply *a)
{
	bool is_begun = a->answer.n_refusals && spool_begin(a->spool, NULL) >= 0;
	int r = forget_refused(a);

	if (!is_begun)
		return r;
	if (r < 0) {
		spool_rollback(a->spool);
		return r;
	}
	return spool_commit(a->spool, NULL) >= 0 ? 0 : forget_refused(a);
}

/* < 0: the spool cannot be read: what was acknowledged will be sent again. */
static int apply_to_spool(struct apply *a)
{
	int r = apply_acks(a), r2 = apply_refusals(a);

	return r < 0 ? r : r2;
}

/* ---- the handlers ---- */

/* A request that cannot be read must not stop the rest of the answer, and the controller must
 * not send it for ever: the handler gets it as bad. */
static void apply_desired_job(struct apply *a, const struct sync_desired_job *j)
{
	struct sync_order order = { .job = j->job,
				    .attempt = j->attempt,
				    .want = j->want,
				    .credential = j->credential,
				    .reason = j->reason ? j->reason : "" };
	struct request request;
	struct err why = { "" };

	if (!a->handlers->on_want)
		return;
	request_init(&request);
	if (j->request) {
		if (wire_decode_request(j->request, "request", &request, &why) < 0)
			order.bad = why.text;
		else
			order.request = &request;
	}
	a->handlers->on_want(a->ctx, &order);
	request_done(&request);
}

static void apply_desired_step(struct apply *a, const struct sync_desired_step *s)
{
	struct sync_step_order order = { .id = s->id, .want = s->want };
	struct err why = { "" };

	if (!a->handlers->on_step)
		return;
	if (sync_command_decode(s->command, &order.command, &why) < 0)
		order.bad = why.text;
	a->handlers->on_step(a->ctx, &order);
	sync_command_done(&order.command);
}

static void call_handlers(struct apply *a)
{
	const struct sync_handlers *h = a->handlers;
	const struct sync_answer *in = &a->answer;

	for (size_t i = 0; i < a->n_settled && h->on_settled; i++)
		h->on_settled(a->ctx, a->settled[i]->job, a->settled[i]->attempt);
	for (size_t i = 0; i < in->n_output_acks && h->on_output_ack; i++)
		h->on_output_ack(a->ctx, &in->output_acks[i]);
	for (size_t i = 0; i < in->n_refusals && h->on_refused; i++)
		h->on_refused(a->ctx, in->refusals[i].job, in->refusals[i].attempt,
			      in->refusals[i].why);
	for (size_t i = 0; i < in->n_jobs; i++)
		apply_desired_job(a, &in->jobs[i]);
	for (size_t i = 0; i < in->n_step_acks && h->on_step_ack; i++)
		h->on_step_ack(a->ctx, in->step_acks[i]);
	for (size_t i = 0; i < in->n_steps; i++)
		apply_desired_step(a, &in->steps[i]);
}

int sync_apply(const json_t *answer, struct spool *spool, const struct sync_handlers *handlers,
	       void *ctx, struct err *err)
{
	struct apply a = { .spool = spool, .handlers = handlers, .ctx = ctx };
	_cleanup_free_ const struct sync_ack **settled = NULL;
	size_t n_done;
	int r = sync_answer_decode(answer, &a.answer, err);

	if (r < 0)
		return r;
	settled = calloc(a.answer.n_acks + 1, sizeof(*settled));
	if (!settled) {
		sync_answer_done(&a.answer);
		return err_set(err, -ENOMEM, "out of memory");
	}
	a.settled = settled;
	n_done = a.answer.n_acks;
	/* Whatever the store says: desired states are in the same answer. */
	spool_lazy(spool, true);
	if ((n_done || a.answer.n_refusals) && apply_to_spool(&a) < 0)
		n_done = 0;
	spool_lazy(spool, false);
	/* Before the jobs: one that has ended here is not started again. Where the store fails, the next answer tries it again. */
	(void)spool_set_ledger(spool, a.answer.ledger, a.answer.restored_ns, NULL);
	call_handlers(&a);
	n_done += a.answer.n_output_acks + a.answer.n_step_acks;
	sync_answer_done(&a.answer);
	return (int)n_done;
}
