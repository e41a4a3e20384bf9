/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_quota_qos - which QOS a job has, and whether it may have it: every rule at its edge. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "controller/quota/qos.h"

struct world {
	struct config *config;
	struct accounts *accounts;
	struct quota_site site;
};

static void world_done(struct world *w)
{
	config_free(w->config);
	accounts_free(w->accounts);
}

static struct world world_of(const char *config, const char *accounts)
{
	struct world w = { 0 };
	struct err err = { "" };

	if (config_parse(config, strlen(config), &w.config, &err) < 0 ||
	    accounts_parse(accounts, strlen(accounts), "accounts.conf", &w.accounts, &err) < 0)
		fail_msg("%s", err.text);
	w.site = (struct quota_site){ .config = w.config, .accounts = w.accounts };
	return w;
}

static const char accounts_text[] = "[Account science]\nQos=low,high\nDefaultQos=low\n"
				    "[Account physics]\nParent=science\nUsers=alice\n"
				    "[Account optics]\nParent=physics\nUsers=alice\n"
				    "Qos=high\nDefaultQos=high\n"
				    "[Account arts]\nUsers=alice,bob\n";
#define CLUSTER "[Cluster main]\n"
#define ALL_QOS "[Qos low]\n[Qos normal]\n[Qos high]\n"

/* What a job of the account has that names `named`. */
static void expect_filled(const struct world *w, const char *account, const char *named,
			  const char *want)
{
	_cleanup_(request_done) struct request q;

	request_init(&q);
	strcpy(q.account, account);
	strcpy(q.qos, named);
	quota_fill_qos(&w->site, &q);
	assert_string_equal(q.qos, want);
}

static void a_named_qos_goes_before_the_accounts_and_that_before_the_sites(void **state)
{
	_cleanup_(world_done) struct world w =
		world_of("[Policy]\nDefaultQos=normal\n" CLUSTER ALL_QOS, accounts_text);

	(void)state;
	expect_filled(&w, "optics", "normal", "normal");
	expect_filled(&w, "optics", "", "high");
	expect_filled(&w, "physics", "", "low"); /* of the account above */
	expect_filled(&w, "arts", "", "normal");
	expect_filled(&w, "nosuch", "", "normal");
	expect_filled(&w, "", "", "normal");
}

static void without_any_default_a_job_has_no_qos(void **state)
{
	_cleanup_(world_done) struct world w = world_of(CLUSTER ALL_QOS, accounts_text);

	(void)state;
	expect_filled(&w, "arts", "", "");
	expect_filled(&w, "nosuch", "", "");
	expect_filled(&w, "physics", "", "low");
}

/* ---- which QOS a user may have ---- */

static bool is_allowed(const struct world *w, const struct request *q,
		       struct quota_qos_refusal *ret)
{
	*ret = (struct quota_qos_refusal){ .code = "" };
	return quota_allows_qos(&w->site, q, ret);
}

static void a_job_without_a_qos_is_never_refused(void **state)
{
	_cleanup_(world_done) struct world w = world_of(CLUSTER, accounts_text);
	struct request q = { .account = "optics", .user = "alice" };
	struct quota_qos_refusal no;

	(void)state;
	assert_true(is_allowed(&w, &q, &no));
}

static void an_unknown_qos_is_named_with_the_nearest_one(void **state)
{
	_cleanup_(world_done) struct world w = world_of(CLUSTER ALL_QOS, accounts_text);
	_cleanup_(world_done) struct world none = world_of(CLUSTER, accounts_text);
	struct request q = { .account = "arts", .user = "alice", .qos = "norml" };
	struct quota_qos_refusal no;

	(void)state;
	assert_false(is_allowed(&w, &q, &no));
	assert_string_equal(no.code, "unknown-qos");
	assert_string_equal(no.text, "there is no QOS 'norml'; did you mean 'normal'?");
	assert_false(is_allowed(&none, &q, &no));
	assert_string_equal(no.text, "there is no QOS 'norml': this site has none");
	assert_string_equal(no.remedy, "leave --qos out");
}

