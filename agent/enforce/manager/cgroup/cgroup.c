/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cgroup.c - runs jobs on hosts whose PID 1 is not systemd; see manager.h.
 *
 *	PARENT/jobs/reeve-job-N-A.service	a job; bounded together at PARENT/jobs
 *	PARENT/supervisors			a supervisor for each, which outlives the agent
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "agent/enforce/manager/cgroup/open.h"
#include "agent/enforce/manager/cgroup/supervisor.h"

static int set_number(struct manager *m, const char *path, const char *file, int64_t value,
		      struct err *err)
{
	char text[24];

	/* Missing where the host has no such controller; the manager's status lists that. */
	if (!tree_has(path, file))
		return 0;
	snprintf(text, sizeof(text), "%" PRId64, value);
	return tree_set(&m->tree, path, file, text, err);
}

/* `nodes` NULL: the memory nodes stay as they are. */
static int set_cores(struct manager *m, const char *path, const struct cpulist *cpus,
		     const struct cpulist *nodes, struct err *err)
{
	char text[CPULIST_TEXT_MAX];
	int r = 0;

	if (!tree_has(path, "cpuset.cpus"))
		return 0;
	if (nodes)
		r = tree_set(&m->tree, path, "cpuset.mems",
			     cpulist_format(nodes, text, sizeof(text)), err);
	if (r < 0)
		return r;
	return tree_set(&m->tree, path, "cpuset.cpus", cpulist_format(cpus, text, sizeof(text)),
			err);
}

static int set_limits(struct manager *m, const char *path, const struct manager_spec *s,
		      struct err *err)
{
	int r = set_cores(m, path, &s->cpus, &s->mem_nodes, err);

	if (!r)
		r = set_number(m, path, "memory.max", s->mem_bytes, err);
	if (!r)
		r = set_number(m, path, "memory.swap.max", 0, err);
	if (!r)
		r = set_number(m, path, "memory.oom.group", 1, err);
	return r ? r : set_number(m, path, "pids.max", s->pids, err);
}

/* The spec is written before the supervisor starts, and the wait for the job's begin is set up
 * before, so that it is not missed. After an error nothing is followed; the caller removes the
 * spec. */
static int start_supervisor(struct manager *m, const struct manager_spec *s, const char *path,
			    struct err *err)
{
	struct supervisor_spec spec = { s, &m->c, path, &m->groups };
	char file[MANAGER_PATH_MAX];
	const char *argv[] = { m->c.launcher, "--supervise", file, NULL };
	struct unit *u;
	int r;

	r = supervisor_write_spec(unit_spec_path(m, s->id, file), &spec, err);
	if (!r)
		r = unit_new(m, s->id, &u, err);
	if (r < 0)
		return r;
	r = unit_await_begin(u, err);
	if (!r)
		r = supervisor_spawn(argv, m->supervisors, err);
	if (r >= 0)
		r = unit_follow(u, r);
	if (r < 0)
		unit_drop(u);
	return r < 0 ? r : 0;
}

/* The launcher begins in "work", where the user's processes will be (JOB_WORK_CGROUP): to move it there would wait for
 * the kernel's lock on all forks and exits. No user can reach the job's cgroup here. */
static int make_work(const char *path, struct err *err)
{
	char work[MANAGER_PATH_MAX + 16];

	snprintf(work, sizeof(work), "%s/work", path);
	return mkdir(work, 0755) < 0 && errno != EEXIST
		       ? err_set(err, -errno, "make %s: %m", work)
		       : 0;
}

/* Repeated after a restart of the agent: a unit that is followed, or has ended, is not started again. The limits
 * are set before the supervisor starts, so that no process runs without them. */
static int start_job(struct manager *m, const struct manager_spec *s, struct err *err)
{
	char path[MANAGER_PATH_MAX], file[MANAGER_PATH_MAX];
	struct unit *u = unit_find(m, s->id);
	int r;

	if (u)
		return unit_await_begin(u, err);
	/* The job has ended already: the agent will find its record. */
	if (unit_has_record(m, s->id))
		return unit_answer_later(
			m, (struct unit_answer){ .id = s->id, .order = MANAGER_START }, err);
	r = tree_make(&m->tree, manager_path(m->parent, s->id, path), err);
	if (!r)
		r = set_limits(m, path, s, err);
	if (!r)
		r = make_work(path, err);
	if (!r)
		r = start_supervisor(m, s, path, err);
	if (r < 0) {
		supervisor_discard(unit_spec_path(m, s->id, file));
		tree_remove(&m->tree, path, NULL);
	}
	return r;
}

static int set_cpus(struct manager *m, struct manager_id id, const struct cpulist *cpus,
		    const struct cpulist *nodes, struct err *err)
{
	struct unit *u = unit_find(m, id);
	struct unit_answer d = { .id = id, .order = MANAGER_SET_CPUS };

	if (!u)
		return unit_answer_gone(m, id, MANAGER_SET_CPUS, err);
	d.result = set_cores(m, u->path, cpus, nodes, &d.err);
	return unit_answer_later(m, d, err);
}

