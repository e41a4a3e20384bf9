/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobs.c - routes that list, show, cancel, suspend and resume jobs, and change their priority.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "common/log.h"
#include "controller/api/jobs/owned_job.h"
#include "controller/api/jobs/jobs.h"
#include "controller/accounts/accounts.h"
#include "controller/ledger/archive/archive.h"
#include "controller/ledger/usage/quota.h"
#include "controller/api/call.h"
#include "controller/api/jobs/describe.h"
#include "controller/api/jobs/describe_queue.h"
#include "controller/api/jobs/parts.h"
#include "controller/api/jobs/rows.h"
#include "controller/api/prepare_cycle.h"
#include "controller/api/authz.h"
#include "controller/ledger/jobs/array.h"
#include "controller/ledger/jobs/slurm.h"
#include "controller/policy/priority/priority.h"

#define LIST_MAX 1000

struct list {
	const struct call *c;
	json_t *array;		      /* of c->answer */
	struct rowpack_writer packed; /* instead of the array; owned */
	bool is_packed;
	int64_t n, last; /* how many, and the number of the last one */
};

static void free_packed(struct list *l)
{
	rowpack_done(&l->packed);
}

static int add_job(void *ctx, const struct store_job *row, struct err *err)
{
	struct list *l = ctx;
	int r = l->is_packed ? rows_add(l->c->api, row, &l->packed)
			     : json_array_append_new(l->array, describe_job(l->c->api, row));

	if (r < 0)
		return err_set(err, -ENOMEM, "out of memory");
	l->n++;
	l->last = row->job;
	return 0;
}

static int read_state(struct call *c, int *ret, struct err *err)
{
	const char *text = call_query_text(c, "state");
	enum job_state state;

	*ret = -1;
	if (!text)
		return 0;
	if (!strcmp(text, "active") || !strcmp(text, "started")) {
		*ret = *text == 'a' ? STORE_ACTIVE : STORE_STARTED;
		return 0;
	}
	if (job_state_parse(text, &state) < 0)
		return err_set(
			err, -EINVAL,
			"state=%.40s: it is one of queued, starting, running, suspended, "
			"ending, ended, active, started",
			text);
	*ret = (int)state;
	return 0;
}

static int read_filter(struct call *c, struct store_filter *f, struct err *err)
{
	static const int64_t limit = 100, none = 0;
	int r;

	f->user = call_query_text(c, "user");
	f->account = call_query_text(c, "account");
	r = authz_narrow_jobs(c, f->account, &f->user, err);
	f->node = call_query_text(c, "node");
	if (r >= 0)
		r = read_state(c, &f->state, err);
	f->elements = call_query_text(c, "elements") || f->state == STORE_STARTED ||
				      (f->state > JOB_QUEUED && f->state < JOB_ENDED)
			      ? STORE_ELEMENTS
			      : STORE_NO_ELEMENTS;
	if (r >= 0)
		r = call_query_int(c, "array", (struct wire_int){ 1, INT64_MAX, &none },
				   &f->array, err);
	if (r >= 0)
		r = call_query_int(c, "limit", (struct wire_int){ 1, LIST_MAX, &limit },
				   &f->limit, err);
	if (r >= 0)
		r = call_query_int(c, "before", (struct wire_int){ 0, INT64_MAX, &none },
				   &f->before, err);
	return r;
}

/* `start` and `end`: days of submission, half open. */
static int read_submitted(struct call *c, struct store_filter *f, struct err *err)
{
	static const int64_t none = INT64_MIN;
	struct store *s = c->api->c.store;
	int64_t start, end;
	int r = call_query_day(c, "start", none, &start, err);

	if (r >= 0)
		r = call_query_day(c, "end", none, &end, err);
	if (r < 0)
		return r;
	f->submitted_ns = start == none ? 0 : store_first_ns(s, start);
	f->before_ns = end == none ? 0 : store_first_ns(s, end);
	if (f->before_ns && f->before_ns <= f->submitted_ns)
		return err_set(err, -EINVAL, "end is not behind start: no day is between them");
	return 0;
}

