/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_segments - jobs listed by their node are those that a walk over all jobs finds, in the same order, wherever the segments of
 * the indices begin and end; and a listing that has to skip segments reads few rows of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "controller/ledger/segments.h"
#include "controller/ledger/jobs/slurm.h"
#include "controller/ledger/store_sqlite.h"
#include "tests/unit/rig/ledger_rig.h"

/* Jobs i of numbers that rise by a fifth of a segment and more, the last third of a Slurm cluster. */
#define JOBS 90
#define SLURM_JOBS 60
#define SQL_NUMBER "CASE WHEN i < 60 THEN 0 ELSE 2 * 1099511627776 END + i * 13107 + i / 7"

static int64_t number_of(int64_t i)
{
	return (i < SLURM_JOBS ? 0 : 2 * STORE_SLURM_FROM) + i * 13107 + i / 7;
}

static void fill_ledger(struct rig *r)
{
	static const char *const fill[] = {
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 90)"
		" INSERT INTO jobs(job, attempt, state, uid, user, account, cluster, queue, name,"
		" node, ncpus, vmem_bytes, mem_bytes, jobfs_bytes, walltime_s, ngpus,"
		" submitted_ns, pool, decided_by, rate_num, rate_den, bundle_gpus_num,"
		" bundle_gpus_den, bundle_cores_num, bundle_cores_den, bundle_memory_num,"
		" bundle_memory_den, request) SELECT " SQL_NUMBER ", 1, 5, 1, 'u' || (i % 2),"
		" 'g' || (i % 5), 'main', 'q' || (i % 3), 'n', CASE WHEN i % 11 > 0 THEN"
		" 'n' || (i / 20 % 3) END, 1, 1, 1, 1, 1, 0, 1, 0, 1, 1, 1, 0, 1, 1, 1, 0, 1,"
		" '{}' FROM n",
		"INSERT INTO parts(job, attempt, part, node, ncpus, vmem_bytes, mem_bytes,"
		" jobfs_bytes, ngpus, state, closed, user) SELECT job, 1, 1, 'n9', 1, 1, 1, 1, 0,"
		" 5, 1, user FROM jobs WHERE job / 13107 % 13 = 0",
	};
	struct err err = { "" };

	for (size_t i = 0; i < ARRAY_LEN(fill); i++)
		if (db_run(r->store->db, &err, fill[i], "") < 0)
			fail_msg("%s", err.text);
}

/* As fill_ledger() has it. */
static bool is_listed(int64_t i, const struct store_filter *f)
{
	const int64_t job = number_of(i);
	char node[8], user[8], account[8], queue[8];
	bool has_part = job / 13107 % 13 == 0;

	snprintf(node, sizeof(node), "n%d", (int)(i / 20 % 3));
	snprintf(user, sizeof(user), "u%d", (int)(i % 2));
	snprintf(account, sizeof(account), "g%d", (int)(i % 5));
	snprintf(queue, sizeof(queue), "q%d", (int)(i % 3));
	if ((f->before && job >= f->before) || job < f->from)
		return false;
	if ((f->user && strcmp(f->user, user) != 0) ||
	    (f->account && strcmp(f->account, account) != 0) ||
	    (f->queue && strcmp(f->queue, queue) != 0))
		return false;
	return (i % 11 > 0 && !strcmp(f->node, node)) || (has_part && !strcmp(f->node, "n9"));
}

struct seen {
	int64_t jobs[JOBS + 1];
	size_t n;
};

static int see_job(void *ctx, const struct store_job *j, struct err *err)
{
	struct seen *s = ctx;

	(void)err;
	assert_true(s->n <= JOBS);
	s->jobs[s->n++] = j->job;
	return 0;
}

static size_t expect_listed(struct rig *r, const struct store_filter *f)
{
	struct seen seen = { .n = 0 };
	size_t n = 0;

	assert_int_equal(store_jobs(r->store, f, see_job, &seen, NULL), 0);
	for (int64_t i = JOBS; i > 0 && n < (size_t)f->limit; i--) {
		if (!is_listed(i, f))
			continue;
		if (n >= seen.n || seen.jobs[n] != number_of(i))
			fail_msg("job %lld is missing, of node %s, user %s, account %s, before "
				 "%lld, from %lld, limit %lld",
				 (long long)number_of(i), f->node, f->user ? f->user : "any",
				 f->account ? f->account : "any", (long long)f->before,
				 (long long)f->from, (long long)f->limit);
		n++;
	}
	assert_int_equal(n, seen.n);
	return n;
}

