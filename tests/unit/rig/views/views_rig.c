/* SPDX-License-Identifier: GPL-2.0-or-later */
/* views_rig.c - see views_rig.h. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "agent/enforce/manager/manager.h"
#include "common/cleanup.h"
#include "common/err.h"
#include "tests/unit/rig/views/views_rig.h"

#define LAUNCHER "build/bin/reeve-launch"

static int done = -1; /* of the last main process: a byte each time that it is done */

pid_t views_rig_fork_keeper(const char *socket)
{
	pid_t pid = fork();

	if (!pid) {
		execl(LAUNCHER, "reeve-launch", "--views", socket, NULL);
		_exit(99);
	}
	return pid;
}

pid_t views_rig_start_keeper(const char *socket)
{
	pid_t pid = views_rig_fork_keeper(socket);
	struct views_view v;
	struct err err;

	for (int i = 0; i < VIEWS_RIG_WAITS; i++) {
		if (views_open(socket, (struct views_id){ -1, 1 }, &v, &err) == -ESRCH)
			return pid;
		usleep(VIEWS_RIG_WAIT_US);
	}
	fail_msg("%s", err.text);
	return -1;
}

void views_rig_end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void enter_cgroup(const char *cgroup)
{
	char path[300];
	_cleanup_close_ int fd = -1;

	snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "0", 1) != 1)
		_exit(1);
}

static void make_inside(void)
{
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", "/mnt", "tmpfs", 0, NULL) < 0 || mkdir("/mnt/inside", 0755) < 0)
		_exit(1);
}

static void be_main(int unshare_what, const char *cgroup, int tell)
{
	sigset_t ask;
	int sig;

	sigemptyset(&ask);
	sigaddset(&ask, SIGUSR1);
	sigprocmask(SIG_BLOCK, &ask, NULL);
	if (cgroup)
		enter_cgroup(cgroup);
	if (unshare(unshare_what) < 0)
		_exit(1);
	if ((unshare_what & CLONE_NEWNS) && !(unshare_what & CLONE_NEWUSER))
		make_inside();
	if (write(tell, "", 1) != 1)
		_exit(1);
	sigwait(&ask, &sig);
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWIPC) < 0 ||
	    mount("none", "/mnt", "tmpfs", 0, NULL) < 0 || write(tell, "", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

pid_t views_rig_start_main(int unshare_what, const char *cgroup)
{
	int pair[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		be_main(unshare_what, cgroup, pair[1]);
		_exit(1);
	}
	close(pair[1]);
	assert_int_equal(read(pair[0], &byte, 1), 1);
	if (done >= 0)
		close(done);
	done = pair[0];
	return pid;
}

void views_rig_go_elsewhere(pid_t pid)
{
	char byte;

	assert_int_equal(kill(pid, SIGUSR1), 0);
	assert_int_equal(read(done, &byte, 1), 1);
}

void views_rig_keep(const char *socket, struct views_id id, pid_t pid)
{
	_cleanup_(views_close) struct views_view v = VIEWS_NONE;
	_cleanup_close_ int main_fd = pidfd_open(pid, 0);
	struct err err;
	int r = manager_open_view(pid, &v, &err);

	if (r < 0)
		fail_msg("%s", err.text);
	/* A socket's queue has few places. */
	while ((r = views_keep(socket, id, &v, main_fd)) == -EAGAIN)
		usleep(VIEWS_RIG_WAIT_US);
	assert_int_equal(r, 0);
}
