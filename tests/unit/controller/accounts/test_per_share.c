/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_per_share - limits that are multiples of shares: read, written, and refused values. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "common/cleanup.h"
#include "common/err.h"
#include "controller/accounts/accounts.h"

static struct accounts *parse_accounts(const char *text)
{
	struct accounts *a = NULL;
	struct err err = { "" };

	if (accounts_parse(text, strlen(text), "accounts.conf", &a, &err) < 0)
		fail_msg("%s", err.text);
	return a;
}

static char *write_accounts(const struct accounts *a)
{
	char *text = NULL;

	assert_int_equal(accounts_write(a, &text, NULL), 0);
	return text;
}

static void expect_refusal(const char *text, const char *place, const char *words)
{
	struct accounts *a = NULL;
	struct err err = { "" };

	assert_int_equal(accounts_parse(text, strlen(text), "accounts.conf", &a, &err),
			 -EINVAL);
	if (strncmp(err.text, place, strlen(place)) != 0 || !strstr(err.text, words))
		fail_msg("%s\nlacks: %s ... %s", err.text, place, words);
}

static void limits_may_be_multiples_of_shares(void **state)
{
	static const char text[] =
		"[Account a]\nShares = 5\nMaxRunningCoresPerShare = 20\n"
		"MaxRunningGpusPerShare = 1\nMaxRunningMemoryPerShare = 80GB\n"
		"[User u]\nMaxRunningCoresPerShare = 3\n"
		"[Default User]\nMaxRunningCoresPerShare = 2\n"
		"[Default Account]\nMaxRunningMemoryPerShare = 1GiB\n"
		"[Account b]\nParent = a\nShares = parent\n";
	_cleanup_(accounts_freep) struct accounts *a = parse_accounts(text);
	_cleanup_free_ char *once = write_accounts(a);
	_cleanup_(accounts_freep) struct accounts *again = parse_accounts(once);
	_cleanup_free_ char *twice = write_accounts(again);

	(void)state;
	assert_string_equal(once, twice);
	assert_int_equal(again->accounts[0].per_share.cores, 20);
	assert_int_equal(again->accounts[0].per_share.memory_bytes, INT64_C(80000000000));
	assert_int_equal(again->accounts[1].per_share.gpus, ACCOUNTS_NO_LIMIT);
	assert_int_equal(accounts_user(again, "u")->per_share.cores, 3);
	assert_int_equal(again->defaults.user_per_share.cores, 2);
	assert_int_equal(again->defaults.account_per_share.memory_bytes, INT64_C(1) << 30);
	assert_int_equal(accounts_group(again, accounts_find(again, "b")),
			 accounts_find(again, "a"));
}

static void a_multiple_needs_a_number_of_shares(void **state)
{
	(void)state;
	expect_refusal("[Account a]\nShares = parent\nMaxRunningCoresPerShare = 1\n",
		       "accounts.conf, line 2", "its Max...PerShare multiplies it");
	expect_refusal("[Account a]\nShares = parent\n[Default User]\n"
		       "MaxRunningCoresPerShare = 1\n",
		       "accounts.conf, line 2", "Shares = parent is no number");
	expect_refusal("[Default Queue]\nMaxRunningCoresPerShare = 1\n",
		       "accounts.conf, line 1", "[Default Account] or [Default User]");
	expect_refusal("[QueueLimits q]\nMaxRunningCoresPerShare = 1\n",
		       "accounts.conf, line 2", "MaxRunningCores");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits_may_be_multiples_of_shares),
		cmocka_unit_test(a_multiple_needs_a_number_of_shares),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
