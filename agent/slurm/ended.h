/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ended.h - what the agent remembers of jobs of Slurm that have ended on this node, in case that one starts again without a Prolog.
 *
 * slurmd (22.05) runs no Prolog and no extern step for a job that was queued again and starts on the same node while slurmd still has the credential
 * of the attempt before (cred_expire, 120 s): slurm_cred_handle_reissue() marks that for removal, but removal is skipped where slurmd
 * has looked for old credentials within the last 2 s, and with it the Prolog. The limits of a job are those of its submission, so what the
 * Prolog of the attempt before said still holds.
 *
 * slurmd and slurmstepd do not say which attempt it is: slurmstepd has 0 restarts for every step. It is the next one where the job was queued again, and the same
 * once more where slurmctld was killed before it saved that start. So squeue is asked (scontrol.h) before the attempt begins.
 *
 * A file in RunDirectory has the list too (ended_file.h), for an agent that is started again meanwhile. Without it such an attempt is refused.
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
	/* SLURM_BEGIN of the attempt that starts without a Prolog; which GPUs it has is not known. Its restarts are those of the next attempt
	 * until squeue says them. */
	struct slurm_question begin;
	/* What squeue was asked: */
	int64_t asked_ns; /* CLOCK_BOOTTIME; 0: nothing yet */
	int64_t known_ns; /* since then begin.restarts are Slurm's; 0: they are not */
	bool is_asked;	  /* squeue runs */
};

/* Replaces what is remembered of the same job, and forgets what is too old or too many. Without memory nothing is remembered. */
void ended_remember(struct ended_job **list, const struct slurm_question *begin, int64_t ngpus,
		    int64_t now_ns);
void ended_forget(struct ended_job **list, uint32_t job);
/* NULL: not remembered. */
struct ended_job *ended_find(struct ended_job *list, uint32_t job, int64_t now_ns);
/* A line of `squeue --Format=JobID:20,RestartCnt:20`. False: it is not of this job. */
bool ended_read_restarts(const char *line, uint32_t job, uint32_t *ret);
void ended_free(struct ended_job **list);
