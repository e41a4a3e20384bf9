/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sums - the jobs that run, summed up by account or user: who has how much, and how much of it is idle. Pure. */
#pragma once
#include "cli/top/views/view.h"

extern const struct table_column top_sums_table[];
/* `key`: "account" or "user". `all_ncpus`: the cores of the cluster; 0: not known. */
int top_sums_rows(const struct top_docs *docs, const char *key, int64_t all_ncpus,
		  struct table *t, struct err *err);
