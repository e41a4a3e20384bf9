/* SPDX-License-Identifier: GPL-2.0-or-later */
/* believe - what a node believes of a controller's answer, without a node.
 *
 * usage: believe SOCKET NODE <ANSWER
 * For each job and step that is to be run, a line: "job 12: allowed", or why not. The answer is
 * one of POST /v1/node/sync, behind the status line that signed.c prints.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/auth/auth.h"
#include "common/err.h"
#include "common/signature/signature.h"
#include "common/wire/wire.h"

static const char *sock, *node;

static int open_seal(const json_t *of, struct auth_sealed *ret, struct err *err)
{
	const char *credential = json_string_value(json_object_get(of, "credential"));

	if (!credential)
		return err_set(err, -ENOENT, "nothing is signed");
	return auth_unseal(sock, credential, ret, err);
}

static int judge_job(const json_t *of, int64_t job, struct err *err)
{
	_cleanup_(auth_sealed_done) struct auth_sealed seal = { .text = NULL };
	_cleanup_(signature_job_done) struct signature_job s = { .nonce = "" };
	_cleanup_(request_done) struct request q;
	struct signature_given given = { &q, job, 1, "bonus" };
	int64_t base;
	int r;

	request_init(&q);
	given.attempt = (int32_t)json_integer_value(json_object_get(of, "attempt"));
	r = wire_decode_request(json_object_get(of, "request"), "request", &q, err);
	if (r >= 0)
		r = open_seal(of, &seal, err);
	if (r >= 0)
		r = signature_decode_job(seal.text, seal.size, &s, err);
	if (r >= 0)
		r = signature_allows_job(&s, &given, &base, err);
	if (r >= 0 && (seal.who.uid != q.uid || seal.who.gid != q.gid))
		r = err_set(err, -EPERM, "uid %u signed it", seal.who.uid);
	if (r >= 0)
		printf("job %lld of %lld, by uid %u: allowed\n", (long long)job,
		       (long long)base, seal.who.uid);
	return r;
}

static char **words_of(const json_t *a)
{
	char **words = calloc(json_array_size(a) + 1, sizeof(*words));

	for (size_t i = 0; words && i < json_array_size(a); i++)
		words[i] = (char *)json_string_value(json_array_get(a, i));
	return words;
}

static int judge_step(const json_t *of, int64_t job, struct err *err)
{
	_cleanup_(auth_sealed_done) struct auth_sealed seal = { .text = NULL };
	_cleanup_(signature_step_done) struct signature_step s = { .nonce = "" };
	const json_t *env = json_object_get(of, "env");
	_cleanup_free_ char **argv = words_of(json_object_get(of, "argv"));
	_cleanup_free_ char **list = env ? words_of(env) : NULL;
	struct signature_given_step given = {
		.job = job,
		.node = node,
		.job_workdir = "/tmp",
		.argv = argv,
		.env = list,
		.workdir = json_string_value(json_object_get(of, "workdir")),
	};
	int r = sync_terminal_decode(of, &given.terminal, err);

	if (r < 0)
		return r;
	r = open_seal(of, &seal, err);
	if (r < 0)
		return r;
	r = signature_decode_step(seal.text, seal.size, &s, err);
	if (r < 0)
		return r;
	r = signature_allows_step(&s, &given, err);
	if (r < 0)
		return r;
	printf("step of job %lld, by uid %u: allowed\n", (long long)job, seal.who.uid);
	return 0;
}

static void judge_all(const json_t *list, const char *what,
		      int (*judge)(const json_t *, int64_t, struct err *))
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *of = json_array_get(list, i);
		int64_t job = json_integer_value(json_object_get(of, "job"));
		struct err err = { "" };

		if (!json_object_get(of, "request") && !json_object_get(of, "argv"))
			continue;
		if (judge(of, job, &err) < 0)
			printf("%s %lld: %s\n", what, (long long)job, err.text);
	}
}

int main(int argc, char **argv)
{
	_cleanup_json_ json_t *doc = NULL;
	json_error_t e;
	char line[64];

	if (argc < 3 || !fgets(line, sizeof(line), stdin))
		return 1;
	sock = argv[1];
	node = argv[2];
	doc = json_loadf(stdin, 0, &e);
	if (!doc) {
		printf("no answer: %s: %s\n", line, e.text);
		return 1;
	}
	judge_all(json_object_get(doc, "jobs"), "job", judge_job);
	judge_all(json_object_get(doc, "steps"), "step", judge_step);
	return 0;
}
