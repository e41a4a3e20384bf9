/* SPDX-License-Identifier: GPL-2.0-or-later */
/* source_sample.c - samples NVIDIA's devices and processes, and adds up busy time.
 *
 * NVML gives percentages with times, one for each process that did something since the time
 * asked for: the mean since then. Some releases give every sample that they took instead, and
 * none of those in which the process did nothing; that shows when a pid comes twice in one
 * answer, and then a sample stands for one period. Nothing is counted twice in either case. Two
 * bounds hold against clocks that are set and against what is not known here: no look adds more
 * time than has passed since the last one, and no process is busier than its GPU was since it
 * came.
 */
#include <errno.h>
#include <string.h>
#include <time.h>
#include "agent/gpu/nvml/source_impl.h"
#include "common/time_units.h"

#define SLACK_US 2000000
#define PAUSE_US 60000000 /* longer between two samples: no job was measured */
#define NS_OF(percent, us) ((int64_t)(percent) * (int64_t)(us)*10) /* percent of us, in ns */
#define IDLE_SLACK_BYTES (64LL << 20)

static struct book_device *device_of(const struct nvml_source *s, const struct nvml_gpu *g)
{
	return &s->b->devices[g->device];
}

static uint64_t realtime_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* From when on samples up to `newest` are counted. */
static uint64_t window_start(const struct nvml_source *s, const struct nvml_gpu *g,
			     uint64_t last_us, uint64_t newest)
{
	uint64_t most = (uint64_t)((s->b->now_ns - g->asked_ns) / 1000);
	uint64_t start;

	if (last_us)
		most += SLACK_US;
	if (most > PAUSE_US && most > g->ring_us)
		most = g->ring_us > PAUSE_US ? g->ring_us : PAUSE_US;
	start = newest > most ? newest - most : 0;
	return start > last_us ? start : last_us;
}

/* No samples are newer: is that so, or was the clock set back? */
static uint64_t still_last(uint64_t last_us)
{
	return last_us > realtime_us() + SLACK_US ? 0 : last_us;
}

/* ---- the device ---- */

/* Busy time from `start` to the newest sample. The time before the oldest sample that the driver
 * still has counts with the mean of those it has; after a pause it counts nothing. */
static int64_t sum_busy(const struct nvml_busy *list, unsigned n, uint64_t start)
{
	uint64_t before = start, first = 0;
	int64_t rest_ns = 0, rest_us = 0, first_ns = 0;
	unsigned n_rest = 0;

	for (unsigned i = 0; i < n; i++) {
		uint64_t us = list[i].time_us > before ? list[i].time_us - before : 0;

		if (!us)
			continue;
		before = list[i].time_us;
		if (!first) {
			first = us;
			first_ns = NS_OF(list[i].percent, us);
			continue;
		}
		rest_ns += NS_OF(list[i].percent, us);
		rest_us += (int64_t)us;
		n_rest++;
	}
	if (n_rest && (int64_t)first > 2 * rest_us / n_rest)
		first_ns = first > PAUSE_US
				   ? 0
				   : (int64_t)((__int128)rest_ns * (int64_t)first / rest_us);
	return first_ns + rest_ns;
}

static void sample_busy(struct nvml_source *s, struct nvml_gpu *g)
{
	struct book_device *bd = device_of(s, g);
	const struct nvml_busy *list;
	unsigned n = 0;
	enum nvml_rc rc = nvml_busy(s->n, g->handle, g->busy_us, &list, &n);
	uint64_t newest = 0, oldest = UINT64_MAX;

	if (nvml_source_failed(s, g, rc, "busy time") && rc != NVML_NOT_FOUND)
		return;
	bd->total.have |= GPU_HAVE_BUSY;
	bd->source[0] = "nvml";
	for (unsigned i = 0; i < n; i++) {
		newest = list[i].time_us > newest ? list[i].time_us : newest;
		oldest = list[i].time_us < oldest ? list[i].time_us : oldest;
	}
	if (n && newest - oldest > g->ring_us)
		g->ring_us = newest - oldest;
	if (!n) {
		g->busy_us = still_last(g->busy_us);
		return;
	}
	if (g->has_asked)
		bd->total.busy_ns += sum_busy(list, n, window_start(s, g, g->busy_us, newest));
	g->busy_us = newest;
}

