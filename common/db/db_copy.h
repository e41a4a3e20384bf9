/* SPDX-License-Identifier: GPL-2.0-or-later */
/* db_copy - copies a SQLite database that other processes write meanwhile.
 *
 * The copy is what one transaction sees: it begins when the copy begins, and in WAL mode it delays no writer; until it ends, the
 * write-ahead log of the source grows by what is written.
 */
#pragma once
#include <stdint.h>

struct err;

struct db_copy {
	const char *from;
	const char *to; /* an empty file; its mode stays */
	void (*on_progress)(void *ctx, int64_t done, int64_t pages); /* or NULL */
	void *ctx;
};
/* The copy is not synced. -ENOENT: no such source; -ENOSPC; -EIO, ...: `to` is not to be used. */
int db_copy(const struct db_copy *how, struct err *err);
/* The schema version of a closed database (db_open()), which this does not open. -EBADMSG: it is none. */
int db_copy_version(const char *path, int64_t *ret, struct err *err);
