/* SPDX-License-Identifier: GPL-2.0-or-later */
/* target.c - the ledger in PostgreSQL while a migration fills it: whether it may be filled, its marker
 * (table reeve_migration, which pg.c reads), and the secondary indices, which are made after the rows are
 * there. See migrate_impl.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/ledger/migrate/migrate_impl.h"
#include "controller/postgres/pg.h"

#define OUT_OF_MEMORY(err) err_set(err, -ENOMEM, "out of memory")

/* Appends text as a literal of SQL, for both databases (standard_conforming_strings). */
static void write_literal(FILE *to, const char *text)
{
	fputc('\'', to);
	for (; *text; text++) {
		if (*text == '\'')
			fputc('\'', to);
		fputc(*text, to);
	}
	fputc('\'', to);
}

/* Takes the indices and foreign keys of the ledger's tables away and remembers how to make them again.
 * Primary keys and unique constraints stay: rows come in the order of the primary key. */
static const char begin_sql[] =
	"CREATE TABLE reeve_migration_later AS"
	" SELECT row_number() OVER () AS id, x.sql FROM"
	" (SELECT 1 AS kind, i.indexdef AS sql, i.indexname AS name FROM pg_indexes i"
	" WHERE i.schemaname = current_schema() AND NOT EXISTS(SELECT FROM pg_constraint c"
	" WHERE c.contype IN ('p', 'u', 'x') AND c.conindid ="
	" format('%I.%I', i.schemaname, i.indexname)::regclass)"
	" UNION ALL SELECT 2, format('ALTER TABLE %s ADD CONSTRAINT %I %s',"
	" c.conrelid::regclass, c.conname, pg_get_constraintdef(c.oid)), c.conname"
	" FROM pg_constraint c WHERE c.contype = 'f'"
	" AND c.connamespace = current_schema()::regnamespace ORDER BY 1, 3) x;"
	"DO $$ DECLARE x RECORD; BEGIN"
	" FOR x IN SELECT format('%I.%I', i.schemaname, i.indexname) AS name FROM pg_indexes i"
	" WHERE i.schemaname = current_schema() AND NOT EXISTS(SELECT FROM pg_constraint c"
	" WHERE c.contype IN ('p', 'u', 'x') AND c.conindid ="
	" format('%I.%I', i.schemaname, i.indexname)::regclass)"
	" LOOP EXECUTE 'DROP INDEX ' || x.name; END LOOP;"
	" FOR x IN SELECT c.conrelid::regclass AS t, c.conname FROM pg_constraint c"
	" WHERE c.contype = 'f' AND c.connamespace = current_schema()::regnamespace"
	" LOOP EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', x.t, x.conname);"
	" END LOOP; END $$;"
	"CREATE TABLE reeve_migration(source TEXT NOT NULL, state TEXT NOT NULL,"
	" begun TIMESTAMPTZ NOT NULL, is_done BOOLEAN NOT NULL);";

/* One transaction: the marker is there and the indices are away, or neither. */
static int begin_filling(struct migrate *m, const char *source, struct err *err)
{
	_cleanup_free_ char *sql = NULL;
	size_t size;
	FILE *to = open_memstream(&sql, &size);

	if (!to)
		return OUT_OF_MEMORY(err);
	fprintf(to, "BEGIN; %s INSERT INTO reeve_migration VALUES(", begin_sql);
	write_literal(to, m->how->from);
	fputs(", ", to);
	write_literal(to, source);
	fputs(", now(), false); COMMIT", to);
	return fclose(to) == 0 ? pg_load_exec(m->target, sql, err) : OUT_OF_MEMORY(err);
}

/* The schema is made by pg_open(), on a connection that does not wait for the writers' lock, which is ours:
 * so ours is given back meanwhile. */
static int make_schema(struct migrate *m, struct err *err)
{
	struct db *db = NULL;
	int r;

	m->target = pg_load_close(m->target);
	r = pg_open(m->how->to, store_migrations, &db, err);
	db_close(db);
	return r < 0 ? r : pg_load_open(m->how->to, &m->target, err);
}

