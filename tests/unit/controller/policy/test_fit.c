/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_fit - what fits, over every small world: no core is allocated twice, and a pending job has a reason
 * with numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "common/cleanup.h"
#include "controller/policy/placement/fit_chunks.h"
#include "controller/policy/placement/fit_impl.h"

#define GIB (1LL << 30)

static struct fit_node make_node(const char *name, int64_t cores, int64_t gib,
				 int64_t held_cores)
{
	struct fit_node n = { .open = true };

	strcpy(n.name, name);
	n.capacity = (struct resources){ .ncpus = cores,
					 .mem_bytes = gib * GIB,
					 .jobfs_bytes = 100 * GIB };
	n.in_use.ncpus = held_cores;
	return n;
}

struct test_job {
	struct resources want;
	bool is_exclusive;
	int node; /* -1: it waits */
	char why[FIT_WHY_MAX];
};

/* Places the jobs in order, each on the first node that takes it, up to the first that waits: it is to
 * wait where no node takes it, and only there. Returns how many were placed. */
static size_t place_jobs(struct fit_node *nodes, size_t n_nodes, struct test_job *jobs,
			 size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct fit_request ask = { &jobs[i].want, NULL, jobs[i].is_exclusive };

		jobs[i].node = -1;
		strcpy(jobs[i].why, "of before");
		fit_explain_one(nodes, n_nodes, &ask, jobs[i].why);
		for (size_t k = 0; k < n_nodes && jobs[i].node < 0; k++)
			if (fit_parts(&(struct fit_node *){ &nodes[k] }, &jobs[i].want, 1,
				      jobs[i].is_exclusive))
				jobs[i].node = (int)k;
		assert_int_equal(jobs[i].node >= 0, !*jobs[i].why);
		if (jobs[i].node < 0)
			return i;
	}
	return n;
}

static struct test_job make_job(int64_t cores, int64_t gib)
{
	return (struct test_job){ .want = { .ncpus = cores, .vmem_bytes = gib * GIB } };
}

static bool fits_alone(const struct fit_node *n, const struct resources *w)
{
	return n->open && n->in_use.ncpus + w->ncpus <= n->capacity.ncpus &&
	       n->in_use.mem_bytes + w->vmem_bytes <= n->capacity.mem_bytes &&
	       n->in_use.jobfs_bytes + w->jobfs_bytes <= n->capacity.jobfs_bytes;
}

static void a_whole_node_is_an_empty_one_and_all_of_it(void **state)
{
	struct fit_node nodes[] = { make_node("a", 4, 8, 1), make_node("b", 8, 8, 0) };
	struct test_job jobs[] = { make_job(2, 1), make_job(1, 1), make_job(4, 1) };

	(void)state;
	jobs[0].is_exclusive = true;
	assert_int_equal(place_jobs(nodes, 2, jobs, 3), 2);
	assert_int_equal(jobs[0].node, 1); /* not a, which has the room and a job */
	assert_int_equal(nodes[1].in_use.ncpus, 8);
	assert_int_equal(nodes[1].in_use.mem_bytes, nodes[1].capacity.mem_bytes);
	assert_int_equal(jobs[1].node, 0);
	assert_non_null(strstr(jobs[2].why, "it needs 4 cores; a has 2 of 4 free"));
	jobs[2].is_exclusive = true;
	assert_int_equal(place_jobs(nodes, 2, &jobs[2], 1), 0);
	assert_non_null(strstr(jobs[2].why, "it needs a whole node"));
}

static struct fit_node gpu_node(const char *name, const char *gpus)
{
	struct fit_node n = make_node(name, 8, 64, 0);

	assert_int_equal(gpus_parse(gpus, &n.gpus), 0);
	n.capacity.ngpus = gpus_count(&n.gpus, "");
	return n;
}

static struct test_job gpu_job(const char *model, int64_t n)
{
	struct test_job j = make_job(1, 1);

	strcpy(j.want.gpu_model, model);
	j.want.ngpus = n;
	return j;
}

