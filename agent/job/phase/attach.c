/* SPDX-License-Identifier: GPL-2.0-or-later */
/* attach.c - attach a job to the kernel side: its work cgroup, vmem, events, guard, sampler; see phase/attach.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "agent/enforce/manager/cgroup/tree.h"
#include "agent/enforce/manager/slurm.h"
#include "agent/job/gpus/gpus.h"
#include "agent/job/phase/attach.h"
#include "common/log.h"

static int write_at(const char *dir, const char *file, const char *text, struct err *err)
{
	_cleanup_close_ int fd = -1;
	char path[MANAGER_PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		return err_set(err, -errno, "write '%s' to %s: %m", text, path);
	return 0;
}

/* systemd gives a delegated cgroup to the unit's user. The files that move processes, and the cgroups made in it, must
 * belong to root alone. */
static int keep_for_root(const char *cgroup, struct err *err)
{
	_cleanup_closedir_ DIR *d = opendir(cgroup);
	const struct dirent *e;
	struct stat st;

	if (!d || fchown(dirfd(d), 0, 0) < 0)
		return err_set(err, -errno, "keep %s for root: %m", cgroup);
	while ((e = readdir(d)))
		if (e->d_type == DT_REG &&
		    (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		     (st.st_uid &&
		      fchownat(dirfd(d), e->d_name, 0, 0, AT_SYMLINK_NOFOLLOW) < 0)))
			return err_set(err, -errno, "keep %s/%s for root: %m", cgroup,
				       e->d_name);
	return 0;
}

/* The files of a cgroup belong to its maker. In a cgroup that the user made beforehand the user could freeze processes,
 * or make it threaded, so that its processes cannot be killed at once. Once the unit's cgroup belongs to root the user
 * can make no more. */
static int remove_made_before(const char *cgroup, struct err *err)
{
	_cleanup_closedir_ DIR *d = opendir(cgroup);
	char path[MANAGER_PATH_MAX + NAME_MAX + 2];
	const struct dirent *e;
	struct stat st;

	if (!d)
		return err_set(err, -errno, "list %s: %m", cgroup);
	while ((e = readdir(d))) {
		if (e->d_type != DT_DIR || e->d_name[0] == '.' ||
		    fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !st.st_uid)
			continue;
		snprintf(path, sizeof(path), "%s/%s", cgroup, e->d_name);
		tree_remove_below(path);
		if (rmdir(path) < 0 && errno != ENOENT)
			return err_set(
				err, -EPERM,
				"a process of uid %u outside the job has put a cgroup of its "
				"own into the job's (%s): %m",
				st.st_uid, path);
	}
	return 0;
}

/* Libraries that bind threads (hwloc, and with it the MPIs) look for the cores of a program in its own cgroup only,
 * not above: without cpuset files in "work" they would take the whole node. "work" follows the cpuset of the unit.
 * Enable the controller only after the process has moved: a cgroup with processes of its own that enables a
 * controller for its children can have no domain cgroups below it (cgroup-v2.rst, "Threads"). */
static void enable_cpuset_in_work(struct job *j, const char *cgroup)
{
	char text[512];
	struct err err;

	if (manager_read(cgroup, "cgroup.controllers", text, sizeof(text), NULL) < 0 ||
	    !strstr(text, "cpuset"))
		return; /* check_set() notes it */
	if (write_at(cgroup, "cgroup.subtree_control", "+cpuset", &err) < 0)
		job_note(j, "its programs do not see which cores they have: %.150s", err.text);
}

/* If the cgroup manager has started the launcher in "work", it is there already: a move is dear (common/process/clone_into.h). */
static int move_to_work(const char *work, int32_t pid, struct err *err)
{
	char its[MANAGER_PATH_MAX + 16], text[16];

	if (manager_cgroup_of(pid, its, sizeof(its), NULL) == 0 && !strcmp(its, work))
		return 0;
	snprintf(text, sizeof(text), "%" PRId32, pid);
	return write_at(work, "cgroup.procs", text, err);
}

/* Of a cgroup that the agent has made itself nothing was ever a user's. */
static bool is_from_user(const struct job *j)
{
	return j->node->ops != &manager_cgroup;
}

/* Makes "work" below the unit, sees to it that the launcher is in it, opens its cgroup.kill, and notes both cgroup
 * ids. Root takes the unit's cgroup before anything is looked for in it: from then on the user can
 * change nothing there. */
