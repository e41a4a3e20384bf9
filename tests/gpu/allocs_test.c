/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GPU memory by uprobes, on the CUDA double: the figures of a process are what it asked for, to
 * the byte. Needs the right to load BPF programs. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <time.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <cmocka.h>
#include <bpf/libbpf.h>
#include "agent/gpu/allocs.h"
#include "common/err.h"

#define LIBRARY "build/tests/gpu/libcuda.so.1"
#define HELD 64
#define REFUSED ((size_t)1 << 37)

/* What the child did, in memory that both see. */
static struct truth {
	int64_t bytes, peak, n_allocs, n_frees, pair_ns;
	volatile int stage;
} * truth;

static int (*cu_alloc)(uint64_t *p, size_t n);
static int (*cu_free)(uint64_t p);

/* Skips the test where the right to load BPF programs is missing. */
static struct allocs *open_probes(void)
{
	struct allocs *a = NULL;
	struct err err = { "" };
	int r = allocs_open(LIBRARY, &a, &err);

	if (r == -EPERM || r == -EACCES) {
		print_message("# %s\n", err.text);
		skip();
	}
	if (r < 0)
		fail_msg("%s", err.text);
	return a;
}

static void load_cuda(void)
{
	void *h = dlopen(LIBRARY, RTLD_NOW);

	if (!h)
		_exit(9);
	*(void **)&cu_alloc = dlsym(h, "cuMemAlloc_v2");
	*(void **)&cu_free = dlsym(h, "cuMemFree_v2");
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void count_truth(int64_t bytes)
{
	truth->bytes += bytes;
	truth->n_allocs += bytes > 0;
	truth->n_frees += bytes < 0;
	truth->peak = truth->bytes > truth->peak ? truth->bytes : truth->peak;
}

/* Allocates and frees at random; some are refused, and some freed pointers belong to no process. */
static void work_at_random(unsigned seed, int rounds)
{
	uint64_t held[HELD] = { 0 }, none;
	size_t size[HELD];

	for (int i = 0; i < rounds; i++) {
		int k = rand_r(&seed) % HELD;

		if (held[k]) {
			if (cu_free(held[k]) == 0)
				count_truth(-(int64_t)size[k]);
			held[k] = 0;
			continue;
		}
		size[k] = (size_t)rand_r(&seed) % (1 << 20) + 1;
		if (cu_alloc(&held[k], size[k]) == 0)
			count_truth((int64_t)size[k]);
		if (i % 16 == 0 && cu_alloc(&none, REFUSED) == 0)
			_exit(8);
	}
}

static void wait_for(int stage)
{
	struct timespec t = { 0, 1000000 };

	for (int i = 0; i < 20000 && truth->stage < stage; i++)
		nanosleep(&t, NULL);
	assert_true(truth->stage >= stage);
}

/* fn() in a process of its own, which then waits to be killed: figures end with a process. truth->stage 9:
 * fn() is done. */
static pid_t run_in_child(void (*fn)(void))
{
	pid_t pid;

	memset(truth, 0, sizeof(*truth));
	pid = fork();
	if (pid == 0) {
		fn();
		truth->stage = 9;
		pause();
		_exit(0);
	}
	return pid;
}

static void kill_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void random_child(void)
{
	load_cuda();
	work_at_random((unsigned)getpid(), 20000);
}

static void expect_truth(const struct allocs *a, pid_t pid)
{
	struct allocs_of of = { 0 };

	assert_int_equal(allocs_read(a, pid, &of), 0);
	assert_int_equal(of.bytes, truth->bytes);
	assert_int_equal(of.peak_bytes, truth->peak);
	assert_int_equal(of.n_allocs, truth->n_allocs);
	assert_int_equal(of.n_frees, truth->n_frees);
	assert_int_equal(of.n_lost, 0);
}

static bool is_not(void *ctx, pid_t pid)
{
	return pid != *(pid_t *)ctx;
}

static void allocations_are_counted_to_the_byte(void **unused)
{
	struct allocs *a = open_probes();
	struct allocs_of of;
	pid_t pid = run_in_child(random_child);

	(void)unused;
	wait_for(9);
	expect_truth(a, pid);
	assert_true(truth->n_allocs > 5000 && truth->bytes > 0);
	assert_int_equal(allocs_read(a, getpid(), &of), -ENOENT);
	kill_child(pid);
	allocs_prune(a, is_not, &pid);
	assert_int_equal(allocs_read(a, pid, &of), -ENOENT);
	allocs_close(a);
}

static void early_child(void)
{
	uint64_t before, later;

	load_cuda();
	if (cu_alloc(&before, 1000))
		_exit(8);
	truth->stage = 1;
	while (truth->stage < 2)
		usleep(1000);
	if (cu_alloc(&later, 500))
		_exit(8);
	cu_free(before);
	count_truth(500);
}

/* The library is mapped already, and the first allocation is not known. */
static void a_process_that_ran_before_is_counted_from_then_on(void **unused)
{
	pid_t pid = run_in_child(early_child);
	struct allocs *a;

	(void)unused;
	wait_for(1);
	a = open_probes();
	truth->stage = 2;
	wait_for(9);
	expect_truth(a, pid);
	kill_child(pid);
	allocs_close(a);
}

static void *allocate_in_thread(void *seed)
{
	uint64_t p;

	for (int i = 0; i < 5000; i++)
		if (cu_alloc(&p, (size_t)(uintptr_t)seed) == 0 && i % 2)
			cu_free(p);
	return NULL;
}

static void threads_child(void)
{
	pthread_t t[4];

	load_cuda();
	for (uintptr_t i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, allocate_in_thread, (void *)((i + 1) * 100));
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
}

static void threads_are_one_process(void **unused)
{
	struct allocs *a = open_probes();
	pid_t pid = run_in_child(threads_child);
	struct allocs_of of = { 0 };

	(void)unused;
	wait_for(9);
	assert_int_equal(allocs_read(a, pid, &of), 0);
	assert_int_equal(of.bytes, 2500 * (100 + 200 + 300 + 400));
	assert_int_equal(of.n_allocs, 20000);
	assert_int_equal(of.n_frees, 10000);
	assert_true(of.peak_bytes >= of.bytes);
	kill_child(pid);
	allocs_close(a);
}

/* The best of 20 rounds: other load of the machine only adds. */
static void timed_child(void)
{
	int64_t best = INT64_MAX;
	uint64_t p;

	load_cuda();
	for (int round = 0; round < 20; round++) {
		int64_t begin = now_ns();

		for (int i = 0; i < 2000; i++)
			if (cu_alloc(&p, 4096) == 0)
				cu_free(p);
		best = now_ns() - begin < best ? now_ns() - begin : best;
	}
	truth->pair_ns = best / 2000;
}

static void closed_probes_cost_nothing_and_open_ones_are_measured(void **unused)
{
	struct allocs *a;
	int64_t without, with;
	pid_t pid = run_in_child(timed_child);

	(void)unused;
	wait_for(9);
	without = truth->pair_ns;
	kill_child(pid);
	a = open_probes();
	pid = run_in_child(timed_child);
	wait_for(9);
	with = truth->pair_ns;
	kill_child(pid);
	allocs_close(a);
	pid = run_in_child(timed_child);
	wait_for(9);
	kill_child(pid);
	print_message("# a pair of cuMemAlloc and cuMemFree: %lld ns more (%lld without, %lld "
		      "after closing)\n",
		      (long long)(with - without), (long long)without,
		      (long long)truth->pair_ns);
	assert_true(truth->pair_ns < without + (with - without) / 2);
}

static void a_missing_library_is_named(void **unused)
{
	struct allocs *a = NULL;
	struct err err = { "" };

	(void)unused;
	assert_int_equal(allocs_open("/nowhere/libcuda.so.1", &a, &err), -ENOENT);
	assert_string_equal(err.text, "/nowhere/libcuda.so.1: No such file or directory");
	assert_true(allocs_open("build/tests/gpu/r535/libnvidia-ml.so.1", &a, &err) < 0);
}

static int drop_message(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	(void)level;
	(void)fmt;
	(void)ap;
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(allocations_are_counted_to_the_byte),
		cmocka_unit_test(a_process_that_ran_before_is_counted_from_then_on),
		cmocka_unit_test(threads_are_one_process),
		cmocka_unit_test(closed_probes_cost_nothing_and_open_ones_are_measured),
		cmocka_unit_test(a_missing_library_is_named),
	};

	libbpf_set_print(drop_message);
	unsetenv("REEVE_CUDA_LOADS");
	truth = mmap(NULL, sizeof(*truth), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		     -1, 0);
	if (truth == MAP_FAILED)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
