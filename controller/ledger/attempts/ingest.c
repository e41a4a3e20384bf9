/* ingest.c - one exchange with a node as one transaction. See store.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/time_units.h"
#include "controller/ledger/jobs/credential.h"
#include "controller/ledger/attempts/gpus.h"
#include "controller/ledger/attempts/part.h"
#include "controller/ledger/store_sqlite.h"
#include "controller/ledger/steps/steps.h"
#include "controller/ledger/sql.h"

/* A job that was shown by its node and is missing from the list may be missing from a list
 * that was overtaken on its way; it is given up when a list this much later lacks it too. */
#define MISSING_GRACE_NS (10 * S_NS)

struct ingest {
	struct store *s;
	const struct sync *in;
	const struct sync_from *from;
	struct sync_result *out;
	bool has_rebooted;
};

/* Does the queue see another node in what it says now? The row: cluster, ncpus, mem_bytes,
 * jobfs_bytes, ngpus, gpu_models, drained_gpu_models, node_type, features, draining, lost from
 * column 6 on; in column 5, whether operators drain it by now. */
static bool is_changed(const struct ingest *g, struct db_row *st)
{
	const struct sync *in = g->in;
	const struct sync_amounts *c = &in->capacity;
	bool is_draining = db_int(st, 5) > 0 || in->draining;
	char models[GPUS_TEXT_MAX], drained[GPUS_TEXT_MAX];

	return strcmp(store_text(st, 6), g->from->cluster) != 0 || db_int(st, 7) != c->ncpus ||
	       db_int(st, 8) != c->mem_bytes || db_int(st, 9) != c->jobfs_bytes ||
	       db_int(st, 10) != c->ngpus ||
	       strcmp(store_text(st, 11), gpus_format(&in->gpu_models, models)) != 0 ||
	       strcmp(store_text(st, 12), gpus_format(&in->drained_gpu_models, drained)) != 0 ||
	       strcmp(store_text(st, 13), in->node_type) != 0 ||
	       strcmp(store_text(st, 14), in->features) != 0 ||
	       (db_int(st, 15) != 0) != is_draining || db_int(st, 16) != 0;
}

/* 1: known before. Checks that the name is not being used by two machines at once. */
static int check_node(struct ingest *g, struct err *err)
{
	struct db_row *st;
	int64_t silent_ns;
	char address[64], boot[REQUEST_NAME_MAX], drained[GPUS_TEXT_MAX];
	int r = db_query_first(
		g->s->db, err, &st,
		"SELECT address, boot, last_ns, draining + lost,"
		" drained_gpu_models,"
		" (SELECT COUNT(*) FROM drains d WHERE d.node = ?1 AND d.from_ns <= ?2),"
		" cluster, ncpus, mem_bytes, jobfs_bytes, ngpus, gpu_models,"
		" drained_gpu_models, node_type, features, draining, lost FROM nodes WHERE node = ?1",
		"ti", g->in->node, g->from->now_ns);

	if (r <= 0)
		return r;
	if (is_changed(g, st))
		store_announce_nodes(g->s);
	snprintf(address, sizeof(address), "%s", store_text(st, 0));
	snprintf(boot, sizeof(boot), "%s", store_text(st, 1));
	silent_ns = g->from->now_ns - db_int(st, 2);
	/* It takes jobs again, or has GPUs to give that it had not. */
	g->out->has_freed |= db_int(st, 3) > 0 && !g->in->draining && !db_int(st, 5);
	g->out->has_freed |= strcmp(store_text(st, 4),
				    gpus_format(&g->in->drained_gpu_models, drained)) != 0;
	db_done(st);
	if (strcmp(address, g->from->address) != 0 && silent_ns >= 0 &&
	    silent_ns < g->from->lost_ns)
		return err_set(err, -EBUSY,
			       "the node name '%s' is in use by %s, heard of %lld s ago; give "
			       "each node its own Node= name",
			       g->in->node, address, (long long)(silent_ns / S_NS));
	g->has_rebooted = strcmp(boot, g->in->boot) != 0;
	return 1;
}

