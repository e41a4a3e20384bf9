/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wire_request.c - requests as JSON; see wire.h. */
#include <errno.h>
#include <string.h>
#include "common/err.h"
#include "common/wire/doc.h"

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

/* ncpus, mem_bytes, walltime_s */
static const char *resource_key(const struct resource_def *d, char buf[static 32])
{
	static const char *const suffix[] = { "", "_bytes", "_s" };

	snprintf(buf, 32, "%s%s", d->name, suffix[d->kind]);
	return buf;
}

json_t *wire_encode_resources(const struct resources *res)
{
	_cleanup_doc_ struct doc d = doc_object();
	char key[32];

	for (const struct resource_def *def = request_resources; def->name; def++) {
		int64_t v = *(const int64_t *)(const void *)((const char *)res + def->offset);

		if (v)
			doc_int(&d, resource_key(def, key), v);
	}
	if (res->ngpus)
		doc_text_if(&d, "gpu_model", res->gpu_model);
	doc_text_if(&d, "node_type", res->node_type);
	doc_text_if(&d, "features", res->features);
	return doc_take(&d);
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
		char key[32];
		int64_t v;
		int r;

		r = wire_get_int(j, resource_key(d, key),
				 (struct wire_int){ d->min, d->max, &none }, &v, err);
		if (r < 0)
			return err_prefix(err, r, "%s", at);
		*(int64_t *)(void *)((char *)&res + d->offset) = v;
	}
	if (get_gpu_model(j, &res, err) < 0 || get_node_kind(j, &res, err) < 0)
		return err_prefix(err, -EINVAL, "%s", at);
	*ret = res;
	return 0;
}

static void set_list(struct doc *d, const char *key, char *const *list)
{
	_cleanup_doc_ struct doc a = doc_array();

	if (!list)
		return;
	for (; *list; list++)
		doc_add(&a, json_string(*list));
	doc_set(d, key, doc_take(&a));
}

static void set_array(struct doc *d, const struct array *a)
{
	if (a->n)
		doc_set(d, "array",
			json_pack("{s:I,s:I,s:I,s:I}", "first", (json_int_t)a->first, "last",
				  (json_int_t)a->last, "step", (json_int_t)a->step, "at_once",
				  (json_int_t)a->at_once));
}

static json_t *encode_after(const struct after *a)
{
	_cleanup_doc_ struct doc d = doc_object();

	doc_text(&d, "kind", after_kind_name(a->kind));
	doc_int(&d, "job", a->id.job);
	if (a->id.index != JOB_ID_NO_INDEX)
		doc_int(&d, "index", a->id.index);
	return doc_take(&d);
}

static void set_after(struct doc *d, const struct after_list *l)
{
	_cleanup_doc_ struct doc list = doc_array();

	if (!l->n)
		return;
	for (size_t i = 0; i < l->n; i++)
		doc_add(&list, encode_after(&l->at[i]));
	doc_set(d, "after", doc_take(&list));
}

/* Chunks and place as they are typed: select.h alone knows their syntax. */
static void set_select(struct doc *d, const struct request *r)
{
	char text[SELECT_TEXT_MAX];

	doc_flag(d, "exclusive", r->is_exclusive);
	doc_flag(d, "scatter", r->select.is_scattered);
	doc_text_if(d, "select", select_format(&r->select, r->res.gpu_model, text));
}

static void set_part(struct doc *d, const struct job_part *p)
{
	if (p->n)
		doc_set(d, "part",
			json_pack("{s:i,s:i,s:s}", "index", (int)p->index, "n", (int)p->n,
				  "hosts", p->hosts ? p->hosts : ""));
}

/* Strings of the request go as they are: not UTF-8 is a refusal, wire.h. */
static void set_string(struct doc *d, const char *key, const char *text)
{
	if (text && *text)
		doc_set(d, key, json_string(text));
}

static void set_strings(struct doc *d, const struct request *r)
{
	set_string(d, "cluster", r->cluster);
	set_string(d, "account", r->account);
	set_string(d, "user", r->user);
	set_string(d, "queue", r->queue);
	set_string(d, "qos", r->qos);
	set_string(d, "name", r->name);
	set_string(d, "script", r->script);
	set_string(d, "workdir", r->workdir);
	set_string(d, "out_path", r->out_path);
	set_string(d, "err_path", r->err_path);
}

static void set_mail(struct doc *d, const struct request *r)
{
	char types[MAIL_TYPES_MAX];

	doc_text_if(d, "mail_type", mail_format_types(r->mail_types, types));
	set_string(d, "mail_user", r->mail_user);
}

json_t *wire_encode_request(const struct request *r)
{
	_cleanup_doc_ struct doc d = doc_object();

	doc_int(&d, "uid", r->uid);
	doc_int(&d, "gid", r->gid);
	doc_set(&d, "resources", wire_encode_resources(&r->res));
	doc_bool(&d, "stream", r->stream);
	doc_bool(&d, "join", r->join);
	doc_text(&d, "vmem_action", r->vmem_policy == VMEM_POLICY_DENY ? "enomem" : "kill");
	set_strings(&d, r);
	set_list(&d, "argv", r->argv);
	set_list(&d, "env", r->env);
	set_array(&d, &r->array);
	set_after(&d, &r->after);
	doc_flag(&d, "hold", r->is_held);
	doc_flag(&d, "requeue", r->requeue);
	if (r->is_immediate)
		doc_int(&d, "immediate_s", r->immediate_s);
	set_mail(&d, r);
	set_select(&d, r);
	set_part(&d, &r->part);
	return doc_take(&d);
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

static int get_immediate(const json_t *j, struct request *r, struct err *err)
{
	static const int64_t none = -1;
	int64_t s;
	int rc = wire_get_int(j, "immediate_s",
			      (struct wire_int){ none, REQUEST_IMMEDIATE_MAX_S, &none }, &s,
			      err);

	if (rc < 0)
		return rc;
	r->is_immediate = s != none;
	r->immediate_s = r->is_immediate ? s : 0;
	return 0;
}

static int get_mail(const json_t *j, struct request *r, struct err *err)
{
	char types[MAIL_TYPES_MAX], user[MAIL_USER_MAX];
	int rc = wire_get_text(j, "mail_type", (struct wire_text){ types, sizeof(types), true },
			       err);

	if (rc >= 0)
		rc = wire_get_text(j, "mail_user",
				   (struct wire_text){ user, sizeof(user), true }, err);
	if (rc >= 0 && types[0])
		rc = request_set(r, "mail-type", types, err);
	if (rc >= 0 && user[0])
		rc = request_set(r, "mail-user", user, err);
	return rc;
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
	if ((r = get_immediate(j, ret, err)) < 0 || (r = get_mail(j, ret, err)) < 0 ||
	    (r = get_string(j, "script", &ret->script, err)) < 0 ||
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
