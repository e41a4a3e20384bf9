/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rig.h - what the jobfs tests on a real file system share. */
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "agent/enforce/jobfs/jobfs.h"
#include "common/err.h"

#define MIB ((int64_t)1 << 20)
#define USER 4242 /* uid and gid of every job */

extern struct jobfs_config config;
extern struct jobfs *fs; /* config.dir, open */

/* main(): usage, opens DIR [IMAGE], runs `tests`. */
int rig_run(int argc, char **argv, int (*tests)(void));

void must(int r, const struct err *err); /* fails the test with the words */
struct jobfs_job create(int64_t job, int64_t bytes, int64_t files);
/* Creates the job once its former id is free again: XFS frees inodes in the background, and a
 * killed child's own child may hold files for a moment yet. An id that was never released
 * shows here as another id. */
struct jobfs_job create_again(const struct jobfs_job *former, int64_t bytes);
void drop(const struct jobfs_job *job);
struct jobfs_usage usage(const struct jobfs_job *job);
const char *path_of(const struct jobfs_job *job, const char *rest); /* static buffer */
size_t count_jobs(void);

/* Runs `fn` as the job's user, without capabilities, in its work directory. */
typedef int64_t (*user_fn)(const char *work, int arg);
int64_t as_user(const struct jobfs_job *job, user_fn fn, int arg);
/* Users: bytes written (arg at a time) or files made until the kernel refused. */
int64_t write_until_refused(const char *work, int chunk);
int64_t make_files(const char *work, int unused);
