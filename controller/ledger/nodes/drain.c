/* SPDX-License-Identifier: GPL-2.0-or-later */
/* drain.c - drains nodes and ends drains. See nodes/drain.h. */
#include <errno.h>
#include "common/err.h"
#include "controller/ledger/nodes/drain.h"
#include "controller/ledger/nodes/record.h"
#include "controller/ledger/store_sqlite.h"

/* -ENOENT: no such node. */
static int check_node(struct store *s, const char *node, struct err *err)
{
	int r = db_has_row(s->db, err, "SELECT 1 FROM nodes WHERE node = ?1", "t", node);

	if (r != 0)
		return r < 0 ? r : 0;
	return err_set(err, -ENOENT, "no node '%.64s' has spoken to the controller so far",
		       node);
}

static int write_drain(struct store *s, const struct store_drain *d, struct err *err)
{
	const struct store_event e = { d->at_ns, 0, d->node, "drain", d->reason };
	int r = check_node(s, d->node, err);

	if (r >= 0)
		r = db_run(s->db, err,
			   "INSERT INTO drains(node, at_ns, author, reason, from_ns)"
			   " VALUES(?1, ?2, ?3, ?4, ?5) ON CONFLICT(node) DO"
			   " UPDATE SET at_ns = excluded.at_ns, author = excluded.author,"
			   " reason = excluded.reason, from_ns = excluded.from_ns",
			   "titti", d->node, d->at_ns, d->author, d->reason, d->from_ns);
	if (r >= 0 && d->from_ns <= d->at_ns)
		r = db_run(s->db, err, "UPDATE nodes SET draining = 1 WHERE node = ?1", "t",
			   d->node);
	if (r >= 0 && d->from_ns <= d->at_ns)
		r = store_node_record(s, d->node, d->at_ns, err);
	return r < 0 ? r : store_event(s, &e, err);
}

static int delete_drain(struct store *s, const struct store_drain *d, struct err *err)
{
	const struct store_event e = { d->at_ns, 0, d->node, "resume-node", d->author };
	int r = check_node(s, d->node, err);

	if (r >= 0)
		r = db_run(s->db, err, "DELETE FROM drains WHERE node = ?1", "t", d->node);
	if (r >= 0 && db_changes(s->db) == 0)
		return STORE_NOT_DRAINED;
	return r < 0 ? r : store_event(s, &e, err);
}

typedef int (*change_fn)(struct store *s, const struct store_drain *d, struct err *err);

static int change_drain(struct store *s, const struct store_drain *d, change_fn fn,
			struct err *err)
{
	int r = db_begin(s->db, err);

	if (r < 0)
		return r;
	store_announce_nodes(s);
	r = fn(s, d, err);
	if (r != 0) {
		db_rollback(s->db);
		return r;
	}
	return db_commit(s->db, err);
}

int store_drain(struct store *s, const struct store_drain *d, struct err *err)
{
	return change_drain(s, d, write_drain, err);
}

int store_resume(struct store *s, const struct store_drain *d, struct err *err)
{
	return change_drain(s, d, delete_drain, err);
}

enum drain_column { DRAIN_NODE, DRAIN_AUTHOR, DRAIN_REASON, DRAIN_AT_NS, DRAIN_FROM_NS };

int store_drains(struct store *s, store_drain_fn fn, void *ctx, struct err *err)
{
	struct db_row *st;
	int r = db_query(
		s->db, err, &st,
		"SELECT node, author, reason, at_ns, from_ns FROM drains ORDER BY node", "");

	while (r >= 0 && (r = db_step(s->db, st, err)) > 0) {
		const struct store_drain d = { .node = store_text(st, DRAIN_NODE),
					       .author = store_text(st, DRAIN_AUTHOR),
					       .reason = store_text(st, DRAIN_REASON),
					       .at_ns = db_int(st, DRAIN_AT_NS),
					       .from_ns = db_int(st, DRAIN_FROM_NS) };

		r = fn(ctx, &d, err);
		if (r < 0) {
			db_done(st);
			return r;
		}
	}
	return r;
}
