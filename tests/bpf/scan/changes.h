/* SPDX-License-Identifier: GPL-2.0-or-later */
/* changes.h - a part of scan_test: sample_all() walks the tasks of a job only where something changed. */
#pragma once
#include "agent/sample/sample.h"

/* The figures of a job that sleeps stand; a task that ran is counted, and a process that is moved in or out, which need not run
 * for that, is seen. */
void scan_changes_test(struct sampler *s);
