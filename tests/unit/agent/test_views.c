/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The process that keeps the namespaces of jobs (common/views/views.h), as the agent starts it, and which namespaces the agent gives it
 * (manager_open_view()). Needs root.
 */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "agent/enforce/manager/manager.h"
#include "common/cleanup.h"
#include "common/err.h"
#include "common/views/views.h"
#include "tests/unit/rig/views/views_rig.h"

#define USER 65534

static char dir[64], sock[96];
static pid_t keeper;

static int open_keeper(void **unused)
{
	(void)unused;
	strcpy(dir, "/tmp/reeve-views.XXXXXX");
	if (getuid() || !mkdtemp(dir) || chmod(dir, 0755) < 0)
		return -1;
	snprintf(sock, sizeof(sock), "%s/" VIEWS_SOCKET, dir);
	keeper = views_rig_start_keeper(sock);
	return 0;
}

static int close_keeper(void **unused)
{
	char command[128];

	(void)unused;
	views_rig_end(keeper);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command);
}

static pid_t start_main(void)
{
	return views_rig_start_main(CLONE_NEWNS | CLONE_NEWIPC, NULL);
}

static ino_t namespace_of(pid_t pid, const char *kind)
{
	struct stat st;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", pid, kind);
	assert_int_equal(stat(path, &st), 0);
	return st.st_ino;
}

static void keep_view(struct views_id id, pid_t pid)
{
	views_rig_keep(sock, id, pid);
}

