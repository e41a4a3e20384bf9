/* SPDX-License-Identifier: GPL-2.0-or-later */
/* devices.h - the device gate: a job can open only the GPUs that it was granted.
 *
 * One BPF program on the cgroup above all jobs, by a link of its own: it is independent of the
 * device policy that systemd attaches and replaces, and can only refuse what that allows. Pinned
 * like the other hooks; a restarted agent takes it over, with all grants. Below that cgroup a
 * process of no known job opens no gated device, so a job never runs ungated.
 *
 * The gate applies to opening (open(2), and access(2), of any file that has the device's
 * number): a descriptor that another process has opened and passes on stays usable.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/cleanup.h"
#include "common/err.h"

struct devices;

struct devices_config {
	const char *pin_dir; /* on bpffs; NULL: the gate ends with the agent */
	const char *cgroup;  /* absolute path; all jobs are below it */
	uint32_t max_jobs;   /* 0 = 1024 */
};

struct devices_number { /* of character devices */
	uint32_t major, minor;
};

struct devices_minors { /* all of these, known or not: what appears later is held too */
	uint32_t major, first, last;
};

struct devices_list {
	const struct devices_number *numbers;
	size_t n_numbers;
	const struct devices_minors *minors; /* one entry a major */
	size_t n_minors;
};

/* Loads program and maps; the gate of an earlier agent stays in force until devices_hold().
 * -EPERM, -ENOENT (no bpffs) ...: devices cannot be gated here, and err says why. */
int devices_open(const struct devices_config *config, struct devices **ret, struct err *err);
struct devices *devices_close(struct devices *d); /* the pinned gate stays in force */
DEFINE_CLEANUP(struct devices *, devices_close)

/* Which devices are gated, in place of what was before. -ENOSPC: too many. */
int devices_gate(struct devices *d, const struct devices_list *list, struct err *err);
/* Puts the gate in force. 1: an earlier agent's link was taken over, so it was in force all the
 * time. */
int devices_hold(struct devices *d, struct err *err);
/* Is the link still attached to the cgroup above the jobs? If that cgroup was removed and made
 * again, the link is attached again, and the result is 1. */
int devices_check(struct devices *d, struct err *err);

/* The job may open these of the gated devices and no others; `n` 0: none. After a restart: in
 * place of what it could open until now. -EEXIST, -ENOSPC. */
struct devices_job {
	int64_t job;
	uint64_t cgroup_id;
	const struct devices_number *granted;
	size_t n;
};
int devices_add(struct devices *d, const struct devices_job *job, struct err *err);
void devices_remove(struct devices *d, uint64_t cgroup_id);
unsigned devices_prune(struct devices *d); /* as sample_prune() */

struct devices_counts {
	uint64_t n_granted, n_refused;
	struct devices_number last_refused; /* when n_refused > 0 */
};
int devices_read(const struct devices *d, uint64_t cgroup_id, struct devices_counts *ret);

/* Is any device policy in force on this cgroup, ours or a manager's? 1 yes, 0 no, -errno. */
int devices_is_held(const char *cgroup);

/* Detaches the pinned gate and removes it: no device is gated when this returns. */
void devices_forget(const char *pin_dir);
