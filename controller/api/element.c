/* element.c - see element.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/api/element.h"
#include "controller/ledger/store_array.h"

/* ---- by name ---- */

int element_find(struct call *c, struct err *err)
{
	bool is_wish = strcmp(exchange_method(c->x), "POST") == 0;
	char id[JOB_ID_TEXT_MAX];
	struct call_owned array;
	int64_t job;
	int r = is_wish ? call_own_job(c, &array, err) : 0;

	if (r >= 0)
		r = store_array_element(c->api->c.store, c->named, &job, err);
	if (r < 0)
		return r;
	if (r == STORE_DROPPED) {
		err_set(err, 0, "job %s was cancelled before it started",
			job_id_format(c->named, id));
		return call_refuse(c, 409, "too-late", "");
	}
	if (r == STORE_FOLDED && is_wish)
		r = store_array_unfold_one(c->api->c.store, c->named, err);
	if (r < 0)
		return r;
	if (r != STORE_FOLDED || is_wish)
		c->id = job;
	return 0;
}

/* ---- for nodes ---- */

static int add_env(json_t *env, const char *name, int64_t value)
{
	char text[64];

	snprintf(text, sizeof(text), "%s=%lld", name, (long long)value);
	return json_array_append_new(env, json_string(text));
}

static int set_env(json_t *request, struct job_id id)
{
	json_t *env = json_object_get(request, "env");

	if (!env) {
		env = json_array();
		if (json_object_set_new(request, "env", env) < 0)
			return -1;
	}
	if (add_env(env, "REEVE_ARRAY_JOB", id.job) < 0 ||
	    add_env(env, "REEVE_ARRAY_INDEX", id.index) < 0 ||
	    add_env(env, "PBS_ARRAY_ID", id.job) < 0)
		return -1;
	return add_env(env, "PBS_ARRAY_INDEX", id.index);
}

/* "^array_index^" in a path, as in PBS, is the index. */
static json_t *path_of(const char *path, struct job_id id)
{
	static const char mark[] = "^array_index^";
	const char *at = strstr(path, mark);
	_cleanup_free_ char *text = NULL;

	if (!at)
		return json_string(path);
	if (asprintf(&text, "%.*s%lld%s", (int)(at - path), path, (long long)id.index,
		     at + strlen(mark)) < 0)
		return NULL;
	return path_of(text, id);
}

/* NAME.o12.7, where nothing else was said. */
static int set_path(json_t *request, const char *key, char letter, struct job_id id)
{
	const char *path = json_string_value(json_object_get(request, key));
	const char *name = json_string_value(json_object_get(request, "name"));
	char text[REQUEST_NAME_MAX + JOB_ID_TEXT_MAX + 4], number[JOB_ID_TEXT_MAX];

	snprintf(text, sizeof(text), "%s.%c%s", name ? name : "job", letter,
		 job_id_format_path(id, number));
	return json_object_set_new(request, key, path_of(path ? path : text, id));
}

json_t *element_request(const struct store_given *g)
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
