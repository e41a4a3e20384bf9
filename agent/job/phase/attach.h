/* guards.h - put a job under every guard before it runs, and take it away afterwards.
 *
 * The user's processes live in a cgroup of their own, "work", inside the unit's. So what
 * counts them (vmem) never sees what systemd runs in the unit besides, and the kill switch
 * ends the job without ending the writer of its final record.
 */
#pragma once
#include "agent/job/job.h"

#define JOB_WORK_CGROUP "work"

/* `pid` is the launcher, to be moved into "work"; 0 after a restart of the agent. Checks by
 * reading back that cores, memory and processes are bounded as wanted. 0, or < 0 with the
 * sentence why this job cannot be held here. Done twice, it changes nothing. */
int job_attach(struct node *n, struct job *j, int32_t pid, struct err *err);
/* After a restart, for a job whose cgroup may be gone: what the kernel's tables still hold of
 * it (that vmem was exceeded, its peak) is found by the job's number, so that it can be read
 * and taken out. */
void job_attach_remains(struct node *n, struct job *j);
void job_detach(struct node *n, struct job *j);
/* Are the cores in force that j->s.cpus names? 1 yes, 0 not yet. */
int job_cpus_in_force(const struct job *j);
/* The kernel's account of frozen time into the job's clock, and whether it is frozen now. */
void job_sync_clock(struct node *n, struct job *j);
