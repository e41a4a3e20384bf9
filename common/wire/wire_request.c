/* wire_request.c - requests as JSON; see wire.h. */
#include <errno.h>
#include <string.h>
#include "common/err.h"
#include "common/wire/wire.h"

static int set_node_kind(json_t *j, const struct resources *res)
{
	if (*res->node_type &&
	    json_object_set_new(j, "node_type", json_string(res->node_type)) < 0)
		return -1;
	return *res->features ? json_object_set_new(j, "features", json_string(res->features))
			      : 0;
}

/* As users would type it, in small letters or not. */
static int get_node_kind(const json_t *j, struct resources *res, struct err *err)
{
	char type[REQUEST_NAME_MAX], features[FEATURES_MAX];
	int r = wire_get_text(j, "node_type", (struct wire_text){ type, sizeof(type), true },
			      err);

	if (r >= 0 && *type)
		r = features_lower(type, res->node_type, sizeof(res->node_type), err);
	if (r < 0)
		return err_prefix(err, r, "node_type");
	r = wire_get_text(j, "features", (struct wire_text){ features, sizeof(features), true },
			  err);
	if (r >= 0 && *features)
		r = features_parse(features, res->features, err);
	return r < 0 ? err_prefix(err, r, "features") : 0;
}

json_t *wire_encode_resources(const struct resources *res)
{
	_cleanup_json_ json_t *j = json_object();

	for (const struct resource_def *d = request_resources; j && d->name; d++) {
		int64_t v = *(const int64_t *)(const void *)((const char *)res + d->offset);
		static const char *const suffix[] = { "", "_bytes", "_s" };
		char key[32];

		snprintf(key, sizeof(key), "%s%s", d->name, suffix[d->kind]);
		if (v && json_object_set_new(j, key, json_integer(v)) < 0)
			return NULL;
	}
	if (j && res->ngpus && *res->gpu_model &&
	    json_object_set_new(j, "gpu_model", json_string(res->gpu_model)) < 0)
		return NULL;
	if (j && set_node_kind(j, res) < 0)
		return NULL;
	return TAKE_PTR(j);
}

static int get_gpu_model(const json_t *j, struct resources *res, struct err *err)
{
	const struct wire_text to = { res->gpu_model, sizeof(res->gpu_model), true };
	int r = wire_get_text(j, "gpu_model", to, err);

	if (r < 0 || !*res->gpu_model)
		return r;
	if (!res->ngpus)
		return err_set(err, -EINVAL, "gpu_model without ngpus");
	if (!resources_is_gpu_model(res->gpu_model))
		return err_set(err, -EINVAL, "gpu_model '%.63s' is not the name of a model",
			       res->gpu_model);
	return 0;
}

int wire_decode_resources(const json_t *j, const char *at, struct resources *ret,
			  struct err *err)
{
	struct resources res = { 0 };
	const int64_t none = 0;

	if (!json_is_object(j))
		return err_set(err, -EINVAL, "%s is not an object", at);
	for (const struct resource_def *d = request_resources; d->name; d++) {
		static const char *const suffix[] = { "", "_bytes", "_s" };
		char key[32];
		int64_t v;
		int r;

		snprintf(key, sizeof(key), "%s%s", d->name, suffix[d->kind]);
		r = wire_get_int(j, key, (struct wire_int){ d->min, d->max, &none }, &v, err);
		if (r < 0)
			return err_prefix(err, r, "%s", at);
		*(int64_t *)(void *)((char *)&res + d->offset) = v;
	}
	if (get_gpu_model(j, &res, err) < 0 || get_node_kind(j, &res, err) < 0)
		return err_prefix(err, -EINVAL, "%s", at);
	*ret = res;
	return 0;
}

static int set_text(json_t *j, const char *key, const char *value)
{
	return value && *value ? json_object_set_new(j, key, json_string(value)) : 0;
}

static int set_list(json_t *j, const char *key, char *const *list)
{
	json_t *a;

	if (!list)
		return 0;
	a = json_array();
	if (json_object_set_new(j, key, a) < 0)
		return -1;
	for (; *list; list++)
		if (json_array_append_new(a, json_string(*list)) < 0)
			return -1;
	return 0;
}

