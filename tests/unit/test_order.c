/* test_order - queued jobs in the order of their priorities, and why each is where it is. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "controller/ledger/jobs/hold.h"
#include "controller/ledger/nodes/drain.h"
#include "controller/ledger/nodes/allocated.h"
#include "controller/ledger/changes.h"
#include "controller/dispatch/cycle.h"
#include "controller/dispatch/order.h"
#include "tests/unit/sharetree_rig.h"

struct queued {
	const char *account, *user, *queue;
	int64_t ncpus, at_ns;
};

static int64_t submit(struct rig *r, const struct queued *what)
{
	_cleanup_(request_done) struct request q;
	struct store_new new = { .request = &q,
				 .pool = CHARGE_POOL_CPU,
				 .terms = { .rate = { what->ncpus, 1 }, .ncpus = what->ncpus },
				 .now_ns = what->at_ns };
	int64_t job;

	request_init(&q);
	strcpy(q.cluster, "main");
	strcpy(q.account, what->account);
	strcpy(q.user, what->user);
	strcpy(q.queue, what->queue);
	strcpy(q.name, "job");
	q.res = (struct resources){ .ncpus = what->ncpus, .vmem_bytes = 1, .walltime_s = 60 };
	q.workdir = strdup("/");
	for (int i = 0; i < _CHARGE_SIDE_MAX; i++)
		new.terms.bundle.side[i] = (struct fraction){ i == CHARGE_CORES, 1 };
	assert_int_equal(rig_submit_one(r->store, &new, &job, NULL), 0);
	return job;
}

/* A node with 8 cores. */
static void hello(struct rig *r, int64_t now_ns)
{
	struct rig_say say = { .now_ns = now_ns };
	struct sync_result result;

	assert_int_equal(rig_say(r, &say, &result), 0);
	sync_result_done(&result);
}

static struct order order_of(struct world *w, struct rig *r, int64_t now_ns)
{
	struct names users = { 0 }, accounts = { 0 };
	const struct order_ask ask = { .store = r->store,
				       .sharetree = w->sharetree,
				       .cluster = "main",
				       .has = { 1, 8 },
				       .now_ns = now_ns,
				       .config = w->config,
				       .users = &users,
				       .accounts = &accounts };
	struct err err = { "" };
	struct order o;

	if (order_make(&ask, &o, &err) < 0)
		fail_msg("%s", err.text);
	names_done(&users);
	names_done(&accounts);
	return o;
}

/* As a schedule has them: by priority, then by number. */
static void assert_order(const struct order *o, const int64_t *jobs)
{
	for (size_t i = 1; i < o->n; i++) {
		const struct order_job *a = order_find(o, jobs[i - 1]),
				       *b = order_find(o, jobs[i]);

		assert_true(a->priority > b->priority ||
			    (a->priority == b->priority && jobs[i - 1] < jobs[i]));
	}
}

static void fairshare_then_age_then_number_decide(void **state)
{
	_cleanup_(world_done) struct world w =
		world_of("PriorityWeightFairshare = 1000\nPriorityWeightAge = 100\n"
			 "PriorityMaxAge = 1:00:00",
			 declared);
	struct rig *r = *state;
	struct order o;
	int64_t now = NOON + 3600 * S_NS;

	put(&w, charge_of("physics", "alice", NOON, 10), NOON + 10 * S_NS);
	submit(r, &(struct queued){ "physics", "alice", "normal", 1, NOON });
	submit(r, &(struct queued){ "arts", "carol", "normal", 1, now });
	submit(r, &(struct queued){ "arts", "carol", "normal", 1, now });
	submit(r, &(struct queued){ "arts", "carol", "normal", 1, NOON });
	o = order_of(&w, r, now);
	assert_order(&o, (int64_t[]){ 4, 2, 3, 1 });
	/* A new job has its priority at once; age is bounded. */
	assert_int_equal(order_find(&o, 2)->priority, 1000);
	assert_int_equal(order_find(&o, 4)->priority, 1100);
	assert_string_equal(order_find(&o, 4)->main, "fairshare");
	assert_null(order_find(&o, 5));
	order_done(&o);
	o = order_of(&w, r, now + 100 * 3600 * S_NS);
	assert_int_equal(order_find(&o, 4)->priority, 1100);
	order_done(&o);
}

