/* SPDX-License-Identifier: GPL-2.0-or-later */
/* examples.c - `reeve admin check-config --examples`: recomputes published figures of a site. */
#include <errno.h>
#include <string.h>
#include "cli/admin/admin.h"
#include "common/err.h"
#include "controller/config/profile.h"
#include "controller/examples/examples.h"

static const struct table_column columns[] = {
	{ "example", "EXAMPLE", CELL_TEXT },	 { "figure", "FIGURE", CELL_TEXT },
	{ "published", "PUBLISHED", CELL_TEXT }, { "here", "HERE", CELL_TEXT },
	{ "holds", "HOLDS", CELL_TEXT },	 { "source", "SOURCE", CELL_TEXT },
	{ "says", "-SAYS", CELL_TEXT },		 { 0 },
};

struct report {
	struct table *table;
	const struct table_format *format;
	int n, n_wrong;
};

/* Tables for people show only figures that do not hold; programs get a row for each. */
static void print_figure(void *ctx, const struct example_figure *f)
{
	struct report *report = ctx;
	char text[1024];

	report->n++;
	report->n_wrong += !f->holds;
	table_row(report->table);
	table_text(report->table, "example", f->example->name);
	table_text(report->table, "figure", f->what);
	table_text(report->table, "published", f->published);
	table_text(report->table, "here", f->here);
	table_text(report->table, "holds", f->holds ? "yes" : "no");
	table_text(report->table, "source", f->example->source);
	table_text(report->table, "says", f->example->says);
	if (f->holds || report->format->output != TABLE_TABLE)
		return;
	snprintf(
		text, sizeof(text),
		"%.127s: %.191s is published as %.191s, and is %.191s here (%.80s: \"%.200s\")",
		f->example->name, f->what, f->published, f->here, f->example->source,
		f->example->says);
	cli_put(report->format->to, text);
	fputc('\n', report->format->to);
}

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n > m && !strcmp(text + n - m, end);
}

/* Finds profile and examples, which lie side by side: "rwth", "dir/rwth.conf" and
 * "dir/rwth.examples" name the same pair. */
static int find_both(const char *name, char **ret_profile, char **ret_examples, struct err *err)
{
	_cleanup_free_ char *profile = NULL, *examples = NULL;
	int r = 0;

	if (ends_with(name, ".examples")) {
		if (asprintf(&profile, "%.*s.conf", (int)strlen(name) - 9, name) < 0)
			return err_set(err, -ENOMEM, "out of memory");
	} else {
		r = profile_find(name, &profile, err);
	}
	if (r < 0)
		return r;
	if (asprintf(&examples, "%.*s.examples",
		     (int)strlen(profile) - (ends_with(profile, ".conf") ? 5 : 0), profile) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	*ret_profile = TAKE_PTR(profile);
	*ret_examples = TAKE_PTR(examples);
	return 0;
}

/* A faulty file is no wrong usage (-EINVAL, exit status 2): -EBADMSG, exit status 1. */
static int load_examples(const char *config_path, const char *examples_path,
			 struct config **ret_config, struct examples **ret, struct err *err)
{
	int r = examples_load(examples_path, ret, err);

	if (r == 0)
		r = config_load(config_path, ret_config, err);
	return r == -EINVAL ? -EBADMSG : r;
}

int admin_check_examples(struct cli *c, const char *name, const char *own, struct err *err)
{
	_cleanup_(examples_freep) struct examples *examples = NULL;
	_cleanup_(config_freep) struct config *config = NULL;
	_cleanup_(table_freep) struct table *table = NULL;
	_cleanup_free_ char *profile = NULL, *path = NULL;
	struct report report = { .format = &c->format };
	int r = find_both(name, &profile, &path, err);

	if (r == 0)
		r = load_examples(own ? own : profile, path, &config, &examples, err);
	if (r == 0)
		r = table_new("figures", columns, &table, err);
	if (r < 0)
		return r;
	report.table = table;
	r = examples_check(config, examples, print_figure, &report, err);
	if (r < 0)
		return r;
	c->exit_code = r ? CLI_FAILED : CLI_OK;
	if (c->format.output != TABLE_TABLE)
		return table_print(table, &c->format, err);
	cli_put(c->format.to, own ? own : profile);
	fprintf(c->format.to, ": %d of %d published figures hold\n", report.n - report.n_wrong,
		report.n);
	return 0;
}
