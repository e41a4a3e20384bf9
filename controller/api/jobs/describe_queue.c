/* describe_queue.c - see describe_queue.h. */
#include <errno.h>
#include <stdio.h>
#include "common/err.h"
#include "common/model/amount.h"
#include "controller/api/jobs/describe_queue.h"
#include "controller/ledger/jobs/array.h"
#include "controller/ledger/jobs/depend.h"
#include "controller/ledger/jobs/hold.h"

static int set(json_t *doc, const char *key, json_t *value)
{
	return json_object_set_new(doc, key, value);
}

static int tell_array(const struct api *api, int64_t job, json_t *doc, struct err *err)
{
	struct store_array a = { 0 };
	int r = store_array(api->c.store, job, &a, err);
	char text[ARRAY_TEXT_MAX];

	if (r < 0)
		return r;
	if (set(doc, "array",
		json_pack("{s:s,s:I,s:I,s:I,s:I,s:I,s:I}", "elements",
			  array_format(&a.array, text), "n", (json_int_t)a.array.n, "queued",
			  (json_int_t)(a.n_waiting + a.n_queued), "active",
			  (json_int_t)a.n_active, "ended",
			  (json_int_t)(a.n_ended + a.n_dropped), "ended_well",
			  (json_int_t)a.n_well, "cancelled_early", (json_int_t)a.n_dropped)) <
	    0)
		return err_set(err, -ENOMEM, "out of memory");
	/* An array runs as soon as one of its elements does. */
	if (a.n_active > 0)
		set(doc, "state", json_string(job_state_name(JOB_RUNNING)));
	return 0;
}

static int say_holder(const struct store_held *h, json_t *doc, char *buf, size_t size)
{
	static const char *const kinds[] = { "user", "operator" };
	char at[AMOUNT_TEXT_MAX];

	_Static_assert(ARRAY_LEN(kinds) == _STORE_HOLDER_MAX, "a word a holder");
	json_object_set_new(doc, "held_by", json_string(h->author));
	json_object_set_new(doc, "held_as", json_string(kinds[h->kind]));
	json_object_set_new(doc, "held_ns", json_integer(h->at_ns));
	snprintf(buf, size, "held by %s%s since %s%s",
		 h->kind == STORE_HOLD_OPERATOR ? "operator " : "", h->author,
		 amount_format_utc(h->at_ns, at),
		 h->kind == STORE_HOLD_OPERATOR ? "; only operators release it" : "");
	return 0;
}

/* An element that nothing keeps back but its array's own bound. */
static int say_turn(const struct api *api, int64_t array, char *buf, struct err *err)
{
	struct store_array a;
	int r = store_array(api->c.store, array, &a, err);

	if (r > 0 && a.array.at_once)
		snprintf(buf, DESCRIBE_WHY_MAX,
			 "waits for its turn: %lld of the array's elements at once, %lld are "
			 "under way",
			 (long long)a.array.at_once, (long long)(a.n_active + a.n_queued));
	else if (r > 0)
		snprintf(buf, DESCRIBE_WHY_MAX, "waits for its turn in the array");
	return r < 0 ? r : 0;
}

static int say_why(const struct api *a, const struct store_job *row, json_t *doc,
		   char buf[static DESCRIBE_WHY_MAX], struct err *err)
{
	char words[DEPEND_WORDS_MAX];
	struct store_held held;
	int r = store_held(a->c.store, row->job, &held, err);

	if (r != 0)
		return r < 0 ? r : say_holder(&held, doc, buf, DESCRIBE_WHY_MAX);
	r = store_depend_words(a->c.store, row->job, words, err);
	if (r > 0)
		snprintf(buf, DESCRIBE_WHY_MAX, "%s", words);
	if (r != 0)
		return r < 0 ? r : 0;
	return row->array_job ? say_turn(a, row->array_job, buf, err) : 0;
}

static int set_id(json_t *doc, struct job_id id, struct err *err)
{
	char text[JOB_ID_TEXT_MAX];

	if (set(doc, "id", json_string(job_id_format(id, text))) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	if (id.index == JOB_ID_NO_INDEX)
		return 0;
	set(doc, "array_job", json_integer(id.job));
	set(doc, "array_index", json_integer(id.index));
	return 0;
}

int describe_queue(const struct api *a, const struct store_job *row, json_t *doc,
		   char why[static DESCRIBE_WHY_MAX], struct err *err)
{
	struct job_id id = { row->job, JOB_ID_NO_INDEX };
	int r;

	why[0] = '\0';
	if (row->array_job)
		id = (struct job_id){ row->array_job, row->array_index };
	r = set_id(doc, id, err);
	if (r >= 0 && row->is_array)
		r = tell_array(a, row->job, doc, err);
	if (r >= 0 && row->state == JOB_QUEUED && row->is_withheld)
		r = say_why(a, row, doc, why, err);
	return r;
}

int describe_folded(const struct api *a, struct job_id id, json_t *doc, struct err *err)
{
	const char *was = json_string_value(json_object_get(doc, "why"));
	char why[DESCRIBE_WHY_MAX] = "";
	int64_t job;
	int r = store_array_element(a->c.store, id, &job, err);

	if (r < 0)
		return r;
	json_object_del(doc, "array");
	set(doc, "job", json_integer(job));
	set(doc, "state", json_string(r == STORE_FOLDED ? "queued" : "ended"));
	if (r == STORE_DROPPED)
		snprintf(why, sizeof(why), "it was cancelled before it started");
	else if (!was || !*was)
		r = say_turn(a, id.job, why, err);
	if (*why)
		set(doc, "why", wire_string(why));
	return r < 0 ? r : set_id(doc, id, err);
}
