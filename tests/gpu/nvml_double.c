/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nvml_double.c - a simulated driver: libnvidia-ml.so.1 with NVML's names, versions and protocols, over the world that the file in
 * $REEVE_NVML_DOUBLE describes (world.h). For tests and demos alone: its symbol reeve_nvml_double shows what it is, and its GPUs are
 * called "Simulated ...".
 *
 * DOUBLE_RELEASE is the release of the driver that it imitates; older ones lack the functions that came later.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "agent/gpu/nvml/nvml_abi.h"
#include "tests/gpu/nvml_double.h"
#include "tests/gpu/world.h"

#ifndef DOUBLE_RELEASE
#define DOUBLE_RELEASE 535
#endif
#define RING 120 /* samples that are kept */

struct nvml_handle {
	int gpu, instance; /* -1: the whole */
};

const int reeve_nvml_double = DOUBLE_RELEASE;
static struct world w;
static int inits;
static struct nvml_handle handles[WORLD_GPUS][WORLD_INSTANCES + 1];
unsigned long nvml_double_calls;

void nvml_double_set_us(uint64_t us)
{
	w.now_us = us;
}

void nvml_double_shift_us(int64_t us)
{
	w.begin_us += (uint64_t)us;
}

/* As a driver that never answers: as long as that file is there. */
static void hang_while_asked(void)
{
	const char *world = getenv("REEVE_NVML_DOUBLE");
	char path[512];

	snprintf(path, sizeof(path), "%s.hangs", world ? world : "");
	while (access(path, F_OK) == 0)
		usleep(2000);
}

/* What every call does first: the world goes on, and it may fail as the file says. */
static unsigned enter_call(const char *call, const struct nvml_handle *h)
{
	nvml_double_calls++;
	hang_while_asked();
	world_tick(&w);
	for (int i = 0; i < w.n_failures; i++) {
		const struct world_failure *f = &w.failures[i];

		if (f->from_us <= w.now_us && w.now_us < f->to_us &&
		    (f->gpu < 0 || (h && h->gpu == f->gpu)) &&
		    (!f->call[0] || !strcmp(f->call, call)))
			return f->code;
	}
	if (!inits && strcmp(call, "nvmlInit_v2") != 0)
		return NVML_UNINITIALIZED;
	return NVML_OK;
}

#define ENTER(h)                                                                               \
	do {                                                                                   \
		unsigned enter_rc = enter_call(__func__, h);                                   \
		if (enter_rc)                                                                  \
			return enter_rc;                                                       \
	} while (0)
/* the whole GPU only */
#define ENTER_GPU(h)                                                                           \
	ENTER(h);                                                                              \
	if ((h)->instance >= 0 || w.gpus[(h)->gpu].is_mig)                                     \
	return NVML_NOT_SUPPORTED

/* NVML's rule: a text that does not fit is an error, never cut. */
static unsigned give_text(char *to, unsigned size, const char *prefix, const char *text)
{
	int n = snprintf(to, size, "%s%s", prefix, text);

	return n >= 0 && (unsigned)n < size ? NVML_OK : NVML_INSUFFICIENT_SIZE;
}

FN(nvmlInit_v2, (void))
{
	const char *path = getenv("REEVE_NVML_DOUBLE");
	int line = 0;

	if (!inits && (!path || world_load(&w, path, &line) < 0)) {
		fprintf(stderr, "nvml double: %s: line %d\n", path ? path : "no file", line);
		return NVML_DRIVER_NOT_LOADED;
	}
	ENTER(NULL);
	inits++;
	return NVML_OK;
}

FN(nvmlShutdown, (void))
{
	if (!inits)
		return NVML_UNINITIALIZED;
	inits--;
	return NVML_OK;
}

FN(nvmlSystemGetDriverVersion, (char *version, unsigned size))
{
	ENTER(NULL);
	return give_text(version, size, "", w.driver);
}

FN(nvmlDeviceGetCount_v2, (unsigned *count))
{
	ENTER(NULL);
	*count = (unsigned)w.n_gpus;
	return NVML_OK;
}

