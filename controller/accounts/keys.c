/* SPDX-License-Identifier: GPL-2.0-or-later */
/* keys.c - the keys and sections of accounts.conf, and the objects in which they are set;
 * see accounts_impl.h. */
#include <errno.h>
#include <search.h>
#include <stddef.h>
#include <string.h>
#include "common/err.h"
#include "controller/accounts/accounts_impl.h"

#define COUNT_MAX 1000000000000LL
#define BYTES_MAX INT64_MAX

#define LIMIT(section, base, key, type, max, field, help, example)                             \
	{                                                                                      \
		section, key, type, base + offsetof(struct accounts_limits, field), 0, max,    \
			NULL, help, example, CONF_RESTART                                      \
	}
#define LIMITS(section, base)                                                                  \
	LIMIT(section, base, "MaxRunningCores", CONF_COUNT, COUNT_MAX, running_cores,          \
	      "cores of all running jobs together", "600"),                                    \
		LIMIT(section, base, "MaxRunningGpus", CONF_COUNT, COUNT_MAX, running_gpus,    \
		      "GPUs of all running jobs together", "8"),                               \
		LIMIT(section, base, "MaxRunningMemory", CONF_BYTES, BYTES_MAX,                \
		      running_memory_bytes, "memory of all running jobs together", "2TB"),     \
		LIMIT(section, base, "MaxRunningJobs", CONF_COUNT, COUNT_MAX, running_jobs,    \
		      "jobs that run at once", "100"),                                         \
		LIMIT(section, base, "MaxQueuedJobs", CONF_COUNT, COUNT_MAX, queued_jobs,      \
		      "jobs that wait at once", "1000")
#define PER_SHARE(section, base, of)                                                           \
	{ section,    "MaxRunningCoresPerShare",                                               \
	  CONF_COUNT, base + offsetof(struct accounts_per_share, cores),                       \
	  0,	      COUNT_MAX,                                                               \
	  NULL,	      "cores of running jobs together for each share of " of,                  \
	  "20",	      CONF_RESTART },                                                          \
		{ section,    "MaxRunningGpusPerShare",                                        \
		  CONF_COUNT, base + offsetof(struct accounts_per_share, gpus),                \
		  0,	      COUNT_MAX,                                                       \
		  NULL,	      "GPUs of running jobs together for each share of " of,           \
		  "1",	      CONF_RESTART },                                                  \
	{                                                                                      \
		section, "MaxRunningMemoryPerShare", CONF_BYTES,                               \
			base + offsetof(struct accounts_per_share, memory_bytes), 0,           \
			BYTES_MAX, NULL,                                                       \
			"memory of running jobs together for each share of " of, "80GB",       \
			CONF_RESTART                                                           \
	}
#define BOUNDS(section, base)                                                                  \
	{ section,                                                                             \
	  "MaxWalltime",                                                                       \
	  CONF_SECONDS,                                                                        \
	  base + offsetof(struct accounts_bounds, walltime_s),                                 \
	  1,                                                                                   \
	  BYTES_MAX,                                                                           \
	  NULL,                                                                                \
	  "walltime of one job",                                                               \
	  "4h",                                                                                \
	  CONF_RESTART },                                                                      \
		{ section,    "MaxJobfs",                                                      \
		  CONF_BYTES, base + offsetof(struct accounts_bounds, jobfs_bytes),            \
		  1,	      BYTES_MAX,                                                       \
		  NULL,	      "jobfs of one job",                                              \
		  "100GB",    CONF_RESTART },                                                  \
		{ section,    "MaxMemory",                                                     \
		  CONF_BYTES, base + offsetof(struct accounts_bounds, memory_bytes),           \
		  1,	      BYTES_MAX,                                                       \
		  NULL,	      "memory of one job",                                             \
		  "192GB",    CONF_RESTART },                                                  \
		{ section,    "MaxCores",                                                      \
		  CONF_COUNT, base + offsetof(struct accounts_bounds, cores),                  \
		  1,	      COUNT_MAX,                                                       \
		  NULL,	      "cores of one job",                                              \
		  "512",      CONF_RESTART },                                                  \
	{                                                                                      \
		section, "MaxGpus", CONF_COUNT, base + offsetof(struct accounts_bounds, gpus), \
			0, COUNT_MAX, NULL, "GPUs of one job", "8", CONF_RESTART               \
	}
#define KEY(section, key, type, s, field, help, example)                                       \
	{                                                                                      \
		section, key, type, offsetof(struct s, field), 0, 0, NULL, help, example,      \
			CONF_RESTART                                                           \
	}