static int set_array(json_t *j, const struct array *a)
{
	if (!a->n)
		return 0;
	return json_object_set_new(j, "array",
				   json_pack("{s:I,s:I,s:I,s:I}", "first", (json_int_t)a->first,
					     "last", (json_int_t)a->last, "step",
					     (json_int_t)a->step, "at_once",
					     (json_int_t)a->at_once));
}

static int set_after(json_t *j, const struct after_list *l)
{
	json_t *list = l->n ? json_array() : NULL;

	if (!l->n)
		return 0;
	if (json_object_set_new(j, "after", list) < 0)
		return -1;
	for (size_t i = 0; i < l->n; i++) {
		const struct after *a = &l->at[i];
		json_t *one = json_pack("{s:s,s:I}", "kind", after_kind_name(a->kind), "job",
					(json_int_t)a->id.job);

		if (json_array_append_new(list, one) < 0 ||
		    (a->id.index != JOB_ID_NO_INDEX &&
		     json_object_set_new(one, "index", json_integer(a->id.index)) < 0))
			return -1;
	}
	return 0;
}

/* Chunks and place as they are typed: one place says what they are. */
static int set_select(json_t *j, const struct request *r)
{
	char text[SELECT_TEXT_MAX];

	if ((r->is_exclusive && json_object_set_new(j, "exclusive", json_true()) < 0) ||
	    (r->select.is_scattered && json_object_set_new(j, "scatter", json_true()) < 0))
		return -1;
	return set_text(j, "select", select_format(&r->select, r->res.gpu_model, text));
}

static int set_part(json_t *j, const struct job_part *p)
{
	if (!p->n)
		return 0;
	return json_object_set_new(j, "part",
				   json_pack("{s:i,s:i,s:s}", "index", (int)p->index, "n",
					     (int)p->n, "hosts", p->hosts ? p->hosts : ""));
}

/* When and how often it runs. */
static int set_run(json_t *j, const struct request *r)
{
	if (set_array(j, &r->array) < 0 || set_after(j, &r->after) < 0 ||
	    (r->is_held && json_object_set_new(j, "hold", json_true()) < 0) ||
	    (r->requeue && json_object_set_new(j, "requeue", json_true()) < 0))
		return -1;
	return 0;
}

json_t *wire_encode_request(const struct request *r)
{
	_cleanup_json_ json_t *j =
		json_pack("{s:i,s:i,s:o,s:b,s:b,s:s}", "uid", (int)r->uid, "gid", (int)r->gid,
			  "resources", wire_encode_resources(&r->res), "stream", (int)r->stream,
			  "join", (int)r->join, "vmem_action",
			  r->vmem_policy == VMEM_POLICY_DENY ? "enomem" : "kill");

	if (!j || set_text(j, "cluster", r->cluster) < 0 ||
	    set_text(j, "account", r->account) < 0 || set_text(j, "user", r->user) < 0 ||
	    set_text(j, "queue", r->queue) < 0 || set_text(j, "qos", r->qos) < 0 ||
	    set_text(j, "name", r->name) < 0 || set_text(j, "script", r->script) < 0 ||
	    set_text(j, "workdir", r->workdir) < 0 ||
	    set_text(j, "out_path", r->out_path) < 0 ||
	    set_text(j, "err_path", r->err_path) < 0 || set_list(j, "argv", r->argv) < 0 ||
	    set_list(j, "env", r->env) < 0 || set_run(j, r) < 0 || set_select(j, r) < 0 ||
	    set_part(j, &r->part) < 0)
		return NULL;
	/* Unsigned ids above INT32_MAX (nobody in some realms) must not turn negative. */
	if (json_object_set_new(j, "uid", json_integer(r->uid)) < 0 ||
	    json_object_set_new(j, "gid", json_integer(r->gid)) < 0)
		return NULL;
	return TAKE_PTR(j);
}

static int get_string(const json_t *j, const char *key, char **ret, struct err *err)
{
	const json_t *v = json_object_get(j, key);

	if (!v || json_is_null(v))
		return 0;
	if (!json_is_string(v))
		return err_set(err, -EINVAL, "%s is not a string", key);
	if (strlen(json_string_value(v)) != json_string_length(v))
		return err_set(err, -EINVAL, "%s holds a NUL byte", key);
	*ret = strdup(json_string_value(v));
	return *ret ? 0 : err_set(err, -ENOMEM, "out of memory");
}

