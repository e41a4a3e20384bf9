/* SPDX-License-Identifier: GPL-2.0-or-later */
/* groups.c - finds the shares of the groups of a trace, and writes what they used. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "cli/simulate/groups.h"
#include "common/err.h"

static const struct table_column columns[] = {
	{ "profile", "PROFILE", CELL_TEXT },
	{ "group", "GROUP", CELL_TEXT },
	{ "shares", "SHARES", CELL_COUNT },
	{ "used_core_s", "USED", CELL_FIGURE },
	{ "got_core_s", "GOT", CELL_FIGURE },
	{ "entitled_core_s", "ENTITLED", CELL_FIGURE },
	{ "deviation", "DEVIATION", CELL_FIGURE },
	{ 0 },
};

/* ---- shares ---- */

static int find_share(const char *path, const struct accounts_account *a, int64_t *ret,
		      struct err *err)
{
	if (a->parent >= 0 || a->shares == FAIRSHARE_PARENT)
		return err_set(err, -EINVAL,
			       "%.200s: account '%s' is a group of the trace: put it directly "
			       "below the root, with Shares of its own",
			       path, a->name);
	*ret = a->shares;
	return 0;
}

int simulate_find_shares(const struct accounts *accounts, const char *path,
			 const struct sim_trace *t, int64_t **ret, struct err *err)
{
	_cleanup_free_ int64_t *shares = malloc((t->groups.n + 1) * sizeof(*shares));
	int r = 0;

	if (!shares)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t g = 0; g < t->groups.n && r == 0; g++) {
		char name[SIM_NAME_MAX];

		shares[g] = 1;
		sim_trace_group(t, (uint32_t)g, name);
		for (size_t i = 0; i < accounts->n_accounts && r == 0; i++)
			if (!strcmp(accounts->accounts[i].name, name))
				r = find_share(path, &accounts->accounts[i], &shares[g], err);
	}
	if (r == 0)
		*ret = TAKE_PTR(shares);
	return r;
}

/* ---- what each used ---- */

int simulate_groups_new(struct table **ret, struct err *err)
{
	return table_new("groups", columns, ret, err);
}

void simulate_groups_add(struct table *to, const char *profile, const struct sim_replay *r)
{
	for (uint32_t i = 0; i < r->trace->groups.n; i++) {
		struct sim_group g;
		char name[SIM_NAME_MAX];

		sim_fairness_group(r->fair, i, &g);
		table_row(to);
		table_text(to, "profile", profile);
		table_text(to, "group", sim_trace_group(r->trace, i, name));
		table_int(to, "shares", g.shares);
		table_decimal(to, "used_core_s", 0, g.used_s);
		table_decimal(to, "got_core_s", 0, g.got_s);
		table_decimal(to, "entitled_core_s", 0, g.entitled_s);
		table_decimal(to, "deviation", 6, g.deviation);
	}
}

int simulate_groups_write(const char *path, const struct table *t, struct err *err)
{
	struct table_format f = { .output = TABLE_CSV, .to = fopen(path, "we") };
	int r, bad;

	if (!f.to)
		return err_set(err, -errno, "cannot write %.200s: %m", path);
	r = table_print(t, &f, err);
	bad = ferror(f.to);
	if (fclose(f.to) != 0 || bad)
		return err_set(err, errno ? -errno : -EIO, "cannot write %.200s: %m", path);
	return r;
}
