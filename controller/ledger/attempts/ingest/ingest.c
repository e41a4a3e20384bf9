/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ingest.c - writes what a node said in one exchange: the node's row, and its output; its reports are in ingest_reports.c, its list of jobs in
 * ingest_list.c. See ingest.h and store.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/time_units.h"
#include "controller/ledger/attempts/ingest/ingest_impl.h"
#include "controller/ledger/nodes/heard.h"
#include "controller/ledger/nodes/record.h"
#include "controller/ledger/steps/steps.h"
#include "controller/ledger/restored.h"
#include "controller/ledger/sql.h"

/* clang-format off */
#define BEFORE_COLUMNS(X) \
	X(BEFORE_ADDRESS,            "n.address") \
	X(BEFORE_BOOT,               ", n.boot") \
	X(BEFORE_LAST_NS,            ", n.last_ns") \
	X(BEFORE_CLUSTER,            ", n.cluster") \
	X(BEFORE_NCPUS,              ", n.ncpus") \
	X(BEFORE_MEM_BYTES,          ", n.mem_bytes") \
	X(BEFORE_JOBFS_BYTES,        ", n.jobfs_bytes") \
	X(BEFORE_NGPUS,              ", n.ngpus") \
	X(BEFORE_PIDS,               ", n.pids") \
	X(BEFORE_GPU_MODELS,         ", n.gpu_models") \
	X(BEFORE_DRAINED_GPU_MODELS, ", n.drained_gpu_models") \
	X(BEFORE_NODE_TYPE,          ", n.node_type") \
	X(BEFORE_FEATURES,           ", n.features") \
	X(BEFORE_DRAINING,           ", n.draining") \
	X(BEFORE_LOST,               ", n.lost") \
	X(BEFORE_RESTORED_NS,        ", n.restored_ns") \
	X(BEFORE_N_DRAINS,           ", (SELECT COUNT(*) FROM drains d WHERE d.node = ?1" \
		" AND d.from_ns <= ?2)") \
	X(BEFORE_NUMBER,             ", b.number") \
	X(BEFORE_IS_OVER,            ", b.is_over")
/* clang-format on */
enum { BEFORE_COLUMNS(SQL_NAME) };
static const char before_sql[] = "SELECT " BEFORE_COLUMNS(
	SQL_COLUMN) " FROM nodes n LEFT JOIN boots b ON b.node = n.node AND b.boot = ?3"
		    " WHERE n.node = ?1";

static bool has_drained_models(const struct store_ingest *g, struct db_row *st)
{
	char drained[GPUS_TEXT_MAX];

	return strcmp(store_text(st, BEFORE_DRAINED_GPU_MODELS),
		      gpus_format(&g->in->drained_gpu_models, drained)) != 0;
}

/* The node differs from its row before in what the queue reads of nodes. */
static bool is_changed(const struct store_ingest *g, struct db_row *st)
{
	const struct sync *in = g->in;
	const struct sync_amounts *c = &in->capacity;
	bool is_draining = db_int(st, BEFORE_N_DRAINS) > 0 || in->draining;
	char models[GPUS_TEXT_MAX];

	return strcmp(store_text(st, BEFORE_CLUSTER), g->from->cluster) != 0 ||
	       db_int(st, BEFORE_NCPUS) != c->ncpus ||
	       db_int(st, BEFORE_MEM_BYTES) != c->mem_bytes ||
	       db_int(st, BEFORE_JOBFS_BYTES) != c->jobfs_bytes ||
	       db_int(st, BEFORE_NGPUS) != c->ngpus || db_int(st, BEFORE_PIDS) != in->pids ||
	       strcmp(store_text(st, BEFORE_GPU_MODELS),
		      gpus_format(&in->gpu_models, models)) != 0 ||
	       has_drained_models(g, st) ||
	       strcmp(store_text(st, BEFORE_NODE_TYPE), in->node_type) != 0 ||
	       strcmp(store_text(st, BEFORE_FEATURES), in->features) != 0 ||
	       (db_int(st, BEFORE_DRAINING) != 0) != is_draining ||
	       db_int(st, BEFORE_LOST) != 0;
}

