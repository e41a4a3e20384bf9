/* SPDX-License-Identifier: GPL-2.0-or-later */
/* accounts - accounts and users of accounts.conf: shares, allocations and limits.
 *
 * Declared in a file of the common/conf form, one section an account (in a file, comments stand
 * on lines of their own):
 *
 *	[Account physics]
 *	Parent = root                    # the default
 *	Description = Physics department
 *	Shares = 20                      # or parent; default 1
 *	Users = alice, bob=10, carol=parent   # name[=shares], default 1
 *	Coordinators = alice             # see the account and all below it
 *	Clusters = narval                # may run there; none stated: everywhere
 *	Qos = normal, high               # may use these; not stated: those of the account above
 *	DefaultQos = normal              # for jobs that name none; not stated: that of the same
 *	MaxRunningCores = 600            # of all jobs of the account and below
 *	MaxRunningGpus = 8
 *	MaxRunningMemory = 2TB
 *	MaxRunningJobs = 100
 *	MaxQueuedJobs = 1000
 *	MaxRunningCoresPerShare = 20     # the same, for each of its Shares; ...Gpus..., ...Memory...
 *
 *	[Allocation physics/2026]        # ACCOUNT/LABEL, any number
 *	Kind = target                    # target | grant | monthly | storage
 *	Cluster = narval                 # default: all clusters together
 *	Pool = cpu                       # cpu | gpu; default cpu
 *	Amount = 100                     # see enum accounts_kind
 *	From = 2026-04-01
 *	To = 2027-04-01                  # half open
 *
 *	[Association physics/alice]      # limits of one user in one account: the Max... keys
 *	[User alice]                     # limits of a user over all accounts: the Max... keys
 *	DefaultAccount = physics         # for jobs that name none
 *	MaxRunningCoresPerShare = 20     # in each group, for each share of the group
 *	[QueueLimits express]            # limits of each user in one queue: the Max... keys
 *	MaxWalltime = 4h                 # of one job in it: also MaxJobfs, MaxMemory, MaxCores,
 *					 # MaxGpus; in [Account], [User], [Association] of their jobs
 *
 *	[Template group]                 # what [Account X] with Template = group has below it:
 *	Accounts = prj.high=100/parent, prj=10/10, prj.low=1/10
 *					 # X.prj.high of 100 shares, its users' shares parent
 *...
 *
 *	[Default User]                   # Max... of users without their own, key by key;
 *	MaxRunningCores = 600            # also [Default Association], ... Account, ... Queue
 *	DefaultAccount = def-%u          # %u: the user; only for members of that account
 *
 * The ledger has what was last applied; a file is applied as a difference (accounts_diff()).
 * An account that was removed keeps its history; its jobs run to their end and are charged,
 * but no job can be submitted under it.
 *
 * Plain data: arrays that the struct owns. Order is that of names, so that equal contents are
 * equal whatever the order of the file.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/cleanup.h"
#include "common/conf/conf.h"
#include "common/model/request.h"
#include "controller/policy/charge/charge.h"
#include "controller/policy/fairshare/fairshare.h"

struct err;

#define ACCOUNTS_ROOT "root"
#define ACCOUNTS_NO_LIMIT (-1)

struct accounts_limits { /* ACCOUNTS_NO_LIMIT: none; 0: nothing at all */
	int64_t running_cores, running_gpus, running_memory_bytes, running_jobs, queued_jobs;
};

/* Of running jobs, for each share of their group (accounts_group()); ACCOUNTS_NO_LIMIT: none. */
struct accounts_per_share {
	int64_t cores, gpus, memory_bytes;
};

/* Of one job. */
struct accounts_bounds { /* as above; in the order of enum accounts_bound */
	int64_t walltime_s, jobfs_bytes, memory_bytes, cores, gpus;
};
enum accounts_bound {
	ACCOUNTS_BOUND_WALLTIME,
	ACCOUNTS_BOUND_JOBFS,
	ACCOUNTS_BOUND_MEMORY,
	ACCOUNTS_BOUND_CORES,
	ACCOUNTS_BOUND_GPUS,
	_ACCOUNTS_BOUND_MAX,
};
_Static_assert(sizeof(struct accounts_bounds) == _ACCOUNTS_BOUND_MAX * sizeof(int64_t),
	       "a number each");
#define ACCOUNTS_NO_BOUNDS                                                                     \
	((struct accounts_bounds){ ACCOUNTS_NO_LIMIT, ACCOUNTS_NO_LIMIT, ACCOUNTS_NO_LIMIT,    \
				   ACCOUNTS_NO_LIMIT, ACCOUNTS_NO_LIMIT })
extern const char *const accounts_bound_keys[_ACCOUNTS_BOUND_MAX]; /* "MaxWalltime" ... */
bool accounts_has_bounds(const struct accounts_bounds *b);
static inline int64_t accounts_bound(const struct accounts_bounds *b, enum accounts_bound k)
{
	return (&b->walltime_s)[k];
}

