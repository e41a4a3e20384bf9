/* SPDX-License-Identifier: GPL-2.0-or-later */
/* usage.c - decays usage in closed form and ranks users by it; see usage.h. Rows of the tree: 0
 * the root, then the accounts, the users without jobs, and last the users with jobs. */
#include <errno.h>
#include <math.h>
#include "common/err.h"
#include "controller/policy/fairshare/fairshare.h"
#include "controller/simulate/usage.h"

#define UNIT 1e9 /* of the tree's usage in a core-second: ties are of whole billionths */

struct member {
	double used;	    /* core-seconds, as of then */
	int64_t at_s, held; /* held: cores x QOS factor, in millionths of a core */
};

struct sim_usage {
	const struct sim_trace *trace;
	struct sim_usage_rule rule;
	uint32_t *member; /* of each job */
	struct member *members;
	struct fairshare_row *rows;
	struct fairshare_result *results;
	struct fairshare_tree *tree;
	size_t n, n_rows;  /* members; rows */
	int64_t elapsed_s; /* for which `left` and `fresh` were computed */
	double left,
		fresh; /* what is left of a core-second; what a core running since then adds */
};

struct sim_usage *sim_usage_free(struct sim_usage *u)
{
	if (!u)
		return NULL;
	free(u->member);
	free(u->members);
	fairshare_tree_free(u->tree);
	free(u->rows);
	free(u->results);
	free(u);
	return NULL;
}

/* ---- users and groups ---- */

/* Numbers the pairs of group and user in the order of first use, and notes each job's. A hash
 * table of the first job of each pair. */
static int number_members(struct sim_usage *u)
{
	const struct sim_trace *t = u->trace;
	size_t slots = 1024, n = 0;
	_cleanup_free_ uint32_t *first = NULL;

	while (slots < 2 * t->n)
		slots *= 2;
	first = malloc(slots * sizeof(*first));
	if (!first)
		return -ENOMEM;
	for (size_t i = 0; i < slots; i++)
		first[i] = UINT32_MAX;
	for (uint32_t i = 0; i < t->n; i++) {
		const struct sim_job *j = &t->jobs[i];
		uint64_t hash = (((uint64_t)j->group << 32) | j->user) * 0x9e3779b97f4a7c15u;
		size_t at = (size_t)(hash >> 24) & (slots - 1);

		while (first[at] != UINT32_MAX && (t->jobs[first[at]].group != j->group ||
						   t->jobs[first[at]].user != j->user))
			at = (at + 1) & (slots - 1);
		if (first[at] == UINT32_MAX) {
			first[at] = i;
			u->member[i] = (uint32_t)n++;
		}
		u->member[i] = u->member[first[at]];
	}
	u->n = n;
	return 0;
}

static size_t count_accounts(const struct sim_usage *u)
{
	return u->rule.tree ? u->rule.tree->n_accounts : u->trace->groups.n;
}

/* Users without jobs, and the user root. */
static size_t count_idle(const struct sim_usage *u)
{
	return (u->rule.tree ? u->rule.tree->n_idle : 0) + (u->rule.root_shares > 0);
}

static void make_accounts(struct sim_usage *u)
{
	const struct sim_tree *t = u->rule.tree;

	for (size_t i = 0; i < count_accounts(u); i++)
		u->rows[1 + i] = (struct fairshare_row){
			.parent = t ? 1 + t->accounts[i].parent : 0,
			.raw_shares = t ? t->accounts[i].shares : 1,
			.order = (int64_t)i,
		};
}

static void make_idle(struct sim_usage *u)
{
	const struct sim_tree *t = u->rule.tree;
	struct fairshare_row *row = &u->rows[1 + count_accounts(u)];

	for (size_t i = 0; t && i < t->n_idle; i++)
		*row++ = (struct fairshare_row){ .parent = 1 + (int32_t)t->idle[i].account,
						 .user = true,
						 .raw_shares = t->idle[i].shares };
	if (u->rule.root_shares > 0)
		*row = (struct fairshare_row){ .user = true,
					       .raw_shares = u->rule.root_shares };
}

