/* SPDX-License-Identifier: GPL-2.0-or-later */
/* outage.c - `reeve admin outage`: declares outages, lists and removes them. */
#include <errno.h>
#include <string.h>
#include <time.h>
#include "cli/admin/admin.h"
#include "cli/admin/author.h"
#include "cli/offline/ledger_file.h"
#include "common/clock.h"
#include "common/err.h"
#include "common/model/amount.h"
#include "common/wire/doc.h"
#include "controller/ledger/usage/outages.h"

static const struct table_column columns[] = {
	{ "id", "OUTAGE", CELL_COUNT },	       { "from_ns", "FROM", CELL_TIME_NS },
	{ "to_ns", "TO", CELL_TIME_NS },       { "cluster", "CLUSTER", CELL_TEXT },
	{ "at_ns", "DECLARED", CELL_TIME_NS }, { "author", "BY", CELL_TEXT },
	{ "reason", "REASON", CELL_TEXT },     { 0 },
};

static int add_row(void *ctx, const struct store_outage *o, struct err *err)
{
	struct table *t = ctx;

	(void)err; /* table_print() reports memory that ran out */
	table_row(t);
	table_int(t, "id", o->id);
	table_int(t, "from_ns", o->from_ns);
	table_int(t, "to_ns", o->to_ns);
	table_text(t, "cluster", *o->cluster ? o->cluster : NULL);
	table_int(t, "at_ns", o->at_ns);
	table_text(t, "author", o->author);
	table_text(t, "reason", o->reason);
	return 0;
}

static int request_outages(struct cli *c, struct http_call what, struct table *t,
			   struct err *err)
{
	_cleanup_json_ json_t *answer = NULL;
	const json_t *row;
	size_t i;
	int r = cli_ask(c, what, &answer, err);

	if (r < 0)
		return r;
	json_array_foreach(json_object_get(answer, "outages"), i, row)
		cli_add_row(t, columns, row);
	return 0;
}

/* ---- in a ledger file, or through the controller ---- */

typedef int (*on_file_fn)(struct store *s, const struct verb_call *call, struct table *t,
			  struct err *err);
typedef int (*on_live_fn)(struct cli *c, const struct verb_call *call, struct table *t,
			  struct err *err);

static int run_either(const struct verb_call *call, struct cli *c, on_file_fn on_file,
		      on_live_fn on_live, struct err *err)
{
	_cleanup_(store_closep) struct store *s = NULL;
	_cleanup_(table_freep) struct table *t = NULL;
	const char *ledger = verb_value(call, "ledger");
	int r = ledger ? cli_begin_offline(c, call, err) : cli_begin(c, call, err);

	if (r < 0)
		return r;
	r = table_new("outages", columns, &t, err);
	if (r < 0)
		return r;
	if (ledger)
		r = ledger_file_open(ledger, LEDGER_FILE_THERE, &s, err);
	if (r < 0)
		return r;
	r = ledger ? on_file(s, call, t, err) : on_live(c, call, t, err);
	return r < 0 ? r : table_print(t, &c->format, err);
}

/* ---- add ---- */

static int check_options(const struct verb_call *call, struct err *err)
{
	static const char *const needed[] = { "from", "to", "reason" };

	for (size_t i = 0; i < ARRAY_LEN(needed); i++)
		if (!verb_value(call, needed[i]) || !*verb_value(call, needed[i]))
			return err_set(err, -EINVAL,
				       "no --%s; an outage needs --from, --to "
				       "and --reason",
				       needed[i]);
	return 0;
}

static int add_file(struct store *s, const struct verb_call *call, struct table *t,
		    struct err *err)
{
	char author[AUTHOR_MAX];
	struct store_outage o = { .at_ns = clock_ns(CLOCK_REALTIME),
				  .cluster = verb_value(call, "cluster"),
				  .reason = verb_value(call, "reason"),
				  .author = author_name(author) };
	int r = check_options(call, err);

	if (r < 0)
		return r;
	if (!o.cluster)
		o.cluster = "";
	r = store_outage_parse(s, verb_value(call, "from"), &o.from_ns, err);
	if (r < 0)
		return r;
	r = store_outage_parse(s, verb_value(call, "to"), &o.to_ns, err);
	if (r < 0)
		return r;
	r = store_outage_add(s, &o, &o.id, err);
	return r < 0 ? r : add_row(t, &o, err);
}

static int add_live(struct cli *c, const struct verb_call *call, struct table *t,
		    struct err *err)
{
	static const char *const keys[] = { "cluster", "from", "to", "reason" };
	_cleanup_doc_ struct doc d = doc_message();
	_cleanup_json_ json_t *body = NULL;
	int r = check_options(call, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		doc_text_if(&d, keys[i], verb_value(call, keys[i]));
	r = doc_finish(&d, &body, err);
	if (r < 0)
		return r;
	return request_outages(
		c, (struct http_call){ .method = "POST", .path = "/v1/outages", .body = body },
		t, err);
}

static int run_add(const struct verb_call *call, void *ctx, struct err *err)
{
	return run_either(call, ctx, add_file, add_live, err);
}

/* ---- list ---- */

static int list_file(struct store *s, const struct verb_call *call, struct table *t,
		     struct err *err)
{
	return store_outage_each(
		s, &(struct store_outages){ verb_value(call, "cluster"), INT64_MIN, INT64_MAX },
		add_row, t, err);
}

static int list_live(struct cli *c, const struct verb_call *call, struct table *t,
		     struct err *err)
{
	_cleanup_free_ char *path = strdup("/v1/outages");
	int r = path ? cli_query(&path, "cluster", verb_value(call, "cluster"), err)
		     : err_set(err, -ENOMEM, "out of memory");

