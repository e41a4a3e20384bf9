/* SPDX-License-Identifier: GPL-2.0-or-later */
/* window.c - `reeve window`: reads a table of monthly allowances and usage, and prints what the
 * sliding allowance (controller/policy/quota/window.h) leaves for one month. Needs no controller. */
#include <errno.h>
#include <string.h>
#include "cli/cli.h"
#include "cli/output/table_data.h"
#include "cli/offline/window_file.h"
#include "common/err.h"
#include "common/wire/json/load.h"
#include "common/wire/wire.h"
#include "controller/policy/charge/charge.h"

static const struct verb_option options[] = {
	{ "allowance", 0, "FILE",
	  "table month,allowance,used of the accounting period; - is stdin", NULL },
	{ "month", 0, "YYYY-MM", "the month to look at", NULL },
	{ "rule", 0, "RULE", "how months are added up; default: sliding",
	  "sliding three-consecutive-months" },
	{ 0 },
};

/* All figures; --csv and --json print them by these names. The table omits those whose title begins
 * with "-". */
static const struct table_column columns[] = {
	{ "month", "MONTH", CELL_TEXT },
	{ "rule", "-RULE", CELL_TEXT },
	{ "mode", "MODE", CELL_TEXT },
	{ "available", "AVAILABLE", CELL_FIGURE },
	{ "percentage", "%", CELL_FIGURE },
	{ "percentage_exact", "-EXACT %", CELL_TEXT },
	{ "allowance_previous", "-PREVIOUS ALLOWANCE", CELL_FIGURE },
	{ "allowance_current", "ALLOWANCE", CELL_FIGURE },
	{ "allowance_next", "-NEXT ALLOWANCE", CELL_FIGURE },
	{ "used_previous", "-PREVIOUSLY USED", CELL_FIGURE },
	{ "used_current", "USED", CELL_FIGURE },
	{ "remaining_previous", "-PREVIOUSLY LEFT", CELL_FIGURE },
	{ "sum_start", "-SUM FROM", CELL_TEXT },
	{ "sum_end", "-SUM TO", CELL_TEXT },
	{ "sum_allowance", "-SUM ALLOWANCE", CELL_FIGURE },
	{ "sum_used", "-SUM USED", CELL_FIGURE },
	{ "period_start", "-PERIOD FROM", CELL_TEXT },
	{ "period_end", "-PERIOD TO", CELL_TEXT },
	{ "total_allowance", "-PERIOD ALLOWANCE", CELL_FIGURE },
	{ "total_used", "-PERIOD USED", CELL_FIGURE },
	{ "stop_month_above", "-STOP MONTH", CELL_FIGURE },
	{ "stop_total_above", "-STOP PERIOD", CELL_FIGURE },
	{ "why", "WHY", CELL_TEXT },
	{ 0 },
};

#define CELL_MAX 112

struct cells {
	char text[ARRAY_LEN(columns)][CELL_MAX]; /* "": there is none */
};

/* `name` is one of `columns`. */
static char *find_cell(struct cells *all, const char *name)
{
	size_t i = 0;

	while (columns[i].name && strcmp(columns[i].name, name))
		i++;
	return all->text[i];
}

static void put_text(struct cells *all, const char *name, const char *text)
{
	snprintf(find_cell(all, name), CELL_MAX, "%s", text);
}

static void put_amount(struct cells *all, const char *name, int64_t amount)
{
	char text[WINDOW_AMOUNT_TEXT_MAX];

	put_text(all, name, window_amount_format(amount, text));
}

static void put_month(struct cells *all, const char *name, int month)
{
	char text[WINDOW_MONTH_TEXT_MAX];

	put_text(all, name, window_month_format(month, text));
}

