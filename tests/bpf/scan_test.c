/* SPDX-License-Identifier: GPL-2.0-or-later */
/* scan_test.c - what sampling says against what the kernel's own files say, at quiet points:
 * totals to the microsecond, cores that add up, exited processes and removed sub-cgroups
 * included, and the same figures once more without BPF. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <fcntl.h>
#include <bpf/libbpf.h>
#include "agent/sample/sample.h"
#include "tests/bpf/scan/changes.h"
#include "tests/bpf/testjob.h"

#define PATIENCE_NS 60000000000u /* ends early on an idle machine */

static uint64_t cpu_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

struct work {
	int cpu;
	int ms; /* of its own time, from where it got to that cpu */
	size_t touch_bytes;
	size_t write_bytes;    /* to a file that is deleted already */
	volatile int *written; /* shared memory: set when they are in it */
	int hold;	       /* stay after the work until killed */
	const int *gate;       /* a pipe: begin when its write end is closed */
};

static void fill_page_cache(size_t bytes)
{
	char path[] = "/tmp/scan_test.XXXXXX", block[65536];
	int fd = mkstemp(path);

	memset(block, 1, sizeof(block));
	unlink(path);
	while (bytes && write(fd, block, sizeof(block)) == sizeof(block))
		bytes -= sizeof(block);
}

static int do_work(void *arg)
{
	const struct work *w = arg;
	uint64_t from;
	cpu_set_t set;
	char *p;

	if (w->cpu >= 0) {
		CPU_ZERO(&set);
		CPU_SET(w->cpu, &set);
		sched_setaffinity(0, sizeof(set), &set);
	}
	if (w->gate && (close(w->gate[1]) < 0 || read(w->gate[0], &set, 1) != 0))
		return 1;
	from = cpu_now_ns();
	if (w->touch_bytes) {
		p = mmap(NULL, w->touch_bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		memset(p, 1, w->touch_bytes);
	}
	if (w->write_bytes) {
		fill_page_cache(w->write_bytes);
		*w->written = 1;
	}
	while (cpu_now_ns() - from < (uint64_t)w->ms * 1000000u)
		getppid();
	while (w->hold)
		pause();
	return 0;
}

static struct sampler *open_sampler(const char *pin_dir, bool files_only)
{
	struct sample_config config = {
		.root = testjob_root("scan"),
		.pin_dir = pin_dir,
		.max_jobs = 64,
		.files_only = files_only,
	};
	struct sampler *s = NULL;
	struct err err = { "" };

	if (sample_open(&config, &s, &err) < 0) {
		printf("Bail out! sample_open: %s\n", err.text);
		exit(1);
	}
	return s;
}

static void add_job(struct sampler *s, const struct testjob *j)
{
	struct sample_job job = { j->job, j->id, j->path };
	struct err err = { "" };

	if (sample_add(s, &job, &err) < 0)
		tap_ok(false, "sample_add: %s", err.text);
}

static void get_sample(struct sampler *s, const struct testjob *j, struct sample *ret)
{
	struct err err = { "" };

	memset(ret, 0, sizeof(*ret));
	if (sample_one(s, j->id, ret, &err) < 0)
		tap_ok(false, "sample_one: %s", err.text);
}

static uint64_t core_sum(const struct sample *u)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < u->n_cores; i++)
		sum += u->core_ns[i];
	return sum;
}

static int64_t file_us(const struct testjob *j)
{
	return testjob_number(j, "cpu.stat", "usage_usec");
}

/* The kernel counts the last slice of a process a moment after its parent could wait for it;
 * when the file has said the same for long, nothing is left to count. */
static int64_t quiet_us(const struct testjob *j)
{
	uint64_t end = testjob_now_ns() + PATIENCE_NS;
	int64_t us = file_us(j), now;

	for (int calm = 0; calm < 20 && testjob_now_ns() < end; us = now) {
		poll(NULL, 0, 10);
		now = file_us(j);
		calm = now == us ? calm + 1 : 0;
	}
	return us;
}

