/* test_parts - jobs on several nodes in the ledger: what of them is told to whom and when, what
 * their nodes' reports add up to, and how they end. Times and figures as in ledger_rig.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "common/wire/wire.h"
#include "controller/ledger/store_charges.h"
#include "controller/ledger/store_lost.h"
#include "controller/ledger/store_parts.h"
#include "controller/ledger/store_placed.h"
#include "controller/ledger/store_sqlite.h"
#include "controller/ledger/store_verify.h"
#include "tests/unit/ledger_rig.h"

static const char *const names[] = { "n1", "n2", "n3" };

/* ---- the rig ---- */

static void chunks(struct request *q)
{
	struct err err = { "" };

	if (select_parse("3:ncpus=2:vmem=1GB:jobfs=1GB", &q->select, q->res.gpu_model, &err) <
	    0)
		fail_msg("%s", err.text);
	assert_int_equal(select_total(&q->select, &q->res, &err), 0);
}

/* Of 2 cores and 1 GB on each of n nodes: 2 n core-seconds a second. */
static int64_t submit(struct rig *r, bool requeue)
{
	_cleanup_(request_done) struct request q;
	struct store_new new = { .request = &q,
				 .pool = CHARGE_POOL_CPU,
				 .terms = { .rate = { 6, 1 }, .ncpus = 6 },
				 .now_ns = NOON };
	int64_t job;

	request_init(&q);
	strcpy(q.cluster, "main");
	strcpy(q.account, "physics");
	strcpy(q.user, "alice");
	strcpy(q.queue, "normal");
	strcpy(q.name, "job");
	q.res.walltime_s = 3600;
	q.requeue = requeue;
	q.select.is_scattered = true;
	chunks(&q);
	q.workdir = strdup("/");
	new.terms.bundle.side[CHARGE_GPUS] = (struct fraction){ 0, 1 };
	new.terms.bundle.side[CHARGE_CORES] = (struct fraction){ 1, 1 };
	new.terms.bundle.side[CHARGE_MEMORY] = (struct fraction){ 4000000000, 1 };
	assert_int_equal(store_submit(r->store, &new, &job, NULL), 0);
	return job;
}

struct says {
	int node; /* 0: n1 */
	const struct report *report;
	const struct sync_hold *hold; /* NULL: it lists nothing */
	const char *boot;
	int64_t now_ns;
};

static void say(struct rig *r, const struct says *what, struct sync_result *ret)
{
	struct sync in = {
		.capacity = { .ncpus = 8, .mem_bytes = 64LL << 30, .jobfs_bytes = 64LL << 30 },
		.jobs = (struct sync_hold *)what->hold,
		.n_jobs = what->hold ? 1 : 0,
		.reports = (struct report *)what->report,
		.n_reports = what->report ? 1 : 0
	};
	struct sync_from from = { .cluster = "main",
				  .address = "10.0.0.1",
				  .now_ns = what->now_ns,
				  .lost_ns = 120 * S_NS };
	struct err err = { "" };

	strcpy(in.node, names[what->node]);
	strcpy(in.boot, what->boot ? what->boot : "b1");
	if (store_ingest(r->store, &in, &from, ret, &err) < 0)
		fail_msg("%s", err.text);
}

static void hello(struct rig *r, int node, int64_t now_ns)
{
	const struct says what = { .node = node, .now_ns = now_ns };
	struct sync_result out;

	say(r, &what, &out);
	sync_result_done(&out);
}

static void give(struct rig *r, int64_t job, int64_t now_ns)
{
	static const struct store_part parts[] = {
		{ "n1", 2, 1000000000, 0, 1000000000, 0 },
		{ "n2", 2, 1000000000, 0, 1000000000, 0 },
		{ "n3", 2, 1000000000, 0, 1000000000, 0 },
	};
	const struct store_gift gift = { job, "n1", parts, 3 };
	struct err err = { "" };

	for (int i = 0; i < 3; i++)
		hello(r, i, now_ns);
	if (store_give(r->store, &gift, 1, now_ns, &err) < 0)
		fail_msg("%s", err.text);
}

