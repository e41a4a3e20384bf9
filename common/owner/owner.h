/* SPDX-License-Identifier: GPL-2.0-or-later */
/* owner - how a command of root's works on files below directories of other users, who may put a link in the place of any
 * file there: as their owner, or past no link. */
#pragma once

struct err;

/* For root alone; other users go on as they are. Where a directory on the way to `path` (or `path` itself, a directory) belongs to another
 * uid, the process becomes the first such uid, with its group and home and no others, for good. A part of `path` may be
 * missing: what is there decides. -ELOOP: root would follow a symbolic link on the way. */
int owner_become(const char *path, struct err *err);
/* Opens a file for reading; root goes through no symbolic link. A file descriptor; -errno, without words. */
int owner_open(const char *path);
