/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_accounts_import - a dump of sacctmgr as accounts: what each option becomes, what is counted as not
 * represented, what is refused and in which line; a written dump reads the same. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "common/err.h"
#include "controller/accounts/foreign/csv.h"
#include "controller/accounts/foreign/sacctmgr.h"

/* The file that a dump makes; NULL: refused, with the words in err. */
static char *read_dump(const char *dump, const struct accounts *kept, struct accounts_draft *d,
		       struct err *err)
{
	_cleanup_(accounts_freep) struct accounts *a = NULL;
	char *text = NULL;

	accounts_draft_init(d, "dump");
	if (accounts_sacctmgr_parse(d, dump, strlen(dump), err) == 0 &&
	    accounts_draft_finish(d, kept, &a, err) == 0)
		assert_int_equal(accounts_write(a, &text, NULL), 0);
	assert_true(text || *err->text);
	return text;
}

static void expect_accounts(const char *dump, const char *wanted)
{
	_cleanup_(accounts_draft_done) struct accounts_draft d;
	struct err err = { "" };
	_cleanup_free_ char *text = read_dump(dump, NULL, &d, &err);

	assert_string_equal(err.text, "");
	assert_string_equal(text, wanted);
}

static void expect_refusal(const char *dump, const char *words)
{
	_cleanup_(accounts_draft_done) struct accounts_draft d;
	struct err err = { "" };
	_cleanup_free_ char *text = read_dump(dump, NULL, &d, &err);

	assert_null(text);
	if (!strstr(err.text, words))
		fail_msg("'%s' lacks '%s'", err.text, words);
}

static size_t count_notes(const struct accounts_draft *d, const char *what)
{
	for (size_t i = 0; i < d->n_notes; i++)
		if (!strcmp(d->notes[i].what, what))
			return d->notes[i].n;
	return 0;
}

#define PLAIN "Cluster - 'main':Fairshare=1\n"
#define HEAD "Cluster - 'main':Fairshare=1:QOS='normal'\n"

/* As Slurm 23.11 prints it, with its commented head. */
static const char dump[] =
	"# To edit this file start with a cluster line for the new cluster\n"
	"# User - 'lipari':MaxTRESPerJob=node=2:MaxJobs=3\n" HEAD "Parent - 'root'\n"
	"User - 'root':DefaultAccount='root':AdminLevel='Administrator':Fairshare=1\n"
	"Account - 'science':Description='faculty of science: "
	"all':Organization='uni':Fairshare=60"
	":MaxJobs=40\n"
	"Parent - 'science'\n"
	"Account - 'physics':Description='o'neill\\'s lab #3':Organization='uni':Fairshare=20"
	":GrpTRES=cpu=600,mem=1024G,gres/gpu=8,gres/gpu:a100=4:GrpJobs=100:GrpSubmitJobs=1000"
	":DefaultQOS='normal':QOS='high,normal':MaxWallDurationPerJob=2880\n"
	"User - "
	"'dean':Coordinator='science,elsewhere':DefaultAccount='science':Fairshare=parent\n"
	"Parent - 'physics'\n"
	"User - 'alice':Coordinator='physics':DefaultAccount='physics':Fairshare=10:MaxJobs=5\n"
	"User - 'bob':DefaultAccount='physics':Fairshare=2147483647:GrpTRES=cpu=64"
	":MaxSubmitJobs=9\n"
	"User - 'carol':Partition='gpu':DefaultAccount='physics':Fairshare=1\n"
	"User - 'carol':Partition='cpu':DefaultAccount='physics':Fairshare=1\n";

static const char file[] = "[Account physics]\n"
			   "Description = o'neill's lab #3\n"
			   "Parent = science\n"
			   "Shares = 20\n"
			   "Users = alice=10, bob=parent, carol\n"
			   "Coordinators = alice\n"
			   "Qos = high, normal\n"
			   "DefaultQos = normal\n"
			   "MaxRunningCores = 600\n"
			   "MaxRunningGpus = 8\n"
			   "MaxRunningMemory = 1TiB\n"
			   "MaxRunningJobs = 100\n"
			   "MaxQueuedJobs = 1000\n"
			   "\n"
			   "[Account science]\n"
			   "Description = faculty of science: all\n"
			   "Parent = root\n"
			   "Shares = 60\n"
			   "Users = dean=parent\n"
			   "Coordinators = dean\n"
			   "Qos = normal\n"
			   "\n"
			   "[Association physics/alice]\n"
			   "MaxRunningJobs = 5\n"
			   "\n"
			   "[Association physics/bob]\n"
			   "MaxRunningCores = 64\n"
			   "MaxRunningJobs = 40\n"
			   "MaxQueuedJobs = 9\n"
			   "\n"
			   "[Association physics/carol]\n"
			   "MaxRunningJobs = 40\n"
			   "\n"
			   "[Association science/dean]\n"
			   "MaxRunningJobs = 40\n"
			   "\n"
			   "[User alice]\n"
			   "DefaultAccount = physics\n"
			   "\n"
			   "[User bob]\n"
			   "DefaultAccount = physics\n"
			   "\n"
			   "[User carol]\n"
			   "DefaultAccount = physics\n"
			   "\n"
			   "[User dean]\n"
			   "DefaultAccount = science\n";

