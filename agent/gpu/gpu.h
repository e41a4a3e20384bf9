/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpu.h - the GPUs of this node: what there is, and how much each process uses them.
 *
 * A source is a vendor's way to tell: NVML for NVIDIA (libnvidia-ml.so.1, loaded at run time;
 * nothing is linked), the kernel's DRM interfaces for AMD and Intel. Sources are asked in turn;
 * one that is not there is no error but a note. Every figure names its source, and what a
 * source cannot tell is absent, never 0.
 *
 * A device is what can be granted to a job: a whole GPU, or one MIG instance of a GPU that is
 * partitioned (the whole GPU is then listed with `is_partitioned` and never granted).
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "common/cleanup.h"
#include "common/model/request.h"

struct err;
struct gpu;

#define GPU_DEVICES_MAX 64
#define GPU_UUID_MAX 96
#define GPU_FILES_MAX 8

enum gpu_vendor { GPU_NVIDIA, GPU_AMD, GPU_INTEL, _GPU_VENDOR_MAX };
const char *gpu_vendor_name(enum gpu_vendor v); /* "nvidia" */

struct gpu_file { /* a device file that only the holder may open */
	char path[64];
	uint32_t major, minor;
};

struct gpu_device {
	char uuid[GPU_UUID_MAX]; /* "GPU-...", "MIG-..."; AMD, Intel: the unique id, or the bus
				    id where there is none */
	char model[REQUEST_NAME_MAX]; /* as users type it and [GpuModel] names it: "a100-40",
					 "h100-80", "a100_1g.5gb"; lower case */
	char product[96];	      /* as the driver says it */
	char bus_id[16];	      /* "0000:3b:00.0" */
	enum gpu_vendor vendor;
	int index;  /* the vendor's own number, for messages */
	int parent; /* of a MIG instance: index into devices[] of its GPU; else -1 */
	bool is_partitioned;
	bool is_simulated; /* the driver is a double: said wherever a figure is shown */
	int16_t numa_node; /* -1: not told */
	int64_t mem_bytes;
	/* Of a MIG instance its card's too, which every instance needs: to hold is to deny all
	 * files of all devices but those of the granted ones. */
	struct gpu_file files[GPU_FILES_MAX];
	int n_files;
};

/* "h100-80" from "NVIDIA H100 80GB HBM3": see docs/gpu.md for the rule. */
void gpu_model_of(const char *product, int64_t mem_bytes, char ret[static REQUEST_NAME_MAX]);

/* Opens every source there is. 0 also when there is none: then gpu_count() is 0, and a note
 * says why where such a card is on the bus. The devices found now are those that there will be.
 */
struct gpu_options {
	const char *nvml;	      /* library; NULL: "libnvidia-ml.so.1" */
	const char *sys, *dev, *proc; /* roots for tests; NULL: "/sys", "/dev", "/proc" */
	const char *cuda; /* path of libcuda.so.1, to probe its allocations; NULL: not */
	int wait_ms;	  /* for tests; 0: 20 s at the opening, 1 s for each question after */
};
int gpu_open(const struct gpu_options *o, struct gpu **ret, struct err *err);
/* What a driver that hangs still works on is left to it. */
struct gpu *gpu_close(struct gpu *g);
DEFINE_CLEANUP(struct gpu *, gpu_close)

int gpu_count(const struct gpu *g);
const struct gpu_device *gpu_device(const struct gpu *g, int i);
/* Sentences for the node's notes: what cannot be seen here and why; NULL ends. */
const char *const *gpu_notes(const struct gpu *g);

/* ---- measuring ---- */

enum gpu_have {
	GPU_HAVE_BUSY = 1 << 0,
	GPU_HAVE_MEM = 1 << 1,
	GPU_HAVE_ENERGY = 1 << 2,
	GPU_HAVE_ALLOC = 1 << 3, /* of processes, where `cuda` is probed */
};
/* One process on one device since the sampler first saw it: cumulative, reset-safe. */
struct gpu_process {
	int device;
	pid_t pid;
	unsigned have;
	int64_t busy_ns;	/* a kernel of it ran; of a MIG instance never told */
	int64_t mem_bytes;	/* now */
	int64_t mem_peak_bytes; /* largest so far: the driver's where it keeps one, else of the
				   samples */
	/* What it allocated and has not freed, now and at most, on all its NVIDIA GPUs
	 * together, without the context: agent/gpu/allocs.h. */
	int64_t alloc_bytes, alloc_peak_bytes;
	bool has_ended; /* told for the last time */
};
/* The device as a whole, cumulative since gpu_open(). */
struct gpu_total {
	unsigned have;
	int64_t busy_ns, mem_bytes, energy_mj;
	bool is_lost; /* now; fell off the bus, or its driver is gone: told once in the notes */
};

/* Looks once at all devices and processes; `now_ns` of a clock that is never set (boot time).
 * `each` (may be NULL) is called for every process on every device, also for those that were
 * there since the last look only, and a last time with has_ended at the second look without it;
 * not for those of a device that cannot be read now: their values stay. Busy time
 * begins with the first look. Sources that fail in mid-run are reopened at a later call. 0; or
 * so many devices cannot be asked now, and `err` names the first; -ETIMEDOUT: the driver has
 * not answered, see gpu_silence(), `each` was not called and all values stay. */
typedef void (*gpu_process_fn)(void *ctx, const struct gpu_process *p);
int gpu_sample(struct gpu *g, int64_t now_ns, gpu_process_fn each, void *ctx, struct err *err);
const struct gpu_total *gpu_total(const struct gpu *g, int i);
/* "nvml", "drm fdinfo", "drm sysfs", "cuda uprobes": where a figure of this device comes from;
 * NULL: it is not told. */
const char *gpu_source(const struct gpu *g, int i, enum gpu_have figure);

/* Is the device free of leftovers: no process, and no more memory than an idle one holds? 0: it
 * is. 1: it is not, and `text` says what is there. -EIO: it does not answer. -ENODATA: this
 * cannot be measured; `text` says why. -ETIMEDOUT: see gpu_silence(). */
#define GPU_TEXT_MAX 256
int gpu_check_clean(struct gpu *g, int i, char text[static GPU_TEXT_MAX]);
/* A driver may hang. It is asked in a thread: who asks waits for a second, and from then on,
 * while the question stands, not at all. true, and a sentence since when that is; false: it
 * answers, and `text` is "". */
bool gpu_silence(const struct gpu *g, char text[static GPU_TEXT_MAX]);
