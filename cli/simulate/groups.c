/* SPDX-License-Identifier: GPL-2.0-or-later */
/* groups.c - builds the share tree of a trace's groups, and writes their usage; see groups.h. */
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

/* ---- accounts ---- */

void simulate_groups_done(struct simulate_groups *g)
{
	free(g->accounts);
	free(g->idle);
	free(g->of_group);
	free(g->fair_of);
	free(g->shares);
	free(g->names);
	*g = (struct simulate_groups){ 0 };
}

static size_t count_file(const struct simulate_groups *g)
{
	return g->file ? g->file->n_accounts : 0;
}

static int make_room(struct simulate_groups *g, struct err *err)
{
	size_t groups = g->trace->groups.n + 1, all = count_file(g) + groups, users = 1;

	for (size_t i = 0; i < count_file(g); i++)
		users += g->file->accounts[i].n_members;
	g->accounts = calloc(all, sizeof(*g->accounts));
	g->idle = calloc(users, sizeof(*g->idle));
	g->of_group = calloc(groups, sizeof(*g->of_group));
	g->fair_of = calloc(groups, sizeof(*g->fair_of));
	g->shares = calloc(groups, sizeof(*g->shares));
	g->names = calloc(groups, sizeof(*g->names));
	if (!g->accounts || !g->idle || !g->of_group || !g->fair_of || !g->shares || !g->names)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

/* The accounts of the file keep their indices; groups that it lacks follow. */
static void add_accounts(struct simulate_groups *g)
{
	size_t n = count_file(g);

	for (size_t i = 0; i < n; i++)
		g->accounts[i] = (struct sim_account){ g->file->accounts[i].parent,
						       g->file->accounts[i].shares };
	for (uint32_t i = 0; i < g->trace->groups.n; i++) {
		char name[SIM_NAME_MAX];
		int32_t at = accounts_find(g->file, sim_trace_group(g->trace, i, name));

		if (at < 0) {
			at = (int32_t)n;
			g->accounts[n++] = (struct sim_account){ -1, 1 };
		}
		g->of_group[i] = (uint32_t)at;
	}
	g->tree.accounts = g->accounts;
	g->tree.of_group = g->of_group;
	g->tree.n_accounts = n;
}

/* ---- users ---- */

/* NULL: the file does not have the user in that group. */
static const struct accounts_member *find_member(const struct simulate_groups *g,
						 uint32_t group, uint32_t user)
{
	char name[SIM_NAME_MAX];

	if (g->of_group[group] >= count_file(g))
		return NULL;
	return accounts_member(g->file, (int32_t)g->of_group[group],
			       sim_trace_user(g->trace, user, name));
}

static int64_t find_user_shares(void *ctx, uint32_t group, uint32_t user)
{
	const struct accounts_member *m = find_member(ctx, group, user);

	return m ? m->shares : 1;
}

/* The users of the file who have no job: they count in the order of ranks. has_jobs: a flag for each member, account
 * after account. */
static void add_idle(struct simulate_groups *g, const bool *has_jobs)
{
	for (uint32_t i = 0; i < count_file(g); i++) {
		const struct accounts_account *a = &g->file->accounts[i];

		for (size_t k = 0; k < a->n_members; k++, has_jobs++)
			if (!*has_jobs)
				g->idle[g->tree.n_idle++] =
					(struct sim_idle){ i, a->members[k].shares };
	}
	g->tree.idle = g->idle;
}

static int add_users(struct simulate_groups *g, struct err *err)
{
	_cleanup_free_ size_t *first = calloc(count_file(g) + 1, sizeof(*first));
	_cleanup_free_ bool *has_jobs = NULL;
	const struct sim_job *last = NULL;

	g->tree.user_shares = find_user_shares;
	g->tree.ctx = g;
	for (size_t i = 0; first && i < count_file(g); i++)
		first[i + 1] = first[i] + g->file->accounts[i].n_members;
	has_jobs = first ? calloc(first[count_file(g)] + 1, sizeof(*has_jobs)) : NULL;
	if (!has_jobs)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < g->trace->n; i++) {
		const struct sim_job *j = &g->trace->jobs[i];
		const struct accounts_member *m;
		uint32_t at = g->of_group[j->group];

		if (last && last->group == j->group && last->user == j->user)
			continue;
		last = j;
		m = find_member(g, j->group, j->user);
		if (m)
			has_jobs[first[at] + (size_t)(m - g->file->accounts[at].members)] =
				true;
	}
	add_idle(g, has_jobs);
	return 0;
}

/* ---- the groups that are compared ---- */

static uint32_t find_top(const struct simulate_groups *g, uint32_t account)
{
	while (g->accounts[account].parent >= 0)
		account = (uint32_t)g->accounts[account].parent;
	return account;
}

static int add_compared(struct simulate_groups *g, const char *path, struct err *err)
{
	_cleanup_free_ uint32_t *seen = calloc(g->tree.n_accounts + 1, sizeof(*seen));

	if (!seen)
		return err_set(err, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < g->trace->groups.n; i++) {
		uint32_t top = find_top(g, g->of_group[i]);
		char name[SIM_NAME_MAX];

		if (!seen[top]) {
			seen[top] = (uint32_t)++g->n;
			g->shares[g->n - 1] = g->accounts[top].shares;
			snprintf(g->names[g->n - 1], SIM_NAME_MAX, "%s",
				 top < count_file(g) ? g->file->accounts[top].name
						     : sim_trace_group(g->trace, i, name));
		}
		g->fair_of[i] = seen[top] - 1;
		if (g->accounts[top].shares == FAIRSHARE_PARENT)
			return err_set(
				err, -EINVAL,
				"%.200s: account '%s' has jobs in the trace and no number of "
				"shares to compare its use with: state its Shares",
				path, g->names[seen[top] - 1]);
	}
	return 0;
}

int simulate_groups_open(const struct accounts *file, const char *path,
			 const struct sim_trace *t, struct simulate_groups *ret,
			 struct err *err)
{
	int r;

	*ret = (struct simulate_groups){ .file = file, .trace = t };
	r = make_room(ret, err);
	if (r < 0)
		return r;
	add_accounts(ret);
	r = add_users(ret, err);
	return r < 0 ? r : add_compared(ret, path, err);
}

/* ---- what each used ---- */

int simulate_groups_new(struct table **ret, struct err *err)
{
	return table_new("groups", columns, ret, err);
}

void simulate_groups_add(struct table *to, const char *profile, const struct simulate_groups *g,
			 const struct sim_fairness *fair)
{
	for (uint32_t i = 0; i < g->n; i++) {
		struct sim_group of;

		sim_fairness_group(fair, i, &of);
		table_row(to);
		table_text(to, "profile", profile);
		table_text(to, "group", g->names[i]);
		table_int(to, "shares", of.shares);
		table_decimal(to, "used_core_s", 0, of.used_s);
		table_decimal(to, "got_core_s", 0, of.got_s);
		table_decimal(to, "entitled_core_s", 0, of.entitled_s);
		table_decimal(to, "deviation", 6, of.deviation);
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
