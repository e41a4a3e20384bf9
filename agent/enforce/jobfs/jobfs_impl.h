/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobfs_impl.h - what the files of jobfs share. Private to agent/enforce/jobfs/. */
#pragma once
#include <sys/types.h>
#include "agent/enforce/jobfs/jobfs.h"

/* Project ids: above those that administrators and their tools choose, below 2^31. */
#define PROJID_BASE ((uint32_t)1 << 24)
#define PROJID_COUNT ((uint32_t)1 << 30)

#define JOBFS_NAME_MAX 40 /* "JOB-ATTEMPT" */

struct jobfs_removing; /* one removal under way */

/* The process that removes directories: remover.h. */
struct jobfs_remover {
	int fd; /* to it; -1: there is none */
	pid_t pid;
};

struct jobfs {
	int fd; /* DIR, O_DIRECTORY */
	char *dir;
	const char *type; /* "ext4", "xfs"; "": unlimited */
	char *description;
	int64_t reserve_bytes, block_bytes;
	struct jobfs_removing *removing;
	bool may_hold; /* a removed directory may still have its limit */
	struct jobfs_remover remover;
};

struct quota_use;

/* The first choice of a project id for an attempt. */
uint32_t jobfs_first_projid(int64_t job, int32_t attempt);
void jobfs_name(int64_t job, int32_t attempt, char buf[static JOBFS_NAME_MAX]);
/* True for exactly the names that jobfs_name() makes. */
bool jobfs_is_name(const char *name, int64_t *ret_job, int32_t *ret_attempt);
/* openat2() of a directory for reading; `resolve`: RESOLVE_... of openat2(2). -errno without words. */
int jobfs_open_how(int dir_fd, const char *path, uint64_t resolve);
/* Opens DIR/NAME, never through a link or into a mount. -errno without words. */
int jobfs_open_dir(const struct jobfs *fs, const char *name);
/* The limit of a removed directory's project: one block and one file, since 0 would be none,
 * and a process that has a file of it open could then write without limit. */
int jobfs_keep_limit(const struct jobfs *fs, uint32_t projid, struct err *err);
/* Does the project have that limit and nothing charged? Then its id is free. Only the agent's
 * own process releases or reuses such an id, so nothing can take it in between. */
bool jobfs_is_released(const struct jobfs *fs, const struct quota_use *use);
/* Removes the directory here and now; its limit stays as above. */
int jobfs_wipe(struct jobfs *fs, const struct jobfs_job *job, struct err *err);
/* The removals go on without a callback. */
void jobfs_abandon_removals(struct jobfs *fs);