static int get_list(const json_t *j, const char *key, char ***ret, struct err *err)
{
	const json_t *a = json_object_get(j, key);
	size_t n;

	if (!a || json_is_null(a))
		return 0;
	if (!json_is_array(a))
		return err_set(err, -EINVAL, "%s is not an array", key);
	n = json_array_size(a);
	if (n > REQUEST_ENV_MAX)
		return err_set(err, -EINVAL, "%s has too many entries", key);
	*ret = calloc(n + 1, sizeof(**ret));
	if (!*ret)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++) {
		const json_t *v = json_array_get(a, i);

		if (!json_is_string(v) || strlen(json_string_value(v)) != json_string_length(v))
			return err_set(err, -EINVAL, "%s[%zu] is not a string without NUL", key,
				       i);
		(*ret)[i] = strdup(json_string_value(v));
		if (!(*ret)[i])
			return err_set(err, -ENOMEM, "out of memory");
	}
	return 0;
}

static int get_names(const json_t *j, struct request *r, struct err *err)
{
	const struct {
		const char *key;
		char *to;
	} names[] = {
		{ "cluster", r->cluster }, { "account", r->account }, { "user", r->user },
		{ "queue", r->queue },	   { "name", r->name },	      { "qos", r->qos },
	};
	int rc;

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct wire_text to = { names[i].to, REQUEST_NAME_MAX, true };

		rc = wire_get_text(j, names[i].key, to, err);
		if (rc < 0)
			return rc;
		if (names[i].to[0] && !request_is_name(names[i].to))
			return err_set(err, -EINVAL, "%s '%.63s' is not a name", names[i].key,
				       names[i].to);
	}
	return 0;
}

static int get_flags(const json_t *j, struct request *r, struct err *err)
{
	struct wire_int id = { 0, UINT32_MAX, &(const int64_t){ 0 } };
	int64_t uid, gid;
	char action[8];
	int rc;

	rc = wire_get_int(j, "uid", id, &uid, err);
	if (rc < 0)
		return rc;
	rc = wire_get_int(j, "gid", id, &gid, err);
	if (rc < 0)
		return rc;
	rc = wire_get_text(j, "vmem_action", (struct wire_text){ action, sizeof(action), true },
			   err);
	if (rc < 0)
		return rc;
	if (action[0] && (rc = request_set(r, "vmem-action", action, err)) < 0)
		return rc;
	r->uid = (uint32_t)uid;
	r->gid = (uint32_t)gid;
	r->stream = json_is_true(json_object_get(j, "stream"));
	r->join = json_is_true(json_object_get(j, "join"));
	r->is_held = json_is_true(json_object_get(j, "hold"));
	r->requeue = json_is_true(json_object_get(j, "requeue"));
	return 0;
}

static int get_array(const json_t *request, struct array *ret, struct err *err)
{
	const json_t *j = json_object_get(request, "array");
	const struct wire_int index = { 0, ARRAY_INDEX_MAX, NULL };
	struct array a = { 0 };
	char text[ARRAY_TEXT_MAX];
	int r;

	if (!j || json_is_null(j))
		return 0;
	if ((r = wire_get_int(j, "first", index, &a.first, err)) < 0 ||
	    (r = wire_get_int(j, "last", index, &a.last, err)) < 0 ||
	    (r = wire_get_int(j, "step",
			      (struct wire_int){ 1, ARRAY_INDEX_MAX, &(const int64_t){ 1 } },
			      &a.step, err)) < 0 ||
	    (r = wire_get_int(j, "at_once",
			      (struct wire_int){ 0, ARRAY_INDEX_MAX, &(const int64_t){ 0 } },
			      &a.at_once, err)) < 0)
		return err_prefix(err, r, "array");
	/* One place says what an array is. */
	return array_parse(array_format(&a, text), ret, err);
}

