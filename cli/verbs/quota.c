/* SPDX-License-Identifier: GPL-2.0-or-later */
/* quota.c - `reeve quota`: shows what accounts were allotted, and what is left of it. */
#include <errno.h>
#include <string.h>
#include "cli/cli.h"
#include "cli/client/options.h"
#include "cli/offline/quota.h"
#include "cli/views/quota_text.h"
#include "common/err.h"
#include "common/wire/wire.h"

static const struct verb_option options[] = {
	{ "project", 'p', "ACCOUNT", "only this account; default: all of yours", NULL },
	{ "account", 'A', "ACCOUNT", "the same as --project", NULL },
	{ "cluster", 0, "NAME", "only what counts on this cluster", NULL },
	{ "at", 0, "TIME",
	  "as of the end of that day, or that instant; default: now, with --ledger its last "
	  "charge",
	  NULL },
	{ "by", 0, "user|month", "one row for each user, or each month", "user month" },
	{ "ledger", 0, "FILE", "read this ledger instead of asking the controller", NULL },
	{ "profile", 0, "NAME", "with --ledger: the policy, a file or a shipped profile",
	  NULL },
	{ "accounts", 0, "FILE",
	  "with --ledger: accounts and allocations; default: the ledger's", NULL },
	{ 0 },
};

#define ACTIVE_COLUMNS                                                                         \
	{ "running_jobs", "RUN", CELL_COUNT }, { "queued_jobs", "QUEUED", CELL_COUNT },        \
		{ "suspended_jobs", "-SUSPENDED", CELL_COUNT },                                \
		{ "running_ms", "-RAN", CELL_CHARGE_MS },                                      \
		{ "running_rest_ms", "RUN REST", CELL_CHARGE_MS },                             \
	{                                                                                      \
		"queued_ms", "QUEUED REST", CELL_CHARGE_MS                                     \
	}

static const struct table_column columns[] = {
	{ "account", "ACCOUNT", CELL_TEXT },
	{ "owner", "-OWNER", CELL_TEXT },
	{ "allocation", "ALLOCATION", CELL_TEXT },
	{ "rule", "-RULE", CELL_TEXT },
	{ "cluster", "-CLUSTER", CELL_TEXT },
	{ "pool", "-POOL", CELL_TEXT },
	{ "unit", "-UNIT", CELL_TEXT },
	{ "day", "-DAY", CELL_TEXT },
	{ "start", "START", CELL_TEXT },
	{ "end", "END", CELL_TEXT },
	{ "amount", "-AMOUNT", CELL_FIGURE },
	{ "mode", "MODE", CELL_TEXT },
	{ "total_ms", "TOTAL", CELL_CHARGE_MS },
	{ "used_ms", "USED", CELL_CHARGE_MS },
	{ "reserved_ms", "RESERVED", CELL_CHARGE_MS },
	{ "available_ms", "AVAILABLE", CELL_CHARGE_MS },
	{ "available_after_ms", "-AFTER ACTIVE", CELL_CHARGE_MS },
	{ "percentage", "%", CELL_COUNT },
	{ "core_ms", "-CORE-H", CELL_CHARGE_MS },
	{ "gpu_ms", "-GPU-H", CELL_CHARGE_MS },
	ACTIVE_COLUMNS,
	{ "month", "-MONTH", CELL_TEXT },
	{ "monthly_ms", "-MONTHLY", CELL_CHARGE_MS },
	{ "monthly_previous_ms", "-MONTHLY BEFORE", CELL_CHARGE_MS },
	{ "monthly_next_ms", "-MONTHLY NEXT", CELL_CHARGE_MS },
	{ "used_month_ms", "-USED THIS MONTH", CELL_CHARGE_MS },
	{ "used_previous_ms", "-USED BEFORE", CELL_CHARGE_MS },
	{ "remaining_previous_ms", "-LEFT BEFORE", CELL_CHARGE_MS },
	{ "stop_month_above_ms", "-STOP MONTH", CELL_CHARGE_MS },
	{ "stop_total_above_ms", "-STOP PERIOD", CELL_CHARGE_MS },
	{ "submit_again", "-SUBMIT AGAIN", CELL_TEXT },
	{ "normal_again", "-NORMAL AGAIN", CELL_TEXT },
	{ "due_ms", "-DUE", CELL_CHARGE_MS },
	{ "used_ppm", "-USED PPM", CELL_COUNT },
	{ "passed_ppm", "-PASSED PPM", CELL_COUNT },
	{ "projected_by_year_ms", "-PROJECTED", CELL_CHARGE_MS },
	{ "projected_by_recent_ms", "-PROJECTED RECENT", CELL_CHARGE_MS },
	{ "storage_bytes", "-STORAGE", CELL_REQUEST },
	{ "why", "-WHY", CELL_TEXT },
	{ "words", "-WORDS", CELL_TEXT },
	{ 0 },
};

static const struct table_column user_columns[] = {
	{ "account", "ACCOUNT", CELL_TEXT },
	{ "allocation", "ALLOCATION", CELL_TEXT },
	{ "pool", "-POOL", CELL_TEXT },
	{ "unit", "-UNIT", CELL_TEXT },
	{ "user", "USER", CELL_TEXT },
	{ "used_ms", "USED", CELL_CHARGE_MS },
	ACTIVE_COLUMNS,
	{ 0 },
};