static void a_dump_becomes_accounts_with_slurms_inheritance(void **state)
{
	(void)state;
	expect_accounts(dump, file);
}

static void values_that_reeve_cannot_represent_are_counted(void **state)
{
	_cleanup_(accounts_draft_done) struct accounts_draft d;
	struct err err = { "" };
	_cleanup_free_ char *text = read_dump(dump, NULL, &d, &err);

	(void)state;
	assert_int_equal(count_notes(&d, "Account Organization"), 2);
	assert_int_equal(count_notes(&d, "Account GrpTRES=gres/gpu:a100"), 1);
	assert_int_equal(count_notes(&d, "Account MaxWallDurationPerJob"), 1);
	assert_int_equal(count_notes(&d, "Account GrpSubmitJobs"), 1);
	assert_int_equal(count_notes(&d, "User MaxSubmitJobs"), 1);
	assert_int_equal(count_notes(&d, "User root"), 1);
	assert_int_equal(count_notes(&d, "User AdminLevel=Administrator"), 1);
	assert_int_equal(count_notes(&d, "User Coordinator"), 1);
	assert_int_equal(count_notes(&d, "User Partition"), 2);
	assert_non_null(text);
}

static void faults_name_file_and_line(void **state)
{
	(void)state;
	expect_refusal("", "dump:1: there is no Cluster - line");
	expect_refusal("Parent - 'root'\n", "dump:1: the first line is Cluster");
	expect_refusal("hello\n", "dump:1: 'hello' does not begin with");
	expect_refusal(HEAD "Cluster - 'two'\n", "dump:2: a second Cluster line");
	expect_refusal(HEAD "Parent - 'no'\n", "dump:2: Parent - 'no' before its Account line");
	expect_refusal(HEAD "Account - 'a'\n# x\nAccount - 'a'\n",
		       "dump:4: account 'a' is there twice, first in line 2");
	expect_refusal(HEAD "Account - 'a b'\n", "dump:2: 'a b' is not a name");
	expect_refusal(HEAD "Account - 'a':Fairshare=x\n", "dump:2: Fairshare=x");
	expect_refusal(HEAD "Account - 'a':Fairshar=2\n", "did you mean 'Fairshare'?");
	expect_refusal(HEAD "Account - 'a':GrpTRES=cpu\n", "dump:2: GrpTRES=cpu: it is TRES=N");
	expect_refusal(HEAD
		       "Account - 'a':GrpTRES=gres/gpu:a100=4:GrpTRESMins=cpu=9:GrpJob=20\n",
		       "dump:2: sacctmgr has no option 'GrpJob'; did you mean 'GrpJobs'?");
	expect_refusal(HEAD "Account - 'a':GrpTRES=cpu:Fairshere=1\n",
		       "GrpTRES=cpu: it is TRES=N");
	expect_refusal(HEAD "Account - 'a':Description='G\xf6ttingen'\n",
		       "dump:2: the line is not UTF-8");
	expect_refusal(HEAD "Account - 'a':GrpTRES=cpu=-2\n", "it is a number, or -1 for none");
	expect_refusal(HEAD "Account - 'a':GrpTRES=mem=9999999999P\n", "mem=9999999999P");
	expect_refusal(HEAD "Account - 'a':Description='x\n", "dump:2: the quote ' before 'x'");
	expect_refusal(HEAD "Account - 'a':stray\n", "dump:2: 'stray' is not Option=value");
	expect_refusal(HEAD "Account - 'a'\nParent - 'a'\nUser - 'u'\nUser - 'u'\n",
		       "dump:5: user 'u' is in account 'a' twice, first in line 4");
	expect_refusal(HEAD "Account - 'a'\nAccount - 'b'\nParent - 'a'\n"
			    "User - 'u':DefaultAccount='a'\n"
			    "Parent - 'b'\nUser - 'u':DefaultAccount='b'\n",
		       "user 'u' has two default accounts");
	expect_refusal(HEAD "Account - 'a\x01'\n", "dump:2: a control character");
}

