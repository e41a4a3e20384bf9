/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rows.c - the rows of a batch of jobs: writes them as CSV, moves what is counted of them, deletes them.
 * See archive_impl.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/csv/csv.h"
#include "common/err.h"
#include "controller/ledger/archive/archive_impl.h"
#include "controller/ledger/sql.h"
#include "controller/ledger/verify/verify_impl.h"

/* clang-format off */
#define JOB_COLUMNS \
	"job, attempt, state, want, want_reason, uid, user, account, cluster, queue" \
	", name, node, ncpus, vmem_bytes, mem_bytes, jobfs_bytes, walltime_s, ngpus" \
	", submitted_ns, started_ns, ended_ns, pool, decided_by, rate_num, rate_den" \
	", bundle_gpus_num, bundle_gpus_den, bundle_cores_num, bundle_cores_den" \
	", bundle_memory_num, bundle_memory_den, request, end, unit, rule, exclusive" \
	", nice, site, gpu_model, gave_way_to, due_ns, withheld, array_job, array_index" \
	", node_type, features, chunks, scattered, summed, eligible_ns, env, script" \
	", kept, qos, owner_suspended_ns, start_by_ns"

#define ATTEMPT_COLUMNS \
	"a.job, a.attempt, a.node, a.given_ns, a.state, a.shown, a.missing_ns, a.closed" \
	", a.seq, a.at_ns, a.started_ns, a.ended_ns, a.running_ns, a.suspended_ns" \
	", a.charge_requested_ms, a.charge_used_ms, a.end_kind, a.exit_status, a.signal" \
	", a.cpus, a.note, a.usage, a.end, a.started_day, a.ended_day, a.usage_day" \
	", a.sliced, a.gpus, a.hosts, a.verdict, a.verdict_kind, a.held_ns" \
	", a.node_cores, a.rate_num, a.rate_den"

#define PART_COLUMNS \
	"job, attempt, part, node, ncpus, vmem_bytes, mem_bytes, jobfs_bytes, ngpus" \
	", state, shown, missing_ns, closed, seq, at_ns, started_ns, ended_ns" \
	", running_ns, suspended_ns, cpus, note, usage, gpus, end, user"

#define SLICE_COLUMNS \
	"job, attempt, day, running_ms, suspended_ms, cpu_ms, charge_requested_ms" \
	", charge_used_ms, core_ms, gpu_ms"

#define SLURM_COLUMNS \
	"job, attempt, origin, id, submit_s, state, start_s, end_s, suspended_s" \
	", exit_status, signal, ncpus, nodes, node, array_job, array_task, het_job" \
	", het_offset, source, at_s, gone_ns, due_ns"

const char *const archive_headers[] = {
	[ARCHIVE_JOBS] =
		"job,attempt,state,want,want_reason,uid,user,account,cluster,queue,name"
		",node,ncpus,vmem_bytes,mem_bytes,jobfs_bytes,walltime_s,ngpus,submitted_ns"
		",started_ns,ended_ns,pool,decided_by,rate_num,rate_den,bundle_gpus_num"
		",bundle_gpus_den,bundle_cores_num,bundle_cores_den,bundle_memory_num"
		",bundle_memory_den,request,end,unit,rule,exclusive,nice,site,gpu_model"
		",gave_way_to,due_ns,withheld,array_job,array_index,node_type,features"
		",chunks,scattered,summed,eligible_ns,env,script,kept,qos"
		",owner_suspended_ns,start_by_ns",
	[ARCHIVE_ATTEMPTS] =
		"cluster,account,user,pool,job,attempt,node,given_ns,state,shown,missing_ns"
		",closed,seq,at_ns,started_ns,ended_ns,running_ns,suspended_ns"
		",charge_requested_ms,charge_used_ms,end_kind,exit_status,signal,cpus,note"
		",usage,end,started_day,ended_day,usage_day,sliced,gpus,hosts,verdict"
		",verdict_kind,held_ns,node_cores,rate_num,rate_den",
	[ARCHIVE_PARTS] =
		"job,attempt,part,node,ncpus,vmem_bytes,mem_bytes,jobfs_bytes,ngpus,state"
		",shown,missing_ns,closed,seq,at_ns,started_ns,ended_ns,running_ns"
		",suspended_ns,cpus,note,usage,gpus,end,user",
	[ARCHIVE_SLICES] =
		"job,attempt,day,running_ms,suspended_ms,cpu_ms,charge_requested_ms"
		",charge_used_ms,core_ms,gpu_ms",
	[ARCHIVE_RUNS] =
		"job,attempt,from_ns,to_ns,running_ns",
	[ARCHIVE_SLURM] =
		"job,attempt,origin,id,submit_s,state,start_s,end_s,suspended_s,exit_status"
		",signal,ncpus,nodes,node,array_job,array_task,het_job,het_offset,source"
		",at_s,gone_ns,due_ns",
};
/* clang-format on */
_Static_assert(ARRAY_LEN(archive_headers) == _ARCHIVE_MAX, "a header a file");