static int check_is_empty(struct migrate *m, const struct migrate_table *t, struct err *err)
{
	_cleanup_free_ char *sql = NULL, *has = NULL;
	int r;

	if (asprintf(&sql, "SELECT EXISTS(SELECT FROM \"%s\")::int", t->name) < 0)
		return OUT_OF_MEMORY(err);
	r = pg_load_text(m->target, sql, &has, err);
	if (r > 0 && has[0] == '1')
		return err_set(err, -EEXIST,
			       "database %s is not empty (table %s has rows): migrate into an "
			       "empty database or schema",
			       pg_load_place(m->target), t->name);
	return r < 0 ? r : 0;
}

static int begin_new(struct migrate *m, const char *source, struct err *err)
{
	int r = make_schema(m, err);

	for (int i = 0; i < m->n_tables && r >= 0; i++)
		r = check_is_empty(m, &m->tables[i], err);
	return r < 0 ? r : begin_filling(m, source, err);
}

/* ---- one that has begun ---- */

struct marker {
	bool is_done;
	char *source, *state, *begun;
};

static void marker_done(struct marker *k)
{
	free(k->source);
	free(k->state);
	free(k->begun);
}

enum marker_column { MARKER_IS_DONE, MARKER_SOURCE, MARKER_STATE, MARKER_BEGUN };

static int read_marker(void *ctx, const char *const *columns, struct err *err)
{
	struct marker *k = ctx;

	k->is_done = columns[MARKER_IS_DONE][0] == '1';
	k->source = strdup(columns[MARKER_SOURCE]);
	k->state = strdup(columns[MARKER_STATE]);
	k->begun = strdup(columns[MARKER_BEGUN]);
	return k->source && k->state && k->begun ? 0 : OUT_OF_MEMORY(err);
}

/* Empties the tables, makes the indices again and removes the marker, in one transaction. */
static int undo_copy(struct migrate *m, struct err *err)
{
	_cleanup_free_ char *sql = NULL;
	size_t size;
	FILE *to = open_memstream(&sql, &size);

	if (!to)
		return OUT_OF_MEMORY(err);
	fputs("BEGIN; TRUNCATE ", to);
	for (int i = 0; i < m->n_tables; i++)
		fprintf(to, "%s\"%s\"", i ? ", " : "", m->tables[i].name);
	fputs("; DO $$ DECLARE x RECORD; BEGIN"
	      " FOR x IN SELECT sql FROM reeve_migration_later ORDER BY id"
	      " LOOP EXECUTE x.sql; END LOOP; END $$;"
	      "DROP TABLE reeve_migration_later; DROP TABLE reeve_migration; COMMIT",
	      to);
	return fclose(to) == 0 ? pg_load_exec(m->target, sql, err) : OUT_OF_MEMORY(err);
}

static int check_marker(struct migrate *m, const struct marker *k, const char *source,
			struct err *err)
{
	if (k->is_done)
		return err_set(
			err, -EEXIST,
			"database %s is a ledger already: the migration of %.200s, begun "
			"%s, has finished",
			pg_load_place(m->target), k->source, k->begun);
	if (m->how->is_restart || !strcmp(k->state, source))
		return 0;
	return err_set(
		err, -ESTALE,
		"database %s has the unfinished migration of %.200s, begun %s: %.200s is "
		"another file, or has changed since; --restart removes what was copied "
		"and begins again",
		pg_load_place(m->target), k->source, k->begun, m->how->from);
}

/* Between runs a newer program may have been installed, whose schema has more columns. */
static int check_version(struct migrate *m, struct err *err)
{
	_cleanup_free_ char *version = NULL;
	int r = pg_load_text(m->target, "SELECT version FROM reeve_schema", &version, err);

	if (r > 0 && atoi(version) != m->schema_version)
		return err_set(err, -ESTALE,
			       "database %s has schema version %s, this program %d: --restart "
			       "removes what was copied and begins again",
			       pg_load_place(m->target), version, m->schema_version);
	return r < 0 ? r : 0;
}

/* Whether is_restart or not, the marker must be of an unfinished migration: a ledger in use is never emptied. */
static int go_on(struct migrate *m, const char *source, struct err *err)
{
	_cleanup_(marker_done) struct marker k = { 0 };
	int r = pg_load_rows(m->target,
			     "SELECT is_done::int, source, state,"
			     " to_char(begun, 'YYYY-MM-DD HH24:MI') FROM reeve_migration",
			     read_marker, &k, err);

	if (r >= 0 && !k.source)
		r = err_set(err, -EBADMSG, "table reeve_migration of database %s is empty",
			    pg_load_place(m->target));
	if (r >= 0)
		r = check_marker(m, &k, source, err);
	if (r < 0)
		return r;
	if (m->how->is_restart) {
		r = undo_copy(m, err);
		return r < 0 ? r : begin_new(m, source, err);
	}
	m->n.has_continued = true;
	return check_version(m, err);
}

