/* SPDX-License-Identifier: GPL-2.0-or-later */
/* meter.c - sum up what the processes of jobs do on their GPUs; see gpus/meter.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "agent/gpu/gpu.h"
#include "agent/job/gpus/meter.h"
#include "agent/job/report.h"
#include "agent/sample/gpuwork.h"
#include "common/wire/json/load.h"
#include "common/wire/wire.h"

struct process {
	pid_t pid;
	int64_t busy_ns;
	bool is_seen, is_foreign;
};

/* One GPU of a job. */
struct metered {
	int device;
	struct gpu_use use; /* cumulative */
	int64_t worked_ns;  /* CLOCK_BOOTTIME: when it last did */
	int64_t energy_mj;  /* the device's own counter, at the last sample */
	bool has_energy;
	struct process *processes;
	size_t n, size;
	/* Of the sample in progress. */
	int64_t mem_bytes;
	bool has_worked, has_busy, has_mem;
	bool is_sampled; /* once at least */
};

struct gpu_meter {
	int n;
	bool has_lost; /* a process was not counted */
	/* Of the sample in progress, by process: allocations are not known by GPU. */
	bool has_alloc;
	int64_t alloc_bytes, alloc_peak_bytes;
	struct metered of[];
};

struct gpu_meter *gpu_meter_free(struct gpu_meter *m)
{
	for (int i = 0; m && i < m->n; i++)
		free(m->of[i].processes);
	free(m);
	return NULL;
}

/* ---- across agents ---- */

/* idle_ns is a length of time: worked_ns becomes the moment at which it began. */
static void continue_counters(struct metered *d, const struct gpu_use *before, int32_t n)
{
	for (int32_t i = 0; i < n; i++)
		if (!strcmp(before[i].uuid, d->use.uuid)) {
			d->use = before[i];
			d->worked_ns -= before[i].idle_ns;
		}
}

static void read_saved_counters(const struct job *j, struct gpu_meter *m)
{
	_cleanup_json_ json_t *doc = j->s.gpu_use ? wire_load(j->s.gpu_use, 0, NULL) : NULL;
	_cleanup_free_ struct gpu_use *before = NULL;
	int32_t n = 0;
	struct err err;

	if (!doc || wire_decode_gpus(doc, "gpu_use", &before, &n, &err) < 0)
		return;
	for (int i = 0; i < m->n; i++)
		continue_counters(&m->of[i], before, n);
}

void gpu_meter_keep(struct job *j)
{
	struct gpu_use list[GPU_USE_MAX];
	_cleanup_json_ json_t *doc = NULL;
	char *text;

	if (!j->meter)
		return;
	for (int i = 0; i < j->meter->n; i++)
		list[i] = j->meter->of[i].use;
	doc = wire_encode_gpus(list, j->meter->n);
	text = doc ? wire_print(doc, JSON_COMPACT) : NULL;
	if (!text)
		return; /* what was kept before is */
	free(j->s.gpu_use);
	j->s.gpu_use = text;
}

/* ---- start ---- */

static void begin_metering(const struct node *n, struct metered *d, int device)
{
	const struct gpu_device *g = gpu_device(n->gpu, device);

	*d = (struct metered){ .device = device, .worked_ns = node_now_ns() };
	snprintf(d->use.uuid, sizeof(d->use.uuid), "%s", g->uuid);
	snprintf(d->use.model, sizeof(d->use.model), "%s", g->model);
	d->use.is_simulated = g->is_simulated;
	gpu_use_set(&d->use, &d->use.mem_total_bytes, g->mem_bytes);
}

void gpu_meter_start(struct node *n, struct job *j)
{
	int count = n->gpu ? gpu_count(n->gpu) : 0, k = 0;
	struct gpu_meter *m;

	if (!j->gpus || j->meter)
		return;
	m = calloc(1, sizeof(*m) + (size_t)__builtin_popcountll(j->gpus) * sizeof(m->of[0]));
	if (!m) {
		job_note(j, "no memory: its GPUs are not measured");
		return;
	}
	for (int i = 0; i < count; i++)
		if (j->gpus >> i & 1)
			begin_metering(n, &m->of[k++], i);
	m->n = k;
	read_saved_counters(j, m);
	j->meter = m;
}

/* ---- one sample: begin_sample() for each device, on_process() for each process, end_sample() ---- */

/* Adds a process that is not known yet. NULL: no memory. */
static struct process *find_process(struct metered *d, pid_t pid)
{
	struct process *more;
	size_t size;

	for (size_t i = 0; i < d->n; i++)
		if (d->processes[i].pid == pid)
			return &d->processes[i];
	if (d->n == d->size) {
		size = d->size ? d->size * 2 : 4;
		more = realloc(d->processes, size * sizeof(*more));
		if (!more)
			return NULL;
		d->processes = more;
		d->size = size;
	}
	d->processes[d->n] = (struct process){ .pid = pid };
	return &d->processes[d->n++];
}

