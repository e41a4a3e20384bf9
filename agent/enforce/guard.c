/* SPDX-License-Identifier: GPL-2.0-or-later */
/* guard.c - keeps jobs from escaping their limits, and reports what they tried; includes the
 * skeleton of bpf/guard.bpf.c; see guard.h. */
#include <errno.h>
#include <linux/quota.h>
#include <linux/types.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include "agent/enforce/jobfs/dquot.h"
#include "agent/enforce/guard.h"
#include "agent/kernel/skeleton.h"
#include "agent/kernel/slots.h"
#include "bpf/guard_abi.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "guard.skel.h"

#define NR_FILE_SETATTR 469 /* the same on every architecture */

struct kept { /* a guarded job */
	struct kept *next;
	struct guard_job job;
	unsigned reported; /* 1 << enum guard_quota_kind; where there is no BPF record */
};

struct guard {
	struct guard_config config;
	struct skeleton *kern; /* NULL: no BPF */
	struct slots *slots;
	struct ring_buffer *ring;
	int dquot_fd; /* -1: not used */
	int epoll_fd;
	uint32_t n_jobs;
	struct kept *jobs;
	char why[512];
	char status[5120];
};

static const struct skeleton_hook hooks[] = {
	{ "guard_quota", SKELETON_TRAMPOLINE, NULL,
	  "the writer that exceeds jobfs is not killed by the kernel" },
	{ "guard_ioctl", SKELETON_TRAMPOLINE, NULL,
	  "a job can change the project id of its files (FS_IOC_FSSETXATTR)" },
	{ "guard_ioctl_compat", SKELETON_TRAMPOLINE, NULL,
	  "a job can change the project id of its files (32-bit FS_IOC_FSSETXATTR)" },
	{ "guard_setattr", SKELETON_TRAMPOLINE, NULL,
	  NULL }, /* kernels before 6.17 have none */
	{ "guard_ptrace", SKELETON_TRAMPOLINE, NULL,
	  "a job can control its user's processes outside it (ptrace)" },
	{ "guard_traceme", SKELETON_TRAMPOLINE, NULL,
	  "a job's process can let a process outside control it (PTRACE_TRACEME)" },
	{ "guard_sqpoll", SKELETON_TRAMPOLINE, NULL,
	  "a job can have a thread of io_uring run on every core (IORING_SETUP_SQPOLL)" },
	{ "guard_attach", SKELETON_TRAMPOLINE, NULL,
	  "a process that is moved out of its job is not noticed at once" },
	{ "guard_fork", SKELETON_TRACEPOINT, NULL,
	  "a child started outside its job is not noticed at once" },
};

_Static_assert((int)GUARD_BY_WRITE == (int)GUARD_CALL_WRITE &&
		       (int)GUARD_BY_FALLOCATE == (int)GUARD_CALL_FALLOCATE,
	       "one numbering of calls");

static struct kept *find_guarded(const struct guard *g, uint64_t cgroup_id)
{
	for (struct kept *k = g->jobs; k; k = k->next)
		if (k->job.cgroup_id == cgroup_id)
			return k;
	return NULL;
}

static void report_quota(const struct guard *g, const struct guard_message *m, int64_t job)
{
	struct guard_quota q = {
		.job = job,
		.kind = (enum guard_quota_kind)m->detail,
		.boot_ns = m->boot_ns,
		.pid = m->pid,
		.killed = m->killed,
		.call = (enum guard_quota_call)m->call,
		.asked_bytes = m->asked_bytes,
	};

	memcpy(q.comm, m->comm, sizeof(q.comm));
	if (g->config.on_quota)
		g->config.on_quota(g->config.ctx, &q);
}

static void report_denied(const struct guard *g, const struct guard_message *m, int64_t job)
{
	struct guard_denied d = {
		.job = job,
		.deed = m->kind == GUARD_MSG_PTRACE ? GUARD_DID_PTRACE : GUARD_DID_SETPROJECT,
		.boot_ns = m->boot_ns,
		.pid = m->pid,
		.target_pid = m->other,
	};

	memcpy(d.comm, m->comm, sizeof(d.comm));
	if (g->config.on_denied)
		g->config.on_denied(g->config.ctx, &d);
}

