/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_parts - jobs on several nodes in the ledger: which node starts which part and when, and what the
 * reports of all parts sum to. */
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
#include "controller/ledger/jobs/waiting.h"
#include "controller/ledger/attempts/multinode.h"
#include "controller/ledger/nodes/allocated.h"
#include "controller/ledger/store_sqlite.h"
#include "tests/unit/rig/parts_rig.h"

/* ---- usage ---- */

static void usage_of_nodes_adds_up_peaks_too(void **state)
{
	struct usage sum = { 0 }, a = { 0 }, b = { 0 };

	(void)state;
	usage_set(&a, &a.cpu_ns, 3);
	usage_set(&b, &b.cpu_ns, 4);
	usage_set(&a, &a.rss_peak_bytes, 10);
	usage_set(&b, &b.rss_peak_bytes, 20);
	usage_set(&a, &a.run_delay_max_ns, 5);
	usage_set(&b, &b.run_delay_max_ns, 2);
	usage_set(&b, &b.gpus_used, 1);
	a.cores[0] = (struct usage_core){ 0, 3 };
	a.n_cores = 1;
	usage_add(&sum, &a);
	usage_add(&sum, &b);
	assert_int_equal(sum.cpu_ns, 7);
	assert_int_equal(sum.rss_peak_bytes, 30);
	assert_int_equal(sum.run_delay_max_ns, 5); /* the longest */
	assert_int_equal(sum.gpus_used, 1);	   /* where one node has it */
	assert_false(usage_has(&sum, &sum.read_bytes));
	assert_int_equal(sum.n_cores, 0);
}

static void usage_of_nodes_does_not_wrap(void **state)
{
	struct usage sum = { 0 }, a = { 0 };

	(void)state;
	usage_set(&a, &a.read_bytes, INT64_MAX - 1);
	usage_add(&sum, &a);
	usage_add(&sum, &a);
	assert_int_equal(sum.read_bytes, INT64_MAX);
}

/* A node's next figures: counters and peaks grow, gauges go up and down, some are missing. */
static void move_on(struct usage *u)
{
	struct usage next = { 0 };

	for (size_t i = 0; usage_fields[i].name; i++) {
		int64_t *at = (int64_t *)(void *)((char *)&next + usage_fields[i].offset);

		*at = rand() % 100;
		next.have |= (uint64_t)(rand() % 3 > 0) << i;
	}
	if (rand() % 200 == 0)
		next.read_bytes = INT64_MAX - 1000;
	usage_merge(u, &next);
}

static void adding_one_node_at_a_time_gives_the_same_sums_as_adding_all(void **state)
{
	struct usage of[3] = { 0 }, sum = { 0 };
	int n_replaced = 0;

	(void)state;
	srand(3);
	for (int i = 0; i < 3000; i++) {
		struct usage *u = &of[rand() % 3], was = *u, all = { 0 };

		if (i % 300 == 0) {
			memset(of, 0, sizeof(of));
			sum = was = (struct usage){ 0 };
		}
		move_on(u);
		for (int k = 0; k < 3; k++)
			usage_add(&all, &of[k]);
		if (usage_replace(&sum, &was, u))
			n_replaced++;
		else
			sum = all;
		assert_memory_equal(&sum, &all, sizeof(sum));
	}
	assert_true(n_replaced > 1000 && n_replaced < 3000);
}

/* ---- in the queue, and allocated ---- */

static int see_chunks(void *ctx, const struct store_waiting *w, struct err *err)
{
	(void)err;
	assert_true(w->is_scattered);
	assert_int_equal(w->want.ncpus, 6);
	snprintf(ctx, SELECT_TEXT_MAX, "%s", w->chunks);
	return 0;
}

static void the_chunks_of_a_queued_job_are_stored(void **state)
{
	struct rig *r = *state;
	char text[SELECT_TEXT_MAX] = "";

	parts_submit(r, false);
	assert_int_equal(store_waiting(r->store, "main", see_chunks, text, NULL), 0);
	assert_string_equal(text, "3:ncpus=2:vmem=1GB:jobfs=1GB");
}

