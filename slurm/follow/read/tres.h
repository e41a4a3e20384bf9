/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tres - amounts in Slurm's list of trackable resources: "cpu=2,mem=400M,node=1,gres/gpu:a100=1".
 *
 * Pure. slurmctld writes names; slurmdbd numbers of a table of its own ("1=2,2=400,1001=1"), with memory in MiB.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "common/wire/slurm_batch.h"

/* slurmdbd's number of a resource, and its name: "cpu", "gres/gpu:a100". */
struct tres_name {
	uint32_t id;
	char name[REQUEST_NAME_MAX];
};
struct tres_names {
	struct tres_name *of;
	size_t n;
};

/* Sets ncpus, n_nodes, mem_bytes, ngpus and gpu_model of what the list names; the rest stays. Of GPUs of several models
 * none is set. Items that are not readable are skipped. `names` NULL: the list has names. */
void tres_read(const char *list, const struct tres_names *names, struct slurm_batch_job *to);