static int write_node(struct ingest *g, struct err *err)
{
	const struct sync *in = g->in;
	const struct sync_amounts *c = &in->capacity, *f = &in->free;
	_cleanup_free_ char *notes = sync_format_notes(in), *gpus = sync_format_gpus(in);
	char models[GPUS_TEXT_MAX], free_models[GPUS_TEXT_MAX], drained[GPUS_TEXT_MAX];

	if (!notes || !gpus)
		return err_set(err, -ENOMEM, "out of memory");
	return db_run(
		g->s->db, err,
		"INSERT INTO nodes(node, cluster, boot, version, address, topology, notes,"
		" tier, draining, lost, ncpus, mem_bytes, jobfs_bytes, ngpus,"
		" free_ncpus, free_mem_bytes, free_jobfs_bytes, free_ngpus,"
		" first_ns, last_ns, gpus, gpu_models, free_gpu_models,"
		" drained_gpu_models, node_type, features)"
		" VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 0, ?10, ?11,"
		" ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?18, ?19, ?20, ?21,"
		" ?22, ?23, ?24) ON CONFLICT(node) DO UPDATE SET"
		" cluster = excluded.cluster, boot = excluded.boot,"
		" version = excluded.version, address = excluded.address,"
		" topology = excluded.topology, notes = excluded.notes,"
		" tier = excluded.tier, draining = CASE WHEN EXISTS("
		"SELECT 1 FROM drains d WHERE d.node = excluded.node AND d.from_ns <= ?18)"
		" THEN 1 ELSE excluded.draining END, lost = 0,"
		" ncpus = excluded.ncpus, mem_bytes = excluded.mem_bytes,"
		" jobfs_bytes = excluded.jobfs_bytes, ngpus = excluded.ngpus,"
		" free_ncpus = excluded.free_ncpus,"
		" free_mem_bytes = excluded.free_mem_bytes,"
		" free_jobfs_bytes = excluded.free_jobfs_bytes,"
		" free_ngpus = excluded.free_ngpus, last_ns = excluded.last_ns,"
		" gpus = excluded.gpus, gpu_models = excluded.gpu_models,"
		" free_gpu_models = excluded.free_gpu_models,"
		" drained_gpu_models = excluded.drained_gpu_models,"
		" node_type = excluded.node_type, features = excluded.features",
		"ttttttt"
		"ii"
		"iiii"
		"iiii"
		"i"
		"tttttt",
		in->node, g->from->cluster, in->boot, in->version, g->from->address,
		in->topology, notes, (int64_t)in->tier, (int64_t)in->draining, c->ncpus,
		c->mem_bytes, c->jobfs_bytes, c->ngpus, f->ncpus, f->mem_bytes, f->jobfs_bytes,
		f->ngpus, g->from->now_ns, gpus, gpus_format(&in->gpu_models, models),
		gpus_format(&in->free_gpu_models, free_models),
		gpus_format(&in->drained_gpu_models, drained), in->node_type, in->features);
}

static int take_node(struct ingest *g, struct err *err)
{
	struct store_event e = { g->from->now_ns, 0, g->in->node, "register", g->in->version };
	int known = check_node(g, err), r;

	if (known < 0)
		return known;
	r = write_node(g, err);
	if (r < 0 || (known && !g->has_rebooted))
		return r;
	if (known)
		e.what = "reboot";
	else
		store_announce_nodes(g->s);
	g->out->has_freed |= !known;
	return store_event(g->s, &e, err);
}

/* The job's other nodes have something else to do from now on. */
static int wake_other_nodes(struct ingest *g, int64_t job, struct err *err)
{
	struct sync_result *out = g->out;
	int64_t *p;

	if (out->n_affected && out->affected[out->n_affected - 1] == job)
		return 0;
	p = realloc(out->affected, (out->n_affected + 1) * sizeof(*p));
	if (!p)
		return err_set(err, -ENOMEM, "out of memory");
	out->affected = p;
	out->affected[out->n_affected++] = job;
	return 0;
}

