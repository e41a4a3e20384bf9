/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpus.c - GPUs of attempts: in use by model, used, idle. See attempts/gpus.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/wire/json/load.h"
#include "common/wire/wire.h"
#include "controller/ledger/attempts/gpus.h"
#include "controller/ledger/attempts/report_rows.h"
#include "controller/ledger/store_sqlite.h"
#include "controller/ledger/sql.h"

/* Nearly always empty, and read for every queued job: snprintf() took a tenth of the first cycle. */
static void copy_text(struct db_row *st, int column, char *ret, size_t size)
{
	const char *text = store_text(st, column);

	*ret = '\0';
	if (*text)
		snprintf(ret, size, "%s", text);
}

void store_gpu_model(struct db_row *st, int column, struct resources *ret)
{
	copy_text(st, column, ret->gpu_model, sizeof(ret->gpu_model));
}

void store_node_kind(struct db_row *st, int column, struct resources *ret)
{
	copy_text(st, column, ret->node_type, sizeof(ret->node_type));
	copy_text(st, column + 1, ret->features, sizeof(ret->features));
}

void store_gpu_counts(struct db_row *st, int column, struct gpus *ret)
{
	if (gpus_parse(store_text(st, column), ret) < 0)
		*ret = (struct gpus){ 0 };
}

/* ---- in use ---- */

static int compare_name(const void *name, const void *node)
{
	return strcmp(name, ((const struct fit_node *)node)->name);
}

static bool has_models(const struct fit_node *nodes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (nodes[i].gpus.n > 0)
			return true;
	return false;
}

enum model_column { MODEL_NODE, MODEL_NAME, MODEL_GPUS };

int store_gpus_in_use(struct store *s, const char *cluster, struct fit_node *nodes, size_t n,
		      struct err *err)
{
	struct db_row *st;
	int r;

	if (!has_models(nodes, n))
		return 0;
	r = db_query(s->db, err, &st,
		     "SELECT a.node, j.gpu_model, SUM(j.ngpus)"
		     " FROM attempts a JOIN jobs j ON j.job = a.job"
		     " WHERE a.closed = " SQL_STORE_OPEN
		     " AND a.hosts = '' AND j.cluster = ?1 AND j.ngpus > 0"
		     " GROUP BY a.node, j.gpu_model",
		     "t", cluster);

	while (r >= 0 && (r = db_step(s->db, st, err)) > 0) {
		struct fit_node *at = n ? bsearch(store_text(st, MODEL_NODE), nodes, n,
						  sizeof(*nodes), compare_name)
					: NULL;

		if (at)
			gpus_add(&at->gpus_in_use, store_text(st, MODEL_NAME),
				 db_int(st, MODEL_GPUS));
	}
	return r;
}

/* ---- use of each GPU ---- */

struct list {
	struct gpu_use *of;
	int32_t n;
};

static void list_done(struct list *l)
{
	free(l->of);
}

static int decode_list(const char *text, struct list *ret, struct err *err)
{
	_cleanup_json_ json_t *doc = *text ? wire_load(text, 0, NULL) : NULL;

	if (!*text)
		return 0;
	if (!doc || wire_decode_gpus(doc, "gpus", &ret->of, &ret->n, err) < 0)
		return err_set(err, -EBADMSG, "GPUs in the ledger are not readable");
	return 0;
}

/* Of a part; part -1: of the attempt. */
static int load_list(struct store *s, const struct report *rep, int64_t part, struct list *ret,
		     struct err *err)
{
	static const char of_attempt[] =
		"SELECT gpus FROM attempts WHERE job = ?1 AND attempt = ?2";
	static const char of_part[] =
		"SELECT gpus FROM parts WHERE job = ?1 AND attempt = ?2 AND part = ?3";
	struct db_row *st;
	int r = db_query_first(s->db, err, &st, part < 0 ? of_attempt : of_part,
			       part < 0 ? "ii" : "iii", rep->job, (int64_t)rep->attempt, part);

	if (r <= 0)
		return r;
	r = decode_list(store_text(st, 0), ret, err);
	db_done(st);
	return r;
}

static int save_list(struct store *s, const struct report *rep, int64_t part,
		     const struct list *l, struct err *err)
{
	static const char of_attempt[] =
		"UPDATE attempts SET gpus = ?3 WHERE job = ?1 AND attempt = ?2";
	static const char of_part[] = "UPDATE parts SET gpus = ?3"
				      " WHERE job = ?1 AND attempt = ?2 AND part = ?4";
	_cleanup_json_ json_t *doc = wire_encode_gpus(l->of, l->n);
	_cleanup_free_ char *text = doc ? wire_format(doc) : NULL;

	if (!text)
		return err_set(err, -ENOMEM, "out of memory");
	return db_run(s->db, err, part < 0 ? of_attempt : of_part, part < 0 ? "iit" : "iiti",
		      rep->job, (int64_t)rep->attempt, text, part);
}