/* The node shows the attempt so. Whether other nodes have something else to do by that. */
static bool show(struct rig *r, int node, int64_t job, enum job_state state, int64_t now_ns)
{
	const struct sync_hold hold = { job, 1, state };
	const struct says what = { .node = node, .hold = &hold, .now_ns = now_ns };
	struct sync_result out;
	bool stirs;

	say(r, &what, &out);
	assert_int_equal(out.n_refusals, 0);
	stirs = out.n_stirred > 0;
	sync_result_done(&out);
	return stirs;
}

/* A node's report with `cpu_s` of its own, in a list that shows the attempt so. */
static struct report report(int64_t job, int64_t seq, enum job_state state, int64_t cpu_s)
{
	struct report rep = rig_report(job, seq, state, cpu_s);

	usage_set(&rep.usage, &rep.usage.vmem_peak_bytes, 100 * cpu_s);
	return rep;
}

static bool tell(struct rig *r, int node, struct report rep, int64_t now_ns)
{
	const struct sync_hold hold = { rep.job, rep.attempt, rep.state };
	const struct says what = {
		.node = node, .hold = &hold, .report = &rep, .now_ns = now_ns
	};
	struct sync_result out;
	bool stirs;

	say(r, &what, &out);
	assert_int_equal(out.n_acks, 1);
	assert_true(out.acks[0].seq >= rep.seq);
	stirs = out.n_stirred > 0;
	sync_result_done(&out);
	return stirs;
}

struct told {
	int n;
	struct store_given g;
	char hosts[64], reason[256];
};

static int take_given(void *ctx, const struct store_given *g, struct err *err)
{
	struct told *t = ctx;

	(void)err;
	t->n++;
	t->g = *g;
	snprintf(t->hosts, sizeof(t->hosts), "%s", g->part.hosts);
	snprintf(t->reason, sizeof(t->reason), "%s", g->reason);
	return 0;
}

/* What the node is told. */
static struct told given(struct rig *r, int node)
{
	struct told t = { 0 };

	assert_int_equal(store_given(r->store, names[node], take_given, &t, NULL), 0);
	return t;
}

static int64_t held_cores(struct rig *r, int node)
{
	_cleanup_free_ struct fit_node *nodes = NULL;
	size_t n;

	assert_int_equal(store_holds(r->store, "main", &nodes, &n, NULL), 0);
	assert_int_equal(n, 3);
	return nodes[node].held.ncpus;
}

static int differs(void *ctx, const struct store_difference *d, struct err *err)
{
	(void)ctx;
	(void)err;
	fail_msg("job %lld %s: %lld, recomputed %lld", (long long)d->job, d->figure,
		 (long long)d->stored, (long long)d->recomputed);
	return 0;
}

static void verify(struct rig *r)
{
	struct store_verified n = { 0 };

	assert_int_equal(store_verify(r->store, differs, NULL, &n, NULL), 0);
	assert_int_equal(n.differences, 0);
}

/* One that runs on all three nodes since NOON. */
static int64_t running(struct rig *r, bool requeue)
{
	int64_t job = submit(r, requeue);

	give(r, job, NOON);
	for (int i = 2; i >= 0; i--)
		tell(r, i, report(job, 1, JOB_RUNNING, 0), NOON + S_NS);
	return job;
}

static struct report ended(int64_t job, int64_t seq, enum job_end_kind kind, int64_t cpu_s)
{
	struct report rep = report(job, seq, JOB_ENDED, cpu_s);

	rep.end.kind = kind;
	rep.end.reason.requested = rep.end.reason.reached = -1;
	if (kind == END_LIMIT) {
		rep.end.reason = (struct reason){ .limit = LIMIT_VMEM,
						  .requested = 1000000000,
						  .reached = 1500000000 };
		strcpy(rep.end.reason.host, "n2");
	}
	return rep;
}

/* ---- usage ---- */

static void usage_of_nodes_adds_up_peaks_too(void **state)
{
	struct usage sum = { 0 }, a = { 0 }, b = { 0 };

	(void)state;
	usage_set(&a, &a.cpu_ns, 3);
	usage_set(&b, &b.cpu_ns, 4);
	usage_set(&a, &a.rss_peak_bytes, 10);
	usage_set(&b, &b.rss_peak_bytes, 20);
	usage_set(&a, &a.run_delay_max_ns, 5);
	usage_set(&b, &b.run_delay_max_ns, 2);
	usage_set(&b, &b.gpus_used, 1);
	a.cores[0] = (struct usage_core){ 0, 3 };
	a.n_cores = 1;
	usage_add(&sum, &a);
	usage_add(&sum, &b);
	assert_int_equal(sum.cpu_ns, 7);
	assert_int_equal(sum.rss_peak_bytes, 30);
	assert_int_equal(sum.run_delay_max_ns, 5); /* the longest */
	assert_int_equal(sum.gpus_used, 1);	   /* where one node has it */
	assert_false(usage_has(&sum, &sum.read_bytes));
	assert_int_equal(sum.n_cores, 0);
}

