/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fairshare_file.c - reads the tree of `reeve fairshare` from CSV and checks it. */
#include <errno.h>
#include <string.h>
#include "cli/offline/fairshare_decimal.h"
#include "cli/offline/fairshare_file.h"
#include "common/csv/csv.h"
#include "common/err.h"
#include "common/nearest.h"

#define DIGITS_MAX 32 /* before and behind the point; 38 fit: a million rows can be summed up */
#define DECIMALS_SURE 9 /* kept in any case */

enum column { ID, PARENT_ID, ACCOUNT, USER, RAW_SHARES, ORDER, LEAF_USAGE, _COLUMN_MAX };

static const char *const columns[] = {
	"id", "parent_id", "account", "user", "raw_shares", "order", "leaf_usage", NULL,
};

struct reader {
	struct csv *csv;
	const char *path;
	struct fairshare_file *file;
	int column[_COLUMN_MAX];
	const char *const *fields;
	size_t room;
	int whole, decimals; /* the most digits before and behind the point */
};

/* ---- one row ---- */

static int parse_integer(const char *text, int64_t *ret)
{
	char *end;
	long long v;

	errno = 0;
	v = strtoll(text, &end, 10);
	if (!strchr("+-0123456789", *text) || end == text || *end || errno)
		return -EINVAL;
	*ret = v;
	return 0;
}

static int read_shares(struct reader *in, struct fairshare_row *row, struct err *err)
{
	const char *text = in->fields[in->column[RAW_SHARES]];

	if (!strcmp(text, "parent")) {
		row->raw_shares = FAIRSHARE_PARENT;
		return 0;
	}
	if (!*text && row->parent == FAIRSHARE_NO_ROW) /* the root's shares have no effect */
		return 0;
	if (parse_integer(text, &row->raw_shares) < 0)
		return csv_error(in->csv, err,
				 "raw_shares '%.64s' is neither a whole number "
				 "from 0 to %d nor 'parent'",
				 text, FAIRSHARE_SHARES_MAX);
	if (row->raw_shares < 0 || row->raw_shares > FAIRSHARE_SHARES_MAX)
		return csv_error(in->csv, err,
				 "raw_shares %.64s is not from 0 to %d: only the "
				 "ratio within a level counts",
				 text, FAIRSHARE_SHARES_MAX);
	return 0;
}

/* Checks the number, and keeps the most digits of any row, which decide the scale of all (scale_usage()). */
static int check_usage(struct reader *in, struct err *err)
{
	const char *text = in->fields[in->column[LEAF_USAGE]];
	struct fairshare_decimal d;

	if (!fairshare_decimal_parse(text, &d))
		return csv_error(in->csv, err,
				 "leaf_usage '%.64s' is not a number of 0 or more, "
				 "such as 12, 0.5 or 1.5e10",
				 text);
	if (d.point + DECIMALS_SURE > DIGITS_MAX)
		return csv_error(in->csv, err,
				 "leaf_usage %.64s has more than %d digits before "
				 "the point: give the tree's usage in a larger unit",
				 text, DIGITS_MAX - DECIMALS_SURE);
	if (d.point > in->whole)
		in->whole = d.point;
	if (d.n - d.point > in->decimals)
		in->decimals = d.n - d.point;
	return 0;
}

static int read_row(struct reader *in, struct fairshare_row *row, struct err *err)
{
	const char *order = in->fields[in->column[ORDER]];
	int r;

	*row = (struct fairshare_row){ .user = *in->fields[in->column[USER]] };
	if (!*in->fields[in->column[ID]])
		return csv_error(in->csv, err, "the row has no id");
	if (!*in->fields[in->column[ACCOUNT]])
		return csv_error(in->csv, err,
				 "the row has no account: a user's row names the "
				 "account too");
	row->parent = *in->fields[in->column[PARENT_ID]] ? 0 : FAIRSHARE_NO_ROW;
	r = read_shares(in, row, err);
	if (r == 0 && *order && parse_integer(order, &row->order) < 0)
		r = csv_error(in->csv, err, "order '%.64s' is not a whole number", order);
	return r < 0 ? r : check_usage(in, err);
}

static char *copy_field(const struct reader *in, enum column c)
{
	return strdup(in->fields[in->column[c]]);
}