/* The percentage is rounded (window_compute()); percentage_exact is the fraction n/d. */
static void put_percentage(struct cells *all, const struct window *w)
{
	int64_t num = w->share * 100;
	char text[FRACTION_TEXT_MAX];
	struct fraction f;

	if (!w->has_percentage ||
	    fraction_make(num < 0 ? -num : num, w->current.allowance, &f) < 0)
		return;
	snprintf(find_cell(all, "percentage"), CELL_MAX, "%lld", (long long)w->percentage);
	snprintf(find_cell(all, "percentage_exact"), CELL_MAX, "%s%s", num < 0 ? "-" : "",
		 fraction_format(f, text));
}

static void fill_cells(struct cells *all, const struct window *w, const struct window_file *f)
{
	put_month(all, "month", w->month);
	put_text(all, "rule", window_rule_name(w->rule));
	put_text(all, "mode", window_mode_name(w->mode));
	put_amount(all, "available", w->available);
	put_percentage(all, w);
	put_amount(all, "allowance_previous", w->previous.allowance);
	put_amount(all, "allowance_current", w->current.allowance);
	put_amount(all, "allowance_next", w->next.allowance);
	put_amount(all, "used_previous", w->previous.used);
	put_amount(all, "used_current", w->current.used);
	put_amount(all, "remaining_previous", w->previous.allowance - w->previous.used);
	put_month(all, "sum_start", w->first);
	put_month(all, "sum_end", w->last);
	put_amount(all, "sum_allowance", w->sum_allowance);
	put_amount(all, "sum_used", w->sum_used);
	put_month(all, "period_start", f->months[0].month);
	put_month(all, "period_end", f->months[f->n - 1].month);
	put_amount(all, "total_allowance", w->total_allowance);
	put_amount(all, "total_used", w->total_used);
	put_amount(all, "stop_month_above", w->stop_month);
	put_amount(all, "stop_total_above", w->stop_total);
	put_text(all, "why", w->why);
}

/* ---- output: JSON object, table row, or lines to read ---- */

/* NULL when out of memory. A number without a fraction becomes a JSON integer, any other a decimal
 * of up to 15 significant digits, which is exact below 10^9 core-hours. */
static json_t *make_json(const struct table_column *column, const char *text)
{
	if (!*text)
		return json_null();
	if (column->kind == CELL_TEXT)
		return json_string(text);
	return wire_load(text, JSON_DECODE_ANY, NULL); /* strtod() would obey the locale */
}

/* One object, not rows: there is one window. */
static int print_json(const struct cli *c, const struct cells *all, const struct table *t,
		      struct err *err)
{
	const size_t flags = JSON_INDENT(2) | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(15);
	_cleanup_json_ json_t *doc = wire_new();
	struct table_choice chosen = { .n = 0 };
	int r = table_choose(t, c->format.columns, &chosen, err);

	if (r < 0)
		return r;
	r = doc ? 0 : -1;
	for (int k = 0; k < chosen.n && r == 0; k++) {
		int i = chosen.column[k];

		r = json_object_set_new(doc, columns[i].name,
					make_json(&columns[i], all->text[i]));
	}
	if (r < 0)
		return err_set(err, -ENOMEM, "out of memory");
	if (json_dumpf(doc, c->format.to, flags) < 0)
		return err_set(err, -EIO, "cannot write the output");
	fputc('\n', c->format.to);
	return 0;
}

static int make_row(const struct cells *all, struct table **ret, struct err *err)
{
	int r = table_new("window", columns, ret, err);

	if (r < 0)
		return r;
	table_row(*ret);
	for (size_t i = 0; columns[i].name; i++)
		if (*all->text[i])
			table_text(*ret, columns[i].name, all->text[i]);
	return 0;
}

static void print_line(FILE *to, const char *title, const char *text, const char *rest)
{
	fprintf(to, "%-34s %s%s\n", title, *text ? text : "-", rest);
}

