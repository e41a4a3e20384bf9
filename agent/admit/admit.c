/* SPDX-License-Identifier: GPL-2.0-or-later */
/* admit.c - does a request fit what is free on the node, and what is missing; see admit.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "agent/admit/admit.h"
#include "common/model/amount.h"

/* One resource as this check sees it. `one` and `many` name the unit; NULL: bytes. */
struct need {
	const char *name, *one, *many;
	int64_t wanted, capacity, free;
};

enum { NEED_CPUS, NEED_MEM, NEED_JOBFS, NEED_GPUS, NEED_PIDS, NEED_MAX };

/* Amounts of many jobs may be absurd together: the sum saturates, it never wraps to "free". */
static int64_t add_clamped(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

int64_t admit_need_bytes(const struct resources *res)
{
	return res->vmem_bytes > res->mem_bytes ? res->vmem_bytes : res->mem_bytes;
}

int64_t admit_mem_bytes(const struct resources *res, const struct admit_mem_rule *rule)
{
	__int128 mem;

	if (res->mem_bytes > 0)
		return res->mem_bytes;
	if (res->vmem_bytes <= 0)
		return 0;
	mem = (__int128)res->vmem_bytes * rule->percent / 100 + rule->plus_bytes;
	if (mem > INT64_MAX)
		return INT64_MAX;
	return mem < rule->min_bytes ? rule->min_bytes : (int64_t)mem;
}

static int64_t sub_to_zero(int64_t all, int64_t held)
{
	return held >= all ? 0 : all - held;
}

static void free_gpus(const struct admit_node *node, const struct admit_capacity *held,
		      struct admit_capacity *ret)
{
	const struct gpus *all = &node->capacity.gpus;

	ret->ngpus = sub_to_zero(node->capacity.ngpus, held->ngpus);
	ret->gpus = *all;
	if (all->n == 0)
		return;
	ret->ngpus = gpus_free(all, &held->gpus, "");
	for (int32_t i = 0; i < all->n; i++)
		ret->gpus.of[i].n = gpus_free(all, &held->gpus, all->of[i].model);
}

void admit_free(const struct admit_node *node, struct admit_capacity *ret)
{
	struct admit_capacity held = { 0 };

	for (size_t i = 0; i < node->n_allocations; i++) {
		const struct admit_allocation *h = &node->allocations[i];

		if (h->phase == ADMIT_ACTIVE)
			held.ncpus = add_clamped(held.ncpus, h->res.ncpus);
		held.mem_bytes = add_clamped(held.mem_bytes, admit_need_bytes(&h->res));
		held.jobfs_bytes = add_clamped(held.jobfs_bytes, h->res.jobfs_bytes);
		held.ngpus = add_clamped(held.ngpus, h->res.ngpus);
		gpus_add(&held.gpus, h->res.gpu_model, h->res.ngpus);
		held.pids = add_clamped(held.pids, h->res.pids);
	}
	ret->ncpus = sub_to_zero(node->capacity.ncpus, held.ncpus);
	ret->mem_bytes = sub_to_zero(node->capacity.mem_bytes, held.mem_bytes);
	ret->jobfs_bytes = sub_to_zero(node->capacity.jobfs_bytes, held.jobfs_bytes);
	free_gpus(node, &held, ret);
	ret->pids = sub_to_zero(node->capacity.pids, held.pids);
}

/* Of one model, or any whole ones. */
static struct need gpu_need(const struct admit_capacity *all, const struct admit_capacity *free,
			    const struct resources *want)
{
	const char *model = want->gpu_model;

	if (!*model)
		return (struct need){ "", "GPU", "GPUs", want->ngpus, all->ngpus, free->ngpus };
	return (struct need){ "",
			      model,
			      model,
			      want->ngpus,
			      gpus_count(&all->gpus, model),
			      gpus_count(&free->gpus, model) };
}

/* In the order of the message. Processes are no need on a node that does not count them. */
static void list_needs(const struct admit_node *node, const struct resources *want,
		       struct need needs[static NEED_MAX])
{
	const struct admit_capacity *all = &node->capacity;
	const char *mem = want->vmem_bytes >= want->mem_bytes ? "vmem" : "mem";
	struct admit_capacity free;

	admit_free(node, &free);
	needs[NEED_CPUS] =
		(struct need){ "", "core", "cores", want->ncpus, all->ncpus, free.ncpus };
	needs[NEED_MEM] = (struct need){
		mem, NULL, NULL, admit_need_bytes(want), all->mem_bytes, free.mem_bytes
	};
	needs[NEED_JOBFS] =
		(struct need){ "jobfs",		NULL, NULL, want->jobfs_bytes, all->jobfs_bytes,
			       free.jobfs_bytes };
	needs[NEED_GPUS] = gpu_need(all, &free, want);
	needs[NEED_PIDS] =
		(struct need){ "", "process", "processes", want->pids, all->pids, free.pids };
	if (all->pids <= 0)
		needs[NEED_PIDS].wanted = 0;
}

static const char *format_amount(const struct need *n, int64_t value,
				 char buf[static AMOUNT_TEXT_MAX])
{
	if (!n->one)
		return amount_format_bytes(value, buf);
	snprintf(buf, AMOUNT_TEXT_MAX, "%" PRId64, value);
	return buf;
}

/* "needs 8 cores" / "needs 4.00 GiB vmem", then why that is too much. */
static void word_need(const struct need *n, int never, char *buf, size_t size)
{
	char wanted[AMOUNT_TEXT_MAX], free[AMOUNT_TEXT_MAX], all[AMOUNT_TEXT_MAX];
	const char *unit = n->one ? (n->wanted == 1 ? n->one : n->many) : n->name;
	const char *is = n->one && n->free != 1 ? "are" : "is";

	format_amount(n, n->wanted, wanted);
	format_amount(n, n->free, free);
	format_amount(n, n->capacity, all);
	if (never)
		snprintf(buf, size, "%s %s; this node has %s", wanted, unit, all);
	else
		snprintf(buf, size, "%s %s; %s of %s %s free", wanted, unit, free, all, is);
}

static bool is_missing(const struct need *n, int never)
{
	return n->wanted > (never ? n->capacity : n->free);
}

/* Writes all needs that are too large for the node (never), or for what is free (not never). 1: there are some; 0: none, and text is "". */
static int list_missing(const struct need *needs, int never, char text[static ADMIT_TEXT_MAX])
{
	size_t used = 0;

	text[0] = '\0';
	for (int i = 0; i < NEED_MAX; i++) {
		char one[160];

		if (!is_missing(&needs[i], never))
			continue;
		word_need(&needs[i], never, one, sizeof(one));
		snprintf(text + used, ADMIT_TEXT_MAX - used, "%s%s", used ? ", and " : "needs ",
			 one);
		used = strlen(text);
	}
	return used > 0;
}

int admit_check(const struct admit_node *node, const struct resources *want,
		char text[static ADMIT_TEXT_MAX])
{
	struct need needs[NEED_MAX];

	list_needs(node, want, needs);
	if (list_missing(needs, 1, text))
		return ADMIT_NEVER;
	return list_missing(needs, 0, text) ? ADMIT_NOT_NOW : ADMIT_YES;
}
