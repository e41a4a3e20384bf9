/* SPDX-License-Identifier: GPL-2.0-or-later */
/* priority.c - sends the pending jobs, and writes the site factors that have changed; see priority.h. */
#include <errno.h>
#include <pwd.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "common/clock.h"
#include "common/err.h"
#include "common/log.h"
#include "common/time_units.h"
#include "common/utf8.h"
#include "common/wire/slurm_pending.h"
#include "slurm/follow/array.h"
#include "slurm/follow/read/jobtable.h"
#include "slurm/follow/priority.h"

#define STEPS 1000 /* of the weight: a smaller difference is not written */
#define RESEND_CHECK_S 5
#define WRITE_PAUSE_NS (2 * MS_NS)

/* libslurm has it and its header does not. Later versions named it otherwise: then the number is shown. */
char *slurm_job_reason_string(enum job_state_reason reason) __attribute__((weak));

/* All pending jobs, and the changes that the controller's answers make. */
struct round {
	struct slurm_pending_job *jobs;
	struct priority_change *changes;
	size_t n, n_changes;
	int64_t weight;
	int64_t asked_ns; /* CLOCK_MONOTONIC: slurmctld was asked then */
};

int64_t priority_interval_s(const struct follow *f)
{
	int64_t since_s = (clock_ns(CLOCK_MONOTONIC) - f->priority_done_ns) / S_NS;
	int64_t rest_s = jobtable_rest_s(f->jobtable);
	int64_t left_s = f->config.priority_s - since_s;

	return rest_s > left_s ? rest_s : left_s > 0 ? left_s : 0;
}

/* ---- slurmctld's jobs ---- */

/* Slurm stores nice values and site factors with NICE_OFFSET added. */
static int64_t site_of(const slurm_job_info_t *info)
{
	return (int64_t)info->site_factor - (int64_t)NICE_OFFSET;
}

static void set_user(const slurm_job_info_t *info, struct slurm_pending_job *j)
{
	const struct passwd *pw = info->user_name ? NULL : getpwuid(info->user_id);
	const char *name = info->user_name ? info->user_name : pw ? pw->pw_name : "";

	snprintf(j->user, sizeof(j->user), "%.63s", name);
}

/* The record of an array that has the tasks which wait has its id; one that was queued again has one of its own. */
static void set_array(const slurm_job_info_t *info, struct slurm_pending_job *j)
{
	j->array_job = info->array_job_id;
	if (info->array_job_id && info->array_task_id == NO_VAL)
		j->tasks = array_count_tasks(info->array_task_str ? info->array_task_str : "");
}

/* A limit that is not set or infinite stays 0; memory is in MiB, for each core or for each node. */
static void set_job(const slurm_job_info_t *info, struct slurm_pending_job *j)
{
	const char *detail = info->state_desc ? info->state_desc : "";
	char number[32];

	j->job = info->job_id;
	j->uid = info->user_id;
	set_user(info, j);
	snprintf(j->account, sizeof(j->account), "%.63s", info->account ? info->account : "");
	snprintf(j->queue, sizeof(j->queue), "%.63s", info->partition ? info->partition : "");
	snprintf(number, sizeof(number), "reason %u", info->state_reason);
	utf8_format(j->reason, sizeof(j->reason), "%s%s%s",
		    slurm_job_reason_string ? slurm_job_reason_string(info->state_reason)
					    : number,
		    *detail ? ": " : "", detail);
	j->ncpus = info->num_cpus;
	if (info->pn_min_memory & MEM_PER_CPU)
		j->mem_bytes = (int64_t)(info->pn_min_memory & ~MEM_PER_CPU) * info->num_cpus
			       << 20;
	else
		j->mem_bytes = (int64_t)info->pn_min_memory * info->num_nodes << 20;
	if (info->time_limit != NO_VAL && info->time_limit != INFINITE)
		j->walltime_s = (int64_t)info->time_limit * 60;
	j->priority = info->priority;
	j->site = site_of(info);
	j->submit_s = info->submit_time;
	set_array(info, j);
}

