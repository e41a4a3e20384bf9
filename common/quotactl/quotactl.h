/* SPDX-License-Identifier: GPL-2.0-or-later */
/* quotactl - quotactl(2) of the file system that an open file lies on, also for kernels without quotactl_fd(2).
 *
 * The XFS calls (Q_XGETQUOTA, Q_XGETNEXTQUOTA, Q_XSETQLIM, Q_XGETQSTATV) support ext4 too: on both they count in
 * QUOTACTL_BLOCK bytes, and report accounting and enforcement apart.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define QUOTACTL_BLOCK 512 /* bytes: the unit of struct fs_disk_quota */

/* `cmd` with its type: QCMD(Q_XGETQUOTA, PRJQUOTA). 0 or -errno; -ENOENT: no quota record for this id. */
int quotactl_call(int fd, int cmd, uint32_t id, void *data);
/* /dev/NAME of the block device that the file lies on. -errno; -ENODEV: none is known. */
int quotactl_device(int fd, char *buf, size_t size);
