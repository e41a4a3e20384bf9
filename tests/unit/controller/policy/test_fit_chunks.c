/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_fit_chunks - jobs of several chunks over every small world: a request is refused exactly when the
 * schedule could never start it, is split only where it must be, and messages have the numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <stdio.h>
#include <cmocka.h>
#include "common/cleanup.h"
#include "controller/policy/placement/fit_chunks.h"
#include "controller/scheduler/schedule.h"

#define GIB (1LL << 30)

static struct fit_node make_node(const char *name, int64_t cores, int64_t gib)
{
	struct fit_node n = { .open = true };

	strcpy(n.name, name);
	n.capacity = (struct resources){ .ncpus = cores,
					 .mem_bytes = gib * GIB,
					 .jobfs_bytes = 100 * GIB };
	return n;
}

static struct select select_of(const char *text)
{
	struct select s = { .n = 0 };
	char model[REQUEST_NAME_MAX];

	assert_int_equal(select_parse(text, &s, model, NULL), 0);
	return s;
}

/* ---- beside the schedule ---- */

/* On how many nodes a schedule of these nodes, with nothing else, starts it; 0: it does not. */
static int64_t nodes_of_schedule(const struct fit_node *nodes, size_t n,
				 const struct fit_request *ask)
{
	const struct schedule_config config = { .rule = SCHEDULE_PRIORITY };
	_cleanup_(schedule_freep) struct schedule *s = NULL;
	struct schedule_chunk chunks[SELECT_MAX] = { 0 };
	struct schedule_job j = { .id = 1,
				  .chunks = chunks,
				  .n_chunks = ask->select->n,
				  .is_exclusive = ask->is_exclusive,
				  .is_scattered = ask->select->is_scattered,
				  .limit_s = 60 };
	const struct schedule_action *actions;
	const int32_t *at;
	int64_t count = 0;
	uint64_t seen = 0;
	int32_t number, parts;
	size_t n_actions;

	assert_int_equal(schedule_new(&config, &s), 0);
	for (size_t i = 0; i < n; i++) {
		const struct schedule_node one = { .cores = nodes[i].capacity.ncpus,
						   .mem_bytes = nodes[i].capacity.mem_bytes,
						   .jobfs_bytes = nodes[i].capacity.jobfs_bytes,
						   .is_open = true };

		assert_int_equal(schedule_add_node(s, &one), 0);
	}
	for (int32_t k = 0; k < ask->select->n; k++)
		chunks[k] = (struct schedule_chunk){ .cores = ask->select->of[k].ncpus,
						     .mem_bytes = ask->select->of[k].vmem_bytes,
						     .n = (int32_t)ask->select->of[k].n };
	assert_int_equal(schedule_add(s, &j, &number), 0);
	assert_int_equal(schedule_pass(s, 0, &actions, &n_actions), 0);
	at = schedule_nodes(s, number, &parts);
	for (int32_t i = 0; at && i < parts; i++) {
		count += !(seen >> at[i] & 1);
		seen |= UINT64_C(1) << at[i];
	}
	return count;
}

static void assert_same(struct fit_node *nodes, size_t n, const struct fit_request *ask)
{
	int64_t taken = nodes_of_schedule(nodes, n, ask), ret = -1;
	char why[FIT_WHY_MAX] = "of before";
	int r = fit_pack(nodes, n, ask, &ret, why);
	struct resources total = *ask->want, in_use = { 0 };

	assert_int_equal(r, taken ? 0 : 1);
	assert_int_equal(*why != '\0', r);
	if (r > 0)
		return;
	assert_int_equal(ret, taken);
	assert_int_equal(select_total(ask->select, &total, NULL), 0);
	for (size_t i = 0; i < n; i++) {
		in_use.ncpus += nodes[i].in_use.ncpus;
		in_use.mem_bytes += nodes[i].in_use.mem_bytes;
		assert_true(nodes[i].in_use.ncpus <= nodes[i].capacity.ncpus);
		assert_true(nodes[i].in_use.mem_bytes <= nodes[i].capacity.mem_bytes);
	}
	assert_int_equal(in_use.ncpus, total.ncpus);
	assert_int_equal(in_use.mem_bytes, total.vmem_bytes);
}

static uint32_t random_of(uint64_t *state, uint32_t n)
{
	*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (uint32_t)(*state >> 33) % n;
}

