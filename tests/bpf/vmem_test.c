/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vmem_test.c - opens the tier under test, makes counted jobs, compares count and audit; see vmem_test.h. */
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tests/bpf/vmem_test.h"

static void parse_options(struct vmem_test *t, int argc, char **argv)
{
	static const struct option options[] = {
		{ "tier", required_argument, NULL, 't' },
		{ "ops", required_argument, NULL, 'o' },
		{ "seed", required_argument, NULL, 's' },
		{ "seconds", required_argument, NULL, 'S' },
		{ 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "t:o:s:S:", options, NULL)) != -1) {
		unsigned long n = optarg ? strtoul(optarg, NULL, 0) : 0;

		if (c == 't')
			t->tier = (int)n;
		else if (c == 'o')
			t->ops = n;
		else if (c == 's')
			t->seed = (unsigned int)n;
		else if (c == 'S')
			t->seconds = (unsigned int)n;
		else
			exit(2);
	}
}

void vmem_test_open(struct vmem_test *t, const char *name, int argc, char **argv,
		    const struct vmem_config *config)
{
	struct vmem_config c = *config;
	struct err err = { "" };

	t->tier = 1;
	parse_options(t, argc, argv);
	c.first_tier = t->tier;
	c.scratch_dir = testjob_root(name);
	if (vmem_open(&c, &t->v, &err) < 0) {
		printf("Bail out! vmem_open: %s\n", err.text);
		exit(1);
	}
	tap_note("tier %d: %s", vmem_tier(t->v), vmem_hooks(t->v));
	if ((int)vmem_tier(t->v) == t->tier)
		return;
	printf("1..0 # SKIP tier %d: %s\n", t->tier, vmem_tier_reason(t->v));
	exit(0);
}

void vmem_test_job(struct vmem_test *t, struct testjob *j, const char *name,
		   const struct vmem_request *like)
{
	static int64_t next_id = 1;
	struct vmem_request r = *like;
	struct err err = { "" };
	int rc;

	testjob_make(j, name, next_id++);
	r.job_id = (uint64_t)j->job;
	r.cgroup_id = j->id;
	r.cgroup_fd = open(j->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	rc = vmem_add(t->v, &r, &err);
	close(r.cgroup_fd);
	if (rc == 0)
		return;
	printf("Bail out! vmem_add %s: %d %s\n", name, rc, err.text);
	exit(1);
}

static void kill_listed(const struct testjob *j)
{
	char path[512];
	FILE *procs;
	int pid;

	snprintf(path, sizeof(path), "%s/cgroup.procs", j->path);
	procs = fopen(path, "re");
	while (procs && fscanf(procs, "%d", &pid) == 1)
		if (pid > 0)
			kill(pid, SIGKILL);
	if (procs)
		fclose(procs);
}

void vmem_test_kill(const struct testjob *j)
{
	int i;

	testjob_write(j, "cgroup.kill", "1");
	for (i = 0; i < 5000 && testjob_number(j, "cgroup.events", "populated") > 0; i++) {
		kill_listed(j);
		poll(NULL, 0, 1);
	}
}

void vmem_test_drop(struct vmem_test *t, struct testjob *j)
{
	vmem_test_kill(j);
	vmem_remove(t->v, j->id, NULL);
	testjob_remove(j);
}

uint64_t vmem_test_statm(const struct testjob *j)
{
	unsigned long pages, sum = 0;
	char path[512];
	FILE *procs, *statm;
	int pid;

	snprintf(path, sizeof(path), "%s/cgroup.procs", j->path);
	procs = fopen(path, "re");
	while (procs && fscanf(procs, "%d", &pid) == 1) {
		snprintf(path, sizeof(path), "/proc/%d/statm", pid);
		statm = fopen(path, "re");
		if (statm && fscanf(statm, "%lu", &pages) == 1)
			sum += pages;
		if (statm)
			fclose(statm);
	}
	if (procs)
		fclose(procs);
	return sum * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t vmem_test_now(struct vmem_test *t, const struct testjob *j)
{
	struct vmem_usage use = { 0 };

	return vmem_read(t->v, j->id, &use, NULL) < 0 ? UINT64_MAX : use.now_bytes;
}

bool vmem_test_equal(struct vmem_test *t, const struct testjob *j, uint64_t *ret_bytes)
{
	struct vmem_usage use = { 0 };
	uint64_t truth = 0;
	uint32_t n = 0;
	int tries;

	/* A reader of /proc elsewhere on the node may hold a dead address space for a moment.
	 */
	for (tries = 0; tries < 2000; tries++) {
		if (vmem_audit(t->v, j->id, &truth, &n, NULL) < 0 ||
		    vmem_read(t->v, j->id, &use, NULL) < 0)
			return false;
		*ret_bytes = use.now_bytes;
		if (use.now_bytes == truth && use.n_processes == n && use.n_no_room == 0)
			return true;
		poll(NULL, 0, 2);
	}
	tap_note("count %llu bytes in %u, audit %llu bytes in %u, off by %lld pages",
		 (unsigned long long)use.now_bytes, use.n_processes, (unsigned long long)truth,
		 n, ((long long)use.now_bytes - (long long)truth) / sysconf(_SC_PAGESIZE));
	return false;
}

void vmem_signal_init(struct vmem_signal *s)
{
	if (pipe2(s->fd, O_CLOEXEC) == 0)
		return;
	printf("Bail out! pipe\n");
	exit(1);
}

void vmem_signal_send(const struct vmem_signal *s)
{
	if (write(s->fd[1], "", 1) != 1)
		_exit(98);
}

bool vmem_signal_wait(const struct vmem_signal *s)
{
	char c;

	return read(s->fd[0], &c, 1) == 1;
}
