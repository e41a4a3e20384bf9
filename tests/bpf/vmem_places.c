/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vmem_places.c - where jobs lie in the tree of cgroups: what a process grows is counted for jobs below one cgroup, below
 * different ones, and many levels below a job, also while jobs come and go elsewhere in the tree.
 *
 * usage: vmem_places [--tier N]
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/bpf/vmem_test.h"

#define GROWTH (4 * MIB)

struct grower {
	struct testjob job;
	int depth; /* of its process below the job */
	struct vmem_signal go, done;
	pid_t pid;
};

/* Enters the cgroup that lies deepest below the job, then grows by GROWTH at each signal. */
static int grower_main(void *ctx)
{
	struct grower *g = ctx;
	struct testjob below = g->job;

	close(g->go.fd[1]);
	for (int i = 0; i < g->depth; i++) {
		strcat(below.path, "/d");
		if (mkdir(below.path, 0755) < 0)
			return 1;
	}
	if (testjob_write(&below, "cgroup.procs", "0") < 0)
		return 1;
	vmem_signal_send(&g->done);
	while (vmem_signal_wait(&g->go)) {
		char *at =
			mmap(NULL, 2 * GROWTH, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (at == MAP_FAILED || munmap(at, GROWTH) < 0)
			return 1;
		vmem_signal_send(&g->done);
	}
	return 0;
}

static void grower_start(struct vmem_test *t, struct grower *g, const char *name)
{
	struct vmem_request count_only = { 0 };

	vmem_test_job(t, &g->job, name, &count_only);
	vmem_signal_init(&g->go);
	vmem_signal_init(&g->done);
	g->pid = testjob_run(&g->job, grower_main, g);
	close(g->done.fd[1]);
	tap_ok(vmem_signal_wait(&g->done), "%s: its process is %d levels below it", name,
	       g->depth);
}

static void grower_stop(struct vmem_test *t, struct grower *g)
{
	vmem_test_drop(t, &g->job);
	waitpid(g->pid, NULL, 0);
	close(g->go.fd[0]);
	close(g->go.fd[1]);
	close(g->done.fd[0]);
}

static void check_growth(struct vmem_test *t, struct grower *g, const char *when)
{
	uint64_t before = vmem_test_now(t, &g->job), after = 0;
	bool is_counted;

	vmem_signal_send(&g->go);
	is_counted = vmem_signal_wait(&g->done) && vmem_test_equal(t, &g->job, &after) &&
		     after == before + GROWTH;
	tap_ok(is_counted, "%s: its growth is counted: %llu and then %llu bytes", when,
	       (unsigned long long)before, (unsigned long long)after);
}

int main(int argc, char **argv)
{
	struct vmem_test t = { 0 };
	struct vmem_config config = { 0 };
	/* 12: more than the programs go upwards */
	struct grower a = { .depth = 12 }, near = { .depth = 0 }, far = { .depth = 2 };
	struct testjob parent;

	vmem_test_open(&t, "vmem-places", argc, argv, &config);
	testjob_make(&parent, "jobs", 0);
	testjob_make(&parent, "elsewhere", 0);
	testjob_make(&parent, "elsewhere/jobs", 0);
	grower_start(&t, &a, "jobs/a");
	check_growth(&t, &a, "alone");
	grower_start(&t, &near, "jobs/near");
	check_growth(&t, &a, "beside another job");
	check_growth(&t, &near, "the other job");
	grower_start(&t, &far, "elsewhere/jobs/far");
	check_growth(&t, &a, "while a job runs elsewhere");
	check_growth(&t, &far, "the job elsewhere");
	grower_stop(&t, &near);
	grower_stop(&t, &a);
	check_growth(&t, &far, "the job elsewhere, alone");
	grower_start(&t, &a, "jobs/b");
	check_growth(&t, &a, "a later job");
	check_growth(&t, &far, "the job elsewhere, while a later job runs");
	grower_stop(&t, &a);
	grower_stop(&t, &far);
	vmem_close(t.v);
	return tap_done();
}