static void continued_lines_and_comments_are_read_as_sacctmgr_load_reads_them(void **state)
{
	(void)state;
	expect_accounts("cluster - c # the only one\n"
			"Account - \"a\":Description=plain:\\\nfairshare=7 # seven\n",
			"[Account a]\nDescription = plain\nParent = root\nShares = 7\n");
}

static void minus_one_is_no_limit(void **state)
{
	(void)state;
	expect_accounts(PLAIN "Account - 'a':GrpTRES=cpu=-1,mem=-1:GrpJobs=-1:MaxJobs=-1\n",
			"[Account a]\nParent = root\nShares = 1\n");
}

static void allocations_and_limits_that_a_dump_lacks_stay(void **state)
{
	static const char before[] =
		"[Account a]\nClusters = x\nMaxRunningCoresPerShare = 20\nUsers = u, w\n"
		"MaxCores = 64\n"
		"[Association a/u]\nMaxWalltime = 1:00:00\nMaxRunningJobs = 7\n"
		"[Association a/w]\nMaxWalltime = 2:00:00\n"
		"[Account gone]\n"
		"[Allocation a/1]\nAmount = 1\nFrom = 2026-01-01\nTo = 2027-01-01\n"
		"[Allocation gone/1]\nAmount = 1\nFrom = 2026-01-01\n"
		"To = 2027-01-01\n"
		"[User u]\nMaxRunningCores = 600\n"
		"[User v]\nMaxRunningCoresPerShare = 3\n"
		"[QueueLimits q]\nMaxRunningCores = 2\n";
	_cleanup_(accounts_draft_done) struct accounts_draft d;
	_cleanup_(accounts_freep) struct accounts *kept = NULL;
	struct err err = { "" };
	_cleanup_free_ char *text = NULL;

	(void)state;
	assert_int_equal(accounts_parse(before, strlen(before), "kept", &kept, NULL), 0);
	text = read_dump(HEAD "Account - 'a':Fairshare=2\nParent - 'a'\nUser - 'u'\n", kept, &d,
			 &err);
	if (!text)
		fail_msg("%s", err.text);
	assert_non_null(strstr(text, "[Account a]\nParent = root\nShares = 2\nUsers = u\n"
				     "Clusters = x\nQos = normal\nMaxCores = 64\n"));
	/* Its other limits are the dump's, which states none; w is no member any more. */
	assert_non_null(strstr(text, "[Association a/u]\nMaxWalltime = 1:00:00\n\n"));
	assert_null(strstr(text, "a/w"));
	assert_non_null(strstr(text, "MaxRunningCoresPerShare = 20\n"));
	assert_non_null(strstr(text, "[User v]\nMaxRunningCoresPerShare = 3"));
	assert_non_null(strstr(text, "[Allocation a/1]"));
	assert_non_null(strstr(text, "[User u]\nMaxRunningCores = 600"));
	assert_non_null(strstr(text, "[QueueLimits q]"));
	assert_null(strstr(text, "gone"));
}

/* ---- QOS ---- */

static void what_the_cluster_states_is_that_of_each_account_at_the_top(void **state)
{
	(void)state;
	expect_accounts(
		"Cluster - 'c':QOS='normal,low':DefaultQOS='low'\n"
		"Account - 'a'\nAccount - 'b':QOS='high':DefaultQOS='high'\n"
		"Parent - 'a'\nAccount - 'c'\n",
		"[Account a]\nParent = root\nShares = 1\nQos = low, normal\n"
		"DefaultQos = low\n\n"
		"[Account b]\nParent = root\nShares = 1\nQos = high\nDefaultQos = high\n\n"
		"[Account c]\nParent = a\nShares = 1\n");
}

static void names_of_accounts_are_in_small_letters_as_slurm_has_them(void **state)
{
	(void)state;
	expect_accounts("\xef\xbb\xbf"
			"Cluster - 'c'\nAccount - 'Phys'\nParent - 'PHYS'\n"
			"Account - 'Lab'\nParent - 'lab'\n"
			"User - 'Ann':DefaultAccount='LAB':Coordinator='Phys'\n",
			"[Account lab]\nParent = phys\nShares = 1\nUsers = Ann\n\n"
			"[Account phys]\nParent = root\nShares = 1\nCoordinators = Ann\n\n"
			"[User Ann]\nDefaultAccount = lab\n");
}

