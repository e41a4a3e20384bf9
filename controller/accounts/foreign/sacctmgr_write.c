/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sacctmgr_write.c - writes a dump, with comments on what it cannot express; see
 * foreign/sacctmgr.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "controller/accounts/foreign/sacctmgr.h"

#define MIB (INT64_C(1) << 20)

struct dump {
	FILE *to;
	const struct accounts *a;
};

/* ---- what a dump cannot express ---- */

static void put_lack(const struct dump *d, size_t n, const char *what)
{
	if (n)
		fprintf(d->to, "# not in this dump: %zu %s\n", n, what);
}

static bool has_upper(const char *name)
{
	for (; *name; name++)
		if (*name >= 'A' && *name <= 'Z')
			return true;
	return false;
}

static size_t count_names(const char *list)
{
	size_t n = list != NULL;

	for (; list && *list; list++)
		n += *list == ',';
	return n;
}

static bool is_limited(const struct accounts_limits *l)
{
	return memcmp(l, &accounts_no_limits, sizeof(*l)) != 0;
}

/* Coordinators who are in no account have no User line to be named on. */
static bool is_anywhere(const struct accounts *a, const char *user)
{
	for (size_t i = 0; i < a->n_accounts; i++)
		if (accounts_member(a, (int32_t)i, user))
			return true;
	return false;
}

static size_t count_outside(const struct accounts *a)
{
	char name[REQUEST_NAME_MAX];
	size_t n = 0;

	for (size_t i = 0; i < a->n_accounts; i++)
		for (const char *list = a->accounts[i].coordinators; list;) {
			size_t size = strcspn(list, ",");

			snprintf(name, sizeof(name), "%.*s", (int)size, list);
			n += !is_anywhere(a, name);
			list = list[size] ? list + size + 1 : NULL;
		}
	return n;
}

static size_t count_uneven(const struct accounts *a)
{
	size_t n = 0;

	for (size_t i = 0; i < a->n_accounts; i++) {
		const struct accounts_account *p = &a->accounts[i];

		n += p->limits.running_memory_bytes % MIB > 0;
		for (size_t k = 0; k < p->n_members; k++)
			n += p->members[k].limits.running_memory_bytes % MIB > 0;
	}
	return n;
}

static void put_lacks(const struct dump *d)
{
	size_t clusters = 0, users = 0, upper = 0;
	size_t per_share = (size_t)accounts_has_per_share(&d->a->defaults.user_per_share) +
			   (size_t)accounts_has_per_share(&d->a->defaults.account_per_share);

	for (size_t i = 0; i < d->a->n_accounts; i++) {
		per_share += accounts_has_per_share(&d->a->accounts[i].per_share);
		clusters += count_names(d->a->accounts[i].clusters) > 0;
		upper += has_upper(d->a->accounts[i].name);
	}
	for (size_t i = 0; i < d->a->n_users; i++) {
		users += is_limited(&d->a->users[i].limits);
		per_share += accounts_has_per_share(&d->a->users[i].per_share);
	}
	put_lack(d, d->a->n_allocations,
		 "allocations (Slurm has GrpTRESMins, without a period)");
	put_lack(d, d->a->n_queues, "limits of queues (Slurm has QOS and partitions)");
	put_lack(d, users,
		 "limits of users over all accounts (Slurm: MaxTRESPerUser of a QOS)");
	put_lack(d, per_share, "limits that are multiples of shares");
	put_lack(d, clusters, "lists of clusters (a dump is of one cluster)");
	put_lack(d, count_outside(d->a), "coordinators who are in no account");
	put_lack(d, count_uneven(d->a), "parts of a MiB of limits of memory, rounded down");
	if (upper)
		fprintf(d->to,
			"# %zu accounts have capital letters: sacctmgr load makes them small\n",
			upper);
}

/* ---- lines ---- */

/* A text in quotes; quotes in it become backquotes, as in sacctmgr's own dumps. */
static void put_text(const struct dump *d, const char *key, const char *text)
{
	fprintf(d->to, ":%s='", key);
	for (; *text; text++) {
		if (*text == '\\' || *text == '#')
			fputc('\\', d->to);
		fputc(*text == '\'' || *text == '"' ? '`' : *text, d->to);
	}
	fputc('\'', d->to);
}

static void put_count(const struct dump *d, const char *key, int64_t n)
{
	if (n != ACCOUNTS_NO_LIMIT)
		fprintf(d->to, ":%s=%" PRId64, key, n);
}

