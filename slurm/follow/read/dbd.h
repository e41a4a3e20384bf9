/* SPDX-License-Identifier: GPL-2.0-or-later */
/* dbd - questions to slurmdbd, through libslurm. */
#pragma once
#include "slurm/follow/read/record.h"

struct err;
struct dbd;

/* Connects, and reads the tables of resources and QOS. `cluster`: Slurm's name. -EHOSTUNREACH. */
int dbd_open(const char *cluster, struct dbd **ret, struct err *err);
struct dbd *dbd_close(struct dbd *d);
DEFINE_CLEANUP(struct dbd *, dbd_close)

struct dbd_rows {
	struct slurm_batch_job *of; /* malloc()ed; sorted by job and start */
	size_t n;
};
/* Rows of attempts that ended in [from_s, to_s), duplicates of an id (requeues) included. */
int dbd_ended(struct dbd *d, int64_t from_s, int64_t to_s, struct dbd_rows *ret,
	      struct err *err);
/* All rows of these jobs that have ended. */
int dbd_jobs(struct dbd *d, const struct slurm_batch_present *jobs, size_t n,
	     struct dbd_rows *ret, struct err *err);
