/* SPDX-License-Identifier: GPL-2.0-or-later */
/* node_open.c - open all that struct node has, in the order of dependence; see agent/node_open.h. */
#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <systemd/sd-daemon.h>
#include "agent/admit/pids.h"
#include "agent/node_open.h"
#include "agent/job/job.h"
#include "agent/job/due.h"
#include "agent/job/phases.h"
#include "agent/job/gpus/gpus.h"
#include "agent/job/phase/limit.h"
#include "agent/job/phase/suspend.h"
#include "agent/job/save.h"
#include "agent/job/signed.h"
#include "agent/slurm/ended.h"
#include "agent/step/steps.h"
#include "agent/state_dir.h"
#include "common/views/views.h"

/* Makes a note of each line of a module's status text. */
static void note_lines(struct node *n, const char *room, const char *lines)
{
	_cleanup_free_ char *copy = strdup(lines ? lines : "");
	char *line, *rest = copy;

	while (copy && (line = strsep(&rest, "\n")))
		if (*line)
			node_note(n, "%s: %s", room, line);
}

/* chmod, since mkdir applies the umask and the directory may be an older one. */
static int make_dir(const char *path, mode_t mode, struct err *err)
{
	if (mkdir(path, mode) < 0 && errno != EEXIST)
		return err_set(err, -errno, "make directory %s: %m", path);
	return chmod(path, mode) < 0 ? err_set(err, -errno, "chmod %s: %m", path) : 0;
}

static int open_dirs(struct node *n, struct err *err)
{
	const char *run = n->conf->run_dir;
	int r = make_dir(run, 0755, err);

	snprintf(n->socket, sizeof(n->socket), "%s/launch.sock", run);
	snprintf(n->final_dir, sizeof(n->final_dir), "%s/final", run);
	snprintf(n->spec_dir, sizeof(n->spec_dir), "%s/spec", run);
	snprintf(n->views, sizeof(n->views), "%s/" VIEWS_SOCKET, run);
	if (!r)
		r = make_dir(n->final_dir, 0700, err);
	if (!r)
		r = make_dir(n->spec_dir, 0700, err);
	if (!r)
		r = state_dir_open(n, err);
	return r;
}

static int read_boot(struct node *n, struct err *err)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (!f || !fgets(n->boot, sizeof(n->boot), f))
		return err_set(err, -EIO, "read the boot id: %m");
	n->boot[strcspn(n->boot, "\n")] = '\0';
	return 0;
}

static int open_store(struct node *n, struct err *err)
{
	char path[600];
	int64_t number;
	int r;

	snprintf(path, sizeof(path), "%s/agent.db", n->conf->state_dir);
	r = store_open(path, &n->db, err);
	if (r < 0)
		return r;
	if (r == STORE_SET_ASIDE)
		node_note(n, "%s", err->text);
	r = spool_open(n->db, n->conf->spool_max_bytes, &n->spool, err);
	if (r < 0)
		return r;
	/* On a full disk the node must still start, to end the jobs that run here. */
	if (state_boot(n->db, n->boot, &number, err) < 0)
		node_note(n, "the boot could not be counted: %s", err->text);
	return 0;
}

static int64_t count_pids(const struct agent_config *c, int64_t mem_bytes)
{
	struct pids_node of = { .configured = c->max_processes,
				.mem_bytes = mem_bytes,
				.job_max = c->pids_max };
	_cleanup_fclose_ FILE *f = fopen("/proc/sys/kernel/pid_max", "re");

	if (f && fscanf(f, "%" SCNd64, &of.kernel_max) != 1)
		of.kernel_max = 0;
	return pids_of_node(&of);
}

static int open_topology(struct node *n, struct err *err)
{
	struct topology_config c = { .reserved_cores = n->conf->reserved_cores };
	struct topology_counts counts;
	struct sysinfo info;
	int r;

	n->topology = calloc(1, sizeof(*n->topology));
	if (!n->topology)
		return err_set(err, -ENOMEM, "out of memory");
	r = topology_load(&c, n->topology, &counts, err);
	if (r < 0)
		return r;
	topology_format(&counts, n->topology_text, sizeof(n->topology_text));
	place_all_cpus(n->topology, &n->cpus);
	sysinfo(&info);
	n->capacity.ncpus = n->topology->n_cores;
	n->capacity.pids = count_pids(n->conf, (int64_t)info.totalram * info.mem_unit);
	n->capacity.mem_bytes =
		(int64_t)info.totalram * info.mem_unit - n->conf->reserved_memory_bytes;
	if (n->capacity.mem_bytes <= 0)
		return err_set(err, -EINVAL, "ReservedMemory= leaves nothing for jobs");
	return 0;
}

