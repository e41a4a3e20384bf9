/* SPDX-License-Identifier: GPL-2.0-or-later */
/* table - rows of typed cells, and the forms in which they can be printed.
 *
 * A verb fills a table with exact figures; the renderer that --output chose makes people's
 * units of them (table) or leaves them exact (all others). A cell that the verb does not set was
 * not measured: "-" in a table, an empty field in rows, absent in JSON; never 0.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "common/cleanup.h"

struct err;
struct table;

enum table_cell_kind {
	CELL_TEXT,
	CELL_FIGURE, /* text that is a figure: set to the right; in json a number, where it
			is one ("inf" is a text) */
	CELL_COUNT,
	CELL_BYTES,   /* beside a CELL_REQUEST in that one's units */
	CELL_REQUEST, /* bytes as a user asked for them: in the family of units typed */
	CELL_SECONDS,
	CELL_DURATION_NS,
	CELL_DURATION_MS,
	CELL_TIME_NS,	/* since the epoch; people see "2026-11-21 14:03:11 EST" in the zone of
			   the process, which is the site's once a ledger was opened or the
			   controller has answered */
	CELL_CHARGE_MS, /* milli-equivalent-seconds; people see equivalent hours */
};

/* Tables end with a column without a name. */
struct table_column {
	const char *name;  /* for json, csv and --columns; says the unit */
	const char *title; /* for people; with a leading "-": shown only when asked for by
			      --columns */
	enum table_cell_kind kind;
};

enum table_cell_tone { TONE_PLAIN, TONE_GOOD, TONE_BAD, TONE_DIM };

/* CSV follows RFC 4180: a field may contain line ends. In the other forms of rows a field cannot
 * break a row, whatever users call their jobs:
 * - PARSABLE (fields ended by |) and PARSABLE2 (separated by |) write a control character, a
 *   backslash and a | as a backslash and its three octal digits, \174 for |: splitting at |
 *   is always right, and printf '%b' gives the field back;
 * - RAW (tabs between) writes control characters so.
 */
enum table_output {
	TABLE_TABLE,
	TABLE_JSON,
	TABLE_CSV,
	TABLE_RAW,
	TABLE_PARSABLE,
	TABLE_PARSABLE2,
	_TABLE_OUTPUT_MAX
};

struct table_format {
	enum table_output output;
	const char *columns; /* comma list; NULL: the usual ones */
	bool no_header, color;
	FILE *to;
};

/* `name` is the key of the rows in JSON. Both pointers must stay valid: nothing is copied. */
int table_new(const char *name, const struct table_column *columns, struct table **ret,
	      struct err *err);
struct table *table_free(struct table *t);
DEFINE_CLEANUP(struct table *, table_free)

/* Adds a value that holds for all rows; JSON has it in front of them:
 * "time_zone": "Europe/Berlin". The key must stay valid, the text is copied; more than
 * TABLE_NOTES_MAX are dropped. */
#define TABLE_NOTES_MAX 16
void table_note(struct table *t, const char *key, const char *text);
void table_note_int(struct table *t, const char *key, int64_t value);

/* Amounts of rows without a CELL_REQUEST are in the units of this amount, which a user typed. */
void table_like(struct table *t, int64_t bytes);

/* Cells belong to the row added last. Memory that runs out is reported by table_print(). */
void table_row(struct table *t);
void table_int(struct table *t, const char *column, int64_t value);
void table_text(struct table *t, const char *column, const char *text); /* NULL: not set */
/* The same for a text of `size` bytes, which needs no NUL behind it. */
void table_text_n(struct table *t, const char *column, const char *text, size_t size);
/* A text with so many decimals, or "inf"; NaN: not set. */
void table_decimal(struct table *t, const char *column, int decimals, double value);
void table_tone(struct table *t, const char *column, enum table_cell_tone tone);

/* Marks a cell as not measured where programs expect the key: null in JSON, elsewhere as unset. */
void table_null(struct table *t, const char *column);
/* Begins a row of sums: the last of a table, in JSON under "totals". Rows for programs leave it
 * out, because a program would add it to what it sums up. No row follows a total. */
void table_total(struct table *t);

size_t table_size(const struct table *t); /* rows, without totals */
/* Is the cell set in any row; or is it anywhere set and not 0? */
enum table_want { TABLE_SET, TABLE_NOT_ZERO };
bool table_has(const struct table *t, const char *column, enum table_want want);

/* Prints the table, or with --columns help the names of its columns. -EINVAL, and nothing is
 * printed: --columns names an unknown one (the message lists them), or a text is not UTF-8, which
 * JSON needs. */
int table_print(const struct table *t, const struct table_format *f, struct err *err);
/* Prints the rows as one part of a long list, and forgets them; the parts together are printed as one table, without totals. Columns are
 * as wide as the parts so far need. After the first part an error leaves what was printed. */
enum table_rest { TABLE_MORE, TABLE_LAST };
int table_print_part(struct table *t, const struct table_format *f, enum table_rest rest,
		     struct err *err);

/* Formats a value for people, as a table shows it. */
#define TABLE_CELL_MAX 64
const char *table_format_cell(enum table_cell_kind kind, int64_t value,
			      char buf[static TABLE_CELL_MAX]);