const char *const archive_names[] = {
	[ARCHIVE_JOBS] = "jobs",     [ARCHIVE_ATTEMPTS] = "attempts", [ARCHIVE_PARTS] = "parts",
	[ARCHIVE_SLICES] = "slices", [ARCHIVE_RUNS] = "runs",	      [ARCHIVE_SLURM] = "slurm",
};
_Static_assert(ARRAY_LEN(archive_names) == _ARCHIVE_MAX, "a name a file");

#define OF_SOME "job IN (" STORE_SOME_PARAMETERS ")"
#define ATTEMPTS_OF_SOME " FROM attempts a JOIN jobs j USING(job) WHERE a." OF_SOME
#define WHOSE "SELECT j.cluster, j.account, j.user, j.pool"

/* In the order of the headers. */
static const struct {
	const char *sql;
	int n_columns;
} rows_of[] = {
	[ARCHIVE_JOBS] = { "SELECT " JOB_COLUMNS " FROM jobs WHERE " OF_SOME " ORDER BY job",
			   56 },
	[ARCHIVE_ATTEMPTS] = { WHOSE ", " ATTEMPT_COLUMNS ATTEMPTS_OF_SOME
				     " ORDER BY a.job, a.attempt",
			       39 },
	[ARCHIVE_PARTS] = { "SELECT " PART_COLUMNS " FROM parts WHERE " OF_SOME
			    " ORDER BY job, attempt, part",
			    25 },
	[ARCHIVE_SLICES] = { "SELECT " SLICE_COLUMNS " FROM slices WHERE " OF_SOME
			     " ORDER BY job, attempt, day",
			     10 },
	[ARCHIVE_RUNS] = { "SELECT job, attempt, from_ns, to_ns, running_ns FROM stretches"
			   " WHERE " OF_SOME " ORDER BY job, attempt, from_ns",
			   5 },
	[ARCHIVE_SLURM] = { "SELECT " SLURM_COLUMNS " FROM slurm_attempts WHERE " OF_SOME
			    " ORDER BY job, attempt, submit_s",
			    22 },
};
_Static_assert(ARRAY_LEN(rows_of) == _ARCHIVE_MAX, "a statement a file");

/* ---- which ---- */

/* Nothing of the job can change any more, and nothing that is kept names it: the jobs with the largest
 * number of all and of arrays stay, because new numbers are counted from them (jobs/array.c). A job of Slurm stays while
 * one of its attempts waits for a word of Slurm or of an agent. */
static const char select_sql[] =
	"SELECT job FROM jobs WHERE " OF_SOME " AND state = " SQL_JOB_ENDED
	" AND kept = " SQL_STORE_KEPT_NOTHING
	" AND job <> (SELECT COALESCE(MAX(l.job), 0) FROM jobs l WHERE l.job < " SQL_SLURM_FROM
	")"
	" AND NOT EXISTS(SELECT 1 FROM slurm_attempts o WHERE o.job = jobs.job"
	" AND (o.end_s = 0 OR o.due_ns > 0))"
	" AND job <> (SELECT COALESCE(MAX(l.job), 0) FROM arrays l)"
	" AND NOT EXISTS(SELECT 1 FROM attempts o WHERE o.job = jobs.job AND o.closed"
	" = " SQL_STORE_OPEN ")"
	" AND NOT EXISTS(SELECT 1 FROM parts o WHERE o.job = jobs.job AND o.closed"
	" = " SQL_STORE_OPEN ")"
	" AND NOT EXISTS(SELECT 1 FROM depends o WHERE o.target = jobs.job AND o.met"
	" = " SQL_STORE_DEPEND_OPEN ")"
	" AND NOT EXISTS(SELECT 1 FROM arrays o WHERE (o.job = jobs.job"
	" OR o.job = jobs.array_job) AND o.is_open = 1) ORDER BY job";

