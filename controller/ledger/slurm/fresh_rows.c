/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fresh_rows.c - the rows of jobs that have ended, gathered by table and written together; see fresh_impl.h. What a column has here
 * is what it has after all statements of settle.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/wire/wire.h"
#include "controller/ledger/slurm/fresh_impl.h"
#include "controller/ledger/sql.h"

#define CHUNK_SIZE (256 * 1024)

/* Texts that live until the rows are written. */
struct chunk {
	struct chunk *next;
	size_t n;
	char text[];
};

enum table { JOBS, ATTEMPTS, INTERVALS, SLICES, TOLD, EVENTS, _TABLES };

struct fresh_rows {
	struct chunk *chunks;
	struct db_rows of[_TABLES];
};

static const struct db_rows tables[_TABLES] = {
	[JOBS] = { "INSERT INTO jobs(job, attempt, state, uid, user, account, cluster, queue,"
		   " name, node, ncpus, vmem_bytes, mem_bytes, jobfs_bytes, walltime_s, ngpus,"
		   " submitted_ns, started_ns, ended_ns, pool, decided_by, rate_num, rate_den,"
		   " bundle_gpus_num, bundle_gpus_den, bundle_cores_num, bundle_cores_den,"
		   " bundle_memory_num, bundle_memory_den, request, end, unit, rule, gpu_model,"
		   " summed, qos) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12,"
		   " ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27,"
		   " ?28, ?29, ?30, ?31, ?32, ?33, ?34, ?35, ?36)",
		   "iiii"
		   "tttttt"
		   "iiiiii"
		   "iiiii"
		   "iiiiiiii"
		   "tt"
		   "itt"
		   "it",
		   NULL, 0, 0 },
	[ATTEMPTS] = { "INSERT INTO attempts(job, attempt, node, given_ns, state, closed, seq,"
		       " at_ns, started_ns, ended_ns, running_ns, suspended_ns,"
		       " charge_requested_ms, charge_used_ms, end_kind, exit_status, signal,"
		       " usage, end, started_day, ended_day, usage_day, sliced) VALUES(?1, ?2,"
		       " ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17,"
		       " ?18, ?19, ?20, ?21, ?22, ?23)",
		       "iit"
		       "iiiiiiiii"
		       "iiiii"
		       "tt"
		       "iiii",
		       NULL, 0, 0 },
	[INTERVALS] = { "INSERT INTO stretches(job, attempt, from_ns, to_ns, running_ns, even)"
			" VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
			"iiiiii", NULL, 0, 0 },
	[SLICES] = { "INSERT INTO slices(job, attempt, day, running_ms, suspended_ms, cpu_ms,"
		     " charge_requested_ms, charge_used_ms, core_ms, gpu_ms)"
		     " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
		     "iiiiiiiiii", NULL, 0, 0 },
	[TOLD] = { "INSERT INTO slurm_attempts(origin, id, submit_s, job, attempt, state,"
		   " start_s, end_s, suspended_s, exit_status, signal, ncpus, nodes, node,"
		   " array_job, array_task, het_job, het_offset, source, at_s) VALUES(?1, ?2,"
		   " ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18,"
		   " ?19, ?20)",
		   "iiiiiiiiiiii"
		   "tt"
		   "iiiiii",
		   NULL, 0, 0 },
	[EVENTS] = { "INSERT INTO events(at_ns, job, node, what, text)"
		     " VALUES(?1, ?2, ?3, ?4, ?5)",
		     "iittt", NULL, 0, 0 },
};

struct fresh_rows *fresh_rows_new(void)
{
	struct fresh_rows *r = calloc(1, sizeof(*r));

	if (r)
		memcpy(r->of, tables, sizeof(tables));
	return r;
}

struct fresh_rows *fresh_rows_free(struct fresh_rows *r)
{
	if (!r)
		return NULL;
	while (r->chunks) {
		struct chunk *next = r->chunks->next;

		free(r->chunks);
		r->chunks = next;
	}
	for (int i = 0; i < _TABLES; i++)
		db_rows_done(&r->of[i]);
	free(r);
	return NULL;
}

/* ---- texts ---- */

/* NULL: out of memory. */
static const char *keep_text(struct fresh_rows *r, const char *text)
{
	size_t size = strlen(text) + 1, room = size > CHUNK_SIZE ? size : CHUNK_SIZE;
	struct chunk *c = r->chunks;

	if (!c || c->n + size > CHUNK_SIZE) {
		c = malloc(sizeof(*c) + room);
		if (!c)
			return NULL;
		c->next = r->chunks;
		c->n = 0;
		r->chunks = c;
	}
	c->n += size;
	return memcpy(c->text + c->n - size, text, size);
}

