/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_sacctmgr_plan - the commands of sacctmgr that remove a difference: a sacctmgr of the test's own carries them out, and then there is
 * none. They come in an order that slurmdbd accepts. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "controller/accounts/foreign/sacctmgr.h"
#include "controller/accounts/foreign/sacctmgr_plan.h"

#define MOST 64
#define TEXT_MAX 64

/* An association: of an account, or of a user in one. */
struct row {
	char account[TEXT_MAX], user[TEXT_MAX], parent[TEXT_MAX], shares[TEXT_MAX];
	char cores[TEXT_MAX], gpus[TEXT_MAX], memory[TEXT_MAX], jobs[TEXT_MAX],
		submit[TEXT_MAX];
	char coordinators[256]; /* of an account, with a comma behind each */
};

/* What slurmdbd has, and the commands that it got. */
struct world {
	struct row rows[MOST];
	size_t n;
	char log[8192];
	size_t n_commands;
};

static struct row *find_row(struct world *w, const char *account, const char *user)
{
	for (size_t i = 0; i < w->n; i++)
		if (!strcmp(w->rows[i].account, account) && !strcmp(w->rows[i].user, user))
			return &w->rows[i];
	return NULL;
}

static struct row *add_row(struct world *w, const char *account, const char *user)
{
	struct row *row = &w->rows[w->n++];

	assert_true(w->n <= MOST);
	memset(row, 0, sizeof(*row));
	snprintf(row->account, TEXT_MAX, "%s", account);
	snprintf(row->user, TEXT_MAX, "%s", user);
	snprintf(row->shares, TEXT_MAX, "1");
	return row;
}

static void remove_row(struct world *w, struct row *row)
{
	*row = w->rows[--w->n];
}

/* The value of KEY=value among the words; NULL: there is none. */
static const char *value_of(const char *const *args, const char *key)
{
	size_t size = strlen(key);

	for (; *args; args++)
		if (!strncmp(*args, key, size) && (*args)[size] == '=')
			return *args + size + 1;
	return NULL;
}

static void set_value(char to[static TEXT_MAX], const char *value)
{
	if (value)
		snprintf(to, TEXT_MAX, "%s", strcmp(value, "-1") != 0 ? value : "");
}

static void set_row(struct row *row, const char *const *args)
{
	const char *tres = value_of(args, "grptres");

	set_value(row->shares, value_of(args, "fairshare"));
	set_value(row->parent, value_of(args, "parent"));
	set_value(row->jobs, value_of(args, *row->user ? "maxjobs" : "grpjobs"));
	set_value(row->submit, value_of(args, *row->user ? "maxsubmitjobs" : "grpsubmitjobs"));
	if (tres && !strncmp(tres, "cpu=", 4))
		set_value(row->cores, tres + 4);
	else if (tres && !strncmp(tres, "gres/gpu=", 9))
		set_value(row->gpus, tres + 9);
	else if (tres && !strncmp(tres, "mem=", 4))
		set_value(row->memory, tres + 4);
}

static void change_coordinator(struct world *w, const char *const *args, bool is_add)
{
	struct row *row = find_row(w, value_of(args, "account"), "");
	char name[TEXT_MAX], rest[256];
	char *at;

	assert_non_null(row);
	snprintf(name, sizeof(name), "%s,", value_of(args, "names"));
	at = strstr(row->coordinators, name);
	assert_true(is_add == !at);
	if (is_add) {
		strncat(row->coordinators, name,
			sizeof(row->coordinators) - 1 - strlen(row->coordinators));
		return;
	}
	snprintf(rest, sizeof(rest), "%s", at + strlen(name));
	memcpy(at, rest, strlen(rest) + 1);
}

/* slurmdbd refuses to delete what has something below it. */
static void delete_account(struct world *w, const char *name)
{
	struct row *row = find_row(w, name, "");

	assert_non_null(row);
	for (size_t i = 0; i < w->n; i++) {
		assert_string_not_equal(w->rows[i].parent, name);
		assert_true(!*w->rows[i].user || strcmp(w->rows[i].account, name) != 0);
	}
	remove_row(w, row);
}

