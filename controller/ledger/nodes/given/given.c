/* SPDX-License-Identifier: GPL-2.0-or-later */
/* given.c - what a node has open, and the desired state of it. See given.h and store.h.
 *
 * Of a job on several nodes (attempts/multinode.h) the nodes of the parts other than the first get them at
 * once, the first node when all of them have been shown running, or when the job is to be cancelled. When
 * the attempt is over, or the end of part 0 waits for them, the others are to be cancelled.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/ledger/jobs/texts.h"
#include "controller/ledger/nodes/given/given.h"
#include "controller/ledger/nodes/given/given_kept.h"
#include "controller/ledger/sql.h"

/* The columns of both halves of given_sql. */
enum given_column {
	GIVEN_JOB,
	GIVEN_ATTEMPT,
	GIVEN_WANT,
	GIVEN_STATE,
	GIVEN_REASON,
	GIVEN_ARRAY_JOB,
	GIVEN_ARRAY_INDEX,
	/* of a job on several nodes: */
	GIVEN_HOSTS,
	GIVEN_PART,
	/* of the part, or of the whole job: */
	GIVEN_NCPUS,
	GIVEN_VMEM_BYTES,
	GIVEN_MEM_BYTES,
	GIVEN_JOBFS_BYTES,
	GIVEN_NGPUS,
	GIVEN_MISSING_NS,
	GIVEN_SHOWN,
	GIVEN_DUE,
};
/* When the first part of a job has ended, its others get an order to end. Not those of Slurm: its cancel names a job's id, which may be the
 * next attempt's by then. */
static const char given_sql[] =
	"SELECT a.job, a.attempt, j.want, a.state, j.want_reason,"
	" j.array_job, j.array_index, a.hosts, 0, COALESCE(p.ncpus, j.ncpus),"
	" COALESCE(p.vmem_bytes, j.vmem_bytes), COALESCE(p.mem_bytes, j.mem_bytes),"
	" COALESCE(p.jobfs_bytes, j.jobfs_bytes), COALESCE(p.ngpus, j.ngpus), a.missing_ns, a.shown, CASE WHEN a.missing_ns = 0"
	" AND (a.hosts = '' OR a.shown = 1 OR j.want = " SQL_DESIRED_CANCEL
	" OR NOT EXISTS(SELECT 1 FROM parts o"
	"  WHERE o.job = a.job AND o.attempt = a.attempt AND o.part > 0 AND o.state < " SQL_JOB_RUNNING
	")) THEN 1 ELSE 0 END FROM attempts a JOIN jobs j ON j.job = a.job LEFT JOIN parts p"
	" ON p.job = a.job AND p.attempt = a.attempt AND p.part = 0"
	" WHERE a.node = ?1 AND a.closed = " SQL_STORE_OPEN " UNION ALL"
	" SELECT p.job, p.attempt, CASE WHEN p.job < " SQL_SLURM_FROM
	" AND (a.closed <> " SQL_STORE_OPEN " OR a.held_ns > 0) THEN " SQL_DESIRED_CANCEL
	" ELSE j.want END, p.state,"
	" CASE WHEN a.closed <> " SQL_STORE_OPEN " OR a.held_ns > 0 THEN 'the job has ended'"
	" ELSE j.want_reason END,"
	" j.array_job, j.array_index, a.hosts, p.part, p.ncpus, p.vmem_bytes,"
	" p.mem_bytes, p.jobfs_bytes, p.ngpus, p.missing_ns, p.shown,"
	" CASE WHEN p.missing_ns = 0 THEN 1 ELSE 0 END"
	" FROM parts p JOIN attempts a ON a.job = p.job AND a.attempt = p.attempt"
	" JOIN jobs j ON j.job = p.job"
	" WHERE p.node = ?1 AND p.closed = " SQL_STORE_OPEN " AND p.part > 0"
	" ORDER BY 1, 2";
