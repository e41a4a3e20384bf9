/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_plans - cycles, exchanges with nodes and listings cost what is active now, not what has ended: a ledger
 * with 200,000 ended jobs, all of the user, account and node that keep working. In SQLite the plan of every
 * statement is checked, and the steps of its machine are counted beside those in an empty ledger; in
 * PostgreSQL the rows that were read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sqlite3.h>
#include <cmocka.h>
#include "common/err.h"
#include "controller/ledger/jobs/array.h"
#include "controller/ledger/jobs/depend.h"
#include "controller/ledger/nodes/drain.h"
#include "controller/ledger/attempts/gpus.h"
#include "controller/ledger/attempts/series.h"
#include "controller/ledger/jobs/hold.h"
#include "controller/ledger/jobs/waiting.h"
#include "controller/ledger/hooks.h"
#include "controller/ledger/nodes/lost.h"
#include "controller/ledger/usage/quota.h"
#include "controller/ledger/store_sqlite.h"
#include "controller/ledger/slurm/batch.h"
#include "controller/ledger/slurm/list.h"
#include "controller/ledger/steps/steps.h"
#include "controller/ledger/changes.h"
#include "controller/dispatch/cycle.h"
#include "tests/unit/rig/pages_rig.h"
#include "tests/unit/rig/past_rig.h"
#include "tests/unit/rig/sharetree_rig.h"

#define LATER(s) (NOON + (s)*S_NS)

/* ---- a present: everything that is done again and again ---- */

#define IGNORE(name, type)                                                                     \
	static int name(void *ctx, const struct type *row, struct err *err)                    \
	{                                                                                      \
		(void)ctx, (void)row, (void)err;                                               \
		return 0;                                                                      \
	}
IGNORE(no_job, store_job)
IGNORE(no_given, store_desired)
IGNORE(no_node, store_node)
IGNORE(no_count, store_count)
IGNORE(no_quota_job, store_quota_job)
IGNORE(no_happening, store_happening)
IGNORE(no_gpus, store_gpus_running)
IGNORE(no_step, store_step)
IGNORE(no_waiting, store_waiting)
IGNORE(no_series, store_series)
static void ignore_event(void *ctx, const struct cycle_event *n)
{
	(void)ctx, (void)n;
}

static void list_jobs(struct rig *r)
{
	static const struct store_filter filters[] = {
		{ .user = "alice", .state = STORE_ACTIVE, .limit = 100 },
		{ .user = "alice", .state = -1, .limit = 100 },
		{ .user = "alice", .state = JOB_QUEUED, .limit = 100 },
		{ .account = "physics", .state = STORE_ACTIVE, .limit = 100 },
		{ .account = "physics", .state = -1, .limit = 100 },
		{ .state = STORE_ACTIVE, .limit = 100 },
		{ .state = STORE_STARTED, .limit = 100 },
		{ .user = "alice", .state = STORE_STARTED, .limit = 100 },
		{ .state = -1, .limit = 100 },
		{ .state = JOB_ENDED, .limit = 100, .before = 1000 },
		{ .node = "n1", .state = STORE_ACTIVE, .limit = 100 },
		{ .node = "n1", .state = -1, .limit = 100 },
		{ .node = "n2", .state = -1, .limit = 100 },
		{ .node = "n3", .state = -1, .limit = 100 },
		/* Of both there is much, of the two together nothing. */
		{ .user = "alice", .node = "n1", .state = -1, .limit = 100 },
		{ .user = "alice", .node = "n2", .state = -1, .limit = 100 },
		{ .user = "alice", .node = "n3", .state = -1, .limit = 100 },
		{ .user = "bob", .node = "n1", .state = -1, .limit = 100 },
		{ .account = "physics", .node = "n1", .state = -1, .limit = 100 },
		{ .account = "physics", .node = "n2", .state = -1, .limit = 100 },
		{ .account = "physics", .node = "n3", .state = -1, .limit = 100 },
		{ .account = "biology", .node = "n1", .state = -1, .limit = 100 },
		{ .user = "bob", .node = "n2", .state = JOB_ENDED, .limit = 100 },
		{ .array = 7, .state = -1, .limit = 100 },
	};

	for (size_t i = 0; i < ARRAY_LEN(filters); i++)
		assert_int_equal(store_jobs(r->store, &filters[i], no_job, NULL, NULL), 0);
}