static int run_command(void *ctx, const char *const *args, struct err *err)
{
	struct world *w = ctx;
	const char *name = value_of(args, "name"), *account = value_of(args, "account");
	bool is_user = !strcmp(args[1], "user");
	struct row *row;

	(void)err;
	w->n_commands++;
	for (size_t i = 0; args[i]; i++)
		snprintf(w->log + strlen(w->log), sizeof(w->log) - strlen(w->log), "%s%s",
			 args[i], args[i + 1] ? " " : "\n");
	if (!strcmp(args[1], "coordinator")) {
		change_coordinator(w, args, !strcmp(args[0], "add"));
		return 0;
	}
	assert_string_equal(value_of(args, "cluster"), "vc");
	row = find_row(w, is_user ? account : name, is_user ? name : "");
	if (!strcmp(args[0], "add")) {
		assert_null(row);
		set_row(add_row(w, account, name), args);
	} else if (!strcmp(args[0], "modify")) {
		assert_non_null(row);
		set_row(row, args);
	} else if (is_user) {
		assert_non_null(row);
		remove_row(w, row);
	} else {
		delete_account(w, name);
	}
	return 0;
}

/* ---- the world as a dump ---- */

static void put_option(FILE *to, const char *key, const char *value)
{
	if (*value)
		fprintf(to, ":%s%s", key, value);
}

static void put_row(FILE *to, const struct world *w, const struct row *row)
{
	const char *comma = "";

	fprintf(to, "%s - '%s':Fairshare=%s", *row->user ? "User" : "Account",
		*row->user ? row->user : row->account, row->shares);
	put_option(to, *row->user ? "MaxJobs=" : "GrpJobs=", row->jobs);
	put_option(to, *row->user ? "MaxSubmitJobs=" : "GrpSubmitJobs=", row->submit);
	if (*row->cores || *row->gpus || *row->memory) {
		fprintf(to, ":GrpTRES=");
		if (*row->cores)
			comma = fprintf(to, "cpu=%s", row->cores) ? "," : "";
		if (*row->gpus)
			comma = fprintf(to, "%sgres/gpu=%s", comma, row->gpus) ? "," : "";
		if (*row->memory)
			fprintf(to, "%smem=%s", comma, row->memory);
	}
	for (size_t i = 0; i < w->n && *row->user; i++) {
		char name[TEXT_MAX];

		snprintf(name, sizeof(name), "%s,", row->user);
		if (strstr(w->rows[i].coordinators, name))
			fprintf(to, ":Coordinator='%s'", w->rows[i].account);
	}
	fprintf(to, "\n");
}

static void put_below(FILE *to, const struct world *w, const char *parent)
{
	fprintf(to, "Parent - '%s'\n", parent);
	for (size_t i = 0; i < w->n; i++)
		if (*w->rows[i].user ? !strcmp(w->rows[i].account, parent)
				     : !strcmp(w->rows[i].parent, parent))
			put_row(to, w, &w->rows[i]);
	for (size_t i = 0; i < w->n; i++)
		if (!*w->rows[i].user && !strcmp(w->rows[i].parent, parent))
			put_below(to, w, w->rows[i].account);
}

static struct accounts *read_world(const struct world *w)
{
	_cleanup_(accounts_draft_done) struct accounts_draft d;
	struct accounts *a = NULL;
	struct err err = { "" };
	size_t size;
	char *text;
	FILE *to = open_memstream(&text, &size);

	fprintf(to, "Cluster - 'vc':Fairshare=1\n");
	put_below(to, w, ACCOUNTS_ROOT);
	fclose(to);
	accounts_draft_init(&d, "dump");
	if (accounts_sacctmgr_parse(&d, text, size, &err) < 0 ||
	    accounts_draft_finish(&d, NULL, &a, &err) < 0)
		fail_msg("%s in\n%s", err.text, text);
	free(text);
	return a;
}

/* ---- laws ---- */

static struct accounts *parse_accounts(const char *text)
{
	struct accounts *a = NULL;
	struct err err = { "" };

	if (accounts_parse(text, strlen(text), "accounts.conf", &a, &err) < 0)
		fail_msg("%s", err.text);
	return a;
}

static void set_number(char to[static TEXT_MAX], int64_t n, const char *unit)
{
	if (n >= 0)
		snprintf(to, TEXT_MAX, "%lld%s", (long long)n, unit);
}

