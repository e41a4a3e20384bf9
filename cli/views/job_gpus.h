/* SPDX-License-Identifier: GPL-2.0-or-later */
/* job_gpus - prints the GPUs of a job as a table: their use, and the source of the figures. */
#pragma once
#include "cli/cli.h"
#include "cli/views/job_view.h"

/* The sum of the memory of the job's GPUs, in bytes; -1: unknown for one of them. */
int64_t job_gpus_memory(const struct job_view *v);
/* Prints nothing for a job without GPUs. */
int job_gpus_show(const struct cli *c, const struct job_view *v, struct err *err);
