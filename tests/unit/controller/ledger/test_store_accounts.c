/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_store_accounts - the ledger stores applied accounts with their author, and nothing of a refused change. */
#include <errno.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "controller/ledger/accounts/accounts.h"
#include "tests/unit/rig/fail_vfs.h"
#include "tests/unit/rig/ledger_rig.h"

static const char *const states[] = {
	"[Account a]\nUsers = x\n",
	"[Account a]\nUsers = x=2, y\nShares = 3\nCoordinators = y\n",
	"",
	"[Account a]\nUsers = y=parent\nParent = b\n[Account b]\nParent = c\n[Account c]\n",
	"[Account physics]\nUsers = alice\nDescription = it's \"quoted\"; so what\n"
	"[Allocation physics/1]\nAmount = 2.25\nFrom = 2026-01-01\nTo = 2026-02-01\n",
};

static struct accounts *parse_accounts(const char *text)
{
	struct accounts *a = NULL;

	assert_int_equal(accounts_parse(text, strlen(text), "test", &a, NULL), 0);
	return a;
}

static void assert_same(const struct accounts *a, const struct accounts *b)
{
	_cleanup_free_ char *ta = NULL, *tb = NULL;

	assert_int_equal(accounts_write(a, &ta, NULL), 0);
	assert_int_equal(accounts_write(b, &tb, NULL), 0);
	assert_string_equal(ta, tb);
}

static int apply_change(struct rig *r, const struct accounts *from, const struct accounts *to,
			int64_t *revision)
{
	_cleanup_(accounts_diff_freep) struct accounts_diff *d = NULL;
	struct store_accounts_change c = { .author = "op", .now_ns = NOON };

	assert_int_equal(accounts_diff(from, to, &d, NULL), 0);
	/* The order of changes means nothing: every other time backwards. */
	for (size_t i = 0; *revision % 2 && i < d->n / 2; i++) {
		struct accounts_change change = d->changes[i];

		d->changes[i] = d->changes[d->n - 1 - i];
		d->changes[d->n - 1 - i] = change;
	}
	c.diff = d;
	c.revision = *revision;
	return store_accounts_apply(r->store, &c, revision, NULL);
}

/* By steps from each state to each other one, with the ledger reopened in between. */
static void applied_accounts_are_loaded_unchanged(void **state)
{
	struct rig *r = *state;
	int64_t revision = -1, expected = 0;
	struct accounts *now = NULL;

	assert_int_equal(store_accounts_load(r->store, &now, &revision, NULL), 0);
	assert_int_equal(revision, 0);
	assert_int_equal(now->n_accounts, 0);
	for (size_t i = 0; i < ARRAY_LEN(states) * ARRAY_LEN(states); i++) {
		struct accounts *to =
			parse_accounts(states[(i % ARRAY_LEN(states) + i / ARRAY_LEN(states)) %
					      ARRAY_LEN(states)]);
		_cleanup_(accounts_diff_freep) struct accounts_diff *d = NULL;

		assert_int_equal(accounts_diff(now, to, &d, NULL), 0);
		expected += d->n > 0;
		assert_int_equal(apply_change(r, now, to, &revision), 0);
		assert_int_equal(revision, expected);
		now = accounts_free(now);
		rig_reopen(r);
		assert_int_equal(store_accounts_load(r->store, &now, &revision, NULL), 0);
		assert_int_equal(revision, expected);
		assert_same(now, to);
		accounts_free(to);
	}
	accounts_free(now);
}

static void a_stale_change_changes_nothing(void **state)
{
	struct rig *r = *state;
	_cleanup_(accounts_freep) struct accounts *a = parse_accounts(states[0]);
	_cleanup_(accounts_freep) struct accounts *b = parse_accounts(states[1]);
	_cleanup_(accounts_freep) struct accounts *c = parse_accounts(states[3]);
	_cleanup_(accounts_freep) struct accounts *now = NULL;
	int64_t revision = 0, stale = 0, made_up = 7;

	assert_int_equal(apply_change(r, NULL, a, &revision), 0);
	assert_int_equal(apply_change(r, NULL, b, &stale), -EBUSY);
	assert_int_equal(apply_change(r, NULL, b, &made_up), -EBUSY);
	/* The right revision, but a difference from something else: refused in the middle. */
	assert_int_equal(apply_change(r, b, c, &revision), -EBUSY);
	assert_int_equal(revision, 1);
	rig_reopen(r);
	assert_int_equal(store_accounts_load(r->store, &now, &revision, NULL), 0);
	assert_same(now, a);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM accounts_log"), 4);
}

struct seen {
	int n;
	char text[512];
};

static int on_entry(void *ctx, const struct store_accounts_entry *e, struct err *err)
{
	struct seen *s = ctx;
	size_t n = strlen(s->text);

	(void)err;
	s->n++;
	snprintf(s->text + n, sizeof(s->text) - n, "%d %s %s %s %s %s %s>%s|", (int)e->revision,
		 e->author, accounts_change_op_name(e->change.op), e->change.name,
		 e->change.key ? e->change.key : "-", e->change.item ? e->change.item : "-",
		 e->change.old_value ? e->change.old_value : "-",
		 e->change.new_value ? e->change.new_value : "-");
	return 0;
}

