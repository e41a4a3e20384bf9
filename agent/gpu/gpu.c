/* gpu.c - see gpu.h: opens the sources, and asks them in turn. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include "agent/gpu/allocs.h"
#include "agent/gpu/book.h"
#include "agent/gpu/drm.h"
#include "agent/gpu/gpu.h"
#include "agent/gpu/nvml.h"
#include "agent/gpu/nvml_source.h"
#include "common/err.h"

struct gpu {
	struct book book;
	struct nvml_source *nvml;
	struct drm *drm;
	struct allocs *allocs; /* NULL: off, or not to be had, as a note says */
	struct gpu_options o;  /* its texts are our own */
};

static int copy_options(struct gpu *g, const struct gpu_options *o)
{
	g->o.nvml = strdup(o->nvml ? o->nvml : NVML_LIBRARY);
	g->o.sys = strdup(o->sys ? o->sys : "/sys");
	g->o.dev = strdup(o->dev ? o->dev : "/dev");
	g->o.proc = strdup(o->proc ? o->proc : "/proc");
	if (o->cuda && !(g->o.cuda = strdup(o->cuda)))
		return -ENOMEM;
	return g->o.nvml && g->o.sys && g->o.dev && g->o.proc ? 0 : -ENOMEM;
}

/* Opt-in, and besides: without them all other figures are as they were. */
static void open_allocs(struct gpu *g)
{
	struct err why = { "" };

	if (g->o.cuda && allocs_open(g->o.cuda, &g->allocs, &why) < 0)
		book_note(&g->book, "GPU memory as allocated is not told: %.160s", why.text);
}

int gpu_open(const struct gpu_options *o, struct gpu **ret, struct err *err)
{
	_cleanup_(gpu_closep) struct gpu *g = calloc(1, sizeof(*g));
	const struct gpu_options none = { 0 };
	int r;

	if (!g || copy_options(g, o ? o : &none) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	r = nvml_source_open(&g->o, &g->book, &g->nvml, err);
	if (r == 0)
		r = drm_open(&g->o, &g->book, &g->drm, err);
	if (r < 0)
		return r;
	open_allocs(g);
	*ret = TAKE_PTR(g);
	return 0;
}

struct gpu *gpu_close(struct gpu *g)
{
	if (!g)
		return NULL;
	nvml_source_close(g->nvml);
	drm_close(g->drm);
	allocs_close(g->allocs);
	book_done(&g->book);
	free((char *)g->o.nvml);
	free((char *)g->o.sys);
	free((char *)g->o.dev);
	free((char *)g->o.proc);
	free((char *)g->o.cuda);
	free(g);
	return NULL;
}

int gpu_count(const struct gpu *g)
{
	return g->book.n_devices;
}

const struct gpu_device *gpu_device(const struct gpu *g, int i)
{
	return &g->book.devices[i].d;
}

const char *const *gpu_notes(const struct gpu *g)
{
	return g->book.note_list;
}

/* An ended one is kept until it was told for the last time. */
static bool is_wanted(void *ctx, pid_t pid)
{
	struct gpu *g = ctx;

	for (int i = 0; i < g->book.n_devices; i++)
		if (book_known(&g->book, i, pid))
			return true;
	return kill(pid, 0) == 0 || errno == EPERM;
}

static void sample_allocs(struct gpu *g)
{
	struct book_process *p;
	struct allocs_of of;

	if (!g->allocs)
		return;
	for (unsigned i = 0; (p = book_next(&g->book, &i));) {
		if (g->book.devices[p->p.device].d.vendor != GPU_NVIDIA ||
		    allocs_read(g->allocs, p->p.pid, &of) < 0 || of.n_lost)
			continue;
		p->p.have |= GPU_HAVE_ALLOC;
		p->p.alloc_bytes = of.bytes;
		p->p.alloc_peak_bytes = of.peak_bytes;
	}
	allocs_prune(g->allocs, is_wanted, g);
}

int gpu_sample(struct gpu *g, int64_t now_ns, gpu_process_fn each, void *ctx, struct err *err)
{
	int n_lost = 0;

	book_begin(&g->book, now_ns);
	nvml_source_sample(g->nvml);
	drm_sample(g->drm);
	sample_allocs(g);
	book_end(&g->book, each, ctx);
	for (int i = g->book.n_devices - 1; i >= 0; i--)
		if (g->book.devices[i].total.is_lost) {
			err_set(err, 0, "GPU %s cannot be asked", g->book.devices[i].d.uuid);
			n_lost++;
		}
	return n_lost;
}

const struct gpu_total *gpu_total(const struct gpu *g, int i)
{
	return &g->book.devices[i].total;
}

const char *gpu_source(const struct gpu *g, int i, enum gpu_have figure)
{
	const struct book_device *bd = &g->book.devices[i];

	switch (figure) {
	case GPU_HAVE_BUSY:
		return bd->source[0];
	case GPU_HAVE_MEM:
		return bd->source[1];
	case GPU_HAVE_ENERGY:
		return bd->source[2];
	case GPU_HAVE_ALLOC:
		return g->allocs && bd->d.vendor == GPU_NVIDIA ? "cuda uprobes" : NULL;
	}
	return NULL;
}

int gpu_check_clean(struct gpu *g, int i, char text[static GPU_TEXT_MAX])
{
	int r;

	text[0] = '\0';
	r = nvml_source_check(g->nvml, i, text);
	return r == -ENOENT ? drm_check(g->drm, i, text) : r;
}
