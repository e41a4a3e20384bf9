/* store_import.c - see store_import.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/ledger/store_import.h"
#include "controller/ledger/store_sqlite.h"
#include "controller/ledger/sums.h"

#define S_NS 1000000000LL
#define NOT_TOLD (-1) /* as NULL on disk */
/* A batch touches the sums of nearly every user, all over their table. */
#define CACHE_BYTES (128LL << 20)

/* The columns of the table imported. */
enum column {
	ID,
	ASSOCIATION,
	SUBMIT_S,
	WAIT_S,
	RUN_S,
	NCPUS,
	NGPUS,
	POOL,
	WALLTIME_S,
	MEM_BYTES,
	MEM_PEAK_BYTES,
	CPU_MS,
	RATE_NUM,
	RATE_DEN,
	CHARGE_REQUESTED_MS,
	CHARGE_USED_MS,
	_COLUMN_MAX,
};

struct row {
	int64_t v[_COLUMN_MAX];
};

#define TOGETHER 1024 /* jobs that are written at a time */

/* A job that was taken and is not settled yet. */
struct taken {
	struct store_import_job job;
	struct history_job history; /* that job.job points to */
	struct tally all;
	int association;
};

struct store_import {
	struct store *s;
	store_import_fn fn;
	void *ctx;
	struct row rows[TOGETHER]; /* of the jobs taken */
	struct taken taken[TOGETHER];
	size_t n_taken;
	struct sums *sums;
	int64_t id; /* of the file */
	int64_t origin;
	char cluster[REQUEST_NAME_MAX]; /* whose origin that is */
	int64_t until_s;		/* the last end of a new job of this batch */
	bool is_begun;
};

static int get_number(struct db *db, struct db_row *st, int64_t *ret, struct err *err)
{
	int r = db_step(db, st, err);

	if (r <= 0)
		return r < 0 ? r : -ENOENT;
	*ret = db_int(st, 0);
	db_done(st);
	return 0;
}

static int begin(struct store_import *i, struct err *err)
{
	int r = i->is_begun ? 0 : db_begin(i->s->db, err);

	i->is_begun = i->is_begun || r >= 0;
	return r;
}

/* ---- the file ---- */

static enum history_why why_of(const char *name)
{
	enum history_why w = 0;

	while (w < _HISTORY_WHY_MAX && strcmp(history_why_name(w), name) != 0)
		w++;
	return w;
}

static int load_rejects(struct store_import *i, struct store_import_count *c, struct err *err)
{
	struct db_row *st;
	int r = db_query(i->s->db, err, &st,
			 "SELECT why, n, first_line FROM import_rejects WHERE import = ?1", "i",
			 i->id);

	if (r < 0)
		return r;
	while ((r = db_step(i->s->db, st, err)) > 0) {
		enum history_why w = why_of(store_text(st, 0));

		if (w == _HISTORY_WHY_MAX)
			continue;
		c->rejected[w] = db_int(st, 1);
		c->first_line[w] = db_int(st, 2);
	}
	return r;
}

/* 1: known from before. */
static int load_file(struct store_import *i, const char *digest, struct store_import_count *c,
		     struct err *err)
{
	struct db_row *st;
	int r = db_query(i->s->db, err, &st,
			 "SELECT id, lines, rows, jobs, core_seconds, conflicts, complete"
			 " FROM imports WHERE digest = ?1",
			 "t", digest);

	if (r >= 0)
		r = db_step(i->s->db, st, err);
	if (r <= 0)
		return r;
	i->id = db_int(st, 0);
	c->lines = db_int(st, 1);
	c->rows = db_int(st, 2);
	c->jobs = db_int(st, 3);
	c->core_seconds = db_int(st, 4);
	c->conflicts = db_int(st, 5);
	c->is_complete = (int)db_int(st, 6);
	db_done(st);
	r = load_rejects(i, c, err);
	return r < 0 ? r : 1;
}

int store_import_open(struct store *s, const struct store_import_file *f,
		      struct store_import **ret, struct store_import_count *ret_count,
		      struct err *err)
{
	_cleanup_(store_import_closep) struct store_import *i = calloc(1, sizeof(*i));
	struct store_import_count count = { 0 };
	int r;

