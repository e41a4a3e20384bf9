/* fairshare_file - a tree of accounts and users as CSV, for `reeve fairshare`.
 *
 * Columns id,parent_id,account,user,raw_shares,order,leaf_usage. The row without parent_id is
 * the root; a row without user is an account. Every fault is told with FILE:LINE and what to
 * do.
 *
 * Usage is held exactly, on one scale for the whole tree: as many decimals as the row with most
 * has. Where the digits before and behind the point are together more than 32, it is rounded
 * (half up) to the 9th decimal.
 */
#pragma once
#include "controller/policy/fairshare/fairshare.h"

struct fairshare_name {
	char *id, *parent, *account, *user, *raw_shares, *leaf_usage; /* as written */
	size_t line;
};

struct fairshare_file {
	struct fairshare_row *rows;   /* in the order of the file */
	struct fairshare_name *names; /* likewise */
	size_t n;
	fairshare_usage unit; /* this many of the scale are 1 */
	struct fairshare_tree *tree;
};

/* *ret needs fairshare_file_done(), also after a failure. -EINVAL, -ERANGE, -errno. */
int fairshare_file_load(const char *path, struct fairshare_file *ret, struct err *err);
void fairshare_file_done(struct fairshare_file *f);

/* Digits of a number as written: value = 0.DIGITS * 10^point. */
#define DECIMAL_DIGITS_MAX 80
struct decimal {
	char digits[DECIMAL_DIGITS_MAX + 1]; /* begins and ends with another digit than 0 */
	int n, point;
};

/* "12", "0.5", "1.5e10", ".5", "3.": false for anything else, a sign in front included. What is
 * behind the 80th digit is dropped. */
bool decimal_parse(const char *text, struct decimal *ret);
/* value * 10^decimals, rounded half up. The caller knows that it fits: point + decimals <= 38.
 */
fairshare_usage decimal_scale(const struct decimal *d, int decimals);
