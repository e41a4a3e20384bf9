/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nvml_abi.h - the part of NVIDIA's management library that is used here, as its public reference
 * documents it: codes, structs, and how each function is called. Declared by ourselves, because
 * nothing of NVIDIA's is needed to build; held to the documented layout by assertions, for this
 * is read from a library that was built by others. Shared with the double of tests/gpu.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

typedef struct nvml_handle *nvml_dev; /* opaque */

enum nvml_rc {
	NVML_OK = 0,
	NVML_UNINITIALIZED = 1,
	NVML_INVALID_ARGUMENT = 2,
	NVML_NOT_SUPPORTED = 3,
	NVML_NO_PERMISSION = 4,
	NVML_NOT_FOUND = 6,
	NVML_INSUFFICIENT_SIZE = 7,
	NVML_DRIVER_NOT_LOADED = 9,
	NVML_TIMEOUT = 10,
	NVML_FUNCTION_NOT_FOUND = 13,
	NVML_GPU_IS_LOST = 15,
	NVML_RESET_REQUIRED = 16,
	NVML_VERSION_MISMATCH = 18, /* library and kernel driver are of different releases */
	NVML_NO_DATA = 21,
	NVML_ARGUMENT_VERSION = 25,
	NVML_GPU_NOT_FOUND = 28,
	NVML_UNKNOWN = 999,
};

#define NVML_UNSET_ID 0xffffffffu /* no GPU or compute instance */
#define NVML_NOT_AVAILABLE UINT64_MAX
#define NVML_SAMPLES_GPU 1u /* nvmlDeviceGetSamples: time with a kernel running, in % */
#define NVML_UUID_SIZE 96
#define NVML_NAME_SIZE 96

struct nvml_pci {
	char bus_id_legacy[16];
	uint32_t domain, bus, device, pci_device, pci_subsystem;
	char bus_id[32];
};
_Static_assert(sizeof(struct nvml_pci) == 68 && offsetof(struct nvml_pci, bus_id) == 36,
	       "nvmlPciInfo_t");

struct nvml_memory {
	uint64_t total, free, used;
};
_Static_assert(sizeof(struct nvml_memory) == 24, "nvmlMemory_t");

struct nvml_memory_v2 {
	uint32_t version, pad;
	uint64_t total, reserved, free, used; /* used: without what the driver reserves */
};
#define NVML_MEMORY_V2 ((uint32_t)sizeof(struct nvml_memory_v2) | 2u << 24)
_Static_assert(sizeof(struct nvml_memory_v2) == 40 &&
		       offsetof(struct nvml_memory_v2, used) == 32,
	       "nvmlMemory_v2_t");

struct nvml_process_v1 {
	uint32_t pid, pad;
	uint64_t used;
};
_Static_assert(sizeof(struct nvml_process_v1) == 16, "nvmlProcessInfo_v1_t");

struct nvml_process {
	uint32_t pid, pad;
	uint64_t used; /* bytes, or NVML_NOT_AVAILABLE */
	uint32_t gpu_instance, compute_instance;
};
_Static_assert(sizeof(struct nvml_process) == 24 &&
		       offsetof(struct nvml_process, gpu_instance) == 16,
	       "nvmlProcessInfo_v2_t, which _v3 takes too");
/* Early 535 drivers wrote entries of 32 bytes through the same _v3: the size is looked at in
 * what comes back, see nvml.c. */
#define NVML_PROCESS_LARGEST 32

struct nvml_utilization { /* of one process */
	uint32_t pid, pad;
	uint64_t time_us;
	uint32_t sm, mem, enc, dec; /* % */
};
_Static_assert(sizeof(struct nvml_utilization) == 32 &&
		       offsetof(struct nvml_utilization, sm) == 16,
	       "nvmlProcessUtilizationSample_t");

struct nvml_sample {
	uint64_t time_us;
	union {
		double d;
		uint32_t ui;
		uint64_t ull;
	} value;
};
_Static_assert(sizeof(struct nvml_sample) == 16, "nvmlSample_t");
enum nvml_value { NVML_VALUE_DOUBLE, NVML_VALUE_UINT, NVML_VALUE_ULONG, NVML_VALUE_ULL };

struct nvml_accounting {
	uint32_t gpu_percent, mem_percent; /* over the life of the process */
	uint64_t mem_peak_bytes;
	uint64_t time_ms; /* 0 while it runs */
	uint64_t start_us;
	uint32_t is_running, reserved[5];
};
_Static_assert(sizeof(struct nvml_accounting) == 56 &&
		       offsetof(struct nvml_accounting, start_us) == 24 &&
		       offsetof(struct nvml_accounting, is_running) == 32,
	       "nvmlAccountingStats_t");

