/* SPDX-License-Identifier: GPL-2.0-or-later */
/* adjust.c - `reeve admin adjust` refunds or recharges hours by an entry in the ledger;
 * `reeve admin adjustments` lists these entries. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>
#include "cli/admin/admin.h"
#include "cli/admin/author.h"
#include "cli/offline/ledger_file.h"
#include "common/clock.h"
#include "common/err.h"
#include "common/wire/doc.h"
#include "controller/ledger/calendar.h"
#include "controller/ledger/usage/adjust.h"

#define DECIMALS_MAX 9

static const struct table_column columns[] = {
	{ "id", "ENTRY", CELL_COUNT },	     { "at_ns", "MADE", CELL_TIME_NS },
	{ "day", "DAY", CELL_TEXT },	     { "author", "BY", CELL_TEXT },
	{ "cluster", "CLUSTER", CELL_TEXT }, { "account", "ACCOUNT", CELL_TEXT },
	{ "user", "USER", CELL_TEXT },	     { "pool", "POOL", CELL_TEXT },
	{ "job", "JOB", CELL_COUNT },	     { "charge_ms", "CHARGE", CELL_CHARGE_MS },
	{ "reason", "REASON", CELL_TEXT },   { 0 },
};

static int add_row(void *ctx, const struct store_adjustment *a, struct err *err)
{
	char day[CALENDAR_DAY_MAX];
	struct table *t = ctx;

	(void)err; /* table_print() reports memory that ran out */
	table_row(t);
	table_int(t, "id", a->id);
	table_int(t, "at_ns", a->at_ns);
	table_text(t, "day", calendar_format_day(a->day, day));
	table_text(t, "author", a->author);
	table_text(t, "cluster", a->cluster);
	table_text(t, "account", a->account);
	table_text(t, "user", a->user);
	table_text(t, "pool", charge_pool_name(a->pool));
	if (a->job)
		table_int(t, "job", a->job);
	table_int(t, "charge_ms", a->charge_ms);
	table_text(t, "reason", a->reason);
	return 0;
}

/* ---- options ---- */

/* Parses equivalent hours, as tables show charges, into milli-equivalent-seconds. -EINVAL where
 * that would round. */
static int parse_charge(const char *text, int64_t *ret_ms, struct err *err)
{
	const char *p = text + (*text == '-' || *text == '+');
	int64_t hours = 0, part = 0, scale = 1, ms;
	int digits = 0, decimals = 0;

	for (; *p >= '0' && *p <= '9' && digits < 12; p++, digits++)
		hours = hours * 10 + (*p - '0');
	for (p += *p == '.'; *p >= '0' && *p <= '9' && decimals < DECIMALS_MAX;
	     p++, decimals++) {
		part = part * 10 + (*p - '0');
		scale *= 10;
	}
	if (*p || (!digits && !decimals) || p[-1] == '.')
		return err_set(err, -EINVAL,
			       "--charge '%.40s' is not an amount in hours; write -12.5", text);
	if (part * HOUR_MS % scale)
		return err_set(err, -EINVAL,
			       "--charge %.40s is finer than a thousandth of an "
			       "equivalent-second, which is what a ledger holds",
			       text);
	if (__builtin_mul_overflow(hours, HOUR_MS, &ms))
		return err_set(err, -EINVAL, "--charge %.40s is larger than a ledger can hold",
			       text);
	ms += part * HOUR_MS / scale;
	*ret_ms = *text == '-' ? -ms : ms;
	return 0;
}

static int parse_pool(const char *word, enum charge_pool *ret, struct err *err)
{
	*ret = CHARGE_POOL_CPU;
	if (!word || !strcmp(word, "cpu"))
		return 0;
	*ret = CHARGE_POOL_GPU;
	return !strcmp(word, "gpu")
		       ? 0
		       : err_set(err, -EINVAL, "--pool %.32s: write cpu or gpu", word);
}

