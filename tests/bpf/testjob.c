/* SPDX-License-Identifier: GPL-2.0-or-later */
/* testjob.c - makes cgroups that stand for jobs, runs children in them, prints TAP; see testjob.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "tests/bpf/testjob.h"

static int n_tests, n_bad;
static char root[128];
static pid_t root_owner;

bool tap_ok(bool good, const char *fmt, ...)
{
	va_list ap;

	printf("%sok %d - ", good ? "" : "not ", ++n_tests);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
	n_bad += !good;
	return good;
}

void tap_skip(const char *what, const char *fmt, ...)
{
	va_list ap;

	printf("ok %d - %s # SKIP ", ++n_tests, what);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
}

void tap_note(const char *fmt, ...)
{
	va_list ap;

	printf("# ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
}

int tap_done(void)
{
	printf("1..%d\n", n_tests);
	return n_bad != 0 || n_tests == 0;
}

static void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, text, strlen(text)) < 0)
		tap_note("write %s to %s: %s", text, path, strerror(errno));
	close(fd);
}

static void remove_tree(const char *path)
{
	char below[512];
	struct dirent *e;
	DIR *d = opendir(path);

	if (!d)
		return;
	while ((e = readdir(d))) {
		if (e->d_type != DT_DIR || e->d_name[0] == '.')
			continue;
		snprintf(below, sizeof(below), "%s/%s", path, e->d_name);
		remove_tree(below);
	}
	closedir(d);
	rmdir(path);
}

static void at_end(void)
{
	char file[256];

	if (getpid() != root_owner)
		return;
	snprintf(file, sizeof(file), "%s/cgroup.kill", root);
	write_text(file, "1");
	snprintf(file, sizeof(file), "%s/cgroup.freeze", root);
	write_text(file, "0");
	for (int i = 0; i < 200; i++) {
		remove_tree(root);
		if (access(root, F_OK) < 0)
			return;
		poll(NULL, 0, 5);
	}
}

const char *testjob_root(const char *test)
{
	const char *top = access("/sys/fs/cgroup/unified/cgroup.procs", F_OK) == 0
				  ? "/sys/fs/cgroup/unified"
				  : "/sys/fs/cgroup";
	char file[256];

	if (root[0])
		return root;
	snprintf(root, sizeof(root), "%s/reeve-test-%s-%d", top, test, (int)getpid());
	root_owner = getpid();
	if (mkdir(root, 0755) < 0) {
		printf("Bail out! mkdir %s: %s\n", root, strerror(errno));
		exit(1);
	}
	atexit(at_end);
	snprintf(file, sizeof(file), "%s/cgroup.subtree_control", root);
	if (access("/sys/fs/cgroup/unified", F_OK) < 0)
		write_text(file, "+cpu +memory +pids +io");
	return root;
}

void testjob_make(struct testjob *j, const char *name, int64_t job)
{
	struct stat st;

	snprintf(j->path, sizeof(j->path), "%s/%s", root, name);
	if (mkdir(j->path, 0755) < 0 || stat(j->path, &st) < 0) {
		printf("Bail out! mkdir %s: %s\n", j->path, strerror(errno));
		exit(1);
	}
	j->id = st.st_ino;
	j->job = job;
}

void testjob_remove(const struct testjob *j)
{
	testjob_kill(j);
	remove_tree(j->path);
}

pid_t testjob_run(const struct testjob *j, int (*fn)(void *arg), void *arg)
{
	int inside[2];
	pid_t pid;
	char c;

	fflush(stdout);
	if (pipe(inside) < 0)
		return -1;
	pid = fork();
	if (pid != 0) {
		close(inside[1]);
		if (read(inside[0], &c, 1) != 1)
			tap_note("a child could not enter %s", j->path);
		close(inside[0]);
		return pid;
	}
	close(inside[0]);
	if (testjob_write(j, "cgroup.procs", "0") < 0 || write(inside[1], "", 1) != 1)
		_exit(99);
	close(inside[1]);
	_exit(fn(arg));
}

void testjob_kill(const struct testjob *j)
{
	testjob_write(j, "cgroup.kill", "1");
	for (int i = 0; i < 2000 && testjob_number(j, "cgroup.events", "populated") > 0; i++)
		poll(NULL, 0, 1);
}

int testjob_write(const struct testjob *j, const char *file, const char *text)
{
	char path[512];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", j->path, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = write(fd, text, strlen(text));
	n = n < 0 ? -errno : 0;
	close(fd);
	return (int)n;
}

int testjob_read(const struct testjob *j, const char *file, char *text, size_t size)
{
	char path[512];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", j->path, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = read(fd, text, size - 1);
	close(fd);
	if (n < 0)
		return -1;
	text[n] = '\0';
	return 0;
}

int64_t testjob_number(const struct testjob *j, const char *file, const char *key)
{
	char text[8192], *at = text;
	size_t n = key ? strlen(key) : 0;

	if (testjob_read(j, file, text, sizeof(text)) < 0)
		return -1;
	while (key && (strncmp(at, key, n) || at[n] != ' ')) {
		at = strchr(at, '\n');
		if (!at || !*++at)
			return -1;
	}
	return strtoll(at + (key ? n + 1 : 0), NULL, 10);
}

int testjob_wait(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

uint64_t testjob_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void *testjob_shared(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}
