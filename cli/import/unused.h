/* SPDX-License-Identifier: GPL-2.0-or-later */
/* unused - names of an imported file that the profile lacks, counted: partitions, GPU models, QOS. */
#pragma once
#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct err;

enum import_unused_kind { UNUSED_PARTITION, UNUSED_GPU, UNUSED_QOS, _UNUSED_KIND_MAX };

struct import_unused_name;
struct import_unused {
	struct import_unused_name *of;
	size_t n;
	int64_t more; /* jobs with names beyond those that are counted one by one */
};

int import_unused_init(struct import_unused *u, struct err *err);
void import_unused_done(struct import_unused *u);
/* "": a GPU without a model. */
void import_unused_note(struct import_unused *u, enum import_unused_kind kind,
			const char *name);
/* For --json; NULL: out of memory. */
json_t *import_unused_encode(const struct import_unused *u);
void import_unused_print(const struct import_unused *u, FILE *to);
