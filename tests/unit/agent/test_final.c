/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_final - a final record is read whole or refused, and hostile texts in it are refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "agent/enforce/final.h"
#include "common/err.h"

#define HEAD "reeve-final 1\njob 12\nattempt 3\nboot abc\nboottime_ns 7\nrealtime_ns 9\n"
#define COUNTERS                                                                               \
	"[cpu.stat]\nusage_usec 1500\nuser_usec 1000\nsystem_usec 500\nnr_periods 0\n"         \
	"[memory.peak]\n4096\n[memory.events]\nlow 0\noom 1\noom_kill 2\n"                     \
	"[pids.events]\nmax 5\n[io.stat]\n254:0 rbytes=10 wbytes=20 rios=1\n"                  \
	"254:16 rbytes=1 wbytes=2\n7:0 rbytes=100 wbytes=100\n[end]\n"

static int parse_text(const char *text, struct final *ret)
{
	struct err err;

	return final_parse(text, strlen(text), ret, &err);
}

static void a_whole_record_is_read(void **unused)
{
	struct final f;

	(void)unused;
	assert_int_equal(
		parse_text(HEAD "result oom-kill\ncode killed\nstatus KILL\n" COUNTERS, &f), 0);
	assert_int_equal(f.job, 12);
	assert_int_equal(f.attempt, 3);
	assert_int_equal(f.boottime_ns, 7);
	assert_int_equal(f.usage.cpu_ns, 1500000);
	assert_int_equal(f.usage.mem_peak_bytes, 4096);
	assert_int_equal(f.oom_kills, 2);
	assert_int_equal(f.pids_max, 5);
	assert_int_equal(f.usage.read_bytes, 11);
	assert_int_equal(f.usage.write_bytes, 22);
	assert_false(usage_has(&f.usage, &f.usage.procs_peak));
}

static void a_cut_record_is_no_record(void **unused)
{
	const char *whole = HEAD "result success\ncode exited\nstatus 0\n" COUNTERS;
	struct final f;
	struct err err;

	(void)unused;
	for (size_t n = 0; n + 1 < strlen(whole); n++)
		assert_int_equal(final_parse(whole, n, &f, &err), -EINVAL);
}

static void exit_signal_limit_and_failure_are_distinct_ends(void **unused)
{
	static const struct {
		const char *code, *status, *more;
		enum job_end_kind kind;
		int32_t exit_status, signal;
	} rows[] = {
		{ "exited", "0", "", END_EXITED, 0, 0 },
		{ "exited", "255", "", END_EXITED, 255, 0 },
		{ "exited", "256", "", END_EXITED, -1, 0 },
		{ "killed", "SEGV", "", END_SIGNALED, -1, 11 },
		{ "dumped", "ABRT", "", END_SIGNALED, -1, 6 },
		{ "killed", "KILL", "", END_SIGNALED, -1, 9 },
		{ "killed", "KILL", "[memory.events]\noom_kill 1\n", END_LIMIT, -1, 9 },
		/* An OOM that the job lived through is not its end. */
		{ "exited", "0", "[memory.events]\noom_kill 1\n", END_EXITED, 0, 0 },
		{ "killed", "NOSUCH", "", END_SIGNALED, -1, 0 },
	};
	struct job_end end;
	struct final f;
	char text[512];

	(void)unused;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		snprintf(text, sizeof(text), HEAD "result x\ncode %s\nstatus %s\n%s[end]\n",
			 rows[i].code, rows[i].status, rows[i].more);
		assert_int_equal(parse_text(text, &f), 0);
		final_end(&f, &end);
		assert_int_equal(end.kind, rows[i].kind);
		assert_int_equal(end.exit_status, rows[i].exit_status);
		assert_int_equal(end.signal, rows[i].signal);
	}
}

static void a_unit_that_could_not_be_set_up_names_the_failed_step(void **unused)
{
	struct job_end end = { 0 };
	struct final f;

	(void)unused;
	assert_int_equal(
		parse_text(HEAD "result exit-code\ncode exited\nstatus 226\n[end]\n", &f), 0);
	assert_true(final_is_setup_failure(&f, "/l", &end));
	assert_int_equal(end.kind, END_FAILED);
	assert_non_null(strstr(end.reason.text, "226"));
	assert_int_equal(
		parse_text(HEAD "result exit-code\ncode exited\nstatus 203\n[end]\n", &f), 0);
	assert_true(final_is_setup_failure(&f, "/usr/bin/l", &end));
	assert_string_equal(end.reason.text,
			    "the launcher could not be executed: /usr/bin/l (203)");
	assert_int_equal(parse_text(HEAD
				    "result exit-code\ncode exited\nstatus 125\n"
				    "failure execute the launcher /l as user 7: no\n[end]\n",
				    &f),
			 0);
	assert_true(final_is_setup_failure(&f, "/l", &end));
	assert_string_equal(end.reason.text, "cannot execute the launcher /l as user 7: no");
	assert_int_equal(
		parse_text(HEAD "result exit-code\ncode exited\nstatus 1\n[end]\n", &f), 0);
	assert_false(final_is_setup_failure(&f, "/l", &end));
}

static void hostile_texts_are_refused(void **unused)
{
	static const char *const bad[] = {
		"",
		"\n",
		"reeve-final 2\n[end]\n",
		"reeve-final 1\n[end]\n",
		"reeve-final 1\njob -1\nattempt 1\ncode exited\n[end]\n",
		"reeve-final 1\njob 99999999999999999999\nattempt 1\ncode exited\n[end]\n",
		"reeve-final 1\njob 1\nattempt 99999999999\ncode exited\n[end]\n",
		"reeve-final 1\njob 1\nattempt 1\ncode "
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n[end]\n",
	};
	struct final f;
	struct err err;
	char *big;

	(void)unused;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(parse_text(bad[i], &f), -EINVAL);
	assert_int_equal(final_parse("reeve-final 1\0[end]\n", 20, &f, &err), -EINVAL);
	big = calloc(1, FINAL_SIZE_MAX + 2);
	assert_non_null(big);
	memset(big, 'x', FINAL_SIZE_MAX + 1);
	assert_int_equal(final_parse(big, FINAL_SIZE_MAX + 1, &f, &err), -EINVAL);
	free(big);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_whole_record_is_read),
		cmocka_unit_test(a_cut_record_is_no_record),
		cmocka_unit_test(exit_signal_limit_and_failure_are_distinct_ends),
		cmocka_unit_test(a_unit_that_could_not_be_set_up_names_the_failed_step),
		cmocka_unit_test(hostile_texts_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