/* GPUs decide only the pool: "cpu=8,gres/gpu=2" of what it requests. */
static void set_gpus(const slurm_job_info_t *info, struct slurm_pending_job *j)
{
	const char *at = info->tres_req_str ? strstr(info->tres_req_str, "gres/gpu=") : NULL;

	j->ngpus = at ? atoll(at + strlen("gres/gpu=")) : 0;
}

/* Pending jobs, without those of another cluster of the federation and those that are still being cleaned up
 * before a requeue. */
static int fill_round(const job_info_msg_t *jobs, struct round *round, struct err *err)
{
	round->jobs = calloc(jobs->record_count + 1, sizeof(*round->jobs));
	round->changes = calloc(jobs->record_count + 1, sizeof(*round->changes));
	if (!round->jobs || !round->changes)
		return err_set(err, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < jobs->record_count; i++) {
		const slurm_job_info_t *info = &jobs->job_array[i];

		if ((info->job_state & JOB_STATE_BASE) != JOB_PENDING ||
		    (info->job_state & (JOB_REVOKED | JOB_COMPLETING)))
			continue;
		set_job(info, &round->jobs[round->n]);
		set_gpus(info, &round->jobs[round->n]);
		round->n++;
	}
	return 0;
}

/* ---- the controller ---- */

/* The answers stand in the order of the jobs of the page. */
static void add_changes(struct round *round, size_t first, const struct slurm_pending_answer *a)
{
	for (size_t i = 0; i < a->n_sites; i++) {
		const struct slurm_pending_job *j = &round->jobs[first + i];

		round->changes[round->n_changes++] =
			(struct priority_change){ j->job, j->site, a->sites[i].site };
	}
	round->weight = a->weight;
}

/* Sends one document. *ret is freed by the caller, also after an error. Fewer answers than jobs are an error: none could be
 * matched. */
static int send_document(struct follow *f, struct slurm_pending *doc,
			 struct slurm_pending_answer *ret, struct err *err)
{
	json_t *body, *said = NULL;
	int r;

	*ret = (struct slurm_pending_answer){ 0 };
	snprintf(doc->cluster, sizeof(doc->cluster), "%s", f->config.cluster);
	body = slurm_pending_encode(doc);
	if (!body)
		return err_set(err, -ENOMEM, "out of memory");
	r = follow_ask(f, SLURM_PENDING_PATH, body, &said, err);
	if (r >= 0)
		r = slurm_pending_decode_answer(said, ret, err);
	if (r >= 0 && ret->n_sites != doc->n_jobs)
		r = err_set(err, -EPROTO, "the controller answered %zu of %zu jobs",
			    ret->n_sites, doc->n_jobs);
	json_decref(body);
	json_decref(said);
	return r;
}

/* The jobs from `first` on, SLURM_PENDING_MAX at most. */
static int send_page(struct follow *f, struct round *round, size_t first, struct err *err)
{
	size_t left = round->n - first;
	struct slurm_pending doc = { .is_first = first == 0,
				     .is_last = left <= SLURM_PENDING_MAX,
				     .jobs = round->jobs + first,
				     .n_jobs = left < SLURM_PENDING_MAX ? left
									: SLURM_PENDING_MAX };
	struct slurm_pending_answer answer;
	int r;

	doc.age_ms = (clock_ns(CLOCK_MONOTONIC) - round->asked_ns) / MS_NS + 1;
	r = send_document(f, &doc, &answer, err);
	if (r >= 0)
		add_changes(round, first, &answer);
	slurm_pending_answer_done(&answer);
	return r;
}

/* ---- changes ---- */

static int64_t size_of(const struct priority_change *c)
{
	return c->to > c->from ? c->to - c->from : c->from - c->to;
}

static int compare_changes(const void *a, const void *b)
{
	const struct priority_change *x = a, *y = b;
	int64_t m = size_of(x), n = size_of(y);

	return m != n ? (m < n) - (m > n) : (x->job > y->job) - (x->job < y->job);
}

/* Largest difference first, so that what PriorityUpdates leaves for the next round matters least. */
size_t priority_choose(struct priority_change *changes, size_t n, int64_t weight, size_t most)
{
	int64_t step = weight > STEPS ? weight / STEPS : 1;
	size_t k = 0;

	if (n)
		qsort(changes, n, sizeof(*changes), compare_changes);
	while (k < n && k < most && size_of(&changes[k]) >= step)
		k++;
	return k;
}

