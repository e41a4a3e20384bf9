/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_sharetree - the share tree: what counts, for which user, for how long; the order and the slices of
 * charges change nothing. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "tests/unit/rig/sharetree_rig.h"

/* ---- the tree ---- */

static void rows_are_what_is_declared_in_reading_order(void **state)
{
	static const char *const want[] = { "root/",	"arts/",	 "arts/carol",
					    "physics/", "physics/alice", "physics/bob",
					    "optics/",	"optics/alice" };
	static const int depth[] = { 0, 1, 2, 1, 2, 2, 2, 3 };
	_cleanup_(world_done) struct world w = world_of("", declared);
	struct sharetree_view v = view_tree(&w, cpu, NOON);
	char name[2 * REQUEST_NAME_MAX];

	(void)state;
	assert_int_equal(v.n, ARRAY_LEN(want));
	for (size_t i = 0; i < v.n; i++) {
		snprintf(name, sizeof(name), "%s/%s", v.rows[i].account, v.rows[i].user);
		assert_string_equal(name, want[i]);
		assert_int_equal(v.rows[i].depth, depth[i]);
	}
	assert_int_equal(v.rows[4].raw_shares, 2);
	/* An account for another cluster stands in that one's tree alone. */
	v = view_tree(&w, (struct sharetree_where){ "elsewhere", CHARGE_POOL_CPU }, NOON);
	assert_true(row_of(&v, "far", "dave") < v.n);
	assert_int_equal(v.n, ARRAY_LEN(want) + 2);
}

static void without_declarations_the_tree_is_flat(void **state)
{
	_cleanup_(world_done) struct world w = world_of("", NULL);
	struct sharetree_view v;

	(void)state;
	add_charge(&w, charge_of("b", "x", NOON, 10), NOON + 10 * S_NS);
	assert_int_equal(view_tree(&w, cpu, NOON + 10 * S_NS).n, 3);
	add_charge(&w, charge_of("a", "x", NOON, 10), NOON + 10 * S_NS);
	add_charge(&w, charge_of("b", "a", NOON, 10), NOON + 10 * S_NS);
	v = view_tree(&w, cpu, NOON + 10 * S_NS);
	assert_int_equal(v.n, 6);
	assert_string_equal(v.rows[1].account, "a");
	assert_string_equal(v.rows[4].user, "a");
	assert_near(v.results[3].norm_shares, 0.5);
	assert_near(usage_of(&w, "b", "", NOON + 10 * S_NS), 50);
}

static void a_charge_counts_in_its_cluster_and_pool_alone(void **state)
{
	_cleanup_(world_done) struct world w = world_of("", declared);
	struct store_charge c = charge_of("physics", "alice", NOON, 100);
	struct sharetree_view v;

	(void)state;
	c.pool = CHARGE_POOL_GPU;
	add_charge(&w, c, c.to_ns);
	c.cluster = "elsewhere";
	add_charge(&w, c, c.to_ns);
	assert_near(usage_of(&w, "physics", "alice", c.to_ns), 0);
	v = view_tree(&w, (struct sharetree_where){ "main", CHARGE_POOL_GPU }, c.to_ns);
	assert_near(sharetree_usage(&v, 0), 250);
}

static void the_order_of_siblings_and_of_charges_changes_nothing(void **state)
{
	static const char turned[] = "[Account optics]\nParent = physics\nShares = 5\n"
				     "Users = alice\n[Account far]\nClusters = elsewhere\n"
				     "Users = dave\n[Account physics]\nShares = 30\n"
				     "Users = bob, alice=2\n[Account arts]\nShares = 10\n"
				     "Users = carol\n";
	static const char *const who[][2] = { { "physics", "alice" },
					      { "physics", "bob" },
					      { "arts", "carol" },
					      { "optics", "alice" } };
	_cleanup_(world_done) struct world a = world_of("UsageHalfLife = 1-0:00:00", declared);
	_cleanup_(world_done) struct world b = world_of("UsageHalfLife = 1-0:00:00", turned);
	struct sharetree_view x, y;
	int64_t now = NOON + DAY_NS;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		size_t j = 3 - i;

		add_charge(&a, charge_of(who[i][0], who[i][1], NOON, 100 * ((int64_t)i + 1)),
			   now);
		add_charge(&b, charge_of(who[j][0], who[j][1], NOON, 100 * ((int64_t)j + 1)),
			   now);
	}
	x = view_tree(&a, cpu, now);
	y = view_tree(&b, cpu, now);
	for (size_t i = 0; i < 4; i++) {
		const struct fairshare_result *p = &x.results[row_of(&x, who[i][0], who[i][1])];
		const struct fairshare_result *q = &y.results[row_of(&y, who[i][0], who[i][1])];

		assert_int_equal(p->rank, q->rank);
		assert_true(p->raw_usage == q->raw_usage);
	}
}

