/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_starts - what was signed once starts once on a node, through restarts and repeats. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "agent/report/starts.h"
#include "agent/report/store.h"
#include "common/db/db.h"
#include "common/err.h"

static char dir[] = "/tmp/reeve-starts-XXXXXX", path[96];
static struct db *db;

static void open_db(void)
{
	struct err err = { "" };

	if (store_open(path, &db, &err) < 0)
		fail_msg("%s", err.text);
}

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/agent.db", dir);
	open_db();
	return 0;
}

static int tear_down(void **state)
{
	char command[128];

	(void)state;
	db = db_close(db);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

static int look_up(struct start s, int64_t *ret)
{
	struct err err = { "" };
	int r = starts_look(db, &s, ret, &err);

	if (r < 0)
		fail_msg("%s", err.text);
	return r;
}

static void keep_start(struct start s, int64_t forget_s)
{
	struct err err = { "" };

	if (starts_keep(db, &s, forget_s, &err) < 0)
		fail_msg("%s", err.text);
}

static void a_job_starts_once_and_again_only_as_a_later_attempt(void **state)
{
	struct start s = { .nonce = "job", .base = 12, .job = 12, .attempt = 1, .made_s = 100 };
	int64_t was = 0;

	(void)state;
	assert_int_equal(look_up(s, &was), 0);
	keep_start(s, 0);
	assert_int_equal(look_up(s, &was), STARTS_AGAIN);
	assert_int_equal(was, 1);
	db = db_close(db); /* the agent was ended and comes back */
	open_db();
	assert_int_equal(look_up(s, &was), STARTS_AGAIN);
	s.attempt = 2;
	assert_int_equal(look_up(s, &was), 0);
	keep_start(s, 0);
	s.attempt = 1;
	assert_int_equal(look_up(s, &was), STARTS_AGAIN);
	assert_int_equal(was, 2);
	s = (struct start){ .nonce = "job", .base = 13, .job = 13, .attempt = 1 };
	assert_int_equal(look_up(s, &was), STARTS_ANOTHER);
	assert_int_equal(was, 12);
}

static void an_array_starts_each_of_its_tasks_once(void **state)
{
	struct start s = { .nonce = "array", .base = 20, .job = 21, .attempt = 1 };
	int64_t was = 0;

	(void)state;
	keep_start(s, 0);
	s.job = 22;
	assert_int_equal(look_up(s, &was), 0);
	keep_start(s, 0);
	assert_int_equal(look_up(s, &was), STARTS_AGAIN);
	s.base = 30, s.job = 31;
	assert_int_equal(look_up(s, &was), STARTS_ANOTHER);
	assert_int_equal(was, 20);
}

static void a_step_is_one_of_one_job(void **state)
{
	struct start s = {
		.nonce = "step", .base = 12, .job = 12, .step = 3, .attempt = 1, .made_s = 100
	};
	int64_t was = 0;

	(void)state;
	keep_start(s, 0);
	assert_int_equal(look_up(s, &was), STARTS_AGAIN);
	s.step = 4;
	assert_int_equal(look_up(s, &was), STARTS_ANOTHER);
	assert_int_equal(was, 3);
}

static void a_used_signature_is_forgotten_only_after_it_expired(void **state)
{
	struct start old = { .nonce = "old", .base = 1, .job = 1, .attempt = 1, .made_s = 50 };
	struct start s = { .nonce = "new", .base = 2, .job = 2, .attempt = 1, .made_s = 100 };
	int64_t was;

	(void)state;
	keep_start(old, 0);
	keep_start(s, 50);
	assert_int_equal(look_up(old, &was), STARTS_AGAIN);
	s.nonce = "newer";
	keep_start(s, 51);
	assert_int_equal(look_up(old, &was), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_job_starts_once_and_again_only_as_a_later_attempt),
		cmocka_unit_test(an_array_starts_each_of_its_tasks_once),
		cmocka_unit_test(a_step_is_one_of_one_job),
		cmocka_unit_test(a_used_signature_is_forgotten_only_after_it_expired),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
