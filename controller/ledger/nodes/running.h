/* SPDX-License-Identifier: GPL-2.0-or-later */
/* running - the jobs that have cores of nodes, node by node: for maps of nodes. Part of the contract of store.h. */
#pragma once
#include "controller/ledger/store.h"

struct store_running {
	int64_t job;
	uint32_t uid;
	const char *node, *cluster, *name, *user, *account;
	const char *cpus;     /* "0-3,8": as the node reported them; "": not yet */
	int64_t ncpus, ngpus; /* on this node */
	int64_t gpu_idle_ns;  /* 0: none of its GPUs is idle, or it has none */
	int64_t mem_bytes;    /* what it holds: vmem, or mem where it asked for none */
	int64_t jobfs_bytes;
	bool is_suspended;
	bool frees_cores; /* it is suspended, and is to be: others may have its cores */
	bool is_node_lost;
	int64_t at_ns;	    /* of its last report, on the clock of the node; 0: none yet */
	int64_t running_ns; /* so far, as of that report */
	int64_t cpu_ns;	    /* -1: not measured */
};
typedef int (*store_running_fn)(void *ctx, const struct store_running *r, struct err *err);
/* In the order of nodes and jobs; `node` NULL: of all nodes from `from` on ("": the first). A job on several nodes
 * comes once for each. */
struct store_running_filter {
	const char *node, *from;
	int64_t limit;
};
int store_running(struct store *s, const struct store_running_filter *f, store_running_fn fn,
		  void *ctx, struct err *err);
/* Up to `limit` of those that come after the job `job` on `node`, in the same order; "", 0: from the first. */
struct store_running_place {
	const char *node;
	int64_t job, limit;
};
int store_running_after(struct store *s, const struct store_running_place *after,
			store_running_fn fn, void *ctx, struct err *err);

/* How far the accounting of a Slurm cluster has been read. */
struct store_followed {
	const char *cluster;
	int64_t mark_s;	 /* what ended until then is in the ledger; 0: nothing was read yet */
	int64_t live_ns; /* when slurmctld's jobs were last told; 0: never */
};
typedef int (*store_followed_fn)(void *ctx, const struct store_followed *f, struct err *err);
int store_followed(struct store *s, store_followed_fn fn, void *ctx, struct err *err);

/* Nodes whose last exchange was before that moment. */
int store_silent_count(struct store *s, int64_t before_ns, int64_t *ret, struct err *err);
