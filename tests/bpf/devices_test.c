/* SPDX-License-Identifier: GPL-2.0-or-later */
/* devices_test.c - of the gated device files a job opens those it was granted, by whatever way,
 * and no others; also while no agent is there and while one comes back. The devices are files
 * with the numbers of /dev/zero, /dev/full and /dev/random. Argument: PIN_DIR. */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include "agent/enforce/devices.h"
#include "tests/bpf/testjob.h"

static const struct devices_number gpu0 = { 1, 5 }, gpu1 = { 1, 7 };
static const struct devices_number both[] = { { 1, 5 }, { 1, 7 } };
static const struct devices_minors later = { 1, 8, 8 }; /* never on the list by itself */
static char dir[64], path0[96], path1[96], path2[96], link0[96];
static char jobs_path[300];
static pid_t owner;

static struct devices *open_devices(const char *pin_dir)
{
	struct devices_config config = { pin_dir, jobs_path, 16 };
	struct devices *d = NULL;
	struct err err = { "" };

	if (devices_open(&config, &d, &err) < 0) {
		printf("Bail out! devices_open: %s\n", err.text);
		exit(1);
	}
	return d;
}

static int gate_devices(struct devices *d, const struct devices_number *numbers, size_t n)
{
	struct devices_list list = { numbers, n, &later, n == 2 };
	struct err err = { "" };
	int r = devices_gate(d, &list, &err);

	if (r < 0)
		tap_note("devices_gate: %s", err.text);
	return r;
}

static int add_job(struct devices *d, const struct testjob *j,
		   const struct devices_number *granted)
{
	struct devices_job job = { j->job, j->id, granted, granted != NULL };
	struct err err = { "" };
	int r = devices_add(d, &job, &err);

	if (r < 0)
		tap_note("devices_add: %s", err.text);
	return r;
}

/* ---- what a child does: 0, or the errno of what it tried ---- */

static int try_open(void *arg)
{
	int fd = open(arg, O_RDWR | O_CLOEXEC);

	return fd < 0 ? errno : 0;
}

static int try_child(void *arg)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		_exit(try_open(arg));
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WEXITSTATUS(status);
}

static int try_mknod(void *arg)
{
	return mknod(arg, S_IFCHR | 0666, makedev(gpu0.major, gpu0.minor)) < 0 ? errno : 0;
}

static int run_in(const struct testjob *j, int (*fn)(void *), const char *path)
{
	int status = testjob_wait(testjob_run(j, fn, (void *)(uintptr_t)path));

	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void expect_open(const struct testjob *j, const char *path, int want, const char *what)
{
	int r = run_in(j, try_open, path);

	tap_ok(r == want, "%s: %s", what, r ? strerror(r) : "opened");
}

/* ---- the tests ---- */

static void test_grants(struct devices *d, const struct testjob *a, const struct testjob *b)
{
	struct testjob stray, none;

	testjob_make(&stray, "jobs/stray", 3);
	testjob_make(&none, "jobs/none", 4);
	tap_ok(add_job(d, a, &gpu0) == 0 && add_job(d, b, &gpu1) == 0 &&
		       add_job(d, &none, NULL) == 0,
	       "two jobs with a GPU each, one without");
	expect_open(a, path0, 0, "a job opens its GPU");
	expect_open(a, path1, EPERM, "and not its neighbour's");
	expect_open(b, path1, 0, "which the neighbour opens");
	expect_open(b, path0, EPERM, "but not the other");
	expect_open(&none, path0, EPERM, "a job without GPUs opens none");
	expect_open(&stray, path0, EPERM, "nor does a process of no known job");
	expect_open(&stray, "/dev/null", 0, "to which all other devices are open");
	expect_open(a, path2, EPERM, "a GPU that no list has is denied by its major number");
	tap_ok(try_open(path0) == 0 && try_open(path1) == 0,
	       "outside the jobs nothing is held");
	testjob_remove(&stray);
	testjob_remove(&none);
	devices_remove(d, none.id);
}

static void test_ways(const struct testjob *b)
{
	struct testjob below;
	char path[96];
	int fd = open(path0, O_RDWR | O_CLOEXEC);

	tap_ok(run_in(b, try_child, path0) == EPERM, "a child neither");
	expect_open(b, link0, EPERM, "nor through a symbolic link");
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), fd);
	expect_open(b, path, EPERM, "nor through /proc/PID/fd of a process that has it open");
	close(fd);
	snprintf(path, sizeof(path), "%s/own", dir);
	tap_ok(run_in(b, try_mknod, path) == EPERM,
	       "nor can root in the job make a node of it");
	snprintf(path, sizeof(path), "%s/second", dir);
	mknod(path, S_IFCHR | 0666, makedev(gpu0.major, gpu0.minor));
	expect_open(b, path, EPERM, "nor through another file of the same number");
	testjob_make(&below, "jobs/b/below", 0);
	expect_open(&below, path0, EPERM, "nor from a cgroup below the job's");
	expect_open(&below, path1, 0, "from where its own is open");
	testjob_remove(&below);
}

