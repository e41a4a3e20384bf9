/* SPDX-License-Identifier: GPL-2.0-or-later */
/* files.h - sampling without BPF: descriptors kept open on a job's cgroup files, and /proc for
 * what no cgroup file has. Used by sample.c alone, for the figures that BPF does not give. */
#pragma once
#include "agent/sample/sample.h"

struct files; /* one job's */

/* Everything that files can give at all. */
#define FILES_CAN                                                                              \
	(SAMPLE_CPU | SAMPLE_CPU_SPLIT | SAMPLE_CPU_PRESSURE | SAMPLE_MEM | SAMPLE_MEM_PEAK |  \
	 SAMPLE_MEM_PARTS | SAMPLE_MEM_KERNEL | SAMPLE_SWAP | SAMPLE_RSS | SAMPLE_FAULTS |     \
	 SAMPLE_TASKS | SAMPLE_TASKS_PEAK_EXACT | SAMPLE_PROCS | SAMPLE_IO)

/* Open what `want` (enum sample_have bits) needs below the cgroup directory; a file that does
 * not exist (controller off, older kernel) is left out. -ENOENT: no such cgroup. */
int files_open(const char *path, uint32_t want, struct files **ret, struct err *err);
struct files *files_close(struct files *f);

/* Fill in those of `want` that can be read and set their bits. When the cgroup has vanished,
 * `gone` is set and the last values are given. */
void files_read(struct files *f, uint32_t want, struct sample *ret);

/* 1 where the file behind this one bit exists in this cgroup, else 0. */
int files_have(const char *path, uint32_t bit);

static inline void files_closep(struct files **f)
{
	files_close(*f);
}