static void usage_of_nodes_does_not_wrap(void **state)
{
	struct usage sum = { 0 }, a = { 0 };

	(void)state;
	usage_set(&a, &a.read_bytes, INT64_MAX - 1);
	usage_add(&sum, &a);
	usage_add(&sum, &a);
	assert_int_equal(sum.read_bytes, INT64_MAX);
}

/* ---- in the queue, and given ---- */

static int see_chunks(void *ctx, const struct store_waiting *w, struct err *err)
{
	(void)err;
	assert_true(w->is_scattered);
	assert_int_equal(w->want.ncpus, 6);
	snprintf(ctx, SELECT_TEXT_MAX, "%s", w->chunks);
	return 0;
}

static void chunks_are_kept_while_it_waits(void **state)
{
	struct rig *r = *state;
	char text[SELECT_TEXT_MAX] = "";

	submit(r, false);
	assert_int_equal(store_waiting(r->store, "main", see_chunks, text, NULL), 0);
	assert_string_equal(text, "3:ncpus=2:vmem=1GB:jobfs=1GB");
}

static void the_first_node_is_told_when_all_others_run(void **state)
{
	struct rig *r = *state;
	int64_t job = submit(r, false);
	struct told t;

	give(r, job, NOON);
	assert_int_equal(given(r, 0).n, 0);
	t = given(r, 1);
	assert_int_equal(t.n, 1);
	assert_int_equal(t.g.want, STORE_RUN);
	assert_int_equal(t.g.part.index, 1);
	assert_int_equal(t.g.part.n, 3);
	assert_string_equal(t.hosts, "n1=2,n2=2,n3=2");
	assert_int_equal(t.g.share.ncpus, 2);
	assert_int_equal(t.g.share.vmem_bytes, 1000000000);
	assert_false(show(r, 1, job, JOB_STARTING, NOON + S_NS));
	assert_false(show(r, 1, job, JOB_RUNNING, NOON + S_NS));
	assert_int_equal(given(r, 0).n, 0);
	assert_int_equal(rig_see(r, job).state, JOB_STARTING);
	assert_true(show(r, 2, job, JOB_RUNNING, NOON + S_NS));
	t = given(r, 0);
	assert_int_equal(t.n, 1);
	assert_int_equal(t.g.part.index, 0);
	assert_int_equal(t.g.share.ncpus, 2);
	assert_int_equal(rig_see(r, job).state, JOB_STARTING);
	show(r, 0, job, JOB_RUNNING, NOON + 2 * S_NS);
	assert_int_equal(rig_see(r, job).state, JOB_RUNNING);
	assert_string_equal(rig_see(r, job).node, "n1");
}

static void each_node_holds_its_part_until_that_has_ended(void **state)
{
	struct rig *r = *state;
	int64_t job = running(r, false);

	for (int i = 0; i < 3; i++)
		assert_int_equal(held_cores(r, i), 2);
	tell(r, 0, ended(job, 2, END_EXITED, 10), NOON + 10 * S_NS);
	assert_int_equal(held_cores(r, 0), 0);
	assert_int_equal(held_cores(r, 1), 2);
	tell(r, 1, ended(job, 2, END_CANCELLED, 10), NOON + 11 * S_NS);
	tell(r, 2, ended(job, 2, END_CANCELLED, 10), NOON + 11 * S_NS);
	assert_int_equal(held_cores(r, 1) + held_cores(r, 2), 0);
	verify(r);
}

struct placed {
	int n;
	size_t n_parts;
	enum job_state state;
	char nodes[64];
};

static int see_placed(void *ctx, const struct store_placed *p, struct err *err)
{
	struct placed *to = ctx;

	(void)err;
	*to = (struct placed){ to->n + 1, p->n_parts, p->state, "" };
	for (size_t i = 0; i < p->n_parts; i++) {
		strcat(to->nodes, p->parts[i].node);
		assert_int_equal(p->parts[i].ncpus, 2);
	}
	return 0;
}

