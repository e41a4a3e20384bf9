/* SPDX-License-Identifier: GPL-2.0-or-later */
/* job_parts - prints a job on several nodes, one line for each node: what it has allocated there and
 * used. */
#pragma once
#include "cli/cli.h"
#include "cli/views/job_view.h"

/* Prints nothing for a job on one node. */
int job_parts_show(const struct cli *c, const struct job_view *v, struct err *err);
#define JOB_PARTS_TEXT_MAX 128
/* "n1", "n1 and 3 more"; NULL: it has no node. */
const char *job_parts_nodes(const struct job_view *v, char buf[static JOB_PARTS_TEXT_MAX]);
