/* SPDX-License-Identifier: GPL-2.0-or-later */
/* import.c - opens an import and adds its jobs: finds what a job belongs to, inserts many rows at a time,
 * and compares those that were there before. See import/import.h; import_batch.c ends a batch. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/time_units.h"
#include "controller/ledger/import/import_impl.h"
#include "controller/ledger/usage/totals/totals.h"
#include "controller/ledger/sql.h"

#define NOT_RECORDED (-1) /* by the history; NULL on disk */
/* A batch adds to the rollups of nearly every user, which lie all over their table. */
#define CACHE_BYTES (128LL << 20)

/* The result of reading the id of a row that was just inserted, or was there before: 0 or < 0. */
static int check_found(int r, struct err *err)
{
	return r == 0 ? err_set(err, -EBADMSG, "a row of the ledger is gone") : r < 0 ? r : 0;
}

int store_import_begin(struct store_import *i, struct err *err)
{
	int r;

	if (i->is_begun)
		return 0;
	r = db_begin(i->s->db, err);
	i->is_begun = r >= 0;
	return r < 0 ? r : totals_reload(i->s, err);
}

/* ---- the file ---- */

/* _HISTORY_WHY_MAX: a reason of another version of this program. */
static enum history_why why_of(const char *name)
{
	enum history_why w = 0;

	while (w < _HISTORY_WHY_MAX && strcmp(history_why_name(w), name) != 0)
		w++;
	return w;
}

enum reject_column { REJECT_WHY, REJECT_N, REJECT_FIRST_LINE };

static int load_rejects(struct store_import *i, struct store_import_count *c, struct err *err)
{
	struct db_row *st;
	int r = db_query(i->s->db, err, &st,
			 "SELECT why, n, first_line FROM import_rejects WHERE import = ?1", "i",
			 i->id);

	if (r < 0)
		return r;
	while ((r = db_step(i->s->db, st, err)) > 0) {
		enum history_why w = why_of(store_text(st, REJECT_WHY));

		if (w == _HISTORY_WHY_MAX)
			continue;
		c->rejected[w] = db_int(st, REJECT_N);
		c->first_line[w] = db_int(st, REJECT_FIRST_LINE);
	}
	return r;
}

/* clang-format off */
#define FILE_COLUMNS(X) \
	X(FILE_ID,           "id") \
	X(FILE_LINES,        ", lines") \
	X(FILE_ROWS,         ", rows") \
	X(FILE_JOBS,         ", jobs") \
	X(FILE_CORE_SECONDS, ", core_seconds") \
	X(FILE_CONFLICTS,    ", conflicts") \
	X(FILE_COMPLETE,     ", complete")
/* clang-format on */
enum { FILE_COLUMNS(SQL_NAME) };
#define FILE_SELECT "SELECT " FILE_COLUMNS(SQL_COLUMN)

/* 1: the file was imported before, in part or whole. */
static int load_file(struct store_import *i, const char *digest, struct store_import_count *c,
		     struct err *err)
{
	struct db_row *st;
	int r = db_query_first(i->s->db, err, &st,
			       FILE_SELECT " FROM imports WHERE digest = ?1", "t", digest);

	if (r <= 0)
		return r;
	i->id = db_int(st, FILE_ID);
	c->lines = db_int(st, FILE_LINES);
	c->rows = db_int(st, FILE_ROWS);
	c->jobs = db_int(st, FILE_JOBS);
	c->core_seconds = db_int(st, FILE_CORE_SECONDS);
	c->conflicts = db_int(st, FILE_CONFLICTS);
	c->is_complete = (int)db_int(st, FILE_COMPLETE);
	db_done(st);
	r = load_rejects(i, c, err);
	return r < 0 ? r : 1;
}

/* Whether the same file was imported before with times of another zone. Then a number that is in the ledger
 * is the same job at a shifted time, not another run. */
static int load_other(struct store_import *i, const struct store_import_file *f,
		      struct store_import_count *c, struct err *err)
{
	struct db_row *st;
	int r = db_query_first(
		i->s->db, err, &st,
		"SELECT zone FROM imports WHERE content = ?1 AND digest <> ?2 AND zone <> ?3 AND"
		" rows > 0 ORDER BY id DESC LIMIT 1",
		"ttt", f->content, f->digest, f->zone);