static void the_queue_is_told_of_what_is_held_also_when_the_job_is_over(void **state)
{
	struct rig *r = *state;
	int64_t job = running(r, false), single = rig_job(r, NOON);
	struct placed p = { 0 };

	assert_int_equal(store_placed(r->store, "main", see_placed, &p, NULL), 0);
	assert_int_equal(p.n, 2);
	assert_int_equal(p.n_parts, 0); /* the other one */
	rig_tell(r, rig_report(single, 1, JOB_ENDED, 1), NOON + S_NS);
	tell(r, 0, ended(job, 2, END_EXITED, 10), NOON + 10 * S_NS);
	tell(r, 2, ended(job, 2, END_CANCELLED, 10), NOON + 11 * S_NS);
	p.n = 0;
	assert_int_equal(store_placed(r->store, "main", see_placed, &p, NULL), 0);
	assert_int_equal(p.n, 1);
	assert_string_equal(p.nodes, "n2");
	assert_int_equal(p.state, JOB_ENDING);
}

/* ---- reports ---- */

static int64_t of_attempt(struct rig *r, const char *what)
{
	char sql[128];

	snprintf(sql, sizeof(sql), "SELECT %s FROM attempts", what);
	return rig_number(r, sql);
}

static int64_t used_ms(struct rig *r)
{
	int64_t n = of_attempt(r, "SUM(charge_used_ms)");

	assert_int_equal(rig_number(r, "SELECT SUM(charge_used_ms) FROM rollups"), n);
	return n;
}

static void reports_of_all_nodes_are_one_usage_charged_by_the_first_ones_time(void **state)
{
	struct rig *r = *state;
	int64_t job = running(r, false);

	tell(r, 1, report(job, 2, JOB_RUNNING, 10), NOON + 10 * S_NS);
	assert_int_equal(of_attempt(r, "running_ns"), 0);
	tell(r, 0, report(job, 2, JOB_RUNNING, 10), NOON + 10 * S_NS);
	tell(r, 2, report(job, 2, JOB_RUNNING, 10), NOON + 10 * S_NS);
	assert_int_equal(of_attempt(r, "usage ->> '$.cpu_ns'"), 30 * S_NS);
	assert_int_equal(of_attempt(r, "usage ->> '$.rss_peak_bytes'"), 3000000000);
	assert_int_equal(of_attempt(r, "usage ->> '$.vmem_peak_bytes'"), 3000);
	assert_int_equal(of_attempt(r, "running_ns"), 10 * S_NS);
	assert_int_equal(of_attempt(r, "charge_requested_ms"), 60000);
	assert_int_equal(used_ms(r), 30000);
	verify(r);
}

static void the_last_word_of_a_node_counts_after_the_end_of_the_job(void **state)
{
	struct rig *r = *state;
	int64_t job = running(r, false);

	tell(r, 0, ended(job, 2, END_EXITED, 10), NOON + 10 * S_NS);
	assert_int_equal(rig_see(r, job).state, JOB_ENDED);
	tell(r, 1, ended(job, 2, END_CANCELLED, 10), NOON + 11 * S_NS);
	tell(r, 2, ended(job, 2, END_CANCELLED, 15), NOON + 11 * S_NS);
	assert_int_equal(of_attempt(r, "usage ->> '$.cpu_ns'"), 35 * S_NS);
	assert_int_equal(used_ms(r), 35000);
	assert_int_equal(of_attempt(r, "charge_requested_ms"), 60000);
	assert_int_equal(rig_see(r, job).end, END_EXITED);
	assert_int_equal(rig_number(r, "SELECT SUM(jobs_ended) FROM rollups"), 1);
	assert_int_equal(rig_number(r, "SELECT SUM(jobs_started) FROM rollups"), 1);
	verify(r);
}

