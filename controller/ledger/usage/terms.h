/* SPDX-License-Identifier: GPL-2.0-or-later */
/* terms - the inputs of a job's price: its request, the bundle as the ledger keeps it, and the cores of the nodes that it
 * has whole. */
#pragma once
#include "controller/ledger/store.h"

struct store_terms {
	struct resources requested;
	struct charge_bundle
		bundle; /* what one unit of the charge has of each side, with weight
					and factors in it; no side: free of charge */
	enum tariff_unit unit;
	int64_t node_cores; /* all cores of its nodes: the charge counts these; 0: its request's */
};
/* 1: *ret is set; 0: there is no such job. */
int store_job_terms(struct store *s, int64_t job, struct store_terms *ret, struct err *err);
/* A job with whole nodes was allocated nodes with `node_cores` cores together: prices it again by the terms of its submission.
 * Its last attempt keeps this rate, whatever nodes a later one gets. In the caller's transaction. */
int store_terms_settle(struct store *s, int64_t job, int64_t node_cores, struct err *err);
