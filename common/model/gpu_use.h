/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpu_use - how a job uses each of its GPUs.
 *
 * Pure but for memory. One table (`gpu_use_fields`) names every figure; wire form, merging and
 * views come from it. A figure that could not be measured is absent (no bit in `have`), never
 * zero. The sums over a job's GPUs are figures of struct usage: gpu_use_sum() makes them.
 */
#pragma once
#include "common/model/request.h"
#include "common/model/usage.h"

#define GPU_USE_MAX 64 /* GPUs of a job on one node */
#define GPU_USE_UUID_MAX 96

struct gpu_use {
	char uuid[GPU_USE_UUID_MAX];
	char model[REQUEST_NAME_MAX]; /* "a100-40" */
	char source[64];	      /* where the figures come from: "nvml", "drm fdinfo" */
	bool is_simulated;	      /* said wherever a figure is shown */
	uint32_t have;		      /* bit i: gpu_use_fields[i] was measured */
	int64_t busy_ns;
	int64_t mem_bytes, mem_peak_bytes;
	int64_t mem_total_bytes; /* what the device has */
	int64_t energy_mj;	 /* of the whole device, while it was allocated to the job */
	int64_t idle_ns;	 /* since it last did anything for the job, or was allocated */
	int64_t opens;
};
extern const struct usage_field gpu_use_fields[]; /* offsets into struct gpu_use */

void gpu_use_set(struct gpu_use *g, const int64_t *field, int64_t value); /* field: &g->x */
bool gpu_use_has(const struct gpu_use *g, const int64_t *field);

/* `later` onto *list by uuid, as usage_merge() does; GPUs not in it are added behind, those
 * only in *list stay. *list is malloc()ed, NULL: empty. -ENOMEM: *list is as it was. */
int gpu_use_merge(struct gpu_use **list, int32_t *n, const struct gpu_use *later,
		  int32_t n_later);

/* Sets the gpu_ figures of a job from those of its GPUs: sums; idle is that of the GPU idle longest. A
 * figure stays absent unless all of its GPUs have it. */
void gpu_use_sum(const struct gpu_use *list, int32_t n, struct usage *u);

/* Has it done nothing for so long that this is a state of its job? `after_ns` 0: that state is
 * switched off. */
bool gpu_use_is_idle(const struct gpu_use *g, int64_t after_ns);
