/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_launch - the launcher, with this test as the agent at the other end of its socket: it runs behind its
 * seccomp filter, a sister part has nothing open and ends by a signal, and an agent that is gone before it
 * answered is asked again. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "agent/job/handshake/plan.h"
#include "agent/launch/launch.h"
#include "common/cleanup.h"
#include "common/err.h"

#define PATIENCE_MS 30000

struct scene {
	char dir[64], path[96];
	int listen_fd;
	pid_t pid; /* the launcher */
};

static int set_up(void **state)
{
	static struct scene s;
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	strcpy(s.dir, "/tmp/reeve-launch.XXXXXX");
	assert_non_null(mkdtemp(s.dir));
	snprintf(s.path, sizeof(s.path), "%s/sock", s.dir);
	strcpy(at.sun_path, s.path);
	s.listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(s.listen_fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(s.listen_fd, 4), 0);
	s.pid = fork();
	assert_true(s.pid >= 0);
	if (s.pid == 0) {
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); /* as its unit does */
		_exit(launch_main(s.path));
	}
	*state = &s;
	return 0;
}

static int tear_down(void **state)
{
	struct scene *s = *state;

	if (s->pid > 0) {
		kill(s->pid, SIGKILL);
		waitpid(s->pid, NULL, 0);
	}
	close(s->listen_fd);
	unlink(s->path);
	rmdir(s->dir);
	return 0;
}

static void wait_readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
}

static void expect_message(int fd, uint32_t type, uint32_t size)
{
	struct plan_head head;
	char data[64];

	wait_readable(fd);
	assert_int_equal(recv(fd, &head, sizeof(head), MSG_WAITALL), sizeof(head));
	assert_int_equal(head.type, type);
	assert_int_equal(head.size, size);
	assert_int_equal(recv(fd, data, size, MSG_WAITALL), size);
}

/* The talk until the launcher waits for GO. */
static int play_agent(struct scene *s)
{
	struct request q = { .res = { .ncpus = 1 } };
	struct job_plan p = { .request = &q,
			      .node = "n2",
			      .cpus = "0",
			      .deny = PLAN_DENY_PTRACE,
			      .is_sister = true };
	_cleanup_free_ char *data = NULL;
	struct err err;
	size_t size;
	int fd;

	wait_readable(s->listen_fd);
	fd = accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC);
	assert_true(fd >= 0);
	expect_message(fd, PLAN_HELLO, sizeof(uint32_t));
	assert_int_equal(job_plan_encode(&p, &data, &size, &err), 0);
	assert_int_equal(send(fd, data, size, MSG_NOSIGNAL), size);
	expect_message(fd, PLAN_OPENED, sizeof(struct plan_opened));
	return fd;
}

static void send_go(int fd)
{
	struct plan_head head = { PLAN_GO, 0 };
	char byte;

	assert_int_equal(send(fd, &head, sizeof(head), MSG_NOSIGNAL), sizeof(head));
	wait_readable(fd);
	assert_int_equal(recv(fd, &byte, 1, 0), 0); /* it has closed: it is in place */
	close(fd);
}

static void link_of(pid_t pid, const char *name, char to[static PATH_MAX])
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	n = readlink(path, to, PATH_MAX - 1);
	assert_true(n > 0);
	to[n] = '\0';
}

