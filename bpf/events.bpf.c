/* SPDX-License-Identifier: GPL-2.0-or-later */
/* events.bpf.c - reports OOM kills, freezing and emptiness of jobs, and adds up frozen time.
 *
 * The kernel fires cgroup_notify_frozen for each cgroup whose state flips: for the one that
 * was written to, for every cgroup below it and for those above that follow. A job frozen
 * through an ancestor is thus seen by its own id; a job of Slurm, which is never frozen itself, by
 * its steps. These hooks run under css_set_lock, one at
 * a time: they need no lock against each other. `seq` is for the reader.
 */
#include "bpf/kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include "bpf/events_abi.h"
#include "bpf/lib/jobs.h"

#define RING_BYTES EVENTS_RING_BYTES
JOBS_MAPS(struct events_record);

#include "bpf/lib/find.h"
#include "bpf/lib/ring.h"
#include "bpf/lib/rss.h"

static __always_inline struct events_record *job_of_cgroup(struct cgroup *cgrp)
{
	__u64 id = cgrp->kn->id;
	__u32 *slot = bpf_map_lookup_elem(&job_ids, &id);

	return slot ? find_record(*slot) : 0;
}

static __always_inline struct events_message *reserve_message(const struct events_record *job,
							      __u32 kind)
{
	struct events_message *m = ring_reserve(sizeof(*m));

	if (!m)
		return 0;
	m->cgroup_id = job->cgroup_id;
	m->boot_ns = bpf_ktime_get_boot_ns();
	m->kind = kind;
	return m;
}

/* The job that `cgrp` is a step of, where the job is one that its steps freeze. */
static __always_inline struct events_record *job_of_step(struct cgroup *cgrp)
{
	struct events_record *job;
	__u32 *slot;
	__u64 id;

	if (cgrp->level <= EVENTS_STEP_DEPTH)
		return 0;
	id = find_ancestor_id(cgrp, cgrp->level - EVENTS_STEP_DEPTH);
	slot = bpf_map_lookup_elem(&job_ids, &id);
	job = slot ? find_record(*slot) : 0;
	return job && job->by_steps ? job : 0;
}

/* Counts the step; returns whether the job became frozen, or thawed, with it. A step that was frozen before it was counted thaws nothing. */
static __always_inline int count_step(struct events_record *job, int frozen)
{
	if (frozen)
		return job->steps_frozen++ == 0;
	return job->steps_frozen && --job->steps_frozen == 0;
}

SEC("?tp_btf/cgroup_notify_frozen")
int BPF_PROG(events_frozen_flip, struct cgroup *cgrp, const char *path, int frozen)
{
	struct events_record *job = job_of_cgroup(cgrp);
	struct events_message *m;
	__u64 now, since;
	int flips = 1;

	if (!job) {
		job = job_of_step(cgrp);
		if (!job)
			return 0;
		__sync_fetch_and_add(&job->seq, 1);
		flips = count_step(job, frozen);
		__sync_fetch_and_add(&job->seq, 1);
	}
	if (!flips)
		return 0;
	now = bpf_ktime_get_boot_ns();
	__sync_fetch_and_add(&job->seq, 1);
	if (frozen) { /* the agent may have set since_ns: it found the cgroup frozen */
		if (__sync_val_compare_and_swap(&job->since_ns, 0, now) == 0)
			job->n_frozen++;
	} else {
		since = __sync_lock_test_and_set(&job->since_ns, 0);
		if (since && now > since)
			job->total_ns += now - since;
	}
	__sync_fetch_and_add(&job->seq, 1);
	m = reserve_message(job, frozen ? EVENTS_FROZEN : EVENTS_THAWED);
	if (m)
		bpf_ringbuf_submit(m, 0);
	return 0;
}

SEC("?tp_btf/cgroup_notify_populated")
int BPF_PROG(events_populated_flip, struct cgroup *cgrp, const char *path, int populated)
{
	struct events_record *job = job_of_cgroup(cgrp);
	struct events_message *m;

	if (!job || populated)
		return 0;
	__sync_fetch_and_add(&job->n_empty, 1);
	m = reserve_message(job, EVENTS_EMPTY);
	if (m)
		bpf_ringbuf_submit(m, 0);
	return 0;
}

/* `mem` is the cgroup whose limit was hit; NULL: the node's memory, or not known. */
static __always_inline void send_oom(struct task_struct *victim, struct mem_cgroup *mem)
{
	__u32 slot = find_job(find_cgroup(victim), 0);
	struct events_record *job = find_record(slot);
	struct events_message *m;
	struct cgroup *limited;

	if (!job)
		return;
	__sync_fetch_and_add(&job->n_oom, 1);
	m = reserve_message(job, EVENTS_OOM);
	if (!m)
		return;
	m->pid = BPF_CORE_READ(victim, tgid);
	BPF_CORE_READ_STR_INTO(&m->comm, victim, comm);
	m->rss_pages = rss_pages(BPF_CORE_READ(victim, mm));
	if (mem) {
		limited = BPF_CORE_READ(mem, css.cgroup);
		m->limit_cgroup_id = BPF_CORE_READ(limited, kn, id);
		m->own_limit = find_job(limited, 0) == slot;
		m->usage_pages = BPF_CORE_READ(mem, memory.usage.counter);
		m->limit_pages = BPF_CORE_READ(mem, memory.max);
	}
	bpf_ringbuf_submit(m, 0);
}

SEC("?fentry/oom_kill_process")
int BPF_PROG(events_oom_kill, struct oom_control *oc, const char *words)
{
	send_oom(BPF_CORE_READ(oc, chosen), BPF_CORE_READ(oc, memcg));
	return 0;
}

/* Without trampolines: the victim is known, the limit is not. Fires once per killed process, so
 * for each member of a group kill. Older kernels pass the pid instead of the task, and refuse to
 * load this program. */
SEC("?tp_btf/mark_victim")
int BPF_PROG(events_mark_victim, struct task_struct *victim)
{
	send_oom(victim, (struct mem_cgroup *)0);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
