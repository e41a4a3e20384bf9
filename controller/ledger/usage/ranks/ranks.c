/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ranks.c - reads the parts of a period that are not kept yet, or have changed, and adds all of them up. See ranks.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/clock.h"
#include "common/err.h"
#include "common/hash.h"
#include "controller/ledger/sql.h"
#include "controller/ledger/store_sqlite.h"
#include "controller/ledger/usage/ranks/cover.h"
#include "controller/ledger/usage/ranks/name_set.h"
#include "controller/ledger/usage/ranks/parts.h"
#include "controller/ledger/usage/ranks/ranks.h"
#include "controller/ledger/usage/totals/top.h"

#define KINDS 2
static const enum store_by kinds[KINDS] = { STORE_BY_ACCOUNT, STORE_BY_USER };

struct ranks {
	struct name_set *names[KINDS];
	struct parts *parts;
};

static int kind_index(enum store_by kind)
{
	return kind == STORE_BY_USER;
}

struct ranks *ranks_free(struct ranks *r)
{
	if (!r)
		return NULL;
	for (int i = 0; i < KINDS; i++)
		name_set_free(r->names[i]);
	parts_free(r->parts);
	free(r);
	return NULL;
}
DEFINE_CLEANUP(struct ranks *, ranks_free)

static int make_ranks(struct store *s, struct err *err)
{
	_cleanup_(ranks_freep) struct ranks *r = calloc(1, sizeof(*r));

	if (r)
		r->parts = parts_new();
	for (int i = 0; r && i < KINDS; i++)
		r->names[i] = name_set_new();
	if (!r || !r->parts || !r->names[0] || !r->names[1])
		return err_set(err, -ENOMEM, "out of memory");
	s->ranks = TAKE_PTR(r);
	return 0;
}

/* ---- rows of a part ---- */

struct reading {
	struct packed_row *rows[KINDS]; /* of accounts, of users */
	size_t n, room;			/* of each that is read */
};

static void reading_done(struct reading *r)
{
	for (int i = 0; i < KINDS; i++)
		free(r->rows[i]);
}

static int grow_rows(struct reading *r)
{
	size_t room = r->room ? r->room * 2 : 1024;

	if (r->n < r->room)
		return 0;
	for (int i = 0; i < KINDS; i++) {
		struct packed_row *rows = reallocarray(r->rows[i], room, sizeof(*rows));

		if (!rows)
			return -ENOMEM;
		r->rows[i] = rows;
	}
	r->room = room;
	return 0;
}

enum day_column { DAY_ACCOUNT, DAY_USER, DAY_POOL, DAY_FIGURES };
enum total_column { TOTAL_NAME, TOTAL_POOL, TOTAL_FIGURES };

/* A row of one kind, or of a day for both: `columns` has that of each name, -1: none. */
static int take_row(struct ranks *k, struct reading *to, struct db_row *st,
		    const int columns[static KINDS], int pool_column)
{
	int64_t pool = db_int(st, pool_column);
	int r = grow_rows(to);

	if (r < 0 || pool < 0 || pool >= _CHARGE_POOL_MAX)
		return r;
	for (int i = 0; i < KINDS; i++) {
		struct packed_row *row = &to->rows[i][to->n];

		if (columns[i] < 0)
			continue;
		row->name = name_set_add(k->names[i], db_text(st, columns[i]));
		if (row->name < 0)
			return row->name;
		row->pool = (int32_t)pool;
		for (int f = 0; f < _ROLLUP_MAX; f++)
			row->sum.figure[f] = db_int(st, pool_column + 1 + f);
	}
	to->n++;
	return 0;
}

static const char day_sql[] = "SELECT account, user, pool," ROLLUP_FIGURES " FROM rollups"
			      " WHERE day = ?1 AND (?2 IS NULL OR cluster = ?2)";
static const char total_sql[] = "SELECT name, pool," ROLLUP_FIGURES " FROM totals"
				" WHERE kind = ?1 AND span = ?2 AND cluster = ?3"
				" AND begins = ?4";

