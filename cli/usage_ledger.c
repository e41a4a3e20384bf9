/* usage_ledger.c - see usage_ledger.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "cli/ledger_file.h"
#include "cli/usage_ledger.h"
#include "common/err.h"

#define DAY_S 86400

struct rows {
	const struct usage_ledger *u;
	struct table *t;
	char month[16]; /* "": not by month */
	int n;
};

static int add_row(void *ctx, const struct store_usage *s, struct err *err)
{
	struct rows *rows = ctx;
	struct table *t = rows->t;

	(void)err; /* memory that runs out is told by table_print() */
	table_row(t);
	if (*rows->month)
		table_text(t, "month", rows->month);
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
	rows->n++;
	return 0;
}

static int64_t day_of(const char *text)
{
	struct tm tm = { 0 };

	strptime(text, "%Y-%m-%d", &tm);
	return timegm(&tm) / DAY_S;
}

static enum store_by by_of(const char *by)
{
	if (!strcmp(by, "user"))
		return STORE_BY_USER;
	return !strcmp(by, "cluster") ? STORE_BY_CLUSTER : STORE_BY_ACCOUNT;
}

/* The first day of the month after the one of `day`; the month's name into `name`. */
static int64_t next_month(int64_t day, char name[static 16])
{
	time_t t = (time_t)(day * DAY_S);
	struct tm tm;

	gmtime_r(&t, &tm);
	if (!strftime(name, 16, "%Y-%m", &tm))
		name[0] = '\0';
	tm.tm_mday = 1;
	tm.tm_mon++;
	tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
	return timegm(&tm) / DAY_S;
}

static int read_months(struct store *s, struct store_period p, struct rows *rows,
		       struct err *err)
{
	int64_t end = p.to_day, next;
	int r = 0;

	for (; p.from_day < end && r >= 0; p.from_day = next) {
		next = next_month(p.from_day, rows->month);
		p.to_day = next < end ? next : end;
		r = store_usage(s, &p, add_row, rows, err);
	}
	return r;
}

int usage_ledger_read(const struct usage_ledger *u, struct table *t, struct err *err)
{
	_cleanup_(store_closep) struct store *s = NULL;
	struct rows rows = { .u = u, .t = t };
	struct store_period p = { .by = by_of(u->by), .account = u->account, .user = u->user };
	int64_t first, last;
	int r = ledger_file_open(u->path, LEDGER_FILE_THERE, &s, err);

	if (r >= 0)
		r = store_days(s, &first, &last, err);
	if (r != 0)
		return r < 0 ? r : 0;
	p.from_day = u->start && day_of(u->start) > first ? day_of(u->start) : first;
	p.to_day = u->end && day_of(u->end) <= last ? day_of(u->end) : last + 1;
	r = u->is_monthly ? read_months(s, p, &rows, err)
			  : store_usage(s, &p, add_row, &rows, err);
	return r < 0 ? r : rows.n;
}
