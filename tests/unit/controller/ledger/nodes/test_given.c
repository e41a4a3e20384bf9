/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_given - the lists of what nodes have open are kept until something of them changes (given_kept.h), and never longer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "common/cleanup.h"
#include "common/err.h"
#include "controller/ledger/nodes/given/given.h"
#include "controller/ledger/nodes/given/given_kept.h"
#include "controller/ledger/store_sqlite.h"
#include "tests/unit/rig/parts_rig.h"

static bool is_kept(struct rig *r, const char *node)
{
	_cleanup_(store_given_putp) struct store_given_list *l =
		store_given_kept_find(r->store, node);

	return l != NULL;
}

/* What the node has, a line of figures for each. */
static void list_of(struct rig *r, const char *node, char *ret, size_t size)
{
	_cleanup_(store_given_putp) struct store_given_list *l = NULL;
	size_t n = 0;

	assert_int_equal(store_given_get(r->store, node, &l, NULL), 0);
	*ret = '\0';
	for (size_t i = 0; i < l->n; i++) {
		const struct store_given *g = &l->rows[i];
		const struct store_desired *d = &g->desired;

		n += (size_t)snprintf(
			ret + n, size - n,
			"%lld/%d want %d state %d part %d/%d cores %lld shown %d missing %d due %d '%s' '%s'\n",
			(long long)d->job, d->attempt, d->want, d->state, d->part.index,
			d->part.n, (long long)d->share.ncpus, g->is_shown, g->missing_ns != 0,
			g->is_due, d->reason, d->part.hosts);
	}
}

/* What is kept of every node is what the ledger has; after it all are kept. */
static void check_all(struct rig *r)
{
	static const char *const names[] = { "n1", "n2", "n3" };
	char kept[3][1024], read[1024];

	for (int i = 0; i < 3; i++)
		list_of(r, names[i], kept[i], sizeof(kept[i]));
	store_forget_all_given(r->store);
	for (int i = 0; i < 3; i++) {
		assert_false(is_kept(r, names[i]));
		list_of(r, names[i], read, sizeof(read));
		assert_string_equal(kept[i], read);
		assert_true(is_kept(r, names[i]));
	}
}

static void a_list_is_kept_until_its_job_changes(void **state)
{
	struct rig *r = *state;
	int64_t job = rig_job(r, NOON);
	char was[1024], is[1024];

	rig_send_report(r, rig_report(job, 1, JOB_RUNNING, 0), NOON);
	list_of(r, "n1", was, sizeof(was));
	assert_true(is_kept(r, "n1"));
	/* It runs on: nothing that the node is to do changes. */
	rig_send_report(r, rig_report(job, 2, JOB_RUNNING, 60), NOON + 60 * S_NS);
	assert_true(is_kept(r, "n1"));
#if !defined(__SANITIZE_ADDRESS__)
	/* A write that says nothing of it shows that the query is not made again. */
	assert_int_equal(db_run(r->store->db, NULL, "UPDATE jobs SET want_reason = 'x'", ""),
			 0);
	list_of(r, "n1", is, sizeof(is));
	assert_string_equal(is, was);
#endif
	store_announce_job(r->store, job + 1);
	assert_true(is_kept(r, "n1"));
	store_announce_job(r->store, job);
	assert_false(is_kept(r, "n1"));
	assert_int_equal(db_run(r->store->db, NULL, "UPDATE jobs SET want_reason = 'y'", ""),
			 0);
	list_of(r, "n1", is, sizeof(is));
	assert_non_null(strstr(is, "'y'"));
	store_forget_given(r->store, "n2");
	assert_true(is_kept(r, "n1"));
	store_forget_given(r->store, "n1");
	assert_false(is_kept(r, "n1"));
}

