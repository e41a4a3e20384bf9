/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ingest.c - writes what a node said in one exchange, in one transaction: the node's row, its steps,
 * its reports, its output, and at the end its list of jobs, which is compared with the ledger's. The
 * order matters: a job that ended is closed by its report before its absence from the list could
 * count as a loss. See store.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/time_units.h"
#include "controller/ledger/jobs/credential.h"
#include "controller/ledger/attempts/ingest/ingest_impl.h"
#include "controller/ledger/attempts/ingest/listed.h"
#include "controller/ledger/attempts/part.h"
#include "controller/ledger/nodes/record.h"
#include "controller/ledger/store_sqlite.h"
#include "controller/ledger/steps/steps.h"
#include "controller/ledger/restored.h"
#include "controller/ledger/sql.h"

/* A job that its node has shown, and that is missing from one list, counts as lost when a list this
 * much later lacks it too. */
#define MISSING_GRACE_NS (10 * S_NS)

/* clang-format off */
#define BEFORE_COLUMNS(X) \
	X(BEFORE_ADDRESS,            "address") \
	X(BEFORE_BOOT,               ", boot") \
	X(BEFORE_LAST_NS,            ", last_ns") \
	X(BEFORE_CLUSTER,            ", cluster") \
	X(BEFORE_NCPUS,              ", ncpus") \
	X(BEFORE_MEM_BYTES,          ", mem_bytes") \
	X(BEFORE_JOBFS_BYTES,        ", jobfs_bytes") \
	X(BEFORE_NGPUS,              ", ngpus") \
	X(BEFORE_GPU_MODELS,         ", gpu_models") \
	X(BEFORE_DRAINED_GPU_MODELS, ", drained_gpu_models") \
	X(BEFORE_NODE_TYPE,          ", node_type") \
	X(BEFORE_FEATURES,           ", features") \
	X(BEFORE_DRAINING,           ", draining") \
	X(BEFORE_LOST,               ", lost") \
	X(BEFORE_RESTORED_NS,        ", restored_ns") \
	X(BEFORE_N_DRAINS,           ", (SELECT COUNT(*) FROM drains d WHERE d.node = ?1" \
		" AND d.from_ns <= ?2)")
/* clang-format on */
enum { BEFORE_COLUMNS(SQL_NAME) };
#define BEFORE_SELECT "SELECT " BEFORE_COLUMNS(SQL_COLUMN)

static bool has_drained_models(const struct ingest *g, struct db_row *st)
{
	char drained[GPUS_TEXT_MAX];

	return strcmp(store_text(st, BEFORE_DRAINED_GPU_MODELS),
		      gpus_format(&g->in->drained_gpu_models, drained)) != 0;
}

/* The node differs from its row before in what the queue reads of nodes. */
static bool is_changed(const struct ingest *g, struct db_row *st)
{
	const struct sync *in = g->in;
	const struct sync_amounts *c = &in->capacity;
	bool is_draining = db_int(st, BEFORE_N_DRAINS) > 0 || in->draining;
	char models[GPUS_TEXT_MAX];

	return strcmp(store_text(st, BEFORE_CLUSTER), g->from->cluster) != 0 ||
	       db_int(st, BEFORE_NCPUS) != c->ncpus ||
	       db_int(st, BEFORE_MEM_BYTES) != c->mem_bytes ||
	       db_int(st, BEFORE_JOBFS_BYTES) != c->jobfs_bytes ||
	       db_int(st, BEFORE_NGPUS) != c->ngpus ||
	       strcmp(store_text(st, BEFORE_GPU_MODELS),
		      gpus_format(&in->gpu_models, models)) != 0 ||
	       has_drained_models(g, st) ||
	       strcmp(store_text(st, BEFORE_NODE_TYPE), in->node_type) != 0 ||
	       strcmp(store_text(st, BEFORE_FEATURES), in->features) != 0 ||
	       (db_int(st, BEFORE_DRAINING) != 0) != is_draining ||
	       db_int(st, BEFORE_LOST) != 0;
}

/* 1: the node has a row; 0: it is new. -EBUSY: another address used the name less than lost_ns ago,
 * so two machines may have it. */
