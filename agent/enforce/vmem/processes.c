/* SPDX-License-Identifier: GPL-2.0-or-later */
/* processes.c - lists the processes of a job with their sizes, for the table shown when the job
 * exceeds its limit. See vmem.h.
 *
 * In tiers 1 and 2 the source is the kernel's own table, where the address spaces of a job that
 * has exceeded leave their last size: the list is complete although the job is being killed.
 */
#include <errno.h>
#include <string.h>
#include <bpf/bpf.h>
#include "agent/enforce/vmem/table.h"
#include "common/cleanup.h"

#define BATCH 256
#define PAGES(word) ((word) & ((1ULL << VMEM_PAGE_BITS) - 1))

struct walk {
	struct vmem *v;
	struct vmem_known *known;
	struct vmem_proc_list list;
};

typedef int (*entry_fn)(struct walk *w, const void *key, const void *value);

static int add_to_list(struct vmem_proc_list *list, const struct vmem_process *p)
{
	struct vmem_process *at = vmem_proc_room(list);

	if (!at)
		return -ENOMEM;
	*at = *p;
	list->n++;
	return 0;
}

/* Calls fn for each entry of a hash map, which may change meanwhile, 256 with one system call.
 * ENOENT from the kernel comes with the last batch. */
static int each_entry(int fd, size_t key_size, size_t value_size, entry_fn fn, struct walk *w)
{
	_cleanup_free_ char *keys = malloc(BATCH * key_size);
	_cleanup_free_ char *values = malloc(BATCH * value_size);
	char token[64], *at = NULL;
	__u32 n, i;
	int rc = 0, more;

	if (!keys || !values)
		return -ENOMEM;
	do {
		n = BATCH;
		more = !bpf_map_lookup_batch(fd, at, token, keys, values, &n, NULL);
		if (!more && errno != ENOENT)
			return -errno;
		for (i = 0; rc == 0 && i < n; i++)
			rc = fn(w, keys + i * key_size, values + i * value_size);
		at = token;
	} while (rc == 0 && more);
	return rc;
}

static int add_space(struct walk *w, const void *key, const void *value)
{
	const struct vmem_space *s = value;
	struct vmem_process p = { .pid = s->tgid };

	(void)key;
	if (s->used >> VMEM_PAGE_BITS != w->known->slot)
		return 0;
	memcpy(p.comm, s->comm, sizeof(p.comm));
	p.bytes = PAGES(s->used) * w->v->page_bytes;
	p.private_bytes = PAGES(s->private_used) * w->v->page_bytes;
	return add_to_list(&w->list, &p);
}

static int add_gone(struct walk *w, const void *key, const void *value)
{
	const struct vmem_gone_key *k = key;
	const struct vmem_gone *g = value;
	struct vmem_process p = { .pid = k->tgid, .is_gone = true };

	if (k->cgroup_id != w->known->cgroup_id)
		return 0;
	memcpy(p.comm, g->comm, sizeof(p.comm));
	p.bytes = g->pages * w->v->page_bytes;
	return add_to_list(&w->list, &p);
}

static int list_from_kernel(struct walk *w)
{
	const int *fd = w->v->kernel->map_fd;
	int rc;

	rc = each_entry(fd[VMEM_MAP_SPACES], sizeof(__u64), sizeof(struct vmem_space),
			add_space, w);
	if (rc == 0 && w->v->jobs[w->known->slot].latch.state == VMEM_X_KILLED)
		rc = each_entry(fd[VMEM_MAP_GONE], sizeof(struct vmem_gone_key),
				sizeof(struct vmem_gone), add_gone, w);
	return rc;
}

/* A process that dies between the two walks is in both: of two entries of a process only the larger, which comes first, is copied. Returns how
 * many entries the list has without such repeats among the copied. */
static size_t copy_largest(const struct vmem_proc_list *list, struct vmem_process *out,
			   size_t max)
{
	size_t n = 0, n_repeats = 0, k;

	for (size_t i = 0; i < list->n && n < max; i++) {
		for (k = 0; k < n && out[k].pid != list->at[i].pid; k++)
			;
		if (k < n)
			n_repeats++;
		else
			out[n++] = list->at[i];
	}
	return list->n - n_repeats;
}

int vmem_processes(struct vmem *v, uint64_t cgroup_id, struct vmem_process *out, size_t max,
		   size_t *ret_n)
{
	struct walk w = { .v = v, .known = vmem_table_find(v, cgroup_id) };
	size_t i;
	int rc = 0;

	if (!w.known)
		return -ENOENT;
	if (v->kernel)
		rc = list_from_kernel(&w);
	for (i = 0; rc == 0 && !v->kernel && i < w.known->last.n; i++)
		rc = add_to_list(&w.list, &w.known->last.at[i]);
	if (rc == 0) {
		vmem_proc_sort(w.list.at, w.list.n);
		*ret_n = copy_largest(&w.list, out, max);
	}
	vmem_proc_done(&w.list);
	return rc;
}