static int get_after_one(const json_t *j, struct after_list *l, struct err *err)
{
	static const int64_t none = JOB_ID_NO_INDEX;
	struct after a = { 0 };
	char kind[16];
	int r = wire_get_text(j, "kind", (struct wire_text){ kind, sizeof(kind), false }, err);

	if (r < 0)
		return r;
	if (after_kind_parse(kind, &a.kind) < 0)
		return err_set(err, -EINVAL, "kind '%s' is none of afterok, afterany", kind);
	r = wire_get_int(j, "job", (struct wire_int){ 1, INT64_MAX, NULL }, &a.id.job, err);
	if (r >= 0)
		r = wire_get_int(j, "index", (struct wire_int){ none, ARRAY_INDEX_MAX, &none },
				 &a.id.index, err);
	return r < 0 ? r : after_list_add(l, a, err);
}

static int get_after(const json_t *request, struct after_list *l, struct err *err)
{
	const json_t *list = json_object_get(request, "after");

	if (!list || json_is_null(list))
		return 0;
	if (!json_is_array(list))
		return err_set(err, -EINVAL, "after is not an array");
	for (size_t i = 0; i < json_array_size(list); i++) {
		int r = get_after_one(json_array_get(list, i), l, err);

		if (r < 0)
			return err_prefix(err, r, "after[%zu]", i);
	}
	return 0;
}

static int get_select(const json_t *j, struct request *ret, struct err *err)
{
	char text[SELECT_TEXT_MAX], model[REQUEST_NAME_MAX];
	int r = wire_get_text(j, "select", (struct wire_text){ text, sizeof(text), true }, err);

	if (r >= 0 && *text)
		r = select_parse(text, &ret->select, model, err);
	if (r < 0)
		return r;
	if (*text && *model && *ret->res.gpu_model && strcmp(model, ret->res.gpu_model) != 0)
		return err_set(err, -EINVAL, "select and resources name two GPU models");
	if (*text && *model)
		strcpy(ret->res.gpu_model, model);
	ret->select.is_scattered = json_is_true(json_object_get(j, "scatter"));
	ret->is_exclusive = json_is_true(json_object_get(j, "exclusive"));
	return 0;
}

static int get_part(const json_t *request, struct job_part *ret, struct err *err)
{
	const json_t *j = json_object_get(request, "part");
	const struct wire_int range = { 0, SELECT_CHUNKS_MAX, NULL };
	int64_t index, n;
	int r;

	if (!j || json_is_null(j))
		return 0;
	if ((r = wire_get_int(j, "index", range, &index, err)) < 0 ||
	    (r = wire_get_int(j, "n", range, &n, err)) < 0 ||
	    (r = get_string(j, "hosts", &ret->hosts, err)) < 0)
		return err_prefix(err, r, "part");
	if (n < 2 || index >= n || !ret->hosts)
		return err_set(err, -EINVAL, "part: index %lld of %lld", (long long)index,
			       (long long)n);
	ret->index = (int32_t)index;
	ret->n = (int32_t)n;
	return 0;
}

static int decode_request(const json_t *j, struct request *ret, struct err *err)
{
	const json_t *res = json_object_get(j, "resources"); /* may be left out beside select */
	int r;

	r = res || !json_object_get(j, "select")
		    ? wire_decode_resources(res, "resources", &ret->res, err)
		    : 0;
	if (r < 0)
		return r;
	r = get_names(j, ret, err);
	if (r < 0)
		return r;
	r = get_flags(j, ret, err);
	if (r < 0)
		return r;
	if ((r = get_string(j, "script", &ret->script, err)) < 0 ||
	    (r = get_string(j, "workdir", &ret->workdir, err)) < 0 ||
	    (r = get_string(j, "out_path", &ret->out_path, err)) < 0 ||
	    (r = get_string(j, "err_path", &ret->err_path, err)) < 0 ||
	    (r = get_list(j, "argv", &ret->argv, err)) < 0 ||
	    (r = get_array(j, &ret->array, err)) < 0 ||
	    (r = get_after(j, &ret->after, err)) < 0 || (r = get_select(j, ret, err)) < 0 ||
	    (r = get_part(j, &ret->part, err)) < 0)
		return r;
	return get_list(j, "env", &ret->env, err);
}

int wire_decode_request(const json_t *j, const char *at, struct request *ret, struct err *err)
{
	int r;

	if (!json_is_object(j))
		return err_set(err, -EINVAL, "%s is not an object", at);
	request_done(ret);
	r = decode_request(j, ret, err);
	return r < 0 ? err_prefix(err, r, "%s", at) : 0;
}