static void size_favours_large_or_small(void **state)
{
	static const char *const policies[] = {
		"PriorityWeightJobSize = 1000",
		"PriorityWeightJobSize = 1000\nFavorSmall = yes",
	};
	struct rig *r = *state;

	submit(r, &(struct queued){ "arts", "carol", "normal", 1, NOON });
	submit(r, &(struct queued){ "arts", "carol", "normal", 8, NOON });
	for (size_t i = 0; i < ARRAY_LEN(policies); i++) {
		_cleanup_(world_done) struct world w = world_of(policies[i], declared);
		struct order o = order_of(&w, r, NOON);

		assert_order(&o, i ? (int64_t[]){ 1, 2 } : (int64_t[]){ 2, 1 });
		order_done(&o);
	}
}

/* Each with what the cluster of 4 nodes, 64 cores and 16 a node makes of it. */
static void size_counts_every_node_and_core_of_a_request(void **state)
{
	_cleanup_(world_done) struct world w =
		world_of("PriorityWeightJobSize = 1000", declared);
	const struct rank_cluster has = { 4, 64, 16 };
	const struct select scattered = { 1, true, { { .n = 4, .ncpus = 4 } } },
			    packed = { 1, false, { { .n = 4, .ncpus = 4 } } };
	const struct {
		const struct select *select;
		bool is_exclusive;
		int64_t ncpus, points;
	} jobs[] = {
		{ NULL, false, 16, 250 },    { NULL, false, 64, 1000 },
		{ NULL, false, 17, 382 },    { &scattered, false, 16, 625 },
		{ &packed, false, 16, 250 }, { &scattered, true, 16, 1000 },
		{ NULL, true, 1, 250 },
	};

	(void)state;
	look(&w, cpu, NOON);
	for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
		const struct resources want = { .ncpus = jobs[i].ncpus, .walltime_s = 60 };
		const struct rank_job j = { .where = cpu,
					    .account = "arts",
					    .user = "carol",
					    .queue = "normal",
					    .want = &want,
					    .select = jobs[i].select,
					    .is_exclusive = jobs[i].is_exclusive };
		struct priority p;

		assert_int_equal(rank_job(w.sharetree, &has, &j, &p, NULL), 0);
		assert_int_equal(p.value, jobs[i].points);
	}
}

static void a_job_ages_from_when_nothing_holds_it_back(void **state)
{
	_cleanup_(world_done) struct world w =
		world_of("PriorityWeightAge = 1000\nPriorityMaxAge = 10:00:00", declared);
	struct store_hold h = { 1, NOON, STORE_HOLD_USER, "carol" };
	const int64_t hour = 3600 * S_NS;
	struct rig *r = *state;
	struct order o;

	submit(r, &(struct queued){ "arts", "carol", "normal", 1, NOON });
	submit(r, &(struct queued){ "arts", "carol", "normal", 1, NOON });
	assert_int_equal(store_hold(r->store, &h, NULL), 0);
	h.now_ns = NOON + 4 * hour;
	assert_int_equal(store_release(r->store, &h, NULL), 0);
	o = order_of(&w, r, NOON + 5 * hour);
	assert_int_equal(order_find(&o, 1)->priority, 100);
	assert_int_equal(order_find(&o, 2)->priority, 500);
	order_done(&o);
}

static int n_given;
static int64_t given[8];
static void on_told(void *ctx, const struct cycle_news *news)
{
	(void)ctx;
	assert_int_equal(news->did, CYCLE_GAVE);
	given[n_given++] = news->job;
}

