/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_history - what the parsers of all formats share: numbers, names, models, reasons, at their edges. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "common/cleanup.h"
#include "controller/history/history.h"
#include "tests/unit/rig/exact.h"

static void every_reason_has_a_name_of_its_own(void **state)
{
	(void)state;
	assert_string_equal(history_why_name(HISTORY_OK), "ok");
	assert_string_equal(history_why_name(HISTORY_NO_PRICE), "no-price");
	assert_string_equal(history_why_name(_HISTORY_WHY_MAX), "unknown");
	for (int i = 0; i < _HISTORY_WHY_MAX; i++)
		for (int k = 0; k < i; k++)
			assert_string_not_equal(history_why_name((enum history_why)i),
						history_why_name((enum history_why)k));
}

static int64_t parse_int(const char *text)
{
	_cleanup_free_ char *copy = exact_copy(text, strlen(text));
	int64_t n;

	assert_int_equal(history_parse_int(copy, strlen(text), &n), 0);
	return n;
}

static int64_t parse_thousandths(const char *text)
{
	_cleanup_free_ char *copy = exact_copy(text, strlen(text));
	int64_t n;

	assert_int_equal(history_parse_thousandths(copy, strlen(text), &n), 0);
	return n;
}

/* 2^60 is 1152921504606846976. */
static void numbers_end_at_the_largest_amount(void **state)
{
	(void)state;
	assert_int_equal(parse_int("1152921504606846975"), HISTORY_AMOUNT_MAX - 1);
	assert_int_equal(parse_int("1152921504606846976"), HISTORY_AMOUNT_MAX);
	assert_int_equal(parse_int("1152921504606846977"), HISTORY_AMOUNT_MAX);
	assert_int_equal(parse_int("9223372036854775808"), HISTORY_AMOUNT_MAX);
	assert_int_equal(parse_int("-1152921504606846977"), -HISTORY_AMOUNT_MAX);
	assert_int_equal(parse_int("1152921504606846980"), HISTORY_AMOUNT_MAX);
	assert_int_equal(parse_int("115292150460684697"), 115292150460684697);
	assert_int_equal(parse_int("00000000000000000000000000001"), 1);
	assert_int_equal(parse_int("7.25"), 7);
	/* 2^60 / 1000 is 1152921504606846.976 */
	assert_int_equal(parse_thousandths("1152921504606846.975"), HISTORY_AMOUNT_MAX - 1);
	assert_int_equal(parse_thousandths("1152921504606846.976"), HISTORY_AMOUNT_MAX);
	assert_int_equal(parse_thousandths("1152921504606847"), HISTORY_AMOUNT_MAX);
	assert_int_equal(parse_thousandths("-1152921504606847.5"), -HISTORY_AMOUNT_MAX);
	assert_int_equal(parse_thousandths("-1152921504606846.5"), -1152921504606846500);
	assert_int_equal(parse_thousandths("1152921504606846976"), HISTORY_AMOUNT_MAX);
	assert_int_equal(parse_thousandths("0.0019"), 1);
	assert_int_equal(parse_thousandths("0.1"), 100);
	assert_int_equal(parse_thousandths("0.12"), 120);
	assert_int_equal(parse_thousandths("-0.001"), -1);
}

/* Every byte, alone and within a name. */
static void a_name_is_any_bytes_but_controls(void **state)
{
	char name[REQUEST_NAME_MAX], longest[REQUEST_NAME_MAX];

	(void)state;
	for (int c = 0; c < 256; c++) {
		const char text[] = { 'a', (char)c };
		bool is_good = c >= ' ' && c != 0x7f;

		assert_int_equal(history_copy_name(text, 2, name), is_good);
		assert_int_equal(strlen(name), is_good ? 1 + (c != ' ') : 0);
		assert_int_equal(history_copy_name(text + 1, 1, name), is_good);
	}
	memset(longest, 'x', sizeof(longest));
	assert_true(history_copy_name(longest, REQUEST_NAME_MAX - 1, name));
	assert_int_equal(strlen(name), REQUEST_NAME_MAX - 1);
	assert_false(history_copy_name(longest, REQUEST_NAME_MAX, name));
	assert_string_equal(name, "");
	assert_true(history_copy_name("", 0, name));
	assert_string_equal(name, "");
}

