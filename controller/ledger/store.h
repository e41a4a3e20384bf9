/* SPDX-License-Identifier: GPL-2.0-or-later */
/* store - the ledger: the controller's database of what was requested, allocated, reported and charged.
 * Charges and all that they are computed from are kept for ever; output, steps, scripts and events for
 * a time (jobs/stored.h).
 *
 * The ledger is in SQLite, or in PostgreSQL for large sites; the calls are the same. A call that writes
 * returns when its changes are on disk; a call that fails has changed nothing. In a row passed to a
 * function, texts live until the function returns; a result < 0 of that function ends the reading and is
 * what the call returns. Times are real time in nanoseconds since the epoch; charges are
 * milli-equivalent-seconds (controller/policy/charge/charge.h).
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "common/cleanup.h"
#include "common/model/job.h"
#include "controller/ledger/nodes/sync.h"
#include "controller/policy/charge/tally.h"
#include "controller/policy/charge/tariff.h"
#include "controller/policy/placement/fit.h"

struct err;
struct store;

/* To be called before a ledger is opened: fn gets a line of what opening one of an older version does, where that takes long. */
typedef void (*store_progress_fn)(const char *line);
void store_on_progress(store_progress_fn fn);
/* Opens a ledger, or makes a new one; `path` is a file or postgresql://... -EPROTO: a newer program made
 * it; -EACCES, -EBADMSG, ... */
int store_open(const char *path, struct store **ret, struct err *err);
/* The days of a ledger are those of one time zone (calendar.h), fixed when it is made: `zone`, or UTC
 * where that is NULL. -EEXIST: the ledger has rollups in days of another zone; -EINVAL: no such zone. */
int store_open_zone(const char *path, const char *zone, struct store **ret, struct err *err);
/* calendar_parse_at() in the ledger's zone. -EINVAL; the message names the forms. */
int store_parse_at(struct store *s, const char *text, int64_t *ret_ns, struct err *err);
const char *store_zone(const struct store *s);
/* The ledger's day of a moment, and the moment at which a day begins. */
int64_t store_day(struct store *s, int64_t at_ns);
int64_t store_first_ns(struct store *s, int64_t day);
/* How many bytes of the ledger's file may be kept in memory; of a server: nothing. */
int store_cache(struct store *s, int64_t bytes, struct err *err);
struct store *store_close(struct store *s);
int64_t store_schema_newest(void); /* the version of the schema that this program writes */
/* Where the ledger is, for messages: a path, or "NAME on HOST, schema S"; never a password. */
const char *store_place(const struct store *s);
DEFINE_CLEANUP(struct store *, store_close)

/* --- jobs: what users submit and ask for --- */
struct store_target {
	int64_t job; /* that the new job waits for; store_depend_look() finds it */
	enum after_kind kind;
};
struct store_new {
	const struct request *request;
	const struct store_target *targets;
	size_t n_targets;
	enum charge_pool pool;
	enum charge_side decided_by;
	enum tariff_unit unit;
	const char *rule;  /* in words, with the numbers; NULL: none */
	bool is_exclusive; /* it is allocated whole nodes */
	int64_t node_cores; /* of a Slurm or PBS job: all cores of its nodes, if it has whole nodes */
	struct tally_terms terms;
	int64_t now_ns;
	const char *credential;		/* the user's signature of the request; NULL: none */
	int64_t slurm_job, slurm_array; /* Slurm's id of it and of its array; 0: none */
};
/* A submission batch is one transaction: begin, any number of store_submit_one(), commit. When a call in
 * between fails, the caller rolls the whole batch back. */
int store_begin(struct store *s, struct err *err);
int store_submit_one(struct store *s, const struct store_new *n, int64_t *ret_job,
		     struct err *err);
int store_commit(struct store *s, struct err *err);
void store_rollback(struct store *s);

/* How many queued jobs a user or account has, array tasks and held jobs included. */
enum store_queued_by { STORE_QUEUED_BY_USER, STORE_QUEUED_BY_ACCOUNT };
int store_queued(struct store *s, enum store_queued_by by, const char *name, int64_t *ret,
		 struct err *err);