static void gpus_are_allocated_by_model(void **state)
{
	struct fit_node nodes[] = { gpu_node("n1", "a100-40=4"), gpu_node("n2", "h100-80=2"),
				    gpu_node("n3", "a100_1g.5gb=7") };
	struct test_job jobs[] = { gpu_job("h100-80", 1), gpu_job("a100-40", 3),
				   gpu_job("a100_1g.5gb", 7), gpu_job("", 1),
				   gpu_job("a100-40", 2) };

	(void)state;
	assert_int_equal(place_jobs(nodes, 3, jobs, 5), 4);
	assert_int_equal(jobs[0].node, 1);
	assert_int_equal(jobs[1].node, 0);
	assert_int_equal(jobs[2].node, 2);
	assert_int_not_equal(jobs[3].node, 2); /* any is never a part */
	assert_string_equal(jobs[4].why, jobs[3].node == 0
						 ? "it needs 2 a100-40; n1 has 0 of 4 free "
						   "(the closest node)"
						 : "it needs 2 a100-40; n1 has 1 of 4 free "
						   "(the closest node)");
	jobs[0] = gpu_job("", 3);
	assert_int_equal(place_jobs(nodes, 3, jobs, 1), 0);
	assert_non_null(strstr(jobs[0].why, "it needs 3 GPUs; "));
}

static void a_drained_gpu_is_not_allocated_and_not_impossible(void **state)
{
	struct fit_node n = gpu_node("a", "a100-40=2");
	struct test_job j = gpu_job("a100-40", 2), any = gpu_job("", 2);
	char why[FIT_WHY_MAX];

	(void)state;
	gpus_add(&n.gpus_drained, "a100-40", 1);
	assert_int_equal(place_jobs(&n, 1, &j, 1), 0);
	assert_string_equal(j.why, "it needs 2 a100-40; a has 1 of 2 free");
	assert_int_equal(place_jobs(&n, 1, &any, 1), 0);
	assert_true(fit_is_possible(&n, 1, &j.want, why));
	j.want.ngpus = 1;
	assert_int_equal(place_jobs(&n, 1, &j, 1), 1);
}

static void the_node_that_has_the_model_is_the_nearest(void **state)
{
	struct fit_node nodes[] = { make_node("cpu", 8, 64, 0), gpu_node("gpu", "a100-40=2") };
	struct test_job j = gpu_job("a100-40", 2);

	(void)state;
	gpus_add(&nodes[1].gpus_in_use, "a100-40", 1);
	nodes[1].in_use.ncpus = 8;
	assert_int_equal(place_jobs(nodes, 2, &j, 1), 0);
	assert_string_equal(j.why,
			    "it needs 1 core and 2 a100-40; gpu has 0 of 8 cores and 1 of "
			    "2 a100-40 free (the closest node)");
}

static void a_model_that_no_node_has_is_named(void **state)
{
	struct fit_node nodes[] = { gpu_node("n1", "a100-40=4,a100_1g.5gb=7"),
				    make_node("n2", 8, 64, 0) };
	struct resources want = gpu_job("a100-40", 5).want;
	char why[FIT_WHY_MAX];

	(void)state;
	assert_false(fit_is_possible(nodes, 2, &want, why));
	assert_string_equal(why, "no node of this cluster could ever hold it; the nearest, n1, "
				 "has 8 cores, 64.0 GiB memory, 100 GiB jobfs, 4 a100-40, "
				 "7 a100_1g.5gb");
	want.ngpus = 4;
	nodes[0].gpus_in_use = nodes[0].gpus;
	assert_true(fit_is_possible(nodes, 2, &want, why));
	strcpy(want.gpu_model, "h100-80");
	assert_false(fit_is_possible(nodes, 2, &want, why));
}

static void a_node_without_models_has_gpus_for_jobs_that_request_any(void **state)
{
	struct fit_node n = make_node("a", 8, 64, 0);
	struct test_job jobs[] = { gpu_job("", 2), gpu_job("a100-40", 1) };

	(void)state;
	n.capacity.ngpus = 2;
	assert_int_equal(place_jobs(&n, 1, jobs, 2), 1);
	assert_int_equal(n.in_use.ngpus, 2);
	assert_string_equal(jobs[1].why, "it needs 1 a100-40; a has 0 of 0 free");
}