/* Every combination: the QOS allows by AllowUsers and AllowAccounts, the account by Qos. */
static void a_qos_is_allowed_where_user_and_account_and_list_all_allow_it(void **state)
{
	static const struct {
		const char *text;
		bool allows;
	} users[] = { { "", true },
		      { "AllowUsers=bob,alice\n", true },
		      { "AllowUsers=bob\n", false } },
	  of[] = { { "", true },
		   { "AllowAccounts=science\n", true }, /* above it */
		   { "AllowAccounts=physics\n", true },
		   { "AllowAccounts=arts,optics\n", false } }, /* optics is below it */
		lists[] = { { "", true }, { "Qos=high,x\n", true }, { "Qos=low\n", false } };
	char config[256], accounts[256];

	(void)state;
	for (size_t u = 0; u < ARRAY_LEN(users); u++)
		for (size_t a = 0; a < ARRAY_LEN(of); a++)
			for (size_t l = 0; l < 2 * ARRAY_LEN(lists); l++) {
				_cleanup_(world_done) struct world w = { 0 };
				struct request q = { .account = "physics",
						     .user = "alice",
						     .qos = "x" };
				struct quota_qos_refusal no;
				const char *list = lists[l / 2].text;

				snprintf(config, sizeof(config),
					 CLUSTER "[Qos low]\n[Qos x]\n%s%s", users[u].text,
					 of[a].text);
				snprintf(accounts, sizeof(accounts), /* its own, or one above */
					 "[Account science]\n%s[Account physics]\n"
					 "Parent=science\nUsers=alice\n%s"
					 "[Account optics]\nParent=physics\n",
					 l % 2 ? list : "", l % 2 ? "" : list);
				w = world_of(config, accounts);
				assert_int_equal(is_allowed(&w, &q, &no),
						 users[u].allows && of[a].allows &&
							 lists[l / 2].allows);
			}
}

static void a_refusal_says_whose_it_is_and_which_may_be_used(void **state)
{
	_cleanup_(world_done) struct world w = world_of(
		CLUSTER "[Qos low]\n[Qos high]\nAllowUsers=bob\n[Qos normal]\n", accounts_text);
	struct request q = { .account = "arts", .user = "alice", .qos = "high" };
	struct quota_qos_refusal no;

	(void)state;
	assert_false(is_allowed(&w, &q, &no));
	assert_string_equal(no.code, "forbidden-qos");
	assert_string_equal(no.text, "user 'alice' may not use QOS 'high'");
	assert_non_null(strstr(no.remedy, "you may use: low, normal;"));
	strcpy(q.account, "physics");
	strcpy(q.qos, "normal");
	assert_false(is_allowed(&w, &q, &no));
	assert_string_equal(no.text, "account 'physics' may not use QOS 'normal'");
	assert_non_null(strstr(no.remedy, "you may use: low;"));
	strcpy(q.account, "optics"); /* its only one is bob's */
	assert_false(is_allowed(&w, &q, &no));
	assert_non_null(strstr(no.remedy, "you may use: none;"));
}

/* No silent change of what the site chose: the submission is refused, and the user names another. */
static void a_default_of_the_site_that_the_account_may_not_use_is_refused(void **state)
{
	_cleanup_(world_done) struct world w =
		world_of("[Policy]\nDefaultQos=normal\n" CLUSTER ALL_QOS,
			 "[Account arts]\nUsers=alice\nQos=low\n");
	struct request q = { .account = "arts", .user = "alice" };
	struct quota_qos_refusal no;

	(void)state;
	quota_fill_qos(&w.site, &q);
	assert_false(is_allowed(&w, &q, &no));
	assert_string_equal(no.text, "account 'arts' may not use QOS 'normal'");
	assert_non_null(strstr(no.remedy, "you may use: low; say one with --qos"));
}

static void the_walltime_of_a_qos_is_allowed_up_to_its_last_second(void **state)
{
	_cleanup_(world_done) struct world w =
		world_of(CLUSTER "[Qos x]\nMaxWalltime=2:00:00\n", accounts_text);
	struct request q = {
		.account = "arts", .user = "alice", .qos = "x", .res.walltime_s = 7200
	};
	struct quota_qos_refusal no;

	(void)state;
	assert_true(is_allowed(&w, &q, &no));
	q.res.walltime_s++;
	assert_false(is_allowed(&w, &q, &no));
	assert_string_equal(no.code, "too-large");
	assert_string_equal(no.text,
			    "walltime=2:00:01 is more than QOS 'x' allows one job: 2:00:00");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_named_qos_goes_before_the_accounts_and_that_before_the_sites),
		cmocka_unit_test(without_any_default_a_job_has_no_qos),
		cmocka_unit_test(a_job_without_a_qos_is_never_refused),
		cmocka_unit_test(an_unknown_qos_is_named_with_the_nearest_one),
		cmocka_unit_test(a_qos_is_allowed_where_user_and_account_and_list_all_allow_it),
		cmocka_unit_test(a_refusal_says_whose_it_is_and_which_may_be_used),
		cmocka_unit_test(a_default_of_the_site_that_the_account_may_not_use_is_refused),
		cmocka_unit_test(the_walltime_of_a_qos_is_allowed_up_to_its_last_second),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