#define ACCOUNT(key, type, field, help, example)                                               \
	KEY("Account", key, type, accounts_typed_account, field, help, example)
#define ALLOCATION(key, type, field, help, example)                                            \
	KEY("Allocation", key, type, accounts_typed_allocation, field, help, example)

const char *const accounts_section_names[] = {
	[SECTION_ACCOUNT] = "Account",	       [SECTION_ALLOCATION] = "Allocation",
	[SECTION_ASSOCIATION] = "Association", [SECTION_USER] = "User",
	[SECTION_QUEUE] = "QueueLimits",       [SECTION_DEFAULT] = "Default",
	[SECTION_TEMPLATE] = "Template",
};

static const char *const kind_words[] = { "target", "grant", "monthly", "storage", NULL };
static const char *const pool_words[] = { "cpu", "gpu", NULL };
_Static_assert(ACCOUNTS_STORAGE == 3 && _ACCOUNTS_KIND_MAX == 4, "kind_words");
_Static_assert(CHARGE_POOL_CPU == 0 && CHARGE_POOL_GPU == 1, "pool_words");

const char *accounts_kind_name(enum accounts_kind k)
{
	return kind_words[k];
}

const struct conf_key accounts_keys[] = {
	ACCOUNT("Description", CONF_TEXT, description, "for people", "Physics department"),
	ACCOUNT("Parent", CONF_NAME, parent, "the account above; root: none", "science"),
	ACCOUNT("Template", CONF_NAME, template, "what accounts it has below it, for its Users",
		"group"),
	ACCOUNT("Shares", CONF_TEXT, shares, "of what the account above has; or parent", "20"),
	ACCOUNT("Users", CONF_TEXT, users,
		"its users, each with a number of shares where not 1",
		"alice, bob=10, carol=parent"),
	ACCOUNT("Coordinators", CONF_TEXT, coordinators,
		"users who see the jobs and usage of the account and all below it", "alice"),
	ACCOUNT("Clusters", CONF_TEXT, clusters, "where; not set: on all clusters", "main"),
	ACCOUNT("Qos", CONF_TEXT, qos,
		"which it may use; not set: those of the account above, else all that allow it",
		"normal, high"),
	ACCOUNT("DefaultQos", CONF_NAME, default_qos,
		"for jobs that name none; not set: that of the account above", "normal"),
	LIMITS("Account", offsetof(struct accounts_typed_account, a.limits)),
	BOUNDS("Account", offsetof(struct accounts_typed_account, a.job)),
	PER_SHARE("Account", offsetof(struct accounts_typed_account, a.per_share),
		  "the account"),
	{ "Allocation", "Kind", CONF_ENUM, offsetof(struct accounts_typed_allocation, kind), 0,
	  0, kind_words, "what the amount means", "target", CONF_RESTART },
	ALLOCATION("Cluster", CONF_NAME, cluster, "where; not set: all clusters together",
		   "main"),
	{ "Allocation", "Pool", CONF_ENUM, offsetof(struct accounts_typed_allocation, pool), 0,
	  0, pool_words, "cpu or gpu", "cpu", CONF_RESTART },
	ALLOCATION("Amount", CONF_TEXT, amount,
		   "core-years a year, service units, core-hours a month, or bytes", "100"),
	ALLOCATION("From", CONF_TEXT, from, "first day", "2026-04-01"),
	ALLOCATION("To", CONF_TEXT, to, "the day after the last", "2027-04-01"),
	LIMITS("Association", offsetof(struct accounts_typed_association, limits)),
	BOUNDS("Association", offsetof(struct accounts_typed_association, job)),
	KEY("User", "DefaultAccount", CONF_NAME, accounts_typed_user, default_account,
	    "for jobs that name none", "physics"),
	LIMITS("User", offsetof(struct accounts_typed_user, limits)),
	BOUNDS("User", offsetof(struct accounts_typed_user, job)),
	PER_SHARE("User", offsetof(struct accounts_typed_user, per_share),
		  "the group (the account below root) that they are charged to"),
	LIMITS("QueueLimits", offsetof(struct accounts_typed_queue, limits)),
	BOUNDS("QueueLimits", offsetof(struct accounts_typed_queue, job)),
	KEY("Default", "DefaultAccount", CONF_TEXT, accounts_typed_default, default_account,
	    "of [Default User]: for jobs that name none; %u is the user", "def-%u"),
	LIMITS("Default", offsetof(struct accounts_typed_default, limits)),
	PER_SHARE("Default", offsetof(struct accounts_typed_default, per_share),
		  "the group; of [Default User] and [Default Account]"),
	BOUNDS("Default", offsetof(struct accounts_typed_default, job)),
	KEY("Template", "Accounts", CONF_TEXT, accounts_typed_template, accounts,
	    "NAME=SHARES/SHARES_OF_A_USER of each account below",
	    "prj=10/10, prj.high=100/parent"),
	{ 0 },
};

