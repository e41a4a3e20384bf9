/* vmem.c - see vmem.h: choose a tier, answer for the jobs, deliver excesses. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mntent.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <bpf/libbpf.h>
#include "agent/enforce/vmem/vmem.h"
#include "agent/enforce/vmem/selftest.h"
#include "agent/enforce/vmem/table.h"
#include "common/cleanup.h"

#define POLL_MS 1000
#define MAX_PROCESSES 65536

static const char *const operations[] = {
	[VMEM_OP_NONE] = "",	     [VMEM_OP_MMAP] = "mmap",	[VMEM_OP_MMAP_FIXED] = "mmap",
	[VMEM_OP_SHMAT] = "shmat",   [VMEM_OP_BRK] = "brk",	[VMEM_OP_STACK] = "stack",
	[VMEM_OP_MREMAP] = "mremap", [VMEM_OP_FORK] = "fork",	[VMEM_OP_EXEC] = "exec",
	[VMEM_OP_ATTACH] = "attach", [VMEM_OP_AUDIT] = "audit", [VMEM_OP_LIMIT] = "limit",
	[VMEM_OP_OTHER] = "mapping",
};

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
	free(v);
	return NULL;
}

/* Excesses. */

static uint64_t bytes_of(const struct vmem *v, int64_t pages)
{
	return pages > 0 ? (uint64_t)pages * v->page_bytes : 0;
}

/* Pages that `bytes` allow: rounded down, for a limit must not be passed by a part of a page.
 */
static int64_t limit_pages(const struct vmem *v, uint64_t bytes)
{
	uint64_t pages = bytes / v->page_bytes;

	if (!bytes)
		return 0;
	return pages < 1 ? 1 : pages > INT64_MAX ? INT64_MAX : (int64_t)pages;
}

static void kick(const struct vmem *v)
{
	uint64_t one = 1;
	ssize_t n = write(v->kick_fd, &one, sizeof(one));

	(void)n; /* full: it is readable anyway */
}

static void deliver(struct vmem *v, uint32_t slot)
{
	struct vmem_job *job = &v->jobs[slot];
	const struct vmem_latch *x = &job->latch;
	uint32_t state = __atomic_load_n(&x->state, __ATOMIC_ACQUIRE);
	struct vmem_excess out = {
		.job_id = job->job_id,
		.cgroup_id = job->cgroup_id,
		.limit_bytes = bytes_of(v, job->limit_pages),
		.reached_bytes = bytes_of(v, x->reached_pages),
		.requested_bytes = bytes_of(v, x->asked_pages),
		.at_ns = x->at_ns,
		.pid = x->pid,
		.tgid = x->tgid,
		.operation = x->op < ARRAY_LEN(operations) ? operations[x->op] : "mapping",
		.is_refused = x->is_refused,
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

/* The callback may add and remove jobs: walk slots, not the list. */
static void deliver_all(struct vmem *v)
{
	uint32_t slot;

	for (slot = 1; slot < VMEM_MAX_JOBS; slot++)
		if (v->jobs[slot].latch.state > v->jobs[slot].latch.reported)
			deliver(v, slot);
}

static int on_event(void *ctx, void *data, size_t size)
{
	const struct vmem_event *e = data;
	struct vmem *v = ctx;
	struct vmem_known *known;

	if (size < sizeof(*e) || e->slot >= VMEM_MAX_JOBS)
		return 0;
	if (e->kind == VMEM_EVENT_EXCESS) {
		deliver(v, e->slot);
		return 0;
	}
	known = vmem_table_find(v, v->jobs[e->slot].cgroup_id);
	return known ? vmem_table_audit(v, known, NULL) : 0;
}

static int watch(struct vmem *v, int fd)
{
	struct epoll_event e = { .events = EPOLLIN, .data.fd = fd };

	return fd < 0 || epoll_ctl(v->epoll_fd, EPOLL_CTL_ADD, fd, &e) ? -errno : 0;
}

static int start_timer(struct vmem *v)
{
	uint32_t ms = v->config.poll_ms ? v->config.poll_ms : POLL_MS;
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };
	struct itimerspec every = { .it_interval = t, .it_value = t };

	v->timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	if (v->timer_fd < 0 || timerfd_settime(v->timer_fd, 0, &every, NULL))
		return -errno;
	return watch(v, v->timer_fd);
}

static int start_events(struct vmem *v, struct err *err)
{
	int rc;

	v->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	v->kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	rc = v->epoll_fd < 0 ? -errno : watch(v, v->kick_fd);
	if (rc == 0 && v->kernel) {
		v->ring =
			ring_buffer__new(v->kernel->map_fd[VMEM_MAP_EVENTS], on_event, v, NULL);
		rc = v->ring ? watch(v, ring_buffer__epoll_fd(v->ring)) : -errno;
	}
	if (rc == 0 && !v->kernel)
		rc = start_timer(v);
	if (rc < 0)
		return err_set(err, rc, "watch for events: %s", strerror(-rc));
	kick(v); /* what happened while nobody looked */
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
			first = rc; /* the others are looked at all the same */
	}
	return first;
}

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
		rc = audit_all(v, err);
		deliver_all(v);
	}
	if (read(v->kick_fd, &n, sizeof(n)) == sizeof(n))
		deliver_all(v);
	return rc;
}

