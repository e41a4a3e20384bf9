/* store - the ledger: what was requested, allocated, reported and charged. Charges and all that they
 * are computed from are kept for ever; output, steps, scripts and events for a time
 * (jobs/stored.h).
 *
 * The header is the contract for every implementation (embedded SQLite here; a server database
 * for large sites takes the same calls). All calls return when what they did is on disk; a
 * call that fails has changed nothing. Texts that rows point to live until the row function
 * returns. Times are real time in nanoseconds since the epoch; charges are milli-equivalent-
 * seconds (controller/policy/charge/charge.h).
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

/* -EPROTO: made by a newer program; -EACCES, -EBADMSG, ... */
int store_open(const char *path, struct store **ret, struct err *err);
/* The days of a ledger are those of one time zone (calendar.h), fixed when it is made: `zone`,
 * or UTC when that is NULL. -EEXIST: it has sums of another zone's days; -EINVAL: no such zone.
 */
int store_open_zone(const char *path, const char *zone, struct store **ret, struct err *err);
/* calendar_parse_at() in the ledger's zone. -EINVAL, with the forms. */
int store_parse_at(struct store *s, const char *text, int64_t *ret_ns, struct err *err);
const char *store_zone(const struct store *s);
/* The ledger's days: which one a moment is on, and where one begins. */
int64_t store_day(struct store *s, int64_t at_ns);
int64_t store_first_ns(struct store *s, int64_t day);
struct store *store_close(struct store *s);
/* Where it is, for messages: a path, or "NAME on HOST, schema S"; never a password. */
const char *store_place(const struct store *s);
DEFINE_CLEANUP(struct store *, store_close)

/* --- jobs, from people --- */
struct store_target {
	int64_t job; /* to wait for; store_depend_look() finds it */
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
	bool is_exclusive; /* holds whole nodes */
	struct tally_terms terms;
	int64_t now_ns;
	const char *credential; /* what the user signed of it; NULL: nothing */
};
/* Many at once, on disk together: begin, any number of store_submit_one(), commit. What fails
 * in between is to be rolled back as a whole. */
int store_begin(struct store *s, struct err *err);
int store_submit_one(struct store *s, const struct store_new *n, int64_t *ret_job,
		     struct err *err);
int store_commit(struct store *s, struct err *err);
void store_rollback(struct store *s);

/* How many jobs wait in the queue, elements of arrays included, whatever keeps them there. */
enum store_queued_by { STORE_QUEUED_BY_USER, STORE_QUEUED_BY_ACCOUNT };
int store_queued(struct store *s, enum store_queued_by by, const char *name, int64_t *ret,
		 struct err *err);

/* What moves a queued job's priority beside its factors: subtracted, and added. */
struct store_priority_change {
	int64_t job, now_ns;
	bool has_nice, has_site; /* else it stays */
	int64_t nice, site;
	const char *author;
};
/* 1 (STORE_TOO_LATE): it is not queued any more. -ENOENT: no such job. */
int store_set_priority(struct store *s, const struct store_priority_change *w, struct err *err);

struct store_desired_change {
	int64_t job;
	enum job_desired want;
	const char *reason; /* for cancel: "cancelled by alice" */
	int64_t now_ns;
	int64_t preempted_by; /* of a suspension by the queue: the job that gets the cores */
	bool by_queue;	      /* else by a user or operator */
	bool by_owner;	      /* a suspension of it is bounded: attempts/suspended.h */
};
#define STORE_TOO_LATE 1    /* it has ended, or is being cancelled */
#define STORE_PREEMPTED 3   /* resume of one that the queue suspended: it will by itself */
#define STORE_NOT_RUNNING 2 /* suspend or resume of a job that has not been given to a node */
/* A queued job is cancelled at once; else its node gets the desired state; the node is written to
 * ret_node ("" when queued). -ENOENT: no such job. */
int store_set_desired(struct store *s, const struct store_desired_change *w,
		      char ret_node[REQUEST_NAME_MAX], struct err *err);

