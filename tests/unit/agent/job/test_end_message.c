/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The end message (agent/job/phase/end_message.h): what runs as the user for it is a program of its own, which the user can neither
 * keep nor look into. Needs root.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include "agent/job/phase/end_message.h"
#include "agent/launch/append.h"
#include "common/cleanup.h"

#define LAUNCHER "build/bin/reeve-launch"
#define USER 65534
#define LIMIT_S 2
#define PATIENCE_S 60

static char dir[64], path[96];

/* ---- a node with a job that has ended ---- */

struct world {
	struct agent_config conf;
	struct node node;
	struct job job;
};

static void make_world(struct world *w, const char *launcher)
{
	struct stat st;
	int fd;

	*w = (struct world){ .conf.launcher = (char *)(uintptr_t)launcher };
	snprintf(dir, sizeof(dir), "/tmp/reeve-end.XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/err", dir);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0 && write(fd, "before\n", 7) == 7);
	assert_int_equal(fstat(fd, &st), 0);
	close(fd);
	assert_int_equal(chown(path, USER, USER) | chown(dir, USER, USER), 0);
	assert_true(sd_event_new(&w->node.event) >= 0);
	w->node.conf = &w->conf;
	w->job.s.job = 7;
	w->job.s.request.uid = w->job.s.request.gid = USER;
	w->job.s.err_path = path;
	w->job.s.err_dev = st.st_dev;
	w->job.s.err_ino = st.st_ino;
}

static void unmake_world(struct world *w)
{
	char command[128];

	sd_event_unref(w->node.event);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	assert_int_equal(system(command), 0);
}

/* Until no child is left; it is the event loop that reaps. */
static void run_loop(struct world *w)
{
	siginfo_t si;

	while (waitid(P_ALL, 0, &si, WEXITED | WNOHANG | WNOWAIT) == 0)
		assert_true(sd_event_run(w->node.event, 100000) >= 0);
	assert_int_equal(errno, ECHILD);
}

static const char *text_of(const char *file)
{
	static char text[4096];
	_cleanup_close_ int fd = open(file, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

static void write_message(struct world *w)
{
	end_message_write(&w->node, &w->job, "walltime limit exceeded");
	run_loop(w);
}

static void the_message_is_appended_to_the_jobs_file(void **unused)
{
	struct world w;

	(void)unused;
	make_world(&w, LAUNCHER);
	write_message(&w);
	assert_string_equal(text_of(path), "before\n\nreeve: walltime limit exceeded\n");
	unmake_world(&w);
}

static void it_is_written_with_the_users_rights(void **unused)
{
	struct world w;

	(void)unused;
	make_world(&w, LAUNCHER);
	assert_int_equal(chown(path, 0, 0), 0);
	write_message(&w);
	assert_string_equal(text_of(path), "before\n");
	unmake_world(&w);
}

/* The directory is the user's. */
static void nothing_is_written_to_another_file_or_through_a_link(void **unused)
{
	char other[128];
	struct world w;
	int fd;

	(void)unused;
	make_world(&w, LAUNCHER);
	snprintf(other, sizeof(other), "%s/other", dir);
	assert_int_equal(rename(path, other), 0);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	assert_true(fd >= 0 && fchmod(fd, 0666) == 0);
	close(fd);
	write_message(&w);
	assert_string_equal(text_of(path), "");
	assert_int_equal(unlink(path) | symlink(other, path), 0);
	write_message(&w);
	assert_int_equal(unlink(path) | mkfifo(path, 0666), 0);
	write_message(&w);
	assert_string_equal(text_of(other), "before\n");
	unmake_world(&w);
}

/* A copy of the agent would have its memory, and write without any program. */
static void no_copy_of_the_agent_becomes_the_user(void **unused)
{
	struct world w;

	(void)unused;
	make_world(&w, "/nonexistent/reeve-launch");
	write_message(&w);
	assert_string_equal(text_of(path), "before\n");
	unmake_world(&w);
}

/* ---- the program ---- */

static pid_t start_program(int *ret_to)
{
	char limit[16];
	int ends[2];
	pid_t pid;

	snprintf(limit, sizeof(limit), "%d", LIMIT_S);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		dup2(ends[0], STDIN_FILENO);
		execl(LAUNCHER, LAUNCHER, "--append", limit, (char *)NULL);
		_exit(127);
	}
	close(ends[0]);
	*ret_to = ends[1];
	return pid;
}

static void write_order(const struct world *w, int to)
{
	struct append_order o = { .version = APPEND_VERSION,
				  .uid = USER,
				  .gid = USER,
				  .dev = w->job.s.err_dev,
				  .ino = w->job.s.err_ino,
				  .text = "cancelled" };

	strcpy(o.path, path);
	assert_int_equal(write(to, &o, sizeof(o)), sizeof(o));
}

/* The value of `key` in a file of /proc/PID. */
static long read_number(pid_t pid, const char *name, const char *key)
{
	char file[64], *at;

	snprintf(file, sizeof(file), "/proc/%d/%s", pid, name);
	at = strstr(text_of(file), key);
	assert_non_null(at);
	return strtol(at + strlen(key), NULL, 10);
}

/* Up to where, as the user, it is about to open the file. */
static void trace_to_open(pid_t pid)
{
	struct __ptrace_syscall_info info;
	int status;

	do {
		info = (struct __ptrace_syscall_info){ 0 };
		assert_int_equal(ptrace(PTRACE_SYSCALL, pid, 0, 0), 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSTOPPED(status));
		assert_true(ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) > 0);
	} while (read_number(pid, "status", "Uid:") != USER ||
		 info.op != PTRACE_SYSCALL_INFO_ENTRY || info.entry.nr != SYS_openat);
}

