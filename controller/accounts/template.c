/* SPDX-License-Identifier: GPL-2.0-or-later */
/* template.c - makes the accounts of a template below an account; see accounts_impl.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "controller/accounts/accounts_impl.h"

/* Copies the group's Users, with the shares that the template states. */
static int copy_members(const struct accounts_typed_account *group, int64_t shares,
			struct accounts_account *to)
{
	size_t n = group->a.n_listed;

	to->members = calloc(n ? n : 1, sizeof(*to->members));
	if (!to->members)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		to->members[i] = group->a.listed[i];
		to->members[i].shares = shares;
	}
	to->n_members = n;
	return 0;
}

static int add_child(struct accounts_typed_all *all, struct accounts_typed_account *group,
		     const struct accounts_typed_child *child, struct err *err)
{
	char name[3 * REQUEST_NAME_MAX + 1];
	struct accounts_typed_account *a;
	void *made;
	int r;

	snprintf(name, sizeof(name), "%s.%s", group->t.name, child->suffix);
	if (!request_is_name(name))
		return err_set(err, -EINVAL, "its account '%.190s' has too long a name", name);
	if (accounts_typed_find(all, SECTION_ACCOUNT, name))
		return err_set(err, -EINVAL,
			       "the template makes '%s', which is there already; remove one",
			       name);
	r = accounts_typed_add(all, SECTION_ACCOUNT, name, &made, err);
	if (r < 0)
		return r;
	a = made;
	a->t.head = group->t.head;
	strcpy(a->parent, group->t.name);
	a->a.is_expanded = true;
	a->a.shares = child->shares;
	a->clusters = group->clusters ? strdup(group->clusters) : NULL;
	if ((group->clusters && !a->clusters) ||
	    copy_members(group, child->user_shares, &a->a) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

/* The group's own Users move to `listed`: they are members of the accounts below, not of the
 * group. */
static int expand_group(struct accounts_typed_all *all, struct accounts_typed_account *group,
			struct err *err)
{
	const struct accounts_typed_template *t =
		(const struct accounts_typed_template *)accounts_typed_find(
			all, SECTION_TEMPLATE, group->template);
	struct accounts_typed_child child;
	const char *list = t ? t->accounts : NULL;
	int r = 0;

	if (!t)
		return err_set(err, -EINVAL, "there is no [Template %s]", group->template);
	if (!t->accounts)
		return err_set(err, -EINVAL,
			       "[Template %s] has no Accounts =", group->template);
	group->a.listed = TAKE_PTR(group->a.members);
	group->a.n_listed = group->a.n_members;
	group->a.n_members = 0;
	while (r >= 0 && (r = accounts_next_child(&list, &child, err)) > 0)
		r = add_child(all, group, &child, err);
	return r;
}

/* The list grows by the accounts that are made, which have no template: only the first n are
 * expanded. */
void accounts_expand(struct accounts_typed_all *all, accounts_tell_fn *tell)
{
	struct accounts_typed_list *l = &all->lists[SECTION_ACCOUNT];
	struct err err;

	for (size_t i = 0, n = l->n; i < n; i++) {
		struct accounts_typed_account *group =
			(struct accounts_typed_account *)l->of[i];

		if (*group->template && expand_group(all, group, &err) < 0)
			tell(all, &group->t, "Template", err.text);
	}
}