/* What reconcile compares, of ten seconds: one attempt a second from reeve-slurm, one of an agent, one archived. */
static void list_attempts(struct rig *r)
{
	static struct slurm_batch_job page[SLURM_BATCH_MAX];
	const struct store_slurm_page p = { "east", 20000, 20010, 0, 0 };
	size_t n = 0;

	assert_int_equal(store_slurm_list(r->store, &p, page, &n, NULL), 0);
	assert_true(n == 0 || n == 20);
}

static int set_terms(void *ctx, struct store_new *job, char note[static STORE_SLURM_NOTE_MAX],
		     struct err *err)
{
	(void)ctx, (void)note, (void)err;
	job->terms.rate = (struct fraction){ 1, 1 };
	return 0;
}

/* What slurmdbd says of two ids that have come before, of which one is another job now, and of a new one. */
static void follow_slurm(struct rig *r, int64_t now_ns)
{
	struct slurm_batch_job rows[] = { { .job = 17 }, { .job = 18 }, { .job = 5000000 } };
	struct slurm_batch b = { .cluster = "east",
				 .source = SLURM_BATCH_SLURMDBD,
				 .at_s = now_ns / S_NS,
				 .mark_s = now_ns / S_NS,
				 .jobs = rows,
				 .n_jobs = ARRAY_LEN(rows) };
	const struct store_slurm_from from = { .now_ns = now_ns, .price = set_terms };
	struct store_slurm_result result;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		rows[i].state = SLURM_BATCH_COMPLETED;
		rows[i].submit_s = rows[i].start_s = now_ns / S_NS - 100;
		rows[i].end_s = now_ns / S_NS - 10;
		strcpy(rows[i].node, "m1");
	}
	rows[0].submit_s = 0;
	assert_int_equal(store_slurm_batch(r->store, &b, &from, &result, NULL), 0);
	store_slurm_result_done(&result);
}

static void look_around(struct rig *r, int64_t job)
{
	struct store_happenings behind = { .max = 50 };
	char words[DEPEND_WORDS_MAX], note[STORE_QUOTA_NOTE_MAX];
	const struct store_start_by_ask by = { "main", LATER(1000) };
	struct store_held held;
	int64_t n;

	assert_int_equal(store_job(r->store, job, no_job, NULL, NULL), 0);
	assert_int_equal(store_attempts(r->store, job, no_job, NULL, NULL), 0);
	assert_int_equal(store_series_each(r->store, (struct store_whose){ job, 1 }, no_series,
					   NULL, NULL),
			 0);
	assert_int_equal(store_nodes(r->store, no_node, NULL, NULL), 0);
	assert_int_equal(store_counts(r->store, no_count, NULL, NULL), 0);
	assert_int_equal(store_gpus_running(r->store, S_NS, no_gpus, NULL, NULL), 0);
	assert_int_equal(store_queued(r->store, STORE_QUEUED_BY_USER, "alice", &n, NULL), 0);
	assert_int_equal(store_queued(r->store, STORE_QUEUED_BY_ACCOUNT, "physics", &n, NULL),
			 0);
	assert_int_equal(store_quota_active(r->store, no_quota_job, NULL, NULL), 0);
	assert_int_equal(store_last_charge(r->store, &n, NULL) < 0, 0);
	assert_int_equal(store_last_place(r->store, &behind.after, NULL) < 0, 0);
	behind.after -= 20;
	assert_true(store_happenings(r->store, behind, no_happening, NULL, NULL) >= 0);
	assert_true(store_depend_words(r->store, job, words, NULL) >= 0);
	assert_true(store_held(r->store, job, &held, NULL) >= 0);
	assert_true(store_quota_noted(r->store, job, note, NULL) >= 0);
	assert_int_equal(store_waiting(r->store, NULL, no_waiting, NULL, NULL), 0);
	assert_int_equal(store_start_by(r->store, &by, &n, 1, NULL), 0);
	assert_int_equal(store_start_by_next(r->store, &n, NULL), 0);
	list_attempts(r);
	list_jobs(r);
	pages_rig_list_active(r);
}

