/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_store_gpus - GPUs in the ledger by model: what nodes have, what jobs have in use, what attempts used of
 * each. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "common/wire/wire.h"
#include "controller/ledger/attempts/gpus.h"
#include "controller/ledger/jobs/waiting.h"
#include "controller/policy/placement/fit.h"
#include "tests/unit/rig/ledger_rig.h"

#define IDLE_NS (10 * 60 * S_NS)

/* A node with GPUs: "a100-40=4". */
static void node_says(struct rig *r, const char *node, const char *gpus)
{
	struct sync_gpu one = { .uuid = "G", .model = "a100-40", .numa_node = -1 };
	struct sync in = { .capacity = { .ncpus = 8, .mem_bytes = 1LL << 40 } };
	struct sync_from from = { .cluster = "main", .now_ns = NOON, .lost_ns = S_NS };
	struct sync_result result;

	strcpy(in.node, node);
	strcpy(in.boot, "b1");
	strcpy(from.address, "10.0.0.1");
	in.gpus = &one;
	in.n_gpus = 1;
	assert_int_equal(gpus_parse(gpus, &in.gpu_models), 0);
	assert_int_equal(gpus_parse(gpus, &in.free_gpu_models), 0);
	in.capacity.ngpus = gpus_count(&in.gpu_models, "");
	assert_int_equal(store_ingest(r->store, &in, &from, &result, NULL), 0);
	sync_result_done(&result);
}

static int64_t job_of(struct rig *r, const char *resources, const char *node)
{
	_cleanup_(request_done) struct request q;
	struct store_new new = { .request = &q,
				 .pool = CHARGE_POOL_GPU,
				 .terms = { .rate = { 1, 1 }, .ncpus = 1 },
				 .now_ns = NOON };
	struct store_allocation gift = { .node = node };

	rig_request_init(&q);
	q.workdir = strdup("/");
	assert_int_equal(resources_parse(resources, &q.res, NULL), 0);
	for (int s = 0; s < _CHARGE_SIDE_MAX; s++)
		new.terms.bundle.side[s] = (struct fraction){ s != CHARGE_MEMORY, 1 };
	new.terms.ngpus = q.res.ngpus;
	assert_int_equal(rig_submit_one(r->store, &new, &gift.job, NULL), 0);
	if (node)
		assert_int_equal(store_allocate(r->store, &gift, 1, NOON, NULL), 0);
	return gift.job;
}

static int copy_request(void *ctx, const struct store_waiting *w, struct err *err)
{
	(void)err;
	*(struct resources *)ctx = w->want;
	return 0;
}

static void gpus_in_use_are_counted_by_model(void **state)
{
	struct rig *r = *state;
	_cleanup_free_ struct fit_node *nodes = NULL;
	struct resources want = { 0 };
	const struct fit_request ask = { &want, NULL, false };
	char why[FIT_WHY_MAX];
	size_t n;

	node_says(r, "n1", "a100-40=4,h100-80=2");
	node_says(r, "n2", "a100_1g.5gb=7");
	job_of(r, "ncpus=1,ngpus=a100-40:2", "n1");
	job_of(r, "ncpus=1,ngpus=a100-40:1", "n1");
	job_of(r, "ncpus=1,ngpus=1", "n1");
	job_of(r, "ncpus=1,ngpus=a100_1g.5gb:3", "n2");
	job_of(r, "ncpus=1", "n2");
	job_of(r, "ncpus=1,ngpus=h100-80:2", NULL);
	assert_int_equal(store_nodes_in_use(r->store, "main", &nodes, &n, NULL), 0);
	assert_int_equal(n, 2);
	assert_int_equal(gpus_count(&nodes[0].gpus, ""), 6);
	assert_int_equal(gpus_free(&nodes[0].gpus, &nodes[0].gpus_in_use, "a100-40"), 0);
	assert_int_equal(gpus_free(&nodes[0].gpus, &nodes[0].gpus_in_use, "h100-80"), 1);
	assert_int_equal(gpus_free(&nodes[0].gpus, &nodes[0].gpus_in_use, ""), 2);
	assert_int_equal(gpus_free(&nodes[1].gpus, &nodes[1].gpus_in_use, "a100_1g.5gb"), 4);
	assert_int_equal(store_waiting(r->store, "main", copy_request, &want, NULL), 0);
	assert_string_equal(want.gpu_model, "h100-80");
	fit_explain_one(nodes, n, &ask, why);
	assert_string_not_equal(why, "");
}

static void a_node_that_reports_no_gpus_any_more_has_none(void **state)
{
	struct rig *r = *state;
	_cleanup_free_ struct fit_node *nodes = NULL;
	size_t n;

	node_says(r, "n1", "a100-40=4");
	node_says(r, "n1", "");
	assert_int_equal(store_nodes_in_use(r->store, "main", &nodes, &n, NULL), 0);
	assert_int_equal(nodes[0].gpus.n, 0);
	assert_int_equal(nodes[0].capacity.ngpus, 0);
}

static struct report report_of(int64_t job, int64_t seq, struct gpu_use *gpus, int32_t n)
{
	struct report rep = rig_report(job, seq, JOB_RUNNING, seq);

	rep.gpus = gpus;
	rep.n_gpus = n;
	return rep;
}

struct seen {
	struct gpu_use *gpus;
	int32_t n;
	int64_t in_use, idle;
	char model[REQUEST_NAME_MAX];
};

