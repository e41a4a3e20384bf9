/* SPDX-License-Identifier: GPL-2.0-or-later */
/* diff.c - makes the difference of two states of accounts, and applies one; see
 * accounts.h. */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include "common/err.h"
#include "controller/accounts/rows.h"

const char *accounts_change_op_name(enum accounts_change_op op)
{
	static const char *const names[] = {
		[ACCOUNTS_ADD] = "add", [ACCOUNTS_REMOVE] = "remove", [ACCOUNTS_SET] = "set"
	};

	return names[op];
}

/* ---- make ---- */

/* Both states' rows stay with the difference, since its texts are theirs. */
struct made {
	struct accounts_diff diff; /* first: the caller has its address */
	struct accounts_rows old, new;
};

struct accounts_diff *accounts_diff_free(struct accounts_diff *d)
{
	struct made *m = (struct made *)d;

	if (!m)
		return NULL;
	accounts_rows_done(&m->old);
	accounts_rows_done(&m->new);
	free(m->diff.changes);
	free(m);
	return NULL;
}

/* One of the two rows, or both, of the same identity. */
static struct accounts_change change_of(const struct accounts_row *old,
					const struct accounts_row *new)
{
	const struct accounts_row *row = old ? old : new;
	const bool is_head = !*row->key;

	return (struct accounts_change){
		.op = !old   ? ACCOUNTS_ADD
		      : !new ? ACCOUNTS_REMOVE
			     : ACCOUNTS_SET,
		.section = row->section,
		.name = row->name,
		.key = is_head ? NULL : row->key,
		.item = *row->item ? row->item : NULL,
		.old_value = old && !is_head ? old->value : NULL,
		.new_value = new && !is_head ? new->value : NULL,
	};
}

static void merge_rows(struct made *m)
{
	size_t i = 0, k = 0;

	while (i < m->old.n || k < m->new.n) {
		const struct accounts_row *old = i < m->old.n ? &m->old.rows[i] : NULL;
		const struct accounts_row *new = k < m->new.n ? &m->new.rows[k] : NULL;
		int order = !old ? 1 : !new ? -1 : accounts_row_compare(old, new);

		i += order <= 0;
		k += order >= 0;
		if (order == 0 && !strcmp(old->value, new->value))
			continue;
		m->diff.changes[m->diff.n++] =
			change_of(order <= 0 ? old : NULL, order >= 0 ? new : NULL);
	}
}

int accounts_diff(const struct accounts *old, const struct accounts *new,
		  struct accounts_diff **ret, struct err *err)
{
	struct made *m = calloc(1, sizeof(*m));
	_cleanup_(accounts_diff_freep) struct accounts_diff *d = (struct accounts_diff *)m;
	int r = 0;

	if (!m)
		return err_set(err, -ENOMEM, "out of memory");
	if (old)
		r = accounts_rows_of(old, &m->old, err);
	if (r == 0 && new)
		r = accounts_rows_of(new, &m->new, err);
	if (r < 0)
		return r;
	d->changes = calloc(m->old.n + m->new.n + 1, sizeof(*d->changes));
	if (!d->changes)
		return err_set(err, -ENOMEM, "out of memory");
	merge_rows(m);
	*ret = TAKE_PTR(d);
	return 0;
}

/* ---- apply ---- */

static bool matches_row(const struct accounts_change *c, const struct accounts_row *row)
{
	return !strcmp(c->section, row->section) && !strcmp(c->name, row->name) &&
	       (!c->key || !strcmp(c->key, row->key)) &&
	       (!c->item || !strcmp(c->item, row->item));
}

/* Does the row stay? A row that is set is removed here, and added again with its new value. */
static bool is_kept(const struct accounts_diff *d, const struct accounts_row *row)
{
	for (size_t i = 0; i < d->n; i++) {
		const struct accounts_change *c = &d->changes[i];

		if (matches_row(c, row) && (c->key || c->op == ACCOUNTS_REMOVE))
			return false;
	}
	return true;
}

static int add_change(const struct accounts_change *c, struct accounts_rows *to)
{
	const struct accounts_row row = { c->section, c->name, c->key ? c->key : "",
					  c->item ? c->item : "",
					  c->new_value ? c->new_value : "" };

	for (size_t i = 0; i < to->n; i++)
		if (!accounts_row_compare(&to->rows[i], &row))
			return 0;
	return accounts_rows_add(to, &row);
}

static int apply_changes(const struct accounts_rows *from, const struct accounts_diff *d,
			 struct accounts_rows *to)
{
	int r = 0;

	for (size_t i = 0; i < from->n && r == 0; i++)
		if (is_kept(d, &from->rows[i]))
			r = accounts_rows_add(to, &from->rows[i]);
	for (size_t i = 0; i < d->n && r == 0; i++)
		if (d->changes[i].op != ACCOUNTS_REMOVE)
			r = add_change(&d->changes[i], to);
	accounts_rows_sort(to);
	return r;
}

/* Would the text be read back as the same single value? Control characters and a backslash at
 * the end would not: they could add statements. */
static bool is_one_value(const char *text)
{
	size_t n = strlen(text);

	for (size_t i = 0; i < n; i++)
		if (iscntrl((unsigned char)text[i]))
			return false;
	return n == 0 || text[n - 1] != '\\';
}

static int check_changes(const struct accounts_diff *d, struct err *err)
{
	for (size_t i = 0; i < d->n; i++) {
		const struct accounts_change *c = &d->changes[i];
		const char *const texts[] = { c->section, c->name, c->key, c->item,
					      c->new_value };

		for (size_t k = 0; k < ARRAY_LEN(texts); k++)
			if (texts[k] && !is_one_value(texts[k]))
				return err_set(err, -EINVAL,
					       "a control character, or a backslash at the "
					       "end, in '%.40s'",
					       texts[k]);
		if (c->key && !isalpha((unsigned char)*c->key))
			return err_set(err, -EINVAL, "'%.40s' is not a key", c->key);
	}
	return 0;
}

int accounts_apply(const struct accounts *a, const struct accounts_diff *d, const char *name,
		   struct accounts **ret, struct err *err)
{
	struct accounts_rows from = { 0 }, to = { 0 };
	_cleanup_free_ char *text = NULL;
	int r = check_changes(d, err);

	if (r == 0 && a)
		r = accounts_rows_of(a, &from, err);
	if (r == 0 && apply_changes(&from, d, &to) < 0)
		r = err_set(err, -ENOMEM, "out of memory");
	if (r == 0)
		r = accounts_rows_write(&to, &text, err);
	if (r == 0)
		r = accounts_parse(text, strlen(text), name, ret, err);
	accounts_rows_done(&from);
	accounts_rows_done(&to);
	return r;
}
