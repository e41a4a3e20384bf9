/* SPDX-License-Identifier: GPL-2.0-or-later */
/* storage.c - `reeve admin storage`: imports from CSV what projects occupy on file systems, and removes it. A file is
 * read as a whole before anything is sent: one with a mistake changes nothing. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>
#include "cli/admin/admin.h"
#include "common/clock.h"
#include "common/csv/csv.h"
#include "common/err.h"
#include "common/model/amount.h"
#include "common/time_units.h"
#include "common/utf8.h"
#include "common/wire/doc.h"
#include "controller/ledger/usage/storage.h"

#define BATCH 200 /* readings of one request: the most that the controller takes */
#define NAMED_MAX                                                                              \
	10 /* accounts that do not exist: a file system has many groups that are no projects */

/* The headings of the file; the first N_REQUIRED must be there. */
enum column { PROJECT, FILESYSTEM, BYTES, FILES, LIMIT, FILE_LIMIT, TIME, _COLUMN_MAX };
#define N_REQUIRED 3
static const char *const headings[_COLUMN_MAX + 1] = { "project", "filesystem", "bytes",
						       "files",	  "limit",	"file_limit",
						       "time" };

struct import {
	struct csv *csv;
	int at[_COLUMN_MAX];
	int64_t now_ns;		   /* of rows without a time */
	const char *const *fields; /* of the record read last */
	struct doc batch;
	size_t n; /* in the batch */
	json_t *bodies;
	struct table *t; /* of the outcome */
	int64_t stored, older, unknown;
};

/* ---- the file ---- */

/* NULL: the column is not there, or its field is empty. */
static const char *field_of(const struct import *in, enum column c)
{
	const char *text = in->at[c] < 0 ? "" : in->fields[in->at[c]];

	return *text ? text : NULL;
}

static int refuse_value(struct import *in, enum column c, const char *should, struct err *err)
{
	return csv_error(in->csv, err, "%s '%.64s' %s", headings[c], field_of(in, c), should);
}

/* An absent amount has no key; a limit of 0 is none, as file systems print it. */
static int put_amount(struct import *in, struct doc *row, enum column c, const char *key,
		      struct err *err)
{
	const char *text = field_of(in, c);
	bool is_size = c == BYTES || c == LIMIT;
	int64_t n;

	if (!text)
		return 0;
	if ((is_size ? amount_parse_bytes : amount_parse_count)(text, &n, NULL) < 0)
		return refuse_value(in, c,
				    is_size ? "is no size; write bytes, or 1.5TB or 40TiB"
					    : "is no whole number",
				    err);
	if (n > 0 || c == BYTES || c == FILES)
		doc_int(row, key, n);
	return 0;
}

/* "2026-11-21T14:03:11Z", a blank for the T, an offset for the Z; or seconds since 1970. */
static int parse_time(const char *text, int64_t *ret_ns)
{
	static const char *const forms[] = { "%Y-%m-%dT%H:%M:%S%z", "%Y-%m-%d %H:%M:%S%z" };
	int64_t seconds;

	if (amount_parse_count(text, &seconds, NULL) >= 0 && seconds < INT64_MAX / S_NS) {
		*ret_ns = seconds * S_NS;
		return 0;
	}
	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		struct tm tm = { 0 };
		const char *end = strptime(text, forms[i], &tm);
		long offset = tm.tm_gmtoff; /* timegm() clears it */

		if (!end || *end)
			continue;
		*ret_ns = ((int64_t)timegm(&tm) - offset) * S_NS;
		return 0;
	}
	return -EINVAL;
}

static int put_time(struct import *in, struct doc *row, struct err *err)
{
	const char *text = field_of(in, TIME);
	int64_t at_ns = in->now_ns;

	if (text && parse_time(text, &at_ns) < 0)
		return refuse_value(in, TIME,
				    "is no time; write 2026-11-21T14:03:11Z, an offset such as "
				    "+01:00 for the Z, or seconds since 1970",
				    err);
	if (at_ns < 0 || at_ns > in->now_ns + HOUR_S * S_NS)
		return refuse_value(in, TIME, "is before 1970, or has not come yet", err);
	doc_int(row, "at_ns", at_ns);
	return 0;
}

