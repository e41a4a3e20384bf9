/* SPDX-License-Identifier: GPL-2.0-or-later */
/* placed - the jobs of a cluster that are allocated to nodes, kept in memory from cycle to cycle:
 * those that the ledger announces as changed are read again. */
#pragma once
#include "controller/dispatch/names.h"
#include "controller/ledger/nodes/allocated.h"
#include "controller/scheduler/schedule.h"

/* A job without a walltime counts as one of ten years. */
#define PLACED_NO_LIMIT_S (INT64_C(10) * 365 * 86400)

/* What a job occupies on one node. */
struct placed_part {
	struct schedule_chunk chunk; /* its model is placed_job.model's */
	int32_t node;		     /* by placed_ask.nodes */
	bool frees_cores;	     /* it is suspended, and its desired state is too */
};

struct placed_job {
	int64_t job;
	int32_t number;		     /* of the schedule; -1: not in it */
	enum schedule_state held_as; /* there */
	int32_t user, account;	     /* by the names of the ask */
	int32_t queue;		     /* of the configuration; -1: gone from there */
	int32_t model;		     /* of its GPUs, by placed_ask.models; -1: any, or none */
	enum job_state state;
	enum job_desired desired;
	bool is_exclusive, is_several;
	int64_t preempted_by, submitted_ns, due_ns;
	int64_t at_ns; /* of its last report; 0: none */
	int64_t running_ns, suspended_ns;
	int64_t limit_s;
	struct placed_part *parts; /* NULL: `one` alone */
	struct placed_part one;
	int32_t n_parts;
};
static inline const struct placed_part *placed_parts(const struct placed_job *p)
{
	return p->parts ? p->parts : &p->one;
}

/* By job; a job may be there twice (store_allocated()). */
struct placed {
	struct placed_job *jobs;
	size_t n, room;
};

struct placed_ask {
	struct store *store;
	const struct config *config;
	const char *cluster;
	struct names *users, *accounts, *nodes, *models; /* nodes and models: those of parts */
};
/* *ret needs placed_done() in any case. */
int placed_make(const struct placed_ask *a, struct placed *ret, struct err *err);
/* Reads these jobs again. What fails leaves it to be made again. */
int placed_update(const struct placed_ask *a, const struct store_changes *since,
		  struct placed *p, struct err *err);
void placed_done(struct placed *p);
/* The first row of a job, or of the next one; p->n: there is none. */
size_t placed_find(const struct placed *p, int64_t job);
