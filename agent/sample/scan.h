/* SPDX-License-Identifier: GPL-2.0-or-later */
/* scan.h - sampling by BPF: two passes of the kernel over its own structures, then plain memory
 * reads. Used by sample.c alone. */
#pragma once
#include "agent/sample/sample.h"

struct scan;

/* -errno where this kernel cannot do it; the caller falls back to files. */
int scan_open(const struct sample_config *config, struct scan **ret, struct err *err);
struct scan *scan_close(struct scan *s);

/* *ret_slot names the job to scan_read(), until scan_remove(). */
int scan_add(struct scan *s, const struct sample_job *job, uint32_t *ret_slot, struct err *err);
void scan_remove(struct scan *s, uint64_t cgroup_id);
unsigned scan_prune(struct scan *s);

enum scan_what { SCAN_CGROUPS = 1, SCAN_TASKS = 2 };
/* Bring the records up to date: everything below `dir`, or below the root when NULL.
 *
 * SCAN_TASKS beside SCAN_CGROUPS: below the root, the tasks of a job are walked only where
 * something changed since they were walked before: the job's CPU time (nothing of a task
 * changes that does not run: its faults, its run delay, its exit), its number of tasks (one was moved), or
 * its memory (pages were taken from it). Where the kernel does not give all three, and at each
 * SCAN_WHOLE_WALKS-th pass, they are walked in any case. So the resident memory of a job that sleeps
 * may be that many passes old where shared pages of another cgroup were unmapped; peaks are exact. */
#define SCAN_WHOLE_WALKS 32
int scan_pass(struct scan *s, const char *dir, unsigned what, struct err *err);
/* The record of one job as of the last pass: sets what BPF measured and its `have` bits, and
 * `gone` when the last pass did not meet it. */
void scan_read(struct scan *s, uint32_t slot, struct sample *ret);
/* The `have` bits that this kernel gives through BPF, where the controllers are enabled. */
uint32_t scan_can(const struct scan *s);
const char *scan_status(const struct scan *s);

static inline void scan_closep(struct scan **s)
{
	scan_close(*s);
}
