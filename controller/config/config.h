/* SPDX-License-Identifier: GPL-2.0-or-later */
/* config - controller.conf: the controller's settings, its users' rights, and the policy by
 * which jobs are charged and ordered.
 *
 * A policy may come from a profile: a file of the same keys, named by Profile= in [Policy] (a
 * path, or the name of one that ships), which is read before the file itself. So a site states
 * only what differs.
 */
#pragma once
#include <stdbool.h>
#include "common/cleanup.h"
#include "common/conf/conf.h"
#include "common/model/amount.h"
#include "common/model/request.h"
#include "controller/policy/charge/tariff.h"

struct err;

/* A bundle as typed: amounts are exact decimals or fractions, memory has a unit, "none" is a
 * side that the bundle does not have. NULL: not stated. */
struct config_bundle {
	char *cores, *memory, *gpu_gpus, *gpu_cores, *gpu_memory;
};

/* TresWeights: a weight for one core, one GPU, some memory. As a bundle: of each resource, how
 * much makes one unit of charge, by what the units of memory mean. */
struct config_weights {
	char *typed; /* NULL: not stated */
	struct charge_bundle per[_AMOUNT_UNITS_MAX];
};

#define CONFIG_UNIT_UNSTATED (-1)

/* Which side of a Slurm cluster declares accounts, users and limits; the other one is brought in step with it. */
enum config_accounts { CONFIG_ACCOUNTS_SLURM, CONFIG_ACCOUNTS_REEVE };

struct config_cluster {
	char name[REQUEST_NAME_MAX];
	int engine;   /* enum engine: which program starts its jobs */
	int accounts; /* enum config_accounts; of a Slurm cluster */
	char slurm_user
		[REQUEST_NAME_MAX]; /* likewise: may speak for its users, and tell of its jobs */
	int64_t slurm_forgotten_s;  /* likewise: of a job whose end Slurm does not know */
	int unit;		    /* enum tariff_unit */
	struct config_bundle typed;
	struct charge_bundle bundle[_CHARGE_POOL_MAX]; /* what was typed */
	int64_t cores_per_node;			       /* 0: not stated */
	struct resources defaults, max;
	/* While reading: the same for each meaning of the units. */
	struct resources defaults_in[_AMOUNT_UNITS_MAX], max_in[_AMOUNT_UNITS_MAX];
	struct config_weights weights;
	int memory_unit;       /* enum amount_units; CONFIG_UNIT_UNSTATED: the policy's */
	int64_t mem_from_vmem; /* percent; 0: the node's rule */
	char *queues;	       /* names by commas; the first is the default */
};

/* Nodes of a cluster with a bundle of their own; what it does not state is the cluster's. */
struct config_node_type {
	char name[2 * REQUEST_NAME_MAX]; /* "CLUSTER/NAME" */
	struct config_bundle typed;
	struct charge_bundle bundle[_CHARGE_POOL_MAX];
	int64_t cores_per_node;
	char gpu_model[REQUEST_NAME_MAX]; /* "": not stated */
	char *gres_names; /* of its GPUs in Slurm, by commas; NULL: none stated */
};

struct config_gpu_model {
	char name[REQUEST_NAME_MAX];
	char *typed_weight;
	struct fraction weight; /* reference units of one */
};

struct config_queue {
	char name[REQUEST_NAME_MAX];
	char *typed_factor;
	struct fraction factor; /* charge relative to a queue of 1; 0: free */
	int64_t priority;	/* of its own, where PriorityWeightPartition counts it */
	int64_t qos_priority;	/* the same for PriorityWeightQos */
	int64_t run_priority;	/* its jobs may preempt those of queues with a lower one */
	struct config_weights weights;
	bool exclusive; /* jobs get whole nodes, and are charged for all their cores */
};

#define CONFIG_NO_LIMIT (-1)

/* A quality of service (QOS), a class of jobs that is independent of queues: its users, price, priority and limits for
 * each user. Limits: CONFIG_NO_LIMIT where there is none. */
struct config_qos {
	char name[REQUEST_NAME_MAX];
	char *typed_factor;
	struct fraction factor; /* of the charge, beside the queue's; 0: free */
	int64_t priority;	/* where PriorityWeightQos counts it */
	int64_t running_cores, running_gpus, running_memory_bytes, running_jobs, queued_jobs;
	int64_t max_walltime_s;		    /* of one job; 0: no bound */
	char *allow_accounts, *allow_users; /* names by commas; NULL: everyone */
};

