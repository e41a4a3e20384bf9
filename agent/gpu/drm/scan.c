/* SPDX-License-Identifier: GPL-2.0-or-later */
/* scan.c - finds every client of the node's DRM devices in /proc. A descriptor is recognised by
 * its device number, not by its path, which a job's own mounts could change. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include "agent/gpu/drm/drm_impl.h"

#define DRM_MAJOR 226
#define CLIENTS_MAX 65536

struct scan {
	struct drm *d;
	struct drm_client *list;
	size_t n, size;
	pid_t pid;
};

static int gpu_of(const struct drm *d, dev_t rdev)
{
	for (int i = 0; i < d->n_gpus; i++) {
		const struct gpu_device *dev = &d->b->devices[d->gpus[i].device].d;

		for (int f = 0; f < dev->n_files; f++)
			if (dev->files[f].major == major(rdev) &&
			    dev->files[f].minor == minor(rdev))
				return i;
	}
	return -1;
}

static int add_client(struct scan *s, int gpu, const struct fdinfo *info)
{
	if (s->n == CLIENTS_MAX) {
		book_note(s->d->b, "more than %d DRM clients: the others are not measured",
			  CLIENTS_MAX);
		return 0;
	}
	if (s->n == s->size) {
		size_t size = s->size ? s->size * 2 : 16;
		struct drm_client *more = reallocarray(s->list, size, sizeof(*more));

		if (!more)
			return -ENOMEM;
		s->list = more;
		s->size = size;
	}
	s->list[s->n++] = (struct drm_client){
		.gpu = gpu, .pid = s->pid, .id = info->client, .info = *info
	};
	return 0;
}

static int read_fdinfo(struct scan *s, int proc_fd, const char *fd, int gpu)
{
	_cleanup_close_ int file = -1;
	struct fdinfo info;
	char path[64], text[8192];
	ssize_t n;

	snprintf(path, sizeof(path), "%d/fdinfo/%.20s", (int)s->pid, fd);
	file = openat(proc_fd, path, O_RDONLY | O_CLOEXEC);
	n = file < 0 ? -1 : read(file, text, sizeof(text));
	if (n <= 0)
		return 0; /* closed meanwhile */
	if (n == sizeof(text) || fdinfo_parse(text, (size_t)n, &info) < 0) {
		book_note(s->d->b,
			  "fdinfo of a DRM file does not read as documented: it is not "
			  "measured");
		return 0;
	}
	if (!info.has_client) {
		book_note(s->d->b,
			  "driver %s does not tell DRM clients apart: processes are not "
			  "measured",
			  info.driver);
		return 0;
	}
	return add_client(s, gpu, &info);
}

static int scan_process(struct scan *s, int proc_fd)
{
	_cleanup_closedir_ DIR *dir = NULL;
	_cleanup_close_ int fd = -1;
	struct dirent *e;
	struct stat st;
	char path[32];
	int r = 0;

	snprintf(path, sizeof(path), "%d/fd", (int)s->pid);
	fd = openat(proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir)
		return 0; /* ended meanwhile */
	fd = -1;
	while (r == 0 && (e = readdir(dir))) {
		int gpu;

		if (e->d_name[0] == '.' || fstatat(dirfd(dir), e->d_name, &st, 0) < 0 ||
		    !S_ISCHR(st.st_mode) || major(st.st_rdev) != DRM_MAJOR)
			continue;
		gpu = gpu_of(s->d, st.st_rdev);
		if (gpu >= 0)
			r = read_fdinfo(s, proc_fd, e->d_name, gpu);
	}
	return r;
}

static int by_client(const void *a, const void *b)
{
	const struct drm_client *x = a, *y = b;

	if (x->gpu != y->gpu)
		return x->gpu < y->gpu ? -1 : 1;
	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

static size_t keep_one_each(struct drm_client *list, size_t n)
{
	size_t to = 0;

	for (size_t i = 0; i < n; i++)
		if (!to || list[to - 1].gpu != list[i].gpu || list[to - 1].id != list[i].id)
			list[to++] = list[i];
	return to;
}

int drm_scan(struct drm *d, struct drm_client **ret, size_t *ret_n)
{
	struct scan s = { .d = d };
	_cleanup_closedir_ DIR *proc = opendir(d->o.proc);
	struct dirent *e;
	char *end;
	int r = 0;

	if (!proc)
		return -errno;
	while (r == 0 && (e = readdir(proc))) {
		long pid = strtol(e->d_name, &end, 10);

		if (*end || pid <= 0)
			continue;
		s.pid = (pid_t)pid;
		r = scan_process(&s, dirfd(proc));
	}
	if (r < 0) {
		free(s.list);
		return r;
	}
	if (s.n)
		qsort(s.list, s.n, sizeof(*s.list), by_client);
	*ret = s.list;
	*ret_n = keep_one_each(s.list, s.n);
	return 0;
}