/* --- one exchange with a node: one transaction --- */
/* 0, the result to be freed with sync_result_done(). -EBUSY: the node name is in use from
 * another address. Reports with a seq already known change nothing and are acknowledged; a
 * final report is the attempt's last word; reports of jobs that this node was never given
 * are refused and change nothing. */
int store_ingest(struct store *s, const struct sync *in, const struct sync_from *from,
		 struct sync_result *ret, struct err *err);

/* What a job has of one of its nodes. */
struct store_part {
	const char *node;
	int64_t ncpus, vmem_bytes, mem_bytes, jobfs_bytes, ngpus;
};
struct store_desired {
	int64_t job;
	int32_t attempt;
	enum job_desired want;
	enum job_state state;
	const char *reason, *request; /* request: JSON; of an element, its array's */
	struct job_id array;	      /* of an element; job 0: it is none */
	/* Of a job on several nodes, what this one has of it: part.n 0: all of it. */
	struct job_part part; /* hosts is borrowed */
	struct store_part share;
};
typedef int (*store_desired_fn)(void *ctx, const struct store_desired *g, struct err *err);
/* Every attempt that was allocated to this node and is not finished, with its desired state. */
int store_desired(struct store *s, const char *node, store_desired_fn fn, void *ctx,
		  struct err *err);

/* --- the queue --- */
/* 1: a job of the cluster is queued, and neither held nor dependent on others; 0: none is. */
int store_has_queued(struct store *s, const char *cluster, struct err *err);
/* Nodes of a cluster with what their jobs have in use. *ret is malloc()ed. */
int store_nodes_in_use(struct store *s, const char *cluster, struct fit_node **ret,
		       size_t *ret_n, struct err *err);
/* Allocates queued jobs to nodes, all or none. */
struct store_allocation {
	int64_t job;
	const char *node;		/* the first one's */
	const struct store_part *parts; /* each on another node */
	size_t n_parts;			/* 0: all of the job is on `node` */
};
int store_allocate(struct store *s, const struct store_allocation *gifts, size_t n,
		   int64_t now_ns, struct err *err);
/* Nodes not heard of since `before_ns` become lost. Returns how many did. */
int store_mark_lost_nodes(struct store *s, int64_t before_ns, int64_t now_ns, struct err *err);

/* --- views --- */
struct store_job {
	int64_t job;
	int32_t attempt;
	enum job_state state;
	enum job_desired want;
	uint32_t uid;
	const char *cluster, *account, *user, *queue, *name, *node; /* node NULL: queued */
	const char *request, *usage, *end, *cpus, *note; /* JSON, JSON, JSON; or NULL */
	const char *gpus; /* JSON array, as reports have it; NULL: none told */
	enum charge_pool pool;
	enum charge_side decided_by;
	enum tariff_unit unit;
	const char *rule;
	struct fraction rate;
	int64_t submitted_ns, started_ns, ended_ns; /* 0: not yet */
	int64_t running_ns, suspended_ns;
	int64_t charge_requested_ms, charge_used_ms;
	int64_t adjusted_ms; /* of the whole job: refunds (< 0) and recharges */
	bool node_is_lost;
	bool is_withheld;		/* queued, and not to be offered: jobs/hold.h */
	bool is_array;			/* jobs/array.h has the rest */
	int64_t array_job, array_index; /* of an element; else 0 and -1 */
	int64_t preempted_by; /* of one that is suspended: the job that got its cores; or 0 */
	const char *qos;      /* "": none */
	const char *
		hosts; /* "n1=16,n2=16" of one on several nodes (attempts/multinode.h); else "" */
	int64_t owner_suspended_ns; /* since then its owner has had it suspended; or 0 */
};
typedef int (*store_job_fn)(void *ctx, const struct store_job *j, struct err *err);