static void report_left(const struct guard *g, const struct guard_message *m, int64_t job)
{
	struct guard_left l = {
		.job = job,
		.boot_ns = m->boot_ns,
		.pid = m->pid,
		.now_in = m->now_in,
		.moved_by_pid = m->other,
	};

	memcpy(l.comm, m->comm, sizeof(l.comm));
	if (g->config.on_left)
		g->config.on_left(g->config.ctx, &l);
}

static int on_message(void *ctx, void *data, size_t size)
{
	const struct guard_message *m = data;
	const struct guard *g = ctx;
	const struct kept *k;

	if (size < sizeof(*m))
		return 0;
	k = find_guarded(g, m->cgroup_id);
	if (!k)
		return 0; /* removed meanwhile */
	if (m->kind == GUARD_MSG_QUOTA)
		report_quota(g, m, k->job.job);
	else if (m->kind == GUARD_MSG_LEFT)
		report_left(g, m, k->job.job);
	else
		report_denied(g, m, k->job.job);
	return 0;
}

/* Without the BPF hook: the kernel's netlink message names no process, and comes again at each
 * failed write. */
static void on_dquot(void *ctx, const struct dquot_excess *excess)
{
	struct guard *g = ctx;
	struct guard_message m = { .boot_ns = (uint64_t)clock_ns(CLOCK_BOOTTIME) };

	if (excess->warning == QUOTA_NL_BHARDWARN)
		m.detail = GUARD_BLOCKS;
	else if (excess->warning == QUOTA_NL_IHARDWARN)
		m.detail = GUARD_INODES;
	else
		return;
	for (struct kept *k = g->jobs; k; k = k->next) {
		if (k->job.projid != excess->projid || k->reported & 1u << m.detail)
			continue;
		if (k->job.dev && k->job.dev != makedev(excess->dev_major, excess->dev_minor))
			continue;
		k->reported |= 1u << m.detail;
		report_quota(g, &m, k->job.job);
		return; /* the callback may have removed the job */
	}
}

/* Sizes the maps, between opening and loading the object: later they are fixed. */
static int configure_object(struct bpf_object *obj, void *ctx)
{
	const struct guard *g = ctx;
	struct bpf_map *projects = bpf_object__find_map_by_name(obj, "projects");
	int r = slots_configure(obj, g->n_jobs);

	if (r < 0 || !projects)
		return r < 0 ? r : -EINVAL;
	return bpf_map__set_max_entries(projects, g->n_jobs);
}

/* After a failure the caller calls close_kern(): what was opened before it stays in `g`. */
static int open_kern(struct guard *g, struct err *err)
{
	struct skeleton_spec spec = {
		.name = "guard",
		.version = GUARD_VERSION,
		.hooks = hooks,
		.n_hooks = ARRAY_LEN(hooks),
		.pin_dir = g->config.pin_dir,
		.best_tier = g->config.best_tier,
		.configure = configure_object,
		.ctx = g,
	};
	int r;

	spec.elf = guard_bpf__elf_bytes(&spec.elf_size);
	r = skeleton_open(&spec, &g->kern, err);
	if (r < 0)
		return r;
	r = slots_open(g->kern, sizeof(struct guard_record), g->n_jobs, &g->slots, err);
	if (r < 0)
		return r;
	g->ring = ring_buffer__new(skeleton_map(g->kern, "ring"), on_message, g, NULL);
	return g->ring ? 0 : err_set(err, -errno, "ring buffer: %m");
}

static void close_kern(struct guard *g)
{
	ring_buffer__free(g->ring);
	slots_close(g->slots);
	skeleton_close(g->kern);
	g->ring = NULL;
	g->slots = NULL;
	g->kern = NULL;
}

/* fd < 0: there is none. */
static int add_to_epoll(struct guard *g, int fd, struct err *err)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.fd = fd };

	if (fd >= 0 && epoll_ctl(g->epoll_fd, EPOLL_CTL_ADD, fd, &ev) < 0)
		return err_set(err, -errno, "epoll: %m");
	return 0;
}

