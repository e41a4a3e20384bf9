/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_stored - large texts are stored once for a user, and ended jobs are pruned in small batches without
 * what sums are computed from. Times as in ledger_rig.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sqlite3.h>
#include <cmocka.h>
#include "common/err.h"
#include "common/wire/wire.h"
#include "controller/ledger/store_sqlite.h"
#include "controller/ledger/steps/steps.h"
#include "controller/ledger/jobs/stored.h"
#include "controller/ledger/verify/verify.h"
#include "tests/unit/rig/ledger_rig.h"

#define LATER(s) (NOON + (s)*S_NS)
#define LARGE 5000

static char *text_of(size_t size, char of)
{
	char *text = malloc(size + 1);

	memset(text, of, size);
	text[size] = '\0';
	return text;
}

/* A queued job of the user with a script of LARGE bytes; it waits for `after`, if that is not 0. */
static int64_t submit_after(struct rig *r, const char *user, char of, int64_t after)
{
	_cleanup_(request_done) struct request q;
	struct store_new new = { .request = &q,
				 .pool = CHARGE_POOL_CPU,
				 .terms = { .rate = { 1, 1 }, .ncpus = 1 },
				 .now_ns = NOON };
	struct store_target target = { .job = after, .kind = AFTER_ANY };
	struct err err = { "" };
	int64_t job = 0;

	new.targets = &target;
	new.n_targets = after != 0;
	rig_request_init(&q);
	strcpy(q.user, user);
	q.res = (struct resources){ .ncpus = 1, .vmem_bytes = 1000, .walltime_s = 60 };
	q.workdir = strdup("/");
	q.script = text_of(LARGE, of);
	for (int i = 0; i < _CHARGE_SIDE_MAX; i++)
		new.terms.bundle.side[i] = (struct fraction){ i == CHARGE_CORES, 1 };
	if (rig_submit_one(r->store, &new, &job, &err) < 0)
		fail_msg("%s", err.text);
	return job;
}

static int64_t submit_job(struct rig *r, const char *user, char of)
{
	return submit_after(r, user, of, 0);
}

static void cancel_job(struct rig *r, int64_t job, int64_t now_ns)
{
	const struct store_desired_change w = {
		.job = job, .want = DESIRED_CANCEL, .reason = "x", .now_ns = now_ns
	};
	char node[REQUEST_NAME_MAX];

	assert_int_equal(store_set_desired(r->store, &w, node, NULL), 0);
}

static int64_t stored_bytes(struct rig *r, const char *user)
{
	int64_t bytes;

	assert_int_equal(store_stored(r->store, user, &bytes, NULL), 0);
	return bytes;
}

/* What ended `age_s` before `now` goes; all of it. Returns in how many batches. */
static int prune_all(struct rig *r, int64_t now_ns, int64_t age_s)
{
	const struct store_retention keep = { now_ns, age_s * S_NS, age_s * S_NS };
	struct err err = { "" };
	int n = 0, more;

	do {
		more = store_prune(r->store, &keep, &err);
		if (more < 0)
			fail_msg("%s", err.text);
	} while (++n < 1000 && more);
	return n;
}

static int no_difference(void *ctx, const struct store_difference *d, struct err *err)
{
	(void)err;
	print_message("%s of job %lld: %lld, recomputed %lld\n", d->figure, (long long)d->job,
		      (long long)d->stored, (long long)d->recomputed);
	++*(int *)ctx;
	return 0;
}

static void assert_recomputes(struct rig *r)
{
	struct store_verified v;
	int n = 0;

	assert_int_equal(store_verify(r->store, no_difference, &n, &v, NULL), 0);
	assert_int_equal(n, 0);
	assert_int_equal(rig_number(r, "SELECT COALESCE((SELECT SUM(bytes) FROM stored), 0)"
				       " - COALESCE((SELECT SUM(size) FROM texts), 0)"
				       " - COALESCE((SELECT SUM(size) FROM chunks), 0)"
				       " - 256 * (SELECT COUNT(*) FROM steps)"
				       " - 64 * (SELECT COUNT(*) FROM depends)"),
			 0);
	assert_int_equal(rig_number(r, "SELECT COALESCE((SELECT SUM(n) FROM texts), 0)"
				       " - (SELECT COUNT(*) FROM jobs WHERE script > 0)"
				       " - (SELECT COUNT(*) FROM jobs WHERE env > 0)"
				       " - (SELECT COUNT(*) FROM steps WHERE command > 0)"),
			 0);
}

static int copy_request(void *ctx, const struct store_job *j, struct err *err)
{
	_cleanup_json_ json_t *doc = json_loads(j->request, 0, NULL);

	(void)err;
	assert_non_null(doc);
	snprintf(ctx, LARGE + 2, "%s",
		 json_string_value(json_object_get(doc, "script"))
			 ? json_string_value(json_object_get(doc, "script"))
			 : "");
	return 0;
}

