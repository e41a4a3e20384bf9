/* SPDX-License-Identifier: GPL-2.0-or-later */
/* draft_qos.c - which QOS the accounts of a draft may use; see draft.h. */
#include <errno.h>
#include <string.h>
#include "common/err.h"
#include "controller/accounts/foreign/draft.h"

/* "a,b,c": the next name at *list; its size in *ret_size. NULL: there is none. */
static const char *next_name(const char **list, size_t *ret_size)
{
	const char *name = *list;

	if (!name || !*name)
		return NULL;
	*ret_size = strcspn(name, ",");
	*list = name + *ret_size + (name[*ret_size] == ',');
	return name;
}

/* The name's place in the list; NULL: it is not in it. */
static char *find_name(const char *list, const char *name, size_t size)
{
	const char *item;
	size_t n;

	while ((item = next_name(&list, &n)))
		if (n == size && !strncmp(item, name, size))
			return (char *)item;
	return NULL;
}

static bool has_all(const char *list, const char *names)
{
	const char *name;
	size_t n;

	while ((name = next_name(&names, &n)))
		if (!find_name(list, name, n))
			return false;
	return true;
}

static bool is_same(const char *a, const char *b)
{
	return (a && b) ? has_all(a, b) && has_all(b, a) : a == b;
}

int accounts_draft_state_qos(struct accounts_draft *d, struct draft_qos *q, char sign,
			     const char *name)
{
	size_t n = q->stated ? strlen(q->stated) : 0, size = n + strlen(name) + 3;
	char *more = realloc(q->stated, size);

	if (!more)
		return -ENOMEM;
	q->stated = more;
	snprintf(more + n, size - n, "%s%.1s%s", n ? "," : "", sign ? &sign : "", name);
	d->states_qos = true;
	return 0;
}

/* ---- what is stated, applied to the list of the account above ---- */

static void remove_item(char *list, char *at, size_t size)
{
	char *end = at + size;

	if (*end == ',')
		end++;
	else if (at > list)
		at--;
	memmove(at, end, strlen(end) + 1);
}

static void apply_item(char *list, const char *item, size_t size)
{
	char sign = *item == '+' || *item == '-' ? *item : '\0';
	const char *name = item + (sign != '\0');
	size_t n = size - (sign != '\0'), length = strlen(list);
	char *at = find_name(list, name, n);

	if (sign == '-' && at)
		remove_item(list, at, n);
	if (sign != '-' && !at)
		sprintf(list + length, "%s%.*s", length ? "," : "", (int)n, name);
}

/* A list replaces that of the account above; one of signed names changes it. */
static int resolve_list(struct draft_qos *q, const char *above)
{
	const char *list = q->stated, *item;
	bool is_change = list && (*list == '+' || *list == '-');
	size_t n;

	if (!list && !above)
		return 0;
	q->all = malloc((above ? strlen(above) : 0) + (list ? strlen(list) : 0) + 2);
	if (!q->all)
		return -ENOMEM;
	strcpy(q->all, above && (is_change || !list) ? above : "");
	while ((item = next_name(&list, &n)))
		apply_item(q->all, item, n);
	return 0;
}

/* ---- of each ---- */

static const char why_default[] = "it is not one of the QOS that the account may use";
static const char why_none[] = "an account that may use no QOS at all is not possible: it may "
			       "use all";
static const char why_user[] = "QOS are allowed by account: name users in AllowUsers of the "
			       "[Qos NAME] section";

static int resolve_account(struct accounts_draft *d, struct draft_account *a)
{
	const struct draft_account *above = accounts_draft_account(d, a->parent);
	int r = resolve_list(&a->qos, above ? above->qos.all : d->qos.all);

	if (r == 0 && !above && !*a->qos.by_default)
		strcpy(a->qos.by_default, d->qos.by_default);
	if (r == 0 && a->qos.all && !*a->qos.all && a->qos.stated)
		r = accounts_draft_note(d, a->line, "Account QOS", why_none);
	if (r < 0 || !a->qos.all || !*a->qos.by_default ||
	    find_name(a->qos.all, a->qos.by_default, strlen(a->qos.by_default)))
		return r;
	a->qos.by_default[0] = '\0';
	return accounts_draft_note(d, a->line, "Account DefaultQOS", why_default);
}

/* Of the account, or of the nearest above that has one. */
static const char *default_of(const struct accounts_draft *d, const struct draft_account *a)
{
	while (a && !*a->qos.by_default)
		a = accounts_draft_account(d, a->parent);
	return a ? a->qos.by_default : "";
}

/* What a user may use that is not what the account may is noted: accounts.conf cannot say it.
 */
static int compare_member(struct accounts_draft *d, struct draft_member *m)
{
	const struct draft_account *a = accounts_draft_account(d, m->account);
	int r;

	if (!m->qos.stated && !*m->qos.by_default)
		return 0;
	r = resolve_list(&m->qos, a ? a->qos.all : NULL);
	if (r == 0 && m->qos.stated && !is_same(m->qos.all, a ? a->qos.all : NULL))
		r = accounts_draft_note(d, m->line, "User QOS", why_user);
	if (r == 0 && *m->qos.by_default && strcmp(m->qos.by_default, default_of(d, a)) != 0)
		r = accounts_draft_note(d, m->line, "User DefaultQOS", why_user);
	return r;
}

int accounts_draft_resolve_qos(struct accounts_draft *d, struct err *err)
{
	int r;

	if (!d->states_qos)
		return 0;
	r = resolve_list(&d->qos, NULL);
	for (size_t i = 0; i < d->n_accounts && r == 0; i++)
		r = resolve_account(d, d->accounts[i]);
	for (size_t i = 0; i < d->n_members && r == 0; i++)
		r = compare_member(d, d->members[i]);
	return r < 0 ? err_set(err, r, "out of memory") : 0;
}

/* QOS of Slurm's root have no place in accounts.conf: each account directly below the root
 * states them. */
const char *accounts_draft_qos_of(const struct draft_account *a)
{
	bool is_top = !strcmp(a->parent, ACCOUNTS_ROOT);

	return (a->qos.stated || is_top) && a->qos.all && *a->qos.all ? a->qos.all : NULL;
}
