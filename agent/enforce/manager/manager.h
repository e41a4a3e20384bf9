/* SPDX-License-Identifier: GPL-2.0-or-later */
/* manager.h - the processes of jobs are managed by systemd or, on hosts without it, by the agent
 * through libcgroup. One table of operations, two implementations, one conformance test.
 *
 * A job attempt is one cgroup below a common parent, and in it first the launcher
 * (agent/launch), then the user's program. At the end, however it comes, the manager has the
 * final record written (agent/enforce/final.h). All this goes on while the agent is away.
 *
 * Orders are idempotent: starting what exists, thawing what is not frozen, killing what is gone
 * are all successes, so that a restarted agent may repeat them.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>
#include "agent/admit/cpulist.h"
#include "common/err.h"

struct manager;
struct views_view;

#define MANAGER_PATH_MAX 512
#define MANAGER_HIDDEN_MAX 2

struct manager_id {
	int64_t job;
	int32_t attempt;
};

struct manager_spec {
	struct manager_id id;
	uint32_t uid, gid;
	struct cpulist cpus, mem_nodes;
	int64_t mem_bytes, pids;
	int64_t shm_bytes;	    /* size of the job's own /dev/shm */
	const char *jobfs_dir;	    /* tmp/ and vartmp/ in it go over /tmp and /var/tmp */
	const char *const *devices; /* files it may open beside the ordinary ones, where the
				       manager restricts that; NULL-terminated; NULL: none */
	/* > 0: the unit is made around this process of another program, without a launcher, a sandbox or limits. */
	int32_t pid;
	int64_t grace_s; /* for processes that the main one leaves behind: TERM, then KILL */
};

enum manager_order {
	MANAGER_START,
	MANAGER_SET_CPUS,
	MANAGER_FREEZE,
	MANAGER_THAW,
	MANAGER_SPAWN,
};

struct manager_config {
	sd_event *event;
	sd_bus *bus;	      /* systemd: the system bus, attached to the event loop */
	const char *launcher; /* path of reeve-launch */
	const char *socket;   /* where the launcher finds the agent */
	const char *final_dir;
	const char *parent;   /* systemd: slice; cgroup: directory below the cgroup mount */
	const char *spec_dir; /* cgroup: where supervisors read their job's spec */
	/* The agent's directories that are hidden from jobs, none below another; NULL: no more. A
	 * job's own jobfs directory in one of them is bound there again, under the same path. */
	const char *hidden[MANAGER_HIDDEN_MAX];
	void *ctx;
	/* An order was carried out (result 0) or failed (-errno, err in words). Never called from
	 * inside the call that gave the order. */
	void (*on_done)(void *ctx, struct manager_id id, enum manager_order order, int result,
			const struct err *err);
	/* Is the order still to be carried out? Asked before it is sent once more, to a systemd that was away; NULL: yes. */
	bool (*is_due)(void *ctx, struct manager_id id, enum manager_order order);
	/* The job's unit is gone; its final record is written, if there will ever be one. */
	void (*on_gone)(void *ctx, struct manager_id id);
};

typedef void (*manager_each_fn)(void *ctx, struct manager_id id);

struct manager_ops {
	const char *name; /* "systemd", "cgroup" */
	/* The program that starts this node's jobs and owns their cores, memory and processes: "Slurm"; NULL: the agent. */
	const char *foreign;
	int (*open)(const struct manager_config *c, struct manager **ret, struct err *err);
	/* Frees the manager; jobs stay as they are. Returns NULL. */
	struct manager *(*close)(struct manager *m);

	/* These four are answered later by on_done(). */
	int (*start)(struct manager *m, const struct manager_spec *spec, struct err *err);
	int (*set_cpus)(struct manager *m, struct manager_id id, const struct cpulist *cpus,
			const struct cpulist *nodes, struct err *err);
	int (*freeze)(struct manager *m, struct manager_id id, struct err *err);
	int (*thaw)(struct manager *m, struct manager_id id, struct err *err);

	/* Have `argv` (NULL-terminated, absolute path first) run as root outside every job, without
	 * a sandbox, so that it outlives the agent. `name`, of letters, digits and '-',
	 * is its own; while it runs, spawning it again succeeds. `id`: the job that it is for. */
	int (*spawn)(struct manager *m, struct manager_id id, const char *name,
		     const char *const *argv, struct err *err);

