/* SPDX-License-Identifier: GPL-2.0-or-later */
/* advice.c - proposes a request from what a finished job used; see advice.h. The thresholds are
 * those of advice.h; usage_has() is false for a figure that the node could not measure, and
 * such a figure never leads to advice. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "common/cleanup.h"
#include "common/model/amount.h"
#include "common/time_units.h"
#include "controller/policy/efficiency/advice.h"

#define GIB (1LL << 30)
#define MIB (1LL << 20)

/* A fifth more, without overflow for any amount. */
static int64_t with_margin(int64_t v)
{
	return v > INT64_MAX / 2 ? v : v + v / 5;
}

static int64_t round_up(int64_t v, int64_t step)
{
	return v > INT64_MAX - step ? v : (v + step - 1) / step * step;
}

/* Whole GiB above 4 GiB, else steps of 256 MiB, 16 MiB, 1 MiB. */
static int64_t round_bytes(int64_t v)
{
	return round_up(v, v > 4 * GIB	   ? GIB
			   : v > GIB	   ? 256 * MIB
			   : v > 256 * MIB ? 16 * MIB
					   : MIB);
}

static int64_t round_seconds(int64_t v)
{
	return round_up(v, v > 36000 ? 3600 : v > 3600 ? 600 : 60);
}

static int64_t fit_bytes(int64_t peak)
{
	return round_bytes(with_margin(peak));
}

static int64_t fit_seconds(int64_t s)
{
	return round_seconds(with_margin(s));
}

/* How an engine names its amounts: units are powers of 1024 in all of them. */
struct option_style {
	const char *vmem, *mem, *jobfs, *walltime, *gpus;
	const char *between, *gib, *mib;
};
static const struct option_style sbatch = { "--vmem", "--mem", "--jobfs", "--time",
					    "--gpus", " ",     "G",	  "M" },
				 qsub = { "vmem",  "mem", "jobfs", "walltime",
					  "ngpus", ",",	  "gb",	   "mb" };

__attribute__((format(printf, 3, 4))) static void
add_option(char buf[static ADVICE_MAX], const char *between, const char *format, ...)
{
	size_t n = strlen(buf);
	va_list ap;

	if (n)
		n += (size_t)snprintf(buf + n, ADVICE_MAX - n, "%s", between);
	va_start(ap, format);
	vsnprintf(buf + n, ADVICE_MAX - n, format, ap);
	va_end(ap);
}

/* Appends to `buf` all that is not 0 but cores. */
static void add_amounts(const struct option_style *t, const struct resources *fit,
			char buf[static ADVICE_MAX])
{
	const struct {
		const char *option;
		int64_t bytes;
	} sizes[] = { { t->vmem, fit->vmem_bytes },
		      { t->mem, fit->mem_bytes },
		      { t->jobfs, fit->jobfs_bytes } };
	char time[AMOUNT_TEXT_MAX];

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		bool is_gib = sizes[i].bytes % GIB == 0;
		int64_t unit = is_gib ? GIB : MIB;

		if (sizes[i].bytes)
			add_option(buf, t->between, "%s=%" PRId64 "%s", sizes[i].option,
				   (sizes[i].bytes + unit - 1) / unit,
				   is_gib ? t->gib : t->mib);
	}
	if (fit->walltime_s)
		add_option(buf, t->between, "%s=%s", t->walltime,
			   amount_format_seconds(fit->walltime_s, time));
	if (fit->ngpus)
		add_option(buf, t->between, "%s=%" PRId64, t->gpus, fit->ngpus);
}

/* Cores have several options in Slurm, and the user knows which of them was used. */
static const char *format_sbatch_options(const struct resources *fit,
					 char buf[static ADVICE_MAX])
{
	buf[0] = '\0';
	add_amounts(&sbatch, fit, buf);
	if (fit->ncpus)
		add_option(buf, " with ", "%" PRId64 " core%s", fit->ncpus,
			   fit->ncpus == 1 ? "" : "s");
	return buf;
}

static const char *format_qsub_options(const struct resources *fit, char buf[static ADVICE_MAX])
{
	char list[ADVICE_MAX] = "";

	if (fit->ncpus)
		add_option(list, "", "ncpus=%" PRId64, fit->ncpus);
	add_amounts(&qsub, fit, list);
	snprintf(buf, ADVICE_MAX, "-l %.*s", ADVICE_MAX - 4, list);
	return buf;
}

const char *advice_options(const struct resources *fit, enum engine engine,
			   char buf[static ADVICE_MAX])
{
	if (engine == ENGINE_SLURM)
		return format_sbatch_options(fit, buf);
	if (engine == ENGINE_PBS)
		return format_qsub_options(fit, buf);
	strcpy(buf, "-l ");
	resources_format(fit, buf + 3, ADVICE_MAX - 3);
	return buf;
}

/* `u` NULL: not known. */
static int64_t count_refused(const struct usage *u)
{
	return u && usage_has(u, &u->vmem_refused) ? u->vmem_refused : 0;
}

/* Programs that ask for much and make do with less are refused too. */
static const char *more_for_refusals(const struct advice_facts *f, char buf[static ADVICE_MAX])
{
	int64_t n = count_refused(f->usage);
	char limit[AMOUNT_TEXT_MAX];

	if (n > 0 && f->end->kind != END_NONE)
		snprintf(buf, ADVICE_MAX,
			 "%" PRId64
			 " mapping%s refused with ENOMEM for the limit of vmem: if the "
			 "job lacked memory, request more than vmem=%s",
			 n, n == 1 ? " was" : "s were",
			 amount_format_bytes_exact(f->requested->vmem_bytes, limit));
	return buf;
}