static int check_node(struct ingest *g, struct err *err)
{
	struct db_row *st;
	int64_t silent_ns;
	char address[64], boot[REQUEST_NAME_MAX];
	int r = db_query_first(g->s->db, err, &st, BEFORE_SELECT " FROM nodes WHERE node = ?1",
			       "ti", g->in->node, g->from->now_ns);

	if (r <= 0)
		return r;
	g->has_changed = is_changed(g, st);
	if (g->has_changed)
		store_announce_nodes(g->s);
	snprintf(address, sizeof(address), "%s", store_text(st, BEFORE_ADDRESS));
	snprintf(boot, sizeof(boot), "%s", store_text(st, BEFORE_BOOT));
	silent_ns = g->from->now_ns - db_int(st, BEFORE_LAST_NS);
	/* The node takes jobs again, or has GPUs to allocate that it did not have. */
	g->out->has_freed |= db_int(st, BEFORE_DRAINING) + db_int(st, BEFORE_LOST) > 0 &&
			     !g->in->draining && !db_int(st, BEFORE_N_DRAINS);
	g->out->has_freed |= has_drained_models(g, st);
	g->may_adopt = db_int(st, BEFORE_RESTORED_NS) != g->s->identity.restored_ns;
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

/* An operator's drain that has begun stays, whatever the node says of itself. */
static int write_node(struct ingest *g, struct err *err)
{
	const struct sync *in = g->in;
	const struct sync_amounts *c = &in->capacity, *f = &in->free;
	_cleanup_free_ char *notes = sync_format_notes(in), *gpus = sync_format_gpus(in);
	char models[GPUS_TEXT_MAX], free_models[GPUS_TEXT_MAX], drained[GPUS_TEXT_MAX];

	if (!notes || !gpus)
		return err_set(err, -ENOMEM, "out of memory");
	return db_run_later(
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

static int ingest_node(struct ingest *g, struct err *err)
{
	struct store_event e = { g->from->now_ns, 0, g->in->node, "register", g->in->version };
	int known = check_node(g, err), r;

	if (known < 0)
		return known;
	r = write_node(g, err);
	if (r >= 0 && (!known || g->has_changed))
		r = store_node_record(g->s, g->in->node, g->from->now_ns, err);
	if (r < 0 || (known && !g->has_rebooted))
		return r;
	if (known)
		e.what = "reboot";
	else
		store_announce_nodes(g->s);
	g->out->has_freed |= !known;
	return store_event(g->s, &e, err);
}

static int ingest_outputs(struct ingest *g, struct err *err)
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

/* A report of the same attempt was refused in this exchange. */
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

/* The attempt was ended by the controller while its node was silent. Where it still runs the refusal
 * makes the node kill it, and nothing of it counts any more; where it has ended by itself its final
 * report still counts. */
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

/* Writes the state that the node's list shows. A part that runs may be the last one that the first
 * node waits for: then that node is woken. */
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
		r = ingest_wake_others(g, at->job, err);
	return r < 0 ? r : 0;
}

/* What the ledger has of a job that the node listed or found. 1: *ret_at and *ret are set; 0: the
 * job was refused, because the node has no such attempt or the controller has ended it. */
static int find_place(struct ingest *g, const struct sync_job *h, struct store_at *ret_at,
		      struct store_place *ret, struct err *err)
{
	int r;

	*ret_at = (struct store_at){ h->job, h->attempt, g->in->node };
	r = store_place_find(g->s, ret_at, ret, err);
	if (r == 0 && g->may_adopt) {
		r = store_restored_adopt(g->s, ret_at, g->from->now_ns, err);
		if (r > 0)
			r = store_place_find(g->s, ret_at, ret, err);
	}
	if (r < 0)
		return r;
	if (r == 0)
		return refuse_job(g, h, "this job was never given to this node");
	/* A job of Slurm that runs on after all is not killed: its final report still counts. */
	if ((ret->closed == STORE_LOST || ret->closed == STORE_VOID) && !store_is_slurm(h->job))
		return refuse_lost(g, h, ret, err);
	return 1;
}

static int ingest_listed(struct ingest *g, const struct sync_job *h, struct err *err)
{
	struct store_place p;
	struct store_at at;
	int r = find_place(g, h, &at, &p, err);

	if (r <= 0)
		return r;
	/* Only its final report ends an attempt. */
	if (p.closed != STORE_OPEN || h->state < JOB_STARTING || h->state > JOB_ENDING)
		return 0;
	return show_place(g, &at, &p, h->state, err);
}

/* The job runs on the node, and its agent has lost the record. Where the attempt is open the node
 * gets it with its request once more, so that the agent recovers it; else it is refused, so that the
 * agent kills it. */
static int ingest_found(struct ingest *g, const struct sync_job *h, struct err *err)
{
	struct store_place p;
	struct store_at at;
	int r = find_place(g, h, &at, &p, err);

	if (r <= 0)
		return r;
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

/* All jobs that the node listed or found, sorted for bsearch(). malloc()ed; NULL: out of memory. */
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

/* Attempts and parts that the node once showed, has not ended, and does not list: of `rows` they are moved to the front. Returns how many. */
static size_t find_missing(const struct ingest *g, const struct sync_job *sorted,
			   struct store_listed *rows, size_t n)
{
	size_t n_missing = 0;

	for (size_t i = 0; i < n; i++) {
		const struct sync_job key = { .job = rows[i].job, .attempt = rows[i].attempt };

		if (rows[i].is_shown && !bsearch(&key, sorted, g->in->n_jobs + g->in->n_found,
						 sizeof(key), compare_holds))
			rows[n_missing++] = rows[i];
	}
	return n_missing;
}

static int handle_missing(struct ingest *g, const struct store_listed *m, struct err *err)
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
	else if (m->missing_ns && g->from->now_ns - m->missing_ns >= MISSING_GRACE_NS)
		loss.text = "the node's agent no longer knows the job";
	else if (m->missing_ns)
		return 0;
	else
		return store_place_miss(g->s, &at, &p, g->from->now_ns, err);
	g->out->has_freed = true;
	r = m->part ? store_part_lose(g->s, &loss, err) : store_end_lost(g->s, &loss, err);
	if (r >= 0)
		r = store_credential_drop(g->s, m->job, err);
	return r < 0 ? r : ingest_wake_others(g, m->job, err);
}

static int ingest_list(struct ingest *g, struct err *err)
{
	_cleanup_free_ struct sync_job *sorted = sort_holds(g->in);
	_cleanup_free_ struct store_listed *rows = NULL;
	size_t n = 0;
	int r = sorted ? store_listed_load(g->s, g->in->node, &rows, &n, err)
		       : err_set(err, -ENOMEM, "out of memory");

	for (size_t i = 0; i < g->in->n_jobs && r >= 0; i++)
		if (!store_listed_is_known(rows, n, &g->in->jobs[i]))
			r = ingest_listed(g, &g->in->jobs[i], err);
	for (size_t i = 0; i < g->in->n_found && r >= 0; i++)
		r = ingest_found(g, &g->in->found[i], err);
	n = r >= 0 && g->is_told ? find_missing(g, sorted, rows, n) : 0;
	for (size_t i = 0; i < n && r >= 0; i++)
		r = handle_missing(g, &rows[i], err);
	return r;
}

static int ingest_all(struct ingest *g, struct err *err)
{
	int r = store_check_sync_number(g->s, g->in, g->from->now_ns, err);

	if (r >= 0)
		r = ingest_node(g, err);
	if (r >= 0 && g->from->slurm)
		r = store_slurm_take(g->s, g->from, g->out, err);
	if (r >= 0)
		r = store_steps_take(g->s, g->in, g->from->now_ns, g->out, err);
	if (r >= 0)
		r = ingest_reports(g, err);
	if (r >= 0)
		r = ingest_outputs(g, err);
	if (r >= 0)
		r = ingest_list(g, err);
	/* What was refused still has cores there. */
	if (r >= 0 && g->may_adopt && g->is_told && !g->out->n_refusals)
		r = store_restored_told(g->s, g->in->node, err);
	g->out->has_freed |= g->may_adopt;
	return r;
}

/* Room for one answer to each thing that the node said. */
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

int store_ingest_within(struct store *s, const struct sync *in, const struct sync_from *from,
			struct sync_result *ret, struct err *err)
{
	struct sync_result out;
	struct ingest g = { .s = s,
			    .in = in,
			    .from = from,
			    .out = &out,
			    .may_adopt = s->identity.restored_ns != 0,
			    .is_told = store_restored_is_told(s, in) };
	int r = make_room(in, &out, err);

	if (r >= 0)
		r = ingest_all(&g, err);
	if (r < 0) {
		sync_result_done(&out);
		return r;
	}
	*ret = out;
	return 0;
}

int store_ingest(struct store *s, const struct sync *in, const struct sync_from *from,
		 struct sync_result *ret, struct err *err)
{
	struct sync_result out = { 0 };
	int r = db_begin(s->db, err);

	if (r >= 0)
		r = db_end(s->db, store_ingest_within(s, in, from, &out, err), err);
	if (r < 0) {
		sync_result_done(&out);
		return r;
	}
	*ret = out;
	return 0;
}
