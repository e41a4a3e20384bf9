/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_tariff - every example of the published charging rules, and the laws of all of them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "common/cleanup.h"
#include "common/err.h"
#include "common/time_units.h"
#include "controller/policy/charge/tariff.h"

#define GB 1000000000LL
#define MB 1000000LL
#define MIB (1LL << 20)
#define MINUTE_NS (60 * S_NS)
#define ONE ((struct fraction){ 1, 1 })

static struct fraction parse_fraction(const char *text)
{
	struct fraction f;

	assert_int_equal(fraction_parse_or_zero(text, &f, NULL), 0);
	return f;
}

static struct tariff plain_tariff(enum tariff_unit unit)
{
	struct tariff t = { .unit = unit, .gpu_weight = ONE, .factor = ONE };

	for (int p = 0; p < _CHARGE_POOL_MAX; p++)
		for (int s = 0; s < _CHARGE_SIDE_MAX; s++)
			t.bundle[p].side[s] = parse_fraction("0");
	return t;
}

static struct tariff equivalents_tariff(const char *gpu_cores, const char *gpu_memory)
{
	struct tariff t = plain_tariff(TARIFF_EQUIVALENTS);

	t.bundle[CHARGE_POOL_CPU].side[CHARGE_CORES] = ONE;
	t.bundle[CHARGE_POOL_CPU].side[CHARGE_MEMORY] = parse_fraction("4000000000");
	if (!gpu_cores)
		return t;
	t.bundle[CHARGE_POOL_GPU].side[CHARGE_GPUS] = ONE;
	t.bundle[CHARGE_POOL_GPU].side[CHARGE_CORES] = parse_fraction(gpu_cores);
	t.bundle[CHARGE_POOL_GPU].side[CHARGE_MEMORY] = parse_fraction(gpu_memory);
	return t;
}

static struct tariff_price price_request(const struct tariff *t,
					 const struct tariff_request *ask)
{
	struct tariff_price p;
	struct err err = { "" };

	if (tariff_price(t, ask, &p, &err) < 0)
		fail_msg("%s", err.text);
	return p;
}

static void assert_fraction(struct fraction f, const char *text)
{
	char buf[FRACTION_TEXT_MAX];

	assert_string_equal(fraction_format(f, buf), text);
}

static void assert_charge(const struct tariff_price *p, int64_t running_ns, const char *text)
{
	struct fraction charge;

	assert_int_equal(tariff_charge(p, running_ns, &charge), 0);
	assert_fraction(charge, text);
}

struct example {
	const char *gpu_cores, *gpu_memory;
	struct tariff_request ask;
	const char *rate;
	enum charge_side decided_by;
};

static const struct example examples[] = {
	{ NULL, NULL, { 0, 2, 4 * GB, 0, 0 }, "2", CHARGE_CORES },
	{ NULL, NULL, { 0, 2, 10 * GB, 0, 0 }, "2.5", CHARGE_MEMORY },
	{ NULL, NULL, { 0, 1, 8 * GB, 0, 0 }, "2", CHARGE_MEMORY },
	{ "6", "32000000000", { 2, 6, 32 * GB, 0, 0 }, "2", CHARGE_GPUS },
	{ "6", "32000000000", { 1, 9, 32 * GB, 0, 0 }, "1.5", CHARGE_CORES },
	{ "6", "32000000000", { 1, 6, 48 * GB, 0, 0 }, "1.5", CHARGE_MEMORY },
	{ "6", "33554432000", { 1, 6, 49152 * MIB, 0, 0 }, "1.536", CHARGE_MEMORY },
	{ "3.5", "22500000000", { 1, 7, 22500 * MB, 0, 0 }, "2", CHARGE_CORES },
	{ "3.5", "22500000000", { 1, 4, 22500 * MB, 0, 0 }, "1.142857... (8/7)", CHARGE_CORES },
};

static void every_published_equivalent_has_its_rate(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(examples); i++) {
		const struct example *e = &examples[i];
		struct tariff t = equivalents_tariff(e->gpu_cores, e->gpu_memory);
		struct tariff_price p = price_request(&t, &e->ask);

		assert_fraction(p.rate, e->rate);
		assert_int_equal(p.decided_by, e->decided_by);
		assert_int_equal(p.pool, e->ask.ngpus ? CHARGE_POOL_GPU : CHARGE_POOL_CPU);
	}
}