	return r < 0 ? r
		     : request_outages(c, (struct http_call){ .method = "GET", .path = path },
				       t, err);
}

static int run_list(const struct verb_call *call, void *ctx, struct err *err)
{
	return run_either(call, ctx, list_file, list_live, err);
}

/* ---- remove ---- */

static int parse_id(const struct verb_call *call, int64_t *ret, struct err *err)
{
	if (amount_parse_count(call->args[0], ret, NULL) >= 0 && *ret > 0)
		return 0;
	return err_set(err, -EINVAL, "'%.32s' is not the number of an outage", call->args[0]);
}

static int remove_file(const struct verb_call *call, struct cli *c, struct err *err)
{
	_cleanup_(store_closep) struct store *s = NULL;
	int64_t id;
	int r = cli_begin_offline(c, call, err);

	if (r < 0)
		return r;
	r = parse_id(call, &id, err);
	if (r < 0)
		return r;
	r = ledger_file_open(verb_value(call, "ledger"), LEDGER_FILE_THERE, &s, err);
	return r < 0 ? r : store_outage_remove(s, id, err);
}

static int remove_live(const struct verb_call *call, struct cli *c, struct err *err)
{
	_cleanup_doc_ struct doc d = doc_message();
	_cleanup_json_ json_t *body = NULL, *answer = NULL;
	int64_t id;
	int r = cli_begin(c, call, err);

	if (r < 0)
		return r;
	r = parse_id(call, &id, err);
	if (r < 0)
		return r;
	doc_int(&d, "id", id);
	r = doc_finish(&d, &body, err);
	if (r < 0)
		return r;
	return cli_ask(c,
		       (struct http_call){
			       .method = "POST", .path = "/v1/outages/remove", .body = body },
		       &answer, err);
}

static int run_remove(const struct verb_call *call, void *ctx, struct err *err)
{
	return verb_value(call, "ledger") ? remove_file(call, ctx, err)
					  : remove_live(call, ctx, err);
}

/* ---- the verbs ---- */

#define LEDGER_OPTION                                                                          \
	{                                                                                      \
		"ledger", 0, "FILE", "use this ledger instead of asking the controller", NULL  \
	}

static const struct verb_option add_options[] = {
	{ "from", 0, "TIME", "when it began or begins", NULL },
	{ "to", 0, "TIME", "when it was over", NULL },
	{ "cluster", 0, "NAME", "the cluster; default: all clusters", NULL },
	{ "reason", 0, "TEXT", "the reason; required", NULL },
	LEDGER_OPTION,
	{ 0 },
};
static const struct verb_option list_options[] = {
	{ "cluster", 0, "NAME", "of this cluster, and of all together", NULL },
	LEDGER_OPTION,
	{ 0 },
};
static const struct verb_option remove_options[] = { LEDGER_OPTION, { 0 } };

static const struct verb add_verb = {
	.name = "add",
	.args = "",
	.help = "Declare an outage, past or to come",
	.details =
		"A TIME is 2026-11-21, the beginning of that day, or 2026-11-21T08:00, in the\n"
		"time zone of the ledger. The part of an allocation that is due, and\n"
		"projections, leave the outage out. Allocations do not change, and nothing\n"
		"is refunded. Operators only.",
	.examples =
		"reeve admin outage add --cluster main --from 2026-11-21 --to 2026-11-28 \\\n"
		"    --reason 'new cooling'",
	.options = add_options,
	.run = run_add,
};
static const struct verb list_verb = {
	.name = "list",
	.args = "",
	.help = "List declared outages",
	.examples = "reeve admin outage list\nreeve admin outage list --cluster main --csv",
	.options = list_options,
	.run = run_list,
};
static const struct verb remove_verb = {
	.name = "remove",
	.args = "NUMBER",
	.help = "Remove a declared outage",
	.examples = "reeve admin outage remove 3",
	.options = remove_options,
	.min_args = 1,
	.max_args = 1,
	.run = run_remove,
};
static const struct verb *const verbs[] = { &add_verb, &list_verb, &remove_verb,
					    &cli_verb_outage_help, NULL };

static int run_outage(const struct verb_call *call, void *ctx, struct err *err)
{
	const struct verb_tool sub = {
		.name = "reeve admin outage",
		.help = "Declare outages, which due amounts leave out",
		.verbs = verbs,
	};

	return admin_dispatch(call, ctx, sub, err);
}

const struct verb admin_verb_outage = {
	.name = "outage",
	.args = "COMMAND ...",
	.help = "Declare outages, which due amounts leave out",
	.details = "'reeve admin outage help' lists the commands: add, list, remove.",
	.examples = "reeve admin outage add --from 2026-11-21 --to 2026-11-28 \\\n"
		    "    --reason 'new cooling'\n"
		    "reeve admin outage list",
	.min_args = 1,
	.max_args = -1,
	.stop_at_args = true,
	.run = run_outage,
};
