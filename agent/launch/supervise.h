/* SPDX-License-Identifier: GPL-2.0-or-later */
/* supervise.h - what a supervisor has to know about its job, as lines "key value" in a file that
 * only root can write. Written by agent/enforce/manager/cgroup/cgroup.c.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;

#define SUPERVISE_GROUPS_MAX 256
#define SUPERVISE_PATH_MAX 512
#define SUPERVISE_HIDDEN_MAX 2

struct supervise_spec {
	int64_t job, attempt;
	uid_t uid;
	gid_t gid, groups[SUPERVISE_GROUPS_MAX];
	int64_t n_groups;
	int64_t grace_s;    /* for what the main process leaves behind */
	uint64_t shm_bytes; /* size of the job's own /dev/shm; 0: the host's */
	char cgroup[SUPERVISE_PATH_MAX], socket[SUPERVISE_PATH_MAX], final[SUPERVISE_PATH_MAX];
	char tmp[SUPERVISE_PATH_MAX], var_tmp[SUPERVISE_PATH_MAX]; /* "": the host's */
	char hidden[SUPERVISE_HIDDEN_MAX][SUPERVISE_PATH_MAX];	   /* the agent's own; "" */
	char jobfs[SUPERVISE_PATH_MAX]; /* below those: to be seen all the same; "": none */
};

/* Out of a job's sight: ways to have something started outside the job. */
static const char *const supervise_hidden[] = { "/run/user", "/var/spool/cron",
						"/var/spool/at" };

/* On nodes with /run/lock: writable for every user. In a job's view it is the job's own, small and in memory, which is the job's. */
#define SUPERVISE_LOCKS "/run/lock"
#define SUPERVISE_LOCKS_OPTIONS "mode=1777,size=1m,nr_inodes=1024"

int supervise_spec_load(const char *path, struct supervise_spec *ret, struct err *err);
