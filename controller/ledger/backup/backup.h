/* SPDX-License-Identifier: GPL-2.0-or-later */
/* backup - copies of a ledger in a file, and ledgers that are restored from them; part of store.h's contract.
 *
 * A backup is two files in one directory: FILE, the copy of the ledger, and FILE.json, its manifest (versions, time, sums, SHA-256 of the
 * copy). Both are written to temporary names, synced, and renamed: the manifest first, then the copy. A copy under its final name is
 * therefore complete.
 */
#pragma once
#include "controller/ledger/restored.h"
#include "controller/ledger/store.h"

#define STORE_BACKUP_PATH_MAX 4096

/* What a manifest says. */
struct store_manifest {
	char version[32], ledger[SYNC_LEDGER_MAX], sha256[65];
	int64_t schema; /* of the copy */
	int64_t taken_ns, bytes;
	int64_t jobs, imported, attempts, last_job;  /* jobs: not imported ones */
	int64_t charge_requested_ms, charge_used_ms; /* of attempts */
	bool is_verified;
	int64_t differences; /* of store_verify(), where it is verified */
};

struct store_backup {
	const char *from;
	const char *
		to; /* a directory, in which the backup is named by its time; or a file that does not exist */
	int64_t now_ns;
	int64_t keep;	  /* of a directory: how many backups stay; 0: all */
	bool is_verified; /* a second copy is opened, checked and compared */
	void (*on_progress)(void *ctx, int64_t done, int64_t pages); /* or NULL */
	void *ctx;
};
struct store_backed_up {
	char path[STORE_BACKUP_PATH_MAX];
	struct store_manifest manifest;
	int64_t copy_ns; /* how long the transaction was open that the copy reads */
	int64_t removed; /* former backups */
};
/* -EEXIST: `to` is a file; -EBUSY: another backup writes it; -EBADMSG: the copy is damaged, since the ledger is; -ENOSPC, ...: nothing
 * was made, and former backups stay. Where sums differ a backup is made all the same, and none is removed. */
int store_backup(const struct store_backup *how, struct store_backed_up *ret, struct err *err);

struct store_restoration {
	const char *from, *to;
	int64_t now_ns,
		first_job; /* 0: far enough behind the backup's last one, by the time that has passed */
	bool is_verified;
};
struct store_restored_result {
	struct store_manifest manifest;
	int64_t first_job;
};
/* -EEXIST: `to` is not empty; -EBUSY: a controller has it; -EBADMSG: the backup is not as its manifest says. `to` is made last. */
int store_restore(const struct store_restoration *how, struct store_restored_result *ret,
		  struct err *err);
/* The ledger at `to` was restored by other means (PostgreSQL's, a copied file) to its state at taken_ns. No controller may have it. */
int store_restore_mark(const char *to, const struct store_restored *how, int64_t *ret_first_job,
		       struct err *err);
