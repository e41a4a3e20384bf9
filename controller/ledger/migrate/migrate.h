/* SPDX-License-Identifier: GPL-2.0-or-later */
/* migrate - moves a ledger from a file (SQLite) to PostgreSQL; part of store.h's contract.
 *
 * Each table is copied in the order of its primary key, in transactions of a few MB, and then every row
 * is read from both sides and compared. The file is not changed, and nothing else can write it
 * meanwhile. A migration that was interrupted at any point goes on from there when it is called again:
 * the last key that is in a table says how far it is. Until every row was compared no controller and no
 * command opens the target (table reeve_migration, pg.c).
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct err;

enum store_migrate_stage { STORE_MIGRATE_COPY, STORE_MIGRATE_INDICES, STORE_MIGRATE_COMPARE };
struct store_migrate_progress {
	enum store_migrate_stage stage;
	const char *table; /* "" while indices are made */
	int64_t rows;	   /* of this stage so far, all tables together */
};
/* A row that is not the same on both sides. */
struct store_migrate_difference {
	const char *table;
	const char *key;	     /* "job=17, attempt=1" */
	const char *column;	     /* NULL: one side has no such row */
	const char *source, *target; /* the values, in the text form of COPY; NULL: no row */
};
struct store_migration {
	const char *from, *to; /* a file; postgresql://... */
	bool is_restart;       /* what an unfinished migration has copied is removed first */
	void (*on_progress)(void *ctx, const struct store_migrate_progress *p); /* or NULL */
	int (*on_difference)(void *ctx, const struct store_migrate_difference *d,
			     struct err *err);
	void *ctx;
};
struct store_migrated {
	int64_t tables;
	int64_t copied, bytes;	       /* rows, and their size as COPY's text, of this run */
	int64_t compared, differences; /* rows */
	bool has_continued;	       /* an earlier run had begun */
};

/* 0 also where there are differences: then the target stays closed. -EBUSY: a controller uses the file,
 * or a process writes the target; -EEXIST: the target has rows that are not of an unfinished migration of
 * this file; -ESTALE: the file has changed since the unfinished migration began; -EBADMSG: a row that
 * PostgreSQL cannot store, which the message names; -EINVAL: not from a file to PostgreSQL. */
int store_migrate(const struct store_migration *how, struct store_migrated *ret,
		  struct err *err);