enum config_fairshare { CONFIG_FAIR_TREE, CONFIG_FAIR_CLASSIC };
/* "fair-tree" "classic", then NULL. */
extern const char *const config_fairshare_words[];
enum config_pools { CONFIG_POOLS_SEPARATE, CONFIG_POOLS_ONE };
enum config_usage_rule { CONFIG_USAGE_MAX, CONFIG_USAGE_SUM };
/* When usage starts again at zero, on the site's days; beside a half-life or instead of one. */
enum config_reset {
	CONFIG_RESET_NEVER,
	CONFIG_RESET_MONTHLY,
	CONFIG_RESET_YEARLY, /* on AllocationYearStart */
};
enum config_period {
	CONFIG_PERIOD_YEAR,
	CONFIG_PERIOD_QUARTER, /* of the allocation year */
};
enum config_quota {
	CONFIG_QUOTA_NONE,
	CONFIG_QUOTA_WINDOW,	/* sliding window: previous, current and next month */
	CONFIG_QUOTA_WINDOW_3X, /* 3 x the monthly quota over any three consecutive months */
	CONFIG_QUOTA_GRANT,	/* of a period, with reservation */
	CONFIG_QUOTA_TARGET,	/* a rate to average; stops nothing */
};

/* The action for a job that its owner suspended for too long. */
enum config_max_suspend { CONFIG_MAX_SUSPEND_RESUME, CONFIG_MAX_SUSPEND_END };

/* Which queued job starts next: controller/scheduler/schedule.h. */
enum config_scheduler {
	CONFIG_SCHEDULER_BACKFILL,
	CONFIG_SCHEDULER_FIFO,
	CONFIG_SCHEDULER_SUSPEND,
};

/* When a grant covers a job, and the action for a job that it does not cover. */
enum config_grant_cover { CONFIG_COVER_WHOLE, CONFIG_COVER_ANY };
enum config_members { CONFIG_MEMBERS_SEE_OWN, CONFIG_MEMBERS_SEE_ACCOUNT };
enum config_grant_beyond { CONFIG_BEYOND_BONUS, CONFIG_BEYOND_REFUSE };

struct config_policy {
	char *profile, *rename, *time_zone, *year_start; /* as typed */
	int year_start_month, year_start_day;		 /* from 1 */
	int allocation_period;				 /* enum config_period */
	struct config_weights weights;
	int pools;			  /* enum config_pools */
	int memory_unit;		  /* enum amount_units: what K, MB, G ... mean here */
	int fairshare, usage_rule, quota; /* enums above */
	int grant_cover, grant_beyond;	  /* enums above */
	int64_t grant_overdraft;	  /* whole units */
	int64_t root_shares;	   /* of the user root in the share tree; 0: it has no row */
	int64_t usage_half_life_s; /* 0: nothing decays */
	int usage_reset;	   /* enum config_reset */
	int scheduler;		   /* enum config_scheduler */
	int members_see;	   /* enum config_members */
	int64_t late_after_s;	   /* 0: never */
	int64_t weight_age, weight_fairshare, weight_job_size, weight_partition, weight_qos;
	char default_qos[REQUEST_NAME_MAX]; /* "": jobs that name none have none */
	int64_t max_age_s;		    /* from which age on priority rises no more */
	bool favor_small, small_relative_to_time;
	int64_t gpu_idle_min; /* from so many minutes on an idle GPU is a state; 0: never */
};

struct config_account {
	char name[REQUEST_NAME_MAX];
	char *users, *clusters; /* names by commas; no clusters: all of them */
};

struct config_node {
	char name[REQUEST_NAME_MAX];
	char *address; /* where its credentials are made; NULL: anywhere */
	char cluster[REQUEST_NAME_MAX];
};

enum config_accept { CONFIG_ACCEPT_LISTED, CONFIG_ACCEPT_ANY };

/* Clients that get figures by account of GET /metrics: operators and holders of the token, or
 * all. */
enum config_metrics { CONFIG_METRICS_OPERATORS, CONFIG_METRICS_PUBLIC };

