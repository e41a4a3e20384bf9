/* SPDX-License-Identifier: GPL-2.0-or-later */
/* followed.c - which of the jobs that are about to be imported the ledger has as jobs of Slurm already, from reeve-slurm or
 * an agent, archived ones too: they were charged, and are not imported. See import_impl.h. */
#include <stdlib.h>
#include "common/err.h"
#include "common/time_units.h"
#include "controller/ledger/import/import_impl.h"
#include "controller/ledger/jobs/slurm.h"
#include "controller/ledger/slurm/counted.h"
#include "controller/ledger/sql.h"

/* The same run, read with the clocks of another time zone, is this far away at most, by whole quarters of an hour. */
#define ZONES_APART_S (26 * HOUR_S)
#define ZONE_STEP_S (15 * 60)

/* A run that the ledger has. */
struct run {
	int64_t job;
	int64_t id; /* Slurm's whole id; 0: not known, an agent alone reported it */
	int64_t start_s, end_s;
	bool is_measured; /* by an agent */
};

enum run_column { RUN_JOB, RUN_ID, RUN_STARTED_NS, RUN_ENDED_NS, RUN_MEASURED };

/* An attempt that waits for an agent's report has no start yet: since when it is allocated. */
static const char runs_sql[] =
	"SELECT t.job, COALESCE(a.id, 0), CASE WHEN t.started_ns > 0 THEN t.started_ns"
	" ELSE t.given_ns END, t.ended_ns, CASE WHEN t.seq > 0 OR t.started_ns = 0 THEN 1"
	" ELSE 0 END FROM attempts t LEFT JOIN slurm_attempts a ON a.job = t.job"
	" AND a.attempt = t.attempt WHERE t.job IN (" STORE_SOME_PARAMETERS ")"
	" UNION ALL SELECT x.job, CASE WHEN x.submit_s > 0 THEN x.id ELSE 0 END,"
	" x.started_s * 1000000000, x.ended_s * 1000000000, x.by_agent FROM archived_slurm x"
	" WHERE x.has_run > 0 AND x.job IN (" STORE_SOME_PARAMETERS ")";

int import_find_generations(struct store_import *i, struct err *err)
{
	return counted_find_generations(i->s, i->origin, &i->generations, err);
}

static void read_run(struct db_row *st, struct run *ret)
{
	*ret = (struct run){ .job = db_int(st, RUN_JOB),
			     .id = db_int(st, RUN_ID),
			     .start_s = db_int(st, RUN_STARTED_NS) / S_NS,
			     .end_s = db_int(st, RUN_ENDED_NS) / S_NS,
			     .is_measured = db_int(st, RUN_MEASURED) > 0 };
	if (!ret->end_s)
		ret->end_s = SLURM_BATCH_TIME_MAX;
}

static bool is_of_id(const struct run *run, const struct import_added *t)
{
	return run->job >> 40 == t->origin &&
	       (run->job & SYNC_SLURM_ID_MAX) == (t->history.number & SYNC_SLURM_ID_MAX) &&
	       (!run->id || run->id == t->history.number);
}

/* NEW: the run says nothing of the job. */
static enum store_import_outcome compare_run(const struct run *run, const struct history_job *j)
{
	int64_t slack_s = run->is_measured ? COUNTED_AGENT_S : 0,
		apart_s = llabs(j->start_s - run->start_s);

	if (j->start_s < run->end_s + slack_s && run->start_s < j->end_s + slack_s)
		return STORE_IMPORT_FOLLOWED;
	if (j->end_s - j->start_s == run->end_s - run->start_s && apart_s <= ZONES_APART_S &&
	    apart_s % ZONE_STEP_S == 0)
		return STORE_IMPORT_CONFLICT;
	return STORE_IMPORT_NEW;
}

/* Some of the jobs that were added, of clusters with jobs of Slurm. */
struct some {
	size_t at[STORE_SOME];	  /* in added */
	int64_t jobs[STORE_SOME]; /* the numbers of their ids in one generation */
	size_t n;
	int32_t generations; /* the most */
};

static void note_run(const struct store_import *i, const struct some *some,
		     const struct run *run, enum store_import_outcome *ret)
{
	for (size_t k = 0; k < some->n; k++) {
		const struct import_added *t = &i->added[some->at[k]];
		enum store_import_outcome *of = &ret[some->at[k]], is;

		if (!is_of_id(run, t) || *of == STORE_IMPORT_FOLLOWED)
			continue;
		is = compare_run(run, &t->history);
		if (is != STORE_IMPORT_NEW)
			*of = is;
	}
}

static int64_t number_of(const struct import_added *t, int32_t generation)
{
	return store_slurm_number(t->origin, generation, t->history.number & SYNC_SLURM_ID_MAX);
}

static int look_up(struct store_import *i, struct some *some, enum store_import_outcome *ret,
		   struct err *err)
{
	int r = 0;

	for (int32_t g = 0; g < some->generations && r >= 0; g++) {
		const struct store_these these = { .jobs = some->jobs, .n = some->n };
		int64_t buf[STORE_SOME];
		struct db_ints v;
		struct db_row *st;
		struct run run;

		for (size_t k = 0; k < some->n; k++)
			some->jobs[k] = number_of(&i->added[some->at[k]], g);
		r = db_query_ints(i->s->db, runs_sql, store_some(&these, 0, buf, &v), &st, err);
		while (r >= 0 && (r = db_step(i->s->db, st, err)) > 0) {
			read_run(st, &run);
			note_run(i, some, &run, ret);
		}
	}
	*some = (struct some){ .n = 0 };
	return r < 0 ? r : 0;
}

int import_find_followed(struct store_import *i, enum store_import_outcome *ret,
			 struct err *err)
{
	struct some some = { .n = 0 };
	int r = 0;

	for (size_t k = 0; k < i->n_added; k++)
		ret[k] = STORE_IMPORT_NEW;
	for (size_t k = 0; k < i->n_added && r >= 0; k++) {
		if (!i->added[k].generations)
			continue;
		some.at[some.n++] = k;
		if (i->added[k].generations > some.generations)
			some.generations = i->added[k].generations;
		if (some.n == STORE_SOME)
			r = look_up(i, &some, ret, err);
	}
	return r >= 0 && some.n ? look_up(i, &some, ret, err) : r;
}
