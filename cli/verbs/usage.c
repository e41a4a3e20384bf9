/* SPDX-License-Identifier: GPL-2.0-or-later */
/* usage.c - `reeve usage`: sums up what accounts, users or clusters were charged in a period. */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include "cli/cli.h"
#include "cli/client/options.h"
#include "cli/offline/usage.h"
#include "cli/views/usage_storage.h"
#include "common/err.h"
#include "common/wire/wire.h"
#include "controller/ledger/calendar.h"

static const struct verb_option options[] = {
	{ "by", 0, "account|user|cluster",
	  "one row for each of these, or of two: user,cluster; default: account",
	  "account user cluster account,user account,cluster user,cluster user,account" },
	{ "account", 'A', "NAME", "only this account", NULL },
	{ "user", 'u', "NAME", "only this user (operators)", NULL },
	{ "cluster", 0, "NAME", "only on this cluster", NULL },
	{ "start", 0, "DATE", "first day: 2026-11-01", NULL },
	{ "end", 0, "DATE", "the day after the last one", NULL },
	{ "monthly", 0, NULL, "one row for each month too", NULL },
	{ "group", 0, NULL,
	  "of all accounts whose usage you may see, an account with all below it", NULL },
	{ "storage", 0, NULL, "what accounts occupy on file systems, and when it was read",
	  NULL },
	{ "years", 0, NULL, "core-years and equivalent-years instead of hours", NULL },
	{ "ledger", 0, "FILE", "read this ledger instead of asking the controller", NULL },
	{ "profile", 0, "NAME|FILE", "with --ledger: the policy, for its allocation year",
	  NULL },
	{ "accounts", 0, "FILE",
	  "with --ledger: the allocations; default: those applied to the ledger", NULL },
	{ "at", 0, "TIME",
	  "as of the end of that day, or that instant; default: now, with --ledger its last "
	  "charge",
	  NULL },
	{ 0 },
};

static const struct table_column columns[] = {
	{ "month", "MONTH", CELL_TEXT },
	{ "account", "ACCOUNT", CELL_TEXT },
	{ "user", "USER", CELL_TEXT },
	{ "cluster", "CLUSTER", CELL_TEXT },
	{ "title", "TITLE", CELL_TEXT },
	{ "depth", "-DEPTH", CELL_COUNT },
	{ "pool", "POOL", CELL_TEXT },
	{ "jobs_started", "STARTED", CELL_COUNT },
	{ "jobs_ended", "ENDED", CELL_COUNT },
	{ "running_ms", "RUNNING", CELL_DURATION_MS },
	{ "suspended_ms", "SUSPENDED", CELL_DURATION_MS },
	{ "cpu_ms", "CPU", CELL_DURATION_MS },
	{ "core_ms", "CORE-H", CELL_CHARGE_MS },
	{ "gpu_ms", "GPU-H", CELL_CHARGE_MS },
	{ "charge_requested_ms", "CHARGED", CELL_CHARGE_MS },
	{ "charge_used_ms", "AS USED", CELL_CHARGE_MS },
	{ "adjusted_ms", "ADJUSTED", CELL_CHARGE_MS },
	{ "counts_ms", "COUNTS", CELL_CHARGE_MS },
	{ "core_years", "CORE-Y", CELL_FIGURE },
	{ "gpu_years", "GPU-Y", CELL_FIGURE },
	{ "counts_years", "COUNTS-Y", CELL_FIGURE },
	{ "allocation_ms", "ALLOTTED", CELL_CHARGE_MS },
	{ "allocation_years", "ALLOTTED-Y", CELL_FIGURE },
	{ "with_below_ms", "WITH BELOW", CELL_CHARGE_MS },
	{ "with_below_years", "WITH BELOW-Y", CELL_FIGURE },
	{ "used_ppm", "-USED PPM", CELL_COUNT },
	{ "used_percent", "% USED", CELL_FIGURE },
	{ "projected_by_year_ms", "PROJECTED", CELL_CHARGE_MS },
	{ "projected_by_recent_ms", "BY 30 DAYS", CELL_CHARGE_MS },
	{ "projected_by_year_years", "PROJECTED-Y", CELL_FIGURE },
	{ "projected_by_recent_years", "BY 30 DAYS-Y", CELL_FIGURE },
	{ "used_up", "USED UP", CELL_TEXT },
	{ "owners", "-OWNERS", CELL_TEXT },
	{ "words", "-OUTLOOK", CELL_TEXT },
	{ 0 },
};