FN(nvmlDeviceGetHandleByIndex_v2, (unsigned index, nvml_dev *d))
{
	struct nvml_handle *h = index < WORLD_GPUS ? &handles[index][0] : NULL;

	if (!h || index >= (unsigned)w.n_gpus || !w.gpus[index].is_there)
		return NVML_INVALID_ARGUMENT;
	*h = (struct nvml_handle){ (int)index, -1 };
	ENTER(h);
	*d = h;
	return NVML_OK;
}

FN(nvmlDeviceGetName, (nvml_dev d, char *name, unsigned size))
{
	const struct world_gpu *g = &w.gpus[d->gpu];

	ENTER(d);
	return give_text(name, size, "Simulated NVIDIA ",
			 d->instance < 0 ? g->name : g->instances[d->instance].name);
}

FN(nvmlDeviceGetUUID, (nvml_dev d, char *uuid, unsigned size))
{
	const struct world_gpu *g = &w.gpus[d->gpu];

	ENTER(d);
	return give_text(uuid, size, "",
			 d->instance < 0 ? g->uuid : g->instances[d->instance].uuid);
}

FN(nvmlDeviceGetMinorNumber, (nvml_dev d, unsigned *minor))
{
	ENTER(d);
	*minor = w.gpus[d->gpu].minor;
	return NVML_OK;
}

static unsigned fill_pci(const struct nvml_handle *h, struct nvml_pci *pci, int has_long)
{
	const char *bus = w.gpus[h->gpu].bus;

	snprintf(pci->bus_id_legacy, sizeof(pci->bus_id_legacy), "%.15s", bus);
	if (has_long) /* with eight digits of the domain, in capitals */
		snprintf(pci->bus_id, sizeof(pci->bus_id), "0000%.20s", bus);
	return NVML_OK;
}

FN(nvmlDeviceGetPciInfo_v2, (nvml_dev d, struct nvml_pci *pci))
{
	ENTER(d);
	return fill_pci(d, pci, 0);
}

/* Of an instance only what its own processes have. */
static uint64_t used_of(const struct nvml_handle *h)
{
	uint64_t used = h->instance < 0 ? w.gpus[h->gpu].used : 0;

	for (int i = 0; i < w.n_processes; i++)
		if (w.processes[i].gpu == h->gpu && world_runs(&w, &w.processes[i]) &&
		    (h->instance < 0 || w.processes[i].instance == h->instance))
			used += w.processes[i].mem;
	return used;
}

static uint64_t total_of(const struct nvml_handle *h)
{
	const struct world_gpu *g = &w.gpus[h->gpu];

	return h->instance < 0 ? g->mem : g->instances[h->instance].mem;
}

FN(nvmlDeviceGetMemoryInfo, (nvml_dev d, struct nvml_memory *m))
{
	ENTER(d);
	*m = (struct nvml_memory){ .total = total_of(d),
				   .used = used_of(d) + w.gpus[d->gpu].reserved };
	m->free = m->total - m->used;
	return NVML_OK;
}

/* ---- processes ---- */

static int is_listed(const struct nvml_handle *h, const struct world_process *p, int graphics)
{
	return p->gpu == h->gpu && p->is_graphics == graphics && world_runs(&w, p) &&
	       (!p->is_late || w.gpus[h->gpu].was_short) &&
	       (h->instance < 0 || h->instance == p->instance);
}

/* `layout_graphics`: the size of an entry shifted left by one, and whether graphics processes are asked for.
 * As the driver: with too little room the count that is needed, and NVML_INSUFFICIENT_SIZE. */
