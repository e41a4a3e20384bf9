/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fairshare.c - checks the rows of a tree, finds share parents and levels, and sums usage,
 * before either algorithm runs; see fairshare.h. */
#include <errno.h>
#include "common/err.h"
#include "controller/policy/fairshare/fairshare_tree.h"

static int check_row(const struct fairshare_row *rows, size_t n, int32_t row, struct err *err)
{
	const struct fairshare_row *r = &rows[row];

	if (r->parent < FAIRSHARE_NO_ROW || r->parent >= (int64_t)n)
		return err_set(err, -EINVAL, "the parent is not in the tree");
	if (r->parent != FAIRSHARE_NO_ROW && rows[r->parent].user)
		return err_set(err, -EINVAL,
			       "the parent is a user: only an account can have "
			       "rows below it");
	if (r->parent == FAIRSHARE_NO_ROW && r->user)
		return err_set(err, -EINVAL,
			       "a user cannot be the root: name the account that "
			       "the user is below");
	if (r->raw_shares < FAIRSHARE_PARENT)
		return err_set(err, -EINVAL, "the shares are negative");
	if (r->raw_shares > FAIRSHARE_SHARES_MAX)
		return err_set(err, -EINVAL,
			       "the shares are above %d: only their ratio "
			       "counts, so divide all of the level",
			       FAIRSHARE_SHARES_MAX);
	return 0;
}

/* *ret_fault: the row at fault. */
static int check_rows(struct fairshare_tree *t, int32_t *ret_fault, struct err *err)
{
	int r = 0;

	t->root = FAIRSHARE_NO_ROW;
	*ret_fault = FAIRSHARE_NO_ROW;
	for (int32_t i = 0; i < (int64_t)t->n; i++) {
		r = check_row(t->rows, t->n, i, err);
		if (r == 0 && t->rows[i].parent == FAIRSHARE_NO_ROW &&
		    t->root != FAIRSHARE_NO_ROW)
			r = err_set(err, -EINVAL,
				    "a second root: every row but one must have "
				    "a parent");
		if (r < 0) {
			*ret_fault = i;
			return r;
		}
		if (t->rows[i].parent == FAIRSHARE_NO_ROW)
			t->root = i;
		t->n_users += t->rows[i].user;
	}
	if (t->root == FAIRSHARE_NO_ROW)
		return err_set(err, -EINVAL, "no root: one row must have no parent");
	return 0;
}

/* Counting sort of rows by above[]: below[at[a]] up to below[at[a + 1]] are those of a, in
 * their own order. `at` has n + 2 places. */
static void group_children(const struct fairshare_tree *t, const int32_t *above, int32_t *at,
			   int32_t *below)
{
	for (size_t i = 0; i < t->n; i++)
		if (above[i] != FAIRSHARE_NO_ROW)
			at[above[i] + 2]++;
	for (size_t i = 2; i < t->n + 2; i++)
		at[i] += at[i - 1];
	for (size_t i = 0; i < t->n; i++)
		if (above[i] != FAIRSHARE_NO_ROW)
			below[at[above[i] + 1]++] = (int32_t)i;
}

/* A row of the cycle above a row that the root does not reach: after n steps up, any path
 * without a root is inside its cycle. */
static int32_t find_cycle_row(const struct fairshare_tree *t, int32_t row)
{
	for (size_t i = 0; i < t->n; i++)
		row = t->rows[row].parent;
	return row;
}

/* Breadth first from the root: share parents, and t->down. `work`: 3 n + 2 zeroes. */
static int walk_down(struct fairshare_tree *t, int32_t *work, int32_t *ret_fault,
		     struct err *err)
{
	int32_t *above = work, *below = work + t->n, *at = below + t->n, row, up;
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++) {
		above[i] = t->rows[i].parent;
		t->share_parent[i] = FAIRSHARE_NO_ROW;
	}
	group_children(t, above, at, below);
	t->down[n++] = t->root;
	for (size_t done = 0; done < n; done++) {
		row = t->down[done];
		up = row == t->root || !fairshare_is_parent(&t->rows[row])
			     ? row
			     : t->share_parent[row];
		for (int32_t i = at[row]; i < at[row + 1]; i++) {
			t->share_parent[below[i]] = up;
			t->down[n++] = below[i];
		}
	}
	for (size_t i = 0; n < t->n && i < t->n; i++) {
		if (t->share_parent[i] != FAIRSHARE_NO_ROW || (int32_t)i == t->root)
			continue;
		*ret_fault = find_cycle_row(t, (int32_t)i);
		return err_set(err, -EINVAL,
			       "the row is its own ancestor: following the "
			       "parents from it comes back to it");
	}
	return 0;
}

