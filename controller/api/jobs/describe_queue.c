/* SPDX-License-Identifier: GPL-2.0-or-later */
/* describe_queue.c - encodes holds, arrays and dependencies of a job; see describe_queue.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include "common/err.h"
#include "common/model/amount.h"
#include "controller/api/jobs/describe_queue.h"
#include "controller/ledger/jobs/array.h"
#include "controller/ledger/jobs/depend.h"
#include "controller/ledger/jobs/hold.h"
#include "controller/api/jobs/slurm/slurm_job.h"
#include "controller/ledger/jobs/slurm.h"

static int set_array(const struct api *api, int64_t job, struct doc *d, struct err *err)
{
	struct store_array a = { 0 };
	int r = store_array(api->c.store, job, &a, err);
	char text[ARRAY_TEXT_MAX];

	if (r < 0)
		return r;
	doc_set(d, "array",
		json_pack("{s:s,s:I,s:I,s:I,s:I,s:I,s:I}", "elements",
			  array_format(&a.array, text), "n", (json_int_t)a.array.n, "queued",
			  (json_int_t)(a.n_waiting + a.n_queued), "active",
			  (json_int_t)a.n_active, "ended",
			  (json_int_t)(a.n_ended + a.n_dropped), "ended_well",
			  (json_int_t)a.n_well, "cancelled_early", (json_int_t)a.n_dropped));
	/* An array runs as soon as one of its tasks does. */
	if (a.n_active > 0)
		doc_text(d, "state", job_state_name(JOB_RUNNING));
	return 0;
}

static void set_holder(const struct store_held *h, struct doc *d)
{
	static const char *const kinds[] = { "user", "operator" };

	_Static_assert(ARRAY_LEN(kinds) == _STORE_HOLDER_MAX, "a word a holder");
	doc_text(d, "held_by", h->author);
	doc_text(d, "held_as", kinds[h->kind]);
	doc_int(d, "held_ns", h->at_ns);
}

static void word_hold(const struct store_held *h, char buf[static DESCRIBE_WHY_MAX])
{
	char at[AMOUNT_TEXT_MAX];

	snprintf(buf, DESCRIBE_WHY_MAX, "held by %s%s since %s%s",
		 h->kind == STORE_HOLD_OPERATOR ? "operator " : "", h->author,
		 amount_format_utc(h->at_ns, at),
		 h->kind == STORE_HOLD_OPERATOR ? "; only operators release it" : "");
}

static int find_hold(const struct api *a, const struct store_job *row, struct store_held *ret,
		     struct err *err)
{
	if (row->hold && store_hold_parse(row->hold, ret))
		return 1;
	return store_held(a->c.store, row->job, ret, err);
}

/* A task that waits for nothing but its array's limit of tasks at once. */
static int word_array_limit(const struct api *api, int64_t array, char *buf, struct err *err)
{
	struct store_array a;
	int r = store_array(api->c.store, array, &a, err);

	if (r > 0 && a.array.at_once)
		snprintf(buf, DESCRIBE_WHY_MAX,
			 "waits for its turn: %lld of the array's tasks at once, %lld are "
			 "under way",
			 (long long)a.array.at_once, (long long)(a.n_active + a.n_queued));
	else if (r > 0)
		snprintf(buf, DESCRIBE_WHY_MAX, "waits for its turn in the array");
	return r < 0 ? r : 0;
}

/* `d`: NULL, where the words alone are wanted. */
static int set_withheld_why(const struct api *a, const struct store_job *row, struct doc *d,
			    char buf[static DESCRIBE_WHY_MAX], struct err *err)
{
	char words[DEPEND_WORDS_MAX];
	struct store_held held;
	int r = find_hold(a, row, &held, err);

	if (r > 0 && d)
		set_holder(&held, d);
	if (r > 0)
		word_hold(&held, buf);
	if (r != 0)
		return r < 0 ? r : 0;
	r = store_depend_words(a->c.store, row->job, words, err);
	if (r > 0)
		snprintf(buf, DESCRIBE_WHY_MAX, "%s", words);
	if (r != 0)
		return r < 0 ? r : 0;
	return row->array_job ? word_array_limit(a, row->array_job, buf, err) : 0;
}

int describe_queue_why(const struct api *a, const struct store_job *row,
		       char why[static DESCRIBE_WHY_MAX], struct err *err)
{
	*why = '\0';
	return row->state == JOB_QUEUED && row->is_withheld
		       ? set_withheld_why(a, row, NULL, why, err)
		       : 0;
}

/* Of a job of Slurm or PBS: the cluster and its own id, as commands take it. */
static void set_id(const struct api *a, struct doc *d, struct job_id id, const char *cluster)
{
	char own[JOB_ID_TEXT_MAX], text[REQUEST_NAME_MAX + PBS_ID_SHORT_MAX];
	char foreign[PBS_ID_SHORT_MAX];

	if (store_is_slurm(id.job))
		snprintf(text, sizeof(text), "%s:%s", cluster,
			 slurm_job_id(a->c.config, cluster, id.job, foreign));
	doc_text(d, "id", store_is_slurm(id.job) ? text : job_id_format(id, own));
	if (id.index == JOB_ID_NO_INDEX)
		return;
	doc_int(d, "array_job", id.job);
	doc_int(d, "array_index", id.index);
}

int describe_queue(const struct api *a, const struct store_job *row, struct doc *d,
		   char why[static DESCRIBE_WHY_MAX], struct err *err)
{
	struct job_id id = { row->job, JOB_ID_NO_INDEX };
	int r = 0;

	why[0] = '\0';
	if (row->array_job)
		id = (struct job_id){ row->array_job, row->array_index };
	set_id(a, d, id, row->cluster);
	if (row->is_array)
		r = set_array(a, row->job, d, err);
	if (r >= 0 && row->state == JOB_QUEUED && row->is_withheld)
		r = set_withheld_why(a, row, d, why, err);
	return r;
}

int describe_queue_folded(const struct api *a, struct job_id id, json_t *job, struct err *err)
{
	const char *was = json_string_value(json_object_get(job, "why"));
	_cleanup_doc_ struct doc d = doc_edit(job);
	char why[DESCRIBE_WHY_MAX] = "";
	int64_t number;
	int r = store_array_element(a->c.store, id, &number, err);

	if (r < 0)
		return r;
	json_object_del(job, "array");
	doc_int(&d, "job", number);
	doc_text(&d, "state", r == STORE_NOT_EXPANDED ? "queued" : "ended");
	if (r == STORE_DROPPED)
		snprintf(why, sizeof(why), "it was cancelled before it started");
	else if (!was || !*was)
		r = word_array_limit(a, id.job, why, err);
	doc_text_if(&d, "why", why);
	set_id(a, &d, id, "");
	return r < 0 ? r : doc_check(&d, err);
}