static void in_strict_order_nobody_passes_and_all_are_told_why(void **state)
{
	_cleanup_(world_done) struct world w =
		world_of("PriorityWeightFairshare = 1000\nScheduler = fifo", declared);
	_cleanup_(cycle_freep) struct cycle *c = NULL;
	struct rig *r = *state;
	struct cycle_run run = { "main", NOON + 10 * S_NS, on_told, NULL, NULL };
	char why[512];

	n_given = 0;
	put(&w, charge_of("physics", "alice", NOON, 10), NOON + 10 * S_NS);
	hello(r, NOON);
	submit(r, &(struct queued){ "physics", "alice", "normal", 6, NOON });
	submit(r, &(struct queued){ "arts", "carol", "normal", 6, NOON });
	submit(r, &(struct queued){ "physics", "bob", "normal", 6, NOON });
	submit(r, &(struct queued){ "physics", "alice", "normal", 1, NOON });
	assert_int_equal(cycle_new(r->store, w.sharetree, &c, NULL), 0);
	assert_int_equal(cycle_run(c, &run, NULL), 0);
	/* carol starts; bob is next and lacks cores; alice's small job must not pass by. */
	assert_int_equal(n_given, 1);
	assert_int_equal(given[0], 2);
	cycle_why(c, "main", 3, why, sizeof(why));
	assert_string_equal(why,
			    "priority 750, mostly fairshare; first in the queue; needs 6 "
			    "cores (2 of 8 free) on n1; starts in 0:01:00 at the latest, if "
			    "nobody comes before it");
	cycle_why(c, "main", 4, why, sizeof(why));
	assert_string_equal(why,
			    "priority 250, mostly fairshare; place 3 of 3; waits behind job 3 "
			    "(priority 750), the first in the queue, which needs 6 cores (2 of "
			    "8 free) on n1");
	cycle_why(c, "main", 99, why, sizeof(why));
	assert_string_equal(why, "waits for the next scheduling cycle");
}

static void later_jobs_start_where_they_delay_nobody(void **state)
{
	_cleanup_(world_done) struct world w =
		world_of("PriorityWeightFairshare = 1000", declared);
	_cleanup_(cycle_freep) struct cycle *c = NULL;
	struct rig *r = *state;
	struct cycle_run run = { "main", NOON + 10 * S_NS, on_told, NULL, NULL };
	char why[512];

	n_given = 0;
	put(&w, charge_of("physics", "alice", NOON, 10), NOON + 10 * S_NS);
	hello(r, NOON);
	submit(r, &(struct queued){ "arts", "carol", "normal", 6, NOON });
	submit(r, &(struct queued){ "physics", "bob", "normal", 8, NOON });
	submit(r, &(struct queued){ "physics", "alice", "normal", 2, NOON });
	submit(r, &(struct queued){ "physics", "alice", "normal", 1, NOON });
	assert_int_equal(cycle_new(r->store, w.sharetree, &c, NULL), 0);
	assert_int_equal(cycle_run(c, &run, NULL), 0);
	assert_int_equal(n_given, 2);
	assert_int_equal(given[0], 1);
	assert_int_equal(given[1], 3); /* over when bob's may start */
	assert_int_equal(cycle_forecast_s(c, "main", 2), 60);
	assert_int_equal(cycle_forecast_s(c, "main", 4), 120);
	assert_int_equal(cycle_forecast_s(c, "main", 1), -1);
	run.now_ns += 30 * S_NS;
	assert_int_equal(cycle_run(c, &run, NULL), 0);
	assert_int_equal(n_given, 2);
	cycle_why(c, "main", 4, why, sizeof(why));
	assert_non_null(strstr(why, "place 2 of 2; needs 1 core (0 of 8 free) on n1"));
}

static void nothing_weighed_is_first_in_first_out(void **state)
{
	_cleanup_(world_done) struct world w = world_of("", declared);
	_cleanup_(cycle_freep) struct cycle *c = NULL;
	struct rig *r = *state;
	struct cycle_run run = { "main", NOON + 10 * S_NS, on_told, NULL, NULL };

	n_given = 0;
	put(&w, charge_of("physics", "alice", NOON, 10), NOON + 10 * S_NS);
	hello(r, NOON);
	submit(r, &(struct queued){ "physics", "alice", "normal", 6, NOON });
	submit(r, &(struct queued){ "arts", "carol", "normal", 6, NOON });
	assert_int_equal(cycle_new(r->store, w.sharetree, &c, NULL), 0);
	assert_int_equal(cycle_run(c, &run, NULL), 0);
	assert_int_equal(n_given, 1);
	assert_int_equal(given[0], 1);
}

