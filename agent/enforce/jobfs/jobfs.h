/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobfs.h - a directory of its own for every job, with a limit that the kernel holds.
 *
 * DIR/JOB-ATTEMPT/	root, 0711
 *   work/		the user's, 0700: $REEVE_JOBFS
 *   tmp/ vartmp/	the user's, 01700: bound over /tmp and /var/tmp inside the job
 *   script		the user's, 0500: the job's script, when it has one
 *   ...		root's, 0444: what the user may read of the job, as given
 *
 * The limit is a project quota (ext4 "prjquota", XFS "pquota"): hard, exact, counted by the
 * kernel at allocation. Where DIR's file system has none, a preallocated image file with an
 * ext4 of our own is mounted on DIR and used in the same way, if the site allows it; else
 * jobfs_open() fails with what is missing and which commands put it right. No job is left
 * without a limit unless the site has chosen that (`is_unlimited`): its directory is then a
 * plain one, nothing is held or measured, and jobfs_is_unlimited() tells those who report.
 * Project ids are above 2^24 and are found again from the directories themselves, so that a
 * crash at any moment leaves nothing that jobfs_list() does not show.
 *
 * ext4 does not hold a process with CAP_SYS_RESOURCE to the limit, and the owner of a file may
 * reset its project id: jobs must run without that capability and be refused
 * FS_IOC_FSSETXATTR (see the launcher's filter and bpf/).
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/cleanup.h"

struct err;
struct jobfs;
struct sd_event;

struct jobfs_config {
	const char *dir;       /* made 0711 if absent: /var/lib/reeve/jobfs */
	int64_t reserve_bytes; /* of the file system, never given to jobs */
	const char *image;     /* NULL or "": no image; else its path, on another directory */
	int64_t image_bytes;   /* size of the image when it has to be made */
	bool is_unlimited;     /* no quota is looked for, nor the image used */
};

/* -ENOENT, -EACCES, -ELOOP (a symbolic link in the way)...; -EOPNOTSUPP: no project quota is
 * enforced here: err has what is missing and the commands that put it right. Jobs that request
 * jobfs must then be refused with this text. */
int jobfs_open(const struct jobfs_config *c, struct jobfs **ret, struct err *err);
/* Leaves directories, limits and the mounted image as they are. A removal under way goes on
 * without its callback. */
struct jobfs *jobfs_close(struct jobfs *fs);
DEFINE_CLEANUP(struct jobfs *, jobfs_close)

/* Bytes that jobs may reserve in total: what is free or already used by jobs, less the
 * reserve; never more than the disk has. Unlimited: what jobs use is not known, nor counted. */
int jobfs_capacity(struct jobfs *fs, int64_t *ret_bytes, struct err *err);
/* "project quota on ext4", "project quota on ext4 in the image /var/lib/...", "no limit..." */
const char *jobfs_describe(const struct jobfs *fs);
bool jobfs_is_unlimited(const struct jobfs *fs);
/* dev_t of the file system, as `st_dev`: for matching quota events. */
uint64_t jobfs_device(const struct jobfs *fs);

struct jobfs_file {
	const char *name, *text; /* a name that nothing above has */
};

struct jobfs_spec {
	int64_t job;
	int32_t attempt;
	uint32_t uid, gid;
	int64_t limit_bytes; /* > 0 */
	int64_t limit_files; /* inodes; 0: one per 16 KiB of limit_bytes, at least 1024 */
	const char *script;  /* NULL: none */
	size_t script_size;
	const struct jobfs_file *files;
	size_t n_files;
};

struct jobfs_job {
	int64_t job;
	int32_t attempt;
	uint32_t projid; /* 0: the directory was left half-made; unlimited: of no project */
	int64_t limit_bytes, limit_files;
	int64_t base_bytes, base_files; /* our own directories and script; not the user's use */
};

/* The limit is in force before the user can reach the directory. limit_bytes is rounded up to
 * a whole block. -EEXIST: this attempt has a directory already; -ENOSPC, -EDQUOT, -EINVAL, and
 * whatever the kernel says; nothing is left behind after an error. */
int jobfs_create(struct jobfs *fs, const struct jobfs_spec *spec, struct jobfs_job *ret,
		 struct err *err);
/* DIR/JOB-ATTEMPT; buf of 4096 always suffices. */
const char *jobfs_path(const struct jobfs *fs, const struct jobfs_job *job, char *buf,
		       size_t size);

struct jobfs_usage {
	int64_t bytes, files; /* what the user's data take, open deleted files included */
	bool bytes_full, files_full; /* less than one block / inode is left */
};
/* -ENOENT: no such project. One system call. XFS counts blocks that it holds ready beyond the
 * end of files being written, and frees those of removed files a moment later. XFS refuses an
 * allocation that would not fit as a whole, so that a job may be refused while less than full:
 * the guard's events (quota warnings) are the proof of an excess, `full` is for hosts without
 * them. -EOPNOTSUPP: unlimited. */
int jobfs_usage(struct jobfs *fs, const struct jobfs_job *job, struct jobfs_usage *ret,
		struct err *err);

/* Called once from the event loop; result 0 or the -errno that stopped it, with words. */
typedef void (*jobfs_removed_fn)(void *ctx, const struct jobfs_job *job, int result,
				 const struct err *err);
struct jobfs_removal {
	struct sd_event *event;
	jobfs_removed_fn done;
	void *ctx;
};
/* Removes the directory whatever is in it (deep, unreadable, immutable, hard-linked, open),
 * in a child process so that the event loop goes on; never follows a link or leaves the file
 * system.
 * What a process outside the job still holds open is freed when that closes it: until then a
 * limit of one block keeps it from growing. A directory already gone is success. -EALREADY:
 * this removal is under way. */
int jobfs_remove(struct jobfs *fs, const struct jobfs_job *job, const struct jobfs_removal *how,
		 struct err *err);
/* A removal of the job's directory is under way: it cannot be made now. */
bool jobfs_is_removing(const struct jobfs *fs, const struct jobfs_job *job);
/* The same as jobfs_remove(), blocking; for tools and tests. */
int jobfs_remove_now(struct jobfs *fs, const struct jobfs_job *job, struct err *err);

/* Clears the limits of removed directories of which nothing is left open, so that their project
 * ids are free. Each removal calls it; to be called now and then for what is closed later.
 * *ret_held (may be NULL): how many are still held open. */
int jobfs_reclaim(struct jobfs *fs, size_t *ret_held, struct err *err);

/* Every job directory that exists, also half-made ones. Caller frees *ret. limit_* are the
 * whole limits (base_* included), base_* are 0. Names that are not ours are left alone and
 * counted in *ret_foreign (may be NULL). */
int jobfs_list(struct jobfs *fs, struct jobfs_job **ret, size_t *ret_n, int *ret_foreign,
	       struct err *err);
