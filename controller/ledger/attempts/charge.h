/* SPDX-License-Identifier: GPL-2.0-or-later */
/* charge - what a report adds to the charge of its attempt, and where that is counted: the delta
 * between two cumulative tallies goes to the days' rollups, to the attempt's slices and to its run
 * intervals. For attempts/report.c and attempts/loss.c, in the transaction under way.
 */
#pragma once
#include "controller/ledger/attempts/known.h"
#include "controller/ledger/usage/queue_waits.h"
#include "controller/ledger/usage/run_interval.h"

/* The time that a report covers, between the report before and its own moment. The node's clock
 * places usage on days: never before the job was allocated to the node, nor in the future. */
struct tally_span store_charge_span(const struct store_known *k,
				    const struct store_report_case *c);
/* Merges the cumulative figures of the report into k; span->before is what is charged so far,
 * span->after what is charged with the report. Running and suspended time are those of part 0.
 * -ERANGE, -EINVAL: the figures are beyond what can be charged. */
int store_charge_delta(struct store *s, struct store_known *k, const struct report *rep,
		       struct tally_span *span, struct err *err);
/* Writes the delta to the rollups and slices of its days. */
int store_charge_write(struct store *s, struct store_known *k, const struct tally_span *span,
		       struct err *err);
/* The same; and counts the attempt as started or ended where this report is the first that tells it. */
int store_charge_write_days(struct store *s, struct store_known *k,
			    const struct store_report_case *c, const struct tally_span *span,
			    struct err *err);
/* On which day the report's start is counted, and how long the job had waited then. */
struct store_wait store_charge_start(const struct store *s, const struct store_known *k,
				     const struct store_report_case *c);
/* The delta as a run interval; fills what c->gain has of the job. */
struct store_run_interval store_charge_interval(const struct store_known *k,
						struct store_report_case *c,
						const struct tally_span *span);
/* Writes the delta as a run interval (usage/run_interval.h), and fills c->gain. */
int store_charge_write_interval(struct store *s, const struct store_known *k,
				struct store_report_case *c, const struct tally_span *span,
				struct err *err);
/* Counts the attempt as started or ended on that day. */
int store_charge_count_job(struct store *s, struct store_known *k, enum store_mark which,
			   int64_t day, struct err *err);
/* The day on which an attempt ends: at midnight, the day that ends there. */
int64_t store_charge_end_day(const struct store *s, const struct store_known *k, int64_t at_ns);