static int take_reports(struct ingest *g, struct err *err)
{
	for (size_t i = 0; i < g->in->n_reports; i++) {
		struct store_report_case c = { .report = &g->in->reports[i],
					       .node = g->in->node,
					       .now_ns = g->from->now_ns };
		int r = store_report(g->s, &c, err);

		if (r < 0)
			return r;
		if (r == STORE_REPORT_REFUSED)
			g->out->refusals[g->out->n_refusals++] = c.refusal;
		else if (r == STORE_REPORT_ACK)
			g->out->acks[g->out->n_acks++] = c.ack;
		if (c.gain.running_ns)
			g->out->deltas[g->out->n_deltas++] = c.gain;
		if (c.is_new)
			r = store_gpus_report(g->s, &c, err);
		if (r >= 0 && c.stirs)
			r = wake_other_nodes(g, c.report->job, err);
		if (r >= 0 && c.is_new && c.part <= 0 && c.report->state == JOB_ENDED)
			r = store_steps_close(g->s, c.report->job, c.now_ns, err);
		if (r >= 0 && c.is_new && c.report->state == JOB_ENDED)
			r = store_credential_drop(g->s, c.report->job, err);
		if (r < 0)
			return r;
		g->out->n_accepted += c.is_new;
		g->out->has_freed |= c.has_freed;
	}
	return 0;
}

static int take_outputs(struct ingest *g, struct err *err)
{
	for (size_t i = 0; i < g->in->n_outputs; i++) {
		const struct sync_output *o = &g->in->outputs[i];
		int64_t have;
		int r = store_output_add(g->s, g->in->node, o, &have, err);

		if (r == -ENOENT)
			continue;
		if (r < 0)
			return r;
		g->out->output_acks[g->out->n_output_acks++] =
			(struct sync_output_ack){ o->job, o->step, have, o->attempt,
						  o->stream };
	}
	return 0;
}

static bool is_refused(const struct ingest *g, const struct sync_job *h)
{
	for (size_t i = 0; i < g->out->n_refusals; i++)
		if (g->out->refusals[i].job == h->job &&
		    g->out->refusals[i].attempt == h->attempt)
			return true;
	return false;
}

static int refuse_job(struct ingest *g, const struct sync_job *h, const char *why)
{
	struct sync_refusal *f;

	if (is_refused(g, h))
		return 0;
	f = &g->out->refusals[g->out->n_refusals++];
	*f = (struct sync_refusal){ .job = h->job, .attempt = h->attempt };
	snprintf(f->why, sizeof(f->why), "%s", why);
	return 0;
}

static const char lost_words[] = "its node was lost for too long; the job was given up";

/* It was given up while its node was silent. Where it runs still it is killed, and nothing of
 * it counts any more; where it has ended by itself its final report is waited for. */
static int refuse_lost(struct ingest *g, const struct sync_job *h, const struct store_place *p,
		       struct err *err)
{
	if (h->state == JOB_ENDING || h->state == JOB_ENDED)
		return 0;
	refuse_job(g, h, lost_words);
	if (p->closed == STORE_VOID)
		return 0;
	store_announce_job(g->s, h->job);
	if (p->part > 0)
		return db_run(g->s->db, err,
			      "UPDATE parts SET closed = " SQL_STORE_VOID
			      " WHERE job = ?1 AND attempt = ?2"
			      " AND part = ?3",
			      "iii", h->job, (int64_t)h->attempt, (int64_t)p->part);
	return db_run(g->s->db, err,
		      "UPDATE attempts SET closed = " SQL_STORE_VOID
		      " WHERE job = ?1 AND attempt = ?2",
		      "ii", h->job, (int64_t)h->attempt);
}

static int show_place(struct ingest *g, const struct store_at *at, const struct store_place *p,
		      enum job_state state, struct err *err)
{
	int r = store_place_show(g->s, at, p, state, err);

