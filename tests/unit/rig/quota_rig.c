/* SPDX-License-Identifier: GPL-2.0-or-later */
/* quota_rig.c - parses policy and accounts, submits and reports jobs; see quota_rig.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "tests/unit/rig/quota_rig.h"

int quota_rig_open(void **state)
{
	struct quota_rig *q = calloc(1, sizeof(*q));
	void *ledger = NULL;

	if (rig_open(&ledger) < 0)
		return -1;
	q->ledger = ledger;
	q->now_ns = NOON;
	*state = q;
	return 0;
}

int quota_rig_close(void **state)
{
	struct quota_rig *q = *state;
	void *ledger = q->ledger;

	config_free(q->config);
	accounts_free(q->accounts);
	free(q);
	return rig_close(&ledger);
}

void quota_rig_set(struct quota_rig *q, const char *config, const char *accounts)
{
	struct err err = { "" };

	config_free(q->config);
	accounts_free(q->accounts);
	q->config = NULL;
	q->accounts = NULL;
	if (config_parse(config, strlen(config), &q->config, &err) < 0 ||
	    accounts_parse(accounts, strlen(accounts), "accounts", &q->accounts, &err) < 0)
		fail_msg("%s", err.text);
	q->site = (struct quota_site){ .store = q->ledger->store,
				       .config = q->config,
				       .accounts = q->accounts };
}

int64_t quota_rig_submit(struct quota_rig *q, const struct quota_rig_job *j)
{
	_cleanup_(request_done) struct request r;
	struct store_new new = { .request = &r,
				 .pool = CHARGE_POOL_CPU,
				 .decided_by = CHARGE_CORES,
				 .terms = { .rate = j->rate, .ncpus = 1 },
				 .now_ns = q->now_ns };
	int64_t job;

	request_init(&r);
	strcpy(r.cluster, "main");
	strcpy(r.account, j->account ? j->account : "physics");
	strcpy(r.user, j->user ? j->user : "alice");
	strcpy(r.queue, j->queue ? j->queue : "normal");
	strcpy(r.qos, j->qos ? j->qos : "");
	strcpy(r.name, "job");
	r.res = (struct resources){ .ncpus = j->ncpus ? j->ncpus : 1,
				    .vmem_bytes = 1000,
				    .walltime_s = j->walltime_s ? j->walltime_s : 1800 };
	r.workdir = strdup("/");
	for (int s = 0; s < _CHARGE_SIDE_MAX; s++)
		new.terms.bundle.side[s] = (struct fraction){ 0, 1 };
	if (j->array)
		assert_int_equal(array_parse(j->array, &r.array, NULL), 0);
	assert_int_equal(rig_submit_one(q->ledger->store, &new, &job, NULL), 0);
	return job;
}

void quota_rig_allocate(struct quota_rig *q, int64_t job)
{
	struct store_allocation gift = { .job = job, .node = "n1" };
	struct rig_sync hello = { .now_ns = q->now_ns };
	struct sync_result result;

	if (rig_number(q->ledger, "SELECT COUNT(*) FROM nodes") == 0) {
		assert_int_equal(rig_send_sync(q->ledger, &hello, &result), 0);
		sync_result_done(&result);
	}
	/* Long ago: reports come every second and add days. */
	assert_int_equal(
		store_allocate(q->ledger->store, &gift, 1, q->now_ns - 400 * DAY_NS, NULL), 0);
}

void quota_rig_report(struct quota_rig *q, int64_t job, enum job_state state, int64_t ran_s)
{
	static int64_t seq;
	struct report rep = rig_report(job, ++seq, state, ran_s);

	rep.started_ns = q->now_ns;
	rep.at_ns = q->now_ns += S_NS;
	if (state == JOB_ENDED)
		rep.ended_ns = rep.at_ns;
	rig_send_report(q->ledger, rep, q->now_ns);
}

void quota_rig_reboot(struct quota_rig *q)
{
	static int boots;
	char boot[24];
	struct rig_sync hello = { .now_ns = q->now_ns += S_NS, .boot = boot };
	struct sync_result result;

	snprintf(boot, sizeof(boot), "again%d", ++boots);
	assert_int_equal(rig_send_sync(q->ledger, &hello, &result), 0);
	sync_result_done(&result);
}

void quota_rig_use(struct quota_rig *q, const struct quota_rig_job *j, int64_t ran_s)
{
	int64_t job = quota_rig_submit(q, j);

	quota_rig_allocate(q, job);
	quota_rig_report(q, job, JOB_ENDED, ran_s);
}

struct quota_view quota_rig_view(struct quota_rig *q, const char *account)
{
	const struct quota_query ask = { .account = account,
					 .cluster = "main",
					 .now_ns = q->now_ns,
					 .at_day = QUOTA_NOW,
					 .parts = QUOTA_ACTIVE };
	struct err err = { "" };
	struct quota_view v;

	if (quota_get_view(&q->site, &ask, &v, &err) < 0)
		fail_msg("%s", err.text);
	return v;
}
