/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tree - one share tree: associations with their usage, rows, sums and ranks. Private to
 * sharetree. */
#pragma once
#include "controller/policy/fairshare/decay.h"
#include "controller/sharetree/sharetree.h"

/* An account, or a user in one, that was charged or has a row. */
struct tree_entry {
	char account[REQUEST_NAME_MAX], user[REQUEST_NAME_MAX];
	struct decay usage;
	fairshare_usage counted; /* its part of the row's leaf usage, as of tree.at_ns */
	int32_t row;
	bool is_row, was_charged;
};

struct tree {
	char cluster[REQUEST_NAME_MAX];
	enum charge_pool pool;
	struct tree_entry *entries;
	int32_t *slots; /* open addressing: index + 1, or 0 */
	size_t n_entries, max_entries, n_slots;
	/* Made from entries and accounts on request; NULL: not made yet. */
	struct fairshare_tree *sums;
	struct sharetree_row *rows;
	struct fairshare_row *share_rows;
	struct fairshare_result *results;
	size_t n_rows;
	int64_t at_ns; /* the moment of which `counted` is */
	bool is_ranked;
	bool has_gone; /* while is_ranked: an association that was charged has no row of its own */
};

struct tree_rule {
	struct decay_rule decay;
	int fairshare;	     /* enum config_fairshare */
	int64_t root_shares; /* of a user root below the root; 0: there is none */
	const struct accounts *accounts;
};

void tree_done(struct tree *t);
/* Finds the association, or adds it. NULL: out of memory. */
struct tree_entry *tree_entry(struct tree *t, const char *account, const char *user);
/* NULL: none. */
struct tree_entry *tree_find(const struct tree *t, const char *account, const char *user);
/* After a change of the entry's usage: updates its row's sums. -ERANGE: they overflow. */
int tree_changed(struct tree *t, const struct tree_rule *rule, struct tree_entry *e,
		 int64_t now_ns);
/* Brings rows, sums and ranks up to date. */
int tree_rank(struct tree *t, const struct tree_rule *rule, int64_t now_ns, struct err *err);
/* After a change of accounts: drops everything but the usage; made again when needed. */
void tree_forget_rows(struct tree *t);

/* Sets rows, share_rows and n_rows, and which of the entries are rows; makes entries for rows
 * that have none. Row 0 is the root. -ENOMEM. */
int tree_make_rows(struct tree *t, const struct tree_rule *rule, struct err *err);