/* Choosing. */

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
	rc = vmem_table_enter(v, &job, &known, err);
	return rc < 0 ? rc : vmem_table_audit(v, known, err);
}

static int make_lasting(struct vmem *v, struct err *err)
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

static int try_tier(struct vmem *v, int tier)
{
	struct vmem_kernel *k = NULL;
	struct err why = { "" };
	int rc;

	rc = vmem_kernel_load(tier, vmem_table_spaces_of_node(v->max_processes), &k, &why);
	if (rc == 0) {
		use_kernel(v, k);
		rc = self_test(v, &why);
	}
	if (rc == 0)
		rc = make_lasting(v, &why);
	if (rc < 0) {
		reason_add(v, tier, &why);
		drop_kernel(v);
	}
	return rc;
}

/* 0: what is pinned is in use. 1: nothing is pinned. 2: only others; 3: own, but not whole. */
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
	/* Programs of an earlier life would go on holding jobs that nobody answers for. */
	return v->config.pin_dir ? vmem_kernel_unpin(v->config.pin_dir, err) : 0;
}

static int choose(struct vmem *v, struct err *err)
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

int vmem_open(const struct vmem_config *config, struct vmem **ret, struct err *err)
{
	_cleanup_(vmem_closep) struct vmem *v = calloc(1, sizeof(*v));
	int rc;

	if (!v)
		return err_set(err, -ENOMEM, "out of memory");
	v->config = *config;
	v->epoll_fd = v->kick_fd = v->timer_fd = -1;
	v->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	v->max_processes = config->max_processes ? config->max_processes : MAX_PROCESSES;
	rc = choose(v, err);
	if (rc == 0)
		rc = start_events(v, err);
	if (rc < 0)
		return rc;
	*ret = TAKE_PTR(v);
	return 0;
}

int vmem_unpin(const char *pin_dir, struct err *err)
{
	return vmem_kernel_unpin(pin_dir, err);
}

enum vmem_tier vmem_tier(const struct vmem *v)
{
	return v->tier;
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

/* Jobs. */

static bool is_over(const struct vmem_job *job)
{
	return job->limit_pages && job->used_pages > job->limit_pages;
}

static int check_action(const struct vmem *v, enum vmem_action action, struct err *err)
{
	if (action == VMEM_DENY && v->tier != VMEM_TIER_DENY)
		return err_set(err, -EOPNOTSUPP,
			       "this node cannot refuse a mapping (tier %d: %.200s); "
			       "only killing is possible",
			       v->tier, v->reason);
	return 0;
}

static int64_t max_spaces(const struct vmem_request *r)
{
	return r->max_processes ? (int64_t)vmem_table_spaces_of_job(r->max_processes) : 0;
}

static int known_again(struct vmem *v, struct vmem_known *known, const struct vmem_request *r,
		       struct err *err)
{
	struct vmem_job *job = &v->jobs[known->slot];
	int fd = fcntl(r->cgroup_fd, F_DUPFD_CLOEXEC, 3);

