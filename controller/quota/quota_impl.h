/* SPDX-License-Identifier: GPL-2.0-or-later */
/* quota_impl - shared by the files of quota. */
#pragma once
#include "controller/quota/quota.h"

/* The kind of allocation that a policy counts; false: none. */
bool quota_kind(enum config_quota rule, enum accounts_kind *ret);
/* Does the job count against the allocation? */
bool quota_is_of(const struct quota_site *site, const struct accounts_allocation *a,
		 const struct store_quota_job *j);
/* Reads the outages of the target's period into t->outages; the caller frees t->outages.of. */
int quota_read_outages(const struct quota_site *site, const char *cluster, struct target *t,
		       struct err *err);
/* What it may still be charged until its walltime, milli-unit-seconds. -ERANGE, -EINVAL. */
int quota_job_rest(const struct store_quota_job *j, int64_t *ret);