/* STORE_DAY_OF_ENTRY: today, by the time zone of the ledger. */
static int parse_when(const char *text, int64_t *ret, struct err *err)
{
	*ret = STORE_DAY_OF_ENTRY;
	if (!text || calendar_parse_day(text, ret) >= 0)
		return 0;
	return err_set(err, -EINVAL, "--day '%.32s' is not a day; write 2026-11-01", text);
}

static int read_entry(const struct verb_call *call, struct store_adjustment *ret,
		      struct err *err)
{
	const char *charge = verb_value(call, "charge"), *job = verb_value(call, "job");
	int r = 0;

	*ret = (struct store_adjustment){ .reason = verb_value(call, "reason"),
					  .cluster = verb_value(call, "cluster"),
					  .account = verb_value(call, "account"),
					  .user = verb_value(call, "user") };
	if (!charge)
		return err_set(err, -EINVAL,
			       "no amount; give --charge HOURS (-12.5 refunds 12.5)");
	if (!ret->reason || !*ret->reason)
		return err_set(err, -EINVAL, "no reason; give --reason \"...\"");
	r = parse_charge(charge, &ret->charge_ms, err);
	if (r >= 0)
		r = parse_pool(verb_value(call, "pool"), &ret->pool, err);
	if (r >= 0)
		r = parse_when(verb_value(call, "day"), &ret->day, err);
	if (r >= 0 && job)
		r = cli_parse_job(job, &ret->job, err);
	return r;
}

/* ---- adjust, in a ledger file or through the controller ---- */

static int adjust_file(const char *path, struct store_adjustment *a, struct table *t,
		       struct err *err)
{
	_cleanup_(store_closep) struct store *s = NULL;
	char author[AUTHOR_MAX];
	int r;

	a->author = author_name(author); /* before root becomes the ledger's owner */
	r = ledger_file_open(path, LEDGER_FILE_THERE, &s, err);
	if (r < 0)
		return r;
	a->at_ns = clock_ns(CLOCK_REALTIME);
	return store_adjust(s, a, add_row, t, err);
}

static int request_adjustments(struct cli *c, struct http_call what, struct table *t,
			       struct err *err)
{
	_cleanup_json_ json_t *answer = NULL;
	const json_t *row;
	size_t i;
	int r = cli_ask(c, what, &answer, err);

	if (r < 0)
		return r;
	json_array_foreach(json_object_get(answer, "adjustments"), i, row)
		cli_add_row(t, columns, row);
	return 0;
}

static int adjust_live(struct cli *c, const struct store_adjustment *a, struct table *t,
		       struct err *err)
{
	_cleanup_doc_ struct doc d = doc_message();
	_cleanup_json_ json_t *body = NULL;
	char day[CALENDAR_DAY_MAX];
	int r;

	doc_text_if(&d, "cluster", a->cluster);
	doc_text_if(&d, "account", a->account);
	doc_text_if(&d, "user", a->user);
	doc_text_if(&d, "reason", a->reason);
	doc_text(&d, "pool", charge_pool_name(a->pool));
	if (a->day != STORE_DAY_OF_ENTRY)
		doc_text(&d, "day", calendar_format_day(a->day, day));
	doc_int(&d, "charge_ms", a->charge_ms);
	doc_int(&d, "job", a->job);
	r = doc_finish(&d, &body, err);
	if (r < 0)
		return r;
	return request_adjustments(
		c,
		(struct http_call){ .method = "POST", .path = "/v1/adjustments", .body = body },
		t, err);
}

static int run_adjust(const struct verb_call *call, void *ctx, struct err *err)
{
	_cleanup_(table_freep) struct table *t = NULL;
	const char *ledger = verb_value(call, "ledger");
	struct store_adjustment a;
	struct cli *c = ctx;
	int r = ledger ? cli_begin_offline(c, call, err) : cli_begin(c, call, err);

	if (r >= 0)
		r = table_new("adjustments", columns, &t, err);
	if (r >= 0)
		r = read_entry(call, &a, err);
	if (r >= 0)
		r = ledger ? adjust_file(ledger, &a, t, err) : adjust_live(c, &a, t, err);
	return r < 0 ? r : table_print(t, &c->format, err);
}

