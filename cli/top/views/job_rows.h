/* SPDX-License-Identifier: GPL-2.0-or-later */
/* job_rows - jobs as rows of a list: requested against used. Pure. */
#pragma once
#include "cli/top/views/view.h"
#include "cli/views/job_view.h"

extern const struct table_column top_job_columns[];
extern const struct top_column top_running_columns[], top_queued_columns[],
	top_node_job_columns[];

/* Adds a row for each job of the document; jobs in whose state a node has no part are left out with `is_placed`. */
int top_job_rows(const struct top_docs *docs, bool is_placed, struct table *t, struct err *err);

/* How the map of a node's cores marks the job of this row: a letter. */
char top_job_letter(size_t row);
/* Hundredths of cores that the job kept busy on average, at most those that it has; -1: not known. */
int64_t top_cores_busy(const struct job_view *v);
