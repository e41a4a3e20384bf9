/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hardware_test - agent/gpu on this machine's first NVIDIA GPU: loads of known size and duty, and their figures. hardware.sh runs it
 * on a real GPU; run.sh on the simulated driver, which proves the test.
 *
 *	hardware_test LOAD [CUDA [NVML]]	LOAD: the program tests/gpu/load.c; CUDA: libcuda.so.1 to probe, "" for none;
 *						NVML: the driver's library, where it is not the usual one
 */
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <time.h>
#include <unistd.h>
#include <sys/wait.h>
#include <cmocka.h>
#include "agent/gpu/gpu.h"

#define MIB (1LL << 20)

static const char *load_program, *library, *cuda;
static struct gpu *g;
static int run_s = 12;

struct seen {
	struct gpu_process p;
	pid_t pid;
	bool is_there;
};

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Starts a load, and returns when it has allocated its memory. */
static pid_t start_load(const char *mib, const char *duty, const char *seconds)
{
	char line[64] = "";
	int fds[2];
	pid_t pid;
	FILE *f;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		dup2(fds[1], 1);
		execl(load_program, load_program, mib, duty, seconds, "0", (char *)NULL);
		_exit(127);
	}
	close(fds[1]);
	f = fdopen(fds[0], "r");
	assert_non_null(f);
	if (!fgets(line, sizeof(line), f) || strncmp(line, "ready", 5) != 0)
		fail_msg("the load did not start: '%s'", line);
	fclose(f);
	return pid;
}

