/* SPDX-License-Identifier: GPL-2.0-or-later */
/* compat.h - the differences between the headers of libslurm's releases. Built with 22.05 (Debian 12) and 24.11 (Debian 13). */
#ifndef REEVE_SLURM_COMPAT_H
#define REEVE_SLURM_COMPAT_H

#include <slurm/slurm.h>
#include <slurm/slurm_version.h>
#include <slurm/slurmdb.h>

/* Later headers declare these names themselves, some of them with another tag. */
#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(24, 11, 0)
typedef struct xlist list_t;
typedef struct listIterator list_itr_t;
#endif

/* In an initializer of slurmdb_qos_cond_t: deleted QOS are returned too. */
#ifdef QOS_COND_FLAG_WITH_DELETED
#define COMPAT_QOS_WITH_DELETED .flags = QOS_COND_FLAG_WITH_DELETED
#else
#define COMPAT_QOS_WITH_DELETED .with_deleted = 1
#endif

#endif
