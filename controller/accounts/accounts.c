/* SPDX-License-Identifier: GPL-2.0-or-later */
/* accounts.c - finds accounts, users, limits and allocations in the sorted arrays of struct
 * accounts; see accounts.h. */
#include <stdio.h>
#include <string.h>
#include "controller/accounts/accounts.h"

struct accounts *accounts_free(struct accounts *a)
{
	if (!a)
		return NULL;
	for (size_t i = 0; a->accounts && i < a->n_accounts; i++) {
		free(a->accounts[i].description);
		free(a->accounts[i].coordinators);
		free(a->accounts[i].clusters);
		free(a->accounts[i].qos);
		free(a->accounts[i].members);
		free(a->accounts[i].listed);
	}
	free(a->accounts);
	free(a->allocations);
	free(a->users);
	free(a->queues);
	for (size_t i = 0; a->templates && i < a->n_templates; i++)
		free(a->templates[i].accounts);
	free(a->templates);
	free(a->defaults.default_account);
	free(a);
	return NULL;
}

/* For bsearch(): every kind of element begins with its name. */
static int by_name(const void *name, const void *element)
{
	return strcmp(name, element);
}

static const void *find_name(const char *name, const void *array, size_t n, size_t size)
{
	return n ? bsearch(name, array, n, size, by_name) : NULL;
}

int32_t accounts_find(const struct accounts *a, const char *name)
{
	const struct accounts_account *found =
		a ? find_name(name, a->accounts, a->n_accounts, sizeof(*a->accounts)) : NULL;

	return found ? (int32_t)(found - a->accounts) : -1;
}

