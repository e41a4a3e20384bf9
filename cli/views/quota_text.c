/* SPDX-License-Identifier: GPL-2.0-or-later */
/* quota_text.c - prints one quota of GET /v1/quota as lines for people; see quota_text.h. */
#include <inttypes.h>
#include <string.h>
#include "cli/cli.h"
#include "cli/views/quota_text.h"
#include "common/model/amount.h"
#include "controller/ledger/calendar.h"
#include "controller/quota/quota.h"

#define TITLE "%-34s "

static void print_line(FILE *to, const char *title, const char *text)
{
	fprintf(to, TITLE, title);
	cli_put(to, text ? text : "-");
	fputc('\n', to);
}

/* "Grant (SU):    1000" */
static void print_amount(const json_t *q, FILE *to, const char *title, const char *key)
{
	const char *unit = cli_text(q, "unit");
	char head[96], text[QUOTA_AMOUNT_MAX];

	snprintf(head, sizeof(head), "%s (%.40s):", title, unit ? unit : "-");
	print_line(to, head,
		   json_object_get(q, key) ? quota_format(cli_int(q, key, 0), text) : NULL);
}

/* The document has the day after the period; people read its last day. */
static const char *last_day(const char *end, char buf[static CALENDAR_DAY_MAX])
{
	int64_t day;

	if (!end || calendar_parse_day(end, &day) < 0)
		return "-";
	return calendar_format_day(day - 1, buf);
}

static void print_period(const json_t *q, FILE *to)
{
	char end[CALENDAR_DAY_MAX];

	print_line(to, "Start of accounting period:", cli_text(q, "start"));
	print_line(to, "End of accounting period:", last_day(cli_text(q, "end"), end));
}

/* Absent for a past day: the ledger does not record which jobs were queued then. */
static void print_active(const json_t *q, FILE *to)
{
	const char *unit = cli_text(q, "unit");
	char ran[QUOTA_AMOUNT_MAX], rest[QUOTA_AMOUNT_MAX], wait[QUOTA_AMOUNT_MAX];
	int64_t suspended = cli_int(q, "suspended_jobs", 0);

	if (!json_object_get(q, "running_jobs"))
		return;
	fprintf(to, TITLE "%" PRId64, "Running jobs:", cli_int(q, "running_jobs", 0));
	if (suspended)
		fprintf(to, " and %" PRId64 " suspended", suspended);
	fprintf(to, " (%s used so far, up to %s more %s)\n",
		quota_format(cli_int(q, "running_ms", 0), ran),
		quota_format(cli_int(q, "running_rest_ms", 0), rest), unit ? unit : "");
	fprintf(to, TITLE "%" PRId64 " (up to %s %s)\n",
		"Queued jobs:", cli_int(q, "queued_jobs", 0),
		quota_format(cli_int(q, "queued_ms", 0), wait), unit ? unit : "");
}

/* "physics", or "physics (counts with all of science)". */
static void print_group(const json_t *q, FILE *to, const char *title)
{
	const char *account = cli_text(q, "account"), *owner = cli_text(q, "owner");
	char text[256];

	if (!account || !owner || !strcmp(account, owner)) {
		print_line(to, title, account);
		return;
	}
	snprintf(text, sizeof(text), "%.64s (counts with all of %.64s)", account, owner);
	print_line(to, title, text);
}

/* "2026 (cluster narval, gpu)": name, cluster and pool identify an allocation of an account. */
static void print_allocation(const json_t *q, FILE *to)
{
	const char *label = cli_text(q, "allocation"), *cluster = cli_text(q, "cluster"),
		   *pool = cli_text(q, "pool");
	char text[256];

	snprintf(text, sizeof(text), "%.64s (%s%.64s, %.16s)", label ? label : "-",
		 cluster && *cluster ? "cluster " : "all clusters",
		 cluster && *cluster ? cluster : "", pool ? pool : "-");
	print_line(to, "Allocation:", text);
}

static void print_state(const json_t *q, FILE *to)
{
	const char *mode = cli_text(q, "mode"), *why = cli_text(q, "why");
	char text[160];

	snprintf(text, sizeof(text), "%.32s (%.100s)", mode ? mode : "-", why ? why : "-");
	print_line(to, "State of project:", text);
}

