/* SPDX-License-Identifier: GPL-2.0-or-later */
/* prof.c - counts context switches of jobs; includes the skeleton of bpf/prof.bpf.c; see
 * prof.h. */
#include <errno.h>
#include <linux/types.h>
#include <stdlib.h>
#include <string.h>
#include <bpf/bpf.h>
#include "agent/kernel/skeleton.h"
#include "agent/sample/prof.h"
#include "bpf/prof_abi.h"
#include "common/cleanup.h"
#include "prof.skel.h"

_Static_assert(PROF_N_BUCKETS == PROF_BUCKETS, "the two headers agree");

#define NAME "prof"

struct prof {
	struct skeleton *kern;
	int slots_fd, counts_fd, n_cpus;
	uint32_t n_slots;
	bool *is_taken;	       /* by slot */
	struct prof_cpu *cpus; /* n_cpus: room for one job */
};

/* Every running job has a core, suspended ones come on top; a slot takes 360 bytes a CPU. */
static uint32_t count_slots(int n_cpus)
{
	uint32_t n = 64 + 2 * (uint32_t)n_cpus;

	return n < PROF_MAX_JOBS ? n : PROF_MAX_JOBS;
}

static int configure_object(struct bpf_object *obj, void *ctx)
{
	const struct prof *p = ctx;

	return bpf_map__set_max_entries(bpf_object__find_map_by_name(obj, "counts"),
					p->n_slots);
}

/* The slots that an earlier agent assigned. */
static void find_taken(struct prof *p)
{
	uint64_t key, next;
	uint32_t slot;

	for (int more = bpf_map_get_next_key(p->slots_fd, NULL, &next); more == 0;
	     more = bpf_map_get_next_key(p->slots_fd, &key, &next)) {
		key = next;
		if (bpf_map_lookup_elem(p->slots_fd, &key, &slot) == 0 && slot < p->n_slots)
			p->is_taken[slot] = true;
	}
}

static const struct skeleton_hook hooks[] = {
	{ "prof_switch", SKELETON_TRACEPOINT, NULL, "context switches are not counted" },
};

static int load_object(struct prof *p, const struct prof_config *config, struct err *err)
{
	struct skeleton_spec spec = { .name = NAME,
				      .version = PROF_VERSION,
				      .hooks = hooks,
				      .n_hooks = ARRAY_LEN(hooks),
				      .pin_dir = config->pin_dir,
				      .configure = configure_object,
				      .ctx = p };
	uint32_t zero = 0;
	int r;

	spec.elf = prof_bpf__elf_bytes(&spec.elf_size);
	r = skeleton_open(&spec, &p->kern, err);
	if (r < 0)
		return r;
	if (!skeleton_has(p->kern, "prof_switch"))
		return err_set(err, -EOPNOTSUPP, "%.*s",
			       (int)strcspn(skeleton_status(p->kern), "\n"),
			       skeleton_status(p->kern));
	p->slots_fd = skeleton_map(p->kern, "slots");
	p->counts_fd = skeleton_map(p->kern, "counts");
	if (bpf_map_update_elem(skeleton_map(p->kern, "depth"), &zero, &config->level,
				BPF_ANY) < 0)
		return err_set(err, -errno, "switch profile: set the depth of jobs: %m");
	find_taken(p);
	return 0;
}

int prof_open(const struct prof_config *config, struct prof **ret, struct err *err)
{
	_cleanup_(prof_closep) struct prof *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return err_set(err, -ENOMEM, "out of memory");
	p->n_cpus = libbpf_num_possible_cpus();
	if (p->n_cpus < 0)
		return err_set(err, p->n_cpus, "count the CPUs: %s", strerror(-p->n_cpus));
	p->n_slots = count_slots(p->n_cpus);
	p->cpus = calloc((size_t)p->n_cpus, sizeof(*p->cpus));
	p->is_taken = calloc(p->n_slots, sizeof(*p->is_taken));
	if (!p->cpus || !p->is_taken)
		return err_set(err, -ENOMEM, "out of memory");
	r = load_object(p, config, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(p);
	return 0;
}

struct prof *prof_close(struct prof *p)
{
	if (!p)
		return NULL;
	skeleton_close(p->kern);
	free(p->cpus);
	free(p->is_taken);
	free(p);
	return NULL;
}

void prof_forget(const char *pin_dir)
{
	skeleton_forget(pin_dir, NAME);
}

/* The counts of a slot are cleared before its key is entered: the last job's are in it. */
int prof_add(struct prof *p, uint64_t cgroup_id, struct err *err)
{
	uint32_t slot = 0;

	if (bpf_map_lookup_elem(p->slots_fd, &cgroup_id, &slot) == 0)
		return 0;
	while (slot < p->n_slots && p->is_taken[slot])
		slot++;
	if (slot == p->n_slots)
		return err_set(err, -E2BIG, "switch profile: room for %u jobs, no more", slot);
	memset(p->cpus, 0, (size_t)p->n_cpus * sizeof(*p->cpus));
	if (bpf_map_update_elem(p->counts_fd, &slot, p->cpus, BPF_ANY) < 0 ||
	    bpf_map_update_elem(p->slots_fd, &cgroup_id, &slot, BPF_NOEXIST) < 0)
		return err_set(err, -errno, "switch profile: enter a job: %m");
	p->is_taken[slot] = true;
	return 0;
}

void prof_remove(struct prof *p, uint64_t cgroup_id)
{
	uint32_t slot;

	if (bpf_map_lookup_elem(p->slots_fd, &cgroup_id, &slot) < 0)
		return;
	bpf_map_delete_elem(p->slots_fd, &cgroup_id);
	if (slot < p->n_slots)
		p->is_taken[slot] = false;
}

void prof_prune(struct prof *p, bool (*is_known)(void *ctx, uint64_t cgroup_id), void *ctx)
{
	uint64_t key, next;
	int more = bpf_map_get_next_key(p->slots_fd, NULL, &next);

	while (more == 0) {
		key = next;
		more = bpf_map_get_next_key(p->slots_fd, &key, &next);
		if (!is_known(ctx, key))
			prof_remove(p, key);
	}
}

int prof_read(struct prof *p, uint64_t cgroup_id, struct prof_counts *ret, struct err *err)
{
	uint32_t slot;

	if (bpf_map_lookup_elem(p->slots_fd, &cgroup_id, &slot) < 0 ||
	    bpf_map_lookup_elem(p->counts_fd, &slot, p->cpus) < 0)
		return err_set(err, -errno, "switch profile: read: %m");
	memset(ret, 0, sizeof(*ret));
	for (int cpu = 0; cpu < p->n_cpus; cpu++) {
		const struct prof_cpu *c = &p->cpus[cpu];

		ret->on_cpu_ns += c->on_cpu_ns;
		ret->wait_ns += c->wait_ns;
		ret->switches += c->switches;
		ret->preemptions += c->preemptions;
		ret->migrations += c->migrations;
		for (int i = 0; i < PROF_N_BUCKETS; i++)
			ret->wait[i] += c->wait[i];
	}
	return 0;
}

uint64_t prof_longest_wait_ns(const struct prof_counts *c)
{
	for (int i = PROF_N_BUCKETS - 1; i >= 0; i--)
		if (c->wait[i])
			return UINT64_C(2) << i;
	return 0;
}
