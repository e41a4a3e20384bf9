/* SPDX-License-Identifier: GPL-2.0-or-later */
/* source_impl.h - private to agent/gpu/nvml/. */
#pragma once
#include "agent/gpu/nvml/nvml.h"
#include "agent/gpu/nvml/source.h"

/* What was found of accounting mode, beside the errors of NVML (> 0) and 0: it is on. */
enum {
	ACCOUNTING_SWITCHED = -1,    /* the agent switched it on */
	ACCOUNTING_PARTITIONED = -2, /* MIG: there is none */
};

struct nvml_gpu {
	nvml_dev handle;
	int device; /* in the book */
	bool is_instance, has_acct;
	int accounting; /* of cards, at the first opening: what is to be noted */
	bool has_energy, has_idle;
	bool has_asked;
	uint64_t ring_us;	      /* the longest time that the driver gave samples of */
	int64_t asked_ns;	      /* the last whole look at it */
	uint64_t energy_mj;	      /* as last read */
	uint64_t period_us;	      /* of the samples of processes; 0: means are given */
	uint64_t util_us, busy_us;    /* newest sample of processes, of the GPU; 0: none yet */
	int64_t idle_bytes;	      /* least that was used while there was no process */
	unsigned *settled, n_settled; /* pids of accounting mode that are done with, sorted */
};

struct nvml_source {
	struct book *b;
	struct gpu_options o;
	struct nvml *n; /* NULL: down */
	struct nvml_gpu *gpus;
	int n_gpus;
	bool is_lost; /* some of them: look again */
	int64_t retry_ns, backoff_ns;
};

/* The device does not answer: note that once; the next sample tries to find it again. */
void nvml_source_lose(struct nvml_source *s, struct nvml_gpu *g, const char *why);
/* Is there no value? Takes note of what that means for the device, or for all. */
bool nvml_source_failed(struct nvml_source *s, struct nvml_gpu *g, enum nvml_rc rc,
			const char *what);

/* Loads the library again where it is down or a device is lost, when that is due: another
 * release of it may have come with the driver. */
void nvml_source_reopen(struct nvml_source *s);

/* Processes that ended, by what accounting mode keeps of them. */
void nvml_source_account(struct nvml_source *s, struct nvml_gpu *g);
/* Processes that ended before now belong to no job: mark them as done. */
void nvml_source_account_start(struct nvml_source *s, struct nvml_gpu *g);
