/* SPDX-License-Identifier: GPL-2.0-or-later */
/* table_format.c - reads the options that choose the form of the output; see table_format.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "cli/output/table_format.h"
#include "common/err.h"
#include "common/verb/verb.h"

static const char *const names[_TABLE_OUTPUT_MAX] = {
	[TABLE_TABLE] = "table", [TABLE_JSON] = "json",		[TABLE_CSV] = "csv",
	[TABLE_RAW] = "raw",	 [TABLE_PARSABLE] = "parsable", [TABLE_PARSABLE2] = "parsable2",
};

static int read_output(const char *name, enum table_output *ret)
{
	for (int i = 0; i < _TABLE_OUTPUT_MAX; i++) {
		if (!strcmp(names[i], name)) {
			*ret = (enum table_output)i;
			return 0;
		}
	}
	return -EINVAL;
}

/* auto: only on a terminal, and not where NO_COLOR is set or the terminal is dumb. */
static int read_color(struct table_format *f, const char *when, struct err *err)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
	bool dumb = (no_color && *no_color) || !term || !strcmp(term, "dumb");

	if (!when || !strcmp(when, "auto"))
		f->color = isatty(STDOUT_FILENO) && !dumb;
	else if (!strcmp(when, "always") || !strcmp(when, "never"))
		f->color = *when == 'a';
	else
		return err_set(err, -EINVAL, "--color %.32s: write auto, always or never",
			       when);
	return 0;
}

int table_format_read(const struct verb_call *call, struct table_format *ret, struct err *err)
{
	struct table_format f = { .to = stdout };
	const struct verb_option *o;
	const char *value;

	for (int i = 0; i < call->n_given; i++) {
		o = call->given[i].option;
		value = call->given[i].value;
		/* The --output of submit is a file, and has no list of words. */
		if (strcmp(o->name, "output") != 0)
			read_output(o->name,
				    &f.output); /* --json etc.; does nothing for others */
		else if (o->words && read_output(value, &f.output) < 0)
			return err_set(err, -EINVAL,
				       "--output %.32s: write table, json, csv, raw, "
				       "parsable or parsable2",
				       value);
	}
	f.no_header = verb_count(call, "noheader");
	f.columns = verb_value(call, "columns");
	*ret = f;
	return read_color(ret, verb_value(call, "color"), err);
}

bool table_format_is_narrow(const struct table_format *f, int columns)
{
	struct winsize w = { .ws_col = 0 };

	return !f->columns && f->output == TABLE_TABLE &&
	       ioctl(fileno(f->to), TIOCGWINSZ, &w) == 0 && w.ws_col > 0 && w.ws_col < columns;
}
