/* SPDX-License-Identifier: GPL-2.0-or-later */
/* verify_parts.c - checks the jobs on several nodes: what the parts of an attempt used sums to what
 * the attempt used, and no part stays open after the end of its attempt. See verify/verify.h. */
#include <string.h>
#include "common/err.h"
#include "controller/ledger/attempts/part.h"
#include "controller/ledger/verify/verify.h"
#include "controller/ledger/sql.h"

struct checking {
	store_difference_fn fn;
	void *ctx;
	int64_t differences;
	/* The attempt whose parts are being read, with its names; whose.job 0: none yet. */
	struct store_difference whose;
	char cluster[REQUEST_NAME_MAX], account[REQUEST_NAME_MAX], user[REQUEST_NAME_MAX];
	int64_t attempt;
	struct usage stored, sum; /* of the attempt, and of its parts so far */
};

static int report_difference(struct checking *c, const char *figure, int64_t stored,
			     int64_t recomputed, struct err *err)
{
	struct store_difference d = c->whose;

	d.figure = figure;
	d.stored = stored;
	d.recomputed = recomputed;
	c->differences++;
	return c->fn(c->ctx, &d, err);
}

/* The first columns of parts_sql and left_sql; left_sql has no more. */
enum part_column {
	PART_JOB,
	PART_ATTEMPT,
	PART_CLUSTER,
	PART_ACCOUNT,
	PART_USER,
	PART_ATTEMPT_USAGE,
	PART_USAGE
};

/* Copies the names: they are used when the statement stands at a later row. */
static void set_whose(struct checking *c, struct db_row *st)
{
	snprintf(c->cluster, sizeof(c->cluster), "%s", store_text(st, PART_CLUSTER));
	snprintf(c->account, sizeof(c->account), "%s", store_text(st, PART_ACCOUNT));
	snprintf(c->user, sizeof(c->user), "%s", store_text(st, PART_USER));
	c->whose = (struct store_difference){ .cluster = c->cluster,
					      .account = c->account,
					      .user = c->user,
					      .job = db_int(st, PART_JOB) };
	c->attempt = db_int(st, PART_ATTEMPT);
}

/* The i-th figure of usage_fields; -1: not measured. */
static int64_t figure_of(const struct usage *u, size_t i)
{
	return u->have >> i & 1 ? *(const int64_t *)(const void *)((const char *)u +
								   usage_fields[i].offset)
				: -1;
}

/* All parts of the attempt have been read. */
static int compare_figures(struct checking *c, struct err *err)
{
	int r = 0;

	for (size_t i = 0; c->whose.job && usage_fields[i].name && r >= 0; i++) {
		int64_t stored = figure_of(&c->stored, i), sum = figure_of(&c->sum, i);

		if (stored != sum)
			r = report_difference(c, usage_fields[i].name, stored, sum, err);
	}
	return r;
}

static int begin_attempt(struct checking *c, struct db_row *st, struct err *err)
{
	set_whose(c, st);
	c->stored = c->sum = (struct usage){ 0 };
	return store_usage_decode(store_text(st, PART_ATTEMPT_USAGE), &c->stored, err);
}

static int add_part(struct checking *c, struct db_row *st, struct err *err)
{
	struct usage one = { 0 };
	int r = 0;

	if (c->whose.job != db_int(st, PART_JOB) || c->attempt != db_int(st, PART_ATTEMPT)) {
		r = compare_figures(c, err);
		if (r >= 0)
			r = begin_attempt(c, st, err);
	}
	if (r >= 0)
		r = store_usage_decode(store_text(st, PART_USAGE), &one, err);
	if (r >= 0)
		usage_add(&c->sum, &one);
	return r;
}

/* Nothing that nodes reported after the loss of a void attempt is in the attempt. */
static const char parts_sql[] =
	"SELECT a.job, a.attempt, j.cluster, j.account, j.user, a.usage, p.usage"
	" FROM parts p JOIN attempts a ON a.job = p.job AND a.attempt = p.attempt"
	" JOIN jobs j ON j.job = p.job WHERE a.closed <> " SQL_STORE_VOID
	" ORDER BY p.job, p.attempt, p.part";
/* Part 0 is closed with its attempt. The other parts are closed by the reports of their nodes: a node
 * that is not lost does not take an hour for that. */
static const char left_sql[] =
	"SELECT p.job, p.attempt, j.cluster, j.account, j.user"
	" FROM parts p JOIN attempts a ON a.job = p.job AND a.attempt = p.attempt"
	" JOIN jobs j ON j.job = p.job JOIN nodes n ON n.node = p.node"
	" WHERE p.closed = " SQL_STORE_OPEN " AND a.closed <> " SQL_STORE_OPEN
	" AND (p.part = 0 OR n.last_ns - a.ended_ns > 3600000000000)";

static int report_left(struct checking *c, struct db_row *st, struct err *err)
{
	set_whose(c, st);
	return report_difference(c, "open_part", 1, 0, err);
}

static int read_rows(struct store *s, struct checking *c, const char *sql,
		     int (*take)(struct checking *c, struct db_row *st, struct err *err),
		     struct err *err)
{
	struct db_row *st;
	int r = db_query(s->db, err, &st, sql, "");

	if (r >= 0)
		db_scan(st);
	while (r >= 0 && (r = db_step(s->db, st, err)) > 0) {
		r = take(c, st, err);
		if (r < 0)
			db_done(st);
	}
	return r;
}

int store_verify_parts(struct store *s, store_difference_fn fn, void *ctx, int64_t *ret,
		       struct err *err)
{
	struct checking c = { .fn = fn, .ctx = ctx };
	int r = read_rows(s, &c, parts_sql, add_part, err);

	if (r >= 0)
		r = compare_figures(&c, err);
	if (r >= 0)
		r = read_rows(s, &c, left_sql, report_left, err);
	if (r >= 0)
		*ret = c.differences;
	return r < 0 ? r : 0;
}
