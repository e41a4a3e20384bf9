/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nvml.h - the loaded library: its functions, each with the form that this release has.
 *
 * Results are NVML's codes (nvml_abi.h), given on; NVML_FUNCTION_NOT_FOUND where the release
 * lacks a function altogether. Lists of unknown length are asked for with a buffer that is kept
 * and grows, so that the usual sample costs one call a list, not two.
 */
#pragma once
#include <stdbool.h>
#include "agent/gpu/nvml/nvml_abi.h"

struct err;
struct nvml;

#define NVML_LIBRARY "libnvidia-ml.so.1"

/* Load and initialise. -ENOENT: no such library; -ENODEV: its driver is not loaded, or of
 * another release than the library; -ENOSYS: without the least that is needed; -EIO. */
int nvml_load(const char *library, struct nvml **ret, struct err *err);
struct nvml *nvml_unload(struct nvml *n); /* shuts down; NULL is fine */

const char *nvml_version(const struct nvml *n); /* of the driver; "" where not told */
bool nvml_is_double(const struct nvml *n);	/* the library says of itself that it is */
const char *nvml_missing(const struct nvml *n); /* functions lacking, "a, b"; "" */
const char *nvml_rc_text(int rc);		/* "GPU is lost" */

enum nvml_rc nvml_count(struct nvml *n, unsigned *ret);
enum nvml_rc nvml_by_index(struct nvml *n, unsigned i, nvml_dev *ret);
enum nvml_rc nvml_name(struct nvml *n, nvml_dev d, char ret[static NVML_NAME_SIZE]);
enum nvml_rc nvml_uuid(struct nvml *n, nvml_dev d, char ret[static NVML_UUID_SIZE]);
enum nvml_rc nvml_pci(struct nvml *n, nvml_dev d, struct nvml_pci *ret);
enum nvml_rc nvml_minor(struct nvml *n, nvml_dev d, unsigned *ret);
enum nvml_rc nvml_energy(struct nvml *n, nvml_dev d, unsigned long long *ret_mj);

/* `has_reserve`: `used` is without the driver's own. */
struct nvml_mem {
	uint64_t total, used;
	bool has_reserve;
};
enum nvml_rc nvml_mem(struct nvml *n, nvml_dev d, struct nvml_mem *ret);

/* MIG: 1 where the GPU is partitioned now; how many instances it may have; the i-th, or
 * NVML_NOT_FOUND where there is none; its GPU and compute instance ids. */
bool nvml_is_mig(struct nvml *n, nvml_dev d);
unsigned nvml_mig_max(struct nvml *n, nvml_dev d);
enum nvml_rc nvml_mig_by_index(struct nvml *n, nvml_dev d, unsigned i, nvml_dev *ret);
enum nvml_rc nvml_mig_ids(struct nvml *n, nvml_dev mig, unsigned *ret_gi, unsigned *ret_ci);

/* All processes with a context, of whatever kind (compute, graphics, MPS clients), each pid
 * once with the largest figure. The list belongs to `n` until the next call.
 * NVML_INSUFFICIENT_SIZE: it kept growing while it was asked for. */
struct nvml_proc {
	uint32_t pid;
	bool has_used;
	uint64_t used;
};
enum nvml_rc nvml_processes(struct nvml *n, nvml_dev d, const struct nvml_proc **ret,
			    unsigned *ret_count);

/* Samples newer than `last_us`, as the driver gives them; NVML_NOT_FOUND: none. */
enum nvml_rc nvml_utilization(struct nvml *n, nvml_dev d, uint64_t last_us,
			      const struct nvml_utilization **ret, unsigned *ret_count);
struct nvml_busy {
	uint64_t time_us;
	unsigned percent;
};
enum nvml_rc nvml_busy(struct nvml *n, nvml_dev d, uint64_t last_us,
		       const struct nvml_busy **ret, unsigned *ret_count);

/* Accounting mode: what the driver keeps of processes after their end. */
enum nvml_rc nvml_acct_on(struct nvml *n, nvml_dev d, bool *ret_switched);
enum nvml_rc nvml_acct_pids(struct nvml *n, nvml_dev d, const unsigned **ret,
			    unsigned *ret_count);
enum nvml_rc nvml_acct(struct nvml *n, nvml_dev d, unsigned pid, struct nvml_accounting *ret);