/* The filters that have no index. */
static int read_search(struct call *c, struct store_filter *f, struct err *err)
{
	f->queue = call_query_text(c, "queue");
	f->name = call_query_text(c, "name");
	if (f->name && strlen(f->name) >= REQUEST_NAME_MAX)
		return err_set(err, -EINVAL, "name: no job's name is longer than %d bytes",
			       REQUEST_NAME_MAX - 1);
	return read_submitted(c, f, err);
}

/* "next": the `before` of the next page; absent: there are no more. A page of fewer rows than its limit has one where only a part of
 * the jobs was looked at. */
static int add_next(struct call *c, const struct list *l, const struct store_filter *f,
		    int64_t next, struct err *err)
{
	if (l->n && l->n == f->limit)
		next = l->last;
	if (!next)
		return 0;
	if (json_object_set_new(c->answer, "next", json_integer(next)) < 0 ||
	    asprintf(&c->headers, WIRE_NEXT_HEADER ": %" PRId64 "\n", next) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

/* {jobs: [...]}; or {columns}, and packed rows behind it. */
static int begin_list(struct call *c, struct list *l, struct err *err)
{
	c->answer = wire_new();
	l->is_packed = call_query_text(c, "packed") != NULL;
	l->array = l->is_packed ? rows_columns() : json_array();
	if (!c->answer ||
	    json_object_set_new(c->answer, l->is_packed ? "columns" : "jobs", l->array) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

static int end_list(struct call *c, const struct list *l, struct err *err)
{
	const struct rowpack_writer *w = &l->packed;

	if (l->is_packed && wire_attach(c->answer, w->data ? w->data : (void *)"", w->size) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

#define COORDINATED_MAX 20 /* names in an answer */

/* "coordinates": the caller's coordinated accounts: all jobs of an account are listed if the caller names it. */
static json_t *list_coordinated(const struct call *c)
{
	const struct accounts *a = c->api->accounts;
	json_t *list = json_array();

	for (size_t i = 0; i < a->n_accounts && json_array_size(list) < COORDINATED_MAX; i++)
		if (accounts_is_coordinator(a, (int32_t)i, c->user))
			json_array_append_new(list, json_string(a->accounts[i].name));
	return list;
}

/* Others are left out because of who asks, not because of the query. */
static int add_narrowed(struct call *c, const struct store_filter *f, struct err *err)
{
	if (!f->user || call_query_text(c, "user") || call_query_text(c, "packed"))
		return 0;
	if (json_object_set_new(c->answer, "narrowed_to", json_string(f->user)) < 0 ||
	    (!f->account &&
	     json_object_set_new(c->answer, "coordinates", list_coordinated(c)) < 0))
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

int route_jobs(struct call *c, struct err *err)
{
	struct store_filter f = { 0 };
	_cleanup_(free_packed) struct list l = { .c = c };
	int64_t next = 0;
	int r = read_filter(c, &f, err);

	if (r < 0)
		return r;
	r = read_search(c, &f, err);
	if (r < 0)
		return r;
	r = store_jobs_bound(c->api->c.store, &f, &next, err);
	if (r < 0)
		return r;
	r = begin_list(c, &l, err);
	if (r < 0)
		return r;
	f.in_brief = l.is_packed;
	r = store_jobs(c->api->c.store, &f, add_job, &l, err);
	if (r < 0)
		return r;
	r = end_list(c, &l, err);
	if (r < 0)
		return r;
	r = add_narrowed(c, &f, err);
	return r < 0 ? r : add_next(c, &l, &f, next, err);
}

static int add_attempt(void *ctx, const struct store_job *row, struct err *err)
{
	struct list *l = ctx;

	if (json_array_append_new(l->array, describe_attempt(row)) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

static int show_job(void *ctx, const struct store_job *row, struct err *err)
{
	struct call *c = ctx;
	json_t *j;

	if (!authz_sees_job(c, row->uid, row->account))
		return store_no_job(c->api->c.store, row->job, err);
	/* Scripts and environments may hold secrets: coordinators do not see them. They may also be long. */
	if ((c->is_operator || row->uid == c->who.uid) && !call_query_text(c, "brief"))
		j = describe_job_in_full(c->api, row);
	else
		j = describe_job(c->api, row);
	c->answer = wire_new();
	if (!j || !c->answer || json_object_set_new(c->answer, "job", j) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	if (parts_describe(c->api, row, j, err) < 0)
		return -EIO;
	if (row->is_array && c->named.index != JOB_ID_NO_INDEX)
		return describe_queue_folded(c->api, c->named, j, err);
	return 0;
}

/* "quota_note": what a quota changed of the job when it was submitted. */
static int add_quota_note(struct call *c, json_t *doc, struct err *err)
{
	char note[STORE_QUOTA_NOTE_MAX];
	int r = store_quota_noted(c->api->c.store, c->id, note, err);

	if (r >= 0 && *note && json_object_set_new(doc, "quota_note", wire_string(note)) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return r;
}

/* "slurm_note": what Reeve could not take over of a job of Slurm as it is. */
static int add_slurm_note(struct call *c, json_t *doc, struct err *err)
{
	char note[STORE_SLURM_NOTED_MAX];
	int r = store_is_slurm(c->id) ? store_slurm_noted(c->api->c.store, c->id, note, err)
				      : 0;

	if (r > 0 && json_object_set_new(doc, "slurm_note", wire_string(note)) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return r < 0 ? r : 0;
}

int route_job(struct call *c, struct err *err)
{
	struct list l = { .c = c };
	int r = store_job(c->api->c.store, c->id, show_job, c, err);

	if (r < 0)
		return r;
	l.array = json_array();
	if (json_object_set_new(json_object_get(c->answer, "job"), "attempts", l.array) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	r = add_quota_note(c, json_object_get(c->answer, "job"), err);
	if (r >= 0)
		r = add_slurm_note(c, json_object_get(c->answer, "job"), err);
	return r < 0 ? r : store_attempts(c->api->c.store, c->id, add_attempt, &l, err);
}

/* Words the outcomes of store_set_desired() above 0. */
static int refuse_desired(struct call *c, int why, const struct owned_job *job, struct err *err)
{
	if (why == STORE_PREEMPTED) {
		err_set(err, 0, "job %lld was preempted by job %lld, and resumes by itself",
			(long long)c->id, (long long)job->preemptor);
		return call_refuse(c, 409, "gave-way", "wait until its cores are free");
	}
	if (why == STORE_NOT_RUNNING) {
		err_set(err, 0, "job %lld is queued: there is nothing to suspend or resume",
			(long long)c->id);
		return call_refuse(c, 409, "not-running", "wait until it runs, or cancel it");
	}
	err_set(err, 0, "job %lld has ended or is being cancelled", (long long)c->id);
	return call_refuse(c, 409, "too-late", "");
}

/* slurmctld or pbs_server would not know that its job stands still. */
static int refuse_slurm(struct call *c, struct err *err)
{
	if (!store_is_slurm(c->id))
		return 0;
	err_set(err, 0,
		"job %lld is a job of Slurm or PBS: Reeve neither suspends nor resumes it",
		(long long)c->id);
	return call_refuse(c, 409, "slurm-job",
			   "use scontrol suspend or scontrol resume, or qsig of PBS");
}

static void wake_node(void *ctx, const char *node)
{
	api_wake_node(ctx, node);
}

/* Wakes the nodes of the job, or of all tasks of an array. Array tasks that ended are counted
 * first, so that the answer shows them. */
static int wake_nodes(struct call *c, const struct owned_job *job, const char *node,
		      struct err *err)
{
	int r = *node ? parts_wake(c->api, c->id, err) : 0;

	if (r < 0 || !job->is_array)
		return r;
	prepare_cycle(c->api);
	return store_array_nodes(c->api->c.store, c->id, wake_node, c->api, err);
}

/* Stores the desired state and wakes the nodes. The job's state in the answer is that after the
 * change: a queued job ends at once, a running one when its node reports. */
static int set_desired(struct call *c, enum job_desired want, struct err *err)
{
	char reason[128], node[REQUEST_NAME_MAX];
	struct store_desired_change w = {
		.job = c->id, .want = want, .reason = reason, .now_ns = api_now_ns()
	};
	struct owned_job job;
	int r = owned_job_find(c, &job, err);

	if (r >= 0 && want != DESIRED_CANCEL)
		r = refuse_slurm(c, err);
	if (r < 0)
		return r;
	w.by_owner = job.uid == c->who.uid;
	snprintf(reason, sizeof(reason), "cancelled by %s", c->user);
	if (want != DESIRED_CANCEL)
		w.reason = NULL;
	r = store_set_desired(c->api->c.store, &w, node, err);
	if (r > 0)
		return refuse_desired(c, r, &job, err);
	if (r < 0)
		return r;
	log_job(LOG_INFO, c->id, "desired", "%s requests: %s", c->user,
		want == DESIRED_CANCEL	  ? "cancel"
		: want == DESIRED_SUSPEND ? "suspend"
					  : "resume");
	r = wake_nodes(c, &job, node, err);
	api_wake_job(c->api, c->id);
	api_request_cycle(c->api);
	if (r >= 0)
		r = owned_job_find(c, &job, err);
	if (r < 0)
		return r;
	c->answer = json_pack("{s:s,s:I,s:s}", "schema", WIRE_SCHEMA, "job", (json_int_t)c->id,
			      "state", job_state_name(job.state));
	return 0;
}

#define NICE_MAX 1000000

/* {"nice": N} of the owner, of 0 or more; below 0, and {"site": N}, of operators. */
static int read_weights(struct call *c, struct store_priority_change *w, struct err *err)
{
	const json_t *nice = json_object_get(c->body, "nice");
	const json_t *site = json_object_get(c->body, "site");
	int64_t least = c->is_operator ? -NICE_MAX : 0;
	int r = 0;

	w->has_nice = nice;
	w->has_site = site;
	if (!nice && !site)
		return err_set(err, -EINVAL, "state \"nice\" or \"site\": a whole number");
	if (site && !c->is_operator) {
		err_set(err, 0, "only operators set the site's part of a priority");
		return call_refuse(c, 403, "not-permitted", "lower your own by nice");
	}
	if (nice)
		r = wire_get_int(c->body, "nice", (struct wire_int){ least, NICE_MAX, NULL },
				 &w->nice, err);
	if (r >= 0 && site)
		r = wire_get_int(c->body, "site",
				 (struct wire_int){ -PRIORITY_MAX, PRIORITY_MAX, NULL },
				 &w->site, err);
	return r;
}

int route_priority(struct call *c, struct err *err)
{
	struct store_priority_change w = { .job = c->id,
					   .now_ns = api_now_ns(),
					   .author = c->user };
	struct owned_job job;
	int r = owned_job_find(c, &job, err);

	if (r >= 0)
		r = read_weights(c, &w, err);
	if (r >= 0)
		r = store_set_priority(c->api->c.store, &w, err);
	if (r == STORE_TOO_LATE) {
		err_set(err, 0, "job %lld is not queued any more", (long long)c->id);
		return call_refuse(c, 409, "too-late", "a priority orders the queue only");
	}
	if (r < 0)
		return r;
	log_job(LOG_INFO, c->id, "weigh", "%s sets%s%s", c->user, w.has_nice ? " nice" : "",
		w.has_site ? " site" : "");
	api_request_cycle(c->api);
	c->answer = json_pack("{s:s,s:I}", "schema", WIRE_SCHEMA, "job", (json_int_t)c->id);
	return 0;
}

int route_cancel(struct call *c, struct err *err)
{
	return set_desired(c, DESIRED_CANCEL, err);
}

int route_suspend(struct call *c, struct err *err)
{
	return set_desired(c, DESIRED_SUSPEND, err);
}

int route_resume(struct call *c, struct err *err)
{
	return set_desired(c, DESIRED_RUN, err);
}
