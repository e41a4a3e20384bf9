/* SPDX-License-Identifier: GPL-2.0-or-later */
/* guard.bpf.c - refuses what a job may not do although file and process permissions would let
 * it, and kills the writer that hits its disk quota before the write returns.
 *
 * The refusals hook the security_* functions themselves (fmod_ret), which works without BPF
 * among the kernel's security modules. For tasks outside every job each costs one walk up the
 * cgroup tree at an ioctl, ptrace or quota excess of the guarded kind, nothing otherwise.
 */
#include "bpf/kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include "bpf/guard_abi.h"
#include "bpf/lib/call.h"
#include "bpf/lib/jobs.h"

#define RING_BYTES GUARD_RING_BYTES
#define EPERM 1
#define SIGKILL 9
#define SECOND_NS 1000000000ull
#define IOC_FSSETXATTR 0x401c5820u /* FS_IOC_FSSETXATTR */
#define IOC_SETFLAGS 0x40086602u   /* FS_IOC_SETFLAGS: could clear FS_PROJINHERIT_FL */
#define IOC_SETFLAGS32 0x40046602u
#define MODE_ATTACH 2u /* PTRACE_MODE_ATTACH: control; else read access, mostly /proc */
#define QUOTA_PROJECT 2u
#define QUOTA_INODES_HARD 1
#define QUOTA_BLOCKS_HARD 4

JOBS_MAPS(struct guard_record);

struct { /* project id -> slot */
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} projects SEC(".maps");

#include "bpf/lib/find.h"
#include "bpf/lib/ring.h"

/* Names the current process as the one that did it. */
static __always_inline struct guard_message *reserve_message(const struct guard_record *job,
							     __u32 kind)
{
	struct guard_message *m = ring_reserve(sizeof(*m));

	if (!m)
		return 0;
	m->cgroup_id = job->cgroup_id;
	m->boot_ns = bpf_ktime_get_boot_ns();
	m->kind = kind;
	m->pid = bpf_get_current_pid_tgid() >> 32;
	bpf_get_current_comm(m->comm, sizeof(m->comm));
	return m;
}

/* At most one message a second, however often a job tries. */
static __always_inline bool is_due(__u64 *last_ns)
{
	__u64 now = bpf_ktime_get_boot_ns(), last = *last_ns;

	if (last && now - last < SECOND_NS)
		return false;
	return __sync_val_compare_and_swap(last_ns, last, now) == last;
}

enum bpf_func_id {
	BPF_FUNC_task_pt_regs = 175,
};

/* Which call hit the quota, for the end message. A 32-bit program has other numbers, and none of these for a call that
 * allocates; in a page fault the number is -1. */
static __always_inline void name_call(struct guard_message *m)
{
	struct call call = {};

	if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return;
	call_of(bpf_get_current_task_btf(), &call);
	if (call.nr == (call.is_x86 ? 1 : 64) || call.nr == (call.is_x86 ? 18 : 68)) {
		m->call = GUARD_CALL_WRITE; /* write, pwrite64 */
		m->asked_bytes = call.third;
	} else if (call.nr == (call.is_x86 ? 285 : 47)) {
		m->call = GUARD_CALL_FALLOCATE;
		m->asked_bytes = call.fourth;
	}
}

/* struct kqid arrives in one register: project id low, type high. One write call can come here
 * thousands of times: the first is reported, each one kills. */
SEC("?fentry/quota_send_warning")
int BPF_PROG(guard_quota, __u64 qid, __u32 dev, char warning)
{
	__u32 projid = (__u32)qid, *slot, kind, killed = 0;
	struct guard_record *job;
	struct guard_message *m;

	if (qid >> 32 != QUOTA_PROJECT)
		return 0;
	if (warning == QUOTA_BLOCKS_HARD)
		kind = 1;
	else if (warning == QUOTA_INODES_HARD)
		kind = 2;
	else
		return 0;
	slot = bpf_map_lookup_elem(&projects, &projid);
	job = slot ? bpf_map_lookup_elem(&jobs, slot) : 0;
	if (!job || (job->dev && job->dev != dev))
		return 0;
	__sync_fetch_and_add(&job->n_quota, 1);
	/* Not the agent, which may hit the limit while it cleans up. */
	if (job->is_kill && find_current_job() == *slot)
		killed = bpf_send_signal(SIGKILL) == 0;
	if (__sync_fetch_and_or(&job->reported, kind) & kind)
		return 0;
	m = reserve_message(job, GUARD_MSG_QUOTA);
	if (!m)
		return 0;
	m->detail = kind;
	m->killed = killed;
	if (find_current_job() == *slot)
		name_call(m);
	bpf_ringbuf_submit(m, 0);
	return 0;
}

static __always_inline int refuse_setproject(struct guard_record *job)
{
	struct guard_message *m;

	__sync_fetch_and_add(&job->n_denied, 1);
	if (is_due(&job->reported_setproject_ns)) {
		m = reserve_message(job, GUARD_MSG_SETPROJECT);
		if (m)
			bpf_ringbuf_submit(m, 0);
	}
	return -EPERM;
}

/* The project id may not be set on any file system, flags not on the one that holds jobfs:
 * files that are created in a directory without the inherit flag are outside the quota. */
