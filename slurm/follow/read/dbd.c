/* SPDX-License-Identifier: GPL-2.0-or-later */
/* dbd.c - builds the conditions of libslurm's queries and copies what they return; see dbd.h.
 *
 * slurmdbd cuts start and end of a job at the window that it is asked for, unless JOBCOND_FLAG_NO_TRUNC is set, and returns
 * one row of an id that was requeued, unless JOBCOND_FLAG_DUP is. With a list of states that have ended it looks at
 * time_end alone, which is indexed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <slurm/slurm_errno.h>
#include "common/err.h"
#include "slurm/compat.h"
#include "slurm/follow/read/dbd.h"

struct dbd {
	char cluster[REQUEST_NAME_MAX];
	void *connection;
	struct record_names names;
};

struct dbd *dbd_close(struct dbd *d)
{
	if (!d)
		return NULL;
	if (d->connection)
		slurmdb_connection_close(&d->connection);
	free(d->names.tres.of);
	free(d->names.qos.of);
	free(d);
	return NULL;
}

/* libslurm returns NULL and leaves the reason in errno, if anywhere; callers set errno to 0 before. */
static int set_no_answer(struct err *err)
{
	return err_set(err, -EHOSTUNREACH, "slurmdbd does not answer: %s",
		       errno ? slurm_strerror(errno) : "no reason given");
}

/* Copies the rows of a table into `ret`, each by `set`, and frees `rows`. On -ENOMEM dbd_close() frees what there is. */
static int copy_names(list_t *rows, void (*set)(const void *row, struct tres_name *to),
		      struct tres_names *ret, struct err *err)
{
	list_itr_t *it = slurm_list_iterator_create(rows);
	const void *row;

	ret->of = calloc((size_t)slurm_list_count(rows) + 1, sizeof(*ret->of));
	while (ret->of && (row = slurm_list_next(it)))
		set(row, &ret->of[ret->n++]);
	slurm_list_iterator_destroy(it);
	slurm_list_destroy(rows);
	return ret->of ? 0 : err_set(err, -ENOMEM, "out of memory");
}

/* "gres/gpu:a100" has the type "gres" and the name "gpu:a100"; "cpu" has a type alone. */
static void set_tres(const void *row, struct tres_name *to)
{
	const slurmdb_tres_rec_t *t = row;
	const char *name = t->name && *t->name ? t->name : NULL;

	to->id = t->id;
	snprintf(to->name, sizeof(to->name), "%s%s%s", t->type ? t->type : "", name ? "/" : "",
		 name ? name : "");
}

static void set_qos(const void *row, struct tres_name *to)
{
	const slurmdb_qos_rec_t *q = row;

	to->id = q->id;
	snprintf(to->name, sizeof(to->name), "%s", q->name ? q->name : "");
}

/* Deleted ones too: old rows refer to them. */
static int load_names(struct dbd *d, struct err *err)
{
	slurmdb_tres_cond_t tres = { .with_deleted = 1 };
	slurmdb_qos_cond_t qos = { COMPAT_QOS_WITH_DELETED };
	list_t *rows;
	int r;

	errno = 0;
	rows = slurmdb_tres_get(d->connection, &tres);
	if (!rows)
		return set_no_answer(err);
	r = copy_names(rows, set_tres, &d->names.tres, err);
	if (r < 0)
		return r;
	rows = slurmdb_qos_get(d->connection, &qos);
	return rows ? copy_names(rows, set_qos, &d->names.qos, err) : set_no_answer(err);
}

int dbd_open(const char *cluster, struct dbd **ret, struct err *err)
{
	_cleanup_(dbd_closep) struct dbd *d = calloc(1, sizeof(*d));
	uint16_t flags = 0;
	int r;

	if (!d)
		return err_set(err, -ENOMEM, "out of memory");
	snprintf(d->cluster, sizeof(d->cluster), "%s", cluster);
	errno = 0;
	d->connection = slurmdb_connection_get(&flags);
	if (!d->connection)
		return set_no_answer(err);
	r = load_names(d, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(d);
	return 0;
}

/* Makes the list where there is none; it owns its copies (free()). */
static list_t *add_text(list_t *l, const char *text)
{
	if (!l)
		l = slurm_list_create(free);
	slurm_list_append(l, strdup(text));
	return l;
}

static list_t *add_number(list_t *l, uint32_t n)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", n);
	return add_text(l, text);
}

