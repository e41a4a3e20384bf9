/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_slurm_fresh - what fresh.c writes at once is what settle.c writes one statement after the other: the same rows in every table. A
 * row that is twice in a document is settle.c's, and counts once: so each document is stored once as it is, and in another ledger with
 * every row twice. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <libpq-fe.h>
#include <sqlite3.h>
#include "common/err.h"
#include "controller/ledger/jobs/slurm.h"
#include "controller/ledger/slurm/batch.h"
#include "controller/ledger/store_sqlite.h"
#include "tests/unit/rig/slurm_rig.h"
#include "tests/unit/rig/verify_rig.h"

#define ROWS_MAX 200

/* ---- all rows of all tables ---- */

/* The order in which jobs come differs, and with it the numbers of events: their order within a job must not. */
#define OF_TABLES(list)                                                                        \
	list(jobs, "*", "job") list(attempts, "*", "job, attempt")                             \
		list(stretches, "*", "job, attempt, from_ns")                                  \
			list(slices, "*", "job, attempt, day") list(slurm_attempts, "*",       \
								    "origin, id, submit_s")    \
				list(events, "at_ns, job, node, what, text",                   \
				     "job, id") list(rollups, "*", "1, 2, 3, 4, 5")            \
					list(months_named, "*", "1, 2, 3, 4, 5")               \
						list(waits, "*", "1, 2, 3, 4")                 \
							list(slurm_marks, "*", "1")            \
								list(origins, "*", "1")
#define TABLE_NAME(name, columns, order) #name,
#define TABLE_SQL(name, columns, order) "SELECT " columns " FROM " #name " ORDER BY " order,
static const char *const names[] = { OF_TABLES(TABLE_NAME) };
static const char *const queries[] = { OF_TABLES(TABLE_SQL) };

/* Months without the numbers of associations. */
static const char months_named[] =
	"CREATE %s VIEW months_named AS SELECT a.cluster, a.account, a.\"user\", m.pool,"
	" m.month, m.jobs_started, m.jobs_ended, m.running_ms, m.suspended_ms, m.cpu_ms,"
	" m.charge_requested_ms, m.charge_used_ms, m.core_ms, m.gpu_ms, m.adjusted_ms"
	" FROM months m JOIN associations a ON a.id = m.association";

static void print_value(FILE *to, const char *text)
{
	fprintf(to, "%s|", text ? text : "(null)");
}