static int add_names(struct reader *in, struct err *err)
{
	struct fairshare_file_name *name = &in->file->names[in->file->n++];

	*name = (struct fairshare_file_name){
		.id = copy_field(in, ID),
		.parent = copy_field(in, PARENT_ID),
		.account = copy_field(in, ACCOUNT),
		.user = copy_field(in, USER),
		.raw_shares = copy_field(in, RAW_SHARES),
		.leaf_usage = copy_field(in, LEAF_USAGE),
		.line = csv_line(in->csv),
	};
	if (!name->id || !name->parent || !name->account || !name->user || !name->raw_shares ||
	    !name->leaf_usage)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

static int grow_rows(struct reader *in, struct err *err)
{
	struct fairshare_file *f = in->file;
	size_t room = in->room ? in->room * 2 : 256;
	struct fairshare_row *rows;
	struct fairshare_file_name *names;

	if (f->n < in->room)
		return 0;
	rows = realloc(f->rows, room * sizeof(*rows));
	if (rows)
		f->rows = rows;
	names = realloc(f->names, room * sizeof(*names));
	if (names)
		f->names = names;
	if (!rows || !names)
		return err_set(err, -ENOMEM, "out of memory");
	in->room = room;
	return 0;
}

static int read_rows(struct reader *in, struct err *err)
{
	int r = csv_header(in->csv, columns, in->column, err);

	while (r >= 0 && (r = csv_next(in->csv, &in->fields, err)) > 0) {
		r = grow_rows(in, err);
		if (r == 0)
			r = read_row(in, &in->file->rows[in->file->n], err);
		if (r == 0)
			r = add_names(in, err);
	}
	return r;
}

/* ---- checks of all rows together ---- */

/* Puts file, line and id of a row before an error text. Returns -EINVAL. */
static int report_row(const struct reader *in, size_t row, struct err *err)
{
	const struct fairshare_file_name *n = &in->file->names[row];

	return err_prefix(err, -EINVAL, "%.200s:%zu: row '%.64s'", in->path, n->line, n->id);
}

static int by_id(const void *a, const void *b)
{
	const struct fairshare_file_name *x = *(const struct fairshare_file_name *const *)a,
					 *y = *(const struct fairshare_file_name *const *)b;
	int r = strcmp(x->id, y->id);

	return r ? r : (x->line > y->line) - (x->line < y->line);
}

static int by_association(const void *a, const void *b)
{
	const struct fairshare_file_name *x = *(const struct fairshare_file_name *const *)a,
					 *y = *(const struct fairshare_file_name *const *)b;
	int r = strcmp(x->account, y->account);

	if (r == 0)
		r = strcmp(x->user, y->user);
	return r ? r : (x->line > y->line) - (x->line < y->line);
}

static int check_ids(const struct reader *in, const struct fairshare_file_name **sorted,
		     struct err *err)
{
	qsort(sorted, in->file->n, sizeof(*sorted), by_id);
	for (size_t i = 1; i < in->file->n; i++) {
		if (strcmp(sorted[i - 1]->id, sorted[i]->id))
			continue;
		err_set(err, -EINVAL, "the id is that of line %zu too: give each row its own",
			sorted[i - 1]->line);
		return report_row(in, (size_t)(sorted[i] - in->file->names), err);
	}
	return 0;
}

/* An account, or a user in an account, must have one row. */
static int check_associations(const struct reader *in,
			      const struct fairshare_file_name **sorted, struct err *err)
{
	const struct fairshare_file_name *a, *b;

	qsort(sorted, in->file->n, sizeof(*sorted), by_association);
	for (size_t i = 1; i < in->file->n; i++) {
		a = sorted[i - 1];
		b = sorted[i];
		if (strcmp(a->account, b->account) || strcmp(a->user, b->user))
			continue;
		err_set(err, -EINVAL, "%s%.64s%saccount '%.64s' has a row already, in line %zu",
			*b->user ? "user '" : "", b->user, *b->user ? "' of " : "", b->account,
			a->line);
		return report_row(in, (size_t)(b - in->file->names), err);
	}
	return 0;
}

static int unknown_parent(const struct reader *in, size_t row, struct err *err)
{
	const struct fairshare_file *f = in->file;
	const char *typed = f->names[row].parent;
	struct nearest near;

	nearest_init(&near, typed);
	for (size_t i = 0; i < f->n; i++)
		if (!f->rows[i].user)
			nearest_offer(&near, f->names[i].id);
	if (nearest_word(&near))
		err_set(err, -EINVAL,
			"no row has its parent_id '%.64s' as id; did you mean "
			"'%.64s'?",
			typed, nearest_word(&near));
	else
		err_set(err, -EINVAL,
			"no row has its parent_id '%.64s' as id: add that account", typed);
	return report_row(in, row, err);
}

static int has_id(const void *id, const void *name)
{
	return strcmp(id, (*(const struct fairshare_file_name *const *)name)->id);
}

/* `sorted` is by id. -EINVAL: a parent that no row is. */
static int link_parents(const struct reader *in, const struct fairshare_file_name **sorted,
			struct err *err)
{
	struct fairshare_file *f = in->file;
	const struct fairshare_file_name **found;

	for (size_t i = 0; i < f->n; i++) {
		if (f->rows[i].parent == FAIRSHARE_NO_ROW)
			continue;
		found = bsearch(f->names[i].parent, sorted, f->n, sizeof(*sorted), has_id);
		if (!found)
			return unknown_parent(in, i, err);
		f->rows[i].parent = (int32_t)(*found - f->names);
	}
	return 0;
}

static int link_rows(const struct reader *in, struct err *err)
{
	_cleanup_free_ const struct fairshare_file_name **sorted = NULL;
	int r;

	sorted = calloc(in->file->n ? in->file->n : 1, sizeof(*sorted));
	if (!sorted)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < in->file->n; i++)
		sorted[i] = &in->file->names[i];
	r = check_ids(in, sorted, err);
	if (r == 0)
		r = link_parents(in, sorted, err);
	return r < 0 ? r : check_associations(in, sorted, err);
}

