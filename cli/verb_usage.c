/* verb_usage.c - what accounts, users or clusters were charged in a period. */
#include <errno.h>
#include <string.h>
#include "cli/cli.h"
#include "cli/usage_ledger.h"
#include "common/err.h"
#include "common/wire/wire.h"
#include "controller/ledger/calendar.h"

static const struct verb_option options[] = {
	{ "by", 0, "account|user|cluster", "one row for each of these; default: account",
	  "account user cluster" },
	{ "account", 'A', "NAME", "only this account", NULL },
	{ "user", 'u', "NAME", "only this user (operators)", NULL },
	{ "start", 0, "DATE", "first day: 2026-11-01", NULL },
	{ "end", 0, "DATE", "the day after the last one", NULL },
	{ "monthly", 0, NULL, "one row for each month too", NULL },
	{ "ledger", 0, "FILE", "read this ledger; no controller is asked", NULL },
	{ 0 },
};

static const struct table_column columns[] = {
	{ "month", "MONTH", CELL_TEXT },
	{ "account", "ACCOUNT", CELL_TEXT },
	{ "user", "USER", CELL_TEXT },
	{ "cluster", "CLUSTER", CELL_TEXT },
	{ "pool", "POOL", CELL_TEXT },
	{ "jobs_started", "STARTED", CELL_COUNT },
	{ "jobs_ended", "ENDED", CELL_COUNT },
	{ "running_ms", "RUNNING", CELL_DURATION_MS },
	{ "suspended_ms", "-SUSPENDED", CELL_DURATION_MS },
	{ "cpu_ms", "CPU", CELL_DURATION_MS },
	{ "core_ms", "CORE-H", CELL_CHARGE_MS },
	{ "gpu_ms", "-GPU-H", CELL_CHARGE_MS },
	{ "charge_requested_ms", "CHARGED", CELL_CHARGE_MS },
	{ "charge_used_ms", "AS USED", CELL_CHARGE_MS },
	{ "adjusted_ms", "ADJUSTED", CELL_CHARGE_MS },
	{ 0 },
};

static int check_by(const char *by, struct err *err)
{
	if (!by || !strcmp(by, "account") || !strcmp(by, "user") || !strcmp(by, "cluster"))
		return 0;
	return err_set(err, -EINVAL, "--by %.32s: it is one of account, user, cluster", by);
}

/* A day of the calendar, nothing else. */
static int check_day(const char *option, const char *text, struct err *err)
{
	int64_t day;

	if (text && calendar_parse_day(text, &day) < 0)
		return err_set(err, -EINVAL, "--%s '%.32s' is not a day; write 2026-11-01",
			       option, text);
	return 0;
}

static int make_path(const struct verb_call *call, char **path, struct err *err)
{
	static const char *const keys[] = { "account", "user", "start", "end" };
	const char *by = verb_value(call, "by");
	int r = check_by(by, err);

	if (r == 0)
		r = check_day("start", verb_value(call, "start"), err);
	if (r == 0)
		r = check_day("end", verb_value(call, "end"), err);
	if (r < 0)
		return r;
	*path = strdup("/v1/usage");
	if (!*path)
		return err_set(err, -ENOMEM, "out of memory");
	r = cli_query(path, "by", by ? by : "account", err);
	for (size_t i = 0; i < ARRAY_LEN(keys) && r == 0; i++)
		r = cli_query(path, keys[i], verb_value(call, keys[i]), err);
	if (r == 0 && verb_count(call, "monthly"))
		r = cli_query(path, "monthly", "1", err);
	return r;
}

static void put_row(struct table *t, const json_t *row)
{
	const struct table_column *col = columns;

	table_row(t);
	for (; col->name; col++) {
		if (col->kind == CELL_TEXT)
			table_text(t, col->name, cli_text(row, col->name));
		else if (json_is_integer(json_object_get(row, col->name)))
			table_int(t, col->name, cli_int(row, col->name, 0));
	}
}

