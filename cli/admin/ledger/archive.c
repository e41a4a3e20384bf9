/* SPDX-License-Identifier: GPL-2.0-or-later */
/* archive.c - `reeve admin archive`: moves the jobs of whole months from a ledger to files, and checks such
 * files. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "cli/admin/admin.h"
#include "cli/offline/ledger_file.h"
#include "common/clock.h"
#include "common/err.h"
#include "common/wire/wire.h"
#include "controller/ledger/archive/archive.h"
#include "controller/ledger/calendar.h"

#define PATIENCE_NS (2 * S_NS) /* a run that takes longer shows its progress */

static const struct verb_option options[] = {
	{ "ledger", 0, "FILE", "the ledger; a controller may be using it", NULL },
	{ "before", 0, "YYYY-MM", "archive the months before this one", NULL },
	{ "to", 0, "DIR", "where the files are written", NULL },
	{ "dry-run", 0, NULL, "only count the jobs of each month", NULL },
	{ "verify", 0, "DIR", "compare the files there with what the ledger recorded", NULL },
	{ 0 },
};

struct archiving {
	const struct cli *c;
	int64_t begun_ns;
	bool has_progress, is_dry_run;
	json_t *list; /* for programs; NULL: print each month at once */
};

/* Before a line on standard output: the terminal may show both. */
static void clear_progress(struct archiving *to)
{
	if (to->has_progress)
		fputs("\r\033[K", stderr);
	to->has_progress = false;
}

static void show_progress(void *ctx, const struct store_archive_month *m)
{
	struct archiving *to = ctx;
	char month[CALENDAR_DAY_MAX];

	if (!to->c->shows_progress || clock_ns(CLOCK_MONOTONIC) - to->begun_ns < PATIENCE_NS)
		return;
	fprintf(stderr, "\r%s: %" PRId64 " jobs", calendar_format_month(m->month, month),
		m->jobs);
	to->has_progress = true;
}

/* A month that is complete: one line for people, or an element of the document. */
static int print_month(void *ctx, const struct store_archive_month *m, struct err *err)
{
	struct archiving *to = ctx;
	char month[CALENDAR_DAY_MAX];

	calendar_format_month(m->month, month);
	clear_progress(to);
	if (to->list)
		return json_array_append_new(to->list,
					     json_pack("{s:s,s:I,s:I,s:I}", "month", month,
						       "part", (json_int_t)m->part, "jobs",
						       (json_int_t)m->jobs, "bytes",
						       (json_int_t)m->bytes)) < 0
			       ? err_set(err, -ENOMEM, "out of memory")
			       : 0;
	fprintf(to->c->format.to, "%s: %" PRId64 " jobs", month, m->jobs);
	if (!to->is_dry_run)
		fprintf(to->c->format.to, ", %" PRId64 " bytes", m->bytes);
	if (m->part > 1)
		fprintf(to->c->format.to, ", part %" PRId64, m->part);
	fputc('\n', to->c->format.to);
	return 0;
}

static int print_archived(const struct archiving *to, const struct store_archived *n,
			  struct err *err)
{
	_cleanup_json_ json_t *doc = NULL;

	if (!to->list) {
		fprintf(to->c->format.to, "%" PRId64 " months, %" PRId64 " jobs%s\n", n->months,
			n->jobs, to->is_dry_run ? " to archive" : " archived");
		if (n->staying)
			fprintf(to->c->format.to,
				"%" PRId64 " more jobs stay until their output and events "
				"have been removed (KeepOutput, KeepEvents)\n",
				n->staying);
		return 0;
	}
	doc = json_pack("{s:s,s:I,s:I,s:I,s:O}", "schema", WIRE_SCHEMA, "jobs",
			(json_int_t)n->jobs, "bytes", (json_int_t)n->bytes, "staying",
			(json_int_t)n->staying, "months", to->list);
	return doc ? cli_print_document(to->c, doc, err)
		   : err_set(err, -ENOMEM, "out of memory");
}

/* "2024-03" */
static int parse_month(const char *text, int64_t *ret, struct err *err)
{
	char day[CALENDAR_DAY_MAX];
	int64_t first;

	if (strlen(text) == strlen("2024-03")) {
		snprintf(day, sizeof(day), "%.7s-01", text);
		if (calendar_parse_day(day, &first) >= 0) {
			*ret = calendar_month(first);
			return 0;
		}
	}
	return err_set(err, -EINVAL, "'%.40s' is not a month; write 2024-03", text);
}

/* The ledger records the directory: an absolute path. *ret is malloc()ed. */
static int make_absolute(const char *dir, char **ret, struct err *err)
{
	_cleanup_free_ char *here = NULL;

	if (*dir == '/') {
		*ret = strdup(dir);
	} else {
		here = realpath(".", NULL);
		if (!here || asprintf(ret, "%s/%s", here, dir) < 0)
			*ret = NULL;
	}
	return *ret ? 0 : err_set(err, -ENOMEM, "out of memory");
}

