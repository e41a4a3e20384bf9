/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vmem.c - opens vmem: takes a pinned set over, or chooses the best tier that passes the
 * self-test. See vmem.h. */
#include <errno.h>
#include <limits.h>
#include <mntent.h>
#include <string.h>
#include <bpf/libbpf.h>
#include "agent/enforce/vmem/vmem.h"
#include "agent/enforce/vmem/hot.h"
#include "agent/enforce/vmem/selftest.h"
#include "agent/enforce/vmem/table.h"
#include "common/cleanup.h"

#define MAX_PROCESSES 65536

DEFINE_CLEANUP(struct vmem *, vmem_close)

struct vmem *vmem_close(struct vmem *v)
{
	size_t i;

	if (!v)
		return NULL;
	ring_buffer__free(v->ring);
	for (i = 0; i < v->n_known; i++) {
		closep(&v->known[i].cgroup_fd);
		vmem_proc_done(&v->known[i].last);
	}
	free(v->known);
	if (!v->kernel)
		free(v->jobs);
	vmem_kernel_close(v->kernel);
	closep(&v->epoll_fd);
	closep(&v->kick_fd);
	closep(&v->timer_fd);
	free(v->pin_dir);
	free(v->scratch_dir);
	free(v);
	return NULL;
}

static int find_cgroup_root(char *path, size_t size, struct err *err)
{
	FILE *f = setmntent("/proc/self/mounts", "re");
	struct mntent *m;
	int rc = -ENOENT;

	while (f && rc && (m = getmntent(f))) {
		if (strcmp(m->mnt_type, "cgroup2"))
			continue;
		snprintf(path, size, "%s", m->mnt_dir);
		rc = 0;
	}
	if (f)
		endmntent(f);
	return rc ? err_set(err, rc, "no cgroup v2 is mounted") : 0;
}

static int self_test(struct vmem *v, struct err *err)
{
	char root[PATH_MAX];
	int rc;

	if (v->config.scratch_dir)
		return vmem_selftest(v, v->config.scratch_dir, err);
	rc = find_cgroup_root(root, sizeof(root), err);
	return rc < 0 ? rc : vmem_selftest(v, root, err);
}

static void use_kernel(struct vmem *v, struct vmem_kernel *k)
{
	v->kernel = k;
	v->jobs = k->jobs;
	v->tier = (enum vmem_tier)k->control->tier;
}

static void drop_kernel(struct vmem *v)
{
	size_t i;

	for (i = 0; i < v->n_known; i++)
		closep(&v->known[i].cgroup_fd);
	v->n_known = 0;
	v->kernel = vmem_kernel_close(v->kernel);
	v->jobs = NULL;
}

static void reason_add(struct vmem *v, int tier, const struct err *why)
{
	size_t n = strlen(v->reason);

	snprintf(v->reason + n, sizeof(v->reason) - n, "%stier %d: %.250s", n ? "; " : "", tier,
		 why->text);
}

/* Copies a job from the table of an earlier agent, and counts what it has by an audit. A latch
 * that was being written then is dropped: the audit finds the excess again. */
static int carry_job(void *ctx, const struct vmem_job *head, struct err *err)
{
	struct vmem *v = ctx;
	struct vmem_known *known;
	struct vmem_job job = *head;
	int rc;

	if (!head->job_id || vmem_table_find(v, head->cgroup_id))
		return 0;
	if (job.latch.state == VMEM_X_FILLING)
		memset(&job.latch, 0, sizeof(job.latch));
	rc = vmem_table_enter(v, &job, 0, &known, err);
	return rc < 0 ? rc : vmem_table_audit(v, known, err);
}

/* Pins the new programs, then copies the jobs of the old ones, then removes the old ones: the
 * limits hold throughout. */
static int pin_programs(struct vmem *v, struct err *err)
{
	int rc;

	if (!v->config.pin_dir)
		return 0;
	rc = vmem_kernel_pin(v->kernel, v->config.pin_dir, err);
	if (rc == 0)
		rc = vmem_kernel_old_jobs(v->config.pin_dir, carry_job, v, err);
	if (rc == 0)
		rc = vmem_kernel_commit(v->config.pin_dir, err);
	return rc;
}

/* On failure vmem has no kernel side. */
static int load_tier(struct vmem *v, int tier, struct err *err)
{
	struct vmem_kernel *k = NULL;
	int rc = vmem_kernel_load(tier, vmem_table_spaces_of_node(v->max_processes), &k, err);

	if (rc < 0)
		return rc;
	use_kernel(v, k);
	rc = self_test(v, err);
	if (rc == 0)
		rc = pin_programs(v, err);
	if (rc < 0)
		drop_kernel(v);
	return rc;
}

static int try_tier(struct vmem *v, int tier)
{
	struct err why = { "" };
	int rc = load_tier(v, tier, &why);

	if (rc < 0)
		reason_add(v, tier, &why);
	return rc;
}

