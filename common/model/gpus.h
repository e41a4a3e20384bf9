/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpus - GPUs counted by model: what a node has, what is allocated, and what a typed model means.
 *
 * Pure. A model is what users type and what a price belongs to: "a100-40" (with its memory in
 * GB), "h100-80"; a part of a GPU (a MIG instance) is a model of its own, whose name has a '_':
 * "a100_1g.5gb". The model "" is whole GPUs of an unknown model.
 */
#pragma once
#include "common/model/request.h"

#define GPUS_NODE_MODELS_MAX 8			   /* of one node */
#define GPUS_MODELS_MAX (GPUS_NODE_MODELS_MAX + 1) /* and those allocated as "" */

struct gpus {
	int32_t n;
	struct gpus_of {
		char model[REQUEST_NAME_MAX];
		int64_t n;
	} of[GPUS_MODELS_MAX];
};

bool gpus_is_part(const char *model);
/* -ENOSPC: more models than one node may have. */
int gpus_add(struct gpus *g, const char *model, int64_t n);
/* Of the model; "": all whole ones, whatever their models. */
int64_t gpus_count(const struct gpus *g, const char *model);
/* How many of the model can still be allocated; "": any whole ones. Those allocated as "" may be of
 * any whole model, so each is subtracted from every whole model. Never below 0. */
int64_t gpus_free(const struct gpus *all, const struct gpus *held, const char *model);

/* "a100-40=4,a100_1g.5gb=7,=2": the form the ledger keeps. 640 bytes always suffice. */
#define GPUS_TEXT_MAX 768
const char *gpus_format(const struct gpus *g, char buf[static GPUS_TEXT_MAX]);
/* -EINVAL: not of that form. */
int gpus_parse(const char *text, struct gpus *ret);
/* "4 a100-40, 2 GPUs": for people; "" when there are none. */
const char *gpus_words(const struct gpus *g, char buf[static GPUS_TEXT_MAX]);

/* What a typed model means among those there are: one of exactly that name; else, typed without
 * its size ("a100"), the only one of the sizes that there are. */
struct gpus_match {
	char typed[REQUEST_NAME_MAX], exact[REQUEST_NAME_MAX], sized[REQUEST_NAME_MAX];
	int n_sized;
	char sizes[256], all[256]; /* "a100-40, a100-80" */
};
/* Begin with the typed model, try every known name (repeats are fine), end. Case does not matter. */
void gpus_match_begin(struct gpus_match *m, const char *typed);
void gpus_match_try(struct gpus_match *m, const char *name);
/* 1: nothing is known, so the typed model stands. -EINVAL: no such model, or several sizes,
 * with those there are; `where` is "this cluster's nodes have". */
int gpus_match_end(const struct gpus_match *m, const char *where,
		   char ret[static REQUEST_NAME_MAX], struct err *err);
