/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ended.h - what the agent remembers of jobs of Slurm that have ended on this node, in case that one starts again without a Prolog.
 *
 * slurmd (22.05) runs no Prolog and no extern step for a job that was queued again and starts on the same node while slurmd still has the credential
 * of the attempt before (cred_expire, 120 s): slurm_cred_handle_reissue() marks that for removal, but removal is skipped where slurmd
 * has looked for old credentials within the last 2 s, and with it the Prolog. The limits of a job are those of its submission, so what the
 * Prolog of the attempt before said still holds.
 *
 * In memory alone: after a restart of the agent such an attempt is refused.
 */
#pragma once
#include <stdbool.h>
#include "common/wire/slurm.h"

#define ENDED_KEPT_S 600
#define ENDED_MAX 256

struct ended_job {
	struct ended_job *next;
	int64_t ended_ns; /* CLOCK_BOOTTIME */
	int64_t ngpus;
	/* SLURM_BEGIN of the next attempt; which GPUs it has is not known */
	struct slurm_question begin;
};

/* Replaces what is remembered of the same job, and forgets what is too old or too many. Without memory nothing is remembered. */
void ended_remember(struct ended_job **list, const struct slurm_question *begin, int64_t ngpus,
		    int64_t now_ns);
void ended_forget(struct ended_job **list, uint32_t job);
/* False: not remembered. */
bool ended_find(const struct ended_job *list, uint32_t job, int64_t now_ns,
		struct slurm_question *ret, int64_t *ret_ngpus);
void ended_free(struct ended_job **list);