static void a_request_is_refused_exactly_when_the_schedule_could_never_start_it(void **state)
{
	uint64_t seed = 1;
	int refused = 0, several = 0;

	(void)state;
	for (int world = 0; world < 20000; world++) {
		struct fit_node nodes[5];
		struct select s = { .n = 1 + (int32_t)random_of(&seed, 3),
				    .is_scattered = random_of(&seed, 2) };
		struct resources want = { 0 };
		const struct fit_request ask = { &want, &s, random_of(&seed, 2) };
		size_t n = 1 + random_of(&seed, 5);
		int64_t taken;

		for (size_t i = 0; i < n; i++)
			nodes[i] = make_node("n", 1 + random_of(&seed, 6),
					     1 + random_of(&seed, 8));
		for (int32_t k = 0; k < s.n; k++)
			s.of[k] = (struct select_chunk){ .n = 1 + random_of(&seed, 3),
							 .ncpus = 1 + random_of(&seed, 4),
							 .vmem_bytes =
								 random_of(&seed, 4) * GIB };
		assert_same(nodes, n, &ask);
		taken = nodes_of_schedule(nodes, n, &ask);
		refused += taken == 0;
		several += taken > 1;
	}
	assert_true(refused > 2000 && several > 2000);
}

static void without_a_known_node_no_request_is_impossible(void **state)
{
	struct select s = select_of("4:ncpus=1000");
	struct resources want = { 0 };
	const struct fit_request ask = { &want, &s, false };
	char why[FIT_WHY_MAX];
	int64_t n = -1;

	(void)state;
	assert_int_equal(fit_pack(NULL, 0, &ask, &n, why), 0);
	assert_int_equal(n, 0);
}

static const char *refusal_of(const char *text, bool is_scattered)
{
	static char why[FIT_WHY_MAX];
	struct fit_node nodes[] = { make_node("a", 16, 64), make_node("b", 16, 64),
				    make_node("c", 8, 64) };
	struct select s = select_of(text);
	struct resources want = { 0 };
	const struct fit_request ask = { &want, &s, false };
	int64_t n;

	s.is_scattered = is_scattered;
	/* What is in use now makes no difference. */
	nodes[0].in_use = nodes[0].capacity;
	return fit_pack(nodes, 3, &ask, &n, why) ? why : "fits";
}

static void a_request_that_never_fits_names_how_many_chunks_could(void **state)
{
	(void)state;
	assert_string_equal(refusal_of("2:ncpus=16", true), "fits");
	assert_string_equal(refusal_of("3:ncpus=16", false),
			    "its 3 chunks of 16 cores: this cluster could ever hold 2 of them");
	assert_string_equal(refusal_of("4:ncpus=1", true),
			    "its 4 chunks of 1 core, each on a node of its own: this cluster "
			    "could ever hold 3 of them");
	assert_string_equal(refusal_of("2:ncpus=16+1:ncpus=8+1:ncpus=2", false),
			    "its 1 chunk of 2 cores: this cluster could ever hold 0 of them "
			    "beside the others");
	assert_string_equal(refusal_of("2:ncpus=1:vmem=100GiB", false),
			    "no node of this cluster could ever hold it; the nearest, a, has "
			    "16 cores, 64.0 GiB memory, 100 GiB jobfs");
}

/* ---- cut into equal chunks ---- */

struct cut {
	int r;
	struct select s;
	char why[FIT_WHY_MAX];
};

static struct cut cut_chunks(const struct fit_node *nodes, size_t n, const char *text)
{
	struct resources want = { 0 };
	struct cut c = { .r = 0 };

	assert_int_equal(resources_parse(text, &want, NULL), 0);
	strcpy(c.why, "of before");
	c.r = fit_split(nodes, n, &want, &c.s, c.why);
	assert_null(strstr(c.why, "of before"));
	return c;
}

