/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lost.c - ends the attempts and parts on nodes that are marked as lost, a bounded number in one
 * transaction. See nodes/lost.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "common/err.h"
#include "common/time_units.h"
#include "controller/ledger/jobs/credential.h"
#include "controller/ledger/nodes/lost.h"
#include "controller/ledger/attempts/part.h"
#include "controller/ledger/sql.h"

struct held {
	int64_t job, heard_ns;
	int32_t attempt, part;
	char node[REQUEST_NAME_MAX];
};

/* The columns of both halves of the SELECT in find_held(). */
enum held_column { HELD_JOB, HELD_ATTEMPT, HELD_NODE, HELD_HEARD_NS, HELD_PART };

/* A job of Slurm is not given up for the silence of its agent: slurmctld decides whether its node is down. */
static int find_held(struct store *s, struct held *held, size_t *ret_n, struct err *err)
{
	struct db_row *st;
	size_t n = 0;
	int r = db_query(
		s->db, err, &st,
		"SELECT a.job, a.attempt, a.node, n.last_ns, 0 FROM nodes n"
		" CROSS JOIN attempts a ON a.node = n.node AND a.closed = " SQL_STORE_OPEN
		" WHERE n.lost = 1 AND a.job < " SQL_SLURM_FROM " UNION ALL"
		" SELECT p.job, p.attempt, p.node, n.last_ns, p.part FROM nodes n"
		" CROSS JOIN parts p ON p.node = n.node AND p.closed = " SQL_STORE_OPEN
		" AND p.part > 0"
		" WHERE n.lost = 1 ORDER BY 1, 2, 5 LIMIT ?1",
		"i", (int64_t)STORE_LOST_MAX);

	while (r >= 0 && n < STORE_LOST_MAX && (r = db_step(s->db, st, err)) > 0) {
		struct held *h = &held[n++];

		h->job = db_int(st, HELD_JOB);
		h->attempt = (int32_t)db_int(st, HELD_ATTEMPT);
		snprintf(h->node, sizeof(h->node), "%s", store_text(st, HELD_NODE));
		h->heard_ns = db_int(st, HELD_HEARD_NS);
		h->part = (int32_t)db_int(st, HELD_PART);
	}
	if (r > 0)
		db_done(st);
	*ret_n = n;
	return r < 0 ? r : 0;
}

static int lose_one(struct store *s, const struct held *h, int64_t now_ns, struct err *err)
{
	const time_t heard_s = h->heard_ns / S_NS;
	char text[192], since[64] = "?";
	struct store_loss loss = { .job = h->job,
				   .attempt = h->attempt,
				   .part = h->part,
				   .now_ns = now_ns,
				   .node = h->node,
				   .text = text };
	struct tm tm;
	int r;

	if (gmtime_r(&heard_s, &tm))
		strftime(since, sizeof(since), "%Y-%m-%d %H:%M:%S UTC", &tm);
	snprintf(text, sizeof(text), "node %s was not heard of since %s", h->node, since);
	if (!h->part) {
		int kept;

		r = store_end_lost(s, &loss, err);
		kept = r < 0 ? r : store_credential_drop(s, h->job, err);
		return kept < 0 ? kept : r;
	}
	/* The job ends when its first node has ended part 0. */
	r = store_part_lose(s, &loss, err);
	return r < 0 ? r : 0;
}

static int lose_all(struct store *s, int64_t now_ns, struct store_lost_result *ret,
		    struct err *err)
{
	struct held held[STORE_LOST_MAX];
	size_t n = 0;
	int r = find_held(s, held, &n, err);

	for (size_t i = 0; i < n && r >= 0; i++) {
		r = lose_one(s, &held[i], now_ns, err);
		ret->n_requeued += r == STORE_REQUEUED;
		ret->jobs[i] = held[i].job;
	}
	ret->n_lost = (int64_t)n;
	return r;
}

int store_end_lost_jobs(struct store *s, int64_t now_ns, struct store_lost_result *ret,
			struct err *err)
{
	struct store_lost_result out;
	int r = db_begin(s->db, err);

	if (r < 0)
		return r;
	out.n_lost = out.n_requeued = 0;
	r = db_end(s->db, lose_all(s, now_ns, &out, err), err);
	if (r >= 0)
		*ret = out;
	return r < 0 ? r : 0;
}