static int put_names(struct import *in, struct doc *row, struct err *err)
{
	for (enum column c = PROJECT; c < N_REQUIRED; c++)
		if (!field_of(in, c))
			return csv_error(in->csv, err, "%s is empty", headings[c]);
	if (strlen(field_of(in, FILESYSTEM)) >= STORE_FILESYSTEM_MAX ||
	    !utf8_is_clean(field_of(in, FILESYSTEM)))
		return refuse_value(in, FILESYSTEM, "is no name of printable characters", err);
	doc_text(row, "account", field_of(in, PROJECT));
	doc_text(row, "filesystem", field_of(in, FILESYSTEM));
	return 0;
}

static int end_batch(struct import *in, struct err *err)
{
	_cleanup_doc_ struct doc body = doc_message();
	json_t *j = NULL;
	int r;

	doc_set(&body, "rows", doc_take(&in->batch));
	in->batch = doc_array();
	in->n = 0;
	r = doc_finish(&body, &j, err);
	if (r < 0)
		return r;
	if (json_array_append_new(in->bodies, j) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

static int read_row(struct import *in, struct err *err)
{
	static const struct {
		enum column column;
		const char *key;
	} amounts[] = { { BYTES, "bytes" },
			{ FILES, "files" },
			{ LIMIT, "limit_bytes" },
			{ FILE_LIMIT, "limit_files" } };
	_cleanup_doc_ struct doc row = doc_object();
	int r = put_names(in, &row, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_LEN(amounts); i++) {
		r = put_amount(in, &row, amounts[i].column, amounts[i].key, err);
		if (r < 0)
			return r;
	}
	r = put_time(in, &row, err);
	if (r < 0)
		return r;
	doc_add(&in->batch, doc_take(&row));
	return ++in->n < BATCH ? 0 : end_batch(in, err);
}

static int read_rows(struct import *in, struct err *err)
{
	int r = csv_header_some(in->csv, headings, N_REQUIRED, in->at, err);

	if (r < 0)
		return r;
	while ((r = csv_next(in->csv, &in->fields, err)) > 0) {
		r = read_row(in, err);
		if (r < 0)
			return r;
	}
	return r < 0 || !in->n ? r : end_batch(in, err);
}

static int read_file(struct import *in, const char *path, struct err *err)
{
	int r = csv_open(path, &in->csv, err);

	if (r < 0)
		return r;
	in->now_ns = clock_ns(CLOCK_REALTIME);
	in->bodies = json_array();
	if (!in->bodies)
		return err_set(err, -ENOMEM, "out of memory");
	in->batch = doc_array();
	return read_rows(in, err);
}

static void free_import(struct import *in)
{
	csv_close(in->csv);
	doc_done(&in->batch);
	json_decref(in->bodies);
	table_free(in->t);
}

/* ---- import ---- */

static const struct table_column columns[] = {
	{ "stored", "STORED", CELL_COUNT },
	{ "older", "OLDER", CELL_COUNT },
	{ "unknown", "NO ACCOUNT", CELL_COUNT },
	{ 0 },
};

static int send_batch(struct cli *c, struct import *in, json_t *body, struct err *err)
{
	_cleanup_json_ json_t *answer = NULL;
	const json_t *name;
	size_t i;
	int r = cli_ask(
		c, (struct http_call){ .method = "POST", .path = "/v1/storage", .body = body },
		&answer, err);

	if (r < 0)
		return r;
	in->stored += cli_int(answer, "stored", 0);
	in->older += cli_int(answer, "older", 0);
	json_array_foreach(json_object_get(answer, "unknown"), i, name)
	{
		if (in->unknown++ >= NAMED_MAX)
			continue;
		fputs(in->unknown == 1 ? "left out: no account " : ", ", stderr);
		cli_put_line(stderr, json_string_value(name));
	}
	return 0;
}

/* Ends the line of accounts that do not exist. */
static void end_unknown(const struct import *in)
{
	if (in->unknown > NAMED_MAX)
		fprintf(stderr, " and %" PRId64 " more", in->unknown - NAMED_MAX);
	if (in->unknown)
		fputc('\n', stderr);
}

static int print_outcome(const struct cli *c, struct import *in, struct err *err)
{
	table_row(in->t);
	table_int(in->t, "stored", in->stored);
	table_int(in->t, "older", in->older);
	table_int(in->t, "unknown", in->unknown);
	return table_print(in->t, &c->format, err);
}

static int run_import(const struct verb_call *call, void *ctx, struct err *err)
{
	_cleanup_(free_import) struct import in = { 0 };
	struct cli *c = ctx;
	json_t *body;
	size_t i;
	int r = cli_begin(c, call, err);

	if (r < 0)
		return r;
	r = table_new("import", columns, &in.t, err);
	if (r < 0)
		return r;
	r = read_file(&in, call->args[0], err);
	if (r < 0)
		return r;
	json_array_foreach(in.bodies, i, body)
	{
		r = send_batch(c, &in, body, err);
		if (r < 0)
			break;
	}
	end_unknown(&in);
	return r < 0 ? r : print_outcome(c, &in, err);
}

/* ---- remove ---- */

static int run_remove(const struct verb_call *call, void *ctx, struct err *err)
{
	_cleanup_doc_ struct doc d = doc_message();
	_cleanup_json_ json_t *body = NULL, *answer = NULL;
	struct cli *c = ctx;
	int r = cli_begin(c, call, err);

	if (r < 0)
		return r;
	doc_text(&d, "filesystem", call->args[0]);
	r = doc_finish(&d, &body, err);
	if (r < 0)
		return r;
	return cli_ask(c,
		       (struct http_call){
			       .method = "POST", .path = "/v1/storage/remove", .body = body },
		       &answer, err);
}

static const struct verb import_verb = {
	.name = "import",
	.args = "FILE",
	.help = "Import from CSV what projects occupy on file systems",
	.details =
		"The first line names the columns, in any order: project, filesystem, bytes; and\n"
		"if known files, limit, file_limit, time. Sizes are bytes, or have a unit (1.5TB,\n"
		"40TiB). A time is 2026-11-21T14:03:11Z, an offset for the Z, or seconds since\n"
		"1970; default: now. An empty field, and a limit of 0, is none. FILE - is standard\n"
		"input. The newest reading of each project and file system stays. Rows of no\n"
		"account are left out and named; a file with a mistake changes nothing.\n"
		"Operators only.",
	.examples = "reeve admin storage import project.csv\n"
		    "reeve-storage --kind group /export/home | reeve admin storage import -",
	.min_args = 1,
	.max_args = 1,
	.run = run_import,
};
static const struct verb remove_verb = {
	.name = "remove",
	.args = "FILESYSTEM",
	.help = "Remove all readings of a file system",
	.examples = "reeve admin storage remove /scratch-old",
	.min_args = 1,
	.max_args = 1,
	.run = run_remove,
};
static const struct verb *const verbs[] = { &import_verb, &remove_verb, &cli_verb_storage_help,
					    NULL };

static int run_storage(const struct verb_call *call, void *ctx, struct err *err)
{
	const struct verb_tool sub = {
		.name = "reeve admin storage",
		.help = "Import what projects occupy on file systems",
		.verbs = verbs,
	};

	return admin_dispatch(call, ctx, sub, err);
}

const struct verb admin_verb_storage = {
	.name = "storage",
	.args = "COMMAND ...",
	.help = "Import what projects occupy on file systems",
	.details = "'reeve admin storage help' lists the commands: import, remove.",
	.examples = "reeve admin storage import project.csv\n"
		    "reeve admin storage remove /scratch-old",
	.min_args = 1,
	.max_args = -1,
	.stop_at_args = true,
	.run = run_storage,
};
