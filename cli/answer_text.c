/* SPDX-License-Identifier: GPL-2.0-or-later */
/* answer_text.c - reads values of an answer, escapes and prints text, and builds queries; see
 * cli.h. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "cli/cli.h"
#include "cli/output/text.h"
#include "common/err.h"
#include "common/model/amount.h"
#include "common/wire/wire.h"

const char *cli_text(const json_t *j, const char *key)
{
	const char *text = json_string_value(json_object_get(j, key));

	return text && *text ? text : NULL;
}

int64_t cli_int(const json_t *j, const char *key, int64_t def)
{
	const json_t *v = json_object_get(j, key);

	return json_is_integer(v) ? json_integer_value(v) : def;
}

void cli_add_row(struct table *t, const struct table_column *columns, const json_t *j)
{
	table_row(t);
	for (const struct table_column *col = columns; col->name; col++) {
		if (col->kind == CELL_TEXT || col->kind == CELL_FIGURE)
			table_text(t, col->name, cli_text(j, col->name));
		else if (json_is_integer(json_object_get(j, col->name)))
			table_int(t, col->name, cli_int(j, col->name, 0));
	}
}

static void put_safe(FILE *to, const char *text, enum text_keep keep)
{
	char *safe = text_safe(text, keep);

	fputs(safe ? safe : "(out of memory)", to);
	free(safe);
}

void cli_put(FILE *to, const char *text)
{
	put_safe(to, text, TEXT_LINES);
}

void cli_put_line(FILE *to, const char *text)
{
	put_safe(to, text, TEXT_LINE);
}

void cli_complain(const char *verb, const struct err *err)
{
	fprintf(stderr, "reeve%s%s: ", verb ? " " : "", verb ? verb : "");
	cli_put(stderr, err->text);
	fputc('\n', stderr);
}

/* isalnum() depends on the locale. */
static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Percent-encodes all but the unreserved characters of RFC 3986. NULL: no memory. */
static char *escape_query(const char *text)
{
	char *out = malloc(3 * strlen(text) + 1), *p = out;

	for (; out && *text; text++) {
		if (is_plain(*text) || strchr("-._~", *text))
			*p++ = *text;
		else
			p += sprintf(p, "%%%02X", (unsigned char)*text);
	}
	if (out)
		*p = '\0';
	return out;
}

int cli_query(char **path, const char *key, const char *value, struct err *err)
{
	_cleanup_free_ char *escaped = value ? escape_query(value) : NULL;
	char *longer = NULL;
	int n;

	if (!value)
		return 0;
	n = escaped ? asprintf(&longer, "%s%c%s=%s", *path, strchr(*path, '?') ? '&' : '?', key,
			       escaped)
		    : -1;
	if (n < 0)
		return err_set(err, -ENOMEM, "out of memory");
	free(*path);
	*path = longer;
	return 0;
}

int cli_name_job(struct job_id id, int r, struct err *err)
{
	char name[JOB_ID_TEXT_MAX + 4], text[JOB_ID_TEXT_MAX];

	snprintf(name, sizeof(name), "job %s", job_id_format(id, text));
	return strstr(err->text, name) ? r : err_prefix(err, r, "%s", name);
}

int cli_parse_job(const char *text, int64_t *ret, struct err *err)
{
	int64_t job = 0;

	if (amount_parse_count(text, &job, NULL) < 0 || job < 1)
		return err_set(err, -EINVAL,
			       "'%.40s' is not a job number; 'reeve jobs' lists yours", text);
	*ret = job;
	return 0;
}

int cli_parse_job_id(const char *text, struct job_id *ret, struct err *err)
{
	if (job_id_parse(text, ret, NULL) < 0)
		return err_set(err, -EINVAL,
			       "'%.40s' is not a job number; 'reeve jobs' lists yours", text);
	return 0;
}

/* ---- documents for programs ---- */

#define PATH_MAX_BYTES 512

static const struct table_column document_columns[] = {
	{ "key", "KEY", CELL_TEXT },
	{ "value", "VALUE", CELL_TEXT },
	{ NULL, NULL, 0 },
};

/* Exact, and independent of the locale: 17 digits give a double back. */
static void add_scalar(struct table *t, const char *at, const json_t *j)
{
	char number[32];

	table_row(t);
	table_text(t, "key", at);
	if (json_is_string(j)) {
		table_text(t, "value", json_string_value(j));
	} else if (json_is_integer(j)) {
		snprintf(number, sizeof(number), "%" JSON_INTEGER_FORMAT,
			 json_integer_value(j));
		table_text(t, "value", number);
	} else if (json_is_real(j)) {
		snprintf(number, sizeof(number), "%.17g", json_real_value(j));
		table_text(t, "value", number);
	} else if (json_is_boolean(j)) {
		table_text(t, "value", json_is_true(j) ? "true" : "false");
	}
}

/* Adds one row for each leaf below j, whose path is `at` ("job.usage.cpu_ns"). jansson limits the
 * depth to 2048; a path longer than PATH_MAX_BYTES is cut. */
static void add_leaves(struct table *t, char *at, json_t *j)
{
	size_t end = strlen(at), i;
	const char *key;
	json_t *v;

	if (json_is_object(j)) {
		json_object_foreach(j, key, v)
		{
			snprintf(at + end, PATH_MAX_BYTES - end, "%s%s", end ? "." : "", key);
			add_leaves(t, at, v);
		}
	} else if (json_is_array(j)) {
		json_array_foreach(j, i, v)
		{
			snprintf(at + end, PATH_MAX_BYTES - end, "[%zu]", i);
			add_leaves(t, at, v);
		}
	} else {
		add_scalar(t, at, j);
	}
	at[end] = '\0';
}

int cli_print_document(const struct cli *c, const json_t *doc, struct err *err)
{
	_cleanup_(table_freep) struct table *t = NULL;
	char at[PATH_MAX_BYTES] = "";
	int r;

	if (c->format.output == TABLE_JSON && c->format.columns)
		return err_set(err, -EINVAL,
			       "a document has no columns: leave --columns out with --json");
	if (c->format.output == TABLE_JSON) {
		if (json_dumpf(doc, c->format.to, JSON_INDENT(2) | JSON_ENSURE_ASCII) < 0)
			return err_set(err, -EIO, "cannot write the output");
		fputc('\n', c->format.to);
		return 0;
	}
	r = table_new("document", document_columns, &t, err);
	if (r < 0)
		return r;
	add_leaves(t, at, (json_t *)(uintptr_t)doc);
	return table_print(t, &c->format, err);
}
