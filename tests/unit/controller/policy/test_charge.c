/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_charge - the laws of charging, and every example of the published CPU and GPU rules. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include "common/err.h"
#include <cmocka.h>
#include "common/cleanup.h"
#include "common/time_units.h"
#include "controller/policy/charge/charge.h"

#define GB 1000000000LL
#define MB 1000000LL
#define GIB (1LL << 30)
#define MIB (1LL << 20)

static struct charge_bundle make_bundle(const char *gpus, const char *cores, int64_t memory)
{
	struct charge_bundle b = { 0 };

	if (gpus)
		assert_int_equal(fraction_parse(gpus, &b.side[CHARGE_GPUS], NULL), 0);
	if (cores)
		assert_int_equal(fraction_parse(cores, &b.side[CHARGE_CORES], NULL), 0);
	if (memory)
		assert_int_equal(fraction_make(memory, 1, &b.side[CHARGE_MEMORY]), 0);
	return b;
}

struct example {
	const char *cluster, *gpus, *cores;
	int64_t memory;
	int64_t ask_gpus, ask_cores, ask_memory;
	const char *rate;
	enum charge_side decided_by;
};

static const struct example examples[] = {
	{ "1/4GB", NULL, "1", 4 * GB, 0, 2, 4 * GB, "2", CHARGE_CORES },
	{ "1/4GB", NULL, "1", 4 * GB, 0, 2, 10 * GB, "2.5", CHARGE_MEMORY },
	{ "1/4GB", NULL, "1", 4 * GB, 0, 1, 8 * GB, "2", CHARGE_MEMORY },
	{ "Niagara", NULL, "1", 4800 * MB, 0, 1, 9600 * MB, "2", CHARGE_MEMORY },
	{ "1/6/32GB", "1", "6", 32 * GB, 2, 6, 32 * GB, "2", CHARGE_GPUS },
	{ "1/6/32GB", "1", "6", 32 * GB, 1, 9, 32 * GB, "1.5", CHARGE_CORES },
	{ "1/6/32GB", "1", "6", 32 * GB, 1, 6, 48 * GB, "1.5", CHARGE_MEMORY },
	/* Units are explicit: binary memory against a decimal bundle. */
	{ "1/6/32000MB", "1", "6", 32000 * MB, 1, 6, 48 * GB, "1.5", CHARGE_MEMORY },
	{ "1/6/32000MiB", "1", "6", 32000 * MIB, 1, 6, 49152 * MIB, "1.536", CHARGE_MEMORY },
	/* The bundles of the real clusters: one bundle is 1, one thing more decides. */
	{ "Beluga V100-16", "1", "10", 47000 * MB, 1, 10, 47000 * MB, "1", CHARGE_GPUS },
	{ "Beluga V100-16", "1", "10", 47000 * MB, 1, 12, 47000 * MB, "1.2", CHARGE_CORES },
	{ "Beluga V100-16", "1", "10", 47000 * MB, 1, 10, 94000 * MB, "2", CHARGE_MEMORY },
	{ "Cedar P100-12", "1", "6", 32000 * MB, 1, 6, 32000 * MB, "1", CHARGE_GPUS },
	{ "Cedar P100-12", "1", "6", 32000 * MB, 1, 9, 32000 * MB, "1.5", CHARGE_CORES },
	{ "Cedar P100-16", "1", "6", 64000 * MB, 1, 6, 48000 * MB, "1", CHARGE_GPUS },
	{ "Cedar P100-16", "1", "6", 64000 * MB, 1, 6, 80000 * MB, "1.25", CHARGE_MEMORY },
	{ "Cedar V100-32", "1", "8", 48000 * MB, 1, 12, 48000 * MB, "1.5", CHARGE_CORES },
	{ "Graham P100-12", "1", "16", 64000 * MB, 1, 24, 64000 * MB, "1.5", CHARGE_CORES },
	{ "Graham V100-16", "1", "3.5", 22500 * MB, 1, 7, 22500 * MB, "2", CHARGE_CORES },
	{ "Graham V100-16", "1", "3.5", 22500 * MB, 1, 4, 22500 * MB, "1.142857... (8/7)",
	  CHARGE_CORES },
	{ "Graham V100-32", "1", "5", 48000 * MB, 3, 5, 48000 * MB, "3", CHARGE_GPUS },
	{ "Graham T4-16 a", "1", "4", 49000 * MB, 1, 11, 49000 * MB, "2.75", CHARGE_CORES },
	{ "Graham T4-16 b", "1", "11", 49000 * MB, 1, 11, 49000 * MB, "1", CHARGE_GPUS },
	{ "Narval A100-40", "1", "12", 127000 * MB, 4, 48, 508000 * MB, "4", CHARGE_GPUS },
	/* GiB against GB is exact too. */
	{ "1/4GB", NULL, "1", 4 * GB, 0, 1, 8 * GIB, "2.147483648", CHARGE_MEMORY },
};

