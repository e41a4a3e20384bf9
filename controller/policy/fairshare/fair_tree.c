/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fair_tree.c - fairshare by the Fair Tree algorithm (slurm.schedmd.com/fair_tree.html); see
 * fairshare.h. */
#include <errno.h>
#include <math.h>
#include "common/err.h"
#include "controller/policy/fairshare/level.h"

/* The walk descends into accounts. Its stack holds the levels that are not finished, as deep as
 * the tree is: trees of thousands of levels must not overflow the C stack. Every row is in one
 * level only, so all levels ever made fit in one array of n entries. */
struct level {
	size_t begin, at, end; /* in walk.entries */
	bool tied;	       /* the account above it ties with the row before that account */
	uint32_t given;	       /* number of ranks assigned when it began */
};

struct walk {
	const struct fairshare_tree *tree;
	struct fairshare_result *results;
	bool slurm;
	fairshare_compare_fn compare;
	struct fairshare_entry *entries, *spare;
	struct level *levels;
	size_t n_entries, n_levels;
	uint32_t rank, given; /* the last rank assigned; how many users have one */
};

/* ---- figures ---- */

static void compute_row(const struct fairshare_tree *t, int32_t row, struct fairshare_result *r)
{
	int32_t up = t->share_parent[row];

	*r = (struct fairshare_result){ .raw_usage = t->usage[row],
					.level_fs = NAN,
					.fairshare = NAN };
	r->norm_usage = (double)fairshare_ratio(t->usage[row], t->usage[t->root]);
	if (row == t->root) {
		r->effective_usage = 1;
		return;
	}
	r->effective_usage = (double)fairshare_ratio(t->usage[row], t->usage[up]);
	if (!fairshare_is_parent(&t->rows[row]))
		r->norm_shares = fairshare_part(t, row);
	else if (up != t->root)
		r->norm_shares = fairshare_part(t, up);
	if (t->rows[row].user || !fairshare_is_parent(&t->rows[row]))
		r->level_fs = (double)fairshare_level_fs(t, row);
}

/* ---- levels ---- */

static void add_children(struct walk *w, int32_t account)
{
	const struct fairshare_tree *t = w->tree;
	int32_t row;

	for (int32_t i = t->level_at[account]; i < t->level_at[account + 1]; i++) {
		row = t->level[i];
		w->entries[w->n_entries++] =
			(struct fairshare_entry){ .level_fs = w->results[row].level_fs,
						  .row = row,
						  .user = t->rows[row].user };
	}
}

/* Stores the sorted order of an account's level: the next time it is nearly sorted, and sorting
 * takes one comparison a row. Beyond what a cache holds, rows in their own order are faster. */
#define KEEP_MAX 4096

static void keep_order(const struct walk *w, int32_t account, const struct level *l)
{
	int32_t *level = &w->tree->level[w->tree->level_at[account]];

	for (size_t i = l->begin; i < l->end; i++)
		level[i - l->begin] = w->entries[i].row;
}

/* The children of entries[begin ... end), which are accounts. */
static void push_level(struct walk *w, size_t begin, size_t end, bool tied)
{
	struct level l = { .begin = w->n_entries, .tied = tied, .given = w->given };

	for (size_t i = begin; i < end; i++)
		add_children(w, w->entries[i].row);
	l.at = l.begin;
	l.end = w->n_entries;
	fairshare_sort(w->tree, w->entries + l.begin, l.end - l.begin, w->spare, w->compare);
	if (end - begin == 1 && l.end - l.begin <= KEEP_MAX)
		keep_order(w, w->entries[begin].row, &l);
	w->levels[w->n_levels++] = l;
}

/* ---- ranks ---- */

/* In Slurm a `parent` account stays in its level with NO_VAL as its LevelFS, and no real
 * LevelFS is as high: where it is the first of the level, it takes the tie with the account
 * above, and the first user loses it. */
#define SLURM_NO_VALUE 4294967294.0

static bool tie_is_lost(const struct walk *w, const struct level *l)
{
	const struct fairshare_tree *t = w->tree;
	int32_t first = w->entries[l->begin].row;

	return w->entries[l->begin].level_fs < SLURM_NO_VALUE &&
	       t->has_parent_account[t->share_parent[first]];
}

/* Does the row at hand get the rank of the row before it? Merged ties: an equal neighbour, or
 * the first user below an account that ties (no rank was assigned since). Slurm: the first row
 * only. */
static bool is_tied(const struct walk *w, const struct level *l)
{
	const struct fairshare_entry *e = &w->entries[l->at];

	if (l->at > l->begin && w->compare(w->tree, e - 1, e) == 0)
		return true;
	if (!l->tied)
		return false;
	return w->slurm ? l->at == l->begin && !tie_is_lost(w, l) : l->given == w->given;
}

static void assign_rank(struct walk *w, int32_t user, bool tied)
{
	uint32_t n = w->tree->n_users;

	if (!tied)
		w->rank = n - w->given;
	w->given++;
	w->results[user].rank = w->rank;
	w->results[user].fairshare = (double)w->rank / n;
}

/* How many entries, from this account on, have its LevelFS and are merged with it (never in
 * Slurm's way). */
static size_t count_merged(const struct walk *w, const struct level *l)
{
	size_t i = l->at + 1;

	while (!w->slurm && i < l->end &&
	       w->compare(w->tree, &w->entries[l->at], &w->entries[i]) == 0)
		i++;
	return i - l->at;
}

/* One step: ranks a user, or opens the level of an account (and of those merged with it), or
 * closes a finished level. */
static void step_walk(struct walk *w)
{
	struct level *l = &w->levels[w->n_levels - 1];
	size_t begin = l->at, n;
	bool tied;

	if (l->at == l->end) {
		w->n_levels--;
		return;
	}
	tied = is_tied(w, l);
	if (w->entries[begin].user) {
		assign_rank(w, w->entries[begin].row, tied);
		l->at++;
		return;
	}
	n = count_merged(w, l);
	l->at += n;
	push_level(w, begin, begin + n, tied);
}

int fairshare_fair_tree(const struct fairshare_tree *t, enum fairshare_ties ties,
			struct fairshare_result *results, struct err *err)
{
	_cleanup_free_ struct fairshare_entry *entries = calloc(t->n, sizeof(*entries));
	_cleanup_free_ struct fairshare_entry *spare = calloc(t->n, sizeof(*spare));
	_cleanup_free_ struct level *levels = calloc(t->n, sizeof(*levels));
	struct walk w = {
		.tree = t,
		.results = results,
		.slurm = ties == FAIRSHARE_TIES_SLURM,
		.compare = ties == FAIRSHARE_TIES_SLURM ? fairshare_compare_long
							: fairshare_compare_exact,
		.entries = entries,
		.spare = spare,
		.levels = levels,
		.rank = t->n_users,
	};

	if (!entries || !spare || !levels)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < t->n; i++)
		compute_row(t, (int32_t)i, &results[i]);
	entries[w.n_entries++] = (struct fairshare_entry){ .row = t->root };
	push_level(&w, 0, 1, false);
	while (w.n_levels)
		step_walk(&w);
	/* A `parent` user is first in its account whatever it used: that order has no level, and sshare prints none. */
	for (size_t i = 0; i < t->n; i++)
		if (t->rows[i].user && fairshare_is_parent(&t->rows[i]))
			results[i].level_fs = NAN;
	return 0;
}
