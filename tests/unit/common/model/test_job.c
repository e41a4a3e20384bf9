/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_job.c - merging usage takes nothing back; every end has its sentence and exit code. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "common/model/job.h"

static void merging_usage_never_lowers_a_figure(void **state)
{
	struct usage a = { 0 }, b = { 0 };

	(void)state;
	usage_set(&a, &a.cpu_ns, 100);
	usage_set(&a, &a.vmem_bytes, 50);
	usage_set(&a, &a.vmem_peak_bytes, 80);
	usage_set(&b, &b.cpu_ns, 30); /* a source that restarted */
	usage_set(&b, &b.vmem_bytes, 10);
	usage_set(&b, &b.vmem_peak_bytes, 10);
	usage_set(&b, &b.read_bytes, 7);
	usage_merge(&a, &b);
	assert_int_equal(a.cpu_ns, 100);
	assert_int_equal(a.vmem_bytes, 10);
	assert_int_equal(a.vmem_peak_bytes, 80);
	assert_int_equal(a.read_bytes, 7);
	assert_true(usage_has(&a, &a.read_bytes));
	assert_false(usage_has(&a, &a.write_bytes));
}

/* merge(merge(a, b), b) = merge(a, b), for every field alone. */
static void merging_twice_changes_nothing(void **state)
{
	(void)state;
	for (size_t i = 0; usage_fields[i].name; i++)
		for (int64_t x = 0; x < 3; x++)
			for (int64_t y = 0; y < 3; y++) {
				struct usage a = { 0 }, b = { 0 }, once;
				int64_t *fa = (int64_t *)(void *)((char *)&a +
								  usage_fields[i].offset);
				int64_t *fb = (int64_t *)(void *)((char *)&b +
								  usage_fields[i].offset);

				usage_set(&a, fa, x);
				usage_set(&b, fb, y);
				usage_merge(&a, &b);
				once = a;
				usage_merge(&a, &b);
				assert_memory_equal(&a, &once, sizeof(a));
			}
}

static void cores_are_joined_by_number(void **state)
{
	struct usage a = { .n_cores = 2, .cores = { { 3, 10 }, { 5, 20 } } };
	struct usage b = { .n_cores = 2, .cores = { { 5, 15 }, { 6, 1 } } };

	(void)state;
	usage_merge(&a, &b);
	assert_int_equal(a.n_cores, 3);
	assert_int_equal(a.cores[1].ns, 20);
	assert_int_equal(a.cores[2].cpu, 6);
}

static struct job_end vmem_end(void)
{
	struct job_end e = { .kind = END_LIMIT, .exit_status = -1, .signal = 9 };

	e.reason = (struct reason){ .limit = LIMIT_VMEM,
				    .requested = 1LL << 30,
				    .reached = 1280LL << 20,
				    .at_ns = 1795255923LL * 1000000000,
				    .host = "n1",
				    .n_procs = 12,
				    .procs = { { 4711, 1LL << 30, "a\033[2Jb" } } };
	return e;
}

static void the_sentence_names_limit_host_time_and_amounts(void **state)
{
	struct job_end e = vmem_end();
	char buf[REASON_TEXT_MAX];

	(void)state;
	assert_string_equal(
		reason_format_line(&e, buf, sizeof(buf)),
		"vmem limit exceeded on n1 at 2026-11-21 10:12:03 UTC: requested 1.00 GiB, "
		"reached 1.25 GiB (+256 MiB); the job was killed.");
	reason_format(&e, buf, sizeof(buf));
	assert_non_null(strstr(buf, "     4711   1.00 GiB  a?[2Jb"));
	assert_non_null(strstr(buf, "and 2 more processes"));
	assert_null(strchr(buf, '\033'));
}

static void a_short_buffer_is_never_overrun(void **state)
{
	struct job_end e = vmem_end();
	char buf[REASON_TEXT_MAX + 1];

	(void)state;
	for (size_t n = 1; n < REASON_TEXT_MAX; n++) {
		memset(buf, 'x', sizeof(buf));
		reason_format(&e, buf, n);
		assert_true(strlen(buf) < n);
		assert_int_equal(buf[n], 'x');
	}
}