static void scaled_shares_change_nothing(void **state)
{
	static const char scaled[] = "[Account arts]\nShares = 70\nUsers = carol=7\n"
				     "[Account physics]\nShares = 210\n"
				     "Users = alice=14, bob=7\n[Account optics]\n"
				     "Parent = physics\nShares = 35\nUsers = alice=7\n";
	_cleanup_(world_done) struct world a = world_of("", declared);
	_cleanup_(world_done) struct world b = world_of("", scaled);
	struct sharetree_view x, y;

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct world *w = i ? &b : &a;

		add_charge(w, charge_of("physics", "alice", NOON, 300), NOON + DAY_NS);
		add_charge(w, charge_of("arts", "carol", NOON, 90), NOON + DAY_NS);
		add_charge(w, charge_of("optics", "alice", NOON, 20), NOON + DAY_NS);
	}
	x = view_tree(&a, cpu, NOON + DAY_NS);
	y = view_tree(&b, cpu, NOON + DAY_NS);
	assert_int_equal(x.n, y.n);
	for (size_t i = 0; i < x.n; i++) {
		assert_int_equal(x.results[i].rank, y.results[i].rank);
		assert_near(x.results[i].norm_shares, y.results[i].norm_shares);
	}
}

/* ---- what is gone ---- */

static void usage_of_a_removed_user_counts_at_the_account_or_the_root(void **state)
{
	_cleanup_(world_done) struct world w = world_of("", declared);
	struct sharetree_view v;
	int64_t now = NOON + 10 * S_NS;

	(void)state;
	add_charge(&w, charge_of("physics", "gone", NOON, 10), now);
	add_charge(&w, charge_of("closed", "alice", NOON, 10), now);
	add_charge(&w, charge_of("physics", "bob", NOON, 10), now);
	v = view_tree(&w, cpu, now);
	assert_int_equal(v.n_gone, 2);
	assert_near(v.gone, 50);
	assert_near(usage_of(&w, "physics", "", now), 50);
	assert_near(usage_of(&w, "physics", "bob", now), 25);
	assert_near(usage_of(&w, "root", "", now), 75);
}

static void new_declarations_move_usage_to_its_new_place(void **state)
{
	static const char later[] = "[Account physics]\nUsers = bob\n";
	_cleanup_(world_done) struct world w = world_of("", declared);
	struct accounts *a;
	int64_t now = NOON + 10 * S_NS;

	(void)state;
	add_charge(&w, charge_of("physics", "alice", NOON, 10), now);
	assert_near(usage_of(&w, "physics", "alice", now), 25);
	assert_int_equal(accounts_parse(later, strlen(later), "later", &a, NULL), 0);
	sharetree_set_accounts(w.sharetree, a);
	accounts_free(w.accounts);
	w.accounts = a;
	assert_int_equal(view_tree(&w, cpu, now).n, 3);
	assert_near(usage_of(&w, "physics", "", now), 25);
	assert_near(usage_of(&w, "physics", "bob", now), 0);
}

/* ---- weights ---- */

static void the_billing_rate_is_not_truncated(void **state)
{
	_cleanup_(world_done) struct world w = world_of("", declared);
	struct store_charge c = charge_of("physics", "alice", NOON, 3);

	(void)state;
	c.rate = (struct fraction){ 8, 3 };
	add_charge(&w, c, c.to_ns);
	assert_near(usage_of(&w, "physics", "alice", c.to_ns), 8);
}

