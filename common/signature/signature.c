/* SPDX-License-Identifier: GPL-2.0-or-later */
/* signature.c - encodes and decodes the statements that users sign; see signature.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include "common/err.h"
#include "common/signature/digest.h"
#include "common/wire/wire.h"

#define NODES_MAX 100000
#define WORDS_MAX 65536

static void format_hex(const uint8_t *bytes, size_t n, char *buf)
{
	for (size_t i = 0; i < n; i++)
		snprintf(buf + 2 * i, 3, "%02x", bytes[i]);
}

static int make_nonce(char buf[static SIGNATURE_NONCE_MAX], struct err *err)
{
	uint8_t random[(SIGNATURE_NONCE_MAX - 1) / 2];

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return err_set(err, -EIO, "no random bytes: %m");
	format_hex(random, sizeof(random), buf);
	return 0;
}

static int set_text(json_t *doc, const char *key, const char *text)
{
	return json_object_set_new(doc, key, json_string(text));
}

/* A document with its kind and a new nonce, which makes two statements of one request different. */
static int begin_statement(const char *kind, json_t **ret, struct err *err)
{
	_cleanup_json_ json_t *doc = wire_new();
	char nonce[SIGNATURE_NONCE_MAX];
	int r = make_nonce(nonce, err);

	if (r < 0)
		return r;
	if (!doc || set_text(doc, "kind", kind) < 0 || set_text(doc, "nonce", nonce) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	*ret = TAKE_PTR(doc);
	return 0;
}

static int end_statement(const json_t *doc, char **ret, struct err *err)
{
	*ret = wire_format(doc);
	return *ret ? 0 : err_set(err, -ENOMEM, "out of memory");
}

int signature_encode_job(const struct request *r, char **ret, struct err *err)
{
	char command[SIGNATURE_DIGEST_MAX], env[SIGNATURE_DIGEST_MAX];
	_cleanup_json_ json_t *doc = NULL;
	struct request small = *r; /* borrows */
	int rc = begin_statement("job", &doc, err);

	if (rc < 0)
		return rc;
	digest_command(r->script, r->argv, command);
	digest_texts(r->env, digest_count(r->env), env);
	small.script = NULL;
	small.argv = small.env = NULL;
	small.after = (struct after_list){ 0 };
	if (set_text(doc, "command", command) < 0 || set_text(doc, "env", env) < 0 ||
	    json_object_set_new(doc, "request", wire_encode_request(&small)) < 0)
		return err_set(err, -ENOMEM, "out of memory, or text that is not UTF-8");
	return end_statement(doc, ret, err);
}

/* The texts of an array, borrowed from it; NULL-terminated and malloc()ed. */
static int borrow_texts(const json_t *array, char ***ret, struct err *err)
{
	size_t n = json_array_size(array);
	_cleanup_free_ char **texts = n > WORDS_MAX ? NULL : calloc(n + 1, sizeof(*texts));

	if (!texts)
		return err_set(err, n > WORDS_MAX ? -EINVAL : -ENOMEM, "too many words");
	for (size_t i = 0; i < n; i++) {
		texts[i] = (char *)json_string_value(json_array_get(array, i));
		if (!texts[i])
			return err_set(err, -EINVAL, "[%zu] is not a text", i);
	}
	*ret = TAKE_PTR(texts);
	return 0;
}

/* The digests of a step: its argv, and its environment where it has one of its own. */
static int set_step_digests(json_t *doc, const json_t *body, struct err *err)
{
	_cleanup_free_ char **argv = NULL, **env = NULL;
	const json_t *words = json_object_get(body, "env");
	char digest[SIGNATURE_DIGEST_MAX];
	int r = borrow_texts(json_object_get(body, "argv"), &argv, err);

	if (r >= 0 && words)
		r = borrow_texts(words, &env, err);
	if (r < 0)
		return r;
	digest_command(NULL, argv, digest);
	if (set_text(doc, "command", digest) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	if (!env)
		return 0;
	digest_texts(env, digest_count(env), digest);
	return set_text(doc, "env", digest) < 0 ? err_set(err, -ENOMEM, "out of memory") : 0;
}

/* Its connection with its user and its job, if that was stated. */
static int set_terminal(json_t *doc, const json_t *body, struct err *err)
{
	static const char *const keys[] = { "console", "on_hangup", "rows", "cols", "main" };

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		json_t *value = json_object_get(body, keys[i]);

		if (value && json_object_set(doc, keys[i], value) < 0)
			return err_set(err, -ENOMEM, "out of memory");
	}
	return 0;
}

int signature_encode_step(int64_t job, const json_t *body, char **ret, struct err *err)
{
	json_t *nodes = json_object_get(body, "nodes"), *dir = json_object_get(body, "workdir");
	_cleanup_json_ json_t *doc = NULL;
	int r = begin_statement("step", &doc, err);

	if (r < 0)
		return r;
	r = set_step_digests(doc, body, err);
	if (r < 0)
		return r;
	r = set_terminal(doc, body, err);
	if (r < 0)
		return r;
	if (json_object_set_new(doc, "job", json_integer(job)) < 0 ||
	    json_object_set(doc, "nodes", nodes) < 0 ||
	    (dir && json_object_set(doc, "workdir", dir) < 0))
		return err_set(err, -ENOMEM, "out of memory");
	return end_statement(doc, ret, err);
}

int signature_encode_console(const struct signature_console *s, char **ret, struct err *err)
{
	char key[SIGNATURE_KEY_TEXT];
	_cleanup_json_ json_t *doc = NULL;
	int r = begin_statement("console", &doc, err);

	if (r < 0)
		return r;
	format_hex(s->key, sizeof(s->key), key);
	if (json_object_set_new(doc, "job", json_integer(s->job)) < 0 ||
	    json_object_set_new(doc, "step", json_integer(s->step)) < 0 ||
	    json_object_set_new(doc, "began_ns", json_integer(s->began_ns)) < 0 ||
	    set_text(doc, "key", key) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return end_statement(doc, ret, err);
}

/* ---- decoding ---- */

static bool is_hex(const char *text, size_t size)
{
	return strlen(text) == size - 1 && strspn(text, "0123456789abcdef") == size - 1;
}

static int get_hex(const json_t *doc, const char *key, struct wire_text to, struct err *err)
{
	int r = wire_get_text(doc, key, to, err);

	if (r < 0 || (to.optional && !*to.buf))
		return r;
	return is_hex(to.buf, to.size)
		       ? 0
		       : err_set(err, -EINVAL, "%s is not a hexadecimal digest", key);
}

/* Parses a statement and refuses one of another kind: what was signed for a step starts no job. */
static int open_statement(const char *text, size_t size, const char *kind, json_t **ret,
			  struct err *err)
{
	_cleanup_json_ json_t *doc = NULL;
	char is[16];
	int r = wire_parse(text, size, &doc, err);

	if (r >= 0)
		r = wire_get_text(doc, "kind", (struct wire_text){ is, sizeof(is), false },
				  err);
	if (r < 0)
		return r;
	if (strcmp(is, kind))
		return err_set(err, -EINVAL, "it was signed for a %s, not for a %s", is, kind);
	*ret = TAKE_PTR(doc);
	return 0;
}

int signature_decode_job(const char *text, size_t size, struct signature_job *ret,
			 struct err *err)
{
	_cleanup_json_ json_t *doc = NULL;
	_cleanup_(signature_job_done) struct signature_job s = { .nonce = "" };
	int r = open_statement(text, size, "job", &doc, err);

	if (r >= 0)
		r = get_hex(doc, "nonce", (struct wire_text){ s.nonce, sizeof(s.nonce), false },
			    err);
	if (r >= 0)
		r = get_hex(doc, "command",
			    (struct wire_text){ s.command, sizeof(s.command), false }, err);
	if (r >= 0)
		r = get_hex(doc, "env", (struct wire_text){ s.env, sizeof(s.env), false }, err);
	if (r >= 0)
		r = wire_decode_request(json_object_get(doc, "request"), "request", &s.asked,
					err);
	if (r < 0)
		return r;
	*ret = s;
	s = (struct signature_job){ .nonce = "" };
	return 0;
}

static int take_nodes(const json_t *doc, struct signature_step *s, struct err *err)
{
	const json_t *nodes = json_object_get(doc, "nodes");
	size_t n = json_array_size(nodes);

	if (n == 0 || n > NODES_MAX)
		return err_set(err, -EINVAL, "nodes is no list of nodes");
	s->nodes = calloc(n + 1, sizeof(*s->nodes));
	if (!s->nodes)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++) {
		const char *name = json_string_value(json_array_get(nodes, i));

		if (!name)
			return err_set(err, -EINVAL, "nodes[%zu] is not a text", i);
		s->nodes[i] = strdup(name);
		if (!s->nodes[i])
			return err_set(err, -ENOMEM, "out of memory");
	}
	return 0;
}

static int take_workdir(const json_t *doc, struct signature_step *s, struct err *err)
{
	const json_t *dir = json_object_get(doc, "workdir");

	if (!dir)
		return 0;
	if (!json_is_string(dir))
		return err_set(err, -EINVAL, "workdir is not a text");
	s->workdir = strdup(json_string_value(dir));
	return s->workdir ? 0 : err_set(err, -ENOMEM, "out of memory");
}

int signature_decode_step(const char *text, size_t size, struct signature_step *ret,
			  struct err *err)
{
	_cleanup_json_ json_t *doc = NULL;
	_cleanup_(signature_step_done) struct signature_step s = { .nonce = "" };
	int r = open_statement(text, size, "step", &doc, err);

	if (r < 0)
		return r;
	r = get_hex(doc, "nonce", (struct wire_text){ s.nonce, sizeof(s.nonce), false }, err);
	if (r < 0)
		return r;
	r = get_hex(doc, "command", (struct wire_text){ s.command, sizeof(s.command), false },
		    err);
	if (r < 0)
		return r;
	r = get_hex(doc, "env", (struct wire_text){ s.env, sizeof(s.env), true }, err);
	if (r < 0)
		return r;
	r = wire_get_int(doc, "job", (struct wire_int){ 1, INT64_MAX, NULL }, &s.job, err);
	if (r < 0)
		return r;
	r = take_nodes(doc, &s, err);
	if (r < 0)
		return r;
	r = take_workdir(doc, &s, err);
	if (r < 0)
		return r;
	r = sync_terminal_decode(doc, &s.terminal, err);
	if (r < 0)
		return r;
	*ret = s;
	s = (struct signature_step){ .nonce = "" };
	return 0;
}

static int take_key(const json_t *doc, uint8_t ret[static SIGNATURE_KEY_SIZE], struct err *err)
{
	char text[SIGNATURE_KEY_TEXT];
	unsigned byte;
	int r = get_hex(doc, "key", (struct wire_text){ text, sizeof(text), false }, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < SIGNATURE_KEY_SIZE; i++) {
		sscanf(text + 2 * i, "%2x", &byte);
		ret[i] = (uint8_t)byte;
	}
	return 0;
}

int signature_decode_console(const char *text, size_t size, struct signature_console *ret,
			     struct err *err)
{
	static const struct wire_int positive = { 1, INT64_MAX, NULL };
	_cleanup_json_ json_t *doc = NULL;
	struct signature_console s;
	int r = open_statement(text, size, "console", &doc, err);

	if (r < 0)
		return r;
	r = wire_get_int(doc, "job", positive, &s.job, err);
	if (r < 0)
		return r;
	r = wire_get_int(doc, "step", positive, &s.step, err);
	if (r < 0)
		return r;
	r = wire_get_int(doc, "began_ns", positive, &s.began_ns, err);
	if (r < 0)
		return r;
	r = take_key(doc, s.key, err);
	if (r < 0)
		return r;
	*ret = s;
	return 0;
}

void signature_job_done(struct signature_job *s)
{
	request_done(&s->asked);
}

void signature_step_done(struct signature_step *s)
{
	for (char **node = s->nodes; node && *node; node++)
		free(*node);
	free(s->nodes);
	free(s->workdir);
	s->nodes = NULL;
	s->workdir = NULL;
}