static void fill_row(struct row *row, int64_t shares, const struct accounts_limits *l)
{
	snprintf(row->shares, TEXT_MAX, shares == FAIRSHARE_PARENT ? "parent" : "%lld",
		 (long long)shares);
	set_number(row->cores, l->running_cores, "");
	set_number(row->gpus, l->running_gpus, "");
	set_number(row->memory,
		   l->running_memory_bytes < 0 ? -1 : l->running_memory_bytes >> 20, "M");
	set_number(row->jobs, l->running_jobs, "");
	set_number(row->submit, l->queued_jobs, "");
}

static void fill_world(struct world *w, const struct accounts *a)
{
	memset(w, 0, sizeof(*w));
	for (size_t i = 0; i < a->n_accounts; i++) {
		const struct accounts_account *p = &a->accounts[i];
		struct row *row = add_row(w, p->name, "");

		fill_row(row, p->shares, &p->limits);
		snprintf(row->parent, TEXT_MAX, "%s",
			 p->parent < 0 ? ACCOUNTS_ROOT : a->accounts[p->parent].name);
		if (p->coordinators)
			snprintf(row->coordinators, sizeof(row->coordinators), "%s,",
				 p->coordinators);
		for (size_t k = 0; k < p->n_members; k++)
			fill_row(add_row(w, p->name, p->members[k].user), p->members[k].shares,
				 &p->members[k].limits);
	}
}

/* Accounts are added by `sacctmgr load`; what it leaves is the plan's. */
static void load_new_accounts(struct world *w, const struct accounts *want)
{
	for (size_t i = 0; i < want->n_accounts; i++) {
		const struct accounts_account *p = &want->accounts[i];

		if (find_row(w, p->name, ""))
			continue;
		snprintf(add_row(w, p->name, "")->parent, TEXT_MAX, "%s",
			 p->parent < 0 ? ACCOUNTS_ROOT : want->accounts[p->parent].name);
	}
}

/* Plans from what the world has; how many commands it took. */
static size_t carry_out(struct world *w, const struct accounts *want)
{
	_cleanup_(accounts_freep) struct accounts *have = read_world(w);
	_cleanup_(accounts_diff_freep) struct accounts_diff *d = NULL;
	const struct sacctmgr_plan plan = { have, "vc", run_command, w };
	struct err err = { "" };

	w->n_commands = 0;
	assert_int_equal(accounts_diff(have, want, &d, &err), 0);
	if (sacctmgr_plan(&plan, d, &err) < 0)
		fail_msg("%s", err.text);
	return w->n_commands;
}

#define EMPTY "[Account lone]\n"
#define SMALL "[Account physics]\nShares = 3\nUsers = alice, bob=5\nCoordinators = alice\n"
#define RICH                                                                                       \
	"[Account science]\nShares = 60\nMaxRunningCores = 600\nMaxRunningMemory = 2GiB\n"         \
	"[Account physics]\nParent = science\nShares = parent\nUsers = alice=parent, carol, set\n" \
	"Coordinators = carol\nMaxRunningJobs = 7\nMaxQueuedJobs = 0\n"                            \
	"[Account optics]\nParent = physics\nUsers = alice, dora\n"                                \
	"[Association optics/dora]\nMaxRunningJobs = 2\nMaxRunningGpus = 4\nMaxQueuedJobs = 9\n"
#define OTHER                                                                                    \
	"[Account science]\nUsers = alice\n[Account optics]\nParent = science\nUsers = dora=4\n" \
	"Coordinators = dora\nMaxRunningCores = 1\n[Association optics/dora]\nMaxRunningCores = 3\n"

static const char *const worlds[] = { EMPTY, SMALL, RICH, OTHER };

static void nothing_to_do_gives_no_command(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(worlds); i++) {
		_cleanup_(accounts_freep) struct accounts *a = parse_accounts(worlds[i]);
		struct world w;

		fill_world(&w, a);
		assert_int_equal(carry_out(&w, a), 0);
	}
}

static void from_each_world_to_each_other_and_then_nothing(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(worlds); i++)
		for (size_t k = 0; k < ARRAY_LEN(worlds); k++) {
			_cleanup_(accounts_freep) struct accounts *have =
				parse_accounts(worlds[i]);
			_cleanup_(accounts_freep) struct accounts *want =
				parse_accounts(worlds[k]);
			struct world w;

			fill_world(&w, have);
			load_new_accounts(&w, want);
			assert_true((carry_out(&w, want) > 0) == (i != k));
			if (carry_out(&w, want) != 0)
				fail_msg("from %zu to %zu a second time:\n%s", i, k, w.log);
		}
}

