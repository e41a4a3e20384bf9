/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_stopped - when the processes of a cgroup count as stopped (manager_is_stopped()). Real processes; a folder stands in for the cgroup. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "agent/enforce/manager/manager.h"

static char dir[] = "/tmp/reeve-test-stopped-XXXXXX";
static char path[64];

static int make_dir(void **unused)
{
	(void)unused;
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/cgroup.threads", dir);
	return 0;
}

static int drop_dir(void **unused)
{
	(void)unused;
	unlink(path);
	return rmdir(dir);
}

static void list_threads(const pid_t *tids, int n)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	for (int i = 0; i < n; i++)
		fprintf(f, "%d\n", tids[i]);
	assert_int_equal(fclose(f), 0);
}

static pid_t start_sleeper(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, ") R 1 ("); /* a name that looks like a state */
	for (;;)
		pause();
}

/* Returns once the kernel has stopped it. */
static void stop_process(pid_t pid)
{
	int status;

	assert_int_equal(kill(pid, SIGSTOP), 0);
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
}

static void continue_process(pid_t pid)
{
	int status;

	assert_int_equal(kill(pid, SIGCONT), 0);
	assert_int_equal(waitpid(pid, &status, WCONTINUED), pid);
}

static void end_process(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void all_of_them_must_be_stopped(void **unused)
{
	pid_t pids[2] = { start_sleeper(), start_sleeper() };

	(void)unused;
	list_threads(pids, 2);
	assert_int_equal(manager_is_stopped(dir), 0);
	stop_process(pids[0]);
	assert_int_equal(manager_is_stopped(dir), 0);
	stop_process(pids[1]);
	assert_int_equal(manager_is_stopped(dir), 1);
	continue_process(pids[1]);
	assert_int_equal(manager_is_stopped(dir), 0);
	end_process(pids[0]);
	end_process(pids[1]);
}

static void those_that_are_gone_or_dead_count_for_nothing(void **unused)
{
	pid_t pids[2] = { start_sleeper(), start_sleeper() };
	siginfo_t info;

	(void)unused;
	list_threads(pids, 2);
	stop_process(pids[0]);
	kill(pids[1], SIGKILL);
	waitid(P_PID, (id_t)pids[1], &info, WEXITED | WNOWAIT); /* a zombie */
	assert_int_equal(manager_is_stopped(dir), 1);
	end_process(pids[1]);
	assert_int_equal(manager_is_stopped(dir), 1);
	end_process(pids[0]);
	assert_int_equal(manager_is_stopped(dir), 1);
}

static void without_processes_nothing_runs(void **unused)
{
	(void)unused;
	list_threads(NULL, 0);
	assert_int_equal(manager_is_stopped(dir), 1);
	assert_int_equal(manager_is_stopped("/nowhere"), 1);
}

/* The child of a vfork() is stopped, so its parent waits in the kernel and cannot be. */
static void a_parent_in_vfork_is_stopped_with_its_child(void **unused)
{
	int ends[2];
	pid_t pids[2] = { 0, 0 };

	(void)unused;
	assert_int_equal(pipe(ends), 0);
	pids[0] = fork();
	assert_true(pids[0] >= 0);
	if (pids[0] == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (syscall(SYS_clone, CLONE_VFORK | SIGCHLD, NULL, NULL, NULL, 0) == 0) {
			pid_t self = getpid();

			prctl(PR_SET_PDEATHSIG, SIGKILL);
			(void)!write(ends[1], &self, sizeof(self));
			for (;;)
				pause();
		}
		_exit(0);
	}
	assert_int_equal(read(ends[0], &pids[1], sizeof(pids[1])), sizeof(pids[1]));
	list_threads(pids, 2);
	assert_int_equal(manager_is_stopped(dir), 0);
	kill(pids[0], SIGSTOP);
	kill(pids[1], SIGSTOP);
	for (int i = 0; i < 500 && !manager_is_stopped(dir); i++)
		usleep(10000);
	assert_int_equal(manager_is_stopped(dir), 1);
	kill(pids[1], SIGKILL);
	end_process(pids[0]);
	close(ends[0]);
	close(ends[1]);
}

static void *run_thread(void *tid)
{
	*(volatile pid_t *)tid = (pid_t)syscall(SYS_gettid);
	for (;;)
		pause();
	return NULL;
}

static void a_thread_whose_process_has_a_dead_leader_is_seen(void **unused)
{
	int ends[2];
	pid_t tids[2] = { 0, 0 };

	(void)unused;
	assert_int_equal(pipe(ends), 0);
	tids[0] = fork();
	assert_true(tids[0] >= 0);
	if (tids[0] == 0) {
		static volatile pid_t tid;
		pthread_t t;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pthread_create(&t, NULL, run_thread, (void *)(size_t)&tid);
		while (!tid)
			usleep(1000);
		(void)!write(ends[1], (const void *)(size_t)&tid, sizeof(tid));
		syscall(SYS_exit, 0); /* the main thread alone */
	}
	assert_int_equal(read(ends[0], &tids[1], sizeof(tids[1])), sizeof(tids[1]));
	list_threads(tids, 2);
	assert_int_equal(manager_is_stopped(dir), 0);
	usleep(100000);
	assert_int_equal(manager_is_stopped(dir), 0);
	end_process(tids[0]);
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_of_them_must_be_stopped),
		cmocka_unit_test(those_that_are_gone_or_dead_count_for_nothing),
		cmocka_unit_test(without_processes_nothing_runs),
		cmocka_unit_test(a_parent_in_vfork_is_stopped_with_its_child),
		cmocka_unit_test(a_thread_whose_process_has_a_dead_leader_is_seen),
	};

	return cmocka_run_group_tests(tests, make_dir, drop_dir);
}
