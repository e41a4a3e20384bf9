/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vmem_test.h - what the vmem tests share: the tier under test, jobs in it, comparisons. */
#pragma once
#include <stdbool.h>
#include "agent/enforce/vmem/vmem.h"
#include "tests/bpf/testjob.h"

#define MIB (1024ULL * 1024)

struct vmem_test {
	int tier; /* asked for */
	unsigned long ops;
	unsigned int seed;
	unsigned int seconds; /* how long a test repeats itself at least; 0: by count alone */
	struct vmem *v;
};

/* Options: --tier N --ops N --seed N --seconds N. Opens that tier; where the kernel refuses it, prints a
 * skipped plan with the reason and exits 0. */
void vmem_test_open(struct vmem_test *t, const char *name, int argc, char **argv,
		    const struct vmem_config *config);

/* A job's cgroup, counted, with a limit (0: none). Bails out when it cannot. */
void vmem_test_job(struct vmem_test *t, struct testjob *j, const char *name,
		   const struct vmem_request *like);
/* cgroup.kill does not reach a process whose main thread has exited (seen on 6.1 and 6.18): it
 * is followed by a signal to each process that is left. */
void vmem_test_kill(const struct testjob *j);
void vmem_test_drop(struct vmem_test *t, struct testjob *j);

/* Sum of /proc/PID/statm over cgroup.procs, nothing mended: what others report. */
uint64_t vmem_test_statm(const struct testjob *j);
uint64_t vmem_test_now(struct vmem_test *t, const struct testjob *j);

/* At a quiet point: the count equals the audit. Both are shown when not. */
bool vmem_test_equal(struct vmem_test *t, const struct testjob *j, uint64_t *ret_bytes);

/* Blocking handshakes between a test and its children. */
struct vmem_signal {
	int fd[2];
};
void vmem_signal_init(struct vmem_signal *s);
void vmem_signal_send(const struct vmem_signal *s);
/* False: the other side ended instead. */
bool vmem_signal_wait(const struct vmem_signal *s);