static void sample_device(struct nvml_source *s, struct nvml_gpu *g)
{
	struct book_device *bd = device_of(s, g);
	unsigned long long mj;
	struct nvml_mem mem;

	if (!nvml_source_failed(s, g, nvml_mem(s->n, g->handle, &mem), "memory")) {
		bd->total.have |= GPU_HAVE_MEM;
		bd->total.mem_bytes = (int64_t)mem.used;
		bd->source[1] = "nvml";
	}
	if (!g->handle || g->is_instance)
		return;
	if (!nvml_source_failed(s, g, nvml_energy(s->n, g->handle, &mj), "energy")) {
		if (g->has_energy) /* it starts at 0 when the driver is loaded again */
			bd->total.energy_mj +=
				(int64_t)(mj >= g->energy_mj ? mj - g->energy_mj : mj);
		g->energy_mj = mj;
		g->has_energy = true;
		bd->total.have |= GPU_HAVE_ENERGY;
		bd->source[2] = "nvml";
	}
	if (g->handle && !bd->d.is_partitioned)
		sample_busy(s, g);
}

/* ---- its processes ---- */

static void sample_processes(struct nvml_source *s, struct nvml_gpu *g)
{
	struct book_device *bd = device_of(s, g);
	const struct nvml_proc *list;
	unsigned n = 0;

	if (nvml_source_failed(s, g, nvml_processes(s->n, g->handle, &list, &n), "processes"))
		return;
	bd->is_asked = true;
	for (unsigned i = 0; i < n; i++) {
		struct book_process *p = book_process(s->b, g->device, (pid_t)list[i].pid);

		if (p && list[i].has_used)
			book_set_mem(p, (int64_t)list[i].used);
	}
	if (!n && (bd->total.have & GPU_HAVE_MEM) &&
	    (!g->has_idle || bd->total.mem_bytes < g->idle_bytes)) {
		g->has_idle = true;
		g->idle_bytes = bd->total.mem_bytes;
	}
}

/* A process that was in no list lived between two samples. */
static struct book_process *find_or_add(struct nvml_source *s, int device, pid_t pid)
{
	struct book_process *p = book_known(s->b, device, pid);

	if (!p) {
		p = book_process(s->b, device, pid);
		if (p)
			p->is_seen = false;
	}
	return p;
}

static int by_time(const void *a, const void *b)
{
	const struct nvml_utilization *x = a, *y = b;

	return x->time_us < y->time_us ? -1 : x->time_us > y->time_us;
}

/* A pid that comes twice in one answer: the least time between two samples is the period. */
static void learn_period(struct nvml_gpu *g, const struct nvml_utilization *list, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		for (unsigned k = i + 1; k < n; k++) {
			uint64_t us = list[k].time_us - list[i].time_us;

			if (list[k].pid != list[i].pid || !us)
				continue;
			if (!g->period_us || us < g->period_us)
				g->period_us = us;
			break;
		}
}

static void count_sample(struct nvml_source *s, const struct nvml_gpu *g,
			 const struct nvml_utilization *u, uint64_t start)
{
	struct book_process *p;
	uint64_t from;

	if (!u->pid || u->sm > 100) /* drivers give out what they have not filled in */
		return;
	p = find_or_add(s, g->device, (pid_t)u->pid);
	if (!p)
		return;
	from = p->last_us > start ? p->last_us : start;
	if (g->period_us && u->time_us - from > g->period_us && u->time_us > from)
		from = u->time_us - g->period_us;
	if (u->time_us > from)
		p->p.busy_ns += NS_OF(u->sm, u->time_us - from);
	p->last_us = u->time_us;
}

/* What is known of the device's processes now, within what the device itself was busy. */
static void settle_busy(struct nvml_source *s, const struct nvml_gpu *g, int64_t before_ns)
{
	const struct gpu_total *t = &device_of(s, g)->total;
	struct book_process *p;

	for (unsigned i = 0; (p = book_next(s->b, &i));) {
		int64_t most;

		if (p->p.device != g->device)
			continue;
		p->p.have |= GPU_HAVE_BUSY;
		if (p->is_new)
			p->since_ns = before_ns;
		most = t->busy_ns - p->since_ns + S_NS;
		if ((t->have & GPU_HAVE_BUSY) && p->p.busy_ns > most)
			p->p.busy_ns = most;
	}
}

