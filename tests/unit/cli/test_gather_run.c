/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs that `reeve admin doctor` runs (cli/admin/doctor/gather/run.h), some of them as another user. Needs root. */
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <unistd.h>
#include <cmocka.h>
#include "cli/admin/doctor/gather/run.h"
#include "common/clock.h"
#include "common/err.h"

#define USER "daemon"
#define LIMIT_MS 500
#define PATIENCE_S 20

static struct gather_output output;
static char self[] = "/proc/self/exe";

static int run_as(const char *const *argv, const struct passwd *as)
{
	const struct gather_run run = {
		.argv = argv, .limit_ms = LIMIT_MS, .as = as, .has_errors = true
	};
	struct err err;
	int r;

	alarm(PATIENCE_S);
	r = gather_run(&run, &output, &err);
	alarm(0);
	return r;
}

static int run_script(const char *script, const struct passwd *as)
{
	const char *const argv[] = { "/bin/sh", "-c", script, NULL };

	return run_as(argv, as);
}

static void a_program_of_another_user_has_nothing_of_roots(void **unused)
{
	int fd = open("/etc/shadow", O_RDONLY); /* as a shell of root's may leave one open */
	int pid, session;

	(void)unused;
	setenv("TOKEN_OF_ROOT", "secret", 1);
	assert_int_equal(
		run_script("env; id -un; pwd; ulimit -c; ls /proc/$$/fd", getpwnam(USER)), 0);
	assert_null(strstr(output.text, "secret"));
	assert_non_null(strstr(output.text, "\nHOME=/usr/sbin\n"));
	assert_non_null(strstr(output.text, "\n" USER "\n/\n0\n0\n1\n2\n"));
	assert_string_equal(strstr(output.text, "\n0\n1\n2\n"), "\n0\n1\n2\n");
	assert_int_equal(run_script("cut -d' ' -f1,6,7 /proc/$$/stat", getpwnam(USER)), 0);
	/* It leads its session, which has no terminal. */
	assert_int_equal(sscanf(output.text, "%d %d 0\n", &pid, &session), 2);
	assert_int_equal(pid, session);
	close(fd);
}

static void output_and_status_come_back(void **unused)
{
	(void)unused;
	assert_int_equal(run_script("echo out; echo err >&2; exit 3", NULL), 0);
	assert_string_equal(output.text, "out\nerr\n");
	assert_int_equal(output.status, 3);
	assert_int_equal(run_script("kill -TERM $$", NULL), 0);
	assert_int_equal(output.status, 128 + SIGTERM);
	assert_int_equal(run_as((const char *const[]){ "no-such-program-here", NULL }, NULL),
			 -ENOENT);
}

static void the_time_limit_holds_for_one_that_closed_its_output_too(void **unused)
{
	(void)unused;
	assert_int_equal(run_script("sleep 60", NULL), -ETIMEDOUT);
	assert_int_equal(run_script("exec >&- 2>&-; sleep 60", NULL), -ETIMEDOUT);
	assert_int_equal(run_script("exec >&- 2>&-; kill -STOP $$", getpwnam(USER)),
			 -ETIMEDOUT);
}

/* In the program: another process of its user traces it, and never asks how it ended. */
static int be_traced(void)
{
	pid_t tracer;
	char byte;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return 1;
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0); /* for kernels with Yama */
	tracer = fork();
	if (tracer == 0) {
		setsid();
		alarm(5);
		if (ptrace(PTRACE_SEIZE, getppid(), 0, 0) < 0 || write(ends[1], "", 1) != 1)
			_exit(1);
		close(1);
		close(2);
		for (;;)
			pause();
	}
	if (read(ends[0], &byte, 1) != 1)
		return 1;
	close(1);
	close(2);
	for (;;)
		pause();
}

static void a_tracer_does_not_keep_the_caller(void **unused)
{
	int64_t before_ns = clock_ns(CLOCK_MONOTONIC);

	(void)unused;
	assert_int_equal(run_as((const char *const[]){ self, "traced", NULL }, getpwnam(USER)),
			 -ETIMEDOUT);
	assert_true(clock_ns(CLOCK_MONOTONIC) - before_ns < 4 * S_NS);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_program_of_another_user_has_nothing_of_roots),
		cmocka_unit_test(output_and_status_come_back),
		cmocka_unit_test(the_time_limit_holds_for_one_that_closed_its_output_too),
		cmocka_unit_test(a_tracer_does_not_keep_the_caller),
	};

	(void)argv;
	if (argc > 1)
		return be_traced();
	if (getuid() || !getpwnam(USER)) {
		fprintf(stderr, "needs root, and user " USER "\n");
		return 1;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
