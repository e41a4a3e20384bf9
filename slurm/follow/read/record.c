/* SPDX-License-Identifier: GPL-2.0-or-later */
/* record.c - fields of libslurm's two records into one; see record.h. */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include "common/utf8.h"
#include "slurm/follow/read/record.h"

#define MIB (INT64_C(1) << 20)

static const enum slurm_batch_state states[JOB_END] = {
	[JOB_PENDING] = SLURM_BATCH_PENDING,	 [JOB_RUNNING] = SLURM_BATCH_RUNNING,
	[JOB_SUSPENDED] = SLURM_BATCH_SUSPENDED, [JOB_COMPLETE] = SLURM_BATCH_COMPLETED,
	[JOB_CANCELLED] = SLURM_BATCH_CANCELLED, [JOB_FAILED] = SLURM_BATCH_FAILED,
	[JOB_TIMEOUT] = SLURM_BATCH_TIMEOUT,	 [JOB_NODE_FAIL] = SLURM_BATCH_NODE_FAIL,
	[JOB_PREEMPTED] = SLURM_BATCH_PREEMPTED, [JOB_BOOT_FAIL] = SLURM_BATCH_BOOT_FAIL,
	[JOB_DEADLINE] = SLURM_BATCH_DEADLINE,	 [JOB_OOM] = SLURM_BATCH_OUT_OF_MEMORY,
};

/* The flags come first: beside them the base state is not the end of this attempt. */
static enum slurm_batch_state state_of(uint32_t state)
{
	uint32_t base = state & JOB_STATE_BASE;

	if (state & JOB_REVOKED)
		return SLURM_BATCH_REVOKED;
	if (state & (JOB_REQUEUE | JOB_RESIZING))
		return SLURM_BATCH_REQUEUED;
	return base < JOB_END ? states[base] : SLURM_BATCH_UNKNOWN;
}

/* 0: not known, or beyond what a document may have. */
static int64_t time_of(int64_t at)
{
	return at > 0 && at < SLURM_BATCH_TIME_MAX ? at : 0;
}

/* "n[1-3,7],m2": "n1". */
static void set_first_node(struct slurm_batch_job *r)
{
	size_t head = strcspn(r->nodes, "[,");
	const char *rest = r->nodes + head;
	size_t digits = *rest == '[' ? strspn(rest + 1, "0123456789") : 0;

	if (head + digits < sizeof(r->node))
		snprintf(r->node, sizeof(r->node), "%.*s%.*s", (int)head, r->nodes, (int)digits,
			 *rest == '[' ? rest + 1 : "");
}

