/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_lead - one controller leads a ledger in a file, by a lock that ends with its process. (PostgreSQL:
 * tests/cluster/lib/pg_lead.c.) Locks belong to open files, so that one process can be two controllers. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "common/err.h"
#include "controller/ledger/lead.h"
#include "controller/ledger/store_sqlite.h"

static char dir[] = "/tmp/reeve-test-lead-XXXXXX", path[64], lock[80];

static int make_dir(void **unused)
{
	(void)unused;
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/ledger.db", dir);
	snprintf(lock, sizeof(lock), "%s.lead", path);
	return 0;
}

static int drop_dir(void **unused)
{
	char command[128];

	(void)unused;
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	return system(command);
}

static struct store_lead *open_lead(void)
{
	const struct store_lead_config c = { path, "here:8640", 15 };
	struct store_lead *l;
	struct err err = { "" };

	if (store_lead_open(&c, &l, &err) < 0)
		fail_msg("%s", err.text);
	return l;
}

static void one_controller_leads_until_it_ends(void **unused)
{
	struct store_lead *a = open_lead(), *b = open_lead();
	char mine[64];

	(void)unused;
	assert_int_equal(store_lead_try(a, NULL), 1);
	for (int i = 0; i < 3; i++)
		assert_int_equal(store_lead_try(b, NULL), 0);
	snprintf(mine, sizeof(mine), " at here:8640, process %d, up since ", (int)getpid());
	assert_non_null(strstr(store_lead_who(b), mine));
	assert_int_equal(store_lead_keep(a, NULL), 1);
	store_lead_close(a);
	assert_int_equal(store_lead_try(b, NULL), 1);
	store_lead_close(b);
}

static int write_one(struct store *s, const char *key)
{
	struct err err = { "" };
	int r = db_begin(s->db, &err);

	if (r < 0)
		return r;
	r = db_run(s->db, &err, "INSERT INTO meta VALUES(?1, 'x')", "t", key);
	assert_int_equal(r, 0);
	return db_commit(s->db, &err);
}

static void count_call(void *ctx)
{
	++*(int *)ctx;
}

static void a_controller_that_lost_its_lock_writes_nothing(void **unused)
{
	struct store_lead *a = open_lead(), *b = open_lead();
	struct store *s;
	int n_lost = 0;

	(void)unused;
	assert_int_equal(store_lead_try(a, NULL), 1);
	assert_int_equal(store_open(store_lead_place(a), &s, NULL), 0);
	store_lead_guard(a, s, count_call, &n_lost);
	assert_int_equal(write_one(s, "k1"), 0);
	assert_int_equal(unlink(lock), 0);
	assert_int_equal(write_one(s, "k2"), -EOWNERDEAD);
	assert_int_equal(n_lost, 1);
	assert_int_equal(store_lead_keep(a, NULL), 0);
	assert_int_equal(store_lead_try(b, NULL), 1);
	assert_int_equal(store_lead_keep(b, NULL), 1);
	assert_int_equal(write_one(s, "k3"), -EOWNERDEAD); /* nor by the other's lock */
	assert_int_equal(store_lead_try(a, NULL), 0);
	store_close(s);
	store_lead_close(a);
	store_lead_close(b);
}

static void an_unusable_ledger_is_an_error_with_its_reason(void **unused)
{
	const struct store_lead_config c = { "/nonexistent/ledger.db", "here", 15 };
	struct store_lead *l;
	struct err err = { "" };

	(void)unused;
	assert_int_equal(store_lead_open(&c, &l, &err), -ENOENT);
	assert_non_null(strstr(err.text, "/nonexistent/ledger.db.lead"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_controller_leads_until_it_ends),
		cmocka_unit_test(a_controller_that_lost_its_lock_writes_nothing),
		cmocka_unit_test(an_unusable_ledger_is_an_error_with_its_reason),
	};

	return cmocka_run_group_tests(tests, make_dir, drop_dir);
}
