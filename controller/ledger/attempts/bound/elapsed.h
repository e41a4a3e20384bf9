/* SPDX-License-Identifier: GPL-2.0-or-later */
/* elapsed - bounds the time that a node reports of an attempt by the time since the
 * controller allocated it: by the controller's clock at both ends, so that a hostile or
 * broken node cannot charge more than elapsed wall time. In the transaction under way.
 */
#pragma once
#include "common/time_units.h"
#include "controller/ledger/store_sqlite.h"

/* A node's clock may run ahead by this much before a report is bounded: 2 s and a thousandth of the
 * time since the allocation (a clock without NTP drifts by less). */
#define STORE_CLOCK_SLACK_NS (2 * S_NS)
#define STORE_CLOCK_SLACK_PART 1000

/* Makes c->report a copy (c->believed) whose running and suspended time (cumulative, ns) are
 * together at most the time since given_ns: running time counts first. Within the slack the
 * report stays as it is. Where it lowers one, the report's note and the journal of the
 * job say it: at the first such report of the attempt and at its last ("clamp"). */
int store_elapsed_clamp(struct store *s, struct store_report_case *c, int64_t given_ns,
			struct err *err);
/* An agent sees the processes of a job of Slurm, and Slurm's own may stay after the job: while slurmd
 * is away nothing ends them. A report (not one that comes from Slurm's rows) whose running and
 * suspended time goes more than this beyond the end that Slurm has of the attempt is made one up to
 * that end, and note and journal have it as above. */
#define STORE_SLURM_END_SLACK_NS (60 * S_NS)
int store_elapsed_slurm(struct store *s, struct store_report_case *c, int64_t given_ns,
			struct err *err);
/* The report is within the slack: store_elapsed_clamp() would leave it as it is. */
bool store_elapsed_is_within(const struct store_report_case *c, int64_t given_ns);
