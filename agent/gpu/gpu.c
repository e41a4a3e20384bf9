/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpu.c - opens the GPU sources and samples them in turn, in a thread with a deadline; see
 * gpu.h. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include "agent/gpu/allocs.h"
#include "agent/gpu/asker.h"
#include "agent/gpu/book.h"
#include "agent/gpu/drm/drm.h"
#include "agent/gpu/gpu.h"
#include "agent/gpu/nvml/nvml.h"
#include "agent/gpu/nvml/source.h"
#include "common/err.h"
#include "common/time_units.h"

#define WAIT_NS S_NS		   /* for a driver that is there: it answers in milliseconds */
#define WAIT_OPEN_NS 20000000000LL /* an idle driver is started first */

/* The values of the last answer of the driver. */
struct answers {
	struct gpu_total totals[GPU_DEVICES_MAX];
	const char *source[GPU_DEVICES_MAX][3];
	const char *notes[BOOK_NOTES_MAX + 1];
};

struct gpu {
	/* While a call runs these belong to the thread, with all that they point to. */
	struct book book;
	struct nvml_source *nvml;
	struct drm *drm;
	struct allocs *allocs; /* NULL: off, or it failed, as a note says */
	struct gpu_options o;  /* its texts are our own */
	struct question {
		int64_t now_ns;
		int device, result;
		char text[GPU_TEXT_MAX];
		struct err err;
	} q;
	/* These always belong to the caller's side. */
	struct asker *asker; /* NULL: there is no GPU, calls are made directly */
	int n_devices;	     /* the first ones of the book, which change no more */
	struct answers last;
	char mute[128]; /* a note of our own: it never answered */
};

