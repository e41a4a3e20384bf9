/* SPDX-License-Identifier: GPL-2.0-or-later */
/* make_plan.c - collect what the plan of a job says, and encode it; see handshake/make_plan.h. */
#include <stdlib.h>
#include <string.h>
#include "agent/job/handshake/make_plan.h"
#include "agent/job/gpus/gpus.h"
#include "agent/job/gpus/env.h"
#include "agent/job/handshake/plan.h"

/* What the guard of this kernel cannot refuse, seccomp in the launcher refuses. */
uint32_t handshake_denials(const struct node *n)
{
	uint32_t holds = guard_holds(n->guard);

	return (holds & GUARD_PROJECT_ID ? 0 : (uint32_t)PLAN_DENY_PROJECT) |
	       (holds & GUARD_PTRACE ? 0 : (uint32_t)PLAN_DENY_PTRACE) |
	       (holds & GUARD_CORES ? 0 : (uint32_t)PLAN_DENY_URING);
}

/* Where the kernel cannot refuse a mapping (tiers 2 and 3), RLIMIT_AS of each process is the job's vmem and 16 MiB: no single
 * process may exceed by much before the job is killed. 0: no limit. */
uint64_t handshake_backstop(const struct job *j)
{
	const struct node *n = j->node;

	if (vmem_tier(n->vmem) == VMEM_TIER_DENY || !j->s.request.res.vmem_bytes)
		return 0;
	return (uint64_t)j->s.request.res.vmem_bytes + (UINT64_C(16) << 20);
}

/* Note it when the user set the GPU runtimes' variables to other values. */
static void note_gpu_env(struct job *j, char *const *gpu_env)
{
	const char *differs = gpus_env_differs(gpu_env, j->s.request.env);

	if (differs)
		job_note(j,
			 "%.*s as submitted was replaced by the GPUs that the job was granted",
			 (int)strcspn(differs, "="), differs);
}

int handshake_make_plan(struct job *j, const struct request *step, char **ret, size_t *ret_size,
			struct err *err)
{
	char cpus[CPULIST_TEXT_MAX], dir[4200], work[4200], script[4200];
	_cleanup_free_ char **gpu_env = NULL;
	struct node *n = j->node;
	struct request q = step ? *step : j->s.request;
	struct job_plan p = { .request = &q,
			      .job = j->s.job,
			      .attempt = j->s.attempt,
			      .node = n->conf->node,
			      .cpus = cpulist_format(&j->s.cpus, cpus, sizeof(cpus)),
			      .dir = job_file(j, "", dir, sizeof(dir)),
			      .is_sister = !step && job_is_sister(j),
			      .jobfs = job_file(j, "work", work, sizeof(work)),
			      .script_path = job_file(j, "script", script, sizeof(script)),
			      .rlimit_as = handshake_backstop(j),
			      .deny = handshake_denials(n) };
	int r = job_gpus_env(n, j, &gpu_env);

	if (r < 0)
		return err_set(err, r, "the GPUs' variables: %s", strerror(-r));
	if (!step)
		note_gpu_env(j, gpu_env);
	q.res = j->s.request.res;
	q.part = j->s.request.part;
	p.gpu_env = gpu_env;
	return job_plan_encode(&p, ret, ret_size, err);
}
