/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpuwork.c - counts launches and GPU jobs of each job; includes the skeleton of
 * bpf/gpuwork.bpf.c; see gpuwork.h.
 *
 * Maps are pinned, links are not: they end with the agent. The end of a GPU job that was in
 * flight when an earlier agent ended may have gone unseen, so all in flight are forgotten before
 * the tracepoints are attached.
 */
#include <errno.h>
#include <linux/types.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include "agent/sample/gpuwork.h"
#include "agent/kernel/skeleton.h"
#include "agent/kernel/slots.h"
#include "bpf/gpuwork_abi.h"
#include "common/cleanup.h"
#include "gpuwork.skel.h"

#define NAME "gpuwork"
#define LAUNCH "gpuwork_launch"

/* _ptsz: what programs call that are compiled for per-thread default streams. */
static const char *const functions[] = {
	"cuLaunchKernel",	 "cuLaunchKernel_ptsz",	      "cuLaunchKernelEx",
	"cuLaunchKernelEx_ptsz", "cuLaunchCooperativeKernel", "cuLaunchCooperativeKernel_ptsz",
	"cuGraphLaunch",	 "cuGraphLaunch_ptsz",
};

/* The kernel has one of the two names; the newer one first. The tracepoint of the end is attached
 * first: no GPU job is counted as begun whose end would go unseen. */
static const struct {
	const char *prog, *names[2];
} tracepoints[] = {
	{ "gpuwork_done", { "drm_sched_job_done", "drm_sched_process_job" } },
	{ "gpuwork_run", { "drm_sched_job_run", "drm_run_job" } },
	{ "gpuwork_queue", { "drm_sched_job_queue", "drm_sched_job" } },
};

#define N_LINKS (ARRAY_LEN(functions) + ARRAY_LEN(tracepoints))

struct gpuwork {
	struct skeleton *kern;
	struct slots *slots;
	uint32_t n_jobs, job_is_fence;
	unsigned have;
	struct bpf_link *links[N_LINKS];
	size_t n_links;
	char status[1024];
};

/* Marked as iterators so that skeleton.c does not attach them: that is done here. */
static const struct skeleton_hook hooks[] = {
	{ LAUNCH, SKELETON_ITERATOR, NULL, NULL },
	{ "gpuwork_queue", SKELETON_ITERATOR, NULL, NULL },
	{ "gpuwork_run", SKELETON_ITERATOR, NULL, NULL },
	{ "gpuwork_done", SKELETON_ITERATOR, NULL, NULL },
};

static int configure_object(struct bpf_object *obj, void *ctx)
{
	const struct gpuwork *g = ctx;
	int r = bpf_map__set_initial_value(bpf_object__find_map_by_name(obj, ".rodata"),
					   &g->job_is_fence, sizeof(g->job_is_fence));

	return r < 0 ? r : slots_configure(obj, g->n_jobs);
}

static void forget_keys(int fd)
{
	__u64 key;

	while (bpf_map_get_next_key(fd, NULL, &key) == 0)
		if (bpf_map_delete_elem(fd, &key) < 0)
			return;
}

static void forget_in_flight(struct gpuwork *g)
{
	int jobs = skeleton_map(g->kern, "jobs");
	struct gpuwork_record rec;

	forget_keys(skeleton_map(g->kern, "queued"));
	forget_keys(skeleton_map(g->kern, "running"));
	for (__u32 slot = 0; slot < g->n_jobs; slot++) {
		if (bpf_map_lookup_elem(jobs, &slot, &rec) < 0 || !rec.in_flight)
			continue;
		rec.in_flight = 0;
		bpf_map_update_elem(jobs, &slot, &rec, BPF_ANY);
	}
}

static int load_object(struct gpuwork *g, const char *pin_dir, struct err *err)
{
	struct skeleton_spec spec = { .name = NAME,
				      .version = GPUWORK_VERSION,
				      .hooks = hooks,
				      .n_hooks = ARRAY_LEN(hooks),
				      .pin_dir = pin_dir,
				      .configure = configure_object,
				      .ctx = g };
	int r;

	spec.elf = gpuwork_bpf__elf_bytes(&spec.elf_size);
	r = skeleton_open(&spec, &g->kern, err);
	if (r < 0)
		return r;
	forget_in_flight(g);
	return slots_open(g->kern, sizeof(struct gpuwork_record), g->n_jobs, &g->slots, err);
}

static void append_status(struct gpuwork *g, const char *what, int r)
{
	size_t n = strlen(g->status);

	snprintf(g->status + n, sizeof(g->status) - n, "%s: %s\n", what, strerror(-r));
}

static int keep_link(struct gpuwork *g, struct bpf_link *link)
{
	if (!link)
		return -errno;
	g->links[g->n_links++] = link;
	return 0;
}

