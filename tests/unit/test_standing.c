/* test_standing - the share tree as it stands: what counts, for whom, for how long; and that a
 * restart, the order and the slices of the charges change nothing. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "controller/standing/standing.h"
#include "tests/unit/ledger_rig.h"

#define HOUR_S 3600LL
#define WEEK_NS (7 * DAY_NS)

static const char declared[] = "[Account arts]\nShares = 10\nUsers = carol\n"
			       "[Account physics]\nShares = 30\nUsers = alice=2, bob\n"
			       "[Account optics]\nParent = physics\nShares = 5\nUsers = alice\n"
			       "[Account far]\nClusters = elsewhere\nUsers = dave\n";

struct world {
	struct config *config;
	struct accounts *accounts;
	struct standing *standing;
};

static void world_done(struct world *w)
{
	standing_free(w->standing);
	accounts_free(w->accounts);
	config_free(w->config);
}

/* `policy`: lines of [Policy], without a half-life nothing fades; `accounts` NULL: none. */
static struct world world_of(const char *policy, const char *accounts)
{
	struct world w = { 0 };
	struct standing_config c;
	struct err err = { "" };
	char text[512];

	snprintf(text, sizeof(text),
		 "[Policy]\n%s%s\n[Cluster main]\nQueues = normal,express,free\n"
		 "[Queue express]\nFactor = 3\n[Queue free]\nFactor = 0\n",
		 strstr(policy, "HalfLife") ? "" : "UsageHalfLife = 0\n", policy);
	if (config_parse(text, strlen(text), &w.config, &err) < 0 ||
	    (accounts &&
	     accounts_parse(accounts, strlen(accounts), "test", &w.accounts, &err) < 0))
		fail_msg("%s", err.text);
	c = (struct standing_config){ w.config, w.accounts };
	assert_int_equal(standing_new(&c, &w.standing, &err), 0);
	return w;
}

static const struct standing_where cpu = { "main", CHARGE_POOL_CPU };

static struct store_charge charge_of(const char *account, const char *user, int64_t from_ns,
				     int64_t running_s)
{
	return (struct store_charge){ .cluster = "main",
				      .account = account,
				      .user = user,
				      .queue = "normal",
				      .from_ns = from_ns,
				      .to_ns = from_ns + running_s * S_NS,
				      .running_ns = running_s * S_NS,
				      .rate = { 5, 2 },
				      .ncpus = 2,
				      .mem_bytes = 10000000000 };
}

static void put(struct world *w, struct store_charge c, int64_t now_ns)
{
	struct err err = { "" };

	if (standing_charge(w->standing, &c, now_ns, &err) < 0)
		fail_msg("%s", err.text);
}

static size_t row_of(const struct standing_view *v, const char *account, const char *user)
{
	size_t i = 0;

	while (i < v->n &&
	       (strcmp(v->rows[i].account, account) != 0 || strcmp(v->rows[i].user, user) != 0))
		i++;
	return i;
}

static struct standing_view look(struct world *w, struct standing_where where, int64_t now_ns)
{
	struct standing_view v;
	struct err err = { "" };

	if (standing_look(w->standing, where, now_ns, &v, &err) < 0)
		fail_msg("%s", err.text);
	return v;
}

static double usage_of(struct world *w, const char *account, const char *user, int64_t now_ns)
{
	struct standing_view v = look(w, cpu, now_ns);
	size_t i = row_of(&v, account, user);

	assert_true(i < v.n);
	return standing_usage(&v, i);
}

static void assert_near(double a, double b)
{
	if (!(fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b)) + 2e-9))
		fail_msg("%.15g is not %.15g", a, b);
}

/* ---- the tree ---- */

static void rows_are_what_is_declared_in_reading_order(void **state)
{
	static const char *const want[] = { "root/",	"arts/",	 "arts/carol",
					    "physics/", "physics/alice", "physics/bob",
					    "optics/",	"optics/alice" };
	static const int depth[] = { 0, 1, 2, 1, 2, 2, 2, 3 };
	_cleanup_(world_done) struct world w = world_of("", declared);
	struct standing_view v = look(&w, cpu, NOON);
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
	v = look(&w, (struct standing_where){ "elsewhere", CHARGE_POOL_CPU }, NOON);
	assert_true(row_of(&v, "far", "dave") < v.n);
	assert_int_equal(v.n, ARRAY_LEN(want) + 2);
}