/* The kernel freezes in the background; unit_await() answers when cgroup.events shows it. */
static int set_frozen(struct manager *m, struct manager_id id, enum manager_order order,
		      struct err *err)
{
	struct unit *u = unit_find(m, id);
	int r;

	if (!u)
		return unit_answer_gone(m, id, order, err);
	r = tree_write(u->path, "cgroup.freeze", order == MANAGER_FREEZE ? "1" : "0", err);
	if (r == -ENOENT || r == -ENODEV)
		return unit_answer_gone(m, id, order, err);
	return r < 0 ? r : unit_await(u, order, err);
}

static int freeze_job(struct manager *m, struct manager_id id, struct err *err)
{
	return set_frozen(m, id, MANAGER_FREEZE, err);
}

static int thaw_job(struct manager *m, struct manager_id id, struct err *err)
{
	return set_frozen(m, id, MANAGER_THAW, err);
}

static int on_helper_end(sd_event_source *s, int fd, uint32_t revents, void *unused)
{
	siginfo_t info;

	(void)revents, (void)unused;
	waitid(P_PIDFD, (id_t)fd, &info, WEXITED | WNOHANG);
	return sd_event_source_set_floating(s, 0); /* drops the last reference */
}

/* Reaped when it ends, or by PID 1 if the agent has ended before. The floating source belongs to
 * the event loop. */
static int spawn_helper(struct manager *m, struct manager_id id, const char *name,
			const char *const *argv, struct err *err)
{
	sd_event_source *over = NULL;
	int fd = supervisor_spawn(argv, m->supervisors, err), r;

	(void)id, (void)name;
	if (fd < 0)
		return fd;
	r = sd_event_add_io(m->c.event, &over, fd, EPOLLIN, on_helper_end, NULL);
	if (r < 0) {
		close(fd);
		return err_set(err, r, "follow %s: %s", argv[0], strerror(-r));
	}
	sd_event_source_set_io_fd_own(over, 1);
	sd_event_source_set_floating(over, 1);
	sd_event_source_unref(over);
	return 0;
}

/* All processes at once, also those that fork meanwhile; but not the writer of the final record
 * of a job that has ended. */
static int kill_job(struct manager *m, struct manager_id id, struct err *err)
{
	struct unit *u = unit_find(m, id);
	char path[MANAGER_PATH_MAX];
	int r;

	if (u && u->stage == UNIT_RECORDING)
		return 0;
	manager_path(m->parent, id, path);
	if (!tree_has(path, "cgroup.kill")) {
		manager_signal(m->parent, id, SIGKILL);
		return 0;
	}
	r = tree_write(path, "cgroup.kill", "1", err);
	return r == -ENOENT || r == -ENODEV ? 0 : r;
}

static int signal_job(struct manager *m, struct manager_id id, int sig, struct err *err)
{
	if (sig == SIGKILL)
		return kill_job(m, id, err);
	manager_signal(m->parent, id, sig);
	return 0;
}

/* A unit that is followed is dropped when it ends. */
static int forget_job(struct manager *m, struct manager_id id, struct err *err)
{
	char path[MANAGER_PATH_MAX], file[MANAGER_PATH_MAX];
	int r;

	if (unit_find(m, id))
		return 0;
	r = tree_remove(&m->tree, manager_path(m->parent, id, path), err);
	if (r > 0)
		return err_set(err, -EBUSY, "processes are left in %s", path);
	if (!r && supervisor_discard(unit_spec_path(m, id, file)))
		return err_set(err, -EBUSY, "the supervisor of %s is not done yet", file);
	return r;
}

static int bound_jobs(struct manager *m, const struct cpulist *cpus, int64_t mem_bytes,
		      struct err *err)
{
	int r = set_cores(m, m->parent, cpus, NULL, err);

	if (r < 0 || !tree_has(m->parent, "memory.max"))
		return r;
	if (mem_bytes <= 0)
		return tree_write(m->parent, "memory.max", "max", err);
	return set_number(m, m->parent, "memory.max", mem_bytes, err);
}

static const char *get_parent(const struct manager *m)
{
	return m->parent;
}

static const char *get_status(const struct manager *m)
{
	return m->status;
}

const struct manager_ops manager_cgroup = {
	.name = "cgroup",
	.open = manager_cgroup_open,
	.close = manager_cgroup_close,
	.start = start_job,
	.set_cpus = set_cpus,
	.freeze = freeze_job,
	.thaw = thaw_job,
	.spawn = spawn_helper,
	.signal = signal_job,
	.forget = forget_job,
	.bound = bound_jobs,
	.parent = get_parent,
	.status = get_status,
};