int archive_select(struct archive *a, const int64_t *jobs, size_t n, int64_t *ret,
		   struct err *err)
{
	const struct store_these these = { .jobs = jobs, .n = n };
	int64_t some[STORE_SOME];
	struct db_ints v;
	int n_found = 0;

	for (size_t at = 0; at < n; at += STORE_SOME) {
		struct db_row *st;
		int r = db_query_ints(a->s->db, select_sql, store_some(&these, at, some, &v),
				      &st, err);

		while (r >= 0 && (r = db_step(a->s->db, st, err)) > 0)
			ret[n_found++] = db_int(st, 0);
		if (r < 0)
			return r;
	}
	return n_found;
}

/* ---- as CSV ---- */

/* NULL is an empty field, an empty text "". */
static void write_field(FILE *to, const struct db_row *row, int column)
{
	const char *text = db_is_null(row, column) ? NULL : db_text(row, column);

	if (!text)
		return;
	if (*text)
		csv_write_field(text, to);
	else
		fputs("\"\"", to);
}

/* The rows of some jobs in one table. */
static int write_some(struct archive *a, enum archive_table t, const struct db_ints *some,
		      FILE *to, struct err *err)
{
	struct db_row *st;
	int r = db_query_ints(a->s->db, rows_of[t].sql, some, &st, err);

	while (r >= 0 && (r = db_step(a->s->db, st, err)) > 0) {
		for (int i = 0; i < rows_of[t].n_columns; i++) {
			if (i)
				fputc(',', to);
			write_field(to, st, i);
		}
		fputc('\n', to);
		a->files[t].rows++;
	}
	return r;
}

/* The header once, in a file without bytes. f->lines is freed when it was written (files.c). */
static int write_table(struct archive *a, enum archive_table t, const struct store_these *jobs,
		       struct err *err)
{
	struct archive_file *f = &a->files[t];
	FILE *to = open_memstream(&f->lines, &f->n_lines);
	int64_t some[STORE_SOME];
	struct db_ints v;
	int r = 0;

	if (!to)
		return err_set(err, -ENOMEM, "out of memory");
	if (!f->bytes)
		fprintf(to, "%s\n", archive_headers[t]);
	for (size_t at = 0; at < jobs->n && r >= 0; at += STORE_SOME)
		r = write_some(a, t, store_some(jobs, at, some, &v), to, err);
	if (fclose(to) != 0 && r >= 0)
		r = err_set(err, -ENOMEM, "out of memory");
	return r;
}

int archive_write_rows(struct archive *a, const struct store_these *jobs, struct err *err)
{
	int r = 0;

	int64_t runs = a->files[ARCHIVE_RUNS].rows;

	for (enum archive_table t = 0; t < _ARCHIVE_MAX && r >= 0; t++)
		r = write_table(a, t, jobs, err);
	a->new_runs = a->files[ARCHIVE_RUNS].rows - runs;
	return r;
}

/* ---- what is counted ---- */

enum sum_column { SUM_CLUSTER, SUM_ACCOUNT, SUM_USER, SUM_POOL, SUM_DAY, SUM_FIGURES };

/* What an attempt added to the rollups: all to its last day of usage where it has no slices, to the days of
 * its slices else; its start and its end to theirs. */
static const char whole_sql[] = WHOSE ", a.usage_day," VERIFY_FIGURES ATTEMPTS_OF_SOME
				      " AND a.sliced = 0 AND a.usage_day > " SQL_STORE_NO_DAY;
static const char slices_sql[] =
	WHOSE ", x.day, x.running_ms, x.suspended_ms, x.cpu_ms, x.charge_requested_ms,"
	      " x.charge_used_ms, x.core_ms, x.gpu_ms FROM slices x JOIN jobs j USING(job)"
	      " WHERE x." OF_SOME " AND x.day > " SQL_STORE_NO_DAY;
