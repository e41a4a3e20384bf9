/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_quota - the state of accounts: granted = used + reserved + available after every event of small worlds,
 * the worked examples of windows, targets, and whose usage counts. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "common/time_units.h"
#include "controller/ledger/usage/adjust.h"
#include "tests/unit/rig/quota_rig.h"

#define DEPTH 6

static const char nci[] = "[Policy]\nQuota=grant\n"
			  "[Cluster main]\nUnit=service-units\nQueues=normal,express,bonus\n"
			  "[Queue express]\nFactor=3\n[Queue bonus]\nFactor=0\n";
static const char granted[] = "[Account physics]\nUsers=alice\n"
			      "[Allocation physics/2024]\nKind=grant\nAmount=100\n"
			      "From=2024-10-01\nTo=2025-01-01\n";
static const char rwth[] = "[Policy]\nQuota=window\n[Cluster main]\nUnit=core-hours\n";

/* ---- the sum law ---- */

struct model {
	struct quota_rig *q;
	int64_t settled_ms; /* what jobs before used */
	struct fraction rate;
	int64_t job, ran_s;
	enum job_state state;
	char path[DEPTH + 2];
	int n_checked;
};

static int64_t charge_of(struct fraction rate, int64_t s)
{
	return rate.num * s * 1000 / rate.den;
}

static void check_law(struct model *m)
{
	struct quota_view v = quota_rig_view(m->q, "physics");
	int64_t used = m->settled_ms + charge_of(m->rate, m->ran_s), rest = 1800 - m->ran_s;

	if (m->state == JOB_ENDED || rest < 0)
		rest = 0;
	if (v.grant.granted != v.grant.used + v.grant.reserved + v.grant.available ||
	    v.grant.used != used || v.grant.reserved != charge_of(m->rate, rest))
		fail_msg("after %s: used %lld (%lld), reserved %lld (%lld), available %lld",
			 m->path, (long long)v.grant.used, (long long)used,
			 (long long)v.grant.reserved, (long long)charge_of(m->rate, rest),
			 (long long)v.grant.available);
	m->n_checked++;
}

static void cancel_job(struct model *m)
{
	struct store_desired_change w = { .job = m->job,
					  .want = DESIRED_CANCEL,
					  .reason = "cancelled",
					  .now_ns = m->q->now_ns };
	char node[REQUEST_NAME_MAX];

	assert_int_equal(store_set_desired(m->q->ledger->store, &w, node, NULL), 0);
	m->state = JOB_ENDED;
}

static void report_job(struct model *m, enum job_state state, int64_t more_s)
{
	m->ran_s += more_s;
	m->state = state;
	quota_rig_report(m->q, m->job, state, m->ran_s);
}

/* One event; false: it cannot happen in that state. */
static bool try_event(struct model *m, char event)
{
	bool is_on_node = m->state != JOB_QUEUED && m->state != JOB_ENDED;

	if (event == 'g' && m->state == JOB_QUEUED) { /* allocated */
		quota_rig_allocate(m->q, m->job);
		m->state = JOB_STARTING;
	} else if (event == 'c' && m->state == JOB_QUEUED) {
		cancel_job(m);
	} else if (event == 'r' && is_on_node) { /* runs, or is resumed */
		report_job(m, JOB_RUNNING, m->state == JOB_RUNNING ? 700 : 0);
	} else if (event == 's' && is_on_node && m->state != JOB_STARTING) {
		report_job(m, JOB_SUSPENDED, m->state == JOB_RUNNING ? 300 : 0);
	} else if (event == 'e' && is_on_node) {
		report_job(m, JOB_ENDED, m->state == JOB_RUNNING ? 123 : 0);
	} else if (event == 'l' && is_on_node && m->state != JOB_STARTING) {
		quota_rig_reboot(m->q);
		m->state = JOB_ENDED;
	} else {
		return false;
	}
	return true;
}

/* Plays the path in a job of its own and checks after each event. False: it is no path. */
static bool play_path(struct model *m, const char *path)
{

	bool is_path = true;

	m->job = quota_rig_submit(m->q, &(struct quota_rig_job){ .rate = m->rate });
	m->ran_s = 0;
	m->state = JOB_QUEUED;
	strcpy(m->path, path);
	check_law(m);
	for (; *path && is_path; path++) {
		is_path = try_event(m, *path);
		check_law(m);
	}
	if (m->state == JOB_QUEUED)
		cancel_job(m);
	else if (m->state != JOB_ENDED)
		assert_true(try_event(m, 'e'));
	check_law(m);
	m->settled_ms += charge_of(m->rate, m->ran_s);
	return is_path;
}