static void a_whole_node_is_one_with_nothing_in_use(void **state)
{
	struct fit_node n = gpu_node("a", "a100_1g.5gb=7");
	struct test_job jobs[] = { make_job(1, 1), gpu_job("a100_1g.5gb", 1) };

	(void)state;
	gpus_add(&n.gpus_in_use, "a100_1g.5gb", 1);
	jobs[0].is_exclusive = true;
	assert_int_equal(place_jobs(&n, 1, jobs, 1), 0);
	n.gpus_in_use.n = 0;
	assert_int_equal(place_jobs(&n, 1, jobs, 2), 1);
	assert_int_equal(gpus_free(&n.gpus, &n.gpus_in_use, "a100_1g.5gb"), 0);
}

/* One world: two nodes of 2 and 3 cores (2 and 3 GiB), four jobs; checks the law. */
static void check_world(const int sizes[4], int closed)
{
	struct fit_node nodes[] = { make_node("a", 2, 2, 0), make_node("b", 3, 3, 0) };
	struct test_job jobs[4];
	struct fit_node at[2];
	size_t n;

	for (int i = 0; i < 4; i++)
		jobs[i] = make_job(1 + sizes[i] / 3, 1 + sizes[i] % 3);
	for (int i = 0; i < 2; i++)
		nodes[i].open = !(closed & (1 << i));
	memcpy(at, nodes, sizeof(at));
	n = place_jobs(nodes, 2, jobs, 4);
	for (size_t i = 0; i < n; i++) {
		struct fit_node *to = &at[jobs[i].node];

		assert_true(fits_alone(to, &jobs[i].want));
		to->in_use.ncpus += jobs[i].want.ncpus;
		to->in_use.mem_bytes += jobs[i].want.vmem_bytes;
		assert_string_equal(jobs[i].why, "");
	}
	if (n < 4) {
		assert_false(fits_alone(&at[0], &jobs[n].want) ||
			     fits_alone(&at[1], &jobs[n].want));
		assert_int_equal(jobs[n].node, -1);
		assert_true(strlen(jobs[n].why) > 10);
	}
	assert_memory_equal(at, nodes, sizeof(at));
}

static void first_that_does_not_fit_stops_and_all_before_it_fit(void **state)
{
	int sizes[4];

	(void)state;
	for (int world = 0; world < 9 * 9 * 9 * 9; world++) {
		for (int i = 0, rest = world; i < 4; i++, rest /= 9)
			sizes[i] = rest % 9;
		for (int closed = 0; closed < 4; closed++)
			check_world(sizes, closed);
	}
}

static void the_reason_has_the_numbers(void **state)
{
	struct fit_node nodes[] = { make_node("n1", 8, 16, 5) };
	struct test_job j = make_job(4, 32);
	char why[FIT_WHY_MAX];

	(void)state;
	assert_int_equal(place_jobs(nodes, 1, &j, 1), 0);
	assert_string_equal(j.why,
			    "it needs 4 cores and 32.0 GiB memory; n1 has 3 of 8 cores and "
			    "16.0 GiB of 16.0 GiB memory free");
	assert_int_equal(place_jobs(NULL, 0, &j, 1), 0);
	assert_string_equal(j.why, "no node has registered with this cluster yet");
	nodes[0].open = false;
	assert_int_equal(place_jobs(nodes, 1, &j, 1), 0);
	assert_string_equal(j.why, "no node is up and not drained (1 registered)");
	assert_false(fit_is_possible(nodes, 1, &j.want, why));
	assert_string_equal(why,
			    "no node of this cluster could ever hold it; the nearest, n1, has "
			    "8 cores, 16.0 GiB memory, 100 GiB jobfs");
	j.want.ngpus = 1;
	assert_false(fit_is_possible(nodes, 1, &j.want, why));
	assert_string_equal(why,
			    "no node of this cluster could ever hold it; the nearest, n1, has "
			    "8 cores, 16.0 GiB memory, 100 GiB jobfs, no GPUs");
	j.want.ngpus = 0;
	j.want.jobfs_bytes = 1;
	nodes[0].capacity.jobfs_bytes = 0; /* a kernel without project quotas */
	assert_false(fit_is_possible(nodes, 1, &j.want, why));
	assert_string_equal(why,
			    "no node of this cluster could ever hold it; the nearest, n1, has "
			    "8 cores, 16.0 GiB memory, no jobfs");
}