int accounts_key_rank(const char *section, const char *key)
{
	int n = 0;

	for (const struct conf_key *k = accounts_keys; k->key; k++) {
		if (strcmp(k->section, section) != 0)
			continue;
		if (!strcmp(k->key, key))
			return n;
		n++;
	}
	return SECTION_KEYS_MAX;
}

int accounts_section_rank(const char *section)
{
	int n = 0;

	while (n < _SECTION_MAX && strcmp(accounts_section_names[n], section) != 0)
		n++;
	return n;
}

/* ---- objects ---- */

static const size_t sizes[_SECTION_MAX] = {
	[SECTION_ACCOUNT] = sizeof(struct accounts_typed_account),
	[SECTION_ALLOCATION] = sizeof(struct accounts_typed_allocation),
	[SECTION_ASSOCIATION] = sizeof(struct accounts_typed_association),
	[SECTION_USER] = sizeof(struct accounts_typed_user),
	[SECTION_QUEUE] = sizeof(struct accounts_typed_queue),
	[SECTION_DEFAULT] = sizeof(struct accounts_typed_default),
	[SECTION_TEMPLATE] = sizeof(struct accounts_typed_template),
};

static int compare_objects(const void *va, const void *vb)
{
	const struct accounts_typed *a = va, *b = vb;

	return a->section != b->section ? (int)a->section - (int)b->section
					: strcmp(a->name, b->name);
}

struct accounts_typed *accounts_typed_find(const struct accounts_typed_all *all,
					   enum accounts_section section, const char *name)
{
	struct accounts_typed wanted = { .section = section }, **slot;

	strncpy(wanted.name, name, sizeof(wanted.name) - 1);
	slot = tfind(&wanted, &all->by_name, compare_objects);
	return slot ? *slot : NULL;
}

static int grow_list(struct accounts_typed_list *l)
{
	size_t room = l->room ? l->room * 2 : 16;
	struct accounts_typed **more;

	if (l->n < l->room)
		return 0;
	more = realloc(l->of, room * sizeof(struct accounts_typed *));
	if (!more)
		return -ENOMEM;
	l->of = more;
	l->room = room;
	return 0;
}

/* Limits that no key states are ACCOUNTS_NO_LIMIT; a zeroed one would forbid everything. */
static void set_defaults(struct accounts_typed *t)
{
	const struct accounts_bounds no_bounds = ACCOUNTS_NO_BOUNDS;
	const struct accounts_limits none = { ACCOUNTS_NO_LIMIT, ACCOUNTS_NO_LIMIT,
					      ACCOUNTS_NO_LIMIT, ACCOUNTS_NO_LIMIT,
					      ACCOUNTS_NO_LIMIT };
	const struct accounts_per_share no_share = { ACCOUNTS_NO_LIMIT, ACCOUNTS_NO_LIMIT,
						     ACCOUNTS_NO_LIMIT };

	switch (t->section) {
	case SECTION_ACCOUNT:
		((struct accounts_typed_account *)t)->a.per_share = no_share;
		((struct accounts_typed_account *)t)->a.limits = none;
		((struct accounts_typed_account *)t)->a.job = no_bounds;
		((struct accounts_typed_account *)t)->a.shares = 1;
		strcpy(((struct accounts_typed_account *)t)->parent, ACCOUNTS_ROOT);
		break;
	case SECTION_ASSOCIATION:
		((struct accounts_typed_association *)t)->limits = none;
		((struct accounts_typed_association *)t)->job = no_bounds;
		break;
	case SECTION_USER:
		((struct accounts_typed_user *)t)->limits = none;
		((struct accounts_typed_user *)t)->job = no_bounds;
		((struct accounts_typed_user *)t)->per_share = no_share;
		break;
	case SECTION_QUEUE:
		((struct accounts_typed_queue *)t)->limits = none;
		((struct accounts_typed_queue *)t)->job = no_bounds;
		break;
	case SECTION_DEFAULT:
		((struct accounts_typed_default *)t)->limits = none;
		((struct accounts_typed_default *)t)->per_share = no_share;
		((struct accounts_typed_default *)t)->job = no_bounds;
		break;
	default:
		break;
	}
}

