/* SPDX-License-Identifier: GPL-2.0-or-later */
/* usage_impl - what usage.c and top.c share. */
#pragma once
#include "controller/ledger/store_sqlite.h"
#include "controller/ledger/usage/rollup/rollup.h"

/* The rows of totals that a view is made of; NONE: it is of some associations alone, or by two of their names. */
enum store_by usage_kind(const struct store_period *p);
void usage_set_figures(struct store_usage *u, const int64_t v[static _ROLLUP_MAX]);
