/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What may be submitted and what may start: every rule exactly at its limit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "common/time_units.h"
#include "controller/ledger/jobs/hold.h"
#include "controller/quota/check.h"
#include "controller/quota/eligibility.h"
#include "tests/unit/rig/quota_rig.h"

#define RWTH "[Policy]\nQuota=window\n[Cluster main]\nUnit=core-hours\n"
#define NCI(policy)                                                                            \
	"[Policy]\nQuota=grant\n" policy                                                       \
	"[Cluster main]\nUnit=service-units\nQueues=normal,bonus\n[Queue bonus]\nFactor=0\n"
#define GRANT(amount)                                                                          \
	"[Account physics]\nUsers=alice\n[Allocation physics/x]\nKind=grant\nAmount=" amount   \
	"\nFrom=2024-10-01\nTo=2025-01-01\n"
#define MONTHLY(amount, to)                                                                    \
	"[Account physics]\nUsers=alice\n[Allocation physics/x]\nKind=monthly\nAmount=" amount \
	"\nFrom=2024-10-01\nTo=" to "\n"

static struct quota_answer check_submission(struct quota_rig *q, const struct quota_rig_job *j)
{
	_cleanup_(request_done) struct request r;
	const struct quota_submission want = {
		.request = &r, .rate = j->rate, .pool = CHARGE_POOL_CPU, .now_ns = q->now_ns
	};
	struct err err = { "" };
	struct quota_answer a;

	request_init(&r);
	strcpy(r.cluster, "main");
	strcpy(r.account, j->account ? j->account : "physics");
	strcpy(r.user, j->user ? j->user : "alice");
	strcpy(r.queue, j->queue ? j->queue : "normal");
	strcpy(r.qos, j->qos ? j->qos : "");
	r.res = (struct resources){ .ncpus = j->ncpus ? j->ncpus : 1,
				    .vmem_bytes = 1000,
				    .walltime_s = j->walltime_s ? j->walltime_s : 3600 };
	if (j->array)
		assert_int_equal(array_parse(j->array, &r.array, NULL), 0);
	if (quota_check(&q->site, &want, &a, &err) < 0)
		fail_msg("%s", err.text);
	return a;
}

/* Before any of them has a row, and exactly at the edge. */
static void an_array_reserves_and_counts_by_its_tasks(void **state)
{
	struct quota_rig *q = *state;
	struct quota_rig_job j = { .rate = { 1, 1 }, .walltime_s = 3600, .array = "0-97" };
	struct quota_answer a;

	quota_rig_set(q, NCI(""), GRANT("100"));
	assert_int_equal(check_submission(q, &j).verdict, QUOTA_ACCEPTED);
	quota_rig_submit(q, &j); /* 98 SU are reserved */
	assert_int_equal(quota_rig_view(q, "physics").active.queued, 98);
	j.array = "0-1";
	assert_int_equal(check_submission(q, &j).verdict, QUOTA_ACCEPTED);
	j.array = "0-2";
	assert_int_equal(check_submission(q, &j).verdict, QUOTA_BONUS);
	quota_rig_set(q, "[Cluster main]\n",
		      "[Account physics]\nUsers=alice\nMaxQueuedJobs=100\n");
	j.array = "0-1";
	assert_int_equal(check_submission(q, &j).verdict, QUOTA_ACCEPTED);
	j.array = "0-2";
	a = check_submission(q, &j);
	assert_string_equal(a.text,
			    "account physics has 98 jobs queued, 3 more were submitted, "
			    "and the limit is 100");
}