/* ---- the list ---- */

static int list_file(const char *path, const struct store_adjustments *which, struct table *t,
		     struct err *err)
{
	_cleanup_(store_closep) struct store *s = NULL;
	int r = ledger_file_open(path, LEDGER_FILE_THERE, &s, err);

	return r < 0 ? r : store_adjustments(s, which, add_row, t, err);
}

static int list_live(struct cli *c, const struct verb_call *call, struct table *t,
		     struct err *err)
{
	static const char *const keys[] = { "cluster", "account", "user", "job" };
	_cleanup_free_ char *path = strdup("/v1/adjustments");
	int r = path ? 0 : err_set(err, -ENOMEM, "out of memory");

	for (size_t i = 0; i < ARRAY_LEN(keys) && r >= 0; i++)
		r = cli_query(&path, keys[i], verb_value(call, keys[i]), err);
	if (r < 0)
		return r;
	return request_adjustments(c, (struct http_call){ .method = "GET", .path = path }, t,
				   err);
}

static int run_list(const struct verb_call *call, void *ctx, struct err *err)
{
	_cleanup_(table_freep) struct table *t = NULL;
	const char *ledger = verb_value(call, "ledger"), *job = verb_value(call, "job");
	struct store_adjustments which = { .cluster = verb_value(call, "cluster"),
					   .account = verb_value(call, "account"),
					   .user = verb_value(call, "user") };
	struct cli *c = ctx;
	int r = ledger ? cli_begin_offline(c, call, err) : cli_begin(c, call, err);

	if (r >= 0)
		r = table_new("adjustments", columns, &t, err);
	if (r >= 0 && job)
		r = cli_parse_job(job, &which.job, err);
	if (r >= 0)
		r = ledger ? list_file(ledger, &which, t, err) : list_live(c, call, t, err);
	return r < 0 ? r : table_print(t, &c->format, err);
}

#define FILTER_OPTIONS                                                                         \
	{ "account", 'A', "NAME", "the account", NULL },                                       \
		{ "user", 'u', "NAME", "the user", NULL },                                     \
		{ "cluster", 0, "NAME", "the cluster", NULL },                                 \
		{ "job", 0, "N", "the job", NULL },                                            \
	{                                                                                      \
		"ledger", 0, "FILE", "use this ledger instead of asking the controller", NULL  \
	}

static const struct verb_option adjust_options[] = {
	FILTER_OPTIONS,
	{ "charge", 0, "HOURS",
	  "-12.5 refunds, 12.5 charges again: equivalent hours, SU or core-h, as the site "
	  "counts",
	  NULL },
	{ "reason", 0, "TEXT", "the reason; required", NULL },
	{ "pool", 0, "cpu|gpu", "the pool; default: that of the job, or cpu", "cpu gpu" },
	{ "day", 0, "DATE", "count it on this day; default: today", NULL },
	{ 0 },
};
static const struct verb_option list_options[] = { FILTER_OPTIONS, { 0 } };

const struct verb admin_verb_adjust = {
	.name = "adjust",
	.args = "",
	.help = "Refund or recharge hours by hand",
	.details =
		"Adds an entry with author and reason; what was charged is not changed, and\n"
		"usage shows both. A job cannot be refunded more than it was charged. With\n"
		"--job, account, user and pool are the job's; an imported job needs --cluster.\n"
		"Operators only.",
	.examples = "reeve admin adjust --job 12 --charge -12.5 --reason 'node n7 was broken'\n"
		    "reeve admin adjust -A physics -u alice --cluster main --charge 100 \\\n"
		    "    --day 2026-10-31 --reason 'wrong bundle in October'",
	.options = adjust_options,
	.run = run_adjust,
};

const struct verb admin_verb_adjustments = {
	.name = "adjustments",
	.args = "",
	.help = "List refunds and recharges",
	.examples = "reeve admin adjustments\nreeve admin adjustments --job 12\n"
		    "reeve admin adjustments --account physics --csv",
	.options = list_options,
	.run = run_list,
};
