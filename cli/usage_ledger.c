/* usage_ledger.c - see usage_ledger.h. */
#include <errno.h>
#include <string.h>
#include "cli/ledger_file.h"
#include "cli/usage_ledger.h"
#include "common/err.h"
#include "controller/ledger/calendar.h"

struct rows {
	const struct usage_ledger *u;
	struct table *t;
	int n;
};

static int add_row(void *ctx, const struct store_usage *s, struct err *err)
{
	struct rows *rows = ctx;
	struct table *t = rows->t;
	char month[CALENDAR_DAY_MAX];

	(void)err; /* memory that runs out is told by table_print() */
	table_row(t);
	if (rows->u->is_monthly)
		table_text(t, "month", calendar_format_month(s->month, month));
	table_text(t, rows->u->by, s->key);
	table_text(t, "pool", s->pool);
	table_int(t, "jobs_started", s->jobs_started);
	table_int(t, "jobs_ended", s->jobs_ended);
	table_int(t, "running_ms", s->running_ms);
	table_int(t, "suspended_ms", s->suspended_ms);
	table_int(t, "cpu_ms", s->cpu_ms);
	table_int(t, "core_ms", s->core_ms);
	table_int(t, "gpu_ms", s->gpu_ms);
	table_int(t, "charge_requested_ms", s->charge_requested_ms);
	table_int(t, "charge_used_ms", s->charge_used_ms);
	table_int(t, "adjusted_ms", s->adjusted_ms);
	rows->n++;
	return 0;
}

static int64_t day_of(const char *text, int64_t def)
{
	if (text)
		calendar_parse_day(text, &def);
	return def;
}

static enum store_by by_of(const char *by)
{
	if (!strcmp(by, "user"))
		return STORE_BY_USER;
	return !strcmp(by, "cluster") ? STORE_BY_CLUSTER : STORE_BY_ACCOUNT;
}

int usage_ledger_read(const struct usage_ledger *u, struct table *t, struct err *err)
{
	_cleanup_(store_closep) struct store *s = NULL;
	struct rows rows = { .u = u, .t = t };
	const struct store_period p = { .by = by_of(u->by),
					.each = u->is_monthly ? STORE_EACH_MONTH
							      : STORE_EACH_PERIOD,
					.account = u->account,
					.user = u->user,
					.from_day = day_of(u->start, INT32_MIN),
					.to_day = day_of(u->end, INT32_MAX) };
	int r = ledger_file_open(u->path, LEDGER_FILE_THERE, &s, err);

	if (r >= 0)
		table_note(t, "time_zone", store_zone(s));
	if (r >= 0)
		r = store_usage(s, &p, add_row, &rows, err);
	return r < 0 ? r : rows.n;
}
