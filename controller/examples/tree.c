/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tree.c - reads examples of share trees ("g=5; g.high<g=100: alice=parent bob=2; rest=95:
 * *10") and compares their shares and ranks; see examples_impl.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "common/model/amount.h"
#include "controller/examples/examples_impl.h"

void examples_tree_done(struct examples_tree *t)
{
	free(t->rows);
	free(t->names);
}

static int make_room(struct examples_tree *t, struct err *err)
{
	size_t room = t->room ? t->room * 2 : 64;
	void *rows, *names;

	if (t->n < t->room)
		return 0;
	if (t->n >= EXAMPLES_ROWS_MAX)
		return err_set(err, -EINVAL, "more than %d rows", EXAMPLES_ROWS_MAX);
	rows = realloc(t->rows, room * sizeof(*t->rows));
	if (rows)
		t->rows = rows;
	names = realloc(t->names, room * sizeof(*t->names));
	if (names)
		t->names = names;
	if (!rows || !names)
		return err_set(err, -ENOMEM, "out of memory");
	t->room = room;
	return 0;
}

static int add_row(struct examples_tree *t, const struct fairshare_row *row, const char *name,
		   struct err *err)
{
	int r = make_room(t, err);

	if (r < 0)
		return r;
	if (strlen(name) >= sizeof(*t->names))
		return err_set(err, -EINVAL, "'%.60s...' is too long a name", name);
	t->rows[t->n] = *row;
	t->rows[t->n].order = (int64_t)t->n;
	strcpy(t->names[t->n++], name);
	return 0;
}

int64_t examples_tree_find(const struct examples_tree *t, const char *name)
{
	for (size_t i = 0; i < t->n; i++)
		if (!strcmp(t->names[i], name))
			return (int64_t)i;
	return -1;
}

/* "alice=10", or "*1995": that many users, with one share each. */
static int add_user(struct examples_tree *t, int32_t account, char *item, struct err *err)
{
	char name[2 * REQUEST_NAME_MAX + 32], *shares;
	struct fairshare_row row = { .parent = account, .user = true, .raw_shares = 1 };
	int64_t n = 1;
	int r = 0;

	if (*item == '*') {
		r = amount_parse_count(item + 1, &n, err);
		if (r == 0 && n > EXAMPLES_ROWS_MAX)
			r = err_set(err, -EINVAL, "more than %d rows", EXAMPLES_ROWS_MAX);
		for (int64_t i = 0; i < n && r == 0; i++) {
			snprintf(name, sizeof(name), "%s/%" PRId64, t->names[account], i + 1);
			r = add_row(t, &row, name, err);
		}
		return r;
	}
	r = examples_split(item, &shares, err);
	if (r == 0)
		r = fairshare_parse_shares(shares, &row.raw_shares, err);
	if (r < 0)
		return r;
	snprintf(name, sizeof(name), "%s/%.64s", t->names[account], item);
	if (examples_tree_find(t, name) >= 0)
		return err_set(err, -EINVAL, "'%.80s' is there twice", name);
	return add_row(t, &row, name, err);
}

/* "NAME[<PARENT]=SHARES" */
static int add_account(struct examples_tree *t, char *head, struct err *err)
{
	struct fairshare_row row = { .parent = 0 };
	char *shares, *below;
	int r = examples_split(head, &shares, err);

	if (r == 0)
		r = fairshare_parse_shares(shares, &row.raw_shares, err);
	if (r < 0)
		return r;
	below = strchr(head, '<');
	if (below) {
		int64_t parent;

		*below++ = '\0';
		parent = examples_tree_find(t, below);
		if (parent < 0 || t->rows[parent].user)
			return err_set(err, -EINVAL, "'%.64s' is below no account before it",
				       head);
		row.parent = (int32_t)parent;
	}
	if (!request_is_name(head))
		return err_set(err, -EINVAL, "'%.64s' is not a name", head);
	if (examples_tree_find(t, head) >= 0)
		return err_set(err, -EINVAL, "'%.64s' is there twice", head);
	return add_row(t, &row, head, err);
}

static int parse_account(struct examples_tree *t, const char *text, struct err *err)
{
	char item[3 * REQUEST_NAME_MAX];
	const char *users = strchr(text, ':');
	int32_t account = (int32_t)t->n;
	int r;

	examples_item(&text, ":", item, sizeof(item));
	r = add_account(t, item, err);
	users = users ? users + 1 : NULL;
	while (r == 0 && examples_item(&users, ", ", item, sizeof(item)))
		r = *item ? add_user(t, account, item, err) : 0;
	return r;
}

static int parse_usage(struct examples_tree *t, const char *list, struct err *err)
{
	char item[3 * REQUEST_NAME_MAX], *figure;
	int r = 0;

	while (r == 0 && examples_item(&list, ",", item, sizeof(item))) {
		int64_t amount = 0, row;

		r = examples_split(item, &figure, err);
		if (r == 0)
			r = amount_parse_count(figure, &amount, err);
		row = r == 0 ? examples_tree_find(t, item) : -1;
		if (r == 0 && row < 0)
			r = err_set(err, -EINVAL, "usage of '%.80s', which is not there", item);
		if (r == 0)
			t->rows[row].leaf_usage = (fairshare_usage)amount;
	}
	return r;
}

int examples_parse_tree(const char *tree, const char *usage, struct examples_tree *ret,
			struct err *err)
{
	const struct fairshare_row root = { .parent = FAIRSHARE_NO_ROW, .raw_shares = 1 };
	const size_t size = strlen(tree) + 1;
	_cleanup_free_ char *one = malloc(size);
	int r = one ? add_row(ret, &root, "root", err) : err_set(err, -ENOMEM, "out of memory");

	while (r == 0 && examples_item(&tree, ";", one, size))
		r = parse_account(ret, one, err);
	return r < 0 ? r : parse_usage(ret, usage, err);
}

/* ---- the figures ---- */

struct figures {
	struct examples_run *run;
	const struct example *e;
	const struct examples_tree *tree;
	const struct fairshare_result *results;
};

/* Formats the computed figure with as many decimals as were published. */
static void report_one(const struct figures *f, const char *what, const char *published,
		       double here)
{
	const char *point = strchr(published, '.');
	char text[64];

	snprintf(text, sizeof(text), "%.*f", point ? (int)strlen(point + 1) : 0, here);
	examples_report(f->run, f->e, what, published, text);
}

static double field_of(const struct fairshare_result *r, size_t offset)
{
	return *(const double *)(const void *)((const char *)r + offset);
}

static void report_list(const struct figures *f, const char *title, const char *list,
			size_t offset)
{
	char item[3 * REQUEST_NAME_MAX], what[EXAMPLE_TEXT_MAX], *figure;

	while (examples_item(&list, ",", item, sizeof(item))) {
		int64_t row;

		if (examples_split(item, &figure, NULL) < 0)
			continue;
		row = examples_tree_find(f->tree, item);
		snprintf(what, sizeof(what), "%s of %.140s", title, item);
		if (row < 0)
			examples_report(f->run, f->e, what, figure, "not in the tree");
		else
			report_one(f, what, figure, field_of(&f->results[row], offset));
	}
}

int examples_check_tree(struct examples_run *run, const struct example *e, struct err *err)
{
	_cleanup_(fairshare_tree_freep) struct fairshare_tree *sums = NULL;
	_cleanup_free_ struct fairshare_result *results = NULL;
	struct examples_tree tree = { 0 };
	int algorithm =
		e->tree.algorithm ? e->tree.algorithm - 1 : run->config->policy.fairshare;
	int32_t fault;
	int r = examples_parse_tree(e->tree.tree, e->tree.usage, &tree, err);

	if (r == 0) {
		results = calloc(tree.n, sizeof(*results));
		r = results ? fairshare_tree_new(tree.rows, tree.n, &sums, &fault, err)
			    : err_set(err, -ENOMEM, "out of memory");
	}
	if (r == 0)
		r = algorithm == CONFIG_FAIR_CLASSIC
			    ? fairshare_classic(sums, 1, results, err)
			    : fairshare_fair_tree(sums, FAIRSHARE_TIES_MERGE, results, err);
	if (r == 0) {
		const struct figures f = { run, e, &tree, results };

		report_list(&f, "NormShares", e->tree.norm_shares,
			    offsetof(struct fairshare_result, norm_shares));
		report_list(&f, "EffectvUsage", e->tree.effective_usage,
			    offsetof(struct fairshare_result, effective_usage));
		report_list(&f, "FairShare", e->tree.fairshare,
			    offsetof(struct fairshare_result, fairshare));
	}
	examples_tree_done(&tree);
	return r < 0 ? err_prefix(err, r, "[Tree %s]", e->name) : 0;
}
