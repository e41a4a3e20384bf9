/* prof.c - see prof.h. The only file that includes the skeleton of bpf/prof.bpf.c. */
#include <errno.h>
#include <linux/types.h>
#include <stdlib.h>
#include <string.h>
#include <bpf/bpf.h>
#include "agent/sample/prof.h"
#include "bpf/prof_abi.h"
#include "common/cleanup.h"
#include "prof.skel.h"

_Static_assert(PROF_N_BUCKETS == PROF_BUCKETS, "the two headers agree");

struct prof {
	struct prof_bpf *skel;
	int n_cpus;
};

int prof_open(uint64_t cgroup_id, uint32_t level, struct prof **ret, struct err *err)
{
	_cleanup_(prof_closep) struct prof *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return err_set(err, -ENOMEM, "out of memory");
	p->n_cpus = libbpf_num_possible_cpus();
	if (p->n_cpus < 0)
		return err_set(err, p->n_cpus, "count the CPUs: %s", strerror(-p->n_cpus));
	p->skel = prof_bpf__open();
	if (!p->skel)
		return err_set(err, -errno, "profile: %m");
	p->skel->rodata->job_id = cgroup_id;
	p->skel->rodata->job_level = (int)level;
	r = prof_bpf__load(p->skel);
	if (r < 0)
		return err_set(err, r, "profile: the kernel refuses the program: %s",
			       strerror(-r));
	r = prof_bpf__attach(p->skel);
	if (r < 0)
		return err_set(err, r, "profile: attach to sched_switch: %s", strerror(-r));
	*ret = TAKE_PTR(p);
	return 0;
}

int prof_read(struct prof *p, struct prof_counts *ret, struct err *err)
{
	_cleanup_free_ struct prof_cpu *all = calloc((size_t)p->n_cpus, sizeof(*all));
	uint32_t zero = 0;

	if (!all)
		return err_set(err, -ENOMEM, "out of memory");
	if (bpf_map_lookup_elem(bpf_map__fd(p->skel->maps.counts), &zero, all) < 0)
		return err_set(err, -errno, "profile: read: %m");
	memset(ret, 0, sizeof(*ret));
	for (int cpu = 0; cpu < p->n_cpus; cpu++) {
		ret->on_cpu_ns += all[cpu].on_cpu_ns;
		ret->wait_ns += all[cpu].wait_ns;
		ret->switches += all[cpu].switches;
		ret->preemptions += all[cpu].preemptions;
		ret->migrations += all[cpu].migrations;
		for (int i = 0; i < PROF_N_BUCKETS; i++)
			ret->wait[i] += all[cpu].wait[i];
	}
	return 0;
}

struct prof *prof_close(struct prof *p)
{
	if (!p)
		return NULL;
	prof_bpf__destroy(p->skel);
	free(p);
	return NULL;
}
