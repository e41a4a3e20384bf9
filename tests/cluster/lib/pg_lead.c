/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pg_lead.c - who leads a ledger in PostgreSQL: each case as one process sees it, step by step.
 */
#include <errno.h>
#include <libpq-fe.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include "common/err.h"
#include "controller/ledger/lead.h"
#include "controller/ledger/store_sqlite.h"
#include "tests/cluster/lib/pg_admin.h"

static char place[512];

static int set_up(void **state)
{
	static int n;
	char sql[128];

	(void)state;
	snprintf(sql, sizeof(sql), "CREATE SCHEMA lead%d_%d", (int)getpid(), ++n);
	pg_admin(sql);
	snprintf(place, sizeof(place), "%s&options=-csearch_path%%3Dlead%d_%d",
		 getenv("REEVE_TEST_POSTGRES"), (int)getpid(), n);
	return 0;
}

struct controller {
	struct store_lead *lead;
	struct store *store;
	int n_lost;
};

static void on_lost(void *ctx)
{
	((struct controller *)ctx)->n_lost++;
}

static struct controller open_controller(int64_t lease_s)
{
	const struct store_lead_config config = { place, "here", lease_s };
	struct controller c = { NULL, NULL, 0 };
	struct err err = { "" };

	if (store_lead_open(&config, &c.lead, &err) < 0)
		fail_msg("%s", err.text);
	return c;
}

static void take_lead(struct controller *c)
{
	struct err err = { "" };

	if (store_lead_try(c->lead, &err) != 1)
		fail_msg("does not lead: %s", err.text);
	if (store_open(store_lead_place(c->lead), &c->store, &err) < 0)
		fail_msg("%s", err.text);
	store_lead_guard(c->lead, c->store, on_lost, c);
}

static void close_controller(struct controller *c)
{
	c->store = store_close(c->store);
	c->lead = store_lead_close(c->lead);
}

static int write_one(struct controller *c, struct err *err)
{
	struct db *d = c->store->db;
	int r = db_begin(d, err);

	if (r < 0)
		return r;
	r = db_run(d, err, "INSERT INTO meta VALUES(?1, 'x')", "t", err->text);
	return r < 0 ? r : db_commit(d, err);
}

static int64_t count_written(struct controller *c)
{
	struct db_row *row;
	int64_t n;

	assert_int_equal(db_query(c->store->db, NULL, &row,
				  "SELECT COUNT(*) FROM meta WHERE value = 'x'", ""),
			 0);
	assert_int_equal(db_step(c->store->db, row, NULL), 1);
	n = db_int(row, 0);
	db_done(row);
	return n;
}

/* The other one tries until it leads; at most 20 s. */
static void wait_for(struct controller *c)
{
	const struct timespec pause = { 0, 50000000 };
	struct err err = { "" };
	int r = 0;

	for (int i = 0; i < 400 && r != 1; i++) {
		r = store_lead_try(c->lead, &err);
		if (r < 0)
			fail_msg("%s", err.text);
		if (r == 0)
			nanosleep(&pause, NULL);
	}
	assert_int_equal(r, 1);
	if (store_open(store_lead_place(c->lead), &c->store, &err) < 0)
		fail_msg("%s", err.text);
	store_lead_guard(c->lead, c->store, on_lost, c);
}

static void one_leads_and_the_other_is_told_who(void **state)
{
	struct controller a = open_controller(60), b = open_controller(60);
	struct err err = { "" };

	(void)state;
	take_lead(&a);
	for (int i = 0; i < 5; i++) {
		assert_int_equal(store_lead_try(b.lead, &err), 0);
		assert_int_equal(store_lead_keep(a.lead, &err), 1);
	}
	assert_non_null(strstr(store_lead_who(b.lead), "at here, process"));
	assert_int_equal(write_one(&a, &err), 0);
	close_controller(&a);
	wait_for(&b); /* no lease is waited for */
	close_controller(&b);
}