static void lists_with_signs_change_the_inherited_list(void **state)
{
	(void)state;
	expect_accounts(
		"Cluster - 'c':QOS='normal'\n"
		"Account - 'a':QOS='+high,+low'\nAccount - 'b':QOS+=high\n"
		"Parent - 'a'\nAccount - 'c':QOS='-low,-nosuch'\nAccount - 'd':QOS-=high,normal\n"
		"Parent - 'c'\nAccount - 'e':QOS='only'\n",
		"[Account a]\nParent = root\nShares = 1\nQos = high, low, normal\n\n"
		"[Account b]\nParent = root\nShares = 1\nQos = high, normal\n\n"
		"[Account c]\nParent = a\nShares = 1\nQos = high, normal\n\n"
		"[Account d]\nParent = a\nShares = 1\nQos = low\n\n"
		"[Account e]\nParent = c\nShares = 1\nQos = only\n");
}

static void a_qos_that_accounts_cannot_represent_is_counted(void **state)
{
	_cleanup_(accounts_draft_done) struct accounts_draft d;
	struct err err = { "" };
	_cleanup_free_ char *text =
		read_dump("Cluster - 'c':QOS='normal'\n"
			  "QOS - 'normal':Priority=3\n"
			  "Account - 'a':QOS='-normal'\n"	 /* none is left */
			  "Account - 'b':DefaultQOS='high'\n"	 /* not one of its own */
			  "Account - 'c':QOS='no name,normal'\n" /* dropped, and said */
			  "Parent - 'c'\nUser - 'same':QOS='normal':DefaultQOS=''\n"
			  "User - 'more':QOS='+high'\nUser - 'other':DefaultQOS='normal'\n",
			  NULL, &d, &err);

	(void)state;
	assert_string_equal(err.text, "");
	assert_int_equal(count_notes(&d, "QOS line"), 1);
	assert_int_equal(count_notes(&d, "Account QOS"), 1);
	assert_int_equal(count_notes(&d, "Account DefaultQOS"), 1);
	assert_int_equal(count_notes(&d, "Account QOS=no name"), 1);
	assert_int_equal(count_notes(&d, "User QOS"), 1); /* of more; of same nothing is lost */
	assert_int_equal(count_notes(&d, "User DefaultQOS"), 1);
	assert_string_equal(text, "[Account a]\nParent = root\nShares = 1\n\n"
				  "[Account b]\nParent = root\nShares = 1\nQos = normal\n\n"
				  "[Account c]\nParent = root\nShares = 1\n"
				  "Users = more, other, same\nQos = normal\n");
}

/* A file that states some decides for all accounts; one that states none says nothing of them.
 */
static void the_qos_of_an_account_stay_unless_the_file_states_any(void **state)
{
	static const char before[] =
		"[Account a]\nQos = x\nDefaultQos = x\n[Account b]\nQos = y\n";

	(void)state;
	for (int states = 0; states < 2; states++) {
		_cleanup_(accounts_draft_done) struct accounts_draft d;
		_cleanup_(accounts_freep) struct accounts *kept = NULL;
		_cleanup_free_ char *text = NULL;
		struct err err = { "" };

		assert_int_equal(accounts_parse(before, strlen(before), "kept", &kept, NULL),
				 0);
		text = read_dump(states ? PLAIN "Account - 'a'\nAccount - 'b':QOS='z'\n"
					: PLAIN "Account - 'a'\nAccount - 'b'\n",
				 kept, &d, &err);
		assert_non_null(text);
		assert_int_equal(!!strstr(text, "Qos = x"), !states);
		assert_int_equal(!!strstr(text, "Qos = y"), !states);
		assert_int_equal(!!strstr(text, "Qos = z"), states);
	}
}

static void a_written_dump_is_read_the_same(void **state)
{
	_cleanup_(accounts_freep) struct accounts *a = NULL;
	_cleanup_free_ char *text = NULL;

	(void)state;
	assert_int_equal(accounts_parse(file, strlen(file), "file", &a, NULL), 0);
	assert_int_equal(accounts_sacctmgr_write(a, "main", &text, NULL), 0);
	assert_non_null(strstr(text, "Cluster - 'main':Fairshare=1\nParent - 'root'\n"
				     "Account - 'science':Description="));
	assert_non_null(strstr(text, "User - 'alice':DefaultAccount='physics'"
				     ":Coordinator='physics':Fairshare=10:MaxJobs=5\n"));
	/* sacctmgr makes ` of a quote within a text, and so does the dump. */
	for (char *p = strstr(text, "o`"); p; p = NULL)
		p[1] = '\'';
	for (char *p = strstr(text, "l`s"); p; p = NULL)
		p[1] = '\'';
	expect_accounts(text, file);
}

