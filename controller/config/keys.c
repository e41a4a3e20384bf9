/* SPDX-License-Identifier: GPL-2.0-or-later */
/* keys.c - the keys and sections of controller.conf; see config.h. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include "common/conf/log_level.h"
#include "common/err.h"
#include "common/model/amount.h"
#include "common/engine.h"
#include "common/time_units.h"
#include "controller/config/config_impl.h"
#include "controller/policy/fairshare/fairshare.h"

#define WEIGHT_MAX 4294967295LL

#define KEY(section, key, type, at, help, example, reload)                                     \
	{                                                                                      \
		section, key, type, at, 0, 0, NULL, help, example, reload                      \
	}
#define MAIN(type, key, field, help, example, reload)                                          \
	KEY("Controller", key, type, offsetof(struct config, field), help, example, reload)
#define CLUSTER(type, key, field, help, example, reload)                                       \
	KEY("Cluster", key, type, offsetof(struct config_cluster, field), help, example, reload)
#define NODE_TYPE(type, key, field, help, example, reload)                                     \
	KEY("NodeType", key, type, offsetof(struct config_node_type, field), help, example,    \
	    reload)
#define POLICY_AT(field)                                                                       \
	(offsetof(struct config, policy) + offsetof(struct config_policy, field))
#define POLICY(type, key, field, help, example, reload)                                        \
	KEY("Policy", key, type, POLICY_AT(field), help, example, reload)
#define WEIGHT(key, field, help, reload)                                                       \
	{                                                                                      \
		"Policy", key, CONF_COUNT, POLICY_AT(field), 0, WEIGHT_MAX, NULL, help,        \
			"1000", reload                                                         \
	}
#define HOOKS_AT(field) (offsetof(struct config, hooks) + offsetof(struct config_hooks, field))
#define HOOKS(key, field, min, max, help, example, reload)                                     \
	{                                                                                      \
		"Hooks", key, CONF_COUNT, HOOKS_AT(field), min, max, NULL, help, example,      \
			reload                                                                 \
	}
#define COUNT_MAX 1000000000000LL
#define QOS(type, key, field, max, help, example, reload)                                      \
	{                                                                                      \
		"Qos", key, type, offsetof(struct config_qos, field), 0, max, NULL, help,      \
			example, reload                                                        \
	}
#define BUNDLE(make)                                                                           \
	make(CONF_TEXT, "BundleCores", typed.cores, "cores in one core-equivalent", "1",       \
	     CONF_LIVE),                                                                       \
		make(CONF_TEXT, "BundleMemory", typed.memory, "memory in one core-equivalent", \
		     "4GB", CONF_LIVE),                                                        \
		make(CONF_TEXT, "GpuBundleGpus", typed.gpu_gpus,                               \
		     "GPUs (reference units) in one GPU-equivalent", "1", CONF_LIVE),          \
		make(CONF_TEXT, "GpuBundleCores", typed.gpu_cores,                             \
		     "cores in one GPU-equivalent", "3.5", CONF_LIVE),                         \
		make(CONF_TEXT, "GpuBundleMemory", typed.gpu_memory,                           \
		     "memory in one GPU-equivalent", "22500MB", CONF_LIVE),                    \
		make(CONF_COUNT, "CoresPerNode", cores_per_node,                               \
		     "cores of a node, for requests of whole nodes", "48", CONF_LIVE)

static const char *const members_words[] = { "own", "account", NULL };
static const char *const accounts_words[] = { "slurm", "reeve", NULL };
static const char *const accept_words[] = { "listed", "any", NULL };
static const char *const suspend_words[] = { "resume", "end", NULL };
static const char *const metrics_words[] = { "operators", "public", NULL };
const char *const config_fairshare_words[] = { "fair-tree", "classic", NULL };
static const char *const reset_words[] = { "never", "monthly", "yearly", NULL };
static const char *const period_words[] = { "year", "quarter", NULL };
static const char *const scheduler_words[] = { "backfill", "fifo", "suspend", NULL };
static const char *const pools_words[] = { "separate", "one", NULL };
static const char *const rule_words[] = { "max", "sum", NULL };
static const char *const quota_words[] = { "none",  "window", "window-3x",
					   "grant", "target", NULL };
static const char *const cover_words[] = { "whole", "any", NULL };
static const char *const beyond_words[] = { "bonus", "refuse", NULL };

const struct conf_key config_keys[] = {
	MAIN(CONF_TEXT, "Listen", listen, "address and port to listen on", "0.0.0.0:8640",
	     CONF_RESTART),
	MAIN(CONF_TEXT, "Certificate", certificate,
	     "file (PEM) with the certificate for https, its chain behind it; not set: plain http",
	     "/etc/reeve/tls/controller.pem", CONF_RESTART),
	MAIN(CONF_TEXT, "CertificateKey", certificate_key,
	     "file (PEM) with its key, which others may not read",
	     "/etc/reeve/tls/controller.key", CONF_RESTART),
	MAIN(CONF_TEXT, "ClientCertificates", client_certificates,
	     "file (PEM) with the authorities of client certificates; not set: none is asked for",
	     "/etc/reeve/tls/clients.pem", CONF_RESTART),
	MAIN(CONF_BOOL, "RequireClientCertificate", require_client_certificate,
	     "with ClientCertificates: clients without a certificate are refused; no: only those with a wrong one",
	     "yes", CONF_RESTART),
	MAIN(CONF_TEXT, "Database", database,
	     "the ledger: a file (SQLite), or postgresql://USER@HOST/NAME",
	     "/var/lib/reeve-controller/ledger.db", CONF_RESTART),
	MAIN(CONF_TEXT, "MungeSocket", munge_socket,
	     "socket of munged; default: that of the munge library",
	     "/run/munge/munge.socket.2", CONF_RESTART),
	MAIN(CONF_TEXT, "Operators", operators,
	     "operators: users who see everything and may cancel, hold and suspend all jobs",
	     "root,ops", CONF_LIVE),
	{ "Controller", "AcceptNodes", CONF_ENUM, offsetof(struct config, accept_nodes), 0, 0,
	  accept_words,
	  "nodes that may report: listed (those with a [Node NAME] section) or any (all whose root has the munge key)",
	  "listed", CONF_LIVE },
	{ "Controller", "MetricsAccounts", CONF_ENUM, offsetof(struct config, metrics_accounts),
	  0, 0, metrics_words,
	  "which clients get the figures by account of /metrics: operators (and clients with MetricsToken), or all (public)",
	  "operators", CONF_LIVE },
	MAIN(CONF_TEXT, "MetricsToken", metrics_token,
	     "file with a token; a client that sends the token (Authorization: Bearer) gets these figures",
	     "/etc/reeve/metrics.token", CONF_LIVE),
	{ "Controller", "Web", CONF_BOOL, offsetof(struct config, web), 0, 0, NULL,
	  "serve pages for browsers, entered by 'reeve web'", "yes", CONF_RESTART },
	MAIN(CONF_TEXT, "WebSocket", web_socket,
	     "unix socket of the pages for a proxy that has signed its users in",
	     "/run/reeve-controller/web.sock", CONF_RESTART),
	MAIN(CONF_TEXT, "WebSocketUser", web_socket_user,
	     "user of that proxy: its processes and root's alone may connect", "www-data",
	     CONF_RESTART),
	MAIN(CONF_TEXT, "WebUserHeader", web_user_header,
	     "header in which the proxy names the user; default: X-Remote-User",
	     "X-Remote-User", CONF_LIVE),
	{ "Controller", "NodeLost", CONF_SECONDS, offsetof(struct config, node_lost_s), 5,
	  86400, NULL, "time without a report after which a node is lost", "2:00", CONF_LIVE },
	{ "Controller", "CycleSliceMilliseconds", CONF_COUNT,
	  offsetof(struct config, cycle_slice_ms), 5, 1000, NULL,
	  "milliseconds of a scheduling cycle after which other work goes first", "50",
	  CONF_LIVE },
	{ "Controller", "MaxRequeues", CONF_COUNT, offsetof(struct config, max_requeues), 0,
	  1000, NULL,
	  "how often a job that was submitted with -r y is queued again after its node was lost",
	  "3", CONF_LIVE },
	{ "Controller", "LeadLease", CONF_SECONDS, offsetof(struct config, lead_lease_s), 3,
	  600, NULL,
	  "time without a heartbeat of the leader after which a standby takes over (PostgreSQL)",
	  "15", CONF_RESTART },
	{ "Controller", "MaxSuspend", CONF_SECONDS, offsetof(struct config, max_suspend_s), 0,
	  3153600000, NULL,
	  "longest time for which its owner may suspend a job; 0: unlimited; default: 1-0:00:00",
	  "1-0:00:00", CONF_LIVE },
	{ "Controller", "MaxSuspendAction", CONF_ENUM,
	  offsetof(struct config, max_suspend_action), 0, 0, suspend_words,
	  "what happens to a job that its owner has suspended for MaxSuspend: resume or end",
	  "resume", CONF_LIVE },
	{ "Controller", "MaxConnections", CONF_COUNT, offsetof(struct config, max_connections),
	  8, 100000, NULL, "open connections at a time, at most", "4096", CONF_RESTART },
	{ "Controller", "MaxArraySize", CONF_COUNT, offsetof(struct config, max_array_size), 1,
	  10000000, NULL, "tasks of one job array, at most; default: 10000", "10000",
	  CONF_LIVE },
	{ "Controller", "MaxQueuedPerUser", CONF_COUNT,
	  offsetof(struct config, max_queued_per_user), 0, 1000000000, NULL,
	  "queued jobs and array tasks of a user, at most; 0: any number; default: 100000",
	  "20000", CONF_LIVE },
	{ "Controller", "MaxQueuedPerAccount", CONF_COUNT,
	  offsetof(struct config, max_queued_per_account), 0, 1000000000, NULL,
	  "queued jobs and array tasks of an account, at most; default: 0, any number",
	  "100000", CONF_LIVE },
	{ "Controller", "MaxStoredPerUser", CONF_BYTES,
	  offsetof(struct config, max_stored_per_user), 0, 1000000000000000, NULL,
	  "size of scripts, environments, commands of steps and output of a user in the ledger, at most; "
	  "0: any size; default: 1GB",
	  "1GB", CONF_LIVE },
	{ "Controller", "KeepOutput", CONF_SECONDS, offsetof(struct config, keep_output_s), 1,
	  3153600000, NULL,
	  "time after a job's end for which its output, steps, script and environment are "
	  "kept; "
	  "default: 336:00:00, two weeks",
	  "336:00:00", CONF_LIVE },
	{ "Controller", "KeepEvents", CONF_SECONDS, offsetof(struct config, keep_events_s), 1,
	  3153600000, NULL,
	  "time for which the journal of events is kept, not less than KeepOutput; default: 2160:00:00, 90 days",
	  "2160:00:00", CONF_LIVE },
	{ "Controller", "RequestTimeout", CONF_SECONDS,
	  offsetof(struct config, request_timeout_s), 1, 600, NULL,
	  "time in which a request must be received completely", "30", CONF_RESTART },
	{ "Controller", "LogLevel", CONF_ENUM, offsetof(struct config, log_level), 0, 0,
	  log_level_words,
	  "least severe lines that are logged: err, warning, notice, info or debug; default: info",
	  "debug", CONF_LIVE },
	POLICY(CONF_TEXT, "Profile", profile,
	       "profiles to read before this file: paths or names of shipped ones, separated by commas; the site has the clusters of all of them",
	       "alliance-narval", CONF_LIVE),
	POLICY(CONF_TEXT, "RenameClusters", rename,
	       "new names for clusters of the profiles: OLD=NEW", "narval=main,cedar=west",
	       CONF_LIVE),
	{ "Policy", "Pools", CONF_ENUM, POLICY_AT(pools), 0, 0, pools_words,
	  "separate: jobs with GPUs count in a pool of their own; one: all jobs count in one pool",
	  "one", CONF_LIVE },
	POLICY(CONF_TEXT, "TimeZone", time_zone,
	       "time zone in which days, months and years begin; default: UTC", "Europe/Berlin",
	       CONF_RESTART),
	POLICY(CONF_TEXT, "AllocationYearStart", year_start,
	       "month and day on which the allocation year begins", "04-01", CONF_RESTART),
	{ "Policy", "AllocationPeriod", CONF_ENUM, POLICY_AT(allocation_period), 0, 0,
	  period_words,
	  "period that 'reeve usage' shows by default: the allocation year, or its quarter",
	  "year", CONF_RESTART },
	{ "Policy", "MembersSee", CONF_ENUM, POLICY_AT(members_see), 0, 0, members_words,
	  "own: users see their own usage; account: also that of all users of their accounts",
	  "own", CONF_LIVE },
	{ "Policy", "Fairshare", CONF_ENUM, POLICY_AT(fairshare), 0, 0, config_fairshare_words,
	  "algorithm that computes ranks from shares and usage: fair-tree or classic",
	  "fair-tree", CONF_LIVE },
	{ "Policy", "RootShares", CONF_COUNT, POLICY_AT(root_shares), 0, FAIRSHARE_SHARES_MAX,
	  NULL,
	  "shares of a user root below the root of the share tree, as Slurm has one; 0: no such row",
	  "1", CONF_LIVE },
	POLICY(CONF_SECONDS, "UsageHalfLife", usage_half_life_s,
	       "time after which usage counts half; 0: usage never decays", "7-0:00:00",
	       CONF_RESTART),
	{ "Policy", "Scheduler", CONF_ENUM, POLICY_AT(scheduler), 0, 0, scheduler_words,
	  "backfill: by priority, later jobs start where they delay no earlier one; "
	  "fifo: in strict order; suspend: shuffled queues, jobs may preempt others",
	  "backfill", CONF_LIVE },
	POLICY(CONF_SECONDS, "LateAfter", late_after_s,
	       "with Scheduler = suspend: a job that has waited so long gets a reservation; 0: never",
	       "1-0:00:00", CONF_LIVE),
	{ "Policy", "UsageReset", CONF_ENUM, POLICY_AT(usage_reset), 0, 0, reset_words,
	  "when earlier usage is discarded: never, on the first of each month, or on the first day of the allocation year",
	  "never", CONF_RESTART },
	{ "Policy", "UsageRule", CONF_ENUM, POLICY_AT(usage_rule), 0, 0, rule_words,
	  "a job is charged the largest of its weighted resources (max), or their sum", "max",
	  CONF_LIVE },
	POLICY(CONF_TEXT, "TresWeights", weights.typed,
	       "price of a second of one core, of one GPU and of an amount of memory; not set: "
	       "the bundle of the cluster's Unit decides",
	       "cpu=1,mem=0.25/GB,gpu=4", CONF_LIVE),
	{ "Policy", "MemoryUnit", CONF_ENUM, POLICY_AT(memory_unit), 0, 0, amount_units_words,
	  "what K, KB, M, MB, G, GB ... mean: powers of 1024 (binary), of 1000 (decimal), or "
	  "MB "
	  "of 1000 and M of 1024 (as-written)",
	  "binary", CONF_LIVE },
	WEIGHT("PriorityWeightAge", weight_age, "weight of the time that a job has waited",
	       CONF_LIVE),
	WEIGHT("PriorityWeightFairshare", weight_fairshare, "weight of the fairshare factor",
	       CONF_LIVE),
	WEIGHT("PriorityWeightJobSize", weight_job_size, "weight of the size of a job",
	       CONF_LIVE),
	WEIGHT("PriorityWeightPartition", weight_partition, "weight of the queue's Priority",
	       CONF_LIVE),
	WEIGHT("PriorityWeightQos", weight_qos, "weight of the Priority of the job's QOS",
	       CONF_LIVE),
	KEY("Policy", "DefaultQos", CONF_NAME, POLICY_AT(default_qos),
	    "QOS of jobs that name none and whose account has no default of its own", "normal",
	    CONF_LIVE),
	{ "Policy", "PriorityMaxAge", CONF_SECONDS, POLICY_AT(max_age_s), 1, 315360000, NULL,
	  "waiting time from which on the age factor no longer grows", "7-0:00:00", CONF_LIVE },
	{ "Policy", "FavorSmall", CONF_BOOL, POLICY_AT(favor_small), 0, 0, NULL,
	  "small jobs, not large ones, have the larger size factor", "no", CONF_LIVE },
	{ "Policy", "SmallRelativeToTime", CONF_BOOL, POLICY_AT(small_relative_to_time), 0, 0,
	  NULL, "the size factor is cores per minute of walltime, as a fraction of all cores",
	  "no", CONF_LIVE },
	{ "Policy", "GpuIdleMinutes", CONF_COUNT, POLICY_AT(gpu_idle_min), 0, 10080, NULL,
	  "minutes without work of one of its GPUs after which a job is marked as allocated but idle; 0: never",
	  "10", CONF_LIVE },
	{ "Policy", "Quota", CONF_ENUM, POLICY_AT(quota), 0, 0, quota_words,
	  "kind of the accounts' allocations: none, monthly quotas in a sliding window (window, window-3x), grant or target",
	  "none", CONF_LIVE },
	{ "Policy", "GrantCover", CONF_ENUM, POLICY_AT(grant_cover), 0, 0, cover_words,
	  "a grant covers a job when all that the job reserves is available (whole), or when anything is available (any)",
	  "whole", CONF_LIVE },
	{ "Policy", "GrantOverdraft", CONF_COUNT, POLICY_AT(grant_overdraft), 0, 1000000000000,
	  NULL, "units that an account may use beyond its grant", "0", CONF_LIVE },
	{ "Policy", "GrantBeyond", CONF_ENUM, POLICY_AT(grant_beyond), 0, 0, beyond_words,
	  "a job that no grant covers runs in the cluster's queue of factor 0 (bonus), or is refused (refuse)",
	  "bonus", CONF_LIVE },
	KEY("Hooks", "Program", CONF_TEXT, HOOKS_AT(program),
	    "program that the controller runs for each event (docs/operation.md)",
	    "/etc/reeve/hook", CONF_LIVE),
	KEY("Hooks", "Events", CONF_TEXT, HOOKS_AT(events), "events for which it is run",
	    "job-ended,gpu-idle,node-lost", CONF_LIVE),
	KEY("Hooks", "AllocationPercents", CONF_TEXT, HOOKS_AT(percents_typed),
	    "percentages of an allocation at which allocation-used occurs", "80,100",
	    CONF_LIVE),
	HOOKS("AtOnce", at_once, 1, 64, "how many of these programs run at a time", "4",
	      CONF_LIVE),
	HOOKS("QueueMax", queue_max, 1, 100000,
	      "events that may wait; beyond, events of the user with most are dropped", "1000",
	      CONF_LIVE),
	{ "Hooks", "TimeLimit", CONF_SECONDS, HOOKS_AT(time_limit_s), 1, 3600, NULL,
	  "time after which the program is killed", "30", CONF_LIVE },
	{ "Hooks", "RetryAfter", CONF_SECONDS, HOOKS_AT(retry_after_s), 1, 3600, NULL,
	  "when a program that ends with status 75 is run again; twice as long the next time, and so on",
	  "30", CONF_LIVE },
	{ "Cluster", "Engine", CONF_ENUM, offsetof(struct config_cluster, engine), 0, 0,
	  engine_words,
	  "program that starts the jobs of the cluster: reeve, slurm (docs/slurm.md) or pbs (docs/pbs.md)",
	  "reeve", CONF_RESTART },
	{ "Cluster", "Accounts", CONF_ENUM, offsetof(struct config_cluster, accounts), 0, 0,
	  accounts_words,
	  "of a Slurm cluster: accounts and users are declared in slurmdbd (slurm), or here and "
	  "brought to slurmdbd (reeve)",
	  "slurm", CONF_LIVE },
	CLUSTER(CONF_NAME, "SlurmUser", slurm_user,
		"of a Slurm cluster: user that slurmctld and reeve-slurm run as, beside root",
		"slurm", CONF_LIVE),
	{ "Cluster", "SlurmForgotten", CONF_SECONDS,
	  offsetof(struct config_cluster, slurm_forgotten_s), 60, 366 * DAY_S, NULL,
	  "of a Slurm cluster: time after which a job ends as lost that slurmctld no longer has, and of which slurmdbd has no end; "
	  "default: 24:00:00",
	  "24:00:00", CONF_LIVE },
	{ "Cluster", "Unit", CONF_ENUM, offsetof(struct config_cluster, unit), 0, 0,
	  tariff_unit_words,
	  "unit of charges: core-equivalents, core-hours or service-units (docs/policies.md)",
	  "core-equivalents", CONF_LIVE },
	BUNDLE(CLUSTER),
	CLUSTER(CONF_RESOURCES, "DefaultResources", defaults,
		"amounts of requests that do not state them", "jobfs=100MB,walltime=1:00:00",
		CONF_LIVE),
	CLUSTER(CONF_RESOURCES, "MaxResources", max, "largest amounts of one request",
		"ncpus=512,walltime=2-0:00:00", CONF_LIVE),
	{ "Cluster", "MemFromVmem", CONF_COUNT, offsetof(struct config_cluster, mem_from_vmem),
	  0, 100, NULL,
	  "mem of a request that states vmem alone, in percent of vmem; 0: by the node's MemFromVmemPercent",
	  "100", CONF_LIVE },
	CLUSTER(CONF_TEXT, "TresWeights", weights.typed, "as in [Policy], for this cluster",
		"cpu=1,mem=0.25/GB", CONF_LIVE),
	{ "Cluster", "MemoryUnit", CONF_ENUM, offsetof(struct config_cluster, memory_unit), 0,
	  0, amount_units_words, "as in [Policy], for this cluster", "decimal", CONF_LIVE },
	CLUSTER(CONF_TEXT, "Queues", queues, "queues of the cluster; the first is the default",
		"normal", CONF_LIVE),
	BUNDLE(NODE_TYPE),
	NODE_TYPE(CONF_NAME, "GpuModel", gpu_model, "model of the GPUs of these nodes",
		  "v100-16", CONF_LIVE),
	NODE_TYPE(CONF_TEXT, "GresName", gres_names,
		  "names that the cluster's Slurm has for these GPUs (gres/gpu:NAME)", "v100l",
		  CONF_LIVE),
	KEY("GpuModel", "Weight", CONF_TEXT, offsetof(struct config_gpu_model, typed_weight),
	    "reference units that one GPU of this model counts as; below 1 for a part of a GPU",
	    "1/7", CONF_LIVE),
	KEY("Queue", "Factor", CONF_TEXT, offsetof(struct config_queue, typed_factor),
	    "factor of the charge; 0: free; default: 1", "3", CONF_LIVE),
	{ "Queue", "Priority", CONF_COUNT, offsetof(struct config_queue, priority), 0, 1000000,
	  NULL, "priority of the queue; its factor is this / the highest of all queues", "10",
	  CONF_LIVE },
	{ "Queue", "QosPriority", CONF_COUNT, offsetof(struct config_queue, qos_priority), 0,
	  1000000, NULL,
	  "QOS factor of the queue's jobs, likewise, where there are no [Qos] sections", "10",
	  CONF_LIVE },
	{ "Queue", "RunPriority", CONF_COUNT, offsetof(struct config_queue, run_priority), 0,
	  1000000, NULL,
	  "with Scheduler = suspend: jobs of this queue may preempt those of queues with a lower value",
	  "2", CONF_LIVE },
	KEY("Queue", "TresWeights", CONF_TEXT, offsetof(struct config_queue, weights.typed),
	    "as in [Policy], for jobs of this queue", "cpu=1,gpu=2", CONF_LIVE),
	KEY("Queue", "Exclusive", CONF_BOOL, offsetof(struct config_queue, exclusive),
	    "jobs get whole nodes, and are charged for all their cores", "yes", CONF_LIVE),
	KEY("Qos", "Factor", CONF_TEXT, offsetof(struct config_qos, typed_factor),
	    "factor of the charge, in addition to the queue's; 0: free; default: 1", "2",
	    CONF_LIVE),
	QOS(CONF_COUNT, "Priority", priority, 1000000,
	    "priority of the QOS; its factor is this / the highest of all QOS", "10",
	    CONF_LIVE),
	QOS(CONF_COUNT, "MaxRunningCores", running_cores, COUNT_MAX,
	    "cores of all running jobs of one user in this QOS, at most", "600", CONF_LIVE),
	QOS(CONF_COUNT, "MaxRunningGpus", running_gpus, COUNT_MAX,
	    "GPUs of all running jobs of one user in this QOS, at most", "8", CONF_LIVE),
	QOS(CONF_BYTES, "MaxRunningMemory", running_memory_bytes, INT64_MAX,
	    "memory of all running jobs of one user in this QOS, at most", "2TB", CONF_LIVE),
	QOS(CONF_COUNT, "MaxRunningJobs", running_jobs, COUNT_MAX,
	    "running jobs of one user in this QOS, at most", "2", CONF_LIVE),
	QOS(CONF_COUNT, "MaxQueuedJobs", queued_jobs, COUNT_MAX,
	    "queued jobs of one user in this QOS, at most", "100", CONF_LIVE),
	{ "Qos", "MaxWalltime", CONF_SECONDS, offsetof(struct config_qos, max_walltime_s), 1,
	  315360000, NULL, "walltime of one job in this QOS, at most; not set: unlimited",
	  "1:00:00", CONF_LIVE },
	KEY("Qos", "AllowAccounts", CONF_TEXT, offsetof(struct config_qos, allow_accounts),
	    "accounts that may use this QOS, with all accounts below them; not set: all accounts",
	    "physics", CONF_LIVE),
	KEY("Qos", "AllowUsers", CONF_TEXT, offsetof(struct config_qos, allow_users),
	    "users who may use this QOS; not set: all users", "alice,bob", CONF_LIVE),
	KEY("Account", "Users", CONF_TEXT, offsetof(struct config_account, users),
	    "users whose jobs may be charged to the account", "alice,bob", CONF_LIVE),
	KEY("Account", "Clusters", CONF_TEXT, offsetof(struct config_account, clusters),
	    "clusters on which the account may be charged; not set: all", "main", CONF_LIVE),
	KEY("Node", "Address", CONF_TEXT, offsetof(struct config_node, address),
	    "address from which the node reports, as its munged states it; not set: not checked",
	    "10.0.0.7", CONF_LIVE),
	KEY("Node", "Cluster", CONF_NAME, offsetof(struct config_node, cluster),
	    "cluster of the node; not set: the first", "main", CONF_LIVE),
	{ 0 },
};

const struct conf_key *config_all_keys(void)
{
	return config_keys;
}