static void the_first_node_starts_when_all_others_run(void **state)
{
	struct rig *r = *state;
	int64_t job = parts_submit(r, false);
	struct parts_desired t;

	parts_allocate(r, job, NOON);
	assert_int_equal(parts_get_desired(r, 0).n, 0);
	t = parts_get_desired(r, 1);
	assert_int_equal(t.n, 1);
	assert_int_equal(t.g.want, DESIRED_RUN);
	assert_int_equal(t.g.part.index, 1);
	assert_int_equal(t.g.part.n, 3);
	assert_string_equal(t.hosts, "n1=2,n2=2,n3=2");
	assert_int_equal(t.g.share.ncpus, 2);
	assert_int_equal(t.g.share.vmem_bytes, 1000000000);
	assert_false(parts_list_job(r, 1, job, JOB_STARTING, NOON + S_NS));
	assert_false(parts_list_job(r, 1, job, JOB_RUNNING, NOON + S_NS));
	assert_int_equal(parts_get_desired(r, 0).n, 0);
	assert_int_equal(rig_load_job(r, job).state, JOB_STARTING);
	assert_true(parts_list_job(r, 2, job, JOB_RUNNING, NOON + S_NS));
	t = parts_get_desired(r, 0);
	assert_int_equal(t.n, 1);
	assert_int_equal(t.g.part.index, 0);
	assert_int_equal(t.g.share.ncpus, 2);
	assert_int_equal(rig_load_job(r, job).state, JOB_STARTING);
	parts_list_job(r, 0, job, JOB_RUNNING, NOON + 2 * S_NS);
	assert_int_equal(rig_load_job(r, job).state, JOB_RUNNING);
	assert_string_equal(rig_load_job(r, job).node, "n1");
}

static void each_part_is_in_use_until_it_has_ended(void **state)
{
	struct rig *r = *state;
	int64_t job = parts_running(r, false);

	for (int i = 0; i < 3; i++)
		assert_int_equal(parts_cores_in_use(r, i), 2);
	parts_send_report(r, 0, parts_ended(job, 2, END_EXITED, 10), NOON + 10 * S_NS);
	assert_int_equal(parts_cores_in_use(r, 0), 0);
	assert_int_equal(parts_cores_in_use(r, 1), 2);
	parts_send_report(r, 1, parts_ended(job, 2, END_CANCELLED, 10), NOON + 11 * S_NS);
	parts_send_report(r, 2, parts_ended(job, 2, END_CANCELLED, 10), NOON + 11 * S_NS);
	assert_int_equal(parts_cores_in_use(r, 1) + parts_cores_in_use(r, 2), 0);
	parts_verify(r);
}

struct placed {
	int n;
	size_t n_parts;
	enum job_state state;
	char nodes[64];
};

static int see_placed(void *ctx, const struct store_allocated *p, struct err *err)
{
	struct placed *to = ctx;

	(void)err;
	*to = (struct placed){ to->n + 1, p->n_parts, p->state, "" };
	for (size_t i = 0; i < p->n_parts; i++) {
		strcat(to->nodes, p->parts[i].node);
		assert_int_equal(p->parts[i].share.ncpus, 2);
	}
	return 0;
}

static void parts_in_use_are_listed_also_after_the_job_has_ended(void **state)
{
	struct rig *r = *state;
	int64_t job = parts_running(r, false), single = rig_job(r, NOON);
	struct placed p = { 0 };

	assert_int_equal(store_allocated(r->store, "main", see_placed, &p, NULL), 0);
	assert_int_equal(p.n, 2);
	assert_int_equal(p.n_parts, 0); /* the other one */
	rig_send_report(r, rig_report(single, 1, JOB_ENDED, 1), NOON + S_NS);
	parts_send_report(r, 0, parts_ended(job, 2, END_EXITED, 10), NOON + 10 * S_NS);
	parts_send_report(r, 2, parts_ended(job, 2, END_CANCELLED, 10), NOON + 11 * S_NS);
	p.n = 0;
	assert_int_equal(store_allocated(r->store, "main", see_placed, &p, NULL), 0);
	assert_int_equal(p.n, 1);
	assert_string_equal(p.nodes, "n2");
	assert_int_equal(p.state, JOB_ENDING);
}