/* What it did since the last look: less than before means another process of that number. */
static void add_busy(struct metered *d, struct process *known, const struct gpu_process *p)
{
	int64_t gained;

	gained = p->busy_ns >= known->busy_ns ? p->busy_ns - known->busy_ns : p->busy_ns;
	known->busy_ns = p->busy_ns;
	d->has_busy = true;
	d->has_worked |= gained > 0;
	gpu_use_set(&d->use, &d->use.busy_ns, d->use.busy_ns + gained);
}

/* Memory is what all processes have now; the peak of one that has ended still counts. */
static void add_memory(struct metered *d, const struct gpu_process *p)
{
	d->has_mem = true;
	if (!p->has_ended)
		d->mem_bytes += p->mem_bytes;
	if (p->mem_peak_bytes > d->use.mem_peak_bytes)
		gpu_use_set(&d->use, &d->use.mem_peak_bytes, p->mem_peak_bytes);
}

/* Is a process that was not known the job's? One that is gone lived between two samples and
 * belongs to the job; but at the first sample it belongs to the job that had the device before. */
static bool is_foreign(const struct node *n, const struct job *j, const struct metered *d,
		       pid_t pid)
{
	struct manager_id id;
	int r = manager_find(n->ops->parent(n->manager), pid, &id, NULL);

	if (r == -ESRCH)
		return !d->is_sampled;
	/* Attempt 0: a job of Slurm, which is here in one attempt at a time. */
	return r < 0 || id.job != j->s.job || (id.attempt && id.attempt != j->s.attempt);
}

static struct metered *find_metered(struct node *n, int device, struct job **ret_job)
{
	for (struct job *j = n->jobs; j; j = j->next)
		for (int i = 0; j->meter && i < j->meter->n; i++)
			if (j->meter->of[i].device == device) {
				*ret_job = j;
				return &j->meter->of[i];
			}
	return NULL;
}

/* A process on several GPUs is reported with each of them, its allocations as one sum: count them once. */
static void add_allocations(struct gpu_meter *m, const struct metered *d,
			    const struct gpu_process *p)
{
	for (const struct metered *o = m->of; o < d; o++)
		for (size_t i = 0; i < o->n; i++)
			if (o->processes[i].pid == p->pid && o->processes[i].is_seen)
				return;
	m->has_alloc = true;
	if (!p->has_ended)
		m->alloc_bytes += p->alloc_bytes;
	if (p->alloc_peak_bytes > m->alloc_peak_bytes)
		m->alloc_peak_bytes = p->alloc_peak_bytes;
}

/* Once a job: the next sample may lose the same process again. */
static void note_lost_process(struct job *j, const struct metered *d)
{
	if (!j->meter->has_lost)
		job_note(j, "no memory: not all processes on its GPU %.96s were counted",
			 d->use.uuid);
	j->meter->has_lost = true;
}

static void on_process(void *ctx, const struct gpu_process *p)
{
	struct job *j = NULL;
	struct metered *d = find_metered(ctx, p->device, &j);
	size_t before = d ? d->n : 0;
	struct process *known = d ? find_process(d, p->pid) : NULL;

	if (d && !known)
		note_lost_process(j, d);
	if (!known)
		return;
	known->is_seen = true;
	if (d->n > before)
		known->is_foreign = is_foreign(ctx, j, d, p->pid);
	if (known->is_foreign)
		return;
	if (p->have & GPU_HAVE_BUSY)
		add_busy(d, known, p);
	if (p->have & GPU_HAVE_MEM)
		add_memory(d, p);
	if (p->have & GPU_HAVE_ALLOC)
		add_allocations(j->meter, d, p);
}

/* The driver has forgotten them: their numbers may be other processes' next time. */
static void forget_unseen(struct metered *d)
{
	size_t k = 0;

	for (size_t i = 0; i < d->n; i++)
		if (d->processes[i].is_seen)
			d->processes[k++] = d->processes[i];
	d->n = k;
}

/* The device's counter is common to all who use it, and starts again at zero with the driver: only
 * what it grew by between two samples is the job's. */
static void add_energy(const struct node *n, struct metered *d)
{
	const struct gpu_total *t = gpu_total(n->gpu, d->device);

	if (!(t->have & GPU_HAVE_ENERGY))
		return;
	if (d->has_energy && t->energy_mj >= d->energy_mj)
		gpu_use_set(&d->use, &d->use.energy_mj,
			    d->use.energy_mj + t->energy_mj - d->energy_mj);
	d->energy_mj = t->energy_mj;
	d->has_energy = true;
}

/* Ends the sample of one device. A source that measures the device but listed no process says that
 * the job has none there: the figures are then 0, not unknown. */
