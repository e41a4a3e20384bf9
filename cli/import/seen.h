/* SPDX-License-Identifier: GPL-2.0-or-later */
/* seen - the jobs that the rows of a file had, so that a row that comes twice is counted once. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "controller/history/history.h"

/* A set of marks of 64 bits, two slots for each. */
struct import_seen {
	uint64_t *slots;
	size_t n, size;
};
void import_seen_done(struct import_seen *s);
/* 1: the run of the job (its cluster, number and start) was added before; 0: it is now; -ENOMEM. */
int import_seen_add(struct import_seen *s, const struct history_job *j);
