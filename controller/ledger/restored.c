/* SPDX-License-Identifier: GPL-2.0-or-later */
/* restored.c - what a ledger that was restored from a backup does until all nodes have sent their reports; see restored.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "common/clock.h"
#include "common/err.h"
#include "controller/ledger/attempts/part.h"
#include "controller/ledger/jobs/array.h"
#include "controller/ledger/jobs/slurm.h"
#include "controller/ledger/nodes/given/given_kept.h"
#include "controller/ledger/restored.h"
#include "controller/ledger/sql.h"

/* How many numbers are left out for what was submitted after the backup: a million, and as many in each second since then. */
#define SKIPPED_A_SECOND 100
#define SKIPPED_AT_LEAST 1000000
#define ROUNDED_TO 1000000 /* so that people see where the restore was */

#define WAIT_MAX_NS (15 * 60 * S_NS)

/* A node may not use up the numbers. */
#define SKIP_MAX 100000000

static int set_meta(struct store *s, const char *key, const char *value, struct err *err)
{
	return db_run(s->db, err,
		      "INSERT INTO meta(key, value) VALUES(?1, ?2)"
		      " ON CONFLICT(key) DO UPDATE SET value = excluded.value",
		      "tt", key, value);
}

static int set_meta_number(struct store *s, const char *key, int64_t value, struct err *err)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, value);
	return set_meta(s, key, text, err);
}

/* ---- a ledger is restored ---- */

static int64_t find_first_job(const struct store_restored *how, int64_t next)
{
	int64_t s = how->now_ns > how->taken_ns ? (how->now_ns - how->taken_ns) / S_NS : 0;
	int64_t first = next + SKIPPED_AT_LEAST + s * SKIPPED_A_SECOND;

	return (first / ROUNDED_TO + 1) * ROUNDED_TO + 1;
}

int store_identity_restored(struct store *s, const struct store_restored *how,
			    int64_t *ret_first_job, struct err *err)
{
	int64_t next, first;
	int r = store_new_numbers(s, &next, err);

	if (r < 0)
		return r;
	first = how->first_job ? how->first_job : find_first_job(how, next);
	if (first < next || first >= STORE_SLURM_FROM)
		return err_set(err, -EINVAL,
			       "the first new job cannot be %" PRId64
			       ": the ledger goes up to %" PRId64,
			       first, next - 1);
	r = set_meta_number(s, "first_job", first, err);
	if (r >= 0)
		r = set_meta_number(s, "taken_ns", how->taken_ns, err);
	if (r >= 0)
		r = set_meta_number(s, "restored_ns", how->now_ns, err);
	if (r < 0)
		return r;
	*ret_first_job = first;
	return 0;
}

int store_restored_set_back(struct store *s, int64_t back_ns, struct err *err)
{
	return s->identity.restored_ns
		       ? set_meta_number(s, "taken_ns", s->identity.taken_ns - back_ns, err)
		       : 0;
}

/* ---- until all nodes have sent their reports ---- */

int store_restored_waits(struct store *s, struct err *err)
{
	struct store_identity *id = &s->identity;
	int r;

	id->is_told |= clock_ns(CLOCK_MONOTONIC) - id->opened_ns > WAIT_MAX_NS;
	if (!id->restored_ns || id->is_told)
		return 0;
	r = db_has_row(s->db, err,
		       "SELECT 1 FROM nodes WHERE lost = 0 AND restored_ns <> ?1 LIMIT 1", "i",
		       id->restored_ns);
	id->is_told = r == 0;
	return r;
}

bool store_restored_is_told(const struct store *s, const struct sync *in)
{
	return !*in->ledger || (strcmp(in->ledger, s->identity.id) == 0 &&
				in->restored_ns == s->identity.restored_ns);
}

int store_restored_told(struct store *s, const char *node, struct err *err)
{
	return db_run(s->db, err, "UPDATE nodes SET restored_ns = ?2 WHERE node = ?1", "ti",
		      node, s->identity.restored_ns);
}

/* The attempt becomes the job's present one, unless a later one is. */
static int adopt_job(struct store *s, const struct store_at *at, struct err *err)
{
	store_announce_job(s, at->job);
	store_forget_given(s, at->node);
	return db_run(s->db, err,
		      "UPDATE jobs SET state = " SQL_JOB_STARTING
		      ", node = ?2, attempt = ?3, withheld = 0"
		      " WHERE job = ?1 AND attempt < ?3 AND state < " SQL_JOB_ENDED,
		      "iti", at->job, at->node, (int64_t)at->attempt);
}

/* No job gets a number up to this one, which a node knows. */
static int skip_number(struct store *s, int64_t job, struct err *err)
{
	int64_t next;
	int r = store_new_numbers(s, &next, err);

	if (r < 0 || job < next || job >= next + SKIP_MAX || job >= STORE_SLURM_FROM)
		return r < 0 ? r : 0;
	return set_meta_number(s, "first_job", job + 1, err);
}

/* The job is there, on one node, and has no such attempt. */
static int is_adoptable(struct store *s, const struct store_at *at, struct err *err)
{
	return db_has_row(s->db, err,
			  "SELECT 1 FROM jobs j WHERE j.job = ?1 AND j.chunks = ''"
			  " AND NOT EXISTS(SELECT 1 FROM arrays r WHERE r.job = j.job)"
			  " AND NOT EXISTS(SELECT 1 FROM attempts a"
			  "  WHERE a.job = j.job AND a.attempt = ?2)",
			  "ii", at->job, (int64_t)at->attempt);
}

/* Also a task of an array that had no row at the time of the backup. */
static int find_adoptable(struct store *s, const struct store_at *at, struct err *err)
{
	int r = is_adoptable(s, at, err);

	if (r == 0)
		r = store_array_expand_number(s, at->job, err);
	else
		return r;
	return r > 0 ? is_adoptable(s, at, err) : r;
}

/* It was dispatched after the backup; how long it ran is believed up to then. */
int store_restored_adopt(struct store *s, const struct store_at *at, int64_t now_ns,
			 struct err *err)
{
	struct store_event e = {
		now_ns, at->job, at->node, "adopted",
		"dispatched after the backup from which the ledger was restored"
	};
	int r = 0;

	if (at->attempt >= 1 && !store_is_slurm(at->job))
		r = find_adoptable(s, at, err);
	if (r == 0)
		return skip_number(s, at->job, err);
	if (r < 0)
		return r;
	r = db_run(s->db, err,
		   "INSERT INTO attempts(job, attempt, node, given_ns, state)"
		   " VALUES(?1, ?2, ?3, ?4, " SQL_JOB_STARTING ")",
		   "iiti", at->job, (int64_t)at->attempt, at->node, s->identity.taken_ns);
	if (r >= 0)
		r = adopt_job(s, at, err);
	if (r >= 0)
		r = store_event(s, &e, err);
	return r < 0 ? r : 1;
}