/* ---- reports ---- */

static void reports_of_all_parts_are_one_usage_charged_by_the_time_of_part_0(void **state)
{
	struct rig *r = *state;
	int64_t job = parts_running(r, false);

	parts_send_report(r, 1, parts_report(job, 2, JOB_RUNNING, 10), NOON + 10 * S_NS);
	assert_int_equal(parts_of_attempt(r, "running_ns"), 0);
	parts_send_report(r, 0, parts_report(job, 2, JOB_RUNNING, 10), NOON + 10 * S_NS);
	parts_send_report(r, 2, parts_report(job, 2, JOB_RUNNING, 10), NOON + 10 * S_NS);
	assert_int_equal(parts_of_attempt(r, "usage ->> '$.cpu_ns'"), 30 * S_NS);
	assert_int_equal(parts_of_attempt(r, "usage ->> '$.rss_peak_bytes'"), 3000000000);
	assert_int_equal(parts_of_attempt(r, "usage ->> '$.vmem_peak_bytes'"), 3000);
	assert_int_equal(parts_of_attempt(r, "running_ns"), 10 * S_NS);
	assert_int_equal(parts_of_attempt(r, "charge_requested_ms"), 60000);
	assert_int_equal(parts_used_ms(r), 30000);
	parts_verify(r);
}

static void the_final_report_of_a_part_counts_after_the_end_of_the_job(void **state)
{
	struct rig *r = *state;
	int64_t job = parts_running(r, false);

	parts_send_report(r, 0, parts_ended(job, 2, END_EXITED, 10), NOON + 10 * S_NS);
	assert_int_equal(rig_load_job(r, job).state, JOB_ENDED);
	parts_send_report(r, 1, parts_ended(job, 2, END_CANCELLED, 10), NOON + 11 * S_NS);
	parts_send_report(r, 2, parts_ended(job, 2, END_CANCELLED, 15), NOON + 11 * S_NS);
	assert_int_equal(parts_of_attempt(r, "usage ->> '$.cpu_ns'"), 35 * S_NS);
	assert_int_equal(parts_used_ms(r), 35000);
	assert_int_equal(parts_of_attempt(r, "charge_requested_ms"), 60000);
	assert_int_equal(rig_load_job(r, job).end, END_EXITED);
	assert_int_equal(rig_number(r, "SELECT SUM(jobs_ended) FROM rollups"), 1);
	assert_int_equal(rig_number(r, "SELECT SUM(jobs_started) FROM rollups"), 1);
	parts_verify(r);
}

static void a_node_that_has_no_part_is_refused(void **state)
{
	struct rig *r = *state;
	int64_t job = parts_submit(r, false);
	const struct store_part two[] = { { "n1", 3, 1000, 0, 1000, 0 },
					  { "n2", 3, 1000, 0, 1000, 0 } };
	const struct store_allocation gift = { job, "n1", two, 2, 0 };
	struct report rep = parts_report(job, 1, JOB_RUNNING, 9);
	const struct sync_job listed = { job, 1, JOB_RUNNING };
	const struct parts_sync what = {
		.node = 2, .report = &rep, .listed = &listed, .now_ns = NOON + 9 * S_NS
	};
	struct sync_result out;

	for (int i = 0; i < 3; i++)
		parts_sync_empty(r, i, NOON);
	assert_int_equal(store_allocate(r->store, &gift, 1, NOON, NULL), 0);
	parts_send_sync(r, &what, &out);
	assert_int_equal(out.n_refusals, 1);
	assert_int_equal(out.n_acks, 0);
	sync_result_done(&out);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM parts WHERE usage IS NOT NULL"),
			 0);
}