/* A job of 1 core of alice's; with `n` above 0 an array of so many tasks. */
static int64_t submit_jobs(struct rig *r, int64_t after, int64_t n, int64_t now_ns)
{
	_cleanup_(request_done) struct request q;
	const struct store_target target = { after, AFTER_ANY };
	struct store_new new = { .request = &q,
				 .targets = &target,
				 .n_targets = after != 0,
				 .pool = CHARGE_POOL_CPU,
				 .terms = { .rate = { 1, 1 }, .ncpus = 1 },
				 .now_ns = now_ns };
	struct err err = { "" };
	int64_t job = 0;

	rig_request_init(&q);
	q.uid = q.gid = 1001;
	q.res = (struct resources){ .ncpus = 1, .vmem_bytes = 1000, .walltime_s = 60 };
	q.workdir = strdup("/");
	if (n)
		q.array = (struct array){ .n = n, .last = n - 1, .step = 1 };
	for (int i = 0; i < _CHARGE_SIDE_MAX; i++)
		new.terms.bundle.side[i] = (struct fraction){ i == CHARGE_CORES, 1 };
	if (rig_submit_one(r->store, &new, &job, &err) < 0)
		fail_msg("%s", err.text);
	return job;
}

static void run_cycle(struct rig *r, struct cycle *c, int64_t now_ns)
{
	const struct store_resolve settle = { .now_ns = now_ns };
	const struct cycle_run run = { "main", now_ns, ignore_event, NULL, NULL };
	struct err err = { "" };

	if (store_resolve(r->store, &settle, &err) < 0 ||
	    store_arrays_expand(r->store, &err) < 0 || cycle_run(c, &run, &err) < 0)
		fail_msg("%s", err.text);
}

static void step_in(struct rig *r, int64_t job, int64_t now_ns)
{
	const char *const nodes[] = { "n1" };
	const struct store_steps_new new = { job, now_ns, nodes, 1, "{}" };
	struct store_steps_span span = { job, 1, 1, 0 };
	struct store_text text = { 0 };
	char *names = NULL, *spec = NULL;
	int64_t first;

	assert_int_equal(store_steps_add(r->store, &new, &first, NULL), 0);
	assert_int_equal(store_steps_nodes(r->store, job, &names, NULL), 0);
	assert_int_equal(store_steps_open(r->store, "n1", no_step, NULL, NULL), 0);
	assert_int_equal(store_steps_spec(r->store, job, first, &spec, NULL), 0);
	assert_true(store_steps_output(r->store, &span, NULL, NULL, NULL) >= 0);
	assert_int_equal(
		store_output(r->store, (struct store_read){ job, 0, SYNC_OUT, 0 }, &text, NULL),
		0);
	free(text.data);
	free(names);
	free(spec);
}

static void set_desired(struct rig *r, int64_t job, enum job_desired want, int64_t now_ns)
{
	const struct store_desired_change w = {
		.job = job, .want = want, .reason = "x", .now_ns = now_ns
	};
	char node[REQUEST_NAME_MAX];

	assert_true(store_set_desired(r->store, &w, node, NULL) >= 0);
}

/* One metric, one point. */
static void add_series(struct report *rep)
{
	static uint8_t bytes[] = { 1, 10, 10, 1, 3 };

	rep->series = bytes;
	rep->series_size = sizeof(bytes);
}