/* alice may hold 2 cores: her third job waits for that, and bob's behind it does not. The node
 * has 8: what is placed, what waits behind whom, and why. */
static void limits_hold_back_their_own_jobs_alone(void **state)
{
	static const char limited[] = "[Account physics]\nUsers = alice, bob\n"
				      "[User alice]\nMaxRunningCores = 2\n";
	static const char *const policies[] = {
		"Scheduler = fifo", "PriorityWeightFairshare = 1000\nScheduler = fifo"
	};
	struct rig *r = *state;
	char why[512];

	hello(r, NOON);
	for (int i = 0; i < 3; i++)
		submit(r, &(struct queued){ "physics", "alice", "normal", 1, NOON });
	for (int i = 0; i < 70; i++) /* more than a batch of them is held back */
		submit(r, &(struct queued){ "physics", "alice", "normal", 1, NOON });
	submit(r, &(struct queued){ "physics", "bob", "normal", 4, NOON });
	submit(r, &(struct queued){ "physics", "bob", "normal", 4, NOON });
	submit(r, &(struct queued){ "physics", "bob", "normal", 1, NOON });
	for (size_t i = 0; i < ARRAY_LEN(policies); i++) {
		_cleanup_(world_done) struct world w = world_of(policies[i], limited);
		_cleanup_(cycle_freep) struct cycle *c = NULL;
		struct cycle_run run = { "main", NOON + 10 * S_NS, on_told, NULL, w.accounts };

		n_given = 0;
		assert_int_equal(cycle_new(r->store, w.sharetree, &c, NULL), 0);
		assert_int_equal(cycle_run(c, &run, NULL), 0);
		assert_int_equal(n_given, i ? 0 : 3); /* as it was left the second time */
		if (i == 0) {
			assert_int_equal(given[0], 1);
			assert_int_equal(given[1], 2);
			assert_int_equal(given[2], 74);
		}
		cycle_why(c, "main", 3, why, sizeof(why));
		assert_non_null(strstr(why, "user alice"));
		cycle_why(c, "main", 75, why, sizeof(why));
		assert_non_null(strstr(why, "needs 4 cores (2 of 8 free) on n1"));
		cycle_why(c, "main", 76, why, sizeof(why));
		assert_non_null(strstr(why, "waits behind job 75"));
	}
}

static void more_jobs_than_a_batch_are_given_in_order(void **state)
{
	_cleanup_(world_done) struct world w =
		world_of("PriorityWeightFairshare = 1000", declared);
	struct rig *r = *state;
	struct order o;

	for (int i = 0; i < 300; i++)
		submit(r, &(struct queued){ i % 2 ? "arts" : "physics", i % 2 ? "carol" : "bob",
					    "normal", 1, NOON });
	put(&w, charge_of("arts", "carol", NOON, 10), NOON + 10 * S_NS);
	o = order_of(&w, r, NOON + 10 * S_NS);
	assert_int_equal(o.n, 300);
	for (int64_t i = 0; i < 300; i++) { /* by number; carol has used something */
		assert_int_equal(o.jobs[i].job.job, i + 1);
		assert_int_equal(o.jobs[i].priority,
				 i % 2 ? o.jobs[1].priority : o.jobs[0].priority);
	}
	assert_true(o.jobs[0].priority > o.jobs[1].priority);
	order_done(&o);
}

/* ---- kept from cycle to cycle ---- */

static uint32_t random_of(uint64_t *seed, uint32_t n)
{
	*seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (uint32_t)(*seed >> 33) % n;
}

