/* SPDX-License-Identifier: GPL-2.0-or-later */
/* form.c - recognises the form of a history file; see form.h. */
#include <string.h>
#include "common/cleanup.h"
#include "controller/history/form.h"
#include "controller/history/pbs.h"
#include "controller/history/sacct.h"
#include "controller/history/swf.h"

#define DEFAULT_FIELDS 26
#define ROW_BARS_MIN 4 /* of a row of sacct: fewer say nothing */

static const char *const words[] = {
	[HISTORY_FORM_UNKNOWN] = "this is of an unknown form",
	[HISTORY_FORM_SWF] = "this is the Standard Workload Format: 'swf'",
	[HISTORY_FORM_SACCT] = "this is the output of sacct: 'sacct'",
	[HISTORY_FORM_SACCT_NARROW] =
		"its rows have fewer fields than the 26 of a file without a heading "
		"(jobid,jobidraw,cluster,partition,qos,account,group,gid,user,uid,submit,eligible,"
		"start,end,elapsed,exitcode,state,nnodes,ncpus,reqcpus,reqmem,reqtres,alloctres,"
		"timelimit,nodelist,jobname): put the line of its column names in front, by '|', "
		"or write it without --noheader",
	[HISTORY_FORM_SACCT_TABLE] =
		"this is the table that sacct prints for people: write it with --parsable2",
	[HISTORY_FORM_PBS] = "this is an accounting log of PBS or Torque: 'pbs'",
	[HISTORY_FORM_JSON] = "this is JSON: 'sacct' reads what 'sacct --json' prints",
	[HISTORY_FORM_YAML] = "this is YAML: write it with --json or --parsable2",
	[HISTORY_FORM_HTML] = "this is a web page, not the file itself",
	[HISTORY_FORM_UTF16] = "this is UTF-16: convert it with 'iconv -f UTF-16 -t UTF-8'",
	[HISTORY_FORM_PACKED] = "this is compressed, and not by gzip: unpack it first",
};
_Static_assert(ARRAY_LEN(words) == _HISTORY_FORM_MAX, "words for each form");

const char *history_form_words(enum history_form f)
{
	return f < _HISTORY_FORM_MAX ? words[f] : words[HISTORY_FORM_UNKNOWN];
}

static bool has_head(const char *text, size_t size, const char *head)
{
	size_t n = strlen(head);

	return size >= n && !memcmp(text, head, n);
}

static bool is_packed(const char *text, size_t size)
{
	return has_head(text, size,
			"\xfd"
			"7zXZ") ||
	       has_head(text, size, "BZh") || has_head(text, size, "\x28\xb5\x2f\xfd") ||
	       has_head(text, size, "PK\x03\x04");
}

/* "------------ ---------- ...", below the names of the columns. */
static bool is_rule(const char *line, size_t size)
{
	size_t dashes = 0;

	for (size_t i = 0; i < size; i++) {
		if (line[i] != '-' && line[i] != ' ' && line[i] != '\r')
			return false;
		dashes += line[i] == '-';
	}
	return dashes > 8;
}

static enum history_form form_of_bars(const char *line, size_t size)
{
	struct sacct_columns heading;
	int bars = 0;

	if (sacct_parse_heading(line, size, &heading))
		return HISTORY_FORM_SACCT;
	for (size_t i = 0; i < size; i++)
		bars += line[i] == '|';
	if (bars < ROW_BARS_MIN || *line < '0' || *line > '9')
		return HISTORY_FORM_UNKNOWN;
	return bars + 1 < DEFAULT_FIELDS ? HISTORY_FORM_SACCT_NARROW : HISTORY_FORM_SACCT;
}

static enum history_form form_of_line(const char *line, size_t size)
{
	int64_t v[_SWF_FIELD_MAX];
	struct pbs_head head;

	if (has_head(line, size, ";"))
		return HISTORY_FORM_SWF;
	if (has_head(line, size, "{") || has_head(line, size, "["))
		return HISTORY_FORM_JSON;
	if (has_head(line, size, "<"))
		return HISTORY_FORM_HTML;
	if (has_head(line, size, "%YAML"))
		return HISTORY_FORM_YAML;
	if (swf_parse_fields(line, size, v) == HISTORY_OK)
		return HISTORY_FORM_SWF;
	if (pbs_parse_head(line, size, &head) == HISTORY_OK)
		return HISTORY_FORM_PBS;
	return form_of_bars(line, size);
}

enum history_form history_form_of(const char *text, size_t size)
{
	const char *end = text + size, *newline;
	enum history_form f;

	if (is_packed(text, size))
		return HISTORY_FORM_PACKED;
	if (has_head(text, size, "\xff\xfe") || has_head(text, size, "\xfe\xff"))
		return HISTORY_FORM_UTF16;
	while (text < end && memchr(" \t\r\n", *text, 4))
		text++;
	if (text == end)
		return HISTORY_FORM_UNKNOWN;
	newline = memchr(text, '\n', (size_t)(end - text));
	newline = newline ? newline : end;
	if (has_head(text, (size_t)(end - text), "---\n"))
		return HISTORY_FORM_YAML;
	f = form_of_line(text, (size_t)(newline - text));
	if (f != HISTORY_FORM_UNKNOWN || newline == end)
		return f;
	text = newline + 1;
	newline = memchr(text, '\n', (size_t)(end - text));
	return is_rule(text, (size_t)((newline ? newline : end) - text))
		       ? HISTORY_FORM_SACCT_TABLE
		       : HISTORY_FORM_UNKNOWN;
}