	if (r < 0 || p->state == state)
		return r;
	g->out->has_freed |= state != JOB_STARTING;
	if (p->part > 0 && state == JOB_RUNNING)
		r = store_parts_run(g->s, at, err);
	if (p->part > 0 && r > 0)
		r = wake_other_nodes(g, at->job, err);
	return r < 0 ? r : 0;
}

static int take_listed_job(struct ingest *g, const struct sync_job *h, struct err *err)
{
	const struct store_at at = { h->job, h->attempt, g->in->node };
	struct store_place p;
	int r = store_place_find(g->s, &at, &p, err);

	if (r < 0)
		return r;
	if (r == 0)
		return refuse_job(g, h, "this job was never given to this node");
	if (p.closed == STORE_LOST || p.closed == STORE_VOID)
		return refuse_lost(g, h, &p, err);
	/* That it ended is said by its final report alone. */
	if (p.closed != STORE_OPEN || h->state < JOB_STARTING || h->state > JOB_ENDING)
		return 0;
	return show_place(g, &at, &p, h->state, err);
}

/* The job runs there, and its agent has lost the record. Where the attempt is open the node gets it
 * with its request once more, so that the agent recovers it; else it is refused, so that it is
 * killed. */
static int take_found(struct ingest *g, const struct sync_job *h, struct err *err)
{
	const struct store_at at = { h->job, h->attempt, g->in->node };
	struct store_place p;
	int r = store_place_find(g->s, &at, &p, err);

	if (r < 0)
		return r;
	if (r == 0)
		return refuse_job(g, h, "this job was never given to this node");
	if (p.closed == STORE_LOST || p.closed == STORE_VOID)
		return refuse_lost(g, h, &p, err);
	if (p.closed == STORE_FINAL)
		return refuse_job(g, h, "this attempt of the job has ended");
	return store_place_miss(g->s, &at, &p, 0, err);
}

static int compare_holds(const void *a, const void *b)
{
	const struct sync_job *x = a, *y = b;

	if (x->job != y->job)
		return x->job < y->job ? -1 : 1;
	return (x->attempt > y->attempt) - (x->attempt < y->attempt);
}

struct missing {
	int64_t job, since_ns;
	int32_t attempt, part;
};

/* All that the node listed or found, by number. malloc()ed. */
static struct sync_job *sort_holds(const struct sync *in)
{
	size_t n = in->n_jobs + in->n_found;
	struct sync_job *sorted = malloc(n * sizeof(*sorted) + 1);

	if (!sorted)
		return NULL;
	if (in->n_jobs)
		memcpy(sorted, in->jobs, in->n_jobs * sizeof(*sorted));
	if (in->n_found)
		memcpy(sorted + in->n_jobs, in->found, in->n_found * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), compare_holds);
	return sorted;
}

/* Attempts that the node once showed, has not finished, and does not list. *ret malloc()ed. */
static int find_missing(struct ingest *g, const struct sync_job *sorted, struct missing **ret,
			size_t *ret_n, struct err *err)
{
	_cleanup_free_ struct missing *found = NULL;
	size_t n = 0;
	struct db_row *st;
	int r = db_query(g->s->db, err, &st,
			 "SELECT job, attempt, missing_ns, 0 FROM attempts"
			 " WHERE node = ?1 AND closed = " SQL_STORE_OPEN " AND shown = 1"
			 " UNION ALL SELECT job, attempt, missing_ns, part FROM parts"
			 " WHERE node = ?1 AND closed = " SQL_STORE_OPEN
			 " AND shown = 1 AND part > 0",
			 "t", g->in->node);

	if (r < 0)
		return r;
	while ((r = db_step(g->s->db, st, err)) > 0) {
		struct sync_job key = { .job = db_int(st, 0), .attempt = (int)db_int(st, 1) };
		struct missing *p;

		if (bsearch(&key, sorted, g->in->n_jobs + g->in->n_found, sizeof(key),
			    compare_holds))
			continue;
		p = realloc(found, (n + 1) * sizeof(*p));
		if (!p) {
			db_done(st);
			return err_set(err, -ENOMEM, "out of memory");
		}
		found = p;
		found[n++] = (struct missing){ key.job, db_int(st, 2), key.attempt,
					       (int32_t)db_int(st, 3) };
	}
	if (r < 0)
		return r;
	*ret = TAKE_PTR(found);
	*ret_n = n;
	return 0;
}