/* One of the things that happen to queued jobs. */
static void disturb(struct rig *r, uint64_t *seed, int64_t now)
{
	int64_t job = 1 + random_of(seed, 60);
	const struct store_hold hold = {
		.job = job, .kind = STORE_HOLD_USER, .author = "alice", .now_ns = now
	};
	const struct store_priority_change weights = { .job = job,
						       .now_ns = now,
						       .has_nice = true,
						       .nice = random_of(seed, 9),
						       .author = "alice" };
	const struct store_desired_change cancel = {
		.job = job, .want = DESIRED_CANCEL, .reason = "x", .now_ns = now
	};
	const struct store_allocation gift = { .job = job, .node = "n1" };
	char node[REQUEST_NAME_MAX];

	switch (random_of(seed, 8)) {
	case 0:
		(void)store_hold(r->store, &hold, NULL);
		break;
	case 1:
		(void)store_release(r->store, &hold, NULL);
		break;
	case 2:
		(void)store_set_priority(r->store, &weights, NULL);
		break;
	case 3:
		(void)store_set_desired(r->store, &cancel, node, NULL);
		break;
	case 4:
		(void)store_allocate(r->store, &gift, 1, now, NULL); /* or it is taken back */
		break;
	case 5:
		(void)store_set_due(r->store, &job, 1, now, NULL);
		break;
	default:
		submit(r, &(struct queued){ "arts", "carol", "normal", 1 + job % 4, now });
	}
}

static struct order_ask ask_of(struct world *w, struct rig *r, struct names *names)
{
	return (struct order_ask){ .store = r->store,
				   .sharetree = w->sharetree,
				   .cluster = "main",
				   .has = { 1, 8 },
				   .now_ns = NOON,
				   .config = w->config,
				   .users = &names[0],
				   .accounts = &names[1] };
}

static void on_change(void *ctx, const struct store_changes *what)
{
	store_changes_merge(ctx, what);
}

static void what_is_kept_is_what_would_be_read(void **state)
{
	_cleanup_(world_done) struct world w =
		world_of("PriorityWeightFairshare = 1000\nPriorityWeightAge = 100", declared);
	struct rig *r = *state;
	struct names names[2] = { { 0 }, { 0 } };
	struct order_ask ask = ask_of(&w, r, names);
	struct store_changes changes = { 0 };
	struct order kept, fresh;
	uint64_t seed = 7;
	int64_t job;

	assert_int_equal(store_listen(r->store, on_change, &changes), 0);
	assert_int_equal(store_listen(r->store, on_change, &changes), -EBUSY);
	hello(r, NOON);
	assert_int_equal(order_make(&ask, &kept, NULL), 0);
	for (int turn = 0; turn < 120; turn++) {
		struct store_changes since;

		for (uint32_t i = random_of(&seed, 6); i > 0; i--)
			disturb(r, &seed, ask.now_ns);
		ask.now_ns += S_NS;
		since = store_changes_take(&changes);
		assert_false(since.is_all);
		assert_int_equal(order_update(&ask, &since, &kept, NULL), 0);
		store_changes_done(&since);
		assert_int_equal(order_make(&ask, &fresh, NULL), 0);
		if (!order_is_same(&kept, &fresh, &job))
			fail_msg("turn %d: job %lld", turn, (long long)job);
		order_done(&fresh);
	}
	assert_true(kept.n > 20);
	order_done(&kept);
	store_listen(r->store, NULL, NULL);
	store_changes_done(&changes);
	names_done(&names[0]);
	names_done(&names[1]);
}

/* What has changed: "all", "nodes" or the numbers of jobs since the last call. */
static const char *changes_text(struct store_changes *c, char buf[static 64])
{
	struct store_changes all = store_changes_take(c);
	int n = snprintf(buf, 64, "%s%s", all.is_all ? "all " : "",
			 all.are_nodes_new ? "nodes " : "");

	for (size_t i = 0; i < all.n; i++)
		n += snprintf(buf + n, 64 - (size_t)n, "%lld ", (long long)all.jobs[i]);
	store_changes_done(&all);
	return buf;
}