/* What people see without --columns; where no row has a figure, its column is left out. */
static const char *const hours[] = { "title",
				     "pool",
				     "jobs_ended",
				     "running_ms",
				     "cpu_ms",
				     "core_ms",
				     "charge_requested_ms",
				     "adjusted_ms",
				     "charge_used_ms",
				     "with_below_ms",
				     "allocation_ms",
				     "used_percent",
				     "projected_by_year_ms",
				     "projected_by_recent_ms",
				     "used_up",
				     NULL };
static const char *const years[] = { "title",
				     "pool",
				     "jobs_ended",
				     "core_years",
				     "gpu_years",
				     "counts_years",
				     "with_below_years",
				     "allocation_years",
				     "used_percent",
				     "projected_by_year_years",
				     "projected_by_recent_years",
				     "used_up",
				     NULL };

static int read_by(const struct verb_call *call, enum store_by ret[static 2], struct err *err)
{
	const char *by = verb_value(call, "by");

	return store_by_parse(by ? by : "account", ret, err);
}

static int make_path(const struct verb_call *call, char **path, struct err *err)
{
	static const char *const keys[] = {
		"account", "user", "cluster", "start", "end", "at"
	};
	const char *by = verb_value(call, "by");
	int r;

	*path = strdup("/v1/usage");
	if (!*path)
		return err_set(err, -ENOMEM, "out of memory");
	r = cli_query(path, "by", by ? by : "account", err);
	for (size_t i = 0; i < ARRAY_LEN(keys) && r == 0; i++)
		r = cli_query(path, keys[i], verb_value(call, keys[i]), err);
	if (r == 0 && verb_count(call, "monthly"))
		r = cli_query(path, "monthly", "1", err);
	if (r == 0 && verb_count(call, "group"))
		r = cli_query(path, "scope", "group", err);
	return r;
}

#define PERCENT_MAX 32
/* One decimal, rounded half up. */
static const char *format_percent(int64_t ppm, char buf[static PERCENT_MAX])
{
	int64_t tenths = ppm / 1000 + (ppm % 1000 >= 500);

	snprintf(buf, PERCENT_MAX, "%" PRId64 ".%" PRId64, tenths / 10, tenths % 10);
	return buf;
}

static void put_years(struct table *t, const char *column, int64_t ms)
{
	char buf[PROJECTION_YEARS_MAX];

	table_text(t, column, projection_format_years(ms, buf));
}

/* People see accounts indented by depth; programs see plain names. */
static void put_account(struct table *t, const char *name, int64_t depth, bool is_people)
{
	char text[REQUEST_NAME_MAX + 64];
	int indent = !is_people || depth < 0 ? 0 : depth > 20 ? 40 : (int)depth * 2;

	if (!name)
		return;
	snprintf(text, sizeof(text), "%*s%.63s", indent, "", name);
	table_text(t, "account", text);
}

/* Fills the row from the controller's document. Keys of the document are names of columns; null is "not measured". */
static void put_row(struct table *t, const json_t *row, bool is_people)
{
	const struct table_column *col = columns;
	int64_t ppm = cli_int(row, "used_ppm", -1), depth = cli_int(row, "depth", -1);
	char percent[PERCENT_MAX];

	for (; col->name; col++) {
		const json_t *v = json_object_get(row, col->name);

		if (json_is_null(v))
			table_null(t, col->name);
		else if (col->kind == CELL_TEXT || col->kind == CELL_FIGURE)
			table_text(t, col->name, cli_text(row, col->name));
		else if (json_is_integer(v))
			table_int(t, col->name, cli_int(row, col->name, 0));
	}
	put_account(t, cli_text(row, "account"), depth, is_people);
	if (depth >= 0)
		put_years(t, "with_below_years", cli_int(row, "with_below_ms", 0));
	if (ppm >= 0)
		table_text(t, "used_percent", format_percent(ppm, percent));
}

static void put_number(void *table, const char *column, int64_t n)
{
	table_int(table, column, n);
}

static void put_text(void *table, const char *column, const char *text)
{
	table_text(table, column, text);
}

static void put_unmeasured(void *table, const char *column)
{
	table_null(table, column);
}

/* Fills the row from a ledger file: as put_row(), without a document in between. */
static void put_figures(struct table *t, const struct projection_row *row)
{
	const struct projection_writer to = { t, put_number, put_text, put_unmeasured };
	char percent[PERCENT_MAX];

	table_text(t, "pool", row->usage->pool);
	projection_write_figures(row, &to);
	if (row->depth >= 0)
		put_years(t, "with_below_years", row->with_below_ms);
	if (row->has_allocation)
		table_text(t, "used_percent", format_percent(row->used_ppm, percent));
}

/* What fill_row() needs for the rows of a ledger file. */
struct filling {
	struct table *t;
	enum store_by by[2];
	bool is_monthly, is_people;
};

