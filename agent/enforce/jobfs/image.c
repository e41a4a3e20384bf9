/* SPDX-License-Identifier: GPL-2.0-or-later */
/* image.c - makes a file system image with project quota, attaches it to a loop device and mounts
 * it; see jobfs/image.h. */
#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "agent/enforce/jobfs/image.h"
#include "common/cleanup.h"
#include "common/err.h"

#define ATTACH_TRIES 20 /* another process may take the free loop device in between */

static int wait_child(pid_t pid, int *ret_status)
{
	while (waitpid(pid, ret_status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

/* No reserved blocks (-m 0): they are for root's daemons, and the image has none. */
static int run_mkfs(const char *path, struct err *err)
{
	pid_t pid = fork();
	int status, r;

	if (pid < 0)
		return err_set(err, -errno, "fork for mkfs.ext4: %m");
	if (pid == 0) {
		setenv("PATH", "/usr/sbin:/sbin:/usr/bin:/bin", 1);
		execlp("mkfs.ext4", "mkfs.ext4", "-q", "-F", "-m", "0", "-O", "quota,project",
		       "-E", "nodiscard,quotatype=prjquota", path, (char *)NULL);
		_exit(127);
	}
	r = wait_child(pid, &status);
	if (r < 0)
		return err_set(err, r, "wait for mkfs.ext4: %m");
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		return err_set(err, -ENOENT, "mkfs.ext4 is missing (package e2fsprogs)");
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return err_set(err, -EIO, "mkfs.ext4 %s failed (wait status %d)", path, status);
	return 0;
}

/* Made under another name, renamed when complete: an unfinished image is never mounted. */
static int make_image(const char *image, int64_t bytes, struct err *err)
{
	_cleanup_free_ char *fresh = NULL;
	_cleanup_close_ int fd = -1;
	int r;

	if (bytes < 16 << 20)
		return err_set(err, -EINVAL, "the image %s must have at least 16 MiB", image);
	if (asprintf(&fresh, "%s.new", image) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	unlink(fresh);
	fd = open(fresh, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_set(err, -errno, "create %s: %m", fresh);
	if (fallocate(fd, 0, 0, bytes) < 0)
		r = err_set(err, -errno, "preallocate %lld bytes for %s: %m", (long long)bytes,
			    fresh);
	else
		r = run_mkfs(fresh, err);
	if (r >= 0 && (fsync(fd) < 0 || rename(fresh, image) < 0))
		r = err_set(err, -errno, "finish %s: %m", image);
	if (r < 0)
		unlink(fresh);
	return r;
}

/* *ret_fd: the loop device, open; the kernel frees it at the last close unless it is mounted by
 * then. Direct I/O, so that the image is not cached twice; without it where the disk beneath has
 * larger blocks (EINVAL). */
static int attach_loop(int image_fd, char path[static 32], int *ret_fd, struct err *err)
{
	struct loop_config config = {
		.fd = (uint32_t)image_fd,
		.info.lo_flags = LO_FLAGS_AUTOCLEAR | LO_FLAGS_DIRECT_IO,
	};
	_cleanup_close_ int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);

	if (control < 0)
		return err_set(err, -errno, "open /dev/loop-control: %m (module loop)");
	for (int i = 0; i < ATTACH_TRIES; i++) {
		_cleanup_close_ int fd = -1;
		int n = ioctl(control, LOOP_CTL_GET_FREE);

		if (n < 0)
			return err_set(err, -errno, "find a free loop device: %m");
		snprintf(path, 32, "/dev/loop%d", n);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			return err_set(err, -errno, "open %s: %m", path);
		if (ioctl(fd, LOOP_CONFIGURE, &config) == 0) {
			*ret_fd = TAKE_FD(fd);
			return 0;
		}
		if (errno == EINVAL && config.info.lo_flags & LO_FLAGS_DIRECT_IO)
			config.info.lo_flags &= ~(uint32_t)LO_FLAGS_DIRECT_IO;
		else if (errno != EBUSY)
			return err_set(err, -errno, "attach the image to %s: %m", path);
	}
	return err_set(err, -EBUSY, "no loop device is free after %d tries", ATTACH_TRIES);
}

/* The agent may live in a mount namespace of its own (its unit's sandbox), whose mounts the
 * jobs would not see. Returns a positive errno for the exit status. */
static int mount_for_all(const char *device, const char *dir)
{
	_cleanup_close_ int ns = open("/proc/1/ns/mnt", O_RDONLY | O_CLOEXEC);

	if (ns >= 0 && setns(ns, CLONE_NEWNS) < 0)
		return errno;
	if (mount(device, dir, "ext4", MS_NOSUID | MS_NODEV | MS_NOATIME, "prjquota") < 0)
		return errno;
	return 0;
}

static int mount_device(const char *device, const char *dir, struct err *err)
{
	pid_t pid = fork();
	int status, r;

	if (pid < 0)
		return err_set(err, -errno, "fork to mount: %m");
	if (pid == 0) /* a copy of the agent: root's, for two calls, while the agent waits */
		_exit(mount_for_all(device, dir));
	r = wait_child(pid, &status);
	if (r < 0)
		return err_set(err, r, "wait for the mount: %m");
	errno = WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
	if (errno)
		return err_set(err, -errno, "mount %s (ext4, prjquota) on %s: %m", device, dir);
	return 0;
}

/* An image that exists is used as it is, whatever its size: it has jobs' files of before. Closing `loop`
 * after the mount does not free the device (LO_FLAGS_AUTOCLEAR counts the mount). */
int image_mount(const char *image, int64_t bytes, const char *dir, struct err *err)
{
	_cleanup_close_ int fd = -1, loop = -1;
	char device[32];
	int r;

	if (access(image, F_OK) < 0) {
		r = make_image(image, bytes, err);
		if (r < 0)
			return r;
	}
	fd = open(image, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return err_set(err, -errno, "open %s: %m", image);
	r = attach_loop(fd, device, &loop, err);
	if (r < 0)
		return r;
	return mount_device(device, dir, err);
}