static void stop_as_user(pid_t pid)
{
	pid_t killer = fork();
	int status;

	if (killer == 0)
		_exit(setuid(USER) < 0 || kill(pid, SIGSTOP) < 0);
	assert_int_equal(waitpid(killer, &status, 0), killer);
	assert_int_equal(status, 0);
}

static void a_user_who_stops_the_program_neither_keeps_it_nor_sees_into_it(void **unused)
{
	int status, to;
	struct stat st;
	struct world w;
	char file[64];
	pid_t pid;

	(void)unused;
	make_world(&w, LAUNCHER);
	pid = start_program(&to);
	assert_int_equal(ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_TRACESYSGOOD), 0);
	assert_int_equal(ptrace(PTRACE_INTERRUPT, pid, 0, 0), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	write_order(&w, to);
	trace_to_open(pid);
	snprintf(file, sizeof(file), "/proc/%d/environ", pid);
	assert_int_equal(stat(file, &st), 0);
	assert_int_equal(st.st_uid,
			 0); /* it is the user's if the process could be traced and dumped */
	assert_int_equal(read_number(pid, "limits", "Max core file size"), 0);
	stop_as_user(pid);
	assert_int_equal(ptrace(PTRACE_DETACH, pid, 0, 0), 0);
	assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	assert_true(WIFSTOPPED(status));
	alarm(PATIENCE_S);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	alarm(0);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	close(to);
	unmake_world(&w);
}

static void an_order_that_never_comes_is_not_waited_for(void **unused)
{
	int status, to;
	pid_t pid = start_program(&to);

	(void)unused;
	alarm(PATIENCE_S);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	alarm(0);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	close(to);
}

static int block_child_signals(void **unused)
{
	sigset_t chld;

	(void)unused;
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigprocmask(SIG_BLOCK, &chld, NULL);
	if (getuid())
		fprintf(stderr, "needs root\n");
	return getuid() ? -1 : 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_message_is_appended_to_the_jobs_file),
		cmocka_unit_test(it_is_written_with_the_users_rights),
		cmocka_unit_test(nothing_is_written_to_another_file_or_through_a_link),
		cmocka_unit_test(no_copy_of_the_agent_becomes_the_user),
		cmocka_unit_test(
			a_user_who_stops_the_program_neither_keeps_it_nor_sees_into_it),
		cmocka_unit_test(an_order_that_never_comes_is_not_waited_for),
	};

	return cmocka_run_group_tests(tests, block_child_signals, NULL);
}
