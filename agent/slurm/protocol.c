/* SPDX-License-Identifier: GPL-2.0-or-later */
/* protocol.c - answer the questions of the SPANK plugin; see protocol.h. */
#include <errno.h>
#include <string.h>
#include "agent/slurm/jobs.h"
#include "agent/slurm/protocol.h"
#include "common/log.h"
#include "common/time_units.h"

/* slurmctld that does not answer scontrol must not keep the end message from the user: the plugin waits 30 s for it. */
#define COMMENT_NS (10 * S_NS)

_Static_assert(sizeof(struct slurm_question) < FOREIGN_MESSAGE_MAX &&
		       sizeof(struct slurm_answer) <= FOREIGN_MESSAGE_MAX,
	       "each is one message");

static int answer_task(struct node *n, struct foreign_exchange *x, int64_t waited_ns)
{
	const struct slurm_question *q = (const void *)x->question;
	struct slurm_answer *a = (void *)x->answer;

	if (slurm_jobs_begin_again(n, q, x->peer, waited_ns, a))
		return 1;
	if (a->kind == SLURM_REFUSED)
		return 0;
	if (q->kind == SLURM_STEP)
		slurm_jobs_step(n, q, x->peer, a);
	else
		slurm_jobs_task(n, q, x->peer, a);
	return 0;
}

/* 1: the Epilog waits until the job's disk is gone, the end of a task until slurmctld has the reason, and a Prolog, or a step without one,
 * until nothing is left of a run of the same attempt. */
static int look_again(struct node *n, struct foreign_exchange *x)
{
	const struct slurm_question *q = (const void *)x->question;
	int64_t waited_ns = node_now_ns() - x->asked_ns;

	switch (q->kind) {
	case SLURM_BEGIN:
		return slurm_jobs_begin(n, q, waited_ns, (void *)x->answer);
	case SLURM_STEP:
	case SLURM_TASK:
		return answer_task(n, x, waited_ns);
	case SLURM_EXIT:
		return slurm_jobs_is_commenting(n, q) && waited_ns < COMMENT_NS;
	default: /* SLURM_END */
		return !slurm_jobs_is_over(n, q);
	}
}

static void log_question(const struct slurm_question *q)
{
	static const char *const names[] = { [SLURM_BEGIN] = "begin",
					     [SLURM_STEP] = "step",
					     [SLURM_TASK] = "task",
					     [SLURM_EXIT] = "exit",
					     [SLURM_END] = "end" };

	if (q->kind < ARRAY_LEN(names) && names[q->kind])
		log_job(LOG_DEBUG, q->job, "slurm", "%s, restarts %u, step %u", names[q->kind],
			q->restarts, q->step);
}

static int answer_question(struct node *n, struct foreign_exchange *x)
{
	const struct slurm_question *q = (const void *)x->question;
	struct slurm_answer *a = (void *)x->answer;

	a->version = SLURM_HANDSHAKE_VERSION;
	a->kind = SLURM_GO;
	x->n_answer = sizeof(*a);
	if (x->n_question != sizeof(*q) || q->version != SLURM_HANDSHAKE_VERSION ||
	    q->job == 0) {
		log_line(
			LOG_ERR,
			"slurm: reeve_spank.so is of another version than reeve-agent: install one version of both");
		a->kind = SLURM_REFUSED;
		return 0;
	}
	log_question(q);
	switch (q->kind) {
	case SLURM_BEGIN: /* look_again() */
	case SLURM_STEP:
	case SLURM_TASK:
		break;
	case SLURM_EXIT:
		slurm_jobs_exit(n, q, x->peer, a);
		break;
	case SLURM_END:
		slurm_jobs_end(n, q);
		break;
	default:
		return -EBADMSG;
	}
	return look_again(n, x);
}

const struct foreign_protocol slurm_protocol = { "slurm",    "slurm.sock",    answer_question,
						 look_again, slurm_jobs_tick, slurm_jobs_open };