	if (fd < 0)
		return err_set(err, -errno, "keep the cgroup's directory: %m");
	closep(&known->cgroup_fd);
	known->cgroup_fd = fd;
	job->job_id = r->job_id;
	__atomic_store_n(&job->max_spaces, max_spaces(r), __ATOMIC_RELEASE);
	__atomic_store_n(&job->action, (uint32_t)r->action, __ATOMIC_RELEASE);
	return vmem_set_limit(v, r->cgroup_id, r->limit_bytes, err) ?: 1;
}

static bool is_populated(int cgroup_fd)
{
	_cleanup_close_ int fd = openat(cgroup_fd, "cgroup.events", O_RDONLY | O_CLOEXEC);
	char text[128] = "";
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	return n <= 0 || !strstr(text, "populated 0");
}

/* The processes already inside. Twice, for one that was between two threads the first time. */
static int count_insiders(struct vmem *v, struct vmem_known *known, struct err *err)
{
	int rc = 0, i;

	for (i = 0; rc == 0 && i < 2 && is_populated(known->cgroup_fd); i++)
		rc = vmem_table_audit(v, known, err);
	return rc;
}

int vmem_add(struct vmem *v, const struct vmem_request *r, struct err *err)
{
	struct vmem_known *known = vmem_table_find(v, r->cgroup_id);
	struct vmem_job head = {
		.job_id = r->job_id,
		.cgroup_id = r->cgroup_id,
		.limit_pages = limit_pages(v, r->limit_bytes),
		.max_spaces = max_spaces(r),
		.action = (uint32_t)r->action,
	};
	int rc = check_action(v, r->action, err);

	if (rc < 0)
		return rc;
	if (known)
		return known_again(v, known, r, err);
	rc = vmem_table_level(r->cgroup_fd, &head.level, err);
	if (rc < 0)
		return rc;
	if (!head.level)
		return err_set(err, -ESRCH, "the cgroup root cannot be a job");
	rc = vmem_table_enter(v, &head, &known, err);
	if (rc < 0)
		return rc;
	known->cgroup_fd = fcntl(r->cgroup_fd, F_DUPFD_CLOEXEC, 3);
	rc = known->cgroup_fd < 0 ? err_set(err, -errno, "keep the cgroup's directory: %m")
				  : count_insiders(v, known, err);
	if (rc < 0) {
		vmem_table_leave(v, known, NULL);
		return rc;
	}
	if (v->jobs[known->slot].latch.state > VMEM_X_FILLING)
		kick(v);
	return 0;
}

static struct vmem_known *find(struct vmem *v, uint64_t cgroup_id, struct err *err)
{
	struct vmem_known *known = vmem_table_find(v, cgroup_id);

	if (!known)
		err_set(err, -ENOENT, "cgroup %llu is not a job's",
			(unsigned long long)cgroup_id);
	return known;
}

int vmem_set_limit(struct vmem *v, uint64_t cgroup_id, uint64_t limit_bytes, struct err *err)
{
	struct vmem_known *known = find(v, cgroup_id, err);
	struct vmem_job *job;

	if (!known)
		return -ENOENT;
	job = &v->jobs[known->slot];
	__atomic_store_n(&job->limit_pages, limit_pages(v, limit_bytes), __ATOMIC_SEQ_CST);
	if (is_over(job) && vmem_table_latch(v, known, VMEM_OP_LIMIT, VMEM_CAUSE_PAGES))
		kick(v);
	return 0;
}

int vmem_remove(struct vmem *v, uint64_t cgroup_id, struct err *err)
{
	struct vmem_known *known = find(v, cgroup_id, err);

	return known ? vmem_table_leave(v, known, err) : -ENOENT;
}

int vmem_read(struct vmem *v, uint64_t cgroup_id, struct vmem_usage *ret, struct err *err)
{
	struct vmem_known *known = find(v, cgroup_id, err);
	const struct vmem_job *job;
	int rc;

	if (!known)
		return -ENOENT;
	rc = v->kernel ? 0 : vmem_table_audit(v, known, err);
	if (rc < 0)
		return rc;
	job = &v->jobs[known->slot];
	if (!v->kernel && job->latch.state > job->latch.reported)
		kick(v);
	*ret = (struct vmem_usage){
		.now_bytes = bytes_of(v, job->used_pages),
		.peak_bytes = bytes_of(v, job->peak_pages),
		.private_bytes = bytes_of(v, job->private_pages),
		.limit_bytes = bytes_of(v, job->limit_pages),
		.n_refused = (uint64_t)job->n_refused,
		.n_processes = job->n_spaces > 0 ? (uint32_t)job->n_spaces : 0,
		.is_exceeded = job->latch.state != VMEM_X_NONE,
		.is_no_room = job->latch.state != VMEM_X_NONE &&
			      job->latch.cause == VMEM_CAUSE_SPACES,
		.n_no_room = (uint64_t)job->n_no_room,
	};
	return 0;
}

int vmem_audit(struct vmem *v, uint64_t cgroup_id, uint64_t *ret_bytes, uint32_t *ret_processes,
	       struct err *err)
{
	struct vmem_known *known = find(v, cgroup_id, err);
	struct vmem_proc_list list = { 0 };
	int rc;

	if (!known)
		return -ENOENT;
	if (v->kernel) {
		rc = vmem_kernel_audit(v->kernel, &v->jobs[known->slot], 0, err);
		if (rc < 0)
			return rc;
		*ret_bytes = v->kernel->control->audit_pages * v->page_bytes;
		*ret_processes = (uint32_t)v->kernel->control->audit_spaces;
		return 0;
	}
	rc = known->cgroup_fd < 0 ? 0 : vmem_proc_audit(known->cgroup_fd, &list, err);
	*ret_bytes = list.bytes;
	*ret_processes = (uint32_t)list.n;
	vmem_proc_done(&list);
	return rc;
}