static void a_script_is_stored_once_for_a_user(void **state)
{
	struct rig *r = *state;
	char seen[LARGE + 2], *script = text_of(LARGE, 'a');
	int64_t first = submit_job(r, "alice", 'a'), bytes = stored_bytes(r, "alice");

	for (int i = 0; i < 20; i++)
		submit_job(r, "alice", 'a');
	assert_int_equal(stored_bytes(r, "alice"), bytes);
	assert_in_range(bytes, LARGE, LARGE + 50);
	submit_job(r, "bob", 'a');
	assert_int_equal(stored_bytes(r, "bob"), bytes);
	submit_job(r, "alice", 'b');
	assert_int_equal(stored_bytes(r, "alice"), 2 * bytes);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM texts"), 3);
	assert_int_equal(store_job(r->store, first + 7, copy_request, seen, NULL), 0);
	assert_string_equal(seen, script);
	assert_recomputes(r);
	free(script);
}

static void a_stored_text_is_removed_with_the_last_job_that_uses_it(void **state)
{
	struct rig *r = *state;
	char seen[LARGE + 2];
	int64_t old = submit_job(r, "alice", 'a'), young = submit_job(r, "alice", 'a'),
		queued = submit_job(r, "alice", 'a');

	cancel_job(r, old, LATER(10));
	cancel_job(r, young, LATER(100));
	prune_all(r, LATER(150), 100);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM jobs WHERE script > 0"), 2);
	assert_int_equal(store_job(r->store, old, copy_request, seen, NULL), 0);
	assert_string_equal(seen, "");
	assert_int_equal(store_job(r->store, young, copy_request, seen, NULL), 0);
	assert_int_equal(strlen(seen), LARGE);
	assert_recomputes(r);
	prune_all(r, LATER(100000), 100);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM texts"), 1);
	cancel_job(r, queued, LATER(100000));
	prune_all(r, LATER(200000), 100);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM texts"), 0);
	assert_int_equal(stored_bytes(r, "alice"), 0);
	assert_recomputes(r);
}

static void a_dependency_counts_until_its_job_is_pruned(void **state)
{
	struct rig *r = *state;
	int64_t first = submit_job(r, "alice", 'a'), bytes = stored_bytes(r, "alice"),
		second = submit_after(r, "alice", 'a', first);

	assert_int_equal(stored_bytes(r, "alice"), bytes + STORE_DEPEND_BYTES);
	cancel_job(r, second, LATER(10));
	prune_all(r, LATER(200), 100);
	assert_int_equal(stored_bytes(r, "alice"), bytes);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM depends"), 0);
	assert_recomputes(r);
}

/* A job with `n` steps of one command and as many pieces of output, that ended at LATER(20). */
static int64_t run_jobs(struct rig *r, int n)
{
	int64_t job = rig_job(r, NOON), first;
	const char *const nodes[] = { "n1" };
	char *command = text_of(LARGE, 'c');
	const struct store_steps_new new = { job, LATER(2), nodes, 1, command };
	uint8_t series[] = { 1, 10, 10, 1, 3 }; /* one point of CPU time */
	struct report last;

	rig_send_report(r, rig_report(job, 1, JOB_RUNNING, 1), LATER(1));
	for (int i = 0; i < n; i++) {
		const struct sync_job hold = { job, 1, JOB_RUNNING };
		const struct sync_output out = { .job = job,
						 .attempt = 1,
						 .offset = 3 * i,
						 .data = (void *)"abc",
						 .size = 3 };
		const struct rig_sync say = { .jobs = &hold,
					      .n_jobs = 1,
					      .outputs = &out,
					      .n_outputs = 1,
					      .now_ns = LATER(3) };
		struct sync_result result;

		assert_int_equal(i < 900 ? store_steps_add(r->store, &new, &first, NULL) : 0,
				 0);
		assert_int_equal(rig_send_sync(r, &say, &result), 0);
		sync_result_done(&result);
	}
	last = rig_report(job, 2, JOB_ENDED, 19);
	last.series = series;
	last.series_size = sizeof(series);
	rig_send_report(r, last, LATER(20));
	free(command);
	return job;
}

static int count_tables(void *ctx, int n, char **values, char **names)
{
	(void)n, (void)values, (void)names;
	++*(int *)ctx;
	return 0;
}

static int count_statistics(sqlite3 *db)
{
	int n = 0;

	assert_int_equal(
		sqlite3_exec(db, "SELECT * FROM sqlite_schema WHERE name LIKE 'sqlite_stat%'",
			     count_tables, &n, NULL),
		SQLITE_OK);
	return n;
}

