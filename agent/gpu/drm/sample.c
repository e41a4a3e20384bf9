/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sample.c - samples AMD's and Intel's devices and their clients. See drm.h. */
#include <errno.h>
#include <string.h>
#include "agent/gpu/drm/drm_impl.h"
#include "agent/gpu/pci.h"

#define IDLE_SLACK_BYTES (64LL << 20)

/* ---- clients ---- */

static const struct fdinfo_engine *same_engine(const struct fdinfo *f, const char *name)
{
	for (int i = 0; i < f->n_engines; i++)
		if (!strcmp(f->engines[i].name, name))
			return &f->engines[i];
	return NULL;
}

/* Time since the last sample in which this engine was busy; -1: not reported. The kernel has
 * nanoseconds, or cycles and total cycles. A value below an earlier one is replaced by that, as
 * the kernel's document demands. */
static int64_t engine_busy(struct fdinfo_engine *e, const struct fdinfo_engine *before,
			   int64_t passed_ns)
{
	static const struct fdinfo_engine none;
	const struct fdinfo_engine *b = before ? before : &none;

	if (e->has_ns) {
		if (e->ns < b->ns)
			e->ns = b->ns;
		return (int64_t)(e->ns - b->ns);
	}
	if (!e->has_cycles || !e->has_total)
		return -1;
	if (e->cycles < b->cycles || e->total_cycles < b->total_cycles) {
		e->cycles = b->cycles;
		e->total_cycles = b->total_cycles;
	}
	/* of a new client all that passed is not known: nothing until the next look */
	if (!before || e->total_cycles == b->total_cycles ||
	    e->cycles - b->cycles > e->total_cycles - b->total_cycles)
		return 0;
	return (int64_t)((__int128)(e->cycles - b->cycles) * passed_ns /
			 (__int128)(e->total_cycles - b->total_cycles));
}

/* -1: the kernel reports no engine. */
static int64_t client_busy(struct drm_client *c, const struct drm_client *before,
			   int64_t passed_ns)
{
	int64_t most = -1;

	for (int i = 0; i < c->info.n_engines; i++) {
		struct fdinfo_engine *e = &c->info.engines[i];
		int64_t ns = engine_busy(e, before ? same_engine(&before->info, e->name) : NULL,
					 passed_ns);

		if (ns > most)
			most = ns;
	}
	return most;
}

/* Compute queues of ROCm do not go through the engines that fdinfo counts: a process that has
 * some is not called idle. */
static bool has_kfd(const struct drm *d, const struct drm_client *c)
{
	char path[512];

	if (d->b->devices[d->gpus[c->gpu].device].d.vendor != GPU_AMD)
		return false;
	snprintf(path, sizeof(path), "%s/class/kfd/kfd/proc/%d", d->o.sys, (int)c->pid);
	return access(path, F_OK) == 0;
}

static void count_client(struct drm *d, struct drm_client *c, const struct drm_client *before)
{
	struct book_device *bd = &d->b->devices[d->gpus[c->gpu].device];
	int64_t passed = d->b->now_ns - d->b->last_ns;
	int64_t busy = client_busy(c, before, passed);
	struct book_process *p = book_process(d->b, d->gpus[c->gpu].device, c->pid);

	if (!p)
		return;
	if (c->info.has_mem) {
		int64_t had = p->p.have & GPU_HAVE_MEM ? p->p.mem_bytes : 0;

		book_set_mem(p, had + (int64_t)(c->info.mem_bytes & INT64_MAX));
		bd->source[1] = bd->source[1] ? bd->source[1] : "drm fdinfo";
	}
	if (busy < 0 || has_kfd(d, c)) {
		book_note(d->b,
			  "GPU %s: processes whose work fdinfo does not count have no busy "
			  "time",
			  bd->d.uuid);
		return;
	}
	p->p.have |= GPU_HAVE_BUSY;
	bd->total.have |= GPU_HAVE_BUSY;
	bd->source[0] = "drm fdinfo";
	/* what was done before the first sample is not counted */
	if (d->b->round > 1) {
		p->p.busy_ns += busy;
		bd->total.busy_ns += busy;
	}
}

static bool is_before(const struct drm_client *a, const struct drm_client *b)
{
	return a->gpu != b->gpu ? a->gpu < b->gpu : a->id < b->id;
}

