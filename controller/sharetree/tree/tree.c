/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tree.c - counts decayed usage in the rows of a share tree and ranks them; see tree.h. Usage
 * is counted as of one moment (at_ns): decay multiplies all rows by the same factor, which
 * changes neither ratios nor ranks, so that a charge touches its own path only. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "controller/sharetree/tree/tree.h"

/* Usage is counted in billionths as of at_ns. The longer ago that is, the more of them a new
 * charge has (2^(age / half-life)). After this many half-lives at_ns is moved and all is
 * counted again. */
#define HALF_LIVES_KEPT 20
#define COUNTED_MAX 0x1p120

void tree_forget_rows(struct tree *t)
{
	t->sums = fairshare_tree_free(t->sums);
	free(t->rows);
	free(t->share_rows);
	free(t->results);
	t->rows = NULL;
	t->share_rows = NULL;
	t->results = NULL;
	t->n_rows = 0;
	t->is_ranked = false;
}

void tree_done(struct tree *t)
{
	tree_forget_rows(t);
	free(t->entries);
	free(t->slots);
}

/* ---- usage in rows ---- */

/* The entry's usage in whole billionths as of at_ns; < 0: too many. */
static double count_usage(const struct tree *t, const struct decay_rule *rule,
			  const struct tree_entry *e)
{
	bool is_reset = decay_last_reset(rule, t->at_ns) > e->usage.at_ns;
	double v = is_reset ? 0 : e->usage.value * 1e9;

	if (rule->half_life_ns)
		v *= exp2((double)(e->usage.at_ns - t->at_ns) / (double)rule->half_life_ns);
	v = nearbyint(v);
	return v < COUNTED_MAX ? v : -1;
}

/* The row that an association counts in: its own, that of its account, or the root. */
static int32_t row_for(const struct tree *t, const struct tree_entry *e)
{
	const struct tree_entry *account;

	if (e->is_row)
		return e->row;
	account = tree_find(t, e->account, "");
	return account && account->is_row ? account->row : 0;
}

static int count_in_rows(struct tree *t, const struct tree_rule *rule, struct err *err)
{
	for (size_t i = 0; i < t->n_entries; i++) {
		struct tree_entry *e = &t->entries[i];
		double v = count_usage(t, &rule->decay, e);

		if (v < 0)
			return err_set(err, -ERANGE,
				       "usage of %s in %s is larger than can be counted",
				       e->user, e->account);
		e->row = row_for(t, e);
		e->counted = (fairshare_usage)v;
		t->share_rows[e->row].leaf_usage += e->counted;
	}
	return 0;
}

static int make_rows(struct tree *t, const struct tree_rule *rule, int64_t now_ns,
		     struct err *err)
{
	int32_t fault;
	int r;

	tree_forget_rows(t);
	t->at_ns = now_ns;
	r = tree_make_rows(t, rule, err);
	if (r < 0)
		return r;
	t->results = calloc(t->n_rows, sizeof(*t->results));
	if (!t->results)
		return err_set(err, -ENOMEM, "out of memory");
	r = count_in_rows(t, rule, err);
	if (r < 0)
		return r;
	r = fairshare_tree_new(t->share_rows, t->n_rows, &t->sums, &fault, err);
	if (r < 0 && fault >= 0)
		err_prefix(err, r, "account %s", t->rows[fault].account);
	return r;
}

/* Must the rows be made again: a reset has passed, or at_ns is too long ago? */
static bool is_old(const struct tree *t, const struct decay_rule *rule, int64_t now_ns)
{
	if (decay_last_reset(rule, now_ns) > t->at_ns)
		return true;
	return rule->half_life_ns && (now_ns - t->at_ns) / HALF_LIVES_KEPT > rule->half_life_ns;
}

int tree_changed(struct tree *t, const struct tree_rule *rule, struct tree_entry *e,
		 int64_t now_ns)
{
	struct fairshare_row *row;
	fairshare_usage now;
	double v;

	e->was_charged = true;
	if (!t->sums)
		return 0;
	/* Without accounts a new association needs a new row; and what cannot be updated in
	 * place is made again on the next request. */
	v = count_usage(t, &rule->decay, e);
	if ((!rule->accounts && !e->is_row) || is_old(t, &rule->decay, now_ns) || v < 0) {
		tree_forget_rows(t);
		return 0;
	}
	if (e->row == FAIRSHARE_NO_ROW)
		e->row = row_for(t, e);
	now = (fairshare_usage)v;
	if (fairshare_tree_change(t->sums, e->row, e->counted, now) < 0)
		return -ERANGE;
	row = &t->share_rows[e->row];
	row->leaf_usage = row->leaf_usage - e->counted + now;
	e->counted = now;
	t->is_ranked = false;
	return 0;
}

static bool has_gone_entry(const struct tree *t)
{
	for (size_t i = 0; i < t->n_entries; i++)
		if (!t->entries[i].is_row && t->entries[i].was_charged)
			return true;
	return false;
}

int tree_rank(struct tree *t, const struct tree_rule *rule, int64_t now_ns, struct err *err)
{
	int r = 0;

	if (!t->sums || is_old(t, &rule->decay, now_ns))
		r = make_rows(t, rule, now_ns, err);
	if (r < 0) {
		tree_forget_rows(t);
		return r;
	}
	if (t->is_ranked)
		return 0;
	r = rule->fairshare == CONFIG_FAIR_CLASSIC
		    ? fairshare_classic(t->sums, 1, t->results, err)
		    : fairshare_fair_tree(t->sums, FAIRSHARE_TIES_MERGE, t->results, err);
	t->is_ranked = r == 0;
	t->has_gone = has_gone_entry(t);
	return r;
}
