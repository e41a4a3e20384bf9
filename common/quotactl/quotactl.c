/* SPDX-License-Identifier: GPL-2.0-or-later */
/* quotactl.c - calls quotactl_fd(2), or quotactl(2) with the device; see quotactl.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/quota.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "common/cleanup.h"
#include "common/quotactl/quotactl.h"

int quotactl_device(int fd, char *buf, size_t size)
{
	_cleanup_fclose_ FILE *f = NULL;
	char path[64], line[256];
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/uevent", major(st.st_dev),
		 minor(st.st_dev));
	f = fopen(path, "re");
	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f))
		if (strncmp(line, "DEVNAME=", 8) == 0) {
			line[strcspn(line, "\n")] = '\0';
			snprintf(buf, size, "/dev/%s", line + 8);
			return 0;
		}
	return -ENODEV;
}

/* quotactl_fd(2) is there from 5.14 on. */
int quotactl_call(int fd, int cmd, uint32_t id, void *data)
{
	char device[256];
	int r;

	if (syscall(SYS_quotactl_fd, fd, cmd, id, data) == 0)
		return 0;
	if (errno != ENOSYS)
		return -errno;
	r = quotactl_device(fd, device, sizeof(device));
	if (r < 0)
		return r;
	return quotactl(cmd, device, (int)id, data) < 0 ? -errno : 0;
}