static void a_request_is_split_over_the_fewest_nodes(void **state)
{
	const struct fit_node nodes[] = { make_node("a", 16, 64), make_node("b", 16, 64),
					  make_node("c", 8, 64), make_node("d", 8, 64) };
	char text[SELECT_TEXT_MAX];
	struct cut c;

	(void)state;
	c = cut_chunks(nodes, 4, "ncpus=16,vmem=1GiB");
	assert_int_equal(c.r, 0);
	assert_int_equal(c.s.n, 0); /* one node can */
	c = cut_chunks(nodes, 4, "ncpus=32,vmem=64GiB,mem=2GiB,jobfs=1GiB");
	assert_string_equal(select_format(&c.s, "", text),
			    "2:ncpus=16:vmem=32GiB:mem=1GiB:jobfs=512MiB");
	c = cut_chunks(nodes, 4, "ncpus=30,vmem=100GiB");
	assert_string_equal(select_format(&c.s, "", text), "2:ncpus=15:vmem=50GiB");
	c = cut_chunks(nodes, 4, "ncpus=12,vmem=128GiB"); /* for its memory */
	assert_string_equal(select_format(&c.s, "", text), "2:ncpus=6:vmem=64GiB");
	c = cut_chunks(nodes, 4, "ncpus=12,vmem=129GiB");
	assert_string_equal(select_format(&c.s, "", text), "3:ncpus=4:vmem=43GiB");
	c = cut_chunks(nodes + 2, 2, "ncpus=16,vmem=1GiB");
	assert_string_equal(select_format(&c.s, "", text), "2:ncpus=8:vmem=512MiB");
	c = cut_chunks(NULL, 0, "ncpus=1000"); /* not known */
	assert_int_equal(c.r, 0);
	assert_int_equal(c.s.n, 0);
}

static void a_request_that_cannot_be_split_names_the_nearest_numbers(void **state)
{
	struct fit_node nodes[] = { make_node("a", 16, 64), make_node("b", 16, 64),
				    make_node("c", 8, 64) };
	struct cut c;

	(void)state;
	c = cut_chunks(nodes, 3, "ncpus=31,vmem=1GiB");
	assert_int_equal(c.r, 1);
	assert_int_equal(c.s.n, 0);
	assert_string_equal(
		c.why, "no node of this cluster could ever hold it; the nearest, a, has "
		       "16 cores, 64.0 GiB memory, 100 GiB jobfs; in equal parts there could "
		       "be ncpus=30 (2 nodes, 15 cores each) or ncpus=32 (2 nodes, 16 "
		       "cores each)");
	c = cut_chunks(nodes, 3, "ncpus=64,vmem=1GiB");
	assert_int_equal(c.r, 1);
	c = cut_chunks(nodes, 3, "ncpus=2,vmem=1GiB,jobfs=200GiB"); /* a disk is a node's own */
	assert_int_equal(c.r, 1);
	assert_null(strstr(c.why, "in equal parts"));
	for (int i = 0; i < 3; i++) {
		assert_int_equal(gpus_parse("a100-40=4", &nodes[i].gpus), 0);
		nodes[i].capacity.ngpus = 4;
	}
	c = cut_chunks(nodes, 3, "ncpus=6,ngpus=a100-40:6");
	assert_int_equal(c.r, 0);
	assert_int_equal(c.s.of[0].n, 2);
	assert_int_equal(c.s.of[0].ngpus, 3);
	c = cut_chunks(nodes, 3, "ncpus=6,ngpus=a100-40:7");
	assert_int_equal(c.r, 1);
	assert_non_null(strstr(c.why, "ncpus=6,ngpus=a100-40:6 (2 nodes, 3 cores each)"));
	c = cut_chunks(nodes, 3, "ncpus=6,ngpus=h100-80:6"); /* there are none */
	assert_int_equal(c.r, 1);
	assert_null(strstr(c.why, "in equal parts"));
}

/* ---- now ---- */

static const char *missing_of(const char *text, bool is_exclusive, bool is_closed)
{
	static char why[FIT_WHY_MAX];
	struct fit_node nodes[] = { make_node("a", 16, 64), make_node("b", 16, 64),
				    make_node("c", 8, 64) };
	struct select s = select_of(text);
	struct resources want = { 0 };
	const struct fit_request ask = { &want, &s, is_exclusive };

	nodes[0].in_use.ncpus = 1;
	for (int i = 0; i < 3; i++)
		nodes[i].open = !is_closed;
	strcpy(why, "of before");
	fit_explain(nodes, 3, &ask, why);
	return why;
}

/* Each on a node of its own: a node with room for two counts once. */
static const char *missing_scattered(const char *text)
{
	static char why[FIT_WHY_MAX];
	const struct fit_node nodes[] = { make_node("a", 16, 64), make_node("b", 16, 64),
					  make_node("c", 8, 64) };
	struct select s = select_of(text);
	struct resources want = { 0 };
	const struct fit_request ask = { &want, &s, false };

	s.is_scattered = true;
	fit_explain(nodes, 3, &ask, why);
	return why;
}

