/* SPDX-License-Identifier: GPL-2.0-or-later */
/* migrate.c - the course of a migration: locks the source, copies its tables, makes the indices, compares.
 * See migrate.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/err.h"
#include "controller/ledger/lead.h"
#include "controller/ledger/migrate/migrate_impl.h"
#include "controller/postgres/pg.h"

#define PUT_BYTES (256 << 10) /* that are given to libpq at a time */
#define PIECE_BYTES (4 << 20) /* of rows in one transaction */

/* ---- copying ---- */

struct piece {
	struct migrate *m;
	struct migrate_table *t;
	const char *copy_sql;
	struct migrate_buffer lines;
	int64_t bytes, rows; /* in the transaction under way; rows 0: none is */
};

static int put_lines(struct piece *p, struct err *err)
{
	int r = p->lines.n ? pg_load_put(p->m->target, p->lines.data, p->lines.n, err) : 0;

	p->bytes += (int64_t)p->lines.n;
	p->lines.n = 0;
	return r;
}

/* Rows are counted when they are committed. Nothing to do without rows: then no transaction was begun. */
static int end_piece(struct piece *p, struct err *err)
{
	int r = p->rows ? put_lines(p, err) : 0;

	if (r < 0 || !p->rows)
		return r;
	r = pg_load_end_copy(p->m->target, err);
	if (r >= 0)
		r = pg_load_exec(p->m->target, "COMMIT", err);
	if (r < 0)
		return r;
	p->m->n.copied += p->rows;
	p->m->n.bytes += p->bytes;
	p->rows = p->bytes = 0;
	migrate_report(p->m, STORE_MIGRATE_COPY, p->t->name, p->m->n.copied);
	return 0;
}

/* A row that cannot be encoded ends the migration; what was committed before stays. */
static int add_row(struct piece *p, const struct db_row *row, struct err *err)
{
	int r = 0;

	if (!p->rows)
		r = pg_load_exec(p->m->target, "BEGIN", err);
	if (r >= 0 && !p->rows)
		r = pg_load_begin_copy(p->m->target, p->copy_sql, err);
	if (r >= 0)
		r = migrate_encode(p->t, row, &p->lines, err);
	if (r < 0)
		return r;
	p->rows++;
	if (p->lines.n >= PUT_BYTES)
		r = put_lines(p, err);
	return r < 0 || p->bytes < PIECE_BYTES ? r : end_piece(p, err);
}

static int copy_rows(struct piece *p, const char *after, struct err *err)
{
	struct db *db = p->m->source->db;
	struct db_row *st;
	int r = migrate_read(p->m, p->t, after, &st, err);

	while (r >= 0 && (r = db_step(db, st, err)) > 0) {
		r = add_row(p, st, err);
		if (r < 0)
			db_done(st);
	}
	return r < 0 ? r : end_piece(p, err);
}

/* Begins behind the last key that is there: rows come in key order, so all keys before it are there too. */
static int copy_table(struct migrate *m, struct migrate_table *t, struct err *err)
{
	_cleanup_free_ char *after = NULL, *sql = NULL;
	struct piece p = { .m = m, .t = t };
	int r = migrate_target_last(m, t, &after, err);

	if (r >= 0 && asprintf(&sql, "COPY \"%s\"(%s) FROM STDIN", t->name, t->list) < 0)
		r = err_set(err, -ENOMEM, "out of memory");
	if (r < 0)
		return r;
	p.copy_sql = sql;
	r = copy_rows(&p, after, err);
	free(p.lines.data);
	return r;
}

static int copy_tables(struct migrate *m, struct err *err)
{
	int r = 0;

	for (int i = 0; i < m->n_tables && r >= 0; i++)
		r = copy_table(m, &m->tables[i], err);
	return r;
}

/* ---- the source ---- */

/* The lock that a controller holds while it leads: none can start on this file while it is copied. -EBUSY
 * names the holder. */