/* 1: the node has a row, and *ret is set; 0: it is new. -EBUSY: another address used the name less than lost_ns ago,
 * so two machines may have it. */
static int check_node(struct store_ingest *g, struct store_boot *ret, struct err *err)
{
	struct db_row *st;
	int64_t silent_ns;
	char address[64], boot[REQUEST_NAME_MAX];
	int r = db_query_first(g->s->db, err, &st, before_sql, "tit", g->in->node,
			       g->from->now_ns, g->in->boot);

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
	*ret = (struct store_boot){ .is_there = !db_is_null(st, BEFORE_NUMBER),
				    .is_over = db_int(st, BEFORE_IS_OVER) != 0,
				    .number = db_int(st, BEFORE_NUMBER) };
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

static int ingest_node(struct store_ingest *g, struct err *err)
{
	struct store_event e = { g->from->now_ns, 0, g->in->node, "register", g->in->version };
	struct store_boot boot = { 0 };
	int known = check_node(g, &boot, err), r = known;

	if (r >= 0)
		r = store_check_sync_number(g->s, g->in, known ? &boot : NULL, g->from->now_ns,
					    err);
	if (r >= 0)
		r = store_heard(g->s, g->in, g->from, known && !g->has_changed && !g->may_adopt,
				err);
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

static int ingest_outputs(struct store_ingest *g, struct err *err)
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

/* ---- the steps of ingest.h ---- */

int store_ingest_begin(struct store_ingest *g, struct err *err)
{
	const struct sync *in = g->in;

	g->may_adopt = g->s->identity.restored_ns != 0;
	g->is_told = store_restored_is_told(g->s, in);
	*g->out = (struct sync_result){
		.acks = calloc(in->n_reports + 1, sizeof(*g->out->acks)),
		.output_acks = calloc(in->n_outputs + 1, sizeof(*g->out->output_acks)),
		.refusals = calloc(in->n_reports + in->n_jobs + in->n_found + 1,
				   sizeof(*g->out->refusals)),
		.deltas = calloc(in->n_reports + 1, sizeof(*g->out->deltas)),
	};
	if (g->out->deltas && g->out->acks && g->out->output_acks && g->out->refusals)
		return 0;
	return err_set(err, -ENOMEM, "out of memory");
}

void store_ingest_done(struct store_ingest *g)
{
	g->given = store_given_put(g->given);
}

/* The numbers in the ledger of a foreign engine's jobs are not known yet. */
int store_ingest_ask(struct store_ingest *g, struct err *err)
{
	int r = db_ask(g->s->db, err, before_sql, "tit", g->in->node, g->from->now_ns,
		       g->in->boot);

	return r < 0 || engine_is_foreign(g->in->engine) ? r : ingest_ask_reports(g, err);
}

int store_ingest_said(struct store_ingest *g, struct err *err)
{
	int r = ingest_node(g, err);

	if (g->from->slurm || g->may_adopt)
		ingest_touch_others(g);
	if (r >= 0 && g->from->slurm)
		r = store_slurm_take(g->s, g->from, g->out, err);
	if (r >= 0)
		r = store_steps_take(g->s, g->in, g->from->now_ns, g->out, err);
	if (r >= 0)
		r = ingest_reports(g, err);
	return r < 0 ? r : ingest_outputs(g, err);
}

/* ---- one exchange alone ---- */

static int ingest_all(struct store_ingest *g, struct err *err)
{
	int r = store_ingest_begin(g, err);

	if (r >= 0)
		r = store_ingest_ask(g, err);
	if (r >= 0)
		r = store_ingest_said(g, err);
	return r < 0 ? r : store_ingest_list(g, err);
}

int store_ingest(struct store *s, const struct sync *in, const struct sync_from *from,
		 struct sync_result *ret, struct err *err)
{
	struct sync_result out = { 0 };
	struct store_ingest g = { .s = s, .in = in, .from = from, .out = &out };
	int r = db_begin(s->db, err);

	if (r >= 0)
		r = db_end(s->db, ingest_all(&g, err), err);
	store_ingest_done(&g);
	if (r < 0) {
		sync_result_done(&out);
		return r;
	}
	*ret = out;
	return 0;
}
