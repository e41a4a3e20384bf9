/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpuwork_test.c - launches and GPU jobs are counted for the job that made them, and for no
 * other. Launches: functions of the CUDA library's names in this very file, probed. GPU jobs: no
 * card is needed, for the programs are run by hand with what the tracepoints would give them;
 * where the scheduler's module is there, they are attached to it as well. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/bpf.h>
#include <bpf/bpf.h>
#include "agent/sample/gpuwork.h"
#include "tests/bpf/testjob.h"

#define ROUNDS 20000
#define SECOND_NS 1000000000ull

int cuLaunchKernel(int n);
int cuGraphLaunch(int n);

__attribute__((noinline)) int cuLaunchKernel(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n;
}

__attribute__((noinline)) int cuGraphLaunch(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

static int launch_kernels(void *arg)
{
	uint64_t *ns = arg, start = testjob_now_ns();

	for (int i = 0; i < ROUNDS; i++)
		cuLaunchKernel(i);
	*ns = testjob_now_ns() - start;
	for (int i = 0; i < 7; i++)
		cuGraphLaunch(i);
	return 0;
}

/* ---- the tracepoints' programs, by hand ---- */

static int open_program(const char *name)
{
	__u32 id = 0, size;

	while (bpf_prog_get_next_id(id, &id) == 0) {
		struct bpf_prog_info info = { 0 };
		int fd = bpf_prog_get_fd_by_id(id);

		size = sizeof(info);
		if (fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &size) == 0 &&
		    !strcmp(info.name, name))
			return fd;
		if (fd >= 0)
			close(fd);
	}
	return -1;
}

static int fd_queue, fd_run, fd_done;

static void set_gpu_job(int fd, uint64_t gpu_job)
{
	uint64_t args[2] = { gpu_job, 0 };
	LIBBPF_OPTS(bpf_test_run_opts, o, .ctx_in = args, .ctx_size_in = sizeof(args));

	if (bpf_prog_test_run_opts(fd, &o) < 0)
		exit(3);
}

static int queue_two(void *arg)
{
	(void)arg;
	set_gpu_job(fd_queue, 0x1000);
	set_gpu_job(fd_queue, 0x2000);
	return 0;
}

static int queue_other(void *arg)
{
	(void)arg;
	set_gpu_job(fd_queue, 0x3000);
	return 0;
}

static struct gpuwork_counts counts_of(struct gpuwork *g, const struct testjob *j)
{
	struct gpuwork_counts c = { 0 };

	tap_ok(gpuwork_read(g, j->id, &c) == 0, "job %lld is there", (long long)j->job);
	return c;
}

static void check_sched(struct gpuwork *g, const struct testjob *a, const struct testjob *b)
{
	struct gpuwork_counts c;
	uint64_t start;

	testjob_wait(testjob_run(a, queue_two, NULL));
	testjob_wait(testjob_run(b, queue_other, NULL));
	set_gpu_job(fd_queue, 0x4000); /* of no job */
	start = testjob_now_ns();
	set_gpu_job(fd_run, 0x1000);
	set_gpu_job(fd_run, 0x4000);
	usleep(20000);
	set_gpu_job(fd_run, 0x2000); /* they overlap */
	usleep(20000);
	set_gpu_job(fd_done, 0x1000);
	usleep(20000);
	set_gpu_job(fd_done, 0x2000);
	start = testjob_now_ns() - start;
	set_gpu_job(fd_done, 0x4000);
	set_gpu_job(fd_done, 0x5000); /* begun before anybody counted */
	c = counts_of(g, a);
	tap_ok(c.n_run == 2, "its GPU jobs are counted: %llu", (unsigned long long)c.n_run);
	tap_ok(c.busy_ns >= 60000000 && c.busy_ns <= start,
	       "time with one there at least, once where they overlap: %llu ns of %llu",
	       (unsigned long long)c.busy_ns, (unsigned long long)start);
	set_gpu_job(fd_done, 0x2000);
	set_gpu_job(fd_run, 0x1000); /* handed over once */
	c = counts_of(g, a);
	tap_ok(c.n_run == 2 && c.busy_ns <= start, "each of them once");
	c = counts_of(g, b);
	tap_ok(c.n_run == 0 && c.busy_ns == 0, "queued is not run");
	set_gpu_job(fd_run, 0x3000);
	c = counts_of(g, b);
	tap_ok(c.n_run == 1 && c.busy_ns == 0, "nor is run done");
}