static void a_request_that_waits_names_how_many_chunks_fit_now(void **state)
{
	(void)state;
	assert_string_equal(
		missing_of("2:ncpus=16:vmem=32GiB", false, false),
		"it needs 2 nodes with 16 cores, 32.0 GiB memory each; 1 has them free now");
	assert_string_equal(missing_of("3:ncpus=10", false, false),
			    "it needs 3 nodes with 10 cores each; 2 have them free now");
	assert_string_equal(missing_of("8:ncpus=8", false, false),
			    "it needs 8 chunks of 8 cores each (room for 4 now)");
	assert_string_equal(missing_of("2:ncpus=10", true, false),
			    "it needs 2 whole nodes with 10 cores each; 1 has them free now");
	assert_string_equal(missing_of("1:ncpus=16+2:ncpus=15", false, false),
			    "it needs 1 chunk of 16 cores (room for 1 now) and 2 chunks of 15 "
			    "cores each (room for 2 now), all at once");
	assert_string_equal(missing_of("2:ncpus=1", false, false), "");
	assert_string_equal(missing_scattered("4:ncpus=8"),
			    "it needs 4 nodes with 8 cores each; 3 have them free now");
	assert_string_equal(missing_scattered("3:ncpus=8"), "");
	assert_string_equal(missing_of("2:ncpus=1", false, true),
			    "no node is up and not drained (3 registered)");
}

static void parts_are_allocated_all_or_none(void **state)
{
	struct fit_node nodes[] = { make_node("a", 16, 64), make_node("b", 16, 64) };
	struct fit_node *at[] = { &nodes[0], &nodes[1] };
	struct resources parts[] = { { .ncpus = 16 }, { .ncpus = 17 } };

	(void)state;
	assert_false(fit_parts(at, parts, 2, false));
	assert_int_equal(nodes[0].in_use.ncpus, 0);
	parts[1].ncpus = 4;
	assert_true(fit_parts(at, parts, 2, false));
	assert_int_equal(nodes[0].in_use.ncpus, 16);
	assert_int_equal(nodes[1].in_use.ncpus, 4);
	parts[0].ncpus = 1;
	assert_false(fit_parts(&at[1], parts, 1, true)); /* not empty */
	nodes[0].in_use = nodes[1].in_use = (struct resources){ 0 };
	assert_true(fit_parts(at, parts, 2, true));
	assert_int_equal(nodes[0].in_use.mem_bytes, nodes[0].capacity.mem_bytes);
	assert_false(fit_parts(at, parts, 1, false));
}

/* On how many nodes, empty, a part of it fits. */
static int64_t count_plainly(const struct fit_node *nodes, size_t n,
			     const struct resources *want, int64_t by)
{
	int64_t count = 0;

	for (size_t i = 0; i < n; i++) {
		const struct resources *has = &nodes[i].capacity;

		count += has->ncpus * by >= want->ncpus && has->ngpus * by >= want->ngpus &&
			 has->mem_bytes >= (want->vmem_bytes + by - 1) / by &&
			 has->jobfs_bytes >= (want->jobfs_bytes + by - 1) / by;
	}
	return count;
}

/* The numbers that the refusal names can be had: the same request with these is cut so. */
static void expect_offers(const struct fit_node *nodes, size_t n, const struct resources *want,
			  const char *why)
{
	long long cores, gpus = 0, by, each;

	for (const char *p = why; (p = strstr(p, "ncpus=")); p++) {
		struct resources offered = *want;
		struct select s;
		char text[FIT_WHY_MAX];

		if (want->ngpus)
			assert_int_equal(sscanf(p, "ncpus=%lld,ngpus=%lld (%lld nodes, %lld",
						&cores, &gpus, &by, &each),
					 4);
		else
			assert_int_equal(
				sscanf(p, "ncpus=%lld (%lld nodes, %lld", &cores, &by, &each),
				3);
		offered.ncpus = cores;
		offered.ngpus = gpus;
		assert_int_equal(each * by, cores);
		assert_int_equal(gpus % by, 0);
		assert_true(count_plainly(nodes, n, &offered, by) >= by);
		assert_int_equal(fit_split(nodes, n, &offered, &s, text), 0);
		assert_int_equal(s.n, 1);
		assert_true(cores != want->ncpus || gpus != want->ngpus);
	}
}

