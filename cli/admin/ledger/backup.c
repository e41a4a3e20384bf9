/* SPDX-License-Identifier: GPL-2.0-or-later */
/* backup.c - `reeve admin backup` copies the ledger of a running controller; `reeve admin restore` makes a ledger of a copy. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>
#include "cli/admin/admin.h"
#include "cli/offline/ledger_file.h"
#include "common/clock.h"
#include "common/err.h"
#include "common/wire/wire.h"
#include "controller/ledger/backup/backup.h"

#define DEFAULT_LEDGER "/var/lib/reeve-controller/ledger.db"

static const struct verb_option options[] = {
	{ "ledger", 0, "FILE", "the ledger; default " DEFAULT_LEDGER, NULL },
	{ "keep", 0, "N", "of a directory: remove all but the N newest backups", NULL },
	{ "no-verify", 0, NULL, "do not open and compare a second copy", NULL },
	{ 0 },
};
static const struct verb_option restore_options[] = {
	{ "ledger", 0, "PLACE", "the new ledger: a file that does not exist", NULL },
	{ "first-job", 0, "N",
	  "the next job's number: above every one that was given after the backup", NULL },
	{ "no-verify", 0, NULL, "do not recompute the sums", NULL },
	{ "mark", 0, NULL, "restore nothing: the ledger at PLACE was restored by other means",
	  NULL },
	{ "taken", 0, "TIME",
	  "with --mark: the time to which it was restored, 2026-11-24T03:00:00Z", NULL },
	{ 0 },
};

static int parse_number(const struct verb_call *call, const char *option, int64_t *ret,
			struct err *err)
{
	const char *text = verb_value(call, option);

	*ret = 0;
	if (!text)
		return 0;
	return cli_parse_job(text, ret, NULL) < 0
		       ? err_set(err, -EINVAL, "--%s %.40s is not a number above 0", option,
				 text)
		       : 0;
}

static void show_pages(void *ctx, int64_t done, int64_t pages)
{
	const struct cli *c = ctx;

	if (c->shows_progress && pages > 0)
		fprintf(stderr, "\r\033[Kcopied %" PRId64 " %%%s", done * 100 / pages,
			done < pages ? "" : "\r\033[K");
}

static int print_backup(const struct cli *c, const struct store_backed_up *b, struct err *err)
{
	const struct store_manifest *m = &b->manifest;
	_cleanup_json_ json_t *doc = NULL;

	if (c->format.output == TABLE_TABLE) {
		fprintf(c->format.to,
			"%s: %" PRId64 " bytes, %" PRId64 " jobs, %" PRId64
			" imported, up to job %" PRId64 ", schema %" PRId64
			", copied in %.1f s%s\n",
			b->path, m->bytes, m->jobs, m->imported, m->last_job, m->schema,
			(double)b->copy_ns / S_NS, m->is_verified ? ", verified" : "");
		if (b->removed)
			fprintf(c->format.to, "%" PRId64 " older removed\n", b->removed);
		return 0;
	}
	doc = json_pack("{s:s,s:s,s:I,s:s,s:I,s:I,s:I,s:I,s:I,s:I,s:b,s:I,s:I}", "schema",
			WIRE_SCHEMA, "path", b->path, "bytes", (json_int_t)m->bytes, "sha256",
			m->sha256, "ledger_schema", (json_int_t)m->schema, "taken_ns",
			(json_int_t)m->taken_ns, "jobs", (json_int_t)m->jobs, "last_job",
			(json_int_t)m->last_job, "charge_requested_ms",
			(json_int_t)m->charge_requested_ms, "copy_ns", (json_int_t)b->copy_ns,
			"verified", (int)m->is_verified, "differences",
			(json_int_t)m->differences, "removed", (json_int_t)b->removed);
	return doc ? cli_print_document(c, doc, err) : err_set(err, -ENOMEM, "out of memory");
}

static int run_backup(const struct verb_call *call, void *ctx, struct err *err)
{
	struct cli *c = ctx;
	const char *ledger = verb_value(call, "ledger");
	struct store_backup how = { .from = ledger ? ledger : DEFAULT_LEDGER,
				    .to = call->args[0],
				    .now_ns = clock_ns(CLOCK_REALTIME),
				    .is_verified = verb_count(call, "no-verify") == 0,
				    .on_progress = show_pages,
				    .ctx = c };
	struct store_backed_up b;
	int r = cli_begin_offline(c, call, err);

	if (r >= 0)
		r = parse_number(call, "keep", &how.keep, err);
	if (r >= 0)
		r = ledger_file_own(how.from, how.to, err);
	if (r >= 0)
		r = store_backup(&how, &b, err);
	if (r >= 0)
		r = print_backup(c, &b, err);
	if (r < 0 || !b.manifest.differences)
		return r;
	fprintf(stderr,
		"reeve: %" PRId64
		" sums of this ledger differ from its jobs; no older backup was "
		"removed; see reeve admin verify --ledger %s\n",
		b.manifest.differences, b.path);
	c->exit_code = CLI_FAILED;
	return 0;
}

/* "2026-11-24T03:00:00Z" */
static int parse_taken(const struct verb_call *call, int64_t *ret_ns, struct err *err)
{
	const char *text = verb_value(call, "taken"), *end;
	struct tm tm = { 0 };

	end = text ? strptime(text, "%Y-%m-%dT%H:%M:%SZ", &tm) : NULL;
	if (!end || *end)
		return err_set(err, -EINVAL,
			       "give --taken 2026-11-24T03:00:00Z (UTC), the time to which the "
			       "ledger was restored");
	*ret_ns = (int64_t)timegm(&tm) * S_NS;
	return 0;
}