/* ---- csv ---- */

static char *read_csv(const char *text, struct err *err)
{
	_cleanup_(accounts_draft_done) struct accounts_draft d = { 0 };
	_cleanup_(accounts_freep) struct accounts *a = NULL;
	char path[] = "/tmp/test_accounts_import.XXXXXX", *written = NULL;
	int fd = mkstemp(path);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	accounts_draft_init(&d, path);
	if (accounts_csv_read(&d, err) == 0 && accounts_draft_finish(&d, NULL, &a, err) == 0)
		assert_int_equal(accounts_write(a, &written, NULL), 0);
	unlink(path);
	return written;
}

static void csv_refuses(const char *text, const char *words)
{
	struct err err = { "" };

	assert_null(read_csv(text, &err));
	if (!strstr(err.text, words))
		fail_msg("'%s' lacks '%s'", err.text, words);
}

static void a_table_becomes_accounts_in_any_order(void **state)
{
	struct err err = { "" };
	_cleanup_free_ char *text = read_csv("account,parent,description,shares,user,user_"
					     "shares,coordinator,default_account,"
					     "running_cores,running_memory\n"
					     "physics,science,,20,alice,10,yes,yes,,\n"
					     "physics,science,\"Physics, all\",,,,,,600,2TB\n"
					     "physics,,,,bob,parent,no,,64,\n"
					     "science,,,60,,,,,,\n",
					     &err);

	(void)state;
	assert_string_equal(err.text, "");
	assert_string_equal(text, "[Account physics]\n"
				  "Description = Physics, all\n"
				  "Parent = science\n"
				  "Shares = 20\n"
				  "Users = alice=10, bob=parent\n"
				  "Coordinators = alice\n"
				  "MaxRunningCores = 600\n"
				  "MaxRunningMemory = 2TB\n"
				  "\n"
				  "[Account science]\n"
				  "Parent = root\n"
				  "Shares = 60\n"
				  "\n"
				  "[Association physics/bob]\n"
				  "MaxRunningCores = 64\n"
				  "\n"
				  "[User alice]\n"
				  "DefaultAccount = physics\n");
}

static void faults_of_a_table_name_the_line(void **state)
{
	(void)state;
	csv_refuses("acount\nx\n", "did you mean 'account'?");
	csv_refuses("account,shares\nx,y\n", ":2: shares 'y': it is a whole number, or parent");
	csv_refuses("account,shares\nx,1\nx,2\n", ":3: shares '2': a line before says '1'");
	csv_refuses("account,parent\nx,y\n", ":2: account 'x' is below 'y'");
	csv_refuses("account,parent\nx,y\ny,x\n", "is above itself");
	csv_refuses("account,user\nx,u\nx,u\n", ":3: user 'u' is in account 'x' twice");
	csv_refuses("account,coordinator\nx,yes\n", "of a user, and the line has none");
	csv_refuses("account,user,default_account\nx,u,yes\ny,u,yes\n", "two default accounts");
	csv_refuses("account,running_cores\nx,-1\n", ":2: running_cores '-1'");
	csv_refuses("account\nroot\n", ":2: account 'root'");
	csv_refuses("account\na b\n", ":2: 'a b' is not a name");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_dump_becomes_accounts_with_slurms_inheritance),
		cmocka_unit_test(values_that_reeve_cannot_represent_are_counted),
		cmocka_unit_test(faults_name_file_and_line),
		cmocka_unit_test(
			continued_lines_and_comments_are_read_as_sacctmgr_load_reads_them),
		cmocka_unit_test(minus_one_is_no_limit),
		cmocka_unit_test(allocations_and_limits_that_a_dump_lacks_stay),
		cmocka_unit_test(what_the_cluster_states_is_that_of_each_account_at_the_top),
		cmocka_unit_test(names_of_accounts_are_in_small_letters_as_slurm_has_them),
		cmocka_unit_test(lists_with_signs_change_the_inherited_list),
		cmocka_unit_test(a_qos_that_accounts_cannot_represent_is_counted),
		cmocka_unit_test(the_qos_of_an_account_stay_unless_the_file_states_any),
		cmocka_unit_test(a_written_dump_is_read_the_same),
		cmocka_unit_test(a_table_becomes_accounts_in_any_order),
		cmocka_unit_test(faults_of_a_table_name_the_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
