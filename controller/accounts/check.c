/* SPDX-License-Identifier: GPL-2.0-or-later */
/* check.c - checks that the statements of a file agree with each other; see accounts_impl.h. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "common/model/amount.h"
#include "common/nearest.h"
#include "controller/accounts/accounts_impl.h"

/* Reports a fault of the object's key (NULL: of its head), with file and line. */
__attribute__((format(printf, 4, 5))) static void report_fault(struct accounts_typed_all *all,
							       const struct accounts_typed *t,
							       const char *key, const char *fmt,
							       ...)
{
	const char *section = accounts_section_names[t->section];
	int rank = key ? accounts_key_rank(section, key) : SECTION_KEYS_MAX;
	struct accounts_typed_place at =
		rank < SECTION_KEYS_MAX && t->keys[rank].line ? t->keys[rank] : t->head;
	struct err why = { "" };
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why.text, sizeof(why.text), fmt, ap);
	va_end(ap);
	err_prefix(&why, 0, "%s, line %d: [%s %s]", at.file, at.line, section, t->name);
	all->n_faults++;
	all->tell(all->ctx, &(struct conf_fault){ at.file, at.line, why.text });
}

/* The account of that name; NULL: there is none, and that was reported. */
static struct accounts_typed_account *find_account(struct accounts_typed_all *all,
						   const struct accounts_typed *t,
						   const char *key, const char *name)
{
	struct accounts_typed *found = accounts_typed_find(all, SECTION_ACCOUNT, name);
	struct accounts_typed_list *l = &all->lists[SECTION_ACCOUNT];
	struct nearest near;

	if (found)
		return (struct accounts_typed_account *)found;
	nearest_init(&near, name);
	for (size_t i = 0; i < l->n; i++)
		nearest_offer(&near, l->of[i]->name);
	if (nearest_word(&near))
		report_fault(all, t, key, "there is no [Account %s]; did you mean '%s'?", name,
			     nearest_word(&near));
	else
		report_fault(all, t, key,
			     "there is no [Account %s]; declare it, or name another", name);
	return NULL;
}

/* A member begins with the user's name, so strcmp() compares them. */
static const struct accounts_member *find_member(const struct accounts_account *a,
						 const char *user)
{
	return a->n_members ? bsearch(user, a->members, a->n_members, sizeof(*a->members),
				      (int (*)(const void *, const void *))strcmp)
			    : NULL;
}

/* ---- the tree ---- */

enum { UNSEEN, ON_PATH, FINE }; /* accounts_typed_account.walk */

static void report_cycle(struct accounts_typed_all *all,
			 const struct accounts_typed_account *at)
{
	const struct accounts_typed_account *p = at->above;
	char path[256] = "";
	size_t n = 0;

	for (; p != at && n < sizeof(path); p = p->above)
		n += (size_t)snprintf(path + n, sizeof(path) - n, " > %s", p->t.name);
	report_fault(all, &at->t, "Parent",
		     "it is above itself: %s%s > %s; one of them needs another "
		     "Parent",
		     at->t.name, path, at->t.name);
}

/* Visits each account once; a cycle is reported once, at the account where it was found. */
static void visit_account(struct accounts_typed_all *all, struct accounts_typed_account *from)
{
	struct accounts_typed_account *p = from;

	while (p && p->walk == UNSEEN) {
		p->walk = ON_PATH;
		p = p->above;
	}
	if (p && p->walk == ON_PATH)
		report_cycle(all, p);
	for (p = from; p && p->walk == ON_PATH; p = p->above)
		p->walk = FINE;
}

/* Is the name in a canonical list (names by commas)? */
static bool has_name(const char *list, const char *name)
{
	size_t size = strlen(name);

	for (; list; list = strchr(list, ',') ? strchr(list, ',') + 1 : NULL)
		if (!strncmp(list, name, size) && strchr(",", list[size]))
			return true;
	return false;
}

/* The list that counts is its own, else that of the nearest account above. */
static void check_default_qos(struct accounts_typed_all *all,
			      const struct accounts_typed_account *a)
{
	const struct accounts_typed_account *p = a;

	while (p && !p->qos)
		p = p->above;
	if (!p || !*a->default_qos || has_name(p->qos, a->default_qos))
		return;
	report_fault(
		all, &a->t, "DefaultQos",
		"DefaultQos = %s is not in Qos = %.200s of %s: add it there, or choose one of "
		"them",
		a->default_qos, p->qos, p->t.name);
}

static void check_accounts(struct accounts_typed_all *all)
{
	struct accounts_typed_list *l = &all->lists[SECTION_ACCOUNT];

	for (size_t i = 0; i < l->n; i++) {
		struct accounts_typed_account *a = (struct accounts_typed_account *)l->of[i];

		if (strcmp(a->parent, ACCOUNTS_ROOT) != 0)
			a->above = find_account(all, &a->t, "Parent", a->parent);
	}
	for (size_t i = 0; i < l->n; i++)
		visit_account(all, (struct accounts_typed_account *)l->of[i]);
	for (size_t i = 0; i < l->n && all->n_faults == 0; i++) /* no cycles: they end */
		check_default_qos(all, (struct accounts_typed_account *)l->of[i]);
}