static unsigned list_processes(const struct nvml_handle *h, unsigned *count, void *to,
			       unsigned layout_graphics)
{
	unsigned n = 0, room = *count, size = layout_graphics >> 1;
	int graphics = layout_graphics & 1;

	for (int i = 0; i < w.n_processes; i++)
		n += (unsigned)is_listed(h, &w.processes[i], graphics);
	*count = n;
	if (n > room || (n && !to)) {
		w.gpus[h->gpu].was_short = true;
		return NVML_INSUFFICIENT_SIZE;
	}
	for (int i = 0; i < w.n_processes; i++) {
		const struct world_process *p = &w.processes[i];
		struct {
			struct nvml_process p;
			uint64_t protected;
		} e = { .p = { .pid = p->pid,
			       .used = p->mem,
			       .gpu_instance = NVML_UNSET_ID,
			       .compute_instance = NVML_UNSET_ID } };

		if (!is_listed(h, p, graphics))
			continue;
		if (p->instance >= 0) {
			e.p.gpu_instance = w.gpus[h->gpu].instances[p->instance].gi;
			e.p.compute_instance = w.gpus[h->gpu].instances[p->instance].ci;
		}
		memcpy(to, &e, size);
		to = (char *)to + size;
	}
	return NVML_OK;
}

#define LISTS(version, size)                                                                   \
	FN(nvmlDeviceGetComputeRunningProcesses##version,                                      \
	   (nvml_dev d, unsigned *count, void *to))                                            \
	{                                                                                      \
		ENTER(d);                                                                      \
		return list_processes(d, count, to, (unsigned)(size) << 1);                    \
	}                                                                                      \
	FN(nvmlDeviceGetGraphicsRunningProcesses##version,                                     \
	   (nvml_dev d, unsigned *count, void *to))                                            \
	{                                                                                      \
		ENTER(d);                                                                      \
		return list_processes(d, count, to, (unsigned)(size) << 1 | 1);                \
	}
LISTS(, sizeof(struct nvml_process_v1))
#if DOUBLE_RELEASE >= 450
LISTS(_v2, sizeof(struct nvml_process))

FN(nvmlDeviceGetMPSComputeRunningProcesses_v2, (nvml_dev d, unsigned *count, void *to))
{
	ENTER(d);
	(void)to;
	*count = 0;
	return NVML_OK;
}
#endif
#if DOUBLE_RELEASE >= 510
LISTS(_v3, w.layout)

FN(nvmlDeviceGetMPSComputeRunningProcesses_v3, (nvml_dev d, unsigned *count, void *to))
{
	ENTER(d);
	(void)to;
	*count = 0;
	return NVML_OK;
}

FN(nvmlDeviceGetMemoryInfo_v2, (nvml_dev d, struct nvml_memory_v2 *m))
{
	ENTER(d);
	if (m->version != NVML_MEMORY_V2)
		return NVML_ARGUMENT_VERSION;
	m->total = total_of(d);
	m->used = used_of(d);
	m->reserved = w.gpus[d->gpu].reserved;
	m->free = m->total - m->used - m->reserved;
	return NVML_OK;
}
#endif

static int is_first_of_pid(int at)
{
	for (int i = 0; i < at; i++)
		if (w.processes[i].pid == w.processes[at].pid &&
		    w.processes[i].gpu == w.processes[at].gpu)
			return 0;
	return 1;
}

/* ---- busy time, energy ---- */
#if DOUBLE_RELEASE >= 384

FN(nvmlDeviceGetPciInfo_v3, (nvml_dev d, struct nvml_pci *pci))
{
	ENTER(d);
	return fill_pci(d, pci, 1);
}

/* Samples are taken at every multiple of the period. First and last one after `last_us` that is
 * kept; their number. */
static uint64_t samples_after(uint64_t last_us, uint64_t *first)
{
	uint64_t newest = w.now_us / w.period_us;
	uint64_t k = last_us > w.begin_us ? (last_us - w.begin_us) / w.period_us + 1 : 1;

	if (newest >= RING && k < newest - RING + 1)
		k = newest - RING + 1;
	*first = k;
	return newest >= k ? newest - k + 1 : 0;
}

