/* SPDX-License-Identifier: GPL-2.0-or-later */
/* compare - two lists of attempts of Slurm's jobs, the ledger's and slurmdbd's: what differs. Pure.
 *
 * An attempt is known by its id and the time of its submission. What no agent reported must be the same to the second. An agent
 * sees tasks start and end, not Prolog and Epilog: its start and end may differ from Slurm's by COMPARE_AGENT_S. Where
 * Slurm lost a node of the job (NODE_FAIL), the agent's end may be earlier by any time: slurmctld ends the job when it notices. An attempt
 * that Slurm ended within COMPARE_AGENT_S may have no start by its agent: no task of it began.
 *
 * A slurmctld that dies before it has saved a start starts the job again, and slurmdbd has the later run alone. The former, which an agent
 * reported, is counted as forgotten and is no difference: the ledger has it without a time of submission, and it ended before the
 * other began.
 */
#pragma once
#include <stddef.h>
#include "common/wire/slurm_batch.h"

#define COMPARE_AGENT_S 60

enum compare_what {
	COMPARE_NOT_IN_LEDGER,
	COMPARE_NOT_IN_SLURMDBD,
	COMPARE_START,
	COMPARE_END,
	COMPARE_SUSPENDED,
	COMPARE_STATE,
	COMPARE_CPUS,
	_COMPARE_MAX,
};
/* "not in the ledger", "start" ... */
const char *compare_name(enum compare_what what);

struct compare_difference {
	enum compare_what what;
	/* NULL: it is not there */
	const struct slurm_batch_job *ledger, *slurmdbd;
};
typedef int (*compare_fn)(void *ctx, const struct compare_difference *d, struct err *err);

struct compare_list {
	struct slurm_batch_job *of; /* compare_lists() sorts it */
	size_t n;
};
struct compare_sums {
	int64_t n_ledger, n_slurmdbd;	  /* attempts */
	int64_t s_ledger, s_slurmdbd;	  /* CPU seconds: running time x CPUs */
	int64_t n_forgotten, s_forgotten; /* of n_ledger, s_ledger */
	/* pairs whose node slurmctld lost, and what slurmdbd has more of them than the ledger, since slurmctld noticed later */
	int64_t n_noticed_late, s_noticed_late;
	/* all other pairs whose ledger's times are an agent's: what the ledger has more, < 0: less */
	int64_t s_agent;
	int64_t n_differences;
};
struct compare {
	compare_fn
		fn; /* called for each difference, in the order of ids; < 0 ends the comparison */
	void *ctx;
	struct compare_sums sums; /* filled */
};
int compare_lists(struct compare *c, struct compare_list *ledger, struct compare_list *slurmdbd,
		  struct err *err);
