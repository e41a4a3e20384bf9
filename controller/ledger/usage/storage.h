/* SPDX-License-Identifier: GPL-2.0-or-later */
/* storage - what accounts occupy on file systems: the newest reading of each, as operators imported it; part of
 * store.h's contract. Nothing here is charged. */
#pragma once
#include "controller/ledger/store.h"

#define STORE_FILESYSTEM_MAX 256 /* bytes of a name, with the NUL */
#define STORE_STORAGE_NONE (-1)	 /* not known, or no limit */

struct store_storage {
	const char *account, *filesystem;
	int64_t bytes;
	int64_t files, limit_bytes, limit_files; /* STORE_STORAGE_NONE */
	int64_t at_ns;				 /* of the reading */
};

/* Stores readings in one transaction; a reading older than the ledger's changes nothing. *ret_stored: how many
 * the ledger has now. */
int store_storage_put(struct store *s, const struct store_storage *rows, size_t n,
		      int64_t *ret_stored, struct err *err);
/* Calls fn for each file system of the account, by name. */
typedef int (*store_storage_fn)(void *ctx, const struct store_storage *row, struct err *err);
int store_storage_each(struct store *s, const char *account, store_storage_fn fn, void *ctx,
		       struct err *err);
/* Removes all readings of a file system. *ret_removed: how many there were. */
int store_storage_remove(struct store *s, const char *filesystem, int64_t *ret_removed,
			 struct err *err);