static void a_full_node_is_possible_and_no_node_is_unknown(void **state)
{
	struct fit_node nodes[] = { make_node("n1", 8, 16, 8) };
	struct test_job j = make_job(8, 16);
	char why[FIT_WHY_MAX];

	(void)state;
	assert_true(fit_is_possible(nodes, 1, &j.want, why));
	assert_true(fit_is_possible(NULL, 0, &j.want, why));
}

static void vmem_is_what_a_job_reserves(void **state)
{
	struct resources r = { .vmem_bytes = 5, .mem_bytes = 9 };

	(void)state;
	assert_int_equal(fit_memory(&r), 5);
	r.vmem_bytes = 0;
	assert_int_equal(fit_memory(&r), 9);
}

static void more_in_use_than_capacity_counts_as_nothing_free(void **state)
{
	struct fit_node nodes[] = { make_node("n1", 8, 16, 12) };
	struct test_job j = make_job(1, 1);

	(void)state;
	assert_int_equal(place_jobs(nodes, 1, &j, 1), 0);
	assert_string_equal(j.why, "it needs 1 core; n1 has 0 of 8 free");
}

static struct fit_node node_of_kind(const char *name, const char *type, const char *features)
{
	struct fit_node n = make_node(name, 8, 16, 0);

	strcpy(n.capacity.node_type, type);
	strcpy(n.capacity.features, features);
	return n;
}

static struct test_job job_of_kind(const char *type, const char *features)
{
	struct test_job j = make_job(1, 1);

	strcpy(j.want.node_type, type);
	strcpy(j.want.features, features);
	return j;
}

/* Every pair of what a node is and what a job asks for. */
static void a_job_goes_to_nodes_of_its_kind_alone(void **state)
{
	static const char *const types[] = { "", "a", "b" };
	static const char *const features[] = { "", "ib", "nvme", "ib,nvme" };
	char why[FIT_WHY_MAX];

	(void)state;
	for (int x = 0; x < 12; x++)
		for (int y = 0; y < 12; y++) {
			struct fit_node n = node_of_kind("n", types[x / 4], features[x % 4]);
			struct test_job j = job_of_kind(types[y / 4], features[y % 4]);
			bool is_type = y / 4 == 0 || x / 4 == y / 4;
			bool fits = is_type && (y % 4 & ~(x % 4)) == 0;

			assert_int_equal(fit_is_possible(&n, 1, &j.want, why), fits);
			assert_int_equal(place_jobs(&n, 1, &j, 1), fits);
		}
}

static void more_processes_than_any_node_of_the_kind_holds_are_never_had(void **state)
{
	struct fit_node nodes[] = { node_of_kind("n1", "a", ""), node_of_kind("n2", "b", "") };
	struct test_job any = job_of_kind("", ""), b = job_of_kind("b", "");
	char why[FIT_WHY_MAX];

	(void)state;
	any.want.pids = b.want.pids = 70001;
	assert_true(fit_has_pids(nodes, 2, &any.want, why)); /* neither has reported it */
	nodes[0].capacity.pids = 4000000;
	nodes[1].capacity.pids = 70000;
	assert_true(fit_has_pids(nodes, 2, &any.want, why));
	assert_false(fit_has_pids(nodes, 2, &b.want, why));
	assert_string_equal(why, "pids=70001, but no node of type b holds more than 70000 "
				 "processes and threads of its jobs");
	b.want.pids = 70000;
	assert_true(fit_has_pids(nodes, 2, &b.want, why));
	assert_true(fit_has_pids(nodes, 0, &b.want, why));
}

static void a_kind_that_no_node_is_of_is_named_with_the_kinds_there_are(void **state)
{
	struct fit_node nodes[] = { node_of_kind("n1", "a", "ib"),
				    node_of_kind("n2", "b", "nvme"),
				    node_of_kind("n3", "a", "") };
	struct test_job j = job_of_kind("c", "ib");
	char why[FIT_WHY_MAX];

	(void)state;
	assert_false(fit_is_possible(nodes, 3, &j.want, why));
	assert_string_equal(why,
			    "there is no node of type c with ib; this cluster's nodes have "
			    "types: a, b; features: ib,nvme");
	assert_true(fit_is_possible(nodes, 0, &j.want, why)); /* not known yet */
	j = job_of_kind("b", "");
	nodes[1].in_use.ncpus = 8;
	assert_int_equal(place_jobs(nodes, 3, &j, 1), 0);
	assert_string_equal(j.why, "it needs 1 core; n2 has 0 of 8 free");
	nodes[1].open = false;
	assert_int_equal(place_jobs(nodes, 3, &j, 1), 0);
	assert_string_equal(j.why, "no node of type b is up and not drained (3 registered)");
}