static int print_restored(const struct cli *c, const char *place, int64_t taken_ns,
			  int64_t first_job, struct err *err)
{
	_cleanup_json_ json_t *doc = NULL;
	time_t taken = taken_ns / S_NS;
	char text[64] = "?";
	struct tm tm;

	if (gmtime_r(&taken, &tm))
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &tm);
	if (c->format.output == TABLE_TABLE) {
		fprintf(c->format.to,
			"%s: as of %s; new jobs are numbered from %" PRId64 " on\n"
			"What was submitted or changed after that time is not in it. Start the "
			"controller: nodes send it what they still have.\n",
			place, text, first_job);
		return 0;
	}
	doc = json_pack("{s:s,s:s,s:I,s:I}", "schema", WIRE_SCHEMA, "ledger", place, "taken_ns",
			(json_int_t)taken_ns, "first_job", (json_int_t)first_job);
	return doc ? cli_print_document(c, doc, err) : err_set(err, -ENOMEM, "out of memory");
}

static int mark_ledger(struct cli *c, const struct verb_call *call, const char *place,
		       struct err *err)
{
	struct store_restored how = { .now_ns = clock_ns(CLOCK_REALTIME) };
	int64_t first_job;
	int r = parse_taken(call, &how.taken_ns, err);

	if (r >= 0)
		r = parse_number(call, "first-job", &how.first_job, err);
	if (r >= 0)
		r = ledger_file_own(place, NULL, err);
	if (r >= 0)
		r = store_restore_mark(place, &how, &first_job, err);
	return r < 0 ? r : print_restored(c, place, how.taken_ns, first_job, err);
}

static int restore_file(struct cli *c, const struct verb_call *call, const char *place,
			struct err *err)
{
	struct store_restoration how = { .from = call->args[0],
					 .to = place,
					 .now_ns = clock_ns(CLOCK_REALTIME),
					 .is_verified = verb_count(call, "no-verify") == 0 };
	struct store_restored_result n;
	int r = parse_number(call, "first-job", &how.first_job, err);

	if (r >= 0)
		r = store_restore(&how, &n, err);
	return r < 0 ? r : print_restored(c, place, n.manifest.taken_ns, n.first_job, err);
}

static int run_restore(const struct verb_call *call, void *ctx, struct err *err)
{
	bool is_mark = verb_count(call, "mark") > 0;
	const char *place = verb_value(call, "ledger");
	struct cli *c = ctx;
	int r = cli_begin_offline(c, call, err);

	if (r >= 0 && (!place || is_mark != (call->n_args == 0)))
		r = err_set(err, -EINVAL,
			    "give FILE --ledger PLACE, or --mark --taken TIME --ledger PLACE");
	if (r < 0)
		return r;
	return (is_mark ? mark_ledger : restore_file)(c, call, place, err);
}

const struct verb admin_verb_backup = {
	.name = "backup",
	.args = "DIR|FILE",
	.help = "Copy the ledger of a running controller",
	.details =
		"The copy is the ledger at one moment; the controller writes on meanwhile. A\n"
		"second copy is opened and its sums are recomputed, unless --no-verify is given.\n"
		"The backup gets its name when it is whole and on disk, with a manifest beside\n"
		"it, FILE.json. In a directory it is named by its time. Exit status 1 with a\n"
		"backup: sums of the ledger differ from its jobs.",
	.examples = "reeve admin backup /var/backups/reeve --keep 14\n"
		    "reeve admin backup before-upgrade.db",
	.options = options,
	.min_args = 1,
	.max_args = 1,
	.run = run_backup,
};

const struct verb admin_verb_restore = {
	.name = "restore",
	.args = "[FILE]",
	.help = "Make a ledger of a backup",
	.details =
		"Compares FILE with its manifest and recomputes its sums. PLACE must not exist,\n"
		"and no controller may have it. An interrupted restore is called again. New jobs\n"
		"get numbers far above those of the backup, so that none is given twice. Nodes\n"
		"send the restored ledger again what they reported in the last two weeks.\n"
		"A ledger that was restored by other means (PostgreSQL's) must be marked with\n"
		"--mark before its controller starts.",
	.examples =
		"reeve admin restore /var/backups/reeve/ledger-20261124T030000Z.db --ledger "
		"/var/lib/reeve-controller/ledger.db\n"
		"reeve admin restore --mark --taken 2026-11-24T03:00:00Z --ledger "
		"postgresql://reeve@dbhost/reeve",
	.options = restore_options,
	.min_args = 0,
	.max_args = 1,
	.run = run_restore,
};
