/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pbs_resources - reads the figures of a PBS record: sizes, times, lists of chunks and of
 * hosts.
 *
 * Pure; part of pbs.c. Sums beyond HISTORY_AMOUNT_MAX are that bound, for history_judge() to
 * find.
 */
#pragma once
#include "controller/history/history.h"

/* Number and cluster of an id, pbs_id.c: an enum history_why, or PBS_NO_JOB of a whole array. */
int pbs_parse_id(struct history_text id, struct history_job *ret);

/* "64gb", "12.27M", "100kw", "1024": bytes. 0, -EINVAL. */
int pbs_parse_size(struct history_text t, int64_t *ret);
/* "[[[days:]hours:]minutes:]seconds[.part]": milliseconds. 0, -EINVAL. */
int pbs_parse_time(struct history_text t, int64_t *ret_ms);

/* The sums of a list of chunks: "2:ncpus=16:mem=64gb:ngpus=1+1:ncpus=4" (select),
 * "(n1:ncpus=16:mem=4kb)+(n2:ncpus=4)" (exec_vnode), "2:ppn=4:gpus=1" or "n1:ppn=2+n2" (nodes
 * of Torque). GPUs whose chunk has a model are added to gpus_of->gpus as well; NULL: not asked.
 */
struct pbs_chunks {
	int64_t ncpus, ngpus, mem_bytes; /* mem_bytes: -1: no chunk states it */
	int64_t typed;			 /* of ngpus: with a model */
	struct history_amounts left_out; /* whole numbers of other resources */
};
/* A chunk that states no cores has `default_ncpus`. 0; -EINVAL: not of that form; -ENOSPC: too
 * many models. */
int pbs_parse_chunks(struct history_text t, int64_t default_ncpus, struct history_job *gpus_of,
		     struct pbs_chunks *ret);
/* "n1/0*4+n2/0*4", "n1/0+n1/1", "n1/0-3": slots, and different hosts. 0; -EINVAL; -ERANGE: more
 * hosts than the table has room for. */
int pbs_parse_hosts(struct history_text t, int64_t *ret_slots, int64_t *ret_hosts);
/* Adds the amount of a resource that is none of those read here and no bound of the job, where it is
 * a whole number: "naccelerators" "2". */
void pbs_add_left_out(struct history_amounts *to, struct history_text name,
		      struct history_text value, int64_t times);
/* A model's name in small letters. -EINVAL: it cannot be one. */
int pbs_copy_model(struct history_text t, char ret[static REQUEST_NAME_MAX]);
