/* SPDX-License-Identifier: GPL-2.0-or-later */
/* excess.c - reports that a job has exceeded its vmem. The kernel side latches the excess in the
 * table of jobs and sends an event; here the event is received, the latch is read and passed to
 * on_excess(). In tier 3 a timer reads /proc instead. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <bpf/libbpf.h>
#include "agent/enforce/vmem/hot.h"
#include "agent/enforce/vmem/table.h"
#include "common/cleanup.h"

#define POLL_MS 1000
#define IDLE_MS 30000
#define IDLE_MS_TRAMPOLINES 300000 /* to attach them takes longer than tracepoints */

static const char *const operations[] = {
	[VMEM_OP_NONE] = "",	     [VMEM_OP_MMAP] = "mmap",	[VMEM_OP_MMAP_FIXED] = "mmap",
	[VMEM_OP_SHMAT] = "shmat",   [VMEM_OP_BRK] = "brk",	[VMEM_OP_STACK] = "stack",
	[VMEM_OP_MREMAP] = "mremap", [VMEM_OP_FORK] = "fork",	[VMEM_OP_EXEC] = "exec",
	[VMEM_OP_ATTACH] = "attach", [VMEM_OP_AUDIT] = "audit", [VMEM_OP_LIMIT] = "limit",
	[VMEM_OP_OTHER] = "mapping",
};

void vmem_excess_wake(const struct vmem *v)
{
	uint64_t one = 1;
	ssize_t n = write(v->kick_fd, &one, sizeof(one));

	(void)n; /* full: it is readable anyway */
}

/* Reports a latch state once: `reported` is in the table, so that the next agent does not report
 * it again. Jobs without an id are the self-test's. */
static void report_excess(struct vmem *v, uint32_t slot)
{
	struct vmem_job *job = &v->jobs[slot];
	const struct vmem_latch *x = &job->latch;
	uint32_t state = __atomic_load_n(&x->state, __ATOMIC_ACQUIRE);
	struct vmem_excess out = {
		.job_id = job->job_id,
		.cgroup_id = job->cgroup_id,
		.limit_bytes = vmem_table_bytes(v, job->limit_pages),
		.reached_bytes = vmem_table_bytes(v, x->reached_pages),
		.requested_bytes = vmem_table_bytes(v, x->asked_pages),
		.at_ns = x->at_ns,
		.pid = x->pid,
		.tgid = x->tgid,
		.operation = x->op < ARRAY_LEN(operations) ? operations[x->op] : "mapping",
		.is_refused = x->is_refused,
		.is_survived = state == VMEM_X_REFUSED,
		.is_killed = x->is_signalled,
		.is_no_room = x->cause == VMEM_CAUSE_SPACES,
	};

	if (state < VMEM_X_REFUSED || state <= x->reported || !job->cgroup_id || !job->job_id)
		return;
	if (out.is_no_room) {
		out.reached_spaces = (uint64_t)x->reached_pages;
		out.reached_bytes = out.requested_bytes = 0;
	}
	memcpy(out.comm, x->comm, sizeof(out.comm));
	out.comm[sizeof(out.comm) - 1] = '\0';
	if (v->config.on_excess)
		v->config.on_excess(v->config.ctx, &out);
	if (job->cgroup_id == out.cgroup_id) /* the callback may have removed the job */
		__atomic_store_n(&job->latch.reported, state, __ATOMIC_RELEASE);
}

/* Walks slots, not the list of known jobs: the callback may add and remove jobs. */
static void report_all(struct vmem *v)
{
	uint32_t slot;

	for (slot = 1; slot < VMEM_MAX_JOBS; slot++)
		if (v->jobs[slot].latch.state > v->jobs[slot].latch.reported)
			report_excess(v, slot);
}

static int on_event(void *ctx, void *data, size_t size)
{
	const struct vmem_event *e = data;
	struct vmem *v = ctx;
	struct vmem_known *known;

	if (size < sizeof(*e) || e->slot >= VMEM_MAX_JOBS)
		return 0;
	if (e->kind == VMEM_EVENT_EXCESS) {
		report_excess(v, e->slot);
		return 0;
	}
	/* VMEM_EVENT_AUDIT: a process without a main thread moved into the job */
	known = vmem_table_find(v, v->jobs[e->slot].cgroup_id);
	return known ? vmem_table_audit(v, known, NULL) : 0;
}