static void count_clients(struct drm *d, struct drm_client *list, size_t n)
{
	size_t old = 0;
	struct book_process *p;

	for (unsigned i = 0; (p = book_next(d->b, &i));)
		for (int g = 0; g < d->n_gpus; g++)
			if (d->gpus[g].device == p->p.device)
				p->p.mem_bytes = 0; /* summed up over its clients */
	for (size_t i = 0; i < n; i++) {
		while (old < d->n_clients && is_before(&d->clients[old], &list[i]))
			old++;
		count_client(d, &list[i],
			     old < d->n_clients && !is_before(&list[i], &d->clients[old])
				     ? &d->clients[old]
				     : NULL);
	}
}

/* ---- devices ---- */

static void sample_device(struct drm *d, struct drm_gpu *g)
{
	struct book_device *bd = &d->b->devices[g->device];
	char path[512];
	int64_t v;

	snprintf(path, sizeof(path), "%s/bus/pci/devices/%s", d->o.sys, bd->d.bus_id);
	bd->total.is_lost = access(path, F_OK) < 0;
	if (bd->total.is_lost)
		book_note(d->b, "GPU %s is no longer on the bus", bd->d.uuid);
	if (g->vram_path[0] && pci_read_number(g->vram_path, &v) == 0) {
		bd->total.have |= GPU_HAVE_MEM;
		bd->total.mem_bytes = v;
		bd->source[1] = "drm sysfs";
	}
	if (g->energy_path[0] && pci_read_number(g->energy_path, &v) == 0) {
		if (g->has_energy && v > g->energy_uj) {
			bd->total.energy_mj += (v - g->energy_uj) / 1000;
			g->energy_uj += (v - g->energy_uj) / 1000 * 1000;
		} else {
			g->energy_uj = v;
		}
		g->has_energy = true;
		bd->total.have |= GPU_HAVE_ENERGY;
		bd->source[2] = "drm sysfs";
	}
}

void drm_sample(struct drm *d)
{
	struct drm_client *list = NULL;
	size_t n = 0;
	int r;

	if (!d->n_gpus)
		return;
	for (int i = 0; i < d->n_gpus; i++)
		sample_device(d, &d->gpus[i]);
	r = drm_scan(d, &list, &n);
	if (r < 0) {
		book_note(d->b, "processes with DRM files: %s", strerror(-r));
		return;
	}
	for (int i = 0; i < d->n_gpus; i++)
		d->b->devices[d->gpus[i].device].is_asked =
			!d->b->devices[d->gpus[i].device].total.is_lost;
	count_clients(d, list, n);
	free(d->clients);
	d->clients = list;
	d->n_clients = n;
	for (int i = 0; i < d->n_gpus; i++) {
		struct drm_gpu *g = &d->gpus[i];
		int64_t used = d->b->devices[g->device].total.mem_bytes;
		size_t k = 0;

		while (k < n && list[k].gpu != i)
			k++;
		if (k == n && (g->idle_bytes < 0 || used < g->idle_bytes))
			g->idle_bytes = used;
	}
}

/* ---- leftovers ---- */

static int check_gpu(struct drm *d, int gpu, char text[static GPU_TEXT_MAX])
{
	_cleanup_free_ struct drm_client *list = NULL;
	struct drm_gpu *g = &d->gpus[gpu];
	size_t n = 0;
	int64_t used = 0;

	if (drm_scan(d, &list, &n) < 0)
		return -EIO;
	for (size_t i = 0; i < n; i++)
		if (list[i].gpu == gpu) {
			snprintf(text, GPU_TEXT_MAX, "pid %d has it open", (int)list[i].pid);
			return 1;
		}
	if (!g->vram_path[0])
		return 0;
	if (pci_read_number(g->vram_path, &used) < 0) {
		snprintf(text, GPU_TEXT_MAX, "it does not answer");
		return -EIO;
	}
	if (g->idle_bytes < 0 || used <= g->idle_bytes + IDLE_SLACK_BYTES)
		return 0;
	snprintf(text, GPU_TEXT_MAX, "%lld MiB are in use, though no process is there",
		 (long long)used >> 20);
	return 1;
}

int drm_check(struct drm *d, int device, char text[static GPU_TEXT_MAX])
{
	for (int i = 0; i < d->n_gpus; i++)
		if (d->gpus[i].device == device)
			return check_gpu(d, i, text);
	return -ENOENT;
}