/* Changes a queued job's priority: `nice` is subtracted from it, `site` added. */
struct store_priority_change {
	int64_t job, now_ns;
	bool has_nice, has_site; /* false: that value stays */
	int64_t nice, site;
	const char *author;
};
/* STORE_TOO_LATE: the job is no longer queued. -ENOENT: no such job. */
int store_set_priority(struct store *s, const struct store_priority_change *w, struct err *err);

struct store_desired_change {
	int64_t job;
	enum job_desired want;
	const char *reason; /* for cancel: "cancelled by alice" */
	int64_t now_ns;
	int64_t preempted_by; /* of a preemption: the preemptor */
	bool by_queue;	      /* false: by a user or operator */
	bool by_owner;	      /* a suspension by the owner is limited: attempts/suspended.h */
};
#define STORE_TOO_LATE 1    /* the job has ended, or is being cancelled */
#define STORE_NOT_RUNNING 2 /* suspend or resume of a job that is not allocated yet */
#define STORE_PREEMPTED 3   /* resume of a preempted job: the queue will resume it */
/* Sets the desired state of a job, or cancels it at once where it is queued. *ret_node is the node that
 * has to carry it out, "" for a queued job. 0, or an outcome above. -ENOENT: no such job. */
int store_set_desired(struct store *s, const struct store_desired_change *w,
		      char ret_node[REQUEST_NAME_MAX], struct err *err);

/* --- one exchange with a node: one transaction --- */
/* *ret is freed with sync_result_done(). A report with a sequence number that is known already changes
 * nothing and is acknowledged again. After a final report no other report of the attempt counts. Reports
 * of jobs that were never allocated to this node are refused and change nothing. -EBUSY: another address
 * uses the node's name. */
int store_ingest(struct store *s, const struct sync *in, const struct sync_from *from,
		 struct sync_result *ret, struct err *err);
/* In steps, for many nodes in one transaction: attempts/ingest/ingest.h. */

/* What is allocated to a job on one of its nodes. */
struct store_part {
	const char *node;
	int64_t ncpus, vmem_bytes, mem_bytes, jobfs_bytes, ngpus;
};
struct store_desired {
	int64_t job;
	int32_t attempt;
	enum job_desired want;
	enum job_state state;
	const char *reason;
	struct job_id array; /* of an array task; else job 0 */
	/* Of a job on several nodes, its part on this one; part.n 0: all of it is here. */
	struct job_part part;	 /* hosts is borrowed */
	struct store_part share; /* of that part, or of all of the job */
};
typedef int (*store_desired_fn)(void *ctx, const struct store_desired *g, struct err *err);
/* Calls fn for each attempt that was allocated to this node and has not ended there. */
int store_desired(struct store *s, const char *node, store_desired_fn fn, void *ctx,
		  struct err *err);
/* What a node needs once of such an attempt: the request as JSON, which may be large, and what the job's user signed of it
 * (jobs/credential.h); of an array task they are its array's. */
struct store_desired_request {
	int64_t owner; /* the job, or the array; 0: nothing is here */
	char *text, *credential;
};
int64_t store_desired_owner(const struct store_desired *g);
/* In the transaction under way: sends the query of store_desired_request() ahead (db_ask()). */
int store_desired_ask_request(struct store *s, int64_t owner, struct err *err);
/* *ret is empty before. */
int store_desired_request(struct store *s, int64_t owner, struct store_desired_request *ret,
			  struct err *err);
void store_desired_request_done(struct store_desired_request *q);

/* --- the queue --- */
/* 1: a job of the cluster is queued, and neither held nor dependent on others; 0: none is. */
int store_has_queued(struct store *s, const char *cluster, struct err *err);
/* Nodes of a cluster with what their jobs have in use. *ret is malloc()ed. */
int store_nodes_in_use(struct store *s, const char *cluster, struct fit_node **ret,
		       size_t *ret_n, struct err *err);
/* Allocates queued jobs to nodes, all or none. */
struct store_allocation {
	int64_t job;
	const char *node;		/* the first node */
	const struct store_part *parts; /* each on another node, the first one on `node` */
	size_t n_parts;			/* 0: all of the job is on `node` */
	/* All cores of its nodes: the charge of a job with whole nodes counts these; 0: the price of its
	 * submission holds. */
	int64_t node_cores;
};
int store_allocate(struct store *s, const struct store_allocation *allocations, size_t n,
		   int64_t now_ns, struct err *err);
