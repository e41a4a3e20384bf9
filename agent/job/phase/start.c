/* SPDX-License-Identifier: GPL-2.0-or-later */
/* start.c - phases PREPARE and UNIT: admit, choose cores and GPUs, make the job's disk, start the unit; see phase/start.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "agent/job/handshake/env.h"
#include "agent/job/gpus/gpus.h"
#include "agent/job/handshake/hosts.h"
#include "agent/job/left.h"
#include "agent/job/phase/start.h"
#include "common/log.h"

/* A suspended job has no cores, and a job in DRAIN needs none. */
static bool has_cores(const struct job *j)
{
	return j->phase != PHASE_DRAIN && !cpulist_is_empty(&j->s.cpus);
}

/* Three kinds of entries: jobs from the moment they have cores (a suspended one keeps memory and disk), and as allocations of no job, so that
 * admission counts them as in use, drained GPUs and last, if there is any, the memory that ended jobs left. */
int job_list_allocations(struct node *n, const struct job *except,
			 struct admit_allocation **ret, size_t *ret_n)
{
	struct admit_allocation *allocations;
	const char *model;
	size_t count = 0;

	for (struct job *j = n->jobs; j; j = j->next)
		count++;
	allocations = calloc(count + GPU_DEVICES_MAX + 1, sizeof(*allocations));
	if (!allocations)
		return -ENOMEM;
	count = 0;
	for (struct job *j = n->jobs; j; j = j->next) {
		bool is_started = j->phase > PHASE_PREPARE || !cpulist_is_empty(&j->s.cpus);

		if (j == except || j->phase == PHASE_REPORT || !is_started)
			continue;
		allocations[count++] = (struct admit_allocation){
			.job = j->s.job,
			.attempt = j->s.attempt,
			.phase = has_cores(j) ? ADMIT_ACTIVE : ADMIT_SUSPENDED,
			.res = j->s.request.res,
		};
		model = job_gpus_model(n, j);
		if (*model)
			snprintf(allocations[count - 1].res.gpu_model,
				 sizeof(allocations[count - 1].res.gpu_model), "%s", model);
	}
	count += job_gpus_drained(n, allocations + count);
	if (n->left.bytes)
		allocations[count++].res.mem_bytes = n->left.bytes;
	*ret = allocations;
	*ret_n = count;
	return 0;
}

/* The controller counts neither processes nor the memory that ended jobs left: a job that lacks only those waits on the node. */
static bool lacks_only_uncounted(const struct node *n, struct admit_node node,
				 const struct resources *want)
{
	struct resources rest = *want;
	char text[ADMIT_TEXT_MAX];

	if (want->pids > node.capacity.pids)
		return false;
	rest.pids = 0;
	if (n->left.bytes)
		node.n_allocations--;
	return admit_check(&node, &rest, text) == ADMIT_YES;
}

#define PREPARE_WAITS 2
#define PREPARE_AGAIN_MS 1000
#define REMOVAL_AGAIN_MS 20

/* 0: the node can hold the job now. PREPARE_WAITS: later. 1: never, the job has failed with the reason.
 * -ENOMEM. */
static int admit_job(struct node *n, struct job *j)
{
	_cleanup_free_ struct admit_allocation *allocations = NULL;
	struct admit_node node = { .capacity = n->capacity };
	char text[ADMIT_TEXT_MAX];

	if (!n->left.is_known || n->left.bytes)
		job_left_measure(n);
	if (job_list_allocations(n, j, &allocations, &node.n_allocations) < 0)
		return -ENOMEM;
	node.allocations = allocations;
	if (!n->jobfs && j->s.request.res.jobfs_bytes > 0) {
		job_fail(j, "node %s cannot hold this job: no job disk: %.150s", n->conf->node,
			 n->jobfs_why.text);
		return 1;
	}
	if (admit_check(&node, &j->s.request.res, text) == ADMIT_YES) {
		if (j->is_told_to_wait) {
			free(j->s.note);
			j->s.note = NULL;
		}
		j->is_told_to_wait = false;
		return 0;
	}
	if (lacks_only_uncounted(n, node, &j->s.request.res)) {
		if (!j->is_told_to_wait)
			job_note(j, "waits on node %s: %.180s", n->conf->node, text);
		j->is_told_to_wait = true;
		return PREPARE_WAITS;
	}
	job_fail(j, "node %s cannot hold this job: %.180s", n->conf->node, text);
	return 1;
}