static struct gpuwork *open_all(const char *pin_dir)
{
	struct gpuwork_config config = { .pin_dir = pin_dir,
					 .libcuda = "/proc/self/exe",
					 .has_sched = true,
					 .job_is_fence = true };
	struct gpuwork *g = NULL;
	struct err err = { "" };

	if (gpuwork_open(&config, &g, &err) < 0) {
		tap_ok(false, "open: %s", err.text);
		exit(tap_done());
	}
	fd_queue = open_program("gpuwork_queue");
	fd_run = open_program("gpuwork_run");
	fd_done = open_program("gpuwork_done");
	return g;
}

static void close_all(struct gpuwork *g)
{
	gpuwork_close(g);
	close(fd_queue);
	close(fd_run);
	close(fd_done);
}

static void check_return(const char *pin_dir, const struct testjob *a, const struct testjob *b)
{
	struct gpuwork *g = open_all(pin_dir);
	struct gpuwork_counts c;
	uint64_t busy_ns;

	tap_ok(gpuwork_add(g, a->id, a->job) == 0, "another agent takes the job over");
	c = counts_of(g, a);
	tap_ok(c.launches == ROUNDS + 7 && c.n_run == 2, "with what was counted");
	busy_ns = c.busy_ns;
	tap_ok(gpuwork_prune(g) == 1, "one that is gone is dropped");
	tap_ok(gpuwork_add(g, b->id, b->job) == 0, "and may come again");
	set_gpu_job(fd_done, 0x3000); /* in flight when the first agent went */
	testjob_wait(testjob_run(a, queue_two, NULL));
	set_gpu_job(fd_run, 0x1000);
	set_gpu_job(fd_done, 0x1000);
	c = counts_of(g, a);
	tap_ok(c.n_run == 3 && c.busy_ns > busy_ns && c.busy_ns < busy_ns + 10 * SECOND_NS,
	       "it goes on from there");
	c = counts_of(g, b);
	tap_ok(c.n_run == 0 && c.launches == 0, "from zero");
	close_all(g);
}

static void say_tracepoints(const struct gpuwork_counts *c, const struct gpuwork *g)
{
	if (c->have & GPUWORK_HAVE_RUN)
		tap_note("attached to the kernel's GPU scheduler");
	else
		tap_note("%s", gpuwork_status(g));
}

int main(int argc, char **argv)
{
	const char *pin_dir = argc > 1 ? argv[1] : NULL;
	struct testjob a, b;
	struct gpuwork_counts c;
	uint64_t *ns = testjob_shared(sizeof(*ns)), bare, outside;
	struct gpuwork *g;

	testjob_root("gpuwork");
	testjob_make(&a, "a", 1);
	testjob_make(&b, "b", 2);
	testjob_wait(testjob_run(&a, launch_kernels, ns));
	bare = *ns;
	g = open_all(pin_dir);
	tap_ok(gpuwork_add(g, a.id, a.job) == 0 && gpuwork_add(g, b.id, b.job) == 0,
	       "two jobs");
	tap_ok(gpuwork_add(g, a.id, a.job) == -EEXIST, "each once");
	launch_kernels(&outside);
	testjob_wait(testjob_run(&a, launch_kernels, ns));
	c = counts_of(g, &a);
	tap_ok(c.have & GPUWORK_HAVE_LAUNCHES,
	       "launches are counted, though one function is missing");
	tap_ok(c.launches == ROUNDS + 7, "each launch of the job is counted: %llu",
	       (unsigned long long)c.launches);
	tap_note("a launch: %llu ns more in a job, %llu outside (%llu without a probe)",
		 (unsigned long long)((*ns - bare) / ROUNDS),
		 (unsigned long long)((outside - bare) / ROUNDS),
		 (unsigned long long)(bare / ROUNDS));
	say_tracepoints(&c, g);
	c = counts_of(g, &b);
	tap_ok(c.launches == 0, "and none of others");
	check_sched(g, &a, &b);
	close_all(g);
	if (pin_dir)
		check_return(pin_dir, &a, &b);
	return tap_done();
}