static void each_end_has_its_sentence(void **state)
{
	static const struct {
		struct job_end end;
		const char *line;
	} rows[] = {
		{ { .kind = END_NONE }, "has not ended" },
		{ { .kind = END_EXITED, .exit_status = 3 },
		  "ended by itself with exit status 3" },
		{ { .kind = END_SIGNALED, .signal = 11 },
		  "ended by signal 11 (SEGV), which Reeve did not send" },
		{ { .kind = END_SIGNALED, .signal = 99 },
		  "ended by signal 99 (unknown), which Reeve did not send" },
		{ { .kind = END_CANCELLED, .reason.text = "by ann" }, "cancelled: by ann" },
		{ { .kind = END_CANCELLED }, "cancelled" },
		{ { .kind = END_FAILED, .reason.text = "no disk" },
		  "could not be started: no disk" },
		{ { .kind = END_DEPENDENCY, .reason.text = "it failed" },
		  "never started: it failed" },
		{ { .kind = END_NODE_LOST, .reason.text = "n1" }, "lost with its node: n1" },
		{ { .kind = END_LIMIT,
		    .reason = { .limit = LIMIT_WALLTIME, .requested = 60, .reached = 61 } },
		  "walltime limit exceeded on the node at 1970-01-01 00:00:00 UTC: requested "
		  "0:01:00, reached 0:01:01 (+0:00:01); the job was killed." },
		{ { .kind = END_LIMIT,
		    .reason = { .limit = LIMIT_PIDS,
				.requested = 100,
				.reached = 100,
				.host = "n2" } },
		  "pids limit exceeded on n2 at 1970-01-01 00:00:00 UTC: requested 100, reached "
		  "100; the job was killed." },
		{ { .kind = END_LIMIT,
		    .reason = { .limit = LIMIT_MEM,
				.requested = -1,
				.reached = 5,
				.host = "n2" } },
		  "mem limit exceeded on n2 at 1970-01-01 00:00:00 UTC: requested an unknown "
		  "amount, reached 5 B; the job was killed." },
		{ { .kind = END_LIMIT,
		    .reason = { .limit = LIMIT_JOBFS,
				.requested = 20000000,
				.reached = 200000000,
				.host = "n2",
				.text = "an fallocate of 200 MB" } },
		  "jobfs limit exceeded on n2 at 1970-01-01 00:00:00 UTC: requested 20.0 MB, "
		  "reached 200 MB (+180 MB) by an fallocate of 200 MB; the job was killed." },
	};
	char buf[REASON_TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(reason_format_line(&rows[i].end, buf, sizeof(buf)),
				    rows[i].line);
}

static void no_peak_is_below_what_the_message_says_was_reached(void **state)
{
	struct job_end e = { .kind = END_LIMIT,
			     .reason = { .limit = LIMIT_MEM, .reached = 50 } };
	struct usage u = { 0 };

	(void)state;
	usage_set(&u, &u.rss_peak_bytes, 25);
	usage_set(&u, &u.mem_peak_bytes,
		  51); /* the kernel's own, with the amount that the message left out */
	job_end_raise_peaks(&e, &u);
	assert_int_equal(u.rss_peak_bytes, 50);
	assert_int_equal(u.mem_peak_bytes, 51);
	assert_false(usage_has(&u, &u.vmem_peak_bytes));
	e.reason = (struct reason){ .limit = LIMIT_VMEM, .reached = 104 };
	job_end_raise_peaks(&e, &u);
	assert_int_equal(u.vmem_peak_bytes, 104);
	e.reason = (struct reason){ .limit = LIMIT_JOBFS, .reached = -1 }; /* not known */
	job_end_raise_peaks(&e, &u);
	assert_false(usage_has(&u, &u.jobfs_peak_bytes));
	e.reason = (struct reason){ .limit = LIMIT_WALLTIME, .reached = 60 };
	job_end_raise_peaks(&e, &u);
	e = (struct job_end){ .kind = END_EXITED,
			      .reason = { .limit = LIMIT_VMEM, .reached = 999 } };
	job_end_raise_peaks(&e, &u);
	assert_int_equal(u.vmem_peak_bytes, 104);
	assert_int_equal(u.rss_peak_bytes, 50);
}

static void the_largest_processes_are_listed_and_the_rest_counted(void **state)
{
	struct job_end e = { .kind = END_LIMIT,
			     .reason = { .limit = LIMIT_MEM, .requested = 1LL << 30 } };
	char buf[REASON_TEXT_MAX];

	(void)state;
	for (int i = 0; i < REASON_PROCS_MAX; i++)
		e.reason.procs[i] = (struct reason_proc){ i + 1, -1, "abcdefghijklmno~" };
	e.reason.n_procs = REASON_PROCS_MAX;
	reason_format(&e, buf, sizeof(buf));
	assert_non_null(strstr(buf, "\n      PID       SIZE  COMMAND\n        1          -  "
				    "abcdefghijklmno~\n"));
	assert_non_null(strstr(buf, "\n       10          -  abcdefghijklmno~"));
	assert_null(strstr(buf, "more processes"));
	e.reason.n_procs++;
	assert_non_null(strstr(reason_format(&e, buf, sizeof(buf)), "and 1 more processes"));
	e.reason.n_procs = 0;
	assert_null(strstr(reason_format(&e, buf, sizeof(buf)), "PID"));
	e = (struct job_end){ .kind = END_EXITED, .reason.n_procs = 3 };
	assert_null(strchr(reason_format(&e, buf, sizeof(buf)), '\n'));
}

static void a_report_that_is_done_owns_nothing(void **state)
{
	struct report r = { .job = 7, .n_gpus = 2, .series_size = 3 };

	(void)state;
	r.gpus = calloc(2, sizeof(*r.gpus));
	r.series = calloc(1, 3);
	report_done(&r); /* the leak sanitizer sees what it leaves */
	assert_null(r.gpus);
	assert_null(r.series);
	assert_int_equal(r.n_gpus, 0);
	assert_int_equal(r.series_size, 0);
	assert_int_equal(r.job, 7);
	report_done(&r);
}

static void every_name_of_a_state_or_end_reads_back(void **state)
{
	(void)state;
	for (int i = 0; i < _JOB_STATE_MAX; i++) {
		enum job_state s = _JOB_STATE_MAX;

		assert_int_equal(job_state_parse(job_state_name((enum job_state)i), &s), 0);
		assert_int_equal(s, i);
	}
	for (int i = 0; i < _END_MAX; i++) {
		enum job_end_kind k = _END_MAX;

		assert_int_equal(
			job_end_kind_parse(job_end_kind_name((enum job_end_kind)i), &k), 0);
		assert_int_equal(k, i);
	}
	for (int i = 0; i < _LIMIT_MAX; i++) {
		enum limit_kind k = _LIMIT_MAX;

		assert_int_equal(limit_kind_parse(limit_kind_name((enum limit_kind)i), &k), 0);
		assert_int_equal(k, i);
	}
}

static void a_number_that_is_no_name_is_a_question_mark(void **state)
{
	static const int64_t none[] = { -1, 1000 };
	enum limit_kind l;

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_string_equal(job_end_kind_name((enum job_end_kind)none[i]), "?");
		assert_string_equal(limit_kind_name((enum limit_kind)none[i]), "?");
		assert_string_equal(job_state_name((enum job_state)none[i]), "?");
	}
	assert_string_equal(job_end_kind_name(_END_MAX), "?");
	assert_string_equal(limit_kind_name(_LIMIT_MAX), "?");
	assert_string_equal(job_state_name(_JOB_STATE_MAX), "?");
	assert_int_equal(limit_kind_parse("", &l), -EINVAL);
}