/* For people, only the key that was asked for heads the rows. */
static char *usual_columns(const struct verb_call *call)
{
	const char *by = verb_value(call, "by");
	char *list, *longer;

	if (asprintf(&list, "%s%s", verb_count(call, "monthly") ? "month," : "",
		     by ? by : "account") < 0)
		return NULL;
	for (const struct table_column *col = columns + 4; list && col->name; col++) {
		if (col->title[0] == '-')
			continue;
		if (asprintf(&longer, "%s,%s", list, col->name) < 0)
			longer = NULL;
		free(list);
		list = longer;
	}
	return list;
}

static int print(struct cli *c, const struct verb_call *call, const struct table *t,
		 struct err *err)
{
	_cleanup_free_ char *usual = usual_columns(call);
	int r;

	if (!c->format.columns && c->format.output == TABLE_TABLE)
		c->format.columns = usual;
	r = table_print(t, &c->format, err);
	c->format.columns = NULL; /* of this call alone */
	return r;
}

/* Rows from a ledger file. */
static int read_ledger(struct cli *c, const struct verb_call *call, struct table *t,
		       struct err *err)
{
	const char *by = verb_value(call, "by"), *start = verb_value(call, "start");
	const char *end = verb_value(call, "end");
	const struct usage_ledger u = { .path = verb_value(call, "ledger"),
					.by = by ? by : "account",
					.account = verb_value(call, "account"),
					.user = verb_value(call, "user"),
					.start = start,
					.end = end,
					.is_monthly = verb_count(call, "monthly") };
	int r = cli_begin_offline(c, call, err);

	if (r == 0)
		r = check_by(by, err);
	if (r == 0)
		r = check_day("start", start, err);
	if (r == 0)
		r = check_day("end", end, err);
	return r < 0 ? r : usage_ledger_read(&u, t, err);
}

static int read_controller(struct cli *c, const struct verb_call *call, struct table *t,
			   struct err *err)
{
	_cleanup_json_ json_t *answer = NULL;
	_cleanup_free_ char *path = NULL;
	json_t *row;
	size_t i;
	int r = cli_begin(c, call, err);

	if (r == 0)
		r = make_path(call, &path, err);
	if (r == 0)
		r = cli_ask(c, (struct http_call){ .method = "GET", .path = path }, &answer,
			    err);
	if (r < 0)
		return r;
	if (cli_text(answer, "time_zone"))
		table_note(t, "time_zone", cli_text(answer, "time_zone"));
	json_array_foreach(json_object_get(answer, "rows"), i, row) put_row(t, row);
	return (int)json_array_size(json_object_get(answer, "rows"));
}

static int usage(const struct verb_call *call, void *ctx, struct err *err)
{
	_cleanup_(table_freep) struct table *t = NULL;
	struct cli *c = ctx;
	int n, r = table_new("rows", columns, &t, err);

	if (r < 0)
		return r;
	n = verb_value(call, "ledger") ? read_ledger(c, call, t, err)
				       : read_controller(c, call, t, err);
	if (n < 0)
		return n;
	r = print(c, call, t, err);
	if (r == 0 && n == 0 && c->talks)
		fprintf(stderr, "nothing was charged in that period\n");
	return r;
}

const struct verb cli_verb_usage = {
	.name = "usage",
	.args = "",
	.help = "Sum up what was charged, by account, user or cluster",
	.details = "CHARGED is by the request, in equivalent hours; AS USED what the smallest\n"
		   "requests that served the jobs would have cost; CORE-H the plain cores x "
		   "hours.\n"
		   "ADJUSTED is what was refunded (-) or charged again by hand: CHARGED +\n"
		   "ADJUSTED counts. Days are those of the site's time zone, as the ledger\n"
		   "was made with; csv and json have exact thousandths of equivalent seconds.",
	.examples = "reeve usage\nreeve usage --by user --start 2026-11-01 --end 2026-12-01\n"
		    "reeve usage --account physics --csv\n"
		    "reeve usage --ledger history.db --by user --monthly",
	.options = options,
	.run = usage,
};