static void end_sample(const struct node *n, struct metered *d, int64_t now)
{
	const struct gpu_total *t = gpu_total(n->gpu, d->device);
	const char *source = gpu_source(n->gpu, d->device, GPU_HAVE_BUSY);

	if (!source || !*source)
		source = gpu_source(n->gpu, d->device, GPU_HAVE_MEM);
	snprintf(d->use.source, sizeof(d->use.source), "%s", source ? source : "");
	if (!t->is_lost && (d->has_mem || t->have & GPU_HAVE_MEM)) {
		gpu_use_set(&d->use, &d->use.mem_bytes, d->mem_bytes);
		if (d->mem_bytes >= d->use.mem_peak_bytes)
			gpu_use_set(&d->use, &d->use.mem_peak_bytes, d->mem_bytes);
	}
	if (!t->is_lost && (d->has_busy || t->have & GPU_HAVE_BUSY))
		gpu_use_set(&d->use, &d->use.busy_ns, d->use.busy_ns);
	add_energy(n, d);
	forget_unseen(d);
	d->is_sampled = true;
	if (d->has_worked || (!(t->have & GPU_HAVE_BUSY) && !d->has_busy && d->mem_bytes > 0))
		d->worked_ns = now;
	if (!t->is_lost && t->have)
		gpu_use_set(&d->use, &d->use.idle_ns, now - d->worked_ns);
}

static void begin_sample(struct metered *d)
{
	d->mem_bytes = 0;
	d->has_worked = d->has_busy = d->has_mem = false;
	for (size_t i = 0; i < d->n; i++)
		d->processes[i].is_seen = false;
}

static void merge_sums(struct job *j)
{
	struct gpu_meter *m = j->meter;
	struct gpu_use list[GPU_USE_MAX];
	struct usage u = { 0 };

	for (int i = 0; i < j->meter->n; i++)
		list[i] = j->meter->of[i].use;
	gpu_use_sum(list, j->meter->n, &u);
	if (m->has_alloc) {
		if (m->alloc_bytes > m->alloc_peak_bytes)
			m->alloc_peak_bytes = m->alloc_bytes;
		usage_set(&u, &u.gpu_alloc_bytes, m->alloc_bytes);
		usage_set(&u, &u.gpu_alloc_peak_bytes, m->alloc_peak_bytes);
	}
	job_merge_usage(j, &u);
}

/* Counted in the kernel by cgroup: works also while the driver hangs. */
static void merge_work(const struct node *n, struct job *j)
{
	struct gpuwork_counts c;
	struct usage u = { 0 };

	if (!n->gpuwork || gpuwork_read(n->gpuwork, j->s.cgroup_id, &c) < 0)
		return;
	if (c.have & GPUWORK_HAVE_LAUNCHES)
		usage_set(&u, &u.gpu_launches, (int64_t)c.launches);
	if (c.have & GPUWORK_HAVE_RUN)
		usage_set(&u, &u.gpu_sched_jobs, (int64_t)c.n_run);
	if (c.have & GPUWORK_HAVE_BUSY)
		usage_set(&u, &u.gpu_sched_busy_ns, (int64_t)c.busy_ns);
	job_merge_usage(j, &u);
}

/* A job that has ended is sampled once more: `last`. */
static bool is_metered(const struct job *j, const struct job *last)
{
	return j->meter && (!job_has_ended(j) || j == last);
}

static void sample_all_jobs(struct node *n, const struct job *last)
{
	int64_t now = node_now_ns();
	struct err unused; /* the notes of the inventory say what cannot be measured */
	int n_metered = 0;

	for (struct job *j = n->jobs; j; j = j->next) {
		if (!is_metered(j, last))
			continue;
		merge_work(n, j);
		j->meter->alloc_bytes = 0;
		for (int i = 0; i < j->meter->n; i++, n_metered++)
			begin_sample(&j->meter->of[i]);
	}
	if (n_metered == 0)
		return;
	if (gpu_sample(n->gpu, now, on_process, n, &unused) < 0)
		return; /* the driver has not answered: gpus.c notes it */
	for (struct job *j = n->jobs; j; j = j->next) {
		if (!is_metered(j, last))
			continue;
		for (int i = 0; i < j->meter->n; i++)
			end_sample(n, &j->meter->of[i], now);
		merge_sums(j);
	}
}

void gpu_meter_tick(struct node *n)
{
	sample_all_jobs(n, NULL);
}

void gpu_meter_last(struct node *n, struct job *j)
{
	if (j->meter)
		sample_all_jobs(n, j);
}

void gpu_meter_fill(const struct gpu_meter *m, struct gpu_use *list, int32_t n)
{
	for (int32_t i = 0; m && i < n; i++)
		for (int k = 0; k < m->n; k++)
			if (!strcmp(list[i].uuid, m->of[k].use.uuid))
				list[i] = m->of[k].use;
}