int migrate_target_open(struct migrate *m, const char *source, struct err *err)
{
	_cleanup_free_ char *marker = NULL;
	int r = pg_load_open(m->how->to, &m->target, err);

	if (r >= 0)
		r = pg_load_text(m->target, "SELECT to_regclass('reeve_migration')", &marker,
				 err);
	if (r < 0)
		return r;
	return r ? go_on(m, source, err) : begin_new(m, source, err);
}

/* ---- how far it is ---- */

struct last {
	const struct migrate_table *t;
	char *text;
};

/* "(17, 'a')": numbers as they are, texts as literals. */
static int write_last(void *ctx, const char *const *columns, struct err *err)
{
	struct last *l = ctx;
	size_t size;
	FILE *to = open_memstream(&l->text, &size);

	if (!to)
		return OUT_OF_MEMORY(err);
	fputc('(', to);
	for (int i = 0; i < l->t->n_key; i++) {
		if (i)
			fputs(", ", to);
		if (l->t->columns[l->t->key[i]].type == MIGRATE_INT)
			fputs(columns[i], to);
		else
			write_literal(to, columns[i]);
	}
	fputc(')', to);
	return fclose(to) == 0 ? 0 : OUT_OF_MEMORY(err);
}

int migrate_target_last(struct migrate *m, const struct migrate_table *t, char **ret,
			struct err *err)
{
	_cleanup_free_ char *sql = NULL;
	struct last l = { t, NULL };
	int r;

	if (asprintf(&sql, "SELECT %s FROM \"%s\" ORDER BY %s LIMIT 1", t->key_list, t->name,
		     t->key_list_down) < 0)
		return OUT_OF_MEMORY(err);
	r = pg_load_rows(m->target, sql, write_last, &l, err);
	if (r < 0)
		return r;
	*ret = l.text;
	return l.text != NULL;
}

/* ---- after the rows ---- */

/* One index or foreign key at a time, each in a transaction with the note that it is there. 0: there is
 * none left. */
static int make_next_index(struct migrate *m, struct err *err)
{
	_cleanup_free_ char *sql = NULL, *make = NULL;
	int r = pg_load_text(
		m->target,
		"SELECT sql || '; DELETE FROM reeve_migration_later WHERE id = ' ||"
		" id FROM reeve_migration_later ORDER BY id LIMIT 1",
		&make, err);

	if (r <= 0)
		return r;
	if (asprintf(&sql, "BEGIN; %s; COMMIT", make) < 0)
		return OUT_OF_MEMORY(err);
	r = pg_load_exec(m->target, sql, err);
	return r < 0 ? r : 1;
}

/* The next number of each identity column is one more than the largest. Numbers of jobs are not taken from
 * there (store_new_numbers()). */
static const char identities_sql[] =
	"DO $$ DECLARE x RECORD; BEGIN"
	" FOR x IN SELECT a.attrelid::regclass AS t, a.attname AS c FROM pg_attribute a"
	" JOIN pg_class k ON k.oid = a.attrelid WHERE a.attidentity <> ''"
	" AND k.relkind = 'r' AND k.relnamespace = current_schema()::regnamespace LOOP"
	" EXECUTE format('SELECT setval(pg_get_serial_sequence(%L, %L),"
	" (SELECT COALESCE(MAX(%I), 0) + 1 FROM %s), false)', x.t::text, x.c, x.c, x.t);"
	" END LOOP; END $$";

int migrate_target_index(struct migrate *m, struct err *err)
{
	int r;

	do
		r = make_next_index(m, err);
	while (r > 0);
	if (r >= 0)
		r = pg_load_exec(m->target, identities_sql, err);
	return r < 0 ? r : pg_load_exec(m->target, "ANALYZE", err);
}

int migrate_target_finish(struct migrate *m, struct err *err)
{
	return pg_load_exec(m->target,
			    "SET synchronous_commit = on; BEGIN;"
			    "DROP TABLE reeve_migration_later;"
			    "UPDATE reeve_migration SET is_done = true; COMMIT",
			    err);
}