static void every_published_example_has_its_rate(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(examples); i++) {
		const struct example *e = &examples[i];
		struct charge_bundle b = make_bundle(e->gpus, e->cores, e->memory);
		struct charge_amounts a = { { [CHARGE_GPUS] = e->ask_gpus,
					      [CHARGE_CORES] = e->ask_cores,
					      [CHARGE_MEMORY] = e->ask_memory } };
		struct charge_rate rate;
		char text[FRACTION_TEXT_MAX];

		assert_int_equal(charge_rate_of(&b, &a, &rate), 0);
		assert_string_equal(fraction_format(rate.rate, text), e->rate);
		assert_int_equal(rate.decided_by, e->decided_by);
	}
}

/* A small generator of its own: the same numbers on every machine. */
static uint64_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return *seed >> 33;
}

static void slices_sum_to_the_charge_of_the_total(void **state)
{
	uint64_t seed = 7;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		struct fraction rate;
		int64_t total_ns = 0, sum_ms = 0, last_ms = 0, whole_ms;
		int slices = 1 + (int)(next_random(&seed) % 20);

		assert_int_equal(fraction_make((int64_t)(next_random(&seed) % 1000),
					       1 + (int64_t)(next_random(&seed) % 999), &rate),
				 0);
		for (int i = 0; i < slices; i++) {
			int64_t ms;

			total_ns += (int64_t)(next_random(&seed) % (1ULL << (1 + round % 31)));
			assert_int_equal(charge_requested(rate, total_ns, &ms), 0);
			assert_true(ms >= last_ms);
			sum_ms += ms - last_ms;
			last_ms = ms;
		}
		assert_int_equal(charge_requested(rate, total_ns, &whole_ms), 0);
		assert_int_equal(sum_ms, whole_ms);
	}
}

static void rounding_is_half_up_once(void **state)
{
	const struct fraction one = { 1, 1 }, half = { 1, 2 };
	int64_t ms;

	(void)state;
	assert_int_equal(charge_requested(one, 499999, &ms), 0);
	assert_int_equal(ms, 0);
	assert_int_equal(charge_requested(one, 500000, &ms), 0);
	assert_int_equal(ms, 1);
	assert_int_equal(charge_requested(half, 999999, &ms), 0);
	assert_int_equal(ms, 0);
	assert_int_equal(charge_requested(half, 1000000, &ms), 0);
	assert_int_equal(ms, 1);
}

static void rate_times_hours_is_exact(void **state)
{
	const struct fraction rate = { 5, 2 };
	int64_t ms;

	(void)state;
	assert_int_equal(charge_requested(rate, 3600 * S_NS, &ms), 0);
	assert_int_equal(ms, 9000 * 1000);
	/* A thousand cores for a hundred years, to the millisecond. */
	assert_int_equal(
		charge_requested((struct fraction){ 1000, 1 }, 100LL * 365 * 86400 * S_NS, &ms),
		0);
	assert_int_equal(ms, 1000LL * 100 * 365 * 86400 * 1000);
}

static void too_large_is_an_error_and_nothing_is_written(void **state)
{
	int64_t ms = 42;
	struct charge_bundle b = make_bundle(NULL, "0.00000000000000001", 0);
	struct charge_amounts a = { { [CHARGE_CORES] = INT64_MAX } };
	struct charge_rate rate;

	(void)state;
	assert_int_equal(charge_requested((struct fraction){ INT64_MAX, 1 }, INT64_MAX, &ms),
			 -ERANGE);
	assert_int_equal(charge_requested((struct fraction){ 1, 1 }, -1, &ms), -EINVAL);
	assert_int_equal(ms, 42);
	assert_int_equal(charge_rate_of(&b, &a, &rate), -ERANGE);
	a.side[CHARGE_CORES] = -1;
	assert_int_equal(charge_rate_of(&b, &a, &rate), -EINVAL);
	b = (struct charge_bundle){ 0 };
	a.side[CHARGE_CORES] = 1;
	assert_int_equal(charge_rate_of(&b, &a, &rate), -EINVAL);
}

