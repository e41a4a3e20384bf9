/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_sim_usage - usage and fairshare on the replay's clock equal those of decay.h and fairshare.h over every
 * run interval, charged one by one. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "common/err.h"
#include "common/time_units.h"
#include "controller/policy/fairshare/decay.h"
#include "controller/policy/fairshare/fairshare.h"
#include "controller/simulate/usage.h"

#define JOBS 40
#define GROUPS 4
#define USERS 3 /* of each group */
#define MEMBERS (GROUPS * USERS)
#define CHARGES_MAX 4000
#define ROWS_MAX 64

struct world {
	struct sim_job jobs[JOBS];
	struct sim_trace trace;
	int64_t held[JOBS], since_s[JOBS];
	struct decay_charge charges[CHARGES_MAX];
	int member[CHARGES_MAX]; /* whose */
	size_t n_charges;
};

static int member_of(const struct sim_job *j)
{
	return (int)(j->group * USERS + j->user);
}

static void make_world(struct world *w)
{
	*w = (struct world){ .trace = { .n = JOBS } };
	for (uint32_t i = 0; i < JOBS; i++)
		w->jobs[i] = (struct sim_job){
			.group = i < MEMBERS ? i / USERS : (uint32_t)rand() % GROUPS,
			.user = i < MEMBERS ? i % USERS : (uint32_t)rand() % USERS,
		};
	w->trace.jobs = w->jobs;
	w->trace.groups.n = GROUPS;
}

/* The cores of job i change. */
static void set_cores(struct world *w, uint32_t i, int64_t now_s, int64_t cores)
{
	if (w->held[i]) {
		w->member[w->n_charges] = member_of(&w->jobs[i]);
		w->charges[w->n_charges++] = (struct decay_charge){
			.amount = (double)(w->held[i] * (now_s - w->since_s[i])),
			.from_ns = w->since_s[i] * S_NS,
			.to_ns = now_s * S_NS,
		};
	}
	w->held[i] = cores;
	w->since_s[i] = now_s;
}

/* The factors by the policies themselves. */
static void rank_plainly(struct world *w, const struct sim_usage_rule *rule, int64_t now_s,
			 double ret[static MEMBERS])
{
	const struct decay_rule decay = { .half_life_ns = rule->half_life_s * S_NS };
	_cleanup_(fairshare_tree_freep) struct fairshare_tree *tree = NULL;
	const struct sim_tree *t = rule->tree;
	struct fairshare_row rows[ROWS_MAX] = { { .parent = FAIRSHARE_NO_ROW } };
	struct fairshare_result results[ROWS_MAX];
	size_t n = 1;
	double used[MEMBERS] = { 0 };
	struct err err;
	int32_t fault;

	for (uint32_t i = 0; i < JOBS; i++)
		set_cores(w, i, now_s, w->held[i]);
	for (size_t i = 0; i < w->n_charges; i++) {
		double seen;

		assert_int_equal(decay_seen(&decay, &w->charges[i], now_s * S_NS, &seen), 0);
		used[w->member[i]] += seen;
	}
	for (size_t k = 0; k < (t ? t->n_accounts : GROUPS); k++)
		rows[n++] = (struct fairshare_row){
			.parent = t ? 1 + t->accounts[k].parent : 0,
			.raw_shares = t ? t->accounts[k].shares : 1,
		};
	for (size_t k = 0; t && k < t->n_idle; k++)
		rows[n++] = (struct fairshare_row){ .parent = 1 + (int32_t)t->idle[k].account,
						    .user = true,
						    .raw_shares = t->idle[k].shares };
	if (rule->root_shares)
		rows[n++] =
			(struct fairshare_row){ .user = true, .raw_shares = rule->root_shares };
	for (uint32_t m = 0; m < MEMBERS; m++)
		rows[n++] = (struct fairshare_row){
			.parent = (int32_t)(1 + (t ? t->of_group[m / USERS] : m / USERS)),
			.user = true,
			.raw_shares = t ? t->user_shares(NULL, m / USERS, m % USERS) : 1,
			.leaf_usage = (fairshare_usage)(used[m] * 1e9),
		};
	assert_int_equal(fairshare_tree_new(rows, n, &tree, &fault, &err), 0);
	if (rule->is_classic)
		assert_int_equal(fairshare_classic(tree, 1, results, &err), 0);
	else
		assert_int_equal(fairshare_fair_tree(tree, FAIRSHARE_TIES_MERGE, results, &err),
				 0);
	for (int m = 0; m < MEMBERS; m++)
		ret[m] = results[n - MEMBERS + (size_t)m].fairshare;
}

static void run_world(struct world *w, const struct sim_usage_rule *rule)
{
	_cleanup_(sim_usage_freep) struct sim_usage *u = NULL;
	double want[MEMBERS];
	struct err err;
	int64_t now_s = 1000;

	make_world(w);
	assert_int_equal(sim_usage_new(&w->trace, rule, &u, &err), 0);
	for (int step = 0; step < 300; step++) {
		uint32_t i = (uint32_t)rand() % JOBS;
		int64_t cores = rand() % 2 ? 1 + rand() % 50 : 0;

		now_s += rand() % 3 ? rand() % 500 : 0;
		sim_usage_hold(u, i, now_s, cores - w->held[i]);
		set_cores(w, i, now_s, cores);
		if (step % 30)
			continue;
		assert_int_equal(sim_usage_rank(u, now_s, &err), 0);
		rank_plainly(w, rule, now_s, want);
		for (uint32_t k = 0; k < JOBS; k++)
			assert_true(fabs(sim_usage_factor(u, k) -
					 want[member_of(&w->jobs[k])]) < 1e-9);
	}
}