/* Adds each row's usage to its parent, and its shares to its level, from the leaves up: t->down
 * backwards. */
static int sum_up(struct fairshare_tree *t, int32_t *ret_fault, struct err *err)
{
	int32_t row, up;

	for (size_t i = 0; i < t->n; i++)
		t->usage[i] = t->rows[i].leaf_usage;
	for (size_t i = t->n; i-- > 1;) {
		row = t->down[i];
		up = t->rows[row].parent;
		if (__builtin_add_overflow(t->usage[up], t->usage[row], &t->usage[up])) {
			*ret_fault = row;
			return err_set(err, -ERANGE,
				       "the usage of the tree does not fit in "
				       "128 bits: give it in a larger unit");
		}
		if (!fairshare_is_parent(&t->rows[row]))
			t->level_sum[t->share_parent[row]] += (uint64_t)t->rows[row].raw_shares;
	}
	return 0;
}

/* Lists the rows of each level. A `parent` account is in none: its children are in the level
 * above. `above`: scratch, n places. */
static void make_levels(struct fairshare_tree *t, int32_t *above)
{
	for (size_t i = 0; i < t->n; i++) {
		above[i] = t->share_parent[i];
		if (t->rows[i].user || !fairshare_is_parent(&t->rows[i]) || above[i] < 0)
			continue;
		t->has_parent_account[above[i]] = true;
		above[i] = FAIRSHARE_NO_ROW;
	}
	group_children(t, above, t->level_at, t->level);
}

static int build_tree(struct fairshare_tree *t, int32_t *ret_fault, struct err *err)
{
	_cleanup_free_ int32_t *work = calloc(3 * t->n + 2, sizeof(*work));
	int r;

	t->down = calloc(t->n, sizeof(*t->down));
	t->share_parent = calloc(t->n, sizeof(*t->share_parent));
	t->level_sum = calloc(t->n, sizeof(*t->level_sum));
	t->usage = calloc(t->n, sizeof(*t->usage));
	t->has_parent_account = calloc(t->n, sizeof(*t->has_parent_account));
	t->level = calloc(t->n, sizeof(*t->level));
	t->level_at = calloc(t->n + 2, sizeof(*t->level_at));
	if (!work || !t->down || !t->share_parent || !t->level_sum || !t->usage ||
	    !t->has_parent_account || !t->level || !t->level_at)
		return err_set(err, -ENOMEM, "out of memory");
	r = walk_down(t, work, ret_fault, err);
	if (r == 0)
		r = sum_up(t, ret_fault, err);
	if (r == 0)
		make_levels(t, work);
	return r;
}

int fairshare_tree_new(const struct fairshare_row *rows, size_t n, struct fairshare_tree **ret,
		       int32_t *ret_fault, struct err *err)
{
	struct fairshare_tree *t = calloc(1, sizeof(*t));
	int r;

	*ret_fault = FAIRSHARE_NO_ROW;
	if (!t)
		return err_set(err, -ENOMEM, "out of memory");
	t->rows = rows;
	t->n = n;
	r = n > INT32_MAX ? err_set(err, -EINVAL, "more than %d rows", INT32_MAX)
			  : check_rows(t, ret_fault, err);
	if (r == 0)
		r = build_tree(t, ret_fault, err);
	if (r < 0) {
		fairshare_tree_free(t);
		return r;
	}
	*ret = t;
	return 0;
}

/* The root's sum is the largest: where it does not overflow, none does, so one check before any
 * change is enough. */
int fairshare_tree_change(struct fairshare_tree *t, int32_t row, fairshare_usage was,
			  fairshare_usage now)
{
	fairshare_usage all = t->usage[t->root] - was;

	if (__builtin_add_overflow(all, now, &all))
		return -ERANGE;
	for (; row != FAIRSHARE_NO_ROW; row = t->rows[row].parent)
		t->usage[row] = t->usage[row] - was + now;
	return 0;
}

struct fairshare_tree *fairshare_tree_free(struct fairshare_tree *t)
{
	if (!t)
		return NULL;
	free(t->down);
	free(t->share_parent);
	free(t->level_sum);
	free(t->usage);
	free(t->has_parent_account);
	free(t->level);
	free(t->level_at);
	free(t);
	return NULL;
}