/* Events for which a site's own program is run. */
enum config_hook {
	CONFIG_HOOK_JOB_SUBMITTED,
	CONFIG_HOOK_JOB_STARTED,
	CONFIG_HOOK_JOB_SUSPENDED,
	CONFIG_HOOK_JOB_RESUMED,
	CONFIG_HOOK_JOB_KILLED, /* for a limit that it exceeded; job-ended follows */
	CONFIG_HOOK_JOB_ENDED,
	CONFIG_HOOK_JOB_REQUEUED, /* after the end of an attempt whose node was lost */
	CONFIG_HOOK_WALLTIME_50, /* of its walltime has passed, in percent, and its user asked to be told */
	CONFIG_HOOK_WALLTIME_80,
	CONFIG_HOOK_WALLTIME_90,
	CONFIG_HOOK_ALLOCATION_USED, /* a part of an account's allocation, AllocationPercents= */
	CONFIG_HOOK_GPU_IDLE,
	CONFIG_HOOK_GPU_BUSY,
	CONFIG_HOOK_NODE_LOST,
	CONFIG_HOOK_NODE_REBOOTED,
	_CONFIG_HOOK_MAX,
};
extern const char *const config_hook_words[_CONFIG_HOOK_MAX]; /* "job-submitted" ... */

#define CONFIG_PERCENTS_MAX 8
struct config_hooks {
	char *program;	    /* NULL: no hooks */
	char *events;	    /* as typed */
	uint32_t event_set; /* bit i: enum config_hook i */
	int64_t at_once, time_limit_s, queue_max, retry_after_s;
	char *percents_typed; /* NULL: the default */
	int64_t percents[CONFIG_PERCENTS_MAX];
	int n_percents;
};

struct config {
	char *listen, *database, *munge_socket, *operators;
	char *certificate, *certificate_key, *client_certificates; /* files; NULL: none */
	bool require_client_certificate;		      /* with client_certificates */
	char *metrics_token;				      /* a file; NULL: none */
	bool web;					      /* serves pages */
	char *web_socket, *web_socket_user, *web_user_header; /* of a proxy; NULL: none */
	int accept_nodes;				      /* enum config_accept */
	int metrics_accounts;				      /* enum config_metrics */
	int64_t max_suspend_s;	/* of an owner's suspension; 0: no bound */
	int max_suspend_action; /* enum config_max_suspend */
	int64_t cycle_slice_ms, node_lost_s, max_requeues, lead_lease_s, max_connections,
		request_timeout_s;
	int64_t max_array_size, max_queued_per_user, max_queued_per_account; /* 0: no bound */
	int64_t max_stored_per_user; /* bytes; 0: no bound */
	int64_t keep_output_s, keep_events_s;
	int log_level; /* enum log_level */
	struct config_cluster **clusters;
	struct config_account **accounts;
	struct config_node **nodes;
	struct config_node_type **node_types;
	struct config_gpu_model **gpu_models;
	struct config_queue **queues;
	struct config_qos **qos;
	size_t n_clusters, n_accounts, n_nodes, n_node_types, n_gpu_models, n_queues, n_qos;
	struct config_policy policy;
	struct config_hooks hooks;
	struct config_places *places; /* while reading */
};

/* Reads, fills in and checks everything; errors name file, line, key and remedy. The first
 * fault is the error. */
int config_load(const char *path, struct config **ret, struct err *err);
/* The same, but reports every fault of the file and its profile. Returns how many there were;
 * 0: *ret is the configuration. < 0: could not be read at all. */
struct config_faults {
	void (*tell)(void *ctx, const struct conf_fault *fault);
	void *ctx;
};
int config_check(const char *path, const struct config_faults *to, struct config **ret,
		 struct err *err);
/* The same from memory. */
int config_parse(const char *text, size_t size, struct config **ret, struct err *err);
struct config *config_free(struct config *c);
/* Tells what differs in `fresh`, and makes `now` the configuration in force: what may change while the
 * controller runs (CONF_LIVE, objects of sections) as in `fresh`, the rest as it was. *fresh gets what is
 * no longer in force: config_free() once every module has been told. The struct stays where it is; its
 * objects do not. Pure. */
struct conf_changes;
void config_reload(struct config *now, struct config *fresh, struct conf_changes *to);
DEFINE_CLEANUP(struct config *, config_free)

/* May the controller run the program? Its path is absolute; file and folders above belong to
 * root or to the controller's user, and no other user may write there. -EINVAL, -ENOENT ... */
int config_check_program(const char *path, struct err *err);