static int enter_work(struct job *j, int32_t pid, struct err *err)
{
	char cgroup[MANAGER_PATH_MAX], work[MANAGER_PATH_MAX + 16];
	char path[MANAGER_PATH_MAX + 32];
	struct stat st;
	int r;

	snprintf(work, sizeof(work), "%s/" JOB_WORK_CGROUP, job_cgroup(j, cgroup));
	r = is_from_user(j) ? keep_for_root(cgroup, err) : 0;
	if (!r && is_from_user(j))
		r = remove_made_before(cgroup, err);
	if (r < 0)
		return r;
	if (mkdir(work, 0755) < 0 && errno != EEXIST)
		return err_set(err, -errno, "make %s: %m", work);
	if (chmod(work, 0755) < 0) /* jobs read their own limits; the umask would forbid that */
		return err_set(err, -errno, "chmod %s: %m", work);
	r = pid ? move_to_work(work, pid, err) : 0;
	if (r < 0)
		return r;
	if (pid)
		enable_cpuset_in_work(j, cgroup);
	snprintf(path, sizeof(path), "%s/cgroup.kill", work);
	if (j->kill_fd < 0)
		j->kill_fd = open(path, O_WRONLY | O_CLOEXEC);
	if (j->kill_fd < 0 || stat(work, &st) < 0)
		return err_set(err, -errno, "open %s: %m", path);
	j->work_id = st.st_ino;
	if (stat(cgroup, &st) < 0)
		return err_set(err, -errno, "%s: %m", cgroup);
	j->s.cgroup_id = st.st_ino;
	return 0;
}

/* A job of Slurm is the whole cgroup that slurmd made for it, with all its steps. */
static int find_slurm_cgroup(struct job *j, struct err *err)
{
	char path[MANAGER_PATH_MAX];
	struct stat st;

	if (stat(job_cgroup(j, path), &st) < 0)
		return err_set(err, -errno, "%s: %m", path);
	j->work_id = j->s.cgroup_id = st.st_ino;
	return 0;
}

/* A job of PBS is its scope, with all tasks in "work": what is moved there is counted from its exec on (vmem.h, part_depth), since
 * pbs_mom's address space is not the job's. */
static int enter_scope(struct job *j, struct err *err)
{
	int r = enter_work(j, 0, err);

	j->work_id = j->s.cgroup_id;
	return r;
}

/* The cgroup that vmem counts: where the user's processes are, or what has them in parts. */
static const char *work_path(const struct job *j, char *buf, size_t size)
{
	char path[MANAGER_PATH_MAX];

	snprintf(buf, size, "%s%s", job_cgroup(j, path),
		 job_is_foreign(j) ? "" : "/" JOB_WORK_CGROUP);
	return buf;
}

/* 1: the kernel has exactly `want` in this file; 0: another list; -ENOENT: no such file. */
static int is_set(const struct job *j, const char *file, const struct cpulist *want,
		  struct err *err)
{
	char text[CPULIST_TEXT_MAX], path[MANAGER_PATH_MAX];
	struct cpulist have;
	int r = manager_read(job_cgroup(j, path), file, text, sizeof(text), err);

	if (r < 0)
		return r;
	r = cpulist_parse(text, &have, err);
	return r < 0 ? r : cpulist_is_equal(&have, want);
}

int job_cpus_in_force(const struct job *j)
{
	int r = is_set(j, "cpuset.cpus.effective", &j->s.cpus, NULL);

	/* No cpuset controller: the manager's status tells that, and there is nothing to wait for. */
	return r == 1 || r == -ENOENT;
}

/* A host without the file goes on with a note; a list that differs is an error, since the job would run on
 * cores of others. */
static int check_set(struct job *j, const char *file, const struct cpulist *want,
		     struct err *err)
{
	char text[CPULIST_TEXT_MAX];
	int r = is_set(j, file, want, err);

	if (r == -ENOENT) {
		job_note(j, "this host cannot hold the job to its cores (no %s)", file);
		return 0;
	}
	if (r == 0)
		return err_set(err, -EIO, "the job's cores are not in force: %s is not %s",
			       file, cpulist_format(want, text, sizeof(text)));
	return r < 0 ? r : 0;
}

/* The kernel rounds memory down to whole pages. */
static int check_number(struct job *j, const char *file, int64_t want, struct err *err)
{
	char text[64], path[MANAGER_PATH_MAX];
	int64_t have;
	int r = manager_read(job_cgroup(j, path), file, text, sizeof(text), err);

	if (r == -ENOENT) {
		job_note(j, "this host does not hold the job to its %s", file);
		return 0;
	}
	if (r < 0)
		return r;
	have = strtoll(text, NULL, 10);
	if (!strcmp(text, "max") || have > want || have < want - 65536)
		return err_set(err, -EIO, "a limit is not in force: %s is %s, not %" PRId64,
			       file, text, want);
	return 0;
}