static void assert_kept(struct views_id id, pid_t pid)
{
	struct views_view v = VIEWS_NONE;
	struct stat st;
	struct err err;

	if (views_open(sock, id, &v, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(fstat(v.mnt, &st), 0);
	assert_int_equal(st.st_ino, namespace_of(pid, "mnt"));
	assert_int_equal(fstat(v.ipc, &st), 0);
	assert_int_equal(st.st_ino, namespace_of(pid, "ipc"));
	views_close(&v);
}

static void assert_not_kept(struct views_id id)
{
	struct views_view v = VIEWS_NONE;
	struct err err = { "" };

	assert_int_equal(views_open(sock, id, &v, &err), -ESRCH);
	assert_non_null(strstr(err.text, "is not kept"));
}

static void await_dropped(struct views_id id)
{
	struct views_view v;

	for (int i = 0; i < VIEWS_RIG_WAITS; i++) {
		if (views_open(sock, id, &v, NULL) == -ESRCH)
			return;
		views_close(&v);
		usleep(VIEWS_RIG_WAIT_US);
	}
	fail_msg("the view of %d is still kept", (int)id.job);
}

/* ---- what must hold ---- */

static void a_view_is_kept_until_the_main_process_of_its_job_ends(void **unused)
{
	const struct views_id one = { 7, 1 }, other = { 8, 1 };
	pid_t first = start_main(), second = start_main();

	(void)unused;
	keep_view(one, first);
	keep_view(other, second);
	assert_kept(one, first);
	assert_kept(other, second);
	assert_not_kept((struct views_id){ 7, 2 });
	assert_not_kept((struct views_id){ 9, 1 });
	views_rig_end(first);
	await_dropped(one);
	assert_kept(other, second);
	views_rig_end(second);
	await_dropped(other);
}

/* From an agent that was killed before it knew that this was done. */
static void a_later_view_of_an_attempt_replaces_the_first(void **unused)
{
	const struct views_id id = { 7, 1 };
	pid_t main_pid = start_main(), later = start_main();

	(void)unused;
	keep_view(id, main_pid);
	assert_kept(id, main_pid);
	keep_view(id, later);
	assert_kept(id, later);
	views_rig_end(main_pid);
	assert_kept(id, later);
	views_rig_end(later);
	await_dropped(id);
}

static int count_descriptors(void)
{
	char path[64];
	int n = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fd", keeper);
	d = opendir(path);
	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static void many_views_are_kept_and_all_their_descriptors_closed(void **unused)
{
	const int n = 400; /* three descriptors each, and 1024 are the usual limit */
	pid_t main_pid = start_main();
	int before = count_descriptors();

	(void)unused;
	for (int i = 1; i <= n; i++)
		keep_view((struct views_id){ i, 3 }, main_pid);
	for (int i = 1; i <= n; i++)
		assert_kept((struct views_id){ i, 3 }, main_pid);
	assert_int_equal(count_descriptors(), before + 3 * n);
	views_rig_end(main_pid);
	for (int i = 1; i <= n; i++)
		await_dropped((struct views_id){ i, 3 });
	assert_int_equal(count_descriptors(), before);
}

static void only_root_reaches_it(void **unused)
{
	struct stat st;
	int status;
	pid_t pid;

	(void)unused;
	assert_int_equal(stat(sock, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	pid = fork();
	if (!pid) {
		struct views_view v;

		if (setgid(USER) < 0 || setuid(USER) < 0)
			_exit(2);
		_exit(views_open(sock, (struct views_id){ 1, 1 }, &v, NULL) == -EACCES ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void it_has_no_rights(void **unused)
{
	char path[64], text[8192] = "";
	FILE *f;

	(void)unused;
	snprintf(path, sizeof(path), "/proc/%d/status", keeper);
	f = fopen(path, "re");
	assert_non_null(f);
	assert_true(fread(text, 1, sizeof(text) - 1, f) > 0);
	fclose(f);
	assert_non_null(strstr(text, "CapEff:\t0000000000000000\n"));
	assert_non_null(strstr(text, "CapPrm:\t0000000000000000\n"));
	assert_non_null(strstr(text, "NoNewPrivs:\t1\n"));
}

static void a_second_keeper_leaves_the_first_one_alone(void **unused)
{
	pid_t main_pid = start_main(), second;
	const struct views_id id = { 7, 1 };
	int status;

	(void)unused;
	keep_view(id, main_pid);
	second = views_rig_fork_keeper(sock);
	assert_int_equal(waitpid(second, &status, 0), second);
	assert_int_equal(status, 0);
	assert_kept(id, main_pid);
	views_rig_end(main_pid);
	await_dropped(id);
}

static void a_keeper_that_was_killed_is_missed_and_replaced(void **unused)
{
	pid_t main_pid = start_main();
	const struct views_id id = { 7, 1 };
	struct views_view v = VIEWS_NONE;
	struct err err = { "" };

	(void)unused;
	keep_view(id, main_pid);
	views_rig_end(keeper);
	assert_int_equal(views_open(sock, id, &v, &err), -ECONNREFUSED);
	assert_non_null(strstr(err.text, VIEWS_NAME));
	assert_int_equal(views_keep(sock, id, &v, -1), -ECONNREFUSED);
	assert_int_equal(views_open("/nowhere", id, &v, &err), -ENOENT);
	keeper = views_rig_start_keeper(sock);
	assert_not_kept(id);
	keep_view(id, main_pid);
	assert_kept(id, main_pid);
	views_rig_end(main_pid);
	await_dropped(id);
}

static void assert_refused(int unshare_what)
{
	pid_t pid = unshare_what ? views_rig_start_main(unshare_what, NULL) : getpid();
	struct views_view v = VIEWS_NONE;
	struct err err = { "" };

	assert_int_equal(manager_open_view(pid, &v, &err), -EPERM);
	assert_int_equal(v.mnt, -1);
	if (unshare_what)
		views_rig_end(pid);
}

static void only_what_a_manager_makes_is_a_view(void **unused)
{
	(void)unused;
	assert_refused(0);
	assert_refused(CLONE_NEWIPC);
	assert_refused(CLONE_NEWUSER | CLONE_NEWNS);
	assert_refused(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWIPC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_view_is_kept_until_the_main_process_of_its_job_ends),
		cmocka_unit_test(a_later_view_of_an_attempt_replaces_the_first),
		cmocka_unit_test(many_views_are_kept_and_all_their_descriptors_closed),
		cmocka_unit_test(only_root_reaches_it),
		cmocka_unit_test(it_has_no_rights),
		cmocka_unit_test(a_second_keeper_leaves_the_first_one_alone),
		cmocka_unit_test(a_keeper_that_was_killed_is_missed_and_replaced),
		cmocka_unit_test(only_what_a_manager_makes_is_a_view),
	};

	return cmocka_run_group_tests(tests, open_keeper, close_keeper);
}