	/* At once, to the job's processes; not to those that end the unit itself. */
	int (*signal)(struct manager *m, struct manager_id id, int sig, struct err *err);
	/* After the end: removes what the manager itself still keeps of the job. */
	int (*forget)(struct manager *m, struct manager_id id, struct err *err);
	/* Bound all jobs together. An empty set of cpus, 0 bytes: no bound. */
	int (*bound)(struct manager *m, const struct cpulist *cpus, int64_t mem_bytes,
		     struct err *err);
	/* Absolute path of the parent cgroup of all jobs. */
	const char *(*parent)(const struct manager *m);
	/* What this host cannot enforce, a line each; "". */
	const char *(*status)(const struct manager *m);
};

extern const struct manager_ops manager_systemd, manager_cgroup, manager_slurm, manager_pbs;

/* What both have in common: names and the cgroup's own files. */

/* "reeve-job-12-1.service": name of the unit and of the cgroup. */
#define MANAGER_NAME_MAX 64
const char *manager_name(struct manager_id id, char buf[static MANAGER_NAME_MAX]);
int manager_parse_name(const char *name, struct manager_id *ret); /* -EINVAL */
/* Is this the scope in which slurmd puts its jobs? Their cgroups are named job_12 there, without an attempt. */
bool manager_is_slurm(const char *parent);
/* Is this the slice of the jobs of PBS? Each is a scope there, since PBS has made its processes. */
bool manager_is_pbs(const char *parent);
/* "reeve-job-12-1.scope": a unit around processes that the agent has not started. */
const char *manager_scope_name(struct manager_id id, char buf[static MANAGER_NAME_MAX]);
/* Absolute path of the cgroup that process `pid` is in. -ESRCH: it is gone. */
int manager_cgroup_of(int32_t pid, char *buf, size_t size, struct err *err);
/* Absolute path of the job's cgroup below `parent`. */
const char *manager_path(const char *parent, struct manager_id id,
			 char buf[static MANAGER_PATH_MAX]);
/* The mount and IPC namespaces of process `pid`, which a manager has started in a job. -EPERM: the mount namespace is the node's, or one is a user's; the IPC
 * namespace may be the node's, if the kernel refuses another. */
int manager_open_view(int32_t pid, struct views_view *ret, struct err *err);
/* Is `path` `dir`, or below it, by their names? */
bool manager_is_below(const char *path, const char *dir);
/* Is the job's jobfs directory below one of the hidden ones, and so to be bound there again? */
bool manager_is_hidden(const struct manager_config *c, const struct manager_spec *s);
/* The job that process `pid` belongs to, by its cgroup. -ESRCH: the process is gone; -ENOENT: it
 * is no job's. `parent` as ops->parent() returns it. Below slurmd's scope the attempt is 0. */
int manager_find(const char *parent, int32_t pid, struct manager_id *ret, struct err *err);
/* Every job cgroup that exists. */
int manager_list(const char *parent, manager_each_fn each, void *ctx, struct err *err);
/* One value of a file of the cgroup, without the newline. */
int manager_read(const char *path, const char *file, char *buf, size_t size, struct err *err);
/* Bytes of shared memory that are charged to the cgroup, to those below it, and to those that were there. 0: not known. */
int64_t manager_shared_memory(const char *path);
/* The OOM killer takes all processes of this cgroup at once (memory.oom.group). 0 also where the kernel has no such file. */
int manager_kill_as_one(const char *path, struct err *err);
/* Signal the processes of the job: its own and the user's in "work" below, not those by which
 * systemd ends the unit. A process id that was taken by another process meanwhile is never
 * signalled. Jobs that are gone are fine. */
void manager_signal(const char *parent, struct manager_id id, int sig);
/* Kill every process of the cgroup `path`, whose cgroup.kill is open as `kill_fd`. That file
 * alone is not enough: the kernel sends its SIGKILL to the main thread, and a process whose main
 * thread has exited never receives it; those are killed one by one. -errno of the write. */
int manager_kill_all(const char *path, int kill_fd);
/* Is there any process in it? 1 yes, 0 no or no such cgroup. */
int manager_is_populated(const char *path);
/* Does nothing run there, because its processes were stopped (SIGSTOP)? One that waits in the kernel (state D) counts as
 * stopped beside others that are. 1 yes, also where there is no process; 0 no. */
int manager_is_stopped(const char *path);
/* /sys/fs/cgroup, or where the v2 hierarchy is mounted beside v1. */
const char *manager_mount(void);