int guard_open(const struct guard_config *config, struct guard **ret, struct err *err)
{
	_cleanup_(guard_closep) struct guard *g = calloc(1, sizeof(*g));
	struct err why = { "switched off by configuration" };
	int r;

	if (!g)
		return err_set(err, -ENOMEM, "out of memory");
	g->config = *config;
	g->dquot_fd = g->epoll_fd = -1;
	g->n_jobs = config->max_jobs ? config->max_jobs : 1024;
	if (config->best_tier < 3 && open_kern(g, &why) < 0)
		close_kern(g);
	snprintf(g->why, sizeof(g->why), "%s", g->kern ? "" : why.text);
	if (!g->kern || !skeleton_has(g->kern, "guard_quota"))
		dquot_open(&g->dquot_fd, &why); /* on failure guard_holds() has no quota bit */
	g->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (g->epoll_fd < 0)
		return err_set(err, -errno, "epoll: %m");
	r = add_to_epoll(g, g->ring ? ring_buffer__epoll_fd(g->ring) : -1, err);
	if (r == 0)
		r = add_to_epoll(g, g->dquot_fd, err);
	if (r < 0)
		return r;
	g->config.pin_dir = NULL; /* the caller's; used above alone */
	*ret = TAKE_PTR(g);
	return 0;
}

struct guard *guard_close(struct guard *g)
{
	struct kept *next;

	if (!g)
		return NULL;
	for (struct kept *k = g->jobs; k; k = next) {
		next = k->next;
		free(k);
	}
	close_kern(g);
	if (g->dquot_fd >= 0)
		close(g->dquot_fd);
	if (g->epoll_fd >= 0)
		close(g->epoll_fd);
	free(g);
	return NULL;
}

/* Project id -> slot, for the quota hook, which sees an id and no cgroup. 0: the job has no jobfs. */
static int add_project(const struct guard *g, uint32_t projid, uint32_t slot)
{
	int fd = skeleton_map(g->kern, "projects");

	if (!projid)
		return 0;
	return bpf_map_update_elem(fd, &projid, &slot, BPF_ANY) < 0 ? -errno : 0;
}

/* A job that an earlier agent had added keeps its record and what was reported. The record is
 * complete before slots_publish() and add_project() make it visible to the hooks. */
static int add_to_kern(const struct guard *g, const struct guard_job *job, struct err *err)
{
	struct guard_record *rec;
	uint32_t slot;
	int r = slots_add(g->slots, job->cgroup_id, job->job, &slot);

	if (r < 0)
		return err_set(err, r, "job %lld: %s", (long long)job->job, strerror(-r));
	rec = slots_record(g->slots, slot);
	rec->projid = job->projid;
	rec->dev = job->dev ? major(job->dev) << 20 | minor(job->dev) : 0;
	rec->is_kill = job->action == GUARD_KILL;
	if (r == 0)
		r = slots_publish(g->slots, slot);
	if (r >= 0)
		r = add_project(g, job->projid, slot);
	if (r < 0) {
		slots_remove(g->slots, slot);
		return err_set(err, r, "job %lld: %s", (long long)job->job, strerror(-r));
	}
	return 0;
}

/* Two jobs with one project id are refused: an excess of one would kill the writer of the other. */
int guard_add(struct guard *g, const struct guard_job *job, struct err *err)
{
	struct kept *k;
	int r;

	for (k = g->jobs; k; k = k->next) {
		if (k->job.cgroup_id == job->cgroup_id)
			return err_set(err, -EEXIST, "job %lld: already guarded",
				       (long long)job->job);
		if (job->projid && k->job.projid == job->projid)
			return err_set(err, -EEXIST, "job %lld: project id %u is job %lld's",
				       (long long)job->job, job->projid, (long long)k->job.job);
	}
	k = calloc(1, sizeof(*k));
	if (!k)
		return err_set(err, -ENOMEM, "out of memory");
	k->job = *job;
	r = g->kern ? add_to_kern(g, job, err) : 0;
	if (r < 0) {
		free(k);
		return r;
	}
	k->next = g->jobs;
	g->jobs = k;
	return 0;
}

void guard_remove(struct guard *g, uint64_t cgroup_id)
{
	struct kept **at = &g->jobs, *k;
	int slot;

	while (*at && (*at)->job.cgroup_id != cgroup_id)
		at = &(*at)->next;
	k = *at;
	if (!k)
		return;
	*at = k->next;
	slot = g->slots ? slots_find(g->slots, cgroup_id) : -ENOENT;
	if (slot >= 0) {
		if (k->job.projid)
			bpf_map_delete_elem(skeleton_map(g->kern, "projects"), &k->job.projid);
		slots_remove(g->slots, (uint32_t)slot);
	}
	free(k);
}

