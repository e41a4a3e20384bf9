/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpus - GPUs in the ledger: by model, and how attempts used each of them. */
#pragma once
#include "common/model/gpus.h"
#include "controller/ledger/store.h"

struct db_row;
struct store_report_case;

/* Read columns as the ledger writes them. A list of GPUs that is not readable counts as none. */
void store_gpu_model(struct db_row *st, int column, struct resources *ret);
void store_gpu_counts(struct db_row *st, int column, struct gpus *ret);

/* Two columns beside each other: the type of a node and its features, or those that a job asks for. */
void store_node_kind(struct db_row *st, int column, struct resources *ret);

/* Adds to each node the GPUs, by model, that jobs have in use there. `nodes` is sorted by name. */
int store_gpus_in_use(struct store *s, const char *cluster, struct fit_node *nodes, size_t n,
		      struct err *err);
/* The idle time from which on a GPU counts as allocated but idle; 0, as at first: none does. */
void store_set_gpu_idle(struct store *s, int64_t after_ns);
/* Merges the GPUs of a new report into its attempt's, and writes the event "gpu-idle" or "gpu-busy"
 * where that state changed: once for each idle period, also over restarts of the controller. In the
 * transaction under way. */
int store_gpus_report(struct store *s, const struct store_report_case *c, struct err *err);

/* GPUs of jobs that run: in use, and of these idle for `idle_after_ns` or more (0: none count as
 * idle). One call for each attempt that has some. */
struct store_gpus_running {
	const char *cluster,
		*model; /* model "": the job asked for any model, and the node named none */
	int64_t in_use, idle;
};
typedef int (*store_gpus_fn)(void *ctx, const struct store_gpus_running *g, struct err *err);
int store_gpus_running(struct store *s, int64_t idle_after_ns, store_gpus_fn fn, void *ctx,
		       struct err *err);