/* Each node's reports 1..8, the last one final; sent in any order, some of them twice, some
 * never: what a node's last one says is the sum. */
static void in_whatever_order_reports_come_the_sums_are_the_same(void **state)
{
	struct rig *r = *state;
	int64_t job = parts_running(r, false), now = NOON + 20 * S_NS;

	srand(7);
	for (int i = 0; i < 60; i++) {
		int node = rand() % 3, seq = 2 + rand() % 7;

		parts_send_report(r, node, parts_report(job, seq, JOB_RUNNING, seq + node),
				  now);
	}
	parts_verify(r);
	for (int i = 0; i < 3; i++) {
		parts_send_report(r, (i + 2) % 3, parts_ended(job, 9, END_CANCELLED, 10), now);
		parts_send_report(r, (i + 2) % 3, parts_report(job, 5, JOB_RUNNING, 50), now);
	}
	assert_int_equal(parts_of_attempt(r, "usage ->> '$.cpu_ns'"),
			 rig_number(r, "SELECT SUM(usage ->> '$.cpu_ns') FROM parts"));
	/* n3's own greatest was 10 as well: 8 + 2. */
	assert_int_equal(parts_of_attempt(r, "usage ->> '$.cpu_ns'"), 30 * S_NS);
	assert_int_equal(parts_used_ms(r), 30000);
	parts_verify(r);
}

/* ---- as it is shown ---- */

static int see_part(void *ctx, const struct store_part_row *p, struct err *err)
{
	char *to = ctx, one[128];
	_cleanup_json_ json_t *end = p->end ? json_loads(p->end, 0, NULL) : NULL;

	(void)err;
	snprintf(one, sizeof(one), "%d:%s:%s:%lld:%s ", p->part, p->share.node,
		 job_state_name(p->state), (long long)p->share.ncpus,
		 end ? json_string_value(json_object_get(end, "kind")) : "-");
	strcat(to, one);
	return 0;
}

static void its_parts_are_shown_each_with_its_own_end(void **state)
{
	struct rig *r = *state;
	int64_t job = parts_running(r, false);
	char text[512] = "";

	parts_send_report(r, 1, parts_ended(job, 2, END_LIMIT, 5), NOON + 5 * S_NS);
	parts_send_report(r, 0, parts_ended(job, 2, END_CANCELLED, 5), NOON + 6 * S_NS);
	assert_int_equal(store_list_parts(r->store, (struct store_whose){ job, 1 }, see_part,
					  text, NULL),
			 0);
	assert_string_equal(text,
			    "0:n1:ended:2:cancelled 1:n2:ended:2:limit 2:n3:running:2:- ");
}

static void add_name(void *ctx, const char *node)
{
	strcat(ctx, node);
}

static void all_nodes_of_a_job_are_woken(void **state)
{
	struct rig *r = *state;
	int64_t job = parts_running(r, false);
	char names_of[64] = "";

	assert_int_equal(store_job_nodes(r->store, job, add_name, names_of, NULL), 0);
	assert_int_equal(strlen(names_of), 6);
	parts_send_report(r, 0, parts_ended(job, 2, END_EXITED, 5), NOON + 6 * S_NS);
	names_of[0] = '\0';
	assert_int_equal(store_job_nodes(r->store, job, add_name, names_of, NULL), 0);
	assert_int_equal(strlen(names_of), 4);
}

/* ---- what is listed ---- */

static int add_number(void *ctx, const struct store_job *j, struct err *err)
{
	size_t n = strlen(ctx);

	(void)err;
	snprintf((char *)ctx + n, 64 - n, "%s%lld", n ? " " : "", (long long)j->job);
	return 0;
}

static void assert_listed(struct rig *r, const struct store_filter *f, const char *expected)
{
	char jobs[64] = "";

	assert_int_equal(store_jobs(r->store, f, add_number, jobs, NULL), 0);
	assert_string_equal(jobs, expected);
}

