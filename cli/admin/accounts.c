/* SPDX-License-Identifier: GPL-2.0-or-later */
/* accounts.c - `reeve admin accounts`: shows and checks accounts, shares, limits and allocations,
 * and changes them: all by a file (apply), or single ones (set, add, remove). */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "cli/admin/accounts_change.h"
#include "cli/admin/accounts_edit.h"
#include "cli/admin/accounts_import.h"
#include "cli/admin/accounts_source.h"
#include "cli/admin/slurm/accounts_sync.h"
#include "cli/admin/admin.h"
#include "cli/admin/fault_report.h"
#include "cli/client/options.h"
#include "common/err.h"
#include "common/wire/wire.h"
#include "controller/accounts/rows.h"

/* Without --revision the accounts must still have the revision at which they were read. */
static int apply_change(struct accounts_source *s, const struct verb_call *call,
			const struct accounts *new, struct err *err)
{
	struct accounts_source_order w = { .new = new,
					   .is_dry_run = verb_count(call, "dry-run") };
	int r = accounts_change_revision(s, call, &w.revision, err);

	return r < 0 ? r
		     : accounts_change_make(s,
					    &(struct accounts_change_call){
						    .order = &w, .why_dry = "(--dry-run)" },
					    err);
}

/* ---- files ---- */

/* Reads and checks a file, and prints every fault. *ret is NULL when there is one: then the result
 * is 0 and the exit status is set. */
static int read_file(struct cli *c, const char *path, struct accounts **ret, struct err *err)
{
	struct fault_report report;
	int n, r = fault_report_open(c, "faults", &report, err);

	if (r < 0)
		return r;
	n = accounts_check(path, fault_report_add, &report, ret, err);
	if (n > 0)
		c->exit_code = CLI_FAILED;
	r = n > 0 ? fault_report_finish(&report, path, n, err) : n;
	table_free(report.table);
	return r;
}

static int report_warnings(const struct cli *c, const char *path, const struct accounts *a,
			   struct err *err)
{
	struct fault_report report;
	int r = fault_report_open(c, "warnings", &report, err);

	if (r < 0)
		return r;
	accounts_warn(a, fault_report_warn, &report);
	if (c->format.output != TABLE_TABLE)
		r = table_print(report.table, &c->format, err);
	table_free(report.table);
	if (r < 0 || c->format.output != TABLE_TABLE)
		return r;
	cli_put(c->format.to, path);
	fprintf(c->format.to, ": no faults: %zu account%s, %zu allocation%s\n", a->n_accounts,
		a->n_accounts == 1 ? "" : "s", a->n_allocations,
		a->n_allocations == 1 ? "" : "s");
	return 0;
}

static int check_accounts(const struct verb_call *call, void *ctx, struct err *err)
{
	_cleanup_(accounts_freep) struct accounts *a = NULL;
	struct cli *c = ctx;
	int r = cli_begin_offline(c, call, err);

	if (r == 0)
		r = read_file(c, call->args[0], &a, err);
	return r < 0 || !a ? r : report_warnings(c, call->args[0], a, err);
}

static int run_apply(const struct verb_call *call, void *ctx, struct err *err)
{
	_cleanup_(accounts_source_done) struct accounts_source s = { 0 };
	_cleanup_(accounts_freep) struct accounts *new = NULL;
	int r = accounts_source_open(ctx, call, &s, err);

	if (r == 0)
		r = read_file(ctx, call->args[0], &new, err);
	return r < 0 || !new ? r : apply_change(&s, call, new, err);
}

/* ---- show and log ---- */

static const struct table_column row_columns[] = {
	{ "section", "SECTION", CELL_TEXT }, { "name", "NAME", CELL_TEXT },
	{ "key", "KEY", CELL_TEXT },	     { "item", "ITEM", CELL_TEXT },
	{ "value", "VALUE", CELL_TEXT },     { 0 },
};

/* Does a row belong to the account: itself, its users, its allocations? */
static bool is_of_account(const struct accounts_row *row, const char *account)
{
	size_t n = strlen(account);

	if (!strcmp(row->section, "User") || !strcmp(row->section, "QueueLimits") ||
	    !strcmp(row->section, "Default") || !strcmp(row->section, "Template"))
		return false;
	return !strncmp(row->name, account, n) && (!row->name[n] || row->name[n] == '/');
}

/* Picks the rows of one account, or all rows when it is NULL. -ENOENT. */
static int pick_rows(const struct accounts *a, const char *account, struct accounts_rows *ret,
		     struct err *err)
{
	struct accounts_rows all = { 0 };
	int r;

	if (account && accounts_find(a, account) < 0)
		return err_set(err, -ENOENT, "no account '%.64s', or none that you may see",
			       account);
	r = accounts_rows_of(a, &all, err);
	for (size_t i = 0; i < all.n && r == 0; i++)
		if (!account || is_of_account(&all.rows[i], account))
			r = accounts_rows_add(ret, &all.rows[i]);
	accounts_rows_done(&all);
	return r == -ENOMEM ? err_set(err, r, "out of memory") : r;
}