/* The node's cores minus those of each job that may still run on them. */
static void find_free_cpus(struct node *n, const struct job *except, struct cpulist *ret)
{
	*ret = n->cpus;
	for (struct job *j = n->jobs; j; j = j->next)
		if (j != except && has_cores(j) && j->phase < PHASE_DRAIN)
			cpulist_remove(ret, &j->s.cpus);
}

int job_place(struct node *n, struct job *j)
{
	struct place_want want = { .ncpus = j->s.request.res.ncpus };
	struct cpulist near = { 0 }, spare;
	struct place p;
	int r;

	find_free_cpus(n, j, &spare);
	if (j->gpus) {
		job_gpus_near(n, j, &near);
		want.near = &near;
	}
	r = place_choose(n->topology, &spare, &want, &p);
	if (r)
		return r;
	j->s.cpus = p.cpus;
	j->s.mem_nodes = p.nodes;
	return 0;
}

/* A new job changes the memory fences of all jobs; see place_fences(). */
static int update_fences(struct node *n, struct job *fresh)
{
	_cleanup_free_ struct place_fence *fences = NULL;
	int count = 0, i = 0;

	for (struct job *j = n->jobs; j; j = j->next)
		count++;
	fences = calloc((size_t)count + 1, sizeof(*fences));
	if (!fences)
		return -ENOMEM;
	for (struct job *j = n->jobs; j; j = j->next, i++)
		if (!job_has_ended(j) && !cpulist_is_empty(&j->s.mem_nodes))
			fences[i] = (struct place_fence){ j->s.mem_max_bytes, j->s.mem_nodes };
	place_fences(n->topology, fences, count);
	i = 0;
	for (struct job *j = n->jobs; j; j = j->next, i++) {
		struct err err;

		if (job_has_ended(j) || cpulist_is_empty(&fences[i].fence) ||
		    cpulist_is_equal(&fences[i].fence, &j->s.mem_nodes))
			continue;
		j->s.mem_nodes = fences[i].fence;
		if (j != fresh && !cpulist_is_empty(&j->s.cpus) &&
		    n->ops->set_cpus(n->manager, (struct manager_id){ j->s.job, j->s.attempt },
				     &j->s.cpus, &j->s.mem_nodes, &err) < 0)
			log_job(LOG_WARNING, j->s.job, "fence", "%s", err.text);
	}
	return 0;
}

int job_make_jobfs(struct node *n, struct job *j, struct err *err)
{
	const struct request *q = &j->s.request;
	const char *script = job_is_sister(j) ? NULL : q->script;
	_cleanup_free_ char *slots = NULL, *lines = NULL;
	struct jobfs_file files[] = { { .name = JOB_ENV_HOSTFILE },
				      { .name = JOB_ENV_NODEFILE } };
	struct jobfs_spec spec = { .job = j->s.job,
				   .attempt = j->s.attempt,
				   .uid = q->uid,
				   .gid = q->gid,
				   .limit_bytes = q->res.jobfs_bytes,
				   .script = script,
				   .script_size = script ? strlen(script) : 0,
				   .files = files };
	struct jobfs_job left = { .job = j->s.job, .attempt = j->s.attempt };
	int r;

	if (j->s.jobfs.projid)
		return 0;
	if (q->part.n) {
		files[0].text = slots = job_hosts_slots(&q->part);
		files[1].text = lines = job_hosts_lines(&q->part);
		if (!slots || !lines)
			return err_set(err, -ENOMEM, "out of memory");
		spec.n_files = ARRAY_LEN(files);
	}
	r = jobfs_create(n->jobfs, &spec, &j->s.jobfs, err);
	if (r != -EEXIST)
		return r;
	/* An agent died while it made the directory: it has no data of the user yet. */
	r = jobfs_remove_now(n->jobfs, &left, err);
	return r < 0 ? r : jobfs_create(n->jobfs, &spec, &j->s.jobfs, err);
}

