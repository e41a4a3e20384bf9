/* SPDX-License-Identifier: GPL-2.0-or-later */
/* usage_storage.c - asks the controller what accounts occupy, and prints it; see usage_storage.h. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "cli/views/usage_storage.h"
#include "common/err.h"
#include "common/model/amount.h"
#include "common/wire/wire.h"

#define ANSWERS_MAX 100000

/* Amounts of a row are in the units of the allotted amount, else of the limit. */
static const struct table_column columns[] = {
	{ "account", "ACCOUNT", CELL_TEXT },
	{ "filesystem", "FILE SYSTEM", CELL_TEXT },
	{ "bytes", "USED", CELL_FIGURE },
	{ "limit_bytes", "LIMIT", CELL_FIGURE },
	{ "allotted_bytes", "ALLOTTED", CELL_FIGURE },
	{ "used_percent", "% USED", CELL_FIGURE },
	{ "files", "FILES", CELL_COUNT },
	{ "limit_files", "-FILE LIMIT", CELL_COUNT },
	{ "at_ns", "READ", CELL_TIME_NS },
	{ 0 },
};

static void put_bytes(struct table *t, const char *column, const json_t *row, bool is_people)
{
	int64_t bytes = cli_int(row, column, -1);
	int64_t like = cli_int(row, "allotted_bytes", cli_int(row, "limit_bytes", 0));
	char text[AMOUNT_TEXT_MAX];

	if (bytes < 0)
		return;
	if (is_people)
		amount_format_bytes_like(bytes, like, text);
	else
		snprintf(text, sizeof(text), "%" PRId64, bytes);
	table_text(t, column, text);
}

static void put_count(struct table *t, const char *column, const json_t *row)
{
	if (json_is_integer(json_object_get(row, column)))
		table_int(t, column, cli_int(row, column, 0));
}

static void put_row(struct table *t, const json_t *row, bool is_people)
{
	int64_t ppm = cli_int(row, "used_ppm", -1);

	table_row(t);
	table_text(t, "account", cli_text(row, "account"));
	table_text(t, "filesystem", cli_text(row, "filesystem"));
	put_bytes(t, "bytes", row, is_people);
	put_bytes(t, "limit_bytes", row, is_people);
	put_bytes(t, "allotted_bytes", row, is_people);
	if (ppm >= 0)
		table_decimal(t, "used_percent", 1, (double)ppm / 10000);
	put_count(t, "files", row);
	put_count(t, "limit_files", row);
	put_count(t, "at_ns", row);
}

/* One answer has a part of the accounts. *next is the `after` of the one to come, or NULL. */
static int read_part(struct cli *c, const char *account, struct table *t, char **next,
		     struct err *err)
{
	_cleanup_free_ char *path = strdup("/v1/storage");
	_cleanup_json_ json_t *answer = NULL;
	const json_t *row;
	const char *after;
	size_t i;
	int r;

	if (!path)
		return err_set(err, -ENOMEM, "out of memory");
	r = cli_query(&path, "account", account, err);
	if (r < 0)
		return r;
	r = cli_query(&path, "after", *next, err);
	if (r < 0)
		return r;
	r = cli_get(c, path, &answer, err);
	if (r < 0)
		return r;
	json_array_foreach(json_object_get(answer, "storage"), i, row)
		put_row(t, row, c->format.output == TABLE_TABLE);
	after = cli_text(answer, "next");
	free(*next);
	*next = after ? strdup(after) : NULL;
	return after && !*next ? err_set(err, -ENOMEM, "out of memory") : 0;
}

static int check_options(const struct verb_call *call, struct err *err)
{
	static const char *const others[] = { "by",	"user",	   "cluster",  "start",
					      "end",	"monthly", "group",    "years",
					      "ledger", "profile", "accounts", "at" };

	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		if (verb_count(call, others[i]))
			return err_set(
				err, -EINVAL,
				"--%s does not go with --storage, which shows the newest "
				"reading of each file system",
				others[i]);
	return 0;
}

int usage_storage_run(struct cli *c, const struct verb_call *call, struct err *err)
{
	_cleanup_(table_freep) struct table *t = NULL;
	_cleanup_free_ char *next = NULL;
	int n = 0, r = check_options(call, err);

	if (r < 0)
		return r;
	r = cli_begin(c, call, err);
	if (r < 0)
		return r;
	r = table_new("storage", columns, &t, err);
	if (r < 0)
		return r;
	do {
		r = read_part(c, verb_value(call, "account"), t, &next, err);
		if (r < 0)
			return r;
	} while (next && ++n < ANSWERS_MAX);
	r = table_print(t, &c->format, err);
	if (r == 0 && table_size(t) == 0 && c->shows_progress)
		fprintf(stderr, "no reading of the storage of these accounts was imported\n");
	return r;
}
