/* SPDX-License-Identifier: GPL-2.0-or-later */
/* eff_encode.c - encodes efficiency rows as a document, with advice and notes as text: for GET /v1/eff
 * and `reeve eff --ledger` alike. See usage/eff.h; its keys: docs/protocol.md. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "common/wire/doc.h"
#include "controller/ledger/usage/eff.h"
#include "controller/policy/efficiency/advice.h"

#define WORDS_MAX 512
#define CHARGE_MAX 32

/* ---- words ---- */

__attribute__((format(printf, 3, 4))) static void
add_words(char words[static WORDS_MAX], const char *between, const char *format, ...)
{
	size_t n = strlen(words);
	va_list ap;

	if (n)
		n += (size_t)snprintf(words + n, WORDS_MAX - n, "%s", between);
	if (n >= WORDS_MAX)
		return;
	va_start(ap, format);
	vsnprintf(words + n, WORDS_MAX - n, format, ap);
	va_end(ap);
}

/* Equivalent hours. */
static const char *format_charge(int64_t ms, char buf[static CHARGE_MAX])
{
	int64_t v = ms / 3600 + (ms % 3600 >= 1800);

	snprintf(buf, CHARGE_MAX, "%" PRId64 ".%03d", v / 1000, (int)(v % 1000));
	return buf;
}

/* The row is one job, not the sum of many. */
static bool is_one(const struct store_eff_row *n)
{
	return n->job != 0;
}

/* Of one job also for the sake of idle GPUs, whatever they cost: others wait for them. */
static bool is_worth_advice(const struct store_eff_row *n)
{
	const struct eff_sum *s = &n->sum;

	return eff_is_worth_advice(s) || (is_one(n) && s->jobs_saving && s->most_fit.ngpus);
}

/* What to request next time, and what it would have cost. */
static void write_advice(const struct store_eff_row *n, char words[static WORDS_MAX])
{
	const struct eff_sum *s = &n->sum;
	const struct job_end end = { .kind = s->end_kind,
				     .reason = { .limit = s->limit,
						 .requested = s->limit_requested,
						 .reached = s->limit_reached } };
	const struct advice_facts facts = { .end = &end, .engine = s->engine };
	char list[ADVICE_MAX], was[CHARGE_MAX], would[CHARGE_MAX];

	words[0] = '\0';
	if (s->n_gpus_idle && is_one(n))
		add_words(words, "", ADVICE_IDLE_GPUS);
	if (is_one(n) && *advice_more(&facts, list)) {
		add_words(words, "; ", "%s", list);
		return;
	}
	if (s->n_gpus_idle && !is_one(n))
		add_words(words, "", "in %" PRId64 " jobs GPUs did nothing: leave ngpus out",
			  s->n_gpus_idle);
	if (!is_worth_advice(n))
		return;
	format_charge(s->charge_ms, was);
	format_charge(s->charge_ms - s->saved_ms, would);
	advice_options(&s->most_fit, s->most_engine, list);
	if (is_one(n))
		add_words(words, "; ", "next time %s would do: charge %s -> %s", list, was,
			  would);
	else
		add_words(words, "; ",
			  "%" PRId64 " of %" PRId64 " jobs could have asked for less: charge %s"
			  " -> %s; most in job %" PRId64 ": %s",
			  s->jobs_saving, s->jobs, was, would, s->most_job, list);
}

/* Of an ended job without advice: why there is none. */
static void write_unadvised(const struct store_eff_row *n, char words[static WORDS_MAX])
{
	const struct eff_sum *s = &n->sum;
	char list[ADVICE_MAX];

	write_advice(n, words);
	if (!is_one(n) || *words || s->end_kind == END_NONE) {
		words[0] = '\0';
		return;
	}
	if (s->unjudged)
		add_words(words, "", "Nothing is advised: %s, so its use says little",
			  s->unjudged);
	else if (s->has_less)
		add_words(words, "", "next time %s would do, and save little or no charge",
			  advice_options(&s->less, s->engine, list));
	else
		add_words(words, "", "The same again: no smaller request is advised");
}

/* How the figure of one job can be above 100 %. */
static const char *why_over(const struct eff_sum *s, enum eff_side side)
{
	static const char *const here[_EFF_SIDE_MAX] = {
		[EFF_CPU] = "several hardware threads of a core were used",
		[EFF_MEM] = "the peak passed the request, with mapped files",
		[EFF_VMEM] = "the peak passed the request",
		[EFF_JOBFS] = "the peak passed the request",
		[EFF_WALLTIME] = "it ran on while it was being ended",
		[EFF_GPU] = "its GPUs' times are not read at the same instant",
	};
	static const char *const history[_EFF_SIDE_MAX] = {
		[EFF_CPU] = "the history tells more cpu time than cores x time",
		[EFF_MEM] = "the history tells a peak beyond the request",
		[EFF_VMEM] = "the history tells a peak beyond the request",
		[EFF_JOBFS] = "the history tells a peak beyond the request",
		[EFF_WALLTIME] = "the history tells more time than was requested",
		[EFF_GPU] = "the history tells more GPU time than GPUs x time",
	};

	return s->n_history ? history[side] : here[side];
}

