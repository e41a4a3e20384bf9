/* SPDX-License-Identifier: GPL-2.0-or-later */
/* job_row.c - see job_row.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "cli/views/job_row.h"
#include "common/err.h"
#include "common/wire/json/load.h"
#include "common/wire/wire.h"

#define KEY_OF(name, key) key,
static const char *const keys[] = { JOB_ROW_CELLS(KEY_OF) };

int job_row_open(const json_t *answer, struct packed_rows *ret, struct err *err)
{
	return packed_rows_open(answer, keys, _JOB_ROW_MAX, ret, err);
}

void job_row_done(struct job_row *r)
{
	json_decref(r->array);
	r->array = NULL;
}

const char *job_row_text(const struct job_row *r, enum job_row_cell cell)
{
	const struct rowpack_value *v = &r->cells[cell];

	return v->kind == ROWPACK_TEXT && *v->text ? v->text : NULL;
}

int64_t job_row_int(const struct job_row *r, enum job_row_cell cell)
{
	return r->cells[cell].n;
}

static int read_amounts(const struct job_row *row, struct job_view *v, struct err *err)
{
	const struct {
		enum job_row_cell cell;
		int64_t *to;
	} amounts[] = {
		{ JOB_ROW_NCPUS, &v->requested.ncpus },
		{ JOB_ROW_NGPUS, &v->requested.ngpus },
		{ JOB_ROW_VMEM_BYTES, &v->requested.vmem_bytes },
		{ JOB_ROW_MEM_BYTES, &v->requested.mem_bytes },
		{ JOB_ROW_JOBFS_BYTES, &v->requested.jobfs_bytes },
		{ JOB_ROW_WALLTIME_S, &v->requested.walltime_s },
		{ JOB_ROW_RUNNING_NS, &v->running_ns },
		{ JOB_ROW_SUSPENDED_NS, &v->suspended_ns },
	};
	const char *model = job_row_text(row, JOB_ROW_GPU_MODEL);

	for (size_t i = 0; i < ARRAY_LEN(amounts); i++) {
		*amounts[i].to = job_row_int(row, amounts[i].cell);
		if (*amounts[i].to < 0)
			return err_set(err, -EINVAL, "'%s' is less than 0",
				       keys[amounts[i].cell]);
	}
	if (model && strlen(model) >= sizeof(v->requested.gpu_model))
		return err_set(err, -EINVAL, "'gpu_model' is too long");
	if (model)
		strcpy(v->requested.gpu_model, model);
	return 0;
}

static int read_name(const struct job_row *row, struct job_view *v, struct err *err)
{
	const char *state = job_row_text(row, JOB_ROW_STATE), *id;

	v->job = job_row_int(row, JOB_ROW_JOB);
	if (v->job < 1)
		return err_set(err, -EINVAL, "'job' is no job number");
	id = job_row_text(row, JOB_ROW_ID);
	if (id)
		snprintf(v->id, sizeof(v->id), "%s", id);
	else
		snprintf(v->id, sizeof(v->id), "%" PRId64, v->job);
	if (!state || job_state_parse(state, &v->state) < 0)
		return err_set(err, -EINVAL,
			       "a job state that this program does not know: '%.32s'",
			       state ? state : "");
	return 0;
}

/* NULL: none. What is stored and is no JSON counts as none, as in the document of a job (doc_stored()). */
static json_t *read_json(const struct job_row *row, enum job_row_cell cell)
{
	const struct rowpack_value *v = &row->cells[cell];

	return v->kind == ROWPACK_JSON ? wire_load_bytes(v->text, v->size, 0, NULL) : NULL;
}

static int read_view(struct job_row *row, struct job_view *v, struct err *err)
{
	_cleanup_json_ json_t *usage = read_json(row, JOB_ROW_USAGE);
	_cleanup_json_ json_t *end = read_json(row, JOB_ROW_END);
	int r = read_name(row, v, err);

	v->node = job_row_text(row, JOB_ROW_NODE);
	v->nodes = job_row_text(row, JOB_ROW_NODES);
	v->is_gpu_idle = row->cells[JOB_ROW_GPU_IDLE].kind == ROWPACK_TRUE;
	row->array = read_json(row, JOB_ROW_ARRAY);
	v->array = json_is_object(row->array) ? row->array : NULL;
	if (r == 0)
		r = read_amounts(row, v, err);
	if (r == 0 && usage)
		r = wire_decode_usage(usage, "usage", &v->usage, err);
	if (r == 0 && end)
		r = wire_decode_end(end, "end", &v->end, err);
	return r;
}

int job_row_next(struct packed_rows *rows, struct job_row *ret, struct err *err)
{
	int r;

	ret->view = (struct job_view){ .j = NULL };
	ret->array = NULL;
	r = packed_rows_next(rows, ret->cells, err);
	if (r <= 0)
		return r;
	r = read_view(ret, &ret->view, err);
	if (r == 0)
		return 1;
	job_row_done(ret);
	return err_prefix(err, r == -EINVAL ? -EPROTO : r,
			  "the controller's answer cannot be read");
}
