/* SPDX-License-Identifier: GPL-2.0-or-later */
/* batch.c - splits a list of jobs into documents and sends one after the other; see batch.h. */
#include "common/clock.h"
#include "common/err.h"
#include "common/time_units.h"
#include "common/wire/wire.h"
#include "slurm/follow/batch.h"

#define ROUTE "/v1/slurm/jobs"

/* At least 1, which says that it is known. */
static int64_t age_of(int64_t asked_ns)
{
	return asked_ns ? (clock_ns(CLOCK_MONOTONIC) - asked_ns) / MS_NS + 1 : 0;
}

/* One document and its answer. *ret needs slurm_batch_answer_done() after 0. */
static int send_one(struct follow *f, const struct slurm_batch *b,
		    struct slurm_batch_answer *ret, struct err *err)
{
	_cleanup_json_ json_t *doc = NULL, *answer = NULL;
	int r = slurm_batch_encode(b, &doc, err);

	if (r >= 0)
		r = follow_ask(f, ROUTE, doc, &answer, err);
	if (r < 0)
		return r;
	r = slurm_batch_decode_answer(answer, ret, err);
	return r < 0 ? err_prefix(err, r, "the controller's answer") : 0;
}

/* What speaks for the whole list (mark, present) goes with the last document alone: a failure before it leaves
 * the controller with some jobs stored, and nothing concluded from them. */
int batch_send(struct follow *f, const struct slurm_batch *all, struct slurm_batch_answer *ret,
	       struct err *err)
{
	size_t most = (size_t)f->config.batch, sent = 0;
	struct slurm_batch_answer answer = { 0 };

	for (;;) {
		struct slurm_batch b = *all;
		bool is_last = all->n_jobs - sent <= most;
		int r;

		b.jobs = all->jobs + sent;
		b.n_jobs = is_last ? all->n_jobs - sent : most;
		if (!is_last) {
			b.mark_s = 0;
			b.is_whole = false;
			b.asked_ns = 0;
			b.n_present = 0;
		}
		b.age_ms = age_of(b.asked_ns);
		slurm_batch_answer_done(&answer);
		answer = (struct slurm_batch_answer){ 0 };
		r = send_one(f, &b, &answer, err);
		if (r < 0)
			return r;
		sent += b.n_jobs;
		if (is_last)
			break;
	}
	*ret = answer;
	return 0;
}
