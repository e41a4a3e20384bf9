/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sql - the numbers of states as text of SQL statements.
 *
 * Statements are string literals: db_query() knows them by their address, and the planner takes
 * a partial index only where its number is spelled out. So they say SQL_JOB_ENDED where C says
 * JOB_ENDED. Each number is written once, here, and the compiler compares it with its enum.
 * schema.c keeps plain numbers: a migration never changes. For the ledger's own files.
 */
#pragma once
#include "controller/accounts/accounts.h"
#include "controller/ledger/jobs/slurm.h"
#include "controller/ledger/steps/steps.h"
#include "controller/ledger/store_sqlite.h"
#include "controller/ledger/usage/totals/totals.h"

/* jobs.state, attempts.state, parts.state */
#define SQL_JOB_QUEUED SQL_TEXT(0)
#define SQL_JOB_STARTING SQL_TEXT(1)
#define SQL_JOB_RUNNING SQL_TEXT(2)
#define SQL_JOB_SUSPENDED SQL_TEXT(3)
#define SQL_JOB_ENDING SQL_TEXT(4)
#define SQL_JOB_ENDED SQL_TEXT(5)

/* The columns of a SELECT, named where they are written: a list X(NAME, "text") is both the text of
 * the statement and the enum by which its columns are read. */
#define SQL_COLUMN(name, text) text
#define SQL_NAME(name, text) name,

/* The rate of run interval x of job j: the attempt's, if that has whole nodes. */
#define SQL_RAN_RATE(column)                                                                   \
	" CASE WHEN j.exclusive = 0 THEN j." column " ELSE COALESCE((SELECT y." column         \
	" FROM attempts y WHERE y.job = x.job"                                                 \
	" AND y.attempt = x.attempt), j." column ") END"

/* The first number of a job of Slurm: STORE_SLURM_FROM */
#define SQL_SLURM_FROM SQL_TEXT(1099511627776)
/* Numbers of one generation: SYNC_SLURM_ID_MAX + 1 */
#define SQL_SLURM_IDS SQL_TEXT(67108864)

/* store_filter.state */
#define SQL_STORE_ANY SQL_TEXT(-1)
#define SQL_STORE_ACTIVE SQL_TEXT(-2)
#define SQL_STORE_STARTED SQL_TEXT(-3)

/* jobs.want */
#define SQL_DESIRED_RUN SQL_TEXT(0)
#define SQL_DESIRED_SUSPEND SQL_TEXT(1)
#define SQL_DESIRED_CANCEL SQL_TEXT(2)

/* jobs.withheld, bits; 0: nothing withholds the job */
#define SQL_STORE_DEPENDS SQL_TEXT(4)
#define SQL_STORE_HELD SQL_TEXT(3)
#define SQL_STORE_HELD_OR_DEPENDS SQL_TEXT(7)
#define SQL_STORE_IS_ARRAY SQL_TEXT(8)
#define SQL_STORE_COUNTED SQL_TEXT(16)
#define SQL_STORE_NOT_ITS_TURN SQL_TEXT(32)

/* jobs.kept */
#define SQL_STORE_KEPT_NOTHING SQL_TEXT(0)
#define SQL_STORE_KEPT_EVENTS SQL_TEXT(1)

/* jobs.start_by_ns */
#define SQL_STORE_START_NOW SQL_TEXT(1)

/* attempts.closed, parts.closed */
#define SQL_STORE_OPEN SQL_TEXT(0)
#define SQL_STORE_FINAL SQL_TEXT(1)
#define SQL_STORE_LOST SQL_TEXT(2)
#define SQL_STORE_VOID SQL_TEXT(3)

/* attempts.end_kind, attempts.verdict_kind */
#define SQL_END_NONE SQL_TEXT(0)
#define SQL_END_NODE_LOST SQL_TEXT(6)

/* attempts.usage_day, started_day, ended_day; slices.day */
#define SQL_STORE_NO_DAY SQL_TEXT(-1000000)