static void check_cpu(struct sampler *s, const struct testjob *j, const char *when)
{
	uint64_t end = testjob_now_ns() + PATIENCE_NS;
	int64_t us;
	struct sample u;

	do {
		us = quiet_us(j);
		get_sample(s, j, &u);
	} while (file_us(j) != us && testjob_now_ns() < end);
	tap_ok(u.have & SAMPLE_CPU && u.cpu_ns / 1000 == (uint64_t)us,
	       "%s: on-cpu total is cpu.stat's: %llu us, file %lld us", when,
	       (unsigned long long)u.cpu_ns / 1000, (long long)us);
	tap_ok(u.cpu_user_ns + u.cpu_system_ns == u.cpu_ns, "%s: user and system add up", when);
	if (!(u.have & SAMPLE_CPU_CORES)) {
		tap_skip("cores add up", "no per-core figures here");
		return;
	}
	tap_ok(core_sum(&u) == u.cpu_ns, "%s: %u cores add up to the total", when, u.n_cores);
}

static void test_cpu(struct sampler *s)
{
	struct work a = { .cpu = 0, .ms = 120 }, b = { .cpu = 1, .ms = 60 };
	struct testjob j, sub;
	struct sample u;
	pid_t pids[3];

	testjob_make(&j, "cpu", 1);
	testjob_make(&sub, "cpu/sub", 0);
	add_job(s, &j);
	pids[0] = testjob_run(&j, do_work, &a);
	pids[1] = testjob_run(&j, do_work, &b);
	pids[2] = testjob_run(&sub, do_work, &b);
	for (int i = 0; i < 3; i++)
		testjob_wait(pids[i]);
	check_cpu(s, &j, "exited");
	get_sample(s, &j, &u);
	/* 120 ms each, at least half of it. A core that wakes a task on another one books what
	 * ran there since the last tick as its own: so does the kernel, so the figures do. */
	if (u.have & SAMPLE_CPU_CORES)
		tap_ok(u.core_ns[0] >= 60000000u && u.core_ns[1] >= 60000000u,
		       "the cores that were worked on have the time: %llu and %llu us",
		       (unsigned long long)u.core_ns[0] / 1000,
		       (unsigned long long)u.core_ns[1] / 1000);
	testjob_remove(&sub);
	check_cpu(s, &j, "sub-cgroup removed");
	sample_remove(s, j.id);
	testjob_remove(&j);
}

static void *idle_thread(void *arg)
{
	while (pause() < 0)
		;
	return arg;
}

static int with_threads(void *arg)
{
	pthread_t t;

	for (int i = 0; i < 3; i++)
		pthread_create(&t, NULL, idle_thread, NULL);
	*(volatile int *)arg = 1;
	while (pause() < 0)
		;
	return 0;
}

static void test_tasks(struct sampler *s)
{
	volatile int *up =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct testjob j;
	struct sample u;
	int64_t now, peak;
	pid_t pid;

	testjob_make(&j, "tasks", 2);
	add_job(s, &j);
	pid = testjob_run(&j, with_threads, (void *)(uintptr_t)up);
	while (!*up)
		sched_yield();
	get_sample(s, &j, &u);
	if (u.have & SAMPLE_PROCS)
		tap_ok(u.procs == 1, "one process with four threads is one: %llu",
		       (unsigned long long)u.procs);
	now = testjob_number(&j, "pids.current", NULL);
	peak = testjob_number(&j, "pids.peak", NULL);
	if (now < 0)
		tap_skip("tasks", "the pids controller is not on here");
	else
		tap_ok(u.tasks == 4 && now == 4, "and four tasks: %llu, pids.current %lld",
		       (unsigned long long)u.tasks, (long long)now);
	if (peak >= 0)
		tap_ok(u.tasks_peak == (uint64_t)peak, "the peak is pids.peak");
	testjob_kill(&j);
	testjob_wait(pid); /* the pids controller counts a process until it is reaped */
	get_sample(s, &j, &u);
	if (u.have & SAMPLE_TASKS)
		tap_ok(u.tasks == 0 && u.tasks_peak == 4,
		       "all gone: none now, peak stays 4: %llu",
		       (unsigned long long)u.tasks_peak);
	sample_remove(s, j.id);
	testjob_remove(&j);
}