/* Another program may analyse the ledger while it is open. */
static void what_analyze_leaves_is_removed_too(void **state)
{
	struct rig *r = *state;
	sqlite3 *other;

	if (!rig_is_sqlite())
		skip();
	assert_int_equal(sqlite3_open(r->path, &other), SQLITE_OK);
	assert_int_equal(sqlite3_exec(other, "ANALYZE", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(count_statistics(other), 1);
	assert_int_equal(prune_all(r, LATER(100), 100), 1);
	assert_int_equal(count_statistics(other), 0);
	sqlite3_close(other);
}

static void ended_jobs_are_pruned_in_small_batches_and_sums_stay(void **state)
{
	struct rig *r = *state;
	int64_t job = run_jobs(r, 650), charge, bytes = stored_bytes(r, "alice");
	const struct store_retention now = { LATER(1000), 100 * S_NS, 100 * S_NS };
	int n;

	assert_int_equal(bytes, 650 * 3 + 650 * 256 + LARGE);
	assert_recomputes(r);
	charge = rig_load_job(r, job).charge_requested_ms;
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM series"), 1);
	/* Not before its time. */
	assert_int_equal(prune_all(r, LATER(100), 100), 1);
	assert_int_equal(stored_bytes(r, "alice"), bytes);
	assert_int_equal(store_prune(r->store, &now, NULL), 1);
	assert_true(rig_number(r, "SELECT COUNT(*) FROM chunks") >= 550);
	n = prune_all(r, LATER(1000), 100);
	assert_in_range(n, 7, 20);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM chunks"), 0);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM streams"), 0);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM steps"), 0);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM texts"), 0);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM series"), 0);
	assert_int_equal(stored_bytes(r, "alice"), 0);
	/* The newest of all stays, so that no number is used again. */
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM events"), 1);
	assert_int_equal(rig_load_job(r, job).charge_requested_ms, charge);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM attempts"), 1);
	assert_recomputes(r);
	assert_int_equal(prune_all(r, LATER(2000), 100), 1);
}

static void events_that_no_hook_has_read_yet_are_kept(void **state)
{
	struct rig *r = *state;
	int64_t n;

	run_jobs(r, 3);
	n = rig_number(r, "SELECT COUNT(*) FROM events");
	assert_int_equal(db_run(r->store->db, NULL,
				"INSERT INTO meta(key, value) VALUES('hooks_place', '2')", ""),
			 0);
	prune_all(r, LATER(1000), 100);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM events"), n - 2);
}

static void beyond_the_bound_steps_are_refused_and_output_is_cut(void **state)
{
	struct rig *r = *state;
	int64_t job = run_jobs(r, 1), first, bytes = stored_bytes(r, "alice");
	const char *const nodes[] = { "n1" };
	const struct store_steps_new new = { job, LATER(2), nodes, 1, "{}" };
	char *large = text_of(LARGE, 'o');
	struct sync_job hold = { 0, 1, JOB_RUNNING };
	struct sync_output out = { .attempt = 1, .data = large, .size = LARGE };
	const struct rig_sync say = {
		.jobs = &hold, .n_jobs = 1, .outputs = &out, .n_outputs = 1, .now_ns = LATER(30)
	};
	struct sync_result result;

	job = rig_job(r, LATER(25));
	rig_send_report(r, rig_report(job, 1, JOB_RUNNING, 1), LATER(26));
	store_set_max_stored(r->store, bytes + 1000);
	hold.job = out.job = job;
	assert_int_equal(rig_send_sync(r, &say, &result), 0);
	/* It is acknowledged all the same, so that the node sends it no more. */
	assert_int_equal(result.output_acks[0].offset, LARGE);
	sync_result_done(&result);
	assert_in_range(stored_bytes(r, "alice"), bytes + 1000, bytes + 1100);
	assert_int_equal(
		store_steps_add(r->store,
				&(struct store_steps_new){ job, LATER(31), nodes, 1, new.spec },
				&first, NULL),
		STORE_STEPS_TOO_MUCH);
	store_set_max_stored(r->store, 0);
	assert_int_equal(
		store_steps_add(r->store,
				&(struct store_steps_new){ job, LATER(31), nodes, 1, new.spec },
				&first, NULL),
		0);
	assert_recomputes(r);
	free(large);
}

#define RIG(t) cmocka_unit_test_setup_teardown(t, rig_open, rig_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG(a_script_is_stored_once_for_a_user),
		RIG(a_dependency_counts_until_its_job_is_pruned),
		RIG(a_stored_text_is_removed_with_the_last_job_that_uses_it),
		RIG(what_analyze_leaves_is_removed_too),
		RIG(ended_jobs_are_pruned_in_small_batches_and_sums_stay),
		RIG(events_that_no_hook_has_read_yet_are_kept),
		RIG(beyond_the_bound_steps_are_refused_and_output_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
