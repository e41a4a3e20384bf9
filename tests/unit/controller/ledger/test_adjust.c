/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_adjust - refunds and recharges are entries beside the charge: bounded by it, and part of the sums. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "controller/ledger/usage/adjust.h"
#include "controller/ledger/import/import.h"
#include "controller/ledger/store_sqlite.h"
#include "tests/unit/rig/verify_rig.h"

#define CHARGE_MS 50000 /* of the job below: 20 s at 2.5 equivalents */

static int64_t a_job(struct rig *r)
{
	int64_t job = rig_job(r, NOON);

	rig_send_report(r, rig_report(job, 1, JOB_ENDED, 20), NOON + 20 * S_NS);
	return job;
}

static struct store_adjustment make_entry(int64_t job, int64_t charge_ms)
{
	return (struct store_adjustment){ .at_ns = NOON + 40 * DAY_NS,
					  .day = STORE_DAY_OF_ENTRY,
					  .author = "root",
					  .reason = "a broken node",
					  .job = job,
					  .charge_ms = charge_ms };
}

static int keep_entry(void *ctx, const struct store_adjustment *a, struct err *err)
{
	(void)err;
	*(struct store_adjustment *)ctx = *a;
	return 0;
}

static int try_adjust(struct rig *r, struct store_adjustment a, const char *words)
{
	struct store_adjustment made;
	struct err err = { "" };
	int n = store_adjust(r->store, &a, keep_entry, &made, &err);

	if (n < 0 && words && !strstr(err.text, words))
		fail_msg("'%s' lacks '%s'", err.text, words);
	return n;
}

static int add_up(void *ctx, const struct store_usage *u, struct err *err)
{
	int64_t *sum = ctx;

	(void)err;
	sum[0] += u->charge_requested_ms;
	sum[1] += u->adjusted_ms;
	return 0;
}

static void a_reason_is_one_line_of_printable_text(void **state)
{
	struct rig *r = *state;
	struct store_adjustment a = make_entry(a_job(r), -20000), made;

	a.reason = "a disk\nn2: drained\x1b[2J";
	assert_int_equal(store_adjust(r->store, &a, keep_entry, &made, NULL), 0);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM adjustments WHERE reason = "
				       "'a disk n2: drained?[2J'"),
			 1);
}

static void the_charge_stays_and_the_sums_show_both(void **state)
{
	struct rig *r = *state;
	int64_t job = a_job(r), sum[2] = { 0 };
	const struct store_period all = { .from_day = INT32_MIN, .to_day = INT32_MAX };

	assert_int_equal(try_adjust(r, make_entry(job, -20000), NULL), 0);
	assert_int_equal(try_adjust(r, make_entry(job, 5000), NULL), 0);
	assert_int_equal(rig_load_job(r, job).charge_requested_ms, CHARGE_MS);
	assert_int_equal(store_usage(r->store, &all, add_up, sum, NULL), 0);
	assert_int_equal(sum[0], CHARGE_MS);
	assert_int_equal(sum[1], -15000);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM adjustments"), 2);
	assert_int_equal(rig_number(r, "SELECT SUM(adjusted_ms) FROM months"), -15000);
	assert_int_equal(rig_count_differences(r), 0);
}

static void no_more_is_refunded_than_was_charged(void **state)
{
	struct rig *r = *state;
	int64_t job = a_job(r);

	assert_int_equal(try_adjust(r, make_entry(job, -CHARGE_MS - 1), "no more can be"),
			 -ERANGE);
	assert_int_equal(try_adjust(r, make_entry(job, -CHARGE_MS + 1), NULL), 0);
	assert_int_equal(try_adjust(r, make_entry(job, -2), "no more can be"), -ERANGE);
	assert_int_equal(try_adjust(r, make_entry(job, -1), NULL), 0);
	assert_int_equal(try_adjust(r, make_entry(job, -1), "no more can be"), -ERANGE);
	assert_int_equal(try_adjust(r, make_entry(job, 7), NULL), 0);
	assert_int_equal(try_adjust(r, make_entry(job, -7), NULL), 0);
	assert_int_equal(try_adjust(r, make_entry(job, INT64_MIN), "beyond"), -ERANGE);
	assert_int_equal(try_adjust(r, make_entry(job, INT64_MAX), "beyond"), -ERANGE);
	assert_int_equal(rig_number(r, "SELECT SUM(charge_ms) FROM adjustments"), -CHARGE_MS);
	assert_int_equal(rig_count_differences(r), 0);
}