	i->has_reruns = r == 0;
	if (r <= 0)
		return r;
	c->is_known_otherwise = true;
	snprintf(c->other_zone, sizeof(c->other_zone), "%s", store_text(st, 0));
	db_done(st);
	return 0;
}

int store_import_open(struct store *s, const struct store_import_file *f,
		      struct store_import **ret, struct store_import_count *ret_count,
		      struct err *err)
{
	_cleanup_(store_import_closep) struct store_import *i = calloc(1, sizeof(*i));
	struct store_import_count count = { 0 };
	int r;

	if (!i || !(i->sums = rollup_set_new()))
		return err_set(err, -ENOMEM, "out of memory");
	i->s = s;
	r = db_cache(s->db, CACHE_BYTES, err);
	if (r >= 0)
		r = load_other(i, f, &count, err);
	if (r >= 0)
		r = load_file(i, f->digest, &count, err);
	if (r == 0) {
		r = db_run(s->db, err,
			   "INSERT INTO imports(digest, file, format, lines, rows, jobs,"
			   " core_seconds, conflicts, complete, profile, content, zone)"
			   " VALUES(?1, ?2, ?3, 0, 0, 0, 0, 0, 0, ?4, ?5, ?6)",
			   "tttttt", f->digest, f->path, f->format, f->profile, f->content,
			   f->zone);
		i->id = db_last_id(s->db);
	}
	if (r < 0)
		return r;
	*ret = TAKE_PTR(i);
	*ret_count = count;
	return 0;
}

struct store_import *store_import_close(struct store_import *i)
{
	if (!i)
		return NULL;
	if (i->is_begun)
		db_rollback(i->s->db);
	rollup_set_free(i->sums);
	free(i);
	return NULL;
}

/* ---- a job ---- */

static int find_origin(struct store_import *i, const char *cluster, struct err *err)
{
	struct db *db = i->s->db;
	int r;

	if (i->origin && !strcmp(i->cluster, cluster))
		return 0;
	r = db_run(db, err, "INSERT INTO origins(cluster) VALUES(?1) ON CONFLICT DO NOTHING",
		   "t", cluster);
	if (r >= 0)
		r = check_found(db_query_int(db, err, &i->origin,
					     "SELECT id FROM origins WHERE cluster = ?1", "t",
					     cluster),
				err);
	if (r >= 0)
		r = import_find_generations(i, err);
	if (r >= 0)
		strcpy(i->cluster, cluster);
	return r;
}

static int write_association(struct store_import *i, struct rollup_set_association *a,
			     struct err *err)
{
	const struct rollup_key key = { .cluster = a->cluster, a->account, a->user };

	return rollup_association(i->s->db, &key, &a->id, err);
}

/* The index of the job's association among the sums; < 0 on failure. */
static int find_association(struct store_import *i, const struct history_job *j,
			    struct err *err)
{
	int index = rollup_set_find(i->sums, j->cluster, j->account, j->user), r = 0;
	struct rollup_set_association *a;

	if (index < 0)
		return err_set(err, index, "remember '%s': %s", j->user, strerror(-index));
	a = rollup_set_association(i->sums, index);
	if (!a->id)
		r = write_association(i, a, err);
	return r < 0 ? r : index;
}

/* ---- the kind of a job: queue, QOS, GPU models, type of node ---- */

/* 0: not in the cache. */
static int64_t find_cached_kind(const struct store_import *i, const char *key)
{
	for (size_t k = 0; k < KINDS_KEPT && k < i->n_kinds; k++)
		if (!strcmp(i->kinds[k].key, key))
			return i->kinds[k].id;
	return 0;
}

static void cache_kind(struct store_import *i, const char *key, int64_t id)
{
	struct import_kind *k = &i->kinds[i->n_kinds++ % KINDS_KEPT];

	snprintf(k->key, sizeof(k->key), "%s", key);
	k->id = id;
}