/* A node without a disk for jobs still runs those that request no jobfs: a failure is a note. */
static int open_jobfs(struct node *n, struct err *err)
{
	struct jobfs_config c = { .dir = n->conf->jobfs_dir,
				  .reserve_bytes = n->conf->jobfs_reserve_bytes,
				  .image = n->conf->jobfs_image,
				  .image_bytes = n->conf->jobfs_image_bytes,
				  .is_unlimited = n->conf->jobfs == CONFIG_JOBFS_NONE };
	int r = jobfs_open(&c, &n->jobfs, &n->jobfs_why);

	if (r < 0) {
		node_note(n, "jobfs: %s", n->jobfs_why.text);
		return 0;
	}
	if (jobfs_is_unlimited(n->jobfs))
		node_note(n, "jobfs: %s (Jobfs = none)", jobfs_describe(n->jobfs));
	return jobfs_capacity(n->jobfs, &n->capacity.jobfs_bytes, err);
}

/* Units of systemd are made over the bus. */
static bool has_units(const struct node *n)
{
	return n->ops == &manager_systemd || n->ops == &manager_pbs;
}

/* A bus that is killed takes systemd's answers with it: the agent ends, and its unit starts the next one. Where no unit does, and none of its
 * jobs needs systemd, it goes on without a bus. */
static int open_bus(struct node *n)
{
	int r = sd_bus_open_system(&n->bus);

	if (r < 0 || (!has_units(n) && !getenv("NOTIFY_SOCKET")))
		return r;
	return sd_bus_set_exit_on_disconnect(n->bus, 1);
}

static int open_manager(struct node *n, struct err *err)
{
	bool has_systemd = sd_booted() > 0;
	struct manager_config c = { .event = n->event,
				    .launcher = n->conf->launcher,
				    .socket = n->socket,
				    .final_dir = n->final_dir,
				    .spec_dir = n->spec_dir,
				    .hidden = { n->conf->state_dir },
				    .ctx = n,
				    .on_done = job_phases_on_done,
				    .is_due = job_phases_is_due,
				    .on_gone = job_phases_on_gone };
	int r;

	if (n->conf->manager == CONFIG_MANAGER_SYSTEMD && !has_systemd)
		return err_set(err, -EINVAL, "Manager=systemd, but systemd does not run here");
	if (n->conf->engine == ENGINE_PBS && !has_systemd)
		return err_set(err, -EINVAL,
			       "Engine=pbs needs systemd, which does not run here");
	n->ops = n->conf->engine == ENGINE_SLURM			     ? &manager_slurm
		 : n->conf->engine == ENGINE_PBS			     ? &manager_pbs
		 : n->conf->manager == CONFIG_MANAGER_CGROUP || !has_systemd ? &manager_cgroup
									     : &manager_systemd;
	if (n->jobfs && !manager_is_below(n->conf->jobfs_dir, n->conf->state_dir))
		c.hidden[1] = n->conf->jobfs_dir;
	c.parent = has_units(n) ? n->conf->slice : n->conf->cgroup_parent;
	r = open_bus(n);
	/* sd_bus_get_unique_name() waits for the end of the handshake: the daemon allows it 30 s, and a
	 * slow self-test, before the event loop runs, can take longer. */
	if (r >= 0)
		r = sd_bus_get_unique_name(n->bus, &(const char *){ NULL });
	if (r >= 0)
		r = sd_bus_attach_event(n->bus, n->event, SD_EVENT_PRIORITY_NORMAL);
	if (r < 0 && has_units(n))
		return err_set(err, r, "connect to the system bus: %s", strerror(-r));
	if (r < 0) {
		n->bus = sd_bus_unref(n->bus);
		node_note(n, "no system bus here: status only through the controller");
	}
	c.bus = n->bus;
	r = n->ops->open(&c, &n->manager, err);
	if (r < 0)
		return r;
	note_lines(n, "manager", n->ops->status(n->manager));
	return n->ops->bound(n->manager, &n->cpus, n->capacity.mem_bytes, err);
}