static int judge_missing(struct ingest *g, const struct missing *m, struct err *err)
{
	struct store_loss loss = { .job = m->job,
				   .attempt = m->attempt,
				   .part = m->part,
				   .now_ns = g->from->now_ns,
				   .node = g->in->node };
	const struct store_at at = { m->job, m->attempt, g->in->node };
	const struct store_place p = { .part = m->part };
	int r;

	if (g->has_rebooted)
		loss.text = "the node rebooted under the job";
	else if (m->since_ns && g->from->now_ns - m->since_ns >= MISSING_GRACE_NS)
		loss.text = "the node's agent no longer knows the job";
	else if (m->since_ns)
		return 0;
	else
		return store_place_miss(g->s, &at, &p, g->from->now_ns, err);
	g->out->has_freed = true;
	r = m->part ? store_part_lose(g->s, &loss, err) : store_end_lost(g->s, &loss, err);
	if (r >= 0)
		r = store_credential_drop(g->s, m->job, err);
	return r < 0 ? r : wake_other_nodes(g, m->job, err);
}

static int take_list(struct ingest *g, struct err *err)
{
	_cleanup_free_ struct sync_job *sorted = sort_holds(g->in);
	_cleanup_free_ struct missing *missing = NULL;
	size_t n = 0;
	int r = 0;

	if (!sorted)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < g->in->n_jobs && r >= 0; i++)
		r = take_listed_job(g, &g->in->jobs[i], err);
	for (size_t i = 0; i < g->in->n_found && r >= 0; i++)
		r = take_found(g, &g->in->found[i], err);
	if (r >= 0)
		r = find_missing(g, sorted, &missing, &n, err);
	for (size_t i = 0; i < n && r >= 0; i++)
		r = judge_missing(g, &missing[i], err);
	return r;
}

static int take_all(struct ingest *g, struct err *err)
{
	int r = store_check_sync_number(g->s, g->in, g->from->now_ns, err);

	if (r >= 0)
		r = take_node(g, err);
	if (r >= 0)
		r = store_steps_take(g->s, g->in, g->from->now_ns, g->out, err);
	if (r >= 0)
		r = take_reports(g, err);
	if (r >= 0)
		r = take_outputs(g, err);
	if (r >= 0)
		r = take_list(g, err);
	return r;
}

static int make_room(const struct sync *in, struct sync_result *ret, struct err *err)
{
	*ret = (struct sync_result){
		.acks = calloc(in->n_reports + 1, sizeof(*ret->acks)),
		.output_acks = calloc(in->n_outputs + 1, sizeof(*ret->output_acks)),
		.refusals = calloc(in->n_reports + in->n_jobs + in->n_found + 1,
				   sizeof(*ret->refusals)),
		.deltas = calloc(in->n_reports + 1, sizeof(*ret->deltas)),
	};
	if (ret->deltas && ret->acks && ret->output_acks && ret->refusals)
		return 0;
	return err_set(err, -ENOMEM, "out of memory");
}

int store_ingest(struct store *s, const struct sync *in, const struct sync_from *from,
		 struct sync_result *ret, struct err *err)
{
	struct sync_result out;
	struct ingest g = { s, in, from, &out, false };
	int r = make_room(in, &out, err);

	if (r >= 0)
		r = db_begin(s->db, err);
	if (r >= 0)
		r = db_end(s->db, take_all(&g, err), err);
	if (r < 0) {
		sync_result_done(&out);
		return r;
	}
	*ret = out;
	return 0;
}
