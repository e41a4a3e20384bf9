/* SPDX-License-Identifier: GPL-2.0-or-later */
/* subjects.c - chooses the view of what is to be shown; see subjects.h. */
#include <errno.h>
#include "cli/top/views/job_rows.h"
#include "cli/top/views/subjects.h"
#include "common/err.h"

const struct top_column *top_subject_columns(const struct top_ask *ask)
{
	static const struct top_column *const of_tab[] = {
		[TOP_RUNNING] = top_running_columns, [TOP_QUEUED] = top_queued_columns,
		[TOP_NODES] = top_nodes_columns,     [TOP_ACCOUNTS] = top_sums_columns,
		[TOP_USERS] = top_sums_columns,
	};

	if (ask->subject == TOP_NODE)
		return top_node_job_columns;
	return ask->subject == TOP_JOB ? top_steps_columns : of_tab[ask->tab];
}

int top_subject_view(const struct top_ask *ask, const struct top_docs *docs,
		     struct top_view *ret, struct err *err)
{
	int r;

	*ret = (struct top_view){ .columns = top_subject_columns(ask) };
	r = ask->subject == TOP_NODE  ? top_node_view(ask, docs, ret, err)
	    : ask->subject == TOP_JOB ? top_job_view(ask, docs, ret, err)
				      : top_cluster_view(ask, docs, ret, err);
	return r == 0 && ret->out_of_memory ? err_set(err, -ENOMEM, "out of memory") : r;
}
