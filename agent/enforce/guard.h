/* SPDX-License-Identifier: GPL-2.0-or-later */
/* guard.h - what a job may not do although it owns the files and processes concerned: exceed its
 * disk quota and go on, change the project id that the quota is counted by, control a process
 * outside itself, use other cores than its own, leave its cgroup unnoticed.
 *
 * Needs BPF trampolines (tier 1). guard_holds() returns which protections are in force, so that
 * the launcher's seccomp filter can replace the others; a quota excess is then still reported,
 * through the kernel's quota netlink messages, but the kernel side kills no job.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "common/err.h"

struct guard;

enum guard_protection {
	GUARD_QUOTA_KILL = 1 << 0,  /* SIGKILL to the writer that hits the hard limit */
	GUARD_QUOTA_EVENT = 1 << 1, /* on_quota is called */
	GUARD_PROJECT_ID = 1 << 2,  /* FS_IOC_FSSETXATTR, FS_IOC_SETFLAGS, file_setattr */
	GUARD_PTRACE = 1 << 3,	    /* ptrace, process_vm_*, pidfd_getfd, and all of
				       /proc/PID that shows what a process has */
	GUARD_LEFT = 1 << 4,	    /* on_left is called */
	GUARD_CORES = 1 << 5,	    /* io_uring's polling thread, which leaves the cpuset */
};
#define GUARD_ALL 63

enum guard_action {
	GUARD_NOTIFY, /* the write fails with EDQUOT or ENOSPC, the job lives */
	GUARD_KILL,   /* and the writer is killed; the callback kills the rest */
};

enum guard_quota_kind { GUARD_BLOCKS = 1, GUARD_INODES = 2 };

/* The call that hit the quota. */
enum guard_quota_call { GUARD_BY_OTHER, GUARD_BY_WRITE, GUARD_BY_FALLOCATE };

struct guard_quota { /* once per job and kind until guard_rearm() */
	int64_t job;
	enum guard_quota_kind kind;
	uint64_t boot_ns;
	int32_t pid;   /* the writer; 0: not known (netlink) */
	char comm[16]; /* "" not known */
	bool killed;   /* the kernel side has sent SIGKILL to it */
	enum guard_quota_call call;
	uint64_t asked_bytes; /* by that call; 0: not known */
};

enum guard_deed { GUARD_DID_SETPROJECT = 1, GUARD_DID_PTRACE = 2 };

struct guard_denied { /* at most one per job and deed each second */
	int64_t job;
	enum guard_deed deed;
	uint64_t boot_ns;
	int32_t pid;
	char comm[16];
	int32_t target_pid; /* GUARD_DID_PTRACE: the process outside */
};

struct guard_left {
	int64_t job;
	uint64_t boot_ns;
	int32_t pid; /* the process that is now outside */
	char comm[16];
	uint64_t now_in;      /* id of the cgroup it is in now */
	int32_t moved_by_pid; /* the process that moved it */
};

struct guard_config {
	const char *pin_dir; /* on bpffs; NULL: protections end with the agent */
	uint32_t max_jobs;   /* 0 = 1024 */
	int best_tier;	     /* 0 or 1: all; 2: no trampolines; 3: no BPF */
	void *ctx;
	void (*on_quota)(void *ctx, const struct guard_quota *q);
	void (*on_denied)(void *ctx, const struct guard_denied *d); /* may be NULL */
	void (*on_left)(void *ctx, const struct guard_left *l);
};

struct guard_job {
	int64_t job;
	uint64_t cgroup_id;
	uint32_t projid; /* 0: the job has no jobfs quota */
	dev_t dev;	 /* st_dev of the jobfs file system; 0: any */
	enum guard_action action;
};

int guard_open(const struct guard_config *config, struct guard **ret, struct err *err);
struct guard *guard_close(struct guard *g); /* pinned protections stay in force */

/* -EEXIST (cgroup or project id already guarded), -ENOSPC. After a restart the job's record, with
 * what was reported of it, is kept. */
int guard_add(struct guard *g, const struct guard_job *job, struct err *err);
void guard_remove(struct guard *g, uint64_t cgroup_id);
unsigned guard_prune(struct guard *g); /* as sample_prune() */
/* Report the next quota excess of this job again. */
void guard_rearm(struct guard *g, uint64_t cgroup_id);

int guard_fd(const struct guard *g); /* readable when there is something to dispatch */
/* Calls the callbacks, which may add and remove jobs. 0 or -errno. */
int guard_dispatch(struct guard *g, struct err *err);

uint32_t guard_holds(const struct guard *g); /* enum guard_protection bits in force */
const char *guard_status(struct guard *g);   /* what is not in force and why, a line each */
bool guard_adopted(const struct guard *g);   /* an earlier agent's hooks were all there */

static inline void guard_closep(struct guard **g)
{
	guard_close(*g);
}
