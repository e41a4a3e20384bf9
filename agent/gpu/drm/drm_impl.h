/* SPDX-License-Identifier: GPL-2.0-or-later */
/* drm_impl.h - private to agent/gpu/drm/. */
#pragma once
#include "agent/gpu/drm/drm.h"
#include "agent/gpu/drm/fdinfo.h"

struct drm_gpu {
	int device; /* in the book */
	char energy_path[512], vram_path[512];
	bool has_energy;
	int64_t energy_uj, idle_bytes;
};

struct drm_client { /* sorted by device, id, pid */
	int gpu;
	pid_t pid;
	uint64_t id;
	struct fdinfo info; /* the largest told so far */
};

struct drm {
	struct book *b;
	struct gpu_options o;
	struct drm_gpu *gpus;
	int n_gpus;
	struct drm_client *clients; /* of the last look */
	size_t n_clients;
};

/* All clients of our devices now, sorted, each once. -ENOMEM, -errno of /proc. */
int drm_scan(struct drm *d, struct drm_client **ret, size_t *ret_n);
