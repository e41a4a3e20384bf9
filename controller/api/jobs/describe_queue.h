/* SPDX-License-Identifier: GPL-2.0-or-later */
/* describe_queue - the part of a job's document that is about its place in the queue: its name
 * (arrays), and what keeps it from being scheduled. For describe.c, and for calls that name an
 * array task without a row. */
#pragma once
#include "common/wire/doc.h"
#include "controller/api/call.h"

#define DESCRIBE_WHY_MAX 320
/* Sets "id" ("12", "12[7]"); for an array task "array_job" and "array_index"; for an array
 * "array" (its tasks, and how many are in each state) and its state; for a held job "held_by",
 * "held_as" ("user", "operator"), "held_ns". `why`: the reason that it is held back; "": none.
 */
int describe_queue(const struct api *a, const struct store_job *row, struct doc *d,
		   char why[static DESCRIBE_WHY_MAX], struct err *err);
/* The words of `why` alone. */
int describe_queue_why(const struct api *a, const struct store_job *row,
		       char why[static DESCRIBE_WHY_MAX], struct err *err);
/* Turns an array's document into that of a task which has no row. */
int describe_queue_folded(const struct api *a, struct job_id id, json_t *job, struct err *err);