/* A user in an account: an association. */
struct accounts_member {
	char user[REQUEST_NAME_MAX];
	int64_t shares; /* or FAIRSHARE_PARENT */
	struct accounts_limits limits;
	struct accounts_bounds job;
};

struct accounts_account {
	char name[REQUEST_NAME_MAX];
	int32_t parent;				     /* index; -1: below the root */
	int64_t shares;				     /* or FAIRSHARE_PARENT */
	char *description, *coordinators, *clusters; /* lists by commas; NULL: none stated */
	char *qos;				     /* likewise */
	char default_qos[REQUEST_NAME_MAX];	     /* "": not stated */
	struct accounts_member *members;	     /* by name */
	size_t n_members;
	struct accounts_limits limits;
	struct accounts_bounds job;
	struct accounts_per_share per_share; /* of all its jobs, for each of its own shares */
	char template[REQUEST_NAME_MAX];     /* "": none */
	/* With a template: its Users, who are members of the accounts that the template makes.
	 */
	struct accounts_member *listed;
	size_t n_listed;
	bool is_expanded; /* a template made it; no file states it */
};

struct accounts_template {
	char name[REQUEST_NAME_MAX];
	char *accounts; /* as typed */
};

enum accounts_kind {
	ACCOUNTS_TARGET,  /* equivalents to average: core-years (GPU-years) a year */
	ACCOUNTS_GRANT,	  /* service units (or equivalent-hours) for the whole period */
	ACCOUNTS_MONTHLY, /* core-hours a month; From and To are firsts of months */
	ACCOUNTS_STORAGE, /* bytes; Amount = 10TB; shown, not enforced */
	_ACCOUNTS_KIND_MAX,
};
const char *accounts_kind_name(enum accounts_kind k);

struct accounts_allocation {
	int32_t account; /* index */
	char label[REQUEST_NAME_MAX];
	char cluster[REQUEST_NAME_MAX]; /* "": all together */
	enum accounts_kind kind;
	enum charge_pool pool;
	struct fraction amount; /* exact, as typed; STORAGE: bytes / 1 */
	int32_t from_day,
		to_day; /* civil days since 1970-01-01 in the site's zone, half open */
};

struct accounts_user {
	char name[REQUEST_NAME_MAX];
	char default_account[REQUEST_NAME_MAX]; /* "": none */
	struct accounts_limits limits;
	struct accounts_bounds job;
	struct accounts_per_share per_share; /* of the user's jobs in each group */
};

struct accounts_queue {
	char name[REQUEST_NAME_MAX];
	struct accounts_limits user_limits;
	struct accounts_bounds job;
};

/* What counts where nothing is stated, key by key. */
struct accounts_defaults {
	struct accounts_limits user, association, account, queue;
	struct accounts_per_share user_per_share, account_per_share; /* the latter: of groups */
	struct accounts_bounds user_job, association_job, account_job, queue_job;
	char *default_account; /* with %u for the user; NULL: none */
};

struct accounts {
	struct accounts_account *accounts;
	struct accounts_allocation *allocations; /* by account, cluster, pool, from_day */
	struct accounts_user *users;
	struct accounts_queue *queues;
	size_t n_accounts, n_allocations, n_users, n_queues;
	struct accounts_defaults defaults;
	struct accounts_template *templates;
	size_t n_templates;
};

/* Reads and checks a file. Errors name file, line, key and remedy. -EINVAL: a fault: an unknown
 * parent, a cycle, a user twice in an account, shares out of bounds, an allocation of an
 * unknown account, that ends before it starts, or that overlaps another of its account, kind,
 * cluster and pool; a monthly quota that does not begin on the first of a month (so an
 * allowance cannot change within a month) ... */
int accounts_read(const char *path, struct accounts **ret, struct err *err);
/* The same, but reports every fault to `tell`; returns how many. 0: *ret is set. */
int accounts_check(const char *path, void (*tell)(void *ctx, const struct conf_fault *fault),
		   void *ctx, struct accounts **ret, struct err *err);
/* The same from memory; `name` stands for the file in messages. */
int accounts_parse(const char *text, size_t size, const char *name, struct accounts **ret,
		   struct err *err);
struct accounts *accounts_free(struct accounts *a);
DEFINE_CLEANUP(struct accounts *, accounts_free)

/* Warns about what is allowed but hardly intended: users or accounts of one level whose shares
 * sum to zero (nothing is divided there: NormShares is 0), an account without users. Returns
 * how many. */
size_t accounts_warn(const struct accounts *a, void (*tell)(void *ctx, const char *text),
		     void *ctx);

/* The canonical file: read again it is the same. *ret is malloc()ed. */
int accounts_write(const struct accounts *a, char **ret, struct err *err);

/* ---- what differs ---- */