static void kill_load(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void on_process(void *ctx, const struct gpu_process *p)
{
	for (struct seen *s = ctx; s->pid; s++)
		if (s->pid == p->pid && p->device == 0) {
			s->p = *p;
			s->is_there = true;
		}
}

/* One sample a second, as the agent takes them; the last figures of each process of `list` are in it. */
static void sample_for(struct seen *list, int seconds)
{
	for (int i = 0; i <= seconds; i++) {
		gpu_sample(g, now_ns(), on_process, list, NULL);
		if (i < seconds)
			sleep(1);
	}
}

static int open_gpu(void **unused)
{
	struct gpu_options o = { .nvml = library, .cuda = cuda };

	(void)unused;
	if (gpu_open(&o, &g, NULL) < 0)
		return -1;
	for (const char *const *n = gpu_notes(g); *n; n++)
		print_message("# note: %s\n", *n);
	return gpu_count(g) ? 0 : -1;
}

static int close_gpu(void **unused)
{
	(void)unused;
	g = gpu_close(g);
	return 0;
}

static void the_gpu_is_clean_before_the_first_load(void **unused)
{
	char text[GPU_TEXT_MAX];

	(void)unused;
	if (gpu_check_clean(g, 0, text) != 0)
		fail_msg("%s", text);
}

static void the_memory_of_a_process_is_what_its_load_allocated(void **unused)
{
	struct seen s[3] = { { .pid = start_load("1024", "0", "60") },
			     { .pid = start_load("5120", "0", "60") } };
	char text[GPU_TEXT_MAX];
	int64_t diff;

	(void)unused;
	sample_for(s, 1);
	assert_true(s[0].is_there && s[1].is_there);
	/* CUDA's own context has the same size in both: the difference is what the loads allocated. */
	diff = s[1].p.mem_bytes - s[0].p.mem_bytes;
	print_message(
		"# reported: %lld and %lld MiB, allocated 1024 and 5120: difference x%.3f\n",
		(long long)(s[0].p.mem_bytes / MIB), (long long)(s[1].p.mem_bytes / MIB),
		(double)diff / (4096.0 * MIB));
	assert_in_range(diff, 4096 * MIB * 95 / 100, 4096 * MIB * 105 / 100);
	assert_true(s[0].p.mem_bytes >= 1024 * MIB);
	assert_int_equal(gpu_check_clean(g, 0, text), 1);
	for (int i = 0; i < 2; i++) {
		if (!(s[i].p.have & GPU_HAVE_ALLOC))
			continue;
		print_message("# %s: %lld bytes\n", gpu_source(g, 0, GPU_HAVE_ALLOC),
			      (long long)s[i].p.alloc_bytes);
		assert_int_equal(s[i].p.alloc_bytes, (i ? 5120 : 1024) * MIB);
	}
	kill_load(s[0].pid);
	kill_load(s[1].pid);
}

static void two_processes_on_one_gpu_have_their_own_figures(void **unused)
{
	struct seen s[3] = { { .pid = start_load("256", "100", "60") },
			     { .pid = start_load("256", "0", "60") } };
	int64_t before[2], total, begin, passed;

	(void)unused;
	sample_for(s, 2);
	before[0] = s[0].p.busy_ns;
	before[1] = s[1].p.busy_ns;
	total = gpu_total(g, 0)->busy_ns;
	begin = now_ns();
	sample_for(s, run_s);
	passed = now_ns() - begin;
	assert_true(s[0].is_there && s[1].is_there);
	if (!(s[0].p.have & GPU_HAVE_BUSY))
		skip();
	print_message("# busy: x%.3f of the time, the idle one x%.3f, the GPU x%.3f (%s)\n",
		      (double)(s[0].p.busy_ns - before[0]) / (double)passed,
		      (double)(s[1].p.busy_ns - before[1]) / (double)passed,
		      (double)(gpu_total(g, 0)->busy_ns - total) / (double)passed,
		      gpu_source(g, 0, GPU_HAVE_BUSY));
	assert_in_range(s[0].p.busy_ns - before[0], passed * 85 / 100, passed * 110 / 100);
	assert_in_range(s[1].p.busy_ns - before[1], 0, passed * 3 / 100);
	kill_load(s[0].pid);
	kill_load(s[1].pid);
}

static void a_process_with_memory_and_no_work_has_no_busy_time(void **unused)
{
	struct seen s[2] = { { .pid = start_load("512", "0", "60") } };
	int64_t before, total;

	(void)unused;
	sample_for(s, 3);
	before = s[0].p.busy_ns;
	total = gpu_total(g, 0)->busy_ns;
	sample_for(s, 6);
	assert_true(s[0].is_there);
	assert_true(s[0].p.mem_bytes >= 512 * MIB);
	if (s[0].p.have & GPU_HAVE_BUSY)
		assert_int_equal(s[0].p.busy_ns, before);
	if (gpu_total(g, 0)->have & GPU_HAVE_BUSY)
		assert_in_range(gpu_total(g, 0)->busy_ns - total, 0, 300000000);
	kill_load(s[0].pid);
}

static void the_end_of_a_process_is_reported_and_the_gpu_is_clean_afterwards(void **unused)
{
	struct seen s[2] = { { .pid = start_load("300", "50", "2") } };
	char text[GPU_TEXT_MAX];

	(void)unused;
	sample_for(s, 1);
	assert_int_equal(waitpid(s[0].pid, NULL, 0), s[0].pid);
	sample_for(s, 3);
	assert_true(s[0].is_there);
	assert_true(s[0].p.has_ended);
	assert_true(s[0].p.mem_peak_bytes >= 300 * MIB);
	print_message("# busy %.2f s of 2 s at 50 %%, peak %lld MiB\n",
		      (double)s[0].p.busy_ns / 1e9, (long long)(s[0].p.mem_peak_bytes / MIB));
	if (gpu_check_clean(g, 0, text) != 0)
		fail_msg("%s", text);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_gpu_is_clean_before_the_first_load),
		cmocka_unit_test(the_memory_of_a_process_is_what_its_load_allocated),
		cmocka_unit_test(two_processes_on_one_gpu_have_their_own_figures),
		cmocka_unit_test(a_process_with_memory_and_no_work_has_no_busy_time),
		cmocka_unit_test(
			the_end_of_a_process_is_reported_and_the_gpu_is_clean_afterwards),
	};

	if (argc < 2)
		return 64;
	load_program = argv[1];
	cuda = argc > 2 && *argv[2] ? argv[2] : NULL;
	library = argc > 3 ? argv[3] : NULL;
	if (library) /* time there is exact */
		run_s = 4;
	return cmocka_run_group_tests(tests, open_gpu, close_gpu);
}