/* Whatever the policy says now: the rate was fixed when the job was submitted. */
static void the_share_tree_counts_what_was_charged(void **state)
{
	static const char *const policies[] = {
		"",
		"TresWeights = cpu=1,gpu=16",
		"TresWeights = cpu=1,mem=0.25/GB\nUsageRule = sum",
	};
	static const char *const queues[] = { "normal", "express", "free", "", "unknown" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(policies); i++)
		for (size_t k = 0; k < ARRAY_LEN(queues); k++) {
			_cleanup_(world_done) struct world w = world_of(policies[i], declared);
			struct store_charge c = charge_of("physics", "alice", NOON, 10);

			c.queue = queues[k];
			c.ngpus = 1;
			add_charge(&w, c, c.to_ns);
			assert_near(usage_of(&w, "physics", "alice", c.to_ns), 25);
		}
}

static void an_adjustment_counts_with_its_sign(void **state)
{
	_cleanup_(world_done) struct world w = world_of("", declared);
	struct store_charge c = charge_of("physics", "alice", NOON, 100);

	(void)state;
	add_charge(&w, c, NOON + DAY_NS);
	c.running_ns = 0;
	c.adjusted_ms = -50000;
	add_charge(&w, c, NOON + DAY_NS);
	assert_near(usage_of(&w, "physics", "alice", NOON + DAY_NS), 200);
	c.adjusted_ms = 7500;
	add_charge(&w, c, NOON + DAY_NS);
	assert_near(usage_of(&w, "physics", "alice", NOON + DAY_NS), 207.5);
	c.adjusted_ms = -1000000; /* more than there is */
	add_charge(&w, c, NOON + DAY_NS);
	assert_near(usage_of(&w, "physics", "alice", NOON + DAY_NS), 0);
}

/* ---- decay ---- */

static void decay_does_not_depend_on_when_it_is_looked_at(void **state)
{
	_cleanup_(world_done) struct world often =
		world_of("UsageHalfLife = 7-0:00:00", declared);
	_cleanup_(world_done) struct world once =
		world_of("UsageHalfLife = 7-0:00:00", declared);
	struct store_charge c = charge_of("physics", "alice", NOON - 1, 1);

	(void)state;
	c.from_ns = c.to_ns = NOON;
	add_charge(&often, c, NOON);
	for (int64_t t = NOON; t < NOON + WEEK_NS; t += 5 * 60 * S_NS)
		view_tree(&often, cpu, t);
	add_charge(&once, c, NOON);
	/* One half after one half-life, to all digits, and not 0.500074. */
	assert_near(usage_of(&often, "physics", "alice", NOON + WEEK_NS), 1.25);
	assert_near(usage_of(&once, "physics", "alice", NOON + WEEK_NS), 1.25);
}

static void usage_fades_to_nothing_and_ranks_stay_right(void **state)
{
	_cleanup_(world_done) struct world w = world_of("UsageHalfLife = 1:00:00", declared);
	struct sharetree_view v;
	int64_t now = NOON + 10 * DAY_NS;

	(void)state;
	add_charge(&w, charge_of("physics", "bob", NOON, 100), NOON + 100 * S_NS);
	view_tree(&w, cpu, NOON + 100 * S_NS);
	/* 240 half-lives on: bob has nothing left; alice, charged now, has. */
	add_charge(&w, charge_of("physics", "alice", now, 100), now + 100 * S_NS);
	v = view_tree(&w, cpu, now + 100 * S_NS);
	assert_near(usage_of(&w, "physics", "bob", now + 100 * S_NS), 0);
	assert_true(v.results[row_of(&v, "physics", "bob")].rank >
		    v.results[row_of(&v, "physics", "alice")].rank);
	assert_near(usage_of(&w, "physics", "alice", now + 100 * S_NS),
		    250 * (1 - exp2(-1.0 / 36)) / (log(2) / 36));
}

