/* SPDX-License-Identifier: GPL-2.0-or-later */
/* downgrade.c - `reeve admin downgrade`: a ledger for the controller of the release before. */
#include <errno.h>
#include "cli/admin/admin.h"
#include "cli/offline/ledger_file.h"
#include "common/err.h"
#include "common/wire/wire.h"
#include "controller/ledger/downgrade.h"

static const struct verb_option options[] = {
	{ "ledger", 0, "PLACE", "the ledger; no controller may be using it", NULL },
	{ 0 },
};

static int print_downgraded(const struct cli *c, const char *place,
			    const struct store_downgraded *d, struct err *err)
{
	_cleanup_json_ json_t *doc = NULL;

	if (c->format.output == TABLE_TABLE) {
		cli_put(c->format.to, place);
		fprintf(c->format.to,
			": schema version %d is now %d, for the controller of Reeve %s; a newer "
			"controller brings it forward again\n",
			d->from, d->to, STORE_RELEASE_BEFORE);
		return 0;
	}
	doc = json_pack("{s:s,s:s,s:i,s:i,s:s}", "schema", WIRE_SCHEMA, "ledger", place, "from",
			d->from, "to", d->to, "release", STORE_RELEASE_BEFORE);
	return doc ? cli_print_document(c, doc, err) : err_set(err, -ENOMEM, "out of memory");
}

static int run_downgrade(const struct verb_call *call, void *ctx, struct err *err)
{
	const char *place = verb_value(call, "ledger");
	struct store_downgraded d;
	struct cli *c = ctx;
	int r = cli_begin_offline(c, call, err);

	if (r >= 0 && !place)
		r = err_set(err, -EINVAL, "give --ledger PLACE");
	if (r >= 0)
		r = ledger_file_own(place, NULL, err);
	if (r >= 0)
		r = store_downgrade(place, &d, err);
	return r < 0 ? r : print_downgraded(c, place, &d, err);
}

const struct verb admin_verb_downgrade = {
	.name = "downgrade",
	.args = "",
	.help = "Take a ledger back to the tables of the release before",
	.details =
		"A controller refuses a ledger whose tables a newer one has changed. This undoes\n"
		"those changes in one transaction, by the newer program, before its packages are\n"
		"downgraded. Jobs, charges and sums stay.",
	.examples = "reeve admin downgrade --ledger /var/lib/reeve-controller/ledger.db",
	.options = options,
	.run = run_downgrade,
};
