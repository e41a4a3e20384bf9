/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_accounts - what accounts.conf means, what it must not have, and the laws of differences. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
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

static void expect_refusal(const char *text, const char *place, const char *words)
{
	struct accounts *a = NULL;
	struct err err = { "" };

	assert_int_equal(accounts_parse(text, strlen(text), "accounts.conf", &a, &err),
			 -EINVAL);
	assert_null(a);
	if (strncmp(err.text, place, strlen(place)) != 0 || !strstr(err.text, words))
		fail_msg("%s\nlacks: %s ... %s", err.text, place, words);
}

static const char site[] = "[Account science]\n"
			   "Shares = 60\n"
			   "Coordinators = dean\n"
			   "[Account physics]\n"
			   "Description = Physics, all of it; and = signs\n"
			   "Parent = science\n"
			   "Shares = 20\n"
			   "Users = bob=10, alice,carol = parent\n"
			   "Coordinators = alice\n"
			   "Clusters = narval, beluga\n"
			   "MaxRunningCores = 600\n"
			   "MaxRunningGpus = 0\n"
			   "MaxRunningMemory = 2TB\n"
			   "[Account letters]\n"
			   "Shares = parent\n"
			   "Users = alice=0, dora\n"
			   "[Allocation science/2026]\n"
			   "Amount = 100.5\n"
			   "From = 2026-04-01\n"
			   "To = 2027-04-01\n"
			   "[Allocation physics/narval]\n"
			   "Cluster = narval\n"
			   "Amount = 1/7\n"
			   "From = 2026-04-01\n"
			   "To = 2027-04-01\n"
			   "[Allocation physics/disk]\n"
			   "Kind = storage\n"
			   "Amount = 10TB\n"
			   "From = 2026-04-15\n"
			   "To = 2027-04-01\n"
			   "[Allocation letters/h1]\n"
			   "Kind = monthly\n"
			   "Amount = 1000\n"
			   "From = 2026-01-01\n"
			   "To = 2026-07-01\n"
			   "[Association physics/alice]\n"
			   "MaxRunningJobs = 5\n"
			   "[User alice]\n"
			   "DefaultAccount = physics\n"
			   "MaxQueuedJobs = 1000\n"
			   "[QueueLimits express]\n"
			   "MaxRunningCores = 32\n";

static void a_whole_site_is_read(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = parse_accounts(site);
	const struct accounts_account *p = &a->accounts[accounts_find(a, "physics")];
	const struct accounts_member *m;

	(void)state;
	assert_int_equal(a->n_accounts, 3);
	assert_int_equal(p->parent, accounts_find(a, "science"));
	assert_int_equal(a->accounts[p->parent].parent, -1);
	assert_int_equal(p->shares, 20);
	assert_int_equal(p->limits.running_cores, 600);
	assert_int_equal(p->limits.running_gpus, 0);
	assert_int_equal(p->limits.running_memory_bytes, 2000000000000);
	assert_int_equal(p->limits.running_jobs, ACCOUNTS_NO_LIMIT);
	assert_string_equal(p->clusters, "beluga,narval");
	assert_string_equal(p->description, "Physics, all of it; and = signs");
	assert_int_equal(p->n_members, 3);
	m = accounts_member(a, accounts_find(a, "physics"), "bob");
	assert_int_equal(m->shares, 10);
	assert_int_equal(m->limits.running_jobs, ACCOUNTS_NO_LIMIT);
	m = accounts_member(a, accounts_find(a, "physics"), "carol");
	assert_int_equal(m->shares, FAIRSHARE_PARENT);
	m = accounts_member(a, accounts_find(a, "physics"), "alice");
	assert_int_equal(m->shares, 1);
	assert_int_equal(m->limits.running_jobs, 5);
	assert_null(accounts_member(a, accounts_find(a, "physics"), "dora"));
	assert_null(accounts_member(a, -1, "dora"));
	assert_int_equal(accounts_find(a, "root"), -1);
	assert_string_equal(accounts_user(a, "alice")->default_account, "physics");
	assert_int_equal(accounts_user(a, "alice")->limits.queued_jobs, 1000);
	assert_null(accounts_user(a, "bob"));
	assert_int_equal(accounts_queue(a, "express")->user_limits.running_cores, 32);
	assert_null(accounts_queue(a, "normal"));
}

