/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_job_bounds - what one job may request at most: limits of its queue, user and account. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "controller/quota/check.h"
#include "tests/unit/rig/quota_rig.h"

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
	strcpy(r.account, "physics");
	strcpy(r.user, "alice");
	strcpy(r.queue, j->queue ? j->queue : "normal");
	r.res = (struct resources){ .ncpus = j->ncpus ? j->ncpus : 1,
				    .vmem_bytes = 1000,
				    .walltime_s = j->walltime_s };
	if (quota_check(&q->site, &want, &a, &err) < 0)
		fail_msg("%s", err.text);
	return a;
}

static struct accounts *read_accounts(const char *text)
{
	struct accounts *a = NULL;
	struct err err = { "" };

	if (accounts_parse(text, strlen(text), "accounts.conf", &a, &err) < 0)
		fail_msg("%s", err.text);
	return a;
}

static char *written_accounts(const struct accounts *a)
{
	char *text = NULL;

	assert_int_equal(accounts_write(a, &text, NULL), 0);
	return text;
}

static void the_nearest_statement_bounds_a_job(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = read_accounts(
		"[Account science]\nMaxCores = 64\nMaxGpus = 0\n"
		"[Account physics]\nParent = science\nUsers = alice, bob, carol\nMaxCores = 128\n"
		"[Association physics/alice]\nMaxCores = 512\nMaxWalltime = 96h\n"
		"[User bob]\nMaxCores = 32\n"
		"[Default User]\nMaxWalltime = 48h\nMaxCores = 1\n"
		"[Default Account]\nMaxMemory = 1TB\nMaxCores = 2\n"
		"[Default Association]\nMaxJobfs = 1GB\n");
	_cleanup_free_ char *once = written_accounts(a);
	_cleanup_(accounts_freep) struct accounts *again = read_accounts(once);
	_cleanup_free_ char *twice = written_accounts(again);
	const struct {
		const char *user;
		enum accounts_bound which;
		int64_t most;
		const char *whose;
	} rows[] = {
		{ "alice", ACCOUNTS_BOUND_CORES, 512, "user alice in account physics" },
		{ "bob", ACCOUNTS_BOUND_CORES, 32, "user bob" },
		{ "carol", ACCOUNTS_BOUND_CORES, 128, "account physics" },
		{ "carol", ACCOUNTS_BOUND_GPUS, 0, "account science" },
		{ "alice", ACCOUNTS_BOUND_WALLTIME, 96 * 3600,
		  "user alice in account physics" },
		{ "bob", ACCOUNTS_BOUND_WALLTIME, 48 * 3600, "user bob" },
		{ "bob", ACCOUNTS_BOUND_JOBFS, 1000000000, "user bob in account physics" },
		{ "bob", ACCOUNTS_BOUND_MEMORY, INT64_C(1000000000000), "account physics" },
	};
	char whose[ACCOUNTS_WHOSE_MAX];

	(void)state;
	assert_string_equal(once, twice);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct accounts_whose who = { accounts_find(again, "physics"),
						    rows[i].user };

		assert_int_equal(accounts_bound_of(again, &who, rows[i].which, whose),
				 rows[i].most);
		assert_string_equal(whose, rows[i].whose);
	}
}

static void a_queue_bounds_each_job(void **state)
{
	struct quota_rig *q = *state;
	struct quota_rig_job j = { .rate = { 1, 1 }, .walltime_s = 14400, .queue = "express" };
	struct quota_answer a;

	quota_rig_set(q, "[Cluster main]\n",
		      "[Account physics]\nUsers=alice\n[QueueLimits express]\nMaxWalltime=4h\n"
		      "[Default Queue]\nMaxMemory=1000B\nMaxWalltime=48h\n");
	assert_int_equal(check_submission(q, &j).verdict, QUOTA_ACCEPTED);
	j.walltime_s = 14401;
	a = check_submission(q, &j);
	assert_string_equal(a.code, "too-large");
	assert_string_equal(a.text, "the job asks for 4:00:01 of walltime, and queue express "
				    "takes at most 4:00:00 a job");
	assert_string_equal(a.remedy, "ask for less, or choose another queue with -q");
	j.queue = "normal";
	assert_int_equal(check_submission(q, &j).verdict, QUOTA_ACCEPTED);
	quota_rig_set(q, "[Cluster main]\n",
		      "[Account physics]\nUsers=alice\n[Default Queue]\nMaxMemory=999B\n");
	assert_string_equal(check_submission(q, &j).text,
			    "the job asks for 1KB of memory, and queue "
			    "normal takes at most 999B a job");
}

static void user_and_account_bound_each_job(void **state)
{
	struct quota_rig *q = *state;
	struct quota_rig_job j = { .rate = { 1, 1 }, .walltime_s = 14400, .ncpus = 16 };

	quota_rig_set(q, "[Cluster main]\n",
		      "[Account physics]\nUsers=alice\nMaxCores=16\nMaxWalltime=4h\n"
		      "[Default User]\nMaxCores=4\n");
	assert_int_equal(check_submission(q, &j).verdict, QUOTA_ACCEPTED);
	j.ncpus = 17;
	assert_string_equal(
		check_submission(q, &j).text,
		"the job asks for 17 cores, and account physics may request at most 16 a job");
	j.ncpus = 16;
	j.walltime_s = 14401;
	assert_string_equal(check_submission(q, &j).text,
			    "the job asks for 4:00:01 of walltime, and account physics may "
			    "request at most 4:00:00 a job");
	quota_rig_set(q, "[Cluster main]\n",
		      "[Account physics]\nUsers=alice\nMaxWalltime=4h\n"
		      "[Association physics/alice]\nMaxWalltime=5h\n");
	assert_int_equal(check_submission(q, &j).verdict, QUOTA_ACCEPTED);
}

#define WITH_LEDGER(f) cmocka_unit_test_setup_teardown(f, quota_rig_open, quota_rig_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_nearest_statement_bounds_a_job),
		WITH_LEDGER(a_queue_bounds_each_job),
		WITH_LEDGER(user_and_account_bound_each_job),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