static void show_window(const json_t *q, FILE *to)
{
	char text[64];

	print_group(q, to, "Group:");
	print_allocation(q, to);
	print_period(q, to);
	print_state(q, to);
	print_amount(q, to, "Quota monthly", "monthly_ms");
	print_amount(q, to, "Remaining of prev. month", "remaining_previous_ms");
	print_amount(q, to, "Consumed act. month", "used_month_ms");
	snprintf(text, sizeof(text), "%" PRId64, cli_int(q, "percentage", 0));
	print_line(to, "Consumable (%):", json_object_get(q, "percentage") ? text : NULL);
	print_amount(q, to, "Consumable", "available_ms");
	print_active(q, to);
	if (json_object_get(q, "running_jobs"))
		print_amount(q, to, "Consumable after these", "available_after_ms");
}

static void print_queues(const json_t *q, FILE *to)
{
	const json_t *queue;
	size_t i;

	fprintf(to, TITLE, "Queues (SU a cpu hour):");
	json_array_foreach(json_object_get(q, "queues"), i, queue)
	{
		const char *name = cli_text(queue, "queue"),
			   *factor = cli_text(queue, "factor");

		fputs(i ? ", " : "", to);
		cli_put(to, name ? name : "-");
		fputc(' ', to);
		cli_put(to, factor ? factor : "-");
	}
	fputs(i ? "\n" : "-\n", to);
}

static void show_grant(const json_t *q, FILE *to)
{
	print_group(q, to, "Project:");
	print_allocation(q, to);
	print_period(q, to);
	print_amount(q, to, "Grant", "total_ms");
	print_amount(q, to, "Used", "used_ms");
	print_amount(q, to, "Reserved", "reserved_ms");
	print_amount(q, to, "Available", "available_ms");
	print_active(q, to);
	print_queues(q, to);
}

/* "12.5 (45.3 %)": equivalent years, and their part of the allocation. */
static void print_years(const json_t *q, FILE *to, const char *title, const char *key)
{
	int64_t ms = cli_int(q, key, 0), total = cli_int(q, "total_ms", 0);
	char text[QUOTA_AMOUNT_MAX];
	int64_t tenths = total > 0 ? (int64_t)(((__int128)ms * 1000 + total / 2) / total) : 0;
	/* 8760 hours a year, rounded to the nearest. */
	int64_t year_ms = (ms + (ms < 0 ? -4380 : 4380)) / 8760;

	if (!json_object_get(q, key))
		return;
	fprintf(to, TITLE "%s (%" PRId64 ".%" PRId64 " %%)\n", title,
		quota_format(year_ms, text), tenths / 10, tenths % 10);
}

/* What "due" leaves out. */
static void print_outages(const json_t *q, FILE *to)
{
	int64_t tenths = cli_int(q, "outage_ns", 0) / (DAY_NS / 10);

	if (json_object_get(q, "outage_ns"))
		fprintf(to, TITLE "%" PRId64 ".%" PRId64 " days\n",
			"Outages left out:", tenths / 10, tenths % 10);
}

static void show_target(const json_t *q, FILE *to)
{
	const char *pool = cli_text(q, "pool");
	bool is_gpu = pool && !strcmp(pool, "gpu");

	print_group(q, to, "Allocation project:");
	print_allocation(q, to);
	print_period(q, to);
	fprintf(to, TITLE "%s %s a year\n", "Target:", cli_text(q, "amount"),
		is_gpu ? "GPU-equivalent years" : "core-equivalent years");
	print_years(q, to,
		    is_gpu ? "Used, GPU-equivalent years:" : "Used, core-equivalent years:",
		    "used_ms");
	print_years(q, to, "Due by now:", "due_ms");
	print_outages(q, to);
	print_years(q, to, "Projected from all so far:", "projected_by_year_ms");
	print_years(q, to, "Projected from the last 30 days:", "projected_by_recent_ms");
	if (is_gpu)
		print_years(q, to, "Used, plain GPU-years:", "gpu_ms");
	else
		print_years(q, to, "Used, plain core-years:", "core_ms");
	print_active(q, to);
}

void quota_text_print(const json_t *q, FILE *to)
{
	const char *rule = cli_text(q, "rule");
	int64_t bytes = cli_int(q, "storage_bytes", 0);
	char text[AMOUNT_TEXT_MAX];

	if (!cli_text(q, "owner"))
		print_group(q, to, "Account:");
	else if (!strcmp(rule ? rule : "", "grant"))
		show_grant(q, to);
	else if (!strcmp(rule ? rule : "", "target"))
		show_target(q, to);
	else
		show_window(q, to);
	if (json_object_get(q, "storage_bytes"))
		print_line(to,
			   "Storage allotted:", amount_format_bytes_like(bytes, bytes, text));
	if (json_is_true(json_object_get(q, "is_past")))
		print_line(to, "As it stood at the end of:", cli_text(q, "day"));
	cli_put(to, cli_text(q, "words"));
	fputc('\n', to);
}