static void coordinators_see_their_account_and_below(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = parse_accounts(site);
	int32_t science = accounts_find(a, "science"), physics = accounts_find(a, "physics"),
		letters = accounts_find(a, "letters");

	(void)state;
	assert_true(accounts_is_coordinator(a, physics, "alice"));
	assert_true(accounts_is_coordinator(a, physics, "dean"));
	assert_true(accounts_is_coordinator(a, science, "dean"));
	assert_false(accounts_is_coordinator(a, science, "alice"));
	assert_false(accounts_is_coordinator(a, letters, "dean"));
	assert_false(accounts_is_coordinator(a, physics, "ali"));
	assert_true(accounts_is_within(a, physics, science));
	assert_true(accounts_is_within(a, physics, physics));
	assert_true(accounts_is_within(a, physics, -1));
	assert_false(accounts_is_within(a, science, physics));
	assert_false(accounts_is_within(a, letters, science));
	assert_true(accounts_allows_cluster(a, physics, "narval"));
	assert_false(accounts_allows_cluster(a, physics, "nar"));
	assert_true(accounts_allows_cluster(a, letters, "anything"));
}

static const struct accounts_allocation *
allocation_of(const struct accounts *a, const char *account, const char *cluster, int32_t day)
{
	const struct accounts_query ask = { accounts_find(a, account), ACCOUNTS_TARGET,
					    CHARGE_POOL_CPU, cluster, day };

	return accounts_allocation(a, &ask);
}

static void the_nearest_allocation_counts_half_open(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = parse_accounts(site);
	const int32_t first = 20544, end = 20909; /* 2026-04-01, 2027-04-01 */

	(void)state;
	assert_int_equal(allocation_of(a, "science", "narval", first)->from_day, first);
	assert_int_equal(allocation_of(a, "science", "narval", first)->amount.num, 201);
	assert_int_equal(allocation_of(a, "science", "narval", first)->amount.den, 2);
	assert_string_equal(allocation_of(a, "physics", "narval", first)->label, "narval");
	assert_string_equal(allocation_of(a, "physics", "beluga", first)->label, "2026");
	assert_non_null(allocation_of(a, "physics", "narval", end - 1));
	assert_null(allocation_of(a, "physics", "narval", end));
	assert_null(allocation_of(a, "physics", "narval", first - 1));
	assert_null(allocation_of(a, "letters", "narval", first));
}

