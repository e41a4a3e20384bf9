/* SPDX-License-Identifier: GPL-2.0-or-later */
/* accounts_change.c - applies a change of the accounts and prints its differences. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "cli/admin/accounts_change.h"
#include "common/err.h"
#include "common/wire/wire.h"

/* ---- printing a change ---- */

static const struct table_column change_columns[] = {
	{ "op", "", CELL_TEXT },       { "section", "SECTION", CELL_TEXT },
	{ "name", "NAME", CELL_TEXT }, { "key", "KEY", CELL_TEXT },
	{ "item", "ITEM", CELL_TEXT }, { "old", "WAS", CELL_TEXT },
	{ "new", "IS", CELL_TEXT },    { 0 },
};

/* Signs of diff(1), for people. */
static const char *op_sign(const char *op)
{
	return !op ? "?" : !strcmp(op, "add") ? "+" : !strcmp(op, "remove") ? "-" : "~";
}

static enum table_cell_tone op_tone(const char *op)
{
	return !op || !strcmp(op, "set") ? TONE_PLAIN
	       : !strcmp(op, "add")	 ? TONE_GOOD
					 : TONE_BAD;
}

void accounts_change_row(const struct cli *c, struct table *t, const json_t *change)
{
	static const char *const keys[] = { "section", "name", "key", "item", "old", "new" };
	const char *op = cli_text(change, "op");

	table_row(t);
	table_text(t, "op", c->format.output == TABLE_TABLE ? op_sign(op) : op);
	table_tone(t, "op", op_tone(op));
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		table_text(t, keys[i], cli_text(change, keys[i]));
}

void accounts_change_warnings(const struct cli *c, const json_t *warnings)
{
	FILE *to = c->format.to;
	json_t *text;
	size_t i;

	json_array_foreach(warnings, i, text)
	{
		fputs("warning: ", to);
		cli_put(to, json_string_value(text));
		fputc('\n', to);
	}
}

/* Below the table: warnings, and the accounts that are removed while they have jobs. */
static void print_consequences(const struct cli *c, const json_t *doc)
{
	json_t *jobs = json_object_get(doc, "jobs"), *j;
	FILE *to = c->format.to;
	size_t i;

	accounts_change_warnings(c, json_object_get(doc, "warnings"));
	json_array_foreach(jobs, i, j)
	{
		fputs("account ", to);
		cli_put(to, cli_text(j, "account"));
		fprintf(to,
			" is removed while it has %" PRId64 " running and %" PRId64
			" queued jobs: they run to their end and are charged\n",
			cli_int(j, "running", 0), cli_int(j, "queued", 0));
	}
}

static void print_outcome(const struct cli *c, const json_t *doc,
			  const struct accounts_change_call *how)
{
	size_t n = json_array_size(json_object_get(doc, "changes"));
	bool is_applied = json_is_true(json_object_get(doc, "applied"));
	int64_t revision = cli_int(doc, "revision", 0);
	FILE *to = c->format.to;

	if (is_applied && n == 0)
		fprintf(to, "no changes; stored in the ledger as revision %" PRId64 "\n",
			revision);
	else if (is_applied)
		fprintf(to, "%zu change%s made; revision %" PRId64 "\n", n, n == 1 ? "" : "s",
			revision);
	else if (n && how->order->is_dry_run)
		fprintf(to, "%zu change%s; nothing was changed %s\n", n, n == 1 ? "" : "s",
			how->why_dry);
	else
		fprintf(to, "no changes\n");
}

int accounts_change_table(const struct cli *c, const json_t *doc, struct err *err)
{
	_cleanup_(table_freep) struct table *t = NULL;
	json_t *change;
	size_t i;
	int r;

	if (c->format.output == TABLE_JSON)
		return cli_print_document(c, doc, err);
	r = table_new("changes", change_columns, &t, err);
	if (r < 0)
		return r;
	json_array_foreach(json_object_get(doc, "changes"), i, change)
		accounts_change_row(c, t, change);
	return i || c->format.output != TABLE_TABLE ? table_print(t, &c->format, err) : 0;
}

static int show_change(const struct cli *c, const json_t *doc,
		       const struct accounts_change_call *how, struct err *err)
{
	int r = accounts_change_table(c, doc, err);

	if (r < 0 || c->format.output != TABLE_TABLE)
		return r;
	print_consequences(c, doc);
	accounts_change_notes(c, how->notes);
	print_outcome(c, doc, how);
	return 0;
}

void accounts_change_notes(const struct cli *c, const json_t *notes)
{
	FILE *to = c->format.to;
	json_t *note;
	size_t i;

	json_array_foreach(notes, i, note)
	{
		fputs("not imported: ", to);
		cli_put(to, cli_text(note, "what"));
		fprintf(to, ", %" PRId64 " time%s, first in line %" PRId64 ": ",
			cli_int(note, "n", 0), cli_int(note, "n", 0) == 1 ? "" : "s",
			cli_int(note, "line", 0));
		cli_put(to, cli_text(note, "why"));
		fputc('\n', to);
	}
}

int accounts_change_revision(const struct accounts_source *s, const struct verb_call *call,
			     int64_t *ret, struct err *err)
{
	const char *revision = verb_value(call, "revision");
	char *end = NULL;

	*ret = s->revision;
	if (!revision)
		return 0;
	errno = 0;
	*ret = strtoll(revision, &end, 10);
	if (errno || end == revision || *end)
		return err_set(
			err, -EINVAL,
			"--revision %.32s: write a number, as 'reeve admin accounts show' prints",
			revision);
	return 0;
}

/* Appends to the warnings of the source. */
static int add_warnings(json_t *doc, json_t *more)
{
	json_t *old = json_object_get(doc, "warnings");

	if (!old)
		return json_object_set(doc, "warnings", more);
	return json_array_extend(old, more);
}

int accounts_change_make(struct accounts_source *s, const struct accounts_change_call *how,
			 struct err *err)
{
	_cleanup_json_ json_t *doc = NULL;
	int r = accounts_source_change(s, how->order, &doc, err);

	if (r == 0 && how->notes && json_object_set(doc, "not_taken", how->notes) < 0)
		r = err_set(err, -ENOMEM, "out of memory");
	if (r == 0 && how->warnings && add_warnings(doc, how->warnings) < 0)
		r = err_set(err, -ENOMEM, "out of memory");
	return r < 0 ? r : show_change(s->c, doc, how, err);
}
