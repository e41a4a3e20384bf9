/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_hooks_events - which hooks each entry of the journal is for, in which order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "controller/hooks/hooks_events.h"

static const char *events_of(struct store_happening h)
{
	static const char letters[_CONFIG_HOOK_MAX + 1] = "sSUuKEQ589AIBLR";
	static char text[HOOKS_OF_MAX + 1];
	enum config_hook of[HOOKS_OF_MAX];
	size_t n = hooks_of(&h, of);

	for (size_t i = 0; i < n; i++)
		text[i] = letters[of[i]];
	text[n] = '\0';
	return text;
}

#define WHAT(w, ...) events_of((struct store_happening){ .what = w, __VA_ARGS__ })

static void a_job_starts_once_and_goes_on(void **state)
{
	(void)state;
	assert_string_equal(WHAT("submit", .is_queued = true), "s");
	assert_string_equal(WHAT("give", .is_queued = true), "");
	assert_string_equal(WHAT("running", .has_started = true), "S");
	assert_string_equal(WHAT("suspended", .has_run = true), "U");
	assert_string_equal(WHAT("running", .has_run = true), "u");
}

static void an_end_event_comes_with_events_that_were_not_sent_before(void **state)
{
	(void)state;
	assert_string_equal(WHAT("ended", .has_run = true, .has_started = true), "E");
	assert_string_equal(WHAT("ended", .has_started = true), "SE");
	assert_string_equal(WHAT("ended"), "E"); /* could not be started */
	assert_string_equal(WHAT("ended", .has_started = true, .was_killed = true), "SKE");
	assert_string_equal(WHAT("ended", .has_run = true, .was_killed = true), "KE");
	assert_string_equal(WHAT("requeue", .is_queued = true, .has_run = true), "Q");
	assert_string_equal(WHAT("node-lost", .has_run = true, .has_started = true), "E");
}

static void a_cancel_is_an_end_in_the_queue_alone(void **state)
{
	(void)state;
	assert_string_equal(WHAT("cancel", .is_queued = true), "E");
	assert_string_equal(WHAT("cancel", .has_run = true), "");
}

static void an_event_without_a_hook_runs_no_program(void **state)
{
	(void)state;
	assert_string_equal(WHAT("gpu-idle"), "I");
	assert_string_equal(WHAT("gpu-busy"), "B");
	assert_string_equal(WHAT("allocation", .is_queued = true), "A");
	assert_string_equal(WHAT("walltime-50", .has_run = true), "5");
	assert_string_equal(WHAT("walltime-80", .has_run = true), "8");
	assert_string_equal(WHAT("walltime-90", .has_run = true), "9");
	assert_string_equal(WHAT("lost"), "L");
	assert_string_equal(WHAT("reboot"), "R");
	assert_string_equal(WHAT("register"), "");
	assert_string_equal(WHAT("weigh", .is_queued = true), "");
	assert_string_equal(WHAT(""), "");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_job_starts_once_and_goes_on),
		cmocka_unit_test(an_end_event_comes_with_events_that_were_not_sent_before),
		cmocka_unit_test(a_cancel_is_an_end_in_the_queue_alone),
		cmocka_unit_test(an_event_without_a_hook_runs_no_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