_Static_assert(DESIRED_CANCEL == 2 && JOB_RUNNING == 2, "given_sql has them as numbers");

static int32_t count_hosts(const char *hosts)
{
	int32_t n = *hosts != '\0';

	for (; *hosts; hosts++)
		n += *hosts == ',';
	return n;
}

/* Most texts are empty: those are not copied. NULL: out of memory. */
static char *copy_text(struct db_row *st, int column)
{
	static char empty[] = "";
	const char *text = store_text(st, column);

	return *text ? strdup(text) : empty;
}

static int read_row(struct db_row *st, const char *node, struct store_given *h, struct err *err)
{
	struct store_desired *g = &h->desired;
	char *reason, *hosts;

	*h = (struct store_given){ .missing_ns = db_int(st, GIVEN_MISSING_NS),
				   .is_shown = db_int(st, GIVEN_SHOWN) != 0,
				   .is_due = db_int(st, GIVEN_DUE) != 0 };
	*g = (struct store_desired){
		.job = db_int(st, GIVEN_JOB),
		.attempt = (int32_t)db_int(st, GIVEN_ATTEMPT),
		.want = (enum job_desired)(int)db_int(st, GIVEN_WANT),
		.state = (enum job_state)(int)db_int(st, GIVEN_STATE),
		.array = { db_int(st, GIVEN_ARRAY_JOB), db_int(st, GIVEN_ARRAY_INDEX) },
		.part = { .index = (int32_t)db_int(st, GIVEN_PART),
			  .n = count_hosts(store_text(st, GIVEN_HOSTS)) },
		.share = { .node = node,
			   .ncpus = db_int(st, GIVEN_NCPUS),
			   .vmem_bytes = db_int(st, GIVEN_VMEM_BYTES),
			   .mem_bytes = db_int(st, GIVEN_MEM_BYTES),
			   .jobfs_bytes = db_int(st, GIVEN_JOBFS_BYTES),
			   .ngpus = db_int(st, GIVEN_NGPUS) },
	};
	reason = copy_text(st, GIVEN_REASON);
	hosts = copy_text(st, GIVEN_HOSTS);
	g->reason = reason;
	g->part.hosts = hosts;
	return reason && hosts ? 0 : err_set(err, -ENOMEM, "out of memory");
}

static int add_row(struct db_row *st, struct store_given_list *l, struct err *err)
{
	size_t larger = l->size ? 2 * l->size : 16;
	struct store_given *more;

	if (l->n == l->size) {
		more = reallocarray(l->rows, larger, sizeof(*more));
		if (!more)
			return err_set(err, -ENOMEM, "out of memory");
		l->rows = more;
		l->size = larger;
	}
	l->n++; /* also where it fails: what was copied is freed with the list */
	return read_row(st, l->node, &l->rows[l->n - 1], err);
}

static int load_list(struct store *s, struct store_given_list *l, struct err *err)
{
	struct db_row *st;
	int r = db_query(s->db, err, &st, given_sql, "t", l->node);

	while (r >= 0 && (r = db_step(s->db, st, err)) > 0) {
		r = add_row(st, l, err);
		if (r < 0)
			db_done(st);
	}
	return r;
}

/* From the ledger. */
static int read_list(struct store *s, const char *node, struct store_given_list **ret,
		     struct err *err)
{
	_cleanup_(store_given_putp) struct store_given_list *l = calloc(1, sizeof(*l));
	int r = l ? 0 : err_set(err, -ENOMEM, "out of memory");

