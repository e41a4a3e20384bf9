/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sync_answer.c - rows of the controller's answer to a node, and of a step's command. */
#include <errno.h>
#include <string.h>
#include "common/err.h"
#include "common/wire/sync_answer.h"
#include "common/wire/sync_fields.h"

#define REASON_MAX 511

static const char *desired_word(int i)
{
	return i < _DESIRED_MAX ? job_desired_name((enum job_desired)i) : NULL;
}

static const char *step_want_word(int i)
{
	static const char *const words[] = { "run", "cancel", NULL };

	return words[i];
}

static const struct wire_field ack_fields[] = {
	SYNC_ATTEMPT_ROWS(struct sync_ack),
	WIRE_INT(struct sync_ack, seq, 0, INT64_MAX),
	WIRE_END,
};

static const struct wire_field output_ack_fields[] = {
	SYNC_ATTEMPT_ROWS(struct sync_output_ack),
	WIRE_WORD(struct sync_output_ack, "stream", stream, sync_stream_word),
	WIRE_INT(struct sync_output_ack, offset, 0, INT64_MAX),
	WIRE_INT_OR(struct sync_output_ack, step, 0, SYNC_STEP_MAX, 0, WIRE_OMIT),
	WIRE_END,
};

static const struct wire_field refusal_fields[] = {
	SYNC_ATTEMPT_ROWS(struct sync_refusal),
	WIRE_CHARS(struct sync_refusal, why, WIRE_OPTIONAL),
	WIRE_END,
};

static const struct wire_field step_ack_fields[] = {
	WIRE_INT(struct sync_step_id, job, 1, INT64_MAX),
	WIRE_INT(struct sync_step_id, attempt, 0, INT32_MAX),
	WIRE_INT(struct sync_step_id, step, 1, SYNC_STEP_MAX),
	WIRE_END,
};

static const struct wire_field desired_job_fields[] = {
	SYNC_ATTEMPT_ROWS(struct sync_desired_job),
	WIRE_WORD(struct sync_desired_job, "want", want, desired_word),
	WIRE_STRING(struct sync_desired_job, reason, REASON_MAX),
	{ .key = "request",
	  .type = WIRE_T_JSON,
	  WIRE_MEMBER(struct sync_desired_job, request) },
	WIRE_STRING(struct sync_desired_job, credential, 0),
	WIRE_END,
};

static const struct wire_field desired_step_fields[] = {
	SYNC_STEP_ID_ROWS(struct sync_desired_step, id),
	WIRE_WORD(struct sync_desired_step, "want", want, step_want_word),
	{ .key = NULL, .type = WIRE_T_MERGED, WIRE_MEMBER(struct sync_desired_step, command) },
	WIRE_END,
};