/* Slurm's exit codes are wait statuses, in the lower 16 bits. */
static void set_exit(struct slurm_batch_job *r, uint32_t code)
{
	int status = (int)(code & 0xffff);

	if (code == NO_VAL)
		return;
	r->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	r->exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

static void set_text(char *to, size_t size, const char *from)
{
	utf8_format(to, size, "%s", from ? from : "");
}
#define SET_TEXT(to, from) set_text(to, sizeof(to), from)

static void set_place(struct slurm_batch_job *r, const char *nodes)
{
	if (!nodes || !strcmp(nodes, "None assigned"))
		return;
	SET_TEXT(r->nodes, nodes);
	set_first_node(r);
}

/* The array's own record, which stands for tasks without a row of their own, has no task number. */
static void set_array(struct slurm_batch_job *r, uint32_t array, uint32_t task)
{
	r->array_task = SLURM_BATCH_NO_TASK;
	if (!array || task == NO_VAL)
		return;
	r->array_job = array;
	r->array_task = task;
}

static void set_het(struct slurm_batch_job *r, uint32_t job, uint32_t offset)
{
	if (!job || job == NO_VAL || offset == NO_VAL)
		return;
	r->het_job = job;
	r->het_offset = offset;
}

static void set_walltime(struct slurm_batch_job *r, uint32_t minutes)
{
	if (minutes != NO_VAL && minutes != INFINITE)
		r->walltime_s = (int64_t)minutes * 60;
}

bool record_is_present(const slurm_job_info_t *job)
{
	uint32_t base = job->job_state & JOB_STATE_BASE;

	return base == JOB_RUNNING || base == JOB_SUSPENDED ||
	       (base != JOB_PENDING && job->job_state & JOB_COMPLETING);
}

/* slurmctld tells how long the job ran before it was last suspended, and when it was last suspended or resumed. */
static int64_t suspended_of(const slurm_job_info_t *job, int64_t at_s)
{
	uint32_t base = job->job_state & JOB_STATE_BASE;
	int64_t end_s = base >= JOB_COMPLETE ? job->end_time : at_s, ran_s;

	if (!job->suspend_time || !job->start_time)
		return 0;
	ran_s = job->pre_sus_time;
	if (base != JOB_SUSPENDED && end_s > job->suspend_time)
		ran_s += end_s - job->suspend_time;
	return end_s - job->start_time > ran_s ? end_s - job->start_time - ran_s : 0;
}

static void set_owner(struct slurm_batch_job *r, const slurm_job_info_t *job)
{
	SET_TEXT(r->user, job->user_name);
	SET_TEXT(r->account, job->account);
	SET_TEXT(r->queue, job->partition);
	SET_TEXT(r->qos, job->qos);
	SET_TEXT(r->name, job->name);
	r->uid = job->user_id;
}

bool record_from_slurmctld(const slurm_job_info_t *job, int64_t at_s,
			   struct slurm_batch_job *ret)
{
	uint32_t base = job->job_state & JOB_STATE_BASE;

	if (base == JOB_PENDING || job->job_state & (JOB_COMPLETING | JOB_REVOKED))
		return false;
	*ret = (struct slurm_batch_job){ .job = job->job_id,
					 .attempt = job->restart_cnt + 1,
					 .state = state_of(job->job_state),
					 .ncpus = job->num_cpus,
					 .n_nodes = job->num_nodes,
					 .submit_s = time_of(job->submit_time),
					 .start_s = time_of(job->start_time) };
	set_owner(ret, job);
	set_place(ret, job->nodes);
	set_array(ret, job->array_job_id, job->array_task_id);
	set_het(ret, job->het_job_id, job->het_job_offset);
	set_walltime(ret, job->time_limit);
	tres_read(job->tres_alloc_str ? job->tres_alloc_str : job->tres_req_str, NULL, ret);
	ret->suspended_s = suspended_of(job, at_s);
	if (base < JOB_COMPLETE)
		return true;
	ret->end_s = time_of(job->end_time);
	set_exit(ret, job->exit_code);
	return true;
}

static void set_qos(struct slurm_batch_job *r, const struct tres_names *qos, uint32_t id)
{
	for (size_t i = 0; i < qos->n; i++)
		if (qos->of[i].id == id)
			SET_TEXT(r->qos, qos->of[i].name);
}

/* attempt stays 0: slurmdbd does not count them, and the controller finds the attempt by its times. */
void record_from_slurmdbd(const slurmdb_job_rec_t *row, const struct record_names *names,
			  struct slurm_batch_job *ret)
{
	*ret = (struct slurm_batch_job){ .job = row->jobid,
					 .state = state_of(row->state),
					 .uid = row->uid == NO_VAL ? -1 : (int64_t)row->uid,
					 .ncpus = row->req_cpus,
					 .n_nodes = row->alloc_nodes,
					 .submit_s = time_of(row->submit),
					 .start_s = time_of(row->start),
					 .end_s = time_of(row->end),
					 .suspended_s = row->suspended };
	SET_TEXT(ret->user, row->user);
	SET_TEXT(ret->account, row->account);
	SET_TEXT(ret->queue, row->partition);
	SET_TEXT(ret->name, row->jobname);
	set_qos(ret, &names->qos, row->qosid);
	set_place(ret, row->nodes);
	set_array(ret, row->array_job_id, row->array_task_id);
	set_het(ret, row->het_job_id, row->het_job_offset);
	set_walltime(ret, row->timelimit);
	tres_read(row->tres_alloc_str && *row->tres_alloc_str ? row->tres_alloc_str
							      : row->tres_req_str,
		  &names->tres, ret);
	set_exit(ret, row->exitcode);
}
