/* SPDX-License-Identifier: GPL-2.0-or-later */
/* build.c - makes struct accounts of the statements that were read: sorts them, resolves names
 * to indices, moves the texts; see accounts_impl.h. */
#include <errno.h>
#include <string.h>
#include "common/err.h"
#include "controller/accounts/accounts_impl.h"

static int by_name(const void *a, const void *b)
{
	return strcmp((*(const struct accounts_typed *const *)a)->name,
		      (*(const struct accounts_typed *const *)b)->name);
}

static void *make_array(size_t n, size_t size)
{
	return calloc(n ? n : 1, size);
}

/* Moves the texts and members: `from` is left without them, so that nothing is freed twice. */
static void move_account(struct accounts_typed_account *from, struct accounts_account *to)
{
	*to = from->a;
	from->a.members = NULL;
	from->a.listed = NULL;
	strcpy(to->template, from->template);
	from->a.n_members = 0;
	strcpy(to->name, from->t.name);
	to->description = TAKE_PTR(from->description);
	to->coordinators = TAKE_PTR(from->coordinators);
	to->clusters = TAKE_PTR(from->clusters);
	to->qos = TAKE_PTR(from->qos);
	strcpy(to->default_qos, from->default_qos);
}

static void build_accounts(struct accounts_typed_all *all, struct accounts *a)
{
	const struct accounts_typed_list *l = &all->lists[SECTION_ACCOUNT];

	for (size_t i = 0; i < l->n; i++)
		move_account((struct accounts_typed_account *)l->of[i], &a->accounts[i]);
	a->n_accounts = l->n;
	for (size_t i = 0; i < l->n; i++) {
		const struct accounts_typed_account *above =
			((struct accounts_typed_account *)l->of[i])->above;

		a->accounts[i].parent = above ? accounts_find(a, above->t.name) : -1;
	}
}

static int by_account(const void *va, const void *vb)
{
	const struct accounts_allocation *a = va, *b = vb;
	int r = a->account < b->account ? -1 : a->account > b->account;

	if (r == 0)
		r = strcmp(a->cluster, b->cluster);
	if (r == 0)
		r = (int)a->pool - (int)b->pool;
	if (r == 0)
		r = a->from_day < b->from_day ? -1 : a->from_day > b->from_day;
	return r ? r : strcmp(a->label, b->label);
}

static void build_allocations(struct accounts_typed_all *all, struct accounts *a)
{
	const struct accounts_typed_list *l = &all->lists[SECTION_ALLOCATION];

	for (size_t i = 0; i < l->n; i++) {
		const struct accounts_typed_allocation *from =
			(struct accounts_typed_allocation *)l->of[i];

		a->allocations[i] = from->a;
		a->allocations[i].account = accounts_find(a, from->account->t.name);
	}
	a->n_allocations = l->n;
	qsort(a->allocations, a->n_allocations, sizeof(*a->allocations), by_account);
}

static void build_user_limits(struct accounts_typed_all *all, struct accounts *a)
{
	const struct accounts_typed_list *l = &all->lists[SECTION_ASSOCIATION];
	char account[REQUEST_NAME_MAX];
	struct accounts_member *m;
	const char *user;

	for (size_t i = 0; i < l->n; i++) {
		accounts_split(l->of[i]->name, account, &user);
		/* The account's members are this struct's own. */
		m = (struct accounts_member *)accounts_member(a, accounts_find(a, account),
							      user);
		m->limits = ((struct accounts_typed_association *)l->of[i])->limits;
		m->job = ((struct accounts_typed_association *)l->of[i])->job;
	}
	l = &all->lists[SECTION_USER];
	for (size_t i = 0; i < l->n; i++) {
		const struct accounts_typed_user *from = (struct accounts_typed_user *)l->of[i];

		strcpy(a->users[i].name, from->t.name);
		strcpy(a->users[i].default_account, from->default_account);
		a->users[i].limits = from->limits;
		a->users[i].job = from->job;
		a->users[i].per_share = from->per_share;
	}
	a->n_users = l->n;
	l = &all->lists[SECTION_QUEUE];
	for (size_t i = 0; i < l->n; i++) {
		strcpy(a->queues[i].name, l->of[i]->name);
		a->queues[i].user_limits = ((struct accounts_typed_queue *)l->of[i])->limits;
		a->queues[i].job = ((struct accounts_typed_queue *)l->of[i])->job;
	}
	a->n_queues = l->n;
}