/* BMRC's three levels: bloggs has prj.high, prj and prj.low, whose users have 10 shares or the parent's; chem
 * has users of its own. */
static const struct sim_account bmrc_accounts[] = {
	{ 2, 100 }, { 2, 10 }, { -1, 5 }, { 2, 1 }, { -1, 2 }
};
static const uint32_t bmrc_groups[GROUPS] = { 0, 1, 3, 4 };
static const struct sim_idle bmrc_idle[] = { { 0, FAIRSHARE_PARENT }, { 1, 10 }, { 3, 10 } };

static int64_t bmrc_shares(void *ctx, uint32_t group, uint32_t user)
{
	(void)ctx;
	if (group == 0)
		return FAIRSHARE_PARENT;
	return group == 3 ? 1 + (int64_t)user : 10;
}

static const struct sim_tree bmrc = {
	.accounts = bmrc_accounts,
	.n_accounts = ARRAY_LEN(bmrc_accounts),
	.of_group = bmrc_groups,
	.idle = bmrc_idle,
	.n_idle = ARRAY_LEN(bmrc_idle),
	.user_shares = bmrc_shares,
};

static void factors_are_those_of_each_stretch_charged_alone(void **state)
{
	static const int64_t half_lives_s[] = { 0, 3600, 1 };
	static struct world w;

	(void)state;
	srand(17);
	for (int round = 0; round < 24; round++) {
		struct sim_usage_rule rule = {
			.half_life_s = half_lives_s[round % 3],
			.is_classic = round % 4 / 2,
			.tree = round % 8 / 4 ? &bmrc : NULL,
			.root_shares = round % 16 / 8,
		};

		run_world(&w, &rule);
	}
}

#define MANY 3000

struct many {
	struct sim_job jobs[MANY];
	int member[MANY], of[MANY]; /* member of a job; first job of a member */
	double used[MANY];
	struct fairshare_row rows[MANY + 41];
	struct fairshare_result results[MANY + 41];
};

/* Numbers each pair of group and user by comparison with all before. */
static int number_plainly(struct many *m)
{
	int n = 0;

	for (int i = 0; i < MANY; i++) {
		int k = 0;

		m->jobs[i] = (struct sim_job){ .group = (uint32_t)rand() % 40,
					       .user = (uint32_t)rand() % 50 };
		while (k < n && (m->jobs[m->of[k]].group != m->jobs[i].group ||
				 m->jobs[m->of[k]].user != m->jobs[i].user))
			k++;
		if (k == n)
			m->of[n++] = i;
		m->member[i] = k;
	}
	return n;
}

/* More jobs than the first table has room for, and usage beyond 64 bits of billionths. */
static void each_pair_of_many_groups_and_users_counts_alone(void **state)
{
	static struct many m;
	const struct sim_usage_rule rule = { .half_life_s = 0 };
	struct sim_trace t = { .n = MANY, .jobs = m.jobs, .groups.n = 40 };
	_cleanup_(sim_usage_freep) struct sim_usage *u = NULL;
	_cleanup_(fairshare_tree_freep) struct fairshare_tree *tree = NULL;
	struct err err;
	int32_t fault;
	int n;

	(void)state;
	srand(19);
	n = number_plainly(&m);
	assert_int_equal(sim_usage_new(&t, &rule, &u, &err), 0);
	for (uint32_t i = 0; i < MANY; i++) {
		int64_t cores = 1 + rand() % 1000, s = 1 + rand() % 100000000;

		sim_usage_hold(u, i, 1000000000 * (int64_t)i, cores);
		sim_usage_hold(u, i, 1000000000 * (int64_t)i + s, -cores);
		m.used[m.member[i]] += (double)cores * (double)s;
	}
	m.rows[0] = (struct fairshare_row){ .parent = FAIRSHARE_NO_ROW, .raw_shares = 1 };
	for (int g = 0; g < 40; g++)
		m.rows[1 + g] = (struct fairshare_row){ .raw_shares = 1, .order = g };
	for (int k = 0; k < n; k++)
		m.rows[41 + k] = (struct fairshare_row){
			.parent = (int32_t)(1 + m.jobs[m.of[k]].group),
			.user = true,
			.raw_shares = 1,
			.order = k,
			.leaf_usage = (fairshare_usage)(m.used[k]) * 1000000000,
		};
	assert_int_equal(fairshare_tree_new(m.rows, (size_t)(41 + n), &tree, &fault, &err), 0);
	assert_int_equal(fairshare_fair_tree(tree, FAIRSHARE_TIES_MERGE, m.results, &err), 0);
	assert_int_equal(sim_usage_rank(u, INT64_C(1) << 42, &err), 0);
	for (uint32_t i = 0; i < MANY; i++)
		assert_true(sim_usage_factor(u, i) == m.results[41 + m.member[i]].fairshare);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(factors_are_those_of_each_stretch_charged_alone),
		cmocka_unit_test(each_pair_of_many_groups_and_users_counts_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