/* *ret 0: the history recorded none of these. */
static int find_kind(struct store_import *i, const struct history_job *j, int64_t *ret,
		     struct err *err)
{
	char gpus[GPUS_TEXT_MAX], key[KIND_KEY_MAX];
	struct db *db = i->s->db;
	int r;

	gpus_format(&j->gpus, gpus);
	*ret = 0;
	if (!*j->queue && !*j->qos && !*gpus && !*j->node_type)
		return 0;
	snprintf(key, sizeof(key), "%s\n%s\n%s\n%s", j->queue, j->qos, gpus, j->node_type);
	*ret = find_cached_kind(i, key);
	if (*ret)
		return 0;
	r = db_run(db, err,
		   "INSERT INTO import_kinds(queue, qos, gpus, node_type)"
		   " VALUES(?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING",
		   "tttt", j->queue, j->qos, gpus, j->node_type);
	if (r >= 0)
		r = check_found(
			db_query_int(db, err, ret,
				     "SELECT id FROM import_kinds WHERE queue = ?1 AND qos = ?2"
				     " AND gpus = ?3 AND node_type = ?4",
				     "tttt", j->queue, j->qos, gpus, j->node_type),
			err);
	if (r >= 0)
		cache_kind(i, key, *ret);
	return r;
}

static struct import_row make_row(const struct store_import *i,
				  const struct import_added *added, int64_t kind)
{
	const struct store_import_job *sj = &added->job;
	const struct tally *t = &added->all;
	int64_t association = rollup_set_association(i->sums, added->association)->id;
	const struct history_job *j = sj->job;
	const struct fraction rate = sj->terms.rate;
	bool is_plain = rate.num == j->ncpus && rate.den == 1;

	return (struct import_row){ .v = {
					    [ID] = i->origin << 40 | j->number,
					    [ASSOCIATION] = association,
					    [SUBMIT_S] = j->submit_s,
					    [WAIT_S] = j->start_s - j->submit_s,
					    [RUN_S] = j->end_s - j->start_s - j->suspended_s,
					    [NCPUS] = j->ncpus,
					    [NGPUS] = j->ngpus,
					    [POOL] = (int64_t)sj->pool,
					    [WALLTIME_S] = j->walltime_s,
					    [MEM_BYTES] = j->mem_bytes,
					    [MEM_PEAK_BYTES] = j->mem_peak_bytes,
					    [CPU_MS] = j->cpu_ms,
					    [RATE_NUM] = is_plain ? NOT_RECORDED : rate.num,
					    [RATE_DEN] = is_plain ? NOT_RECORDED : rate.den,
					    [CHARGE_REQUESTED_MS] = t->charge_requested_ms,
					    [CHARGE_USED_MS] = t->charge_used_ms,
					    [SUSPENDED_S] = j->suspended_s ? j->suspended_s
									   : NOT_RECORDED,
					    [NODES] = j->nodes ? j->nodes : NOT_RECORDED,
					    [KIND] = kind ? kind : NOT_RECORDED,
				    } };
}

static const char insert_sql[] =
	"INSERT INTO imported(" IMPORTED_COLUMNS
	") VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13,"
	" ?14, ?15, ?16, ?17, ?18, ?19) ON CONFLICT DO NOTHING";
static const char select_sql[] = "SELECT " IMPORTED_COLUMNS " FROM imported WHERE id = ?1";

/* Columns that ledgers of older versions do not have, or where they have 0 for what was not recorded. */
static bool is_same_figure(int column, int64_t was, int64_t now)
{
	if (was == now)
		return true;
	if (was == NOT_RECORDED)
		return column == SUSPENDED_S || column == NODES || column == KIND;
	return was == 0 && now == NOT_RECORDED &&
	       (column == WALLTIME_S || column == MEM_BYTES || column == MEM_PEAK_BYTES ||
		column == CPU_MS);
}

/* The row's run does not overlap the one in the ledger. */
static bool is_apart(struct db_row *st, const struct import_row *row)
{
	int64_t from = db_int(st, SUBMIT_S) + db_int(st, WAIT_S),
		to = from + db_int(st, RUN_S) + db_int(st, SUSPENDED_S);
	const int64_t *v = row->v;
	int64_t start = v[SUBMIT_S] + v[WAIT_S],
		end = start + v[RUN_S] + (v[SUSPENDED_S] > 0 ? v[SUSPENDED_S] : 0);

	return end <= from || to <= start;
}

