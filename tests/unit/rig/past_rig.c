/* SPDX-License-Identifier: GPL-2.0-or-later */
/* past_rig.c - see past_rig.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>
#include "common/err.h"
#include "controller/ledger/store_sqlite.h"
#include "tests/unit/rig/past_rig.h"

#define NUMBERS(n)                                                                             \
	"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < " n ")"
#define ENDED "?1" /* past_rig_ended() */

static const char *const past_of_jobs[] = {
	NUMBERS(ENDED) " INSERT INTO jobs(job, attempt, state, want, uid, user, account, "
		       "cluster,"
		       " queue, name, node, ncpus, vmem_bytes, mem_bytes, jobfs_bytes, "
		       "walltime_s, ngpus,"
		       " submitted_ns, started_ns, ended_ns, pool, decided_by, rate_num, "
		       "rate_den,"
		       " bundle_gpus_num, bundle_gpus_den, bundle_cores_num, bundle_cores_den,"
		       " bundle_memory_num, bundle_memory_den, request)"
		       " SELECT i, 1, 5, 0, 1001, 'alice', 'physics', 'main', 'normal', 'old', "
		       "'n1', 2, 1, 0, 1,"
		       " 60, 0, i, i, i, 0, 1, 2, 1, 0, 1, 1, 1, 0, 1, '{}' FROM n",
	NUMBERS(ENDED) " INSERT INTO attempts(job, attempt, node, given_ns, state, shown, "
		       "closed,"
		       " seq, at_ns, started_ns, ended_ns, running_ns, end_kind, exit_status)"
		       " SELECT i, 1, 'n1', i, 5, 1, 1, 3, i, i, i, 1000000, 1, 0 FROM n",
	NUMBERS(ENDED) " INSERT INTO stretches(job, attempt, from_ns, to_ns, running_ns, even)"
		       " SELECT i, 1, i, i + 1000000, 1000000, 1 FROM n",
	NUMBERS("2 * " ENDED) " INSERT INTO events(at_ns, job, node, what, text)"
			      " SELECT i, (i + 1) / 2, 'n1', CASE WHEN i / 2 * 2 = i THEN "
			      "'ended' ELSE 'give' END, ''"
			      " FROM n",
};

static const char *const past_of_parts[] = {
	NUMBERS("20000") " INSERT INTO parts(job, attempt, part, node, ncpus, vmem_bytes, "
			 "mem_bytes,"
			 " jobfs_bytes, ngpus, state, shown, closed, user)"
			 " SELECT i, 1, 1, 'n2', 1, 1, 0, 1, 0, 5, 1, 1, 'alice' FROM n",
	NUMBERS("20000") " INSERT INTO steps(job, step, attempt, node, state, spec, created_ns)"
			 " SELECT i, 1, 1, 'n1', 2, '{}', i FROM n",
	NUMBERS("20000") " INSERT INTO streams(job, attempt, stream, seen, kept)"
			 " SELECT i, 1, 0, 1, 1 FROM n",
	NUMBERS("20000") " INSERT INTO depends(job, target, kind, met) SELECT i, i - 1, 0, 1 "
			 "FROM n",
	NUMBERS("20000") " INSERT INTO holds(job, kind, author, at_ns) SELECT i, 0, 'alice', i "
			 "FROM n",
	NUMBERS("20000") " INSERT INTO arrays(job, n, first, step, at_once, waiting, n_waiting,"
			 " is_open) SELECT i, 0, 0, 1, 0, '', 0, 0 FROM n",
};