/* A small number that is the same in each run. */
static int64_t draw_number(uint32_t *seed, int64_t below)
{
	*seed = *seed * 1664525 + 1013904223;
	return (int64_t)(*seed >> 8) % below;
}

/* Random nodes and parts: so many fit as can be allocated one after the other, now and on the empty node. */
static void so_many_fit_as_can_be_allocated_one_by_one(void **state)
{
	uint32_t seed = 7;

	(void)state;
	for (int world = 0; world < 3000; world++) {
		struct fit_node n = { .open = true }, empty;
		struct resources one = { .ncpus = draw_number(&seed, 4),
					 .vmem_bytes = draw_number(&seed, 4),
					 .jobfs_bytes = draw_number(&seed, 3),
					 .ngpus = draw_number(&seed, 3) };
		struct fit_taking take = fit_taking(&one, false);
		bool has_models = draw_number(&seed, 2);
		int64_t count = 0;

		n.capacity = (struct resources){ .ncpus = draw_number(&seed, 20),
						 .mem_bytes = draw_number(&seed, 20),
						 .jobfs_bytes = draw_number(&seed, 20),
						 .ngpus = draw_number(&seed, 8) };
		if (has_models && n.capacity.ngpus) {
			gpus_add(&n.gpus, "a100", n.capacity.ngpus);
			strcpy(take.res.gpu_model, "a100");
		}
		empty = n;
		for (; draw_number(&seed, 3) && fit_takes(&n, &take); count++)
			fit_allocate(&n, &take);
		if (!one.ncpus && !one.vmem_bytes && !one.jobfs_bytes && !one.ngpus) {
			assert_int_equal(fit_count(&n, &take, false), INT32_MAX);
			continue;
		}
		assert_int_equal(fit_is_empty(&n), count == 0);
		assert_int_equal(fit_count(&n, &take, false) + count,
				 fit_count(&empty, &take, false));
		assert_int_equal(fit_count(&n, &take, true), fit_count(&empty, &take, false));
		for (int64_t left = fit_count(&n, &take, false); left > 0; left--) {
			assert_true(fit_takes(&n, &take));
			fit_allocate(&n, &take);
		}
		assert_false(fit_takes(&n, &take));
		assert_int_equal(fit_count(&n, &take, false), 0);
	}
}

static void anything_in_use_makes_a_node_not_empty(void **state)
{
	const struct resources uses[] = {
		{ .ncpus = 1 }, { .mem_bytes = 1 }, { .jobfs_bytes = 1 }, { .ngpus = 1 }
	};
	struct test_job j = make_job(0, 0);
	const struct fit_taking whole = fit_taking(&j.want, true);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(uses); i++) {
		struct fit_node n = make_node("a", 8, 8, 0);

		assert_true(fit_is_empty(&n));
		assert_true(fit_takes(&n, &whole));
		assert_int_equal(fit_count(&n, &whole, false), INT32_MAX);
		n.in_use = uses[i];
		assert_false(fit_is_empty(&n));
		assert_false(fit_takes(&n, &whole));
		assert_int_equal(fit_count(&n, &whole, false), 0);
		assert_int_equal(fit_count(&n, &whole, true), INT32_MAX);
	}
}

