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
	bool is_suspended;
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