static bool is_near(uint64_t a, int64_t b, uint64_t slack)
{
	return b >= 0 && (a > (uint64_t)b ? a - (uint64_t)b : (uint64_t)b - a) <= slack;
}

/* A figure, and the file's at the time: when that said the same before and after. */
static int64_t get_beside(struct sampler *s, const struct testjob *j, const char *const *file,
			  struct sample *ret)
{
	uint64_t end = testjob_now_ns() + PATIENCE_NS;
	int64_t before, after;

	do {
		before = testjob_number(j, file[0], file[1]);
		get_sample(s, j, ret);
		after = testjob_number(j, file[0], file[1]);
	} while (before != after && testjob_now_ns() < end);
	return after;
}

static void check_memory(struct sampler *s, const struct testjob *j)
{
	static const struct {
		const char *name, *file[2];
		size_t at;
		uint32_t have;
		uint64_t slack_kib;
	} figures[] = {
#define FIGURE(member) offsetof(struct sample, member)
		{ "memory now is memory.current",
		  { "memory.current" },
		  FIGURE(mem_bytes),
		  SAMPLE_MEM,
		  256 },
		{ "peak is memory.peak",
		  { "memory.peak" },
		  FIGURE(mem_peak_bytes),
		  SAMPLE_MEM_PEAK,
		  0 },
		{ "anonymous is memory.stat's",
		  { "memory.stat", "anon" },
		  FIGURE(anon_bytes),
		  SAMPLE_MEM_PARTS,
		  256 },
		{ "file is memory.stat's",
		  { "memory.stat", "file" },
		  FIGURE(file_bytes),
		  SAMPLE_MEM_PARTS,
		  256 },
		{ "kernel is memory.stat's",
		  { "memory.stat", "kernel" },
		  FIGURE(kernel_bytes),
		  SAMPLE_MEM_KERNEL,
		  32 },
#undef FIGURE
	};

	for (size_t i = 0; i < sizeof(figures) / sizeof(*figures); i++) {
		struct sample u;
		int64_t wanted = get_beside(s, j, figures[i].file, &u);
		uint64_t value = *(uint64_t *)((char *)&u + figures[i].at);
		bool has = u.have & figures[i].have;

		if (wanted < 0 || (!has && figures[i].have == SAMPLE_MEM_KERNEL))
			tap_skip(figures[i].name, "not on this kernel");
		else
			tap_ok(has && is_near(value, wanted, figures[i].slack_kib << 10),
			       "%s: %llu, %lld", figures[i].name, (unsigned long long)value,
			       (long long)wanted);
	}
}

static void test_memory(struct sampler *s)
{
	struct work w = { .cpu = -1, .ms = 1, .touch_bytes = 32 << 20, .hold = 1 };
	uint64_t end = testjob_now_ns() + PATIENCE_NS;
	struct testjob j;
	struct sample u;

	testjob_make(&j, "mem", 3);
	add_job(s, &j);
	get_sample(s, &j, &u);
	tap_ok(!(u.have & (SAMPLE_RSS | SAMPLE_PROCS)),
	       "resident memory is unknown, not 0, before a process was seen");
	testjob_run(&j, do_work, &w);
	do
		get_sample(s, &j, &u);
	while ((!(u.have & SAMPLE_RSS) || u.rss_bytes < w.touch_bytes) &&
	       testjob_now_ns() < end);
	if (u.have & SAMPLE_RSS)
		tap_ok(u.rss_bytes >= w.touch_bytes && u.rss_bytes < (36u << 20) &&
			       u.rss_peak_bytes >= u.rss_bytes,
		       "32 MiB touched are resident: %llu KiB",
		       (unsigned long long)u.rss_bytes >> 10);
	if (u.have & SAMPLE_FAULTS)
		tap_ok(u.minor_faults >= (32 << 20) / 2097152u, "they were faulted in: %llu",
		       (unsigned long long)u.minor_faults);
	if (testjob_number(&j, "memory.current", NULL) < 0)
		tap_skip("memory", "the memory controller is not on here");
	else
		check_memory(s, &j);
	sample_remove(s, j.id);
	testjob_remove(&j);
}