static void the_limits_of_a_qos_are_of_each_user_in_it_and_of_no_other(void **state)
{
	struct quota_rig *q = *state;
	struct quota_rig_job j = { .ncpus = 8, .rate = { 1, 1 }, .qos = "x" };
	struct quota_answer a;

	quota_rig_set(q,
		      "[Cluster main]\n[Qos x]\nMaxRunningCores=8\nMaxQueuedJobs=2\n"
		      "[Qos y]\n",
		      "[Account physics]\nUsers=alice,bob\n");
	assert_int_equal(check_submission(q, &j).verdict, QUOTA_ACCEPTED);
	j.ncpus = 9;
	a = check_submission(q, &j);
	assert_int_equal(a.verdict, QUOTA_REFUSED);
	assert_string_equal(a.text,
			    "it needs 9 cores, and user alice in QOS x may run 8 at once");
	j.qos = "y";
	assert_int_equal(check_submission(q, &j).verdict, QUOTA_ACCEPTED);
	j.qos = "gone"; /* of the configuration: limits nothing */
	assert_int_equal(check_submission(q, &j).verdict, QUOTA_ACCEPTED);
	j.ncpus = 1;
	j.qos = "x";
	quota_rig_submit(q, &j);
	assert_int_equal(check_submission(q, &j).verdict, QUOTA_ACCEPTED);
	quota_rig_submit(q, &j);
	a = check_submission(q, &j);
	assert_int_equal(a.verdict, QUOTA_REFUSED);
	assert_non_null(strstr(a.text, "user alice in QOS x has 2 jobs queued"));
	j.user = "bob";
	assert_int_equal(check_submission(q, &j).verdict, QUOTA_ACCEPTED);
	j.user = "alice";
	j.qos = "y";
	assert_int_equal(check_submission(q, &j).verdict, QUOTA_ACCEPTED);
}

static void a_job_is_covered_to_the_last_thousandth_and_no_further(void **state)
{
	struct quota_rig *q = *state;
	struct quota_rig_job j = { .rate = { 98, 1 }, .walltime_s = 3600 };
	struct quota_answer a;

	quota_rig_set(q, NCI(""), GRANT("100"));
	quota_rig_submit(q, &j); /* 98 SU are reserved */
	j.rate.num = 2;
	assert_int_equal(check_submission(q, &j).verdict, QUOTA_ACCEPTED);
	j.walltime_s = 3601;
	a = check_submission(q, &j);
	assert_int_equal(a.verdict, QUOTA_BONUS);
	assert_string_equal(a.queue, "bonus");
	assert_string_equal(a.text,
			    "the job reserves 2.0005556 SU, and account 'physics' has 2 of its "
			    "grant available");
	j.rate.num = 0; /* what is free needs no grant */
	assert_int_equal(check_submission(q, &j).verdict, QUOTA_ACCEPTED);
}

static void beyond_the_grant_the_profile_decides(void **state)
{
	struct quota_rig *q = *state;
	struct quota_rig_job j = { .rate = { 101, 1 }, .walltime_s = 3600 };
	struct quota_answer a;

	quota_rig_set(q, NCI("GrantBeyond=refuse\n"), GRANT("100"));
	a = check_submission(q, &j);
	assert_int_equal(a.verdict, QUOTA_REFUSED);
	assert_string_equal(a.code, "quota");
	assert_string_equal(a.text, "the job reserves 101 SU, and account 'physics' has 100 of "
				    "its grant available");
	quota_rig_set(q, "[Policy]\nQuota=grant\n[Cluster main]\nUnit=service-units\n",
		      GRANT("100"));
	assert_int_equal(check_submission(q, &j).verdict,
			 QUOTA_REFUSED); /* no queue of factor 0 */
	quota_rig_set(q, NCI("GrantOverdraft=1\n"), GRANT("100"));
	assert_int_equal(check_submission(q, &j).verdict, QUOTA_ACCEPTED);
	j.rate.num = 102;
	assert_int_equal(check_submission(q, &j).verdict, QUOTA_BONUS);
	quota_rig_set(q, NCI("GrantCover=any\n"), GRANT("100"));
	assert_int_equal(check_submission(q, &j).verdict, QUOTA_ACCEPTED);
	quota_rig_submit(q, &j); /* overdrawn by what it reserves */
	assert_int_equal(check_submission(q, &j).verdict, QUOTA_BONUS);
	quota_rig_set(q, NCI(""), "[Account physics]\nUsers=alice\n");
	assert_int_equal(check_submission(q, &j).verdict,
			 QUOTA_BONUS); /* no grant: none left */
}

