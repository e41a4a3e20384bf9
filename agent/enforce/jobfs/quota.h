/* SPDX-License-Identifier: GPL-2.0-or-later */
/* quota.h - project quota of one file system, through any open file on it.
 *
 * Private to agent/enforce/jobfs/.
 */
#pragma once
#include <stdint.h>

struct err;

struct quota_use {
	int64_t bytes, files;		  /* allocated now, delayed allocation included */
	int64_t limit_bytes, limit_files; /* hard limits; 0: none */
};

/* 0: project quota is enforced here. -EOPNOTSUPP: not; err says what is missing and the
 * commands that put it right. `path` is for the error text. *ret_type: "ext4" or "xfs". */
int quota_probe(int fd, const char *path, const char **ret_type, struct err *err);
/* A project that was never used has 0 everywhere. */
int quota_get(int fd, uint32_t projid, struct quota_use *ret, struct err *err);
/* The first project from `from` on that has a use or a limit. -ENOENT: none has. */
int quota_next(int fd, uint32_t from, uint32_t *ret_projid, struct quota_use *ret,
	       struct err *err);
/* Hard limits, 512-byte exact; 0: no limit. */
int quota_limit(int fd, uint32_t projid, int64_t bytes, int64_t files, struct err *err);

/* The project of a directory, inherited by what is made in it. -ENOTTY and the like from
 * file systems without projects. */
int quota_set_project(int dir_fd, uint32_t projid, struct err *err);
int quota_get_project(int dir_fd, uint32_t *ret, struct err *err);
/* Afterwards files of any project may be moved into the directory: rename(2) into a directory
 * with the inherit flag fails with EXDEV unless the projects are the same. */
int quota_stop_inherit(int dir_fd, struct err *err);