static void every_fault_is_reported_with_its_line(void **state)
{
	(void)state;
	expect_refusal(
		"[Account a]\nParent = b\n[Account b]\nParent = c\n[Account c]\nParent = a\n",
		"accounts.conf, line 2: [Account a]", "it is above itself: a > b > c > a");
	expect_refusal("[Account a]\nParent = a\n",
		       "accounts.conf, line 2:", "above itself: a > a");
	expect_refusal("[Account physics]\n[Account b]\nParent = phsics\n",
		       "accounts.conf, line 3:",
		       "there is no [Account phsics]; did you mean 'physics'?");
	expect_refusal("[Account a]\nUsers = x, y=3, x=2\n",
		       "accounts.conf, line 2:", "user 'x' is named twice");
	expect_refusal("[Account a]\nUsers = x,,y\n", "accounts.conf, line 2:", "an empty");
	expect_refusal("[Account a]\nUsers = x=-1\n", "accounts.conf, line 2:", "-1");
	expect_refusal("[Account a]\nUsers = x=2147483647\n",
		       "accounts.conf, line 2:", "shares are from 0 to 2147483646, or parent");
	expect_refusal("[Account a]\nShares = lots\n", "accounts.conf, line 2:", "lots");
	expect_refusal("[Account a]\nCoordinators = x, x\n",
		       "accounts.conf, line 2:", "named twice");
	expect_refusal("[Account root]\n", "accounts.conf, line 1:", "root");
	expect_refusal("[Account a]\nUsers = x\n[Association a/y]\nMaxRunningJobs = 1\n",
		       "accounts.conf, line 3: [Association a/y]", "'y' is not in account 'a'");
	expect_refusal("[Association b/y]\n",
		       "accounts.conf, line 1:", "there is no [Account b]");
	expect_refusal("[Association b]\n",
		       "accounts.conf, line 1:", "[Association ACCOUNT/USER]");
	expect_refusal("[Account a]\n[User x]\nDefaultAccount = a\n",
		       "accounts.conf, line 3:", "'x' is not in account 'a'");
	expect_refusal("[User x]\nDefaultAccount = a\n",
		       "accounts.conf, line 2:", "there is no [Account a]");
	expect_refusal("[Account a]\nMaxRunningJobs = many\n",
		       "accounts.conf, line 2:", "many");
}

#define ALLOCATION(name, kind, from, to)                                                       \
	"[Allocation a/" name "]\nKind = " kind "\nAmount = 5\nFrom = " from "\nTo = " to "\n"

static void allocations_must_have_one_meaning_on_each_day(void **state)
{
	(void)state;
	expect_refusal("[Account a]\n" ALLOCATION("1", "target", "2026-01-01", "2026-06-02")
			       ALLOCATION("2", "target", "2026-06-01", "2027-01-01"),
		       "accounts.conf, line 10: [Allocation a/2]",
		       "overlaps [Allocation a/1], which lasts until 2026-06-02");
	/* One that lies within another, behind a third that begins later and ends before. */
	expect_refusal("[Account a]\n" ALLOCATION("1", "grant", "2026-01-01", "2027-01-01")
			       ALLOCATION("3", "grant", "2026-09-01", "2026-10-01"),
		       "accounts.conf, line 10:", "overlaps [Allocation a/1]");
	expect_refusal(
		"[Account a]\n" ALLOCATION("1", "monthly", "2026-01-15", "2026-06-01"),
		"accounts.conf, line 5:", "begins on the first of a month, not on 2026-01-15");
	expect_refusal("[Account a]\n" ALLOCATION("1", "monthly", "2026-01-01", "2026-06-15"),
		       "accounts.conf, line 6:", "To is the first of the next one");
	expect_refusal("[Account a]\n" ALLOCATION("1", "target", "2026-06-01", "2026-06-01"),
		       "accounts.conf, line 6:", "before its first day");
	expect_refusal("[Account a]\n" ALLOCATION("1", "target", "2026-02-29", "2026-06-01"),
		       "accounts.conf, line 5:", "'2026-02-29' is not a day");
	expect_refusal("[Allocation b/1]\nAmount = 1\nFrom = 2026-01-01\nTo = 2027-01-01\n",
		       "accounts.conf, line 1:", "there is no [Account b]");
	expect_refusal("[Account a]\n[Allocation a/1]\nFrom = 2026-01-01\nTo = 2027-01-01\n",
		       "accounts.conf, line 2:", "Amount");
	expect_refusal("[Account a]\n[Allocation a/1]\nAmount = 1\nTo = 2027-01-01\n",
		       "accounts.conf, line 2:", "From");
	expect_refusal("[Account a]\n[Allocation a/1]\nAmount = much\nFrom = 2026-01-01\n"
		       "To = 2027-01-01\n",
		       "accounts.conf, line 3:", "much");
	accounts_free(parse_accounts(
		"[Account a]\n" ALLOCATION("1", "target", "2026-01-01", "2026-06-01")
			ALLOCATION("2", "target", "2026-06-01", "2027-01-01")
				ALLOCATION("3", "grant", "2026-03-01", "2026-04-01")));
}

