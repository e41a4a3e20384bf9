/* SPDX-License-Identifier: GPL-2.0-or-later */
/* dquot.h - the kernel's own messages of quota excess (generic netlink family VFS_DQUOT): which
 * id, which device, blocks or inodes; not which process. Used by guard.c alone, where BPF
 * cannot hook the quota code. */
#pragma once
#include <stdint.h>
#include <sys/types.h>
#include "common/err.h"

struct dquot_excess {
	uint32_t projid;
	int warning; /* QUOTA_NL_IHARDWARN, QUOTA_NL_BHARDWARN, ... */
	uint32_t dev_major, dev_minor;
};
typedef void (*dquot_fn)(void *ctx, const struct dquot_excess *excess);

/* A socket that listens; -ENOENT: this kernel sends no such messages. */
int dquot_open(int *ret_fd, struct err *err);
/* Read all that waits; project quotas only. -ENOBUFS: some were lost. */
int dquot_dispatch(int fd, dquot_fn fn, void *ctx);