static int print_rows(const struct cli *c, const struct accounts_rows *rows, struct err *err)
{
	_cleanup_(table_freep) struct table *t = NULL;
	int r = table_new("accounts", row_columns, &t, err);

	for (size_t i = 0; i < rows->n && r == 0; i++) {
		const struct accounts_row *row = &rows->rows[i];

		table_row(t);
		table_text(t, "section", row->section);
		table_text(t, "name", row->name);
		table_text(t, "key", *row->key ? row->key : NULL);
		table_text(t, "item", *row->item ? row->item : NULL);
		table_text(t, "value", *row->key ? row->value : NULL);
	}
	return r < 0 ? r : table_print(t, &c->format, err);
}

static int print_file(const struct accounts_source *s, const struct accounts_rows *rows,
		      struct err *err)
{
	_cleanup_free_ char *text = NULL;
	int r = accounts_rows_write(rows, &text, err);

	if (r < 0)
		return r;
	fprintf(s->c->format.to, "# revision %" PRId64 ", of the %s%s\n", s->revision,
		s->origin, s->is_partial ? ": what you may see" : "");
	fputs(text, s->c->format.to);
	return 0;
}

static int show_accounts(const struct verb_call *call, void *ctx, struct err *err)
{
	_cleanup_(accounts_source_done) struct accounts_source s = { 0 };
	_cleanup_(accounts_rows_done) struct accounts_rows rows = { 0 };
	struct cli *c = ctx;
	int r = accounts_source_open(c, call, &s, err);

	if (r == 0)
		r = pick_rows(s.now, call->args[0], &rows, err);
	if (r < 0)
		return r;
	return c->format.output == TABLE_TABLE ? print_file(&s, &rows, err)
					       : print_rows(c, &rows, err);
}

static const struct table_column log_columns[] = {
	{ "revision", "REVISION", CELL_COUNT },
	{ "at_ns", "AT", CELL_TIME_NS },
	{ "author", "BY", CELL_TEXT },
	{ "op", "", CELL_TEXT },
	{ "section", "SECTION", CELL_TEXT },
	{ "name", "NAME", CELL_TEXT },
	{ "key", "KEY", CELL_TEXT },
	{ "item", "ITEM", CELL_TEXT },
	{ "old", "WAS", CELL_TEXT },
	{ "new", "IS", CELL_TEXT },
	{ 0 },
};

#define LOG_LIMIT_MAX 10000

static int show_log(const struct verb_call *call, void *ctx, struct err *err)
{
	_cleanup_(accounts_source_done) struct accounts_source s = { 0 };
	_cleanup_(table_freep) struct table *t = NULL;
	_cleanup_json_ json_t *entries = NULL;
	struct cli *c = ctx;
	int64_t limit = 100;
	json_t *entry;
	size_t i;
	int r = options_read_limit(call, LOG_LIMIT_MAX, &limit, err);

	if (r == 0)
		r = accounts_source_open(c, call, &s, err);
	if (r == 0)
		r = accounts_source_log(&s, limit, &entries, err);
	if (r == 0)
		r = table_new("changes", log_columns, &t, err);
	if (r < 0)
		return r;
	json_array_foreach(entries, i, entry)
	{
		accounts_change_row(c, t, entry);
		table_int(t, "revision", cli_int(entry, "revision", 0));
		table_int(t, "at_ns", cli_int(entry, "at_ns", 0));
		table_text(t, "author", cli_text(entry, "author"));
	}
	return table_print(t, &c->format, err);
}

/* ---- single changes ---- */

/* One key or one section: reads the accounts, edits a copy, and applies the difference. */
static int run_edit(const struct verb_call *call, struct cli *c, enum accounts_edit_kind kind,
		    struct err *err)
{
	_cleanup_(accounts_source_done) struct accounts_source s = { 0 };
	_cleanup_(accounts_freep) struct accounts *new = NULL;
	int r = accounts_source_open_to_change(c, call, &s, err);

	if (r == 0)
		r = accounts_edit(s.now, kind, call->args, &new, err);
	return r < 0 ? r : apply_change(&s, call, new, err);
}

static int run_set(const struct verb_call *call, void *ctx, struct err *err)
{
	return run_edit(call, ctx, ACCOUNTS_EDIT_SET, err);
}

static int run_add(const struct verb_call *call, void *ctx, struct err *err)
{
	return run_edit(call, ctx, ACCOUNTS_EDIT_ADD, err);
}

static int run_remove(const struct verb_call *call, void *ctx, struct err *err)
{
	return run_edit(call, ctx, ACCOUNTS_EDIT_REMOVE, err);
}

/* ---- verbs ---- */

