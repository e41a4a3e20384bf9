/* SPDX-License-Identifier: GPL-2.0-or-later */
/* terms - what a job was priced by when it was submitted: its request, and the bundle as the ledger keeps it. */
#pragma once
#include "controller/ledger/store.h"

struct store_terms {
	struct resources requested;
	struct charge_bundle
		bundle; /* what one unit of the charge has of each side, with weight
					and factors in it; no side: free of charge */
};
/* 1: *ret is set; 0: there is no such job. */
int store_job_terms(struct store *s, int64_t job, struct store_terms *ret, struct err *err);