	if (r < 0)
		return r;
	l->n_users = 1;
	snprintf(l->node, sizeof(l->node), "%s", node);
	r = load_list(s, l, err);
	if (r >= 0)
		*ret = TAKE_PTR(l);
	return r;
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static bool is_same(const struct store_given *a, const struct store_given *b)
{
	const struct store_desired *x = &a->desired, *y = &b->desired;
	const struct store_part *p = &x->share, *q = &y->share;

	return x->job == y->job && x->attempt == y->attempt && x->want == y->want &&
	       x->state == y->state && !strcmp(x->reason, y->reason) &&
	       x->array.job == y->array.job && x->array.index == y->array.index &&
	       x->part.index == y->part.index && x->part.n == y->part.n &&
	       !strcmp(x->part.hosts, y->part.hosts) && p->ncpus == q->ncpus &&
	       p->vmem_bytes == q->vmem_bytes && p->mem_bytes == q->mem_bytes &&
	       p->jobfs_bytes == q->jobfs_bytes && p->ngpus == q->ngpus &&
	       a->missing_ns == b->missing_ns && a->is_shown == b->is_shown &&
	       a->is_due == b->is_due;
}

/* What is kept is what the ledger has. */
static void check_kept(struct store *s, const struct store_given_list *kept)
{
	_cleanup_(store_given_putp) struct store_given_list *l = NULL;
	bool is_right;

	if (read_list(s, kept->node, &l, NULL) < 0)
		return; /* the exchange fails, too */
	is_right = l->n == kept->n;
	for (size_t i = 0; i < l->n && is_right; i++)
		is_right = is_same(&l->rows[i], &kept->rows[i]);
	if (is_right)
		return;
	fprintf(stderr, "what is kept of node %s is not what the ledger has of it\n",
		kept->node);
	abort();
}
#else
static void check_kept(struct store *s, const struct store_given_list *kept)
{
	(void)s;
	(void)kept;
}
#endif

int store_given_ask(struct store *s, const char *node, struct err *err)
{
	struct store_given_list *kept = store_given_kept_find(s, node);

	if (kept) {
		store_given_put(kept);
		return 0;
	}
	store_given_kept_ask(s, node);
	return db_ask(s->db, err, given_sql, "t", node);
}

int store_given_get(struct store *s, const char *node, struct store_given_list **ret,
		    struct err *err)
{
	int r = 0;

	*ret = store_given_kept_find(s, node);
	if (*ret) {
		check_kept(s, *ret);
		return 0;
	}
	r = read_list(s, node, ret, err);
	if (r >= 0)
		store_given_kept_add(s, *ret);
	return r;
}

int store_desired(struct store *s, const char *node, store_desired_fn fn, void *ctx,
		  struct err *err)
{
	_cleanup_(store_given_putp) struct store_given_list *given = NULL;
	int r = store_given_get(s, node, &given, err);

	return r < 0 ? r : store_given_desired(given, fn, ctx, err);
}

static const char request_sql[] =
	"SELECT " STORE_REQUEST("j") ", COALESCE((SELECT c.credential FROM credentials c"
				     " WHERE c.job = j.job), '') FROM jobs j WHERE j.job = ?1";

int64_t store_desired_owner(const struct store_desired *g)
{
	return g->array.job ? g->array.job : g->job;
}

int store_desired_ask_request(struct store *s, int64_t owner, struct err *err)
{
	return db_ask(s->db, err, request_sql, "i", owner);
}

int store_desired_request(struct store *s, int64_t owner, struct store_desired_request *ret,
			  struct err *err)
{
	struct db_row *st;
	int r = db_query_first(s->db, err, &st, request_sql, "i", owner);

	if (r <= 0)
		return r < 0 ? r
			     : err_set(err, -ENOENT, "job %lld has no row", (long long)owner);
	ret->owner = owner;
	ret->text = strdup(store_text(st, 0));
	ret->credential = strdup(store_text(st, 1));
	db_done(st);
	if (ret->text && ret->credential)
		return 0;
	store_desired_request_done(ret);
	return err_set(err, -ENOMEM, "out of memory");
}

void store_desired_request_done(struct store_desired_request *q)
{
	free(q->text);
	free(q->credential);
	*q = (struct store_desired_request){ 0 };
}