unsigned guard_prune(struct guard *g)
{
	uint32_t key, next, slot;
	const struct guard_record *rec;
	unsigned n;
	int fd, r;

	if (!g->slots)
		return 0;
	n = slots_prune(g->slots);
	fd = skeleton_map(g->kern, "projects");
	/* The next key before this one is deleted: a walk from a deleted key starts again. */
	for (r = bpf_map_get_next_key(fd, NULL, &next); r == 0;) {
		key = next;
		r = bpf_map_get_next_key(fd, &key, &next);
		if (bpf_map_lookup_elem(fd, &key, &slot) < 0)
			continue;
		rec = slot < g->n_jobs ? slots_record(g->slots, slot) : NULL;
		if (!rec || !rec->cgroup_id || rec->projid != key)
			bpf_map_delete_elem(fd, &key);
	}
	return n;
}

/* The latch keeps one excess from being reported at each write. After this the next one is reported again. */
void guard_rearm(struct guard *g, uint64_t cgroup_id)
{
	struct kept *k = find_guarded(g, cgroup_id);
	struct guard_record *rec;
	int slot = g->slots ? slots_find(g->slots, cgroup_id) : -ENOENT;

	if (k)
		k->reported = 0;
	if (slot >= 0) {
		rec = slots_record(g->slots, (uint32_t)slot);
		__atomic_store_n(&rec->reported, 0, __ATOMIC_SEQ_CST);
	}
}

int guard_fd(const struct guard *g)
{
	return g->epoll_fd;
}

int guard_dispatch(struct guard *g, struct err *err)
{
	int r = g->ring ? ring_buffer__consume(g->ring) : 0;

	if (r < 0)
		return err_set(err, r, "read the ring buffer: %s", strerror(-r));
	r = g->dquot_fd >= 0 ? dquot_dispatch(g->dquot_fd, on_dquot, g) : 0;
	return r < 0 ? err_set(err, r, "read quota messages: %s", strerror(-r)) : 0;
}

/* A kernel that has file_setattr(2) but not our hook on it would let a job change project ids. */
static bool has_file_setattr(void)
{
	return syscall(NR_FILE_SETATTR, -1, "", NULL, 0, 0) == 0 || errno != ENOSYS;
}

uint32_t guard_holds(const struct guard *g)
{
	const struct skeleton *k = g->kern;
	uint32_t holds = g->dquot_fd >= 0 ? GUARD_QUOTA_EVENT : 0;

	if (!k)
		return holds;
	if (skeleton_has(k, "guard_quota"))
		holds |= GUARD_QUOTA_KILL | GUARD_QUOTA_EVENT;
	if (skeleton_has(k, "guard_ioctl") && skeleton_has(k, "guard_ioctl_compat") &&
	    (skeleton_has(k, "guard_setattr") || !has_file_setattr()))
		holds |= GUARD_PROJECT_ID;
	if (skeleton_has(k, "guard_ptrace") && skeleton_has(k, "guard_traceme"))
		holds |= GUARD_PTRACE;
	if (skeleton_has(k, "guard_sqpoll"))
		holds |= GUARD_CORES;
	if (skeleton_has(k, "guard_attach") && skeleton_has(k, "guard_fork"))
		holds |= GUARD_LEFT;
	return holds;
}

const char *guard_status(struct guard *g)
{
	uint64_t lost = g->kern ? skeleton_n_lost(g->kern) : 0;
	uint32_t holds = guard_holds(g);
	size_t n;

	if (g->kern)
		n = (size_t)snprintf(g->status, sizeof(g->status), "%s",
				     skeleton_status(g->kern));
	else
		n = (size_t)snprintf(g->status, sizeof(g->status), "no guard through BPF: %s\n",
				     g->why);
	if (n >= sizeof(g->status))
		return g->status; /* cut short */
	if (!(holds & GUARD_QUOTA_EVENT))
		n += (size_t)snprintf(g->status + n, sizeof(g->status) - n,
				      "an excess of jobfs is not reported: no BPF hook and no "
				      "VFS_DQUOT messages\n");
	if (lost && n < sizeof(g->status))
		snprintf(g->status + n, sizeof(g->status) - n,
			 "%llu messages found the ring buffer full\n",
			 (unsigned long long)lost);
	return g->status;
}

bool guard_adopted(const struct guard *g)
{
	return g->kern && skeleton_adopted(g->kern);
}