/* ---- allocations ---- */

static void check_amount(struct accounts_typed_all *all, struct accounts_typed_allocation *a)
{
	struct err why = { "" };
	int64_t bytes = 0;
	int r;

	if (!a->amount) {
		report_fault(all, &a->t, "Amount", "it lacks Amount = ");
		return;
	}
	if (a->a.kind == ACCOUNTS_STORAGE) {
		r = amount_parse_bytes(a->amount, &bytes, &why);
		a->a.amount = (struct fraction){ bytes, 1 };
	} else {
		r = fraction_parse_or_zero(a->amount, &a->a.amount, &why);
	}
	if (r < 0)
		report_fault(all, &a->t, "Amount", "Amount = %.60s: %s", a->amount, why.text);
}

static bool is_first(int32_t day)
{
	char text[ACCOUNTS_DAY_MAX];

	return !strcmp(accounts_format_day(day, text) + 8, "01");
}

static void check_period(struct accounts_typed_all *all,
			 const struct accounts_typed_allocation *a)
{
	if (!a->from || !a->to) {
		report_fault(all, &a->t, NULL, "it lacks %s = YYYY-MM-DD",
			     a->from ? "To" : "From");
		return;
	}
	if (a->a.from_day >= a->a.to_day)
		report_fault(
			all, &a->t, "To",
			"it ends on %s, before its first day %s; To is the day after the last",
			a->to, a->from);
	if (a->a.kind != ACCOUNTS_MONTHLY)
		return;
	if (!is_first(a->a.from_day))
		report_fault(
			all, &a->t, "From",
			"a monthly quota begins on the first of a month, not on %s: within a "
			"month an allowance does not change",
			a->from);
	if (!is_first(a->a.to_day))
		report_fault(
			all, &a->t, "To",
			"a monthly quota ends with a month: To is the first of the next one, "
			"not %s",
			a->to);
}

static int by_series(const void *va, const void *vb)
{
	const struct accounts_typed_allocation *a =
		*(const struct accounts_typed_allocation *const *)va;
	const struct accounts_typed_allocation *b =
		*(const struct accounts_typed_allocation *const *)vb;
	int r = a->account == b->account ? 0 : a->account < b->account ? -1 : 1;

	if (r == 0)
		r = (int)a->a.kind - (int)b->a.kind;
	if (r == 0)
		r = strcmp(a->cluster, b->cluster);
	if (r == 0)
		r = (int)a->a.pool - (int)b->a.pool;
	if (r == 0)
		r = a->a.from_day < b->a.from_day ? -1 : a->a.from_day > b->a.from_day;
	return r ? r : strcmp(a->t.name, b->t.name);
}

static bool is_series(const struct accounts_typed_allocation *a,
		      const struct accounts_typed_allocation *b)
{
	return a->account == b->account && a->a.kind == b->a.kind && a->a.pool == b->a.pool &&
	       !strcmp(a->cluster, b->cluster);
}

/* In order of the first day, each may begin only when all before it in its series ended. */
static void check_overlaps(struct accounts_typed_all *all)
{
	const struct accounts_typed_list *l = &all->lists[SECTION_ALLOCATION];
	_cleanup_free_ struct accounts_typed_allocation **sorted =
		calloc(l->n + 1, sizeof(*sorted));
	const struct accounts_typed_allocation *last = NULL;
	size_t n = 0;

	for (size_t i = 0; sorted && i < l->n; i++) {
		struct accounts_typed_allocation *a =
			(struct accounts_typed_allocation *)l->of[i];

		if (a->account && a->from && a->to && a->a.from_day < a->a.to_day)
			sorted[n++] = a;
	}
	if (n)
		qsort(sorted, n, sizeof(*sorted), by_series);
	for (size_t i = 0; i < n; i++) {
		const struct accounts_typed_allocation *a = sorted[i];

		if (last && is_series(last, a) && a->a.from_day < last->a.to_day)
			report_fault(
				all, &a->t, "From",
				"it overlaps [Allocation %s], which lasts until %s: one of a "
				"kind, cluster and pool may count on a day",
				last->t.name, last->to);
		if (!last || !is_series(last, a) || a->a.to_day > last->a.to_day)
			last = a;
	}
}

static void check_allocations(struct accounts_typed_all *all)
{
	const struct accounts_typed_list *l = &all->lists[SECTION_ALLOCATION];
	char name[REQUEST_NAME_MAX];
	const char *label;

	for (size_t i = 0; i < l->n; i++) {
		struct accounts_typed_allocation *a =
			(struct accounts_typed_allocation *)l->of[i];

		accounts_split(a->t.name, name, &label);
		a->account = find_account(all, &a->t, NULL, name);
		strcpy(a->a.label, label);
		strcpy(a->a.cluster, a->cluster);
		a->a.kind = (enum accounts_kind)a->kind;
		a->a.pool = (enum charge_pool)a->pool;
		check_amount(all, a);
		check_period(all, a);
	}
	check_overlaps(all);
}

