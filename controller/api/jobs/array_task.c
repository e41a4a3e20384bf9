/* element.c - see element.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/api/jobs/owned_job.h"
#include "controller/api/jobs/array_task.h"
#include "controller/ledger/jobs/array.h"

/* ---- by name ---- */

int array_task_find(struct call *c, struct err *err)
{
	bool is_wish = strcmp(exchange_method(c->x), "POST") == 0;
	char id[JOB_ID_TEXT_MAX];
	struct owned_job array;
	int64_t job;
	int r = is_wish ? owned_job_find(c, &array, err) : 0;

	if (r >= 0)
		r = store_array_element(c->api->c.store, c->named, &job, err);
	if (r < 0)
		return r;
	if (r == STORE_DROPPED) {
		err_set(err, 0, "job %s was cancelled before it started",
			job_id_format(c->named, id));
		return call_refuse(c, 409, "too-late", "");
	}
	if (r == STORE_NOT_EXPANDED && is_wish)
		r = store_array_expand_one(c->api->c.store, c->named, err);
	if (r < 0)
		return r;
	if (r != STORE_NOT_EXPANDED || is_wish)
		c->id = job;
	return 0;
}

/* ---- for nodes ---- */

static int set_env(json_t *request, struct job_id id)
{
	json_t *env = json_object_get(request, "env");
	char line[ARRAY_ENV_MAX];

	if (!env) {
		env = json_array();
		if (json_object_set_new(request, "env", env) < 0)
			return -1;
	}
	for (int i = 0; i < ARRAY_ENV; i++)
		if (json_array_append_new(env, json_string(array_format_env(id, i, line))) < 0)
			return -1;
	return 0;
}

static int set_path(json_t *request, const char *key, char letter, struct job_id id)
{
	const char *path = json_string_value(json_object_get(request, key));
	const char *name = json_string_value(json_object_get(request, "name"));
	_cleanup_free_ char *text = array_format_output(path, name ? name : "job", letter, id);

	return text ? json_object_set_new(request, key, json_string(text)) : -1;
}

json_t *array_task_request(const struct store_desired *g)
{
	_cleanup_json_ json_t *request = json_loads(g->request, 0, NULL);

	if (!request || !g->array.job)
		return TAKE_PTR(request);
	json_object_del(request, "array");
	if (set_env(request, g->array) < 0 || set_path(request, "out_path", 'o', g->array) < 0)
		return NULL;
	if (!json_is_true(json_object_get(request, "join")) &&
	    set_path(request, "err_path", 'e', g->array) < 0)
		return NULL;
	return TAKE_PTR(request);
}