static void put_key(const struct filling *f, enum store_by by, const char *name, int64_t depth)
{
	if (by == STORE_BY_ACCOUNT)
		put_account(f->t, name, depth, f->is_people);
	else if (by != STORE_BY_NONE)
		table_text(f->t, store_by_name(by), name);
}

static int fill_row(void *ctx, const struct projection_row *row, struct err *err)
{
	const struct filling *f = ctx;
	char month[CALENDAR_DAY_MAX];

	(void)err;
	if (row->is_total && f->is_people && row->n_summed < 2)
		return 0; /* it would repeat the row above */
	(row->is_total ? table_total : table_row)(f->t);
	if (row->is_total && f->is_people)
		table_text(f->t, f->is_monthly ? "month" : store_by_name(f->by[0]), "total");
	if (f->is_monthly && !row->is_total)
		table_text(f->t, "month", calendar_format_month(row->usage->month, month));
	if (!row->is_total) {
		put_key(f, f->by[0], row->usage->key, row->depth);
		put_key(f, f->by[1], row->usage->second, -1);
	}
	put_figures(f->t, row);
	return 0;
}

/* Is the column shown to people? Some only where a row has another value than 0. */
static bool is_column_shown(const struct table *t, const char *name)
{
	bool may_be_zero = strcmp(name, "adjusted_ms") && strcmp(name, "gpu_years");

	/* Without accounts below others it repeats CHARGED. */
	if (!strncmp(name, "with_below_", 11))
		return table_has(t, "depth", TABLE_NOT_ZERO);
	return table_has(t, name, may_be_zero ? TABLE_SET : TABLE_NOT_ZERO);
}

/* The list of columns for people: the keys of --by, and the shown figures. malloc()ed. */
static char *usual_columns(const struct verb_call *call, const struct table *t)
{
	const char *by = verb_value(call, "by"); /* "user,cluster" are names of columns too */
	const char *const *names = verb_count(call, "years") ? years : hours;
	char *list, *longer;

	if (asprintf(&list, "%s%s", verb_count(call, "monthly") ? "month," : "",
		     by ? by : "account") < 0)
		return NULL;
	for (; list && *names; names++) {
		if (table_size(t) > 0 && !is_column_shown(t, *names))
			continue;
		if (asprintf(&longer, "%s,%s", list, *names) < 0)
			longer = NULL;
		free(list);
		list = longer;
	}
	return list;
}

/* "2026-04-01 up to 2027-04-01, 64.3 % of it gone" */
static void print_period(const struct cli *c, const json_t *answer)
{
	const char *start = cli_text(answer, "start"), *end = cli_text(answer, "end");
	int64_t gone = cli_int(answer, "gone_ppm", -1);
	int64_t tenths = cli_int(answer, "outage_ns", 0) / (DAY_NS / 10);
	char percent[PERCENT_MAX];

	if (c->format.output != TABLE_TABLE || c->format.no_header || !start || !end)
		return;
	cli_put(c->format.to, start);
	fputs(" up to ", c->format.to);
	cli_put(c->format.to, end);
	if (gone >= 0)
		fprintf(c->format.to, ", %s %% of it gone", format_percent(gone, percent));
	if (json_object_get(answer, "outage_ns"))
		fprintf(c->format.to, "; without outages of %" PRId64 ".%" PRId64 " days %s %%",
			tenths / 10, tenths % 10,
			format_percent(cli_int(answer, "due_ppm", 0), percent));
	fputc('\n', c->format.to);
}

static void put_notes(struct table *t, const json_t *answer)
{
	static const char *const keys[] = { "time_zone", "start", "end" };
	static const char *const numbers[] = { "gone_ppm", "due_ppm", "outage_ns" };

	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (cli_text(answer, keys[i]))
			table_note(t, keys[i], cli_text(answer, keys[i]));
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		if (json_object_get(answer, numbers[i]))
			table_note_int(t, numbers[i], cli_int(answer, numbers[i], 0));
}

static int print_usage(struct cli *c, const struct verb_call *call, struct table *t,
		       const json_t *answer, struct err *err)
{
	_cleanup_free_ char *usual = usual_columns(call, t);
	int r;

	put_notes(t, answer);
	if (!c->format.columns && c->format.output == TABLE_TABLE)
		c->format.columns = usual;
	print_period(c, answer);
	r = table_print(t, &c->format, err);
	c->format.columns = NULL; /* of this call alone */
	return r;
}

/* Before anything is opened, so that wrong usage is reported without a controller. */
static int check_options(const struct verb_call *call, struct err *err)
{
	static const char *const of_ledger[] = { "profile", "accounts", NULL };
	enum store_by by[2];
	int r = read_by(call, by, err);

	if (r == 0)
		r = options_check_period(call, err);
	if (r == 0 && verb_count(call, "group") && verb_value(call, "ledger"))
		return err_set(err, -EINVAL,
			       "--group is for the controller: --ledger shows all accounts");
	return r < 0 ? r : options_need_ledger(call, of_ledger, err);
}