static const struct verb_option change_options[] = {
	{ "dry-run", 0, NULL, "show what would change, and change nothing", NULL },
	{ "revision", 0, "N", "refuse if the accounts have another revision by now", NULL },
	ACCOUNTS_LEDGER_OPTION,
	{ 0 },
};
static const struct verb_option show_options[] = { ACCOUNTS_LEDGER_OPTION, { 0 } };
static const struct verb_option log_options[] = {
	{ "limit", 0, "N", "at most N changes; default: 100", NULL },
	ACCOUNTS_LEDGER_OPTION,
	{ 0 },
};

#define TARGETS                                                                                \
	"WHAT is physics (an account), physics/alice (a user in it), user:alice,\n"            \
	"queue:express, allocation:physics/2026, default:User or template:group."

static const struct verb verbs_table[] = {
	{ .name = "apply",
	  .args = "FILE",
	  .help = "Make the accounts what a file declares",
	  .details =
		  "Only differences are applied, all of them or none. What the file does not\n"
		  "declare is removed. 'reeve admin accounts log' lists every change with author\n"
		  "and time. Jobs of a removed account run to their end, and its history stays.",
	  .examples = "reeve admin accounts apply --dry-run accounts.conf\n"
		      "reeve admin accounts apply --revision 7 accounts.conf",
	  .options = change_options,
	  .min_args = 1,
	  .max_args = 1,
	  .run = run_apply },
	{ .name = "check",
	  .args = "FILE",
	  .help = "Check an accounts file, and list every fault by line",
	  .examples = "reeve admin accounts check accounts.conf",
	  .min_args = 1,
	  .max_args = 1,
	  .run = check_accounts },
	{ .name = "show",
	  .args = "[ACCOUNT]",
	  .help = "Print the accounts as a file that can be applied again",
	  .details = "Operators see all accounts, users the accounts that they belong to, and\n"
		     "coordinators also the accounts below theirs.",
	  .examples = "reeve admin accounts show > accounts.conf\n"
		      "reeve admin accounts show physics --json",
	  .options = show_options,
	  .max_args = 1,
	  .run = show_accounts },
	{ .name = "set",
	  .args = "WHAT KEY=VALUE...",
	  .help = "Change single keys of an account, user, queue or allocation",
	  .details = TARGETS
	  "\nKEY= removes a key. Lists (Users, Coordinators, Clusters) also have += and -=.",
	  .examples = "reeve admin accounts set physics Shares=30\n"
		      "reeve admin accounts set physics Users+=dora,eve=5\n"
		      "reeve admin accounts set physics/alice Shares=5 MaxRunningJobs=10\n"
		      "reeve admin accounts set user:alice DefaultAccount=physics",
	  .options = change_options,
	  .min_args = 2,
	  .max_args = -1,
	  .run = run_set },
	{ .name = "add",
	  .args = "WHAT [KEY=VALUE...]",
	  .help = "Add an account, a user to an account, or an allocation",
	  .details = TARGETS,
	  .examples = "reeve admin accounts add optics Parent=physics Shares=20\n"
		      "reeve admin accounts add optics/alice\n"
		      "reeve admin accounts add allocation:optics/2026 Amount=100 "
		      "From=2026-04-01 To=2027-04-01",
	  .options = change_options,
	  .min_args = 1,
	  .max_args = -1,
	  .run = run_add },
	{ .name = "remove",
	  .args = "WHAT",
	  .help = "Remove an account, a user from an account, or an allocation",
	  .details = TARGETS
	  "\nRemoving an account removes its allocations and the limits of its users too; its\n"
	  "jobs continue.",
	  .examples = "reeve admin accounts remove optics/alice\n"
		      "reeve admin accounts remove --dry-run optics",
	  .options = change_options,
	  .min_args = 1,
	  .max_args = 1,
	  .run = run_remove },
	{ .name = "log",
	  .args = "",
	  .help = "List the changes with time and author, newest first",
	  .examples = "reeve admin accounts log --limit 20",
	  .options = log_options,
	  .run = show_log },
};
static const struct verb *const verbs[] = {
	&verbs_table[0],	   &verbs_table[1],
	&verbs_table[2],	   &verbs_table[3],
	&verbs_table[4],	   &verbs_table[5],
	&verbs_table[6],	   &admin_verb_accounts_import,
	&admin_verb_accounts_sync, &admin_verb_accounts_export,
	&cli_verb_accounts_help,   NULL,
};

static int run_accounts(const struct verb_call *call, void *ctx, struct err *err)
{
	const struct verb_tool sub = {
		.name = "reeve admin accounts",
		.help = "Show and change accounts, users, shares, limits and allocations",
		.verbs = verbs,
	};

	return admin_dispatch(call, ctx, sub, err);
}

const struct verb admin_verb_accounts = {
	.name = "accounts",
	.args = "COMMAND ...",
	.help = "Show and change accounts, users, shares, limits and allocations",
	.details =
		"'reeve admin accounts help' lists the commands: apply, check, show, set, add,\n"
		"remove, log, import, sync, export.",
	.examples = "reeve admin accounts help\n"
		    "reeve admin accounts apply --dry-run accounts.conf",
	.min_args = 1,
	.max_args = -1,
	.stop_at_args = true,
	.run = run_accounts,
};
