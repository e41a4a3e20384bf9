/* SPDX-License-Identifier: GPL-2.0-or-later */
/* array_task.c - finds the row of the array task that a call names; see array_task.h. */
#include <errno.h>
#include <string.h>
#include "common/err.h"
#include "controller/api/jobs/owned_job.h"
#include "controller/api/jobs/array_task.h"
#include "controller/ledger/jobs/array.h"

int array_task_find(struct call *c, struct err *err)
{
	bool is_change = strcmp(exchange_method(c->x), "POST") == 0;
	char id[JOB_ID_TEXT_MAX];
	struct owned_job array;
	int64_t job;
	int r = is_change ? owned_job_find(c, &array, err) : 0;

	if (r >= 0)
		r = store_array_element(c->api->c.store, c->named, &job, err);
	if (r < 0)
		return r;
	if (r == STORE_DROPPED) {
		err_set(err, 0, "job %s was cancelled before it started",
			job_id_format(c->named, id));
		return call_refuse(c, 409, "too-late", "");
	}
	if (r == STORE_NOT_EXPANDED && is_change)
		r = store_array_expand_one(c->api->c.store, c->named, err);
	if (r < 0)
		return r;
	if (r != STORE_NOT_EXPANDED || is_change)
		c->id = job;
	return 0;
}