static void without_declarations_the_tree_is_flat(void **state)
{
	_cleanup_(world_done) struct world w = world_of("", NULL);
	struct standing_view v;

	(void)state;
	put(&w, charge_of("b", "x", NOON, 10), NOON + 10 * S_NS);
	assert_int_equal(look(&w, cpu, NOON + 10 * S_NS).n, 3);
	put(&w, charge_of("a", "x", NOON, 10), NOON + 10 * S_NS);
	put(&w, charge_of("b", "a", NOON, 10), NOON + 10 * S_NS);
	v = look(&w, cpu, NOON + 10 * S_NS);
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
	struct standing_view v;

	(void)state;
	c.pool = CHARGE_POOL_GPU;
	put(&w, c, c.to_ns);
	c.cluster = "elsewhere";
	put(&w, c, c.to_ns);
	assert_near(usage_of(&w, "physics", "alice", c.to_ns), 0);
	v = look(&w, (struct standing_where){ "main", CHARGE_POOL_GPU }, c.to_ns);
	assert_near(standing_usage(&v, 0), 250);
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
	struct standing_view x, y;
	int64_t now = NOON + DAY_NS;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		size_t j = 3 - i;

		put(&a, charge_of(who[i][0], who[i][1], NOON, 100 * ((int64_t)i + 1)), now);
		put(&b, charge_of(who[j][0], who[j][1], NOON, 100 * ((int64_t)j + 1)), now);
	}
	x = look(&a, cpu, now);
	y = look(&b, cpu, now);
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
	struct standing_view x, y;

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct world *w = i ? &b : &a;

		put(w, charge_of("physics", "alice", NOON, 300), NOON + DAY_NS);
		put(w, charge_of("arts", "carol", NOON, 90), NOON + DAY_NS);
		put(w, charge_of("optics", "alice", NOON, 20), NOON + DAY_NS);
	}
	x = look(&a, cpu, NOON + DAY_NS);
	y = look(&b, cpu, NOON + DAY_NS);
	assert_int_equal(x.n, y.n);
	for (size_t i = 0; i < x.n; i++) {
		assert_int_equal(x.results[i].rank, y.results[i].rank);
		assert_near(x.results[i].norm_shares, y.results[i].norm_shares);
	}
}

/* ---- what is gone ---- */

static void usage_of_who_is_gone_counts_at_the_account_or_the_root(void **state)
{
	_cleanup_(world_done) struct world w = world_of("", declared);
	struct standing_view v;
	int64_t now = NOON + 10 * S_NS;

	(void)state;
	put(&w, charge_of("physics", "gone", NOON, 10), now);
	put(&w, charge_of("closed", "alice", NOON, 10), now);
	put(&w, charge_of("physics", "bob", NOON, 10), now);
	v = look(&w, cpu, now);
	assert_int_equal(v.n_gone, 2);
	assert_near(v.gone, 50);
	assert_near(usage_of(&w, "physics", "", now), 50);
	assert_near(usage_of(&w, "physics", "bob", now), 25);
	assert_near(usage_of(&w, "root", "", now), 75);
}

static void other_declarations_place_usage_anew(void **state)
{
	static const char later[] = "[Account physics]\nUsers = bob\n";
	_cleanup_(world_done) struct world w = world_of("", declared);
	struct accounts *a;
	int64_t now = NOON + 10 * S_NS;

	(void)state;
	put(&w, charge_of("physics", "alice", NOON, 10), now);
	assert_near(usage_of(&w, "physics", "alice", now), 25);
	assert_int_equal(accounts_parse(later, strlen(later), "later", &a, NULL), 0);
	standing_set_accounts(w.standing, a);
	accounts_free(w.accounts);
	w.accounts = a;
	assert_int_equal(look(&w, cpu, now).n, 3);
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
	put(&w, c, c.to_ns);
	assert_near(usage_of(&w, "physics", "alice", c.to_ns), 8);
}

