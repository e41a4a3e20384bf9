/* table - rows of typed cells, and the forms in which they can be printed.
 *
 * A verb fills a table with exact figures; the renderer that --output chose makes people's
 * units of them (table) or leaves them exact (all others). A cell that was not set was not
 * measured: "-" in a table, an empty field, absent in json; never 0.
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
	CELL_BYTES,
	CELL_REQUEST, /* bytes as a user asked for them: in the family of units typed */
	CELL_SECONDS,
	CELL_DURATION_NS,
	CELL_DURATION_MS,
	CELL_TIME_NS,	/* since the epoch; people see it in the zone of the process, named:
			   "2026-11-21 14:03:11 EST". It is the site's once
			   a ledger was opened or the controller has answered. */
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

/* CSV is as RFC 4180 has it: a field may hold anything, line ends too. In the other forms of
 * rows nothing in a field can break a row, whatever users call their jobs:
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

/* `name` is the key of the rows in json. Both are kept, not copied. */
int table_new(const char *name, const struct table_column *columns, struct table **ret,
	      struct err *err);
struct table *table_free(struct table *t);
DEFINE_CLEANUP(struct table *, table_free)

/* What holds for all rows, in front of them in json: "time_zone": "Europe/Berlin". The key is
 * kept, the text copied; at most TABLE_NOTES_MAX. */
#define TABLE_NOTES_MAX 9
void table_note(struct table *t, const char *key, const char *text);
void table_note_int(struct table *t, const char *key, int64_t value);

/* Cells belong to the row added last. Memory that runs out is reported by table_print(). */
void table_row(struct table *t);
void table_int(struct table *t, const char *column, int64_t value);
void table_text(struct table *t, const char *column, const char *text); /* NULL: not set */
void table_tone(struct table *t, const char *column, enum table_cell_tone tone);

/* Not measured, where programs expect a value: null in json, "-" and empty elsewhere. */
void table_null(struct table *t, const char *column);
/* Begins a row of sums: last in a table, in json under "totals", in no other form, where a
 * program would add it to what it sums up. No row follows a total. */
void table_total(struct table *t);

size_t table_size(const struct table *t); /* rows, without totals */
/* Is the cell set in any row; or is it anywhere set and not 0? */
enum table_want { TABLE_SET, TABLE_NOT_ZERO };
bool table_has(const struct table *t, const char *column, enum table_want want);

/* --columns help prints the columns there are instead of the rows. -EINVAL, and nothing is
 * printed: --columns names one that does not exist (the message lists them); or a text is not
 * UTF-8, as json has to be. */
int table_print(const struct table *t, const struct table_format *f, struct err *err);

/* For people, as a table shows it. */
#define TABLE_CELL_MAX 64
const char *table_format_cell(enum table_cell_kind kind, int64_t value,
			      char buf[static TABLE_CELL_MAX]);