/* depends.met */
#define SQL_STORE_DEPEND_OPEN SQL_TEXT(0)
#define SQL_STORE_DEPEND_MET SQL_TEXT(1)
#define SQL_STORE_DEPEND_MOOT SQL_TEXT(2)

/* steps.state, steps.want */
#define SQL_STORE_STEP_WANTED SQL_TEXT(0)
#define SQL_STORE_STEP_RUNS SQL_TEXT(1)
#define SQL_STORE_STEP_ENDED SQL_TEXT(2)
#define SQL_STORE_STEP_CANCEL SQL_TEXT(1)

/* accounts_log.op */
#define SQL_ACCOUNTS_REMOVE SQL_TEXT(1)

/* rollups.pool, months.pool */
#define SQL_CHARGE_POOL_CPU SQL_TEXT(0)
#define SQL_CHARGE_POOL_GPU SQL_TEXT(1)

/* totals.kind, totals.span */
#define SQL_STORE_BY_ACCOUNT SQL_TEXT(1)
#define SQL_STORE_BY_USER SQL_TEXT(2)
#define SQL_STORE_BY_CLUSTER SQL_TEXT(3)
#define SQL_TOTALS_DAY SQL_TEXT(0)
#define SQL_TOTALS_MONTH SQL_TEXT(1)
#define SQL_TOTALS_PERIOD SQL_TEXT(2)

/* As numbers, while they are compared; as text from then on. */
#define SQL_TEXT(number) number
#define SQL_IS(name) _Static_assert(SQL_##name == (name), "SQL has another number")
SQL_IS(JOB_QUEUED);
SQL_IS(JOB_STARTING);
SQL_IS(JOB_RUNNING);
SQL_IS(JOB_SUSPENDED);
SQL_IS(JOB_ENDING);
SQL_IS(JOB_ENDED);
SQL_IS(STORE_ANY);
_Static_assert(SQL_SLURM_FROM == STORE_SLURM_FROM, "SQL has another number");
_Static_assert(SQL_STORE_START_NOW == STORE_START_NOW, "SQL has another number");
_Static_assert(SQL_SLURM_IDS == SYNC_SLURM_ID_MAX + 1, "SQL has another number");
SQL_IS(STORE_ACTIVE);
SQL_IS(STORE_STARTED);
SQL_IS(DESIRED_RUN);
SQL_IS(DESIRED_SUSPEND);
SQL_IS(DESIRED_CANCEL);
SQL_IS(STORE_DEPENDS);
SQL_IS(STORE_HELD);
SQL_IS(STORE_HELD_OR_DEPENDS);
SQL_IS(STORE_IS_ARRAY);
SQL_IS(STORE_COUNTED);
SQL_IS(STORE_NOT_ITS_TURN);
SQL_IS(STORE_KEPT_NOTHING);
SQL_IS(STORE_KEPT_EVENTS);
SQL_IS(STORE_OPEN);
SQL_IS(STORE_FINAL);
SQL_IS(STORE_LOST);
SQL_IS(STORE_VOID);
SQL_IS(END_NONE);
SQL_IS(END_NODE_LOST);
SQL_IS(STORE_NO_DAY);
SQL_IS(STORE_BY_ACCOUNT);
SQL_IS(STORE_BY_USER);
SQL_IS(STORE_BY_CLUSTER);
SQL_IS(TOTALS_DAY);
SQL_IS(TOTALS_MONTH);
SQL_IS(TOTALS_PERIOD);
SQL_IS(STORE_DEPEND_OPEN);
SQL_IS(STORE_DEPEND_MET);
SQL_IS(STORE_DEPEND_MOOT);
SQL_IS(STORE_STEP_WANTED);
SQL_IS(STORE_STEP_RUNS);
SQL_IS(STORE_STEP_ENDED);
SQL_IS(STORE_STEP_CANCEL);
SQL_IS(ACCOUNTS_REMOVE);
SQL_IS(CHARGE_POOL_CPU);
SQL_IS(CHARGE_POOL_GPU);
#undef SQL_IS
#undef SQL_TEXT
#define SQL_TEXT(number) #number