struct store_filter {
	const char *user, *account, *node; /* NULL: any */
	int state;	/* enum job_state; STORE_ANY; STORE_ACTIVE: not ended */
	int64_t before; /* jobs with a smaller number only; 0: any */
	int64_t limit;
	enum store_elements { STORE_NO_ELEMENTS, STORE_ELEMENTS } elements; /* of arrays */
	int64_t array; /* only elements of this one; 0: any */
};
#define STORE_ANY (-1)
#define STORE_ACTIVE (-2)
/* Newest first. */
int store_jobs(struct store *s, const struct store_filter *f, store_job_fn fn, void *ctx,
	       struct err *err);
/* -ENOENT: no such job. */
int store_job(struct store *s, int64_t job, store_job_fn fn, void *ctx, struct err *err);
/* Each attempt of a job, first one first; the fields that belong to the attempt. */
int store_attempts(struct store *s, int64_t job, store_job_fn fn, void *ctx, struct err *err);

struct store_node {
	const char *node, *cluster, *boot, *version, *address, *topology, *notes;
	const char *gpus;			 /* JSON array of devices */
	struct resources capacity, free, held;	 /* capacity also says of which kind it is */
	struct gpus gpu_models, free_gpu_models; /* n 0: not told */
	bool draining, lost;
	int32_t tier, jobs;
	int64_t first_ns, last_ns;
};
typedef int (*store_node_fn)(void *ctx, const struct store_node *n, struct err *err);
int store_nodes(struct store *s, store_node_fn fn, void *ctx, struct err *err);

struct store_usage {
	const char *key;    /* account, user or cluster */
	const char *second; /* of the second dimension; "" without one */
	const char *pool;
	int64_t jobs_started, jobs_ended;
	int64_t running_ms, suspended_ms, cpu_ms;
	int64_t charge_requested_ms, charge_used_ms, core_ms, gpu_ms;
	int64_t adjusted_ms; /* refunds (< 0) and recharges: what counts is charge + adjusted */
	int64_t month;	     /* of calendar.h, where each month has its row; else 0 */
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
/* "user", or "user,cluster": one or two of the dimensions. -EINVAL: it says which there are. */
int store_by_parse(const char *text, enum store_by ret[static 2], struct err *err);
enum store_each { STORE_EACH_PERIOD, STORE_EACH_MONTH };
struct store_period {
	enum store_by by, second; /* second: STORE_BY_NONE, or another dimension */
	enum store_each each;
	const char *account, *user, *cluster; /* NULL: any */
	int64_t from_day, to_day;	      /* days of calendar.h, half open */
};
/* By month, key, second key and pool. */
int store_usage(struct store *s, const struct store_period *p, store_usage_fn fn, void *ctx,
		struct err *err);

/* Was anything ever charged to this account, user or cluster? 1: yes, 0: no. */
int store_usage_has(struct store *s, enum store_by by, const char *name, struct err *err);
/* Each name of that dimension to which anything was charged, in order. */
typedef int (*store_name_fn)(void *ctx, const char *name, struct err *err);
int store_usage_names(struct store *s, enum store_by by, store_name_fn fn, void *ctx,
		      struct err *err);

struct store_count {
	const char *cluster;
	enum job_state state;
	int64_t n;
};
typedef int (*store_count_fn)(void *ctx, const struct store_count *c, struct err *err);
int store_counts(struct store *s, store_count_fn fn, void *ctx, struct err *err);

/* Output of a streamed job kept so far, at most this much a stream; what is beyond it is
 * dropped, and the kept text ends with a line about that. */
#define STORE_OUTPUT_MAX (8 << 20)
struct store_read {
	int64_t job, step; /* step 0: the job's own */
	enum sync_stream stream;
	int64_t offset;
};
struct store_text {
	char *data;  /* malloc()ed */
	size_t size; /* 0: nothing there (yet) */
	bool is_end; /* nothing more will come after this */
};
/* From `offset` on, at most about 1.25 MiB. */
int store_output(struct store *s, struct store_read what, struct store_text *ret,
		 struct err *err);
