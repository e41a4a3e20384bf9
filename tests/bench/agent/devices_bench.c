/* SPDX-License-Identifier: GPL-2.0-or-later */
/* devices_bench.c - what the device gate costs a job at each open of a device that is not
 * gated, of a GPU of its own (the job is looked for too), and of another's; against the same
 * loop without the gate, taken in turns in one run. Argument: PIN_DIR. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>
#include <bpf/libbpf.h>
#include "agent/enforce/devices.h"
#include "tests/bpf/testjob.h"

#define ROUNDS 31
#define LOOPS 20000

enum what { UNRELATED, OWN, OTHERS, N_WHAT };
static const char *const names[N_WHAT] = { "unrelated device", "own GPU", "another's GPU" };
static char paths[N_WHAT][96];

struct turn {
	const char *path;
	double ns; /* cpu time of one open and close */
};

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int open_in_loop(void *arg)
{
	struct turn *turn = arg;
	double begin = cpu_ns();

	for (int i = 0; i < LOOPS; i++) {
		int fd = open(turn->path, O_RDONLY | O_CLOEXEC);

		if (fd >= 0)
			close(fd);
	}
	turn->ns = (cpu_ns() - begin) / LOOPS;
	return 0;
}

static double time_opens(const struct testjob *j, const char *path)
{
	static struct turn *turn;

	if (!turn)
		turn = testjob_shared(sizeof(*turn));
	turn->path = path;
	testjob_wait(testjob_run(j, open_in_loop, turn));
	return turn->ns;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double compute_median(double *list)
{
	qsort(list, ROUNDS, sizeof(*list), by_value);
	return list[ROUNDS / 2];
}

static int load_gate(const char *pin_dir, const char *cgroup, const struct testjob *j,
		     struct devices **ret)
{
	static const struct devices_number gpus[] = { { 1, 5 }, { 1, 7 } };
	struct devices_config config = { pin_dir, cgroup, 1024 };
	struct devices_list list = { .numbers = gpus, .n_numbers = 2 };
	struct devices_job job = { j->job, j->id, gpus, 1 };
	struct err err = { "" };
	int r = devices_open(&config, ret, &err);

	if (r >= 0)
		r = devices_gate(*ret, &list, &err);
	if (r >= 0)
		r = devices_add(*ret, &job, &err);
	if (r >= 0)
		r = devices_hold(*ret, &err);
	if (r < 0)
		printf("no figures: %s\n", err.text);
	return r;
}

static void make_files(void)
{
	static const unsigned majors[N_WHAT] = { 10, 1, 1 }, minors[N_WHAT] = { 229, 5, 7 };

	for (int w = 0; w < N_WHAT; w++) {
		snprintf(paths[w], sizeof(paths[w]), "/dev/reeve-bench-%d-%d", (int)getpid(),
			 w);
		if (mknod(paths[w], S_IFCHR | 0666, makedev(majors[w], minors[w])) < 0)
			printf("no figures: mknod %s: %s\n", paths[w], strerror(errno));
	}
}

int main(int argc, char **argv)
{
	static double without[N_WHAT][ROUNDS], with[N_WHAT][ROUNDS];
	struct testjob jobs, j;
	struct devices *d = NULL;

	if (argc != 2)
		return 64;
	libbpf_set_print(NULL);
	testjob_root("devices-bench");
	testjob_make(&jobs, "jobs", 0);
	testjob_make(&j, "jobs/j", 1);
	make_files();
	for (int i = 0; i < ROUNDS; i++) {
		for (int w = 0; w < N_WHAT; w++)
			without[w][i] = time_opens(&j, paths[w]);
		if (load_gate(argv[1], jobs.path, &j, &d) < 0)
			return 1;
		for (int w = 0; w < N_WHAT; w++)
			with[w][i] = time_opens(&j, paths[w]);
		d = devices_close(d);
		devices_forget(argv[1]);
	}
	for (int w = 0; w < N_WHAT; w++) {
		double a = compute_median(without[w]), b = compute_median(with[w]);

		printf("open and close, %-16s %5.0f ns without the gate, %5.0f ns with it: "
		       "x%.3f; noise of one round x%.3f..x%.3f\n",
		       names[w], a, b, b / a, without[w][ROUNDS / 4] / a,
		       without[w][ROUNDS * 3 / 4] / a);
		unlink(paths[w]);
	}
	return 0;
}