static void sample_utilization(struct nvml_source *s, struct nvml_gpu *g, int64_t before_ns)
{
	struct book_device *bd = device_of(s, g);
	const struct nvml_utilization *given;
	_cleanup_free_ struct nvml_utilization *list = NULL;
	unsigned n = 0;
	enum nvml_rc rc = nvml_utilization(s->n, g->handle, g->util_us, &given, &n);

	if (nvml_source_failed(s, g, rc, "busy time of processes") && rc != NVML_NOT_FOUND) {
		if (g->handle)
			book_note(s->b,
				  "GPU %d: NVML does not tell the busy time of processes: %s",
				  bd->d.index, nvml_rc_text((int)rc));
		return;
	}
	if (n) {
		list = reallocarray(NULL, n, sizeof(*list));
		if (!list)
			return;
		memcpy(list, given, n * sizeof(*list));
		qsort(list, n, sizeof(*list), by_time);
		learn_period(g, list, n);
		if (g->has_asked)
			for (unsigned i = 0; i < n; i++)
				count_sample(
					s, g, &list[i],
					window_start(s, g, g->util_us, list[n - 1].time_us));
		g->util_us = list[n - 1].time_us;
	} else { /* no process was busy up to the newest sample of the device */
		g->util_us = still_last(g->util_us > g->busy_us ? g->util_us : g->busy_us);
	}
	settle_busy(s, g, before_ns);
}

static void sample_gpu(struct nvml_source *s, struct nvml_gpu *g)
{
	struct book_device *bd = device_of(s, g);
	int64_t before_ns = bd->total.busy_ns;

	if (s->n && g->handle)
		sample_device(s, g);
	if (s->n && g->handle && !bd->d.is_partitioned)
		sample_processes(s, g);
	if (!s->n || !g->handle || g->is_instance || bd->d.is_partitioned)
		return;
	sample_utilization(s, g, before_ns);
	if (s->n && g->handle && g->has_acct)
		nvml_source_account(s, g);
	if (s->n && g->handle) {
		g->has_asked = true;
		g->asked_ns = s->b->now_ns;
	}
}

void nvml_source_sample(struct nvml_source *s)
{
	nvml_source_reopen(s);
	for (int i = 0; i < s->n_gpus; i++)
		sample_gpu(s, &s->gpus[i]);
}

/* ---- leftovers ---- */

static void read_name(const struct nvml_source *s, uint32_t pid, char name[static 32])
{
	_cleanup_fclose_ FILE *f = NULL;
	char path[300];

	snprintf(path, sizeof(path), "%s/%u/comm", s->o.proc, pid);
	f = fopen(path, "re");
	if (!f || !fgets(name, 32, f))
		snprintf(name, 32, "?");
	name[strcspn(name, "\n")] = '\0';
}

static int64_t idle_most(const struct nvml_gpu *g, const struct nvml_mem *mem)
{
	int64_t most =
		mem->has_reserve ? 256LL << 20 : (int64_t)(mem->total / 64) + (512LL << 20);

	if (!g->has_idle)
		return mem->has_reserve ? 0 : most;
	return g->idle_bytes < most ? g->idle_bytes : most;
}

static int check_gpu(struct nvml_source *s, struct nvml_gpu *g, char text[static GPU_TEXT_MAX])
{
	const struct nvml_proc *list;
	struct nvml_mem mem = { 0 };
	char name[32];
	unsigned n = 0;
	enum nvml_rc rc = nvml_processes(s->n, g->handle, &list, &n);

	if (nvml_source_failed(s, g, rc, "processes"))
		return -EIO;
	if (n) {
		read_name(s, list[0].pid, name);
		snprintf(text, GPU_TEXT_MAX, "%u process%s: pid %u (%s) holds %llu MiB", n,
			 n == 1 ? " is there" : "es are there", list[0].pid, name,
			 (unsigned long long)(list[0].used >> 20));
		return 1;
	}
	if (nvml_source_failed(s, g, nvml_mem(s->n, g->handle, &mem), "memory"))
		return -EIO;
	if ((int64_t)mem.used <= idle_most(g, &mem) + IDLE_SLACK_BYTES)
		return 0;
	snprintf(text, GPU_TEXT_MAX, "%llu MiB are in use, though no process is there",
		 (unsigned long long)(mem.used >> 20));
	return 1;
}

int nvml_source_check(struct nvml_source *s, int device, char text[static GPU_TEXT_MAX])
{
	for (int i = 0; i < s->n_gpus; i++) {
		if (s->gpus[i].device != device)
			continue;
		if (s->n && s->gpus[i].handle && !s->b->devices[device].d.is_partitioned)
			return check_gpu(s, &s->gpus[i], text);
		snprintf(text, GPU_TEXT_MAX, "it does not answer");
		return -EIO;
	}
	return -ENOENT;
}
