/* SPDX-License-Identifier: GPL-2.0-or-later */
/* slots.h - the list of jobs in a BPF object (bpf/lib/jobs.h): a hash of cgroup id to slot, and an
 * array of one record a slot, mapped into this process: reading a figure costs no system call.
 *
 * A record begins with a __u64 cgroup id and a __s64 job number. The slots of a pinned pair
 * outlive the process: slots_add() of a job that is already there takes its record over.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "common/err.h"

struct bpf_object;
struct skeleton;
struct slots;

/* Before loading: room for `n` jobs in the maps of bpf/lib/jobs.h. 0 or -errno. */
int slots_configure(struct bpf_object *obj, uint32_t n);
/* The maps of a loaded object, which must outlive the slots; `size`: bytes of a record, `n` as
 * configured. */
int slots_open(const struct skeleton *kern, size_t size, uint32_t n, struct slots **ret,
	       struct err *err);
struct slots *slots_close(struct slots *s);

/* Find or make a slot: 0 a new, zeroed record; 1 the record of an earlier process, as it was.
 * *ret is the slot. -EEXIST: added by this process before; -ENOSPC. The kernel side sees a
 * new slot only after slots_publish(): fill in the record between. */
int slots_add(struct slots *s, uint64_t cgroup_id, int64_t job, uint32_t *ret);
int slots_publish(struct slots *s, uint32_t slot);
/* The slot of a job added by this process, or -ENOENT. */
int slots_find(const struct slots *s, uint64_t cgroup_id);
void *slots_record(const struct slots *s, uint32_t slot);
void slots_remove(struct slots *s, uint32_t slot);
/* Remove what earlier processes left and this one has not added. Returns how many. */
unsigned slots_prune(struct slots *s);

static inline void slots_closep(struct slots **s)
{
	slots_close(*s);
}
