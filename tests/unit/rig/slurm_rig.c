/* SPDX-License-Identifier: GPL-2.0-or-later */
/* slurm_rig - see slurm_rig.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "controller/ledger/store_sqlite.h"
#include "tests/unit/rig/slurm_rig.h"

struct slurm_batch_job rig_slurm_row(int64_t id, enum slurm_batch_state state, int64_t start_s,
				     int64_t end_s)
{
	struct slurm_batch_job j = { .job = id,
				     .uid = 1001,
				     .state = state,
				     .user = "alice",
				     .account = "physics",
				     .queue = "batch",
				     .name = "run",
				     .nodes = "m1",
				     .node = "m1",
				     .ncpus = 2,
				     .n_nodes = 1,
				     .submit_s = NOON_S + start_s - 1,
				     .start_s = NOON_S + start_s,
				     .end_s = end_s ? NOON_S + end_s : 0,
				     .array_task = SLURM_BATCH_NO_TASK };

	return j;
}

void rig_report_slurm(struct rig *r, int64_t seq, int64_t running_s, int64_t ended_s)
{
	const struct report rep = { .job = store_slurm_number(1, 0, 7),
				    .attempt = 1,
				    .seq = seq,
				    .at_ns = NOON + running_s * S_NS,
				    .state = ended_s ? JOB_ENDED : JOB_RUNNING,
				    .started_ns = NOON,
				    .ended_ns = ended_s ? NOON + ended_s * S_NS : 0,
				    .running_ns = running_s * S_NS,
				    .end = { .kind = ended_s ? END_EXITED : END_NONE } };
	struct store_report_case c = { .report = &rep,
				       .node = "m1",
				       .now_ns = NOON + running_s * S_NS };
	struct err err = { "" };

	assert_int_equal(db_begin(r->store->db, NULL), 0);
	if (db_end(r->store->db, store_report(r->store, &c, &err), &err) < 0)
		fail_msg("%s", err.text);
	assert_string_equal(c.refusal.why, "");
}

int rig_set_price(void *ctx, struct store_new *job, char note[static STORE_SLURM_NOTE_MAX],
		  struct err *err)
{
	int *n_priced = ctx;

	(void)err;
	if (*job->request->account == 'x')
		snprintf(note, STORE_SLURM_NOTE_MAX, "its account is unknown");
	job->terms = (struct tally_terms){ .rate = { job->request->res.ncpus, 1 },
					   .ncpus = job->request->res.ncpus };
	if (n_priced)
		(*n_priced)++;
	return 0;
}

struct rig_said rig_said_of(int64_t id, int64_t started_ns)
{
	struct rig_said w = { .cluster = "east",
			      .node = "e1",
			      .state = JOB_RUNNING,
			      .now_ns = NOON + 1000 * S_NS,
			      .told = { .job = id,
					.attempt = 1,
					.uid = 1001,
					.user = "alice",
					.account = "physics",
					.queue = "batch",
					.ncpus = 2,
					.nodes = 1,
					.started_ns = started_ns } };
	return w;
}

static struct report *make_report(const struct rig_said *w)
{
	struct report *rep = calloc(1, sizeof(*rep));

	*rep = rig_report(w->told.job, w->seq, w->state, w->running_s);
	rep->attempt = w->told.attempt;
	rep->started_ns = w->told.started_ns;
	rep->at_ns = w->told.started_ns + w->running_s * S_NS;
	rep->ended_ns = w->state == JOB_ENDED ? rep->at_ns : 0;
	if (w->end != END_NONE)
		rep->end.kind = w->end;
	if (w->end == END_LIMIT)
		rep->end.reason = (struct reason){ .limit = LIMIT_VMEM,
						   .requested = INT64_C(1) << 30,
						   .reached = INT64_C(2) << 30 };
	return rep;
}

/* The lists belong to the document, as those of a decoded one do. */
static void fill_document(const struct rig_said *w, struct sync *doc)
{
	doc->engine = w->is_pbs ? ENGINE_PBS : ENGINE_SLURM;
	strcpy(doc->node, w->node);
	strcpy(doc->boot, "b1");
	doc->jobs = calloc(1, sizeof(*doc->jobs));
	doc->jobs[0] = (struct sync_job){ w->told.job, w->told.attempt, w->state };
	doc->n_jobs = 1;
	if (!w->is_not_told) {
		doc->slurm_jobs = malloc(sizeof(*doc->slurm_jobs));
		doc->slurm_jobs[0] = w->told;
		doc->n_slurm_jobs = 1;
	}
	if (w->seq) {
		doc->reports = make_report(w);
		doc->n_reports = 1;
	}
}

void rig_send_said(struct rig *r, struct rig_said *w)
{
	struct sync *doc = calloc(1, sizeof(*doc));
	const struct store_slurm slurm = {
		.doc = doc, .is_pbs = w->is_pbs, .price = rig_set_price, .ctx = &w->n_priced
	};
	struct sync_from from = { .address = "10.0.0.1",
				  .now_ns = w->now_ns,
				  .lost_ns = 120 * S_NS,
				  .slurm = &slurm };
	struct sync_result out;
	struct err err = { "" };

	strcpy(from.cluster, w->cluster);
	fill_document(w, doc);
	w->n_priced = 0;
	if (store_ingest(r->store, doc, &from, &out, &err) < 0)
		fail_msg("%s", err.text);
	w->job = doc->n_jobs ? doc->jobs[0].job : 0;
	w->n_acks = out.n_acks;
	w->n_refusals = out.n_refusals;
	sync_result_done(&out);
	sync_free(doc);
}