/* Reads rows and totals from the controller. A total of a single row would repeat it: people do not get it. */
static int request_usage(struct cli *c, const struct verb_call *call, struct table *t,
			 json_t **ret, struct err *err)
{
	_cleanup_free_ char *path = NULL;
	bool is_people = c->format.output == TABLE_TABLE;
	const char *by = verb_value(call, "by");
	const json_t *row;
	char first[16];
	size_t i;
	int r = cli_begin(c, call, err);

	if (r >= 0)
		r = make_path(call, &path, err);
	if (r >= 0)
		r = cli_get(c, path, ret, err);
	if (r < 0)
		return r;
	json_array_foreach(json_object_get(*ret, "rows"), i, row)
	{
		table_row(t);
		put_row(t, row, is_people);
	}
	snprintf(first, sizeof(first), "%.*s", by ? (int)strcspn(by, ",") : 15,
		 by ? by : "account");
	json_array_foreach(json_object_get(*ret, "totals"), i, row)
	{
		if (is_people && cli_int(row, "rows", 0) < 2)
			continue;
		table_total(t);
		put_row(t, row, is_people);
		if (is_people)
			table_text(t, verb_count(call, "monthly") ? "month" : first, "total");
	}
	return 0;
}

static int read_file(struct cli *c, const struct verb_call *call, struct table *t, json_t **ret,
		     struct err *err)
{
	struct filling f = { .t = t, .is_monthly = verb_count(call, "monthly") };
	int r = cli_begin_offline(c, call, err);

	if (r >= 0)
		r = read_by(call, f.by, err);
	f.is_people = c->format.output == TABLE_TABLE;
	return r < 0 ? r
		     : usage_ledger_read(call, f.by, &(struct projection_each){ fill_row, &f },
					 ret, err);
}

static int run_usage(const struct verb_call *call, void *ctx, struct err *err)
{
	_cleanup_(table_freep) struct table *t = NULL;
	_cleanup_json_ json_t *answer = NULL;
	struct cli *c = ctx;
	int r = check_options(call, err);

	if (r >= 0 && verb_count(call, "storage"))
		return usage_storage_run(c, call, err);
	if (r >= 0)
		r = table_new("rows", columns, &t, err);
	if (r >= 0)
		r = (verb_value(call, "ledger") ? read_file : request_usage)(c, call, t,
									     &answer, err);
	if (r >= 0)
		r = print_usage(c, call, t, answer, err);
	if (r == 0 && table_size(t) == 0 && c->shows_hints)
		fprintf(stderr, "nothing was charged in that period\n");
	return r;
}

const struct verb cli_verb_usage = {
	.name = "usage",
	.args = "",
	.help = "Sum up what was charged, and project it to the end of the period",
	.details =
		"CHARGED is the charge for the requests, in the site's unit: equivalent hours, SU\n"
		"or core-h. AS USED is the cost of the smallest sufficient requests;\n"
		"CORE-H is plain cores x hours, which differs where memory or GPUs decided the\n"
		"price.\n"
		"ADJUSTED is what operators refunded (-) or recharged: CHARGED + ADJUSTED\n"
		"counts. '-' was not measured. By account, rows are the tree of accounts: the\n"
		"figures of a row are that account's alone, WITH BELOW adds the accounts below\n"
		"it. An allocation without usage has a row too.\n"
		"\n"
		"Without --start and --end the period is the allocation year (or quarter) of\n"
		"--at; a ledger file without --profile is summed up as a whole, up to --at. In a\n"
		"period that has not ended, PROJECTED is the total at its end if usage continues\n"
		"as so far, BY 30 DAYS if it continues as in the last 30 days. ALLOTTED is the\n"
		"part of allocations within the period; % USED of it counts the accounts below\n"
		"too. A core-year is 8,760 core-hours. Days are whole, in the site's time zone;\n"
		"CSV and JSON have exact thousandths of seconds.\n"
		"\n"
		"--storage shows what operators imported ('reeve admin storage') of the file\n"
		"systems of your accounts: % USED is of the limit, or without a limit of the\n"
		"account's allocation; READ is the time of these figures.",
	.examples =
		"reeve usage\nreeve usage --storage\nreeve usage --by user --start 2026-11-01 --end 2026-12-01\n"
		"reeve usage --account physics --years\n"
		"reeve usage --by user,cluster --monthly --at 2026-10-31\n"
		"reeve usage --ledger history.db --by user --monthly\n"
		"reeve usage --ledger history.db --profile alliance-narval --at 2026-10-01",
	.options = options,
	.run = run_usage,
};