static int query_part(struct store *s, const struct part_key *k, struct db_row **ret,
		      struct err *err)
{
	if (k->span == TOTALS_DAY)
		return db_query(s->db, err, ret, day_sql, "it", k->begins,
				*k->cluster ? k->cluster : NULL);
	return db_query(s->db, err, ret, total_sql, "iiti", k->kind, k->span, k->cluster,
			k->begins);
}

static int read_rows(struct store *s, const struct part_key *k, struct reading *to,
		     struct err *err)
{
	const bool is_day = k->span == TOTALS_DAY;
	const int columns[KINDS] = {
		is_day			      ? DAY_ACCOUNT
		: k->kind == STORE_BY_ACCOUNT ? TOTAL_NAME
					      : -1,
		is_day			   ? DAY_USER
		: k->kind == STORE_BY_USER ? TOTAL_NAME
					   : -1,
	};
	struct db_row *st;
	int r = query_part(s, k, &st, err);

	if (r < 0)
		return r;
	db_stream(st);
	while ((r = db_step(s->db, st, err)) > 0) {
		r = take_row(s->ranks, to, st, columns, is_day ? DAY_POOL : TOTAL_POOL);
		if (r < 0) {
			db_done(st);
			return err_set(err, r, "out of memory");
		}
	}
	return r;
}

static int keep_rows(struct store *s, const struct part_key *k, struct reading *rows,
		     struct err *err)
{
	struct packed sums;
	int r = packed_make(rows->rows[kind_index((enum store_by)k->kind)], rows->n, &sums);

	if (r >= 0)
		r = parts_keep(s->ranks->parts, k, sums);
	return r < 0 ? err_set(err, r, "out of memory") : 0;
}

/* Of a day the accounts and the users are kept: what was asked for last, so that the other does not push it out. */
static int read_part(struct store *s, const struct part_key *asked, struct err *err)
{
	_cleanup_(reading_done) struct reading rows = { .n = 0 };
	struct part_key other = *asked;
	int r = read_rows(s, asked, &rows, err);

	other.kind = kinds[!kind_index((enum store_by)asked->kind)];
	if (r >= 0 && asked->span == TOTALS_DAY)
		r = keep_rows(s, &other, &rows, err);
	return r < 0 ? r : keep_rows(s, asked, &rows, err);
}

static bool is_turn_over(struct store_turn *t)
{
	const bool is_over =
		t->until_ns && t->has_read && clock_ns(CLOCK_MONOTONIC) >= t->until_ns;

	t->has_read = true;
	return is_over;
}

static int add_part(struct store *s, const struct part_key *k, struct packed_sums *to,
		    struct err *err)
{
	const struct name_set *names = s->ranks->names[kind_index((enum store_by)k->kind)];
	const struct packed *sums = parts_find(s->ranks->parts, k);
	int r = 0;

