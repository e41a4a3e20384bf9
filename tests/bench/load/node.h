/* SPDX-License-Identifier: GPL-2.0-or-later */
/* node - a simulated node: takes the jobs that it is to run, says what an agent says of them, and keeps what was acknowledged. Its jobs
 * never end. They have used what a job of one core without GPUs is measured to use.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include "common/http/buffer.h"

struct err;

struct node_job {
	int64_t job;
	int32_t attempt;
	int64_t start_ns, started_ns; /* CLOCK_MONOTONIC, real time */
	int64_t seq, running_ns;      /* of the last report */
	int64_t acked_seq, acked_running_ns;
	int64_t series_sent_ns; /* CLOCK_MONOTONIC; 0: not yet */
};

struct node {
	char name[16];
	int64_t cores; /* jobs that it can have */
	struct node_job *jobs;
	int n_jobs;
};

/* What an answer did. */
struct node_taken {
	int n_jobs; /* new ones */
	int n_acks;
	int n_refused; /* or to be cancelled: attempts that the controller has given up */
};

void node_init(struct node *n, int number, int64_t cores);
/* The text of its next request, of that number; with a report of each job where `has_reports`. */
int node_describe(struct node *n, int64_t number, bool has_reports, struct http_buffer *ret,
		  struct err *err);
int node_take(struct node *n, const json_t *answer, struct node_taken *ret, struct err *err);
