/* bound.c - turns filters of jobs that have no index into a range of job numbers, so that a list reads few rows of a large
 * ledger. See store_jobs_bound() in store.h. */
#include "common/err.h"
#include "controller/ledger/sql.h"

enum probe_column { PROBE_JOB, PROBE_SUBMITTED };

/* The first job from `job` on. 1: there is one. */
static int probe_job(struct store *s, int64_t job, int64_t *ret_job, int64_t *ret_submitted,
		     struct err *err)
{
	struct db_row *st;
	int r = db_query_first(s->db, err, &st,
			       "SELECT job, submitted_ns FROM jobs WHERE job >= ?1"
			       " ORDER BY job LIMIT 1",
			       "i", job);

	if (r <= 0)
		return r;
	*ret_job = db_int(st, PROBE_JOB);
	*ret_submitted = db_int(st, PROBE_SUBMITTED);
	db_done(st);
	return 1;
}

/* By halves: the first number in [from, to) whose jobs were submitted at `at_ns` or later; `to`: there is none. Numbers rise with
 * the time of submission, but for what a clock that was set back mixed up. */
static int find_submitted(struct store *s, int64_t *from, int64_t to, int64_t at_ns,
			  struct err *err)
{
	int64_t lo = *from, hi = to, job, submitted;

	while (lo < hi) {
		int64_t mid = lo + (hi - lo) / 2;
		int r = probe_job(s, mid, &job, &submitted, err);

		if (r < 0)
			return r;
		if (r == 0 || job >= hi || submitted >= at_ns)
			hi = mid;
		else
			lo = job + 1;
	}
	*from = lo;
	return 0;
}

static int find_last(struct store *s, int64_t before, int64_t *ret, struct err *err)
{
	return db_query_int(s->db, err, ret,
			    "SELECT job FROM jobs WHERE job < ?1 ORDER BY job DESC LIMIT 1",
			    "i", before);
}

/* The range of numbers of the filter's time among jobs that share a range of numbers with the newest one before
 * f->before: Reeve's own, or those of one Slurm cluster, since their numbers are not in one order of time. 1: some are in
 * it; 0: none, and f->before stands below that range. */
static int bound_by_time(struct store *s, struct store_filter *f, int64_t last, struct err *err)
{
	int64_t first = last - last % STORE_SLURM_FROM;
	int64_t from = first, to = first;
	int r = find_submitted(s, &from, last + 1, f->submitted_ns, err);

	if (r >= 0 && f->before_ns)
		r = find_submitted(s, &to, last + 1, f->before_ns, err);
	else
		to = last + 1;
	if (r < 0)
		return r;
	f->from = from;
	f->before = from < to ? to : first;
	return from < to;
}

static int find_period(struct store *s, struct store_filter *f, int64_t *ret_next,
		       struct err *err)
{
	int64_t last;
	int r;

	if (!f->before)
		f->before = INT64_MAX;
	while ((r = find_last(s, f->before, &last, err)) > 0) {
		int64_t first = last - last % STORE_SLURM_FROM;

		r = bound_by_time(s, f, last, err);
		if (r == 0 && first > 0)
			continue;
		if (r > 0 && first > 0)
			*ret_next = first;
		return r < 0 ? r : 0;
	}
	return r;
}

/* The number behind which STORE_SCAN_MAX jobs of the filter's index follow up to f->before. 1: there are as many. */
static int find_floor(struct store *s, const struct store_filter *f, int64_t *ret,
		      struct err *err)
{
/* As in views.c: PostgreSQL would otherwise read jobs of others by their numbers. */
#define FLOOR(c)                                                                               \
	"SELECT job FROM jobs WHERE (" c ", job) < (?1, ?2) AND " c " >= ?1"                   \
	" ORDER BY " c " DESC, job DESC LIMIT 1 OFFSET ?3"
	static const char any[] =
		"SELECT job FROM jobs WHERE job < ?1 ORDER BY job DESC LIMIT 1 OFFSET ?2";
	static const char of_user[] = FLOOR("user"), of_account[] = FLOOR("account"),
			  of_node[] = FLOOR(
				  "node"); /* node >= ?1: for the index of jobs with a node */
	const int64_t before = f->before ? f->before : INT64_MAX, n = STORE_SCAN_MAX - 1;
	const char *sql = of_user, *name = f->user;

	if (f->node) {
		sql = of_node;
		name = f->node;
	} else if (!f->user) {
		sql = of_account;
		name = f->account;
	}
	if (!name)
		return db_query_int(s->db, err, ret, any, "ii", before, n);
	return db_query_int(s->db, err, ret, sql, "tii", name, before, n);
#undef FLOOR
}

int store_jobs_bound(struct store *s, struct store_filter *f, int64_t *ret_next,
		     struct err *err)
{
	bool is_active = f->state == STORE_ACTIVE || (f->state >= 0 && f->state < JOB_ENDED);
	int64_t lowest = 0;
	int r = 0;

	*ret_next = 0;
	if (is_active || f->array)
		return 0; /* these have an index of their own */
	if (f->submitted_ns || f->before_ns)
		r = find_period(s, f, ret_next, err);
	if (r >= 0 && (f->queue || f->name))
		r = find_floor(s, f, &lowest, err);
	if (r > 0 && lowest > f->from) {
		f->from = lowest;
		*ret_next = lowest;
	}
	return r < 0 ? r : 0;
}