static void used_is_the_smallest_request_that_would_have_served(void **state)
{
	struct charge_bundle b = make_bundle(NULL, "1", 4 * GB);
	struct charge_use u = { 100 * S_NS, 150 * S_NS, 2 * GB, 0 };
	int64_t ms;

	(void)state;
	assert_int_equal(charge_used(&b, &u, &ms), 0);
	assert_int_equal(ms, 150000); /* 1.5 cores busy; half an equivalent of memory */
	u.mem_peak_bytes = 10 * GB;
	assert_int_equal(charge_used(&b, &u, &ms), 0);
	assert_int_equal(ms, 250000);
	u = (struct charge_use){ 100 * S_NS, -1, -1, 0 };
	assert_int_equal(charge_used(&b, &u, &ms), 0);
	assert_int_equal(ms, 0);
	b = make_bundle("1", "3.5", 22500 * MB);
	u = (struct charge_use){ 100 * S_NS, 70 * S_NS, 225 * MB, 2 };
	assert_int_equal(charge_used(&b, &u, &ms), 0);
	assert_int_equal(ms, 200000); /* the GPUs that were allocated */
}

static void parts_rise_to_the_total(void **state)
{
	uint64_t seed = 11;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		int64_t total = (int64_t)next_random(&seed),
			whole = 1 + (int64_t)next_random(&seed), last = 0;

		for (int64_t at = 0; at < 10; at++) {
			int64_t part = charge_part(total, whole / 10 * at, whole);

			assert_in_range(part, last, total);
			last = part;
		}
		assert_int_equal(charge_part(total, whole, whole), total);
	}
	assert_int_equal(charge_part(5, 1, 0), 5);
	assert_int_equal(charge_part(INT64_MAX, INT64_MAX - 1, INT64_MAX), INT64_MAX - 1);
}