/* The agent's own cgroup, in which it may make others. NULL: unknown, the root then. */
static const char *own_cgroup(char *buf, size_t size)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/self/cgroup", "re");
	char line[4200];

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "0::/", 4)) {
			line[strcspn(line, "\n")] = '\0';
			snprintf(buf, size, "%s%s", manager_mount(), line + 3);
			return access(buf, W_OK) == 0 ? buf : NULL;
		}
	return NULL;
}

static int open_vmem(struct node *n, const char *pins, struct err *err)
{
	char own[4400], dir[600];
	struct vmem_config c = { .pin_dir = dir,
				 .scratch_dir = own_cgroup(own, sizeof(own)),
				 .first_tier = n->conf->vmem_tier,
				 .max_processes = (uint32_t)n->capacity.pids,
				 .on_excess = limit_on_vmem,
				 .ctx = n };
	int r;

	snprintf(dir, sizeof(dir), "%s/vmem", pins);
	if (n->conf->vmem_tier == VMEM_TIER_POLL)
		c.pin_dir = NULL;
	r = vmem_open(&c, &n->vmem, err);
	if (r < 0)
		return err_prefix(err, r, "vmem");
	note_lines(n, "vmem", vmem_tier_reason(n->vmem));
	return 0;
}

static int open_events(struct node *n, const char *pins, struct err *err)
{
	char dir[600];
	struct events_config c = { .pin_dir = dir,
				   .best_tier = n->conf->vmem_tier,
				   .ctx = n,
				   .on_oom = limit_on_oom,
				   .on_frozen = suspend_on_frozen,
				   .on_empty = job_phases_on_empty };
	int r;

	snprintf(dir, sizeof(dir), "%s/events", pins);
	r = events_open(&c, &n->events, err);
	if (r < 0)
		return err_prefix(err, r, "events");
	note_lines(n, "events", events_status(n->events));
	return 0;
}

static int open_guard(struct node *n, const char *pins, struct err *err)
{
	char dir[600];
	struct guard_config c = { .pin_dir = dir,
				  .best_tier = n->conf->vmem_tier,
				  .ctx = n,
				  .on_quota = limit_on_quota,
				  .on_denied = limit_on_denied,
				  .on_left = limit_on_left };
	int r;

	snprintf(dir, sizeof(dir), "%s/guard", pins);
	r = guard_open(&c, &n->guard, err);
	if (r < 0)
		return err_prefix(err, r, "guard");
	note_lines(n, "guard", guard_status(n->guard));
	if ((guard_holds(n->guard) & (GUARD_PROJECT_ID | GUARD_PTRACE)) !=
	    (GUARD_PROJECT_ID | GUARD_PTRACE))
		node_note(n, "guard: in each job a system call filter stands in: it refuses to "
			     "change project ids and all use of ptrace, debuggers too");
	if (!(guard_holds(n->guard) & GUARD_CORES))
		node_note(n, "guard: in each job a system call filter refuses io_uring, whose "
			     "polling thread runs on every core");
	return 0;
}

/* Slurm's scope may not be there before its first job: then what is above it, where it will be. */
static const char *find_sample_root(struct node *n, char buf[static MANAGER_PATH_MAX])
{
	snprintf(buf, MANAGER_PATH_MAX, "%s", n->ops->parent(n->manager));
	while (n->ops == &manager_slurm && access(buf, F_OK) < 0 && strchr(buf + 1, '/'))
		*strrchr(buf, '/') = '\0';
	return buf;
}

static int open_sampler(struct node *n, const char *pins, struct err *err)
{
	char dir[600], root[MANAGER_PATH_MAX];
	struct sample_config c = { .root = find_sample_root(n, root),
				   .pin_dir = dir,
				   .files_only = n->conf->vmem_tier == VMEM_TIER_POLL };
	int r;

	snprintf(dir, sizeof(dir), "%s/sample", pins);
	r = sample_open(&c, &n->sampler, err);
	if (r < 0)
		return err_prefix(err, r, "sampling");
	note_lines(n, "sampling", sample_status(n->sampler));
	return 0;
}