static void the_unit_of_an_amount_is_that_of_the_site(void **state)
{
	(void)state;
	assert_string_equal(tariff_amount_name(TARIFF_EQUIVALENTS, CHARGE_POOL_GPU),
			    "GPU-equivalent hours");
	assert_string_equal(tariff_amount_of("core-equivalent"), "core-equivalent hours");
	assert_string_equal(tariff_amount_of("gpu-equivalent"), "GPU-equivalent hours");
	assert_string_equal(tariff_amount_of("service-unit"), "SU");
	assert_string_equal(tariff_amount_of("core-hour"), "core-h");
	assert_string_equal(tariff_amount_of("euro"), "euro");
}

static void a_job_counts_in_one_pool_and_is_measured_by_that_bundle(void **state)
{
	struct tariff t = equivalents_tariff("12", "127000000000");
	struct tariff_price p =
		price_request(&t, &(struct tariff_request){ 0, 12, 127 * GB, 0, 0 });

	(void)state;
	assert_int_equal(p.pool, CHARGE_POOL_CPU);
	assert_fraction(p.rate, "31.75");
	p = price_request(&t, &(struct tariff_request){ 1, 12, 127 * GB, 0, 0 });
	assert_int_equal(p.pool, CHARGE_POOL_GPU);
	assert_fraction(p.rate, "1");
	assert_string_equal(tariff_unit_name(p.unit, p.pool), "gpu-equivalent");
	assert_charge(&p, HOUR_NS, "3600");
	t = equivalents_tariff(NULL, NULL);
	assert_int_equal(tariff_price(&t, &(struct tariff_request){ 1, 1, 1, 0, 0 }, &p, NULL),
			 -EINVAL);
}

static void a_gpu_counts_by_its_weight_and_slices_by_theirs(void **state)
{
	struct tariff t = equivalents_tariff("3", "31750000000");
	struct tariff_price p;
	struct fraction sum = parse_fraction("0");

	(void)state;
	t.gpu_weight = parse_fraction("4");
	p = price_request(&t, &(struct tariff_request){ 2, 24, 254 * GB, 0, 0 });
	assert_fraction(p.rate, "8");
	assert_string_equal(
		p.rule, "the largest share of one gpu-equivalent: gpus, 2 x weight 4 / 1 = 8");
	t.gpu_weight = parse_fraction("1/7");
	p = price_request(&t, &(struct tariff_request){ 1, 1, 0, 0, 0 });
	assert_fraction(p.rate, "0.333333... (1/3)");
	assert_int_equal(p.decided_by, CHARGE_CORES);
	t.bundle[CHARGE_POOL_GPU].side[CHARGE_CORES] = parse_fraction("0");
	for (int i = 0; i < 7; i++) {
		p = price_request(&t, &(struct tariff_request){ 1, 1, 0, 0, 0 });
		sum.num = sum.num * p.rate.den + p.rate.num * sum.den;
		sum.den *= p.rate.den;
		assert_int_equal(fraction_make(sum.num, sum.den, &sum), 0);
	}
	assert_fraction(sum, "1");
	p = price_request(&t, &(struct tariff_request){ 7, 1, 0, 0, 0 });
	assert_fraction(p.rate, "1");
}

static void service_units_are_cores_by_hours_by_the_queue(void **state)
{
	static const struct {
		const char *factor, *rate, *charge;
	} queues[] = { { "1", "16", "24" }, { "3", "48", "72" }, { "0", "0", "0" } };
	struct tariff t = plain_tariff(TARIFF_SERVICE_UNITS);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(queues); i++) {
		struct tariff_price p;

		t.factor = parse_fraction(queues[i].factor);
		/* Memory and GPUs have no part in it. */
		p = price_request(&t, &(struct tariff_request){ 1, 16, 900 * GB, 0, 0 });
		assert_fraction(p.rate, queues[i].rate);
		assert_int_equal(p.pool, CHARGE_POOL_CPU);
		assert_int_equal(p.decided_by, CHARGE_CORES);
		assert_charge(&p, 90 * MINUTE_NS, queues[i].charge);
	}
}

