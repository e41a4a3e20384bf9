/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wipe.h - remove a directory tree of a hostile user.
 *
 * Private to agent/enforce/jobfs/. No recursion and three descriptors whatever the depth: a
 * directory that is not empty is moved up to the top of the tree and emptied there. Never
 * follows a symbolic link, never enters a mount.
 */
#pragma once

struct err;

/* Removes all that is in the directory `name` of `parent_fd`; wipe_dir() then removes the empty
 * directory itself. Both succeed if it is gone already. -EXDEV, -EBUSY: something is mounted
 * inside; err names it. Blocking. */
int wipe_content(int parent_fd, const char *name, struct err *err);
int wipe_dir(int parent_fd, const char *name, struct err *err);
