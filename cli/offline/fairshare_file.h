/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fairshare_file - reads a tree of accounts and users from CSV, for `reeve fairshare`.
 *
 * Columns id,parent_id,account,user,raw_shares,order,leaf_usage. The row without parent_id is
 * the root; a row without user is an account. Every fault is reported with FILE:LINE and what to
 * do.
 *
 * Usage is stored exactly, on one scale for the whole tree: as many decimals as the row with the
 * most has. Where the digits before and behind the point are together more than 32, it is rounded
 * (half up) to the 9th decimal.
 */
#pragma once
#include "controller/policy/fairshare/fairshare.h"

struct fairshare_file_name {
	char *id, *parent, *account, *user, *raw_shares, *leaf_usage; /* as written */
	size_t line;
};

struct fairshare_file {
	struct fairshare_row *rows;	   /* in the order of the file */
	struct fairshare_file_name *names; /* likewise */
	size_t n;
	fairshare_usage unit; /* stored usage / unit = usage in the file */
	struct fairshare_tree *tree;
};

/* The caller calls fairshare_file_done(), also after an error. -EINVAL, -ERANGE, -errno. */
int fairshare_file_load(const char *path, struct fairshare_file *ret, struct err *err);
void fairshare_file_done(struct fairshare_file *f);