static void jobs_of_a_node_are_those_of_all_segments(void **state)
{
	static const char *const nodes[] = { "n0", "n1", "n2", "n9", "none" };
	static const char *const users[] = { NULL, "u0", "nobody" };
	static const char *const accounts[] = { NULL, "g3" };
	const int64_t bounds[] = { 0,
				   1,
				   STORE_SEGMENT,
				   STORE_SEGMENT + 1,
				   number_of(30),
				   number_of(30) + 1,
				   number_of(75),
				   2 * STORE_SLURM_FROM + 14 * STORE_SEGMENT };
	struct rig *r = *state;
	size_t n = 0;

	fill_ledger(r);
	for (size_t i = 0; i < 5 * 3 * 2 * 8 * 8 * 2; i++) {
		const struct store_filter f = { .node = nodes[i % 5],
						.user = users[i / 5 % 3],
						.account = accounts[i / 15 % 2],
						.state = STORE_ANY,
						.before = bounds[i / 30 % 8],
						.from = bounds[i / 240 % 8],
						.limit = i / 1920 ? 4 : JOBS };

		n += expect_listed(r, &f);
	}
	assert_true(n > 1000);
}

/* With a filter that has no index the range is bounded first: here nothing is left out. */
static void a_bounded_range_of_a_node_has_all_of_few_jobs(void **state)
{
	struct rig *r = *state;
	struct store_filter f = {
		.node = "n1", .queue = "q1", .state = STORE_ANY, .limit = JOBS
	};
	int64_t next = 1;

	fill_ledger(r);
	assert_int_equal(store_jobs_bound(r->store, &f, &next, NULL), 0);
	assert_int_equal(next, 0);
	assert_true(expect_listed(r, &f) > 5);
}

static void a_bounded_range_of_a_node_ends_behind_the_jobs_that_may_be_read(void **state)
{
	struct rig *r = *state;
	struct store_filter f = {
		.node = "busy", .queue = "q", .state = STORE_ANY, .limit = 1
	};
	struct err err = { "" };
	int64_t next = 0;

	/* 20,000 jobs of the node, and as many of others between them: two segments and more */
	if (db_run(r->store->db, &err,
		   "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < "
		   "40000)"
		   " INSERT INTO jobs(job, attempt, state, uid, user, account, cluster, queue, name,"
		   " node, ncpus, vmem_bytes, mem_bytes, jobfs_bytes, walltime_s, ngpus,"
		   " submitted_ns, pool, decided_by, rate_num, rate_den, bundle_gpus_num,"
		   " bundle_gpus_den, bundle_cores_num, bundle_cores_den, bundle_memory_num,"
		   " bundle_memory_den, request) SELECT i * 4, 1, 5, 1, 'u', 'g', 'main', 'q', 'n',"
		   " CASE WHEN i % 2 = 0 THEN 'busy' ELSE 'other' END, 1, 1, 1, 1, 1, 0, 1, 0, 1, 1,"
		   " 1, 0, 1, 1, 1, 0, 1, '{}' FROM n",
		   "") < 0)
		fail_msg("%s", err.text);
	assert_int_equal(store_jobs_bound(r->store, &f, &next, NULL), 0);
	assert_int_equal(next, 160000 - 8 * (STORE_SCAN_MAX - 1));
	assert_int_equal(f.from, next);
	f.before = next;
	f.from = 0;
	assert_int_equal(store_jobs_bound(r->store, &f, &next, NULL), 0);
	assert_int_equal(next, 160000 - 8 * (2 * STORE_SCAN_MAX - 1));
}

#define RIG(t) cmocka_unit_test_setup_teardown(t, rig_open, rig_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG(jobs_of_a_node_are_those_of_all_segments),
		RIG(a_bounded_range_of_a_node_has_all_of_few_jobs),
		RIG(a_bounded_range_of_a_node_ends_behind_the_jobs_that_may_be_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
