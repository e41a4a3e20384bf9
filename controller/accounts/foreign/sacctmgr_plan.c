/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sacctmgr_plan.c - turns changes of accounts.conf's statements into commands of sacctmgr; see sacctmgr_plan.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "common/model/amount.h"
#include "controller/accounts/foreign/sacctmgr_plan.h"

#define WORD_MAX 1200

static bool is_key(const struct accounts_change *c, const char *section, const char *key)
{
	return !strcmp(c->section, section) && c->key && !strcmp(c->key, key);
}

bool sacctmgr_plan_counts(const struct accounts_change *c)
{
	static const char *const slurms[] = { "Description", "Qos", "DefaultQos",
					      "DefaultAccount" };
	bool is_account = !strcmp(c->section, "Account");

	if (!is_account && strcmp(c->section, "Association") != 0 &&
	    !is_key(c, "User", "DefaultAccount"))
		return false;
	if (!c->key) /* of an association its keys count */
		return is_account;
	for (size_t i = 0; i < ARRAY_LEN(slurms) && c->op == ACCOUNTS_REMOVE; i++)
		if (!strcmp(c->key, slurms[i]))
			return false;
	return true;
}

/* ---- one statement ---- */

/* "set KEY=VALUE" of a limit that is stated, or is cleared. False: not a limit. */
static bool word_limit(const struct accounts_change *c, bool is_user,
		       char word[static WORD_MAX])
{
	static const struct {
		const char *key, *account, *user;
	} rows[] = {
		{ "MaxRunningCores", "grptres=cpu", "grptres=cpu" },
		{ "MaxRunningGpus", "grptres=gres/gpu", "grptres=gres/gpu" },
		{ "MaxRunningMemory", "grptres=mem", "grptres=mem" },
		{ "MaxRunningJobs", "grpjobs", "maxjobs" },
		{ "MaxQueuedJobs", "grpsubmitjobs", "maxsubmitjobs" },
	};
	int64_t bytes;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *key = is_user ? rows[i].user : rows[i].account;

		if (strcmp(c->key, rows[i].key) != 0)
			continue;
		if (!c->new_value)
			snprintf(word, WORD_MAX, "%s=-1", key);
		else if (strcmp(c->key, "MaxRunningMemory") != 0 ||
			 amount_parse_bytes(c->new_value, &bytes, NULL) < 0)
			snprintf(word, WORD_MAX, "%s=%s", key, c->new_value);
		else
			snprintf(word, WORD_MAX, "%s=%" PRId64 "M", key, bytes >> 20);
		return true;
	}
	return false;
}

/* What `modify account ... set` takes. False: nothing of Slurm's. */
static bool word_account(const struct accounts_change *c, char word[static WORD_MAX])
{
	static const struct {
		const char *key, *slurm, *cleared;
	} rows[] = {
		{ "Shares", "fairshare", "1" },		{ "Parent", "parent", ACCOUNTS_ROOT },
		{ "Description", "description", NULL }, { "Qos", "qos", NULL },
		{ "DefaultQos", "defaultqos", NULL },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *value = c->new_value ? c->new_value : rows[i].cleared;

		if (strcmp(c->key, rows[i].key) != 0)
			continue;
		if (value)
			snprintf(word, WORD_MAX, "%s=%s", rows[i].slurm, value);
		return value != NULL;
	}
	return word_limit(c, false, word);
}

/* ---- commands ---- */

static int emit_account(const struct sacctmgr_plan *p, const struct accounts_change *c,
			struct err *err)
{
	char word[WORD_MAX], name[WORD_MAX], cluster[WORD_MAX];
	const char *const args[] = { "modify", "account", "where", name,
				     cluster,  "set",	  word,	   NULL };

	snprintf(name, sizeof(name), "name=%s", c->name);
	snprintf(cluster, sizeof(cluster), "cluster=%s", p->cluster);
	return word_account(c, word) ? p->fn(p->ctx, args, err) : 0;
}

/* `set`: a word of `modify user`, NULL: removes the user from the account. */
static int emit_user(const struct sacctmgr_plan *p, const char *account, const char *user,
		     const char *set, struct err *err)
{
	char name[WORD_MAX], of[WORD_MAX], cluster[WORD_MAX];
	const char *const modify[] = { "modify", "user", "where", name, of,
				       cluster,	 "set",	 set,	  NULL };
	const char *const delete[] = { "delete", "user", "where", name, of, cluster, NULL };

	snprintf(name, sizeof(name), "name=%s", user);
	snprintf(of, sizeof(of), "account=%s", account);
	snprintf(cluster, sizeof(cluster), "cluster=%s", p->cluster);
	return p->fn(p->ctx, set ? modify : delete, err);
}

static int emit_member(const struct sacctmgr_plan *p, const struct accounts_change *c,
		       struct err *err)
{
	char word[WORD_MAX], name[WORD_MAX], account[WORD_MAX], cluster[WORD_MAX];
	const char *const add[] = { "add", "user", name, account, cluster, word, NULL };

	snprintf(word, sizeof(word), "fairshare=%s", c->new_value ? c->new_value : "1");
	if (c->op != ACCOUNTS_ADD)
		return emit_user(p, c->name, c->item, c->op == ACCOUNTS_SET ? word : NULL, err);
	/* A bare name could be one of sacctmgr's words: a user 'set'. */
	snprintf(name, sizeof(name), "name=%s", c->item);
	snprintf(account, sizeof(account), "account=%s", c->name);
	snprintf(cluster, sizeof(cluster), "cluster=%s", p->cluster);
	return p->fn(p->ctx, add, err);
}