/* The kernel attaches a program once: as long as anything keeps an old link of it open, it refuses the program.
 * Programs that are loaded again are others. On failure the set in use stays, and the next job tries again. */
static int reload_kernel(struct vmem *v, struct err *err)
{
	struct vmem_kernel *old = v->kernel;
	int rc = load_tier(v, v->tier, err);

	if (rc == 0) {
		rc = vmem_excess_restart(v, err);
		if (rc == 0) {
			vmem_kernel_close(old);
			return 0;
		}
		drop_kernel(v);
	}
	use_kernel(v, old);
	return rc;
}

/* 0: the pinned set is in use. 1: nothing is pinned. 2: only other sets are; 3: a set of this
 * version that is incomplete, fails the self-test, or is of a better tier than allowed. */
static int try_adopt(struct vmem *v, int first_tier)
{
	struct vmem_kernel *k = NULL;
	struct err why = { "" };
	int rc;

	if (!v->config.pin_dir)
		return 1;
	rc = vmem_kernel_adopt(v->config.pin_dir, vmem_table_spaces_of_node(v->max_processes),
			       &k, &why);
	if (rc != 0)
		return rc < 0 ? 3 : rc;
	use_kernel(v, k);
	rc = (int)v->tier < first_tier ? -EAGAIN : vmem_table_learn(v, &why);
	if (rc == 0)
		rc = vmem_hot_attach(k, v->config.pin_dir, &why);
	if (rc == 0)
		rc = self_test(v, &why);
	if (rc == 0)
		return 0;
	drop_kernel(v);
	return 3;
}

static int use_proc(struct vmem *v, struct err *err)
{
	v->tier = VMEM_TIER_POLL;
	v->jobs = calloc(VMEM_MAX_JOBS, sizeof(*v->jobs));
	if (!v->jobs)
		return err_set(err, -ENOMEM, "out of memory");
	/* Pinned programs of an earlier agent would go on limiting jobs that this agent does not read. */
	return v->config.pin_dir ? vmem_kernel_unpin(v->config.pin_dir, err) : 0;
}

static int choose_tier(struct vmem *v, struct err *err)
{
	static const enum vmem_origin origins[] = { VMEM_ADOPTED, VMEM_FRESH, VMEM_UPGRADED,
						    VMEM_REBUILT };
	int first = v->config.first_tier ? v->config.first_tier : VMEM_TIER_DENY;
	char root[PATH_MAX];
	int found, tier, rc = find_cgroup_root(root, sizeof(root), err);

	if (rc < 0)
		return rc;
	if (first > VMEM_TIER_DENY)
		snprintf(v->reason, sizeof(v->reason), "the configuration asks for tier %d",
			 first);
	found = first < VMEM_TIER_POLL ? try_adopt(v, first) : 1;
	v->origin = origins[found];
	if (found == 0)
		return 0;
	for (tier = first; tier < VMEM_TIER_POLL; tier++)
		if (try_tier(v, tier) == 0)
			return 0;
	return use_proc(v, err);
}

static int copy_text(const char *text, char **ret, struct err *err)
{
	if (!text)
		return 0;
	*ret = strdup(text);
	return *ret ? 0 : err_set(err, -ENOMEM, "out of memory");
}

static int copy_config(struct vmem *v, const struct vmem_config *config, struct err *err)
{
	int rc = copy_text(config->pin_dir, &v->pin_dir, err);

	if (rc == 0)
		rc = copy_text(config->scratch_dir, &v->scratch_dir, err);
	v->config = *config;
	v->config.pin_dir = v->pin_dir;
	v->config.scratch_dir = v->scratch_dir;
	return rc;
}

int vmem_open(const struct vmem_config *config, struct vmem **ret, struct err *err)
{
	_cleanup_(vmem_closep) struct vmem *v = calloc(1, sizeof(*v));
	int rc;

	if (!v)
		return err_set(err, -ENOMEM, "out of memory");
	v->reload = reload_kernel;
	v->epoll_fd = v->kick_fd = v->timer_fd = -1;
	v->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	v->max_processes = config->max_processes ? config->max_processes : MAX_PROCESSES;
	rc = copy_config(v, config, err);
	if (rc == 0)
		rc = choose_tier(v, err);
	if (rc == 0)
		rc = vmem_excess_start(v, err);
	if (rc < 0)
		return rc;
	*ret = TAKE_PTR(v);
	return 0;
}

int vmem_unpin(const char *pin_dir, struct err *err)
{
	return vmem_kernel_unpin(pin_dir, err);
}

const char *vmem_tier_reason(const struct vmem *v)
{
	return v->reason;
}

const char *vmem_hooks(const struct vmem *v)
{
	return v->kernel ? v->kernel->hooks : "none: /proc is read";
}

enum vmem_origin vmem_origin(const struct vmem *v)
{
	return v->origin;
}

bool vmem_is_idle(const struct vmem *v)
{
	return v->kernel && vmem_hot_is_detached(v->kernel);
}
