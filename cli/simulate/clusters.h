/* SPDX-License-Identifier: GPL-2.0-or-later */
/* clusters - the clusters of a trace, counted: a replay has one machine, so that jobs of a
 * federation are either one cluster's, or mixed. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "common/model/request.h"

struct err;

#define SIMULATE_CLUSTERS_MAX 32 /* that are counted by name */

struct simulate_clusters {
	struct {
		char name[REQUEST_NAME_MAX];
		int64_t jobs;
	} of[SIMULATE_CLUSTERS_MAX];
	size_t n;
	int64_t more;	  /* jobs of clusters beyond those */
	const char *only; /* only its jobs are replayed; NULL: all jobs */
	int64_t left_out; /* jobs of the others */
};

/* Counts a job. 1: it is of another cluster than `only`. "": the record names none. */
int simulate_clusters_count(struct simulate_clusters *c, const char *name);
/* -EINVAL: no job is of `only`; err lists the clusters that there are. */
int simulate_clusters_check(const struct simulate_clusters *c, const char *path,
			    struct err *err);
/* The cluster of all jobs that are replayed; NULL: none is named, or they are of several. */
const char *simulate_clusters_one(const struct simulate_clusters *c);
#define SIMULATE_CLUSTERS_TEXT_MAX 512
/* "cedar 20, graham 3"; "" where jobs are not mixed. */
const char *simulate_clusters_mixed(const struct simulate_clusters *c,
				    char buf[static SIMULATE_CLUSTERS_TEXT_MAX]);
