/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fdinfo.h - parses what the kernel shows of a DRM client in /proc/PID/fdinfo (its document
 * gpu/drm-usage-stats.rst): engines, memory, and which client it is. Pure. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FDINFO_ENGINES_MAX 12
#define FDINFO_NAME_MAX 24

struct fdinfo_engine {
	char name[FDINFO_NAME_MAX];
	bool has_ns, has_cycles, has_total;
	uint64_t ns, cycles, total_cycles;
};

struct fdinfo {
	char driver[32], pdev[24]; /* "amdgpu", "0000:c4:00.0" */
	bool has_client, has_mem;
	uint64_t client;
	int n_engines;
	struct fdinfo_engine engines[FDINFO_ENGINES_MAX];
	uint64_t mem_bytes; /* in the card's own memory: resident where told, else allocated */
};

/* 0; -ENOENT: not a DRM file; -EINVAL: a DRM key that does not read as documented, *ret is not
 * set. Keys of drivers and unknown ones are skipped. `text` need not end with a NUL. */
int fdinfo_parse(const char *text, size_t size, struct fdinfo *ret);
