/* SPDX-License-Identifier: GPL-2.0-or-later */
/* list - `reeve-slurm --list`: slurmdbd's rows on standard output, for `reeve admin reconcile`. */
#pragma once
#include <stdint.h>

struct err;
struct follow_config;

/* Attempts that ended in [from_s, to_s), as documents of common/wire/slurm_batch.h, one a line; one at least. */
int list_print(const struct follow_config *c, int64_t from_s, int64_t to_s, struct err *err);
