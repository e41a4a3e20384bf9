/* describe - a job as people and hooks see it (docs/protocol.md, "Job object"). */
#pragma once
#include <jansson.h>
#include "controller/ledger/store.h"

struct api;

/* New references; NULL: out of memory. describe_job() leaves out what is long in a request:
 * script and environment. */
json_t *describe_job(const struct api *a, const struct store_job *row);
/* For a list: less of a request than describe_job() has, its resources alone; no rate and rule of its charge; nothing that is 0
 * or empty, but for the charges. */
json_t *describe_job_in_brief(const struct api *a, const struct store_job *row);
json_t *describe_job_in_full(const struct api *a, const struct store_job *row);
struct doc;
/* Sets in a document of a queued job its name ("id", "array_job") and "why" it waits. */
void describe_place(const struct api *a, const struct store_job *row, struct doc *d);
/* The fields that belong to the attempt alone. */
json_t *describe_attempt(const struct store_job *row);
/* Describes a job by its number; `api` is a struct api (hooks.h). -ENOENT. */
int describe_job_number(void *api, int64_t job, json_t **ret, struct err *err);
