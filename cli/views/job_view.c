/* SPDX-License-Identifier: GPL-2.0-or-later */
/* job_view.c - reads a job of an answer into the fields that verbs show; see job_view.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "cli/cli.h"
#include "cli/views/job_view.h"
#include "common/err.h"
#include "common/time_units.h"
#include "common/wire/wire.h"

static int read_state(const json_t *j, struct job_view *v, struct err *err)
{
	const char *name = json_string_value(json_object_get(j, "state"));

	if (!name || job_state_parse(name, &v->state) < 0)
		return err_set(err, -EPROTO,
			       "the controller's answer has a job state that this program does "
			       "not know: '%.32s'",
			       name ? name : "");
	return 0;
}

static void read_id(const json_t *j, struct job_view *v)
{
	const char *id = json_string_value(json_object_get(j, "id"));

	if (id)
		snprintf(v->id, sizeof(v->id), "%s", id);
	else
		snprintf(v->id, sizeof(v->id), "%" PRId64, v->job);
}

/* Optional parts of a job may be absent or null. */
static bool is_there(const json_t *j, const char *key)
{
	const json_t *v = json_object_get(j, key);

	return v && !json_is_null(v);
}

int job_view_read(const json_t *j, struct job_view *ret, struct err *err)
{
	static const int64_t none = 0;
	const struct wire_int from_zero = { 0, INT64_MAX, &none };
	const json_t *request = json_object_get(j, "request");
	struct job_view v = { .j = j,
			      .node = cli_text(j, "node"),
			      .nodes = cli_text(j, "nodes"),
			      .array = json_object_get(j, "array"),
			      .is_gpu_idle = json_is_true(json_object_get(j, "gpu_idle")) };
	int r;

	r = wire_get_int(j, "job", (struct wire_int){ 1, INT64_MAX, NULL }, &v.job, err);
	if (r == 0)
		read_id(j, &v);
	if (r == 0)
		r = read_state(j, &v, err);
	if (r == 0)
		r = wire_get_int(j, "running_ns", from_zero, &v.running_ns, err);
	if (r == 0)
		r = wire_get_int(j, "suspended_ns", from_zero, &v.suspended_ns, err);
	if (r == 0 && is_there(request, "resources"))
		r = wire_decode_resources(json_object_get(request, "resources"),
					  "request.resources", &v.requested, err);
	if (r == 0 && is_there(j, "usage"))
		r = wire_decode_usage(json_object_get(j, "usage"), "usage", &v.usage, err);
	if (r == 0 && is_there(j, "end"))
		r = wire_decode_end(json_object_get(j, "end"), "end", &v.end, err);
	if (r < 0)
		return err_prefix(err, r == -EINVAL ? -EPROTO : r,
				  "the controller's answer cannot be read");
	*ret = v;
	return 0;
}

const char *job_view_result(const struct job_view *v, char buf[static JOB_VIEW_RESULT_MAX])
{
	const char *signal;

	switch (v->end.kind) {
	case END_NONE:
		snprintf(buf, JOB_VIEW_RESULT_MAX, "%s", job_state_name(v->state));
		break;
	case END_EXITED:
		snprintf(buf, JOB_VIEW_RESULT_MAX, "exit %d", (int)v->end.exit_status);
		break;
	case END_SIGNALED:
		signal = sigabbrev_np(v->end.signal);
		snprintf(buf, JOB_VIEW_RESULT_MAX, "signal %d (%s)", (int)v->end.signal,
			 signal ? signal : "?");
		break;
	case END_LIMIT:
		snprintf(buf, JOB_VIEW_RESULT_MAX, "%s limit",
			 limit_kind_name(v->end.reason.limit));
		break;
	default:
		snprintf(buf, JOB_VIEW_RESULT_MAX, "%s", job_end_kind_name(v->end.kind));
		break;
	}
	return buf;
}

const char *job_view_flag(const struct job_view *v, char *buf, size_t size)
{
	if (!v->is_gpu_idle)
		return NULL;
	snprintf(buf, size, "GPU idle %lld min", (long long)(v->usage.gpu_idle_ns / MIN_NS));
	return buf;
}

bool job_view_is_bad(const struct job_view *v)
{
	return v->end.kind != END_NONE && v->end.kind != END_CANCELLED &&
	       (v->end.kind != END_EXITED || v->end.exit_status != 0);
}

static int64_t count_of(const json_t *array, const char *key)
{
	return json_integer_value(json_object_get(array, key));
}

const char *job_view_array(const struct job_view *v, char *buf, size_t size)
{
	const json_t *a = v->array;
	const char *elements = json_string_value(json_object_get(a, "elements"));
	int64_t ended = count_of(a, "ended"), bad = ended - count_of(a, "ended_well");
	int n;

	if (!a)
		return NULL;
	n = snprintf(buf, size,
		     "%.64s: %" PRId64 " queued, %" PRId64 " under way, %" PRId64 " ended",
		     elements ? elements : "", count_of(a, "queued"), count_of(a, "active"),
		     ended);
	if (bad > 0 && n > 0 && (size_t)n < size)
		snprintf(buf + n, size - (size_t)n, ", %" PRId64 " of them not well", bad);
	return buf;
}
