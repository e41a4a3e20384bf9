/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reprice.c - `reeve admin reprice`: charges the imported jobs of a ledger by another profile. */
#include <errno.h>
#include <inttypes.h>
#include "cli/admin/admin.h"
#include "cli/import/file.h"
#include "cli/offline/ledger_file.h"
#include "common/err.h"
#include "common/wire/wire.h"
#include "controller/config/profile.h"
#include "controller/ledger/import/import.h"
#include "controller/pricing/history_price.h"

static const struct verb_option options[] = {
	{ "ledger", 0, "FILE", "the ledger; no controller may be using it", NULL },
	{ "profile", 0, "NAME|FILE", "the tariff to charge by", NULL },
	{ 0 },
};

/* 1: the job has no price by this profile, and keeps the one that it has. */
static int price_job(void *ctx, const struct history_job *j, struct store_import_job *ret,
		     struct err *err)
{
	struct history_price p;
	struct err why;

	(void)err;
	if (history_price(ctx, j, &p, &why) < 0)
		return 1;
	ret->pool = p.pool;
	ret->terms = p.terms;
	return 0;
}

static int print_repriced(const struct cli *c, const struct store_repriced *n,
			  const char *profile, struct err *err)
{
	_cleanup_json_ json_t *doc = NULL;

	if (c->format.output == TABLE_TABLE) {
		fprintf(c->format.to,
			"%" PRId64 " imported jobs, %" PRId64 " with another price by %s",
			n->jobs, n->changed, profile);
		if (n->no_price)
			fprintf(c->format.to,
				"; %" PRId64 " have no price by it and keep theirs",
				n->no_price);
		fputc('\n', c->format.to);
		return 0;
	}
	doc = json_pack("{s:s,s:s,s:I,s:I,s:I}", "schema", WIRE_SCHEMA, "profile", profile,
			"jobs", (json_int_t)n->jobs, "changed", (json_int_t)n->changed,
			"no_price", (json_int_t)n->no_price);
	return doc ? cli_print_document(c, doc, err) : err_set(err, -ENOMEM, "out of memory");
}

static int run_reprice(const struct verb_call *call, void *ctx, struct err *err)
{
	_cleanup_(store_closep) struct store *s = NULL;
	_cleanup_(config_freep) struct config *config = NULL;
	_cleanup_free_ char *path = NULL;
	const char *profile = verb_value(call, "profile");
	char name[IMPORT_PROFILE_MAX];
	struct store_repriced n = { 0 };
	struct cli *c = ctx;
	int r = cli_begin_offline(c, call, err);

	if (r >= 0 && !profile)
		r = err_set(err, -EINVAL, "no tariff; give --profile NAME");
	if (r >= 0)
		r = profile_find(profile, &path, err);
	if (r >= 0)
		r = import_profile_name(path, name, err);
	if (r >= 0)
		r = config_load(path, &config, err);
	if (r >= 0)
		r = ledger_file_open(verb_value(call, "ledger"), LEDGER_FILE_THERE, &s, err);
	if (r >= 0)
		r = store_reprice(s, &(struct store_reprice){ price_job, config, name }, &n,
				  err);
	return r < 0 ? r : print_repriced(c, &n, profile, err);
}

const struct verb admin_verb_reprice = {
	.name = "reprice",
	.args = "",
	.help = "Charge the imported jobs of a ledger by another profile",
	.details =
		"Each imported job is priced again by the cores, memory, GPUs, partition and\n"
		"nodes of its history, and all sums are rebuilt, in one transaction. Jobs that\n"
		"ran under Reeve keep the price of their submission.",
	.examples = "reeve admin reprice --ledger history.db --profile nci",
	.options = options,
	.run = run_reprice,
};