static __always_inline int check_ioctl(struct file *file, unsigned int cmd)
{
	struct guard_record *job;

	if (cmd != IOC_FSSETXATTR && cmd != IOC_SETFLAGS && cmd != IOC_SETFLAGS32)
		return 0;
	job = find_record(find_current_job());
	if (!job)
		return 0;
	if (cmd != IOC_FSSETXATTR && job->dev &&
	    job->dev != BPF_CORE_READ(file, f_inode, i_sb, s_dev))
		return 0;
	return refuse_setproject(job);
}

SEC("?fmod_ret/security_file_ioctl")
int BPF_PROG(guard_ioctl, struct file *file, unsigned int cmd, unsigned long arg, int ret)
{
	return ret ? ret : check_ioctl(file, cmd);
}

SEC("?fmod_ret/security_file_ioctl_compat")
int BPF_PROG(guard_ioctl_compat, struct file *file, unsigned int cmd, unsigned long arg,
	     int ret)
{
	return ret ? ret : check_ioctl(file, cmd);
}

/* From 6.17 on: the system call file_setattr and both ioctls end here. */
SEC("?fmod_ret/security_inode_file_setattr")
int BPF_PROG(guard_setattr, struct dentry *dentry, void *attr, int ret)
{
	struct guard_record *job;

	if (ret)
		return ret;
	job = find_record(find_current_job());
	if (!job || (job->dev && job->dev != BPF_CORE_READ(dentry, d_inode, i_sb, s_dev)))
		return 0;
	return refuse_setproject(job);
}

static __always_inline int refuse_ptrace(__u32 slot, __s32 target)
{
	struct guard_record *job = find_record(slot);
	struct guard_message *m;

	if (!job)
		return -EPERM;
	__sync_fetch_and_add(&job->n_denied, 1);
	if (!is_due(&job->reported_ptrace_ns))
		return -EPERM;
	m = reserve_message(job, GUARD_MSG_PTRACE);
	if (!m)
		return -EPERM;
	m->other = target;
	bpf_ringbuf_submit(m, 0);
	return -EPERM;
}

/* A read access (no MODE_ATTACH) is refused without a message, since every ps(1) makes one to
 * each process. /proc/PID/root and /proc/PID/cwd of a process outside lead to files that are
 * hidden from the job, /proc/PID/ns to namespaces that would outlive their job. */
SEC("?fmod_ret/security_ptrace_access_check")
int BPF_PROG(guard_ptrace, struct task_struct *child, unsigned int mode, int ret)
{
	__u32 slot;

	if (ret)
		return ret;
	slot = find_current_job();
	if (slot == FIND_NONE || find_job(find_cgroup(child), 0) == slot)
		return 0;
	return mode & MODE_ATTACH ? refuse_ptrace(slot, BPF_CORE_READ(child, tgid)) : -EPERM;
}

/* PTRACE_TRACEME gives control to the parent: refused when that is in another job, or one of the
 * two is in none. */
SEC("?fmod_ret/security_ptrace_traceme")
int BPF_PROG(guard_traceme, struct task_struct *parent, int ret)
{
	__u32 own, other;

	if (ret)
		return ret;
	own = find_current_job();
	other = find_job(find_cgroup(parent), 0);
	if (own == other)
		return 0;
	return refuse_ptrace(own == FIND_NONE ? other : own, BPF_CORE_READ(parent, tgid));
}

/* io_uring's thread that polls for a process (IORING_SETUP_SQPOLL) is bound to every core that the node has, or to any core that is asked for,
 * whatever the cpuset of its cgroup. Without it io_uring works as before. */
SEC("?fmod_ret/security_uring_sqpoll")
int BPF_PROG(guard_sqpoll, int ret)
{
	struct guard_record *job;

	if (ret)
		return ret;
	job = find_record(find_current_job());
	if (!job)
		return 0;
	__sync_fetch_and_add(&job->n_denied, 1);
	return -EPERM;
}

static __always_inline void send_left(__u32 slot, struct task_struct *task, struct cgroup *to)
{
	struct guard_record *job = find_record(slot);
	struct guard_message *m = job ? reserve_message(job, GUARD_MSG_LEFT) : 0;

	if (!m)
		return;
	m->other = m->pid;
	m->pid = BPF_CORE_READ(task, tgid);
	BPF_CORE_READ_STR_INTO(&m->comm, task, comm);
	m->now_in = BPF_CORE_READ(to, kn, id);
	bpf_ringbuf_submit(m, 0);
}

/* Runs before the move: the task is still in its old cgroup. A refused move is reported as well. */
SEC("?fentry/cgroup_attach_task")
int BPF_PROG(guard_attach, struct cgroup *to, struct task_struct *leader, bool threadgroup)
{
	__u32 from = find_job(find_cgroup(leader), 0);

	if (from != FIND_NONE && find_job(to, 0) != from)
		send_left(from, leader, to);
	return 0;
}

/* clone3() with CLONE_INTO_CGROUP starts a child in another cgroup; no attach follows. */
SEC("?tp_btf/sched_process_fork")
int BPF_PROG(guard_fork, struct task_struct *parent, struct task_struct *child)
{
	struct css_set *before = parent->cgroups, *after = child->cgroups;
	__u32 from;

	if (before == after)
		return 0;
	from = find_job(before->dfl_cgrp, 0);
	if (from != FIND_NONE && find_job(after->dfl_cgrp, 0) != from)
		send_left(from, child, after->dfl_cgrp);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
