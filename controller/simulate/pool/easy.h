/* SPDX-License-Identifier: GPL-2.0-or-later */
/* easy - first come, first served with backfill on one pool of cores, as EASY does it (Lifka,
 * "The ANL/IBM SP scheduling system", 1995; Mu'alem and Feitelson, "Utilization,
 * predictability, workloads, and user runtime estimates", 2001).
 *
 * Pure. One instant is: easy_end() for all that end, easy_arrive() for all that arrive, then
 * easy_next() until nothing more starts.
 *
 * The rule. Jobs start in queue order while they fit. The first that does not, the head, is
 * promised the *shadow time*: the earliest at which its cores will be free by the estimates of
 * what runs. The *extra* cores are those free then, of all jobs that end by then, beyond what
 * the head takes. A later job, in queue order, starts when it fits now and
 *   - ends by its estimate no later than the shadow time (ends come before starts, so one
 *     that ends at that very instant is gone when the head starts), or
 *   - takes no more than the extra cores, of which it uses up its own.
 * As no job runs longer than its estimate, the head never waits beyond its shadow time.
 *
 * What makes it fast: a job that was skipped cannot start before a job has ended, since free
 * and extra cores and the time to the shadow only shrink until then. So an instant of arrivals
 * looks at the arrivals, and only one of endings looks for a new shadow time and, in
 * queue_tree, for older jobs.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include "common/cleanup.h"
#include "controller/simulate/pool/pool_job.h"

struct easy;

/* For n jobs; keeps the pointer. -ENOMEM. */
int easy_new(const struct pool_job *jobs, size_t n, int64_t cores, struct easy **ret);
struct easy *easy_free(struct easy *e);
DEFINE_CLEANUP(struct easy *, easy_free)

void easy_arrive(struct easy *e); /* the next job */
void easy_end(struct easy *e, uint32_t job);
/* 1: *ret is the next job to start now, which then counts as started; 0: none; -ENOMEM. */
int easy_next(struct easy *e, int64_t now_s, uint32_t *ret);