/* Marks nodes as lost that were not heard of since `before_ns`. Returns how many. */
int store_mark_lost_nodes(struct store *s, int64_t before_ns, int64_t now_ns, struct err *err);

/* --- views --- */
struct store_job {
	int64_t job;
	int32_t attempt;
	enum job_state state;
	enum job_desired want;
	uint32_t uid;
	const char *cluster, *account, *user, *queue, *name, *node; /* node NULL: queued */
	const char *request, *usage, *end;			    /* JSON, or NULL */
	const char *cpus, *note;
	const char *gpus; /* JSON array, as reports have it; NULL: not reported */
	enum charge_pool pool;
	enum charge_side decided_by;
	enum tariff_unit unit;
	const char *rule;
	struct fraction rate;
	int64_t submitted_ns, started_ns, ended_ns; /* 0: not yet */
	int64_t running_ns, suspended_ns;
	int64_t charge_requested_ms, charge_used_ms;
	const char *hold; /* of a listed job that is held, for store_hold_parse(); else NULL */
	int64_t adjusted_ms; /* of the whole job: its refunds (< 0) and recharges */
	bool node_is_lost;
	bool is_withheld;		/* queued, and not to be scheduled: jobs/hold.h */
	bool is_array;			/* jobs/array.h has its tasks */
	int64_t array_job, array_index; /* of an array task; else 0 and -1 */
	int64_t preempted_by;		/* of a preempted job: the preemptor; else 0 */
	const char *qos;		/* "": none */
	const char *
		hosts; /* "n1=16,n2=16" of a job on several nodes (attempts/multinode.h); else "" */
	int64_t owner_suspended_ns; /* since when its owner has it suspended; or 0 */
	/* Requested, as scheduled; 0, "": not stated. */
	int64_t ncpus, ngpus, vmem_bytes, mem_bytes, jobfs_bytes, walltime_s;
	const char *gpu_model;
};
typedef int (*store_job_fn)(void *ctx, const struct store_job *j, struct err *err);

struct store_filter {
	const char *user, *account, *node; /* NULL: any */
	int state; /* enum job_state; STORE_ANY; STORE_ACTIVE: not ended; STORE_STARTED: of these, not queued */
	int64_t before; /* jobs with a smaller number only; 0: any */
	int64_t limit;
	enum store_elements { STORE_NO_ELEMENTS, STORE_ELEMENTS } elements; /* array tasks */
	int64_t array; /* only tasks of this array; 0: any */
	/* Filters without an index: store_jobs_bound() limits how many rows they cost. */
	const char *queue; /* NULL: any */
	const char *name;  /* a part of the name, less than REQUEST_NAME_MAX bytes; NULL: any */
	int64_t submitted_ns,
		before_ns; /* submitted in [submitted_ns, before_ns); 0: any time */
	int64_t from;	   /* jobs with this number or a larger one only; 0: any */
	bool in_brief; /* without `request` and `adjusted_ms`, which cost most: NULL and 0 */
};
/* Sets `from` and `before` of *f to a range of numbers in which store_jobs() reads few rows, whatever the ledger
 * has: the jobs of f's time of submission, as numbers rise with it; of other filters without an index at
 * most STORE_SCAN_MAX. *ret_next: jobs with smaller numbers than this one were left out, and may match; 0: none
 * were. */
#define STORE_SCAN_MAX 10000
int store_jobs_bound(struct store *s, struct store_filter *f, int64_t *ret_next,
		     struct err *err);
#define STORE_ANY (-1)
#define STORE_ACTIVE (-2)
#define STORE_STARTED (-3)
/* The newest first. */
int store_jobs(struct store *s, const struct store_filter *f, store_job_fn fn, void *ctx,
	       struct err *err);
/* -ENOENT: no such job. */
int store_job(struct store *s, int64_t job, store_job_fn fn, void *ctx, struct err *err);
/* Each attempt of a job, the first one first; fields of the job are the same in each. */
int store_attempts(struct store *s, int64_t job, store_job_fn fn, void *ctx, struct err *err);

