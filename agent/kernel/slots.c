/* slots.c - slots of jobs in BPF arrays, found by cgroup id; see slots.h. */
#include <errno.h>
#include <linux/types.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <bpf/bpf.h>
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

static struct head *head(const struct slots *s, uint32_t slot)
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
		id = head(s, i)->cgroup_id;
		if (!id)
			continue;
		if (bpf_map_lookup_elem(s->ids_fd, &id, &slot) < 0 || slot != i)
			memset(head(s, i), 0, s->size);
	}
}

int slots_open(const struct slots_maps *maps, struct slots **ret, struct err *err)
{
	_cleanup_(slots_closep) struct slots *s = calloc(1, sizeof(*s));
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *map;

	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	s->ids_fd = maps->ids_fd;
	s->size = (maps->size + 7) & ~(size_t)7;
	s->n = maps->n;
	s->length = (s->size * s->n + page - 1) / page * page;
	s->is_ours = calloc(s->n, sizeof(*s->is_ours));
	if (!s->is_ours)
		return err_set(err, -ENOMEM, "out of memory");
	map = mmap(NULL, s->length, PROT_READ | PROT_WRITE, MAP_SHARED, maps->records_fd, 0);
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
		if (!head(s, slot)->cgroup_id)
			break;
	if (slot == s->n)
		return -ENOSPC;
	memset(head(s, slot), 0, s->size);
	head(s, slot)->job = job;
	head(s, slot)->cgroup_id = id;
	s->is_ours[slot] = true;
	*ret = slot;
	return 0;
}

int slots_publish(struct slots *s, uint32_t slot)
{
	__u64 id = head(s, slot)->cgroup_id;
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
	return head(s, slot);
}

void slots_remove(struct slots *s, uint32_t slot)
{
	__u64 id = head(s, slot)->cgroup_id;

	bpf_map_delete_elem(s->ids_fd, &id);
	memset(head(s, slot), 0, s->size);
	s->is_ours[slot] = false;
}

unsigned slots_prune(struct slots *s)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < s->n; i++) {
		if (!head(s, i)->cgroup_id || s->is_ours[i])
			continue;
		slots_remove(s, i);
		n++;
	}
	return n;
}