static const char started_sql[] =
	WHOSE ", a.started_day, 1" ATTEMPTS_OF_SOME " AND a.started_day > " SQL_STORE_NO_DAY;
static const char ended_sql[] =
	WHOSE ", a.ended_day, 1" ATTEMPTS_OF_SOME " AND a.ended_day > " SQL_STORE_NO_DAY;

static const struct counted {
	const char *sql;
	enum rollup_figure first, last;
} counted[] = {
	{ whole_sql, ROLLUP_RUNNING_MS, ROLLUP_GPU_MS },
	{ slices_sql, ROLLUP_RUNNING_MS, ROLLUP_GPU_MS },
	{ started_sql, ROLLUP_JOBS_STARTED, ROLLUP_JOBS_STARTED },
	{ ended_sql, ROLLUP_JOBS_ENDED, ROLLUP_JOBS_ENDED },
};

static int add_counted(struct archive *a, const struct counted *c, struct db_row *st,
		       struct err *err)
{
	int index = rollup_set_find(a->sums, store_text(st, SUM_CLUSTER),
				    store_text(st, SUM_ACCOUNT), store_text(st, SUM_USER));
	struct rollup *at = index < 0 ? NULL
				      : rollup_set_at(a->sums, index, (int)db_int(st, SUM_POOL),
						      db_int(st, SUM_DAY));

	if (!at)
		return err_set(err, -ENOMEM, "out of memory");
	for (int f = (int)c->first; f <= (int)c->last; f++)
		at->figure[f] += db_int(st, SUM_FIGURES + f - (int)c->first);
	return 0;
}

static int count_some(struct archive *a, const struct counted *c, const struct db_ints *some,
		      struct err *err)
{
	struct db_row *st;
	int r = db_query_ints(a->s->db, c->sql, some, &st, err);

	while (r >= 0 && (r = db_step(a->s->db, st, err)) > 0) {
		r = add_counted(a, c, st, err);
		if (r < 0)
			db_done(st);
	}
	return r;
}

/* Sums by day and association; empties a->sums for the next batch. */
static int write_base(struct archive *a, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < rollup_set_size(a->sums) && r >= 0; i++) {
		const struct rollup_set_entry *e = rollup_set_entry(a->sums, i);
		const struct rollup_set_association *who =
			rollup_set_association(a->sums, e->association);
		const struct rollup_key key = { who->cluster, who->account, who->user, e->pool,
						e->day };

		r = rollup_write_base(a->s->db, &key, &e->rollup, err);
	}
	rollup_set_clear(a->sums);
	return r;
}

/* Associations are there: rollups of the same names were written with the attempts. */
static const char keep_runs_sql[] =
	"INSERT INTO archived_runs(job, attempt, from_ns, to_ns, running_ns, association, queue,"
	" pool, rate_num, rate_den, ncpus, ngpus, mem_bytes)"
	" SELECT x.job, x.attempt, x.from_ns, x.to_ns, x.running_ns, o.id, j.queue, j.pool," SQL_RAN_RATE(
		"rate_num") "," SQL_RAN_RATE("rate_den") ", j.ncpus, j.ngpus,"
							 " CASE WHEN j.vmem_bytes > 0 THEN j.vmem_bytes ELSE j.mem_bytes END"
							 " FROM stretches x JOIN jobs j ON j.job = x.job JOIN associations o"
							 " ON o.cluster = j.cluster AND o.account = j.account AND o.user = j.user"
							 " WHERE x." OF_SOME;

/* Adds to *ret_n how many there were. */
static int keep_runs(struct archive *a, const struct db_ints *some, int64_t *ret_n,
		     struct err *err)
{
	int r = db_run_ints(a->s->db, keep_runs_sql, some, err);

	if (r >= 0)
		*ret_n += db_changes(a->s->db);
	return r;
}

/* An interval without its association would change shares: there are as many as lines were written. */
static int check_runs(const struct archive *a, int64_t kept, struct err *err)
{
	return kept == a->new_runs
		       ? 0
		       : err_set(err, -EBADMSG,
				 "%lld run intervals of these jobs, %lld with an association: "
				 "run 'reeve admin verify'",
				 (long long)a->new_runs, (long long)kept);
}