int accounts_typed_add(struct accounts_typed_all *all, enum accounts_section section,
		       const char *name, void **ret, struct err *err)
{
	struct accounts_typed *t = accounts_typed_find(all, section, name);

	if (t) {
		*ret = t;
		return 0;
	}
	if (grow_list(&all->lists[section]) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	t = calloc(1, sizes[section]);
	if (!t)
		return err_set(err, -ENOMEM, "out of memory");
	t->section = section;
	strncpy(t->name, name, sizeof(t->name) - 1);
	set_defaults(t);
	if (!tsearch(t, &all->by_name, compare_objects)) {
		free(t);
		return err_set(err, -ENOMEM, "out of memory");
	}
	all->lists[section].of[all->lists[section].n++] = t;
	*ret = t;
	return 0;
}

static int add_account(void *target, const char *name, void **ret, struct err *err)
{
	int r = request_check_name(name, err);

	if (r == 0 && !strcmp(name, ACCOUNTS_ROOT))
		r = err_set(err, -EINVAL,
			    "the root of the tree is there by itself and has no keys; "
			    "choose another name");
	return r < 0 ? r : accounts_typed_add(target, SECTION_ACCOUNT, name, ret, err);
}

static int add_pair(struct accounts_typed_all *all, enum accounts_section section,
		    const char *name, void **ret, struct err *err)
{
	char account[REQUEST_NAME_MAX];
	const char *rest;

	accounts_split(name, account, &rest);
	if (!request_is_name(account) || !request_is_name(rest))
		return err_set(err, -EINVAL, "write [%s ACCOUNT/%s]",
			       accounts_section_names[section],
			       section == SECTION_ALLOCATION ? "LABEL" : "USER");
	return accounts_typed_add(all, section, name, ret, err);
}

static int add_allocation(void *target, const char *name, void **ret, struct err *err)
{
	return add_pair(target, SECTION_ALLOCATION, name, ret, err);
}

static int add_association(void *target, const char *name, void **ret, struct err *err)
{
	return add_pair(target, SECTION_ASSOCIATION, name, ret, err);
}

static int add_user(void *target, const char *name, void **ret, struct err *err)
{
	int r = request_check_name(name, err);

	return r < 0 ? r : accounts_typed_add(target, SECTION_USER, name, ret, err);
}

static int add_queue(void *target, const char *name, void **ret, struct err *err)
{
	int r = request_check_name(name, err);

	return r < 0 ? r : accounts_typed_add(target, SECTION_QUEUE, name, ret, err);
}

static int add_template(void *target, const char *name, void **ret, struct err *err)
{
	int r = request_check_name(name, err);

	return r < 0 ? r : accounts_typed_add(target, SECTION_TEMPLATE, name, ret, err);
}

static int add_default(void *target, const char *name, void **ret, struct err *err)
{
	static const char *const names[] = { "User", "Association", "Account", "Queue" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (!strcmp(names[i], name))
			return accounts_typed_add(target, SECTION_DEFAULT, name, ret, err);
	return err_set(err, -EINVAL,
		       "[Default %.40s]: it is [Default User], [Default Association], [Default "
		       "Account] or [Default Queue]",
		       name);
}

const struct conf_section accounts_sections[] = {
	{ "Account", add_account },	    { "Allocation", add_allocation },
	{ "Association", add_association }, { "User", add_user },
	{ "Template", add_template },	    { "QueueLimits", add_queue },
	{ "Default", add_default },	    { 0 },
};

/* For tdestroy(): the tree's nodes are the objects of the lists, which are freed there. */
static void keep_node(void *p)
{
	(void)p;
}

void accounts_typed_done(struct accounts_typed_all *all)
{
	tdestroy(all->by_name, keep_node);
	for (int s = 0; s < _SECTION_MAX; s++) {
		for (size_t i = 0; i < all->lists[s].n; i++) {
			struct accounts_typed *t = all->lists[s].of[i];

			conf_done(accounts_keys, accounts_section_names[s], t);
			if (s == SECTION_ACCOUNT) {
				free(((struct accounts_typed_account *)t)->a.members);
				free(((struct accounts_typed_account *)t)->a.listed);
			}
			free(t);
		}
		free(all->lists[s].of);
	}
	for (size_t i = 0; i < all->n_files; i++)
		free(all->files[i]);
	free(all->files);
	*all = (struct accounts_typed_all){ 0 };
}