FN(nvmlDeviceGetSamples, (nvml_dev d, unsigned type, unsigned long long last, unsigned *value,
			  unsigned *count, struct nvml_sample *to))
{
	uint64_t first, n;

	ENTER_GPU(d);
	if (type != NVML_SAMPLES_GPU)
		return NVML_NOT_SUPPORTED;
	*value = NVML_VALUE_UINT;
	if (!to) {
		*count = RING;
		return NVML_OK;
	}
	n = samples_after(last, &first);
	if (!n)
		return NVML_NOT_FOUND;
	if (n > *count)
		return NVML_INSUFFICIENT_SIZE;
	*count = (unsigned)n;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t end = (first + i) * w.period_us, work = 0;

		for (int p = 0; p < w.n_processes; p++)
			if (w.processes[p].gpu == d->gpu)
				work += world_work(&w.processes[p], end - w.period_us, end);
		to[i].time_us = w.begin_us + end;
		to[i].value.ui =
			(uint32_t)(work / w.period_us > 100 ? 100 : work / w.period_us);
	}
	return NVML_OK;
}

/* Rounded down. */
static unsigned percent_of(unsigned pid, int gpu, uint64_t from, uint64_t to)
{
	uint64_t work = 0;

	for (int i = 0; i < w.n_processes; i++)
		if (w.processes[i].pid == pid && w.processes[i].gpu == gpu)
			work += world_work(&w.processes[i], from, to);
	return (unsigned)(work / (to - from));
}

/* Every pid with some, over the samples of (from, to]. */
static unsigned put_utilization(int gpu, uint64_t from, uint64_t to,
				struct nvml_utilization *into)
{
	unsigned n = 0;

	for (int i = 0; i < w.n_processes; i++) {
		unsigned sm = w.processes[i].gpu == gpu && is_first_of_pid(i)
				      ? percent_of(w.processes[i].pid, gpu, from, to)
				      : 0;

		if (!sm)
			continue;
		if (into)
			into[n] = (struct nvml_utilization){ .pid = w.processes[i].pid,
							     .time_us = w.begin_us + to,
							     .sm = sm };
		n++;
	}
	return n;
}

FN(nvmlDeviceGetProcessUtilization,
   (nvml_dev d, struct nvml_utilization *to, unsigned *count, unsigned long long last))
{
	uint64_t first, n, step;
	unsigned need = 0, at = 0;

	ENTER_GPU(d);
	if (!w.gpus[d->gpu].has_util)
		return NVML_NOT_SUPPORTED;
	n = samples_after(last, &first);
	step = w.is_each ? 1 : n;
	for (uint64_t i = 0; n && i < n; i += step)
		need += put_utilization(d->gpu, (first - 1 + i) * w.period_us,
					(first - 1 + i + step) * w.period_us, NULL);
	if (!need)
		return NVML_NOT_FOUND;
	if (!to || *count < need) {
		*count = need;
		return NVML_INSUFFICIENT_SIZE;
	}
	for (uint64_t i = 0; i < n; i += step)
		at += put_utilization(d->gpu, (first - 1 + i) * w.period_us,
				      (first - 1 + i + step) * w.period_us, to + at);
	*count = at;
	return NVML_OK;
}

FN(nvmlDeviceGetTotalEnergyConsumption, (nvml_dev d, unsigned long long *mj))
{
	uint64_t since = 0;

	ENTER(d);
	if (d->instance >= 0 || !w.gpus[d->gpu].has_energy)
		return NVML_NOT_SUPPORTED;
	for (int i = 0; i < w.n_failures; i++) /* begins again when the driver is loaded */
		if (w.failures[i].gpu < 0 && !w.failures[i].call[0] &&
		    w.failures[i].to_us <= w.now_us && w.failures[i].to_us > since)
			since = w.failures[i].to_us;
	*mj = w.gpus[d->gpu].watts * (w.now_us - since) / 1000;
	return NVML_OK;
}
#endif

/* ---- accounting mode ---- */

FN(nvmlDeviceGetAccountingMode, (nvml_dev d, unsigned *mode))
{
	ENTER_GPU(d);
	*mode = w.gpus[d->gpu].acct_mode;
	return (unsigned)w.gpus[d->gpu].acct_rc;
}

