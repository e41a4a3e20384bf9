/* SPDX-License-Identifier: GPL-2.0-or-later */
/* devices.bpf.c - which device files a job may open: of those that are gated, only the ones it
 * was granted. What it lets through, another program (systemd's DeviceAllow=) may still refuse.
 *
 * Attached once, to the cgroup above all jobs. A process below it that belongs to no known job
 * opens no gated device at all: a job is not unguarded between its start and its entry here. A
 * file of a major without gated devices costs one look-up in an array.
 */
#include "bpf/kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include "bpf/devices_abi.h"
#include "bpf/lib/jobs.h"

#define TYPE_MASK 0xffff
#define TYPE_CHAR 2
#define REFUSE 0 /* EPERM */
#define PASS 1

struct bpf_cgroup_dev_ctx { /* UAPI */
	__u32 access_type;  /* access << 16 | type */
	__u32 major, minor;
};

JOBS_MAPS(struct devices_record);

struct { /* device number -> generation of the list it is on */
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, DEVICES_GATED_MAX);
	__type(key, __u64);
	__type(value, __u32);
} gated SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, DEVICES_MAJORS);
	__type(key, __u32);
	__type(value, struct devices_major);
} majors SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, DEVICES_GRANTS_MAX);
	__type(key, struct devices_grant);
	__type(value, __u32);
} grants SEC(".maps");

#include "bpf/lib/find.h"

static __always_inline bool is_gated(__u64 number)
{
	__u32 major = number >> 32, minor = (__u32)number;
	const struct devices_major *m = bpf_map_lookup_elem(&majors, &major);

	if (!m || !m->is_gated)
		return false;
	if (m->has_range && minor >= m->first && minor <= m->last)
		return true;
	return bpf_map_lookup_elem(&gated, &number) != 0;
}

SEC("cgroup/dev")
int devices_gate(struct bpf_cgroup_dev_ctx *ctx)
{
	struct devices_grant grant = { 0, (__u64)ctx->major << 32 | ctx->minor };
	struct devices_record *job;

	if ((ctx->access_type & TYPE_MASK) != TYPE_CHAR || !is_gated(grant.number))
		return PASS;
	job = find_record(find_current_job());
	if (!job)
		return REFUSE;
	grant.cgroup_id = job->cgroup_id;
	if (bpf_map_lookup_elem(&grants, &grant)) {
		__sync_fetch_and_add(&job->n_granted, 1);
		return PASS;
	}
	__sync_fetch_and_add(&job->n_refused, 1);
	job->last_refused = grant.number;
	return REFUSE;
}

char LICENSE[] SEC("license") = "GPL";