static void six_months_of_quota_in_one_are_the_edge(void **state)
{
	struct quota_rig *q = *state;
	struct quota_rig_job j = { .rate = { 60, 1 } };
	struct quota_answer a;

	quota_rig_set(q, RWTH, MONTHLY("10", "2025-10-01"));
	quota_rig_use(q, &j, 3600); /* exactly 6 x 10 */
	assert_int_equal(quota_rig_view(q, "physics").mode, WINDOW_LOW_PRIORITY);
	assert_int_equal(check_submission(q, &j).verdict, QUOTA_ACCEPTED);
	j.rate.num = 36;
	quota_rig_use(q, &j, 1); /* 0.01 more */
	a = check_submission(q, &j);
	assert_int_equal(a.verdict, QUOTA_REFUSED);
	assert_string_equal(a.text, "account 'physics' used 60.01 core-h in this month, more "
				    "than 60 = 6 x 10");
	assert_non_null(strstr(a.remedy, "next month"));
	q->now_ns += 31 * DAY_NS; /* the next month */
	assert_int_equal(check_submission(q, &j).verdict, QUOTA_ACCEPTED);
}

static void twice_the_total_quota_is_the_edge(void **state)
{
	struct quota_rig *q = *state;
	struct quota_rig_job j = { .rate = { 40, 1 } };
	struct quota_answer a;

	quota_rig_set(q, RWTH, MONTHLY("10", "2024-12-01"));
	quota_rig_use(q, &j, 3600); /* exactly 2 x 20 */
	assert_int_equal(check_submission(q, &j).verdict, QUOTA_ACCEPTED);
	quota_rig_use(q, &j, 1);
	a = check_submission(q, &j);
	assert_int_equal(a.verdict, QUOTA_REFUSED);
	assert_string_equal(a.text,
			    "account 'physics' used 40.0111111 core-h in this accounting "
			    "period, more than 40 = 2 x 20");
}

static void a_target_refuses_no_job(void **state)
{
	struct quota_rig *q = *state;
	struct quota_rig_job j = { .rate = { 1000000, 1 } };

	quota_rig_set(q, "[Policy]\nQuota=target\n[Cluster main]\n",
		      "[Account physics]\nUsers=alice\n[Allocation physics/x]\nKind=target\n"
		      "Amount=1\nFrom=2024-10-01\nTo=2025-10-01\n");
	quota_rig_use(q, &j, 36000);
	assert_int_equal(check_submission(q, &j).verdict, QUOTA_ACCEPTED);
}

static void jobs_queue_up_to_the_limit_of_each_scope(void **state)
{
	static const char *const limits[] = {
		"[User alice]\nMaxQueuedJobs=2\n",
		"[Association physics/alice]\nMaxQueuedJobs=2\n",
		"[QueueLimits normal]\nMaxQueuedJobs=2\n",
	};
	struct quota_rig *q = *state;
	const struct quota_rig_job j = { .rate = { 1, 1 } };
	char text[256];
	struct quota_answer a;
	int64_t first = 0;

	for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
		snprintf(text, sizeof(text), "[Account physics]\nUsers=alice,bob\n%s",
			 limits[i]);
		quota_rig_set(q, "[Cluster main]\n", text);
		assert_int_equal(check_submission(q, &j).verdict,
				 i ? QUOTA_REFUSED : QUOTA_ACCEPTED);
		if (i == 0) {
			first = quota_rig_submit(q, &j);
			assert_int_equal(check_submission(q, &j).verdict, QUOTA_ACCEPTED);
			quota_rig_submit(q, &j);
		}
		a = check_submission(q, &j);
		assert_int_equal(a.verdict, QUOTA_REFUSED);
		assert_string_equal(a.code, "too-many-jobs");
		assert_non_null(strstr(a.text, "has 2 jobs queued, and the limit is 2"));
		assert_int_equal(
			check_submission(
				q, &(struct quota_rig_job){ .user = "bob", .rate = { 1, 1 } })
				.verdict,
			QUOTA_ACCEPTED);
	}
	quota_rig_allocate(q, first); /* it waits no more */
	assert_int_equal(check_submission(q, &j).verdict, QUOTA_ACCEPTED);
}