/* Depth of the cgroups in which the users' processes are, root = 0: "work" below each job's. Inode 1 is
 * the root of the hierarchy; in a container's part of it depths would be others. */
static int work_level(struct node *n, uint32_t *ret, struct err *err)
{
	const char *mount = manager_mount(), *at = n->ops->parent(n->manager);
	struct stat st;

	if (stat(mount, &st) < 0 || st.st_ino != 1)
		return err_set(err, -EOPNOTSUPP, "%s is not a whole cgroup v2 mount", mount);
	*ret = 2;
	for (at += strlen(mount); *at; at++)
		*ret += at[0] == '/' && at[1];
	return 0;
}

/* A failure is a note: jobs run without the profile. */
static void open_prof(struct node *n, const char *pins)
{
	char dir[600];
	struct prof_config c = { .pin_dir = dir };
	struct err err;
	int r;

	snprintf(dir, sizeof(dir), "%s/prof", pins);
	if (!n->conf->switch_profile) {
		prof_forget(dir);
		return;
	}
	r = work_level(n, &c.level, &err);
	if (!r)
		r = prof_open(&c, &n->prof, &err);
	if (r < 0)
		node_note(n, "switch profile: cannot be measured: %s", err.text);
	else
		node_note(n, "switch profile: on; each context switch of a job is counted and "
			     "takes it about 0.1 us longer");
}

static int open_kernel_side(struct node *n, struct err *err)
{
	const char *pins = n->conf->pin_dir;
	int r = 0;

	/* Where there is no bpffs each module notes what it loses. */
	if (mkdir(pins, 0700) < 0 && errno != EEXIST)
		node_note(n,
			  "BPF programs cannot be kept at %s: %s; limits in the kernel end "
			  "with the agent",
			  pins, strerror(errno));
	r = open_vmem(n, pins, err);
	if (!r)
		r = open_events(n, pins, err);
	if (!r)
		r = open_guard(n, pins, err);
	if (!r)
		r = open_sampler(n, pins, err);
	if (!r)
		open_prof(n, pins);
	if (!r)
		job_gpus_open(n);
	malloc_trim(0); /* libbpf has freed the kernel's BTF, some MB for each program */
	return r;
}

/* The order is that of dependence: the manager hides the jobfs directory from jobs, the kernel side
 * needs the manager's cgroup. After a failure the caller calls node_close(). */
int node_open(struct node *n, const struct agent_config *conf, struct err *err)
{
	int r;

	n->conf = conf;
	n->counts.started_ns = node_realtime_ns();
	r = users_open(conf, &n->users, err);
	if (!r)
		r = open_dirs(n, err);
	if (!r)
		r = read_boot(n, err);
	if (!r)
		r = open_store(n, err);
	if (!r)
		r = open_topology(n, err);
	if (!r)
		r = open_jobfs(n, err);
	if (!r)
		r = open_manager(n, err);
	if (!r)
		r = open_kernel_side(n, err);
	return r;
}

/* Ends no job and detaches no pinned program: both outlive the agent. */
void node_close(struct node *n)
{
	if (n->db && n->spool)
		job_save_flush(
			n,
			NULL); /* where that fails, the next agent reports once more what was settled */
	steps_close(n);
	while (n->jobs)
		job_free(n->jobs);
	job_due_close(n);
	job_signed_forget(n);
	uplink_close(n->uplink);
	job_gpus_close(n);
	prof_close(n->prof);
	sample_close(n->sampler);
	guard_close(n->guard);
	events_close(n->events);
	vmem_close(n->vmem);
	if (n->manager)
		n->ops->close(n->manager);
	sd_bus_flush_close_unref(n->bus);
	jobfs_close(n->jobfs);
	job_save_close(n);
	spool_close(n->spool);
	db_close(n->db);
	free(n->topology);
	free(n->found);
	ended_free(&n->ended);
	users_done(&n->users);
}