struct told {
	int n;
	char text[8][512];
};

static void on_fault(void *ctx, const struct conf_fault *fault)
{
	struct told *t = ctx;

	snprintf(t->text[t->n++ % 8], 512, "%s", fault->text);
}

static void a_check_reports_all_faults_at_once(void **state)
{
	char path[] = "/tmp/reeve-accounts-XXXXXX";
	int fd = mkstemp(path);
	struct accounts *a = NULL;
	struct told told = { 0 };
	struct err err = { "" };
	const char text[] = "[Account a]\nParent = x\nShares = -3\nNonsense = 1\n"
			    "[Account b]\nParent = c\n[Account c]\nParent = b\n"
			    "[User u]\nDefaultAccount = a\n";

	(void)state;
	assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
	close(fd);
	assert_int_equal(accounts_check(path, on_fault, &told, &a, &err), 5);
	unlink(path);
	assert_null(a);
	assert_int_equal(told.n, 5);
	assert_non_null(strstr(told.text[0], "line 3: Shares = -3"));
	assert_non_null(strstr(told.text[1], "line 4: unknown key 'Nonsense'"));
	assert_non_null(strstr(told.text[2], "line 2: [Account a]: there is no [Account x]"));
	assert_non_null(strstr(told.text[3], "above itself"));
	assert_non_null(strstr(told.text[4], "line 10: [User u]"));
	assert_int_equal(accounts_check(path, on_fault, &told, &a, &err), -ENOENT);
}

static void count_warning(void *ctx, const char *text)
{
	struct told *t = ctx;

	snprintf(t->text[t->n++ % 8], 512, "%s", text);
}

static void shares_that_sum_to_zero_are_warned_of(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = parse_accounts(
		"[Account a]\nShares = 0\nUsers = x=0, y=0, z=parent\n"
		"[Account b]\nShares = 0\nUsers = x=0, y=1\n[Account c]\nShares = 0\n");
	_cleanup_(accounts_freep) struct accounts *fine = parse_accounts(site);
	struct told told = { 0 };

	(void)state;
	assert_int_equal(accounts_warn(a, count_warning, &told), 3);
	assert_non_null(strstr(told.text[0], "below the root sum to zero"));
	assert_non_null(strstr(told.text[1], "below a sum to zero"));
	assert_non_null(strstr(told.text[2], "account c has neither users"));
	assert_int_equal(accounts_warn(fine, count_warning, &told), 0);
}

/* ---- writing and differences ---- */

static char *write_accounts(const struct accounts *a)
{
	struct err err = { "" };
	char *text = NULL;

	if (accounts_write(a, &text, &err) < 0)
		fail_msg("%s", err.text);
	return text;
}

/* States that differ from each other in every kind of statement. */
static const char *const states[] = {
	"",
	site,
	"[Account a]\nUsers = x\n",
	"[Account a]\nUsers = x=2, y\nShares = 3\nCoordinators = y\n",
	"[Account a]\nUsers = y=parent\nParent = b\n[Account b]\nParent = c\n[Account c]\n",
	"[Account b]\nParent = a\n[Account c]\nParent = b\n[Account a]\n"
	"[Allocation a/1]\nAmount = 2.25\nFrom = 2026-01-01\nTo = 2026-02-01\n",
	"[Account physics]\nUsers = alice, bob, carol, dora\nClusters = narval\n"
	"[Association physics/bob]\nMaxRunningCores = 1\n[User bob]\n"
	"DefaultAccount = physics\n[QueueLimits normal]\nMaxQueuedJobs = 0\n",
};
#define N_STATES ARRAY_LEN(states)