/* An outcome, or APART: other figures, at a time that does not overlap. */
#define APART (_STORE_IMPORT_OUTCOME_MAX)
static int compare_with_stored(struct db *db, const struct import_row *row, struct err *err)
{
	struct db_row *st;
	int r = db_query_first(db, err, &st, select_sql, "i", row->v[ID]), result;

	if (r <= 0)
		return r < 0 ? r : err_set(err, -EBADMSG, "an imported job has gone");
	result = STORE_IMPORT_KNOWN;
	for (int c = 0; c < _COLUMN_MAX; c++) {
		int64_t was = db_is_null(st, c) ? NOT_RECORDED : db_int(st, c);

		if (!is_same_figure(c, was, row->v[c]))
			result = STORE_IMPORT_CONFLICT;
	}
	if (result == STORE_IMPORT_CONFLICT && is_apart(st, row))
		result = APART;
	db_done(st);
	return result;
}

struct split_ctx {
	struct rollup_set *sums;
	struct tally done;
	int association, pool;
};

static int add_day(void *ctx, int64_t day, const struct tally *gained)
{
	struct split_ctx *c = ctx;
	struct rollup gain = rollup_gain(&c->done, gained);
	struct rollup *at = rollup_set_at(c->sums, c->association, c->pool, day);

	if (!at)
		return -ENOMEM;
	rollup_add(at, &gain);
	return 0;
}

/* Spreads the job over the days on which it ran. */
static int add_to_days(struct store_import *i, int association,
		       const struct store_import_job *j, const struct tally *all)
{
	struct tally_span span = { .after = *all,
				   .from_ns = j->job->start_s * S_NS,
				   .to_ns = j->job->end_s * S_NS };
	struct split_ctx c = { .sums = i->sums,
			       .association = association,
			       .pool = (int)j->pool };
	struct rollup *at;
	int r = tally_split(&j->terms, &span, calendar_days(i->s->calendar), add_day, &c);

	if (r < 0)
		return r;
	at = rollup_set_at(i->sums, association, c.pool,
			   calendar_day(i->s->calendar, span.from_ns));
	if (!at)
		return -ENOMEM;
	at->figure[ROLLUP_JOBS_STARTED]++;
	at = rollup_set_at(i->sums, association, c.pool,
			   calendar_last_day(i->s->calendar, span.from_ns, span.to_ns));
	if (!at)
		return -ENOMEM;
	at->figure[ROLLUP_JOBS_ENDED]++;
	return 0;
}

int store_import_tally(const struct store_import_job *j, struct tally *ret)
{
	const struct tally_use use = {
		.running_ns = (j->job->end_s - j->job->start_s - j->job->suspended_s) * S_NS,
		.suspended_ns = j->job->suspended_s * S_NS,
		.cpu_ns = j->job->cpu_ms < 0 ? -1 : j->job->cpu_ms * MS_NS,
		.mem_peak_bytes = j->job->mem_peak_bytes,
	};

	return tally_make(&j->terms, &use, ret);
}

/* ---- many jobs at a time ---- */

/* The number that stands for the origin of the run-th runs of a cluster. */
static int find_rerun_origin(struct store_import *i, const char *cluster, int64_t run,
			     int64_t *ret, struct err *err)
{
	struct db *db = i->s->db;
	int r = db_run(db, err,
		       "INSERT INTO reruns(cluster, run) VALUES(?1, ?2) ON CONFLICT DO NOTHING",
		       "ti", cluster, run);

	if (r >= 0)
		r = check_found(
			db_query_int(db, err, ret,
				     "SELECT id FROM reruns WHERE cluster = ?1 AND run = ?2",
				     "ti", cluster, run),
			err);
	return r;
}

/* A requeued job has one row for each run: finds the row that is this run, or inserts it as the next
 * one. 0: it is new; else an outcome. */
