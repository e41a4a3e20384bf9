/* SPDX-License-Identifier: GPL-2.0-or-later */
/* source_account.c - reads what the driver keeps of processes after their end (accounting mode):
 * busy time and largest memory, also of processes that no sample saw.
 *
 * The driver's list has some thousands of pids, most of which ended long ago: each is read once,
 * when it is found not to run.
 */
#include <string.h>
#include "agent/gpu/nvml/source_impl.h"

static int by_number(const void *a, const void *b)
{
	unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;

	return x < y ? -1 : x > y;
}

static bool is_settled(const struct nvml_gpu *g, unsigned pid)
{
	return g->n_settled &&
	       bsearch(&pid, g->settled, g->n_settled, sizeof(pid), by_number) != NULL;
}

static bool is_running(struct nvml_source *s, const struct nvml_gpu *g, unsigned pid)
{
	const struct book_process *p = book_known(s->b, g->device, (pid_t)pid);

	return p && p->is_seen;
}

/* The driver rounds the busy time to percents of the process's life: the larger of its figure and
 * ours is nearer. */
static void complete_process(struct book_process *p, const struct nvml_accounting *a)
{
	int64_t busy_ns = (int64_t)a->gpu_percent * (int64_t)a->time_ms * 10000;

	if (a->gpu_percent <= 100 && a->time_ms < 1ULL << 40) {
		p->p.have |= GPU_HAVE_BUSY;
		if (busy_ns > p->p.busy_ns)
			p->p.busy_ns = busy_ns;
	}
	if (a->mem_peak_bytes != NVML_NOT_AVAILABLE && a->mem_peak_bytes <= INT64_MAX) {
		p->p.have |= GPU_HAVE_MEM;
		if ((int64_t)a->mem_peak_bytes > p->p.mem_peak_bytes)
			p->p.mem_peak_bytes = (int64_t)a->mem_peak_bytes;
	}
}

/* True: need not be read again. */
static bool settle_process(struct nvml_source *s, struct nvml_gpu *g, unsigned pid)
{
	struct book_process *p = book_known(s->b, g->device, (pid_t)pid);
	struct nvml_accounting a;
	enum nvml_rc rc = nvml_acct(s->n, g->handle, pid, &a);

	if (rc == NVML_NOT_FOUND)
		return true;
	if (nvml_source_failed(s, g, rc, "accounting") || a.is_running)
		return false;
	if (!p) {
		p = book_process(s->b, g->device, (pid_t)pid);
		if (!p)
			return false;
		p->is_seen = false;
	}
	complete_process(p, &a);
	return true;
}

static void settle_pids(struct nvml_source *s, struct nvml_gpu *g,
			bool (*fn)(struct nvml_source *s, struct nvml_gpu *g, unsigned pid))
{
	_cleanup_free_ unsigned *settled = NULL;
	const unsigned *pids;
	unsigned n = 0, kept = 0;

	if (nvml_source_failed(s, g, nvml_acct_pids(s->n, g->handle, &pids, &n),
			       "accounting") ||
	    !n)
		return;
	settled = reallocarray(NULL, n, sizeof(*settled));
	if (!settled)
		return;
	for (unsigned i = 0; i < n && s->n && g->handle; i++)
		if (!is_running(s, g, pids[i]) && (is_settled(g, pids[i]) || fn(s, g, pids[i])))
			settled[kept++] = pids[i];
	qsort(settled, kept, sizeof(*settled), by_number);
	free(g->settled);
	g->settled = TAKE_PTR(settled);
	g->n_settled = kept;
}

static bool has_ended(struct nvml_source *s, struct nvml_gpu *g, unsigned pid)
{
	struct nvml_accounting a;

	return nvml_acct(s->n, g->handle, pid, &a) != NVML_OK || !a.is_running;
}

void nvml_source_account(struct nvml_source *s, struct nvml_gpu *g)
{
	settle_pids(s, g, settle_process);
}

void nvml_source_account_start(struct nvml_source *s, struct nvml_gpu *g)
{
	settle_pids(s, g, has_ended);
}