struct store_node {
	const char *node, *cluster, *boot, *version, *address, *topology, *notes;
	const char *gpus;			 /* JSON array of devices */
	struct resources capacity, free, in_use; /* capacity also has type and features */
	struct gpus gpu_models, free_gpu_models; /* n 0: none reported */
	bool draining, lost;
	int32_t tier, jobs;
	int64_t first_ns, last_ns;
};
typedef int (*store_node_fn)(void *ctx, const struct store_node *n, struct err *err);
int store_nodes(struct store *s, store_node_fn fn, void *ctx, struct err *err);

struct store_usage {
	const char *key;    /* account, user or cluster */
	const char *second; /* the name in the second dimension; "" without one */
	const char *pool;
	int64_t jobs_started, jobs_ended;
	int64_t running_ms, suspended_ms, cpu_ms;
	int64_t charge_requested_ms, charge_used_ms, core_ms, gpu_ms;
	int64_t adjusted_ms; /* refunds (< 0) and recharges; quotas and shares count charge + adjusted */
	int64_t month; /* of calendar.h, with STORE_EACH_MONTH; else 0 */
};
typedef int (*store_usage_fn)(void *ctx, const struct store_usage *u, struct err *err);
enum store_by {
	STORE_BY_NONE,
	STORE_BY_ACCOUNT,
	STORE_BY_USER,
	STORE_BY_CLUSTER,
	_STORE_BY_MAX
};
const char *store_by_name(enum store_by by); /* "account"; "" of NONE */
/* "user", or "user,cluster": one or two of the dimensions. -EINVAL; the message names them. */
int store_by_parse(const char *text, enum store_by ret[static 2], struct err *err);
enum store_each { STORE_EACH_PERIOD, STORE_EACH_MONTH };
/* Usage of these accounts, sorted by name, and of `own_user` in all others. */
struct store_scope {
	const char *const *accounts;
	size_t n;
	const char *own_user; /* NULL: of these accounts alone */
};
struct store_period {
	enum store_by by,
		second; /* NONE: all in one row a pool; second also: no second dimension */
	enum store_each each;
	const char *account, *user, *cluster; /* NULL: any */
	const struct store_scope *scope;      /* instead of `account`; NULL: any */
	int64_t from_day, to_day;	      /* days of calendar.h, half open */
};
/* Calls fn in the order of month, key, second key and pool. */
int store_usage(struct store *s, const struct store_period *p, store_usage_fn fn, void *ctx,
		struct err *err);

/* Which months an allocation period has, so that the ledger keeps sums of whole periods: `months` of them, 12 or 3, the first
 * one that of the year (0: January). A ledger is made with 12 from April on; a change adds all of its months up again. */
int store_set_period(struct store *s, int64_t months, int64_t first, struct err *err);

/* The first day on which anything was charged. 0: nothing ever was. */
int store_usage_first_day(struct store *s, int64_t *ret_day, struct err *err);
/* 1: something was charged to this account, user or cluster before; 0: nothing was. */
int store_usage_has(struct store *s, enum store_by by, const char *name, struct err *err);
/* Calls fn for each name of the dimension to which anything was charged, in alphabetical order. */
typedef int (*store_name_fn)(void *ctx, const char *name, struct err *err);
int store_usage_names(struct store *s, enum store_by by, store_name_fn fn, void *ctx,
		      struct err *err);

/* How many jobs of a cluster are in a state. */
struct store_count {
	const char *cluster;
	enum job_state state;
	int64_t n;
};
typedef int (*store_count_fn)(void *ctx, const struct store_count *c, struct err *err);
int store_counts(struct store *s, store_count_fn fn, void *ctx, struct err *err);

/* At most this much output of a stream is stored; the rest is dropped, and the stored text ends with a
 * line about that. */
#define STORE_OUTPUT_MAX (8 << 20)
struct store_read {
	int64_t job, step; /* step 0: the job's own */
	enum sync_stream stream;
	int64_t offset;
};
struct store_text {
	char *data;  /* malloc()ed */
	size_t size; /* 0: there is no output from `offset` on, or not yet */
	bool is_end; /* no more output will follow */
};
/* Reads the stored output from `offset` on, at most about 1.25 MiB of it. */
int store_output(struct store *s, struct store_read what, struct store_text *ret,
		 struct err *err);