static void write_note(const struct store_eff_row *n, char words[static WORDS_MAX])
{
	const struct eff_sum *s = &n->sum;

	words[0] = '\0';
	for (enum eff_side side = 0; side < _EFF_SIDE_MAX; side++) {
		if (!s->part[side].n_over)
			continue;
		if (is_one(n))
			add_words(words, "; ", "%s above 100 %%: %s", eff_side_name(side),
				  why_over(s, side));
		else
			add_words(words, "; ", "%s above 100 %% in %" PRId64 ", counted as 100",
				  eff_side_name(side), s->part[side].n_over);
	}
	if (s->n_simulated)
		add_words(words, "; ", "figures of simulated GPUs");
}

static void write_unmeasured(const struct store_eff_row *n, char words[static WORDS_MAX])
{
	words[0] = '\0';
	for (enum eff_side side = 0; side < _EFF_SIDE_MAX; side++) {
		const struct eff_part *p = &n->sum.part[side];
		int64_t of = side == EFF_GPU ? n->sum.n_with_gpus : n->sum.attempts;

		if (p->n_unmeasured && p->n_unmeasured < of)
			add_words(words, ", ", "%s (in %" PRId64 " of %" PRId64 ")",
				  eff_side_name(side), p->n_unmeasured, of);
		else if (p->n_unmeasured)
			add_words(words, ", ", "%s", eff_side_name(side));
	}
}

/* ---- figures ---- */

/* Below 0: not measured, and left out. */
static void set_known(struct doc *d, const char *key, int64_t v)
{
	if (v >= 0)
		doc_int(d, key, v);
}

/* As a text, "12.5": a JSON number would not keep the tenths exact. Below 0: left out. */
static void set_percent(struct doc *d, const char *key, int64_t permille)
{
	char text[CHARGE_MAX];

	snprintf(text, sizeof(text), "%" PRId64 ".%d", permille / 10, (int)(permille % 10));
	if (permille >= 0)
		doc_text_if(d, key, text);
}

static void set_sides(struct doc *d, const struct eff_sum *s)
{
	static const struct {
		enum eff_side side;
		const char *percent, *requested, *used;
	} keys[] = {
		{ EFF_CPU, "cpu_percent", NULL, NULL },
		{ EFF_MEM, "mem_percent", "mem_bytes", "mem_peak_bytes" },
		{ EFF_VMEM, "vmem_percent", "vmem_bytes", "vmem_peak_bytes" },
		{ EFF_JOBFS, "jobfs_percent", "jobfs_bytes", "jobfs_peak_bytes" },
		{ EFF_WALLTIME, "walltime_percent", NULL, NULL },
		{ EFF_GPU, "gpu_percent", NULL, NULL },
	};

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		set_percent(d, keys[i].percent, eff_permille(s, keys[i].side));
		if (!keys[i].used)
			continue;
		set_known(d, keys[i].requested, eff_requested(s, keys[i].side));
		set_known(d, keys[i].used, eff_used(s, keys[i].side));
	}
	set_known(d, "mem_cache_peak_bytes", eff_with_cache(s));
	set_known(d, "gpu_mem_peak_bytes", eff_gpu_mem(s));
	set_known(d, "idle_gpu_ms", eff_idle_gpu_ms(s));
	set_known(d, "cpu_ms", eff_cpu_ms(s));
	set_known(d, "idle_core_ms", eff_idle_core_ms(s));
}

static void set_names(struct doc *d, const struct store_eff_row *n)
{
	if (n->job)
		doc_int(d, "job", n->job);
	doc_text_if(d, "user", n->user);
	doc_text_if(d, "account", n->account);
	doc_text_if(d, "cluster", n->cluster);
	if (!n->job)
		return;
	doc_int(d, "ncpus", n->requested.ncpus);
	if (n->requested.ngpus)
		doc_int(d, "ngpus", n->requested.ngpus);
	doc_text_if(d, "gpu_model", n->requested.gpu_model);
	if (n->requested.walltime_s)
		doc_int(d, "walltime_s", n->requested.walltime_s);
}

static json_t *encode_row(const struct store_eff_row *n)
{
	static const struct {
		const char *key;
		void (*write)(const struct store_eff_row *n, char words[static WORDS_MAX]);
	} texts[] = { { "advice", write_advice },
		      { "unadvised", write_unadvised },
		      { "note", write_note },
		      { "not_measured", write_unmeasured } };
	const struct eff_sum *s = &n->sum;
	_cleanup_doc_ struct doc doc = doc_object();
	struct doc *d = &doc;
	char words[WORDS_MAX];

	set_names(d, n);
	doc_int(d, "jobs", s->jobs);
	doc_int(d, "attempts", s->attempts);
	doc_int(d, "running_ms", s->running_ms);
	doc_int(d, "core_ms", s->core_ms);
	doc_int(d, "gpu_ms", s->gpu_ms);
	set_sides(d, s);
	doc_int(d, "charge_requested_ms", s->charge_ms);
	if (is_worth_advice(n))
		doc_int(d, "charge_advised_ms", s->charge_ms - s->saved_ms);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		texts[i].write(n, words);
		doc_text_if(d, texts[i].key, words);
	}
	return doc_take(d);
}

int store_eff_encode(const struct store_eff_rows *found, json_t **ret, struct err *err)
{
	_cleanup_doc_ struct doc d = doc_message(), rows = doc_array();

	for (size_t i = 0; i < found->n; i++)
		doc_add(&rows, encode_row(&found->rows[i]));
	doc_set(&d, "rows", doc_take(&rows));
	doc_int(&d, "left_out", (int64_t)found->left_out);
	return doc_finish(&d, ret, err);
}
