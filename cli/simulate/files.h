/* SPDX-License-Identifier: GPL-2.0-or-later */
/* files - reads the trace of `reeve simulate`, and writes the times of its jobs. */
#pragma once
#include "cli/simulate/clusters.h"
#include "controller/simulate/replay.h"

struct err;

/* Reads a file, plain or gzip, into *ret. The caller has called sim_trace_init(), and calls
 * sim_trace_finish() afterwards. `format` is "swf" (Standard Workload Format), "sacct" or "pbs", as 'reeve
 * import' reads them; times of sacct are taken as UTC's. Jobs of other clusters than clusters->only are
 * left out; `clusters` counts all. -ENOENT, -EINVAL: no such format or cluster, -EBADMSG: no trace,
 * -ENOMEM, ... */
struct simulate_source {
	const char *path, *format;
	struct simulate_clusters *clusters;
};
int simulate_read_trace(const struct simulate_source *from, struct sim_trace *ret,
			struct err *err);

/* job,submit_s,start_s,end_s,wait_s,suspended_s of every job, in the order of the queue. */
int simulate_write_jobs(const char *path, const struct sim_replay *r, struct err *err);

/* The name of a profile, "site" also for "../site.conf": *ret_size bytes of the result, which
 * points into `profile`. */
const char *simulate_profile_word(const char *profile, size_t *ret_size);
/* "a.csv" and "easy": "a.easy.csv". *ret is malloc()ed. -ENOMEM. */
int simulate_name_file(const char *path, const char *profile, char **ret, struct err *err);