static void a_charge_beyond_64_bits_is_refused_by_every_policy(void **state)
{
	struct quota_rig *q = *state;
	const struct quota_rig_job j = { .rate = { INT64_C(1) << 40, 1 },
					 .walltime_s = INT64_C(1) << 33 };

	quota_rig_set(q, "[Cluster main]\n", "[Account physics]\nUsers=alice\n");
	assert_string_equal(check_submission(q, &j).code, "too-large");
	quota_rig_set(q, RWTH, MONTHLY("10", "2025-10-01"));
	assert_string_equal(check_submission(q, &j).code, "too-large");
	quota_rig_set(q, NCI(""), GRANT("10"));
	assert_string_equal(check_submission(q, &j).code, "too-large");
}

static void an_account_limits_all_below_it(void **state)
{
	struct quota_rig *q = *state;
	const struct quota_rig_job j = { .account = "lasers", .rate = { 1, 1 } };
	struct quota_answer a;

	quota_rig_set(q, "[Cluster main]\n",
		      "[Account science]\nMaxQueuedJobs=1\nMaxRunningCores=4\n"
		      "[Account lasers]\nParent=science\nUsers=alice\n");
	assert_int_equal(check_submission(q, &j).verdict, QUOTA_ACCEPTED);
	quota_rig_submit(q, &j);
	a = check_submission(q, &j);
	assert_string_equal(a.text, "account science has 1 jobs queued, and the limit is 1");
	a = check_submission(q, &(struct quota_rig_job){
					.account = "lasers", .rate = { 1, 1 }, .ncpus = 5 });
	assert_string_equal(a.code, "too-large"); /* it would wait for ever */
	assert_string_equal(a.text, "it needs 5 cores, and account science may run 4 at once");
}

static void a_default_limit_applies_to_every_user_without_one(void **state)
{
	struct quota_rig *q = *state;
	struct quota_rig_job j = { .rate = { 1, 1 }, .ncpus = 601 };
	struct quota_answer a;

	quota_rig_set(q, "[Cluster main]\n",
		      "[Account physics]\nUsers=alice,bob,dora\n"
		      "[User bob]\nMaxRunningCores=700\n"
		      "[User dora]\nMaxRunningGpus=1\n"
		      "[Default User]\nMaxRunningCores=600\n"
		      "[Default Queue]\nMaxQueuedJobs=1\n");
	a = check_submission(q, &j);
	assert_string_equal(a.text, "it needs 601 cores, and user alice may run 600 at once");
	j.user = "dora"; /* key by key */
	assert_string_equal(check_submission(q, &j).text,
			    "it needs 601 cores, and user dora may run 600 at once");
	j.user = "bob";
	assert_int_equal(check_submission(q, &j).verdict, QUOTA_ACCEPTED);
	j = (struct quota_rig_job){ .rate = { 1, 1 } };
	quota_rig_submit(q, &j);
	assert_string_equal(check_submission(q, &j).code, "too-many-jobs");
	j.queue = "bonus"; /* each queue for itself, each user too */
	assert_int_equal(check_submission(q, &j).verdict, QUOTA_ACCEPTED);
	j = (struct quota_rig_job){ .user = "bob", .rate = { 1, 1 } };
	assert_int_equal(check_submission(q, &j).verdict, QUOTA_ACCEPTED);
	quota_rig_set(q, "[Cluster main]\n",
		      "[Account physics]\nUsers=alice\n[Default Account]\nMaxQueuedJobs=1\n");
	assert_string_equal(
		check_submission(q, &(struct quota_rig_job){ .rate = { 1, 1 } }).text,
		"account physics has 1 jobs queued, and the limit is 1");
	quota_rig_set(q, "[Cluster main]\n",
		      "[Account physics]\nUsers=alice\n"
		      "[Default Association]\nMaxQueuedJobs=1\n");
	assert_string_equal(
		check_submission(q, &(struct quota_rig_job){ .rate = { 1, 1 } }).text,
		"user alice in account physics has 1 jobs queued, and the limit is 1");
}

