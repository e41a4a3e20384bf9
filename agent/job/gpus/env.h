/* SPDX-License-Identifier: GPL-2.0-or-later */
/* env.h - the environment variables by which the vendors' runtimes choose the GPUs of a process.
 *
 * Pure. docs/gpu.md says what each vendor documents. The variables hold nothing: the device gate
 * and the device policy of the unit do. They spare a program what it would find closed.
 */
#pragma once
#include <stdint.h>
#include "agent/gpu/gpu.h"

struct gpus_env {
	const struct gpu_device *const *devices; /* all of the node */
	int n;
	uint64_t granted; /* bit i: devices[i] */
	bool is_held;	  /* the job can open no others, and so counts its own from 0 */
};

/* "NAME=value", or "NAME" alone: the job must not have it; NULL-terminated, one allocation that
 * the caller frees. NULL: no memory. */
char **gpus_env(const struct gpus_env *e);
/* The first variable of the user that is replaced by another value; NULL: none. */
const char *gpus_env_differs(char *const *ours, char *const *users);
/* Is `variable` (NAME=value) one of them? */
bool gpus_env_has(char *const *ours, const char *variable);