static int archive_months(struct archiving *to, struct store *s, const struct verb_call *call,
			  struct err *err)
{
	_cleanup_free_ char *dir = NULL;
	const char *before = verb_value(call, "before"), *to_dir = verb_value(call, "to");
	struct store_archive how = { .is_dry_run = to->is_dry_run,
				     .now_ns = clock_ns(CLOCK_REALTIME),
				     .on_month = print_month,
				     .on_progress = show_progress,
				     .ctx = to };
	struct store_archived n;
	int r = 0;

	if (!before || (!to_dir && !to->is_dry_run))
		r = err_set(err, -EINVAL,
			    "give --before YYYY-MM and --to DIR, or --verify DIR");
	if (r >= 0)
		r = parse_month(before, &how.before, err);
	if (r >= 0 && to_dir)
		r = make_absolute(to_dir, &dir, err);
	how.dir = dir;
	if (r >= 0)
		r = store_archive(s, &how, &n, err);
	clear_progress(to);
	return r < 0 ? r : print_archived(to, &n, err);
}

/* ---- --verify ---- */

static int print_line(void *ctx, const char *line, struct err *err)
{
	struct archiving *to = ctx;

	if (to->list)
		return json_array_append_new(to->list, json_string(line)) < 0
			       ? err_set(err, -ENOMEM, "out of memory")
			       : 0;
	cli_put(to->c->format.to, line);
	fputc('\n', to->c->format.to);
	return 0;
}

/* Each difference is printed when it is found; the exit status is 1 when there is one. */
static int verify_files(struct archiving *to, struct cli *c, struct store *s, const char *dir,
			struct err *err)
{
	_cleanup_json_ json_t *doc = NULL;
	struct store_archive_checked n;
	const struct store_archive_check how = { .dir = dir, .fn = print_line, .ctx = to };
	int r = store_archive_check(s, &how, &n, err);

	if (r < 0)
		return r;
	if (n.differences)
		c->exit_code = CLI_FAILED;
	if (!to->list) {
		fprintf(c->format.to,
			"%" PRId64 " months, %" PRId64 " files: %" PRId64 " differences\n",
			n.months, n.files, n.differences);
		return 0;
	}
	doc = json_pack("{s:s,s:I,s:I,s:O}", "schema", WIRE_SCHEMA, "months",
			(json_int_t)n.months, "files", (json_int_t)n.files, "differences",
			to->list);
	return doc ? cli_print_document(c, doc, err) : err_set(err, -ENOMEM, "out of memory");
}

static int run_archive(const struct verb_call *call, void *ctx, struct err *err)
{
	_cleanup_(store_closep) struct store *s = NULL;
	_cleanup_json_ json_t *list = NULL;
	struct archiving to = { .c = ctx,
				.begun_ns = clock_ns(CLOCK_MONOTONIC),
				.is_dry_run = verb_count(call, "dry-run") > 0 };
	const char *verify = verb_value(call, "verify"), *ledger = verb_value(call, "ledger");
	const char *beside = verify ? verify : verb_value(call, "to");
	struct cli *c = ctx;
	int r = cli_begin_offline(c, call, err);

	if (r >= 0 && c->format.output != TABLE_TABLE) {
		list = to.list = json_array();
		r = list ? 0 : err_set(err, -ENOMEM, "out of memory");
	}
	if (r >= 0 && ledger && beside)
		r = ledger_file_own(ledger, beside, err);
	if (r >= 0)
		r = ledger_file_open(ledger, LEDGER_FILE_THERE, &s, err);
	if (r < 0)
		return r;
	return verify ? verify_files(&to, c, s, verify, err)
		      : archive_months(&to, s, call, err);
}

const struct verb admin_verb_archive = {
	.name = "archive",
	.args = "",
	.help = "Move the jobs of whole months from a ledger to files",
	.details =
		"Writes jobs, attempts, parts, usage by day and run intervals of jobs that ended\n"
		"in each month as CSV (jobs-2024-03.csv, ...), and deletes them from the ledger\n"
		"batch by batch, each after its lines are on disk. Usage, shares, quotas,\n"
		"'reeve admin verify' and 'reeve admin reconcile' answer as before. Jobs whose\n"
		"output or events are still kept, jobs of Slurm of the last week and imported\n"
		"jobs stay. An interrupted run continues when it is called again with the same\n"
		"directory.\n"
		"--verify compares size, SHA-256 and sums of the files with what was recorded.",
	.examples = "reeve admin archive --ledger postgresql://reeve@dbhost/reeve --before "
		    "2024-01 --dry-run\n"
		    "reeve admin archive --ledger /var/lib/reeve-controller/ledger.db --before "
		    "2024-01 --to /srv/archive\n"
		    "reeve admin archive --ledger /var/lib/reeve-controller/ledger.db --verify "
		    "/srv/archive",
	.options = options,
	.run = run_archive,
};