static void a_node_that_has_no_part_is_refused(void **state)
{
	struct rig *r = *state;
	int64_t job = submit(r, false);
	const struct store_part two[] = { { "n1", 3, 1000, 0, 1000, 0 },
					  { "n2", 3, 1000, 0, 1000, 0 } };
	const struct store_gift gift = { job, "n1", two, 2 };
	struct report rep = report(job, 1, JOB_RUNNING, 9);
	const struct sync_hold hold = { job, 1, JOB_RUNNING };
	const struct says what = {
		.node = 2, .report = &rep, .hold = &hold, .now_ns = NOON + 9 * S_NS
	};
	struct sync_result out;

	for (int i = 0; i < 3; i++)
		hello(r, i, NOON);
	assert_int_equal(store_give(r->store, &gift, 1, NOON, NULL), 0);
	say(r, &what, &out);
	assert_int_equal(out.n_refusals, 1);
	assert_int_equal(out.n_acks, 0);
	sync_result_done(&out);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM parts WHERE usage IS NOT NULL"),
			 0);
}

/* Each node's reports 1..8, the last one final; given in any order, some of them twice, some
 * never: what a node's last one says is the sum. */
static void in_whatever_order_reports_come_the_sums_are_the_same(void **state)
{
	struct rig *r = *state;
	int64_t job = running(r, false), now = NOON + 20 * S_NS;

	srand(7);
	for (int i = 0; i < 60; i++) {
		int node = rand() % 3, seq = 2 + rand() % 7;

		tell(r, node, report(job, seq, JOB_RUNNING, seq + node), now);
	}
	verify(r);
	for (int i = 0; i < 3; i++) {
		tell(r, (i + 2) % 3, ended(job, 9, END_CANCELLED, 10), now);
		tell(r, (i + 2) % 3, report(job, 5, JOB_RUNNING, 50), now);
	}
	assert_int_equal(of_attempt(r, "usage ->> '$.cpu_ns'"),
			 rig_number(r, "SELECT SUM(usage ->> '$.cpu_ns') FROM parts"));
	/* n3's own greatest was 10 as well: 8 + 2. */
	assert_int_equal(of_attempt(r, "usage ->> '$.cpu_ns'"), 30 * S_NS);
	assert_int_equal(used_ms(r), 30000);
	verify(r);
}

/* ---- ends ---- */

static int see_end(void *ctx, const struct store_job *j, struct err *err)
{
	(void)err;
	snprintf(ctx, 2048, "%s", j->end ? j->end : "");
	return 0;
}

static void one_kill_for_the_whole_job_when_a_part_exceeds(void **state)
{
	struct rig *r = *state;
	int64_t job = running(r, false);
	char end[2048];
	struct told t;

	assert_true(tell(r, 1, ended(job, 2, END_LIMIT, 5), NOON + 5 * S_NS));
	t = given(r, 0);
	assert_int_equal(t.g.want, STORE_CANCEL);
	if (!strstr(t.reason, "node n2") || !strstr(t.reason, "vmem limit exceeded"))
		fail_msg("%s", t.reason);
	assert_int_equal(given(r, 2).g.want, STORE_CANCEL);
	assert_int_equal(given(r, 1).n, 0);
	assert_int_equal(rig_see(r, job).state, JOB_RUNNING);
	/* Another one that ends so later is not the reason. */
	tell(r, 2, ended(job, 2, END_SIGNALED, 5), NOON + 6 * S_NS);
	tell(r, 0, ended(job, 2, END_CANCELLED, 6), NOON + 6 * S_NS);
	assert_int_equal(rig_see(r, job).end, END_LIMIT);
	assert_int_equal(of_attempt(r, "end_kind"), END_LIMIT);
	assert_int_equal(store_job(r->store, job, see_end, end, NULL), 0);
	assert_non_null(strstr(end, "\"host\":\"n2\""));
	verify(r);
}

static void the_commands_own_end_is_not_the_verdicts(void **state)
{
	struct rig *r = *state;
	int64_t job = running(r, false);

	tell(r, 1, ended(job, 2, END_SIGNALED, 5), NOON + 5 * S_NS);
	tell(r, 0, ended(job, 2, END_EXITED, 6), NOON + 6 * S_NS);
	assert_int_equal(rig_see(r, job).end, END_EXITED);
}

static void when_the_first_node_ends_the_others_are_told(void **state)
{
	struct rig *r = *state;
	int64_t job = running(r, false);

	assert_true(tell(r, 0, ended(job, 2, END_EXITED, 10), NOON + 10 * S_NS));
	assert_int_equal(given(r, 0).n, 0);
	for (int i = 1; i < 3; i++) {
		assert_int_equal(given(r, i).g.want, STORE_CANCEL);
		assert_string_equal(given(r, i).reason, "the job has ended");
	}
}