static int merge_list(struct store *s, const struct report *rep, int64_t part, struct err *err)
{
	_cleanup_(list_done) struct list l = { 0 };
	int r;

	if (rep->n_gpus == 0)
		return 0;
	r = load_list(s, rep, part, &l, err);
	if (r < 0)
		return r;
	if (gpu_use_merge(&l.of, &l.n, rep->gpus, rep->n_gpus) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	if (l.n > GPU_USE_MAX)
		l.n = GPU_USE_MAX;
	return save_list(s, rep, part, &l, err);
}

/* ---- allocated but idle ---- */

void store_set_gpu_idle(struct store *s, int64_t after_ns)
{
	s->gpu_idle_after_ns = after_ns;
}

/* The last event about idle GPUs of this attempt: an attempt begins with "give". */
static int was_idle(struct store *s, int64_t job, bool *ret, struct err *err)
{
	struct db_row *st;
	int r = db_query_first(s->db, err, &st,
			       "SELECT what FROM events WHERE job = ?1"
			       " AND what IN ('gpu-idle', 'gpu-busy', 'give')"
			       " ORDER BY id DESC LIMIT 1",
			       "i", job);

	if (r < 0)
		return r;
	*ret = r > 0 && !strcmp(store_text(st, 0), "gpu-idle");
	if (r > 0)
		db_done(st);
	return 0;
}

/* A change of that state is an event. Only a job that runs can change it: one that is suspended
 * begins no period by going on. */
static int note_idle(struct store *s, const struct store_report_case *c, struct err *err)
{
	const struct report *rep = c->report;
	struct store_event e = { c->now_ns, rep->job, c->node, "gpu-busy", "" };
	bool was, is;
	int r;

	if (!s->gpu_idle_after_ns || rep->state != JOB_RUNNING || c->job_state != JOB_RUNNING ||
	    c->gpu_idle_ns < 0)
		return 0;
	r = was_idle(s, rep->job, &was, err);
	is = c->gpu_idle_ns >= s->gpu_idle_after_ns;
	if (r < 0 || is == was)
		return r;
	if (is)
		e.what = "gpu-idle";
	return store_report_event(s, c, &e, err);
}

int store_gpus_report(struct store *s, const struct store_report_case *c, struct err *err)
{
	int r = merge_list(s, c->report, -1, err);

	if (r >= 0 && c->part >= 0)
		r = merge_list(s, c->report, c->part, err);
	return r < 0 ? r : note_idle(s, c, err);
}

/* The columns of both halves of the SELECT in store_gpus_running(). */
enum running_column {
	RUNNING_CLUSTER,
	RUNNING_GPU_MODEL,
	RUNNING_NGPUS,
	RUNNING_GPUS,
	RUNNING_IDLE_NS,
};

struct running_query {
	int64_t idle_after_ns;
	store_gpus_fn fn;
	void *ctx;
};

/* The job asked for any model: the list names those that it got. */
static int report_listed(const struct list *l, struct store_gpus_running *g,
			 const struct running_query *ask, struct err *err)
{
	int r = 0;

	for (int32_t i = 0; i < l->n && r >= 0; i++) {
		g->model = l->of[i].model;
		g->in_use = 1;
		g->idle = gpu_use_is_idle(&l->of[i], ask->idle_after_ns);
		r = ask->fn(ask->ctx, g, err);
	}
	return r;
}

/* Without a list only the idle time of the longest idle GPU is known (usage.gpu_idle_ns). */
static int64_t count_idle(struct db_row *st, const struct list *l, int64_t after_ns)
{
	int64_t n = 0;

	for (int32_t i = 0; i < l->n; i++)
		n += gpu_use_is_idle(&l->of[i], after_ns);
	if (l->n)
		return n;
	return after_ns > 0 && !db_is_null(st, RUNNING_IDLE_NS) &&
	       db_int(st, RUNNING_IDLE_NS) >= after_ns;
}

static int report_running(struct db_row *st, const struct running_query *ask, struct err *err)
{
	_cleanup_(list_done) struct list l = { 0 };
	struct store_gpus_running g = { .cluster = store_text(st, RUNNING_CLUSTER),
					.model = store_text(st, RUNNING_GPU_MODEL),
					.in_use = db_int(st, RUNNING_NGPUS) };
	int r = decode_list(store_text(st, RUNNING_GPUS), &l, err);

	if (r < 0)
		return r;
	if (!*g.model && l.n)
		return report_listed(&l, &g, ask, err);
	g.idle = count_idle(st, &l, ask->idle_after_ns);
	return ask->fn(ask->ctx, &g, err);
}

int store_gpus_running(struct store *s, int64_t idle_after_ns, store_gpus_fn fn, void *ctx,
		       struct err *err)
{
	const struct running_query ask = { idle_after_ns, fn, ctx };
	struct db_row *st;
	int r = db_query(
		s->db, err, &st,
		"SELECT j.cluster, j.gpu_model, j.ngpus, a.gpus,"
		" a.usage ->> '$.gpu_idle_ns'"
		" FROM attempts a JOIN jobs j ON j.job = a.job"
		" WHERE a.closed = " SQL_STORE_OPEN
		" AND a.hosts = '' AND a.state = " SQL_JOB_RUNNING " AND j.ngpus > 0"
		" UNION ALL SELECT j.cluster, j.gpu_model, p.ngpus, p.gpus,"
		" p.usage ->> '$.gpu_idle_ns' FROM parts p JOIN jobs j ON j.job = p.job"
		" WHERE p.closed = " SQL_STORE_OPEN " AND p.state = " SQL_JOB_RUNNING
		" AND p.ngpus > 0",
		"");

	while (r >= 0 && (r = db_step(s->db, st, err)) > 0) {
		r = report_running(st, &ask, err);
		if (r < 0)
			db_done(st);
	}
	return r;
}