/* Random clusters and requests: cut by the smallest number of which each part has a node of its own. */
static void a_request_is_cut_by_the_smallest_number_that_fits(void **state)
{
	int n_cut = 0, n_offers = 0;
	uint64_t seed = 9;

	(void)state;
	for (int world = 0; world < 6000; world++) {
		struct fit_node nodes[6];
		size_t n = 1 + random_of(&seed, 6);
		struct resources want = { .ncpus = 1 + random_of(&seed, 30),
					  .vmem_bytes = random_of(&seed, 30) * GIB,
					  .jobfs_bytes = random_of(&seed, 120) * GIB,
					  .ngpus = random_of(&seed, 2) * random_of(&seed, 9) };
		struct resources no_disk = want;
		struct select s;
		char why[FIT_WHY_MAX];
		int64_t by = 1;
		int r;

		for (size_t i = 0; i < n; i++) {
			nodes[i] = make_node("n", 1 + random_of(&seed, 8),
					     1 + random_of(&seed, 8));
			nodes[i].capacity.ngpus = random_of(&seed, 4);
		}
		no_disk.jobfs_bytes = 0;
		while (by <= (int64_t)n && (want.ncpus % by || want.ngpus % by ||
					    count_plainly(nodes, n, &want, by) < by))
			by++;
		r = fit_split(nodes, n, &want, &s, why);
		if (by > 1 && count_plainly(nodes, n, &no_disk, 1) > 0)
			by = (int64_t)n + 1; /* only for its disk: that is a node's own */
		assert_int_equal(r, by > (int64_t)n);
		assert_int_equal(s.n, r == 0 && by > 1);
		if (s.n)
			assert_int_equal(s.of[0].n, by);
		n_cut += s.n;
		n_offers += strstr(why, "in equal parts") != NULL;
		if (r)
			expect_offers(nodes, n, &want, why);
	}
	assert_true(n_cut > 50 && n_offers > 50);
}

static void parts_are_of_the_kind_that_is_asked_for(void **state)
{
	struct fit_node nodes[] = { make_node("a", 4, 64), make_node("b", 4, 64),
				    make_node("c", 64, 64) };
	struct cut c;

	(void)state;
	strcpy(nodes[0].capacity.node_type, "thin");
	strcpy(nodes[1].capacity.node_type, "thin");
	strcpy(nodes[2].capacity.node_type, "fat");
	c = cut_chunks(nodes, 3, "ncpus=8,nodetype=thin");
	assert_int_equal(c.r, 0);
	assert_int_equal(c.s.of[0].n, 2);
	c = cut_chunks(nodes, 3, "ncpus=12,nodetype=thin");
	assert_int_equal(c.r, 1);
	c = cut_chunks(nodes, 3, "ncpus=12,nodetype=other");
	assert_int_equal(c.r, 1);
	assert_null(strstr(c.why, "in equal parts"));
}

static void without_chunks_the_explanation_is_that_of_one_request(void **state)
{
	struct fit_node nodes[] = { make_node("a", 16, 64), make_node("b", 8, 64) };
	struct resources want = { .ncpus = 12 };
	const struct fit_request ask = { .want = &want };
	char one[FIT_WHY_MAX], why[FIT_WHY_MAX];

	(void)state;
	nodes[0].in_use.ncpus = 5;
	fit_explain_one(nodes, 2, &ask, one);
	fit_explain(nodes, 2, &ask, why);
	assert_string_equal(why, one);
	assert_true(*why);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_request_is_refused_exactly_when_the_schedule_could_never_start_it),
		cmocka_unit_test(without_a_known_node_no_request_is_impossible),
		cmocka_unit_test(a_request_that_never_fits_names_how_many_chunks_could),
		cmocka_unit_test(a_request_is_split_over_the_fewest_nodes),
		cmocka_unit_test(a_request_that_cannot_be_split_names_the_nearest_numbers),
		cmocka_unit_test(a_request_that_waits_names_how_many_chunks_fit_now),
		cmocka_unit_test(parts_are_allocated_all_or_none),
		cmocka_unit_test(a_request_is_cut_by_the_smallest_number_that_fits),
		cmocka_unit_test(parts_are_of_the_kind_that_is_asked_for),
		cmocka_unit_test(without_chunks_the_explanation_is_that_of_one_request),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
