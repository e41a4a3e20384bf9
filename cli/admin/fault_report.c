/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fault_report.c - the rows and lines of a file's faults; see fault_report.h. */
#include "cli/admin/fault_report.h"

static const struct table_column columns[] = {
	{ "file", "FILE", CELL_TEXT },
	{ "line", "LINE", CELL_COUNT },
	{ "text", "FAULT", CELL_TEXT },
	{ 0 },
};

int fault_report_open(const struct cli *c, const char *name, struct fault_report *ret,
		      struct err *err)
{
	*ret = (struct fault_report){ .c = c };
	return table_new(name, columns, &ret->table, err);
}

/* The text has the name of the file and the line in it. */
static void print_text(const struct cli *c, const char *before, const char *text)
{
	if (c->format.output != TABLE_TABLE)
		return;
	fputs(before, c->format.to);
	cli_put(c->format.to, text);
	fputc('\n', c->format.to);
}

void fault_report_add(void *ctx, const struct conf_fault *fault)
{
	struct fault_report *report = ctx;

	table_row(report->table);
	table_text(report->table, "file", fault->file);
	if (fault->line)
		table_int(report->table, "line", fault->line);
	table_text(report->table, "text", fault->text);
	print_text(report->c, "", fault->text);
}

void fault_report_warn(void *ctx, const char *text)
{
	struct fault_report *report = ctx;

	table_row(report->table);
	table_text(report->table, "text", text);
	print_text(report->c, "warning: ", text);
}

int fault_report_finish(const struct fault_report *report, const char *path, int n,
			struct err *err)
{
	FILE *to = report->c->format.to;

	if (report->c->format.output != TABLE_TABLE)
		return table_print(report->table, &report->c->format, err);
	cli_put(to, path);
	fprintf(to, ": %d fault%s\n", n, n > 1 ? "s" : "");
	return 0;
}