	if (!sums && is_turn_over(&s->turn))
		return err_set(err, -EAGAIN, "the sums of this period are being read");
	if (!sums) {
		r = read_part(s, k, err);
		sums = r < 0 ? NULL : parts_find(s->ranks->parts, k);
	}
	if (r >= 0 && sums && packed_add(sums, to, name_set_count(names)) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return r < 0 ? r : sums ? 0 : err_set(err, -EIO, "usage that was read is gone");
}

/* 1: it was not kept, and has been read. */
static int warm_part(struct store *s, const struct part_key *k, struct err *err)
{
	int r;

	if (parts_find(s->ranks->parts, k))
		return 0;
	r = read_part(s, k, err);
	return r < 0 ? r : 1;
}

/* ---- versions ---- */

enum version_column { VERSION_BEGINS, VERSION_NAME, VERSION_POOL, VERSION_NUMBER };
static const char versions_sql[] =
	"SELECT begins, name, pool, version FROM totals WHERE kind = " SQL_STORE_BY_CLUSTER
	" AND span = ?1 AND cluster = '' AND begins >= ?2 AND begins < ?3"
	" AND (?4 IS NULL OR name = ?4)";

static uint64_t mix_hash(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15ULL;
	return h ^ (h >> 29);
}

static uint64_t hash_version(const struct store *s, const struct db_row *st)
{
	uint64_t h = mix_hash(HASH_BEGIN, (uint64_t)s->totals.months);
	const char *name = db_text(st, VERSION_NAME);

	for (; name && *name; name++)
		h = mix_hash(h, (unsigned char)*name);
	return mix_hash(mix_hash(h, (uint64_t)db_int(st, VERSION_POOL)),
			(uint64_t)db_int(st, VERSION_NUMBER));
}

/* ret[i]: of what begins with range->from + i; 0: it has no usage. Clusters and pools come in any order: their hashes are added up. */
static int read_versions(struct store *s, const struct cover_range *range, const char *cluster,
			 uint64_t *ret, struct err *err)
{
	struct db_row *st;
	int r = db_query(s->db, err, &st, versions_sql, "iiit", (int64_t)range->span,
			 range->from, range->to, cluster);

	while (r >= 0 && (r = db_step(s->db, st, err)) > 0)
		ret[db_int(st, VERSION_BEGINS) - range->from] += hash_version(s, st) | 1;
	return r;
}

/* `to` NULL: reads the first part that is not kept, and returns 1. */
static int add_range(struct store *s, const struct ranks_ask *ask,
		     const struct cover_range *range, struct packed_sums *to, struct err *err)
{
	size_t n = (size_t)(range->to - range->from);
	_cleanup_free_ uint64_t *versions = calloc(n, sizeof(*versions));
	int r = versions ? read_versions(s, range, ask->cluster, versions, err)
			 : err_set(err, -ENOMEM, "out of memory");

	for (size_t i = 0; i < n && r == 0; i++) {
		const struct part_key k = { .kind = ask->kind,
					    .span = range->span,
					    .begins = range->from + (int64_t)i,
					    .cluster = ask->cluster ? ask->cluster : "",
					    .version = versions[i] };

		if (k.version)
			r = to ? add_part(s, &k, to, err) : warm_part(s, &k, err);
	}
	return r;
}

/* ---- periods ---- */

/* Without usage both days are 0: no version is found of them. */
static int find_days(struct store *s, struct cover_ledger *ret, struct err *err)
{
	int r = db_query_int(s->db, err, &ret->first_day, "SELECT MIN(day) FROM rollups", "");

	if (r >= 0)
		r = db_query_int(s->db, err, &ret->last_day, "SELECT MAX(day) FROM rollups",
				 "");
	ret->months = s->totals.months;
	ret->first = s->totals.first;
	return r;
}

static int visit_period(struct store *s, const struct ranks_ask *ask, struct packed_sums *to,
			struct err *err)
{
	struct cover_ledger days;
	struct cover cover;
	int r = s->ranks ? 0 : make_ranks(s, err);

	if (r >= 0)
		r = find_days(s, &days, err);
	if (r < 0)
		return r;
	cover = cover_find(&days, ask->from_day, ask->to_day);
	r = 0;
	for (int i = 0; i < cover.n && r == 0; i++)
		r = add_range(s, ask, &cover.of[i], to, err);
	return r;
}

int ranks_read(struct store *s, const struct ranks_ask *ask, struct packed_sums *to,
	       struct err *err)
{
	return visit_period(s, ask, to, err);
}

int store_usage_warm(struct store *s, const struct store_period *p, struct err *err)
{
	struct ranks_ask ask = { .cluster = p->cluster,
				 .from_day = p->from_day,
				 .to_day = p->to_day };
	int r = 0;

	for (int i = 0; i < KINDS && r == 0; i++) {
		ask.kind = kinds[i];
		r = visit_period(s, &ask, NULL, err);
	}
	return r;
}

void store_usage_turn(struct store *s, int64_t until_ns)
{
	s->turn = (struct store_turn){ .until_ns = until_ns };
}

int32_t ranks_find(const struct store *s, enum store_by kind, const char *name)
{
	return name_set_find(s->ranks->names[kind_index(kind)], name);
}

const char *ranks_name(const struct store *s, enum store_by kind, int32_t number)
{
	return name_set_text(s->ranks->names[kind_index(kind)], number);
}
