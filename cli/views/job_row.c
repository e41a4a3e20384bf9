/* job_row.c - see job_row.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "cli/views/job_row.h"
#include "common/err.h"
#include "common/wire/wire.h"

#define KEY_OF(name, key) key,
static const char *const keys[] = { JOB_ROW_CELLS(KEY_OF) };

int job_row_columns(const json_t *answer, struct job_row_columns *ret, struct err *err)
{
	const json_t *columns = json_object_get(answer, "columns"), *name;
	bool has[_JOB_ROW_MAX] = { false };
	size_t i;

	if (!json_is_array(columns) || !json_is_array(json_object_get(answer, "rows")))
		return err_set(err, -EPROTO,
			       "the controller's answer has no rows of jobs; is it older than "
			       "this command?");
	json_array_foreach(columns, i,
			   name) for (size_t k = 0; k < _JOB_ROW_MAX;
				      k++) if (json_is_string(name) &&
					       !strcmp(json_string_value(name), keys[k]))
	{
		ret->at[k] = i;
		has[k] = true;
	}
	for (size_t k = 0; k < _JOB_ROW_MAX; k++)
		if (!has[k])
			return err_set(
				err, -EPROTO,
				"the controller's answer has no column '%s'; is it older "
				"than this command?",
				keys[k]);
	return 0;
}

const char *job_row_text(const struct job_row *r, enum job_row_cell cell)
{
	const char *text = json_string_value(r->cells[cell]);

	return text && *text ? text : NULL;
}

int64_t job_row_int(const struct job_row *r, enum job_row_cell cell)
{
	return json_integer_value(r->cells[cell]);
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

static int read_view(const struct job_row *row, struct job_view *v, struct err *err)
{
	const json_t *usage = row->cells[JOB_ROW_USAGE], *end = row->cells[JOB_ROW_END];
	int r = read_name(row, v, err);

	v->node = job_row_text(row, JOB_ROW_NODE);
	v->nodes = job_row_text(row, JOB_ROW_NODES);
	v->is_gpu_idle = json_is_true(row->cells[JOB_ROW_GPU_IDLE]);
	v->array = json_is_object(row->cells[JOB_ROW_ARRAY]) ? row->cells[JOB_ROW_ARRAY] : NULL;
	if (r == 0)
		r = read_amounts(row, v, err);
	if (r == 0 && !json_is_null(usage))
		r = wire_decode_usage(usage, "usage", &v->usage, err);
	if (r == 0 && !json_is_null(end))
		r = wire_decode_end(end, "end", &v->end, err);
	return r;
}

int job_row_read(const struct job_row_columns *c, const json_t *row, struct job_row *ret,
		 struct err *err)
{
	int r = 0;

	*ret = (struct job_row){ .view = { .j = NULL } };
	for (size_t k = 0; k < _JOB_ROW_MAX && r == 0; k++) {
		ret->cells[k] = json_array_get(row, c->at[k]);
		if (!ret->cells[k])
			r = err_set(err, -EINVAL, "a row has no '%s'", keys[k]);
	}
	if (r == 0)
		r = read_view(ret, &ret->view, err);
	return r < 0 ? err_prefix(err, r == -EINVAL ? -EPROTO : r,
				  "the controller's answer cannot be read")
		     : 0;
}