static void a_part_that_cannot_start_brings_it_down_before_the_first_was_told(void **state)
{
	struct rig *r = *state;
	int64_t job = submit(r, false);

	give(r, job, NOON);
	assert_true(tell(r, 2, ended(job, 1, END_FAILED, 0), NOON + S_NS));
	assert_int_equal(given(r, 0).n, 1);
	assert_int_equal(given(r, 0).g.want, STORE_CANCEL);
	assert_int_equal(given(r, 1).g.want, STORE_CANCEL);
	tell(r, 0, ended(job, 1, END_CANCELLED, 0), NOON + 2 * S_NS);
	assert_int_equal(rig_see(r, job).end, END_FAILED);
	assert_int_equal(of_attempt(r, "charge_requested_ms"), 0);
}

static void a_wish(struct rig *r, int64_t job, enum store_want want, int expected)
{
	const struct store_wish w = {
		.job = job, .want = want, .reason = "by alice", .now_ns = NOON + 3 * S_NS
	};
	char node[REQUEST_NAME_MAX];

	assert_int_equal(store_wish(r->store, &w, node, NULL), expected);
}

static void wishes_reach_every_node(void **state)
{
	struct rig *r = *state;
	int64_t job = running(r, false);

	a_wish(r, job, STORE_SUSPEND, 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(given(r, i).g.want, STORE_SUSPEND);
	show(r, 1, job, JOB_SUSPENDED, NOON + 4 * S_NS);
	assert_int_equal(rig_see(r, job).state, JOB_RUNNING);
	assert_int_equal(held_cores(r, 1), 0);
	assert_int_equal(held_cores(r, 0), 2);
	show(r, 0, job, JOB_SUSPENDED, NOON + 4 * S_NS);
	assert_int_equal(rig_see(r, job).state, JOB_SUSPENDED);
	a_wish(r, job, STORE_RUN, 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(held_cores(r, i), 2);
	a_wish(r, job, STORE_CANCEL, 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(given(r, i).g.want, STORE_CANCEL);
}

static void cancelled_before_the_first_node_was_told(void **state)
{
	struct rig *r = *state;
	int64_t job = submit(r, false);

	give(r, job, NOON);
	a_wish(r, job, STORE_CANCEL, 0);
	assert_int_equal(given(r, 0).g.want, STORE_CANCEL);
	/* A part that is killed for it otherwise than it was told to is no other reason. */
	tell(r, 1, ended(job, 1, END_SIGNALED, 0), NOON + 2 * S_NS);
	tell(r, 0, ended(job, 1, END_CANCELLED, 0), NOON + 2 * S_NS);
	assert_int_equal(rig_see(r, job).end, END_CANCELLED);
}

/* ---- nodes that are lost ---- */

/* Of three nodes the second is silent. */
static void lose_n2(struct rig *r, int64_t expected)
{
	struct store_lost_result lost = { 0 };

	assert_true(store_lose(r->store, NOON + 100 * S_NS, NOON + 200 * S_NS, NULL) >= 0);
	assert_int_equal(store_lose_jobs(r->store, NOON + 200 * S_NS, &lost, NULL), 0);
	assert_int_equal(lost.n_lost, expected);
}

static int64_t with_n2_lost(struct rig *r, bool requeue)
{
	int64_t job = running(r, requeue);

	store_set_max_requeues(r->store, 3);
	for (int i = 0; i < 3; i++)
		tell(r, i, report(job, 2, JOB_RUNNING, 10), NOON + (i == 1 ? 10 : 150) * S_NS);
	lose_n2(r, 1);
	assert_int_equal(rig_see(r, job).state, JOB_RUNNING);
	assert_int_equal(given(r, 0).g.want, STORE_CANCEL);
	assert_int_equal(given(r, 2).g.want, STORE_CANCEL);
	lose_n2(r, 0); /* once */
	return job;
}

static void a_lost_node_ends_the_job_of_all(void **state)
{
	struct rig *r = *state;
	int64_t job = with_n2_lost(r, false);
	const struct sync_hold hold = { job, 1, JOB_RUNNING };
	const struct says back = { .node = 1, .hold = &hold, .now_ns = NOON + 250 * S_NS };
	struct sync_result out;

	tell(r, 0, ended(job, 3, END_CANCELLED, 12), NOON + 201 * S_NS);
	assert_int_equal(rig_see(r, job).state, JOB_ENDED);
	assert_int_equal(rig_see(r, job).end, END_NODE_LOST);
	/* It is back and shows its part still: refused. What it says then is nothing. */
	say(r, &back, &out);
	assert_int_equal(out.n_refusals, 1);
	sync_result_done(&out);
	tell(r, 1, ended(job, 3, END_CANCELLED, 200), NOON + 251 * S_NS);
	assert_int_equal(of_attempt(r, "usage ->> '$.cpu_ns'"), 32 * S_NS);
	verify(r);
}

static void it_is_queued_again_where_it_asked_for_that(void **state)
{
	struct rig *r = *state;
	int64_t job = with_n2_lost(r, true);

	tell(r, 0, ended(job, 3, END_CANCELLED, 12), NOON + 201 * S_NS);
	assert_int_equal(rig_see(r, job).state, JOB_QUEUED);
	assert_int_equal(of_attempt(r, "end_kind"), END_NODE_LOST);
	/* The former attempt's other node is told so still, and what it says adds nothing. */
	assert_int_equal(given(r, 2).g.want, STORE_CANCEL);
	assert_int_equal(held_cores(r, 2), 2);
	tell(r, 2, ended(job, 3, END_CANCELLED, 90), NOON + 202 * S_NS);
	assert_int_equal(held_cores(r, 2), 0);
	assert_int_equal(of_attempt(r, "usage ->> '$.cpu_ns'"), 32 * S_NS);
	give(r, job, NOON + 300 * S_NS);
	assert_int_equal(rig_number(r, "SELECT MAX(attempt) FROM parts"), 2);
	assert_int_equal(given(r, 1).g.attempt, 2);
	assert_int_equal(given(r, 1).g.want, STORE_RUN);
	verify(r);
}

static void its_owner_may_cancel_it_before_it_is_queued_again(void **state)
{
	struct rig *r = *state;
	int64_t job = with_n2_lost(r, true);

	a_wish(r, job, STORE_CANCEL, 0);
	tell(r, 0, ended(job, 3, END_CANCELLED, 12), NOON + 201 * S_NS);
	assert_int_equal(rig_see(r, job).state, JOB_ENDED);
	assert_int_equal(rig_see(r, job).end, END_CANCELLED);
}

static void the_first_node_is_lost(void **state)
{
	struct rig *r = *state;
	int64_t job = running(r, false);
	struct store_lost_result lost = { 0 };

	for (int i = 1; i < 3; i++)
		tell(r, i, report(job, 2, JOB_RUNNING, 10), NOON + 150 * S_NS);
	store_lose(r->store, NOON + 100 * S_NS, NOON + 200 * S_NS, NULL);
	assert_int_equal(store_lose_jobs(r->store, NOON + 200 * S_NS, &lost, NULL), 0);
	assert_int_equal(lost.n_lost, 1);
	assert_int_equal(rig_see(r, job).end, END_NODE_LOST);
	for (int i = 1; i < 3; i++) {
		assert_int_equal(given(r, i).g.want, STORE_CANCEL);
		tell(r, i, ended(job, 3, END_CANCELLED, 11), NOON + 201 * S_NS);
	}
	assert_int_equal(of_attempt(r, "usage ->> '$.cpu_ns'"), 22 * S_NS);
	verify(r);
}

static void a_reboot_under_a_part_brings_it_down(void **state)
{
	struct rig *r = *state;
	int64_t job = running(r, false);
	const struct says back = { .node = 2, .boot = "b2", .now_ns = NOON + 30 * S_NS };
	struct sync_result out;

	say(r, &back, &out);
	assert_int_equal(out.n_stirred, 1);
	sync_result_done(&out);
	assert_int_equal(given(r, 0).g.want, STORE_CANCEL);
	tell(r, 0, ended(job, 2, END_CANCELLED, 9), NOON + 31 * S_NS);
	assert_int_equal(rig_see(r, job).end, END_NODE_LOST);
}

static void a_part_that_its_agent_does_not_know_is_given_up_after_a_while(void **state)
{
	struct rig *r = *state;
	int64_t job = running(r, false);

	hello(r, 1, NOON + 10 * S_NS);
	assert_int_equal(given(r, 1).n, 0);
	assert_int_equal(given(r, 0).g.want, STORE_RUN);
	show(r, 1, job, JOB_RUNNING, NOON + 12 * S_NS); /* it was overtaken */
	assert_int_equal(given(r, 1).n, 1);
	hello(r, 1, NOON + 20 * S_NS);
	hello(r, 1, NOON + 40 * S_NS);
	assert_int_equal(given(r, 0).g.want, STORE_CANCEL);
}

/* ---- as it is shown ---- */

static int see_part(void *ctx, const struct store_part_row *p, struct err *err)
{
	char *to = ctx, one[128];
	_cleanup_json_ json_t *end = p->end ? json_loads(p->end, 0, NULL) : NULL;

	(void)err;
	snprintf(one, sizeof(one), "%d:%s:%s:%lld:%s ", p->part, p->share.node,
		 job_state_name(p->state), (long long)p->share.ncpus,
		 end ? json_string_value(json_object_get(end, "kind")) : "-");
	strcat(to, one);
	return 0;
}

static void its_parts_are_shown_each_with_its_own_end(void **state)
{
	struct rig *r = *state;
	int64_t job = running(r, false);
	char text[512] = "";

	tell(r, 1, ended(job, 2, END_LIMIT, 5), NOON + 5 * S_NS);
	tell(r, 0, ended(job, 2, END_CANCELLED, 5), NOON + 6 * S_NS);
	assert_int_equal(store_parts(r->store, job, 1, see_part, text, NULL), 0);
	assert_string_equal(text,
			    "0:n1:ended:2:cancelled 1:n2:ended:2:limit 2:n3:running:2:- ");
}

static void add_name(void *ctx, const char *node)
{
	strcat(ctx, node);
}

static void all_its_nodes_are_woken(void **state)
{
	struct rig *r = *state;
	int64_t job = running(r, false);
	char names_of[64] = "";

	assert_int_equal(store_job_nodes(r->store, job, add_name, names_of, NULL), 0);
	assert_int_equal(strlen(names_of), 6);
	tell(r, 0, ended(job, 2, END_EXITED, 5), NOON + 6 * S_NS);
	names_of[0] = '\0';
	assert_int_equal(store_job_nodes(r->store, job, add_name, names_of, NULL), 0);
	assert_int_equal(strlen(names_of), 4);
}

#define IN_A_LEDGER(f) cmocka_unit_test_setup_teardown(f, rig_open, rig_close)
int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(usage_of_nodes_adds_up_peaks_too),
		cmocka_unit_test(usage_of_nodes_does_not_wrap),
		IN_A_LEDGER(chunks_are_kept_while_it_waits),
		IN_A_LEDGER(the_first_node_is_told_when_all_others_run),
		IN_A_LEDGER(each_node_holds_its_part_until_that_has_ended),
		IN_A_LEDGER(the_queue_is_told_of_what_is_held_also_when_the_job_is_over),
		IN_A_LEDGER(reports_of_all_nodes_are_one_usage_charged_by_the_first_ones_time),
		IN_A_LEDGER(the_last_word_of_a_node_counts_after_the_end_of_the_job),
		IN_A_LEDGER(a_node_that_has_no_part_is_refused),
		IN_A_LEDGER(in_whatever_order_reports_come_the_sums_are_the_same),
		IN_A_LEDGER(one_kill_for_the_whole_job_when_a_part_exceeds),
		IN_A_LEDGER(the_commands_own_end_is_not_the_verdicts),
		IN_A_LEDGER(when_the_first_node_ends_the_others_are_told),
		IN_A_LEDGER(a_part_that_cannot_start_brings_it_down_before_the_first_was_told),
		IN_A_LEDGER(wishes_reach_every_node),
		IN_A_LEDGER(cancelled_before_the_first_node_was_told),
		IN_A_LEDGER(a_lost_node_ends_the_job_of_all),
		IN_A_LEDGER(it_is_queued_again_where_it_asked_for_that),
		IN_A_LEDGER(its_owner_may_cancel_it_before_it_is_queued_again),
		IN_A_LEDGER(the_first_node_is_lost),
		IN_A_LEDGER(a_reboot_under_a_part_brings_it_down),
		IN_A_LEDGER(a_part_that_its_agent_does_not_know_is_given_up_after_a_while),
		IN_A_LEDGER(its_parts_are_shown_each_with_its_own_end),
		IN_A_LEDGER(all_its_nodes_are_woken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
