/* sync_steps.c - the part of a sync that is about steps; see sync_steps.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "agent/report/sync_steps.h"
#include "common/err.h"
#include "common/model/request.h"
#include "common/wire/sync.h"
#include "common/wire/wire.h"

#define WORDS_MAX 65536 /* arguments or variables: what the launcher takes */

static json_t *encode_one(const struct sync_step *s)
{
	json_t *j = json_pack("{s:I,s:i,s:I,s:s}", "job", (json_int_t)s->id.job, "attempt",
			      (int)s->id.attempt, "step", (json_int_t)s->id.step, "state",
			      s->has_ended ? "ended" : "running");

	if (!j || !s->has_ended)
		return j;
	if (json_object_set_new(j, "exit_status", json_integer(s->exit_status)) < 0 ||
	    json_object_set_new(j, "signal", json_integer(s->signal)) < 0 ||
	    (s->text && *s->text && json_object_set_new(j, "text", wire_string(s->text)) < 0)) {
		json_decref(j);
		return NULL;
	}
	return j;
}

int sync_steps_encode(json_t *doc, const struct sync_step *steps, size_t n)
{
	json_t *a = n ? json_array() : NULL;

	if (!n)
		return 0;
	if (json_object_set_new(doc, "steps", a) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (json_array_append_new(a, encode_one(&steps[i])) < 0)
			return -ENOMEM;
	return 0;
}

static int decode_id(const json_t *j, struct sync_step_id *ret, struct err *err)
{
	int r = sync_get_attempt(j, &ret->job, &ret->attempt, err);

	return r < 0 ? r
		     : wire_get_int(j, "step", (struct wire_int){ 1, INT64_MAX, NULL },
				    &ret->step, err);
}

static int decode_want(const json_t *j, enum sync_step_want *ret, struct err *err)
{
	char word[32];
	int r = wire_get_text(j, "want", (struct wire_text){ word, sizeof(word), false }, err);

	if (r < 0)
		return r;
	if (strcmp(word, "run") && strcmp(word, "cancel"))
		return err_set(err, -EINVAL, "want: '%s' is unknown", word);
	*ret = strcmp(word, "run") ? SYNC_STEP_CANCEL : SYNC_STEP_RUN;
	return 0;
}

static void words_free(char ***words)
{
	for (char **w = *words; w && *w; w++)
		free(*w);
	free(*words);
}

static int decode_words(const json_t *a, char ***ret, struct err *err)
{
	_cleanup_(words_free) char **words = NULL;
	size_t n = json_array_size(a), bytes = 0;

	if (!json_is_array(a) || n > WORDS_MAX)
		return err_set(err, -EINVAL, "is not an array of at most %d texts", WORDS_MAX);
	words = calloc(n + 1, sizeof(*words));
	if (!words)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++) {
		const json_t *one = json_array_get(a, i);

		if (!json_is_string(one) ||
		    strlen(json_string_value(one)) != json_string_length(one))
			return err_set(err, -EINVAL, "[%zu] is not a text", i);
		bytes += json_string_length(one) + 1;
		if (bytes > REQUEST_SCRIPT_MAX)
			return err_set(err, -EINVAL, "is larger than %d bytes",
				       REQUEST_SCRIPT_MAX);
		words[i] = strdup(json_string_value(one));
		if (!words[i])
			return err_set(err, -ENOMEM, "out of memory");
	}
	*ret = TAKE_PTR(words);
	return 0;
}

static int decode_env(const json_t *j, char ***ret, struct err *err)
{
	const json_t *env = json_object_get(j, "env");
	int r = env && !json_is_null(env) ? decode_words(env, ret, err) : 0;

	for (char **e = *ret; r >= 0 && e && *e; e++)
		if (!strchr(*e, '=') || **e == '=')
			r = err_set(err, -EINVAL, "'%.64s' is no NAME=value", *e);
	return r < 0 ? err_prefix(err, r, "env") : 0;
}

static int decode_workdir(const json_t *j, const char **ret, struct err *err)
{
	const json_t *dir = json_object_get(j, "workdir");

	if (!dir || json_is_null(dir))
		return 0;
	if (!json_is_string(dir) || json_string_value(dir)[0] != '/' ||
	    strlen(json_string_value(dir)) != json_string_length(dir))
		return err_set(err, -EINVAL, "workdir is not an absolute path");
	*ret = json_string_value(dir);
	return 0;
}

static int decode_command(const json_t *j, struct sync_step_order *o, struct err *err)
{
	const json_t *argv = json_object_get(j, "argv");
	int r;

	if (!argv || json_is_null(argv))
		return 0;
	r = decode_words(argv, &o->argv, err);
	if (r >= 0 && (!o->argv[0] || !*o->argv[0]))
		r = err_set(err, -EINVAL, "names no command");
	if (r < 0)
		return err_prefix(err, r, "argv");
	r = decode_env(j, &o->env, err);
	return r < 0 ? r : decode_workdir(j, &o->workdir, err);
}

static int get_array(const json_t *answer, const char *key, const json_t **ret, struct err *err)
{
	*ret = json_object_get(answer, key);
	if (*ret && !json_is_null(*ret) && !json_is_array(*ret))
		return err_set(err, -EINVAL, "%s is not an array", key);
	return 0;
}

static int check_array(const json_t *answer, const char *key, bool has_want, struct err *err)
{
	enum sync_step_want want;
	struct sync_step_id id;
	const json_t *a;
	int r = get_array(answer, key, &a, err);

	for (size_t i = 0; r >= 0 && i < json_array_size(a); i++) {
		r = decode_id(json_array_get(a, i), &id, err);
		if (r >= 0 && has_want)
			r = decode_want(json_array_get(a, i), &want, err);
		if (r < 0)
			return err_prefix(err, r, "%s[%zu]", key, i);
	}
	return r;
}

int sync_steps_check(const json_t *answer, struct err *err)
{
	int r = check_array(answer, "step_acks", false, err);

	return r < 0 ? r : check_array(answer, "steps", true, err);
}

static void act_one(const json_t *j, const struct sync_step_handlers *h, void *ctx)
{
	struct sync_step_order o = { 0 };
	struct err why = { "" };

	if (decode_id(j, &o.id, NULL) < 0 || decode_want(j, &o.want, NULL) < 0)
		return;
	if (decode_command(j, &o, &why) < 0)
		o.bad = why.text;
	o.credential = json_string_value(json_object_get(j, "credential"));
	if (h->on_step)
		h->on_step(ctx, &o);
	words_free(&o.argv);
	words_free(&o.env);
}

int sync_steps_act(const json_t *answer, const struct sync_step_handlers *h, void *ctx)
{
	const json_t *acks = json_object_get(answer, "step_acks");
	const json_t *steps = json_object_get(answer, "steps");
	struct sync_step_id id;

	for (size_t i = 0; i < json_array_size(acks); i++)
		if (decode_id(json_array_get(acks, i), &id, NULL) == 0 && h->on_step_ack)
			h->on_step_ack(ctx, id);
	for (size_t i = 0; i < json_array_size(steps); i++)
		act_one(json_array_get(steps, i), h, ctx);
	return (int)json_array_size(acks);
}
