/* SPDX-License-Identifier: GPL-2.0-or-later */
/* files.c - see files.h. */
#include <inttypes.h>
#include <string.h>
#include "cli/admin/doctor/judge/files.h"

#define FEW_FILES 1000

static void judge_path(struct judge_report *r, const struct judge_path *p)
{
	uint32_t extra = p->mode & p->forbidden;

	if (*p->why) {
		judge_add(r, "modes", JUDGE_UNCHECKED, "%s was not looked at: %s", p->path,
			  p->why);
		return;
	}
	if (!p->is_there) {
		if (p->may_lack)
			return;
		judge_add(r, "modes", JUDGE_FAIL, "%s is not there", p->path);
		judge_remedy(r,
			     p->kind == JUDGE_PATH_DIRECTORY
				     ? "systemd-tmpfiles --create; or install -d %s"
				     : "install the package that has %s again",
			     p->path);
		return;
	}
	if (!p->is_of_kind) {
		judge_add(r, "modes", JUDGE_FAIL, "%s is no %s", p->path,
			  p->kind == JUDGE_PATH_DIRECTORY ? "directory" : "regular file");
		judge_remedy(r, "ls -ld %s", p->path);
		return;
	}
	if (p->owner >= 0 && p->uid != p->owner) {
		judge_add(r, "modes", JUDGE_FAIL, "%s belongs to uid %u, not to uid %" PRId64,
			  p->path, p->uid, p->owner);
		judge_remedy(r, "chown %" PRId64 " %s", p->owner, p->path);
	}
	if (extra) {
		judge_add(r, "modes", JUDGE_FAIL, "%s has mode %04o: group or others may %s it",
			  p->path, p->mode, extra & 022 ? "write" : "read");
		judge_remedy(r, "chmod %04o %s", p->mode & ~p->forbidden, p->path);
	}
}

void judge_paths(struct judge_report *r, const struct judge_path *paths, size_t n)
{
	size_t before = r->n, n_there = 0;

	for (size_t i = 0; i < n; i++) {
		judge_path(r, &paths[i]);
		n_there += paths[i].is_there;
	}
	if (r->n == before)
		judge_add(r, "modes", JUDGE_OK,
			  "%zu files and directories have the owners and modes that they must "
			  "have",
			  n_there);
}

void judge_disk(struct judge_report *r, const struct judge_disk *d)
{
	const int64_t mib = 1 << 20;

	if (*d->why) {
		judge_add(r, d->check, JUDGE_UNCHECKED, "the disk of %s was not looked at: %s",
			  d->what, d->why);
	} else if (d->free_bytes < d->need_bytes) {
		judge_add(r, d->check, JUDGE_FAIL,
			  "%s: %" PRId64 " MiB are left for %s, which needs %" PRId64 " MiB",
			  d->path, d->free_bytes / mib, d->what, d->need_bytes / mib);
		judge_remedy(r, "%s", d->remedy);
	} else if (d->free_files >= 0 && d->free_files < FEW_FILES) {
		judge_add(r, d->check, JUDGE_FAIL, "%s: %" PRId64 " files can still be made",
			  d->path, d->free_files);
		judge_remedy(r, "df -i %s", d->path);
	} else if (d->free_bytes < d->wish_bytes) {
		judge_add(r, d->check, JUDGE_WARN,
			  "%s: %" PRId64 " MiB are left for %s; %" PRId64
			  " MiB would be enough for long",
			  d->path, d->free_bytes / mib, d->what, d->wish_bytes / mib);
		judge_remedy(r, "%s", d->remedy);
	} else {
		judge_add(r, d->check, JUDGE_OK, "%s: %" PRId64 " MiB are left for %s", d->path,
			  d->free_bytes / mib, d->what);
	}
}