#define BMRC                                                                                   \
	"[Template group]\nAccounts = prj.high=100/parent, prj=10/10, prj.low=1/10\n"          \
	"[Account bloggs]\nTemplate=group\nShares=5\nUsers=alice,bob\n"                        \
	"[Account chem]\nShares=2\nUsers=alice\n"

static void expect_text(struct quota_rig *q, const struct quota_rig_job *j, const char *text)
{
	assert_string_equal(check_submission(q, j).text, text);
}

/* BMRC: "perhaps to a multiple of the number of shares that a group has paid for". */
static void a_limit_may_be_a_multiple_of_the_shares_of_the_group(void **state)
{
	struct quota_rig *q = *state;
	struct quota_rig_job j = { .account = "bloggs.prj.low",
				   .rate = { 1, 1 },
				   .ncpus = 100 };

	quota_rig_set(q, "[Cluster main]\n",
		      BMRC "[Default User]\nMaxRunningCoresPerShare=20\nMaxRunningCores=600\n");
	expect_text(q, &j, "");
	j.ncpus = 101;
	expect_text(q, &j,
		    "it needs 101 cores, and user alice in group bloggs may run 100 at "
		    "once (20 for each of 5 shares)");
	j.account = "bloggs.prj.high"; /* its 100 shares are of bloggs, not of the site */
	expect_text(q, &j,
		    "it needs 101 cores, and user alice in group bloggs may run 100 at "
		    "once (20 for each of 5 shares)");
	j.account = "chem";
	j.ncpus = 41;
	expect_text(q, &j,
		    "it needs 41 cores, and user alice in group chem may run 40 at once "
		    "(20 for each of 2 shares)");
	quota_rig_set(q, "[Cluster main]\n",
		      BMRC "[User alice]\nMaxRunningCoresPerShare=21\n"
			   "[Default User]\nMaxRunningCoresPerShare=20\nMaxRunningCores=40\n");
	expect_text(q, &j, "it needs 41 cores, and user alice may run 40 at once");
	quota_rig_set(q, "[Cluster main]\n",
		      BMRC "[Default Account]\nMaxRunningCoresPerShare=20\n"
			   "MaxRunningMemoryPerShare=400B\n");
	expect_text(q, &j,
		    "it needs 41 cores, and account chem may run 40 at once (20 for each "
		    "of 2 shares)");
	j.account = "bloggs.prj.low"; /* 1 share of bloggs; the default is of groups */
	expect_text(q, &j, "");
	j.ncpus = 101;
	expect_text(q, &j,
		    "it needs 101 cores, and account bloggs may run 100 at once (20 for "
		    "each of 5 shares)");
	quota_rig_set(
		q, "[Cluster main]\n",
		"[Account top]\nShares=9\n[Account part]\nParent=top\nShares=1\nUsers=alice\n"
		"MaxRunningCoresPerShare=20\nMaxRunningCores=1000\n");
	j = (struct quota_rig_job){ .account = "part", .rate = { 1, 1 }, .ncpus = 21 };
	expect_text(q, &j,
		    "it needs 21 cores, and account part may run 20 at once (20 for each "
		    "of 1 share)");
}

/* ---- the gate ---- */

static bool is_eligible(struct quota_rig *q, struct eligibility *g, int64_t job, char *why)
{
	const struct eligibility_run run = { "main", q->now_ns };
	struct err err = { "" };

	if (eligibility_load(g, &q->site, &run, &err) < 0)
		fail_msg("%s", err.text);
	return eligibility_check(g, job, why);
}

