/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pages_rig.c - see pages_rig.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stddef.h>
#include <cmocka.h>
#include "common/err.h"
#include "controller/ledger/jobs/waiting.h"
#include "controller/ledger/nodes/page.h"
#include "controller/ledger/nodes/record.h"
#include "controller/ledger/nodes/running.h"
#include "controller/ledger/store_sqlite.h"
#include "controller/ledger/usage/day_sums.h"
#include "controller/ledger/usage/queue_waits.h"
#include "controller/ledger/usage/totals/top.h"
#include "controller/ledger/usage/totals/totals.h"
#include "tests/unit/rig/pages_rig.h"

static int no_job(void *ctx, const struct store_job *j, struct err *err)
{
	(void)ctx, (void)j, (void)err;
	return 0;
}
static int no_node(void *ctx, const struct store_node *n, struct err *err)
{
	(void)ctx, (void)n, (void)err;
	return 0;
}
static int no_running(void *ctx, const struct store_running *n, struct err *err)
{
	(void)ctx, (void)n, (void)err;
	return 0;
}
static int no_waiting(void *ctx, const struct store_waiting *w, struct err *err)
{
	(void)ctx, (void)w, (void)err;
	return 0;
}
static int no_followed(void *ctx, const struct store_followed *f, struct err *err)
{
	(void)ctx, (void)f, (void)err;
	return 0;
}
static int no_usage(void *ctx, const struct store_usage *u, struct err *err)
{
	(void)ctx, (void)u, (void)err;
	return 0;
}

/* Of 30 days: sums and records of nodes, no job. */
static void sum_days(struct rig *r)
{
	const int64_t day = store_day(r->store, NOON);
	const struct store_day_sums_ask sums = { .from_day = day - 30, .to_day = day };
	const struct store_waits_ask waits = { .from_day = day - 30, .to_day = day };
	const struct store_capacity_ask ask = { .from_ns = NOON - 30 * 86400 * S_NS,
						.to_ns = NOON };
	struct capacity_day of[31] = { 0 };
	const struct capacity_days days = { .of = of, .first_day = day - 30, .n = 30 };
	struct store_day_sums *found = NULL;
	static struct store_waits counts;
	int64_t since;

	assert_int_equal(store_day_sums(r->store, &sums, &found, NULL), 0);
	store_day_sums_free(found);
	assert_int_equal(store_waits(r->store, &waits, &counts, NULL), 0);
	assert_int_equal(store_capacity(r->store, &ask, &days, NULL), 0);
	assert_int_equal(store_capacity_since(r->store, &since, NULL), 0);
}

/* A page in each order. */
static void list_pages(struct rig *r)
{
	struct store_node_page page = { .limit = 100 };

	for (int i = 0; i < 2 * _STORE_NODE_SORT_MAX; i++) {
		page.sort = (enum store_node_sort)(i / 2);
		page.is_descending = i % 2;
		assert_int_equal(store_nodes_page(r->store, &page, no_node, NULL, NULL), 0);
	}
}

/* So many more nodes that their lists are not read one by one where they are not kept (given_kept.h); no cycle sees them. */
static void add_nodes(struct rig *r)
{
	static const char sql[] =
		"INSERT INTO nodes(node, cluster, boot, version, address, topology, notes, tier,"
		" draining, lost, ncpus, mem_bytes, jobfs_bytes, ngpus, free_ncpus, free_mem_bytes,"
		" free_jobfs_bytes, free_ngpus, first_ns, last_ns) VALUES(?1, 'far', 'b', 'v', 'a',"
		" '', '[]', 1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 0, 1, 1)";
	char node[] = "x00";

	for (int i = 0; i < 40; i++) {
		node[1] = (char)('0' + i / 10);
		node[2] = (char)('0' + i % 10);
		assert_int_equal(db_run(r->store->db, NULL, sql, "t", node), 0);
	}
}

