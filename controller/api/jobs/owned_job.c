/* SPDX-License-Identifier: GPL-2.0-or-later */
/* owned_job.c - finds the job of a call, for its owner and operators alone; see owned_job.h. */
#include <errno.h>
#include <stdio.h>
#include "common/err.h"
#include "controller/api/jobs/owned_job.h"
#include "controller/ledger/archive/archive.h"

struct search {
	const struct call *c;
	struct owned_job *ret;
};

static int check_owner(void *ctx, const struct store_job *row, struct err *err)
{
	struct search *s = ctx;

	if (!s->c->is_operator && row->uid != s->c->who.uid)
		return store_no_job(s->c->api->c.store, row->job, err);
	s->ret->state = row->state;
	s->ret->preemptor = row->preempted_by;
	s->ret->uid = row->uid;
	s->ret->is_array = row->is_array;
	snprintf(s->ret->node, sizeof(s->ret->node), "%s", row->node ? row->node : "");
	return 0;
}

int owned_job_find(struct call *c, struct owned_job *ret, struct err *err)
{
	struct search s = { c, ret };

	return store_job(c->api->c.store, c->id, check_owner, &s, err);
}