static int copy_options(struct gpu *g, const struct gpu_options *o)
{
	g->o.nvml = strdup(o->nvml ? o->nvml : NVML_LIBRARY);
	g->o.sys = strdup(o->sys ? o->sys : "/sys");
	g->o.dev = strdup(o->dev ? o->dev : "/dev");
	g->o.proc = strdup(o->proc ? o->proc : "/proc");
	g->o.wait_ms = o->wait_ms;
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

/* ---- a driver may not answer ---- */

static bool is_silent(const struct gpu *g)
{
	return g->asker && asker_is_busy(g->asker);
}

/* Call it only while the thread is idle. */
static void copy_answers(struct gpu *g)
{
	int n = g->book.n_notes;

	for (int i = 0; i < g->n_devices; i++) {
		const struct book_device *bd = &g->book.devices[i];

		g->last.totals[i] = bd->total;
		memcpy(g->last.source[i], bd->source, sizeof(bd->source));
	}
	memcpy(g->last.notes, g->book.note_list, (size_t)n * sizeof(g->last.notes[0]));
	g->last.notes[n] = NULL;
}

/* `fn` works on g->q, which the caller may write only while no call is outstanding. */
static int ask_driver(struct gpu *g, asker_fn fn, int64_t wait_ns)
{
	int r = 0;

	if (g->asker)
		r = asker_ask(g->asker, fn, g, wait_ns);
	else
		fn(g);
	if (r == 0)
		copy_answers(g);
	return r;
}

static void open_sources(void *ctx)
{
	struct gpu *g = ctx;
	struct question *q = &g->q;

	q->result = nvml_source_open(&g->o, &g->book, &g->nvml, &q->err);
	if (q->result == 0)
		q->result = drm_open(&g->o, &g->book, &g->drm, &q->err);
	if (q->result == 0)
		open_allocs(g);
}

static void note_mute(struct gpu *g)
{
	snprintf(g->mute, sizeof(g->mute),
		 "the driver of the GPUs does not answer: none are offered; restart the agent "
		 "when it does");
	g->last.notes[0] = g->mute;
	g->last.notes[1] = NULL;
}

int gpu_open(const struct gpu_options *o, struct gpu **ret, struct err *err)
{
	_cleanup_(gpu_closep) struct gpu *g = calloc(1, sizeof(*g));
	const struct gpu_options none = { 0 };
	int r;

	if (!g || copy_options(g, o ? o : &none) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	r = asker_open(&g->asker, err);
	if (r < 0)
		return r;
	r = ask_driver(g, open_sources, g->o.wait_ms ? g->o.wait_ms * MS_NS : WAIT_OPEN_NS);
	if (r == -ETIMEDOUT) {
		note_mute(g);
	} else if (g->q.result < 0) {
		return err_set(err, g->q.result, "%s", g->q.err.text);
	} else {
		g->n_devices = g->book.n_devices;
		copy_answers(g);
		if (!g->n_devices && asker_close(g->asker, WAIT_NS) == 0)
			g->asker = NULL;
	}
	*ret = TAKE_PTR(g);
	return 0;
}

static int64_t wait_of(const struct gpu *g)
{
	return g->o.wait_ms ? g->o.wait_ms * MS_NS : WAIT_NS;
}

struct gpu *gpu_close(struct gpu *g)
{
	if (!g || asker_close(g->asker, wait_of(g)) < 0)
		return NULL; /* what a driver that hangs works on is left to it */
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
	return g->n_devices;
}

const struct gpu_device *gpu_device(const struct gpu *g, int i)
{
	return &g->book.devices[i].d;
}

const char *const *gpu_notes(const struct gpu *g)
{
	return g->last.notes;
}

/* An ended process is kept until it was reported for the last time. */
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

static void sample_sources(void *ctx)
{
	struct gpu *g = ctx;

	book_begin(&g->book, g->q.now_ns);
	nvml_source_sample(g->nvml);
	drm_sample(g->drm);
	sample_allocs(g);
}

static int note_silence(const struct gpu *g, char text[static GPU_TEXT_MAX])
{
	if (!gpu_silence(g, text))
		snprintf(text, GPU_TEXT_MAX, "the driver of the GPUs answered too late");
	return -ETIMEDOUT;
}

int gpu_sample(struct gpu *g, int64_t now_ns, gpu_process_fn each, void *ctx, struct err *err)
{
	char text[GPU_TEXT_MAX];
	int n_lost = 0, r = -ETIMEDOUT;

	if (!is_silent(g)) {
		g->q.now_ns = now_ns;
		r = ask_driver(g, sample_sources, wait_of(g));
	}
	if (r < 0) {
		r = note_silence(g, text);
		return err_set(err, r, "%s", text);
	}
	book_end(&g->book, each, ctx);
	for (int i = g->n_devices - 1; i >= 0; i--)
		if (g->last.totals[i].is_lost) {
			err_set(err, 0, "GPU %s cannot be asked", gpu_device(g, i)->uuid);
			n_lost++;
		}
	return n_lost;
}

const struct gpu_total *gpu_total(const struct gpu *g, int i)
{
	return &g->last.totals[i];
}

const char *gpu_source(const struct gpu *g, int i, enum gpu_have figure)
{
	switch (figure) {
	case GPU_HAVE_BUSY:
		return g->last.source[i][0];
	case GPU_HAVE_MEM:
		return g->last.source[i][1];
	case GPU_HAVE_ENERGY:
		return g->last.source[i][2];
	case GPU_HAVE_ALLOC:
		return g->allocs && gpu_device(g, i)->vendor == GPU_NVIDIA ? "cuda uprobes"
									   : NULL;
	}
	return NULL;
}

static void check_clean(void *ctx)
{
	struct gpu *g = ctx;
	struct question *q = &g->q;

	q->text[0] = '\0';
	q->result = nvml_source_check(g->nvml, q->device, q->text);
	if (q->result == -ENOENT)
		q->result = drm_check(g->drm, q->device, q->text);
}

int gpu_check_clean(struct gpu *g, int i, char text[static GPU_TEXT_MAX])
{
	if (!is_silent(g)) {
		g->q.device = i;
		if (ask_driver(g, check_clean, wait_of(g)) == 0) {
			memcpy(text, g->q.text, GPU_TEXT_MAX);
			return g->q.result;
		}
	}
	return note_silence(g, text);
}

bool gpu_silence(const struct gpu *g, char text[static GPU_TEXT_MAX])
{
	time_t since = (time_t)(g->asker ? asker_since_ns(g->asker) / S_NS : 0);
	struct tm tm;
	size_t n;

	text[0] = '\0';
	if (!since)
		return false;
	n = (size_t)snprintf(text, GPU_TEXT_MAX,
			     "the driver of the GPUs has not answered since ");
	gmtime_r(&since, &tm);
	strftime(text + n, GPU_TEXT_MAX - n, "%Y-%m-%dT%H:%M:%SZ", &tm);
	return true;
}