/* Jobs of Slurm, half of them from reeve-slurm; and as many that were archived. */
#define SLURM "50000"
#define SLURM_FIRST "9895604649984" /* of origin 9 */
static const char *const slurm_past[] = {
	"INSERT INTO origins(id, cluster) VALUES(9, 'east')",
	NUMBERS(SLURM) " INSERT INTO jobs(job, attempt, state, want, uid, user, account,"
		       " cluster, queue, name, node, ncpus, vmem_bytes, mem_bytes,"
		       " jobfs_bytes, walltime_s, ngpus, submitted_ns, started_ns, ended_ns,"
		       " pool, decided_by, rate_num, rate_den, bundle_gpus_num,"
		       " bundle_gpus_den, bundle_cores_num, bundle_cores_den,"
		       " bundle_memory_num, bundle_memory_den, request)"
		       " SELECT " SLURM_FIRST " + i, 1, 5, 0, 1, 'carol', 'chemistry', 'east',"
		       " 'batch', 'old', 'm1', 2, 1, 0, 1, 60, 0, i, i, CAST(i AS BIGINT) * 1000000000, 0, 1,"
		       " 2, 1, 0, 1, 1, 1, 0, 1, '{}' FROM n",
	NUMBERS(SLURM) " INSERT INTO attempts(job, attempt, node, given_ns, state, shown,"
		       " closed, seq, at_ns, started_ns, ended_ns, running_ns, end_kind,"
		       " exit_status) SELECT " SLURM_FIRST " + i, 1, 'm1', i, 5, 1, 1, 3, i, i,"
		       " CAST(i AS BIGINT) * 1000000000, 1000000, 1, 0 FROM n",
	NUMBERS(SLURM) " INSERT INTO slurm_attempts(origin, id, submit_s, job, attempt, state,"
		       " start_s, end_s, suspended_s, exit_status, signal, ncpus, nodes, node,"
		       " array_job, array_task, het_job, het_offset, source, at_s)"
		       " SELECT 9, i, i, " SLURM_FIRST " + i, 1, 3, i, i, 0, 0, 0, 2, 'm1',"
		       " 'm1', 0, -1, 0, 0, 2, i FROM n WHERE i / 2 * 2 = i",
	NUMBERS(SLURM) " INSERT INTO archived_slurm(job, attempt, submit_s, id, state,"
		       " started_s, ended_s, suspended_s, slurm_end_s, ncpus, by_agent,"
		       " has_run) SELECT " SLURM_FIRST " + 67108864 + i, 1, i, i, 3, i, i, 0,"
		       " i, 2, 0, 1 FROM n",
};

static const char chunks_sql[] =
	NUMBERS("20000") " INSERT INTO chunks(job, attempt, stream, offset, size, data)"
			 " SELECT i, 1, 0, 0, 1, ?1 FROM n";

static const char series_sql[] =
	NUMBERS("20000") " INSERT INTO series(job, attempt, part, at_ns, data)"
			 " SELECT i, 1, 0, i, ?1 FROM n";

int64_t past_rig_ended(void)
{
	const char *n = getenv("REEVE_PAST_ENDED");

	return n ? strtoll(n, NULL, 10) : 200000;
}

void past_rig_make(struct rig *r)
{
	struct err err = { "" };

	assert_int_equal(db_begin(r->store->db, &err), 0);
	if (db_run(r->store->db, &err, chunks_sql, "b", "x", (size_t)1) < 0 ||
	    db_run(r->store->db, &err, series_sql, "b", "x", (size_t)1) < 0)
		fail_msg("%s", err.text);
	for (size_t i = 0; i < ARRAY_LEN(past_of_jobs); i++)
		if (db_run(r->store->db, &err, past_of_jobs[i], "i", past_rig_ended()) < 0)
			fail_msg("%s", err.text);
	for (size_t i = 0; i < ARRAY_LEN(past_of_parts); i++)
		if (db_run(r->store->db, &err, past_of_parts[i], "") < 0)
			fail_msg("%s", err.text);
	for (size_t i = 0; i < ARRAY_LEN(slurm_past); i++)
		if (db_run(r->store->db, &err, slurm_past[i], "") < 0)
			fail_msg("%s", err.text);
	assert_int_equal(db_commit(r->store->db, &err), 0);
	if (!rig_is_sqlite())
		assert_int_equal(db_run(r->store->db, &err, "ANALYZE", ""), 0);
}
