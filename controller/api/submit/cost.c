/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cost.c - POST /v1/cost: what a request would be charged, and what its quota would decide.
 * Runs some steps of a submission, and stores nothing. */
#include "common/err.h"
#include "controller/api/submit/submit.h"

static void job_done(struct submit_job *s)
{
	request_done(&s->request);
}

static const submit_step_fn steps[] = {
	submit_read_request,  submit_apply_defaults, submit_choose_gpus,
	submit_try_chunks, /* a request that no node could hold has a price, too */
	submit_predict_qos,   submit_find_price,     submit_encode_price,
	submit_predict_quota,
};

int route_cost(struct call *c, struct err *err)
{
	_cleanup_(job_done) struct submit_job s = { .n_targets = 0 };
	int r = 0;

	for (size_t i = 0; i < ARRAY_LEN(steps) && r >= 0; i++)
		r = steps[i](c, &s, err);
	return r < 0 ? r : 0;
}
