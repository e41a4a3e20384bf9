/* SPDX-License-Identifier: GPL-2.0-or-later */
/* quota_rig - a ledger of ledger_rig with a policy and accounts, jobs of any rate in it. */
#pragma once
#include "controller/quota/quota.h"
#include "tests/unit/rig/ledger_rig.h"

struct quota_rig {
	struct rig *ledger;
	struct config *config;
	struct accounts *accounts;
	struct quota_site site;
	int64_t now_ns; /* moves on with each report */
};

int quota_rig_open(void **state);
int quota_rig_close(void **state);
/* Replaces both; the texts must be right. */
void quota_rig_set(struct quota_rig *q, const char *config, const char *accounts);

struct quota_rig_job {
	const char *account, *user, *queue; /* NULL: physics, alice, normal */
	struct fraction rate;
	int64_t ncpus, walltime_s; /* 0: 1 core, 1800 s */
	const char *array;	   /* "0-9"; NULL: one job */
	const char *qos;	   /* NULL: none */
};
/* Submits a job; allocates it to n1. */
int64_t quota_rig_submit(struct quota_rig *q, const struct quota_rig_job *j);
void quota_rig_allocate(struct quota_rig *q, int64_t job);
/* The node reports that it is in that state after so many seconds in the running state. */
void quota_rig_report(struct quota_rig *q, int64_t job, enum job_state state, int64_t ran_s);
/* The node comes back from a reboot without its jobs. */
void quota_rig_reboot(struct quota_rig *q);
/* A job that ran and ended: charged rate x ran_s. */
void quota_rig_use(struct quota_rig *q, const struct quota_rig_job *j, int64_t ran_s);
struct quota_view quota_rig_view(struct quota_rig *q, const char *account);