static void the_log_says_what_was_and_who_changed_it(void **state)
{
	struct rig *r = *state;
	_cleanup_(accounts_freep) struct accounts *a = parse_accounts(states[0]);
	_cleanup_(accounts_freep) struct accounts *b =
		parse_accounts("[Account a]\nUsers = x=5\n");
	struct seen seen = { 0 };
	int64_t revision = 0;

	assert_int_equal(apply_change(r, NULL, a, &revision), 0);
	assert_int_equal(apply_change(r, a, b, &revision), 0);
	assert_int_equal(apply_change(r, b, NULL, &revision), 0);
	assert_int_equal(store_accounts_log(r->store, &(struct store_accounts_page){ 6, 2 },
					    on_entry, &seen, NULL),
			 0);
	assert_int_equal(seen.n, 2);
	assert_string_equal(seen.text, "2 op set a Users x 1>5|1 op add a Users x ->1|");
	memset(&seen, 0, sizeof(seen));
	assert_int_equal(store_accounts_log(r->store, &(struct store_accounts_page){ 0, 100 },
					    on_entry, &seen, NULL),
			 0);
	assert_int_equal(seen.n, 9);
}

static void a_removed_account_is_known_as_such(void **state)
{
	struct rig *r = *state;
	_cleanup_(accounts_freep) struct accounts *a =
		parse_accounts("[Account physics]\nUsers = u\n");
	struct store_accounts_removal removal;
	struct store_accounts_active active;
	int64_t revision = 0, job = rig_job(r, NOON);

	assert_int_equal(apply_change(r, NULL, a, &revision), 0);
	assert_int_equal(store_accounts_removed(r->store, "physics", &removal, NULL), 1);
	assert_int_equal(apply_change(r, a, NULL, &revision), 0);
	assert_int_equal(store_accounts_removed(r->store, "physics", &removal, NULL), 0);
	assert_int_equal(removal.at_ns, NOON);
	assert_string_equal(removal.author, "op");
	assert_int_equal(store_accounts_removed(r->store, "other", &removal, NULL), 1);
	/* Its job goes on and is charged. */
	assert_int_equal(store_accounts_active(r->store, "physics", &active, NULL), 0);
	assert_int_equal(active.running, 1);
	assert_int_equal(active.queued, 0);
	rig_send_report(r, rig_report(job, 1, JOB_RUNNING, 10), NOON + 10 * S_NS);
	assert_int_equal(rig_load_job(r, job).charge_requested_ms, 25000);
}

static void inconsistent_rows_of_accounts_are_reported(void **state)
{
	struct rig *r = *state;
	struct accounts *a = NULL;
	struct err err = { "" };
	int64_t revision;
	sqlite3 *db;

	if (!rig_is_sqlite())
		skip();
	assert_int_equal(sqlite3_open_v2(r->path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db,
				      "INSERT INTO accounts VALUES('Account', 'a', '', '', ''),"
				      " ('Account', 'a', 'Parent', '', 'gone')",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	sqlite3_close(db);
	assert_int_equal(store_accounts_load(r->store, &a, &revision, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "the accounts in the ledger"));
	assert_non_null(strstr(err.text, "there is no [Account gone]"));
}

static bool is_same(const struct accounts *a, const struct accounts *b)
{
	_cleanup_(accounts_diff_freep) struct accounts_diff *d = NULL;

	assert_int_equal(accounts_diff(a, b, &d, NULL), 0);
	return d->n == 0;
}

/* For every n: the n-th change on disk fails, and all after it. The accounts are then those
 * from before, or those from after it, with the log that belongs to them; and what was
 * acknowledged is there. */
static void no_failure_of_the_disk_leaves_half_a_change(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = parse_accounts(states[1]);
	_cleanup_(accounts_freep) struct accounts *b = parse_accounts(states[3]);
	int failures = 0;

	(void)state;
	if (!rig_is_sqlite())
		skip();
	fail_vfs_install();
	for (int n = 1;; n++) {
		_cleanup_(accounts_freep) struct accounts *now = NULL;
		int64_t revision = 0, wanted;
		void *own = NULL;
		struct rig *r;
		int rc;

		assert_int_equal(rig_open(&own), 0);
		r = own;
		assert_int_equal(apply_change(r, NULL, a, &revision), 0);
		fail_vfs_at(n);
		rc = apply_change(r, a, b, &revision);
		if (!fail_vfs_off()) {
			assert_int_equal(rc, 0);
			rig_close(&own);
			break;
		}
		failures += rc < 0;
		rig_reopen(r);
		assert_int_equal(store_accounts_load(r->store, &now, &revision, NULL), 0);
		wanted = is_same(now, b) ? 2 : 1;
		assert_true(rc < 0 || wanted == 2);
		assert_int_equal(revision, wanted);
		assert_true(wanted == 2 || is_same(now, a));
		if (wanted == 1)
			assert_int_equal(apply_change(r, a, b, &revision), 0);
		rig_close(&own);
	}
	assert_true(failures >= 2);
}

int main(void)
{
#define RIGGED(test) cmocka_unit_test_setup_teardown(test, rig_open, rig_close)
	const struct CMUnitTest tests[] = {
		RIGGED(applied_accounts_are_loaded_unchanged),
		RIGGED(a_stale_change_changes_nothing),
		RIGGED(the_log_says_what_was_and_who_changed_it),
		RIGGED(a_removed_account_is_known_as_such),
		RIGGED(inconsistent_rows_of_accounts_are_reported),
		cmocka_unit_test(no_failure_of_the_disk_leaves_half_a_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
