/* SPDX-License-Identifier: GPL-2.0-or-later */
/* private - keeps files with users' scripts, environments and accounts readable by their daemon
 * alone.
 *
 * Both daemons create files under umask 077. These functions mend what an earlier version, a
 * restore from a backup or an administrator's copy left readable.
 */
#pragma once

struct err;

struct private_files {
	const char *dir;
	const char *name; /* these files, and those whose names go on with - or . after it;
			   * NULL: every regular file in `dir` */
};

/* Takes from group and others whatever they may do with the regular files in the directory
 * (links and directories are left alone). The number of files mended, with the first one's name
 * and mode in *err for the log; 0: none had to be. -errno: the directory cannot be read, or
 * some file could not be mended (its name in *err); the others are mended all the same. */
int private_mend(const struct private_files *files, struct err *err);
/* The same of a database file, its write-ahead log and copies beside it. 0 where `path` does
 * not exist yet. */
int private_mend_database(const char *path, struct err *err);
/* Is `path` a regular file that others than its owner and group may not read, nor the group write: the mode that a
 * file with a secret must have? -EINVAL: it is not; -errno: it cannot be looked at. */
int private_check(const char *path, struct err *err);