static void explore_paths(struct model *m, char *path, size_t n)
{
	static const char events[] = "gcrsel";

	for (const char *e = events; *e && n < DEPTH; e++) {
		path[n] = *e;
		path[n + 1] = '\0';
		if (play_path(m, path) && m->path[n] != 'c' && m->path[n] != 'e' &&
		    m->path[n] != 'l')
			explore_paths(m, path, n + 1);
	}
	path[n] = '\0';
}

static void granted_is_used_and_reserved_and_available_after_every_event(void **state)
{
	static const struct fraction rates[] = { { 2, 1 }, { 5, 2 }, { 0, 1 } };
	struct model m = { .q = *state };
	char path[DEPTH + 2] = "";

	quota_rig_set(m.q, nci, granted);
	for (size_t i = 0; i < ARRAY_LEN(rates); i++) {
		m.rate = rates[i];
		explore_paths(&m, path, 0);
	}
	assert_true(m.n_checked > 500);
}

/* ---- NCI ---- */

static void suspended_time_is_free_and_the_queue_decides_the_price(void **state)
{
	struct quota_rig *q = *state;
	struct quota_rig_job j = { .rate = { 16, 1 }, .walltime_s = 7200 };
	static const int64_t factors[] = { 1, 3, 0 };
	int64_t used = 0, job;

	quota_rig_set(q, nci, granted);
	for (size_t i = 0; i < ARRAY_LEN(factors); i++) {
		j.rate.num = 16 * factors[i];
		job = quota_rig_submit(q, &j);
		quota_rig_allocate(q, job);
		quota_rig_report(q, job, JOB_RUNNING, 2700);
		quota_rig_report(q, job, JOB_SUSPENDED, 2700);
		quota_rig_report(q, job, JOB_RUNNING, 2700);
		quota_rig_report(q, job, JOB_ENDED, 5400);
		used += 24 * factors[i] * HOUR_MS; /* 16 cpus x 90 min */
		assert_int_equal(quota_rig_view(q, "physics").grant.used, used);
	}
	assert_int_equal(quota_rig_view(q, "physics").grant.available, 4 * HOUR_MS);
}

/* ---- RWTH ---- */

static void the_view_of_an_account_has_the_figures_of_its_window(void **state)
{
	static const char accounts[] = "[Account a]\nUsers=alice\n"
				       "[Allocation a/x]\nKind=monthly\nAmount=1000\n"
				       "From=2024-08-01\nTo=2025-02-01\n";
	struct quota_rig *q = *state;
	struct quota_view v;

	quota_rig_set(q, rwth, accounts);
	v = quota_rig_view(q, "a");
	assert_int_equal(v.window.percentage, 200);
	q->now_ns = NOON - 20 * DAY_NS; /* in September */
	quota_rig_use(q, &(struct quota_rig_job){ .account = "a", .rate = { 800, 1 } }, 3600);
	q->now_ns = NOON;
	v = quota_rig_view(q, "a");
	assert_int_equal(v.window.previous.used, 800 * HOUR_MS);
	assert_int_equal(v.window.current.used, 0);
	assert_int_equal(v.window.percentage, 120);
	assert_int_equal(v.window.available, 2200 * HOUR_MS);
	assert_int_equal(v.mode, WINDOW_NORMAL);
}

