/* SPDX-License-Identifier: GPL-2.0-or-later */
/* slurm_pending.c - the fields of jobs that wait in Slurm and of the answer; see slurm_pending.h. */
#include "common/wire/fields.h"
#include "common/time_units.h"
#include "common/wire/slurm_pending.h"

#define AMOUNT(field) WIRE_INT_OR(struct slurm_pending_job, field, 0, INT64_MAX, 0, WIRE_OMIT)

static const struct wire_field job_fields[] = {
	WIRE_INT(struct slurm_pending_job, job, 1, UINT32_MAX),
	WIRE_INT(struct slurm_pending_job, uid, 0, UINT32_MAX),
	WIRE_CHARS(struct slurm_pending_job, user, 0),
	WIRE_CHARS(struct slurm_pending_job, account, WIRE_OPTIONAL),
	WIRE_CHARS(struct slurm_pending_job, queue, WIRE_OPTIONAL),
	WIRE_CHARS(struct slurm_pending_job, reason, WIRE_OPTIONAL),
	AMOUNT(ncpus),
	AMOUNT(ngpus),
	AMOUNT(mem_bytes),
	AMOUNT(walltime_s),
	AMOUNT(priority),
	WIRE_INT_OR(struct slurm_pending_job, site, -SLURM_PENDING_SITE_MAX - 2,
		    SLURM_PENDING_SITE_MAX + 2, 0, WIRE_OMIT),
	AMOUNT(submit_s),
	WIRE_INT_OR(struct slurm_pending_job, tasks, 0, SLURM_PENDING_TASKS_MAX, 0, WIRE_OMIT),
	WIRE_INT_OR(struct slurm_pending_job, array_job, 0, UINT32_MAX, 0, WIRE_OMIT),
	WIRE_END,
};

static const struct wire_field pending_fields[] = {
	WIRE_CHARS(struct slurm_pending, cluster, 0),
	WIRE_FLAG(struct slurm_pending, "first", is_first),
	WIRE_FLAG(struct slurm_pending, "last", is_last),
	WIRE_INT_OR(struct slurm_pending, age_ms, 0, DAY_S * 1000, 0, WIRE_OMIT),
	WIRE_LIST(struct slurm_pending, "jobs", jobs, n_jobs, SLURM_PENDING_MAX, job_fields, 0),
	WIRE_END,
};

static const struct wire_field site_fields[] = {
	WIRE_INT(struct slurm_pending_site, site, 0, SLURM_PENDING_SITE_MAX),
	WIRE_END,
};

static const struct wire_field answer_fields[] = {
	WIRE_INT(struct slurm_pending_answer, weight, 0, SLURM_PENDING_SITE_MAX),
	WIRE_LIST(struct slurm_pending_answer, "sites", sites, n_sites, SLURM_PENDING_MAX,
		  site_fields, 0),
	WIRE_FLAG(struct slurm_pending_answer, "unlisted", is_unlisted),
	WIRE_END,
};

static json_t *encode_message(const struct wire_field *rows, const void *from)
{
	struct doc d = doc_message();

	wire_encode_fields(rows, from, &d);
	return doc_take(&d);
}

json_t *slurm_pending_encode(const struct slurm_pending *doc)
{
	return encode_message(pending_fields, doc);
}

json_t *slurm_pending_encode_answer(const struct slurm_pending_answer *a)
{
	return encode_message(answer_fields, a);
}

int slurm_pending_decode(const json_t *j, struct slurm_pending *ret, struct err *err)
{
	*ret = (struct slurm_pending){ 0 };
	return wire_decode_fields(pending_fields, j, ret, err);
}

int slurm_pending_decode_answer(const json_t *j, struct slurm_pending_answer *ret,
				struct err *err)
{
	*ret = (struct slurm_pending_answer){ 0 };
	return wire_decode_fields(answer_fields, j, ret, err);
}

void slurm_pending_done(struct slurm_pending *doc)
{
	wire_done_fields(pending_fields, doc);
}

void slurm_pending_answer_done(struct slurm_pending_answer *a)
{
	wire_done_fields(answer_fields, a);
}
