/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobs.c - the jobs in the table: adds one, changes its limit, reads its counts, counts it again
 * from the task list. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include "agent/enforce/vmem/hot.h"
#include "agent/enforce/vmem/table.h"
#include "common/cleanup.h"

/* The pages that `bytes` allow, rounded down. At least 1: a limit below a page is not "none". */
static int64_t limit_pages(const struct vmem *v, uint64_t bytes)
{
	uint64_t pages = bytes / v->page_bytes;

	if (!bytes)
		return 0;
	return pages < 1 ? 1 : pages > INT64_MAX ? INT64_MAX : (int64_t)pages;
}

static bool is_over_limit(const struct vmem_job *job)
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

/* A job that is in the table already, after a restart: returns 1 or -errno. */
static int update_known(struct vmem *v, struct vmem_known *known, const struct vmem_request *r,
			struct err *err)
{
	struct vmem_job *job = &v->jobs[known->slot];
	int fd = fcntl(r->cgroup_fd, F_DUPFD_CLOEXEC, 3);
	uint64_t within;
	uint32_t level;

	if (fd < 0)
		return err_set(err, -errno, "keep the cgroup's directory: %m");
	closep(&known->cgroup_fd);
	known->cgroup_fd = fd;
	/* It may be gone by now: the programs then look its tasks up, as long as it is in the table. */
	if (vmem_table_level(fd, &level, &within, NULL) < 0)
		within = 0;
	vmem_table_place(v, known, within);
	job->job_id = r->job_id;
	job->is_parted = r->part_depth > 0; /* an older version's table did not have it */
	__atomic_store_n(&job->max_spaces, max_spaces(r), __ATOMIC_RELEASE);
	__atomic_store_n(&job->action, (uint32_t)r->action, __ATOMIC_RELEASE);
	return vmem_set_limit(v, r->cgroup_id, r->limit_bytes, err) ?: 1;
}

/* true also when the file cannot be read: an audit too many does no harm. */
static bool is_populated(int cgroup_fd)
{
	_cleanup_close_ int fd = openat(cgroup_fd, "cgroup.events", O_RDONLY | O_CLOEXEC);
	char text[128] = "";
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	return n <= 0 || !strstr(text, "populated 0");
}

/* Counts the processes that are in the cgroup already. Twice: the walk of the task list may miss
 * a process whose threads change meanwhile. */
static int count_insiders(struct vmem *v, struct vmem_known *known, struct err *err)
{
	int rc = 0, i;

	for (i = 0; rc == 0 && i < 2 && is_populated(known->cgroup_fd); i++)
		rc = vmem_table_audit(v, known, err);
	return rc;
}

static int attach_hot(struct vmem *v, struct err *err)
{
	struct err why = { "" };
	int rc;

	if (!v->kernel)
		return 0;
	rc = vmem_hot_attach(v->kernel, v->config.pin_dir, err);
	if (rc == 0 || v->n_known)
		return rc;
	rc = v->reload(v, &why);
	if (rc == 0)
		rc = vmem_hot_attach(v->kernel, v->config.pin_dir, &why);
	return rc < 0 ? err_set(err, rc, "load the vmem programs again: %.400s", why.text) : 0;
}

/* The job is in the table before those inside are counted: a process that forks meanwhile is entered by the
 * hooks, and one that both see is entered once (keyed by address space). */
int vmem_add(struct vmem *v, const struct vmem_request *r, struct err *err)
{
	struct vmem_known *known = vmem_table_find(v, r->cgroup_id);
	struct vmem_job head = {
		.job_id = r->job_id,
		.cgroup_id = r->cgroup_id,
		.limit_pages = limit_pages(v, r->limit_bytes),
		.max_spaces = max_spaces(r),
		.action = (uint32_t)r->action,
		.is_parted = r->part_depth > 0,
	};
	uint64_t within;
	int rc = check_action(v, r->action, err);

	if (rc < 0)
		return rc;
	if (known)
		return update_known(v, known, r, err);
	if (r->part_depth && !v->kernel)
		return err_set(
			err, -EOPNOTSUPP,
			"without BPF (tier 3) the address space of a job of Slurm or PBS cannot be told from that of slurmstepd or pbs_mom");
	rc = vmem_table_level(r->cgroup_fd, &head.level, &within, err);
	if (rc < 0)
		return rc;
	head.level += r->part_depth;
	if (head.level == r->part_depth)
		return err_set(err, -ESRCH, "the cgroup root cannot be a job");
	rc = attach_hot(v, err);
	if (rc == 0)
		rc = vmem_table_enter(v, &head, within, &known, err);
	if (rc < 0) {
		vmem_excess_idle(v);
		return rc;
	}
	known->cgroup_fd = fcntl(r->cgroup_fd, F_DUPFD_CLOEXEC, 3);
	rc = known->cgroup_fd < 0 ? err_set(err, -errno, "keep the cgroup's directory: %m")
				  : count_insiders(v, known, err);
	if (rc < 0) {
		vmem_table_leave(v, known, NULL);
		vmem_excess_idle(v);
		return rc;
	}
	if (v->jobs[known->slot].latch.state > VMEM_X_FILLING)
		vmem_excess_wake(v);
	return 0;
}

