/* SPDX-License-Identifier: GPL-2.0-or-later */
/* advice - what to request next time, in one line, and only where it matters.
 *
 * Pure. A request that is much larger than the use keeps others from the resources and is
 * charged; the owner of a killed job wants to know what would have been enough. Small things
 * are not worth a line: an excess counts when less than half was used and what was idle is at
 * least a core, 1 GiB of vmem (of mem, where no vmem was requested), 10 GiB of jobfs, or an
 * hour of walltime (a quarter used), or a GPU that never did anything at all (a busy share says
 * little about how many are needed: each may hold its part of the data); a job that ran for
 * less than a minute gets no advice. What is proposed has a fifth added and is rounded up to a
 * number that people type.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include "common/engine.h"
#include "common/model/job.h"

struct advice_facts {
	const struct resources *requested;
	const struct usage *usage; /* for advice_more() NULL: not known */
	const struct job_end *end; /* kind END_NONE: still running, no advice */
	int64_t running_ns;
	enum engine engine; /* whose options are proposed */
};

/* The resources that could have been smaller, with the smaller amount; 0 in all others. False:
 * there are none. */
bool advice_less(const struct advice_facts *f, struct resources *ret);

/* Did all GPUs of the job do nothing? Then the only smaller request is one without GPUs. True also of a job that was cancelled or
 * reached its walltime; false if that was not measured, the job failed, or it was too short to judge. */
bool advice_gpus_idle(const struct advice_facts *f);
/* Why the use of an ended job says little about its need, "it was cancelled"; NULL: it says enough. */
const char *advice_unjudged(const struct advice_facts *f);

#define ADVICE_MAX 256
#define ADVICE_IDLE_GPUS "its GPUs did nothing: leave ngpus out"

/* "-l ncpus=2,vmem=3GiB", for Slurm "--vmem=3G with 2 cores", for PBS "-l ncpus=2,vmem=3gb" (which a request in chunks has
 * within its -l select=): what is not 0, as it is typed. */
const char *advice_options(const struct resources *fit, enum engine engine,
			   char buf[static ADVICE_MAX]);
/* For a job that a limit killed: "next time request more vmem: at least -l vmem=5GiB"; for one whose mappings were refused for
 * the limit of vmem: how many, and what to request if that is why it failed; else "". */
const char *advice_more(const struct advice_facts *f, char buf[static ADVICE_MAX]);
/* "its GPUs did nothing: leave ngpus out" and "next time -l ncpus=2,vmem=3GiB would do", or
 * advice_more(), or "" when there is nothing worth saying. */
const char *advice_format(const struct advice_facts *f, char buf[static ADVICE_MAX]);