static void build_templates(struct accounts_typed_all *all, struct accounts *a)
{
	const struct accounts_typed_list *l = &all->lists[SECTION_TEMPLATE];

	for (size_t i = 0; i < l->n; i++) {
		struct accounts_typed_template *from =
			(struct accounts_typed_template *)l->of[i];

		strcpy(a->templates[i].name, from->t.name);
		a->templates[i].accounts = TAKE_PTR(from->accounts);
	}
	a->n_templates = l->n;
}

static void build_defaults(struct accounts_typed_all *all, struct accounts *a)
{
	const struct accounts_limits none = { ACCOUNTS_NO_LIMIT, ACCOUNTS_NO_LIMIT,
					      ACCOUNTS_NO_LIMIT, ACCOUNTS_NO_LIMIT,
					      ACCOUNTS_NO_LIMIT };
	const struct accounts_per_share no_share = { ACCOUNTS_NO_LIMIT, ACCOUNTS_NO_LIMIT,
						     ACCOUNTS_NO_LIMIT };
	const struct {
		const char *name;
		struct accounts_limits *to;
		struct accounts_per_share *per_share;
		struct accounts_bounds *job;
	} kinds[] = { { "User", &a->defaults.user, &a->defaults.user_per_share,
			&a->defaults.user_job },
		      { "Association", &a->defaults.association, NULL,
			&a->defaults.association_job },
		      { "Account", &a->defaults.account, &a->defaults.account_per_share,
			&a->defaults.account_job },
		      { "Queue", &a->defaults.queue, NULL, &a->defaults.queue_job } };

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		struct accounts_typed_default *d =
			(struct accounts_typed_default *)accounts_typed_find(
				all, SECTION_DEFAULT, kinds[i].name);

		*kinds[i].to = d ? d->limits : none;
		if (kinds[i].per_share)
			*kinds[i].per_share = d ? d->per_share : no_share;
		*kinds[i].job = d ? d->job : ACCOUNTS_NO_BOUNDS;
		if (d && kinds[i].to == &a->defaults.user)
			a->defaults.default_account = TAKE_PTR(d->default_account);
	}
}

int accounts_build(struct accounts_typed_all *all, struct accounts **ret, struct err *err)
{
	_cleanup_(accounts_freep) struct accounts *a = calloc(1, sizeof(*a));

	if (!a)
		return err_set(err, -ENOMEM, "out of memory");
	a->accounts = make_array(all->lists[SECTION_ACCOUNT].n, sizeof(*a->accounts));
	a->allocations = make_array(all->lists[SECTION_ALLOCATION].n, sizeof(*a->allocations));
	a->users = make_array(all->lists[SECTION_USER].n, sizeof(*a->users));
	a->queues = make_array(all->lists[SECTION_QUEUE].n, sizeof(*a->queues));
	a->templates = make_array(all->lists[SECTION_TEMPLATE].n, sizeof(*a->templates));
	if (!a->accounts || !a->allocations || !a->users || !a->queues || !a->templates)
		return err_set(err, -ENOMEM, "out of memory");
	for (int s = 0; s < _SECTION_MAX; s++)
		if (all->lists[s].n)
			qsort(all->lists[s].of, all->lists[s].n,
			      sizeof(struct accounts_typed *), by_name);
	build_accounts(all, a);
	build_allocations(all, a);
	build_user_limits(all, a);
	build_templates(all, a);
	build_defaults(all, a);
	*ret = TAKE_PTR(a);
	return 0;
}
