/* SPDX-License-Identifier: GPL-2.0-or-later */
/* selftest.h - prove on this kernel what a tier promises. Private to
 * agent/enforce/vmem/.
 *
 * A child in a scratch cgroup maps, grows, moves, forks and shares; after each step the count
 * made of events must equal the sum read from the task list. Then it goes over a limit: tier 1
 * must refuse it, tier 2 must kill it before the call returns. Takes some milliseconds.
 */
#pragma once
#include "agent/enforce/vmem/vmem.h"

/* 0, or -errno with the step that failed. Leaves no process and no cgroup behind. */
int vmem_selftest(struct vmem *v, const char *scratch_dir, struct err *err);