/* The life of a job that the cycle has allocated to n1, over signed exchanges. */
static void run_job(struct rig *r, int64_t job, int64_t now_ns)
{
	struct sync_job hold = { job, 1, JOB_RUNNING };
	struct report rep = rig_report(job, 1, JOB_RUNNING, 1);
	const struct sync_output out = {
		.job = job, .attempt = 1, .stream = SYNC_OUT, .data = (void *)"abc", .size = 3
	};
	struct rig_sync say = { .reports = &rep,
				.n_reports = 1,
				.jobs = &hold,
				.n_jobs = 1,
				.outputs = &out,
				.n_outputs = 1,
				.now_ns = now_ns };
	struct sync_result result;

	assert_int_equal(store_desired(r->store, "n1", no_given, NULL, NULL), 0);
	rep.started_ns = rep.at_ns = now_ns;
	add_series(&rep);
	assert_int_equal(rig_send_sync(r, &say, &result), 0);
	assert_int_equal(result.n_bad_series, 0);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM series WHERE at_ns > 1000000"
				       " AND job = (SELECT MAX(job) FROM series)"),
			 1);
	sync_result_done(&result);
	step_in(r, job, now_ns);
	set_desired(r, job, DESIRED_SUSPEND, now_ns);
	set_desired(r, job, DESIRED_RUN, now_ns);
	look_around(r, job);
	rep = rig_report(job, 2, JOB_ENDED, 1);
	rep.started_ns = rep.at_ns = rep.ended_ns = now_ns;
	add_series(&rep);
	say.n_outputs = say.n_jobs = 0;
	assert_int_equal(rig_send_sync(r, &say, &result), 0);
	sync_result_done(&result);
}

static void be_operated(struct rig *r, int64_t job, int64_t now_ns)
{
	struct store_hold hold = {
		.job = job, .kind = STORE_HOLD_USER, .author = "alice", .now_ns = now_ns
	};
	const struct store_priority_change w = {
		.job = job, .now_ns = now_ns, .has_nice = true, .author = "alice"
	};
	struct store_lost_result lost;

	assert_int_equal(store_hold(r->store, &hold, NULL), 0);
	assert_int_equal(store_release(r->store, &hold, NULL), 0);
	assert_int_equal(store_set_priority(r->store, &w, NULL), 0);
	assert_true(store_mark_lost_nodes(r->store, now_ns - 100 * S_NS, now_ns, NULL) >= 0);
	assert_true(store_end_lost_jobs(r->store, now_ns, &lost, NULL) >= 0);
}

/* Ten jobs, one after the other, of which each waits for the one before; and an array. */
static void do_everything(struct rig *r, struct cycle *c)
{
	struct rig_sync hello = { .now_ns = LATER(1) };
	struct sync_result result;
	int64_t next, array, waits;

	assert_int_equal(rig_send_sync(r, &hello, &result), 0);
	sync_result_done(&result);
	run_cycle(r, c, LATER(1));
	next = submit_jobs(r, 0, 0, LATER(1));
	for (int i = 0; i < 10; i++) {
		int64_t now = LATER(2 + i), job = next;

		run_cycle(r, c, now);
		next = submit_jobs(r, job, 0, now);
		run_job(r, job, now);
		run_cycle(r, c, now);
	}
	array = submit_jobs(r, 0, 40, LATER(20));
	waits = submit_jobs(r, array, 0, LATER(20));
	run_cycle(r, c, LATER(20));
	follow_slurm(r, LATER(20));
	look_around(r, waits);
	be_operated(r, waits, LATER(20));
	set_desired(r, array, DESIRED_CANCEL, LATER(21));
	run_cycle(r, c, LATER(21));
}

/* ---- SQLite: plans and steps ---- */

static sqlite3 *opened;

static int on_open(sqlite3 *db, const char **text, const void *api)
{
	(void)text, (void)api;
	if (!opened)
		opened = db;
	return 0;
}

/* A ledger whose database is named in `opened`, and a cycle over it. */
static struct cycle *open_cycle(struct rig *r, struct world *w)
{
	struct cycle *c = NULL;

	opened = NULL;
	sqlite3_auto_extension((void (*)(void))on_open);
	rig_reopen(r);
	sqlite3_cancel_auto_extension((void (*)(void))on_open);
	assert_int_equal(cycle_new(r->store, w->sharetree, &c, NULL), 0);
	return c;
}

/* Indices of what is active: they shrink again. */
static const char *const small[] = { "attempts_open", "attempts_open_job",   "parts_open",
				     "jobs_active",   "jobs_active_account", "jobs_active_user",
				     "steps_open",    "steps_open_job",	     "arrays_open",
				     "depends_open" };
static const char *const growing[] = {
	"jobs",	    "attempts",	      "events",		"stretches",	"parts",  "steps",
	"streams",  "chunks",	      "depends",	"holds",	"arrays", "slices",
	"imported", "slurm_attempts", "archived_slurm", "node_changes", "waits",  "rollups",
	"series",   "months",	      "totals",		"associations"
};

