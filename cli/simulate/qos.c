/* SPDX-License-Identifier: GPL-2.0-or-later */
/* qos.c - gives each replayed job its QOS and counts what cannot be replayed; see qos.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/simulate/qos.h"
#include "common/err.h"
#include "controller/policy/quota/eligible.h"
#include "controller/quota/qos.h"

#define FACTOR_MOST 1000 /* of a QOS: usage in millionths of a core must not overflow */

_Static_assert(CONFIG_NO_LIMIT == ELIGIBLE_NO_LIMIT, "limits are taken over as they are");

void simulate_qos_done(struct simulate_qos *q)
{
	free(q->list);
	free(q->of);
	free(q->notes);
	free(q->view.jobs);
	*q = (struct simulate_qos){ 0 };
}

/* ---- notes, each with a count of jobs ---- */

__attribute__((format(printf, 2, 3))) static int add_note(struct simulate_qos *q,
							  const char *fmt, ...)
{
	struct simulate_note new = { .jobs = 1 }, *more;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(new.text, sizeof(new.text), fmt, ap);
	va_end(ap);
	for (size_t i = 0; i < q->n_notes; i++)
		if (!strcmp(q->notes[i].text, new.text)) {
			q->notes[i].jobs++;
			return 0;
		}
	more = realloc(q->notes, (q->n_notes + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	q->notes = more;
	more[q->n_notes++] = new;
	return 0;
}

/* ---- the QOS of the configuration ---- */

/* In millionths, rounded down. -ERANGE: above FACTOR_MOST. */
static int read_factor(const struct config_qos *from, int64_t *ret, struct err *err)
{
	__int128 micro = (__int128)from->factor.num * SIM_MICRO / from->factor.den;

	if (micro > FACTOR_MOST * SIM_MICRO)
		return err_set(err, -ERANGE,
			       "[Qos %s] Factor: more than %d cannot be simulated", from->name,
			       FACTOR_MOST);
	*ret = (int64_t)micro;
	return 0;
}

static int read_list(const struct config *c, struct simulate_qos *q, struct err *err)
{
	int r = 0;

	q->list = calloc(c->n_qos, sizeof(*q->list));
	if (!q->list)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < c->n_qos && r == 0; i++) {
		const struct config_qos *from = c->qos[i];

		q->list[i] = (struct sim_qos){ .name = from->name,
					       .priority = from->priority,
					       .running_cores = from->running_cores,
					       .running_jobs = from->running_jobs };
		r = read_factor(from, &q->list[i].factor_micro, err);
	}
	return r;
}

static uint32_t find_qos(const struct config *c, const char *name)
{
	for (uint32_t i = 0; i < c->n_qos; i++)
		if (!strcmp(c->qos[i]->name, name))
			return i;
	return SIM_QOS_NONE;
}

/* ---- a job ---- */

/* A job as a submission, as far as QOS need it. */
struct submission {
	const struct simulate_qos_ask *ask;
	struct quota_site site;
	struct request request; /* borrows nothing */
	const char *named;
};

/* The QOS is the one of --qos, else the job's own, else the default of its account or site. */
static void fill_submission(struct submission *s, const struct sim_job *j)
{
	const struct sim_trace *t = s->ask->trace;
	struct request *q = &s->request;

	sim_trace_user(t, j->user, q->user);
	sim_trace_group(t, j->group, q->account);
	q->res.walltime_s = j->estimate_s;
	s->named = s->ask->all ? s->ask->all : j->qos ? t->qos.texts[j->qos - 1] : "";
	snprintf(q->qos, sizeof(q->qos), "%s", s->named);
	if (s->site.accounts)
		quota_fill_qos(&s->site, q);
	else
		snprintf(q->qos, sizeof(q->qos), "%s",
			 config_qos_or_default(s->ask->config, s->named));
}

/* Without --accounts, the QOS's own lists of users and accounts decide. */
static bool is_allowed(const struct submission *s, const struct config_qos *qos,
		       struct quota_qos_refusal *no)
{
	const struct request *q = &s->request;

	if (s->site.accounts && accounts_find(s->site.accounts, q->account) >= 0)
		return quota_allows_qos(&s->site, q, no);
	*no = (struct quota_qos_refusal){ .code = "forbidden-qos" };
	if (!config_qos_allows_user(qos, q->user) ||
	    !config_qos_allows_account(qos, q->account))
		return false;
	no->code = "too-large";
	return !qos->max_walltime_s || q->res.walltime_s <= qos->max_walltime_s;
}

/* 1: the QOS refuses the job, and a note is added. */
static int refuse_job(struct simulate_qos *q, const struct submission *s,
		      const struct sim_job *j, const struct config_qos *qos)
{
	struct quota_qos_refusal no;
	const char *why = NULL;

	if (!is_allowed(s, qos, &no))
		why = !strcmp(no.code, "too-large") ? "longer than its MaxWalltime"
						    : "user or account may not use it";
	else if (qos->running_jobs == 0)
		why = "its MaxRunningJobs is 0";
	else if (qos->running_cores != CONFIG_NO_LIMIT && j->cores > qos->running_cores)
		why = "more cores than its MaxRunningCores";
	if (!why)
		return 0;
	q->refused++;
	return add_note(q, "refused by QOS %s: %s", qos->name, why) < 0 ? -ENOMEM : 1;
}

/* Limits of a used QOS that a replay does not simulate. */
static int note_unsimulated(struct simulate_qos *q, const struct config_qos *qos)
{
	const struct {
		const char *key;
		int64_t limit;
	} unseen[] = {
		{ "MaxQueuedJobs", qos->queued_jobs },
		{ "MaxRunningGpus", qos->running_gpus },
		{ "MaxRunningMemory", qos->running_memory_bytes },
	};
	int r = 0;

	for (size_t i = 0; i < ARRAY_LEN(unseen) && r == 0; i++)
		if (unseen[i].limit != CONFIG_NO_LIMIT)
			r = add_note(q, "not simulated: %s of QOS %s", unseen[i].key,
				     qos->name);
	return r;
}

/* 1: the job is refused, and not replayed; 0: *ret is the index of its QOS. */
static int judge_job(struct simulate_qos *q, struct submission *s, const struct sim_job *j,
		     uint32_t *ret)
{
	const struct config *c = s->ask->config;
	uint32_t i;
	int r;

	fill_submission(s, j);
	*ret = SIM_QOS_NONE;
	if (!*s->request.qos)
		return add_note(q, "jobs without a QOS: priority 0, factor 1, no limits");
	i = find_qos(c, s->request.qos);
	if (i == SIM_QOS_NONE)
		return add_note(q, "no [Qos %s] in the profile: simulated without a QOS",
				s->request.qos);
	r = refuse_job(q, s, j, c->qos[i]);
	if (r == 0)
		r = note_unsimulated(q, c->qos[i]);
	*ret = i;
	return r;
}

/* ---- all of them ---- */

static int judge_all(const struct simulate_qos_ask *ask, struct simulate_qos *q)
{
	struct submission s = { .ask = ask,
				.site = { .config = ask->config, .accounts = ask->accounts } };
	size_t n = ask->trace->n ? ask->trace->n : 1;
	int r = 0;

	q->view.jobs = malloc(n * sizeof(*q->view.jobs));
	q->of = malloc(n * sizeof(*q->of));
	if (!q->view.jobs || !q->of)
		return -ENOMEM;
	for (size_t i = 0; i < ask->trace->n && r >= 0; i++) {
		const struct sim_job *j = &ask->trace->jobs[i];

		r = judge_job(q, &s, j, &q->of[q->view.n]);
		if (r == 0)
			q->view.jobs[q->view.n++] = *j;
	}
	return r < 0 ? r : 0;
}

/* A note on all jobs of the trace that name a QOS. */
static int note_named(const struct sim_trace *t, struct simulate_qos *q)
{
	int r = 0;

	for (size_t i = 0; i < t->n && r == 0; i++)
		if (t->jobs[i].qos)
			r = add_note(q, "the QOS of the trace count nothing: the profile has "
					"no [Qos] section");
	return r;
}

int simulate_qos_open(const struct simulate_qos_ask *ask, struct simulate_qos *ret,
		      struct err *err)
{
	const struct config_qos *found;
	int r = ask->all ? config_find_qos(ask->config, ask->all, &found, err) : 0;

	*ret = (struct simulate_qos){ .view = *ask->trace };
	ret->view.jobs = NULL;
	ret->view.n = ret->view.room = 0;
	if (r < 0)
		return err_prefix(err, r, "--qos");
	if (ask->config->n_qos == 0 && note_named(ask->trace, ret) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	if (ask->config->n_qos)
		r = read_list(ask->config, ret, err);
	if (r < 0)
		return r;
	if (ask->config->n_qos)
		r = judge_all(ask, ret);
	if (r < 0)
		return err_set(err, r, "out of memory");
	ret->use = (struct sim_qos_use){ ret->list, ask->config->n_qos, ret->of };
	return 0;
}
