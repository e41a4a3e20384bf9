/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_survey - all that runs, read in turns: the same sums and jobs as in one, each job once; what is kept, and what is read again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stddef.h>
#include <errno.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "controller/api/nodes/survey.h"
#include "controller/ledger/store_sqlite.h"
#include "tests/unit/rig/ledger_rig.h"

#define ROWS 2500 /* three parts */

/* The clock of the turns. */
static int64_t now_ns = S_NS;

int64_t api_monotonic_ns(void)
{
	return now_ns;
}

static void run_sql(struct rig *r, const char *sql)
{
	struct err err = { "" };

	if (db_run(r->store->db, &err, sql, "") < 0)
		fail_msg("%s", err.text);
}

#define NUMBERS(n)                                                                             \
	"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < " #n ")"

/* Jobs 1 to 2500 of 2 cores on the nodes a0 to a9, of which a3 is lost: each 100th is suspended by the controller's word, each 100th
 * after that has not reported; and job 1 has a part on a4, of 3 cores. */
static void fill_ledger(struct rig *r)
{
	run_sql(r,
		NUMBERS(10) " INSERT INTO nodes(node, cluster, boot, version, address, topology, notes, tier,"
			    " draining, lost, ncpus, mem_bytes, jobfs_bytes, ngpus, free_ncpus, free_mem_bytes,"
			    " free_jobfs_bytes, free_ngpus, first_ns, last_ns) SELECT 'a' || (i % 10), 'main', 'b',"
			    " '', '', '', '[]', 1, 0, CASE WHEN i = 3 THEN 1 ELSE 0 END, 8, 1, 1, 0, 8, 1, 1, 0, 1, 1"
			    " FROM n");
	run_sql(r,
		NUMBERS(2500) " INSERT INTO jobs(job, attempt, state, want, uid, user, account, cluster, queue, name,"
			      " node, ncpus, vmem_bytes, mem_bytes, jobfs_bytes, walltime_s, ngpus, submitted_ns,"
			      " started_ns, pool, decided_by, rate_num, rate_den, bundle_gpus_num, bundle_gpus_den,"
			      " bundle_cores_num, bundle_cores_den, bundle_memory_num, bundle_memory_den, request)"
			      " SELECT i, 1, CASE WHEN i % 100 = 0 THEN 3 ELSE 2 END,"
			      " CASE WHEN i % 100 = 0 THEN 1 ELSE 0 END, 1000 + i % 3, 'alice', 'p' || (i % 4),"
			      " 'main', 'normal', 'j', 'a' || (i % 10), 2, 10, 7, 5, 60, 1, i, i, 0, 1, 2, 1, 0, 1,"
			      " 1, 1, 0, 1, '{}' FROM n");
	run_sql(r,
		NUMBERS(2500) " INSERT INTO attempts(job, attempt, node, given_ns, state, shown, closed, seq, at_ns,"
			      " started_ns, running_ns, usage) SELECT i, 1, 'a' || (i % 10), i,"
			      " CASE WHEN i % 100 = 0 THEN 3 ELSE 2 END, 1, 0, 1,"
			      " CASE WHEN i % 100 = 1 THEN 0 ELSE i END, i, 1000000000,"
			      " '{\"cpu_ns\":500000000}' FROM n");
	run_sql(r,
		"INSERT INTO parts(job, attempt, part, node, ncpus, vmem_bytes, mem_bytes, jobfs_bytes,"
		" ngpus, state, shown, closed, at_ns, running_ns, user)"
		" VALUES(1, 1, 1, 'a4', 3, 0, 4, 2, 0, 2, 1, 0, 9, 1, 'alice')");
}

static struct api open_api(struct rig *r)
{
	return (struct api){ .c = { .store = r->store } };
}

