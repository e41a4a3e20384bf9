/* SPDX-License-Identifier: GPL-2.0-or-later */
/* slots.c - slots of jobs in BPF arrays, found by cgroup id; see slots.h.
 *
 * An agent may be killed between any two steps: the key goes in after the record and out before
 * it, so that the kernel side never finds a slot without a record; sweep_slots() frees the rest.
 */
#include <errno.h>
#include <linux/types.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <bpf/bpf.h>
#include "agent/kernel/skeleton.h"
#include "agent/kernel/slots.h"
#include "common/cleanup.h"

struct head {
	__u64 cgroup_id; /* 0: free */
	__s64 job;
};

struct slots {
	int ids_fd;
	size_t size, length;
	uint32_t n;
	char *records;
	bool *is_ours; /* added by this process */
};

static struct head *head_of(const struct slots *s, uint32_t slot)
{
	return (struct head *)(void *)(s->records + (size_t)slot * s->size);
}

/* A record without its key, or a key without its record, is what a killed process left in
 * the middle of adding or removing: free it. */
static void sweep_slots(struct slots *s)
{
	__u64 id;
	__u32 slot;

	for (uint32_t i = 0; i < s->n; i++) {
		id = head_of(s, i)->cgroup_id;
		if (!id)
			continue;
		if (bpf_map_lookup_elem(s->ids_fd, &id, &slot) < 0 || slot != i)
			memset(head_of(s, i), 0, s->size);
	}
}

int slots_configure(struct bpf_object *obj, uint32_t n)
{
	struct bpf_map *ids = bpf_object__find_map_by_name(obj, "job_ids");
	struct bpf_map *jobs = bpf_object__find_map_by_name(obj, "jobs");
	int r;

	if (!ids || !jobs)
		return -EINVAL;
	r = bpf_map__set_max_entries(ids, n);
	return r < 0 ? r : bpf_map__set_max_entries(jobs, n);
}

int slots_open(const struct skeleton *kern, size_t size, uint32_t n, struct slots **ret,
	       struct err *err)
{
	_cleanup_(slots_closep) struct slots *s = calloc(1, sizeof(*s));
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *map;

	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	s->ids_fd = skeleton_map(kern, "job_ids");
	s->size = (size + 7) & ~(size_t)7; /* as the kernel lays the array out */
	s->n = n;
	s->length = (s->size * s->n + page - 1) / page * page;
	s->is_ours = calloc(s->n, sizeof(*s->is_ours));
	if (!s->is_ours)
		return err_set(err, -ENOMEM, "out of memory");
	map = mmap(NULL, s->length, PROT_READ | PROT_WRITE, MAP_SHARED,
		   skeleton_map(kern, "jobs"), 0);
	if (map == MAP_FAILED)
		return err_set(err, -errno, "map the job records: %m");
	s->records = map;
	sweep_slots(s);
	*ret = TAKE_PTR(s);
	return 0;
}

struct slots *slots_close(struct slots *s)
{
	if (!s)
		return NULL;
	if (s->records)
		munmap(s->records, s->length);
	free(s->is_ours);
	free(s);
	return NULL;
}

int slots_add(struct slots *s, uint64_t cgroup_id, int64_t job, uint32_t *ret)
{
	__u64 id = cgroup_id;
	__u32 slot;

	if (bpf_map_lookup_elem(s->ids_fd, &id, &slot) == 0 && slot < s->n) {
		if (s->is_ours[slot])
			return -EEXIST;
		s->is_ours[slot] = true;
		*ret = slot;
		return 1;
	}
	for (slot = 0; slot < s->n; slot++)
		if (!head_of(s, slot)->cgroup_id)
			break;
	if (slot == s->n)
		return -ENOSPC;
	memset(head_of(s, slot), 0, s->size);
	head_of(s, slot)->job = job;
	head_of(s, slot)->cgroup_id = id;
	s->is_ours[slot] = true;
	*ret = slot;
	return 0;
}

int slots_publish(struct slots *s, uint32_t slot)
{
	__u64 id = head_of(s, slot)->cgroup_id;
	__u32 value = slot;

	return bpf_map_update_elem(s->ids_fd, &id, &value, BPF_ANY) < 0 ? -errno : 0;
}

int slots_find(const struct slots *s, uint64_t cgroup_id)
{
	__u64 id = cgroup_id;
	__u32 slot;

	if (bpf_map_lookup_elem(s->ids_fd, &id, &slot) < 0 || slot >= s->n || !s->is_ours[slot])
		return -ENOENT;
	return (int)slot;
}

void *slots_record(const struct slots *s, uint32_t slot)
{
	return head_of(s, slot);
}

void slots_remove(struct slots *s, uint32_t slot)
{
	__u64 id = head_of(s, slot)->cgroup_id;

	bpf_map_delete_elem(s->ids_fd, &id);
	memset(head_of(s, slot), 0, s->size);
	s->is_ours[slot] = false;
}

unsigned slots_prune(struct slots *s)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < s->n; i++) {
		if (!head_of(s, i)->cgroup_id || s->is_ours[i])
			continue;
		slots_remove(s, i);
		n++;
	}
	return n;
}
