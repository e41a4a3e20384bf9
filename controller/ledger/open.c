/* SPDX-License-Identifier: GPL-2.0-or-later */
/* open.c - opens a ledger in its time zone and closes it, and writes its journal of events. See store.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/ledger/nodes/given/given_kept.h"
#include "controller/ledger/nodes/heard.h"
#include "controller/ledger/nodes/kept.h"
#include "controller/ledger/store_sqlite.h"
#include "controller/ledger/usage/queue_waits.h"
#include "controller/ledger/usage/rollup/rollup_collect.h"
#include "controller/ledger/usage/ranks/ranks.h"
#include "controller/ledger/usage/rollup/rollup_set.h"
#include "controller/ledger/usage/totals/totals.h"
#include "controller/postgres/pg.h"

/* *ret is malloc()ed; "" in a new ledger. */
static int load_zone(struct store *s, char **ret, struct err *err)
{
	struct db_row *st;
	int r = db_query_first(s->db, err, &st,
			       "SELECT value FROM meta WHERE key = 'time_zone'", "");

	if (r < 0)
		return r;
	*ret = strdup(r > 0 ? store_text(st, 0) : "");
	db_done(st);
	return *ret ? 0 : err_set(err, -ENOMEM, "out of memory");
}

/* The caller gave another zone than the ledger has: possible as long as the ledger has no rollups. */
static int change_zone(struct store *s, const char *was, struct err *err)
{
	int r = db_run(s->db, err,
		       "UPDATE meta SET value = ?1 WHERE key = 'time_zone'"
		       " AND NOT EXISTS(SELECT 1 FROM rollups)",
		       "t", store_zone(s));

	if (r < 0 || db_changes(s->db) > 0)
		return r;
	return err_set(
		err, -EEXIST,
		"the ledger's days are those of %.64s, not of %.64s: keep TimeZone=%.64s, or "
		"start "
		"a new ledger, or, where all its jobs were imported, cut its days again with "
		"reeve admin rebuild --time-zone",
		was, store_zone(s), was);
}

/* Makes the calendar and the ledger agree. s->calendar is open where the caller gave a zone. */
static int fix_zone(struct store *s, struct err *err)
{
	_cleanup_free_ char *was = NULL;
	int r = load_zone(s, &was, err);

	if (r >= 0 && !s->calendar)
		r = calendar_open(*was ? was : "UTC", &s->calendar, err);
	if (r < 0)
		return r;
	if (!*was)
		return db_run(s->db, err,
			      "INSERT INTO meta(key, value) VALUES('time_zone', ?1)", "t",
			      store_zone(s));
	return strcmp(was, store_zone(s)) ? change_zone(s, was, err) : 0;
}

int store_open_zone(const char *path, const char *zone, struct store **ret, struct err *err)
{
	_cleanup_(store_closep) struct store *s = calloc(1, sizeof(*s));
	int r = s ? 0 : err_set(err, -ENOMEM, "out of memory");

	/* The zone is checked first, so that no file is made for an unknown one. */
	if (r >= 0 && zone)
		r = calendar_open(zone, &s->calendar, err);
	if (r >= 0)
		r = (pg_is_place(path) ? pg_open : db_open)(path, store_migrations, &s->db,
							    err);
	if (r >= 0)
		r = fix_zone(s, err);
	if (r >= 0)
		r = store_identity_load(s, err);
	if (r >= 0)
		r = totals_open(s, err);
	if (r < 0)
		return r;
	rollup_collect_start(s);
	store_announced_start(s);
	*ret = TAKE_PTR(s);
	return 0;
}

int store_open(const char *path, struct store **ret, struct err *err)
{
	return store_open_zone(path, NULL, ret, err);
}

int64_t store_day(struct store *s, int64_t at_ns)
{
	return calendar_day(s->calendar, at_ns);
}

int64_t store_first_ns(struct store *s, int64_t day)
{
	return calendar_first_ns(s->calendar, day);
}

int store_parse_at(struct store *s, const char *text, int64_t *ret_ns, struct err *err)
{
	return calendar_parse_at(s->calendar, text, ret_ns) < 0
		       ? err_set(err, -EINVAL,
				 "'%.32s' is not a time; write a day, 2026-11-21 (its end is "
				 "meant), or an instant, 2026-11-21T08:00, of %s",
				 text, store_zone(s))
		       : 0;
}

const char *store_zone(const struct store *s)
{
	return calendar_zone(s->calendar);
}

int store_cache(struct store *s, int64_t bytes, struct err *err)
{
	return db_cache(s->db, bytes, err);
}

struct store *store_close(struct store *s)
{
	if (!s)
		return NULL;
	calendar_close(s->calendar);
	db_close(s->db);
	store_announced_done(s);
	store_forget_nodes(s);
	store_forget_all_given(s);
	store_heard_done(s);
	store_wait_forget(s);
	rollup_set_free(s->totals.pending);
	rollup_set_free(s->totals.days);
	ranks_free(s->ranks);
	free(s->resolving);
	free(s);
	return NULL;
}

int store_event(struct store *s, const struct store_event *e, struct err *err)
{
	return db_run_later(s->db, err,
			    "INSERT INTO events(at_ns, job, node, what, text)"
			    " VALUES(?1, NULLIF(?2, 0), ?3, ?4, ?5)",
			    "iittt", e->at_ns, e->job, e->node, e->what, e->text);
}

struct db_rows store_event_rows(void)
{
	return (struct db_rows){ .sql = "INSERT INTO events(at_ns, job, node, what, text)"
					" VALUES(?1, ?2, ?3, ?4, ?5)",
				 .format = "iittt",
				 .are_new = true };
}

int store_event_add(struct db_rows *rows, const struct store_event *e, struct err *err)
{
	return db_rows_add(rows, err, e->at_ns, e->job, e->node, e->what, e->text);
}

const char *store_text(struct db_row *st, int column)
{
	const char *text = db_text(st, column);

	return text ? text : "";
}

int64_t store_schema_newest(void)
{
	int64_t n = 0;

	while (store_migrations[n])
		n++;
	return n;
}
