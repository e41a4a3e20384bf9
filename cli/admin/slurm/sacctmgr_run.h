/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sacctmgr_run - runs Slurm's sacctmgr: a dump of a cluster's accounts, and commands that change them. Words are passed as they are,
 * without a shell. */
#pragma once
#include <stddef.h>

struct err;

/* Runs `sacctmgr -i ARGS...` (ends with NULL). -EIO: it failed, with its last words; -ENOENT: there is none here. */
int sacctmgr_run(const char *const *args, struct err *err);
/* What `sacctmgr dump CLUSTER` writes. *ret is malloc()ed. */
int sacctmgr_run_dump(const char *cluster, char **ret, size_t *ret_size, struct err *err);
/* `sacctmgr load` of such a text: adds what slurmdbd lacks, and changes what differs. */
int sacctmgr_run_load(const char *cluster, const char *text, struct err *err);