enum accounts_change_op { ACCOUNTS_ADD, ACCOUNTS_REMOVE, ACCOUNTS_SET };
const char *accounts_change_op_name(enum accounts_change_op op); /* "add", "remove", "set" */
/* One statement: a section that comes or goes (key NULL), or a key of it, or of a list one
 * item: "Users" "alice" with the value "5" (its shares), "Coordinators" "alice" with "". A
 * section that comes or goes has changes of all its keys besides. */
struct accounts_change {
	enum accounts_change_op op;
	const char *section, *name, *key;  /* "Account", "physics", "Shares" */
	const char *item;		   /* NULL: not of a list */
	const char *old_value, *new_value; /* NULL: was not, is not */
};
struct accounts_diff {
	struct accounts_change *changes;
	size_t n;
};
/* Either may be NULL: nothing declared. *ret is freed as one. */
int accounts_diff(const struct accounts *old, const struct accounts *new,
		  struct accounts_diff **ret, struct err *err);
struct accounts_diff *accounts_diff_free(struct accounts_diff *d);
DEFINE_CLEANUP(struct accounts_diff *, accounts_diff_free)
/* Applies changes to `a` (NULL: nothing declared), in any order; the result
 * is checked as a file is, `name` standing for the file. To remove a section removes all its
 * keys; to remove a list (item NULL) all its items; what is not there is no fault. */
int accounts_apply(const struct accounts *a, const struct accounts_diff *d, const char *name,
		   struct accounts **ret, struct err *err);

/* ---- queries; none allocates ---- */

/* -1: none of this name, or no accounts at all (a is NULL). */
int32_t accounts_find(const struct accounts *a, const char *name);
/* The index of the first account whose name follows `after` (NULL: the first account's); a->n_accounts: none does. */
size_t accounts_find_next(const struct accounts *a, const char *after);
/* NULL: not in that account. */
const struct accounts_member *accounts_member(const struct accounts *a, int32_t account,
					      const char *user);
/* Of the account or one above it. */
bool accounts_is_coordinator(const struct accounts *a, int32_t account, const char *user);
bool accounts_allows_cluster(const struct accounts *a, int32_t account, const char *cluster);
/* The QOS that it may use, by commas: its own list, else that of the nearest account above.
 * NULL: none of them states one. */
const char *accounts_qos(const struct accounts *a, int32_t account);
bool accounts_allows_qos(const struct accounts *a, int32_t account, const char *qos);
/* Likewise; "": none is stated. */
const char *accounts_default_qos(const struct accounts *a, int32_t account);
/* Is `account` the same as, or below, `above`? -1 as `above` is the root: always. */
bool accounts_is_within(const struct accounts *a, int32_t account, int32_t above);
/* For jobs of theirs that name none: their DefaultAccount, else that of [Default User] when
 * they are in it. False: none. */
bool accounts_default_account(const struct accounts *a, const char *user,
			      char ret[static REQUEST_NAME_MAX]);
/* `stated`, with what it leaves open taken from `fallback`, key by key. */
struct accounts_limits accounts_limits_or(const struct accounts_limits *stated,
					  const struct accounts_limits *fallback);
/* The same for limits of each share. */
struct accounts_per_share accounts_per_share_or(const struct accounts_per_share *stated,
						const struct accounts_per_share *fallback);
bool accounts_has_per_share(const struct accounts_per_share *p);
/* The group that an account belongs to, which has its shares from the site: the account directly below the
 * root that it is, or is below. */
int32_t accounts_group(const struct accounts *a, int32_t account);
/* The maximum of one job in the queue. */
struct accounts_bounds accounts_bounds_of(const struct accounts *a, const char *queue);
/* The maximum of one job of the user in the account: the first that is stated of the user there, the user, the account and those
 * above it, and the defaults of the three. *ret_whose: whose it is, in words. ACCOUNTS_NO_LIMIT: none is stated. */
struct accounts_whose {
	int32_t account;
	const char *user;
};
#define ACCOUNTS_WHOSE_MAX (2 * REQUEST_NAME_MAX + 32)
int64_t accounts_bound_of(const struct accounts *a, const struct accounts_whose *w,
			  enum accounts_bound which, char ret_whose[static ACCOUNTS_WHOSE_MAX]);
/* NULL: no such. */
const struct accounts_user *accounts_user(const struct accounts *a, const char *name);
const struct accounts_queue *accounts_queue(const struct accounts *a, const char *name);
/* Has it an allocation of its own, of any kind and time? */
bool accounts_owns_allocation(const struct accounts *a, int32_t account);
/* The allocation that counts on a day: the account's own, else that of the nearest account
 * above; one of the cluster goes before one of all clusters. NULL: none. */
struct accounts_query {
	int32_t account;
	enum accounts_kind kind;
	enum charge_pool pool;
	const char *cluster;
	int32_t day;
};
const struct accounts_allocation *accounts_allocation(const struct accounts *a,
						      const struct accounts_query *ask);