static void a_limit_keeps_jobs_queued_until_one_ends(void **state)
{
	_cleanup_(eligibility_freep) struct eligibility *g = NULL;
	struct quota_rig *q = *state;
	struct quota_rig_job j = { .rate = { 1, 1 }, .ncpus = 300 };
	char why[ELIGIBLE_WHY_MAX];
	int64_t jobs[4];

	assert_int_equal(eligibility_new(&g, NULL), 0);
	quota_rig_set(q, "[Cluster main]\n",
		      "[Account physics]\nUsers=alice,bob\n"
		      "[QueueLimits normal]\nMaxRunningCores=600\n");
	for (size_t i = 0; i < 3; i++)
		jobs[i] = quota_rig_submit(q, &j);
	j.user = "bob";
	jobs[3] = quota_rig_submit(q, &j);
	assert_true(is_eligible(q, g, jobs[0], why));
	eligibility_start(g, jobs[0]);
	assert_true(eligibility_check(g, jobs[1], why));
	eligibility_start(g, jobs[1]);
	assert_false(eligibility_check(g, jobs[2], why));
	assert_string_equal(why, "limit of user alice in queue normal: 600 cores at once, 600 "
				 "run, this job needs 300");
	assert_true(eligibility_check(g, jobs[3], why)); /* another user is not limited */
	quota_rig_allocate(q, jobs[0]);
	quota_rig_allocate(q, jobs[1]);
	assert_false(is_eligible(q, g, jobs[2], why));
	quota_rig_report(q, jobs[0], JOB_ENDED, 10);
	assert_true(is_eligible(q, g, jobs[2], why));
}

static void all_users_of_a_group_share_a_multiple_of_its_shares(void **state)
{
	_cleanup_(eligibility_freep) struct eligibility *g = NULL;
	struct quota_rig *q = *state;
	struct quota_rig_job j = { .account = "bloggs.prj", .rate = { 1, 1 }, .ncpus = 60 };
	char why[ELIGIBLE_WHY_MAX];
	int64_t jobs[3];

	assert_int_equal(eligibility_new(&g, NULL), 0);
	quota_rig_set(q, "[Cluster main]\n",
		      BMRC "[Default Account]\nMaxRunningCoresPerShare=20\n");
	jobs[0] = quota_rig_submit(q, &j);
	j = (struct quota_rig_job){
		.account = "bloggs.prj.high", .user = "bob", .rate = { 1, 1 }, .ncpus = 60
	};
	jobs[1] = quota_rig_submit(q, &j);
	j = (struct quota_rig_job){ .account = "chem", .rate = { 1, 1 }, .ncpus = 40 };
	jobs[2] = quota_rig_submit(q, &j);
	assert_true(is_eligible(q, g, jobs[0], why));
	eligibility_start(g, jobs[0]);
	assert_false(eligibility_check(g, jobs[1], why));
	assert_string_equal(why, "limit of account bloggs: 100 cores at once (20 for each of 5 "
				 "shares), 60 run, this job needs 60");
	assert_true(eligibility_check(g, jobs[2], why));
}

static void a_suspended_job_counts_memory_but_no_cores(void **state)
{
	_cleanup_(eligibility_freep) struct eligibility *g = NULL;
	struct quota_rig *q = *state;
	const struct quota_rig_job j = { .rate = { 1, 1 }, .ncpus = 4 };
	char why[ELIGIBLE_WHY_MAX], node[REQUEST_NAME_MAX];
	struct store_desired_change w = { .want = DESIRED_SUSPEND };
	int64_t next;

	assert_int_equal(eligibility_new(&g, NULL), 0);
	quota_rig_set(q, "[Cluster main]\n",
		      "[Account physics]\nUsers=alice\nMaxRunningCores=4\n"
		      "MaxRunningMemory=2000B\nMaxRunningJobs=2\n");
	w.job = quota_rig_submit(q, &j);
	next = quota_rig_submit(q, &j);
	quota_rig_allocate(q, w.job);
	quota_rig_report(q, w.job, JOB_RUNNING, 10);
	assert_false(is_eligible(q, g, next, why));
	assert_int_equal(store_set_desired(q->ledger->store, &w, node, NULL), 0);
	quota_rig_report(q, w.job, JOB_SUSPENDED, 10);
	assert_true(is_eligible(q, g, next, why));
	eligibility_start(g, next);
	assert_false(eligibility_check(
		g, next, why)); /* another like it: cores, memory and jobs are full */
	w.want = DESIRED_RUN;
	assert_int_equal(store_set_desired(q->ledger->store, &w, node, NULL), 0);
	assert_false(is_eligible(q, g, next, why)); /* it shall run again */
	assert_non_null(strstr(why, "4 cores at once, 4 run"));
}