static void core_hours_of_an_exclusive_queue_are_of_all_cores(void **state)
{
	struct tariff t = plain_tariff(TARIFF_CORE_HOURS);
	struct tariff_price p = price_request(&t, &(struct tariff_request){ 0, 5, GB, 2, 0 });
	struct err err = { "" };

	(void)state;
	assert_charge(&p, 2 * HOUR_NS, "10");
	t.exclusive = true;
	assert_int_equal(tariff_price(&t, &(struct tariff_request){ 0, 5, GB, 2, 0 }, &p, &err),
			 -EINVAL);
	assert_non_null(strstr(err.text, "CoresPerNode="));
	t.cores_per_node = 48;
	p = price_request(&t, &(struct tariff_request){ 0, 5, GB, 2, 0 });
	assert_fraction(p.rate, "96");
	assert_charge(&p, 2 * HOUR_NS, "192");
	p = price_request(&t, &(struct tariff_request){ 0, 48, GB, 0, 0 });
	assert_fraction(p.rate, "48");
	p = price_request(&t, &(struct tariff_request){ 0, 49, GB, 0, 0 });
	assert_fraction(p.rate, "96");
	assert_int_equal(
		tariff_price(&t, &(struct tariff_request){ 0, 97, GB, 2, 0 }, &p, &err),
		-EINVAL);
	assert_int_equal(tariff_price(&t,
				      &(struct tariff_request){ 0, 5, GB, INT64_MAX / 2, 0 },
				      &p, &err),
			 -ERANGE);
}

static void what_is_folded_into_terms_prices_the_same(void **state)
{
	struct tariff t = equivalents_tariff("3", "31750000000");

	(void)state;
	t.gpu_weight = parse_fraction("4");
	t.factor = parse_fraction("1.5");
	for (int64_t gpus = 1; gpus < 5; gpus++)
		for (int64_t cores = 1; cores < 60; cores += 7) {
			struct tariff_price p = price_request(
				&t,
				&(struct tariff_request){ gpus, cores, cores * 9 * GB, 0, 0 });
			struct charge_rate again;

			assert_int_equal(charge_rate_of(&p.terms, &p.amounts, &again), 0);
			assert_int_equal(again.rate.num, p.rate.num);
			assert_int_equal(again.rate.den, p.rate.den);
			assert_int_equal(again.decided_by, p.decided_by);
		}
}

static void slices_of_time_sum_to_the_whole(void **state)
{
	struct tariff t = plain_tariff(TARIFF_SERVICE_UNITS);
	struct tariff_price p;
	int64_t sum_ms = 0, last_ms = 0, whole_ms, now_ms;

	(void)state;
	t.factor = parse_fraction("1/3");
	p = price_request(&t, &(struct tariff_request){ 0, 7, 0, 0, 0 });
	for (int64_t at_ns = 0; at_ns < 1000 * S_NS; at_ns += 777777777) {
		assert_int_equal(charge_requested(p.rate, at_ns, &now_ms), 0);
		sum_ms += now_ms - last_ms;
		last_ms = now_ms;
	}
	assert_int_equal(charge_requested(p.rate, 1285 * 777777777LL, &whole_ms), 0);
	assert_int_equal(sum_ms, whole_ms);
}

static void a_request_without_a_price_is_refused_with_a_reason(void **state)
{
	static const struct tariff_request bad[] = {
		{ 0, 0, GB, 0, 0 }, { -1, 1, GB, 0, 0 }, { 0, -1, GB, 0, 0 },
		{ 0, 1, -1, 0, 0 }, { 0, 1, GB, -1, 0 }, { 1, 1, GB, 0, 0 },
	};
	struct tariff t = equivalents_tariff(NULL, NULL);
	struct tariff_price p;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct err err = { "" };

		assert_int_equal(tariff_price(&t, &bad[i], &p, &err), -EINVAL);
		assert_true(*err.text);
	}
	p = price_request(&t, &(struct tariff_request){ 0, 1, 0, 0, 0 });
	assert_int_equal(tariff_charge(&p, -1, &(struct fraction){ 0, 1 }), -EINVAL);
	t.factor = parse_fraction("999999999999999999");
	assert_int_equal(tariff_price(&t, &(struct tariff_request){ 0, 99, 0, 0, 0 }, &p, NULL),
			 -ERANGE);
}

