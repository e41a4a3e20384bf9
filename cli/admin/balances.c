/* SPDX-License-Identifier: GPL-2.0-or-later */
/* balances.c - `reeve admin balances`: what each user's accounts have left, in the form that the dashboard of Open
 * OnDemand reads (version 1 of its balance files). */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "cli/admin/admin.h"
#include "common/err.h"
#include "common/replace_file.h"
#include "common/time_units.h"
#include "common/wire/doc.h"
#include "common/wire/json/load.h"

#define FORM_VERSION 1
#define ANSWERS_MAX 1000000 /* a controller that says "next" for ever */

struct balances {
	struct doc list;
	char unit[64];
};

/* Hours to three places. */
static double find_hours(int64_t ms)
{
	const int64_t thousandth = HOUR_MS / 1000,
		      half = ms < 0 ? -thousandth / 2 : thousandth / 2;

	return (double)((ms + half) / thousandth) / 1000;
}

/* One line for each user of the account. The dashboard shows the project's name alone, so an allocation of one
 * cluster has the cluster in it. */
static int add_account(struct balances *b, const json_t *row, struct err *err)
{
	const char *account = cli_text(row, "account"), *cluster = cli_text(row, "cluster");
	const char *unit = cli_text(row, "unit");
	const json_t *user;
	char project[160];
	size_t i;

	if (!account || !unit)
		return err_set(
			err, -EPROTO,
			"the controller's answer has a balance without an account or a unit");
	if (*b->unit && strcmp(b->unit, unit) != 0)
		return err_set(
			err, -EINVAL,
			"balances are in two units, '%.32s' and '%.32s', and one file has one unit; write a "
			"file for each cluster: --cluster NAME",
			b->unit, unit);
	snprintf(b->unit, sizeof(b->unit), "%s", unit);
	snprintf(project, sizeof(project), "%s%s%s", account, cluster ? "@" : "",
		 cluster ? cluster : "");
	json_array_foreach(json_object_get(row, "users"), i, user)
	{
		_cleanup_doc_ struct doc d = doc_object();

		doc_text(&d, "user", json_string_value(user));
		doc_text(&d, "project", project);
		doc_real(&d, "value", find_hours(cli_int(row, "available_ms", 0)));
		doc_add(&b->list, doc_take(&d));
	}
	return 0;
}

/* The controller reads a part of the accounts for each answer. */
static int read_part(struct cli *c, const struct verb_call *call, struct balances *b,
		     char **next, struct err *err)
{
	_cleanup_free_ char *path = strdup("/v1/balances");
	_cleanup_json_ json_t *answer = NULL;
	const json_t *row;
	size_t i;
	int r = path ? 0 : err_set(err, -ENOMEM, "out of memory");

	if (r >= 0)
		r = cli_query(&path, "pool", verb_value(call, "pool"), err);
	if (r >= 0)
		r = cli_query(&path, "cluster", verb_value(call, "cluster"), err);
	if (r >= 0)
		r = cli_query(&path, "after", *next, err);
	if (r >= 0)
		r = cli_get(c, path, &answer, err);
	json_array_foreach(r < 0 ? NULL : json_object_get(answer, "balances"), i,
			   row) if (r >= 0) r = add_account(b, row, err);
	free(*next);
	*next = NULL;
	if (r >= 0 && cli_text(answer, "next") && !(*next = strdup(cli_text(answer, "next"))))
		r = err_set(err, -ENOMEM, "out of memory");
	return r;
}

static int read_balances(struct cli *c, const struct verb_call *call, struct balances *b,
			 struct err *err)
{
	_cleanup_free_ char *next = NULL;
	int n = 0, r;

	do
		r = read_part(c, call, b, &next, err);
	while (r >= 0 && next && n++ < ANSWERS_MAX);
	return r;
}

/* Numbers of 15 digits, so that 12.3 is written as 12.3. */
static int format_form(struct balances *b, char **ret, struct err *err)
{
	_cleanup_doc_ struct doc d = doc_object(), config = doc_object();
	_cleanup_json_ json_t *form = NULL;
	int r;

	doc_text(&config, "unit", b->unit);
	doc_text(&config, "project_type", "account");
	doc_int(&d, "version", FORM_VERSION);
	doc_int(&d, "timestamp", (int64_t)time(NULL));
	doc_set(&d, "config", doc_take(&config));
	doc_set(&d, "balances", doc_take(&b->list));
	r = doc_finish(&d, &form, err);
	if (r < 0)
		return r;
	*ret = wire_print(form, JSON_INDENT(1) | JSON_REAL_PRECISION(15));
	return *ret ? 0 : err_set(err, -ENOMEM, "out of memory");
}

static int run_balances(const struct verb_call *call, void *ctx, struct err *err)
{
	const char *output = verb_value(call, "file");
	struct balances b = { .list = doc_array() };
	_cleanup_free_ char *text = NULL;
	struct cli *c = ctx;
	int r = cli_begin(c, call, err);

	if (r >= 0)
		r = read_balances(c, call, &b, err);
	if (r >= 0)
		r = format_form(&b, &text, err);
	doc_done(&b.list);
	if (r < 0)
		return r;
	if (!output)
		return puts(text) < 0 ? err_set(err, -errno, "write: %m") : 0;
	return replace_file(
		&(struct replace_file){
			.path = output, .text = text, .size = strlen(text), .is_synced = true },
		err);
}

static const struct verb_option options[] = {
	{ "file", 'f', "FILE", "replace this file, whole; default: print", NULL },
	{ "pool", 0, "cpu|gpu", "the pool; default: cpu", "cpu gpu" },
	{ "cluster", 0, "NAME", "only what counts on this cluster", NULL },
	{ 0 },
};

const struct verb admin_verb_balances = {
	.name = "balances",
	.args = "",
	.help = "Write what all users' accounts have left, for Open OnDemand",
	.details =
		"Writes what OOD_BALANCE_PATH of Open OnDemand's dashboard names: for each user\n"
		"and account what the allocation has left, in hours of the site's unit. A file\n"
		"has one unit, so GPUs are a file of their own. The file is replaced by rename\n"
		"and keeps its mode (new: 0644). Operators only.",
	.examples = "reeve admin balances --file /var/www/ood/balances.json\n"
		    "reeve admin balances --pool gpu --file /var/www/ood/gpus.json",
	.options = options,
	.run = run_balances,
};