/* A limit was reached: how much more to request. The measured excess is a lower bound of the
 * need (the job was killed there), hence "at least". */
const char *advice_more(const struct advice_facts *f, char buf[static ADVICE_MAX])
{
	const struct reason *r = &f->end->reason;
	int64_t need = r->reached > r->requested ? r->reached : r->requested;
	struct resources fit = { 0 };
	char list[ADVICE_MAX];

	buf[0] = '\0';
	if (f->end->kind != END_LIMIT)
		return more_for_refusals(f, buf);
	if (need <= 0)
		return buf;
	if (r->limit == LIMIT_VMEM)
		fit.vmem_bytes = fit_bytes(need);
	else if (r->limit == LIMIT_MEM)
		fit.mem_bytes = fit_bytes(need);
	else if (r->limit == LIMIT_JOBFS)
		fit.jobfs_bytes = fit_bytes(need);
	else if (r->limit == LIMIT_WALLTIME)
		fit.walltime_s = fit_seconds(need);
	else
		return buf;
	snprintf(buf, ADVICE_MAX, "next time request more %s: at least %.*s",
		 limit_kind_name(r->limit), ADVICE_MAX - 64,
		 advice_options(&fit, f->engine, list));
	return buf;
}

/* 0: no advice. */
static int64_t less_cores(const struct advice_facts *f)
{
	int64_t ncpus = f->requested->ncpus, cores;

	if (!usage_has(f->usage, &f->usage->cpu_ns))
		return 0;
	/* Busy cores on average, rounded up to whole ones; a tenth of one is noise. */
	cores = (f->usage->cpu_ns + f->running_ns * 9 / 10) / f->running_ns;
	if (cores < 1)
		cores = 1;
	return ncpus - cores < 1 || cores * 2 > ncpus ? 0 : cores;
}

/* A request that fits the peak; 0: no advice: the peak was not measured, more than half was
 * used, or the excess is below `worth` bytes. */
static int64_t less_bytes(const struct usage *u, const int64_t *peak, int64_t requested,
			  int64_t worth)
{
	if (!usage_has(u, peak) || *peak >= requested / 2 || requested - *peak < worth)
		return 0;
	return fit_bytes(*peak > MIB ? *peak : MIB);
}

static bool is_long_enough(const struct advice_facts *f)
{
	return f->running_ns >= 60 * S_NS;
}

/* A failed job says nothing about its need. */
const char *advice_unjudged(const struct advice_facts *f)
{
	if (f->end->kind == END_CANCELLED)
		return "it was cancelled";
	if (f->end->kind != END_EXITED || f->end->exit_status != 0)
		return "it did not end well";
	return is_long_enough(f) ? NULL : "it ran for less than a minute";
}

static bool has_gpu_figures(const struct advice_facts *f)
{
	return f->requested->ngpus > 0 && usage_has(f->usage, &f->usage->gpus_used);
}

bool advice_gpus_idle(const struct advice_facts *f)
{
	bool is_cut = f->end->kind == END_CANCELLED ||
		      (f->end->kind == END_LIMIT && f->end->reason.limit == LIMIT_WALLTIME);

	return is_long_enough(f) && (is_cut || !advice_unjudged(f)) && has_gpu_figures(f) &&
	       f->usage->gpus_used == 0;
}

/* Proposes as many GPUs as did something, of the same model. */
static void less_gpus(const struct advice_facts *f, struct resources *fit)
{
	int64_t used = f->usage->gpus_used;

	if (!has_gpu_figures(f) || used == 0 || used >= f->requested->ngpus)
		return;
	fit->ngpus = used;
	memcpy(fit->gpu_model, f->requested->gpu_model, sizeof(fit->gpu_model));
}

bool advice_less(const struct advice_facts *f, struct resources *ret)
{
	const struct resources *r = f->requested;
	const struct usage *u = f->usage;
	int64_t s = f->running_ns / S_NS;

	*ret = (struct resources){ 0 };
	if (advice_unjudged(f))
		return false;
	ret->ncpus = less_cores(f);
	if (r->vmem_bytes && count_refused(u) > 0)
		ret->vmem_bytes = 0;
	else if (r->vmem_bytes)
		ret->vmem_bytes = less_bytes(u, &u->vmem_peak_bytes, r->vmem_bytes, GIB);
	else
		ret->mem_bytes = less_bytes(u, &u->rss_peak_bytes, r->mem_bytes, GIB);
	ret->jobfs_bytes = less_bytes(u, &u->jobfs_peak_bytes, r->jobfs_bytes, 10 * GIB);
	if (s < r->walltime_s / 4 && r->walltime_s - s >= 3600)
		ret->walltime_s = fit_seconds(s);
	less_gpus(f, ret);
	return ret->ngpus || ret->ncpus || ret->vmem_bytes || ret->mem_bytes ||
	       ret->jobfs_bytes || ret->walltime_s;
}

const char *advice_format(const struct advice_facts *f, char buf[static ADVICE_MAX])
{
	bool is_idle = advice_gpus_idle(f);
	char list[ADVICE_MAX], more[ADVICE_MAX];
	struct resources fit;

	if (advice_less(f, &fit))
		snprintf(more, ADVICE_MAX, "next time %.*s would do", ADVICE_MAX - 80,
			 advice_options(&fit, f->engine, list));
	else
		advice_more(f, more);
	snprintf(buf, ADVICE_MAX, "%s%s%.*s", is_idle ? ADVICE_IDLE_GPUS : "",
		 is_idle && *more ? "; " : "", ADVICE_MAX - 60, more);
	return buf;
}