/* One update takes slurmctld's write lock: the pause leaves it time for others. slurmctld refuses a job that has started
 * meanwhile; that is no error. -EACCES: no job can be written, so the round ends. */
static int write_change(const struct priority_change *c, struct err *err)
{
	const struct timespec pause = { .tv_nsec = WRITE_PAUSE_NS };
	job_desc_msg_t job;

	slurm_init_job_desc_msg(&job);
	job.job_id = (uint32_t)c->job;
	job.site_factor = (uint32_t)((int64_t)NICE_OFFSET + c->to);
	errno = 0;
	if (slurm_update_job(&job) != SLURM_SUCCESS) {
		if (errno == ESLURM_ACCESS_DENIED || errno == ESLURM_USER_ID_MISSING)
			return err_set(
				err, -EACCES,
				"slurmctld does not let this user set SiteFactor: run as "
				"SlurmUser");
		log_line(LOG_DEBUG, "SiteFactor of job %lld: %s", (long long)c->job,
			 slurm_strerror(errno));
	}
	nanosleep(&pause, NULL);
	return 0;
}

static int write_changes(struct follow *f, struct round *round, struct err *err)
{
	size_t n = priority_choose(round->changes, round->n_changes, round->weight,
				   (size_t)f->config.priority_updates);
	int r = 0;

	if (!f->config.sets_priority || !round->weight)
		return 0;
	for (size_t i = 0; i < n && r >= 0; i++)
		r = write_change(&round->changes[i], err);
	if (n)
		log_line(LOG_DEBUG, "SiteFactor of %zu of %zu pending jobs", n, round->n);
	return r;
}

static void round_done(struct round *round)
{
	free(round->jobs);
	free(round->changes);
}

/* All pending jobs of the table. *round needs round_done(), also after an error. */
static int send_round(struct follow *f, struct round *round, struct err *err)
{
	size_t at = 0;
	int r = fill_round(jobtable_jobs(f->jobtable), round, err);

	round->asked_ns = jobtable_began_ns(f->jobtable);
	do {
		if (r >= 0)
			r = send_page(f, round, at, err);
		at += SLURM_PENDING_MAX;
	} while (r >= 0 && at < round->n);
	return r;
}

static int run_round(struct follow *f, struct err *err)
{
	_cleanup_(round_done) struct round round = { 0 };
	int r = send_round(f, &round, err);

	return r < 0 ? r : write_changes(f, &round, err);
}

/* A table that is older than the last round does not have the factors that were written then. */
static bool is_table_new(const struct follow *f)
{
	return jobtable_jobs(f->jobtable) &&
	       jobtable_asked_ns(f->jobtable) > f->priority_done_ns;
}

int priority_run(struct follow *f, struct err *err)
{
	int r = is_table_new(f) ? 0 : jobtable_refresh(f, 0, err);

	/* Not new: slurmctld has its rest. */
	if (r < 0 || !is_table_new(f))
		return r;
	r = run_round(f, err);
	if (r >= 0)
		f->priority_done_ns = clock_ns(CLOCK_MONOTONIC);
	return r;
}

/* ---- a controller that was started ---- */

int64_t priority_resend_interval_s(const struct follow *f)
{
	(void)f;
	return RESEND_CHECK_S;
}

/* Writes no site factor: the table may be older than those that were written last. */
int priority_resend(struct follow *f, struct err *err)
{
	_cleanup_(round_done) struct round round = { 0 };
	struct slurm_pending nothing = { .n_jobs = 0 };
	struct slurm_pending_answer answer;
	int r = send_document(f, &nothing, &answer, err);
	bool is_unlisted = r >= 0 && answer.is_unlisted;

	slurm_pending_answer_done(&answer);
	if (!is_unlisted || !jobtable_jobs(f->jobtable))
		return r;
	log_line(LOG_DEBUG, "the controller has no list of the jobs that wait: it is sent");
	return send_round(f, &round, err);
}