static const char attempt_sums_sql[] =
	WHOSE ", COUNT(*), CAST(SUM(a.running_ns / 1000000) AS BIGINT),"
	      " CAST(SUM(a.charge_requested_ms) AS BIGINT),"
	      " CAST(SUM(a.charge_used_ms) AS BIGINT)" ATTEMPTS_OF_SOME
	      " GROUP BY j.cluster, j.account, j.user, j.pool";

enum attempt_sum { OF_ATTEMPTS = SUM_POOL + 1, OF_RUNNING_MS, OF_REQUESTED_MS, OF_USED_MS };

static int add_attempt_sums(struct archive *a, struct db_row *st, struct err *err)
{
	const struct rollup_key key = { .cluster = store_text(st, SUM_CLUSTER),
					.account = store_text(st, SUM_ACCOUNT),
					.user = store_text(st, SUM_USER) };
	int64_t association;
	int r = rollup_association(a->s->db, &key, &association, err);

	if (r < 0)
		return r;
	return db_run(
		a->s->db, err,
		"INSERT INTO archive_sums(archive, association, pool, attempts, running_ms,"
		" charge_requested_ms, charge_used_ms) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)"
		" ON CONFLICT(archive, association, pool) DO UPDATE SET"
		" attempts = archive_sums.attempts + excluded.attempts,"
		" running_ms = archive_sums.running_ms + excluded.running_ms,"
		" charge_requested_ms ="
		" archive_sums.charge_requested_ms + excluded.charge_requested_ms,"
		" charge_used_ms = archive_sums.charge_used_ms + excluded.charge_used_ms",
		"iiiiiii", a->id, association, db_int(st, SUM_POOL), db_int(st, OF_ATTEMPTS),
		db_int(st, OF_RUNNING_MS), db_int(st, OF_REQUESTED_MS), db_int(st, OF_USED_MS));
}

static int sum_attempts(struct archive *a, const struct db_ints *some, struct err *err)
{
	struct db_row *st;
	int r = db_query_ints(a->s->db, attempt_sums_sql, some, &st, err);

	while (r >= 0 && (r = db_step(a->s->db, st, err)) > 0) {
		r = add_attempt_sums(a, st, err);
		if (r < 0)
			db_done(st);
	}
	return r;
}

/* store_some() repeats the last number where there are fewer: IN counts it once. */
int archive_keep_sums(struct archive *a, const struct store_these *jobs, struct err *err)
{
	int64_t some[STORE_SOME], runs = 0;
	struct db_ints v;
	int r = 0;

	for (size_t at = 0; at < jobs->n && r >= 0; at += STORE_SOME) {
		store_some(jobs, at, some, &v);
		for (size_t i = 0; i < ARRAY_LEN(counted) && r >= 0; i++)
			r = count_some(a, &counted[i], &v, err);
		if (r >= 0)
			r = sum_attempts(a, &v, err);
		if (r >= 0)
			r = keep_runs(a, &v, &runs, err);
		if (r >= 0)
			r = archive_keep_slurm(a, &v, err);
	}
	if (r >= 0)
		r = check_runs(a, runs, err);
	return r < 0 ? r : write_base(a, err);
}

/* ---- deleting ---- */

int archive_delete(struct archive *a, const struct store_these *jobs, struct err *err)
{
	/* attempts before jobs, which they refer to */
	static const char *const sql[] = {
		"DELETE FROM stretches WHERE " OF_SOME,
		"DELETE FROM slices WHERE " OF_SOME,
		"DELETE FROM parts WHERE " OF_SOME,
		"DELETE FROM series WHERE " OF_SOME,
		"DELETE FROM slurm_attempts WHERE " OF_SOME,
		"DELETE FROM attempts WHERE " OF_SOME,
		"DELETE FROM holds WHERE " OF_SOME,
		"DELETE FROM depends WHERE " OF_SOME,
		"DELETE FROM arrays WHERE " OF_SOME,
		"DELETE FROM jobs WHERE " OF_SOME,
	};
	int64_t some[STORE_SOME];
	struct db_ints v;
	int r = 0;

	for (size_t at = 0; at < jobs->n && r >= 0; at += STORE_SOME) {
		store_some(jobs, at, some, &v);
		for (size_t i = 0; i < ARRAY_LEN(sql) && r >= 0; i++)
			r = db_run_ints_later(a->s->db, sql[i], &v, err);
	}
	return r;
}