static void a_sister_process_stays_behind_the_filter_until_it_is_ended(void **state)
{
	struct scene *s = *state;
	char to[PATH_MAX], path[64], line[128], mode = '?';
	FILE *f;
	int status;

	send_go(play_agent(s));
	assert_int_equal(waitpid(s->pid, &status, WNOHANG), 0);
	link_of(s->pid, "fd/0", to);
	assert_string_equal(to, "/dev/null");
	link_of(s->pid, "fd/1", to);
	assert_string_equal(to, "/dev/null");
	link_of(s->pid, "cwd", to);
	assert_string_equal(to, "/");
	snprintf(path, sizeof(path), "/proc/%d/status", (int)s->pid);
	f = fopen(path, "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		sscanf(line, "Seccomp: %c", &mode);
	fclose(f);
	assert_int_equal(mode, '2');
	kill(s->pid, SIGTERM);
	assert_int_equal(waitpid(s->pid, &status, 0), s->pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	s->pid = 0;
}

static void the_launcher_asks_a_restarted_agent_again(void **state)
{
	struct scene *s = *state;
	int status;

	close(play_agent(s)); /* before its word: nothing has happened */
	send_go(play_agent(s));
	assert_int_equal(waitpid(s->pid, &status, WNOHANG), 0);
}

/* May a process behind the filter take a descriptor of another, as the processor's own call and
 * as that of its 32-bit sibling? The errno, 0: it may. */
static int take_descriptor(long (*call)(long nr, long a, long b, long c))
{
	pid_t target = fork(), pid;
	int status;

	if (!target)
		for (;;)
			pause();
	pid = fork();
	if (!pid) {
		int fd = pidfd_open(target, 0);
		struct err err;
		long r;

		if (fd < 0 || launch_seccomp(PLAN_DENY_PTRACE, &err) < 0)
			_exit(255);
		r = call(438, fd, 0, 0);
		_exit(r < 0 ? (int)-r : 0);
	}
	waitpid(pid, &status, 0);
	kill(target, SIGKILL);
	waitpid(target, NULL, 0);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static long call_native(long nr, long a, long b, long c)
{
	long r = syscall(nr, a, b, c);

	return r < 0 ? -errno : r;
}

/* The errno of io_uring behind a filter of `deny`; 0: it works. */
static int set_up_uring(uint32_t deny)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		struct err err;

		if (launch_seccomp(deny, &err) < 0)
			_exit(255);
		/* io_uring_setup() of no entries, without parameters: never a ring. */
		syscall(425, 0, NULL);
		_exit(errno);
	}
	waitpid(pid, &status, 0);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void the_filter_refuses_io_uring_where_the_kernel_side_cannot(void **unused)
{
	(void)unused;
	assert_int_equal(set_up_uring(PLAN_DENY_URING), EPERM);
	assert_int_not_equal(set_up_uring(PLAN_DENY_PTRACE), EPERM);
}

static void the_filter_refuses_descriptors_of_other_processes(void **unused)
{
	(void)unused;
	assert_int_equal(take_descriptor(call_native), EPERM);
}

#ifdef __x86_64__
static long call_32(long nr, long a, long b, long c)
{
	long r;

	__asm__ volatile("int $0x80"
			 : "=a"(r)
			 : "a"(nr), "b"(a), "c"(b), "d"(c)
			 : "memory", "r8", "r9", "r10", "r11");
	return (int)r;
}

/* A kernel without 32-bit emulation (its command line, or a confidential guest) answers the instruction with SIGSEGV. */
static bool kernel_takes_32_bit_calls(void)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		signal(SIGSEGV, SIG_DFL);
		call_32(20, 0, 0, 0); /* getpid */
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status);
}
#endif

static void the_filter_refuses_the_same_calls_in_32_bit_mode(void **unused)
{
	(void)unused;
#ifdef __x86_64__
	if (kernel_takes_32_bit_calls()) {
		assert_int_equal(take_descriptor(call_32), EPERM);
		return;
	}
#endif
	skip(); /* the kernel has no such mode */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_sister_process_stays_behind_the_filter_until_it_is_ended, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(the_launcher_asks_a_restarted_agent_again,
						set_up, tear_down),
		cmocka_unit_test(the_filter_refuses_io_uring_where_the_kernel_side_cannot),
		cmocka_unit_test(the_filter_refuses_descriptors_of_other_processes),
		cmocka_unit_test(the_filter_refuses_the_same_calls_in_32_bit_mode),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