static void fractions_are_strict_and_exact(void **state)
{
	static const char *const bad[] = { "",
					   "0",
					   "0.0",
					   "-1",
					   "1.",
					   ".5",
					   "1e3",
					   "1 ",
					   " 1",
					   "1,5",
					   "x",
					   "1.2.3",
					   "1234567890123456789" };
	struct fraction f;
	char text[FRACTION_TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_int_equal(fraction_parse(bad[i], &f, NULL), -EINVAL);
	assert_int_equal(fraction_parse("4.80", &f, NULL), 0);
	assert_int_equal(f.num, 24);
	assert_int_equal(f.den, 5);
	assert_string_equal(fraction_format(f, text), "4.8");
	assert_string_equal(fraction_format((struct fraction){ 8, 3 }, text),
			    "2.666666... (8/3)");
	assert_string_equal(fraction_format((struct fraction){ 0, 1 }, text), "0");
	assert_string_equal(fraction_format((struct fraction){ 1, 1LL << 18 }, text),
			    "0.000003814697265625");
}

static void sides_and_pools_have_their_names_and_what_is_none_has_none(void **state)
{
	(void)state;
	assert_string_equal(charge_side_name(CHARGE_GPUS), "gpus");
	assert_string_equal(charge_side_name(CHARGE_CORES), "cores");
	assert_string_equal(charge_side_name(CHARGE_MEMORY), "memory");
	assert_string_equal(charge_side_name(_CHARGE_SIDE_MAX), "none");
	assert_string_equal(charge_pool_name(CHARGE_POOL_CPU), "cpu");
	assert_string_equal(charge_pool_name(CHARGE_POOL_GPU), "gpu");
	assert_string_equal(charge_pool_name(_CHARGE_POOL_MAX), "none");
	assert_string_equal(charge_pool_unit(CHARGE_POOL_CPU), "core-equivalent");
	assert_string_equal(charge_pool_unit(CHARGE_POOL_GPU), "gpu-equivalent");
	assert_string_equal(charge_pool_unit(_CHARGE_POOL_MAX), "none");
}

/* Of all small fractions: sums, products and quotients, by their cross products, in lowest terms. */
static void fractions_are_reckoned_exactly_in_lowest_terms(void **state)
{
	(void)state;
	for (int code = 0; code < 9 * 9 * 9 * 9; code++) {
		int a = code % 9, b = code / 9 % 9 + 1, c = code / 81 % 9, d = code / 729 + 1;
		struct fraction x, y, got[3];
		const int64_t want[3][2] = { { a * d + c * b, b * d },
					     { a * c, b * d },
					     { a * d, b * c } };

		assert_int_equal(fraction_make(a, b, &x), 0);
		assert_int_equal(fraction_make(c, d, &y), 0);
		assert_int_equal(fraction_add(x, y, &got[0]), 0);
		assert_int_equal(fraction_multiply(x, y, &got[1]), 0);
		assert_int_equal(fraction_divide(x, y, &got[2]), c ? 0 : -EINVAL);
		for (int i = 0; i < (c ? 3 : 2); i++) {
			assert_int_equal(got[i].num * want[i][1], got[i].den * want[i][0]);
			for (int64_t g = 2; g <= got[i].den; g++)
				assert_true(got[i].num % g || got[i].den % g);
		}
	}
}

static void a_fraction_beyond_the_numbers_is_an_error(void **state)
{
	const struct fraction most = { INT64_MAX, 1 }, least = { 1, INT64_MAX }, one = { 1, 1 };
	struct fraction f = { 7, 7 };

	(void)state;
	assert_int_equal(fraction_make(-1, 1, &f), -EINVAL);
	assert_int_equal(fraction_make(1, 0, &f), -EINVAL);
	assert_int_equal(fraction_make(1, -1, &f), -EINVAL);
	assert_int_equal(fraction_add(most, one, &f), -ERANGE);
	assert_int_equal(fraction_add(least, (struct fraction){ 1, 2 }, &f), -ERANGE);
	assert_int_equal(fraction_multiply(most, (struct fraction){ 2, 1 }, &f), -ERANGE);
	assert_int_equal(fraction_divide(most, least, &f), -ERANGE);
	assert_int_equal(f.num, 7);
	assert_int_equal(fraction_multiply(most, least, &f), 0);
	assert_true(f.num == 1 && f.den == 1);
	assert_int_equal(fraction_multiply(most, one, &f), 0);
	assert_true(f.num == INT64_MAX && f.den == 1);
	assert_int_equal(fraction_multiply(least, one, &f), 0);
	assert_true(f.num == 1 && f.den == INT64_MAX);
}

static void a_fraction_is_read_in_two_forms_and_printed_in_three(void **state)
{
	static const struct {
		const char *text, *shown, *decimal; /* shown NULL: refused */
	} of[] = {
		{ "0", "0", "0" },
		{ "0/5", "0", "0" },
		{ "1/7", "0.142857... (1/7)", "0.142857142857142857" },
		{ "0.5/0.25", "2", "2" },
		{ "8/3", "2.666666... (8/3)", "2.666666666666666666" },
		{ "123456789012345678", "123456789012345678", "123456789012345678" },
		{ "1.23456789012345678", "1.23456789012345678", "1.23456789012345678" },
		{ "1/0", NULL, NULL },
		{ "1/", NULL, NULL },
		{ "/1", NULL, NULL },
		{ "/", NULL, NULL },
		{ "1/2/3", NULL, NULL },
		{ "1/-2", NULL, NULL },
		{ "1234567890123456789", NULL, NULL },
		{ "1.234567890123456789", NULL, NULL },
		{ "1./2", NULL, NULL },
	};
	char buf[FRACTION_TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(of); i++) {
		struct err err = { "" };
		struct fraction f = { 7, 7 };
		int r = fraction_parse_or_zero(of[i].text, &f, &err);

		if (r != (of[i].shown ? 0 : -EINVAL))
			fail_msg("%s: %d", of[i].text, r);
		if (!of[i].shown) {
			assert_non_null(strstr(err.text, "is not an amount; write it like 1"));
			continue;
		}
		assert_string_equal(fraction_format(f, buf), of[i].shown);
		assert_string_equal(fraction_format_decimal(f, buf), of[i].decimal);
		r = fraction_parse(of[i].text, &f, &err);
		assert_int_equal(r, *of[i].text == '0' && f.num == 0 ? -EINVAL : 0);
	}
}

/* Every small bundle and request: the largest share, or their sum; ratios in halves are whole numbers. */
static void a_rate_is_the_largest_share_or_the_sum(void **state)
{
	static const struct fraction sides[] = { { 0, 1 }, { 1, 2 }, { 1, 1 }, { 2, 1 } };
	static const int64_t times[] = { 0, 4, 2, 1 };

	(void)state;
	for (int code = 0; code < 64 * 27 * 2; code++) {
		struct charge_bundle b = { .is_sum = code >= 64 * 27 };
		struct charge_amounts a = { 0 };
		int64_t most = -1, sum = 0;
		enum charge_side by = _CHARGE_SIDE_MAX;
		struct charge_rate rate;
		int side = code % 64, amount = code / 64 % 27;

		for (int s = 0; s < _CHARGE_SIDE_MAX; s++, side /= 4, amount /= 3) {
			int64_t share = times[side % 4] * (amount % 3);

			b.side[s] = sides[side % 4];
			a.side[s] = amount % 3;
			sum += share;
			if (side % 4 == 0 || share <= most)
				continue;
			most = share;
			by = (enum charge_side)s;
		}
		assert_int_equal(charge_rate_of(&b, &a, &rate),
				 by == _CHARGE_SIDE_MAX ? -EINVAL : 0);
		if (by == _CHARGE_SIDE_MAX)
			continue;
		assert_int_equal(rate.decided_by, by);
		assert_int_equal(rate.rate.num * 2, rate.rate.den * (b.is_sum ? sum : most));
	}
}

/* Sides that were used, rounded once each: the largest half up, or the sum of what is whole. */
static void what_was_used_is_rounded_once_a_side(void **state)
{
	(void)state;
	for (int code = 0; code < 3 * 7 * 7 * 7 * 2; code++) {
		const int64_t per = code % 3 + 1, ns = 499999 + code / 3 % 7 * 333334,
			      peak = code / 21 % 7 - 1, gpus = code / 147 % 7 - 1;
		const __int128 used[] = { gpus * ns, ns + 1, peak * ns };
		const bool is_sum = code >= 3 * 7 * 7 * 7;
		struct charge_bundle b = { .is_sum = is_sum };
		struct charge_use u = { ns, ns + 1, peak, gpus };
		int64_t ms, want = 0;

		for (int s = 0; s < _CHARGE_SIDE_MAX; s++) {
			__int128 d = (__int128)per * MS_NS, one;

			b.side[s] = (struct fraction){ per, 1 };
			one = is_sum ? used[s] / d : (2 * used[s] + d) / (2 * d);
			if (used[s] < 0)
				continue;
			want = is_sum ? want + (int64_t)one : want > one ? want : (int64_t)one;
		}
		assert_int_equal(charge_used(&b, &u, &ms), 0);
		assert_int_equal(ms, want);
	}
}

static void use_beyond_the_numbers_is_an_error(void **state)
{
	struct charge_bundle b = make_bundle("1", NULL, 1);
	struct charge_use u = { -1, 0, 0, 0 };
	int64_t ms = 42;

	(void)state;
	assert_int_equal(charge_used(&b, &u, &ms), -EINVAL);
	u.running_ns = INT64_MAX;
	u.ngpus = INT64_MAX;
	assert_int_equal(charge_used(&b, &u, &ms), -ERANGE);
	u.ngpus = 0;
	u.mem_peak_bytes = 1000000;
	assert_int_equal(charge_used(&b, &u, &ms), 0);
	assert_int_equal(ms, INT64_MAX);
	u.ngpus = 1;
	b.is_sum = true;
	ms = 42;
	assert_int_equal(charge_used(&b, &u, &ms), -ERANGE);
	b.side[CHARGE_MEMORY].den = INT64_MAX;
	u.mem_peak_bytes = INT64_MAX;
	assert_int_equal(charge_used(&b, &u, &ms), -ERANGE);
	assert_int_equal(ms, 42);
	assert_int_equal(charge_part(9, -1, 3), 9);
	assert_int_equal(charge_part(9, 0, 3), 0);
	assert_int_equal(charge_part(9, 1, 3), 3);
	assert_int_equal(charge_part(9, 2, 2), 9);
	assert_int_equal(charge_part(9, 0, -3), 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sides_and_pools_have_their_names_and_what_is_none_has_none),
		cmocka_unit_test(every_published_example_has_its_rate),
		cmocka_unit_test(slices_sum_to_the_charge_of_the_total),
		cmocka_unit_test(rounding_is_half_up_once),
		cmocka_unit_test(rate_times_hours_is_exact),
		cmocka_unit_test(too_large_is_an_error_and_nothing_is_written),
		cmocka_unit_test(used_is_the_smallest_request_that_would_have_served),
		cmocka_unit_test(parts_rise_to_the_total),
		cmocka_unit_test(fractions_are_strict_and_exact),
		cmocka_unit_test(fractions_are_reckoned_exactly_in_lowest_terms),
		cmocka_unit_test(a_fraction_beyond_the_numbers_is_an_error),
		cmocka_unit_test(a_fraction_is_read_in_two_forms_and_printed_in_three),
		cmocka_unit_test(a_rate_is_the_largest_share_or_the_sum),
		cmocka_unit_test(what_was_used_is_rounded_once_a_side),
		cmocka_unit_test(use_beyond_the_numbers_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