/* August to January: all six, with their allowances, in windows; in other rules with their usage alone. */
static void the_months_of_a_period_are_all_there(void **state)
{
	static const char accounts[] = "[Account a]\nUsers=alice\n"
				       "[Allocation a/x]\nKind=%s\nAmount=1000\n"
				       "From=2024-08-%s\nTo=2025-02-%s\n";
	struct quota_rig *q = *state;
	struct quota_query ask = {
		.account = "a", .cluster = "main", .at_day = QUOTA_NOW, .parts = QUOTA_MONTHS
	};
	struct quota_view v;
	char text[256];

	snprintf(text, sizeof(text), accounts, "monthly", "01", "01");
	quota_rig_set(q, rwth, text);
	q->now_ns = NOON - 20 * DAY_NS;
	quota_rig_use(q, &(struct quota_rig_job){ .account = "a", .rate = { 800, 1 } }, 3600);
	ask.now_ns = q->now_ns = NOON;
	assert_int_equal(quota_get_view(&q->site, &ask, &v, NULL), 0);
	assert_int_equal(v.n_months, 6);
	assert_int_equal(v.months[1].used, 800 * HOUR_MS);
	assert_int_equal(v.months[5].allowance, 1000 * HOUR_MS);
	quota_view_done(&v);
	snprintf(text, sizeof(text), accounts, "grant", "15", "15");
	quota_rig_set(q, nci, text);
	assert_int_equal(quota_get_view(&q->site, &ask, &v, NULL), 0);
	assert_int_equal(v.n_months, 7);
	assert_int_equal(v.months[1].used, 800 * HOUR_MS);
	assert_int_equal(v.months[1].allowance, 0);
	assert_int_equal(v.grant.used, 800 * HOUR_MS);
	quota_view_done(&v);
}

static void a_consumed_window_says_when_it_is_normal_again(void **state)
{
	static const char accounts[] = "[Account a]\nUsers=alice\n"
				       "[Allocation a/x]\nKind=monthly\nAmount=10\n"
				       "From=2024-08-01\nTo=2025-08-01\n";
	struct quota_rig *q = *state;
	char words[QUOTA_WORDS_MAX];
	struct quota_view v;

	quota_rig_set(q, rwth, accounts);
	quota_rig_use(q, &(struct quota_rig_job){ .account = "a", .rate = { 30, 1 } }, 3600);
	assert_int_equal(quota_rig_view(q, "a").mode, WINDOW_NORMAL);
	quota_rig_use(q, &(struct quota_rig_job){ .account = "a", .rate = { 1, 1 } }, 1);
	v = quota_rig_view(q, "a");
	assert_int_equal(v.mode, WINDOW_LOW_PRIORITY);
	assert_int_equal(v.window.percentage, -101);
	/* In November Oct's 30 still count against 30; in December they are out of it. */
	quota_words(q->config, &v, words);
	assert_non_null(strstr(words, "only when no job of an account with quota left"));
	assert_non_null(strstr(words, "normal again on 1 December 2024 if nothing more"));
}

static void an_allowance_changes_within_a_period_by_labels_that_adjoin(void **state)
{
	static const char joined[] = "[Account a]\nUsers=alice\n"
				     "[Allocation a/x.1]\nKind=monthly\nAmount=10\n"
				     "From=2024-08-01\nTo=2024-10-01\n"
				     "[Allocation a/x.2]\nKind=monthly\nAmount=30\n"
				     "From=2024-10-01\nTo=2024-12-01\n";
	struct quota_rig *q = *state;
	struct quota_view v;
	char apart[sizeof(joined)];

	quota_rig_set(q, rwth, joined);
	v = quota_rig_view(q, "a");
	assert_int_equal(v.window.available, 70 * HOUR_MS);
	assert_int_equal(v.window.total_allowance, 80 * HOUR_MS);
	strcpy(apart, joined);
	strstr(apart, "x.1")[0] = 'y';
	quota_rig_set(q, rwth, apart); /* another period: nothing is carried over */
	v = quota_rig_view(q, "a");
	assert_int_equal(v.window.available, 60 * HOUR_MS);
	assert_int_equal(v.window.total_allowance, 60 * HOUR_MS);
}

static void running_and_queued_jobs_are_shown_beside_what_was_used(void **state)
{
	static const char accounts[] = "[Account a]\nUsers=alice\n"
				       "[Allocation a/x]\nKind=monthly\nAmount=1000\n"
				       "From=2024-08-01\nTo=2025-08-01\n";
	struct quota_rig *q = *state;
	const struct quota_rig_job j = { .account = "a",
					 .rate = { 100, 1 },
					 .walltime_s = 7200 };
	struct quota_view v;
	int64_t job;

	quota_rig_set(q, rwth, accounts);
	job = quota_rig_submit(q, &j);
	quota_rig_submit(q, &j);
	quota_rig_allocate(q, job);
	quota_rig_report(q, job, JOB_RUNNING, 1800);
	v = quota_rig_view(q, "a");
	assert_int_equal(v.active.running, 1);
	assert_int_equal(v.active.queued, 1);
	assert_int_equal(v.active.running_ms, 50 * HOUR_MS);
	assert_int_equal(v.active.rest_ms, 150 * HOUR_MS);
	assert_int_equal(v.active.queued_ms, 200 * HOUR_MS);
	assert_int_equal(v.window.available, 2950 * HOUR_MS); /* no September, so 3 months */
	assert_int_equal(v.available_after_ms, 2600 * HOUR_MS);
	quota_rig_report(q, job, JOB_ENDED, 1800);
}

