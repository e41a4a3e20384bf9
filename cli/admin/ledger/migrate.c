/* SPDX-License-Identifier: GPL-2.0-or-later */
/* migrate.c - `reeve admin migrate`: moves a ledger from a file to PostgreSQL and compares every row. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>
#include "cli/admin/admin.h"
#include "cli/offline/ledger_file.h"
#include "common/clock.h"
#include "common/err.h"
#include "common/wire/wire.h"
#include "controller/ledger/migrate/migrate.h"

#define PATIENCE_NS (2 * S_NS) /* a run that takes longer shows its progress */
#define NAMED_MAX 20	       /* differences that are listed one by one */

static const struct verb_option options[] = {
	{ "from", 0, "FILE", "the ledger to move; no controller may be using it", NULL },
	{ "to", 0, "PLACE", "the new one: postgresql://USER@HOST/DATABASE, empty", NULL },
	{ "restart", 0, NULL, "remove what an unfinished migration has copied, and begin again",
	  NULL },
	{ 0 },
};

struct migration {
	const struct cli *c;
	int64_t begun_ns;
	bool has_progress;
	int named;
};

static void show_progress(void *ctx, const struct store_migrate_progress *p)
{
	static const char *const words[] = { [STORE_MIGRATE_COPY] = "copied",
					     [STORE_MIGRATE_INDICES] = "making indices",
					     [STORE_MIGRATE_COMPARE] = "compared" };
	struct migration *to = ctx;

	if (!to->c->shows_progress || clock_ns(CLOCK_MONOTONIC) - to->begun_ns < PATIENCE_NS)
		return;
	fprintf(stderr, "\r\033[K%s", words[p->stage]);
	if (p->stage != STORE_MIGRATE_INDICES)
		fprintf(stderr, " %" PRId64 " rows: %s", p->rows, p->table);
	to->has_progress = true;
}

static void clear_progress(const struct migration *to)
{
	if (to->has_progress)
		fputs("\r\033[K", stderr);
}

/* On standard error: standard output has the summary alone, for programs too. The values are texts of the
 * ledger, so cli_put() prints them without control characters. */
static int print_difference(void *ctx, const struct store_migrate_difference *d,
			    struct err *err)
{
	struct migration *to = ctx;

	(void)err;
	if (to->named++ >= NAMED_MAX)
		return 0;
	clear_progress(to);
	fprintf(stderr, "table %s, row ", d->table);
	cli_put(stderr, d->key);
	if (!d->column) {
		fprintf(stderr, ": only in the %s\n", d->source ? "source" : "target");
		return 0;
	}
	fprintf(stderr, ": %s is ", d->column);
	cli_put(stderr, d->source);
	fputs(" in the source, ", stderr);
	cli_put(stderr, d->target);
	fputs(" in the target\n", stderr);
	return 0;
}

/* rows copied are those of this run, rows compared are all. */
static int print_migrated(const struct cli *c, const struct store_migrated *n, struct err *err)
{
	_cleanup_json_ json_t *doc = NULL;

	if (c->format.output == TABLE_TABLE) {
		fprintf(c->format.to,
			"%" PRId64 " tables: %" PRId64 " rows copied%s, %" PRId64
			" rows compared, %" PRId64 " differences\n",
			n->tables, n->copied, n->has_continued ? " by this run" : "",
			n->compared, n->differences);
		return 0;
	}
	doc = json_pack("{s:s,s:I,s:I,s:I,s:I,s:I,s:b}", "schema", WIRE_SCHEMA, "tables",
			(json_int_t)n->tables, "copied", (json_int_t)n->copied, "bytes",
			(json_int_t)n->bytes, "compared", (json_int_t)n->compared,
			"differences", (json_int_t)n->differences, "continued",
			(int)n->has_continued);
	return doc ? cli_print_document(c, doc, err) : err_set(err, -ENOMEM, "out of memory");
}

static int run_migrate(const struct verb_call *call, void *ctx, struct err *err)
{
	struct migration to = { .c = ctx, .begun_ns = clock_ns(CLOCK_MONOTONIC) };
	const struct store_migration how = { .from = verb_value(call, "from"),
					     .to = verb_value(call, "to"),
					     .is_restart = verb_count(call, "restart") > 0,
					     .on_progress = show_progress,
					     .on_difference = print_difference,
					     .ctx = &to };
	struct store_migrated n = { 0 };
	struct cli *c = ctx;
	int r = cli_begin_offline(c, call, err);

	if (r >= 0 && (!how.from || !how.to))
		r = err_set(err, -EINVAL, "give --from FILE and --to postgresql://...");
	if (r >= 0)
		r = ledger_file_own(how.from, NULL, err);
	if (r < 0)
		return r;
	r = store_migrate(&how, &n, err);
	clear_progress(&to);
	if (r >= 0)
		r = print_migrated(c, &n, err);
	if (r >= 0 && n.differences)
		c->exit_code = CLI_FAILED;
	return r;
}

const struct verb admin_verb_migrate = {
	.name = "migrate",
	.args = "",
	.help = "Move a ledger from SQLite to PostgreSQL",
	.details =
		"Copies every table in transactions of a few megabytes, then reads every row\n"
		"from both and compares them: each row that differs is named, and the exit\n"
		"status is 1. An interrupted migration continues when it is called again;\n"
		"no controller opens the target before all rows were compared. The file is not\n"
		"changed: after success set Database in controller.conf to the new place.",
	.examples = "reeve admin migrate --from /var/lib/reeve-controller/ledger.db --to "
		    "postgresql://reeve@dbhost/reeve",
	.options = options,
	.run = run_migrate,
};