/* The cache of a file counts as the job's memory in the kernel's books, and not as memory that it needs: the advice
 * of `reeve eff` is computed from the resident memory. */
static void test_page_cache(struct sampler *s)
{
	struct work w = { .cpu = -1, .ms = 1, .write_bytes = 64 << 20, .hold = 1 };
	uint64_t end = testjob_now_ns() + PATIENCE_NS;
	struct testjob j;
	struct sample u;

	w.written = mmap(NULL, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			 -1, 0);
	testjob_make(&j, "cache", 4);
	add_job(s, &j);
	testjob_run(&j, do_work, &w);
	while (!*w.written && testjob_now_ns() < end)
		sched_yield();
	get_sample(s, &j, &u);
	if (u.have & SAMPLE_RSS)
		tap_ok(*w.written && u.rss_peak_bytes > 0 && u.rss_peak_bytes < 16u << 20,
		       "64 MiB written to a file are no resident memory: peak %llu KiB",
		       (unsigned long long)u.rss_peak_bytes >> 10);
	if (u.have & SAMPLE_MEM_PARTS)
		tap_ok(u.file_bytes >= w.write_bytes,
		       "though they are in the page cache: %llu KiB",
		       (unsigned long long)u.file_bytes >> 10);
	sample_remove(s, j.id);
	testjob_remove(&j);
	munmap((void *)w.written, sizeof(int));
}

/* Two processes on one core, from one moment on: while one runs the other waits. */
static void test_run_delay(struct sampler *s)
{
	struct work w = { .cpu = 0, .ms = 100 };
	struct testjob j;
	struct sample u;
	uint64_t start;
	int gate[2];
	pid_t a, b;

	testjob_make(&j, "delay", 4);
	add_job(s, &j);
	start = testjob_now_ns();
	if (pipe(gate) < 0)
		tap_ok(false, "pipe: %s", strerror(errno));
	w.gate = gate;
	a = testjob_run(&j, do_work, &w);
	b = testjob_run(&j, do_work, &w);
	close(gate[0]);
	close(gate[1]);
	testjob_wait(a);
	testjob_wait(b);
	start = testjob_now_ns() - start;
	get_sample(s, &j, &u);
	if (!(u.have & SAMPLE_RUN_DELAY))
		tap_skip("run delay", "needs BPF");
	else
		tap_ok(u.run_delay_ns > 60000000u && u.run_delay_ns < 2 * start,
		       "exited processes' wait for a core is kept: %llu ms of %llu ms",
		       (unsigned long long)u.run_delay_ns / 1000000u,
		       (unsigned long long)start / 1000000u);
	sample_remove(s, j.id);
	testjob_remove(&j);
}

static void test_gone(struct sampler *s)
{
	struct work w = { .cpu = 0, .ms = 50 };
	struct testjob j;
	struct sample u;
	int64_t us;

	testjob_make(&j, "gone", 5);
	add_job(s, &j);
	testjob_wait(testjob_run(&j, do_work, &w));
	us = quiet_us(&j);
	testjob_remove(&j); /* never sampled while it lived */
	get_sample(s, &j, &u);
	tap_ok(u.gone, "a removed cgroup is no error but gone");
	if (sample_tier(s) == 1)
		tap_ok(u.cpu_ns / 1000 == (uint64_t)us,
		       "its last slice is counted although it was never sampled: %llu, %lld us",
		       (unsigned long long)u.cpu_ns / 1000, (long long)us);
	sample_remove(s, j.id);
}