/* Pages of nodes whose lists are kept, and of some that are not; and the sums: jobs that run, none that has ended. */
static void list_nodes(struct rig *r)
{
	const struct store_node_page one = { .node = "n1", .limit = 100 };
	struct store_node_totals totals;
	int64_t n;

	assert_int_equal(store_nodes_page(r->store, &one, no_node, NULL, NULL), 0);
	list_pages(r);
	add_nodes(r);
	list_pages(r);
	assert_int_equal(
		db_run(r->store->db, NULL, "DELETE FROM nodes WHERE cluster = 'far'", ""), 0);
	assert_int_equal(store_node_totals(r->store, &totals, NULL), 0);
	assert_int_equal(store_node_count(r->store, NULL, &n, NULL), 0);
	assert_int_equal(store_silent_count(r->store, NOON, &n, NULL), 0);
}

void pages_rig_list_active(struct rig *r)
{
	static const int64_t numbers[] = { 200001, 200002 };
	const struct store_these these = { "main", numbers, ARRAY_LEN(numbers) };
	const struct store_running_filter all = { .limit = 300 };
	const struct store_running_filter of_node = { .node = "n1", .limit = 300 };
	const struct store_running_place first = { "", 0, 1000 };

	assert_int_equal(store_running(r->store, &all, no_running, NULL, NULL), 0);
	assert_int_equal(store_running(r->store, &of_node, no_running, NULL, NULL), 0);
	assert_int_equal(store_running_after(r->store, &first, no_running, NULL, NULL), 0);
	assert_int_equal(store_followed(r->store, no_followed, NULL, NULL), 0);
	assert_int_equal(store_withheld(r->store, "main", no_waiting, NULL, NULL), 0);
	assert_int_equal(store_waiting_these(r->store, &these, no_waiting, NULL, NULL), 0);
	list_nodes(r);
}

/* Filters without an index: their cost is bounded by STORE_SCAN_MAX, not by what is active. */
static void search_jobs(struct rig *r)
{
	static const struct store_filter filters[] = {
		{ .state = -1, .limit = 100, .name = "t" },
		{ .user = "alice", .state = -1, .limit = 100, .queue = "normal" },
		{ .account = "physics", .state = JOB_ENDED, .limit = 100, .name = "t" },
		{ .node = "n1", .state = -1, .limit = 100, .name = "t" },
		{ .state = -1, .limit = 100, .before_ns = NOON - 1000 * S_NS },
		{ .user = "alice", .state = -1, .limit = 100, .submitted_ns = NOON },
	};

	for (size_t i = 0; i < ARRAY_LEN(filters); i++) {
		struct store_filter f = filters[i];
		int64_t next;

		assert_int_equal(store_jobs_bound(r->store, &f, &next, NULL), 0);
		assert_int_equal(store_jobs(r->store, &f, no_job, NULL, NULL), 0);
	}
}

/* A year of two projects with the caller's own usage elsewhere, by each dimension and by month; and of one user. */
static void sum_usage(struct rig *r)
{
	static const char *const accounts[] = { "p10", "p11" };
	const struct store_scope scope = { accounts, ARRAY_LEN(accounts), "v7" };
	const int64_t day = store_day(r->store, NOON);
	struct store_period p = { .scope = &scope, .from_day = day - 370, .to_day = day - 5 };

	for (int by = STORE_BY_NONE; by < _STORE_BY_MAX; by++) {
		p.by = (enum store_by)by;
		p.each = by == STORE_BY_NONE ? STORE_EACH_MONTH : STORE_EACH_PERIOD;
		assert_int_equal(store_usage(r->store, &p, no_usage, NULL, NULL), 0);
	}
	p.scope = NULL;
	p.user = "v7";
	assert_int_equal(store_usage(r->store, &p, no_usage, NULL, NULL), 0);
}

/* Of all users: the last whole allocation period, the one under way, a month of it, and days that are neither; the last days of some
 * users and of some accounts; all clusters by month. */