	if (!i || !(i->sums = sums_new()))
		return err_set(err, -ENOMEM, "out of memory");
	i->s = s;
	r = db_cache(s->db, CACHE_BYTES, err);
	if (r >= 0)
		r = load_file(i, f->digest, &count, err);
	if (r == 0) {
		r = db_run(s->db, err,
			   "INSERT INTO imports(digest, file, format, lines, rows, jobs,"
			   " core_seconds, conflicts, complete) VALUES(?1, ?2, ?3, 0, 0, 0, 0, "
			   "0, 0)",
			   "ttt", f->digest, f->path, f->format);
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
	sums_free(i->sums);
	free(i);
	return NULL;
}

/* ---- a job ---- */

static int find_origin(struct store_import *i, const char *cluster, struct err *err)
{
	struct db *db = i->s->db;
	struct db_row *st;
	int r;

	if (i->origin && !strcmp(i->cluster, cluster))
		return 0;
	r = db_run(db, err, "INSERT INTO origins(cluster) VALUES(?1) ON CONFLICT DO NOTHING",
		   "t", cluster);
	if (r >= 0)
		r = db_query(db, err, &st, "SELECT id FROM origins WHERE cluster = ?1", "t",
			     cluster);
	if (r >= 0)
		r = get_number(db, st, &i->origin, err);
	if (r >= 0)
		strcpy(i->cluster, cluster);
	return r;
}

static int write_association(struct store_import *i, struct sums_association *a,
			     struct err *err)
{
	const struct rollup_key key = { .cluster = a->cluster, a->account, a->user };

	return rollup_association(i->s->db, &key, &a->id, err);
}

/* Its index among the sums. */
static int find_association(struct store_import *i, const struct history_job *j,
			    struct err *err)
{
	int index = sums_find(i->sums, j->cluster, j->account, j->user), r = 0;
	struct sums_association *a;

	if (index < 0)
		return err_set(err, index, "remember '%s': %s", j->user, strerror(-index));
	a = sums_association(i->sums, index);
	if (!a->id)
		r = write_association(i, a, err);
	return r < 0 ? r : index;
}

static struct row row_of(const struct store_import *i, const struct store_import_job *sj,
			 int64_t association, const struct tally *t)
{
	const struct history_job *j = sj->job;
	const struct fraction rate = sj->terms.rate;
	bool is_plain = rate.num == j->ncpus && rate.den == 1;

	return (struct row){ .v = {
				     [ID] = i->origin << 40 | j->number,
				     [ASSOCIATION] = association,
				     [SUBMIT_S] = j->submit_s,
				     [WAIT_S] = j->start_s - j->submit_s,
				     [RUN_S] = j->end_s - j->start_s,
				     [NCPUS] = j->ncpus,
				     [NGPUS] = j->ngpus,
				     [POOL] = (int64_t)sj->pool,
				     [WALLTIME_S] = j->walltime_s,
				     [MEM_BYTES] = j->mem_bytes,
				     [MEM_PEAK_BYTES] = j->mem_peak_bytes,
				     [CPU_MS] = j->cpu_ms,
				     [RATE_NUM] = is_plain ? NOT_TOLD : rate.num,
				     [RATE_DEN] = is_plain ? NOT_TOLD : rate.den,
				     [CHARGE_REQUESTED_MS] = t->charge_requested_ms,
				     [CHARGE_USED_MS] = t->charge_used_ms,
			     } };
}

static const char insert_sql[] =
	"INSERT INTO imported VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13,"
	" ?14, ?15, ?16) ON CONFLICT DO NOTHING";
static const char select_sql[] = "SELECT * FROM imported WHERE id = ?1";

static int compare(struct db *db, const struct row *row, struct err *err)
{
	struct db_row *st;
	int r = db_query(db, err, &st, select_sql, "i", row->v[ID]), result;

	if (r >= 0)
		r = db_step(db, st, err);
	if (r <= 0)
		return r < 0 ? r : err_set(err, -EBADMSG, "an imported job has gone");
	result = STORE_IMPORT_KNOWN;
	for (int c = 0; c < _COLUMN_MAX; c++) {
		int64_t was = db_is_null(st, c) ? NOT_TOLD : db_int(st, c);

		if (was != row->v[c])
			result = STORE_IMPORT_CONFLICT;
	}
	db_done(st);
	return result;
}

struct split_ctx {
	struct sums *sums;
	struct tally done;
	int association, pool;
};

static int add_day(void *ctx, int64_t day, const struct tally *gained)
{
	struct split_ctx *c = ctx;
	struct rollup gain = rollup_gain(&c->done, gained);
	struct rollup *at = sums_at(c->sums, c->association, c->pool, day);

	if (!at)
		return -ENOMEM;
	rollup_add(at, &gain);
	return 0;
}

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
	at = sums_at(i->sums, association, c.pool, calendar_day(i->s->calendar, span.from_ns));
	if (!at)
		return -ENOMEM;
	at->figure[ROLLUP_JOBS_STARTED]++;
	at = sums_at(i->sums, association, c.pool,
		     calendar_last_day(i->s->calendar, span.from_ns, span.to_ns));
	if (!at)
		return -ENOMEM;
	at->figure[ROLLUP_JOBS_ENDED]++;
	return 0;
}

