/* SPDX-License-Identifier: GPL-2.0-or-later */
/* left.h - memory of jobs that have ended, which processes of other jobs keep.
 *
 * A file in memory (memfd_create(2), a file of /dev/shm) lives as long as a process holds a descriptor of it, also a process of another job, if it was
 * passed (SCM_RIGHTS). The kernel charges its pages to the cgroup that touched them first. When that job has ended they are charged to no
 * job: only the cgroup above all jobs still counts them. They count as in use here, so that every job gets the memory that it requested.
 */
#pragma once
#include "agent/node.h"

/* Into n->left. The cgroups of the jobs are read if the jobs have much shared memory together. Nothing beside Slurm and PBS, which admit
 * the jobs. */
void job_left_measure(struct node *n);
/* Once each tick: the same, and a note of the node if there is some for the second time. */
void job_left_tick(struct node *n);
