/* describe_queue - the part of a job's document that is about its place in the queue: its name
 * (arrays), and what keeps it from being offered. Of describe.c alone, and of who names an
 * element that has no row. */
#pragma once
#include "common/wire/doc.h"
#include "controller/api/call.h"

#define DESCRIBE_WHY_MAX 320
/* Sets "id" ("12", "12[7]"), of an element "array_job" and "array_index", of an array "array"
 * (which elements, how many are where) and its state; of a held job "held_by", "held_as"
 * ("user", "operator"), "held_ns". `why`: in words what keeps it back; "": nothing does. */
int describe_queue(const struct api *a, const struct store_job *row, struct doc *d,
		   char why[static DESCRIBE_WHY_MAX], struct err *err);
/* Makes of an array's document that of its element, which has no row yet. */
int describe_queue_folded(const struct api *a, struct job_id id, json_t *job, struct err *err);