static void what_is_written_reads_the_same(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_STATES; i++) {
		_cleanup_(accounts_freep) struct accounts *a = parse_accounts(states[i]);
		_cleanup_free_ char *once = write_accounts(a);
		_cleanup_(accounts_freep) struct accounts *again = parse_accounts(once);
		_cleanup_free_ char *twice = write_accounts(again);

		assert_string_equal(once, twice);
		assert_int_equal(a->n_accounts, again->n_accounts);
		assert_int_equal(a->n_allocations, again->n_allocations);
		for (size_t k = 0; k < a->n_allocations; k++) {
			assert_int_equal(a->allocations[k].amount.num,
					 again->allocations[k].amount.num);
			assert_int_equal(a->allocations[k].amount.den,
					 again->allocations[k].amount.den);
		}
	}
}

static void the_order_of_a_file_means_nothing(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = parse_accounts(
		"[Account a]\nUsers = x=2, y\n[Account b]\nParent = a\nClusters = m, k\n");
	_cleanup_(accounts_freep) struct accounts *b = parse_accounts(
		"[Account b]\nClusters = k,m\nParent = a\n[Account a]\nUsers = y=1,x = 2\n");
	_cleanup_free_ char *ta = write_accounts(a), *tb = write_accounts(b);

	(void)state;
	assert_string_equal(ta, tb);
}

static void a_state_does_not_differ_from_itself(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_STATES; i++) {
		_cleanup_(accounts_freep) struct accounts *a = parse_accounts(states[i]);
		_cleanup_(accounts_freep) struct accounts *b = parse_accounts(states[i]);
		_cleanup_(accounts_diff_freep) struct accounts_diff *d = NULL;

		assert_int_equal(accounts_diff(a, b, &d, NULL), 0);
		assert_int_equal(d->n, 0);
	}
}

static void shuffle_changes(struct accounts_diff *d, unsigned seed)
{
	for (size_t i = d->n; i > 1; i--) {
		size_t k = (size_t)rand_r(&seed) % i;
		struct accounts_change c = d->changes[i - 1];

		d->changes[i - 1] = d->changes[k];
		d->changes[k] = c;
	}
}

static void a_difference_makes_the_new_of_the_old_in_any_order(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_STATES * N_STATES * 4; i++) {
		_cleanup_(accounts_freep) struct accounts *from =
			parse_accounts(states[i % N_STATES]);
		_cleanup_(accounts_freep) struct accounts *to =
			parse_accounts(states[i / N_STATES % N_STATES]);
		_cleanup_(accounts_freep) struct accounts *made = NULL;
		_cleanup_(accounts_diff_freep) struct accounts_diff *d = NULL;
		_cleanup_free_ char *wanted = write_accounts(to), *got = NULL;
		struct err err = { "" };

		assert_int_equal(accounts_diff(from, to, &d, NULL), 0);
		shuffle_changes(d, (unsigned)i);
		if (accounts_apply(from, d, "made", &made, &err) < 0)
			fail_msg("%s", err.text);
		got = write_accounts(made);
		assert_string_equal(got, wanted);
	}
}

static void a_change_says_what_was_and_what_is(void **state)
{
	_cleanup_(accounts_freep) struct accounts *from =
		parse_accounts("[Account a]\nUsers = x, y=5\n");
	_cleanup_(accounts_freep) struct accounts *to =
		parse_accounts("[Account a]\nShares = 7\nUsers = y=6, z\n");
	_cleanup_(accounts_diff_freep) struct accounts_diff *d = NULL;

	(void)state;
	assert_int_equal(accounts_diff(from, to, &d, NULL), 0);
	assert_int_equal(d->n, 4);
	assert_int_equal(d->changes[0].op, ACCOUNTS_SET);
	assert_string_equal(d->changes[0].key, "Shares");
	assert_string_equal(d->changes[0].old_value, "1");
	assert_string_equal(d->changes[0].new_value, "7");
	assert_null(d->changes[0].item);
	assert_int_equal(d->changes[1].op, ACCOUNTS_REMOVE);
	assert_string_equal(d->changes[1].item, "x");
	assert_null(d->changes[1].new_value);
	assert_int_equal(d->changes[2].op, ACCOUNTS_SET);
	assert_string_equal(d->changes[2].item, "y");
	assert_string_equal(d->changes[2].old_value, "5");
	assert_string_equal(d->changes[2].new_value, "6");
	assert_int_equal(d->changes[3].op, ACCOUNTS_ADD);
	assert_null(d->changes[3].old_value);
}

