/* SPDX-License-Identifier: GPL-2.0-or-later */
/* unused - what an imported file has and the ledger does not, counted: partitions, GPU models and QOS that
 * the profile lacks, and amounts that Reeve has no figure for. */
#pragma once
#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct err;

enum import_unused_kind {
	UNUSED_PARTITION,
	UNUSED_GPU,
	UNUSED_QOS,
	UNUSED_AMOUNT,
	_UNUSED_KIND_MAX
};

struct import_unused_name;
struct import_unused {
	struct import_unused_name *of;
	size_t n;
	int64_t more; /* jobs with names beyond those that are counted one by one */
};

int import_unused_init(struct import_unused *u, struct err *err);
void import_unused_done(struct import_unused *u);
/* A job with this name ("": a GPU without a model), first in `line`. */
struct import_unused_job {
	enum import_unused_kind kind;
	const char *name;
	int64_t line, amount; /* amount: of UNUSED_AMOUNT */
	const char *why;      /* the first job's; NULL: none */
};
void import_unused_note(struct import_unused *u, const struct import_unused_job *j);
/* For --json; NULL: out of memory. */
json_t *import_unused_encode(const struct import_unused *u);
void import_unused_print(const struct import_unused *u, FILE *to);