/* 2 GPUs of weight 1/2, 6 cores and 8 GB. */
static void weights_replace_the_bundle_and_may_be_added_up(void **state)
{
	static const struct {
		enum tariff_unit unit;
		bool is_sum;
		const char *gpu, *cores, *memory, *factor, *rate;
	} cases[] = {
		{ TARIFF_EQUIVALENTS, false, "1", "1", "4000000000", "1", "6" },
		{ TARIFF_EQUIVALENTS, true, "1", "1", "4000000000", "1", "9" },
		{ TARIFF_EQUIVALENTS, true, "1", "1", "4000000000", "1/3", "3" },
		{ TARIFF_SERVICE_UNITS, false, "1/16", "1", "0", "2", "32" },
		{ TARIFF_CORE_HOURS, true, "0", "1/2", "8000000000", "1", "13" },
		{ TARIFF_CORE_HOURS, true, "0", "1/2", "8000000000", "0", "0" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct tariff t = plain_tariff(cases[i].unit);
		struct charge_rate of_terms;
		struct tariff_price p;

		t.has_weights = true;
		t.is_sum = cases[i].is_sum;
		t.gpu_weight = parse_fraction("1/2");
		t.factor = parse_fraction(cases[i].factor);
		t.weights.side[CHARGE_GPUS] = parse_fraction(cases[i].gpu);
		t.weights.side[CHARGE_CORES] = parse_fraction(cases[i].cores);
		t.weights.side[CHARGE_MEMORY] = parse_fraction(cases[i].memory);
		p = price_request(&t, &(struct tariff_request){ 2, 6, 8 * GB, 0, 0 });
		assert_fraction(p.rate, cases[i].rate);
		/* The terms that the ledger keeps give the same rate. */
		if (t.factor.num) {
			assert_int_equal(charge_rate_of(&p.terms, &p.amounts, &of_terms), 0);
			assert_fraction(of_terms.rate, cases[i].rate);
		}
	}
}

/* What was used of each side adds up to no more than what was charged. */
static void under_a_sum_full_use_is_the_full_charge(void **state)
{
	struct tariff t = equivalents_tariff("6", "32000000000");
	struct tariff_price p;
	int64_t used, requested;

	(void)state;
	t.is_sum = true;
	p = price_request(&t, &(struct tariff_request){ 2, 7, 40 * GB, 0, 0 });
	for (int64_t ns = 1; ns < 4000000000000; ns = ns * 7 + 3) {
		const struct charge_use all = { ns, 7 * ns, 40 * GB, 2 };

		assert_int_equal(charge_used(&p.terms, &all, &used), 0);
		assert_int_equal(charge_requested(p.rate, ns, &requested), 0);
		assert_true(used <= requested && used >= requested - 3);
	}
}

/* 2 GPUs, 6 cores and 16 GB, of a bundle of 1 GPU, 6 cores and 32 GB. */
static void the_rule_names_each_share_and_each_factor(void **state)
{
	static const struct {
		bool is_sum;
		const char *factor, *qos, *rule;
	} rows[] = {
		{ true, "1", "1",
		  "the sum of the shares of one gpu-equivalent: gpus 2 + cores 1 + memory 0.5 = 3.5" },
		{ true, "3", "1",
		  "the sum of the shares of one gpu-equivalent: gpus 2 + cores 1 + memory 0.5 = 3.5; "
		  "x queue factor 3 = 10.5" },
		{ false, "1", "1/2",
		  "the largest share of one gpu-equivalent: gpus, 2 / 1 = 2; x QOS factor 0.5 = 1" },
		{ false, "3", "1/2",
		  "the largest share of one gpu-equivalent: gpus, 2 / 1 = 2; x queue factor 3 x "
		  "QOS factor 0.5 = 3" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct tariff t = equivalents_tariff("6", "32000000000");

		t.is_sum = rows[i].is_sum;
		t.factor = parse_fraction(rows[i].factor);
		t.qos_factor = parse_fraction(rows[i].qos);
		assert_string_equal(
			price_request(&t, &(struct tariff_request){ 2, 6, 16 * GB, 0, 0 }).rule,
			rows[i].rule);
	}
}

static void a_sum_leaves_out_what_the_bundle_has_not(void **state)
{
	struct tariff t = equivalents_tariff(NULL, NULL);

	(void)state;
	t.is_sum = true;
	assert_string_equal(
		price_request(&t, &(struct tariff_request){ 0, 2, 2 * GB, 0, 0 }).rule,
		"the sum of the shares of one core-equivalent: cores 2 + memory 0.5 = 2.5");
}

static void weights_are_told_whatever_the_unit(void **state)
{
	struct tariff t = plain_tariff(TARIFF_SERVICE_UNITS);

	(void)state;
	t.has_weights = true;
	t.weights = (struct charge_bundle){ .side = { { 0, 1 }, { 2, 1 }, { 0, 1 } } };
	assert_string_equal(price_request(&t, &(struct tariff_request){ 0, 3, GB, 0, 0 }).rule,
			    "the largest share of one service-unit: cores, 3 / 2 = 1.5");
}

static void hours_of_cores_say_which_cores_and_by_which_clock(void **state)
{
	struct tariff t = plain_tariff(TARIFF_SERVICE_UNITS);

	(void)state;
	assert_string_equal(price_request(&t, &(struct tariff_request){ 0, 16, GB, 0, 0 }).rule,
			    "cores requested, 16, an hour of running");
	t = plain_tariff(TARIFF_CORE_HOURS);
	t.exclusive = true;
	t.cores_per_node = 48;
	assert_string_equal(
		price_request(&t, &(struct tariff_request){ 0, 5, GB, 2, 0 }).rule,
		"all cores of the nodes held, 96, an hour of running by the wall clock; counted "
		"as 2 x CoresPerNode=48 until nodes are allocated");
	assert_string_equal(
		price_request(&t, &(struct tariff_request){ 0, 5, GB, 2, 12 }).rule,
		"all cores of the nodes held, 12, an hour of running by the wall clock");
}

/* The cost of a job by its allocated nodes equals its cost if they had been known before. */
static void nodes_that_are_allocated_price_as_nodes_that_are_known(void **state)
{
	struct tariff tariffs[] = { equivalents_tariff("3", "31750000000"),
				    plain_tariff(TARIFF_CORE_HOURS),
				    plain_tariff(TARIFF_SERVICE_UNITS) };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(tariffs); i++)
		for (int64_t cores = 1; cores < 200; cores += 3) {
			struct tariff *t = &tariffs[i];
			struct tariff_nodes n = { .unit = t->unit };
			struct tariff_price known, again;

			t->exclusive = true;
			t->cores_per_node = 48;
			t->factor = parse_fraction(cores % 2 ? "1.5" : "0");
			n.terms = price_request(t,
						&(struct tariff_request){ 1, 1, 9 * GB, 0, 48 })
					  .terms;
			known = price_request(
				t, &(struct tariff_request){ 1, 1, 9 * GB, 0, cores });
			n.amounts = known.amounts;
			assert_int_equal(tariff_price_nodes(&n, &again), 0);
			assert_int_equal(again.rate.num, known.rate.num);
			assert_int_equal(again.rate.den, known.rate.den);
			if (again.rate.num)
				assert_int_equal(again.decided_by, known.decided_by);
			else
				assert_string_equal(again.rule, "free of charge");
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_published_equivalent_has_its_rate),
		cmocka_unit_test(the_unit_of_an_amount_is_that_of_the_site),
		cmocka_unit_test(a_job_counts_in_one_pool_and_is_measured_by_that_bundle),
		cmocka_unit_test(a_gpu_counts_by_its_weight_and_slices_by_theirs),
		cmocka_unit_test(service_units_are_cores_by_hours_by_the_queue),
		cmocka_unit_test(nodes_that_are_allocated_price_as_nodes_that_are_known),
		cmocka_unit_test(core_hours_of_an_exclusive_queue_are_of_all_cores),
		cmocka_unit_test(what_is_folded_into_terms_prices_the_same),
		cmocka_unit_test(slices_of_time_sum_to_the_whole),
		cmocka_unit_test(a_request_without_a_price_is_refused_with_a_reason),
		cmocka_unit_test(weights_replace_the_bundle_and_may_be_added_up),
		cmocka_unit_test(under_a_sum_full_use_is_the_full_charge),
		cmocka_unit_test(the_rule_names_each_share_and_each_factor),
		cmocka_unit_test(a_sum_leaves_out_what_the_bundle_has_not),
		cmocka_unit_test(weights_are_told_whatever_the_unit),
		cmocka_unit_test(hours_of_cores_say_which_cores_and_by_which_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
