/* SPDX-License-Identifier: GPL-2.0-or-later */
/* signed.c - check the signature of a submission before the job or step is started; see job/signed.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agent/job/signed.h"
#include "agent/report/starts.h"
#include "common/auth/auth.h"
#include "common/log.h"
#include "common/signature/signature.h"
#include "common/time_units.h"

/* A final answer with words for the user; < 0 would mean "not known yet, ask again". */
static __attribute__((format(printf, 2, 3))) int refuse_start(struct err *err, const char *fmt,
							      ...)
{
	char text[sizeof(err->text)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	err_set(err, 0, "%s", text);
	return JOB_SIGNED_NO;
}

/* The submission was not signed. */
static int check_unsigned(struct node *n, int64_t job, const char *what, struct err *err)
{
	if (n->conf->require_user_credential)
		return refuse_start(
			err,
			"node %s starts no %s without its user's signature "
			"(RequireUserCredential=yes); submit it with a reeve command of "
			"this version",
			n->conf->node, what);
	log_job(LOG_NOTICE, job, "unsigned",
		"the %s is started on the controller's word alone: nothing is signed, and "
		"RequireUserCredential=no",
		what);
	return 0;
}

/* The credential that was opened last: all tasks of an array have the same. */
struct signed_seal {
	char *credential;
	struct auth_sealed sealed;
};

void job_signed_forget(struct node *n)
{
	if (!n->seal)
		return;
	free(n->seal->credential);
	auth_sealed_done(&n->seal->sealed);
	free(n->seal);
	n->seal = NULL;
}

/* *ret is n->seal's. The result of munged depends on the time only where the credential is from the future. */
static int unseal_once(struct node *n, const char *credential, const struct auth_sealed **ret,
		       struct err *err)
{
	int r;

	if (!n->seal || strcmp(n->seal->credential, credential) != 0) {
		job_signed_forget(n);
		n->seal = calloc(1, sizeof(*n->seal));
		if (n->seal)
			n->seal->credential = strdup(credential);
		if (!n->seal || !n->seal->credential)
			r = err_set(err, -ENOMEM, "out of memory");
		else
			r = auth_unseal(n->conf->munge_socket, credential, &n->seal->sealed,
					err);
		if (r < 0) {
			job_signed_forget(n);
			return r;
		}
	}
	*ret = &n->seal->sealed;
	return 0;
}

/* 0: the credential was opened, is younger than MaxQueueAge and was made by `uid`. *ret is good until the next call, or
 * job_signed_forget(). */
static int open_seal(struct node *n, const char *credential, uint32_t uid,
		     const struct auth_sealed **ret, struct err *err)
{
	struct err why = { "" };
	int r = unseal_once(n, credential, ret, &why);
	int64_t age_s;

	if (r == -EACCES)
		return refuse_start(err, "its user's signature is not good on node %s: %.200s",
				    n->conf->node, why.text);
	if (r < 0)
		return err_set(err, r, "%s", why.text);
	age_s = node_realtime_ns() / S_NS - (*ret)->made_s;
	if (age_s > n->conf->max_queue_age_s)
		return refuse_start(err,
				    "its user signed it %" PRId64
				    " days ago, longer than node %s "
				    "takes (MaxQueueAge); submit it again",
				    age_s / DAY_S, n->conf->node);
	if ((*ret)->who.uid != uid)
		return refuse_start(err,
				    "uid %u signed it, and not uid %u, as whom it is to run",
				    (*ret)->who.uid, uid);
	return 0;
}

/* Does this attempt run here already, without a record of the agent? */
static bool is_found(const struct node *n, const struct signed_start *s)
{
	for (size_t i = 0; i < n->n_found && !s->step; i++)
		if (n->found[i].job == s->job && n->found[i].attempt == s->attempt)
			return true;
	return false;
}

static struct start start_of(const struct signed_start *s)
{
	return (struct start){ .nonce = s->nonce,
			       .base = s->base,
			       .job = s->job,
			       .step = s->step,
			       .attempt = s->attempt,
			       .made_s = s->made_s };
}

/* What one signature may start: one job (with all its attempts in turn, all tasks of one array), or one
 * step. A recorded request or a stolen credential thus starts nothing again. */
static int check_starts(struct node *n, const struct signed_start *s, struct err *err)
{
	const struct start start = start_of(s);
	const char *kind = s->step ? "step" : "job";
	int64_t was = 0;
	int r = starts_look(n->db, &start, &was, err);

	if (r == STARTS_ANOTHER)
		return refuse_start(err,
				    "its user's signature has started %s %" PRId64
				    " on node %s already; it is good for one",
				    kind, was, n->conf->node);
	/* An attempt that runs here without a record is adopted, not started. */
	if (r != STARTS_AGAIN || is_found(n, s))
		return r < 0 ? r : 0;
	return refuse_start(err,
			    "attempt %" PRId64
			    " of it was started on node %s before; what its user "
			    "signed is started once",
			    was, n->conf->node);
}

/* r is the error of decoding the signed text. Only -EINVAL is the text's fault; after any other error (out of
 * memory) the start may be tried again. */
static int refuse_unreadable(int r, struct err *err)
{
	return r == -EINVAL ? refuse_start(err, "what its user signed cannot be read: %.150s",
					   err->text)
			    : r;
}

/* ---- jobs ---- */

/* `s` was decoded from the credential of `n`. */
static int check_job(struct node *n, const struct signature_job *s, const struct sync_order *o,
		     struct signed_start *ret, struct err *err)
{
	const struct auth_sealed *seal = &n->seal->sealed;
	const struct signature_given given = { o->request, o->job, o->attempt,
					       n->conf->free_queues };
	int64_t base;
	int r;

	if (seal->who.gid != o->request->gid)
		return refuse_start(err,
				    "gid %u signed it, and not gid %u, as which it is to run",
				    seal->who.gid, o->request->gid);
	r = signature_allows_job(s, &given, &base, err);
	if (r < 0)
		return r == -EPERM ? JOB_SIGNED_NO : r;
	*ret = (struct signed_start){ .is_signed = true,
				      .base = base,
				      .job = o->job,
				      .attempt = o->attempt,
				      .made_s = seal->made_s };
	snprintf(ret->nonce, sizeof(ret->nonce), "%s", s->nonce);
	return 0;
}

static int read_job(struct node *n, const struct sync_order *o, struct signed_start *ret,
		    struct err *err)
{
	_cleanup_(signature_job_done) struct signature_job s = { .nonce = "" };
	const struct auth_sealed *seal;
	int r = open_seal(n, o->credential, o->request->uid, &seal, err);

	if (r)
		return r;
	r = signature_decode_job(seal->text, seal->size, &s, err);
	if (r < 0)
		return refuse_unreadable(r, err);
	r = check_job(n, &s, o, ret, err);
	return r ? r : check_starts(n, ret, err);
}

int job_signed_check(struct node *n, const struct sync_order *o, struct signed_start *ret,
		     struct err *err)
{
	*ret = (struct signed_start){ .is_signed = false };
	if (n->is_roots_order)
		return 0;
	if (!o->credential)
		return check_unsigned(n, o->job, "job", err);
	return read_job(n, o, ret, err);
}

/* ---- steps ---- */

static int check_step(struct node *n, const struct job *j, const struct signature_step *s,
		      const struct sync_step_order *o, struct err *err)
{
	const struct signature_given_step given = { .job = o->id.job,
						    .node = n->conf->node,
						    .job_workdir = j->s.request.workdir,
						    .argv = o->command.argv,
						    .env = o->command.env,
						    .workdir = o->command.workdir,
						    .terminal = o->command.terminal };
	int r = signature_allows_step(s, &given, err);

	return r == -EPERM ? JOB_SIGNED_NO : r;
}

static int read_step(struct node *n, const struct job *j, const struct sync_step_order *o,
		     struct signed_start *ret, struct err *err)
{
	_cleanup_(signature_step_done) struct signature_step s = { .nonce = "" };
	const struct auth_sealed *seal;
	int r = open_seal(n, o->command.credential, j->s.request.uid, &seal, err);

	if (r)
		return r;
	r = signature_decode_step(seal->text, seal->size, &s, err);
	if (r < 0)
		return refuse_unreadable(r, err);
	r = check_step(n, j, &s, o, err);
	if (r)
		return r;
	*ret = (struct signed_start){ .is_signed = true,
				      .base = o->id.job,
				      .job = o->id.job,
				      .step = o->id.step,
				      .attempt = o->id.attempt,
				      .made_s = seal->made_s };
	snprintf(ret->nonce, sizeof(ret->nonce), "%s", s.nonce);
	return check_starts(n, ret, err);
}

int job_signed_check_step(struct node *n, const struct job *j, const struct sync_step_order *o,
			  struct signed_start *ret, struct err *err)
{
	char text[USERS_TEXT_MAX];
	const char *why = users_check(&n->users, j->s.request.uid, j->s.request.gid, text);

	*ret = (struct signed_start){ .is_signed = false };
	if (why)
		return refuse_start(err, "%s", why);
	if (n->is_roots_order)
		return 0;
	if (!o->command.credential)
		return check_unsigned(n, o->id.job, "step", err);
	return read_step(n, j, o, ret, err);
}

int job_signed_keep(struct node *n, const struct signed_start *s, struct err *err)
{
	const struct start start = start_of(s);

	if (!s->is_signed)
		return 0;
	return starts_keep(n->db, &start,
			   node_realtime_ns() / S_NS - n->conf->max_queue_age_s - DAY_S, err);
}
