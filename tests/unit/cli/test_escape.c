/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a user types to reeve itself: "~" and a letter at the beginning of a line, however the bytes come. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "cli/client/session/escape.h"

/* Types `text`, `step` bytes at a time. Returns what was passed on; *ret is the last action. */
static const char *pass_on(const char *text, size_t step, enum escape_action *ret)
{
	static char out[200];
	struct escape e = { .state = ESCAPE_AT_BEGINNING };
	size_t n = strlen(text), size = 0;

	*ret = ESCAPE_NONE;
	for (size_t i = 0; i < n && *ret == ESCAPE_NONE;) {
		size_t used, left = n - i < step ? n - i : step;

		size += escape_filter(&e, text + i, left, out + size, &used);
		*ret = e.action;
		assert_true(used > 0 && used <= left);
		i += used;
	}
	out[size] = '\0';
	return out;
}

static void check_typed(const char *text, const char *passed, enum escape_action action)
{
	for (size_t step = 1; step < 9; step++) {
		enum escape_action got;

		assert_string_equal(pass_on(text, step, &got), passed);
		assert_int_equal(got, action);
	}
}

static void escapes_are_found_at_the_beginning_of_a_line_alone(void **unused)
{
	(void)unused;
	check_typed("~.", "", ESCAPE_END);
	check_typed("ls\r~.", "ls\r", ESCAPE_END);
	check_typed("ls\n~d", "ls\n", ESCAPE_DETACH);
	check_typed("~?", "", ESCAPE_HELP);
	check_typed("a~.", "a~.", ESCAPE_NONE);
	check_typed("cd ~.\r", "cd ~.\r", ESCAPE_NONE);
}

static void other_tildes_are_passed_on(void **unused)
{
	(void)unused;
	check_typed("~~.", "~.", ESCAPE_NONE);
	check_typed("~alice\r", "~alice\r", ESCAPE_NONE);
	check_typed("~\r~.", "~\r", ESCAPE_END);
	check_typed("~/bin/x", "~/bin/x", ESCAPE_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(escapes_are_found_at_the_beginning_of_a_line_alone),
		cmocka_unit_test(other_tildes_are_passed_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