static int lock_source(const char *path, struct store_lead **ret, struct err *err)
{
	const struct store_lead_config c = { .place = path,
					     .listen = "reeve admin migrate",
					     .lease_s = 1 };
	_cleanup_(store_lead_closep) struct store_lead *lead = NULL;
	int r = store_lead_open(&c, &lead, err);

	if (r >= 0)
		r = store_lead_try(lead, err);
	if (r == 0)
		return err_set(err, -EBUSY, "%.200s is in use (%.200s): stop the controller",
			       path, store_lead_who(lead));
	if (r > 0)
		*ret = TAKE_PTR(lead);
	return r < 0 ? r : 0;
}

/* Opens the source; an older one is migrated to this program's schema. *ret identifies the file and its
 * content: opening and closing it once more, which moves what is left of the log into the file, does not
 * change it. malloc()ed. */
static int open_source(struct migrate *m, char **ret, struct err *err)
{
	struct stat file, log = { .st_size = 0 };
	_cleanup_free_ char *log_path = NULL;
	int r = store_open(m->how->from, &m->source, err);

	if (r < 0)
		return r;
	m->source = store_close(m->source);
	if (asprintf(&log_path, "%s-wal", m->how->from) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	if (stat(m->how->from, &file) < 0)
		return err_set(err, -errno, "%.200s: %m", m->how->from);
	(void)stat(log_path, &log); /* there is none where no other process has the file open */
	if (asprintf(ret, "inode %ju, %jd bytes of %jd.%09ld, log %jd bytes",
		     (uintmax_t)file.st_ino, (intmax_t)file.st_size,
		     (intmax_t)file.st_mtim.tv_sec, file.st_mtim.tv_nsec,
		     (intmax_t)log.st_size) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return store_open(m->how->from, &m->source, err);
}

/* In a transaction of the source, which keeps other writers out. */
static int fill_target(struct migrate *m, const char *source, struct err *err)
{
	int r = migrate_tables_load(m, err);

	if (r >= 0)
		r = migrate_target_open(m, source, err);
	if (r >= 0)
		r = copy_tables(m, err);
	if (r >= 0) {
		migrate_report(m, STORE_MIGRATE_INDICES, "", 0);
		r = migrate_target_index(m, err);
	}
	if (r >= 0)
		r = migrate_compare(m, err);
	return r < 0 || m->n.differences ? r : migrate_target_finish(m, err);
}

/* The transaction of the source is rolled back: nothing in it is to be written. */
static int run_migration(struct migrate *m, struct err *err)
{
	_cleanup_free_ char *source = NULL;
	int r = open_source(m, &source, err);

	if (r >= 0)
		r = db_begin(m->source->db, err);
	if (r < 0)
		return r;
	while (store_migrations[m->schema_version])
		m->schema_version++;
	r = fill_target(m, source, err);
	db_rollback(m->source->db);
	return r;
}

static int check_places(const struct store_migration *how, struct err *err)
{
	if (pg_is_place(how->from))
		return err_set(err, -EINVAL,
			       "a ledger is migrated from a file (SQLite); "
			       "%.60s is none",
			       how->from);
	if (!pg_is_place(how->to))
		return err_set(err, -EINVAL,
			       "'%.200s' is not in PostgreSQL; write "
			       "postgresql://USER@HOST/DATABASE",
			       how->to);
	return access(how->from, F_OK) < 0
		       ? err_set(err, -errno, "open ledger %.200s: %m", how->from)
		       : 0;
}

int store_migrate(const struct store_migration *how, struct store_migrated *ret,
		  struct err *err)
{
	_cleanup_(store_lead_closep) struct store_lead *lead = NULL;
	struct migrate m = { .how = how };
	int r = check_places(how, err);

	if (r >= 0)
		r = lock_source(how->from, &lead, err);
	if (r >= 0)
		r = run_migration(&m, err);
	pg_load_close(m.target);
	store_close(m.source);
	migrate_tables_done(&m);
	if (r >= 0)
		*ret = m.n;
	return r < 0 ? r : 0;
}
