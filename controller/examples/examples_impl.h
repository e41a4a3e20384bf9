/* SPDX-License-Identifier: GPL-2.0-or-later */
/* examples_impl - shared by the files of examples: reporting a figure, and each kind's check.
 */
#pragma once
#include "controller/examples/examples.h"
#include "controller/policy/fairshare/fairshare.h"
#include "controller/policy/quota/window.h"

struct examples_run {
	const struct config *config;
	example_fn fn;
	void *ctx;
	int n_wrong;
};

/* Reports a figure; it holds when both texts are equal. */
void examples_report(struct examples_run *run, const struct example *e, const char *what,
		     const char *published, const char *here);

int examples_check_cost(struct examples_run *run, const struct example *e, struct err *err);
int examples_check_window(struct examples_run *run, const struct example *e, struct err *err);
int examples_check_tree(struct examples_run *run, const struct example *e, struct err *err);
int examples_check_value(struct examples_run *run, const struct example *e, struct err *err);

/* "A, B": the next item of a list without blanks around it, into buf; false: there is none. An
 * item that is too long is cut. */
bool examples_item(const char **list, const char *between, char *buf, size_t size);

#define EXAMPLES_MONTHS_MAX 120
/* *ret_n months. -EINVAL. */
int examples_parse_months(const char *text, struct window_month ret[static EXAMPLES_MONTHS_MAX],
			  size_t *ret_n, struct err *err);

/* A tree: rows, and their names for figures: "ACCOUNT" or "ACCOUNT/USER". */
#define EXAMPLES_ROWS_MAX 200000
struct examples_tree {
	struct fairshare_row *rows;
	char (*names)[2 * REQUEST_NAME_MAX];
	size_t n, room;
};
void examples_tree_done(struct examples_tree *t);
/* Also after an error *ret needs examples_tree_done(). -EINVAL, -ENOMEM. */
int examples_parse_tree(const char *tree, const char *usage, struct examples_tree *ret,
			struct err *err);
/* The row of that name; -1. */
int64_t examples_tree_find(const struct examples_tree *t, const char *name);
/* "NAME=FIGURE" of a list of expected figures, split. -EINVAL: another form. */
int examples_split(char *item, char **ret_figure, struct err *err);