static void a_list_of_a_transaction_that_is_rolled_back_is_forgotten(void **state)
{
	struct rig *r = *state;
	int64_t job = rig_job(r, NOON);
	char was[1024], is[1024];

	list_of(r, "n1", was, sizeof(was));
	list_of(r, "n2", is, sizeof(is));
	assert_int_equal(store_begin(r->store, NULL), 0);
	assert_int_equal(store_commit(r->store, NULL), 0);
	assert_int_equal(store_begin(r->store, NULL), 0);
	assert_int_equal(db_run(r->store->db, NULL, "UPDATE jobs SET want_reason = 'stop'", ""),
			 0);
	store_announce_job(r->store, job);
	list_of(r, "n1", is, sizeof(is));
	assert_non_null(strstr(is, "'stop'"));
	list_of(r, "n3", is, sizeof(is));
	store_rollback(r->store);
	assert_false(is_kept(r, "n1"));
	assert_true(is_kept(r, "n2"));	/* read before, and nothing of it has changed */
	assert_false(is_kept(r, "n3")); /* read in it */
	list_of(r, "n1", is, sizeof(is));
	assert_string_equal(is, was);
}

static void an_answer_that_was_asked_for_before_a_change_is_not_kept(void **state)
{
	struct rig *r = *state;
	_cleanup_(store_given_putp) struct store_given_list *l = NULL;
	int64_t job = rig_job(r, NOON);

	assert_int_equal(store_given_get(r->store, "n1", &l, NULL), 0);
	store_forget_all_given(r->store);
	store_given_kept_ask(r->store, "n1");
	store_given_kept_add(r->store, l);
	assert_true(is_kept(r, "n1"));
	store_forget_given(r->store, "n1");
	store_given_kept_ask(r->store, "n1");
	store_announce_job(r->store, job + 7); /* n1 may have been allocated it */
	store_given_kept_add(r->store, l);
	assert_false(is_kept(r, "n1"));
	/* The next one was not asked ahead. */
	store_given_kept_add(r->store, l);
	assert_true(is_kept(r, "n1"));
}

static void lists_follow_all_that_a_job_goes_through(void **state)
{
	struct rig *r = *state;
	int64_t job = parts_submit(r, true), at_ns = NOON, second;

	for (int i = 0; i < 3; i++)
		parts_sync_empty(r, i, at_ns);
	check_all(r);
	parts_allocate(r, job, at_ns);
	check_all(r);
	for (int i = 2; i >= 0; i--) {
		parts_list_job(r, i, job, JOB_STARTING, at_ns);
		check_all(r);
		parts_list_job(r, i, job, JOB_RUNNING, at_ns);
		check_all(r);
	}
	for (int i = 0; i < 3; i++) {
		parts_send_report(r, i, parts_report(job, 1, JOB_RUNNING, 1), at_ns + S_NS);
		check_all(r);
	}
	parts_set_desired(r, job, DESIRED_SUSPEND, 0);
	check_all(r);
	parts_set_desired(r, job, DESIRED_RUN, 0);
	check_all(r);
	/* A node's list lacks it, shows it again, and lacks it for too long: the job is queued again. */
	at_ns += 60 * S_NS;
	parts_sync_empty(r, 1, at_ns);
	check_all(r);
	parts_list_job(r, 1, job, JOB_RUNNING, at_ns + S_NS);
	check_all(r);
	for (int i = 0; i < 3; i++) {
		parts_sync_empty(r, 1, at_ns + i * 60 * S_NS);
		check_all(r);
	}
	/* The others end it. */
	at_ns += 240 * S_NS;
	for (int i = 2; i >= 0; i -= 2) {
		parts_send_report(r, i, parts_ended(job, 2, END_CANCELLED, 2), at_ns);
		check_all(r);
	}
	second = rig_job(r, at_ns);
	check_all(r);
	parts_set_desired(r, second, DESIRED_CANCEL, 0);
	check_all(r);
	rig_send_report(r, parts_ended(second, 1, END_CANCELLED, 0), at_ns);
	check_all(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, rig_open, rig_close)
		TEST(a_list_is_kept_until_its_job_changes),
		TEST(a_list_of_a_transaction_that_is_rolled_back_is_forgotten),
		TEST(an_answer_that_was_asked_for_before_a_change_is_not_kept),
		TEST(lists_follow_all_that_a_job_goes_through),
	};

	return cmocka_run_group_tests_name("given", tests, NULL, NULL);
}
