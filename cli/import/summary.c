/* SPDX-License-Identifier: GPL-2.0-or-later */
/* summary.c - what an import says at the end; see import.h. */
#include <errno.h>
#include <inttypes.h>
#include "cli/import/import.h"
#include "common/err.h"
#include "common/wire/doc.h"

static int64_t rejected_total(const struct import *i)
{
	int64_t n = 0;

	for (enum history_why w = 0; w < _HISTORY_WHY_MAX; w++)
		n += i->count.rejected[w];
	return n;
}

static json_t *encode_rejects(const struct import *i)
{
	_cleanup_doc_ struct doc d = doc_object();

	for (enum history_why w = 0; w < _HISTORY_WHY_MAX; w++)
		if (i->count.rejected[w])
			doc_int(&d, history_why_name(w), i->count.rejected[w]);
	return doc_take(&d);
}

int import_summary_document(const struct import *i, struct err *err)
{
	const struct store_import_count *n = &i->count;
	_cleanup_doc_ struct doc d = doc_object();
	_cleanup_json_ json_t *doc = NULL;

	doc_text(&d, "profile", i->profile_name);
	doc_text(&d, "account", i->account);
	doc_int(&d, "without_account", i->no_account);
	doc_int(&d, "without_user", i->no_user);
	doc_set(&d, "unused", import_unused_encode(&i->unused));
	doc_text(&d, "schema", WIRE_SCHEMA);
	doc_text(&d, "time_zone", store_zone(i->store));
	doc_int(&d, "rows", n->rows);
	doc_int(&d, "jobs", n->jobs);
	doc_int(&d, "new", i->n_new);
	doc_int(&d, "known", n->jobs - i->n_new);
	doc_int(&d, "followed", i->n_followed);
	doc_int(&d, "conflict", n->conflicts);
	doc_int(&d, "core_seconds", n->core_seconds);
	doc_set(&d, "rejected", encode_rejects(i));
	import_told_encode(&i->told, &d);
	doc_int(&d, "rejected_total", rejected_total(i));
	if (doc_finish(&d, &doc, err) < 0)
		return -ENOMEM;
	return cli_print_document(i->c, doc, err);
}

static void print_rejects(const struct import *i, FILE *to)
{
	const struct store_import_count *n = &i->count;

	for (enum history_why w = 0; w < _HISTORY_WHY_MAX; w++) {
		if (!n->rejected[w])
			continue;
		fprintf(to, "  %s: %" PRId64 ", first in %s %" PRId64 "%s%s\n",
			history_why_name(w), n->rejected[w], import_reader_unit(i->reader),
			n->first_line[w], *i->told.faults[w] ? ": " : "", i->told.faults[w]);
	}
	if (*i->no_price)
		fprintf(to, "    the first without a price: %s\n", i->no_price);
	if (*i->no_name)
		fprintf(to, "    the first without a name: %s\n", i->no_name);
}

int import_summary_print(const struct import *i)
{
	const struct store_import_count *n = &i->count;
	FILE *to = i->c->format.to;

	fprintf(to, "rows          %" PRId64 "\n", n->rows);
	fprintf(to, "jobs          %" PRId64 " (%" PRId64 " new, %" PRId64 " known)\n", n->jobs,
		i->n_new, n->jobs - i->n_new);
	if (i->n_followed)
		fprintf(to,
			"  %" PRId64 " of the known came from reeve-slurm or an agent, and are "
			"charged as jobs of Slurm\n",
			i->n_followed);
	fprintf(to, "core seconds  %" PRId64 "\n", n->core_seconds);
	fprintf(to, "conflict      %" PRId64 "\n", n->conflicts);
	fprintf(to, "rejected      %" PRId64 "\n", rejected_total(i));
	print_rejects(i, to);
	import_told_print(&i->told, to);
	if (i->no_account)
		fprintf(to, "without account %" PRId64 ", charged to account %s\n",
			i->no_account, i->account);
	if (i->no_user)
		fprintf(to, "without user  %" PRId64 ", charged to user " IMPORT_NO_NAME "\n",
			i->no_user);
	import_unused_print(&i->unused, to);
	fprintf(to, "priced by     %s\n",
		i->profile ? i->profile_name : "no profile: cores x time");
	return 0;
}

/* What to do about the reason that most files without a single job have. */
static const char *find_advice(const struct import *i)
{
	if (i->count.rejected[HISTORY_NO_EPOCH])
		return "no header says when the log begins: give --unix-start-time SECONDS, or add a "
		       "first line '; UnixStartTime: SECONDS'";
	if (*i->no_name)
		return i->no_name;
	for (enum history_why w = 0; w < _HISTORY_WHY_MAX; w++)
		if (*i->told.faults[w])
			return i->told.faults[w];
	return "the reasons are listed under 'rejected'";
}

int import_summary_check(const struct import *i)
{
	const struct store_import_count *n = &i->count;

	if (n->jobs || n->conflicts)
		return 0;
	fprintf(stderr, "reeve import: %s: none of %" PRId64 " rows was imported: %s\n",
		i->path, n->rows, find_advice(i));
	if (i->kind == IMPORT_SACCT && n->rejected[HISTORY_GARBAGE])
		fputs("reeve import: times are as SLURM_TIME_FORMAT=standard prints them, with an "
		      "offset (%Y-%m-%dT%H:%M:%S%z), or seconds since 1970 (%s)\n",
		      stderr);
	i->c->exit_code = CLI_FAILED;
	return 0;
}