static bool names_alias(const char *sql, const char *table, const char *alias)
{
	char plain[128], with_as[128];

	snprintf(plain, sizeof(plain), " %s %s", table, alias);
	snprintf(with_as, sizeof(with_as), " %s AS %s", table, alias);
	return strcmp(table, alias) == 0 || strstr(sql, plain) || strstr(sql, with_as);
}

/* "SCAN x", "SCAN x USING INDEX i", of a table that only grows. */
static bool is_growing_scan(const char *sql, const char *detail)
{
	char alias[64] = "", *index = strstr(detail, "INDEX ");

	if (sscanf(detail, "SCAN %63s", alias) != 1)
		return false;
	for (size_t i = 0; index && i < ARRAY_LEN(small); i++) {
		size_t n = strlen(small[i]);

		if (!strncmp(index + 6, small[i], n) && strchr(" ", index[6 + n]))
			return false;
	}
	for (size_t i = 0; i < ARRAY_LEN(growing); i++)
		if (names_alias(sql, growing[i], alias))
			return true;
	return false;
}

static int count_scans(sqlite3_stmt *st)
{
	char *explain = sqlite3_mprintf("EXPLAIN QUERY PLAN %s", sqlite3_sql(st));
	sqlite3_stmt *plan = NULL;
	int n = 0;

	assert_int_equal(sqlite3_prepare_v2(opened, explain, -1, &plan, NULL), SQLITE_OK);
	while (sqlite3_step(plan) == SQLITE_ROW) {
		const char *detail = (const char *)sqlite3_column_text(plan, 3);

		if (is_growing_scan(sqlite3_sql(st), detail)) {
			print_message("%s\n  in %s\n", detail, sqlite3_sql(st));
			n++;
		}
	}
	sqlite3_finalize(plan);
	sqlite3_free(explain);
	return n;
}

static void no_query_plan_scans_a_growing_table(void **state)
{
	_cleanup_(world_done) struct world w = world_of("", declared);
	_cleanup_(cycle_freep) struct cycle *c = NULL;
	struct rig *r = *state;
	int n = 0, scans = 0;

	if (!rig_is_sqlite())
		skip();
	past_rig_make(r);
	pages_rig_make(r);
	c = open_cycle(r, &w);
	/* After a start all that is open is looked at, once. */
	run_cycle(r, c, LATER(0));
	do_everything(r, c);
	pages_rig_search(r);
	for (sqlite3_stmt *st = NULL; (st = sqlite3_next_stmt(opened, st)); n++)
		scans += count_scans(st);
	print_message("# %d statements\n", n);
	assert_true(n > 80);
	assert_int_equal(scans, 0);
	c = cycle_free(c);
}

/* Steps of SQLite's machine for the work alone, by statement. */
struct steps {
	char *sql;
	int64_t n;
};

static size_t steps_of(struct rig *r, struct steps *ret, size_t max)
{
	_cleanup_(world_done) struct world w = world_of("", declared);
	struct cycle *c = open_cycle(r, &w);
	size_t n = 0;

	run_cycle(r, c, LATER(0));
	for (sqlite3_stmt *st = NULL; (st = sqlite3_next_stmt(opened, st));)
		sqlite3_stmt_status(st, SQLITE_STMTSTATUS_VM_STEP, 1);
	do_everything(r, c);
	for (sqlite3_stmt *st = NULL; n < max && (st = sqlite3_next_stmt(opened, st)); n++)
		ret[n] =
			(struct steps){ strdup(sqlite3_sql(st)),
					sqlite3_stmt_status(st, SQLITE_STMTSTATUS_VM_STEP, 0) };
	cycle_free(c);
	return n;
}

static int64_t steps_find(const struct steps *s, size_t n, const char *sql)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(s[i].sql, sql))
			return s[i].n;
	return 0;
}

/* Each listing shows up to 100 jobs that have ended, which an empty ledger has not got; of two
 * filters of one statement, each time. */
#define LISTED 600000