static void test_counts(struct devices *d, const struct testjob *a)
{
	struct devices_counts before, after;

	if (devices_read(d, a->id, &before) < 0)
		tap_ok(false, "devices_read");
	for (int i = 0; i < 5; i++)
		run_in(a, try_open, path0);
	for (int i = 0; i < 3; i++)
		run_in(a, try_open, path1);
	devices_read(d, a->id, &after);
	tap_ok(after.n_granted - before.n_granted == 5 &&
		       after.n_refused - before.n_refused == 3 &&
		       after.last_refused.minor == gpu1.minor,
	       "opens and refusals are counted by job: %d, %d",
	       (int)(after.n_granted - before.n_granted),
	       (int)(after.n_refused - before.n_refused));
}

/* As a manager does that believes the cgroup to be its own. */
static void test_others(const struct testjob *b)
{
	struct bpf_insn pass[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 1 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int prog = bpf_prog_load(BPF_PROG_TYPE_CGROUP_DEVICE, "pass", "GPL", pass, 2, NULL);
	int cgroup = open(b->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int above = open(jobs_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	tap_ok(prog >= 0 && bpf_prog_attach(prog, cgroup, BPF_CGROUP_DEVICE, 0) == 0,
	       "a program that lets all through is attached to the job's cgroup");
	expect_open(b, path0, EPERM, "the gate refuses all the same");
	bpf_prog_detach2(prog, cgroup, BPF_CGROUP_DEVICE);
	tap_ok(bpf_prog_detach(above, BPF_CGROUP_DEVICE) < 0,
	       "to detach what is above the jobs does not open the device gate");
	expect_open(b, path0, EPERM, "which refuses as before");
	close(prog);
	close(cgroup);
	close(above);
}

struct hammer {
	const char *path;
	volatile uint64_t n_opened, n_refused;
};

static int open_until_killed(void *arg)
{
	struct hammer *h = arg;

	for (;;) {
		int fd = open(h->path, O_RDWR | O_CLOEXEC);

		if (fd >= 0)
			h->n_opened++;
		else
			h->n_refused++;
		close(fd);
	}
	return 0;
}

/* The agent goes and comes again and again under two jobs that never stop to open. */
static void test_restarts(const char *pin_dir, const struct testjob *a, const struct testjob *b)
{
	struct hammer *h = testjob_shared(2 * sizeof(*h));
	uint64_t end = testjob_now_ns() + 60000000000u;
	int n_taken = 0, n_bad = 0;
	struct err err = { "" };
	pid_t pids[2];

	h[0] = (struct hammer){ .path = path0 };
	h[1] = (struct hammer){ .path = path0 };
	pids[0] = testjob_run(a, open_until_killed, &h[0]);
	pids[1] = testjob_run(b, open_until_killed, &h[1]);
	for (int i = 0; i < 30; i++) {
		struct devices *d = open_devices(pin_dir);

		n_bad += gate_devices(d, both, 2) < 0 || add_job(d, a, &gpu0) < 0 ||
			 add_job(d, b, &gpu1) < 0;
		n_taken += devices_hold(d, &err) == 1;
		devices_prune(d);
		poll(NULL, 0, 5);
		devices_close(d);
	}
	while ((h[0].n_opened <= 100 || h[1].n_refused <= 100) && testjob_now_ns() < end)
		poll(NULL, 0, 5);
	tap_ok(n_taken == 30 && !n_bad, "30 restarts take the gate over: %d %s", n_taken,
	       err.text);
	tap_ok(h[0].n_opened > 100 && h[0].n_refused == 0,
	       "the holder was refused at no moment of them (%llu opens, %llu refused)",
	       (unsigned long long)h[0].n_opened, (unsigned long long)h[0].n_refused);
	tap_ok(h[1].n_refused > 100 && h[1].n_opened == 0,
	       "the neighbour got in at no moment (%llu refused, %llu opens)",
	       (unsigned long long)h[1].n_refused, (unsigned long long)h[1].n_opened);
	for (int i = 0; i < 2; i++) {
		kill(pids[i], SIGKILL);
		testjob_wait(pids[i]);
	}
}

static void test_return(const char *pin_dir, const struct testjob *a, const struct testjob *b)
{
	struct devices_counts c = { 0 };
	struct devices *d;
	struct err err;

	expect_open(a, path0, 0, "no agent: a job opens its GPU");
	expect_open(a, path1, EPERM, "no agent: and not its neighbour's");
	d = open_devices(pin_dir);
	tap_ok(devices_hold(d, &err) == 1, "an agent that comes back takes the gate over");
	tap_ok(add_job(d, a, &gpu0) == 0, "the job is there again");
	devices_read(d, a->id, &c);
	tap_ok(c.n_granted > 100, "with the counts of before (%llu)",
	       (unsigned long long)c.n_granted);
	tap_ok(devices_prune(d) == 1, "one job of before is not there any more");
	expect_open(b, path1, EPERM, "it opens nothing");
	expect_open(a, path0, 0, "the other still does");
	devices_remove(d, a->id);
	expect_open(a, path0, EPERM, "a job that was given up opens nothing");
	tap_ok(add_job(d, a, &gpu1) == 0, "the job is granted the other GPU");
	expect_open(a, path1, 0, "that is open to it");
	expect_open(a, path0, EPERM, "the one of before is not");
	tap_ok(gate_devices(d, &gpu0, 1) == 0, "one GPU is not gated any more");
	expect_open(b, path1, 0, "it is open to all");
	expect_open(b, path2, 0, "so is what its major held");
	expect_open(b, path0, EPERM, "the other is not");
	devices_close(d);
}

static void test_anew(const char *pin_dir, struct testjob *a, const struct testjob *b)
{
	struct devices *d = open_devices(pin_dir);
	struct err err = { "" };

	devices_hold(d, &err);
	tap_ok(devices_check(d, &err) == 0, "the gate stands");
	testjob_remove(a);
	testjob_remove(b);
	rmdir(jobs_path);
	mkdir(jobs_path, 0755);
	testjob_make(a, "jobs/a", 1);
	tap_ok(devices_check(d, &err) == 1,
	       "the cgroup above the jobs is gated again when it is created again");
	expect_open(a, path0, EPERM, "and holds");
	devices_close(d);
	devices_forget(pin_dir);
	expect_open(a, path0, 0, "forgotten on purpose: nothing is held");
}

static void remove_files(void)
{
	char path[96];

	if (getpid() != owner)
		return;
	unlink(path0);
	unlink(path1);
	unlink(path2);
	unlink(link0);
	snprintf(path, sizeof(path), "%s/own", dir);
	unlink(path);
	snprintf(path, sizeof(path), "%s/second", dir);
	unlink(path);
	rmdir(dir);
}

static void make_files(void)
{
	owner = getpid();
	atexit(remove_files);
	snprintf(dir, sizeof(dir), "/dev/reeve-test-%d", (int)getpid());
	snprintf(path0, sizeof(path0), "%s/gpu0", dir);
	snprintf(path1, sizeof(path1), "%s/gpu1", dir);
	snprintf(path2, sizeof(path2), "%s/gpu2", dir);
	snprintf(link0, sizeof(link0), "%s/link", dir);
	if (mkdir(dir, 0755) < 0 || mknod(path0, S_IFCHR | 0666, makedev(1, 5)) < 0 ||
	    mknod(path1, S_IFCHR | 0666, makedev(1, 7)) < 0 ||
	    mknod(path2, S_IFCHR | 0666, makedev(1, 8)) < 0 || symlink(path0, link0) < 0) {
		printf("Bail out! device files in %s: %s\n", dir, strerror(errno));
		exit(1);
	}
}

static int print_libbpf(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	return getenv("TEST_VERBOSE") && level < LIBBPF_DEBUG ? vprintf(fmt, ap) : 0;
}

int main(int argc, char **argv)
{
	const char *pin_dir = argc > 1 && argv[1][0] ? argv[1] : NULL;
	struct testjob jobs, a, b;
	struct err err = { "" };
	struct devices *d;
	int r;

	if (!pin_dir) {
		printf("Bail out! usage: devices_test PIN_DIR\n");
		return 64;
	}
	libbpf_set_print(print_libbpf);
	testjob_root("devices");
	testjob_make(&jobs, "jobs", 0);
	snprintf(jobs_path, sizeof(jobs_path), "%s", jobs.path);
	testjob_make(&a, "jobs/a", 1);
	testjob_make(&b, "jobs/b", 2);
	make_files();
	d = open_devices(pin_dir);
	expect_open(&b, path0, 0, "before the gate holds, all is open");
	r = gate_devices(d, both, 2) < 0 ? -1 : devices_hold(d, &err);
	tap_ok(r == 0, "the gate holds: %s", r < 0 ? err.text : "attached");
	test_grants(d, &a, &b);
	test_ways(&b);
	test_counts(d, &a);
	test_others(&b);
	devices_close(d);
	test_restarts(pin_dir, &a, &b);
	test_return(pin_dir, &a, &b);
	test_anew(pin_dir, &a, &b);
	return tap_done();
}
