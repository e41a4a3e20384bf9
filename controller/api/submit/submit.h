/* SPDX-License-Identifier: GPL-2.0-or-later */
/* submit - the chain of steps from the document of POST /v1/jobs to the job's row.
 *
 * Each step is one function in the file of its name. It completes or checks the submission, or
 * refuses it: then it returns < 0, err has the message, and the call has status, code and
 * remedy. The order of the steps is in submit.c; POST /v1/cost (cost.c) takes some of them.
 */
#pragma once
#include "controller/api/call.h"
#include "common/wire/slurm_submit.h"
#include "controller/api/submit/queue_limits.h"
#include "controller/ledger/usage/quota.h"
#include "controller/policy/charge/tariff.h"
#include "controller/quota/quota.h"

struct submit_job {
	struct request request;
	const struct config_cluster *cluster;
	const char *credential; /* signed by the user, for the nodes; NULL: none */
	int64_t n_chunk_nodes;	/* nodes of the chunks; 0: one chunk, or no known node */
	struct queue_limits *limits;
	struct tariff_price price;
	struct store_target *targets; /* open dependencies */
	size_t n_targets;
	const struct expected_own *own; /* the job of Slurm that is changed; NULL: a new job */
	int64_t task_ms, more_ms;	/* as quota_answer has them; 0 where it was moved */
	char quota_note[STORE_QUOTA_NOTE_MAX]; /* what the quota changed; "": nothing */
	int64_t job;			       /* its number, once it is stored */
	bool has_ledger_failed; /* half-way: the transaction must be rolled back */
};

typedef int (*submit_step_fn)(struct call *c, struct submit_job *s, struct err *err);
int submit_read_credential(struct call *c, struct submit_job *s, struct err *err);
int submit_read_request(struct call *c, struct submit_job *s, struct err *err);
int submit_apply_defaults(struct call *c, struct submit_job *s, struct err *err);
/* Of submit_apply_defaults(): refuses amounts above the cluster's maximum for one job. */
int submit_check_bounds(struct call *c, struct submit_job *s, struct err *err);
int submit_choose_gpus(struct call *c, struct submit_job *s, struct err *err);
int submit_authorize(struct call *c, struct submit_job *s, struct err *err);
int submit_split_chunks(struct call *c, struct submit_job *s, struct err *err);
int submit_find_price(struct call *c, struct submit_job *s, struct err *err);
int submit_check_quota(struct call *c, struct submit_job *s, struct err *err);
int submit_find_dependencies(struct call *c, struct submit_job *s, struct err *err);

/* Steps of POST /v1/cost alone: they refuse nothing that has a price. The last one adds what
 * the quota would decide: "quota" (taken, bonus, refused) and "quota_note", where the request
 * names an account of the caller. */
int submit_try_chunks(struct call *c, struct submit_job *s, struct err *err);
int submit_predict_qos(struct call *c, struct submit_job *s, struct err *err);
int submit_encode_price(struct call *c, struct submit_job *s, struct err *err);
int submit_predict_quota(struct call *c, struct submit_job *s, struct err *err);

/* Does the job get whole nodes, because of its request or its queue? */
bool submit_is_exclusive(const struct call *c, const struct request *q);

/* What is left to do once the job is on disk. */
struct submit_result {
	int64_t job;
	char account[REQUEST_NAME_MAX];
	char quota_note[STORE_QUOTA_NOTE_MAX];
	bool has_ledger_failed;
};
/* Runs the whole chain, within the ledger's transaction. 0: the job has its row, and c->answer
 * is the answer for when the transaction is on disk. < 0: refused, nothing was written; or the
 * ledger failed. */
int submit_run(struct call *c, struct queue_limits *limits, struct submit_result *ret,
	       struct err *err);
/* After the commit. */
void submit_finish(struct call *c, const struct submit_result *r);

int route_submit(struct call *c, struct err *err); /* batch.c */
int route_cost(struct call *c, struct err *err);   /* cost.c */
/* slurm.c: -EINVAL unless the sender may speak for the users of this Slurm cluster. */
int submit_find_slurm_cluster(struct call *c, const char *name,
			      const struct config_cluster **ret, struct err *err);
struct slurm_submit;
/* What is decided about a job for Slurm; accepted, at first. */
struct submit_slurm_verdict {
	struct slurm_submit_answer answer;
	bool is_counted; /* its account is known here, and it counts as: */
	char account[REQUEST_NAME_MAX], queue[REQUEST_NAME_MAX], qos[REQUEST_NAME_MAX];
	enum charge_pool pool;
	int64_t task_ms, more_ms;
};
int submit_judge_slurm(struct call *c, const struct slurm_submit *from,
		       const struct config_cluster *cl, struct submit_slurm_verdict *ret,
		       struct err *err);
/* The site as quotas see it, with the jobs of Slurm that are expected. */
struct quota_site submit_quota_site(const struct call *c);
int route_slurm_submit(struct call *c, struct err *err); /* slurm.c */

/* mail_note.c: a sentence of the mails that were asked for and that this site does not send; "": it sends all. Returns buf. */
#define SUBMIT_MAIL_NOTE_MAX 320
const char *submit_mail_note(const struct config_hooks *h, uint32_t types,
			     char buf[static SUBMIT_MAIL_NOTE_MAX]);