/* Reads back from the kernel what the manager has set, before the user's program runs. memory.swap.max and
 * memory.oom.group are missing on some kernels, and are checked where they are there. */
static int check_limits(struct job *j, struct err *err)
{
	char text[16], path[MANAGER_PATH_MAX];
	int r = check_set(j, "cpuset.cpus.effective", &j->s.cpus, err);

	job_cgroup(j, path);
	if (!r)
		r = check_set(j, "cpuset.mems.effective", &j->s.mem_nodes, err);
	if (!r)
		r = check_number(j, "memory.max", j->s.mem_max_bytes, err);
	if (!r && manager_read(path, "memory.swap.max", text, sizeof(text), NULL) == 0)
		r = check_number(j, "memory.swap.max", 0, err);
	if (!r && manager_read(path, "memory.oom.group", text, sizeof(text), NULL) == 0 &&
	    strcmp(text, "1"))
		r = err_set(err, -EIO, "memory.oom.group is %s, not 1", text);
	if (!r)
		r = check_number(j, "pids.max", j->s.request.res.pids, err);
	return r;
}

/* Where the kernel refuses an IPC namespace, systemd starts the unit without one. */
static void check_ipc(struct job *j, int32_t pid)
{
	struct stat its, ours;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%" PRId32 "/ns/ipc", pid);
	if (stat(path, &its) == 0 && stat("/proc/self/ns/ipc", &ours) == 0 &&
	    its.st_dev == ours.st_dev && its.st_ino == ours.st_ino)
		job_note(j, "this host gives the job no shared memory (System V) of its own: "
			    "what it leaves stays");
}

