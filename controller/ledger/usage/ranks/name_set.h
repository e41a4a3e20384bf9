/* SPDX-License-Identifier: GPL-2.0-or-later */
/* name_set - texts with numbers: each text once, its number its place in the order in which they came. Memory only. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "common/cleanup.h"

struct name_set;

struct name_set *name_set_new(void); /* NULL: out of memory */
struct name_set *name_set_free(struct name_set *n);
DEFINE_CLEANUP(struct name_set *, name_set_free)

int32_t name_set_add(struct name_set *n, const char *text);	   /* its number; -ENOMEM */
int32_t name_set_find(const struct name_set *n, const char *text); /* -1: it has none */
const char *name_set_text(const struct name_set *n,
			  int32_t number); /* good until name_set_free() */
size_t name_set_count(const struct name_set *n);