static void print_sum(struct cells *all, FILE *to)
{
	fprintf(to, "%-34s %s (%s to %s) - %s used = %s\n",
		"Consumable core-h:", find_cell(all, "sum_allowance"),
		find_cell(all, "sum_start"), find_cell(all, "sum_end"),
		find_cell(all, "sum_used"), find_cell(all, "available"));
}

static void print_view(struct cells *all, FILE *to)
{
	print_line(to, "Start of accounting period:", find_cell(all, "period_start"), "");
	print_line(to, "End of accounting period:", find_cell(all, "period_end"), "");
	print_line(to, "Month:", find_cell(all, "month"), "");
	fprintf(to, "%-34s %s (%s)\n", "State of quota:", find_cell(all, "mode"),
		find_cell(all, "why"));
	print_line(to, "Quota monthly (core-h):", find_cell(all, "allowance_current"), "");
	print_line(to, "Remaining core-h of prev. month:", find_cell(all, "remaining_previous"),
		   "");
	print_line(to, "Consumed core-h act. month:", find_cell(all, "used_current"), "");
	print_line(to, "Consumable core-h (%):", find_cell(all, "percentage"), "");
	print_sum(all, to);
	print_line(to, "Rule:", find_cell(all, "rule"), "");
	print_line(to, "No submission above, this month:", find_cell(all, "stop_month_above"),
		   " core-h");
	fprintf(to, "%-34s %s core-h (%s used of %s)\n",
		"No submission above, period:", find_cell(all, "stop_total_above"),
		find_cell(all, "total_used"), find_cell(all, "total_allowance"));
}

static int print_window(const struct cli *c, const struct window *w,
			const struct window_file *f, struct err *err)
{
	_cleanup_(table_freep) struct table *t = NULL;
	const struct table_format *form = &c->format;
	struct cells all = { 0 };
	int r;

	fill_cells(&all, w, f);
	if (form->output == TABLE_TABLE && !form->columns) {
		print_view(&all, form->to);
		return 0;
	}
	r = make_row(&all, &t, err);
	if (r < 0)
		return r;
	if (form->output == TABLE_JSON && (!form->columns || strcmp(form->columns, "help")))
		return print_json(c, &all, t, err);
	return table_print(t, form, err);
}

static int run_window(const struct verb_call *call, void *ctx, struct err *err)
{
	const char *path = verb_value(call, "allowance"), *month = verb_value(call, "month");
	const char *rule_name = verb_value(call, "rule");
	_cleanup_(window_file_done) struct window_file f = { 0 };
	enum window_rule rule = WINDOW_SLIDING;
	struct window w;
	int month_number, r;

	r = cli_begin_offline(ctx, call, err);
	if (r == 0 && (!path || !month))
		r = err_set(err, -EINVAL, "--allowance FILE and --month YYYY-MM are needed");
	if (r == 0)
		r = window_month_parse(month, &month_number, err);
	if (r == 0 && rule_name)
		r = window_rule_parse(rule_name, &rule, err);
	if (r == 0)
		r = window_file_read(path, &f, err);
	if (r == 0)
		r = window_compute(&(struct window_period){ f.months, f.n }, month_number, rule,
				   &w, err);
	return r < 0 ? r : print_window(ctx, &w, &f, err);
}

const struct verb cli_verb_window = {
	.name = "window",
	.help = "Calculate what a sliding monthly allowance leaves",
	.details =
		"Reads month,allowance,used (core-hours) of every month of the accounting\n"
		"period and prints what is available in one month, in core-hours and in\n"
		"percent of the month's allowance (rounded down; below -100 shown as -101),\n"
		"and the mode: normal, low-priority (the window is used up) or stopped\n"
		"(submissions are refused). Rules: sliding (previous, current and next month)\n"
		"or three-consecutive-months. Needs neither controller nor configuration.",
	.examples = "reeve window --allowance months.csv --month 2024-02\n"
		    "reeve window --allowance months.csv --month 2024-02 --json",
	.options = options,
	.run = run_window,
};