static void users_go_before_accounts_and_the_deepest_account_first(void **state)
{
	_cleanup_(accounts_freep) struct accounts *have = parse_accounts(RICH);
	_cleanup_(accounts_freep) struct accounts *want = parse_accounts(EMPTY);
	struct world w;
	const char *users, *optics, *physics, *science;

	(void)state;
	fill_world(&w, have);
	load_new_accounts(&w, want);
	carry_out(&w, want);
	users = strstr(w.log, "delete user where name=dora account=optics cluster=vc\n");
	optics = strstr(w.log, "delete account where name=optics cluster=vc\n");
	physics = strstr(w.log, "delete account where name=physics cluster=vc\n");
	science = strstr(w.log, "delete account where name=science cluster=vc\n");
	assert_true(users && optics && physics && science);
	assert_true(users < optics && optics < physics && physics < science);
	assert_null(strstr(w.log, "modify"));
}

static void a_limit_that_is_no_more_is_cleared(void **state)
{
	_cleanup_(accounts_freep) struct accounts *have = parse_accounts(
		"[Account a]\nMaxRunningCores = 5\nUsers = u\n[Association a/u]\nMaxQueuedJobs = 0\n");
	_cleanup_(accounts_freep) struct accounts *want =
		parse_accounts("[Account a]\nUsers = u\n");
	struct world w;

	(void)state;
	fill_world(&w, have);
	assert_int_equal(carry_out(&w, want), 2);
	assert_non_null(
		strstr(w.log, "modify account where name=a cluster=vc set grptres=cpu=-1\n"));
	assert_non_null(strstr(
		w.log, "modify user where name=u account=a cluster=vc set maxsubmitjobs=-1\n"));
}

static void a_name_that_is_a_word_of_sacctmgr_is_a_name(void **state)
{
	_cleanup_(accounts_freep) struct accounts *have = parse_accounts("[Account a]\n");
	_cleanup_(accounts_freep) struct accounts *want =
		parse_accounts("[Account a]\nUsers = set, where\n");
	struct world w;

	(void)state;
	fill_world(&w, have);
	carry_out(&w, want);
	assert_non_null(strstr(w.log, "add user name=set account=a cluster=vc fairshare=1\n"));
	assert_non_null(
		strstr(w.log, "add user name=where account=a cluster=vc fairshare=1\n"));
}

static void hostile_names_are_refused_before_any_command(void **state)
{
	static const char *const names[] = { "a,b",   "a b",  "-i",   "a'b", "",
					     "a/b/c", "$(x)", "a\nb", "a=b" };
	struct world w = { .n = 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct accounts_change changes[] = {
			{ ACCOUNTS_SET, "Account", "good", "Shares", NULL, "1", "2" },
			{ ACCOUNTS_ADD, "Account", "good", "Users", names[i], NULL, "1" },
		};
		struct accounts_diff d = { changes, ARRAY_LEN(changes) };
		struct accounts none = { .n_accounts = 0 };
		struct sacctmgr_plan plan = { &none, "vc", run_command, &w };
		struct err err = { "" };

		assert_int_equal(sacctmgr_plan(&plan, &d, &err), -EINVAL);
		changes[1] =
			(struct accounts_change){ ACCOUNTS_SET, "Account", names[i], "Shares",
						  NULL,		"1",	   "2" };
		assert_int_equal(sacctmgr_plan(&plan, &d, &err), -EINVAL);
		d.n = 1;
		plan.cluster = names[i];
		assert_int_equal(sacctmgr_plan(&plan, &d, &err), -EINVAL);
	}
	assert_int_equal(w.n_commands, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_to_do_gives_no_command),
		cmocka_unit_test(from_each_world_to_each_other_and_then_nothing),
		cmocka_unit_test(users_go_before_accounts_and_the_deepest_account_first),
		cmocka_unit_test(a_limit_that_is_no_more_is_cleared),
		cmocka_unit_test(a_name_that_is_a_word_of_sacctmgr_is_a_name),
		cmocka_unit_test(hostile_names_are_refused_before_any_command),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
