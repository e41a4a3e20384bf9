/* SPDX-License-Identifier: GPL-2.0-or-later */
/* compare.c - reads every table from both sides in the order of its key and compares the rows as COPY
 * writes them, byte by byte. See migrate_impl.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/ledger/migrate/migrate_impl.h"

#define PROGRESS_ROWS 10000

struct compare {
	struct migrate *m;
	struct migrate_table *t;
	struct db_row *st;
	struct migrate_buffer source; /* the row of the source as a line, and a NUL */
	char *target;		      /* the line of the target, and a NUL; NULL: no more */
	bool has_source;
};

/* c->source is the row as migrate_encode() writes it, with a NUL behind; empty at the end. */
static int next_source(struct compare *c, struct err *err)
{
	int r = db_step(c->m->source->db, c->st, err);

	c->source.n = 0;
	c->has_source = r > 0;
	if (r > 0)
		r = migrate_encode(c->t, c->st, &c->source, err);
	return r < 0 ? r : migrate_buffer_add(&c->source, "", 1, err);
}

/* c->target NULL: no more rows. */
static int next_target(struct compare *c, struct err *err)
{
	const char *line;
	size_t size;
	int r = pg_load_next(c->m->target, &line, &size, err);

	free(c->target);
	c->target = r > 0 ? strndup(line, size) : NULL;
	return r > 0 && !c->target ? err_set(err, -ENOMEM, "out of memory") : r;
}

static int report_difference(struct compare *c, struct store_migrate_difference *d,
			     const char *line, struct err *err)
{
	_cleanup_free_ char *key = NULL;
	int r = migrate_format_key(c->t, line, &key, err);

	if (r < 0)
		return r;
	d->table = c->t->name;
	d->key = key;
	return c->m->how->on_difference(c->m->how->ctx, d, err);
}

/* A field of a line, malloc()ed. */
static int copy_field(const char *line, int column, char **ret, struct err *err)
{
	size_t size;
	const char *field = migrate_field(line, column, &size);

	*ret = strndup(field, size);
	return *ret ? 0 : err_set(err, -ENOMEM, "out of memory");
}

static int report_column(struct compare *c, int column, struct err *err)
{
	_cleanup_free_ char *source = NULL, *target = NULL;
	struct store_migrate_difference d = { .column = c->t->columns[column].name };
	int r = copy_field(c->source.data, column, &source, err);

	if (r >= 0)
		r = copy_field(c->target, column, &target, err);
	if (r < 0 || !strcmp(source, target))
		return r;
	d.source = source;
	d.target = target;
	return report_difference(c, &d, c->source.data, err);
}

static int report_row(struct compare *c, struct err *err)
{
	int r = 0;

	c->m->n.differences++;
	for (int i = 0; i < c->t->n_columns && r >= 0; i++)
		r = report_column(c, i, err);
	return r;
}

/* < 0: the source's row comes first, the target has none of that key; > 0: the other way round. */
static int compare_order(const struct compare *c)
{
	if (!c->has_source || !c->target)
		return c->has_source ? -1 : 1;
	return migrate_compare_keys(c->t, c->source.data, c->target);
}

/* A merge of two sorted lists: of two rows with different keys the smaller one is alone, and its side moves
 * on. */
static int compare_row(struct compare *c, struct err *err)
{
	struct store_migrate_difference alone = { .column = NULL };
	int order, r = 0;

	if (c->has_source && c->target && !strcmp(c->source.data, c->target)) {
		order = 0;
	} else if ((order = compare_order(c)) == 0) {
		r = report_row(c, err);
	} else {
		c->m->n.differences++;
		alone.source = order < 0 ? "" : NULL;
		alone.target = order > 0 ? "" : NULL;
		r = report_difference(c, &alone, order < 0 ? c->source.data : c->target, err);
	}
	if (r >= 0 && order <= 0)
		r = next_source(c, err);
	if (r >= 0 && order >= 0)
		r = next_target(c, err);
	return r;
}

static int compare_rows(struct compare *c, struct err *err)
{
	int r = next_source(c, err);

	if (r >= 0)
		r = next_target(c, err);
	while (r >= 0 && (c->has_source || c->target)) {
		r = compare_row(c, err);
		c->m->n.compared++;
		if (c->m->n.compared % PROGRESS_ROWS == 0)
			migrate_report(c->m, STORE_MIGRATE_COMPARE, c->t->name,
				       c->m->n.compared);
	}
	return r;
}

/* The target is read along the index of the key: sorting a large table would fill its disk. */
static int compare_table(struct migrate *m, struct migrate_table *t, struct err *err)
{
	struct compare c = { .m = m, .t = t };
	_cleanup_free_ char *sql = NULL;
	int r;

	if (asprintf(&sql, "COPY (SELECT %s FROM \"%s\" ORDER BY %s) TO STDOUT", t->list,
		     t->name, t->key_list) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	r = migrate_read(m, t, NULL, &c.st, err);
	if (r < 0)
		return r;
	r = pg_load_begin_read(m->target, sql, err);
	if (r >= 0)
		r = compare_rows(&c, err);
	if (c.has_source)
		db_done(c.st);
	free(c.source.data);
	free(c.target);
	return r;
}

int migrate_compare(struct migrate *m, struct err *err)
{
	int r = pg_load_exec(m->target, "SET enable_sort = off; SET enable_seqscan = off", err);

	for (int i = 0; i < m->n_tables && r >= 0; i++)
		r = compare_table(m, &m->tables[i], err);
	return r;
}