/* The document as text; `doc` is freed. NULL: out of memory. */
static const char *keep_document(struct fresh_rows *r, json_t *doc)
{
	_cleanup_json_ json_t *own = doc;
	_cleanup_free_ char *text = own ? wire_format(own) : NULL;

	return text ? keep_text(r, text) : NULL;
}

static int no_memory(struct err *err)
{
	return err_set(err, -ENOMEM, "out of memory");
}

/* ---- rows ---- */

/* The columns that are texts of the request; NULL: out of memory. */
struct names {
	const char *user, *account, *cluster, *queue, *name, *rule, *gpu_model, *qos, *node;
};

static bool keep_names(struct fresh_rows *r, const struct fresh_job *j, struct names *ret)
{
	const struct request *q = &j->request;

	*ret = (struct names){ .user = keep_text(r, q->user),
			       .account = keep_text(r, q->account),
			       .cluster = keep_text(r, q->cluster),
			       .queue = keep_text(r, q->queue),
			       .name = keep_text(r, q->name),
			       .rule = keep_text(r, j->new.rule ? j->new.rule : ""),
			       .gpu_model = keep_text(r, q->res.gpu_model),
			       .qos = keep_text(r, q->qos),
			       .node = keep_text(r, j->from.node) };
	return ret->user && ret->account && ret->cluster && ret->queue && ret->name &&
	       ret->rule && ret->gpu_model && ret->qos && ret->node;
}

/* A job that never ran has no attempt, and no node. */
static int add_job(struct fresh_rows *r, const struct fresh_job *j, const struct names *n,
		   const char *end, struct err *err)
{
	const struct request *q = &j->request;
	const struct resources *s = &q->res;
	const struct store_new *w = &j->new;
	const struct fraction *b = w->terms.bundle.side;
	const char *request = keep_document(r, wire_encode_request(q));
	bool has_run = j->times.start_ns != 0;

	if (!request)
		return no_memory(err);
	return db_rows_add(&r->of[JOBS], err, j->a.job, has_run ? (int64_t)j->a.attempt : 0,
			   (int64_t)JOB_ENDED, (int64_t)q->uid, n->user, n->account, n->cluster,
			   n->queue, n->name, has_run ? n->node : NULL, s->ncpus, s->vmem_bytes,
			   s->mem_bytes, s->jobfs_bytes, s->walltime_s, s->ngpus,
			   store_slurm_submitted(&j->from), j->times.start_ns, j->times.end_ns,
			   (int64_t)w->pool, (int64_t)w->decided_by, w->terms.rate.num,
			   w->terms.rate.den, b[CHARGE_GPUS].num, b[CHARGE_GPUS].den,
			   b[CHARGE_CORES].num, b[CHARGE_CORES].den, b[CHARGE_MEMORY].num,
			   b[CHARGE_MEMORY].den, request, end, (int64_t)w->unit, n->rule,
			   n->gpu_model, (int64_t)w->terms.bundle.is_sum, n->qos);
}

static int add_attempt(struct fresh_rows *r, const struct fresh_job *j, const char *node,
		       const char *end, struct err *err)
{
	const struct report *p = &j->report;
	const struct store_known *k = &j->known;
	const struct tally *now = &j->span.after;
	const char *usage = keep_document(r, wire_encode_usage(&k->usage));

	if (!usage)
		return no_memory(err);
	return db_rows_add(&r->of[ATTEMPTS], err, j->a.job, (int64_t)j->a.attempt, node,
			   k->given_ns, (int64_t)JOB_ENDED, (int64_t)STORE_LOST, p->seq,
			   p->at_ns, p->started_ns, p->ended_ns, now->running_ns,
			   now->suspended_ns, now->charge_requested_ms, now->charge_used_ms,
			   (int64_t)j->end.kind, (int64_t)j->end.exit_status,
			   (int64_t)j->end.signal, usage, end, j->started_day, j->ended_day,
			   k->days.usage_day, (int64_t)k->days.is_sliced);
}

