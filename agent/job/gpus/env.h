/* env.h - the variables that tell the vendors' runtimes which GPUs to use.
 *
 * Pure. See docs/gpu.md for what each vendor documents.
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