static void outside_every_allocation_there_is_no_quota_left_and_no_stop(void **state)
{
	struct quota_rig *q = *state;
	char words[QUOTA_WORDS_MAX];
	struct quota_view v;

	quota_rig_set(q, rwth, "[Account a]\nUsers=alice\n");
	v = quota_rig_view(q, "a");
	assert_false(v.has_allocation);
	assert_int_equal(v.mode, WINDOW_LOW_PRIORITY);
	quota_words(q->config, &v, words);
	assert_string_equal(words,
			    "No monthly quota on 4 October 2024. Low priority: jobs run "
			    "only when no job of an account with quota left is pending.");
}

/* ---- the tree, days, the target ---- */

static void usage_below_counts_above_and_the_nearest_allocation_decides(void **state)
{
	static const char accounts[] =
		"[Account science]\n[Account physics]\nParent=science\nUsers=alice\n"
		"[Account lasers]\nParent=physics\nUsers=bob\n[Account arts]\nUsers=carol\n"
		"[Allocation "
		"science/x]\nKind=grant\nAmount=100\nFrom=2024-10-01\nTo=2025-01-01\n"
		"[Allocation lasers/x]\nKind=grant\nAmount=7\nFrom=2024-10-01\nTo=2025-01-01\n";
	struct quota_rig *q = *state;
	struct quota_rig_job j = { .account = "physics", .rate = { 3, 1 } };

	quota_rig_set(q, nci, accounts);
	quota_rig_use(q, &j, 3600);
	j = (struct quota_rig_job){ .account = "lasers", .user = "bob", .rate = { 2, 1 } };
	quota_rig_use(q, &j, 3600);
	j = (struct quota_rig_job){ .account = "arts", .user = "carol", .rate = { 9, 1 } };
	quota_rig_use(q, &j, 3600);
	assert_string_equal(quota_rig_view(q, "physics").owner, "science");
	assert_int_equal(quota_rig_view(q, "physics").grant.available, 95 * HOUR_MS);
	assert_string_equal(quota_rig_view(q, "lasers").owner, "lasers");
	assert_int_equal(quota_rig_view(q, "lasers").grant.available, 5 * HOUR_MS);
	assert_false(quota_rig_view(q, "arts").has_allocation);
}

static void a_past_day_is_as_it_stood_at_its_end(void **state)
{
	struct quota_rig *q = *state;
	struct quota_query ask = { .account = "physics", .cluster = "main" };
	struct quota_view v;

	quota_rig_set(q, nci, granted);
	quota_rig_use(q, &(struct quota_rig_job){ .rate = { 5, 1 } }, 3600);
	q->now_ns = NOON + DAY_NS;
	quota_rig_use(q, &(struct quota_rig_job){ .rate = { 7, 1 } }, 3600);
	quota_rig_submit(q, &(struct quota_rig_job){ .rate = { 1, 1 } });
	ask.now_ns = q->now_ns;
	ask.at_day = 20000;
	assert_int_equal(quota_get_view(&q->site, &ask, &v, NULL), 0);
	assert_true(v.is_past);
	assert_int_equal(v.grant.used, 5 * HOUR_MS);
	assert_int_equal(v.grant.reserved, 0);
	ask.at_day = 19000;
	assert_int_equal(quota_get_view(&q->site, &ask, &v, NULL), 0);
	assert_false(v.has_allocation);
	ask.account = "ghost";
	assert_int_equal(quota_get_view(&q->site, &ask, &v, NULL), -ENOENT);
}

static int ignore_entry(void *ctx, const struct store_adjustment *a, struct err *err)
{
	(void)ctx, (void)a, (void)err;
	return 0;
}

