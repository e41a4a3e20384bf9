/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sacct.c - which column of sacct's output is which, and the fields of a line; see sacct.h. What
 * the fields say: sacct_row.c. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "controller/history/sacct.h"

#define COLUMNS_MAX 512

/* What sacct calls the fields; the first name of a field is the one that messages use. */
static const struct {
	const char *name;
	enum sacct_field field;
} names[] = {
	{ "JobID", SACCT_JOB },
	{ "JobIDRaw", SACCT_JOB_RAW },
	{ "Cluster", SACCT_CLUSTER },
	{ "Partition", SACCT_PARTITION },
	{ "QOS", SACCT_QOS },
	{ "Account", SACCT_ACCOUNT },
	{ "User", SACCT_USER },
	{ "Submit", SACCT_SUBMIT },
	{ "Start", SACCT_START },
	{ "End", SACCT_END },
	{ "Elapsed", SACCT_ELAPSED },
	{ "ElapsedRaw", SACCT_ELAPSED_RAW },
	{ "State", SACCT_STATE },
	{ "NNodes", SACCT_NODES },
	{ "AllocNodes", SACCT_NODES },
	{ "NCPUS", SACCT_CPUS },
	{ "AllocCPUS", SACCT_CPUS },
	{ "ReqMem", SACCT_MEM_ASKED },
	{ "AllocTRES", SACCT_TRES },
	{ "Timelimit", SACCT_LIMIT },
	{ "TimelimitRaw", SACCT_LIMIT_RAW },
};
/* Columns whose text users write. */
static const char *const free_texts[] = {
	"JobName",     "Comment", "AdminComment", "SystemComment", "Constraints",
	"SubmitLine",  "WorkDir", "Extra",	  "WCKey",	   "Reason",
	"Reservation", "StdIn",	  "StdOut",	  "StdErr",	   "Licenses",
};

/* ---- the heading ---- */

/* The text before the next bar; *rest goes behind it. */
static struct history_text cut_field(struct history_text *rest)
{
	const char *bar = rest->size ? memchr(rest->at, '|', rest->size) : NULL;
	struct history_text t = { rest->at, bar ? (size_t)(bar - rest->at) : rest->size };

	*rest = bar ? (struct history_text){ bar + 1, rest->size - t.size - 1 }
		    : (struct history_text){ rest->at + rest->size, 0 };
	return t;
}

static bool is_column_name(struct history_text t)
{
	for (size_t i = 0; i < t.size; i++) {
		char c = t.at[i];
		bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');

		if (!is_letter && (i == 0 || ((c < '0' || c > '9') && c != '_')))
			return false;
	}
	return t.size > 0;
}

static void note_column(struct history_text t, int column, struct sacct_columns *c)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (history_is_like(t, names[i].name) && c->at[names[i].field] < 0)
			c->at[names[i].field] = column;
	for (size_t i = 0; i < sizeof(free_texts) / sizeof(*free_texts); i++) {
		if (!history_is_like(t, free_texts[i]))
			continue;
		c->free_first = c->free_first < 0 ? column : c->free_first;
		c->free_last = column;
	}
}

/* Rows begin with a number: no row is a heading. `sacct --parsable` has a bar at the end. */
bool sacct_parse_heading(const char *line, size_t size, struct sacct_columns *ret)
{
	struct history_text rest = { line, size };

	*ret = (struct sacct_columns){ .free_first = -1, .free_last = -1 };
	for (int i = 0; i < _SACCT_FIELD_MAX; i++)
		ret->at[i] = -1;
	if (!size || !memchr(line, '|', size))
		return false;
	while (rest.size) {
		struct history_text t = cut_field(&rest);

		if (!is_column_name(t) || ret->n == COLUMNS_MAX)
			return false;
		note_column(t, ret->n++, ret);
	}
	ret->n += line[size - 1] == '|';
	return ret->at[SACCT_JOB] >= 0 || ret->at[SACCT_JOB_RAW] >= 0 ||
	       (ret->at[SACCT_START] >= 0 && ret->at[SACCT_END] >= 0);
}

/* Which columns without which no row is a job that can be charged. */
static void name_missing(struct sacct *f)
{
	static const struct {
		const char *name;
		enum sacct_field either, or ;
	} needed[] = { { "JobIDRaw", SACCT_JOB_RAW, SACCT_JOB },
		       { "Start", SACCT_START, SACCT_START },
		       { "End", SACCT_END, SACCT_END },
		       { "State", SACCT_STATE, SACCT_STATE },
		       { "Elapsed", SACCT_ELAPSED, SACCT_ELAPSED_RAW },
		       { "NCPUS", SACCT_CPUS, SACCT_TRES } };
	size_t n = 0;

	f->missing[0] = '\0';
	for (size_t i = 0; i < sizeof(needed) / sizeof(*needed); i++)
		if (f->columns.at[needed[i].either] < 0 && f->columns.at[needed[i].or ] < 0)
			n += (size_t)snprintf(f->missing + n, sizeof(f->missing) - n, "%s%s",
					      n ? "," : "", needed[i].name);
}

/* ---- a line ---- */

/* Where the field is among `n` fields of a row; -1: it cannot be known. */
static int place_column(const struct sacct_columns *c, int column, int n)
{
	if (n == c->n || column < c->free_first)
		return column;
	return column > c->free_last ? column + n - c->n : -1;
}

static int split_line(const struct sacct_columns *c, struct history_text line,
		      struct history_text t[static _SACCT_FIELD_MAX])
{
	struct history_text all[COLUMNS_MAX];
	int n = 1, at;

	for (size_t i = 0; i < line.size; i++)
		n += line.at[i] == '|';
	if (n < c->n)
		return HISTORY_MISSING_FIELDS;
	if (n > COLUMNS_MAX || (n > c->n && c->free_first < 0))
		return HISTORY_EXTRA_FIELDS;
	for (int i = 0; i < n; i++)
		all[i] = cut_field(&line);
	for (int i = 0; i < _SACCT_FIELD_MAX; i++) {
		t[i] = (struct history_text){ 0 };
		at = c->at[i] < 0 ? -1 : place_column(c, c->at[i], n);
		if (c->at[i] >= 0 && at < 0)
			return HISTORY_EXTRA_FIELDS;
		if (at >= 0)
			t[i] = all[at];
	}
	return HISTORY_OK;
}

int sacct_parse_line(struct sacct *f, const char *line, size_t size, struct history_job *ret)
{
	static const char standard[] = SACCT_DEFAULT_COLUMNS;
	struct history_text t[_SACCT_FIELD_MAX];
	struct sacct_columns heading;
	int why;

	history_init(ret);
	if (size && line[size - 1] == '\r')
		size--;
	if (!size)
		return SACCT_NO_JOB;
	if (sacct_parse_heading(line, size, &heading)) {
		f->columns = heading;
		name_missing(f);
		return SACCT_NO_JOB;
	}
	if (!f->columns.n)
		sacct_parse_heading(standard, sizeof(standard) - 1, &f->columns);
	why = split_line(&f->columns, (struct history_text){ line, size }, t);
	return why == HISTORY_OK ? sacct_row_parse(f, t, ret) : why;
}