static struct sync_usage_delta gain_of(int64_t from_ns, const int64_t was_now_s[2])
{
	struct sync_usage_delta g = { .cluster = "main",
				      .account = "physics",
				      .user = "alice",
				      .queue = "normal",
				      .rate = { 5, 2 },
				      .from_ns = from_ns,
				      .was_to_ns = from_ns + was_now_s[0] * S_NS,
				      .to_ns = from_ns + was_now_s[1] * S_NS,
				      .was_running_ns = was_now_s[0] * S_NS,
				      .running_ns = was_now_s[1] * S_NS };

	return g;
}

static void a_job_in_many_reports_counts_as_one_and_decays_once(void **state)
{
	_cleanup_(world_done) struct world cut = world_of("UsageHalfLife = 1:00:00", declared);
	_cleanup_(world_done) struct world whole =
		world_of("UsageHalfLife = 1:00:00", declared);
	int64_t end = NOON + 10 * HOUR_S * S_NS, now = NOON;

	(void)state;
	for (int64_t s[2] = { 0, 0 }; s[0] < 10 * HOUR_S; s[0] = s[1]) {
		struct sync_usage_delta g;

		s[1] = s[0] + 15 + s[0] % 7;
		s[1] = s[1] < 10 * HOUR_S ? s[1] : 10 * HOUR_S;
		g = gain_of(NOON, s);
		now = g.to_ns + S_NS; /* reported a second later */
		assert_int_equal(sharetree_add_delta(cut.sharetree, &g, now, NULL), 0);
		if (s[0] % 11 == 0)
			view_tree(&cut, cpu, now);
	}
	add_charge(&whole, charge_of("physics", "alice", NOON, 10 * HOUR_S), end);
	assert_near(usage_of(&cut, "physics", "alice", now + DAY_NS / 24),
		    usage_of(&whole, "physics", "alice", now + DAY_NS / 24));
}

static void stored_sums_equal_recomputed_ones(void **state)
{
	_cleanup_(world_done) struct world kept = world_of("UsageHalfLife = 3:00:00", declared);
	static const char *const who[][2] = { { "physics", "alice" },
					      { "physics", "bob" },
					      { "arts", "carol" },
					      { "optics", "alice" },
					      { "physics", "gone" } };
	unsigned seed = 7;

	(void)state;
	for (int i = 0; i < 400; i++) {
		int64_t now = NOON + i * 600 * S_NS;
		size_t k = (seed = seed * 1103515245 + 12345) / 65536 % ARRAY_LEN(who);
		struct sharetree_view v;
		double usage[16];
		uint32_t rank[16];

		add_charge(&kept, charge_of(who[k][0], who[k][1], now, 1 + seed / 65536 % 500),
			   now + 500 * S_NS);
		v = view_tree(&kept, cpu, now + 500 * S_NS);
		for (size_t j = 0; j < v.n; j++) {
			usage[j] = sharetree_usage(&v, j);
			rank[j] = v.results[j].rank;
		}
		sharetree_set_accounts(kept.sharetree, kept.accounts);
		v = view_tree(&kept, cpu, now + 500 * S_NS);
		for (size_t j = 0; j < v.n; j++) {
			assert_near(sharetree_usage(&v, j), usage[j]);
			assert_int_equal(v.results[j].rank, rank[j]);
		}
	}
}

#define PURE(t) cmocka_unit_test(t)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PURE(rows_are_what_is_declared_in_reading_order),
		PURE(without_declarations_the_tree_is_flat),
		PURE(a_charge_counts_in_its_cluster_and_pool_alone),
		PURE(the_order_of_siblings_and_of_charges_changes_nothing),
		PURE(scaled_shares_change_nothing),
		PURE(usage_of_a_removed_user_counts_at_the_account_or_the_root),
		PURE(new_declarations_move_usage_to_its_new_place),
		PURE(the_billing_rate_is_not_truncated),
		PURE(the_share_tree_counts_what_was_charged),
		PURE(an_adjustment_counts_with_its_sign),
		PURE(decay_does_not_depend_on_when_it_is_looked_at),
		PURE(usage_fades_to_nothing_and_ranks_stay_right),
		PURE(a_job_in_many_reports_counts_as_one_and_decays_once),
		PURE(stored_sums_equal_recomputed_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