#define LIST(key, m, element)                                                                  \
	WIRE_LIST(struct sync_answer, key, m, n_##m, 0, element, WIRE_NULLABLE)

static const struct wire_field answer_fields[] = {
	WIRE_CHARS(struct sync_answer, ledger, WIRE_OMIT),
	WIRE_INT_OR(struct sync_answer, restored_ns, 0, INT64_MAX, 0, WIRE_OMIT),
	LIST("acks", acks, ack_fields),
	LIST("output_acks", output_acks, output_ack_fields),
	LIST("refused", refusals, refusal_fields),
	LIST("step_acks", step_acks, step_ack_fields),
	LIST("jobs", jobs, desired_job_fields),
	LIST("steps", steps, desired_step_fields),
	WIRE_END,
};

int sync_answer_encode(const struct sync_answer *a, json_t **ret, struct err *err)
{
	_cleanup_doc_ struct doc d = doc_message();

	wire_encode_fields(answer_fields, a, &d);
	return doc_finish(&d, ret, err);
}

int sync_answer_decode(const json_t *doc, struct sync_answer *ret, struct err *err)
{
	int r;

	*ret = (struct sync_answer){ 0 };
	r = wire_decode_fields(answer_fields, doc, ret, err);
	if (r < 0)
		sync_answer_done(ret);
	return r;
}

void sync_answer_done(struct sync_answer *a)
{
	wire_done_fields(answer_fields, a);
	*a = (struct sync_answer){ 0 };
}

/* ---- the command of a step ---- */

#define WORDS_MAX 65536 /* arguments or variables: what the launcher takes */

#define WORDS_ROW(name)                                                                        \
	{                                                                                      \
		.key = #name, .type = WIRE_T_TEXTS, .flags = WIRE_NULLABLE,                    \
		WIRE_MEMBER(struct sync_command, name), .max = WORDS_MAX,                      \
		.min = REQUEST_SCRIPT_MAX                                                      \
	}

static const char *console_word(int i)
{
	static const char *const words[] = { "none", "pipes", "pty", NULL };

	return words[i];
}

static const char *hangup_word(int i)
{
	static const char *const words[] = { "end", "keep", NULL };

	return words[i];
}

#define TERMINAL_WORD(name, words)                                                             \
	{                                                                                      \
		.key = #name, .type = WIRE_T_WORD, .flags = WIRE_OMIT,                         \
		WIRE_MEMBER(struct sync_terminal, name), .word = (words)                       \
	}

static const struct wire_field terminal_fields[] = {
	TERMINAL_WORD(console, console_word),
	TERMINAL_WORD(on_hangup, hangup_word),
	WIRE_INT_OR(struct sync_terminal, rows, 0, SYNC_CONSOLE_SIDE_MAX, 0, WIRE_OMIT),
	WIRE_INT_OR(struct sync_terminal, cols, 0, SYNC_CONSOLE_SIDE_MAX, 0, WIRE_OMIT),
	WIRE_FLAG(struct sync_terminal, "main", is_main),
	WIRE_END,
};

int sync_terminal_decode(const json_t *j, struct sync_terminal *ret, struct err *err)
{
	*ret = (struct sync_terminal){ .console = SYNC_CONSOLE_NONE };
	return wire_decode_fields(terminal_fields, j, ret, err);
}

static const struct wire_field command_fields[] = {
	WORDS_ROW(argv),
	WORDS_ROW(env),
	WIRE_STRING(struct sync_command, workdir, 0),
	WIRE_STRING(struct sync_command, credential, 0),
	WIRE_END,
};

static int check_size(char **words, const char *key, struct err *err)
{
	size_t bytes = 0;

	for (char **w = words; w && *w; w++)
		bytes += strlen(*w) + 1;
	if (bytes > REQUEST_SCRIPT_MAX)
		return err_set(err, -EINVAL, "%s is larger than %d bytes", key,
			       REQUEST_SCRIPT_MAX);
	return 0;
}

static int check_command(const struct sync_command *c, struct err *err)
{
	int r;

	if (!c->argv[0] || !*c->argv[0])
		return err_set(err, -EINVAL, "argv: names no command");
	r = check_size(c->argv, "argv", err);
	if (r >= 0)
		r = check_size(c->env, "env", err);
	for (char **e = c->env; r >= 0 && e && *e; e++)
		if (!strchr(*e, '=') || **e == '=')
			r = err_set(err, -EINVAL, "env: '%.64s' is no NAME=value", *e);
	if (r >= 0 && c->workdir && *c->workdir != '/')
		r = err_set(err, -EINVAL, "workdir is not an absolute path");
	return r;
}

int sync_command_decode(const json_t *j, struct sync_command *ret, struct err *err)
{
	int r;

	*ret = (struct sync_command){ 0 };
	r = wire_decode_fields(command_fields, j, ret, err);
	if (r < 0)
		return r;
	r = sync_terminal_decode(j, &ret->terminal, err);
	return r < 0 || !ret->argv ? r : check_command(ret, err);
}

void sync_command_done(struct sync_command *c)
{
	wire_done_fields(command_fields, c);
	*c = (struct sync_command){ 0 };
}
