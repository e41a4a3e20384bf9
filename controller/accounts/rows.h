/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rows - accounts as a flat list of statements: the form that is written, compared and stored.
 *
 * A statement is a section (key ""), a key with its value (item ""), or one item of a list with
 * its value: "Account" "physics" "Users" "alice" "5". In canonical order: that of
 * the sections and keys of accounts.conf, then of names and items.
 */
#pragma once
#include "controller/accounts/accounts.h"

struct accounts_row {
	const char *section, *name, *key, *item, *value; /* never NULL */
};

struct accounts_rows {
	struct accounts_row *rows;
	size_t n, room;
};
/* Copies. -ENOMEM. */
int accounts_rows_add(struct accounts_rows *r, const struct accounts_row *row);
void accounts_rows_done(struct accounts_rows *r);
void accounts_rows_sort(struct accounts_rows *r);

/* Compares by identity: all but the value. */
int accounts_row_compare(const struct accounts_row *a, const struct accounts_row *b);

/* All statements of `a`, sorted. *ret starts empty, and needs accounts_rows_done() in any
 * case. */
int accounts_rows_of(const struct accounts *a, struct accounts_rows *ret, struct err *err);
/* Sorted rows as a file. *ret is malloc()ed. */
int accounts_rows_write(const struct accounts_rows *r, char **ret, struct err *err);