/* NULL when there is none. `name` "": the first, where that is a default. */
const struct config_cluster *config_cluster(const struct config *c, const char *name);
const struct config_account *config_account(const struct config *c, const char *name);
const struct config_node *config_node(const struct config *c, const char *name);
const struct config_queue *config_queue(const struct config *c, const char *name);
const struct config_qos *config_qos(const struct config *c, const char *name);
/* -EINVAL: there is none of that name; the words say which was meant, or which there are. */
int config_find_qos(const struct config *c, const char *name, const struct config_qos **ret,
		    struct err *err);
/* The QOS of a job that names this one ("": none, then the site's default); "": no QOS. An
 * account's own default goes before the site's: quota_fill_qos(). */
const char *config_qos_or_default(const struct config *c, const char *named);
/* Is the name in AllowUsers=, AllowAccounts=, or are these not stated? */
bool config_qos_allows_user(const struct config_qos *q, const char *user);
bool config_qos_allows_account(const struct config_qos *q, const char *account);
/* By "CLUSTER/NAME"; case does not matter, here and for models. */
const struct config_node_type *config_node_type(const struct config *c, const char *name);
const struct config_gpu_model *config_gpu_model(const struct config *c, const char *name);
/* The GPUs that the cluster's Slurm calls `name` (GresName=). */
struct config_gres {
	const struct config_node_type *type; /* the first node type with such GPUs */
	bool has_types, has_models;	     /* several node types, of several models */
	char models[256];		     /* the models, by commas */
};
/* False: no node type of the cluster has this name. */
bool config_gres(const struct config *c, const struct config_cluster *cl, const char *name,
		 struct config_gres *ret);

/* What K, MB, G ... mean in amounts of this cluster: of its bundles and resources, and of
 * requests that are read for it. */
enum amount_units config_memory_unit(const struct config *c, const struct config_cluster *cl);
/* The weights that decide its charges: of the queue, the cluster, the policy, in this order.
 * NULL: none are stated. */
const struct config_weights *config_weights(const struct config *c,
					    const struct config_cluster *cl,
					    const struct config_queue *q);

/* The choices that decide a price, beside the amounts. NULL or "": not stated. */
struct config_pick {
	const char *cluster, *node_type, *gpu_model, *queue, *qos;
	bool wants_gpus;
};
/* Finds the tariff that applies. A GPU request on a cluster whose bundle depends on the node
 * type must state which, by node type or by a GPU model that only one type has. -EINVAL: no
 * such name (err lists those there are), or not stated. */
int config_tariff(const struct config *c, const struct config_pick *pick, struct tariff *ret,
		  struct err *err);

/* From which idle time on "allocated but idle" is a state of a job; 0: never. */
int64_t config_gpu_idle_ns(const struct config *c);
/* One setting: "Policy" or "Queue express", and its key. */
struct config_setting {
	const char *section, *key;
};
struct config_text {
	char *at;
	size_t size;
};
/* Its value, or of `other` (not NULL) the text that such a value would have; equal values have
 * equal texts. -EINVAL: no such section, key or value. */
int config_setting_format(const struct config *c, const struct config_setting *s,
			  const char *other, struct config_text ret, struct err *err);
/* The name of a profile's cluster here (RenameClusters=): in buf, or `old` itself. */
const char *config_renamed(const struct config *c, const char *old,
			   char buf[static REQUEST_NAME_MAX]);
/* Every key there is, by section; ends with key == NULL. */
const struct conf_key *config_all_keys(void);

bool config_is_operator(const struct config *c, const char *user);
/* May the user send what Slurm says of the jobs of this cluster (NULL: of any)? */
bool config_is_slurm_user(const struct config *c, const struct config_cluster *cl,
			  const char *user);
bool config_is_member(const struct config_account *a, const char *user);
bool config_allows_cluster(const struct config_account *a, const char *cluster);
bool config_has_queue(const struct config_cluster *c, const char *queue);
/* The first queue of the list. */
void config_default_queue(const struct config_cluster *c, char ret[static REQUEST_NAME_MAX]);
/* The first queue of the cluster whose factor is 0: jobs in it are free of charge. False: there
 * is none. */
bool config_bonus_queue(const struct config *c, const char *cluster,
			char ret[static REQUEST_NAME_MAX]);
/* The first name of a list by commas, as keys have them (they were checked when read). Returns
 * the rest of the list; NULL: the list is empty. */
const char *config_next_name(const char *list, char ret[static REQUEST_NAME_MAX]);
/* Accounts of a user as "a, b"; how many. */
size_t config_accounts_of(const struct config *c, const char *user, char *buf, size_t size);