static void exit_codes_are_those_documented(void **state)
{
	struct job_end e = { .kind = END_EXITED, .exit_status = 7 };

	(void)state;
	assert_int_equal(job_end_exit_code(&e), 7);
	e = (struct job_end){ .kind = END_SIGNALED, .signal = 11 };
	assert_int_equal(job_end_exit_code(&e), 139);
	e = vmem_end();
	assert_int_equal(job_end_exit_code(&e), 137);
	e.reason.limit = LIMIT_WALLTIME;
	assert_int_equal(job_end_exit_code(&e), 143);
	e.kind = END_CANCELLED;
	assert_int_equal(job_end_exit_code(&e), 143);
	e.kind = END_FAILED;
	assert_int_equal(job_end_exit_code(&e), 125);
}

static void what_is_no_name_is_refused_and_changes_nothing(void **state)
{
	enum job_state s = JOB_ENDING;
	enum job_end_kind k = END_FAILED;
	enum job_desired d = _DESIRED_MAX;

	(void)state;
	for (int i = 0; i < _DESIRED_MAX; i++) {
		assert_int_equal(job_desired_parse(job_desired_name((enum job_desired)i), &d),
				 0);
		assert_int_equal(d, i);
	}
	assert_string_equal(job_desired_name(_DESIRED_MAX), "?");
	assert_string_equal(job_desired_name((enum job_desired)(int64_t)-1), "?");
	assert_int_equal(job_desired_parse("rerun", &d), -EINVAL);
	assert_int_equal(job_state_parse("QUEUED", &s), -EINVAL);
	assert_int_equal(job_end_kind_parse("", &k), -EINVAL);
	assert_true(s == JOB_ENDING && k == END_FAILED && d == _DESIRED_MAX - 1);
}

