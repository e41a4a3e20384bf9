/* SPDX-License-Identifier: GPL-2.0-or-later */
/* slurm.c - the manager of a node where slurmd owns the jobs: it finds and kills; starting, cores, freezing are Slurm's. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>
#include "agent/enforce/manager/slurm.h"
#include "common/cleanup.h"

struct manager {
	char scope[MANAGER_PATH_MAX];
};

/* ---- the steps of a job ---- */

static int open_user_cgroup(int job_fd, const char *step)
{
	char name[NAME_MAX + 8];

	snprintf(name, sizeof(name), "%s/user", step);
	return openat(job_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

/* Calls fn with the "user" cgroup of each step, and closes it unless fn takes it. Ends at the first result < 0, and returns it. */
typedef int (*step_fn)(void *ctx, const char *step, int *user_fd);
static int each_step(const char *job_path, step_fn fn, void *ctx)
{
	_cleanup_closedir_ DIR *d = opendir(job_path);
	const struct dirent *e;
	int r = 0;

	while (d && r >= 0 && (e = readdir(d))) {
		_cleanup_close_ int fd = strncmp(e->d_name, "step_", 5)
						 ? -1
						 : open_user_cgroup(dirfd(d), e->d_name);

		r = fd < 0 ? 0 : fn(ctx, e->d_name, &fd);
	}
	return r;
}

struct step_fds {
	int *fds;
	int n, max;
};

static int take_step(void *ctx, const char *step, int *user_fd)
{
	struct step_fds *to = ctx;

	(void)step;
	if (to->n == to->max)
		return -E2BIG;
	to->fds[to->n++] = TAKE_FD(*user_fd);
	return 0;
}

int slurm_open_steps(const char *job_path, int *ret_fds, int max)
{
	struct step_fds to = { .fds = ret_fds, .max = max };
	int r = each_step(job_path, take_step, &to);

	while (r < 0 && to.n > 0)
		close(to.fds[--to.n]);
	return r < 0 ? r : to.n;
}

/* cgroup.kill takes all cgroups below with it. A failure is kept for the end: the other steps are killed all the same. */
static int kill_step(void *ctx, const char *step, int *user_fd)
{
	_cleanup_close_ int file = openat(*user_fd, "cgroup.kill", O_WRONLY | O_CLOEXEC);
	int *first_error = ctx;

	(void)step;
	/* ENOENT, ENODEV: the step ended meanwhile. */
	if ((file < 0 || write(file, "1", 1) < 0) && errno != ENOENT && errno != ENODEV &&
	    !*first_error)
		*first_error = -errno;
	return 0;
}

int slurm_kill_steps(const char *job_path)
{
	int first_error = 0;

	each_step(job_path, kill_step, &first_error);
	return first_error;
}

static int count_frozen(void *ctx, const char *step, int *user_fd)
{
	_cleanup_close_ int file = openat(*user_fd, "cgroup.events", O_RDONLY | O_CLOEXEC);
	uint32_t *count = ctx;
	char text[128];
	ssize_t n = file < 0 ? -1 : read(file, text, sizeof(text) - 1);

	(void)step;
	text[n > 0 ? n : 0] = '\0';
	*count += strstr(text, "frozen 1") != NULL;
	return 0;
}

uint32_t slurm_count_frozen(const char *job_path)
{
	uint32_t count = 0;

	each_step(job_path, count_frozen, &count);
	return count;
}

/* ---- the manager ---- */

/* slurmd makes "slurmstepd.scope", or "NODE_slurmstepd.scope" where its build allows several on a host. Without one as yet the usual name
 * stands; the first step shows the true one. */
static void guess_scope(char *buf, size_t size)
{
	char pattern[MANAGER_PATH_MAX];
	glob_t found = { 0 };

	snprintf(pattern, sizeof(pattern), "%s/system.slice/*slurmstepd.scope",
		 manager_mount());
	if (glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc > 0)
		snprintf(buf, size, "%s", found.gl_pathv[0]);
	else
		snprintf(buf, size, "%s/system.slice/slurmstepd.scope", manager_mount());
	globfree(&found);
}

static int open_slurm(const struct manager_config *c, struct manager **ret, struct err *err)
{
	struct manager *m = calloc(1, sizeof(*m));

	(void)c;
	if (!m)
		return err_set(err, -ENOMEM, "out of memory");
	guess_scope(m->scope, sizeof(m->scope));
	*ret = m;
	return 0;
}

void slurm_set_scope(struct manager *m, const char *path)
{
	snprintf(m->scope, sizeof(m->scope), "%s", path);
}

static struct manager *close_slurm(struct manager *m)
{
	free(m);
	return NULL;
}

static int refuse_start(struct manager *m, const struct manager_spec *spec, struct err *err)
{
	(void)m, (void)spec;
	return err_set(err, -EOPNOTSUPP, "jobs of this node are started by Slurm");
}

static int refuse_cpus(struct manager *m, struct manager_id id, const struct cpulist *cpus,
		       const struct cpulist *nodes, struct err *err)
{
	(void)m, (void)id, (void)cpus, (void)nodes;
	return err_set(err, -EOPNOTSUPP, "cores of this node are given by Slurm");
}

static int refuse_freeze_or_thaw(struct manager *m, struct manager_id id, struct err *err)
{
	(void)m, (void)id;
	return err_set(err, -EOPNOTSUPP,
		       "jobs of this node are suspended and resumed by Slurm");
}

static int refuse_spawn(struct manager *m, struct manager_id id, const char *name,
			const char *const *argv, struct err *err)
{
	(void)m, (void)id, (void)name, (void)argv;
	return err_set(err, -EOPNOTSUPP,
		       "steps of this node's jobs are started by Slurm (srun)");
}

/* Only killing is the agent's; a gentler end is slurmd's (scancel). */
static int send_signal(struct manager *m, struct manager_id id, int sig, struct err *err)
{
	char path[MANAGER_PATH_MAX];
	int r;

	if (sig != SIGKILL)
		return err_set(err, -EOPNOTSUPP,
			       "signal %d is Slurm's to send: scancel --signal", sig);
	r = slurm_kill_steps(manager_path(m->scope, id, path));
	return r < 0 ? err_set(err, r, "kill the steps in %s: %s", path, strerror(-r)) : 0;
}

static int forget_nothing(struct manager *m, struct manager_id id, struct err *err)
{
	(void)m, (void)id, (void)err;
	return 0;
}

static int bound_nothing(struct manager *m, const struct cpulist *cpus, int64_t mem_bytes,
			 struct err *err)
{
	(void)m, (void)cpus, (void)mem_bytes, (void)err;
	return 0; /* Slurm's own: CoreSpecCount, MemSpecLimit */
}

static const char *get_parent(const struct manager *m)
{
	return m->scope;
}

static const char *get_status(const struct manager *m)
{
	struct statfs s;

	(void)m;
	if (statfs("/sys/fs/cgroup", &s) == 0 && s.f_type != CGROUP2_SUPER_MAGIC)
		return "this host has cgroup v1, where no job of Slurm can be held: each task is refused; boot with "
		       "systemd.unified_cgroup_hierarchy=1 and set CgroupPlugin=cgroup/v2 in cgroup.conf";
	return "Slurm owns cores, memory, suspension and signals of jobs; the agent holds vmem and jobfs";
}

const struct manager_ops manager_slurm = {
	.name = "slurm",
	.foreign = "Slurm",
	.open = open_slurm,
	.close = close_slurm,
	.start = refuse_start,
	.set_cpus = refuse_cpus,
	.freeze = refuse_freeze_or_thaw,
	.thaw = refuse_freeze_or_thaw,
	.spawn = refuse_spawn,
	.signal = send_signal,
	.forget = forget_nothing,
	.bound = bound_nothing,
	.parent = get_parent,
	.status = get_status,
};