static void a_change_cannot_smuggle_in_statements(void **state)
{
	static const struct {
		const char *key, *value;
	} bad[] = { { "Description", "x\n[Account b]" },
		    { "Description", "x\\" },
		    { "#Shares", "5" },
		    { "Shares", "5\nUsers = mallory" },
		    { "Nonsense", "5" } };
	_cleanup_(accounts_freep) struct accounts *from = parse_accounts("[Account a]\n");

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct accounts_change c = { .op = ACCOUNTS_SET,
					     .section = "Account",
					     .name = "a",
					     .key = bad[i].key,
					     .new_value = bad[i].value };
		struct accounts_diff d = { &c, 1 };
		struct accounts *made = NULL;
		struct err err = { "" };

		assert_int_equal(accounts_apply(from, &d, "made", &made, &err), -EINVAL);
		assert_null(made);
		assert_true(*err.text != '\0');
	}
}

static void a_list_of_users_that_was_read_can_be_written(void **state)
{
	_cleanup_free_ char *text = malloc(CONF_LINE_MAX + 100);
	char *p = text + sprintf(text, "[Account a]\n"), *line = p;
	int n = 0;

	(void)state;
	p += sprintf(p, "Users = u0");
	while (p - line < CONF_LINE_MAX - 10)
		p += sprintf(p, ",u%d", ++n);
	strcpy(p, "\n");
	{
		_cleanup_(accounts_freep) struct accounts *a = parse_accounts(text);
		_cleanup_free_ char *once = write_accounts(a);
		_cleanup_(accounts_freep) struct accounts *again = parse_accounts(once);

		assert_int_equal(again->accounts[0].n_members, n + 1);
	}
}

static void defaults_fill_in_what_is_not_stated(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = parse_accounts(
		"[Account def-alice]\nUsers = alice\n"
		"[Account physics]\nUsers = alice, bob\n"
		"[User bob]\nMaxRunningGpus = 2\n"
		"[QueueLimits express]\nMaxWalltime = 4h\n"
		"[Default User]\nDefaultAccount = def-%u\nMaxRunningCores = 600\n"
		"MaxRunningGpus = 4\n"
		"[Default Queue]\nMaxWalltime = 48h\nMaxJobfs = 400GB\n");
	_cleanup_free_ char *once = write_accounts(a);
	_cleanup_(accounts_freep) struct accounts *again = parse_accounts(once);
	_cleanup_free_ char *twice = write_accounts(again);
	char account[REQUEST_NAME_MAX];
	struct accounts_limits l =
		accounts_limits_or(&accounts_user(a, "bob")->limits, &a->defaults.user);
	struct accounts_bounds b = accounts_bounds_of(a, "express");

	(void)state;
	assert_string_equal(once, twice);
	assert_int_equal(l.running_cores, 600);
	assert_int_equal(l.running_gpus, 2);
	assert_int_equal(l.running_jobs, ACCOUNTS_NO_LIMIT);
	assert_int_equal(b.walltime_s, 4 * 3600);
	assert_int_equal(b.jobfs_bytes, INT64_C(400000000000));
	assert_int_equal(b.memory_bytes, ACCOUNTS_NO_LIMIT);
	assert_int_equal(accounts_bounds_of(a, "normal").walltime_s, 48 * 3600);
	assert_true(accounts_default_account(a, "alice", account));
	assert_string_equal(account, "def-alice");
	assert_false(accounts_default_account(a, "bob", account)); /* in no def-bob */
	expect_refusal("[Default Users]\n", "accounts.conf, line 1", "[Default User], ");
	expect_refusal("[Default Queue]\nDefaultAccount = x\n", "accounts.conf, line 2",
		       "[Default User]");
	expect_refusal("[Default User]\nDefaultAccount = a %u\n", "accounts.conf, line 2",
		       "def-%u");
}