/* The agent checks by itself, whatever the controller let through. */
static int check_user(struct node *n, struct job *j)
{
	const struct request *q = &j->s.request;
	char text[USERS_TEXT_MAX];
	const char *why = users_check(&n->users, q->uid, q->gid, text);

	if (!why)
		return 0;
	job_fail(j, "%s", why);
	return -EPERM;
}

/* memory.max: the mem that the job requested, or its vmem with the site's margin (MemFromVmemPercent,
 * MemFromVmemPlus). */
static int64_t compute_mem_max(struct node *n, const struct resources *res)
{
	struct admit_mem_rule rule = ADMIT_MEM_RULE_DEFAULT;

	rule.percent = n->conf->mem_percent;
	rule.plus_bytes = n->conf->mem_plus_bytes;
	return admit_mem_bytes(res, &rule);
}

/* An agent that died before the job was saved has left a directory, which this one is removing. */
static bool is_dir_removed(const struct node *n, const struct job *j)
{
	struct jobfs_job left = { .job = j->s.job, .attempt = j->s.attempt };

	return n->jobfs && jobfs_is_removing(n->jobfs, &left);
}

/* Each step leaves what it chose in j->s, which is saved before UNIT: a job that was prepared half way is
 * prepared again from the start. job_fail() keeps the first reason. */
int job_prepare(struct node *n, struct job *j)
{
	struct err err = { "" };
	struct cpulist spare;
	int r = check_user(n, j);

	if (j->s.end.kind != END_NONE) { /* cancelled while it waited */
		job_enter_phase(j, PHASE_FINAL);
		return 0;
	}
	if (!r)
		r = admit_job(n, j);
	if (r == PREPARE_WAITS || is_dir_removed(n, j)) {
		job_act_after(j, r == PREPARE_WAITS ? PREPARE_AGAIN_MS : REMOVAL_AGAIN_MS);
		return 0;
	}
	if (!r && j->s.request.res.ngpus > 0) {
		find_free_cpus(n, j, &spare);
		r = job_gpus_grant(n, j, &spare);
	}
	if (!r && (r = job_place(n, j)) != 0)
		job_fail(j, "node %s has no %lld whole cores free", n->conf->node,
			 (long long)j->s.request.res.ncpus);
	if (!r) {
		j->s.mem_max_bytes = compute_mem_max(n, &j->s.request.res);
		r = update_fences(n, j);
	}
	if (!r) {
		r = job_make_jobfs(n, j, &err);
		if (r < 0)
			job_fail(j, "cannot make the job's disk: %.200s", err.text);
	}
	if (r)
		job_fail(j, "cannot prepare: %s", strerror(r < 0 ? -r : 0));
	else /* from here on the unit may exist, also after the agent died */
		manager_name((struct manager_id){ j->s.job, j->s.attempt }, j->s.unit);
	job_enter_phase(j, r ? PHASE_FINAL : PHASE_UNIT);
	return 0;
}

/* A start that fails at once is handled like one to which the manager answers with a failure later. */
int job_start_unit(struct node *n, struct job *j)
{
	struct manager_spec spec = { .id = { j->s.job, j->s.attempt },
				     .uid = j->s.request.uid,
				     .gid = j->s.request.gid,
				     .cpus = j->s.cpus,
				     .mem_nodes = j->s.mem_nodes,
				     .mem_bytes = j->s.mem_max_bytes,
				     .pids = j->s.request.res.pids,
				     .shm_bytes = j->s.mem_max_bytes / 2,
				     .grace_s = n->conf->kill_grace_s };
	_cleanup_free_ const char **devices = NULL;
	char dir[4096];
	struct err err;
	int r;

	if (j->s.end.kind != END_NONE) {
		job_enter_phase(j, PHASE_FINAL);
		return 0;
	}
	spec.jobfs_dir = job_file(j, "", dir, sizeof(dir));
	spec.devices = devices = job_gpus_files(n, j);
	r = n->ops->start(n->manager, &spec, &err);
	if (r < 0)
		job_on_unit_started(j, r, &err);
	return 0;
}

/* If a part of the unit was started, its final record follows and PHASE_FINAL reads it. */
void job_on_unit_started(struct job *j, int result, const struct err *err)
{
	if (result >= 0 || j->phase != PHASE_UNIT)
		return;
	job_fail(j, "the unit could not be started: %.200s", err->text);
	job_enter_phase(j, PHASE_FINAL);
}