static void sum_totals(struct rig *r)
{
	static const char *const users[] = { "v1", "v2", "v3" };
	static const char *const accounts[] = { "p1", "p2" };
	const int64_t day = store_day(r->store, NOON), period = 24279, now = period + 12;
	struct store_period p = { .by = STORE_BY_USER,
				  .from_day = calendar_month_first(period),
				  .to_day = calendar_month_first(now) };
	const struct store_usage_each each = { no_usage, NULL };
	struct store_top top = { .limit = 20 };

	assert_int_equal(store_usage_top(r->store, &p, &top, &each, NULL), 1);
	assert_true(top.n_rows[CHARGE_POOL_CPU] >= 300);
	p.from_day = calendar_month_first(now);
	p.to_day = day + 1;
	assert_int_equal(store_usage_top(r->store, &p, &top, &each, NULL), 1);
	assert_true(top.n_rows[CHARGE_POOL_CPU] >= 300);
	assert_int_equal(store_usage(r->store, &p, no_usage, NULL, NULL), 0);
	p.to_day = calendar_month_first(now + 1);
	assert_int_equal(store_usage_top(r->store, &p, &top, &each, NULL), 1);
	p.from_day = calendar_month_first(period) + 17;
	p.to_day = day - 40;
	assert_int_equal(store_usage_top(r->store, &p, &top, &each, NULL), 1);
	p.to_day = calendar_month_first(now + 1);
	p.from_day = day - 30;
	assert_int_equal(
		store_usage_named(r->store, &p, &(struct store_names){ users, 3 }, &each, NULL),
		0);
	p.by = STORE_BY_ACCOUNT;
	assert_int_equal(store_usage_named(r->store, &p, &(struct store_names){ accounts, 2 },
					   &each, NULL),
			 0);
	p.by = STORE_BY_NONE;
	p.each = STORE_EACH_MONTH;
	assert_int_equal(store_usage(r->store, &p, no_usage, NULL, NULL), 0);
}

void pages_rig_search(struct rig *r)
{
	search_jobs(r);
	sum_days(r);
	sum_usage(r);
	sum_totals(r);
}

/* ---- a past ---- */

#define NUMBERS(n)                                                                             \
	"WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < " n " - 1)"
#define MONTHS "24273 + i / 300" /* of calendar.h: two years up to NOON */
#define SUMS "1, 1, 60000, 0, 1000, 60000, 60000, 60000, 0, 0"

/* ?1: today; a user has a sum every third day. */
static const char *const past[] = {
	NUMBERS("300") " INSERT INTO associations(id, cluster, account, user)"
		       " SELECT 1000 + i, 'main', 'p' || (i / 3), 'v' || i FROM n WHERE ?1 > 0",
	NUMBERS("72000") " INSERT INTO rollups(cluster, account, user, pool, day, jobs_started,"
			 " jobs_ended, running_ms, suspended_ms, cpu_ms, charge_requested_ms,"
			 " charge_used_ms, core_ms, gpu_ms, adjusted_ms) SELECT 'main',"
			 " 'p' || (i % 300 / 3), 'v' || (i % 300), 0, ?1 - 720 + i / 300 * 3, " SUMS
			 " FROM n",
	NUMBERS("7200") " INSERT INTO months SELECT 1000 + i % 300, 0, " MONTHS ", " SUMS
			" FROM n WHERE ?1 > 0",
	NUMBERS("40000") " INSERT INTO node_changes(node, at_ns, cluster, state, ncpus, ngpus)"
			 " SELECT 'n' || (i % 200), (?1 - 720) * 86400000000000 + CAST(i AS BIGINT)"
			 " * 1555200000000, 'main', i % 3, 16, 0 FROM n",
	NUMBERS("20000") " INSERT INTO waits(cluster, day, size, bucket, jobs) SELECT 'main',"
			 " ?1 - 720 + i / 28, i % 28 / 7, i % 7, 1 FROM n",
};

void pages_rig_make(struct rig *r)
{
	struct err err = { "" };

	assert_int_equal(db_begin(r->store->db, &err), 0);
	for (size_t i = 0; i < ARRAY_LEN(past); i++)
		if (db_run(r->store->db, &err, past[i], "i", store_day(r->store, NOON)) < 0)
			fail_msg("%s", err.text);
	assert_int_equal(totals_fill(r->store, &err), 0);
	assert_int_equal(db_commit(r->store->db, &err), 0);
	if (!rig_is_sqlite())
		assert_int_equal(db_run(r->store->db, &err, "ANALYZE", ""), 0);
}