static int see_gpus(void *ctx, const struct store_job *j, struct err *err)
{
	_cleanup_json_ json_t *doc = j->gpus ? json_loads(j->gpus, 0, NULL) : NULL;
	struct seen *s = ctx;

	return doc ? wire_decode_gpus(doc, "gpus", &s->gpus, &s->n, err) : 0;
}

static int see_running(void *ctx, const struct store_gpus_running *g, struct err *err)
{
	struct seen *s = ctx;

	(void)err;
	s->in_use += g->in_use;
	s->idle += g->idle;
	strcpy(s->model, g->model);
	return 0;
}

static struct gpu_use make_use(const char *uuid, int64_t busy_ns, int64_t idle_ns)
{
	struct gpu_use g = { .model = "a100-40", .source = "nvml" };

	strcpy(g.uuid, uuid);
	gpu_use_set(&g, &g.busy_ns, busy_ns);
	gpu_use_set(&g, &g.idle_ns, idle_ns);
	return g;
}

static void reports_of_gpus_add_up_whatever_their_order(void **state)
{
	struct rig *r = *state;
	struct gpu_use first[] = { make_use("A", 5, 0), make_use("B", 1, IDLE_NS) };
	struct gpu_use late[] = { make_use("A", 9, 0) };
	struct seen s = { .n = 0 };
	int64_t job;

	node_says(r, "n1", "a100-40=4");
	job = job_of(r, "ncpus=1,ngpus=a100-40:2", "n1");
	rig_send_report(r, report_of(job, 2, first, 2), NOON + S_NS);
	rig_send_report(r, report_of(job, 1, late, 1),
			NOON + 2 * S_NS); /* overtaken: says nothing */
	rig_send_report(r, report_of(job, 3, NULL, 0),
			NOON + 3 * S_NS); /* says nothing of them */
	assert_int_equal(store_job(r->store, job, see_gpus, &s, NULL), 0);
	assert_int_equal(s.n, 2);
	assert_int_equal(s.gpus[0].busy_ns, 5);
	free(s.gpus);
	s = (struct seen){ .n = 0 };
	assert_int_equal(store_gpus_running(r->store, IDLE_NS, see_running, &s, NULL), 0);
	assert_int_equal(s.in_use, 2);
	assert_int_equal(s.idle, 1);
	assert_string_equal(s.model, "a100-40");
	s.idle = 0;
	assert_int_equal(store_gpus_running(r->store, 0, see_running, &s, NULL), 0);
	assert_int_equal(s.idle, 0); /* the state is switched off */
}

static void any_is_of_the_model_that_its_report_names(void **state)
{
	struct rig *r = *state;
	struct gpu_use one[] = { make_use("A", 0, IDLE_NS - 1) };
	struct seen s = { .n = 0 };
	int64_t job;

	node_says(r, "n1", "a100-40=4");
	job = job_of(r, "ncpus=1,ngpus=1", "n1");
	rig_send_report(r, report_of(job, 1, NULL, 0), NOON + S_NS);
	assert_int_equal(store_gpus_running(r->store, IDLE_NS, see_running, &s, NULL), 0);
	assert_string_equal(s.model, "");
	assert_int_equal(s.in_use, 1);
	rig_send_report(r, report_of(job, 2, one, 1), NOON + 2 * S_NS);
	s = (struct seen){ .n = 0 };
	assert_int_equal(store_gpus_running(r->store, IDLE_NS, see_running, &s, NULL), 0);
	assert_string_equal(s.model, "a100-40");
	assert_int_equal(s.in_use, 1);
	assert_int_equal(s.idle, 0);
}

static int64_t used_of(struct rig *r, int64_t job, int64_t seq, int64_t gpus_used)
{
	struct report rep = report_of(job, seq, NULL, 0);

	if (gpus_used >= 0)
		usage_set(&rep.usage, &rep.usage.gpus_used, gpus_used);
	rig_send_report(r, rep, NOON + seq * S_NS);
	return rig_number(r, "SELECT charge_used_ms FROM attempts");
}

static void a_gpu_that_did_nothing_is_not_charged_as_used(void **state)
{
	struct rig *r = *state;
	int64_t job;

	node_says(r, "n1", "a100-40=4");
	job = job_of(r, "ncpus=1,ngpus=a100-40:4", "n1");
	assert_int_equal(used_of(r, job, 10, -1),
			 40000);			 /* no figure: all that are allocated */
	assert_int_equal(used_of(r, job, 20, 0), 20000); /* the core that was busy */
	assert_int_equal(used_of(r, job, 30, 3), 90000); /* as in use all the time */
	assert_int_equal(used_of(r, job, 40, 1),
			 120000); /* one that worked counts to the end */
	assert_int_equal(rig_number(r, "SELECT charge_requested_ms FROM attempts"), 40000);
	assert_int_equal(rig_number(r, "SELECT SUM(charge_used_ms) FROM rollups"), 120000);
}

#define TEST(t) cmocka_unit_test_setup_teardown(t, rig_open, rig_close)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(gpus_in_use_are_counted_by_model),
		TEST(a_node_that_reports_no_gpus_any_more_has_none),
		TEST(reports_of_gpus_add_up_whatever_their_order),
		TEST(any_is_of_the_model_that_its_report_names),
		TEST(a_gpu_that_did_nothing_is_not_charged_as_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
