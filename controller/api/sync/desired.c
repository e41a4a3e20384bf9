/* desired.c - reads the jobs and steps that a node should have, and compares them with those that
 * it reports. */
#include <errno.h>
#include <stdlib.h>
#include "common/err.h"
#include "common/wire/doc.h"
#include "controller/api/sync/desired.h"
#include "controller/api/sync/request.h"
#include "controller/api/sync/sync_steps.h"
#include "controller/ledger/jobs/credential.h"

struct reading {
	struct store *store;
	const struct sync *in;
	struct sync_desired *ret;
};

/* NULL: the node does not have the attempt. */
static const struct sync_hold *find_reported(const struct sync *in, int64_t job,
					     int32_t attempt)
{
	for (size_t i = 0; i < in->n_jobs; i++)
		if (in->jobs[i].job == job && in->jobs[i].attempt == attempt)
			return &in->jobs[i];
	return NULL;
}

/* Has the node still to do something? */
static bool is_open(const struct store_desired *g, const struct sync_hold *reported)
{
	if (!reported)
		return true;
	switch (g->want) {
	case DESIRED_CANCEL:
		return reported->state != JOB_ENDING && reported->state != JOB_ENDED;
	case DESIRED_SUSPEND:
		return reported->state == JOB_RUNNING || reported->state == JOB_STARTING;
	default:
		return reported->state == JOB_SUSPENDED;
	}
}

static uint64_t mix_digest(uint64_t digest, uint64_t value)
{
	return (digest ^ value) * 1099511628211ULL;
}

/* What the node does not have yet: the request, and what its user signed of it. */
static int set_request(struct store *s, const struct store_desired *g, struct doc *d,
		       struct err *err)
{
	_cleanup_free_ char *credential = NULL;
	json_t *request = NULL;
	int r = store_credential(s, g->array.job ? g->array.job : g->job, &credential, err);

	if (r >= 0)
		r = sync_request_encode(g, &request, err);
	if (r < 0)
		return r;
	doc_set(d, "request", request);
	doc_text_if(d, "credential", credential);
	return 0;
}

static int add_job(void *ctx, const struct store_desired *g, struct err *err)
{
	struct reading *l = ctx;
	const struct sync_hold *reported = find_reported(l->in, g->job, g->attempt);
	_cleanup_doc_ struct doc d = doc_object();
	json_t *j;
	int r;

	if (is_open(g, reported)) {
		l->ret->digest = mix_digest(l->ret->digest, (uint64_t)g->job);
		l->ret->digest = mix_digest(l->ret->digest,
					    (uint64_t)g->attempt * 8 + g->want * 2 + !reported);
	}
	doc_int(&d, "job", g->job);
	doc_int(&d, "attempt", g->attempt);
	doc_text(&d, "want", job_desired_name(g->want));
	if (g->want == DESIRED_CANCEL)
		doc_text_if(&d, "reason", g->reason);
	r = reported ? 0 : set_request(l->store, g, &d, err);
	if (r >= 0)
		r = doc_finish(&d, &j, err);
	if (r < 0)
		return r;
	return json_array_append_new(l->ret->jobs, j) < 0
		       ? err_set(err, -ENOMEM, "out of memory")
		       : 0;
}

void sync_desired_done(struct sync_desired *d)
{
	json_decref(d->jobs);
	json_decref(d->steps);
	*d = (struct sync_desired){ 0 };
}

int sync_desired_read(struct api *a, const struct sync *in, struct sync_desired *ret,
		      struct err *err)
{
	struct reading l = { a->c.store, in, ret };
	int r;

	*ret = (struct sync_desired){ .jobs = json_array(), .steps = json_array() };
	if (!ret->jobs || !ret->steps)
		r = err_set(err, -ENOMEM, "out of memory");
	else
		r = store_desired(a->c.store, in->node, add_job, &l, err);
	if (r >= 0)
		r = sync_steps_tell(a->c.store, in, ret->steps, &ret->digest, err);
	if (r < 0)
		sync_desired_done(ret);
	return r;
}
