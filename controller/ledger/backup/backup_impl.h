/* SPDX-License-Identifier: GPL-2.0-or-later */
/* backup_impl - what the files of this folder share; no other includes it. */
#pragma once
#include <stddef.h>
#include "controller/ledger/backup/backup.h"

/* files.c: PATH with an end; -ENAMETOOLONG. */
int backup_path(char ret[static STORE_BACKUP_PATH_MAX], const char *path, const char *end,
		struct err *err);
/* Copies an open file from its offset to a new file of mode 0600, syncs the copy, and gives its size and SHA-256 in hex. */
struct backup_digest {
	int64_t bytes;
	char sha256[65];
};
int backup_copy_file(int from, const char *to, struct backup_digest *ret, struct err *err);
int backup_sync_file(const char *path, struct err *err);
/* The directory that a file is in. */
int backup_sync_dir_of(const char *path, struct err *err);
/* A database and its write-ahead log; what is not there is no error. */
void backup_unlink(const char *path);
/* -ENOENT: no log with something in it is left beside the closed database. */
int backup_check_closed(const char *path, struct err *err);

/* manifest.c: -ENOENT: none; -EBADMSG: not readable. */
int backup_manifest_write(const char *path, const struct store_manifest *m, struct err *err);
int backup_manifest_read(const char *path, struct store_manifest *ret, struct err *err);
/* Opens a copy of the ledger, which may change it, and counts what the manifest has of it; m->is_verified: checks it too. */
int backup_count(struct store *s, struct store_manifest *m, struct err *err);

/* keep.c: removes what killed backups left in the directory. */
void backup_remove_parts(const char *dir);
/* Removes all but the `keep` newest backups. *ret: how many. */
int backup_keep(const char *dir, int64_t keep, int64_t *ret, struct err *err);
