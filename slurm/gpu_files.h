/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpu_files.h - the device files of a job's GPUs, from slurmd's list of its GPUs.
 *
 * SLURM_JOB_GPUS of the Prolog counts the GPUs in the order of that list, from 0. The order is slurmd's: gres.conf sorted by slurm.conf's types.
 * A number is not the one in a device file's name: with /dev/nvidia1 alone in gres.conf, GPU 0 is /dev/nvidia1. Pure.
 */
#pragma once
#include <stddef.h>

#define GPU_FILES_NAME_MAX 64

/* Fills `ret` with the name of a device file of the GPU of that number, without its folder: "nvidia1", "renderD128"; of a MIG instance its
 * capability ("nvidia-cap67"), which its card and other instances do not have. `list` is what `slurmd -G` writes. -ENOENT: the list has no
 * such GPU, or no file of it. */
int gpu_files_find(const char *list, unsigned long number, char ret[static GPU_FILES_NAME_MAX]);
/* The same for SLURM_JOB_GPUS ("0,3"): "nvidia0,nvidia-cap67". A GPU that the list lacks is "?" and its number. -ENAMETOOLONG: they do not fit. */
int gpu_files_list(const char *list, const char *numbers, char *ret, size_t size);