static void all_that_is_missing_is_listed_with_its_numbers(void **state)
{
	struct fit_node nodes[] = { gpu_node("a", "a100-40=2"), make_node("b", 1, 1, 0) };
	struct test_job j = gpu_job("a100-40", 2);
	char why[FIT_WHY_MAX] = "";
	struct fit_taking take;

	(void)state;
	j.want.ncpus = 4;
	j.want.jobfs_bytes = 101 * GIB;
	nodes[0].in_use.ncpus = 5;
	gpus_add(&nodes[0].gpus_in_use, "a100-40", 1);
	assert_int_equal(place_jobs(nodes, 2, &j, 1), 0);
	assert_string_equal(j.why,
			    "it needs 4 cores, 101 GiB jobfs and 2 a100-40; a has 3 of 8 "
			    "cores, 100 GiB of 100 GiB jobfs and 1 of 2 a100-40 free "
			    "(the closest node)");
	take = fit_taking(&j.want, false);
	fit_say_amounts(why, &take);
	assert_string_equal(why, "4 cores, 1.00 GiB memory, 101 GiB jobfs, 2 a100-40");
	j = make_job(1, 1);
	j.is_exclusive = true;
	assert_int_equal(place_jobs(nodes, 1, &j, 1), 0);
	assert_string_equal(j.why, "it needs a whole node; a has 5 of 8 cores in use");
	j.want.ncpus = 4;
	assert_int_equal(place_jobs(nodes, 1, &j, 1), 0);
	assert_string_equal(j.why,
			    "it needs a whole node and 4 cores; a has 5 of 8 cores in use, "
			    "and 3 of 8 cores free");
	j = gpu_job("", 3);
	j.is_exclusive = true;
	assert_int_equal(place_jobs(nodes, 1, &j, 1), 0);
	assert_string_equal(j.why,
			    "it needs a whole node and 3 GPUs; a has 5 of 8 cores in use, "
			    "and 1 of 2 GPUs free");
}

static void the_nearest_node_lacks_the_fewest_things_and_of_equals_is_the_first(void **state)
{
	struct fit_node nodes[] = { make_node("a", 1, 1, 0), make_node("b", 4, 1, 0),
				    make_node("c", 1, 8, 0), make_node("d", 4, 8, 4) };
	struct test_job j = make_job(4, 8);
	char why[FIT_WHY_MAX];

	(void)state;
	assert_int_equal(place_jobs(nodes, 4, &j, 1), 0);
	assert_string_equal(j.why, "it needs 4 cores; d has 0 of 4 free (the closest node)");
	assert_int_equal(place_jobs(nodes, 3, &j, 1), 0);
	assert_string_equal(j.why, "it needs 8.00 GiB memory; b has 1.00 GiB of 1.00 GiB free "
				   "(the closest node)");
	assert_false(fit_is_possible(nodes, 3, &j.want, why));
	assert_non_null(strstr(why, "the nearest, b, has 4 cores, 1.00 GiB memory"));
	assert_false(fit_is_possible(nodes, 1, &j.want, why));
	assert_string_equal(why,
			    "no node of this cluster could ever hold it; the nearest, a, has "
			    "1 core, 1.00 GiB memory, 100 GiB jobfs");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_whole_node_is_an_empty_one_and_all_of_it),
		cmocka_unit_test(gpus_are_allocated_by_model),
		cmocka_unit_test(a_drained_gpu_is_not_allocated_and_not_impossible),
		cmocka_unit_test(the_node_that_has_the_model_is_the_nearest),
		cmocka_unit_test(a_model_that_no_node_has_is_named),
		cmocka_unit_test(a_node_without_models_has_gpus_for_jobs_that_request_any),
		cmocka_unit_test(a_whole_node_is_one_with_nothing_in_use),
		cmocka_unit_test(first_that_does_not_fit_stops_and_all_before_it_fit),
		cmocka_unit_test(the_reason_has_the_numbers),
		cmocka_unit_test(a_full_node_is_possible_and_no_node_is_unknown),
		cmocka_unit_test(vmem_is_what_a_job_reserves),
		cmocka_unit_test(more_in_use_than_capacity_counts_as_nothing_free),
		cmocka_unit_test(a_job_goes_to_nodes_of_its_kind_alone),
		cmocka_unit_test(more_processes_than_any_node_of_the_kind_holds_are_never_had),
		cmocka_unit_test(a_kind_that_no_node_is_of_is_named_with_the_kinds_there_are),
		cmocka_unit_test(so_many_fit_as_can_be_allocated_one_by_one),
		cmocka_unit_test(anything_in_use_makes_a_node_not_empty),
		cmocka_unit_test(all_that_is_missing_is_listed_with_its_numbers),
		cmocka_unit_test(
			the_nearest_node_lacks_the_fewest_things_and_of_equals_is_the_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