/* One on n1 of the user's, one on n1, n2 and n3, and one in the queue. */
static void assert_listed_of_user(struct rig *r, int state, const char *n1, const char *others)
{
	for (int node = 0; node < 3; node++) {
		const char name[] = { 'n', (char)('1' + node), '\0' };
		struct store_filter f = {
			.user = "alice", .node = name, .state = state, .limit = 10
		};

		assert_listed(r, &f, node ? others : n1);
		f.account = "physics";
		assert_listed(r, &f, node ? others : n1);
		f.account = "chemistry";
		assert_listed(r, &f, "");
		f.account = NULL;
		f.user = "bob";
		assert_listed(r, &f, "");
	}
}

static void a_users_jobs_on_a_node_are_those_with_parts_there_too(void **state)
{
	const struct store_filter
		first = { .user = "alice", .node = "n1", .state = -1, .limit = 1 },
		rest = { .user = "alice", .node = "n1", .state = -1, .limit = 10, .before = 2 };
	struct rig *r = *state;

	assert_int_equal(parts_running(r, false), 1);
	assert_int_equal(rig_job(r, NOON), 2);
	parts_submit(r, false);
	assert_listed_of_user(r, -1, "2 1", "1");
	assert_listed_of_user(r, STORE_ACTIVE, "2 1", "1");
	assert_listed_of_user(r, JOB_RUNNING, "1", "1");
	assert_listed(r, &first, "2");
	assert_listed(r, &rest, "1");
	for (int i = 2; i >= 0; i--)
		parts_send_report(r, i, parts_ended(1, 2, END_EXITED, 5), NOON + 6 * S_NS);
	assert_listed_of_user(r, -1, "2 1", "1");
	assert_listed_of_user(r, JOB_ENDED, "1", "1");
}

/* As the ledger was before parts had users; then upgraded by the text that does it. */
static void forget_users_of_parts(struct rig *r)
{
	size_t i = 0;
	sqlite3 *db;

	while (!strstr(store_migrations[i], "parts_user_node"))
		i++;
	assert_int_equal(sqlite3_open(r->path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db,
				      "DROP INDEX jobs_user_node; DROP INDEX parts_user_node;"
				      "ALTER TABLE parts DROP COLUMN user",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, store_migrations[i], NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static void parts_of_an_older_ledger_belong_to_their_user_too(void **state)
{
	struct rig *r = *state;

	if (!rig_is_sqlite())
		skip();
	assert_int_equal(parts_running(r, false), 1);
	r->store = store_close(r->store);
	forget_users_of_parts(r);
	assert_int_equal(store_open(r->path, &r->store, NULL), 0);
	assert_listed_of_user(r, -1, "1", "1");
}

#define IN_A_LEDGER(f) cmocka_unit_test_setup_teardown(f, rig_open, rig_close)
int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(usage_of_nodes_adds_up_peaks_too),
		cmocka_unit_test(usage_of_nodes_does_not_wrap),
		cmocka_unit_test(adding_one_node_at_a_time_gives_the_same_sums_as_adding_all),
		IN_A_LEDGER(the_chunks_of_a_queued_job_are_stored),
		IN_A_LEDGER(the_first_node_starts_when_all_others_run),
		IN_A_LEDGER(each_part_is_in_use_until_it_has_ended),
		IN_A_LEDGER(parts_in_use_are_listed_also_after_the_job_has_ended),
		IN_A_LEDGER(reports_of_all_parts_are_one_usage_charged_by_the_time_of_part_0),
		IN_A_LEDGER(the_final_report_of_a_part_counts_after_the_end_of_the_job),
		IN_A_LEDGER(a_node_that_has_no_part_is_refused),
		IN_A_LEDGER(in_whatever_order_reports_come_the_sums_are_the_same),
		IN_A_LEDGER(its_parts_are_shown_each_with_its_own_end),
		IN_A_LEDGER(all_nodes_of_a_job_are_woken),
		IN_A_LEDGER(a_users_jobs_on_a_node_are_those_with_parts_there_too),
		IN_A_LEDGER(parts_of_an_older_ledger_belong_to_their_user_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
