/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wipe.c - removes a directory tree without following links or mounts; see jobfs/wipe.h.
 *
 * A process outside the job may still write in the tree meanwhile (a directory it has open): every
 * entry may vanish, come back or change its type between two calls.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include "agent/enforce/jobfs/quota.h"
#include "agent/enforce/jobfs/wipe.h"
#include "common/cleanup.h"
#include "common/err.h"

#define MOVED_MAX 24 /* ".moved-" and 16 hex digits */

struct wipe {
	int top_fd;
	uint64_t n_moved, n_done; /* names used; entries removed or moved */
	char next[MOVED_MAX];	  /* the directory moved last; "" none */
};

static int open_beneath(int dir_fd, const char *name, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS,
	};
	int fd = (int)syscall(SYS_openat2, dir_fd, name, &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

/* An immutable or append-only file or directory can be neither removed nor emptied. */
static void clear_flags(int fd)
{
	int flags;

	if (ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0 ||
	    !(flags & (FS_IMMUTABLE_FL | FS_APPEND_FL)))
		return;
	flags &= ~(FS_IMMUTABLE_FL | FS_APPEND_FL);
	ioctl(fd, FS_IOC_SETFLAGS, &flags);
}

static int open_dir(int dir_fd, const char *name, struct err *err)
{
	int fd = open_beneath(dir_fd, name, O_RDONLY | O_DIRECTORY);

	if (fd == -EXDEV)
		return err_set(err, fd, "'%s': something is mounted here; umount it", name);
	if (fd < 0) {
		errno = -fd;
		return err_set(err, fd, "open '%s': %m", name);
	}
	clear_flags(fd);
	return fd;
}

/* 0: gone. -ENOTEMPTY, -EISDIR: a directory to be emptied first. EPERM has two causes here, an
 * immutable or append-only flag, which is cleared, and others, which stay. */
static int unlink_entry(int dir_fd, const char *name, int flags)
{
	_cleanup_close_ int fd = -1;

	if (unlinkat(dir_fd, name, flags) == 0 || errno == ENOENT)
		return 0;
	if (errno != EPERM)
		return -errno;
	fd = open_beneath(dir_fd, name, O_RDONLY);
	if (fd < 0)
		return -EPERM;
	clear_flags(fd);
	return unlinkat(dir_fd, name, flags) == 0 || errno == ENOENT ? 0 : -errno;
}

/* Moves a directory that is not empty to the top of the tree: no path gets longer, whatever the
 * depth. open_dir() clears its flags, since an immutable directory cannot be moved. */
static int move_up(struct wipe *w, int dir_fd, const char *name, struct err *err)
{
	char moved[MOVED_MAX];
	_cleanup_close_ int fd = open_dir(dir_fd, name, err);
	int r;

	if (fd == -ENOENT)
		return 0;
	if (fd < 0)
		return fd;
	do {
		snprintf(moved, sizeof(moved), ".moved-%llx", (unsigned long long)w->n_moved++);
		r = renameat2(dir_fd, name, w->top_fd, moved, RENAME_NOREPLACE) < 0 ? -errno
										    : 0;
	} while (r == -EEXIST);
	if (r == -EBUSY)
		return err_set(err, r, "'%s': something is mounted here; umount it", name);
	if (r < 0 && r != -ENOENT) {
		errno = -r;
		return err_set(err, r, "move '%s': %m", name);
	}
	w->n_done++;
	memcpy(w->next, moved, sizeof(moved));
	return 0;
}

static bool is_dot(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static int remove_entry(struct wipe *w, int dir_fd, const struct dirent *e, struct err *err)
{
	bool is_dir = e->d_type == DT_DIR;
	int r = unlink_entry(dir_fd, e->d_name, is_dir ? AT_REMOVEDIR : 0);

	if (r == -EISDIR) /* the file system gave no type */
		r = unlink_entry(dir_fd, e->d_name, AT_REMOVEDIR);
	if (r == -ENOTEMPTY || r == -EEXIST)
		return move_up(w, dir_fd, e->d_name, err);
	if (r < 0) {
		errno = -r;
		return err_set(err, r, "remove '%s': %m", e->d_name);
	}
	w->n_done++;
	return 0;
}

typedef int (*entry_fn)(struct wipe *w, int dir_fd, const struct dirent *e, struct err *err);

/* Calls `each` for every entry; *ret_n counts them. */
static int call_for_entries(struct wipe *w, int dir_fd, entry_fn each, int64_t *ret_n,
			    struct err *err)
{
	_cleanup_close_ int fd = open_beneath(dir_fd, ".", O_RDONLY | O_DIRECTORY);
	_cleanup_closedir_ DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	int r;

	if (!d)
		return err_set(err, fd < 0 ? fd : -errno, "list a directory: %m");
	TAKE_FD(fd);
	*ret_n = 0;
	while ((errno = 0, e = readdir(d))) {
		if (is_dot(e->d_name))
			continue;
		r = each(w, dir_fd, e, err);
		if (r < 0)
			return r;
		++*ret_n;
	}
	return errno ? err_set(err, -errno, "list a directory: %m") : 0;
}

/* Empties and removes the top's entry `name`, then the directory that was moved up last out of
 * it, and so on: a chain of any depth is followed without listing the top again. */
static int remove_chain(struct wipe *w, const char *name, struct err *err)
{
	char now[NAME_MAX + 1];
	int64_t n;
	int r;

	snprintf(now, sizeof(now), "%s", name);
	do {
		_cleanup_close_ int fd = open_dir(w->top_fd, now, err);

		w->next[0] = '\0';
		if (fd == -ENOENT)
			return 0;
		if (fd < 0)
			return fd;
		r = call_for_entries(w, fd, remove_entry, &n, err);
		if (r < 0)
			return r;
		r = unlink_entry(w->top_fd, now, AT_REMOVEDIR);
		w->n_done += r == 0;
		if (r < 0 && r != -ENOTEMPTY) { /* ENOTEMPTY: for the next round */
			errno = -r;
			return err_set(err, r, "remove '%s': %m", now);
		}
		memcpy(now, w->next, sizeof(w->next));
	} while (now[0]);
	return 0;
}

static int remove_top_entry(struct wipe *w, int top_fd, const struct dirent *e, struct err *err)
{
	int r = unlink_entry(top_fd, e->d_name, e->d_type == DT_DIR ? AT_REMOVEDIR : 0);

	if (r == 0) {
		w->n_done++;
		return 0;
	}
	if (r == -ENOTEMPTY || r == -EISDIR)
		return remove_chain(w, e->d_name, err);
	errno = -r;
	return err_set(err, r, "remove '%s': %m", e->d_name);
}

/* Lists the top again and again until it is empty: what was moved up is found by the next round.
 * A round that removes nothing ends it. */
static int empty_top(struct wipe *w, struct err *err)
{
	int64_t n;

	do {
		uint64_t before = w->n_done;
		int r = call_for_entries(w, w->top_fd, remove_top_entry, &n, err);

		if (r < 0)
			return r;
		if (n && w->n_done == before)
			return err_set(err, -EBUSY,
				       "nothing in it can be removed: is it still in use?");
	} while (n);
	return 0;
}

int wipe_content(int parent_fd, const char *name, struct err *err)
{
	_cleanup_close_ int fd = open_dir(parent_fd, name, err);
	struct wipe w = { .top_fd = fd };

	if (fd == -ENOENT)
		return 0;
	if (fd < 0)
		return fd;
	quota_stop_inherit(fd, NULL); /* else a file of another project cannot be moved here */
	return empty_top(&w, err);
}

int wipe_dir(int parent_fd, const char *name, struct err *err)
{
	int r = unlink_entry(parent_fd, name, AT_REMOVEDIR);

	if (r < 0) {
		errno = -r;
		return err_set(err, r, "remove '%s': %m", name);
	}
	return 0;
}
