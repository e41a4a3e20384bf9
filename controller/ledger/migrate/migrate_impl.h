/* SPDX-License-Identifier: GPL-2.0-or-later */
/* migrate_impl - the tables of a ledger as a migration sees them; shared by the files of this folder. */
#pragma once
#include "controller/ledger/migrate/migrate.h"
#include "controller/ledger/store_sqlite.h"
#include "controller/postgres/pg_load.h"

#define MIGRATE_COLUMNS_MAX 80
#define MIGRATE_NAME_MAX 64

enum migrate_type { MIGRATE_INT, MIGRATE_TEXT, MIGRATE_BLOB };
struct migrate_column {
	char name[MIGRATE_NAME_MAX];
	enum migrate_type type;
};
struct migrate_table {
	char name[MIGRATE_NAME_MAX];
	struct migrate_column columns[MIGRATE_COLUMNS_MAX];
	int n_columns;
	int key[MIGRATE_COLUMNS_MAX]; /* columns of the primary key, in its order */
	int n_key;
	char *list, *key_list,
		*key_list_down; /* names in quotes, with commas; down: with DESC */
	/* The SELECTs of the source: one to copy, one to compare. db.h knows a statement by the address of
	 * its text, so the texts live as long as the source is open. */
	char *reads[2];
	int n_reads;
};
struct migrate {
	const struct store_migration *how;
	struct store_migrated n;
	struct store *source;
	struct pg_load *target;
	struct migrate_table *tables;
	int n_tables;
	int schema_version;
};

/* Bytes that grow. */
struct migrate_buffer {
	char *data;
	size_t n, size;
};
int migrate_buffer_add(struct migrate_buffer *b, const char *data, size_t n, struct err *err);

/* tables.c: reads the tables of the source into m->tables. migrate_tables_done() frees them. */
int migrate_tables_load(struct migrate *m, struct err *err);
void migrate_tables_done(struct migrate *m);
/* The rows of a table of the source in key order, those behind `after` (SQL, a row value; NULL: all). */
int migrate_read(struct migrate *m, struct migrate_table *t, const char *after,
		 struct db_row **ret, struct err *err);

/* encode.c: appends the row as a line of COPY's text format. -EBADMSG: a text that PostgreSQL cannot
 * store. */
int migrate_encode(const struct migrate_table *t, const struct db_row *row,
		   struct migrate_buffer *to, struct err *err);
/* "job=17, attempt=1" of such a line. *ret is malloc()ed. */
int migrate_format_key(const struct migrate_table *t, const char *line, char **ret,
		       struct err *err);
/* The start of the field of a line, and its length. */
const char *migrate_field(const char *line, int column, size_t *ret_size);
/* Compares two lines by their keys, as both databases order rows. */
int migrate_compare_keys(const struct migrate_table *t, const char *a, const char *b);

/* target.c: makes the tables in an empty target and takes their secondary indices away, or finds those of
 * an unfinished migration. `source` identifies the file and its content. */
int migrate_target_open(struct migrate *m, const char *source, struct err *err);
/* The row value of the last key that is in the table, as SQL: *ret is malloc()ed. 1; 0: no row. */
int migrate_target_last(struct migrate *m, const struct migrate_table *t, char **ret,
			struct err *err);
/* Makes the secondary indices again, and sets the next numbers of identity columns. */
int migrate_target_index(struct migrate *m, struct err *err);
/* All rows are the same: opens the target to controllers. */
int migrate_target_finish(struct migrate *m, struct err *err);

/* compare.c: compares all rows of all tables. */
int migrate_compare(struct migrate *m, struct err *err);

void migrate_report(const struct migrate *m, enum store_migrate_stage stage, const char *table,
		    int64_t rows);