static int watch_fd(struct vmem *v, int fd)
{
	struct epoll_event e = { .events = EPOLLIN, .data.fd = fd };

	return fd < 0 || epoll_ctl(v->epoll_fd, EPOLL_CTL_ADD, fd, &e) ? -errno : 0;
}

/* CLOCK_BOOTTIME: it goes on while the node is suspended. */
static int start_timer(struct vmem *v)
{
	uint32_t ms = v->config.poll_ms ? v->config.poll_ms : POLL_MS;
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };
	struct itimerspec every = { .it_interval = t, .it_value = t };

	v->timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	if (v->timer_fd < 0 || timerfd_settime(v->timer_fd, 0, &every, NULL))
		return -errno;
	return watch_fd(v, v->timer_fd);
}

static int set_timer(int fd, uint32_t ms)
{
	const struct itimerspec once = {
		.it_value = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 },
	};

	return timerfd_settime(fd, 0, &once, NULL) ? -errno : 0;
}

void vmem_excess_idle(struct vmem *v)
{
	uint32_t ms = v->tier == VMEM_TIER_DENY ? IDLE_MS_TRAMPOLINES : IDLE_MS;

	if (v->config.idle_ms)
		ms = v->config.idle_ms;
	if (v->kernel && v->timer_fd >= 0 && v->n_known == 0)
		set_timer(v->timer_fd, ms);
}

/* The timer that vmem_excess_idle() sets. */
static int open_idle_timer(struct vmem *v)
{
	v->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	return v->timer_fd < 0 ? -errno : watch_fd(v, v->timer_fd);
}

int vmem_excess_start(struct vmem *v, struct err *err)
{
	int rc;

	v->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	v->kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	rc = v->epoll_fd < 0 ? -errno : watch_fd(v, v->kick_fd);
	if (rc == 0 && v->kernel) {
		v->ring =
			ring_buffer__new(v->kernel->map_fd[VMEM_MAP_EVENTS], on_event, v, NULL);
		rc = v->ring ? watch_fd(v, ring_buffer__epoll_fd(v->ring)) : -errno;
	}
	if (rc == 0)
		rc = v->kernel ? open_idle_timer(v) : start_timer(v);
	if (rc < 0)
		return err_set(err, rc, "watch for events: %s", strerror(-rc));
	vmem_excess_idle(v);
	vmem_excess_wake(v); /* what happened while the agent was away */
	return 0;
}

int vmem_excess_restart(struct vmem *v, struct err *err)
{
	struct ring_buffer *ring =
		ring_buffer__new(v->kernel->map_fd[VMEM_MAP_EVENTS], on_event, v, NULL);
	int rc = ring ? watch_fd(v, ring_buffer__epoll_fd(ring)) : -errno;

	if (rc < 0) {
		ring_buffer__free(ring);
		return err_set(err, rc, "watch for events: %s", strerror(-rc));
	}
	ring_buffer__free(v->ring);
	v->ring = ring;
	return 0;
}

int vmem_fd(const struct vmem *v)
{
	return v->epoll_fd;
}

static int audit_all(struct vmem *v, struct err *err)
{
	size_t i;
	int rc, first = 0;

	for (i = 0; i < v->n_known; i++) {
		rc = vmem_table_audit(v, &v->known[i], first ? NULL : err);
		if (rc < 0 && !first)
			first = rc; /* the other jobs are still audited */
	}
	return first;
}

/* The ring buffer may have lost events (it was full, or the agent was away); the latches have not. A wake-up by
 * kick_fd or the timer therefore looks at all latches. */
int vmem_dispatch(struct vmem *v, struct err *err)
{
	uint64_t n;
	int rc = 0;

	if (v->ring) {
		rc = ring_buffer__consume(v->ring);
		if (rc < 0)
			return err_set(err, rc, "read vmem events: %s", strerror(-rc));
		rc = 0;
	}
	if (v->timer_fd >= 0 && read(v->timer_fd, &n, sizeof(n)) == sizeof(n)) {
		if (!v->kernel) {
			rc = audit_all(v, err);
			report_all(v);
		} else if (v->n_known == 0) {
			vmem_hot_detach(v->kernel, v->config.pin_dir);
		}
	}
	if (read(v->kick_fd, &n, sizeof(n)) == sizeof(n))
		report_all(v);
	return rc;
}
