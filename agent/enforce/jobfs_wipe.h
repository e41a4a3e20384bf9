/* jobfs_wipe - remove a directory tree that somebody unfriendly has made.
 *
 * Only agent/enforce/jobfs*.c. No recursion and three descriptors whatever the depth: a
 * directory that is not empty is moved up to the top of the tree and emptied there. Never
 * follows a symbolic link, never enters a mount.
 */
#pragma once

struct err;

/* Removes `name` (a directory) in `parent_fd` and all that is in it. Already gone is
 * success. -EXDEV / -EBUSY: something is mounted inside; err names it. Blocking. */
int wipe_tree(int parent_fd, const char *name, struct err *err);
