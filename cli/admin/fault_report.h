/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fault_report - prints the faults of a configuration or accounts file: a line each for people, a table for programs. */
#pragma once
#include "cli/cli.h"
#include "common/conf/conf.h"

struct fault_report {
	const struct cli *c;
	struct table *table; /* of fault_report_open(); freed by the caller */
};

/* `name` of the table: "faults", "warnings". *ret->table is NULL after an error. */
int fault_report_open(const struct cli *c, const char *name, struct fault_report *ret,
		      struct err *err);
/* Adds a row, and for people prints the text at once. ctx: the report. */
void fault_report_add(void *ctx, const struct conf_fault *fault);
/* The same for a warning, which has no file and line. */
void fault_report_warn(void *ctx, const char *text);
/* Programs get the table; people get "FILE: 3 faults". */
int fault_report_finish(const struct fault_report *report, const char *path, int n,
			struct err *err);