static int watch_vmem(struct node *n, struct job *j, struct err *err)
{
	struct vmem_request q = { .job_id = (uint64_t)j->s.job,
				  .cgroup_id = j->work_id,
				  .limit_bytes = (uint64_t)j->s.request.res.vmem_bytes,
				  .max_processes = (uint32_t)j->s.request.res.pids,
				  .action = j->s.request.vmem_policy == VMEM_POLICY_DENY
						    ? VMEM_DENY
						    : VMEM_KILL,
				  .part_depth = job_is_slurms(j) ? SLURM_USER_DEPTH
						: job_is_pbs(j)	 ? 1
								 : 0 };
	char work[MANAGER_PATH_MAX + 16];
	int r;

	work_path(j, work, sizeof(work));
	q.cgroup_fd = open(work, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (q.cgroup_fd < 0)
		return err_set(err, -errno, "open %s: %m", work);
	r = vmem_add(n->vmem, &q, err);
	close(q.cgroup_fd);
	if (r == -EOPNOTSUPP)
		return err_set(err, r,
			       "vmem-action enomem needs a kernel that can refuse (tier 1); "
			       "this node has tier %d",
			       vmem_tier(n->vmem));
	return r < 0 ? r : 0;
}

static int attach_work(struct node *n, struct job *j, struct err *err)
{
	char cgroup[MANAGER_PATH_MAX], work[MANAGER_PATH_MAX + 16];
	_cleanup_close_ int fd = -1;

	snprintf(work, sizeof(work), "%s/" JOB_WORK_CGROUP, job_cgroup(j, cgroup));
	fd = open(work, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_set(err, -errno, "open %s: %m", work);
	return vmem_set_parts(n->vmem, j->work_id, &fd, 1, err);
}

static int attach_slurm_steps(struct node *n, struct job *j, struct err *err)
{
	int fds[JOB_STEPS_MAX], r, count;
	char path[MANAGER_PATH_MAX];

	count = slurm_open_steps(job_cgroup(j, path), fds, JOB_STEPS_MAX);
	if (count < 0)
		return err_set(
			err, count,
			"the job has %d steps on this node at once, and more cannot be guarded: start fewer, or use "
			"srun for several tasks",
			JOB_STEPS_MAX);
	r = vmem_set_parts(n->vmem, j->work_id, fds, (size_t)count, err);
	for (int i = 0; i < count; i++)
		close(fds[i]);
	return r;
}

int job_attach_steps(struct node *n, struct job *j, struct err *err)
{
	return job_is_slurms(j) ? attach_slurm_steps(n, j, err) : attach_work(n, j, err);
}

/* -EEXIST is fine everywhere: after a restart of the agent the pinned maps have the job already. */
static int watch_rest(struct node *n, struct job *j, struct err *err)
{
	char path[MANAGER_PATH_MAX];
	struct events_job ev = { .job = j->s.job,
				 .cgroup_id = j->s.cgroup_id,
				 .path = job_cgroup(j, path),
				 .by_steps = job_is_slurms(j),
				 .frozen_ns = j->clock.frozen_ns,
				 .since_ns = j->clock.since_ns };
	struct guard_job gj = { .job = j->s.job,
				.cgroup_id = j->s.cgroup_id,
				.projid = n->jobfs && jobfs_is_unlimited(n->jobfs)
						  ? 0
						  : j->s.jobfs.projid,
				.action = GUARD_KILL };
	struct err why;
	struct sample_job sj = { j->s.job, j->s.cgroup_id, path };
	int r;

	if (n->jobfs)
		gj.dev = (dev_t)jobfs_device(n->jobfs);
	r = events_add(n->events, &ev, err);
	if (r < 0 && r != -EEXIST)
		return err_prefix(err, r, "events");
	r = guard_add(n->guard, &gj, err);
	if (r < 0 && r != -EEXIST)
		return err_prefix(err, r, "guard");
	r = job_gpus_watch(n, j, err);
	if (r < 0)
		return r;
	r = sample_add(n->sampler, &sj, err);
	if (r < 0 && r != -EEXIST)
		return err_prefix(err, r, "sampling");
	if (n->prof && !job_is_foreign(j) && prof_add(n->prof, j->work_id, &why) < 0)
		job_note(j, "%s", why.text);
	return 0;
}

int job_attach(struct node *n, struct job *j, int32_t pid, struct err *err)
{
	char path[MANAGER_PATH_MAX];
	int r;

	free(j->s.cgroup);
	j->s.cgroup = strdup(job_cgroup(j, path) + strlen(manager_mount()));
	if (!j->s.cgroup)
		r = err_set(err, -ENOMEM, "out of memory");
	else
		r = job_is_slurms(j) ? find_slurm_cgroup(j, err)
		    : job_is_pbs(j)  ? enter_scope(j, err)
				     : enter_work(j, pid, err);
	/* systemd has no property for it, and clears it when it makes the unit's cgroup. */
	if (!r && pid)
		r = manager_kill_as_one(path, err);
	if (!r && pid)
		r = check_limits(j, err);
	if (!r && pid)
		check_ipc(j, pid);
	if (!r)
		r = watch_vmem(n, j, err);
	if (!r && job_is_foreign(j))
		r = job_attach_steps(n, j, err);
	if (!r)
		r = watch_rest(n, j, err);
	j->is_attached = true; /* job_detach() also removes a part */
	return r;
}

void job_attach_remains(struct node *n, struct job *j)
{
	_cleanup_free_ struct vmem_job_info *list = NULL;
	size_t count = 0, have;

	vmem_jobs(n->vmem, NULL, 0, &count);
	list = calloc(count + 1, sizeof(*list));
	if (j->is_attached || !list)
		return;
	vmem_jobs(n->vmem, list, count, &have);
	for (size_t i = 0; i < count && !j->is_attached; i++)
		if (list[i].job_id == (uint64_t)j->s.job) {
			j->work_id = list[i].cgroup_id;
			j->is_attached = true;
		}
}

/* Removes whatever part of the job is attached; safe to repeat. The latched excess is gone after this, so that
 * limit_read_latches() must have read it. */
void job_detach(struct node *n, struct job *j)
{
	if (!j->is_attached)
		return;
	vmem_remove(n->vmem, j->work_id, NULL);
	guard_remove(n->guard, j->s.cgroup_id);
	job_gpus_unwatch(n, j);
	sample_remove(n->sampler, j->s.cgroup_id);
	events_remove(n->events, j->s.cgroup_id);
	if (n->prof && !job_is_foreign(j))
		prof_remove(n->prof, j->work_id);
	if (j->kill_fd >= 0)
		close(j->kill_fd);
	j->kill_fd = -1;
	j->is_attached = false;
}

/* The kernel side keeps the frozen time, also while no agent runs. Where it has none of a job of Slurm, slurm_jobs_tick() keeps the clock; PBS
 * sends SIGSTOP, and its hook tells when (pbs_jobs_suspend()). */
void job_sync_clock(struct node *n, struct job *j)
{
	struct events_freeze f;
	struct err err;

	if (!j->is_attached || job_is_pbs(j) ||
	    events_frozen(n->events, j->s.cgroup_id, &f, &err) < 0)
		return;
	j->is_frozen = f.frozen;
	clock_sync(&j->clock,
		   (struct clock_account){ f.frozen, (int64_t)f.since_ns, (int64_t)f.total_ns },
		   node_now_ns());
}