static void adjust_charge(struct quota_rig *q, int64_t charge_ms, int64_t day)
{
	const struct store_adjustment a = { .at_ns = q->now_ns,
					    .day = day,
					    .author = "root",
					    .reason = "a node failed",
					    .cluster = "main",
					    .account = "physics",
					    .user = "alice",
					    .pool = CHARGE_POOL_CPU,
					    .charge_ms = charge_ms };
	struct err err = { "" };

	if (store_adjust(q->ledger->store, &a, ignore_entry, NULL, &err) < 0)
		fail_msg("%s", err.text);
}

static void refunds_count_and_never_make_less_than_nothing_used(void **state)
{
	static const char monthly[] = "[Account physics]\nUsers=alice\n"
				      "[Allocation physics/x]\nKind=monthly\nAmount=100\n"
				      "From=2024-09-01\nTo=2025-01-01\n";
	struct quota_rig *q = *state;
	struct quota_view v;

	quota_rig_set(q, nci, granted);
	quota_rig_use(q, &(struct quota_rig_job){ .rate = { 60, 1 } }, 3600);
	adjust_charge(q, -20 * HOUR_MS, 20000);
	v = quota_rig_view(q, "physics");
	assert_int_equal(v.grant.used, 40 * HOUR_MS);
	assert_int_equal(v.grant.available, 60 * HOUR_MS);
	adjust_charge(q, 5 * HOUR_MS, 20000);
	assert_int_equal(quota_rig_view(q, "physics").grant.used, 45 * HOUR_MS);
	adjust_charge(q, -50 * HOUR_MS, 20000 - 10); /* in September nothing was used */
	quota_rig_set(q, rwth, monthly);
	v = quota_rig_view(q, "physics");
	assert_int_equal(v.window.previous.used, 0);
	assert_int_equal(v.window.current.used, 45 * HOUR_MS);
	quota_rig_set(q, nci,
		      "[Account physics]\nUsers=alice\n[Allocation physics/x]\nKind=grant\n"
		      "Amount=100\nFrom=2024-09-01\nTo=2025-01-01\n");
	assert_int_equal(quota_rig_view(q, "physics").grant.available, 100 * HOUR_MS);
}

static void a_target_is_a_rate_over_its_period(void **state)
{
	static const char accounts[] = "[Account def-a]\nUsers=alice\n"
				       "[Allocation def-a/x]\nKind=target\nAmount=10\n"
				       "From=2024-10-01\nTo=2024-10-11\n";
	struct quota_rig *q = *state;
	struct quota_view v;

	quota_rig_set(q, "[Policy]\nQuota=target\n[Cluster main]\n", accounts);
	quota_rig_use(q, &(struct quota_rig_job){ .account = "def-a", .rate = { 600, 1 } },
		      3600);
	q->now_ns = (19997 + 5) * DAY_NS; /* half of it */
	v = quota_rig_view(q, "def-a");
	assert_int_equal(v.target.total_ms, 2400 * HOUR_MS);
	assert_int_equal(v.target.due_ms, 1200 * HOUR_MS);
	assert_int_equal(v.target.used_ppm, 250000);
	assert_int_equal(v.target.passed_ppm, 500000);
	assert_int_equal(v.target.by_year_ms, 1200 * HOUR_MS);
	assert_int_equal(v.mode, WINDOW_NORMAL);
}

int main(void)
{
#define WITH_LEDGER(f) cmocka_unit_test_setup_teardown(f, quota_rig_open, quota_rig_close)
	const struct CMUnitTest tests[] = {
		WITH_LEDGER(granted_is_used_and_reserved_and_available_after_every_event),
		WITH_LEDGER(suspended_time_is_free_and_the_queue_decides_the_price),
		WITH_LEDGER(the_view_of_an_account_has_the_figures_of_its_window),
		WITH_LEDGER(the_months_of_a_period_are_all_there),
		WITH_LEDGER(a_consumed_window_says_when_it_is_normal_again),
		WITH_LEDGER(an_allowance_changes_within_a_period_by_labels_that_adjoin),
		WITH_LEDGER(running_and_queued_jobs_are_shown_beside_what_was_used),
		WITH_LEDGER(outside_every_allocation_there_is_no_quota_left_and_no_stop),
		WITH_LEDGER(usage_below_counts_above_and_the_nearest_allocation_decides),
		WITH_LEDGER(a_past_day_is_as_it_stood_at_its_end),
		WITH_LEDGER(refunds_count_and_never_make_less_than_nothing_used),
		WITH_LEDGER(a_target_is_a_rate_over_its_period),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
