/* SPDX-License-Identifier: GPL-2.0-or-later */
/* verify.c - `reeve admin verify` compares the sums of a ledger with its jobs; `reeve admin
 * rebuild` recomputes them. */
#include <errno.h>
#include <inttypes.h>
#include "cli/admin/admin.h"
#include "cli/offline/ledger_file.h"
#include "common/err.h"
#include "common/wire/doc.h"
#include "controller/ledger/calendar.h"
#include "controller/ledger/verify/verify.h"

static const struct verb_option options[] = {
	{ "ledger", 0, "FILE", "the ledger, or a copy of it", NULL },
	{ 0 },
};
static const struct verb_option rebuild_options[] = {
	{ "ledger", 0, "FILE", "the ledger; no controller may be using it", NULL },
	{ "time-zone", 0, "ZONE", "count its days by this time zone from now on", NULL },
	{ 0 },
};

struct difference_report {
	const struct cli *c;
	json_t *list; /* for programs; NULL: print each difference at once */
};

static const char *format_when(const struct store_difference *d,
			       char buf[static CALENDAR_DAY_MAX])
{
	return d->is_month || d->is_period ? calendar_format_month(calendar_month(d->day), buf)
					   : calendar_format_day(d->day, buf);
}

/* A figure of one job, or of a day or month of an association. */
static void print_difference(FILE *to, const struct store_difference *d, const char *when)
{
	if (d->job)
		fprintf(to, "job %" PRId64 " of %s, %s, %s", d->job, d->cluster, d->account,
			d->user);
	else
		fprintf(to, "%s, %s, %s, pool %s, %s%s", d->cluster, d->account, d->user,
			d->pool, d->is_period ? "period from " : "", when);
	fprintf(to, ": %s is %" PRId64 " in the ledger, %" PRId64 " by the jobs\n", d->figure,
		d->stored, d->recomputed);
}

static json_t *encode_difference(const struct store_difference *n, const char *when)
{
	_cleanup_doc_ struct doc d = doc_object();

	doc_text(&d, "cluster", n->cluster);
	doc_text(&d, "account", n->account);
	doc_text(&d, "user", n->user);
	doc_text(&d, "figure", n->figure);
	doc_int(&d, "stored", n->stored);
	doc_int(&d, "recomputed", n->recomputed);
	if (n->job) {
		doc_int(&d, "job", n->job);
	} else {
		doc_text(&d, "pool", n->pool);
		doc_text(&d, n->is_period ? "period" : n->is_month ? "month" : "day", when);
	}
	return doc_take(&d);
}

static int report_difference(void *ctx, const struct store_difference *d, struct err *err)
{
	struct difference_report *to = ctx;
	char when[CALENDAR_DAY_MAX];

	format_when(d, when);
	if (!to->list)
		print_difference(to->c->format.to, d, when);
	else if (json_array_append_new(to->list, encode_difference(d, when)) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

static int print_summary(const struct difference_report *to, const struct store_verified *n,
			 struct err *err)
{
	_cleanup_json_ json_t *doc = NULL;

	if (!to->list) {
		fprintf(to->c->format.to,
			"%" PRId64 " imported jobs, %" PRId64 " attempts, %" PRId64
			" adjustments, %" PRId64 " sums of days: %" PRId64 " differences\n",
			n->jobs, n->attempts, n->adjustments, n->rollups, n->differences);
		return 0;
	}
	doc = json_pack("{s:s,s:I,s:I,s:I,s:I,s:I,s:O}", "schema", WIRE_SCHEMA, "jobs",
			(json_int_t)n->jobs, "attempts", (json_int_t)n->attempts, "adjustments",
			(json_int_t)n->adjustments, "rollups", (json_int_t)n->rollups,
			"difference_count", (json_int_t)n->differences, "differences",
			to->list);
	if (!doc)
		return err_set(err, -ENOMEM, "out of memory");
	return cli_print_document(to->c, doc, err);
}

/* Programs get all differences in one document at the end, people each one at once. */
static int open_report(struct difference_report *to, const char *path, struct store **ret,
		       struct err *err)
{
	int r = ledger_file_open(path, LEDGER_FILE_THERE, ret, err);

	if (r < 0 || to->c->format.output == TABLE_TABLE)
		return r;
	to->list = json_array();
	return to->list ? 0 : err_set(err, -ENOMEM, "out of memory");
}

static void difference_report_done(struct difference_report *to)
{
	json_decref(to->list);
}

static int run_verify(const struct verb_call *call, void *ctx, struct err *err)
{
	_cleanup_(store_closep) struct store *s = NULL;
	_cleanup_(difference_report_done) struct difference_report to = { .c = ctx };
	struct store_verified n;
	struct cli *c = ctx;
	int r = cli_begin_offline(c, call, err);

	if (r >= 0)
		r = open_report(&to, verb_value(call, "ledger"), &s, err);
	if (r >= 0)
		r = store_verify(s, report_difference, &to, &n, err);
	if (r >= 0)
		r = print_summary(&to, &n, err);
	if (r >= 0 && n.differences)
		c->exit_code = CLI_FAILED;
	return r;
}

/* Rebuilds the sums. A difference within a job stays, since no other figure says which one is right, and is listed. */
static int run_rebuild(const struct verb_call *call, void *ctx, struct err *err)
{
	_cleanup_(store_closep) struct store *s = NULL;
	_cleanup_(difference_report_done) struct difference_report to = { .c = ctx };
	const struct store_rebuild how = { .zone = verb_value(call, "time-zone"),
					   .fn = report_difference,
					   .ctx = &to };
	struct store_verified n;
	struct cli *c = ctx;
	int r = cli_begin_offline(c, call, err);

	if (r >= 0)
		r = open_report(&to, verb_value(call, "ledger"), &s, err);
	if (r >= 0)
		r = store_rebuild(s, &how, &n, err);
	if (r >= 0)
		r = print_summary(&to, &n, err);
	if (r >= 0 && n.differences)
		c->exit_code = CLI_FAILED;
	return r;
}

const struct verb admin_verb_verify = {
	.name = "verify",
	.args = "",
	.help = "Recompute the sums of a ledger from its jobs and compare them",
	.details = "Lists every figure that differs; exit status 1 when one does. Changes\n"
		   "nothing. On a ledger in use it delays reports while it runs: take a copy.",
	.examples = "reeve admin verify --ledger /var/backups/ledger.db",
	.options = options,
	.run = run_verify,
};

const struct verb admin_verb_rebuild = {
	.name = "rebuild",
	.args = "",
	.help = "Rebuild the sums of a ledger from its jobs",
	.details =
		"Use it after 'verify' listed differences, or to count days by another time\n"
		"zone. The latter is for ledgers of imported jobs: reports of jobs that ran\n"
		"here were split into days when they arrived. Jobs and adjustments are not\n"
		"changed; differences within a job are listed, and the exit status is 1.",
	.examples = "reeve admin rebuild --ledger copy.db\n"
		    "reeve admin rebuild --ledger history.db --time-zone America/Toronto",
	.options = rebuild_options,
	.run = run_rebuild,
};