static int add_told(struct fresh_rows *r, const struct rows_attempt *a, struct err *err)
{
	const struct slurm_batch_job *w = &a->row;
	const char *nodes = keep_text(r, w->nodes), *node = keep_text(r, w->node);

	if (!nodes || !node)
		return no_memory(err);
	return db_rows_add(&r->of[TOLD], err, a->origin, w->job, w->submit_s, a->job,
			   (int64_t)a->attempt, (int64_t)w->state, w->start_s, w->end_s,
			   w->suspended_s, w->exit_status, w->signal, w->ncpus, nodes, node,
			   w->array_job, w->array_task, w->het_job, w->het_offset,
			   rows_source_number(a->source), a->at_s);
}

/* ---- the journal ---- */

static int add_event(struct fresh_rows *r, const struct fresh_job *j,
		     const struct store_event *e, struct err *err)
{
	const char *text = keep_text(r, e->text);

	return text ? db_rows_add(&r->of[EVENTS], err, j->from.now_ns, j->a.job, e->node,
				  e->what, text)
		    : no_memory(err);
}

static int add_note(struct fresh_rows *r, const struct fresh_job *j, const char *node,
		    const char *text, struct err *err)
{
	const struct store_event e = { .node = node, .what = "slurm", .text = text };

	return *text ? add_event(r, j, &e, err) : 0;
}

static int add_notes(struct fresh_rows *r, const struct fresh_job *j, struct err *err)
{
	char kinds[RULE_KINDS_MAX][RULE_NOTE_MAX];
	size_t n = rule_kinds(&j->a.row, kinds);
	int result = 0;

	for (size_t i = 0; i < n && result >= 0; i++)
		result = add_note(r, j, NULL, kinds[i], err);
	return result < 0 ? result : add_note(r, j, NULL, j->mended, err);
}

/* In the order in which settle.c writes them. */
static int add_events(struct fresh_rows *r, const struct fresh_job *j, const struct names *n,
		      struct err *err)
{
	const struct store_event submit = { .what = "submit", .text = n->user }, give = {
		.node = n->node, .what = "give", .text = "started by Slurm"
	};
	char line[REASON_TEXT_MAX] = "";
	const struct store_event ended = { .node = n->node,
					   .what = job_state_name(JOB_ENDED),
					   .text = line };
	bool has_run = j->times.start_ns != 0;
	int result = add_event(r, j, &submit, err);

	if (result >= 0)
		result = add_note(r, j, n->node, j->price_note, err);
	if (result >= 0 && has_run)
		result = add_event(r, j, &give, err);
	if (result >= 0)
		result = add_notes(r, j, err);
	if (result < 0 || !has_run)
		return result;
	reason_format_line(&j->end, line, sizeof(line));
	return add_event(r, j, &ended, err);
}

/* ---- all of it ---- */

int fresh_rows_add_job(struct fresh_rows *r, const struct fresh_job *j, struct err *err)
{
	const char *end = keep_document(r, wire_encode_end(&j->end));
	struct names n;
	int result;

	if (!end || !keep_names(r, j, &n))
		return no_memory(err);
	result = add_job(r, j, &n, end, err);
	if (result >= 0 && j->times.start_ns)
		result = add_attempt(r, j, n.node, end, err);
	if (result >= 0)
		result = add_told(r, &j->a, err);
	return result < 0 ? result : add_events(r, j, &n, err);
}

int fresh_rows_add_slice(struct fresh_rows *r, const struct fresh_job *j, int64_t day,
			 const struct rollup *figures, struct err *err)
{
	const int64_t *f = figures->figure;

	return db_rows_add(&r->of[SLICES], err, j->a.job, (int64_t)j->a.attempt, day,
			   f[ROLLUP_RUNNING_MS], f[ROLLUP_SUSPENDED_MS], f[ROLLUP_CPU_MS],
			   f[ROLLUP_CHARGE_REQUESTED_MS], f[ROLLUP_CHARGE_USED_MS],
			   f[ROLLUP_CORE_MS], f[ROLLUP_GPU_MS]);
}

int fresh_rows_add_interval(struct fresh_rows *r, const struct store_run_interval *x,
			    struct err *err)
{
	return db_rows_add(&r->of[INTERVALS], err, x->job, (int64_t)x->attempt, x->from_ns,
			   x->to_ns, x->running_ns, (int64_t)(x->suspended_ns == 0));
}

int fresh_rows_write(struct fresh_rows *r, struct store *s, struct err *err)
{
	int result = 0;

	for (int i = 0; i < _TABLES && result >= 0; i++)
		result = db_rows_write(s->db, &r->of[i], err);
	return result;
}
