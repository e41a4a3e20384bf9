/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rule - what the ledger makes of what Slurm says of an attempt: whose times count, when it is written, and how the
 * attempt ended. Pure.
 *
 * An agent's figures go before Slurm's: they are of milliseconds, and of what the processes did. So while an agent of the
 * node may still report the attempt, its charge waits. Slurm's whole seconds count where no agent saw the start or the
 * end. Suspended time is not charged, as for any job (policy/charge/tally.h).
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "common/model/job.h"
#include "common/time_units.h"
#include "common/wire/slurm_batch.h"

/* An agent that runs reports a task that started, or a job that ended, within this. */
#define RULE_AGENT_WAIT_NS (2 * MIN_NS)
/* An agent that reported an attempt may be cut off from the controller: so long its last report is waited for. */
#define RULE_LAST_REPORT_WAIT_NS HOUR_NS
/* Clocks of Slurm's host and the controller's differ by less. A time further ahead is taken for now. */
#define RULE_CLOCK_SLACK_NS (5 * MIN_NS)

#define RULE_NOTE_MAX 256

/* An attempt as Slurm has it, with times that do not contradict each other. */
struct rule_times {
	int64_t start_ns; /* 0: it never ran */
	int64_t end_ns;	  /* 0: it has not ended */
	int64_t until_ns; /* what follows is true up to this moment: the end, or when Slurm said it */
	int64_t running_ns, suspended_ns;
};

/* The times of a row. Rows that contradict themselves are mended, and *note says how ("": there was nothing to mend):
 *   a job that has ended and has no start, or no node   it never ran, and is charged nothing
 *   an end before the start                             it ran for 0 s
 *   a start or an end in the future                     is now
 *   more suspended time than from start to end          all of it was suspended
 * at_s: when Slurm said it; now_ns: the controller's clock. */
struct rule_times rule_mend(const struct slurm_batch_job *row, int64_t at_s, int64_t now_ns,
			    char note[static RULE_NOTE_MAX]);

/* What the ledger knows of the attempt. */
struct rule_known {
	bool has_agent_report;	/* an agent has reported it */
	bool is_final;		/* an agent has reported its end */
	bool is_agent_there;	/* the agent of its node reports to the controller */
	int64_t agent_start_ns; /* by the agent; 0: it saw none */
};

enum rule_action {
	RULE_LEAVE, /* the agent's figures are there, or will be */
	RULE_WAIT,  /* look again at until_ns */
	RULE_WRITE, /* Slurm's figures are written */
};
struct rule_decision {
	enum rule_action action;
	int64_t until_ns;
	struct rule_times
		times; /* of RULE_WRITE: where the agent saw the start, it counts from there */
};
struct rule_decision rule_decide(const struct rule_times *t, const struct rule_known *known,
				 int64_t now_ns);

/* How an attempt in this state ended. */
struct job_end rule_end(const struct slurm_batch_job *row, const struct rule_times *t);

/* An id that slurmdbd has again, under the same owner: is it the next attempt of the same job? */
struct rule_former {
	enum slurm_batch_state state;
	int64_t end_s; /* 0: it has not ended, as far as is known */
};
bool rule_is_next_attempt(const struct rule_former *former, const struct slurm_batch_job *row);

/* The id within its cluster: in a federation the bits above SYNC_SLURM_ID_BITS say from which cluster it came. */
int64_t rule_local_id(const struct slurm_batch_job *row);
/* What Slurm has and the ledger has no column for: sentences for the job's journal. Returns how many. */
#define RULE_KINDS_MAX 3
size_t rule_kinds(const struct slurm_batch_job *row,
		  char ret[static RULE_KINDS_MAX][RULE_NOTE_MAX]);
