/* SPDX-License-Identifier: GPL-2.0-or-later */
/* subjects - the views of a cluster, a node and a job. Pure. */
#pragma once
#include "cli/top/views/view.h"

/* -EPROTO: a document is not what docs/protocol.md says; -ENOMEM. *ret needs top_view_done(), also after an error. */
int top_subject_view(const struct top_ask *ask, const struct top_docs *docs,
		     struct top_view *ret, struct err *err);
/* The columns of the list, without its rows: for options and keys. */
const struct top_column *top_subject_columns(const struct top_ask *ask);

int top_cluster_view(const struct top_ask *ask, const struct top_docs *docs, struct top_view *v,
		     struct err *err);
int top_node_view(const struct top_ask *ask, const struct top_docs *docs, struct top_view *v,
		  struct err *err);
int top_job_view(const struct top_ask *ask, const struct top_docs *docs, struct top_view *v,
		 struct err *err);
extern const struct top_column top_nodes_columns[], top_sums_columns[], top_steps_columns[];
