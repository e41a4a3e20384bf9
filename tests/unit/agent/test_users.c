/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_users - which users' jobs a node refuses, whatever the controller sends. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "agent/config.h"
#include "agent/users.h"
#include "common/cleanup.h"
#include "common/err.h"

static struct users open_users(const char *users, const char *groups)
{
	struct agent_config conf = { .min_uid = 1000,
				     .min_gid = 1000,
				     .refused_users = (char *)users,
				     .refused_groups = (char *)groups };
	struct users u = { 0 };
	struct err err = { "" };

	if (users_open(&conf, &u, &err) < 0)
		fail_msg("%s", err.text);
	return u;
}

static void assert_refused(const struct users *u, struct users_who who, const char *words)
{
	char buf[USERS_TEXT_MAX];
	const char *why = users_refuse(u, &who, buf);

	if (!words) {
		assert_null(why);
		return;
	}
	assert_non_null(why);
	if (!strstr(why, words))
		fail_msg("'%s' is not in '%s'", words, why);
}

static void root_and_users_below_the_least_uid_or_gid_are_refused(void **state)
{
	struct users u = open_users(NULL, NULL);

	(void)state;
	assert_refused(&u, (struct users_who){ .uid = 1000, .gid = 1000 }, NULL);
	assert_refused(&u, (struct users_who){ .uid = 999, .gid = 1000 }, "MinUid, 1000");
	assert_refused(&u, (struct users_who){ .uid = 1000, .gid = 999 }, "MinGid, 1000");
	u.min_uid = u.min_gid = 1;
	assert_refused(&u, (struct users_who){ .uid = 1, .gid = 1 }, NULL);
	assert_refused(&u, (struct users_who){ .uid = 0, .gid = 1 }, "jobs of root");
	assert_refused(&u, (struct users_who){ .uid = 1, .gid = 0 }, "jobs of root");
	assert_refused(&u, (struct users_who){ .uid = UINT32_MAX, .gid = 1 }, "is no user");
	assert_refused(&u, (struct users_who){ .uid = 1, .gid = UINT32_MAX }, "is no user");
	u.min_uid = 0; /* whatever was configured */
	assert_refused(&u, (struct users_who){ .uid = 0, .gid = 1 }, "jobs of root");
}

static void listed_users_and_members_of_listed_groups_are_refused(void **state)
{
	static const uint32_t groups[] = { 5000, 4001 };
	struct users u = open_users("4001, daemon", "4001,daemon");

	(void)state;
	assert_int_equal(u.refused.n, 2);
	assert_int_equal(u.refused.at[1], 1); /* daemon, on every Debian */
	assert_refused(&u, (struct users_who){ .uid = 4001, .gid = 5000 }, "RefusedUsers");
	assert_refused(&u, (struct users_who){ .uid = 5000, .gid = 4001 }, "RefusedGroups");
	assert_refused(
		&u,
		(struct users_who){ .uid = 5000, .gid = 5000, .groups = groups, .n_groups = 2 },
		"member of group 4001");
	assert_refused(
		&u,
		(struct users_who){ .uid = 5000, .gid = 5000, .groups = groups, .n_groups = 1 },
		NULL);
	users_done(&u);
}

static void an_unknown_user_or_group_in_a_list_is_an_error(void **state)
{
	static const char *const bad[] = { "no-such-user-here", "4294967295", "99999999999" };
	struct agent_config conf = { .min_uid = 1000 };
	struct users u;
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		conf.refused_users = (char *)bad[i];
		conf.refused_groups = NULL;
		assert_true(users_open(&conf, &u, &err) < 0);
		assert_non_null(strstr(err.text, "RefusedUsers"));
		conf.refused_users = NULL;
		conf.refused_groups = (char *)bad[i];
		assert_true(users_open(&conf, &u, &err) < 0);
		assert_non_null(strstr(err.text, "RefusedGroups"));
	}
}

static void groups_are_looked_up(void **state)
{
	struct users u = open_users(NULL, "daemon");
	char buf[USERS_TEXT_MAX];

	(void)state;
	u.min_uid = u.min_gid = 1;
	assert_non_null(users_check(&u, 1, 1, buf));
	assert_null(users_check(&u, 2, 2, buf));
	assert_null(users_check(&u, 123456, 123456, buf)); /* no such user */
	users_done(&u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(root_and_users_below_the_least_uid_or_gid_are_refused),
		cmocka_unit_test(listed_users_and_members_of_listed_groups_are_refused),
		cmocka_unit_test(an_unknown_user_or_group_in_a_list_is_an_error),
		cmocka_unit_test(groups_are_looked_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
