/* SPDX-License-Identifier: GPL-2.0-or-later */
/* order_rig.c - submits jobs to a ledger, and plays its node. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "tests/unit/rig/order_rig.h"

int64_t order_submit(struct rig *r, const struct queued *what)
{
	_cleanup_(request_done) struct request q;
	struct store_new new = { .request = &q,
				 .pool = CHARGE_POOL_CPU,
				 .terms = { .rate = { what->ncpus, 1 }, .ncpus = what->ncpus },
				 .now_ns = what->at_ns };
	int64_t job;

	request_init(&q);
	strcpy(q.cluster, "main");
	strcpy(q.account, what->account);
	strcpy(q.user, what->user);
	strcpy(q.queue, what->queue);
	strcpy(q.name, "job");
	q.res = (struct resources){ .ncpus = what->ncpus, .vmem_bytes = 1, .walltime_s = 60 };
	q.workdir = strdup("/");
	for (int i = 0; i < _CHARGE_SIDE_MAX; i++)
		new.terms.bundle.side[i] = (struct fraction){ i == CHARGE_CORES, 1 };
	assert_int_equal(rig_submit_one(r->store, &new, &job, NULL), 0);
	return job;
}

void order_hello(struct rig *r, int64_t now_ns)
{
	struct rig_sync say = { .now_ns = now_ns };
	struct sync_result result;

	assert_int_equal(rig_send_sync(r, &say, &result), 0);
	sync_result_done(&result);
}