/* Of jobs: which were read, and how often. */
static void assert_each_once(const struct survey *s)
{
	static uint8_t seen[ROWS + 1];
	size_t n = 0;

	memset(seen, 0, sizeof(seen));
	for (size_t i = 0; i < s->n; i++) {
		const struct survey_job *j = &s->jobs[i];

		if (s->jobs[i].at_ns == 9 && j->job == 1)
			continue; /* the part */
		assert_true(j->job >= 1 && j->job <= ROWS);
		assert_int_equal(seen[j->job]++, 0);
		assert_int_equal(j->uid, 1000 + j->job % 3);
		assert_int_equal(s->accounts.texts[j->account][1], '0' + j->job % 4);
		assert_int_equal(s->nodes.texts[j->node][1], '0' + j->job % 10);
		assert_int_equal(j->idle_core_ms, 1500);
		n++;
	}
	assert_int_equal(n, ROWS - 2 * ROWS / 100);
}

static void assert_sums(const struct survey *s)
{
	/* On a3 there are 250 jobs, none of which is suspended. */
	assert_int_equal(s->n_jobs, ROWS + 1);
	assert_int_equal(s->in_use.ncpus, (ROWS - 250 - ROWS / 100) * 2 + 3);
	assert_int_equal(s->in_use.mem_bytes, (ROWS - 250) * 10 + 4);
	assert_int_equal(s->in_use.jobfs_bytes, (ROWS - 250) * 5 + 2);
	assert_int_equal(s->in_use.ngpus, ROWS - 250);
	assert_int_equal(s->n, ROWS + 1 - 2 * ROWS / 100);
}

static void turns_read_the_same_as_one(void **state)
{
	struct rig *r = *state;
	struct api a = open_api(r);
	const struct survey *s;
	int n = 1;

	fill_ledger(r);
	assert_int_equal(survey_take(&a, &s, NULL), 0);
	assert_sums(s);
	assert_each_once(s);
	a.turn_until_ns = 1;
	while (survey_take(&a, &s, NULL) == -EAGAIN)
		n++;
	assert_int_equal(n, 3);
	assert_sums(s);
	assert_each_once(s);
	survey_free(a.survey);
}

static void what_took_several_turns_is_used_again_for_a_while(void **state)
{
	struct rig *r = *state;
	struct api a = open_api(r);
	const struct survey *s;

	fill_ledger(r);
	a.turn_until_ns = 1;
	while (survey_take(&a, &s, NULL) == -EAGAIN)
		;
	run_sql(r, "DELETE FROM parts");
	now_ns += SURVEY_KEEP_NS - 1;
	assert_int_equal(survey_take(&a, &s, NULL), 0);
	assert_int_equal(s->n_jobs, ROWS + 1);
	now_ns += 1;
	assert_int_equal(survey_take(&a, &s, NULL), -EAGAIN);
	/* Left halfway for long: its first part would be old. */
	now_ns += SURVEY_KEEP_NS;
	assert_int_equal(survey_take(&a, &s, NULL), -EAGAIN);
	assert_int_equal(survey_take(&a, &s, NULL), -EAGAIN);
	assert_int_equal(survey_take(&a, &s, NULL), 0);
	assert_int_equal(s->n_jobs, ROWS);
	survey_free(a.survey);
}

static void what_one_turn_reads_is_read_each_time(void **state)
{
	struct rig *r = *state;
	struct api a = open_api(r);
	const struct survey *s;

	fill_ledger(r);
	run_sql(r, "DELETE FROM attempts WHERE job > 600");
	a.turn_until_ns = 1;
	assert_int_equal(survey_take(&a, &s, NULL), 0);
	assert_int_equal(s->n_jobs, 601);
	run_sql(r, "DELETE FROM parts");
	assert_int_equal(survey_take(&a, &s, NULL), 0);
	assert_int_equal(s->n_jobs, 600);
	survey_free(a.survey);
}

static void nothing_runs(void **state)
{
	struct rig *r = *state;
	struct api a = open_api(r);
	const struct survey *s;

	assert_int_equal(survey_take(&a, &s, NULL), 0);
	assert_int_equal(s->n_jobs, 0);
	assert_int_equal(s->n, 0);
	survey_free(a.survey);
}

#define RIG(t) cmocka_unit_test_setup_teardown(t, rig_open, rig_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG(turns_read_the_same_as_one),
		RIG(what_took_several_turns_is_used_again_for_a_while),
		RIG(what_one_turn_reads_is_read_each_time),
		RIG(nothing_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
