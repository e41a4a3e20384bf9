/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bench_documents.h - the documents that benches send to a controller: a job of one core, and what the node n1 reports. */
#pragma once
#include <jansson.h>

#define BENCH_NODE_WAIT_S 20
#define BENCH_NODE_SYNC "/v1/node/sync?wait=20"

static inline json_t *bench_submission(void)
{
	return json_pack("{s:s,s:{s:{s:i,s:I,s:i},s:s,s:s,s:[s],s:[],s:s}}", "schema",
			 "reeve/1", "request", "resources", "ncpus", 1, "vmem_bytes",
			 (json_int_t)1000000, "walltime_s", 60, "account", "physics", "name",
			 "bench", "argv", "/bin/true", "env", "workdir", "/");
}

static inline json_t *bench_capacity(int ncpus)
{
	return json_pack("{s:i,s:I,s:I,s:i}", "ncpus", ncpus, "mem_bytes", (json_int_t)1 << 50,
			 "jobfs_bytes", (json_int_t)1 << 50, "ngpus", 0);
}

/* Takes both lists. All of the node is reported as free: the controller counts the jobs that it has dispatched. */
static inline json_t *bench_node_document(int ncpus, json_t *jobs, json_t *reports)
{
	return json_pack("{s:s,s:s,s:s,s:s,s:o,s:o,s:s,s:i,s:[],s:o,s:o,s:[]}", "schema",
			 "reeve/1", "node", "n1", "boot", "b1", "version", "t", "capacity",
			 bench_capacity(ncpus), "free", bench_capacity(ncpus), "state", "up",
			 "tier", 1, "notes", "jobs", jobs, "reports", reports, "output");
}