static void put_tres(const struct dump *d, const struct accounts_limits *l)
{
	const char *sign = ":GrpTRES=";

	if (l->running_cores != ACCOUNTS_NO_LIMIT) {
		fprintf(d->to, "%scpu=%" PRId64, sign, l->running_cores);
		sign = ",";
	}
	if (l->running_memory_bytes != ACCOUNTS_NO_LIMIT) {
		fprintf(d->to, "%smem=%" PRId64 "M", sign, l->running_memory_bytes / MIB);
		sign = ",";
	}
	if (l->running_gpus != ACCOUNTS_NO_LIMIT)
		fprintf(d->to, "%sgres/gpu=%" PRId64, sign, l->running_gpus);
}

static void put_shares(const struct dump *d, int64_t shares)
{
	if (shares == FAIRSHARE_PARENT)
		fputs(":Fairshare=parent", d->to);
	else
		fprintf(d->to, ":Fairshare=%" PRId64, shares);
}

static void put_account(const struct dump *d, const struct accounts_account *p)
{
	fprintf(d->to, "Account - '%s'", p->name);
	if (p->description)
		put_text(d, "Description", p->description);
	put_shares(d, p->shares);
	put_tres(d, &p->limits);
	put_count(d, "GrpJobs", p->limits.running_jobs);
	put_count(d, "GrpSubmitJobs", p->limits.queued_jobs);
	if (*p->default_qos)
		put_text(d, "DefaultQOS", p->default_qos);
	if (p->qos)
		put_text(d, "QOS", p->qos);
	fputc('\n', d->to);
}

static bool is_named(const char *list, const char *name)
{
	size_t n = strlen(name);

	for (; list; list = strchr(list, ',') ? strchr(list, ',') + 1 : NULL)
		if (!strncmp(list, name, n) && (!list[n] || list[n] == ','))
			return true;
	return false;
}

static void put_coordinates(const struct dump *d, const char *user)
{
	const char *sign = ":Coordinator='";

	for (size_t i = 0; i < d->a->n_accounts; i++) {
		if (!is_named(d->a->accounts[i].coordinators, user))
			continue;
		fprintf(d->to, "%s%s", sign, d->a->accounts[i].name);
		sign = ",";
	}
	if (*sign == ',')
		fputc('\'', d->to);
}

static void put_user(const struct dump *d, const struct accounts_member *m)
{
	const struct accounts_user *u = accounts_user(d->a, m->user);

	fprintf(d->to, "User - '%s'", m->user);
	if (u && *u->default_account)
		fprintf(d->to, ":DefaultAccount='%s'", u->default_account);
	put_coordinates(d, m->user);
	put_shares(d, m->shares);
	put_tres(d, &m->limits);
	put_count(d, "MaxJobs", m->limits.running_jobs);
	put_count(d, "MaxSubmitJobs", m->limits.queued_jobs);
	fputc('\n', d->to);
}

/* Writes what is directly below an account (-1: the root). */
static void put_level(const struct dump *d, int32_t above)
{
	const struct accounts_account *p = above < 0 ? NULL : &d->a->accounts[above];
	bool is_empty = above >= 0 && p->n_members == 0;

	for (size_t i = 0; is_empty && i < d->a->n_accounts; i++)
		is_empty = d->a->accounts[i].parent != above;
	if (is_empty)
		return;
	fprintf(d->to, "Parent - '%s'\n", p ? p->name : ACCOUNTS_ROOT);
	for (size_t i = 0; i < d->a->n_accounts; i++)
		if (d->a->accounts[i].parent == above)
			put_account(d, &d->a->accounts[i]);
	for (size_t i = 0; p && i < p->n_members; i++)
		put_user(d, &p->members[i]);
}

/* Writes the tree breadth first: sacctmgr load needs an account's line before those below it.
 * parents[]: the queue of accounts whose level is still to be written. */
static int put_tree(const struct dump *d)
{
	_cleanup_free_ int32_t *parents = calloc(d->a->n_accounts + 1, sizeof(*parents));
	size_t n = 0;

	if (!parents)
		return -ENOMEM;
	parents[n++] = -1;
	for (size_t i = 0; i < n; i++) {
		put_level(d, parents[i]);
		for (size_t k = 0; k < d->a->n_accounts; k++)
			if (d->a->accounts[k].parent == parents[i])
				parents[n++] = (int32_t)k;
	}
	return 0;
}

int accounts_sacctmgr_write(const struct accounts *a, const char *cluster, char **ret,
			    struct err *err)
{
	_cleanup_free_ char *text = NULL;
	size_t size;
	struct dump d = { open_memstream(&text, &size), a };
	int bad;

	if (!d.to)
		return err_set(err, -ENOMEM, "out of memory");
	put_lacks(&d);
	fprintf(d.to, "Cluster - '%s':Fairshare=1\n", cluster);
	bad = put_tree(&d) < 0 || ferror(d.to);
	if (fclose(d.to) != 0 || bad)
		return err_set(err, -ENOMEM, "out of memory");
	*ret = TAKE_PTR(text);
	return 0;
}