/* All rows were checked, so that each number parses and fits. */
static void scale_usage(struct reader *in)
{
	struct fairshare_file *f = in->file;
	struct fairshare_decimal d;

	if (in->whole + in->decimals > DIGITS_MAX && in->decimals > DECIMALS_SURE)
		in->decimals = DECIMALS_SURE;
	f->unit = 1;
	for (int i = 0; i < in->decimals; i++)
		f->unit *= 10;
	for (size_t i = 0; i < f->n; i++)
		if (fairshare_decimal_parse(f->names[i].leaf_usage, &d))
			f->rows[i].leaf_usage = fairshare_decimal_scale(&d, in->decimals);
}

/* The tree's own checks (a circle, users below users) name a row by its index. */
static int make_tree(struct reader *in, struct err *err)
{
	struct fairshare_file *f = in->file;
	int32_t at;
	int r = fairshare_tree_new(f->rows, f->n, &f->tree, &at, err);

	if (r == 0 || r == -ENOMEM)
		return r;
	if (at != FAIRSHARE_NO_ROW)
		return report_row(in, (size_t)at, err);
	return err_prefix(err, r, "%.200s", in->path);
}

int fairshare_file_load(const char *path, struct fairshare_file *ret, struct err *err)
{
	_cleanup_(csv_closep) struct csv *csv = NULL;
	struct reader in = { .file = ret };
	int r;

	*ret = (struct fairshare_file){ .n = 0 };
	in.path = strcmp(path, "-") ? path : "standard input";
	r = csv_open(path, &csv, err);
	in.csv = csv;
	if (r == 0)
		r = read_rows(&in, err);
	if (r == 0)
		r = link_rows(&in, err);
	if (r < 0)
		return r;
	scale_usage(&in);
	return make_tree(&in, err);
}

void fairshare_file_done(struct fairshare_file *f)
{
	f->tree = fairshare_tree_free(f->tree);
	for (size_t i = 0; i < f->n; i++) {
		free(f->names[i].id);
		free(f->names[i].parent);
		free(f->names[i].account);
		free(f->names[i].user);
		free(f->names[i].raw_shares);
		free(f->names[i].leaf_usage);
	}
	free(f->rows);
	free(f->names);
	*f = (struct fairshare_file){ .n = 0 };
}
