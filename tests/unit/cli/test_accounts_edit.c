/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_accounts_edit - single changes as they are typed: what each does, and what it refuses.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "cli/admin/accounts_edit.h"
#include "common/err.h"

static const char site[] = "[Account physics]\n"
			   "Shares = 20\n"
			   "Users = alice=5, bob\n"
			   "Clusters = narval\n"
			   "MaxRunningJobs = 9\n"
			   "[Account physics2]\n"
			   "Users = bob\n"
			   "[Allocation physics/2026]\n"
			   "Amount = 1\n"
			   "From = 2026-01-01\n"
			   "To = 2027-01-01\n"
			   "[Association physics/bob]\n"
			   "MaxRunningJobs = 3\n";

static int try_edit(const char *from, enum accounts_edit_kind kind, const char *typed,
		    char **ret)
{
	_cleanup_(accounts_freep) struct accounts *now = NULL, *new = NULL;
	_cleanup_free_ char *copy = strdup(typed);
	char *args[8] = { NULL }, *rest = copy;
	struct err err = { "" };
	int r;

	*ret = NULL;
	for (size_t i = 0; i < 7 && rest; i++)
		args[i] = strsep(&rest, " ");
	assert_int_equal(accounts_parse(from, strlen(from), "from", &now, NULL), 0);
	r = accounts_edit(now, kind, args, &new, &err);
	assert_true(r == 0 || *err.text);
	assert_true((r == 0) == (new != NULL));
	if (new)
		assert_int_equal(accounts_write(new, ret, NULL), 0);
	return r;
}

/* The change makes what the file says. */
static void expect_file(enum accounts_edit_kind kind, const char *typed, const char *file)
{
	_cleanup_free_ char *got = NULL, *wanted = NULL;
	_cleanup_(accounts_freep) struct accounts *a = NULL;

	assert_int_equal(try_edit(site, kind, typed, &got), 0);
	assert_int_equal(accounts_parse(file, strlen(file), "wanted", &a, NULL), 0);
	assert_int_equal(accounts_write(a, &wanted, NULL), 0);
	assert_string_equal(got, wanted);
}

/* After the change these words are in the file, or with a leading ! are not. */
static void expect_words(enum accounts_edit_kind kind, const char *typed, const char *words)
{
	_cleanup_free_ char *got = NULL;
	bool is_not = *words == '!';

	assert_int_equal(try_edit(site, kind, typed, &got), 0);
	if (!strstr(got, words + is_not) != is_not)
		fail_msg("%s: %s in:\n%s", typed, words, got);
}

static void expect_refusal(enum accounts_edit_kind kind, const char *typed, int error)
{
	_cleanup_free_ char *got = NULL;
	int r = try_edit(site, kind, typed, &got);

	if (r != error)
		fail_msg("%s: %d, wanted %d", typed, r, error);
}

static void keys_are_set_and_taken_away(void **state)
{
	(void)state;
	expect_words(ACCOUNTS_EDIT_SET, "physics Shares=30", "Shares = 30");
	expect_words(ACCOUNTS_EDIT_SET, "account:physics Shares=parent", "Shares = parent");
	expect_words(ACCOUNTS_EDIT_SET, "physics MaxRunningJobs=", "!MaxRunningJobs = 9");
	expect_words(ACCOUNTS_EDIT_SET,
		     "physics Shares=", "[Account physics]\nParent = root\nShares = 1");
	expect_words(ACCOUNTS_EDIT_SET, "physics/bob MaxRunningJobs=4", "MaxRunningJobs = 4");
	expect_words(ACCOUNTS_EDIT_SET, "physics/alice MaxQueuedJobs=4",
		     "[Association physics/alice]\nMaxQueuedJobs = 4");
	expect_words(ACCOUNTS_EDIT_SET, "user:bob DefaultAccount=physics",
		     "[User bob]\nDefaultAccount");
	expect_words(ACCOUNTS_EDIT_SET, "queue:x MaxQueuedJobs=0",
		     "[QueueLimits x]\nMaxQueuedJobs = 0");
	expect_words(ACCOUNTS_EDIT_SET, "allocation:physics/2026 Amount=2.5", "Amount = 2.5");
	expect_refusal(ACCOUNTS_EDIT_SET, "ghost Shares=1", -ENOENT);
	expect_refusal(ACCOUNTS_EDIT_SET, "physics/eve Shares=1", -ENOENT);
	expect_refusal(ACCOUNTS_EDIT_SET, "allocation:physics/1 Amount=1", -ENOENT);
	expect_refusal(ACCOUNTS_EDIT_SET, "physics Sharez=1", -EINVAL);
	expect_refusal(ACCOUNTS_EDIT_SET, "physics Shares", -EINVAL);
	expect_refusal(ACCOUNTS_EDIT_SET, "physics =1", -EINVAL);
	expect_refusal(ACCOUNTS_EDIT_SET, "physics Shares+=1", -EINVAL);
	expect_refusal(ACCOUNTS_EDIT_SET, "physics/ Shares=1", -EINVAL);
	expect_refusal(ACCOUNTS_EDIT_SET, "physics Parent=physics", -EINVAL);
}

