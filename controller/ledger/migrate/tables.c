/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tables.c - reads from the source which tables a ledger has, their columns and primary keys, and makes
 * the SELECT that reads a table in the order of its key. See migrate_impl.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/ledger/migrate/migrate_impl.h"

int migrate_buffer_add(struct migrate_buffer *b, const char *data, size_t n, struct err *err)
{
	if (b->n + n > b->size) {
		size_t size = (b->n + n) * 2;
		char *larger = realloc(b->data, size);

		if (!larger)
			return err_set(err, -ENOMEM, "out of memory");
		b->data = larger;
		b->size = size;
	}
	memcpy(b->data + b->n, data, n);
	b->n += n;
	return 0;
}

void migrate_report(const struct migrate *m, enum store_migrate_stage stage, const char *table,
		    int64_t rows)
{
	const struct store_migrate_progress p = { stage, table, rows };

	if (m->how->on_progress)
		m->how->on_progress(m->how->ctx, &p);
}

/* The strict types of the ledger's tables. -EINVAL: another. */
static int type_of(const char *text, enum migrate_type *ret)
{
	static const char *const names[] = {
		[MIGRATE_INT] = "INTEGER", [MIGRATE_TEXT] = "TEXT", [MIGRATE_BLOB] = "BLOB"
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (!strcmp(text, names[i])) {
			*ret = (enum migrate_type)i;
			return 0;
		}
	return -EINVAL;
}

enum column_column { COLUMN_NAME, COLUMN_TYPE, COLUMN_KEY };

static int add_column(struct migrate_table *t, struct db_row *st, struct err *err)
{
	struct migrate_column *c = &t->columns[t->n_columns];
	int64_t at = db_int(st, COLUMN_KEY); /* from 1 on; 0: not of the primary key */

	if (t->n_columns == MIGRATE_COLUMNS_MAX || at > MIGRATE_COLUMNS_MAX)
		return err_set(err, -EINVAL, "table %s has more than %d columns", t->name,
			       MIGRATE_COLUMNS_MAX);
	snprintf(c->name, sizeof(c->name), "%s", store_text(st, COLUMN_NAME));
	if (type_of(store_text(st, COLUMN_TYPE), &c->type) < 0)
		return err_set(err, -EINVAL, "table %s, column %s: '%s' is no type of a ledger",
			       t->name, c->name, store_text(st, COLUMN_TYPE));
	if (at > 0) {
		t->key[at - 1] = t->n_columns;
		t->n_key++;
	}
	t->n_columns++;
	return 0;
}

static int load_columns(struct migrate *m, struct migrate_table *t, struct err *err)
{
	struct db_row *st;
	int r = db_query(m->source->db, err, &st,
			 "SELECT name, type, pk FROM pragma_table_info(?1) ORDER BY cid", "t",
			 t->name);

	while (r >= 0 && (r = db_step(m->source->db, st, err)) > 0) {
		r = add_column(t, st, err);
		if (r < 0)
			db_done(st);
	}
	if (r >= 0 && !t->n_key)
		r = err_set(err, -EINVAL,
			    "table %s has no primary key: it is no table of a ledger", t->name);
	return r;
}

/* Which columns: all of them (key false), or those of the key; `tail` stands behind each name. */
struct list {
	const struct migrate_table *t;
	bool is_key;
	const char *tail;
};

static int make_list(struct list l, char **ret, struct err *err)
{
	int n = l.is_key ? l.t->n_key : l.t->n_columns;
	size_t size;
	FILE *to = open_memstream(ret, &size);

	for (int i = 0; to && i < n; i++)
		fprintf(to, "%s\"%s\"%s", i ? ", " : "",
			l.t->columns[l.is_key ? l.t->key[i] : i].name, l.tail);
	return to && fclose(to) == 0 ? 0 : err_set(err, -ENOMEM, "out of memory");
}

static int make_lists(struct migrate_table *t, struct err *err)
{
	int r = make_list((struct list){ t, false, "" }, &t->list, err);

	if (r >= 0)
		r = make_list((struct list){ t, true, "" }, &t->key_list, err);
	return r < 0 ? r : make_list((struct list){ t, true, " DESC" }, &t->key_list_down, err);
}

static int add_table(struct migrate *m, const char *name, struct err *err)
{
	struct migrate_table *larger =
		reallocarray(m->tables, (size_t)m->n_tables + 1, sizeof(*larger));

	if (!larger)
		return err_set(err, -ENOMEM, "out of memory");
	m->tables = larger;
	m->tables[m->n_tables] = (struct migrate_table){ .n_columns = 0 };
	snprintf(m->tables[m->n_tables].name, MIGRATE_NAME_MAX, "%s", name);
	m->n_tables++;
	return 0;
}

/* All tables but SQLite's own; the names are those of PostgreSQL too. */
static int load_names(struct migrate *m, struct err *err)
{
	struct db_row *st;
	int r = db_query(m->source->db, err, &st,
			 "SELECT name FROM sqlite_schema WHERE type = 'table'"
			 " AND name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY name",
			 "");

	while (r >= 0 && (r = db_step(m->source->db, st, err)) > 0) {
		r = add_table(m, store_text(st, 0), err);
		if (r < 0)
			db_done(st);
	}
	return r;
}

int migrate_tables_load(struct migrate *m, struct err *err)
{
	int r = load_names(m, err);

	for (int i = 0; i < m->n_tables && r >= 0; i++) {
		r = load_columns(m, &m->tables[i], err);
		if (r >= 0)
			r = make_lists(&m->tables[i], err);
	}
	m->n.tables = m->n_tables;
	return r;
}

void migrate_tables_done(struct migrate *m)
{
	for (int i = 0; i < m->n_tables; i++) {
		free(m->tables[i].list);
		free(m->tables[i].key_list);
		free(m->tables[i].key_list_down);
		for (int k = 0; k < m->tables[i].n_reads; k++)
			free(m->tables[i].reads[k]);
	}
	free(m->tables);
}

/* Twice at most for each table: to copy, and to compare (migrate_impl.h). */
int migrate_read(struct migrate *m, struct migrate_table *t, const char *after,
		 struct db_row **ret, struct err *err)
{
	char **sql = &t->reads[t->n_reads];

	if (t->n_reads == (int)ARRAY_LEN(t->reads))
		return err_set(err, -EINVAL, "table %s is read too often", t->name);
	if (asprintf(sql, "SELECT %s FROM \"%s\"%s%s%s%s ORDER BY %s", t->list, t->name,
		     after ? " WHERE (" : "", after ? t->key_list : "", after ? ") > " : "",
		     after ? after : "", t->key_list) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	t->n_reads++;
	return db_query(m->source->db, err, ret, *sql, "");
}