static void gpus_are_added_by_model_and_none_is_no_model(void **state)
{
	struct history_job j;
	char model[] = "a";

	(void)state;
	history_init(&j);
	assert_int_equal(j.walltime_s, -1);
	assert_int_equal(j.mem_bytes, -1);
	assert_int_equal(j.mem_peak_bytes, -1);
	assert_int_equal(j.cpu_ms, -1);
	assert_int_equal(history_add_gpus(&j, "a", -1), -EINVAL);
	assert_int_equal(history_add_gpus(&j, "a", 0), 0);
	assert_int_equal(j.gpus.n, 0);
	for (int i = 0; i < GPUS_MODELS_MAX; i++) {
		model[0] = (char)('a' + i);
		assert_int_equal(history_add_gpus(&j, model, i + 1), 0);
	}
	assert_int_equal(history_add_gpus(&j, "z", 1), -ENOSPC);
	assert_int_equal(gpus_count(&j.gpus, "c"), 3);
}

static struct history_job fair_job(void)
{
	struct history_job j;

	history_init(&j);
	j.number = 1;
	j.submit_s = 10;
	j.start_s = 20;
	j.end_s = 30;
	j.ncpus = 1;
	return j;
}

static void a_job_is_judged_at_each_bound(void **state)
{
	static const struct {
		size_t field;
		int64_t least, most;
		int below, above;
	} of[] = {
		{ offsetof(struct history_job, number), 0, HISTORY_NUMBER_MAX,
		  HISTORY_OUT_OF_RANGE, HISTORY_OUT_OF_RANGE },
		{ offsetof(struct history_job, submit_s), 0, 20, HISTORY_OUT_OF_RANGE,
		  HISTORY_OK },
		{ offsetof(struct history_job, suspended_s), 0, 9, HISTORY_TOO_LONG_SUSPENDED,
		  HISTORY_NO_RUN_TIME },
		{ offsetof(struct history_job, start_s), 10, 29, HISTORY_OK,
		  HISTORY_NO_RUN_TIME },
		{ offsetof(struct history_job, end_s), 21, 20 + HISTORY_RUN_MAX,
		  HISTORY_NO_RUN_TIME, HISTORY_OUT_OF_RANGE },
		{ offsetof(struct history_job, ncpus), 1, HISTORY_CORES_MAX, HISTORY_NO_CORES,
		  HISTORY_OUT_OF_RANGE },
		{ offsetof(struct history_job, ngpus), 0, HISTORY_CORES_MAX,
		  HISTORY_OUT_OF_RANGE, HISTORY_OUT_OF_RANGE },
		{ offsetof(struct history_job, nodes), 0, HISTORY_CORES_MAX,
		  HISTORY_OUT_OF_RANGE, HISTORY_OUT_OF_RANGE },
		{ offsetof(struct history_job, walltime_s), -1, HISTORY_AMOUNT_MAX - 1,
		  HISTORY_OK, HISTORY_OK },
		{ offsetof(struct history_job, mem_bytes), -1, HISTORY_AMOUNT_MAX - 1,
		  HISTORY_OUT_OF_RANGE, HISTORY_OUT_OF_RANGE },
		{ offsetof(struct history_job, mem_peak_bytes), -1, HISTORY_AMOUNT_MAX - 1,
		  HISTORY_OK, HISTORY_OK },
		{ offsetof(struct history_job, cpu_ms), -1, HISTORY_AMOUNT_MAX / 1000000,
		  HISTORY_OK, HISTORY_OK },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
		struct history_job j = fair_job();
		int64_t *v = (int64_t *)((char *)&j + of[i].field);

		*v = of[i].least;
		assert_int_equal(history_judge(&j), HISTORY_OK);
		*v = of[i].most;
		assert_int_equal(history_judge(&j), HISTORY_OK);
		*v = of[i].least - 1;
		assert_int_equal(history_judge(&j), of[i].below);
		*v = of[i].most + 1;
		assert_int_equal(history_judge(&j), of[i].above);
	}
}

static void what_decides_no_charge_loses_no_job(void **state)
{
	struct history_job j = fair_job();

	(void)state;
	j.submit_s = 25;
	j.mem_peak_bytes = j.cpu_ms = j.walltime_s = j.mem_bytes = 0;
	assert_int_equal(history_judge(&j), HISTORY_OK);
	assert_int_equal(j.submit_s, 20);
	assert_int_equal(j.notes, 1U << HISTORY_NOTE_SUBMIT);
	assert_int_equal(j.mem_peak_bytes, -1); /* no process has a peak of 0 bytes */
	assert_int_equal(j.cpu_ms, -1);
	assert_int_equal(j.walltime_s, -1);
	assert_int_equal(j.mem_bytes, -1);
	j = fair_job();
	j.mem_peak_bytes = 1;
	j.cpu_ms = 0;
	assert_int_equal(history_judge(&j), HISTORY_OK);
	assert_int_equal(j.cpu_ms, 0); /* measured beside a peak */
	j = fair_job();
	j.cpu_ms = HISTORY_AMOUNT_MAX;
	assert_int_equal(history_judge(&j), HISTORY_OK);
	assert_int_equal(j.cpu_ms, -1);
	assert_int_equal(j.notes, 1U << HISTORY_NOTE_UNREADABLE);
	assert_string_equal(j.fault, "cpu time");
}