static int emit_coordinator(const struct sacctmgr_plan *p, const struct accounts_change *c,
			    struct err *err)
{
	char account[WORD_MAX], names[WORD_MAX];
	const char *const args[] = { c->op == ACCOUNTS_REMOVE ? "delete" : "add", "coordinator",
				     account, names, NULL };

	snprintf(account, sizeof(account), "account=%s", c->name);
	snprintf(names, sizeof(names), "names=%s", c->item);
	return p->fn(p->ctx, args, err);
}

/* "physics/alice" */
static int emit_association(const struct sacctmgr_plan *p, const struct accounts_change *c,
			    struct err *err)
{
	const char *slash = strchr(c->name, '/');
	char word[WORD_MAX], account[REQUEST_NAME_MAX];

	if (!slash || !word_limit(c, true, word))
		return 0;
	snprintf(account, sizeof(account), "%.*s", (int)(slash - c->name), c->name);
	return emit_user(p, account, slash + 1, word, err);
}

static int emit_default(const struct sacctmgr_plan *p, const struct accounts_change *c,
			struct err *err)
{
	char name[WORD_MAX], cluster[WORD_MAX], word[WORD_MAX];
	const char *const args[] = {
		"modify", "user", "where", name, cluster, "set", word, NULL
	};

	snprintf(name, sizeof(name), "name=%s", c->name);
	snprintf(cluster, sizeof(cluster), "cluster=%s", p->cluster);
	snprintf(word, sizeof(word), "defaultaccount=%s", c->new_value);
	return p->fn(p->ctx, args, err);
}

static int emit_change(const struct sacctmgr_plan *p, const struct accounts_change *c,
		       struct err *err)
{
	if (is_key(c, "User", "DefaultAccount"))
		return emit_default(p, c, err);
	if (!strcmp(c->section, "Association"))
		return emit_association(p, c, err);
	if (!strcmp(c->key, "Users"))
		return c->item ? emit_member(p, c, err) : 0;
	if (!strcmp(c->key, "Coordinators"))
		return c->item ? emit_coordinator(p, c, err) : 0;
	return emit_account(p, c, err);
}

/* ---- what goes ---- */

static bool is_account_removed(const struct accounts_diff *d, const char *name)
{
	for (size_t i = 0; i < d->n; i++)
		if (!d->changes[i].key && d->changes[i].op == ACCOUNTS_REMOVE &&
		    !strcmp(d->changes[i].section, "Account") &&
		    !strcmp(d->changes[i].name, name))
			return true;
	return false;
}

static int depth_of(const struct accounts *a, int32_t account)
{
	int depth = 0;

	for (; account >= 0; account = a->accounts[account].parent)
		depth++;
	return depth;
}

static int remove_accounts(const struct sacctmgr_plan *p, const struct accounts_diff *d,
			   struct err *err)
{
	int deepest = 0, r = 0;

	for (size_t i = 0; i < p->was->n_accounts; i++) {
		int depth = depth_of(p->was, (int32_t)i);

		deepest = depth > deepest ? depth : deepest;
	}
	for (int depth = deepest; depth > 0; depth--)
		for (size_t i = 0; i < p->was->n_accounts && r >= 0; i++) {
			char name[WORD_MAX], cluster[WORD_MAX];
			const char *const args[] = { "delete", "account", "where",
						     name,     cluster,	  NULL };

			if (depth_of(p->was, (int32_t)i) != depth ||
			    !is_account_removed(d, p->was->accounts[i].name))
				continue;
			snprintf(name, sizeof(name), "name=%s", p->was->accounts[i].name);
			snprintf(cluster, sizeof(cluster), "cluster=%s", p->cluster);
			r = p->fn(p->ctx, args, err);
		}
	return r;
}

/* Of an account that goes only its users are removed one by one. */
static bool is_of_removed(const struct accounts_diff *d, const struct accounts_change *c)
{
	char account[REQUEST_NAME_MAX];

	if (c->op != ACCOUNTS_REMOVE || (c->key && !strcmp(c->key, "Users")) ||
	    !strcmp(c->section, "User"))
		return false;
	snprintf(account, sizeof(account), "%.*s", (int)strcspn(c->name, "/"), c->name);
	return is_account_removed(d, account);
}

/* sacctmgr takes a comma for a list of names, and a quote for the begin of a text. */
static int check_names(const struct accounts_change *c, struct err *err)
{
	char account[WORD_MAX];
	const char *slash = strchr(c->name, '/');
	bool is_list = c->key && (!strcmp(c->key, "Users") || !strcmp(c->key, "Coordinators"));
	int r;

	snprintf(account, sizeof(account), "%.*s", (int)strcspn(c->name, "/"), c->name);
	r = request_check_name(account, err);
	if (r >= 0 && slash)
		r = request_check_name(slash + 1, err);
	return r < 0 || !is_list || !c->item ? r : request_check_name(c->item, err);
}

int sacctmgr_plan(const struct sacctmgr_plan *p, const struct accounts_diff *d, struct err *err)
{
	int r = request_check_name(p->cluster, err);

	for (size_t i = 0; i < d->n && r >= 0; i++)
		if (sacctmgr_plan_counts(&d->changes[i]))
			r = check_names(&d->changes[i], err);

	for (size_t i = 0; i < d->n && r >= 0; i++) {
		const struct accounts_change *c = &d->changes[i];

		if (c->key && sacctmgr_plan_counts(c) && !is_of_removed(d, c))
			r = emit_change(p, c, err);
	}
	return r < 0 ? r : remove_accounts(p, d, err);
}
