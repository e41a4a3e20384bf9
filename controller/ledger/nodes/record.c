/* SPDX-License-Identifier: GPL-2.0-or-later */
/* record.c - writes changes of nodes where they happen, and replays them over a period. See record.h. */
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "controller/ledger/nodes/record.h"
#include "controller/ledger/sql.h"

_Static_assert(CAPACITY_UP == 0 && CAPACITY_DRAINED == 1 && CAPACITY_DOWN == 2,
	       "states are on disk as numbers");

#define RECORD "INSERT INTO node_changes(node, at_ns, cluster, state, ncpus, ngpus)"
#define REPLACE                                                                                \
	" ON CONFLICT(node, at_ns) DO UPDATE SET cluster = excluded.cluster,"                  \
	" state = excluded.state, ncpus = excluded.ncpus, ngpus = excluded.ngpus"

int store_node_record(struct store *s, const char *node, int64_t now_ns, struct err *err)
{
	int r = db_run(s->db, err,
		       RECORD " SELECT node, ?2, cluster, CASE WHEN lost <> 0 THEN 2"
			      " WHEN draining <> 0 THEN 1 ELSE 0 END, ncpus, ngpus"
			      " FROM nodes WHERE node = ?1" REPLACE,
		       "ti", node, now_ns);

	return r < 0 ? r : 0;
}

int store_node_record_lost(struct store *s, int64_t before_ns, int64_t now_ns, struct err *err)
{
	int r = db_run(s->db, err,
		       RECORD " SELECT node, ?2, cluster, 2, ncpus, ngpus FROM nodes"
			      " WHERE lost = 0 AND last_ns < ?1" REPLACE,
		       "ii", before_ns, now_ns);

	return r < 0 ? r : 0;
}

/* ---- replay ---- */

/* clang-format off */
#define CHANGE_COLUMNS(X) \
	X(CHANGE_NODE,    "c.node") \
	X(CHANGE_AT_NS,   ", c.at_ns") \
	X(CHANGE_CLUSTER, ", c.cluster") \
	X(CHANGE_STATE,   ", c.state") \
	X(CHANGE_NCPUS,   ", c.ncpus") \
	X(CHANGE_NGPUS,   ", c.ngpus")
/* clang-format on */
enum { CHANGE_COLUMNS(SQL_NAME) };
#define CHANGE_SELECT "SELECT " CHANGE_COLUMNS(SQL_COLUMN)

/* The change that is in force, while the next one is looked for. */
struct replay {
	const struct store_capacity_ask *ask;
	struct capacity_days days;
	char node[REQUEST_NAME_MAX];
	bool is_counted; /* the node is of the cluster */
	struct capacity_change now;
};

static void end_change(struct replay *p, int64_t until_ns)
{
	int64_t from_ns = p->now.at_ns > p->ask->from_ns ? p->now.at_ns : p->ask->from_ns;

	if (*p->node && p->is_counted)
		capacity_add(&p->days, &p->now, from_ns, until_ns);
}

static void begin_change(struct replay *p, struct db_row *st)
{
	int64_t state = db_int(st, CHANGE_STATE);

	snprintf(p->node, sizeof(p->node), "%s", store_text(st, CHANGE_NODE));
	p->is_counted =
		!p->ask->cluster || !strcmp(p->ask->cluster, store_text(st, CHANGE_CLUSTER));
	p->now = (struct capacity_change){
		.at_ns = db_int(st, CHANGE_AT_NS),
		.state = state >= 0 && state < _CAPACITY_STATE_MAX ? (enum capacity_state)state
								   : CAPACITY_DOWN,
		.ncpus = db_int(st, CHANGE_NCPUS),
		.ngpus = db_int(st, CHANGE_NGPUS),
	};
}

/* The state of each node at the start of the period, then what changed in it. */
int store_capacity(struct store *s, const struct store_capacity_ask *ask,
		   const struct capacity_days *days, struct err *err)
{
	struct replay p = { .ask = ask, .days = *days };
	struct db_row *st;
	int r;

	p.days.calendar = calendar_days(s->calendar);
	r = db_query(s->db, err, &st,
		     CHANGE_SELECT " FROM nodes n CROSS JOIN node_changes c ON c.node = n.node"
				   " AND c.at_ns = (SELECT MAX(d.at_ns) FROM node_changes d"
				   " WHERE d.node = n.node AND d.at_ns <= ?1)"
				   " UNION ALL " CHANGE_SELECT " FROM node_changes c"
				   " WHERE c.at_ns > ?1 AND c.at_ns < ?2 ORDER BY 1, 2",
		     "ii", ask->from_ns, ask->to_ns);

	while (r >= 0 && (r = db_step(s->db, st, err)) > 0) {
		bool is_same = !strcmp(p.node, store_text(st, CHANGE_NODE));

		end_change(&p, is_same ? db_int(st, CHANGE_AT_NS) : ask->to_ns);
		begin_change(&p, st);
	}
	if (r >= 0)
		end_change(&p, ask->to_ns);
	return r;
}

int store_capacity_since(struct store *s, int64_t *ret_ns, struct err *err)
{
	int r = db_query_int(s->db, err, ret_ns,
			     "SELECT COALESCE(MIN(at_ns), 0) FROM node_changes", "");

	return r < 0 ? r : 0;
}