static void test_restart(const char *pin_dir)
{
	struct work w = { .cpu = 0, .ms = 80 };
	struct testjob j;
	struct sampler *s;
	struct sample u;

	if (!pin_dir) {
		tap_skip("restart", "no bpffs to pin in");
		return;
	}
	testjob_make(&j, "restart", 6);
	s = open_sampler(pin_dir, false);
	add_job(s, &j);
	testjob_wait(testjob_run(&j, do_work, &w));
	get_sample(s, &j, &u);
	sample_close(s);
	w.ms = 30;
	testjob_wait(testjob_run(&j, do_work, &w)); /* while no sampler is there */
	s = open_sampler(pin_dir, false);
	add_job(s, &j);
	check_cpu(s, &j, "after a restart");
	{
		struct sample v;

		get_sample(s, &j, &v);
		tap_ok(v.minor_faults > u.minor_faults && v.run_delay_ns >= u.run_delay_ns,
		       "faults and delay of those that exited meanwhile are kept: %llu > %llu",
		       (unsigned long long)v.minor_faults, (unsigned long long)u.minor_faults);
	}
	sample_remove(s, j.id);
	sample_close(s);
	testjob_remove(&j);
}

static int write_file(void *arg)
{
	static char buf[1 << 20];
	int fd = open(arg, O_CREAT | O_WRONLY | O_TRUNC, 0600);

	for (int i = 0; fd >= 0 && i < 8; i++)
		if (write(fd, buf, sizeof(buf)) < 0)
			return 1;
	return fd < 0 || fsync(fd) < 0;
}

/* The sum over all devices of what io.stat calls wbytes; -1: there is no such file. */
static int64_t file_written(const struct testjob *j)
{
	char text[4096], *at = text;
	int64_t sum = 0;

	if (testjob_read(j, "io.stat", text, sizeof(text)) < 0)
		return -1;
	while ((at = strstr(at, "wbytes=")))
		sum += strtoll(at += strlen("wbytes="), NULL, 10);
	return sum;
}

static void check_written(struct sampler *s, const struct testjob *j)
{
	uint64_t end = testjob_now_ns() + PATIENCE_NS;
	int64_t before, after;
	struct sample u;

	do { /* until nothing is on its way to the disk */
		before = file_written(j);
		get_sample(s, j, &u);
		after = file_written(j);
	} while (before != after && testjob_now_ns() < end);
	tap_ok(u.have & SAMPLE_IO && u.written_bytes >= 8 << 20, "and counted: %llu",
	       (unsigned long long)u.written_bytes);
	tap_ok(u.written_bytes == (uint64_t)after, "to the byte as in io.stat: %lld",
	       (long long)after);
}

static void test_io(struct sampler *s, const char *disk_dir)
{
	char path[256];
	struct testjob j;

	testjob_make(&j, "io", 7);
	add_job(s, &j);
	if (!disk_dir || file_written(&j) < 0) {
		tap_skip("block I/O", "no disk or no io controller here");
	} else {
		/* a file of its own: the kernel writes an inode back for the cgroup that
		 * made it dirty first */
		snprintf(path, sizeof(path), "%s/file-%d", disk_dir, sample_tier(s));
		tap_ok(testjob_wait(testjob_run(&j, write_file, path)) == 0, "8 MiB written");
		check_written(s, &j);
		unlink(path);
	}
	sample_remove(s, j.id);
	testjob_remove(&j);
}

static int print_libbpf(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	return getenv("TEST_VERBOSE") && level < LIBBPF_DEBUG ? vprintf(fmt, ap) : 0;
}

int main(int argc, char **argv)
{
	const char *pin_dir = argc > 1 && argv[1][0] ? argv[1] : NULL;
	const char *disk_dir = argc > 2 ? argv[2] : NULL;
	struct sampler *s;

	libbpf_set_print(print_libbpf);
	testjob_root("scan");
	for (int files_only = 0; files_only < 2; files_only++) {
		s = open_sampler(NULL, files_only);
		tap_note("tier %d", sample_tier(s));
		if (!files_only)
			tap_ok(sample_tier(s) == 1, "BPF reads the figures: %s",
			       sample_status(s));
		test_cpu(s);
		test_tasks(s);
		test_memory(s);
		test_page_cache(s);
		scan_changes_test(s);
		test_run_delay(s);
		test_gone(s);
		test_io(s, disk_dir);
		printf("# status: %s\n", sample_status(s));
		sample_close(s);
	}
	test_restart(pin_dir);
	return tap_done();
}