static void stated_weights_count_by_sum_or_maximum_and_queue(void **state)
{
	static const struct {
		const char *policy;
		const char *queue;
		double want;
	} cases[] = {
		{ "", "express", 25 }, /* the rate has its factor */
		{ "TresWeights = cpu=1,mem=0.25/GB", "normal", 25 },
		{ "TresWeights = cpu=1", "normal", 20 },
		{ "TresWeights = cpu=1", "express", 60 },
		{ "TresWeights = cpu=1", "free", 0 },
		{ "TresWeights = cpu=1,gpu=16\nUsageRule = max", "normal", 160 },
		{ "TresWeights = cpu=1,gpu=16\nUsageRule = sum", "normal", 180 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_(world_done) struct world w = { 0 };
		struct store_charge c = charge_of("physics", "alice", NOON, 10);

		w = world_of(cases[i].policy, declared);
		c.queue = cases[i].queue;
		c.ngpus = strstr(cases[i].policy, "gpu") ? 1 : 0;
		put(&w, c, c.to_ns);
		assert_near(usage_of(&w, "physics", "alice", c.to_ns), cases[i].want);
	}
}

static void an_adjustment_counts_with_its_sign(void **state)
{
	_cleanup_(world_done) struct world w = world_of("", declared);
	struct store_charge c = charge_of("physics", "alice", NOON, 100);

	(void)state;
	put(&w, c, NOON + DAY_NS);
	c.running_ns = 0;
	c.adjusted_ms = -50000;
	put(&w, c, NOON + DAY_NS);
	assert_near(usage_of(&w, "physics", "alice", NOON + DAY_NS), 200);
	c.adjusted_ms = 7500;
	put(&w, c, NOON + DAY_NS);
	assert_near(usage_of(&w, "physics", "alice", NOON + DAY_NS), 207.5);
	c.adjusted_ms = -1000000; /* more than there is */
	put(&w, c, NOON + DAY_NS);
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
	put(&often, c, NOON);
	for (int64_t t = NOON; t < NOON + WEEK_NS; t += 5 * 60 * S_NS)
		look(&often, cpu, t);
	put(&once, c, NOON);
	/* One half after one half-life, to all digits, and not 0.500074. */
	assert_near(usage_of(&often, "physics", "alice", NOON + WEEK_NS), 1.25);
	assert_near(usage_of(&once, "physics", "alice", NOON + WEEK_NS), 1.25);
}

static void usage_fades_to_nothing_and_ranks_stay_right(void **state)
{
	_cleanup_(world_done) struct world w = world_of("UsageHalfLife = 1:00:00", declared);
	struct standing_view v;
	int64_t now = NOON + 10 * DAY_NS;

	(void)state;
	put(&w, charge_of("physics", "bob", NOON, 100), NOON + 100 * S_NS);
	look(&w, cpu, NOON + 100 * S_NS);
	/* 240 half-lives on: bob has nothing left; alice, charged now, has. */
	put(&w, charge_of("physics", "alice", now, 100), now + 100 * S_NS);
	v = look(&w, cpu, now + 100 * S_NS);
	assert_near(usage_of(&w, "physics", "bob", now + 100 * S_NS), 0);
	assert_true(v.results[row_of(&v, "physics", "bob")].rank >
		    v.results[row_of(&v, "physics", "alice")].rank);
	assert_near(usage_of(&w, "physics", "alice", now + 100 * S_NS),
		    250 * (1 - exp2(-1.0 / 36)) / (log(2) / 36));
}

static struct sync_gain gain_of(int64_t from_ns, const int64_t was_now_s[2])
{
	struct sync_gain g = { .cluster = "main",
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

static void a_job_cut_into_reports_counts_as_one_and_its_tail_fades_once(void **state)
{
	_cleanup_(world_done) struct world cut = world_of("UsageHalfLife = 1:00:00", declared);
	_cleanup_(world_done) struct world whole =
		world_of("UsageHalfLife = 1:00:00", declared);
	int64_t end = NOON + 10 * HOUR_S * S_NS, now = NOON;

	(void)state;
	for (int64_t s[2] = { 0, 0 }; s[0] < 10 * HOUR_S; s[0] = s[1]) {
		struct sync_gain g;

		s[1] = s[0] + 15 + s[0] % 7;
		s[1] = s[1] < 10 * HOUR_S ? s[1] : 10 * HOUR_S;
		g = gain_of(NOON, s);
		now = g.to_ns + S_NS; /* told a second later */
		assert_int_equal(standing_gain(cut.standing, &g, now, NULL), 0);
		if (s[0] % 11 == 0)
			look(&cut, cpu, now);
	}
	put(&whole, charge_of("physics", "alice", NOON, 10 * HOUR_S), end);
	assert_near(usage_of(&cut, "physics", "alice", now + DAY_NS / 24),
		    usage_of(&whole, "physics", "alice", now + DAY_NS / 24));
}

static void sums_that_were_kept_are_sums_made_anew(void **state)
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
		struct standing_view v;
		double usage[16];
		uint32_t rank[16];

		put(&kept, charge_of(who[k][0], who[k][1], now, 1 + seed / 65536 % 500),
		    now + 500 * S_NS);
		v = look(&kept, cpu, now + 500 * S_NS);
		for (size_t j = 0; j < v.n; j++) {
			usage[j] = standing_usage(&v, j);
			rank[j] = v.results[j].rank;
		}
		standing_set_accounts(kept.standing, kept.accounts);
		v = look(&kept, cpu, now + 500 * S_NS);
		for (size_t j = 0; j < v.n; j++) {
			assert_near(standing_usage(&v, j), usage[j]);
			assert_int_equal(v.results[j].rank, rank[j]);
		}
	}
}

/* ---- the ledger ---- */

static void feed(struct world *w, struct rig *r, struct report rep, int64_t now_ns)
{
	struct sync_hold hold = { rep.job, rep.attempt, rep.state };
	struct rig_say say = {
		.reports = &rep, .n_reports = 1, .jobs = &hold, .n_jobs = 1, .now_ns = now_ns
	};
	struct sync_result result;

	assert_int_equal(rig_say(r, &say, &result), 0);
	for (size_t i = 0; i < result.n_gains; i++)
		assert_int_equal(standing_gain(w->standing, &result.gains[i], now_ns, NULL), 0);
	sync_result_done(&result);
}

static void load(struct world *w, struct rig *r, int64_t now_ns)
{
	struct err err = { "" };

	if (standing_load(w->standing, r->store, now_ns, &err) < 0)
		fail_msg("%s", err.text);
}

/* Runs 1000 s, is suspended for 10000 s, runs 500 s; reports of each kind, some late. */
static int64_t live_a_life(struct world *w, struct rig *r)
{
	struct report rep;
	int64_t job = rig_job(r, NOON);

	for (int64_t s = 20; s <= 1000; s += 20)
		feed(w, r, rig_report(job, s, JOB_RUNNING, s), NOON + (s + 3) * S_NS);
	for (int64_t s = 1100; s <= 11000; s += 100) {
		rep = rig_report(job, s, JOB_SUSPENDED, 1000);
		rep.suspended_ns = (s - 1000) * S_NS;
		rep.at_ns = NOON + s * S_NS;
		feed(w, r, rep, rep.at_ns + S_NS);
	}
	for (int64_t s = 11030; s <= 11500; s += 94) {
		rep = rig_report(job, s, s + 94 > 11500 ? JOB_ENDED : JOB_RUNNING, s - 10000);
		rep.suspended_ns = 10000 * S_NS;
		rep.at_ns = NOON + s * S_NS;
		if (rep.ended_ns)
			rep.ended_ns = rep.at_ns;
		feed(w, r, rep, rep.at_ns + S_NS);
	}
	return NOON + 11500 * S_NS;
}

static void a_restart_gives_the_same_values(void **state)
{
	_cleanup_(world_done) struct world live = world_of("UsageHalfLife = 1:00:00", declared);
	_cleanup_(world_done) struct world again =
		world_of("UsageHalfLife = 1:00:00", declared);
	struct rig *r = *state;
	int64_t end = live_a_life(&live, r) + 100 * S_NS;

	rig_reopen(r);
	load(&again, r, end);
	assert_true(usage_of(&live, "physics", "alice", end) > 1000);
	assert_near(usage_of(&live, "physics", "alice", end),
		    usage_of(&again, "physics", "alice", end));
}

static void kill_9_loses_no_usage(void **state)
{
	_cleanup_(world_done) struct world live = world_of("UsageHalfLife = 1:00:00", declared);
	struct rig *r = *state;
	int64_t job = rig_job(r, NOON);

	/* After every report: what a controller that starts now would have. */
	for (int64_t s = 20; s <= 400; s += 20) {
		_cleanup_(world_done) struct world again =
			world_of("UsageHalfLife = 1:00:00", declared);
		int64_t now = NOON + (s + 3) * S_NS;

		feed(&live, r, rig_report(job, s, s == 400 ? JOB_ENDED : JOB_RUNNING, s), now);
		rig_reopen(r);
		load(&again, r, now);
		assert_near(usage_of(&live, "physics", "alice", now),
			    usage_of(&again, "physics", "alice", now));
		assert_true(usage_of(&again, "physics", "alice", now) > 2.4 * (double)s * 0.9);
	}
}

static void suspended_time_is_not_charged(void **state)
{
	_cleanup_(world_done) struct world live = world_of("", declared);
	_cleanup_(world_done) struct world again = world_of("", declared);
	struct rig *r = *state;
	int64_t end = live_a_life(&live, r);

	load(&again, r, end + S_NS);
	assert_near(usage_of(&live, "physics", "alice", end), 1500 * 2.5);
	assert_near(usage_of(&again, "physics", "alice", end), 1500 * 2.5);
	/* Two stretches, and nothing in the pause. */
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM stretches"), 2);
	assert_int_equal(rig_number(r, "SELECT SUM(to_ns - from_ns) FROM stretches"),
			 1500 * S_NS);
}

static void an_earlier_moment_sees_what_there_was_by_then(void **state)
{
	_cleanup_(world_done) struct world live = world_of("", declared);
	struct rig *r = *state;

	live_a_life(&live, r);
	for (int64_t s = 0; s <= 12000; s += 500) {
		_cleanup_(world_done) struct world then = world_of("", declared);
		int64_t ran = s < 1000 ? s : s < 11000 ? 1000 : s < 11500 ? s - 10000 : 1500;

		load(&then, r, NOON + s * S_NS);
		assert_near(usage_of(&then, "physics", "alice", NOON + s * S_NS),
			    2.5 * (double)ran);
	}
}

static void a_mixed_report_and_a_clock_that_steps_back_lose_nothing(void **state)
{
	_cleanup_(world_done) struct world live = world_of("UsageHalfLife = 1:00:00", declared);
	_cleanup_(world_done) struct world again =
		world_of("UsageHalfLife = 1:00:00", declared);
	struct rig *r = *state;
	int64_t job = rig_job(r, NOON);
	struct report rep = rig_report(job, 1, JOB_RUNNING, 100);

	feed(&live, r, rep, NOON + 100 * S_NS);
	rep = rig_report(job, 2, JOB_RUNNING, 150); /* and 50 s suspended */
	rep.at_ns = NOON + 200 * S_NS;
	rep.suspended_ns = 50 * S_NS;
	feed(&live, r, rep, NOON + 200 * S_NS);
	rep = rig_report(job, 3, JOB_RUNNING, 250);
	rep.at_ns = NOON + 120 * S_NS;
	rep.suspended_ns = 50 * S_NS;
	feed(&live, r, rep, NOON + 120 * S_NS);
	rep = rig_report(job, 4, JOB_ENDED, 350);
	rep.at_ns = rep.ended_ns = NOON + 400 * S_NS;
	rep.suspended_ns = 50 * S_NS;
	feed(&live, r, rep, NOON + 400 * S_NS);
	load(&again, r, NOON + 500 * S_NS);
	assert_int_equal(rig_number(r, "SELECT SUM(running_ns) FROM stretches"), 350 * S_NS);
	assert_near(usage_of(&live, "physics", "alice", NOON + 500 * S_NS),
		    usage_of(&again, "physics", "alice", NOON + 500 * S_NS));
}

#define PURE(t) cmocka_unit_test(t)
#define RIG(t) cmocka_unit_test_setup_teardown(t, rig_open, rig_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PURE(rows_are_what_is_declared_in_reading_order),
		PURE(without_declarations_the_tree_is_flat),
		PURE(a_charge_counts_in_its_cluster_and_pool_alone),
		PURE(the_order_of_siblings_and_of_charges_changes_nothing),
		PURE(scaled_shares_change_nothing),
		PURE(usage_of_who_is_gone_counts_at_the_account_or_the_root),
		PURE(other_declarations_place_usage_anew),
		PURE(the_billing_rate_is_not_truncated),
		PURE(stated_weights_count_by_sum_or_maximum_and_queue),
		PURE(an_adjustment_counts_with_its_sign),
		PURE(decay_does_not_depend_on_when_it_is_looked_at),
		PURE(usage_fades_to_nothing_and_ranks_stay_right),
		PURE(a_job_cut_into_reports_counts_as_one_and_its_tail_fades_once),
		PURE(sums_that_were_kept_are_sums_made_anew),
		RIG(a_restart_gives_the_same_values),
		RIG(kill_9_loses_no_usage),
		RIG(suspended_time_is_not_charged),
		RIG(an_earlier_moment_sees_what_there_was_by_then),
		RIG(a_mixed_report_and_a_clock_that_steps_back_lose_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