size_t accounts_find_next(const struct accounts *a, const char *after)
{
	size_t low = 0, high = a ? a->n_accounts : 0;

	while (after && low < high) {
		size_t middle = (low + high) / 2;

		if (strcmp(a->accounts[middle].name, after) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct accounts_member *accounts_member(const struct accounts *a, int32_t account,
					      const char *user)
{
	if (account < 0)
		return NULL;
	return find_name(user, a->accounts[account].members, a->accounts[account].n_members,
			 sizeof(struct accounts_member));
}

/* Is the name in a canonical list (names by commas, without blanks)? NULL: an empty list. */
static bool has_name(const char *list, const char *name)
{
	size_t size = strlen(name);

	while (list) {
		size_t n = strcspn(list, ",");

		if (n == size && !strncmp(list, name, n))
			return true;
		list = list[n] ? list + n + 1 : NULL;
	}
	return false;
}

bool accounts_is_coordinator(const struct accounts *a, int32_t account, const char *user)
{
	for (; account >= 0; account = a->accounts[account].parent)
		if (has_name(a->accounts[account].coordinators, user))
			return true;
	return false;
}

bool accounts_allows_cluster(const struct accounts *a, int32_t account, const char *cluster)
{
	const char *list = a->accounts[account].clusters;

	return !list || has_name(list, cluster);
}

const char *accounts_qos(const struct accounts *a, int32_t account)
{
	while (account >= 0 && !a->accounts[account].qos)
		account = a->accounts[account].parent;
	return account < 0 ? NULL : a->accounts[account].qos;
}

bool accounts_allows_qos(const struct accounts *a, int32_t account, const char *qos)
{
	const char *list = accounts_qos(a, account);

	return !list || has_name(list, qos);
}

const char *accounts_default_qos(const struct accounts *a, int32_t account)
{
	while (account >= 0 && !*a->accounts[account].default_qos)
		account = a->accounts[account].parent;
	return account < 0 ? "" : a->accounts[account].default_qos;
}

bool accounts_is_within(const struct accounts *a, int32_t account, int32_t above)
{
	for (; account != above && account >= 0;)
		account = a->accounts[account].parent;
	return account == above;
}

const struct accounts_user *accounts_user(const struct accounts *a, const char *name)
{
	return find_name(name, a->users, a->n_users, sizeof(*a->users));
}

bool accounts_default_account(const struct accounts *a, const char *user,
			      char ret[static REQUEST_NAME_MAX])
{
	const struct accounts_user *u = accounts_user(a, user);
	const char *rule = a->defaults.default_account;
	const char *mark = rule ? strstr(rule, "%u") : NULL;
	char name[REQUEST_NAME_MAX];
	int n;

	if (u && *u->default_account) {
		strcpy(ret, u->default_account);
		return true;
	}
	if (!rule)
		return false;
	n = mark ? snprintf(name, sizeof(name), "%.*s%s%s", (int)(mark - rule), rule, user,
			    mark + 2)
		 : snprintf(name, sizeof(name), "%s", rule);
	if (n >= (int)sizeof(name) || !accounts_member(a, accounts_find(a, name), user))
		return false;
	strcpy(ret, name);
	return true;
}

static int64_t stated_or(int64_t stated, int64_t fallback)
{
	return stated == ACCOUNTS_NO_LIMIT ? fallback : stated;
}

struct accounts_limits accounts_limits_or(const struct accounts_limits *l,
					  const struct accounts_limits *f)
{
	return (struct accounts_limits){
		stated_or(l->running_cores, f->running_cores),
		stated_or(l->running_gpus, f->running_gpus),
		stated_or(l->running_memory_bytes, f->running_memory_bytes),
		stated_or(l->running_jobs, f->running_jobs),
		stated_or(l->queued_jobs, f->queued_jobs),
	};
}

struct accounts_per_share accounts_per_share_or(const struct accounts_per_share *p,
						const struct accounts_per_share *f)
{
	return (struct accounts_per_share){
		stated_or(p->cores, f->cores),
		stated_or(p->gpus, f->gpus),
		stated_or(p->memory_bytes, f->memory_bytes),
	};
}

bool accounts_has_per_share(const struct accounts_per_share *p)
{
	return p->cores != ACCOUNTS_NO_LIMIT || p->gpus != ACCOUNTS_NO_LIMIT ||
	       p->memory_bytes != ACCOUNTS_NO_LIMIT;
}

int32_t accounts_group(const struct accounts *a, int32_t account)
{
	while (account >= 0 && a->accounts[account].parent >= 0)
		account = a->accounts[account].parent;
	return account;
}

const char *const accounts_bound_keys[] = {
	[ACCOUNTS_BOUND_WALLTIME] = "MaxWalltime", [ACCOUNTS_BOUND_JOBFS] = "MaxJobfs",
	[ACCOUNTS_BOUND_MEMORY] = "MaxMemory",	   [ACCOUNTS_BOUND_CORES] = "MaxCores",
	[ACCOUNTS_BOUND_GPUS] = "MaxGpus",
};

bool accounts_has_bounds(const struct accounts_bounds *b)
{
	bool has = false;

	for (int k = 0; k < _ACCOUNTS_BOUND_MAX; k++)
		has |= accounts_bound(b, (enum accounts_bound)k) != ACCOUNTS_NO_LIMIT;
	return has;
}

struct accounts_bounds accounts_bounds_of(const struct accounts *a, const char *queue)
{
	const struct accounts_queue *q = accounts_queue(a, queue);
	const struct accounts_bounds *f = &a->defaults.queue_job, *b = q ? &q->job : f;

	return (struct accounts_bounds){ stated_or(b->walltime_s, f->walltime_s),
					 stated_or(b->jobfs_bytes, f->jobfs_bytes),
					 stated_or(b->memory_bytes, f->memory_bytes),
					 stated_or(b->cores, f->cores),
					 stated_or(b->gpus, f->gpus) };
}

/* Of the account, or the nearest one above it that states one; *at becomes that account. */
static int64_t find_account_bound(const struct accounts *a, enum accounts_bound which,
				  int32_t *at)
{
	int64_t most = ACCOUNTS_NO_LIMIT;

	for (int32_t i = *at; i >= 0 && most == ACCOUNTS_NO_LIMIT; i = a->accounts[i].parent) {
		most = accounts_bound(&a->accounts[i].job, which);
		*at = i;
	}
	return most;
}

int64_t accounts_bound_of(const struct accounts *a, const struct accounts_whose *w,
			  enum accounts_bound which, char ret_whose[static ACCOUNTS_WHOSE_MAX])
{
	const struct accounts_member *m = accounts_member(a, w->account, w->user);
	const struct accounts_user *u = accounts_user(a, w->user);
	const struct accounts_defaults *d = &a->defaults;
	int32_t at = w->account;
	int64_t of_account = find_account_bound(a, which, &at);
	const struct {
		int64_t most;
		bool is_users, is_accounts;
	} sources[] = {
		{ m ? accounts_bound(&m->job, which) : ACCOUNTS_NO_LIMIT, true, true },
		{ u ? accounts_bound(&u->job, which) : ACCOUNTS_NO_LIMIT, true, false },
		{ of_account, false, true },
		{ accounts_bound(&d->association_job, which), true, true },
		{ accounts_bound(&d->user_job, which), true, false },
		{ accounts_bound(&d->account_job, which), false, true },
	};

	*ret_whose = '\0';
	for (size_t i = 0; i < ARRAY_LEN(sources); i++) {
		const char *account =
			a->accounts[of_account == ACCOUNTS_NO_LIMIT || sources[i].is_users
					    ? w->account
					    : at]
				.name;

		if (sources[i].most == ACCOUNTS_NO_LIMIT)
			continue;
		snprintf(ret_whose, ACCOUNTS_WHOSE_MAX, "%s%s%s%s%s",
			 sources[i].is_users ? "user " : "", sources[i].is_users ? w->user : "",
			 sources[i].is_users && sources[i].is_accounts ? " in " : "",
			 sources[i].is_accounts ? "account " : "",
			 sources[i].is_accounts ? account : "");
		return sources[i].most;
	}
	return ACCOUNTS_NO_LIMIT;
}

const struct accounts_queue *accounts_queue(const struct accounts *a, const char *name)
{
	return find_name(name, a->queues, a->n_queues, sizeof(*a->queues));
}

/* The index of an account's first allocation, or where it would be. */
static size_t first_of(const struct accounts *a, int32_t account)
{
	size_t low = 0, high = a->n_allocations;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (a->allocations[middle].account < account)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct accounts_allocation *accounts_allocation(const struct accounts *a,
						      const struct accounts_query *ask)
{
	for (int32_t i = ask->account; i >= 0; i = a->accounts[i].parent) {
		const struct accounts_allocation *of_all = NULL;

		for (size_t k = first_of(a, i);
		     k < a->n_allocations && a->allocations[k].account == i; k++) {
			const struct accounts_allocation *p = &a->allocations[k];

			if (p->kind != ask->kind || p->pool != ask->pool ||
			    ask->day < p->from_day || ask->day >= p->to_day)
				continue;
			if (!*p->cluster)
				of_all = p;
			else if (!strcmp(p->cluster, ask->cluster))
				return p;
		}
		if (of_all)
			return of_all;
	}
	return NULL;
}

/* ---- warnings ---- */

struct level {
	int64_t sum;
	size_t n, n_dividing; /* rows; those that are not `parent` */
};

static void count_row(struct level *l, int64_t shares)
{
	l->n++;
	if (shares == FAIRSHARE_PARENT)
		return;
	l->n_dividing++;
	l->sum += shares;
}

static bool divides_nothing(const struct level *l)
{
	return l->n_dividing && l->sum == 0;
}

static void warn_of(const struct accounts *a, int32_t account, const struct level *l,
		    void (*tell)(void *ctx, const char *text), void *ctx)
{
	char text[256];

	if (divides_nothing(l))
		snprintf(text, sizeof(text),
			 "the shares below %s%s sum to zero: nothing is divided there, and all "
			 "of them come last",
			 account < 0 ? "the " : "",
			 account < 0 ? ACCOUNTS_ROOT : a->accounts[account].name);
	else
		snprintf(text, sizeof(text),
			 "account %s has neither users nor accounts below it: nothing can be "
			 "charged to it",
			 a->accounts[account].name);
	tell(ctx, text);
}

size_t accounts_warn(const struct accounts *a, void (*tell)(void *ctx, const char *text),
		     void *ctx)
{
	_cleanup_free_ struct level *levels = calloc(a->n_accounts + 1, sizeof(*levels));
	size_t n = 0;

	/* levels[0] is the root's. */
	for (size_t i = 0; levels && i < a->n_accounts; i++) {
		const struct accounts_account *p = &a->accounts[i];

		count_row(&levels[p->parent + 1], p->shares);
		for (size_t k = 0; k < p->n_members; k++)
			count_row(&levels[i + 1], p->members[k].shares);
	}
	for (size_t i = 0; levels && i <= a->n_accounts; i++) {
		if (!divides_nothing(&levels[i]) && (i == 0 || levels[i].n))
			continue;
		warn_of(a, (int32_t)i - 1, &levels[i], tell, ctx);
		n++;
	}
	return n;
}

bool accounts_owns_allocation(const struct accounts *a, int32_t account)
{
	size_t low = 0, high = a->n_allocations;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (a->allocations[middle].account < account)
			low = middle + 1;
		else
			high = middle;
	}
	return low < a->n_allocations && a->allocations[low].account == account;
}