/* ---- people ---- */

static void check_associations(struct accounts_typed_all *all)
{
	const struct accounts_typed_list *l = &all->lists[SECTION_ASSOCIATION];
	char name[REQUEST_NAME_MAX];
	const char *user;

	for (size_t i = 0; i < l->n; i++) {
		const struct accounts_typed_account *a;

		accounts_split(l->of[i]->name, name, &user);
		a = find_account(all, l->of[i], NULL, name);
		if (a && !find_member(&a->a, user))
			report_fault(all, l->of[i], NULL,
				     "user '%s' is not in account '%s'; add them to its Users",
				     user, name);
	}
}

static void check_users(struct accounts_typed_all *all)
{
	const struct accounts_typed_list *l = &all->lists[SECTION_USER];

	for (size_t i = 0; i < l->n; i++) {
		const struct accounts_typed_user *u =
			(const struct accounts_typed_user *)l->of[i];
		const struct accounts_typed_account *a;

		if (!*u->default_account)
			continue;
		a = find_account(all, &u->t, "DefaultAccount", u->default_account);
		if (a && !find_member(&a->a, u->t.name))
			report_fault(
				all, &u->t, "DefaultAccount",
				"user '%s' is not in account '%s'; add them to its Users, or name "
				"another",
				u->t.name, u->default_account);
	}
}

/* ---- defaults ---- */

/* Is it a name once %u is replaced by a user's name? */
static bool is_rule(const char *rule)
{
	const char *mark = strstr(rule, "%u");
	char name[2 * REQUEST_NAME_MAX];

	if (strlen(rule) >= REQUEST_NAME_MAX)
		return false;
	if (mark)
		snprintf(name, sizeof(name), "%.*su%s", (int)(mark - rule), rule, mark + 2);
	return request_is_name(mark ? name : rule);
}

/* A limit that multiplies shares needs a number of shares to multiply. */
static void check_number_of_shares(struct accounts_typed_all *all, bool is_default)
{
	const struct accounts_typed_list *l = &all->lists[SECTION_ACCOUNT];

	for (size_t i = 0; i < l->n; i++) {
		const struct accounts_typed_account *a =
			(const struct accounts_typed_account *)l->of[i];

		if (a->a.shares == FAIRSHARE_PARENT &&
		    ((is_default && !a->above) || accounts_has_per_share(&a->a.per_share)))
			report_fault(
				all, &a->t, "Shares",
				"Shares = parent is no number, and %s multiplies it; state "
				"a number",
				accounts_has_per_share(&a->a.per_share)
					? "its Max...PerShare"
					: "Max...PerShare of users or of [Default Account]");
	}
}

static void check_per_share(struct accounts_typed_all *all)
{
	const struct accounts_typed_list *users = &all->lists[SECTION_USER],
					 *defaults = &all->lists[SECTION_DEFAULT];
	bool is_default = false;

	for (size_t i = 0; i < users->n; i++)
		is_default |= accounts_has_per_share(
			&((const struct accounts_typed_user *)users->of[i])->per_share);
	for (size_t i = 0; i < defaults->n; i++) {
		const struct accounts_typed_default *d =
			(const struct accounts_typed_default *)defaults->of[i];
		bool has = accounts_has_per_share(&d->per_share);

		is_default |= has;
		if (has && strcmp(d->t.name, "User") != 0 && strcmp(d->t.name, "Account") != 0)
			report_fault(all, &d->t, NULL,
				     "a Max...PerShare is of groups and of users in them: it "
				     "stands in [Default Account] or [Default User]");
	}
	check_number_of_shares(all, is_default);
}

static void check_defaults(struct accounts_typed_all *all)
{
	const struct accounts_typed_list *l = &all->lists[SECTION_DEFAULT];

	for (size_t i = 0; i < l->n; i++) {
		const struct accounts_typed_default *d =
			(const struct accounts_typed_default *)l->of[i];

		if (!d->default_account)
			continue;
		if (strcmp(d->t.name, "User") != 0)
			report_fault(all, &d->t, "DefaultAccount",
				     "DefaultAccount is of users: it stands in [Default User]");
		else if (!is_rule(d->default_account))
			report_fault(
				all, &d->t, "DefaultAccount",
				"'%.64s' is not a name, or one with %%u for the user, as def-%%u",
				d->default_account);
	}
}

static void report_text(struct accounts_typed_all *all, const struct accounts_typed *t,
			const char *key, const char *text)
{
	report_fault(all, t, key, "%s", text);
}

/* Templates first: the accounts that they make are checked like the others. */
void accounts_check_all(struct accounts_typed_all *all)
{
	accounts_expand(all, report_text);
	check_accounts(all);
	check_allocations(all);
	check_associations(all);
	check_users(all);
	check_defaults(all);
	check_per_share(all);
}