/* A release of the library may lack some of the functions; a program cannot call those. */
static void attach_launches(struct gpuwork *g, const char *path)
{
	struct bpf_program *prog = skeleton_prog(g->kern, LAUNCH);
	int first = 0;

	if (access(path, R_OK) < 0) {
		append_status(g, path, -errno);
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(functions); i++) {
		LIBBPF_OPTS(bpf_uprobe_opts, o, .func_name = functions[i]);
		int r = prog ? keep_link(g,
					 bpf_program__attach_uprobe_opts(prog, -1, path, 0, &o))
			     : -EPERM;

		if (r == 0)
			g->have |= GPUWORK_HAVE_LAUNCHES;
		else if (!first)
			first = r;
	}
	if (!(g->have & GPUWORK_HAVE_LAUNCHES))
		append_status(g, "launches of GPU work are not counted", first);
}

static int attach_tracepoint(struct gpuwork *g, size_t i)
{
	struct bpf_program *prog = skeleton_prog(g->kern, tracepoints[i].prog);
	int r = prog ? -ENOENT : -EPERM;

	for (size_t k = 0; prog && r < 0 && k < ARRAY_LEN(tracepoints[i].names); k++)
		r = keep_link(
			g, bpf_program__attach_raw_tracepoint(prog, tracepoints[i].names[k]));
	return r;
}

static void attach_sched(struct gpuwork *g)
{
	int r = 0;

	for (size_t i = 0; i < ARRAY_LEN(tracepoints) && r == 0; i++)
		r = attach_tracepoint(g, i);
	if (r < 0)
		append_status(g, "GPU jobs of the kernel's scheduler are not counted", r);
	else
		g->have |= GPUWORK_HAVE_RUN;
}

int gpuwork_open(const struct gpuwork_config *config, struct gpuwork **ret, struct err *err)
{
	_cleanup_(gpuwork_closep) struct gpuwork *g = calloc(1, sizeof(*g));
	int r;

	if (!g)
		return err_set(err, -ENOMEM, "out of memory");
	g->n_jobs = config->max_jobs ? config->max_jobs : GPUWORK_MAX_JOBS;
	g->job_is_fence = config->job_is_fence;
	r = load_object(g, config->pin_dir, err);
	if (r < 0)
		return r;
	if (config->libcuda)
		attach_launches(g, config->libcuda);
	if (config->has_sched)
		attach_sched(g);
	if (!g->have)
		return err_set(err, -EOPNOTSUPP, "%.*s", (int)strcspn(g->status, "\n"),
			       g->status);
	*ret = TAKE_PTR(g);
	return 0;
}

struct gpuwork *gpuwork_close(struct gpuwork *g)
{
	if (!g)
		return NULL;
	for (size_t i = 0; i < g->n_links; i++)
		bpf_link__destroy(g->links[i]);
	slots_close(g->slots);
	skeleton_close(g->kern);
	free(g);
	return NULL;
}

void gpuwork_forget(const char *pin_dir)
{
	skeleton_forget(pin_dir, NAME);
}

unsigned gpuwork_have(const struct gpuwork *g)
{
	return g->have;
}

const char *gpuwork_status(const struct gpuwork *g)
{
	return g->status;
}

int gpuwork_add(struct gpuwork *g, uint64_t cgroup_id, int64_t job)
{
	uint32_t slot;
	int r = slots_add(g->slots, cgroup_id, job, &slot);

	if (r == 0)
		r = slots_publish(g->slots, slot);
	return r < 0 ? r : 0;
}

void gpuwork_remove(struct gpuwork *g, uint64_t cgroup_id)
{
	int slot = slots_find(g->slots, cgroup_id);

	if (slot >= 0)
		slots_remove(g->slots, (uint32_t)slot);
}

unsigned gpuwork_prune(struct gpuwork *g)
{
	return slots_prune(g->slots);
}

int gpuwork_read(const struct gpuwork *g, uint64_t cgroup_id, struct gpuwork_counts *ret)
{
	const struct gpuwork_record *rec;
	int slot = slots_find(g->slots, cgroup_id);

	if (slot < 0)
		return slot;
	rec = slots_record(g->slots, (uint32_t)slot);
	*ret = (struct gpuwork_counts){
		.have = g->have,
		.launches = __atomic_load_n(&rec->launches, __ATOMIC_RELAXED),
		.n_run = __atomic_load_n(&rec->n_run, __ATOMIC_RELAXED),
		.busy_ns = __atomic_load_n(&rec->busy_ns, __ATOMIC_RELAXED),
	};
	/* GPU jobs can be timed where the kernel has type information of their fences; that shows
	 * with the first one. */
	if ((g->have & GPUWORK_HAVE_RUN) && (!ret->n_run || rec->n_paired))
		ret->have |= GPUWORK_HAVE_BUSY;
	return 0;
}
