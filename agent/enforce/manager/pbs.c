/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pbs.c - the manager of a node where PBS owns the jobs: systemd's, with a scope around what PBS has started; cores, memory and suspension are PBS's.
 * See manager.h.
 *
 * pbs_mom starts its jobs in its own cgroup: a scope of systemd is what makes one of a job (docs/pbs.md).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "agent/enforce/manager/manager.h"

static int open_pbs(const struct manager_config *c, struct manager **ret, struct err *err)
{
	struct manager_config own = *c;
	size_t n = strlen(c->parent);
	char slice[128];

	/* "reeve-pbs.slice" is the name of a slice in "reeve.slice" (systemd.slice(5)). */
	if (n <= strlen(".slice") || strcmp(c->parent + n - strlen(".slice"), ".slice") ||
	    n + strlen("-pbs") >= sizeof(slice))
		return err_set(err, -EINVAL, "Slice=%s is no name of a slice", c->parent);
	snprintf(slice, sizeof(slice), "%.*s-pbs.slice", (int)(n - strlen(".slice")),
		 c->parent);
	own.parent = slice;
	return manager_systemd.open(&own, ret, err);
}

static struct manager *close_pbs(struct manager *m)
{
	return manager_systemd.close(m);
}

static int adopt_process(struct manager *m, const struct manager_spec *spec, struct err *err)
{
	if (!spec->pid)
		return err_set(err, -EOPNOTSUPP, "jobs of this node are started by PBS");
	return manager_systemd.start(m, spec, err);
}

static int refuse_cpus(struct manager *m, struct manager_id id, const struct cpulist *cpus,
		       const struct cpulist *nodes, struct err *err)
{
	(void)m, (void)id, (void)cpus, (void)nodes;
	return err_set(err, -EOPNOTSUPP, "cores of this node are given by PBS");
}

static int refuse_freeze_or_thaw(struct manager *m, struct manager_id id, struct err *err)
{
	(void)m, (void)id;
	return err_set(err, -EOPNOTSUPP,
		       "jobs of this node are suspended and resumed by PBS (qsig)");
}

static int refuse_spawn(struct manager *m, struct manager_id id, const char *name,
			const char *const *argv, struct err *err)
{
	(void)m, (void)id, (void)name, (void)argv;
	return err_set(err, -EOPNOTSUPP, "programs of this node's jobs are started by PBS");
}

/* Only killing is the agent's; a gentler end is PBS's (qdel). */
static int send_signal(struct manager *m, struct manager_id id, int sig, struct err *err)
{
	return manager_systemd.signal(m, id, sig, err);
}

static int forget_job(struct manager *m, struct manager_id id, struct err *err)
{
	return manager_systemd.forget(m, id, err);
}

static int bound_nothing(struct manager *m, const struct cpulist *cpus, int64_t mem_bytes,
			 struct err *err)
{
	(void)m, (void)cpus, (void)mem_bytes, (void)err;
	return 0; /* PBS's own: resources_available of the node */
}

static const char *get_parent(const struct manager *m)
{
	return manager_systemd.parent(m);
}

static const char *get_status(const struct manager *m)
{
	(void)m;
	return "PBS owns cores, memory, suspension and signals of jobs; the agent holds vmem and jobfs";
}

const struct manager_ops manager_pbs = {
	.name = "pbs",
	.foreign = "PBS",
	.open = open_pbs,
	.close = close_pbs,
	.start = adopt_process,
	.set_cpus = refuse_cpus,
	.freeze = refuse_freeze_or_thaw,
	.thaw = refuse_freeze_or_thaw,
	.spawn = refuse_spawn,
	.signal = send_signal,
	.forget = forget_job,
	.bound = bound_nothing,
	.parent = get_parent,
	.status = get_status,
};
