/* SPDX-License-Identifier: GPL-2.0-or-later */
/* describe - a job as people and hooks see it (docs/protocol.md, "Job object"). */
#pragma once
#include <jansson.h>
#include "controller/dispatch/why.h"
#include "controller/ledger/store.h"

struct api;

/* New references; NULL: out of memory. describe_job() leaves out what is long in a request:
 * script and environment. */
json_t *describe_job(const struct api *a, const struct store_job *row);
json_t *describe_job_in_full(const struct api *a, const struct store_job *row);
struct doc;
/* Sets in a document of a queued job its name ("id", "array_job") and "why" it waits. */
void describe_place(const struct api *a, const struct store_job *row,
		    enum dispatch_why_form form, struct doc *d);
/* The words of "why" alone; "": nothing to explain. */
void describe_reason(const struct api *a, const struct store_job *row,
		     enum dispatch_why_form form, char why[static DISPATCH_WHY_MAX]);
/* The names of the nodes of a job on several, by commas; the caller frees. NULL: it is on one, or out of memory. */
char *describe_nodes(const struct store_job *row);
/* Its GPUs are allocated but idle, for at least as long as the site's GpuIdleMinutes. */
bool describe_is_gpu_idle(const struct api *a, const struct store_job *row,
			  const json_t *usage);
/* The fields that belong to the attempt alone. */
json_t *describe_attempt(const struct store_job *row);
/* Describes a job by its number; `api` is a struct api (hooks.h). -ENOENT. */
int describe_job_number(void *api, int64_t job, json_t **ret, struct err *err);
