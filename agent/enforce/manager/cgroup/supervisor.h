/* SPDX-License-Identifier: GPL-2.0-or-later */
/* supervisor.h - the parent process of each job, which outlives the agent: its spec, its start,
 * and how a restarted agent finds it again.
 *
 * The spec is a file SPEC_DIR/JOB-ATTEMPT (agent/launch/supervise.h). A supervisor holds an
 * fcntl lock on it as long as it lives, so the kernel names its process, and removes the write
 * permission when the job has begun. The second tells a start during which the agent died from a
 * supervisor that died.
 */
#pragma once
#include <stdbool.h>
#include <sys/types.h>
#include "agent/enforce/manager/manager.h"
#include "agent/launch/supervise.h"

/* The user that was looked up last: many jobs follow each other of one, and a user database may be on another machine. It counts for
 * SUPERVISOR_GROUPS_S. */
#define SUPERVISOR_GROUPS_S 10
struct supervisor_groups {
	int64_t at_ns; /* CLOCK_MONOTONIC; 0: none yet */
	uid_t uid;
	gid_t gid, groups[SUPERVISE_GROUPS_MAX];
	int n;
};

struct supervisor_spec {
	const struct manager_spec *job;
	const struct manager_config *config;
	const char *cgroup;
	struct supervisor_groups *groups;
};

/* Writes the spec. -EPERM: root's jobs have no supervisor; -errno with words. */
int supervisor_write_spec(const char *path, const struct supervisor_spec *s, struct err *err);

/* The process that holds the lock. 0: none. -errno: no such spec. */
pid_t supervisor_find(const char *path);
/* Has the job of the spec begun? */
bool supervisor_has_begun(const char *path);
/* Removes the spec if no supervisor holds it; one that is just starting will then do nothing.
 * 1: one does. */
int supervisor_discard(const char *path);

/* Starts `argv` (NULL-terminated, absolute path first) in `cgroup`, in a session of its own,
 * with nothing of the caller's but stderr, and at a plain priority. Returns a pidfd, which
 * becomes readable at its end, or -errno with words, when it could not be executed too. */
int supervisor_spawn(const char *const *argv, const char *cgroup, struct err *err);
/* A pidfd of a process that holds the lock of `path`; 0: none does. */
int supervisor_open(const char *path);