static int tally_of(const struct store_import_job *j, struct tally *ret)
{
	const struct tally_use use = {
		.running_ns = (j->job->end_s - j->job->start_s) * S_NS,
		.cpu_ns = j->job->cpu_ms < 0 ? -1 : j->job->cpu_ms * 1000000,
		.mem_peak_bytes = j->job->mem_peak_bytes,
	};

	return tally_make(&j->terms, &use, ret);
}

/* ---- jobs together ---- */

/* 0: new; or an outcome. */
static int settle_one(struct store_import *i, const struct taken *t, bool is_new,
		      struct err *err)
{
	int r;

	if (!is_new)
		return compare(i->s->db, &i->rows[t - i->taken], err);
	if (t->history.end_s > i->until_s)
		i->until_s = t->history.end_s;
	r = add_to_days(i, t->association, &t->job, &t->all);
	return r < 0 ? err_set(err, r, "spread a job over its days: %s", strerror(-r)) : 0;
}

int store_import_settle(struct store_import *i, struct err *err)
{
	const struct db_int_rows rows = { i->rows[0].v, i->n_taken, _COLUMN_MAX, NOT_TOLD };
	int64_t changed[TOGETHER];
	int r = db_run_int_rows(i->s->db, insert_sql, &rows, changed, err);

	for (size_t k = 0; k < i->n_taken && r >= 0; k++) {
		const struct taken *t = &i->taken[k];

		r = settle_one(i, t, changed[k] > 0, err);
		if (r >= 0 && i->fn)
			r = i->fn(i->ctx, &t->job, (enum store_import_outcome)r, err);
	}
	i->n_taken = 0;
	return r < 0 ? r : 0;
}

void store_import_listen(struct store_import *i, store_import_fn fn, void *ctx)
{
	i->fn = fn;
	i->ctx = ctx;
}

int store_import_take(struct store_import *i, const struct store_import_job *j, struct err *err)
{
	struct taken *t = &i->taken[i->n_taken];
	int r = tally_of(j, &t->all);

	if (r == -ERANGE || r == -EINVAL)
		return STORE_IMPORT_REFUSED;
	r = begin(i, err);
	if (r >= 0)
		r = find_origin(i, j->job->cluster, err);
	if (r < 0)
		return r;
	t->association = find_association(i, j->job, err);
	if (t->association < 0)
		return t->association;
	t->job = *j;
	t->history = *j->job;
	t->job.job = &t->history;
	i->rows[i->n_taken++] =
		row_of(i, j, sums_association(i->sums, t->association)->id, &t->all);
	return i->n_taken < TOGETHER ? 0 : store_import_settle(i, err);
}

/* ---- the end of a batch ---- */

static int compare_entries(const void *a, const void *b)
{
	const struct sums_entry *x = a, *y = b;

	if (x->association != y->association)
		return x->association < y->association ? -1 : 1;
	if (x->pool != y->pool)
		return x->pool < y->pool ? -1 : 1;
	return (x->day > y->day) - (x->day < y->day);
}

