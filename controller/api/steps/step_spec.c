/* SPDX-License-Identifier: GPL-2.0-or-later */
/* step_spec.c - checks the document of a step and encodes what the node needs; see step_spec.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/auth/auth.h"
#include "common/err.h"
#include "common/wire/sync_answer.h"
#include "common/wire/wire.h"
#include "controller/api/steps/step_spec.h"

/* Checks an array of texts and subtracts their bytes from *room. */
static int check_texts(const json_t *a, const char *key, size_t *room, struct err *err)
{
	if (!json_is_array(a))
		return err_set(err, -EINVAL, "%s: not an array of texts", key);
	for (size_t i = 0; i < json_array_size(a); i++) {
		const json_t *text = json_array_get(a, i);

		if (!json_is_string(text))
			return err_set(err, -EINVAL, "%s[%zu]: not a text", key, i);
		if (json_string_length(text) + 1 > *room)
			return err_set(err, -EINVAL,
				       "the command and its environment are larger than %d KiB",
				       STEP_SPEC_MAX >> 10);
		*room -= json_string_length(text) + 1;
	}
	return 0;
}

static int check_env(const json_t *env, struct err *err)
{
	for (size_t i = 0; i < json_array_size(env); i++) {
		const char *text = json_string_value(json_array_get(env, i));
		const char *eq = strchr(text, '=');

		if (!eq || eq == text)
			return err_set(err, -EINVAL, "env[%zu]: '%.64s' is not NAME=value", i,
				       text);
	}
	return 0;
}

static int read_workdir(const json_t *body, const char *usual, char buf[STEP_WORKDIR_MAX],
			struct err *err)
{
	int r = wire_get_text(body, "workdir",
			      (struct wire_text){ buf, STEP_WORKDIR_MAX, true }, err);

	if (r < 0)
		return r;
	if (*buf && *buf != '/')
		return err_set(err, -EINVAL, "workdir: '%.200s' is not an absolute path", buf);
	if (!*buf && strlen(usual) < STEP_WORKDIR_MAX)
		strcpy(buf, usual);
	return 0;
}

static int check_command(const json_t *body, struct err *err)
{
	json_t *argv = json_object_get(body, "argv"), *env = json_object_get(body, "env");
	const char *program = json_string_value(json_array_get(argv, 0));
	size_t room = STEP_SPEC_MAX;
	int r = check_texts(argv, "argv", &room, err);

	if (r >= 0 && (!program || !*program))
		r = err_set(err, -EINVAL, "argv: nothing to run");
	if (r >= 0 && env)
		r = check_texts(env, "env", &room, err);
	if (r >= 0 && env)
		r = check_env(env, err);
	return r;
}

/* Keys of an interactive step, and of one with which its job ends. */
static int copy_console(const json_t *body, json_t *spec, struct err *err)
{
	static const char *const keys[] = { "console", "on_hangup", "rows", "cols", "main" };
	static const int64_t none = 0;
	const char *console = json_string_value(json_object_get(body, "console"));
	const char *hangup = json_string_value(json_object_get(body, "on_hangup"));
	const json_t *main_step = json_object_get(body, "main");
	int64_t side;

	if (json_object_get(body, "console") &&
	    (!console || (strcmp(console, "pty") != 0 && strcmp(console, "pipes") != 0)))
		return err_set(err, -EINVAL, "console: neither 'pty' nor 'pipes'");
	if (json_object_get(body, "on_hangup") &&
	    (!hangup || (strcmp(hangup, "keep") != 0 && strcmp(hangup, "end") != 0)))
		return err_set(err, -EINVAL, "on_hangup: neither 'keep' nor 'end'");
	if (main_step && !json_is_boolean(main_step))
		return err_set(err, -EINVAL, "main: not true or false");
	for (size_t i = 2; i < 4; i++)
		if (wire_get_int(body, keys[i],
				 (struct wire_int){ 0, SYNC_CONSOLE_SIDE_MAX, &none }, &side,
				 err) < 0)
			return -EINVAL;
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		json_t *value = json_object_get(body, keys[i]);

		if (value && json_object_set(spec, keys[i], value) < 0)
			return err_set(err, -ENOMEM, "out of memory");
	}
	return 0;
}

int step_spec_read(const json_t *body, const char *workdir, char **ret, struct err *err)
{
	_cleanup_json_ json_t *spec = json_object();
	json_t *env = json_object_get(body, "env");
	json_t *credential = json_object_get(body, "credential"); /* for the nodes */
	char dir[STEP_WORKDIR_MAX];
	int r = check_command(body, err);

	if (r >= 0)
		r = read_workdir(body, workdir, dir, err);
	if (r >= 0 && credential &&
	    (!json_is_string(credential) || json_string_length(credential) > AUTH_SEAL_MAX))
		r = err_set(err, -EINVAL, "credential: not a text of at most %d KiB",
			    AUTH_SEAL_MAX >> 10);
	if (r < 0)
		return r;
	if (!spec || json_object_set(spec, "argv", json_object_get(body, "argv")) < 0 ||
	    (env && json_object_set(spec, "env", env) < 0) ||
	    (credential && json_object_set(spec, "credential", credential) < 0) ||
	    json_object_set_new(spec, "workdir", json_string(dir)) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	r = copy_console(body, spec, err);
	if (r < 0)
		return r;
	*ret = wire_format(spec);
	return *ret ? 0 : err_set(err, -ENOMEM, "out of memory");
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int check_once(const struct step_nodes *nodes, struct err *err)
{
	const char *sorted[STORE_STEPS_OPEN_MAX];

	memcpy(sorted, nodes->names, nodes->n * sizeof(*sorted));
	qsort(sorted, nodes->n, sizeof(*sorted), compare_names);
	for (size_t i = 1; i < nodes->n; i++)
		if (!strcmp(sorted[i - 1], sorted[i]))
			return err_set(
				err, -EINVAL,
				"nodes: node '%s' is named more than once; a step has one "
				"process on each node: name it once, and start several "
				"processes there by a shell",
				sorted[i]);
	return 0;
}

int step_spec_nodes(const json_t *body, struct step_nodes *ret, struct err *err)
{
	const json_t *nodes = json_object_get(body, "nodes");
	size_t n = json_array_size(nodes);

	if (!n || n > STORE_STEPS_OPEN_MAX)
		return err_set(err, -EINVAL, "nodes: not an array of 1 to %d names",
			       STORE_STEPS_OPEN_MAX);
	for (size_t i = 0; i < n; i++) {
		ret->names[i] = json_string_value(json_array_get(nodes, i));
		if (!ret->names[i] || !request_is_name(ret->names[i]))
			return err_set(err, -EINVAL, "nodes[%zu]: not a name", i);
	}
	ret->n = n;
	return check_once(ret, err);
}
