/* SPDX-License-Identifier: GPL-2.0-or-later */
/* prof_test.c - the profile of one job against what the kernel says of its processes, and what
 * it costs a context switch. */
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/bpf.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include "agent/sample/prof.h"
#include "tests/bpf/testjob.h"

#define ROUNDS 100000

/* Two processes on one CPU hand a byte to and fro: two switches a round. */
static int ping_pong(void *arg)
{
	uint64_t *ns = arg, start;
	int there[2], back[2];
	cpu_set_t set;
	pid_t pid;
	char c = 0;

	CPU_ZERO(&set);
	CPU_SET(1, &set);
	sched_setaffinity(0, sizeof(set), &set);
	if (pipe(there) < 0 || pipe(back) < 0)
		return 1;
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (read(there[0], &c, 1) == 1 && write(back[1], &c, 1) == 1)
			;
		_exit(0);
	}
	start = testjob_now_ns();
	for (int i = 0; i < ROUNDS; i++)
		if (write(there[1], &c, 1) != 1 || read(back[0], &c, 1) != 1)
			return 1;
	ns[0] = testjob_now_ns() - start;
	kill(pid, SIGKILL);
	testjob_wait(pid);
	return 0;
}

/* Mean run time of the attached program, as the kernel itself measures it. */
static int stats_fd = -1;

static uint64_t program_ns(uint64_t *ret_runs)
{
	struct bpf_prog_info info;
	__u32 id = 0, size;
	int fd;

	while (bpf_prog_get_next_id(id, &id) == 0) {
		fd = bpf_prog_get_fd_by_id(id);
		size = sizeof(info);
		memset(&info, 0, sizeof(info));
		if (fd >= 0 && bpf_obj_get_info_by_fd(fd, &info, &size) == 0 &&
		    !strcmp(info.name, "prof_switch")) {
			close(fd);
			*ret_runs = info.run_cnt;
			return info.run_time_ns;
		}
		if (fd >= 0)
			close(fd);
	}
	*ret_runs = 0;
	return 0;
}

static void check_counts(const struct prof_counts *c, const struct testjob *j)
{
	uint64_t sum = 0;
	int64_t us = testjob_number(j, "cpu.stat", "usage_usec");

	for (int i = 0; i < PROF_N_BUCKETS; i++)
		sum += c->wait[i];
	tap_ok(c->switches > 2 * ROUNDS * 9 / 10 && sum == c->switches,
	       "each switch is counted and has its wait: %llu, %llu",
	       (unsigned long long)c->switches, (unsigned long long)sum);
	tap_ok(c->on_cpu_ns / 1000 <= (uint64_t)us &&
		       c->on_cpu_ns / 1000 > (uint64_t)us * 9 / 10,
	       "on-cpu time is cpu.stat's but for the first slices: %llu of %lld us",
	       (unsigned long long)c->on_cpu_ns / 1000, (long long)us);
	tap_note("waited %llu us, %llu preemptions, %llu migrations",
		 (unsigned long long)c->wait_ns / 1000, (unsigned long long)c->preemptions,
		 (unsigned long long)c->migrations);
}

int main(void)
{
	uint64_t *ns = testjob_shared(3 * sizeof(*ns)), runs, time;
	struct testjob j, outside;
	struct prof_counts counts;
	struct prof_config config = { 0 };
	struct prof *p = NULL;
	struct err err = { "" };

	libbpf_set_print(NULL);
	testjob_root("prof");
	testjob_make(&j, "job", 31);
	testjob_make(&outside, "outside", 0);
	for (const char *c = strstr(j.path, "/reeve-test"); c && *c; c++)
		config.level += *c == '/';
	testjob_wait(testjob_run(&outside, ping_pong, &ns[0]));
	if (prof_open(&config, &p, &err) < 0 || prof_add(p, j.id, &err) < 0) {
		tap_ok(false, "prof_open: %s", err.text);
		return tap_done();
	}
	testjob_wait(testjob_run(&outside, ping_pong, &ns[1]));
	testjob_wait(testjob_run(&j, ping_pong, &ns[2]));
	tap_ok(prof_read(p, j.id, &counts, &err) == 0, "read the counts %s", err.text);
	check_counts(&counts, &j);
	stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	testjob_wait(testjob_run(&j, ping_pong, &ns[2]));
	time = program_ns(&runs);
	tap_ok(runs > 2 * ROUNDS, "the kernel timed %llu runs", (unsigned long long)runs);
	tap_note("%llu ns a run by the kernel's own clock; a round of two switches: %llu ns "
		 "without, %llu ns outside the job, %llu ns in it and timed",
		 (unsigned long long)(runs ? time / runs : 0),
		 (unsigned long long)ns[0] / ROUNDS, (unsigned long long)ns[1] / ROUNDS,
		 (unsigned long long)ns[2] / ROUNDS);
	close(stats_fd);
	prof_close(p);
	for (int i = 0; i < 20000 && program_ns(&runs); i++)
		poll(NULL, 0, 1); /* the kernel frees a program when no CPU can be in it */
	tap_ok(runs == 0, "closed: nothing is attached");
	testjob_remove(&j);
	testjob_remove(&outside);
	return tap_done();
}