static void dump_sqlite(struct rig *r, const char *sql, FILE *to)
{
	sqlite3 *db;
	sqlite3_stmt *st;
	char view[1024];

	snprintf(view, sizeof(view), months_named, "TEMP");
	assert_int_equal(sqlite3_open(r->path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, view, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
	while (sqlite3_step(st) == SQLITE_ROW) {
		for (int i = 0; i < sqlite3_column_count(st); i++)
			print_value(to, (const char *)sqlite3_column_text(st, i));
		fputc('\n', to);
	}
	sqlite3_finalize(st);
	sqlite3_close(db);
}

static void dump_postgres(struct rig *r, const char *sql, FILE *to)
{
	PGconn *c = PQconnectdb(r->path);
	char view[1024];
	PGresult *rows;

	snprintf(view, sizeof(view), months_named, "TEMP");
	PQclear(PQexec(c, view));
	rows = PQexec(c, sql);
	assert_int_equal(PQresultStatus(rows), PGRES_TUPLES_OK);
	for (int i = 0; i < PQntuples(rows); i++) {
		for (int k = 0; k < PQnfields(rows); k++)
			print_value(to,
				    PQgetisnull(rows, i, k) ? NULL : PQgetvalue(rows, i, k));
		fputc('\n', to);
	}
	PQclear(rows);
	PQfinish(c);
}

static char *dump_table(struct rig *r, size_t table)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	(rig_is_sqlite() ? dump_sqlite : dump_postgres)(r, queries[table], to);
	fclose(to);
	return text;
}

static int assert_line(const char *name, const char *a, const char *b)
{
	size_t n = strcspn(a, "\n"), m = strcspn(b, "\n");

	if (n != m || memcmp(a, b, n) != 0)
		fail_msg("%s: at once\n%.*s\none by one\n%.*s", name, (int)n, a, (int)m, b);
	return (int)n + (a[n] == '\n');
}

/* Returns how many rows there are. */
static int assert_same_table(struct rig *a, struct rig *b, size_t table)
{
	_cleanup_free_ char *x = dump_table(a, table), *y = dump_table(b, table);
	const char *p = x, *q = y;
	int n = 0;

	for (; *p || *q; n++) {
		int skip = assert_line(names[table], p, q);

		p += skip;
		q += skip;
	}
	return n;
}

static void assert_same(struct rig *a, struct rig *b)
{
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		assert_same_table(a, b, i);
}

/* ---- documents ---- */

static int set_price(void *ctx, struct store_new *job, char note[static STORE_SLURM_NOTE_MAX],
		     struct err *err)
{
	(void)ctx;
	(void)err;
	job->terms = (struct tally_terms){ .rate = { job->request->res.ncpus, 3 },
					   .ncpus = job->request->res.ncpus,
					   .ngpus = job->request->res.ngpus };
	job->pool = job->request->res.ngpus ? CHARGE_POOL_GPU : CHARGE_POOL_CPU;
	job->rule = "a rule in words";
	if (strcmp(job->request->account, "strange") == 0)
		snprintf(note, STORE_SLURM_NOTE_MAX, "its account is unknown");
	return 0;
}

/* at_s: what the clocks show, after noon. */
static void store_rows(struct rig *r, enum slurm_batch_source source, int64_t at_s,
		       const struct slurm_batch_job *rows, size_t n)
{
	_cleanup_free_ struct slurm_batch_job *copy = calloc(n + 1, sizeof(*copy));
	struct slurm_batch b = { .cluster = "east",
				 .source = source,
				 .at_s = NOON_S + at_s,
				 .jobs = copy,
				 .n_jobs = n };
	const struct store_slurm_from from = { .now_ns = NOON + at_s * S_NS,
					       .forgotten_ns = HOUR_NS,
					       .lost_ns = 120 * S_NS,
					       .price = set_price };
	struct store_slurm_result result;
	struct err err = { "" };

	memcpy(copy, rows, n * sizeof(*rows));
	if (store_slurm_batch(r->store, &b, &from, &result, &err) < 0)
		fail_msg("%s", err.text);
	store_slurm_result_done(&result);
}

struct pair {
	struct rig *at_once, *one_by_one;
};

static int open_pair(void **state)
{
	static struct pair p;

	*state = &p;
	return rig_open((void **)&p.at_once) || rig_open((void **)&p.one_by_one);
}

static int close_pair(void **state)
{
	struct pair *p = *state;

	return rig_close((void **)&p->at_once) || rig_close((void **)&p->one_by_one);
}

static void store_both(struct pair *p, enum slurm_batch_source source, int64_t at_s,
		       const struct slurm_batch_job *rows, size_t n)
{
	struct slurm_batch_job twice[2 * ROWS_MAX];

	assert_true(n <= ROWS_MAX);
	for (size_t i = 0; i < n; i++)
		twice[2 * i] = twice[2 * i + 1] = rows[i];
	store_rows(p->at_once, source, at_s, rows, n);
	store_rows(p->one_by_one, source, at_s, twice, 2 * n);
	assert_same(p->at_once, p->one_by_one);
}

static struct slurm_batch_job row_of(int64_t id, enum slurm_batch_state state, int64_t start_s,
				     int64_t end_s)
{
	struct slurm_batch_job j = rig_slurm_row(id, state, start_s, end_s);

	j.mem_bytes = 1000;
	j.walltime_s = 60;
	j.submit_s -= 60;
	return j;
}

#define COUNT_ROWS(rig, table) rig_number(rig, "SELECT COUNT(*) FROM " table)

/* ---- what must hold ---- */

static void every_state_leaves_the_same_rows(void **state)
{
	struct slurm_batch_job rows[ROWS_MAX];
	size_t n = 0;

	for (int s = SLURM_BATCH_COMPLETED; s < _SLURM_BATCH_STATE_MAX; s++)
		for (int with = 0; with < 4; with++) {
			struct slurm_batch_job *j = &rows[n++];

			*j = row_of((int64_t)n, (enum slurm_batch_state)s, 10 * s, 10 * s + 7);
			if (with & 1)
				j->start_s = 0;
			if (with & 2)
				j->exit_status = 3;
			if (with == 2)
				j->signal = 9;
		}
	store_both(*state, SLURM_BATCH_SLURMDBD, 3600, rows, n);
	assert_int_equal(rig_count_differences(((struct pair *)*state)->at_once), 0);
}

/* i: which of the figures is unusual. */
static void make_odd_times(struct slurm_batch_job *j, int i)
{
	switch (i) {
	case 0: /* over six days, with time without running */
		j->start_s -= 5 * DAY_S;
		j->suspended_s = 3 * DAY_S + 1;
		break;
	case 1:
		j->suspended_s = 1000000;
		break;
	case 2:
		j->end_s = j->start_s - 5;
		break;
	case 3:
		j->start_s = j->end_s = NOON_S + 30 * DAY_S;
		break;
	case 4:
		j->end_s = j->start_s;
		break;
	case 5: /* beyond what can be charged */
		j->ncpus = INT64_C(1) << 31;
		j->start_s -= 300 * DAY_S;
		break;
	case 6: /* longer ago than a year */
		j->submit_s -= 500 * DAY_S;
		j->start_s -= 500 * DAY_S;
		j->end_s -= 400 * DAY_S;
		break;
	case 7:
		j->end_s = 0;
		break;
	case 8:
		j->submit_s = 0;
		break;
	case 9: /* midnight */
		j->end_s = NOON_S + DAY_S / 2;
		break;
	default:
		j->start_s += 60LL * i;
		j->end_s += 60LL * i;
	}
}

static void make_odd_job(struct slurm_batch_job *j, int i)
{
	switch (i) {
	case 0:
		*j->node = *j->nodes = '\0';
		break;
	case 1:
		*j->user = *j->account = *j->queue = *j->name = '\0';
		break;
	case 2:
		strcpy(j->name, "a name\twith \\N and \"quotes\"");
		strcpy(j->user, "b c");
		break;
	case 3:
		j->uid = -1;
		j->ncpus = 0;
		break;
	case 4:
		j->array_job = 40;
		j->array_task = 3;
		break;
	case 5:
		j->het_job = 50;
		j->het_offset = 1;
		break;
	case 6:
		j->job |= INT64_C(3) << 26;
		break;
	case 7:
		j->ngpus = 4;
		strcpy(j->gpu_model, "a100");
		strcpy(j->qos, "high");
		break;
	case 8:
		strcpy(j->account, "strange");
		break;
	case 9:
		j->attempt = 3;
		break;
	default:
		memset(j->nodes, 'n', sizeof(j->nodes) - 1);
	}
}

static void odd_figures_leave_the_same_rows(void **state)
{
	struct slurm_batch_job rows[40];

	for (int i = 0; i < 40; i++) {
		rows[i] = row_of(100 + i, SLURM_BATCH_COMPLETED, 0, 50);
		if (i % 2)
			make_odd_times(&rows[i], i / 2);
		else
			make_odd_job(&rows[i], i / 2);
	}
	store_both(*state, SLURM_BATCH_SLURMDBD, 2 * DAY_S, rows, 40);
	assert_int_equal(rig_count_differences(((struct pair *)*state)->at_once), 0);
}

static void what_comes_later_finds_the_same_rows(void **state)
{
	struct pair *p = *state;
	struct slurm_batch_job rows[] = { row_of(7, SLURM_BATCH_REQUEUED, 0, 100),
					  row_of(8, SLURM_BATCH_COMPLETED, 0, 100),
					  row_of(9, SLURM_BATCH_CANCELLED, 0, 100) };

	store_both(p, SLURM_BATCH_SLURMDBD, 3600, rows, ARRAY_LEN(rows));
	rows[0] = row_of(7, SLURM_BATCH_COMPLETED, 200, 300);
	rows[1].end_s += 30; /* a correction */
	store_both(p, SLURM_BATCH_SLURMDBD, 3700, rows, ARRAY_LEN(rows));
	assert_int_equal(COUNT_ROWS(p->at_once, "jobs"), 3);
	assert_int_equal(COUNT_ROWS(p->at_once, "attempts"), 4);
	assert_int_equal(rig_count_differences(p->at_once), 0);
}

/* Generations of one id, with and without a pause that tells that it is another job. */
static void an_id_that_comes_again_leaves_the_same_rows(void **state)
{
	struct pair *p = *state;
	int64_t at_s = 0;

	for (int i = 0; i < 8; i++) {
		struct slurm_batch_job row =
			row_of(7, i == 3 ? SLURM_BATCH_PREEMPTED : SLURM_BATCH_COMPLETED, at_s,
			       at_s + 50);

		row.uid += i % 3;
		store_both(p, SLURM_BATCH_SLURMDBD, at_s + 3600, &row, 1);
		at_s += i % 2 ? 2 * DAY_S : 10 * HOUR_S;
	}
	assert_int_equal(rig_count_differences(p->at_once), 0);
}

static void slurmctld_may_say_it_too(void **state)
{
	struct slurm_batch_job rows[] = { row_of(7, SLURM_BATCH_COMPLETED, 0, 100),
					  row_of(8, SLURM_BATCH_TIMEOUT, 0, 100),
					  row_of(9, SLURM_BATCH_RUNNING, 0, 0) };

	rows[0].attempt = 1;
	rows[1].attempt = 2;
	rows[2].attempt = 1;
	rows[2].end_s = 0;
	store_both(*state, SLURM_BATCH_SLURMCTLD, 3600, rows, ARRAY_LEN(rows));
	assert_int_equal(rig_count_differences(((struct pair *)*state)->at_once), 0);
}

/* An agent may still report what has just ended on its node. */
static void a_job_of_a_node_with_an_agent_waits_for_it(void **state)
{
	struct pair *p = *state;
	struct slurm_batch_job rows[] = { row_of(7, SLURM_BATCH_COMPLETED, 0, 100),
					  row_of(8, SLURM_BATCH_COMPLETED, 0, 100) };
	struct rig *both[] = { p->at_once, p->one_by_one };

	strcpy(rows[1].node, "m2");
	for (size_t i = 0; i < ARRAY_LEN(both); i++)
		assert_int_equal(
			db_run(both[i]->store->db, NULL,
			       "INSERT INTO nodes(node, cluster, boot, version, address,"
			       " topology, notes, tier, draining, lost, ncpus, mem_bytes,"
			       " jobfs_bytes, ngpus, free_ncpus, free_mem_bytes,"
			       " free_jobfs_bytes, free_ngpus, first_ns, last_ns) VALUES('m1',"
			       " 'east', 'b', 'v', '', '', '[]', 1, 0, 0, 8, 1, 1, 0, 8, 1, 1,"
			       " 0, 0, ?1)",
			       "i", NOON + 110 * S_NS),
			0);
	store_both(p, SLURM_BATCH_SLURMDBD, 120, rows, ARRAY_LEN(rows));
	assert_int_equal(rig_load_job(p->at_once, store_slurm_number(1, 0, 7)).state,
			 JOB_RUNNING);
	assert_int_equal(rig_load_job(p->at_once, store_slurm_number(1, 0, 8)).state,
			 JOB_ENDED);
	assert_int_equal(rig_count_differences(p->at_once), 0);
}

static void a_row_that_is_there_already_refuses_the_document(void **state)
{
	struct pair *p = *state;
	struct slurm_batch_job row = row_of(7, SLURM_BATCH_COMPLETED, 0, 100), copy = row;
	struct slurm_batch b = { .cluster = "east",
				 .source = SLURM_BATCH_SLURMDBD,
				 .at_s = NOON_S + 3600,
				 .mark_s = NOON_S,
				 .jobs = &copy,
				 .n_jobs = 1 };
	const struct store_slurm_from from = { .now_ns = NOON + 3600 * S_NS,
					       .lost_ns = 1,
					       .price = set_price };
	struct store_slurm_result result;
	struct err err = { "" };

	/* A run interval that no job has: no program leaves one. */
	assert_int_equal(
		db_run(p->at_once->store->db, NULL,
		       "INSERT INTO stretches(job, attempt, from_ns, to_ns, running_ns, even)"
		       " VALUES(?1, 1, ?2, ?2, 1, 1)",
		       "ii", store_slurm_number(1, 0, 7), NOON),
		0);
	assert_int_equal(store_slurm_batch(p->at_once->store, &b, &from, &result, &err),
			 -EEXIST);
	assert_int_equal(COUNT_ROWS(p->at_once, "jobs"), 0);
	assert_int_equal(COUNT_ROWS(p->at_once, "rollups"), 0);
	assert_int_equal(COUNT_ROWS(p->at_once, "slurm_marks"), 0);
	assert_int_equal(COUNT_ROWS(p->at_once, "events"), 0);
	/* The connection is good for the next one. */
	assert_int_equal(db_run(p->at_once->store->db, NULL, "DELETE FROM stretches", ""), 0);
	store_rows(p->at_once, SLURM_BATCH_SLURMDBD, 3600, &row, 1);
	assert_int_equal(COUNT_ROWS(p->at_once, "stretches"), 1);
	assert_int_equal(rig_count_differences(p->at_once), 0);
}

static void count_changes(void *ctx, const struct store_changes *c)
{
	*(size_t *)ctx += c->n;
}

/* And so the tests above compare two ways: only settle.c announces what it writes. */
static void jobs_that_were_never_queued_do_not_disturb_the_queue(void **state)
{
	struct pair *p = *state;
	const struct slurm_batch_job row = row_of(7, SLURM_BATCH_COMPLETED, 0, 100);
	size_t n = 0;

	assert_int_equal(store_listen(p->at_once->store, count_changes, &n), 0);
	assert_int_equal(store_listen(p->one_by_one->store, count_changes, &n), 0);
	store_rows(p->at_once, SLURM_BATCH_SLURMDBD, 3600, &row, 1);
	assert_int_equal(n, 0);
	store_rows(p->one_by_one, SLURM_BATCH_SLURMDBD, 3600,
		   (struct slurm_batch_job[]){ row, row }, 2);
	assert_int_equal(n, 1);
}

#define PAIR_TEST(name) cmocka_unit_test_setup_teardown(name, open_pair, close_pair)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PAIR_TEST(every_state_leaves_the_same_rows),
		PAIR_TEST(odd_figures_leave_the_same_rows),
		PAIR_TEST(what_comes_later_finds_the_same_rows),
		PAIR_TEST(an_id_that_comes_again_leaves_the_same_rows),
		PAIR_TEST(slurmctld_may_say_it_too),
		PAIR_TEST(a_job_of_a_node_with_an_agent_waits_for_it),
		PAIR_TEST(a_row_that_is_there_already_refuses_the_document),
		PAIR_TEST(jobs_that_were_never_queued_do_not_disturb_the_queue),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
