/* SPDX-License-Identifier: GPL-2.0-or-later */
/* doctor_rig.h - a report of `reeve admin doctor`, and what its last finding is; included by one test each. */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "cli/admin/doctor/judge/access.h"
#include "cli/admin/doctor/judge/ledger.h"
#include "cli/admin/doctor/judge/link.h"

static struct judge_report report;

static int begin_report(void **state)
{
	(void)state;
	report = (struct judge_report){ .n = 0 };
	return 0;
}

static void report_clear(void)
{
	report.n = 0;
}

/* The only finding, or the last one. */
static const struct judge_finding *last_finding(void)
{
	assert_true(report.n > 0);
	return &report.of[report.n - 1];
}

static void assert_finding(enum judge_state state, const char *needle)
{
	assert_string_equal(judge_state_name(last_finding()->state), judge_state_name(state));
	if (!strstr(last_finding()->text, needle))
		fail_msg("'%s' lacks '%s'", last_finding()->text, needle);
	/* What is wrong has a command that mends it; what is right needs none. */
	if (state == JUDGE_FAIL || state == JUDGE_WARN)
		assert_true(*last_finding()->remedy);
	if (state == JUDGE_OK || state == JUDGE_NONE)
		assert_false(*last_finding()->remedy);
}

#define TEST(name) cmocka_unit_test_setup(name, begin_report)