static void low_priority_waits_for_all_with_quota_left_in_that_cluster(void **state)
{
	_cleanup_(eligibility_freep) struct eligibility *g = NULL;
	struct quota_rig *q = *state;
	struct quota_rig_job j = { .account = "a", .rate = { 40, 1 } };
	struct store_hold hold = { .author = "alice", .now_ns = q->now_ns };
	char why[ELIGIBLE_WHY_MAX];
	int64_t poor, rich;

	assert_int_equal(eligibility_new(&g, NULL), 0);
	quota_rig_set(
		q, RWTH,
		"[Account a]\nUsers=alice\n[Account b]\nUsers=alice\n"
		"[Allocation a/x]\nKind=monthly\nAmount=10\nFrom=2024-10-01\nTo=2025-10-01\n"
		"[Allocation b/x]\nKind=monthly\nAmount=10\nFrom=2024-10-01\n"
		"To=2025-10-01\n");
	quota_rig_use(q, &j, 3600); /* 40 of 20 + 10 */
	poor = quota_rig_submit(q, &j);
	assert_true(is_eligible(q, g, poor, why)); /* no other job waits */
	j.account = "b";
	rich = quota_rig_submit(q, &j);
	assert_false(is_eligible(q, g, poor, why));
	assert_string_equal(why, "low priority: account a has no quota left, and 1 job of "
				 "accounts with quota left waits here");
	assert_true(eligibility_check(g, rich, why));
	eligibility_start(g, rich);
	assert_true(eligibility_check(g, poor, why));
	/* A held job needs nothing, and delays no other job. */
	hold.job = rich;
	assert_int_equal(store_hold(q->ledger->store, &hold, NULL), 0);
	assert_true(is_eligible(q, g, poor, why));
	assert_int_equal(store_release(q->ledger->store, &hold, NULL), 0);
	assert_false(is_eligible(q, g, poor, why));
}

static void without_limits_and_windows_everything_may_start(void **state)
{
	_cleanup_(eligibility_freep) struct eligibility *g = NULL;
	struct quota_rig *q = *state;
	char why[ELIGIBLE_WHY_MAX];

	assert_int_equal(eligibility_new(&g, NULL), 0);
	quota_rig_set(q, "[Cluster main]\n", "[Account physics]\nUsers=alice\n");
	assert_true(is_eligible(
		q, g, quota_rig_submit(q, &(struct quota_rig_job){ .rate = { 1, 1 } }), why));
	assert_string_equal(why, "");
}

int main(void)
{
#define WITH_LEDGER(f) cmocka_unit_test_setup_teardown(f, quota_rig_open, quota_rig_close)
	const struct CMUnitTest tests[] = {
		WITH_LEDGER(the_limits_of_a_qos_are_of_each_user_in_it_and_of_no_other),
		WITH_LEDGER(a_job_is_covered_to_the_last_thousandth_and_no_further),
		WITH_LEDGER(an_array_reserves_and_counts_by_its_tasks),
		WITH_LEDGER(beyond_the_grant_the_profile_decides),
		WITH_LEDGER(six_months_of_quota_in_one_are_the_edge),
		WITH_LEDGER(twice_the_total_quota_is_the_edge),
		WITH_LEDGER(a_target_refuses_no_job),
		WITH_LEDGER(jobs_queue_up_to_the_limit_of_each_scope),
		WITH_LEDGER(a_charge_beyond_64_bits_is_refused_by_every_policy),
		WITH_LEDGER(an_account_limits_all_below_it),
		WITH_LEDGER(a_default_limit_applies_to_every_user_without_one),
		WITH_LEDGER(a_limit_may_be_a_multiple_of_the_shares_of_the_group),
		WITH_LEDGER(all_users_of_a_group_share_a_multiple_of_its_shares),
		WITH_LEDGER(a_limit_keeps_jobs_queued_until_one_ends),
		WITH_LEDGER(a_suspended_job_counts_memory_but_no_cores),
		WITH_LEDGER(low_priority_waits_for_all_with_quota_left_in_that_cluster),
		WITH_LEDGER(without_limits_and_windows_everything_may_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
