/* SPDX-License-Identifier: GPL-2.0-or-later */
/* env.c - CUDA_VISIBLE_DEVICES and the like; see gpus/env.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agent/job/gpus/env.h"

enum form { UUIDS, ORDINALS };

struct variable {
	const char *name;
	enum gpu_vendor vendor;
	enum form form;
	const char *none; /* value without GPUs; NULL: it must not be there */
};

static const struct variable variables[] = {
	{ "CUDA_VISIBLE_DEVICES", GPU_NVIDIA, UUIDS, "" },
	{ "NVIDIA_VISIBLE_DEVICES", GPU_NVIDIA, UUIDS, "none" },
	{ "ROCR_VISIBLE_DEVICES", GPU_AMD, UUIDS, "" },
	{ "ZE_AFFINITY_MASK", GPU_INTEL, ORDINALS, NULL }, /* empty would mean all */
};

/* ROCm and CUDA know a device by its uuid where it has one, else by number. */
static bool has_uuid(const struct gpu_device *d)
{
	return !strncmp(d->uuid, "GPU-", 4) || !strncmp(d->uuid, "MIG-", 4);
}

/* Appends the granted devices of the vendor, by commas. Returns the new end; NULL: there are none.
 * A number is the position among the job's own devices where the job can open no others, since the
 * runtime then enumerates only those; else the position on the node. */
static char *append_devices(char *at, const char *end, const struct gpus_env *e,
			    const struct variable *v)
{
	int n = 0;

	for (int i = 0; i < e->n; i++) {
		const struct gpu_device *d = e->devices[i];
		const char *comma = n ? "," : "";

		if (!(e->granted >> i & 1) || d->vendor != v->vendor)
			continue;
		if (v->form == UUIDS && has_uuid(d))
			at += snprintf(at, (size_t)(end - at), "%s%s", comma, d->uuid);
		else
			at += snprintf(at, (size_t)(end - at), "%s%d", comma,
				       e->is_held ? n : d->index);
		n++;
	}
	return n ? at : NULL;
}

/* Writes NAME=value with its NUL, or NAME alone. Returns where the next one begins. */
static char *append_variable(char *at, const char *end, const struct gpus_env *e,
			     const struct variable *v)
{
	char *value = at + snprintf(at, (size_t)(end - at), "%s=", v->name), *last;

	last = append_devices(value, end, e, v);
	if (!last && v->none)
		last = value + snprintf(value, (size_t)(end - value), "%s", v->none);
	if (!last)
		last = value - 1; /* the name alone */
	*last = '\0';
	return last + 1;
}

char **gpus_env(const struct gpus_env *e)
{
	size_t n = ARRAY_LEN(variables);
	/* The list of pointers, and behind it the texts: a name with its "=", and for each device a
	 * uuid and a comma. */
	size_t text = n * (64 + (size_t)e->n * (GPU_UUID_MAX + 1));
	char **list = malloc((n + 1) * sizeof(*list) + text);
	char *at, *end;

	if (!list)
		return NULL;
	at = (char *)(list + n + 1);
	end = at + text;
	for (size_t i = 0; i < n; i++) {
		list[i] = at;
		at = append_variable(at, end, e, &variables[i]);
	}
	list[n] = NULL;
	return list;
}

static const char *find_variable(char *const *ours, const char *variable)
{
	size_t len = strcspn(variable, "=");

	for (; ours && *ours; ours++)
		if (strcspn(*ours, "=") == len && !strncmp(*ours, variable, len))
			return *ours;
	return NULL;
}

bool gpus_env_has(char *const *ours, const char *variable)
{
	return find_variable(ours, variable) != NULL;
}

const char *gpus_env_differs(char *const *ours, char *const *users)
{
	for (; users && *users; users++) {
		const char *own = find_variable(ours, *users);

		if (own && strcmp(own, *users))
			return own;
	}
	return NULL;
}
