/* SPDX-License-Identifier: GPL-2.0-or-later */
/* files.c - see files.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include "cli/admin/doctor/gather/files.h"

void gather_path(struct judge_path *p)
{
	struct stat st;

	if (stat(p->path, &st) < 0) {
		if (errno != ENOENT && errno != ENOTDIR)
			snprintf(p->why, sizeof(p->why), "%s", strerror(errno));
		return;
	}
	p->is_there = true;
	p->is_of_kind =
		p->kind == JUDGE_PATH_DIRECTORY ? S_ISDIR(st.st_mode) : S_ISREG(st.st_mode);
	p->mode = st.st_mode & 07777;
	p->uid = st.st_uid;
}

void gather_disk(struct judge_disk *d)
{
	char path[JUDGE_PATH_MAX];
	struct statvfs fs;
	int r;

	snprintf(path, sizeof(path), "%s", d->path);
	while ((r = statvfs(path, &fs)) < 0 && errno == ENOENT && strchr(path + 1, '/'))
		*strrchr(path, '/') = '\0';
	if (r < 0) {
		snprintf(d->why, sizeof(d->why), "%s", strerror(errno));
		return;
	}
	d->free_bytes = (int64_t)fs.f_bavail * (int64_t)fs.f_frsize;
	d->free_files = fs.f_files ? (int64_t)fs.f_favail : -1;
}