static int compare_rows(const void *a, const void *b)
{
	const struct slurm_batch_job *x = a, *y = b;

	if (x->job != y->job)
		return x->job < y->job ? -1 : 1;
	if (x->start_s != y->start_s)
		return x->start_s < y->start_s ? -1 : 1;
	return (x->submit_s > y->submit_s) - (x->submit_s < y->submit_s);
}

/* Rows of attempts that have ended, in the order of compare_rows(). A revoked row belongs to another cluster of the federation. */
static int copy_rows(const struct dbd *d, list_t *rows, struct dbd_rows *ret, struct err *err)
{
	size_t n = (size_t)slurm_list_count(rows);
	list_itr_t *it = slurm_list_iterator_create(rows);
	const slurmdb_job_rec_t *row;

	*ret = (struct dbd_rows){ .of = calloc(n + 1, sizeof(*ret->of)) };
	while (ret->of && (row = slurm_list_next(it))) {
		struct slurm_batch_job *to = &ret->of[ret->n];

		record_from_slurmdbd(row, &d->names, to);
		if (row->end && to->state > SLURM_BATCH_SUSPENDED &&
		    to->state != SLURM_BATCH_REVOKED)
			ret->n++;
	}
	slurm_list_iterator_destroy(it);
	if (!ret->of)
		return err_set(err, -ENOMEM, "out of memory");
	qsort(ret->of, ret->n, sizeof(*ret->of), compare_rows);
	return 0;
}

/* Adds to the condition what all queries here need; the caller frees its own lists of it. */
static int load_rows(struct dbd *d, slurmdb_job_cond_t *cond, struct dbd_rows *ret,
		     struct err *err)
{
	list_t *rows;
	int r;

	cond->cluster_list = add_text(NULL, d->cluster);
	cond->flags |= JOBCOND_FLAG_DUP | JOBCOND_FLAG_NO_STEP | JOBCOND_FLAG_NO_TRUNC;
	cond->db_flags = SLURMDB_JOB_FLAG_NOTSET;
	errno = 0;
	rows = slurmdb_jobs_get(d->connection, cond);
	r = rows ? copy_rows(d, rows, ret, err) : set_no_answer(err);
	if (rows)
		slurm_list_destroy(rows);
	slurm_list_destroy(cond->cluster_list);
	return r;
}

int dbd_ended(struct dbd *d, int64_t from_s, int64_t to_s, struct dbd_rows *ret,
	      struct err *err)
{
	static const uint32_t ended[] = { JOB_COMPLETE,	 JOB_CANCELLED, JOB_FAILED,
					  JOB_TIMEOUT,	 JOB_NODE_FAIL, JOB_PREEMPTED,
					  JOB_BOOT_FAIL, JOB_DEADLINE,	JOB_OOM,
					  JOB_REQUEUE,	 JOB_RESIZING };
	slurmdb_job_cond_t cond = { .usage_start = from_s, .usage_end = to_s };
	size_t kept = 0;
	int r;

	for (size_t i = 0; i < ARRAY_LEN(ended); i++)
		cond.state_list = add_number(cond.state_list, ended[i]);
	r = load_rows(d, &cond, ret, err);
	slurm_list_destroy(cond.state_list);
	/* slurmdbd's window has other edges. */
	for (size_t i = 0; r >= 0 && i < ret->n; i++)
		if (ret->of[i].end_s >= from_s && ret->of[i].end_s < to_s)
			ret->of[kept++] = ret->of[i];
	ret->n = r >= 0 ? kept : 0;
	return r;
}

/* A selected step without a step number is the whole job. NO_DEFAULT_USAGE: the condition has no times, and
 * slurmdbd must not set its own. */
int dbd_jobs(struct dbd *d, const struct slurm_batch_present *jobs, size_t n,
	     struct dbd_rows *ret, struct err *err)
{
	slurmdb_job_cond_t cond = { .flags = JOBCOND_FLAG_NO_DEFAULT_USAGE };
	int r;

	cond.step_list = slurm_list_create(free);
	for (size_t i = 0; i < n; i++) {
		slurm_selected_step_t *step = calloc(1, sizeof(*step));

		if (!step)
			break;
		step->array_task_id = NO_VAL;
		step->het_job_offset = NO_VAL;
		step->step_id.job_id = (uint32_t)jobs[i].job;
		step->step_id.step_id = NO_VAL;
		step->step_id.step_het_comp = NO_VAL;
		slurm_list_append(cond.step_list, step);
	}
	r = load_rows(d, &cond, ret, err);
	slurm_list_destroy(cond.step_list);
	return r;
}
