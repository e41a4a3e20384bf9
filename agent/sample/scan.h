/* scan.h - sampling by BPF: two passes of the kernel over its own structures, then plain memory
 * reads. Used by sample.c alone. */
#pragma once
#include "agent/sample/sample.h"

struct scan;

/* -errno where this kernel cannot do it; the caller falls back to files. */
int scan_open(const struct sample_config *config, struct scan **ret, struct err *err);
struct scan *scan_close(struct scan *s);

int scan_add(struct scan *s, const struct sample_job *job, struct err *err);
void scan_remove(struct scan *s, uint64_t cgroup_id);
unsigned scan_prune(struct scan *s);

enum scan_what { SCAN_CGROUPS = 1, SCAN_TASKS = 2 };
/* Bring the records up to date: everything below `dir`, or below the root when NULL. */
int scan_pass(struct scan *s, const char *dir, unsigned what, struct err *err);
/* The record of one job as of the last pass: sets what BPF measured and its `have` bits, and
 * `gone` when the last pass did not meet it. -ENOENT: not added. */
int scan_read(struct scan *s, uint64_t cgroup_id, struct sample *ret);
/* The `have` bits that this kernel gives through BPF, where the controllers are enabled. */
uint32_t scan_can(const struct scan *s);
const char *scan_status(const struct scan *s);

static inline void scan_closep(struct scan **s)
{
	scan_close(*s);
}