/* Of each core the larger figure; beyond USAGE_CORES_MAX none is kept apart. */
static void a_bounded_number_of_cores_is_kept_apart(void **state)
{
	struct usage a = { 0 }, b = { .n_cores = USAGE_CORES_MAX };

	(void)state;
	for (int i = 0; i < USAGE_CORES_MAX; i++)
		b.cores[i] = (struct usage_core){ 100 + i, 5 };
	usage_merge(&a, &b);
	assert_int_equal(a.n_cores, USAGE_CORES_MAX);
	assert_memory_equal(a.cores, b.cores, sizeof(a.cores));
	b.cores[0] = (struct usage_core){ 7, 9 }; /* one more core */
	b.cores[1].ns = 6;
	b.cores[2].ns = 4;
	usage_merge(&a, &b);
	assert_int_equal(a.n_cores, USAGE_CORES_MAX);
	assert_int_equal(a.cores[0].cpu, 100);
	assert_int_equal(a.cores[0].ns, 5);
	assert_int_equal(a.cores[1].ns, 6);
	assert_int_equal(a.cores[2].ns, 5);
	b.n_cores =
		USAGE_CORES_MAX + 1; /* what no usage has: read to the end of the array alone */
	usage_merge(&a, &b);
	assert_int_equal(a.n_cores, USAGE_CORES_MAX);
}

/* A number that is no figure of the struct changes nothing, and is never there. */
static void only_a_figure_is_set(void **state)
{
	struct usage u = { 0 };
	int64_t *none = (int64_t *)(void *)&u.have;

	(void)state;
	usage_set(&u, none, 1);
	assert_int_equal(u.have, 0);
	u.have = UINT64_MAX;
	assert_false(usage_has(&u, none));
	for (size_t i = 0; usage_fields[i].name; i++) {
		int64_t *at = (int64_t *)(void *)((char *)&u + usage_fields[i].offset);

		u = (struct usage){ 0 };
		usage_set(&u, at, 0);
		assert_int_equal(u.have, UINT64_C(1) << i);
		assert_true(usage_has(&u, at));
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(merging_usage_never_lowers_a_figure),
		cmocka_unit_test(merging_twice_changes_nothing),
		cmocka_unit_test(cores_are_joined_by_number),
		cmocka_unit_test(the_sentence_names_limit_host_time_and_amounts),
		cmocka_unit_test(a_short_buffer_is_never_overrun),
		cmocka_unit_test(each_end_has_its_sentence),
		cmocka_unit_test(no_peak_is_below_what_the_message_says_was_reached),
		cmocka_unit_test(the_largest_processes_are_listed_and_the_rest_counted),
		cmocka_unit_test(a_report_that_is_done_owns_nothing),
		cmocka_unit_test(every_name_of_a_state_or_end_reads_back),
		cmocka_unit_test(a_number_that_is_no_name_is_a_question_mark),
		cmocka_unit_test(exit_codes_are_those_documented),
		cmocka_unit_test(what_is_no_name_is_refused_and_changes_nothing),
		cmocka_unit_test(a_bounded_number_of_cores_is_kept_apart),
		cmocka_unit_test(only_a_figure_is_set),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