static void what_is_committed_is_announced_and_what_is_taken_back_is_not(void **state)
{
	const struct queued one = { "arts", "carol", "normal", 1, NOON };
	struct store_allocation gifts[] = { { .job = 1, .node = "n1" },
					    { .job = 77, .node = "n1" } };
	struct store_drain drain = { "n1", "root", "disks", NOON, NOON };
	struct rig *r = *state;
	struct store_changes changes = { 0 };
	char buf[64];

	submit(r, &one); /* before anybody listens */
	assert_int_equal(store_listen(r->store, on_change, &changes), 0);
	assert_string_equal(changes_text(&changes, buf), "");
	submit(r, &one);
	assert_string_equal(changes_text(&changes, buf), "2 ");
	hello(r, NOON);
	assert_string_equal(changes_text(&changes, buf), "nodes ");
	hello(r, NOON + S_NS); /* says the same again */
	assert_string_equal(changes_text(&changes, buf), "");
	assert_int_equal(store_allocate(r->store, gifts, 2, NOON, NULL), -ESTALE);
	assert_string_equal(changes_text(&changes, buf), "");
	assert_int_equal(store_allocate(r->store, gifts, 1, NOON, NULL), 0);
	assert_string_equal(changes_text(&changes, buf), "1 ");
	rig_tell(r, rig_report(1, 1, JOB_RUNNING, 1), NOON + 2 * S_NS);
	assert_string_equal(changes_text(&changes, buf), "1 ");
	assert_int_equal(store_drain(r->store, &drain, NULL), 0);
	assert_string_equal(changes_text(&changes, buf), "nodes ");
	assert_int_equal(store_mark_lost_nodes(r->store, NOON + DAY_NS, NOON + DAY_NS, NULL),
			 1);
	assert_string_equal(changes_text(&changes, buf), "nodes ");
	store_listen(r->store, NULL, NULL);
	submit(r, &one);
	assert_string_equal(changes_text(&changes, buf), "");
	store_changes_done(&changes);
}

static void a_difference_is_found(void **state)
{
	_cleanup_(world_done) struct world w = world_of("", declared);
	struct rig *r = *state;
	struct names names[2] = { { 0 }, { 0 } };
	struct order_ask ask = ask_of(&w, r, names);
	struct order a, b;
	int64_t job = 0;

	submit(r, &(struct queued){ "arts", "carol", "normal", 1, NOON });
	assert_int_equal(order_make(&ask, &a, NULL), 0);
	submit(r, &(struct queued){ "arts", "carol", "normal", 1, NOON });
	assert_int_equal(order_make(&ask, &b, NULL), 0);
	assert_false(order_is_same(&a, &b, &job));
	assert_int_equal(job, 2);
	b.jobs[0].job.want.ncpus++;
	assert_false(order_is_same(&a, &b, &job));
	assert_int_equal(job, 1);
	order_done(&a);
	order_done(&b);
	names_done(&names[0]);
	names_done(&names[1]);
}

static void more_changes_than_can_be_told_are_all(void **state)
{
	struct store_changes c = { 0 }, all;

	(void)state;
	for (int turn = 0; turn < 100; turn++) /* the same ones again and again */
		for (int64_t job = 1; job <= 1000; job++)
			store_changes_add(&c, job);
	all = store_changes_take(&c);
	assert_false(all.is_all);
	assert_int_equal(all.n, 1000);
	for (int64_t i = 0; i < 1000; i++)
		assert_int_equal(all.jobs[i], i + 1);
	store_changes_done(&all);
	for (int64_t job = 1; job <= STORE_CHANGES_MAX + 1; job++)
		store_changes_add(&c, job);
	all = store_changes_take(&c);
	assert_true(all.is_all);
	assert_false(c.is_all); /* from then on changes are announced again */
	store_changes_done(&all);
}

#define RIG(t) cmocka_unit_test_setup_teardown(t, rig_open, rig_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG(fairshare_then_age_then_number_decide),
		RIG(size_favours_large_or_small),
		RIG(size_counts_every_node_and_core_of_a_request),
		RIG(a_job_ages_from_when_nothing_holds_it_back),
		RIG(in_strict_order_nobody_passes_and_all_are_told_why),
		RIG(later_jobs_start_where_they_delay_nobody),
		RIG(nothing_weighed_is_first_in_first_out),
		RIG(limits_hold_back_their_own_jobs_alone),
		RIG(more_jobs_than_a_batch_are_given_in_order),
		RIG(what_is_kept_is_what_would_be_read),
		RIG(a_difference_is_found),
		RIG(what_is_committed_is_announced_and_what_is_taken_back_is_not),
		cmocka_unit_test(more_changes_than_can_be_told_are_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