static void lists_are_set_added_to_and_taken_from(void **state)
{
	(void)state;
	expect_words(ACCOUNTS_EDIT_SET, "physics Users+=eve=7,dora",
		     "Users = alice=5, bob, dora, eve=7");
	expect_words(ACCOUNTS_EDIT_SET, "physics Users-=alice", "Users = bob");
	expect_words(ACCOUNTS_EDIT_SET, "physics Users+=alice=6", "Users = alice=6, bob");
	expect_words(ACCOUNTS_EDIT_SET, "physics Users=bob=2,eve", "Users = bob=2, eve");
	expect_words(ACCOUNTS_EDIT_SET, "physics/bob Shares=8", "Users = alice=5, bob=8");
	expect_words(ACCOUNTS_EDIT_SET, "physics Clusters=", "!Clusters");
	expect_words(ACCOUNTS_EDIT_SET, "physics Clusters+=beluga",
		     "Clusters = beluga, narval");
	expect_words(ACCOUNTS_EDIT_SET, "physics Coordinators=alice,bob",
		     "Coordinators = alice, bob");
	expect_refusal(ACCOUNTS_EDIT_SET, "physics Users+=alice", -EEXIST);
	expect_refusal(ACCOUNTS_EDIT_SET, "physics Users-=eve", -ENOENT);
	expect_refusal(ACCOUNTS_EDIT_SET, "physics Users+=a,,b", -EINVAL);
	expect_refusal(ACCOUNTS_EDIT_SET, "physics Clusters-=beluga", -ENOENT);
	/* Bob's limits in the account would be left over. */
	expect_refusal(ACCOUNTS_EDIT_SET, "physics Users-=bob", -EINVAL);
}

static void only_a_new_name_can_be_added(void **state)
{
	(void)state;
	expect_words(ACCOUNTS_EDIT_ADD, "optics",
		     "[Account optics]\nParent = root\nShares = 1\n");
	expect_words(ACCOUNTS_EDIT_ADD, "optics Parent=physics Users=eve", "Parent = physics");
	expect_words(ACCOUNTS_EDIT_ADD, "physics/eve", "Users = alice=5, bob, eve");
	expect_words(ACCOUNTS_EDIT_ADD, "physics/eve Shares=4", "Users = alice=5, bob, eve=4");
	expect_words(ACCOUNTS_EDIT_ADD, "physics/eve MaxQueuedJobs=1",
		     "[Association physics/eve]");
	expect_words(ACCOUNTS_EDIT_ADD,
		     "allocation:physics/27 Amount=1 From=2027-01-01 To=2028-01-01",
		     "[Allocation physics/27]");
	expect_refusal(ACCOUNTS_EDIT_ADD,
		       "allocation:physics/27 Amount=1 From=2026-07-01 To=2028-01-01", -EINVAL);
	expect_refusal(ACCOUNTS_EDIT_ADD, "physics Shares=1", -EEXIST);
	expect_refusal(ACCOUNTS_EDIT_ADD, "physics/bob", -EEXIST);
	expect_refusal(ACCOUNTS_EDIT_ADD, "optics/bob", -ENOENT);
	expect_refusal(ACCOUNTS_EDIT_ADD, "root", -EINVAL);
}

static void removing_an_account_removes_its_limits_and_allocations(void **state)
{
	(void)state;
	expect_file(ACCOUNTS_EDIT_REMOVE, "physics", "[Account physics2]\nUsers = bob\n");
	expect_words(ACCOUNTS_EDIT_REMOVE, "physics/bob", "!Association");
	expect_words(ACCOUNTS_EDIT_REMOVE, "physics/bob", "Users = alice=5\n");
	expect_words(ACCOUNTS_EDIT_REMOVE, "allocation:physics/2026", "!Allocation");
	expect_refusal(ACCOUNTS_EDIT_REMOVE, "physics/eve", -ENOENT);
	expect_refusal(ACCOUNTS_EDIT_REMOVE, "phys", -ENOENT);
	expect_refusal(ACCOUNTS_EDIT_REMOVE, "queue:x", -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_are_set_and_taken_away),
		cmocka_unit_test(lists_are_set_added_to_and_taken_from),
		cmocka_unit_test(only_a_new_name_can_be_added),
		cmocka_unit_test(removing_an_account_removes_its_limits_and_allocations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