/* Every function that is used: name here, symbol, parameters. Where a release has only an older
 * form, the next line of the same name's is tried (nvml.c). */
#define NVML_FUNCTIONS(X)                                                                      \
	X(init, "nvmlInit_v2", (void))                                                         \
	X(shutdown, "nvmlShutdown", (void))                                                    \
	X(driver_version, "nvmlSystemGetDriverVersion", (char *, unsigned))                    \
	X(count, "nvmlDeviceGetCount_v2", (unsigned *))                                        \
	X(by_index, "nvmlDeviceGetHandleByIndex_v2", (unsigned, nvml_dev *))                   \
	X(name, "nvmlDeviceGetName", (nvml_dev, char *, unsigned))                             \
	X(uuid, "nvmlDeviceGetUUID", (nvml_dev, char *, unsigned))                             \
	X(pci_v3, "nvmlDeviceGetPciInfo_v3", (nvml_dev, struct nvml_pci *))                    \
	X(pci_v2, "nvmlDeviceGetPciInfo_v2", (nvml_dev, struct nvml_pci *))                    \
	X(minor, "nvmlDeviceGetMinorNumber", (nvml_dev, unsigned *))                           \
	X(memory_v2, "nvmlDeviceGetMemoryInfo_v2", (nvml_dev, struct nvml_memory_v2 *))        \
	X(memory, "nvmlDeviceGetMemoryInfo", (nvml_dev, struct nvml_memory *))                 \
	X(energy, "nvmlDeviceGetTotalEnergyConsumption", (nvml_dev, unsigned long long *))     \
	X(samples, "nvmlDeviceGetSamples",                                                     \
	  (nvml_dev, unsigned, unsigned long long, unsigned *, unsigned *,                     \
	   struct nvml_sample *))                                                              \
	X(utilization, "nvmlDeviceGetProcessUtilization",                                      \
	  (nvml_dev, struct nvml_utilization *, unsigned *, unsigned long long))               \
	X(compute_v3, "nvmlDeviceGetComputeRunningProcesses_v3",                               \
	  (nvml_dev, unsigned *, void *))                                                      \
	X(compute_v2, "nvmlDeviceGetComputeRunningProcesses_v2",                               \
	  (nvml_dev, unsigned *, void *))                                                      \
	X(compute_v1, "nvmlDeviceGetComputeRunningProcesses", (nvml_dev, unsigned *, void *))  \
	X(graphics_v3, "nvmlDeviceGetGraphicsRunningProcesses_v3",                             \
	  (nvml_dev, unsigned *, void *))                                                      \
	X(graphics_v2, "nvmlDeviceGetGraphicsRunningProcesses_v2",                             \
	  (nvml_dev, unsigned *, void *))                                                      \
	X(graphics_v1, "nvmlDeviceGetGraphicsRunningProcesses",                                \
	  (nvml_dev, unsigned *, void *))                                                      \
	X(mps_v3, "nvmlDeviceGetMPSComputeRunningProcesses_v3",                                \
	  (nvml_dev, unsigned *, void *))                                                      \
	X(mps_v2, "nvmlDeviceGetMPSComputeRunningProcesses_v2",                                \
	  (nvml_dev, unsigned *, void *))                                                      \
	X(acct_mode, "nvmlDeviceGetAccountingMode", (nvml_dev, unsigned *))                    \
	X(acct_set, "nvmlDeviceSetAccountingMode", (nvml_dev, unsigned))                       \
	X(acct_pids, "nvmlDeviceGetAccountingPids", (nvml_dev, unsigned *, unsigned *))        \
	X(acct_stats, "nvmlDeviceGetAccountingStats",                                          \
	  (nvml_dev, unsigned, struct nvml_accounting *))                                      \
	X(mig_mode, "nvmlDeviceGetMigMode", (nvml_dev, unsigned *, unsigned *))                \
	X(mig_max, "nvmlDeviceGetMaxMigDeviceCount", (nvml_dev, unsigned *))                   \
	X(mig_by_index, "nvmlDeviceGetMigDeviceHandleByIndex",                                 \
	  (nvml_dev, unsigned, nvml_dev *))                                                    \
	X(mig_gi, "nvmlDeviceGetGpuInstanceId", (nvml_dev, unsigned *))                        \
	X(mig_ci, "nvmlDeviceGetComputeInstanceId", (nvml_dev, unsigned *))