static int settle_rerun(struct store_import *i, const struct import_added *t,
			struct import_row row, struct err *err)
{
	const struct db_int_rows rows = { row.v, 1, _COLUMN_MAX, NOT_RECORDED };
	int64_t changed = 0, origin;
	int r = APART;

	for (int64_t run = 2; run <= RUNS_MAX && r == APART; run++) {
		r = find_rerun_origin(i, t->history.cluster, run, &origin, err);
		row.v[ID] = (STORE_RERUNS_FROM + origin) << 40 | t->history.number;
		if (r >= 0)
			r = db_run_int_rows(i->s->db, insert_sql, &rows, &changed, err);
		if (r >= 0)
			r = changed > 0 ? 0 : compare_with_stored(i->s->db, &row, err);
	}
	return r == APART ? STORE_IMPORT_CONFLICT : r;
}

/* The row of a job, which was inserted unless it was there. */
struct inserted {
	const struct import_row *row;
	bool is_new;
};

/* 0: the job is new, and is added to the sums; else an outcome. */
static int settle_one(struct store_import *i, const struct import_added *t,
		      const struct inserted *in, struct err *err)
{
	int r = 0;

	if (!in->is_new)
		r = compare_with_stored(i->s->db, in->row, err);
	if (r == APART)
		r = i->has_reruns ? settle_rerun(i, t, *in->row, err) : STORE_IMPORT_CONFLICT;
	if (r != 0)
		return r;
	if (t->history.end_s > i->until_s)
		i->until_s = t->history.end_s;
	r = add_to_days(i, t->association, &t->job, &t->all);
	return r < 0 ? err_set(err, r, "spread a job over its days: %s", strerror(-r)) : 0;
}

/* Rows of the jobs that are to be inserted come to the front. */
static size_t gather_rows(struct store_import *i, const enum store_import_outcome *is)
{
	size_t n = 0;

	for (size_t k = 0; k < i->n_added; k++)
		if (is[k] == STORE_IMPORT_NEW)
			i->rows[n++] = i->rows[k];
	return n;
}

int store_import_settle(struct store_import *i, struct err *err)
{
	struct db_int_rows rows = { i->rows[0].v, 0, _COLUMN_MAX, NOT_RECORDED };
	enum store_import_outcome is[TOGETHER];
	int64_t changed[TOGETHER];
	size_t at = 0;
	int r = import_find_followed(i, is, err);

	rows.n_rows = r < 0 ? 0 : gather_rows(i, is);
	if (rows.n_rows)
		r = db_run_int_rows(i->s->db, insert_sql, &rows, changed, err);
	for (size_t k = 0; k < i->n_added && r >= 0; k++) {
		const struct import_added *t = &i->added[k];

		r = (int)is[k];
		if (is[k] == STORE_IMPORT_NEW) {
			const struct inserted in = { &i->rows[at], changed[at] > 0 };

			r = settle_one(i, t, &in, err);
			at++;
		}
		if (r >= 0 && i->fn)
			r = i->fn(i->ctx, &t->job, (enum store_import_outcome)r, err);
	}
	i->n_added = 0;
	return r < 0 ? r : 0;
}

void store_import_listen(struct store_import *i, store_import_fn fn, void *ctx)
{
	i->fn = fn;
	i->ctx = ctx;
}

int store_import_add(struct store_import *i, const struct store_import_job *j, struct err *err)
{
	struct import_added *t = &i->added[i->n_added];
	int r = store_import_tally(j, &t->all);
	int64_t kind = 0;

	if (r == -ERANGE || r == -EINVAL)
		return STORE_IMPORT_REFUSED;
	r = store_import_begin(i, err);
	if (r >= 0)
		r = find_origin(i, j->job->cluster, err);
	if (r < 0)
		return r;
	t->association = find_association(i, j->job, err);
	if (t->association < 0)
		return t->association;
	t->origin = i->origin;
	t->generations = i->generations;
	t->job = *j;
	t->history = *j->job;
	t->job.job = &t->history;
	r = find_kind(i, j->job, &kind, err);
	if (r < 0)
		return r;
	i->rows[i->n_added++] = make_row(i, t, kind);
	return i->n_added < TOGETHER ? 0 : store_import_settle(i, err);
}