static const struct table_column month_columns[] = {
	{ "account", "ACCOUNT", CELL_TEXT },
	{ "allocation", "ALLOCATION", CELL_TEXT },
	{ "cluster", "-CLUSTER", CELL_TEXT },
	{ "pool", "POOL", CELL_TEXT },
	{ "unit", "-UNIT", CELL_TEXT },
	{ "month", "MONTH", CELL_TEXT },
	{ "allowance_ms", "ALLOWANCE", CELL_CHARGE_MS },
	{ "used_ms", "USED", CELL_CHARGE_MS },
	{ 0 },
};

/* How rows are asked for by --by: the list of the document that has them. */
static const struct by {
	const char *name, *list;
	const struct table_column *columns;
} bys[] = { { "user", "users", user_columns }, { "month", "months", month_columns } };

static const struct by *find_by(const char *name)
{
	for (size_t i = 0; name && i < ARRAY_LEN(bys); i++)
		if (!strcmp(name, bys[i].name))
			return &bys[i];
	return NULL;
}

/* The value of `j`; if absent that of `around` (the quota around a user's row, or NULL). */
static void put_cell(struct table *t, const struct table_column *col, const json_t *j,
		     const json_t *around)
{
	const json_t *v = json_object_get(j, col->name);

	if (!v && around)
		v = json_object_get(around, col->name);
	if (json_is_string(v))
		table_text(t, col->name, json_string_value(v));
	else if (json_is_integer(v))
		table_int(t, col->name, json_integer_value(v));
}

static void put_row(struct table *t, const struct table_column *cols, const json_t *j,
		    const json_t *around)
{
	table_row(t);
	for (; cols->name; cols++)
		put_cell(t, cols, j, around);
}

/* `by` NULL: one row a quota. */
static int print_rows(const struct cli *c, const json_t *quotas, const struct by *by,
		      struct err *err)
{
	_cleanup_(table_freep) struct table *t = NULL;
	const struct table_column *cols = by ? by->columns : columns;
	json_t *quota, *row;
	size_t i, k;
	int r = table_new("quotas", cols, &t, err);

	if (r < 0)
		return r;
	json_array_foreach(quotas, i, quota)
	{
		if (!by) {
			put_row(t, cols, quota, NULL);
			continue;
		}
		json_array_foreach(json_object_get(quota, by->list), k, row)
			put_row(t, cols, row, quota);
	}
	return table_print(t, &c->format, err);
}

/* People get the site's own layout, unless they ask for rows by --by or --columns. */
static int print_quotas(const struct cli *c, const struct verb_call *call, const json_t *doc,
			struct err *err)
{
	const json_t *quotas = json_object_get(doc, "quotas");
	const char *by = verb_value(call, "by");
	json_t *quota;
	size_t i;

	if (by || c->format.output != TABLE_TABLE || c->format.columns)
		return print_rows(c, quotas, find_by(by), err);
	json_array_foreach(quotas, i, quota)
	{
		if (i)
			fputc('\n', c->format.to);
		quota_text_print(quota, c->format.to);
	}
	if (i == 0 && c->shows_hints)
		fprintf(stderr,
			"none of your accounts has an allocation; 'reeve usage' shows what they used\n");
	return 0;
}

static int request_quotas(struct cli *c, const struct verb_call *call, json_t **ret,
			  struct err *err)
{
	static const char *const of_ledger[] = { "profile", "accounts", NULL };
	_cleanup_free_ char *path = strdup("/v1/quota");
	const char *account = verb_value(call, "account");
	int r = cli_begin(c, call, err);

	if (!path)
		return err_set(err, -ENOMEM, "out of memory");
	if (r == 0)
		r = options_need_ledger(call, of_ledger, err);
	if (r == 0)
		r = cli_query(&path, "account", account ? account : verb_value(call, "project"),
			      err);
	if (r == 0)
		r = cli_query(&path, "cluster", verb_value(call, "cluster"), err);
	if (r == 0)
		r = cli_query(&path, "at", verb_value(call, "at"), err);
	return r < 0 ? r : cli_get(c, path, ret, err);
}

static int run_quota(const struct verb_call *call, void *ctx, struct err *err)
{
	_cleanup_json_ json_t *doc = NULL;
	const char *by = verb_value(call, "by");
	struct cli *c = ctx;
	int r;

	if (by && !find_by(by))
		return err_set(err, -EINVAL, "--by %.32s: write user or month", by);
	if (verb_value(call, "ledger")) {
		r = cli_begin_offline(c, call, err);
		if (r == 0)
			r = quota_ledger_read(call, &doc, err);
	} else {
		r = request_quotas(c, call, &doc, err);
	}
	return r < 0 ? r : print_quotas(c, call, doc, err);
}

const struct verb cli_verb_quota = {
	.name = "quota",
	.args = "",
	.help = "Show what accounts may use, have used and have left",
	.details =
		"By the site's configuration quotas are monthly in a sliding window, grants of\n"
		"service units, or targets. USED is what was charged, including running jobs so\n"
		"far. What running and queued jobs may still be charged is shown too; a grant\n"
		"reserves it. --ledger with --profile needs no controller.",
	.examples = "reeve quota\nreeve quota -p physics --by user\nreeve quota --by month\n"
		    "reeve quota -p physics --at 2026-02-28 --json\n"
		    "reeve quota --ledger history.db --profile rwth --accounts accounts.conf",
	.options = options,
	.run = run_quota,
};