static void a_refused_adjustment_leaves_no_entry(void **state)
{
	struct rig *r = *state;
	struct store_adjustment a = make_entry(a_job(r), -1);

	a.reason = " \n";
	assert_int_equal(try_adjust(r, a, "needs a reason"), -EINVAL);
	a.reason = "x";
	a.author = NULL;
	assert_int_equal(try_adjust(r, a, "needs an author"), -EINVAL);
	a.author = "root";
	a.charge_ms = 0;
	assert_int_equal(try_adjust(r, a, "adjusts nothing"), -EINVAL);
	a.charge_ms = -1;
	a.user = "bob";
	assert_int_equal(try_adjust(r, a, "user is alice, not bob"), -EINVAL);
	a.user = NULL;
	a.cluster = "other";
	assert_int_equal(try_adjust(r, a, "no job"), -ENOENT);
	a.cluster = NULL;
	a.job = 99;
	assert_int_equal(try_adjust(r, a, "no job 99"), -ENOENT);
	a.job = 0;
	assert_int_equal(try_adjust(r, a, "name the cluster"), -EINVAL);
	a.cluster = "main", a.account = "physics", a.user = "bob";
	assert_int_equal(try_adjust(r, a, "nothing was ever charged to bob"), -ENOENT);
	a.user = "alice";
	a.day = 20041;
	assert_int_equal(try_adjust(r, a, "a day to come"), -EINVAL);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM adjustments"), 0);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM rollups WHERE adjusted_ms <> 0"),
			 0);
	a.day = 20001;
	assert_int_equal(try_adjust(r, a, NULL), 0);
	assert_int_equal(rig_number(r, "SELECT adjusted_ms FROM rollups WHERE day = 20001"),
			 -1);
}

static int64_t import_job(struct rig *r, const char *cluster)
{
	const struct store_import_file f = { cluster, "f", "swf", "content", "", "" };
	struct store_import_count n;
	struct store_import *i;
	struct history_job j = { .number = 1,
				 .submit_s = 1000000000,
				 .start_s = 1000000000,
				 .end_s = 1000000020,
				 .ncpus = 1,
				 .walltime_s = -1,
				 .mem_bytes = -1,
				 .mem_peak_bytes = -1,
				 .cpu_ms = -1,
				 .account = "a",
				 .user = "u" };
	struct store_import_job sj = { .job = &j, .terms = { .rate = { 1, 1 }, .ncpus = 1 } };

	sj.terms.bundle.side[CHARGE_CORES] = (struct fraction){ 1, 1 };
	strcpy(j.cluster, cluster);
	assert_int_equal(store_import_open(r->store, &f, &i, &n, NULL), 0);
	assert_int_equal(store_import_add(i, &sj, NULL), 0);
	assert_int_equal(store_import_commit(i, &n, NULL), 0);
	store_import_close(i);
	return 1;
}

static void imported_jobs_are_named_with_their_cluster(void **state)
{
	struct rig *r = *state;
	struct store_adjustment a = make_entry(import_job(r, "old"), -20000);

	assert_int_equal(try_adjust(r, a, "name the cluster"), -ENOENT);
	a.cluster = "old";
	assert_int_equal(try_adjust(r, a, NULL), 0);
	assert_int_equal(try_adjust(r, a, "no more can be"), -ERANGE);
	assert_int_equal(rig_number(r, "SELECT adjusted_ms FROM rollups WHERE account = 'a'"
				       " AND day = 20040"),
			 -20000);
	assert_int_equal(rig_count_differences(r), 0);
	/* A live job of the same number and cluster: which one is meant is ambiguous. */
	a.job = a_job(r);
	import_job(r, "main");
	a.cluster = "main";
	assert_int_equal(try_adjust(r, a, "one that was imported"), -EINVAL);
}

static void verify_finds_an_adjustment_that_differs_from_its_sums(void **state)
{
	struct rig *r = *state;

	assert_int_equal(try_adjust(r, make_entry(a_job(r), -100), NULL), 0);
	assert_int_equal(
		db_run(r->store->db, NULL, "UPDATE adjustments SET charge_ms = -1", ""), 0);
	assert_int_equal(rig_count_differences(r), 2); /* a day and its month */
}

#define TEST(t) cmocka_unit_test_setup_teardown(t, rig_open, rig_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_reason_is_one_line_of_printable_text),
		TEST(the_charge_stays_and_the_sums_show_both),
		TEST(no_more_is_refunded_than_was_charged),
		TEST(a_refused_adjustment_leaves_no_entry),
		TEST(imported_jobs_are_named_with_their_cluster),
		TEST(verify_finds_an_adjustment_that_differs_from_its_sums),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