static void make_rows(struct sim_usage *u)
{
	const struct sim_tree *t = u->rule.tree;
	struct fairshare_row *members = &u->rows[u->n_rows - u->n];

	u->rows[0] = (struct fairshare_row){ .parent = FAIRSHARE_NO_ROW, .raw_shares = 1 };
	make_accounts(u);
	make_idle(u);
	for (size_t i = 0; i < u->trace->n; i++) {
		const struct sim_job *j = &u->trace->jobs[i];
		struct fairshare_row *row = &members[u->member[i]];

		if (row->user)
			continue;
		*row = (struct fairshare_row){
			.parent = (int32_t)(1 + (t ? t->of_group[j->group] : j->group)),
			.user = true,
			.raw_shares = t ? t->user_shares(t->ctx, j->group, j->user) : 1,
			.order = u->member[i],
		};
	}
}

int sim_usage_new(const struct sim_trace *t, const struct sim_usage_rule *rule,
		  struct sim_usage **ret, struct err *err)
{
	_cleanup_(sim_usage_freep) struct sim_usage *u = calloc(1, sizeof(*u));
	int32_t fault;
	int r;

	if (!u || !(u->member = malloc((t->n ? t->n : 1) * sizeof(*u->member))))
		return err_set(err, -ENOMEM, "out of memory");
	u->trace = t;
	u->rule = *rule;
	u->elapsed_s = -1;
	if (number_members(u) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	u->n_rows = 1 + count_accounts(u) + count_idle(u) + u->n;
	u->members = calloc(u->n ? u->n : 1, sizeof(*u->members));
	u->rows = calloc(u->n_rows, sizeof(*u->rows));
	u->results = calloc(u->n_rows, sizeof(*u->results));
	if (!u->members || !u->rows || !u->results)
		return err_set(err, -ENOMEM, "out of memory");
	make_rows(u);
	r = fairshare_tree_new(u->rows, u->n_rows, &u->tree, &fault, err);
	if (r == 0)
		*ret = TAKE_PTR(u);
	return r;
}

/* ---- what is used ---- */

/* What t seconds leave of a core-second, and what a core that ran for them counts: the integral
 * of the decay, h / ln 2 x (1 - 2^(-t/h)). */
static void set_elapsed(struct sim_usage *u, int64_t elapsed_s)
{
	double h = (double)u->rule.half_life_s, t = (double)elapsed_s;

	if (u->elapsed_s == elapsed_s)
		return;
	u->elapsed_s = elapsed_s;
	u->left = h > 0 ? exp2(-t / h) : 1;
	u->fresh = h > 0 ? h / log(2) * (1 - u->left) : t;
}

static void settle_member(struct sim_usage *u, struct member *m, int64_t now_s)
{
	if (m->at_s == now_s)
		return;
	if (m->used > 0 || m->held) {
		set_elapsed(u, now_s - m->at_s);
		m->used = m->used * u->left + (double)m->held / (double)SIM_MICRO * u->fresh;
	}
	m->at_s = now_s;
}

void sim_usage_hold(struct sim_usage *u, uint32_t job, int64_t now_s, int64_t cores)
{
	struct member *m = &u->members[u->member[job]];
	const struct sim_qos *qos = sim_qos_of(&u->rule.qos, job);

	settle_member(u, m, now_s);
	m->held += cores * (qos ? qos->factor_micro : SIM_MICRO);
}

/* ---- ranks ---- */

static fairshare_usage round_down(double v)
{
	uint64_t high = (uint64_t)(v / 0x1p64);

	return ((fairshare_usage)high << 64) + (uint64_t)(v - (double)high * 0x1p64);
}

int sim_usage_rank(struct sim_usage *u, int64_t now_s, struct err *err)
{
	size_t first = u->n_rows - u->n;
	int r = 0;

	for (size_t i = 0; i < u->n && r == 0; i++) {
		struct fairshare_row *row = &u->rows[first + i];
		fairshare_usage now;

		settle_member(u, &u->members[i], now_s);
		now = round_down(u->members[i].used * UNIT);
		if (now == row->leaf_usage)
			continue;
		r = fairshare_tree_change(u->tree, (int32_t)(first + i), row->leaf_usage, now);
		row->leaf_usage = now;
	}
	if (r < 0)
		return err_set(err, r, "the usage does not add up in 128 bits");
	if (u->rule.is_classic)
		return fairshare_classic(u->tree, 1, u->results, err);
	return fairshare_fair_tree(u->tree, FAIRSHARE_TIES_MERGE, u->results, err);
}

double sim_usage_factor(const struct sim_usage *u, uint32_t job)
{
	double f = u->results[u->n_rows - u->n + u->member[job]].fairshare;

	return isnan(f) ? 0 : f;
}