static void a_template_makes_accounts_below_one(void **state)
{
	static const char text[] =
		"[Account bloggs]\nTemplate = group\nShares = 5\nUsers = abc, xyz=3\n"
		"Clusters = c\n"
		"[Association bloggs.prj/abc]\nMaxRunningJobs = 2\n"
		"[Template group]\nAccounts = prj.high=100/parent, prj=10/10, prj.low=1/10\n";
	_cleanup_(accounts_freep) struct accounts *a = parse_accounts(text);
	_cleanup_free_ char *once = write_accounts(a);
	_cleanup_(accounts_freep) struct accounts *again = parse_accounts(once);
	_cleanup_free_ char *twice = write_accounts(again);
	int32_t high = accounts_find(a, "bloggs.prj.high"),
		prj = accounts_find(a, "bloggs.prj");

	(void)state;
	assert_int_equal(a->n_accounts, 4);
	assert_int_equal(a->accounts[high].shares, 100);
	assert_int_equal(accounts_member(a, high, "xyz")->shares, FAIRSHARE_PARENT);
	assert_int_equal(a->accounts[prj].shares, 10);
	assert_int_equal(accounts_member(a, prj, "abc")->shares, 10);
	assert_int_equal(accounts_member(a, prj, "abc")->limits.running_jobs, 2);
	assert_int_equal(a->accounts[prj].parent, accounts_find(a, "bloggs"));
	assert_null(accounts_member(a, accounts_find(a, "bloggs"), "abc"));
	assert_false(accounts_allows_cluster(a, prj, "d"));
	assert_string_equal(once, twice);
	assert_null(strstr(once, "[Account bloggs.prj]")); /* it stays a template */
	assert_non_null(strstr(once, "Users = abc, xyz=3"));
	expect_refusal("[Account a]\nTemplate = no\n", "accounts.conf, line 2",
		       "no [Template no]");
	expect_refusal("[Account a]\nTemplate = t\n[Template t]\n", "accounts.conf, line 2",
		       "has no Accounts");
	expect_refusal("[Template t]\nAccounts = x=y\n", "accounts.conf, line 2",
		       "Accounts = x=y");
	expect_refusal("[Account a]\nTemplate = t\n[Account a.x]\n[Template t]\nAccounts = x\n",
		       "accounts.conf, line 2", "which is there already");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_whole_site_is_read),
		cmocka_unit_test(coordinators_see_their_account_and_below),
		cmocka_unit_test(the_nearest_allocation_counts_half_open),
		cmocka_unit_test(every_fault_is_reported_with_its_line),
		cmocka_unit_test(allocations_must_have_one_meaning_on_each_day),
		cmocka_unit_test(a_check_reports_all_faults_at_once),
		cmocka_unit_test(shares_that_sum_to_zero_are_warned_of),
		cmocka_unit_test(what_is_written_reads_the_same),
		cmocka_unit_test(defaults_fill_in_what_is_not_stated),
		cmocka_unit_test(a_template_makes_accounts_below_one),
		cmocka_unit_test(the_order_of_a_file_means_nothing),
		cmocka_unit_test(a_state_does_not_differ_from_itself),
		cmocka_unit_test(a_difference_makes_the_new_of_the_old_in_any_order),
		cmocka_unit_test(a_change_says_what_was_and_what_is),
		cmocka_unit_test(a_change_cannot_smuggle_in_statements),
		cmocka_unit_test(a_list_of_users_that_was_read_can_be_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
