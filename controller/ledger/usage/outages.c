/* SPDX-License-Identifier: GPL-2.0-or-later */
/* outages.c - writes, reads and removes declared outages; see usage/outages.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "common/cleanup.h"
#include "common/err.h"
#include "common/utf8.h"
#include "controller/ledger/calendar.h"
#include "controller/ledger/sql.h"
#include "controller/ledger/store_sqlite.h"
#include "controller/ledger/usage/adjust.h"
#include "controller/ledger/usage/outages.h"

static int add_row(struct store *s, const struct store_outage *o, int64_t *ret_id,
		   struct err *err)
{
	char reason[STORE_REASON_MAX];
	int64_t n;
	int r = db_query_int(s->db, err, &n, "SELECT COUNT(*) FROM outages", "");

	if (r < 0)
		return r;
	if (n >= STORE_OUTAGES_MAX)
		return err_set(err, -EDQUOT,
			       "the ledger has %d outages; remove old ones with 'reeve admin "
			       "outage remove'",
			       STORE_OUTAGES_MAX);
	utf8_format(reason, sizeof(reason), "%s", o->reason);
	r = db_run(s->db, err,
		   "INSERT INTO outages(at_ns, from_ns, to_ns, cluster, reason, author)"
		   " VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
		   "iiittt", o->at_ns, o->from_ns, o->to_ns, o->cluster, reason, o->author);
	if (r < 0)
		return r;
	*ret_id = db_last_id(s->db);
	return 0;
}

int store_outage_add(struct store *s, const struct store_outage *o, int64_t *ret_id,
		     struct err *err)
{
	int r;

	if (o->from_ns >= o->to_ns)
		return err_set(err, -EINVAL, "the outage ends before it begins");
	if (!o->reason || !*o->reason || !o->author || !*o->author)
		return err_set(err, -EINVAL, "an outage needs a reason and an author");
	if (strlen(o->reason) >= STORE_REASON_MAX)
		return err_set(err, -EINVAL, "the reason is longer than %d bytes",
			       STORE_REASON_MAX - 1);
	r = db_begin(s->db, err);
	return r < 0 ? r : db_end(s->db, add_row(s, o, ret_id, err), err);
}

static int remove_row(struct store *s, int64_t id, struct err *err)
{
	int r = db_run(s->db, err, "DELETE FROM outages WHERE id = ?1", "i", id);

	if (r >= 0 && db_changes(s->db) == 0)
		return err_set(err, -ENOENT,
			       "no outage %" PRId64 "; 'reeve admin outage list' lists them",
			       id);
	return r;
}

int store_outage_remove(struct store *s, int64_t id, struct err *err)
{
	int r = db_begin(s->db, err);

	return r < 0 ? r : db_end(s->db, remove_row(s, id, err), err);
}

/* clang-format off */
#define OUTAGE_COLUMNS(X) \
	X(OUTAGE_ID,      "id") \
	X(OUTAGE_AT_NS,   ", at_ns") \
	X(OUTAGE_FROM_NS, ", from_ns") \
	X(OUTAGE_TO_NS,   ", to_ns") \
	X(OUTAGE_CLUSTER, ", cluster") \
	X(OUTAGE_REASON,  ", reason") \
	X(OUTAGE_AUTHOR,  ", author")
/* clang-format on */
enum { OUTAGE_COLUMNS(SQL_NAME) };

#define OUTAGE_SQL                                                                             \
	"SELECT " OUTAGE_COLUMNS(SQL_COLUMN) " FROM outages WHERE to_ns > ?1 AND from_ns < ?2"
#define OUTAGE_ORDER " ORDER BY from_ns, id"

static int begin_query(struct store *s, const struct store_outages *which, struct db_row **ret,
		       struct err *err)
{
	if (!which->cluster)
		return db_query(s->db, err, ret, OUTAGE_SQL OUTAGE_ORDER, "ii", which->from_ns,
				which->to_ns);
	return db_query(s->db, err, ret, OUTAGE_SQL " AND cluster IN ('', ?3)" OUTAGE_ORDER,
			"iit", which->from_ns, which->to_ns, which->cluster);
}

int store_outage_each(struct store *s, const struct store_outages *which, store_outage_fn fn,
		      void *ctx, struct err *err)
{
	struct db_row *st;
	int r = begin_query(s, which, &st, err);

	while (r >= 0 && (r = db_step(s->db, st, err)) > 0) {
		const struct store_outage o = { .id = db_int(st, OUTAGE_ID),
						.at_ns = db_int(st, OUTAGE_AT_NS),
						.from_ns = db_int(st, OUTAGE_FROM_NS),
						.to_ns = db_int(st, OUTAGE_TO_NS),
						.cluster = store_text(st, OUTAGE_CLUSTER),
						.reason = store_text(st, OUTAGE_REASON),
						.author = store_text(st, OUTAGE_AUTHOR) };

		r = fn(ctx, &o, err);
		if (r < 0)
			db_done(st);
	}
	return r < 0 ? r : 0;
}

static int append_span(void *ctx, const struct store_outage *o, struct err *err)
{
	struct outage_list *to = ctx;
	void *larger = realloc(to->of, (to->n + 1) * sizeof(*to->of));

	if (!larger)
		return err_set(err, -ENOMEM, "out of memory");
	to->of = larger;
	to->of[to->n++] = (struct outage_span){ o->from_ns, o->to_ns };
	return 0;
}

int store_outage_read(struct store *s, const struct store_outages *which,
		      struct outage_list *ret, struct err *err)
{
	struct outage_list list = { 0 };
	int r = store_outage_each(s, which, append_span, &list, err);

	if (r < 0)
		free(list.of);
	else
		*ret = list;
	return r;
}

int store_outage_parse(struct store *s, const char *text, int64_t *ret_ns, struct err *err)
{
	int64_t day;

	if (calendar_parse_day(text, &day) >= 0) {
		*ret_ns = store_first_ns(s, day);
		return 0;
	}
	if (store_parse_at(s, text, ret_ns, NULL) >= 0)
		return 0;
	return err_set(
		err, -EINVAL,
		"'%.32s' is not a time; write a day, 2026-11-21 (its beginning is meant), or "
		"an instant, 2026-11-21T08:00, of %s",
		text, store_zone(s));
}