static void work_costs_the_same_after_a_long_past(void **state)
{
	static struct steps before[400], after[400];
	struct rig *r = *state;
	size_t n_before, n_after;
	int64_t sum_before = 0, sum_after = 0;
	bool is_bad = false;

	if (!rig_is_sqlite())
		skip();
	n_before = steps_of(r, before, ARRAY_LEN(before));
	rig_close(state);
	assert_int_equal(rig_open(state), 0);
	r = *state;
	past_rig_make(r);
	n_after = steps_of(r, after, ARRAY_LEN(after));
	for (size_t i = 0; i < n_after; i++) {
		int64_t was = steps_find(before, n_before, after[i].sql);

		sum_before += was;
		sum_after += after[i].n;
		if (after[i].n < 2 * was + LISTED)
			continue;
		print_message("%lld steps, in an empty ledger %lld: %s\n",
			      (long long)after[i].n, (long long)was, after[i].sql);
		is_bad = true;
	}
	print_message("# %lld steps after %lld jobs, %lld in an empty ledger\n",
		      (long long)sum_after, (long long)past_rig_ended(), (long long)sum_before);
	for (size_t i = 0; i < n_before; i++)
		free(before[i].sql);
	for (size_t i = 0; i < n_after; i++)
		free(after[i].sql);
	assert_false(is_bad);
}

/* ---- PostgreSQL: rows ---- */

#define OF_GROWING                                                                             \
	" FROM pg_stat_user_tables WHERE schemaname = current_schema() AND relname IN ("       \
	"'jobs', 'attempts', 'events', 'stretches', 'parts', 'steps', 'streams', 'chunks',"    \
	" 'depends', 'holds', 'arrays', 'slices', 'slurm_attempts', 'archived_slurm',"         \
	" 'node_changes', 'waits', 'rollups', 'months', 'totals', 'series')"

/* Rows of growing tables that were read so far, by scans of whole tables and by indices. */
struct rows_read {
	int64_t scanned, found;
};

static struct rows_read rows_read(struct rig *r)
{
	assert_int_equal(db_run(r->store->db, NULL, "SELECT pg_stat_force_next_flush()", ""),
			 0);
	return (struct rows_read){ rig_number(r, "SELECT SUM(seq_tup_read)::bigint" OF_GROWING),
				   rig_number(r,
					      "SELECT SUM(idx_tup_fetch)::bigint" OF_GROWING) };
}

/* None by a scan, fewer than `most` by indices, since `before`. */
static void assert_found(struct rig *r, const struct rows_read *before, int64_t most)
{
	struct rows_read now = rows_read(r);

	print_message("# %lld rows by scans, %lld by indices\n",
		      (long long)(now.scanned - before->scanned),
		      (long long)(now.found - before->found));
	assert_int_equal(now.scanned, before->scanned);
	assert_true(now.found - before->found < most);
}

static void no_statement_of_the_server_scans_a_growing_table(void **state)
{
	_cleanup_(world_done) struct world w = { 0 };
	struct cycle *c = NULL;
	struct rig *r = *state;
	struct rows_read before;

	if (rig_is_sqlite())
		skip();
	w = world_of("", declared);
	past_rig_make(r);
	pages_rig_make(r);
	rig_reopen(r);
	assert_int_equal(cycle_new(r->store, w.sharetree, &c, NULL), 0);
	run_cycle(r, c, LATER(0));
	before = rows_read(r);
	do_everything(r, c);
	assert_found(r, &before, 100000);
	cycle_free(c);
}

/* A search looks at 10,000 jobs, days and projects have some thousand sums. */
static void no_page_of_the_server_scans_a_growing_table(void **state)
{
	struct rig *r = *state;
	struct rows_read before;

	if (rig_is_sqlite())
		skip();
	past_rig_make(r);
	pages_rig_make(r);
	rig_reopen(r);
	before = rows_read(r);
	pages_rig_search(r);
	pages_rig_list_active(r);
	assert_found(r, &before, 100000);
}

#define RIG(t) cmocka_unit_test_setup_teardown(t, rig_open, rig_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG(no_query_plan_scans_a_growing_table),
		RIG(work_costs_the_same_after_a_long_past),
		RIG(no_statement_of_the_server_scans_a_growing_table),
		RIG(no_page_of_the_server_scans_a_growing_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