FN(nvmlDeviceSetAccountingMode, (nvml_dev d, unsigned mode))
{
	ENTER_GPU(d);
	if (!w.gpus[d->gpu].acct_set_rc)
		w.gpus[d->gpu].acct_mode = mode;
	return (unsigned)w.gpus[d->gpu].acct_set_rc;
}

FN(nvmlDeviceGetAccountingPids, (nvml_dev d, unsigned *count, unsigned *pids))
{
	unsigned n = 0, room = *count;

	ENTER_GPU(d);
	if (!w.gpus[d->gpu].acct_mode)
		return NVML_NOT_SUPPORTED;
	for (int i = 0; i < w.n_processes; i++)
		if (w.processes[i].gpu == d->gpu && w.processes[i].from_us <= w.now_us &&
		    is_first_of_pid(i)) {
			if (pids && n < room)
				pids[n] = w.processes[i].pid;
			n++;
		}
	*count = n;
	return n > room ? NVML_INSUFFICIENT_SIZE : NVML_OK;
}

FN(nvmlDeviceGetAccountingStats, (nvml_dev d, unsigned pid, struct nvml_accounting *a))
{
	uint64_t work = 0, from = WORLD_FOREVER, to = 0;

	ENTER_GPU(d);
	*a = (struct nvml_accounting){ 0 };
	for (int i = 0; i < w.n_processes; i++) {
		const struct world_process *p = &w.processes[i];

		if (p->pid != pid || p->gpu != d->gpu || p->from_us > w.now_us)
			continue;
		from = p->from_us < from ? p->from_us : from;
		to = p->to_us > to ? p->to_us : to;
		work += world_work(p, 0, w.now_us);
		a->mem_peak_bytes = p->mem > a->mem_peak_bytes ? p->mem : a->mem_peak_bytes;
	}
	if (from == WORLD_FOREVER)
		return NVML_NOT_FOUND;
	a->is_running = to > w.now_us;
	a->start_us = w.begin_us + from;
	to = to < w.now_us ? to : w.now_us;
	a->time_ms = a->is_running ? 0 : (to - from) / 1000;
	a->gpu_percent = to > from ? (unsigned)(work / (to - from)) : 0;
	return NVML_OK;
}

/* ---- MIG ---- */
#if DOUBLE_RELEASE >= 450

FN(nvmlDeviceGetMigMode, (nvml_dev d, unsigned *now, unsigned *pending))
{
	ENTER(d);
	if (!strstr(w.gpus[d->gpu].name, "100"))
		return NVML_NOT_SUPPORTED;
	*now = *pending = w.gpus[d->gpu].is_mig;
	return NVML_OK;
}

FN(nvmlDeviceGetMaxMigDeviceCount, (nvml_dev d, unsigned *count))
{
	ENTER(d);
	*count = w.gpus[d->gpu].is_mig ? 7 : 0;
	return NVML_OK;
}

FN(nvmlDeviceGetMigDeviceHandleByIndex, (nvml_dev d, unsigned index, nvml_dev *mig))
{
	ENTER(d);
	if (d->instance >= 0 || index >= (unsigned)w.gpus[d->gpu].n_instances)
		return NVML_NOT_FOUND;
	handles[d->gpu][index + 1] = (struct nvml_handle){ d->gpu, (int)index };
	*mig = &handles[d->gpu][index + 1];
	return NVML_OK;
}

FN(nvmlDeviceGetGpuInstanceId, (nvml_dev d, unsigned *id))
{
	ENTER(d);
	*id = d->instance < 0 ? 0 : w.gpus[d->gpu].instances[d->instance].gi;
	return d->instance < 0 ? NVML_NOT_SUPPORTED : NVML_OK;
}

FN(nvmlDeviceGetComputeInstanceId, (nvml_dev d, unsigned *id))
{
	ENTER(d);
	*id = d->instance < 0 ? 0 : w.gpus[d->gpu].instances[d->instance].ci;
	return d->instance < 0 ? NVML_NOT_SUPPORTED : NVML_OK;
}
#endif