static struct vmem_known *find_known(struct vmem *v, uint64_t cgroup_id, struct err *err)
{
	struct vmem_known *known = vmem_table_find(v, cgroup_id);

	if (!known)
		err_set(err, -ENOENT, "cgroup %llu is not a job's",
			(unsigned long long)cgroup_id);
	return known;
}

int vmem_set_parts(struct vmem *v, uint64_t cgroup_id, const int *part_fds, size_t n,
		   struct err *err)
{
	struct vmem_known *known = find_known(v, cgroup_id, err);
	_cleanup_free_ uint64_t *ids = calloc(n + 1, sizeof(*ids));
	struct stat st;

	if (!known || !v->kernel)
		return -ENOENT;
	if (!ids)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++) {
		if (fstat(part_fds[i], &st) < 0)
			return err_set(err, -errno, "look at a part of a job: %m");
		ids[i] = st.st_ino;
	}
	return vmem_parts_set(v, known, ids, n, err);
}

/* The limit is stored before the sum is read: a growth in between is compared by the kernel side with the new
 * limit. */
int vmem_set_limit(struct vmem *v, uint64_t cgroup_id, uint64_t limit_bytes, struct err *err)
{
	struct vmem_known *known = find_known(v, cgroup_id, err);
	struct vmem_job *job;

	if (!known)
		return -ENOENT;
	job = &v->jobs[known->slot];
	__atomic_store_n(&job->limit_pages, limit_pages(v, limit_bytes), __ATOMIC_SEQ_CST);
	if (is_over_limit(job) && vmem_table_latch(v, known, VMEM_OP_LIMIT, VMEM_CAUSE_PAGES))
		vmem_excess_wake(v);
	return 0;
}

int vmem_remove(struct vmem *v, uint64_t cgroup_id, struct err *err)
{
	struct vmem_known *known = find_known(v, cgroup_id, err);
	int rc = known ? vmem_table_leave(v, known, err) : -ENOENT;

	vmem_excess_idle(v);
	return rc;
}

int vmem_read(struct vmem *v, uint64_t cgroup_id, struct vmem_usage *ret, struct err *err)
{
	struct vmem_known *known = find_known(v, cgroup_id, err);
	const struct vmem_job *job;
	int rc;

	if (!known)
		return -ENOENT;
	rc = v->kernel ? 0 : vmem_table_audit(v, known, err);
	if (rc < 0)
		return rc;
	job = &v->jobs[known->slot];
	if (!v->kernel && job->latch.state > job->latch.reported)
		vmem_excess_wake(v);
	*ret = (struct vmem_usage){
		.now_bytes = vmem_table_bytes(v, job->used_pages),
		.peak_bytes = vmem_table_bytes(v, job->peak_pages),
		.private_bytes = vmem_table_bytes(v, job->private_pages),
		.limit_bytes = vmem_table_bytes(v, job->limit_pages),
		.n_refused = (uint64_t)job->n_refused,
		.n_processes = job->n_spaces > 0 ? (uint32_t)job->n_spaces : 0,
		.emptied_ns = job->n_spaces > 0 ? 0 : (int64_t)job->emptied_ns,
		.is_exceeded = job->latch.state != VMEM_X_NONE,
		.is_survived = job->latch.state == VMEM_X_REFUSED,
		.is_no_room = job->latch.state != VMEM_X_NONE &&
			      job->latch.cause == VMEM_CAUSE_SPACES,
		.n_no_room = (uint64_t)job->n_no_room,
	};
	return 0;
}

int vmem_audit(struct vmem *v, uint64_t cgroup_id, uint64_t *ret_bytes, uint32_t *ret_processes,
	       struct err *err)
{
	struct vmem_known *known = find_known(v, cgroup_id, err);
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

enum vmem_tier vmem_tier(const struct vmem *v)
{
	return v->tier;
}
