/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ingest_bench.c - rows a second into the table of imported jobs in PostgreSQL: as an import adds them (1,024 as arrays in one
 * statement), and by COPY into a temporary table and INSERT ... SELECT, 1,000 to 100,000 rows at a time; in turns, the same rows,
 * 100,000 in a transaction.
 *	ingest_bench PLACE ROWS */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "common/clock.h"
#include "common/db/db.h"
#include "common/err.h"
#include "controller/postgres/pg.h"
#include "controller/postgres/pg_load.h"

#define TOGETHER 1024 /* as import_impl.h has it */
#define BATCH 100000
#define COLUMNS 19
#define NO INT64_MIN

extern const char *const store_migrations[];

static const char insert_sql[] =
	"INSERT INTO imported VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14,"
	" ?15, ?16, ?17, ?18, ?19) ON CONFLICT DO NOTHING";

static void make_row(int64_t id, int64_t v[static COLUMNS])
{
	const int64_t row[COLUMNS] = { id,
				       id % 5000,
				       1600000000 + id,
				       60,
				       id % 9000 + 1,
				       8,
				       0,
				       0,
				       7200,
				       NO,
				       NO,
				       id * 3,
				       8,
				       1,
				       (id % 9000 + 1) * 8000,
				       4000,
				       NO,
				       1,
				       NO };

	memcpy(v, row, sizeof(row));
}

static void exit_with(const struct err *err)
{
	printf("no figures: %s\n", err->text);
	exit(1);
}

static double time_arrays(const char *place, int64_t first, int64_t n)
{
	static int64_t values[TOGETHER * COLUMNS], changed[TOGETHER];
	int64_t from = clock_ns(CLOCK_MONOTONIC);
	struct err err = { "" };
	struct db *db;
	int r = pg_open(place, store_migrations, &db, &err);

	for (int64_t at = 0; at < n && r >= 0; at += TOGETHER) {
		struct db_int_rows rows = { values, 0, COLUMNS, NO };

		if (at % BATCH < TOGETHER)
			r = at ? db_commit(db, &err) : 0;
		if (r >= 0 && at % BATCH < TOGETHER)
			r = db_begin(db, &err);
		for (; rows.n_rows < TOGETHER && at + (int64_t)rows.n_rows < n; rows.n_rows++)
			make_row(first + at + (int64_t)rows.n_rows,
				 values + rows.n_rows * COLUMNS);
		if (r >= 0)
			r = db_run_int_rows(db, insert_sql, &rows, changed, &err);
	}
	if (r >= 0)
		r = db_commit(db, &err);
	if (r < 0)
		exit_with(&err);
	db_close(db);
	return (double)(clock_ns(CLOCK_MONOTONIC) - from) / 1e9;
}

static size_t write_line(int64_t id, char *to)
{
	int64_t v[COLUMNS];
	char *p = to;

	make_row(id, v);
	for (int i = 0; i < COLUMNS; i++)
		p += v[i] == NO
			     ? sprintf(p, "\\N%c", i < COLUMNS - 1 ? '\t' : '\n')
			     : sprintf(p, "%" PRId64 "%c", v[i], i < COLUMNS - 1 ? '\t' : '\n');
	return (size_t)(p - to);
}

static int copy_batch(struct pg_load *l, int64_t first, int64_t n, struct err *err)
{
	static char lines[TOGETHER * COLUMNS * 22];
	int r = pg_load_begin_copy(l, "COPY incoming FROM STDIN", err);

	for (int64_t at = 0; at < n && r >= 0;) {
		size_t size = 0;

		for (int i = 0; i < TOGETHER && at < n; i++, at++)
			size += write_line(first + at, lines + size);
		r = pg_load_put(l, lines, size, err);
	}
	if (r >= 0)
		r = pg_load_end_copy(l, err);
	return r < 0 ? r
		     : pg_load_exec(l,
				    "INSERT INTO imported SELECT * FROM incoming ON CONFLICT DO"
				    " NOTHING; TRUNCATE incoming",
				    err);
}

/* `each`: rows of one COPY */
static double time_copies(const char *place, int64_t first, int64_t n, int64_t each)
{
	int64_t from = clock_ns(CLOCK_MONOTONIC);
	struct err err = { "" };
	struct pg_load *l;
	int r = pg_load_open(place, &l, &err);

	if (r >= 0)
		r = pg_load_exec(l,
				 "SET synchronous_commit = on;"
				 "CREATE TEMP TABLE incoming(LIKE imported)",
				 &err);
	for (int64_t at = 0; at < n && r >= 0; at += each) {
		if (at % BATCH < each)
			r = pg_load_exec(l, at ? "COMMIT; BEGIN" : "BEGIN", &err);
		if (r >= 0)
			r = copy_batch(l, first + at, n - at < each ? n - at : each, &err);
	}
	if (r >= 0)
		r = pg_load_exec(l, "COMMIT", &err);
	if (r < 0)
		exit_with(&err);
	pg_load_close(l);
	return (double)(clock_ns(CLOCK_MONOTONIC) - from) / 1e9;
}

int main(int argc, char **argv)
{
	static const int64_t sizes[] = { 1000, 10000, 50000, BATCH };
	int64_t n = argc > 2 ? strtoll(argv[2], NULL, 10) : 300000, first = 1;

	for (int round = 1; round <= 3 && argc > 1; round++) {
		double a = time_arrays(argv[1], first, n);

		first += n;
		printf("round %d: %" PRId64 " rows; arrays %.0f rows/s", round, n,
		       (double)n / a);
		for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes); k++) {
			double c = time_copies(argv[1], first, n, sizes[k]);

			first += n;
			printf("; COPY of %" PRId64 " %.0f rows/s, x%.2f of the time", sizes[k],
			       (double)n / c, c / a);
		}
		printf("\n");
	}
	return 0;
}