static void amounts_are_summed_by_name(void **state)
{
	static const char *const names[] = { "a", "b", "c", "d", "e" };
	struct history_amounts of = { .n = 0 };

	(void)state;
	for (size_t i = 0; i < 5; i++)
		history_add_amount(&of, (struct history_text){ names[i], 1 }, 2);
	history_add_amount(&of, (struct history_text){ "b", 1 }, 3);
	history_add_amount(&of, (struct history_text){ "a", 1 }, 0);
	history_add_amount(&of, (struct history_text){ "", 0 }, 1);
	history_add_amount(&of, (struct history_text){ "c", 1 }, INT64_MAX);
	assert_int_equal(of.n, HISTORY_AMOUNTS_MAX);
	assert_int_equal(of.of[0].n, 2);
	assert_int_equal(of.of[1].n, 5);
	assert_int_equal(of.of[2].n, HISTORY_AMOUNT_MAX);
}

static void a_job_longer_suspended_than_it_ran_is_refused(void **state)
{
	struct history_job j = fair_job();

	(void)state;
	j.suspended_s = 11;
	assert_int_equal(history_judge(&j), HISTORY_TOO_LONG_SUSPENDED);
	j.end_s = 19;
	assert_int_equal(history_judge(&j), HISTORY_ENDS_TOO_SOON);
	j = fair_job();
	j.submit_s = HISTORY_TIME_MAX - 2;
	j.start_s = HISTORY_TIME_MAX - 1;
	j.end_s = HISTORY_TIME_MAX;
	assert_int_equal(history_judge(&j), HISTORY_OK);
	j.end_s++;
	assert_int_equal(history_judge(&j), HISTORY_OUT_OF_RANGE);
}

static void numbers_are_read_whole_and_to_the_thousandth(void **state)
{
	static const struct {
		const char *text;
		int r;
		int64_t whole, thousandths;
	} of[] = {
		{ "0", 0, 0, 0 },	   { "17", 0, 17, 17000 },  { "+17", 0, 17, 17000 },
		{ "-17", 0, -17, -17000 }, { "1.5", 0, 1, 1500 },   { "-1.5", 0, -1, -1500 },
		{ "1.2345", 0, 1, 1234 },  { "1.005", 0, 1, 1005 }, { "-0.25", 0, 0, -250 },
		{ "", -22, 0, 0 },	   { "-", -22, 0, 0 },	    { "+", -22, 0, 0 },
		{ ".5", -22, 0, 0 },	   { "1.", -22, 0, 0 },	    { "1.5x", -22, 0, 0 },
		{ "1x", -22, 0, 0 },	   { "1.2.3", -22, 0, 0 },  { "1/", -22, 0, 0 },
		{ "1:", -22, 0, 0 },
	};
	int64_t n;

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
		const char *t = of[i].text;

		assert_int_equal(history_parse_int(t, strlen(t), &n), of[i].r);
		if (of[i].r == 0)
			assert_int_equal(n, of[i].whole);
		assert_int_equal(history_parse_thousandths(t, strlen(t), &n), of[i].r);
		if (of[i].r == 0)
			assert_int_equal(n, of[i].thousandths);
	}
	assert_int_equal(history_parse_int("99999999999999999999999", 23, &n), 0);
	assert_int_equal(n, HISTORY_AMOUNT_MAX);
	assert_int_equal(history_parse_int("-99999999999999999999999", 24, &n), 0);
	assert_int_equal(n, -HISTORY_AMOUNT_MAX);
	assert_int_equal(history_parse_thousandths("99999999999999999999.5", 22, &n), 0);
	assert_int_equal(n, HISTORY_AMOUNT_MAX);
	assert_int_equal(history_parse_thousandths("-99999999999999999999.5", 23, &n), 0);
	assert_int_equal(n, -HISTORY_AMOUNT_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_reason_has_a_name_of_its_own),
		cmocka_unit_test(what_decides_no_charge_loses_no_job),
		cmocka_unit_test(amounts_are_summed_by_name),
		cmocka_unit_test(numbers_end_at_the_largest_amount),
		cmocka_unit_test(a_name_is_any_bytes_but_controls),
		cmocka_unit_test(gpus_are_added_by_model_and_none_is_no_model),
		cmocka_unit_test(a_job_is_judged_at_each_bound),
		cmocka_unit_test(a_job_longer_suspended_than_it_ran_is_refused),
		cmocka_unit_test(numbers_are_read_whole_and_to_the_thousandth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