/* The heart of it: nothing of an earlier epoch is written, however late it comes. */
static void what_a_former_leader_writes_is_refused(void **state)
{
	struct controller a = open_controller(1), b = open_controller(1);
	struct err err = { "first" };
	int r;

	(void)state;
	take_lead(&a);
	assert_int_equal(write_one(&a, &err), 0);
	wait_for(&b); /* a does not keep its lead */
	assert_int_equal(count_written(&b), 1);
	strcpy(err.text, "late");
	r = write_one(&a, &err);
	if (r == -EIO) { /* its connection was ended; on a new one it is still refused */
		strcpy(err.text, "late");
		r = write_one(&a, &err);
	}
	assert_int_equal(r, -EOWNERDEAD);
	assert_non_null(strstr(err.text, "another controller leads now: "));
	assert_int_equal(a.n_lost, 1);
	assert_int_equal(count_written(&b), 1);
	assert_int_equal(store_lead_keep(a.lead, &err), 0);
	strcpy(err.text, "second");
	if (write_one(&b, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(store_lead_keep(b.lead, &err), 1);
	close_controller(&a);
	close_controller(&b);
}

/* Put out between the first and the last statement: none of them is kept, and the new leader
 * does not wait for the old one. */
static void a_transaction_under_way_ends_with_its_leader(void **state)
{
	struct controller a = open_controller(1), b = open_controller(1);
	struct err err = { "new" };

	(void)state;
	take_lead(&a);
	assert_int_equal(db_begin(a.store->db, &err), 0);
	assert_int_equal(db_run(a.store->db, &err, "INSERT INTO meta VALUES('half', 'x')", ""),
			 0);
	wait_for(&b);
	strcpy(err.text, "new");
	assert_int_equal(write_one(&b, &err), 0);
	assert_true(db_commit(a.store->db, &err) < 0);
	assert_int_equal(count_written(&b), 1);
	close_controller(&a);
	close_controller(&b);
}

/* A lock without its leader's name: stopped between the two. It is put out all the same. */
static void whoever_holds_the_lock_and_does_not_move_is_put_out(void **state)
{
	struct controller b = open_controller(1);
	struct err err = { "" };
	PGconn *c = PQconnectdb(place);

	(void)state;
	PQclear(PQexec(c, "SELECT pg_advisory_lock(1919247735, hashtext(current_schema()))"));
	assert_int_equal(store_lead_try(b.lead, &err), 0);
	wait_for(&b);
	assert_int_equal(store_lead_keep(b.lead, &err), 1);
	close_controller(&b);
	PQfinish(c);
}

/* The server drops all connections: the leader goes on, unless another took over meanwhile. */
static void a_leader_whose_connections_were_cut_goes_on(void **state)
{
	struct controller a = open_controller(60);
	struct err err = { "" };
	int r = 0;

	(void)state;
	take_lead(&a);
	pg_admin("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> "
		 "pg_backend_pid() AND backend_type = 'client backend'");
	for (int i = 0; i < 3 && r != 1; i++)
		r = store_lead_keep(a.lead, &err);
	assert_int_equal(r, 1);
	strcpy(err.text, "x");
	r = write_one(&a, &err);
	if (r < 0) {
		strcpy(err.text, "x");
		r = write_one(&a, &err);
	}
	assert_int_equal(r, 0);
	assert_int_equal(a.n_lost, 0);
	close_controller(&a);
}

/* Each ledger has its own leader: another schema is another ledger. */
static void ledgers_beside_each_other_have_each_its_leader(void **state)
{
	struct controller a = open_controller(60), b;
	struct err err = { "" };

	take_lead(&a);
	set_up(state);
	b = open_controller(60);
	take_lead(&b);
	assert_int_equal(store_lead_keep(a.lead, &err), 1);
	assert_int_equal(write_one(&a, &err), 0);
	close_controller(&a);
	close_controller(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(one_leads_and_the_other_is_told_who, set_up),
		cmocka_unit_test_setup(what_a_former_leader_writes_is_refused, set_up),
		cmocka_unit_test_setup(a_transaction_under_way_ends_with_its_leader, set_up),
		cmocka_unit_test_setup(whoever_holds_the_lock_and_does_not_move_is_put_out,
				       set_up),
		cmocka_unit_test_setup(a_leader_whose_connections_were_cut_goes_on, set_up),
		cmocka_unit_test_setup(ledgers_beside_each_other_have_each_its_leader, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
