/* SPDX-License-Identifier: GPL-2.0-or-later */
/* terms - what a job is priced by: its request, the bundle as the ledger keeps it, and the cores of the nodes that it
 * has whole. */
#pragma once
#include "controller/ledger/store.h"

struct store_terms {
	struct resources requested;
	struct charge_bundle
		bundle; /* what one unit of the charge has of each side, with weight
					and factors in it; no side: free of charge */
	enum tariff_unit unit;
	int64_t node_cores; /* all cores of its nodes, by which it is charged; 0: by its request */
};
/* 1: *ret is set; 0: there is no such job. */
int store_job_terms(struct store *s, int64_t job, struct store_terms *ret, struct err *err);
/* A job with whole nodes was allocated nodes with so many cores all in all: prices it again by the terms of its submission.
 * Its last attempt keeps this rate, whatever nodes a later one gets. In the transaction under way. */
int store_terms_settle(struct store *s, int64_t job, int64_t node_cores, struct err *err);