/* A month is written when the next one begins, or the batch ends. */
struct month_sum {
	struct rollup_month key;
	struct rollup rollup;
};

static int write_month(struct store_import *i, const struct month_sum *m, struct err *err)
{
	return m->key.association ? rollup_write_month(i->s->db, &m->key, &m->rollup, err) : 0;
}

static int add_to_month(struct store_import *i, struct month_sum *m, const struct sums_entry *e,
			struct err *err)
{
	const struct rollup_month key = {
		.association = sums_association(i->sums, e->association)->id,
		.pool = e->pool,
		.month = calendar_month(e->day),
	};
	int r = 0;

	if (memcmp(&key, &m->key, sizeof(key)) != 0) {
		r = write_month(i, m, err);
		*m = (struct month_sum){ .key = key };
	}
	rollup_add(&m->rollup, &e->rollup);
	return r;
}

static int write_days(struct store_import *i, struct err *err)
{
	size_t n = sums_size(i->sums);
	struct month_sum month = { .key = { 0 } };

	if (n)
		qsort(sums_entry(i->sums, 0), n, sizeof(struct sums_entry), compare_entries);
	for (size_t at = 0; at < n; at++) {
		const struct sums_entry *e = sums_entry(i->sums, at);
		const struct sums_association *a = sums_association(i->sums, e->association);
		const struct rollup_key key = { a->cluster, a->account, a->user, e->pool,
						e->day };
		int r = rollup_write_day(i->s->db, &key, &e->rollup, err);

		if (r >= 0)
			r = add_to_month(i, &month, e, err);
		if (r < 0)
			return r;
	}
	return write_month(i, &month, err);
}

static int write_count(struct store_import *i, const struct store_import_count *c,
		       struct err *err)
{
	int r = db_run(i->s->db, err,
		       "UPDATE imports SET lines = ?2, rows = ?3, jobs = ?4, core_seconds = ?5,"
		       " conflicts = ?6, complete = ?7 WHERE id = ?1",
		       "iiiiiii", i->id, c->lines, c->rows, c->jobs, c->core_seconds,
		       c->conflicts, (int64_t)c->is_complete);

	for (enum history_why w = 0; w < _HISTORY_WHY_MAX && r >= 0; w++)
		if (c->rejected[w])
			r = db_run(i->s->db, err,
				   "INSERT INTO import_rejects VALUES(?1, ?2, ?3, ?4)"
				   " ON CONFLICT(import, why) DO UPDATE SET n = excluded.n,"
				   " first_line = excluded.first_line",
				   "itii", i->id, history_why_name(w), c->rejected[w],
				   c->first_line[w]);
	return r;
}

/* So that nobody has to look for it among all jobs: store_last_charge(). */
static int write_until(struct store_import *i, struct err *err)
{
	struct db *db = i->s->db;
	struct db_row *st;
	int64_t was = 0;
	char text[24];
	int r = db_query(db, err, &st, "SELECT value FROM meta WHERE key = 'imported_until_s'",
			 "");

	if (r >= 0)
		r = db_step(db, st, err);
	if (r > 0)
		was = strtoll(store_text(st, 0), NULL, 10);
	if (r > 0)
		db_done(st);
	if (r < 0 || i->until_s <= was)
		return r;
	snprintf(text, sizeof(text), "%lld", (long long)i->until_s);
	return db_run(db, err,
		      "INSERT INTO meta VALUES('imported_until_s', ?1)"
		      " ON CONFLICT(key) DO UPDATE SET value = excluded.value",
		      "t", text);
}

int store_import_commit(struct store_import *i, const struct store_import_count *count,
			struct err *err)
{
	int r = begin(i, err);

	if (r >= 0)
		r = store_import_settle(i, err);
	if (r >= 0)
		r = write_days(i, err);
	if (r >= 0)
		r = write_until(i, err);
	if (r >= 0)
		r = write_count(i, count, err);
	if (r < 0)
		return r;
	i->is_begun = false; /* a commit that failed is rolled back */
	r = db_commit(i->s->db, err);
	if (r >= 0)
		sums_clear(i->sums);
	return r;
}
