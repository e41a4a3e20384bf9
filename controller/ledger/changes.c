/* SPDX-License-Identifier: GPL-2.0-or-later */
/* changes.c - collects what a transaction changed, and passes it to the listener after the commit. See
 * changes.h. */
#include <errno.h>
#include <stdlib.h>
#include "controller/ledger/changes.h"
#include "controller/ledger/nodes/given/given_kept.h"
#include "controller/ledger/nodes/heard.h"
#include "controller/ledger/nodes/kept.h"
#include "controller/ledger/sql.h"
#include "controller/ledger/store_sqlite.h"
#include "controller/ledger/usage/rollup/rollup_collect.h"

void store_changes_done(struct store_changes *c)
{
	free(c->jobs);
	*c = (struct store_changes){ 0 };
}

static int compare_numbers(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Each job once, by number. */
const struct store_changes *store_changes_sort(struct store_changes *c)
{
	size_t n = 0;

	if (c->n > 0)
		qsort(c->jobs, c->n, sizeof(*c->jobs), compare_numbers);
	for (size_t i = 0; i < c->n; i++)
		if (n == 0 || c->jobs[n - 1] != c->jobs[i])
			c->jobs[n++] = c->jobs[i];
	c->n = n;
	return c;
}

/* false: too many, or no memory: then everything counts as changed. */
static bool make_room(struct store_changes *c)
{
	size_t larger = c->max ? c->max * 2 : 64;
	int64_t *jobs;

	if (c->n < c->max)
		return true;
	store_changes_sort(c); /* rows of jobs that run are written again and again */
	if (c->n < c->max / 2)
		return true;
	jobs = larger <= STORE_CHANGES_MAX ? realloc(c->jobs, larger * sizeof(*jobs)) : NULL;
	if (!jobs)
		return false;
	c->jobs = jobs;
	c->max = larger;
	return true;
}

void store_changes_add(struct store_changes *c, int64_t job)
{
	if (c->is_all || (c->n > 0 && c->jobs[c->n - 1] == job))
		return;
	if (make_room(c))
		c->jobs[c->n++] = job;
	else
		c->is_all = true;
}

void store_changes_merge(struct store_changes *into, const struct store_changes *from)
{
	into->is_all |= from->is_all;
	into->are_nodes_new |= from->are_nodes_new;
	for (size_t i = 0; i < from->n; i++)
		store_changes_add(into, from->jobs[i]);
}

struct store_changes store_changes_take(struct store_changes *c)
{
	struct store_changes all = *c;

	*c = (struct store_changes){ 0 };
	store_changes_sort(&all);
	return all;
}

/* ---- the ledger's announcements ---- */

static bool is_empty(const struct store_changes *c)
{
	return c->n == 0 && !c->is_all && !c->are_nodes_new;
}

/* Passes what was collected to the listener, and begins to collect again. */
static void deliver_changes(struct store_announced *a)
{
	if (a->fn && !is_empty(&a->changes))
		a->fn(a->ctx, &a->changes);
	a->changes.n = 0;
	a->changes.is_all = a->changes.are_nodes_new = false;
}

/* A commit that was not answered may have happened: then everything may have changed. */
static void on_transaction_end(void *ctx, enum db_end how)
{
	struct store_announced *a = &((struct store *)ctx)->announced;

	if (how == DB_ROLLED_BACK)
		a->changes = (struct store_changes){ .jobs = a->changes.jobs,
						     .max = a->changes.max };
	a->changes.is_all |= how == DB_UNKNOWN;
	if (how != DB_COMMITTED) {
		((struct store *)ctx)->has_no_steps = false;
		store_forget_nodes(ctx);
	}
	store_given_kept_end(ctx, how);
	rollup_collect_forget(ctx);
	store_heard_forget(ctx);
	deliver_changes(a);
}

void store_announced_start(struct store *s)
{
	db_on_end(s->db, on_transaction_end, s);
}

void store_announced_done(struct store *s)
{
	store_changes_done(&s->announced.changes);
}

int store_listen(struct store *s, store_changes_fn fn, void *ctx)
{
	if (fn && s->announced.fn)
		return -EBUSY;
	store_forget_all_given(s);
	s->announced.fn = fn;
	s->announced.ctx = ctx;
	return 0;
}

/* A statement outside of a transaction is one of its own. */
static void deliver_alone(struct store *s)
{
	if (!db_is_begun(s->db))
		deliver_changes(&s->announced);
}

void store_announce_job(struct store *s, int64_t job)
{
	store_forget_given_job(s, job);
	store_announce_figures(s, job);
}

void store_announce_figures(struct store *s, int64_t job)
{
	if (!s->announced.fn)
		return;
	store_changes_add(&s->announced.changes, job);
	deliver_alone(s);
}

void store_announce_nodes(struct store *s)
{
	store_forget_nodes(s);
	s->announced.changes.are_nodes_new = true;
	deliver_alone(s);
}

int store_announce_tasks(struct store *s, int64_t array, struct err *err)
{
	struct db_row *st;
	int r;

	if (!s->announced.fn) {
		store_forget_all_given(s);
		return 0;
	}
	r = db_query(
		s->db, err, &st,
		"SELECT job FROM jobs WHERE array_job = ?1 AND array_job > 0 AND state < " SQL_JOB_ENDED,
		"i", array);
	while (r >= 0 && (r = db_step(s->db, st, err)) > 0)
		store_announce_job(s, db_int(st, 0));
	return r;
}
